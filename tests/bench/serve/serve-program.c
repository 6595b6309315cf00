/* SPDX-License-Identifier: Apache-2.0 */
/* The programs beside the section: the server, a bare one, the swarm. */
#include "serve.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define STEP_MS 5
#define PATIENCE_MS 400000 /* for a line: ten thousand channels may take their time */
#define SETTLE_STEP_MS 250
#define SETTLE_STEPS 240 /* a minute */
#define SETTLE_IDLE 6    /* idle steps in a row: longer than the second between two looks of the engine */

extern char **environ;

static void sleep_ms(int ms)
{
  nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L}, NULL);
}

void program_start(struct program *p, const struct bench *b, const char *name, const char *const *argv)
{
  int pipes[2];
  char file[64];
  posix_spawn_file_actions_t fa;
  *p = (struct program){0};
  snprintf(p->name, sizeof p->name, "%s", name);
  snprintf(file, sizeof file, "%s.log", name);
  bench_path(b, file, p->log);
  if (pipe2(pipes, O_CLOEXEC) != 0) die("no pipe");
  posix_spawn_file_actions_init(&fa);
  posix_spawn_file_actions_adddup2(&fa, pipes[0], 0);
  posix_spawn_file_actions_addopen(&fa, 1, p->log, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0600);
  posix_spawn_file_actions_adddup2(&fa, 1, 2);
  int rc = posix_spawnp(&p->pid, argv[0], &fa, NULL, (char *const *)(uintptr_t)argv, environ);
  posix_spawn_file_actions_destroy(&fa);
  close(pipes[0]);
  p->in = pipes[1];
  if (rc != 0) die("%s can't be started: %s", argv[0], strerror(rc));
}

static void complain(const struct program *p, const char *what)
{
  char line[LINE_BYTES];
  FILE *f = fopen(p->log, "re");
  for (int i = 0; f && i < 20 && fgets(line, sizeof line, f); i++) fputs(line, stderr);
  if (f) fclose(f);
  die("%s %s", p->name, what);
}

static bool find_line(const struct program *p, const char *word, char line[LINE_BYTES])
{
  bool found = false;
  FILE *f = fopen(p->log, "re");
  while (f && !found && fgets(line, LINE_BYTES, f)) found = strstr(line, word) && strchr(line, '\n');
  if (f) fclose(f);
  return found;
}

void program_line(const struct program *p, const char *word, char line[LINE_BYTES])
{
  for (int ms = 0; !find_line(p, word, line); ms += STEP_MS) {
    siginfo_t gone = {0};
    waitid(P_PID, (id_t)p->pid, &gone, WEXITED | WNOHANG | WNOWAIT);
    if (gone.si_pid && !find_line(p, word, line)) complain(p, "has ended before its time");
    if (ms > PATIENCE_MS) complain(p, "does not say what it should");
    sleep_ms(STEP_MS);
  }
}

static void check_end(const struct program *p, int status)
{
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) complain(p, "has failed");
}

bool program_runs(struct program *p)
{
  int status;
  if (p->pid == 0 || waitpid(p->pid, &status, WNOHANG) == 0) return p->pid != 0;
  p->pid = 0;
  close(p->in);
  check_end(p, status);
  return false;
}

void program_tell(const struct program *p, const char *line)
{
  if (write(p->in, line, strlen(line)) != (ssize_t)strlen(line)) complain(p, "does not listen");
}

void program_pause(const struct program *p, bool pause)
{
  if (kill(p->pid, pause ? SIGSTOP : SIGCONT) != 0) complain(p, "is gone");
}

double program_rss(const struct program *p)
{
  char path[64], line[256];
  double kib = 0;
  snprintf(path, sizeof path, "/proc/%d/status", (int)p->pid);
  FILE *f = fopen(path, "re");
  while (f && fgets(line, sizeof line, f)) sscanf(line, "VmRSS: %lf", &kib);
  if (f) fclose(f);
  if (kib == 0) complain(p, "is gone");
  return kib * 1024;
}

