/* SPDX-License-Identifier: Apache-2.0 */
/* O-05, B-06: what is long, deep, secret or much is told again whole, in steps and with little memory. */
#include <malloc.h>

#include "unit/bridge/acp/conversation.h"

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

/* Over the store's limit a message lives in a blob, and is told whole. */
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
  OK(rp__replay_new(t->s, false, &r, &err), err);
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
  OK(rp__replay_new(t.s, false, &r, &err), err);
  assert_int_equal(rp__replay_step(r, stop_at_two, &seen, &more, &err), 77);
  assert_int_equal(seen, 2);
  rp__replay_free(r);
  talk_end(&t);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)
  const struct CMUnitTest tests[] = {
      TEST(a_long_message_comes_in_pieces), TEST(what_is_too_large_comes_back),
      TEST(what_is_too_deep_comes_back),    TEST(secrets_stay_masked),
      TEST(many_events_come_in_steps),      TEST(memory_does_not_grow),
      TEST(who_listens_may_stop),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
