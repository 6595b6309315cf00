/* SPDX-License-Identifier: Apache-2.0 */
/* Children of the benchmark, and what they print. */
#include "process.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static size_t read_all(int fd, char *out, size_t size)
{
  size_t n = 0;
  char rest[4096];
  for (;;) {
    bool room = n + 1 < size;
    ssize_t got = room ? read(fd, out + n, size - 1 - n) : read(fd, rest, sizeof rest);
    if (got <= 0) break;
    if (room) n += (size_t)got;
  }
  out[n] = '\0';
  return n;
}

bool process_read(const char *const *argv, char *out, size_t size)
{
  int p[2];
  pid_t pid;
  if (pipe2(p, O_CLOEXEC) != 0) die("no pipe");
  posix_spawn_file_actions_t fa;
  posix_spawn_file_actions_init(&fa);
  posix_spawn_file_actions_adddup2(&fa, p[1], 1);
  int rc = posix_spawnp(&pid, argv[0], &fa, NULL, (char *const *)(uintptr_t)argv, environ);
  posix_spawn_file_actions_destroy(&fa);
  close(p[1]);
  if (rc == 0) read_all(p[0], out, size);
  close(p[0]);
  if (rc != 0) return false;
  int status;
  return waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool process_found(const char *program)
{
  char out[16];
  const char *argv[] = {"sh", "-c", "command -v \"$0\" >/dev/null", program, NULL};
  return process_read(argv, out, sizeof out);
}

static size_t child_argv(const struct bench *b, const char *name, const char *const args[CHILD_ARGS], const char **argv)
{
  size_t n = 0;
  argv[n++] = b->self;
  argv[n++] = "--child";
  argv[n++] = name;
  argv[n++] = b->dir;
  for (size_t i = 0; i < CHILD_ARGS && args[i]; i++) argv[n++] = args[i];
  argv[n] = NULL;
  return n;
}

void child_read(const struct bench *b, const char *name, const char *const args[CHILD_ARGS], char *out, size_t size)
{
  const char *argv[16];
  child_argv(b, name, args, argv);
  if (!process_read(argv, out, size)) die("the child %s failed", name);
}

/* A line of strace -c: % time, seconds, usecs/call, calls, errors where there were some, name. */
static void count_line(const char *line, struct syscalls *c)
{
  double share, seconds;
  long per_call, calls;
  char a[64] = "", name[64] = "";
  int n = sscanf(line, "%lf %lf %ld %ld %63s %63s", &share, &seconds, &per_call, &calls, a, name);
  if (n < 5) return;
  const char *what = n == 6 ? name : a;
  if (strcmp(what, "total") == 0) return;
  double k = (double)calls;
  c->all += k;
  if (strstr(what, "sync")) c->sync += k;
  if (strstr(what, "write")) c->write += k;
  if (strcmp(what, "futex") == 0) c->futex += k;
  if (strstr(what, "nanosleep") || strcmp(what, "getrusage") == 0) c->wait += k;
}

bool child_syscalls(const struct bench *b, const char *name, const char *const args[CHILD_ARGS], bool threads,
                    struct syscalls *ret)
{
  char path[BENCH_PATH], out[4096], line[512];
  const char *argv[24] = {"strace", "-c", "-o", bench_path(b, "strace.txt", path)};
  size_t n = 4;
  if (threads) argv[n++] = "-f";
  child_argv(b, name, args, argv + n);
  if (!process_found("strace") || !process_read(argv, out, sizeof out)) return false;
  FILE *f = fopen(path, "re");
  if (f == NULL) return false;
  struct syscalls c = {0};
  while (fgets(line, sizeof line, f)) count_line(line, &c);
  fclose(f);
  *ret = c;
  return c.all > 0;
}
