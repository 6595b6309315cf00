/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of presence: its entries, their order of deadlines, and the entries that are taken. No function here reads
 * a clock or the store.
 *
 * Invariants, under the lock: an entry that is not gone is in the bucket of its session, in the bucket of its name if
 * it has one, and in its kind's order of use. An entry is in the order of deadlines exactly when its deadline is not 0.
 * `ending` counts the entries in that order and those that are taken.
 */
#include <assert.h>
#include <sodium.h>
#include <sys/queue.h>

#include "base/text.h"
#include "engine/engine.h"

#define SPREAD 128 /* sessions made one after the other, whose rows lie together: their heartbeats share pages */
#define BATCH 1024 /* entries whose heartbeats are sent in one go, without the lock */
#define RP_PRESENCE_BUCKETS 4096

struct rp_presence {
  rp_presence_row row;
  rp_presence_host host;
  bool taken;  /* for its end, by a caller that will settle it */
  bool gone;   /* off the table; freed when nobody uses it */
  size_t uses; /* by heartbeats that are being sent without the lock */
  LIST_ENTRY(rp_presence) by_session, by_name;
  TAILQ_ENTRY(rp_presence) by_use, by_deadline; /* among those of its kind */
};

TAILQ_HEAD(rp__presence_queue, rp_presence);
LIST_HEAD(rp__presence_bucket, rp_presence);

struct rp__presence {
  pthread_mutex_t lock;
  pthread_cond_t settled; /* an entry is no longer taken */
  struct rp__presence_bucket sessions[RP_PRESENCE_BUCKETS], names[RP_PRESENCE_BUCKETS];
  struct rp__presence_of_kind {
    struct rp__presence_queue used, due;
    size_t entries, ending;
  } kind[RP_PRESENCE_KINDS];
  unsigned char seed[crypto_shorthash_KEYBYTES];
};

int rp__presence_new(struct rp__presence **ret, rp_error *err)
{
  struct rp__presence *t = calloc(1, sizeof *t);
  if (!t) return rp__fail_nomem(err);
  pthread_mutex_init(&t->lock, NULL);
  pthread_cond_init(&t->settled, NULL);
  crypto_shorthash_keygen(t->seed);
  for (size_t i = 0; i < RP_PRESENCE_KINDS; i++) {
    TAILQ_INIT(&t->kind[i].used);
    TAILQ_INIT(&t->kind[i].due);
  }
  *ret = t;
  return 0;
}

/* ---- entries; the lock is held ---- */

static size_t bucket_of(const struct rp__presence *t, const char *name)
{
  uint64_t h;
  crypto_shorthash((unsigned char *)&h, (const unsigned char *)name, strlen(name), t->seed);
  return h % RP_PRESENCE_BUCKETS;
}

/* From the end of the order: most entries of a kind have the same grace, and are due behind all that left before. */
static void set_deadline(struct rp__presence *t, rp_presence *p, int64_t deadline)
{
  struct rp__presence_of_kind *k = &t->kind[p->row.kind];
  if (p->row.deadline) {
    TAILQ_REMOVE(&k->due, p, by_deadline);
    k->ending--;
  }
  p->row.deadline = deadline;
  if (!deadline) return;
  rp_presence *before = TAILQ_LAST(&k->due, rp__presence_queue);
  while (before && before->row.deadline > deadline) before = TAILQ_PREV(before, rp__presence_queue, by_deadline);
  if (before)
    TAILQ_INSERT_AFTER(&k->due, before, p, by_deadline);
  else
    TAILQ_INSERT_HEAD(&k->due, p, by_deadline);
  k->ending++;
}

static void set_name(struct rp__presence *t, rp_presence *p, const char *name)
{
  if (p->row.name[0]) LIST_REMOVE(p, by_name);
  rp__text_copy(p->row.name, sizeof p->row.name, name);
  if (p->row.name[0]) LIST_INSERT_HEAD(&t->names[bucket_of(t, p->row.name)], p, by_name);
}

static void set_taken(struct rp__presence *t, rp_presence *p, bool taken)
{
  assert(p->taken != taken);
  p->taken = taken;
  if (taken)
    t->kind[p->row.kind].ending++;
  else
    t->kind[p->row.kind].ending--;
}

