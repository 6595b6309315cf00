/* SPDX-License-Identifier: Apache-2.0 */
/* What a conversation is about (L-07): topics, intent, context, merged from `intent` events. */
#ifndef RP_FACETS_GIST_H
#define RP_FACETS_GIST_H

#include "json/json.h"

#define RP_GIST_BYTES ((size_t)20 * 1024) /* of its saved form, at most */

/* JSON as it came; empty: none. Zeroes are an empty one. */
struct rp__gist {
  struct rp__buf topics, intent, context;
};

void rp__gist_done(struct rp__gist *g);
bool rp__gist_empty(const struct rp__gist *g);
/*
 * Topics come behind the others when they are told (again), objects of context are merged, else the new stands in place
 * of the old; a member that is null says nothing. 0 or RP_E_NOMEM.
 */
int rp__gist_merge(struct rp__gist *g, struct rp__json body);
/* {"topics":[…],"intent":…,"context":…} */
void rp__gist_write(const struct rp__gist *g, struct rp__jw *w);
/* Fills an empty one; *ret_ok is false when nobody saved that. 0 or RP_E_NOMEM. */
int rp__gist_load(struct rp__gist *g, struct rp__json v, bool *ret_ok);

#endif
