/* SPDX-License-Identifier: Apache-2.0 */
/* What goes through the proxy's host: lines, back-pressure, descriptors (O-05, X-17). */
#include "host_rig.h"

#include <fcntl.h>

#include "lib/scratch.h"

static void lines_go_both_ways_as_they_are(void **state)
{
  struct host h = OPEN("cat");
  (void)state;
  say(&h, "{\"a\" : \"\xc3\xa9\\u0000\"} ");
  hear(&h, "{\"a\" : \"\xc3\xa9\\u0000\"} ");
  say(&h, "one\r\n\ntwo");
  hear(&h, "one");
  hear(&h, "two");
  say_bytes(&h, "no end", 6);
  close(h.in);
  h.in = -1;
  hear(&h, "#leaving editor closed0");
  hear(&h, "no end");
  hear(&h, "#gone 0");
  assert_int_equal(finish(&h), 0);
}

static void a_line_of_32_mib_passes(void **state)
{
  size_t n = (size_t)32 * 1024 * 1024;
  char *big = malloc(n + 1);
  struct host h = OPEN("cat");
  (void)state;
  assert_non_null(big);
  for (size_t i = 0; i < n; i++) big[i] = (char)('a' + i % 25);
  big[n] = '\n';
  say_bytes(&h, big, n + 1);
  struct rp__str line = hear_line(&h);
  assert_int_equal(line.n, n);
  assert_memory_equal(line.p, big, n);
  free(big);
  say(&h, "short");
  hear(&h, "short");
  assert_int_equal(finish(&h), 0);
}

static void what_is_longer_is_told_and_skipped(void **state)
{
  size_t n = RP_LINE_MAX + 1024 * 1024;
  char *big = malloc(n);
  struct host h = OPEN("sh", "-c", "cat >/dev/null");
  (void)state;
  assert_non_null(big);
  memset(big, 'x', n);
  say_bytes(&h, big, n);
  free(big);
  say(&h, "the end of it");
  say(&h, "!poke");
  hear(&h, "#unreadable client -70");
  hear(&h, "#poke 0");
  assert_int_equal(finish(&h), 0);
}

static void timers_and_pokes_arrive(void **state)
{
  struct host h = OPEN("cat");
  (void)state;
  say(&h, "!tick");
  hear(&h, "#tick 0");
  say(&h, "!poke");
  hear(&h, "#poke 0");
  say(&h, "!pause");
  say(&h, "held back");
  hear(&h, "#tick 0");
  hear(&h, "held back");
  assert_int_equal(finish(&h), 0);
}

static void the_agent_knows_what_is_around_it(void **state)
{
  setenv("REPRISE_BRIDGE", "outer", 1);
  struct host h = OPEN("sh", "-c", "echo \"$REPRISE_BRIDGE $REPRISE_SCOPE\"; cat");
  (void)state;
  hear(&h, "acp test-scope");
  assert_int_equal(finish(&h), 0);
  unsetenv("REPRISE_BRIDGE");
}

static long resident_kib(pid_t pid)
{
  char path[64], text[128] = "";
  snprintf(path, sizeof(path), "/proc/%d/statm", (int)pid);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  assert_true(fd >= 0);
  assert_true(read(fd, text, sizeof(text) - 1) > 0);
  close(fd);
  return strtol(strchr(text, ' '), NULL, 10) * (sysconf(_SC_PAGESIZE) / 1024);
}

/* An editor that does not read makes the agent wait, not our memory grow; nothing is lost by it. */
static void a_slow_editor_slows_the_agent(void **state)
{
  size_t total = (size_t)64 * 1024 * 1024, got = 0;
  struct host h = OPEN("sh", "-c", "read x; yes 0123456789abcdef0123456789abcde | head -c 67108864; cat");
  (void)state;
  say(&h, "!poke");
  hear(&h, "#poke 0");
  long before = resident_kib(h.pid), last = 0, now = before;
  say(&h, "go");
  for (int same = 0; same < 10; same = now == last ? same + 1 : 0) {
    poll(NULL, 0, 20);
    last = now;
    now = resident_kib(h.pid);
  }
  assert_true(now - before > 1024); /* it did read */
  assert_true(now - before < 40 * 1024);
  while (got < total) {
    struct rp__str line = hear_line(&h);
    assert_true(rp__str_eq(line, "0123456789abcdef0123456789abcde"));
    got += line.n + 1;
  }
  assert_int_equal(finish(&h), 0);
}

static void shell(const char *script, const char *dir, int code)
{
  char exe[512];
  ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
  assert_true(n > 0);
  exe[n] = '\0';
  assert_int_equal(child_call((const char *const[]){"sh", "-c", script, exe, dir, NULL}), code);
}

static void stdin_and_stdout_may_be_files(void **state)
{
  struct scratch dir;
  (void)state;
  assert_int_equal(scratch_make(&dir), 0);
  shell("cd $1; i=0; while [ $i -lt 5000 ]; do echo line $i of the file; i=$((i+1)); done >in;"
        " \"$0\" --host cat <in >out || exit 1; grep -v '^#' out | cmp in -",
        dir.dir, 0);
  shell("\"$0\" --host cat </dev/null | grep -q '^#gone 0'", dir.dir, 0);
  shell("\"$0\" --host cat <&- >/dev/null", dir.dir, 2);
  scratch_remove(&dir);
}

/* What is ours only to use is given back as it was: another program may read on from the same pipe. */
static void flags_of_descriptors_are_put_back(void **state)
{
  struct host h = OPEN("cat");
  (void)state;
  int in[2], out[2];
  assert_int_equal(pipe2(in, O_CLOEXEC), 0);
  assert_int_equal(pipe2(out, O_CLOEXEC), 0);
  pid_t pid = fork();
  if (pid == 0) {
    if (dup2(in[0], 0) < 0 || dup2(out[1], 1) < 0) _exit(99);
    execl("/proc/self/exe", "test_host", "--host", "cat", (char *)NULL);
    _exit(98);
  }
  assert_true(write(in[1], "x\n", 2) == 2);
  char c;
  assert_true(read(out[0], &c, 1) == 1 && c == 'x');
  assert_true(fcntl(in[0], F_GETFL) & O_NONBLOCK);
  close(in[1]);
  assert_int_equal(child_wait(pid), 0);
  assert_false(fcntl(in[0], F_GETFL) & O_NONBLOCK);
  assert_false(fcntl(out[1], F_GETFL) & O_NONBLOCK);
  close(in[0]);
  close(out[0]);
  close(out[1]);
  assert_int_equal(finish(&h), 0);
}

int main(int argc, char **argv)
{
  if (argc > 2 && strcmp(argv[1], "--host") == 0) return run_host(argv + 2);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(lines_go_both_ways_as_they_are),     cmocka_unit_test(a_line_of_32_mib_passes),
      cmocka_unit_test(what_is_longer_is_told_and_skipped), cmocka_unit_test(timers_and_pokes_arrive),
      cmocka_unit_test(the_agent_knows_what_is_around_it),  cmocka_unit_test(a_slow_editor_slows_the_agent),
      cmocka_unit_test(stdin_and_stdout_may_be_files),      cmocka_unit_test(flags_of_descriptors_are_put_back),
  };
  return cmocka_run_group_tests_name("bridge host", tests, NULL, NULL);
}
