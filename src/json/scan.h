/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scanning, for the reader and the writer. Eight bytes are examined at a time in a
 * 64-bit word, which is read as little-endian, so that the lowest marked byte is the
 * first in memory. A borrow in the subtractions can only mark bytes above a true hit,
 * so the lowest mark is always right.
 */
#ifndef RP_JSON_SCAN_H
#define RP_JSON_SCAN_H

#include <endian.h>
#include <stdbool.h>

#include "base/utf8.h"

#define RP_BYTES(c) (UINT64_C(0x0101010101010101) * (uint8_t)(c))

/* The eight bytes at `at`, the first of them lowest. */
static inline uint64_t rp__load8(const char *at)
{
  uint64_t x;
  memcpy(&x, at, sizeof(x));
  return le64toh(x);
}

/* Whether none of eight bytes is a control character; now and then false without one. */
static inline bool rp__json_no_control(uint64_t x)
{
  return ((x - RP_BYTES(0x20)) & ~x & RP_BYTES(0x80)) == 0;
}

/* Whether none of eight bytes needs an escape in a string; now and then false without one. */
static inline bool rp__json_no_escape(uint64_t x)
{
  uint64_t quote = x ^ RP_BYTES('"'), slash = x ^ RP_BYTES('\\');
  uint64_t marks = ((quote - RP_BYTES(1)) & ~quote) | ((slash - RP_BYTES(1)) & ~slash) | ((x - RP_BYTES(0x20)) & ~x);
  return (marks & RP_BYTES(0x80)) == 0;
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
  while (at < end && (signed char)*at >= 0x20 && *at != '"' && *at != '\\') at++;
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

#endif
