/* SPDX-License-Identifier: Apache-2.0 */
/* What a store must do with runs and leases. */
#include "suite.h"

#include <string.h>

struct runs {
  struct rp__run_row row[100];
  int n;
};

static int runs_add(void *ctx, const struct rp__run_row *row)
{
  struct runs *r = ctx;
  r->row[r->n++] = *row;
  return 0;
}

static struct runs runs_get(struct suite *f, struct rp__run_filter filter)
{
  struct runs r = {0};
  assert_int_equal(f->s->ops->run_list(f->s, &filter, runs_add, &r, &f->err), 0);
  return r;
}

static void a_run_comes_back_whole(void **state)
{
  struct suite *f = *state;
  struct rp__run_row run = {.owner = RP_RUN_PID,
                            .slot = 1LL << 60,
                            .proc = {.pid = 4711, .start = 99, .ns = UINT64_MAX - 3, .boot_id = "boot"},
                            .host = "host",
                            .version = "0.1",
                            .started_at = 11,
                            .heartbeat_at = 12,
                            .heartbeat_boot = 13,
                            .restart = RP_RESTART_LONG,
                            .previous_cause = RP_CAUSE_POWER_LOSS,
                            .elapsed = 7200.125,
                            .start_number = 42};
  int64_t session = suite_put(f, "a");
  struct rp__op op = op_lease("a", 0, &run);
  assert_int_equal(suite_op(f, &op), 0);
  for (int again = 0; again < 2; again++) {
    struct runs r = runs_get(f, (struct rp__run_filter){.open_only = true});
    assert_int_equal(r.n, 1);
    const struct rp__run_row *got = &r.row[0];
    assert_int_equal(got->ref, op.ret.ref);
    assert_int_equal(got->session_ref, session);
    assert_string_equal(got->session_id, "a");
    assert_int_equal(got->epoch, 1);
    assert_int_equal(got->owner, RP_RUN_PID);
    assert_true(got->slot == 1LL << 60 && got->proc.ns == UINT64_MAX - 3);
    assert_int_equal(got->proc.pid, 4711);
    assert_int_equal(got->proc.start, 99);
    assert_string_equal(got->proc.boot_id, "boot");
    assert_string_equal(got->host, "host");
    assert_string_equal(got->version, "0.1");
    assert_int_equal(got->started_at, 11);
    assert_int_equal(got->heartbeat_at, 12);
    assert_int_equal(got->heartbeat_boot, 13);
    assert_int_equal(got->ended_at, 0);
    assert_int_equal(got->cause, RP_CAUSE_NONE);
    assert_int_equal(got->restart, RP_RESTART_LONG); /* N-18 */
    assert_int_equal(got->previous_cause, RP_CAUSE_POWER_LOSS);
    assert_true(got->elapsed == 7200.125);
    assert_int_equal(got->start_number, 42);
    if (!suite_reopen(f)) break;
  }
}

/* N-14, N-18: a lease that counts a start gets its number, whatever was given; one that does not keeps what was. */
static void a_counted_run_has_its_number(void **state)
{
  struct suite *f = *state;
  struct rp__run_row run = {.owner = RP_RUN_NONE, .restart = RP_RESTART_NONE, .start_number = 99};
  suite_put(f, "a");
  suite_put(f, "b");
  for (int i = 0; i < 3; i++) {
    struct rp__op op = op_lease(i % 2 ? "b" : "a", i / 2, &run);
    op.u.lease.count_start = true;
    assert_int_equal(suite_op(f, &op), 0);
    assert_int_equal(op.ret.starts, i + 1);
  }
  struct rp__op refused = op_lease("a", 7, &run), op = op_lease("b", 1, &run);
  refused.u.lease.count_start = true;
  assert_int_equal(suite_op(f, &refused), RP_E_FENCED);
  assert_int_equal(suite_op(f, &op), 0);
  for (int again = 0; again < 2; again++) {
    static const int64_t numbers[] = {99, 3, 2, 1};
    struct runs r = runs_get(f, (struct rp__run_filter){0});
    assert_int_equal(r.n, 4);
    for (int i = 0; i < r.n; i++) {
      assert_int_equal(r.row[i].start_number, numbers[i]);
      assert_int_equal(r.row[i].restart, RP_RESTART_NONE);
    }
    if (!suite_reopen(f)) break;
  }
}

