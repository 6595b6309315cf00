/* SPDX-License-Identifier: Apache-2.0 */
/* Replays of the agent's: what of them is no news, and that no answer is lost for looking like one (O-05, B-06). */
#include "unit/bridge/acp/ladder.h"

static void ask_to_load(struct acp_rig *x)
{
  acp_play(x, (struct acp_step[]){{C, LOAD("1", "s1"), 0}, {TO_A, ASK_LOAD("1"), 0}, {END, NULL, 0}});
}

/* It was quiet for long enough: the editor has the session. */
static void loaded(struct acp_rig *x)
{
  acp_wait(x, 200);
  told(x, RESULT("1", "{\"_meta\":{\"reprise\":{\"rung\":\"load\"}}}"));
}

/* Two turns: a replay that has come to the first question is not over. */
static void two_turns(struct acp_rig *x)
{
  acp_begin(x, "");
  one_turn(x);
  acp_play(x, (struct acp_step[]){{C_A, PROMPT("3", "s1", "and then?"), 0},
                                  {A_C, CHUNK("s1", "that is all there is"), 0},
                                  {A_C, END_TURN("3"), 0},
                                  {END, NULL, 0}});
  next_process(x, CAN_LOAD, NULL);
}

static void loaded_two(struct acp_rig *x)
{
  acp_play(x, (struct acp_step[]){{WAIT, NULL, 200},
                                  {TO_C, REPLAY_USER, 0},
                                  {TO_C, REPLAY_AGENT, 0},
                                  {TO_C, "*user_message_chunk*", 0},
                                  {TO_C, "*agent_message_chunk*", 0},
                                  {TO_C, RESULT("1", "*"), 0},
                                  {END, NULL, 0}});
}

/* An agent whose replay comes behind its answer, up to the user's first question. */
static void half_a_late_replay(struct acp_rig *x)
{
  two_turns(x);
  ask_to_load(x);
  acp_say(x, RP_ACP_AGENT, OWN("1", "null"));
  acp_say(x, RP_ACP_AGENT, USER("s1", "my question"));
  loaded_two(x);
  acp_play(x, (struct acp_step[]){{C_A, PROMPT("2", "s1", "go on"), 0}, {END, NULL, 0}});
}

