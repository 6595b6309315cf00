/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Appends: check, catch up, prepare, commit. All appended events go through these steps. The store checks the epoch and
 * numbers the events inside the commit. The outcome is noted for the checkpoint policy.
 *
 * Facets are not applied here. A session's fold is brought up to date from the journal when the state is read or a
 * checkpoint is made. So an append costs its check and its commit, and events of guests are folded like all others.
 */
#include "engine/journal/append.h"

#include <assert.h>

#include "base/options.h"
#include "base/text.h"
#include "engine/journal/idempotency.h"
#include "engine/journal/limits.h"

#ifndef NDEBUG
_Thread_local bool rp__preparing;
#define PREPARING(yes) (rp__preparing = (yes))
#else
#define PREPARING(yes) ((void)0)
#endif

int rp__journal_seal(rp_session *s, const char *plain, size_t n, struct rp__buf *out, struct rp__str *ret)
{
  if (!s->key) {
    *ret = (struct rp__str){plain, n};
    return 0;
  }
  size_t start = out->n;
  int rc = rp__seal(s->key, &rp__system_random, rp__session_ad(s), plain, n, out);
  if (!rc) *ret = (struct rp__str){out->p + start, out->n - start};
  return rc;
}

rp_durability rp__journal_durability(const rp_session *s, const rp_append_options *o)
{
  return o->durability ? o->durability : (rp_durability)s->config->durability;
}

int rp__journal_check_trashed(const rp_session *s, rp_error *err)
{
  if (!s->trashed) return 0;
  rp__fail(err, RP_E_ENDED, "session %s is in the trash", s->id);
  rp__hint(err, "'reprise untrash %s' takes it out", s->id);
  return RP_E_ENDED;
}

int rp__journal_check_count(size_t n, rp_error *err)
{
  if (n == 0) return rp__fail(err, RP_E_INVALID, "there is no event to append");
  if (n > RP_BATCH_MAX) return rp__fail(err, RP_E_TOO_LARGE, "a batch has at most %d events", RP_BATCH_MAX);
  return 0;
}

/* ---- the batch ---- */

bool rp__batch_room(struct rp__batch *b)
{
  size_t cap = b->cap + RP_TAILS_MAX;
  bool own = b->events != &b->one.event;
  if (b->n_events < b->cap) return true;
  struct rp__new_event *events = reallocarray(own ? b->events : NULL, cap, sizeof *events);
  if (events && !own) memcpy(events, b->events, b->n_events * sizeof *events);
  if (events) b->events = events;
  own = b->prepared != &b->one.prepared;
  struct rp__prepared *prepared = reallocarray(own ? b->prepared : NULL, cap, sizeof *prepared);
  if (prepared && !own) memcpy(prepared, b->prepared, b->n_events * sizeof *prepared);
  if (prepared) b->prepared = prepared;
  if (!events || !prepared) return false;
  memset(prepared + b->n_events, 0, (cap - b->n_events) * sizeof *prepared);
  b->cap = cap;
  return true;
}

static void state_release(struct rp__batch *b)
{
  rp__state_release(b->s, b->state);
  b->state = NULL;
  pthread_mutex_unlock(&b->s->lock);
}

void rp__batch_drop(struct rp__batch *b)
{
  assert(!b->locked && !b->state);
  for (size_t i = 0; b->prepared && i < b->cap; i++) {
    if (b->prepared[i].masked.p) rp__buf_done(&b->prepared[i].masked);
    if (b->prepared[i].tail.p) rp__buf_done(&b->prepared[i].tail);
  }
  for (size_t i = 0; i < b->n_derived; i++) rp__derived_done(&b->derived[i]);
  if (b->sealed.p) rp__buf_done(&b->sealed);
  if (b->checked != &b->one.checked) free(b->checked);
  if (b->events != &b->one.event) free(b->events);
  if (b->prepared != &b->one.prepared) free(b->prepared);
  if (b->ops != &b->one.op) free(b->ops);
  free(b->derived);
  if (b->key == &b->own_key) rp__key_wipe(&b->own_key);
  if (b->speaks) atomic_fetch_sub(&b->s->streams_changing, 1);
}

