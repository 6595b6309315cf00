/* SPDX-License-Identifier: Apache-2.0 */
/* cmocka, a redactor, and the examples put together. */
#ifndef REDACT_TEST_H
#define REDACT_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "base/macros.h"
#include "redact/redact.h"

#include "examples.h"

#define OUT_MAX (16u << 20)

static inline struct rp__redactor *redactor_of(const char *own)
{
  struct rp__redactor *r = NULL;
  rp_error err = {0};
  if (rp__redactor_new(own, &r, &err)) fail_msg("%s", err.message);
  return r;
}

static inline char *joined(const struct masked_example *e)
{
  char *text = NULL;
  assert_true(asprintf(&text, "%s%s%s", e->before, e->secret, e->after) >= 0);
  return text;
}

static inline char *masked_text(const struct rp__redactor *r, const char *text, size_t n, size_t *hits)
{
  struct rp__buf out = RP_BUF(OUT_MAX);
  assert_int_equal(rp__redact_text(r, text, n, &out, hits), 0);
  char *copy = rp__buf_take(&out);
  assert_non_null(copy);
  return copy;
}

#endif
