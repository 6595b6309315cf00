/* SPDX-License-Identifier: Apache-2.0 */
/* The registry of session handles: a hash table of entries with references, and a list of unused entries. */
#include "server/registry.h"
#include "base/ticks.h"

#include <assert.h>
#include <pthread.h>
#include <sodium.h>

#include "base/clock.h"
#include "base/enum-words.h"
#include "base/error.h"
#include "base/macros.h"

#define BUCKETS 4096

struct rp__registry {
  rp_engine *engine;
  pthread_mutex_t lock;
  LIST_HEAD(, rp__entry) bucket[BUCKETS];
  TAILQ_HEAD(, rp__entry) unused;
  size_t n, n_unused;
  unsigned char seed[crypto_shorthash_KEYBYTES];
};

int rp__registry_new(rp_engine *e, struct rp__registry **ret, rp_error *err)
{
  struct rp__registry *r = calloc(1, sizeof *r);
  if (!r) return rp__fail_nomem(err);
  r->engine = e;
  pthread_mutex_init(&r->lock, NULL);
  TAILQ_INIT(&r->unused);
  crypto_shorthash_keygen(r->seed);
  *ret = r;
  return 0;
}

/* ---- the table; the lock is held ---- */

static size_t bucket_of(const struct rp__registry *r, const char *id)
{
  uint64_t h;
  crypto_shorthash((unsigned char *)&h, (const unsigned char *)id, strlen(id), r->seed);
  return h % BUCKETS;
}

static struct rp__entry *lookup(const struct rp__registry *r, const char *id)
{
  struct rp__entry *e;
  LIST_FOREACH(e, &r->bucket[bucket_of(r, id)], in_bucket)
  if (strcmp(e->id, id) == 0) return e;
  return NULL;
}

static struct rp__entry *add_ref(struct rp__registry *r, struct rp__entry *e)
{
  if (e->refs++ == 0) {
    TAILQ_REMOVE(&r->unused, e, unused);
    r->n_unused--;
  }
  return e;
}

/* Out of the table. True: nobody uses it, so the caller frees it, without the lock. */
static bool take_out(struct rp__registry *r, struct rp__entry *e)
{
  assert(!e->forgotten);
  LIST_REMOVE(e, in_bucket);
  r->n--;
  e->forgotten = true;
  if (e->refs) return false;
  TAILQ_REMOVE(&r->unused, e, unused);
  r->n_unused--;
  return true;
}

static void entry_free(struct rp__entry *e)
{
  rp_session_detach(e->s);
  free(e);
}

/* ---- finding ---- */

static int on_shown(void *ctx, const rp_session_info *info)
{
  struct rp__shown *x = ctx;
  *x = (struct rp__shown){.seq = info->seq,
                          .epoch = info->epoch,
                          .created_at = info->created_at,
                          .last_activity_at = info->last_activity_at,
                          .trashed_at = info->trashed_at,
                          .ended_at = info->ended_at,
                          .ended = info->status >= RP_SESSION_CLOSED,
                          .birth = rp__birth_of(info)};
  snprintf(x->id, sizeof x->id, "%s", info->id);
  snprintf(x->scope, sizeof x->scope, "%s", info->scope);
  snprintf(x->key, sizeof x->key, "%s", info->key ? info->key : "");
  snprintf(x->channel, sizeof x->channel, "%s", info->channel ? info->channel : "");
  snprintf(x->status, sizeof x->status, "%s", rp_session_status_name(info->status));
  return 0;
}

int rp__show(rp_engine *e, const char *ref, struct rp__shown *ret, rp_error *err)
{
  return rp_show(e, ref, on_shown, ret, err);
}

static int look(struct rp__registry *r, const char *ref, struct rp__shown *ret, rp_error *err)
{
  int rc = rp__show(r->engine, ref, ret, err);
  if (rc || !ret->trashed_at) return rc;
  rp__fail(err, RP_E_SESSION_NOT_FOUND, "session %s is in the trash", ret->id);
  rp__hint(err, "'reprise untrash %s' takes it out", ret->id);
  return RP_E_SESSION_NOT_FOUND;
}

/* The entry in the table with a new reference, or NULL. */
static struct rp__entry *find(struct rp__registry *r, const char *id, bool *ret_fresh)
{
  pthread_mutex_lock(&r->lock);
  struct rp__entry *e = lookup(r, id);
  if (e) *ret_fresh = rp__ticks_ms() - add_ref(r, e)->looked_ms < RP_REGISTRY_FRESH_MS;
  pthread_mutex_unlock(&r->lock);
  return e;
}

