/* SPDX-License-Identifier: Apache-2.0 */
/* The unexpected end of the agent's process, and its restart. */
#ifndef RP_BRIDGE_ACP_AGENT_DEATH_H
#define RP_BRIDGE_ACP_AGENT_DEATH_H

#include <stdbool.h>

#include "base/buf.h"

struct rp__acp;

void rp__death_wake(struct rp__acp *a); /* the crash loop's pause is over */
bool rp__death_paused(struct rp__acp *a);
void rp__death_describe(const struct rp__acp *a, struct rp__buf *out);
void rp__death_data(const struct rp__acp *a, struct rp__buf *out); /* "data" of an error that tells it */
void rp__death_pick_up(struct rp__acp *a);                         /* the agent is up again */
void rp__death_replace(struct rp__acp *a, const char *why);

#endif
