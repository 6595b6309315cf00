/* SPDX-License-Identifier: Apache-2.0 */
/* Open streams: lists their newest events, keeps the number of the key of their tails, and removes them. */
#include "store/sqlite/sqlite.h"

int rp__sq_tail_key(struct rp__sq_conn *c, struct rp__op *op, rp_error *err)
{
  return rp__sq_meta_set(c, RP_SQ_TAIL_KEY, rp__tail_key_number(op->u.tail_key.id), err);
}

int rp__sq_tails_forget(struct rp__sq_conn *c, struct rp__op *op, rp_error *err)
{
  static const enum rp__sq_id ids[] = {RP_SQ_EVENT_TAILS_FORGET};
  struct rp__session_row row;
  int rc = rp__sq_head(c, op, &row, err);
  if (rc == 0) rc = rp__sq_run_by_ref(c, ids, 1, row.ref, "forget tails", err);
  if (rc != 0) return rc;
  row.tails.n = 0;
  row.tails.number = op->u.tails_forget.number;
  return rp__sq_head_write(c, &row, err);
}

/* The streams of one session, copied, so that no transaction is open while they are handed out. */
struct streams {
  struct rp__tail_row rows[RP_TAILS_MAX];
  size_t body_at[RP_TAILS_MAX], tail_at[RP_TAILS_MAX], n;
  struct rp__buf bytes;
};

static void streams_done(struct streams *x)
{
  rp__buf_done(&x->bytes);
}

static int stream_read(struct rp__sq_conn *c, struct streams *x, const struct rp__tail_row *of,
                       const struct rp__tail_at *at, rp_error *err)
{
  RP_SQ_AUTO q = rp__sq_query(c, RP_SQ_EVENT_TAIL);
  struct rp__tail_row *row = &x->rows[x->n];
  struct rp__sq_event ev;
  RP_SQ_BIND(&q, RP_SQ_I(of->session_ref), RP_SQ_I(at->seq));
  int rc = rp__sq_next(&q, "read event", err);
  if (rc <= 0) return rc; /* an event that is missing is verify's business */
  rp__sq_event_read(&q, 0, &ev);
  struct rp__str tail = rp__sq_col_bytes(&q, 6);
  *row = *of;
  row->voice = at->voice;
  row->seq = at->seq;
  row->event = (struct rp__event_row){.seq = ev.seq, .at_ms = ev.at, .body_len = ev.body.n, .sealed = ev.sealed};
  row->event.damaged = ev.damaged;
  memcpy(row->event.kind, ev.kind, sizeof row->event.kind);
  row->tail_len = tail.n;
  x->body_at[x->n] = x->bytes.n;
  rp__buf_add(&x->bytes, ev.body.p, ev.body.n);
  rp__buf_char(&x->bytes, '\0');
  x->tail_at[x->n++] = x->bytes.n;
  rp__buf_add(&x->bytes, tail.p, tail.n);
  return x->bytes.err ? rp__fail(err, x->bytes.err, "event %lld does not fit into memory", (long long)at->seq) : 0;
}

/* The session `ref`, or (`next`) the first one behind it with a list. 1: found. */
static int streams_read(struct rp__sq_store *s, int64_t *ref, bool next, const struct rp__tails *which,
                        struct streams *x, rp_error *err)
{
  RP_AUTOREADER struct rp__sq_conn *c = NULL;
  struct rp__tail_row of = {0};
  struct rp__tails tails;
  x->n = 0;
  rp__buf_reset(&x->bytes);
  int rc = rp__sq_reader_take(s, &c, err);
  if (rc != 0) return rc;
  RP_SQ_AUTO q = rp__sq_query(c, next ? RP_SQ_TAILS_PAGE : RP_SQ_TAILS_OF);
  rp__sq_int(&q, 1, *ref);
  rc = rp__sq_next(&q, "read streams", err);
  if (rc <= 0) return rc;
  of.session_ref = *ref = rp__sq_col_int(&q, 0);
  rp__sq_col_str(&q, 2, of.session_id, sizeof of.session_id);
  rp__sq_col_str(&q, 3, of.scope, sizeof of.scope);
  struct rp__str bytes = rp__sq_col_bytes(&q, 1);
  if (which)
    tails = *which;
  else if (!rp__tails_read(bytes.p, bytes.n, &tails))
    return rp__fail(err, RP_E_CORRUPT, "session %s: its list of open streams is damaged", of.session_id);
  rc = 0;
  for (size_t i = 0; rc >= 0 && i < tails.n; i++) rc = stream_read(c, x, &of, &tails.at[i], err);
  return rc < 0 ? rc : 1;
}

int rp__sq_tail_list(struct rp__store *base, int64_t session_ref, const struct rp__tails *which, rp__tail_fn *fn,
                     void *ctx, rp_error *err)
{
  RP_CLEANUP(streams_done) struct streams x = {.bytes = RP_BUF(1UL << 30)};
  int64_t ref = session_ref;
  int rc;
  while ((rc = streams_read(rp__sq(base), &ref, !session_ref, which, &x, err)) > 0) {
    for (size_t i = 0; i < x.n; i++) {
      x.rows[i].event.body = x.bytes.p + x.body_at[i];
      x.rows[i].tail = x.rows[i].tail_len ? x.bytes.p + x.tail_at[i] : NULL;
      if (!session_ref && !x.rows[i].tail) continue;
      rc = fn(ctx, &x.rows[i]);
      if (rc != 0) return rc;
    }
    if (session_ref) return 0;
  }
  return rc;
}
