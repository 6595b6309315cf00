/* SPDX-License-Identifier: Apache-2.0 */
/* What a start scans (decision 7): one narrow row for each ended session, those of a scope side by side by their ends.
 */
#include "store/sqlite/sqlite.h"

#define RECALL_PAGE 2048 /* rows looked at in one transaction: less than a millisecond */

size_t rp__sq_topics_read(struct rp__str bytes, uint64_t out[RP_TOPICS_MAX])
{
  size_t n = RP_MIN(bytes.n / 8, RP_TOPICS_MAX);
  const unsigned char *p = (const unsigned char *)bytes.p;
  for (size_t i = 0; i < n; i++, p += 8) {
    out[i] = (uint64_t)p[0] | (uint64_t)p[1] << 8 | (uint64_t)p[2] << 16 | (uint64_t)p[3] << 24 | (uint64_t)p[4] << 32 |
             (uint64_t)p[5] << 40 | (uint64_t)p[6] << 48 | (uint64_t)p[7] << 56;
  }
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

/* Rows copied, so that no transaction is open while they are handed out; and where the next page begins. */
struct page {
  struct rp__recall *rows;
  char (*ids)[RP_NAME];
  uint64_t (*topics)[RP_TOPICS_MAX];
  int n, max;
  int64_t before;
  char before_id[RP_NAME];
  bool last;
};

static void page_done(struct page *p)
{
  free(p->rows);
  free(p->ids);
  free(p->topics);
}

static int page_init(struct page *p, int limit)
{
  p->max = limit > 0 ? RP_MIN(limit, RECALL_PAGE) : RECALL_PAGE;
  p->rows = calloc((size_t)p->max, sizeof *p->rows);
  p->ids = calloc((size_t)p->max, sizeof *p->ids);
  p->topics = calloc((size_t)p->max, sizeof *p->topics);
  p->before = INT64_MAX;
  return p->rows && p->ids && p->topics ? 0 : RP_E_NOMEM;
}

static bool row_fits(struct rp__sq_q *q, const struct rp__recall_filter *f)
{
  if (rp__sq_col_int(q, 4) & RP_RECALL_OUT) return false;
  return !f->channel || rp__str_eq(rp__sq_col_bytes(q, 6), f->channel);
}

static void page_add(struct page *p, struct rp__sq_q *q)
{
  struct rp__recall *row = &p->rows[p->n];
  int64_t flags = rp__sq_col_int(q, 4);
  rp__sq_col_str(q, 1, p->ids[p->n], sizeof p->ids[0]);
  *row = (struct rp__recall){
      .session_ref = rp__sq_col_int(q, 2),
      .session_id = p->ids[p->n],
      .ended_at = rp__sq_col_int(q, 0),
      .n_tasks = rp__sq_col_int(q, 3),
      .has_critical = flags & RP_RECALL_CRITICAL,
      .archived = flags & RP_RECALL_ARCHIVED,
      .topics = p->topics[p->n],
      .n_topics = rp__sq_topics_read(rp__sq_col_bytes(q, 5), p->topics[p->n]),
  };
  p->n++;
}

/* A page is bounded by the rows it looks at, not by those it finds. */
static int page_read(struct rp__sq_store *s, const struct rp__recall_filter *f, struct page *p, rp_error *err)
{
  RP_AUTOREADER struct rp__sq_conn *c = NULL;
  int seen = 0, rc = rp__sq_reader_take(s, &c, err);
  p->n = 0;
  if (rc != 0) return rc;
  RP_SQ_AUTO q = rp__sq_query(c, RP_SQ_RECALL_PAGE);
  rp__sq_text(&q, 1, f->scope);
  rp__sq_int(&q, 2, p->before);
  rp__sq_textn(&q, 3, p->before_id, strlen(p->before_id));
  rp__sq_int(&q, 4, f->since_ms);
  rp__sq_int(&q, 5, RECALL_PAGE);
  while (p->n < p->max && (rc = rp__sq_next(&q, "read recall", err)) > 0) {
    seen++;
    if (row_fits(&q, f)) page_add(p, &q);
    if (p->n < p->max && seen < RECALL_PAGE) continue;
    p->before = rp__sq_col_int(&q, 0);
    rp__sq_col_str(&q, 1, p->before_id, sizeof p->before_id);
    return 0;
  }
  p->last = true;
  return rc < 0 ? rc : 0;
}

int rp__sq_recall_list(struct rp__store *base, const struct rp__recall_filter *f, rp__recall_fn *fn, void *ctx,
                       rp_error *err)
{
  RP_CLEANUP(page_done) struct page p = {0};
  int64_t left = f->limit > 0 ? f->limit : INT64_MAX;
  if (page_init(&p, f->limit) != 0) return rp__fail_nomem(err);
  while (!p.last && left > 0) {
    int rc = page_read(rp__sq(base), f, &p, err);
    if (rc != 0) return rc;
    for (int i = 0; i < p.n && left > 0; i++, left--) {
      rc = fn(ctx, &p.rows[i]);
      if (rc != 0) return rc;
    }
  }
  return 0;
}
