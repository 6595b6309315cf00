/* SPDX-License-Identifier: Apache-2.0 */
/* Procedures that were shown to the agent, and what it did with them (X-01: sop_interactions): the newest hundred. */
#include "facets/rows.h"
#include "facets/table.h"

#define BYTES_MAX ((size_t)48 * 1024)

static const struct rp__shape shape = {
    .name = "sops",
    .kind = RP_KIND_SOP,
    .columns = {{"sop_path", RP_CELL_TEXT, RP_COL_NEED, 512},
                {"injected_at", RP_CELL_ANY, RP_COL_NEED, 64},
                {"tool_call", RP_CELL_ANY, RP_COL_NEED, 512}},
    .flags = {{"acknowledged", false}},
    .max_rows = 100,
    .max_bytes = BYTES_MAX,
};

const struct rp__facet_ops rp__facet_sops = {
    .name = "sops",
    RP_ROWS_SLOTS(shape, BYTES_MAX),
    .apply = rp__rows_append,
    .show = rp__rows_show,
};
