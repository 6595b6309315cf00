/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/async.h"

#include "base/thread.h"
#include "engine/guard.h"
#include "engine/journal.h"

#define LANE_MAX 4096 /* appends that wait behind a judged one of their handle */
#define LANE_BYTES (8 * 1024 * 1024)
#define BATCH_MIN 16
#define BATCH_MAX 1024

struct rp__async {
  struct rp__commit commit; /* first: the queue hands this back */
  struct rp__batch batch;
  rp_append_options options;
  rp_session *s;
  rp_append_fn *done;
  void *ctx;
  struct rp__async *next; /* in the lane, or in the helper's hands */
  uint64_t ticket;        /* its place among those of its handle */
  int tries;
  bool leads; /* it has the handle's lane */
  bool prepared;
  bool drains; /* the helper is to begin with it, and go on with the lane */
  bool slow;   /* the helper waits for it */
  bool spent;  /* it is stored; what is left is to look at the budget */
  size_t n;
  rp_event given[]; /* their strings lie behind them */
};

static void async_free(struct rp__async *a)
{
  if (a->s) rp__session_unref(a->s);
  free(a);
}

static bool judged(const struct rp__async *a)
{
  return a->batch.judged >= 0;
}

/* ---- the helper ---- */

static void *helper_main(void *arg);

int rp__helper_init(struct rp__helper *h)
{
  *h = (struct rp__helper){0};
  if (pthread_mutex_init(&h->lock, NULL)) return RP_E_NOMEM;
  if (pthread_cond_init(&h->work, NULL)) {
    pthread_mutex_destroy(&h->lock);
    return RP_E_NOMEM;
  }
  if (pthread_cond_init(&h->idle, NULL)) {
    pthread_cond_destroy(&h->work);
    pthread_mutex_destroy(&h->lock);
    return RP_E_NOMEM;
  }
  return 0;
}

void rp__helper_drain(struct rp__helper *h)
{
  pthread_mutex_lock(&h->lock);
  while (h->pending) pthread_cond_wait(&h->idle, &h->lock);
  pthread_mutex_unlock(&h->lock);
}

void rp__helper_done(struct rp__helper *h)
{
  rp__helper_drain(h);
  pthread_mutex_lock(&h->lock);
  h->stop = true;
  pthread_cond_signal(&h->work);
  pthread_mutex_unlock(&h->lock);
  if (h->started) pthread_join(h->thread, NULL);
  pthread_cond_destroy(&h->idle);
  pthread_cond_destroy(&h->work);
  pthread_mutex_destroy(&h->lock);
}

static void slow_begin(struct rp__async *a)
{
  struct rp__helper *h = &a->s->e->helper;
  pthread_mutex_lock(&h->lock);
  h->pending++;
  pthread_mutex_unlock(&h->lock);
  a->slow = true;
}

static void slow_end(struct rp__helper *h)
{
  pthread_mutex_lock(&h->lock);
  if (--h->pending == 0) pthread_cond_broadcast(&h->idle);
  pthread_mutex_unlock(&h->lock);
}

/* False where there can be no thread. */
static bool helper_give(struct rp__async *a)
{
  struct rp__helper *h = &a->s->e->helper;
  pthread_mutex_lock(&h->lock);
  if (!h->started) h->started = rp__thread_start(&h->thread, "reprise-judge", helper_main, h) == 0;
  bool given = h->started;
  if (given) {
    a->next = NULL;
    *(h->tail ? &h->tail->next : &h->head) = a;
    h->tail = a;
    pthread_cond_signal(&h->work);
  }
  pthread_mutex_unlock(&h->lock);
  return given;
}

/* ---- the lane ---- */

/* All of these are called with the handle's dirty_lock held. */
static void lane_insert(struct rp__lane *l, struct rp__async *a)
{
  struct rp__async **at = l->tail && l->tail->ticket < a->ticket ? &l->tail->next : &l->head;
  while (*at && (*at)->ticket < a->ticket) at = &(*at)->next;
  a->next = *at;
  *at = a;
  if (!a->next) l->tail = a;
  l->count++;
  l->bytes += a->commit.bytes;
}

