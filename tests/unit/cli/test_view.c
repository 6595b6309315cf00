/* SPDX-License-Identifier: Apache-2.0 */
/* Documents shown to a person: values, moods with their bars, briefs and their reasons. */
#include "cli_test.h"

#include "cli/out.h"

static struct rp__json doc_of(const char *json)
{
  struct rp__json v;
  rp_error err;
  assert_int_equal(rp__json_parse(json, strlen(json), NULL, &v, &err), 0);
  return v;
}

static void assert_has(const struct rp__buf *b, const char *text)
{
  assert_int_equal(b->err, 0);
  if (!b->p || !strstr(b->p, text)) fail_msg("'%s' is not in '%s'", text, b->p ? b->p : "");
}

static void assert_lacks(const struct rp__buf *b, const char *text)
{
  assert_int_equal(b->err, 0);
  if (b->p && strstr(b->p, text)) fail_msg("'%s' is in '%s'", text, b->p);
}

static void values_are_safe(void **state)
{
  (void)state;
  static const struct {
    const char *json, *shown;
  } cases[] = {
      {"\"plain\"", "plain"}, {"\"a\\u001b[31mb\\nc\"", "a [31mb c"}, {"null", "-"}, {"\"\"", "-"}, {"12.5", "12.5"},
      {"[1,2]", "[1,2]"},
  };
  for (size_t i = 0; i < RP_ARRAY_SIZE(cases); i++) {
    RP_AUTOBUF struct rp__buf b = RP_BUF(1024);
    rp__view_text(&b, doc_of(cases[i].json), 0);
    assert_string_equal(b.p, cases[i].shown);
  }
  RP_AUTOBUF struct rp__buf b = RP_BUF(1024);
  rp__view_text(&b, (struct rp__json){0}, 0);
  assert_string_equal(b.p, "-");
}

/* N-18, N-14 */
static void runs_in_a_line(void **state)
{
  (void)state;
  static const struct {
    const char *json, *shown;
  } cases[] = {
      {"{\"restart_type\":\"short_break\",\"cause\":\"clean\",\"elapsed\":600.0,\"uptime\":10800.5,"
       "\"start_number\":42,\"session_start\":1.0,\"alive\":true}",
       "start 42, short break (away for 10 min), up for 3 h"},
      {"{\"restart_type\":\"fresh_start\",\"cause\":null,\"elapsed\":0.0,\"uptime\":59.9,"
       "\"start_number\":1,\"session_start\":1.0,\"alive\":true}",
       "start 1, fresh start, up for 59 s"},
      {"{\"restart_type\":\"long_absence\",\"cause\":\"crash\",\"elapsed\":604800.0,\"uptime\":172800.0,"
       "\"start_number\":3,\"session_start\":1.0,\"alive\":false}",
       "start 3, long absence (away for 7 d), ended after 2 d"},
      {"{\"restart_type\":null,\"cause\":null,\"elapsed\":null,\"uptime\":60.0,\"start_number\":null,"
       "\"session_start\":1.0,\"alive\":false}",
       "ended after 1 min"},
      {"{\"restart_type\":null,\"session_start\":null,\"uptime\":0.0}", ""},
  };
  for (size_t i = 0; i < RP_ARRAY_SIZE(cases); i++) {
    RP_AUTOBUF struct rp__buf b = RP_BUF(1024);
    rp__view_run(&b, doc_of(cases[i].json));
    assert_string_equal(b.p ? b.p : "", cases[i].shown);
  }
}

/* L-12 */
static void usage_in_a_line(void **state)
{
  (void)state;
  static const struct {
    const char *json, *shown;
  } cases[] = {
      {"{\"tokens_in\":1200,\"tokens_out\":300,\"cost_usd\":1.75,\"requests\":2,\"budget_usd\":1.5,"
       "\"budget_usd_share\":1.1667}",
       "$1.75 of $1.50 (117 %), 1200 tokens in, 300 out"},
      {"{\"tokens_in\":1200,\"tokens_out\":300,\"cost_usd\":0.0,\"requests\":2,\"budget_tokens\":3000.0}",
       "$0.00, 1200 tokens in, 300 out of 3000 (50 %)"},
      {"{\"tokens_in\":0,\"tokens_out\":0,\"cost_usd\":0.004,\"requests\":1}", "$0.0040, 0 tokens in, 0 out"},
      {"{\"tokens_in\":0,\"tokens_out\":0,\"cost_usd\":0.0,\"requests\":0}", ""},
      {"null", ""},
  };
  for (size_t i = 0; i < RP_ARRAY_SIZE(cases); i++) {
    RP_AUTOBUF struct rp__buf b = RP_BUF(1024);
    rp__view_usage(&b, doc_of(cases[i].json));
    assert_string_equal(b.p ? b.p : "", cases[i].shown);
  }
}

static void times_and_ids(void **state)
{
  (void)state;
  struct rp__cli c = {0};
  RP_AUTOBUF struct rp__buf b = RP_BUF(1024);
  setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
  tzset();
  rp__view_time(&c, &b, doc_of("\"2026-01-31T12:00:00.123Z\""));
  rp__buf_char(&b, '|');
  rp__view_time(&c, &b, doc_of("\"2026-07-31T23:00:00.000Z\""));
  rp__buf_char(&b, '|');
  c.globals[RP_G_UTC].count = 1;
  rp__view_time(&c, &b, doc_of("\"2026-01-31T12:00:00.123Z\""));
  rp__buf_char(&b, '|');
  rp__view_time(&c, &b, doc_of("\"soon\""));
  rp__buf_char(&b, '|');
  rp__view_id(&b, doc_of("\"0197a3c2-5b1e-7c3d-9f00-3f2a8e1d4b5c\""));
  rp__buf_char(&b, '|');
  rp__view_id(&b, doc_of("\"kitchen\""));
  assert_string_equal(b.p, "2026-01-31 13:00:00 CET|2026-08-01 01:00:00 CEST|2026-01-31 12:00:00 UTC|soon|"
                           "0197a3c2-5b1e|kitchen");
}

