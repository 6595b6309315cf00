/* SPDX-License-Identifier: Apache-2.0 */
/* What a start has from sessions that go on beside it. Time is the rig's. */
#include "unit/engine/rig.h"

#include <stdlib.h>

#include "engine/engine.h"

#define MINUTE ((int64_t)60 * 1000)
#define DAY (24 * 60 * MINUTE)
#define CALLS_MAX 13 /* store calls of a start, whatever lives beside it: twelve reads and its commit */

static bool says(const rp_session *s, const char *text)
{
  return strstr(rig_start_get(s, "brief"), text) != NULL;
}

static rp_session *knowing(struct rig *r)
{
  rp_session *s = rig_start(r, "coder", NULL, RP_OWNER_SELF);
  rig_put(s, "pin", "{\"label\":\"radio\",\"content\":\"channel 3\"}");
  rig_put(s, "task", "{\"task_id\":\"task-7\",\"title\":\"Bridge\",\"stage\":\"in review\"}");
  rig_put(s, "learning", "{\"memory_id\":\"m1\",\"content\":\"The antenna is on the roof\"}");
  return s;
}

static void counts_are(const rp_session *s, const char *pins, const char *tasks, const char *memories)
{
  assert_string_equal(rig_start_get(s, "inherited.pins"), pins);
  assert_string_equal(rig_start_get(s, "inherited.tasks"), tasks);
  assert_string_equal(rig_start_get(s, "inherited.memories"), memories);
}

static void pins_are(rp_session *s, const char *json)
{
  char *doc = rig_state(s, -1);
  assert_string_equal(rig_get(doc, "pins"), json);
  free(doc);
}

static void test_what_lives_gives(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  char held[4096], id[RP_ID_MAX + 1];
  rp_session *first = knowing(r);
  snprintf(id, sizeof id, "%s", rp_session_id(first));
  r->wall += MINUTE;
  rp_session *second = rig_start(r, "coder", NULL, RP_OWNER_SELF);
  counts_are(second, "1", "1", "1");
  assert_true(says(second, "channel 3") && says(second, "task-7") && says(second, "The antenna"));
  assert_non_null(strstr(rig_start_get(second, "inherited.sessions"), rp_session_id(first)));
  char *doc = rig_state(second, -1);
  snprintf(held, sizeof held, "%s", rig_get(doc, "pins"));
  assert_non_null(strstr(held, rp_session_id(first)));
  free(doc);
  /* A third has it once, though two have it now. */
  r->wall += MINUTE;
  rig_put(second, "message", "{\"role\":\"user\",\"content\":\"hello\"}");
  rp_session *third = rig_start(r, "coder", NULL, RP_OWNER_SELF);
  counts_are(third, "1", "1", "1");
  /* What the first says later, and that it goes, changes nothing of what was inherited. */
  rig_put(first, "pin", "{\"label\":\"radio\",\"content\":\"channel 5\"}");
  rig_put(first, "task", "{\"task_id\":\"task-7\",\"title\":\"Bridge\",\"stage\":\"done\"}");
  pins_are(second, held);
  rig_end(first);
  r->wall += MINUTE;
  rp_session *fourth = rig_start(r, "coder", NULL, RP_OWNER_SELF);
  counts_are(fourth, "1", "0", "1");
  assert_true(says(fourth, "channel 5") && !says(fourth, "channel 3"));
  OK(rp_trash(r->e, id, NULL, &err), err);
  pins_are(second, held);
  rp_session_free(second);
  rp_session_free(third);
  rp_session_free(fourth);
}

/* What one took off comes from none of those that had it from there. */
static void test_taken_off(void **state)
{
  struct rig *r = *state;
  rp_session *first = knowing(r);
  r->wall += MINUTE;
  rp_session *second = rig_start(r, "coder", NULL, RP_OWNER_SELF);
  counts_are(second, "1", "1", "1");
  r->wall += MINUTE;
  rig_put(second, "unpin", "{\"label\":\"radio\"}");
  rp_session *third = rig_start(r, "coder", NULL, RP_OWNER_SELF);
  counts_are(third, "0", "1", "1");
  rp_session_free(first);
  rp_session_free(second);
  rp_session_free(third);
}

