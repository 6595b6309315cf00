/* SPDX-License-Identifier: Apache-2.0 */
/* Blobs: rows with large data, which is read only when a blob is asked for. */
#include "store/sqlite/sqlite.h"

#define BLOB_PAGE 64

/* 1: the session has one of that id, 0: it has not. */
static int blob_exists(struct rp__sq_conn *c, int64_t session, const char *id, rp_error *err)
{
  RP_SQ_AUTO q = rp__sq_query(c, RP_SQ_BLOB_EXISTS);
  RP_SQ_BIND(&q, RP_SQ_I(session), RP_SQ_T(id));
  return rp__sq_next(&q, "find blob", err);
}

/* Puts a new row in, or new bytes into the row of that id. */
static int blob_write(struct rp__sq_conn *c, enum rp__sq_id statement, int64_t session, const struct rp__blob_row *row,
                      rp_error *err)
{
  RP_SQ_AUTO q = rp__sq_query(c, statement);
  RP_SQ_BIND(&q, RP_SQ_I(session), RP_SQ_T(row->id), RP_SQ_I(row->at_ms), RP_SQ_I(row->raw_size), RP_SQ_I(row->size),
             RP_SQ_I(row->sealed), RP_SQ_B(row->hash, sizeof row->hash), RP_SQ_B(row->data, (size_t)row->size));
  return rp__sq_done(&q, "write blob", err);
}

int rp__sq_blob_put(struct rp__sq_conn *c, struct rp__op *op, rp_error *err)
{
  const struct rp__blob_row *row = op->u.blob.row;
  struct rp__session_row session;
  char id[RP_BLOB_ID_MAX + 1];
  int rc = rp__sq_head(c, op, &session, err);
  if (rc == 0) rc = rp__rule_blob(op, &session, err);
  /* 1: the same bytes are there, as `id`. */
  if (rc == 0) {
    RP_SQ_AUTO q = rp__sq_query(c, RP_SQ_BLOB_SAME);
    RP_SQ_BIND(&q, RP_SQ_I(session.ref), RP_SQ_B(row->hash, sizeof row->hash), RP_SQ_I(row->raw_size));
    rc = rp__sq_next(&q, "find blob", err);
    if (rc > 0) rp__sq_col_str(&q, 0, id, RP_BLOB_ID_MAX + 1);
  }
  if (rc < 0) return rc;
  op->ret.repeated = rc > 0;
  if (!op->ret.repeated) {
    rc = blob_exists(c, session.ref, row->id, err);
    if (rc > 0) return rp__refuse_blob_id(row->id, err);
    if (rc == 0) rc = blob_write(c, RP_SQ_BLOB_PUT, session.ref, row, err);
    if (rc != 0) return rc;
  }
  if (op->u.blob.ret_id) memcpy(op->u.blob.ret_id, op->ret.repeated ? id : row->id, sizeof id);
  return 0;
}

int rp__sq_blob_set(struct rp__sq_conn *c, struct rp__op *op, rp_error *err)
{
  struct rp__session_row session;
  int rc = rp__sq_head(c, op, &session, err);
  if (rc == 0) rc = blob_exists(c, session.ref, op->u.blob.row->id, err);
  if (rc < 0) return rc;
  return blob_write(c, rc > 0 ? RP_SQ_BLOB_REPLACE : RP_SQ_BLOB_PUT, session.ref, op->u.blob.row, err);
}

int rp__sq_blob_delete(struct rp__sq_conn *c, struct rp__op *op, rp_error *err)
{
  struct rp__session_row session;
  int rc = rp__sq_head(c, op, &session, err);
  if (rc != 0) return rc;
  RP_SQ_AUTO q = rp__sq_query(c, RP_SQ_BLOB_DELETE);
  RP_SQ_BIND(&q, RP_SQ_I(session.ref), RP_SQ_T(op->u.blob.row->id));
  rc = rp__sq_done(&q, "delete blob", err);
  if (rc != 0) return rc;
  return sqlite3_changes(c->db) > 0 ? 0 : rp__refuse_blob(op->u.blob.row->id, err);
}

