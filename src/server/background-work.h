/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server's background jobs, at intervals with jitter: heartbeats of the sessions that have clients, the grace after
 * the last client left, agents that do not come back, the outbox. Each job has a thread of its own, so that a slow job,
 * or one that waits for a store that is away, delays neither the heartbeats nor the watchdog. (Checkpoints, marking of
 * idle and abandoned sessions, mirrors and retention are jobs of the engine's keeper.) /metrics counts the jobs.
 */
#ifndef RP_SERVER_WORK_H
#define RP_SERVER_WORK_H

#include "base/buf.h"
#include "base/error.h"

struct rp__work;
struct rp__server;

#define RP_WORK_AGAIN 1 /* of a run: done with a batch, and there is more */

struct rp__work_job {
  const char *name;
  int64_t period_ms; /* ± 10 %, at random */
  /* In the job's thread. It may block, but does one batch at a time: the end waits for a run. */
  int (*run)(struct rp__server *srv, rp_error *err);
};
extern const struct rp__work_job rp__work_jobs[]; /* ends with a name of NULL */

/* `jobs`: rp__work_jobs, but for tests; borrowed. */
RP_MUST_USE int rp__work_new(struct rp__server *srv, const struct rp__work_job *jobs, struct rp__work **ret,
                             rp_error *err);
RP_MUST_USE int rp__work_start(struct rp__work *w, rp_error *err);
void rp__work_poke(struct rp__work *w, const char *job); /* soon, not at its time */
void rp__work_stop(struct rp__work *w);
void rp__work_free(struct rp__work *w);
/* Prometheus lines: reprise_server_work_runs_total{job,result}, …_seconds_total{job}. */
void rp__work_metrics(const struct rp__work *w, struct rp__buf *out);

/* ---- jobs that stand here ---- */

/* Sends the heartbeats that are due at that time of the monotonic clock. RP_WORK_AGAIN: there are more. */
RP_MUST_USE int rp__heartbeats_send(struct rp__server *srv, int64_t now_ms, rp_error *err);

/*
 * Tells the service manager that the server is alive ($WATCHDOG_USEC), as long as the background jobs run, the loop
 * answers, and the pool is idle or makes progress. *ret is NULL when nobody asked for it.
 */
struct rp__watchdog;
RP_MUST_USE int rp__watchdog_new(struct rp__watchdog **ret, rp_error *err);
void rp__watchdog_free(struct rp__watchdog *d); /* after the loop has stopped */
/* Fails when somebody does not answer; then nothing is told. */
RP_MUST_USE int rp__watchdog_run(struct rp__server *srv, rp_error *err);

#endif
