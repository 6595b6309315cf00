/* SPDX-License-Identifier: Apache-2.0 */
/* Writing lines to a peer, once per turn of the loop. */
#include "bridge/host/outlet.h"

#include <errno.h>

/* libuv opens a terminal anew, so that its flags are nobody else's. */
int rp__uv_end_open(union rp__uv_end *u, uv_loop_t *loop, int fd)
{
  if (uv_guess_handle(fd) == UV_TTY) return uv_tty_init(loop, &u->tty, fd, 0);
  int rc = uv_pipe_init(loop, &u->pipe, 0);
  return rc ? rc : uv_pipe_open(&u->pipe, fd);
}

int rp__outlet_open(struct rp__outlet *o, uv_loop_t *loop, int fd, rp_error *err)
{
  *o = (struct rp__outlet){.fd = fd, .waiting = RP_BUF(RP_OUTLET_MAX), .flying = RP_BUF(RP_OUTLET_MAX)};
  o->is_file = uv_guess_handle(fd) == UV_FILE;
  int rc = o->is_file ? 0 : rp__uv_end_open(&o->u, loop, fd);
  if (rc) return rp__fail(err, RP_E_IO, "descriptor %d can't be written: %s", fd, uv_strerror(rc));
  o->u.handle.data = o;
  o->open = true;
  return 0;
}

static void empty(struct rp__buf *b)
{
  if (b->cap > RP_OUTLET_KEEP)
    rp__buf_done(b);
  else
    rp__buf_reset(b);
}

static void give_up(struct rp__outlet *o)
{
  o->broken = true;
  empty(&o->waiting);
}

/* A file takes everything or fails. */
static void write_file(struct rp__outlet *o)
{
  for (size_t at = 0; at < o->waiting.n;) {
    ssize_t n = TEMP_FAILURE_RETRY(write(o->fd, o->waiting.p + at, o->waiting.n - at));
    if (n <= 0) {
      give_up(o);
      return;
    }
    at += (size_t)n;
  }
  empty(&o->waiting);
  o->moved = true;
}

static void let_go(struct rp__outlet *o)
{
  o->open = false;
  rp__buf_done(&o->waiting);
  rp__buf_done(&o->flying);
}

static void on_closed(uv_handle_t *handle)
{
  struct rp__outlet *o = handle->data;
  let_go(o);
  if (o->closed) o->closed(o->ctx);
}

static void close_handle(struct rp__outlet *o)
{
  if (!uv_is_closing(&o->u.handle)) uv_close(&o->u.handle, on_closed);
}

static void on_written(uv_write_t *req, int status)
{
  struct rp__outlet *o = req->handle->data;
  o->writing = false;
  o->moved = true;
  empty(&o->flying);
  if (status < 0)
    give_up(o);
  else
    rp__outlet_flush(o);
  if (o->ending && !rp__outlet_backlog(o)) close_handle(o);
}

void rp__outlet_flush(struct rp__outlet *o)
{
  if (!o->open || o->broken || o->writing || !o->waiting.n) return;
  if (o->is_file) {
    write_file(o);
    return;
  }
  uv_buf_t all = {.base = o->waiting.p, .len = o->waiting.n};
  int n = uv_try_write(&o->u.stream, &all, 1);
  if (n < 0 && n != UV_EAGAIN) {
    give_up(o);
    return;
  }
  size_t taken = n > 0 ? (size_t)n : 0;
  if (taken) o->moved = true;
  if (taken == o->waiting.n) {
    empty(&o->waiting);
    return;
  }
  /* What the kernel did not take at once flies; what is sent meanwhile gathers behind it. */
  struct rp__buf spare = o->flying;
  o->flying = o->waiting;
  o->waiting = spare;
  uv_buf_t rest = {.base = o->flying.p + taken, .len = o->flying.n - taken};
  o->writing = uv_write(&o->req, &o->u.stream, &rest, 1, on_written) == 0;
  if (o->writing) return;
  empty(&o->flying);
  give_up(o);
}

void rp__outlet_send(struct rp__outlet *o, const char *line, size_t n)
{
  if (!o->open || o->broken || o->ending) return;
  rp__buf_add(&o->waiting, line, n);
  rp__buf_char(&o->waiting, '\n');
  if (o->waiting.err)
    give_up(o);
  else if (o->waiting.n >= RP_OUTLET_CORK)
    rp__outlet_flush(o);
}

size_t rp__outlet_backlog(const struct rp__outlet *o)
{
  if (!o->open || o->broken) return 0;
  return o->waiting.n + (o->writing ? uv_stream_get_write_queue_size(&o->u.stream) : 0);
}

void rp__outlet_end(struct rp__outlet *o)
{
  if (!o->open || o->ending) return;
  rp__outlet_flush(o);
  o->ending = true;
  if (!o->is_file && !rp__outlet_backlog(o)) close_handle(o);
}

/* The buffers are free only once libuv lets go of them. */
void rp__outlet_close(struct rp__outlet *o, void (*closed)(void *ctx), void *ctx)
{
  o->closed = closed;
  o->ctx = ctx;
  if (o->open && !o->is_file) {
    close_handle(o);
    return;
  }
  let_go(o);
  closed(ctx);
}
