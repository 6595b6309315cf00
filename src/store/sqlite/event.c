/* SPDX-License-Identifier: Apache-2.0 */
/* Reads events in pages, checks each against its checksum and place, and has the one op that changes a stored event. */
#include "store/sqlite/sqlite.h"

#define FLAG_SEALED 1

void rp__sq_event_read(struct rp__sq_q *q, int first, struct rp__sq_event *ret)
{
  ret->seq = rp__sq_col_count(q, first);
  ret->at = rp__sq_col_time(q, first + 1);
  rp__sq_col_str(q, first + 2, ret->kind, sizeof ret->kind);
  ret->sealed = (rp__sq_col_int(q, first + 3) & FLAG_SEALED) != 0;
  ret->body = rp__sq_col_bytes(q, first + 5);
  uint64_t sum = rp__event_sum(ret->seq, ret->at, ret->kind, ret->body.p, ret->body.n);
  ret->damaged = sum != (uint64_t)rp__sq_col_int(q, first + 4);
}

/* ---- list ---- */

/* A page of events, copied, so that no transaction is open while they are handed out. */
struct page {
  struct rp__event_row *rows;
  size_t *at; /* of each body in `bytes` */
  int n, max;
  struct rp__buf bytes;
  bool last; /* nothing was left behind it */
};

static void page_done(struct page *p)
{
  free(p->rows);
  free(p->at);
  rp__buf_done(&p->bytes);
}

static int page_init(struct page *p, int64_t limit)
{
  p->max = limit > 0 && limit < RP_SQ_PAGE_ROWS ? (int)limit : RP_SQ_PAGE_ROWS;
  p->bytes = RP_BUF(1UL << 30);
  p->rows = calloc((size_t)p->max, sizeof *p->rows);
  p->at = calloc((size_t)p->max, sizeof *p->at);
  return p->rows && p->at ? 0 : RP_E_NOMEM;
}

/* The journal's end as the head has it, in the page's own transaction. */
static int head_last(struct rp__sq_q *head, const struct rp__event_range *r, int64_t *ret, rp_error *err)
{
  rp__sq_int(head, 1, r->session_ref);
  int rc = rp__sq_next(head, "read session", err);
  if (rc < 0) return rc;
  if (rc == 0) return rp__refuse_not_found(r->session_id, err);
  *ret = rp__sq_col_count(head, 4);
  return 0;
}

static int page_fill(struct page *p, struct rp__sq_q *q, const struct rp__event_range *r, int64_t after, int64_t last,
                     rp_error *err)
{
  struct rp__sq_event ev = {.seq = after};
  int rc;
  while ((rc = rp__sq_next(q, "read events", err)) > 0) {
    int64_t expected = ev.seq + 1;
    rp__sq_event_read(q, 0, &ev);
    if (ev.seq != expected && !r->tolerant) return rp__refuse_hole(r->session_id, expected, err);
    if (ev.damaged && !r->tolerant) return rp__refuse_damage(r->session_id, ev.seq, err);
    struct rp__event_row *row = &p->rows[p->n];
    row->seq = ev.seq;
    row->at_ms = ev.at;
    memcpy(row->kind, ev.kind, sizeof row->kind);
    row->body_len = ev.body.n;
    row->sealed = ev.sealed;
    row->damaged = ev.damaged;
    p->at[p->n++] = p->bytes.n;
    rp__buf_add(&p->bytes, ev.body.p, ev.body.n);
    rp__buf_char(&p->bytes, '\0');
    if (p->bytes.err) return rp__fail(err, p->bytes.err, "event %lld does not fit into memory", (long long)ev.seq);
    if (p->n == p->max || p->bytes.n >= RP_SQ_PAGE_BYTES) return 0;
  }
  if (rc < 0) return rc;
  p->last = true;
  return ev.seq < last && !r->tolerant ? rp__refuse_hole(r->session_id, ev.seq + 1, err) : 0;
}

static int page_read(struct rp__sq_store *s, struct page *p, const struct rp__event_range *r, int64_t after,
                     rp_error *err)
{
  RP_AUTOREADER struct rp__sq_conn *c = NULL;
  int64_t last = 0;
  p->n = 0;
  rp__buf_reset(&p->bytes);
  int rc = rp__sq_reader_take(s, &c, err);
  if (rc != 0) return rc;
  /* The head's statement stays open, and with it the transaction, until the page is read. */
  RP_SQ_AUTO head = rp__sq_query(c, RP_SQ_HEAD_BY_REF);
  rc = head_last(&head, r, &last, err);
  if (rc != 0) return rc;
  RP_SQ_AUTO q = rp__sq_query(c, RP_SQ_EVENT_PAGE);
  RP_SQ_BIND(&q, RP_SQ_I(r->session_ref), RP_SQ_I(after), RP_SQ_I(p->max));
  return page_fill(p, &q, r, after, last, err);
}

