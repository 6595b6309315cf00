/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the literals of the patterns in one pass. The first four bytes of every literal are superimposed in sixteen
 * buckets, so that a position costs four table look-ups and no branch. Only positions that some bucket lets through are
 * compared with the literals. The code is plain C: a version that looks up sixteen half bytes at once (SSSE3) gained
 * only a third, because half bytes let through too many positions.
 */
#ifndef RP_REDACT_PREFILTER_H
#define RP_REDACT_PREFILTER_H

#include "redact/pattern.h"

#define RP_LITERALS_MAX 160
#define RP_BUCKETS 16

struct rp__literal {
  const char *text;
  uint8_t n, row, bucket;
  bool secret; /* part of the secret itself, as a vendor's prefix is */
};

struct rp__prefilter {
  uint64_t lanes[256];                          /* lane k (16 bits): the buckets that allow this byte in place k */
  struct rp__literal literals[RP_LITERALS_MAX]; /* by bucket */
  size_t n, first[RP_BUCKETS + 1];              /* those of bucket i: from first[i] to first[i + 1] */
};

struct rp__hit {
  size_t at, n; /* the literal's place and length */
  unsigned row;
  bool secret;
};

void rp__prefilter_init(struct rp__prefilter *f);
/* The first literal at `from` or behind it. */
bool rp__prefilter_next(const struct rp__prefilter *f, const char *text, size_t n, size_t from, struct rp__hit *ret);
/*
 * Where a literal begins of which only a part fits before the end of the text; n if none. `secret`: only those that are
 * part of the secret; the others come before theirs, so whoever remembers the text need not wait for them.
 */
size_t rp__prefilter_cut(const struct rp__prefilter *f, const char *text, size_t n, bool secret);

#endif
