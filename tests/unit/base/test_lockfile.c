/* SPDX-License-Identifier: Apache-2.0 */
/* Byte locks between open descriptions, and the queue of writers. */
#include "child.h"

#include "base/process/lockfile.h"

/* Randomness that plays a list, its last number for ever. */
struct script {
  uint64_t values[4];
  size_t n, next;
};

static void script_fill(void *ctx, void *bytes, size_t n)
{
  struct script *s = ctx;
  uint64_t value = s->values[s->next];
  if (s->next + 1 < s->n) s->next++;
  assert_int_equal(n, sizeof value);
  memcpy(bytes, &value, n);
}

static struct rp__lockfile open_lockfile(void **state)
{
  RP_AUTOFREE char *path = rp__path_join(*state, "db.runs");
  struct rp__lockfile l = {-1};
  rp_error err;
  assert_int_equal(rp__lockfile_open(&l, path, &err), 0);
  assert_true(l.fd >= 0);
  return l;
}

static void the_file_is_private(void **state)
{
  RP_AUTOFREE char *path = rp__path_join(*state, "db.runs");
  mode_t old = umask(0);
  struct rp__lockfile l = open_lockfile(state);
  umask(old);
  assert_int_equal(mode_of(path), 0600);
  assert_int_equal(fcntl(l.fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
  rp__lockfile_close(&l);
  rp__lockfile_close(&l);
  assert_int_equal(l.fd, -1);
}

static void what_is_no_plain_file_is_refused(void **state)
{
  RP_AUTOFREE char *linked = rp__path_join(*state, "link");
  RP_AUTOFREE char *pipe_path = rp__path_join(*state, "pipe");
  RP_AUTOFREE char *below = rp__path_join(*state, "none/db.runs");
  struct rp__lockfile l = {-1};
  rp_error err;
  assert_int_equal(symlink("elsewhere", linked), 0);
  assert_int_equal(mkfifo(pipe_path, 0600), 0);
  assert_int_equal(rp__lockfile_open(&l, linked, &err), RP_E_REFUSED);
  assert_int_equal(rp__lockfile_open(&l, pipe_path, &err), RP_E_REFUSED);
  assert_int_equal(rp__lockfile_open(&l, below, &err), RP_E_FILE_NOT_FOUND);
  assert_int_equal(l.fd, -1);
}

static void a_slot_shows_to_others_until_dropped(void **state)
{
  struct rp__lockfile a = open_lockfile(state), b = open_lockfile(state);
  int64_t slot, other;
  rp_error err;
  assert_int_equal(rp__lockfile_take(&a, &rp__system_random, &slot, &err), 0);
  assert_int_equal(rp__lockfile_take(&a, &rp__system_random, &other, &err), 0);
  assert_true(slot >= RP_RUNS_HEADER && other >= RP_RUNS_HEADER && slot != other);
  assert_true(rp__lockfile_held(&b, slot));
  assert_true(rp__lockfile_held(&b, other));
  assert_false(rp__lockfile_held(&a, slot));
  rp__lockfile_drop(&a, slot);
  assert_false(rp__lockfile_held(&b, slot));
  assert_true(rp__lockfile_held(&b, other));
  rp__lockfile_close(&a);
  assert_false(rp__lockfile_held(&b, other));
  rp__lockfile_close(&b);
}

static void who_only_looks_sees_what_is_held(void **state)
{
  RP_AUTOFREE char *path = rp__path_join(*state, "db.runs");
  struct rp__lockfile look = {-1};
  int64_t slot;
  rp_error err;
  rp__lockfile_look(&look, path);
  assert_int_equal(look.fd, -1); /* it makes none */
  struct rp__lockfile l = open_lockfile(state);
  rp__lockfile_look(&look, path);
  assert_true(look.fd >= 0);
  assert_int_equal(rp__lockfile_take(&l, &rp__system_random, &slot, &err), 0);
  assert_true(rp__lockfile_held(&look, slot));
  rp__lockfile_drop(&l, slot);
  assert_false(rp__lockfile_held(&look, slot));
  rp__lockfile_close(&look);
  rp__lockfile_close(&l);
}

/* POSIX locks would go when any descriptor of the file is closed; these must not. */
static void closing_another_descriptor_frees_nothing(void **state)
{
  struct rp__lockfile a = open_lockfile(state), b = open_lockfile(state), c = open_lockfile(state);
  int64_t slot;
  assert_int_equal(rp__lockfile_take(&a, &rp__system_random, &slot, NULL), 0);
  rp__lockfile_close(&c);
  assert_true(rp__lockfile_held(&b, slot));
  rp__lockfile_close(&a);
  rp__lockfile_close(&b);
}

static void a_taken_slot_is_passed_over(void **state)
{
  struct rp__lockfile a = open_lockfile(state), b = open_lockfile(state);
  struct script one = {{41}, 1, 0}, same = {{41, 41, 99}, 3, 0}, stuck = {{41}, 1, 0};
  int64_t slot;
  rp_error err;
  assert_int_equal(rp__lockfile_take(&a, &(struct rp__random){script_fill, &one}, &slot, &err), 0);
  assert_int_equal(slot, RP_RUNS_HEADER + 41);
  assert_int_equal(rp__lockfile_take(&b, &(struct rp__random){script_fill, &same}, &slot, &err), 0);
  assert_int_equal(slot, RP_RUNS_HEADER + 99);
  slot = 7;
  assert_int_equal(rp__lockfile_take(&b, &(struct rp__random){script_fill, &stuck}, &slot, &err), RP_E_BUSY);
  assert_int_equal(slot, 7);
  rp__lockfile_close(&a);
  rp__lockfile_close(&b);
}

static void slots_stay_in_range(void **state)
{
  struct rp__lockfile a = open_lockfile(state), b = open_lockfile(state);
  struct script ends = {{0, UINT64_MAX}, 2, 0};
  struct rp__random r = {script_fill, &ends};
  int64_t low, high;
  assert_int_equal(rp__lockfile_take(&a, &r, &low, NULL), 0);
  assert_int_equal(rp__lockfile_take(&a, &r, &high, NULL), 0);
  assert_int_equal(low, RP_RUNS_HEADER);
  assert_int_equal(high, (1LL << 61) - 1 + RP_RUNS_HEADER);
  assert_true(rp__lockfile_held(&b, low));
  assert_true(rp__lockfile_held(&b, high));
  rp__lockfile_close(&a);
  rp__lockfile_close(&b);
}

static void no_slot_is_never_held(void **state)
{
  struct rp__lockfile a = open_lockfile(state), b = open_lockfile(state);
  assert_int_equal(rp__lockfile_queue_try(&a), 0);
  assert_false(rp__lockfile_held(&b, 0));
  assert_false(rp__lockfile_held(&b, -1));
  rp__lockfile_drop(&a, 0);
  assert_int_equal(rp__lockfile_queue_try(&b), RP_E_BUSY);
  rp__lockfile_close(&a);
  rp__lockfile_close(&b);
}

/* Two openings are what two processes have; files of versions without a header are empty. */
static void the_header_is_shared_and_allocated(void **state)
{
  RP_AUTOFREE char *path = rp__path_join(*state, "db.runs");
  struct rp__lockfile a = open_lockfile(state), b = open_lockfile(state), look = {-1};
  struct stat st;
  rp__lockfile_look(&look, path);
  rp__lockfile_map(&look);
  assert_null(look.header);
  rp__lockfile_map(&a);
  rp__lockfile_map(&b);
  rp__lockfile_map(&look);
  assert_non_null(a.header);
  atomic_store(&a.header->writer.pid, 77);
  assert_int_equal(atomic_load(&b.header->writer.pid), 77);
  assert_int_equal(atomic_load(&look.header->writer.pid), 77);
  assert_int_equal(fstat(a.fd, &st), 0);
  assert_int_equal(st.st_size, RP_RUNS_HEADER);
  assert_true(st.st_blocks * 512 >= RP_RUNS_HEADER);
  rp__lockfile_close(&a);
  rp__lockfile_close(&b);
  rp__lockfile_close(&look);
}

/* A copy made sparse gets its blocks back: nobody may die of a full disk by writing to the page. */
static void a_hole_in_the_header_is_filled(void **state)
{
  struct rp__lockfile l = open_lockfile(state);
  struct stat st;
  assert_int_equal(ftruncate(l.fd, RP_RUNS_HEADER), 0);
  rp__lockfile_map(&l);
  assert_non_null(l.header);
  assert_int_equal(fstat(l.fd, &st), 0);
  assert_true(st.st_blocks * 512 >= RP_RUNS_HEADER);
  rp__lockfile_close(&l);
}

static void a_bad_descriptor_is_an_error(void **state)
{
  (void)state;
  struct rp__lockfile l = {-1};
  rp_error err;
  int64_t slot;
  assert_int_equal(rp__lockfile_take(&l, &rp__system_random, &slot, &err), RP_E_IO);
  assert_int_equal(rp__lockfile_queue_try(&l), RP_E_IO);
  assert_int_equal(rp__lockfile_queue_wait(&l), RP_E_IO);
  /* What can't be known counts as held, so that nobody is fenced by mistake. */
  assert_true(rp__lockfile_held(&l, 5));
}

static void hold_everything(int to, void *arg)
{
  const char *dir = arg;
  RP_AUTOFREE char *path = rp__path_join(dir, "db.runs");
  struct rp__lockfile l;
  int64_t slot;
  if (rp__lockfile_open(&l, path, NULL) || rp__lockfile_take(&l, &rp__system_random, &slot, NULL)) _exit(1);
  if (rp__lockfile_queue_try(&l)) _exit(2);
  child_tell(to, &slot, sizeof slot);
  for (;;) pause();
}

/* B-05: the holder's death frees its slot and its place in the queue at once, before anybody reaps it. */
static void sigkill_frees_slot_and_queue(void **state)
{
  struct rp__lockfile l = open_lockfile(state);
  struct child c = child_start(hold_everything, *state);
  int64_t slot;
  child_hear(&c, &slot, sizeof slot);
  assert_true(rp__lockfile_held(&l, slot));
  assert_int_equal(rp__lockfile_queue_try(&l), RP_E_BUSY);
  assert_int_equal(kill(c.pid, SIGKILL), 0);
  child_await_zombie(&c);
  assert_false(rp__lockfile_held(&l, slot));
  assert_int_equal(rp__lockfile_queue_try(&l), 0);
  child_reap(&c);
  rp__lockfile_close(&l);
}

static volatile int signal_pipe = -1;

static void on_signal(int sig)
{
  (void)sig;
  char byte = 's';
  if (write(signal_pipe, &byte, 1) != 1) _exit(98);
}

static void wait_in_queue(int to, void *arg)
{
  const char *dir = arg;
  RP_AUTOFREE char *path = rp__path_join(dir, "db.runs");
  struct rp__lockfile l;
  struct sigaction action = {.sa_handler = on_signal};
  signal_pipe = to;
  if (rp__lockfile_open(&l, path, NULL) || sigaction(SIGUSR1, &action, NULL)) _exit(1);
  child_tell(to, "w", 1);
  int r = rp__lockfile_queue_wait(&l);
  child_tell(to, &r, sizeof r);
}

static void await_sleep(pid_t pid)
{
  char path[40];
  snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
  while (task_state(path) != 'S') sched_yield();
}

/* A signal during the wait neither ends it nor makes it fail. */
static void the_wait_outlives_signals(void **state)
{
  struct rp__lockfile l = open_lockfile(state);
  char byte;
  int r = 1;
  assert_int_equal(rp__lockfile_queue_wait(&l), 0);
  struct child c = child_start(wait_in_queue, *state);
  child_hear(&c, &byte, 1);
  assert_int_equal(byte, 'w');
  await_sleep(c.pid);
  assert_int_equal(kill(c.pid, SIGUSR1), 0);
  child_hear(&c, &byte, 1);
  assert_int_equal(byte, 's');
  await_sleep(c.pid);
  rp__lockfile_queue_leave(&l);
  child_hear(&c, &r, sizeof r);
  assert_int_equal(r, 0);
  assert_int_equal(child_reap(&c), 0);
  assert_int_equal(rp__lockfile_queue_try(&l), 0);
  rp__lockfile_close(&l);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      scratch_test(the_file_is_private),
      scratch_test(what_is_no_plain_file_is_refused),
      scratch_test(a_slot_shows_to_others_until_dropped),
      scratch_test(who_only_looks_sees_what_is_held),
      scratch_test(closing_another_descriptor_frees_nothing),
      scratch_test(a_taken_slot_is_passed_over),
      scratch_test(slots_stay_in_range),
      scratch_test(no_slot_is_never_held),
      scratch_test(the_header_is_shared_and_allocated),
      scratch_test(a_hole_in_the_header_is_filled),
      scratch_test(a_bad_descriptor_is_an_error),
      scratch_test(sigkill_frees_slot_and_queue),
      scratch_test(the_wait_outlives_signals),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
