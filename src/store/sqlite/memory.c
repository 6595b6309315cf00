/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memories of a scope. They outlive their sessions. Unsealed memories are in a full-text index without content,
 * which is written in the same transaction, so the index always has the text of the row.
 */
#include "store/sqlite/sqlite.h"

#include "store/search-words.h"

#define MEMORY_PAGE 64

static int index_run(struct rp__sq_conn *c, enum rp__sq_id id, int64_t ref, struct rp__str text, rp_error *err)
{
  RP_SQ_AUTO q = rp__sq_query(c, id);
  RP_SQ_BIND(&q, RP_SQ_I(ref), RP_SQ_TN(text.p, text.n));
  return rp__sq_done(&q, "index memory", err);
}

/* A memory as its row says it; content and categories are borrowed from the statement, which is RP_SQ_MEMORY_GET. */
static void memory_read(struct rp__sq_q *q, struct rp__memory_row *row)
{
  memset(row, 0, sizeof *row);
  rp__sq_col_str(q, 0, row->id, sizeof row->id);
  rp__sq_col_str(q, 1, row->scope, sizeof row->scope);
  rp__sq_col_str(q, 2, row->session_id, sizeof row->session_id);
  row->confidence = rp__sq_col_real(q, 3);
  row->created_at = rp__sq_col_time(q, 4);
  row->updated_at = rp__sq_col_time(q, 5);
  row->learned_at = rp__sq_col_time(q, 6);
  row->sealed = rp__sq_col_int(q, 7) != 0;
  struct rp__str content = rp__sq_col_bytes(q, 8);
  row->content = content.p;
  row->content_len = content.n;
  if (sqlite3_column_type(q->st, 9) != SQLITE_NULL) row->categories = rp__sq_col_bytes(q, 9).p;
  row->damaged =
      sqlite3_column_type(q->st, 10) != SQLITE_NULL && (uint64_t)rp__sq_col_int(q, 10) != rp__memory_sum(row);
  row->uses = rp__sq_col_int(q, 11);
  row->used_at = rp__sq_col_time(q, 12);
}

/* 1 and its number, or 0 when there is no such memory. */
static int memory_find(struct rp__sq_conn *c, const struct rp__memory_row *row, int64_t *ret_ref, rp_error *err)
{
  RP_SQ_AUTO q = rp__sq_query(c, RP_SQ_MEMORY_FIND);
  RP_SQ_BIND(&q, RP_SQ_T(row->scope), RP_SQ_T(row->id));
  int rc = rp__sq_next(&q, "read memory", err);
  if (rc > 0) *ret_ref = rp__sq_col_int(&q, 0);
  return rc;
}

/* How a memory was used, which a replacement of it keeps. */
struct use {
  int64_t n, last_at;
};

/* 1 when there was one, 0 when not. */
static int memory_remove(struct rp__sq_conn *c, const struct rp__memory_row *row, struct use *ret, rp_error *err)
{
  static const enum rp__sq_id gone = RP_SQ_MEMORY_DELETE;
  struct rp__memory_row old;
  *ret = (struct use){0};
  int64_t ref;
  int found = memory_find(c, row, &ref, err);
  if (found <= 0) return found;
  RP_SQ_AUTO q = rp__sq_query(c, RP_SQ_MEMORY_GET);
  rp__sq_int(&q, 1, ref);
  int rc = rp__sq_next(&q, "read memory", err);
  if (rc < 0) return rc;
  memory_read(&q, &old);
  *ret = (struct use){old.uses, old.used_at};
  rc = 0;
  if (!old.sealed && !old.damaged)
    rc = index_run(c, RP_SQ_MEMORY_INDEX_REMOVE, ref, (struct rp__str){old.content, old.content_len}, err);
  rp__sq_reset(&q);
  if (rc == 0) rc = rp__sq_run_by_ref(c, &gone, 1, ref, "delete memory", err);
  /* What the index holds of a damaged one is not what its row says now. */
  if (rc == 0 && old.damaged) rc = rp__sq_memory_reindex(c, err);
  return rc ? rc : 1;
}

static int memory_write(struct rp__sq_conn *c, const struct rp__memory_row *row, struct use use, rp_error *err)
{
  RP_SQ_AUTO q = rp__sq_query(c, RP_SQ_MEMORY_PUT);
  RP_SQ_BIND(&q, RP_SQ_T(row->scope), RP_SQ_T(row->id), RP_SQ_T(row->session_id), RP_SQ_R(row->confidence),
             RP_SQ_I(row->created_at), RP_SQ_I(row->updated_at), RP_SQ_I(row->sealed));
  if (row->sealed)
    rp__sq_blob(&q, 8, row->content, row->content_len);
  else
    rp__sq_textn(&q, 8, row->content, row->content_len);
  rp__sq_text(&q, 9, row->sealed ? NULL : row->categories);
  rp__sq_int(&q, 10, (int64_t)rp__memory_sum(row));
  rp__sq_int(&q, 11, use.n);
  rp__sq_int(&q, 12, use.last_at);
  return rp__sq_done(&q, "write memory", err);
}

