/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The proxy's host with a core that only copies (host_core.c): lines, deaths, signals, back-pressure, descriptors
 * (O-05, X-17). The program runs itself as the host: `test_host --host CMD…`.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>

#include "bridge/acp/host.h"
#include "bridge/line.h"
#include "lib/child.h"
#include "lib/scratch.h"

#define PATIENCE_MS 20000

struct host {
  pid_t pid;
  int in, out;
  struct rp__lines lines;
};

static struct host open_host(const char *const *command)
{
  const char *argv[16] = {"/proc/self/exe", "--host"};
  struct host h = {0};
  for (size_t i = 0; command[i]; i++) argv[i + 2] = command[i];
  h.pid = child_exec(argv, &h.in, &h.out);
  assert_true(h.pid > 0);
  rp__lines_init(&h.lines, RP_LINE_MAX * 2);
  return h;
}

#define OPEN(...) open_host((const char *const[]){__VA_ARGS__, NULL})

static void wait_fd(int fd, short events)
{
  struct pollfd p = {.fd = fd, .events = events};
  if (poll(&p, 1, PATIENCE_MS) <= 0) fail_msg("nothing happens");
}

static void say_bytes(struct host *h, const char *p, size_t n)
{
  while (n) {
    ssize_t k = write(h->in, p, n);
    if (k < 0) {
      assert_int_equal(errno, EAGAIN);
      wait_fd(h->in, POLLOUT);
      continue;
    }
    p += k;
    n -= (size_t)k;
  }
}

static void say(struct host *h, const char *line)
{
  say_bytes(h, line, strlen(line));
  say_bytes(h, "\n", 1);
}

static bool read_more(struct host *h)
{
  rp_error err = {0};
  char *room = rp__lines_room(&h->lines, 65536, &err);
  assert_non_null(room);
  ssize_t n = read(h->out, room, 65536);
  while (n < 0) {
    assert_int_equal(errno, EAGAIN);
    wait_fd(h->out, POLLIN);
    n = read(h->out, room, 65536);
  }
  rp__lines_added(&h->lines, (size_t)n);
  return n > 0;
}

static struct rp__str hear_line(struct host *h)
{
  struct rp__str line = {NULL, 0};
  while (!rp__lines_next(&h->lines, false, &line))
    if (!read_more(h)) fail_msg("it closed too early");
  return line;
}

static void hear(struct host *h, const char *text)
{
  struct rp__str line = hear_line(h);
  if (!rp__str_eq(line, text)) fail_msg("'%.*s' instead of '%s'", (int)RP_MIN(line.n, 200), line.p, text);
}

static int finish(struct host *h)
{
  struct rp__str line;
  if (h->in >= 0) close(h->in);
  while (read_more(h))
    while (rp__lines_next(&h->lines, false, &line)) continue;
  close(h->out);
  rp__lines_done(&h->lines);
  return child_wait(h->pid);
}

static void drop(struct host *h)
{
  close(h->in);
  close(h->out);
  rp__lines_done(&h->lines);
}

static void forget(struct host *h)
{
  child_kill(h->pid);
  drop(h);
}

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

/* All an agent said comes before its death, also what has no end. */
static void last_words_come_before_the_death(void **state)
{
  struct host h = OPEN("sh", "-c", "printf 'a\\nb\\nlast'; exit 3");
  (void)state;
  hear(&h, "a");
  hear(&h, "b");
  hear(&h, "last");
  hear(&h, "#gone 3");
  assert_int_equal(finish(&h), 0);
}

static void a_killed_agent_is_started_again(void **state)
{
  struct host h = OPEN("sh", "-c", "read x; echo $x; kill -9 $$");
  (void)state;
  say(&h, "!restart");
  for (int i = 0; i < 3; i++) {
    say(&h, "hello");
    hear(&h, "hello");
    hear(&h, "#gone -9");
    hear(&h, "#started 0");
  }
  assert_int_equal(finish(&h), 0);
}

/* A grandchild that keeps the output open does not hide the death. */
static bool is_dead(pid_t pid)
{
  char path[64], stat[512] = "";
  snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return true;
  ssize_t n = read(fd, stat, sizeof(stat) - 1);
  close(fd);
  const char *state = n > 0 ? strrchr(stat, ')') : NULL;
  return !state || state[2] == 'Z' || state[2] == 'X';
}

static pid_t hear_pid(struct host *h)
{
  char text[32];
  struct rp__str line = hear_line(h);
  snprintf(text, sizeof(text), "%.*s", (int)line.n, line.p);
  pid_t pid = (pid_t)strtol(text, NULL, 10);
  assert_true(pid > 1);
  return pid;
}

static void a_death_shows_though_others_hold_the_pipe(void **state)
{
  struct host h = OPEN("sh", "-c", "trap '' TERM; sleep 1000 & echo $!; exit 4");
  (void)state;
  pid_t helper = hear_pid(&h);
  hear(&h, "#gone 4");
  assert_false(is_dead(helper));
  kill(helper, SIGKILL);
  assert_int_equal(finish(&h), 0);
}

