/* SPDX-License-Identifier: Apache-2.0 */
/* The outbox while the store works: the order of each session, and the helper, which prepares appends again. */
#include "base/options.h"
#include "engine/journal/outbox.h"

#include <assert.h>

#include "base/id.h"
#include "base/process/thread.h"
#include "engine/journal/append.h"
#include "engine/journal/limits.h"

#define QUEUE_MAX 4096 /* appends that wait in the queue of a session, memory apart */
#define QUEUE_BYTES (8 * 1024 * 1024)
#define BATCH_MIN 16
#define BATCH_MAX 1024
#define KEY_PREFIX "spill-"
#define KEY_TEXT (sizeof KEY_PREFIX - 1 + RP_UUID_TEXT)

/* An append on its way; apart from the item, because appends that wait are many. */
struct rp__outbox_attempt {
  struct rp__commit commit; /* first: the commit queue hands this back */
  struct rp__batch batch;
  struct rp__outbox_item *of;
};

/* ---- items ---- */

static size_t body_length(const rp_event *ev)
{
  return ev->body_len || !ev->body ? ev->body_len : strlen(ev->body);
}

/* Copies `n` bytes and a NUL to *at and moves it on; NULL stays NULL. */
static const char *copy(char **at, const char *bytes, size_t n)
{
  if (!bytes) return NULL;
  char *start = *at;
  memcpy(start, bytes, n);
  start[n] = '\0';
  *at += n + 1;
  return start;
}

static const char *copy_text(char **at, const char *text)
{
  return copy(at, text, text ? strlen(text) : 0);
}

/*
 * One allocation for everything; NULL without memory. An append that may wait in memory happened when it was accepted,
 * and has a key: after an error of the disk nobody knows whether it was stored, so it must be known when it is sent
 * again.
 */
struct rp__outbox_item *rp__outbox_item_new(rp_session *s, const rp_event *ev, size_t n, const rp_append_options *o,
                                            bool memory)
{
  char key[KEY_TEXT] = "", uuid[RP_UUID_TEXT];
  int64_t now = memory ? rp__engine_now(s->e) : 0;
  size_t bytes = sizeof(struct rp__outbox_item) + n * sizeof *ev + (o->client_id ? strlen(o->client_id) + 1 : 0);
  for (size_t i = 0; i < n; i++)
    bytes += body_length(&ev[i]) + 1 + (ev[i].kind ? strlen(ev[i].kind) + 1 : 0) +
             (ev[i].idempotency_key ? strlen(ev[i].idempotency_key) + 1 : 0);
  bool keyed = memory && !ev[0].idempotency_key && !o->client_id;
  if (keyed) {
    rp__uuid7(uuid, now, &rp__system_random);
    bytes += (size_t)snprintf(key, sizeof key, KEY_PREFIX "%s", uuid) + 1;
  }
  struct rp__outbox_item *a = malloc(bytes);
  if (!a) return NULL;
  *a = (struct rp__outbox_item){.s = s, .options = *o, .n = n, .bytes = bytes, .memory = memory, .own_key = keyed};
  char *at = (char *)(a->events + n);
  for (size_t i = 0; i < n; i++) {
    rp_event *to = &a->events[i];
    *to = ev[i];
    to->body_len = body_length(&ev[i]);
    to->body = copy(&at, ev[i].body, to->body_len);
    to->kind = copy_text(&at, ev[i].kind);
    to->idempotency_key = copy_text(&at, keyed && !i ? key : ev[i].idempotency_key);
    if (!to->at_ms) to->at_ms = now;
  }
  a->options.client_id = copy_text(&at, o->client_id);
  rp__session_ref(s);
  return a;
}

void rp__outbox_item_free(struct rp__outbox_item *a)
{
  assert(!a->attempt && !a->pending && !a->unanswered);
  rp__session_unref(a->s);
  free(a);
}

