/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/speech.h"

#include <sodium.h>

#include "engine/journal.h"
#include "engine/speaker.h"

#define LOOK_BACK 16 /* events: starts and states stand between what people say */

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
  struct rp__speaker *k = rp__speaker_find(x->s->speech, base);
  memcpy(k->name, name, sizeof k->name);
  k->unfinished = is_unfinished(ev, rp__mask_chunk(ev, ignored).type == RP_JSON_STRING);
  k->n_tail = 0;
  rp__speaker_said(x->s->e->redactor, k, text.p ? text.p : "", text.n);
  return 0;
}

/* The last events, for one may be the first half of what is said now. A journal that can't be read has none. */
static void look_back(rp_session *s)
{
  struct rp__session_row row = {0};
  if (s->speech->looked_back) return;
  s->speech->looked_back = true;
  if (rp__session_row(s, &row, NULL)) return;
  int64_t last = row.last_seq;
  rp__session_row_done(&row);
  struct look_back x = {.s = s};
  if (last) rp__journal_read(s, RP_MAX(last - LOOK_BACK, 0), last, on_last_event, &x, NULL);
}

/* ---- what others held ---- */

/* An event of its own for what a stream held, which is over. */
static int tell_rest(struct rp__batch *b, struct rp__stream *k, const struct rp__buf *text, bool open)
{
  struct rp__buf raw RP_AUTOBUF = RP_BUF(8 * RP_REDACT_TAIL_MAX);
  struct rp__str body;
  if (!rp__batch_room(b)) return RP_E_NOMEM;
  struct rp__prepared *p = &b->prepared[b->n_events];
  p->masked = RP_BUF(16 * RP_REDACT_TAIL_MAX);
  int rc = rp__stream_body(k, text->p ? text->p : "", text->n, 0, &raw);
  if (!rc)
    rc = rp__engine_mask(b->s->e, b->s->scope, RP_KIND_MESSAGE, rp__json_trusted(raw.p, raw.n), &p->masked, &body);
  if (rc) return rc;
  if (body.p == raw.p) { /* the bytes must outlive this call */
    rp__buf_done(&p->masked);
    p->masked = rp__buf_move(&raw);
  }
  b->events[b->n_events++] = (struct rp__new_event){.kind = "message",
                                                    .body = body.p,
                                                    .body_len = body.n,
                                                    .at_ms = rp__engine_now(b->s->e),
                                                    .sealed = b->s->key != NULL,
                                                    .voice = k->voice,
                                                    .open = open};
  b->speaks = true;
  return 0;
}

/*
 * A stream that will not go on, for all that is known: what it held is told. It stays in the list (`stays`), because a
 * secret that was cut off may go on after all, or makes room for another.
 */
static int cut_off(struct rp__batch *b, struct rp__stream *k, bool stays)
{
  struct rp__buf text RP_AUTOBUF = RP_BUF(RP_REDACT_CONTEXT + 2 * RP_REDACT_TAIL_MAX), told = text;
  struct rp__streams *t = &b->s->speech->streams;
  size_t hits = 0, context = k->text.n_context;
  rp__buf_add(&text, k->text.context, context);
  int rc = rp__redact_stream_end(b->s->e->redactor, &k->text, true, &text, &hits);
  if (rc || text.err) return rc ? rc : text.err;
  told.p = text.p ? text.p + context : NULL;
  told.n = text.n - context;
  rc = tell_rest(b, k, &told, stays);
  count_hits(b->s->e, hits);
  if (rc) return rc;
  if (!stays) {
    rp__streams_drop(t, k);
  } else {
    if (text.n) rp__redact_stream_resume(text.p, text.n, &k->text);
    rp__streams_take(t, k->voice);
  }
  return 0;
}

/* A stream without a message id is over when somebody else says something, as in the state (facets/conversation.c). */
static int cut_nameless(struct rp__batch *b, const struct rp__event *ev, uint64_t voice)
{
  struct rp__streams *t = &b->s->speech->streams;
  int rc = 0;
  if (ev->kind != RP_KIND_MESSAGE || rp__json_get(ev->body, "thought").type == RP_JSON_TRUE) return 0;
  for (size_t i = 0; !rc && i < t->n;) {
    struct rp__stream *k = &t->at[i];
    if (!k->named && !k->thought && k->voice != voice && k->text.held.n)
      rc = cut_off(b, k, true); /* the next one takes its place */
    else
      i++;
  }
  return rc;
}

/* Room for one more stream: the store lets go of the first one in its list. */
static int make_room(struct rp__batch *b)
{
  struct rp__streams *t = &b->s->speech->streams;
  if (t->n < RP_TAILS_MAX) return 0;
  if (t->at[0].text.held.n) return cut_off(b, &t->at[0], false);
  rp__streams_drop(t, &t->at[0]);
  return 0;
}

