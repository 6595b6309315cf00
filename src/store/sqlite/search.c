/* SPDX-License-Identifier: Apache-2.0 */
#include "store/sqlite/sqlite.h"

#include "core/event.h"
#include "store/words.h"

#define HITS_DEFAULT 20
#define HITS_MAX 1000
#define TEXT_MAX (256UL << 20)

void rp__sq_match_write(const struct rp__terms *t, struct rp__buf *out)
{
  for (size_t i = 0; i < t->n; i++) {
    rp__buf_str(out, i ? " \"" : "\"");
    for (size_t j = 0; j < t->term[i].text.n; j++) {
      char c = t->term[i].text.p[j];
      if (c == '"') rp__buf_char(out, '"');
      rp__buf_char(out, c);
    }
    rp__buf_str(out, t->term[i].prefix ? "\"*" : "\"");
  }
}

/* What a hit is made of, copied, so that nothing is open while hits are handed out. */
struct hit {
  char session_id[RP_NAME], scope[RP_NAME], kind[RP_NAME];
  int64_t seq, at_ms;
  double rank;
  size_t snippet; /* its place in the buffer */
};

struct hits {
  struct hit *hit;
  int n, max;
  struct rp__buf snippets, text;
};

static void hits_done(struct hits *h)
{
  free(h->hit);
  rp__buf_done(&h->snippets);
  rp__buf_done(&h->text);
}

static int hit_read(struct rp__sq_q *q, const struct rp__terms *t, struct hits *hits)
{
  struct hit *h = &hits->hit[hits->n++];
  struct rp__str body = rp__sq_col_bytes(q, 6);
  rp__sq_col_str(q, 0, h->session_id, sizeof h->session_id);
  rp__sq_col_str(q, 1, h->scope, sizeof h->scope);
  rp__sq_col_str(q, 2, h->kind, sizeof h->kind);
  h->seq = rp__sq_col_count(q, 3);
  h->at_ms = rp__sq_col_time(q, 4);
  h->rank = sqlite3_column_double(q->st, 5);
  h->snippet = hits->snippets.n;
  rp__buf_reset(&hits->text);
  rp__event_search_text(rp__json_trusted(body.p, body.n), &hits->text);
  rp__snippet(t, (struct rp__str){hits->text.p ? hits->text.p : "", hits->text.n}, &hits->snippets);
  rp__buf_char(&hits->snippets, '\0');
  return hits->text.err ? hits->text.err : hits->snippets.err;
}

static int hits_read(struct rp__sq_store *s, const struct rp__terms *t, const char *scope, struct hits *hits,
                     rp_error *err)
{
  RP_AUTOBUF struct rp__buf match = RP_BUF(1 << 20);
  RP_AUTOREADER struct rp__sq_conn *c = NULL;
  int64_t at;
  rp__sq_match_write(t, &match);
  if (match.err) return rp__fail(err, match.err, "too much to look for");
  int rc = rp__sq_reader_take(s, &c, err);
  if (rc == 0) rc = rp__sq_index_at(c, &at, err);
  if (rc != 0 || at < 0) return rc;
  RP_SQ_AUTO q = rp__sq_query(c, RP_SQ_INDEX_SEARCH);
  rp__sq_textn(&q, 1, match.p, match.n);
  rp__sq_text(&q, 2, scope);
  rp__sq_int(&q, 3, hits->max);
  while (hits->n < hits->max && (rc = rp__sq_next(&q, "search", err)) > 0) {
    rc = hit_read(&q, t, hits);
    if (rc != 0) return rp__fail(err, rc, "the hits do not fit into memory");
  }
  return rc < 0 ? rc : 0;
}

int rp__sq_search(struct rp__store *base, const char *words, const char *scope, int limit, rp_hit_fn *fn, void *ctx,
                  rp_error *err)
{
  RP_CLEANUP(hits_done)
  struct hits hits = {.snippets = RP_BUF(64UL << 20), .text = RP_BUF(TEXT_MAX)};
  struct rp__sq_store *s = rp__sq(base);
  struct rp__terms terms;
  hits.max = limit > 0 ? RP_MIN(limit, HITS_MAX) : HITS_DEFAULT;
  int rc = rp__terms_parse(words, &terms, err);
  if (rc != 0) return rc;
  hits.hit = calloc((size_t)hits.max, sizeof *hits.hit);
  if (!hits.hit) return rp__fail_nomem(err);
  if (!s->read_only) rc = rp__sq_index_catch_up(s, err);
  if (rc == 0) rc = hits_read(s, &terms, scope, &hits, err);
  for (int i = 0; rc == 0 && i < hits.n; i++) {
    const struct hit *h = &hits.hit[i];
    rp_hit hit = {.session_id = h->session_id,
                  .scope = h->scope,
                  .kind = h->kind,
                  .seq = h->seq,
                  .at_ms = h->at_ms,
                  .snippet = hits.snippets.p + h->snippet,
                  .rank = h->rank};
    rc = fn(ctx, &hit);
  }
  return rc;
}
