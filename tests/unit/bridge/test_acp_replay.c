/* SPDX-License-Identifier: Apache-2.0 */
/* O-05, B-06: a journal told again is the conversation as it was, each rule of the replay by itself. */
#include <malloc.h>

#include "unit/bridge/acp_past.h"

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

#define CALL(id) "{\"sessionUpdate\":\"tool_call\",\"toolCallId\":\"" id "\",\"title\":\"t\",\"kind\":\"edit\""

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

/* ---- large ones ---------------------------------------------------------------------------------------- */

static char *long_text(size_t n)
{
  char *text = malloc(n + 1);
  for (size_t i = 0; i < n; i++) text[i] = i % 7 == 6 ? ' ' : (char)('a' + i % 7);
  text[n] = '\0';
  return text;
}

static size_t text_bytes(const char *update)
{
  struct rp__json text = rp__json_get(rp__json_get(parsed(update), "content"), "text");
  return text.n - 2;
}

static void a_long_message_comes_in_pieces(void **state)
{
  struct talk t = talk_begin(state);
  char *text = long_text(70 * 1000);
  for (int i = 0; i < 10; i++) talk_chunk(&t, "agent_message_chunk", "m", text);
  talk_done(&t);
  talk_replay(&t, false);
  assert_int_equal(t.n_told, 4);
  size_t all = 0;
  for (size_t i = 0; i < t.n_told; i++) {
    assert_string_equal(rig_get(t.told[i], "messageId"), "\"m\"");
    assert_true(text_bytes(t.told[i]) <= 256 * 1024);
    all += text_bytes(t.told[i]);
  }
  assert_int_equal(all, 700 * 1000);
  free(text);
  talk_end(&t);
}

/* Decision 16: over the store's limit a message lives in a blob, and is told whole. */
static void what_is_too_large_comes_back(void **state)
{
  struct talk t = talk_begin(state);
  char *text = long_text(3 * 1024 * 1024);
  struct rp__buf call RP_AUTOBUF = RP_BUF(16 * 1024 * 1024);
  talk_ask(&t, "go");
  talk_chunk(&t, "agent_message_chunk", "m", text);
  talk_chunk(&t, "agent_message_chunk", "m", "tail");
  rp__buf_str(&call, CALL("c") ",\"status\":\"completed\",\"rawInput\":\"");
  rp__buf_str(&call, text);
  rp__buf_str(&call, "\"}");
  talk_update(&t, call.p);
  talk_done(&t);
  talk_replay(&t, false);
  assert_int_equal(t.n_told, 4);
  assert_int_equal(text_bytes(t.told[1]), 3 * 1024 * 1024);
  assert_int_equal(text_bytes(t.told[2]), 4);
  assert_string_equal(t.told[3], call.p);
  char *doc = rig_state(t.s, -1);
  assert_non_null(strstr(rig_get(doc, "tools"), "\"status\":\"done\""));
  assert_non_null(strstr(doc, "kept as a blob"));
  free(doc);
  free(text);
  talk_end(&t);
}

static void what_is_too_deep_comes_back(void **state)
{
  struct talk t = talk_begin(state);
  char update[512] = "{\"sessionUpdate\":\"_deep\",\"v\":";
  for (int i = 0; i < 90; i++) strncat(update, "[", 2);
  for (int i = 0; i < 90; i++) strncat(update, "]", 2);
  strncat(update, "}", 2);
  talk_update(&t, update);
  talk_replay(&t, false);
  EXPECT(&t, update);
  talk_end(&t);
}

/* An engine with its threads, as the proxy has it: only that one holds back what may become a secret. */
static void open_long(struct rig *r)
{
  rp_error err = {0};
  rp_close(r->e);
  OK(rp_open(&(rp_options){.db = r->url}, &r->e, &err), err);
}

/* a secret that came in two pieces is masked in both; what was held back is told with the end. */
static void secrets_stay_masked(void **state)
{
  open_long(*state);
  struct talk t = talk_begin(state);
  talk_ask(&t, "go");
  talk_chunk(&t, "agent_message_chunk", NULL, "token ghp_0123456789abcdefghij");
  talk_chunk(&t, "agent_message_chunk", NULL, "klmnopqrstuvwxyz and on");
  talk_done(&t);
  talk_replay(&t, false);
  assert_int_equal(t.n_told, 2);
  assert_null(strstr(t.told[1], "0123456789"));
  assert_null(strstr(t.told[1], "klmnop"));
  assert_non_null(strstr(t.told[1], "[REDACTED]"));
  assert_non_null(strstr(t.told[1], "and on"));
  talk_ask(&t, "more");
  talk_chunk(&t, "agent_message_chunk", "m", "it is no token: ghp_0123");
  talk_update(&t, "{\"sessionUpdate\":\"plan\",\"entries\":[]}");
  talk_replay(&t, false);
  assert_string_equal(t.told[3], TEXT_ID("agent_message_chunk", "it is no token: ghp_0123", "m"));
  talk_end(&t);
}

