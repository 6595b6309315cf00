/* SPDX-License-Identifier: Apache-2.0 */
/* B-09, O-04: trash, holds, deletion, the budget; on a clock that the test moves. */
#include "unit/engine/retain.h"

/* ---- trash, hold, purge ---- */

static void test_trash_and_back(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  char id[RP_ID_MAX + 1], other[RP_ID_MAX + 1], prefix[20];
  ended_session(r, "a", "one", id);
  r->wall += MINUTE_MS;
  ended_session(r, "a", "two", other);
  OK(rp_trash(r->e, id, "a test", &err), err);
  assert_int_equal(count(r, false), 1);
  assert_int_equal(count(r, true), 1);
  OK(rp_trash(r->e, id, "twice", &err), err); /* is there already */
  assert_int_equal(audited(r, "trash").n, 1);
  assert_non_null(strstr(audited(r, "trash").fields, "a test"));

  assert_int_equal(rp_untrash(r->e, other, &err), RP_E_SESSION_NOT_FOUND);
  assert_int_equal(rp_untrash(r->e, "nobody", &err), RP_E_SESSION_NOT_FOUND);
  assert_int_equal(rp_untrash(r->e, NULL, &err), RP_E_USAGE);
  snprintf(prefix, sizeof prefix, "%.13s", id);
  OK(rp_untrash(r->e, prefix, &err), err);
  assert_int_equal(count(r, false), 2);
  assert_int_equal(count(r, true), 0);
  assert_int_equal(audited(r, "untrash").n, 1);
}

static void test_hold(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  char id[RP_ID_MAX + 1];
  ended_session(r, "a", "one", id);
  OK(rp_hold(r->e, id, true, &err), err);
  OK(rp_hold(r->e, id, true, &err), err); /* changes nothing */
  assert_int_equal(audited(r, "hold").n, 1);
  assert_int_equal(rp_trash(r->e, id, NULL, &err), RP_E_ON_HOLD);
  assert_int_equal(rp_error_lookup(err.code)->exit_code, 8);
  assert_int_equal(rp_purge(r->e, id, true, &err), RP_E_ON_HOLD);

  /* Neither age nor budget takes it, and it is told once. */
  TOLD t = NOTHING;
  char expected[200];
  r->wall += 400 * DAY_MS;
  gc_both(r, (rp_gc_options){.older_than_ms = DAY_MS, .budget_bytes = 1}, &t);
  snprintf(expected, sizeof expected, "keep %s\n", id);
  expect_lines(&t, expected);
  assert_string_equal(t.last_reason, "on hold");
  assert_true(exists(r, id));

  OK(rp_hold(r->e, id, false, &err), err);
  OK(rp_trash(r->e, id, NULL, &err), err);
  OK(rp_hold(r->e, id, true, &err), err); /* in the trash too */
  assert_int_equal(rp_purge(r->e, id, false, &err), RP_E_ON_HOLD);
}

/* Nobody's session disappears under him. */
static void test_in_use(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  rp_session *s = rig_start(r, "a", "k", RP_OWNER_SELF);
  rig_say(s, "hello");
  assert_int_equal(rp_trash(r->e, "k", NULL, &err), RP_E_HELD);
  assert_int_equal(rp_purge(r->e, "k", true, &err), RP_E_HELD);
  char id[RP_ID_MAX + 1];
  snprintf(id, sizeof id, "%s", rp_session_id(s));
  rp_session_free(s); /* as a crash: the run has no living owner now */
  OK(rp_trash(r->e, "k", NULL, &err), err);
  assert_int_equal(count(r, true), 1);

  /* The key is free again; the one in the trash still answers to its id. */
  s = rig_start(r, "a", "k", RP_OWNER_NONE);
  assert_string_not_equal(rp_session_id(s), id);
  rp_session_free(s);
  assert_true(exists(r, id));
}

static void test_purge(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  char id[RP_ID_MAX + 1], other[RP_ID_MAX + 1];
  ended_session(r, "a", "one", id);
  ended_session(r, "a", "two", other);
  assert_int_equal(rp_purge(r->e, id, false, &err), RP_E_REFUSED); /* not in the trash */
  OK(rp_purge(r->e, id, true, &err), err);
  assert_false(exists(r, id));
  assert_int_equal(rp_purge(r->e, id, true, &err), RP_E_SESSION_NOT_FOUND);
  OK(rp_trash(r->e, other, NULL, &err), err);
  OK(rp_purge(r->e, other, false, &err), err);
  assert_false(exists(r, other));
  struct audit_search x = audited(r, "deletion"); /* B-09: one record each, kept when the session is gone */
  assert_int_equal(x.n, 2);
  assert_non_null(strstr(x.fields, other));
  assert_string_equal(rig_get(x.fields, "scope"), "\"a\"");
  assert_string_not_equal(rig_get(x.fields, "events"), "0");
  OK(rp_verify(r->e, NULL, false, NULL, NULL, NULL, NULL, &err), err);
}

