/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The outbox: appends that nobody waits for, in the order of their session (include/reprise/host.h has the contract).
 *
 * Most appends are prepared by their caller and go straight into the commit queue. In three cases an append waits,
 * unprepared, in the queue of its session:
 * - A barrier is on its way: an append whose result must be known before the next one may be stored. A barrier is an
 *   append that was checked against the session's pins (they may have changed: then it is checked again), one that may
 *   wait in memory (it must not be overtaken when the store fails), or an event of the outbox itself.
 * - Appends were refused because other writers changed the facts that they were prepared on. They return to the queue
 *   in their order. When no append is on its way any more, they are prepared again, few at a time while others keep
 *   writing.
 * - The store is away, and appends of the session wait in memory (outbox-store-away.c).
 *
 * One thread, the helper, prepares and sends the appends that wait: preparing an append again reads the store, which
 * the committing thread must not do.
 */
#ifndef RP_ENGINE_OUTBOX_H
#define RP_ENGINE_OUTBOX_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/queue.h>

#include <reprise/host.h>

#include "store/store.h"

#define RP_OUTBOX_BUCKETS 256

struct rp__outbox_attempt;

/* One append. Its strings lie behind the events. */
struct rp__outbox_item {
  TAILQ_ENTRY(rp__outbox_item) next, next_unanswered;
  rp_session *s; /* a reference */
  rp_append_fn *done;
  void *ctx;
  rp_append_options options;
  struct rp__outbox_attempt *attempt; /* NULL: not prepared */
  uint64_t ticket;                    /* the order of its session */
  size_t n, bytes;
  int64_t gap; /* not 0: an event of the outbox's own that tells of so many lost appends */
  int tries, pending;
  bool marker;     /* an event of the outbox's own, of a gap or a window */
  bool memory;     /* it may wait in memory */
  bool told;       /* … and its sender has been told so */
  bool unanswered; /* the store is away, and its sender has not been told anything */
  bool kept;       /* it is counted as waiting for the store */
  bool sent;       /* the store has seen it once, and may have taken it */
  bool own_key;    /* its idempotency key was given by the outbox */
  rp_event events[];
};
TAILQ_HEAD(rp__outbox_items, rp__outbox_item);

/* The appends of one session that are not in the store, whatever handle they came through. */
struct rp__outbox_queue {
  LIST_ENTRY(rp__outbox_queue) same_hash, next_window;
  TAILQ_ENTRY(rp__outbox_queue) next_helped;
  int64_t ref; /* the session's */
  char id[RP_NAME];
  int refs;
  pthread_mutex_t order; /* held while an append is prepared and posted; taken before the outbox's lock */
  struct rp__outbox_items items, unanswered;
  size_t count, bytes;             /* of items */
  uint64_t ticket;                 /* the next one */
  struct rp__outbox_item *barrier; /* on its way: nothing may follow it yet */
  int in_flight;                   /* appends in the commit queue */
  int batch;                       /* how many refused ones are sent before the first is known to be stored */
  bool refused;                    /* `items` begins with such ones */
  bool away;                       /* the store did not take the head */
  bool helped;                     /* the helper has it, or soon will */
  bool has_window;                 /* appends were kept, and that is not told yet */
  int retry;                       /* not 0: the head is to be tried again; as `pending` of an item */
  rp_session *spent;               /* NULL, or a reference to the handle whose budget is to be looked at … */
  int spent_pending;
  struct {
    int64_t since_ms, events, bytes, stored, repeated, lost;
  } window;                        /* what was kept while the store was away, and what became of it */
  int64_t gap, gap_from, gap_sent; /* lost appends, the first one's time, those of which a marker on its way tells */
};

