/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether the store can be written, judged by how writes went. It is away from the
 * first write that fails for the store's own reasons; it is back when writes work
 * again for a moment, or, where nobody writes, when its place takes a file.
 */
#ifndef RP_SERVER_AWAY_H
#define RP_SERVER_AWAY_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include <reprise/reprise.h>

#include "server/slog.h"

#define RP_AWAY_BACK_MS 1000  /* without a failure, before a write that worked is believed */
#define RP_AWAY_PROBE_MS 5000 /* without any write, before the place is tried */

struct rp__away {
  pthread_mutex_t lock;
  atomic_bool away;
  atomic_bool suspected; /* one write found it busy: so it does when two write to one session, and all else works */
  bool worked;           /* a write has, since the last one that did not */
  int code;              /* of that one */
  char why[200];
  int64_t since_ms, failed_ms; /* wall clock, monotonic */
  int64_t windows;
};

/* Errors that are the store's and pass: the disk is full, somebody locks it, it can't be reached or written. */
bool rp__away_is(int rc);

void rp__away_init(struct rp__away *a);
void rp__away_done(struct rp__away *a);
/* A write ended with rc. Cheap while all is well. */
void rp__away_note(struct rp__away *a, int rc, const rp_error *err, int64_t wall_ms, struct rp__slog *log);
/* Looks whether it is over; `db_path` (or NULL) is the place that is tried. May block. */
void rp__away_settle(struct rp__away *a, const char *db_path, int64_t wall_ms, struct rp__slog *log);

#endif
