/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prompts that a person picks in an MCP client: `resume` continues where a session stopped, `handoff` tells another
 * agent about a session. Both only read: they begin no session and inherit nothing.
 */
#ifndef RP_BRIDGE_MCP_PROMPTS_H
#define RP_BRIDGE_MCP_PROMPTS_H

#include "bridge/tool/tool-session.h"

#define RP_PROMPT_MAX ((size_t)512 * 1024) /* bytes of one prompt's text */

/* "prompts", into a result object that the caller has opened. */
void rp__prompts_list(struct rp__jw *w);
/*
 * "description" and "messages"; on an error nothing was written. RP_E_INVALID naming "name" or the argument: unknown
 * prompt, unknown or wrong arguments. RP_E_SESSION_NOT_FOUND: its argument names no session. `args` may be NONE.
 */
RP_MUST_USE int rp__prompt_get(struct rp__tool_session *m, struct rp__json name, struct rp__json args, struct rp__jw *w,
                               rp_error *err);

#endif
