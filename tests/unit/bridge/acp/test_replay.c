/* SPDX-License-Identifier: Apache-2.0 */
/* O-05, B-06: a journal told again is the conversation as it was, each rule of the replay by itself. */
#include "unit/bridge/acp/conversation.h"

static void nothing_is_told_of_nothing(void **state)
{
  struct talk t = talk_begin(state);
  talk_replay(&t, true);
  assert_int_equal(t.n_told, 0);
  talk_end(&t);
}

static void chunks_are_one_message(void **state)
{
  struct talk t = talk_begin(state);
  talk_ask(&t, "hi");
  talk_chunk(&t, "agent_message_chunk", "m1", "a \\\"b\\\"\\n");
  talk_chunk(&t, "agent_message_chunk", "m1", "c ");
  talk_chunk(&t, "agent_message_chunk", "m2", "d ");
  talk_chunk(&t, "agent_thought_chunk", NULL, "hm ");
  talk_chunk(&t, "agent_thought_chunk", NULL, "hm");
  talk_chunk(&t, "agent_message_chunk", NULL, "e");
  talk_done(&t);
  talk_replay(&t, false);
  EXPECT(&t, USER("hi"), TEXT_ID("agent_message_chunk", "a \\\\\\\"b\\\\\\\"\\\\nc ", "m1"),
         TEXT_ID("agent_message_chunk", "d ", "m2"), TEXT("agent_thought_chunk", "hm hm"), AGENT("e"));
  talk_end(&t);
}

#define IMAGE "{\"type\":\"image\",\"data\":\"AAAA\",\"mimeType\":\"image/png\"}"

static void other_blocks_stay_blocks(void **state)
{
  struct talk t = talk_begin(state);
  talk_prompt(&t, "{\"prompt\":[{\"type\":\"text\",\"text\":\"see\"}," IMAGE "]}");
  talk_chunk(&t, "agent_message_chunk", "m", "a ");
  talk_update(&t, "{\"sessionUpdate\":\"agent_message_chunk\",\"content\":" IMAGE ",\"messageId\":\"m\"}");
  talk_chunk(&t, "agent_message_chunk", "m", "b ");
  talk_chunk(&t, "agent_message_chunk", "m", "c");
  talk_replay(&t, false);
  EXPECT(&t, USER("see"), "{\"sessionUpdate\":\"user_message_chunk\",\"content\":" IMAGE "}",
         TEXT_ID("agent_message_chunk", "a ", "m"),
         "{\"sessionUpdate\":\"agent_message_chunk\",\"content\":" IMAGE ",\"messageId\":\"m\"}",
         TEXT_ID("agent_message_chunk", "b c", "m"));
  talk_end(&t);
}

/* What differs in metadata is not joined; what has the same is. */
static void metadata_is_kept(void **state)
{
  struct talk t = talk_begin(state);
  char text[256];
  for (int i = 0; i < 4; i++) {
    snprintf(text, sizeof text,
             "{\"sessionUpdate\":\"agent_message_chunk\",\"content\":{\"type\":\"text\",\"text\":"
             "\"x \"},\"_meta\":{\"p\":%d}}",
             i / 2);
    talk_update(&t, text);
  }
  talk_done(&t);
  talk_replay(&t, false);
  EXPECT(&t,
         "{\"sessionUpdate\":\"agent_message_chunk\",\"content\":{\"type\":\"text\",\"text\":\"x x "
         "\"},\"_meta\":{\"p\":0}}",
         "{\"sessionUpdate\":\"agent_message_chunk\",\"content\":{\"type\":\"text\",\"text\":\"x x "
         "\"},\"_meta\":{\"p\":1}}");
  talk_end(&t);
}

/* An agent that repeats the prompt makes no second message of it. */
static void a_repeated_prompt_is_told_once(void **state)
{
  struct talk t = talk_begin(state);
  talk_prompt(&t, "{\"prompt\":[{\"type\":\"text\",\"text\":\"one \"},{\"type\":\"text\",\"text\":\"two\"}]}");
  talk_chunk(&t, "user_message_chunk", "u", "one ");
  talk_chunk(&t, "user_message_chunk", "u", "two");
  talk_chunk(&t, "agent_message_chunk", NULL, "yes");
  talk_done(&t);
  talk_ask(&t, "three");
  talk_chunk(&t, "user_message_chunk", "v", "three");
  talk_chunk(&t, "user_message_chunk", "w", "something else");
  talk_done(&t);
  talk_chunk(&t, "user_message_chunk", "x", "three");
  talk_replay(&t, false);
  EXPECT(&t, USER("one "), USER("two"), AGENT("yes"), USER("three"),
         TEXT_ID("user_message_chunk", "something else", "w"), TEXT_ID("user_message_chunk", "three", "x"));
  talk_end(&t);
}

