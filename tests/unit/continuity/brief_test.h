/* SPDX-License-Identifier: Apache-2.0 */
/* Briefs as text, and checked for what must be true of each. */
#ifndef BRIEF_TEST_H
#define BRIEF_TEST_H

#include "continuity_test.h"

#include "json/scan.h"

static inline void assert_utf8(const char *s, size_t n)
{
  if (n == 0) return;
  for (const char *at = s, *end = s + n; at < end;) {
    unsigned len = rp__utf8_len(at, end);
    assert_true(len > 0);
    assert_true((uint8_t)*at >= 0x20 || *at == '\n');
    at += len;
  }
}

/* Every line that is not empty has a reason, in order. */
static inline void assert_explained(const struct rp__buf *brief, struct rp__json why)
{
  struct rp__json_iter it = {0};
  struct rp__json v;
  for (const char *at = brief->n ? brief->p : NULL; at;) {
    const char *end = strchr(at, '\n');
    size_t n = end ? (size_t)(end - at) : strlen(at);
    if (n) {
      assert_true(rp__json_next(why, &it, NULL, &v));
      RP_AUTOFREE char *line = rp__json_dup(rp__json_get(v, "line"));
      assert_int_equal(strlen(line), n);
      assert_memory_equal(line, at, n);
      assert_true(rp__json_get(v, "reason").n > 2);
    }
    at = end ? end + 1 : NULL;
  }
  assert_false(rp__json_next(why, &it, NULL, &v));
}

/* The brief, valid in memory of the caller's buffer; "" when there is none or no room for one. */
static inline const char *brief(const struct rp__brief_input *in, struct rp__buf *out)
{
  RP_AUTOBUF struct rp__buf why = RP_BUF(1 << 20);
  struct rp__jw w = RP_JW(&why);
  rp__buf_reset(out);
  int rc = rp__brief_write(in, out, &w);
  assert_true(rc == 0 || (rc == RP_E_TOO_LARGE && out->n == 0));
  assert_true(out->n <= in->max_bytes);
  assert_utf8(out->p, out->n);
  assert_explained(out, json(why.p));
  return out->n ? out->p : "";
}

#endif
