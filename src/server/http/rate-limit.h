/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rate limits: each client has a bucket of tokens, which fills again with time. The client that has been silent longest
 * is forgotten first.
 */
#ifndef RP_SERVER_RATE_H
#define RP_SERVER_RATE_H

#include <stdbool.h>

#include "base/error.h"

#define RP_RATE_CLIENTS 4096 /* remembered */

struct rp__rate;

/* `burst` at once, then `per_second`. */
RP_MUST_USE int rp__rate_new(double per_second, double burst, struct rp__rate **ret, rp_error *err);
void rp__rate_free(struct rp__rate *r); /* NULL is fine */
/* Takes one of who's; false when none is left. now_us: any clock that goes on. Any thread. */
bool rp__rate_take(struct rp__rate *r, const char *who, int64_t now_us);
size_t rp__rate_known(struct rp__rate *r);

#endif
