/* SPDX-License-Identifier: Apache-2.0 */
/* When a checkpoint is due. */
#include "core_test.h"

#include "core/checkpoint-due.h"

static const struct rp__policy policy = {300000, 10, RP_TAIL_EVENTS, RP_TAIL_BYTES};

static void the_defaults_are_the_contracts(void **state)
{
  (void)state;
  assert_int_equal(RP_TAIL_EVENTS, 1000); /* checkpoint_s and checkpoint_notes: see test_config.c */
  assert_int_equal(RP_TAIL_BYTES, 1024 * 1024);
}

/* L-06: 5 minutes, counted from the first change since the last snapshot. */
static void an_interval_after_the_first_change(void **state)
{
  (void)state;
  struct rp__dirty d = {0};
  assert_int_equal(rp__policy_due(&policy, &d, INT64_MAX), RP_DUE_NOT);
  rp__dirty_note(&d, RP_KIND_MESSAGE, 10, 1000);
  rp__dirty_note(&d, RP_KIND_MESSAGE, 10, 200000);
  assert_int_equal(rp__policy_due(&policy, &d, 300999), RP_DUE_NOT);
  assert_int_equal(rp__policy_due(&policy, &d, 301000), RP_DUE_INTERVAL);
  rp__dirty_clear(&d);
  assert_int_equal(rp__policy_due(&policy, &d, INT64_MAX), RP_DUE_NOT);
}

/* L-06: 10 notes. */
static void a_count_of_notes(void **state)
{
  (void)state;
  struct rp__dirty d = {0};
  for (int i = 0; i < 9; i++) {
    rp__dirty_note(&d, RP_KIND_NOTE, 1, 5);
    rp__dirty_note(&d, RP_KIND_MESSAGE, 1, 5);
  }
  assert_int_equal(rp__policy_due(&policy, &d, 5), RP_DUE_NOT);
  rp__dirty_note(&d, RP_KIND_NOTE, 1, 5);
  assert_int_equal(rp__policy_due(&policy, &d, 5), RP_DUE_COUNT);
}

/* O-03. */
static void significant_events(void **state)
{
  (void)state;
  for (int k = 0; k < RP_KIND_MAX; k++) {
    struct rp__dirty d = {0};
    rp__dirty_note(&d, (enum rp__kind)k, 1, 5);
    bool significant = k == RP_KIND_TASK || k == RP_KIND_APPROVAL || k == RP_KIND_QUESTION || k == RP_KIND_PROVIDER;
    assert_int_equal(rp__policy_due(&policy, &d, 5), significant ? RP_DUE_EVENT : RP_DUE_NOT);
  }
}

static void a_long_tail(void **state)
{
  (void)state;
  struct rp__dirty d = {0};
  for (int i = 0; i < 999; i++) rp__dirty_note(&d, RP_KIND_OTHER, 1, 5);
  assert_int_equal(rp__policy_due(&policy, &d, 5), RP_DUE_NOT);
  rp__dirty_note(&d, RP_KIND_OTHER, 1, 5);
  assert_int_equal(rp__policy_due(&policy, &d, 5), RP_DUE_TAIL);

  struct rp__dirty big = {0};
  rp__dirty_note(&big, RP_KIND_OTHER, 1024 * 1024 - 1, 5);
  assert_int_equal(rp__policy_due(&policy, &big, 5), RP_DUE_NOT);
  rp__dirty_note(&big, RP_KIND_OTHER, 1, 5);
  assert_int_equal(rp__policy_due(&policy, &big, 5), RP_DUE_TAIL);
}

static void the_engines_own_events_make_nothing_dirty(void **state)
{
  (void)state;
  struct rp__dirty d = {0};
  for (int k = RP_KIND_RUNTIME; k < RP_KIND_MAX; k++) rp__dirty_note(&d, (enum rp__kind)k, 1 << 30, 5);
  assert_int_equal(d.since_ms, 0);
  assert_int_equal(d.events, 0);
  assert_int_equal(d.bytes, 0);
  assert_false(d.significant);
}

static void limits_of_zero_are_off_and_a_clock_at_zero_counts(void **state)
{
  (void)state;
  const struct rp__policy off = {0};
  struct rp__dirty d = {0};
  for (int i = 0; i < 5000; i++) rp__dirty_note(&d, RP_KIND_NOTE, 1000, 0);
  assert_int_not_equal(d.since_ms, 0);
  assert_int_equal(rp__policy_due(&off, &d, INT64_MAX), RP_DUE_NOT);
}

static void reasons_have_names(void **state)
{
  (void)state;
  assert_null(rp__due_reason(RP_DUE_NOT));
  assert_string_equal(rp__due_reason(RP_DUE_INTERVAL), "interval");
  assert_string_equal(rp__due_reason(RP_DUE_COUNT), "count");
  assert_string_equal(rp__due_reason(RP_DUE_EVENT), "event");
  assert_string_equal(rp__due_reason(RP_DUE_TAIL), "tail");
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_defaults_are_the_contracts),
      cmocka_unit_test(an_interval_after_the_first_change),
      cmocka_unit_test(a_count_of_notes),
      cmocka_unit_test(significant_events),
      cmocka_unit_test(a_long_tail),
      cmocka_unit_test(the_engines_own_events_make_nothing_dirty),
      cmocka_unit_test(limits_of_zero_are_off_and_a_clock_at_zero_counts),
      cmocka_unit_test(reasons_have_names),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
