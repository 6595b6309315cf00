/* SPDX-License-Identifier: Apache-2.0 */
/* The kind of restart that a start is, judged by the previous run (N-03, B-03). */
#ifndef RP_ENGINE_CLASSIFY_H
#define RP_ENGINE_CLASSIFY_H

#include "engine/engine.h"

struct rp__restart_facts {
  bool any_previous; /* there is a run to compare with */
  bool clean;
  enum rp__cause cause;
  enum rp__restart restart;
  double elapsed;
  char evidence[160]; /* what the cause was judged by */
};

/* The channel inside which a start there finds its past: NULL, for all of the scope, unless per_channel is set. */
const char *rp__channel_of(const rp_engine *e, const char *scope, const char *channel);

/*
 * From the last run of the session `row`, or, with NULL, from the run of the scope and channel that ended last: then
 * runs of others who live and work beside us do not count. `skip_run` (or 0) is the caller's own.
 */
RP_MUST_USE int rp__restart_find(rp_engine *e, const char *scope, const char *channel,
                                 const struct rp__session_row *row, int64_t skip_run, struct rp__restart_facts *ret,
                                 rp_error *err);
/* The same in three steps, for whoever reads the runs with something else: newest first, each given to on_run. */
#define RP_RUNS_LOOKED_AT 32
struct rp__restart_search {
  rp_engine *e;
  bool of_session;
  int64_t skip;
  struct rp__run_row run; /* the run before, when `hit` */
  int64_t last_activity;  /* of its session */
  int64_t beside_since;   /* when the youngest of the runs beside us started; 0: there is none */
  bool hit;
};
struct rp__read rp__restart_reading(struct rp__restart_search *x, const char *scope, const char *channel);
int rp__restart_on_run(void *ctx, const struct rp__run_row *run);
void rp__restart_classified(const struct rp__restart_search *x, const char *scope, struct rp__restart_facts *ret);
/* The session that a new one there would follow, done by the caller; ref 0 when it would be the first. */
RP_MUST_USE int rp__previous_find(rp_engine *e, const char *scope, const char *channel, struct rp__session_row *ret,
                                  rp_error *err);
/* {"type","cause","elapsed_seconds"} */
void rp__restart_write(const struct rp__restart_facts *f, struct rp__jw *w);

#endif