void rp__outbox_insert(struct rp__outbox_queue *q, struct rp__outbox_item *a)
{
  struct rp__outbox_item *before = TAILQ_LAST(&q->items, rp__outbox_items);
  while (before && before->ticket > a->ticket) before = TAILQ_PREV(before, rp__outbox_items, next);
  if (before)
    TAILQ_INSERT_AFTER(&q->items, before, a, next);
  else
    TAILQ_INSERT_HEAD(&q->items, a, next);
  q->count++;
  q->bytes += a->bytes;
}

void rp__outbox_remove(struct rp__outbox_queue *q, struct rp__outbox_item *a)
{
  TAILQ_REMOVE(&q->items, a, next);
  if (a->unanswered) TAILQ_REMOVE(&q->unanswered, a, next_unanswered);
  a->unanswered = false;
  q->count--;
  q->bytes -= a->bytes;
}

void rp__outbox_pending(struct rp__outbox *o, int *is, bool pending)
{
  if (!*is == !pending) return;
  if (pending) {
    *is = 1 + (int)(o->round & 1);
    o->pending[*is - 1]++;
  } else {
    o->pending[*is - 1]--;
    *is = 0;
    pthread_cond_broadcast(&o->changed);
  }
}

/* ---- queues ---- */

int rp__outbox_join(struct rp__outbox *o, rp_session *s)
{
  pthread_mutex_lock(&o->lock);
  struct rp__outbox_queue *q = LIST_FIRST(&o->queues[(uint64_t)s->ref % RP_OUTBOX_BUCKETS]);
  while (q && q->ref != s->ref) q = LIST_NEXT(q, same_hash);
  if (!q && (q = calloc(1, sizeof *q))) {
    q->ref = s->ref;
    memcpy(q->id, s->id, sizeof q->id);
    pthread_mutex_init(&q->order, NULL);
    TAILQ_INIT(&q->items);
    TAILQ_INIT(&q->unanswered);
    LIST_INSERT_HEAD(&o->queues[(uint64_t)s->ref % RP_OUTBOX_BUCKETS], q, same_hash);
  }
  if (q) q->refs++;
  s->outbox = q;
  pthread_mutex_unlock(&o->lock);
  return q ? 0 : RP_E_NOMEM;
}

void rp__outbox_queue_unref(struct rp__outbox_queue *q)
{
  if (--q->refs) return;
  assert(TAILQ_EMPTY(&q->items) && !q->in_flight && !q->spent);
  if (q->has_window) LIST_REMOVE(q, next_window);
  LIST_REMOVE(q, same_hash);
  pthread_mutex_destroy(&q->order);
  free(q);
}

void rp__outbox_leave(struct rp__outbox *o, rp_session *s)
{
  pthread_mutex_lock(&o->lock);
  rp__outbox_queue_unref(s->outbox);
  pthread_mutex_unlock(&o->lock);
}

/* Whether an append has to wait in the queue. */
static bool is_blocked(const struct rp__outbox_queue *q)
{
  return q->barrier || q->refused || q->away || q->helped || q->gap > q->gap_sent || !TAILQ_EMPTY(&q->items);
}

bool rp__outbox_busy(rp_session *s)
{
  struct rp__outbox *o = &s->e->outbox;
  pthread_mutex_lock(&o->lock);
  bool busy = s->outbox->barrier || s->outbox->refused || !TAILQ_EMPTY(&s->outbox->items);
  pthread_mutex_unlock(&o->lock);
  return busy;
}

void rp__outbox_poke(struct rp__outbox *o, struct rp__outbox_queue *q)
{
  bool send = !TAILQ_EMPTY(&q->items) && !q->barrier && (!q->refused || !q->in_flight) && (!q->away || q->retry);
  bool answer = q->away && !TAILQ_EMPTY(&q->unanswered);
  if (q->helped || !(send || answer || q->spent)) return;
  assert(o->started);
  q->helped = true;
  q->refs++;
  TAILQ_INSERT_TAIL(&o->helped, q, next_helped);
  pthread_cond_signal(&o->work);
}

/* ---- one append ---- */

static void on_committed(struct rp__commit *c);

