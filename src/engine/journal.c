/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The journal: the one funnel through which events are stored (check, seal, fence
 * and number inside the commit, note for the checkpoint policy), and reading back.
 *
 * Facets are not applied here: a session's fold is brought up to date from the
 * journal when somebody asks for it or a checkpoint is made, so an append costs
 * its check and its commit, and what guests wrote is folded like everything else.
 */
#include "engine/journal.h"

#include "engine/guard.h"
#include "engine/request.h"

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

/* ---- a batch of events on its way into the store ---- */

static int batch_init(struct rp__batch *b, rp_session *s, const rp_event *ev, size_t n, rp_error *err)
{
  size_t derived = 0;
  for (size_t i = 0; i < n; i++) derived += ev[i].kind && rp__derives(rp__kind_parse(ev[i].kind));
  *b = (struct rp__batch){.s = s, .given = ev, .n = n, .judged = -1};
  b->events = n > 1 ? calloc(n, sizeof *b->events + sizeof *b->spoken) : &b->one.event;
  b->spoken = n > 1 && b->events ? (struct rp__spoken *)(void *)(b->events + n) : &b->one.spoken; /* in one piece */
  b->ops = derived ? calloc(1 + derived, sizeof *b->ops) : &b->one.op;
  b->derived = derived ? calloc(derived, sizeof *b->derived) : NULL;
  if (b->events && b->ops && (b->derived || !derived)) return 0;
  if (!b->events) b->n = 0;
  rp__batch_done(b, false);
  return rp__fail_nomem(err);
}

void rp__batch_done(struct rp__batch *b, bool stored)
{
  /* Backwards, for each goes back to what was before it. */
  for (size_t i = b->spoken ? b->n : 0; i-- > 0;) {
    rp__speech_settle(b->s, &b->spoken[i].undo, stored);
    rp__buf_done(&b->spoken[i].masked);
  }
  for (size_t i = 0; i < b->n_derived; i++) rp__derived_done(&b->derived[i]);
  rp__buf_done(&b->sealed);
  if (b->events != &b->one.event) free(b->events);
  if (b->ops != &b->one.op) free(b->ops);
  free(b->derived);
}

static int add_derived(struct rp__batch *b, const struct rp__event *ev, size_t i, rp_error *err)
{
  bool any = false;
  struct rp__derived *d = &b->derived[b->n_derived++];
  int rc = rp__derive(b->s, ev, 0, i, d, &b->ops[1 + b->n_after], &any, err);
  if (!rc && any) b->n_after++;
  return rc;
}

/* From outside: checked, judged, masked. */
static int admit(struct rp__batch *b, size_t i, struct rp__event *ev, rp_error *err)
{
  struct rp__spoken *sp = &b->spoken[i];
  struct rp__str body;
  int64_t judged = -1;
  int rc = rp__guard(b->s, ev, &judged, err);
  if (rc) return rc;
  if (judged >= 0) b->judged = judged;
  sp->masked = RP_BUF(2 * b->s->max_body + 65536);
  rc = rp__speech_mask(b->s, ev, &sp->masked, &body, &sp->undo);
  if (rc) return rp__fail(err, rc, "the event can't be masked");
  if (body.p != ev->body.p) ev->body = rp__json_trusted(body.p, body.n);
  b->events[i].body = body.p;
  b->events[i].body_len = body.n;
  return 0;
}

static int check_one(const struct rp__batch *b, const rp_event *given, size_t n, const rp_append_options *o,
                     struct rp__event *ret, rp_error *err)
{
  const char *kind = given->kind ? given->kind : "", *body = given->body ? given->body : "";
  if (o->runtime && strcmp(kind, "runtime") == 0) return rp__event_check_runtime(body, n, b->s->max_body, ret, err);
  return rp__event_check(kind, body, n, b->s->max_body, ret, err);
}

static int prepare_one(struct rp__batch *b, size_t i, const rp_append_options *o, bool trusted, rp_error *err)
{
  const rp_event *given = &b->given[i];
  size_t n = given->body_len || !given->body ? given->body_len : strlen(given->body);
  struct rp__event ev = {0};
  if (!trusted) {
    int rc = check_one(b, given, n, o, &ev, err);
    if (rc) return rc;
  } else {
    ev = (struct rp__event){.kind = rp__kind_parse(given->kind), .kind_name = given->kind};
    ev.body = rp__json_trusted(given->body, n);
  }
  ev.at_ms = given->at_ms ? given->at_ms : rp__engine_now(b->s->e);
  b->events[i] = (struct rp__new_event){
      .kind = given->kind,
      .body = given->body,
      .body_len = n,
      .at_ms = ev.at_ms,
      .sealed = b->s->key != NULL,
      .engine = false, /* what people cause is activity, also a restore */
  };
  int rc = trusted ? 0 : admit(b, i, &ev, err);
  return !rc && rp__derives(ev.kind) ? add_derived(b, &ev, i, err) : rc;
}