/* B-05: of two that saw the same epoch, one gets the lease. */
static void a_lease_is_a_compare_and_swap(void **state)
{
  struct suite *f = *state;
  struct rp__run_row run = {.owner = RP_RUN_NONE};
  suite_put(f, "a");
  struct rp__op one = op_lease("a", 0, &run), two = op_lease("a", 0, &run);
  assert_int_equal(suite_op(f, &one), 0);
  assert_int_equal(suite_op(f, &two), RP_E_FENCED);
  assert_int_equal(runs_get(f, (struct rp__run_filter){0}).n, 1);
  one = op_lease("nobody", 0, &run);
  assert_int_equal(suite_op(f, &one), RP_E_SESSION_NOT_FOUND);
}

static void a_run_ends_once(void **state)
{
  struct suite *f = *state;
  suite_put(f, "a");
  suite_lease(f, "a");
  struct rp__op op = {.type = RP_OP_RUN_END,
                      .session_id = "a",
                      .u.run_end = {.ended_at = 50, .cause = RP_CAUSE_KILLED, .evidence = "signal 9", .reason = "x"}};
  assert_int_equal(suite_op(f, &op), 0);
  op.u.run_end.ended_at = 60;
  op.u.run_end.cause = RP_CAUSE_CLEAN;
  assert_int_equal(suite_op(f, &op), 0);
  struct runs r = runs_get(f, (struct rp__run_filter){0});
  assert_int_equal(r.n, 1);
  assert_int_equal(r.row[0].ended_at, 50);
  assert_int_equal(r.row[0].cause, RP_CAUSE_KILLED);
  assert_string_equal(r.row[0].evidence, "signal 9");
  assert_string_equal(r.row[0].reason, "x");
  assert_int_equal(runs_get(f, (struct rp__run_filter){.open_only = true}).n, 0);
}

static void an_older_run_is_ended_by_its_ref(void **state)
{
  struct suite *f = *state;
  suite_put(f, "a");
  suite_put(f, "b");
  suite_lease(f, "a");
  int64_t old = runs_get(f, (struct rp__run_filter){0}).row[0].ref;
  suite_lease(f, "a");
  struct rp__op op = {.type = RP_OP_RUN_END, .session_id = "b", .u.run_end = {.run_ref = old, .ended_at = 5}};
  assert_int_equal(suite_op(f, &op), 0);
  assert_int_equal(runs_get(f, (struct rp__run_filter){.open_only = true}).n, 2);
  op.session_id = "a";
  assert_int_equal(suite_op(f, &op), 0);
  struct runs r = runs_get(f, (struct rp__run_filter){.open_only = true});
  assert_int_equal(r.n, 1);
  assert_int_equal(r.row[0].epoch, 2);
}

static void a_heartbeat_is_the_current_runs(void **state)
{
  struct suite *f = *state;
  suite_put(f, "a");
  struct rp__op op = {.type = RP_OP_HEARTBEAT, .session_id = "a", .now_ms = NOW + 7, .u.heartbeat.boot_ms = 70};
  assert_int_equal(suite_op(f, &op), RP_E_ENDED);
  suite_lease(f, "a");
  suite_lease(f, "a");
  op.epoch = 1;
  assert_int_equal(suite_op(f, &op), RP_E_FENCED);
  op.epoch = 2;
  assert_int_equal(suite_op(f, &op), 0);
  op.epoch = 0;
  assert_int_equal(suite_op(f, &op), 0);
  struct runs r = runs_get(f, (struct rp__run_filter){0});
  assert_int_equal(r.row[0].heartbeat_at, NOW + 7);
  assert_int_equal(r.row[0].heartbeat_boot, 70);
  assert_int_equal(r.row[1].heartbeat_at, NOW);
  struct rp__op end = {.type = RP_OP_RUN_END, .session_id = "a", .u.run_end = {.ended_at = 5}};
  assert_int_equal(suite_op(f, &end), 0);
  assert_int_equal(suite_op(f, &op), RP_E_ENDED);
  struct rp__session_row row = suite_row(f, "a");
  assert_int_equal(row.last_activity_at, NOW);
}

