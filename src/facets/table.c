/* SPDX-License-Identifier: Apache-2.0 */
#include "facets/table.h"

static const struct rp__facet_ops *const rows[] = {
    &rp__facet_conversation,
    &rp__facet_tools,
    &rp__facet_usage,
};

const struct rp__facet_table rp__facets = {rows, RP_ARRAY_SIZE(rows)};
