/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The proxy's host with a core that only copies (host_core.c), in a process of its own that a test talks to: the test's
 * program runs itself as the host, `test_host… --host CMD…`.
 */
#ifndef TEST_BRIDGE_HOST_RIG_H
#define TEST_BRIDGE_HOST_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <signal.h>

#include "bridge/acp/acp.h"
#include "bridge/line.h"
#include "lib/child.h"

#define PATIENCE_MS 20000

struct host {
  pid_t pid;
  int in, out;
  struct rp__lines lines;
};

static inline struct host open_host(const char *const *command)
{
  const char *argv[16] = {"/proc/self/exe", "--host"};
  struct host h = {0};
  for (size_t i = 0; command[i]; i++) argv[i + 2] = command[i];
  h.pid = child_exec(argv, &h.in, &h.out);
  assert_true(h.pid > 0);
  rp__lines_init(&h.lines, RP_LINE_MAX * 2);
  return h;
}

#define OPEN(...) open_host((const char *const[]){__VA_ARGS__, NULL})

static inline void wait_fd(int fd, short events)
{
  struct pollfd p = {.fd = fd, .events = events};
  if (poll(&p, 1, PATIENCE_MS) <= 0) fail_msg("nothing happens");
}

static inline void say_bytes(struct host *h, const char *p, size_t n)
{
  while (n) {
    ssize_t k = write(h->in, p, n);
    if (k < 0) {
      assert_int_equal(errno, EAGAIN);
      wait_fd(h->in, POLLOUT);
      continue;
    }
    p += k;
    n -= (size_t)k;
  }
}

static inline void say(struct host *h, const char *line)
{
  say_bytes(h, line, strlen(line));
  say_bytes(h, "\n", 1);
}

static inline bool read_more(struct host *h)
{
  rp_error err = {0};
  char *room = rp__lines_room(&h->lines, 65536, &err);
  assert_non_null(room);
  ssize_t n = read(h->out, room, 65536);
  while (n < 0) {
    assert_int_equal(errno, EAGAIN);
    wait_fd(h->out, POLLIN);
    n = read(h->out, room, 65536);
  }
  rp__lines_added(&h->lines, (size_t)n);
  return n > 0;
}

static inline struct rp__str hear_line(struct host *h)
{
  struct rp__str line = {NULL, 0};
  while (!rp__lines_next(&h->lines, false, &line))
    if (!read_more(h)) fail_msg("it closed too early");
  return line;
}

static inline void hear(struct host *h, const char *text)
{
  struct rp__str line = hear_line(h);
  if (!rp__str_eq(line, text)) fail_msg("'%.*s' instead of '%s'", (int)RP_MIN(line.n, 200), line.p, text);
}

static inline int finish(struct host *h)
{
  struct rp__str line;
  if (h->in >= 0) close(h->in);
  while (read_more(h))
    while (rp__lines_next(&h->lines, false, &line)) continue;
  close(h->out);
  rp__lines_done(&h->lines);
  return child_wait(h->pid);
}

static inline void drop(struct host *h)
{
  close(h->in);
  close(h->out);
  rp__lines_done(&h->lines);
}

static inline void forget(struct host *h)
{
  child_kill(h->pid);
  drop(h);
}

/* What main does when its first argument is --host. */
static inline int run_host(char **command)
{
  const struct rp__acp_options o = {.scope = "test-scope",
                                    .command = (const char *const *)(uintptr_t)command,
                                    .outlive = getenv("TEST_OUTLIVE") != NULL};
  rp_error err = {0};
  int status = 0;
  signal(SIGPIPE, SIG_IGN);
  signal(SIGHUP, SIG_DFL); /* the tests may run under nohup */
  int code = rp__acp_run(NULL, &o, &status, &err);
  return code ? rp_error_lookup(err.code)->exit_code : status;
}

#endif