/* A session that goes on again knows more than its last record. */
static void test_resumed_counts_as_it_is(void **state)
{
  struct rig *r = *state;
  rp_session *s = rig_start(r, "coder", "window", RP_OWNER_SELF);
  rig_put(s, "pin", "{\"label\":\"radio\",\"content\":\"channel 3\"}");
  rp_session_free(s); /* it dies here, and leaves a record */
  r->wall += MINUTE;
  s = rig_start(r, "coder", "window", RP_OWNER_SELF);
  assert_string_equal(rig_start_get(s, "resumed"), "true");
  rig_put(s, "pin", "{\"label\":\"radio\",\"content\":\"channel 5\"}");
  rp_session *next = rig_start(r, "coder", NULL, RP_OWNER_SELF);
  assert_true(says(next, "channel 5") && !says(next, "channel 3"));
  rp_session_free(next);
  rp_session_free(s);
}

/* The lookback is of what was said, not of how long somebody has been sitting there. */
static void test_silent_for_too_long(void **state)
{
  struct rig *r = *state;
  rp_session *first = knowing(r);
  r->wall += 8 * DAY;
  rp_session *second = rig_start(r, "coder", NULL, RP_OWNER_SELF);
  counts_are(second, "0", "0", "0");
  rp_session_free(first);
  rp_session_free(second);
}

/* Somebody who goes on has not crashed, and a robot is not told so either; one whose run this start ends has. */
static void test_living_is_no_crash(void **state)
{
  struct rig *r = *state;
  static const char *const templates[] = {"coder", "robot"};
  for (size_t i = 0; i < RP_ARRAY_SIZE(templates); i++) {
    const char *scope = templates[i];
    setenv("REPRISE_TEMPLATE", templates[i], 1);
    rig_reopen(r);
    rp_session *first = rig_start(r, scope, "a", RP_OWNER_NONE);
    rig_put(first, "message", "{\"role\":\"user\",\"content\":\"at work\"}");
    rig_put(first, "pin", "{\"label\":\"radio\",\"content\":\"channel 3\"}");
    r->wall += 2000;
    rp_session *second = rig_start(r, scope, "b", RP_OWNER_NONE);
    assert_string_equal(rig_start_get(second, "restart.type"), "\"short_break\"");
    assert_string_equal(rig_start_get(second, "restart.cause"), "\"clean\"");
    assert_string_equal(rig_start_get(second, "restart.elapsed_seconds"), "2.0");
    assert_true(says(second, "channel 3") && !says(second, "crash") && !says(second, "WHY IT STOPPED"));
    rp_session_free(first);
    first = rig_start(r, scope, "a", RP_OWNER_NONE); /* its run is ended by this start, and another begins */
    assert_string_equal(rig_start_get(first, "restart.cause"), "\"crash\"");
    rp_session_free(first);
    rp_session_free(second);
  }
  unsetenv("REPRISE_TEMPLATE");
}