static void state_is_told_where_its_last_value_stands(void **state)
{
  struct talk t = talk_begin(state);
  talk_update(&t, "{\"sessionUpdate\":\"current_mode_update\",\"currentModeId\":\"a\"}");
  talk_update(&t, "{\"sessionUpdate\":\"session_info_update\",\"title\":\"T\"}");
  talk_ask(&t, "hi");
  talk_update(&t, "{\"sessionUpdate\":\"usage_update\",\"used\":1,\"size\":9}");
  talk_chunk(&t, "agent_message_chunk", NULL, "a ");
  talk_update(&t, "{\"sessionUpdate\":\"usage_update\",\"used\":2,\"size\":9}");
  talk_chunk(&t, "agent_message_chunk", NULL, "b ");
  talk_update(&t, "{\"sessionUpdate\":\"notice\",\"severity\":\"info\",\"title\":\"n\"}");
  talk_update(&t, "{\"sessionUpdate\":\"current_mode_update\",\"currentModeId\":\"b\"}");
  talk_update(&t, "{\"sessionUpdate\":\"session_info_update\",\"updatedAt\":\"2026-01-01T00:00:00Z\"}");
  talk_update(&t, "{\"sessionUpdate\":\"usage_update\",\"used\":3,\"size\":9}");
  talk_update(&t, "{\"sessionUpdate\":\"plan\",\"entries\":[]}");
  talk_update(&t, "{\"sessionUpdate\":\"_vendor\",\"x\":[1.50]}");
  talk_done(&t);
  talk_replay(&t, false);
  EXPECT(&t, "{\"sessionUpdate\":\"session_info_update\",\"title\":\"T\"}", USER("hi"), AGENT("a b "),
         "{\"sessionUpdate\":\"current_mode_update\",\"currentModeId\":\"b\"}",
         "{\"sessionUpdate\":\"session_info_update\",\"updatedAt\":\"2026-01-01T00:00:00Z\"}",
         "{\"sessionUpdate\":\"usage_update\",\"used\":3,\"size\":9}", "{\"sessionUpdate\":\"plan\",\"entries\":[]}",
         "{\"sessionUpdate\":\"_vendor\",\"x\":[1.50]}");
  talk_end(&t);
}

/* B-04: raw input and output are put back; what a crash cut off is closed where it was cut. */
static void calls_left_open_are_closed(void **state)
{
  struct talk t = talk_begin(state);
  talk_ask(&t, "go");
  talk_update(&t, CALL("c1") ",\"rawInput\":{\"a\":[1]}}");
  talk_update(&t, "{\"sessionUpdate\":\"tool_call_update\",\"toolCallId\":\"c1\",\"status\":\"completed\","
                  "\"rawOutput\":\"done\"}");
  talk_update(&t, CALL("c2") "}");
  talk_update(&t, CALL("c3") ",\"status\":\"in_progress\"}");
  talk_replay(&t, false);
  assert_int_equal(t.n_told, 5); /* the run lives: they may still end */
  talk_crash(&t);
  talk_ask(&t, "more");
  talk_update(&t, CALL("c2") ",\"status\":\"completed\"}");
  talk_replay(&t, false);
  EXPECT(&t, USER("go"), CALL("c1") ",\"rawInput\":{\"a\":[1]}}",
         "{\"sessionUpdate\":\"tool_call_update\",\"toolCallId\":\"c1\",\"status\":\"completed\","
         "\"rawOutput\":\"done\"}",
         CALL("c2") "}", CALL("c3") ",\"status\":\"in_progress\"}", FAILED("c2"), FAILED("c3"), USER("more"),
         CALL("c2") ",\"status\":\"completed\"}");
  talk_end(&t);
}

