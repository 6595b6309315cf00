/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keeper thread. It wakes when it is poked and about once a second. A job with an interval of its own runs at its
 * own times, however often the thread wakes. Times vary by a tenth, so that many engines opened together do not all
 * work at the same moment.
 */
#include "engine/keep/background-jobs.h"
#include "base/ticks.h"

#include <errno.h>
#include <time.h>

#include "base/process/thread.h"
#include "engine/keep/abandon.h"
#include "engine/files.h"
#include "engine/capture/mirror.h"

#define TICK_MS 1000
#define PRUNE_MS (3600 * 1000)
#define SWEEP_MS (60 * 1000)
#define COLLECT_MS (3600 * 1000)
#define INDEX_STEPS 16 /* per tick, so that a backlog does not keep the thread from checkpoints */
#define IDLE_STEPS 512 /* sessions marked idle per tick, for the same reason */
#define SKIP_MAX 256   /* handles passed over while others wait for the list */

#define NOTHING 1 /* what a job returns that found nothing to do */
_Static_assert(NOTHING == RP__MIRROR_NONE, "a mirror is a job");

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

/* ---- sessions ---- */

typedef bool wants_fn(const rp_session *s, int64_t ticks);

/*
 * The next handle in the list after `s` (NULL: the first) that may want something, with a reference of ours; drops the
 * one on `s`. It may want nothing after all: who comes here looks again.
 */
static rp_session *next_session(rp_engine *e, rp_session *s, wants_fn *wants, int64_t ticks)
{
  int skipped = 0;
  pthread_mutex_lock(&e->lock);
  rp_session *n = s ? s->next : e->sessions;
  while (n && !wants(n, ticks) && n->next && ++skipped < SKIP_MAX) n = n->next;
  if (n) n->refs++;
  pthread_mutex_unlock(&e->lock);
  if (s) rp__session_unref(s);
  return n;
}

static bool wants_checkpoint(const rp_session *s, int64_t ticks)
{
  (void)ticks;
  return atomic_load(&s->touched) || atomic_load(&s->checkpoint_due) || atomic_load(&s->retry_at);
}

static bool wants_rest(const rp_session *s, int64_t ticks)
{
  long long at = atomic_load(&s->quiet_at);
  return at && ticks >= at;
}

static bool wants_mirror(const rp_session *s, int64_t ticks)
{
  (void)ticks;
  return atomic_load(&s->mirror_due);
}

/* A pass failed when anything in it did. */
static int pass(int so_far, int rc)
{
  if (rc == NOTHING || so_far < 0) return so_far;
  return rc;
}

static int checkpoint_if_due(rp_session *s, int64_t ticks)
{
  enum rp__due due = rp__checkpoint_due(s, ticks);
  if (!due) return NOTHING;
  atomic_store(&s->touched, false); /* what comes from here on sets it again */
  return rp__checkpoint_run(s, due);
}

void rp__keeper_due(rp_session *s)
{
  rp_engine *e = s->e;
  pthread_mutex_lock(&e->lock);
  if (!s->due_listed) {
    s->due_listed = true;
    s->due_next = e->due;
    s->refs++;
    e->due = s;
  }
  pthread_mutex_unlock(&e->lock);
  rp__keeper_poke(&e->keeper);
}

/* With the list's reference. */
static rp_session *due_pop(rp_engine *e)
{
  pthread_mutex_lock(&e->lock);
  rp_session *s = e->due;
  if (s) {
    e->due = s->due_next;
    s->due_listed = false;
  }
  pthread_mutex_unlock(&e->lock);
  return s;
}

/* ---- jobs: 0, an error, or NOTHING ---- */

static int tend_log(rp_engine *e, bool tick, rp_error *err)
{
  (void)tick;
  if (!atomic_exchange(&e->keeper.wal_due, false)) return NOTHING;
  return e->store->ops->maintain(e->store, RP_MAINTAIN_WAL, NULL, err);
}

/* Between ticks, of those alone that are known to be due. */
static int make_checkpoints(rp_engine *e, bool tick, rp_error *err)
{
  int64_t ticks = rp__engine_ticks(e);
  int rc = NOTHING;
  for (rp_session *s; (s = due_pop(e)); rp__session_unref(s)) rc = pass(rc, checkpoint_if_due(s, ticks));
  for (rp_session *s = NULL; tick && (s = next_session(e, s, wants_checkpoint, ticks));)
    rc = pass(rc, checkpoint_if_due(s, ticks));
  return rc < 0 ? rp__fail(err, rc, "a checkpoint failed; it is tried again") : rc;
}

