/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A connected socket in a loop, with a queue of messages to be written. Messages are
 * shared: a message to a thousand readers exists once. The queue is bounded: when it is
 * full, the sender is told, and a peer that takes nothing for stall_ms is cut off. All
 * calls are made on the loop's thread, except those on messages.
 */
#ifndef RP_NET_CONN_H
#define RP_NET_CONN_H

#include <stdatomic.h>

#include "net/loop.h"

/* ---- messages ---- */

struct rp__net_msg {
  atomic_int refs;
  size_t n;
  char bytes[];
};
struct rp__net_msg *rp__msg_new(const void *bytes, size_t n); /* bytes NULL: uninitialised; NULL without memory */
struct rp__net_msg *rp__msg_ref(struct rp__net_msg *m);
void rp__msg_unref(struct rp__net_msg *m); /* NULL is fine */

/* ---- connections ---- */

#define RP_CONN_MESSAGES_MAX 16384 /* in one queue */
#define RP_CONN_URGENT_MAX 4096    /* bytes of urgent ones */
#define RP_CONN_LINGER_MS 1000     /* for the peer to close too, after finish */

struct rp__conn;

struct rp__conn_options {
  size_t queue_bytes; /* waiting to be written, at most (one message may pass it when the queue is empty) */
  int64_t stall_ms;   /* something waits and nothing of it was taken for this long: cut off; 0: never */
};

struct rp__conn_handler {
  /* Bytes came in; NULL in the table: input is read and thrown away. Not called after finish. */
  void (*input)(void *ctx, const char *bytes, size_t n);
  /* The queue, once refused, is less than half full again. May be NULL. */
  void (*drained)(void *ctx);
  /* It is over; the last call, `why` in a few words for the log. `ctx` is not used after it. */
  void (*closed)(void *ctx, const char *why);
};

/*
 * Takes `fd`, a stream socket, over, also on failure. The handler is borrowed until `closed`. A peer that ends its side
 * is sent what is queued, and no more. RP_E_CANCELLED: the loop is ending.
 */
RP_MUST_USE int rp__conn_open(struct rp__loop *l, int fd, const struct rp__conn_options *o,
                              const struct rp__conn_handler *h, void *ctx, struct rp__conn **ret, rp_error *err);
/*
 * Queues a reference of its own, written at the end of the turn. RP_E_LIMIT: full, nothing was queued; RP_E_CANCELLED:
 * it is closing; RP_E_NOMEM.
 */
int rp__conn_send(struct rp__conn *c, struct rp__net_msg *m);
/* A few bytes (copied) that go out before the messages that wait, but never inside one. The same errors. */
int rp__conn_send_urgent(struct rp__conn *c, const void *bytes, size_t n);
/* A last word: may pass the queue's bound; then as rp__conn_send. Only once. */
int rp__conn_send_last(struct rp__conn *c, struct rp__net_msg *m);
/* Writes what is queued (within stall_ms), then closes, gracefully for a moment: the peer shall read the end. Nothing
 * more can be sent; `closed` comes later. */
void rp__conn_finish(struct rp__conn *c);
/* Closes now; `closed` is called before this returns, unless it is running. */
void rp__conn_cut(struct rp__conn *c, const char *why);
size_t rp__conn_waiting(const struct rp__conn *c); /* bytes in the queue */

#endif
