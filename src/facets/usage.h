/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens, cost and requests of a session so far (L-12). */
#ifndef RP_FACETS_USAGE_H
#define RP_FACETS_USAGE_H

#include "core/fold.h"

struct rp__usage {
  int64_t tokens_in, tokens_out, requests;
  double cost_usd;
};

/* The sums over all events of the fold; zeroes when nothing was spent. Never NULL. */
const struct rp__usage *rp__usage(const struct rp__fold *f);

#endif
