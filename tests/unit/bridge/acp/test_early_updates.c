/* SPDX-License-Identifier: Apache-2.0 */
/* Updates that come before the answer that names their session, and loads that fail (O-05, B-06). */
#include "unit/bridge/acp/ladder.h"

#define MANY 5000 /* updates: more than may wait */

static void test_updates_before_the_answer_to_new(void **state)
{
  struct acp_rig *x = *state;
  acp_greet(x, "");
  acp_play(x, (struct acp_step[]){
                  {C, NEW("1"), 0},
                  {C, NEW("2"), 0},
                  {TO_A, NEW("1"), 0},
                  {TO_A, NEW("2"), 0},
                  {A, CHUNK("n2", "other"), 0},
                  {A, CHUNK("n1", "first"), 0},
                  {A, CHUNK("n1", "second"), 0},
                  {NONE, NULL, 0},
                  {A, RESULT("1", "{\"sessionId\":\"n1\"}"), 0},
                  {TO_C, CHUNK("n1", "first"), 0},
                  {TO_C, CHUNK("n1", "second"), 0},
                  {TO_C, RESULT("1", "{\"sessionId\":\"n1\"}"), 0},
                  {NONE, NULL, 0}, /* the other one still waits for its own */
                  {A, RESULT("2", "{\"sessionId\":\"n2\"}"), 0},
                  {TO_C, CHUNK("n2", "other"), 0},
                  {TO_C, RESULT("2", "{\"sessionId\":\"n2\"}"), 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
  assert_int_equal(acp_count(x, "n1", "message", "*first*"), 1);
  assert_int_equal(acp_count(x, "n1", "message", "*second*"), 1);
  assert_int_equal(acp_count(x, "n2", "message", "*other*"), 1);
}

/* No session came: what is of nobody's goes as it came, once nothing is expected any more. */
static void test_a_new_that_fails(void **state)
{
  struct acp_rig *x = *state;
  acp_greet(x, "");
  acp_play(x, (struct acp_step[]){
                  {C_A, NEW("1"), 0},
                  {A, CHUNK("n1", "first"), 0},
                  {NONE, NULL, 0},
                  {A_C, ERROR("1", "-32000"), 0},
                  {TO_C, CHUNK("n1", "first"), 0},
                  {NONE, NULL, 0},
                  {C_A, NEW("2"), 0},
                  {A, CHUNK("n1", "again"), 0},
                  {DIE, NULL, 1}, /* of a session that never was, nobody is told */
                  {TO_C, "*\"id\":2,\"error\"*", 0},
                  {TO_A, "*initialize*", 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
}

/* The ladder's own session/new: an update of its before the answer comes behind it, under the editor's name. */
static void before_our_new(struct acp_rig *x, const char *update, const char *name, const char *as)
{
  acp_begin(x, "");
  reborn(x, OWN("1", "{\"protocolVersion\":1}"));
  acp_play(x, (struct acp_step[]){
                  {TO_A, ASK_NEW("2"), 0},
                  {A, update, 0},
                  {NONE, NULL, 0},
                  {A, name, 0},
                  {TO_C, as, 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
}

#define USAGE(sid) NOTE("session/update", "{\"sessionId\":\"" sid "\",\"update\":{\"sessionUpdate\":\"usage_update\"}}")

static void test_updates_before_the_answer_to_our_new(void **state)
{
  before_our_new(*state, USAGE("t"), OWN("2", "{\"sessionId\":\"t\"}"), USAGE("s1"));
  assert_int_equal(acp_count(*state, "s1", "x-acp-update", "*usage_update*"), 1);
}

/* An agent that counts its sessions from one gives the old name anew. */
static void test_updates_under_the_old_name(void **state)
{
  before_our_new(*state, CHUNK("s1", "welcome"), OWN("2", "{\"sessionId\":\"s1\"}"), CHUNK("s1", "welcome"));
  assert_int_equal(acp_count(*state, "s1", "message", "*welcome*"), 1);
}

static void test_an_unknown_session_is_loaded(void **state)
{
  struct acp_rig *x = *state;
  acp_greet(x, CAN_LOAD);
  acp_play(x, (struct acp_step[]){
                  {C_A, LOAD("1", "own"), 0},
                  {A, USER("own", "q"), 0},
                  {A, CHUNK("own", "a"), 0},
                  {NONE, NULL, 0},
                  {A, RESULT("1", "null"), 0},
                  {TO_C, USER("own", "q"), 0},
                  {TO_C, CHUNK("own", "a"), 0},
                  {TO_C, RESULT("1", "null"), 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
  assert_int_equal(acp_count(x, "own", "message", "*\"q\"*"), 1);
}

#define NOT_FOUND(id, sid)                                                                                             \
  "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"error\":{\"code\":-32002,\"message\":\"there is no such session*\","           \
  "\"data\":{\"sessionId\":\"" sid "\"}}}"

/* Nothing stays of it: no session in the list, no name that is taken. */
static void test_a_load_that_fails(void **state)
{
  struct acp_rig *x = *state;
  acp_greet(x, CAN_LOAD);
  acp_play(x, (struct acp_step[]){
                  {C_A, LOAD("1", "ghost"), 0},
                  {A, CHUNK("ghost", "boo"), 0},
                  {A, ERROR("1", "-32603"), 0},
                  {TO_C, NOT_FOUND("1", "ghost"), 0},
                  {NONE, NULL, 0},
                  {C, LIST("2"), 0},
                  {TO_C, RESULT("2", "{\"sessions\":[]}"), 0},
                  {C_A, LOAD("3", "ghost"), 0},
                  {A, RESULT("3", "[]"), 0},
                  {TO_C, NOT_FOUND("3", "ghost"), 0},
                  {C_A, LOAD("4", "ghost"), 0},
                  {A_C, ERROR("4", "-32000"), 0}, /* it wants to know who asks: the editor must see that */
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
}

/* A replay that is too long to wait for its end: the session begins with it. */
static void begin_long_replay(struct acp_rig *x)
{
  acp_greet(x, CAN_LOAD);
  acp_play(x, (struct acp_step[]){{C_A, LOAD("1", "long"), 0}, {END, NULL, 0}});
  for (int i = 0; i < MANY; i++) acp_say(x, RP_ACP_AGENT, CHUNK("long", "word "));
  for (int i = 0; i < MANY; i++) assert_string_equal(acp_next(x, RP_ACP_CLIENT), CHUNK("long", "word "));
}

/* Nobody knows of it. */
static void not_listed(struct acp_rig *x)
{
  acp_play(x, (struct acp_step[]){
                  {C, LIST("2"), 0},
                  {TO_C, RESULT("2", "{\"sessions\":[]}"), 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
}

static void test_a_long_replay(void **state)
{
  struct acp_rig *x = *state;
  begin_long_replay(x);
  acp_play(x, (struct acp_step[]){{A_C, RESULT("1", "{}"), 0}, {NONE, NULL, 0}, {END, NULL, 0}});
  assert_int_equal(acp_count(x, "long", "message", "*\"word \"*"), MANY);
}

/* … and goes with it when it fails after all. */
static void test_a_long_replay_that_fails(void **state)
{
  struct acp_rig *x = *state;
  begin_long_replay(x);
  acp_play(x, (struct acp_step[]){{A, ERROR("1", "-32603"), 0}, {TO_C, NOT_FOUND("1", "long"), 0}, {END, NULL, 0}});
  not_listed(x);
  acp_play(x, (struct acp_step[]){{C_A, LOAD("3", "long"), 0}, {NONE, NULL, 0}, {END, NULL, 0}}); /* its name is free */
}

static void test_a_long_replay_that_is_cut_off(void **state)
{
  struct acp_rig *x = *state;
  begin_long_replay(x);
  reborn(x, OWN("1", "{\"protocolVersion\":1}"));
  acp_play(x, (struct acp_step[]){{TO_C, REFUSED("1", "-32603"), 0}, {NONE, NULL, 0}, {END, NULL, 0}});
  not_listed(x); /* nothing is restored */
}

#define T(f) cmocka_unit_test_setup_teardown(f, acp_setup, acp_teardown)

int main(void)
{
  const struct CMUnitTest tests[] = {
      T(test_updates_before_the_answer_to_new),
      T(test_a_new_that_fails),
      T(test_updates_before_the_answer_to_our_new),
      T(test_updates_under_the_old_name),
      T(test_an_unknown_session_is_loaded),
      T(test_a_load_that_fails),
      T(test_a_long_replay),
      T(test_a_long_replay_that_fails),
      T(test_a_long_replay_that_is_cut_off),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
