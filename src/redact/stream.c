/* SPDX-License-Identifier: Apache-2.0 */
#include "redact/stream.h"

#include "redact/code.h"
#include "redact/find.h"
#include "redact/value.h"

#define PART_MIN 16    /* bytes of an unfinished token that are worth hiding */
#define NAME_BEFORE 64 /* bytes of a name before the literal by which it was noticed */

/* ---- bytes that are wiped ------------------------------------------------------------ */

static void wipe(struct rp__buf *b)
{
  if (b->p) explicit_bzero(b->p, b->cap);
  rp__buf_done(b);
}
#define AUTOWIPE RP_CLEANUP(wipe)

/* Room for all of it at once: growing would leave a copy of a secret behind in freed memory. */
static int room(struct rp__buf *b, size_t n)
{
  *b = RP_BUF(n);
  return rp__buf_room(b, n) ? 0 : b->err;
}

void rp__redact_stream_done(struct rp__redact_stream *s)
{
  wipe(&s->held);
  *s = (struct rp__redact_stream){0};
}

/* ---- written down ------------------------------------------------------------------------ */

#define SAVED_VERSION 1
#define SAVED_HEAD 5 /* version, inside, quote, cut, length of the context */

_Static_assert(RP_REDACT_CONTEXT <= 255, "its length is a byte");

void rp__redact_stream_save(const struct rp__redact_stream *s, struct rp__buf *out)
{
  char head[SAVED_HEAD] = {SAVED_VERSION, (char)s->inside, s->quote, s->cut, (char)s->n_context};
  rp__buf_add(out, head, sizeof head);
  rp__buf_add(out, s->context, s->n_context);
  rp__buf_add(out, s->held.p, s->held.n);
}

int rp__redact_stream_load(const void *bytes, size_t n, struct rp__redact_stream *ret)
{
  const unsigned char *at = bytes;
  size_t context = n >= SAVED_HEAD ? at[4] : 0;
  if (n < SAVED_HEAD || at[0] != SAVED_VERSION || context > RP_REDACT_CONTEXT || n < SAVED_HEAD + context)
    return RP_E_CORRUPT;
  struct rp__redact_stream s = {.inside = at[1], .quote = (char)at[2], .cut = at[3] != 0, .n_context = context};
  memcpy(s.context, at + SAVED_HEAD, context);
  int rc = room(&s.held, n - SAVED_HEAD - context);
  if (rc) return rc;
  rp__buf_add(&s.held, at + SAVED_HEAD + context, n - SAVED_HEAD - context);
  *ret = s;
  return 0;
}

bool rp__redact_stream_matters(const struct rp__redactor *r, const struct rp__redact_stream *s, size_t told)
{
  if (s->held.n > 0 || s->inside) return true;
  if (told >= s->n_context) return false;
  return rp__redact_suspects(r, s->context, s->n_context) ||
         rp__prefilter_cut(&r->filter, s->context, s->n_context, false) < s->n_context;
}

/* ---- a stream --------------------------------------------------------------------------- */

/* The text a chunk is read in: what was given out before it, what was held, and the chunk. */
struct reading {
  struct rp__buf text;
  size_t given;
  struct rp__spans spans;
  size_t open;
};

static void reading_done(struct reading *x)
{
  wipe(&x->text);
  rp__spans_done(&x->spans);
}

static int decide(const struct rp__redactor *r, const struct rp__redact_stream *s, bool more, struct reading *x)
{
  x->spans.n = 0;
  /* The first byte of what was cut is only there to be looked back at. */
  return rp__find(r, x->text.p, x->text.n, s->cut ? 1 : 0, more, &x->spans, &x->open);
}