static void an_agent_that_died_ends_its_calls(void **state)
{
  struct talk t = talk_begin(state);
  talk_ask(&t, "go");
  talk_update(&t, CALL("c") "}");
  talk_event(&t, "x-acp-agent", "{\"event\":\"started\"}");
  talk_event(&t, "x-acp-agent", "{\"event\":\"died\",\"status\":-9}");
  talk_chunk(&t, "agent_message_chunk", NULL, "it died");
  talk_done(&t);
  talk_ask(&t, "on");
  talk_update(&t, CALL("d") "}");
  talk_event(&t, "x-acp-agent", "{\"event\":\"died\",\"status\":-9}");
  talk_update(&t, FAILED("d")); /* the proxy says so itself */
  talk_done(&t);
  talk_replay(&t, false);
  EXPECT(&t, USER("go"), CALL("c") "}", AGENT("it died"), FAILED("c"), USER("on"), CALL("d") "}", FAILED("d"));
  talk_end(&t);
}

#define IN_TERMINAL(id)                                                                                                \
  CALL("c")                                                                                                            \
  ",\"content\":[{\"type\":\"terminal\",\"terminalId\":\"" id "\"},{\"type\":\"diff\",\"path\":\"/a\","                \
  "\"newText\":\"\"}]}"
#define AS_TEXT(text)                                                                                                  \
  CALL("c")                                                                                                            \
  ",\"content\":[{\"type\":\"content\",\"content\":{\"type\":\"text\",\"text\":\"" text "\"}},{\"type\":"              \
  "\"diff\",\"path\":\"/a\",\"newText\":\"\"}]}"

static void terminal(struct talk *t, const char *output)
{
  char result[256];
  talk_request(t, "0", "terminal/create", "{\"command\":\"ls\"}");
  talk_answer(t, "0", "terminal/create", "{\"terminalId\":\"T\"}");
  talk_update(t, IN_TERMINAL("T"));
  for (int i = 0; i < 2; i++) {
    talk_request(t, "1", "terminal/output", "{\"terminalId\":\"T\"}");
    snprintf(result, sizeof result, "{\"output\":\"%s\",\"truncated\":false}", i ? output : "not yet");
    talk_answer(t, "1", "terminal/output", result);
  }
}

/* The same id is another terminal in another run. */
static void a_terminal_is_what_it_showed(void **state)
{
  struct talk t = talk_begin(state);
  talk_ask(&t, "go");
  terminal(&t, "first");
  talk_update(&t, IN_TERMINAL("unknown"));
  terminal(&t, "second\\n");
  talk_update(&t, "{\"sessionUpdate\":\"tool_call_update\",\"toolCallId\":\"c\",\"status\":\"completed\"}");
  talk_replay(&t, false);
  EXPECT(&t, USER("go"), AS_TEXT("first"), AS_TEXT("[the output of terminal unknown is gone]"), AS_TEXT("second\\n"),
         "{\"sessionUpdate\":\"tool_call_update\",\"toolCallId\":\"c\",\"status\":\"completed\"}");
  talk_end(&t);
}

#define COMPACTION(rest) "{\"sessionUpdate\":\"compaction_update\",\"compactionId\":\"k\"," rest "}"
#define BLOCK(text) "{\"type\":\"text\",\"text\":\"" text "\"}"
#define SUMMARY_CHUNK(text)                                                                                            \
  "{\"sessionUpdate\":\"compaction_summary_chunk\",\"compactionId\":\"k\",\"content\":" BLOCK(text) "}"

static void a_compaction_is_told_once(void **state)
{
  struct talk t = talk_begin(state);
  talk_ask(&t, "a");
  talk_update(&t, COMPACTION("\"status\":\"in_progress\",\"summary\":[" BLOCK("old") "]"));
  talk_chunk(&t, "agent_message_chunk", NULL, "b");
  talk_update(&t, COMPACTION("\"status\":\"in_progress\",\"summary\":null,\"_meta\":{\"m\":1}"));
  talk_update(&t, SUMMARY_CHUNK("x"));
  talk_update(&t, SUMMARY_CHUNK("y"));
  talk_replay(&t, true);
  EXPECT(&t, USER("a"),
         COMPACTION("\"status\":\"in_progress\",\"summary\":[" BLOCK("x") "," BLOCK("y") "],\"_meta\":{\"m\":1}"),
         AGENT("b"));
  talk_crash(&t);
  talk_replay(&t, true);
  assert_string_equal(
      t.told[1], COMPACTION("\"status\":\"failed\",\"summary\":[" BLOCK("x") "," BLOCK("y") "],\"_meta\":{\"m\":1}"));
  talk_update(&t, COMPACTION("\"status\":\"completed\",\"error\":\"e\""));
  talk_replay(&t, true);
  assert_string_equal(t.told[1], COMPACTION("\"status\":\"completed\",\"summary\":[" BLOCK("x") "," BLOCK(
                                     "y") "],\"error\":\"e\",\"_meta\":{\"m\":1}"));
  talk_replay(&t, false);
  EXPECT(&t, USER("a"), AGENT("b"));
  talk_end(&t);
}

