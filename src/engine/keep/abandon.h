/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Abandonment (L-09): an open session without activity for abandon_s becomes `abandoned`, as of its last sign of life,
 * and its record is captured as at any other end. Heartbeats and a living run are activity. The option `abandon` says
 * which sessions are concerned: all (always), none (never), or those of a live channel (channel), which is any channel
 * but the command line's "cli".
 */
#ifndef RP_ENGINE_ABANDON_H
#define RP_ENGINE_ABANDON_H

#include "engine/engine.h"

/* What is known of a session that may have been abandoned. */
struct rp__quiet {
  bool due;
  int64_t last_ms;            /* the last sign of life */
  struct rp__run_row run;     /* the newest one; ref 0: there was none */
  struct rp__verdict verdict; /* of that run, when it is open */
};

/* Whether an open session with this row may ever be due, as far as its own row says. No question to the store. */
bool rp__abandon_possible(const rp_engine *e, const struct rp__session_row *row, int64_t now);
RP_MUST_USE int rp__abandon_judge(rp_engine *e, const struct rp__session_row *row, struct rp__quiet *ret,
                                  rp_error *err);
/* Marks and captures it. RP_E_FENCED, _SEQ_CONFLICT, _ENDED: somebody was there meanwhile. */
RP_MUST_USE int rp__abandon_mark(rp_engine *e, const struct rp__session_row *row, const struct rp__quiet *q,
                                 rp_error *err);

/*
 * All sessions of a scope, or of every scope for NULL; for the schedule. Those that can't be marked, for want of a key
 * or because somebody came, are left to the next time. *ret_n (may be NULL): how many were marked.
 */
RP_MUST_USE int rp__abandon_sweep(rp_engine *e, const char *scope, int64_t *ret_n, rp_error *err);
/* The newest sessions of a scope, for its starts, which must not wait for more. A failure is logged. What was
 * read of those that are marked is kept in `seen`. */
struct rp__views;
void rp__abandon_scope(rp_engine *e, const char *scope, const struct rp__key *key, struct rp__views *seen);

#endif
