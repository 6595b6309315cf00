/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs the section `acp` runs: `acp-peer agent`, which streams what a prompt asks for, and `acp-peer copy CMD…`,
 * which runs CMD and copies bytes both ways, and nothing else.
 *
 * A prompt's text is "COUNT RATE KIND": so many updates, so many per second (0: as fast as they are taken), one message
 * or each its own. The text of an update begins with the time at which it was written.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SECOND INT64_C(1000000000)
#define CHUNK 65536
#define LINE 1024

static int64_t now(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * SECOND + t.tv_nsec;
}

static void sleep_until(int64_t at)
{
  const struct timespec t = {.tv_sec = at / SECOND, .tv_nsec = at % SECOND};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR) continue;
}

static void put(int fd, const char *p, size_t n)
{
  while (n) {
    ssize_t k = write(fd, p, n);
    if (k < 0 && errno == EINTR) continue;
    if (k <= 0) exit(0); /* the other side has left */
    p += k;
    n -= (size_t)k;
  }
}

/* ---- the agent ---- */

static void update(int64_t i, bool own)
{
  char line[LINE], id[64] = "";
  if (own) snprintf(id, sizeof id, ",\"messageId\":\"m%" PRId64 "\"", i);
  int n =
      snprintf(line, sizeof line,
               "{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{\"sessionId\":\"bench-%d\",\"update\":{"
               "\"sessionUpdate\":\"agent_message_chunk\",\"content\":{\"type\":\"text\",\"text\":\"@%" PRId64
               " and some words of the kind that a model sends \"}%s}}}\n",
               (int)getpid(), now(), id);
  put(STDOUT_FILENO, line, (size_t)n);
}

static void stream(const char *wish)
{
  int64_t count = 0, rate = 0;
  char kind[16] = "";
  if (sscanf(wish, "%" SCNd64 " %" SCNd64 " %15[a-z]", &count, &rate, kind) != 3) exit(1);
  int64_t began = now();
  for (int64_t i = 0; i < count; i++) {
    if (rate) sleep_until(began + i * SECOND / rate);
    update(i, strcmp(kind, "own") == 0);
  }
}

/* A session goes by the process, so that no two have one name. */
static void answer(const char *line)
{
  char id[64], out[LINE], session[64];
  const char *at = strstr(line, "\"id\":"), *text;
  if (!at || sscanf(at + 5, "%60[^,}]", id) != 1) return;
  snprintf(session, sizeof session, "{\"sessionId\":\"bench-%d\"}", (int)getpid());
  const char *result = strstr(line, "\"initialize\"")    ? "{\"protocolVersion\":1,\"agentCapabilities\":{}}"
                       : strstr(line, "\"session/new\"") ? session
                                                         : "{\"stopReason\":\"end_turn\"}";
  if (strstr(line, "\"session/prompt\"") && (text = strstr(line, "wish:"))) stream(text + 5);
  int n = snprintf(out, sizeof out, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}\n", id, result);
  put(STDOUT_FILENO, out, (size_t)n);
}

static int agent(void)
{
  char *line = NULL;
  size_t cap = 0;
  while (getline(&line, &cap, stdin) > 0) answer(line);
  free(line);
  return 0;
}

/* ---- the pipe ---- */

static pid_t run(char **argv, int *ret_in, int *ret_out)
{
  int in[2], out[2];
  if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC)) exit(1);
  pid_t pid = fork();
  if (pid == 0) {
    dup2(in[0], STDIN_FILENO);
    dup2(out[1], STDOUT_FILENO);
    execvp(argv[0], argv);
    _exit(127);
  }
  close(in[0]);
  close(out[1]);
  *ret_in = in[1];
  *ret_out = out[0];
  return pid;
}

/* False at the end. */
static bool copy_some(int from, int to)
{
  static char bytes[CHUNK];
  ssize_t n = read(from, bytes, sizeof bytes);
  if (n > 0) put(to, bytes, (size_t)n);
  return n > 0;
}

static int copy(char **argv)
{
  int in, out;
  pid_t pid = run(argv, &in, &out);
  struct pollfd p[] = {{.fd = STDIN_FILENO, .events = POLLIN}, {.fd = out, .events = POLLIN}};
  while (p[1].fd >= 0) {
    if (poll(p, 2, -1) < 0) continue;
    if (p[1].revents && !copy_some(out, STDOUT_FILENO)) p[1].fd = -1;
    if (p[0].revents && !copy_some(STDIN_FILENO, in)) {
      p[0].fd = -1;
      close(in);
    }
  }
  waitpid(pid, NULL, 0);
  return 0;
}

int main(int argc, char **argv)
{
  if (argc == 2 && strcmp(argv[1], "agent") == 0) return agent();
  if (argc > 2 && strcmp(argv[1], "copy") == 0) return copy(argv + 2);
  return 2;
}
