/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/speech.h"

#include "engine/speaker.h"

static bool redacts(const rp_engine *e, const char *scope)
{
  return rp__config_bool(e->config, scope, RP_OPT_REDACT);
}

static void count_hits(rp_engine *e, size_t hits)
{
  if (hits) atomic_fetch_add(&e->counters.redactions, (long long)hits);
}

int rp__engine_mask(rp_engine *e, const char *scope, enum rp__kind kind, struct rp__json body, struct rp__buf *out,
                    struct rp__str *ret)
{
  size_t hits = 0;
  *ret = (struct rp__str){body.p, body.n};
  int rc = redacts(e, scope) ? rp__mask_body(e->redactor, kind, body, out, ret, &hits) : 0;
  count_hits(e, hits);
  return rc;
}

int rp__engine_mask_text(rp_engine *e, const char *scope, const char *text, struct rp__buf *out, const char **ret)
{
  size_t hits = 0, n = strlen(text);
  *ret = text;
  if (!redacts(e, scope) || !rp__redact_suspects(e->redactor, text, n)) return 0;
  int rc = rp__redact_text(e->redactor, text, n, out, &hits);
  if (rc || out->err) return rc ? rc : out->err;
  count_hits(e, hits);
  *ret = out->p ? out->p : "";
  return 0;
}

int rp__engine_mask_bytes(rp_engine *e, const char *scope, const void *bytes, size_t n, struct rp__buf *out,
                          struct rp__str *ret)
{
  size_t hits = 0;
  *ret = (struct rp__str){bytes ? bytes : "", n};
  int rc = redacts(e, scope) ? rp__mask_bytes(e->redactor, bytes, n, out, ret, &hits) : 0;
  count_hits(e, hits);
  return rc;
}

static bool is_unfinished(const struct rp__event *ev, bool is_chunk)
{
  return is_chunk || (ev->kind == RP_KIND_TRANSCRIPT && rp__json_get(ev->body, "final").type == RP_JSON_FALSE);
}

/* ---- what was said before this handle ---- */

struct look_back {
  rp_session *s;
  int rc;
};

static int on_last_event(void *ctx, const struct rp__event *ev)
{
  struct look_back *x = ctx;
  char name[RP_SPEAKER_MAX], ignored[RP_SPEAKER_MAX], base[RP_SPEAKER_BASE];
  struct rp__json said = rp__mask_spoken(ev, name);
  if (said.type != RP_JSON_STRING) return 0;
  struct rp__buf text RP_AUTOBUF = RP_BUF(said.n + 1);
  if ((x->rc = rp__json_text(said, &text))) return 0;
  rp__speaker_base(name, base);
  struct rp__speaker *k = rp__speaker_find(x->s, base);
  memcpy(k->name, name, sizeof k->name);
  k->unfinished = is_unfinished(ev, rp__mask_chunk(ev, ignored).type == RP_JSON_STRING);
  k->n_tail = 0;
  rp__speaker_said(x->s->e->redactor, k, text.p ? text.p : "", text.n);
  return 0;
}

/* The last event, for it may be the first half of what is said now. A journal that can't be read has none. */
static void look_back(rp_session *s)
{
  struct rp__session_row row = {0};
  if (s->speech->looked_back) return;
  s->speech->looked_back = true;
  if (rp__session_row(s, &row, NULL)) return;
  int64_t last = row.last_seq;
  rp__session_row_done(&row);
  struct look_back x = {.s = s};
  if (last) rp__journal_read(s, last - 1, last, on_last_event, &x, NULL);
}

/* ---- masking ---- */

struct words {
  struct rp__buf decoded, masked;
};

static void words_done(struct words *w)
{
  rp__buf_done(&w->decoded);
  rp__buf_done(&w->masked);
}

