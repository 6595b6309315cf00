/* SPDX-License-Identifier: Apache-2.0 */
/* Which past sessions contribute, and why. */
#include "continuity_test.h"

#include "../../lib/dice.h"

#define EMPTY "{}"

static enum rp__plan_verdict fate_of(const struct rp__plan *p, const char *id, struct rp__json *ret)
{
  static struct rp__buf out = RP_BUF(1 << 20);
  explained(p, &out);
  struct rp__json c = told(&out, "candidates", "session_id", id);
  if (ret) *ret = c;
  for (unsigned f = 0; f < RP_VERDICT_MAX; f++)
    if (rp__json_eq(rp__json_get(c, "verdict"), rp__plan_verdict_name((enum rp__plan_verdict)f)))
      return (enum rp__plan_verdict)f;
  return RP_VERDICT_MAX;
}

static void assert_restored(const struct rp__plan *p, size_t n, const char *const ids[])
{
  size_t count;
  const struct rp__candidate *const *r = rp__plan_restored(p, &count);
  assert_int_equal(count, n);
  for (size_t i = 0; i < n; i++) assert_string_equal(r[i]->session_id, ids[i]);
}

/* three pending tasks at six days score .2446, below the threshold, and come back all the same */
static void tasks_bring_a_session_back(void **state)
{
  (void)state;
  const struct earlier e[] = {{"a", 144, 3, false, NULL, EMPTY}, {"b", 144, 0, false, NULL, EMPTY}};
  AUTOPLAN struct rp__plan *p = plan_of(&plain_rules, NULL, e, 2, NULL);
  size_t n;
  const struct rp__candidate *const *r = rp__plan_restored(p, &n);
  assert_int_equal(n, 1);
  assert_string_equal(r[0]->session_id, "a");
  assert_near(r[0]->score, .244643);
  assert_non_null(strstr(r[0]->reason, "tasks term 0.75"));
  assert_int_equal(fate_of(p, "b", NULL), RP_VERDICT_BELOW);
}

/* 168 h are inside the lookback, a millisecond more is not; an end in the future counts as now */
static void the_lookback_has_an_edge(void **state)
{
  (void)state;
  const struct earlier e[] = {{"in", 168, 1, false, NULL, EMPTY},
                              {"out", 168 + 1 / 3600000.0, 4, false, "x", EMPTY},
                              {"future", -50, 0, false, NULL, EMPTY}};
  AUTOPLAN struct rp__plan *p = plan_of(&plain_rules, "x", e, 3, NULL);
  struct rp__json c;
  double hours;
  assert_int_equal(fate_of(p, "in", NULL), RP_VERDICT_RESTORED);
  assert_int_equal(fate_of(p, "out", NULL), RP_VERDICT_OUTSIDE);
  assert_int_equal(fate_of(p, "future", &c), RP_VERDICT_RESTORED);
  assert_true(rp__json_double(rp__json_get(c, "hours"), &hours));
  assert_near(hours, 0);
}

/* the best three, ties by the newer end, then by id */
static void the_best_three_contribute(void **state)
{
  (void)state;
  const struct earlier e[] = {{"d", 10, 0, false, NULL, EMPTY}, {"b", 10, 0, false, NULL, EMPTY},
                              {"a", 20, 4, false, NULL, EMPTY}, {"c", 10, 0, false, NULL, EMPTY},
                              {"z", -1, 0, false, NULL, EMPTY}, {"y", 0, 0, false, NULL, EMPTY}};
  AUTOPLAN struct rp__plan *p = plan_of(&plain_rules, NULL, e, 6, NULL);
  assert_restored(p, 3, (const char *const[]){"a", "z", "y"});
  struct rp__rules five = plain_rules;
  five.max_sessions = 5;
  AUTOPLAN struct rp__plan *q = plan_of(&five, NULL, e, 6, NULL);
  assert_restored(q, 5, (const char *const[]){"a", "z", "y", "b", "c"});
  assert_int_equal(fate_of(q, "d", NULL), RP_VERDICT_BEYOND);
}

