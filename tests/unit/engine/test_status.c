/* SPDX-License-Identifier: Apache-2.0 */
/* N-18, N-14, L-12: what a start found and what a session has used, asked for later and by others. */
#include "unit/engine/life.h"

#include "base/buf.h"

static int64_t clock_wall(void *ctx)
{
  return ((struct rig *)ctx)->wall;
}

static int64_t clock_boot(void *ctx)
{
  return ((struct rig *)ctx)->boot;
}

/* An engine of its own on the same file that may only look, as another process has it. */
static rp_engine *beside(struct rig *r)
{
  rp_engine *e;
  rp_error err = {0};
  rp_clock clock = {clock_wall, clock_boot, r};
  rp_options o = {.db = r->url, .clock = &clock, .short_lived = true, .read_only = true};
  OK(rp_open(&o, &e, &err), err);
  return e;
}

/* The document as the other process gets it; freed by the caller. */
static char *asked(struct rig *r, const char *ref, const char *scope)
{
  char *doc;
  rp_error err = {0};
  rp_engine *e = beside(r);
  OK(rp_session_status_json(e, ref, scope, &doc, &err), err);
  rp_close(e);
  return doc;
}

static void assert_told(const char *doc, const char *member, const char *value)
{
  const char *got = rig_get(doc, member);
  if (strcmp(got, value) != 0) fail_msg("%s is %s, not %s: %s", member, got, value, doc);
}

static void assert_of(const char *doc, const char *id)
{
  char quoted[RP_ID_MAX + 3];
  snprintf(quoted, sizeof quoted, "\"%s\"", id);
  assert_string_equal(rig_get(doc, "session_id"), quoted);
}

/* ---- N-18 ---- */

/* What the start said is what everybody is told later, under the names of the seed. */
static void test_latest_of_scope(void **state)
{
  struct rig *r = *state;
  end(rig_start(r, "nova", NULL, RP_OWNER_SELF));
  char *doc = asked(r, NULL, "nova");
  assert_told(doc, "restart_type", "\"fresh_start\"");
  assert_told(doc, "cause", "null");
  assert_told(doc, "elapsed", "0.0");
  assert_told(doc, "total_sessions", "1");
  assert_told(doc, "alive", "false");
  rp_free(doc);

  r->wall += 10 * MINUTE;
  rp_session *s = rig_start(r, "nova", NULL, RP_OWNER_SELF);
  r->wall += 3 * HOUR;
  doc = asked(r, NULL, "nova");
  assert_of(doc, rp_session_id(s));
  assert_told(doc, "scope", "\"nova\"");
  assert_told(doc, "restart_type", "\"short_break\"");
  assert_told(doc, "cause", "\"clean\"");
  assert_told(doc, "elapsed", "600.0");
  assert_told(doc, "elapsed_since_last", "600.0");
  assert_told(doc, "uptime", "10800.0");
  assert_told(doc, "total_sessions", "2"); /* N-14 */
  assert_told(doc, "start_number", "2");
  assert_told(doc, "session_start", "1800000600.0");
  assert_told(doc, "started_at", "\"2027-01-15T08:10:00.000Z\"");
  assert_told(doc, "alive", "true");
  assert_string_equal(start_get(s, "restart.type"), "\"short_break\"");
  assert_string_equal(start_get(s, "restart.elapsed_seconds"), "600.0");
  rp_free(doc);
  end(s);

  r->wall += DAY; /* of a run that is over, the time it was up grows no more */
  doc = asked(r, NULL, NULL);
  assert_told(doc, "uptime", "10800.0");
  assert_told(doc, "alive", "false");
  rp_free(doc);
}

/* Each session keeps its own beginning; a resumed one has that of its newest run. */
static void test_of_a_session(void **state)
{
  struct rig *r = *state;
  char first[RP_ID_MAX + 1];
  rp_session *s = rig_start(r, "nova", NULL, RP_OWNER_SELF);
  id_of(s, first);
  end(s);
  r->wall += 2 * HOUR;
  end(rig_start(r, "nova", "robot", RP_OWNER_SELF));
  char *doc = asked(r, first, NULL);
  assert_told(doc, "restart_type", "\"fresh_start\"");
  assert_told(doc, "start_number", "1");
  assert_told(doc, "total_sessions", "2");
  rp_free(doc);
  doc = asked(r, "robot", "ignored");
  assert_told(doc, "restart_type", "\"long_absence\"");
  assert_told(doc, "elapsed_since_last", "7200.0");
  rp_free(doc);

  r->wall += MINUTE;
  s = rig_start(r, "nova", "robot", RP_OWNER_SELF);
  doc = asked(r, "robot", NULL);
  assert_told(doc, "restart_type", "\"short_break\"");
  assert_told(doc, "elapsed", "60.0");
  assert_told(doc, "start_number", "3");
  assert_told(doc, "uptime", "0.0");
  rp_free(doc);
  end(s);
}

