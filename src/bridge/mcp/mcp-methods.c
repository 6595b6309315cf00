/* SPDX-License-Identifier: Apache-2.0 */
/* The methods for tools, resources and prompts, whose contents come from tool/, resources.c and prompts.c. */
#include "base/text.h"
#include "bridge/mcp/mcp-impl.h"
#include "bridge/mcp/resources.h"

#define NAME_SHOWN 60 /* bytes of a peer's word that an error repeats */

void rp__mcp_tools_list(struct rp__jw *w)
{
  rp__jw_karray(w, "tools");
  for (size_t i = 0; rp__tools[i]; i++) {
    const struct rp__tool *t = rp__tools[i];
    rp__jw_pack(w, "{name:s title:s description:s", t->name, t->title, t->description);
    rp__jw_key(w, "inputSchema");
    rp__takes_schema(t->takes, w);
    rp__jw_pack(w, "annotations:{title:s readOnlyHint:b destructiveHint:b idempotentHint:b openWorldHint:b}", t->title,
                t->reads, t->destroys, t->repeats, false);
    /* Claude Code shows a model only the names of most servers' tools, until it searches for one. */
    if (t->always) rp__jw_pack(w, "_meta:{");
    if (t->always) rp__jw_kbool(w, "anthropic/alwaysLoad", true);
    rp__jw_pack(w, t->always ? "}}" : "}");
  }
  rp__jw_end_array(w);
}

void rp__mcp_tools_call(struct rp__mcp_ask *a)
{
  struct rp__json name = rp__json_get(a->rpc.params, "name"), args = rp__json_get(a->rpc.params, "arguments");
  struct rp__buf doc RP_AUTOBUF = RP_BUF(RP_TOOL_DOC_MAX), text RP_AUTOBUF = RP_BUF(RP_TOOL_DOC_MAX);
  char words[RP_MCP_WORDS];
  rp_error err = {0};
  if (name.type != RP_JSON_STRING) {
    rp__mcp_error(a, RP_RPC_PARAMS, NULL, "name: must be a string");
    return;
  }
  if (args.type && args.type != RP_JSON_OBJECT) {
    rp__mcp_error(a, RP_RPC_PARAMS, NULL, "arguments: must be an object");
    return;
  }
  const struct rp__tool *t = rp__tool_find(name);
  if (!t) {
    int n = (int)RP_MIN(name.n - 2, (size_t)NAME_SHOWN);
    rp__mcp_error(a, RP_RPC_PARAMS, NULL, "name: there is no tool '%.*s'", n, name.p + 1);
    return;
  }
  bool failed = rp__tool_call(&a->m->session, t, args, &doc, &err) != 0;
  struct rp__json value = rp__json_trusted(doc.p, doc.n);
  if (failed) { /* the model hears what went wrong, and can try again */
    rp__mcp_words(a->m, &err, words);
    rp__text_copy(err.message, sizeof err.message, words);
    rp__tool_error_text(&err, &text);
  } else {
    rp__tool_text(t, value, &text);
  }
  struct rp__str told = {text.p, text.n};
  if (text.err) told = failed ? (struct rp__str){words, strlen(words)} : (struct rp__str){doc.p, doc.n};
  struct rp__jw w = rp__mcp_begin(a);
  rp__jw_pack(&w, "content:[{type:s text:n}]", "text", told.p, told.n);
  if (!failed) rp__jw_kvalue(&w, "structuredContent", value);
  rp__jw_kbool(&w, "isError", failed);
  rp__mcp_end(a, &w);
}

/* ---- resources and prompts ---- */

static void finish(struct rp__mcp_ask *a, struct rp__jw *w, int rc, const rp_error *err)
{
  if (rc)
    rp__mcp_fail(a, err);
  else
    rp__mcp_end(a, w);
}

void rp__mcp_resources_list(struct rp__mcp_ask *a)
{
  rp_error err = {0};
  struct rp__jw w = rp__mcp_begin(a);
  int rc = rp__tool_session_open(&a->m->session, &err);
  if (!rc) rc = rp__resources_list(&a->m->session, rp__json_get(a->rpc.params, "cursor"), &w, &err);
  finish(a, &w, rc, &err);
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
  if (rc != RP_E_SESSION_NOT_FOUND) {
    finish(a, &w, rc, &err);
    return;
  }
  struct rp__buf data RP_AUTOBUF = RP_BUF(RP_MCP_LINE_MAX);
  struct rp__jw d = RP_JW(&data);
  char words[RP_MCP_WORDS];
  rp__mcp_words(a->m, &err, words);
  rp__jw_pack(&d, "{uri:v}", uri);
  rp__mcp_error(a, a->reply->modern ? RP_RPC_PARAMS : RP_MCP_NO_RESOURCE, data.err ? NULL : data.p, "%s", words);
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
  finish(a, &w, rc, &err);
}