/* a score equal to the threshold is enough; thresholds are configurable */
static void the_threshold_is_inclusive(void **state)
{
  (void)state;
  const struct earlier e[] = {{"at", 63, 0, false, NULL, EMPTY}, {"below", 63.1, 0, false, NULL, EMPTY}};
  AUTOPLAN struct rp__plan *p = plan_of(&plain_rules, NULL, e, 2, NULL);
  assert_restored(p, 1, (const char *const[]){"at"});
  struct rp__rules strict = plain_rules;
  strict.threshold = .3;
  AUTOPLAN struct rp__plan *q = plan_of(&strict, NULL, e, 2, NULL);
  assert_restored(q, 0, NULL);
  strict.max_sessions = 0;
  strict.threshold = 0;
  AUTOPLAN struct rp__plan *r = plan_of(&strict, NULL, e, 2, NULL);
  assert_restored(r, 0, NULL);
}

/* A damaged record says so, and the next best takes its place */
static void damage_is_told_and_replaced(void **state)
{
  (void)state;
  static const char *const bad[] = {
      "[]",
      "{\"working_memory\":{}}",
      "{\"working_memory\":[{\"content\":\"no label\"}]}",
      "{\"hot_topics\":[1]}",
      "{\"active_projects\":\"x\"}",
      "{\"pending_tasks\":[{\"title\":\"no id\"}]}",
      "{\"pending_tasks\":[{\"task_id\":\"t\",\"at\":7}]}",
      "{\"recent_learnings\":[{}]}",
      "{\"confidence_updates\":[1]}",
      "{\"sop_interactions\":null}",
      "{\"end_time\":\"yesterday\"}",
      "{\"hot_topics\":[\"a\"}",
      NULL,
  };
  for (size_t i = 0; i < RP_ARRAY_SIZE(bad); i++) {
    const struct earlier e[] = {{"bad", 1, 0, false, NULL, bad[i]},
                                {"two", 2, 0, false, NULL, EMPTY},
                                {"three", 3, 0, false, NULL, EMPTY},
                                {"four", 4, 0, false, NULL, EMPTY},
                                {"five", 5, 0, false, NULL, EMPTY}};
    AUTOPLAN struct rp__plan *p = plan_of(&plain_rules, NULL, e, 5, NULL);
    struct rp__json c;
    assert_restored(p, 3, (const char *const[]){"two", "three", "four"});
    assert_int_equal(fate_of(p, "bad", &c), RP_VERDICT_DAMAGED);
    RP_AUTOFREE char *reason = rp__json_dup(rp__json_get(c, "reason"));
    assert_non_null(strstr(reason, "damaged: "));
    assert_int_equal(fate_of(p, "five", NULL), RP_VERDICT_BEYOND);
  }
}

/* Every row is counted, and at most 100 are told one by one */
static void counts_add_up(void **state)
{
  (void)state;
  AUTOPLAN struct rp__plan *p = NULL;
  RP_AUTOBUF struct rp__buf out = RP_BUF(1 << 20);
  assert_int_equal(rp__plan_new(&plain_rules, NOW, NULL, 0, &p), 0);
  for (int i = 0; i < 1000; i++) {
    char id[16];
    snprintf(id, sizeof id, "s%03d", i);
    struct earlier e = {id, i < 500 ? 1 + i * .01 : i < 900 ? 100 : 200, 0, i % 3 == 0, NULL, EMPTY};
    assert_int_equal(offer(p, &e), 0);
  }
  struct rp__candidate *c;
  int opened = 0;
  for (; (c = rp__plan_want(p)); opened++) rp__plan_opened(p, c, json(EMPTY));
  assert_int_equal(opened, 3 + RP_CRITICAL_MAX - 1); /* one of the best three holds a CRITICAL pin itself */
  assert_int_equal(rp__plan_finish(p, &(struct rp__plan_sources){0}), 0);
  explained(p, &out);
  struct rp__json doc = json(out.p), counts = rp__json_get(doc, "counts");
  static const struct {
    const char *name;
    int64_t n;
  } expected[] = {
      {"restored", 3}, {"beyond_limit", 497}, {"below_threshold", 400}, {"outside_lookback", 100}, {"damaged", 0}};
  for (size_t i = 0; i < RP_ARRAY_SIZE(expected); i++) {
    int64_t n;
    assert_true(rp__json_i64(rp__json_get(counts, expected[i].name), &n));
    assert_int_equal(n, expected[i].n);
  }
  assert_int_equal(rp__json_count(rp__json_get(doc, "candidates")), RP_EXPLAIN_MAX);
  assert_int_equal(offer(p, &(struct earlier){"late", 1, 0, false, NULL, EMPTY}), RP_E_USAGE);
}