static void many_events_come_in_steps(void **state)
{
  struct talk t = talk_begin(state);
  for (int i = 0; i < 200; i++) {
    talk_ask(&t, "q");
    talk_chunk(&t, "agent_message_chunk", NULL, "a");
    talk_done(&t);
  }
  talk_replay(&t, false);
  assert_int_equal(t.n_told, 400);
  assert_true(t.most <= RP_REPLAY_STEP);
  for (int i = 0; i < 400; i++) assert_string_equal(t.told[i], i % 2 ? AGENT("a") : USER("q"));
  talk_end(&t);
}

static void say_much(struct talk *t, int turns)
{
  for (int i = 0; i < turns; i++) {
    talk_ask(t, "a question of some length");
    talk_update(t, CALL("c") ",\"status\":\"completed\"}");
    talk_chunk(t, "agent_message_chunk", "m", "an answer that is a bit longer than its question was");
  }
}

static int hear_nothing(void *ctx, const char *update, size_t n)
{
  (void)update;
  *(size_t *)ctx += n;
  return 0;
}

/* Bytes of memory that the replay itself had at most at the end of a step; what the store keeps in mind is its own. */
static size_t own_memory(struct talk *t)
{
  rp_error err = {0};
  struct rp__replay *r;
  size_t most = 0, told = 0;
  bool more = true;
  OK(rp__replay_new(t->s, &(struct rp__replay_options){0}, &r, &err), err);
  while (more) {
    OK(rp__replay_step(r, hear_nothing, &told, &more, &err), err);
    most = RP_MAX(most, mallinfo2().uordblks);
  }
  rp__replay_free(r);
  assert_true(told > 0);
  size_t left = mallinfo2().uordblks;
  return most > left ? most - left : 0;
}

/* B-06: a long session is told with the memory of a short one. */
static void memory_does_not_grow(void **state)
{
  struct talk t = talk_begin(state);
  say_much(&t, 50);
  size_t small = own_memory(&t);
  say_much(&t, 1200);
  own_memory(&t); /* by now the store has in mind what it wants to */
  size_t large = own_memory(&t);
  if (large > small + 64 * 1024) fail_msg("%zu bytes for a long session, %zu for a short one", large, small);
  talk_end(&t);
}

static int stop_at_two(void *ctx, const char *update, size_t n)
{
  int *seen = ctx;
  (void)update;
  (void)n;
  return ++*seen == 2 ? 77 : 0;
}

static void who_listens_may_stop(void **state)
{
  struct talk t = talk_begin(state);
  rp_error err = {0};
  struct rp__replay *r;
  int seen = 0;
  bool more;
  for (int i = 0; i < 3; i++) talk_ask(&t, "q");
  OK(rp__replay_new(t.s, &(struct rp__replay_options){0}, &r, &err), err);
  assert_int_equal(rp__replay_step(r, stop_at_two, &seen, &more, &err), 77);
  assert_int_equal(seen, 2);
  rp__replay_free(r);
  talk_end(&t);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)
  const struct CMUnitTest tests[] = {
      TEST(nothing_is_told_of_nothing),
      TEST(chunks_are_one_message),
      TEST(other_blocks_stay_blocks),
      TEST(metadata_is_kept),
      TEST(a_repeated_prompt_is_told_once),
      TEST(state_is_told_where_its_last_value_stands),
      TEST(calls_left_open_are_closed),
      TEST(an_agent_that_died_ends_its_calls),
      TEST(a_terminal_is_what_it_showed),
      TEST(a_compaction_is_told_once),
      TEST(nonsense_is_not_told),
      TEST(guests_are_heard_between_turns),
      TEST(what_was_undone_is_not_told),
      TEST(a_long_message_comes_in_pieces),
      TEST(what_is_too_large_comes_back),
      TEST(what_is_too_deep_comes_back),
      TEST(secrets_stay_masked),
      TEST(many_events_come_in_steps),
      TEST(memory_does_not_grow),
      TEST(who_listens_may_stop),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
