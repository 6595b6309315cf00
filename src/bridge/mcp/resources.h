/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The resources that MCP clients may read: the list of the scope's sessions, a session, its state, and the brief; and
 * the prompts that a person picks in a client: `resume` continues where a session stopped, `handoff` tells another
 * agent about a session. The functions write members of a result object that the caller has opened; on an error they
 * have written nothing. Reading either begins no session and inherits nothing.
 */
#ifndef RP_BRIDGE_MCP_RESOURCES_H
#define RP_BRIDGE_MCP_RESOURCES_H

#include "bridge/tool/tool-session.h"

#define RP_RESOURCE_PAGE 50     /* sessions in one page of a list */
#define RP_RESOURCE_URI_MAX 512 /* bytes */
#define RP_RESOURCE_DOC_MAX ((size_t)8 * 1024 * 1024)

/* "resources": the fixed ones, then the newest sessions; "nextCursor" when there are others. `cursor`: NONE or what was
 * given before (RP_E_INVALID naming "cursor"). */
RP_MUST_USE int rp__resources_list(struct rp__tool_session *m, struct rp__json cursor, struct rp__jw *w, rp_error *err);
/* "resourceTemplates". */
void rp__resource_templates(struct rp__jw *w);
/*
 * "contents". RP_E_INVALID naming "uri": missing, or no string. RP_E_SESSION_NOT_FOUND: there is no such resource, or
 * it belongs to a scope that is closed to this session; the protocol's own code for that is the caller's business.
 */
RP_MUST_USE int rp__resource_read(struct rp__tool_session *m, struct rp__json uri, struct rp__jw *w, rp_error *err);

#define RP_PROMPT_MAX ((size_t)512 * 1024) /* bytes of one prompt's text */

/* "prompts". */
void rp__prompts_list(struct rp__jw *w);
/*
 * "description" and "messages". RP_E_INVALID naming "name" or the argument: unknown prompt, unknown or wrong
 * arguments. RP_E_SESSION_NOT_FOUND: its argument names no session. `args` may be NONE.
 */
RP_MUST_USE int rp__prompt_get(struct rp__tool_session *m, struct rp__json name, struct rp__json args, struct rp__jw *w,
                               rp_error *err);

#endif
