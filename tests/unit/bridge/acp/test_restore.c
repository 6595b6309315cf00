/* SPDX-License-Identifier: Apache-2.0 */
/* The ladder: resume, else load with the agent's replay swallowed, else a new session with the history (O-05, B-06). */
#include "unit/bridge/acp/ladder.h"

static void test_resume(void **state)
{
  struct acp_rig *x = *state;
  history(x, CAN_RESUME);
  acp_say(x, RP_ACP_CLIENT, LOAD("1", "s1"));
  asked(x, ASK_RESUME("1"), OWN("1", "{\"modes\":{\"currentModeId\":\"m\"},\"sessionId\":\"s1\",\"_meta\":{\"k\":1}}"));
  told(x, RESULT("1", "{\"modes\":{\"currentModeId\":\"m\"},\"sessionId\":\"s1\",\"_meta\":{\"k\":1,"
                      "\"reprise\":{\"rung\":\"resume\"}}}"));
  acp_play(x, (struct acp_step[]){
                  {C_A, PROMPT("2", "s1", "and now?"), 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
  assert_int_equal(acp_count(x, "s1", "x-acp-agent", "*restored*\"resume\"*"), 1);
}

static void test_a_new_session_with_the_history(void **state)
{
  struct acp_rig *x = *state;
  history(x, "");
  acp_say(x, RP_ACP_CLIENT, LOAD("1", "s1"));
  asked(x, ASK_NEW("1"), OWN("1", "{\"sessionId\":\"s9\",\"modes\":null}"));
  told(x, RESULT("1", "{\"modes\":null,\"_meta\":{\"reprise\":{\"rung\":\"new\"}}}"));
  acp_play(x, (struct acp_step[]){
                  {C, PROMPT("2", "s1", "and now?"), 0},
                  {TO_A, HISTORY_PROMPT, 0},
                  {A, CHUNK("s9", "so it is"), 0},
                  {TO_C, CHUNK("s1", "so it is"), 0},
                  {A, CHUNK("s1", "an echo of the old id"), 0},
                  {A, CALL("0", "fs/read_text_file", "{\"path\":\"/x\",\"sessionId\":\"s9\"}"), 0},
                  {TO_C, CALL("0", "fs/read_text_file", "{\"path\":\"/x\",\"sessionId\":\"s1\"}"), 0},
                  {C, NOTE("session/cancel", "{\"sessionId\":\"s1\"}"), 0},
                  {TO_A, NOTE("session/cancel", "{\"sessionId\":\"s9\"}"), 0},
                  {A_C, END_TURN("2"), 0},
                  {C, PROMPT("3", "s1", "once more"), 0}, /* the history goes once */
                  {TO_A, PROMPT("3", "s9", "once more"), 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
  assert_int_equal(acp_count(x, "s1", "provider", "*\"acp_session_id\":\"s9\"*"), 1);
  assert_int_equal(acp_count(x, "s1", "message", "*\"role\":\"user\"*an answer*"), 0);
}

/* The agent can do nothing of it: it begins a session of its own, and the editor has the history. */
static void begin_new(struct acp_rig *x)
{
  acp_say(x, RP_ACP_CLIENT, LOAD("1", "s1"));
  asked(x, ASK_NEW("1"), OWN("1", "{\"sessionId\":\"s9\"}"));
  told(x, RESULT("1", "*\"rung\":\"new\"*"));
}

/* The next prompt carries it; the agent takes it. */
static void tell_it(struct acp_rig *x)
{
  acp_play(x, (struct acp_step[]){
                  {C, PROMPT("2", "s1", "and now?"), 0},
                  {TO_A, HISTORY_PROMPT, 0},
                  {A_C, END_TURN("2"), 0},
                  {END, NULL, 0},
              });
}

/* The next process asks the agent for the id that it had last. */
static void test_the_agents_own_id_is_remembered(void **state)
{
  struct acp_rig *x = *state;
  history(x, "");
  begin_new(x);
  tell_it(x);
  next_process(x, CAN_RESUME, NULL);
  acp_play(x, (struct acp_step[]){
                  {C, LOAD("1", "s1"), 0},
                  {TO_A, "*\"session/resume\",\"params\":{\"sessionId\":\"s9\",*", 0},
                  {A, OWN("1", "{\"sessionId\":\"s9\"}"), 0},
                  {TO_C, REPLAY_USER, 0},
                  {TO_C, REPLAY_AGENT, 0},
                  {TO_C, "*and now?*", 0},
                  {TO_C, RESULT("1", "{\"sessionId\":\"s1\",\"_meta\":{\"reprise\":{\"rung\":\"resume\"}}}"), 0},
                  {END, NULL, 0},
              });
}

/* A session that never got the history is not the conversation's: it is begun anew, and told (O-05). */
static void test_an_untold_session_is_not_remembered(void **state)
{
  struct acp_rig *x = *state;
  history(x, "");
  begin_new(x);
  acp_play(x, (struct acp_step[]){{NONE, NULL, 0}, {END, NULL, 0}});
  assert_int_equal(acp_count(x, "s1", "provider", "*\"acp_session_id\":\"s9\"*"), 0);
  next_process(x, "", NULL);
  begin_new(x);
  tell_it(x);
}

/* Nor has an agent taken it that refused the prompt, or died of it. */
static void test_a_refused_history_goes_again(void **state)
{
  struct acp_rig *x = *state;
  history(x, CAN_RESUME);
  acp_say(x, RP_ACP_CLIENT, LOAD("1", "s1"));
  asked(x, ASK_RESUME("1"), OWN_ERROR("1", "-32603"));
  asked(x, ASK_LOAD("2"), OWN_ERROR("2", "-32603"));
  asked(x, ASK_NEW("3"), OWN("3", "{\"sessionId\":\"s9\"}"));
  told(x, RESULT("1", "*"));
  acp_play(x, (struct acp_step[]){
                  {C, PROMPT("2", "s1", "and now?"), 0},
                  {TO_A, HISTORY_PROMPT, 0},
                  {C, PROMPT("3", "s1", "meanwhile"), 0}, /* it is on its way */
                  {TO_A, PROMPT("3", "s9", "meanwhile"), 0},
                  {A_C, ERROR("2", "-32000"), 0},
                  {A_C, END_TURN("3"), 0},
                  {C, PROMPT("4", "s1", "again"), 0},
                  {TO_A, "*\"id\":4,*my question*an answer*and now?*\"again\"*", 0},
                  {DIE, NULL, -9},
                  {TO_C, "*agent_message_chunk*signal 9*", 0},
                  {TO_C, DIED("4"), 0},
                  {TO_A, "*\"reprise/4\",\"method\":\"initialize\"*", 0},
                  {A, OWN("4", "{\"agentCapabilities\":{" CAN_RESUME "}}"), 0},
                  {TO_A, ASK_NEW("5"), 0}, /* no rung knows that id */
                  {A, OWN("5", "{\"sessionId\":\"s8\"}"), 0},
                  {C, PROMPT("5", "s1", "third"), 0},
                  {TO_A, "*\"s8\"*my question*an answer*\"third\"*", 0},
                  {A_C, END_TURN("5"), 0},
                  {C, PROMPT("6", "s1", "fourth"), 0},
                  {TO_A, PROMPT("6", "s8", "fourth"), 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
  assert_int_equal(acp_count(x, "s1", "provider", "*\"acp_session_id\":\"s9\"*"), 0);
  assert_int_equal(acp_count(x, "s1", "provider", "*\"acp_session_id\":\"s8\"*"), 1);
}

/* A text block also for agents that take resources: they would put those to another place. */
static void test_embedded_context(void **state)
{
  struct acp_rig *x = *state;
  history(x, "\"promptCapabilities\":{\"embeddedContext\":true}");
  begin_new(x);
  acp_play(x, (struct acp_step[]){
                  /* the members the other way round, and no block of the editor's */
                  {C, CALL("2", "session/prompt", "{\"prompt\":[ ],\"sessionId\":\"s1\"}"), 0},
                  {TO_A,
                   "*\"params\":{\"prompt\":[{\"type\":\"text\",\"text\":\"*an answer*outside of it.]\\n[reprise: "
                   "end]\\n\\n\"} ],"
                   "\"sessionId\":\"s9\"}}",
                   0},
                  {END, NULL, 0},
              });
}

/* Any error is "it could not"; so is silence. What comes too late is not heard. */
static void test_all_rungs(void **state)
{
  struct acp_rig *x = *state;
  history(x, CAN_RESUME);
  acp_play(x, (struct acp_step[]){
                  {C, LOAD("1", "s1"), 0},
                  {TO_A, ASK_RESUME("1"), 0},
                  {A, OWN_ERROR("1", "-32603"), 0},
                  {TO_A, ASK_LOAD("2"), 0},
                  {WAIT, NULL, 59000},
                  {NONE, NULL, 0},
                  {WAIT, NULL, 2000},
                  {TO_A, ASK_NEW("3"), 0},
                  {A, USER("s1", "my question"), 0},
                  {A, OWN("2", "{}"), 0}, /* at last, the load */
                  {NONE, NULL, 0},
                  {A, OWN("3", "{\"sessionId\":\"s9\"}"), 0},
                  {TO_C, REPLAY_USER, 0},
                  {TO_C, REPLAY_AGENT, 0},
                  {TO_C, RESULT("1", "*\"rung\":\"new\"*"), 0},
                  {A, CHUNK("s1", "an answer"), 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
}

static void test_no_rung_holds(void **state)
{
  struct acp_rig *x = *state;
  history(x, "");
  acp_play(
      x,
      (struct acp_step[]){
          {C, LOAD("1", "s1"), 0},
          {TO_A, ASK_NEW("1"), 0},
          {A,
           "{\"jsonrpc\":\"2.0\",\"id\":\"reprise/1\",\"error\":{\"code\":-32000,\"message\":\"log "
           "in\",\"data\":{\"a\":1}}}",
           0},
          {TO_C, "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32000,\"message\":\"log in\",\"data\":{\"a\":1}}}",
           0},
          {C, LOAD("2", "s1"), 0}, /* it can be tried again */
          {TO_A, ASK_NEW("2"), 0},
          {A, OWN("2", "{\"no\":\"id\"}"), 0},
          {TO_C, REFUSED("2", "-32603"), 0},
          {NONE, NULL, 0},
          {END, NULL, 0},
      });
}

/* Prompts wait for the session, cancelled ones do not. */
static void test_waiting(void **state)
{
  struct acp_rig *x = *state;
  history(x, CAN_RESUME);
  acp_play(x, (struct acp_step[]){
                  {C, LOAD("1", "s1"), 0},
                  {TO_A, ASK_RESUME("1"), 0},
                  {C, PROMPT("2", "s1", "a"), 0},
                  {C, CALL("3", "session/set_mode", "{\"sessionId\":\"s1\",\"modeId\":\"m\"}"), 0},
                  {C, PROMPT("4", "s1", "b"), 0},
                  {NONE, NULL, 0},
                  {C, NOTE("$/cancel_request", "{\"requestId\":4}"), 0},
                  {TO_C, REFUSED("4", "-32800"), 0},
                  {C, NOTE("session/cancel", "{\"sessionId\":\"s1\"}"), 0},
                  {TO_C, RESULT("2", "{\"stopReason\":\"cancelled\"}"), 0},
                  {C, PROMPT("5", "s1", "c"), 0},
                  {C, PROMPT("5", "s1", "c"), 0}, /* the id waits */
                  {TO_C, REFUSED("null", "-32600"), 0},
                  {NONE, NULL, 0},
                  {A, OWN("1", "{}"), 0},
                  {TO_C, REPLAY_USER, 0},
                  {TO_C, REPLAY_AGENT, 0},
                  {TO_C, RESULT("1", "*"), 0},
                  {TO_A, CALL("3", "session/set_mode", "{\"sessionId\":\"s1\",\"modeId\":\"m\"}"), 0},
                  {TO_A, PROMPT("5", "s1", "c"), 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
}

static void test_too_many_wait(void **state)
{
  struct acp_rig *x = *state;
  char line[512];
  history(x, CAN_RESUME);
  acp_say(x, RP_ACP_CLIENT, LOAD("1", "s1"));
  assert_non_null(acp_next(x, RP_ACP_AGENT));
  for (int i = 0; i < 17; i++) {
    snprintf(line, sizeof line, PROMPT("%d", "s1", "p"), 100 + i);
    acp_say(x, RP_ACP_CLIENT, line);
  }
  acp_play(x, (struct acp_step[]){
                  {TO_C, REFUSED("116", "-32603") "too many prompts*", 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
}

/* Begun with one agent, loaded under another: its ids mean nothing there, so it is not asked about them. */
static void test_another_agent(void **state)
{
  struct acp_rig *x = *state;
  history(x, "");
  acp_open(x, NULL);
  acp_play(x, (struct acp_step[]){
                  {C_A, INIT, 0},
                  {A,
                   RESULT("0", "{\"protocolVersion\":1,\"agentCapabilities\":{\"loadSession\":true},\"agentInfo\":{"
                               "\"name\":\"other\"}}"),
                   0},
                  {TO_C, "*", 0},
                  {END, NULL, 0},
              });
  begin_new(x);
  tell_it(x);
  assert_int_equal(acp_count(x, "s1", "provider", "*\"name\":\"other\"*"), 1);
}

/* ---- an agent that replays although it was told to resume, which it must not (O-05) ---- */

static void test_a_replay_on_resume(void **state)
{
  struct acp_rig *x = *state;
  history(x, ONLY_RESUME);
  for (int i = 0; i < 2; i++) { /* and does so each time */
    if (i) next_process(x, ONLY_RESUME, NULL);
    acp_play(x, (struct acp_step[]){
                    {C, LOAD("1", "s1"), 0},
                    {TO_A, ASK_RESUME("1"), 0},
                    {A, USER("s1", "my question"), 0},
                    {A, CHUNK("s1", "an "), 0},
                    {A, CHUNK("s1", "answer"), 0},
                    {NONE, NULL, 0},
                    {A, OWN("1", "{}"), 0},
                    {WAIT, NULL, 200},
                    {END, NULL, 0},
                });
    told(x, RESULT("1", "{\"_meta\":{\"reprise\":{\"rung\":\"resume\"}}}"));
  }
  one_turn(x); /* the same again, and it is news */
  assert_int_equal(acp_count(x, "s1", "message", "*\"my question\"*"), 2);
  assert_int_equal(acp_count(x, "s1", "message", "*\"an answer\"*"), 2);
}

/* What the journal has not is news, and the editor gets it behind its answer; what comes late is left out too. */
static void test_news_on_resume(void **state)
{
  struct acp_rig *x = *state;
  history(x, ONLY_RESUME);
  acp_play(x, (struct acp_step[]){
                  {C, CALL("1", "session/resume", "{\"sessionId\":\"s1\",\"cwd\":\"/p\",\"mcpServers\":[]}"), 0},
                  {TO_A, ASK_RESUME("1"), 0},
                  {A_C, COMMANDS("s1"), 0},
                  {A, CHUNK("s1", "a server is down"), 0},
                  {NONE, NULL, 0},
                  {A, OWN("1", "{}"), 0},
                  {TO_C, RESULT("1", "*\"rung\":\"resume\"*"), 0},
                  {TO_C, CHUNK("s1", "a server is down"), 0},
                  {A, USER("s1", "my question"), 0},
                  {A, CHUNK("s1", "an answer"), 0},
                  {A_C, CHUNK("s1", "it is back"), 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
  assert_int_equal(acp_count(x, "s1", "message", "*a server is down*"), 1);
  assert_int_equal(acp_count(x, "s1", "message", "*\"an answer\"*"), 1);
}

#define T(f) cmocka_unit_test_setup_teardown(f, acp_setup, acp_teardown)

int main(void)
{
  const struct CMUnitTest tests[] = {
      T(test_resume),
      T(test_a_new_session_with_the_history),
      T(test_the_agents_own_id_is_remembered),
      T(test_an_untold_session_is_not_remembered),
      T(test_a_refused_history_goes_again),
      T(test_embedded_context),
      T(test_all_rungs),
      T(test_no_rung_holds),
      T(test_waiting),
      T(test_too_many_wait),
      T(test_another_agent),
      T(test_a_replay_on_resume),
      T(test_news_on_resume),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
