/* SPDX-License-Identifier: Apache-2.0 */
/* What kind of restart a start is, judged by the run before it (N-03, B-03). */
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

/*
 * From the last run of the session `row`, or, with NULL, of the scope: then runs of others who provably live and work
 * beside us do not count. `skip_run` (or 0) is the caller's own.
 */
int rp__restart_find(rp_engine *e, const char *scope, const struct rp__session_row *row, int64_t skip_run,
                     struct rp__restart_facts *ret, rp_error *err);
/* {"type","cause","elapsed_seconds"} */
void rp__restart_write(const struct rp__restart_facts *f, struct rp__jw *w);

#endif
