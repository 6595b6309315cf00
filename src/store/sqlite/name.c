/* SPDX-License-Identifier: Apache-2.0 */
/* Names that other programs use for sessions. */
#include "base/clock.h"
#include "store/sqlite/sqlite.h"

int rp__sq_name_put(struct rp__sq_conn *c, struct rp__op *op, rp_error *err)
{
  const struct rp__name_row *row = op->u.name.row;
  RP_SQ_AUTO q = rp__sq_query(c, RP_SQ_NAME_PUT);
  RP_SQ_BIND(&q, RP_SQ_T(row->name), RP_SQ_T(row->session_id), RP_SQ_I(op->now_ms));
  int rc = rp__sq_done(&q, "write name", err);
  if (rc == 0 && sqlite3_changes(c->db) == 0) rc = rp__refuse_not_found(row->session_id, err);
  if (rc != 0) return rc;
  RP_SQ_AUTO bound = rp__sq_query(c, RP_SQ_NAME_BOUND);
  RP_SQ_BIND(&bound, RP_SQ_T(row->name), RP_SQ_I(RP_NAMES_MAX));
  return rp__sq_done(&bound, "bound names", err);
}

int rp__sq_names_bereave(struct rp__sq_conn *c, int64_t session, int64_t now_ms, rp_error *err)
{
  RP_SQ_AUTO q = rp__sq_query(c, RP_SQ_NAME_BEREAVE);
  RP_SQ_BIND(&q, RP_SQ_I(session), RP_SQ_I(now_ms));
  return rp__sq_done(&q, "write name", err);
}

int rp__sq_name_get(struct rp__store *base, const char *name, struct rp__name_row *ret, bool *ret_found, rp_error *err)
{
  RP_AUTOREADER struct rp__sq_conn *c = NULL;
  struct rp__name_row row = {0};
  int rc = rp__sq_reader_take(rp__sq(base), &c, err);
  if (rc != 0) return rc;
  RP_SQ_AUTO q = rp__sq_query(c, RP_SQ_NAME_GET);
  rp__sq_text(&q, 1, name);
  rc = rp__sq_next(&q, "read name", err);
  if (rc < 0) return rc;
  *ret_found = rc > 0;
  if (rc == 0) return 0;
  rp__name_set(row.name, name);
  rp__sq_col_str(&q, 0, row.session_id, sizeof row.session_id);
  row.at_ms = rp__sq_col_int(&q, 1);
  *ret = row;
  return 0;
}

/* ---- from versions before 7, which had them as sessions in the trash ---- */

#define OLD " scope = 'acp-names' AND trashed_at > 0 AND id IN (SELECT name FROM rp_names)"

static int next_old(struct rp__sq_conn *c, struct rp__op *ret, char id[RP_NAME], rp_error *err)
{
  static const char sql[] = "SELECT ref, id FROM rp_sessions WHERE" OLD " LIMIT 1";
  struct rp__sq_q q = {.c = c};
  q.rc = sqlite3_prepare_v2(c->db, sql, -1, &q.st, NULL);
  int rc = rp__sq_next(&q, "read names", err);
  if (rc > 0) {
    ret->session_ref = rp__sq_col_int(&q, 0);
    rp__sq_col_str(&q, 1, id, RP_NAME);
  }
  sqlite3_finalize(q.st);
  return rc;
}

int rp__sq_names_move(struct rp__sq_conn *c, rp_error *err)
{
  static const char sql[] =
      "INSERT OR IGNORE INTO rp_names (name, session_id, at) SELECT n.id, s.id, n.created_at FROM rp_sessions n"
      " LEFT JOIN rp_sessions s ON s.id = CASE WHEN json_valid(n.meta) THEN json_extract(n.meta, '$.name_of') END"
      " WHERE n.scope = 'acp-names' AND n.channel = 'acp' AND n.trashed_at > 0 AND n.held_at > 0;"
      "UPDATE rp_sessions SET held_at = 0 WHERE" OLD;
  struct rp__op op = {.type = RP_OP_SESSION_DELETE};
  char id[RP_NAME];
  int rc = rp__sq_exec(c, sql, err);
  while (rc == 0 && (rc = next_old(c, &op, id, err)) > 0) {
    op.session_id = id;
    op.now_ms = rp__wall(&c->store->clock);
    rc = rp__sq_session_delete(c, &op, err);
  }
  return rc;
}