/* ---- masking ---- */

/* One event that speaks, on its way. */
struct saying {
  struct rp__batch *b;
  const struct rp__event *ev;
  struct rp__json said; /* its text */
  char name[RP_SPEAKER_MAX];
  uint64_t voice;
  struct rp__speaker *speaker;
  struct rp__buf decoded, masked, body;
  size_t hits;
  bool open;           /* its stream goes on */
  bool spoke;          /* it changed its stream */
  struct rp__buf tail; /* sealed */
};

static void saying_done(struct saying *x)
{
  rp__buf_done(&x->decoded);
  rp__buf_done(&x->masked);
  rp__buf_done(&x->body);
  rp__buf_done(&x->tail);
}

/* A secret is masked also where it directly follows other text in the stream, which may keep it from being seen. */
struct alone {
  const char *chunk;
  struct rp__buf *out;
  size_t from;
};

static int on_alone(void *ctx, const struct rp__secret *secret)
{
  struct alone *x = ctx;
  size_t n = secret->end - secret->start, mask = sizeof RP_MASK - 1;
  if (!x->out->p || x->out->n <= x->from || n < mask) return 0;
  char *at = memmem(x->out->p + x->from, x->out->n - x->from, x->chunk + secret->start, n);
  if (!at) return 0;
  memcpy(at, RP_MASK, mask);
  memmove(at + mask, at + n, (size_t)(x->out->p + x->out->n - (at + n)) + 1);
  x->out->n -= n - mask;
  return 0;
}

/* The next piece of a stream: what is decided is told, the rest is sealed. */
static int chunk(struct saying *x)
{
  rp_session *s = x->b->s;
  const struct rp__redactor *r = s->e->redactor;
  struct rp__streams *t = &s->speech->streams;
  const struct rp__speaker *p = x->speaker;
  bool fresh = !rp__streams_find(t, x->voice);
  int rc = fresh ? make_room(x->b) : 0;
  if (rc) return rc;
  struct rp__stream *k = rp__streams_take(t, x->voice);
  if (fresh && p->n_tail && strcmp(p->name, x->name) == 0) rp__redact_stream_resume(p->tail, p->n_tail, &k->text);
  rc = rp__stream_shape(k, x->ev, x->said);
  if (rc) return rc;
  const char *text = x->decoded.p ? x->decoded.p : "";
  struct alone alone = {text, &x->masked, 0};
  rc = rp__redact_stream_push(r, &k->text, text, x->decoded.n, &x->masked, &x->hits);
  if (!rc) rc = rp__redact_find(r, text, x->decoded.n, on_alone, &alone);
  if (!rc && rp__redact_stream_matters(r, &k->text, x->masked.n))
    rc = rp__stream_seal(s, x->b->key, &k->text, &x->tail);
  x->open = x->spoke = true;
  return rc;
}

/* A whole text of a speaker whose chunks came before: what those held is told by itself, for the text may go on with it
 * or say it all again. */
static int whole_behind(struct saying *x, struct rp__stream *k)
{
  rp_session *s = x->b->s;
  const struct rp__redactor *r = s->e->redactor;
  struct rp__buf rest RP_AUTOBUF = RP_BUF(2 * RP_REDACT_TAIL_MAX);
  struct rp__buf before RP_AUTOBUF = RP_BUF(RP_REDACT_CONTEXT + RP_REDACT_TAIL_MAX + 16);
  const char *text = x->decoded.p ? x->decoded.p : "";
  size_t hits = 0;
  int rc;
  if (k->text.inside) {
    rc = rp__redact_stream_push(r, &k->text, text, x->decoded.n, &x->masked, &x->hits);
    if (!rc) rc = rp__redact_stream_end(r, &k->text, false, &x->masked, &hits);
  } else {
    rp__buf_add(&before, k->text.context, k->text.n_context);
    rp__buf_add(&before, k->text.held.p, k->text.held.n);
    rc = before.err
             ? before.err
             : rp__redact_after(r, before.p ? before.p : "", before.n, true, text, x->decoded.n, &x->masked, &x->hits);
    bool held = k->text.held.n > 0;
    if (!rc) rc = rp__redact_stream_end_before(r, &k->text, text, x->decoded.n, &rest, &hits);
    if (!rc && held) rc = tell_rest(x->b, k, &rest, false);
  }
  x->hits += hits;
  if (before.p) sodium_memzero(before.p, before.n);
  if (rc) return rc;
  rp__streams_drop(&s->speech->streams, k);
  x->spoke = true;
  return 0;
}

