/* SPDX-License-Identifier: Apache-2.0 */
/* What the user chose holds for the next agent too, and the editor never shows what is not so (B-06, O-05). */
#include "unit/bridge/acp_rig.h"

#define CAN_RESUME "\"sessionCapabilities\":{\"resume\":{}}"
#define HELLO(n) "{\"jsonrpc\":\"2.0\",\"id\":\"reprise/" n "\",\"method\":\"initialize\",*"
#define HELLO_BACK(n, caps) RESULT("\"reprise/" n "\"", "{\"protocolVersion\":1,\"agentCapabilities\":{" caps "}}")
#define ASK(n, method, params) CALL("\"reprise/" n "\"", method, params)
#define ASK_ANY(n, method) "{\"jsonrpc\":\"2.0\",\"id\":\"reprise/" n "\",\"method\":\"" method "\",*"
#define OWN(n, result) RESULT("\"reprise/" n "\"", result)
#define UPDATE(sid, update)                                                                                            \
  NOTE("session/update", "{\"sessionId\":\"" sid "\",\"update\":{\"sessionUpdate\":" update "}}")

#define MODES(id)                                                                                                      \
  "\"modes\":{\"currentModeId\":\"" id "\",\"availableModes\":[{\"id\":\"ask\"},{\"id\":\"plan\"},{\"id\":\"code\"}]}"
#define MODEL(value)                                                                                                   \
  "{\"id\":\"model\",\"type\":\"select\",\"currentValue\":\"" value "\",\"options\":[{\"group\":\"g\",\"options\":["   \
  "{\"value\":\"small\"},{\"value\":\"big\"}]}]}"
#define FAST(value) "{\"id\":\"fast\",\"type\":\"boolean\",\"currentValue\":" value "}"
#define OPTIONS(model, fast) "\"configOptions\":[" MODEL(model) "," FAST(fast) "]"
#define CHOOSE_MODE(id, sid, mode) CALL(id, "session/set_mode", "{\"sessionId\":\"" sid "\",\"modeId\":\"" mode "\"}")

