/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ACP proxy between one editor and one agent. The proxy knows no process and no socket: lines come in and go out
 * through an interface, the "world", which wire/host.c implements with libuv and the tests implement in memory. All
 * calls are made on one thread; only `poke` may be called from others.
 */
#ifndef RP_BRIDGE_ACP_H
#define RP_BRIDGE_ACP_H

#include <stdbool.h>

#include <reprise/reprise.h>

#include "base/error.h"
#include "base/macros.h"

struct rp__acp;

/* Its texts are to outlive the proxy, but for the command. */
struct rp__acp_options {
  const char *scope;          /* of new sessions; NULL: of their directory (bridge/workspace.h) */
  const char *continue_id;    /* the first session/new goes on with this one; or NULL */
  const char *name;           /* of the first new session; or NULL */
  const char *const *command; /* the agent's, for the record; ends with NULL */
  rp_durability updates;      /* of streamed chunks: RP_OS unless told otherwise */
  bool brief;                 /* the first prompt of a new session carries the brief */
  bool strict_load;           /* a session that the agent can't load is an error */
  bool outlive;               /* the agent may go on when we have ended */
  /* What is worth a line for a person who asked for it (-v); or NULL. */
  void (*log)(void *ctx, const char *text);
  void (*warn)(void *ctx, const char *text); /* … and for whoever did not */
  void *log_ctx;
};

enum rp__acp_side { RP_ACP_CLIENT, RP_ACP_AGENT };

struct rp__acp_world {
  void *ctx;
  /* Sends a line (without its end). The bytes are copied or written before it returns. */
  void (*send)(void *ctx, enum rp__acp_side to, const char *line, size_t n);
  /* Bytes that were sent to a side and are not written yet. */
  size_t (*backlog)(void *ctx, enum rp__acp_side to);
  /* Reading from a side stops and goes on: back-pressure. */
  void (*read)(void *ctx, enum rp__acp_side from, bool on);
  /* Starts the agent; a former one is gone. Its death is told by rp__acp_agent_gone. */
  int (*start)(void *ctx, rp_error *err);
  /* Ends the agent: its input is closed, later it is killed. Its death is told all the same. */
  void (*stop)(void *ctx);
  /* rp__acp_tick is called once, that many ms from now; a later call replaces an earlier one. < 0: not at all. */
  void (*timer)(void *ctx, int64_t ms);
  int64_t (*now)(void *ctx); /* ms, monotonic */
  /* rp__acp_poke is called soon, on the proxy's thread. May be called from any thread. */
  void (*poke)(void *ctx);
  /* All is said: the program may end with this exit code. */
  void (*finish)(void *ctx, int code);
};

RP_MUST_USE int rp__acp_new(rp_engine *e, const struct rp__acp_options *o, const struct rp__acp_world *w,
                            struct rp__acp **ret, rp_error *err);
void rp__acp_free(struct rp__acp *a); /* ends no session: that is what client_gone is for */

/* Starts the agent. */
RP_MUST_USE int rp__acp_begin(struct rp__acp *a, rp_error *err);
void rp__acp_line(struct rp__acp *a, enum rp__acp_side from, const char *line, size_t n);
/* The agent's last line, which has no end: it died while it wrote, unless that is all of a message. */
void rp__acp_rest(struct rp__acp *a, const char *line, size_t n);
/* A line was over RP_LINE_MAX, or could not be kept. The agent is replaced; of the editor's the rest is read on. */
void rp__acp_unreadable(struct rp__acp *a, enum rp__acp_side from, const rp_error *why);
/* The agent ended: an exit code, or minus the signal. */
void rp__acp_agent_gone(struct rp__acp *a, int status);
/* The editor closed, or we were told to end: sessions end, the agent is stopped, then finish. */
void rp__acp_client_gone(struct rp__acp *a, const char *reason);
void rp__acp_tick(struct rp__acp *a);
void rp__acp_poke(struct rp__acp *a);
/* What was sent was written: there may be room for more of a replay. */
void rp__acp_drained(struct rp__acp *a, enum rp__acp_side to);

/*
 * The proxy with a world of libuv: this process's stdin and stdout, the agent as a child, signals, one timer
 * (wire/host.c). Runs until the editor goes. Returns 0 or an error; *ret_code: what the program shall exit with.
 */
RP_MUST_USE int rp__acp_run(rp_engine *e, const struct rp__acp_options *o, int *ret_code, rp_error *err);

#endif
