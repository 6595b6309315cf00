/* SPDX-License-Identifier: Apache-2.0 */
/* MCP's tools/list and tools/call over the table of tools. */
#include "base/text.h"
#include "bridge/mcp/mcp-impl.h"

#define FAILURE_MAX 4096
#define NAME_SHOWN 60 /* bytes of a peer's word that an error repeats */

/* ---- tools/list ---- */

static void write_annotations(struct rp__jw *w, const struct rp__tool *t)
{
  rp__jw_pack(w, "annotations:{title:s readOnlyHint:b destructiveHint:b idempotentHint:b openWorldHint:b}", t->title,
              t->reads, t->destroys, t->repeats, false);
}

/* Claude Code shows a model only the names of most servers' tools, until it searches for one. */
static void write_meta(struct rp__jw *w)
{
  rp__jw_kobject(w, "_meta");
  rp__jw_kbool(w, "anthropic/alwaysLoad", true);
  rp__jw_end_object(w);
}

static void write_tool(struct rp__jw *w, const struct rp__tool *t)
{
  rp__jw_pack(w, "{name:s title:s description:s", t->name, t->title, t->description);
  rp__jw_key(w, "inputSchema");
  rp__tool_schema(t, w);
  write_annotations(w, t);
  if (t->always) write_meta(w);
  rp__jw_end_object(w);
}

void rp__mcp_tools_list(struct rp__mcp_ask *a)
{
  if (!rp__mcp_one_page(a)) return;
  struct rp__jw w = rp__mcp_begin(a);
  rp__jw_karray(&w, "tools");
  for (size_t i = 0; rp__tools[i]; i++) write_tool(&w, rp__tools[i]);
  rp__jw_end_array(&w);
  rp__mcp_end(a, &w);
}

/* ---- tools/call ---- */

static void write_text(struct rp__jw *w, const char *text, size_t n)
{
  rp__jw_pack(w, "content:[{type:s text:n}]", "text", text, n);
}

/* The model hears what went wrong, and can try again. */
static void write_failure(struct rp__mcp_ask *a, const rp_error *err)
{
  struct rp__buf text RP_AUTOBUF = RP_BUF(FAILURE_MAX);
  char words[RP_MCP_WORDS];
  rp_error told = *err;
  rp__mcp_words(a->m, err, words);
  rp__text_copy(told.message, sizeof told.message, words);
  rp__tool_error_text(&told, &text);
  struct rp__jw w = rp__mcp_begin(a);
  write_text(&w, text.err ? words : text.p, text.err ? strlen(words) : text.n);
  rp__jw_kbool(&w, "isError", true);
  rp__mcp_end(a, &w);
}

static void write_result(struct rp__mcp_ask *a, const struct rp__tool *t, const struct rp__buf *doc)
{
  struct rp__buf text RP_AUTOBUF = RP_BUF(RP_TOOL_DOC_MAX);
  struct rp__json value = rp__json_trusted(doc->p, doc->n);
  rp__tool_text(t, value, &text);
  struct rp__jw w = rp__mcp_begin(a);
  if (text.err)
    write_text(&w, doc->p, doc->n);
  else
    write_text(&w, text.p ? text.p : "", text.n);
  rp__jw_pack(&w, "structuredContent:v isError:b", value, false);
  rp__mcp_end(a, &w);
}

void rp__mcp_tools_call(struct rp__mcp_ask *a)
{
  struct rp__json name = rp__json_get(a->rpc.params, "name"), args = rp__json_get(a->rpc.params, "arguments");
  struct rp__buf doc RP_AUTOBUF = RP_BUF(RP_TOOL_DOC_MAX);
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
  if (rp__tool_call(&a->m->session, t, args, &doc, &err))
    write_failure(a, &err);
  else
    write_result(a, t, &doc);
}
