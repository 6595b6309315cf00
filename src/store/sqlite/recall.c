/* SPDX-License-Identifier: Apache-2.0 */
/* What a start scans (decision 7): one narrow row for each ended session, those of a scope side by side by their ends.
 */
#include <endian.h>

#include "store/sqlite/sqlite.h"

#define RECALL_PAGE 2048 /* rows looked at in one transaction: less than a millisecond */

size_t rp__sq_topics_read(struct rp__str bytes, uint64_t out[RP_TOPICS_MAX])
{
  size_t n = RP_MIN(bytes.n / 8, RP_TOPICS_MAX);
  if (n) memcpy(out, bytes.p, 8 * n);
  for (size_t i = 0; i < n; i++) out[i] = le64toh(out[i]);
  return n;
}

static size_t topics_write(const struct rp__record_row *row, unsigned char out[8 * RP_TOPICS_MAX])
{
  size_t n = RP_MIN(row->n_topics, RP_TOPICS_MAX);
  for (size_t i = 0; i < 8 * n; i++) out[i] = (unsigned char)(row->topics[i / 8] >> (8 * (i % 8)));
  return 8 * n;
}

int rp__sq_recall_write(struct rp__sq_conn *c, const struct rp__session_row *session, const struct rp__record_row *row,
                        unsigned flags, rp_error *err)
{
  static const enum rp__sq_id old = RP_SQ_RECALL_DELETE;
  unsigned char topics[8 * RP_TOPICS_MAX];
  int rc = rp__sq_run_by_ref(c, &old, 1, session->ref, "write recall", err);
  if (rc != 0) return rc;
  RP_SQ_AUTO q = rp__sq_query(c, RP_SQ_RECALL_PUT);
  rp__sq_text(&q, 1, session->scope);
  rp__sq_int(&q, 2, row->end_ms);
  rp__sq_text(&q, 3, session->id);
  rp__sq_int(&q, 4, session->ref);
  rp__sq_text(&q, 5, row->channel);
  rp__sq_int(&q, 6, row->n_tasks);
  rp__sq_int(&q, 7, flags);
  rp__sq_blob(&q, 8, topics, topics_write(row, topics));
  return rp__sq_done(&q, "write recall", err);
}

/* ---- the scan ---- */

/* Where it stands. Rows are handed out inside the page's transaction, which is short because scoring one is. */
struct scan {
  const struct rp__recall_filter *f;
  rp__recall_fn *fn;
  void *ctx;
  int64_t before, left;
  char before_id[RP_NAME];
  bool last;
};

static int hand_out(struct scan *x, struct rp__sq_q *q)
{
  uint64_t topics[RP_TOPICS_MAX];
  int64_t flags = sqlite3_column_int64(q->st, 4);
  if (flags & RP_RECALL_OUT) return 0;
  if (x->f->channel && !rp__str_eq(rp__sq_col_bytes(q, 6), x->f->channel)) return 0;
  struct rp__recall row = {
      .session_ref = sqlite3_column_int64(q->st, 2),
      .session_id = (const char *)sqlite3_column_text(q->st, 1),
      .ended_at = sqlite3_column_int64(q->st, 0),
      .n_tasks = sqlite3_column_int64(q->st, 3),
      .has_critical = flags & RP_RECALL_CRITICAL,
      .archived = flags & RP_RECALL_ARCHIVED,
      .topics = topics,
      .n_topics = rp__sq_topics_read(rp__sq_col_bytes(q, 5), topics),
  };
  if (!row.session_id) return 0; /* out of memory, or a row of nobody */
  x->left--;
  return x->fn(x->ctx, &row);
}

/* A page is bounded by the rows it looks at, not by those it finds. */
static int scan_page(struct rp__sq_store *s, struct scan *x, rp_error *err)
{
  RP_AUTOREADER struct rp__sq_conn *c = NULL;
  int seen = 0, rc = rp__sq_reader_take(s, &c, err);
  if (rc != 0) return rc;
  RP_SQ_AUTO q = rp__sq_query(c, RP_SQ_RECALL_PAGE);
  rp__sq_text(&q, 1, x->f->scope);
  rp__sq_int(&q, 2, x->before);
  rp__sq_textn(&q, 3, x->before_id, strlen(x->before_id));
  rp__sq_int(&q, 4, x->f->since_ms);
  rp__sq_int(&q, 5, RECALL_PAGE);
  while (x->left > 0 && (rc = rp__sq_next(&q, "read recall", err)) > 0) {
    rc = hand_out(x, &q);
    if (rc != 0) return rc;
    if (++seen < RECALL_PAGE) continue;
    x->before = rp__sq_col_int(&q, 0);
    rp__sq_col_str(&q, 1, x->before_id, sizeof x->before_id);
    return 0;
  }
  x->last = true;
  return rc < 0 ? rc : 0;
}

int rp__sq_recall_list(struct rp__store *base, const struct rp__recall_filter *f, rp__recall_fn *fn, void *ctx,
                       rp_error *err)
{
  struct scan x = {.f = f, .fn = fn, .ctx = ctx, .before = INT64_MAX, .left = f->limit > 0 ? f->limit : INT64_MAX};
  int rc = 0;
  while (rc == 0 && !x.last && x.left > 0) rc = scan_page(rp__sq(base), &x, err);
  return rc;
}
