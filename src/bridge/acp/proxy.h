/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The proxy as a whole: its two peers, its sessions, and how lines leave it. Everything runs on the proxy's thread,
 * except for the engine's acknowledgements, which come from other threads through session/journal.c.
 */
#ifndef RP_BRIDGE_ACP_PROXY_H
#define RP_BRIDGE_ACP_PROXY_H

#include "bridge/acp/acp.h"
#include "bridge/acp/wire/wire.h"

struct rp__acp_session;
struct rp__inbox;

#define RP_ACP_SESSIONS 256           /* open at once */
#define RP_ACP_STOP ((size_t)8 << 20) /* bytes a peer has not taken: the other one is not read any more */
#define RP_ACP_BEAT_MS 10000
#define RP_ACP_DEATHS 3 /* within RP_ACP_LOOP_MS: the agent is left alone for as long */
#define RP_ACP_LOOP_MS 30000

#define RP_ACP_NAME 128 /* bytes of the agent's name */

/* From its answer to initialize. */
struct rp__agent_caps {
  bool load, resume, list, close, remove, fork;
  char name[RP_ACP_NAME], version[64];
};

enum rp__agent_state {
  RP_AGENT_OFF,
  RP_AGENT_UP,     /* what the editor says is forwarded */
  RP_AGENT_WAKING, /* started again; we introduce ourselves */
  RP_AGENT_DYING,  /* told to end; what it says is not heard */
  RP_AGENT_BROKEN, /* died too often */
};

struct rp__acp {
  rp_engine *e;
  struct rp__acp_world w;
  struct rp__acp_options o; /* continue_id and name are NULL once they were used; its command is not read */
  char **command;           /* without its secrets */
  bool told_broken;         /* that the agent says what is no message */
  bool told_unnamed;        /* that the agent's name for a session is none that can be recorded */

  struct rp__line_queue to_client, to_agent;
  struct rp__calls client, agent;         /* requests of the editor and ours; of the agent */
  struct rp__waiting_lines waiting;       /* the editor's lines */
  struct rp__waiting_lines early_updates; /* the agent's, of sessions that are not known yet */
  struct rp__inbox *inbox;
  struct rp__acp_session *sessions;
  struct rp__acp_session *continuing; /* the one of --continue, which the editor does not have yet; or NULL */
  size_t n_sessions;
  int64_t own_n, alias_n;

  enum rp__agent_state agent_state;
  struct rp__agent_caps caps;
  bool known;       /* an initialize was answered */
  bool transparent; /* another version of the protocol: we only pass on */
  bool draft;       /* … version 2, of which what is known is written down */
  bool draft_told, draft_noticed;
  bool notices, compaction;
  char *initialize; /* the editor's line, params */
  char *authenticate;
  int64_t deaths[RP_ACP_DEATHS];
  int64_t retry_at;
  bool careful; /* one died while several were restored: now one after the other, so that it shows why */
  int status;
  unsigned told; /* messages of our own: each is one by itself */
  char why[500]; /* it was ended, in words */

  bool ending; /* the editor is gone */
  bool finished;
  bool reading[2];
  int64_t beat_at, timer_at;
};

/* A line behind those that wait; NULL: it went, or is lost. */
struct rp__queued_line *rp__acp_queue(struct rp__acp *a, struct rp__line_queue *to, struct rp__str line,
                                      unsigned waits);
void rp__acp_send(struct rp__acp *a, enum rp__acp_side to, struct rp__buf *line);
void rp__acp_forward(struct rp__acp *a, enum rp__acp_side to, struct rp__str line);
void rp__acp_error(struct rp__acp *a, enum rp__acp_side to, struct rp__json id, int code, const char *why,
                   const char *data);
void rp__acp_fail(struct rp__acp *a, struct rp__json id, const rp_error *err); /* as -32603 or the error's own */
/* The answer to a call of the editor's; frees it. */
void rp__acp_answer(struct rp__acp *a, struct rp__call *c, struct rp__buf *line);
void rp__acp_answer_error(struct rp__acp *a, struct rp__call *c, int code, const char *why, const char *data);
/* A result without members, or a prompt's with that stopReason. */
void rp__acp_answer_empty(struct rp__acp *a, struct rp__json id, const char *stop_reason);
void rp__acp_log(struct rp__acp *a, const char *fmt, ...) RP_PRINTF(2, 3);
void rp__acp_warn(struct rp__acp *a, const char *fmt, ...) RP_PRINTF(2, 3);
int64_t rp__acp_now(struct rp__acp *a);

