/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many threads on one engine and on the same handles: blocking and asynchronous
 * appends, heartbeats, saves, states, checkpoints, reads, guests that come and
 * go. Made to be run under the thread sanitizer; the counts must fit as well.
 */
#include <inttypes.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/dice.h"
#include "lib/rig.h"
#include "lib/scratch.h"

#define SESSIONS 3
#define ROUNDS 60

#define OK(call, err)                                                                                                  \
  do {                                                                                                                 \
    if ((call) != 0) fail_msg("%s: %s", #call, rig_why(&(err)));                                                       \
  } while (0)

/* What all threads work on. Threads count their failures; the main thread judges. */
struct crowd {
  rp_engine *engine;
  rp_session *session[SESSIONS];
  char url[RIG_URL];
  int64_t rounds;
  atomic_long appended, answered, refused, failed;
};

static void note_failure(struct crowd *c, const char *what, const rp_error *err)
{
  if (atomic_fetch_add(&c->failed, 1) == 0) fprintf(stderr, "# %s: %s\n", what, rig_why(err));
}

static void *append_blocking(void *arg)
{
  struct crowd *c = arg;
  for (int64_t i = 0; i < c->rounds; i++) {
    rp_error err;
    rp_ack ack;
    rp_append_options o = {0};
    o.durability = i % 3 ? RP_OS : RP_DISK;
    if (rig_append(c->session[i % SESSIONS], NULL, i, &o, &ack, &err) != 0)
      note_failure(c, "append", &err);
    else
      atomic_fetch_add(&c->appended, 1);
  }
  return NULL;
}

static void on_answer(void *ctx, const rp_ack *ack, const rp_error *err)
{
  struct crowd *c = ctx;
  if (err)
    note_failure(c, "answer", err);
  else if (ack->seq > 0)
    atomic_fetch_add(&c->answered, 1);
}

static void *append_async(void *arg)
{
  struct crowd *c = arg;
  for (int64_t i = 0; i < c->rounds * 4; i++) {
    rp_error err;
    rp_event ev = {.kind = "message", .body = "{\"role\":\"user\",\"content\":\"many at once\"}"};
    int rc = rp_append_async(c->session[i % SESSIONS], &ev, NULL, on_answer, c, &err);
    if (rc == 0) atomic_fetch_add(&c->appended, 1);
    if (rc == RP_E_LIMIT) atomic_fetch_add(&c->refused, 1);
    if (rc != 0 && rc != RP_E_LIMIT) note_failure(c, "append_async", &err);
  }
  return NULL;
}

static void *beat(void *arg)
{
  struct crowd *c = arg;
  for (int64_t i = 0; i < c->rounds * 50; i++) {
    rp_error err;
    if (rp_heartbeat(c->session[i % SESSIONS], &err) != 0) note_failure(c, "heartbeat", &err);
    if (rp_save(c->session[i % SESSIONS], &err) != 0) note_failure(c, "save", &err);
  }
  return NULL;
}

static int see_event(void *ctx, const rp_event_info *ev)
{
  int64_t *last = ctx;
  if (ev->seq != *last + 1) return 1;
  *last = ev->seq;
  return 0;
}

static void *read_on(void *arg)
{
  struct crowd *c = arg;
  for (int64_t i = 0; i < c->rounds / 3; i++) {
    rp_session *s = c->session[i % SESSIONS];
    rp_error err;
    char *json;
    int64_t last = 0, seq;
    if (rp_state_json(s, i % 2 ? -1 : 1, &json, &err) != 0)
      note_failure(c, "state", &err);
    else
      rp_free(json);
    if (rp_events(s, 0, 200, see_event, &last, &err) != 0) note_failure(c, "events", &err);
    if (rp_wait(s, 0, 10, &seq, &err) != 0) note_failure(c, "wait", &err);
  }
  return NULL;
}

static void *checkpoint_on(void *arg)
{
  struct crowd *c = arg;
  for (int64_t i = 0; i < c->rounds / 6; i++) {
    rp_error err;
    if (rp_checkpoint(c->session[i % SESSIONS], NULL, &err) != 0) note_failure(c, "checkpoint", &err);
    if (rp_flush(c->engine, &err) != 0) note_failure(c, "flush", &err);
  }
  return NULL;
}

static int see_session(void *ctx, const rp_session_info *info)
{
  (void)info;
  ++*(int *)ctx;
  return 0;
}

static void *come_and_go(void *arg)
{
  struct crowd *c = arg;
  for (int64_t i = 0; i < c->rounds / 3; i++) {
    rp_session *guest;
    rp_error err;
    rp_ack ack;
    int n = 0;
    if (rp_attach(c->engine, i % 2 ? "s0" : "s1", &guest, &err) != 0) {
      note_failure(c, "attach", &err);
      continue;
    }
    if (rig_append(guest, NULL, i, NULL, &ack, &err) != 0)
      note_failure(c, "guest", &err);
    else
      atomic_fetch_add(&c->appended, 1);
    if (rp_list(c->engine, NULL, see_session, &n, &err) != 0) note_failure(c, "list", &err);
    rp_session_free(guest);
  }
  return NULL;
}

static void *start_and_end(void *arg)
{
  struct crowd *c = arg;
  for (int64_t i = 0; i < c->rounds / 6; i++) {
    rp_session *s;
    rp_error err;
    if (rig_hold(c->engine, "short", false, &s, &err) != 0) {
      note_failure(c, "start", &err);
      continue;
    }
    if (rp_end(s, NULL, &err) != 0) note_failure(c, "end", &err);
    rp_session_free(s);
  }
  return NULL;
}

static void *(*const roles[])(void *) = {
    append_blocking, append_blocking, append_blocking, append_async,  append_async, beat,
    read_on,         read_on,         checkpoint_on,   checkpoint_on, come_and_go,  start_and_end};
#define THREADS (sizeof(roles) / sizeof(roles[0]))

static void run_crowd(struct crowd *c)
{
  pthread_t threads[THREADS];
  for (size_t i = 0; i < THREADS; i++) assert_int_equal(pthread_create(&threads[i], NULL, roles[i], c), 0);
  for (size_t i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
}

static int count_event(void *ctx, const rp_event_info *ev)
{
  bool ours = strcmp(ev->kind, "x-n") == 0 || strcmp(ev->kind, "message") == 0;
  if (ours) ++*(long *)ctx;
  return 0;
}

static void check_crowd(const struct crowd *c)
{
  rp_engine *e;
  rp_error err;
  long stored = 0;
  OK(rig_open(c->url, false, &e, &err), err);
  for (int i = 0; i < SESSIONS; i++) {
    char key[8];
    rp_session *s;
    snprintf(key, sizeof(key), "s%d", i);
    OK(rp_attach(e, key, &s, &err), err);
    OK(rp_events(s, 0, 0, count_event, &stored, &err), err);
    rp_session_free(s);
  }
  OK(rig_verify(e, &err), err);
  rp_close(e);
  assert_int_equal(c->failed, 0);
  assert_int_equal(stored, c->appended);
}

static void test_crowd(void **state)
{
  struct scratch dir;
  struct crowd c = {.rounds = dice_rounds(ROUNDS, ROUNDS * 50)};
  rp_error err;
  char path[SCRATCH_PATH];
  (void)state;
  assert_int_equal(scratch_make(&dir), 0);
  rig_url(scratch_path(&dir, "t.db", path), c.url);
  OK(rig_open(c.url, true, &c.engine, &err), err);
  for (int i = 0; i < SESSIONS; i++) {
    char key[8];
    snprintf(key, sizeof(key), "s%d", i);
    OK(rig_hold(c.engine, key, false, &c.session[i], &err), err);
    OK(rig_append(c.session[i], NULL, 0, NULL, &(rp_ack){0}, &err), err);
    c.appended++;
  }
  run_crowd(&c);
  /* Closing finishes what is queued: every accepted event is answered. */
  for (int i = 0; i < SESSIONS; i++) rp_session_free(c.session[i]);
  rp_close(c.engine);
  check_crowd(&c);
  printf("threads: %zu threads, %ld events, %ld refused for a full queue\n", THREADS, (long)c.appended,
         (long)c.refused);
  scratch_remove(&dir);
}

/* Snapshots are dropped as new ones come: two threads at it must not stumble over each other's work. */
static void *append_and_checkpoint(void *arg)
{
  struct crowd *c = arg;
  for (int64_t i = 0; i < c->rounds; i++) {
    rp_error err;
    rp_ack ack;
    if (rig_append(c->session[0], NULL, i, NULL, &ack, &err) != 0) note_failure(c, "append", &err);
    if (rp_checkpoint(c->session[0], NULL, &err) != 0) note_failure(c, "checkpoint", &err);
  }
  return NULL;
}

static void test_two_checkpoints(void **state)
{
  struct scratch dir;
  struct crowd c = {.rounds = 40};
  pthread_t threads[3];
  rp_error err;
  char path[SCRATCH_PATH];
  (void)state;
  assert_int_equal(scratch_make(&dir), 0);
  rig_url(scratch_path(&dir, "c.db", path), c.url);
  OK(rig_open(c.url, true, &c.engine, &err), err);
  OK(rig_hold(c.engine, "s0", false, &c.session[0], &err), err);
  for (int i = 0; i < 3; i++) assert_int_equal(pthread_create(&threads[i], NULL, append_and_checkpoint, &c), 0);
  for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
  rp_session_free(c.session[0]);
  OK(rig_verify(c.engine, &err), err);
  rp_close(c.engine);
  assert_int_equal(c.failed, 0);
  scratch_remove(&dir);
}

/* Two engines in one process share nothing but the file. */
static void *run_engine(void *arg)
{
  struct crowd *c = arg;
  rp_engine *e;
  rp_session *s;
  rp_error err;
  rp_ack ack;
  char key[32];
  snprintf(key, sizeof(key), "e%ld", atomic_fetch_add(&c->answered, 1));
  if (rig_open(c->url, true, &e, &err) != 0) {
    note_failure(c, "open", &err);
    return NULL;
  }
  if (rig_hold(e, key, false, &s, &err) != 0) {
    note_failure(c, "start", &err);
  } else {
    for (int64_t i = 1; i <= c->rounds; i++)
      if (rig_append(s, NULL, i, NULL, &ack, &err) != 0) note_failure(c, "append", &err);
    if (rp_end(s, NULL, &err) != 0) note_failure(c, "end", &err);
    rp_session_free(s);
  }
  rp_close(e);
  return NULL;
}

static void test_two_engines(void **state)
{
  struct scratch dir;
  struct crowd c = {.rounds = 40};
  pthread_t threads[4];
  rp_error err;
  char path[SCRATCH_PATH];
  (void)state;
  assert_int_equal(scratch_make(&dir), 0);
  rig_url(scratch_path(&dir, "e.db", path), c.url);
  for (int i = 0; i < 4; i++) assert_int_equal(pthread_create(&threads[i], NULL, run_engine, &c), 0);
  for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
  assert_int_equal(c.failed, 0);
  OK(rig_verify_file(c.url, &err), err);
  scratch_remove(&dir);
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_crowd), cmocka_unit_test(test_two_checkpoints),
                                     cmocka_unit_test(test_two_engines)};
  setvbuf(stdout, NULL, _IOLBF, 0);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
