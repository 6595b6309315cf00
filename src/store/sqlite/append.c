/* SPDX-License-Identifier: Apache-2.0 */
/* The hot path of an append: one read of the head, one row per event, one write of the head. Nothing is allocated. */
#include "store/sqlite/sqlite.h"

#include "core/seal.h"

#define FLAG_SEALED 1

void rp__sq_head_read(struct rp__sq_q *q, struct rp__session_row *ret)
{
  ret->ref = rp__sq_col_int(q, 0);
  ret->status = (enum rp__status)rp__sq_col_int(q, 2);
  ret->epoch = rp__sq_col_count(q, 3);
  ret->last_seq = rp__sq_col_count(q, 4);
  ret->snap_seq = rp__sq_col_count(q, 5);
  ret->tail_bytes = rp__sq_col_count(q, 6);
  ret->bytes = rp__sq_col_count(q, 7);
  ret->last_activity_at = rp__sq_col_time(q, 8);
  ret->ended_at = rp__sq_col_time(q, 9);
  struct rp__str tails = rp__sq_col_bytes(q, 10);
  rp__tails_read(tails.p, tails.n, &ret->tails); /* a list that is damaged reads as none: verify tells of it */
}

int64_t rp__sq_tag(const char *id)
{
  return (int64_t)(rp__checksum(id, strlen(id), 0) & 0x7fffffff);
}

/* 1 when there is one, 0 when not. */
static int head_by_ref(struct rp__sq_conn *c, const struct rp__op *op, struct rp__session_row *ret, rp_error *err)
{
  RP_SQ_AUTO q = rp__sq_query(c, RP_SQ_HEAD_BY_REF);
  rp__sq_int(&q, 1, op->session_ref);
  int rc = rp__sq_next(&q, "read session", err);
  if (rc <= 0) return rc;
  rp__sq_head_read(&q, ret);
  return rp__sq_col_int(&q, 1) == rp__sq_tag(op->session_id);
}

static int head_by_id(struct rp__sq_conn *c, const struct rp__op *op, struct rp__session_row *ret, rp_error *err)
{
  RP_SQ_AUTO q = rp__sq_query(c, RP_SQ_HEAD_BY_ID);
  rp__sq_text(&q, 1, op->session_id);
  int rc = rp__sq_next(&q, "read session", err);
  if (rc > 0) rp__sq_head_read(&q, ret);
  return rc;
}

int rp__sq_head(struct rp__sq_conn *c, const struct rp__op *op, struct rp__session_row *ret, rp_error *err)
{
  int rc = op->session_ref ? head_by_ref(c, op, ret, err) : head_by_id(c, op, ret, err);
  if (rc == 0) return rp__refuse_not_found(op->session_id, err);
  if (rc < 0) return rc;
  rp__name_set(ret->id, op->session_id);
  /* A status that is none keeps nobody from deleting the session, repairing it, or starting another one after it. */
  bool any = op->type == RP_OP_SESSION_DELETE ||
             (op->type == RP_OP_SESSION_SET &&
              (op->u.session_set.fields == RP_SET_COUNTERS || op->u.session_set.fields == RP_SET_CONTINUED_BY));
  rc = any ? 0 : rp__rule_status(ret, err);
  if (rc) return rc;
  /*
   * A head does not say whether its session is hidden. A hidden session has the status it was made with until it is
   * shown, so no append to a session that was ever used reads another row for this.
   */
  int64_t hidden = 0;
  if (ret->status == RP_STATUS_CREATED) rc = rp__sq_number(c, RP_SQ_SESSION_IS_HIDDEN, &ret->ref, 0, &hidden, err);
  ret->hidden = hidden != 0;
  return rc ? rc : rp__rule_hidden(op, ret, err);
}

int rp__sq_event_write(struct rp__sq_conn *c, int64_t session, int64_t seq, const struct rp__new_event *ev,
                       rp_error *err)
{
  RP_SQ_AUTO q = rp__sq_query(c, c->event_floor ? RP_SQ_EVENT_PUT_ABOVE : RP_SQ_EVENT_PUT);
  if (c->event_floor) rp__sq_int(&q, 8, c->event_floor);
  RP_SQ_BIND(&q, RP_SQ_I(session), RP_SQ_I(seq), RP_SQ_I(ev->at_ms), RP_SQ_T(ev->kind),
             RP_SQ_I(ev->sealed ? FLAG_SEALED : 0),
             RP_SQ_I((int64_t)rp__event_sum(seq, ev->at_ms, ev->kind, ev->body, ev->body_len)));
  if (ev->sealed)
    rp__sq_blob(&q, 7, ev->body, ev->body_len);
  else
    rp__sq_textn(&q, 7, ev->body, ev->body_len);
  rp__sq_bytes(&q, 9, ev->tail, ev->tail_len);
  int rc = rp__sq_done(&q, "write event", err);
  if (rc == 0) c->row_new = sqlite3_last_insert_rowid(c->db);
  return rc;
}

