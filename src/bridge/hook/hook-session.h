/* SPDX-License-Identifier: Apache-2.0 */
/* One input of a hook, and the session that the input belongs to. */
#ifndef RP_BRIDGE_HOOK_SESSION_H
#define RP_BRIDGE_HOOK_SESSION_H

#include "bridge/hook/hook.h"

/* Who journals, when another bridge is around the agent. */
enum rp__hook_rank {
  RP_HOOK_ALONE,  /* the session is ours: started, told of, ended */
  RP_HOOK_GUEST,  /* of a session that somebody else began: events go in, nothing is told */
  RP_HOOK_WITHIN, /* of a bridge that journals itself: only what it can't see goes in */
};

struct rp__hook_session {
  const struct rp__hook_agent *agent; /* NULL: nobody's shape */
  enum rp__hook_event event;
  bool known;    /* the agent's table has the word */
  char word[64]; /* the agent's own name of the event */
  struct rp__json input;
  char key[RP_SCOPE_MAX + 1]; /* of the session: "claude:6c81…" */
  char scope[RP_SCOPE_MAX + 1];
  char project[RP_PROJECT_PATH_MAX]; /* the folder in which the agent works; empty: not told */
  char former[RP_SCOPE_MAX + 1];     /* where an older program may have begun the session; empty: nowhere else */
  char channel[RP_HOOK_CHANNEL + 1]; /* the input's own (signal, telegram …), else "hook" */
};

#define RP_HOOK_CHANNEL_NONE "hook"

enum rp__hook_rank rp__hook_rank(void);

/*
 * Reads who speaks of what. The event is RP_HOOK_NONE when there is nothing to do, and then the rest is not filled.
 * RP_E_INVALID names the field that is missing.
 */
RP_MUST_USE int rp__hook_session_init(struct rp__hook_session *h, const struct rp__hook_call *c, struct rp__json input,
                                      rp_error *err);

/* Appends what the user typed: the input's prompt without what agents and we have put into it. RP_E_NOMEM. */
RP_MUST_USE int rp__hook_prompt(const struct rp__hook_session *h, struct rp__buf *ret);

/* Starts the session by its key, as one of the scope's. */
RP_MUST_USE int rp__hook_session_start(rp_engine *e, const struct rp__hook_session *h, rp_owner_kind owner, int64_t pid,
                                       rp_session **ret, rp_error *err);
/* Attaches to the session of the bridge around us: the one that the agent calls so, else one begun in `cwd`. */
RP_MUST_USE int rp__hook_session_attach(rp_engine *e, const struct rp__hook_session *h, const char *cwd,
                                        rp_session **ret, rp_error *err);
/* The text for the model that the start gave, between marks, appended; nothing when there is none. */
void rp__hook_brief(const rp_session *s, struct rp__buf *out);

/* Journals everything but starts; an end as something that was told, for whoever ends the session. */
RP_MUST_USE int rp__hook_note(rp_session *s, const struct rp__hook_session *h, rp_error *err);

/*
 * The file in which an agent keeps its conversation, read when an input lacks the last message: the text of the
 * assistant's last message of the turn that has just ended, appended to `ret`, and that entry's id (empty: none).
 * False: there is none to be found, for whatever reason.
 */
#define RP_TRANSCRIPT_ID 64
bool rp__transcript_last(const char *path, struct rp__buf *ret, char ret_id[RP_TRANSCRIPT_ID + 1]);

/*
 * The same file, for what no hook tells of the turn that ended last (Claude Code's form alone): the results of calls
 * that failed, newest first, and whether the user interrupted the turn.
 */
typedef void rp__transcript_failed_fn(void *ctx, const char *call_id, struct rp__str result);
void rp__transcript_turn(const char *path, rp__transcript_failed_fn *fn, void *ctx, bool *ret_interrupted);

/* ---- how a turn ended (turn.c) ---- */

/* Whether the result of a call says that the user rejected it; the user's words, where it has them, are appended. With
 * `ran` the call is known to have run, so that only agents that report rejections so are believed. */
bool rp__hook_declined(struct rp__str result, bool ran, struct rp__buf *said);
/* Writes "declined":true and, unless it is empty, "said". */
void rp__hook_write_declined(struct rp__jw *w, const struct rp__buf *said);
/* Journals that the turn ended without an answer (B-13). `reason`: a string, or nothing. */
RP_MUST_USE int rp__hook_turn(rp_session *s, const char *status, struct rp__json reason, rp_error *err);
/* Journals what the agent's file tells of the last turn and no hook did. A file that can't be read tells nothing. */
void rp__hook_turn_ended(rp_session *s, const struct rp__hook_session *h);

RP_MUST_USE int rp__hook_append(rp_session *s, const char *kind, const struct rp__buf *body, rp_durability durability,
                                rp_error *err);

/* Why a session ends, from the input; bounded. */
void rp__hook_reason(const struct rp__hook_session *h, char ret[RP_SCOPE_MAX + 1]);

#endif