static int lane_push(struct rp__lane *l, struct rp__async *a)
{
  if (l->count >= LANE_MAX || l->bytes + a->commit.bytes > LANE_BYTES) return RP_E_LIMIT;
  lane_insert(l, a);
  return 0;
}

/* The next one; NULL when nothing waits, and the lane is free again. */
static struct rp__async *lane_pop(struct rp__lane *l)
{
  struct rp__async *a = l->head;
  if (a) {
    l->head = a->next;
    if (!l->head) l->tail = NULL;
    l->count--;
    l->bytes -= a->commit.bytes;
  } else {
    l->draining = false;
    atomic_store(&l->refused, false);
    atomic_store_explicit(&l->busy, false, memory_order_release);
  }
  return a;
}

/* ---- on its way ---- */

static void on_committed(struct rp__commit *c);
static bool settle(struct rp__async *a, int rc);

static int prepare(struct rp__async *a, enum rp__prepare how, rp_error *err)
{
  rp_durability d = rp__journal_durability(a->s, &a->options);
  int rc = rp__batch_prepare(&a->batch, a->s, a->given, a->n, &a->options, how, err);
  a->prepared = !rc;
  if (rc) return rc;
  a->commit.txn =
      (struct rp__txn){.ops = a->batch.ops, .n = 1 + a->batch.n_after, .durability = d == RP_MEMORY ? RP_OS : d};
  a->commit.done = on_committed;
  return 0;
}

static int post(struct rp__async *a)
{
  rp_session *s = a->s;
  atomic_fetch_add(&s->lane.away, 1);
  int rc = rp__commit_post(&s->e->queue, &a->commit);
  if (rc) atomic_fetch_sub(&s->lane.away, 1);
  return rc;
}

/* Tells that it can't be stored. */
static void give_up(struct rp__async *a, int rc, const rp_error *why)
{
  struct rp__helper *h = &a->s->e->helper;
  a->commit.txn.err = *why;
  if (settle(a, rc)) slow_end(h);
}

/* Prepares it on what is there now, or, unless it is the first of several, behind the one before it. False: it can't
 * be, and is gone. */
static bool prepare_again(struct rp__async *a, bool first)
{
  rp_error why = {0};
  int rc = first && a->prepared ? rp__batch_renew(&a->batch, &why) : 0;
  if (a->prepared) rp__batch_drop(&a->batch);
  if (!rc) rc = prepare(a, RP_PREPARE_GIVEN, &why);
  if (!rc) return true;
  a->batch = (struct rp__batch){.s = a->s, .judged = -1}; /* nothing of it is left */
  give_up(a, rc, &why);
  return false;
}

/* Into the queue. It was let in before, so no limit keeps it out. False: it can't be, and is gone. */
static bool post_again(struct rp__async *a)
{
  rp_error why = {0};
  a->commit.admitted = true;
  int rc = post(a);
  if (rc) {
    rp__fail(&why, rc, "the event can't be stored");
    give_up(a, rc, &why);
  }
  return !rc;
}

static rp_session *hold(rp_session *s)
{
  pthread_mutex_lock(&s->e->lock);
  rp__session_ref(s);
  pthread_mutex_unlock(&s->e->lock);
  return s;
}

/* When some were refused and none is on its way any more: the helper sends them off again, one after the other. */
static void lane_look(rp_session *s)
{
  struct rp__lane *l = &s->lane;
  pthread_mutex_lock(&s->dirty_lock);
  bool due = l->refused && !l->draining && l->head && atomic_load(&l->away) == 0;
  struct rp__async *a = due ? lane_pop(l) : NULL;
  if (a) l->draining = a->drains = true;
  pthread_mutex_unlock(&s->dirty_lock);
  if (!a || helper_give(a)) return;
  rp_error why = {0};
  rp__fail(&why, RP_E_BUSY, "session %s: there is no thread to prepare the event again", s->id);
  do {
    give_up(a, RP_E_BUSY, &why);
    pthread_mutex_lock(&s->dirty_lock);
    a = lane_pop(l);
    pthread_mutex_unlock(&s->dirty_lock);
  } while (a);
}

/*
 * The helper's: `a` and what waits behind it are prepared again, up to one that has to be through before the rest, or
 * to a batch: each that is refused takes all behind it along.
 */