int rp__sq_memory_put(struct rp__sq_conn *c, struct rp__op *op, rp_error *err)
{
  const struct rp__memory_row *row = op->u.memory.row;
  struct use use;
  int rc = memory_remove(c, row, &use, err);
  if (rc < 0) return rc;
  rc = memory_write(c, row, use, err);
  if (rc != 0 || row->sealed) return rc;
  struct rp__str text = {row->content, row->content_len};
  return index_run(c, RP_SQ_MEMORY_INDEX_PUT, sqlite3_last_insert_rowid(c->db), text, err);
}

int rp__sq_memory_set(struct rp__sq_conn *c, struct rp__op *op, rp_error *err)
{
  struct rp__memory_row row;
  int64_t ref;
  int rc = memory_find(c, op->u.memory.row, &ref, err);
  if (rc == 0) return rp__refuse_memory(op->u.memory.row, err);
  if (rc < 0) return rc;
  RP_SQ_AUTO get = rp__sq_query(c, RP_SQ_MEMORY_GET);
  rp__sq_int(&get, 1, ref);
  rc = rp__sq_next(&get, "read memory", err);
  if (rc < 0) return rc;
  memory_read(&get, &row);
  if (row.damaged) return rp__refuse_memory_damage(&row, err);
  row.confidence = op->u.memory.row->confidence;
  row.updated_at = op->now_ms;
  int64_t sum = (int64_t)rp__memory_sum(&row);
  rp__sq_reset(&get);
  RP_SQ_AUTO q = rp__sq_query(c, RP_SQ_MEMORY_SET);
  RP_SQ_BIND(&q, RP_SQ_I(ref), RP_SQ_R(row.confidence), RP_SQ_I(row.updated_at), RP_SQ_I(sum));
  return rp__sq_done(&q, "write memory", err);
}

int rp__sq_memory_delete(struct rp__sq_conn *c, struct rp__op *op, rp_error *err)
{
  struct use use;
  int rc = memory_remove(c, op->u.memory.row, &use, err);
  return rc == 0 ? rp__refuse_memory(op->u.memory.row, err) : RP_MIN(rc, 0);
}

int rp__sq_memory_used(struct rp__sq_conn *c, struct rp__op *op, rp_error *err)
{
  const struct rp__memory_row *row = op->u.memory.row;
  RP_SQ_AUTO q = rp__sq_query(c, RP_SQ_MEMORY_USED);
  RP_SQ_BIND(&q, RP_SQ_T(row->scope), RP_SQ_T(row->id), RP_SQ_I(row->used_at), RP_SQ_I(RP_MEMORY_USE_MS));
  return rp__sq_done(&q, "write memory", err);
}

int rp__sq_memory_reindex(struct rp__sq_conn *c, rp_error *err)
{
  int rc = rp__sq_exec(c, "DROP TABLE IF EXISTS rp_memory_fts;" RP_SQ_MEMORY_INDEX, err);
  if (rc != 0) return rc;
  RP_SQ_AUTO q = rp__sq_query(c, RP_SQ_MEMORY_OPEN);
  while ((rc = rp__sq_next(&q, "read memories", err)) > 0) {
    rc = index_run(c, RP_SQ_MEMORY_INDEX_PUT, rp__sq_col_int(&q, 0), rp__sq_col_bytes(&q, 1), err);
    if (rc != 0) return rc;
  }
  return rc;
}

int rp__sq_memory_lines(struct rp__sq_conn *c, struct rp__buf *out, rp_error *err)
{
  int64_t ref = 0, next;
  int rc, n = 0;
  while ((rc = rp__sq_number(c, RP_SQ_MEMORY_NEXT, &ref, 0, &next, err)) == 0 && next > ref && n < RP_SQ_FINDINGS) {
    struct rp__memory_row row;
    RP_SQ_AUTO q = rp__sq_query(c, RP_SQ_MEMORY_GET);
    rp__sq_int(&q, 1, ref = next);
    rc = rp__sq_next(&q, "read memory", err);
    if (rc < 0) return rc;
    if (rc == 0) continue;
    memory_read(&q, &row);
    n += row.damaged;
    if (row.damaged)
      rp__buf_printf(out, "memory %s of scope %s is damaged (its checksum does not fit)\n", row.id, row.scope);
  }
  return rc;
}

/* ---- list ---- */

/* First which ones, in their order; then their rows in pages, so that no transaction is long. */
struct pick {
  int64_t ref;
  double rank;
};
struct list {
  struct pick *picks;
  size_t n, cap;
  struct rp__memory_row rows[MEMORY_PAGE];
  size_t content[MEMORY_PAGE], categories[MEMORY_PAGE]; /* their places in `bytes`; SIZE_MAX: none */
  int n_rows;
  struct rp__buf bytes;
};

static void list_freep(struct list **l)
{
  if (!*l) return;
  free((*l)->picks);
  rp__buf_done(&(*l)->bytes);
  free(*l);
}