static int prepare(struct rp__outbox_item *a, enum rp__prepare how, rp_error *err)
{
  struct rp__outbox_attempt *t = malloc(sizeof *t);
  if (!t) return rp__fail_nomem(err);
  rp_durability d = rp__journal_durability(a->s, &a->options);
  int rc = rp__batch_make(&t->batch, a->s, a->events, a->n, &a->options, how, err);
  if (rc) {
    free(t);
    return rc;
  }
  t->commit = (struct rp__commit){
      .txn = {.ops = t->batch.ops, .n = 1 + t->batch.n_after, .durability = d == RP_MEMORY ? RP_OS : d},
      .bytes = sizeof *t + a->bytes,
      .done = on_committed};
  t->of = a;
  a->attempt = t;
  return 0;
}

enum attempt_end { ATTEMPT_FAILED, ATTEMPT_STORED, ATTEMPT_AGAIN /* the streams are known to be others */ };

static void attempt_drop(struct rp__outbox_item *a, enum attempt_end end)
{
  if (!a->attempt) return;
  if (end == ATTEMPT_AGAIN)
    rp__batch_drop(&a->attempt->batch);
  else
    rp__batch_done(&a->attempt->batch, end == ATTEMPT_STORED);
  free(a->attempt);
  a->attempt = NULL;
}

/* Into the commit queue, with the lock held. No limit keeps an append out that was admitted before. */
static int post(struct rp__outbox *o, struct rp__outbox_queue *q, struct rp__outbox_item *a, bool admitted)
{
  assert(a->attempt && !q->barrier);
  bool barrier = a->memory || a->marker || a->attempt->batch.judged >= 0;
  a->attempt->commit.admitted = admitted;
  int rc = rp__commit_post(&o->e->queue, &a->attempt->commit);
  if (rc) return rc;
  q->in_flight++;
  if (barrier) q->barrier = a;
  if (barrier) rp__outbox_pending(o, &a->pending, true);
  return 0;
}

void rp__outbox_finish(struct rp__outbox *o, struct rp__outbox_queue *q, struct rp__outbox_item *a, bool tried, int rc,
                       const rp_error *err)
{
  const struct rp__op *op = rc ? NULL : &a->attempt->batch.ops[0];
  rp_ack ack = {0};
  rp__journal_settle(a->s, a->events, a->n, op, rc);
  if (op) {
    ack = (rp_ack){.first_seq = op->ret.first_seq,
                   .seq = op->ret.seq,
                   .durability = a->attempt->commit.txn.durability,
                   .repeated = op->ret.repeated};
    rp__limits_ack(a->s, &ack);
  } else {
    rp__log(&a->s->e->log, RP_LOG_DEBUG, "append to %s: %s", a->s->id, err->message);
  }
  pthread_mutex_lock(&o->lock);
  if (tried && q->away) rp__outbox_resume(o, q);
  rp__outbox_count_end(o, q, a, op ? &ack : NULL);
  pthread_mutex_unlock(&o->lock);
  if (rc && a->told && !a->marker)
    rp__outbox_notify(o, &(rp_outbox_notice){RP_OUTBOX_EVENTS_LOST, a->s->id, (int64_t)a->n, 0, err});
  if (op && a->gap) rp__outbox_notify(o, &(rp_outbox_notice){RP_OUTBOX_GAP_TOLD, a->s->id, a->gap, 0, NULL});
  if (!a->told && a->done) a->done(a->ctx, op ? &ack : NULL, op ? NULL : err);
  bool spent = false;
  for (size_t i = 0; op && i < a->n; i++) spent |= strcmp(a->events[i].kind, "usage") == 0;
  spent = spent && rp__limits_watches(a->s);
  attempt_drop(a, op && !ack.repeated ? ATTEMPT_STORED : ATTEMPT_FAILED);
  pthread_mutex_lock(&o->lock);
  if (spent && !q->spent) {
    q->spent = rp__session_ref(a->s);
    rp__outbox_pending(o, &q->spent_pending, true);
  }
  rp__outbox_poke(o, q); /* after its sender was told: those behind it are told later */
  rp__outbox_pending(o, &a->pending, false);
  pthread_mutex_unlock(&o->lock);
  rp__outbox_item_free(a);
}

