/* SPDX-License-Identifier: Apache-2.0 */
/* MCP over pipes: lines, their bound, the end, and stopping (B-04). */
#include "mcp_test.h"

#include <signal.h>
#include <sys/eventfd.h>
#include <sys/mman.h>

#define PING "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"ping\"}"

static int file_with(const char *text, size_t n)
{
  int fd = memfd_create("mcp", MFD_CLOEXEC);
  assert_true(fd >= 0);
  while (n) {
    ssize_t w = write(fd, text, n);
    assert_true(w > 0);
    text += w;
    n -= (size_t)w;
  }
  assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
  return fd;
}

/* Serves what is in `in` to its end; what was answered, in a static buffer. */
static const char *served(struct rp__mcp *m, const struct rp__buf *in)
{
  static char text[65536];
  rp_error err = {0};
  int from = file_with(in->p, in->n), to = file_with(NULL, 0);
  int rc = rp__mcp_stdio(m, from, to, -1, &err);
  assert_int_equal(rc, RP_MCP_CLOSED);
  ssize_t n = pread(to, text, sizeof text - 1, 0);
  assert_true(n >= 0 && n < (ssize_t)sizeof text - 1);
  text[n] = '\0';
  close(from);
  close(to);
  return text;
}

static int answers(const char *text)
{
  int n = 0;
  for (; (text = strchr(text, '\n')); text++) n++;
  return n;
}

static void each_line_is_answered_in_order(void **state)
{
  struct rp__mcp m = mcp_new(*state, "coder");
  RP_AUTOBUF struct rp__buf in = RP_BUF(65536);
  rp__buf_printf(&in, "\n  \r\n" PING "\r\n{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\nnonsense\n",
                 1);
  rp__buf_printf(&in, PING "\n" PING, 2, 3); /* the last one has no end */
  const char *out = served(&m, &in);
  assert_string_equal(out,
                      "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n"
                      "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,\"message\":\"byte 0: expected a "
                      "value\"}}\n"
                      "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}\n"
                      "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{}}\n");
  assert_null(m.session.s); /* nobody needed one */
}

static void add_long(struct rp__buf *in, size_t n)
{
  rp__buf_printf(in, "{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"ping\",\"params\":{\"x\":\"");
  char *room = rp__buf_room(in, n);
  assert_non_null(room);
  memset(room, 'y', n);
  in->n += n;
  rp__buf_str(in, "\"}}\n");
}

static void a_line_over_the_bound_is_refused_and_the_next_is_served(void **state)
{
  static const size_t over[] = {RP_MCP_LINE_MAX, RP_MCP_LINE_MAX + 100000, RP_MCP_LINE_MAX * 2};
  struct rp__mcp m = mcp_new(*state, "coder");
  RP_AUTOBUF struct rp__buf in = RP_BUF(RP_MCP_LINE_MAX * 6);
  add_long(&in, RP_MCP_LINE_MAX - 100);
  for (size_t i = 0; i < RP_ARRAY_SIZE(over); i++) add_long(&in, over[i]);
  rp__buf_printf(&in, PING "\n", 5);
  assert_int_equal(in.err, 0);
  const char *out = served(&m, &in), *at = out;
  assert_int_equal(answers(out), 5);
  assert_memory_equal(out, "{\"jsonrpc\":\"2.0\",\"id\":9,\"result\":{}}\n", 37);
  for (size_t i = 0; i < RP_ARRAY_SIZE(over); i++) {
    at = strstr(at + 1, "\"id\":9,\"error\":{\"code\":-32600");
    assert_non_null(at);
  }
  assert_non_null(strstr(at, "\"id\":5,\"result\""));
}

static void it_stops_when_told_and_when_nobody_reads(void **state)
{
  struct rp__mcp m = mcp_new(*state, "coder");
  rp_error err = {0};
  int in[2], out[2], stop = eventfd(1, EFD_CLOEXEC);
  signal(SIGPIPE, SIG_IGN);
  assert_int_equal(pipe(in), 0);
  assert_int_equal(pipe(out), 0);
  assert_int_equal(rp__mcp_stdio(&m, in[0], out[1], stop, &err), RP_MCP_STOPPED);
  assert_true(dprintf(in[1], PING "\n", 1) > 0);
  close(out[0]);
  /* The input is still open: it is the answer that finds nobody. */
  assert_int_equal(rp__mcp_stdio(&m, in[0], out[1], -1, &err), RP_MCP_CLOSED);
  close(in[0]), close(in[1]), close(out[1]), close(stop);
}

int main(void)
{
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(each_line_is_answered_in_order, bridge_setup, rig_teardown),
      cmocka_unit_test_setup_teardown(a_line_over_the_bound_is_refused_and_the_next_is_served, bridge_setup,
                                      rig_teardown),
      cmocka_unit_test_setup_teardown(it_stops_when_told_and_when_nobody_reads, bridge_setup, rig_teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
