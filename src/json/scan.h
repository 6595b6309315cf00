/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scanning that reader and writer share. Eight bytes are looked at together in a
 * plain 64-bit word; the word is read as little-endian so that the lowest marked
 * byte is the first in memory. A borrow in the subtractions can only mark bytes
 * above a true hit, so the lowest mark is always right.
 */
#ifndef RP_JSON_SCAN_H
#define RP_JSON_SCAN_H

#include <endian.h>
#include <stdbool.h>

#include "base/macros.h"

#define RP_BYTES(c) (UINT64_C(0x0101010101010101) * (uint8_t)(c))

static inline uint64_t rp__load8(const char *p)
{
  uint64_t x;
  memcpy(&x, p, sizeof(x));
  return le64toh(x);
}

static inline bool rp__json_is_plain(char c)
{
  return (signed char)c >= 0x20 && c != '"' && c != '\\';
}

/* The first byte that is a quote, a backslash, a control character or not ASCII; `end` when there is none. */
static inline const char *rp__json_plain(const char *at, const char *end)
{
  for (; end - at >= 8; at += 8) {
    uint64_t x = rp__load8(at);
    uint64_t quote = (x ^ RP_BYTES('"')) - RP_BYTES(1), slash = (x ^ RP_BYTES('\\')) - RP_BYTES(1);
    uint64_t marks = (quote | slash | (x - RP_BYTES(0x20)) | x) & RP_BYTES(0x80);
    if (marks) return at + (__builtin_ctzll(marks) >> 3);
  }
  while (at < end && rp__json_is_plain(*at)) at++;
  return at;
}

/* The first quote or backslash; `end` when there is none. */
static inline const char *rp__json_quote(const char *at, const char *end)
{
  for (; end - at >= 8; at += 8) {
    uint64_t x = rp__load8(at), quote = x ^ RP_BYTES('"'), slash = x ^ RP_BYTES('\\');
    uint64_t marks = (((quote - RP_BYTES(1)) & ~quote) | ((slash - RP_BYTES(1)) & ~slash)) & RP_BYTES(0x80);
    if (marks) return at + (__builtin_ctzll(marks) >> 3);
  }
  while (at < end && *at != '"' && *at != '\\') at++;
  return at;
}

static inline bool rp__json_is_space(char c)
{
  return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static inline const char *rp__json_space(const char *at, const char *end)
{
  while (at < end && rp__json_is_space(*at)) at++;
  return at;
}

static inline bool rp__is_continuation(char c)
{
  return ((uint8_t)c & 0xc0) == 0x80;
}

/*
 * Bytes of the UTF-8 sequence at `at`, 0 when it is none: no overlong form, no
 * surrogate, nothing above U+10FFFF. All three show in the second byte.
 */
static inline unsigned rp__utf8_len(const char *at, const char *end)
{
  uint8_t a = (uint8_t)at[0];
  if (a < 0x80) return 1;
  if (a < 0xc2 || end - at < 2 || !rp__is_continuation(at[1])) return 0;
  if (a < 0xe0) return 2;
  uint8_t b = (uint8_t)at[1];
  if (end - at < 3 || !rp__is_continuation(at[2])) return 0;
  if (a < 0xf0) return (a == 0xe0 && b < 0xa0) || (a == 0xed && b > 0x9f) ? 0 : 3;
  if (a > 0xf4 || end - at < 4 || !rp__is_continuation(at[3])) return 0;
  return (a == 0xf0 && b < 0x90) || (a == 0xf4 && b > 0x8f) ? 0 : 4;
}

#endif