/* An append was tried. */
static void landed(struct rp__outbox *o, struct rp__outbox_queue *q, struct rp__outbox_item *a, int rc, rp_error err)
{
  bool keep = rc && a->memory && (rp__outbox_away_code(rc) || (a->told && rp_error_lookup(rc)->retryable));
  if (keep) {
    attempt_drop(a, ATTEMPT_FAILED);
    rp__outbox_keep(o, q, a, rc, &err);
  } else {
    rp__outbox_finish(o, q, a, true, rc, &err);
  }
}

static void on_committed(struct rp__commit *c)
{
  struct rp__outbox_attempt *t = (struct rp__outbox_attempt *)c;
  struct rp__outbox_item *a = t->of;
  struct rp__outbox_queue *q = a->s->outbox;
  struct rp__outbox *o = &a->s->e->outbox;
  bool again = rp__batch_again(&t->batch, &a->options, c->txn.rc);
  pthread_mutex_lock(&o->lock);
  assert(q->in_flight > 0);
  q->in_flight--;
  if (q->barrier == a) q->barrier = NULL;
  a->sent = true;
  if (again) {
    q->refused = true;
    q->batch = BATCH_MIN;
    rp__outbox_pending(o, &a->pending, true);
    rp__outbox_insert(q, a);
    rp__outbox_poke(o, q);
  }
  pthread_mutex_unlock(&o->lock);
  if (!again) landed(o, q, a, c->txn.rc, c->txn.err);
}

/* ---- the helper ---- */

/*
 * Prepares and posts what waits, up to a barrier, or, of those that were refused, up to a batch of one handle: each
 * that is refused again takes all behind it along. The first of them is prepared on what is in the store now, the
 * others behind the one before.
 */
static void send_waiting(struct rp__outbox *o, struct rp__outbox_queue *q)
{
  struct rp__outbox_item *a;
  const rp_session *of = NULL;
  pthread_mutex_lock(&q->order);
  pthread_mutex_lock(&o->lock);
  int left = q->refused ? RP_MAX(q->batch, BATCH_MIN) : INT32_MAX;
  bool may = (!q->away || q->retry) && (!q->refused || !q->in_flight);
  if (q->refused && may) q->batch = RP_MIN(2 * left, BATCH_MAX);
  while (may && (a = TAILQ_FIRST(&q->items)) && !q->barrier && left-- && !(q->refused && of && a->s != of)) {
    rp_error why = {0};
    rp__outbox_remove(q, a);
    rp__outbox_pending(o, &a->pending, true);
    pthread_mutex_unlock(&o->lock);
    int rc = 0;
    if (a->attempt && !of && a->tries++ >= RP_PREPARE_TRIES)
      rc = rp__fail(&why, RP_E_BUSY, "others keep writing to session %s", q->id);
    else if (a->attempt && !of)
      rc = rp__batch_renew(&a->attempt->batch, &why);
    attempt_drop(a, rc ? ATTEMPT_FAILED : ATTEMPT_AGAIN);
    if (!rc) rc = prepare(a, RP_PREPARE_GIVEN, &why);
    pthread_mutex_lock(&o->lock);
    if (!rc) of = a->s;
    if (!rc && (rc = post(o, q, a, true))) rp__fail(&why, rc, "the event can't be stored");
    if (!rc) continue;
    pthread_mutex_unlock(&o->lock);
    pthread_mutex_unlock(&q->order); /* its sender may append in the callback; that waits behind what is here */
    landed(o, q, a, rc, why);
    pthread_mutex_lock(&q->order);
    pthread_mutex_lock(&o->lock);
    may = !q->away || q->retry;
  }
  if (TAILQ_EMPTY(&q->items)) q->refused = false;
  pthread_mutex_unlock(&o->lock);
  pthread_mutex_unlock(&q->order);
}