/* ---- lines of the editor (wire/from-client.c) ---- */

void rp__acp_from_client(struct rp__acp *a, const struct rp__msg *m);
/* Remembers a request of the editor's; NULL: there is no memory, and it was answered so. */
struct rp__call *rp__acp_pend(struct rp__acp *a, const struct rp__msg *m, enum rp__call_kind kind,
                              struct rp__acp_session *s);
/* … and forwards it; params.sessionId becomes the agent's. */
struct rp__call *rp__acp_pass(struct rp__acp *a, const struct rp__msg *m, enum rp__call_kind kind,
                              struct rp__acp_session *s);
/* Whether the agent has it; else the line waits for that, or is refused. */
bool rp__acp_session_there(struct rp__acp *a, const struct rp__msg *m, struct rp__acp_session *s);
/* Requests that the proxy answers itself, or has a part in: session/new.c, list.c, close.c, restore/load.c. */
void rp__acp_on_initialize(struct rp__acp *a, const struct rp__msg *m);
void rp__acp_on_new(struct rp__acp *a, const struct rp__msg *m);
void rp__acp_on_fork(struct rp__acp *a, const struct rp__msg *m);
void rp__acp_on_load(struct rp__acp *a, const struct rp__msg *m);
void rp__acp_on_list(struct rp__acp *a, const struct rp__msg *m);
void rp__acp_on_close(struct rp__acp *a, const struct rp__msg *m);
void rp__acp_on_delete(struct rp__acp *a, const struct rp__msg *m);
void rp__acp_on_prompt(struct rp__acp *a, const struct rp__msg *m, struct rp__acp_session *s);
void rp__acp_not_found(struct rp__acp *a, struct rp__json id, struct rp__json params, const char *why);

/* ---- lines of the agent (wire/from-agent.c) ---- */

void rp__acp_from_agent(struct rp__acp *a, const struct rp__msg *m);
/* An update of a session's: written down, then sent. */
void rp__acp_deliver(struct rp__acp_session *s, const struct rp__msg *m);
/* Asks the agent. NULL: no memory. Params that could not be written are not sent: then the deadline comes. */
struct rp__call *rp__acp_ask(struct rp__acp *a, const char *method, struct rp__str params, struct rp__acp_session *s,
                             int64_t ms, rp__call_fn *done);
/* Its answers to what the editor asked. */
rp__call_fn rp__acp_initialized, rp__acp_made, rp__acp_forked, rp__acp_adopted, rp__acp_prompted, rp__acp_closed,
    rp__acp_deleted;

/* ---- who the agent is, and what it can do (wire/capabilities.c) ---- */

void rp__acp_read_caps(struct rp__acp *a, struct rp__json result);
void rp__agent_name(const char *name, char ret[RP_ACP_NAME]);
void rp__agent_title(const struct rp__acp *a, char ret[RP_ACP_NAME + 16]); /* "agent NAME", or "agent" */

/* ---- the agent's end, when nobody asked for it, and its return (session/agent-death.c) ---- */

void rp__death_wake(struct rp__acp *a); /* the crash loop's pause is over */
void rp__death_describe(const struct rp__acp *a, struct rp__buf *out);
void rp__death_data(const struct rp__acp *a, struct rp__buf *out); /* "data" of an error that tells it */
void rp__death_replace(struct rp__acp *a, const char *why);

/* ---- version 2 of the protocol, which is a draft (wire/draft-version.c) ---- */

void rp__draft_warn(struct rp__acp *a);                             /* once */
bool rp__draft_request(struct rp__acp *a, const struct rp__msg *m); /* false: it is none that is known */
rp__call_fn rp__draft_answered;
void rp__draft_update(struct rp__acp_session *s, const struct rp__msg *m);
void rp__draft_broken(struct rp__acp_session *s, const char *text); /* the turn ends, for its agent has died */

/* ---- the agent's command line as it is written down: without its secrets (wire/agent-command.c) ---- */

char **rp__command_copy(rp_engine *e, const char *const *command); /* ends with NULL; NULL: no memory */
void rp__command_free(char **command);

#endif
