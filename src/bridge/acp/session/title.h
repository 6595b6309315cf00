/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recognises titles that an agent made from the proxy's text before the user's prompt, not from the user's own words.
 */
#ifndef RP_BRIDGE_ACP_TITLE_H
#define RP_BRIDGE_ACP_TITLE_H

#include "json/json.h"

struct rp__acp_session;

/* Whether an agent made it of what it was told with a prompt; `s` may be NULL. */
bool rp__title_is_ours(const struct rp__acp_session *s, struct rp__json title);
/* Takes an update with such a title: what else it says goes on. */
bool rp__title_takes(struct rp__acp_session *s, struct rp__json update);
size_t rp__title_leave_out(struct rp__json object, struct rp__buf *out); /* how many members stay */

#endif
