/* SPDX-License-Identifier: Apache-2.0 */
/* Agents that die of getting a session back: the next one is asked otherwise (O-05, B-06). */
#include "unit/bridge/acp/ladder.h"

#define HELLO(n) "{\"jsonrpc\":\"2.0\",\"id\":\"reprise/" n "\",\"method\":\"initialize\",*"
#define ASK(n, method) "{\"jsonrpc\":\"2.0\",\"id\":\"reprise/" n "\",\"method\":\"" method "\",*"

static void test_death_while_restoring(void **state)
{
  struct acp_rig *x = *state;
  acp_begin(x, ONLY_RESUME);
  acp_play(x, (struct acp_step[]){
                  {DIE, NULL, 3},
                  {TO_A, HELLO("1"), 0},
                  {A, HELLO_BACK("1", ONLY_RESUME), 0},
                  {TO_A, ASK("2", "session/resume"), 0},
                  {C, LOAD("2", "s1"), 0},
                  {DIE, NULL, 3},
                  {TO_A, HELLO("3"), 0},
                  {A, HELLO_BACK("3", ONLY_RESUME), 0},
                  {TO_A, ASK("4", "session/new"), 0}, /* it could not resume: the next rung */
                  {A, OWN("4", "{\"sessionId\":\"s9\"}"), 0},
                  {TO_C, RESULT("2", "*\"rung\":\"live\"*"), 0}, /* the load, which waited */
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
}

/* A rung that an agent dies of does not hold; it is no crash loop, and nothing else is kept waiting by it (O-05). */
static void test_each_rung_is_died_of_once(void **state)
{
  struct acp_rig *x = *state;
  acp_begin(x, CAN_RESUME);
  acp_play(x, (struct acp_step[]){
                  {C_A, PROMPT("2", "s1", "go"), 0},
                  {A_C, END_TURN("2"), 0},
                  {DIE, NULL, 3},
                  {TO_A, HELLO("1"), 0},
                  {A, HELLO_BACK("1", CAN_RESUME), 0},
                  {TO_A, ASK("2", "session/resume"), 0},
                  {C, LOAD("3", "s1"), 0},
                  {DIE, NULL, 3},
                  {TO_A, HELLO("3"), 0},
                  {C, NEW("4"), 0},
                  {A, HELLO_BACK("3", CAN_RESUME), 0},
                  {TO_A, ASK("4", "session/load"), 0},
                  {TO_A, NEW("4"), 0}, /* another session begins meanwhile */
                  {A_C, RESULT("4", "{\"sessionId\":\"other\"}"), 0},
                  {DIE, NULL, 3},
                  {TO_A, HELLO("5"), 0},
                  {A, HELLO_BACK("5", CAN_RESUME), 0},
                  {TO_A, ASK("6", "session/resume"), 0}, /* the other one has its own ladder */
                  {A, OWN("6", "{}"), 0},
                  {TO_A, ASK("7", "session/new"), 0},
                  {A, OWN("7", "{\"sessionId\":\"s9\"}"), 0},
                  {TO_C, "*user_message_chunk*go*", 0},
                  {TO_C, RESULT("3", "*\"rung\":\"live\"*"), 0},
                  {C_A, PROMPT("5", "other", "and you?"), 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
  assert_int_equal(x->starts, 4);
}

/* Two are restored when it dies, and nobody knows of which: the next time it shows, and the other one keeps its rung.
 */
static void test_one_of_two_is_died_of(void **state)
{
  struct acp_rig *x = *state;
  acp_begin(x, ONLY_RESUME);
  acp_play(x, (struct acp_step[]){
                  {C_A, NEW("2"), 0},
                  {A_C, RESULT("2", "{\"sessionId\":\"s2\"}"), 0},
                  {DIE, NULL, 3},
                  {TO_A, HELLO("1"), 0},
                  {A, HELLO_BACK("1", ONLY_RESUME), 0},
                  {TO_A, ASK("2", "session/resume") "s2*", 0},
                  {C, PROMPT("3", "s1", "waits"), 0},
                  {NONE, NULL, 0}, /* one after the other */
                  {DIE, NULL, 3},
                  {TO_A, HELLO("3"), 0},
                  {A, HELLO_BACK("3", ONLY_RESUME), 0},
                  {TO_A, ASK("4", "session/new"), 0},
                  {NONE, NULL, 0},
                  {A, OWN("4", "{\"sessionId\":\"s9\"}"), 0},
                  {TO_A, ASK("5", "session/resume") "s1*", 0},
                  {A, OWN("5", "{}"), 0},
                  {TO_A, PROMPT("3", "s1", "waits"), 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
}

/* An agent that dies whatever it is asked is left alone at last, and the editor has its answer. */
static void test_no_rung_without_a_death(void **state)
{
  struct acp_rig *x = *state;
  acp_begin(x, CAN_RESUME);
  acp_play(x, (struct acp_step[]){
                  {DIE, NULL, 3},
                  {TO_A, HELLO("1"), 0},
                  {A, HELLO_BACK("1", CAN_RESUME), 0},
                  {TO_A, ASK("2", "session/resume"), 0},
                  {C, LOAD("2", "s1"), 0},
                  {DIE, NULL, 3},
                  {TO_A, HELLO("3"), 0},
                  {A, HELLO_BACK("3", CAN_RESUME), 0},
                  {TO_A, ASK("4", "session/load"), 0},
                  {DIE, NULL, 3},
                  {TO_A, HELLO("5"), 0},
                  {A, HELLO_BACK("5", CAN_RESUME), 0},
                  {TO_A, ASK("6", "session/new"), 0},
                  {DIE, NULL, 3},
                  {TO_A, HELLO("7"), 0},
                  {A, HELLO_BACK("7", CAN_RESUME), 0},
                  {TO_A, ASK("8", "session/new"), 0},
                  {DIE, NULL, 3},
                  {TO_C, REFUSED("2", "-32603"), 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
  assert_int_equal(x->starts, 5);
}

#define T(f) cmocka_unit_test_setup_teardown(f, acp_setup, acp_teardown)

int main(void)
{
  const struct CMUnitTest tests[] = {
      T(test_death_while_restoring),
      T(test_each_rung_is_died_of_once),
      T(test_one_of_two_is_died_of),
      T(test_no_rung_without_a_death),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
