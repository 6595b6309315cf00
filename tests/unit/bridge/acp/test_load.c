/* SPDX-License-Identifier: Apache-2.0 */
/* load, resume, list, close and delete for agents that have none of it (O-05, B-06). */
#include "unit/bridge/acp/ladder.h"

#define RESUME(id, sid) CALL(id, "session/resume", "{\"sessionId\":\"" sid "\",\"cwd\":\"/p\"}")
#define CLOSE(id, sid) CALL(id, "session/close", "{\"sessionId\":\"" sid "\"}")
#define DELETE(id, sid) CALL(id, "session/delete", "{\"sessionId\":\"" sid "\"}")
#define CAN_ALL "\"loadSession\":true,\"sessionCapabilities\":{\"resume\":{},\"list\":{},\"close\":{},\"delete\":{}}"

/* The history, told in pieces: a load tells it whole. */
static void begin_with_a_turn(struct acp_rig *x)
{
  acp_begin(x, "");
  acp_play(x, (struct acp_step[]){
                  {C_A, PROMPT("2", "s1", "my question"), 0},
                  {A, CHUNK("s1", "an "), 0},
                  {A, CHUNK("s1", "answer"), 0},
                  {TO_C, CHUNK("s1", "an "), 0},
                  {TO_C, CHUNK("s1", "answer"), 0},
                  {A_C, END_TURN("2"), 0},
                  {END, NULL, 0},
              });
}

