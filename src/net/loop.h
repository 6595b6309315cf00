/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One thread that waits for many sockets (epoll), for timers, and for work that other
 * threads send it. Everything in a loop (connections, WebSockets, and the objects built
 * on them) is used by the loop's thread alone, so it needs no locks.
 */
#ifndef RP_NET_LOOP_H
#define RP_NET_LOOP_H

#include <stdbool.h>

#include "base/error.h"
#include "base/macros.h"

struct rp__loop;

RP_MUST_USE int rp__loop_new(struct rp__loop **ret, rp_error *err);
RP_MUST_USE int rp__loop_start(struct rp__loop *l, rp_error *err); /* begins its thread */
/*
 * Not from the loop's thread. Runs what was posted, calls `closed` of connections that are left (in the loop's thread),
 * and ends the thread.
 */
void rp__loop_stop(struct rp__loop *l);
void rp__loop_free(struct rp__loop *l);          /* stops it first; NULL is fine */
bool rp__loop_is_mine(const struct rp__loop *l); /* the caller is the loop's thread */

/*
 * From any thread: fn(job) is called by the loop's thread, in the order of posting. The job is the caller's memory,
 * untouched until fn runs (it may free it), so posting can't fail. Once stop has begun it is never called: false.
 */
struct rp__job {
  void (*fn)(struct rp__job *job);
  struct rp__job *next;
};
bool rp__loop_post(struct rp__loop *l, struct rp__job *job);

/*
 * In the loop's thread. A timer is the caller's memory; stopping one that does not run is fine. Once per start, never
 * in the turn that started it. For something that happens often, don't restart: look at the clock when it fires.
 */
struct rp__timer {
  void (*fn)(struct rp__timer *t);
  int64_t due_ms;
  size_t place; /* in the heap, + 1; 0: not running */
};
int rp__timer_start(struct rp__loop *l, struct rp__timer *t, int64_t after_ms); /* restarts a running one; RP_E_NOMEM */
void rp__timer_stop(struct rp__loop *l, struct rp__timer *t);
int64_t rp__loop_now(const struct rp__loop *l); /* monotonic ms, read once per turn */

/* ---- for net's own files, in the loop's thread ---- */

/* fn(job) is called at the end of this turn, or of the next when a deferred job defers: memory is freed there. */
void rp__loop_defer(struct rp__loop *l, struct rp__job *job);
#define RP_LOOP_SCRATCH (64 * 1024)
char *rp__loop_scratch(struct rp__loop *l); /* to read into; one per loop, good until the callback returns */

/* What lives in the loop and must hear of its end. RP_E_CANCELLED: it is ending already. */
struct rp__tenant {
  void (*evict)(struct rp__tenant *t); /* must leave */
  struct rp__tenant *prev, *next;
};
RP_MUST_USE int rp__loop_enter(struct rp__loop *l, struct rp__tenant *t, rp_error *err);
void rp__loop_leave(struct rp__loop *l, struct rp__tenant *t);

/* A file descriptor watched by the loop. */
struct rp__watch {
  int fd;
  uint32_t events; /* EPOLLIN … as registered; 0: not registered */
  void (*fn)(struct rp__watch *w, uint32_t events);
};
RP_MUST_USE int rp__watch_set(struct rp__loop *l, struct rp__watch *w, uint32_t events, rp_error *err);
void rp__watch_stop(struct rp__loop *l, struct rp__watch *w); /* safe inside any callback of the same turn */

#endif
