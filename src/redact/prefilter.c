/* SPDX-License-Identifier: Apache-2.0 */
/* The prefilter: finds the literals of all patterns in one pass. */
#include "redact/prefilter.h"

#include "base/text.h"

#define PLACES 4
#define LITERAL_BYTES 32

/* ---- the table -------------------------------------------------------------- */

/* The bytes that a bucket lets through in each place. A place beyond a short literal takes any. */
struct bucket {
  uint64_t bytes[PLACES][4];
  unsigned count[PLACES];
  uint64_t words; /* of four bytes that it lets through: the product */
};

static bool bucket_has(const struct bucket *b, int place, uint8_t c)
{
  return b->bytes[place][c >> 6] >> (c & 63) & 1;
}

/* How many four-byte words the bucket would let through with this literal in it, beyond those it does now. */
static uint64_t bucket_cost(const struct bucket *b, const struct rp__literal *l)
{
  uint64_t words = 1;
  for (int k = 0; k < PLACES; k++) words *= k < l->n ? b->count[k] + !bucket_has(b, k, (uint8_t)l->text[k]) : 256;
  return words - b->words;
}

static unsigned bucket_choose(const struct bucket buckets[RP_BUCKETS], const struct rp__literal *l)
{
  unsigned best = 0;
  uint64_t least = bucket_cost(&buckets[0], l);
  for (unsigned i = 1; i < RP_BUCKETS && least > 0; i++) {
    uint64_t cost = bucket_cost(&buckets[i], l);
    if (cost < least) {
      best = i;
      least = cost;
    }
  }
  return best;
}

void rp__prefilter_init(struct rp__prefilter *f)
{
  struct bucket buckets[RP_BUCKETS] = {0};
  *f = (struct rp__prefilter){0};
  for (size_t row = 0; row < rp__patterns_n; row++) {
    bool whole = !strstr(rp__patterns[row].expression, "(?<secret>");
    for (const char *const *word = rp__patterns[row].literals; word && *word && f->n < RP_LITERALS_MAX; word++) {
      struct rp__literal l = {*word, (uint8_t)strlen(*word), (uint8_t)row, 0, whole};
      l.bucket = (uint8_t)bucket_choose(buckets, &l);
      struct bucket *b = &buckets[l.bucket];
      for (int k = 0; k < PLACES; k++) {
        uint8_t c = k < l.n ? (uint8_t)l.text[k] : 0;
        if (k >= l.n) {
          memset(b->bytes[k], 0xff, sizeof b->bytes[k]);
          b->count[k] = 256;
        } else if (!bucket_has(b, k, c)) {
          b->bytes[k][c >> 6] |= UINT64_C(1) << (c & 63);
          b->count[k]++;
        }
      }
      b->words = UINT64_C(1) * b->count[0] * b->count[1] * b->count[2] * b->count[3];
      f->literals[f->n++] = l;
    }
  }
  for (unsigned i = 0; i < RP_BUCKETS; i++) {
    for (int k = 0; k < PLACES; k++) {
      for (unsigned word = 0; word < 4; word++) {
        for (uint64_t left = buckets[i].bytes[k][word]; left; left &= left - 1)
          f->lanes[64 * word + (unsigned)__builtin_ctzll(left)] |= UINT64_C(1) << (16 * k + (int)i);
      }
    }
  }
  for (int c = 'A'; c <= 'Z'; c++) f->lanes[c] = f->lanes[(uint8_t)rp__ascii_lower((char)c)];
  /* The literals of a bucket are brought together; their order within it stays. */
  struct rp__literal sorted[RP_LITERALS_MAX];
  size_t to = 0;
  for (unsigned b = 0; b < RP_BUCKETS; b++) {
    f->first[b] = to;
    for (size_t i = 0; i < f->n; i++)
      if (f->literals[i].bucket == b) sorted[to++] = f->literals[i];
  }
  f->first[RP_BUCKETS] = to;
  memcpy(f->literals, sorted, to * sizeof *sorted);
}

/* ---- the scan --------------------------------------------------------------- */