static rp_presence *insert(struct rp__presence *t, const rp_presence_row *row, const rp_presence_host *host,
                           int64_t now)
{
  rp_presence *p = calloc(1, sizeof *p);
  if (!p) return NULL;
  assert(row->kind > RP_PRESENCE_ANY && row->kind < RP_PRESENCE_KINDS && row->session[0]);
  p->row = *row;
  p->row.name[0] = '\0';
  p->row.deadline = 0;
  if (host) p->host = *host;
  if (!row->touched_at) p->row.touched_at = now;
  if (row->heartbeat_ms && !row->heartbeat_at) {
    /* A restart brings all of them at once: by blocks they are spread over the time between two heartbeats. */
    p->row.heartbeat_at = now - now % row->heartbeat_ms + row->number / SPREAD * 997 % row->heartbeat_ms;
    if (p->row.heartbeat_at <= now) p->row.heartbeat_at += row->heartbeat_ms;
  }
  LIST_INSERT_HEAD(&t->sessions[bucket_of(t, row->session)], p, by_session);
  TAILQ_INSERT_TAIL(&t->kind[row->kind].used, p, by_use);
  t->kind[row->kind].entries++;
  set_name(t, p, row->name);
  set_deadline(t, p, row->deadline);
  return p;
}

/* Off the table. Returns it when it can be freed. */
static rp_presence *take_off(struct rp__presence *t, rp_presence *p)
{
  struct rp__presence_of_kind *k = &t->kind[p->row.kind];
  assert(!p->gone);
  set_deadline(t, p, 0);
  set_name(t, p, "");
  if (p->taken) set_taken(t, p, false);
  LIST_REMOVE(p, by_session);
  TAILQ_REMOVE(&k->used, p, by_use);
  k->entries--;
  p->gone = true;
  return p->uses ? NULL : p;
}

/* An entry off the table that is ready to be freed, without the lock; else NULL. */
static rp_presence *unuse(rp_presence *p)
{
  assert(p->uses);
  return --p->uses == 0 && p->gone ? p : NULL;
}

/* Without the lock; NULL is fine. */
static void entry_free(rp_presence *p)
{
  if (!p) return;
  assert(p->gone && !p->uses);
  if (p->host.release) p->host.release(p->host.ctx, p->host.host);
  free(p);
}

void rp__presence_free(struct rp__presence *t)
{
  if (!t) return;
  for (size_t i = 0; i < RP_PRESENCE_KINDS; i++)
    while (!TAILQ_EMPTY(&t->kind[i].used)) entry_free(take_off(t, TAILQ_FIRST(&t->kind[i].used)));
  pthread_cond_destroy(&t->settled);
  pthread_mutex_destroy(&t->lock);
  free(t);
}

/* ---- finding; the lock is held ---- */

static bool is_meant(const rp_presence *p, const rp_presence_query *q)
{
  const rp_presence_row *r = &p->row;
  if (r->kind != (int32_t)q->kind || (q->session && strcmp(r->session, q->session) != 0)) return false;
  if (q->name) return !r->ended && strcmp(r->name, q->name) == 0 && strcmp(r->scope, q->scope) == 0;
  return true;
}

/* The one that is due first, or was used least lately. Those that are taken are passed over unless they are wanted. */
static rp_presence *find(struct rp__presence *t, const rp_presence_query *q, bool taken_too)
{
  const struct rp__presence_of_kind *k = &t->kind[q->kind];
  rp_presence *p, *found = NULL;
  if (q->due_by) {
    p = TAILQ_FIRST(&k->due);
    while (p && !is_meant(p, q) && p->row.deadline <= q->due_by) p = TAILQ_NEXT(p, by_deadline);
    return p && p->row.deadline <= q->due_by ? p : NULL;
  }
  if (q->session) {
    LIST_FOREACH(p, &t->sessions[bucket_of(t, q->session)], by_session)
    if (is_meant(p, q) && (taken_too || !p->taken)) return p;
    return NULL;
  }
  if (q->name) {
    LIST_FOREACH(p, &t->names[bucket_of(t, q->name)], by_name)
    if (is_meant(p, q) && (taken_too || !p->taken) && (!found || p->row.touched_at <= found->row.touched_at)) found = p;
    return found;
  }
  TAILQ_FOREACH(p, &k->used, by_use)
  if (taken_too || !p->taken) return p;
  return NULL;
}

/* The entry that is meant, once nobody is at its end. */
static rp_presence *find_settled(struct rp__presence *t, const rp_presence_query *q)
{
  rp_presence *p;
  while ((p = find(t, q, true)) && p->taken) pthread_cond_wait(&t->settled, &t->lock);
  return p;
}

bool rp_presence_find(rp_engine *e, const rp_presence_query *q, rp_presence_row *ret, void **ret_host)
{
  pthread_mutex_lock(&e->presence->lock);
  const rp_presence *p = find(e->presence, q, true);
  if (p && ret) *ret = p->row;
  if (p && ret_host) *ret_host = p->host.host;
  pthread_mutex_unlock(&e->presence->lock);
  return p != NULL;
}