/* ---- gc ---- */

static void test_ages(void **state)
{
  struct rig *r = *state;
  char id[3][RP_ID_MAX + 1], expected[400];
  for (int i = 0; i < 3; i++) {
    ended_session(r, "a", "hello", id[i]);
    r->wall += 10 * DAY_MS;
  }
  TOLD nothing = NOTHING; /* retain_days is 0: nothing is ever too old by itself */
  gc_both(r, (rp_gc_options){0}, &nothing);
  assert_int_equal(nothing.n, 1); /* but a record of 30 days ago is archived, X-15 */

  TOLD t = NOTHING; /* ended 30, 20 and 10 days ago */
  gc_both(r, (rp_gc_options){.older_than_ms = 15 * DAY_MS}, &t);
  snprintf(expected, sizeof expected, "trash %s\ntrash %s\n", id[0], id[1]);
  expect_lines(&t, expected);
  assert_string_equal(t.last_reason, "ended 20 days ago");

  TOLD within = NOTHING; /* the grace period */
  r->wall += 6 * DAY_MS;
  gc_both(r, (rp_gc_options){0}, &within);
  assert_int_equal(within.n, 0);
  TOLD over = NOTHING;
  r->wall += DAY_MS;
  gc_both(r, (rp_gc_options){0}, &over);
  snprintf(expected, sizeof expected, "delete %s\ndelete %s\n", id[0], id[1]);
  expect_lines(&over, expected);
  assert_string_equal(over.last_reason, "in the trash for 7 days");
  assert_int_equal(audited(r, "deletion").n, 2);
  assert_int_equal(count(r, false), 1);
  assert_int_equal(count(r, true), 0);
}

/* The configured days, per scope; no grace period at all. */
static void test_configured(void **state)
{
  struct rig *r = *state;
  char id[RP_ID_MAX + 1], expected[300];
  ended_session(r, "a", "hello", id);
  setenv("REPRISE_RETAIN_DAYS", "3", 1);
  setenv("REPRISE_TRASH_DAYS", "0", 1);
  rig_reopen(r);
  r->wall += 3 * DAY_MS - 1;
  TOLD early = NOTHING;
  gc_both(r, (rp_gc_options){0}, &early);
  assert_int_equal(early.n, 0);
  r->wall += 1;
  TOLD t = NOTHING;
  gc_both(r, (rp_gc_options){0}, &t);
  snprintf(expected, sizeof expected, "trash %s\ndelete %s\n", id, id);
  expect_lines(&t, expected);
  assert_false(exists(r, id));
  unsetenv("REPRISE_RETAIN_DAYS");
  unsetenv("REPRISE_TRASH_DAYS");
}

static void test_scope_only(void **state)
{
  struct rig *r = *state;
  char mine[RP_ID_MAX + 1], other[RP_ID_MAX + 1];
  ended_session(r, "a", "mine", mine);
  ended_session(r, "b", "other", other);
  r->wall += 40 * DAY_MS;
  TOLD t = NOTHING;
  gc_both(r, (rp_gc_options){.scope = "a", .older_than_ms = DAY_MS, .budget_bytes = 1},
          &t); /* tell() asserts scope a */
  assert_false(exists(r, mine));
  assert_true(exists(r, other));
}

static int cancel_third(void *ctx, int64_t done, int64_t total)
{
  assert_int_equal(total, 5);
  *(int64_t *)ctx = done;
  return done == 3;
}

/* Interrupted between two sessions: what was done is done, the rest is as it was, the next run finishes. */
static void test_interrupted(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  int64_t done = 0;
  for (int i = 0; i < 5; i++) {
    char id[RP_ID_MAX + 1];
    ended_session(r, "a", "hello", id);
    r->wall += MINUTE_MS;
  }
  r->wall += 2 * DAY_MS;
  rp_gc_options o = {.older_than_ms = DAY_MS};
  assert_int_equal(rp_gc(r->e, &o, NULL, NULL, cancel_third, &done, NULL, &err), RP_E_CANCELLED);
  assert_int_equal(count(r, true), 3);
  assert_int_equal(count(r, false), 2);
  OK(rp_verify(r->e, NULL, false, NULL, NULL, NULL, NULL, &err), err);

  TOLD one = NOTHING; /* a listener's word comes back as he said it */
  one.stop_after = 1;
  assert_int_equal(rp_gc(r->e, &o, tell, &one, NULL, NULL, NULL, &err), 4711);
  assert_int_equal(count(r, true), 3);
  TOLD rest = NOTHING;
  gc(r, o, &rest,
     "{\"abandoned\":0,\"archived\":0,\"trashed\":2,\"deleted\":0,\"kept\":0,\"bytes\":0,\"dry_run\":false}");
  assert_int_equal(count(r, false), 0);
}

