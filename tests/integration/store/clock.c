/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wall clocks that jump a year forward or back while a session is open (N-01,
 * N-03, B-03): the boot clock decides wherever it can.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "lib/rig.h"
#include "lib/scratch.h"
#include "store/store.h"

#define SECOND INT64_C(1000)
#define HOUR (3600 * SECOND)
#define YEAR (365 * 24 * HOUR)
#define START INT64_C(1767225600000) /* 2026-01-01 */

#define OK(call, err)                                                                                                  \
  do {                                                                                                                 \
    if ((call) != 0) fail_msg("%s: %s", #call, rig_why(&(err)));                                                       \
  } while (0)

struct room {
  struct scratch dir;
  char path[SCRATCH_PATH], url[RIG_URL];
  int64_t wall, boot;
  rp_clock clock;
};

static int64_t room_wall(void *ctx)
{
  return ((struct room *)ctx)->wall;
}

static int64_t room_boot(void *ctx)
{
  return ((struct room *)ctx)->boot;
}

static int enter(void **state)
{
  struct room *room = calloc(1, sizeof(*room));
  if (!room || scratch_make_fast(&room->dir) != 0) return -1;
  rig_url(scratch_path(&room->dir, "c.db", room->path), room->url);
  room->wall = START;
  room->boot = 1000 * SECOND;
  room->clock = (rp_clock){room_wall, room_boot, room};
  *state = room;
  return 0;
}

static int leave(void **state)
{
  struct room *room = *state;
  scratch_remove(&room->dir);
  free(room);
  return 0;
}

static void pass(struct room *room, int64_t ms)
{
  room->wall += ms;
  if (room->boot) room->boot += ms;
}

static rp_engine *open_room(struct room *room)
{
  rp_engine *e;
  rp_error err;
  rp_options o = {.db = room->url, .clock = &room->clock, .short_lived = true};
  OK(rp_open(&o, &e, &err), err);
  return e;
}

/* The newest run as stored. */
static int take_run(void *ctx, const struct rp__run_row *row)
{
  *(struct rp__run_row *)ctx = *row;
  return 0;
}

static struct rp__run_row newest_run(struct rp__store *store)
{
  struct rp__run_row run = {0};
  struct rp__run_filter filter = {.limit = 1};
  rp_error err;
  OK(store->ops->run_list(store, &filter, take_run, &run, &err), err);
  return run;
}

/* ---- heartbeats ---- */

/* A minute at 50 Hz. Returns how often the stored heartbeat changed. */
static int beat_for_a_minute(struct room *room, rp_session *s, struct rp__store *store)
{
  rp_error err;
  int writes = 0;
  struct rp__run_row run = newest_run(store);
  for (int i = 0; i < 60 * 50; i++) {
    pass(room, 20);
    OK(rp_heartbeat(s, &err), err);
    if (i % 10) continue;
    struct rp__run_row now = newest_run(store);
    writes += now.heartbeat_boot != run.heartbeat_boot || now.heartbeat_at != run.heartbeat_at;
    run = now;
  }
  return writes;
}

static void test_heartbeats_throttle(void **state)
{
  struct room *room = *state;
  static const int64_t jumps[] = {0, YEAR, -2 * YEAR, YEAR};
  struct rp__store_options so = {.path = room->path, .read_only = true, .clock = &room->clock};
  struct rp__store *store;
  rp_session *s;
  rp_error err;
  rp_engine *e = open_room(room);
  OK(rig_hold(e, "beat", false, &s, &err), err);
  OK(rp__store_sqlite_open(&so, &store, &err), err);
  for (size_t i = 0; i < sizeof(jumps) / sizeof(jumps[0]); i++) {
    room->wall += jumps[i];
    int writes = beat_for_a_minute(room, s, store);
    /* Every 10 s, give or take the one at the seam. */
    if (writes < 5 || writes > 8) fail_msg("after a jump of %" PRId64 " ms: %d writes a minute", jumps[i], writes);
    assert_true(room->boot - newest_run(store).heartbeat_boot <= 10 * SECOND + 20);
  }
  store->ops->close(store);
  OK(rp_end(s, NULL, &err), err);
  rp_session_free(s);
  rp_close(e);
}

/* ---- the time to live ---- */

/* A run that lives by heartbeats, left behind by a passing command. */
static void leave_run(struct room *room)
{
  rp_session *s;
  rp_error err;
  rp_engine *e = open_room(room);
  rp_start_options o = {.scope = "test", .id = "ttl", .owner = RP_OWNER_NONE};
  OK(rp_start(e, &o, &s, &err), err);
  OK(rig_append(s, NULL, 1, NULL, &(rp_ack){0}, &err), err);
  rp_session_detach(s);
  rp_close(e);
}

static int start_again(struct room *room, char *ret_json, size_t size, rp_error *err)
{
  rp_session *s;
  rp_engine *e = open_room(room);
  rp_start_options o = {.scope = "test", .id = "ttl", .owner = RP_OWNER_SELF};
  int rc = rp_start(e, &o, &s, err);
  if (rc == 0) {
    snprintf(ret_json, size, "%s", rp_start_json(s));
    rp_error end_err;
    OK(rp_end(s, NULL, &end_err), end_err);
    rp_session_free(s);
  }
  rp_close(e);
  return rc;
}

static void expect_start(struct room *room, const char *type, const char *cause, const char *elapsed)
{
  char json[8192], want[64];
  rp_error err;
  OK(start_again(room, json, sizeof(json), &err), err);
  snprintf(want, sizeof(want), "\"type\":\"%s\"", type);
  if (!strstr(json, want)) fail_msg("no %s in %s", want, json);
  snprintf(want, sizeof(want), "\"cause\":\"%s\"", cause);
  if (!strstr(json, want)) fail_msg("no %s in %s", want, json);
  snprintf(want, sizeof(want), "\"elapsed_seconds\":%s", elapsed);
  if (!strstr(json, want)) fail_msg("no %s in %s", want, json);
}

/* Whether somebody else's start in the scope ends the run that was left. */
static void expect_recovery(struct room *room, bool want)
{
  rp_session *s;
  rp_error err;
  rp_engine *e = open_room(room);
  rp_start_options o = {.scope = "test", .mode = RP_MODE_SUCCESSOR, .owner = RP_OWNER_SELF};
  OK(rp_start(e, &o, &s, &err), err);
  const char *list = strstr(rp_start_json(s), "\"crash_recovered\":[");
  assert_non_null(list);
  const char *found = strstr(list, "\"ttl\""), *end = strchr(list, ']');
  assert_int_equal(found && found < end, want);
  OK(rp_end(s, NULL, &err), err);
  rp_session_free(s);
  rp_close(e);
}

static void test_year_forward_is_no_death(void **state)
{
  struct room *room = *state;
  leave_run(room);
  room->wall += YEAR;
  pass(room, 5 * SECOND);
  expect_recovery(room, false);
  pass(room, 30 * SECOND);
  expect_recovery(room, true);
  expect_start(room, "short_break", "crash", "35");
}

static void test_year_back_is_no_life(void **state)
{
  struct room *room = *state;
  leave_run(room);
  room->wall -= YEAR;
  pass(room, 5 * SECOND);
  expect_recovery(room, false);
  pass(room, 2 * HOUR);
  expect_recovery(room, true);
  expect_start(room, "long_absence", "crash", "7205");
}

/* The same run started again at once is a crash a moment ago, whatever the wall says. */
static void test_restart_across_a_jump(void **state)
{
  struct room *room = *state;
  leave_run(room);
  room->wall += YEAR;
  pass(room, 5 * SECOND);
  expect_start(room, "crash_recovery", "crash", "5");
}

/* Where no boot clock can speak, a heartbeat from the future tells of the jump, and the time away counts as none. */
static void test_jump_without_boot_clock(void **state)
{
  struct room *room = *state;
  room->boot = 0;
  leave_run(room);
  room->wall -= YEAR;
  expect_start(room, "crash_recovery", "clock_jump", "0");
}

/* A clean end, then the clock goes back: nothing is older than no time at all. */
static void test_clean_end_then_back(void **state)
{
  struct room *room = *state;
  rp_session *s;
  rp_error err;
  room->boot = 0;
  rp_engine *e = open_room(room);
  rp_start_options o = {.scope = "test", .id = "ttl", .owner = RP_OWNER_SELF};
  OK(rp_start(e, &o, &s, &err), err);
  OK(rp_end(s, NULL, &err), err);
  rp_session_free(s);
  rp_close(e);
  room->wall -= YEAR;
  expect_start(room, "short_break", "clean", "0");
}

/* ---- the journal ---- */

struct times {
  int64_t seq, backwards, last;
};

static int note_time(void *ctx, const rp_event_info *ev)
{
  struct times *t = ctx;
  t->backwards += ev->at_ms < t->last;
  t->last = ev->at_ms;
  t->seq = ev->seq;
  return 0;
}

/* Events keep the times they were given; order is the seq's business. Keys are still known, checkpoints still work. */
static void test_journal_goes_on(void **state)
{
  struct room *room = *state;
  static const int64_t jumps[] = {0, YEAR, -2 * YEAR, YEAR};
  struct times t = {0};
  rp_session *s;
  rp_error err;
  rp_ack ack;
  char *json;
  rp_engine *e = open_room(room);
  OK(rig_hold(e, "jumps", false, &s, &err), err);
  for (int i = 0; i < 4; i++) {
    room->wall += jumps[i];
    pass(room, SECOND);
    OK(rig_append(s, "k", i, NULL, &ack, &err), err);
    OK(rig_append(s, "k", i, NULL, &ack, &err), err);
    assert_true(ack.repeated);
    OK(rp_save(s, &err), err);
    OK(rp_checkpoint(s, NULL, &err), err);
  }
  OK(rp_state_json(s, -1, &json, &err), err);
  rp_free(json);
  OK(rp_events(s, 0, 0, note_time, &t, &err), err);
  assert_true(t.backwards >= 1);
  OK(rp_end(s, NULL, &err), err);
  rp_session_free(s);
  OK(rig_verify(e, &err), err);
  rp_close(e);
}

#define WITH(test) cmocka_unit_test_setup_teardown(test, enter, leave)

int main(void)
{
  const struct CMUnitTest tests[] = {
      WITH(test_heartbeats_throttle),   WITH(test_year_forward_is_no_death), WITH(test_year_back_is_no_life),
      WITH(test_restart_across_a_jump), WITH(test_jump_without_boot_clock),  WITH(test_clean_end_then_back),
      WITH(test_journal_goes_on),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