double program_cpu(const struct program *p)
{
  char path[64], text[1024] = "";
  unsigned long user = 0, system = 0;
  snprintf(path, sizeof path, "/proc/%d/stat", (int)p->pid);
  FILE *f = fopen(path, "re");
  if (f == NULL || fgets(text, sizeof text, f) == NULL) complain(p, "is gone");
  fclose(f);
  const char *after = strrchr(text, ')'); /* the name before it may hold anything */
  if (!after || sscanf(after + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system) != 2)
    complain(p, "can't be looked at");
  return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

void program_settle(const struct program *p, const struct bench *b, double share)
{
  double before = program_cpu(p);
  for (int i = 0, idle = 0; i < SETTLE_STEPS && idle < SETTLE_IDLE && !b->quick; i++) {
    sleep_ms(SETTLE_STEP_MS);
    double now = program_cpu(p);
    idle = now - before <= share * SETTLE_STEP_MS / 1000 ? idle + 1 : 0;
    before = now;
  }
}

void program_stop(struct program *p)
{
  int status;
  if (p->pid == 0) return;
  close(p->in);
  kill(p->pid, SIGCONT);
  kill(p->pid, SIGTERM);
  if (waitpid(p->pid, &status, 0) != p->pid) die("%s is gone", p->name);
  p->pid = 0;
  if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGTERM) check_end(p, status);
}

/* ---- those of this build ---- */

/* A path below the build folder, which this program is two folders below of. */
static const char *built(const struct bench *b, const char *name, char out[BENCH_PATH])
{
  int n = 0;
  const char *end = b->self + strlen(b->self);
  for (; end > b->self && n < 3; end--) n += end[-1] == '/';
  if (snprintf(out, BENCH_PATH, "%.*s/%s", (int)(end - b->self), b->self, name) >= BENCH_PATH) die("too long a path");
  if (access(out, X_OK) != 0) die("%s is not there", out);
  return out;
}

static int read_port(const struct program *p)
{
  char line[LINE_BYTES];
  program_line(p, "listening", line);
  const char *at = strstr(line, "address=127.0.0.1:");
  int port = at ? (int)strtol(at + strlen("address=127.0.0.1:"), NULL, 10) : 0;
  if (port <= 0) complain(p, "listens nowhere");
  return port;
}

void serve_start(struct program *p, const struct bench *b, const char *name, const char *db)
{
  char path[BENCH_PATH], file[BENCH_PATH], url[BENCH_PATH + 16], config[BENCH_PATH], line[LINE_BYTES];
  FILE *f = fopen(bench_path(b, "empty.ini", config), "we");
  if (f == NULL || fclose(f) != 0) die("%s can't be written", config);
  snprintf(url, sizeof url, "sqlite:%s", bench_path(b, db, file));
  const char *argv[] = {
      built(b, "src/server/reprise-serve", path), "--listen", "127.0.0.1:0", "--db", url, "--config", config, NULL};
  program_start(p, b, name, argv);
  program_line(p, "event=ready", line);
  const char *threads = strstr(line, "threads=");
  if (threads == NULL) complain(p, "does not tell its threads");
  p->port = read_port(p);
  p->threads = (int)strtol(threads + strlen("threads="), NULL, 10);
}

void bare_start(struct program *p, const struct bench *b, size_t bytes, const char *type, int threads)
{
  char path[BENCH_PATH], size[32], many[32];
  snprintf(size, sizeof size, "%zu", bytes);
  snprintf(many, sizeof many, "%d", threads);
  const char *argv[] = {built(b, "tests/bench/bare-http", path), size, type, many, NULL};
  program_start(p, b, "bare-http", argv);
  p->port = read_port(p);
  p->threads = threads;
}

void swarm_start(struct program *p, const struct bench *b, int port, int64_t channels, int64_t readers)
{
  char path[BENCH_PATH], address[32], n_channels[32], n_readers[32];
  snprintf(address, sizeof address, "127.0.0.1:%d", port);
  snprintf(n_channels, sizeof n_channels, "%lld", (long long)channels);
  snprintf(n_readers, sizeof n_readers, "%lld", (long long)readers);
  const char *argv[] = {
      built(b, "tests/bench/swarm", path), address, "--channels", n_channels, "--readers", n_readers, NULL};
  program_start(p, b, "swarm", argv);
}
