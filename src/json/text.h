/* SPDX-License-Identifier: Apache-2.0 */
/* Escapes in strings, and the decoded bytes of a raw string (the bytes between the quotes). */
#ifndef RP_JSON_TEXT_H
#define RP_JSON_TEXT_H

#include <stdbool.h>

#include "json/json.h"

/* The bytes between the quotes of a string. A key comes without them, and no raw string begins with one. */
static inline struct rp__str rp__json_raw(struct rp__json string)
{
  struct rp__str raw = {string.p, string.n};
  if (raw.n == 0 || raw.p[0] != '"') return raw;
  return (struct rp__str){raw.p + 1, raw.n >= 2 ? raw.n - 2 : 0};
}

/* Four hex digits at `at` (which has them), or -1. */
int rp__json_hex4(const char *at);

/*
 * Decodes the escape at *at (a backslash) into `out`, moves *at behind it and
 * returns the number of bytes, 1 to 4, never more than it read. Half a surrogate pair
 * reads as U+FFFD, and in unchecked bytes an unknown escape as the character itself.
 */
unsigned rp__json_unescape(const char **at, const char *end, char out[4]);

/* Walks the decoded bytes one by one; start with {raw.p, raw.p + raw.n}. */
struct rp__json_cursor {
  const char *at, *end;
  unsigned i, n; /* what is left of an escape: out[i] to out[n - 1] */
  char out[4];
};
/* The next byte, or -1 at the end. */
int rp__json_cursor_next(struct rp__json_cursor *c);

/* Orders two raw strings by their decoded bytes, as memcmp does. */
int rp__json_text_cmp(struct rp__str a, struct rp__str b);

#endif