static int whole(struct saying *x)
{
  const struct rp__redactor *r = x->b->s->e->redactor;
  struct rp__stream *k = rp__streams_find(&x->b->s->speech->streams, x->voice);
  const struct rp__speaker *p = x->speaker;
  const char *text = x->decoded.p ? x->decoded.p : "";
  bool joined = strcmp(p->name, x->name) == 0 &&
                (p->unfinished || rp__json_get(x->ev->body, "message_id").type == RP_JSON_STRING);
  if (k) return whole_behind(x, k);
  if (x->decoded.n && p->open)
    return rp__redact_after(r, p->tail, p->n_tail, joined, text, x->decoded.n, &x->masked, &x->hits);
  return rp__redact_text(r, text, x->decoded.n, &x->masked, &x->hits);
}

/* The common case, without a copy: no stream of the speaker is open and nothing in it looks like a secret. */
static bool plain_words(struct saying *x)
{
  rp_session *s = x->b->s;
  struct rp__speaker *p = x->speaker;
  const char *text = x->said.p + 1;
  size_t n = x->said.n - 2;
  if (rp__streams_find(&s->speech->streams, x->voice) || memchr(text, '\\', n)) return false;
  if (rp__redact_suspects(s->e->redactor, text, n) || rp__speaker_seam_open(s->e->redactor, p, text, n)) return false;
  p->unfinished = is_unfinished(x->ev, false);
  memcpy(p->name, x->name, sizeof p->name);
  p->n_tail = 0;
  rp__speaker_said(s->e->redactor, p, n > RP_SPEAKER_PLAIN ? text + n - RP_SPEAKER_PLAIN : text,
                   RP_MIN(n, RP_SPEAKER_PLAIN));
  return true;
}

/* The body with the masked words in place of the spoken ones; left empty when they are the same. */
static int replace_words(struct saying *x)
{
  bool same = x->decoded.n == x->masked.n && (!x->decoded.n || memcmp(x->decoded.p, x->masked.p, x->decoded.n) == 0);
  if (same) return 0;
  int rc = rp__mask_with_text(x->ev->body, x->said, x->masked.p ? x->masked.p : "", x->masked.n, &x->body);
  return rc ? rc : x->body.err;
}

static int mask_words(struct saying *x, bool is_chunk)
{
  struct rp__speaker *p = x->speaker;
  if (!is_chunk && plain_words(x)) return 0;
  int rc = rp__json_text(x->said, &x->decoded);
  if (!rc) rc = x->decoded.err;
  if (!rc) rc = is_chunk ? chunk(x) : whole(x);
  if (!rc) rc = x->masked.err;
  if (rc) return rc;
  if (strcmp(p->name, x->name) != 0 || !p->unfinished) p->n_tail = 0;
  memcpy(p->name, x->name, sizeof p->name);
  p->unfinished = is_unfinished(x->ev, is_chunk);
  rp__speaker_said(x->b->s->e->redactor, p, x->masked.p ? x->masked.p : "", x->masked.n);
  return replace_words(x);
}

/* ---- several texts in one message ---- */

/* One stream through all of them: what one text holds is told in the next. */
static int mask_texts(struct saying *x, const struct rp__json *texts, size_t n, bool is_chunk)
{
  rp_session *s = x->b->s;
  const struct rp__redactor *r = s->e->redactor;
  struct rp__streams *t = &s->speech->streams;
  struct rp__stream *k = rp__streams_find(t, x->voice);
  struct rp__redact_stream own RP_CLEANUP(rp__redact_stream_done) = {0}, *text = &own;
  const char *from = x->ev->body.p;
  int rc = 0;
  if (is_chunk) {
    if (!k && (rc = make_room(x->b))) return rc;
    k = rp__streams_take(t, x->voice);
    if ((rc = rp__stream_shape(k, x->ev, (struct rp__json){0}))) return rc;
    text = &k->text;
    x->open = true;
  } else if (k) { /* what its chunks held is told by itself, as before any whole message */
    if (k->text.held.n && (rc = cut_off(x->b, k, true))) return rc;
    k = rp__streams_find(t, x->voice);
    own = k->text;
    k->text = (struct rp__redact_stream){0};
    rp__streams_drop(t, k);
    x->spoke = true;
  }
  for (size_t i = 0; !rc && i < n; i++) {
    size_t hits = 0;
    rp__buf_reset(&x->decoded);
    rp__buf_reset(&x->masked);
    rc = rp__json_text(texts[i], &x->decoded);
    if (!rc) rc = rp__redact_stream_push(r, text, x->decoded.p ? x->decoded.p : "", x->decoded.n, &x->masked, &hits);
    x->hits += hits;
    hits = 0;
    if (!rc && i + 1 == n && !is_chunk) rc = rp__redact_stream_end(r, text, false, &x->masked, &hits);
    x->hits += hits;
    rp__buf_add(&x->body, from, (size_t)(texts[i].p - from));
    struct rp__jw w = RP_JW(&x->body); /* of one value each */
    rp__jw_strn(&w, x->masked.p ? x->masked.p : "", x->masked.n);
    from = texts[i].p + texts[i].n;
  }
  rp__buf_add(&x->body, from, (size_t)(x->ev->body.p + x->ev->body.n - from));
  if (!rc) rc = x->body.err ? x->body.err : x->masked.err;
  if (!rc && is_chunk && rp__redact_stream_matters(r, text, x->masked.n))
    rc = rp__stream_seal(s, x->b->key, text, &x->tail);
  if (rc) return rc;
  x->spoke |= is_chunk;
  x->speaker->n_tail = 0;
  memcpy(x->speaker->name, x->name, sizeof x->speaker->name);
  x->speaker->unfinished = is_chunk;
  rp__speaker_said(r, x->speaker, x->masked.p ? x->masked.p : "", x->masked.n);
  return 0;
}

