/* SPDX-License-Identifier: Apache-2.0 */
/* Bearer tokens: a handful of rows, found by their ids. */
#include "store/sqlite/sqlite.h"

#define TOKEN_PAGE 64

static void token_read(struct rp__sq_q *q, struct rp__token_row *ret, int64_t *ret_ref)
{
  *ret = (struct rp__token_row){.read_only = rp__sq_col_int(q, 4) != 0,
                                .created_at = rp__sq_col_time(q, 6),
                                .expires_at = rp__sq_col_time(q, 7),
                                .last_used_at = rp__sq_col_time(q, 8)};
  *ret_ref = rp__sq_col_int(q, 0);
  rp__sq_col_str(q, 1, ret->id, sizeof ret->id);
  rp__sq_col_str(q, 2, ret->name, sizeof ret->name);
  rp__sq_col_str(q, 3, ret->scope, sizeof ret->scope);
  rp__sq_col_fixed(q, 5, ret->hash, sizeof ret->hash);
}

/* 1, or 0 when there is none. */
static int token_find(struct rp__sq_conn *c, const char *id, struct rp__token_row *ret, rp_error *err)
{
  int64_t ref;
  RP_SQ_AUTO q = rp__sq_query(c, RP_SQ_TOKEN_GET);
  rp__sq_text(&q, 1, id);
  int rc = rp__sq_next(&q, "read token", err);
  if (rc > 0) token_read(&q, ret, &ref);
  return rc;
}

int rp__sq_token_put(struct rp__sq_conn *c, struct rp__op *op, rp_error *err)
{
  const struct rp__token_row *row = op->u.token.row;
  struct rp__token_row there;
  int rc = token_find(c, row->id, &there, err);
  if (rc != 0) return rc < 0 ? rc : rp__refuse_token_id(row, err);
  RP_SQ_AUTO q = rp__sq_query(c, RP_SQ_TOKEN_PUT);
  RP_SQ_BIND(&q, RP_SQ_T(row->id), RP_SQ_T(row->name), RP_SQ_T(row->scope), RP_SQ_I(row->read_only),
             RP_SQ_B(row->hash, sizeof row->hash), RP_SQ_I(row->created_at), RP_SQ_I(row->expires_at),
             RP_SQ_I(row->last_used_at));
  return rp__sq_done(&q, "write token", err);
}

int rp__sq_token_used(struct rp__sq_conn *c, struct rp__op *op, rp_error *err)
{
  RP_SQ_AUTO q = rp__sq_query(c, RP_SQ_TOKEN_USED);
  RP_SQ_BIND(&q, RP_SQ_T(op->u.token.row->id), RP_SQ_I(op->u.token.row->last_used_at));
  return rp__sq_done(&q, "write token", err);
}

int rp__sq_token_delete(struct rp__sq_conn *c, struct rp__op *op, rp_error *err)
{
  RP_SQ_AUTO q = rp__sq_query(c, RP_SQ_TOKEN_DELETE);
  rp__sq_text(&q, 1, op->u.token.row->id);
  int rc = rp__sq_done(&q, "delete token", err);
  if (rc != 0) return rc;
  return sqlite3_changes(c->db) > 0 ? 0 : rp__refuse_token(op->u.token.row, err);
}

/* At most TOKEN_PAGE rows made after *at, which moves on. Their number, or an error. */
static int page_read(struct rp__sq_store *s, int64_t *at, struct rp__token_row *rows, rp_error *err)
{
  RP_AUTOREADER struct rp__sq_conn *c = NULL;
  int n = 0, rc = rp__sq_reader_take(s, &c, err);
  if (rc != 0) return rc;
  RP_SQ_AUTO q = rp__sq_query(c, RP_SQ_TOKEN_PAGE);
  RP_SQ_BIND(&q, RP_SQ_I(*at), RP_SQ_I(TOKEN_PAGE));
  while (n < TOKEN_PAGE && (rc = rp__sq_next(&q, "read tokens", err)) > 0) token_read(&q, &rows[n++], at);
  return rc < 0 ? rc : n;
}

int rp__sq_token_list(struct rp__store *base, const char *id, rp__token_fn *fn, void *ctx, rp_error *err)
{
  int64_t at = 0;
  int n = TOKEN_PAGE;
  if (id) {
    struct rp__sq_conn *c = NULL;
    struct rp__token_row row;
    int rc = rp__sq_reader_take(rp__sq(base), &c, err);
    if (rc != 0) return rc;
    rc = token_find(c, id, &row, err);
    rp__sq_reader_give(c);
    return rc > 0 ? fn(ctx, &row) : rc;
  }
  RP_AUTOFREE struct rp__token_row *rows = malloc(TOKEN_PAGE * sizeof *rows);
  if (!rows) return rp__fail_nomem(err);
  while (n == TOKEN_PAGE) {
    n = page_read(rp__sq(base), &at, rows, err);
    for (int i = 0; i < n; i++) {
      int rc = fn(ctx, &rows[i]);
      if (rc != 0) return rc;
    }
  }
  return RP_MIN(n, 0);
}
