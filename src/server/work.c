/* SPDX-License-Identifier: Apache-2.0 */
#include "server/work.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/id.h"
#include "server/agent.h"
#include "server/server.h"
#include "server/socket.h"
#include "server/watchdog.h"

#define JOBS_MAX 16
#define JITTER 0.1

/* ---- the jobs ---- */

static int drain_spill(struct rp__server *srv, rp_error *err)
{
  struct rp__spill_counts counts;
  if (rp__spill_drain(srv->spill)) return 0;
  rp__spill_counts(srv->spill, &counts);
  return rp__fail(err, RP_E_BUSY, "%lld events wait for the store", (long long)counts.waiting_events);
}

static int trim_registry(struct rp__server *srv, rp_error *err)
{
  (void)err;
  rp__registry_trim(srv->registry, RP_REGISTRY_IDLE);
  return 0;
}

const struct rp__work_job rp__work_jobs[] = {
    {"heartbeats", 1000, rp__channels_beat},
    {"leaving", 500, rp__channels_leave},
    {"agents", 1000, rp__agents_tend},
    {"spill", 500, drain_spill},
    {"registry", 5000, trim_registry},
    {"watchdog", 1000, rp__watchdog_run},
    {0},
};

/* ---- the thread ---- */

struct state {
  int64_t due_ms; /* monotonic */
  bool failing;
  atomic_llong ok, failed, busy_us;
};

struct rp__work {
  struct rp__server *srv;
  const struct rp__work_job *jobs;
  size_t n;
  struct state state[JOBS_MAX];
  pthread_mutex_t lock;
  pthread_cond_t changed;
  bool stop, running;
  pthread_t thread;
};

static int64_t now_us(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static int64_t with_jitter(int64_t ms)
{
  uint16_t dice;
  rp__system_random.fill(NULL, &dice, sizeof dice);
  return (int64_t)llround((double)ms * (1 + JITTER * (dice / 32767.5 - 1)));
}

/* What fails is told when it begins and when it ends; the counters have the rest. */
static void tell(struct rp__work *w, size_t i, int rc, const rp_error *err)
{
  struct state *s = &w->state[i];
  if (rc && !s->failing)
    rp__slog(&w->srv->log, RP_LOG_WARN, "work_failing", RP_F("job", w->jobs[i].name), RP_F("error", err->message));
  if (!rc && s->failing) rp__slog(&w->srv->log, RP_LOG_INFO, "work_recovered", RP_F("job", w->jobs[i].name));
  s->failing = rc != 0;
}

static void run_job(struct rp__work *w, size_t i)
{
  rp_error err = {0};
  struct state *s = &w->state[i];
  int64_t began = now_us();
  int rc = w->jobs[i].run(w->srv, &err);
  atomic_fetch_add(&s->busy_us, now_us() - began);
  atomic_fetch_add(rc ? &s->failed : &s->ok, 1);
  tell(w, i, rc, &err);
}

/* The job that is due first. With the lock held. */
static size_t next_job(const struct rp__work *w)
{
  size_t first = 0;
  for (size_t i = 1; i < w->n; i++)
    if (w->state[i].due_ms < w->state[first].due_ms) first = i;
  return first;
}

static void *work_main(void *arg)
{
  struct rp__work *w = arg;
  pthread_mutex_lock(&w->lock);
  while (!w->stop) {
    size_t i = next_job(w);
    int64_t now = now_us() / 1000, due = w->state[i].due_ms;
    if (due > now) {
      struct timespec until = {due / 1000, due % 1000 * 1000000};
      pthread_cond_timedwait(&w->changed, &w->lock, &until);
      continue;
    }
    w->state[i].due_ms = INT64_MAX; /* a poke while it runs still counts */
    pthread_mutex_unlock(&w->lock);
    run_job(w, i);
    pthread_mutex_lock(&w->lock);
    w->state[i].due_ms = RP_MIN(w->state[i].due_ms, now_us() / 1000 + with_jitter(w->jobs[i].period_ms));
  }
  pthread_mutex_unlock(&w->lock);
  return NULL;
}

int rp__work_new_of(struct rp__server *srv, const struct rp__work_job *jobs, struct rp__work **ret, rp_error *err)
{
  pthread_condattr_t attr;
  struct rp__work *w = calloc(1, sizeof *w);
  if (!w) return rp__fail_nomem(err);
  w->srv = srv;
  w->jobs = jobs;
  while (w->n < JOBS_MAX && jobs[w->n].name) w->n++;
  pthread_mutex_init(&w->lock, NULL);
  pthread_condattr_init(&attr);
  pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
  pthread_cond_init(&w->changed, &attr);
  pthread_condattr_destroy(&attr);
  *ret = w;
  return 0;
}

int rp__work_new(struct rp__server *srv, struct rp__work **ret, rp_error *err)
{
  _Static_assert(RP_ARRAY_SIZE(rp__work_jobs) <= JOBS_MAX + 1, "JOBS_MAX");
  return rp__work_new_of(srv, rp__work_jobs, ret, err);
}

int rp__work_start(struct rp__work *w, rp_error *err)
{
  for (size_t i = 0; i < w->n; i++) w->state[i].due_ms = now_us() / 1000 + with_jitter(w->jobs[i].period_ms);
  if (pthread_create(&w->thread, NULL, work_main, w)) return rp__fail(err, RP_E_NOMEM, "a thread can't be started");
  w->running = true;
  return 0;
}

void rp__work_poke(struct rp__work *w, const char *job)
{
  if (!w) return;
  pthread_mutex_lock(&w->lock);
  for (size_t i = 0; i < w->n; i++)
    if (strcmp(w->jobs[i].name, job) == 0) w->state[i].due_ms = 0;
  pthread_cond_signal(&w->changed);
  pthread_mutex_unlock(&w->lock);
}

void rp__work_stop(struct rp__work *w)
{
  if (!w || !w->running) return;
  pthread_mutex_lock(&w->lock);
  w->stop = true;
  pthread_cond_signal(&w->changed);
  pthread_mutex_unlock(&w->lock);
  pthread_join(w->thread, NULL);
  w->running = false;
}

void rp__work_free(struct rp__work *w)
{
  if (!w) return;
  rp__work_stop(w);
  pthread_cond_destroy(&w->changed);
  pthread_mutex_destroy(&w->lock);
  free(w);
}

void rp__work_metrics(const struct rp__work *w, struct rp__buf *out)
{
  if (!w) return;
  rp__buf_str(out, "# HELP reprise_server_work_runs_total Runs of the server's background jobs.\n"
                   "# TYPE reprise_server_work_runs_total counter\n");
  for (size_t i = 0; i < w->n; i++)
    rp__buf_printf(out,
                   "reprise_server_work_runs_total{job=\"%s\",result=\"ok\"} %lld\n"
                   "reprise_server_work_runs_total{job=\"%s\",result=\"failed\"} %lld\n",
                   w->jobs[i].name, atomic_load(&w->state[i].ok), w->jobs[i].name, atomic_load(&w->state[i].failed));
  rp__buf_str(out, "# HELP reprise_server_work_seconds_total Time spent in them.\n"
                   "# TYPE reprise_server_work_seconds_total counter\n");
  for (size_t i = 0; i < w->n; i++)
    rp__buf_printf(out, "reprise_server_work_seconds_total{job=\"%s\"} %.6f\n", w->jobs[i].name,
                   (double)atomic_load(&w->state[i].busy_us) / 1e6);
}