/* what has not ended is zero hours old, so that several that live all give their pins. */
static void test_all_that_live_give_pins(void **state)
{
  struct rig *r = *state;
  rp_session *a = rig_start(r, "coder", NULL, RP_OWNER_SELF);
  rp_session *b = rig_start(r, "coder", NULL, RP_OWNER_SELF);
  rig_put(a, "pin", "{\"label\":\"from-a\",\"content\":\"alpha\"}");
  r->wall += 60 * MINUTE;
  rig_put(b, "pin", "{\"label\":\"from-b\",\"content\":\"beta\"}");
  r->wall += 60 * MINUTE;
  rp_session *c = rig_start(r, "coder", NULL, RP_OWNER_SELF);
  assert_string_equal(rig_start_get(c, "inherited.pins"), "2");
  assert_true(says(c, "alpha") && says(c, "beta"));
  /* One that has ended ages as before. */
  rig_end(a);
  r->wall += MINUTE;
  rig_put(b, "message", "{\"role\":\"user\",\"content\":\"on\"}");
  r->wall += 60 * MINUTE;
  rp_session *d = rig_start(r, "coder", NULL, RP_OWNER_SELF);
  assert_string_equal(rig_start_get(d, "inherited.pins"), "1");
  assert_true(says(d, "beta"));
  rp_session_free(b);
  rp_session_free(c);
  rp_session_free(d);
}

/* What an heir that has said nothing holds is given on when nobody else has it any more, and counts for nothing else.
 */
static void test_silent_heir(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  char id[RP_ID_MAX + 1];
  rp_session *first = knowing(r);
  snprintf(id, sizeof id, "%s", rp_session_id(first));
  r->wall += MINUTE;
  rp_session *heir = rig_start(r, "coder", NULL, RP_OWNER_SELF);
  rig_end(first);
  rp_session *next = rig_start(r, "coder", NULL, RP_OWNER_SELF);
  counts_are(next, "1", "1", "1");
  assert_null(strstr(rig_start_get(next, "inherited.sessions"), rp_session_id(heir)));
  rig_end(next);
  OK(rp_trash(r->e, id, NULL, &err), err);
  r->wall += 2 * DAY; /* what has ended meanwhile gives no pins any more */
  next = rig_start(r, "coder", NULL, RP_OWNER_SELF);
  assert_string_equal(rig_start_get(next, "inherited.pins"), "1");
  assert_string_equal(rig_start_get(next, "inherited.tasks"), "1");
  assert_non_null(strstr(rig_start_get(next, "inherited.sessions"), rp_session_id(heir)));
  rp_session_free(next);
  rp_session_free(heir);
}

static int64_t calls_of_a_start(rp_engine *e, const struct rp__fault *plan, const char *holds)
{
  rp_error err = {0};
  rp_session *s;
  const rp_start_options o = {.scope = "coder", .owner = RP_OWNER_NONE};
  int64_t before = plan->calls;
  OK(rp_start(e, &o, &s, &err), err);
  int64_t calls = plan->calls - before;
  if (!says(s, holds)) fail_msg("%s", rp_start_json(s));
  rig_end(s);
  return calls;
}

/* A thousand open sessions cost no more than a hundred, and those that spoke last are heard. */
static void test_bounded(void **state)
{
  struct rig *r = *state;
  struct rp__fault plan = {0};
  int64_t calls[2];
  for (int i = 0; i < 1000; i++) {
    char body[100];
    rp_session *s = rig_start(r, "coder", NULL, RP_OWNER_NONE);
    snprintf(body, sizeof body, "{\"label\":\"pin-%d\",\"content\":\"number %d.\"}", i, i);
    rig_put(s, "pin", body);
    rp_session_free(s);
    r->wall += 10;
    if (i != 99 && i != 999) continue;
    rp_engine *e = rig_counting(r, &plan);
    snprintf(body, sizeof body, "number %d.", i);
    calls[i == 999] = calls_of_a_start(e, &plan, body);
    rp_close(e);
  }
  assert_int_equal(calls[0], calls[1]);
  if (calls[1] > CALLS_MAX) fail_msg("%lld calls", (long long)calls[1]);
}

static void pass(struct rig *r, int64_t ms)
{
  r->wall += ms;
  r->boot += ms;
}

