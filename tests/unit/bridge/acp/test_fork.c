/* SPDX-License-Identifier: Apache-2.0 */
/* A fork is a session of its own: listed and loaded by its own id, restored when the agent dies (B-07, O-05). */
#include "unit/bridge/acp/ladder.h"

#define CAN_FORK "\"sessionCapabilities\":{\"fork\":{},\"resume\":{}}"
#define ONLY_FORK "\"sessionCapabilities\":{\"fork\":{}}"
#define FORK(id, sid) CALL(id, "session/fork", "{\"sessionId\":\"" sid "\",\"cwd\":\"/p\",\"mcpServers\":[]}")
#define CLOSE(id, sid) CALL(id, "session/close", "{\"sessionId\":\"" sid "\"}")

/* Session "s1" with one turn, and "f1", which the agent made of it. */
static void forked(struct acp_rig *x, const char *caps)
{
  acp_begin(x, caps);
  one_turn(x);
  acp_play(x, (struct acp_step[]){
                  {C_A, FORK("3", "s1"), 0},
                  {A_C, RESULT("3", "{\"sessionId\":\"f1\",\"modes\":null}"), 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
}

/* One turn of a session that the agent calls the same. */
#define TURN(id, sid, text, answer)                                                                                    \
  {C_A, PROMPT(id, sid, text), 0}, {A_C, CHUNK(sid, answer), 0},                                                       \
  {                                                                                                                    \
    A_C, END_TURN(id), 0                                                                                               \
  }

static void test_a_fork_is_journalled(void **state)
{
  struct acp_rig *x = *state;
  forked(x, CAN_FORK);
  acp_play(x, (struct acp_step[]){
                  TURN("4", "f1", "in the fork", "forked words"),

                  {C, LIST("6"), 0},
                  {TO_C,
                   RESULT("6", "{\"sessions\":[{\"sessionId\":\"f1\",\"cwd\":\"/p\",*},{\"sessionId\":\"s1\",*}]}"), 0},
                  TURN("5", "s1", "in the other", "other words"),
                  {END, NULL, 0},
              });
  assert_int_equal(acp_count(x, "f1", "message", "*my question*"), 1);
  assert_int_equal(acp_count(x, "f1", "message", "*an answer*"), 1);
  assert_int_equal(acp_count(x, "f1", "message", "*forked words*"), 1);
  assert_int_equal(acp_count(x, "f1", "message", "*other words*"), 0);
  assert_int_equal(acp_count(x, "s1", "message", "*forked words*"), 0);
  assert_int_equal(acp_count(x, "f1", "provider", "*\"acp_session_id\":\"f1\"*"), 1);
  assert_int_equal(acp_count(x, "f1", "x-acp-turn", "{\"turn\":2,*"), 1); /* turns are counted on */
}

static void test_a_fork_is_restored(void **state)
{
  struct acp_rig *x = *state;
  forked(x, CAN_FORK);
  acp_play(x, (struct acp_step[]){TURN("4", "f1", "in the fork", "forked words"), {END, NULL, 0}});
  reborn(x, HELLO_BACK("1", CAN_FORK));
  acp_play(x, (struct acp_step[]){
                  {TO_A, "*\"session/resume\",\"params\":{\"sessionId\":\"f1\",*", 0},
                  {A, OWN("2", "{}"), 0},
                  {TO_A, "*\"session/resume\",\"params\":{\"sessionId\":\"s1\",*", 0},
                  {A, OWN("3", "{}"), 0},
                  TURN("5", "f1", "again", "still there"),
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
}

/* An agent that keeps nothing: the fork's own history goes with its next prompt. */
static void test_a_fork_of_an_agent_that_forgets(void **state)
{
  struct acp_rig *x = *state;
  forked(x, ONLY_FORK);
  acp_play(x, (struct acp_step[]){TURN("4", "f1", "in the fork", "forked words"), {END, NULL, 0}});
  reborn(x, HELLO_BACK("1", ONLY_FORK));
  acp_play(
      x,
      (struct acp_step[]){
          {TO_A, "*\"reprise/2\",\"method\":\"session/new\"*", 0},
          {A, OWN("2", "{\"sessionId\":\"n1\"}"), 0},
          {TO_A, "*\"reprise/3\",\"method\":\"session/new\"*", 0},
          {A, OWN("3", "{\"sessionId\":\"n2\"}"), 0},
          {C, PROMPT("5", "f1", "again"), 0},
          {TO_A, "*\"session/prompt\",\"params\":{\"sessionId\":\"n1\",*my question*an answer*forked words*again*", 0},
          {A_C, END_TURN("5"), 0},
          {C, PROMPT("6", "s1", "and here"), 0},
          {TO_A, "*\"session/prompt\",\"params\":{\"sessionId\":\"n2\",*my question*an answer*and here*", 0},
          {A_C, END_TURN("6"), 0},
          {END, NULL, 0},
      });
}

static void test_a_fork_is_loaded_by_the_next_process(void **state)
{
  struct acp_rig *x = *state;
  forked(x, CAN_FORK);
  acp_play(x, (struct acp_step[]){TURN("4", "f1", "in the fork", "forked words"), {END, NULL, 0}});
  next_process(x, CAN_FORK, NULL);
  acp_play(x, (struct acp_step[]){
                  {C, LOAD("1", "f1"), 0},
                  {TO_A, "*\"session/resume\",\"params\":{\"sessionId\":\"f1\",*", 0},
                  {A, OWN("1", "{}"), 0},
                  {TO_C, "*\"sessionId\":\"f1\"*my question*", 0},
                  {TO_C, "*\"sessionId\":\"f1\"*an answer*", 0},
                  {TO_C, "*\"sessionId\":\"f1\"*in the fork*", 0},
                  {TO_C, "*\"sessionId\":\"f1\"*forked words*", 0},
                  {TO_C, RESULT("1", "*\"rung\":\"resume\"*"), 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
}

/* What only the journal has is given to the agent first; then it forks that. */
static void test_forking_what_is_not_open(void **state)
{
  struct acp_rig *x = *state;
  history(x, ONLY_FORK);
  acp_play(x, (struct acp_step[]){
                  {C, FORK("3", "s1"), 0},
                  {TO_A, ASK_NEW("1"), 0},
                  {A, OWN("1", "{\"sessionId\":\"s9\"}"), 0},
                  {TO_A, FORK("3", "s9"), 0},
                  {A_C, RESULT("3", "{\"sessionId\":\"f9\"}"), 0},
                  {C, PROMPT("2", "f9", "and now?"), 0}, /* nobody has told the agent what was said before */
                  {TO_A, "*\"sessionId\":\"f9\",*my question*an answer*and now?*", 0},
                  {A_C, END_TURN("2"), 0},
                  {END, NULL, 0},
              });
  assert_int_equal(acp_count(x, "f9", "message", "*my question*"), 1);
}

/* The other one is closed before the agent has answered, and updates of the fork come before that. */
static void test_closing_the_other_one_meanwhile(void **state)
{
  struct acp_rig *x = *state;
  acp_begin(x, ONLY_FORK);
  one_turn(x);
  acp_play(x, (struct acp_step[]){
                  {C_A, FORK("3", "s1"), 0},
                  {C, CLOSE("4", "s1"), 0},
                  {TO_C, RESULT("4", "{}"), 0},
                  {A, COMMANDS("f1"), 0},
                  {C, PROMPT("5", "f1", "too early"), 0},
                  {A, RESULT("3", "{\"sessionId\":\"f1\"}"), 0},
                  {TO_C, COMMANDS("f1"), 0},
                  {TO_C, RESULT("3", "{\"sessionId\":\"f1\"}"), 0},
                  {TO_A, PROMPT("5", "f1", "too early"), 0},
                  {END, NULL, 0},
              });
  assert_int_equal(acp_count(x, "f1", "message", "*my question*"), 1);
  assert_int_equal(acp_count(x, "f1", "x-acp-update", "*available_commands_update*"), 1);
}

/* Agents that tell the fork's history before they answer: the editor hears it, and the journal has it once. */
static void test_an_agent_that_tells_what_it_copied(void **state)
{
  struct acp_rig *x = *state;
  acp_begin(x, ONLY_FORK);
  one_turn(x);
  acp_play(x, (struct acp_step[]){
                  {C_A, FORK("3", "s1"), 0},
                  {A, USER("f1", "my question"), 0},
                  {A, CHUNK("f1", "an answer"), 0},
                  {A, RESULT("3", "{\"sessionId\":\"f1\"}"), 0},
                  {TO_C, USER("f1", "my question"), 0},
                  {TO_C, CHUNK("f1", "an answer"), 0},
                  {TO_C, RESULT("3", "{\"sessionId\":\"f1\"}"), 0},
                  {A_C, CHUNK("f1", "a word of its own"), 0},
                  {END, NULL, 0},
              });
  assert_int_equal(acp_count(x, "f1", "message", "*my question*"), 1);
  assert_int_equal(acp_count(x, "f1", "message", "*an answer*"), 1);
  assert_int_equal(acp_count(x, "f1", "message", "*a word of its own*"), 1);
}

/* Agents that count from one: the fork's name may be taken. */
static void test_a_name_that_is_taken(void **state)
{
  struct acp_rig *x = *state;
  forked(x, ONLY_FORK);
  acp_open(x, NULL);
  acp_greet(x, ONLY_FORK);
  acp_play(x, (struct acp_step[]){
                  {C_A, NEW("1"), 0},
                  {A, RESULT("1", "{\"sessionId\":\"s1\"}"), 0},
                  {TO_C, RESULT("1", "{\"sessionId\":\"s1.2\"}"), 0},
                  {C, FORK("3", "s1.2"), 0},
                  {TO_A, FORK("3", "s1"), 0},
                  {A, RESULT("3", "{\"sessionId\":\"f1\"}"), 0},
                  {TO_C, RESULT("3", "{\"sessionId\":\"f1.2\"}"), 0},
                  {C, PROMPT("4", "f1.2", "hello"), 0},
                  {TO_A, PROMPT("4", "f1", "hello"), 0},
                  {END, NULL, 0},
              });
}

static void test_no_fork(void **state)
{
  struct acp_rig *x = *state;
  acp_begin(x, CAN_FORK);
  acp_play(x, (struct acp_step[]){
                  {C_A, FORK("3", "s1"), 0},
                  {A_C, ERROR("3", "-32603"), 0},
                  {C, CALL("4", "session/fork", "{\"sessionId\":7}"), 0},
                  {TO_C, REFUSED("4", "-32602") "*sessionId*", 0},
                  {C_A, FORK("5", "only-the-agents"), 0}, /* it may know it */
                  {A_C, RESULT("5", "{\"sessionId\":\"f2\"}"), 0},
                  TURN("6", "f2", "hello", "hi"),
                  {C_A, FORK("7", "s1"), 0},
                  {DIE, NULL, -9},
                  {TO_C, REFUSED("7", "-32603"), 0},
                  {END, NULL, 0},
              });
  assert_int_equal(acp_count(x, "f2", "message", "*hello*"), 1);
}

/* An agent that can't answers for itself. */
static void test_an_agent_that_can_not(void **state)
{
  struct acp_rig *x = *state;
  history(x, "");
  acp_play(x, (struct acp_step[]){
                  {C_A, FORK("3", "s1"), 0},
                  {A_C, ERROR("3", "-32601"), 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
}

/* ---- forks that were made here ---- */

static int on_meta(void *ctx, const rp_session_info *info)
{
  snprintf(ctx, 1000, "%s", info->meta);
  return 0;
}

/* What the editor calls it, and what it says when it is loaded. */
static void test_a_fork_made_by_hand(void **state)
{
  struct acp_rig *x = *state;
  char id[RP_ID_MAX + 1], text[400], meta[1000] = "";
  rp_session *s = NULL;
  rp_error err = {0};
  acp_begin(x, CAN_RESUME);
  one_turn(x);
  rp__acp_client_gone(x->a, "editor closed");
  OK(rp_attach(x->e, "s1", &s, &err), err);
  OK(rp_fork(s, NULL, id, NULL, &err), err);
  rp_session_free(s);
  OK(rp_show(x->e, id, on_meta, meta, &err), err);
  snprintf(text, sizeof text, "*\"acp_session_id\":\"%s\"*", id);
  if (!acp_like(meta, text)) fail_msg("%s", meta);
  acp_open(x, NULL);
  acp_greet(x, CAN_RESUME);

  acp_say(x, RP_ACP_CLIENT, LIST("1"));
  const char *list = acp_next(x, RP_ACP_CLIENT);
  snprintf(text, sizeof text, "*{\"sessionId\":\"%s\",*{\"sessionId\":\"s1\",*", id);
  if (!list || !acp_like(list, text)) fail_msg("%s", list ? list : "nothing");

  snprintf(text, sizeof text, LOAD("2", "%s"), id);
  acp_say(x, RP_ACP_CLIENT, text);
  asked(x, ASK_NEW("1"), OWN("1", "{\"sessionId\":\"n1\"}")); /* the agent's "s1" is the other one's */
  acp_play(x, (struct acp_step[]){
                  {TO_C, "*my question*", 0},
                  {TO_C, "*an answer*", 0},
                  {TO_C, RESULT("2", "*\"rung\":\"new\"*"), 0},
                  {END, NULL, 0},
              });
  snprintf(text, sizeof text, PROMPT("3", "%s", "in the fork"), id);
  acp_say(x, RP_ACP_CLIENT, text);
  acp_play(x, (struct acp_step[]){
                  {TO_A, "*\"sessionId\":\"n1\"*my question*an answer*in the fork*", 0},
                  {A_C, END_TURN("3"), 0},
                  {END, NULL, 0},
              });
  assert_int_equal(acp_count(x, id, "message", "*in the fork*"), 1);

  next_process(x, CAN_RESUME, NULL); /* by now the agent has one for it */
  snprintf(text, sizeof text, LOAD("1", "%s"), id);
  acp_say(x, RP_ACP_CLIENT, text);
  asked(x, "*\"session/resume\",\"params\":{\"sessionId\":\"n1\",*", OWN("1", "{}"));
  acp_play(x, (struct acp_step[]){
                  {TO_C, "*my question*", 0},
                  {TO_C, "*an answer*", 0},
                  {TO_C, "*in the fork*", 0},
                  {TO_C, RESULT("1", "*\"rung\":\"resume\"*"), 0},
                  {END, NULL, 0},
              });
}

#define T(f) cmocka_unit_test_setup_teardown(f, acp_setup, acp_teardown)

int main(void)
{
  const struct CMUnitTest tests[] = {
      T(test_a_fork_is_journalled),
      T(test_a_fork_is_restored),
      T(test_a_fork_of_an_agent_that_forgets),
      T(test_a_fork_is_loaded_by_the_next_process),
      T(test_forking_what_is_not_open),
      T(test_closing_the_other_one_meanwhile),
      T(test_an_agent_that_tells_what_it_copied),
      T(test_a_name_that_is_taken),
      T(test_no_fork),
      T(test_an_agent_that_can_not),
      T(test_a_fork_made_by_hand),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
