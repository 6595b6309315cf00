/* SPDX-License-Identifier: Apache-2.0 */
/* Topics: hashes, sorted sets, and their ranking. */
#include "continuity/topic.h"

#include <math.h>
#include <sodium.h>

#include "base/macros.h"
#include "base/utf8.h"

/* ---- sets of hashes -------------------------------------------------------------- */

uint64_t rp__topic_hash(const char *topic, size_t n, const unsigned char *key)
{
  crypto_generichash_state st;
  char chunk[256];
  unsigned char digest[crypto_generichash_BYTES_MIN];
  uint64_t hash = 0;
  size_t used = 0;
  crypto_generichash_init(&st, key, key ? 32 : 0, sizeof digest);
  for (const char *at = topic, *end = topic + n; at < end;) {
    unsigned len = rp__utf8_len(at, end);
    if (len == 0) len = 1; /* no UTF-8: the byte as it is */
    memcpy(chunk + used, at, len);
    if (len == 1 && (uint8_t)*at < 0x80) chunk[used] = (char)rp__utf8_lower((uint8_t)*at);
    if (len == 2) {
      uint32_t c = rp__utf8_lower(rp__utf8_value(at, len));
      chunk[used] = (char)(0xc0 | c >> 6);
      chunk[used + 1] = (char)(0x80 | (c & 0x3f));
    }
    at += len;
    used += len;
    if (used <= sizeof chunk - 4 && at < end) continue;
    crypto_generichash_update(&st, (const unsigned char *)chunk, used);
    used = 0;
  }
  crypto_generichash_final(&st, digest, sizeof digest);
  for (unsigned i = 0; i < 8; i++) hash |= (uint64_t)digest[i] << (8 * i); /* the same on every machine */
  return hash;
}

static int by_value(const void *a, const void *b)
{
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

size_t rp__topic_set(uint64_t *hashes, size_t n)
{
  for (size_t i = 0; i < n; i++) hashes[i] &= UINT32_MAX;
  size_t kept = 0;
  if (n > 1) qsort(hashes, n, sizeof *hashes, by_value);
  for (size_t i = 0; i < n; i++)
    if (i == 0 || hashes[i] != hashes[kept - 1]) hashes[kept++] = hashes[i];
  return kept;
}

/* ---- ranking ---------------------------------------------------------------------- */

size_t rp__topic_rank(struct rp__topic *topics, size_t n, int64_t total)
{
  double all = total > 0 ? (double)total : 0;
  size_t kept = 0;
  for (size_t i = 0; i < n; i++) {
    struct rp__topic t = topics[i];
    double having = t.sessions > 0 ? (double)t.sessions : 0;
    if (total >= RP_TOPIC_SESSIONS && t.sessions > total / 2) continue;
    t.weight *= log(1 + all / (1 + having));
    /* By insertion: there are few, and it leaves ties in their order. */
    size_t k = kept++;
    for (; k > 0 && topics[k - 1].weight < t.weight; k--) topics[k] = topics[k - 1];
    topics[k] = t;
  }
  return kept;
}