/* What was kept as it is because it made no sense is no update that an editor could read. */
static void nonsense_is_not_told(void **state)
{
  struct talk t = talk_begin(state);
  talk_update(&t, "{\"sessionUpdate\":\"tool_call\",\"toolCallId\":7}");
  talk_update(&t, "{\"sessionUpdate\":\"agent_message_chunk\",\"content\":\"bare\"}");
  talk_update(&t, "{\"sessionUpdate\":3}");
  talk_update(&t, "{}");
  talk_replay(&t, true);
  assert_int_equal(t.n_told, 0);
  talk_end(&t);
}

/* Hooks inside the agent tell the same story again; what others say between turns is part of it. */
static void guests_are_heard_between_turns(void **state)
{
  struct talk t = talk_begin(state);
  talk_event(&t, "message", "{\"role\":\"user\",\"content\":\"begun elsewhere\"}");
  talk_event(&t, "message", "{\"role\":\"system\",\"content\":\"no part of it\"}");
  talk_event(&t, "tool", "{\"call_id\":\"h1\",\"name\":\"bash\",\"status\":\"intended\",\"input\":{}}");
  talk_event(&t, "tool", "{\"call_id\":\"h1\",\"name\":\"bash\",\"status\":\"done\",\"output\":1}");
  talk_ask(&t, "go");
  talk_event(&t, "message", "{\"role\":\"user\",\"content\":\"go\"}");
  talk_event(&t, "tool", "{\"call_id\":\"h2\",\"name\":\"bash\",\"status\":\"done\"}");
  talk_done(&t);
  talk_event(&t, "message", "{\"role\":\"assistant\",\"content\":[" BLOCK("later") "]}");
  talk_replay(&t, false);
  EXPECT(&t, USER("begun elsewhere"),
         "{\"sessionUpdate\":\"tool_call\",\"toolCallId\":\"h1\",\"title\":\"bash\",\"status\":\"pending\","
         "\"rawInput\":{}}",
         "{\"sessionUpdate\":\"tool_call_update\",\"toolCallId\":\"h1\",\"title\":\"bash\",\"status\":\"completed\","
         "\"rawOutput\":1}",
         USER("go"), AGENT("later"));
  talk_end(&t);
}

static int64_t seq_now(struct talk *t)
{
  rp_error err = {0};
  int64_t seq;
  OK(rp_wait(t->s, -1, 0, &seq, &err), err);
  return seq;
}

/* A session that was set back has only what counts. */
static void what_was_undone_is_not_told(void **state)
{
  struct talk t = talk_begin(state);
  rp_error err = {0};
  talk_ask(&t, "one");
  talk_update(&t, "{\"sessionUpdate\":\"current_mode_update\",\"currentModeId\":\"a\"}");
  talk_done(&t);
  int64_t one = seq_now(&t);
  talk_ask(&t, "two");
  talk_update(&t, "{\"sessionUpdate\":\"current_mode_update\",\"currentModeId\":\"b\"}");
  int64_t two = seq_now(&t);
  OK(rp_restore(t.s, one, NULL, &err), err);
  talk_ask(&t, "three");
  OK(rp_restore(t.s, two, NULL, &err), err);
  talk_ask(&t, "four");
  OK(rp_restore(t.s, one, NULL, &err), err);
  talk_ask(&t, "five");
  talk_replay(&t, false);
  EXPECT(&t, USER("one"), "{\"sessionUpdate\":\"current_mode_update\",\"currentModeId\":\"a\"}", USER("five"));
  talk_end(&t);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)
  const struct CMUnitTest tests[] = {
      TEST(nothing_is_told_of_nothing),     TEST(chunks_are_one_message),
      TEST(other_blocks_stay_blocks),       TEST(metadata_is_kept),
      TEST(a_repeated_prompt_is_told_once), TEST(state_is_told_where_its_last_value_stands),
      TEST(calls_left_open_are_closed),     TEST(an_agent_that_died_ends_its_calls),
      TEST(a_terminal_is_what_it_showed),   TEST(a_compaction_is_told_once),
      TEST(nonsense_is_not_told),           TEST(guests_are_heard_between_turns),
      TEST(what_was_undone_is_not_told),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
