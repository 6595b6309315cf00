/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Appends, and what becomes of them while the store is away or full (the fifth
 * goal of the first seed). Everybody who appends for a client comes through here.
 *
 * Normally: rp_append_many_async. When the store fails with a retryable error, an
 * append whose sender accepts `memory` is kept here, bounded by spill_bytes, in the
 * order of its session, and acknowledged as memory; the scheduler tries again until the store
 * takes it. Other writes fail with the store's error. Once events of a session wait
 * here, later ones that accept memory queue behind them, and others are refused
 * (RP_E_BUSY, retry) until the queue is empty, so that order holds. When it is, the journal gets
 * an `x-degraded` event with the window; what did not fit or was lost at shutdown is counted and logged.
 *
 * What can be known to be refused (a wrong epoch, a gap in a client's numbers, an ended session) is refused before it
 * is kept: reads work while writes do not.
 */
#ifndef RP_SERVER_SPILL_H
#define RP_SERVER_SPILL_H

#include "server/registry.h"

struct rp__spill;
struct rp__server;

struct rp__append {
  struct rp__entry *entry; /* a reference of its own is taken while it lasts */
  const rp_event *events;  /* copied */
  size_t n;
  rp_append_options options; /* durability RP_MEMORY: answered at once, stored in the background */
  bool accepts_memory;       /* another durability was asked for, but memory is better than nothing */
  /* Called once: before rp__spill_append returns, or later from another thread. Must not block. */
  rp_append_fn *done;
  void *ctx;
};

int rp__spill_new(struct rp__server *srv, struct rp__spill **ret, rp_error *err);
void rp__spill_free(struct rp__spill *s);
/* Checks and queues. On failure (bad event, fenced …) `done` is not called. */
int rp__spill_append(struct rp__spill *s, const struct rp__append *a, rp_error *err);
/* Tries to store what waits; true when nothing is left. Called by the scheduler and at shutdown. May block. */
bool rp__spill_drain(struct rp__spill *s);

struct rp__spill_counts {
  bool away;             /* the store can't be written (away.h) */
  int code;              /* how it failed, enum rp_code */
  char why[200];         /* what it said */
  int64_t away_since_ms; /* wall clock */
  int64_t waiting_events, waiting_bytes;
  int64_t accepted, stored, repeated, refused, lost; /* events, since the start */
  int64_t windows;                                   /* times the store was away */
};
void rp__spill_counts(struct rp__spill *s, struct rp__spill_counts *ret);
/* Every write of the server that does not come through here reports how it went. */
void rp__spill_note(struct rp__spill *s, int rc, const rp_error *err);

#endif
