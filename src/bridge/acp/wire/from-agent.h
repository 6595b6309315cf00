/* SPDX-License-Identifier: Apache-2.0 */
/* Handles lines from the agent, and sends the proxy's own requests to it. */
#ifndef RP_BRIDGE_ACP_FROM_AGENT_H
#define RP_BRIDGE_ACP_FROM_AGENT_H

#include "bridge/acp/wire/pending-calls.h"

struct rp__acp;
struct rp__acp_session;

void rp__acp_from_agent(struct rp__acp *a, const struct rp__msg *m);
/* An update of a session's: written down, then sent. */
void rp__acp_deliver(struct rp__acp_session *s, const struct rp__msg *m);
/* A request of ours: begin it, write its params, end it. `id` gets the text. */
struct rp__call *rp__acp_ask(struct rp__acp *a, const char *method, struct rp__acp_session *s, int64_t ms,
                             rp__call_fn *done, struct rp__buf *out, struct rp__jw *ret_w);
void rp__acp_asked(struct rp__acp *a, struct rp__buf *out, struct rp__jw *w);

#endif
