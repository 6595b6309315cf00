/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The container, all numbers little endian:
 *
 *    0  magic     "RPS1"; another layout gets another magic
 *    4  version   u16, of the document inside
 *    6  flags     u16, bit 0: sealed
 *    8  raw       u32, bytes of the document
 *   12  payload   u32, bytes that follow the header
 *   16  sum       BLAKE2b-128 of the 16 bytes before and the payload
 *   32  payload   zstd of the document, sealed when the flag says so
 *
 * The sum is over the bytes as stored: damage shows before any key is tried, and
 * a key that does not fit is therefore a wrong key.
 */
#include "core/snapshot.h"

#include <reprise/reprise.h>
#include <sodium.h>
#include <zstd.h>
#include <zstd_errors.h>

#define MAGIC "RPS1"
#define HEADER_BYTES 32
#define SUM_AT 16
#define SUM_BYTES 16
#define FLAG_SEALED 1u
#define ZSTD_LEVEL 3

_Static_assert(RP_SNAPSHOT_VERSION == RP_FOLD_VERSION, "a snapshot has the version of the document in it");
_Static_assert(HEADER_BYTES == SUM_AT + SUM_BYTES, "the sum is the end of the header");

const struct rp__migration rp__snapshot_migrations[] = {{0, NULL}};

static void put_le(unsigned char *at, unsigned bytes, uint64_t v)
{
  for (unsigned i = 0; i < bytes; i++) at[i] = (unsigned char)(v >> (8 * i));
}

static uint32_t get_le(const unsigned char *at, unsigned bytes)
{
  uint32_t v = 0;
  for (unsigned i = 0; i < bytes; i++) v |= (uint32_t)at[i] << (8 * i);
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
  return b->err == RP_E_NOMEM ? rp__fail_nomem(err) : rp__fail(err, RP_E_TOO_LARGE, "the snapshot is over its limit");
}

/* ---- encoding --------------------------------------------------------------- */

static int compress(const struct rp__buf *doc, struct rp__buf *out, rp_error *err)
{
  size_t bound = ZSTD_compressBound(doc->n);
  char *at = rp__buf_room(out, bound);
  if (!at) return fail_buf(out, err);
  size_t n = ZSTD_compress(at, bound, doc->p, doc->n, ZSTD_LEVEL);
  if (ZSTD_isError(n)) return rp__fail_nomem(err); /* with room for the worst case nothing else can fail */
  out->n += n;
  at[n] = '\0';
  return 0;
}

static int add_payload(const struct rp__buf *doc, const struct rp__key *key, const struct rp__random *r,
                       struct rp__str ad, struct rp__buf *out, rp_error *err)
{
  if (!key) return compress(doc, out, err);
  RP_AUTOBUF struct rp__buf packed = RP_BUF(2 * (size_t)RP_SNAPSHOT_MAX);
  int rc = compress(doc, &packed, err);
  if (rc) return rc;
  return rp__seal(key, r, ad, packed.p, packed.n, out) ? fail_buf(out, err) : 0;
}

int rp__snapshot_encode(const struct rp__fold *f, const struct rp__key *key, const struct rp__random *r,
                        struct rp__str ad, struct rp__buf *out, size_t *ret_raw, rp_error *err)
{
  RP_AUTOBUF struct rp__buf doc = RP_BUF(RP_SNAPSHOT_MAX);
  struct rp__jw w = RP_JW(&doc);
  rp__fold_save(f, &w);
  if (doc.err) return fail_buf(&doc, err);

  size_t start = out->n;
  if (!rp__buf_room(out, HEADER_BYTES)) return fail_buf(out, err);
  memset(out->p + start, 0, HEADER_BYTES);
  out->n += HEADER_BYTES;
  int rc = add_payload(&doc, key, r, ad, out, err);
  if (rc) {
    out->n = start;
    return rc;
  }
  unsigned char *head = (unsigned char *)out->p + start;
  size_t n = out->n - start;
  memcpy(head, MAGIC, 4);
  put_le(head + 4, 2, RP_SNAPSHOT_VERSION);
  put_le(head + 6, 2, key ? FLAG_SEALED : 0);
  put_le(head + 8, 4, doc.n);
  put_le(head + 12, 4, n - HEADER_BYTES);
  sum_of(head, n, head + SUM_AT);
  *ret_raw = doc.n;
  return 0;
}

/* ---- opening ------------------------------------------------------------------ */

struct header {
  int version;
  unsigned flags;
  size_t raw;
};

static int corrupt(rp_error *err, const char *why)
{
  return rp__fail(err, RP_E_SNAPSHOT_CORRUPT, "the snapshot is damaged: %s", why);
}

/* The sum is checked before anything in the header is believed but its sizes. */
static int read_header(const unsigned char *b, size_t n, struct header *ret, rp_error *err)
{
  unsigned char sum[SUM_BYTES];
  if (n < HEADER_BYTES) return corrupt(err, "it is cut short");
  if (memcmp(b, MAGIC, 4) != 0) return corrupt(err, "it does not begin like one");
  if (get_le(b + 12, 4) != n - HEADER_BYTES) return corrupt(err, "it has not the size it says");
  sum_of(b, n, sum);
  if (memcmp(sum, b + SUM_AT, SUM_BYTES) != 0) return corrupt(err, "its checksum does not fit");
  ret->version = (int)get_le(b + 4, 2);
  ret->flags = get_le(b + 6, 2);
  ret->raw = get_le(b + 8, 4);
  if (ret->raw == 0 || ret->raw > RP_SNAPSHOT_MAX) return corrupt(err, "its document has an impossible size");
  if (ret->version == 0) return corrupt(err, "it has no version");
  return 0;
}

