/* SPDX-License-Identifier: Apache-2.0 */
/* A binary heap of timers, each of which knows its place in the heap. */
#include "net/heap.h"

#include <assert.h>

#define HEAP_FIRST 64

void rp__heap_done(struct rp__heap *h)
{
  free(h->v);
  *h = (struct rp__heap){0};
}

static void set(struct rp__heap *h, size_t i, struct rp__timer *t)
{
  h->v[i] = t;
  t->place = i + 1;
}

static void rise(struct rp__heap *h, size_t i)
{
  struct rp__timer *t = h->v[i];
  while (i > 0) {
    size_t parent = (i - 1) / 2;
    if (h->v[parent]->due_ms <= t->due_ms) break;
    set(h, i, h->v[parent]);
    i = parent;
  }
  set(h, i, t);
}

static void settle(struct rp__heap *h, size_t i)
{
  rise(h, i);
  struct rp__timer *t = h->v[i];
  for (;;) {
    size_t child = 2 * i + 1;
    if (child >= h->n) break;
    if (child + 1 < h->n && h->v[child + 1]->due_ms < h->v[child]->due_ms) child++;
    if (t->due_ms <= h->v[child]->due_ms) break;
    set(h, i, h->v[child]);
    i = child;
  }
  set(h, i, t);
}

int rp__heap_put(struct rp__heap *h, struct rp__timer *t)
{
  assert(!t->place || (t->place <= h->n && h->v[t->place - 1] == t)); /* it runs in this heap, or in none */
  if (t->place) {
    settle(h, t->place - 1);
    return 0;
  }
  if (h->n == h->cap) {
    if (h->cap >= RP_TIMERS_MAX) return RP_E_LIMIT;
    size_t cap = h->cap ? h->cap * 2 : HEAP_FIRST;
    struct rp__timer **v = realloc(h->v, cap * sizeof(struct rp__timer *));
    if (!v) return RP_E_NOMEM;
    h->v = v;
    h->cap = cap;
  }
  set(h, h->n++, t);
  rise(h, h->n - 1);
  return 0;
}

void rp__heap_remove(struct rp__heap *h, struct rp__timer *t)
{
  if (!t->place) return;
  assert(t->place <= h->n && h->v[t->place - 1] == t);
  size_t i = t->place - 1;
  struct rp__timer *last = h->v[--h->n];
  t->place = 0;
  if (last == t) return;
  set(h, i, last);
  settle(h, i);
}

struct rp__timer *rp__heap_top(const struct rp__heap *h)
{
  return h->n ? h->v[0] : NULL;
}
