/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Appends that nobody waits for. Most go straight into the commit queue. An append that was judged by the session's
 * pins may have to be judged again when others changed them meanwhile: until it is through, what follows on the same
 * handle waits behind it in the handle's lane, so that everything is stored and acknowledged in order. Preparing an
 * append again reads the store, which the thread that commits must not wait for: a helper does it, made when it is
 * first needed.
 *
 * Chunks of a stream do not wait for each other. When another process speaks in between, the store refuses the first
 * and all that were prepared behind it. They gather in the lane, in the order in which they came, and what comes
 * meanwhile waits behind them unprepared; when none is on its way any more, the helper prepares each and sends it off.
 */
#ifndef RP_ENGINE_ASYNC_H
#define RP_ENGINE_ASYNC_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include <reprise/reprise.h>

struct rp__async;

/* Of a session handle, under its dirty_lock. */
struct rp__lane {
  pthread_mutex_t order; /* held while one is prepared and sent off, and while all that were refused are */
  atomic_bool busy;      /* what comes has to wait; also read without the lock, by whoever might have set it */
  atomic_bool refused;   /* because what was refused has to be prepared again */
  bool draining;         /* which the helper does now */
  atomic_int away;       /* appends in the commit queue */
  int batch;             /* how many are sent off again before the next is prepared: few while others keep writing */
  struct rp__async *head, *tail;
  size_t count, bytes;
  atomic_ullong ticket; /* of the next append */
};

struct rp__helper {
  pthread_mutex_t lock;
  pthread_cond_t work, idle;
  struct rp__async *head, *tail;
  size_t pending; /* judged appends, those behind them, and work of the helper's, not through yet */
  bool started, stop;
  pthread_t thread;
};

int rp__helper_init(struct rp__helper *h);
/* Until what the helper knows of is through. */
void rp__helper_drain(struct rp__helper *h);
/* Drains it and ends the thread. The queue must still be there. */
void rp__helper_done(struct rp__helper *h);

#endif
