/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The guardian: a process between us and the agent that ends the agent with all its descendants when we end, for
 * whatever reason. The guardian is the agent's parent, and orphans among the agent's descendants become its children,
 * also those in sessions of their own, so it finds all of them.
 *
 * The guardian is forked from a process with threads and never calls exec, so no code in it may allocate or lock.
 */
#ifndef RP_BRIDGE_HOST_KEEPER_H
#define RP_BRIDGE_HOST_KEEPER_H

#include <signal.h>
#include <sys/types.h>

#define RP_KEEPER_TERM SIGTERM /* to it: everything gets SIGTERM, and SIGKILL after RP_KEEPER_GRACE_MS */
#define RP_KEEPER_KILL SIGQUIT /* … SIGKILL at once */
#define RP_KEEPER_GRACE_MS 3000

/*
 * Lives until the agent and all it left are gone. When the agent ends, its status (an exit code, or minus the signal)
 * is written to `ended` as an int, and what is left of its process group gets SIGTERM. All signals must be blocked.
 */
void rp__keeper_run(pid_t agent, int ended) __attribute__((noreturn));

#endif
