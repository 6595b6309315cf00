/* SPDX-License-Identifier: Apache-2.0 */
/* Peers that are not as they should be: nothing crashes, no request is left without an answer (O-05, B-04). */
#include "unit/bridge/acp/rig.h"

#define LOAD(id, sid) CALL(id, "session/load", "{\"sessionId\":\"" sid "\",\"cwd\":\"/p\",\"mcpServers\":[]}")
#define CAN_LOAD "\"loadSession\":true,\"sessionCapabilities\":{\"resume\":{}}"
#define DONE(id) RESULT(id, "{\"stopReason\":\"end_turn\"}")
#define UPDATE(update) NOTE("session/update", "{\"sessionId\":\"s1\",\"update\":" update "}")
#define TWICE UPDATE("{\"sessionUpdate\":\"plan\",\"entries\":[{\"a\":1,\"a\":2}]}")

/* ---- arrays where objects belong ---- */

static void test_capabilities_of_the_wrong_kind(void **state)
{
  struct acp_rig *x = *state;
  static const char *const caps[] = {"[1]", "{\"sessionCapabilities\":[1]}", "{\"_meta\":[1]}", "\"x\"", "null"};
  char line[400];
  for (size_t i = 0; i < RP_ARRAY_SIZE(caps); i++) {
    acp_open(x, NULL);
    acp_say(x, RP_ACP_CLIENT, INIT);
    acp_next(x, RP_ACP_AGENT);
    snprintf(line, sizeof line, RESULT("0", "{\"protocolVersion\":1,\"agentCapabilities\":%s}"), caps[i]);
    acp_say(x, RP_ACP_AGENT, line);
    const char *merged = acp_next(x, RP_ACP_CLIENT);
    assert_true(merged && acp_like(merged, "*\"loadSession\":true,\"sessionCapabilities\":{\"list\":{},*"));
    assert_null(strstr(merged, "[1]"));
  }
}

