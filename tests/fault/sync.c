/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docs/decisions.md: after a failed sync nothing is acknowledged as `disk` that a
 * power cut could take. Every nth sync of a course of appends fails, over a model of
 * the page cache that forgets pages as the kernel does; then the power is cut, and
 * what was acknowledged as `disk` must be there.
 *
 * usage: sync       thinned out to some seconds; all of it with REPRISE_SOAK=1
 */
#include <inttypes.h>
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

#include "lib/child.h"
#include "lib/dice.h"
#include "lib/rig.h"
#include "lib/scratch.h"
#include "pagecache.h"

#define ACKS 64

struct note {
  int64_t n, seq;
  rp_durability durability;
};

/* What the processes of a round were told, in memory that survives them. */
struct witness {
  _Atomic int64_t notes;
  struct note note[ACKS];
  int64_t next;                 /* number of the next event */
  atomic_long failed, readonly; /* appends that failed; with RP_E_READONLY */
  atomic_bool ready;
};

static struct {
  struct scratch dir;
  char db[SCRATCH_PATH], url[RIG_URL], trace[200];
  struct witness *seen;
  uint64_t seed;
} t;

#define CHECK(cond, ...)                                                                                               \
  do {                                                                                                                 \
    if (!(cond)) {                                                                                                     \
      fprintf(stderr, "%s: ", t.trace);                                                                                \
      fprintf(stderr, __VA_ARGS__);                                                                                    \
      fputc('\n', stderr);                                                                                             \
      _exit(1);                                                                                                        \
    }                                                                                                                  \
  } while (0)

/* ---- the processes ---- */

struct writer {
  rp_engine *e;
  rp_session *s;
};

static void writer_close(struct writer *w)
{
  rp_session_free(w->s);
  rp_close(w->e);
  *w = (struct writer){0};
}

/* Opening and starting write, too; they may fail like anything else. */
static int writer_open(struct writer *w, rp_error *err)
{
  int rc = w->e ? 0 : rig_open(t.url, true, &w->e, err);
  if (rc == 0 && !w->s) rc = rig_hold(w->e, "sync", true, &w->s, err);
  return rc;
}

static void append_one(struct writer *w, rp_durability d)
{
  rp_append_options o = {0};
  rp_error err = {0};
  rp_ack ack;
  int64_t n = t.seen->next++;
  o.durability = d;
  int rc = writer_open(w, &err);
  if (rc == 0) rc = rig_append(w->s, NULL, n, &o, &ack, &err);
  if (rc == 0) {
    int64_t i = t.seen->notes;
    t.seen->note[i] = (struct note){n, ack.seq, ack.durability};
    t.seen->notes = i + 1;
    return;
  }
  CHECK(rig_typed(rc) && err.message[0], "no error of the table: %d", rc);
  CHECK(rc != RP_E_CORRUPT, "called damage: %s", rig_why(&err));
  t.seen->failed++;
  if (rc != RP_E_READONLY) return;
  t.seen->readonly++;
  writer_close(w);
}

/* o: append as os; d: as disk; c: close, which takes the log back; then it is killed or goes on waiting. */
static int write_course(void *arg)
{
  struct writer w = {0};
  for (const char *step = arg; *step; step++) {
    if (*step == 'c')
      writer_close(&w);
    else
      append_one(&w, *step == 'o' ? RP_OS : RP_DISK);
  }
  t.seen->ready = true;
  pause();
  return 0;
}

static pid_t course_begin(const char *steps)
{
  t.seen->ready = false;
  return child_run(write_course, (void *)(uintptr_t)steps);
}

/* Until it has done all, or died. */
static bool course_wait(pid_t pid)
{
  for (int64_t until = dice_now_us() + 30000000; !t.seen->ready && dice_now_us() < until;) {
    siginfo_t info = {0};
    if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid) return false;
    nanosleep(&(struct timespec){0, 200000}, NULL);
  }
  CHECK(t.seen->ready, "the writer hangs");
  return true;
}

/* ---- after the cut ---- */