void rp__batch_done(struct rp__batch *b, bool stored)
{
  if (b->speaks && !stored) rp__stream_redaction_forget(b->s);
  rp__batch_drop(b);
}

bool rp__batch_again(const struct rp__batch *b, const rp_append_options *o, int rc)
{
  const struct rp__op *op = &b->ops[0];
  if (rc != RP_E_SEQ_CONFLICT) return false;
  return op->ret.unheard || op->ret.other_key || (b->judged >= 0 && !o->expect_seq);
}

int rp__batch_renew(const struct rp__batch *b, rp_error *err)
{
  const struct rp__op *op = &b->ops[0];
  if (b->heard) rp__stream_redaction_forget(b->s);
  return op->ret.other_key ? rp__tail_key_again(b->s->e, err) : 0;
}

/*
 * First step: kinds, bodies and options, as far as they can be judged by themselves. Notes what has to be known for the
 * rest. An event of the engine's own is taken as it is. The batch is to be dropped, also after a failure.
 */
static int batch_check(struct rp__batch *b, rp_session *s, const rp_event *ev, size_t n, const rp_append_options *o,
                       enum rp__prepare how, rp_error *err)
{
  bool own = how == RP_PREPARE_OWN;
  assert(n > 0 && n <= RP_BATCH_MAX);
  *b = (struct rp__batch){.s = s, .given = ev, .n = n, .how = how, .cap = n, .judged = -1};
  if (s->trashed && !own) return rp__journal_check_trashed(s, err);
  b->redacts = !own && s->config->redact;
  b->checked = n > 1 ? calloc(n, sizeof *b->checked) : &b->one.checked;
  b->events = n > 1 ? calloc(n, sizeof *b->events) : &b->one.event;
  b->prepared = n > 1 ? calloc(n, sizeof *b->prepared) : &b->one.prepared;
  if (!b->checked || !b->events || !b->prepared) return rp__fail_nomem(err);
  for (size_t i = 0; i < n; i++) {
    struct rp__event *e = &b->checked[i];
    const char *kind = ev[i].kind ? ev[i].kind : "", *body = ev[i].body ? ev[i].body : "";
    size_t length = ev[i].body_len || !ev[i].body ? ev[i].body_len : strlen(ev[i].body);
    int rc = 0;
    if (own)
      *e = (struct rp__event){.kind = rp__kind_parse(kind), .kind_name = kind, .body = rp__json_trusted(body, length)};
    else
      rc = rp__event_check(kind, body, length, s->config->body_bytes, o->runtime, e, err);
    if (!rc && i > 0 && ev[i].idempotency_key)
      rc = rp__fail_field(err, RP_E_USAGE, "idempotency_key", "the key of a batch belongs to its first event");
    if (rc && n > 1) rp__wrap(err, "event %zu of %zu", i + 1, n);
    if (rc) return rc;
    e->at_ms = ev[i].at_ms ? ev[i].at_ms : rp__engine_now(s->e);
    b->cap_derived += rp__derives(e->kind);
    if (own) continue;
    b->limited |= rp__limits_apply(s, e);
    b->spoken |= b->redacts && (e->kind == RP_KIND_MESSAGE || e->kind == RP_KIND_TRANSCRIPT);
    b->chunks |= b->redacts && e->kind == RP_KIND_MESSAGE && rp__json_get(e->body, "partial").type == RP_JSON_TRUE;
  }
  b->ops = b->cap_derived ? calloc(1 + b->cap_derived, sizeof *b->ops) : &b->one.op;
  b->derived = b->cap_derived ? calloc(b->cap_derived, sizeof *b->derived) : NULL;
  if (!b->ops || (b->cap_derived && !b->derived)) return rp__fail_nomem(err);
  if (o->client_id && !rp__name_ok(o->client_id))
    return rp__fail_field(err, RP_E_INVALID, "client_id", "'%s' can't be a client's id", rp__text_shown(o->client_id));
  if (o->client_id && rp__redaction_check_name(s->e, s->scope, "client_id", o->client_id, err))
    return err ? err->code = RP_E_INVALID : RP_E_INVALID;
  if (o->client_id && o->client_seq < 1)
    return rp__fail_field(err, RP_E_INVALID, "client_seq", "a client numbers its events from 1");
  if (o->client_id && o->client_seq > RP_SEQ_MAX - (int64_t)n)
    return rp__fail_field(err, RP_E_INVALID, "client_seq", "a client's number is at most %lld", RP_SEQ_MAX);
  if (!ev->idempotency_key) return 0;
  int rc = rp__request_check_key(ev->idempotency_key, err);
  return rc ? rc : rp__request_of_events(s, ev, n, b->digest, err);
}

