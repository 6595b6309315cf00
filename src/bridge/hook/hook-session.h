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

/* Why a session ends, from the input; bounded. */
void rp__hook_reason(const struct rp__hook_session *h, char ret[RP_SCOPE_MAX + 1]);

#endif
