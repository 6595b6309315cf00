/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server's background jobs: a table of jobs with their intervals, each on a thread of its own. Here are also the
 * heartbeats for clients that are present, and the service manager's watchdog.
 */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/id.h"
#include "base/process/thread.h"
#include "base/ticks.h"
#include "server/agent/agent.h"
#include "server/channel/channel.h"
#include "server/http/mcp-clients.h"
#include "server/server.h"

#define JOBS_MAX 16
#define JITTER 0.1
#define DRAIN_MS 2000 /* for events that waited for the store, in one run */
#define TRIM_BATCH 64 /* handles let go of in one run, each with a checkpoint perhaps */

#define BEATS_MS 200       /* of one run of heartbeats; then the job is due again */
#define TELLS_PER_PERIOD 3 /* of the watchdog: one may be late, and another lost */

/* ---- heartbeats ---- */

struct round {
  struct rp__server *srv;
  int64_t now_ms;
};

static void after_heartbeat(void *ctx, rp_presence_kind kind, void *host, int rc)
{
  struct round *r = ctx;
  if (atomic_load(&r->srv->draining)) return;
  if (kind == RP_PRESENCE_CHANNEL) rp__member_look(host, r->now_ms);
  /* Somebody else has ended it. */
  if (kind == RP_PRESENCE_MCP && (rc == RP_E_ENDED || rc == RP_E_SESSION_NOT_FOUND)) {
    const struct rp__entry *e = host;
    rp__mcp_clients_leave(r->srv->mcp, e->id);
    rp__registry_forget(r->srv->registry, e->id);
  }
}

int rp__heartbeats_send(struct rp__server *srv, int64_t now_ms, rp_error *err)
{
  struct round r = {srv, now_ms};
  int64_t until = rp__ticks_ms() + BEATS_MS;
  size_t cursor = 0;
  rp_error first = {0};
  bool more = true;
  while (more && !atomic_load(&srv->draining) && rp__ticks_ms() < until) {
    rp_error why = {0};
    more = rp_presence_heartbeats(srv->engine, now_ms, &cursor, after_heartbeat, &r, &why) > 0;
    if (why.code && !first.code) first = why;
  }
  if (first.code && err) *err = first;
  return first.code ? first.code : more && !atomic_load(&srv->draining) ? RP_WORK_AGAIN : 0;
}

/* ---- the watchdog: checks the parts of the server before it reports that the server is alive ---- */

struct rp__watchdog {
  struct rp__job probe;
  atomic_bool in_flight;
  int64_t every_ms, told_ms; /* monotonic */
  uint64_t pool_begun;       /* as seen the last time */
};

static int64_t env_number(const char *name)
{
  const char *text = getenv(name);
  char *end = NULL;
  long long n = text && *text ? strtoll(text, &end, 10) : 0;
  return end && *end == '\0' && n > 0 ? n : 0;
}

int rp__watchdog_new(struct rp__watchdog **ret, rp_error *err)
{
  int64_t usec = env_number("WATCHDOG_USEC"), pid = env_number("WATCHDOG_PID");
  *ret = NULL;
  if (!usec || (pid && pid != getpid())) return 0;
  struct rp__watchdog *d = calloc(1, sizeof *d);
  if (!d) return rp__fail_nomem(err);
  d->every_ms = RP_MAX(usec / 1000 / TELLS_PER_PERIOD, 1);
  *ret = d;
  return 0;
}

void rp__watchdog_free(struct rp__watchdog *d)
{
  free(d);
}

static void on_probe(struct rp__job *job)
{
  atomic_store(&((struct rp__watchdog *)job)->in_flight, false);
}

int rp__watchdog_run(struct rp__server *srv, rp_error *err)
{
  struct rp__watchdog *d = srv->watchdog;
  if (!d) return 0;
  int64_t now = rp__ticks_ms();
  if (now - d->told_ms < d->every_ms) return 0;
  if (atomic_load(&d->in_flight)) return rp__fail(err, RP_E_BUSY, "the loop does not answer");
  uint64_t begun = rp__pool_begun(srv->pool);
  bool moves = begun != d->pool_begun || rp__pool_waiting(srv->pool) == 0;
  d->pool_begun = begun;
  if (!moves) return rp__fail(err, RP_E_BUSY, "the pool does not move");
  rp__notify("WATCHDOG=1");
  d->told_ms = now;
  d->probe.fn = on_probe;
  atomic_store(&d->in_flight, true);
  if (!rp__loop_post(srv->loop, &d->probe)) atomic_store(&d->in_flight, false);
  return 0;
}

/* ---- the jobs ---- */

static int drain_outbox(struct rp__server *srv, rp_error *err)
{
  rp_outbox_counts counts;
  if (rp_outbox_drain(srv->engine, DRAIN_MS)) return 0;
  rp_outbox_counts_get(srv->engine, &counts);
  return rp__fail(err, RP_E_BUSY, "%lld events wait for the store", (long long)counts.waiting_events);
}