static int reading_begin(const struct rp__redactor *r, const struct rp__redact_stream *s, const char *chunk, size_t n,
                         bool more, struct reading *x)
{
  int rc = room(&x->text, s->n_context + s->held.n + n);
  if (rc) return rc;
  rp__buf_add(&x->text, s->context, s->n_context);
  rp__buf_add(&x->text, s->held.p, s->held.n);
  rp__buf_add(&x->text, chunk, n);
  x->given = s->n_context;
  return decide(r, s, more, x);
}

static const struct rp__span *last_span(const struct reading *x)
{
  return x->spans.n > 0 ? &x->spans.p[x->spans.n - 1] : NULL;
}

/* Everything before `open` is out: keeps of it what is needed to read the rest, and no secret; and holds the rest. */
static void settle(struct rp__redact_stream *s, const struct reading *x, struct rp__buf *held)
{
  size_t secret = last_span(x) ? last_span(x)->secret.end : 0;
  size_t from = x->open > RP_REDACT_CONTEXT ? x->open - RP_REDACT_CONTEXT : 0;
  if (from > 0 || secret > 0) s->cut = from > secret;
  from = RP_MAX(from, secret);
  s->n_context = x->open - from;
  memcpy(s->context, x->text.p + from, s->n_context);
  rp__buf_add(held, x->text.p + x->open, x->text.n - x->open);
  wipe(&s->held);
  s->held = *held;
  *held = (struct rp__buf){0};
}

/* A tail that can't be held any longer is taken for what it looks like now; what follows a secret belongs to it. */
static int overflow(const struct rp__redactor *r, struct rp__redact_stream *s, struct reading *x)
{
  int rc = decide(r, s, false, x);
  const struct rp__span *last = last_span(x);
  if (rc || !last || last->run == RP_RUN_NONE || last->secret.end + 2 < x->text.n) return rc;
  s->inside = (unsigned char)last->run;
  s->quote = last->quote;
  return 0;
}

/*
 * How far a secret that was begun before goes on. A name or a key's first line in it is the beginning of something new
 * if a secret follows it: passed over, it would not be known for what it names.
 */
static size_t run_on(const struct rp__redactor *r, enum rp__run run, char quote, const char *text, size_t n)
{
  RP_AUTOSPANS struct rp__spans spans = {0};
  size_t end = rp__run_end(run, quote, text, n, 0), begin = rp__find_begin(r, text, end), open;
  if (begin == end || rp__find(r, text, n, begin, false, &spans, &open)) return end;
  return spans.n > 0 ? begin : end;
}

static int push(const struct rp__redactor *r, struct rp__redact_stream *s, const char *chunk, size_t n,
                struct rp__buf *out, size_t *hits)
{
  RP_CLEANUP(reading_done) struct reading x = {0};
  AUTOWIPE struct rp__buf held = {0};
  struct rp__redact_stream next = *s;
  next.inside = 0;
  int rc = reading_begin(r, s, chunk, n, true, &x);
  x.open = RP_MAX(x.open, x.given);
  if (!rc && x.text.n - x.open > RP_REDACT_TAIL_MAX) rc = overflow(r, &next, &x);
  if (!rc) rc = room(&held, x.text.n - x.open);
  if (rc) return rc;
  rp__spans_write(&x.spans, x.text.p, x.given, x.open, out, hits);
  if (out->err) return out->err;
  *s = next;
  settle(s, &x, &held);
  return 0;
}

int rp__redact_stream_push(const struct rp__redactor *r, struct rp__redact_stream *s, const char *chunk, size_t n,
                           struct rp__buf *out, size_t *ret_hits)
{
  size_t hits = 0;
  size_t skip = s->inside ? run_on(r, (enum rp__run)s->inside, s->quote, chunk, n) : 0;
  int rc = skip < n ? push(r, s, chunk + skip, n - skip, out, &hits) : 0;
  if (rc) return rc;
  if (ret_hits) *ret_hits = hits;
  return 0;
}

