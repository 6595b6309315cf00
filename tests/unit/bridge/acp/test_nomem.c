/* SPDX-License-Identifier: Apache-2.0 */
/* B-06: without memory nothing of the proxy's record is wrong: what is told is whole, or there is an error. */
#include "unit/bridge/acp/conversation.h"

#include "unit/core/alloc_fault.h"

static struct talk talk;
static char *whole; /* what comes out when nothing fails */

/* Every allocation fails once. `work` gives RP_E_NOMEM, or what it gives without a failure. */
static void each(int (*work)(struct rp__buf *out))
{
  long failures = 0;
  for (long n = -1;; n++) {
    struct rp__buf out = RP_BUF(16 * 1024 * 1024);
    alloc_failed = 0;
    alloc_countdown = n;
    int rc = work(&out);
    alloc_countdown = -1;
    if (n < 0) {
      assert_int_equal(rc, 0);
      whole = rp__buf_take(&out);
      continue;
    }
    if (rc != RP_E_NOMEM && rc != 0) fail_msg("allocation %ld failed: %d", n, rc);
    if (rc == 0 && !out.err) assert_string_equal(out.p, whole);
    rp__buf_done(&out);
    if (!alloc_failed) break;
    failures += rc != 0;
  }
  assert_true(failures > 0);
  free(whole);
}

static void tell_story(struct talk *t)
{
  talk_ask(t, "go \\\\u00e9");
  talk_chunk(t, "user_message_chunk", NULL, "go");
  for (int i = 0; i < 3; i++) talk_chunk(t, "agent_message_chunk", "m", "piece ");
  talk_request(t, "0", "terminal/create", "{\"command\":\"ls\"}");
  talk_answer(t, "0", "terminal/create", "{\"terminalId\":\"T\"}");
  talk_update(t, "{\"sessionUpdate\":\"tool_call\",\"toolCallId\":\"c\",\"title\":\"t\",\"content\":[{\"type\":"
                 "\"terminal\",\"terminalId\":\"T\"}]}");
  talk_request(t, "1", "terminal/output", "{\"terminalId\":\"T\"}");
  talk_answer(t, "1", "terminal/output", "{\"output\":\"out\",\"truncated\":false}");
  talk_update(t, "{\"sessionUpdate\":\"compaction_update\",\"compactionId\":\"k\",\"status\":\"completed\","
                 "\"summary\":[{\"type\":\"text\",\"text\":\"s\"}]}");
  talk_update(t, "{\"sessionUpdate\":\"plan\",\"entries\":[]}");
  talk_done(t);
}

static int begin(void **state)
{
  int rc = rig_setup(state);
  if (rc) return rc;
  talk = talk_begin(state);
  tell_story(&talk);
  talk_crash(&talk);
  return 0;
}

static int end(void **state)
{
  talk_end(&talk);
  return rig_teardown(state);
}

static int add_line(void *ctx, const char *update, size_t n)
{
  struct rp__buf *out = ctx;
  rp__buf_add(out, update, n);
  rp__buf_char(out, '\n');
  return out->err;
}

static int replay_all(struct rp__buf *out)
{
  struct rp__replay *r;
  bool more = true;
  rp_error err = {0};
  int rc = rp__replay_new(talk.s, true, &r, &err);
  if (rc) return rc;
  while (!rc && more) rc = rp__replay_step(r, add_line, out, &more, &err);
  rp__replay_free(r);
  return rc;
}

static int history(struct rp__buf *out)
{
  rp_error err = {0};
  return rp__history_text(talk.s, RP_HISTORY_MAX, out, &err);
}

static int echo(struct rp__buf *out)
{
  struct rp__acp_transcript *e;
  rp_error err = {0};
  int rc = rp__acp_transcript_new(talk.s, -1, &e, &err);
  if (rc) return rc;
  rp__acp_transcript_free(e);
  rp__buf_str(out, "made");
  return out->err;
}

static int book(struct rp__buf *out)
{
  struct rp__known_calls b;
  rp_error err = {0};
  int rc = rp__known_calls_load(talk.s, &b, &err);
  if (!rc) rp__buf_printf(out, "%lld %s", (long long)b.turn, b.calls[0].name);
  return rc ? rc : out->err;
}

static const char *const messages[] = {
    "{\"sessionUpdate\":\"agent_message_chunk\",\"content\":{\"type\":\"text\",\"text\":\"x\"},\"messageId\":\"m\"}",
    "{\"sessionUpdate\":\"tool_call\",\"toolCallId\":\"c\\u0041\",\"title\":\"t\\u0041\",\"rawInput\":{}}",
    "{\"sessionUpdate\":\"session_info_update\",\"title\":\"T\"}",
};

static int notes(struct rp__buf *out)
{
  struct rp__known_calls b = {0};
  struct rp__acp_events n = RP_ACP_EVENTS;
  rp_error err = {0};
  int rc = 0;
  for (size_t i = 0; !rc && i < RP_ARRAY_SIZE(messages); i++) {
    struct rp__json update = rp__json_trusted(messages[i], strlen(messages[i]));
    rc = rp__acp_event_update(&b, update, &n, &err);
    for (size_t k = 0; !rc && k < n.n; k++) add_line(out, n.bytes.p + n.v[k].at, n.v[k].n);
  }
  rp__acp_events_done(&n);
  return rc ? rc : out->err;
}

static void replay_fails_well(void **state)
{
  (void)state;
  each(replay_all);
}

static void history_fails_well(void **state)
{
  (void)state;
  each(history);
}

static void echo_fails_well(void **state)
{
  (void)state;
  each(echo);
}

static void book_fails_well(void **state)
{
  (void)state;
  each(book);
}

static void notes_fail_well(void **state)
{
  (void)state;
  each(notes);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
  const struct CMUnitTest tests[] = {
      TEST(replay_fails_well), TEST(history_fails_well), TEST(echo_fails_well),
      TEST(book_fails_well),   TEST(notes_fail_well),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
