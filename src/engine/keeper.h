/* SPDX-License-Identifier: Apache-2.0 */
/* The thread that does what nobody should wait for: checkpoints, the write-ahead log, full text. */
#ifndef RP_ENGINE_KEEPER_H
#define RP_ENGINE_KEEPER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include <reprise/reprise.h>

struct rp__keeper {
  pthread_mutex_t lock;
  pthread_cond_t wake;
  pthread_t thread;
  bool started, stop, poked;
  atomic_bool wal_due;
  atomic_bool prune_due;                     /* a short-lived engine prunes old idempotency keys when it closes */
  int64_t pruned_at, swept_at, collected_at; /* when old keys, abandoned sessions and retention were last seen to */
  long long indexed_at; /* the queue's count of transactions when full text was last brought up to date */
};

int rp__keeper_init(struct rp__keeper *k);
/* Starts the thread if there is none yet. A failure is no error: the work is then done at the next occasion. */
void rp__keeper_start(rp_engine *e);
/* There is something to do now. Cheap; may be called from inside a commit. */
void rp__keeper_poke(struct rp__keeper *k);
/* Forgets old idempotency keys, a bounded number. */
void rp__keeper_prune(rp_engine *e);
/* Ends the thread. */
void rp__keeper_done(struct rp__keeper *k);

#endif
