/* SPDX-License-Identifier: Apache-2.0 */
/* UTF-8: checks text at once or piece by piece, and repairs invalid bytes. */
#include "base/utf8.h"

/* The first byte that is not ASCII. */
static const char *skip_ascii(const char *at, const char *end)
{
  uint64_t eight;
  while (end - at >= (ptrdiff_t)sizeof eight) {
    memcpy(&eight, at, sizeof eight);
    if (eight & 0x8080808080808080u) break;
    at += sizeof eight;
  }
  while (at < end && (uint8_t)*at < 0x80) at++;
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

bool rp__utf8_feed(struct rp__utf8 *u, const char *bytes, size_t n)
{
  const char *at = bytes, *end = bytes + n;
  while (at < end) {
    if (u->need == 0) {
      at = skip_ascii(at, end);
      if (at == end) return true;
      int follow = rp__utf8_follow((uint8_t)*at++, &u->low, &u->high);
      if (follow < 0) return false;
      u->need = (uint8_t)follow;
    } else {
      uint8_t b = (uint8_t)*at++;
      if (b < u->low || b > u->high) return false;
      *u = (struct rp__utf8){.need = (uint8_t)(u->need - 1), .low = 0x80, .high = 0xbf};
    }
  }
  return true;
}

void rp__utf8_mend(struct rp__buf *out, const char *p, size_t n)
{
  const char *end = p + n;
  while (n && p < end && !out->err) {
    const char *bad = skip_good(p, end);
    rp__buf_add(out, p, (size_t)(bad - p));
    if (bad == end) break;
    rp__buf_str(out, "\xef\xbf\xbd");
    /* Over what could have been a sequence, up to the byte that can't belong to it; at least one. */
    struct rp__utf8 u = {0};
    for (p = bad; p < end && rp__utf8_feed(&u, p, 1);) p++;
    if (p == bad) p++;
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

uint32_t rp__utf8_lower(uint32_t c)
{
  if (c < 0x80) return c >= 'A' && c <= 'Z' ? c + 32 : c;
  if (c >= 0xc0 && c <= 0xde && c != 0xd7) return c + 32;
  if (c == 0x130 || c == 0x178) return c == 0x130 ? c : 0xff;
  if ((c >= 0x100 && c <= 0x137) || (c >= 0x14a && c <= 0x177)) return c | 1;
  if ((c >= 0x139 && c <= 0x148) || (c >= 0x179 && c <= 0x17e)) return c + (c & 1);
  if (c >= 0x391 && c <= 0x3a9 && c != 0x3a2) return c + 32;
  if (c >= 0x410 && c <= 0x42f) return c + 32;
  if (c >= 0x400 && c <= 0x40f) return c + 80;
  return c;
}
