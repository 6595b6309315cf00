/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loop. A turn: wait; run the jobs that were posted, the events of sockets and the timers that are due; then run
 * the jobs that were deferred to the end of the turn. Deferred jobs run in the order in which they came, so a
 * connection's last write precedes the freeing of its memory.
 *
 * Other threads touch only the part under the lock.
 */
#include "net/loop.h"
#include "base/ticks.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include "base/process/thread.h"
#include "net/heap.h"

#define LOOP_BATCH 256 /* events taken per turn */

struct jobs {
  struct rp__job *first, **end;
};

struct rp__loop {
  int epoll, wake;
  int64_t now;
  struct rp__heap timers;
  struct rp__tenant *tenants;
  struct jobs deferred;
  struct epoll_event batch[LOOP_BATCH];
  int at, n; /* the batch's part that is still to be told */
  bool ending;
  char *scratch;
  struct rp__watch waker;
  pthread_t thread;
  bool started, stopped;
  atomic_uintptr_t owner; /* pthread_self of its thread, 0: none */

  pthread_mutex_t lock; /* over what follows */
  struct jobs posted;
  bool asleep;   /* a post must wake it */
  bool stopping; /* no more posts */
};

/* ---- lists of jobs ---- */

static void jobs_init(struct jobs *j)
{
  j->first = NULL;
  j->end = &j->first;
}

static void jobs_add(struct jobs *j, struct rp__job *job)
{
  job->next = NULL;
  *j->end = job;
  j->end = &job->next;
}

static struct rp__job *jobs_take(struct jobs *j)
{
  struct rp__job *first = j->first;
  jobs_init(j);
  return first;
}

static void run_jobs(struct rp__job *job)
{
  while (job) {
    struct rp__job *next = job->next; /* fn may free the job */
    job->fn(job);
    job = next;
  }
}

/* ---- life ---- */

static void swallow_wake(struct rp__watch *w, uint32_t events)
{
  uint64_t n;
  (void)events;
  while (read(w->fd, &n, sizeof(n)) < 0 && errno == EINTR) {
  }
}

int rp__loop_new(struct rp__loop **ret, rp_error *err)
{
  struct rp__loop *l = calloc(1, sizeof(*l));
  if (!l) return rp__fail_nomem(err);
  l->epoll = l->wake = -1;
  l->stopped = true;
  l->now = rp__ticks_ms();
  jobs_init(&l->posted);
  jobs_init(&l->deferred);
  pthread_mutex_init(&l->lock, NULL);
  l->scratch = malloc(RP_LOOP_SCRATCH);
  int rc = l->scratch ? 0 : rp__fail_nomem(err);
  if (!rc && (l->epoll = epoll_create1(EPOLL_CLOEXEC)) < 0) rc = rp__fail_errno(err, errno, "can't make an event loop");
  if (!rc && (l->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) < 0)
    rc = rp__fail_errno(err, errno, "can't make an event loop's alarm");
  l->waker = (struct rp__watch){.fd = l->wake, .fn = swallow_wake};
  if (!rc) rc = rp__watch_set(l, &l->waker, EPOLLIN, err);
  if (rc) {
    rp__loop_free(l);
    return rc;
  }
  l->stopped = false;
  *ret = l;
  return 0;
}

void rp__loop_free(struct rp__loop *l)
{
  if (!l) return;
  rp__loop_stop(l);
  if (l->wake >= 0) close(l->wake);
  if (l->epoll >= 0) close(l->epoll);
  rp__heap_done(&l->timers);
  pthread_mutex_destroy(&l->lock);
  free(l->scratch);
  free(l);
}

bool rp__loop_is_mine(const struct rp__loop *l)
{
  return atomic_load_explicit(&l->owner, memory_order_relaxed) == (uintptr_t)pthread_self();
}

/* ---- a turn ---- */

/* How long to sleep. From here on until the posts are taken a post wakes the loop. */
static int nap(struct rp__loop *l)
{
  pthread_mutex_lock(&l->lock);
  l->asleep = !l->posted.first && !l->stopping && !l->deferred.first;
  bool asleep = l->asleep;
  pthread_mutex_unlock(&l->lock);
  if (!asleep) return 0;
  const struct rp__timer *t = rp__heap_top(&l->timers);
  if (!t) return -1;
  int64_t wait = t->due_ms - rp__ticks_ms();
  return (int)RP_MIN(RP_MAX(wait, 0), INT_MAX);
}

