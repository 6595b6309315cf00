/* SPDX-License-Identifier: Apache-2.0 */
/* All blobs of a session: listed, masked again, checked. */
#include "core/mask.h"
#include "engine/blob.h"

#define ORPHAN_MS (3600 * 1000LL) /* the event that names a blob comes after it: until then nobody is missed */

static int on_listed(void *ctx, const struct rp__blob_row *row)
{
  return rp__blob_ids_add(ctx, row->id);
}

int rp__blobs_list(rp_session *s, struct rp__blob_ids *ret, rp_error *err)
{
  int rc = s->e->store->ops->blob_list(s->e->store, s->ref, NULL, on_listed, ret, err);
  return rc == RP_E_NOMEM ? rp__fail_nomem(err) : rc;
}

/* ---- masking again ---- */

static int mask_one(rp_session *s, const struct rp__redactor *r, const char *id, bool dry_run, size_t *ret_hits,
                    rp_error *err)
{
  struct rp__buf bytes RP_AUTOBUF = RP_BUF(RP_BLOB_MAX), out RP_AUTOBUF = RP_BUF(2 * RP_BLOB_MAX);
  struct rp__blob_new b = {0};
  struct rp__str masked;
  int rc = rp__blob_read_all(s, id, &bytes, &b.at_ms, err);
  if (rc) return rc;
  rc = rp__mask_bytes(r, bytes.p, bytes.n, &out, &masked, ret_hits);
  if (rc) return rp__fail(err, rc, "blob %s can't be masked", id);
  if (!*ret_hits || dry_run) return 0;
  snprintf(b.id, sizeof b.id, "%s", id);
  b.bytes = masked.p;
  b.n = masked.n;
  return rp__blob_write(s, RP_OP_BLOB_SET, &b, RP_DISK, NULL, err);
}

int rp__blobs_mask(rp_session *s, const struct rp__redactor *r, bool dry_run, int64_t *blobs, int64_t *secrets,
                   rp_error *err)
{
  struct rp__blob_ids ids RP_CLEANUP(rp__blob_ids_done) = {0};
  int rc = rp__blobs_list(s, &ids, err);
  for (size_t i = 0; !rc && i < ids.n; i++) {
    size_t hits = 0;
    rc = mask_one(s, r, ids.v[i], dry_run, &hits, err);
    if (rc == RP_E_BLOB_NOT_FOUND) rc = 0; /* somebody took it away meanwhile */
    *blobs += hits > 0;
    *secrets += (int64_t)hits;
  }
  return rc;
}

/* ---- checking ---- */

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

/* What is lost reads as nothing from then on, so that it is told of once. */
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

static int check_bytes(struct check *c, const char *id)
{
  rp_error why = {0};
  int rc = rp__blob_read(c->s, id, ignore_piece, NULL, &why);
  if (!rc || rc == RP_E_BLOB_NOT_FOUND) return 0;
  if (rc != RP_E_CORRUPT) {
    *c->err = why;
    return rc;
  }
  rc = leave_empty(c, id);
  return rc ? rc : tell(c, false, "blob %s is damaged", id);
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
  return rp__blob_ids_add(&o->ids, row->id);
}

static int check_orphans(struct check *c, const struct rp__blob_ids *named)
{
  rp_session *s = c->s;
  struct orphans o = {.named = named, .before = rp__engine_now(s->e) - ORPHAN_MS};
  int rc = s->e->store->ops->blob_list(s->e->store, s->ref, NULL, on_orphan, &o, c->err);
  if (rc == RP_E_NOMEM) rp__fail_nomem(c->err);
  for (size_t i = 0; !rc && i < o.ids.n; i++) {
    if (c->repair) rc = rp__blob_delete(s, o.ids.v[i], c->err);
    if (!rc) rc = tell(c, true, "no event names blob %s", o.ids.v[i]);
  }
  rp__blob_ids_done(&o.ids);
  return rc;
}

int rp__blobs_check(rp_session *s, const struct rp__blob_ids *named, bool repair, rp__blob_finding_fn *fn, void *ctx,
                    rp_error *err)
{
  struct check c = {s, repair, fn, ctx, err};
  struct rp__blob_ids ids RP_CLEANUP(rp__blob_ids_done) = {0};
  int rc = rp__blobs_list(s, &ids, err);
  for (size_t i = 0; !rc && i < ids.n; i++) rc = check_bytes(&c, ids.v[i]);
  for (size_t i = 0; !rc && i < named->n; i++) {
    if (rp__blob_ids_have(&ids, named->v[i])) continue;
    rc = leave_empty(&c, named->v[i]);
    if (!rc) rc = tell(&c, false, "blob %s, which an event names, is missing", named->v[i]);
  }
  return rc ? rc : check_orphans(&c, named);
}
