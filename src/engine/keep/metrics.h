/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counters and histograms of one engine (O-07), written from any thread without a lock and reported by rp_metrics_text.
 * That text also has the counters of engine.h; this file adds the others.
 */
#ifndef RP_ENGINE_METRICS_H
#define RP_ENGINE_METRICS_H

#include <stdatomic.h>

#include "engine/keep/background-jobs.h"

#define RP_BUCKETS 14 /* bounds of a histogram; one more bucket is for what lies beyond */

struct rp__histogram {
  const double *bounds;                /* RP_BUCKETS of them; NULL: those of seconds */
  atomic_llong bucket[RP_BUCKETS + 1]; /* each for itself, not added up */
  _Atomic double sum;
};

/* Of one job of the keeper's: passes that had something to do, and the time of all. */
struct rp__job_stats {
  atomic_llong ok, failed, micros;
};

/* All zeroes is a good beginning but for the bounds of snapshot_bytes, which rp__metrics_init sets. */
struct rp__metrics {
  struct rp__histogram snapshot_bytes;   /* of each snapshot as stored */
  struct rp__histogram snapshot_seconds; /* from the state to the commit */
  struct rp__histogram restore_seconds;  /* from the newest good snapshot to the state */
  atomic_llong abandoned, archived, trashed, deleted;
  struct rp__job_stats jobs[RP_JOB_MAX];
};

void rp__metrics_init(struct rp__metrics *m);
/* Counts one value. Not a number counts nothing. */
void rp__metric_observe(struct rp__histogram *h, double v);

#endif
