/* SPDX-License-Identifier: Apache-2.0 */
/* B-08: search over everything said, unable to drift from the journal. */
#include "suite.h"

#include <string.h>

static const char *hits(struct suite *f, const char *words, const char *scope, int limit)
{
  static struct ids ids;
  ids = (struct ids){0};
  assert_int_equal(f->s->ops->search(f->s, words, scope, limit, ids_hit, &ids, &f->err), 0);
  return ids.text;
}

static void all_words_must_be_there(void **state)
{
  struct suite *f = *state;
  suite_put(f, "a");
  suite_say(f, "a", "the quick brown fox");
  suite_say(f, "a", "the brown and quick dog");
  suite_say(f, "a", "nothing of the kind");
  assert_string_equal(hits(f, "fox", NULL, 0), "a:1 ");
  assert_string_equal(hits(f, "quick dog", NULL, 0), "a:2 ");
  assert_string_equal(hits(f, "FOX Brown", NULL, 0), "a:1 ");
  assert_string_equal(hits(f, "\"quick brown\"", NULL, 0), "a:1 ");
  assert_string_equal(hits(f, "\"brown quick\"", NULL, 0), "");
  assert_string_equal(hits(f, "kin*", NULL, 0), "a:3 ");
  assert_string_equal(hits(f, "kin", NULL, 0), "");
  assert_string_equal(hits(f, "fox dog", NULL, 0), "");
}

/* What a user types is never syntax. */
static void nothing_is_syntax(void **state)
{
  struct suite *f = *state;
  static const char *const hostile[] = {
      "fox OR dog", "fox NOT x",    "text:fox", "NEAR(fox dog)", "fox AND", "(fox",  "fox)", "^fox",      "{text}:fox",
      "- fox",      "\"unfinished", "a\"b\"c",  "'; DROP",       "*",       "fox**", "\"\"", "fox \" \"", "+fox"};
  suite_put(f, "a");
  suite_say(f, "a", "fox");
  for (size_t i = 0; i < RP_ARRAY_SIZE(hostile); i++) {
    struct ids ids = {0};
    int rc = f->s->ops->search(f->s, hostile[i], NULL, 0, ids_hit, &ids, &f->err);
    if (rc != 0 && rc != RP_E_USAGE) print_error("%s: %s\n", hostile[i], f->err.message);
    assert_true(rc == 0 || rc == RP_E_USAGE);
  }
  assert_string_equal(hits(f, "fox OR dog", NULL, 0), "");
  struct ids ids = {0};
  assert_int_equal(f->s->ops->search(f->s, " ?! ", NULL, 0, ids_hit, &ids, &f->err), RP_E_USAGE);
  assert_int_equal(f->s->ops->search(f->s, "", NULL, 0, ids_hit, &ids, &f->err), RP_E_USAGE);
}

static void scopes_and_limits(void **state)
{
  struct suite *f = *state;
  struct rp__session_row row = row_new("t", "other", NULL);
  struct rp__op op = op_put(&row);
  assert_int_equal(suite_op(f, &op), 0);
  suite_put(f, "a");
  suite_say(f, "t", "fish");
  for (int i = 0; i < 30; i++) suite_say(f, "a", "fish");
  assert_string_equal(hits(f, "fish", "other", 0), "t:1 ");
  assert_string_equal(hits(f, "fish", "nowhere", 0), "");
  struct ids ids = {0};
  assert_int_equal(f->s->ops->search(f->s, "fish", NULL, 7, ids_hit, &ids, &f->err), 0);
  assert_int_equal(ids.n, 7);
  ids = (struct ids){.stop_after = 2};
  assert_int_equal(f->s->ops->search(f->s, "fish", NULL, 7, ids_hit, &ids, &f->err), 77);
}

static int snippet_check(void *ctx, const rp_hit *hit)
{
  assert_string_equal(hit->snippet, ctx);
  assert_string_equal(hit->session_id, "a");
  assert_string_equal(hit->scope, "s");
  assert_string_equal(hit->kind, "message");
  assert_int_equal(hit->at_ms, NOW);
  assert_true(hit->rank < 0);
  return 0;
}

