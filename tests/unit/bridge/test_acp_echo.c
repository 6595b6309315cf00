/* SPDX-License-Identifier: Apache-2.0 */
/* O-05: an agent that repeats the conversation, late and in whatever pieces, says nothing new; anything else is news.
 */
#include "unit/bridge/acp_past.h"

struct heard {
  struct talk t;
  struct rp__echo *e;
};

static struct heard hear(void **state)
{
  struct heard h = {.t = talk_begin(state)};
  struct talk *t = &h.t;
  rp_error err = {0};
  talk_prompt(t, "{\"prompt\":[{\"type\":\"text\",\"text\":\"one \"},{\"type\":\"text\",\"text\":\"two\"}]}");
  talk_chunk(t, "agent_message_chunk", "m", "This is the first answer, ");
  talk_chunk(t, "agent_message_chunk", "m", "which is long.");
  talk_update(t, "{\"sessionUpdate\":\"tool_call\",\"toolCallId\":\"c\",\"title\":\"Edit\"}");
  talk_update(t, "{\"sessionUpdate\":\"plan\",\"entries\":[]}");
  talk_chunk(t, "agent_message_chunk", "n", "OK");
  talk_done(t);
  talk_ask(t, "three");
  talk_chunk(t, "agent_message_chunk", "o", "OK");
  talk_done(t);
  OK(rp__echo_new(t->s, &h.e, &err), err);
  return h;
}

static void hush(struct heard *h)
{
  rp__echo_free(h->e);
  talk_end(&h->t);
}

#define KNOWN(h, update) assert_true(rp__echo_known((h)->e, parsed(update)))
#define NEWS(h, update) assert_false(rp__echo_known((h)->e, parsed(update)))
#define TOOL(title) "{\"sessionUpdate\":\"tool_call\",\"toolCallId\":\"c\",\"title\":\"" title "\"}"
#define TOOL_DONE "{\"sessionUpdate\":\"tool_call_update\",\"toolCallId\":\"c\",\"status\":\"completed\"}"

static void a_whole_replay_is_known(void **state)
{
  struct heard h = hear(state);
  KNOWN(&h, USER("one two"));
  KNOWN(&h, AGENT("This is the first answer, which is long."));
  KNOWN(&h, TOOL("Edit"));
  KNOWN(&h, TOOL_DONE);
  KNOWN(&h, "{\"sessionUpdate\":\"plan\",\"entries\":[]}");
  KNOWN(&h, AGENT("OK"));
  KNOWN(&h, USER("three"));
  KNOWN(&h, AGENT("OK"));
  NEWS(&h, AGENT("OK")); /* said a third time */
  NEWS(&h, USER("one two"));
  hush(&h);
}

static void pieces_are_known(void **state)
{
  struct heard h = hear(state);
  KNOWN(&h, USER("one "));
  KNOWN(&h, USER("two"));
  KNOWN(&h, AGENT("This is the first answer"));
  KNOWN(&h, AGENT(", "));
  KNOWN(&h, AGENT("which is long."));
  NEWS(&h, AGENT("which is long."));
  hush(&h);
}

/* An agent that replays only a part of it. */
static void gaps_are_fine(void **state)
{
  struct heard h = hear(state);
  KNOWN(&h, AGENT("This is the first answer, which is long."));
  KNOWN(&h, USER("three"));
  NEWS(&h, USER("one two"));
  hush(&h);
}

static void news_is_news(void **state)
{
  struct heard h = hear(state);
  NEWS(&h, AGENT("Something else"));
  assert_false(rp__echo_begun(h.e));
  NEWS(&h, AGENT(""));
  NEWS(&h, TEXT("agent_thought_chunk", "OK"));
  NEWS(&h, USER("OK"));
  NEWS(&h, "{\"sessionUpdate\":\"plan\",\"entries\":[1]}");
  NEWS(&h, "{\"sessionUpdate\":\"current_mode_update\",\"currentModeId\":\"a\"}");
  NEWS(&h, "{\"sessionUpdate\":\"agent_message_chunk\"}");
  NEWS(&h, "{}");
  hush(&h);
}

#define NEXT(h, update) assert_true(rp__echo_next((h)->e, parsed(update)))
#define NOT_NEXT(h, update) assert_false(rp__echo_next((h)->e, parsed(update)))

/* During a turn: what is next in order, and nothing that may as well be an answer. */
static void in_a_turn_order_counts(void **state)
{
  struct heard h = hear(state);
  NOT_NEXT(&h, AGENT("This is the first answer, which is long.")); /* the question is not told yet */
  KNOWN(&h, USER("one "));
  NOT_NEXT(&h, AGENT("OK"));
  NEXT(&h, USER("two"));
  NOT_NEXT(&h, AGENT("Th")); /* the beginning of much */
  NOT_NEXT(&h, AGENT("OK"));
  NOT_NEXT(&h, TOOL("Edit"));
  NEXT(&h, AGENT("This is the first answer, "));
  NOT_NEXT(&h, AGENT("OK"));
  NEXT(&h, AGENT("which"));
  NEXT(&h, AGENT(" is long."));
  NEXT(&h, AGENT("OK")); /* a call and a plan may be left out */
  NOT_NEXT(&h, AGENT("OK"));
  assert_false(rp__echo_over(h.e));
  NEXT(&h, USER("three"));
  NEXT(&h, AGENT("OK"));
  assert_true(rp__echo_over(h.e));
  NOT_NEXT(&h, AGENT("OK"));
  hush(&h);
}

/* Ids of calls come again in every turn: a call that is not a repeat takes its updates with it. */
static void a_call_with_an_old_id_is_news(void **state)
{
  struct heard h = hear(state);
  NEWS(&h, TOOL_DONE);
  KNOWN(&h, TOOL("Edit"));
  KNOWN(&h, TOOL_DONE);
  NEWS(&h, TOOL("Edit"));
  NEWS(&h, TOOL_DONE);
  hush(&h);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)
  const struct CMUnitTest tests[] = {
      TEST(a_whole_replay_is_known), TEST(pieces_are_known),
      TEST(gaps_are_fine),           TEST(news_is_news),
      TEST(in_a_turn_order_counts),  TEST(a_call_with_an_old_id_is_news),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