/* A run whose owner is gone lasted until its last sign of life, whoever looks when. */
static void test_crashed(void **state)
{
  struct rig *r = *state;
  rp_session *s = rig_start(r, "nova", "robot", RP_OWNER_SELF);
  r->wall += 90 * SECOND;
  rig_say(s, "hello");
  rp_session_free(s);
  r->wall += 5 * SECOND;
  char *doc = asked(r, "robot", NULL);
  assert_told(doc, "alive", "false");
  assert_told(doc, "uptime", "90.0");
  rp_free(doc);
  s = rig_start(r, "nova", "robot", RP_OWNER_SELF);
  doc = asked(r, "robot", NULL);
  assert_told(doc, "restart_type", "\"crash_recovery\"");
  assert_told(doc, "cause", "\"crash\"");
  assert_told(doc, "elapsed", "5.0");
  assert_told(doc, "alive", "true");
  rp_free(doc);
  end(s);
}

static void test_nothing_yet(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  char *doc = NULL, first[RP_ID_MAX + 1], copy[RP_ID_MAX + 1];
  assert_int_equal(rp_session_status_json(r->e, NULL, NULL, &doc, &err), RP_E_SESSION_NOT_FOUND);
  rp_session *s = rig_start(r, "nova", NULL, RP_OWNER_SELF);
  id_of(s, first);
  rig_say(s, "hello");
  OK(rp_fork(s, NULL, copy, NULL, &err), err);
  assert_int_equal(rp_session_status_json(r->e, NULL, "other", &doc, &err), RP_E_SESSION_NOT_FOUND);
  assert_non_null(strstr(err.message, "other"));
  assert_int_equal(rp_session_status_json(r->e, "nobody", "nova", &doc, &err), RP_E_SESSION_NOT_FOUND);
  assert_null(doc);
  /* A fork that nobody started has no run, and is not what was started last. */
  doc = asked(r, copy, NULL);
  assert_told(doc, "restart_type", "null");
  assert_told(doc, "elapsed", "null");
  assert_told(doc, "session_start", "null");
  assert_told(doc, "started_at", "null");
  assert_told(doc, "start_number", "null");
  assert_told(doc, "uptime", "0.0");
  assert_told(doc, "alive", "false");
  rp_free(doc);
  doc = asked(r, NULL, NULL);
  assert_of(doc, first);
  rp_free(doc);
  end(s);
}

static int to_buf(void *ctx, const void *bytes, size_t n)
{
  rp__buf_add(ctx, bytes, n);
  return ((struct rp__buf *)ctx)->err;
}

static long from_buf(void *ctx, void *bytes, size_t n)
{
  struct rp__str *left = ctx;
  n = RP_MIN(n, left->n);
  memcpy(bytes, left->p, n);
  left->p += n;
  left->n -= n;
  return (long)n;
}

static void import(struct rig *r, struct rp__str text)
{
  rp_error err = {0};
  OK(rp_import(r->e, from_buf, &text, NULL, NULL, NULL, &err), err);
}

/* How it began goes with a session that moves, and what comes from elsewhere was not started here. */
static void test_moved(void **state)
{
  struct rig *r = *state;
  char id[RP_ID_MAX + 1];
  rp_error err = {0};
  struct rp__buf out = RP_BUF(1 << 20);
  end(rig_start(r, "nova", NULL, RP_OWNER_SELF));
  r->wall += HOUR;
  rp_session *s = rig_start(r, "nova", NULL, RP_OWNER_SELF);
  id_of(s, id);
  rig_say(s, "hello");
  OK(rp_end(s, NULL, &err), err);
  OK(rp_export(s, to_buf, &out, NULL, NULL, &err), err);
  rp_session_free(s);
  OK(rp_purge(r->e, id, true, &err), err);

  r->wall += MINUTE;
  s = rig_start(r, "nova", "here", RP_OWNER_SELF);
  import(r, (struct rp__str){out.p, out.n});
  char *doc = asked(r, id, NULL);
  assert_told(doc, "restart_type", "\"long_absence\"");
  assert_told(doc, "cause", "\"clean\"");
  assert_told(doc, "elapsed", "3600.0");
  assert_told(doc, "start_number", "2");
  rp_free(doc);
  for (int i = 0; i < 2; i++) {
    doc = asked(r, NULL, i ? "nova" : NULL);
    assert_of(doc, rp_session_id(s));
    assert_told(doc, "start_number", "3");
    rp_free(doc);
  }
  /* What is in the trash is no longer the latest. */
  end(s);
  OK(rp_trash(r->e, "here", "test", &err), err);
  doc = asked(r, NULL, "nova");
  assert_of(doc, id);
  rp_free(doc);
  rp__buf_done(&out);
}

