/* SPDX-License-Identifier: Apache-2.0 */
/* Two queues on one file are what two processes have: descriptors of their own. */
#include "store_test.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/process/lockfile.h"

#define TURNS 300

static struct rp__proc self;

struct runner {
  struct rp__sq_queue *q;
  int *shared; /* not atomic: only the turn protects it */
  atomic_int *inside;
  atomic_bool *go;
  int rc;
};

static void *take_turns(void *arg)
{
  struct runner *r = arg;
  while (!atomic_load(r->go)) {
  }
  for (int i = 0; i < TURNS && r->rc == 0; i++) {
    r->rc = rp__sq_queue_enter(r->q, 60000, NULL);
    if (r->rc != 0) break;
    if (atomic_fetch_add(r->inside, 1) != 0) r->rc = 1;
    ++*r->shared;
    atomic_fetch_sub(r->inside, 1);
    rp__sq_queue_leave(r->q);
  }
  return NULL;
}

static void one_at_a_time(void **state)
{
  struct box *b = *state;
  struct rp__sq_queue *q[2];
  struct runner r[4];
  pthread_t t[4];
  int shared = 0;
  atomic_int inside = 0;
  atomic_bool go = false;
  scratch_path(&b->dir, "x.runs", b->path);
  for (int i = 0; i < 2; i++) assert_int_equal(rp__sq_queue_new(b->path, &self, &q[i], &b->err), 0);
  for (int i = 0; i < 4; i++) {
    r[i] = (struct runner){.q = q[i % 2], .shared = &shared, .inside = &inside, .go = &go};
    assert_int_equal(pthread_create(&t[i], NULL, take_turns, &r[i]), 0);
  }
  atomic_store(&go, true);
  for (int i = 0; i < 4; i++) {
    pthread_join(t[i], NULL);
    assert_int_equal(r[i].rc, 0);
  }
  assert_int_equal(shared, 4 * TURNS);
  for (int i = 0; i < 2; i++) rp__sq_queue_free(q[i]);
}

/* A holder that was stopped can't hang the others for ever. */
static void waiting_has_an_end(void **state)
{
  struct box *b = *state;
  struct rp__sq_queue *q, *other;
  scratch_path(&b->dir, "x.runs", b->path);
  assert_int_equal(rp__sq_queue_new(b->path, &self, &q, &b->err), 0);
  assert_int_equal(rp__sq_queue_new(b->path, &self, &other, &b->err), 0);
  assert_int_equal(rp__sq_queue_enter(other, 1000, &b->err), 0);
  assert_int_equal(rp__sq_queue_enter(q, 20, &b->err), RP_E_BUSY);
  assert_int_equal(rp__sq_queue_enter(q, 20, &b->err), RP_E_BUSY);
  rp__sq_queue_leave(other);
  /* The helper is still in the kernel's queue, or has passed its turn on: both must do. */
  assert_int_equal(rp__sq_queue_enter(q, 60000, &b->err), 0);
  assert_int_equal(rp__sq_queue_enter(other, 20, &b->err), RP_E_BUSY);
  assert_int_equal(rp__sq_queue_enter(q, 20, &b->err), RP_E_BUSY); /* a second thread's, as it were */
  rp__sq_queue_leave(q);
  assert_int_equal(rp__sq_queue_enter(other, 60000, &b->err), 0);
  rp__sq_queue_leave(other);
  rp__sq_queue_free(q);
  rp__sq_queue_free(other);
}

/* Closed with the helper in the kernel: whoever waits next still gets his turn. */
static void a_late_turn_is_passed_on(void **state)
{
  struct box *b = *state;
  struct rp__sq_queue *q, *other;
  scratch_path(&b->dir, "x.runs", b->path);
  assert_int_equal(rp__sq_queue_new(b->path, &self, &q, &b->err), 0);
  assert_int_equal(rp__sq_queue_new(b->path, &self, &other, &b->err), 0);
  assert_int_equal(rp__sq_queue_enter(other, 1000, &b->err), 0);
  assert_int_equal(rp__sq_queue_enter(q, 10, &b->err), RP_E_BUSY);
  rp__sq_queue_free(q);
  rp__sq_queue_leave(other);
  for (int i = 0; i < 3; i++) {
    assert_int_equal(rp__sq_queue_enter(other, 60000, &b->err), 0);
    rp__sq_queue_leave(other);
  }
  rp__sq_queue_free(other);
}

