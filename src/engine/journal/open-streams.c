/* SPDX-License-Identifier: Apache-2.0 */
/* The open streams of a session: finding, extending and dropping them. */
#include "engine/journal/open-streams.h"

#include <assert.h>

#include "engine/session-view.h"

#define SHELL_MAX 4096 /* bytes of a chunk's body without its text that are kept */
#define KIND "message" /* what speaks in chunks */

uint64_t rp__voice(const char *speaker)
{
  uint64_t v = rp__checksum(speaker, strlen(speaker), 0x766f696365);
  return v ? v : 1;
}

static void stream_done(struct rp__stream *k)
{
  rp__redact_stream_done(&k->text);
  rp__buf_done(&k->shell);
  *k = (struct rp__stream){0};
}

void rp__streams_done(struct rp__streams *t)
{
  while (t->n) stream_done(&t->at[--t->n]);
  t->known = false;
}

struct rp__stream *rp__streams_find(struct rp__streams *t, uint64_t voice)
{
  for (size_t i = 0; i < t->n; i++)
    if (t->at[i].voice == voice) return &t->at[i];
  return NULL;
}

static void take_out(struct rp__streams *t, struct rp__stream *k)
{
  size_t i = (size_t)(k - t->at);
  assert(i < t->n);
  memmove(k, k + 1, (--t->n - i) * sizeof *k);
}

struct rp__stream *rp__streams_take(struct rp__streams *t, uint64_t voice)
{
  struct rp__stream *k = rp__streams_find(t, voice), moved = {.voice = voice};
  if (k) {
    moved = *k;
    take_out(t, k);
  }
  assert(t->n < RP_TAILS_MAX);
  k = &t->at[t->n++];
  *k = moved;
  return k;
}

void rp__streams_drop(struct rp__streams *t, struct rp__stream *k)
{
  stream_done(k);
  take_out(t, k);
}

int64_t rp__streams_number(struct rp__streams *t)
{
  if (!t->next) {
    rp__system_random.fill(rp__system_random.ctx, &t->next, sizeof t->next);
    t->next &= INT64_MAX >> 1;
  }
  return ++t->next;
}

/* ---- the shape of their events ---- */

int rp__stream_shape(struct rp__stream *k, const struct rp__event *ev, const struct rp__spoken *spoken)
{
  static const char *const names[] = {"role", "message_id", "thought"};
  k->named = spoken->named;
  k->thought = spoken->thought;
  rp__buf_reset(&k->shell);
  k->shell.max = SHELL_MAX;
  if (spoken->form == RP_SPOKEN_TEXT) {
    int rc = rp__spoken_replace(ev->body, spoken->text, "", 0, &k->shell);
    if (rc != RP_E_TOO_LARGE) return rc;
  }
  /* Several texts, or too much besides them: the members by which readers know whose words they are. */
  rp__buf_reset(&k->shell);
  struct rp__jw w = RP_JW(&k->shell);
  rp__jw_object(&w);
  for (size_t i = 0; i < RP_ARRAY_SIZE(names); i++) {
    struct rp__json v = rp__json_get(ev->body, names[i]);
    if (v.type == RP_JSON_NONE) continue;
    rp__jw_key(&w, names[i]);
    rp__jw_raw(&w, v.p, v.n);
  }
  rp__jw_pack(&w, "content:s partial:b}", "", true);
  return k->shell.err;
}

int rp__stream_body(const struct rp__stream *k, const char *text, size_t n, int64_t continues, struct rp__buf *out)
{
  struct rp__spoken spoken;
  struct rp__event ev = {.kind = RP_KIND_MESSAGE, .kind_name = KIND, .body = rp__json_trusted(k->shell.p, k->shell.n)};
  rp__spoken_read(&ev, &spoken);
  assert(spoken.form == RP_SPOKEN_TEXT);
  int rc = rp__spoken_replace(ev.body, spoken.text, text, n, out);
  if (rc || !continues) return rc;
  out->n--; /* the closing brace */
  rp__buf_printf(out, ",\"continues\":%lld}", (long long)continues);
  return out->err;
}

/* ---- sealing ---- */

/* The text that binds a sealed tail to its session. */
static struct rp__str tail_ad(const rp_session *s, char out[RP_NAME + 8])
{
  int n = snprintf(out, RP_NAME + 8, "%s/tail", s->id);
  return (struct rp__str){out, (size_t)n};
}

