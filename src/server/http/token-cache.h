/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cache of bearer tokens that were valid a moment ago, so that not every request asks
 * the store. An entry lives for a moment only, because a revoked token stays valid as
 * long as its entry. Wrong tokens are not cached, so that nobody can fill the cache
 * with them.
 */
#ifndef RP_SERVER_TOKENS_H
#define RP_SERVER_TOKENS_H

#include <stdbool.h>

#include <reprise/admin.h>
#include <reprise/continuity.h>
#include <reprise/host.h>
#include <reprise/reprise.h>

#include "base/error.h"

#define RP_TOKENS_CACHED 1024
#define RP_TOKENS_FRESH_MS 1000

struct rp__tokens;

/* What a token allows. */
struct rp__grant {
  char id[RP_ID_MAX + 1], scope[RP_ID_MAX + 1]; /* scope: empty for all */
  bool read_only;
};

RP_MUST_USE int rp__tokens_new(rp_engine *e, struct rp__tokens **ret, rp_error *err);
void rp__tokens_free(struct rp__tokens *t); /* NULL is fine */
/* As rp_token_check. now_ms: monotonic. Any thread. */
RP_MUST_USE int rp__tokens_check(struct rp__tokens *t, const char *text, int64_t now_ms, struct rp__grant *ret,
                                 rp_error *err);

#endif
