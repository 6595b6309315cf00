/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The container, all numbers little endian:
 *
 *    0  magic     "RPB1"; another layout gets another magic
 *    4  flags     u32, bit 0: sealed
 *    8  raw       u32, bytes of the text
 *   12  payload   u32, bytes that follow the header
 *   16  sum       BLAKE2b-128 of the 16 bytes before and the payload
 *   32  payload   zstd of the text, sealed when the flag says so
 *
 * The sum is over the bytes as stored: damage shows before any key is tried.
 */
#include "core/pack.h"

#include <sodium.h>
#include <zstd.h>
#include <zstd_errors.h>

#define MAGIC "RPB1"
#define HEADER_BYTES 32
#define SUM_AT 16
#define SUM_BYTES 16
#define FLAG_SEALED 1u
#define ZSTD_LEVEL 3
#define PIECE 131072 /* bytes given at a time */

static void put_le32(unsigned char *at, uint64_t v)
{
  for (unsigned i = 0; i < 4; i++) at[i] = (unsigned char)(v >> (8 * i));
}

static uint32_t get_le32(const unsigned char *at)
{
  uint32_t v = 0;
  for (unsigned i = 0; i < 4; i++) v |= (uint32_t)at[i] << (8 * i);
  return v;
}

static void sum_of(const unsigned char *container, size_t n, unsigned char sum[SUM_BYTES])
{
  crypto_generichash_state st;
  crypto_generichash_init(&st, NULL, 0, SUM_BYTES);
  crypto_generichash_update(&st, container, SUM_AT);
  crypto_generichash_update(&st, container + HEADER_BYTES, n - HEADER_BYTES);
  crypto_generichash_final(&st, sum, SUM_BYTES);
}

static int fail_buf(const struct rp__buf *b, rp_error *err)
{
  return b->err == RP_E_NOMEM ? rp__fail_nomem(err) : rp__fail(err, RP_E_TOO_LARGE, "the blob is over its limit");
}

/* ---- packing ---- */

static int compress(const void *bytes, size_t n, struct rp__buf *out, rp_error *err)
{
  size_t bound = ZSTD_compressBound(n);
  char *at = rp__buf_room(out, bound);
  if (!at) return fail_buf(out, err);
  size_t got = ZSTD_compress(at, bound, bytes, n, ZSTD_LEVEL);
  if (ZSTD_isError(got)) return rp__fail_nomem(err); /* with room for the worst case nothing else can fail */
  out->n += got;
  at[got] = '\0';
  return 0;
}

static int add_payload(const void *bytes, size_t n, const struct rp__key *key, const struct rp__random *r,
                       struct rp__str ad, struct rp__buf *out, rp_error *err)
{
  if (!key) return compress(bytes, n, out, err);
  RP_AUTOBUF struct rp__buf packed = RP_BUF(RP_PACK_MAX);
  int rc = compress(bytes, n, &packed, err);
  if (rc) return rc;
  return rp__seal(key, r, ad, packed.p, packed.n, out) ? fail_buf(out, err) : 0;
}

int rp__pack(const void *bytes, size_t n, const struct rp__key *key, const struct rp__random *r, struct rp__str ad,
             struct rp__buf *out, rp_error *err)
{
  size_t start = out->n;
  if (n > RP_BLOB_MAX) return rp__fail(err, RP_E_TOO_LARGE, "the blob has %zu bytes, the limit is %zu", n, RP_BLOB_MAX);
  if (!rp__buf_room(out, HEADER_BYTES)) return fail_buf(out, err);
  memset(out->p + start, 0, HEADER_BYTES);
  out->n += HEADER_BYTES;
  int rc = add_payload(bytes, n, key, r, ad, out, err);
  if (rc) {
    out->n = start;
    return rc;
  }
  unsigned char *head = (unsigned char *)out->p + start;
  memcpy(head, MAGIC, 4);
  put_le32(head + 4, key ? FLAG_SEALED : 0);
  put_le32(head + 8, n);
  put_le32(head + 12, out->n - start - HEADER_BYTES);
  sum_of(head, out->n - start, head + SUM_AT);
  return 0;
}

/* ---- unpacking ---- */

static int corrupt(rp_error *err, const char *why)
{
  return rp__fail(err, RP_E_CORRUPT, "the blob is damaged: %s", why);
}

/* The sum is checked before anything in the header is believed but its sizes. */
static int read_header(const unsigned char *b, size_t n, unsigned *ret_flags, size_t *ret_raw, rp_error *err)
{
  unsigned char sum[SUM_BYTES];
  if (n < HEADER_BYTES) return corrupt(err, "it is cut short");
  if (memcmp(b, MAGIC, 4) != 0) return corrupt(err, "it does not begin like one");
  if (get_le32(b + 12) != n - HEADER_BYTES) return corrupt(err, "it has not the size it says");
  sum_of(b, n, sum);
  if (memcmp(sum, b + SUM_AT, SUM_BYTES) != 0) return corrupt(err, "its checksum does not fit");
  *ret_flags = get_le32(b + 4);
  *ret_raw = get_le32(b + 8);
  if (*ret_flags & ~FLAG_SEALED) return rp__fail(err, RP_E_VERSION, "the blob was made by a newer version");
  return *ret_raw > RP_BLOB_MAX ? corrupt(err, "it has an impossible size") : 0;
}

static void stream_free(ZSTD_DStream **z)
{
  ZSTD_freeDStream(*z);
}

/* In pieces: neither memory nor what is given is more than the header's size allows. */
static int decompress(const void *packed, size_t n, size_t raw, rp__pack_fn *fn, void *ctx, rp_error *err)
{
  RP_CLEANUP(stream_free) ZSTD_DStream *z = ZSTD_createDStream();
  RP_AUTOFREE char *piece = malloc(PIECE);
  ZSTD_inBuffer in = {packed, n, 0};
  size_t given = 0, left = 1;
  if (!z || !piece) return rp__fail_nomem(err);
  while (left) {
    ZSTD_outBuffer out = {piece, PIECE, 0};
    size_t before = in.pos;
    left = ZSTD_decompressStream(z, &out, &in);
    if (ZSTD_isError(left) && ZSTD_getErrorCode(left) == ZSTD_error_memory_allocation) return rp__fail_nomem(err);
    if (ZSTD_isError(left) || (out.pos == 0 && in.pos == before && left)) return corrupt(err, "it can't be unpacked");
    given += out.pos;
    if (given > raw) return corrupt(err, "it is longer than it says");
    int rc = out.pos ? fn(ctx, piece, out.pos) : 0;
    if (rc) return rc;
  }
  return given == raw && in.pos == n ? 0 : corrupt(err, "it is not as long as it says");
}

int rp__unpack(const void *packed, size_t n, const struct rp__key *key, struct rp__str ad, rp__pack_fn *fn, void *ctx,
               rp_error *err)
{
  const unsigned char *b = packed;
  unsigned flags = 0;
  size_t raw = 0;
  int rc = read_header(b, n, &flags, &raw, err);
  if (rc) return rc;
  if (!(flags & FLAG_SEALED)) return decompress(b + HEADER_BYTES, n - HEADER_BYTES, raw, fn, ctx, err);
  RP_AUTOBUF struct rp__buf plain = RP_BUF(n);
  rc = rp__unseal(key, ad, b + HEADER_BYTES, n - HEADER_BYTES, &plain, err);
  if (rc == RP_E_CORRUPT) return corrupt(err, "its seal does not open");
  return rc ? rc : decompress(plain.p, plain.n, raw, fn, ctx, err);
}
