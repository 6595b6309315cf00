/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two places know how another's process ended: its line in /proc from the moment it dies until its parent has taken
 * notice, and from then on, since Linux 6.15, whoever held a descriptor of it.
 */
#include "bridge/fate.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/macros.h"

#define STAT_MAX 1024    /* a line of /proc/PID/stat is about 300 bytes */
#define EXITING 4U       /* PF_EXITING, among the flags of a line */
#define SHELL_SIGNAL 128 /* what a program adds to the signal that it ends for */
#define INFO_EXIT (1U << 3)

/* ---- /proc ---- */

/* Fields by their numbers in proc(5). */
enum { STATE = 3, FLAGS = 9, START = 22, EXIT_CODE = 52 };

struct line {
  char state;
  unsigned long flags;
  int64_t start;
  int status; /* as waitpid gives it; of one that has not ended: 0 */
};

/* The name stands in parentheses and may hold some itself, so the fields are counted from the last one. */
static bool parse(char *text, struct line *ret)
{
  char *p = strrchr(text, ')');
  *ret = (struct line){0};
  if (!p || p[1] != ' ') return false;
  p += 2;
  for (int field = STATE; field <= EXIT_CODE; field++) {
    if (field == STATE) ret->state = *p;
    if (field == FLAGS) ret->flags = strtoul(p, NULL, 10);
    if (field == START) ret->start = strtoll(p, NULL, 10);
    if (field == EXIT_CODE) ret->status = (int)strtol(p, NULL, 10);
    p = strchr(p, ' ');
    if (!p) return field == EXIT_CODE;
    p++;
  }
  return true;
}

static bool read_line(int64_t pid, struct line *ret)
{
  char path[64], text[STAT_MAX];
  snprintf(path, sizeof path, "/proc/%lld/stat", (long long)pid);
  RP_AUTOCLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
  if (n <= 0) return false;
  text[n] = '\0';
  return parse(text, ret);
}

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

static enum rp__fate judge(int status)
{
  int code = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status) - SHELL_SIGNAL;
  return status == 0 || asked(code) ? RP_FATE_LEFT : RP_FATE_FELL;
}

bool rp__vigil_open(struct rp__vigil *w, int64_t pid)
{
  struct line line;
  *w = (struct rp__vigil){.pid = pid, .pidfd = -1};
  if (pid <= 0 || !read_line(pid, &line)) return false;
  w->start = line.start;
  w->pidfd = (int)syscall(SYS_pidfd_open, (pid_t)pid, 0U); /* closed by an exec */
  return true;
}

void rp__vigil_close(struct rp__vigil *w)
{
  if (w->start && w->pidfd >= 0) close(w->pidfd);
  *w = (struct rp__vigil){.pidfd = -1};
}

enum rp__fate rp__vigil_fate(const struct rp__vigil *w)
{
  struct line line;
  int status;
  /* In this order: who is not in /proc any more has been asked for by then. */
  bool there = read_line(w->pid, &line) && line.start == w->start;
  if (!there) return ask(w->pidfd, &status) ? judge(status) : RP_FATE_GONE;
  bool ends = (line.flags & EXITING) || line.state == 'Z' || line.state == 'X';
  return ends ? judge(line.status) : RP_FATE_LIVES;
}
