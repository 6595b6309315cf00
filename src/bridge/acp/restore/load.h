/* SPDX-License-Identifier: Apache-2.0 */
/* session/load and session/resume, and the session/new of --continue. */
#ifndef RP_BRIDGE_ACP_LOAD_H
#define RP_BRIDGE_ACP_LOAD_H

#include "bridge/acp/wire/pending-calls.h"

struct rp__acp;
struct rp__acp_session;

void rp__acp_on_load(struct rp__acp *a, const struct rp__msg *m);
void rp__acp_adopted(struct rp__acp *a, struct rp__call *c, const struct rp__msg *m);
/* It was begun because its replay was too long to wait: of what was not loaded nothing stays. */
void rp__acp_unadopt(struct rp__acp *a, struct rp__call *c);
struct rp__acp_session *rp__acp_adopt_early(struct rp__acp *a, struct rp__json sid);
void rp__acp_not_found(struct rp__acp *a, struct rp__json id, struct rp__json params, const char *why);
void rp__load_continue(struct rp__acp *a, const struct rp__msg *m); /* a session/new that goes on with an old one */
void rp__load_ready(struct rp__acp_session *s);                     /* the agent has it: now the editor */
void rp__load_pump(struct rp__acp_session *s);
void rp__load_drop(struct rp__acp_session *s);

#endif
