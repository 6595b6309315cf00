/* SPDX-License-Identifier: Apache-2.0 */
/* What the engine asks of a session's pins before it takes one more. */
#ifndef RP_FACETS_PINS_H
#define RP_FACETS_PINS_H

#include "core/fold.h"

#define RP_PIN_SLOTS 10
#define RP_DROPPED_PINS_MAX 64

size_t rp__pins_count(const struct rp__fold *f);
/* Whether the label is pinned; bare labels are compared. */
bool rp__pins_has(const struct rp__fold *f, const char *label);
/*
 * The label one would unpin first: of the oldest inherited pin that is neither high nor critical, else of the oldest
 * such pin, else of the oldest. NULL without pins. Lasts until the fold changes.
 */
const char *rp__pins_suggest(const struct rp__fold *f);

/*
 * Writes the labels that were taken off or replaced, [{"label","pinned_at"}], the last RP_DROPPED_PINS_MAX of them: no
 * pin with that label and a time that is not later is the newest word on it.
 */
void rp__pins_dropped(const struct rp__fold *f, struct rp__jw *w);

/* A label without the provenance shown behind it: " [inherited from <session> @ <time>]". */
struct rp__str rp__pin_bare(struct rp__str label);

#endif