static void *helper_main(void *arg)
{
  struct rp__outbox *o = arg;
  pthread_mutex_lock(&o->lock);
  for (;;) {
    struct rp__outbox_queue *q = TAILQ_FIRST(&o->helped);
    if (!q && o->stop) break;
    if (!q) {
      pthread_cond_wait(&o->work, &o->lock);
      continue;
    }
    TAILQ_REMOVE(&o->helped, q, next_helped);
    rp_session *spent = q->spent;
    q->spent = NULL;
    pthread_mutex_unlock(&o->lock);
    if (spent) rp__limits_spent(spent);
    rp__outbox_answer(o, q);
    send_waiting(o, q);
    if (spent) rp__session_unref(spent);
    pthread_mutex_lock(&o->lock);
    q->helped = false;
    rp__outbox_poke(o, q);
    if (spent && !q->spent) rp__outbox_pending(o, &q->spent_pending, false);
    rp__outbox_queue_unref(q);
  }
  pthread_mutex_unlock(&o->lock);
  return NULL;
}

void rp__outbox_init(struct rp__outbox *o, rp_engine *e)
{
  pthread_condattr_t attr;
  *o = (struct rp__outbox){.e = e};
  pthread_mutex_init(&o->lock, NULL); /* neither these nor clocks of conditions can fail on Linux */
  pthread_condattr_init(&attr);
  pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
  pthread_cond_init(&o->work, NULL);
  pthread_cond_init(&o->changed, &attr);
  pthread_condattr_destroy(&attr);
  TAILQ_INIT(&o->helped);
}

void rp__outbox_flush(struct rp__outbox *o)
{
  pthread_mutex_lock(&o->lock);
  const uint64_t round = o->round;
  for (;;) {
    if (o->round == round && !o->pending[(round + 1) & 1]) o->round++; /* what comes from now on is not waited for */
    if (o->round > round + 1 || (o->round == round + 1 && !o->pending[round & 1])) break;
    pthread_cond_wait(&o->changed, &o->lock);
  }
  pthread_mutex_unlock(&o->lock);
}

void rp__outbox_done(struct rp__outbox *o)
{
  rp__outbox_flush(o);
  rp__commitq_drain(&o->e->queue); /* whoever ended the last append has left the outbox */
  pthread_mutex_lock(&o->lock);
  o->stop = true;
  pthread_cond_signal(&o->work);
  pthread_mutex_unlock(&o->lock);
  if (o->started) pthread_join(o->thread, NULL);
  rp__outbox_lose_all(o);
  pthread_cond_destroy(&o->changed);
  pthread_cond_destroy(&o->work);
  pthread_mutex_destroy(&o->lock);
}

/* ---- the door ---- */

/* Prepared and sent off in one go, so that those of one session are stored in the order in which they came. */
static int submit(struct rp__outbox *o, struct rp__outbox_queue *q, struct rp__outbox_item *a, rp_error *err)
{
  const rp_ack memory = {.durability = RP_MEMORY};
  rp_append_fn *done = a->done;
  void *ctx = a->ctx;
  pthread_mutex_lock(&q->order);
  pthread_mutex_lock(&o->lock);
  bool waits = is_blocked(q);
  pthread_mutex_unlock(&o->lock);
  int rc = waits ? RP__PREPARE_LATER : prepare(a, RP_PREPARE_ORDER, err);
  bool later = !waits && rc == RP__PREPARE_LATER; /* it would overtake those that are about to be refused */
  if (rc == RP__PREPARE_LATER) rc = rp__batch_check(a->s, a->events, a->n, &a->options, err);
  pthread_mutex_lock(&o->lock);
  if (!rc && !o->started && !(o->started = !rp__thread_start(&o->thread, "reprise-outbox", helper_main, o)))
    rc = rp__fail(err, RP_E_BUSY, "a thread can't be started");
  const char *full = q->away && !a->memory ? "events of this session wait for the store" : NULL;
  if (a->memory && o->memory_bytes + a->bytes > o->policy.memory_bytes) full = "no more events can wait in memory";
  if (!rc && full) {
    o->counts.refused += (int64_t)a->n;
    rc = rp__outbox_refuse(o, full, err);
  }
  if (!rc) rp__outbox_tell_gap(o, q, a->s);
  waits |= later || is_blocked(q);
  bool told = a->told = !rc && a->memory && a->options.durability == RP_MEMORY && !q->away;
  a->ticket = q->ticket++;
  if (!rc && waits && !a->memory && (q->count >= QUEUE_MAX || q->bytes + a->bytes > QUEUE_BYTES)) rc = RP_E_LIMIT;
  if (!rc && !waits) rc = post(o, q, a, false);
  if (rc == RP_E_LIMIT) rp__fail(err, rc, "too many events are waiting to be stored");
  if (rc == RP_E_NOMEM) rp__fail_nomem(err);
  if (!rc && waits) {
    attempt_drop(a, ATTEMPT_FAILED);
    rp__outbox_insert(q, a);
    rp__outbox_pending(o, &a->pending, true);
    a->unanswered = q->away;
    if (q->away) TAILQ_INSERT_TAIL(&q->unanswered, a, next_unanswered);
    q->refused |= later;
  }
  if (!rc && a->memory) o->memory_bytes += a->bytes;
  rp__outbox_poke(o, q);
  pthread_mutex_unlock(&q->order); /* first: once the other lock is free, its sender may be told, and the queue gone */
  pthread_mutex_unlock(&o->lock);
  if (!rc && told && done) done(ctx, &memory, NULL);
  return rc;
}

