/* SPDX-License-Identifier: Apache-2.0 */
/* The newest event about each task of a scope, by a hash of the task's id: its journal and its number there. */
#include "store/sqlite/sqlite.h"

int rp__sq_task_put(struct rp__sq_conn *c, struct rp__op *op, rp_error *err)
{
  const struct rp__op *said;
  struct rp__session_row row;
  int64_t seq;
  int rc = rp__rule_task(op, c->txn, &said, &seq, err);
  if (rc != 0 || !said) return rc;
  rc = rp__sq_head(c, said, &row, err);
  if (rc != 0) return rc;
  RP_SQ_AUTO q = rp__sq_query(c, RP_SQ_TASK_PUT);
  RP_SQ_BIND(&q, RP_SQ_T(op->u.task_put.scope), RP_SQ_I((int64_t)op->u.task_put.hash), RP_SQ_I(row.ref), RP_SQ_I(seq),
             RP_SQ_I(op->u.task_put.at_ms), RP_SQ_I(op->u.task_put.open));
  return rp__sq_done(&q, "write task", err);
}

int rp__sq_task_get(struct rp__store *base, const char *scope, uint64_t hash, struct rp__task_row *ret, bool *ret_found,
                    rp_error *err)
{
  RP_AUTOREADER struct rp__sq_conn *c = NULL;
  struct rp__task_row row = {.hash = hash};
  int rc = rp__sq_reader_take(rp__sq(base), &c, err);
  if (rc != 0) return rc;
  RP_SQ_AUTO q = rp__sq_query(c, RP_SQ_TASK_GET);
  RP_SQ_BIND(&q, RP_SQ_T(scope), RP_SQ_I((int64_t)hash));
  rc = rp__sq_next(&q, "read task", err);
  if (rc < 0) return rc;
  *ret_found = rc > 0;
  if (rc == 0) return 0;
  row.session_ref = rp__sq_col_int(&q, 0);
  row.seq = rp__sq_col_count(&q, 1);
  row.at_ms = rp__sq_col_time(&q, 2);
  row.open = rp__sq_col_int(&q, 3) != 0;
  rp__sq_col_str(&q, 4, row.session_id, sizeof row.session_id);
  *ret = row;
  return 0;
}