size_t rp_presence_present(rp_engine *e, rp_presence_kind kind, const char *session)
{
  struct rp__presence *t = e->presence;
  size_t n = 0;
  rp_presence *p;
  pthread_mutex_lock(&t->lock);
  LIST_FOREACH(p, &t->sessions[bucket_of(t, session)], by_session)
  if ((kind == RP_PRESENCE_ANY || p->row.kind == (int32_t)kind) && strcmp(p->row.session, session) == 0)
    n += (size_t)p->row.present;
  pthread_mutex_unlock(&t->lock);
  return n;
}

rp_presence_counts rp_presence_count(rp_engine *e, rp_presence_kind kind, int64_t now_ms)
{
  struct rp__presence *t = e->presence;
  pthread_mutex_lock(&t->lock);
  const struct rp__presence_of_kind *k = &t->kind[kind];
  const rp_presence *first = TAILQ_FIRST(&k->due);
  rp_presence_counts n = {k->entries, k->ending, first && first->row.deadline <= now_ms};
  pthread_mutex_unlock(&t->lock);
  return n;
}

int rp_presence_list(rp_engine *e, rp_presence_kind kind, rp_presence_fn *fn, void *ctx, rp_error *err)
{
  struct rp__presence *t = e->presence;
  const struct rp__presence_of_kind *k = &t->kind[kind];
  const rp_presence *p;
  size_t n = 0;
  pthread_mutex_lock(&t->lock);
  rp_presence_row *rows RP_AUTOFREE = calloc(k->entries + 1, sizeof *rows);
  if (rows) TAILQ_FOREACH(p, &k->used, by_use)
  rows[n++] = p->row;
  pthread_mutex_unlock(&t->lock);
  int rc = rows ? 0 : rp__fail_nomem(err);
  for (size_t i = 0; !rc && i < n; i++) rc = fn(ctx, &rows[i]);
  return rc;
}

/* ---- coming and going ---- */

int rp_presence_put(rp_engine *e, const rp_presence_row *row, const rp_presence_host *host, int64_t now_ms,
                    rp_presence **ret, rp_error *err)
{
  pthread_mutex_lock(&e->presence->lock);
  rp_presence *p = insert(e->presence, row, host, now_ms);
  pthread_mutex_unlock(&e->presence->lock);
  if (!p) return rp__fail_nomem(err);
  if (ret) *ret = p;
  return 0;
}

int rp_presence_join(rp_engine *e, const rp_presence_row *row, const rp_presence_host *host, bool writer,
                     int64_t now_ms, rp_presence **ret, void **ret_host, rp_error *err)
{
  struct rp__presence *t = e->presence;
  const rp_presence_query q = {.kind = (rp_presence_kind)row->kind, .session = row->session};
  pthread_mutex_lock(&t->lock);
  rp_presence *p = find_settled(t, &q);
  if (p)
    set_deadline(t, p, 0);
  else
    p = insert(t, row, host, now_ms);
  if (p) {
    p->row.present++;
    p->row.writers += writer;
    if (!p->row.name[0]) set_name(t, p, row->name);
    if (ret_host) *ret_host = p->host.host;
    *ret = p;
  }
  pthread_mutex_unlock(&t->lock);
  return p ? 0 : rp__fail_nomem(err);
}

bool rp_presence_touch(rp_engine *e, const rp_presence_query *q, const char *name, int64_t now_ms)
{
  struct rp__presence *t = e->presence;
  struct rp__presence_of_kind *k = &t->kind[q->kind];
  pthread_mutex_lock(&t->lock);
  rp_presence *p = find_settled(t, q);
  if (p) {
    p->row.touched_at = now_ms;
    TAILQ_REMOVE(&k->used, p, by_use);
    TAILQ_INSERT_TAIL(&k->used, p, by_use);
    if (p->row.grace_ms > 0) set_deadline(t, p, now_ms + p->row.grace_ms);
    if (name) set_name(t, p, name);
  }
  pthread_mutex_unlock(&t->lock);
  return p != NULL;
}

void rp_presence_leave(rp_engine *e, rp_presence *p, bool writer, int64_t grace_ms, int64_t now_ms)
{
  struct rp__presence *t = e->presence;
  rp_presence *freed = NULL;
  pthread_mutex_lock(&t->lock);
  assert(!p->gone && p->row.present > 0 && p->row.writers >= (int32_t)writer);
  p->row.present--;
  p->row.writers -= writer;
  if (p->row.present == 0 && (grace_ms < 0 || p->row.ended))
    freed = take_off(t, p);
  else if (p->row.present == 0)
    set_deadline(t, p, now_ms + (p->row.grace_ms >= 0 ? p->row.grace_ms : grace_ms));
  pthread_mutex_unlock(&t->lock);
  entry_free(freed);
}

