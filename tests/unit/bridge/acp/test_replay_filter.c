/* SPDX-License-Identifier: Apache-2.0 */
/* O-05: an agent that repeats the conversation, late and in whatever pieces, says nothing new; anything else is news.
 */
#include "unit/bridge/acp/conversation.h"

struct heard {
  struct talk t;
  struct rp__acp_transcript *e;
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
  OK(rp__acp_transcript_new(t->s, -1, &h.e, &err), err);
  return h;
}

static void hush(struct heard *h)
{
  rp__acp_transcript_free(h->e);
  talk_end(&h->t);
}

#define KNOWN(h, update) assert_true(rp__acp_transcript_known((h)->e, parsed(update)))
#define NEWS(h, update) assert_false(rp__acp_transcript_known((h)->e, parsed(update)))
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
  assert_false(rp__acp_transcript_begun(h.e));
  NEWS(&h, AGENT(""));
  NEWS(&h, TEXT("agent_thought_chunk", "OK"));
  NEWS(&h, USER("OK"));
  NEWS(&h, "{\"sessionUpdate\":\"plan\",\"entries\":[1]}");
  NEWS(&h, "{\"sessionUpdate\":\"current_mode_update\",\"currentModeId\":\"a\"}");
  NEWS(&h, "{\"sessionUpdate\":\"agent_message_chunk\"}");
  NEWS(&h, "{}");
  hush(&h);
}

#define NEXT(h, update) assert_true(rp__acp_transcript_next((h)->e, parsed(update)))
#define NOT_NEXT(h, update) assert_false(rp__acp_transcript_next((h)->e, parsed(update)))

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
  assert_false(rp__acp_transcript_over(h.e));
  assert_true(rp__acp_transcript_ahead(h.e));
  NEXT(&h, USER("three"));
  assert_false(rp__acp_transcript_ahead(h.e));
  NEXT(&h, AGENT("OK"));
  assert_true(rp__acp_transcript_over(h.e));
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

/* An agent that tells what it thought behind what it said, and calls its tools otherwise, repeats all the same. */
static void another_order_is_known(void **state)
{
  struct heard h = hear(state);
  KNOWN(&h, AGENT("This is the first answer, which is long."));
  KNOWN(&h, AGENT("OK"));
  KNOWN(&h, TOOL("edit_file")); /* while no turn runs the id is enough */
  KNOWN(&h, TOOL_DONE);
  KNOWN(&h, "{\"sessionUpdate\":\"plan\",\"entries\":[]}");
  NEWS(&h, TOOL("edit_file"));
  NEWS(&h, "{\"sessionUpdate\":\"plan\",\"entries\":[]}");
  NEWS(&h, AGENT("This is the first answer, which is long."));
  hush(&h);
}

/* Calls that began with an update, as some agents do, are repeated as calls. */
static void a_call_without_a_beginning_is_known(void **state)
{
  struct talk t = talk_begin(state);
  struct rp__acp_transcript *e;
  rp_error err = {0};
  talk_ask(&t, "go");
  talk_update(&t, TOOL_DONE);
  talk_update(&t, TOOL_DONE);
  talk_done(&t);
  OK(rp__acp_transcript_new(t.s, -1, &e, &err), err);
  assert_true(rp__acp_transcript_known(e, parsed(TOOL("Shell"))));
  assert_true(rp__acp_transcript_known(e, parsed(TOOL_DONE)));
  assert_false(rp__acp_transcript_known(e, parsed(TOOL("Shell")))); /* one call, once */
  rp__acp_transcript_free(e);
  talk_end(&t);
}

static void white_space_does_not_count(void **state)
{
  struct heard h = hear(state);
  NEWS(&h, AGENT(" \\n")); /* nothing is repeated yet */
  KNOWN(&h, USER("one\\n\\ntwo\\n"));
  KNOWN(&h, AGENT(" \\n"));
  NOT_NEXT(&h, AGENT(" \\n"));
  KNOWN(&h, AGENT("This is the first answer,\\nwhich is long. "));
  hush(&h);
}

/* what the journal has without its secret is known by what stands around it. */
static void redacted_texts_are_known(void **state)
{
  struct talk t = talk_begin(state);
  struct rp__acp_transcript *e;
  rp_error err = {0};
  talk_ask(&t, "go");
  talk_chunk(&t, "agent_message_chunk", "m", "the token ghp_0123456789abcdefghijklmnopqrstuvwxyz is it");
  talk_chunk(&t, "agent_message_chunk", "n", "ghp_0123456789abcdefghijklmnopqrstuvwxyz");
  talk_done(&t);
  OK(rp__acp_transcript_new(t.s, -1, &e, &err), err);
  assert_true(rp__acp_transcript_known(e, parsed(USER("go"))));
  assert_false(rp__acp_transcript_known(e, parsed(AGENT("the token is not it"))));
  assert_true(rp__acp_transcript_known(e, parsed(AGENT("the token ghp_0123456789abcdefghijklmnopqrstuvwxyz is it"))));
  assert_false(rp__acp_transcript_known(e, parsed(AGENT("anything")))); /* nothing is left of the other one */
  rp__acp_transcript_free(e);
  talk_end(&t);
}