int rp__stream_seal(const rp_session *s, const struct rp__key *key, const struct rp__redact_stream *text,
                    struct rp__buf *out)
{
  struct rp__buf plain RP_AUTOWIPE = RP_BUF(RP_REDACT_SAVED);
  char ad[RP_NAME + 8];
  rp__buf_room(&plain, RP_REDACT_CONTEXT + 8 + text->held.n); /* at once: growing would leave a copy behind */
  rp__redact_stream_save(text, &plain);
  *out = RP_BUF(RP_REDACT_SAVED + RP_SEAL_OVERHEAD);
  return plain.err ? plain.err : rp__seal(key, &rp__system_random, tail_ad(s, ad), plain.p, plain.n, out);
}

/* RP_E_CORRUPT, RP_E_KEY_MISSING. */
static int tail_open(rp_session *s, const struct rp__tail_row *row, struct rp__redact_stream *ret, rp_error *err)
{
  struct rp__buf plain RP_AUTOWIPE = RP_BUF(RP_REDACT_SAVED);
  struct rp__key own RP_CLEANUP(rp__key_wipe) = {0};
  char ad[RP_NAME + 8];
  const unsigned char *sealed = row->tail;
  int rc = 0;
  if (row->tail_len <= RP_SEAL_OVERHEAD) rc = rp__fail(err, RP_E_CORRUPT, "it is damaged");
  if (!rc && !s->key) rc = rp__tail_key_find(s->e, sealed + 1, &own, err);
  rp__buf_room(&plain, row->tail_len);
  if (!rc) rc = rp__unseal(s->key ? s->key : &own, tail_ad(s, ad), row->tail, row->tail_len, &plain, err);
  if (!rc && (rc = rp__redact_stream_load(plain.p, plain.n, ret))) rp__fail(err, rc, "it can't be read");
  return rc;
}

/* ---- reading ---- */

/* The event's body as it was, in `plain` where it is sealed. */
static int body_open(rp_session *s, const struct rp__tail_row *row, struct rp__buf *plain, struct rp__str *ret,
                     rp_error *err)
{
  *ret = (struct rp__str){row->event.body, row->event.body_len};
  if (!row->event.sealed) return 0;
  int rc = rp__unseal(s->key, rp__session_ad(s), ret->p, ret->n, plain, err);
  *ret = (struct rp__str){plain->p, plain->n};
  return rc;
}

struct reading {
  rp_session *s;
  struct rp__streams *t;
  rp_error *err;
};

/*
 * A stream goes on behind what its newest chunk told, and with what that held. A stream whose sealed end can't be read
 * goes on without it, and the log says so.
 */
static int on_stream(void *ctx, const struct rp__tail_row *row)
{
  struct reading *x = ctx;
  struct rp__buf plain RP_AUTOBUF = RP_BUF(x->s->config->body_bytes + RP_BODY_MAX);
  struct rp__json last = {0};
  struct rp__spoken spoken = {0};
  struct rp__str body;
  rp_error why = {0};
  int rc = body_open(x->s, row, &plain, &body, &why);
  if (!rc && row->event.damaged) rc = rp__fail(&why, RP_E_CORRUPT, "it is damaged");
  if (!rc) {
    struct rp__event ev = {.kind = rp__kind_parse(row->event.kind),
                           .kind_name = row->event.kind,
                           .body = rp__json_trusted(body.p, body.n)};
    rp__spoken_read(&ev, &spoken);
    if (spoken.form == RP_SPOKEN_TEXTS) last = spoken.texts[spoken.n_texts - 1];
    if (spoken.form == RP_SPOKEN_TEXT && spoken.chunk) last = spoken.text;
    if (last.type != RP_JSON_STRING || x->t->n == RP_TAILS_MAX) rc = rp__fail(&why, RP_E_CORRUPT, "it is no chunk");
    struct rp__stream *k = rc ? NULL : rp__streams_take(x->t, row->voice);
    if (k) {
      struct rp__buf text RP_AUTOBUF = RP_BUF(last.n + 1);
      k->seq = row->seq;
      rc = rp__stream_shape(k, &ev, &spoken);
      if (!rc && row->tail && !(rc = tail_open(x->s, row, &k->text, &why))) return 0;
      if (rp__json_text(last, &text) == 0 && text.n) rp__redact_stream_resume(text.p, text.n, &k->text);
      if (rc && row->tail) rp__redact_stream_doubt(&k->text);
    }
  }
  if (rc == RP_E_NOMEM) return rp__fail_nomem(x->err);
  if (rc)
    rp__log(&x->s->e->log, RP_LOG_WARN, "session %s, event %lld: the end of its text is lost: %s", x->s->id,
            (long long)row->seq, why.message);
  return 0;
}

static int on_view_stream(void *ctx, const struct rp__tail_row *row)
{
  rp_session *s = ctx;
  struct reading x = {s, s->view->streams, NULL};
  return on_stream(&x, row);
}