void rp_presence_keep(rp_engine *e, rp_presence *p, int64_t grace_ms)
{
  pthread_mutex_lock(&e->presence->lock);
  p->row.grace_ms = RP_MAX(p->row.grace_ms, grace_ms);
  pthread_mutex_unlock(&e->presence->lock);
}

void rp_presence_set_ended(rp_engine *e, rp_presence *p, bool ended)
{
  pthread_mutex_lock(&e->presence->lock);
  p->row.ended = ended;
  pthread_mutex_unlock(&e->presence->lock);
}

/* ---- ends ---- */

rp_presence *rp_presence_take(rp_engine *e, const rp_presence_query *q, rp_presence_row *ret, void **ret_host)
{
  struct rp__presence *t = e->presence;
  pthread_mutex_lock(&t->lock);
  rp_presence *p = find(t, q, false);
  if (p) {
    if (ret) *ret = p->row;
    if (ret_host) *ret_host = p->host.host;
    set_deadline(t, p, 0);
    set_taken(t, p, true);
  }
  pthread_mutex_unlock(&t->lock);
  return p;
}

void rp_presence_settle(rp_engine *e, rp_presence *p, int64_t deadline)
{
  struct rp__presence *t = e->presence;
  rp_presence *freed = NULL;
  pthread_mutex_lock(&t->lock);
  assert(p->taken);
  if (deadline < 0) {
    freed = take_off(t, p);
  } else {
    set_taken(t, p, false);
    set_deadline(t, p, deadline);
  }
  pthread_cond_broadcast(&t->settled);
  pthread_mutex_unlock(&t->lock);
  entry_free(freed);
}

void rp_presence_clear(rp_engine *e, rp_presence_kind kind)
{
  const rp_presence_query q = {.kind = kind};
  rp_presence *p;
  while (e && (p = rp_presence_take(e, &q, NULL, NULL))) rp_presence_settle(e, p, -1);
}

/* ---- heartbeats: the one place that sends them for others ---- */

/* As their rows lie in the store. */
static int by_number(const void *a, const void *b)
{
  int64_t x = (*(rp_presence *const *)a)->row.number, y = (*(rp_presence *const *)b)->row.number;
  return (x > y) - (x < y);
}

static bool is_due(const rp_presence *p, int64_t now_ms)
{
  const rp_presence_row *r = &p->row;
  if (!p->host.session || !r->heartbeat_ms || r->heartbeat_at > now_ms) return false;
  return !p->taken && !r->ended && (r->writers || r->always);
}

size_t rp_presence_heartbeats(rp_engine *e, int64_t now_ms, size_t *cursor, rp_heartbeat_fn *fn, void *ctx,
                              rp_error *err)
{
  struct rp__presence *t = e->presence;
  rp_presence *due[BATCH], *p;
  int rc[BATCH];
  size_t n = 0;
  bool failed = false;
  pthread_mutex_lock(&t->lock);
  while (*cursor < RP_PRESENCE_BUCKETS && n < BATCH) {
    LIST_FOREACH(p, &t->sessions[*cursor], by_session)
    {
      if (n == BATCH || !is_due(p, now_ms)) continue;
      p->row.heartbeat_at += p->row.heartbeat_ms * ((now_ms - p->row.heartbeat_at) / p->row.heartbeat_ms + 1);
      p->uses++;
      due[n++] = p;
    }
    if (n < BATCH) (*cursor)++; /* else the rest of the bucket comes next */
  }
  pthread_mutex_unlock(&t->lock);
  qsort(due, n, sizeof due[0], by_number);
  for (size_t i = 0; i < n; i++) {
    rp_error why = {0};
    rc[i] = rp_heartbeat(due[i]->host.session, &why);
    bool over = rc[i] == RP_E_ENDED || rc[i] == RP_E_SESSION_NOT_FOUND;
    if (rc[i] && !over && !failed && err) *err = why;
    failed = failed || (rc[i] && !over);
  }
  for (size_t i = 0; i < n; i++) {
    if (fn) fn(ctx, (rp_presence_kind)due[i]->row.kind, due[i]->host.host, rc[i]);
    pthread_mutex_lock(&t->lock);
    rp_presence *freed = unuse(due[i]);
    pthread_mutex_unlock(&t->lock);
    entry_free(freed);
  }
  return n;
}
