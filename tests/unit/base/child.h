/* SPDX-License-Identifier: Apache-2.0 */
/* Child processes that report over a pipe, so that nobody has to wait by the clock. */
#ifndef RP_TEST_CHILD_H
#define RP_TEST_CHILD_H

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

#include "scratch.h"

struct child {
  pid_t pid;
  int from; /* what it reports */
};

/* Runs `body` in a child, which gets the writing end. An alarm ends a child that a failed test left behind. */
static inline struct child child_start(void (*body)(int to, void *arg), void *arg)
{
  int ends[2];
  assert_int_equal(pipe(ends), 0);
  pid_t pid = fork();
  assert_true(pid >= 0);
  if (pid == 0) {
    close(ends[0]);
    alarm(60);
    body(ends[1], arg);
    _exit(0);
  }
  close(ends[1]);
  return (struct child){pid, ends[0]};
}

static inline void child_tell(int to, const void *bytes, size_t n)
{
  if (write(to, bytes, n) != (ssize_t)n) _exit(99);
}

static inline void child_hear(const struct child *c, void *bytes, size_t n)
{
  assert_int_equal(read(c->from, bytes, n), n);
}

/* Waits until it has ended and leaves it unreaped. */
static inline void child_await_zombie(const struct child *c)
{
  siginfo_t info;
  assert_int_equal(waitid(P_PID, (id_t)c->pid, &info, WEXITED | WNOWAIT), 0);
}

static inline int child_reap(struct child *c)
{
  int status;
  assert_int_equal(waitpid(c->pid, &status, 0), c->pid);
  close(c->from);
  return status;
}

/* The state letter of a task, for waiting until it sleeps; 0 when it is gone. */
static inline char task_state(const char *stat_path)
{
  char text[512];
  int fd = open(stat_path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  ssize_t n = read(fd, text, sizeof text - 1);
  close(fd);
  if (n <= 0) return 0;
  text[n] = '\0';
  const char *p = strrchr(text, ')');
  return p && p[1] ? p[2] : 0;
}

#endif
