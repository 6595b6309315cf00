/* SPDX-License-Identifier: Apache-2.0 */
/* The facets of the product, in the order of the state document. A new one is a file here and a row in table.c. */
#ifndef RP_FACETS_TABLE_H
#define RP_FACETS_TABLE_H

#include "core/fold.h"

extern const struct rp__facet_ops rp__facet_conversation;
extern const struct rp__facet_ops rp__facet_affect;
extern const struct rp__facet_ops rp__facet_evidence;
extern const struct rp__facet_ops rp__facet_pins;
extern const struct rp__facet_ops rp__facet_tasks;
extern const struct rp__facet_ops rp__facet_projects;
extern const struct rp__facet_ops rp__facet_topics;
extern const struct rp__facet_ops rp__facet_learnings;
extern const struct rp__facet_ops rp__facet_confidence;
extern const struct rp__facet_ops rp__facet_sops;
extern const struct rp__facet_ops rp__facet_tools;
extern const struct rp__facet_ops rp__facet_presence;
extern const struct rp__facet_ops rp__facet_approvals;
extern const struct rp__facet_ops rp__facet_questions;
extern const struct rp__facet_ops rp__facet_usage;
extern const struct rp__facet_ops rp__facet_provider;
extern const struct rp__facet_ops rp__facet_settings;
extern const struct rp__facet_ops rp__facet_runtime;

extern const struct rp__facet_table rp__facets;

#endif
