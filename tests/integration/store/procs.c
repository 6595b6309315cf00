/* SPDX-License-Identifier: Apache-2.0 */
/* Several processes on one database: fairness, leases, and who is found dead (B-05, X-11). */
#include <inttypes.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/process/lockfile.h"
#include "lib/child.h"
#include "lib/dice.h"
#include "lib/rig.h"
#include "lib/scratch.h"

#define WRITERS 8
#define PATIENCE_US 20000000

struct room {
  struct scratch dir;
  char url[RIG_URL];
};

static int enter(void **state)
{
  struct room *room = calloc(1, sizeof(*room));
  char path[SCRATCH_PATH];
  if (!room || scratch_make(&room->dir) != 0) return -1;
  rig_url(scratch_path(&room->dir, "p.db", path), room->url);
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

#define OK(call, err)                                                                                                  \
  do {                                                                                                                 \
    if ((call) != 0) fail_msg("%s: %s", #call, rig_why(&(err)));                                                       \
  } while (0)

/* ---- eight writers ---- */

struct tally {
  atomic_bool stop;
  atomic_int ready;
  struct {
    _Atomic int64_t count, longest_us;
    atomic_int failed;
  } of[WRITERS];
};

struct one {
  const char *url;
  struct tally *tally;
  int i;
};

static int write_until_stopped(void *arg)
{
  struct one *one = arg;
  rp_engine *e;
  rp_session *s;
  rp_error err;
  char key[16];
  snprintf(key, sizeof(key), "w%d", one->i);
  if (rig_open(one->url, true, &e, &err) != 0 || rig_hold(e, key, false, &s, &err) != 0) {
    fprintf(stderr, "writer %d: %s\n", one->i, rig_why(&err));
    return 1;
  }
  atomic_fetch_add(&one->tally->ready, 1);
  while (one->tally->ready < WRITERS && !one->tally->stop) sched_yield();
  for (int64_t n = 1; !one->tally->stop; n++) {
    int64_t from = dice_now_us();
    rp_ack ack;
    if (rig_append(s, NULL, n, NULL, &ack, &err) != 0) {
      fprintf(stderr, "writer %d: %s\n", one->i, rig_why(&err));
      return 1;
    }
    int64_t waited = dice_now_us() - from;
    if (waited > one->tally->of[one->i].longest_us) one->tally->of[one->i].longest_us = waited;
    one->tally->of[one->i].count = n;
  }
  rp_session_free(s);
  rp_close(e);
  return 0;
}

static void check_journal(rp_engine *e, const char *key, int64_t count)
{
  rp_session *s;
  rp_error err;
  struct rig_scan scan = {0};
  OK(rp_attach(e, key, &s, &err), err);
  OK(rig_scan(s, &scan, &err), err);
  rp_session_free(s);
  assert_int_equal(scan.holes, 0);
  assert_int_equal(scan.disorder, 0);
  assert_int_equal(scan.events, count);
}

static void check_shares(const char *url, const struct tally *t)
{
  int64_t sum = 0, least = INT64_MAX, longest = 0;
  rp_engine *e;
  rp_error err;
  OK(rig_open(url, false, &e, &err), err);
  for (int i = 0; i < WRITERS; i++) {
    char key[16];
    snprintf(key, sizeof(key), "w%d", i);
    check_journal(e, key, t->of[i].count);
    sum += t->of[i].count;
    if (t->of[i].count < least) least = t->of[i].count;
    if (t->of[i].longest_us > longest) longest = t->of[i].longest_us;
  }
  OK(rig_verify(e, &err), err);
  rp_close(e);
  double share = (double)least * WRITERS / (double)sum;
  printf("procs: %d writers, %" PRId64 " events, slowest has %.0f %% of the mean, longest wait %.1f ms\n", WRITERS, sum,
         share * 100, (double)longest / 1000);
  assert_true(least > 0);
  assert_true(share >= 1.0 / 20);
}

static void test_eight_writers(void **state)
{
  struct room *room = *state;
  struct tally *t = child_shared(sizeof(*t));
  struct one one[WRITERS];
  pid_t pids[WRITERS];
  for (int i = 0; i < WRITERS; i++) {
    one[i] = (struct one){room->url, t, i};
    pids[i] = child_run(write_until_stopped, &one[i]);
  }
  nanosleep(&(struct timespec){dice_rounds(3, 30), 0}, NULL);
  t->stop = true;
  int failed = 0;
  for (int i = 0; i < WRITERS; i++) failed += child_wait(pids[i]) != 0;
  assert_int_equal(failed, 0);
  check_shares(room->url, t);
}

/* ---- holders that die ---- */

/* A process that holds a session, says so through a pipe and waits to be killed. */
struct holder {
  const char *url, *key;
  bool new_pid_ns;
  pid_t pid;
  int said;
};

static void hold_for_ever(const struct holder *h, int say)
{
  rp_engine *e;
  rp_session *s;
  rp_error err;
  char c = 'y';
  if (rig_open(h->url, true, &e, &err) != 0 || rig_hold(e, h->key, false, &s, &err) != 0) {
    fprintf(stderr, "holder: %s\n", rig_why(&err));
    c = 'n';
  }
  if (c == 'y' && rig_append(s, NULL, 1, NULL, &(rp_ack){0}, &err) != 0) c = 'n';
  if (write(say, &c, 1) != 1) _exit(1);
  for (;;) pause();
}

/* The parent of the first process of a new pid namespace stays outside; the pid it reports is ours. */
static void holder_begin(struct holder *h)
{
  int fds[2];
  char c = 0;
  assert_int_equal(pipe(fds), 0);
  if (h->new_pid_ns) assert_int_equal(unshare(CLONE_NEWPID), 0);
  h->pid = fork();
  if (h->pid == 0) {
    close(fds[0]);
    hold_for_ever(h, fds[1]);
  }
  close(fds[1]);
  ssize_t n = read(fds[0], &c, 1);
  close(fds[0]);
  if (n != 1 || c != 'y') fail_msg("the holder did not come up");
}

static void expect_held(const char *url, const char *key)
{
  rp_engine *e;
  rp_session *s;
  rp_error err;
  OK(rig_open(url, false, &e, &err), err);
  assert_int_equal(rig_hold(e, key, false, &s, &err), RP_E_HELD);
  assert_true(err.message[0]);
  rp_close(e);
}

/* The next start gets the session at once and tells that it was a crash. */
static void expect_taken_over(const char *url, const char *key)
{
  rp_engine *e;
  rp_session *s;
  rp_error err;
  OK(rig_open(url, false, &e, &err), err);
  OK(rig_hold(e, key, false, &s, &err), err);
  const char *json = rp_start_json(s);
  assert_non_null(strstr(json, "\"resumed\":true"));
  assert_non_null(strstr(json, "\"cause\":\"crash\""));
  assert_non_null(strstr(json, "\"type\":\"crash_recovery\""));
  assert_true(rp_session_epoch(s) >= 2);
  OK(rp_end(s, NULL, &err), err);
  rp_session_free(s);
  OK(rig_verify(e, &err), err);
  rp_close(e);
}

static void test_killed_holder(void **state)
{
  struct room *room = *state;
  struct holder h = {room->url, "killed", false, 0, 0};
  holder_begin(&h);
  expect_held(room->url, "killed");
  child_kill(h.pid);
  expect_taken_over(room->url, "killed");
}

static void test_zombie_holder(void **state)
{
  struct room *room = *state;
  struct holder h = {room->url, "zombie", false, 0, 0};
  holder_begin(&h);
  child_kill_unreaped(h.pid);
  assert_int_equal(kill(h.pid, 0), 0); /* it is still there for whoever asks that way */
  expect_taken_over(room->url, "zombie");
  child_wait(h.pid);
}

/* In a process of its own, for unshare changes where all later children go. */
static int pid_ns_story(void *arg)
{
  struct room *room = arg;
  struct holder h = {room->url, "ns", true, 0, 0};
  holder_begin(&h);
  expect_held(room->url, "ns");
  child_kill_unreaped(h.pid);
  expect_taken_over(room->url, "ns");
  child_wait(h.pid);
  return 0;
}

static int try_pid_ns(void *arg)
{
  (void)arg;
  return unshare(CLONE_NEWPID) == 0 ? 0 : 1;
}

static void test_holder_in_another_pid_namespace(void **state)
{
  if (child_wait(child_run(try_pid_ns, NULL)) != 0) {
    printf("procs: skipped: no pid namespace of our own\n");
    skip();
  }
  assert_int_equal(child_wait(child_run(pid_ns_story, *state)), 0);
}

/* --owner PID: the named process lives, then is a zombie. */
static int sleep_for_ever(void *arg)
{
  while (!arg) pause();
  return 0;
}

static void test_named_owner(void **state)
{
  struct room *room = *state;
  rp_engine *e;
  rp_session *s;
  rp_error err;
  pid_t owner = child_run(sleep_for_ever, NULL);
  rp_start_options o = {.scope = "test", .key = "named", .owner = RP_OWNER_PID, .owner_pid = owner};
  OK(rig_open(room->url, false, &e, &err), err);
  OK(rp_start(e, &o, &s, &err), err);
  rp_session_detach(s);
  rp_close(e);
  expect_held(room->url, "named");
  child_kill_unreaped(owner);
  expect_taken_over(room->url, "named");
  child_wait(owner);
}

/* ---- fencing ---- */

struct fence {
  const char *url;
  int go[2], said[2];
  int rc;
};

/* The first holder: writes, waits for the other to take over, writes again. */
static int first_holder(void *arg)
{
  struct fence *f = arg;
  rp_engine *e;
  rp_session *s;
  rp_error err;
  rp_ack ack;
  char c;
  if (rig_open(f->url, true, &e, &err) != 0 || rig_hold(e, "fence", false, &s, &err) != 0) return 1;
  if (rig_append(s, NULL, 1, NULL, &ack, &err) != 0) return 2;
  if (write(f->said[1], "y", 1) != 1 || read(f->go[0], &c, 1) != 1) return 3;
  if (rig_append(s, NULL, 1000, NULL, &ack, &err) != RP_E_FENCED) return 4;
  rp_event two[2] = {{.kind = "x-n", .body = "{\"n\":1001}"}, {.kind = "x-n", .body = "{\"n\":1002}"}};
  if (rp_append_many(s, two, 2, NULL, &ack, &err) != RP_E_FENCED) return 5;
  if (rp_end(s, NULL, &err) == 0) return 6;
  if (rp_checkpoint(s, NULL, &err) == 0) return 7;
  rp_session_free(s);
  rp_close(e);
  return 0;
}

static void test_fenced_holder_stores_nothing(void **state)
{
  struct room *room = *state;
  struct fence f = {.url = room->url};
  rp_engine *e;
  rp_session *s;
  rp_error err;
  rp_ack ack;
  char c;
  assert_int_equal(pipe(f.go), 0);
  assert_int_equal(pipe(f.said), 0);
  pid_t pid = child_run(first_holder, &f);
  assert_int_equal(read(f.said[0], &c, 1), 1);
  expect_held(room->url, "fence");
  OK(rig_open(room->url, true, &e, &err), err);
  OK(rig_hold(e, "fence", true, &s, &err), err);
  OK(rig_append(s, NULL, 2, NULL, &ack, &err), err);
  assert_int_equal(write(f.go[1], "g", 1), 1);
  assert_int_equal(child_wait(pid), 0);
  OK(rig_append(s, NULL, 3, NULL, &ack, &err), err);
  rp_session_free(s);
  check_journal(e, "fence", 3);
  OK(rig_verify(e, &err), err);
  rp_close(e);
}

/* ---- a writer that stands still ---- */

static int take_turn(void *arg)
{
  const char *url = arg;
  char path[RIG_URL];
  struct rp__lockfile l;
  struct rp__proc me;
  snprintf(path, sizeof path, "%s.runs", url + strlen("sqlite:"));
  if (rp__lockfile_open(&l, path, NULL) || rp__proc_describe(0, &me, NULL) || rp__lockfile_queue_try(&l)) return 1;
  rp__lockfile_map(&l);
  rp__lockfile_queue_sign(&l, &me);
  for (;;) pause();
}

static char *doctor_turn(rp_engine *e)
{
  char *doc, *from;
  rp_error err;
  OK(rp_doctor_json(e, &doc, &err), err);
  from = strstr(doc, "\"turn to write\"");
  assert_non_null(from);
  from[strcspn(from, "}")] = '\0';
  memmove(doc, from, strlen(from) + 1);
  return doc;
}

/* Whoever is asked what is wrong names the process that keeps the others from writing. */
static void test_doctor_names_who_has_the_turn(void **state)
{
  struct room *room = *state;
  rp_engine *e;
  rp_error err;
  char who[64], *said;
  OK(rig_open(room->url, false, &e, &err), err);
  said = doctor_turn(e);
  assert_non_null(strstr(said, "\"ok\""));
  rp_free(said);
  pid_t pid = child_run(take_turn, room->url);
  snprintf(who, sizeof who, "process %d (procs)", (int)pid);
  said = NULL;
  for (int64_t end = dice_now_us() + PATIENCE_US; !said && dice_now_us() < end;) { /* until it has it */
    said = doctor_turn(e);
    if (strstr(said, "\"warning\"")) break;
    rp_free(said);
    said = NULL;
  }
  assert_non_null(said);
  if (!strstr(said, who)) fail_msg("not '%s': %s", who, said);
  rp_free(said);
  assert_int_equal(kill(pid, SIGSTOP), 0);
  assert_int_equal(waitpid(pid, &(int){0}, WUNTRACED), pid);
  said = doctor_turn(e);
  assert_non_null(strstr(said, "\"problem\""));
  assert_non_null(strstr(said, "kill -CONT"));
  if (!strstr(said, who)) fail_msg("not '%s': %s", who, said);
  rp_free(said);
  child_kill(pid);
  rp_close(e);
}

/* Stopped at any instant, maybe with the lock of writers in its hand: the others get an answer. */
static void test_stopped_writer(void **state)
{
  struct room *room = *state;
  struct tally *t = child_shared(sizeof(*t));
  struct one one = {room->url, t, 0};
  struct dice dice = dice_new();
  rp_engine *e;
  rp_session *s;
  rp_error err;
  rp_ack ack;
  int64_t busy = 0, done = 0, longest = 0;
  t->ready = WRITERS - 1;
  pid_t pid = child_run(write_until_stopped, &one);
  OK(rig_open(room->url, true, &e, &err), err);
  OK(rig_hold(e, "other", false, &s, &err), err);
  for (int64_t i = 0; i < dice_rounds(12, 100) && busy < dice_rounds(1, 5); i++) {
    nanosleep(&(struct timespec){0, dice_below(&dice, 5000000)}, NULL);
    kill(pid, SIGSTOP);
    int64_t from = dice_now_us();
    int rc = rig_append(s, "stop", i, NULL, &ack, &err);
    if (dice_now_us() - from > longest) longest = dice_now_us() - from;
    kill(pid, SIGCONT);
    assert_true(rc == 0 || rc == RP_E_BUSY);
    if (rc == 0) done++;
    if (rc == RP_E_BUSY) {
      busy++;
      printf("procs: %s\n", err.message);
    }
    OK(rig_append(s, "stop", i, NULL, &ack, &err), err);
  }
  t->stop = true;
  assert_int_equal(child_wait(pid), 0);
  rp_session_free(s);
  OK(rig_verify(e, &err), err);
  rp_close(e);
  printf("procs: beside a stopped writer %" PRId64 " done, %" PRId64 " busy, longest answer %.1f ms\n", done, busy,
         (double)longest / 1000);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_eight_writers, enter, leave),
      cmocka_unit_test_setup_teardown(test_killed_holder, enter, leave),
      cmocka_unit_test_setup_teardown(test_zombie_holder, enter, leave),
      cmocka_unit_test_setup_teardown(test_holder_in_another_pid_namespace, enter, leave),
      cmocka_unit_test_setup_teardown(test_named_owner, enter, leave),
      cmocka_unit_test_setup_teardown(test_fenced_holder_stores_nothing, enter, leave),
      cmocka_unit_test_setup_teardown(test_doctor_names_who_has_the_turn, enter, leave),
      cmocka_unit_test_setup_teardown(test_stopped_writer, enter, leave),
  };
  setvbuf(stdout, NULL, _IOLBF, 0);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
