/* SPDX-License-Identifier: Apache-2.0 */
/* Starts: new, resumed, repeated, held, taken over, recovered; and how each is classified. */
#include "unit/engine/rig.h"

#include <pthread.h>
#include <unistd.h>

#include "engine/engine.h"

/* N-02, N-03 */
static void test_fresh(void **state)
{
  struct rig *r = *state;
  rp_session *s = rig_start(r, "nova", NULL, RP_OWNER_SELF);
  assert_string_equal(rig_start_get(s, "restart.type"), "\"fresh_start\"");
  assert_string_equal(rig_start_get(s, "restart.cause"), "null");
  assert_string_equal(rig_start_get(s, "status"), "\"created\"");
  assert_string_equal(rig_start_get(s, "epoch"), "1");
  assert_string_equal(rig_start_get(s, "resumed"), "false");
  assert_string_equal(rig_start_get(s, "previous_session_id"), "null");
  assert_string_equal(rig_start_get(s, "total_sessions"), "1");
  assert_int_equal(rig_say(s, "hello").seq, 1);
  rp_session_free(s);
}

/* N-03: the boundaries, from a clean end and from an unclean one. */
static void test_restart_types(void **state)
{
  static const struct {
    bool clean;
    int64_t away_ms;
    const char *type, *cause;
  } rows[] = {
      {false, 10000, "\"crash_recovery\"", "\"crash\""}, {false, 29999, "\"crash_recovery\"", "\"crash\""},
      {false, 30000, "\"short_break\"", "\"crash\""},    {true, 1000, "\"short_break\"", "\"clean\""},
      {true, 3599999, "\"short_break\"", "\"clean\""},   {true, 3600000, "\"long_absence\"", "\"clean\""},
      {false, 7200000, "\"long_absence\"", "\"crash\""}, {true, -86400000, "\"short_break\"", "\"clean\""},
  };
  struct rig *r = *state;
  for (size_t i = 0; i < RP_ARRAY_SIZE(rows); i++) {
    char scope[16];
    rp_error err = {0};
    snprintf(scope, sizeof scope, "s%zu", i);
    rp_session *s = rig_start(r, scope, NULL, RP_OWNER_SELF);
    rig_say(s, "x");
    if (rows[i].clean) OK(rp_end(s, NULL, &err), err);
    rp_session_free(s);
    r->wall += rows[i].away_ms;
    s = rig_start(r, scope, NULL, RP_OWNER_SELF);
    assert_string_equal(rig_start_get(s, "restart.type"), rows[i].type);
    assert_string_equal(rig_start_get(s, "restart.cause"), rows[i].cause);
    if (rows[i].away_ms < 0) assert_string_equal(rig_start_get(s, "restart.elapsed_seconds"), "0.0");
    rp_session_free(s);
  }
}

/* a crash closes a session without a key as of its last activity; the next one follows it. */
static void test_recovery_without_key(void **state)
{
  struct rig *r = *state;
  rp_session *s = rig_start(r, "nova", NULL, RP_OWNER_SELF);
  char first[RP_ID_MAX + 1];
  snprintf(first, sizeof first, "%s", rp_session_id(s));
  rig_say(s, "x");
  rp_session_free(s);
  rig_reopen(r);
  r->wall += 5000;
  s = rig_start(r, "nova", NULL, RP_OWNER_SELF);
  assert_non_null(strstr(rig_start_get(s, "crash_recovered"), first));
  assert_non_null(strstr(rig_start_get(s, "previous_session_id"), first));
  rp_session *old;
  rp_error err = {0};
  OK(rp_attach(r->e, first, &old, &err), err);
  char *doc = rig_state(old, -1);
  assert_string_equal(rig_get(doc, "session.status"), "\"closed\"");
  assert_string_equal(rig_get(doc, "session.crash_recovered"), "true");
  assert_string_equal(rig_get(doc, "session.ended_at"), "\"2027-01-15T08:00:00.000Z\"");
  assert_non_null(strstr(rig_get(doc, "session.continued_by"), rp_session_id(s)));
  free(doc);
  rp_event ev = {.kind = "x-a", .body = "{}"};
  assert_int_equal(rp_append(old, &ev, NULL, NULL, &err), RP_E_ENDED);
  rp_session_free(old);
  rp_session_free(s);
}