/*
 * Second step, the only one that asks the store: what the events need to know of the session is brought up to date.
 * The streams stay locked, and with the state s->lock is held, until the batch is prepared. Most kinds need nothing.
 */
static int batch_catch_up(struct rp__batch *b, rp_error *err)
{
  rp_session *s = b->s;
  struct rp__buf warnings RP_AUTOBUF = RP_BUF(65536);
  bool own = b->how == RP_PREPARE_OWN, checks = b->how == RP_PREPARE_CHECK;
  int rc = own || checks ? 0 : rp__stream_redaction_catch_up(b, err);
  for (size_t i = 0, k = 0; !rc && !checks && k < b->cap_derived; i++) {
    if (!rp__derives(b->checked[i].kind)) continue;
    rc = rp__derive_catch_up(s, &b->checked[i], &b->derived[k++], err);
  }
  if (rc || !b->limited) return rc;
  pthread_mutex_lock(&s->lock);
  rc = rp__state_use(s, &b->state, &warnings, err);
  if (rc) pthread_mutex_unlock(&s->lock);
  return rc;
}

/* Third step: limits, redaction, derived rows, sealing, the op. Asks the store nothing. */
static int batch_prepare(struct rp__batch *b, const rp_append_options *o, rp_error *err)
{
  rp_session *s = b->s;
  bool tails = false;
  int rc = 0;
  size_t i;
  assert(!b->limited == !b->state);
  for (i = 0; !rc && b->state && i < b->n; i++) {
    if (b->checked[i].kind == RP_KIND_PIN) b->judged = rp__fold_seq(b->state);
    rc = rp__limits_check(s, b->state, &b->checked[i], err);
  }
  if (b->state) state_release(b);
  for (i = rc ? i : 0; !rc && b->how != RP_PREPARE_CHECK && i < b->n; i++) {
    struct rp__event *ev = &b->checked[i];
    if (b->how == RP_PREPARE_OWN)
      b->events[b->n_events++] = (struct rp__new_event){.body = ev->body.p, .body_len = ev->body.n};
    else
      rc = rp__stream_redaction_take(b, ev, err);
    if (rc) continue;
    struct rp__new_event *out = &b->events[b->n_events - 1];
    if (i == 0) b->first_given = b->n_events - 1;
    out->kind = b->given[i].kind;
    out->at_ms = ev->at_ms;
    out->sealed = s->key != NULL;
    tails |= out->tail != NULL;
    if (!rp__derives(ev->kind)) continue;
    if (out->body != ev->body.p) ev->body = rp__json_trusted(out->body, out->body_len);
    bool any = false;
    rc = rp__derive(s, ev, 0, b->n_events - 1, &b->derived[b->n_derived++], &b->ops[1 + b->n_after], &any, err);
    b->n_after += !rc && any;
  }
  if (rc && b->n > 1) rp__wrap(err, "event %zu of %zu", i, b->n);
  rp__stream_redaction_end(b, !rc);
  if (rc || b->how == RP_PREPARE_CHECK) return rc;
  if (s->key) { /* into one buffer, which may move while it grows: the pointers are set at the end */
    struct rp__str ignored;
    size_t at = 0;
    b->sealed = RP_BUF((2 * s->config->body_bytes + 65536 + RP_SEAL_OVERHEAD) * b->n_events);
    for (i = 0; i < b->n_events; i++)
      if ((rc = rp__journal_seal(s, b->events[i].body, b->events[i].body_len, &b->sealed, &ignored)))
        return rp__fail(err, rc, "the event can't be sealed");
    for (i = 0; i < b->n_events; at += b->events[i++].body_len) {
      b->events[i].body = b->sealed.p + at;
      b->events[i].body_len += RP_SEAL_OVERHEAD;
    }
  }
  const char *key = b->given[0].idempotency_key;
  b->ops[0] = (struct rp__op){
      .type = RP_OP_APPEND,
      RP__OP_OF(s->e, s),
      .epoch = o->epoch ? o->epoch : s->epoch,
      .u.append = {.events = b->events,
                   .n = b->n_events,
                   .given = b->n,
                   .first_given = b->first_given,
                   .expect = o->expect_seq == RP_SEQ_NONE ? 0
                             : o->expect_seq              ? o->expect_seq
                                                          : -1,
                   .judged = b->judged + 1,
                   .heard = b->heard,
                   .heard_number = b->heard_number,
                   .streams_number = b->streams_number,
                   .tail_key = tails && b->key == &b->own_key ? b->own_key.id : NULL,
                   .idempotency_key = key ? rp__redaction_key(s->e, s->scope, key, b->idempotency_key) : NULL,
                   .digest = key ? b->digest : NULL,
                   .client_id = o->client_id,
                   .client_seq = o->client_seq},
  };
  return 0;
}

