/* SPDX-License-Identifier: Apache-2.0 */
#include "json/keys.h"

#include "json/text.h"

/* Up to this many keys are compared each with each: faster than sorting, and most objects are smaller. */
#define PAIRWISE_MAX 16

void rp__json_keys_init(struct rp__json_keys *k)
{
  k->v = k->few;
  k->n = 0;
  k->cap = RP_ARRAY_SIZE(k->few);
}

void rp__json_keys_done(struct rp__json_keys *k)
{
  if (k->v != k->few) free(k->v);
}

static bool keys_grow(struct rp__json_keys *k)
{
  if (k->cap > SIZE_MAX / 2 / sizeof(*k->v)) return false;
  size_t cap = k->cap * 2;
  struct rp__json_key *v = realloc(k->v == k->few ? NULL : k->v, cap * sizeof(*v));
  if (!v) return false;
  if (k->v == k->few) memcpy(v, k->few, k->n * sizeof(*v));
  k->v = v;
  k->cap = cap;
  return true;
}

static uint64_t head_of(const char *p, size_t n, bool escaped)
{
  char head[8] = {0};
  struct rp__json_cursor c = {.at = p, .end = p + n};
  if (!escaped) memcpy(head, p, RP_MIN(n, sizeof(head)));
  for (size_t i = 0; escaped && i < sizeof(head); i++) {
    int b = rp__json_cursor_next(&c);
    if (b < 0) break;
    head[i] = (char)b;
  }
  uint64_t v;
  memcpy(&v, head, sizeof(v));
  return v;
}

bool rp__json_keys_push(struct rp__json_keys *k, const char *p, size_t n, bool escaped)
{
  if (k->n == k->cap && !keys_grow(k)) return false;
  k->v[k->n++] = (struct rp__json_key){p, n, head_of(p, n, escaped), escaped};
  return true;
}

/* Any total order will do that has equal keys, and only these, as neighbours. */
static int key_cmp(const struct rp__json_key *a, const struct rp__json_key *b)
{
  if (a->head != b->head) return a->head < b->head ? -1 : 1;
  if (a->escaped || b->escaped) return rp__json_text_cmp((struct rp__str){a->p, a->n}, (struct rp__str){b->p, b->n});
  int order = memcmp(a->p, b->p, RP_MIN(a->n, b->n));
  if (order) return order;
  return a->n < b->n ? -1 : a->n > b->n;
}

/* Among equal keys the one that stands first in the text comes first. */
static bool key_before(const struct rp__json_key *a, const struct rp__json_key *b)
{
  int order = key_cmp(a, b);
  return order < 0 || (order == 0 && a->p < b->p);
}

static void heap_sink(struct rp__json_key *v, size_t i, size_t n)
{
  struct rp__json_key sinking = v[i];
  for (size_t child; (child = 2 * i + 1) < n; i = child) {
    if (child + 1 < n && key_before(&v[child], &v[child + 1])) child++;
    if (!key_before(&sinking, &v[child])) break;
    v[i] = v[child];
  }
  v[i] = sinking;
}

/* Heapsort: no memory, and no input makes it slow. */
static void keys_sort(struct rp__json_key *v, size_t n)
{
  for (size_t i = n / 2; i-- > 0;) heap_sink(v, i, n);
  for (size_t last = n - 1; last > 0; last--) {
    struct rp__json_key top = v[0];
    v[0] = v[last];
    v[last] = top;
    heap_sink(v, 0, last);
  }
}

static const char *twice_pairwise(const struct rp__json_key *v, size_t n)
{
  for (size_t i = 1; i < n; i++)
    for (size_t j = 0; j < i; j++)
      if (v[i].head == v[j].head && key_cmp(&v[i], &v[j]) == 0) return v[i].p;
  return NULL;
}

static const char *twice_sorted(struct rp__json_key *v, size_t n)
{
  const char *first = NULL;
  keys_sort(v, n);
  for (size_t i = 1; i < n; i++)
    if ((!first || v[i].p < first) && key_cmp(&v[i - 1], &v[i]) == 0) first = v[i].p;
  return first;
}

const char *rp__json_keys_close(struct rp__json_keys *k, size_t base)
{
  struct rp__json_key *v = k->v + base;
  size_t n = k->n - base;
  k->n = base;
  return n <= PAIRWISE_MAX ? twice_pairwise(v, n) : twice_sorted(v, n);
}
