/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The time limit for stopping. A separate thread watches the thread that shuts the
 * server down. When the time is over, it ends the process, whatever the shutdown waits
 * for (a job of the pool, the store, a request without an answer). That is as safe as a
 * kill: acknowledged events are stored, and runs live by heartbeats.
 */
#ifndef RP_SERVER_STOP_H
#define RP_SERVER_STOP_H

#include <stdatomic.h>

#include "base/error.h"
#include "server/log.h"

#define RP_STOP_HURRY_MS 3000 /* from the second signal on, if that is sooner */

struct rp__stop;

/* `hurry` may be NULL. Without a thread to be had SIGALRM takes its place, which tells nothing. */
struct rp__stop *rp__stop_begin(struct rp__slog *log, int64_t ms, const atomic_bool *hurry);
/* What is waited for from now on, a constant, for the log. NULL is fine. */
void rp__stop_step(struct rp__stop *s, const char *step);
void rp__stop_end(struct rp__stop *s); /* it was in time; NULL is fine */

#endif