static int find_number(void *ctx, const rp_event_info *ev)
{
  int64_t n = rig_number(ev);
  if (n < 0) return 0;
  for (int64_t i = 0; i < t.seen->notes; i++)
    if (t.seen->note[i].seq == ev->seq && t.seen->note[i].n == n) ((bool *)ctx)[i] = true;
  return 0;
}

static int check_all(void *arg)
{
  bool there[ACKS] = {false};
  rp_engine *e;
  rp_session *s;
  rp_error err;
  (void)arg;
  CHECK(rig_open(t.url, false, &e, &err) == 0, "open after the cut: %s", rig_why(&err));
  CHECK(rig_verify(e, &err) == 0, "verify after the cut: %s", rig_why(&err));
  int rc = rp_attach(e, "sync", &s, &err);
  if (rc == 0) {
    CHECK(rp_events(s, 0, 0, find_number, there, &err) == 0, "read after the cut: %s", rig_why(&err));
    rp_session_free(s);
  }
  for (int64_t i = 0; i < t.seen->notes; i++)
    CHECK(there[i] || t.seen->note[i].durability != RP_DISK, "event %" PRId64 " was acknowledged as disk and is gone",
          t.seen->note[i].n);
  rp_close(e);
  return 0;
}

static void round_begin(void)
{
  scratch_empty(&t.dir);
  memset(t.seen, 0, sizeof(*t.seen));
  t.seen->next = 1;
  pagecache_begin(t.db);
}

static void round_end(enum pagecache_cut how, bool runs_stay)
{
  char runs[SCRATCH_PATH];
  pagecache_cut(how, t.seed++);
  if (!runs_stay) unlink(scratch_path(&t.dir, "s.db.runs", runs));
  if (child_wait(child_run(check_all, NULL)) != 0) fail_msg("%s", t.trace);
}

/* Whether the round hit. `first` runs with the fault; `second`, if any, afterwards, while the first still lives. */
static bool round_run(const char *first, const char *second, enum pagecache_cut how, bool runs_stay)
{
  pid_t a = course_begin(first), b = 0;
  course_wait(a);
  if (second) {
    b = course_begin(second);
    course_wait(b);
    child_kill(b);
  }
  child_kill(a);
  bool hit = pagecache_failed() > 0;
  round_end(how, runs_stay);
  return hit;
}

/* ---- tests ---- */

static const char course[] = "ooododoodcooddodcod";

static void nothing_acknowledged_as_disk_is_lost_after_a_failed_sync(void **state)
{
  long rounds = 0, failed = 0;
  (void)state;
  for (int variant = 0; variant < 2 * CUT_MAX; variant++) {
    bool hit = true;
    for (long nth = 1; hit; nth++, rounds++) {
      round_begin();
      snprintf(t.trace, sizeof(t.trace), "sync %ld fails, cut %d, runs %d", nth, variant % CUT_MAX, variant / CUT_MAX);
      pagecache_fail(nth, false);
      hit = round_run(course, NULL, (enum pagecache_cut)(variant % CUT_MAX), variant < CUT_MAX);
      failed += t.seen->failed;
      if (!hit) assert_int_equal(t.seen->notes, strlen(course) - 2);
    }
  }
  assert_true(failed > 0);
  printf("# sync: %ld rounds, %ld appends failed, nothing lost\n", rounds, failed);
}

/* The second process opens the log after the failure, so the kernel tells it nothing. */
static void another_process_does_not_trust_the_disk_either(void **state)
{
  (void)state;
  bool hit = true;
  for (long nth = 1; hit; nth++) {
    round_begin();
    snprintf(t.trace, sizeof(t.trace), "sync %ld fails, then another process writes", nth);
    pagecache_fail(nth, false);
    hit = round_run("doood", "dodd", CUT_NOTHING, true);
  }
}

static void a_sync_in_which_its_process_dies_counts_as_failed(void **state)
{
  (void)state;
  bool hit = true;
  for (long nth = 1; hit; nth++) {
    round_begin();
    snprintf(t.trace, sizeof(t.trace), "a process dies in sync %ld, then another writes", nth);
    pagecache_fail_deadly(nth);
    hit = round_run("dooodoocood", "dodd", CUT_NOTHING, true);
  }
}

