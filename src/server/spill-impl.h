/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the spill share. */
#ifndef RP_SERVER_SPILL_IMPL_H
#define RP_SERVER_SPILL_IMPL_H

#include "server/away.h"
#include "server/lane.h"

#define RP_SPILL_BUCKETS 1024

struct rp__retired {
  struct rp__retired *next;
  struct rp__entry *entry;
};

struct rp__spill {
  struct rp__server *srv;
  struct rp__away away;
  pthread_mutex_t lock;
  pthread_cond_t landed;
  struct rp__lane *lanes[RP_SPILL_BUCKETS];
  struct rp__retired *retired; /* entries to be put back where blocking is allowed */
  atomic_size_t n_lanes;
  atomic_llong flights; /* in the engine's hands */
  size_t bytes;         /* of all lanes */
  int64_t accepted, stored, refused, lost;
};

/* Gives the head to the engine, and the next one when it is refused at once. With the lock held, which is let go. */
void rp__spill_fly(struct rp__spill *s, struct rp__lane *l);
void rp__spill_log_lost(struct rp__spill *s, const char *id, size_t n, const rp_error *err);

#endif