static void runs_are_listed_newest_first(void **state)
{
  struct suite *f = *state;
  struct rp__session_row other = row_new("o", "other", NULL);
  struct rp__op op = op_put(&other);
  int64_t a = suite_put(f, "a");
  suite_put(f, "b");
  assert_int_equal(suite_op(f, &op), 0);
  for (int i = 0; i < 40; i++) suite_lease(f, "a"); /* more than a page */
  suite_lease(f, "b");
  suite_lease(f, "o");
  struct runs r = runs_get(f, (struct rp__run_filter){.scope = "s"});
  assert_int_equal(r.n, 41);
  assert_string_equal(r.row[0].session_id, "b");
  for (int i = 1; i < 41; i++) assert_int_equal(r.row[i].epoch, 41 - i);
  assert_int_equal(runs_get(f, (struct rp__run_filter){.session_ref = a}).n, 40);
  assert_int_equal(runs_get(f, (struct rp__run_filter){.session_ref = a, .open_only = true}).n, 40);
  r = runs_get(f, (struct rp__run_filter){.session_ref = a, .limit = 3});
  assert_int_equal(r.n, 3);
  assert_int_equal(r.row[2].epoch, 38);
  assert_int_equal(runs_get(f, (struct rp__run_filter){.scope = "nowhere"}).n, 0);
  assert_int_equal(runs_get(f, (struct rp__run_filter){0}).n, 42);
}

/* the runs of one channel, for a start that finds its past there. */
static void runs_of_a_channel(void **state)
{
  struct suite *f = *state;
  static const char *const channels[] = {"cli", "signal", "signal"};
  char id[2] = "a";
  for (int i = 0; i < 3; i++, id[0]++) {
    struct rp__session_row row = row_new(id, i == 2 ? "t" : "s", NULL);
    rp__name_set(row.channel, channels[i]);
    struct rp__op op = op_put(&row);
    assert_int_equal(suite_op(f, &op), 0);
    suite_lease(f, id);
    suite_lease(f, id);
  }
  struct rp__op end = {.type = RP_OP_RUN_END, .session_id = "b", .u.run_end = {.ended_at = 5}};
  assert_int_equal(suite_op(f, &end), 0);
  struct runs r = runs_get(f, (struct rp__run_filter){.scope = "s", .channel = "signal"});
  assert_int_equal(r.n, 2);
  assert_string_equal(r.row[0].session_id, "b");
  assert_int_equal(r.row[0].epoch, 2);
  r = runs_get(f, (struct rp__run_filter){.scope = "s", .channel = "signal", .open_only = true});
  assert_int_equal(r.n, 1);
  assert_int_equal(r.row[0].epoch, 1);
  assert_int_equal(runs_get(f, (struct rp__run_filter){.scope = "s"}).n, 4);
  assert_int_equal(runs_get(f, (struct rp__run_filter){.scope = "s", .channel = "voice"}).n, 0);
}

static struct rp__run_row beating(enum rp__owner owner, const char *boot, int64_t at)
{
  struct rp__run_row run = {.owner = owner, .started_at = NOW, .heartbeat_at = NOW, .heartbeat_boot = at};
  snprintf(run.proc.boot_id, sizeof run.proc.boot_id, "%s", boot);
  return run;
}

