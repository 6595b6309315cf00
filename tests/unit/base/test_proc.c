/* SPDX-License-Identifier: Apache-2.0 */
/* B-05: who is alive, against zombies, reused pids and other namespaces. */
#include "child.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sys/prctl.h>

#include "base/process/proc.h"

static void wait_for_ever(int to, void *arg)
{
  if (arg) prctl(PR_SET_NAME, (const char *)arg);
  child_tell(to, "r", 1);
  for (;;) pause();
}

static struct child start_waiting(char *name)
{
  char byte;
  struct child c = child_start(wait_for_ever, name);
  child_hear(&c, &byte, 1);
  return c;
}

static struct rp__proc describe(pid_t pid)
{
  struct rp__proc p;
  rp_error err;
  assert_int_equal(rp__proc_describe(pid, &p, &err), 0);
  return p;
}

static void kill_and_reap(struct child *c)
{
  kill(c->pid, SIGKILL);
  child_reap(c);
}

static void we_are_alive(void **state)
{
  (void)state;
  struct rp__proc self = describe(0), same = describe(getpid());
  assert_int_equal(self.pid, getpid());
  assert_true(self.start > 0 && self.ns > 0);
  assert_int_equal(strlen(self.boot_id), RP_BOOT_ID - 1);
  assert_int_equal(self.start, same.start);
  assert_int_equal(rp__proc_probe(&self), RP_PROC_ALIVE);
}

static void a_child_lives_until_killed(void **state)
{
  (void)state;
  struct child c = start_waiting(NULL);
  struct rp__proc p = describe(c.pid);
  assert_int_equal(rp__proc_probe(&p), RP_PROC_ALIVE);
  kill_and_reap(&c);
  assert_int_equal(rp__proc_probe(&p), RP_PROC_DEAD);
}

static void a_zombie_is_dead(void **state)
{
  (void)state;
  struct child c = start_waiting(NULL);
  struct rp__proc p = describe(c.pid), gone;
  rp_error err;
  kill(c.pid, SIGKILL);
  child_await_zombie(&c);
  assert_int_equal(kill(c.pid, 0), 0);
  assert_int_equal(rp__proc_probe(&p), RP_PROC_DEAD);
  assert_int_equal(rp__proc_describe(c.pid, &gone, &err), RP_E_USAGE);
  child_reap(&c);
}

static void a_reused_pid_is_dead(void **state)
{
  (void)state;
  struct rp__proc p = describe(0);
  p.start--;
  assert_int_equal(rp__proc_probe(&p), RP_PROC_DEAD);
}

static void another_boot_is_dead(void **state)
{
  (void)state;
  struct rp__proc p = describe(0);
  p.boot_id[0] = p.boot_id[0] == '0' ? '1' : '0';
  assert_int_equal(rp__proc_probe(&p), RP_PROC_DEAD);
  p.ns++;
  assert_int_equal(rp__proc_probe(&p), RP_PROC_DEAD);
}

static void what_is_not_known_stays_unknown(void **state)
{
  (void)state;
  struct rp__proc p = describe(0);
  p.start = 0;
  assert_int_equal(rp__proc_probe(&p), RP_PROC_UNKNOWN);
  p = describe(0);
  p.ns = 0;
  assert_int_equal(rp__proc_probe(&p), RP_PROC_UNKNOWN);
  p = describe(0);
  p.ns++;
  assert_int_equal(rp__proc_probe(&p), RP_PROC_UNKNOWN);
  p = describe(0);
  p.boot_id[0] = '\0';
  assert_int_equal(rp__proc_probe(&p), RP_PROC_ALIVE);
  p.pid = -1;
  assert_int_equal(rp__proc_probe(&p), RP_PROC_UNKNOWN);
}

static void no_such_process(void **state)
{
  (void)state;
  static const int64_t bad[] = {-1, INT64_MIN, INT_MAX, (int64_t)INT_MAX + 1, INT64_MAX};
  for (size_t i = 0; i < RP_ARRAY_SIZE(bad); i++) {
    struct rp__proc p = {.pid = 77};
    rp_error err;
    assert_int_equal(rp__proc_describe(bad[i], &p, &err), RP_E_USAGE);
    assert_int_equal(p.pid, 77);
  }
}

/* The command's name stands in the middle of the line, unescaped. */
static void hostile_names_do_not_confuse(void **state)
{
  (void)state;
  char names[][16] = {") Z 1 1 1 1", "a b) c", "((((", "))))", "x) X 0", "\n", ") Z 1 1) Z 2"};
  for (size_t i = 0; i < RP_ARRAY_SIZE(names); i++) {
    struct child plain = start_waiting(NULL), c = start_waiting(names[i]);
    struct rp__proc p = describe(c.pid), before = describe(plain.pid);
    assert_true(p.start >= before.start);
    assert_int_equal(rp__proc_probe(&p), RP_PROC_ALIVE);
    kill_and_reap(&c);
    kill_and_reap(&plain);
  }
}

/* Until its parent takes notice, its line tells how it ended. */
static void a_line_tells_all(void **state)
{
  (void)state;
  struct rp__proc_line line;
  char name[] = "a) R 1 (";
  struct child c = start_waiting(name);
  assert_true(rp__proc_line(c.pid, &line));
  assert_string_equal(line.name, name);
  assert_int_equal(line.parent, getpid());
  assert_true(line.start > 0 && line.threads == 1 && line.status == 0);
  kill(c.pid, SIGKILL);
  child_await_zombie(&c);
  assert_true(rp__proc_line(c.pid, &line));
  assert_int_equal(line.state, 'Z');
  assert_int_equal(line.status, SIGKILL);
  child_reap(&c);
  assert_false(rp__proc_line(c.pid, &line));
}

