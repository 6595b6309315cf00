/* SPDX-License-Identifier: Apache-2.0 */
/* What the user chose holds for the next agent too, and the editor never shows what is not so (B-06, O-05). */
#include "unit/bridge/acp/ladder.h"

#define ASK(n, method, params) CALL("\"reprise/" n "\"", method, params)
#define ASK_ANY(n, method) "{\"jsonrpc\":\"2.0\",\"id\":\"reprise/" n "\",\"method\":\"" method "\",*"
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

#define MODE_IS(id) UPDATE("s1", "\"current_mode_update\",\"currentModeId\":\"" id "\"")
#define OPTIONS_ARE(model, fast) UPDATE("s1", "\"config_option_update\"," OPTIONS(model, fast))

/* A session in which the user chose "plan", "big" and true. */
static void chosen(struct acp_rig *x, const char *caps)
{
  acp_greet(x, caps);
  acp_play(x, (struct acp_step[]){
                  {C_A, NEW("1"), 0},
                  {A, RESULT("1", "{\"sessionId\":\"s1\"," MODES("ask") "," OPTIONS("small", "false") "}"), 0},
                  {TO_C, "*", 0},
                  {C_A, CHOOSE_MODE("2", "s1", "plan"), 0},
                  {A_C, RESULT("2", "{}"), 0},
                  {C, CALL("3", "session/set_config_option", "{\"sessionId\":\"s1\",\"configId\":\"x\"}"), 0},
                  {TO_A, "*", 0},
                  {A, RESULT("3", "{" OPTIONS("big", "true") "}"), 0},
                  {TO_C, "*", 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
}

/* The agent died; the next one has a session "s9" with its defaults, and a prompt waits. */
static void begin_anew(struct acp_rig *x)
{
  chosen(x, "");
  reborn(x, HELLO_BACK("1", ""));
  acp_say(x, RP_ACP_CLIENT, PROMPT("4", "s1", "waits"));
  asked(x, ASK_ANY("2", "session/new"),
        OWN("2", "{\"sessionId\":\"s9\"," MODES("ask") "," OPTIONS("small", "false") "}"));
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
  begin_anew(x);
  acp_play(x, (struct acp_step[]){
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
                  {C, LOAD("5", "s1"), 0},
                  {TO_C, MODE_IS("plan"), 0},
                  {TO_C, OPTIONS_ARE("big", "true"), 0},
                  {TO_C, "*user_message_chunk*waits*", 0},
                  {TO_C, RESULT("5", "{" MODES("plan") "," OPTIONS("big", "true") ",\"_meta\":*}"), 0},
                  {END, NULL, 0},
              });
}

static void test_what_is_refused_is_told(void **state)
{
  struct acp_rig *x = *state;
  begin_anew(x);
  acp_play(x, (struct acp_step[]){
                  {TO_A, ASK_PLAN("3"), 0},
                  {A, OWN_ERROR("3", "-32603"), 0},
                  {TO_A, ASK_BIG("4"), 0},
                  {A, OWN_ERROR("4", "-32603"), 0},
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
  reborn(x, HELLO_BACK("1", ""));
  acp_play(x, (struct acp_step[]){
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

/* What an agent dies of is not asked of the next one: the rung held, the editor is told, and all else is set (B-06). */
static void test_a_death_meanwhile(void **state)
{
  struct acp_rig *x = *state;
  begin_anew(x);
  acp_play(x, (struct acp_step[]){
                  {TO_A, ASK_PLAN("3"), 0},
                  {A, UPDATE("s9", "\"current_mode_update\",\"currentModeId\":\"code\""), 0},
                  {END, NULL, 0},
              });
  reborn(x, HELLO_BACK("4", ""));
  asked(x, ASK_ANY("5", "session/new"),
        OWN("5", "{\"sessionId\":\"s9\"," MODES("code") "," OPTIONS("small", "true") "}"));
  asked(x, ASK_BIG("6"), OWN("6", "{" OPTIONS("big", "true") "}"));
  acp_play(x, (struct acp_step[]){{TO_C, MODE_IS("code"), 0}, {TO_A, ANY_PROMPT, 0}, {NONE, NULL, 0}, {END, NULL, 0}});
}

/* Each time the editor loads it an agent dies of a choice: the session is not lost for that, nor is the rung (B-06). */
static void test_choices_that_agents_die_of(void **state)
{
  struct acp_rig *x = *state;
  chosen(x, "");
  next_process(x, ONLY_RESUME, NULL);
  acp_say(x, RP_ACP_CLIENT, LOAD("1", "s1"));
  asked(x, ASK_ANY("1", "session/resume"), OWN("1", "{" MODES("ask") "," OPTIONS("small", "false") "}"));
  acp_play(x, (struct acp_step[]){{TO_A, ASK_ANY("2", "session/set_mode"), 0}, {END, NULL, 0}});
  reborn(x, HELLO_BACK("3", ONLY_RESUME));
  asked(x, ASK_ANY("4", "session/resume"), OWN("4", "{" MODES("ask") "," OPTIONS("small", "false") "}"));
  acp_play(x, (struct acp_step[]){{TO_A, ASK_ANY("5", "session/set_config_option"), 0}, {END, NULL, 0}});
  reborn(x, HELLO_BACK("6", ONLY_RESUME));
  asked(x, ASK_ANY("7", "session/resume"), OWN("7", "{" MODES("ask") "," OPTIONS("small", "false") "}"));
  acp_play(x, (struct acp_step[]){
                  {TO_C, MODE_IS("ask"), 0},
                  {TO_C, OPTIONS_ARE("small", "false"), 0},
                  {TO_C, RESULT("1", "{" MODES("ask") "," OPTIONS("small", "false") ",\"_meta\":*resume*}"), 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
}

/* A resumption that does not tell the mode and the options may have lost them: what was chosen is set again. */
static void test_an_agent_that_does_not_say(void **state)
{
  struct acp_rig *x = *state;
  chosen(x, ONLY_RESUME);
  reborn(x, HELLO_BACK("1", ONLY_RESUME));
  acp_play(x, (struct acp_step[]){
                  {TO_A, ASK_ANY("2", "session/resume"), 0},
                  {A, OWN("2", "{}"), 0},
                  {TO_A, ASK("3", "session/set_mode", "{\"sessionId\":\"s1\",\"modeId\":\"plan\"}"), 0},
                  {A, OWN("3", "{}"), 0},
                  {TO_A, ASK_ANY("4", "session/set_config_option"), 0},
                  {A, OWN("4", "{" OPTIONS("big", "false") "}"), 0},
                  {TO_A, ASK_ANY("5", "session/set_config_option"), 0},
                  {A, OWN("5", "{" OPTIONS("big", "true") "}"), 0},
                  {NONE, NULL, 0}, /* the editor shows what is so */
                  {END, NULL, 0},
              });
}

/* What it tells in a replay is what once was, also when that comes late. */
static void test_a_replay_of_what_was_set(void **state)
{
  struct acp_rig *x = *state;
  chosen(x, CAN_LOAD);
  reborn(x, HELLO_BACK("1", CAN_LOAD));
  acp_play(x, (struct acp_step[]){
                  {TO_A, ASK_ANY("2", "session/load"), 0},
                  {A, UPDATE("s1", "\"current_mode_update\",\"currentModeId\":\"plan\""), 0},
                  {A, OWN("2", "null"), 0},
                  {A, UPDATE("s1", "\"config_option_update\"," OPTIONS("big", "true")), 0},
                  {WAIT, NULL, 200},
                  {TO_A, ASK("3", "session/set_mode", "{\"sessionId\":\"s1\",\"modeId\":\"plan\"}"), 0},
                  {A, OWN("3", "{}"), 0},
                  {TO_A, ASK_ANY("4", "session/set_config_option"), 0},
                  {A, OWN("4", "{" OPTIONS("big", "true") "}"), 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
}

/* … and no more than that: what the user left as it was is not set. */
static void test_what_was_not_chosen_is_left(void **state)
{
  struct acp_rig *x = *state;
  acp_greet(x, ONLY_RESUME);
  acp_play(x, (struct acp_step[]){
                  {C_A, NEW("1"), 0},
                  {A_C, RESULT("1", "{\"sessionId\":\"s1\"," MODES("ask") "," OPTIONS("small", "false") "}"), 0},
                  {A_C, UPDATE("s1", "\"config_option_update\"," OPTIONS("small", "true")), 0},
                  {END, NULL, 0},
              });
  reborn(x, HELLO_BACK("1", ONLY_RESUME));
  acp_play(x, (struct acp_step[]){
                  {TO_A, ASK_ANY("2", "session/resume"), 0},
                  {A, OWN("2", "null"), 0},
                  {TO_A,
                   ASK("3", "session/set_config_option",
                       "{\"sessionId\":\"s1\",\"configId\":\"fast\",\"type\":\"boolean\",\"value\":true}"),
                   0},
                  {A, OWN("3", "{" OPTIONS("small", "true") "}"), 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
}

/* The session is without an agent, and the editor loads it: the agent is asked a second time. */
static void load_what_was_lost(struct acp_rig *x)
{
  chosen(x, ONLY_RESUME);
  reborn(x, HELLO_BACK("1", ONLY_RESUME));
  asked(x, ASK_ANY("2", "session/resume"), OWN_ERROR("2", "-32603"));
  asked(x, ASK_ANY("3", "session/new"), OWN_ERROR("3", "-32603"));
  acp_say(x, RP_ACP_CLIENT, LOAD("5", "s1"));
}

/* That an agent refuses them is no failure of the load: the editor reads what it is taken to have. */
static void test_a_load_whose_agent_refuses(void **state)
{
  struct acp_rig *x = *state;
  load_what_was_lost(x);
  acp_play(x, (struct acp_step[]){
                  {TO_A, ASK_ANY("4", "session/resume"), 0},
                  {A, OWN("4", "null"), 0},
                  {TO_A, ASK_ANY("5", "session/set_mode"), 0},
                  {A, OWN_ERROR("5", "-32601"), 0},
                  {TO_A, ASK_ANY("6", "session/set_config_option"), 0},
                  {A, OWN_ERROR("6", "-32601"), 0},
                  {TO_A, ASK_ANY("7", "session/set_config_option"), 0},
                  {A, OWN_ERROR("7", "-32601"), 0},
                  {TO_C, UPDATE("s1", "\"current_mode_update\",\"currentModeId\":\"ask\""), 0},
                  {TO_C, UPDATE("s1", "\"config_option_update\"," OPTIONS("small", "false")), 0},
                  {TO_C, "*current_mode_update*", 0}, /* the history, of which they are a part */
                  {TO_C, "*config_option_update*", 0},
                  {TO_C, RESULT("5", "{\"_meta\":*resume*}"), 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
}

/* The answer to a load says what is set now; nothing else needs to. */
static void test_a_load_after_a_death(void **state)
{
  struct acp_rig *x = *state;
  load_what_was_lost(x);
  acp_play(x, (struct acp_step[]){
                  {TO_A, ASK_ANY("4", "session/resume"), 0},
                  {A, OWN("4", "{" MODES("ask") "," OPTIONS("small", "true") "}"), 0},
                  {TO_A, ASK("5", "session/set_mode", "{\"sessionId\":\"s1\",\"modeId\":\"plan\"}"), 0},
                  {A, OWN("5", "{}"), 0},
                  {TO_A, ASK_ANY("6", "session/set_config_option"), 0},
                  {A, OWN_ERROR("6", "-32603"), 0},
                  {TO_C, MODE_IS("plan"), 0},
                  {TO_C, OPTIONS_ARE("small", "true"), 0}, /* the history says the same */
                  {TO_C, RESULT("5", "{" MODES("plan") "," OPTIONS("small", "true") ",\"_meta\":*resume*}"), 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
}

/* ---- the next process ---- */

/* Each choice is one event, once the agent has agreed. */
static void test_choices_are_written_down(void **state)
{
  struct acp_rig *x = *state;
  chosen(x, "");
  acp_play(x, (struct acp_step[]){
                  {C_A, CHOOSE_MODE("4", "s1", "code"), 0},
                  {A_C, ERROR("4", "-32603"), 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
  assert_int_equal(acp_count(x, "s1", "x-acp-update", "*"), 2);
  assert_int_equal(acp_count(x, "s1", "x-acp-update",
                             "{\"update\":{\"sessionUpdate\":\"current_mode_update\",\"currentModeId\":\"plan\"},"
                             "\"by\":\"editor\"}"),
                   1);
  assert_int_equal(
      acp_count(x, "s1", "x-acp-update",
                "{\"update\":{\"sessionUpdate\":\"config_option_update\"," OPTIONS("big", "true") "},"
                                                                                                  "\"by\":\"editor\"}"),
      1);
}

/* They hold for the next process too, and its answer says what the history says. */
static void test_the_next_process(void **state)
{
  struct acp_rig *x = *state;
  chosen(x, "");
  next_process(x, ONLY_RESUME, NULL);
  acp_play(x, (struct acp_step[]){
                  {C, LOAD("1", "s1"), 0},
                  {TO_A, ASK_ANY("1", "session/resume"), 0},
                  {A, OWN("1", "{" MODES("ask") "," OPTIONS("small", "false") "}"), 0},
                  {TO_A, ASK("2", "session/set_mode", "{\"sessionId\":\"s1\",\"modeId\":\"plan\"}"), 0},
                  {A, OWN("2", "{}"), 0},
                  {TO_A, ASK_ANY("3", "session/set_config_option"), 0},
                  {A, OWN("3", "{" OPTIONS("big", "false") "}"), 0},
                  {TO_A, ASK_ANY("4", "session/set_config_option"), 0},
                  {A, OWN("4", "{" OPTIONS("big", "true") "}"), 0},
                  {TO_C, MODE_IS("plan"), 0},
                  {TO_C, OPTIONS_ARE("big", "true"), 0},
                  {TO_C, RESULT("1", "{" MODES("plan") "," OPTIONS("big", "true") ",\"_meta\":*resume*}"), 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
}

/* So do those that the agent changed itself; one that refuses is told, and from then on the history says so. */
static void test_the_next_process_is_refused(void **state)
{
  struct acp_rig *x = *state;
  chosen(x, "");
  acp_play(x, (struct acp_step[]){{A_C, MODE_IS("code"), 0}, {END, NULL, 0}});
  for (int i = 0; i < 2; i++) {
    next_process(x, ONLY_RESUME, NULL);
    acp_say(x, RP_ACP_CLIENT, LOAD("1", "s1"));
    asked(x, ASK_ANY("1", "session/resume"), OWN("1", "{" MODES("ask") "," OPTIONS("big", "true") "}"));
    if (!i)
      asked(x, ASK("2", "session/set_mode", "{\"sessionId\":\"s1\",\"modeId\":\"code\"}"), OWN_ERROR("2", "-32603"));
    acp_play(x, (struct acp_step[]){
                    {TO_C, OPTIONS_ARE("big", "true"), 0},
                    {TO_C, MODE_IS("ask"), 0},
                    {TO_C, RESULT("1", "{" MODES("ask") "," OPTIONS("big", "true") ",\"_meta\":*resume*}"), 0},
                    {NONE, NULL, 0},
                    {END, NULL, 0},
                });
  }
}

#define T(f) cmocka_unit_test_setup_teardown(f, acp_setup, acp_teardown)

int main(void)
{
  const struct CMUnitTest tests[] = {
      T(test_they_are_set_again),          T(test_what_is_refused_is_told),    T(test_what_is_not_offered_is_told),
      T(test_a_death_meanwhile),           T(test_an_agent_that_does_not_say), T(test_a_load_after_a_death),
      T(test_what_was_not_chosen_is_left), T(test_a_replay_of_what_was_set),   T(test_a_load_whose_agent_refuses),
      T(test_choices_are_written_down),    T(test_the_next_process),           T(test_the_next_process_is_refused),
      T(test_choices_that_agents_die_of),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