/* Seals all bodies into one buffer. It may move while it grows, so the pointers are set at the end. */
static int seal_all(struct rp__batch *b, rp_error *err)
{
  size_t at = 0;
  b->sealed = RP_BUF((2 * b->s->max_body + 65536 + RP_SEAL_OVERHEAD) * b->n);
  for (size_t i = 0; i < b->n; i++) {
    struct rp__str ignored;
    int rc = rp__journal_seal(b->s, b->events[i].body, b->events[i].body_len, &b->sealed, &ignored);
    if (rc) return rp__fail(err, rc, "the event can't be sealed");
  }
  for (size_t i = 0; i < b->n; i++) {
    b->events[i].body = b->sealed.p + at;
    b->events[i].body_len += RP_SEAL_OVERHEAD;
    at += b->events[i].body_len;
  }
  return 0;
}

static int append_op(struct rp__batch *b, const rp_append_options *o, rp_error *err)
{
  rp_session *s = b->s;
  const rp_event *first = b->given;
  int rc = rp__request_check_key(first->idempotency_key, err);
  if (!rc && o->client_id && !rp__name_ok(o->client_id))
    rc = rp__fail_field(err, RP_E_INVALID, "client_id", "'%.60s' can't be a client's id", o->client_id);
  if (!rc && o->client_id && o->client_seq < 1)
    rc = rp__fail_field(err, RP_E_INVALID, "client_seq", "a client numbers its events from 1");
  if (!rc && first->idempotency_key) rc = rp__request_of_events(s, first, b->n, b->digest, err);
  if (rc) return rc;
  b->ops[0] = (struct rp__op){
      .type = RP_OP_APPEND,
      .session_ref = s->ref,
      .session_id = s->id,
      .now_ms = rp__engine_now(s->e),
      .epoch = o->epoch ? o->epoch : s->epoch,
      .u.append = {.events = b->events,
                   .n = b->n,
                   .expect = o->expect,
                   .judged = b->judged + 1,
                   .idempotency_key = first->idempotency_key,
                   .digest = first->idempotency_key ? b->digest : NULL,
                   .client_id = o->client_id,
                   .client_seq = o->client_seq},
  };
  return 0;
}

int rp__batch_prepare(struct rp__batch *b, rp_session *s, const rp_event *ev, size_t n, const rp_append_options *o,
                      bool trusted, rp_error *err)
{
  if (s->trashed && !trusted) {
    rp__fail(err, RP_E_ENDED, "session %s is in the trash", s->id);
    rp__hint(err, "'reprise untrash %s' takes it out", s->id);
    return RP_E_ENDED;
  }
  int rc = batch_init(b, s, ev, n, err);
  if (rc) return rc;
  for (size_t i = 0; !rc && i < n; i++) {
    rc = prepare_one(b, i, o, trusted, err);
    if (!rc && i > 0 && ev[i].idempotency_key)
      rc = rp__fail_field(err, RP_E_USAGE, "idempotency_key", "the key of a batch belongs to its first event");
    if (rc && n > 1) rp__wrap(err, "event %zu of %zu", i + 1, n);
  }
  if (!rc && s->key) rc = seal_all(b, err);
  if (!rc) rc = append_op(b, o, err);
  if (rc) rp__batch_done(b, false);
  return rc;
}

void rp__journal_noted(rp_session *s, enum rp__kind kind, size_t bytes, const struct rp__op *op)
{
  enum rp__due due = RP_DUE_NOT;
  if (op->ret.repeated) return;
  if (!s->e->short_lived && !rp__kind_is_engine(kind)) {
    int64_t ticks = rp__engine_ticks(s->e);
    atomic_store_explicit(&s->quiet_at, ticks + s->idle_ms, memory_order_relaxed);
    atomic_store_explicit(&s->touched, true, memory_order_relaxed);
    pthread_mutex_lock(&s->dirty_lock);
    rp__dirty_note(&s->dirty, kind, bytes, ticks);
    due = rp__policy_due(&s->policy, &s->dirty, ticks);
    pthread_mutex_unlock(&s->dirty_lock);
  }
  if (op->ret.tail_events >= s->policy.tail_events || op->ret.tail_bytes >= s->policy.tail_bytes) due = RP_DUE_TAIL;
  if (due && !atomic_exchange(&s->checkpoint_due, due) && !s->e->short_lived) rp__keeper_due(s);
}

int rp__journal_settle(rp_session *s, const rp_event *ev, size_t n, const struct rp__op *op, int rc)
{
  struct rp__counters *k = &s->e->counters;
  if (rc || !op) {
    atomic_fetch_add(&k->refused, 1);
    if (rc == RP_E_FENCED && s->epoch) atomic_store(&s->fenced, true); /* a guest just named a wrong epoch */
    return rc;
  }
  atomic_fetch_add(op->ret.repeated ? &k->repeats : &k->appends, (long long)n);
  /* Commands that come and go share the pruning of old keys: one in 256 does it. */
  if (s->e->short_lived && op->u.append.idempotency_key && op->ret.seq % 256 == 0)
    atomic_store(&s->e->keeper.prune_due, true);
  for (size_t i = 0; i < n; i++)
    rp__journal_noted(s, rp__kind_parse(ev[i].kind), ev[i].body_len ? ev[i].body_len : strlen(ev[i].body), op);
  return 0;
}

