/* SPDX-License-Identifier: Apache-2.0 */
/* The nth allocation fails, for every n, while a message of MCP is answered: an answer or nothing, never half of one.
 */
#include "mcp_test.h"

#include "unit/core/alloc_fault.h"

/* How many allocations one message takes. */
static long enumerate(struct rp__mcp *m, const char *line)
{
  for (long n = 0;; n++) {
    RP_AUTOBUF struct rp__buf out = RP_BUF(RP_MCP_REPLY_MAX);
    struct rp__mcp_reply reply;
    struct rp__json v;
    alloc_countdown = n;
    alloc_failed = 0;
    rp__mcp_handle(m, line, strlen(line), &out, &reply);
    alloc_countdown = -1;
    assert_false(reply.none);
    if (!out.err) {
      assert_int_equal(rp__json_parse(out.p, out.n, NULL, &v, NULL), 0);
      assert_int_equal(rp__json_get(v, "error").type == RP_JSON_OBJECT, reply.code != 0);
    } else if (!alloc_failed) {
      fail_msg("%s: %d without a failure", line, out.err);
    }
    if (!alloc_failed) {
      if (reply.code) fail_msg("%s: %.*s", line, (int)out.n, out.p);
      return n;
    }
  }
}

static void every_method_without_memory(void **state)
{
  static const char *const lines[] = {
      "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"x\","
      "\"clientInfo\":{\"name\":\"t\"}}}",
      "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"server/discover\",\"params\":{" META "}}",
      "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{" META "}}",
      "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"session_status\"}}",
      "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/list\"}",
      "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/read\",\"params\":{\"uri\":\"reprise://sessions\"}}",
      "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"prompts/get\",\"params\":{\"name\":\"handoff\"}}",
  };
  static const struct rp__mcp_head head = {"2026-07-28", "=?base64?dG9vbHMvbGlzdA==?=", NULL};
  struct rp__mcp m = mcp_new(*state, "coder");
  struct rp__mcp_reply reply;
  mcp_ask(&m, "initialize", "\"protocolVersion\":\"x\"", &reply);
  for (size_t i = 0; i < RP_ARRAY_SIZE(lines); i++) assert_true(enumerate(&m, lines[i]) > 0);
  m.head = &head;
  assert_true(enumerate(&m, lines[2]) > 0);
  rp__tool_session_end(&m.session, NULL);
}

int main(void)
{
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(every_method_without_memory, bridge_setup, rig_teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
