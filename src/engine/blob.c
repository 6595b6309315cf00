/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is too large for an event: masked as one, packed, sealed with its scope, a row of its session.
 *
 * An id is random, and what finds the same bytes again is a hash beside it. Were the id made from the bytes, it would
 * go on telling of a secret that a redaction took out of them, for events name it and it can't change. The hash is of
 * the session, and keyed where the scope is sealed, so that nobody without the key can try what the bytes may be.
 */
#include "engine/blob.h"

#include <sodium.h>

#include "engine/speech.h"

/* An id is this word and the hex form of random bytes: nothing else that stands in an event looks like one. */
#define ID_WORD "blob-"
#define ID_BYTES 16
#define ID_CHARS (sizeof ID_WORD - 1 + 2 * ID_BYTES)

_Static_assert(ID_CHARS <= RP_BLOB_ID_MAX, "an id fits");

bool rp__blob_id_ok(const char *id)
{
  size_t word = sizeof ID_WORD - 1;
  return strlen(id) == ID_CHARS && memcmp(id, ID_WORD, word) == 0 &&
         strspn(id + word, "0123456789abcdef") == 2 * ID_BYTES;
}

/* ---- writing ---- */

/* Bound to its session and its id. */
static struct rp__str blob_ad(const rp_session *s, const char *id, char out[RP_NAME + RP_BLOB_ID_MAX + 1])
{
  int n = snprintf(out, RP_NAME + RP_BLOB_ID_MAX + 1, "%s/%s", s->id, id);
  return (struct rp__str){out, (size_t)n};
}

static void blob_hash(const rp_session *s, const void *bytes, size_t n, unsigned char hash[RP_BLOB_HASH])
{
  crypto_generichash_state st;
  crypto_generichash_init(&st, s->key ? s->key->bytes : NULL, s->key ? sizeof s->key->bytes : 0, RP_BLOB_HASH);
  crypto_generichash_update(&st, (const unsigned char *)s->id, strlen(s->id) + 1);
  crypto_generichash_update(&st, bytes, n);
  crypto_generichash_final(&st, hash, RP_BLOB_HASH);
}

static void id_new(char id[RP_BLOB_ID_MAX + 1])
{
  unsigned char random[ID_BYTES];
  size_t word = sizeof ID_WORD - 1;
  rp__system_random.fill(rp__system_random.ctx, random, sizeof random);
  memcpy(id, ID_WORD, word);
  sodium_bin2hex(id + word, RP_BLOB_ID_MAX + 1 - word, random, sizeof random);
}

int rp__blob_write(rp_session *s, enum rp__op_type type, const struct rp__blob_new *b, rp_durability d, char *ret_id,
                   rp_error *err)
{
  struct rp__blob_row row = {.at_ms = b->at_ms, .raw_size = (int64_t)b->n, .sealed = s->key != NULL};
  struct rp__buf packed RP_AUTOBUF = RP_BUF(RP_PACK_MAX);
  char ad[RP_NAME + RP_BLOB_ID_MAX + 1], id[RP_BLOB_ID_MAX + 1];
  if (b->id[0])
    memcpy(row.id, b->id, sizeof row.id);
  else
    id_new(row.id);
  blob_hash(s, b->bytes, b->n, row.hash);
  int rc = rp__pack(b->bytes, b->n, s->key, &rp__system_random, blob_ad(s, row.id, ad), &packed, err);
  if (rc) return rc;
  row.data = packed.p;
  row.size = (int64_t)packed.n;
  struct rp__op op = {.type = type,
                      .session_ref = s->ref,
                      .session_id = s->id,
                      .now_ms = rp__engine_now(s->e),
                      .epoch = s->epoch,
                      .copying = s->copying,
                      .u.blob = {.row = &row, .ret_id = id}};
  rc = rp__engine_commit(s->e, &op, 1, d, err);
  if (rc == RP_E_FENCED && s->epoch) atomic_store(&s->fenced, true);
  if (!rc && ret_id) memcpy(ret_id, id, sizeof id);
  return rc;
}

int rp__blob_delete(rp_session *s, const char *id, rp_error *err)
{
  struct rp__blob_row row = {0};
  snprintf(row.id, sizeof row.id, "%s", id);
  struct rp__op op = {.type = RP_OP_BLOB_DELETE,
                      .session_ref = s->ref,
                      .session_id = s->id,
                      .now_ms = rp__engine_now(s->e),
                      .u.blob.row = &row};
  return rp__engine_commit(s->e, &op, 1, RP_DISK, err);
}

static int refuse_trashed(const rp_session *s, rp_error *err)
{
  rp__fail(err, RP_E_ENDED, "session %s is in the trash", s->id);
  rp__hint(err, "'reprise untrash %s' takes it out", s->id);
  return RP_E_ENDED;
}

