/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds out how a process that is not our child ended. Two sources have its exit status. From its death until its
 * parent reaps it, the process's line in /proc has it. After that, since Linux 6.15, a pidfd that was opened before has
 * it.
 */
#include "bridge/exit-cause.h"

#include <signal.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/macros.h"
#include "base/process/proc.h"

#define EXITING 4U       /* PF_EXITING, among the flags of a line */
#define SHELL_SIGNAL 128 /* what a program adds to the signal that it ends for */
#define INFO_EXIT (1U << 3)

/* As linux/pidfd.h has it since 6.15; the oldest headers to build with do not. */
struct info {
  uint64_t mask, cgroup;
  uint32_t ids[11];
  int32_t status;
};
#define GET_INFO _IOWR(0xFF, 11, struct info)

static enum rp__exit_cause judge(int status)
{
  int sig = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status) - SHELL_SIGNAL;
  /* Somebody closed a terminal, pressed ^C or shut the machine down. */
  bool asked = sig == SIGHUP || sig == SIGINT || sig == SIGTERM;
  return status == 0 || asked ? RP_EXIT_ORDERLY : RP_EXIT_CRASHED;
}

bool rp__process_watch_open(struct rp__process_watch *w, int64_t pid)
{
  struct rp__proc_line line;
  *w = (struct rp__process_watch){.pid = pid, .pidfd = -1};
  if (pid <= 0 || !rp__proc_line(pid, &line)) return false;
  w->start = line.start;
  w->pidfd = (int)syscall(SYS_pidfd_open, (pid_t)pid, 0U); /* closed by an exec */
  return true;
}

void rp__process_watch_close(struct rp__process_watch *w)
{
  if (w->start && w->pidfd >= 0) close(w->pidfd);
  *w = (struct rp__process_watch){.pidfd = -1};
}

enum rp__exit_cause rp__process_watch_cause(const struct rp__process_watch *w)
{
  struct rp__proc_line line;
  struct info info = {.mask = INFO_EXIT};
  /* In this order: who is not in /proc any more has been asked for by then. */
  bool there = rp__proc_line(w->pid, &line) && line.start == w->start;
  if (!there) {
    bool told = w->pidfd >= 0 && ioctl(w->pidfd, GET_INFO, &info) == 0 && (info.mask & INFO_EXIT);
    return told ? judge(info.status) : RP_EXIT_UNKNOWN;
  }
  bool ends = (line.flags & EXITING) || line.state == 'Z' || line.state == 'X';
  return ends ? judge(line.status) : RP_EXIT_NONE;
}
