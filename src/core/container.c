/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The container of snapshots and blobs. All numbers are little endian:
 *
 *    0  magic
 *    4  version   u32, the kind's bit for "sealed" within
 *    8  raw       u32, bytes of the text
 *   12  payload   u32, bytes that follow the header
 *   16  sum       BLAKE2b-128 of the 16 bytes before and the payload
 *   32  payload   zstd of the text, sealed when the bit says so
 *
 * The sum covers the bytes as stored, so damage is found before any key is tried. When the sum is right and a key does
 * not fit, the key is therefore the wrong one.
 */
#include "core/container.h"

#include <reprise/reprise.h>
#include <sodium.h>
#include <zstd.h>
#include <zstd_errors.h>

#define MAGIC_BYTES 4
#define SUM_AT 16
#define SUM_BYTES 16
#define HEADER_BYTES (SUM_AT + SUM_BYTES)
#define ZSTD_LEVEL 3
#define WINDOW_LOG_MAX 23 /* of what is read: four times what that level writes */
#define PIECE 131072      /* bytes given at a time, at most */

static void put_le32(unsigned char *at, size_t v)
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

int rp__container_full(const struct rp__container *c, const struct rp__buf *b, rp_error *err)
{
  if (b->err == RP_E_NOMEM) return rp__fail_nomem(err);
  return rp__fail(err, RP_E_TOO_LARGE, "the %s is over its limit", c->noun);
}

int rp__container_corrupt(const struct rp__container *c, const char *why, rp_error *err)
{
  return rp__fail(err, c->corrupt, "the %s is damaged: %s", c->noun, why);
}

/* ---- writing ---- */

static int compress(const struct rp__container *c, struct rp__str text, struct rp__buf *out, rp_error *err)
{
  size_t bound = ZSTD_compressBound(text.n);
  char *at = rp__buf_room(out, bound);
  if (!at) return rp__container_full(c, out, err);
  size_t n = ZSTD_compress(at, bound, text.p, text.n, ZSTD_LEVEL);
  if (ZSTD_isError(n)) return rp__fail_nomem(err); /* with room for the worst case nothing else can fail */
  out->n += n;
  at[n] = '\0';
  return 0;
}

int rp__container_write(const struct rp__container *c, uint32_t version, struct rp__str text, const struct rp__key *key,
                        const struct rp__random *r, struct rp__str ad, struct rp__buf *out, rp_error *err)
{
  size_t start = out->n;
  if (text.n > c->max)
    return rp__fail(err, RP_E_TOO_LARGE, "the %s has %zu bytes, the limit is %zu", c->noun, text.n, c->max);
  if (!rp__buf_room(out, HEADER_BYTES)) return rp__container_full(c, out, err);
  out->n += HEADER_BYTES;
  RP_AUTOBUF struct rp__buf packed = RP_BUF(2 * c->max);
  int rc = compress(c, text, key ? &packed : out, err);
  if (!rc && key && rp__seal(key, r, ad, packed.p, packed.n, out)) rc = rp__container_full(c, out, err);
  if (rc) {
    out->n = start;
    return rc;
  }
  unsigned char *head = (unsigned char *)out->p + start;
  size_t n = out->n - start;
  memcpy(head, c->magic, MAGIC_BYTES);
  put_le32(head + 4, version | (key ? c->sealed : 0));
  put_le32(head + 8, text.n);
  put_le32(head + 12, n - HEADER_BYTES);
  sum_of(head, n, head + SUM_AT);
  return 0;
}

/* ---- reading ---- */

static void stream_free(ZSTD_DStream **z)
{
  ZSTD_freeDStream(*z);
}

