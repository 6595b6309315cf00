/* SPDX-License-Identifier: Apache-2.0 */
/* Approvals and questions that nobody has answered yet (C-09). */
#ifndef RP_FACETS_PENDING_H
#define RP_FACETS_PENDING_H

#include "facets/rows.h"
#include "facets/table.h"

/* Columns of rp__facet_approvals and rp__facet_questions. A body that was too long to keep is absent. */
enum { RP_PENDING_ID, RP_PENDING_BODY, RP_PENDING_OMITTED, RP_PENDING_SEQ };

#endif
