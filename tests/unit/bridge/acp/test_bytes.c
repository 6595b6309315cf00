/* SPDX-License-Identifier: Apache-2.0 */
/* Lines go on as they came, whatever they are; the journal has what their reader made of them (O-05, B-04, X-17). */
#include "unit/bridge/acp/rig.h"

#define LOAD(id, sid) CALL(id, "session/load", "{\"sessionId\":\"" sid "\",\"cwd\":\"/p\",\"mcpServers\":[]}")
#define X "\xef\xbf\xbd"
#define ASK(id)                                                                                                        \
  CALL(id, "session/request_permission",                                                                               \
       "{\"sessionId\":\"s1\",\"toolCall\":{\"toolCallId\":\"c\"},\"options\":[{\"optionId\":\"y\",\"name\":\"Yes\","  \
       "\"kind\":\"allow_once\"},{\"optionId\":\"n\",\"name\":\"No\",\"kind\":\"reject_once\"}]}")
#define PICK(id, option) RESULT(id, "{\"outcome\":{\"outcome\":\"selected\",\"optionId\":\"" option "\"}}")

/* ---- bytes that are not UTF-8 ---- */

static void test_bytes_that_are_not_utf8(void **state)
{
  struct acp_rig *x = *state;
  acp_begin(x, "");
  acp_play(x, (struct acp_step[]){
                  {C_A, PROMPT("2", "s1", "caf\xe9?"), 0},
                  {A_C, CHUNK("s1", "a caf\xe9 \xe2\x82"), 0},
                  {A_C, CALL("5", "fs/read_text_file", "{\"sessionId\":\"s1\",\"path\":\"/caf\xe9\"}"), 0},
                  {C_A, RESULT("5", "{\"content\":\"cr\xe8me\"}"), 0},
                  {A_C,
                   NOTE("session/update", "{\"sessionId\":\"s1\",\"update\":{\"sessionUpdate\":\"tool_call\","
                                          "\"toolCallId\":\"t\xff\",\"title\":\"caf\xe9\",\"status\":\"pending\"}}"),
                   0},
                  {A_C, RESULT("2", "{\"stopReason\":\"end_turn\",\"_meta\":\"\xff\"}"), 0},
                  {NONE, NULL, 0},
                  {C, LOAD("3", "s1"), 0},
                  {TO_C, "*user_message_chunk*\"caf" X "?\"*", 0},
                  {TO_C, "*agent_message_chunk*\"a caf" X " " X "\"*", 0},
                  {TO_C, "*\"tool_call\"*", 0},
                  {END, NULL, 0},
              });
  assert_int_equal(acp_count(x, "s1", "x-acp-request", "*\"/caf" X "\"*"), 1);
  assert_int_equal(acp_count(x, "s1", "x-acp-answer", "*\"cr" X "me\"*"), 1);
  assert_int_equal(acp_count(x, "s1", "x-acp-turn", "*end_turn*\"" X "\"*"), 1);
  assert_int_equal(acp_count(x, "s1", "tool", "*\"t1:t" X "\"*"), 1);
  assert_int_equal(acp_count(x, "s1", "x-acp-gap", "*"), 0);
  assert_int_equal(x->warnings, 0);
}

