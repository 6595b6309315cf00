/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of src/json share. Comes first: cmocka wants its headers before it. */
#ifndef RP_JSON_TEST_H
#define RP_JSON_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "json/json.h"

/* A checked value; the test fails when the text is refused. */
static inline struct rp__json value_of(const char *text)
{
  struct rp__json v = {0};
  rp_error err = {0};
  if (rp__json_parse(text, strlen(text), NULL, &v, &err) != 0) fail_msg("%s: %s", text, err.message);
  return v;
}

static inline void assert_span(struct rp__json v, const char *text)
{
  if (v.n != strlen(text) || memcmp(v.p, text, v.n) != 0) fail_msg("'%.*s' is not '%s'", (int)v.n, v.p, text);
}

#endif