/* Runs from before how they began was kept. */
static void test_not_known(void **state)
{
  struct rig *r = *state;
  end(rig_start(r, "nova", "old", RP_OWNER_SELF));
  sql_run(r, "UPDATE rp_runs SET restart = NULL, previous_cause = NULL, elapsed = NULL, start_number = NULL");
  for (int i = 0; i < 2; i++) {
    char *doc = asked(r, i ? "old" : NULL, NULL);
    assert_told(doc, "restart_type", "null");
    assert_told(doc, "cause", "null");
    assert_told(doc, "elapsed", "null");
    assert_told(doc, "elapsed_since_last", "null");
    assert_told(doc, "start_number", "null");
    assert_told(doc, "total_sessions", "1");
    assert_told(doc, "session_start", "1800000000.0");
    rp_free(doc);
  }
}

/* ---- L-12 ---- */

static char *used(rp_session *s)
{
  char *doc;
  rp_error err = {0};
  OK(rp_usage_json(s, &doc, &err), err);
  return doc;
}

static void test_usage(void **state)
{
  struct rig *r = *state;
  rp_session *s = rig_start(r, "coder", NULL, RP_OWNER_SELF);
  char *doc = used(s);
  assert_string_equal(doc, "{\"tokens_in\":0,\"tokens_out\":0,\"cost_usd\":0.0,\"requests\":0}");
  rp_free(doc);
  put(s, "usage", "{\"cost_usd\":0.75,\"tokens_in\":1200,\"tokens_out\":300,\"requests\":1}");
  put(s, "session", "{\"settings\":{\"budget_usd\":1.5,\"budget_tokens\":6000}}");
  doc = used(s);
  assert_told(doc, "tokens_in", "1200");
  assert_told(doc, "tokens_out", "300");
  assert_told(doc, "cost_usd", "0.75");
  assert_told(doc, "requests", "1");
  assert_told(doc, "budget_usd", "1.5");
  assert_told(doc, "budget_usd_share", "0.5");
  assert_told(doc, "budget_tokens", "6000.0");
  assert_told(doc, "budget_tokens_share", "0.25");
  rp_free(doc);
  end(s);
}

/* Who resumes a session whose budget is spent is told so at once; a new one has spent nothing. */
static void test_spent_at_start(void **state)
{
  struct rig *r = *state;
  char expected[300];
  reopen_with(r, "REPRISE_BUDGET_USD", "1.5");
  rp_session *s = rig_start(r, "coder", "work", RP_OWNER_SELF);
  assert_string_equal(start_get(s, "warnings"), "[]");
  put(s, "usage", "{\"cost_usd\":1.25}");
  rp_session_free(s);
  s = rig_start(r, "coder", "work", RP_OWNER_SELF);
  assert_string_equal(start_get(s, "resumed"), "true");
  assert_string_equal(start_get(s, "warnings"), "[]");
  put(s, "usage", "{\"cost_usd\":0.5}");
  rp_session_free(s);
  s = rig_start(r, "coder", "work", RP_OWNER_SELF);
  snprintf(expected, sizeof expected, "[\"session %s has spent $1.75 of its budget of $1.50\"]", rp_session_id(s));
  assert_string_equal(start_get(s, "warnings"), expected);
  put(s, "session", "{\"settings\":{\"budget_usd\":0,\"budget_tokens\":100}}");
  put(s, "usage", "{\"tokens_in\":90,\"tokens_out\":10}");
  rp_session_free(s);
  s = rig_start(r, "coder", "work", RP_OWNER_SELF);
  snprintf(expected, sizeof expected, "[\"session %s has used 100 tokens of its budget of 100\"]", rp_session_id(s));
  assert_string_equal(start_get(s, "warnings"), expected);
  end(s);
  s = rig_start(r, "coder", "other-work", RP_OWNER_SELF);
  assert_string_equal(start_get(s, "warnings"), "[]");
  end(s);
}

/* ---- dead runs ---- */

struct shown {
  char status[16];
  bool dead;
  int n;
};

static int on_shown(void *ctx, const rp_session_info *info)
{
  struct shown *x = ctx;
  snprintf(x->status, sizeof x->status, "%s", rp_session_status_name(info->status));
  x->dead = info->run_dead;
  x->n++;
  return 0;
}

static int listed(rp_engine *e, const char *status, int limit)
{
  struct shown x = {.n = 0};
  rp_error err = {0};
  rp_filter f = {.scope = "coder", .status = rp_session_status_parse(status), .limit = limit};
  OK(rp_list(e, &f, on_shown, &x, &err), err);
  return x.n;
}

