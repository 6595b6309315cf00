/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One life of the agent: its process, its lines in and out, and its end, which is reported once and after everything
 * else.
 */
#ifndef RP_BRIDGE_HOST_AGENT_H
#define RP_BRIDGE_HOST_AGENT_H

#include "bridge/host/inlet.h"

#define RP_AGENT_TERM_MS 2000 /* from the end of its input to SIGTERM */
#define RP_AGENT_KILL_MS 3000 /* … and on to SIGKILL */
#define RP_AGENT_DRAIN_MS 500 /* for output that children of a dead agent keep open */

enum rp__agent_stage { RP_AGENT_LIVE, RP_AGENT_TERM, RP_AGENT_KILL, RP_AGENT_DRAIN };

struct rp__agent_handler {
  void (*line)(void *ctx, const char *line, size_t n);
  void (*rest)(void *ctx, const char *line, size_t n); /* its last line, which has no end */
  void (*unreadable)(void *ctx, const rp_error *why);
  /*
   * It has ended, and all its lines were told. The memory is not the caller's any more; its keeper is, should it still
   * be there (else 0).
   */
  void (*gone)(void *ctx, int status, pid_t keeper);
  /* Its keeper was killed: what that kept descends from us now. Before `gone`. */
  void (*orphaned)(void *ctx);
};

struct rp__host_agent {
  struct rp__inlet in;
  struct rp__outlet out;
  uv_timer_t timer;
  uv_poll_t watch; /* of how it ended */
  int ended;
  const struct rp__agent_handler *handler;
  void *ctx;
  pid_t pid;     /* its keeper's; 0: that is gone */
  unsigned open; /* parts that are not closed yet */
  enum rp__agent_stage stage;
  int status; /* an exit code, or minus the signal */
  bool exited, silent, stopping, leaving, told;
};

/* `argv`, `env` and `outlive` as rp__child_start wants them. Reading is off at first. */
RP_MUST_USE int rp__agent_start(uv_loop_t *loop, const char *const *argv, char *const *env, bool outlive,
                                const struct rp__agent_handler *handler, void *ctx, struct rp__host_agent **ret,
                                rp_error *err);
/* That child of ours was reaped: maybe its keeper. */
void rp__agent_reaped(struct rp__host_agent *a, pid_t pid);
void rp__host_agent_read(struct rp__host_agent *a, bool on);
/* Closes its input; one that does not go by itself is terminated, then killed. */
void rp__agent_stop(struct rp__host_agent *a);
void rp__agent_kill(struct rp__host_agent *a);
/* Closes its input, and counts as gone soon, whether it has ended or goes on. */
void rp__agent_leave(struct rp__host_agent *a);
/* Kills it, waits for that, and tells nobody. NULL is fine. */
void rp__agent_abandon(struct rp__host_agent *a);

#endif
