/* SPDX-License-Identifier: Apache-2.0 */
/* The fold: order, time travel, snapshots. */
#include "core_test.h"

static struct rp__fold *fold_of(int64_t events)
{
  struct rp__fold *f = NULL;
  int64_t to;
  assert_int_equal(rp__fold_new(&sum_table, &f), 0);
  for (int64_t seq = 1; seq <= events; seq++) {
    struct rp__event ev = event_of(seq, RP_KIND_OTHER, "{\"n\":2}");
    assert_int_equal(rp__fold_apply(f, &ev, &to), 0);
  }
  return f;
}

static const struct sum *sum_in(const struct rp__fold *f)
{
  return rp__fold_facet(f, "sum");
}

static void applies_in_order_only(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_of(3);
  int64_t to;
  struct rp__event gap = event_of(5, RP_KIND_OTHER, "{\"n\":2}"), again = event_of(3, RP_KIND_OTHER, "{\"n\":2}");
  assert_int_equal(rp__fold_apply(f, &gap, &to), RP_E_CORRUPT);
  assert_int_equal(rp__fold_apply(f, &again, &to), RP_E_CORRUPT);
  assert_int_equal(rp__fold_seq(f), 3);
  assert_int_equal(rp__fold_at_ms(f), 3000);
  assert_int_equal(sum_in(f)->n, 6);
  assert_null(rp__fold_facet(f, "no such facet"));
}

/* Aging is an event. */
static void restored_ages_before_it_applies(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_of(0);
  static const char *const bodies[] = {"{\"elapsed_seconds\":12.5,\"n\":1}", "{\"elapsed_seconds\":-3}", "{}",
                                       "{\"elapsed_seconds\":\"long\"}", "{\"elapsed_seconds\":1e999}"};
  for (size_t i = 0; i < RP_ARRAY_SIZE(bodies); i++) {
    int64_t to;
    struct rp__event ev = event_of((int64_t)i + 1, RP_KIND_RESTORED, bodies[i]);
    assert_int_equal(rp__fold_apply(f, &ev, &to), 0);
  }
  assert_true(sum_in(f)->away > 12.4 && sum_in(f)->away < 12.6);
  assert_int_equal(sum_in(f)->n, 1);
  struct rp__event other = event_of(6, RP_KIND_MESSAGE, "{\"elapsed_seconds\":5}");
  int64_t to;
  assert_int_equal(rp__fold_apply(f, &other, &to), 0);
  assert_true(sum_in(f)->away < 12.6);
}

/* B-07. */
static void time_travel_asks_for_the_past(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_of(10);
  int64_t to = -1;
  struct rp__event ev = event_of(11, RP_KIND_RESTORED, "{\"to_seq\":4,\"elapsed_seconds\":5}");
  assert_int_equal(rp__fold_apply(f, &ev, &to), RP__FOLD_REWIND);
  assert_int_equal(to, 4);
  assert_int_equal(rp__fold_seq(f), 10);
  assert_int_equal(sum_in(f)->n, 20);
  assert_false(sum_in(f)->away > 0);
  rp__fold_adopt(f, fold_of(4), &ev);
  assert_int_equal(rp__fold_seq(f), 11);
  assert_int_equal(rp__fold_at_ms(f), 11000);
  assert_int_equal(sum_in(f)->n, 8);
}

/* What lasts is made of all events, also of those that were turned away from. */
static void lasting_facets_travel_nowhere(void **state)
{
  (void)state;
  struct rp__facet_ops lasting = *sum_table.ops[0];
  const struct rp__facet_ops *const ops[] = {&lasting};
  const struct rp__facet_table table = {ops, 1};
  RP_AUTOFOLD struct rp__fold *f = NULL, *other = NULL;
  struct rp__fold *past = NULL;
  int64_t to;
  lasting.lasting = true;
  assert_int_equal(rp__fold_new(&table, &f), 0);
  assert_int_equal(rp__fold_new(&table, &other), 0);
  assert_int_equal(rp__fold_new(&table, &past), 0);
  struct rp__event two = event_of(1, RP_KIND_OTHER, "{\"n\":2}"),
                   back = event_of(2, RP_KIND_RESTORED, "{\"to_seq\":0}");
  assert_int_equal(rp__fold_apply(f, &two, &to), 0);
  assert_int_equal(rp__fold_apply(f, &back, &to), RP__FOLD_REWIND);
  rp__fold_adopt(f, past, &back);
  assert_int_equal(rp__fold_seq(f), 2);
  assert_int_equal(sum_in(f)->n, 2);
  assert_int_equal(rp__fold_apply_lasting(other, &two), 0);
  assert_int_equal(rp__fold_apply_lasting(other, &two), 0); /* whatever its seq */
  rp__fold_swap_lasting(f, other);
  assert_int_equal(sum_in(f)->n, 4);
  assert_int_equal(sum_in(other)->n, 2);
}

