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

#include "base/text.h"
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
  *b = (struct rp__batch){.s = s, .given = ev, .n = n, .cap = n, .judged = -1};
  b->checked = n > 1 ? calloc(n, sizeof *b->checked) : &b->one.checked;
  b->events = n > 1 ? calloc(n, sizeof *b->events) : &b->one.event;
  b->prepared = n > 1 ? calloc(n, sizeof *b->prepared) : &b->one.prepared;
  b->ops = derived ? calloc(1 + derived, sizeof *b->ops) : &b->one.op;
  b->derived = derived ? calloc(derived, sizeof *b->derived) : NULL;
  if (b->checked && b->events && b->prepared && b->ops && (b->derived || !derived)) return 0;
  rp__batch_done(b, false);
  return rp__fail_nomem(err);
}

bool rp__batch_room(struct rp__batch *b)
{
  if (b->n_events < b->cap) return true;
  size_t cap = b->cap + RP_TAILS_MAX;
  bool own = b->events != &b->one.event;
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

void rp__batch_done(struct rp__batch *b, bool stored)
{
  if (b->speaks && !stored) rp__speech_forget(b->s);
  rp__batch_drop(b);
}

void rp__batch_drop(struct rp__batch *b)
{
  for (size_t i = 0; b->prepared && i < b->cap; i++) {
    rp__buf_done(&b->prepared[i].masked);
    rp__buf_done(&b->prepared[i].tail);
  }
  for (size_t i = 0; i < b->n_derived; i++) rp__derived_done(&b->derived[i]);
  rp__buf_done(&b->sealed);
  if (b->checked != &b->one.checked) free(b->checked);
  if (b->events != &b->one.event) free(b->events);
  if (b->prepared != &b->one.prepared) free(b->prepared);
  if (b->ops != &b->one.op) free(b->ops);
  free(b->derived);
  if (b->key == &b->own_key) rp__key_wipe(&b->own_key);
  if (b->speaks) atomic_fetch_sub(&b->s->speaking, 1);
}

bool rp__batch_again(const struct rp__batch *b, const rp_append_options *o, int rc)
{
  const struct rp__op *op = &b->ops[0];
  if (rc != RP_E_SEQ_CONFLICT) return false;
  return op->ret.unheard || op->ret.other_key || (b->judged >= 0 && o->expect < 0);
}

int rp__batch_renew(const struct rp__batch *b, rp_error *err)
{
  const struct rp__op *op = &b->ops[0];
  if (b->heard) rp__speech_forget(b->s);
  return op->ret.other_key ? rp__tail_key_again(b->s->e, err) : 0;
}

static int add_derived(struct rp__batch *b, const struct rp__event *ev, rp_error *err)
{
  bool any = false;
  struct rp__derived *d = &b->derived[b->n_derived++];
  int rc = rp__derive(b->s, ev, 0, b->n_events - 1, d, &b->ops[1 + b->n_after], &any, err);
  if (!rc && any) b->n_after++;
  return rc;
}

/* From outside: checked and judged. What the engine made needs neither. */
static int check_one(struct rp__batch *b, size_t i, const rp_append_options *o, bool trusted, rp_error *err)
{
  const rp_event *given = &b->given[i];
  struct rp__event *ev = &b->checked[i];
  const char *kind = given->kind ? given->kind : "", *body = given->body ? given->body : "";
  size_t n = given->body_len || !given->body ? given->body_len : strlen(given->body);
  int64_t judged = -1;
  int rc = 0;
  if (trusted) {
    *ev = (struct rp__event){.kind = rp__kind_parse(kind), .kind_name = kind, .body = rp__json_trusted(body, n)};
  } else {
    bool runtime = o->runtime && strcmp(kind, "runtime") == 0;
    rc = runtime ? rp__event_check_runtime(body, n, b->s->max_body, ev, err)
                 : rp__event_check(kind, body, n, b->s->max_body, ev, err);
    if (!rc) rc = rp__guard(b->s, ev, &judged, err);
  }
  ev->at_ms = given->at_ms ? given->at_ms : rp__engine_now(b->s->e);
  if (judged >= 0) b->judged = judged;
  if (!rc && i > 0 && given->idempotency_key)
    rc = rp__fail_field(err, RP_E_USAGE, "idempotency_key", "the key of a batch belongs to its first event");
  if (rc && b->n > 1) rp__wrap(err, "event %zu of %zu", i + 1, b->n);
  return rc;
}

/* Masked, and with what follows from it. */
static int prepare_one(struct rp__batch *b, size_t i, bool trusted, rp_error *err)
{
  struct rp__event *ev = &b->checked[i];
  int rc = 0;
  if (trusted)
    b->events[b->n_events++] = (struct rp__new_event){.body = ev->body.p, .body_len = ev->body.n};
  else
    rc = rp__speech_take(b, ev, err);
  if (rc) return rc;
  if (i == 0) b->first_given = b->n_events - 1;
  struct rp__new_event *out = &b->events[b->n_events - 1];
  out->kind = b->given[i].kind;
  out->at_ms = ev->at_ms;
  out->sealed = b->s->key != NULL;
  if (!rp__derives(ev->kind)) return 0;
  if (out->body != ev->body.p) ev->body = rp__json_trusted(out->body, out->body_len);
  return add_derived(b, ev, err);
}

/* Seals all bodies into one buffer. It may move while it grows, so the pointers are set at the end. */
static int seal_all(struct rp__batch *b, rp_error *err)
{
  size_t at = 0;
  b->sealed = RP_BUF((2 * b->s->max_body + 65536 + RP_SEAL_OVERHEAD) * b->n_events);
  for (size_t i = 0; i < b->n_events; i++) {
    struct rp__str ignored;
    int rc = rp__journal_seal(b->s, b->events[i].body, b->events[i].body_len, &b->sealed, &ignored);
    if (rc) return rp__fail(err, rc, "the event can't be sealed");
  }
  for (size_t i = 0; i < b->n_events; i++) {
    b->events[i].body = b->sealed.p + at;
    b->events[i].body_len += RP_SEAL_OVERHEAD;
    at += b->events[i].body_len;
  }
  return 0;
}

static int check_options(rp_session *s, const rp_event *first, size_t n, const rp_append_options *o, rp_error *err)
{
  int rc = rp__request_check_key(first->idempotency_key, err);
  if (!rc && o->client_id && !rp__name_ok(o->client_id))
    rc = rp__fail_field(err, RP_E_INVALID, "client_id", "'%s' can't be a client's id", rp__text_shown(o->client_id));
  if (!rc && o->client_id && rp__redaction_check_name(s->e, s->scope, "client_id", o->client_id, err))
    rc = err ? err->code = RP_E_INVALID : RP_E_INVALID;
  if (!rc && o->client_id && o->client_seq < 1)
    rc = rp__fail_field(err, RP_E_INVALID, "client_seq", "a client numbers its events from 1");
  if (!rc && o->client_id && o->client_seq > RP_SEQ_MAX - (int64_t)n)
    rc = rp__fail_field(err, RP_E_INVALID, "client_seq", "a client's number is at most %lld", RP_SEQ_MAX);
  return rc;
}

static void append_op(struct rp__batch *b, const rp_append_options *o)
{
  rp_session *s = b->s;
  bool tails = false;
  for (size_t i = 0; i < b->n_events; i++) tails |= b->events[i].tail != NULL;
  b->ops[0] = (struct rp__op){
      .type = RP_OP_APPEND,
      .session_ref = s->ref,
      .session_id = s->id,
      .now_ms = rp__engine_now(s->e),
      .epoch = o->epoch ? o->epoch : s->epoch,
      .u.append = {.events = b->events,
                   .n = b->n_events,
                   .given = b->n,
                   .first_given = b->first_given,
                   .expect = o->expect,
                   .judged = b->judged + 1,
                   .heard = b->heard,
                   .heard_number = b->heard_number,
                   .streams_number = b->streams_number,
                   .tail_key = tails && b->key == &b->own_key ? b->own_key.id : NULL,
                   .idempotency_key =
                       rp__redaction_key(s->e, s->scope, b->given[0].idempotency_key, b->idempotency_key),
                   .digest = b->given[0].idempotency_key ? b->digest : NULL,
                   .client_id = o->client_id,
                   .client_seq = o->client_seq},
  };
}

/* The checks of a batch, which leave nothing behind but what they found. */
static int batch_look(struct rp__batch *b, rp_session *s, const rp_event *ev, size_t n, const rp_append_options *o,
                      bool trusted, rp_error *err)
{
  if (s->trashed && !trusted) {
    rp__fail(err, RP_E_ENDED, "session %s is in the trash", s->id);
    rp__hint(err, "'reprise untrash %s' takes it out", s->id);
    return RP_E_ENDED;
  }
  int rc = batch_init(b, s, ev, n, err);
  if (rc) return rc;
  for (size_t i = 0; !rc && i < n; i++) rc = check_one(b, i, o, trusted, err);
  if (!rc) rc = check_options(s, ev, n, o, err);
  if (!rc && ev->idempotency_key) rc = rp__request_of_events(s, ev, n, b->digest, err);
  if (rc) rp__batch_done(b, false);
  return rc;
}

int rp__batch_check(rp_session *s, const rp_event *ev, size_t n, const rp_append_options *o, rp_error *err)
{
  struct rp__batch b;
  int rc = batch_look(&b, s, ev, n, o, false, err);
  if (!rc) rp__batch_done(&b, false);
  return rc;
}

int rp__batch_prepare(struct rp__batch *b, rp_session *s, const rp_event *ev, size_t n, const rp_append_options *o,
                      enum rp__prepare how, rp_error *err)
{
  bool trusted = how == RP_PREPARE_OWN;
  int rc = batch_look(b, s, ev, n, o, trusted, err);
  if (rc) return rc;
  b->in_order = how == RP_PREPARE_ORDER;
  if (!trusted) rc = rp__speech_begin(b, err);
  for (size_t i = 0; !rc && i < n; i++) {
    rc = prepare_one(b, i, trusted, err);
    if (rc && n > 1) rp__wrap(err, "event %zu of %zu", i + 1, n);
  }
  rp__speech_end(b, !rc);
  if (!rc && s->key) rc = seal_all(b, err);
  if (rc)
    rp__batch_done(b, false);
  else
    append_op(b, o);
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

/* One attempt. *ret_again: others changed what it was prepared on. */
static int append_once(rp_session *s, const rp_event *ev, size_t n, const rp_append_options *o, bool trusted,
                       rp_ack *ret, bool *ret_again, rp_error *err)
{
  struct rp__batch b;
  rp_durability d = rp__journal_durability(s, o) == RP_MEMORY ? RP_OS : rp__journal_durability(s, o);
  *ret_again = false;
  int rc = rp__batch_prepare(&b, s, ev, n, o, trusted ? RP_PREPARE_OWN : RP_PREPARE_GIVEN, err);
  if (rc) return rp__journal_settle(s, ev, n, NULL, rc);
  rc = rp__engine_commit(s->e, b.ops, 1 + b.n_after, d, err);
  const struct rp__op *op = &b.ops[0];
  *ret_again = rp__batch_again(&b, o, rc) && !rp__batch_renew(&b, err);
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
  if (!trusted && atomic_load(&s->lane.busy)) rp_flush(s->e, NULL); /* what was given before comes first */
  for (int i = 0; again && i < RP_PREPARE_TRIES; i++) rc = append_once(s, ev, n, o, trusted, ret, &again, err);
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

#define LOST_MAX 65536 /* events missing side by side that are believed; beyond, a counter is what is wrong */
#define READ_END 1     /* from on_event: nothing that follows is wanted */

struct read_ctx {
  rp_session *s;
  rp__event_fn *fn;
  void *ctx;
  rp_error *err;
  struct rp__buf plain;
  bool past;    /* lost events are told instead of ending the reading */
  bool stopped; /* by the callback, whose value is the result */
  int64_t next, upto, at_ms;
  struct rp__lost lost;
};

static int hand_out(struct read_ctx *x, const struct rp__event *ev)
{
  int rc = x->fn(x->ctx, ev);
  x->stopped = rc != 0;
  x->next = ev->seq + 1;
  x->at_ms = ev->at_ms;
  return rc;
}

/* What stands in the place of an event that can't be read is what a repair would store there. */
static int tell_lost(struct read_ctx *x, int64_t seq, int64_t at_ms, const char *why, const char *kind)
{
  struct rp__buf body RP_AUTOBUF = RP_BUF(4096);
  struct rp__jw w = RP_JW(&body);
  rp__jw_object(&w);
  rp__jw_kstr(&w, "reason", why);
  if (kind && rp__name_ok(kind)) rp__jw_kstr(&w, "original_kind", kind);
  rp__jw_end_object(&w);
  if (body.err) return rp__fail_nomem(x->err);
  if (!x->lost.n++) {
    x->lost.first = seq;
    snprintf(x->lost.why, sizeof x->lost.why, "%s", why);
  }
  struct rp__event ev = {.seq = seq,
                         .at_ms = at_ms,
                         .kind = RP_KIND_OTHER,
                         .kind_name = RP_KIND_DAMAGED,
                         .body = rp__json_trusted(body.p, body.n),
                         .lost = true};
  return hand_out(x, &ev);
}

/* Events up to `last` are missing; those that were asked for are told. */
static int tell_missing(struct read_ctx *x, int64_t last)
{
  if (last - x->next >= LOST_MAX)
    return rp__fail(x->err, RP_E_CORRUPT, "session %s: events %lld to %lld are missing", x->s->id, (long long)x->next,
                    (long long)last);
  int rc = 0;
  if (x->upto) last = RP_MIN(last, x->upto);
  while (!rc && x->next <= last) rc = tell_lost(x, x->next, x->at_ms, "it is missing", NULL);
  return rc;
}

static int on_event(void *ctx, const struct rp__event_row *row)
{
  struct read_ctx *x = ctx;
  struct rp__str body = {row->body, row->body_len};
  int rc = 0;
  if (row->seq < x->next) return 0; /* an index that gives an event twice */
  if (x->past && row->seq > x->next) rc = tell_missing(x, row->seq - 1);
  if (!rc && x->upto && row->seq > x->upto) return READ_END;
  if (!rc && row->damaged) return tell_lost(x, row->seq, row->at_ms, "its checksum does not fit", row->kind);
  if (!rc && row->sealed) {
    rp__buf_reset(&x->plain);
    rc = rp__unseal(x->s->key, rp__session_ad(x->s), row->body, row->body_len, &x->plain, x->err);
    if (rc == RP_E_CORRUPT && x->past) return tell_lost(x, row->seq, row->at_ms, "it can't be unsealed", row->kind);
    if (rc) rp__wrap(x->err, "session %s, event %lld", x->s->id, (long long)row->seq);
    body = (struct rp__str){x->plain.p, x->plain.n};
  }
  if (rc) return rc;
  struct rp__event ev = {
      .seq = row->seq,
      .at_ms = row->at_ms,
      .kind = rp__kind_parse(row->kind),
      .kind_name = row->kind,
      .body = rp__json_trusted(body.p, body.n),
  };
  return hand_out(x, &ev);
}

static int read_from(struct read_ctx *x, rp_error *err)
{
  struct rp__store *st = x->s->e->store;
  int64_t after = x->next - 1;
  struct rp__event_range r = {.session_ref = x->s->ref, .session_id = x->s->id, .after = after, .tolerant = x->past};
  if (!x->past && x->upto) r.limit = x->upto - after;
  int rc = st->ops->event_list(st, &r, on_event, x, err);
  return rc == READ_END && !x->stopped ? 0 : rc;
}

/* The rest of a journal that is damaged. Its end is asked for first: what comes meanwhile is not missing. */
static int read_rest(struct read_ctx *x, rp_error *err)
{
  struct rp__session_row row = {0};
  int rc = rp__session_row(x->s, &row, err);
  if (rc) return rc;
  rp__session_row_done(&row);
  x->past = true;
  rc = read_from(x, err);
  bool all = x->upto && x->next > x->upto;
  return rc || x->stopped || all ? rc : tell_missing(x, row.last_seq);
}

static int journal_read(rp_session *s, int64_t after, int64_t upto, rp__event_fn *fn, void *ctx, struct rp__lost *lost,
                        rp_error *err)
{
  rp_error own = {0};
  if (!err) err = &own;
  if (upto && upto <= after) return 0;
  struct read_ctx x = {.s = s,
                       .fn = fn,
                       .ctx = ctx,
                       .err = err,
                       .plain = RP_BUF(s->max_body + RP_BODY_MAX),
                       .next = after + 1,
                       .upto = upto};
  int rc = read_from(&x, err);
  if (rc == RP_E_CORRUPT && lost && !x.stopped) rc = read_rest(&x, err);
  if (rc == RP_E_CORRUPT && !x.stopped) rp__hint(err, "'reprise verify --repair' mends what can be mended");
  rp__buf_done(&x.plain);
  if (lost) *lost = x.lost;
  return rc;
}

int rp__journal_read(rp_session *s, int64_t after, int64_t upto, rp__event_fn *fn, void *ctx, rp_error *err)
{
  return journal_read(s, after, upto, fn, ctx, NULL, err);
}

int rp__journal_read_past(rp_session *s, int64_t after, int64_t upto, rp__event_fn *fn, void *ctx, struct rp__lost *ret,
                          rp_error *err)
{
  struct rp__lost lost = {0};
  int rc = journal_read(s, after, upto, fn, ctx, &lost, err);
  if (ret)
    *ret = lost;
  else if (lost.n)
    rp__log(&s->e->log, RP_LOG_WARN,
            "session %s: %lld event%s can't be read, the first is %lld (%s); 'reprise verify --repair' mends what can "
            "be mended",
            s->id, (long long)lost.n, lost.n == 1 ? "" : "s", (long long)lost.first, lost.why);
  return rc;
}
