/* SPDX-License-Identifier: Apache-2.0 */
/* The best N of many: a heap that keeps the highest scores. */
#include "continuity/plan-impl.h"

bool rp__best_wants(const struct rp__best *b, const struct rp__slot *s)
{
  return b->n < b->max || (b->max > 0 && b->cmp(s, b->v[0]) < 0);
}

static void sink(struct rp__best *b, size_t i)
{
  struct rp__slot *s = b->v[i];
  for (;;) {
    size_t child = 2 * i + 1;
    if (child >= b->n) break;
    if (child + 1 < b->n && b->cmp(b->v[child + 1], b->v[child]) > 0) child++;
    if (b->cmp(s, b->v[child]) >= 0) break;
    b->v[i] = b->v[child];
    i = child;
  }
  b->v[i] = s;
}

static void rise(struct rp__best *b, size_t i)
{
  struct rp__slot *s = b->v[i];
  while (i > 0 && b->cmp(b->v[(i - 1) / 2], s) < 0) {
    b->v[i] = b->v[(i - 1) / 2];
    i = (i - 1) / 2;
  }
  b->v[i] = s;
}

struct rp__slot *rp__best_add(struct rp__best *b, struct rp__slot *s)
{
  struct rp__slot *out = NULL;
  if (b->n < b->max) {
    b->v[b->n++] = s;
    rise(b, b->n - 1);
  } else {
    out = b->v[0];
    b->v[0] = s;
    sink(b, 0);
  }
  return out;
}

void rp__best_sort(struct rp__best *b)
{
  size_t n = b->n;
  while (b->n > 1) {
    struct rp__slot *last = b->v[0];
    b->n--;
    b->v[0] = b->v[b->n];
    b->v[b->n] = last;
    sink(b, 0);
  }
  b->n = n;
}
