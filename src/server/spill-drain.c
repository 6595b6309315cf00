/* SPDX-License-Identifier: Apache-2.0 */
/* Storing what waits, telling how much does, and the end. One thread at a time: the scheduler's, then the one that
 * ends. */
#include "server/server.h"
#include "server/spill-impl.h"

#define DRAIN_WAIT_MS 2000 /* for what is being stored, before the next job has its turn */
#define END_WAIT_MS 30000  /* the same at the end of the server */

/* ---- draining ---- */

typedef bool lane_test(const struct rp__lane *l);

static struct rp__lane *find_lane(struct rp__spill *s, lane_test *test)
{
  for (size_t i = 0; atomic_load(&s->n_lanes) && i < RP_SPILL_BUCKETS; i++)
    for (struct rp__lane *l = s->lanes[i]; l; l = l->next)
      if (test(l)) return l;
  return NULL;
}

static bool is_stuck(const struct rp__lane *l)
{
  return l->away && !l->flying;
}
static bool is_catching_up(const struct rp__lane *l)
{
  return (l->win.since_ms || l->marking) && l->flying;
}
static bool is_flying(const struct rp__lane *l)
{
  return l->flying;
}
static bool is_waiting(const struct rp__lane *l)
{
  return (l->win.since_ms || l->marking) && l->head;
}

static struct timespec deadline(int64_t ms)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  t.tv_sec += ms / 1000;
  return t;
}

static void wait_while(struct rp__spill *s, lane_test *test, int64_t ms)
{
  const struct timespec until = deadline(ms);
  while (find_lane(s, test) && pthread_cond_timedwait(&s->landed, &s->lock, &until) == 0) continue;
}

/* One goes ahead: while the store is away, the others need not try. With the lock held, lanes stay where they are. */
static void try_lanes(struct rp__spill *s)
{
  struct rp__lane *l = find_lane(s, is_stuck);
  if (!l) return;
  rp__spill_fly(s, l);
  pthread_mutex_lock(&s->lock);
  while (l->flying && l->away) pthread_cond_wait(&s->landed, &s->lock);
  for (size_t i = 0; !l->away && i < RP_SPILL_BUCKETS; i++)
    for (struct rp__lane *other = s->lanes[i]; other; other = other->next) {
      if (!is_stuck(other)) continue;
      rp__spill_fly(s, other);
      pthread_mutex_lock(&s->lock);
    }
}

/* Nothing flies with them any more. */
static void release_retired(struct rp__spill *s, struct rp__lane *l)
{
  while (l->retired) {
    struct rp__retired *r = l->retired;
    l->retired = r->next;
    r->next = s->retired;
    s->retired = r;
  }
}

/* Takes out lanes that were empty twice in a row; a list. */
static struct rp__lane *sweep(struct rp__spill *s)
{
  struct rp__lane *dead = NULL;
  for (size_t i = 0; atomic_load(&s->n_lanes) && i < RP_SPILL_BUCKETS; i++)
    for (struct rp__lane **at = &s->lanes[i]; *at;) {
      struct rp__lane *l = *at;
      if (!l->flying) release_retired(s, l);
      if (l->head || l->flying || !l->idle) {
        l->idle = !l->head && !l->flying;
        at = &l->next;
        continue;
      }
      *at = l->next;
      l->next = dead;
      dead = l;
      atomic_fetch_sub(&s->n_lanes, 1);
    }
  return dead;
}

/* Putting an entry back may end its handle, which may block, and may not happen in the engine's thread. */
static void bury(struct rp__spill *s, struct rp__lane *dead, struct rp__retired *retired)
{
  while (dead) {
    struct rp__lane *l = dead;
    dead = l->next;
    rp__registry_put(s->srv->registry, l->entry);
    free(l);
  }
  while (retired) {
    struct rp__retired *r = retired;
    retired = r->next;
    rp__registry_put(s->srv->registry, r->entry);
    free(r);
  }
}

bool rp__spill_drain(struct rp__spill *s)
{
  bool ending = atomic_load(&s->srv->draining);
  pthread_mutex_lock(&s->lock);
  if (ending) wait_while(s, is_flying, END_WAIT_MS);
  try_lanes(s);
  wait_while(s, ending ? is_flying : is_catching_up, ending ? END_WAIT_MS : DRAIN_WAIT_MS);
  struct rp__lane *dead = sweep(s);
  struct rp__retired *retired = s->retired;
  s->retired = NULL;
  bool empty = !find_lane(s, is_waiting);
  pthread_mutex_unlock(&s->lock);
  bury(s, dead, retired);
  if (empty) rp__away_settle(&s->away, s->srv->db_path, rp__server_now(s->srv), &s->srv->log);
  return empty;
}

void rp__spill_counts(struct rp__spill *s, struct rp__spill_counts *ret)
{
  *ret = (struct rp__spill_counts){0};
  pthread_mutex_lock(&s->away.lock);
  ret->away = atomic_load(&s->away.away);
  ret->windows = s->away.windows;
  if (ret->away) {
    ret->code = s->away.code;
    ret->away_since_ms = s->away.since_ms;
    memcpy(ret->why, s->away.why, sizeof ret->why);
  }
  pthread_mutex_unlock(&s->away.lock);
  pthread_mutex_lock(&s->lock);
  for (size_t i = 0; atomic_load(&s->n_lanes) && i < RP_SPILL_BUCKETS; i++)
    for (const struct rp__lane *l = s->lanes[i]; l; l = l->next) {
      if (!is_waiting(l)) continue;
      ret->waiting_events += (int64_t)l->events;
      ret->waiting_bytes += (int64_t)l->bytes;
    }
  ret->accepted = s->accepted;
  ret->stored = s->stored;
  ret->repeated = s->repeated;
  ret->refused = s->refused;
  ret->lost = s->lost;
  pthread_mutex_unlock(&s->lock);
}

/* ---- the end ---- */

static void lose(struct rp__spill *s, struct rp__lane *l)
{
  rp_error err = {0};
  size_t n = 0;
  while (l->head) {
    struct rp__kept *k = rp__lane_pop(l);
    if (!k->marker) n += k->n;
    rp__kept_free(k);
  }
  rp__fail(&err, RP_E_CANCELLED, "the server ended before the store took them");
  if (n) rp__spill_log_lost(s, l->id, n, &err);
}

void rp__spill_free(struct rp__spill *s)
{
  if (!s) return;
  while (atomic_load(&s->flights) > 0) nanosleep(&(struct timespec){0, 1000000}, NULL);
  struct rp__lane *dead = NULL;
  for (size_t i = 0; i < RP_SPILL_BUCKETS; i++)
    while (s->lanes[i]) {
      struct rp__lane *l = s->lanes[i];
      s->lanes[i] = l->next;
      lose(s, l);
      release_retired(s, l);
      l->next = dead;
      dead = l;
    }
  bury(s, dead, s->retired);
  pthread_cond_destroy(&s->landed);
  pthread_mutex_destroy(&s->lock);
  rp__away_done(&s->away);
  free(s);
}