static void lane_drain(struct rp__async *a)
{
  rp_session *s = hold(a->s);
  bool leads = false, stops = false, first = true;
  pthread_mutex_lock(&s->lane.order);
  pthread_mutex_lock(&s->dirty_lock);
  int left = RP_MAX(s->lane.batch, BATCH_MIN);
  s->lane.batch = RP_MIN(2 * left, BATCH_MAX);
  pthread_mutex_unlock(&s->dirty_lock);
  for (; a && !stops; first = false) {
    a->drains = false;
    if (first && a->tries++ >= RP_PREPARE_TRIES) { /* those behind it were refused because of it */
      rp_error why = {0};
      rp__fail(&why, RP_E_BUSY, "others keep writing to session %s", s->id);
      give_up(a, RP_E_BUSY, &why);
    } else if (prepare_again(a, first)) {
      leads = a->leads = judged(a);
      leads = post_again(a) && leads;
    }
    pthread_mutex_lock(&s->dirty_lock);
    stops = leads || (--left == 0 && s->lane.head);
    if (stops)
      s->lane.draining = false;
    else
      a = lane_pop(&s->lane);
    pthread_mutex_unlock(&s->dirty_lock);
  }
  pthread_mutex_unlock(&s->lane.order);
  if (stops) lane_look(s); /* what was sent off may be through already */
  rp__session_unref(s);
}

/* A judged one is through: on with what waits behind it, up to the next such, which is judged by what the pins are now.
 */
static void lane_advance(rp_session *s)
{
  for (;;) {
    pthread_mutex_lock(&s->dirty_lock);
    struct rp__async *a = s->lane.refused ? NULL : lane_pop(&s->lane);
    pthread_mutex_unlock(&s->dirty_lock);
    if (!a) break;
    bool leads = a->leads = judged(a); /* a may be gone once it is posted */
    if (leads && helper_give(a)) return;
    if (post_again(a) && leads) return;
  }
  lane_look(s);
}

/* ---- through ---- */

static bool spends(const struct rp__async *a)
{
  bool any = false;
  for (size_t i = 0; i < a->n; i++) any |= strcmp(a->given[i].kind, "usage") == 0;
  return any && rp__guard_watches(a->s);
}

/* Tells the outcome and lets go of it; the lane is the caller's business. True: so is slow_end. */
static bool settle(struct rp__async *a, int rc)
{
  const rp_error *err = &a->commit.txn.err;
  const struct rp__op *op = rc ? NULL : &a->batch.ops[0];
  rp_ack ack = {0};
  rp__journal_settle(a->s, a->given, a->n, op, rc);
  if (op) {
    ack = (rp_ack){.first_seq = op->ret.first_seq,
                   .seq = op->ret.seq,
                   .durability = a->commit.txn.durability,
                   .repeated = op->ret.repeated};
    rp__guard_ack(a->s, &ack);
  } else
    rp__log(&a->s->e->log, RP_LOG_DEBUG, "append to %s: %s", a->s->id, err->message);
  if (a->done) a->done(a->ctx, rc ? NULL : &ack, rc ? err : NULL);
  rp__batch_done(&a->batch, rc == 0 && !ack.repeated);
  a->spent = rc == 0 && spends(a);
  if (a->spent && !a->slow) slow_begin(a);
  if (a->spent && helper_give(a)) return false;
  bool slow = a->slow;
  async_free(a);
  return slow;
}

static void finish(struct rp__async *a, int rc)
{
  bool leads = a->leads;
  rp_session *s = a->s;
  struct rp__helper *h = &s->e->helper;
  if (leads) hold(s); /* a may be the last that holds it */
  bool slow = settle(a, rc);
  if (leads) {
    lane_advance(s);
    rp__session_unref(s);
  }
  if (slow) slow_end(h); /* last: whoever waits for it finds the lane free */
}

/* Others changed what it was prepared on: back into the lane, in its order. */
static void refuse(struct rp__async *a)
{
  rp_session *s = hold(a->s);
  if (!a->slow) slow_begin(a);
  pthread_mutex_lock(&s->dirty_lock);
  a->leads = false;
  atomic_store(&s->lane.busy, true);
  atomic_store(&s->lane.refused, true);
  s->lane.batch = BATCH_MIN;
  lane_insert(&s->lane, a);
  pthread_mutex_unlock(&s->dirty_lock);
  atomic_fetch_sub(&s->lane.away, 1);
  lane_look(s);
  rp__session_unref(s);
}

