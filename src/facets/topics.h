/* SPDX-License-Identifier: Apache-2.0 */
/* The topics of a session. */
#ifndef RP_FACETS_TOPICS_H
#define RP_FACETS_TOPICS_H

#include "core/fold.h"

#define RP_TOPICS_SHOWN 20

/* The topics that weigh most, heaviest first; texts last until the fold changes. Returns how many, 0 of a NULL fold. */
size_t rp__topics_best(const struct rp__fold *f, struct rp__str ret[RP_TOPICS_SHOWN]);

#endif
