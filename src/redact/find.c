/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds secrets at the literals that the prefilter found. The rows of a literal are tried in turn; the first one that
 * matches wins, and the search goes on after the secret. A row examines only the bytes of its window, so a text costs
 * at most a constant for each literal.
 */
#include "redact/code.h"
#include "redact/value.h"

#include "base/error.h"
#include "base/text.h"

#define NAME_REACH 64 /* bytes of a name on either side of its literal */
#define LOOK_MAX 128  /* bytes of a value that are judged */
#define SPANS_FIRST 8

/* ---- spans ---------------------------------------------------------------------------- */

void rp__spans_done(struct rp__spans *s)
{
  free(s->p);
  *s = (struct rp__spans){0};
}

int rp__spans_add(struct rp__spans *s, const struct rp__span *span)
{
  if (s->n == s->cap) {
    size_t cap = s->cap ? s->cap * 2 : SPANS_FIRST;
    struct rp__span *p = realloc(s->p, cap * sizeof *p);
    if (!p) return RP_E_NOMEM;
    s->p = p;
    s->cap = cap;
  }
  s->p[s->n++] = *span;
  return 0;
}

static int span_order(const void *a, const void *b)
{
  const struct rp__secret *x = &((const struct rp__span *)a)->secret, *y = &((const struct rp__span *)b)->secret;
  if (x->start != y->start) return x->start < y->start ? -1 : 1;
  return x->end < y->end ? 1 : x->end > y->end ? -1 : 0;
}

/* Overlapping spans are one secret: two names may share a value, and a user's expressions know nothing of the table's.
 */
void rp__spans_merge(struct rp__spans *s)
{
  size_t to = 0;
  if (s->n > 1) qsort(s->p, s->n, sizeof *s->p, span_order);
  for (size_t i = 1; i < s->n; i++) {
    struct rp__secret *last = &s->p[to].secret, *next = &s->p[i].secret;
    if (next->start < last->end && next->end > last->end) {
      size_t start = last->start;
      s->p[to] = s->p[i];
      s->p[to].secret.start = start;
    } else if (next->start >= last->end)
      s->p[++to] = s->p[i];
  }
  if (s->n > 0) s->n = to + 1;
}

void rp__spans_write(const struct rp__spans *s, const char *text, size_t from, size_t to, struct rp__buf *out,
                     size_t *hits)
{
  for (size_t i = 0; i < s->n; i++) {
    const struct rp__secret *k = &s->p[i].secret;
    if (k->end <= from || k->start >= to) continue;
    if (k->start > from) rp__buf_add(out, text + from, k->start - from);
    rp__buf_str(out, RP_MASK);
    from = k->end;
    (*hits)++;
  }
  if (from < to) rp__buf_add(out, text + from, to - from);
}

/* ---- one literal ------------------------------------------------------------------------ */

struct search {
  const struct rp__redactor *r;
  pcre2_match_data *data;
  const char *text;
  size_t n;
  size_t busy, floor; /* the last secret found: where it begins and ends */
  bool more;
};

enum found { FOUND_NONE, FOUND_SECRET, FOUND_OPEN, FOUND_NOMEM };

static bool in_name(char c)
{
  return rp__is_alnum(c) || c == '_' || c == '-' || c == '.' || c == '$';
}

/* The name the literal is part of; it does not reach back into a secret before `floor`. */
static struct rp__str name_around(const char *text, size_t n, size_t floor, const struct rp__hit *hit)
{
  size_t from = hit->at, to = hit->at + hit->n;
  while (from > floor && hit->at - from < NAME_REACH && in_name(text[from - 1])) from--;
  while (to < n && to - hit->at < NAME_REACH && in_name(text[to])) to++;
  /* A full stop ends the sentence, not the name. */
  while (to > hit->at + hit->n && text[to - 1] == '.') to--;
  return (struct rp__str){text + from, to - from};
}

static int byte_at(const struct search *s, size_t at)
{
  return at < s->n ? (unsigned char)s->text[at] : -1;
}

static int byte_before(const struct search *s, const char *at, size_t k)
{
  return (size_t)(at - s->text) >= k ? (unsigned char)at[-(ptrdiff_t)k] : -1;
}

/* Whether the bytes behind the value, which belong to the decision, are still to come. */
static bool is_open(const struct search *s, enum rp__run run, size_t end)
{
  return s->more && run != RP_RUN_NONE && end + (run == RP_RUN_KEY ? 5 : 2) > s->n;
}

/*
 * The expression said where a secret would be; whether it is one, and how far it goes. Judged by its first LOOK_MAX
 * bytes, so that text full of names costs no more than that for each.
 */