int rp__batch_make(struct rp__batch *b, rp_session *s, const rp_event *ev, size_t n, const rp_append_options *o,
                   enum rp__prepare how, rp_error *err)
{
  PREPARING(true);
  int rc = batch_check(b, s, ev, n, o, how, err);
  PREPARING(false);
  if (!rc) rc = batch_catch_up(b, err);
  PREPARING(true);
  if (!rc) rc = batch_prepare(b, o, err);
  PREPARING(false);
  if (!rc) return 0;
  if (b->state) state_release(b);
  rp__stream_redaction_end(b, false);
  rp__batch_done(b, false);
  return rc;
}

int rp__batch_check(rp_session *s, const rp_event *ev, size_t n, const rp_append_options *o, rp_error *err)
{
  struct rp__batch b;
  int rc = rp__batch_make(&b, s, ev, n, o, RP_PREPARE_CHECK, err);
  if (!rc) rp__batch_drop(&b);
  return rc;
}

/* ---- the append ---- */

int rp__journal_settle(rp_session *s, const rp_event *ev, size_t n, const struct rp__op *op, int rc)
{
  struct rp__counters *k = &s->e->counters;
  enum rp__due due = RP_DUE_NOT;
  bool active = false;
  if (rc || !op) {
    atomic_fetch_add(&k->refused, 1);
    if (rc == RP_E_FENCED && s->epoch) atomic_store(&s->fenced, true); /* a guest just named a wrong epoch */
    return rc;
  }
  atomic_fetch_add(op->ret.repeated ? &k->repeats : &k->appends, (long long)n);
  /* Commands that come and go share the pruning of old keys: one in 256 does it. */
  if (s->e->short_lived && op->u.append.idempotency_key && op->ret.seq % 256 == 0)
    atomic_store(&s->e->keeper.prune_due, true);
  if (op->ret.repeated) return 0;
  if (!s->e->short_lived) {
    int64_t ticks = rp__engine_ticks(s->e);
    pthread_mutex_lock(&s->dirty_lock);
    for (size_t i = 0; i < n; i++) {
      enum rp__kind kind = rp__kind_parse(ev[i].kind);
      if (rp__kind_is_engine(kind)) continue;
      rp__dirty_note(&s->dirty, kind, ev[i].body_len ? ev[i].body_len : strlen(ev[i].body), ticks);
      active = true;
    }
    if (active) due = rp__policy_due(&s->policy, &s->dirty, ticks);
    pthread_mutex_unlock(&s->dirty_lock);
    if (active) atomic_store_explicit(&s->quiet_at, ticks + s->config->idle_ms, memory_order_relaxed);
    if (active) atomic_store_explicit(&s->touched, true, memory_order_relaxed);
  }
  if (op->ret.tail_events >= s->policy.tail_events || op->ret.tail_bytes >= s->policy.tail_bytes) due = RP_DUE_TAIL;
  if (due && !atomic_exchange(&s->checkpoint_due, due) && !s->e->short_lived) rp__keeper_due(s);
  return 0;
}

