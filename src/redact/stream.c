/* SPDX-License-Identifier: Apache-2.0 */
/* Redaction of a stream: each chunk is searched together with the undecided tail of the chunks before. */
#include "redact/stream.h"

#include "base/text.h"
#include "redact/code.h"
#include "redact/find.h"
#include "redact/value.h"

#define PART_MIN 16    /* bytes of an unfinished token that are worth hiding */
#define NAME_BEFORE 64 /* bytes of a name before the literal by which it was noticed */

/* ---- bytes that are wiped ------------------------------------------------------------ */

/* Room for all of it at once: growing would leave a copy of a secret behind in freed memory. */
static int room(struct rp__buf *b, size_t n)
{
  *b = RP_BUF(n);
  return rp__buf_room(b, n) ? 0 : b->err;
}

void rp__redact_stream_done(struct rp__redact_stream *s)
{
  rp__buf_wipe(&s->held);
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
  rp__buf_wipe(&x->text);
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

int rp__redact_stream_push(const struct rp__redactor *r, struct rp__redact_stream *s, const char *chunk, size_t n,
                           struct rp__buf *out, size_t *ret_hits)
{
  RP_CLEANUP(reading_done) struct reading x = {0};
  RP_AUTOWIPE struct rp__buf held = {0};
  struct rp__redact_stream next = *s;
  size_t hits = 0, skip = s->inside ? run_on(r, (enum rp__run)s->inside, s->quote, chunk, n) : 0;
  if (skip < n) {
    int rc = reading_begin(r, s, chunk + skip, n - skip, true, &x);
    x.open = RP_MAX(x.open, x.given);
    next.inside = 0;
    if (!rc && x.text.n - x.open > RP_REDACT_TAIL_MAX) {
      /* A tail that can't be held any longer is taken for what it looks like now; what follows a secret belongs to it.
       */
      rc = decide(r, &next, false, &x);
      const struct rp__span *last = last_span(&x);
      if (!rc && last && last->run != RP_RUN_NONE && last->secret.end + 2 >= x.text.n) {
        next.inside = (unsigned char)last->run;
        next.quote = last->quote;
      }
    }
    if (!rc) rc = room(&held, x.text.n - x.open);
    if (rc) return rc;
    rp__spans_write(&x.spans, x.text.p, x.given, x.open, out, &hits);
    if (out->err) return out->err;
    /* Everything before `open` is out. Kept of it is what is needed to read the rest, and no secret; the rest is held.
     */
    size_t secret = last_span(&x) ? last_span(&x)->secret.end : 0;
    size_t from = x.open > RP_REDACT_CONTEXT ? x.open - RP_REDACT_CONTEXT : 0;
    if (from > 0 || secret > 0) next.cut = from > secret;
    from = RP_MAX(from, secret);
    next.n_context = x.open - from;
    memcpy(next.context, x.text.p + from, next.n_context);
    rp__buf_add(&held, x.text.p + x.open, x.text.n - x.open);
    rp__buf_wipe(&s->held);
    next.held = rp__buf_move(&held);
    *s = next;
  }
  if (ret_hits) *ret_hits = hits;
  return 0;
}

static bool any_letter(const char *text, size_t n)
{
  for (size_t i = 0; i < n; i++)
    if (rp__is_alnum(text[i]) || (unsigned char)text[i] >= 0x80) return true;
  return false;
}

/* Where the undecided text from `open` on would begin to be a secret if it went on; n when nothing of that is there. */
static size_t credential_begin(const struct rp__redactor *r, const char *text, size_t n, size_t open)
{
  const char *key = memmem(text + open, n - open, "-----BEGIN", 10), *end = text + n;
  const char *line = key ? memmem(key + 5, (size_t)(end - key) - 5, "-----", 5) : NULL;
  if (key) return line ? (size_t)(line + 5 - text) : n;
  /* Behind the colon of "://user:" begins a password. */
  const char *url = memmem(text + open, n - open, "://", 3), *colon = NULL;
  if (url) colon = memchr(url + 3, ':', (size_t)(end - url) - 3);
  size_t begin = colon ? (size_t)(colon + 1 - text) : n;
  /* Behind the name of a credential and what separates the two begins its value. */
  size_t from = open > NAME_BEFORE ? open - NAME_BEFORE : 0, at = from + rp__find_begin(r, text + from, n - from);
  while (at < n && text[at] != '=' && text[at] != ':') at++;
  while (at < n && rp__is_in(text[at], "=:> \t\"'`\\")) at++;
  begin = RP_MIN(begin, at);
  struct rp__hit hit;
  for (size_t next = open; rp__prefilter_next(&r->filter, text, n, next, &hit); next = hit.at + 1) {
    bool scheme = hit.n == 3 && memcmp(text + hit.at, "://", 3) == 0;
    if (rp__patterns[hit.row].by_name || scheme || hit.at + hit.n >= n) continue;
    if (hit.secret) return RP_MIN(begin, hit.at);
    /* Behind words like curl or Bearer: the last word, where it looks like more than a word. */
    for (at = n; at > hit.at + hit.n && !strchr(" \t\r\n", text[at - 1]);) at--;
    return n - at >= PART_MIN / 2 && rp__value_is_mixed(text + at, n - at) ? RP_MIN(begin, at) : begin;
  }
  return begin;
}

/*
 * The unfinished secret at the end of a text that will not go on: of a text that was cut off everything behind the
 * beginning of a credential, of another a token of which enough is there to be worth hiding.
 */
static int end_part(const struct rp__redactor *r, const struct rp__redact_stream *s, bool cut, struct reading *x)
{
  RP_AUTOSPANS struct rp__spans before = {0};
  const char *text = x->text.p;
  size_t open = 0, n = x->text.n, told = last_span(x) ? last_span(x)->secret.end : 0;
  int rc = rp__find(r, text, n, s->cut ? 1 : 0, true, &before, &open);
  if (rc || open >= n) return rc;
  size_t begin = cut ? RP_MAX(credential_begin(r, text, n, open), told) : open;
  bool hides = cut ? begin < n && any_letter(text + begin, n - begin)
                   : n - begin >= PART_MIN && told <= begin && rp__find_token(r, text, n, begin) &&
                         rp__value_is_mixed(text + begin, n - begin);
  struct rp__span part = {{begin, n, "unfinished"}, RP_RUN_NONE, 0};
  return hides ? rp__spans_add(&x->spans, &part) : 0;
}

/* The stream is over; `next` follows directly, or, where it is NULL, nothing. */
static int stream_end(const struct rp__redactor *r, struct rp__redact_stream *s, const char *next, size_t n, bool cut,
                      struct rp__buf *out, size_t *ret_hits)
{
  RP_CLEANUP(reading_done) struct reading x = {0};
  size_t hits = 0;
  if (s->held.n > 0) {
    int rc = reading_begin(r, s, next ? next : "", n, false, &x);
    if (!rc && !next) rc = end_part(r, s, cut, &x);
    if (rc) return rc;
    rp__spans_write(&x.spans, x.text.p, x.given, x.given + s->held.n, out, &hits);
  }
  if (out->err) return out->err;
  rp__redact_stream_done(s);
  if (ret_hits) *ret_hits = hits;
  return 0;
}

int rp__redact_stream_end(const struct rp__redactor *r, struct rp__redact_stream *s, bool cut, struct rp__buf *out,
                          size_t *ret_hits)
{
  return stream_end(r, s, NULL, 0, cut, out, ret_hits);
}

int rp__redact_stream_end_before(const struct rp__redactor *r, struct rp__redact_stream *s, const char *next, size_t n,
                                 struct rp__buf *out, size_t *ret_hits)
{
  return stream_end(r, s, next, n, false, out, ret_hits);
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

/* The lines of a key may have a line's end behind the mask too. */
size_t rp__mask_open(const char *text, size_t n, enum rp__run *ret_run, char *ret_quote)
{
  size_t end = trim(text, n), at = end - (sizeof RP_MASK - 1);
  if (!ends_with(text, end, RP_MASK)) return n;
  /* Back over what may stand between a key's first line and the rest of it, escaped line ends too. */
  size_t head = at;
  for (size_t was = head + 1; head < was;) {
    was = head;
    head = trim(text, head);
    if (head > 0 && (text[head - 1] == '"' || text[head - 1] == '\'')) head--;
    if (head > 1 && text[head - 2] == '\\' && (text[head - 1] == 'n' || text[head - 1] == 'r')) head -= 2;
  }
  bool key = ends_with(text, head, "-----");
  if (!key && end < n) return n;
  char c = at > 0 ? text[at - 1] : '\0';
  *ret_run = key ? RP_RUN_KEY : c == '=' ? RP_RUN_ENV : RP_RUN_VALUE;
  *ret_quote = rp__is_in(c, "\"'`") ? c : '\0';
  if (*ret_quote && at > 1 && text[at - 2] == '\\') *ret_quote = (char)(c | 0x80);
  return at;
}

void rp__redact_stream_resume(const char *text, size_t n, struct rp__redact_stream *ret)
{
  enum rp__run run = RP_RUN_NONE;
  char quote = '\0';
  size_t from = n > RP_REDACT_CONTEXT ? n - RP_REDACT_CONTEXT : 0, open = rp__mask_open(text, n, &run, &quote);
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

int rp__redact_after(const struct rp__redactor *r, const char *before, size_t n_before, bool joined, const char *text,
                     size_t n, struct rp__buf *out, size_t *ret_hits)
{
  RP_AUTOSPANS struct rp__spans spans = {0}, alone = {0}, across = {0};
  RP_AUTOWIPE struct rp__buf both = {0};
  enum rp__run run = RP_RUN_NONE;
  char quote = '\0';
  size_t hits = 0, open, seen = RP_MIN(n_before, RP_REDACT_TAIL_MAX + RP_REDACT_CONTEXT);
  bool masked = rp__mask_open(before, n_before, &run, &quote) < n_before, apart = !joined || masked;
  /*
   * The secrets of the text by itself, because the text before it may hide one that begins here. Values of names count
   * only where nothing goes on (`apart`), for the name itself may have begun before.
   */
  int rc = rp__find(r, text, n, 0, false, &alone, &open);
  for (size_t i = 0; !rc && i < alone.n; i++) {
    bool value = alone.p[i].run == RP_RUN_VALUE || alone.p[i].run == RP_RUN_ENV;
    if (apart || !value) rc = rp__spans_add(&spans, &alone.p[i]);
  }
  /* The bytes that go on with the secret which the mask stands for. */
  struct rp__span rest = {{0, joined && masked ? run_on(r, run, quote, text, n) : 0, "continued"}, RP_RUN_NONE, 0};
  if (!rc && rest.secret.end > 0) rc = rp__spans_add(&spans, &rest);
  /* The secrets of both together, as far as they reach into the text. */
  if (!rc) rc = room(&both, seen + n);
  if (rc) return rc;
  rp__buf_add(&both, before + n_before - seen, seen);
  rp__buf_add(&both, text, n);
  rc = rp__find(r, both.p, both.n, 0, false, &across, &open);
  for (size_t i = 0; !rc && i < across.n; i++) {
    struct rp__span span = across.p[i];
    if (span.secret.end <= seen) continue;
    span.secret.start = span.secret.start > seen ? span.secret.start - seen : 0;
    span.secret.end -= seen;
    rc = rp__spans_add(&spans, &span);
  }
  if (rc) return rc;
  rp__spans_merge(&spans);
  rp__spans_write(&spans, text, 0, n, out, &hits);
  if (out->err) return out->err;
  if (ret_hits) *ret_hits = hits;
  return 0;
}