/* O-06, L-05: by key while it is open; after its end only by its own id. */
static void test_resume(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  rp_session *s = rig_start(r, "ed", "tab:1", RP_OWNER_SELF);
  char id[RP_ID_MAX + 1];
  snprintf(id, sizeof id, "%s", rp_session_id(s));
  rig_say(s, "one");
  rp_session_free(s);
  rig_reopen(r);
  s = rig_start(r, "ed", "tab:1", RP_OWNER_SELF);
  assert_string_equal(rp_session_id(s), id);
  assert_string_equal(rig_start_get(s, "resumed"), "true");
  assert_string_equal(rig_start_get(s, "epoch"), "2");
  assert_int_equal(rig_say(s, "two").seq, 3); /* 2 is `restored` */
  OK(rp_end(s, NULL, &err), err);
  rp_session_free(s);
  s = rig_start(r, "ed", "tab:1", RP_OWNER_SELF);
  assert_string_not_equal(rp_session_id(s), id);
  assert_int_equal(rp_end(s, NULL, NULL), 0);
  rp_session_free(s);
  rp_start_options o = {.scope = "ed", .id = id};
  OK(rp_start(r->e, &o, &s, &err), err);
  assert_string_equal(rp_session_id(s), id);
  assert_string_equal(rig_start_get(s, "status"), "\"active\"");
  rp_session_free(s);
  o = (rp_start_options){.scope = "ed", .key = "nobody", .mode = RP_MODE_RESUME};
  assert_int_equal(rp_start(r->e, &o, &s, &err), RP_E_SESSION_NOT_FOUND);
  o = (rp_start_options){.scope = "other", .id = id};
  assert_int_equal(rp_start(r->e, &o, &s, &err), RP_E_EXISTS);
}

/* B-05: held by somebody alive; taken over by force, which fences him. */
static void test_held_and_forced(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  rp_engine *other;
  rp_options oo = {.db = r->url, .short_lived = true};
  rp_session *a = rig_start(r, "ed", "k", RP_OWNER_SELF), *b;
  rig_say(a, "mine");
  OK(rp_open(&oo, &other, &err), err);
  rp_start_options o = {.scope = "ed", .key = "k"};
  assert_int_equal(rp_start(other, &o, &b, &err), RP_E_HELD);
  assert_non_null(strstr(err.hint, "--force"));
  o.force = true;
  OK(rp_start(other, &o, &b, &err), err);
  rp_event ev = {.kind = "x-a", .body = "{}"};
  assert_int_equal(rp_append(a, &ev, NULL, NULL, &err), RP_E_FENCED);
  assert_int_equal(rp_heartbeat(a, &err), RP_E_FENCED);
  assert_int_equal(rp_append(b, &ev, NULL, NULL, &err), 0);
  rp_session_free(b);
  rp_close(other);
  rp_session_free(a);
}

/* The same owner starting again gets the same run. */
static void test_repeated(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  rp_session *a, *b;
  rp_start_options o = {.scope = "ed", .owner = RP_OWNER_PID, .owner_pid = getpid()};
  OK(rp_start(r->e, &o, &a, &err), err);
  OK(rp_start(r->e, &o, &b, &err), err);
  assert_string_equal(rp_session_id(a), rp_session_id(b));
  assert_string_equal(rig_start_get(b, "repeated"), "true");
  assert_string_equal(rig_start_get(b, "epoch"), "1");
  assert_string_equal(rig_start_get(b, "total_sessions"), "1");
  rp_session_free(a);
  rp_session_free(b);
  a = rig_start(r, "ed", "k", RP_OWNER_SELF);
  b = rig_start(r, "ed", "k", RP_OWNER_SELF);
  assert_string_equal(rig_start_get(b, "repeated"), "true");
  rp_session_free(a); /* the run lives on in b: another engine must still find it held */
  rp_engine *other;
  rp_options oo = {.db = r->url, .short_lived = true};
  OK(rp_open(&oo, &other, &err), err);
  rp_start_options k = {.scope = "ed", .key = "k"};
  assert_int_equal(rp_start(other, &k, &a, &err), RP_E_HELD);
  rp_close(other);
  rp_session_free(b);
}