/* ---- a message that only ends what came in chunks ---- */

/* What was held, in the form of the chunks before it, so that it goes on where they ended. */
static void write_content(const struct rp__stream *k, const struct rp__buf *text, struct rp__buf *out)
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

static int close_stream(struct saying *x, struct rp__json content)
{
  struct rp__streams *t = &x->b->s->speech->streams;
  struct rp__stream *k = rp__streams_find(t, x->voice);
  struct rp__buf *text = &x->masked;
  if (!k) return 0;
  int rc = rp__redact_stream_end(x->b->s->e->redactor, &k->text, false, text, &x->hits);
  if (!rc) rc = text->err;
  if (!rc && text->n) {
    const char *behind = content.p + content.n;
    rp__speaker_said(x->b->s->e->redactor, x->speaker, text->p, text->n);
    rp__buf_add(&x->body, x->ev->body.p, (size_t)(content.p - x->ev->body.p));
    write_content(k, text, &x->body);
    rp__buf_add(&x->body, behind, (size_t)(x->ev->body.p + x->ev->body.n - behind));
    rc = x->body.err;
  }
  x->speaker->unfinished = false;
  x->spoke = true;
  rp__streams_drop(t, k);
  return rc;
}

/* ---- one event ---- */

/* Whether others could have opened a stream that this event would end, or is part of. */
static bool must_hear(const struct rp__speech *sp, const struct saying *x, bool is_chunk)
{
  return is_chunk || sp->streams.n || rp__json_get(x->ev->body, "message_id").type == RP_JSON_STRING;
}

static int speak(struct saying *x, bool *ret_spoken)
{
  rp_session *s = x->b->s;
  char ignored[RP_SPEAKER_MAX], base[RP_SPEAKER_BASE];
  struct rp__json closing = {0};
  x->said = rp__mask_spoken(x->ev, x->name);
  bool silent = x->said.type != RP_JSON_STRING || x->said.n == 2;
  if (silent) closing = rp__mask_closing(x->ev, x->name);
  struct rp__json texts[RP_TEXTS_MAX];
  size_t n = !closing.type && x->said.type != RP_JSON_STRING ? rp__mask_texts(x->ev, x->name, texts) : 0;
  *ret_spoken = closing.type || n || x->said.type == RP_JSON_STRING;
  if (!*ret_spoken) return 0;
  bool is_chunk = !closing.type && (rp__mask_chunk(x->ev, ignored).type == RP_JSON_STRING ||
                                    (n && rp__json_get(x->ev->body, "partial").type == RP_JSON_TRUE));
  look_back(s);
  rp__speaker_base(x->name, base);
  x->voice = rp__voice(x->name);
  x->speaker = rp__speaker_find(s->speech, base);
  x->b->heard |= must_hear(s->speech, x, is_chunk);
  int rc = cut_nameless(x->b, x->ev, x->voice);
  if (rc) return rc;
  if (n) return mask_texts(x, texts, n, is_chunk);
  return closing.type ? close_stream(x, closing) : mask_words(x, is_chunk);
}

