/* SPDX-License-Identifier: Apache-2.0 */
/* Version 2 of the protocol, which is a draft. */
#ifndef RP_BRIDGE_ACP_DRAFT_VERSION_H
#define RP_BRIDGE_ACP_DRAFT_VERSION_H

#include "bridge/acp/wire/pending-calls.h"

struct rp__acp;
struct rp__acp_session;

bool rp__draft_is(int64_t version);
void rp__draft_read_caps(struct rp__acp *a, struct rp__json result);
void rp__draft_warn(struct rp__acp *a);                             /* once */
bool rp__draft_request(struct rp__acp *a, const struct rp__msg *m); /* false: it is none that is known */
void rp__draft_answered(struct rp__acp *a, struct rp__call *c, const struct rp__msg *m);
void rp__draft_update(struct rp__acp_session *s, const struct rp__msg *m);
void rp__draft_broken(struct rp__acp_session *s, const char *text); /* the turn ends, for its agent has died */

#endif
