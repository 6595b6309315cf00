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
#include "engine/ending.h"

struct rp__restoration {
  rp_engine *e;
  const char *scope; /* borrowed */
  bool robot;        /* whose form the brief has */
  struct rp__plan *plan;
  struct rp__buf *records; /* bytes the plan points into */
  size_t n_records;
  struct rp__endings endings;       /* of open sessions: bytes the plan points into, too */
  struct rp__memory_fact *memories; /* their strings are owned */
  size_t n_memories;
  struct rp__buf state;   /* state document of the session before, or the session's own; empty: none */
  struct rp__buf carried; /* members of "carried" for the restored event; empty: none */
  rp_error missing;       /* the first thing that was there and could not be read; code 0: none */
  rp_error *err;
};
void rp__restoration_done(struct rp__restoration *r);

struct rp__restoration_options {
  const char *scope;       /* kept by the restoration */
  const char *channel;     /* counts with per_channel */
  const char *topics;      /* comma separated, or NULL */
  const char *previous_id; /* the session before, or NULL */
  int64_t now;
  bool preview;        /* no start has recovered the scope: what it would capture is a candidate too */
  const char *without; /* a session that is no candidate, or NULL */
  bool explain;        /* what is older than the lookback is offered too, for its verdict; costs a longer scan */
};
/* Plans for a new session of a scope. */
int rp__restoration_plan(rp_engine *e, const struct rp__restoration_options *o, struct rp__restoration *ret,
                         rp_error *err);
/* Everything from one session that `into` has not yet: labels, task and memory ids. */
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

/* The text, empty when there is none. `why` may be NULL. RP_E_TOO_LARGE: there is one, and no room for it. */
#define RP_BRIEF_NO_ROOM "brief_bytes is too small for the header and the instruction of a brief"
int rp__restoration_brief(const struct rp__restoration *r, const struct rp__restart_facts *facts, bool resumed,
                          int64_t total_sessions, struct rp__buf *out, struct rp__jw *why);

/* Audit records of a restoration: how many there are, and making them. */
size_t rp__restoration_audits(const struct rp__restoration *r);
int rp__restoration_audit(const struct rp__restoration *r, const char *session_id, const char *new_id, size_t i,
                          struct rp__audit_note *note, struct rp__op *op, rp_error *err);

/* ---- inside: what the plan asks for (restoration-sources.c) ---- */

/* The scope's memories, those of one session when `session_id` is not NULL. */
int rp__restoration_memories(struct rp__restoration *r, const char *session_id, rp_error *err);
/* Takes away those that are among the newest `last` of a state's learnings, by id or by text. */
void rp__restoration_drop_known(struct rp__restoration *r, struct rp__json learnings, size_t last);
void rp__restoration_drop_memories(struct rp__restoration *r);
struct rp__plan_sources rp__restoration_sources(struct rp__restoration *r);

#endif