static int mark_idle(rp_engine *e, bool tick, rp_error *err)
{
  int64_t ticks = rp__engine_ticks(e);
  int rc = NOTHING, marked = 0;
  (void)tick;
  for (rp_session *s = NULL; (s = next_session(e, s, wants_rest, ticks));) {
    int one = wants_rest(s, ticks) ? rp__session_rest(s, ticks, err) : 0;
    rc = pass(rc, one > 0 ? 0 : one == 0 ? NOTHING : one);
    marked += one > 0;
    if (marked < IDLE_STEPS) continue;
    rp__session_unref(s);
    break;
  }
  return rc;
}

static int beat_mirrors(rp_engine *e, bool tick, rp_error *err)
{
  int rc = NOTHING;
  (void)tick, (void)err;
  for (rp_session *s = NULL; (s = next_session(e, s, wants_mirror, 0));)
    if (rp__session_mirror_beat(s)) rc = 0;
  return rc;
}

static int mirror_stores(rp_engine *e, bool tick, rp_error *err)
{
  (void)tick;
  return rp__mirror_stores(e, false, err);
}

/* Full text follows when nobody is writing; a search brings it up to date anyway. */
static int tend_index(rp_engine *e, bool tick, rp_error *err)
{
  (void)tick;
  pthread_mutex_lock(&e->queue.lock);
  bool busy = e->queue.led;
  int64_t txns = e->queue.txns, left = 1;
  pthread_mutex_unlock(&e->queue.lock);
  if (busy || txns == e->keeper.indexed_at) return NOTHING;
  int rc = 0;
  for (int i = 0; !rc && i < INDEX_STEPS && left; i++)
    rc = e->store->ops->maintain(e->store, RP_MAINTAIN_INDEX, &left, err);
  if (!rc && !left) e->keeper.indexed_at = txns;
  return rc;
}

int rp__keeper_prune(rp_engine *e, rp_error *err)
{
  int64_t left = 1;
  int rc = 0;
  for (int i = 0; !rc && i < INDEX_STEPS && left; i++)
    rc = e->store->ops->maintain(e->store, RP_MAINTAIN_PRUNE, &left, err);
  return rc;
}

/* Idempotency keys that are old, and the key of tails when its day is over. */
static int tend_keys(rp_engine *e, bool tick, rp_error *err)
{
  (void)tick;
  int rc = rp__tail_keys_used(e) ? rp__tail_key_ready(e, true, err) : 0;
  return rc ? rc : rp__keeper_prune(e, err);
}

static int sweep_abandoned(rp_engine *e, bool tick, rp_error *err)
{
  (void)tick;
  if (!e->keeper.swept) rp__files_sweep(e); /* from then on it is part of collecting */
  e->keeper.swept = true;
  return rp__abandon_sweep(e, NULL, NULL, err);
}

static int collect(rp_engine *e, bool tick, rp_error *err)
{
  rp_gc_options o = {0};
  (void)tick;
  return rp_gc(e, &o, NULL, NULL, NULL, NULL, NULL, err);
}

static const struct {
  const char *name;
  int (*run)(rp_engine *e, bool tick, rp_error *err);
  int64_t period_ms;  /* 0: at every tick */
  bool poked;         /* also when somebody pokes */
  bool later;         /* for the first time after a period, not when the engine is opened */
  rp_log_level level; /* of a failure */
} jobs[RP_JOB_MAX] = {
    [RP_JOB_WAL] = {"wal", tend_log, .poked = true, .level = RP_LOG_DEBUG},
    [RP_JOB_CHECKPOINTS] = {"checkpoints", make_checkpoints, .poked = true, .level = RP_LOG_DEBUG},
    [RP_JOB_IDLE] = {"idle", mark_idle, .level = RP_LOG_DEBUG},
    [RP_JOB_MIRRORS] = {"mirrors", beat_mirrors, .level = RP_LOG_DEBUG},
    [RP_JOB_STORES] = {"stores", mirror_stores, .level = RP_LOG_WARN},
    [RP_JOB_INDEX] = {"index", tend_index, .level = RP_LOG_DEBUG},
    [RP_JOB_PRUNE] = {"prune", tend_keys, PRUNE_MS, .level = RP_LOG_DEBUG},
    [RP_JOB_SWEEP] = {"sweep", sweep_abandoned, SWEEP_MS, .level = RP_LOG_WARN},
    [RP_JOB_COLLECT] = {"collect", collect, COLLECT_MS, .later = true, .level = RP_LOG_WARN},
};

