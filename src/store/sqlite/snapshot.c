/* SPDX-License-Identifier: Apache-2.0 */
/* Snapshots as rows. A number is never used twice in a session. */
#include "store/sqlite/sqlite.h"

/* Moves the head to the snapshot at `seq`; the tail is what comes after. */
static int head_snapshot(struct rp__sq_conn *c, const struct rp__session_row *row, int64_t seq, rp_error *err)
{
  int64_t tail = 0;
  int rc = 0;
  if (seq < row->last_seq) {
    RP_SQ_AUTO q = rp__sq_query(c, RP_SQ_EVENT_BYTES);
    RP_SQ_BIND(&q, RP_SQ_I(row->ref), RP_SQ_I(seq));
    rc = rp__sq_next(&q, "count events", err);
    if (rc < 0) return rc;
    tail = rp__sq_col_count(&q, 1);
  }
  RP_SQ_AUTO q = rp__sq_query(c, RP_SQ_HEAD_SNAPSHOT);
  RP_SQ_BIND(&q, RP_SQ_I(row->ref), RP_SQ_I(seq), RP_SQ_I(tail));
  return rp__sq_done(&q, "write session", err);
}

static int snapshot_number(struct rp__sq_conn *c, int64_t session, int64_t *ret, rp_error *err)
{
  RP_SQ_AUTO q = rp__sq_query(c, RP_SQ_HEAD_NUMBER);
  rp__sq_int(&q, 1, session);
  int rc = rp__sq_next(&q, "number snapshot", err);
  if (rc < 0) return rc;
  *ret = rp__sq_col_int(&q, 0);
  return rp__sq_done(&q, "number snapshot", err);
}

static int snapshot_write(struct rp__sq_conn *c, int64_t session, int64_t n, const struct rp__snapshot_row *row,
                          rp_error *err)
{
  RP_SQ_AUTO q = rp__sq_query(c, RP_SQ_SNAPSHOT_PUT);
  RP_SQ_BIND(&q, RP_SQ_I(session), RP_SQ_I(n), RP_SQ_I(row->seq), RP_SQ_I(row->at_ms), RP_SQ_I(row->raw_size),
             RP_SQ_I(row->size), RP_SQ_I(row->sealed), RP_SQ_T(row->reason), RP_SQ_B(row->data, (size_t)row->size));
  return rp__sq_done(&q, "write snapshot", err);
}

int rp__sq_snapshot_put(struct rp__sq_conn *c, struct rp__op *op, rp_error *err)
{
  const struct rp__snapshot_row *snap = op->u.snapshot_put.row;
  struct rp__session_row row;
  int64_t n = 0;
  int rc = rp__sq_head(c, op, &row, err);
  if (rc == 0) rc = rp__rule_snapshot(op, &row, err);
  if (rc == 0) rc = snapshot_number(c, row.ref, &n, err);
  if (rc == 0) rc = snapshot_write(c, row.ref, n, snap, err);
  if (rc == 0 && snap->seq > row.snap_seq) rc = head_snapshot(c, &row, snap->seq, err);
  if (rc == 0) op->ret.snapshot_n = n;
  return rc;
}

int rp__sq_snapshot_delete(struct rp__sq_conn *c, struct rp__op *op, rp_error *err)
{
  struct rp__session_row row;
  int64_t n = op->u.snapshot_delete.n, newest = 0;
  int rc = rp__sq_head(c, op, &row, err);
  if (rc == 0) rc = rp__rule_epoch(op, &row, err);
  if (rc != 0) return rc;
  RP_SQ_AUTO q = rp__sq_query(c, RP_SQ_SNAPSHOT_DELETE);
  RP_SQ_BIND(&q, RP_SQ_I(row.ref), RP_SQ_I(n));
  rc = rp__sq_done(&q, "delete snapshot", err);
  if (rc == 0 && sqlite3_changes(c->db) == 0 && op->u.snapshot_delete.if_there) return 0;
  if (rc == 0 && sqlite3_changes(c->db) == 0)
    return rp__fail(err, RP_E_SNAPSHOT_NOT_FOUND, "session %s has no snapshot %lld", row.id, (long long)n);
  if (rc == 0) rc = rp__sq_number(c, RP_SQ_SNAPSHOT_NEWEST, &row.ref, 0, &newest, err);
  if (rc == 0 && newest != row.snap_seq) rc = head_snapshot(c, &row, newest, err);
  return rc;
}

