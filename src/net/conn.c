/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A connected socket in a loop. Its states: open → finishing (the queue is written) → lingering (our side is shut down,
 * the peer may still read) → dead. A cut leads to dead from any state. A dead connection has no socket and no queue.
 * Its memory is freed at the end of the turn, because callers further up the stack may still use it.
 */
#include "net/conn.h"

#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "net/queue.h"

#define WRITE_PIECES 64

enum state {
  OPEN,
  FINISHING,
  LINGERING,
  DEAD,
};

struct rp__conn {
  struct rp__loop *l;
  struct rp__watch watch;
  struct rp__tenant tenant;
  struct rp__job flush, end;
  struct rp__timer timer; /* stall, then linger; runs only when something waits */
  struct rp__conn_options o;
  const struct rp__conn_handler *h;
  void *ctx;
  struct rp__queue q;
  int64_t progress_ms; /* something was taken, or began to wait */
  const char *why;     /* of the end that has begun */
  uint8_t state;
  bool dirty;   /* the flush is due at the end of the turn */
  bool refused; /* somebody waits for `drained` */
  bool eof;     /* the peer sends no more */
};

#define OF(member, p) ((struct rp__conn *)(void *)((char *)(p)-offsetof(struct rp__conn, member)))

static void end(struct rp__job *job)
{
  free(OF(end, job));
}

void rp__conn_cut(struct rp__conn *c, const char *why)
{
  if (c->state == DEAD) return;
  c->state = DEAD;
  rp__watch_stop(c->l, &c->watch);
  close(c->watch.fd);
  c->watch.fd = -1;
  rp__timer_stop(c->l, &c->timer);
  rp__loop_leave(c->l, &c->tenant);
  rp__queue_done(&c->q);
  rp__loop_defer(c->l, &c->end);
  c->h->closed(c->ctx, why);
}

static void evict(struct rp__tenant *t)
{
  rp__conn_cut(OF(tenant, t), "the server stops");
}

/* ---- reading ---- */

/* Level-triggered: an end that was seen must not be watched for, or it would be told for ever. */
static int want(struct rp__conn *c)
{
  uint32_t events = (c->eof ? 0 : EPOLLIN) | (c->q.bytes ? EPOLLOUT : 0);
  int rc = rp__watch_set(c->l, &c->watch, events, NULL);
  if (rc) rp__conn_cut(c, "its socket can't be watched");
  return rc;
}

/* ---- writing ---- */

static void arm(struct rp__conn *c, int64_t ms)
{
  if (rp__timer_start(c->l, &c->timer, ms)) rp__conn_cut(c, "out of memory");
}

/* The peer reads our end and closes too; were the socket closed now, unread input would make it a reset. */
static void linger(struct rp__conn *c)
{
  if (c->eof || shutdown(c->watch.fd, SHUT_WR)) {
    rp__conn_cut(c, c->why);
    return;
  }
  c->state = LINGERING;
  arm(c, RP_CONN_LINGER_MS);
}

/* False when the connection died of it. */
static bool write_out(struct rp__conn *c)
{
  struct iovec iov[WRITE_PIECES];
  bool more = true;
  while (c->q.bytes && more) {
    struct msghdr m = {.msg_iov = iov, .msg_iovlen = (size_t)rp__queue_peek(&c->q, iov, WRITE_PIECES)};
    ssize_t n = sendmsg(c->watch.fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) break;
    if (n < 0) {
      rp__conn_cut(c, strerrordesc_np(errno));
      return false;
    }
    rp__queue_advance(&c->q, (size_t)n);
    more = m.msg_iovlen == WRITE_PIECES; /* else all was offered, and what is left was refused */
    c->progress_ms = rp__loop_now(c->l);
  }
  return want(c) == 0;
}

static void after_write(struct rp__conn *c)
{
  if (c->q.bytes && c->o.stall_ms > 0 && !c->timer.place) arm(c, c->o.stall_ms);
  if (c->state == FINISHING && !c->q.bytes) linger(c);
  if (c->state == OPEN && c->refused && c->q.bytes < c->o.queue_bytes / 2 + 1) {
    c->refused = false;
    if (c->h->drained) c->h->drained(c->ctx);
  }
}

static void flush(struct rp__job *job)
{
  struct rp__conn *c = OF(flush, job);
  c->dirty = false;
  if (c->state == OPEN || c->state == FINISHING)
    if (write_out(c)) after_write(c);
}

static void touch(struct rp__conn *c)
{
  if (c->dirty) return;
  c->dirty = true;
  rp__loop_defer(c->l, &c->flush);
}

