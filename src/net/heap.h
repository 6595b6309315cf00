/* SPDX-License-Identifier: Apache-2.0 */
/* A heap of running timers, with the next one due on top. A timer knows its place, so that stopping it is cheap. */
#ifndef RP_NET_HEAP_H
#define RP_NET_HEAP_H

#include "net/loop.h"

#define RP_TIMERS_MAX ((size_t)1 << 22)

struct rp__heap {
  struct rp__timer **v;
  size_t n, cap;
};

void rp__heap_done(struct rp__heap *h);
/* Puts it in, or to its new place when it is in and its due_ms has changed. RP_E_NOMEM, RP_E_LIMIT. */
int rp__heap_put(struct rp__heap *h, struct rp__timer *t);
void rp__heap_remove(struct rp__heap *h, struct rp__timer *t); /* one that is not in is fine */
struct rp__timer *rp__heap_top(const struct rp__heap *h);      /* or NULL */

#endif
