/* SPDX-License-Identifier: Apache-2.0 */
/* Other programs' formats on top of the engine: the interface through which an exporter reads a session. */
#ifndef RP_ENGINE_FOREIGN_H
#define RP_ENGINE_FOREIGN_H

#include "engine/journal/open-streams.h"
#include "format/format.h"

/* A session as an exporter sees it: its state (the named facets, ended by NULL, or all) and its journal. */
struct rp__export_source {
  struct rp__giver giver;
  struct rp__state_loan loan; /* the session's state, or … */
  struct rp__fold *own;       /* … a state of its own, with the end of what streams hold */
  rp_session *s;
  struct rp__session_row row;
  int64_t last;                /* event of the journal */
  struct rp__last_words words; /* what streams hold, told as if the session ended now */
};
/* An ended session is shown as it was at its end, an open one as it is now. Takes s->lock. */
RP_MUST_USE int rp__export_source_open(struct rp__export_source *g, rp_session *s, rp_error *err);
void rp__export_source_done(struct rp__export_source *g);

/* The format of that name, or RP_E_USAGE naming those there are. */
RP_MUST_USE int rp__foreign_format(const char *name, const struct rp__format **ret, rp_error *err);

#endif
