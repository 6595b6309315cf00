/* SPDX-License-Identifier: Apache-2.0 */
/* The rows that a start scans: a narrow row for each ended session, the rows of a scope side by side, by their ends. */
#include <endian.h>

#include "store/sqlite/sqlite.h"

#define RECALL_PAGE 8192 /* rows looked at in one transaction: a few milliseconds */

/* Four bytes each, little-endian: the rows are many, and what is not read costs nothing. */
size_t rp__sq_topics_read(struct rp__str bytes, uint64_t out[RP_TOPICS_MAX])
{
  size_t n = RP_MIN(bytes.n / sizeof(uint32_t), RP_TOPICS_MAX);
  uint32_t raw[RP_TOPICS_MAX];
  if (n) memcpy(raw, bytes.p, n * sizeof raw[0]);
  for (size_t i = 0; i < n; i++) out[i] = le32toh(raw[i]);
  return n;
}

static size_t topics_write(const struct rp__record_row *row, uint32_t out[RP_TOPICS_MAX])
{
  size_t n = RP_MIN(row->n_topics, RP_TOPICS_MAX);
  for (size_t i = 0; i < n; i++) out[i] = htole32((uint32_t)row->topics[i]);
  return n * sizeof out[0];
}

int rp__sq_recall_write(struct rp__sq_conn *c, const struct rp__session_row *session, const struct rp__record_row *row,
                        unsigned flags, rp_error *err)
{
  static const enum rp__sq_id old = RP_SQ_RECALL_DELETE;
  uint32_t topics[RP_TOPICS_MAX];
  int rc = rp__sq_run_by_ref(c, &old, 1, session->ref, "write recall", err);
  if (rc != 0) return rc;
  RP_SQ_AUTO q = rp__sq_query(c, RP_SQ_RECALL_PUT);
  RP_SQ_BIND(&q, RP_SQ_T(session->scope), RP_SQ_I(row->end_ms), RP_SQ_T(session->id), RP_SQ_I(session->ref),
             RP_SQ_T(row->channel), RP_SQ_I(row->n_tasks), RP_SQ_I(flags), RP_SQ_B(topics, topics_write(row, topics)));
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
  char id[RP_NAME]; /* of the row handed out */
  bool last;
};

/* Rows that end at the very moment at which the page before ended were handed out as far as their ids say. */
static bool is_behind(const struct scan *x, const struct rp__recall *row)
{
  return row->ended_at < x->before || strcmp(row->session_id, x->before_id) < 0;
}

/* As bytes: asked for as text, SQLite would copy each once more to end it with a NUL. */
static void id_read(struct scan *x, sqlite3_stmt *st)
{
  const void *bytes = sqlite3_column_blob(st, 1);
  size_t n = bytes ? RP_MIN((size_t)sqlite3_column_bytes(st, 1), sizeof x->id - 1) : 0;
  if (n) memcpy(x->id, bytes, n);
  x->id[n] = 0;
}

static int hand_out(struct scan *x, sqlite3_stmt *st, struct rp__recall *row)
{
  uint64_t topics[RP_TOPICS_MAX];
  int64_t flags = sqlite3_column_int64(st, 4);
  struct rp__sq_q q = {.st = st};
  id_read(x, st);
  *row = (struct rp__recall){
      .session_ref = sqlite3_column_int64(st, 2),
      .session_id = x->id,
      .ended_at = rp__sq_col_time(&q, 0),
      .n_tasks = rp__sq_col_count(&q, 3),
      .has_critical = flags & RP_RECALL_CRITICAL,
      .archived = flags & RP_RECALL_ARCHIVED,
      .asked = flags & RP_RECALL_ASKED,
      .topics = topics,
  };
  if ((flags & RP_RECALL_OUT) || (x->f->asked && !row->asked) || !x->id[0] || (x->before_id[0] && !is_behind(x, row)))
    return 0;
  const void *bytes = sqlite3_column_blob(st, 5);
  row->n_topics = rp__sq_topics_read((struct rp__str){bytes, (size_t)sqlite3_column_bytes(st, 5)}, topics);
  x->left--;
  return x->fn(x->ctx, row);
}

/* A page is bounded by the rows it looks at, not by those it finds. */
static int scan_page(struct rp__sq_store *s, struct scan *x, rp_error *err)
{
  RP_AUTOREADER struct rp__sq_conn *c = NULL;
  int seen = 0, rc = rp__sq_reader_take(s, &c, err);
  if (rc != 0) return rc;
  RP_SQ_AUTO q = rp__sq_query(c, x->f->channel ? RP_SQ_RECALL_PAGE_OF : RP_SQ_RECALL_PAGE);
  RP_SQ_BIND(&q, RP_SQ_T(x->f->scope), RP_SQ_I(x->before), RP_SQ_I(x->f->since_ms));
  if (x->f->channel) rp__sq_text(&q, 4, x->f->channel);
  while (x->left > 0 && (rc = rp__sq_next(&q, "read recall", err)) > 0) {
    struct rp__recall row;
    rc = hand_out(x, q.st, &row);
    if (rc != 0) return rc;
    if (++seen < RECALL_PAGE || !x->id[0] || (x->before_id[0] && !is_behind(x, &row))) continue;
    x->before = row.ended_at;
    rp__name_set(x->before_id, row.session_id);
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
