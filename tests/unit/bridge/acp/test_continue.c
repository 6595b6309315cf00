/* SPDX-License-Identifier: Apache-2.0 */
/* A session that goes on: resumed, loaded, or begun anew with another agent. */
/* --continue: the editor's first session/new goes on with an old session, by the ladder of a load (O-05, B-06). */
#include "unit/bridge/acp/ladder.h"

#define CONTINUED(id, rung) RESULT(id, "{\"sessionId\":\"s1\",\"_meta\":{\"reprise\":{\"rung\":\"" rung "\"}}}")

static const struct rp__acp_options options = {.scope = "acp-test", .continue_id = "s1"};

static void continuing(struct acp_rig *x, const char *caps)
{
  acp_begin(x, "");
  one_turn(x);
  next_process(x, caps, &options);
}

/* Only the first: the next one is a session of its own. */
static void goes_on(struct acp_rig *x)
{
  acp_play(x, (struct acp_step[]){
                  {C_A, NEW("8"), 0},
                  {A_C, RESULT("8", "{\"sessionId\":\"s10\"}"), 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
}

static void test_resumed(void **state)
{
  struct acp_rig *x = *state;
  continuing(x, CAN_RESUME);
  acp_play(x, (struct acp_step[]){
                  {C, NEW("1"), 0},
                  {TO_A, ASK_RESUME("1"), 0},
                  {A, COMMANDS("s1"), 0}, /* the editor knows no such session yet */
                  {NONE, NULL, 0},
                  {A, OWN("1", "{\"modes\":{\"currentModeId\":\"m\"},\"sessionId\":\"s1\",\"x\":[1]}"), 0},
                  {TO_C,
                   RESULT("1", "{\"sessionId\":\"s1\",\"modes\":{\"currentModeId\":\"m\"},\"x\":[1],\"_meta\":{"
                               "\"reprise\":{\"rung\":\"resume\"}}}"),
                   0},
                  {TO_C, COMMANDS("s1"), 0},
                  {NONE, NULL, 0}, /* no history: it asked for a new one */
                  {C_A, PROMPT("2", "s1", "and now?"), 0},
                  {A_C, CHUNK("s1", "so it is"), 0},
                  {A_C, END_TURN("2"), 0},
                  {END, NULL, 0},
              });
  goes_on(x);
  assert_int_equal(acp_count(x, "s1", "x-acp-agent", "*restored*\"resume\"*"), 1);
  assert_int_equal(acp_count(x, "s1", "message", "*so it is*"), 1);
}

/* The agent's replay is swallowed; what it says itself comes when the editor has the session. */
static void test_loaded(void **state)
{
  struct acp_rig *x = *state;
  continuing(x, CAN_LOAD);
  acp_play(x, (struct acp_step[]){
                  {C, NEW("1"), 0},
                  {TO_A, ASK_LOAD("1"), 0},
                  {A, USER("s1", "my question"), 0},
                  {A, OWN("1", "null"), 0},
                  {A, CHUNK("s1", "an answer"), 0},
                  {A, COMMANDS("s1"), 0},
                  {A, CHUNK("s1", "welcome back"), 0},
                  {NONE, NULL, 0},
                  {WAIT, NULL, 200},
                  {TO_C, CONTINUED("1", "load"), 0},
                  {TO_C, COMMANDS("s1"), 0},
                  {TO_C, CHUNK("s1", "welcome back"), 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
  goes_on(x);
}

static void test_a_new_session(void **state)
{
  struct acp_rig *x = *state;
  continuing(x, CAN_RESUME);
  acp_play(x, (struct acp_step[]){
                  {C, NEW("1"), 0},
                  {TO_A, ASK_RESUME("1"), 0},
                  {A, OWN_ERROR("1", "-32000"), 0},
                  {TO_A, ASK_LOAD("2"), 0},
                  {A, OWN_ERROR("2", "-32000"), 0},
                  {TO_A, ASK_NEW("3"), 0},
                  {A, OWN_ERROR("3", "-32000"), 0},
                  {TO_C, ERROR("1", "-32000"), 0}, /* as the agent has it; the next one continues it */
                  {C, NEW("1"), 0},
                  {TO_A, ASK_RESUME("4"), 0},
                  {A, OWN_ERROR("4", "-32603"), 0},
                  {TO_A, ASK_LOAD("5"), 0},
                  {A, OWN_ERROR("5", "-32603"), 0},
                  {TO_A, ASK_NEW("6"), 0},
                  {A, OWN("6", "{\"sessionId\":\"s9\",\"x\":1}"), 0},
                  {TO_C, RESULT("1", "{\"sessionId\":\"s1\",\"x\":1,\"_meta\":{\"reprise\":{\"rung\":\"new\"}}}"), 0},
                  {C, PROMPT("2", "s1", "and now?"), 0},
                  {TO_A, HISTORY_PROMPT, 0},
                  {A, CHUNK("s9", "so it is"), 0},
                  {TO_C, CHUNK("s1", "so it is"), 0},
                  {END, NULL, 0},
              });
  goes_on(x);
  assert_int_equal(acp_count(x, "s1", "message", "*and now?*"), 1);
}

/* Of another name: it is not asked for ids that are not its own. */
static void test_another_agent(void **state)
{
  struct acp_rig *x = *state;
  continuing(x, "");
  acp_open(x, &options);
  acp_play(x, (struct acp_step[]){
                  {C_A, INIT, 0},
                  {A,
                   RESULT("0", "{\"protocolVersion\":1,\"agentCapabilities\":{" CAN_RESUME "},\"agentInfo\":{"
                               "\"name\":\"other\"}}"),
                   0},
                  {TO_C, "*", 0},
                  {C, NEW("1"), 0},
                  {TO_A, ASK_NEW("1"), 0},
                  {A, OWN("1", "{\"sessionId\":\"s9\"}"), 0},
                  {TO_C, CONTINUED("1", "new"), 0},
                  {C, PROMPT("2", "s1", "and now?"), 0},
                  {TO_A, HISTORY_PROMPT, 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
}

/* The agent dies meanwhile: the editor has its answer from the next one. */
static void test_a_death_meanwhile(void **state)
{
  struct acp_rig *x = *state;
  continuing(x, CAN_RESUME);
  acp_play(x, (struct acp_step[]){{C, NEW("1"), 0}, {TO_A, ASK_RESUME("1"), 0}, {END, NULL, 0}});
  acp_play(x, (struct acp_step[]){
                  {DIE, NULL, -9},
                  {TO_A, "*initialize*", 0},
                  {A, HELLO_BACK("2", CAN_RESUME), 0},
                  {TO_A, ASK_LOAD("3"), 0},
                  {A, OWN("3", "{}"), 0},
                  {WAIT, NULL, 200},
                  {TO_C, CONTINUED("1", "load"), 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
  goes_on(x);
}

/* One that the editor does not want any more is continued by the next; one that comes too early waits for the first. */
static void test_a_cancelled_one(void **state)
{
  struct acp_rig *x = *state;
  continuing(x, CAN_RESUME);
  acp_play(x, (struct acp_step[]){
                  {C, NEW("1"), 0},
                  {TO_A, ASK_RESUME("1"), 0},
                  {C, NOTE("$/cancel_request", "{\"requestId\":1}"), 0},
                  {TO_C, REFUSED("1", "-32800"), 0},
                  {C, NEW("2"), 0},
                  {C, NEW("3"), 0},
                  {NONE, NULL, 0},
                  {A, OWN("1", "{}"), 0},
                  {TO_A, ASK_RESUME("2"), 0},
                  {A, OWN("2", "{}"), 0},
                  {TO_C, CONTINUED("2", "resume"), 0},
                  {TO_A, NEW("3"), 0},
                  {A_C, RESULT("3", "{\"sessionId\":\"s9\"}"), 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
}

static void test_of_nothing(void **state)
{
  struct acp_rig *x = *state;
  struct rp__acp_options o = {.scope = "acp-test", .continue_id = "absent"};
  acp_open(x, &o);
  acp_greet(x, "");
  acp_play(x, (struct acp_step[]){
                  {C, NEW("1"), 0},
                  {TO_C, REFUSED("1", "-32603") "absent*", 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
}

#define T(f) cmocka_unit_test_setup_teardown(f, acp_setup, acp_teardown)

int main(void)
{
  const struct CMUnitTest tests[] = {
      T(test_resumed),           T(test_loaded),          T(test_a_new_session), T(test_another_agent),
      T(test_a_death_meanwhile), T(test_a_cancelled_one), T(test_of_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
