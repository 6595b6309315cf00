/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process between us and the agent, so that nothing of the agent outlives us, whatever ends us. It is the agent's
 * parent and takes in what the agent's children leave behind, also in sessions of their own, so it finds all of them.
 *
 * It is made by a fork of a process with threads and becomes no program of its own: nothing in it may allocate or lock.
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