/* What is no object is no session: the next rung. Members of the wrong kind are left out. */
static void test_answers_of_the_wrong_kind(void **state)
{
  struct acp_rig *x = *state;
  acp_begin(x, CAN_LOAD);
  acp_open(x, NULL);
  acp_greet(x, CAN_LOAD);
  acp_play(x, (struct acp_step[]){
                  {C, CALL("2", "session/resume", "{\"sessionId\":\"s1\",\"cwd\":\"/p\"}"), 0},
                  {TO_A, "*\"session/resume\"*", 0},
                  {A, RESULT("\"reprise/1\"", "[1]"), 0},
                  {TO_A, "*\"session/load\"*", 0},
                  {A, RESULT("\"reprise/2\"", "\"yes\""), 0},
                  {TO_A, "*\"session/new\"*", 0},
                  {A, RESULT("\"reprise/3\"", "{\"sessionId\":\"t\",\"_meta\":[1],\"modes\":[2]}"), 0},
                  {TO_C, RESULT("2", "{\"modes\":[2],\"_meta\":{\"reprise\":{\"rung\":\"new\"*}}}"), 0},
                  {C, PROMPT("3", "s1", "go on"), 0},
                  {TO_A, "*\"sessionId\":\"t\"*", 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
}

/* A name for which there can be no journal is told: on stderr once, and in each such session. */
static void test_ids_that_cant_be_recorded(void **state)
{
  struct acp_rig *x = *state;
  static char large[1200], made[1300], told[1500];
  memset(large, 's', 1024);
  const char *const ids[][2] = {{"7", "is no string"}, {"\"a\\u0000c\"", "holds a NUL"}, {large, "longer than"}};
  large[0] = large[1024] = '"';
  acp_greet(x, "");
  for (size_t i = 0; i < RP_ARRAY_SIZE(ids); i++) {
    snprintf(made, sizeof made, RESULT("1", "{\"sessionId\":%s}"), ids[i][0]);
    snprintf(told, sizeof told, "*\"sessionId\":%s,*This session is not recorded*%s*", ids[i][0], ids[i][1]);
    acp_play(x,
             (struct acp_step[]){{C_A, NEW("1"), 0}, {A_C, made, 0}, {TO_C, told, 0}, {NONE, NULL, 0}, {END, NULL, 0}});
  }
  assert_int_equal(x->warnings, 1);
}

/* An id that is too long for an event's member is kept all the same. */
static void test_a_long_id_is_loaded_again(void **state)
{
  struct acp_rig *x = *state;
  static char made[1300], load[1300], asked[1300];
  acp_greet(x, CAN_LOAD);
  snprintf(made, sizeof made, RESULT("1", "{\"sessionId\":\"%0600d\"}"), 7);
  snprintf(load, sizeof load, LOAD("2", "%0600d"), 7);
  snprintf(asked, sizeof asked, "*\"session/resume\"*\"%0600d\"*", 7);
  acp_play(x, (struct acp_step[]){{C_A, NEW("1"), 0}, {A_C, made, 0}, {NONE, NULL, 0}, {END, NULL, 0}});
  acp_open(x, NULL);
  acp_greet(x, CAN_LOAD);
  acp_play(x, (struct acp_step[]){{C, load, 0},
                                  {TO_A, asked, 0},
                                  {A, RESULT("\"reprise/1\"", "{}"), 0},
                                  {TO_C, RESULT("2", "*resume*"), 0},
                                  {END, NULL, 0}});
}

static void test_an_answer_of_null(void **state)
{
  struct acp_rig *x = *state;
  acp_begin(x, CAN_LOAD);
  acp_open(x, NULL);
  acp_greet(x, CAN_LOAD);
  acp_play(x, (struct acp_step[]){
                  {C, CALL("2", "session/resume", "{\"sessionId\":\"s1\",\"cwd\":\"/p\"}"), 0},
                  {TO_A, "*\"session/resume\"*", 0},
                  {A, RESULT("\"reprise/1\"", "null"), 0},
                  {TO_C, RESULT("2", "{\"_meta\":{\"reprise\":{\"rung\":\"resume\"}}}"), 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
}

/* Params that are no object are not asked for a second time as they were. */
static void test_params_of_the_wrong_kind(void **state)
{
  struct acp_rig *x = *state;
  acp_greet(x, "");
  acp_play(x, (struct acp_step[]){
                  {C_A, CALL("1", "session/new", "[1]"), 0},
                  {A_C, RESULT("1", "{\"sessionId\":\"s1\",\"_meta\":[1]}"), 0},
                  {DIE, NULL, -9},
                  {TO_A, "*initialize*", 0},
                  {A, RESULT("\"reprise/1\"", "{\"protocolVersion\":1}"), 0},
                  {TO_A, CALL("\"reprise/2\"", "session/new", "{\"mcpServers\":[]}"), 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
}

/* ---- JSON that no event could hold ---- */

static void test_duplicate_keys(void **state)
{
  struct acp_rig *x = *state;
  static const char prompt[] =
      CALL("2", "session/prompt",
           "{\"sessionId\":\"s1\",\"prompt\":[{\"type\":\"text\",\"text\":\"q\",\"type\":\"text\"}]}");
  static const char done[] = RESULT("2", "{\"stopReason\":\"end_turn\",\"k\":1,\"k\":2}");
  acp_begin(x, "");
  acp_play(x, (struct acp_step[]){
                  {C_A, prompt, 0},
                  {A_C, TWICE, 0},
                  {A_C, done, 0},
                  {NONE, NULL, 0},
                  {C, LOAD("3", "s1"), 0},
                  {TO_C, "*user_message_chunk*\"q\"*", 0},
                  {TO_C, "*\"entries\":[{\"a\":2}]*", 0}, /* as the editor read it */
                  {TO_C, RESULT("3", "*"), 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
  assert_int_equal(acp_count(x, "s1", "x-acp-update", "*{\"a\":2}*"), 1);
  assert_int_equal(acp_count(x, "s1", "x-acp-turn", "*end_turn*\"k\":2*"), 1);
}

/* An update whose plan is nested that deep; freed by the caller. */
static char *deep(size_t levels)
{
  static const char head[] = "{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{\"sessionId\":\"s1\","
                             "\"update\":{\"sessionUpdate\":\"plan\",\"entries\":";
  size_t n = sizeof head - 1;
  char *line = malloc(n + 2 * levels + 4);
  assert_non_null(line);
  memcpy(line, head, n);
  memset(line + n, '[', levels);
  memset(line + n + levels, ']', levels);
  memcpy(line + n + 2 * levels, "}}}", 4);
  return line;
}

/* What can be read back is kept in a blob; what can't is delivered and counted. */
static void test_many_levels(void **state)
{
  struct acp_rig *x = *state;
  char *kept = deep(500), *lost = deep(4000);
  acp_begin(x, "");
  acp_play(x, (struct acp_step[]){
                  {C_A, PROMPT("2", "s1", "q"), 0},
                  {A_C, kept, 0},
                  {NONE, NULL, 0},
                  {A_C, lost, 0},
                  {A_C, DONE("2"), 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
  assert_int_equal(acp_count(x, "s1", "x-acp-gap", "*\"lost\":1,*"), 1);
  assert_int_equal(acp_count(x, "s1", "x-acp-update", "*acp_blob*"), 1);
  free(kept);
  free(lost);
}

/* The id is found although the rest of the answer can't be looked at. */
static void test_a_deep_answer(void **state)
{
  struct acp_rig *x = *state;
  enum { LEVELS = 3000 };
  static const char head[] = "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":";
  char line[sizeof head + 2 * LEVELS + 2];
  memcpy(line, head, sizeof head - 1);
  memset(line + sizeof head - 1, '[', LEVELS);
  memset(line + sizeof head - 1 + LEVELS, ']', LEVELS);
  memcpy(line + sizeof head - 1 + 2 * LEVELS, "}", 2);
  acp_begin(x, "");
  acp_play(x, (struct acp_step[]){
                  {C_A, CALL("7", "_own/thing", "{}"), 0},
                  {A_C, line, 0},
                  {C_A, CALL("7", "_own/thing", "{}"), 0}, /* the id is free again */
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
}

/* Half of a surrogate pair is what is left of a cut emoji. */
static void test_half_a_surrogate_pair(void **state)
{
  struct acp_rig *x = *state;
  acp_begin(x, "");
  acp_play(x, (struct acp_step[]){
                  {C_A, PROMPT("2", "s1", "cut \\ud83d"), 0},
                  {A_C, CHUNK("s1", "off \\ude00"), 0},
                  {A_C, DONE("2"), 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
  assert_int_equal(acp_count(x, "s1", "message", "*\"role\":\"user\"*cut *"), 1);
  assert_int_equal(acp_count(x, "s1", "message", "*off *"), 1);
}

static void test_what_is_no_json(void **state)
{
  struct acp_rig *x = *state;
  acp_begin(x, "");
  acp_play(x, (struct acp_step[]){
                  {A_C, "not JSON", 0},
                  {A_C, "\"nor a message\"", 0},
                  {C, "{\"jsonrpc\":\"2.0\",\"id\":\"k\",\"method\":\"session/prompt\",\"params\":{", 0},
                  {TO_C, "{\"jsonrpc\":\"2.0\",\"id\":\"k\",\"error\":{\"code\":-32700,*", 0},
                  {C, "{\"jsonrpc\":\"2.0\",\"id\":9,\"result\":{", 0}, /* an answer: the id is another's */
                  {TO_C, REFUSED("null", "-32700"), 0},
                  {C, "{\"jsonrpc\":\"2.0\",\"id\":12x,\"method\":\"m\"}", 0},
                  {TO_C, REFUSED("null", "-32700"), 0},
                  {C_A, PROMPT("10", "s1", "q"), 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
  assert_int_equal(x->warnings, 1);
  assert_int_equal(acp_count(x, "s1", "x-acp-gap", "*\"lost\":2,*"), 1);
}

/* An answer that says nothing, or an error that is no object, is an answer all the same. */
static void test_answers_that_say_nothing(void **state)
{
  struct acp_rig *x = *state;
  static const char empty[] = "{\"jsonrpc\":\"2.0\",\"id\":7}";
  static const char word[] = "{\"jsonrpc\":\"2.0\",\"id\":8,\"error\":\"no\"}";
  acp_begin(x, "");
  acp_play(x, (struct acp_step[]){
                  {C, CALL("7", "_own/thing", "{}"), 0},
                  {TO_A, "*", 0},
                  {A_C, empty, 0},
                  {C_A, PROMPT("8", "s1", "q"), 0},
                  {A_C, word, 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
  assert_int_equal(acp_count(x, "s1", "x-acp-turn", "*"), 1);
}

/* ---- ids that come back in other bytes ---- */

static void test_ids_written_anew(void **state)
{
  struct acp_rig *x = *state;
  static const struct {
    const char *asked, *answered;
  } ids[] = {{"\"a\\/b\"", "\"a/b\""},
             {"1e2", "100"},
             {"\"\\u00e9\"", "\"\xc3\xa9\""},
             {"7.0", "7"},
             {"-0", "0"},
             {"\"\\ud83d\\ude00\"", "\"\xf0\x9f\x98\x80\""},
             {"\"\\u0041\"", "\"A\""},
             {"1e400", "1e400"}};
  char line[300];
  acp_begin(x, "");
  for (size_t i = 0; i < RP_ARRAY_SIZE(ids); i++) {
    snprintf(line, sizeof line, CALL("%s", "_own/thing", "{}"), ids[i].asked);
    acp_say(x, RP_ACP_CLIENT, line);
    assert_string_equal(acp_next(x, RP_ACP_AGENT), line);
    snprintf(line, sizeof line, RESULT("%s", "{}"), ids[i].answered);
    acp_say(x, RP_ACP_AGENT, line);
    assert_string_equal(acp_next(x, RP_ACP_CLIENT), line);
  }
}

/* The other direction: the journal joins the question and the answer. */
static void test_the_editor_writes_an_id_anew(void **state)
{
  struct acp_rig *x = *state;
  acp_begin(x, "");
  acp_play(x, (struct acp_step[]){
                  {A,
                   CALL("\"p\\/1\"", "session/request_permission",
                        "{\"sessionId\":\"s1\",\"toolCall\":{\"toolCallId\":\"c\"},\"options\":[{\"optionId\":\"y\","
                        "\"name\":\"Yes\",\"kind\":\"allow_once\"}]}"),
                   0},
                  {TO_C, "*request_permission*", 0},
                  {C, RESULT("\"p/1\"", "{\"outcome\":{\"outcome\":\"selected\",\"optionId\":\"y\"}}"), 0},
                  {TO_A, RESULT("\"p/1\"", "*\"y\"*"), 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
  assert_int_equal(acp_count(x, "s1", "approval", "*\"status\":\"allowed\"*"), 1);
}

#define T(f) cmocka_unit_test_setup_teardown(f, acp_setup, acp_teardown)

int main(void)
{
  const struct CMUnitTest tests[] = {
      T(test_capabilities_of_the_wrong_kind),
      T(test_answers_of_the_wrong_kind),
      T(test_ids_that_cant_be_recorded),
      T(test_a_long_id_is_loaded_again),
      T(test_an_answer_of_null),
      T(test_params_of_the_wrong_kind),
      T(test_duplicate_keys),
      T(test_many_levels),
      T(test_a_deep_answer),
      T(test_half_a_surrogate_pair),
      T(test_what_is_no_json),
      T(test_answers_that_say_nothing),
      T(test_ids_written_anew),
      T(test_the_editor_writes_an_id_anew),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