int rp__speech_take(struct rp__batch *b, const struct rp__event *ev, rp_error *err)
{
  rp_session *s = b->s;
  size_t max = 2 * s->max_body + 65536;
  struct saying x RP_CLEANUP(saying_done) = {
      .b = b, .ev = ev, .decoded = RP_BUF(max), .masked = RP_BUF(max), .body = RP_BUF(max)};
  struct rp__str body = {ev->body.p, ev->body.n}, stored = body;
  bool spoken = false;
  bool masks = redacts(s->e, s->scope);
  int rc = b->locked && (ev->kind == RP_KIND_MESSAGE || ev->kind == RP_KIND_TRANSCRIPT) ? speak(&x, &spoken) : 0;
  if (!rc && !rp__batch_room(b)) rc = RP_E_NOMEM;
  if (rc) return rp__fail(err, rc, "the event can't be masked");
  struct rp__prepared *p = &b->prepared[b->n_events];
  *p = (struct rp__prepared){.masked = RP_BUF(max)};
  if (x.body.n) body = stored = (struct rp__str){x.body.p, x.body.n};
  if (masks) rc = rp__engine_mask(s->e, s->scope, ev->kind, rp__json_trusted(body.p, body.n), &p->masked, &stored);
  if (rc) return rp__fail(err, rc, "the event can't be masked");
  if (x.body.n && stored.p == x.body.p) { /* the bytes must outlive this call */
    rp__buf_done(&p->masked);
    p->masked = rp__buf_move(&x.body);
  }
  p->tail = rp__buf_move(&x.tail);
  count_hits(s->e, x.hits);
  struct rp__new_event *out = &b->events[b->n_events++];
  *out = (struct rp__new_event){.body = stored.p, .body_len = stored.n, .tail = p->tail.p, .tail_len = p->tail.n};
  if (x.spoke) {
    out->voice = x.voice;
    out->open = x.open;
    b->speaks = true;
  }
  return 0;
}

/* ---- around a batch ---- */

static bool speaks(const struct rp__batch *b, bool *ret_chunks)
{
  bool any = false;
  for (size_t i = 0; i < b->n; i++) {
    const struct rp__event *ev = &b->checked[i];
    any |= ev->kind == RP_KIND_MESSAGE || ev->kind == RP_KIND_TRANSCRIPT;
    if (ev->kind == RP_KIND_MESSAGE) *ret_chunks |= rp__json_get(ev->body, "partial").type == RP_JSON_TRUE;
  }
  return any && redacts(b->s->e, b->s->scope);
}

static int streams_know(rp_session *s, rp_error *err)
{
  if (!s->speech) {
    s->speech = calloc(1, sizeof *s->speech);
    if (!s->speech) return rp__fail_nomem(err);
    s->speech->streams.known = s->streams_known;
    s->speech->streams.number = s->streams_number;
  }
  return s->speech->streams.known ? 0 : rp__streams_read(s, &s->speech->streams, err);
}

int rp__speech_begin(struct rp__batch *b, rp_error *err)
{
  rp_session *s = b->s;
  bool chunks = false, any = speaks(b, &chunks);
  int rc = 0;
  if (!any && !atomic_load(&s->speaking)) return 0;
  if (any && chunks) {
    if (!s->key && (rc = rp__tail_key_ready(s->e, s->e->short_lived, err))) return rc;
    if (!s->key) rp__tail_key_current(s->e, &b->own_key);
    b->key = s->key ? s->key : &b->own_key;
  }
  pthread_mutex_lock(&s->speech_lock);
  bool unknown = s->speech && !s->speech->streams.known;
  rc = unknown && b->in_order && atomic_load(&s->speaking) ? RP__PREPARE_LATER : streams_know(s, err);
  if (rc) {
    pthread_mutex_unlock(&s->speech_lock);
    return rc;
  }
  b->locked = true;
  b->heard = !any; /* what follows a chunk that is on its way must not be stored before it */
  b->heard_number = s->speech->streams.number;
  return 0;
}

void rp__speech_end(struct rp__batch *b, bool prepared)
{
  rp_session *s = b->s;
  if (!b->locked) return;
  b->locked = false;
  if (!prepared) {
    s->speech->streams.known = false;
    b->speaks = false;
  } else if (b->speaks) {
    b->streams_number = s->speech->streams.number = rp__streams_number(&s->speech->streams);
    atomic_fetch_add(&s->speaking, 1);
  }
  pthread_mutex_unlock(&s->speech_lock);
}

void rp__speech_forget(rp_session *s)
{
  pthread_mutex_lock(&s->speech_lock);
  if (s->speech) s->speech->streams.known = false;
  s->streams_known = false;
  pthread_mutex_unlock(&s->speech_lock);
}

void rp__speech_free(struct rp__speech *sp)
{
  if (!sp) return;
  rp__streams_done(&sp->streams);
  sodium_memzero(sp, sizeof *sp);
  free(sp);
}
