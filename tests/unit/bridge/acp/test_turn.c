/* SPDX-License-Identifier: Apache-2.0 */
/* Turns through the proxy: what was delivered is in the journal, and was before it was delivered (B-04, B-06, L-01). */
#include "unit/bridge/acp/rig.h"

#define TOOL(id, rest)                                                                                                 \
  NOTE("session/update", "{\"sessionId\":\"s1\",\"update\":{\"sessionUpdate\":\"tool_call\",\"toolCallId\":\"" id      \
                         "\",\"title\":\"Read\"" rest "}}")
#define TOOL_UPDATE(id, rest)                                                                                          \
  NOTE("session/update",                                                                                               \
       "{\"sessionId\":\"s1\",\"update\":{\"sessionUpdate\":\"tool_call_update\",\"toolCallId\":\"" id "\"" rest "}}")
#define PERMISSION                                                                                                     \
  CALL("0", "session/request_permission",                                                                              \
       "{\"sessionId\":\"s1\",\"toolCall\":{\"toolCallId\":\"c1\"},\"options\":[{\"optionId\":\"ok\",\"name\":"        \
       "\"Allow\","                                                                                                    \
       "\"kind\":\"allow_once\"}]}")

static void test_stored_before_it_is_sent(void **state)
{
  struct acp_rig *x = *state;
  acp_begin(x, "");
  size_t agent = x->to[RP_ACP_AGENT].n, client = x->to[RP_ACP_CLIENT].n;
  acp_say(x, RP_ACP_CLIENT, PROMPT("2", "s1", "hello"));
  assert_int_equal(x->to[RP_ACP_AGENT].n, agent); /* the engine has not said yet that it has it */
  assert_string_equal(acp_next(x, RP_ACP_AGENT), PROMPT("2", "s1", "hello"));
  assert_int_equal(acp_count(x, "s1", "message", "*\"role\":\"user\"*hello*"), 1);
  acp_say(x, RP_ACP_AGENT, CHUNK("s1", "hi"));
  assert_int_equal(x->to[RP_ACP_CLIENT].n, client);
  acp_say(x, RP_ACP_AGENT, NOTE("_other", "{}")); /* keeps its place behind the chunk */
  assert_string_equal(acp_next(x, RP_ACP_CLIENT), CHUNK("s1", "hi"));
  assert_string_equal(acp_next(x, RP_ACP_CLIENT), NOTE("_other", "{}"));
  acp_say(x, RP_ACP_AGENT, END_TURN("2"));
  assert_string_equal(acp_next(x, RP_ACP_CLIENT), END_TURN("2"));
  assert_int_equal(acp_count(x, "s1", "message", "*\"role\":\"assistant\"*\"text\":\"hi\"*"), 1);
  assert_int_equal(acp_count(x, "s1", "x-acp-turn", "*end_turn*"), 1);
}