static bool turn(struct rp__loop *l)
{
  int n = epoll_wait(l->epoll, l->batch, LOOP_BATCH, nap(l));
  l->at = 0;
  l->n = RP_MAX(n, 0);
  l->now = rp__ticks_ms();
  /* When the loop is stopping, these were the last. */
  pthread_mutex_lock(&l->lock);
  struct rp__job *job = jobs_take(&l->posted);
  bool more = !l->stopping;
  l->asleep = false;
  pthread_mutex_unlock(&l->lock);
  run_jobs(job);
  while (l->at < l->n) {
    const struct epoll_event *e = &l->batch[l->at++];
    struct rp__watch *w = e->data.ptr;
    if (w) w->fn(w, e->events);
  }
  l->at = l->n = 0;
  /* Ends, for a timer is never due in the turn that starts it. */
  struct rp__timer *t;
  while ((t = rp__heap_top(&l->timers)) && t->due_ms <= l->now) {
    rp__heap_remove(&l->timers, t);
    t->fn(t);
  }
  run_jobs(jobs_take(&l->deferred));
  return more;
}

static void *run(void *arg)
{
  struct rp__loop *l = arg;
  atomic_store_explicit(&l->owner, (uintptr_t)pthread_self(), memory_order_relaxed);
  while (turn(l)) {
  }
  l->ending = true;
  while (l->tenants) l->tenants->evict(l->tenants);
  while (l->deferred.first) run_jobs(jobs_take(&l->deferred));
  return NULL;
}

/* The program's signals are not for this thread. */
int rp__loop_start(struct rp__loop *l, rp_error *err)
{
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int rc = rp__thread_start(&l->thread, "reprise-loop", run, l);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (rc) return rp__fail_errno(err, rc, "can't start an event loop's thread");
  l->started = true;
  return 0;
}

static void wake(struct rp__loop *l)
{
  uint64_t one = 1;
  while (write(l->wake, &one, sizeof(one)) < 0 && errno == EINTR) {
  }
}

void rp__loop_stop(struct rp__loop *l)
{
  if (l->stopped) return;
  l->stopped = true;
  pthread_mutex_lock(&l->lock);
  l->stopping = true;
  pthread_mutex_unlock(&l->lock);
  if (l->started) {
    wake(l);
    pthread_join(l->thread, NULL);
  } else {
    run(l);
  }
  atomic_store_explicit(&l->owner, 0, memory_order_relaxed);
}

/* ---- work from elsewhere, and for later ---- */

bool rp__loop_post(struct rp__loop *l, struct rp__job *job)
{
  pthread_mutex_lock(&l->lock);
  bool taken = !l->stopping, asleep = l->asleep;
  if (taken) {
    jobs_add(&l->posted, job);
    l->asleep = false;
  }
  pthread_mutex_unlock(&l->lock);
  if (taken && asleep) wake(l);
  return taken;
}

void rp__loop_defer(struct rp__loop *l, struct rp__job *job)
{
  jobs_add(&l->deferred, job);
}

char *rp__loop_scratch(struct rp__loop *l)
{
  return l->scratch;
}

int64_t rp__loop_now(const struct rp__loop *l)
{
  return l->now;
}

int rp__timer_start(struct rp__loop *l, struct rp__timer *t, int64_t after_ms)
{
  int64_t due = l->now + RP_MAX(after_ms, 1), before = t->due_ms;
  t->due_ms = due;
  int rc = rp__heap_put(&l->timers, t);
  if (rc) t->due_ms = before;
  return rc;
}

void rp__timer_stop(struct rp__loop *l, struct rp__timer *t)
{
  rp__heap_remove(&l->timers, t);
}

int rp__loop_enter(struct rp__loop *l, struct rp__tenant *t, rp_error *err)
{
  if (l->ending) return rp__fail(err, RP_E_CANCELLED, "the event loop is ending");
  t->prev = NULL;
  t->next = l->tenants;
  if (t->next) t->next->prev = t;
  l->tenants = t;
  return 0;
}

void rp__loop_leave(struct rp__loop *l, struct rp__tenant *t)
{
  if (t->next) t->next->prev = t->prev;
  *(t->prev ? &t->prev->next : &l->tenants) = t->next;
  t->prev = t->next = NULL;
}

/* ---- watches ---- */

int rp__watch_set(struct rp__loop *l, struct rp__watch *w, uint32_t events, rp_error *err)
{
  if (events == w->events) return 0;
  if (!events) {
    rp__watch_stop(l, w);
    return 0;
  }
  struct epoll_event e = {.events = events, .data.ptr = w};
  if (epoll_ctl(l->epoll, w->events ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, w->fd, &e))
    return rp__fail_errno(err, errno, "can't watch a socket");
  w->events = events;
  return 0;
}

/* Also what this turn has in store for it is forgotten, so its memory may go. */
void rp__watch_stop(struct rp__loop *l, struct rp__watch *w)
{
  if (!w->events) return;
  epoll_ctl(l->epoll, EPOLL_CTL_DEL, w->fd, NULL);
  w->events = 0;
  for (int i = l->at; i < l->n; i++)
    if (l->batch[i].data.ptr == w) l->batch[i].data.ptr = NULL;
}