/* One timer per stall, not per message: it looks at what has happened when it fires. */
static void on_timer(struct rp__timer *t)
{
  struct rp__conn *c = OF(timer, t);
  if (c->state == LINGERING) {
    rp__conn_cut(c, c->why);
    return;
  }
  if (!c->q.bytes) return;
  int64_t left = c->progress_ms + c->o.stall_ms - rp__loop_now(c->l);
  if (left > 0)
    arm(c, left);
  else
    rp__conn_cut(c, "it took nothing for too long");
}

static void on_event(struct rp__watch *w, uint32_t events)
{
  struct rp__conn *c = OF(watch, w);
  if (events & (EPOLLOUT | EPOLLHUP | EPOLLERR) && c->q.bytes && write_out(c)) after_write(c);
  if (c->state != DEAD && !c->eof && events & (EPOLLIN | EPOLLHUP | EPOLLERR)) {
    char *bytes = rp__loop_scratch(c->l);
    ssize_t n = recv(c->watch.fd, bytes, RP_LOOP_SCRATCH, MSG_DONTWAIT);
    if (n > 0) {
      if (c->state == OPEN && c->h->input) c->h->input(c->ctx, bytes, (size_t)n);
    } else if (n == 0) {
      c->eof = true;
      if (!c->why) c->why = "the peer closed the connection";
      if (c->q.bytes == 0) {
        rp__conn_cut(c, c->why);
      } else {
        c->state = FINISHING;
        want(c);
      }
    } else if (errno != EAGAIN && errno != EINTR) {
      rp__conn_cut(c, strerrordesc_np(errno));
    }
  }
}

/* ---- life ---- */

int rp__conn_open(struct rp__loop *l, int fd, const struct rp__conn_options *o, const struct rp__conn_handler *h,
                  void *ctx, struct rp__conn **ret, rp_error *err)
{
  struct rp__conn *c = calloc(1, sizeof(*c));
  if (!c) {
    close(fd);
    return rp__fail_nomem(err);
  }
  *c = (struct rp__conn){.l = l, .o = *o, .h = h, .ctx = ctx};
  c->watch = (struct rp__watch){.fd = fd, .fn = on_event};
  c->tenant.evict = evict;
  c->flush.fn = flush;
  c->end.fn = end;
  c->timer.fn = on_timer;
  /* Those that can't be set are not TCP, or do without. */
  int on = 1;
  unsigned gone_ms = (unsigned)RP_MIN(o->stall_ms, INT_MAX);
  if (!setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) && o->stall_ms > 0)
    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &gone_ms, sizeof(gone_ms));
  int rc = rp__loop_enter(l, &c->tenant, err);
  if (!rc) {
    rc = rp__watch_set(l, &c->watch, EPOLLIN, err);
    if (rc) rp__loop_leave(l, &c->tenant);
  }
  if (rc) {
    close(fd);
    free(c);
    return rc;
  }
  *ret = c;
  return 0;
}

static bool full(struct rp__conn *c, size_t n)
{
  return c->q.bytes > 0 && (c->q.bytes >= c->o.queue_bytes || n > c->o.queue_bytes - c->q.bytes);
}

static int queued(struct rp__conn *c, size_t before, int rc)
{
  if (rc == RP_E_LIMIT) c->refused = true;
  if (rc) return rc;
  if (before == 0) c->progress_ms = rp__loop_now(c->l);
  touch(c);
  return 0;
}

int rp__conn_send(struct rp__conn *c, struct rp__net_msg *m)
{
  if (c->state != OPEN) return RP_E_CANCELLED;
  size_t before = c->q.bytes;
  return queued(c, before, full(c, m->n) ? RP_E_LIMIT : rp__queue_add(&c->q, m));
}

int rp__conn_send_last(struct rp__conn *c, struct rp__net_msg *m)
{
  if (c->state != OPEN) return RP_E_CANCELLED;
  size_t before = c->q.bytes;
  return queued(c, before, rp__queue_add(&c->q, m));
}

/* Refusing these makes nobody wait for `drained`. */
int rp__conn_send_urgent(struct rp__conn *c, const void *bytes, size_t n)
{
  if (c->state != OPEN) return RP_E_CANCELLED;
  if (full(c, n)) return RP_E_LIMIT;
  size_t before = c->q.bytes;
  int rc = rp__queue_urgent(&c->q, bytes, n);
  return rc ? rc : queued(c, before, 0);
}

void rp__conn_finish(struct rp__conn *c)
{
  if (c->state != OPEN) return;
  c->state = FINISHING;
  c->why = "closed by this side";
  touch(c);
}

size_t rp__conn_waiting(const struct rp__conn *c)
{
  return c->q.bytes;
}
