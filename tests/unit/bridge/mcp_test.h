/* SPDX-License-Identifier: Apache-2.0 */
/* A conversation over MCP without a transport. */
#ifndef TEST_MCP_H
#define TEST_MCP_H

#include "bridge_test.h"

#include "bridge/mcp/mcp.h"

#define META                                                                                                           \
  "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","                                             \
  "\"io.modelcontextprotocol/clientCapabilities\":{}}"

static inline struct rp__mcp mcp_new(struct rig *r, const char *scope)
{
  return (struct rp__mcp){.session = bridge_mind(r, scope)};
}

/* One message; the answer is in a static buffer, "" for none. */
static inline struct rp__json mcp_say(struct rp__mcp *m, const char *line, struct rp__mcp_reply *ret)
{
  static char text[1024 * 1024];
  RP_AUTOBUF struct rp__buf out = RP_BUF(RP_MCP_REPLY_MAX);
  rp__mcp_handle(m, line, strlen(line), &out, ret);
  assert_int_equal(out.err, 0);
  assert_int_equal(ret->none, out.n == 0);
  snprintf(text, sizeof text, "%s", out.p ? out.p : "");
  if (ret->none) return (struct rp__json){0};
  struct rp__json v = bridge_json(text);
  assert_true(rp__json_eq(rp__json_get(v, "jsonrpc"), "2.0"));
  assert_null(strchr(text, '\n'));
  int64_t code = 0;
  rp__json_i64(rp__json_get(rp__json_get(v, "error"), "code"), &code);
  assert_int_equal(code, ret->code);
  assert_int_equal(rp__json_get(v, "result").type == RP_JSON_OBJECT, ret->code == 0);
  return v;
}

/* A request with the id 1; `params`: members of an object, or NULL for none. */
static inline struct rp__json mcp_ask(struct rp__mcp *m, const char *method, const char *params,
                                      struct rp__mcp_reply *ret)
{
  RP_AUTOBUF struct rp__buf line = RP_BUF(1024 * 1024);
  rp__buf_printf(&line, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\"", method);
  if (params) rp__buf_printf(&line, ",\"params\":{%s}", params);
  rp__buf_str(&line, "}");
  return mcp_say(m, line.p, ret);
}

/* The result of one that goes well. */
static inline struct rp__json mcp_result(struct rp__mcp *m, const char *method, const char *params)
{
  struct rp__mcp_reply reply;
  struct rp__json v = mcp_ask(m, method, params, &reply);
  if (reply.code) fail_msg("%s {%s}: %.*s", method, params ? params : "", (int)v.n, v.p);
  return rp__json_get(v, "result");
}

static inline void mcp_error(struct rp__mcp *m, const char *method, const char *params, int code)
{
  struct rp__mcp_reply reply;
  struct rp__json v = mcp_ask(m, method, params, &reply);
  if (reply.code != code) fail_msg("%s {%s}: not %d: %.*s", method, params ? params : "", code, (int)v.n, v.p);
}

/* The decoded text of a member; static. */
static inline const char *mcp_text(struct rp__json object, const char *name)
{
  static char text[65536];
  char *s RP_AUTOFREE = rp__json_dup(rp__json_get(object, name));
  if (!s) fail_msg("no %s in %.*s", name, (int)object.n, object.p);
  snprintf(text, sizeof text, "%s", s);
  return text;
}

#endif
