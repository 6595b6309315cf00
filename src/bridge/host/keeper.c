/* SPDX-License-Identifier: Apache-2.0 */
#include "bridge/host/keeper.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/macros.h"

#define PROCS_MAX 32768  /* processes of the machine that are looked at */
#define AGAIN_MS 100     /* between two SIGKILLs: what was forked meanwhile gets the next one */
#define ROUNDS_MAX 100   /* of them; what the kernel does not let go of is left */
#define STAT_BYTES 512   /* of a process's stat: its name and what follows */
#define LIST_BYTES 32768 /* of /proc that are read at once */

/* ---- the tree ---- */

static struct {
  pid_t pid, parent;
  bool ours;
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
static pid_t parent_of(int proc, const char *name)
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
      procs[n].parent = parent_of(proc, e->name);
      procs[n++].ours = false;
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

static void signal_tree(pid_t agent, int sig)
{
  size_t n = read_procs();
  for (bool more = true; more;) {
    more = false;
    for (size_t i = 0; i < n; i++) {
      if (procs[i].ours || !is_ours(n, procs[i].parent)) continue;
      procs[i].ours = more = true;
    }
  }
  for (size_t i = 0; i < n; i++)
    if (procs[i].ours) kill(procs[i].pid, sig);
  if (!n && agent) kill(-agent, sig); /* no /proc: as far as we can know */
}

/* ---- its life ---- */

static int64_t now_ms(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* While the agent is not reaped its id is taken, so the group is its own. */
static void tell_end(pid_t agent, int ended)
{
  int st = 0;
  kill(-agent, SIGTERM); /* helpers may go on with what it asked of them, beside the next one in the same directory */
  if (waitpid(agent, &st, 0) != agent) return;
  int status = WIFSIGNALED(st) ? -WTERMSIG(st) : WEXITSTATUS(st);
  ssize_t n = write(ended, &status, sizeof status);
  (void)n; /* nobody may be there any more */
  close(ended);
}

/* False: nobody is left. */
static bool reap(pid_t *agent, int ended)
{
  for (;;) {
    siginfo_t info = {0};
    if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT)) return errno == EINTR;
    if (!info.si_pid) return true;
    if (info.si_pid == *agent) {
      tell_end(*agent, ended);
      *agent = 0;
    } else {
      waitpid(info.si_pid, NULL, WNOHANG);
    }
  }
}

/* The signal that came, or 0: the time has come. */
static int wait_signal(const sigset_t *set, int64_t until)
{
  if (until < 0) {
    int sig = sigwaitinfo(set, NULL);
    return sig > 0 ? sig : SIGCHLD;
  }
  int64_t ms = RP_MAX(until - now_ms(), (int64_t)0);
  struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = (ms % 1000) * 1000000};
  int sig = sigtimedwait(set, NULL, &t);
  return sig > 0 ? sig : errno == EAGAIN ? 0 : SIGCHLD;
}

void rp__keeper_run(pid_t agent, int ended)
{
  int64_t until = -1;
  sigset_t set;
  signal(SIGCHLD, SIG_DFL);
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  sigaddset(&set, RP_KEEPER_TERM);
  sigaddset(&set, RP_KEEPER_KILL);
  for (int rounds = 0; reap(&agent, ended) && rounds < ROUNDS_MAX;) {
    int sig = wait_signal(&set, until);
    if (sig == RP_KEEPER_TERM) {
      signal_tree(agent, SIGTERM);
      until = now_ms() + RP_KEEPER_GRACE_MS;
    } else if (sig == RP_KEEPER_KILL || sig == 0) {
      signal_tree(agent, SIGKILL);
      until = now_ms() + AGAIN_MS;
      rounds++;
    }
  }
  _exit(0);
}
