/* SPDX-License-Identifier: Apache-2.0 */
/* The methods for resources and prompts, whose contents come from resources.c and prompts.c. */
#include "bridge/mcp/mcp-impl.h"
#include "bridge/mcp/prompts.h"
#include "bridge/mcp/resources.h"

static bool is_params(int rc)
{
  return rc == RP_E_INVALID || rc == RP_E_USAGE || rc == RP_E_SESSION_NOT_FOUND || rc == RP_E_AMBIGUOUS;
}

/* ---- resources ---- */

void rp__mcp_resources_list(struct rp__mcp_ask *a)
{
  rp_error err = {0};
  struct rp__jw w = rp__mcp_begin(a);
  int rc = rp__tool_session_open(&a->m->session, &err);
  if (!rc) rc = rp__resources_list(&a->m->session, rp__json_get(a->rpc.params, "cursor"), &w, &err);
  if (rc)
    rp__mcp_fail(a, is_params(rc) ? RP_RPC_PARAMS : 0, &err);
  else
    rp__mcp_end(a, &w);
}

void rp__mcp_templates_list(struct rp__mcp_ask *a)
{
  if (!rp__mcp_one_page(a)) return;
  struct rp__jw w = rp__mcp_begin(a);
  rp__resource_templates(&w);
  rp__mcp_end(a, &w);
}

static void no_resource(struct rp__mcp_ask *a, struct rp__json uri, const rp_error *err)
{
  struct rp__buf data RP_AUTOBUF = RP_BUF(RP_MCP_LINE_MAX);
  struct rp__jw w = RP_JW(&data);
  char words[RP_MCP_WORDS];
  rp__mcp_words(a->m, err, words);
  rp__jw_object(&w);
  rp__jw_kvalue(&w, "uri", uri);
  rp__jw_end_object(&w);
  rp__mcp_error(a, a->reply->modern ? RP_RPC_PARAMS : RP_MCP_NO_RESOURCE, data.err ? NULL : data.p, "%s", words);
}

void rp__mcp_resources_read(struct rp__mcp_ask *a)
{
  struct rp__json uri = rp__json_get(a->rpc.params, "uri");
  rp_error err = {0};
  struct rp__jw w = rp__mcp_begin(a);
  bool guessed = rp__tool_session_peek(&a->m->session);
  int rc = rp__tool_session_open(&a->m->session, &err);
  if (!rc) rc = rp__resource_read(&a->m->session, uri, &w, &err);
  if (guessed) rp__tool_session_leave(&a->m->session);
  if (!rc)
    rp__mcp_end(a, &w);
  else if (rc == RP_E_SESSION_NOT_FOUND)
    no_resource(a, uri, &err);
  else
    rp__mcp_fail(a, is_params(rc) ? RP_RPC_PARAMS : 0, &err);
}

/* ---- prompts ---- */

void rp__mcp_prompts_list(struct rp__mcp_ask *a)
{
  if (!rp__mcp_one_page(a)) return;
  struct rp__jw w = rp__mcp_begin(a);
  rp__prompts_list(&w);
  rp__mcp_end(a, &w);
}

void rp__mcp_prompts_get(struct rp__mcp_ask *a)
{
  struct rp__json name = rp__json_get(a->rpc.params, "name"), args = rp__json_get(a->rpc.params, "arguments");
  rp_error err = {0};
  struct rp__jw w = rp__mcp_begin(a);
  bool guessed = rp__tool_session_peek(&a->m->session);
  int rc = rp__tool_session_open(&a->m->session, &err);
  if (!rc) rc = rp__prompt_get(&a->m->session, name, args, &w, &err);
  if (guessed) rp__tool_session_leave(&a->m->session);
  if (rc)
    rp__mcp_fail(a, is_params(rc) ? RP_RPC_PARAMS : 0, &err);
  else
    rp__mcp_end(a, &w);
}