static void test_load_swallows_the_replay(void **state)
{
  struct acp_rig *x = *state;
  history(x, CAN_LOAD);
  ask_to_load(x);
  acp_play(x, (struct acp_step[]){
                  {A, USER("s1", "<session_context>"), 0},
                  {A, CHUNK("s1", "told otherwise"), 0}, /* before its answer all is a replay */
                  {NONE, NULL, 0},
                  {A, OWN("1", "null"), 0},
                  {NONE, NULL, 0},                         /* the editor's answer waits for quiet */
                  {A, USER("s1", "<session_context>"), 0}, /* no agent speaks for the user */
                  {A, USER("s1", "my question"), 0},       /* late, after the answer */
                  {WAIT, NULL, 60},
                  {A_C, COMMANDS("s1"), 0}, /* no part of a replay */
                  {NONE, NULL, 0},
                  {WAIT, NULL, 200},
                  {TO_C, REPLAY_USER, 0},
                  {TO_C, REPLAY_AGENT, 0},
                  {TO_C, "*available_commands_update*", 0},
                  {TO_C, RESULT("1", "{\"_meta\":{\"reprise\":{\"rung\":\"load\"}}}"), 0},
                  {C_A, PROMPT("2", "s1", "and now?"), 0},
                  {A_C, CHUNK("s1", "an answer"), 0}, /* the turn has begun, and the replay was at its last prompt */
                  {A_C, CHUNK("s1", "news"), 0},
                  {A_C, END_TURN("2"), 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
  assert_int_equal(acp_count(x, "s1", "message", "*session_context*"), 0);
  assert_int_equal(acp_count(x, "s1", "message", "*my question*"), 1);
  assert_int_equal(acp_count(x, "s1", "message", "*\"an answer\"*"), 2);
  assert_int_equal(acp_count(x, "s1", "x-acp-agent", "*restored*\"load\"*"), 1);
}

/* Known in whatever pieces it comes, and with other white space. */
static void test_a_late_replay_in_pieces(void **state)
{
  struct acp_rig *x = *state;
  history(x, CAN_LOAD);
  ask_to_load(x);
  acp_say(x, RP_ACP_AGENT, OWN("1", "null"));
  acp_say(x, RP_ACP_AGENT, USER("s1", "my\\nquestion"));
  loaded(x);
  acp_play(x, (struct acp_step[]){
                  {A, CHUNK("s1", "an "), 0},
                  {A, CHUNK("s1", "\\n"), 0},
                  {NONE, NULL, 0},
                  {A_C, CHUNK("s1", "news"), 0},    /* in between */
                  {A, CHUNK("s1", "answer\\n"), 0}, /* the rest */
                  {NONE, NULL, 0},
                  {C_A, PROMPT("2", "s1", "and now?"), 0},
                  {A_C, CHUNK("s1", "an answer"), 0}, /* a second time: that is said now */
                  {A_C, END_TURN("2"), 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
}

/* What the journal has not was never delivered: it is, behind the editor's answer, and not before (B-06). */
static void test_news_before_the_next_prompt(void **state)
{
  struct acp_rig *x = *state;
  history(x, CAN_LOAD);
  ask_to_load(x);
  acp_say(x, RP_ACP_AGENT, OWN("1", "null"));
  acp_say(x, RP_ACP_AGENT, USER("s1", "my question"));
  acp_say(x, RP_ACP_AGENT, CHUNK("s1", "a server is down"));
  acp_say(x, RP_ACP_AGENT, CHUNK("s1", "an answer"));
  loaded(x);
  acp_play(x, (struct acp_step[]){
                  {TO_C, CHUNK("s1", "a server is down"), 0},
                  {A_C, CHUNK("s1", "it is back"), 0},
                  {A_C, CHUNK("s1", "an answer"), 0}, /* that was told already */
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
  assert_int_equal(acp_count(x, "s1", "message", "*a server is down*"), 1);
  assert_int_equal(acp_count(x, "s1", "message", "*it is back*"), 1);
  assert_int_equal(acp_count(x, "s1", "message", "*\"an answer\"*"), 2);
}

/* The replay stopped at the question, and the turn's answer is word for word the old one: it is not lost (B-06). */
static void test_an_answer_that_looks_like_a_late_replay(void **state)
{
  struct acp_rig *x = *state;
  half_a_late_replay(x);
  acp_play(x, (struct acp_step[]){
                  {A, CHUNK("s1", "an answer"), 0},
                  {NONE, NULL, 0}, /* who knows */
                  {A, END_TURN("2"), 0},
                  {TO_C, CHUNK("s1", "an answer"), 0},
                  {TO_C, END_TURN("2"), 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
  assert_int_equal(acp_count(x, "s1", "message", "*\"an answer\"*"), 2);
}

static void test_such_an_answer_of_an_agent_that_dies(void **state)
{
  struct acp_rig *x = *state;
  half_a_late_replay(x);
  acp_play(x, (struct acp_step[]){
                  {A, CHUNK("s1", "an answer"), 0},
                  {DIE, NULL, -9},
                  {TO_C, CHUNK("s1", "an answer"), 0},
                  {TO_C, "*agent_message_chunk*signal 9*", 0},
                  {TO_C, DIED("2"), 0},
                  {TO_A, "*initialize*", 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
}

#define PART(id, text)                                                                                                 \
  NOTE("session/update", "{\"sessionId\":\"s1\",\"update\":{\"sessionUpdate\":\"agent_message_chunk\",\"messageId\":"  \
                         "\"" id "\",\"content\":{\"type\":\"text\",\"text\":\"" text "\"}}}")

/* A message that begins like the old one and goes on is one message; another one behind it is the answer. */
static void test_an_answer_that_begins_like_a_late_replay(void **state)
{
  struct acp_rig *x = *state;
  half_a_late_replay(x);
  acp_play(x, (struct acp_step[]){
                  {A, PART("m", "an answer"), 0},
                  {NONE, NULL, 0},
                  {A, PART("m", " and more"), 0},
                  {TO_C, PART("m", "an answer"), 0},
                  {TO_C, PART("m", " and more"), 0},
                  {A_C, END_TURN("2"), 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
}

static void test_a_late_replay_in_the_turn(void **state)
{
  struct acp_rig *x = *state;
  half_a_late_replay(x);
  acp_play(x, (struct acp_step[]){
                  {A, PART("m", "an answer"), 0},
                  {A_C, PART("n", "news"), 0},
                  {A_C, END_TURN("2"), 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
  assert_int_equal(acp_count(x, "s1", "message", "*\"an answer\"*"), 1);
}

/* All of it comes in the turn: it is known by the user's words, with which it begins. */
static void test_a_whole_replay_in_the_turn(void **state)
{
  struct acp_rig *x = *state;
  history(x, CAN_LOAD);
  ask_to_load(x);
  acp_say(x, RP_ACP_AGENT, OWN("1", "null"));
  loaded(x);
  acp_play(x, (struct acp_step[]){
                  {C_A, PROMPT("2", "s1", "go on"), 0},
                  {A_C, USER("s1", "go on"), 0}, /* an agent that repeats the prompt */
                  {A, USER("s1", "my question"), 0},
                  {A, CHUNK("s1", "an answer"), 0},
                  {NONE, NULL, 0},
                  {A_C, CHUNK("s1", "news"), 0},
                  {A_C, END_TURN("2"), 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
}

/* The prompt is the old one again, and so is what the agent repeats in the turn: its ids tell it from the answer. */
static void test_a_replay_in_a_turn_with_the_same_prompt(void **state)
{
  struct acp_rig *x = *state;
  acp_begin(x, "");
  acp_play(x, (struct acp_step[]){{C_A, PROMPT("2", "s1", "my question"), 0},
                                  {A_C, PART("m", "an answer"), 0},
                                  {A_C, END_TURN("2"), 0},
                                  {END, NULL, 0}});
  next_process(x, CAN_LOAD, NULL);
  ask_to_load(x);
  acp_say(x, RP_ACP_AGENT, USER("s1", "my question"));
  acp_say(x, RP_ACP_AGENT, OWN("1", "null"));
  loaded(x);
  acp_play(x, (struct acp_step[]){
                  {C_A, PROMPT("2", "s1", "my question"), 0},
                  {A, USER("s1", "my question"), 0},
                  {A, PART("m", "an answer"), 0},
                  {NONE, NULL, 0},
                  {A_C, PART("n", "an answer"), 0},
                  {A_C, END_TURN("2"), 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
}

#define TOOL(id) "\"toolCallId\":\"" id "\",\"title\":\"Edit\",\"status\":\"completed\""
#define TOOL_CALL                                                                                                      \
  NOTE("session/update", "{\"sessionId\":\"s1\",\"update\":{\"sessionUpdate\":\"tool_call\"," TOOL("c") "}}")

/* A call and a question show that what was in doubt was said now, and come behind it. */
static void test_a_call_behind_a_doubt(void **state)
{
  struct acp_rig *x = *state;
  half_a_late_replay(x);
  acp_play(x, (struct acp_step[]){
                  {A, CHUNK("s1", "an answer"), 0},
                  {NONE, NULL, 0},
                  {A, TOOL_CALL, 0},
                  {TO_C, CHUNK("s1", "an answer"), 0},
                  {TO_C, TOOL_CALL, 0},
                  {A_C, CHUNK("s1", "found"), 0},
                  {A_C, END_TURN("2"), 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
}

static void test_a_question_behind_a_doubt(void **state)
{
  struct acp_rig *x = *state;
  half_a_late_replay(x);
  acp_play(x,
           (struct acp_step[]){
               {A, CHUNK("s1", "an answer"), 0},
               {NONE, NULL, 0},
               {A, CALL("0", "session/request_permission", "{\"sessionId\":\"s1\",\"toolCall\":{" TOOL("c") "}}"), 0},
               {TO_C, CHUNK("s1", "an answer"), 0},
               {TO_C, "*request_permission*", 0},
               {NONE, NULL, 0},
               {END, NULL, 0},
           });
}

/* A call that looks like an old one, and for which the agent asks: no replay does that. */
static void test_a_call_that_looks_like_a_late_replay(void **state)
{
  struct acp_rig *x = *state;
  acp_begin(x, "");
  acp_play(x, (struct acp_step[]){{C_A, PROMPT("2", "s1", "q"), 0},
                                  {A_C, TOOL_CALL, 0},
                                  {A_C, CHUNK("s1", "done"), 0},
                                  {A_C, END_TURN("2"), 0},
                                  {C_A, PROMPT("3", "s1", "more"), 0},
                                  {A_C, CHUNK("s1", "no"), 0},
                                  {A_C, END_TURN("3"), 0},
                                  {END, NULL, 0}});
  next_process(x, CAN_LOAD, NULL);
  ask_to_load(x);
  acp_play(x,
           (struct acp_step[]){
               {A, OWN("1", "null"), 0},
               {A, USER("s1", "q"), 0},
               {WAIT, NULL, 200},
               {TO_C, "*user_message_chunk*", 0},
               {TO_C, "*tool_call*", 0},
               {TO_C, "*agent_message_chunk*", 0},
               {TO_C, "*user_message_chunk*", 0},
               {TO_C, "*agent_message_chunk*", 0},
               {TO_C, RESULT("1", "*"), 0},
               {C_A, PROMPT("2", "s1", "q"), 0},
               {A_C, TOOL_CALL, 0}, /* calls do not wait */
               {A_C, CALL("0", "session/request_permission", "{\"sessionId\":\"s1\",\"toolCall\":{" TOOL("c") "}}"), 0},
               {NONE, NULL, 0},
               {END, NULL, 0},
           });
}

/*
 * The agent was killed in its answer and has nothing of it. Asked the same again, it begins with the same words, which
 * are not lost, and come before the call and the question (B-06); also where it repeats the prompt.
 */
static void test_an_answer_that_was_cut_off(void **state)
{
  struct acp_rig *x = *state;
  for (int repeats = 0; repeats < 2; repeats++) {
    if (repeats)
      acp_open(x, NULL), acp_greet(x, CAN_LOAD);
    else
      history(x, CAN_LOAD);
    ask_to_load(x);
    if (!repeats) acp_say(x, RP_ACP_AGENT, USER("s1", "my question"));
    acp_say(x, RP_ACP_AGENT, OWN("1", "null"));
    acp_wait(x, 200);
    for (const char *line; (line = acp_next(x, RP_ACP_CLIENT)) && !strstr(line, "\"rung\"");) assert_non_null(line);
    acp_play(x, (struct acp_step[]){{C_A, PROMPT("2", "s1", "my question"), 0}, {END, NULL, 0}});
    for (int i = 0; i < 2 * repeats; i++) acp_say(x, RP_ACP_AGENT, USER("s1", "my question"));
    acp_play(
        x, (struct acp_step[]){
               {A_C, CHUNK("s1", "an answer"), 0},
               {A_C, TOOL_CALL, 0},
               {A_C, CALL("0", "session/request_permission", "{\"sessionId\":\"s1\",\"toolCall\":{" TOOL("c") "}}"), 0},
               {A_C, CHUNK("s1", "found"), 0},
               {C_A, RESULT("0", "{}"), 0},
               {A_C, END_TURN("2"), 0},
               {NONE, NULL, 0},
               {END, NULL, 0},
           });
    assert_int_equal(acp_count(x, "s1", "message", "*\"an answer\"*"), 2 + repeats);
    rp__acp_client_gone(x->a, "editor closed");
  }
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
    ask_to_load(x);
    if (replays[i]) {
      acp_say(x, RP_ACP_AGENT, USER("s1", "my question"));
      acp_say(x, RP_ACP_AGENT, CHUNK("s1", "an answer"));
      acp_say(x, RP_ACP_AGENT, USER("s1", "my question"));
      acp_say(x, RP_ACP_AGENT, CHUNK("s1", "an answer"));
    }
    acp_say(x, RP_ACP_AGENT, OWN("1", "null"));
    acp_wait(x, 200);
    for (const char *line; (line = acp_next(x, RP_ACP_CLIENT)) && !strstr(line, "\"rung\"");) assert_non_null(line);
    one_turn(x);
    assert_int_equal(acp_count(x, "s1", "message", "*\"an answer\"*"), 2 + i);
    rp__acp_client_gone(x->a, "editor closed");
  }
}

/* Only a part was replayed, and nothing late: the rest, if it comes, begins with the user's words. */
static void test_half_a_replay(void **state)
{
  struct acp_rig *x = *state;
  two_turns(x);
  ask_to_load(x);
  acp_say(x, RP_ACP_AGENT, USER("s1", "my question"));
  acp_say(x, RP_ACP_AGENT, OWN("1", "null"));
  loaded_two(x);
  acp_play(x, (struct acp_step[]){
                  {C_A, PROMPT("2", "s1", "my question"), 0},
                  {A, CHUNK("s1", "an answer"), 0}, /* it may be the rest of the replay */
                  {A, USER("s1", "my question"), 0},
                  {NONE, NULL, 0},
                  {A, END_TURN("2"), 0},
                  {TO_C, CHUNK("s1", "an answer"), 0}, /* but nothing came behind it */
                  {TO_C, END_TURN("2"), 0},
                  {A_C, CHUNK("s1", "a word by itself"), 0},
                  {C_A, PROMPT("3", "s1", "more"), 0},
                  {A_C, CHUNK("s1", "an answer"), 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
}

/* Begun before the answer, the rest in the next turn: nothing of it is news, and the turn's own answer is. */
static void test_the_rest_of_a_replay_in_the_turn(void **state)
{
  struct acp_rig *x = *state;
  two_turns(x);
  ask_to_load(x);
  acp_say(x, RP_ACP_AGENT, USER("s1", "my question"));
  acp_say(x, RP_ACP_AGENT, OWN("1", "null"));
  loaded_two(x);
  acp_play(x, (struct acp_step[]){
                  {C_A, PROMPT("2", "s1", "go on"), 0},
                  {A, CHUNK("s1", "an answer"), 0},
                  {A, USER("s1", "and then?"), 0},
                  {A, CHUNK("s1", "that is all there is"), 0},
                  {NONE, NULL, 0},
                  {A_C, CHUNK("s1", "so be it"), 0},
                  {A_C, END_TURN("2"), 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
  assert_int_equal(acp_count(x, "s1", "message", "*\"an answer\"*"), 1);
  assert_int_equal(acp_count(x, "s1", "message", "*\"so be it\"*"), 1);
}

/* A call's id is given again, and its first word is an update: it looks like the replay's, and is not lost. */
static void test_an_id_that_is_given_again(void **state)
{
  struct acp_rig *x = *state;
  acp_begin(x, "");
  acp_play(x, (struct acp_step[]){{C_A, PROMPT("2", "s1", "q"), 0},
                                  {A_C, TOOL_CALL, 0},
                                  {A_C, CHUNK("s1", "done"), 0},
                                  {A_C, END_TURN("2"), 0},
                                  {END, NULL, 0}});
  next_process(x, CAN_LOAD, NULL);
  ask_to_load(x);
  acp_play(x, (struct acp_step[]){
                  {A, USER("s1", "q"), 0},
                  {A, TOOL_CALL, 0},
                  {A, OWN("1", "null"), 0},
                  {WAIT, NULL, 200},
                  {TO_C, "*user_message_chunk*", 0},
                  {TO_C, "*tool_call*", 0},
                  {TO_C, "*agent_message_chunk*", 0},
                  {TO_C, RESULT("1", "*"), 0},
                  {C_A, PROMPT("2", "s1", "q"), 0},
                  {A_C,
                   NOTE("session/update",
                        "{\"sessionId\":\"s1\",\"update\":{\"sessionUpdate\":\"tool_call_update\"," TOOL("c") "}}"),
                   0},
                  {A_C, CHUNK("s1", "ready"), 0},
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
                  {C_A, PROMPT("2", "s1", "cut \\ud83d off \\\\ud83d \\udE00"), 0},
                  {A_C, CHUNK("s1", "hi \\ud83d"), 0}, /* one character in two pieces */
                  {A_C, CHUNK("s1", "\\uDe00 \\ud83d"), 0},
                  {A, END_TURN("2"), 0},
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
      T(test_load_swallows_the_replay),
      T(test_a_late_replay_in_pieces),
      T(test_news_before_the_next_prompt),
      T(test_an_answer_that_looks_like_a_late_replay),
      T(test_such_an_answer_of_an_agent_that_dies),
      T(test_an_answer_that_begins_like_a_late_replay),
      T(test_a_late_replay_in_the_turn),
      T(test_a_whole_replay_in_the_turn),
      T(test_a_replay_in_a_turn_with_the_same_prompt),
      T(test_a_call_behind_a_doubt),
      T(test_a_question_behind_a_doubt),
      T(test_a_call_that_looks_like_a_late_replay),
      T(test_an_answer_that_was_cut_off),
      T(test_the_same_answer_again),
      T(test_half_a_replay),
      T(test_the_rest_of_a_replay_in_the_turn),
      T(test_an_id_that_is_given_again),
      T(test_halves_of_surrogates),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