static int trim_registry(struct rp__server *srv, rp_error *err)
{
  (void)err;
  return rp__registry_trim(srv->registry, RP_REGISTRY_IDLE, TRIM_BATCH) ? RP_WORK_AGAIN : 0;
}

static int send_heartbeats(struct rp__server *srv, rp_error *err)
{
  return rp__heartbeats_send(srv, rp__ticks_ms(), err);
}

const struct rp__work_job rp__work_jobs[] = {
    {"heartbeats", 1000, send_heartbeats},
    {"leaving", 500, rp__channels_leave},
    {"agents", 1000, rp__agents_give_up},
    {"evicting", 500, rp__agents_evict},
    {"mcp", 1000, rp__mcp_clients_end_silent},
    {"spill", 500, drain_outbox},
    {"registry", 5000, trim_registry},
    {"watchdog", 1000, rp__watchdog_run},
    {0},
};

_Static_assert(RP_ARRAY_SIZE(rp__work_jobs) <= JOBS_MAX + 1, "JOBS_MAX");

/* ---- the threads ---- */

struct state {
  struct rp__work *of;
  const struct rp__work_job *job;
  pthread_t thread;
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
  bool stop;
  size_t running; /* threads, of the first jobs */
};

static int64_t with_jitter(int64_t ms)
{
  uint16_t dice;
  rp__system_random.fill(NULL, &dice, sizeof dice);
  return (int64_t)llround((double)ms * (1 + JITTER * (dice / 32767.5 - 1)));
}

static void *work_main(void *arg)
{
  struct state *s = arg;
  struct rp__work *w = s->of;
  pthread_mutex_lock(&w->lock);
  while (!w->stop) {
    if (s->due_ms > rp__ticks_us() / 1000) {
      struct timespec until = {s->due_ms / 1000, s->due_ms % 1000 * 1000000};
      pthread_cond_timedwait(&w->changed, &w->lock, &until);
      continue;
    }
    s->due_ms = INT64_MAX; /* a poke while it runs still counts */
    pthread_mutex_unlock(&w->lock);
    rp_error err = {0};
    int64_t began = rp__ticks_us();
    int rc = s->job->run(s->of->srv, &err);
    bool again = rc == RP_WORK_AGAIN;
    if (again) rc = 0;
    atomic_fetch_add(&s->busy_us, rp__ticks_us() - began);
    atomic_fetch_add(rc ? &s->failed : &s->ok, 1);
    /* What fails is told when it begins and when it ends; the counters have the rest. */
    struct rp__slog *log = &s->of->srv->log;
    if (rc && !s->failing)
      rp__slog(log, RP_LOG_WARN, "work_failing", RP_F("job", s->job->name), RP_F("error", err.message));
    if (!rc && s->failing) rp__slog(log, RP_LOG_INFO, "work_recovered", RP_F("job", s->job->name));
    s->failing = rc != 0;
    int64_t next = rp__ticks_us() / 1000 + (again ? 0 : with_jitter(s->job->period_ms));
    pthread_mutex_lock(&w->lock);
    s->due_ms = RP_MIN(s->due_ms, next);
  }
  pthread_mutex_unlock(&w->lock);
  return NULL;
}

int rp__work_new(struct rp__server *srv, const struct rp__work_job *jobs, struct rp__work **ret, rp_error *err)
{
  pthread_condattr_t attr;
  struct rp__work *w = calloc(1, sizeof *w);
  if (!w) return rp__fail_nomem(err);
  w->srv = srv;
  w->jobs = jobs;
  for (; w->n < JOBS_MAX && jobs[w->n].name; w->n++) {
    w->state[w->n].of = w;
    w->state[w->n].job = &jobs[w->n];
  }
  pthread_mutex_init(&w->lock, NULL);
  pthread_condattr_init(&attr);
  pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
  pthread_cond_init(&w->changed, &attr);
  pthread_condattr_destroy(&attr);
  *ret = w;
  return 0;
}

int rp__work_start(struct rp__work *w, rp_error *err)
{
  for (; w->running < w->n; w->running++) {
    struct state *s = &w->state[w->running];
    s->due_ms = rp__ticks_us() / 1000 + with_jitter(s->job->period_ms);
    if (rp__thread_start(&s->thread, "reprise-work", work_main, s))
      return rp__fail(err, RP_E_NOMEM, "a thread can't be started");
  }
  return 0;
}

void rp__work_poke(struct rp__work *w, const char *job)
{
  if (!w) return;
  pthread_mutex_lock(&w->lock);
  for (size_t i = 0; i < w->n; i++)
    if (strcmp(w->jobs[i].name, job) == 0) w->state[i].due_ms = 0;
  pthread_cond_broadcast(&w->changed);
  pthread_mutex_unlock(&w->lock);
}

void rp__work_stop(struct rp__work *w)
{
  if (!w) return;
  pthread_mutex_lock(&w->lock);
  w->stop = true;
  pthread_cond_broadcast(&w->changed);
  pthread_mutex_unlock(&w->lock);
  while (w->running) pthread_join(w->state[--w->running].thread, NULL);
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