static void on_committed(struct rp__commit *c)
{
  struct rp__async *a = (struct rp__async *)c;
  rp_session *s = a->s;
  if (rp__batch_again(&a->batch, &a->options, c->txn.rc)) {
    refuse(a);
    return;
  }
  atomic_fetch_sub(&s->lane.away, 1);
  if (!a->leads && atomic_load(&s->lane.busy)) lane_look(s);
  finish(a, c->txn.rc);
}

/* Judges it by what the pins are now. */
static void judge_again(struct rp__async *a)
{
  rp_session *s = hold(a->s);
  bool sent = prepare_again(a, true) && post_again(a);
  if (!sent) lane_advance(s);
  rp__session_unref(s);
}

static void *helper_main(void *arg)
{
  struct rp__helper *h = arg;
  pthread_mutex_lock(&h->lock);
  for (;;) {
    struct rp__async *a = h->head;
    if (!a && h->stop) break;
    if (!a) {
      pthread_cond_wait(&h->work, &h->lock);
      continue;
    }
    h->head = a->next;
    if (!h->head) h->tail = NULL;
    pthread_mutex_unlock(&h->lock);
    if (a->spent) {
      rp__guard_spent(a->s);
      async_free(a);
      slow_end(h);
    } else if (a->drains) {
      lane_drain(a);
    } else {
      judge_again(a);
    }
    pthread_mutex_lock(&h->lock);
  }
  pthread_mutex_unlock(&h->lock);
  return NULL;
}

/* Behind those that are prepared again, as it is: it is checked, and the helper does the rest. */
static int wait_behind(struct rp__async *a, rp_error *err)
{
  rp_session *s = a->s;
  int rc = rp__batch_check(s, a->given, a->n, &a->options, err);
  if (rc) return rc;
  a->batch = (struct rp__batch){.s = s, .judged = -1};
  slow_begin(a);
  pthread_mutex_lock(&s->dirty_lock);
  a->ticket = atomic_fetch_add(&s->lane.ticket, 1);
  rc = lane_push(&s->lane, a);
  if (!rc) {
    atomic_store(&s->lane.busy, true);
    atomic_store(&s->lane.refused, true);
  }
  pthread_mutex_unlock(&s->dirty_lock);
  if (!rc) {
    lane_look(s);
    return 0;
  }
  slow_end(&s->e->helper);
  return rp__fail(err, rc, "too many events are waiting to be stored");
}

/* Into the queue, or behind what must be stored first. */
static int submit(struct rp__async *a)
{
  rp_session *s = a->s;
  int rc;
  a->ticket = atomic_fetch_add(&s->lane.ticket, 1);
  if (!judged(a) && !atomic_load_explicit(&s->lane.busy, memory_order_acquire)) return post(a);
  slow_begin(a);
  pthread_mutex_lock(&s->dirty_lock);
  if (atomic_load(&s->lane.busy)) {
    rc = lane_push(&s->lane, a);
  } else {
    bool leads = a->leads = judged(a);
    if (leads) atomic_store(&s->lane.busy, true);
    rc = post(a);
    if (rc && leads) atomic_store(&s->lane.busy, false);
  }
  pthread_mutex_unlock(&s->dirty_lock);
  if (rc) slow_end(&s->e->helper);
  return rc;
}

/* ---- the copy ---- */

/* Copies `n` bytes and a NUL to *at and moves it on; NULL stays NULL. */
static const char *keep(char **at, const char *bytes, size_t n)
{
  if (!bytes) return NULL;
  char *start = *at;
  memcpy(start, bytes, n);
  start[n] = 0;
  *at += n + 1;
  return start;
}

static size_t body_length(const rp_event *ev)
{
  return ev->body_len || !ev->body ? ev->body_len : strlen(ev->body);
}

static size_t text_length(const rp_event *ev)
{
  size_t kind = ev->kind ? strlen(ev->kind) : 0, key = ev->idempotency_key ? strlen(ev->idempotency_key) : 0;
  return body_length(ev) + kind + key + 3;
}

