/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MCP over a pair of pipes. Requests are handled one at a time, so a request is finished before its cancellation is
 * read. The process waits only in poll, so that the session gets its heartbeats, and a signal ends the process between
 * two messages.
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>

#include "base/clock.h"
#include "base/ticks.h"
#include "bridge/broken-line.h"
#include "bridge/line.h"
#include "bridge/mcp/mcp-impl.h"

#define CHUNK ((size_t)64 * 1024)

struct server {
  struct rp__mcp *m;
  int in, out, stop;
  struct rp__lines lines;
  bool gone; /* nobody reads what we say */
  struct rp__buf reply;
};

/* ---- waiting ---- */

/* Until the descriptor can be used: 1; 0 when it is time to stop. */
static int wait_for(struct server *s, int fd, short events, rp_error *err)
{
  struct pollfd p[] = {{.fd = fd, .events = events}, {.fd = s->stop, .events = POLLIN}};
  for (;;) {
    int n = poll(p, 2, (int)rp__tool_session_heartbeat(&s->m->session, RP_MCP_BEAT_MS, rp__ticks_ms()));
    if (n < 0 && errno != EINTR) return rp__fail_errno(err, errno, "can't wait for the client");
    if (n > 0 && p[1].revents) return 0;
    if (n > 0 && p[0].revents) return 1;
  }
}

/* ---- writing ---- */

/* No more at once than a pipe that is ready takes without blocking. 1, or 0 when it is time to stop. */
static int send_all(struct server *s, const char *p, size_t n, rp_error *err)
{
  while (n) {
    int rc = wait_for(s, s->out, POLLOUT, err);
    if (rc <= 0) return rc;
    ssize_t w = write(s->out, p, RP_MIN(n, (size_t)PIPE_BUF));
    if (w < 0 && errno == EPIPE) s->gone = true;
    if (s->gone) return 0;
    if (w < 0 && errno != EINTR && errno != EAGAIN) return rp__fail_errno(err, errno, "can't write to the client");
    if (w > 0) {
      p += w;
      n -= (size_t)w;
    }
  }
  return 1;
}

static int send_reply(struct server *s, rp_error *err)
{
  rp__buf_char(&s->reply, '\n');
  int rc = s->reply.err ? rp__fail_nomem(err) : send_all(s, s->reply.p, s->reply.n, err);
  /* What one large answer needed is not kept for all the small ones. */
  if (s->reply.cap > CHUNK)
    rp__buf_done(&s->reply);
  else
    rp__buf_reset(&s->reply);
  return rc;
}

static int refuse_long(struct server *s, struct rp__str line, rp_error *err)
{
  char text[64];
  snprintf(text, sizeof text, "a message has more than %zu bytes", RP_MCP_LINE_MAX);
  rp__rpc_error(&s->reply, rp__broken_line_id(line.p, line.n), RP_RPC_INVALID, text, NULL);
  return send_reply(s, err);
}

/* ---- reading ---- */

static int answer_lines(struct server *s, bool last, rp_error *err)
{
  struct rp__str line;
  int rc = 1;
  while (rc > 0 && rp__lines_next(&s->lines, last, &line)) {
    struct rp__mcp_reply reply;
    if (line.n > RP_MCP_LINE_MAX) {
      rc = refuse_long(s, line, err);
      continue;
    }
    rp__mcp_handle(s->m, line.p, line.n, &s->reply, &reply);
    rc = reply.none ? 1 : send_reply(s, err);
  }
  return rc;
}

static int serve(struct server *s, rp_error *err)
{
  for (;;) {
    int rc = wait_for(s, s->in, POLLIN, err);
    if (rc <= 0) return rc < 0 ? rc : RP_MCP_STOPPED;
    char *room = rp__lines_room(&s->lines, CHUNK, err);
    if (!room && s->lines.buf.err == RP_E_NOMEM) return RP_E_NOMEM;
    ssize_t n = 0;
    if (!room) {
      /* A line without an end in sight: refused now, and what is still to come of it is thrown away. */
      rc = refuse_long(s, (struct rp__str){s->lines.buf.p + s->lines.at, s->lines.buf.n - s->lines.at}, err);
      rp__lines_skip(&s->lines);
      if (rc < 0) return rc;
    } else {
      n = read(s->in, room, CHUNK);
      if (n < 0 && errno != EINTR && errno != EAGAIN) return rp__fail_errno(err, errno, "can't read from the client");
      if (n > 0) rp__lines_added(&s->lines, (size_t)n);
    }
    bool closed = room && n == 0;
    rc = answer_lines(s, closed, err);
    if (rc <= 0) return rc < 0 ? rc : s->gone ? RP_MCP_CLOSED : RP_MCP_STOPPED;
    if (closed) return RP_MCP_CLOSED;
  }
}

int rp__mcp_stdio(struct rp__mcp *m, int in, int out, int stop, rp_error *err)
{
  struct server s = {.m = m, .in = in, .out = out, .stop = stop, .reply = RP_BUF(RP_MCP_REPLY_MAX + 1)};
  rp__lines_init(&s.lines, RP_MCP_LINE_MAX + 2 * CHUNK);
  int rc = serve(&s, err);
  rp__lines_done(&s.lines);
  rp__buf_done(&s.reply);
  return rc;
}
