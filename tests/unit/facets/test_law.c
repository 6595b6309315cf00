/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The law: replaying everything equals loading any snapshot and replaying the
 * tail. Random journals, cut at every seq, compared byte by byte.
 */
#include "facets_test.h"

#include "../../lib/dice.h"
#include "core/snapshot.h"
#include "facets/digest/digest.h"
#include "random_coding.h"
#include "random_life.h"
#include "random_work.h"

#define EVENTS_MAX 60

struct journal {
  size_t n;
  enum rp__kind kinds[EVENTS_MAX];
  char *bodies[EVENTS_MAX];
};

static const char *pick(struct dice *d, const char *const *words, size_t n)
{
  return words[dice_below(d, (int64_t)n)];
}
#define PICK(d, ...)                                                                                                   \
  pick(d, (const char *const[]){__VA_ARGS__}, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

/* Few ids in several spellings, so that calls meet again. */
static void random_tool(struct dice *d, struct rp__buf *b)
{
  rp__buf_printf(b, "{\"call_id\":%s,\"name\":%s,\"status\":\"%s\"",
                 PICK(d, "\"a\"", "\"\\u0061\"", "\"b/c\"", "\"b\\/c\"", "\"\\u007f\"", "\"\x7f\"", "\"\\u0000\"",
                      "\"\xf0\x9f\x98\x80\"", "\"\\ud83d\\ude00\"", "\"\""),
                 PICK(d, "\"sh\"", "\"\\u0001\\n\"", "\"\xe2\x82\xac\"", "7"),
                 PICK(d, "intended", "running", "done", "failed", "unknown", "else"));
  if (dice_below(d, 2)) rp__buf_printf(b, ",\"input\":%s", PICK(d, "null", " {\"a\" : [1, 2]}", "\"\\ud83d\\ude00\""));
  if (dice_below(d, 3) == 0) {
    rp__buf_str(b, ",\"output\":\"");
    for (int64_t i = dice_below(d, 3000); i > 0; i--) rp__buf_char(b, 'o');
    rp__buf_char(b, '"');
  }
  rp__buf_char(b, '}');
}

static void random_message(struct dice *d, struct rp__buf *b)
{
  rp__buf_printf(b, "{ \"role\":\"%s\",\"content\": ", PICK(d, "user", "assistant", "t\\u006fol"));
  if (dice_below(d, 20) == 0) {
    rp__buf_char(b, '"');
    for (int64_t i = dice_below(d, 3) * 400000; i > 0; i--) rp__buf_char(b, 'm');
    rp__buf_char(b, '"');
  } else {
    rp__buf_str(b, PICK(d, "\"hello\"", "\"\\u00e4\\u0000\"", "[]", "[ {\"type\":\"text\", \"text\":\"x\"} ]", "5",
                        "[{\"type\":\"image\"} , {\"text\":\"y\\n\",\"type\":\"text\",\"z\":[]}]"));
  }
  if (dice_below(d, 2)) rp__buf_printf(b, " , \"message_id\":%s", PICK(d, "\"m\"", "\"\\n\"", "\"k\"", "null"));
  if (dice_below(d, 4) == 0) rp__buf_str(b, ",\"source\":\"acp\"");
  if (dice_below(d, 3)) rp__buf_str(b, ",\"partial\":true");
  if (dice_below(d, 8) == 0) rp__buf_str(b, ",\"whole\":true");
  rp__buf_str(b, " }");
}

static void random_usage(struct dice *d, struct rp__buf *b)
{
  rp__buf_printf(b, "{\"tokens_in\":%s,\"tokens_out\":%d,\"cost_usd\":%s,\"requests\":1}",
                 PICK(d, "1", "9223372036854775807", "-4", "null"), (int)dice_below(d, 1000),
                 PICK(d, "0.1", "0.7", "1e-7", "3", "1e308"));
}

static void random_restart(struct dice *d, int64_t seq, struct rp__buf *b)
{
  int64_t to = dice_below(d, seq + 2) - 1;
  if (dice_below(d, 3) == 0)
    rp__buf_printf(b, "{\"to_seq\":%d}", (int)to);
  else
    rp__buf_printf(b, "{\"cause\":%s,\"elapsed_seconds\":%d.5}",
                   PICK(d, "\"crash\"", "\"clean\"", "\"upgrade\"", "null"), (int)dice_below(d, 9000));
}

static void journal_fill(struct journal *j, struct dice *d)
{
  j->n = (size_t)dice_below(d, EVENTS_MAX) + 1;
  for (size_t i = 0; i < j->n; i++) {
    struct rp__buf b = RP_BUF(SAVED_MAX);
    switch (dice_below(d, 36)) {
    case 0 ... 3: j->kinds[i] = RP_KIND_TOOL, random_tool(d, &b); break;
    case 4 ... 6: j->kinds[i] = RP_KIND_MESSAGE, random_message(d, &b); break;
    case 7: j->kinds[i] = RP_KIND_USAGE, random_usage(d, &b); break;
    case 8: j->kinds[i] = RP_KIND_RESTORED, random_restart(d, (int64_t)i + 1, &b); break;
    case 10 ... 17: j->kinds[i] = random_work(d, &b); break;
    case 24 ... 35: j->kinds[i] = random_coding(d, &b); break;
    case 18 ... 23: random_life(d, &j->kinds[i], &b); break;
    default: j->kinds[i] = (enum rp__kind)dice_below(d, RP_KIND_RUNTIME), random_tool(d, &b); break;
    }
    j->bodies[i] = rp__buf_take(&b);
    assert_non_null(j->bodies[i]);
  }
}

static void journal_done(struct journal *j)
{
  for (size_t i = 0; i < j->n; i++) free(j->bodies[i]);
}

/* Applies the events up to `until`; a rewind is answered from the journal's own beginning. */
static void replay(const struct journal *j, struct rp__fold *f, int64_t until)
{
  while (rp__fold_seq(f) < until) {
    int64_t i = rp__fold_seq(f), to;
    struct rp__event ev = {i + 1, 1700000000000 + 77 * i, j->kinds[i], rp__kind_name(j->kinds[i]),
                           rp__json_trusted(j->bodies[i], strlen(j->bodies[i]))};
    int rc = rp__fold_apply(f, &ev, &to);
    if (rc == RP__FOLD_REWIND) {
      struct rp__fold *past = fold_new();
      replay(j, past, to);
      rp__fold_adopt(f, past, &ev);
    } else {
      assert_int_equal(rc, 0);
    }
  }
}

static void law_holds(const struct journal *j)
{
  RP_AUTOFOLD struct rp__fold *all = fold_new(), *step = fold_new();
  RP_AUTOBUF struct rp__buf want = RP_BUF(SAVED_MAX), cut = RP_BUF(SAVED_MAX), got = RP_BUF(SAVED_MAX);
  replay(j, all, (int64_t)j->n);
  save(all, &want);
  for (int64_t at = 0; at <= (int64_t)j->n; at++) {
    replay(j, step, at);
    save(step, &cut);
    RP_AUTOFOLD struct rp__fold *f = load(&cut);
    replay(j, f, (int64_t)j->n);
    save(f, &got);
    size_t same = 0;
    while (same < got.n && same < want.n && got.p[same] == want.p[same]) same++;
    if (same < got.n || same < want.n) {
      same = same > 300 ? same - 300 : 0;
      fail_msg("cut at %d of %zu:\n%.600s\nis not\n%.600s", (int)at, j->n, got.p + same, want.p + same);
    }
  }
}

static void at_every_cut_of_random_journals(void **state)
{
  (void)state;
  struct dice d = dice_new();
  for (int64_t i = dice_rounds(300, 20000); i > 0; i--) {
    struct journal j;
    journal_fill(&j, &d);
    law_holds(&j);
    journal_done(&j);
  }
}

/* Long enough that the facets drop their oldest parts on both sides of the cut. */
static void in_a_long_journal(void **state)
{
  (void)state;
  struct dice d = dice_new();
  RP_AUTOFOLD struct rp__fold *all = fold_new();
  struct rp__fold *hops = fold_new();
  RP_AUTOBUF struct rp__buf a = RP_BUF(SAVED_MAX), b = RP_BUF(SAVED_MAX);
  for (int i = 0; i < 3000; i++) {
    char body[200];
    bool tool = dice_below(&d, 2);
    if (tool)
      snprintf(body, sizeof body, "{\"call_id\":\"%d\",\"name\":\"n\",\"status\":\"%s\"}", (int)dice_below(&d, 700),
               PICK(&d, "intended", "running", "running", "done", "unknown"));
    else
      snprintf(body, sizeof body, "{\"role\":\"%s\",\"content\":\"%d\",\"partial\":%s}",
               PICK(&d, "user", "user", "tool"), i, PICK(&d, "false", "true"));
    tell(all, tool ? RP_KIND_TOOL : RP_KIND_MESSAGE, body);
    tell(hops, tool ? RP_KIND_TOOL : RP_KIND_MESSAGE, body);
    if (dice_below(&d, 40)) continue;
    save(hops, &b);
    rp__fold_free(hops);
    hops = load(&b);
  }
  save(all, &a);
  save(hops, &b);
  rp__fold_free(hops);
  assert_string_equal(a.p, b.p);
}

/* The same with work, which fills the bounded lists and the table of topics. */
static void in_long_work(void **state)
{
  (void)state;
  struct dice d = dice_new();
  RP_AUTOFOLD struct rp__fold *all = fold_new();
  struct rp__fold *hops = fold_new();
  RP_AUTOBUF struct rp__buf a = RP_BUF(SAVED_MAX), b = RP_BUF(SAVED_MAX), body = RP_BUF(SAVED_MAX);
  for (int i = 0; i < 4000; i++) {
    rp__buf_reset(&body);
    enum rp__kind kind = random_work(&d, &body);
    tell(all, kind, body.p);
    tell(hops, kind, body.p);
    if (dice_below(&d, 40)) continue;
    assert_sound(hops);
    save(hops, &b);
    rp__fold_free(hops);
    hops = load(&b);
  }
  save(all, &a);
  save(hops, &b);
  rp__fold_free(hops);
  assert_string_equal(a.p, b.p);
}

/* The same with a coding session, which fills the lists of the digest; each of them was full of something. */
static void in_long_coding(void **state)
{
  (void)state;
  struct dice d = dice_new();
  RP_AUTOFOLD struct rp__fold *all = fold_new();
  struct rp__fold *hops = fold_new();
  RP_AUTOBUF struct rp__buf a = RP_BUF(SAVED_MAX), b = RP_BUF(SAVED_MAX), body = RP_BUF(SAVED_MAX);
  size_t most[8] = {0}, ends[RP_ENDS] = {0}, doubts = 0, streams = 0, own = 0, go_ons = 0;
  for (int i = 0; i < 4000; i++) {
    rp__buf_reset(&body);
    enum rp__kind kind = random_coding(&d, &body);
    tell(all, kind, body.p);
    tell(hops, kind, body.p);
    const struct rp__digest *g = rp__digest_of(all);
    const struct rp__rows *rows[] = {&g->requests, &g->files,    &g->commands, &g->commits,
                                     &g->todos,    &g->declined, &g->rules,    &g->calls};
    for (size_t k = 0; k < RP_ARRAY_SIZE(rows); k++) most[k] = RP_MAX(most[k], rows[k]->count);
    for (size_t k = 0; k < g->calls.count; k++) doubts += (g->calls.v[k]->flags & RP_CALL_DOUBT) != 0;
    streams += g->streaming;
    own += g->own != NULL;
    if (g->requests.count) {
      RP_AUTOBUF struct rp__buf room = RP_BUF(SAVED_MAX);
      struct rp__digest_request r;
      assert_int_equal(rp__digest_request(g, g->requests.count - 1, &room, &r), 0);
      ends[r.end]++;
      go_ons += r.go_on;
    }
    if (dice_below(&d, 40)) continue;
    assert_sound(hops);
    save(hops, &b);
    rp__fold_free(hops);
    hops = load(&b);
  }
  save(all, &a);
  save(hops, &b);
  rp__fold_free(hops);
  assert_string_equal(a.p, b.p);
  for (size_t k = 0; k < RP_ARRAY_SIZE(most); k++)
    if (most[k] < 2) fail_msg("list %zu of the digest never had more than %zu rows", k, most[k]);
  for (size_t k = 0; k < RP_ENDS; k++)
    if (!ends[k]) fail_msg("no request ended as '%s'", rp__request_end_words[k]);
  assert_true(doubts && streams && own && go_ons);
}

/* 4 MiB in all, and a snapshot has room for them. */
static void the_bounds_add_up(void **state)
{
  (void)state;
  size_t sum = 0;
  for (size_t i = 0; i < rp__facets.n; i++) sum += rp__facets.ops[i]->max_bytes;
  assert_true(sum <= 4 * 1024 * 1024);
  assert_true(sum <= RP_SNAPSHOT_MAX);
}

/* A body of full depth, inside a snapshot. */
static void a_deep_body_survives_a_snapshot(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new(), *back = NULL;
  RP_AUTOBUF struct rp__buf body = RP_BUF(1000), bytes = RP_BUF(SAVED_MAX), a = RP_BUF(SAVED_MAX),
                            b = RP_BUF(SAVED_MAX);
  struct rp__event ev;
  size_t raw;
  rp_error err;
  rp__buf_str(&body, "{\"role\":\"user\",\"content\":");
  for (int i = 0; i < 63; i++) rp__buf_char(&body, '[');
  for (int i = 0; i < 63; i++) rp__buf_char(&body, ']');
  rp__buf_char(&body, '}');
  assert_int_equal(rp__event_check("message", body.p, body.n, 1000, false, &ev, &err), 0);
  tell_n(f, RP_KIND_MESSAGE, body.p, body.n);
  assert_int_equal(rp__snapshot_encode(f, NULL, &rp__system_random, RP_STR("s"), &bytes, &raw, &err), 0);
  assert_int_equal(rp__snapshot_decode(bytes.p, bytes.n, NULL, RP_STR("s"), &rp__facets, &back, &err), 0);
  save(f, &a);
  save(back, &b);
  assert_string_equal(a.p, b.p);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(at_every_cut_of_random_journals),
      cmocka_unit_test(in_a_long_journal),
      cmocka_unit_test(in_long_work),
      cmocka_unit_test(in_long_coding),
      cmocka_unit_test(the_bounds_add_up),
      cmocka_unit_test(a_deep_body_survives_a_snapshot),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
