/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blobs: bytes too large for an event, masked like an event, packed, sealed with their scope, stored as a row of their
 * session.
 *
 * An id is random, and a hash beside it finds the same bytes again. An id made from the bytes would still reveal
 * something about a secret after a redaction has removed the secret from the bytes: events name the id, so it can't
 * change. The hash includes the session, and is keyed in a sealed scope, so that nobody without the key can test
 * guesses of the bytes.
 */
#include "engine/journal/blob.h"

#include <sodium.h>

#include "engine/journal/append.h"

#define ORPHAN_MS (3600 * 1000LL) /* the event that names a blob comes after it: until then nobody is missed */

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

int rp__blob_write(rp_session *s, enum rp__op_type type, const struct rp__blob_new *b, rp_durability d, char *ret_id,
                   rp_error *err)
{
  struct rp__blob_row row = {.at_ms = b->at_ms, .raw_size = (int64_t)b->n, .sealed = s->key != NULL};
  struct rp__buf packed RP_AUTOBUF = RP_BUF(RP_PACK_MAX);
  char ad[RP_NAME + RP_BLOB_ID_MAX + 1], id[RP_BLOB_ID_MAX + 1];
  unsigned char random[ID_BYTES];
  size_t word = sizeof ID_WORD - 1;
  memcpy(row.id, b->id, sizeof row.id);
  if (!b->id[0]) {
    rp__system_random.fill(rp__system_random.ctx, random, sizeof random);
    memcpy(row.id, ID_WORD, word);
    sodium_bin2hex(row.id + word, sizeof row.id - word, random, sizeof random);
  }
  crypto_generichash_state st;
  crypto_generichash_init(&st, s->key ? s->key->bytes : NULL, s->key ? sizeof s->key->bytes : 0, RP_BLOB_HASH);
  crypto_generichash_update(&st, (const unsigned char *)s->id, strlen(s->id) + 1);
  crypto_generichash_update(&st, b->bytes, b->n);
  crypto_generichash_final(&st, row.hash, RP_BLOB_HASH);
  int rc = rp__pack(b->bytes, b->n, s->key, &rp__system_random, blob_ad(s, row.id, ad), &packed, err);
  if (rc) return rc;
  row.data = packed.p;
  row.size = (int64_t)packed.n;
  struct rp__op op = {.type = type,
                      RP__OP_OF(s->e, s),
                      .epoch = s->epoch,
                      .copying = s->copying,
                      .u.blob = {.row = &row, .ret_id = id}};
  rc = rp__engine_commit(s->e, &op, 1, d, err);
  if (rc == RP_E_FENCED && s->epoch) atomic_store(&s->fenced, true);
  if (!rc && ret_id) memcpy(ret_id, id, sizeof id);
  return rc;
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
  rc = rp__journal_check_trashed(s, err);
  if (rc) return rc;
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

int rp__blob_read_all(rp_session *s, const char *id, struct rp__buf *out, int64_t *ret_at, rp_error *err)
{
  struct read_ctx x = {.s = s, .fn = rp__container_collect, .ctx = out, .err = err};
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

static int ids_add(struct rp__blob_ids *ids, const char *id)
{
  size_t at = ids_place(ids, id);
  if (at < ids->n && strcmp(ids->v[at], id) == 0) return 0;
  if (!RP__ROOM(ids->v, ids->n, ids->cap)) return RP_E_NOMEM;
  memmove(&ids->v[at + 1], &ids->v[at], (ids->n++ - at) * sizeof *ids->v);
  snprintf(ids->v[at], sizeof *ids->v, "%s", id);
  return 0;
}

int rp__blob_ids_note(struct rp__blob_ids *ids, struct rp__json body)
{
  struct rp__json_iter it = {0};
  struct rp__json value;
  int rc = 0;
  while (!rc && body.type == RP_JSON_OBJECT && rp__json_next(body, &it, NULL, &value)) {
    char id[ID_CHARS + 1] = "";
    if (value.type == RP_JSON_STRING && value.n == ID_CHARS + 2) memcpy(id, value.p + 1, ID_CHARS);
    if (rp__blob_id_ok(id)) rc = ids_add(ids, id);
  }
  return rc;
}

/* ---- all blobs of a session ---- */

static int on_listed(void *ctx, const struct rp__blob_row *row)
{
  return ids_add(ctx, row->id);
}

int rp__blobs_list(rp_session *s, struct rp__blob_ids *ret, rp_error *err)
{
  int rc = s->e->store->ops->blob_list(s->e->store, s->ref, NULL, on_listed, ret, err);
  return rc == RP_E_NOMEM ? rp__fail_nomem(err) : rc;
}

int rp__blobs_mask(rp_session *s, const struct rp__redactor *r, bool dry_run, int64_t *blobs, int64_t *secrets,
                   rp_error *err)
{
  struct rp__blob_ids ids RP_CLEANUP(rp__blob_ids_done) = {0};
  int rc = rp__blobs_list(s, &ids, err);
  for (size_t i = 0; !rc && i < ids.n; i++) {
    struct rp__buf bytes RP_AUTOBUF = RP_BUF(RP_BLOB_MAX), out RP_AUTOBUF = RP_BUF(2 * RP_BLOB_MAX);
    struct rp__blob_new b = {0};
    struct rp__str masked;
    size_t hits = 0;
    rc = rp__blob_read_all(s, ids.v[i], &bytes, &b.at_ms, err);
    if (!rc && (rc = rp__mask_bytes(r, bytes.p, bytes.n, &out, &masked, &hits)))
      rp__fail(err, rc, "blob %s can't be masked", ids.v[i]);
    if (!rc && hits && !dry_run) {
      snprintf(b.id, sizeof b.id, "%s", ids.v[i]);
      b.bytes = masked.p;
      b.n = masked.n;
      rc = rp__blob_write(s, RP_OP_BLOB_SET, &b, RP_DISK, NULL, err);
    }
    if (rc == RP_E_BLOB_NOT_FOUND) rc = 0; /* somebody took it away meanwhile */
    *blobs += hits > 0;
    *secrets += (int64_t)hits;
  }
  return rc;
}

struct check {
  rp_session *s;
  bool repair;
  rp__blob_finding_fn *fn;
  void *ctx;
  rp_error *err;
};

static int tell(struct check *c, bool note, const char *fmt, ...) RP_PRINTF(3, 4);
static int tell(struct check *c, bool note, const char *fmt, ...)
{
  char what[400];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(what, sizeof what, fmt, ap);
  va_end(ap);
  return c->fn(c->ctx, what, note);
}

/* A lost blob reads as empty from then on, so that its loss is told once. */
static int leave_empty(struct check *c, const char *id)
{
  struct rp__blob_new b = {.at_ms = rp__engine_now(c->s->e), .bytes = ""};
  if (!c->repair) return 0;
  snprintf(b.id, sizeof b.id, "%s", id);
  return rp__blob_write(c->s, RP_OP_BLOB_SET, &b, RP_DISK, NULL, c->err);
}

static int ignore_piece(void *ctx, const void *bytes, size_t n)
{
  (void)ctx, (void)bytes, (void)n;
  return 0;
}

struct orphans {
  const struct rp__blob_ids *named;
  struct rp__blob_ids ids;
  int64_t before;
};

static int on_orphan(void *ctx, const struct rp__blob_row *row)
{
  struct orphans *o = ctx;
  if (row->at_ms > o->before || rp__blob_ids_have(o->named, row->id)) return 0;
  return ids_add(&o->ids, row->id);
}

int rp__blobs_check(rp_session *s, const struct rp__blob_ids *named, bool repair, rp__blob_finding_fn *fn, void *ctx,
                    rp_error *err)
{
  struct check c = {s, repair, fn, ctx, err};
  struct rp__blob_ids ids RP_CLEANUP(rp__blob_ids_done) = {0};
  struct orphans o = {.named = named, .before = rp__engine_now(s->e) - ORPHAN_MS};
  int rc = rp__blobs_list(s, &ids, err);
  for (size_t i = 0; !rc && i < ids.n; i++) {
    rp_error why = {0};
    rc = rp__blob_read(s, ids.v[i], ignore_piece, NULL, &why);
    if (rc == RP_E_CORRUPT) {
      rc = leave_empty(&c, ids.v[i]);
      if (!rc) rc = tell(&c, false, "blob %s is damaged", ids.v[i]);
    } else if (rc == RP_E_BLOB_NOT_FOUND) {
      rc = 0;
    } else if (rc) {
      *err = why;
    }
  }
  for (size_t i = 0; !rc && i < named->n; i++) {
    if (rp__blob_ids_have(&ids, named->v[i])) continue;
    rc = leave_empty(&c, named->v[i]);
    if (!rc) rc = tell(&c, false, "blob %s, which an event names, is missing", named->v[i]);
  }
  if (!rc) rc = s->e->store->ops->blob_list(s->e->store, s->ref, NULL, on_orphan, &o, err);
  if (rc == RP_E_NOMEM) rp__fail_nomem(err);
  for (size_t i = 0; !rc && i < o.ids.n; i++) {
    struct rp__blob_row row = {0};
    snprintf(row.id, sizeof row.id, "%s", o.ids.v[i]);
    struct rp__op op = {.type = RP_OP_BLOB_DELETE, RP__OP_OF(s->e, s), .u.blob.row = &row};
    if (repair) rc = rp__engine_commit(s->e, &op, 1, RP_DISK, err);
    if (!rc) rc = tell(&c, true, "no event names blob %s", o.ids.v[i]);
  }
  rp__blob_ids_done(&o.ids);
  return rc;
}