/* In pieces: neither memory nor what is given is more than the header's size and the window allow. */
static int decompress(const struct rp__container *c, const void *packed, size_t n, size_t raw, rp__container_fn *fn,
                      void *ctx, rp_error *err)
{
  RP_CLEANUP(stream_free) ZSTD_DStream *z = ZSTD_createDStream();
  size_t room = RP_MIN(raw + 1, PIECE); /* a small text is one piece, and needs no window */
  RP_AUTOFREE char *piece = malloc(room);
  ZSTD_inBuffer in = {packed, n, 0};
  size_t given = 0, left = 1;
  if (!z || !piece) return rp__fail_nomem(err);
  ZSTD_DCtx_setParameter(z, ZSTD_d_windowLogMax, WINDOW_LOG_MAX);
  while (left) {
    ZSTD_outBuffer out = {piece, room, 0};
    size_t before = in.pos;
    left = ZSTD_decompressStream(z, &out, &in);
    if (ZSTD_isError(left) && ZSTD_getErrorCode(left) == ZSTD_error_memory_allocation) return rp__fail_nomem(err);
    if (ZSTD_isError(left) || (out.pos == 0 && in.pos == before && left))
      return rp__container_corrupt(c, "it can't be unpacked", err);
    given += out.pos;
    if (given > raw) return rp__container_corrupt(c, "it is longer than it says", err);
    int rc = out.pos ? fn(ctx, piece, out.pos) : 0;
    if (rc) return rc;
  }
  return given == raw && in.pos == n ? 0 : rp__container_corrupt(c, "it is not as long as it says", err);
}

int rp__container_read(const struct rp__container *c, uint32_t newest, struct rp__stored in, rp__container_fn *fn,
                       void *ctx, uint32_t *ret_version, rp_error *err)
{
  const unsigned char *b = in.p;
  unsigned char sum[SUM_BYTES];
  int rc;
  if (in.n < HEADER_BYTES) return rp__container_corrupt(c, "it is cut short", err);
  if (memcmp(b, c->magic, MAGIC_BYTES) != 0) return rp__container_corrupt(c, "it does not begin like one", err);
  size_t n = in.n - HEADER_BYTES;
  if (get_le32(b + 12) != n) return rp__container_corrupt(c, "it has not the size it says", err);
  /* The sum is checked before anything in the header is believed but its sizes. */
  sum_of(b, in.n, sum);
  if (memcmp(sum, b + SUM_AT, SUM_BYTES) != 0) return rp__container_corrupt(c, "its checksum does not fit", err);
  uint32_t version = get_le32(b + 4), plain_version = version & ~c->sealed;
  if (plain_version > newest) {
    rp__fail(err, c->newer, "the %s has version %u, this program reads up to %u", c->noun, plain_version, newest);
    rp__hint(err, "a newer reprise made it; use that one");
    return c->newer;
  }
  if (get_le32(b + 8) > c->max) return rp__container_corrupt(c, "it has an impossible size", err);
  const void *packed = b + HEADER_BYTES;
  RP_AUTOBUF struct rp__buf plain = RP_BUF(n);
  if (version & c->sealed) {
    rc = rp__unseal(in.key, in.ad, packed, n, &plain, err);
    if (rc) return rc == RP_E_CORRUPT ? rp__container_corrupt(c, "its seal does not open", err) : rc;
    packed = plain.p;
    n = plain.n;
  }
  rc = decompress(c, packed, n, get_le32(b + 8), fn, ctx, err);
  if (rc == 0) *ret_version = plain_version;
  return rc;
}

int rp__container_collect(void *ctx, const void *bytes, size_t n)
{
  struct rp__buf *out = ctx;
  rp__buf_add(out, bytes, n);
  return out->err;
}

/* ---- blobs ---- */

static const struct rp__container blob = {
    .magic = "RPB1",
    .noun = "blob",
    .max = RP_BLOB_MAX,
    .sealed = 1,
    .corrupt = RP_E_CORRUPT,
    .newer = RP_E_VERSION,
};

int rp__pack(const void *bytes, size_t n, const struct rp__key *key, const struct rp__random *r, struct rp__str ad,
             struct rp__buf *out, rp_error *err)
{
  return rp__container_write(&blob, 0, (struct rp__str){bytes, n}, key, r, ad, out, err);
}

int rp__unpack(const void *packed, size_t n, const struct rp__key *key, struct rp__str ad, rp__container_fn *fn,
               void *ctx, rp_error *err)
{
  uint32_t version;
  return rp__container_read(&blob, 0, (struct rp__stored){packed, n, key, ad}, fn, ctx, &version, err);
}