static void only_the_past_can_be_travelled_to(void **state)
{
  (void)state;
  static const char *const bodies[] = {"{\"to_seq\":1}", "{\"to_seq\":-1}", "{\"to_seq\":\"0\"}", "{\"to_seq\":0.5}",
                                       "{\"to_seq\":99}"};
  for (size_t i = 0; i < RP_ARRAY_SIZE(bodies); i++) {
    RP_AUTOFOLD struct rp__fold *f = fold_of(0);
    int64_t to = -7;
    struct rp__event ev = event_of(1, RP_KIND_RESTORED, bodies[i]);
    assert_int_equal(rp__fold_apply(f, &ev, &to), 0);
    assert_int_equal(to, -7);
  }
  RP_AUTOFOLD struct rp__fold *f = fold_of(0);
  int64_t to = -7;
  struct rp__event start = event_of(1, RP_KIND_RESTORED, "{\"to_seq\":0}"),
                   other = event_of(1, RP_KIND_OTHER, "{\"to_seq\":0}");
  assert_int_equal(rp__fold_apply(f, &start, &to), RP__FOLD_REWIND);
  assert_int_equal(to, 0);
  assert_int_equal(rp__fold_apply(f, &other, &to), 0);
}

static void saves_and_loads(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_of(3), *back = fold_of(9), *empty = fold_of(0);
  RP_AUTOBUF struct rp__buf a = RP_BUF(1000), b = RP_BUF(1000), none = RP_BUF(1000), shown = RP_BUF(1000);
  struct rp__jw wa = RP_JW(&a), wb = RP_JW(&b), wn = RP_JW(&none), ws = RP_JW(&shown);
  rp__fold_save(f, &wa);
  assert_string_equal(a.p, "{\"version\":1,\"seq\":3,\"at_ms\":3000,\"facets\":{\"sum\":{\"n\":6,\"away\":0.0}}}");
  assert_int_equal(rp__fold_load(back, rp__json_trusted(a.p, a.n), NULL), 0);
  rp__fold_save(back, &wb);
  assert_string_equal(a.p, b.p);
  rp__fold_save(empty, &wn);
  assert_string_equal(none.p, "{\"version\":1,\"seq\":0,\"at_ms\":0,\"facets\":{}}");
  rp__jw_object(&ws);
  rp__fold_show(f, NULL, NULL, NULL, 0, &ws);
  rp__fold_show(empty, NULL, NULL, NULL, 0, &ws);
  rp__jw_end_object(&ws);
  assert_string_equal(shown.p, "{\"sum\":{\"n\":6,\"away\":0.0}}");
}

static void refuses_what_is_no_state(void **state)
{
  (void)state;
  static const struct {
    const char *doc;
    int code;
  } cases[] = {
      {"{\"version\":1,\"seq\":3,\"at_ms\":3,\"facets\":{\"hologram\":5}}", 0},
      {"{\"version\":1,\"seq\":3,\"at_ms\":3,\"facets\":{\"sum\":5}}", RP_E_SNAPSHOT_CORRUPT},
      {"{\"version\":1,\"seq\":3,\"at_ms\":3,\"facets\":{\"sum\":null}}", RP_E_SNAPSHOT_CORRUPT},
      {"{\"version\":1,\"seq\":3,\"at_ms\":3,\"facets\":[]}", RP_E_SNAPSHOT_CORRUPT},
      {"{\"version\":1,\"seq\":3,\"at_ms\":3}", RP_E_SNAPSHOT_CORRUPT},
      {"{\"version\":1,\"seq\":3,\"facets\":{}}", RP_E_SNAPSHOT_CORRUPT},
      {"{\"version\":1,\"seq\":-3,\"at_ms\":3,\"facets\":{}}", RP_E_SNAPSHOT_CORRUPT},
      {"{\"version\":1,\"seq\":\"3\",\"at_ms\":3,\"facets\":{}}", RP_E_SNAPSHOT_CORRUPT},
      {"{\"seq\":3,\"at_ms\":3,\"facets\":{}}", RP_E_SNAPSHOT_CORRUPT},
      {"{\"version\":2,\"seq\":3,\"at_ms\":3,\"facets\":{}}", RP_E_SNAPSHOT_VERSION},
      {"[]", RP_E_SNAPSHOT_CORRUPT},
      {"", RP_E_SNAPSHOT_CORRUPT},
  };
  RP_AUTOFOLD struct rp__fold *f = fold_of(3);
  for (size_t i = 0; i < RP_ARRAY_SIZE(cases); i++) {
    rp_error err = {0};
    int rc = rp__fold_load(f, rp__json_trusted(cases[i].doc, strlen(cases[i].doc)), &err);
    if (rc != cases[i].code || err.code != rc) fail_msg("%s: %d %s", cases[i].doc, rc, err.message);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(applies_in_order_only),
      cmocka_unit_test(restored_ages_before_it_applies),
      cmocka_unit_test(time_travel_asks_for_the_past),
      cmocka_unit_test(lasting_facets_travel_nowhere),
      cmocka_unit_test(only_the_past_can_be_travelled_to),
      cmocka_unit_test(saves_and_loads),
      cmocka_unit_test(refuses_what_is_no_state),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
