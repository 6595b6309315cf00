/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the spill share. */
#ifndef RP_SERVER_SPILL_IMPL_H
#define RP_SERVER_SPILL_IMPL_H

#include "base/text.h"
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
  int64_t accepted, stored, repeated, refused, lost;
};

/* ---- spill-fly.c ---- */

/* Gives the head to the engine, and the next one when it is refused at once. With the lock held, which is let go. */
void rp__spill_fly(struct rp__spill *s, struct rp__lane *l);
/* One that is the head of its lane. `session`: that of the lane's entry at this time; it may be renewed meanwhile. */
int rp__spill_submit(struct rp__spill *s, struct rp__kept *k, rp_session *session, rp_error *err);
/* As kept in the lane's window. With the lock held. */
void rp__spill_count(struct rp__spill *s, struct rp__lane *l, struct rp__kept *k);
void rp__spill_log_lost(struct rp__spill *s, const char *id, size_t n, const rp_error *err);

/* ---- spill-vet.c ---- */

/* What is read of a session to judge an append by. */
struct rp__vetting {
  bool known; /* false: nothing can be read */
  bool ended;
  char status[24];
  int64_t epoch, mark; /* the client's last number that is stored */
};
enum rp__repeat { RP_REPEAT_NONE, RP_REPEAT_STORED, RP_REPEAT_WAITS };

/* Reads; blocks for that. `client_id` may be NULL. */
int rp__vetting_read(struct rp__spill *s, const char *id, rp_session *session, const char *client_id,
                     struct rp__vetting *ret, rp_error *err);
/*
 * What the store would say of an append behind those of the lane (NULL: none wait) that stand before `end` (NULL: all):
 * RP_E_FENCED, RP_E_ENDED, RP_E_CLIENT_GAP, or 0 and whether it is a repeat. With the lock held.
 */
int rp__vet(const struct rp__vetting *v, const struct rp__lane *l, const struct rp__kept *end, const char *id,
            const rp_append_options *o, size_t n, enum rp__repeat *ret, rp_error *err);

#endif
