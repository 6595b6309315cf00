/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What comes back into a session, from the store to the plan to the text (X-02, DESIGN's "path of one start"). Reads
 * only; the start or `continue` stores what was decided. Only this part fails open (decision 14): whoever calls it
 * turns a failure into a warning.
 */
#ifndef RP_ENGINE_RESTORATION_H
#define RP_ENGINE_RESTORATION_H

#include "continuity/brief.h"
#include "engine/audit.h"
#include "engine/classify.h"

struct rp__restoration {
  rp_engine *e;
  const char *scope; /* borrowed */
  struct rp__plan *plan;
  struct rp__buf *records; /* bytes the plan points into */
  size_t n_records;
  struct rp__memory_fact *memories; /* their strings are owned */
  size_t n_memories;
  struct rp__buf state;   /* state document of the session before, or the session's own; empty: none */
  struct rp__buf carried; /* members of "carried" for the restored event; empty: none */
  rp_error missing;       /* the first thing that was there and could not be read; code 0: none */
  rp_error *err;
};
void rp__restoration_done(struct rp__restoration *r);

/*
 * Plans for a new session of a scope. `topics` are comma separated or NULL, `channel` counts with per_channel,
 * `previous_id` (or NULL) is the session before, `exclude` (or 0) a session that is no candidate.
 */
int rp__restoration_plan(rp_engine *e, const char *scope, const char *channel, const char *topics,
                         const char *previous_id, int64_t exclude, int64_t now, struct rp__restoration *ret,
                         rp_error *err);
/* Everything from one session, with the labels present in `into`. */
int rp__restoration_continue(rp_session *into, const struct rp__session_row *from, struct rp__restoration *ret,
                             rp_error *err);
/* The state of a session of its own, without a plan. */
int rp__restoration_own(rp_session *s, struct rp__restoration *ret, rp_error *err);

/* Whether anything was decided that must be stored in the new session. */
bool rp__restoration_any(const struct rp__restoration *r);
struct rp__inherited {
  int64_t sessions, pins, tasks, memories;
};
struct rp__inherited rp__restoration_counts(const struct rp__restoration *r);
/* Members of the `restored` event: from, pins, tasks, memories, carried. */
void rp__restoration_write(const struct rp__restoration *r, struct rp__jw *w);
/* "inherited" of the start document. */
void rp__restoration_inherited(const struct rp__restoration *r, struct rp__jw *w);

/* The text, empty when there is none. `why` may be NULL. */
int rp__restoration_brief(const struct rp__restoration *r, const struct rp__restart_facts *facts, bool resumed,
                          int64_t total_sessions, struct rp__buf *out, struct rp__jw *why);

/* Audit records of a restoration: how many there are, and making them. */
size_t rp__restoration_audits(const struct rp__restoration *r);
int rp__restoration_audit(const struct rp__restoration *r, const char *session_id, const char *new_id, size_t i,
                          struct rp__audit_note *note, struct rp__op *op, rp_error *err);

#endif