static int whole(rp_session *s, struct rp__speaker *k, bool joined, const char *text, size_t n, struct rp__buf *out,
                 size_t *hits)
{
  const struct rp__redactor *r = s->e->redactor;
  if (joined && (k->stream.held.n || k->stream.inside)) {
    int rc = rp__redact_stream_push(r, &k->stream, text, n, out, hits);
    size_t more = 0;
    if (!rc) rc = rp__redact_stream_end(r, &k->stream, out, &more);
    *hits += more;
    return rc;
  }
  if (n && k->open) return rp__redact_after(r, k->tail, k->n_tail, joined, text, n, out, hits);
  return rp__redact_text(r, text, n, out, hits);
}

/* What is a secret by itself is none the less one for standing directly behind something else in the stream. */
struct again {
  const char *chunk;
  struct rp__buf *out;
  size_t from;
};

static int on_alone(void *ctx, const struct rp__secret *secret)
{
  struct again *x = ctx;
  size_t n = secret->end - secret->start, mask = sizeof RP_MASK - 1;
  if (!x->out->p || x->out->n <= x->from || n < mask) return 0;
  char *at = memmem(x->out->p + x->from, x->out->n - x->from, x->chunk + secret->start, n);
  if (!at) return 0;
  memcpy(at, RP_MASK, mask);
  memmove(at + mask, at + n, (size_t)(x->out->p + x->out->n - (at + n)) + 1);
  x->out->n -= n - mask;
  return 0;
}

static int chunk(rp_session *s, struct rp__speaker *k, const struct rp__event *ev, struct rp__json said,
                 const char *text, size_t n, struct rp__buf *out, size_t *hits)
{
  const struct rp__redactor *r = s->e->redactor;
  if (s->e->short_lived) return whole(s, k, true, text, n, out, hits);
  rp__buf_done(&k->shell);
  k->shell = RP_BUF(RP_SPEAKER_SHELL);
  k->kind = ev->kind;
  int rc = rp__mask_with_text(ev->body, said, "", 0, &k->shell);
  if (rc || k->shell.err) return whole(s, k, true, text, n, out, hits); /* too big to be held: decided now */
  struct again again = {text, out, out->n};
  rc = rp__redact_stream_push(r, &k->stream, text, n, out, hits);
  return rc ? rc : rp__redact_find(r, text, n, on_alone, &again);
}

static int remember_undo(struct rp__speaker *k, struct rp__speech_undo *undo)
{
  int rc = rp__redact_stream_copy(&k->stream, &undo->before);
  if (!rc) undo->speaker = k;
  return rc;
}

/* The body with the masked words in place of the spoken ones; the body itself when they are the same. */
static int replace_words(const struct rp__event *ev, struct rp__json said, const struct words *w, struct rp__buf *out,
                         struct rp__str *ret)
{
  bool same = w->decoded.n == w->masked.n && (!w->decoded.n || memcmp(w->decoded.p, w->masked.p, w->decoded.n) == 0);
  *ret = (struct rp__str){ev->body.p, ev->body.n};
  if (same) return 0;
  int rc = rp__mask_with_text(ev->body, said, w->masked.p ? w->masked.p : "", w->masked.n, out);
  if (rc || out->err) return rc ? rc : out->err;
  *ret = (struct rp__str){out->p, out->n};
  return 0;
}

/* The common case, without a copy: nothing is open and nothing in it looks like a secret. */
static bool plain_words(rp_session *s, struct rp__speaker *k, const struct rp__event *ev, struct rp__json said,
                        const char *name)
{
  const char *text = said.p + 1;
  size_t n = said.n - 2;
  if (k->stream.held.n || k->stream.inside || memchr(text, '\\', n)) return false;
  if (rp__redact_suspects(s->e->redactor, text, n) || rp__speaker_seam_open(s->e->redactor, k, text, n)) return false;
  k->unfinished = is_unfinished(ev, false);
  memcpy(k->name, name, sizeof k->name);
  k->n_tail = 0;
  rp__speaker_said(s->e->redactor, k, n > RP_SPEAKER_PLAIN ? text + n - RP_SPEAKER_PLAIN : text,
                   RP_MIN(n, RP_SPEAKER_PLAIN));
  return true;
}

