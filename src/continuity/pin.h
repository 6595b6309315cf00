/* SPDX-License-Identifier: Apache-2.0 */
/* A pin as the planner and the brief see it, read from a session's state or from a record. */
#ifndef RP_CONTINUITY_PIN_H
#define RP_CONTINUITY_PIN_H

#include "continuity/plan.h"
#include "facets/pins.h"

struct rp__pin {
  struct rp__json label, content, importance, inherited_from, inherited_end; /* RP_JSON_NONE: absent */
  bool marked;                                                               /* it says itself that it is critical */
};
struct rp__pin rp__pin_in_record(struct rp__json pin);
struct rp__pin rp__pin_in_state(const struct rp__row *row);

/* By its importance, by being marked so, or because its label or content has the word CRITICAL. */
bool rp__pin_critical(const struct rp__pin *p);

struct rp__provenance {
  char id[RP_ID_MAX + 1]; /* empty: it was pinned here */
  char end[32];           /* ISO where it could be read as a time */
};
/* What the pin says about its first source, beside its label or in it. RP_E_NOMEM. */
int rp__pin_provenance(const struct rp__pin *p, struct rp__provenance *ret);

#endif