/* ---- reading ---- */

static void blob_read(struct rp__sq_q *q, struct rp__blob_row *ret)
{
  *ret = (struct rp__blob_row){.at_ms = rp__sq_col_time(q, 1),
                               .raw_size = rp__sq_col_count(q, 2),
                               .size = rp__sq_col_count(q, 3),
                               .sealed = rp__sq_col_int(q, 4) != 0};
  rp__sq_col_str(q, 0, ret->id, sizeof ret->id);
  rp__sq_col_fixed(q, 5, ret->hash, sizeof ret->hash);
}

/* One blob with its data, which goes into `data`. */
static int blob_get(struct rp__sq_store *s, int64_t session, const char *id, struct rp__blob_row *ret,
                    struct rp__buf *data, rp_error *err)
{
  RP_AUTOREADER struct rp__sq_conn *c = NULL;
  int rc = rp__sq_reader_take(s, &c, err);
  if (rc != 0) return rc;
  RP_SQ_AUTO q = rp__sq_query(c, RP_SQ_BLOB_GET);
  RP_SQ_BIND(&q, RP_SQ_I(session), RP_SQ_T(id));
  rc = rp__sq_next(&q, "read blob", err);
  if (rc < 0) return rc;
  if (rc == 0) return rp__refuse_blob(id, err);
  blob_read(&q, ret);
  struct rp__str bytes = rp__sq_col_bytes(&q, 6);
  rp__buf_add(data, bytes.p, bytes.n);
  /* A row whose data was cut or grew is handed on as it is: the container's own checksum tells. */
  ret->size = (int64_t)bytes.n;
  return data->err ? rp__fail(err, data->err, "blob %s does not fit into memory", id) : 0;
}

/* At most BLOB_PAGE rows behind `after`. Their number, or an error. */
static int page_read(struct rp__sq_store *s, int64_t session, const char *after, struct rp__blob_row *rows,
                     rp_error *err)
{
  RP_AUTOREADER struct rp__sq_conn *c = NULL;
  int n = 0, rc = rp__sq_reader_take(s, &c, err);
  if (rc != 0) return rc;
  RP_SQ_AUTO q = rp__sq_query(c, RP_SQ_BLOB_PAGE);
  rp__sq_int(&q, 1, session);
  rp__sq_textn(&q, 2, after, strlen(after)); /* the empty text, no NULL */
  rp__sq_int(&q, 3, BLOB_PAGE);
  while (n < BLOB_PAGE && (rc = rp__sq_next(&q, "list blobs", err)) > 0) blob_read(&q, &rows[n++]);
  return rc < 0 ? rc : n;
}

int rp__sq_blob_list(struct rp__store *base, int64_t session_ref, const char *id, rp__blob_fn *fn, void *ctx,
                     rp_error *err)
{
  struct rp__sq_store *s = rp__sq(base);
  struct rp__blob_row rows[BLOB_PAGE];
  char after[RP_BLOB_ID_MAX + 1] = "";
  if (id) {
    RP_AUTOBUF struct rp__buf data = RP_BUF(1UL << 30);
    int rc = blob_get(s, session_ref, id, rows, &data, err);
    if (rc != 0) return rc;
    rows[0].data = data.p ? data.p : "";
    return fn(ctx, rows);
  }
  for (int got = BLOB_PAGE; got == BLOB_PAGE;) {
    got = page_read(s, session_ref, after, rows, err);
    if (got < 0) return got;
    for (int i = 0; i < got; i++) {
      int rc = fn(ctx, &rows[i]);
      if (rc != 0) return rc;
    }
    if (got > 0) memcpy(after, rows[got - 1].id, sizeof after);
  }
  return 0;
}
