/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes that wait to be written to one peer: a ring of references to messages, and
 * a few urgent bytes that go between two messages. An empty queue takes almost no
 * memory.
 *
 * Either the first message or the urgent bytes may be half written, never both.
 */
#ifndef RP_NET_QUEUE_H
#define RP_NET_QUEUE_H

#include <sys/uio.h>

#include "base/buf.h"
#include "net/conn.h"

struct rp__queue {
  struct rp__net_msg **ring;
  uint32_t head, n, cap; /* cap is a power of two, or 0 */
  size_t offset;         /* written of the first message */
  size_t bytes;          /* waiting, urgent ones too */
  struct rp__buf urgent;
  size_t urgent_sent;
};

void rp__queue_done(struct rp__queue *q);
int rp__queue_add(struct rp__queue *q,
                  struct rp__net_msg *m); /* takes a reference of its own; RP_E_LIMIT, RP_E_NOMEM */
int rp__queue_urgent(struct rp__queue *q, const void *bytes, size_t n);
/* What comes next, in order, in at most `max` pieces; returns how many. */
int rp__queue_peek(const struct rp__queue *q, struct iovec *iov, int max);
void rp__queue_advance(struct rp__queue *q, size_t written);

#endif
