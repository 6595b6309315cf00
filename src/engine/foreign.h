/* SPDX-License-Identifier: Apache-2.0 */
/* Other programs' formats on top of the engine: what a session gives to an exporter.
 */
#ifndef RP_ENGINE_FOREIGN_H
#define RP_ENGINE_FOREIGN_H

#include "engine/streams.h"
#include "format/format.h"

/* A session as an exporter sees it: its state (the named facets, ended by NULL, or all) and its journal. */
struct rp__gift {
  struct rp__giver giver;
  struct rp__buf state;
  rp_session *s;
  int64_t last;                /* event of the journal */
  struct rp__last_words words; /* what streams hold, told as if the session ended now */
};
/* An ended session is shown as it was at its end, an open one as it is now. Takes s->lock. */
int rp__gift_open(struct rp__gift *g, rp_session *s, const char *const *facets, rp_error *err);
void rp__gift_done(struct rp__gift *g);

/* The format of that name, or RP_E_USAGE naming those there are. */
int rp__foreign_format(const char *name, const struct rp__format **ret, rp_error *err);

#endif
