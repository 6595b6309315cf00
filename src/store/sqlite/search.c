/* SPDX-License-Identifier: Apache-2.0 */
/* Full-text search: the index finds candidates, the events themselves confirm them. */
#include "store/sqlite/sqlite.h"

#include "core/event.h"
#include "store/search-words.h"

#define HITS_DEFAULT 20
#define HITS_MAX 1000
#define TEXT_MAX (256UL << 20)

void rp__sq_match_write(const struct rp__terms *t, bool any, struct rp__buf *out)
{
  for (size_t i = 0; i < t->n; i++) {
    rp__buf_str(out, !i ? "\"" : any ? " OR \"" : " \"");
    for (size_t j = 0; j < t->term[i].text.n; j++) {
      char c = t->term[i].text.p[j];
      if (c == '"') rp__buf_char(out, '"');
      rp__buf_char(out, c);
    }
    rp__buf_str(out, t->term[i].prefix ? "\"*" : "\"");
  }
}

/* ---- whether a text says what was looked for ---- */

#define PHRASE_MAX 64 /* words of a term that are looked at */

/* One term as the index sees it: words that follow each other, the last of which may be a beginning. */
struct phrase {
  size_t at[PHRASE_MAX], len[PHRASE_MAX]; /* of each in the buffer */
  size_t n;
  bool prefix, found;
  uint64_t begun; /* bit i: the words up to i are the last ones of the text so far */
};

struct asked {
  struct rp__sq_tokenizer tokenizer;
  struct phrase phrase[RP_TERMS_MAX];
  size_t n;
  struct rp__buf words;
};

static void asked_done(struct asked *a)
{
  rp__sq_tokenizer_done(&a->tokenizer);
  rp__buf_done(&a->words);
}

static void on_asked(void *ctx, int64_t place, const char *term, size_t n)
{
  struct asked *a = ctx;
  struct phrase *p = &a->phrase[a->n];
  (void)place;
  if (p->n == PHRASE_MAX) return;
  p->at[p->n] = a->words.n;
  p->len[p->n++] = n;
  rp__buf_add(&a->words, term, n);
}

static int asked_open(struct rp__sq_conn *c, const struct rp__terms *t, struct asked *a, rp_error *err)
{
  int rc = rp__sq_tokenizer_open(c, &a->tokenizer, err);
  for (; rc == 0 && a->n < t->n; a->n++) {
    a->phrase[a->n].prefix = t->term[a->n].prefix;
    rc = rp__sq_tokenize(c, &a->tokenizer, t->term[a->n].text, on_asked, a, err);
  }
  return rc == 0 && a->words.err ? rp__fail(err, a->words.err, "too much to look for") : rc;
}

static bool is_word(const struct asked *a, const struct phrase *p, size_t i, const char *term, size_t n)
{
  bool fits = p->prefix && i + 1 == p->n ? n >= p->len[i] : n == p->len[i];
  return fits && memcmp(a->words.p + p->at[i], term, p->len[i]) == 0;
}

static void on_said(void *ctx, int64_t place, const char *term, size_t n)
{
  struct asked *a = ctx;
  (void)place;
  for (size_t k = 0; k < a->n; k++) {
    struct phrase *p = &a->phrase[k];
    uint64_t here = 0;
    if (p->found) continue;
    for (size_t i = 0; i < p->n; i++)
      if ((i == 0 || p->begun >> (i - 1) & 1) && is_word(a, p, i, term, n)) here |= (uint64_t)1 << i;
    p->begun = here;
    p->found = here >> (p->n - 1) & 1;
  }
}

/* ---- hits ---- */

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

/* Only what the journal says is shown, whatever the index says and whatever became of the event. */
static int hit_read(struct rp__sq_q *q, const struct rp__terms *t, struct asked *asked, struct hits *hits,
                    rp_error *err)
{
  struct hit *h = &hits->hit[hits->n];
  struct rp__sq_event ev = {0};
  bool said;
  rp__sq_event_read(q, 3, &ev);
  if (ev.sealed || ev.damaged) return 0;
  rp__buf_reset(&hits->text);
  rp__event_search_text(rp__json_trusted(ev.body.p, ev.body.n), &hits->text);
  if (hits->text.err) return rp__fail(err, hits->text.err, "event %lld does not fit into memory", (long long)ev.seq);
  struct rp__str text = {hits->text.p ? hits->text.p : "", hits->text.n};
  /* An index that is damaged names events that say something else. */
  for (size_t k = 0; k < asked->n; k++) {
    asked->phrase[k].begun = 0;
    asked->phrase[k].found = asked->phrase[k].n == 0; /* marks between words alone */
  }
  int rc = rp__sq_tokenize(q->c, &asked->tokenizer, text, on_said, asked, err);
  said = true;
  for (size_t k = 0; k < asked->n; k++) said = said && asked->phrase[k].found;
  if (rc != 0 || !said) return rc;
  rp__sq_col_str(q, 0, h->session_id, sizeof h->session_id);
  rp__sq_col_str(q, 1, h->scope, sizeof h->scope);
  memcpy(h->kind, ev.kind, sizeof h->kind);
  h->seq = ev.seq;
  h->at_ms = ev.at;
  h->rank = sqlite3_column_double(q->st, 2);
  h->snippet = hits->snippets.n;
  hits->n++;
  rp__snippet(t, text, &hits->snippets);
  rp__buf_char(&hits->snippets, '\0');
  return hits->snippets.err ? rp__fail(err, hits->snippets.err, "the hits do not fit into memory") : 0;
}

static int hits_read(struct rp__sq_store *s, const struct rp__terms *t, const char *scope, struct hits *hits,
                     rp_error *err)
{
  RP_AUTOBUF struct rp__buf match = RP_BUF(1 << 20);
  RP_AUTOREADER struct rp__sq_conn *c = NULL;
  RP_CLEANUP(asked_done) struct asked asked = {.words = RP_BUF(1 << 20)};
  int64_t at;
  rp__sq_match_write(t, false, &match);
  if (match.err) return rp__fail(err, match.err, "too much to look for");
  int rc = rp__sq_reader_take(s, &c, err);
  if (rc == 0) rc = rp__sq_index_at(c, &at, err);
  if (rc == 0 && at >= 0) rc = asked_open(c, t, &asked, err);
  if (rc != 0 || at < 0) return rc;
  RP_SQ_AUTO q = rp__sq_query(c, RP_SQ_INDEX_SEARCH);
  RP_SQ_BIND(&q, RP_SQ_TN(match.p, match.n), RP_SQ_T(scope), RP_SQ_I(hits->max));
  while (hits->n < hits->max && (rc = rp__sq_next(&q, "search", err)) > 0) {
    rc = hit_read(&q, t, &asked, hits, err);
    if (rc != 0) return rc;
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
