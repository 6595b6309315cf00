/* SPDX-License-Identifier: Apache-2.0 */
/* Rate limits: token buckets by address. The address that was silent longest is forgotten first. */
#include "server/http/rate-limit.h"

#include <pthread.h>
#include <sodium.h>

#include "base/id.h"

#define NONE UINT16_MAX

_Static_assert(RP_RATE_CLIENTS < NONE, "places have 16 bits");

/* Known by a keyed hash: names of any length in constant memory, and nobody can aim at another's bucket. */
struct bucket {
  uint64_t who;
  double left;
  int64_t at_us;
  uint16_t next;         /* of the same hash */
  uint16_t older, newer; /* by last use */
};

struct rp__rate {
  pthread_mutex_t lock;
  double per_us, burst;
  unsigned char key[crypto_shorthash_KEYBYTES];
  uint16_t n, oldest, newest;
  uint16_t first[RP_RATE_CLIENTS]; /* by hash */
  struct bucket v[RP_RATE_CLIENTS];
};

int rp__rate_new(double per_second, double burst, struct rp__rate **ret, rp_error *err)
{
  struct rp__rate *r = calloc(1, sizeof *r);
  if (!r) return rp__fail_nomem(err);
  pthread_mutex_init(&r->lock, NULL);
  rp__system_random.fill(rp__system_random.ctx, r->key, sizeof r->key);
  r->per_us = per_second / 1e6;
  r->burst = RP_MAX(burst, 1);
  r->oldest = r->newest = NONE;
  memset(r->first, 0xff, sizeof r->first);
  *ret = r;
  return 0;
}

void rp__rate_free(struct rp__rate *r)
{
  if (!r) return;
  pthread_mutex_destroy(&r->lock);
  free(r);
}

/* ---- places ---- */

static uint16_t *link_to(struct rp__rate *r, uint64_t who)
{
  uint16_t *at = &r->first[who % RP_RATE_CLIENTS];
  while (*at != NONE && r->v[*at].who != who) at = &r->v[*at].next;
  return at;
}

static void unlist(struct rp__rate *r, uint16_t i)
{
  struct bucket *b = &r->v[i];
  *(b->older == NONE ? &r->oldest : &r->v[b->older].newer) = b->newer;
  *(b->newer == NONE ? &r->newest : &r->v[b->newer].older) = b->older;
}

bool rp__rate_take(struct rp__rate *r, const char *who, int64_t now_us)
{
  unsigned char hash[crypto_shorthash_BYTES];
  uint64_t number;
  crypto_shorthash(hash, (const unsigned char *)who, strlen(who), r->key);
  memcpy(&number, hash, sizeof number);
  pthread_mutex_lock(&r->lock);
  uint16_t i = *link_to(r, number);
  bool known = i != NONE;
  if (!known && r->n < RP_RATE_CLIENTS) {
    i = r->n++;
  } else {
    /* Out of its place in the list; of a stranger, who was silent for longest makes room. */
    if (!known) i = r->oldest;
    unlist(r, i);
    if (!known) *link_to(r, r->v[i].who) = r->v[i].next;
  }
  struct bucket *b = &r->v[i];
  if (!known) {
    *b = (struct bucket){.who = number, .left = r->burst, .at_us = now_us, .next = NONE};
    *link_to(r, number) = i;
  }
  b->older = r->newest;
  b->newer = NONE;
  *(r->newest == NONE ? &r->oldest : &r->v[r->newest].newer) = i;
  r->newest = i;
  if (now_us > b->at_us) {
    b->left = RP_MIN(r->burst, b->left + (double)(now_us - b->at_us) * r->per_us);
    b->at_us = now_us;
  }
  bool may = b->left >= 1;
  if (may) b->left--;
  pthread_mutex_unlock(&r->lock);
  return may;
}

size_t rp__rate_known(struct rp__rate *r)
{
  pthread_mutex_lock(&r->lock);
  size_t n = r->n;
  pthread_mutex_unlock(&r->lock);
  return n;
}