static int mask_words(rp_session *s, const struct rp__event *ev, struct rp__json said, const char *name, bool is_chunk,
                      struct words *w, struct rp__speech_undo *undo, size_t *hits)
{
  char base[RP_SPEAKER_BASE];
  rp__speaker_base(name, base);
  look_back(s);
  struct rp__speaker *k = rp__speaker_find(s, base);
  if (!is_chunk && plain_words(s, k, ev, said, name)) return 0;
  int rc = rp__json_text(said, &w->decoded);
  if (rc || w->decoded.err) return rc ? rc : w->decoded.err;
  const char *text = w->decoded.p ? w->decoded.p : "";
  bool joined =
      strcmp(k->name, name) == 0 && (k->unfinished || rp__json_get(ev->body, "message_id").type == RP_JSON_STRING);
  if (!joined && k->stream.held.n) rp__speaker_emit(s, k);
  if (!joined) rp__redact_stream_done(&k->stream);
  rc = remember_undo(k, undo);
  if (!rc && is_chunk) rc = chunk(s, k, ev, said, text, w->decoded.n, &w->masked, hits);
  if (!rc && !is_chunk) rc = whole(s, k, joined, text, w->decoded.n, &w->masked, hits);
  if (!rc) rc = w->masked.err;
  memcpy(k->name, name, sizeof k->name);
  k->unfinished = is_unfinished(ev, is_chunk);
  if (!joined) k->n_tail = 0;
  if (!rc) rp__speaker_said(s->e->redactor, k, w->masked.p ? w->masked.p : "", w->masked.n);
  return rc;
}

static int mask_spoken(rp_session *s, const struct rp__event *ev, struct rp__json said, const char *name, bool is_chunk,
                       struct rp__buf *out, struct rp__str *ret, struct rp__speech_undo *undo)
{
  size_t hits = 0;
  struct words w RP_CLEANUP(words_done) = {RP_BUF(2 * s->max_body + 65536), RP_BUF(2 * s->max_body + 65536)};
  pthread_mutex_lock(&s->speech_lock);
  if (!s->speech) s->speech = calloc(1, sizeof *s->speech);
  int rc = s->speech ? mask_words(s, ev, said, name, is_chunk, &w, undo, &hits) : RP_E_NOMEM;
  pthread_mutex_unlock(&s->speech_lock);
  count_hits(s->e, hits);
  return rc ? rc : replace_words(ev, said, &w, out, ret);
}

/* ---- a message that only ends what came in chunks ---- */

/* What was held, in the form of the chunks before it, so that it goes on where they ended. */
static void write_content(const struct rp__speaker *k, const struct rp__buf *text, struct rp__buf *out)
{
  struct rp__json form = rp__json_get(rp__json_trusted(k->shell.p, k->shell.n), "content");
  struct rp__jw w = RP_JW(out);
  if (form.type == RP_JSON_STRING) {
    rp__jw_strn(&w, text->p, text->n);
    return;
  }
  rp__jw_array(&w);
  rp__jw_object(&w);
  rp__jw_kstr(&w, "type", "text");
  rp__jw_key(&w, "text");
  rp__jw_strn(&w, text->p, text->n);
  rp__jw_end_object(&w);
  rp__jw_end_array(&w);
}

