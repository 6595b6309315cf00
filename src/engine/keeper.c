/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/keeper.h"

#include <errno.h>
#include <time.h>

#include "engine/abandon.h"

#define TICK_MS 1000
#define PRUNE_MS (3600 * 1000)
#define SWEEP_MS (60 * 1000)
#define COLLECT_MS (3600 * 1000)
#define INDEX_STEPS 16 /* per tick, so that a backlog does not keep the thread from checkpoints */

int rp__keeper_init(struct rp__keeper *k)
{
  pthread_condattr_t attr;
  *k = (struct rp__keeper){0};
  if (pthread_mutex_init(&k->lock, NULL)) return RP_E_NOMEM;
  pthread_condattr_init(&attr);
  pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
  int rc = pthread_cond_init(&k->wake, &attr) ? RP_E_NOMEM : 0;
  pthread_condattr_destroy(&attr);
  if (rc) pthread_mutex_destroy(&k->lock);
  return rc;
}

/* The next session in the list after `s` (NULL: the first) with a reference of ours; drops the one on `s`. */
static rp_session *next_session(rp_engine *e, rp_session *s)
{
  pthread_mutex_lock(&e->lock);
  rp_session *n = s ? s->next : e->sessions;
  if (n) rp__session_ref(n);
  pthread_mutex_unlock(&e->lock);
  if (s) rp__session_unref(s);
  return n;
}

static void make_checkpoints(rp_engine *e)
{
  int64_t ticks = rp__engine_ticks(e);
  for (rp_session *s = next_session(e, NULL); s; s = next_session(e, s)) {
    enum rp__due due = rp__checkpoint_due(s, ticks);
    if (due) rp__checkpoint_run(s, due);
    rp__session_rest(s, ticks);
    rp__session_mirror_beat(s);
  }
}

static void tend_log(rp_engine *e)
{
  rp_error err = {0};
  if (!atomic_exchange(&e->keeper.wal_due, false)) return;
  if (e->store->ops->maintain(e->store, RP_MAINTAIN_WAL, NULL, &err))
    rp__log(&e->log, RP_LOG_DEBUG, "checkpoint of the write-ahead log: %s", err.message);
}

/* Full text follows when nobody is writing; a search brings it up to date anyway. */
static void tend_index(rp_engine *e)
{
  pthread_mutex_lock(&e->queue.lock);
  bool busy = e->queue.led;
  int64_t txns = e->queue.txns, left = 1;
  pthread_mutex_unlock(&e->queue.lock);
  if (busy || txns == e->keeper.indexed_at) return;
  for (int i = 0; i < INDEX_STEPS && left; i++)
    if (e->store->ops->maintain(e->store, RP_MAINTAIN_INDEX, &left, NULL)) return;
  if (!left) e->keeper.indexed_at = txns;
}

void rp__keeper_prune(rp_engine *e)
{
  int64_t left = 1;
  for (int i = 0; i < INDEX_STEPS && left; i++)
    if (e->store->ops->maintain(e->store, RP_MAINTAIN_PRUNE, &left, NULL)) return;
}

static void tend_keys(rp_engine *e)
{
  int64_t ticks = rp__engine_ticks(e);
  if (e->keeper.pruned_at && ticks - e->keeper.pruned_at < PRUNE_MS) return;
  e->keeper.pruned_at = ticks;
  rp__keeper_prune(e);
}

/* L-09, X-15: sessions that nobody closed, and what has become old. Never on a caller's path. */
static void tend_past(rp_engine *e)
{
  rp_error err = {0};
  rp_gc_options o = {0};
  int64_t ticks = rp__engine_ticks(e);
  if (!e->keeper.swept_at) e->keeper.swept_at = e->keeper.collected_at = ticks;
  if (ticks - e->keeper.swept_at >= SWEEP_MS) {
    e->keeper.swept_at = ticks;
    if (rp__abandon_sweep(e, NULL, NULL, &err)) rp__log(&e->log, RP_LOG_WARN, "abandoned sessions: %s", err.message);
  }
  if (ticks - e->keeper.collected_at < COLLECT_MS) return;
  e->keeper.collected_at = ticks;
  if (rp_gc(e, &o, NULL, NULL, NULL, NULL, NULL, &err)) rp__log(&e->log, RP_LOG_WARN, "retention: %s", err.message);
}

static void *keeper_main(void *arg)
{
  rp_engine *e = arg;
  struct rp__keeper *k = &e->keeper;
  pthread_mutex_lock(&k->lock);
  while (!k->stop) {
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += TICK_MS / 1000;
    bool quiet = false;
    while (!k->poked && !k->stop && !quiet) quiet = pthread_cond_timedwait(&k->wake, &k->lock, &until) == ETIMEDOUT;
    k->poked = false;
    pthread_mutex_unlock(&k->lock);
    tend_log(e);
    make_checkpoints(e);
    if (quiet) tend_index(e);
    if (quiet) tend_keys(e);
    if (quiet) tend_past(e);
    pthread_mutex_lock(&k->lock);
  }
  pthread_mutex_unlock(&k->lock);
  return NULL;
}

void rp__keeper_start(rp_engine *e)
{
  struct rp__keeper *k = &e->keeper;
  if (e->short_lived || e->read_only) return;
  pthread_mutex_lock(&k->lock);
  if (!k->started && !k->stop) k->started = pthread_create(&k->thread, NULL, keeper_main, e) == 0;
  pthread_mutex_unlock(&k->lock);
}

void rp__keeper_poke(struct rp__keeper *k)
{
  pthread_mutex_lock(&k->lock);
  k->poked = true;
  pthread_cond_signal(&k->wake);
  pthread_mutex_unlock(&k->lock);
}

void rp__keeper_done(struct rp__keeper *k)
{
  pthread_mutex_lock(&k->lock);
  k->stop = true;
  pthread_cond_signal(&k->wake);
  pthread_mutex_unlock(&k->lock);
  if (k->started) pthread_join(k->thread, NULL);
  pthread_cond_destroy(&k->wake);
  pthread_mutex_destroy(&k->lock);
}