/* A run nobody owns lives by its heartbeats, and ends at once when its key starts again. */
static void test_ownerless(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  rp_session *a = rig_start(r, "bot", NULL, RP_OWNER_NONE);
  char first[RP_ID_MAX + 1];
  snprintf(first, sizeof first, "%s", rp_session_id(a));
  rp_session_detach(a);
  r->wall += 20000;
  a = rig_start(r, "bot", NULL, RP_OWNER_NONE);
  assert_string_equal(rig_start_get(a, "crash_recovered"), "[]"); /* its lease has not run out */
  rp_session_detach(a);
  r->wall += 20000;
  OK(rp_attach(r->e, "last", &a, &err), err);
  OK(rp_heartbeat(a, &err), err);
  rp_session_detach(a);
  a = rig_start(r, "bot", NULL, RP_OWNER_NONE);
  assert_non_null(strstr(rig_start_get(a, "crash_recovered"), first));
  assert_null(strstr(rig_start_get(a, "crash_recovered"), ","));
  rp_session_detach(a);
  a = rig_start(r, "bot", "k", RP_OWNER_NONE);
  rig_say(a, "x");
  rp_session_detach(a);
  a = rig_start(r, "bot", "k", RP_OWNER_NONE);
  assert_string_equal(rig_start_get(a, "epoch"), "2");
  rp_session_detach(a);
}

/* Starts beside each other in one engine and scope: nobody's living run is taken for a dead one. */
static void *start_some(void *arg)
{
  struct rig *r = arg;
  for (int i = 0; i < 20; i++) {
    rp_session *s = NULL;
    rp_error err = {0};
    rp_start_options o = {.scope = "crowd"};
    rp_event ev = {.kind = "x-a", .body = "{}"};
    int rc = rp_start(r->e, &o, &s, &err);
    for (int k = 0; !rc && k < 3; k++) rc = rp_append(s, &ev, NULL, NULL, &err);
    if (!rc) rc = rp_end(s, NULL, &err);
    rp_session_free(s);
    if (rc) return strdup(err.message);
  }
  return NULL;
}

static void test_starts_beside_each_other(void **state)
{
  pthread_t threads[6];
  for (size_t i = 0; i < 6; i++) assert_int_equal(pthread_create(&threads[i], NULL, start_some, *state), 0);
  char *why = NULL;
  for (size_t i = 0; i < 6; i++) {
    void *got;
    pthread_join(threads[i], &got);
    if (got) free(why), why = got;
  }
  if (why) fail_msg("%s", why);
}

/* `successor` insists on a new session, and a key names one open session. */
/* L-01: a second tab is not told that the first one crashed while somebody beats for it. */
static void test_beaten_beside(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  rp_session *first = rig_start(r, "tabs", "one", RP_OWNER_NONE);
  r->wall += 1000, r->boot += 1000;
  OK(rp_heartbeat(first, &err), err);
  OK(rp_flush(r->e, &err), err);
  rp_session_detach(first);
  rp_session *second = rig_start(r, "tabs", "two", RP_OWNER_NONE);
  assert_string_equal(rig_get(rp_start_json(second), "restart.type"), "\"fresh_start\"");
  assert_string_equal(rig_get(rp_start_json(second), "restart.cause"), "null");
  rp_session_detach(second);
  /* Nobody beats for a minute: both are over, and that is told. */
  r->wall += 60000, r->boot += 60000;
  rp_session *third = rig_start(r, "tabs", "three", RP_OWNER_NONE);
  assert_string_equal(rig_get(rp_start_json(third), "restart.cause"), "\"crash\"");
  rp_session_detach(third);
}

static void test_successor_with_a_taken_key(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  rp_session *a = rig_start(r, "ed", "k", RP_OWNER_NONE), *b;
  rp_start_options o = {.scope = "ed", .key = "k", .mode = RP_MODE_SUCCESSOR, .owner = RP_OWNER_NONE};
  assert_int_equal(rp_start(r->e, &o, &b, &err), RP_E_EXISTS);
  OK(rp_end(a, NULL, &err), err);
  OK(rp_start(r->e, &o, &b, &err), err);
  rp_session_free(a);
  rp_session_free(b);
}

