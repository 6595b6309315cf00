/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The publisher's thread. It sleeps while there are no subscribers. Otherwise it looks for new events at most once a
 * millisecond, however many there are, and tells the loop which journals with subscribers have grown. A hub that grew
 * several times before the loop took notice is reported once, so nothing queues up.
 */
#include "server/live/hub.h"
#include "base/ticks.h"

#include "base/process/thread.h"

#define AGAIN_MS 100      /* after a failure */
#define CHANGES_MAX 65536 /* events looked at in one call */

#define OF(member, p) ((struct rp__live *)(void *)((char *)(p)-offsetof(struct rp__live, member)))

/* ---- what the loop is told ---- */

static void on_news(struct rp__job *job)
{
  struct rp__live *l = OF(news, job);
  struct rp__hub *told = NULL;
  pthread_mutex_lock(&l->lock);
  bool all = l->resync;
  for (struct rp__hub *h = l->grown; h; h = h->grown_next) {
    h->grown = false;
    h->told = RP_MAX(h->told, h->news);
    h->next_told = told;
    told = h;
  }
  l->grown = NULL;
  l->resync = l->posted = false;
  pthread_mutex_unlock(&l->lock);
  for (; told; told = told->next_told) rp__hub_pump(told);
  for (size_t i = 0; all && i < RP_LIVE_BUCKETS; i++)
    for (struct rp__hub *h = l->bucket[i]; h; h = h->next) {
      h->look = true;
      rp__hub_pump(h);
    }
}

/* ---- the thread ---- */

static int on_change(void *ctx, int64_t number, int64_t seq)
{
  struct rp__live *l = ctx;
  pthread_mutex_lock(&l->lock);
  struct rp__hub *h = rp__hub_find(l, number);
  if (h) h->news = RP_MAX(h->news, seq);
  if (h && !h->grown) {
    h->grown = true;
    h->grown_prev = NULL;
    h->grown_next = l->grown;
    if (l->grown) l->grown->grown_prev = h;
    l->grown = h;
  }
  pthread_mutex_unlock(&l->lock);
  return 0;
}

/* A cursor that begins anew may have missed something: then everybody looks. */
static int look(struct rp__live *l, int64_t *cursor, rp_error *err)
{
  int64_t before;
  bool anew = *cursor < 0;
  do {
    before = *cursor;
    int rc = rp_changes(l->srv->engine, cursor, CHANGES_MAX, on_change, l, err);
    if (rc) return rc;
  } while (!anew && *cursor - before >= CHANGES_MAX);
  atomic_fetch_add(&l->commits, 1);
  pthread_mutex_lock(&l->lock);
  if (anew) l->resync = true;
  bool due = (l->grown || l->resync) && !l->posted;
  if (due) l->posted = rp__loop_post(l->srv->loop, &l->news);
  pthread_mutex_unlock(&l->lock);
  return 0;
}

static void pause_us(struct rp__live *l, int64_t us)
{
  if (us <= 0) return;
  struct timespec until = rp__ticks_after_us(us);
  pthread_mutex_lock(&l->lock);
  while (!l->stop && pthread_cond_timedwait(&l->wanted, &l->lock, &until) == 0) continue;
  pthread_mutex_unlock(&l->lock);
}

static void *publish(void *arg)
{
  struct rp__live *l = arg;
  int64_t cursor = -1;
  bool failing = false;
  for (;;) {
    rp_error err = {0};
    pthread_mutex_lock(&l->lock);
    while (!l->stop && !l->listeners) {
      cursor = -1; /* what is stored while nobody listens is not seen */
      pthread_cond_wait(&l->wanted, &l->lock);
    }
    bool stop = l->stop;
    pthread_mutex_unlock(&l->lock);
    if (stop) return NULL;
    /* One look at what was stored, when something was. */
    int rc = cursor < 0 ? look(l, &cursor, &err) : 0;
    if (!rc) rc = rp_changes_wait(l->srv->engine, -1, &err);
    if (rc > 0) {
      int64_t began = rp__ticks_us();
      rc = look(l, &cursor, &err);
      if (!rc) pause_us(l, began + RP_LIVE_PASS_US - rp__ticks_us());
    }
    if (rc && !failing)
      rp__slog(&l->srv->log, RP_LOG_WARN, "publisher", RP_F("code", rp_error_lookup(rc)->name),
               RP_F("error", err.message));
    failing = rc != 0;
    if (!rc) continue;
    cursor = -1;
    pause_us(l, AGAIN_MS * 1000);
  }
}

