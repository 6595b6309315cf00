/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages to peers: bytes with a count of references, made once and shared by all receivers. The ring of messages that
 * wait to be written to one peer, and the urgent bytes that go before them.
 */
#include "net/queue.h"

#include <assert.h>

#define RING_FIRST 4
#define RING_KEPT 16 /* places an empty queue may keep */

struct rp__net_msg *rp__msg_new(const void *bytes, size_t n)
{
  if (n > SIZE_MAX / 2) return NULL;
  struct rp__net_msg *m = malloc(sizeof(*m) + n);
  if (!m) return NULL;
  atomic_init(&m->refs, 1);
  m->n = n;
  if (bytes && n) memcpy(m->bytes, bytes, n);
  return m;
}

struct rp__net_msg *rp__msg_ref(struct rp__net_msg *m)
{
  assert(atomic_load_explicit(&m->refs, memory_order_relaxed) > 0); /* who refs one has one */
  atomic_fetch_add_explicit(&m->refs, 1, memory_order_relaxed);
  return m;
}

void rp__msg_unref(struct rp__net_msg *m)
{
  if (m && atomic_fetch_sub_explicit(&m->refs, 1, memory_order_acq_rel) == 1) free(m);
}

static struct rp__net_msg *at(const struct rp__queue *q, uint32_t i)
{
  assert(i < q->n && (q->cap & (q->cap - 1)) == 0); /* the ring's size is a power of two */
  return q->ring[(q->head + i) & (q->cap - 1)];
}

static void drop_ring(struct rp__queue *q)
{
  free(q->ring);
  q->ring = NULL;
  q->head = q->cap = 0;
}

void rp__queue_done(struct rp__queue *q)
{
  for (uint32_t i = 0; i < q->n; i++) rp__msg_unref(at(q, i));
  drop_ring(q);
  rp__buf_done(&q->urgent);
  *q = (struct rp__queue){0};
}

int rp__queue_add(struct rp__queue *q, struct rp__net_msg *m)
{
  if (m->n == 0) return 0;
  if (q->n == q->cap) {
    if (q->n >= RP_CONN_MESSAGES_MAX) return RP_E_LIMIT;
    uint32_t cap = q->cap ? q->cap * 2 : RING_FIRST;
    struct rp__net_msg **ring = malloc(cap * sizeof(struct rp__net_msg *));
    if (!ring) return RP_E_NOMEM;
    for (uint32_t i = 0; i < q->n; i++) ring[i] = at(q, i);
    free(q->ring);
    q->ring = ring;
    q->head = 0;
    q->cap = cap;
  }
  q->ring[(q->head + q->n) & (q->cap - 1)] = rp__msg_ref(m);
  q->n++;
  q->bytes += m->n;
  return 0;
}

int rp__queue_urgent(struct rp__queue *q, const void *bytes, size_t n)
{
  if (q->urgent.n + n > RP_CONN_URGENT_MAX) return RP_E_LIMIT;
  q->urgent.max = RP_CONN_URGENT_MAX;
  rp__buf_add(&q->urgent, bytes, n);
  if (q->urgent.err) {
    q->urgent.err = 0; /* nothing was added, so what is there stays good */
    return RP_E_NOMEM;
  }
  q->bytes += n;
  return 0;
}

int rp__queue_peek(const struct rp__queue *q, struct iovec *iov, int max)
{
  int n = 0;
  uint32_t i = 0;
  if (q->offset > 0) {
    struct rp__net_msg *m = at(q, i++);
    iov[n++] = (struct iovec){m->bytes + q->offset, m->n - q->offset};
  }
  if (q->urgent.n > q->urgent_sent)
    iov[n++] = (struct iovec){q->urgent.p + q->urgent_sent, q->urgent.n - q->urgent_sent};
  for (; i < q->n && n < max; i++) iov[n++] = (struct iovec){at(q, i)->bytes, at(q, i)->n};
  return n;
}

static size_t advance_first(struct rp__queue *q, size_t written)
{
  struct rp__net_msg *m = at(q, 0);
  assert(q->offset < m->n);
  size_t left = m->n - q->offset;
  if (written < left) {
    q->offset += written;
    return written;
  }
  rp__msg_unref(m);
  q->head = (q->head + 1) & (q->cap - 1);
  q->n--;
  q->offset = 0;
  return left;
}

static size_t advance_urgent(struct rp__queue *q, size_t written)
{
  size_t step = RP_MIN(written, q->urgent.n - q->urgent_sent);
  q->urgent_sent += step;
  if (q->urgent_sent == q->urgent.n) {
    rp__buf_done(&q->urgent);
    q->urgent_sent = 0;
  }
  return step;
}

void rp__queue_advance(struct rp__queue *q, size_t written)
{
  assert(written <= q->bytes);
  q->bytes -= written;
  if (q->offset > 0) written -= advance_first(q, written);
  if (written && q->urgent.n) written -= advance_urgent(q, written);
  while (written) written -= advance_first(q, written);
  if (q->n == 0 && q->cap > RING_KEPT) drop_ring(q);
}
