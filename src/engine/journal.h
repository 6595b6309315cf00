/* SPDX-License-Identifier: Apache-2.0 */
/* Events on their way into the store: checked, judged, masked, sealed, with the ops that follow from them. */
#ifndef RP_ENGINE_JOURNAL_H
#define RP_ENGINE_JOURNAL_H

#include "engine/derive.h"
#include "engine/speech.h"

#define RP_JUDGED_TRIES 64 /* of an append that was judged by pins which others keep changing */

/* What masking one event needs until it is stored. */
struct rp__spoken {
  struct rp__buf masked;
  struct rp__speech_undo undo;
};

/* Points into itself when there is one event: never copied once it is prepared. */
struct rp__batch {
  rp_session *s;
  const rp_event *given;
  size_t n;
  struct rp__new_event *events;
  struct rp__spoken *spoken;
  struct rp__buf sealed; /* bytes of sealed bodies */
  struct rp__op *ops;    /* the append, and n_after ops that follow from its events */
  size_t n_after;
  struct rp__derived *derived;
  size_t n_derived;
  int64_t judged;                          /* the seq of the state it was judged by; -1: it was not */
  unsigned char digest[RP_REQUEST_DIGEST]; /* of the events, when they have an idempotency key */
  struct {
    struct rp__new_event event;
    struct rp__spoken spoken;
    struct rp__op op;
  } one;
};

/* On failure nothing is left to be done with the batch. `ev` and the strings of `o` must outlive it. */
int rp__batch_prepare(struct rp__batch *b, rp_session *s, const rp_event *ev, size_t n, const rp_append_options *o,
                      bool trusted, rp_error *err);
void rp__batch_done(struct rp__batch *b, bool stored);

/* Counts and notes the outcome of an append, which is `rc`; `op` may be NULL when it failed. Returns rc. */
int rp__journal_settle(rp_session *s, const rp_event *ev, size_t n, const struct rp__op *op, int rc);
/* What an append asks for, or else its session's own. */
rp_durability rp__journal_durability(const rp_session *s, const rp_append_options *o);
/* 1 to RP_BATCH_MAX events. */
int rp__journal_check_count(size_t n, rp_error *err);

#endif
