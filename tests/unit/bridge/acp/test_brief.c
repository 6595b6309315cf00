/* SPDX-License-Identifier: Apache-2.0 */
/* The brief in front of the first prompt. */
/* --brief: what a start has to tell goes to the agent with the first prompt, once (X-09, N-05). */
#include "unit/bridge/acp/rig.h"

#define TOLD(id, text)                                                                                                 \
  "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"session/prompt\",\"params\":{\"sessionId\":\"s2\",\"prompt\":["     \
  "{\"type\":\"text\",\"text\":\"*harbour*\\n\\n\"},{\"type\":\"text\",\"text\":\"" text "\"}]}}"

/* A session of the same scope, of which there is something to tell. */
static rp_session *before(struct acp_rig *x)
{
  rp_start_options o = {.scope = "acp-test", .id = "before", .channel = "acp"};
  rp_session *s = NULL;
  rp_error err = {0};
  OK(rp_start(x->e, &o, &s, &err), err);
  rp_event task = {
      .kind = "task",
      .body = "{\"task_id\":\"t\",\"title\":\"Mend the harbour\",\"stage\":\"pending\",\"flagged_incomplete\":true}"};
  task.body_len = strlen(task.body);
  OK(rp_append(s, &task, NULL, NULL, &err), err);
  return s;
}

static void past(struct acp_rig *x)
{
  rp_error err = {0};
  rp_session *s = before(x);
  OK(rp_end(s, "done", &err), err);
  rp_session_free(s);
}

static void begin(struct acp_rig *x, bool brief)
{
  struct rp__acp_options o = {.scope = "acp-test", .brief = brief};
  acp_open(x, &o);
  acp_greet(x, "");
  acp_play(x, (struct acp_step[]){
                  {C_A, NEW("1"), 0},
                  {A_C, RESULT("1", "{\"sessionId\":\"s2\"}"), 0},
                  {END, NULL, 0},
              });
}