int rp__sq_event_list(struct rp__store *base, const struct rp__event_range *r, rp__event_row_fn *fn, void *ctx,
                      rp_error *err)
{
  RP_CLEANUP(page_done) struct page p = {0};
  int64_t after = RP_MAX(r->after, 0), given = 0;
  size_t bytes = 0;
  if (page_init(&p, r->limit) != 0) return rp__fail_nomem(err);
  do {
    int rc = page_read(rp__sq(base), &p, r, after, err);
    if (rc != 0) return rc;
    for (int i = 0; i < p.n; i++) {
      p.rows[i].body = p.bytes.p + p.at[i];
      rc = fn(ctx, &p.rows[i]);
      if (rc != 0) return rc;
      bytes += p.rows[i].body_len;
      if (++given == r->limit || (r->max_bytes && bytes > r->max_bytes)) return 0;
    }
    if (p.n > 0) after = p.rows[p.n - 1].seq;
  } while (!p.last);
  return 0;
}

/* ---- replace ---- */

/* Counts of a session after `delta` bytes were added at `seq`. */
static int head_adjust(struct rp__sq_conn *c, struct rp__session_row *row, int64_t seq, int64_t delta, rp_error *err)
{
  row->bytes += delta;
  if (seq > row->snap_seq) row->tail_bytes += delta;
  return rp__sq_head_write(c, row, err);
}

static int event_rewrite(struct rp__sq_conn *c, int64_t id, int64_t seq, const struct rp__new_event *ev, rp_error *err)
{
  RP_SQ_AUTO q = rp__sq_query(c, RP_SQ_EVENT_REPLACE);
  RP_SQ_BIND(&q, RP_SQ_I(id), RP_SQ_I(ev->at_ms), RP_SQ_T(ev->kind), RP_SQ_I(ev->sealed ? FLAG_SEALED : 0),
             RP_SQ_I((int64_t)rp__event_sum(seq, ev->at_ms, ev->kind, ev->body, ev->body_len)));
  if (ev->sealed)
    rp__sq_blob(&q, 6, ev->body, ev->body_len);
  else
    rp__sq_textn(&q, 6, ev->body, ev->body_len);
  rp__sq_bytes(&q, 7, ev->tail, ev->tail_len);
  return rp__sq_done(&q, "replace event", err);
}

/* The index follows, if it has come that far. */
static int event_reindex(struct rp__sq_conn *c, const struct rp__sq_event *old, const struct rp__new_event *ev,
                         rp_error *err)
{
  struct rp__sq_event new = {.id = old->id, .sealed = ev->sealed, .body = {ev->body, ev->body_len}};
  int64_t at;
  int rc = rp__sq_index_at(c, &at, err);
  if (rc != 0 || old->id > at) return rc;
  rc = rp__sq_index_remove(c, old, err);
  return rc ? rc : rp__sq_index_put(c, &new, err);
}

int rp__sq_event_replace(struct rp__sq_conn *c, struct rp__op *op, rp_error *err)
{
  const struct rp__new_event *ev = op->u.event_replace.event;
  int64_t seq = op->u.event_replace.seq;
  struct rp__session_row row;
  int rc = rp__sq_head(c, op, &row, err);
  if (rc != 0) return rc;
  if (seq < 1 || seq > row.last_seq)
    return rp__fail(err, RP_E_SEQ_NOT_FOUND, "session %s has no event %lld", row.id, (long long)seq);

  RP_SQ_AUTO q = rp__sq_query(c, RP_SQ_EVENT_GET);
  RP_SQ_BIND(&q, RP_SQ_I(row.ref), RP_SQ_I(seq));
  rc = rp__sq_next(&q, "read event", err);
  if (rc < 0) return rc;
  if (rc == 0) { /* a hole is filled */
    rc = rp__sq_event_write(c, row.ref, seq, ev, err);
    return rc ? rc : head_adjust(c, &row, seq, (int64_t)ev->body_len, err);
  }
  struct rp__sq_event old = {.id = rp__sq_col_int(&q, 0)};
  rp__sq_event_read(&q, 1, &old);
  int64_t delta = (int64_t)ev->body_len - (int64_t)old.body.n;
  rc = event_reindex(c, &old, ev, err);
  rp__sq_reset(&q);
  if (rc == 0) rc = event_rewrite(c, old.id, seq, ev, err);
  return rc ? rc : head_adjust(c, &row, seq, delta, err);
}