static void snapshot_read(struct rp__sq_q *q, struct rp__snapshot_row *ret)
{
  *ret = (struct rp__snapshot_row){
      .n = rp__sq_col_int(q, 0),
      .seq = rp__sq_col_count(q, 1),
      .at_ms = rp__sq_col_time(q, 2),
      .raw_size = rp__sq_col_count(q, 3),
      .size = rp__sq_col_count(q, 4),
      .sealed = rp__sq_col_int(q, 5) != 0,
  };
  rp__sq_col_str(q, 6, ret->reason, sizeof ret->reason);
}

#define SNAPSHOT_PAGE 64

static int snapshot_page(struct rp__sq_store *s, int64_t session, int64_t before, struct rp__snapshot_row *rows,
                         rp_error *err)
{
  RP_AUTOREADER struct rp__sq_conn *c = NULL;
  int n = 0, rc = rp__sq_reader_take(s, &c, err);
  if (rc != 0) return rc;
  RP_SQ_AUTO q = rp__sq_query(c, RP_SQ_SNAPSHOT_PAGE);
  RP_SQ_BIND(&q, RP_SQ_I(session), RP_SQ_I(before), RP_SQ_I(SNAPSHOT_PAGE));
  while (n < SNAPSHOT_PAGE && (rc = rp__sq_next(&q, "list snapshots", err)) > 0) snapshot_read(&q, &rows[n++]);
  return rc < 0 ? rc : n;
}

/* One snapshot, the newest for n < 0, with its data, which goes into `data`. */
static int snapshot_get(struct rp__sq_store *s, int64_t session, int64_t n, struct rp__snapshot_row *ret,
                        struct rp__buf *data, rp_error *err)
{
  RP_AUTOREADER struct rp__sq_conn *c = NULL;
  int rc = rp__sq_reader_take(s, &c, err);
  if (rc != 0) return rc;
  RP_SQ_AUTO q = rp__sq_query(c, n < 0 ? RP_SQ_SNAPSHOT_LAST : RP_SQ_SNAPSHOT_GET);
  rp__sq_int(&q, 1, session);
  if (n > 0) rp__sq_int(&q, 2, n);
  rc = rp__sq_next(&q, "read snapshot", err);
  if (rc < 0) return rc;
  if (rc == 0) return rp__fail(err, RP_E_SNAPSHOT_NOT_FOUND, "no snapshot %lld", (long long)n);
  snapshot_read(&q, ret);
  struct rp__str bytes = rp__sq_col_bytes(&q, 7);
  rp__buf_add(data, bytes.p, bytes.n);
  /* A row whose data was cut or grew is handed on as it is: the container's own checksum tells. */
  ret->size = (int64_t)bytes.n;
  return data->err ? rp__fail(err, data->err, "snapshot %lld is too large", (long long)n) : 0;
}

int rp__sq_snapshot_list(struct rp__store *base, int64_t session_ref, int64_t n, rp__snapshot_row_fn *fn, void *ctx,
                         rp_error *err)
{
  struct rp__sq_store *s = rp__sq(base);
  struct rp__snapshot_row rows[SNAPSHOT_PAGE];
  if (n != 0) {
    RP_AUTOBUF struct rp__buf data = RP_BUF(1UL << 30);
    int rc = snapshot_get(s, session_ref, n, rows, &data, err);
    if (rc != 0) return rc;
    rows[0].data = data.p ? data.p : "";
    return fn(ctx, rows);
  }
  int64_t before = INT64_MAX;
  for (int got = SNAPSHOT_PAGE; got == SNAPSHOT_PAGE;) {
    got = snapshot_page(s, session_ref, before, rows, err);
    if (got < 0) return got;
    for (int i = 0; i < got; i++) {
      int rc = fn(ctx, &rows[i]);
      if (rc != 0) return rc;
    }
    if (got > 0) before = rows[got - 1].n;
  }
  return 0;
}
