/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Continuity with several processes: two guests at the tenth pin, starts while others end, one restoration for two
 * starters, what a killed process leaves in the brief, and a database that somebody keeps locked.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "lib/child.h"
#include "lib/dice.h"
#include "lib/rig.h"
#include "lib/scratch.h"

#define OK(call, err)                                                                                                  \
  do {                                                                                                                 \
    if ((call) != 0) fail_msg("%s: %s", #call, rig_why(&(err)));                                                       \
  } while (0)

/* What parent and children share. */
struct room {
  struct scratch dir;
  char url[RIG_URL], path[SCRATCH_PATH];
  atomic_int ready, go, stop;
  atomic_int codes[2], counts[2];
};

static int enter(void **state)
{
  struct room *room = child_shared(sizeof(*room));
  if (scratch_make(&room->dir) != 0) return -1;
  scratch_path(&room->dir, "t.db", room->path);
  rig_url(room->path, room->url);
  *state = room;
  return 0;
}

static int leave(void **state)
{
  scratch_remove(&((struct room *)*state)->dir);
  return 0;
}

/* Waits, without a bound of its own: the test's timeout is one. */
static void until(atomic_int *what, int value)
{
  while (atomic_load(what) < value) usleep(200);
}

static int start(rp_engine *e, const char *scope, const char *key, rp_session **ret, rp_error *err)
{
  rp_start_options o = {.scope = scope, .key = key, .owner = RP_OWNER_SELF};
  return rp_start(e, &o, ret, err);
}

static int put(rp_session *s, const char *kind, const char *body, rp_error *err)
{
  rp_event ev = {.kind = kind, .body = body};
  return rp_append(s, &ev, NULL, NULL, err);
}

static int pin(rp_session *s, const char *label, rp_error *err)
{
  char body[128];
  snprintf(body, sizeof(body), "{\"label\":\"%s\",\"content\":\"x\"}", label);
  return put(s, "pin", body, err);
}

static int times(const char *text, const char *word)
{
  int n = 0;
  for (const char *p = text; (p = strstr(p, word)); p += strlen(word)) n++;
  return n;
}

/* ---- the tenth pin ---- */

struct guest {
  struct room *room;
  int i, round;
};

static int pin_one_more(void *arg)
{
  struct guest *g = arg;
  rp_engine *e;
  rp_session *s;
  rp_error err = {0};
  char label[32];
  if (rig_open(g->room->url, false, &e, &err) != 0 || rp_attach(e, "k", &s, &err) != 0) return 1;
  snprintf(label, sizeof(label), "guest-%d-%d", g->i, g->round);
  atomic_fetch_add(&g->room->ready, 1);
  until(&g->room->go, 1);
  g->room->codes[g->i] = pin(s, label, &err);
  rp_session_free(s);
  rp_close(e);
  return 0;
}

static void test_tenth_pin(void **state)
{
  struct room *room = *state;
  rp_engine *e;
  rp_session *s;
  rp_error err = {0};
  char label[16], *doc;
  OK(rig_open(room->url, false, &e, &err), err);
  OK(start(e, "coder", "k", &s, &err), err);
  for (int i = 0; i < 9; i++) {
    snprintf(label, sizeof(label), "p-%d", i);
    OK(pin(s, label, &err), err);
  }
  for (int round = 0; round < 15; round++) {
    struct guest guests[2] = {{room, 0, round}, {room, 1, round}};
    pid_t pids[2];
    room->ready = room->go = 0;
    for (int i = 0; i < 2; i++) pids[i] = child_run(pin_one_more, &guests[i]);
    until(&room->ready, 2);
    room->go = 1;
    for (int i = 0; i < 2; i++) assert_int_equal(child_wait(pids[i]), 0);
    int first = room->codes[0], second = room->codes[1];
    if (!(first == 0 && second == RP_E_PINS_FULL) && !(first == RP_E_PINS_FULL && second == 0))
      fail_msg("round %d: %d and %d", round, first, second);
    OK(rp_state_json(s, -1, &doc, &err), err);
    assert_int_equal(times(doc, "\"pinned_at\""), 10);
    rp_free(doc);
    char body[64];
    snprintf(body, sizeof(body), "{\"label\":\"guest-%d-%d\"}", first == 0 ? 0 : 1, round);
    OK(put(s, "unpin", body, &err), err);
  }
  rp_session_free(s);
  rp_close(e);
}

/* ---- starts while others are captured ---- */

static int live_and_end(void *arg)
{
  struct guest *g = arg;
  rp_engine *e;
  rp_session *s;
  rp_error err = {0};
  if (rig_open(g->room->url, false, &e, &err) != 0) return 1;
  atomic_fetch_add(&g->room->ready, 1);
  until(&g->room->go, 1);
  for (int i = 0; i < 25; i++) {
    char label[32];
    snprintf(label, sizeof(label), "p-%d-%d", g->i, i);
    if (start(e, "coder", NULL, &s, &err) != 0) goto failed;
    if (!strstr(rp_start_json(s), "\"warnings\":[]")) {
      fprintf(stderr, "warned: %s\n", rp_start_json(s));
      return 2;
    }
    int rc = pin(s, label, &err);
    if (rc != 0 && rc != RP_E_PINS_FULL) goto failed;
    if (rp_end(s, NULL, &err) != 0) goto failed;
    rp_session_free(s);
    atomic_fetch_add(&g->room->counts[g->i], 1);
  }
  rp_close(e);
  return 0;
failed:
  fprintf(stderr, "%d: %s\n", g->i, rig_why(&err));
  return 1;
}

static int count_row(void *ctx, int n, char **values, char **names)
{
  (void)names;
  if (n == 1) *(int64_t *)ctx = strtoll(values[0], NULL, 10);
  return 0;
}

static int64_t sql_number(const struct room *room, const char *sql)
{
  sqlite3 *db;
  int64_t n = -1;
  assert_int_equal(sqlite3_open(room->path, &db), SQLITE_OK);
  sqlite3_busy_timeout(db, 5000);
  assert_int_equal(sqlite3_exec(db, sql, count_row, &n, NULL), SQLITE_OK);
  sqlite3_close(db);
  return n;
}

/* every session has its record, the links are there, the log is whole. */
static void test_start_while_ending(void **state)
{
  struct room *room = *state;
  rp_engine *e;
  rp_error err = {0};
  OK(rig_open(room->url, false, &e, &err), err);
  struct guest guests[2] = {{room, 0, 0}, {room, 1, 0}};
  pid_t pids[2];
  for (int i = 0; i < 2; i++) pids[i] = child_run(live_and_end, &guests[i]);
  until(&room->ready, 2);
  room->go = 1;
  for (int i = 0; i < 2; i++) assert_int_equal(child_wait(pids[i]), 0);
  int sessions = room->counts[0] + room->counts[1];
  assert_int_equal(sessions, 50);
  assert_int_equal(sql_number(room, "SELECT count(*) FROM session_states WHERE end_time IS NOT NULL"), sessions);
  /* Both may have been the first. */
  assert_in_range(sql_number(room, "SELECT count(*) FROM session_states WHERE previous_session_id IS NULL"), 1, 2);
  OK(rp_audit_verify(e, NULL, NULL, NULL, &err), err);
  OK(rig_verify(e, &err), err);
  rp_close(e);
}

/* ---- two starters, one restoration ---- */

static int start_same(void *arg)
{
  struct guest *g = arg;
  rp_engine *e;
  rp_session *s = NULL;
  rp_error err = {0};
  if (rig_open(g->room->url, false, &e, &err) != 0) return 1;
  atomic_fetch_add(&g->room->ready, 1);
  until(&g->room->go, g->round + 1);
  g->room->codes[g->i] = start(e, "coder", "k", &s, &err);
  atomic_fetch_add(&g->room->counts[0], 1);
  until(&g->room->stop, g->round + 1); /* the winner holds it until the other has tried */
  int rc = s && g->round % 2 ? rp_end(s, NULL, &err) : 0;
  rp_session_free(s);
  rp_close(e);
  return rc != 0;
}

static int count_restored(void *ctx, const rp_event_info *ev)
{
  if (strcmp(ev->kind, "restored") == 0 && strstr(ev->body, "\"pins\":[{")) ++*(int *)ctx;
  return 0;
}

static void test_restored_once(void **state)
{
  struct room *room = *state;
  rp_engine *e;
  rp_session *s;
  rp_error err = {0};
  char *doc;
  OK(rig_open(room->url, false, &e, &err), err);
  OK(start(e, "coder", NULL, &s, &err), err);
  OK(pin(s, "a", &err), err);
  OK(rp_end(s, NULL, &err), err);
  rp_session_free(s);
  for (int round = 0; round < 8; round++) {
    struct guest guests[2] = {{room, 0, round}, {room, 1, round}};
    pid_t pids[2];
    int restored = 0;
    room->ready = room->counts[0] = 0;
    for (int i = 0; i < 2; i++) pids[i] = child_run(start_same, &guests[i]);
    until(&room->ready, 2);
    room->go = round + 1;
    until(&room->counts[0], 2);
    room->stop = round + 1;
    for (int i = 0; i < 2; i++) assert_int_equal(child_wait(pids[i]), 0);
    int first = room->codes[0], second = room->codes[1];
    if (!(first == 0 && second == RP_E_HELD) && !(first == RP_E_HELD && second == 0))
      fail_msg("round %d: %d and %d", round, first, second);
    OK(rp_attach(e, "k", &s, &err), err);
    OK(rp_events(s, 0, 0, count_restored, &restored, &err), err);
    assert_int_equal(restored, 1); /* also when it was resumed after a crash */
    OK(rp_state_json(s, -1, &doc, &err), err);
    assert_int_equal(times(doc, "\"pinned_at\""), 1);
    rp_free(doc);
    rp_session_free(s);
  }
  rp_close(e);
}

/* ---- B-04: killed in the middle of a tool ---- */

static int work_until_killed(void *arg)
{
  struct guest *g = arg;
  rp_engine *e;
  rp_session *s;
  rp_error err = {0};
  if (rig_open(g->room->url, false, &e, &err) != 0) return 1;
  if (start(e, "coder", g->i ? "k" : NULL, &s, &err) != 0) return 1;
  int rc = put(s, "message", "{\"role\":\"user\",\"content\":\"deploy it\"}", &err);
  if (!rc) rc = put(s, "tool", "{\"call_id\":\"c0\",\"name\":\"compile\",\"status\":\"intended\"}", &err);
  if (!rc) rc = put(s, "tool", "{\"call_id\":\"c0\",\"name\":\"compile\",\"status\":\"done\"}", &err);
  if (!rc) rc = put(s, "tool", "{\"call_id\":\"c1\",\"name\":\"deploy_site\",\"status\":\"intended\"}", &err);
  if (!rc) rc = put(s, "tool", "{\"call_id\":\"c2\",\"name\":\"send_mail\",\"status\":\"running\"}", &err);
  if (!rc) rc = put(s, "approval", "{\"id\":\"a1\",\"status\":\"pending\",\"what\":\"push_to_main\"}", &err);
  if (rc != 0) return 1;
  atomic_fetch_add(&g->room->ready, 1);
  for (;;) pause();
}

/* B-03, B-04: with a key the session goes on, without one a successor is told; either names what is unknown. */
static void test_killed_in_a_tool(void **state)
{
  struct room *room = *state;
  for (int keyed = 0; keyed < 2; keyed++) {
    struct guest g = {room, keyed, 0};
    rp_engine *e;
    rp_session *s;
    rp_error err = {0};
    room->ready = 0;
    pid_t pid = child_run(work_until_killed, &g);
    until(&room->ready, 1);
    child_kill(pid);
    OK(rig_open(room->url, false, &e, &err), err);
    OK(start(e, "coder", keyed ? "k" : NULL, &s, &err), err);
    const char *doc = rp_start_json(s);
    if (!strstr(doc, "\"cause\":\"crash\"")) fail_msg("no crash: %s", doc);
    const char *brief = strstr(doc, "\"brief\":\"");
    if (!brief) fail_msg("no brief: %s", doc);
    if (!strstr(brief, "deploy_site") || !strstr(brief, "send_mail")) fail_msg("tools are not named: %s", brief);
    if (strstr(brief, "compile, call")) fail_msg("a tool that is done is named: %s", brief);
    if (!strstr(brief, "UNKNOWN OUTCOME")) fail_msg("nothing is called unknown: %s", brief);
    if (!strstr(brief, "a1") && !strstr(brief, "push_to_main")) fail_msg("the approval is missing: %s", brief);
    OK(put(s, "message", "{\"role\":\"user\",\"content\":\"go on\"}", &err), err); /* nothing is bricked */
    OK(rp_end(s, NULL, &err), err);
    rp_session_free(s);
    rp_close(e);
  }
}

/* ---- a locked database ---- */

static int keep_locked(void *arg)
{
  struct guest *g = arg;
  sqlite3 *db;
  const char *sql = g->i ? "PRAGMA locking_mode=EXCLUSIVE; BEGIN EXCLUSIVE; CREATE TABLE t (a); SELECT * FROM t;"
                         : "BEGIN IMMEDIATE;";
  if (sqlite3_open(g->room->path, &db) != SQLITE_OK || sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK) return 1;
  atomic_fetch_add(&g->room->ready, 1);
  for (;;) pause();
}

/*
 * While somebody else keeps the writer's lock (or all of the file), a start gives up with the store's
 * error, exit 7; so does the brief, or it answers from what it can read; neither waits for ever.
 */
static void test_locked(void **state)
{
  struct room *room = *state;
  char url[RIG_URL + 16];
  rp_error err = {0};
  rp_engine *e;
  rp_session *s;
  OK(rig_open(room->url, false, &e, &err), err);
  OK(start(e, "coder", NULL, &s, &err), err);
  OK(pin(s, "a", &err), err);
  OK(rp_end(s, NULL, &err), err);
  rp_session_free(s);
  rp_close(e);
  snprintf(url, sizeof(url), "%s?busy_ms=200", room->url);
  for (int all = 0; all < 2; all++) {
    struct guest g = {room, all, 0};
    rp_brief_options o = {.scope = "coder"};
    char *doc = NULL;
    room->ready = 0;
    pid_t pid = child_run(keep_locked, &g);
    until(&room->ready, 1);
    int64_t began = dice_now_us();
    int rc = rig_open(url, false, &e, &err);
    if (rc == 0) {
      rc = start(e, "coder", NULL, &s, &err);
      if (rc == 0) fail_msg("started in a locked database");
      assert_int_equal(rp_error_lookup(rc)->exit_code, 7);
      rc = rp_brief_scope(e, &o, &doc, &err);
      if (rc == 0 && !strstr(doc, "WORKING MEMORY")) fail_msg("half a brief: %s", doc);
      if (rc == 0) rp_free(doc);
      rp_close(e);
    }
    if (rc != 0) assert_int_equal(rp_error_lookup(rc)->exit_code, 7);
    if (dice_now_us() - began > 30 * 1000000) fail_msg("it took %d s", (int)((dice_now_us() - began) / 1000000));
    child_kill(pid);
  }
  OK(rig_open(room->url, false, &e, &err), err); /* and then all is well */
  OK(start(e, "coder", NULL, &s, &err), err);
  if (!strstr(rp_start_json(s), "\"pins\":1,")) fail_msg("nothing came back: %s", rp_start_json(s));
  rp_session_free(s);
  OK(rig_verify(e, &err), err);
  rp_close(e);
}

#define T(name) cmocka_unit_test_setup_teardown(name, enter, leave)

int main(void)
{
  const struct CMUnitTest tests[] = {T(test_tenth_pin), T(test_start_while_ending), T(test_restored_once),
                                     T(test_killed_in_a_tool), T(test_locked)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
