/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The proxy as a whole: its two peers, its sessions, and how lines leave it. Everything runs on the proxy's thread,
 * except for the engine's acknowledgements, which come from other threads through session/journal.c.
 */
#ifndef RP_BRIDGE_ACP_PROXY_H
#define RP_BRIDGE_ACP_PROXY_H

#include "bridge/acp/acp.h"
#include "bridge/acp/wire/capabilities.h"
#include "bridge/acp/wire/line-queue.h"
#include "bridge/acp/wire/pending-calls.h"
#include "bridge/acp/wire/waiting.h"

struct rp__acp_session;
struct rp__inbox;

#define RP_ACP_SESSIONS 256           /* open at once */
#define RP_ACP_STOP ((size_t)8 << 20) /* bytes a peer has not taken: the other one is not read any more */
#define RP_ACP_BEAT_MS 10000
#define RP_ACP_DEATHS 3 /* within RP_ACP_LOOP_MS: the agent is left alone for as long */
#define RP_ACP_LOOP_MS 30000

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
  char *scope, *continue_id, *name;
  char **command;
  rp_durability updates;
  bool brief;       /* new sessions tell it */
  bool strict_load; /* a session that the agent can't load is not told to a new one */
  void (*log)(void *ctx, const char *text);
  void (*warn)(void *ctx, const char *text);
  void *log_ctx;
  bool told_broken;  /* that the agent says what is no message */
  bool told_unnamed; /* that the agent's name for a session is none that can be recorded */

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

void rp__acp_send(struct rp__acp *a, enum rp__acp_side to, struct rp__buf *line);
void rp__acp_forward(struct rp__acp *a, enum rp__acp_side to, struct rp__str line);
void rp__acp_error(struct rp__acp *a, enum rp__acp_side to, struct rp__json id, int code, const char *why,
                   const char *data);
void rp__acp_fail(struct rp__acp *a, struct rp__json id, const rp_error *err); /* as -32603 or the error's own */
void rp__acp_error_data(struct rp__buf *out, int code); /* "data" of such an answer: the error's name */
/* The answer to a call of the editor's; frees it. */
void rp__acp_answer(struct rp__acp *a, struct rp__call *c, struct rp__buf *line);
void rp__acp_answer_error(struct rp__acp *a, struct rp__call *c, int code, const char *why, const char *data);
/* … with the agent's own words, where m is an error. */
void rp__acp_answer_as(struct rp__acp *a, struct rp__call *c, const struct rp__msg *m, int code, const char *why);
/* A result without members, or a prompt's with that stopReason. */
void rp__acp_answer_empty(struct rp__acp *a, struct rp__json id, const char *stop_reason);
void rp__acp_log(struct rp__acp *a, const char *fmt, ...) RP_PRINTF(2, 3);
void rp__acp_warn(struct rp__acp *a, const char *fmt, ...) RP_PRINTF(2, 3);
int64_t rp__acp_now(struct rp__acp *a);

#endif
