/* SPDX-License-Identifier: Apache-2.0 */
/* cmocka, and a facet small enough to see through: it sums the "n" of x-… events and the time away. */
#ifndef CORE_TEST_H
#define CORE_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/snapshot.h"

struct sum {
  int64_t n;
  double away;
};

static inline int sum_apply(void *state, const struct rp__event *ev)
{
  int64_t n = 0;
  if (rp__json_i64(rp__json_get(ev->body, "n"), &n)) ((struct sum *)state)->n += n;
  return 0;
}

static inline int sum_age(void *state, double elapsed, const struct rp__event *ev)
{
  (void)ev;
  ((struct sum *)state)->away += elapsed;
  return 0;
}

static inline bool sum_empty(const void *state)
{
  const struct sum *s = state;
  return s->n == 0 && !(s->away > 0);
}

static inline void sum_save(const void *state, struct rp__jw *w)
{
  const struct sum *s = state;
  rp__jw_object(w);
  rp__jw_ki64(w, "n", s->n);
  rp__jw_kdouble(w, "away", s->away);
  rp__jw_end_object(w);
}

static inline int sum_load(void *state, struct rp__json v, rp_error *err)
{
  struct sum *s = state;
  if (rp__json_i64(rp__json_get(v, "n"), &s->n) && rp__json_double(rp__json_get(v, "away"), &s->away)) return 0;
  return rp__fail_field(err, RP_E_SNAPSHOT_CORRUPT, "sum", "no sum");
}

static const struct rp__facet_ops sum_ops = {
    .name = "sum",
    .state_size = sizeof(struct sum),
    .max_bytes = 100,
    .apply = sum_apply,
    .age = sum_age,
    .empty = sum_empty,
    .save = sum_save,
    .load = sum_load,
};
static const struct rp__facet_ops *const sum_rows[] = {&sum_ops};
static const struct rp__facet_table sum_table = {sum_rows, 1};

static inline struct rp__event event_of(int64_t seq, enum rp__kind kind, const char *body)
{
  return (struct rp__event){seq, 1000 * seq, kind, rp__kind_name(kind), rp__json_trusted(body, strlen(body))};
}

/* Randomness that is none, so that a seal is the same every time. */
static inline void fixed_fill(void *ctx, void *bytes, size_t n)
{
  (void)ctx;
  memset(bytes, 7, n);
}
static const struct rp__random fixed_random = {fixed_fill, NULL};

#endif
