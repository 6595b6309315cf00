/* SPDX-License-Identifier: Apache-2.0 */
/* The turns of a session, and messages that the proxy itself sends in it. */
#ifndef RP_BRIDGE_ACP_PROMPT_H
#define RP_BRIDGE_ACP_PROMPT_H

#include "bridge/acp/wire/pending-calls.h"

struct rp__acp;
struct rp__acp_session;

void rp__acp_on_prompt(struct rp__acp *a, const struct rp__msg *m, struct rp__acp_session *s);
void rp__acp_owe_history(struct rp__acp_session *s); /* the agent has a session of its own for it, and no more */
void rp__acp_prompted(struct rp__acp *a, struct rp__call *c, const struct rp__msg *m);
/* The turn is over without the agent: tools that are open fail, the editor reads `text`, the prompts end. */
void rp__acp_turn_broken(struct rp__acp_session *s, const char *text);
/* Sends an update as if the agent had; `store`: and writes it down like one. */
void rp__acp_put_update(struct rp__acp_session *s, struct rp__buf *update, bool store);
/* A word of ours in the session: a notice where the editor knows them, else a message. */
void rp__acp_tell(struct rp__acp_session *s, const char *title, const char *text, bool store);

#endif
