/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Group commit. A caller that finds the queue idle leads: it commits its request on its own thread, so that a lone
 * writer needs no thread switch. Requests that arrive meanwhile form the next group. The queue's thread leads that
 * group and all further ones until no request waits. A group is woken with one call. No request waits for a timer.
 */
#ifndef RP_ENGINE_COMMIT_H
#define RP_ENGINE_COMMIT_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/queue.h>

#include "engine/journal/changes.h"
#include "store/store.h"

#define RP_COMMIT_GROUP 1024  /* requests in one database transaction */
#define RP_COMMIT_QUEUE 65536 /* asynchronous requests waiting */
#define RP_COMMIT_QUEUE_BYTES (64 * 1024 * 1024)

struct rp__commit {
  struct rp__txn txn;
  size_t bytes;  /* what it weighs in the queue */
  bool admitted; /* it was let in before: no limit keeps it out */
  /* Asynchronous: called once, in the order of the queue, by a thread inside the library. NULL: somebody waits. */
  void (*done)(struct rp__commit *c);

  STAILQ_ENTRY(rp__commit) next;
  atomic_bool finished;
};
STAILQ_HEAD(rp__commits, rp__commit);

struct rp__outbox;

struct rp__commitq {
  struct rp__store *store;
  struct rp__outbox *outbox;   /* told how each request went */
  struct rp__changes *changes; /* told of each group */
  pthread_mutex_t lock;
  pthread_cond_t work;    /* the thread has to lead */
  pthread_cond_t drained; /* a group is through */
  struct rp__commits waiting;
  size_t count, bytes; /* of those */
  bool led;            /* somebody leads, or was told to */
  bool thread_leads;   /* … and it is the thread's turn */
  unsigned group;      /* number of the group that gathers; those in it sleep on woken[group % 2] */
  _Atomic uint32_t woken[2];
  bool cut; /* a group was full: some of the next one sleep on the other word */
  bool started, stop;
  pthread_t thread;
  int drainers;
  int64_t taken; /* requests in the group being committed */
  int64_t groups, txns, failures;
};

void rp__commitq_init(struct rp__commitq *q, struct rp__store *store, struct rp__changes *changes,
                      struct rp__outbox *outbox);
/* Waits for what is queued, ends the thread. */
void rp__commitq_done(struct rp__commitq *q);
/* Commits and returns txn.rc (with txn.err). */
int rp__commit_wait(struct rp__commitq *q, struct rp__commit *c);
/* Queues; `c` belongs to the queue until done(c). RP_E_LIMIT when too much waits. */
int rp__commit_post(struct rp__commitq *q, struct rp__commit *c);
/* Until everything queued so far is committed. */
void rp__commitq_drain(struct rp__commitq *q);

#endif
