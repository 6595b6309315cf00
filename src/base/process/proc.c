/* SPDX-License-Identifier: Apache-2.0 */
/* Facts about processes and the boot, from /proc and wtmp, and whether this process is a fork of another. */
#include "base/process/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <utmpx.h>

#include "base/text.h"

#define STAT_MAX 1024 /* a line of /proc/PID/stat is about 300 bytes */
#define PROC_PATH 40
#define BATCH 64            /* records of wtmp */
#define RECORDS_MAX 1000000 /* 366 MiB; a log longer than that has lost its meaning */
#define OURS 1

/* Reads a small file whole, NUL-terminated. 0 or an errno. */
static int small_read(const char *path, char *out, size_t size)
{
  RP_AUTOCLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
  size_t n = 0;
  if (fd < 0) return errno;
  while (n < size - 1) {
    ssize_t done = read(fd, out + n, size - 1 - n);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return errno;
    if (done == 0) break;
    n += (size_t)done;
  }
  out[n] = '\0';
  return 0;
}

void rp__boot_id(char out[RP_BOOT_ID])
{
  char text[RP_BOOT_ID + 1];
  out[0] = '\0';
  if (small_read("/proc/sys/kernel/random/boot_id", text, sizeof text)) return;
  text[strcspn(text, "\n")] = '\0';
  if (strlen(text) == RP_BOOT_ID - 1) memcpy(out, text, RP_BOOT_ID);
}

void rp__hostname(char out[RP_HOST])
{
  char name[HOST_NAME_MAX + 1] = "";
  if (gethostname(name, sizeof name - 1)) name[0] = '\0';
  rp__text_copy(out, RP_HOST, name);
}

/* The namespace in which the pids we see and give have their meaning: our own, whatever the other's is. */
static uint64_t own_namespace(void)
{
  struct stat st;
  return stat("/proc/self/ns/pid", &st) ? 0 : st.st_ino;
}

/* Fields by their numbers in proc(5). */
enum { STATE = 3, PARENT = 4, FLAGS = 9, THREADS = 20, START = 22, STATUS = 52 };

bool rp__proc_line(int64_t pid, struct rp__proc_line *ret)
{
  char path[PROC_PATH], text[STAT_MAX];
  snprintf(path, sizeof path, pid == getpid() ? "/proc/self/stat" : "/proc/%lld/stat", (long long)pid);
  if (small_read(path, text, sizeof text)) return false;
  /* The name stands in parentheses and may hold some itself: the fields are counted from the last one. */
  const char *from = strchr(text, '(');
  char *p = strrchr(text, ')');
  *ret = (struct rp__proc_line){0};
  if (!from || !p || p < from || p[1] != ' ') return false;
  *p = '\0';
  rp__text_copy(ret->name, sizeof ret->name, from + 1);
  ret->state = p[2];
  int field = STATE;
  for (p = strchr(p + 2, ' '); p && field < STATUS; p = strchr(p, ' ')) {
    int64_t v = strtoll(++p, NULL, 10);
    field++;
    if (field == PARENT) ret->parent = v;
    if (field == FLAGS) ret->flags = (unsigned long)v;
    if (field == THREADS) ret->threads = v;
    if (field == START) ret->start = v;
    if (field == STATUS) ret->status = (int)v;
  }
  return field >= START;
}

/* Whether there is such a process, where its stat can't be read. */
static enum rp__proc_state pid_probe(int64_t pid)
{
  return kill((pid_t)pid, 0) && errno == ESRCH ? RP_PROC_DEAD : RP_PROC_UNKNOWN;
}

/* ALIVE with its stat, DEAD, or UNKNOWN when /proc does not say (hidden, not mounted, another namespace's). */
static enum rp__proc_state stat_read(int64_t pid, struct rp__proc_line *ret)
{
  if (pid != getpid()) {
    /* Whether /proc counts pids as we do: after unshare(1) without a new mount it shows the outer namespace's. */
    char link[24], self[24];
    ssize_t n = readlink("/proc/self", link, sizeof link - 1);
    if (n < 0) return pid_probe(pid);
    link[n] = '\0';
    snprintf(self, sizeof self, "%d", (int)getpid());
    if (strcmp(link, self) != 0) return pid_probe(pid);
  }
  if (!rp__proc_line(pid, ret)) return pid_probe(pid);
  /* A leader that ended before its threads looks like a zombie too, yet the process works on. */
  bool dead = ret->state == 'X' || ret->state == 'x' || (ret->state == 'Z' && ret->threads <= 1);
  return dead ? RP_PROC_DEAD : RP_PROC_ALIVE;
}