/* Helpers of an agent end with it; what has a session of its own does not belong to it any more (B-06). */
static void helpers_end_with_their_agent(void **state)
{
  struct host h = OPEN("sh", "-c", "sleep 1000 & echo $!; setsid sleep 1000 & echo $!; read x; kill -9 $$");
  (void)state;
  pid_t helper = hear_pid(&h), other = hear_pid(&h);
  for (int i = 0; getsid(other) != other && i < PATIENCE_MS / 10; i++) poll(NULL, 0, 10);
  assert_false(is_dead(helper)); /* while its agent lives */
  say(&h, "go");
  hear(&h, "#gone -9");
  for (int i = 0; !is_dead(helper) && i < PATIENCE_MS / 10; i++) poll(NULL, 0, 10);
  bool ended = is_dead(helper), spared = !is_dead(other);
  kill(other, SIGKILL);
  assert_true(ended);
  assert_true(spared);
  assert_int_equal(finish(&h), 0);
}

static void an_agent_without_output_is_of_no_use(void **state)
{
  struct host h = OPEN("sh", "-c", "exec >&-; cat >/dev/null; exit 5");
  (void)state;
  say(&h, "!restart");
  hear(&h, "#gone 5");
  hear(&h, "#started 0");
  forget(&h);
}

static void an_agent_that_does_not_listen_is_replaced(void **state)
{
  struct host h = OPEN("sh", "-c", "exec <&-; echo up; exec sleep 1000");
  (void)state;
  say(&h, "!restart");
  hear(&h, "up");
  say(&h, "hello?");
  hear(&h, "#gone -15");
  hear(&h, "#started 0");
  forget(&h);
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

static void a_command_that_is_not_there_is_told_at_once(void **state)
{
  struct host h = OPEN("no-such-agent-anywhere");
  (void)state;
  assert_int_equal(finish(&h), 3);
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

static void signals_end_it_in_order(void **state)
{
  static const int sigs[] = {SIGTERM, SIGINT, SIGHUP};
  static const char *const words[] = {"#leaving terminated0", "#leaving interrupted0", "#leaving editor closed0"};
  (void)state;
  for (size_t i = 0; i < RP_ARRAY_SIZE(sigs); i++) {
    struct host h = OPEN("cat");
    say(&h, "up");
    hear(&h, "up");
    kill(h.pid, sigs[i]);
    hear(&h, words[i]);
    hear(&h, "#gone 0");
    assert_int_equal(finish(&h), 0);
  }
}

static void who_asks_twice_does_not_wait(void **state)
{
  struct host h = OPEN("sh", "-c", "trap '' TERM; echo up; while :; do sleep 1; done");
  (void)state;
  hear(&h, "up");
  kill(h.pid, SIGTERM);
  hear(&h, "#leaving terminated0");
  kill(h.pid, SIGTERM);
  hear(&h, "#gone -9");
  assert_int_equal(finish(&h), 0);
}

static void an_agent_that_ignores_the_end_is_terminated(void **state)
{
  struct host h = OPEN("sh", "-c", "echo up; exec sleep 1000");
  (void)state;
  hear(&h, "up");
  say(&h, "!stop");
  hear(&h, "#gone -15");
  forget(&h);
}

/* Nothing we can say when we are killed; the kernel says it. */
static void an_agent_does_not_outlive_its_host(void **state)
{
  struct host h = OPEN("sh", "-c", "echo $$; exec sleep 1000");
  (void)state;
  pid_t agent = hear_pid(&h);
  assert_false(is_dead(agent));
  child_kill(h.pid);
  while (read_more(&h)) continue; /* its end of our pipe was the host's; then the agent's death */
  for (int i = 0; !is_dead(agent) && i < PATIENCE_MS / 10; i++) poll(NULL, 0, 10);
  assert_true(is_dead(agent));
  drop(&h);
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

static int run_host(char **command)
{
  const struct rp__acp_options o = {.scope = "test-scope", .command = (const char *const *)(uintptr_t)command};
  rp_error err = {0};
  int status = 0;
  signal(SIGPIPE, SIG_IGN);
  int code = rp__acp_run(NULL, &o, &status, &err);
  return code ? rp_error_lookup(err.code)->exit_code : status;
}

int main(int argc, char **argv)
{
  if (argc > 2 && strcmp(argv[1], "--host") == 0) return run_host(argv + 2);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(lines_go_both_ways_as_they_are),
      cmocka_unit_test(a_line_of_32_mib_passes),
      cmocka_unit_test(what_is_longer_is_told_and_skipped),
      cmocka_unit_test(last_words_come_before_the_death),
      cmocka_unit_test(a_killed_agent_is_started_again),
      cmocka_unit_test(a_death_shows_though_others_hold_the_pipe),
      cmocka_unit_test(helpers_end_with_their_agent),
      cmocka_unit_test(an_agent_without_output_is_of_no_use),
      cmocka_unit_test(an_agent_that_does_not_listen_is_replaced),
      cmocka_unit_test(timers_and_pokes_arrive),
      cmocka_unit_test(a_command_that_is_not_there_is_told_at_once),
      cmocka_unit_test(the_agent_knows_what_is_around_it),
      cmocka_unit_test(signals_end_it_in_order),
      cmocka_unit_test(who_asks_twice_does_not_wait),
      cmocka_unit_test(an_agent_that_ignores_the_end_is_terminated),
      cmocka_unit_test(an_agent_does_not_outlive_its_host),
      cmocka_unit_test(a_slow_editor_slows_the_agent),
      cmocka_unit_test(stdin_and_stdout_may_be_files),
      cmocka_unit_test(flags_of_descriptors_are_put_back),
  };
  return cmocka_run_group_tests_name("bridge host", tests, NULL, NULL);
}
