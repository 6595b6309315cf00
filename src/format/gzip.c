/* SPDX-License-Identifier: Apache-2.0 */
/* gzip with a bound on both sides: a small document that would expand to a huge one costs no more than the bound. */
#include <zlib.h>

#include "format/format.h"

#define STEP 65536
#define GZIP_BITS (15 + 16)

/* zlib's own allocations fail as zlib says; ours as the buffer says. */
static int inflate_all(z_stream *z, struct rp__buf *out, rp_error *err)
{
  int rc = Z_OK;
  while (rc != Z_STREAM_END) {
    size_t room = RP_MIN(STEP, out->max - out->n);
    char beyond, *p = room ? rp__buf_room(out, room) : &beyond;
    if (!p) return rp__fail_nomem(err);
    z->next_out = (unsigned char *)p;
    z->avail_out = room ? (uInt)room : 1;
    rc = inflate(z, Z_NO_FLUSH);
    if (rc == Z_MEM_ERROR) return rp__fail_nomem(err);
    if (rc != Z_OK && rc != Z_STREAM_END)
      return rp__fail(err, RP_E_FORMAT_CORRUPT, "the compressed data is damaged: near byte %lu", z->total_in);
    size_t got = (room ? room : 1) - z->avail_out;
    if (got && !room) return rp__fail(err, RP_E_TOO_LARGE, "the document is over %zu bytes unpacked", out->max);
    out->n += room ? got : 0;
    if (rc == Z_OK && !got && !z->avail_in) return rp__fail(err, RP_E_FORMAT_CORRUPT, "the compressed data is cut off");
  }
  return 0;
}

int rp__gunzip(const void *bytes, size_t n, struct rp__buf *out, rp_error *err)
{
  z_stream z = {.next_in = (unsigned char *)(uintptr_t)bytes, .avail_in = (uInt)n};
  if (n > RP_FOREIGN_GZIP_MAX)
    return rp__fail(err, RP_E_TOO_LARGE, "the compressed document is over %zu bytes", RP_FOREIGN_GZIP_MAX);
  if (inflateInit2(&z, GZIP_BITS) != Z_OK) return rp__fail_nomem(err);
  int rc = inflate_all(&z, out, err);
  bool more = z.avail_in > 0;
  inflateEnd(&z);
  if (!rc && more) return rp__fail(err, RP_E_FORMAT_CORRUPT, "something follows the compressed data");
  rp__buf_add(out, "", 0);
  return rc || !out->err ? rc : rp__fail_nomem(err);
}

int rp__gzip(const void *bytes, size_t n, struct rp__buf *out, rp_error *err)
{
  z_stream z = {.next_in = (unsigned char *)(uintptr_t)bytes, .avail_in = (uInt)n};
  if (n > RP_FOREIGN_MAX) return rp__fail(err, RP_E_TOO_LARGE, "the document is over %zu bytes", RP_FOREIGN_MAX);
  if (deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_BITS, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    return rp__fail_nomem(err);
  size_t bound = deflateBound(&z, (uLong)n);
  char *p = rp__buf_room(out, bound);
  z.next_out = (unsigned char *)p;
  z.avail_out = (uInt)bound;
  int rc = p ? deflate(&z, Z_FINISH) : Z_MEM_ERROR;
  deflateEnd(&z);
  if (rc != Z_STREAM_END) return rp__fail_nomem(err);
  out->n += bound - z.avail_out;
  return 0;
}
