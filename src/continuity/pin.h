/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a pin of a state document or a record. */
#ifndef RP_CONTINUITY_PIN_H
#define RP_CONTINUITY_PIN_H

#include "continuity/plan.h"

/* By its importance, by being marked so, or because its label or content has the word CRITICAL. */
bool rp__pin_critical(struct rp__json pin);

struct rp__provenance {
  char id[RP_ID_MAX + 1]; /* empty: it was pinned here */
  char end[32];           /* ISO where it could be read as a time */
};
/* What the pin says about its first source, beside its label or in it. RP_E_NOMEM. */
int rp__pin_provenance(struct rp__json pin, struct rp__provenance *ret);

#endif
