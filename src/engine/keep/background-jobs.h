/* SPDX-License-Identifier: Apache-2.0 */
/* The thread for work that no caller should wait for: a table of jobs, each with its interval, counted and timed. */
#ifndef RP_ENGINE_KEEPER_H
#define RP_ENGINE_KEEPER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include <reprise/reprise.h>

enum rp__keeper_job {
  RP_JOB_WAL,         /* the write-ahead log's own checkpoint */
  RP_JOB_CHECKPOINTS, /* L-06 */
  RP_JOB_IDLE,        /* L-05 */
  RP_JOB_MIRRORS,     /* N-06 */
  RP_JOB_STORES,      /* C-07: stores of sessions */
  RP_JOB_INDEX,       /* full text */
  RP_JOB_PRUNE,       /* old idempotency keys */
  RP_JOB_SWEEP,       /* L-09: abandoned sessions */
  RP_JOB_COLLECT,     /* retention */
  RP_JOB_MAX,
};
const char *rp__job_name(enum rp__keeper_job job);

struct rp__keeper {
  pthread_mutex_t lock;
  pthread_cond_t wake;
  pthread_t thread;
  bool started, stop, poked;
  bool swept; /* what the dead left was looked for once */
  atomic_bool wal_due;
  atomic_bool prune_due;            /* a short-lived engine prunes old idempotency keys when it closes */
  atomic_llong next_at[RP_JOB_MAX]; /* on the engine's clock; of jobs with a period */
  long long indexed_at;             /* the queue's count of transactions when full text was last brought up to date */
};

int rp__keeper_init(struct rp__keeper *k);
/* Starts the thread if there is none yet. A failure is no error: the work is then done at the next occasion. */
void rp__keeper_start(rp_engine *e);
/* There is something to do now. Cheap; may be called from inside a commit. */
void rp__keeper_poke(struct rp__keeper *k);
/* The session's checkpoint is due now. */
void rp__keeper_due(rp_session *s);
/* Forgets old idempotency keys, a bounded number. */
RP_MUST_USE int rp__keeper_prune(rp_engine *e, rp_error *err);
/* Ends the thread. */
void rp__keeper_done(rp_engine *e);

#endif