rp_durability rp__journal_durability(const rp_session *s, const rp_append_options *o)
{
  return o->durability ? o->durability : s->durability;
}

/* One attempt. *ret_again: the state that it was judged by is not the newest any more. */
static int append_once(rp_session *s, const rp_event *ev, size_t n, const rp_append_options *o, bool trusted,
                       rp_ack *ret, bool *ret_again, rp_error *err)
{
  struct rp__batch b;
  rp_durability d = rp__journal_durability(s, o) == RP_MEMORY ? RP_OS : rp__journal_durability(s, o);
  *ret_again = false;
  int rc = rp__batch_prepare(&b, s, ev, n, o, trusted, err);
  if (rc) return rp__journal_settle(s, ev, n, NULL, rc);
  rc = rp__engine_commit(s->e, b.ops, 1 + b.n_after, d, err);
  const struct rp__op *op = &b.ops[0];
  *ret_again = rc == RP_E_SEQ_CONFLICT && b.judged >= 0 && o->expect < 0;
  if (!rc && ret)
    *ret = (rp_ack){.first_seq = op->ret.first_seq, .seq = op->ret.seq, .durability = d, .repeated = op->ret.repeated};
  rc = rp__journal_settle(s, ev, n, op, rc);
  rp__batch_done(&b, rc == 0 && !op->ret.repeated);
  return rc;
}

int rp__journal_append(rp_session *s, const rp_event *ev, size_t n, const rp_append_options *o, bool trusted,
                       rp_ack *ret, rp_error *err)
{
  bool again = true;
  int rc = 0;
  for (int i = 0; again && i < RP_JUDGED_TRIES; i++) rc = append_once(s, ev, n, o, trusted, ret, &again, err);
  if (again) return rp__fail(err, RP_E_BUSY, "others keep writing to session %s", s->id);
  bool spent = false;
  for (size_t i = 0; !rc && i < n; i++) spent |= strcmp(ev[i].kind, "usage") == 0;
  if (spent) rp__guard_spent(s);
  if (!rc && ret) rp__guard_ack(s, ret);
  return rc;
}

int rp__journal_check_count(size_t n, rp_error *err)
{
  if (n == 0) return rp__fail(err, RP_E_INVALID, "there is no event to append");
  if (n > RP_BATCH_MAX) return rp__fail(err, RP_E_TOO_LARGE, "a batch has at most %d events", RP_BATCH_MAX);
  return 0;
}

static const rp_append_options append_defaults = {.expect = -1};

int rp_append_many(rp_session *s, const rp_event *ev, size_t n, const rp_append_options *o, rp_ack *ret, rp_error *err)
{
  int rc = rp__session_check(s, err);
  if (rc) return rc;
  if (!o) o = &append_defaults;
  rc = rp__journal_check_count(n, err);
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

/* ---- reading ---- */

struct read_ctx {
  rp_session *s;
  rp__event_fn *fn;
  void *ctx;
  rp_error *err;
  struct rp__buf plain;
};

static int on_event(void *ctx, const struct rp__event_row *row)
{
  struct read_ctx *x = ctx;
  struct rp__str body = {row->body, row->body_len};
  if (row->sealed) {
    rp__buf_reset(&x->plain);
    int rc = rp__unseal(x->s->key, rp__session_ad(x->s), row->body, row->body_len, &x->plain, x->err);
    if (rc) {
      rp__wrap(x->err, "session %s, event %lld", x->s->id, (long long)row->seq);
      return rc;
    }
    body = (struct rp__str){x->plain.p, x->plain.n};
  }
  struct rp__event ev = {
      .seq = row->seq,
      .at_ms = row->at_ms,
      .kind = rp__kind_parse(row->kind),
      .kind_name = row->kind,
      .body = rp__json_trusted(body.p, body.n),
  };
  return x->fn(x->ctx, &ev);
}

int rp__journal_read(rp_session *s, int64_t after, int64_t upto, rp__event_fn *fn, void *ctx, rp_error *err)
{
  if (upto && upto <= after) return 0;
  struct read_ctx x = {s, fn, ctx, err, RP_BUF(s->max_body + RP_BODY_MAX)};
  struct rp__event_range r = {
      .session_ref = s->ref, .session_id = s->id, .after = after, .limit = upto ? upto - after : 0};
  int rc = s->e->store->ops->event_list(s->e->store, &r, on_event, &x, err);
  if (rc == RP_E_CORRUPT) rp__hint(err, "'reprise verify --repair' mends what can be mended");
  rp__buf_done(&x.plain);
  return rc;
}