static void test_the_first_prompt_has_it(void **state)
{
  struct acp_rig *x = *state;
  past(x);
  begin(x, true);
  acp_play(x, (struct acp_step[]){
                  {C, PROMPT("2", "s2", "hello"), 0},
                  {TO_A, TOLD("2", "hello"), 0},
                  {A_C, ERROR("2", "-32000"), 0}, /* it was not taken */
                  {C, PROMPT("3", "s2", "hello"), 0},
                  {TO_A, TOLD("3", "hello"), 0},
                  {C_A, PROMPT("4", "s2", "more"), 0},
                  {A_C, END_TURN("3"), 0},
                  {A_C, END_TURN("4"), 0},
                  {C_A, PROMPT("5", "s2", "and more"), 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
  assert_int_equal(acp_count(x, "s2", "message", "*harbour*"), 0); /* the journal has what the user said */
}

#define SAYS(text)                                                                                                     \
  "{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{\"sessionId\":\"s2\",\"update\":{"                   \
  "\"sessionUpdate\":\"user_message_chunk\",\"content\":{\"type\":\"text\",\"text\":\"" text "\"}}}}"

/* An agent that repeats its prompt repeats what we put before it: nobody's words. */
static void test_the_echo_of_it_is_not_the_users(void **state)
{
  struct acp_rig *x = *state;
  past(x);
  begin(x, true);
  acp_play(x, (struct acp_step[]){
                  {C, PROMPT("2", "s2", "hello"), 0},
                  {TO_A, TOLD("2", "hello"), 0},
                  {A, SAYS("[reprise: recalled]\\nMend the harbour\\n[reprise: end]\\n\\n"), 0},
                  {NONE, NULL, 0},
                  {A_C, SAYS("hello"), 0},
                  {A_C, END_TURN("2"), 0},
                  {END, NULL, 0},
              });
  assert_int_equal(acp_count(x, "s2", "message", "*harbour*"), 0);
}

/* … but what stands behind it is the user's, and so is a mark that somebody only speaks of. */
static void test_words_behind_the_echo_stay(void **state)
{
  struct acp_rig *x = *state;
  past(x);
  begin(x, true);
  acp_play(x, (struct acp_step[]){
                  {C, PROMPT("2", "s2", "hello"), 0},
                  {TO_A, TOLD("2", "hello"), 0},
                  {A, SAYS("[reprise: recalled]\\nMend the harbour\\n[reprise: end]\\n\\nFix \\\"login\\\""), 0},
                  {TO_C, SAYS("Fix \\\"login\\\""), 0},
                  {A_C, SAYS("[reprise: recalled] is printed. Why?"), 0},
                  {A_C, END_TURN("2"), 0},
                  {END, NULL, 0},
              });
  assert_int_equal(acp_count(x, "s2", "message", "*harbour*"), 0);
  assert_int_equal(acp_count(x, "s2", "message", "*\"user\"*Fix *login*"), 1);
  assert_int_equal(acp_count(x, "s2", "message", "*\"user\"*is printed. Why?*"), 1);
}

/* so it is with what somebody has begun in another window and not left. */
static void test_what_lives_is_told_of(void **state)
{
  struct acp_rig *x = *state;
  rp_session *s = before(x);
  begin(x, true);
  acp_play(x, (struct acp_step[]){
                  {C, PROMPT("2", "s2", "hello"), 0},
                  {TO_A, TOLD("2", "hello"), 0},
                  {A_C, END_TURN("2"), 0},
                  {END, NULL, 0},
              });
  rp_session_free(s);
}

static void test_nobody_asked_for_it(void **state)
{
  struct acp_rig *x = *state;
  past(x);
  begin(x, false);
  acp_play(x, (struct acp_step[]){
                  {C_A, PROMPT("2", "s2", "hello"), 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
}

/* An editor that begins a session in one process and prompts in the next: its first prompt has it, and only that. */
static void test_the_first_prompt_of_another_process_has_it(void **state)
{
  struct acp_rig *x = *state;
  struct rp__acp_options o = {.scope = "acp-test", .brief = true};
  past(x);
  for (int load = 0; load < 2; load++) {
    const char *go = load ? CALL("3", "session/load", "{\"sessionId\":\"s2\",\"cwd\":\"/p\",\"mcpServers\":[]}")
                          : CALL("3", "session/resume", "{\"sessionId\":\"s2\",\"cwd\":\"/p\"}");
    if (!load) begin(x, true);
    acp_open(x, &o);
    acp_greet(x, "\"sessionCapabilities\":{\"resume\":{}}");
    acp_play(x, (struct acp_step[]){
                    {C, go, 0},
                    {TO_A, "*\"session/resume\"*", 0},
                    {A, RESULT("\"reprise/1\"", "{}"), 0},
                    {END, NULL, 0},
                });
    if (load) /* the history */
      acp_play(x, (struct acp_step[]){{TO_C, "*user_message_chunk*hello*", 0}, {END, NULL, 0}});
    acp_play(x, (struct acp_step[]){
                    {TO_C, RESULT("3", "*"), 0},
                    {C, PROMPT("4", "s2", "hello"), 0},
                    {TO_A, load ? PROMPT("4", "s2", "hello") : TOLD("4", "hello"), 0},
                    {A_C, END_TURN("4"), 0},
                    {END, NULL, 0},
                });
  }
}

#define T(f) cmocka_unit_test_setup_teardown(f, acp_setup, acp_teardown)

int main(void)
{
  const struct CMUnitTest tests[] = {T(test_the_first_prompt_has_it),
                                     T(test_what_lives_is_told_of),
                                     T(test_the_echo_of_it_is_not_the_users),
                                     T(test_words_behind_the_echo_stay),
                                     T(test_nobody_asked_for_it),
                                     T(test_the_first_prompt_of_another_process_has_it)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