const char *rp__job_name(enum rp__keeper_job job)
{
  return jobs[job].name;
}

/* ---- their times ---- */

/* A tenth more or less. */
static int64_t spread(int64_t ms)
{
  uint32_t r;
  rp__system_random.fill(rp__system_random.ctx, &r, sizeof r);
  return ms - ms / 10 + (int64_t)(r % (uint64_t)(ms / 5 + 1));
}

/* Whether it is the job's time, and when it is next. A clock that was set back makes nobody wait for longer. */
static bool is_time(struct rp__keeper *k, enum rp__keeper_job job, bool tick, int64_t ticks)
{
  int64_t period = jobs[job].period_ms, at = atomic_load(&k->next_at[job]);
  if (!period) return tick || jobs[job].poked;
  if (at && ticks < at && at - ticks <= 2 * period) return false;
  atomic_store(&k->next_at[job], ticks + spread(period));
  return at || !jobs[job].later;
}

static void run_job(rp_engine *e, enum rp__keeper_job job, bool tick)
{
  struct rp__job_stats *stats = &e->metrics.jobs[job];
  rp_error err = {0};
  int64_t began = rp__engine_micros(e);
  int rc = jobs[job].run(e, tick, &err);
  atomic_fetch_add(&stats->micros, rp__engine_micros(e) - began);
  if (rc == NOTHING) return;
  atomic_fetch_add(rc ? &stats->failed : &stats->ok, 1);
  if (rc) rp__log(&e->log, jobs[job].level, "background work, %s: %s", jobs[job].name, err.message);
}

static void *keeper_main(void *arg)
{
  rp_engine *e = arg;
  struct rp__keeper *k = &e->keeper;
  struct timespec until = rp__ticks_after_us(spread(TICK_MS) * 1000), now;
  bool tick = true; /* what is due when the engine is opened */
  pthread_mutex_lock(&k->lock);
  while (!k->stop) {
    k->poked = false;
    pthread_mutex_unlock(&k->lock);
    int64_t ticks = rp__engine_ticks(e);
    for (int job = 0; job < RP_JOB_MAX; job++)
      if (is_time(k, (enum rp__keeper_job)job, tick, ticks)) run_job(e, (enum rp__keeper_job)job, tick);
    if (tick) until = rp__ticks_after_us(spread(TICK_MS) * 1000);
    tick = false;
    pthread_mutex_lock(&k->lock);
    while (!k->poked && !k->stop && !tick) tick = pthread_cond_timedwait(&k->wake, &k->lock, &until) == ETIMEDOUT;
    now = rp__ticks_after_us(0); /* whoever pokes all the time keeps no tick away */
    tick = tick || now.tv_sec > until.tv_sec || (now.tv_sec == until.tv_sec && now.tv_nsec >= until.tv_nsec);
  }
  pthread_mutex_unlock(&k->lock);
  return NULL;
}

void rp__keeper_start(rp_engine *e)
{
  struct rp__keeper *k = &e->keeper;
  if (e->short_lived || e->read_only) return;
  pthread_mutex_lock(&k->lock);
  if (!k->started && !k->stop) k->started = rp__thread_start(&k->thread, "reprise-keeper", keeper_main, e) == 0;
  pthread_mutex_unlock(&k->lock);
}

void rp__keeper_poke(struct rp__keeper *k)
{
  pthread_mutex_lock(&k->lock);
  k->poked = true;
  pthread_cond_signal(&k->wake);
  pthread_mutex_unlock(&k->lock);
}

void rp__keeper_done(rp_engine *e)
{
  struct rp__keeper *k = &e->keeper;
  pthread_mutex_lock(&k->lock);
  k->stop = true;
  pthread_cond_signal(&k->wake);
  pthread_mutex_unlock(&k->lock);
  if (k->started) pthread_join(k->thread, NULL);
  for (rp_session *s; (s = due_pop(e));) rp__session_unref(s);
  pthread_cond_destroy(&k->wake);
  pthread_mutex_destroy(&k->lock);
}
