/* SPDX-License-Identifier: Apache-2.0 */
/* Replays of the agent's: what of them is no news, and that no answer is lost for looking like one (O-05, B-06). */
#include "unit/bridge/acp_ladder.h"

#define DONE_LOADING                                                                                                   \
  {WAIT, NULL, 200}, {TO_C, REPLAY_USER, 0}, {TO_C, REPLAY_AGENT, 0},                                                  \
  {                                                                                                                    \
    TO_C, RESULT("1", "{\"_meta\":{\"reprise\":{\"rung\":\"load\"}}}"), 0                                              \
  }

static void test_load_swallows_the_replay(void **state)
{
  struct acp_rig *x = *state;
  history(x, CAN_LOAD);
  acp_play(x, (struct acp_step[]){
                  {C, LOAD("1", "s1"), 0},
                  {TO_A, ASK_LOAD("1"), 0},
                  {A, USER("s1", "<session_context>"), 0},
                  {NONE, NULL, 0},
                  {A, OWN("1", "null"), 0},
                  {NONE, NULL, 0},                   /* the editor's answer waits for quiet */
                  {A, USER("s1", "my question"), 0}, /* late, after the answer */
                  {WAIT, NULL, 60},
                  {A, COMMANDS("s1"), 0}, /* no part of a replay */
                  {TO_C, COMMANDS("s1"), 0},
                  {NONE, NULL, 0},
                  {WAIT, NULL, 200},
                  {TO_C, REPLAY_USER, 0},
                  {TO_C, REPLAY_AGENT, 0},
                  {TO_C, "*available_commands_update*", 0},
                  {TO_C, RESULT("1", "{\"_meta\":{\"reprise\":{\"rung\":\"load\"}}}"), 0},
                  {C, PROMPT("2", "s1", "and now?"), 0},
                  {TO_A, PROMPT("2", "s1", "and now?"), 0},
                  {A, CHUNK("s1", "an answer"), 0}, /* later still: the turn has begun */
                  {NONE, NULL, 0},
                  {A, CHUNK("s1", "news"), 0},
                  {TO_C, CHUNK("s1", "news"), 0},
                  {A, CHUNK("s1", "an answer"), 0}, /* said again, after news: it is news */
                  {TO_C, CHUNK("s1", "an answer"), 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
  assert_int_equal(acp_count(x, "s1", "message", "*session_context*"), 0);
  assert_int_equal(acp_count(x, "s1", "message", "*my question*"), 1);
  assert_int_equal(acp_count(x, "s1", "x-acp-agent", "*restored*\"load\"*"), 1);
}

/* While no turn can run there is nothing else to say, in whatever pieces and words it comes. */
static void test_a_late_replay_in_pieces(void **state)
{
  struct acp_rig *x = *state;
  history(x, CAN_LOAD);
  acp_play(x, (struct acp_step[]){
                  {C, LOAD("1", "s1"), 0},
                  {TO_A, ASK_LOAD("1"), 0},
                  {A, OWN("1", "null"), 0},
                  {A, USER("s1", "my question"), 0},
                  {A, CHUNK("s1", "told otherwise"), 0},
                  DONE_LOADING,
                  {A, CHUNK("s1", "an "), 0},
                  {C, PROMPT("2", "s1", "and now?"), 0},
                  {TO_A, PROMPT("2", "s1", "and now?"), 0},
                  {A, CHUNK("s1", "news"), 0}, /* in between */
                  {TO_C, CHUNK("s1", "news"), 0},
                  {A, CHUNK("s1", "answer"), 0}, /* the rest */
                  {NONE, NULL, 0},
                  {A, CHUNK("s1", "an answer"), 0}, /* a second time: that is said now */
                  {TO_C, CHUNK("s1", "an answer"), 0},
                  {END, NULL, 0},
              });
  assert_int_equal(acp_count(x, "s1", "message", "*told otherwise*"), 0);
}

/* An answer that is the same as an old one is never lost: the agent has replayed nothing, or all of it (B-06). */
static void test_the_same_answer_again(void **state)
{
  static const char *const replays[] = {NULL, "all"};
  struct acp_rig *x = *state;
  for (size_t i = 0; i < RP_ARRAY_SIZE(replays); i++) {
    if (i)
      acp_open(x, NULL), acp_greet(x, CAN_LOAD);
    else
      history(x, CAN_LOAD);
    acp_play(x, (struct acp_step[]){{C, LOAD("1", "s1"), 0}, {TO_A, ASK_LOAD("1"), 0}, {END, NULL, 0}});
    if (replays[i]) {
      acp_say(x, RP_ACP_AGENT, USER("s1", "my question"));
      acp_say(x, RP_ACP_AGENT, CHUNK("s1", "an answer"));
      acp_say(x, RP_ACP_AGENT, USER("s1", "my question"));
      acp_say(x, RP_ACP_AGENT, CHUNK("s1", "an answer"));
    }
    acp_say(x, RP_ACP_AGENT, OWN("1", "null"));
    acp_wait(x, 200);
    for (const char *line; (line = acp_next(x, RP_ACP_CLIENT)) && !strstr(line, "\"rung\"");) assert_non_null(line);
    acp_play(x, (struct acp_step[]){
                    {C, PROMPT("2", "s1", "my question"), 0},
                    {TO_A, PROMPT("2", "s1", "my question"), 0},
                    {A, CHUNK("s1", "an answer"), 0},
                    {TO_C, CHUNK("s1", "an answer"), 0},
                    {A, RESULT("2", "{\"stopReason\":\"end_turn\"}"), 0},
                    {TO_C, RESULT("2", "{\"stopReason\":\"end_turn\"}"), 0},
                    {END, NULL, 0},
                });
    assert_int_equal(acp_count(x, "s1", "message", "*\"an answer\"*"), 2 + i);
    rp__acp_client_gone(x->a, "editor closed");
  }
}

/* Only a part was replayed, and nothing late: the rest, if it comes, begins with the user's words. */
static void test_half_a_replay(void **state)
{
  struct acp_rig *x = *state;
  history(x, CAN_LOAD);
  acp_play(x, (struct acp_step[]){
                  {C, LOAD("1", "s1"), 0},
                  {TO_A, ASK_LOAD("1"), 0},
                  {A, USER("s1", "my question"), 0}, /* the turn broke there: it has no answer */
                  {A, OWN("1", "null"), 0},
                  DONE_LOADING,
                  {C, PROMPT("2", "s1", "my question"), 0},
                  {TO_A, PROMPT("2", "s1", "my question"), 0},
                  {A, CHUNK("s1", "an answer"), 0},
                  {TO_C, CHUNK("s1", "an answer"), 0},
                  {A, USER("s1", "my question"), 0},
                  {NONE, NULL, 0},
                  {A, RESULT("2", "{\"stopReason\":\"end_turn\"}"), 0},
                  {TO_C, RESULT("2", "{\"stopReason\":\"end_turn\"}"), 0},
                  {A, CHUNK("s1", "an answer"), 0}, /* behind the turn: that is the rest */
                  {NONE, NULL, 0},
                  {A, CHUNK("s1", "a word by itself"), 0},
                  {TO_C, CHUNK("s1", "a word by itself"), 0},
                  {C, PROMPT("3", "s1", "more"), 0},
                  {TO_A, PROMPT("3", "s1", "more"), 0},
                  {A, CHUNK("s1", "an answer"), 0},
                  {TO_C, CHUNK("s1", "an answer"), 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
}

/* What is told again is good for every reader, though it passed as it came. */
static void test_halves_of_surrogates(void **state)
{
  struct acp_rig *x = *state;
  acp_begin(x, "");
  acp_play(x, (struct acp_step[]){
                  {C, PROMPT("2", "s1", "cut \\ud83d off \\\\ud83d \\udE00"), 0},
                  {TO_A, PROMPT("2", "s1", "cut \\ud83d off \\\\ud83d \\udE00"), 0},
                  {A, CHUNK("s1", "hi \\ud83d"), 0}, /* one character in two pieces */
                  {TO_C, CHUNK("s1", "hi \\ud83d"), 0},
                  {A, CHUNK("s1", "\\uDe00 \\ud83d"), 0},
                  {TO_C, CHUNK("s1", "\\uDe00 \\ud83d"), 0},
                  {A, RESULT("2", "{\"stopReason\":\"end_turn\"}"), 0},
                  {TO_C, "*", 0},
                  {C, LOAD("3", "s1"), 0},
                  {TO_C, "*user_message_chunk*\"cut \\ufffd off \\\\ud83d \\ufffd\"*", 0},
                  {TO_C, "*agent_message_chunk*\"hi \\ud83d\\uDe00 \\ufffd\"*", 0},
                  {TO_C, RESULT("3", "*"), 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
}

#define T(f) cmocka_unit_test_setup_teardown(f, acp_setup, acp_teardown)

int main(void)
{
  const struct CMUnitTest tests[] = {
      T(test_load_swallows_the_replay), T(test_a_late_replay_in_pieces),
      T(test_the_same_answer_again),    T(test_half_a_replay),
      T(test_halves_of_surrogates),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
