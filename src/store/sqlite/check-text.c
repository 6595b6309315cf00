/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks that the full-text index has the text of the journal and the memories (B-08). The index has no text of its
 * own, only words with their places. Every word of the journal is hashed with its event and its place, and so is every
 * word of the index; the sums must be equal. That takes one pass over each, in any order, without keeping anything.
 */
#include "store/sqlite/sqlite.h"

#include "core/event.h"
#include "core/seal.h"

#define TEXT_MAX (256UL << 20)
#define DAMAGED_MAX 1024
#define EVENTS_PAGE 256

struct words {
  uint64_t sum;
  int64_t n;
};

static void words_add(struct words *w, int64_t doc, int64_t place, const char *term, size_t n)
{
  unsigned char at[16];
  for (int i = 0; i < 8; i++) {
    at[i] = (unsigned char)((uint64_t)doc >> (8 * i));
    at[8 + i] = (unsigned char)((uint64_t)place >> (8 * i));
  }
  w->sum += rp__checksum(term, n, rp__checksum(at, sizeof at, 0));
  w->n++;
}

/* ---- the text that is there ---- */

struct text {
  struct words *words;
  int64_t doc;
};

static void on_token(void *ctx, int64_t place, const char *term, size_t n)
{
  struct text *x = ctx;
  words_add(x->words, x->doc, place, term, n);
}

static int text_add(struct rp__sq_conn *c, struct rp__sq_tokenizer *t, struct words *w, int64_t doc,
                    struct rp__str text, rp_error *err)
{
  struct text x = {w, doc};
  return rp__sq_tokenize(c, t, text, on_token, &x, err);
}

/* Rows whose text nobody knows any more; they are told of as what they are. In order. */
struct unknown {
  int64_t id[DAMAGED_MAX];
  size_t n;
};

static bool is_unknown(const struct unknown *u, int64_t id)
{
  size_t low = 0, high = u->n;
  while (low < high) {
    size_t mid = (low + high) / 2;
    if (u->id[mid] == id) return true;
    if (u->id[mid] < id)
      low = mid + 1;
    else
      high = mid;
  }
  return false;
}

static int journal_add(struct rp__sq_conn *c, struct rp__sq_tokenizer *t, int64_t upto, struct words *w,
                       struct unknown *u, rp_error *err)
{
  RP_AUTOBUF struct rp__buf text = RP_BUF(TEXT_MAX);
  int64_t at = 0;
  for (int n = EVENTS_PAGE, rc; n == EVENTS_PAGE && at < upto;) {
    RP_SQ_AUTO q = rp__sq_query(c, RP_SQ_EVENT_UNINDEXED);
    RP_SQ_BIND(&q, RP_SQ_I(at), RP_SQ_I(EVENTS_PAGE));
    for (n = 0; (rc = rp__sq_next(&q, "read events", err)) > 0; n++) {
      struct rp__sq_event ev = {.id = rp__sq_col_int(&q, 0)};
      at = ev.id;
      if (at > upto) break;
      rp__sq_event_read(&q, 1, &ev);
      if (ev.damaged && u->n < DAMAGED_MAX) u->id[u->n++] = ev.id;
      if (ev.sealed || ev.damaged) continue;
      rp__buf_reset(&text);
      rp__event_search_text(rp__json_trusted(ev.body.p, ev.body.n), &text);
      if (text.err) return rp__fail(err, text.err, "event %lld can't be checked", (long long)ev.seq);
      rc = text_add(c, t, w, ev.id, (struct rp__str){text.p, text.n}, err);
      if (rc != 0) return rc;
    }
    if (rc < 0) return rc;
  }
  return 0;
}

static int memories_add(struct rp__sq_conn *c, struct rp__sq_tokenizer *t, struct words *w, rp_error *err)
{
  RP_SQ_AUTO q = rp__sq_query(c, RP_SQ_MEMORY_OPEN);
  int rc;
  while ((rc = rp__sq_next(&q, "read memories", err)) > 0) {
    rc = text_add(c, t, w, rp__sq_col_int(&q, 0), rp__sq_col_bytes(&q, 1), err);
    if (rc != 0) return rc;
  }
  return rc;
}

/* ---- the index ---- */

static int index_add(struct rp__sq_conn *c, const char *table, struct words *w, const struct unknown *u, rp_error *err)
{
  char sql[200];
  sqlite3_stmt *st = NULL;
  snprintf(sql, sizeof sql, "CREATE VIRTUAL TABLE temp.rp_words USING fts5vocab('main', '%s', 'instance')", table);
  int code = rp__sq_exec(c, "DROP TABLE IF EXISTS temp.rp_words", err);
  if (code == 0) code = rp__sq_exec(c, sql, err);
  if (code != 0) return code;
  int rc = sqlite3_prepare_v2(c->db, "SELECT doc, offset, term FROM temp.rp_words", -1, &st, NULL);
  while (rc == SQLITE_OK && (rc = sqlite3_step(st)) == SQLITE_ROW) {
    int64_t doc = sqlite3_column_int64(st, 0);
    const char *term = (const char *)sqlite3_column_text(st, 2);
    if (term && !is_unknown(u, doc))
      words_add(w, doc, sqlite3_column_int64(st, 1), term, (size_t)sqlite3_column_bytes(st, 2));
    rc = term ? SQLITE_OK : SQLITE_NOMEM;
  }
  if (rc != SQLITE_DONE) code = rp__sq_fail(c, rc, "check full text", err);
  sqlite3_finalize(st);
  int dropped = rp__sq_exec(c, "DROP TABLE IF EXISTS temp.rp_words", code ? NULL : err);
  return code ? code : dropped;
}

/* One index against what it is of: the journal up to a mark, or (`upto` < 0) the memories. */
static int text_check(struct rp__sq_conn *c, const char *table, int64_t upto, const char *what, struct rp__buf *out,
                      rp_error *err)
{
  RP_CLEANUP(rp__sq_tokenizer_done) struct rp__sq_tokenizer t = {0};
  RP_AUTOFREE struct unknown *u = calloc(1, sizeof *u);
  struct words want = {0}, have = {0};
  if (!u) return rp__fail_nomem(err);
  int rc = rp__sq_tokenizer_open(c, &t, err);
  if (rc == 0) rc = upto < 0 ? memories_add(c, &t, &want, err) : journal_add(c, &t, upto, &want, u, err);
  if (rc != 0) return rc;
  rc = index_add(c, table, &have, u, err);
  if (rc == RP_E_CORRUPT) {
    rp__buf_printf(out, "full text%s is damaged\n", upto < 0 ? " of memories" : "");
    return 0;
  }
  if (rc == 0 && (want.sum != have.sum || want.n != have.n))
    rp__buf_printf(out, "full text is not that of %s: it has %lld words, they have %lld\n", what, (long long)have.n,
                   (long long)want.n);
  return rc;
}

int rp__sq_text_lines(struct rp__sq_conn *c, struct rp__buf *out, rp_error *err)
{
  int64_t at;
  int rc = rp__sq_index_at(c, &at, err);
  if (rc == 0 && at >= 0) rc = text_check(c, "rp_fts", at, "the journal's events", out, err);
  return rc ? rc : text_check(c, "rp_memory_fts", -1, "the memories", out, err);
}