/* Every way to ask says the same. */
static void assert_is(struct rig *r, const char *id, const char *status, bool dead)
{
  struct shown x = {.n = 0};
  rp_error err = {0};
  rp_session *s;
  char quoted[24], *doc;
  rp_engine *e = beside(r);
  snprintf(quoted, sizeof quoted, "\"%s\"", status);
  OK(rp_show(e, id, on_shown, &x, &err), err);
  assert_string_equal(x.status, status);
  assert_int_equal(x.dead, dead);
  for (int i = 0; i < 2; i++) {
    OK(rp_session_get_json(e, id, &doc, NULL, &err), err);
    assert_told(doc, "status", quoted);
    assert_told(doc, "run_dead", dead ? "true" : "");
    rp_free(doc);
  }
  OK(rp_attach(e, id, &s, &err), err);
  assert_string_equal(state_get(s, "session.status"), quoted);
  rp_session_free(s);
  OK(rp_chain_json(e, id, 1, &doc, &err), err);
  char member[40];
  snprintf(member, sizeof member, "\"status\":%s", quoted);
  assert_non_null(strstr(doc, member));
  rp_free(doc);
  rp_close(e);
}

/* A run by a lock is over with its process, one without an owner with its lease; nothing is written by looking. */
static void test_dead_is_not_active(void **state)
{
  struct rig *r = *state;
  char locked[RP_ID_MAX + 1], beaten[RP_ID_MAX + 1], quiet[RP_ID_MAX + 1];
  rp_session *s = rig_start(r, "coder", NULL, RP_OWNER_SELF), *b = rig_start(r, "coder", NULL, RP_OWNER_NONE);
  rp_session *q = rig_start(r, "coder", NULL, RP_OWNER_SELF);
  id_of(s, locked);
  id_of(b, beaten);
  id_of(q, quiet);
  rig_say(s, "hello");
  rig_say(b, "hello");
  assert_is(r, locked, "active", false);
  assert_is(r, beaten, "active", false);
  assert_is(r, quiet, "created", false);
  assert_int_equal(listed(r->e, "active", 0), 2);
  assert_int_equal(listed(r->e, "idle", 0), 0);
  rp_session_free(s);
  rp_session_free(q);
  assert_is(r, locked, "idle", true);
  assert_is(r, quiet, "idle", true);
  assert_is(r, beaten, "active", false);
  assert_int_equal(listed(r->e, "active", 0), 1);
  assert_int_equal(listed(r->e, "idle", 0), 2);
  r->wall += 31 * SECOND;
  assert_is(r, beaten, "idle", true);
  assert_int_equal(listed(r->e, "active", 0), 0);
  assert_int_equal(listed(r->e, "idle", 0), 3);
  assert_int_equal(listed(r->e, "idle", 1), 1);
  assert_int_equal(listed(r->e, "created", 0), 0);
  /* Whoever speaks into it is a sign of life. */
  rig_say(b, "still here");
  assert_is(r, beaten, "active", false);
  rp_session_free(b);
  /* The next start ends what is dead. */
  end(rig_start(r, "coder", NULL, RP_OWNER_SELF));
  assert_is(r, locked, "closed", false);
}

static void test_dead_after_a_checkpoint(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  char id[RP_ID_MAX + 1];
  rp_session *s = rig_start(r, "coder", NULL, RP_OWNER_SELF);
  id_of(s, id);
  rig_say(s, "hello");
  OK(rp_checkpoint(s, NULL, &err), err);
  assert_is(r, id, "checkpointed", false);
  assert_int_equal(listed(r->e, "checkpointed", 0), 1);
  rp_session_free(s);
  assert_is(r, id, "idle", true);
  assert_int_equal(listed(r->e, "checkpointed", 0), 0);
  assert_int_equal(listed(r->e, "idle", 0), 1);
}

/* One with a key stays open when its run is ended, and nobody is in it. */
static void test_recovered_is_idle(void **state)
{
  struct rig *r = *state;
  rp_session *s = rig_start(r, "coder", "window", RP_OWNER_SELF);
  rig_say(s, "hello");
  rp_session_free(s);
  end(rig_start(r, "coder", NULL, RP_OWNER_SELF));
  assert_is(r, "window", "idle", false);
  s = rig_start(r, "coder", "window", RP_OWNER_SELF);
  assert_is(r, "window", "active", false);
  end(s);
  assert_is(r, "window", "closed", false);
}

#define T(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)

int main(void)
{
  const struct CMUnitTest tests[] = {
      T(test_latest_of_scope),
      T(test_of_a_session),
      T(test_crashed),
      T(test_nothing_yet),
      T(test_moved),
      T(test_not_known),
      T(test_usage),
      T(test_spent_at_start),
      T(test_dead_is_not_active),
      T(test_dead_after_a_checkpoint),
      T(test_recovered_is_idle),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
