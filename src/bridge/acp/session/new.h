/* SPDX-License-Identifier: Apache-2.0 */
/* session/new and session/fork. */
#ifndef RP_BRIDGE_ACP_NEW_H
#define RP_BRIDGE_ACP_NEW_H

#include "bridge/acp/wire/pending-calls.h"

struct rp__acp;
struct rp__acp_session;

void rp__acp_on_new(struct rp__acp *a, const struct rp__msg *m);
void rp__acp_made(struct rp__acp *a, struct rp__call *c, const struct rp__msg *m);
void rp__acp_on_fork(struct rp__acp *a, const struct rp__msg *m);
void rp__acp_forked(struct rp__acp *a, struct rp__call *c, const struct rp__msg *m);

#endif
