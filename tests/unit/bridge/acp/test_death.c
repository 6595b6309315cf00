/* SPDX-License-Identifier: Apache-2.0 */
/* An agent that dies is started again under the editor's eyes (B-06). */
#include "unit/bridge/acp/rig.h"

#define CAN_RESUME "\"sessionCapabilities\":{\"resume\":{}}"
#define CAN_LIST "\"sessionCapabilities\":{\"resume\":{},\"list\":{}}"
#define HELLO(n)                                                                                                       \
  "{\"jsonrpc\":\"2.0\",\"id\":\"reprise/" n "\",\"method\":\"initialize\",\"params\":{\"protocolVersion\":1}}"
#define HELLO_BACK(n, caps)                                                                                            \
  RESULT("\"reprise/" n "\"",                                                                                          \
         "{\"protocolVersion\":1,\"agentCapabilities\":{" caps "},\"agentInfo\":{\"name\":\"fake\"}}")
#define ASK(n, method) "{\"jsonrpc\":\"2.0\",\"id\":\"reprise/" n "\",\"method\":\"" method "\",*"
#define OWN(n, result) RESULT("\"reprise/" n "\"", result)
#define TOOL(rest)                                                                                                     \
  NOTE("session/update", "{\"sessionId\":\"s1\",\"update\":{\"sessionUpdate\":\"tool_call\",\"toolCallId\":\"c1\","    \
                         "\"title\":\"Write\"" rest "}}")
#define PERMISSION                                                                                                     \
  CALL("0", "session/request_permission",                                                                              \
       "{\"sessionId\":\"s1\",\"toolCall\":{\"toolCallId\":\"c1\"},\"options\":[{\"optionId\":\"ok\",\"name\":"        \
       "\"Allow\","                                                                                                    \
       "\"kind\":\"allow_once\"}]}")

