/* SPDX-License-Identifier: Apache-2.0 */
/* The audit chain of each scope. One transaction reads the head of the chain and adds the next record. */
#include "store/sqlite/sqlite.h"

#define AUDIT_PAGE 64

static int head_read(struct rp__sq_conn *c, const char *scope, struct rp__audit_row *ret, rp_error *err)
{
  RP_SQ_AUTO q = rp__sq_query(c, RP_SQ_AUDIT_HEAD);
  rp__sq_text(&q, 1, scope);
  int rc = rp__sq_next(&q, "read audit head", err);
  if (rc <= 0) return rc;
  ret->n = rp__sq_col_count(&q, 0);
  rp__sq_col_fixed(&q, 1, ret->hash, sizeof ret->hash);
  return 0;
}

static int row_write(struct rp__sq_conn *c, const struct rp__audit_row *row, rp_error *err)
{
  RP_SQ_AUTO q = rp__sq_query(c, RP_SQ_AUDIT_PUT);
  RP_SQ_BIND(&q, RP_SQ_T(row->scope), RP_SQ_I(row->n), RP_SQ_I(row->at_ms), RP_SQ_T(row->event));
  if (!row->fields.p)
    rp__sq_null(&q, 5);
  else if (row->sealed)
    rp__sq_blob(&q, 5, row->fields.p, row->fields.n);
  else
    rp__sq_textn(&q, 5, row->fields.p, row->fields.n);
  rp__sq_int(&q, 6, row->sealed);
  rp__sq_blob(&q, 7, row->salt, sizeof row->salt);
  rp__sq_blob(&q, 8, row->digest, sizeof row->digest);
  rp__sq_blob(&q, 9, row->prev, sizeof row->prev);
  rp__sq_blob(&q, 10, row->hash, sizeof row->hash);
  return rp__sq_done(&q, "write audit", err);
}

int rp__sq_audit_put(struct rp__sq_conn *c, struct rp__op *op, rp_error *err)
{
  struct rp__audit_row row = {0};
  int rc = head_read(c, op->u.audit.scope, &row, err);
  if (rc != 0) return rc;
  rp__rule_audit(op, &row);
  rc = row_write(c, &row, err);
  if (rc == 0) {
    RP_SQ_AUTO q = rp__sq_query(c, RP_SQ_AUDIT_HEAD_SET);
    RP_SQ_BIND(&q, RP_SQ_T(row.scope), RP_SQ_I(row.n), RP_SQ_B(row.hash, sizeof row.hash));
    rc = rp__sq_done(&q, "write audit head", err);
  }
  if (rc) return rc;
  /* All records ever written, counted where neither the records nor the heads are: both may be emptied. */
  int64_t total;
  rc = rp__sq_meta_get(c, "audits", -1, &total, err);
  if (rc == 0 && (total < 0 || total >= RP_SEQ_MAX))
    rc = rp__sq_number(c, RP_SQ_AUDIT_TOTAL, NULL, 0, &total, err);
  else if (rc == 0)
    total++;
  return rc ? rc : rp__sq_meta_set(c, "audits", total, err);
}

int rp__sq_audit_erase(struct rp__sq_conn *c, struct rp__op *op, rp_error *err)
{
  RP_SQ_AUTO q = rp__sq_query(c, RP_SQ_AUDIT_ERASE);
  RP_SQ_BIND(&q, RP_SQ_T(op->u.audit_erase.scope), RP_SQ_I(op->u.audit_erase.n));
  return rp__sq_done(&q, "erase audit", err);
}

int rp__sq_audit_head(struct rp__store *base, const char *scope, struct rp__audit_row *ret, rp_error *err)
{
  RP_AUTOREADER struct rp__sq_conn *c = NULL;
  struct rp__audit_row row = {0};
  rp__name_set(row.scope, scope);
  int rc = rp__sq_reader_take(rp__sq(base), &c, err);
  if (rc == 0) rc = head_read(c, scope, &row, err);
  if (rc == 0) *ret = row;
  return rc;
}

/* ---- list ---- */

struct page {
  struct rp__audit_row rows[AUDIT_PAGE];
  size_t at[AUDIT_PAGE]; /* of each one's fields in `bytes` */
  int n;
  bool last;
  struct rp__buf bytes;
};

static void page_freep(struct page **p)
{
  if (*p) rp__buf_done(&(*p)->bytes);
  free(*p);
}

static int page_read(struct rp__sq_store *s, const char *scope, int64_t after, int max, struct page *p, rp_error *err)
{
  RP_AUTOREADER struct rp__sq_conn *c = NULL;
  int rc = rp__sq_reader_take(s, &c, err);
  p->n = 0;
  rp__buf_reset(&p->bytes);
  if (rc != 0) return rc;
  RP_SQ_AUTO q = rp__sq_query(c, RP_SQ_AUDIT_PAGE);
  RP_SQ_BIND(&q, RP_SQ_T(scope), RP_SQ_I(after), RP_SQ_I(max));
  while (p->n < max && p->bytes.n < RP_SQ_PAGE_BYTES && (rc = rp__sq_next(&q, "read audit", err)) != 0) {
    if (rc < 0) return rc;
    struct rp__audit_row *row = &p->rows[p->n];
    struct rp__str fields = rp__sq_col_bytes(&q, 3);
    *row = (struct rp__audit_row){.n = rp__sq_col_count(&q, 0), .at_ms = rp__sq_col_time(&q, 1)};
    rp__name_set(row->scope, scope);
    rp__sq_col_str(&q, 2, row->event, sizeof row->event);
    row->sealed = rp__sq_col_int(&q, 4) != 0;
    rp__sq_col_fixed(&q, 5, row->salt, sizeof row->salt);
    rp__sq_col_fixed(&q, 6, row->digest, sizeof row->digest);
    rp__sq_col_fixed(&q, 7, row->prev, sizeof row->prev);
    rp__sq_col_fixed(&q, 8, row->hash, sizeof row->hash);
    p->at[p->n] = sqlite3_column_type(q.st, 3) == SQLITE_NULL ? SIZE_MAX : p->bytes.n;
    row->fields.n = fields.n;
    rp__buf_add(&p->bytes, fields.p, fields.n);
    rp__buf_char(&p->bytes, '\0');
    p->n++;
    if (p->bytes.err) return rp__fail(err, p->bytes.err, "an audit record does not fit into memory");
  }
  p->last = rc == 0;
  return 0;
}

int rp__sq_audit_list(struct rp__store *base, const struct rp__audit_filter *f, rp__audit_fn *fn, void *ctx,
                      rp_error *err)
{
  RP_CLEANUP(page_freep) struct page *p = calloc(1, sizeof *p);
  int64_t after = f->after, left = f->limit > 0 ? f->limit : INT64_MAX;
  if (!p) return rp__fail_nomem(err);
  p->bytes = RP_BUF(1UL << 30);
  while (!p->last && left > 0) {
    int rc = page_read(rp__sq(base), f->scope, after, (int)RP_MIN(left, AUDIT_PAGE), p, err);
    if (rc != 0) return rc;
    for (int i = 0; i < p->n; i++) {
      if (p->at[i] != SIZE_MAX) p->rows[i].fields.p = p->bytes.p + p->at[i];
      rc = fn(ctx, &p->rows[i]);
      if (rc != 0) return rc;
    }
    if (p->n > 0) after = p->rows[p->n - 1].n;
    left -= p->n;
  }
  return 0;
}
