/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-1 (FIPS 180-4), for the WebSocket handshake alone. */
#include "net/sha1.h"

#define BLOCK 64

static uint32_t roll(uint32_t x, int by)
{
  return x << by | x >> (32 - by);
}

static uint32_t load(const uint8_t *p)
{
  return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static uint32_t mix(int round, uint32_t b, uint32_t c, uint32_t d)
{
  switch (round) {
  case 0: return ((b & c) | (~b & d)) + 0x5a827999u;
  case 1: return (b ^ c ^ d) + 0x6ed9eba1u;
  case 2: return ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdcu;
  default: return (b ^ c ^ d) + 0xca62c1d6u;
  }
}

static void block(uint32_t h[5], const uint8_t *p)
{
  uint32_t w[80], a = h[0], b = h[1], c = h[2], d = h[3], e = h[4];
  for (int i = 0; i < 80; i++) w[i] = i < 16 ? load(p + 4 * i) : roll(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
  for (int i = 0; i < 80; i++) {
    uint32_t next = roll(a, 5) + mix(i / 20, b, c, d) + e + w[i];
    e = d;
    d = c;
    c = roll(b, 30);
    b = a;
    a = next;
  }
  h[0] += a;
  h[1] += b;
  h[2] += c;
  h[3] += d;
  h[4] += e;
}

void rp__sha1(const void *bytes, size_t n, uint8_t out[RP_SHA1_SIZE])
{
  uint32_t h[5] = {0x67452301u, 0xefcdab89u, 0x98badcfeu, 0x10325476u, 0xc3d2e1f0u};
  const uint8_t *p = bytes;
  uint8_t last[2 * BLOCK] = {0};
  size_t left = n % BLOCK, tail = left < BLOCK - 8 ? BLOCK : 2 * BLOCK;
  for (size_t i = 0; i < n / BLOCK; i++) block(h, p + i * BLOCK);
  if (left) memcpy(last, p + (n - left), left);
  last[left] = 0x80;
  for (int i = 0; i < 8; i++) last[tail - 1 - (size_t)i] = (uint8_t)((uint64_t)n * 8 >> 8 * i);
  for (size_t i = 0; i < tail; i += BLOCK) block(h, last + i);
  for (int i = 0; i < RP_SHA1_SIZE; i++) out[i] = (uint8_t)(h[i / 4] >> (24 - 8 * (i % 4)));
}
