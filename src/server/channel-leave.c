/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sessions whose last member left are closed in the pool, a few at a time, so that
 * they share the store's syncs and ten thousand of them keep nobody waiting: a task closes
 * one session and goes to the end of the pool's queue.
 */
#include <pthread.h>

#include "server/channel.h"

#define CLOSERS 3 /* less than RP_POOL_THREADS: joins and requests go on */
#define STEP_MS 10

struct closer {
  struct rp__task task;
  struct rp__leaving *of;
  bool busy;
};

struct rp__leaving {
  struct rp__channels *of;
  pthread_mutex_t lock;
  pthread_cond_t idle; /* a closer has ended */
  struct closer closer[CLOSERS];
  size_t busy;
  bool early, over; /* at the server's end: no grace; no more of it */
  rp_error why;     /* of the last one, when it failed */
};

_Static_assert(CLOSERS < RP_POOL_THREADS, "somebody must be left for the others");

int rp__leaving_new(struct rp__channels *c, struct rp__leaving **ret, rp_error *err)
{
  struct rp__leaving *l = calloc(1, sizeof *l);
  pthread_condattr_t attr;
  if (!l) return rp__fail_nomem(err);
  l->of = c;
  pthread_mutex_init(&l->lock, NULL);
  pthread_condattr_init(&attr);
  pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
  pthread_cond_init(&l->idle, &attr);
  pthread_condattr_destroy(&attr);
  *ret = l;
  return 0;
}

void rp__leaving_free(struct rp__leaving *l)
{
  if (!l) return;
  pthread_cond_destroy(&l->idle);
  pthread_mutex_destroy(&l->lock);
  free(l);
}

size_t rp__leaving_closers(struct rp__leaving *l)
{
  pthread_mutex_lock(&l->lock);
  size_t n = l->busy;
  pthread_mutex_unlock(&l->lock);
  return n;
}

/* ---- in the pool ---- */

static int close_session(struct rp__server *srv, const char *id, rp_error *err)
{
  rp_session *s = NULL;
  int rc = rp_attach(srv->engine, id, &s, err);
  if (!rc) rc = rp_end(s, "left", err);
  rp_session_free(s);
  bool gone = rc == RP_E_ENDED || rc == RP_E_TRANSITION || rc == RP_E_SESSION_NOT_FOUND;
  if (!gone) rp__spill_note(srv->spill, rc, err);
  return gone ? 0 : rc;
}

static struct rp__entry *take(struct rp__leaving *l)
{
  pthread_mutex_lock(&l->lock);
  bool over = l->over, early = l->early;
  pthread_mutex_unlock(&l->lock);
  return over ? NULL : rp__members_take(l->of->members, early);
}

static void note(struct rp__leaving *l, int rc, const rp_error *why)
{
  pthread_mutex_lock(&l->lock);
  l->why = rc ? *why : (rp_error){0};
  if (rc && l->early) l->over = true; /* there is no time to wait for the store */
  pthread_mutex_unlock(&l->lock);
}

static void rest(struct closer *c)
{
  struct rp__leaving *l = c->of;
  pthread_mutex_lock(&l->lock);
  c->busy = false;
  l->busy--;
  pthread_cond_broadcast(&l->idle);
  pthread_mutex_unlock(&l->lock);
}

static void close_one(struct rp__task *t)
{
  struct closer *c = (struct closer *)t;
  struct rp__server *srv = c->of->of->srv;
  struct rp__entry *e = take(c->of);
  rp_error why = {0};
  if (e) {
    int rc = close_session(srv, rp__entry_id(e), &why);
    note(c->of, rc, &why);
    rp__members_settle(c->of->of->members, e, rc);
  }
  if (!e || !rp__pool_post(srv->pool, t)) rest(c);
}

/* ---- who sets them to work ---- */

static void wake(struct rp__leaving *l)
{
  pthread_mutex_lock(&l->lock);
  for (size_t i = 0; i < CLOSERS; i++) {
    struct closer *c = &l->closer[i];
    if (c->busy) continue;
    *c = (struct closer){.task.fn = close_one, .of = l};
    c->busy = rp__pool_post(l->of->srv->pool, &c->task);
    l->busy += c->busy;
  }
  pthread_mutex_unlock(&l->lock);
}

int rp__channels_leave(struct rp__server *srv, rp_error *err)
{
  struct rp__leaving *l = srv->channels->leaving;
  bool due;
  size_t n = rp__members_leaving(srv->channels->members, &due);
  if (due) wake(l);
  pthread_mutex_lock(&l->lock);
  if (!n) l->why.code = 0; /* those that could not be closed are in use again */
  int rc = l->why.code;
  if (rc && err) *err = l->why;
  pthread_mutex_unlock(&l->lock);
  return rc;
}

static struct timespec after(int64_t ms)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  int64_t ns = t.tv_nsec + ms % 1000 * 1000000;
  return (struct timespec){t.tv_sec + ms / 1000 + ns / 1000000000, ns % 1000000000};
}

static bool is_past(const struct timespec *t)
{
  struct timespec now = after(0);
  return now.tv_sec > t->tv_sec || (now.tv_sec == t->tv_sec && now.tv_nsec >= t->tv_nsec);
}

static bool is_done(struct rp__leaving *l, bool early)
{
  bool due;
  size_t n = rp__members_leaving(l->of->members, &due);
  return early ? n == 0 : !due && rp__leaving_closers(l) == 0;
}

size_t rp__channels_leave_now(struct rp__server *srv, bool early, int64_t ms)
{
  struct rp__leaving *l = srv->channels->leaving;
  struct timespec end = after(ms);
  bool over = ms <= 0;
  pthread_mutex_lock(&l->lock);
  l->early = early;
  pthread_mutex_unlock(&l->lock);
  while (!over && !is_done(l, early)) {
    wake(l); /* again: the pool may have been full */
    struct timespec step = after(STEP_MS);
    pthread_mutex_lock(&l->lock);
    pthread_cond_timedwait(&l->idle, &l->lock, &step);
    over = l->over || is_past(&end) || (srv->hurry && atomic_load(srv->hurry));
    pthread_mutex_unlock(&l->lock);
  }
  pthread_mutex_lock(&l->lock);
  l->over = true;
  while (l->busy) pthread_cond_wait(&l->idle, &l->lock);
  pthread_mutex_unlock(&l->lock);
  return rp__members_leaving(srv->channels->members, NULL);
}