int rp__proc_describe(int64_t pid, struct rp__proc *ret, rp_error *err)
{
  if (pid < 0 || pid > INT_MAX) return rp__fail(err, RP_E_USAGE, "%lld is no process id", (long long)pid);
  struct rp__proc p = {.pid = pid ? pid : getpid()};
  struct rp__proc_line line = {0};
  if (stat_read(p.pid, &line) == RP_PROC_DEAD)
    return rp__fail(err, RP_E_USAGE, "there is no living process %lld", (long long)pid);
  p.start = line.start;
  p.ns = own_namespace();
  rp__boot_id(p.boot_id);
  *ret = p;
  return 0;
}

enum rp__proc_state rp__proc_probe(const struct rp__proc *p)
{
  char boot_id[RP_BOOT_ID];
  struct rp__proc_line line;
  rp__boot_id(boot_id);
  if (p->boot_id[0] && boot_id[0] && strcmp(p->boot_id, boot_id) != 0) return RP_PROC_DEAD;
  if (!p->ns || p->ns != own_namespace() || p->pid <= 0 || p->pid > INT_MAX) return RP_PROC_UNKNOWN;
  enum rp__proc_state state = stat_read(p->pid, &line);
  if (state != RP_PROC_ALIVE) return state;
  if (!p->start) return RP_PROC_UNKNOWN;
  return line.start == p->start ? RP_PROC_ALIVE : RP_PROC_DEAD;
}

/* ---- how the machine went down ---- */

/*
 * An orderly shutdown writes a record before the next boot's; the plug does not. The first boot after `since_ms` is the
 * one that followed the end in question; later ones tell of other nights. Records stand in the order of writing, which
 * a clock set back does not change.
 */
enum rp__shutdown rp__shutdown_kind(const char *wtmp_path, int64_t since_ms)
{
  RP_AUTOCLOSE int fd = open(wtmp_path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  struct utmpx batch[BATCH];
  bool orderly = false;
  size_t n = BATCH;
  if (fd < 0) return RP_SHUTDOWN_UNKNOWN;
  for (size_t seen = 0; n == BATCH && seen < RECORDS_MAX; seen += n) {
    size_t bytes = 0; /* fewer than asked for only at the end, where a half-written record is left out */
    while (bytes < sizeof batch) {
      ssize_t done = read(fd, (char *)batch + bytes, sizeof batch - bytes);
      if (done < 0 && errno == EINTR) continue;
      if (done <= 0) break;
      bytes += (size_t)done;
    }
    n = bytes / sizeof *batch;
    for (size_t i = 0; i < n; i++) {
      const struct utmpx *u = &batch[i];
      if ((int64_t)u->ut_tv.tv_sec * 1000 + u->ut_tv.tv_usec / 1000 < since_ms) continue;
      if (u->ut_type == RUN_LVL && strncmp(u->ut_user, "shutdown", sizeof u->ut_user) == 0) orderly = true;
      if (u->ut_type == BOOT_TIME) return orderly ? RP_SHUTDOWN_ORDERLY : RP_SHUTDOWN_POWER_LOSS;
    }
  }
  return RP_SHUTDOWN_UNKNOWN;
}

/* ---- forks ---- */

static size_t page_size(void)
{
  return (size_t)sysconf(_SC_PAGESIZE);
}

int rp__forkguard_init(struct rp__forkguard *g)
{
  void *page = mmap(NULL, page_size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return RP_E_NOMEM;
  if (madvise(page, page_size(), MADV_WIPEONFORK)) {
    munmap(page, page_size());
    return RP_E_FAILED;
  }
  g->page = page;
  *g->page = OURS;
  return 0;
}

bool rp__forkguard_same(const struct rp__forkguard *g)
{
  return g->page && *g->page == OURS;
}

void rp__forkguard_done(struct rp__forkguard *g)
{
  if (g->page) munmap((void *)(uintptr_t)g->page, page_size());
  g->page = NULL;
}