static const char hurt[] =
    "{\"levels\":{\"joy\":0.0,\"fear\":0.5,\"odd\\u001bname\":2},\"boredom\":0.25,\"mood\":\"sad\","
    "\"wounds\":[{\"event\":\"violence\",\"floors\":{\"fear\":0.25,\"sadness\":0.2},"
    "\"heal_rate\":0.001,\"remaining_fixed_seconds\":120.4,\"healing\":false},"
    "{\"event\":\"abuse\",\"floors\":{\"fear\":0.1},\"heal_rate\":0.0008,"
    "\"remaining_fixed_seconds\":0,\"healing\":true}]}";

/* N-08, N-10: what is felt and what still hurts. */
static void moods_are_numbers_away_from_a_terminal(void **state)
{
  (void)state;
  struct rp__cli c = {0};
  RP_AUTOBUF struct rp__buf b = RP_BUF(65536);
  rp__view_affect(&c, &b, doc_of(hurt));
  assert_has(&b, "mood       sad\n");
  assert_has(&b, "joy        0.00\n");
  assert_has(&b, "fear       0.50\n");
  assert_has(&b, "boredom    0.25\n");
  assert_has(&b, "violence: at least fear 0.25, sadness 0.20; open for 120 s more\n");
  assert_has(&b, "abuse: at least fear 0.10; healing by 0.0008 a second\n");
  assert_lacks(&b, "█");
  assert_lacks(&b, "\033");
}

static void moods_are_bars_on_a_terminal(void **state)
{
  (void)state;
  struct rp__cli c = {.term = {.out_tty = true, .columns = 80}};
  RP_AUTOBUF struct rp__buf b = RP_BUF(65536);
  rp__view_affect(&c, &b, doc_of(hurt));
  assert_has(&b, "fear       ████████████░░░░░░░░░░░░  0.50\n");
  assert_has(&b, "joy        ░░░░░░░░░░░░░░░░░░░░░░░░  0.00\n");
  assert_lacks(&b, "\033");
  rp__buf_reset(&b);
  c.term.out_colour = true;
  rp__view_affect(&c, &b, doc_of(hurt));
  assert_has(&b, "\033[");
}

static void briefs_are_data_unless_on_a_terminal(void **state)
{
  (void)state;
  struct rp__cli c = {0};
  struct rp__json doc = doc_of("{\"brief\":\"one\\n\\ntwo\\u001b[31m\"}");
  RP_AUTOBUF struct rp__buf b = RP_BUF(65536);
  rp__brief_view(&c, &b, doc);
  assert_string_equal(b.p, "one\n\ntwo\033[31m\n");
  rp__buf_reset(&b);
  c.term.out_tty = true;
  rp__brief_view(&c, &b, doc);
  assert_string_equal(b.p, "│ one\n│ \n│ two [31m\n");
  rp__buf_reset(&b);
  rp__brief_view(&c, &b, doc_of("{\"brief\":null}"));
  assert_int_equal(b.n, 0);
}

/* the explanation leaves no decision out. */
static void explanations_tell_everything(void **state)
{
  (void)state;
  struct rp__cli c = {0};
  RP_AUTOBUF struct rp__buf b = RP_BUF(65536);
  rp__explain_view(
      &c, &b,
      doc_of("{\"counts\":{\"restored\":1,\"damaged\":0},\"candidates\":[{\"session_id\":\"s-1\",\"hours\":48.04,"
             "\"recency\":0.714,\"overlap\":0.5,\"tasks\":0.25,\"score\":0.523,\"verdict\":\"restored\","
             "\"reason\":\"score from 0.25\"}],\"pins\":[{\"label\":\"rig\",\"session_id\":\"s-1\","
             "\"verdict\":\"inherited\",\"reason\":\"newest\"}],\"memories\":[{\"memory_id\":\"m-1\",\"original\":0.9,"
             "\"factor\":0.885714,\"inherited\":0.797143,\"verdict\":\"inherited\",\"reason\":\"rank "
             "0.5\"}],\"tasks\":[{\"task_id\":\"t-7\","
             "\"verdict\":\"surfaced\",\"reason\":\"in build\"}],\"lines\":[{\"line\":\"HOT TOPICS: rig\","
             "\"reason\":\"of s-1\"}]}"));
  assert_has(&b, "s-1                 48.0    0.714    0.500    0.250    0.523  restored         score from 0.25\n");
  assert_has(&b, "restored 1, damaged 0\n");
  assert_has(&b, "inherited        rig  from s-1: newest\n");
  assert_has(&b, "inherited        m-1  0.90 × 0.885714 = 0.797143; rank 0.5\n");
  assert_has(&b, "surfaced         t-7: in build\n");
  assert_has(&b, "HOT TOPICS: rig\n    ↳ of s-1\n");
  rp__buf_reset(&b);
  rp__explain_view(&c, &b, doc_of("{\"candidates\":[]}"));
  assert_string_equal(b.p, "earlier sessions\nnone\n");
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(values_are_safe),
      cmocka_unit_test(times_and_ids),
      cmocka_unit_test(runs_in_a_line),
      cmocka_unit_test(usage_in_a_line),
      cmocka_unit_test(moods_are_numbers_away_from_a_terminal),
      cmocka_unit_test(moods_are_bars_on_a_terminal),
      cmocka_unit_test(briefs_are_data_unless_on_a_terminal),
      cmocka_unit_test(explanations_tell_everything),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