/* ---- the budget ---- */

static int64_t file_bytes(struct rig *r, const char *name)
{
  struct stat st;
  char path[SCRATCH_PATH];
  return stat(scratch_path(&r->scratch, name, path), &st) ? 0 : (int64_t)st.st_size;
}

static void test_budget(void **state)
{
  enum { N = 8 };
  struct rig *r = *state;
  rp_error err = {0};
  char id[N][RP_ID_MAX + 1];
  char *text = malloc(60001);
  assert_non_null(text);
  for (int i = 0; i < N; i++) {
    rp_session *s = rig_start(r, "a", NULL, RP_OWNER_NONE);
    for (int k = 0; k < 5; k++) {
      for (int c = 0; c < 60000; c++) text[c] = (char)('a' + (c * 7 + c / 13 + i + k) % 26);
      text[60000] = 0;
      rig_say(s, text);
    }
    OK(rp_end(s, NULL, &err), err);
    snprintf(id[i], sizeof id[i], "%s", rp_session_id(s));
    rp_session_free(s);
    r->wall += DAY_MS;
  }
  free(text);
  OK(rp_hold(r->e, id[0], true, &err), err);
  const int64_t budget = 1530000; /* of more than 2,400,000 bytes of messages */
  TOLD t = NOTHING;
  gc_both(r, (rp_gc_options){.budget_bytes = budget}, &t);
  assert_in_range(file_bytes(r, "t.db") + file_bytes(r, "t.db-wal"), 600000, budget); /* the files are smaller now */
  assert_true(exists(r, id[0]));                                                      /* held, though the oldest */
  assert_false(exists(r, id[1]));                                                     /* then the oldest first … */
  assert_true(exists(r, id[N - 1]));                                                  /* … and no more than needed */
  assert_true(count(r, false) >= 3);
  TOLD again = NOTHING;
  gc_both(r, (rp_gc_options){.budget_bytes = budget}, &again);
  assert_int_equal(again.n, 0);
  OK(rp_verify(r->e, NULL, false, NULL, NULL, NULL, NULL, &err), err);

  setenv("REPRISE_DISK_BUDGET", "plenty", 1);
  rig_reopen(r);
  assert_int_equal(rp_gc(r->e, NULL, NULL, NULL, NULL, NULL, NULL, &err), RP_E_CONFIG);
  unsetenv("REPRISE_DISK_BUDGET");
}

/* ---- failures ---- */

/* Whatever call fails, before or after it was done: the next run finishes the work, and each deletion is told once. */
static void test_every_failure(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  char web[RP_ID_MAX + 1];
  for (int i = 0; i < 3; i++) {
    char id[RP_ID_MAX + 1];
    ended_session(r, "a", "hello", id);
    if (i == 0) OK(rp_trash(r->e, id, NULL, &err), err);
  }
  channel_session(r, "web", "w", web);
  r->wall += 8 * DAY_MS;
  rp_gc_options o = {.older_than_ms = 8 * DAY_MS, .budget_bytes = 1 << 30};
  int failed = 0;
  for (int64_t n = 1; n < 400; n++) {
    struct rp__fault plan = {.nth = n / 2 + 1, .code = RP_E_IO, .after = n % 2};
    rp_engine *e = rig_counting(r, &plan);
    int rc = rp_gc(e, &o, NULL, NULL, NULL, NULL, NULL, &err);
    rp_close(e);
    failed += rc != 0;
    if (plan.calls < plan.nth) break;
  }
  assert_true(failed > 10);
  expect_status(r, web, RP_STATUS_ABANDONED); /* as of eight days ago, so a later run took it to the trash */
  assert_int_equal(count(r, false), 0);
  assert_int_equal(count(r, true), 3);
  assert_int_equal(audited(r, "deletion").n, 1);
  assert_int_equal(audited(r, "trash").n, 4);
  OK(rp_verify(r->e, NULL, false, NULL, NULL, NULL, NULL, &err), err);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      TEST(test_trash_and_back), TEST(test_hold),          TEST(test_in_use),     TEST(test_purge),
      TEST(test_ages),           TEST(test_configured),    TEST(test_scope_only), TEST(test_interrupted),
      TEST(test_budget),         TEST(test_every_failure),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
