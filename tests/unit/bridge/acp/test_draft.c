/* SPDX-License-Identifier: Apache-2.0 */
/* Version 2 of the protocol, a draft: it passes as it is, what is known of it is written down, a death is told (O-05).
 */
#include "unit/bridge/acp/rig.h"

#define INIT2                                                                                                          \
  "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":2,\"info\":{\"name\":"      \
  "\"e\",\"version\":\"1\"}}}"
#define HI2                                                                                                            \
  "{\"protocolVersion\":2,\"info\":{\"name\":\"@x/fake\",\"version\":\"3\"},\"capabilities\":{\"session\":{}}}"
#define UPDATE(update) NOTE("session/update", "{\"sessionId\":\"s1\",\"update\":" update "}")
#define CHUNK2(text)                                                                                                   \
  UPDATE("{\"sessionUpdate\":\"agent_message_chunk\",\"messageId\":\"m\",\"content\":{\"type\":\"text\",\"text\":"     \
         "\"" text "\"}}")
#define ECHO                                                                                                           \
  UPDATE("{\"sessionUpdate\":\"user_message\",\"messageId\":\"u\",\"content\":[{\"type\":\"text\",\"text\":\"go\"}]}")
#define WHOLE(text)                                                                                                    \
  UPDATE("{\"sessionUpdate\":\"agent_message\",\"messageId\":\"m\",\"content\":[{\"type\":\"text\",\"text\":\"" text   \
         "\"}]}")
#define STATE(state) UPDATE("{\"sessionUpdate\":\"state_update\",\"state\":" state "}")
#define TOOL(rest) UPDATE("{\"sessionUpdate\":\"tool_call_update\",\"toolCallId\":\"c1\"" rest "}")
#define TERMINAL UPDATE("{\"sessionUpdate\":\"terminal_update\",\"terminalId\":\"t\"}")
#define PERMISSION                                                                                                     \
  CALL("7", "session/request_permission",                                                                              \
       "{\"sessionId\":\"s1\",\"title\":\"May I?\",\"options\":[{\"optionId\":\"ok\",\"name\":\"Yes\",\"kind\":"       \
       "\"allow_once\"}]}")