void rp__live_listeners(struct rp__live *l, int change)
{
  pthread_mutex_lock(&l->lock);
  l->listeners += (size_t)change;
  pthread_cond_signal(&l->wanted);
  pthread_mutex_unlock(&l->lock);
}

/* ---- sessions that are deleted without a word in their journal ---- */

struct swept {
  int64_t number, created;
  int rc;
  char id[RP_ID_MAX + 1];
};

struct sweep {
  struct rp__task task;
  struct rp__job job;
  struct rp__live *l;
  size_t n;
  struct swept p[];
};

static void on_swept(struct rp__job *job)
{
  struct sweep *w = (struct sweep *)(void *)((char *)job - offsetof(struct sweep, job));
  struct rp__live *l = w->l;
  l->sweeping = false;
  for (size_t i = 0; i < w->n; i++) {
    struct rp__hub *h = rp__hub_find(l, w->p[i].number);
    rp_error err = {0};
    if (!h) continue;
    if (!w->p[i].rc) h->created = w->p[i].created;
    if (w->p[i].rc != RP_E_SESSION_NOT_FOUND) continue;
    rp__fail(&err, RP_E_SESSION_NOT_FOUND, "session %s was deleted", w->p[i].id);
    rp__hub_gone(h, &err);
  }
  free(w);
}

static void sweep_run(struct rp__task *t)
{
  struct sweep *w = (struct sweep *)(void *)t;
  int64_t seq;
  for (size_t i = 0; i < w->n; i++)
    w->p[i].rc = rp__page_look(w->l->srv->engine, w->p[i].id, &w->p[i].created, &seq, NULL);
  if (!rp__loop_post(w->l->srv->loop, &w->job)) free(w);
}

/* A round over all hubs after something was stored, a part per tick. */
static void sweep(struct rp__live *l)
{
  int64_t commits = atomic_load(&l->commits);
  if (l->sweeping) return;
  if (l->sweep_at >= RP_LIVE_BUCKETS) l->sweep_at = 0;
  if (l->sweep_at == 0) {
    if (commits == l->swept_commits) return;
    l->swept_commits = commits;
  }
  /* The hubs in the buckets up to `end`: not many more than one sweep takes. */
  size_t n = 0, end = l->sweep_at;
  for (; end < RP_LIVE_BUCKETS && n < RP_LIVE_SWEEP; end++)
    for (const struct rp__hub *h = l->bucket[end]; h; h = h->next) n++;
  struct sweep *w = calloc(1, sizeof *w + n * sizeof w->p[0]);
  if (!w) return;
  w->l = l;
  w->task.fn = sweep_run;
  w->job.fn = on_swept;
  for (; l->sweep_at < end; l->sweep_at++)
    for (const struct rp__hub *h = l->bucket[l->sweep_at]; h; h = h->next) {
      struct swept *to = &w->p[w->n++];
      to->number = h->number;
      to->created = h->created;
      snprintf(to->id, sizeof to->id, "%s", h->entry->id);
    }
  l->sweeping = n && rp__pool_post(l->readers, &w->task);
  if (!l->sweeping) free(w);
}