/* A session in which the user chose "plan", "big" and true. */
static void chosen(struct acp_rig *x, const char *caps)
{
  acp_greet(x, caps);
  acp_play(x, (struct acp_step[]){
                  {C, NEW("1"), 0},
                  {TO_A, NEW("1"), 0},
                  {A, RESULT("1", "{\"sessionId\":\"s1\"," MODES("ask") "," OPTIONS("small", "false") "}"), 0},
                  {TO_C, "*", 0},
                  {C, CHOOSE_MODE("2", "s1", "plan"), 0},
                  {TO_A, CHOOSE_MODE("2", "s1", "plan"), 0},
                  {A, RESULT("2", "{}"), 0},
                  {TO_C, RESULT("2", "{}"), 0},
                  {C, CALL("3", "session/set_config_option", "{\"sessionId\":\"s1\",\"configId\":\"x\"}"), 0},
                  {TO_A, "*", 0},
                  {A, RESULT("3", "{" OPTIONS("big", "true") "}"), 0},
                  {TO_C, "*", 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
}

#define NEW_SESSION(n)                                                                                                 \
  {A, HELLO_BACK("1", ""), 0}, {TO_A, ASK_ANY("2", "session/new"), 0},                                                 \
  {                                                                                                                    \
    A, OWN("2", "{\"sessionId\":\"s9\"," MODES("ask") "," OPTIONS("small", "false") "}"), 0                            \
  }
#define ASK_PLAN(n) ASK(n, "session/set_mode", "{\"sessionId\":\"s9\",\"modeId\":\"plan\"}")
#define ASK_BIG(n)                                                                                                     \
  ASK(n, "session/set_config_option", "{\"sessionId\":\"s9\",\"configId\":\"model\",\"value\":\"big\"}")
#define ASK_FAST(n)                                                                                                    \
  ASK(n, "session/set_config_option",                                                                                  \
      "{\"sessionId\":\"s9\",\"configId\":\"fast\",\"type\":\"boolean\",\"value\":true}")
#define ANY_PROMPT "{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"session/prompt\",\"params\":{\"sessionId\":\"s9\",*"

static void test_they_are_set_again(void **state)
{
  struct acp_rig *x = *state;
  chosen(x, "");
  acp_play(x, (struct acp_step[]){
                  {DIE, NULL, -9},
                  {TO_A, HELLO("1"), 0},
                  {C, PROMPT("4", "s1", "waits"), 0},
                  NEW_SESSION("2"),
                  {TO_A, ASK_PLAN("3"), 0},
                  {NONE, NULL, 0}, /* the prompt waits for all of them */
                  {A, UPDATE("s9", "\"current_mode_update\",\"currentModeId\":\"plan\""), 0},
                  {A, OWN("3", "{}"), 0},
                  {TO_A, ASK_BIG("4"), 0},
                  {A, OWN("4", "{" OPTIONS("big", "false") "}"), 0},
                  {TO_A, ASK_FAST("5"), 0},
                  {A, OWN("5", "{" OPTIONS("big", "true") "}"), 0},
                  {TO_A, ANY_PROMPT, 0},
                  {NONE, NULL, 0}, /* the editor shows what is so */
                  {C, CALL("5", "session/load", "{\"sessionId\":\"s1\",\"cwd\":\"/p\",\"mcpServers\":[]}"), 0},
                  {TO_C, "*user_message_chunk*waits*", 0},
                  {TO_C, RESULT("5", "{" MODES("plan") "," OPTIONS("big", "true") ",\"_meta\":*}"), 0},
                  {END, NULL, 0},
              });
}

static void test_what_is_refused_is_told(void **state)
{
  struct acp_rig *x = *state;
  chosen(x, "");
  acp_play(x, (struct acp_step[]){
                  {DIE, NULL, -9},
                  {TO_A, HELLO("1"), 0},
                  {C, PROMPT("4", "s1", "waits"), 0},
                  NEW_SESSION("2"),
                  {TO_A, ASK_PLAN("3"), 0},
                  {A, ERROR("\"reprise/3\"", "-32603"), 0},
                  {TO_A, ASK_BIG("4"), 0},
                  {A, ERROR("\"reprise/4\"", "-32603"), 0},
                  {TO_A, ASK_FAST("5"), 0},
                  {WAIT, NULL, 61000}, /* nor does it answer */
                  {TO_C, UPDATE("s1", "\"current_mode_update\",\"currentModeId\":\"ask\""), 0},
                  {TO_C, UPDATE("s1", "\"config_option_update\"," OPTIONS("small", "false")), 0},
                  {TO_A, ANY_PROMPT, 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
  assert_int_equal(acp_count(x, "s1", "x-acp-update", "*current_mode_update*ask*"), 1);
}

/* What the next agent does not offer is not asked of it. */
static void test_what_is_not_offered_is_told(void **state)
{
  struct acp_rig *x = *state;
  chosen(x, "");
  acp_play(x, (struct acp_step[]){
                  {DIE, NULL, -9},
                  {TO_A, HELLO("1"), 0},
                  {A, HELLO_BACK("1", ""), 0},
                  {TO_A, ASK_ANY("2", "session/new"), 0},
                  {A,
                   OWN("2", "{\"sessionId\":\"s9\",\"modes\":{\"currentModeId\":\"auto\",\"availableModes\":[{\"id\":"
                            "\"auto\"}]},\"configOptions\":[{\"id\":\"model\",\"type\":\"select\",\"currentValue\":"
                            "\"tiny\",\"options\":[{\"value\":\"tiny\"}]}]}"),
                   0},
                  {TO_C, UPDATE("s1", "\"current_mode_update\",\"currentModeId\":\"auto\""), 0},
                  {TO_C, UPDATE("s1", "\"config_option_update\",\"configOptions\":[{*\"tiny\"*}]"), 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
}

/* An agent that dies meanwhile does not change what was chosen. */
static void test_a_death_meanwhile(void **state)
{
  struct acp_rig *x = *state;
  chosen(x, "");
  acp_play(x, (struct acp_step[]){
                  {DIE, NULL, -9},
                  {TO_A, HELLO("1"), 0},
                  NEW_SESSION("2"),
                  {TO_A, ASK_PLAN("3"), 0},
                  {A, UPDATE("s9", "\"current_mode_update\",\"currentModeId\":\"code\""), 0},
                  {DIE, NULL, -9},
                  {TO_A, HELLO("4"), 0},
                  {A, HELLO_BACK("4", ""), 0},
                  {TO_A, ASK_ANY("5", "session/new"), 0},
                  {A, OWN("5", "{\"sessionId\":\"s9\"," MODES("code") "," OPTIONS("big", "true") "}"), 0},
                  {TO_A, ASK_PLAN("6"), 0},
                  {A, OWN("6", "{}"), 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
}

/* A resumption that does not tell the mode may have lost it. */
static void test_an_agent_that_does_not_say(void **state)
{
  struct acp_rig *x = *state;
  chosen(x, CAN_RESUME);
  acp_play(x, (struct acp_step[]){
                  {DIE, NULL, -9},
                  {TO_A, HELLO("1"), 0},
                  {A, HELLO_BACK("1", CAN_RESUME), 0},
                  {TO_A, ASK_ANY("2", "session/resume"), 0},
                  {A, OWN("2", "{}"), 0},
                  {TO_A, ASK("3", "session/set_mode", "{\"sessionId\":\"s1\",\"modeId\":\"plan\"}"), 0},
                  {A, OWN("3", "{}"), 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
}

/* The answer to a load says what is set now; nothing else needs to. */
static void test_a_load_after_a_death(void **state)
{
  struct acp_rig *x = *state;
  chosen(x, CAN_RESUME);
  acp_play(x, (struct acp_step[]){
                  {DIE, NULL, -9},
                  {TO_A, HELLO("1"), 0},
                  {A, HELLO_BACK("1", CAN_RESUME), 0},
                  {TO_A, ASK_ANY("2", "session/resume"), 0},
                  {A, ERROR("\"reprise/2\"", "-32603"), 0},
                  {TO_A, ASK_ANY("3", "session/new"), 0},
                  {A, ERROR("\"reprise/3\"", "-32603"), 0}, /* it is without an agent now */
                  {C, CALL("5", "session/load", "{\"sessionId\":\"s1\",\"cwd\":\"/p\",\"mcpServers\":[]}"), 0},
                  {TO_A, ASK_ANY("4", "session/resume"), 0},
                  {A, OWN("4", "{" MODES("ask") "," OPTIONS("small", "true") "}"), 0},
                  {TO_A, ASK("5", "session/set_mode", "{\"sessionId\":\"s1\",\"modeId\":\"plan\"}"), 0},
                  {A, OWN("5", "{}"), 0},
                  {TO_A, ASK_ANY("6", "session/set_config_option"), 0},
                  {A, ERROR("\"reprise/6\"", "-32603"), 0},
                  {TO_C, RESULT("5", "{" MODES("plan") "," OPTIONS("small", "true") ",\"_meta\":*resume*}"), 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
}

#define T(f) cmocka_unit_test_setup_teardown(f, acp_setup, acp_teardown)

int main(void)
{
  const struct CMUnitTest tests[] = {
      T(test_they_are_set_again), T(test_what_is_refused_is_told),    T(test_what_is_not_offered_is_told),
      T(test_a_death_meanwhile),  T(test_an_agent_that_does_not_say), T(test_a_load_after_a_death),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