/* The agent has it open and can neither load nor resume: the history is ours. */
static void test_load_of_a_live_session(void **state)
{
  struct acp_rig *x = *state;
  begin_with_a_turn(x);
  acp_say(x, RP_ACP_CLIENT, LOAD("3", "s1"));
  told(x, RESULT("3", "{\"_meta\":{\"reprise\":{\"rung\":\"live\"}}}"));
  acp_play(x, (struct acp_step[]){
                  {C, RESUME("4", "s1"), 0},
                  {TO_C, RESULT("4", "{\"_meta\":{\"reprise\":{\"rung\":\"live\"}}}"), 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
}

static void test_modes_of_a_live_session(void **state)
{
  struct acp_rig *x = *state;
  acp_greet(x, "");
  acp_play(
      x,
      (struct acp_step[]){
          {C_A, NEW("1"), 0},
          {A,
           RESULT("1", "{\"sessionId\":\"s1\",\"modes\":{\"currentModeId\":\"ask\",\"availableModes\":[]},"
                       "\"configOptions\":[1]}"),
           0},
          {TO_C, "*", 0},
          {A,
           NOTE("session/update", "{\"sessionId\":\"s1\",\"update\":{\"sessionUpdate\":\"current_mode_update\","
                                  "\"currentModeId\":\"code\"}}"),
           0},
          {TO_C, "*current_mode_update*", 0},
          {C, CALL("2", "session/set_config_option", "{\"sessionId\":\"s1\",\"configId\":\"m\",\"value\":\"b\"}"), 0},
          {TO_A, "*set_config_option*", 0},
          {A_C, RESULT("2", "{\"configOptions\":[2]}"), 0},
          {C, RESUME("3", "s1"), 0},
          {TO_C,
           RESULT("3", "{\"modes\":{\"currentModeId\":\"code\",\"availableModes\":[]},\"configOptions\":[2],"
                       "\"_meta\":{\"reprise\":{\"rung\":\"live\"}}}"),
           0},
          {END, NULL, 0},
      });
}

static void test_load_in_a_turn(void **state)
{
  struct acp_rig *x = *state;
  acp_begin(x, CAN_ALL);
  acp_play(x, (struct acp_step[]){
                  {C_A, PROMPT("2", "s1", "my question"), 0},
                  {A, CHUNK("s1", "first"), 0},
                  {C, LOAD("3", "s1"), 0}, /* the turn is not disturbed: the agent is not asked */
                  {TO_C, CHUNK("s1", "first"), 0},
                  {TO_C, REPLAY_USER, 0},
                  {TO_C, "*agent_message_chunk*first*", 0},
                  {TO_C, RESULT("3", "*\"rung\":\"live\"*"), 0},
                  {A_C, CHUNK("s1", "second"), 0},
                  {A_C, END_TURN("2"), 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
}

/* An editor that takes nothing more, and what happens meanwhile; then it is told, and has its answer. */
static void while_it_takes_nothing(struct acp_rig *x, const struct acp_step *steps, const char *answer)
{
  begin_with_a_turn(x);
  x->backlog[RP_ACP_CLIENT] = (size_t)1 << 20;
  acp_play(x, steps);
  x->backlog[RP_ACP_CLIENT] = 0;
  rp__acp_drained(x->a, RP_ACP_CLIENT);
  told(x, answer);
  acp_play(x, (struct acp_step[]){{NONE, NULL, 0}, {END, NULL, 0}});
}

/* The replay goes as fast as the editor takes it, others' updates in between, the answer last. */
static void test_a_replay_in_steps(void **state)
{
  static const struct acp_step steps[] = {
      {C, LOAD("3", "s1"), 0}, {A_C, CHUNK("else", "x"), 0}, {NONE, NULL, 0}, {END, NULL, 0}};
  while_it_takes_nothing(*state, steps, RESULT("3", "*"));
}

static void test_a_load_is_cancelled(void **state)
{
  static const struct acp_step steps[] = {
      {C, LOAD("3", "s1"), 0},
      {C, LOAD("4", "s1"), 0}, /* waits for the first */
      {C, NOTE("$/cancel_request", "{\"requestId\":3}"), 0},
      {TO_C, REFUSED("3", "-32800"), 0},
      {NONE, NULL, 0},
      {END, NULL, 0},
  };
  while_it_takes_nothing(*state, steps, RESULT("4", "*"));
}

static void test_unknown_sessions(void **state)
{
  struct acp_rig *x = *state;
  acp_greet(x, "");
  acp_play(x, (struct acp_step[]){
                  {C, LOAD("1", "nope"), 0},
                  {TO_C, REFUSED("1", "-32002") ",\"data\":{\"sessionId\":\"nope\"}}}", 0},
                  {C, CALL("2", "session/load", "{\"cwd\":\"/p\"}"), 0},
                  {TO_C, REFUSED("2", "-32602") "sessionId*", 0},
                  {C, LOAD("3", "last"), 0}, /* no word of ours, only names */
                  {TO_C, REFUSED("3", "-32002"), 0},
                  {C, CLOSE("4", "nope"), 0},
                  {TO_C, REFUSED("4", "-32002"), 0},
                  {C, DELETE("5", "nope"), 0}, /* as deleted as can be */
                  {TO_C, RESULT("5", "{}"), 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
}

/* A session that the agent has and we have not: passed on, and recorded from here on. */
static void test_an_agents_own_session(void **state)
{
  struct acp_rig *x = *state;
  acp_greet(x, CAN_ALL);
  acp_play(x, (struct acp_step[]){
                  {C_A, LOAD("1", "old"), 0},
                  {A, USER("old", "from before"), 0},
                  {A, CHUNK("old", "its answer"), 0},
                  {A, RESULT("1", "{}"), 0},
                  {TO_C, USER("old", "from before"), 0},
                  {TO_C, CHUNK("old", "its answer"), 0},
                  {TO_C, RESULT("1", "{}"), 0},
                  {C_A, LOAD("2", "older"), 0},
                  {A, ERROR("2", "-32603"), 0},
                  {TO_C, REFUSED("2", "-32002") "\"data\":{\"sessionId\":\"older\"}}}", 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
  assert_int_equal(acp_count(x, "old", "message", "*from before*"), 1);
  char id[RP_ID_MAX + 1];
  assert_int_equal(rp_resolve(x->e, "older", id, NULL), RP_E_SESSION_NOT_FOUND);
}

static void test_closing(void **state)
{
  struct acp_rig *x = *state;
  begin_with_a_turn(x);
  acp_play(x, (struct acp_step[]){
                  {C_A, PROMPT("3", "s1", "more"), 0},
                  {A,
                   CALL("0", "session/request_permission",
                        "{\"sessionId\":\"s1\",\"toolCall\":{\"toolCallId\":\"c\"},\"options\":[]}"),
                   0},
                  {TO_C, "*request_permission*", 0},
                  {C, CLOSE("4", "s1"), 0},
                  {TO_A, NOTE("session/cancel", "{\"sessionId\":\"s1\"}"), 0},
                  {TO_A, RESULT("0", "{\"outcome\":{\"outcome\":\"cancelled\"}}"), 0},
                  {C, RESULT("0", "{\"outcome\":{\"outcome\":\"cancelled\"}}"), 0}, /* the editor's comes too late */
                  {NONE, NULL, 0},
                  {A_C, RESULT("3", "{\"stopReason\":\"cancelled\"}"), 0},
                  {TO_C, RESULT("4", "{}"), 0},
                  {C, CLOSE("5", "s1"), 0}, /* in the journal, and closed */
                  {TO_C, RESULT("5", "{}"), 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
}

/* The agent may still have what is closed; nobody would record it. */
static void test_a_prompt_to_what_is_closed(void **state)
{
  struct acp_rig *x = *state;
  acp_begin(x, "");
  acp_play(x, (struct acp_step[]){
                  {C, CLOSE("4", "s1"), 0},
                  {TO_C, RESULT("4", "{}"), 0},
                  {C, PROMPT("5", "s1", "hello?"), 0},
                  {TO_C, REFUSED("5", "-32002"), 0},
                  {C_A, PROMPT("6", "elsewhere", "hello?"), 0}, /* of a session that is the agent's alone */
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
}

static void test_closing_what_does_not_end(void **state)
{
  struct acp_rig *x = *state;
  acp_begin(x, "");
  acp_play(x, (struct acp_step[]){
                  {C_A, PROMPT("3", "s1", "more"), 0},
                  {C, CLOSE("4", "s1"), 0},
                  {TO_A, "*session/cancel*", 0},
                  {WAIT, NULL, 4000},
                  {NONE, NULL, 0},
                  {WAIT, NULL, 2000},
                  {TO_C, RESULT("3", "{\"stopReason\":\"cancelled\"}"), 0},
                  {TO_C, RESULT("4", "{}"), 0},
                  {A, END_TURN("3"), 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
}

static void test_an_agent_that_closes(void **state)
{
  struct acp_rig *x = *state;
  acp_begin(x, CAN_ALL);
  acp_play(x, (struct acp_step[]){
                  {C_A, CLOSE("4", "s1"), 0},
                  {A_C, RESULT("4", "{}"), 0},
                  {C_A, DELETE("5", "s1"), 0},
                  {A, ERROR("5", "-32603"), 0}, /* it is out of our list all the same */
                  {TO_C, RESULT("5", "{}"), 0},
                  {C, LOAD("6", "s1"), 0},
                  {TO_C, REFUSED("6", "-32002"), 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
}

static void test_deleting(void **state)
{
  struct acp_rig *x = *state;
  begin_with_a_turn(x);
  acp_play(x, (struct acp_step[]){
                  {C, LIST("3"), 0},
                  {TO_C,
                   RESULT("3", "{\"sessions\":[{\"sessionId\":\"s1\",\"cwd\":\"/p\",\"title\":\"my question\","
                               "\"updatedAt\":\"*Z\",\"_meta\":{\"reprise\":{\"status\":\"active\"}}}]}"),
                   0},
                  {C, DELETE("4", "s1"), 0},
                  {TO_C, RESULT("4", "{}"), 0},
                  {C, DELETE("5", "s1"), 0},
                  {TO_C, RESULT("5", "{}"), 0},
                  {C, LIST("6"), 0},
                  {TO_C, RESULT("6", "{\"sessions\":[]}"), 0},
                  {C, LOAD("7", "s1"), 0},
                  {TO_C, REFUSED("7", "-32002"), 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
}

static void test_a_list_in_pages(void **state)
{
  struct acp_rig *x = *state;
  char line[512], cursor[200];
  acp_greet(x, "\"sessionCapabilities\":{\"list\":{}}");
  for (int i = 0; i < 60; i++) {
    acp_say(x, RP_ACP_CLIENT, NEW("1"));
    acp_next(x, RP_ACP_AGENT);
    snprintf(line, sizeof line, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"sessionId\":\"n%d\"}}", i);
    acp_say(x, RP_ACP_AGENT, line);
    assert_string_equal(acp_next(x, RP_ACP_CLIENT), line);
  }
  acp_say(x, RP_ACP_CLIENT, LIST("2"));
  const char *page = acp_next(x, RP_ACP_CLIENT), *at;
  assert_true(acp_like(page, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"sessions\":[{\"sessionId\":\"n59\",*"));
  assert_non_null(strstr(page, "\"n10\""));
  assert_null(strstr(page, "\"n9\""));
  at = strstr(page, "\"nextCursor\":\"");
  assert_non_null(at);
  snprintf(cursor, sizeof cursor, "%.*s", (int)strcspn(at + 14, "\""), at + 14);
  snprintf(line, sizeof line, CALL("3", "session/list", "{\"cwd\":\"/p\",\"cursor\":\"%s\"}"), cursor);
  acp_say(x, RP_ACP_CLIENT, line);
  acp_play(x,
           (struct acp_step[]){
               {TO_A, "*\"session/list\",\"params\":{\"cwd\":\"/p\"}}", 0},
               {A,
                RESULT("\"reprise/1\"", "{\"sessions\":[{\"sessionId\":\"n3\",\"cwd\":\"/p\"},{\"sessionId\":\"own\","
                                        "\"cwd\":\"/p\"}],\"nextCursor\":\"k\"}"),
                0},
               {TO_C,
                RESULT("3", "{\"sessions\":[{\"sessionId\":\"n9\",*\"n0\",*{\"sessionId\":\"own\",\"cwd\":\"/p\"}],"
                            "\"nextCursor\":\"a:k\"}"),
                0},
               {C, CALL("4", "session/list", "{\"cursor\":\"a:k\"}"), 0},
               {TO_A, "*\"session/list\",\"params\":{\"cursor\":\"k\"}}", 0},
               {WAIT, NULL, 6000}, /* it does not answer */
               {TO_C, RESULT("4", "{\"sessions\":[]}"), 0},
               {C, CALL("5", "session/list", "{\"cursor\":\"nonsense\"}"), 0},
               {TO_C, "*\"id\":5,\"error\":{\"code\":-32602,*cursor*", 0},
               {C, CALL("6", "session/list", "{\"cursor\":\"r:nonsense\"}"), 0},
               {TO_C, "*\"id\":6,\"error\":{\"code\":-32602,*cursor*", 0},
               {C, CALL("7", "session/list", "{\"cwd\":\"/q\"}"), 0},
               {TO_A, "*session/list*", 0},
               {C, NOTE("$/cancel_request", "{\"requestId\":7}"), 0},
               {TO_C, "*\"id\":7,\"error\":{\"code\":-32800,*", 0},
               {NONE, NULL, 0},
               {END, NULL, 0},
           });
}

#define T(f) cmocka_unit_test_setup_teardown(f, acp_setup, acp_teardown)

int main(void)
{
  const struct CMUnitTest tests[] = {
      T(test_load_of_a_live_session),
      T(test_modes_of_a_live_session),
      T(test_load_in_a_turn),
      T(test_a_replay_in_steps),
      T(test_a_load_is_cancelled),
      T(test_unknown_sessions),
      T(test_an_agents_own_session),
      T(test_closing),
      T(test_closing_what_does_not_end),
      T(test_a_prompt_to_what_is_closed),
      T(test_an_agent_that_closes),
      T(test_deleting),
      T(test_a_list_in_pages),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
