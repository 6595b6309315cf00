/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Masks the events of a batch on their way into the store. A body is masked by itself. Its spoken text is also searched
 * together with the earlier text of its speaker, in the streams that the handle keeps (engine/journal/open-streams.h).
 * Only rp__stream_redaction_catch_up asks the store.
 */
#include "engine/journal/stream-redaction.h"

#include <assert.h>
#include <sodium.h>

#include "engine/journal/append.h"
#include "engine/journal/open-streams.h"

#define LOOK_BACK 16      /* events: starts and states stand between what people say */
#define SPEAKERS 8        /* remembered per handle; the one silent for longest makes room */
#define SPEAKER_TAIL 4096 /* bytes of the last thing said, in which a secret may have begun */
#define SPEAKER_PLAIN 64  /* bytes of it that matter when nothing in it looked like a secret */

/* A voice, and the end of what it said last: a secret may go on in its next message. Chunks have a stream besides. */
struct speaker {
  char name[RP_SPEAKER_MAX];
  char voice[32]; /* kind and role, cut */
  char tail[SPEAKER_TAIL];
  size_t n_tail;
  bool open;       /* a secret may have begun in the tail */
  bool masked;     /* the tail ends with a mask */
  bool unfinished; /* the last thing said was a chunk, or a transcript that was not final */
  uint64_t used;
};

struct rp__stream_redaction {
  struct rp__streams streams;
  struct speaker speakers[SPEAKERS];
  uint64_t clock;
  bool looked_back; /* at what was said before this handle was opened */
};

