/* SPDX-License-Identifier: Apache-2.0 */
/* L-05, L-06, L-09, N-01, O-07: what happens in the background for a server, whose handles are guests'. */
#include "engine/keep/abandon.h"
#include "unit/engine/long.h"

#define SECOND 1000
#define IDLE (61 * SECOND)
#define GUESTS 300
#define MANY 1100 /* more than one sweep marks */

/* ---- looking ---- */

/* As it is stored: who reads it judges the run besides. */
static bool status_is(rp_engine *e, const char *ref, const char *status)
{
  rp_error err = {0};
  struct rp__session_row row = {0};
  OK(rp__session_lookup(e, ref, &row, &err), err);
  bool is = strcmp(rp__status_name(row.status), status) == 0;
  rp__session_row_done(&row);
  return is;
}

struct look {
  struct longer *l;
  rp_session *s;
  const char *ref, *status;
  int want;
};

static bool has_status(void *ctx)
{
  struct look *x = ctx;
  return status_is(x->l->e, x->ref, x->status);
}

static void assert_becomes(struct longer *l, const char *ref, const char *status)
{
  struct look x = {.l = l, .ref = ref, .status = status};
  if (!longer_until(has_status, &x)) fail_msg("%s did not become %s", ref, status);
}

static int on_snapshot(void *ctx, const rp_snapshot_info *info)
{
  (void)info;
  ++*(int *)ctx;
  return 0;
}

static bool has_snapshots(void *ctx)
{
  struct look *x = ctx;
  rp_error err = {0};
  int n = 0;
  OK(rp_snapshots(x->s, on_snapshot, &n, &err), err);
  return n == x->want;
}

static void assert_snapshots(struct longer *l, rp_session *s, int n)
{
  struct look x = {.l = l, .s = s, .want = n};
  if (!longer_until(has_snapshots, &x)) fail_msg("there never were %d snapshots", n);
}

static long long jobs_done(rp_engine *e, enum rp__keeper_job job, bool failed)
{
  struct rp__job_stats *j = &e->metrics.jobs[job];
  return atomic_load(failed ? &j->failed : &j->ok);
}

struct job_look {
  rp_engine *e;
  enum rp__keeper_job job;
  bool failed;
  long long beyond;
};

static bool job_ran(void *ctx)
{
  struct job_look *x = ctx;
  return jobs_done(x->e, x->job, x->failed) > x->beyond;
}

static void assert_job(rp_engine *e, enum rp__keeper_job job, bool failed, long long beyond)
{
  struct job_look x = {e, job, failed, beyond};
  if (!longer_until(job_ran, &x)) fail_msg("%s did not %s", rp__job_name(job), failed ? "fail" : "run");
}

static void note(rp_session *s)
{
  rp_error err = {0};
  rp_event ev = {.kind = "note", .body = "{\"id\":\"n\",\"text\":\"x\"}"};
  OK(rp_append(s, &ev, NULL, NULL, &err), err);
}

/* ---- L-05 ---- */

static void a_guests_session_rests_and_wakes(void **state)
{
  struct longer *l = *state;
  rp_session *s = longer_guest(l, "k");
  for (int round = 0; round < 2; round++) {
    rig_say(s, "hello");
    assert_true(status_is(l->e, "k", "active"));
    longer_pass(l, IDLE);
    assert_becomes(l, "k", "idle");
  }
  assert_job(l->e, RP_JOB_IDLE, false, 1);
  assert_int_equal(jobs_done(l->e, RP_JOB_IDLE, true), 0);
  rp_session_free(s);
}

/* Who holds a session marks it himself; when he is gone, whoever is there does. */
static void a_holders_session_is_his(void **state)
{
  struct longer *l = *state;
  rp_error err = {0};
  rp_clock clock = {longer_wall, longer_boot, l};
  rp_options o = {.db = l->url, .clock = &clock, .short_lived = true};
  rp_start_options so = {.scope = "a", .key = "h", .owner = RP_OWNER_SELF};
  rp_engine *other;
  rp_session *holder, *guest;
  OK(rp_open(&o, &other, &err), err);
  OK(rp_start(other, &so, &holder, &err), err);
  rig_say(holder, "mine");
  OK(rp_attach(l->e, "h", &guest, &err), err);
  longer_pass(l, IDLE);
  int64_t ticks = rp__engine_ticks(l->e);
  atomic_store(&guest->quiet_at, ticks);
  assert_int_equal(rp__session_rest(guest, ticks, &err), 0);
  assert_true(status_is(l->e, "h", "active"));
  assert_true(atomic_load(&guest->quiet_at) > ticks);
  rp_session_free(holder);
  longer_pass(l, IDLE);
  assert_becomes(l, "h", "idle");
  rp_session_free(guest);
  rp_close(other);
}

