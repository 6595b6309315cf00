/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent's process. Its stdin and stdout are pipes, its stderr is ours, and it has a session (setsid) of its own, so
 * that a Ctrl-C in our terminal reaches the agent only through us. A guardian process (guardian.h) stands between us
 * and the agent: if we die, it ends the agent and everything that the agent has started.
 *
 * The process is made by fork and not by uv_spawn: uv_spawn has no place for a guardian, and gives the child sockets,
 * where programs that open /dev/stdin need pipes.
 */
#ifndef RP_BRIDGE_HOST_CHILD_H
#define RP_BRIDGE_HOST_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

struct rp__child {
  pid_t pid;   /* the keeper's: it is signalled by RP_KEEPER_TERM and RP_KEEPER_KILL, and waited for */
  int in, out; /* our ends, closed on exec; the caller's */
  int ended;   /* the agent's status as an int once it has ended; nothing when its keeper was killed */
};

/*
 * `argv` and `env` end with NULL; the program is looked for in $PATH. `outlive`: it may go on when we have died.
 * RP_E_FILE_NOT_FOUND, RP_E_FAILED.
 */
RP_MUST_USE int rp__child_start(const char *const *argv, char *const *env, bool outlive, struct rp__child *ret,
                                rp_error *err);

/* This process's environment with `extra` ("NAME=value", ends with NULL) instead of what it has of those names. */
char **rp__child_env(const char *const *extra);

#endif
