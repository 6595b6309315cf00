/* SPDX-License-Identifier: Apache-2.0 */
/* The host when the nth allocation fails, for every n: it ends with an error or goes on, and leaves no agent (O-05). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uv.h>

#include "bridge/acp/acp.h"
#include "lib/child.h"
#include "lib/scratch.h"
#include "unit/net/nomem.h"

#define LINES 3000 /* enough that buffers grow */
#define NONE_FAILED 10
#define LEFT_BEHIND 11

struct plan {
  int at;
  char in[SCRATCH_PATH], out[SCRATCH_PATH];
};

static int run_host(void *arg)
{
  static const char *const command[] = {"cat", NULL};
  const struct plan *p = arg;
  const struct rp__acp_options o = {.scope = "test", .command = command};
  rp_error err = {0};
  int status = 0, in = open(p->in, O_RDONLY), out = open(p->out, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (in < 0 || out < 0 || dup2(in, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0) return 99;
  signal(SIGPIPE, SIG_IGN);
  /* libuv aborts without memory for its table of descriptors: what is tried here is ours. */
  if (uv_replace_allocator(__real_malloc, __real_realloc, __real_calloc, free)) return 96;
  atomic_store(&left, p->at);
  int code = rp__acp_run(NULL, &o, &status, &err);
  atomic_store(&left, -1);
  if (waitpid(-1, NULL, WNOHANG) >= 0) return LEFT_BEHIND; /* a child that nobody waited for */
  if (!atomic_load(&failed)) return code ? 98 : NONE_FAILED;
  return code && rp_error_lookup(code)->code != code ? 97 : 0;
}

static void write_lines(const char *path)
{
  FILE *f = fopen(path, "w");
  assert_non_null(f);
  for (int i = 0; i < LINES; i++) fprintf(f, "{\"line\":%d,\"and\":\"some text that is longer than nothing\"}\n", i);
  assert_int_equal(fclose(f), 0);
}

static void each_allocation_may_fail(void **state)
{
  struct scratch dir;
  struct plan p = {0};
  int code = 0;
  (void)state;
  assert_int_equal(scratch_make_fast(&dir), 0);
  scratch_path(&dir, "in", p.in);
  scratch_path(&dir, "out", p.out);
  write_lines(p.in);
  for (; code != NONE_FAILED && p.at < 1000; p.at++) {
    code = child_wait(child_run(run_host, &p));
    if (code && code != NONE_FAILED) fail_msg("allocation %d: %d", p.at, code);
  }
  assert_int_equal(code, NONE_FAILED);
  assert_true(p.at > 10); /* some did fail */
  scratch_remove(&dir);
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(each_allocation_may_fail)};
  return cmocka_run_group_tests_name("bridge host nomem", tests, NULL, NULL);
}