/* An error is written only when the call fails. */
static void test_error_untouched_on_success(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  rp_session *s;
  rp_start_options o = {.scope = "new"};
  OK(rp_start(r->e, &o, &s, &err), err);
  assert_string_equal(err.message, "");
  rp_session_free(s);
}

static void test_bad_names(void **state)
{
  struct rig *r = *state;
  static const char *const bad[] = {"", "../../etc/passwd", "a b", ".hidden", "a..b", "\xc3\xa9"};
  for (size_t i = 0; i < RP_ARRAY_SIZE(bad); i++) {
    rp_error err = {0};
    rp_session *s;
    rp_start_options o = {.scope = bad[i]};
    assert_int_equal(rp_start(r->e, &o, &s, &err), RP_E_USAGE);
    assert_string_equal(err.field, "scope");
    o = (rp_start_options){.scope = "s", .id = bad[i]};
    assert_int_equal(rp_start(r->e, &o, &s, &err), RP_E_USAGE);
    assert_string_equal(err.field, "id");
  }
}

/* B-03: what the end said is the next start's cause. */
static void test_reasons(void **state)
{
  struct rig *r = *state;
  static const char *const rows[][2] = {{"upgrade", "\"upgrade\""}, {"killed:9", "\"killed\""}, {"bye", "\"clean\""}};
  for (size_t i = 0; i < RP_ARRAY_SIZE(rows); i++) {
    rp_error err = {0};
    rp_session *s = rig_start(r, "up", NULL, RP_OWNER_SELF);
    OK(rp_end(s, rows[i][0], &err), err);
    rp_session_free(s);
    s = rig_start(r, "up", NULL, RP_OWNER_SELF);
    assert_string_equal(rig_start_get(s, "restart.cause"), rows[i][1]);
    assert_int_equal(rp_end(s, NULL, NULL), 0);
    rp_session_free(s);
  }
}

/* ---- what a resume reads ---- */

#define SAID 20

static const struct rp__store_ops *real_ops;
static int rows_read;

struct reader {
  rp__event_row_fn *fn;
  void *ctx;
};

static int count_row(void *ctx, const struct rp__event_row *row)
{
  const struct reader *r = ctx;
  rows_read++;
  return r->fn(r->ctx, row);
}

static int count_list(struct rp__store *s, const struct rp__event_range *range, rp__event_row_fn *fn, void *ctx,
                      rp_error *err)
{
  struct reader r = {fn, ctx};
  return real_ops->event_list(s, range, count_row, &r, err);
}

/* The record of what a crash left and the state that goes on are made of one reading. */
static void test_the_tail_is_read_once(void **state)
{
  struct rig *r = *state;
  struct rp__store_ops counting;
  rp_session *s = rig_start(r, "nova", "k", RP_OWNER_SELF);
  for (int i = 0; i < SAID; i++) rig_say(s, "hello");
  rp_session_free(s);
  rig_reopen(r);
  real_ops = r->e->store->ops;
  counting = *real_ops;
  counting.event_list = count_list;
  r->e->store->ops = &counting;
  s = rig_start(r, "nova", "k", RP_OWNER_SELF);
  r->e->store->ops = real_ops;
  assert_string_equal(rig_start_get(s, "restart.cause"), "\"crash\"");
  assert_true(rows_read >= SAID && rows_read < 2 * SAID);
  rp_session_free(s);
}

#define T(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)
int main(void)
{
  const struct CMUnitTest tests[] = {
      T(test_fresh),
      T(test_restart_types),
      T(test_recovery_without_key),
      T(test_resume),
      T(test_held_and_forced),
      T(test_repeated),
      T(test_ownerless),
      T(test_beaten_beside),
      T(test_bad_names),
      T(test_starts_beside_each_other),
      T(test_successor_with_a_taken_key),
      T(test_error_untouched_on_success),
      T(test_reasons),
      T(test_the_tail_is_read_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
