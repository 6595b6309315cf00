/* SPDX-License-Identifier: Apache-2.0 */
/* The pins of a session, and the pins that it removed or replaced. */
#ifndef RP_FACETS_PINS_H
#define RP_FACETS_PINS_H

#include "facets/rows.h"
#include "facets/table.h"

#define RP_PIN_SLOTS 10
#define RP_DROPPED_PINS_MAX 64

/* Columns and flags of rp__facet_pins, whose rows stand in the order in which they were pinned. Labels are bare. */
enum { RP_PIN_LABEL, RP_PIN_CONTENT, RP_PIN_IMPORTANCE, RP_PIN_INHERITED_FROM, RP_PIN_INHERITED_END };
enum { RP_PIN_CRITICAL = 1 << 0 };

static inline size_t rp__pins_count(const struct rp__fold *f)
{
  return rp__rows_of(f, &rp__facet_pins)->count;
}
/* Whether the label is pinned; bare labels are compared. */
bool rp__pins_has(const struct rp__fold *f, const char *label);
/*
 * The label one would unpin first: of the oldest inherited pin that is neither high nor critical, else of the oldest
 * such pin, else of the oldest. NULL without pins. Lasts until the fold changes.
 */
const char *rp__pins_suggest(const struct rp__fold *f);

/*
 * The labels that were taken off or replaced, in RP_PIN_LABEL, with the times of those pins, the last
 * RP_DROPPED_PINS_MAX of them: no pin with that label and a time that is not later is the newest word on it.
 */
const struct rp__rows *rp__pins_dropped(const struct rp__fold *f);

/* A label without the provenance shown behind it: " [inherited from <session> @ <time>]". */
struct rp__str rp__pin_bare(struct rp__str label);

#endif