int rp__journal_append(rp_session *s, const rp_event *ev, size_t n, const rp_append_options *o, bool trusted,
                       rp_ack *ret, rp_error *err)
{
  rp_durability d = rp__journal_durability(s, o) == RP_MEMORY ? RP_OS : rp__journal_durability(s, o);
  bool again = true, spent = false;
  int rc = 0;
  if (!trusted && rp__outbox_busy(s)) rp_flush(s->e, NULL); /* what was given before comes first */
  for (int i = 0; again && i < RP_PREPARE_TRIES; i++) {
    struct rp__batch b;
    again = false;
    rc = rp__batch_make(&b, s, ev, n, o, trusted ? RP_PREPARE_OWN : RP_PREPARE_GIVEN, err);
    if (rc) return rp__journal_settle(s, ev, n, NULL, rc);
    rc = rp__engine_commit(s->e, b.ops, 1 + b.n_after, d, err);
    const struct rp__op *op = &b.ops[0];
    if (rc) again = rp__batch_again(&b, o, rc) && !rp__batch_renew(&b, err);
    if (!rc && ret)
      *ret =
          (rp_ack){.first_seq = op->ret.first_seq, .seq = op->ret.seq, .durability = d, .repeated = op->ret.repeated};
    rc = rp__journal_settle(s, ev, n, op, rc);
    rp__batch_done(&b, rc == 0 && !op->ret.repeated);
  }
  if (again) return rp__fail(err, RP_E_BUSY, "others keep writing to session %s", s->id);
  for (size_t i = 0; !rc && i < n; i++) spent |= strcmp(ev[i].kind, "usage") == 0;
  if (spent) rp__limits_spent(s);
  if (!rc && ret) rp__limits_ack(s, ret);
  return rc;
}

int rp_append_many(rp_session *s, const rp_event *ev, size_t n, const rp_append_options *given, rp_ack *ret,
                   rp_error *err)
{
  rp_append_options own, *o = &own;
  int rc = rp__session_check(s, err);
  if (!rc) rc = RP__OPTIONS(o, given, accepts_memory, err);
  if (!rc) rc = rp__journal_check_count(n, err);
  if (rc) return rc;
  if (rp__journal_durability(s, o) == RP_MEMORY && !s->e->short_lived) {
    rc = rp_append_many_async(s, ev, n, o, NULL, NULL, err);
    if (!rc && ret) *ret = (rp_ack){.durability = RP_MEMORY};
    return rc;
  }
  return rp__journal_append(s, ev, n, o, false, ret, err);
}

int rp_append(rp_session *s, const rp_event *ev, const rp_append_options *o, rp_ack *ret, rp_error *err)
{
  return rp_append_many(s, ev, 1, o, ret, err);
}
