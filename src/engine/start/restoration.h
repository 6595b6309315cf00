/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Restoration: from the store to the plan to the text of what comes back into a session (X-02; docs/architecture.md,
 * "The path of one start"). It only reads; the start, or `continue`, stores the decisions. Restoration is the only part
 * of a start that fails open: its caller turns a failure into a warning.
 */
#ifndef RP_ENGINE_RESTORATION_H
#define RP_ENGINE_RESTORATION_H

#include "continuity/brief.h"
#include "engine/keep/audit.h"
#include "engine/start/restart-kind.h"
#include "engine/start/open-session-records.h"
#include "facets/words.h"
#include "store/search-words.h"

struct rp__speaking;

struct rp__restoration {
  rp_engine *e;
  const struct rp__scope_config *config; /* of the scope */
  const char *scope;                     /* borrowed */
  const struct rp__key *key;
  bool robot; /* whose form the brief has */
  struct rp__plan *plan;
  struct rp__buf *records; /* bytes the plan points into */
  size_t n_records;
  struct rp__stored_record *stored; /* records as they were read */
  size_t n_stored;
  int64_t previous_ref;             /* of the session before, whose record is read, too; 0: none */
  struct rp__endings endings;       /* of open sessions: bytes the plan points into, too */
  struct rp__memory_fact *memories; /* their strings are owned */
  size_t n_memories;
  const char *memories_of;      /* only what this session learned, or NULL */
  const char *memories_without; /* nothing that this session learned, or NULL */
  const char *topics;           /* the current ones as they were given (borrowed), or NULL, … */
  char topic_words[RP_TERMS_MAX * sizeof(struct rp__word)]; /* … and the first of their words, which are searched */
  struct rp__known_task *tasks;                             /* of the records that come back, by id */
  size_t n_tasks;
  struct rp__speaking *speaking; /* sessions whose digests are told */
  size_t n_speaking;
  struct rp__brief_session speakers[RP_SPEAKERS_MAX]; /* of them, in the order of the brief */
  size_t n_speakers;
  const char *root;             /* the project's folder, or NULL; borrowed */
  const struct rp__fold *state; /* of the session before, or the session's own (borrowed); NULL: none */
  struct rp__state_loan loan;   /* that of the session before */
  struct rp__buf carried;       /* members of "carried" for the restored event; empty: none */
  rp_error missing;             /* the first thing that was there and could not be read; code 0: none */
  rp_error *err;
};
void rp__restoration_done(struct rp__restoration *r);

struct rp__restoration_options {
  const char *scope;                      /* kept by the restoration */
  const struct rp__scope_row *scope_row;  /* as it was read, … */
  const struct rp__key *key;              /* … and its key */
  const char *channel;                    /* counts with per_channel */
  const char *topics;                     /* comma separated, or NULL */
  const char *root;                       /* the project's folder, or NULL; kept by the restoration */
  const char *prompt;                     /* whose words are topics too, or NULL */
  const struct rp__session_row *previous; /* the session before; ref 0: none */
  const struct rp__living *living; /* the sessions that go on, since rp__restoration_since; NULL: they are read */
  struct rp__views *seen;          /* by this start, or NULL */
  int64_t now;
  bool preview;        /* no start has recovered the scope: what it would capture is a candidate too */
  const char *without; /* a session that is no candidate, or NULL */
  bool explain;        /* what is older than the lookback is offered too, for its verdict; costs a longer scan */
};
/* The time before which nothing comes back into a session of that scope. */
int64_t rp__restoration_since(const rp_engine *e, const char *scope, int64_t now);
/* Plans for a new session of a scope. */
RP_MUST_USE int rp__restoration_plan(rp_engine *e, const struct rp__restoration_options *o, struct rp__restoration *ret,
                                     rp_error *err);
/* Everything from one session that `into` has not yet: labels, task and memory ids. */
RP_MUST_USE int rp__restoration_continue(rp_session *into, const struct rp__session_row *from,
                                         struct rp__restoration *ret, rp_error *err);
/* The state of a session of its own, without a plan: `f` is it now, s->lock is held. */
RP_MUST_USE int rp__restoration_own(rp_session *s, const struct rp__scope_row *scope, const struct rp__fold *f,
                                    struct rp__restoration *ret, rp_error *err);

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
#define RP_ROBOT_BRIEF_BYTES 8192
#define RP_BRIEF_MARKS 35 /* bytes of the two lines that bridges put around a brief (bridge/injected-text.h) */
#define RP_BRIEF_NO_ROOM "brief_bytes is too small for the header and the instruction of a brief"
int rp__restoration_brief(const struct rp__restoration *r, const struct rp__restart_facts *facts, bool resumed,
                          int64_t total_sessions, struct rp__buf *out, struct rp__jw *why);

/* O-07: of a session that is resumed, `seconds` after it was left. */
RP_MUST_USE int rp__resume_audit(rp_engine *e, const char *scope, const struct rp__key *key, const char *session_id,
                                 double seconds, struct rp__audit_note *note, struct rp__op *op, rp_error *err);

/* Audit records of a restoration: how many there are, and making them. */
size_t rp__restoration_audits(const struct rp__restoration *r);
RP_MUST_USE int rp__restoration_audit(const struct rp__restoration *r, const char *session_id, const char *new_id,
                                      size_t i, struct rp__audit_note *note, struct rp__op *op, rp_error *err);

/* The stored record of a session that was read on the way; NULL: it was not, or there is none. */
struct rp__record_row *rp__restoration_record(const struct rp__restoration *r, int64_t session_ref);

/* ---- inside: which sessions speak (speaking-sessions.c) ---- */

/* The read of the newest sessions with a request, whatever their age. */
struct rp__read rp__speaking_reading(struct rp__restoration *r, const char *channel);
/* The sessions whose records are wanted, and their loading once these were read. */
size_t rp__speaking_wanted(const struct rp__restoration *r, int64_t *refs, const char **archived, size_t max);
RP_MUST_USE int rp__speaking_load(struct rp__restoration *r, const char *without, rp_error *err);
/* The session's own digest is the only one that speaks. */
void rp__speaking_own(struct rp__restoration *r, const rp_session *s, const struct rp__fold *f);
void rp__speaking_done(struct rp__restoration *r);
/* The text of a record that was read on the way. */
RP_MUST_USE int rp__restoration_record_text(struct rp__restoration *r, int64_t session_ref, const char *session_id,
                                            struct rp__buf *out, struct rp__json *ret, rp_error *err);

/* ---- inside: what the plan asks for (restoration-sources.c) ---- */

/* The reads of the scope's memories, by age and by topic, of one channel when it is not NULL; how many. */
#define RP_MEMORY_READS 2
size_t rp__restoration_memories(struct rp__restoration *r, const char *channel, struct rp__read *reads);
/* The read of those that one session learned. */
struct rp__read rp__restoration_memories_of(struct rp__restoration *r, const char *session_id);
/* Reads the scope's newest word on each task of the records that come back. */
RP_MUST_USE int rp__restoration_tasks(struct rp__restoration *r, rp_error *err);
void rp__restoration_drop_tasks(struct rp__restoration *r);
/* Takes away those that are among the newest `last` that the state has learned, by id or by text. */
void rp__restoration_drop_known(struct rp__restoration *r, size_t last);
void rp__restoration_drop_memories(struct rp__restoration *r);
struct rp__plan_sources rp__restoration_sources(struct rp__restoration *r);

#endif