static void begin(struct acp_rig *x)
{
  acp_play(x, (struct acp_step[]){
                  {C_A, INIT2, 0},
                  {A_C, RESULT("0", HI2), 0}, /* nothing is added: version 2 has its sessions from the agent */
                  {C_A, NEW("1"), 0},
                  {A_C, RESULT("1", "{\"sessionId\":\"s1\"}"), 0},
                  {TO_C, "*\"s1\"*\"notice\",\"severity\":\"warning\",\"title\":\"Version 2 *draft*", 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
}

static void test_what_is_known_is_written_down(void **state)
{
  struct acp_rig *x = *state;
  begin(x);
  assert_int_equal(x->warnings, 1);
  acp_play(x, (struct acp_step[]){
                  {C_A, PROMPT("2", "s1", "go"), 0},
                  {A_C, RESULT("2", "{\"messageId\":\"u\"}"), 0},
                  {A_C, ECHO, 0},
                  {A_C, STATE("\"running\""), 0},
                  {A_C, CHUNK2("Well"), 0},
                  {A_C, TOOL(",\"title\":\"Read\",\"status\":\"in_progress\""), 0},
                  {A_C, TERMINAL, 0},
                  {A_C, PERMISSION, 0},
                  {C_A, RESULT("7", "{\"outcome\":{\"outcome\":\"selected\",\"optionId\":\"ok\"}}"), 0},
                  {A_C, TOOL(",\"status\":\"completed\",\"rawOutput\":\"plum\""), 0},
                  {A_C, WHOLE("Well, plum"), 0},
                  {A_C, STATE("\"idle\",\"stopReason\":\"end_turn\""), 0},
                  {C_A, NEW("3"), 0}, /* it is said once */
                  {A_C, RESULT("3", "{\"sessionId\":\"s2\"}"), 0},
                  {C_A, CALL("4", "session/list", "{}"), 0}, /* the agent's own business */
                  {A_C, RESULT("4", "{\"sessions\":[]}"), 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
  assert_int_equal(acp_count(x, "s1", "message", "*\"role\":\"user\"*go*"), 1);
  assert_int_equal(acp_count(x, "s1", "x-acp-update", "*user_message*"), 1);
  assert_int_equal(acp_count(x, "s1", "message", "*\"assistant\"*\"partial\":true*Well*"), 1);
  assert_int_equal(acp_count(x, "s1", "message", "*\"whole\":true*Well, plum*"), 1);
  assert_int_equal(acp_count(x, "s1", "tool", "*\"name\":\"Read\",\"status\":\"done\"*plum*"), 1);
  assert_int_equal(acp_count(x, "s1", "x-acp-update", "*terminal_update*"), 1);
  assert_int_equal(acp_count(x, "s1", "approval", "*\"allowed\"*"), 1);
  assert_int_equal(acp_count(x, "s1", "x-acp-turn", "*\"stop_reason\":\"end_turn\"*"), 1);
  assert_int_equal(x->warnings, 1);
}

static void test_a_death_is_told(void **state)
{
  struct acp_rig *x = *state;
  begin(x);
  acp_play(
      x,
      (struct acp_step[]){
          {C_A, PROMPT("2", "s1", "go"), 0},
          {A_C, RESULT("2", "{\"messageId\":\"u\"}"), 0},
          {A_C, STATE("\"running\""), 0},
          {A_C, TOOL(",\"title\":\"Write\",\"status\":\"in_progress\""), 0},
          {DIE, NULL, -9},
          {TO_C, "*tool_call_update*\"c1\",\"status\":\"failed\"*", 0},
          {TO_C, "*\"notice\"*The agent fake ended unexpectedly (signal 9)*", 0},
          {TO_C,
           "*\"s1\"*\"state_update\",\"state\":\"idle\",\"stopReason\":\"error\",\"error\":{\"code\":-32603,*"
           "\"data\":{\"code\":\"agent.died\",\"signal\":9}}}}}",
           0},
          {TO_A, "{\"jsonrpc\":\"2.0\",\"id\":\"reprise/1\",\"method\":\"initialize\",*\"protocolVersion\":2*", 0},
          {C, PROMPT("3", "s1", "again"), 0},
          {NONE, NULL, 0},
          {A, RESULT("\"reprise/1\"", HI2), 0},
          {TO_A, "{\"jsonrpc\":\"2.0\",\"id\":\"reprise/2\",\"method\":\"session/resume\",*\"sessionId\":\"s1\"*", 0},
          {A, RESULT("\"reprise/2\"", "{}"), 0},
          {TO_A, PROMPT("3", "s1", "again"), 0},
          {A_C, RESULT("3", "{\"messageId\":\"v\"}"), 0},
          {NONE, NULL, 0},
          {END, NULL, 0},
      });
  assert_int_equal(acp_count(x, "s1", "x-acp-agent", "*died*-9*"), 1);
  assert_int_equal(acp_count(x, "s1", "x-acp-turn", "*agent.died*"), 1);
  assert_int_equal(acp_count(x, "s1", "tool", "*\"status\":\"unknown\"*"), 1);
  assert_int_equal(x->warnings, 1);
}

/* One that the next agent can't resume is refused; nobody begins another in its place. */
static void test_a_session_that_is_gone(void **state)
{
  struct acp_rig *x = *state;
  begin(x);
  acp_play(x, (struct acp_step[]){
                  {DIE, NULL, 1},
                  {TO_A, "*\"initialize\"*", 0},
                  {C, PROMPT("3", "s1", "again"), 0},
                  {A, RESULT("\"reprise/1\"", HI2), 0},
                  {TO_A, "*\"session/resume\"*", 0},
                  {A, ERROR("\"reprise/2\"", "-32002"), 0},
                  {TO_C, REFUSED("3", "-32603") "\"agent.cannot_load\"}}}", 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
}

/* Another process goes on with the journal; what the agent replays is not written down again. */
static void test_a_resume_goes_on(void **state)
{
  struct acp_rig *x = *state;
  begin(x);
  acp_play(x, (struct acp_step[]){
                  {C_A, PROMPT("2", "s1", "go"), 0},
                  {A_C, RESULT("2", "{\"messageId\":\"u\"}"), 0},
                  {A_C, WHOLE("yes"), 0},
                  {A_C, STATE("\"idle\",\"stopReason\":\"end_turn\""), 0},
                  {END, NULL, 0},
              });
  rp__acp_client_gone(x->a, "editor closed");
  acp_open(x, NULL);
  acp_play(
      x,
      (struct acp_step[]){
          {C_A, INIT2, 0},
          {A_C, RESULT("0", HI2), 0},
          {C_A,
           CALL("1", "session/resume", "{\"sessionId\":\"s1\",\"cwd\":\"/p\",\"replayFrom\":{\"type\":\"start\"}}"), 0},
          {A_C, ECHO, 0},
          {A_C, WHOLE("yes"), 0},
          {A_C, RESULT("1", "{}"), 0},
          {TO_C, "*\"notice\"*", 0},
          {C_A, PROMPT("2", "s1", "more"), 0},
          {A_C, RESULT("2", "{\"messageId\":\"w\"}"), 0},
          {DIE, NULL, 1},
          {TO_C, "*\"notice\"*", 0},
          {TO_C, "*\"state_update\"*", 0},
          {TO_A, "*\"initialize\"*", 0},
          {A, RESULT("\"reprise/1\"", HI2), 0},
          {TO_A, CALL("\"reprise/2\"", "session/resume", "{\"sessionId\":\"s1\",\"cwd\":\"/p\",\"mcpServers\":[]}"), 0},
          {NONE, NULL, 0},
          {END, NULL, 0},
      });
  assert_int_equal(acp_count(x, "s1", "message", "*yes*"), 1);
  assert_int_equal(acp_count(x, "s1", "message", "*\"role\":\"user\"*"), 2);
}

/* Of a version that nobody here knows nothing is written down, which is said. */
static void test_an_unknown_version(void **state)
{
  struct acp_rig *x = *state;
  acp_play(x, (struct acp_step[]){
                  {C_A, INIT2, 0},
                  {A_C, RESULT("0", "{\"protocolVersion\":9}"), 0},
                  {C_A, NEW("1"), 0},
                  {A_C, RESULT("1", "{\"sessionId\":\"s1\"}"), 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
  assert_int_equal(x->warnings, 1);
}

#define T(f) cmocka_unit_test_setup_teardown(f, acp_setup, acp_teardown)

int main(void)
{
  const struct CMUnitTest tests[] = {
      T(test_what_is_known_is_written_down),
      T(test_a_death_is_told),
      T(test_a_session_that_is_gone),
      T(test_a_resume_goes_on),
      T(test_an_unknown_version),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