static void test_a_whole_turn(void **state)
{
  struct acp_rig *x = *state;
  acp_begin(x, "");
  acp_play(x, (struct acp_step[]){
                  {C_A, PROMPT("2", "s1", "go"), 0},
                  {A, TOOL("c1", ",\"status\":\"pending\",\"rawInput\":{\"path\":\"/x\"}"), 0},
                  {A, PERMISSION, 0},
                  {TO_C, TOOL("c1", ",\"status\":\"pending\",\"rawInput\":{\"path\":\"/x\"}"), 0},
                  {TO_C, PERMISSION, 0},
                  {C_A, RESULT("0", "{\"outcome\":{\"outcome\":\"selected\",\"optionId\":\"ok\"}}"), 0},
                  {A_C, CALL("1", "fs/read_text_file", "{\"sessionId\":\"s1\",\"path\":\"/x\"}"), 0},
                  {C_A, RESULT("1", "{\"content\":\"inside\"}"), 0},
                  {A_C, TOOL_UPDATE("c1", ",\"status\":\"completed\""), 0},
                  {A_C, END_TURN("2"), 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
  assert_int_equal(acp_count(x, "s1", "tool", "*\"status\":\"intended\"*"), 1);
  assert_int_equal(acp_count(x, "s1", "tool", "*\"status\":\"done\"*"), 1);
  assert_int_equal(acp_count(x, "s1", "approval", "*\"pending\"*"), 1);
  assert_int_equal(acp_count(x, "s1", "approval", "*\"allowed\"*"), 1);
  assert_int_equal(acp_count(x, "s1", "x-acp-request", "*fs/read_text_file*"), 1);
  assert_int_equal(acp_count(x, "s1", "x-acp-answer", "*inside*"), 1);
}

/* An elicitation may name a request of the editor's instead of a session. */
static void test_an_elicitation(void **state)
{
  struct acp_rig *x = *state;
  static const char ask[] = CALL("5", "elicitation/create",
                                 "{\"mode\":\"form\",\"message\":\"which?\",\"requestedSchema\":{},\"requestId\":2}");
  acp_begin(x, "");
  acp_play(x, (struct acp_step[]){
                  {C_A, PROMPT("2", "s1", "go"), 0},
                  {A_C, ask, 0},
                  {C_A, RESULT("5", "{\"action\":\"decline\"}"), 0},
                  {END, NULL, 0},
              });
  assert_int_equal(acp_count(x, "s1", "question", "*which?*"), 1);
  assert_int_equal(acp_count(x, "s1", "question", "*decline*"), 1);
}

static int no_secret(void *ctx, const rp_session_info *info)
{
  assert_null(strstr(info->meta, "hunter2"));
  assert_non_null(strstr(info->meta, "\"mcp_servers\":[\"one\",\"two\"]"));
  assert_string_equal(info->channel, "acp");
  assert_string_equal(info->scope, "acp-test");
  *(int *)ctx = 1;
  return 0;
}

static void test_secrets_of_servers_are_not_kept(void **state)
{
  struct acp_rig *x = *state;
  static const char ask[] =
      CALL("1", "session/new",
           "{\"cwd\":\"/p\",\"mcpServers\":[{\"name\":\"one\",\"command\":\"c\",\"args\":[],\"env\":[{\"name\":\"K\","
           "\"value\":\"hunter2\"}]},{\"type\":\"http\",\"name\":\"two\",\"url\":\"http://h\",\"headers\":[{\"name\":"
           "\"X\",\"value\":\"hunter2\"}]}]}");
  rp_error err = {0};
  int seen = 0;
  acp_greet(x, "");
  acp_play(x, (struct acp_step[]){
                  {C_A, ask, 0},
                  {A_C, RESULT("1", "{\"sessionId\":\"s1\"}"), 0},
                  {END, NULL, 0},
              });
  OK(rp_show(x->e, "s1", no_secret, &seen, &err), err);
  assert_int_equal(seen, 1);
  assert_int_equal(acp_count(x, "s1", "provider", "*hunter2*"), 0);
  assert_int_equal(acp_count(x, "s1", "provider", "*\"acp_session_id\":\"s1\"*"), 1);
}

static void test_cancelling(void **state)
{
  struct acp_rig *x = *state;
  acp_begin(x, "");
  acp_play(x, (struct acp_step[]){
                  {C, PROMPT("2", "s1", "go"), 0},
                  {C, NOTE("session/cancel", "{\"sessionId\":\"s1\"}"), 0}, /* does not overtake the prompt */
                  {C, NOTE("$/cancel_request", "{\"requestId\":2}"), 0},
                  {TO_A, PROMPT("2", "s1", "go"), 0},
                  {TO_A, NOTE("session/cancel", "{\"sessionId\":\"s1\"}"), 0},
                  {TO_A, NOTE("$/cancel_request", "{\"requestId\":2}"), 0},
                  {A_C, RESULT("2", "{\"stopReason\":\"cancelled\"}"), 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
}

static void test_two_sessions(void **state)
{
  struct acp_rig *x = *state;
  acp_begin(x, "");
  acp_play(x, (struct acp_step[]){
                  {C_A, NEW("9"), 0},
                  {A_C, RESULT("9", "{\"sessionId\":\"s2\"}"), 0},
                  {C, PROMPT("2", "s1", "one"), 0},
                  {C, PROMPT("3", "s2", "two"), 0},
                  {TO_A, PROMPT("2", "s1", "one"), 0},
                  {TO_A, PROMPT("3", "s2", "two"), 0},
                  {A, CHUNK("s2", "b"), 0},
                  {A, CHUNK("s1", "a"), 0},
                  {A, CHUNK("other", "not ours"), 0},
                  {TO_C, CHUNK("s2", "b"), 0},
                  {TO_C, CHUNK("s1", "a"), 0},
                  {TO_C, CHUNK("other", "not ours"), 0},
                  {A, END_TURN("3"), 0},
                  {A, END_TURN("2"), 0},
                  {TO_C, END_TURN("3"), 0},
                  {TO_C, END_TURN("2"), 0},
                  {END, NULL, 0},
              });
  assert_int_equal(acp_count(x, "s1", "message", "*\"text\":\"b\"*"), 0);
  assert_int_equal(acp_count(x, "s2", "message", "*\"text\":\"b\"*"), 1);
}

/* An agent that counts its sessions from one in each process: the editor gets a name that is free. */
static void test_a_name_that_is_taken(void **state)
{
  struct acp_rig *x = *state;
  acp_begin(x, "");
  acp_open(x, NULL);
  acp_greet(x, "");
  acp_play(x, (struct acp_step[]){
                  {C_A, NEW("1"), 0},
                  {A, RESULT("1", "{\"sessionId\":\"s1\"}"), 0},
                  {TO_C, RESULT("1", "{\"sessionId\":\"s1.2\"}"), 0},
                  {C, PROMPT("2", "s1.2", "hello"), 0},
                  {TO_A, PROMPT("2", "s1", "hello"), 0},
                  {A, CHUNK("s1", "hi"), 0},
                  {TO_C, CHUNK("s1.2", "hi"), 0},
                  {END, NULL, 0},
              });
  assert_int_equal(acp_count(x, "s1", "message", "*"), 0);
  assert_int_equal(acp_count(x, "s1.2", "message", "*hello*"), 1);
}

static void test_too_many_sessions(void **state)
{
  struct acp_rig *x = *state;
  char line[256];
  acp_greet(x, "");
  for (int i = 0; i < 256; i++) {
    snprintf(line, sizeof line, NEW("%d"), 100 + i);
    acp_say(x, RP_ACP_CLIENT, line);
    assert_string_equal(acp_next(x, RP_ACP_AGENT), line);
  }
  acp_play(x, (struct acp_step[]){
                  {C, NEW("1"), 0},
                  {TO_C, REFUSED("1", "-32603") "too many sessions*", 0},
                  {A_C, ERROR("100", "-32603"), 0},
                  {C_A, NEW("1"), 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
}

/* Agents that write nonsense are passed on; what they wrote is the editor's business. */
static void test_odd_updates(void **state)
{
  struct acp_rig *x = *state;
  static const char *const odd[] = {
      NOTE("session/update", "{\"sessionId\":\"s1\"}"),
      NOTE("session/update", "{\"sessionId\":\"s1\",\"update\":7}"),
      NOTE("session/update", "{\"sessionId\":\"s1\",\"update\":{\"sessionUpdate\":\"from_the_future\",\"x\":1}}"),
      NOTE("session/update", "{\"sessionId\":9,\"update\":{}}"),
      NOTE("session/update", "[]"),
      "{\"jsonrpc\":\"2.0\",\"method\":\"session/update\"}",
  };
  acp_begin(x, "");
  for (size_t i = 0; i < RP_ARRAY_SIZE(odd); i++) {
    acp_say(x, RP_ACP_AGENT, odd[i]);
    assert_string_equal(acp_next(x, RP_ACP_CLIENT), odd[i]);
  }
  assert_int_equal(acp_count(x, "s1", "x-acp-update", "*from_the_future*"), 1);
}

/* The end of the editor ends the sessions, and what was said last is kept. */
/* Each end belongs to its own prompt. */
static void test_two_prompts_at_once(void **state)
{
  struct acp_rig *x = *state;
  acp_begin(x, "");
  acp_play(x, (struct acp_step[]){
                  {C_A, PROMPT("2", "s1", "first"), 0},
                  {C_A, PROMPT("3", "s1", "second"), 0},
                  {C_A, PROMPT("4", "s1", "third"), 0},
                  {A_C, END_TURN("3"), 0},
                  {A_C, ERROR("2", "-32603"), 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
  assert_int_equal(acp_count(x, "s1", "x-acp-turn", "{\"turn\":2,\"stop_reason\"*"), 1);
  assert_int_equal(acp_count(x, "s1", "x-acp-turn", "{\"turn\":1,\"error\"*"), 1);
  rp__acp_client_gone(x->a, "editor closed");
  assert_int_equal(acp_count(x, "s1", "x-acp-turn", "{\"turn\":3,\"error\":{\"message\":\"editor closed\"}}"), 1);
}

static void test_the_editor_goes_in_a_turn(void **state)
{
  struct acp_rig *x = *state;
  acp_begin(x, "");
  acp_say(x, RP_ACP_CLIENT, PROMPT("2", "s1", "go"));
  acp_say(x, RP_ACP_AGENT, CHUNK("s1", "the last word"));
  acp_say(x, RP_ACP_AGENT,
          NOTE("session/update",
               "{\"sessionId\":\"s1\",\"update\":{\"sessionUpdate\":\"tool_call_update\",\"toolCallId\":\"c1\"}}"));
  rp__acp_client_gone(x->a, "editor closed");
  assert_int_equal(acp_count(x, "s1", "tool", "*t1:c1*\"status\":\"unknown\"*"), 1); /* B-04 */
  assert_int_equal(acp_count(x, "s1", "message", "*the last word*"), 1);
  assert_int_equal(acp_count(x, "s1", "x-acp-turn", "*editor closed*"), 1);
  bool alive = true;
  assert_int_equal(rp_alive(x->e, "s1", &alive, NULL), 0);
  assert_false(alive);
}

#define T(f) cmocka_unit_test_setup_teardown(f, acp_setup, acp_teardown)

int main(void)
{
  const struct CMUnitTest tests[] = {
      T(test_stored_before_it_is_sent),
      T(test_a_whole_turn),
      T(test_an_elicitation),
      T(test_secrets_of_servers_are_not_kept),
      T(test_cancelling),
      T(test_two_sessions),
      T(test_a_name_that_is_taken),
      T(test_too_many_sessions),
      T(test_odd_updates),
      T(test_two_prompts_at_once),
      T(test_the_editor_goes_in_a_turn),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
