/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the method that a message calls, and writes the answer in the form of its era. */
#include <stdarg.h>

#include "base/text.h"
#include "bridge/broken-line.h"
#include "bridge/mcp/mcp-impl.h"

#define NAME_SHOWN 60            /* bytes of a peer's word that an error repeats */
#define FIXED_MS (5 * 60 * 1000) /* lists that only another version of this program changes */

/* clang-format off */
static const struct rp__mcp_method methods[] = {
  /*  name                       legacy modern keep      for */
  {"initialize",               true,  false, 0,        NULL,      rp__mcp_initialize},
  {"ping",                     true,  false, 0,        NULL,      rp__mcp_ping},
  {"server/discover",          false, true,  0,        "private", rp__mcp_discover},
  {"tools/list",               true,  true,  FIXED_MS, "public",  rp__mcp_tools_list},
  {"tools/call",               true,  true,  0,        NULL,      rp__mcp_tools_call},
  {"resources/list",           true,  true,  0,        "private", rp__mcp_resources_list},
  {"resources/templates/list", true,  true,  FIXED_MS, "public",  rp__mcp_templates_list},
  {"resources/read",           true,  true,  0,        "private", rp__mcp_resources_read},
  {"prompts/list",             true,  true,  FIXED_MS, "public",  rp__mcp_prompts_list},
  {"prompts/get",              true,  true,  0,        NULL,      rp__mcp_prompts_get},
  {.name = NULL},
};
/* clang-format on */

/* ---- answering ---- */

struct rp__jw rp__mcp_begin(struct rp__mcp_ask *a)
{
  struct rp__jw w = rp__rpc_begin_result(a->out, a->rpc.id);
  rp__jw_object(&w);
  if (a->reply->modern) rp__jw_kstr(&w, "resultType", "complete");
  return w;
}

void rp__mcp_end(struct rp__mcp_ask *a, struct rp__jw *w)
{
  if (a->reply->modern && a->method->cache) {
    rp__jw_ki64(w, "ttlMs", a->method->ttl_ms);
    rp__jw_kstr(w, "cacheScope", a->method->cache);
  }
  if (a->reply->modern) {
    rp__jw_kobject(w, "_meta");
    rp__jw_key(w, RP_MCP_META("serverInfo"));
    rp__mcp_server_info(w);
    rp__jw_end_object(w);
  }
  rp__jw_end_object(w);
  rp__rpc_end(w);
}

static struct rp__json answerable(struct rp__json id)
{
  static const struct rp__json none = {0};
  return id.type == RP_JSON_STRING || id.type == RP_JSON_NUMBER ? id : none;
}

static void write_error(struct rp__mcp_ask *a, int code, const char *message, const char *data)
{
  rp__buf_reset(a->out);
  rp__rpc_error(a->out, answerable(a->rpc.id), code, message, data);
  a->reply->code = code;
}

void rp__mcp_error(struct rp__mcp_ask *a, int code, const char *data, const char *fmt, ...)
{
  char text[RP_MCP_WORDS];
  va_list ap;
  va_start(ap, fmt);
  rp__text_vformat(text, sizeof text, fmt, ap);
  va_end(ap);
  write_error(a, code, text, data);
}

void rp__mcp_words(const struct rp__mcp *m, const rp_error *err, char ret[RP_MCP_WORDS])
{
  if (m->words)
    m->words(err, ret);
  else
    rp__text_copy(ret, RP_MCP_WORDS, err->message[0] ? err->message : rp_error_lookup(err->code)->text);
}

void rp__mcp_fail(struct rp__mcp_ask *a, int code, const rp_error *err)
{
  const rp_error_info *info = rp_error_lookup(err->code);
  struct rp__buf data RP_AUTOBUF = RP_BUF(4096);
  struct rp__jw w = RP_JW(&data);
  char text[RP_MCP_WORDS];
  rp__mcp_words(a->m, err, text);
  rp__jw_object(&w);
  rp__jw_kstr(&w, "code", info->name);
  if (err->field[0]) rp__jw_kstr(&w, "field", err->field);
  if (err->hint[0]) rp__jw_kstr(&w, "hint", err->hint);
  rp__jw_end_object(&w);
  write_error(a, code ? code : info->json_rpc, text, data.err ? NULL : data.p);
}

bool rp__mcp_one_page(struct rp__mcp_ask *a)
{
  if (rp__json_get(a->rpc.params, "cursor").type == RP_JSON_NONE) return true;
  rp__mcp_error(a, RP_RPC_PARAMS, NULL, "cursor: no page goes on from there");
  return false;
}

/* ---- asking ---- */

/* Whether a method may see it; else the error is written. */
static bool admit(struct rp__mcp_ask *a)
{
  const struct rp__rpc *r = &a->rpc;
  a->reply->modern = rp__mcp_is_modern(a->m, r);
  a->m->session.lazy = a->m->lazy && a->reply->modern && !a->m->initialized;
  if (r->id.type == RP_JSON_NULL) {
    rp__mcp_error(a, RP_RPC_INVALID, NULL, "id: must be a string or a number");
    return false;
  }
  if (r->params.type && r->params.type != RP_JSON_OBJECT) {
    rp__mcp_error(a, RP_RPC_PARAMS, NULL, "params: must be an object");
    return false;
  }
  return a->reply->modern ? rp__mcp_check_modern(a) : rp__mcp_check_legacy(a);
}

static void request(struct rp__mcp_ask *a)
{
  if (!admit(a)) {
    a->reply->refused = true;
    return;
  }
  struct rp__json name = a->rpc.method;
  const struct rp__mcp_method *m = methods;
  while (m->name && !((a->reply->modern ? m->modern : m->legacy) && rp__json_eq(name, m->name))) m++;
  if (!m->name) {
    int n = (int)RP_MIN(name.n - 2, (size_t)NAME_SHOWN);
    rp__mcp_error(a, RP_RPC_NO_METHOD, NULL, "there is no method '%.*s' here", n, name.p + 1);
    return;
  }
  a->method = m;
  a->method->run(a);
  if (!a->out->err) return;
  bool large = a->out->err == RP_E_TOO_LARGE;
  rp__mcp_error(a, RP_RPC_INTERNAL, NULL, "%s", large ? "the answer is too large" : "out of memory");
}

void rp__mcp_handle(struct rp__mcp *m, const char *line, size_t n, struct rp__buf *out, struct rp__mcp_reply *ret)
{
  struct rp__mcp_ask a = {.m = m, .out = out, .reply = ret};
  *ret = (struct rp__mcp_reply){0};
  rp__rpc_look(line, n, &a.rpc);
  switch (a.rpc.type) {
  case RP_RPC_BROKEN:
    ret->refused = true;
    if (!a.rpc.id.type) a.rpc.id = rp__broken_line_id(line, n);
    write_error(&a, a.rpc.code, a.rpc.why, NULL);
    break;
  case RP_RPC_REQUEST: request(&a); break;
  case RP_RPC_NOTE: /* nothing that comes as one changes anything here: requests are done when the next is read */
  case RP_RPC_RESULT:
  case RP_RPC_ERROR: ret->none = true; break;
  }
}
