/* SPDX-License-Identifier: Apache-2.0 */
/* The results of requests with idempotency keys, by scope. Epoch and birth follow the digest in one column. */
#include "store/sqlite/sqlite.h"

#define TOLD_BYTES (RP_REQUEST_DIGEST + 16)

static void put64(unsigned char *at, int64_t v)
{
  for (size_t i = 0; i < 8; i++) at[i] = (unsigned char)((uint64_t)v >> (8 * i) & 0xff);
}

static int64_t get64(const char *at)
{
  uint64_t v = 0;
  for (size_t i = 8; i-- > 0;) v = v << 8 | (unsigned char)at[i];
  return (int64_t)v;
}

int rp__sq_request_put(struct rp__sq_conn *c, struct rp__op *op, rp_error *err)
{
  const struct rp__request_row *row = op->u.request.row;
  unsigned char told[TOLD_BYTES];
  memcpy(told, row->digest, RP_REQUEST_DIGEST);
  put64(told + RP_REQUEST_DIGEST, row->epoch);
  put64(told + RP_REQUEST_DIGEST + 8, row->born);
  RP_SQ_AUTO q = rp__sq_query(c, RP_SQ_REQUEST_PUT);
  RP_SQ_BIND(&q, RP_SQ_T(row->scope), RP_SQ_T(row->key), RP_SQ_B(told, sizeof told), RP_SQ_T(row->session_id),
             RP_SQ_I(op->now_ms));
  int rc = rp__sq_done(&q, "write request", err);
  return rc == 0 && sqlite3_changes(c->db) == 0 ? rp__refuse_request(row, err) : rc;
}

int rp__sq_request_get(struct rp__store *base, const char *scope, const char *key, struct rp__request_row *ret,
                       bool *ret_found, rp_error *err)
{
  RP_AUTOREADER struct rp__sq_conn *c = NULL;
  struct rp__request_row row = {0};
  int rc = rp__sq_reader_take(rp__sq(base), &c, err);
  if (rc != 0) return rc;
  RP_SQ_AUTO q = rp__sq_query(c, RP_SQ_REQUEST_GET);
  RP_SQ_BIND(&q, RP_SQ_T(scope), RP_SQ_T(key));
  rc = rp__sq_next(&q, "read request", err);
  if (rc < 0) return rc;
  *ret_found = rc > 0;
  if (rc == 0) return 0;
  struct rp__str told = rp__sq_col_bytes(&q, 0);
  if (told.n != TOLD_BYTES)
    return rp__fail(err, RP_E_CORRUPT, "scope %s: what was made under an idempotency key can't be read", scope);
  memcpy(row.digest, told.p, RP_REQUEST_DIGEST);
  row.epoch = get64(told.p + RP_REQUEST_DIGEST);
  row.born = get64(told.p + RP_REQUEST_DIGEST + 8);
  rp__sq_col_str(&q, 1, row.session_id, sizeof row.session_id);
  *ret = row;
  return 0;
}