static int pick_add(struct list *l, struct pick p)
{
  if (l->n == l->cap) {
    size_t cap = RP_MAX(l->cap * 2, 64);
    struct pick *more = reallocarray(l->picks, cap, sizeof *more);
    if (!more) return RP_E_NOMEM;
    l->picks = more;
    l->cap = cap;
  }
  l->picks[l->n++] = p;
  return 0;
}

static int picks_read(struct rp__sq_store *s, const struct rp__memory_filter *f, const struct rp__buf *match,
                      struct list *l, rp_error *err)
{
  RP_AUTOREADER struct rp__sq_conn *c = NULL;
  bool by_words = f->words && !f->id;
  int rc = rp__sq_reader_take(s, &c, err);
  if (rc != 0) return rc;
  static const enum rp__sq_id queries[2][2] = {{RP_SQ_MEMORY_BEST, RP_SQ_MEMORY_SEARCH},
                                               {RP_SQ_MEMORY_FRESH, RP_SQ_MEMORY_ABOUT}};
  RP_SQ_AUTO q = rp__sq_query(c, queries[f->fresh][by_words]);
  rp__sq_text(&q, 1, f->scope);
  if (by_words)
    rp__sq_textn(&q, 2, match->p, match->n);
  else
    rp__sq_text(&q, 2, f->id);
  rp__sq_int(&q, 3, f->limit > 0 ? f->limit : -1);
  if (f->fresh) rp__sq_int(&q, 4, RP_MEMORIES_LOOKED);
  if (f->fresh) rp__sq_text(&q, 5, f->channel);
  while ((rc = rp__sq_next(&q, "list memories", err)) > 0)
    if (pick_add(l, (struct pick){rp__sq_col_int(&q, 0), rp__sq_col_real(&q, 1)})) return rp__fail_nomem(err);
  return rc;
}

static size_t text_keep(struct list *l, const char *p, size_t n)
{
  size_t at = l->bytes.n;
  if (!p) return SIZE_MAX;
  rp__buf_add(&l->bytes, p, n);
  rp__buf_char(&l->bytes, '\0');
  return at;
}

/* Rows of the picks from *at on, as many as a page takes; those deleted meanwhile are passed over. */
static int page_read(struct rp__sq_store *s, struct list *l, size_t *at, rp_error *err)
{
  RP_AUTOREADER struct rp__sq_conn *c = NULL;
  int rc = rp__sq_reader_take(s, &c, err);
  l->n_rows = 0;
  rp__buf_reset(&l->bytes);
  for (; rc == 0 && *at < l->n && l->n_rows < MEMORY_PAGE && l->bytes.n < RP_SQ_PAGE_BYTES; ++*at) {
    RP_SQ_AUTO q = rp__sq_query(c, RP_SQ_MEMORY_GET);
    rp__sq_int(&q, 1, l->picks[*at].ref);
    rc = rp__sq_next(&q, "read memory", err);
    if (rc > 0) {
      struct rp__memory_row *row = &l->rows[l->n_rows];
      memory_read(&q, row);
      row->rank = l->picks[*at].rank;
      l->content[l->n_rows] = text_keep(l, row->content, row->content_len);
      l->categories[l->n_rows] = text_keep(l, row->categories, row->categories ? strlen(row->categories) : 0);
      l->n_rows++;
    }
    rc = RP_MIN(rc, 0);
  }
  if (rc == 0 && l->bytes.err) rc = rp__fail(err, l->bytes.err, "a memory is too large");
  return rc;
}

static int list_tell(struct rp__sq_store *s, struct list *l, rp__memory_fn *fn, void *ctx, rp_error *err)
{
  for (size_t at = 0; at < l->n;) {
    int rc = page_read(s, l, &at, err);
    for (int i = 0; rc == 0 && i < l->n_rows; i++) {
      struct rp__memory_row *row = &l->rows[i];
      row->content = l->content[i] == SIZE_MAX ? "" : l->bytes.p + l->content[i];
      row->categories = l->categories[i] == SIZE_MAX ? NULL : l->bytes.p + l->categories[i];
      rc = fn(ctx, row);
    }
    if (rc != 0) return rc;
  }
  return 0;
}

int rp__sq_memory_list(struct rp__store *base, const struct rp__memory_filter *f, rp__memory_fn *fn, void *ctx,
                       rp_error *err)
{
  RP_CLEANUP(list_freep) struct list *l = calloc(1, sizeof *l);
  RP_AUTOBUF struct rp__buf match = RP_BUF(1 << 20);
  struct rp__terms terms;
  int rc = 0;
  if (!l) return rp__fail_nomem(err);
  l->bytes = RP_BUF(1UL << 30);
  if (f->words && !f->id) {
    rc = rp__terms_parse(f->words, &terms, err);
    if (rc != 0) return rc;
    rp__sq_match_write(&terms, f->fresh, &match);
    if (match.err) return rp__fail(err, match.err, "too much to look for");
  }
  rc = picks_read(rp__sq(base), f, &match, l, err);
  return rc ? rc : list_tell(rp__sq(base), l, fn, ctx, err);
}