/* Before anything is copied. */
static int check_sizes(rp_session *s, const rp_event *ev, size_t n, rp_error *err)
{
  int rc = rp__journal_check_count(n, err);
  for (size_t i = 0; !rc && i < n; i++) {
    size_t bytes = body_length(&ev[i]);
    if (bytes <= s->config->body_bytes) continue;
    rc = rp__fail_field(err, RP_E_TOO_LARGE, "body", "the body has %zu bytes, the limit is %zu", bytes,
                        s->config->body_bytes);
    if (n > 1) rp__wrap(err, "event %zu of %zu", i + 1, n);
  }
  return rc;
}

int rp_append_many_async(rp_session *s, const rp_event *ev, size_t n, const rp_append_options *given,
                         rp_append_fn *done, void *ctx, rp_error *err)
{
  rp_append_options own, *opts = &own;
  int rc = rp__session_check(s, err);
  if (!rc) rc = RP__OPTIONS(opts, given, accepts_memory, err);
  if (!rc) rc = check_sizes(s, ev, n, err);
  if (rc) return rc;
  struct rp__outbox *o = &s->e->outbox;
  /* An append that must find the journal at a certain number is never answered before that is known. */
  bool memory = (opts->accepts_memory || opts->durability == RP_MEMORY) && !opts->expect_seq && o->policy.memory_bytes;
  struct rp__outbox_item *a = rp__outbox_item_new(s, ev, n, opts, memory);
  if (!a) return rp__fail_nomem(err);
  a->done = done;
  a->ctx = ctx;
  rc = submit(o, s->outbox, a, err);
  if (rc == RP_E_LIMIT && o->policy.wait_when_full) {
    attempt_drop(a, ATTEMPT_FAILED);
    rp_flush(s->e, NULL);
    rc = submit(o, s->outbox, a, err);
  }
  if (!rc) return 0;
  rp__journal_settle(s, ev, n, NULL, rc);
  attempt_drop(a, ATTEMPT_FAILED);
  rp__outbox_item_free(a);
  rp_outbox_lost(s, 1, 0);
  return rc;
}

int rp_append_async(rp_session *s, const rp_event *ev, const rp_append_options *o, rp_append_fn *done, void *ctx,
                    rp_error *err)
{
  return rp_append_many_async(s, ev, 1, o, done, ctx, err);
}

int rp_append_check(rp_session *s, const rp_event *ev, size_t n, const rp_append_options *given, rp_error *err)
{
  rp_append_options o;
  int rc = rp__session_check(s, err);
  if (!rc) rc = RP__OPTIONS(&o, given, accepts_memory, err);
  if (!rc) rc = check_sizes(s, ev, n, err);
  return rc ? rc : rp__batch_check(s, ev, n, &o, err);
}
