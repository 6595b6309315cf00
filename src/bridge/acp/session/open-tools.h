/* SPDX-License-Identifier: Apache-2.0 */
/* Tool calls of a session that have no end yet. */
#ifndef RP_BRIDGE_ACP_OPEN_TOOLS_H
#define RP_BRIDGE_ACP_OPEN_TOOLS_H

#include "json/json.h"

struct rp__acp_session;

void rp__tools_learn(struct rp__acp_session *s, struct rp__json update, bool begins);
void rp__tools_write_failed(const struct rp__acp_session *s, size_t i, struct rp__buf *out);
void rp__tools_leave(struct rp__acp_session *s); /* nobody will hear of their ends: so the ledger says */
void rp__tools_done(struct rp__acp_session *s);

#endif
