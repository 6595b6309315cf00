/* SPDX-License-Identifier: Apache-2.0 */
/* Events on their way into the store: checked, judged, masked, sealed, with the ops that follow from them. */
#ifndef RP_ENGINE_JOURNAL_H
#define RP_ENGINE_JOURNAL_H

#include "engine/derive.h"
#include "engine/redaction.h"
#include "engine/speech.h"

#define RP_PREPARE_TRIES 64 /* of an append that was prepared on pins or streams which others keep changing */

enum rp__prepare {
  RP_PREPARE_GIVEN, /* from outside: checked, judged, masked */
  RP_PREPARE_ORDER, /* the same, but RP__PREPARE_LATER when it would overtake others of its handle that are on their way
                     */
  RP_PREPARE_OWN,   /* made by the engine */
};
#define RP__PREPARE_LATER 1

/* What one event needs until it is stored. */
struct rp__prepared {
  struct rp__buf masked, tail;
};

/* Points into itself when there is one event: never copied once it is prepared. */
struct rp__batch {
  rp_session *s;
  const rp_event *given;
  size_t n;
  struct rp__event *checked;    /* of those given, one each */
  struct rp__new_event *events; /* those given, and before each what earlier streams held */
  struct rp__prepared *prepared;
  size_t n_events, cap, first_given;
  struct rp__buf sealed; /* bytes of sealed bodies */
  struct rp__op *ops;    /* the append, and n_after ops that follow from its events */
  size_t n_after;
  struct rp__derived *derived;
  size_t n_derived;
  int64_t judged; /* the seq of the state it was judged by; -1: it was not */
  bool in_order;  /* see RP_PREPARE_ORDER */
  bool locked;    /* the handle's speech, by this batch */
  bool heard;     /* it is good only for the streams with heard_number */
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

/* Room for one more event; false without memory. */
bool rp__batch_room(struct rp__batch *b);

/* Everything that can be said against a batch without storing it. */
int rp__batch_check(rp_session *s, const rp_event *ev, size_t n, const rp_append_options *o, rp_error *err);
/* On failure nothing is left to be done with the batch. `ev` and the strings of `o` must outlive it. */
int rp__batch_prepare(struct rp__batch *b, rp_session *s, const rp_event *ev, size_t n, const rp_append_options *o,
                      enum rp__prepare how, rp_error *err);
/* `stored` false: the streams of its handle are not what it made of them. */
void rp__batch_done(struct rp__batch *b, bool stored);
/* Only the batch is done: the caller knows better what has become of the streams. */
void rp__batch_drop(struct rp__batch *b);
/* Whether a batch that the store refused may be prepared again: others changed what it was prepared on. */
bool rp__batch_again(const struct rp__batch *b, const rp_append_options *o, int rc);
/* What has to be known anew before it is, or any that were prepared behind it. */
int rp__batch_renew(const struct rp__batch *b, rp_error *err);

/* Counts and notes the outcome of an append, which is `rc`; `op` may be NULL when it failed. Returns rc. */
int rp__journal_settle(rp_session *s, const rp_event *ev, size_t n, const struct rp__op *op, int rc);
/* What an append asks for, or else its session's own. */
rp_durability rp__journal_durability(const rp_session *s, const rp_append_options *o);
/* 1 to RP_BATCH_MAX events. */
int rp__journal_check_count(size_t n, rp_error *err);

#endif
