/* SPDX-License-Identifier: Apache-2.0 */
/* The slots of this process in `<db>.runs`. */
#include "engine/run/slot.h"

struct rp__slot {
  struct rp__slot *next;
  int64_t slot;
  int refs;
};

static struct rp__slot **find(rp_engine *e, int64_t slot)
{
  struct rp__slot **p = &e->slots;
  while (*p && (*p)->slot != slot) p = &(*p)->next;
  return p;
}

/* Locks and remembers, with nobody looking in between. `slot` 0: any. */
static int take(rp_engine *e, int64_t slot, int64_t *ret, rp_error *err)
{
  struct rp__slot *s = calloc(1, sizeof *s);
  if (!s) return rp__fail_nomem(err);
  int rc = 0;
  pthread_mutex_lock(&e->lock);
  if (slot && *find(e, slot))
    rc = RP_E_BUSY;
  else if (e->locks.fd < 0)
    s->slot = slot ? slot : ++e->last_slot;
  else if (slot)
    rc = rp__lockfile_take_slot(&e->locks, s->slot = slot);
  else
    rc = rp__lockfile_take(&e->locks, &rp__system_random, &s->slot, err);
  if (!rc) {
    s->refs = 1;
    s->next = e->slots;
    e->slots = s;
    *ret = s->slot;
  }
  pthread_mutex_unlock(&e->lock);
  if (rc) free(s);
  return rc;
}

int rp__slot_take(rp_engine *e, int64_t *ret, rp_error *err)
{
  return take(e, 0, ret, err);
}

int rp__slot_take_named(rp_engine *e, int64_t slot, rp_error *err)
{
  int64_t got;
  int rc = take(e, slot, &got, err);
  if (rc == RP_E_BUSY) return rp__fail(err, rc, "somebody else is at it");
  return rc == RP_E_IO ? rp__fail(err, rc, "can't lock a byte of the runs' file") : rc;
}

bool rp__slot_share(rp_engine *e, int64_t slot)
{
  pthread_mutex_lock(&e->lock);
  struct rp__slot *s = *find(e, slot);
  if (s) s->refs++;
  pthread_mutex_unlock(&e->lock);
  return s != NULL;
}

void rp__slot_drop(rp_engine *e, int64_t slot)
{
  pthread_mutex_lock(&e->lock);
  struct rp__slot **p = find(e, slot), *s = *p;
  if (s && --s->refs == 0) {
    *p = s->next;
    if (e->locks.fd >= 0) rp__lockfile_drop(&e->locks, slot);
    free(s);
  }
  pthread_mutex_unlock(&e->lock);
}

void rp__slots_free(rp_engine *e)
{
  while (e->slots) {
    struct rp__slot *s = e->slots;
    e->slots = s->next;
    free(s);
  }
}

bool rp__slot_is_ours(rp_engine *e, int64_t slot)
{
  pthread_mutex_lock(&e->lock);
  bool ours = *find(e, slot) != NULL;
  pthread_mutex_unlock(&e->lock);
  return ours;
}

bool rp__slot_is_held(rp_engine *e, int64_t slot)
{
  return rp__slot_is_ours(e, slot) || (e->locks.fd >= 0 && rp__lockfile_held(&e->locks, slot));
}