/* Others wrote meanwhile: it has not been quiet for long enough. */
static void what_others_write_counts(void **state)
{
  struct longer *l = *state;
  rp_error err = {0};
  rp_session *s = longer_guest(l, "k"), *other;
  rig_say(s, "x");
  OK(rp_attach(l->e, "k", &other, &err), err);
  longer_pass(l, 40 * SECOND);
  rig_say(other, "y");
  longer_pass(l, 30 * SECOND);
  int64_t ticks = rp__engine_ticks(l->e);
  assert_int_equal(rp__session_rest(s, ticks, &err), 0);
  assert_true(status_is(l->e, "k", "active"));
  rp_session_free(other);
  rp_session_free(s);
}

/* ---- L-06 ---- */

static void a_guests_session_is_checkpointed(void **state)
{
  struct longer *l = *state;
  rp_session *s = longer_guest(l, "k");
  for (int i = 0; i < 9; i++) note(s);
  longer_pass(l, 299 * SECOND);
  long long before = jobs_done(l->e, RP_JOB_CHECKPOINTS, false);
  note(s); /* the tenth */
  assert_snapshots(l, s, 1);
  note(s);
  longer_pass(l, 301 * SECOND); /* on the interval */
  assert_snapshots(l, s, 2);
  assert_job(l->e, RP_JOB_CHECKPOINTS, false, before + 1);
  rp_event many[1000];
  rp_error err = {0};
  for (int i = 0; i < 1000; i++) many[i] = (rp_event){.kind = "x-a", .body = "{}"};
  OK(rp_append_many(s, many, 1000, NULL, NULL, &err), err); /* by the tail */
  assert_snapshots(l, s, 3);
  rp_session_free(s);
}

/* A store that takes nothing for a while: counted, and made up for. */
static void what_fails_is_counted_and_tried_again(void **state)
{
  struct longer *l = *state;
  rp_close(l->e);
  snprintf(l->url, sizeof l->url, "sqlite:%s?busy_ms=20", l->path);
  l->e = longer_engine(l);
  rp_session *s = longer_guest(l, "k");
  note(s);
  sqlite3 *writer = longer_block(l);
  longer_pass(l, 301 * SECOND);
  assert_job(l->e, RP_JOB_CHECKPOINTS, true, 0);
  longer_unblock(writer);
  longer_pass(l, 10 * SECOND);
  assert_snapshots(l, s, 1);
  rp_session_free(s);
}

/* ---- L-09 ---- */

static void abandonment_is_looked_for_at_the_start(void **state)
{
  struct longer *l = *state;
  rp_session *s = longer_guest(l, "k");
  rig_say(s, "x");
  rp_session_free(s);
  rp_close(l->e);
  longer_pass(l, 3700 * SECOND);
  l->e = longer_engine(l); /* nobody starts anything */
  assert_becomes(l, "k", "abandoned");
  assert_job(l->e, RP_JOB_SWEEP, false, 0);
}

static void abandonment_is_looked_for_every_minute(void **state)
{
  struct longer *l = *state;
  rp_session *s = longer_guest(l, "k");
  rig_say(s, "x");
  rp_session_free(s);
  longer_pass(l, 3700 * SECOND);
  assert_becomes(l, "k", "abandoned");
}

/* Quiet sessions that live, however many and new, do not keep the old and dead one from being found. */
static void the_living_hide_no_abandoned_one(void **state)
{
  struct longer *l = *state;
  rp_error err = {0};
  static rp_session *s[MANY];
  int64_t marked = 0;
  char key[16];
  rp_session_free(longer_guest(l, "old"));
  for (int i = 0; i < MANY; i++) {
    snprintf(key, sizeof key, "k%d", i);
    s[i] = longer_guest(l, key);
  }
  longer_pass(l, 3700 * SECOND);
  for (int i = 0; i < MANY; i++) OK(rp_heartbeat(s[i], &err), err);
  OK(rp_flush(l->e, &err), err);
  for (int i = 0; i < MANY; i++) rp_session_free(s[i]);
  rp_close(l->e); /* with its keeper, which would do the same */
  l->e = NULL;
  rp_clock clock = {longer_wall, longer_boot, l};
  rp_options o = {.db = l->url, .clock = &clock, .short_lived = true};
  OK(rp_open(&o, &l->e, &err), err);
  OK(rp__abandon_sweep(l->e, NULL, &marked, &err), err);
  assert_true(status_is(l->e, "old", "abandoned"));
  assert_false(status_is(l->e, "k0", "abandoned"));
  assert_true(marked <= 1); /* the keeper may have been faster */
}

/* Engines opened at the same moment do not all work at the same moment. */
static void times_are_spread(void **state)
{
  struct longer *l = *state;
  rp_error err = {0};
  rp_engine *e[8];
  rp_clock clock = {longer_wall, longer_boot, l};
  rp_options o = {.db = "memory:", .clock = &clock};
  int64_t now = longer_boot(l), first = 0;
  bool differ = false;
  for (int i = 0; i < 8; i++) OK(rp_open(&o, &e[i], &err), err);
  for (int i = 0; i < 8; i++) {
    assert_job(e[i], RP_JOB_SWEEP, false, 0);
    int64_t in = atomic_load(&e[i]->keeper.next_at[RP_JOB_SWEEP]) - now;
    assert_true(in >= 54 * SECOND && in <= 66 * SECOND);
    differ = differ || (first && in != first);
    first = in;
  }
  assert_true(differ);
  for (int i = 0; i < 8; i++) rp_close(e[i]);
}