/* One allocation for everything; the session is referred to. */
static struct rp__async *async_new(rp_session *s, const rp_event *ev, size_t n, const rp_append_options *o)
{
  size_t client = o->client_id ? strlen(o->client_id) : 0, head = sizeof(struct rp__async) + n * sizeof *ev;
  size_t bytes = head + client + 1;
  for (size_t i = 0; i < n; i++) bytes += text_length(&ev[i]);
  struct rp__async *a = malloc(bytes);
  if (!a) return NULL;
  memset(a, 0, sizeof *a);
  char *at = (char *)a + head;
  for (size_t i = 0; i < n; i++) {
    size_t body = body_length(&ev[i]);
    a->given[i] = ev[i];
    a->given[i].body = keep(&at, ev[i].body, body);
    a->given[i].body_len = body;
    a->given[i].kind = keep(&at, ev[i].kind, ev[i].kind ? strlen(ev[i].kind) : 0);
    a->given[i].idempotency_key =
        keep(&at, ev[i].idempotency_key, ev[i].idempotency_key ? strlen(ev[i].idempotency_key) : 0);
  }
  a->n = n;
  a->options = *o;
  a->options.client_id = keep(&at, o->client_id, client);
  a->commit.bytes = bytes;
  a->s = hold(s);
  return a;
}

/* Before anything is copied. */
static int check_sizes(rp_session *s, const rp_event *ev, size_t n, rp_error *err)
{
  int rc = rp__journal_check_count(n, err);
  for (size_t i = 0; !rc && i < n; i++) {
    size_t bytes = body_length(&ev[i]);
    if (bytes <= s->max_body) continue;
    rc = rp__fail_field(err, RP_E_TOO_LARGE, "body", "the body has %zu bytes, the limit is %zu", bytes, s->max_body);
    if (n > 1) rp__wrap(err, "event %zu of %zu", i + 1, n);
  }
  return rc;
}

/* Prepared and sent off in one go, so that those of one handle are stored in the order in which they came. */
static int send_off(struct rp__async *a, rp_error *err)
{
  struct rp__lane *l = &a->s->lane;
  int rc = RP__PREPARE_LATER;
  pthread_mutex_lock(&l->order);
  if (!atomic_load(&l->refused)) rc = prepare(a, RP_PREPARE_ORDER, err);
  if (!rc) {
    rc = submit(a);
    if (rc) rp__fail(err, rc, rc == RP_E_LIMIT ? "too many events are waiting to be stored" : "out of memory");
    if (rc) rp__batch_done(&a->batch, false);
  } else if (rc == RP__PREPARE_LATER) {
    rc = wait_behind(a, err);
  }
  pthread_mutex_unlock(&l->order);
  return rc;
}

int rp_append_many_async(rp_session *s, const rp_event *ev, size_t n, const rp_append_options *o, rp_append_fn *done,
                         void *ctx, rp_error *err)
{
  static const rp_append_options defaults = {.expect = -1};
  int rc = rp__session_check(s, err);
  if (!rc) rc = check_sizes(s, ev, n, err);
  if (rc) return rc;
  struct rp__async *a = async_new(s, ev, n, o ? o : &defaults);
  if (!a) return rp__fail_nomem(err);
  a->done = done;
  a->ctx = ctx;
  hold(s); /* a may be gone before the lock on its order is given back */
  rc = send_off(a, err);
  if (rc) {
    rp__journal_settle(s, ev, n, NULL, rc);
    async_free(a);
  }
  rp__session_unref(s);
  return rc;
}

int rp_append_check(rp_session *s, const rp_event *ev, size_t n, const rp_append_options *o, rp_error *err)
{
  static const rp_append_options defaults = {.expect = -1};
  int rc = rp__session_check(s, err);
  if (!rc) rc = check_sizes(s, ev, n, err);
  return rc ? rc : rp__batch_check(s, ev, n, o ? o : &defaults, err);
}

int rp_append_async(rp_session *s, const rp_event *ev, const rp_append_options *o, rp_append_fn *done, void *ctx,
                    rp_error *err)
{
  return rp_append_many_async(s, ev, 1, o, done, ctx, err);
}
