/* SPDX-License-Identifier: Apache-2.0 */
#include "server/registry.h"

#include <pthread.h>
#include <sodium.h>

#include "base/error.h"
#include "base/macros.h"

#define BUCKETS 4096

struct rp__entry {
  struct rp__entry *next;          /* in its bucket, by id */
  struct rp__entry *older, *newer; /* among the unused */
  rp_session *s;
  int refs;
  bool forgotten; /* out of the table; freed with its last reference */
  int64_t looked_ms;
  rp__birth birth;
  char id[RP_ID_MAX + 1], scope[RP_ID_MAX + 1], channel[RP_ID_MAX + 1];
};

struct rp__registry {
  rp_engine *engine;
  pthread_mutex_t lock;
  struct rp__entry *bucket[BUCKETS];
  struct rp__entry *oldest, *newest; /* unused ones */
  size_t n, n_unused;
  unsigned char seed[crypto_shorthash_KEYBYTES];
};

static int64_t now_ms(void)
{
  struct timespec ts;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
  return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

int rp__registry_new(rp_engine *e, struct rp__registry **ret, rp_error *err)
{
  struct rp__registry *r = calloc(1, sizeof *r);
  if (!r) return rp__fail_nomem(err);
  r->engine = e;
  pthread_mutex_init(&r->lock, NULL);
  crypto_shorthash_keygen(r->seed);
  *ret = r;
  return 0;
}

static struct rp__entry **place_of(struct rp__registry *r, const char *id)
{
  uint64_t h;
  crypto_shorthash((unsigned char *)&h, (const unsigned char *)id, strlen(id), r->seed);
  struct rp__entry **at = &r->bucket[h % BUCKETS];
  while (*at && strcmp((*at)->id, id) != 0) at = &(*at)->next;
  return at;
}

/* ---- the list of unused ones ---- */

static void unused_add(struct rp__registry *r, struct rp__entry *e)
{
  e->newer = NULL;
  e->older = r->newest;
  if (r->newest)
    r->newest->newer = e;
  else
    r->oldest = e;
  r->newest = e;
  r->n_unused++;
}

static void unused_remove(struct rp__registry *r, struct rp__entry *e)
{
  if (e->older)
    e->older->newer = e->newer;
  else
    r->oldest = e->newer;
  if (e->newer)
    e->newer->older = e->older;
  else
    r->newest = e->older;
  e->older = e->newer = NULL;
  r->n_unused--;
}

/* Out of the table. True: nobody uses it, so the caller frees it, without the lock. */
static bool take_out(struct rp__registry *r, struct rp__entry *e)
{
  struct rp__entry **at = place_of(r, e->id);
  if (*at == e) {
    *at = e->next;
    r->n--;
  }
  e->forgotten = true;
  if (e->refs) return false;
  unused_remove(r, e);
  return true;
}

static void entry_free(struct rp__entry *e)
{
  rp_session_detach(e->s);
  free(e);
}

/* ---- finding ---- */

struct shown {
  char id[RP_ID_MAX + 1], scope[RP_ID_MAX + 1], channel[RP_ID_MAX + 1];
  rp__birth birth;
  bool trashed;
};

static int on_shown(void *ctx, const rp_session_info *info)
{
  struct shown *x = ctx;
  snprintf(x->id, sizeof x->id, "%s", info->id);
  snprintf(x->scope, sizeof x->scope, "%s", info->scope);
  snprintf(x->channel, sizeof x->channel, "%s", info->channel ? info->channel : "");
  x->birth = rp__birth_of(info);
  x->trashed = info->trashed_at != 0;
  return 0;
}

static int look(struct rp__registry *r, const char *ref, struct shown *ret, rp_error *err)
{
  int rc = rp_show(r->engine, ref, on_shown, ret, err);
  if (rc || !ret->trashed) return rc;
  rp__fail(err, RP_E_SESSION_NOT_FOUND, "session %s is in the trash", ret->id);
  rp__hint(err, "'reprise untrash %s' takes it out", ret->id);
  return RP_E_SESSION_NOT_FOUND;
}

/* The entry in the table with a new reference, or NULL. */
static struct rp__entry *find(struct rp__registry *r, const char *id, bool *ret_fresh)
{
  pthread_mutex_lock(&r->lock);
  struct rp__entry *e = *place_of(r, id);
  if (e) {
    if (!e->refs++) unused_remove(r, e);
    *ret_fresh = now_ms() - e->looked_ms < RP_REGISTRY_FRESH_MS;
  }
  pthread_mutex_unlock(&r->lock);
  return e;
}

static int entry_new(struct rp__registry *r, const struct shown *x, struct rp__entry **ret, rp_error *err)
{
  struct rp__entry *e = calloc(1, sizeof *e);
  if (!e) return rp__fail_nomem(err);
  int rc = rp_attach(r->engine, x->id, &e->s, err);
  if (rc) {
    free(e);
    return rc;
  }
  e->refs = 1;
  e->looked_ms = now_ms();
  e->birth = x->birth;
  memcpy(e->id, x->id, sizeof e->id);
  memcpy(e->scope, x->scope, sizeof e->scope);
  memcpy(e->channel, x->channel, sizeof e->channel);
  *ret = e;
  return 0;
}

/* Puts a new entry into the table, unless somebody was faster: then his is returned. */
static struct rp__entry *settle(struct rp__registry *r, struct rp__entry *e)
{
  pthread_mutex_lock(&r->lock);
  struct rp__entry **at = place_of(r, e->id), *there = *at;
  if (there) {
    if (!there->refs++) unused_remove(r, there);
  } else {
    *at = e;
    r->n++;
  }
  pthread_mutex_unlock(&r->lock);
  if (!there) return e;
  entry_free(e);
  return there;
}

/* A cached entry whose session may have gone since it was looked at. *e becomes NULL when another has its id: *x. */
static int check_again(struct rp__registry *r, struct rp__entry **e, struct shown *x, rp_error *err)
{
  struct rp__entry *was = *e;
  int rc = look(r, was->id, x, err);
  bool replaced = !rc && x->birth != was->birth;
  pthread_mutex_lock(&r->lock);
  if (!rc && !replaced) was->looked_ms = now_ms();
  pthread_mutex_unlock(&r->lock);
  if (rc == RP_E_SESSION_NOT_FOUND || replaced) rp__registry_forget(r, was->id);
  if (!rc && !replaced) return 0;
  rp__registry_put(r, was);
  *e = NULL;
  return rc;
}

int rp__registry_get(struct rp__registry *r, const char *ref, struct rp__entry **ret, rp_error *err)
{
  struct shown x = {0};
  bool fresh = true;
  struct rp__entry *e = find(r, ref, &fresh);
  int rc = e ? 0 : look(r, ref, &x, err);
  if (!rc && !e) e = find(r, x.id, &fresh);
  if (!rc && e && !fresh) rc = check_again(r, &e, &x, err);
  if (!rc && !e && !(rc = entry_new(r, &x, &e, err))) e = settle(r, e);
  if (!rc) *ret = e;
  return rc;
}

/* An exact id in use, which most are, needs no question to the store. */
static bool is_known(struct rp__registry *r, const char *scope, const char *ref)
{
  pthread_mutex_lock(&r->lock);
  const struct rp__entry *e = *place_of(r, ref);
  bool known = e && (!scope || strcmp(e->scope, scope) == 0);
  pthread_mutex_unlock(&r->lock);
  return known;
}

int rp__registry_get_in(struct rp__registry *r, const char *scope, const char *ref, struct rp__entry **ret,
                        rp_error *err)
{
  char id[RP_ID_MAX + 1];
  if (is_known(r, scope, ref)) return rp__registry_get(r, ref, ret, err);
  int rc = rp_resolve_in(r->engine, scope, ref, id, err);
  return rc ? rc : rp__registry_get(r, id, ret, err);
}

struct rp__entry *rp__entry_ref(struct rp__registry *r, struct rp__entry *e)
{
  pthread_mutex_lock(&r->lock);
  e->refs++;
  pthread_mutex_unlock(&r->lock);
  return e;
}

void rp__registry_put(struct rp__registry *r, struct rp__entry *e)
{
  if (!e) return;
  pthread_mutex_lock(&r->lock);
  bool last = --e->refs == 0;
  bool gone = last && e->forgotten;
  if (last && !gone) unused_add(r, e);
  pthread_mutex_unlock(&r->lock);
  if (gone) entry_free(e);
}

void rp__registry_forget(struct rp__registry *r, const char *id)
{
  pthread_mutex_lock(&r->lock);
  struct rp__entry *e = *place_of(r, id);
  bool unused = e && take_out(r, e);
  pthread_mutex_unlock(&r->lock);
  if (unused) entry_free(e);
}

bool rp__registry_trim(struct rp__registry *r, size_t keep, size_t most)
{
  for (; most; most--) {
    pthread_mutex_lock(&r->lock);
    struct rp__entry *e = r->n_unused > keep ? r->oldest : NULL;
    if (e) take_out(r, e);
    pthread_mutex_unlock(&r->lock);
    if (!e) return false;
    entry_free(e);
  }
  return true;
}

void rp__registry_free(struct rp__registry *r)
{
  if (!r) return;
  rp__registry_trim(r, 0, SIZE_MAX);
  pthread_mutex_destroy(&r->lock);
  free(r);
}

size_t rp__registry_count(struct rp__registry *r)
{
  pthread_mutex_lock(&r->lock);
  size_t n = r->n;
  pthread_mutex_unlock(&r->lock);
  return n;
}

rp_session *rp__entry_session(const struct rp__entry *e)
{
  return e->s;
}

const char *rp__entry_id(const struct rp__entry *e)
{
  return e->id;
}

const char *rp__entry_scope(const struct rp__entry *e)
{
  return e->scope;
}

rp__birth rp__entry_birth(const struct rp__entry *e)
{
  return e->birth;
}

const char *rp__entry_channel(const struct rp__entry *e)
{
  return e->channel;
}