static void test_death_in_a_turn(void **state)
{
  struct acp_rig *x = *state;
  acp_begin(x, CAN_RESUME);
  acp_play(x, (struct acp_step[]){
                  {C_A, PROMPT("2", "s1", "go"), 0},
                  {A, CHUNK("s1", "half a sen"), 0},
                  {A, TOOL(",\"status\":\"in_progress\""), 0},
                  {TO_C, CHUNK("s1", "half a sen"), 0},
                  {TO_C, TOOL(",\"status\":\"in_progress\""), 0},
                  {DIE, NULL, -9},
                  {TO_C, "*\"s1\"*\"tool_call_update\",\"toolCallId\":\"c1\",\"status\":\"failed\"*", 0},
                  {TO_C, "*\"s1\"*agent_message_chunk*signal 9*", 0},
                  {TO_C, DIED("2"), 0},
                  {TO_A, HELLO("1"), 0},
                  {C, PROMPT("3", "s1", "again"), 0}, /* waits */
                  {NONE, NULL, 0},
                  {A, HELLO_BACK("1", CAN_RESUME), 0},
                  {TO_A, ASK("2", "session/resume"), 0},
                  {NONE, NULL, 0},
                  {A, OWN("2", "{}"), 0},
                  {TO_A, PROMPT("3", "s1", "again"), 0},
                  {A_C, CHUNK("s1", "here I am"), 0},
                  {A_C, END_TURN("3"), 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
  assert_int_equal(acp_count(x, "s1", "message", "*\"role\":\"assistant\"*signal 9*"), 0); /* it never said that */
  assert_int_equal(acp_count(x, "s1", "message", "*\"role\":\"system\"*signal 9*"), 1);
  assert_int_equal(x->starts, 2);
  acp_play(x, (struct acp_step[]){
                  {C, CALL("4", "session/load", "{\"sessionId\":\"s1\",\"cwd\":\"/p\",\"mcpServers\":[]}"), 0},
                  {TO_A, ASK("3", "session/resume"), 0},
                  {A, OWN("3", "{}"), 0}, /* what was delivered is told again, the failed call once */
                  {TO_C, "*user_message_chunk*go*", 0},
                  {TO_C, "*half a sen*", 0},
                  {TO_C, "*\"tool_call\"*c1*", 0},
                  {TO_C, "*c1*\"status\":\"failed\"*", 0},
                  {TO_C, "*agent_message_chunk*signal 9*", 0},
                  {TO_C, "*user_message_chunk*again*", 0},
                  {TO_C, "*here I am*", 0},
                  {TO_C, RESULT("4", "*"), 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
  assert_int_equal(acp_count(x, "s1", "x-acp-agent", "*died*-9*"), 1);
  assert_int_equal(acp_count(x, "s1", "x-acp-agent", "*restored*resume*"), 2);
  assert_int_equal(acp_count(x, "s1", "tool", "*\"status\":\"unknown\"*\"status\":\"failed\"*"), 1); /* B-04 */
}

static void rest(struct acp_rig *x, const char *line)
{
  rp__acp_rest(x->a, line, strlen(line));
}

/* The n-th request of ours introduces us to the next agent; then it gets its session. */
static void wake(struct acp_rig *x, size_t n)
{
  char hello[400], resumed[100];
  snprintf(hello, sizeof hello, HELLO_BACK("%zu", CAN_RESUME), n);
  snprintf(resumed, sizeof resumed, OWN("%zu", "{}"), n + 1);
  acp_play(x, (struct acp_step[]){
                  {TO_A, "*\"initialize\"*", 0},
                  {A, hello, 0},
                  {TO_A, "*\"session/resume\"*", 0},
                  {A, resumed, 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
}

/* An agent that is killed while it writes has not sent that line: nobody hears of it, and its death is one like any. */
static void test_death_within_a_line(void **state)
{
  static const char *const halves[] = {
      "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"stopReason\":\"end_", /* the prompt's answer */
      "{\"jsonrpc\":\"2.0\",\"result\":{\"stopReason\":\"end_turn\"},\"id\":2",
      "{\"jsonrpc\":\"2.0\",\"method\":\"session/upda",
      "and then",
  };
  struct acp_rig *x = *state;
  acp_begin(x, CAN_RESUME);
  for (size_t i = 0; i < RP_ARRAY_SIZE(halves); i++) {
    acp_play(x, (struct acp_step[]){
                    {C_A, PROMPT("2", "s1", "go"), 0}, {A_C, TOOL(",\"status\":\"in_progress\""), 0}, {END, NULL, 0}});
    rest(x, halves[i]);
    acp_play(x, (struct acp_step[]){
                    {NONE, NULL, 0},
                    {DIE, NULL, -9},
                    {TO_C, "*\"tool_call_update\",\"toolCallId\":\"c1\",\"status\":\"failed\"*", 0},
                    {TO_C, "*\"s1\"*agent_message_chunk*signal 9*", 0},
                    {TO_C, DIED("2"), 0},
                    {WAIT, NULL, 31000}, /* this is no crash loop */
                    {END, NULL, 0},
                });
    wake(x, 2 * i + 1);
  }
}

/* … and one that is whole has been sent: only its end is missing. */
static void test_death_behind_a_line(void **state)
{
  struct acp_rig *x = *state;
  acp_begin(x, CAN_RESUME);
  acp_play(x, (struct acp_step[]){{C_A, PROMPT("2", "s1", "go"), 0}, {END, NULL, 0}});
  rest(x, END_TURN("2"));
  acp_play(x, (struct acp_step[]){
                  {TO_C, END_TURN("2"), 0},
                  {DIE, NULL, 0},
                  {TO_A, HELLO("1"), 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
}

#define UPDATE_OF(id, rest)                                                                                            \
  NOTE("session/update",                                                                                               \
       "{\"sessionId\":\"s1\",\"update\":{\"sessionUpdate\":\"tool_call_update\",\"toolCallId\":\"" id "\"" rest "}}")
#define FAILED_OF(id) "*\"tool_call_update\",\"toolCallId\":\"" id "\",\"status\":\"failed\"*"

/* B-04: a call of which only an update came is open too, whatever it says; what comes behind an end opens nothing. */
static void test_death_of_an_unseen_call(void **state)
{
  struct acp_rig *x = *state;
  acp_begin(x, CAN_RESUME);
  acp_play(x, (struct acp_step[]){
                  {C_A, PROMPT("2", "s1", "go"), 0},
                  {A_C, UPDATE_OF("c8", ",\"title\":\"Over\",\"status\":\"completed\""), 0},
                  {A_C, UPDATE_OF("c8", ",\"rawOutput\":1"), 0},
                  {A_C, UPDATE_OF("c9", ",\"title\":\"Unseen\""), 0},
                  {DIE, NULL, -9},
                  {TO_C, FAILED_OF("c9"), 0},
                  {TO_C, "*agent_message_chunk*signal 9*", 0},
                  {TO_C, DIED("2"), 0},
                  {TO_A, HELLO("1"), 0},
                  {A, HELLO_BACK("1", CAN_RESUME), 0},
                  {TO_A, ASK("2", "session/resume"), 0},
                  {A, OWN("2", "{}"), 0},
                  {C, CALL("4", "session/load", "{\"sessionId\":\"s1\",\"cwd\":\"/p\",\"mcpServers\":[]}"), 0},
                  {TO_A, ASK("3", "session/resume"), 0},
                  {A, OWN("3", "{}"), 0},
                  {TO_C, "*user_message_chunk*go*", 0},
                  {TO_C, "*c8*completed*", 0},
                  {TO_C, "*c8*rawOutput*", 0},
                  {TO_C, "*c9*Unseen*", 0},
                  {TO_C, FAILED_OF("c9"), 0},
                  {TO_C, "*agent_message_chunk*signal 9*", 0},
                  {TO_C, RESULT("4", "*"), 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
  assert_int_equal(acp_count(x, "s1", "tool", "*t1:c9*\"status\":\"unknown\"*"), 1);
  assert_int_equal(acp_count(x, "s1", "tool", "*t1:c8*\"status\":\"unknown\"*"), 0);
}

/* Without any way to restore it gets a new session, and the history of what it was. */
static void test_death_of_a_forgetful_agent(void **state)
{
  struct acp_rig *x = *state;
  acp_begin(x, "");
  acp_play(
      x,
      (struct acp_step[]){
          {C_A, PROMPT("2", "s1", "remember 42"), 0},
          {DIE, NULL, 1},
          {TO_C, "*agent_message_chunk*exit status 1*", 0},
          {TO_C, DIED("2"), 0},
          {TO_A, HELLO("1"), 0},
          {A, HELLO_BACK("1", ""), 0},
          {TO_A, ASK("2", "session/new"), 0},
          {A, OWN("2", "{\"sessionId\":\"s1\"}"), 0}, /* it counts from one */
          {C, PROMPT("3", "s1", "what?"), 0},
          {TO_A, "*\"sessionId\":\"s1\",\"prompt\":[{*remember 42\\n[End of the record*,{\"type\":\"text\",*what?*", 0},
          {NONE, NULL, 0}, /* that an agent died no agent said */
          {END, NULL, 0},
      });
}

/* Requests that died with it; the editor's late answers go nowhere, whatever ids the next one uses. */
static void test_open_requests(void **state)
{
  struct acp_rig *x = *state;
  acp_begin(x, CAN_RESUME);
  acp_play(x, (struct acp_step[]){
                  {C_A, PROMPT("2", "s1", "go"), 0},
                  {A_C, PERMISSION, 0},
                  {C_A, CALL("5", "_ext/x", "{}"), 0},
                  {DIE, NULL, -6},
                  {TO_C, NOTE("$/cancel_request", "{\"requestId\":0}"), 0},
                  {TO_C, "*agent_message_chunk*", 0},
                  {TO_C, DIED("2"), 0},
                  {TO_C, REFUSED("5", "-32603") "signal 6*", 0},
                  {TO_A, HELLO("1"), 0},
                  {A, HELLO_BACK("1", CAN_RESUME), 0},
                  {TO_A, ASK("2", "session/resume"), 0},
                  {A, OWN("2", "{}"), 0},
                  {C_A, PROMPT("6", "s1", "again"), 0},
                  {A, PERMISSION, 0}, /* the id of the one that nobody answered */
                  {TO_C, "{\"jsonrpc\":\"2.0\",\"id\":\"reprise/a1\",\"method\":\"session/request_permission\",*", 0},
                  {C, RESULT("0", "{\"outcome\":{\"outcome\":\"cancelled\"}}"), 0},
                  {NONE, NULL, 0},
                  {A, NOTE("$/cancel_request", "{\"requestId\":0}"), 0},
                  {TO_C, NOTE("$/cancel_request", "{\"requestId\":\"reprise/a1\"}"), 0},
                  {C, RESULT("\"reprise/a1\"", "{\"outcome\":{\"outcome\":\"selected\",\"optionId\":\"ok\"}}"), 0},
                  {TO_A, RESULT("0", "{\"outcome\":{\"outcome\":\"selected\",\"optionId\":\"ok\"}}"), 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
  assert_int_equal(acp_count(x, "s1", "approval", "*\"denied\"*"), 1);
  assert_int_equal(acp_count(x, "s1", "approval", "*\"allowed\"*"), 1);
}

static void test_death_before_initialize_is_answered(void **state)
{
  struct acp_rig *x = *state;
  acp_play(x, (struct acp_step[]){
                  {C_A, INIT, 0},
                  {DIE, NULL, 127},
                  {TO_A, INIT, 0},
                  {A, RESULT("0", "{\"protocolVersion\":1}"), 0},
                  {TO_C, RESULT("0", "{\"protocolVersion\":1,*}"), 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
}

static void test_authentication_is_repeated(void **state)
{
  struct acp_rig *x = *state;
  acp_begin(x, CAN_RESUME);
  acp_play(
      x,
      (struct acp_step[]){
          {C_A, CALL("2", "authenticate", "{\"methodId\":\"key\"}"), 0},
          {A_C, RESULT("2", "{}"), 0},
          {DIE, NULL, 0},
          {TO_A, HELLO("1"), 0},
          {A, HELLO_BACK("1", CAN_RESUME), 0},
          {TO_A,
           "{\"jsonrpc\":\"2.0\",\"id\":\"reprise/2\",\"method\":\"authenticate\",\"params\":{\"methodId\":\"key\"}}",
           0},
          {A, OWN("2", "{}"), 0},
          {TO_A, ASK("3", "session/resume"), 0},
          {NONE, NULL, 0},
          {END, NULL, 0},
      });
}

static void test_a_crash_loop(void **state)
{
  struct acp_rig *x = *state;
  acp_begin(x, CAN_LIST);
  acp_play(x, (struct acp_step[]){
                  {DIE, NULL, 3},
                  {TO_A, HELLO("1"), 0},
                  {DIE, NULL, 3},
                  {TO_A, HELLO("2"), 0},
                  {C, PROMPT("2", "s1", "waits"), 0},
                  {DIE, NULL, 3},
                  {TO_C,
                   "{\"jsonrpc\":\"2.0\",\"id\":2,\"error\":{\"code\":-32603,\"message\":\"*'agent'*exit status 3*", 0},
                  {C, PROMPT("3", "s1", "is refused"), 0},
                  {TO_C, REFUSED("3", "-32603"), 0},
                  {C, CALL("5", "session/list", "{}"), 0}, /* the journal has it, without the agent's part */
                  {TO_C, RESULT("5", "{\"sessions\":[{\"sessionId\":\"s1\",*}]}"), 0},
                  {C, CALL("6", "session/list", "{\"cursor\":\"a:x\"}"), 0},
                  {TO_C, REFUSED("6", "-32603"), 0},
                  {NONE, NULL, 0},
                  {WAIT, NULL, 31000},
                  {NONE, NULL, 0}, /* nobody asks for it */
                  {C, PROMPT("4", "s1", "tries again"), 0},
                  {TO_A, HELLO("3"), 0},
                  {A, HELLO_BACK("3", CAN_RESUME), 0},
                  {TO_A, ASK("4", "session/resume"), 0},
                  {A, OWN("4", "{}"), 0},
                  {TO_A, PROMPT("4", "s1", "tries again"), 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
  assert_int_equal(x->starts, 4);
}

/* Deaths that are far apart are no loop. */
static void test_slow_deaths(void **state)
{
  struct acp_rig *x = *state;
  acp_greet(x, "");
  for (int i = 0; i < 8; i++) {
    acp_wait(x, 16000);
    rp__acp_agent_gone(x->a, 1);
    const char *hello = acp_next(x, RP_ACP_AGENT);
    assert_non_null(hello);
    assert_true(acp_like(hello, "*\"method\":\"initialize\"*"));
  }
}

static void test_a_program_that_is_gone(void **state)
{
  struct acp_rig *x = *state;
  acp_begin(x, "");
  x->fail_starts = 9;
  rp__acp_agent_gone(x->a, 0);
  acp_play(x, (struct acp_step[]){
                  {C, PROMPT("2", "s1", "x"), 0},
                  {TO_C, "{\"jsonrpc\":\"2.0\",\"id\":2,\"error\":{\"code\":-32603,\"message\":\"*no such program*", 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
  rp__acp_client_gone(x->a, "editor closed");
  assert_int_equal(x->finished, 0);
}

static void test_an_agent_that_does_not_wake(void **state)
{
  struct acp_rig *x = *state;
  acp_begin(x, CAN_RESUME);
  acp_play(x, (struct acp_step[]){
                  {DIE, NULL, 3},
                  {TO_A, HELLO("1"), 0},
                  {WAIT, NULL, 61000},
                  {END, NULL, 0},
              });
  assert_int_equal(x->stops, 1);
  rp__acp_agent_gone(x->a, -15);
  acp_play(x, (struct acp_step[]){{TO_A, HELLO("2"), 0}, {NONE, NULL, 0}, {END, NULL, 0}});
}

#define T(f) cmocka_unit_test_setup_teardown(f, acp_setup, acp_teardown)

int main(void)
{
  const struct CMUnitTest tests[] = {
      T(test_death_in_a_turn),
      T(test_death_within_a_line),
      T(test_death_behind_a_line),
      T(test_death_of_an_unseen_call),
      T(test_death_of_a_forgetful_agent),
      T(test_open_requests),
      T(test_death_before_initialize_is_answered),
      T(test_authentication_is_repeated),
      T(test_a_crash_loop),
      T(test_slow_deaths),
      T(test_a_program_that_is_gone),
      T(test_an_agent_that_does_not_wake),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
