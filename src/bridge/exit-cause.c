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

/* ---- a descriptor of it ---- */

/* As linux/pidfd.h has it since 6.15; the oldest headers to build with do not. */
struct info {
  uint64_t mask, cgroup;
  uint32_t ids[11];
  int32_t status;
};
#define GET_INFO _IOWR(0xFF, 11, struct info)

static bool ask(int pidfd, int *ret_status)
{
  struct info info = {.mask = INFO_EXIT};
  if (pidfd < 0 || ioctl(pidfd, GET_INFO, &info) || !(info.mask & INFO_EXIT)) return false;
  *ret_status = info.status;
  return true;
}

/* ---- the verdict ---- */

/* Somebody closed a terminal, pressed ^C or shut the machine down. */
static bool asked(int sig)
{
  return sig == SIGHUP || sig == SIGINT || sig == SIGTERM;
}

static enum rp__exit_cause judge(int status)
{
  int code = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status) - SHELL_SIGNAL;
  return status == 0 || asked(code) ? RP_EXIT_ORDERLY : RP_EXIT_CRASHED;
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
  int status;
  /* In this order: who is not in /proc any more has been asked for by then. */
  bool there = rp__proc_line(w->pid, &line) && line.start == w->start;
  if (!there) return ask(w->pidfd, &status) ? judge(status) : RP_EXIT_UNKNOWN;
  bool ends = (line.flags & EXITING) || line.state == 'Z' || line.state == 'X';
  return ends ? judge(line.status) : RP_EXIT_NONE;
}