static void snippets_show_what_was_found(void **state)
{
  struct suite *f = *state;
  char want[] = "user a [cat] and another [Cat] sat";
  suite_put(f, "a");
  suite_say(f, "a", "a cat and another Cat sat");
  assert_int_equal(f->s->ops->search(f->s, "cat", NULL, 0, snippet_check, want, &f->err), 0);
}

static void the_best_comes_first(void **state)
{
  struct suite *f = *state;
  suite_put(f, "a");
  suite_say(f, "a", "one rose among many other flowers that nobody counted in this garden");
  suite_say(f, "a", "rose rose rose");
  assert_string_equal(hits(f, "rose", NULL, 1), "a:2 ");
}

static void sealed_events_are_not_found(void **state)
{
  struct suite *f = *state;
  struct rp__new_event ev = event_new("message", "{\"content\":\"whisper\"}");
  ev.sealed = true;
  suite_put(f, "a");
  struct rp__op op = op_append("a", &ev, 1);
  assert_int_equal(suite_op(f, &op), 0);
  assert_string_equal(hits(f, "whisper", NULL, 0), "");
}

static void deleted_and_replaced_events_are_gone(void **state)
{
  struct suite *f = *state;
  struct rp__new_event ev = event_new("message", "{\"content\":\"plum\"}");
  suite_put(f, "a");
  suite_put(f, "b");
  suite_say(f, "a", "apple");
  suite_say(f, "b", "apple");
  assert_int_equal(strlen(hits(f, "apple", NULL, 0)), 8);
  struct rp__op op = {.type = RP_OP_EVENT_REPLACE, .session_id = "a", .u.event_replace = {.seq = 1, .event = &ev}};
  assert_int_equal(suite_op(f, &op), 0);
  assert_string_equal(hits(f, "apple", NULL, 0), "b:1 ");
  assert_string_equal(hits(f, "plum", NULL, 0), "a:1 ");
  op = (struct rp__op){.type = RP_OP_SESSION_DELETE, .session_id = "b"};
  assert_int_equal(suite_op(f, &op), 0);
  assert_string_equal(hits(f, "apple", NULL, 0), "");
  /* What is stored where a deleted one was is found like any other. */
  suite_put(f, "c");
  suite_say(f, "c", "cherry");
  assert_string_equal(hits(f, "cherry", NULL, 0), "c:1 ");
  assert_string_equal(hits(f, "apple", NULL, 0), "");
}

static void maintain_says_what_is_left(void **state)
{
  struct suite *f = *state;
  int64_t left = -1;
  struct rp__store_stats stats;
  suite_put(f, "a");
  for (int i = 0; i < 5; i++) suite_say(f, "a", "word");
  assert_int_equal(f->s->ops->maintain(f->s, RP_MAINTAIN_INDEX, &left, &f->err), 0);
  assert_int_equal(left, 0);
  assert_int_equal(f->s->ops->stats(f->s, &stats, &f->err), 0);
  assert_int_equal(stats.index_left, 0);
  assert_int_equal(f->s->ops->maintain(f->s, RP_MAINTAIN_INDEX, NULL, &f->err), 0);
  assert_int_equal(f->s->ops->maintain(f->s, RP_MAINTAIN_WAL, NULL, &f->err), 0);
}

static int no_finding(void *ctx, const rp_finding *finding)
{
  (void)ctx;
  fail_msg("%s", finding->what);
  return 1;
}

static void a_sound_store_has_no_findings(void **state)
{
  struct suite *f = *state;
  suite_put(f, "a");
  suite_say(f, "a", "word");
  hits(f, "word", NULL, 0);
  assert_int_equal(f->s->ops->check(f->s, false, no_finding, NULL, &f->err), 0);
  assert_int_equal(f->s->ops->check(f->s, true, no_finding, NULL, &f->err), 0);
}

const struct CMUnitTest search_tests[] = {
    SUITE_TEST(all_words_must_be_there),
    SUITE_TEST(nothing_is_syntax),
    SUITE_TEST(scopes_and_limits),
    SUITE_TEST(snippets_show_what_was_found),
    SUITE_TEST(the_best_comes_first),
    SUITE_TEST(sealed_events_are_not_found),
    SUITE_TEST(deleted_and_replaced_events_are_gone),
    SUITE_TEST(maintain_says_what_is_left),
    SUITE_TEST(a_sound_store_has_no_findings),
};
const size_t search_tests_n = RP_ARRAY_SIZE(search_tests);