/* B-03, L-01: a start looks at what may be dead; runs that beat within the lease are not even read. */
static void runs_that_beat_are_left_out(void **state)
{
  struct suite *f = *state;
  const struct {
    const char *id;
    struct rp__run_row run;
    bool listed;
  } rows[] = {
      {"locked", beating(RP_RUN_LOCK, "this", 1500), true}, {"named", beating(RP_RUN_PID, "this", 1500), true},
      {"beats", beating(RP_RUN_NONE, "this", 1500), false}, {"first", beating(RP_RUN_NONE, "this", 1001), false},
      {"last", beating(RP_RUN_NONE, "this", 2000), false},  {"late", beating(RP_RUN_NONE, "this", 1000), true},
      {"ahead", beating(RP_RUN_NONE, "this", 2001), true},  {"unknown", beating(RP_RUN_NONE, "this", 0), true},
      {"older", beating(RP_RUN_NONE, "other", 1500), true}, {"younger", beating(RP_RUN_NONE, "uther", 1500), true},
      {"nowhere", beating(RP_RUN_NONE, "", 1500), true},
  };
  struct rp__beats beats = {.boot_id = "this", .after = 1000, .upto = 2000};
  struct rp__run_filter filter = {.scope = "s", .open_only = true, .leave_out = &beats};
  struct rp__session_row stranger = row_new("stranger", "t", NULL);
  struct rp__op put = op_put(&stranger);
  assert_int_equal(suite_op(f, &put), 0);
  suite_lease(f, "stranger");
  int want = 0;
  for (size_t i = 0; i < RP_ARRAY_SIZE(rows); i++) {
    suite_put(f, rows[i].id);
    struct rp__op op = op_lease(rows[i].id, 0, &rows[i].run);
    assert_int_equal(suite_op(f, &op), 0);
    want += rows[i].listed;
  }
  struct runs r = runs_get(f, filter);
  assert_int_equal(r.n, want);
  for (int i = 0, at = 0; i < r.n; i++, at++) { /* newest first */
    while (!rows[RP_ARRAY_SIZE(rows) - 1 - (size_t)at].listed) at++;
    assert_string_equal(r.row[i].session_id, rows[RP_ARRAY_SIZE(rows) - 1 - (size_t)at].id);
    assert_int_equal(r.row[i].epoch, 1);
  }
  filter.limit = 2;
  assert_int_equal(runs_get(f, filter).n, 2);

  /* A heartbeat takes it out of the list, an end as well. */
  filter.limit = 0;
  struct rp__op beat = {.type = RP_OP_HEARTBEAT, .session_id = "late", .u.heartbeat.boot_ms = 1700};
  assert_int_equal(suite_op(f, &beat), 0);
  struct rp__op end = {.type = RP_OP_RUN_END, .session_id = "named", .u.run_end = {.ended_at = 5}};
  assert_int_equal(suite_op(f, &end), 0);
  assert_int_equal(runs_get(f, filter).n, want - 2);
  beats.after = 1700;                                /* and without further ones it comes back */
  assert_int_equal(runs_get(f, filter).n, want + 1); /* with those that beat at 1001 and 1500 */
}

static int with_session(void *ctx, const struct rp__run_row *row)
{
  char *seen = ctx;
  assert_non_null(row->session);
  assert_int_equal(row->session->ref, row->session_ref);
  assert_string_equal(row->session->id, row->session_id);
  snprintf(seen + strlen(seen), 100 - strlen(seen), "%s:%s:%lld ", row->session->id, row->session->key,
           (long long)row->session->epoch);
  return 0;
}

static void runs_come_with_their_sessions(void **state)
{
  struct suite *f = *state;
  struct rp__session_row row = row_new("k", "s", "window");
  struct rp__op put = op_put(&row);
  struct rp__beats none = {.boot_id = "boot", .after = 0, .upto = 1};
  char seen[100] = "";
  suite_put(f, "a");
  assert_int_equal(suite_op(f, &put), 0);
  suite_lease(f, "a");
  suite_lease(f, "k");
  struct rp__run_filter filter = {.scope = "s", .open_only = true, .with_session = true};
  assert_int_equal(f->s->ops->run_list(f->s, &filter, with_session, seen, &f->err), 0);
  assert_string_equal(seen, "k:window:1 a::1 ");
  filter.leave_out = &none;
  seen[0] = 0;
  assert_int_equal(f->s->ops->run_list(f->s, &filter, with_session, seen, &f->err), 0);
  assert_string_equal(seen, "k:window:1 a::1 ");
  filter = (struct rp__run_filter){.scope = "s"};
  assert_null(runs_get(f, filter).row[0].session);
}

const struct CMUnitTest run_tests[] = {
    SUITE_TEST(runs_come_with_their_sessions),
    SUITE_TEST(a_run_comes_back_whole),
    SUITE_TEST(a_counted_run_has_its_number),
    SUITE_TEST(a_lease_is_a_compare_and_swap),
    SUITE_TEST(a_run_ends_once),
    SUITE_TEST(an_older_run_is_ended_by_its_ref),
    SUITE_TEST(a_heartbeat_is_the_current_runs),
    SUITE_TEST(runs_that_beat_are_left_out),
    SUITE_TEST(runs_are_listed_newest_first),
    SUITE_TEST(runs_of_a_channel),
};
const size_t run_tests_n = RP_ARRAY_SIZE(run_tests);
