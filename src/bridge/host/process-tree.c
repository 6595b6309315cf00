/* SPDX-License-Identifier: Apache-2.0 */
/* The descendants of a process, read from /proc. */
#include "bridge/host/process-tree.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PROCS_MAX 32768  /* processes of the machine that are looked at */
#define STAT_BYTES 512   /* of a process's stat: its name and what follows */
#define LIST_BYTES 32768 /* of /proc that are read at once */

static struct {
  pid_t pid, parent;
  bool ours, dead;
} procs[PROCS_MAX];

/* As getdents64 writes it. */
struct entry {
  uint64_t ino;
  int64_t off;
  unsigned short reclen;
  unsigned char type;
  char name[];
};

static pid_t number(const char *s)
{
  pid_t n = 0;
  if (*s < '0' || *s > '9') return 0;
  for (; *s >= '0' && *s <= '9' && n < INT32_MAX / 10; s++) n = n * 10 + (*s - '0');
  return n;
}

/* "PID (NAME) STATE PARENT …", where a name may be anything. */
static pid_t parent_of(int proc, const char *name, bool *ret_dead)
{
  char path[64], text[STAT_BYTES];
  size_t n = strnlen(name, sizeof path - sizeof "/stat");
  memcpy(path, name, n);
  memcpy(path + n, "/stat", sizeof "/stat");
  int fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  ssize_t got = read(fd, text, sizeof text - 1);
  close(fd);
  if (got <= 0) return 0;
  text[got] = '\0';
  const char *end = strrchr(text, ')');
  *ret_dead = end && strlen(end) > 2 && (end[2] == 'Z' || end[2] == 'X');
  return end && strlen(end) > 4 ? number(end + 4) : 0;
}

static size_t read_procs(void)
{
  static _Alignas(struct entry) char list[LIST_BYTES];
  size_t n = 0;
  long got;
  int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  while (proc >= 0 && (got = syscall(SYS_getdents64, proc, list, sizeof list)) > 0) {
    for (long at = 0; at < got && n < PROCS_MAX;) {
      const struct entry *e = (const void *)(list + at);
      at += e->reclen;
      pid_t pid = number(e->name);
      if (!pid) continue;
      procs[n].pid = pid;
      procs[n].ours = procs[n].dead = false;
      procs[n].parent = parent_of(proc, e->name, &procs[n].dead);
      n++;
    }
  }
  if (proc >= 0) close(proc);
  return n;
}

static bool is_ours(size_t n, pid_t pid)
{
  if (pid == getpid()) return true;
  for (size_t i = 0; i < n; i++)
    if (procs[i].pid == pid) return procs[i].ours;
  return false;
}

static bool is_spared(pid_t pid, const pid_t *spare, size_t n)
{
  for (size_t i = 0; i < n; i++)
    if (spare[i] == pid) return true;
  return false;
}

int rp__tree_signal(const pid_t *spare, size_t n_spare, int sig)
{
  size_t n = read_procs();
  int living = 0;
  for (bool more = true; more;) {
    more = false;
    for (size_t i = 0; i < n; i++) {
      if (procs[i].ours || !is_ours(n, procs[i].parent) || is_spared(procs[i].pid, spare, n_spare)) continue;
      procs[i].ours = more = true;
    }
  }
  for (size_t i = 0; i < n; i++) {
    if (!procs[i].ours) continue;
    kill(procs[i].pid, sig); /* one that looks dead may have threads */
    living += !procs[i].dead;
  }
  return n ? living : -1;
}

size_t rp__tree_children(pid_t *ret, size_t max)
{
  size_t n = read_procs(), found = 0;
  for (size_t i = 0; i < n && found < max; i++)
    if (procs[i].parent == getpid()) ret[found++] = procs[i].pid;
  return found;
}
