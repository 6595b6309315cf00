/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a peer's lines from a pipe, a socket, a terminal or a file. */
#include "bridge/host/inlet.h"

#include <errno.h>

static void on_closed(uv_handle_t *handle)
{
  struct rp__inlet *in = handle->data;
  if (--in->handles) return;
  rp__lines_done(&in->lines);
  if (in->closed) in->closed(in->ctx);
}

void rp__inlet_close(struct rp__inlet *in, void (*closed)(void *ctx))
{
  in->closed = closed;
  in->on = false;
  if (!in->is_file) uv_close(&in->u.handle, on_closed);
  uv_close((uv_handle_t *)&in->pump, on_closed);
}

int rp__inlet_open(struct rp__inlet *in, uv_loop_t *loop, int fd, const struct rp__inlet_handler *handler, void *ctx,
                   rp_error *err)
{
  in->fd = fd;
  in->handler = handler;
  in->ctx = ctx;
  in->on = in->eof = in->ended = false;
  in->closed = NULL;
  rp__lines_init(&in->lines, RP_LINE_MAX);
  in->lines.whole = true;
  in->is_file = uv_guess_handle(fd) == UV_FILE;
  int rc = in->is_file ? 0 : rp__uv_end_open(&in->u, loop, fd);
  if (rc) return rp__fail(err, RP_E_IO, "descriptor %d can't be read: %s", fd, uv_strerror(rc));
  uv_idle_init(loop, &in->pump);
  in->u.handle.data = in->pump.data = in;
  in->handles = in->is_file ? 1 : 2;
  return 0;
}

/* ---- what was read ---- */

static void tell(struct rp__inlet *in)
{
  struct rp__str line;
  while (in->on && rp__lines_next(&in->lines, in->eof, &line)) in->handler->line(in->ctx, line.p, line.n);
  if (!in->on || !in->eof || in->ended) return;
  in->ended = true;
  in->handler->end(in->ctx);
}

/* What can't be kept is given up to the end of its line; bytes behind that end count. */
static void take(struct rp__inlet *in, const char *bytes, size_t n)
{
  rp_error why = {0};
  if (rp__lines_add(&in->lines, bytes, n, &why)) {
    rp__lines_skip(&in->lines);
    in->handler->unreadable(in->ctx, &why);
    if (rp__lines_add(&in->lines, bytes, n, &why)) rp__lines_skip(&in->lines);
  }
  tell(in);
}

static void finish(struct rp__inlet *in)
{
  in->eof = true;
  tell(in);
}

/* ---- reading ---- */

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *ret)
{
  struct rp__inlet *in = handle->data;
  (void)suggested;
  *ret = (uv_buf_t){.base = in->chunk, .len = sizeof in->chunk};
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
  struct rp__inlet *in = stream->data;
  if (n > 0) take(in, buf->base, (size_t)n);
  if (n >= 0) return;
  uv_read_stop(stream);
  finish(in);
}

static void on_pump(uv_idle_t *pump)
{
  struct rp__inlet *in = pump->data;
  tell(in);
  if (in->on && !in->eof && in->is_file) {
    ssize_t n = TEMP_FAILURE_RETRY(read(in->fd, in->chunk, sizeof in->chunk));
    if (n > 0)
      take(in, in->chunk, (size_t)n);
    else
      finish(in);
  }
  if (in->on && !in->eof && in->is_file) return;
  uv_idle_stop(pump);
  if (in->on && !in->eof && uv_read_start(&in->u.stream, on_alloc, on_read)) finish(in);
}

void rp__inlet_on(struct rp__inlet *in, bool on)
{
  if (on == in->on) return;
  in->on = on;
  if (on) {
    uv_idle_start(&in->pump, on_pump);
    return;
  }
  uv_idle_stop(&in->pump);
  if (!in->is_file) uv_read_stop(&in->u.stream);
}

void rp__inlet_cut(struct rp__inlet *in)
{
  if (!in->is_file) uv_read_stop(&in->u.stream);
  in->on = true;
  finish(in);
}