struct rp__read rp__streams_reading(rp_session *s)
{
  const struct rp__tails *tails = &s->view->row.tails;
  s->view->streams->number = tails->number;
  return (struct rp__read){
      .type = RP_READ_TAILS, .ctx = s, .u.tails = {.session_ref = s->ref, .which = tails, .fn = on_view_stream}};
}

int rp__streams_read(rp_session *s, struct rp__streams *t, rp_error *err)
{
  struct rp__session_row row RP_CLEANUP(rp__session_row_done) = {0};
  struct reading x = {s, t, err};
  rp__streams_done(t);
  if (s->view && s->view->streams) {
    *t = *s->view->streams;
    free(RP_TAKE(s->view->streams));
    return 0;
  }
  int rc = rp__session_row(s, &row, err);
  if (rc) return rc;
  t->number = row.tails.number; /* read first: what comes behind it makes the append be prepared again */
  if (row.tails.n) rc = s->e->store->ops->tail_list(s->e->store, s->ref, NULL, on_stream, &x, err);
  t->known = !rc;
  return rc;
}

/* ---- copying, checking, forgetting ---- */

static int tail_put(rp_session *s, const struct rp__tail_row *row, const char *body, size_t n,
                    const struct rp__buf *tail, rp_error *err)
{
  struct rp__buf sealed RP_AUTOBUF = RP_BUF(2 * s->config->body_bytes + 65536 + RP_SEAL_OVERHEAD);
  struct rp__str stored;
  if (rp__journal_seal(s, body, n, &sealed, &stored)) return rp__fail_nomem(err);
  struct rp__new_event ev = {.kind = row->event.kind,
                             .body = stored.p,
                             .body_len = stored.n,
                             .at_ms = row->event.at_ms,
                             .sealed = s->key != NULL,
                             .tail = tail ? tail->p : NULL,
                             .tail_len = tail ? tail->n : 0};
  struct rp__op op = {.type = RP_OP_EVENT_REPLACE,
                      RP__OP_OF(s->e, s),
                      .copying = s->copying,
                      .u.event_replace = {.seq = row->seq, .event = &ev}};
  return rp__engine_commit(s->e, &op, 1, RP_OS, err);
}

struct copying {
  rp_session *from, *to;
  struct rp__key own;
  rp_error *err;
};

/* A tail that can't be read any more was decided long ago, or verify tells of it. */
static int on_copied(void *ctx, const struct rp__tail_row *row)
{
  struct copying *x = ctx;
  struct rp__buf plain RP_AUTOBUF = RP_BUF(x->from->config->body_bytes + RP_BODY_MAX), tail RP_AUTOBUF = {0};
  struct rp__redact_stream text RP_CLEANUP(rp__redact_stream_done) = {0};
  struct rp__str body;
  rp_error why = {0};
  if (!row->tail || row->event.damaged || tail_open(x->from, row, &text, &why)) return 0;
  if (body_open(x->from, row, &plain, &body, &why)) return 0;
  if (rp__stream_seal(x->to, x->to->key ? x->to->key : &x->own, &text, &tail)) return rp__fail_nomem(x->err);
  return tail_put(x->to, row, body.p, body.n, &tail, x->err);
}

int rp__streams_copy(rp_session *from, rp_session *to, rp_error *err)
{
  struct rp__session_row row RP_CLEANUP(rp__session_row_done) = {0};
  struct copying x = {.from = from, .to = to, .err = err};
  int rc = rp__session_row(to, &row, err);
  if (rc || !row.tails.n) return rc;
  if (!to->key && (rc = rp__tail_key_ready(to->e, false, err))) return rc;
  if (!to->key) rp__tail_key_current(to->e, &x.own);
  rc = from->e->store->ops->tail_list(from->e->store, from->ref, &row.tails, on_copied, &x, err);
  rp__key_wipe(&x.own);
  return rc;
}

struct checking {
  rp_session *s;
  bool repair;
  rp__tail_fault_fn *fn;
  void *ctx;
  rp_error *err;
};

static int on_checked(void *ctx, const struct rp__tail_row *row)
{
  struct checking *x = ctx;
  struct rp__redact_stream text RP_CLEANUP(rp__redact_stream_done) = {0};
  struct rp__buf plain RP_AUTOBUF = RP_BUF(x->s->config->body_bytes + RP_BODY_MAX);
  struct rp__str body;
  rp_error why = {0};
  if (!row->tail || row->event.damaged) return 0;
  int rc = tail_open(x->s, row, &text, &why);
  if (rc == RP_E_NOMEM) return rp__fail_nomem(x->err);
  if (!rc) return 0;
  const char *what = rc == RP_E_KEY_MISSING ? "the end of its text is sealed with a key that is gone"
                                            : "the sealed end of its text is damaged";
  if (x->repair) {
    if ((rc = body_open(x->s, row, &plain, &body, x->err))) return rc;
    if ((rc = tail_put(x->s, row, body.p, body.n, NULL, x->err))) return rc;
  }
  return x->fn(x->ctx, row->seq, what);
}