static void on_tick(struct rp__timer *t)
{
  struct rp__live *l = OF(tick, t);
  l->ticking = false;
  if (l->stopped || (!l->n_hubs && !l->rolls)) return;
  if (l->failures) {
    l->failures = 0;
    for (size_t i = 0; i < RP_LIVE_BUCKETS; i++)
      for (struct rp__hub *h = l->bucket[i]; h; h = h->next)
        if (h->failed) {
          h->failed = false;
          rp__hub_pump(h);
        }
  }
  sweep(l);
  rp__session_lists_tick(l);
  rp__live_tick(l);
}

void rp__live_tick(struct rp__live *l)
{
  if (!l->ticking) l->ticking = rp__timer_start(l->srv->loop, &l->tick, RP_LIVE_TICK_MS) == 0;
}

/* ---- life ---- */

int rp__live_new(struct rp__server *srv, struct rp__live **ret, rp_error *err)
{
  struct rp__live *l = calloc(1, sizeof *l);
  if (!l) return rp__fail_nomem(err);
  l->srv = srv;
  l->news.fn = on_news;
  l->tick.fn = on_tick;
  pthread_condattr_t attr;
  pthread_mutex_init(&l->lock, NULL);
  pthread_condattr_init(&attr);
  pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
  pthread_cond_init(&l->wanted, &attr);
  pthread_condattr_destroy(&attr);
  int rc = rp__pool_new(RP_LIVE_READERS, &l->readers, err);
  if (rc) {
    rp__live_free(l);
    return rc;
  }
  *ret = l;
  return 0;
}

int rp__live_start(struct rp__live *l, rp_error *err)
{
  if (rp__thread_start(&l->thread, "reprise-publish", publish, l))
    return rp__fail(err, RP_E_NOMEM, "a thread can't be started");
  l->started = true;
  return 0;
}

struct halt {
  struct rp__job job;
  struct rp__live *l;
  pthread_mutex_t lock;
  pthread_cond_t change;
  bool done;
};

static void on_halt(struct rp__job *job)
{
  struct halt *h = (struct halt *)(void *)job;
  h->l->stopped = true;
  rp__timer_stop(h->l->srv->loop, &h->l->tick);
  pthread_mutex_lock(&h->lock);
  h->done = true;
  pthread_cond_signal(&h->change);
  pthread_mutex_unlock(&h->lock);
}

void rp__live_stop(struct rp__live *l)
{
  if (!l->readers) return;
  pthread_mutex_lock(&l->lock);
  l->stop = true;
  pthread_cond_signal(&l->wanted);
  pthread_mutex_unlock(&l->lock);
  if (l->started) {
    rp_changes_wake(l->srv->engine);
    pthread_join(l->thread, NULL);
    l->started = false;
  }
  /* From here on the loop asks for no more pages. */
  struct halt h = {.job.fn = on_halt, .l = l, .lock = PTHREAD_MUTEX_INITIALIZER, .change = PTHREAD_COND_INITIALIZER};
  if (rp__loop_post(l->srv->loop, &h.job)) {
    pthread_mutex_lock(&h.lock);
    while (!h.done) pthread_cond_wait(&h.change, &h.lock);
    pthread_mutex_unlock(&h.lock);
  }
  rp__pool_free(RP_TAKE(l->readers));
}

void rp__live_free(struct rp__live *l)
{
  if (!l) return;
  rp__live_stop(l);
  l->stopped = true;
  rp__session_lists_free(l);
  for (size_t i = 0; i < RP_LIVE_BUCKETS; i++)
    while (l->bucket[i]) rp__hub_free(l->bucket[i]);
  pthread_cond_destroy(&l->wanted);
  pthread_mutex_destroy(&l->lock);
  free(l);
}

void rp__live_counts(const struct rp__live *l, struct rp__live_counts *ret)
{
  *ret = (struct rp__live_counts){
      .subscriptions = atomic_load(&l->n_subs),
      .list_subscriptions = atomic_load(&l->n_list_subs),
      .events = atomic_load(&l->events),
      .deliveries = atomic_load(&l->deliveries),
      .held_back = atomic_load(&l->held_back),
      .resets = atomic_load(&l->resets),
  };
}
