/* SPDX-License-Identifier: Apache-2.0 */
/* Handles lines from the editor: requests, notifications, and answers to the agent's requests. */
#ifndef RP_BRIDGE_ACP_FROM_CLIENT_H
#define RP_BRIDGE_ACP_FROM_CLIENT_H

#include "bridge/acp/wire/pending-calls.h"

struct rp__acp;
struct rp__acp_session;

/* Remembers a request of the editor's; NULL: there is no memory, and it was answered so. */
struct rp__call *rp__acp_pend(struct rp__acp *a, const struct rp__msg *m, enum rp__call_kind kind,
                              struct rp__acp_session *s);
/* … and forwards it; params.sessionId becomes the agent's. */
struct rp__call *rp__acp_pass(struct rp__acp *a, const struct rp__msg *m, enum rp__call_kind kind,
                              struct rp__acp_session *s);
void rp__acp_from_client(struct rp__acp *a, const struct rp__msg *m);
/* Whether the agent has it; else the line waits for that, or is refused. */
bool rp__acp_session_there(struct rp__acp *a, const struct rp__msg *m, struct rp__acp_session *s);

#endif