/* Under another id of the session the rest of the bytes is as it came. A name of a message is used by later events. */
static void test_bytes_of_a_session_with_two_names(void **state)
{
  static const char chunk[] =
      NOTE("session/update", "{\"sessionId\":\"%s\",\"update\":{\"sessionUpdate\":\"agent_message_chunk\","
                             "\"messageId\":\"m\xff\",\"content\":{\"type\":\"text\",\"text\":\"\xe9\"}}}");
  struct acp_rig *x = *state;
  char from[300], to[300];
  snprintf(from, sizeof from, chunk, "n");
  snprintf(to, sizeof to, chunk, "s1");
  acp_begin(x, "");
  acp_play(x, (struct acp_step[]){
                  {DIE, NULL, -9},
                  {TO_A, "*initialize*", 0},
                  {A, RESULT("\"reprise/1\"", "{\"protocolVersion\":1}"), 0},
                  {TO_A, "*session/new*", 0},
                  {A, RESULT("\"reprise/2\"", "{\"sessionId\":\"n\"}"), 0},
                  {C, PROMPT("3", "s1", "\xff"), 0},
                  {TO_A, PROMPT("3", "n", "\xff"), 0},
                  {A, from, 0},
                  {TO_C, to, 0},
                  {A_C, END_TURN("3"), 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
  assert_int_equal(acp_count(x, "s1", "message", "*\"assistant\"*\"" X "\"*"), 1);
  assert_int_equal(acp_count(x, "s1", "x-acp-turn", "*end_turn*"), 1);
  assert_int_equal(acp_count(x, "s1", "x-acp-gap", "*"), 0);
}

/* The editor calls the session by what it read. */
static void test_bytes_of_a_name(void **state)
{
  struct acp_rig *x = *state;
  acp_greet(x, "");
  acp_play(x, (struct acp_step[]){
                  {C_A, NEW("1"), 0},
                  {A, RESULT("1", "{\"sessionId\":\"s\xe2\x82\"}"), 0},
                  {TO_C, RESULT("1", "{\"sessionId\":\"s" X "\"}"), 0},
                  {C, PROMPT("2", "s" X, "q"), 0},
                  {TO_A, "*\"q\"*", 0},
                  {A, CHUNK("s\xe2\x82", "a"), 0},
                  {TO_C, CHUNK("s" X, "a"), 0},
                  {A_C, END_TURN("2"), 0},
                  {C, CALL("3", "session/list", "{}"), 0},
                  {TO_C, "*{\"sessionId\":\"s" X "\",*\"title\":\"q\"*", 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
}

/* ---- lines ---- */

static void test_ends_and_blanks(void **state)
{
  struct acp_rig *x = *state;
  acp_begin(x, "");
  acp_play(x, (struct acp_step[]){
                  {C_A, "", 0},
                  {C_A, PROMPT("2", "s1", "q") "\r", 0},
                  {A_C, " \r", 0},
                  {A_C, CHUNK("s1", "a") "\r", 0},
                  {A_C, END_TURN("2") "\r", 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
  assert_int_equal(acp_count(x, "s1", "message", "*\"text\":\"a\"*"), 1);
  assert_int_equal(x->warnings, 0);
}

/* ---- duplicate members: the last one counts ---- */

static void test_the_last_of_two_members(void **state)
{
  static const char twice[] = NOTE(
      "session/update", "{\"sessionId\":\"other\",\"update\":{\"sessionUpdate\":\"agent_message_chunk\",\"content\":"
                        "{\"type\":\"text\",\"text\":\"first\",\"t\\u0065xt\":\"last\"}},\"sessionId\":\"s1\"}");
  struct acp_rig *x = *state;
  acp_begin(x, "");
  acp_play(x, (struct acp_step[]){
                  {C_A, PROMPT("2", "s1", "q"), 0},
                  {A_C, twice, 0},
                  {A_C, END_TURN("2"), 0},
                  {NONE, NULL, 0},
                  {C, LOAD("3", "s1"), 0},
                  {TO_C, "*user_message_chunk*", 0},
                  {TO_C, "*agent_message_chunk*\"last\"}}}}", 0},
                  {TO_C, RESULT("3", "*"), 0},
                  {END, NULL, 0},
              });
  assert_int_equal(acp_count(x, "s1", "message", "*first*"), 0);
}

/* Held, it is still the same line. */
static void test_a_held_line_with_two_members(void **state)
{
  static const char twice[] =
      CALL("3", "session/prompt",
           "{\"sessionId\":\"x\",\"prompt\":[{\"type\":\"text\",\"text\":\"q\",\"text\":\"p\"}],\"sessionId\":\"s1\"}");
  struct acp_rig *x = *state;
  acp_begin(x, "\"sessionCapabilities\":{\"resume\":{}}");
  acp_play(x, (struct acp_step[]){
                  {DIE, NULL, -9},
                  {C, twice, 0},
                  {TO_A, "*initialize*", 0},
                  {A,
                   RESULT("\"reprise/1\"", "{\"protocolVersion\":1,\"agentCapabilities\":{\"sessionCapabilities\":"
                                           "{\"resume\":{}}}}"),
                   0},
                  {TO_A, "*session/resume*", 0},
                  {A, RESULT("\"reprise/2\"", "{}"), 0},
                  {TO_A, twice, 0},
                  {END, NULL, 0},
              });
  assert_int_equal(acp_count(x, "s1", "message", "*\"text\":\"p\"*"), 1);
}

/* ---- what is no JSON-RPC ---- */

static void test_without_jsonrpc(void **state)
{
  struct acp_rig *x = *state;
  acp_begin(x, "");
  acp_play(x, (struct acp_step[]){
                  {C_A, PROMPT("2", "s1", "q"), 0},
                  {A_C, ASK("1"), 0},
                  {C_A, "{\"id\":1,\"result\":{\"outcome\":{\"outcome\":\"cancelled\"}}}", 0},
                  {A_C, "{\"id\":2,\"result\":{\"stopReason\":\"end_turn\"}}", 0},
                  {C, "{\"id\":3,\"method\":\"session/list\"}", 0}, /* an agent would refuse it too */
                  {TO_C, REFUSED("3", "-32600"), 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
  assert_int_equal(acp_count(x, "s1", "x-acp-turn", "*end_turn*"), 1);
  assert_int_equal(acp_count(x, "s1", "approval", "*\"denied\"*"), 1);
}

/* Each message of a batch goes as a line of its own. */
static void test_a_batch(void **state)
{
  struct acp_rig *x = *state;
  acp_begin(x, "");
  acp_play(x, (struct acp_step[]){
                  {C_A, PROMPT("2", "s1", "q"), 0},
                  {A, "[" CHUNK("s1", "one") " , 17," END_TURN("2") "]", 0},
                  {TO_C, CHUNK("s1", "one"), 0},
                  {TO_C, "17", 0},
                  {TO_C, END_TURN("2"), 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
  assert_int_equal(acp_count(x, "s1", "message", "*\"one\"*"), 1);
  assert_int_equal(acp_count(x, "s1", "x-acp-gap", "*\"lost\":1,*"), 1);
}

/* An answer that can't be read goes on, and an error ends the request. An id of the agent's own means another one. */
static void test_a_broken_answer(void **state)
{
  struct acp_rig *x = *state;
  acp_begin(x, "");
  acp_play(x, (struct acp_step[]){
                  {C_A, PROMPT("2", "s1", "q"), 0},
                  {A_C, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"fs/read_text_file\",\"params\":NaN}", 0},
                  {A_C, "{\"id\":2,\"level\":\"debug\"}", 0},
                  {A, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"stopReason\":\"end_turn\",\"cost\":NaN}}", 0},
                  {TO_C, "*NaN}}", 0},
                  {TO_C, REFUSED("2", "-32603"), 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
  assert_int_equal(acp_count(x, "s1", "x-acp-turn", "*error*can't be read*"), 1);
  assert_int_equal(acp_count(x, "s1", "x-acp-gap", "*\"lost\":3,*"), 1);
  assert_int_equal(x->warnings, 1);
}

/* ---- ids ---- */

static void test_a_number_and_a_string(void **state)
{
  struct acp_rig *x = *state;
  acp_begin(x, "");
  acp_play(x, (struct acp_step[]){
                  {C_A, PROMPT("2", "s1", "q"), 0},
                  {A_C, ASK("1"), 0},
                  {A_C, ASK("\"1\""), 0},
                  {A_C, ASK("\"\\\"1\\\"\""), 0},
                  {A_C, ASK("\"1a\""), 0},
                  {C_A, PICK("\"1\"", "n"), 0},
                  {C_A, PICK("1", "y"), 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
  assert_int_equal(acp_count(x, "s1", "approval", "{\"id\":\"a1:1\",\"status\":\"allowed\"*"), 1);
  assert_int_equal(acp_count(x, "s1", "approval", "{\"id\":\"a1:\\\"1\\\"\",\"status\":\"denied\"*"), 1);
  assert_int_equal(acp_count(x, "s1", "approval", "{\"id\":\"a1:1a\",\"status\":\"pending\"*"), 1);
  assert_int_equal(acp_count(x, "s1", "approval", "*\"pending\"*"), 4);
}

/* ---- a prompt that does not wait ---- */

static void test_a_prompt_behind_session_new(void **state)
{
  struct acp_rig *x = *state;
  acp_greet(x, "");
  acp_play(x, (struct acp_step[]){
                  {C_A, NEW("1"), 0},
                  {C, PROMPT("2", "s1", "early"), 0},
                  {NONE, NULL, 0},
                  {A_C, RESULT("1", "{\"sessionId\":\"s1\"}"), 0},
                  {TO_A, PROMPT("2", "s1", "early"), 0},
                  {A_C, END_TURN("2"), 0},
                  {C_A, NEW("3"), 0},
                  {C, PROMPT("4", "s9", "nobody's"), 0},
                  {A_C, ERROR("3", "-32000"), 0},
                  {TO_A, PROMPT("4", "s9", "nobody's"), 0}, /* the agent may judge */
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
  assert_int_equal(acp_count(x, "s1", "message", "*early*"), 1);
  assert_int_equal(acp_count(x, "s1", "x-acp-turn", "*end_turn*"), 1);
}

/* ---- the command ---- */

static int on_meta(void *ctx, const rp_session_info *info)
{
  snprintf(ctx, 1000, "%s", info->meta);
  return 0;
}

static void test_secrets_of_the_command(void **state)
{
  static const char *const command[] = {
      "agent",      "--api-key", "hunter2pass", "--token=abc",  "-H",   "X-Api-Key: plainvalue", "OPENAI_API_KEY=zzz",
      "--password", "--model",   "large",       "--max-tokens", "4096", "https://host:1/x",      NULL};
  const struct rp__acp_options o = {.scope = "acp-test", .command = command};
  struct acp_rig *x = *state;
  char meta[1000] = "";
  rp_error err = {0};
  acp_open(x, &o);
  acp_begin(x, "");
  OK(rp_show(x->e, "s1", on_meta, meta, &err), err);
  const char *told = strstr(meta, "\"command\":");
  assert_non_null(told);
  assert_string_equal(told, "\"command\":[\"agent\",\"--api-key\",\"[REDACTED]\",\"--token=[REDACTED]\",\"-H\","
                            "\"X-Api-Key: [REDACTED]\",\"OPENAI_API_KEY=[REDACTED]\",\"--password\",\"--model\","
                            "\"large\",\"--max-tokens\",\"4096\",\"https://host:1/x\"]}");
}

#define T(f) cmocka_unit_test_setup_teardown(f, acp_setup, acp_teardown)

int main(void)
{
  const struct CMUnitTest tests[] = {
      T(test_bytes_that_are_not_utf8),
      T(test_bytes_of_a_session_with_two_names),
      T(test_bytes_of_a_name),
      T(test_ends_and_blanks),
      T(test_the_last_of_two_members),
      T(test_a_held_line_with_two_members),
      T(test_without_jsonrpc),
      T(test_a_batch),
      T(test_a_broken_answer),
      T(test_a_number_and_a_string),
      T(test_a_prompt_behind_session_new),
      T(test_secrets_of_the_command),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
