/* SPDX-License-Identifier: Apache-2.0 */
/* The table of facets, in the order of the state document. */
#include "facets/table.h"

/* clang-format off */
static const struct rp__facet_ops *const rows[] = {
    &rp__facet_conversation,
    &rp__facet_affect,
    &rp__facet_evidence,
    &rp__facet_digest,
    &rp__facet_pins,
    &rp__facet_tasks,
    &rp__facet_projects,
    &rp__facet_topics,
    &rp__facet_learnings,
    &rp__facet_confidence,
    &rp__facet_sops,
    &rp__facet_tools,
    &rp__facet_presence,
    &rp__facet_approvals,
    &rp__facet_questions,
    &rp__facet_usage,
    &rp__facet_provider,
    &rp__facet_settings,
    &rp__facet_runtime,
};
/* clang-format on */

const struct rp__facet_table rp__facets = {rows, RP_ARRAY_SIZE(rows)};