/* N-03, X-05: two at once; what counts is which of them ended last, not which began last. */
static void test_away_since_the_last_end(void **state)
{
  struct rig *r = *state;
  rp_session *a = rig_start(r, "coder", NULL, RP_OWNER_SELF);
  rig_say(a, "at nine");
  pass(r, 5 * MINUTE);
  rp_session *b = rig_start(r, "coder", NULL, RP_OWNER_SELF);
  rig_say(b, "at five past");
  pass(r, 5 * MINUTE);
  rig_end(b);
  pass(r, 170 * MINUTE);
  rig_end(a);
  pass(r, MINUTE);
  rp_session *c = rig_start(r, "coder", NULL, RP_OWNER_SELF);
  assert_string_equal(rig_start_get(c, "restart.elapsed_seconds"), "60.0");
  assert_string_equal(rig_start_get(c, "restart.type"), "\"short_break\"");
  rig_end(c);
}

/* N-03, B-03: the same for one that died: its last sign of life counts, and its cause. */
static void test_away_since_the_last_sign(void **state)
{
  struct rig *r = *state;
  rp_session *a = rig_start(r, "coder", NULL, RP_OWNER_SELF);
  pass(r, MINUTE);
  rp_session *b = rig_start(r, "coder", NULL, RP_OWNER_SELF);
  rig_end(b);
  pass(r, MINUTE);
  rig_say(a, "a last word");
  rp_session_free(a); /* it dies here */
  pass(r, 10000);
  rp_session *c = rig_start(r, "coder", NULL, RP_OWNER_SELF);
  assert_string_equal(rig_start_get(c, "restart.elapsed_seconds"), "10.0");
  assert_string_equal(rig_start_get(c, "restart.cause"), "\"crash\"");
  assert_string_equal(rig_start_get(c, "restart.type"), "\"crash_recovery\"");
  rig_end(c);
}

/*
 * X-11, N-03: a run without key or owner whose lease counts still is a living session beside us: its pins and tasks
 * come, nothing is recovered, and a crash before it, which it was told of, is not told again.
 */
static void test_a_lease_that_counts_is_no_crash(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  rp_session *dead = rig_start(r, "coder", NULL, RP_OWNER_SELF);
  rig_say(dead, "before the crash");
  rp_session_free(dead);
  pass(r, 1000);
  rp_session *s = rig_start(r, "coder", NULL, RP_OWNER_NONE);
  assert_string_equal(rig_start_get(s, "restart.type"), "\"crash_recovery\"");
  rig_put(s, "pin", "{\"label\":\"radio\",\"content\":\"channel 3\"}");
  rig_put(s, "task", "{\"task_id\":\"task-7\",\"title\":\"Bridge\",\"stage\":\"build\"}");
  pass(r, 1000);
  OK(rp_heartbeat(s, &err), err);
  rp_session_detach(s); /* killed: nobody beats for it any more */
  pass(r, 10000);
  rp_session *next = rig_start(r, "coder", NULL, RP_OWNER_NONE);
  assert_string_equal(rig_start_get(next, "restart.cause"), "\"clean\"");
  assert_string_equal(rig_start_get(next, "restart.type"), "\"short_break\"");
  assert_string_equal(rig_start_get(next, "crash_recovered"), "[]");
  counts_are(next, "1", "1", "0");
  assert_true(says(next, "channel 3") && !says(next, "crashed"));
  rig_end(next);
  /* When it does not count any more the run is recovered, and that is a crash. */
  pass(r, MINUTE);
  next = rig_start(r, "coder", NULL, RP_OWNER_NONE);
  assert_string_not_equal(rig_start_get(next, "crash_recovered"), "[]");
  rig_end(next);
}

#define T(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)

int main(void)
{
  const struct CMUnitTest tests[] = {
      T(test_what_lives_gives),
      T(test_taken_off),
      T(test_resumed_counts_as_it_is),
      T(test_silent_for_too_long),
      T(test_living_is_no_crash),
      T(test_all_that_live_give_pins),
      T(test_silent_heir),
      T(test_bounded),
      T(test_away_since_the_last_end),
      T(test_away_since_the_last_sign),
      T(test_a_lease_that_counts_is_no_crash),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
