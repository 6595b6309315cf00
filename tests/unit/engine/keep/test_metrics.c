/* SPDX-License-Identifier: Apache-2.0 */
/* O-07: the names, the buckets, and that nothing is lost between threads. */
#include "unit/engine/rig.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#include "engine/engine.h"

static char *text_of(struct rig *r)
{
  rp_error err = {0};
  char *text;
  OK(rp_metrics_text(r->e, &text, &err), err);
  return text;
}

/* The value on the line that begins with that name and labels. */
static double value_of(const char *text, const char *name)
{
  size_t n = strlen(name);
  for (const char *p = text; p; p = strchr(p, '\n')) {
    p += *p == '\n';
    if (strncmp(p, name, n) == 0 && p[n] == ' ') return strtod(p + n, NULL);
  }
  fail_msg("no line %s", name);
  return NAN;
}

static void expect(struct rig *r, const char *name, double value)
{
  char *text = text_of(r);
  double got = value_of(text, name);
  if (fabs(got - value) > 1e-9) fail_msg("%s is %g, not %g", name, got, value);
  rp_free(text);
}

static void test_counts(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  rp_session *s = rig_start(r, "a", "k", RP_OWNER_SELF);
  rig_say(s, "hello");
  rig_say(s, "again");
  OK(rp_heartbeat(s, &err), err);
  expect(r, "reprise_appends_total{result=\"ok\"}", 2);
  expect(r, "reprise_heartbeats_total{result=\"ok\"}", 1);
  expect(r, "reprise_sessions{status=\"active\"}", 1);
  expect(r, "reprise_sessions{status=\"closed\"}", 0);
  expect(r, "reprise_runs_open", 1);
  OK(rp_checkpoint(s, NULL, &err), err);
  expect(r, "reprise_snapshots_total{result=\"ok\"}", 1);
  OK(rp_end(s, NULL, &err), err);
  rp_session_free(s);
  expect(r, "reprise_sessions{status=\"active\"}", 0);
  expect(r, "reprise_sessions{status=\"closed\"}", 1);
  OK(rp_trash(r->e, "k", NULL, &err), err);
  expect(r, "reprise_sessions_trashed", 1);
  expect(r, "reprise_retention_total{action=\"trash\"}", 1);
}

/* Every name of O-07 is there from the first moment, with every result. */
static void test_names(void **state)
{
  static const char *const names[] = {
      "reprise_snapshots_total{result=\"ok\"}",
      "reprise_snapshots_total{result=\"failed\"}",
      "reprise_restores_total{result=\"ok\"}",
      "reprise_restores_total{result=\"failed\"}",
      "reprise_checkpoints_total{result=\"ok\"}",
      "reprise_checkpoints_total{result=\"failed\"}",
      "reprise_snapshot_bytes_count",
      "reprise_snapshot_seconds_count",
      "reprise_restore_seconds_count",
      "reprise_sessions{status=\"abandoned\"}",
      "reprise_redactions_total",
      "reprise_audit_records_total",
  };
  struct rig *r = *state;
  for (size_t i = 0; i < RP_ARRAY_SIZE(names); i++) expect(r, names[i], 0);
}

/* Each line is a comment or `name{labels} number`; each metric has one HELP and one TYPE, before its values. */
static void test_form(void **state)
{
  struct rig *r = *state;
  char *text = text_of(r), *rest = text, *line;
  char family[80] = "";
  assert_int_equal(text[strlen(text) - 1], '\n');
  while ((line = strsep(&rest, "\n")) && rest) {
    char name[80];
    if (sscanf(line, "# HELP %79s", name) == 1) {
      assert_string_not_equal(name, family);
      snprintf(family, sizeof family, "%s", name);
    } else if (sscanf(line, "# TYPE %79s", name) == 1) {
      assert_string_equal(name, family);
    } else {
      char *end, *number = strrchr(line, ' ');
      assert_int_equal(strncmp(line, family, strlen(family)), 0);
      assert_non_null(number);
      strtod(number + 1, &end);
      assert_true(end > number + 1 && *end == 0);
    }
  }
  rp_free(text);
}

static void test_buckets(void **state)
{
  struct rig *r = *state;
  struct rp__metrics *m = &r->e->metrics;
  rp__metric_observe(&m->restore_seconds, 0.0005); /* a bound belongs to its bucket */
  rp__metric_observe(&m->restore_seconds, 0.3);
  rp__metric_observe(&m->restore_seconds, 99);
  rp__metric_observe(&m->restore_seconds, NAN);
  rp__metric_observe(&m->restore_seconds, INFINITY);
  expect(r, "reprise_restore_seconds_bucket{le=\"0.0005\"}", 1);
  expect(r, "reprise_restore_seconds_bucket{le=\"0.25\"}", 1);
  expect(r, "reprise_restore_seconds_bucket{le=\"0.5\"}", 2);
  expect(r, "reprise_restore_seconds_bucket{le=\"10\"}", 2);
  expect(r, "reprise_restore_seconds_bucket{le=\"+Inf\"}", 3);
  expect(r, "reprise_restore_seconds_sum", 99.3005);
  expect(r, "reprise_restore_seconds_count", 3);
  rp__metric_observe(&m->snapshot_bytes, 5000);
  expect(r, "reprise_snapshot_bytes_bucket{le=\"4096\"}", 0);
  expect(r, "reprise_snapshot_bytes_bucket{le=\"8192\"}", 1);
  struct rp__histogram bare = {0}; /* without bounds of its own: seconds */
  rp__metric_observe(&bare, 0.002);
  assert_int_equal(atomic_load(&bare.bucket[2]), 1);
}

static void *observe_many(void *arg)
{
  for (int i = 0; i < 20000; i++) rp__metric_observe(arg, 0.5);
  return NULL;
}

static void test_threads(void **state)
{
  struct rig *r = *state;
  pthread_t thread[4];
  for (size_t i = 0; i < RP_ARRAY_SIZE(thread); i++)
    assert_int_equal(pthread_create(&thread[i], NULL, observe_many, &r->e->metrics.snapshot_seconds), 0);
  for (size_t i = 0; i < RP_ARRAY_SIZE(thread); i++) pthread_join(thread[i], NULL);
  expect(r, "reprise_snapshot_seconds_count", 80000);
  expect(r, "reprise_snapshot_seconds_sum", 40000);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)

int main(void)
{
  const struct CMUnitTest tests[] = {TEST(test_counts), TEST(test_names), TEST(test_form), TEST(test_buckets),
                                     TEST(test_threads)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
