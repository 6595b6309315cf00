/* SPDX-License-Identifier: Apache-2.0 */
/* The cache of bearer tokens that were valid a moment ago. */
#include "server/http/token-cache.h"

#include <pthread.h>
#include <sodium.h>

#include "base/text.h"

#define HASH_BYTES 32

/* Each token has one place; two that share it just ask the store more often. */
struct place {
  unsigned char hash[HASH_BYTES];
  int64_t until_ms; /* 0: empty */
  struct rp__grant grant;
};

struct rp__tokens {
  rp_engine *e;
  pthread_mutex_t lock;
  struct place places[RP_TOKENS_CACHED];
};

int rp__tokens_new(rp_engine *e, struct rp__tokens **ret, rp_error *err)
{
  struct rp__tokens *t = calloc(1, sizeof *t);
  if (!t) return rp__fail_nomem(err);
  t->e = e;
  pthread_mutex_init(&t->lock, NULL);
  *ret = t;
  return 0;
}

void rp__tokens_free(struct rp__tokens *t)
{
  if (!t) return;
  pthread_mutex_destroy(&t->lock);
  free(t);
}

static int on_token(void *ctx, const rp_token_info *info)
{
  struct rp__grant *g = ctx;
  rp__text_copy(g->id, sizeof g->id, info->id);
  rp__text_copy(g->scope, sizeof g->scope, info->scope ? info->scope : "");
  g->read_only = info->read_only;
  return 0;
}

int rp__tokens_check(struct rp__tokens *t, const char *text, int64_t now_ms, struct rp__grant *ret, rp_error *err)
{
  unsigned char hash[HASH_BYTES];
  struct rp__grant g = {0};
  crypto_generichash(hash, sizeof hash, (const unsigned char *)text, strlen(text), NULL, 0);
  uint32_t n;
  memcpy(&n, hash, sizeof n);
  struct place *p = &t->places[n % RP_TOKENS_CACHED];
  pthread_mutex_lock(&t->lock);
  bool there = p->until_ms > now_ms && sodium_memcmp(p->hash, hash, HASH_BYTES) == 0;
  if (there) *ret = p->grant;
  pthread_mutex_unlock(&t->lock);
  if (there) return 0;
  int rc = rp_token_check(t->e, text, on_token, &g, err);
  if (rc) return rc;
  pthread_mutex_lock(&t->lock);
  memcpy(p->hash, hash, HASH_BYTES);
  p->until_ms = now_ms + RP_TOKENS_FRESH_MS;
  p->grant = g;
  pthread_mutex_unlock(&t->lock);
  *ret = g;
  return 0;
}