/* Takes the turn in another process, says so and stays. */
static pid_t holder_start(const char *path, bool sign)
{
  int ends[2];
  char byte;
  assert_int_equal(pipe(ends), 0);
  pid_t pid = fork();
  assert_true(pid >= 0);
  if (pid == 0) {
    struct rp__lockfile l;
    struct rp__proc me;
    alarm(60);
    if (rp__lockfile_open(&l, path, NULL) || rp__proc_describe(0, &me, NULL) || rp__lockfile_queue_wait(&l)) _exit(1);
    rp__lockfile_map(&l);
    if (sign) rp__lockfile_queue_sign(&l, &me);
    if (write(ends[1], "y", 1) != 1) _exit(1);
    for (;;) pause();
  }
  close(ends[1]);
  assert_int_equal(read(ends[0], &byte, 1), 1);
  close(ends[0]);
  return pid;
}

static void holder_end(pid_t pid)
{
  int status;
  assert_int_equal(kill(pid, SIGKILL), 0);
  assert_int_equal(waitpid(pid, &status, 0), pid);
}

/* Everybody waits for it, so everybody is told who it is, and how it can be woken. */
static void a_holder_that_stands_still_is_named(void **state)
{
  struct box *b = *state;
  struct rp__sq_queue *q;
  char name[64], wake[64];
  int status;
  scratch_path(&b->dir, "x.runs", b->path);
  assert_int_equal(rp__sq_queue_new(b->path, &self, &q, &b->err), 0);
  pid_t pid = holder_start(b->path, true);
  snprintf(name, sizeof name, "process %d (test_store_queu) has it", (int)pid);
  snprintf(wake, sizeof wake, "kill -CONT %d", (int)pid);
  assert_int_equal(rp__sq_queue_enter(q, 20, &b->err), RP_E_BUSY);
  if (!strstr(b->err.message, name)) fail_msg("not '%s': %s", name, b->err.message);
  assert_string_equal(b->err.hint, "");
  assert_int_equal(kill(pid, SIGSTOP), 0);
  assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
  snprintf(name, sizeof name, "process %d (test_store_queu), which is stopped, has it", (int)pid);
  assert_int_equal(rp__sq_queue_enter(q, 20, &b->err), RP_E_BUSY);
  if (!strstr(b->err.message, name)) fail_msg("not '%s': %s", name, b->err.message);
  assert_non_null(strstr(b->err.hint, wake));
  holder_end(pid);

  /* The name it left is nobody's any more; the next holder's is not known until he has signed. */
  pid = holder_start(b->path, false);
  assert_int_equal(rp__sq_queue_enter(q, 20, &b->err), RP_E_BUSY);
  assert_non_null(strstr(b->err.message, "another process has it"));
  holder_end(pid);
  assert_int_equal(rp__sq_queue_enter(q, 60000, &b->err), 0);
  assert_int_equal(rp__sq_queue_enter(q, 20, &b->err), RP_E_BUSY);
  assert_non_null(strstr(b->err.message, "another thread of this process has it"));
  rp__sq_queue_leave(q);
  rp__sq_queue_free(q);
}

static void no_file_no_queue(void **state)
{
  struct box *b = *state;
  struct rp__sq_queue *q;
  scratch_path(&b->dir, "no/where.runs", b->path);
  assert_int_not_equal(rp__sq_queue_new(b->path, &self, &q, &b->err), 0);
  rp__sq_queue_free(NULL);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      BOX_TEST(one_at_a_time),
      BOX_TEST(waiting_has_an_end),
      BOX_TEST(a_late_turn_is_passed_on),
      BOX_TEST(a_holder_that_stands_still_is_named),
      BOX_TEST(no_file_no_queue),
  };
  if (rp__proc_describe(0, &self, NULL)) return 1;
  return cmocka_run_group_tests(tests, NULL, NULL);
}
