/* SPDX-License-Identifier: Apache-2.0 */
/* A session of the proxy: its ids at the editor and at the agent, its state, its turns, and its journal. */
#ifndef RP_BRIDGE_ACP_SESSION_H
#define RP_BRIDGE_ACP_SESSION_H

#include <reprise/admin.h>
#include <reprise/continuity.h>
#include <reprise/host.h>

#include "bridge/acp/proxy.h"
#include "bridge/acp/replay/replay-filter.h"
#include "bridge/acp/replay/replay.h"
#include "bridge/acp/restore/ladder.h"
#include "bridge/acp/session/event.h"
#include "bridge/acp/session/machine.h"
#include "bridge/acp/session/settings.h"
#include "bridge/workspace.h"

#define RP_ACP_TOOLS 256    /* open tool calls of a session that are closed when the agent dies */
#define RP_ACP_PREAMBLE 160 /* … of the words with which a brief begins */
#define RP_ACP_OPEN_MS 5000 /* between two tries to open a journal */

/* Whether the agent's session has the conversation. */
enum rp__agent_history {
  RP_HISTORY_TOLD, /* it does */
  RP_HISTORY_DUE,  /* the next prompt carries the history; until it is answered the journal has no id of the agent's */
  RP_HISTORY_SENT, /* a prompt that carries it has no answer yet */
};

/* The request of the editor's that the session works on. */
enum rp__acp_wish { RP_WISH_RESUME, RP_WISH_LOAD, RP_WISH_CLOSE, RP_WISH_DELETE };

struct rp__acp_session {
  struct rp__acp_session *next;
  struct rp__acp *a;
  enum rp__acp_state state;     /* changed by rp__acp_session_on alone */
  char *client_sid, *agent_sid; /* agent_sid: what it had last; NULL: none */
  bool bound;                   /* the agent that runs now has it, or is being asked about it */
  char id[RP_ID_MAX + 1], scope[RP_SCOPE_MAX + 1];
  char *params; /* of the last new, load or resume */
  struct rp__known_calls known;
  struct rp__settings settings;
  struct rp__ladder ladder;
  struct rp__replay_filter filter;
  struct rp__waiting_lines later; /* the agent's lines, said while the editor waits for its answer */

  /* turns */
  unsigned running;          /* prompts at the agent */
  char *tools[RP_ACP_TOOLS]; /* open tool calls: raw ids */
  size_t n_tools;
  enum rp__agent_history history;
  bool brief_due;                 /* the first prompt carries the start's brief */
  char preamble[RP_ACP_PREAMBLE]; /* the first words that were put before the user's */

  /* a request of the editor's */
  struct rp__call *asked; /* NULL: none, or the editor has cancelled it */
  enum rp__acp_wish wish;
  struct rp__replay *replay; /* of a load: what is told so far */
  int64_t end_by;            /* of a close: when the turn must be over; 0: there is none */

  /* the journal */
  rp_session *h;   /* NULL: it could not be opened */
  int64_t open_at; /* … and is tried again then */
  size_t body_max;
  int64_t lost, found; /* messages that could not be stored; those of which the journal tells that they are missing */
  int64_t lost_from;
  bool told_lost; /* the editor was told */
  int gone;       /* why it was taken away: an error's code */
};

struct rp__acp_session *rp__acp_open_here(const struct rp__acp *a, const char *id); /* by the journal's id */
struct rp__acp_session *rp__acp_by_client(const struct rp__acp *a, struct rp__json sid);
struct rp__acp_session *rp__acp_by_agent(const struct rp__acp *a, struct rp__json sid);
/* An id that the agent had before it got another: what comes under it is a late echo. */
bool rp__acp_stale(const struct rp__acp *a, struct rp__json sid);
/* NULL: no memory, or too many; `err` says which. */
struct rp__acp_session *rp__acp_session_new(struct rp__acp *a, const char *client_sid, rp_error *err);
void rp__acp_session_free(struct rp__acp_session *s);
/* The session's next state by the table of session/machine.h; the caller does what is returned. */
enum rp__acp_do rp__acp_session_on(struct rp__acp_session *s, enum rp__acp_on on);
bool rp__acp_is_restoring(const struct rp__acp_session *s); /* or reloading */
/* A session of the agent's that we have not seen: its journal begins. Never fails: without one it is told. */
void rp__acp_session_begin(struct rp__acp_session *s, struct rp__json params);
/* One that the agent made of another, whose journal up to `seq` it begins with. `owed`: the agent has nothing of that.
 */
void rp__acp_session_branch(struct rp__acp_session *s, rp_session *from, int64_t seq, bool owed,
                            struct rp__json params);
/* … one that could not be begun then. */
RP_MUST_USE int rp__acp_session_begin_late(struct rp__acp_session *s, rp_error *err);
void rp__acp_session_retry(struct rp__acp_session *s); /* … now: something is said, or it is the last chance */
void rp__acp_sessions_retry(struct rp__acp *a);        /* … all of them, as soon as that works */
/* One that the journal has: RP_E_SESSION_NOT_FOUND, RP_E_HELD, … */
RP_MUST_USE int rp__acp_session_resume(struct rp__acp *a, const char *ref, bool by_wire, struct rp__acp_session **ret,
                                       rp_error *err);
RP_MUST_USE int rp__acp_session_reopen(struct rp__acp_session *s, rp_error *err);
/* Ends it in the journal and lets go of it. */
void rp__acp_session_end(struct rp__acp_session *s, const char *reason);
void rp__acp_put_provider(struct rp__acp_session *s); /* which agent has it now, and under which id */
bool rp__acp_set_agent_sid(struct rp__acp_session *s, struct rp__json sid); /* false: no memory */
void rp__acp_learn_update(struct rp__acp_session *s, struct rp__json update);

#endif
