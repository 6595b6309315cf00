/* SPDX-License-Identifier: Apache-2.0 */
/* The facets of the product, in the order of the state document. A new one is a file here and a row in table.c. */
#ifndef RP_FACETS_TABLE_H
#define RP_FACETS_TABLE_H

#include "core/facet.h"

extern const struct rp__facet_ops rp__facet_conversation;
extern const struct rp__facet_ops rp__facet_tools;
extern const struct rp__facet_ops rp__facet_usage;

extern const struct rp__facet_table rp__facets;

#endif