/* Makes an entry, unless somebody was faster: then his is returned. */
static int entry_new(struct rp__registry *r, const struct rp__shown *x, struct rp__entry **ret, rp_error *err)
{
  struct rp__entry *e = calloc(1, sizeof *e);
  if (!e) return rp__fail_nomem(err);
  int rc = rp_attach(r->engine, x->id, &e->s, err);
  if (rc) {
    free(e);
    return rc;
  }
  e->refs = 1;
  e->looked_ms = rp__ticks_ms();
  e->birth = x->birth;
  memcpy(e->id, x->id, sizeof e->id);
  memcpy(e->scope, x->scope, sizeof e->scope);
  memcpy(e->channel, x->channel, sizeof e->channel);
  pthread_mutex_lock(&r->lock);
  struct rp__entry *there = lookup(r, e->id);
  if (there) {
    add_ref(r, there);
  } else {
    LIST_INSERT_HEAD(&r->bucket[bucket_of(r, e->id)], e, in_bucket);
    r->n++;
  }
  pthread_mutex_unlock(&r->lock);
  if (there) entry_free(e);
  *ret = there ? there : e;
  return 0;
}

/* A cached entry whose session may have gone since it was looked at. *e becomes NULL when another has its id: *x. */
static int check_again(struct rp__registry *r, struct rp__entry **e, struct rp__shown *x, rp_error *err)
{
  struct rp__entry *was = *e;
  int rc = look(r, was->id, x, err);
  bool replaced = !rc && x->birth != was->birth;
  pthread_mutex_lock(&r->lock);
  if (!rc && !replaced) was->looked_ms = rp__ticks_ms();
  pthread_mutex_unlock(&r->lock);
  if (rc == RP_E_SESSION_NOT_FOUND || replaced) rp__registry_forget(r, was->id);
  if (!rc && !replaced) return 0;
  rp__registry_put(r, was);
  *e = NULL;
  return rc;
}

int rp__registry_get(struct rp__registry *r, const char *ref, struct rp__entry **ret, rp_error *err)
{
  struct rp__shown x = {0};
  bool fresh = true;
  struct rp__entry *e = find(r, ref, &fresh);
  int rc = e ? 0 : look(r, ref, &x, err);
  if (!rc && !e) e = find(r, x.id, &fresh);
  if (!rc && e && !fresh) rc = check_again(r, &e, &x, err);
  if (!rc && !e) rc = entry_new(r, &x, &e, err);
  if (!rc) *ret = e;
  return rc;
}

int rp__registry_get_in(struct rp__registry *r, const char *scope, const char *ref, struct rp__entry **ret,
                        rp_error *err)
{
  char id[RP_ID_MAX + 1];
  /* An exact id in use, which most are, needs no question to the store. */
  pthread_mutex_lock(&r->lock);
  const struct rp__entry *e = lookup(r, ref);
  bool known = e && (!scope || strcmp(e->scope, scope) == 0);
  pthread_mutex_unlock(&r->lock);
  if (known) return rp__registry_get(r, ref, ret, err);
  int rc = rp_resolve_in(r->engine, scope, ref, id, err);
  return rc ? rc : rp__registry_get(r, id, ret, err);
}

struct rp__entry *rp__entry_ref(struct rp__registry *r, struct rp__entry *e)
{
  pthread_mutex_lock(&r->lock);
  assert(e->refs > 0);
  e->refs++;
  pthread_mutex_unlock(&r->lock);
  return e;
}

void rp__registry_put(struct rp__registry *r, struct rp__entry *e)
{
  if (!e) return;
  pthread_mutex_lock(&r->lock);
  assert(e->refs > 0);
  bool last = --e->refs == 0, gone = last && e->forgotten;
  if (last && !gone) {
    TAILQ_INSERT_TAIL(&r->unused, e, unused);
    r->n_unused++;
  }
  pthread_mutex_unlock(&r->lock);
  if (gone) entry_free(e);
}

void rp__registry_forget(struct rp__registry *r, const char *id)
{
  pthread_mutex_lock(&r->lock);
  struct rp__entry *e = lookup(r, id);
  bool unused = e && take_out(r, e);
  pthread_mutex_unlock(&r->lock);
  if (unused) entry_free(e);
}

bool rp__registry_trim(struct rp__registry *r, size_t keep, size_t most)
{
  for (; most; most--) {
    pthread_mutex_lock(&r->lock);
    struct rp__entry *e = r->n_unused > keep ? TAILQ_FIRST(&r->unused) : NULL;
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
