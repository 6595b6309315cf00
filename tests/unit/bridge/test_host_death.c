/* SPDX-License-Identifier: Apache-2.0 */
/* How agents and the proxy's host end: deaths, helpers, signals (O-05, B-06). */
#include "host_rig.h"

#include <fcntl.h>

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

/* All an agent said comes before its death, also what has no end. */
static void last_words_come_before_the_death(void **state)
{
  struct host h = OPEN("sh", "-c", "printf 'a\\nb\\nlast'; exit 3");
  (void)state;
  hear(&h, "a");
  hear(&h, "b");
  hear(&h, "#rest 4"); /* the core is told which one that is */
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

static void a_command_that_is_not_there_is_told_at_once(void **state)
{
  struct host h = OPEN("no-such-agent-anywhere");
  (void)state;
  assert_int_equal(finish(&h), 3);
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

/* An agent with a helper that does not listen, another in a session of its own, and one of a child that is gone. */
#define FAMILY                                                                                                         \
  "sh", "-c",                                                                                                          \
      "trap '' TERM; echo $$; sleep 1000 & echo $!; setsid sh -c 'trap \"\" TERM; echo $$; while :; do sleep 1; "      \
      "done' & "                                                                                                       \
      "sh -c 'sleep 1000 & echo $!'; while read x; do [ $x = end ] && exit; done; while :; do sleep 1; done"
#define FAMILY_N 4

static void hear_family(struct host *h, pid_t pids[FAMILY_N])
{
  for (size_t i = 0; i < FAMILY_N; i++) {
    pids[i] = hear_pid(h);
    assert_false(is_dead(pids[i]));
  }
}

static bool family_dies(const pid_t pids[FAMILY_N])
{
  bool dead = false;
  for (int i = 0; !dead && i < PATIENCE_MS / 10; i++) {
    dead = true;
    for (size_t k = 0; k < FAMILY_N; k++) dead = dead && is_dead(pids[k]);
    if (!dead) poll(NULL, 0, 10);
  }
  for (size_t k = 0; k < FAMILY_N; k++)
    if (!is_dead(pids[k])) kill(pids[k], SIGKILL);
  return dead;
}

static void nothing_outlives_a_host_that_is_killed(void **state)
{
  struct host h = OPEN(FAMILY);
  pid_t pids[FAMILY_N];
  (void)state;
  hear_family(&h, pids);
  child_kill(h.pid);
  bool dead = family_dies(pids);
  drop(&h);
  assert_true(dead);
}

static void nothing_outlives_a_host_that_ends(void **state)
{
  struct host h = OPEN(FAMILY);
  pid_t pids[FAMILY_N];
  (void)state;
  hear_family(&h, pids);
  assert_int_equal(finish(&h), 0);
  assert_true(family_dies(pids));
}

/* What an agent left that ended long before does not stay either. */
static void nothing_of_a_former_agent_outlives_its_host(void **state)
{
  struct host h = OPEN(FAMILY);
  pid_t pids[FAMILY_N];
  (void)state;
  hear_family(&h, pids);
  say(&h, "end");
  hear(&h, "#gone 0");
  child_kill(h.pid);
  bool dead = family_dies(pids);
  drop(&h);
  assert_true(dead);
}

static pid_t parent_of(pid_t pid)
{
  char path[64], stat[512] = "";
  snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  assert_true(fd >= 0 && read(fd, stat, sizeof(stat) - 1) > 0);
  close(fd);
  return (pid_t)strtol(strrchr(stat, ')') + 4, NULL, 10);
}

/* Its keeper killed, an agent is ended with all it has started before the next one comes. */
static void nothing_outlives_a_keeper_that_is_killed(void **state)
{
  struct host h = OPEN(FAMILY);
  pid_t pids[FAMILY_N], next[FAMILY_N];
  bool dead = true;
  (void)state;
  say(&h, "!restart");
  hear_family(&h, pids);
  kill(parent_of(pids[0]), SIGKILL);
  hear(&h, "#gone -9");
  for (size_t i = 0; i < FAMILY_N; i++) dead = dead && is_dead(pids[i]);
  dead = family_dies(pids) && dead;
  hear(&h, "#started 0");
  hear_family(&h, next);
  assert_true(dead);
  assert_int_equal(finish(&h), 0);
  assert_true(family_dies(next));
}

/* So is what an agent left that ended before its keeper did. */
static void nothing_outlives_the_keeper_of_a_former_agent(void **state)
{
  struct host h = OPEN(FAMILY);
  pid_t pids[FAMILY_N];
  (void)state;
  hear_family(&h, pids);
  pid_t keeper = parent_of(pids[0]);
  say(&h, "end");
  hear(&h, "#gone 0");
  kill(keeper, SIGKILL);
  bool dead = family_dies(pids);
  assert_int_equal(finish(&h), 0);
  assert_true(dead);
}

/* What was a child of this process before it became the host is none of an agent's. */
static void children_of_who_became_the_host_are_spared(void **state)
{
  char self[4096];
  ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
  (void)state;
  assert_true(n > 0);
  self[n] = '\0';
  struct host h = {0};
  const char *argv[] = {"/bin/sh", "-c",
                        "sleep 1000 >/dev/null & echo $!; exec \"$0\" --host sh -c 'echo $$; exec sleep 1000'", self,
                        NULL};
  h.pid = child_exec(argv, &h.in, &h.out);
  rp__lines_init(&h.lines, RP_LINE_MAX * 2);
  pid_t other = hear_pid(&h), agent = hear_pid(&h);
  kill(parent_of(agent), SIGKILL);
  hear(&h, "#gone -9");
  bool spared = !is_dead(other), ended = is_dead(agent);
  kill(other, SIGKILL);
  assert_int_equal(finish(&h), 0);
  assert_true(spared);
  assert_true(ended);
}

/* … unless it was asked for. */
static void an_agent_may_outlive_its_host(void **state)
{
  (void)state;
  for (int killed = 0; killed < 2; killed++) {
    setenv("TEST_OUTLIVE", "1", 1);
    struct host h = OPEN("sh", "-c", "echo $$; exec sleep 1000");
    unsetenv("TEST_OUTLIVE");
    pid_t agent = hear_pid(&h);
    if (killed)
      forget(&h);
    else
      assert_int_equal(finish(&h), 0);
    poll(NULL, 0, 300); /* in which it would have got its signal */
    bool dead = is_dead(agent);
    kill(agent, SIGKILL);
    assert_false(dead);
  }
}

int main(int argc, char **argv)
{
  if (argc > 2 && strcmp(argv[1], "--host") == 0) return run_host(argv + 2);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(last_words_come_before_the_death),
      cmocka_unit_test(a_killed_agent_is_started_again),
      cmocka_unit_test(a_death_shows_though_others_hold_the_pipe),
      cmocka_unit_test(helpers_end_with_their_agent),
      cmocka_unit_test(an_agent_without_output_is_of_no_use),
      cmocka_unit_test(an_agent_that_does_not_listen_is_replaced),
      cmocka_unit_test(a_command_that_is_not_there_is_told_at_once),
      cmocka_unit_test(signals_end_it_in_order),
      cmocka_unit_test(who_asks_twice_does_not_wait),
      cmocka_unit_test(an_agent_that_ignores_the_end_is_terminated),
      cmocka_unit_test(an_agent_does_not_outlive_its_host),
      cmocka_unit_test(nothing_outlives_a_host_that_is_killed),
      cmocka_unit_test(nothing_outlives_a_host_that_ends),
      cmocka_unit_test(nothing_of_a_former_agent_outlives_its_host),
      cmocka_unit_test(nothing_outlives_a_keeper_that_is_killed),
      cmocka_unit_test(nothing_outlives_the_keeper_of_a_former_agent),
      cmocka_unit_test(children_of_who_became_the_host_are_spared),
      cmocka_unit_test(an_agent_may_outlive_its_host),
  };
  return cmocka_run_group_tests_name("bridge host_death", tests, NULL, NULL);
}
