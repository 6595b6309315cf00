/* SPDX-License-Identifier: Apache-2.0 */
/*
 * UTF-8: the length of one sequence, validation (at once or piece by piece), and repair of invalid bytes. All of them
 * follow one definition of a sequence, rp__utf8_follow.
 */
#ifndef RP_BASE_UTF8_H
#define RP_BASE_UTF8_H

#include <stdbool.h>

#include "base/buf.h"

/*
 * How many bytes follow the first one of a sequence, and the bounds of the next: overlong forms, surrogates and what is
 * above U+10FFFF show there. 0 for ASCII, -1 for a byte that begins none.
 */
static inline int rp__utf8_follow(uint8_t first, uint8_t *ret_low, uint8_t *ret_high)
{
  *ret_low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
  *ret_high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
  if (first < 0x80) return 0;
  if (first < 0xc2 || first > 0xf4) return -1;
  return first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3;
}

static inline bool rp__is_continuation(char c)
{
  return ((uint8_t)c & 0xc0) == 0x80;
}

/* Bytes of the sequence at `at`, 0 when it is none. */
static inline unsigned rp__utf8_len(const char *at, const char *end)
{
  uint8_t low, high;
  int n = rp__utf8_follow((uint8_t)at[0], &low, &high);
  if (n <= 0) return n == 0;
  if (end - at <= n || (uint8_t)at[1] < low || (uint8_t)at[1] > high) return 0;
  for (int i = 2; i <= n; i++)
    if (!rp__is_continuation(at[i])) return 0;
  return (unsigned)n + 1;
}

/* The code point of a sequence of n bytes. */
static inline uint32_t rp__utf8_value(const char *at, unsigned n)
{
  static const uint8_t lead[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
  uint32_t c = (uint8_t)at[0] & lead[n];
  for (unsigned i = 1; i < n; i++) c = c << 6 | ((uint8_t)at[i] & 0x3f);
  return c;
}

/*
 * The small letter of a capital in the alphabets that have case and lie within two bytes (Latin, Greek, Cyrillic); it
 * has as many bytes. Not towlower: results must not depend on the locale.
 */
uint32_t rp__utf8_lower(uint32_t c);
/* Whether the character is of a script that is written without spaces between words, or is as wide as two: Chinese,
 * Japanese, Korean. */
static inline bool rp__utf8_wide(uint32_t c)
{
  return c >= 0x2e80 && (c <= 0xd7ff || (c >= 0xf900 && c <= 0xfaff) || (c >= 0xfe30 && c <= 0xfe4f) ||
                         (c >= 0xff00 && c <= 0xff60) || (c >= 0x20000 && c <= 0x3fffd));
}

bool rp__utf8_ok(const char *p, size_t n);

/* Piece by piece: a character may lie across two of them. */
struct rp__utf8 {
  uint8_t need;      /* bytes that the character begun still wants; 0: whole */
  uint8_t low, high; /* bounds of the next one */
};
/* False as soon as no continuation could make it valid. Start with zeros. */
bool rp__utf8_feed(struct rp__utf8 *u, const char *bytes, size_t n);

/*
 * Appends the bytes with U+FFFD where there is no UTF-8, one for each beginning of a sequence that breaks off, as the
 * decoders of browsers and Node have it. ASCII stays, so JSON stays JSON.
 */
void rp__utf8_mend(struct rp__buf *out, const char *p, size_t n);
/* The same in place, where it is needed. */
void rp__utf8_mend_buf(struct rp__buf *b);

#endif