/* The journal's events have only the beginning of what is very long. */
static void spilled_texts_are_known(void **state)
{
  struct talk t = talk_begin(state);
  struct rp__acp_transcript *e;
  rp_error err = {0};
  struct rp__buf text RP_AUTOBUF = RP_BUF((size_t)8 << 20), update RP_AUTOBUF = RP_BUF((size_t)8 << 20);
  for (int i = 0; i < 200 * 1000; i++) rp__buf_printf(&text, "%06d ", i);
  talk_chunk(&t, "agent_message_chunk", "m", text.p);
  OK(rp__acp_transcript_new(t.s, -1, &e, &err), err);
  rp__buf_printf(&update, TEXT("agent_message_chunk", "%s"), text.p);
  assert_false(rp__acp_transcript_known(e, parsed(AGENT("000000 and so on"))));
  assert_true(rp__acp_transcript_known(e, parsed(update.p)));
  assert_false(rp__acp_transcript_known(e, parsed(update.p)));
  rp__acp_transcript_free(e);
  talk_end(&t);
}

/* Some thousand messages are remembered from the first one on. */
static void a_long_conversation_is_known(void **state)
{
  struct talk t = talk_begin(state);
  struct rp__acp_transcript *e;
  rp_error err = {0};
  char text[32], update[128];
  for (int i = 0; i < 2100; i++) {
    snprintf(text, sizeof text, "%d.", i);
    talk_chunk(&t, i % 2 ? "agent_message_chunk" : "agent_thought_chunk", NULL, text);
  }
  OK(rp__acp_transcript_new(t.s, -1, &e, &err), err);
  assert_false(rp__acp_transcript_cut(e));
  assert_false(rp__acp_transcript_known(e, parsed(AGENT("0."))));
  for (int i = 1; i < 2100; i += 2) {
    snprintf(update, sizeof update, AGENT("%d."), i);
    assert_true(rp__acp_transcript_known(e, parsed(update)));
  }
  assert_true(rp__acp_transcript_over(e));
  rp__acp_transcript_free(e);
  talk_end(&t);
}

#define MANY 800 /* of 16 KiB: more than is remembered */

static bool repeats(struct rp__acp_transcript *e, const char *kind, const char *text)
{
  struct rp__buf update RP_AUTOBUF = RP_BUF((size_t)1 << 20);
  rp__buf_printf(&update, TEXT("%s", "%s"), kind, text);
  return rp__acp_transcript_known(e, parsed(update.p));
}

/*
 * Of a conversation that is longer than what is remembered, the beginning is not taken for news, though some of it
 * looks like what is remembered, or like the beginning of that.
 */
static void a_forgotten_beginning_is_no_news(void **state)
{
  struct talk t = talk_begin(state);
  struct rp__acp_transcript *e;
  rp_error err = {0};
  static char text[16 * 1024];
  memset(text, 'x', sizeof text - 1);
  for (int i = 0; i < MANY; i++) {
    snprintf(text, 8, "%06d.", i);
    text[7] = 'x';
    talk_chunk(&t, "agent_message_chunk", NULL, text);
    talk_chunk(&t, "agent_thought_chunk", NULL, "OK");
  }
  OK(rp__acp_transcript_new(t.s, -1, &e, &err), err);
  assert_true(rp__acp_transcript_cut(e));
  assert_true(repeats(e, "agent_message_chunk", "000001.x"));
  assert_true(repeats(e, "agent_message_chunk", "0007")); /* too short for a place */
  assert_false(rp__acp_transcript_begun(e));
  assert_false(rp__acp_transcript_known(e, parsed("{\"sessionUpdate\":\"usage_update\",\"used\":1}")));
  assert_true(repeats(e, "agent_thought_chunk", "OK")); /* the first one, not the first that is remembered */
  assert_true(repeats(e, "agent_message_chunk", "000002.x"));
  assert_false(rp__acp_transcript_begun(e));
  for (int i = MANY - 3; i < MANY; i++) {
    snprintf(text, 8, "%06d.", i);
    text[7] = 'x';
    assert_true(repeats(e, "agent_message_chunk", text));
  }
  assert_false(repeats(e, "agent_message_chunk", "000003.x"));
  rp__acp_transcript_free(e);
  talk_end(&t);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)
  const struct CMUnitTest tests[] = {
      TEST(a_whole_replay_is_known),
      TEST(pieces_are_known),
      TEST(gaps_are_fine),
      TEST(news_is_news),
      TEST(in_a_turn_order_counts),
      TEST(a_call_with_an_old_id_is_news),
      TEST(a_call_without_a_beginning_is_known),
      TEST(another_order_is_known),
      TEST(white_space_does_not_count),
      TEST(redacted_texts_are_known),
      TEST(spilled_texts_are_known),
      TEST(a_long_conversation_is_known),
      TEST(a_forgotten_beginning_is_no_news),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
