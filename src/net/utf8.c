/* SPDX-License-Identifier: Apache-2.0 */
#include "net/utf8.h"

/* What may follow a first byte; overlong forms, surrogates and what is beyond U+10FFFF show in the second one. */
static bool begin(struct rp__utf8 *u, uint8_t b)
{
  *u = (struct rp__utf8){.low = 0x80, .high = 0xbf};
  if (b >= 0xc2 && b <= 0xdf) {
    u->need = 1;
  } else if (b >= 0xe0 && b <= 0xef) {
    u->need = 2;
    if (b == 0xe0) u->low = 0xa0;
    if (b == 0xed) u->high = 0x9f;
  } else if (b >= 0xf0 && b <= 0xf4) {
    u->need = 3;
    if (b == 0xf0) u->low = 0x90;
    if (b == 0xf4) u->high = 0x8f;
  } else {
    return false;
  }
  return true;
}

static const char *skip_ascii(const char *at, const char *end)
{
  uint64_t eight;
  while (end - at >= (ptrdiff_t)sizeof(eight)) {
    memcpy(&eight, at, sizeof(eight));
    if (eight & 0x8080808080808080u) break;
    at += sizeof(eight);
  }
  while (at < end && (uint8_t)*at < 0x80) at++;
  return at;
}

bool rp__utf8_feed(struct rp__utf8 *u, const char *bytes, size_t n)
{
  const char *at = bytes, *end = bytes + n;
  while (at < end) {
    if (u->need == 0) {
      at = skip_ascii(at, end);
      if (at < end && !begin(u, (uint8_t)*at++)) return false;
    } else {
      uint8_t b = (uint8_t)*at++;
      if (b < u->low || b > u->high) return false;
      *u = (struct rp__utf8){.need = (uint8_t)(u->need - 1), .low = 0x80, .high = 0xbf};
    }
  }
  return true;
}