/* CONTRACT: the members of the explanation, and nothing else */
static void the_explanation_is_as_promised(void **state)
{
  (void)state;
  static const char *const names[] = {"session_id", "hours", "recency", "overlap",
                                      "tasks",      "score", "verdict", "reason"};
  const struct earlier e[] = {{"a", 48, 2, false, "x y", EMPTY}};
  AUTOPLAN struct rp__plan *p = plan_of(&plain_rules, "x z", e, 1, NULL);
  RP_AUTOBUF struct rp__buf out = RP_BUF(1 << 20);
  explained(p, &out);
  struct rp__json c = told(&out, "candidates", "session_id", "a");
  assert_int_equal(rp__json_count(c), RP_ARRAY_SIZE(names));
  static const double values[] = {0, 48, .714286, 1 / 3.0, .5, .4 * .714286 + .35 / 3 + .125};
  for (size_t i = 1; i < 6; i++) {
    double v;
    assert_true(rp__json_double(rp__json_get(c, names[i]), &v));
    assert_near(v, values[i]);
  }
  assert_true(rp__json_eq(rp__json_get(c, "verdict"), "restored"));
  assert_true(rp__json_get(c, "reason").type == RP_JSON_STRING);
}

static void count_line(void *ctx, const char *line)
{
  assert_null(strchr(line, '\n'));
  ++*(int *)ctx;
}

/* one line for each decision */
static void every_decision_is_a_line(void **state)
{
  (void)state;
  const struct earlier e[] = {
      {"a", 1, 1, false, NULL,
       "{\"working_memory\":[{\"label\":\"l\\n1\",\"content\":\"c\"}],\"pending_tasks\":[{\"task_id\":\"t\"}]}"},
      {"b", 100, 0, false, NULL, EMPTY}};
  struct rp__memory_fact fact = {.memory_id = "m", .content = "x", .confidence = 1, .fresh_at = NOW};
  struct rp__plan_sources s = {.memories = &fact, .n_memories = 1};
  AUTOPLAN struct rp__plan *p = plan_of(&plain_rules, NULL, e, 2, &s);
  int lines = 0;
  rp__plan_tell(p, count_line, &lines);
  assert_int_equal(lines, 5);
}

static const char *const shuffled_records[] = {
    "{\"working_memory\":[{\"label\":\"x\",\"content\":\"1\"},{\"label\":\"y\",\"content\":\"CRITICAL\"}],"
    "\"pending_tasks\":[{\"task_id\":\"t1\",\"title\":\"one\",\"stage\":\"build\"}]}",
    "{\"working_memory\":[{\"label\":\"x\",\"content\":\"2\",\"importance\":\"critical\"}],"
    "\"pending_tasks\":[{\"task_id\":\"t1\"},{\"task_id\":\"t2\"}]}",
    "{\"working_memory\":[{\"label\":\"z\",\"content\":\"3\"}]}",
    NULL,
};

/* The plan does not depend on the order of the rows */
static void order_does_not_matter(void **state)
{
  (void)state;
  enum { N = 300 };
  struct dice d = dice_new();
  static char ids[N][16];
  static struct earlier e[N];
  RP_AUTOBUF struct rp__buf first = RP_BUF(1 << 20), other = RP_BUF(1 << 20);
  for (int i = 0; i < N; i++) {
    snprintf(ids[i], sizeof ids[i], "s%d", i);
    e[i] = (struct earlier){ids[i],
                            (double)dice_below(&d, 20) * 10, /* many ties */
                            dice_below(&d, 3),
                            dice_below(&d, 3) == 0,
                            dice_below(&d, 2) ? "p q" : "r",
                            shuffled_records[dice_below(&d, 4)]};
  }
  for (int round = 0; round < 20; round++) {
    AUTOPLAN struct rp__plan *p = plan_of(&plain_rules, "p s", e, N, NULL);
    explained(p, round ? &other : &first);
    if (round) assert_string_equal(first.p, other.p);
    for (int i = N - 1; i > 0; i--) {
      int64_t k = dice_below(&d, i + 1);
      struct earlier x = e[i];
      e[i] = e[k];
      e[k] = x;
    }
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(tasks_bring_a_session_back),     cmocka_unit_test(the_lookback_has_an_edge),
      cmocka_unit_test(the_best_three_contribute),      cmocka_unit_test(the_threshold_is_inclusive),
      cmocka_unit_test(damage_is_told_and_replaced),    cmocka_unit_test(counts_add_up),
      cmocka_unit_test(the_explanation_is_as_promised), cmocka_unit_test(every_decision_is_a_line),
      cmocka_unit_test(order_does_not_matter),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