static int check_version(const struct header *h, int current, rp_error *err)
{
  if (h->version <= current && (h->flags & ~FLAG_SEALED) == 0) return 0;
  rp__fail(err, RP_E_SNAPSHOT_VERSION, "the snapshot has version %d, this program reads up to %d", h->version, current);
  rp__hint(err, "a newer reprise made it; use that one");
  return RP_E_SNAPSHOT_VERSION;
}

/* Never allocates more than the header's size, which is bounded, whatever the compressed bytes claim. */
static int decompress(const void *packed, size_t n, size_t raw, struct rp__buf *out, rp_error *err)
{
  char *at = rp__buf_room(out, raw);
  if (!at) return fail_buf(out, err);
  size_t got = ZSTD_decompress(at, raw, packed, n);
  if (ZSTD_isError(got) && ZSTD_getErrorCode(got) == ZSTD_error_memory_allocation) return rp__fail_nomem(err);
  if (ZSTD_isError(got) || got != raw) return corrupt(err, "its document can't be unpacked");
  out->n += raw;
  return 0;
}

static int unpack(const unsigned char *payload, size_t n, const struct header *h, const struct rp__key *key,
                  struct rp__str ad, struct rp__buf *out, rp_error *err)
{
  if (!(h->flags & FLAG_SEALED)) return decompress(payload, n, h->raw, out, err);
  RP_AUTOBUF struct rp__buf packed = RP_BUF(n);
  int rc = rp__unseal(key, ad, payload, n, &packed, err);
  if (rc == RP_E_CORRUPT) return corrupt(err, "its seal does not open");
  return rc ? rc : decompress(packed.p, packed.n, h->raw, out, err);
}

static int parse_document(const struct rp__buf *doc, struct rp__json *ret, rp_error *err)
{
  /* A body of full depth sits some levels down in the document. */
  static const struct rp__json_limits limits = {.max_bytes = RP_SNAPSHOT_MAX, .max_depth = RP_DEPTH_MAX + 8};
  int rc = rp__json_parse(doc->p, doc->n, &limits, ret, err);
  if (rc == 0 || rc == RP_E_NOMEM) return rc;
  return corrupt(err, "its document is no JSON");
}

static const struct rp__migration *step_from(const struct rp__migration *chain, int version)
{
  for (; chain->from; chain++) {
    if (chain->from == version) return chain;
  }
  return NULL;
}

static int migrate(struct rp__buf *doc, int version, int current, const struct rp__migration *chain, rp_error *err)
{
  for (; version < current; version++) {
    const struct rp__migration *step = step_from(chain, version);
    if (!step)
      return rp__fail(err, RP_E_SNAPSHOT_VERSION, "nothing leads from snapshot version %d to the next", version);
    RP_AUTOBUF struct rp__buf next = RP_BUF(RP_SNAPSHOT_MAX);
    struct rp__json v = {0};
    int rc = parse_document(doc, &v, err);
    if (rc == 0) rc = step->run(v, &next, err);
    if (rc) return rc;
    if (next.err) return fail_buf(&next, err);
    struct rp__buf old = *doc;
    *doc = next;
    next = old;
  }
  return 0;
}

int rp__snapshot_open(const void *bytes, size_t n, const struct rp__key *key, struct rp__str ad,
                      const struct rp__migration *chain, int current, struct rp__buf *out, rp_error *err)
{
  const unsigned char *b = bytes;
  RP_AUTOBUF struct rp__buf doc = RP_BUF(RP_SNAPSHOT_MAX);
  struct header h = {0};
  if (current == 0) current = RP_SNAPSHOT_VERSION;
  int rc = read_header(b, n, &h, err);
  if (rc == 0) rc = check_version(&h, current, err);
  if (rc == 0) rc = unpack(b + HEADER_BYTES, n - HEADER_BYTES, &h, key, ad, &doc, err);
  if (rc == 0) rc = migrate(&doc, h.version, current, chain ? chain : rp__snapshot_migrations, err);
  if (rc) return rc;
  rp__buf_add(out, doc.p, doc.n);
  return out->err ? fail_buf(out, err) : 0;
}

int rp__snapshot_decode(const void *bytes, size_t n, const struct rp__key *key, struct rp__str ad,
                        const struct rp__facet_table *t, struct rp__fold **ret, rp_error *err)
{
  RP_AUTOBUF struct rp__buf doc = RP_BUF(RP_SNAPSHOT_MAX);
  RP_AUTOFOLD struct rp__fold *f = NULL;
  struct rp__json v = {0};
  int rc = rp__snapshot_open(bytes, n, key, ad, NULL, 0, &doc, err);
  if (rc == 0) rc = parse_document(&doc, &v, err);
  if (rc) return rc;
  if (rp__fold_new(t, &f)) return rp__fail_nomem(err);
  rc = rp__fold_load(f, v, err);
  if (rc) return rc;
  *ret = RP_TAKE(f);
  return 0;
}

/* ---- which to keep ---------------------------------------------------------- */

void rp__snapshot_prune(const int64_t *seqs, size_t count, size_t keep, bool *drop)
{
  int64_t block = -1; /* of the last older one kept; seqs are not negative */
  for (size_t i = 0; i < count; i++) {
    int64_t mine = seqs[i] / RP_SNAPSHOT_SPARSE;
    drop[i] = i >= keep && mine == block;
    if (i >= keep) block = mine;
  }
}