static int pair_get(struct rp__sq_conn *c, enum rp__sq_id id, int64_t session, const char *name, int64_t *ret_first,
                    int64_t *ret_second, rp_error *err)
{
  RP_SQ_AUTO q = rp__sq_query(c, id);
  RP_SQ_BIND(&q, RP_SQ_I(session), RP_SQ_T(name));
  int rc = rp__sq_next(&q, "read", err);
  if (rc <= 0) return rc;
  *ret_first = rp__sq_col_count(&q, 0);
  *ret_second = rp__sq_col_count(&q, 1);
  return 0;
}

/* Rows of an older version have no digest. */
static int idem_get(struct rp__sq_conn *c, int64_t session, const char *key, struct rp__append_facts *ret,
                    rp_error *err)
{
  RP_SQ_AUTO q = rp__sq_query(c, RP_SQ_IDEM_GET);
  RP_SQ_BIND(&q, RP_SQ_I(session), RP_SQ_T(key));
  int rc = rp__sq_next(&q, "read", err);
  if (rc <= 0) return rc;
  ret->idem_seq = rp__sq_col_int(&q, 0);
  ret->idem_n = rp__sq_col_int(&q, 1);
  struct rp__str digest = rp__sq_col_bytes(&q, 2);
  ret->has_digest = digest.n == sizeof ret->digest;
  if (ret->has_digest) memcpy(ret->digest, digest.p, sizeof ret->digest);
  return 0;
}

static int check_judged(struct rp__sq_conn *c, const struct rp__op *op, int64_t ref, rp_error *err)
{
  int rc = 0;
  for (size_t i = 0; rc == 0 && op->u.append.judged && rp__pin_kinds[i]; i++) {
    RP_SQ_AUTO q = rp__sq_query(c, RP_SQ_EVENT_KIND_SINCE);
    RP_SQ_BIND(&q, RP_SQ_I(ref), RP_SQ_I(op->u.append.judged - 1), RP_SQ_T(rp__pin_kinds[i]));
    rc = rp__sq_next(&q, "look for pins", err);
  }
  return rc > 0 ? rp__refuse_judged(op, err) : rc;
}

static int check_tail_key(struct rp__sq_conn *c, struct rp__op *op, rp_error *err)
{
  int64_t known = 0;
  if (!op->u.append.tail_key) return 0;
  int rc = rp__sq_meta_get(c, RP_SQ_TAIL_KEY, 0, &known, err);
  if (rc == 0) rc = rp__rule_tail_key(op, known != 0, known, err);
  if (rc == 0 && known == 0) rc = rp__sq_meta_set(c, RP_SQ_TAIL_KEY, rp__tail_key_number(op->u.append.tail_key), err);
  return rc;
}

int rp__sq_append(struct rp__sq_conn *c, struct rp__op *op, rp_error *err)
{
  struct rp__session_row row;
  struct rp__append_facts facts = {0};
  const char *key = op->u.append.idempotency_key, *client = op->u.append.client_id;
  int rc = rp__sq_head(c, op, &row, err);
  if (rc == 0 && key) rc = idem_get(c, row.ref, key, &facts, err);
  if (rc == 0 && client)
    rc = pair_get(c, RP_SQ_CLIENT_GET, row.ref, client, &facts.client_mark, &facts.client_seq, err);
  if (rc == 0) rc = rp__rule_append(op, &row, &facts, err);
  if (rc != 0 || op->ret.repeated) return rc;
  rc = check_judged(c, op, row.ref, err);
  if (rc == 0) rc = check_tail_key(c, op, err);
  for (size_t i = 0; rc == 0 && i < op->u.append.n; i++)
    rc = rp__sq_event_write(c, row.ref, rp__append_first(op) + (int64_t)i, &op->u.append.events[i], err);
  if (rc == 0) {
    RP_SQ_AUTO q = rp__sq_query(c, RP_SQ_HEAD_APPEND);
    RP_SQ_BIND(&q, RP_SQ_I(row.ref), RP_SQ_I(row.status), RP_SQ_I(row.last_seq), RP_SQ_I(row.tail_bytes),
               RP_SQ_I(row.bytes), RP_SQ_I(row.last_activity_at));
    unsigned char tails[RP_TAILS_BYTES];
    rp__sq_bytes(&q, 7, tails, rp__tails_write(&row.tails, tails));
    rc = rp__sq_done(&q, "write session", err);
  }
  if (rc == 0 && key) {
    RP_SQ_AUTO q = rp__sq_query(c, RP_SQ_IDEM_PUT);
    RP_SQ_BIND(&q, RP_SQ_I(row.ref), RP_SQ_T(key), RP_SQ_I(op->ret.first_seq),
               RP_SQ_I(op->ret.seq - op->ret.first_seq + 1), RP_SQ_I(op->now_ms),
               RP_SQ_B(op->u.append.digest, op->u.append.digest ? RP_REQUEST_DIGEST : 0));
    rc = rp__sq_done(&q, "write idempotency key", err);
  }
  if (rc == 0 && client) {
    RP_SQ_AUTO q = rp__sq_query(c, RP_SQ_CLIENT_PUT);
    RP_SQ_BIND(&q, RP_SQ_I(row.ref), RP_SQ_T(client), RP_SQ_I(op->u.append.client_seq + rp__append_given(op) - 1),
               RP_SQ_I(op->ret.seq));
    rc = rp__sq_done(&q, "write client", err);
  }
  return rc;
}