int rp_blob_put(rp_session *s, const void *bytes, size_t n, char *ret_id, rp_error *err)
{
  struct rp__buf masked RP_AUTOBUF = RP_BUF(2 * RP_BLOB_MAX);
  struct rp__str stored;
  int rc = rp__session_check(s, err);
  if (rc) return rc;
  if (!ret_id || (!bytes && n)) return rp__fail_field(err, RP_E_USAGE, "bytes", "a blob has bytes and gets an id");
  if (n > RP_BLOB_MAX)
    return rp__fail_field(err, RP_E_TOO_LARGE, "bytes", "the blob has %zu bytes, the limit is %zu", n, RP_BLOB_MAX);
  if (s->trashed) return refuse_trashed(s, err);
  rc = rp__engine_mask_bytes(s->e, s->scope, bytes, n, &masked, &stored);
  if (rc) return rp__fail(err, rc, "the blob can't be masked");
  struct rp__blob_new b = {.at_ms = rp__engine_now(s->e), .bytes = stored.p, .n = stored.n};
  return rp__blob_write(s, RP_OP_BLOB_PUT, &b, RP_DISK, ret_id, err);
}

/* ---- reading ---- */

struct read_ctx {
  rp_session *s;
  rp__container_fn *fn;
  void *ctx;
  rp_error *err;
  int64_t at_ms;
};

static int on_blob(void *ctx, const struct rp__blob_row *row)
{
  struct read_ctx *x = ctx;
  x->at_ms = row->at_ms;
  char ad[RP_NAME + RP_BLOB_ID_MAX + 1];
  rp_error why = {0};
  int rc = rp__unpack(row->data, (size_t)row->size, x->s->key, blob_ad(x->s, row->id, ad), x->fn, x->ctx, &why);
  if (rc && why.code && x->err) { /* else it was the callback's word */
    *x->err = why;
    rp__wrap(x->err, "session %s, blob %s", x->s->id, row->id);
  }
  return rc;
}

static int blob_read(struct read_ctx *x, const char *id)
{
  struct rp__store *st = x->s->e->store;
  if (!rp__blob_id_ok(id)) return rp__fail_field(x->err, RP_E_BLOB_NOT_FOUND, "id", "'%.64s' is no blob's id", id);
  return st->ops->blob_list(st, x->s->ref, id, on_blob, x, x->err);
}

int rp__blob_read(rp_session *s, const char *id, rp__container_fn *fn, void *ctx, rp_error *err)
{
  struct read_ctx x = {.s = s, .fn = fn, .ctx = ctx, .err = err};
  return blob_read(&x, id);
}

static int add_piece(void *ctx, const void *bytes, size_t n)
{
  struct rp__buf *out = ctx;
  rp__buf_add(out, bytes, n);
  return out->err;
}

int rp__blob_read_all(rp_session *s, const char *id, struct rp__buf *out, int64_t *ret_at, rp_error *err)
{
  struct read_ctx x = {.s = s, .fn = add_piece, .ctx = out, .err = err};
  int rc = blob_read(&x, id);
  if (out->err) return rp__fail(err, out->err, "blob %s does not fit into memory", id);
  if (!rc) *ret_at = x.at_ms;
  return rc;
}

int rp_blob_get(rp_session *s, const char *id, int (*write)(void *ctx, const void *bytes, size_t n), void *ctx,
                rp_error *err)
{
  int rc = rp__session_check(s, err);
  if (rc) return rc;
  if (!id || !write) return rp__fail_field(err, RP_E_USAGE, "id", "no blob was named");
  return rp__blob_read(s, id, write, ctx, err);
}

/* ---- what events name ---- */

bool rp__blob_named(struct rp__json body, struct rp__json_iter *it, char ret[RP_BLOB_ID_MAX + 1])
{
  struct rp__json value;
  while (body.type == RP_JSON_OBJECT && rp__json_next(body, it, NULL, &value)) {
    if (value.type != RP_JSON_STRING || value.n != ID_CHARS + 2) continue;
    memcpy(ret, value.p + 1, value.n - 2);
    ret[value.n - 2] = '\0';
    if (rp__blob_id_ok(ret)) return true;
  }
  return false;
}

void rp__blob_ids_done(struct rp__blob_ids *ids)
{
  free(ids->v);
  *ids = (struct rp__blob_ids){0};
}

/* Where the id is, or would be. */
static size_t ids_place(const struct rp__blob_ids *ids, const char *id)
{
  size_t low = 0, high = ids->n;
  while (low < high) {
    size_t mid = (low + high) / 2;
    if (strcmp(ids->v[mid], id) < 0)
      low = mid + 1;
    else
      high = mid;
  }
  return low;
}

bool rp__blob_ids_have(const struct rp__blob_ids *ids, const char *id)
{
  size_t at = ids_place(ids, id);
  return at < ids->n && strcmp(ids->v[at], id) == 0;
}

int rp__blob_ids_add(struct rp__blob_ids *ids, const char *id)
{
  size_t at = ids_place(ids, id);
  if (at < ids->n && strcmp(ids->v[at], id) == 0) return 0;
  if (ids->n == ids->cap) {
    size_t cap = ids->cap ? 2 * ids->cap : 16;
    void *v = reallocarray(ids->v, cap, sizeof *ids->v);
    if (!v) return RP_E_NOMEM;
    ids->v = v;
    ids->cap = cap;
  }
  memmove(&ids->v[at + 1], &ids->v[at], (ids->n++ - at) * sizeof *ids->v);
  snprintf(ids->v[at], sizeof *ids->v, "%s", id);
  return 0;
}

int rp__blob_ids_note(struct rp__blob_ids *ids, struct rp__json body)
{
  struct rp__json_iter it = {0};
  char id[RP_BLOB_ID_MAX + 1];
  int rc = 0;
  while (!rc && rp__blob_named(body, &it, id)) rc = rp__blob_ids_add(ids, id);
  return rc;
}
