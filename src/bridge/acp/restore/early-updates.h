/* SPDX-License-Identifier: Apache-2.0 */
/* Updates of the agent for a session that the editor does not know yet. */
#ifndef RP_BRIDGE_ACP_EARLY_UPDATES_H
#define RP_BRIDGE_ACP_EARLY_UPDATES_H

#include "bridge/acp/wire/message.h"

struct rp__acp;
struct rp__acp_session;

/* Keeps an update of a session that is being begun or loaded. False: it is not, or there is no room. */
bool rp__early_updates_hold(struct rp__acp *a, const struct rp__msg *m);
/* The session is known by now: what came for it is handled, in its order. */
void rp__early_updates_release(struct rp__acp_session *s);
/* There will be no such session: nobody is told of it. */
void rp__early_updates_drop(struct rp__acp *a, struct rp__json sid);
/* When nothing is being begun any more, what is left goes to the editor as it came. */
void rp__early_updates_settle(struct rp__acp *a);
/* The editor waits for its answer, and what the agent says now is to come behind it. False: it need not wait. */
bool rp__early_updates_wait(struct rp__acp_session *s, const struct rp__msg *m);

#endif
