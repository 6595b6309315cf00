/* SPDX-License-Identifier: Apache-2.0 */
/* A few threads for work that a request's thread or the loop must not wait for: starts, checkpoints, documents. */
#ifndef RP_SERVER_POOL_H
#define RP_SERVER_POOL_H

#include <stdbool.h>

#include "base/error.h"

#define RP_POOL_THREADS 4
#define RP_POOL_WAITING 16384 /* tasks; a restart brings every client back at once */

struct rp__pool;

/* The caller's memory, untouched until fn runs (it may free it). */
struct rp__task {
  void (*fn)(struct rp__task *t);
  struct rp__task *next;
};

RP_MUST_USE int rp__pool_new(int threads, struct rp__pool **ret, rp_error *err);
/* false: too many wait, or the pool is closing; fn will not be called. */
bool rp__pool_post(struct rp__pool *p, struct rp__task *t);
size_t rp__pool_waiting(struct rp__pool *p);
uint64_t rp__pool_begun(struct rp__pool *p); /* tasks ever begun: whether it moves at all */
/* Runs what waits, then ends the threads; posting fails from now on. NULL is fine. */
void rp__pool_stop(struct rp__pool *p);
void rp__pool_free(struct rp__pool *p); /* stops it first; NULL is fine */

#endif