/* The lanes of two bytes side by side: places 0 and 1 in the lowest, 2 and 3 in the third. */
static inline uint64_t pair_at(const uint64_t *t, const uint8_t *p)
{
  return t[p[0]] & t[p[1]] >> 16;
}

/* Whether a bucket lets one of the eight positions at `p` through: ten pairs, each used twice. */
static inline bool block_hit(const uint64_t *t, const uint8_t *p)
{
  uint64_t a = pair_at(t, p), b = pair_at(t, p + 1), c = pair_at(t, p + 2), d = pair_at(t, p + 3);
  uint64_t e = pair_at(t, p + 4), f = pair_at(t, p + 5), g = pair_at(t, p + 6), h = pair_at(t, p + 7);
  uint64_t i = pair_at(t, p + 8), j = pair_at(t, p + 9);
  uint64_t any = (a & c >> 32) | (b & d >> 32) | (c & e >> 32) | (d & f >> 32) | (e & g >> 32) | (f & h >> 32) |
                 (g & i >> 32) | (h & j >> 32);
  return any & 0xffff;
}

static bool literal_at(const struct rp__literal *l, const char *text, size_t n, size_t at)
{
  if (l->n > n - at) return false;
  for (unsigned k = 0; k < l->n; k++)
    if (rp__ascii_lower(text[at + k]) != l->text[k]) return false;
  return true;
}

static bool hit_at(const struct rp__prefilter *f, const char *text, size_t n, size_t at, uint64_t buckets,
                   struct rp__hit *ret)
{
  for (; buckets; buckets &= buckets - 1) {
    int b = __builtin_ctzll(buckets);
    for (size_t i = f->first[b]; i < f->first[b + 1]; i++) {
      const struct rp__literal *l = &f->literals[i];
      if (!literal_at(l, text, n, at)) continue;
      *ret = (struct rp__hit){at, l->n, l->row, l->secret};
      return true;
    }
  }
  return false;
}

bool rp__prefilter_next(const struct rp__prefilter *f, const char *text, size_t n, size_t from, struct rp__hit *ret)
{
  const uint8_t *p = (const uint8_t *)text;
  const uint64_t *t = f->lanes;
  size_t whole = n > 3 ? n - 3 : 0; /* four bytes can be read before it */
  for (size_t i = from; i < whole; i++) {
    uint64_t buckets = 0;
    while (i + 8 <= whole && !block_hit(t, p + i)) i += 8;
    while (i < whole && !(buckets = pair_at(t, p + i) & pair_at(t, p + i + 2) >> 32 & 0xffff)) i++;
    if (i < whole && hit_at(f, text, n, i, buckets, ret)) return true;
  }
  for (size_t i = RP_MAX(from, whole); i < n; i++)
    if (hit_at(f, text, n, i, (1u << RP_BUCKETS) - 1, ret)) return true;
  return false;
}

static bool cut_at(const struct rp__prefilter *f, const char *text, size_t n, size_t at, bool secret)
{
  bool inside = at > 0 && rp__is_alnum(text[at]) && rp__is_alnum(text[at - 1]);
  uint64_t buckets = (1u << RP_BUCKETS) - 1; /* those that allow the bytes up to the end in their first places */
  for (size_t k = 0; k < PLACES && at + k < n; k++) buckets &= f->lanes[(uint8_t)text[at + k]] >> (16 * k);
  for (; buckets; buckets &= buckets - 1) {
    int b = __builtin_ctzll(buckets);
    for (size_t i = f->first[b]; i < f->first[b + 1]; i++) {
      const struct rp__literal *l = &f->literals[i];
      if (l->n <= n - at || (secret && !l->secret) || (inside && l->secret)) continue;
      struct rp__literal part = {l->text, (uint8_t)(n - at), l->row, 0, true};
      if (literal_at(&part, text, n, at)) return true;
    }
  }
  return false;
}

size_t rp__prefilter_cut(const struct rp__prefilter *f, const char *text, size_t n, bool secret)
{
  for (size_t at = n > LITERAL_BYTES ? n - LITERAL_BYTES : 0; at < n; at++)
    if (cut_at(f, text, n, at, secret)) return at;
  return n;
}
