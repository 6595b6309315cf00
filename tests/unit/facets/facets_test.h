/* SPDX-License-Identifier: Apache-2.0 */
/* cmocka, and a journal under the hand: tell() appends an event to a fold of the product's facets. */
#ifndef FACETS_TEST_H
#define FACETS_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "core/fold.h"
#include "facets/table.h"

#define SAVED_MAX (8 * 1024 * 1024)

static inline struct rp__fold *fold_new(void)
{
  struct rp__fold *f = NULL;
  assert_int_equal(rp__fold_new(&rp__facets, &f), 0);
  return f;
}

static inline void tell_all(struct rp__fold *f, int64_t at_ms, enum rp__kind kind, const char *body, size_t n)
{
  int64_t to, seq = rp__fold_seq(f) + 1;
  struct rp__event ev = {seq, at_ms, kind, rp__kind_name(kind), rp__json_trusted(body, n)};
  assert_int_equal(rp__fold_apply(f, &ev, &to), 0);
}

static inline void tell_at(struct rp__fold *f, int64_t at_ms, enum rp__kind kind, const char *body)
{
  tell_all(f, at_ms, kind, body, strlen(body));
}

static inline void tell_n(struct rp__fold *f, enum rp__kind kind, const char *body, size_t n)
{
  tell_all(f, 1000 * (rp__fold_seq(f) + 1), kind, body, n);
}

static inline void tell(struct rp__fold *f, enum rp__kind kind, const char *body)
{
  tell_n(f, kind, body, strlen(body));
}

static inline void save(const struct rp__fold *f, struct rp__buf *out)
{
  struct rp__jw w = RP_JW(out);
  rp__buf_reset(out);
  rp__fold_save(f, &w);
  assert_int_equal(out->err, 0);
}

/* The facets' part of the state document. */
static inline void show_at(const struct rp__fold *f, int64_t now_ms, struct rp__buf *out)
{
  struct rp__jw w = RP_JW(out);
  rp__buf_reset(out);
  rp__jw_object(&w);
  rp__fold_show(f, NULL, NULL, NULL, now_ms, &w);
  rp__jw_end_object(&w);
  assert_int_equal(out->err, 0);
}

static inline void show(const struct rp__fold *f, struct rp__buf *out)
{
  show_at(f, 0, out);
}

static inline struct rp__json parsed(const struct rp__buf *b)
{
  static const struct rp__json_limits limits = {.max_depth = 100};
  struct rp__json v = {0};
  assert_int_equal(rp__json_parse(b->p, b->n, &limits, &v, NULL), 0);
  return v;
}

static inline struct rp__fold *load(const struct rp__buf *b)
{
  struct rp__fold *f = fold_new();
  rp_error err;
  if (rp__fold_load(f, parsed(b), &err)) fail_msg("%s", err.message);
  return f;
}

/* No facet may save more than it promised, and loading what was saved must give the same bytes again. */
static inline void assert_sound(const struct rp__fold *f)
{
  RP_AUTOBUF struct rp__buf a = RP_BUF(SAVED_MAX), b = RP_BUF(SAVED_MAX);
  save(f, &a);
  struct rp__json facets = rp__json_get(parsed(&a), "facets");
  for (size_t i = 0; i < rp__facets.n; i++)
    assert_true(rp__json_get(facets, rp__facets.ops[i]->name).n <= rp__facets.ops[i]->max_bytes);
  RP_AUTOFOLD struct rp__fold *back = load(&a);
  save(back, &b);
  assert_int_equal(a.n, b.n);
  assert_memory_equal(a.p, b.p, a.n);
}

/* What the facet's load says to such a part of a snapshot. */
static inline int load_part(const char *facet, const char *part, rp_error *err)
{
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  RP_AUTOBUF struct rp__buf doc = RP_BUF(SAVED_MAX);
  rp__buf_printf(&doc, "{\"version\":1,\"seq\":1000,\"at_ms\":9,\"facets\":{\"%s\":", facet);
  rp__buf_str(&doc, part);
  rp__buf_str(&doc, "}}");
  *err = (rp_error){0};
  return rp__fold_load(f, parsed(&doc), err);
}

#endif