static bool redacts(const rp_engine *e, const char *scope)
{
  return rp__config_of(e->config, scope)->redact;
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

/* ---- speakers ---- */

/* The speaker with that voice, or a free entry, or that of the speaker silent for longest. */
static struct speaker *speaker_find(struct rp__stream_redaction *sp, const struct rp__spoken *spoken)
{
  struct speaker *oldest = &sp->speakers[0];
  size_t n = RP_MIN(spoken->voice_length, sizeof oldest->voice - 1);
  for (size_t i = 0; i < SPEAKERS; i++) {
    struct speaker *k = &sp->speakers[i];
    if (k->used && strncmp(k->voice, spoken->name, n) == 0 && !k->voice[n]) return k->used = ++sp->clock, k;
    if (k->used < oldest->used) oldest = k;
  }
  *oldest = (struct speaker){.used = ++sp->clock};
  memcpy(oldest->voice, spoken->name, n);
  return oldest;
}

/* The tail becomes the end of what is stored of a text, or, without `spoken`, goes on with it. */
static void speaker_said(const struct rp__redactor *r, struct speaker *k, const struct rp__spoken *spoken,
                         const char *text, size_t n)
{
  static const size_t mask = sizeof RP_MASK - 1;
  if (spoken) {
    memcpy(k->name, spoken->name, sizeof k->name);
    k->unfinished = spoken->unfinished;
    k->n_tail = 0;
  }
  if (n >= SPEAKER_TAIL) {
    text += n - SPEAKER_TAIL;
    n = SPEAKER_TAIL;
  }
  size_t drop = n + k->n_tail > SPEAKER_TAIL ? n + k->n_tail - SPEAKER_TAIL : 0;
  k->n_tail -= drop;
  if (drop) memmove(k->tail, k->tail + drop, k->n_tail);
  if (n) memcpy(k->tail + k->n_tail, text, n);
  k->n_tail += n;
  assert(k->n_tail <= SPEAKER_TAIL);
  k->masked = k->n_tail >= mask && memcmp(k->tail + k->n_tail - mask, RP_MASK, mask) == 0;
  k->open = k->masked || rp__redact_tail(r, k->tail, k->n_tail) < k->n_tail;
}

/* Whether a secret that may have begun in the tail may go on in this text. */
static bool seam_is_open(const struct rp__redactor *r, const struct speaker *k, const char *text, size_t n)
{
  char seam[2 * SPEAKER_PLAIN];
  size_t more = RP_MIN(n, SPEAKER_PLAIN);
  if (!k->open || k->n_tail > SPEAKER_PLAIN || k->masked) return k->open;
  memcpy(seam, k->tail, k->n_tail);
  memcpy(seam + k->n_tail, text, more);
  return rp__redact_suspects(r, seam, k->n_tail + more);
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
 * Tells what a stream held that will not go on, for all that is known. The stream stays in the list (`stays`), because
 * a secret that was cut off may go on after all, or makes room for another.
 */
static int cut_off(struct rp__batch *b, struct rp__stream *k, bool stays)
{
  struct rp__buf text RP_AUTOBUF = RP_BUF(RP_REDACT_CONTEXT + 2 * RP_REDACT_TAIL_MAX), told = text;
  struct rp__streams *t = &b->s->redaction->streams;
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

/* Room for one more stream: the store lets go of the first one in its list. */
static int make_room(struct rp__batch *b)
{
  struct rp__streams *t = &b->s->redaction->streams;
  if (t->n < RP_TAILS_MAX) return 0;
  if (t->at[0].text.held.n) return cut_off(b, &t->at[0], false);
  rp__streams_drop(t, &t->at[0]);
  return 0;
}

/* ---- masking ---- */

/* The words of one event, while they are masked. */
struct words {
  struct rp__batch *b;
  const struct rp__event *ev;
  struct rp__spoken spoken;
  uint64_t voice;
  struct speaker *speaker;
  struct rp__buf decoded, masked, body;
  size_t hits;
  bool open;           /* its stream goes on */
  bool spoke;          /* it changed its stream */
  struct rp__buf tail; /* sealed */
};

static void words_done(struct words *x)
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
static int chunk(struct words *x)
{
  rp_session *s = x->b->s;
  const struct rp__redactor *r = s->e->redactor;
  struct rp__streams *t = &s->redaction->streams;
  const struct speaker *p = x->speaker;
  bool fresh = !rp__streams_find(t, x->voice);
  int rc = fresh ? make_room(x->b) : 0;
  if (rc) return rc;
  struct rp__stream *k = rp__streams_take(t, x->voice);
  if (fresh && p->n_tail && strcmp(p->name, x->spoken.name) == 0)
    rp__redact_stream_resume(p->tail, p->n_tail, &k->text);
  rc = rp__stream_shape(k, x->ev, &x->spoken);
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

static int whole(struct words *x)
{
  rp_session *s = x->b->s;
  const struct rp__redactor *r = s->e->redactor;
  struct rp__stream *k = rp__streams_find(&s->redaction->streams, x->voice);
  const struct speaker *p = x->speaker;
  const char *text = x->decoded.p ? x->decoded.p : "";
  bool joined = strcmp(p->name, x->spoken.name) == 0 && (p->unfinished || x->spoken.named);
  if (!k && x->decoded.n && p->open)
    return rp__redact_after(r, p->tail, p->n_tail, joined, text, x->decoded.n, &x->masked, &x->hits);
  if (!k) return rp__redact_text(r, text, x->decoded.n, &x->masked, &x->hits);
  /* Chunks of the speaker came before. The text that they held is told by itself, for this one may go on with it or say
   * it all again. */
  struct rp__buf rest RP_AUTOBUF = RP_BUF(2 * RP_REDACT_TAIL_MAX);
  struct rp__buf before RP_AUTOWIPE = RP_BUF(RP_REDACT_CONTEXT + RP_REDACT_TAIL_MAX + 16);
  bool held = k->text.held.n > 0;
  size_t hits = 0;
  int rc;
  if (k->text.inside) {
    rc = rp__redact_stream_push(r, &k->text, text, x->decoded.n, &x->masked, &x->hits);
    if (!rc) rc = rp__redact_stream_end(r, &k->text, false, &x->masked, &hits);
  } else {
    rp__buf_add(&before, k->text.context, k->text.n_context);
    rp__buf_add(&before, k->text.held.p, k->text.held.n);
    rc = before.err;
    if (!rc)
      rc = rp__redact_after(r, before.p ? before.p : "", before.n, true, text, x->decoded.n, &x->masked, &x->hits);
    if (!rc) rc = rp__redact_stream_end_before(r, &k->text, text, x->decoded.n, &rest, &hits);
    if (!rc && held) rc = tell_rest(x->b, k, &rest, false);
  }
  x->hits += hits;
  if (rc) return rc;
  rp__streams_drop(&s->redaction->streams, k);
  x->spoke = true;
  return 0;
}

/* One text: the body gets the masked words in place of the spoken ones, where they differ. */
static int mask_words(struct words *x)
{
  rp_session *s = x->b->s;
  const struct rp__redactor *r = s->e->redactor;
  struct rp__streams *streams = &s->redaction->streams;
  struct speaker *p = x->speaker;
  const char *text = x->spoken.text.p + 1;
  size_t n = x->spoken.text.n - 2;
  /* The common case, without a copy: no stream of the speaker is open and nothing in it looks like a secret. */
  if (!x->spoken.chunk && !(streams->n && rp__streams_find(streams, x->voice)) && !memchr(text, '\\', n) &&
      !rp__redact_suspects(r, text, n) && !seam_is_open(r, p, text, n)) {
    size_t end = RP_MIN(n, SPEAKER_PLAIN);
    speaker_said(r, p, &x->spoken, text + n - end, end);
    return 0;
  }
  int rc = rp__json_text(x->spoken.text, &x->decoded);
  if (!rc) rc = x->decoded.err;
  if (!rc) rc = x->spoken.chunk ? chunk(x) : whole(x);
  if (!rc) rc = x->masked.err;
  if (rc) return rc;
  bool goes_on = strcmp(p->name, x->spoken.name) == 0 && p->unfinished;
  if (goes_on) p->unfinished = x->spoken.unfinished;
  speaker_said(r, p, goes_on ? NULL : &x->spoken, x->masked.p ? x->masked.p : "", x->masked.n);
  if (x->decoded.n == x->masked.n && (!x->decoded.n || memcmp(x->decoded.p, x->masked.p, x->decoded.n) == 0)) return 0;
  return rp__spoken_replace(x->ev->body, x->spoken.text, x->masked.p ? x->masked.p : "", x->masked.n, &x->body);
}

/* ---- several texts in one message ---- */

/* One stream through all of them: what one text holds is told in the next. */
static int mask_texts(struct words *x)
{
  const struct rp__json *texts = x->spoken.texts;
  size_t n = x->spoken.n_texts;
  bool is_chunk = x->spoken.chunk;
  rp_session *s = x->b->s;
  const struct rp__redactor *r = s->e->redactor;
  struct rp__streams *t = &s->redaction->streams;
  struct rp__stream *k = rp__streams_find(t, x->voice);
  struct rp__redact_stream own RP_CLEANUP(rp__redact_stream_done) = {0}, *text = &own;
  const char *from = x->ev->body.p;
  int rc = 0;
  if (is_chunk) {
    if (!k && (rc = make_room(x->b))) return rc;
    k = rp__streams_take(t, x->voice);
    if ((rc = rp__stream_shape(k, x->ev, &x->spoken))) return rc;
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
  speaker_said(r, x->speaker, &x->spoken, x->masked.p ? x->masked.p : "", x->masked.n);
  return 0;
}

/* ---- a message that only ends what came in chunks ---- */

/* The held text is told in the form of the chunks before it, so that it goes on where they ended. */
static int close_stream(struct words *x)
{
  struct rp__streams *t = &x->b->s->redaction->streams;
  struct rp__stream *k = rp__streams_find(t, x->voice);
  struct rp__json content = x->spoken.text;
  struct rp__buf *text = &x->masked;
  if (!k) return 0;
  int rc = rp__redact_stream_end(x->b->s->e->redactor, &k->text, false, text, &x->hits);
  if (!rc) rc = text->err;
  if (!rc && text->n) {
    struct rp__json form = rp__json_get(rp__json_trusted(k->shell.p, k->shell.n), "content");
    const char *behind = content.p + content.n;
    struct rp__jw w = RP_JW(&x->body);
    speaker_said(x->b->s->e->redactor, x->speaker, NULL, text->p, text->n);
    rp__buf_add(&x->body, x->ev->body.p, (size_t)(content.p - x->ev->body.p));
    if (form.type == RP_JSON_STRING)
      rp__jw_strn(&w, text->p, text->n);
    else
      rp__jw_pack(&w, "[{type:s text:n}]", "text", text->p, text->n);
    rp__buf_add(&x->body, behind, (size_t)(x->ev->body.p + x->ev->body.n - behind));
    rc = x->body.err;
  }
  x->speaker->unfinished = false;
  x->spoke = true;
  rp__streams_drop(t, k);
  return rc;
}

/* ---- one event ---- */

/* Masks the words of an event behind what was said before it. */
static int speak(struct words *x)
{
  struct rp__stream_redaction *sp = x->b->s->redaction;
  const struct rp__spoken *spoken = &x->spoken;
  rp__spoken_read(x->ev, &x->spoken);
  if (spoken->form == RP_SPOKEN_NOTHING) return 0;
  x->voice = rp__voice(spoken->name);
  x->speaker = speaker_find(sp, spoken);
  /* Others could have opened a stream that this event would end, or is part of. */
  x->b->heard |= spoken->chunk || sp->streams.n || spoken->named;
  /* A stream without a message id is over when another speaks, as in the state (facets/conversation.c). */
  bool speaks = x->ev->kind == RP_KIND_MESSAGE && !spoken->thought;
  int rc = 0;
  for (size_t i = 0; speaks && !rc && i < sp->streams.n;) {
    struct rp__stream *k = &sp->streams.at[i];
    if (!k->named && !k->thought && k->voice != x->voice && k->text.held.n)
      rc = cut_off(x->b, k, true); /* the next one takes its place */
    else
      i++;
  }
  if (rc) return rc;
  if (spoken->form == RP_SPOKEN_TEXTS) return mask_texts(x);
  return spoken->form == RP_SPOKEN_END ? close_stream(x) : mask_words(x);
}

int rp__stream_redaction_take(struct rp__batch *b, const struct rp__event *ev, rp_error *err)
{
  rp_session *s = b->s;
  size_t max = 2 * s->config->body_bytes + 65536;
  struct words x RP_CLEANUP(words_done);
  x.b = b; /* not as a whole: the room for texts is large, and written where it is used */
  x.ev = ev;
  x.decoded = x.masked = x.body = RP_BUF(max);
  x.tail = (struct rp__buf){0};
  x.hits = 0;
  x.open = x.spoke = false;
  struct rp__str body = {ev->body.p, ev->body.n}, stored = body;
  int rc = b->locked && (ev->kind == RP_KIND_MESSAGE || ev->kind == RP_KIND_TRANSCRIPT) ? speak(&x) : 0;
  if (!rc && b->n_events == b->cap && !rp__batch_room(b)) rc = RP_E_NOMEM;
  if (rc) return rp__fail(err, rc, "the event can't be masked");
  struct rp__prepared *p = &b->prepared[b->n_events];
  *p = (struct rp__prepared){.masked = RP_BUF(max)};
  if (x.body.n) body = stored = (struct rp__str){x.body.p, x.body.n};
  if (b->redacts) {
    size_t hits = 0;
    rc = rp__mask_body(s->e->redactor, ev->kind, rp__json_trusted(body.p, body.n), &p->masked, &stored, &hits);
    x.hits += hits;
  }
  if (rc) return rp__fail(err, rc, "the event can't be masked");
  if (x.body.n && stored.p == x.body.p) { /* the bytes must outlive this call */
    rp__buf_done(&p->masked);
    p->masked = rp__buf_move(&x.body);
  }
  if (x.tail.n) p->tail = rp__buf_move(&x.tail);
  if (x.hits) count_hits(s->e, x.hits);
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

static int on_last_event(void *ctx, const struct rp__event *ev)
{
  rp_session *s = ctx;
  struct rp__spoken spoken;
  rp__spoken_read(ev, &spoken);
  if (spoken.form == RP_SPOKEN_NOTHING || spoken.text.type != RP_JSON_STRING) return 0;
  struct rp__buf text RP_AUTOBUF = RP_BUF(spoken.text.n + 1);
  if (rp__json_text(spoken.text, &text)) return 0;
  speaker_said(s->e->redactor, speaker_find(s->redaction, &spoken), &spoken, text.p ? text.p : "", text.n);
  return 0;
}

/*
 * Reads the last events, for one may be the first half of what is said now. A journal that can't be read has none. A
 * short-lived handle knows from its opening where the journal ends.
 */
static void look_back(rp_session *s)
{
  struct rp__session_row row = {.last_seq = s->opened_seq};
  s->redaction->looked_back = true;
  if (!s->e->short_lived && rp__session_row(s, &row, NULL)) return;
  int64_t last = row.last_seq;
  rp__session_row_done(&row);
  int64_t upto = s->e->short_lived ? 0 : last;
  /* An event that can't be read ends the look back: those before it were seen. */
  if (last) RP_IGNORE(rp__journal_read(s, RP_MAX(last - LOOK_BACK, 0), upto, on_last_event, s, NULL));
}

int rp__stream_redaction_catch_up(struct rp__batch *b, rp_error *err)
{
  rp_session *s = b->s;
  int rc = 0;
  assert(!b->locked);
  if (!b->spoken && !atomic_load(&s->streams_changing)) return 0;
  if (b->chunks) {
    if (!s->key && (rc = rp__tail_key_ready(s->e, s->e->short_lived, err))) return rc;
    if (!s->key) rp__tail_key_current(s->e, &b->own_key);
    b->key = s->key ? s->key : &b->own_key;
  }
  pthread_mutex_lock(&s->redaction_lock);
  if (!s->redaction) {
    s->redaction = calloc(1, sizeof *s->redaction);
    if (s->redaction) s->redaction->streams.known = s->streams_known;
    if (s->redaction) s->redaction->streams.number = s->streams_number;
  }
  if (!s->redaction)
    rc = rp__fail_nomem(err);
  else if (!s->redaction->streams.known)
    rc = b->how == RP_PREPARE_ORDER && atomic_load(&s->streams_changing)
             ? RP__PREPARE_LATER
             : rp__streams_read(s, &s->redaction->streams, err);
  if (!rc && b->spoken && !s->redaction->looked_back) look_back(s);
  if (rc) {
    pthread_mutex_unlock(&s->redaction_lock);
    return rc;
  }
  b->locked = true;
  b->heard = !b->spoken; /* what follows a chunk that is on its way must not be stored before it */
  b->heard_number = s->redaction->streams.number;
  return 0;
}

void rp__stream_redaction_end(struct rp__batch *b, bool prepared)
{
  rp_session *s = b->s;
  if (!b->locked) return;
  b->locked = false;
  if (!prepared) {
    s->redaction->streams.known = false;
    b->speaks = false;
  } else if (b->speaks) {
    b->streams_number = s->redaction->streams.number = rp__streams_number(&s->redaction->streams);
    atomic_fetch_add(&s->streams_changing, 1);
  }
  pthread_mutex_unlock(&s->redaction_lock);
}

void rp__stream_redaction_forget(rp_session *s)
{
  pthread_mutex_lock(&s->redaction_lock);
  if (s->redaction) s->redaction->streams.known = false;
  s->streams_known = false;
  pthread_mutex_unlock(&s->redaction_lock);
}

void rp__stream_redaction_free(struct rp__stream_redaction *sp)
{
  if (!sp) return;
  rp__streams_done(&sp->streams);
  sodium_memzero(sp, sizeof *sp);
  free(sp);
}