struct rp__outbox {
  rp_engine *e;
  rp_outbox_policy policy;
  char gap_kind[RP_ID_MAX + 1];
  pthread_mutex_t lock;         /* of everything below and of all queues; taken before engine->lock */
  pthread_cond_t work, changed; /* for the helper; for those who wait */
  LIST_HEAD(, rp__outbox_queue) queues[RP_OUTBOX_BUCKETS], windows;
  TAILQ_HEAD(, rp__outbox_queue) helped;
  uint64_t round;      /* rp_flush waits for what began in this round or before it, and begins the next */
  size_t pending[2];   /* appends and work of the helper's, by the lowest bit of their round */
  size_t memory_bytes; /* of appends that may wait in memory */
  rp_outbox_counts counts;
  atomic_bool away;      /* counts.away, for who has no lock */
  atomic_bool busy_once; /* one commit found the store busy, as happens while another process writes; none has since */
  bool worked;           /* a commit has, since the last one that did not, which was at … */
  int64_t failed_ms;     /* … on the monotonic clock */
  bool started, stop;
  pthread_t thread;
};

void rp__outbox_init(struct rp__outbox *o, rp_engine *e);
/* Until all that was given before is stored, or waits in memory. */
void rp__outbox_flush(struct rp__outbox *o);
/* Flushes and ends the helper. What still waits in memory is lost, and told. The commit queue must still be there. */
void rp__outbox_done(struct rp__outbox *o);
/* A commit of the engine's ended so. Cheap while all is well. */
void rp__outbox_note(struct rp__outbox *o, int rc, const rp_error *err);

/* The queue of the handle's session into s->outbox, and back. */
int rp__outbox_join(struct rp__outbox *o, rp_session *s);
void rp__outbox_leave(struct rp__outbox *o, rp_session *s);
/* Whether appends of the session wait, so that another way into the store would overtake them. */
bool rp__outbox_busy(rp_session *s);

/* ---- between outbox.c and outbox-store-away.c; with the outbox's lock held, unless they say otherwise ---- */

struct rp__outbox_item *rp__outbox_item_new(rp_session *s, const rp_event *ev, size_t n, const rp_append_options *o,
                                            bool memory);
void rp__outbox_item_free(struct rp__outbox_item *a); /* without the lock */
void rp__outbox_queue_unref(struct rp__outbox_queue *q);
void rp__outbox_insert(struct rp__outbox_queue *q, struct rp__outbox_item *a);
void rp__outbox_remove(struct rp__outbox_queue *q, struct rp__outbox_item *a);
/* Whether rp_flush waits for something: *is is 0, or 1 plus the bit of its round. */
void rp__outbox_pending(struct rp__outbox *o, int *is, bool pending);
/* Gives the queue to the helper, if there is something to do. */
void rp__outbox_poke(struct rp__outbox *o, struct rp__outbox_queue *q);
/* Tells the outcome and frees the append. `tried`: the store, or the preparation, said so. Without the lock. */
void rp__outbox_finish(struct rp__outbox *o, struct rp__outbox_queue *q, struct rp__outbox_item *a, bool tried, int rc,
                       const rp_error *err);
void rp__outbox_notify(const struct rp__outbox *o, const rp_outbox_notice *n);

/* Errors that are the store's and pass: the disk is full, somebody locks it, it can't be reached or written. */
bool rp__outbox_away_code(int rc);
/* The store did not take an append that may wait in memory: the session's appends do from now on. Without the lock. */
void rp__outbox_keep(struct rp__outbox *o, struct rp__outbox_queue *q, struct rp__outbox_item *a, int rc,
                     const rp_error *err);
/* The helper's: answers those of the queue that nobody has answered. Without the lock. */
void rp__outbox_answer(struct rp__outbox *o, struct rp__outbox_queue *q);
/* The store took, or refused for its own sake, an append of a queue that was away. */
void rp__outbox_resume(struct rp__outbox *o, struct rp__outbox_queue *q);
/* An append is through (`ack` NULL: it failed): counts it, and ends the window when it was the last. */
void rp__outbox_count_end(struct rp__outbox *o, struct rp__outbox_queue *q, struct rp__outbox_item *a,
                          const rp_ack *ack);
/* Puts the event that tells of lost appends into the queue, if there are any. */
void rp__outbox_tell_gap(struct rp__outbox *o, struct rp__outbox_queue *q, rp_session *s);
/* RP_E_BUSY; while the store is away, what it said is what helps. */
RP_MUST_USE int rp__outbox_refuse(struct rp__outbox *o, const char *why, rp_error *err);
/* At the end: what waits is lost. Without the lock, when nobody else is left. */
void rp__outbox_lose_all(struct rp__outbox *o);

#endif
