/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A batch of events on its way into the store: checked, limited, masked, sealed, with the ops that follow from them.
 *
 * Preparing a batch needs facts about the session: open streams, pins, spending. The step "catch up" brings these up to
 * date. It is the only step that asks the store, and does so only for the kinds of events that need it. The step
 * "prepare" then reads only the handle, the events, the options and the clock. When other writers have changed the
 * facts since, the store refuses the batch, and the batch is made again.
 */
#ifndef RP_ENGINE_JOURNAL_H
#define RP_ENGINE_JOURNAL_H

#include "engine/journal/derived-rows.h"
#include "engine/keep/redact-session.h"
#include "engine/journal/stream-redaction.h"

#define RP_PREPARE_TRIES 64 /* of an append that was prepared on pins or streams which others keep changing */

enum rp__prepare {
  RP_PREPARE_GIVEN, /* from outside: checked, limited, masked */
  RP_PREPARE_ORDER, /* the same, but RP__PREPARE_LATER when it would overtake others of its handle that are on their way
                     */
  RP_PREPARE_OWN,   /* made by the engine */
  RP_PREPARE_CHECK, /* from outside, and only to hear what is wrong with it */
};
#define RP__PREPARE_LATER 1

/* Buffers of one event until it is stored. */
struct rp__prepared {
  struct rp__buf masked, tail;
};

/* Points into itself when there is one event: never copied once it is checked. */
struct rp__batch {
  rp_session *s;
  const rp_event *given;
  size_t n;
  enum rp__prepare how;
  struct rp__event *checked;    /* of those given, one each */
  struct rp__new_event *events; /* those given, and before each what earlier streams held */
  struct rp__prepared *prepared;
  size_t n_events, cap, first_given;
  struct rp__buf sealed; /* bytes of sealed bodies */
  struct rp__op *ops;    /* the append, and n_after ops that follow from its events */
  size_t n_after;
  struct rp__derived *derived; /* of events that have rows, in their order */
  size_t n_derived, cap_derived;
  /* Found by the check: what has to be known before it can be prepared. */
  bool redacts;        /* the scope's events are masked */
  bool spoken, chunks; /* somebody speaks, in chunks */
  bool limited;        /* pins or a budget limit an event */
  /* While it is prepared. */
  struct rp__fold *state; /* for the limits; s->lock is held with it */
  bool locked;            /* the handle's streams, by this batch */
  /* The facts it was prepared on. */
  int64_t judged; /* the seq of the pins it was judged by; -1: none were looked at */
  bool heard;     /* only for the streams with heard_number */
  bool speaks;    /* it changes them, to streams_number */
  int64_t heard_number, streams_number;
  const struct rp__key *key; /* that seals its tails */
  struct rp__key own_key;
  char idempotency_key[RP_IDEMPOTENCY_HASHED]; /* instead of one that is a credential */
  unsigned char digest[RP_REQUEST_DIGEST];     /* of the events, when they have an idempotency key */
  struct {
    struct rp__event checked;
    struct rp__new_event event;
    struct rp__prepared prepared;
    struct rp__op op;
  } one;
};

/* Room for more events; false without memory. */
bool rp__batch_room(struct rp__batch *b);

/* Everything that can be said against events without storing them. */
RP_MUST_USE int rp__batch_check(rp_session *s, const rp_event *ev, size_t n, const rp_append_options *o, rp_error *err);
/* Checks the events, catches up, prepares. On failure nothing is left to be done with the batch. `ev` and the strings
 * of `o` must outlive it. */
RP_MUST_USE int rp__batch_make(struct rp__batch *b, rp_session *s, const rp_event *ev, size_t n,
                               const rp_append_options *o, enum rp__prepare how, rp_error *err);
/* `stored` false: the streams of its handle are not what it made of them. */
void rp__batch_done(struct rp__batch *b, bool stored);
/* Only the batch is done: the caller knows better what has become of the streams. */
void rp__batch_drop(struct rp__batch *b);
/* Whether a batch that the store refused may be made again: others changed what it was prepared on. */
bool rp__batch_again(const struct rp__batch *b, const rp_append_options *o, int rc);
/* Forgets those facts, so that the batch made again, and any that were prepared behind it, catch up. */
RP_MUST_USE int rp__batch_renew(const struct rp__batch *b, rp_error *err);

/* Counts the outcome of an append, which is `rc`, and asks the keeper for a checkpoint when one is due; `op` may be
 * NULL when it failed. Returns rc. */
int rp__journal_settle(rp_session *s, const rp_event *ev, size_t n, const struct rp__op *op, int rc);
/* The durability that an append asks for, or else its session's own. */
rp_durability rp__journal_durability(const rp_session *s, const rp_append_options *o);
/* RP_E_ENDED, for a session in the trash. */
RP_MUST_USE int rp__journal_check_trashed(const rp_session *s, rp_error *err);
/* 1 to RP_BATCH_MAX events. */
RP_MUST_USE int rp__journal_check_count(size_t n, rp_error *err);

#endif