/* O-07 */
static void every_job_is_told_of(void **state)
{
  static const char *const names[] = {"wal", "checkpoints", "idle", "mirrors", "index", "prune", "sweep", "collect"};
  struct longer *l = *state;
  rp_error err = {0};
  char *text, line[128];
  assert_job(l->e, RP_JOB_SWEEP, false, 0);
  OK(rp_metrics_text(l->e, &text, &err), err);
  for (size_t i = 0; i < RP_ARRAY_SIZE(names); i++) {
    snprintf(line, sizeof line, "\nreprise_background_runs_total{job=\"%s\",result=\"ok\"} ", names[i]);
    assert_non_null(strstr(text, line));
    snprintf(line, sizeof line, "\nreprise_background_runs_total{job=\"%s\",result=\"failed\"} 0\n", names[i]);
    assert_non_null(strstr(text, line));
    snprintf(line, sizeof line, "\nreprise_background_seconds_total{job=\"%s\"} ", names[i]);
    assert_non_null(strstr(text, line));
  }
  rp_free(text);
}

/* ---- N-01: heartbeats of guests ---- */

/* They keep a run alive that nobody owns, for as long as they come and not longer. */
static void guests_keep_a_run_alive(void **state)
{
  struct longer *l = *state;
  rp_error err = {0};
  rp_session *s = longer_guest(l, "k");
  bool alive;
  for (int i = 0; i < 5; i++) {
    longer_pass(l, 20 * SECOND);
    OK(rp_heartbeat(s, &err), err);
    OK(rp_flush(l->e, &err), err);
    rp_session *starter = longer_start(l, "other", RP_OWNER_NONE); /* ends what is dead in the scope */
    assert_string_equal(rig_get(rp_start_json(starter), "crash_recovered"), "[]");
    OK(rp_end(starter, NULL, &err), err);
    rp_session_free(starter);
    OK(rp_alive(l->e, "k", &alive, &err), err);
    assert_true(alive);
  }
  longer_pass(l, 31 * SECOND);
  rp_session *starter = longer_start(l, "other", RP_OWNER_NONE);
  assert_non_null(strstr(rig_get(rp_start_json(starter), "crash_recovered"), rp_session_id(s)));
  rp_session_detach(starter);
  rp_session_free(s);
}

/* Callers wait for nobody, not even while nothing can be stored; what gathered goes out in groups. */
static void heartbeats_travel_in_groups(void **state)
{
  struct longer *l = *state;
  rp_error err = {0};
  static rp_session *s[GUESTS];
  char key[16];
  for (int i = 0; i < GUESTS; i++) {
    snprintf(key, sizeof key, "k%d", i);
    s[i] = longer_guest(l, key);
  }
  OK(rp_flush(l->e, &err), err);
  int64_t beats = atomic_load(&l->e->counters.heartbeats_ok);
  sqlite3 *writer = longer_block(l);
  for (int round = 0; round < 3; round++)
    for (int i = 0; i < GUESTS; i++) OK(rp_heartbeat(s[i], &err), err); /* throttled but for the first */
  assert_true(atomic_load(&l->e->counters.heartbeats_ok) == beats);
  pthread_mutex_lock(&l->e->queue.lock);
  int64_t groups = l->e->queue.groups;
  pthread_mutex_unlock(&l->e->queue.lock);
  longer_unblock(writer);
  OK(rp_flush(l->e, &err), err);
  assert_int_equal(atomic_load(&l->e->counters.heartbeats_ok), beats + GUESTS);
  pthread_mutex_lock(&l->e->queue.lock);
  groups = l->e->queue.groups - groups;
  pthread_mutex_unlock(&l->e->queue.lock);
  assert_true(groups <= 4); /* the one under way, the rest, and what the keeper may have to say */
  for (int i = 0; i < GUESTS; i++) rp_session_free(s[i]);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      LONG_TEST(a_guests_session_rests_and_wakes),
      LONG_TEST(a_holders_session_is_his),
      LONG_TEST(what_others_write_counts),
      LONG_TEST(a_guests_session_is_checkpointed),
      LONG_TEST(what_fails_is_counted_and_tried_again),
      LONG_TEST(abandonment_is_looked_for_at_the_start),
      LONG_TEST(abandonment_is_looked_for_every_minute),
      LONG_TEST(the_living_hide_no_abandoned_one),
      LONG_TEST(times_are_spread),
      LONG_TEST(every_job_is_told_of),
      LONG_TEST(guests_keep_a_run_alive),
      LONG_TEST(heartbeats_travel_in_groups),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
