/* SPDX-License-Identifier: Apache-2.0 */
/* The memories that a session learned or inherited, and the changes of its confidence in them. */
#ifndef RP_FACETS_LEARNINGS_H
#define RP_FACETS_LEARNINGS_H

#include "facets/rows.h"
#include "facets/table.h"

/* Columns of rp__facet_learnings, oldest row first. A row with RP_LEARNING_INHERITED_FROM was not learned here. */
enum {
  RP_LEARNING_MEMORY_ID,
  RP_LEARNING_CONFIDENCE,
  RP_LEARNING_CONTENT,
  RP_LEARNING_CATEGORIES,
  RP_LEARNING_INHERITED_FROM,
  RP_LEARNING_ORIGINAL,
};

#endif