static enum found weigh(const struct search *s, const struct rp__pattern *row, struct rp__str name, size_t joint,
                        const struct rp__try *t, struct rp__span *ret)
{
  /* The quote a value stands in; the high bit says that it was escaped itself. */
  char before = row->run == RP_RUN_VALUE && t->start > 0 ? s->text[t->start - 1] : '\0';
  char quote = rp__is_in(before, "\"'`") ? before : '\0';
  if (quote && t->start > 1 && s->text[t->start - 2] == '\\') quote = (char)(quote | 0x80);
  struct rp__claim c = {.name = name,
                        .joint = {s->text + joint, t->start - joint},
                        .before = {byte_before(s, name.p, 1), byte_before(s, name.p, 2)},
                        .quoted = quote != '\0'};
  enum rp__run run = row->judge == RP_JUDGE_NAMED && !quote && rp__claim_is_env(&c) ? RP_RUN_ENV : row->run;
  size_t seen = LOOK_MAX < s->n - t->end ? t->end + LOOK_MAX : s->n;
  size_t end = rp__run_end(row->run, quote, s->text, seen, t->end);
  if (is_open(s, run, end)) return FOUND_OPEN;
  c.value = (struct rp__str){s->text + t->start, end - t->start};
  c.next[0] = byte_at(s, end);
  c.next[1] = byte_at(s, end + 1);
  bool holds = rp__claim_holds(row->judge, &c);
  if (!holds && run == RP_RUN_ENV && rp__claim_goes_on(&c)) {
    end = rp__run_end(run, quote, s->text, seen, end);
    if (is_open(s, run, end)) return FOUND_OPEN;
    c.value.n = end - t->start;
    c.next[0] = byte_at(s, end);
    c.next[1] = byte_at(s, end + 1);
    holds = rp__claim_holds(row->judge, &c);
  }
  if (!holds) return FOUND_NONE;
  if (end == seen || run != row->run) end = rp__run_end(run, quote, s->text, s->n, end);
  if (is_open(s, run, end)) return FOUND_OPEN;
  if (run == RP_RUN_KEY) /* its lines end before the white space in front of the last one */
    while (end > t->start && rp__is_in(s->text[end - 1], " \n\r\t")) end--;
  if (run == RP_RUN_VALUE || run == RP_RUN_ENV) { /* a key that begins in a value is a secret of its own */
    const char *key = memmem(s->text + t->start, end - t->start, "-----BEGIN", 10);
    if (key && key > s->text + t->start) end = (size_t)(key - s->text);
  }
  *ret = (struct rp__span){{t->start, end, row->name}, run, quote};
  return FOUND_SECRET;
}

/* One row at its place. */
static enum found try_row(struct search *s, const struct rp__hit *hit, unsigned i, struct rp__str name,
                          struct rp__span *ret)
{
  const struct rp__pattern *row = &rp__patterns[i];
  const pcre2_code *code = rp__codes_row(s->r->codes, i);
  size_t from = row->by_name ? (size_t)(name.p - s->text) + name.n : hit->at;
  size_t end = row->window < s->n - from ? from + row->window : s->n;
  struct rp__try t = {0};
  if (!code) return FOUND_NOMEM;
  switch (rp__code_try(s->r->codes, code, s->data, s->text, end, from, s->more && end == s->n, &t)) {
  case RP_TRIED_NO: return FOUND_NONE;
  case RP_TRIED_OPEN: return FOUND_OPEN;
  case RP_TRIED_NOMEM: return FOUND_NOMEM;
  case RP_TRIED_YES: return weigh(s, row, name, row->by_name ? from : hit->at + hit->n, &t, ret);
  case RP_TRIED_GAVE_UP: break;
  }
  *ret = (struct rp__span){{from, rp__run_end(RP_RUN_VALUE, 0, s->text, s->n, from), row->name}, RP_RUN_VALUE, 0};
  return ret->secret.end > from ? FOUND_SECRET : FOUND_NONE;
}

/* All rows of a literal: those that follow without literals of their own share them. FOUND_NONE when all is said. */
static enum found try_hit(struct search *s, const struct rp__hit *hit, struct rp__spans *spans)
{
  struct rp__str name = {s->text + hit->at, hit->n};
  if (rp__patterns[hit->row].by_name) {
    name = name_around(s->text, s->n, s->floor <= hit->at ? s->floor : 0, hit);
    bool whole = (size_t)(name.p - s->text) + name.n < s->n;
    if (s->more && !whole) return FOUND_OPEN;
    if (!rp__redact_key_name(name.p, name.n)) return FOUND_NONE;
  }
  enum found found = FOUND_NONE;
  for (unsigned i = hit->row; i < rp__patterns_n && (i == hit->row || !rp__patterns[i].literals); i++) {
    struct rp__span span;
    found = try_row(s, hit, i, name, &span);
    if (found == FOUND_SECRET) {
      if (rp__spans_add(spans, &span)) return FOUND_NOMEM;
      if (span.secret.end > s->floor) {
        s->busy = span.secret.start;
        s->floor = span.secret.end;
      }
      found = FOUND_NONE;
    }
    if (found != FOUND_NONE) break;
  }
  return found;
}

/* ---- a text ------------------------------------------------------------------------------ */