int rp__streams_check(rp_session *s, bool repair, rp__tail_fault_fn *fn, void *ctx, rp_error *err)
{
  struct checking x = {s, repair, fn, ctx, err};
  int rc = s->e->store->ops->tail_list(s->e->store, s->ref, NULL, on_checked, &x, err);
  if (rc != RP_E_CORRUPT) return rc;
  rc = repair ? rp__streams_forget(s, err) : 0;
  return rc ? rc : fn(ctx, 0, "the list of its open streams is damaged");
}

int rp__streams_forget(rp_session *s, rp_error *err)
{
  struct rp__streams t = {0};
  struct rp__op op = {.type = RP_OP_TAILS_FORGET, RP__OP_OF(s->e, s), .u.tails_forget.number = rp__streams_number(&t)};
  return rp__engine_commit(s->e, &op, 1, RP_DISK, err);
}

/* ---- last words ---- */

void rp__last_words_done(struct rp__last_words *l)
{
  for (size_t i = 0; i < RP_TAILS_MAX; i++) {
    rp__buf_done(&l->plain[i]);
    rp__buf_done(&l->sealed[i]);
  }
}

int rp__last_words_make(rp_session *s, struct rp__last_words *ret, rp_error *err)
{
  struct rp__streams t RP_CLEANUP(rp__streams_done) = {0};
  *ret = (struct rp__last_words){.at_ms = rp__engine_now(s->e)};
  int rc = rp__streams_read(s, &t, err);
  for (size_t i = 0; !rc && i < t.n; i++) {
    struct rp__stream *k = &t.at[i];
    struct rp__buf *plain = &ret->plain[ret->n], *sealed = &ret->sealed[ret->n];
    struct rp__buf text RP_AUTOBUF = RP_BUF(2 * RP_REDACT_TAIL_MAX);
    struct rp__str body;
    if (!k->text.held.n) continue;
    *plain = *sealed = RP_BUF(16 * RP_REDACT_TAIL_MAX);
    rc = rp__redact_stream_end(s->e->redactor, &k->text, true, &text, NULL);
    if (!rc) rc = rp__stream_body(k, text.p ? text.p : "", text.n, k->seq, plain);
    if (!rc) rc = rp__journal_seal(s, plain->p, plain->n, sealed, &body);
    if (rc) {
      rp__fail(err, rc, "the end of a streamed text can't be told");
      break;
    }
    ret->events[ret->n++] = (struct rp__new_event){.kind = KIND,
                                                   .body = body.p,
                                                   .body_len = body.n,
                                                   .at_ms = ret->at_ms,
                                                   .sealed = s->key != NULL,
                                                   .engine = true,
                                                   .voice = k->voice,
                                                   .open = true}; /* what was cut off may go on in its next chunk */
  }
  ret->heard_number = t.number;
  ret->streams_number = ret->n ? rp__streams_number(&t) : 0;
  if (rc) rp__last_words_done(ret);
  return rc;
}

void rp__last_words_append(const struct rp__last_words *l, size_t more, struct rp__op *op)
{
  op->type = RP_OP_APPEND;
  op->u.append.events = l->events;
  op->u.append.n = l->n + more;
  op->u.append.expect = -1;
  op->u.append.heard = true;
  op->u.append.heard_number = l->heard_number;
  op->u.append.streams_number = l->streams_number;
}

int rp__last_words_state(rp_session *s, const struct rp__last_words *l, struct rp__fold **ret_kept,
                         struct rp__fold **ret_own, struct rp__buf *warnings, rp_error *err)
{
  struct rp__fold *f RP_AUTOFOLD = NULL;
  if (!l || !l->n) return rp__state_use(s, ret_kept, warnings, err);
  int rc = rp__state_at(s, -1, &f, warnings, err);
  for (size_t i = 0; !rc && i < l->n; i++) {
    int64_t to;
    struct rp__event ev = {.seq = rp__fold_seq(f) + 1, .at_ms = l->at_ms, .kind = RP_KIND_MESSAGE, .kind_name = KIND};
    ev.body = rp__json_trusted(l->plain[i].p, l->plain[i].n);
    if ((rc = rp__fold_apply(f, &ev, &to))) rp__fail(err, rc, "the end of a streamed text can't be told");
  }
  if (!rc) *ret_own = RP_TAKE(f);
  return rc;
}
