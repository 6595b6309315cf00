/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Agents' sockets (C-06): one agent per session. An agent's messages become events, and events become messages to it.
 */
#ifndef RP_SERVER_AGENT_H
#define RP_SERVER_AGENT_H

#include "base/buf.h"
#include "server/server.h"

struct rp__agents;

RP_MUST_USE int rp__agents_new(struct rp__server *srv, struct rp__agents **ret, rp_error *err);
void rp__agents_free(struct rp__agents *a);
void rp__agents_close(struct rp__agents *a, int code); /* in the loop */
size_t rp__agents_connected(const struct rp__agents *a);
/* At start: sessions that had an agent are `reconnecting` (C-04). In the pool. */
RP_MUST_USE int rp__agents_restore(struct rp__server *srv, rp_error *err);
/* Job of background-work.c: sessions whose agent failed evict_s ago go to the trash, unless they were started again
 * (C-03). */
RP_MUST_USE int rp__agents_evict(struct rp__server *srv, rp_error *err);
/* Job of background-work.c: `reconnecting` that lasts longer than reconnect_s becomes `error`. */
RP_MUST_USE int rp__agents_give_up(struct rp__server *srv, rp_error *err);
void rp__agents_metrics(const struct rp__agents *a, struct rp__buf *out);

#endif