/* Making a failure good is a moment like any other for the power to go. */
static void a_cut_at_any_call_after_a_failed_sync_loses_nothing(void **state)
{
  static const char steps[] = "doodooddod";
  struct dice dice = dice_new();
  int64_t stride = dice_rounds(24, 1);
  long rounds = 0;
  bool hit = true;
  (void)state;
  for (long nth = 1; hit; nth++) {
    bool whole = false;
    for (long die = 1 + dice_below(&dice, stride); !whole; die += 1 + dice_below(&dice, stride), rounds++) {
      round_begin();
      snprintf(t.trace, sizeof(t.trace), "sync %ld fails, cut before call %ld", nth, die);
      pagecache_fail(nth, false);
      pagecache_die(die);
      pid_t pid = course_begin(steps);
      whole = course_wait(pid);
      child_kill(pid);
      hit = !whole || pagecache_failed() > 0;
      round_end((enum pagecache_cut)dice_below(&dice, CUT_MAX), dice_below(&dice, 2));
    }
  }
  printf("# sync: %ld cuts after failed syncs, nothing lost\n", rounds);
}

static void a_disk_that_keeps_failing_makes_the_store_read_only(void **state)
{
  bool hit = true;
  long readonly = 0;
  (void)state;
  for (long nth = 1; hit; nth++) {
    round_begin();
    snprintf(t.trace, sizeof(t.trace), "all syncs from %ld on fail", nth);
    pagecache_fail(nth, true);
    hit = round_run("ddodddodd", NULL, CUT_NOTHING, true);
    readonly += t.seen->readonly;
  }
  assert_true(readonly > 0);
}

/* The same handle goes on with `os`, and says so; once the disk works again, `disk` is honest. */
static int course_os(void *arg)
{
  struct writer w = {0}, other = {0};
  rp_error err;
  (void)arg;
  append_one(&w, RP_DISK);
  CHECK(rig_open(t.url, true, &other.e, &err) == 0, "open: %s", rig_why(&err));
  CHECK(rp_attach(other.e, "sync", &other.s, &err) == 0, "attach: %s", rig_why(&err));
  append_one(&other, RP_DISK);
  pagecache_fail(1, false);
  append_one(&w, RP_DISK);
  CHECK(t.seen->failed == 1, "the sync did not fail");
  append_one(&w, RP_OS);
  append_one(&w, RP_OS);
  append_one(&w, RP_DISK);
  CHECK(t.seen->failed == 1 && t.seen->notes == 5, "appends failed after the disk was well again");
  CHECK(t.seen->note[2].durability == RP_OS && t.seen->note[4].durability == RP_DISK, "durability");
  append_one(&other, RP_DISK);
  CHECK(t.seen->failed == 1, "a failure that was made good is told again to who had the log open");
  return 0;
}

static void appends_go_on_after_a_failed_sync(void **state)
{
  (void)state;
  snprintf(t.trace, sizeof(t.trace), "one sync fails");
  round_begin();
  assert_int_equal(child_wait(child_run(course_os, NULL)), 0);
  round_end(CUT_NOTHING, true);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(appends_go_on_after_a_failed_sync),
      cmocka_unit_test(nothing_acknowledged_as_disk_is_lost_after_a_failed_sync),
      cmocka_unit_test(another_process_does_not_trust_the_disk_either),
      cmocka_unit_test(a_sync_in_which_its_process_dies_counts_as_failed),
      cmocka_unit_test(a_disk_that_keeps_failing_makes_the_store_read_only),
      cmocka_unit_test(a_cut_at_any_call_after_a_failed_sync_loses_nothing),
  };
  struct dice dice = dice_new();
  if (scratch_make_fast(&t.dir) != 0) return 1;
  scratch_path(&t.dir, "s.db", t.db);
  rig_url(t.db, t.url);
  t.seed = dice_next(&dice);
  t.seen = child_shared(sizeof(*t.seen));
  int failures = cmocka_run_group_tests(tests, NULL, NULL);
  scratch_remove(&t.dir);
  return failures;
}
