/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the spill keeps: appends whose senders accept memory, in the order of their
 * session, one in the engine's hands at a time. (Two at once could be stored in the
 * wrong order: the first fails for want of space and the second, smaller, does not.)
 */
#ifndef RP_SERVER_LANE_H
#define RP_SERVER_LANE_H

#include "server/spill.h"

struct rp__lane;
struct rp__retired;

struct rp__kept {
  struct rp__kept *next;
  struct rp__lane *lane;
  rp_append_fn *done;
  void *ctx;
  rp_append_options options;
  size_t n, bytes;
  bool memory;  /* its sender accepts that */
  bool told;    /* … and has been told so */
  bool spilled; /* it was kept because the store was away */
  bool marker;  /* x-degraded, our own */
  rp_event events[];
};

/* One allocation for everything. NULL without memory. */
struct rp__kept *rp__kept_new(const struct rp__append *a, bool memory, int64_t now_ms);

/* What was kept while the store was away, and what became of it since. */
struct rp__window {
  int64_t since_ms; /* 0: none is open */
  int64_t events, bytes;
  int64_t stored, repeated, lost; /* of the events; repeated: they were there already */
};
/* The event that tells of a window. */
struct rp__kept *rp__kept_marker(const struct rp__window *w, int64_t until_ms);
/* Whether those are the same events: kinds and bodies. */
bool rp__kept_same(const struct rp__kept *k, const struct rp__append *a);
void rp__kept_free(struct rp__kept *k);

struct rp__lane {
  struct rp__lane *next; /* of the same hash */
  struct rp__spill *spill;
  struct rp__entry *entry;
  struct rp__retired *retired; /* entries before that one; what flies may still use the last of them */
  struct rp__kept *head, *tail;
  size_t events, bytes; /* of all that is in it */
  bool flying;          /* whoever set this has the head in hands; others may only add behind it */
  bool away;            /* the store did not take the head: nothing moves until the next drain */
  bool idle;            /* the last sweep found it empty */
  bool marking;         /* what tells of the last window is on its way */
  uint64_t landings;    /* how many were taken out */
  struct rp__window win;
  char id[];
};

void rp__lane_add(struct rp__lane *l, struct rp__kept *k);
struct rp__kept *rp__lane_pop(struct rp__lane *l); /* the head, which is the caller's now */
/* Takes out the one behind `before` (NULL: the head). */
struct rp__kept *rp__lane_take(struct rp__lane *l, struct rp__kept *before);
/* Takes out those whose senders want the disk or nothing; a list. */
struct rp__kept *rp__lane_take_strict(struct rp__lane *l);

#endif
