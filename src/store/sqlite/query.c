/* SPDX-License-Identifier: Apache-2.0 */
/* Prepared statements: binding, stepping, reading and resetting them. */
#include "store/sqlite/sqlite.h"

struct rp__sq_q rp__sq_query(struct rp__sq_conn *c, enum rp__sq_id id)
{
  struct rp__sq_q q = {.c = c, .st = c->stmt[id]};
  if (!q.st) {
    q.rc = sqlite3_prepare_v3(c->db, rp__sq_sql[id], -1, SQLITE_PREPARE_PERSISTENT, &q.st, NULL);
    c->stmt[id] = q.st;
  }
  return q;
}

void rp__sq_reset(struct rp__sq_q *q)
{
  /* A failed step was reported when it happened; reset only repeats its code. */
  if (q->st) (void)sqlite3_reset(q->st);
}

static void bound(struct rp__sq_q *q, int rc)
{
  if (q->rc == SQLITE_OK) q->rc = rc;
}

void rp__sq_int(struct rp__sq_q *q, int i, int64_t v)
{
  if (q->rc == SQLITE_OK) bound(q, sqlite3_bind_int64(q->st, i, v));
}

void rp__sq_text(struct rp__sq_q *q, int i, const char *s)
{
  if (q->rc != SQLITE_OK) return;
  bound(q, s && s[0] ? sqlite3_bind_text(q->st, i, s, -1, SQLITE_STATIC) : sqlite3_bind_null(q->st, i));
}

void rp__sq_textn(struct rp__sq_q *q, int i, const char *s, size_t n)
{
  if (q->rc == SQLITE_OK) bound(q, sqlite3_bind_text64(q->st, i, s ? s : "", n, SQLITE_STATIC, SQLITE_UTF8));
}

void rp__sq_blob(struct rp__sq_q *q, int i, const void *p, size_t n)
{
  if (q->rc == SQLITE_OK) bound(q, sqlite3_bind_blob64(q->st, i, p ? p : "", n, SQLITE_STATIC));
}

void rp__sq_bytes(struct rp__sq_q *q, int i, const void *p, size_t n)
{
  if (q->rc != SQLITE_OK) return;
  bound(q, n ? sqlite3_bind_blob64(q->st, i, p, n, SQLITE_STATIC) : sqlite3_bind_null(q->st, i));
}

void rp__sq_real(struct rp__sq_q *q, int i, double v)
{
  if (q->rc == SQLITE_OK) bound(q, sqlite3_bind_double(q->st, i, v));
}

void rp__sq_null(struct rp__sq_q *q, int i)
{
  if (q->rc == SQLITE_OK) bound(q, sqlite3_bind_null(q->st, i));
}

void rp__sq_bind(struct rp__sq_q *q, const struct rp__sq_value *values, size_t n)
{
  for (size_t k = 0; k < n; k++) {
    const struct rp__sq_value *v = &values[k];
    int i = (int)k + 1;
    switch (v->kind) {
    case RP_SQ_INT: rp__sq_int(q, i, v->i); break;
    case RP_SQ_TEXT: rp__sq_text(q, i, v->p); break;
    case RP_SQ_TEXTN: rp__sq_textn(q, i, v->p, v->n); break;
    case RP_SQ_BLOB: rp__sq_blob(q, i, v->p, v->n); break;
    case RP_SQ_BYTES: rp__sq_bytes(q, i, v->p, v->n); break;
    case RP_SQ_REAL: rp__sq_real(q, i, v->d); break;
    }
  }
}

int rp__sq_next(struct rp__sq_q *q, const char *doing, rp_error *err)
{
  if (q->rc == SQLITE_OK) {
    int rc = sqlite3_step(q->st);
    if (rc == SQLITE_ROW) return 1;
    if (rc == SQLITE_DONE) return 0;
    q->rc = rc;
  }
  return rp__sq_fail(q->c, q->rc, doing, err);
}

int rp__sq_done(struct rp__sq_q *q, const char *doing, rp_error *err)
{
  int rc;
  do {
    rc = rp__sq_next(q, doing, err);
  } while (rc > 0);
  return rc;
}

int64_t rp__sq_col_int(struct rp__sq_q *q, int col)
{
  return sqlite3_column_int64(q->st, col);
}

int64_t rp__sq_col_count(struct rp__sq_q *q, int col)
{
  int64_t v = rp__sq_col_int(q, col);
  return v < 0 || v > RP_SEQ_MAX ? RP_SEQ_MAX : v;
}

int64_t rp__sq_col_time(struct rp__sq_q *q, int col)
{
  int64_t v = rp__sq_col_int(q, col);
  return RP_MAX(-RP_SEQ_MAX, RP_MIN(v, RP_SEQ_MAX));
}

double rp__sq_col_real(struct rp__sq_q *q, int col)
{
  return sqlite3_column_double(q->st, col);
}

struct rp__str rp__sq_col_bytes(struct rp__sq_q *q, int col)
{
  const char *p = sqlite3_column_blob(q->st, col);
  return (struct rp__str){p ? p : "", p ? (size_t)sqlite3_column_bytes(q->st, col) : 0};
}

void rp__sq_col_str(struct rp__sq_q *q, int col, char *out, size_t size)
{
  struct rp__str s = rp__sq_col_bytes(q, col);
  size_t n = RP_MIN(s.n, size - 1);
  memcpy(out, s.p, n);
  out[n] = '\0';
}

void rp__sq_col_fixed(struct rp__sq_q *q, int col, void *out, size_t size)
{
  struct rp__str s = rp__sq_col_bytes(q, col);
  memset(out, 0, size);
  memcpy(out, s.p, RP_MIN(s.n, size));
}

int rp__sq_number(struct rp__sq_conn *c, enum rp__sq_id id, int64_t *arg, int64_t otherwise, int64_t *ret,
                  rp_error *err)
{
  RP_SQ_AUTO q = rp__sq_query(c, id);
  if (arg) rp__sq_int(&q, 1, *arg);
  int rc = rp__sq_next(&q, "read", err);
  if (rc < 0) return rc;
  *ret = rc ? rp__sq_col_int(&q, 0) : otherwise;
  return 0;
}

int rp__sq_meta_get(struct rp__sq_conn *c, const char *name, int64_t otherwise, int64_t *ret, rp_error *err)
{
  RP_SQ_AUTO q = rp__sq_query(c, RP_SQ_META_GET);
  rp__sq_text(&q, 1, name);
  int rc = rp__sq_next(&q, "read rp_meta", err);
  if (rc < 0) return rc;
  *ret = rc ? rp__sq_col_int(&q, 0) : otherwise;
  return 0;
}

int rp__sq_meta_set(struct rp__sq_conn *c, const char *name, int64_t value, rp_error *err)
{
  RP_SQ_AUTO q = rp__sq_query(c, RP_SQ_META_SET);
  rp__sq_text(&q, 1, name);
  rp__sq_int(&q, 2, value);
  return rp__sq_done(&q, "write rp_meta", err);
}
