/* SPDX-License-Identifier: Apache-2.0 */
/* One start, shared by its parts: finding the session (start-find.c), leasing it (start-lease.c), telling (start.c). */
#ifndef RP_ENGINE_START_H
#define RP_ENGINE_START_H

#include "engine/recover.h"
#include "engine/restoration.h"

#define RP_META_MAX (64 * 1024)

/* One attempt. */
struct rp__start {
  rp_engine *e;
  const rp_start_options *o;
  int64_t now;

  struct rp__session_row row; /* the target, when `found`; the new one otherwise */
  bool found;
  struct rp__run_row current; /* its open run, when `held` */
  bool held;
  bool repeated;
  bool leasing;                   /* all was found, and the lease is being committed */
  struct rp__request_row request; /* of the options' request: what it is known by */

  struct rp__restart_facts facts; /* about the run before */
  struct rp__restoration restoration;
  struct rp__buf brief;

  struct rp__proc owner;
  int64_t slot;
  int64_t starts;
  struct rp__fold *left; /* the state of the run that was recovered last, and whose it is: who resumes reads it once */
  int64_t left_ref;
  struct rp__buf recovered; /* the JSON array of ids */
  struct rp__jw recovered_w;
  struct rp__buf warnings;
};

void rp__start_warn(struct rp__start *st, const char *what, const rp_error *why);

/* The session that id, key or owner name: st->found, and st->held with st->current when it has an open run. */
int rp__start_find(struct rp__start *st, rp_error *err);
/* The row of a new session, a successor of the last one of the scope or, with per_channel, of the channel. */
int rp__start_new(struct rp__start *st, rp_error *err);
/* The start marker, durable: makes or leases the session and says in its journal what came back into it. */
int rp__start_lease(struct rp__start *st, rp_error *err);

#endif
