/* SPDX-License-Identifier: Apache-2.0 */
/* The proxy hands on what is not its own, byte for byte; B-06: the capabilities it adds. */
#include "unit/bridge/acp/rig.h"

static void test_bytes_are_kept(void **state)
{
  struct acp_rig *x = *state;
  static const char odd[] =
      "{ \"params\" : {\"b\":1.0e0,\"a\":[ ],\"_meta\":{\"x\":null}},\"method\":\"_x/y\",\"id\":\"q\\u0031\","
      "\"jsonrpc\":\"2.0\", \"extra\":true}";
  static const char back[] = "{\"result\":  null,\"id\":\"q\\u0031\",\"jsonrpc\":\"2.0\",\"more\":1}";
  acp_play(x, (struct acp_step[]){
                  {C_A, odd, 0},
                  {A_C, back, 0},
                  {A_C, NOTE("_auth/status_update", "{ \"ok\":1 }"), 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
}

static void test_capabilities_are_merged(void **state)
{
  struct acp_rig *x = *state;
  acp_play(x, (struct acp_step[]){
                  {C_A, INIT, 0},
                  {A,
                   RESULT("0", "{\"protocolVersion\":1,\"agentCapabilities\":{\"loadSession\":false,\"providers\":{},"
                               "\"sessionCapabilities\":{\"fork\":{},\"list\":null,\"close\":{\"x\":1}},"
                               "\"_meta\":{\"e\":1}},\"authMethods\":[],\"_meta\":{\"steering\":1}}"),
                   0},
                  {TO_C,
                   RESULT("0", "{\"protocolVersion\":1,\"agentCapabilities\":{\"providers\":{},\"loadSession\":true,"
                               "\"sessionCapabilities\":{\"fork\":{},\"close\":{\"x\":1},\"list\":{},\"resume\":{},"
                               "\"delete\":{}},\"_meta\":{\"e\":1,\"reprise\":{\"version\":\"*\"}}},\"authMethods\":[],"
                               "\"_meta\":{\"steering\":1}}"),
                   0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
}

static void test_capabilities_from_nothing(void **state)
{
  struct acp_rig *x = *state;
  acp_play(x, (struct acp_step[]){
                  {C_A, INIT, 0},
                  {A, RESULT("0", "{\"protocolVersion\":1}"), 0},
                  {TO_C, RESULT("0", "{\"protocolVersion\":1,\"agentCapabilities\":{\"loadSession\":true,*}}"), 0},
                  {END, NULL, 0},
              });
}

static void test_another_version_is_left_alone(void **state)
{
  struct acp_rig *x = *state;
  acp_play(x, (struct acp_step[]){
                  {C_A, INIT, 0},
                  {A_C, RESULT("0", "{\"protocolVersion\":9,\"capabilities\":{}}"), 0},
                  {C_A, NEW("1"), 0},
                  {A_C, RESULT("1", "{\"sessionId\":\"v2\"}"), 0},
                  {C_A, CALL("2", "session/load", "{\"sessionId\":\"nope\"}"), 0},
                  {END, NULL, 0},
              });
  char id[RP_ID_MAX + 1];
  assert_int_equal(rp_resolve(x->e, "v2", id, NULL), RP_E_SESSION_NOT_FOUND);
}

static void test_answers_out_of_order(void **state)
{
  struct acp_rig *x = *state;
  acp_play(x, (struct acp_step[]){
                  {C, CALL("1", "_a", "{}"), 0},
                  {C, CALL("\"1\"", "_b", "{}"), 0},
                  {C, CALL("null", "_c", "{}"), 0},
                  {TO_A, CALL("1", "_a", "{}"), 0},
                  {TO_A, CALL("\"1\"", "_b", "{}"), 0},
                  {TO_A, CALL("null", "_c", "{}"), 0},
                  {A_C, CALL("1", "_ask", "{}"), 0}, /* the same id, the other way */
                  {A_C, RESULT("null", "3"), 0},
                  {A_C, RESULT("\"1\"", "2"), 0},
                  {C_A, RESULT("1", "\"for the agent\""), 0},
                  {A_C, RESULT("1", "1"), 0},
                  {A_C, RESULT("1", "\"again\""), 0}, /* what nobody asked is not ours to judge */
                  {C_A, RESULT("1", "\"again\""), 0},
                  {A_C, RESULT("77", "\"nobody asked\""), 0},
                  {C_A, RESULT("78", "\"nobody asked\""), 0},
                  {A, RESULT("\"reprise/9\"", "{}"), 0}, /* … but for what we asked, and waited for no longer */
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
}

static void test_broken_lines(void **state)
{
  struct acp_rig *x = *state;
  acp_play(x, (struct acp_step[]){
                  {C, "{\"jsonrpc\":\"2.0\",", 0},
                  {TO_C, "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,\"message\":\"*byte*\"}}", 0},
                  {C, "[]", 0},
                  {TO_C, REFUSED("null", "-32600") "batch*}}", 0},
                  {A_C, "Debugger attached.", 0},
                  {C_A, ERROR("null", "-32700"), 0}, /* the editor's own */
                  {C_A, CALL("1", "_a", "{}"), 0},
                  {C, CALL("1", "_b", "{}"), 0}, /* the id is in use */
                  {TO_C, "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32600,\"message\":\"id: *\"}}", 0},
                  {A_C, RESULT("1", "{}"), 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
}

static void test_too_many_requests(void **state)
{
  struct acp_rig *x = *state;
  char line[128];
  for (int i = 0; i < 4096; i++) {
    snprintf(line, sizeof line, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"_x\"}", i);
    acp_say(x, RP_ACP_CLIENT, line);
    assert_string_equal(acp_next(x, RP_ACP_AGENT), line);
  }
  acp_play(x, (struct acp_step[]){
                  {C, CALL("9999", "_x", "{}"), 0},
                  {TO_C, REFUSED("9999", "-32603") "}}", 0},
                  {A_C, RESULT("17", "1"), 0},
                  {C_A, CALL("9999", "_x", "{}"), 0},
                  {END, NULL, 0},
              });
}

static void test_an_editor_with_ids_like_ours(void **state)
{
  struct acp_rig *x = *state;
  acp_greet(x, "\"sessionCapabilities\":{\"list\":{}}");
  acp_play(
      x,
      (struct acp_step[]){
          {C_A, CALL("\"reprise/1\"", "_a", "{}"), 0},
          {C, CALL("5", "session/list", "{}"), 0},
          {TO_A, "{\"jsonrpc\":\"2.0\",\"id\":\"reprise/2\",\"method\":\"session/list\",\"params\":{}}", 0},
          {A_C, RESULT("\"reprise/1\"", "1"), 0},
          {A, RESULT("\"reprise/2\"", "{\"sessions\":[{\"sessionId\":\"z\",\"cwd\":\"/z\"}],\"nextCursor\":null}"), 0},
          {TO_C, RESULT("5", "{\"sessions\":[{\"sessionId\":\"z\",\"cwd\":\"/z\"}]}"), 0},
          {NONE, NULL, 0},
          {END, NULL, 0},
      });
}

/* A peer that does not take what it is sent: the other one is not read. */
static void test_back_pressure(void **state)
{
  struct acp_rig *x = *state;
  x->backlog[RP_ACP_CLIENT] = (size_t)9 << 20;
  acp_say(x, RP_ACP_AGENT, NOTE("_x", "{}"));
  assert_false(x->reading[RP_ACP_AGENT]);
  assert_true(x->reading[RP_ACP_CLIENT]);
  x->backlog[RP_ACP_CLIENT] = (size_t)5 << 20;
  rp__acp_drained(x->a, RP_ACP_CLIENT);
  assert_false(x->reading[RP_ACP_AGENT]);
  x->backlog[RP_ACP_CLIENT] = 0;
  rp__acp_drained(x->a, RP_ACP_CLIENT);
  assert_true(x->reading[RP_ACP_AGENT]);
}

static void test_a_line_too_long(void **state)
{
  struct acp_rig *x = *state;
  rp_error why = {.code = RP_E_TOO_LARGE, .message = "a line is over 67108864 bytes"};
  rp__acp_unreadable(x->a, RP_ACP_CLIENT, &why);
  acp_play(
      x, (struct acp_step[]){
             {TO_C, "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32600,\"message\":\"a line is over*\"}}", 0},
             {END, NULL, 0},
         });
  rp__acp_unreadable(x->a, RP_ACP_AGENT, &why);
  assert_int_equal(x->stops, 1);
  acp_say(x, RP_ACP_AGENT, NOTE("_late", "{}"));
  rp__acp_agent_gone(x->a, -15);
  assert_int_equal(x->starts, 2);
  acp_play(x, (struct acp_step[]){{NONE, NULL, 0}, {END, NULL, 0}});
}

static void test_the_editor_goes(void **state)
{
  struct acp_rig *x = *state;
  acp_begin(x, "");
  rp__acp_client_gone(x->a, "editor closed");
  assert_int_equal(x->stops, 1);
  assert_int_equal(x->finished, -1);
  rp__acp_agent_gone(x->a, 0);
  assert_int_equal(x->finished, 0);
  assert_int_equal(x->starts, 1);
  acp_say(x, RP_ACP_CLIENT, CALL("8", "_x", "{}"));
  acp_play(x, (struct acp_step[]){{NONE, NULL, 0}, {END, NULL, 0}});
}

#define T(f) cmocka_unit_test_setup_teardown(f, acp_setup, acp_teardown)

int main(void)
{
  const struct CMUnitTest tests[] = {
      T(test_bytes_are_kept),
      T(test_capabilities_are_merged),
      T(test_capabilities_from_nothing),
      T(test_another_version_is_left_alone),
      T(test_answers_out_of_order),
      T(test_broken_lines),
      T(test_too_many_requests),
      T(test_an_editor_with_ids_like_ours),
      T(test_back_pressure),
      T(test_a_line_too_long),
      T(test_the_editor_goes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