/* Behind the name of a credential and what separates it from its value; n when there is no separator. */
static size_t value_begin(const char *text, size_t n, size_t name)
{
  size_t at = name;
  while (at < n && text[at] != '=' && text[at] != ':') at++;
  while (at < n && strchr("=:> \t\"'`\\", text[at]) && text[at]) at++;
  return at;
}

/* Behind the colon of "://user:", where a password begins; n when there is none. */
static size_t userinfo_begin(const char *text, size_t n, size_t from)
{
  static const char scheme[] = "://";
  const char *at = memmem(text + from, n - from, scheme, sizeof scheme - 1), *user = at ? at + sizeof scheme - 1 : NULL;
  const char *colon = user ? memchr(user, ':', (size_t)(text + n - user)) : NULL;
  return colon ? (size_t)(colon + 1 - text) : n;
}

/* Behind words like curl or Bearer: the last word, where it looks like more than a word; n otherwise. */
static size_t last_word(const char *text, size_t n, size_t from)
{
  size_t at = n;
  while (at > from && !strchr(" \t\r\n", text[at - 1])) at--;
  return n - at >= PART_MIN / 2 && rp__value_is_mixed(text + at, n - at) ? at : n;
}

static bool any_letter(const char *text, size_t n)
{
  for (size_t i = 0; i < n; i++) {
    unsigned char c = (unsigned char)text[i];
    if ((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c >= 0x80) return true;
  }
  return false;
}

/* Where the undecided text from `open` on would begin to be a secret if it went on; n when nothing of that is there. */
static size_t credential_begin(const struct rp__redactor *r, const char *text, size_t n, size_t open)
{
  static const char key[] = "-----BEGIN";
  const char *at = memmem(text + open, n - open, key, sizeof key - 1);
  const char *line = at ? memmem(at + 5, (size_t)(text + n - at) - 5, "-----", 5) : NULL;
  if (at) return line ? (size_t)(line + 5 - text) : n;
  size_t begin = userinfo_begin(text, n, open);
  size_t from = open > NAME_BEFORE ? open - NAME_BEFORE : 0, name = from + rp__find_begin(r, text + from, n - from);
  if (name < n) begin = RP_MIN(begin, value_begin(text, n, name));
  struct rp__hit hit;
  for (size_t next = open; rp__prefilter_next(&r->filter, text, n, next, &hit); next = hit.at + 1) {
    bool scheme = hit.n == 3 && memcmp(text + hit.at, "://", 3) == 0;
    if (rp__patterns[hit.row].by_name || scheme || hit.at + hit.n >= n) continue;
    return RP_MIN(begin, hit.secret ? hit.at : last_word(text, n, hit.at + hit.n));
  }
  return begin;
}

/* Everything behind the beginning of a credential at the end of a text that will not go on. */
static int cut_part(const struct rp__redactor *r, const struct rp__redact_stream *s, struct reading *x)
{
  RP_AUTOSPANS struct rp__spans before = {0};
  const char *text = x->text.p;
  size_t open = 0, n = x->text.n;
  int rc = rp__find(r, text, n, s->cut ? 1 : 0, true, &before, &open);
  if (rc || open >= n) return rc;
  size_t begin = RP_MAX(credential_begin(r, text, n, open), last_span(x) ? last_span(x)->secret.end : 0);
  struct rp__span part = {{begin, n, "unfinished"}, RP_RUN_NONE, 0};
  return begin < n && any_letter(text + begin, n - begin) ? rp__spans_add(&x->spans, &part) : 0;
}

/* The unfinished token at the end of the text, if enough of it is there to be worth hiding. */
static int end_part(const struct rp__redactor *r, const struct rp__redact_stream *s, struct reading *x)
{
  RP_AUTOSPANS struct rp__spans before = {0};
  const char *text = x->text.p;
  size_t open = 0, n = x->text.n;
  int rc = rp__find(r, text, n, s->cut ? 1 : 0, true, &before, &open);
  if (rc || open >= n || n - open < PART_MIN) return rc;
  if (last_span(x) && last_span(x)->secret.end > open) return 0;
  if (!rp__find_token(r, text, n, open) || !rp__value_is_mixed(text + open, n - open)) return 0;
  struct rp__span part = {{open, n, "unfinished"}, RP_RUN_NONE, 0};
  return rp__spans_add(&x->spans, &part);
}

int rp__redact_stream_end(const struct rp__redactor *r, struct rp__redact_stream *s, bool cut, struct rp__buf *out,
                          size_t *ret_hits)
{
  RP_CLEANUP(reading_done) struct reading x = {0};
  size_t hits = 0;
  int rc = s->held.n > 0 ? reading_begin(r, s, "", 0, false, &x) : 0;
  if (!rc && s->held.n > 0) rc = cut ? cut_part(r, s, &x) : end_part(r, s, &x);
  if (rc) return rc;
  if (s->held.n > 0) rp__spans_write(&x.spans, x.text.p, x.given, x.text.n, out, &hits);
  if (out->err) return out->err;
  rp__redact_stream_done(s);
  if (ret_hits) *ret_hits = hits;
  return 0;
}

int rp__redact_stream_end_before(const struct rp__redactor *r, struct rp__redact_stream *s, const char *next, size_t n,
                                 struct rp__buf *out, size_t *ret_hits)
{
  RP_CLEANUP(reading_done) struct reading x = {0};
  size_t hits = 0, held = s->held.n;
  int rc = held > 0 ? reading_begin(r, s, next, n, false, &x) : 0;
  if (rc) return rc;
  if (held > 0) rp__spans_write(&x.spans, x.text.p, x.given, x.given + held, out, &hits);
  if (out->err) return out->err;
  rp__redact_stream_done(s);
  if (ret_hits) *ret_hits = hits;
  return 0;
}

/* ---- across a seam ---------------------------------------------------------------------- */

static bool ends_with(const char *text, size_t n, const char *end)
{
  size_t k = strlen(end);
  return n >= k && memcmp(text + n - k, end, k) == 0;
}

static size_t trim(const char *text, size_t n)
{
  while (n > 0 && (text[n - 1] == ' ' || text[n - 1] == '\t' || text[n - 1] == '\r' || text[n - 1] == '\n')) n--;
  return n;
}

/* Back over what may stand between a key's first line and the rest of it, escaped line ends too. */
static size_t trim_head(const char *text, size_t n)
{
  for (size_t was = n + 1; n < was;) {
    was = n;
    n = trim(text, n);
    if (n > 0 && (text[n - 1] == '"' || text[n - 1] == '\'')) n--;
    if (n > 1 && text[n - 2] == '\\' && (text[n - 1] == 'n' || text[n - 1] == 'r')) n -= 2;
  }
  return n;
}

/* A mask at the end stands for what may not be finished; the lines of a key may have a line's end behind it too. */
static size_t mask_open(const char *text, size_t n, enum rp__run *run, char *quote)
{
  size_t end = trim(text, n), at = end - (sizeof RP_MASK - 1);
  if (!ends_with(text, end, RP_MASK)) return n;
  *run = ends_with(text, trim_head(text, at), "-----") ? RP_RUN_KEY : RP_RUN_VALUE;
  if (*run == RP_RUN_VALUE && end < n) return n;
  char c = at > 0 ? text[at - 1] : '\0';
  if (*run == RP_RUN_VALUE && c == '=') *run = RP_RUN_ENV;
  *quote = c == '"' || c == '\'' || c == '`' ? c : '\0';
  if (*quote && at > 1 && text[at - 2] == '\\') *quote = (char)(*quote | 0x80);
  return at;
}

size_t rp__mask_open(const char *text, size_t n)
{
  enum rp__run run;
  char quote;
  return mask_open(text, n, &run, &quote);
}

void rp__redact_stream_resume(const char *text, size_t n, struct rp__redact_stream *ret)
{
  enum rp__run run = RP_RUN_NONE;
  char quote = '\0';
  size_t from = n > RP_REDACT_CONTEXT ? n - RP_REDACT_CONTEXT : 0, open = mask_open(text, n, &run, &quote);
  *ret = (struct rp__redact_stream){.cut = from > 0, .n_context = n - from};
  memcpy(ret->context, text + from, ret->n_context);
  if (open < n) {
    ret->inside = (unsigned char)run;
    ret->quote = quote;
    ret->n_context = 0; /* a secret is no context */
  }
}

void rp__redact_stream_doubt(struct rp__redact_stream *s)
{
  if (!s->inside) s->inside = RP_RUN_VALUE;
}

/* How many bytes of `next` go on with the secret that a mask at the end of `text` stands for. */
static size_t continued(const struct rp__redactor *r, const char *text, size_t n, const char *next, size_t n_next)
{
  enum rp__run run = RP_RUN_NONE;
  char quote = '\0';
  return mask_open(text, n, &run, &quote) < n ? run_on(r, run, quote, next, n_next) : 0;
}

/* What `before` and `text` hold together, as far as it reaches into `text`. */
static int find_across(const struct rp__redactor *r, const char *before, size_t n_before, const char *text, size_t n,
                       struct rp__spans *ret)
{
  RP_AUTOSPANS struct rp__spans spans = {0};
  AUTOWIPE struct rp__buf both = {0};
  size_t seen = RP_MIN(n_before, RP_REDACT_TAIL_MAX + RP_REDACT_CONTEXT), open;
  int rc = room(&both, seen + n);
  if (rc) return rc;
  rp__buf_add(&both, before + n_before - seen, seen);
  rp__buf_add(&both, text, n);
  rc = rp__find(r, both.p, both.n, 0, false, &spans, &open);
  for (size_t i = 0; !rc && i < spans.n; i++) {
    struct rp__span span = spans.p[i];
    if (span.secret.end <= seen) continue;
    span.secret.start = span.secret.start > seen ? span.secret.start - seen : 0;
    span.secret.end -= seen;
    rc = rp__spans_add(ret, &span);
  }
  return rc;
}

/*
 * What the text holds by itself, because what stands before it may be in the way of what begins there. Values of names
 * only where nothing of it goes on (`apart`), for the name itself may have begun before.
 */
static int find_alone(const struct rp__redactor *r, bool apart, const char *text, size_t n, struct rp__spans *ret)
{
  RP_AUTOSPANS struct rp__spans spans = {0};
  size_t open;
  int rc = rp__find(r, text, n, 0, false, &spans, &open);
  for (size_t i = 0; !rc && i < spans.n; i++) {
    bool value = spans.p[i].run == RP_RUN_VALUE || spans.p[i].run == RP_RUN_ENV;
    if (apart || !value) rc = rp__spans_add(ret, &spans.p[i]);
  }
  return rc;
}

int rp__redact_after(const struct rp__redactor *r, const char *before, size_t n_before, bool joined, const char *text,
                     size_t n, struct rp__buf *out, size_t *ret_hits)
{
  RP_AUTOSPANS struct rp__spans spans = {0};
  size_t hits = 0, skip = joined ? continued(r, before, n_before, text, n) : 0;
  struct rp__span run = {{0, skip, "continued"}, RP_RUN_NONE, 0};
  bool apart = !joined || rp__mask_open(before, n_before) < n_before;
  int rc = find_alone(r, apart, text, n, &spans);
  if (!rc && skip > 0) rc = rp__spans_add(&spans, &run);
  if (!rc) rc = find_across(r, before, n_before, text, n, &spans);
  if (rc) return rc;
  rp__spans_merge(&spans);
  rp__spans_write(&spans, text, 0, n, out, &hits);
  if (out->err) return out->err;
  if (ret_hits) *ret_hits = hits;
  return 0;
}
