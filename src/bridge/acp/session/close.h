/* SPDX-License-Identifier: Apache-2.0 */
/* session/close and session/delete. */
#ifndef RP_BRIDGE_ACP_CLOSE_H
#define RP_BRIDGE_ACP_CLOSE_H

#include "bridge/acp/wire/pending-calls.h"
#include "bridge/workspace.h"
#include <reprise/reprise.h>

struct rp__acp;
struct rp__acp_session;

#define RP_ACP_CLOSE_MS 5000 /* for a turn to end before its session is closed */

void rp__acp_on_close(struct rp__acp *a, const struct rp__msg *m);
void rp__acp_on_delete(struct rp__acp *a, const struct rp__msg *m);
void rp__acp_closed(struct rp__acp *a, struct rp__call *c, const struct rp__msg *m);
void rp__acp_deleted(struct rp__acp *a, struct rp__call *c, const struct rp__msg *m);
/* Whether the journal has a session of that name; `id` gets its own. */
bool rp__acp_in_journal(struct rp__acp *a, struct rp__json sid, char id[RP_SCOPE_MAX + 1]);
void rp__close_go_on(struct rp__acp_session *s, bool late); /* its turn is over, or took too long */

#endif