static int close_stream(rp_session *s, struct rp__speaker *k, const struct rp__event *ev, struct rp__json content,
                        struct rp__buf *out, struct rp__speech_undo *undo, size_t *hits)
{
  struct rp__buf text RP_AUTOBUF = RP_BUF(2 * RP_REDACT_TAIL_MAX);
  int rc = remember_undo(k, undo);
  if (!rc) rc = rp__redact_stream_end(s->e->redactor, &k->stream, &text, hits);
  if (!rc) rc = text.err;
  if (rc) return rc;
  k->unfinished = false;
  if (!text.n) return 0;
  rp__speaker_said(s->e->redactor, k, text.p, text.n);
  const char *behind = content.p + content.n;
  rp__buf_add(out, ev->body.p, (size_t)(content.p - ev->body.p));
  write_content(k, &text, out);
  rp__buf_add(out, behind, (size_t)(ev->body.p + ev->body.n - behind));
  return out->err;
}

/* The body itself, or, with what was withheld of the stream in it, bytes in `out`. */
static int mask_closing(rp_session *s, const struct rp__event *ev, struct rp__json content, const char *name,
                        struct rp__buf *out, struct rp__str *ret, struct rp__speech_undo *undo)
{
  size_t hits = 0;
  pthread_mutex_lock(&s->speech_lock);
  struct rp__speaker *k = rp__speaker_open(s, name);
  int rc = k ? close_stream(s, k, ev, content, out, undo, &hits) : 0;
  pthread_mutex_unlock(&s->speech_lock);
  count_hits(s->e, hits);
  if (!rc && out->n) *ret = (struct rp__str){out->p, out->n};
  return rc;
}

int rp__speech_mask(rp_session *s, const struct rp__event *ev, struct rp__buf *out, struct rp__str *ret,
                    struct rp__speech_undo *undo)
{
  char name[RP_SPEAKER_MAX], ignored[RP_SPEAKER_MAX];
  struct rp__buf first RP_AUTOBUF = RP_BUF(2 * s->max_body + 65536);
  struct rp__str body = {ev->body.p, ev->body.n};
  int rc = 0;
  *ret = body;
  if (!redacts(s->e, s->scope)) return 0;
  struct rp__json said = rp__mask_spoken(ev, name), closing = {0};
  bool silent = said.type != RP_JSON_STRING || said.n == 2;
  if (silent) closing = rp__mask_closing(ev, name);
  if (closing.type)
    rc = mask_closing(s, ev, closing, name, &first, &body, undo);
  else if (said.type == RP_JSON_STRING)
    rc = mask_spoken(s, ev, said, name, rp__mask_chunk(ev, ignored).type == RP_JSON_STRING, &first, &body, undo);
  if (rc) return rc;
  rc = rp__engine_mask(s->e, s->scope, ev->kind, rp__json_trusted(body.p, body.n), out, ret);
  if (rc || ret->p != first.p || !first.p) return rc;
  rp__buf_add(out, first.p, first.n); /* masked by the stream alone: the bytes must outlive this call */
  *ret = (struct rp__str){out->p, out->n};
  return out->err;
}

void rp__speech_settle(rp_session *s, struct rp__speech_undo *undo, bool stored)
{
  struct rp__speaker *k = undo->speaker;
  if (k && !stored) {
    pthread_mutex_lock(&s->speech_lock);
    rp__redact_stream_done(&k->stream);
    k->stream = undo->before;
    undo->before = (struct rp__redact_stream){0};
    pthread_mutex_unlock(&s->speech_lock);
  }
  if (k) rp__redact_stream_done(&undo->before);
  undo->speaker = NULL;
}

/* ---- the end of a stream ---- */

void rp__speech_end(rp_session *s)
{
  pthread_mutex_lock(&s->speech_lock);
  for (size_t i = 0; s->speech && i < RP_SPEAKERS; i++) {
    struct rp__speaker *k = &s->speech->speakers[i];
    if (k->used && k->stream.held.n && !atomic_load(&s->fenced) && !atomic_load(&s->ended)) rp__speaker_emit(s, k);
  }
  pthread_mutex_unlock(&s->speech_lock);
}

void rp__speech_free(struct rp__speech *sp)
{
  for (size_t i = 0; sp && i < RP_SPEAKERS; i++) rp__speaker_done(&sp->speakers[i]);
  free(sp);
}
