/* SPDX-License-Identifier: Apache-2.0 */
#include "bridge/utf8.h"

#include "json/scan.h"

static const char replacement[] = "\xef\xbf\xbd";

/* The first byte that is not ASCII. */
static const char *skip_ascii(const char *at, const char *end)
{
  while (end - at >= 8 && !(rp__load8(at) & RP_BYTES(0x80))) at += 8;
  while (at < end && (signed char)*at >= 0) at++;
  return at;
}

/* Where the first sequence that is none begins. */
static const char *skip_good(const char *at, const char *end)
{
  while ((at = skip_ascii(at, end)) < end) {
    unsigned n = rp__utf8_len(at, end);
    if (!n) return at;
    at += n;
  }
  return end;
}

bool rp__utf8_ok(const char *p, size_t n)
{
  return !n || skip_good(p, p + n) == p + n;
}

/* Bytes of what could have been a sequence, up to the one that can't belong to it; at least one. */
static size_t broken_off(const char *at, const char *end)
{
  uint8_t a = (uint8_t)at[0];
  size_t whole = a >= 0xf0 && a <= 0xf4 ? 4 : a >= 0xe0 && a <= 0xef ? 3 : 1, n = 1;
  uint8_t low = a == 0xe0 ? 0xa0 : a == 0xf0 ? 0x90 : 0x80, high = a == 0xed ? 0x9f : a == 0xf4 ? 0x8f : 0xbf;
  while (n < whole && at + n < end && (uint8_t)at[n] >= low && (uint8_t)at[n] <= high) {
    low = 0x80;
    high = 0xbf;
    n++;
  }
  return n;
}

void rp__utf8_mend(struct rp__buf *out, const char *p, size_t n)
{
  const char *end = p + n;
  while (n && p < end && !out->err) {
    const char *bad = skip_good(p, end);
    rp__buf_add(out, p, (size_t)(bad - p));
    if (bad == end) break;
    rp__buf_str(out, replacement);
    p = bad + broken_off(bad, end);
  }
}

void rp__utf8_mend_buf(struct rp__buf *b)
{
  if (b->err || rp__utf8_ok(b->p, b->n)) return;
  struct rp__buf whole = RP_BUF(b->max);
  rp__utf8_mend(&whole, b->p, b->n);
  rp__buf_done(b);
  *b = whole;
}