int rp__find(const struct rp__redactor *r, const char *text, size_t n, size_t from, bool more, struct rp__spans *ret,
             size_t *ret_open)
{
  struct search s = {.r = r, .text = text, .n = n, .more = more};
  enum found found = FOUND_NONE;
  struct rp__hit hit;
  size_t open = n;
  for (; found == FOUND_NONE && rp__prefilter_next(&r->filter, text, n, from, &hit); from = hit.at + 1) {
    /* Literals inside a secret are passed over; those between a secret's own literal and the secret are not. */
    if (hit.at >= s.busy && hit.at < s.floor) {
      hit.at = s.floor - 1;
      continue;
    }
    if (!s.data) s.data = pcre2_match_data_create(4, r->codes->memory);
    found = s.data ? try_hit(&s, &hit, ret) : FOUND_NOMEM;
    if (found == FOUND_OPEN) open = hit.at;
  }
  pcre2_match_data_free(s.data);
  if (found == FOUND_NOMEM) return RP_E_NOMEM;
  if (more) open = RP_MIN(open, rp__prefilter_cut(&r->filter, text, n, true));
  int rc = r->codes->n_own > 0 ? rp__own_find(r->codes, text, n, more, ret, &open) : 0;
  if (rc) return rc;
  if (ret->n > 1) rp__spans_merge(ret);
  for (; ret->n > 0 && ret->p[ret->n - 1].secret.end > open; ret->n--) /* no span reaches into what is open */
    open = RP_MIN(open, ret->p[ret->n - 1].secret.start);
  *ret_open = open;
  return 0;
}

bool rp__redact_suspects(const struct rp__redactor *r, const char *text, size_t n)
{
  struct rp__hit hit;
  if (r->codes->n_own > 0) return n > 0;
  for (size_t from = 0; rp__prefilter_next(&r->filter, text, n, from, &hit); from = hit.at + 1) {
    if (!rp__patterns[hit.row].by_name) return true;
    struct rp__str name = name_around(text, n, 0, &hit);
    if (rp__redact_key_name(name.p, name.n)) return true;
  }
  return false;
}

size_t rp__find_begin(const struct rp__redactor *r, const char *text, size_t n)
{
  struct rp__hit hit;
  for (size_t from = 0; rp__prefilter_next(&r->filter, text, n, from, &hit); from = hit.at + 1) {
    const struct rp__pattern *row = &rp__patterns[hit.row];
    if (row->run == RP_RUN_KEY) return hit.at;
    if (!row->by_name) continue;
    struct rp__str name = name_around(text, n, 0, &hit);
    if (rp__redact_key_name(name.p, name.n)) return (size_t)(name.p - text);
  }
  return n;
}

bool rp__find_token(const struct rp__redactor *r, const char *text, size_t n, size_t at)
{
  struct rp__hit hit;
  return rp__prefilter_next(&r->filter, text, n, at, &hit) && hit.at == at && hit.secret;
}

bool rp__redact_glance(const struct rp__redactor *r, const char *bytes, size_t n)
{
  struct rp__hit hit;
  return r->codes->n_own > 0 || rp__prefilter_next(&r->filter, bytes, n, 0, &hit);
}

/* ---- the contract -------------------------------------------------------------------------- */

int rp__redactor_new(const char *own, struct rp__redactor **ret, rp_error *err)
{
  RP_AUTOFREE struct rp__redactor *r = calloc(1, sizeof *r);
  if (!r) return rp__fail_nomem(err);
  rp__prefilter_init(&r->filter);
  int rc = rp__codes_new(own, &r->codes, err);
  if (rc) return rc;
  *ret = RP_TAKE(r);
  return 0;
}

void rp__redactor_free(struct rp__redactor *r)
{
  if (!r) return;
  rp__codes_free(r->codes);
  free(r);
}

int rp__redact_find(const struct rp__redactor *r, const char *text, size_t n, rp__secret_fn *fn, void *ctx)
{
  RP_AUTOSPANS struct rp__spans spans = {0};
  size_t open;
  int rc = rp__find(r, text, n, 0, false, &spans, &open);
  for (size_t i = 0; i < spans.n && !rc; i++) rc = fn(ctx, &spans.p[i].secret);
  return rc;
}

int rp__redact_text(const struct rp__redactor *r, const char *text, size_t n, struct rp__buf *out, size_t *ret_hits)
{
  RP_AUTOSPANS struct rp__spans spans = {0};
  size_t open, hits = 0;
  int rc = rp__find(r, text, n, 0, false, &spans, &open);
  if (rc) return rc;
  rp__spans_write(&spans, text, 0, n, out, &hits);
  if (out->err) return out->err;
  if (ret_hits) *ret_hits = hits;
  return 0;
}

/* Without the memory to look, everything is undecided. */
size_t rp__redact_tail(const struct rp__redactor *r, const char *text, size_t n)
{
  RP_AUTOSPANS struct rp__spans spans = {0};
  enum rp__run run;
  char quote;
  size_t open = 0;
  int rc = rp__find(r, text, n, 0, true, &spans, &open);
  if (rc) return 0;
  open = RP_MIN(open, rp__prefilter_cut(&r->filter, text, n, false));
  return RP_MIN(open, rp__mask_open(text, n, &run, &quote));
}