static void *tell_when_leader_is_gone(void *arg)
{
  const int *to = arg;
  while (task_state("/proc/self/stat") != 'Z') sched_yield();
  child_tell(*to, "z", 1);
  pause();
  return NULL;
}

static void end_the_first_thread(int to, void *arg)
{
  static int out;
  pthread_t thread;
  (void)arg;
  out = to;
  if (pthread_create(&thread, NULL, tell_when_leader_is_gone, &out)) _exit(1);
  pthread_exit(NULL);
}

/* A process whose first thread has ended looks like a zombie, and goes on writing. */
static void a_leaderless_process_is_alive(void **state)
{
  (void)state;
  char byte;
  struct child c = child_start(end_the_first_thread, NULL);
  child_hear(&c, &byte, 1);
  struct rp__proc p = describe(c.pid);
  assert_int_equal(rp__proc_probe(&p), RP_PROC_ALIVE);
  kill(c.pid, SIGKILL);
  child_await_zombie(&c);
  assert_int_equal(rp__proc_probe(&p), RP_PROC_DEAD);
  child_reap(&c);
}

/* What the process inside the other namespace reports. */
struct inside {
  struct rp__proc self;
  int self_state, describe_outer, probe_outer;
  pid_t outer_pid; /* its own, as it is counted outside */
};

static void report_from_inside(int to, const struct rp__proc *outer)
{
  struct inside in = {0};
  struct rp__proc gone;
  char text[24] = "";
  /* /proc was mounted outside and counts accordingly. */
  if (readlink("/proc/self", text, sizeof text - 1) < 0) _exit(1);
  in.outer_pid = (pid_t)strtol(text, NULL, 10);
  if (rp__proc_describe(0, &in.self, NULL)) _exit(1);
  in.self_state = (int)rp__proc_probe(&in.self);
  in.describe_outer = rp__proc_describe(outer->pid, &gone, NULL);
  in.probe_outer = (int)rp__proc_probe(outer);
  child_tell(to, &in, sizeof in);
  for (;;) pause();
}

/* Tells whether the namespace could be made; the grandchild is process 1 inside and tells the rest. */
static void enter_namespace(int to, void *arg)
{
  char made = unshare(CLONE_NEWPID) ? 'n' : 'y';
  child_tell(to, &made, 1);
  if (made == 'n') return;
  pid_t pid = fork();
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    alarm(60);
    report_from_inside(to, arg);
  }
  if (pid < 0 || waitpid(pid, NULL, 0) != pid) _exit(1);
}

static void another_namespace_is_unknown(void **state)
{
  (void)state;
  struct rp__proc outer = describe(0);
  struct inside in;
  char made;
  struct child c = child_start(enter_namespace, &outer);
  child_hear(&c, &made, 1);
  if (made != 'y') {
    child_reap(&c);
    print_message("another_namespace_is_unknown: skipped, pid namespaces are not permitted here\n");
    skip();
  }
  child_hear(&c, &in, sizeof in);
  /* Inside: itself alive, though /proc counts from outside; we mean nothing there. */
  assert_int_equal(in.self.pid, 1);
  assert_true(in.self.start > 0);
  assert_int_not_equal(in.self.ns, outer.ns);
  assert_int_equal(in.self_state, RP_PROC_ALIVE);
  assert_int_equal(in.describe_outer, RP_E_USAGE);
  assert_int_equal(in.probe_outer, RP_PROC_UNKNOWN);
  /* Outside: what it says of itself can't be judged; under our own name for it, it can. */
  struct rp__proc seen = describe(in.outer_pid);
  assert_int_equal(rp__proc_probe(&in.self), RP_PROC_UNKNOWN);
  assert_int_equal(rp__proc_probe(&seen), RP_PROC_ALIVE);
  assert_int_equal(seen.start, in.self.start);
  kill(in.outer_pid, SIGKILL);
  assert_int_equal(child_reap(&c), 0);
  assert_int_equal(rp__proc_probe(&seen), RP_PROC_DEAD);
  assert_int_equal(rp__proc_probe(&in.self), RP_PROC_UNKNOWN);
}

static void host_and_boot(void **state)
{
  (void)state;
  char boot[RP_BOOT_ID], again[RP_BOOT_ID], host[RP_HOST], want[256];
  rp__boot_id(boot);
  rp__boot_id(again);
  assert_int_equal(strspn(boot, "0123456789abcdef-"), 36);
  assert_string_equal(boot, again);
  rp__hostname(host);
  assert_int_equal(gethostname(want, sizeof want), 0);
  assert_string_equal(host, want);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(we_are_alive),
      cmocka_unit_test(a_child_lives_until_killed),
      cmocka_unit_test(a_zombie_is_dead),
      cmocka_unit_test(a_reused_pid_is_dead),
      cmocka_unit_test(another_boot_is_dead),
      cmocka_unit_test(what_is_not_known_stays_unknown),
      cmocka_unit_test(no_such_process),
      cmocka_unit_test(hostile_names_do_not_confuse),
      cmocka_unit_test(a_line_tells_all),
      cmocka_unit_test(a_leaderless_process_is_alive),
      cmocka_unit_test(another_namespace_is_unknown),
      cmocka_unit_test(host_and_boot),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
