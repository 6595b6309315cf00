/* SPDX-License-Identifier: Apache-2.0 */
/* The facets of the product, in the order of the state document. A new one is a file here and a row in table.c. */
#ifndef RP_FACETS_TABLE_H
#define RP_FACETS_TABLE_H

#include "base/enum-words.h"
#include "core/fold.h"

extern const struct rp__facet_ops rp__facet_conversation;
extern const struct rp__facet_ops rp__facet_affect;
extern const struct rp__facet_ops rp__facet_evidence;
extern const struct rp__facet_ops rp__facet_digest;
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

/* ---- the ledger of tool calls (B-04) ---- */

struct rp__tool_call {
  struct rp__json call_id, name; /* JSON strings; they last until the fold changes */
  enum rp__tool_status status;
};

/* Calls in the order in which they were first seen. A fold that is NULL has none. */
size_t rp__tools_count(const struct rp__fold *f);
struct rp__tool_call rp__tools_at(const struct rp__fold *f, size_t i);

/* ---- topics (X-04) ---- */

#define RP_TOPICS_SHOWN 20
#define RP_TOPICS_FOUND 32

struct rp__topic_found {
  char text[48]; /* names like CollaborativeEditor keep their capitals */
  size_t n;
  uint64_t weight;
  bool part; /* of another one, which tells the same and more: "ham" of "ham radio" */
};

/* The topics that tell most, heaviest first. Returns how many, 0 of a NULL fold. */
size_t rp__topics_best(const struct rp__fold *f, struct rp__topic_found ret[RP_TOPICS_FOUND]);

/* ---- approvals and questions (C-09) ---- */

/* Columns of rp__facet_approvals and rp__facet_questions. A body that was too long to keep is absent. */
enum { RP_PENDING_ID, RP_PENDING_BODY, RP_PENDING_OMITTED, RP_PENDING_SEQ };

/* ---- projects (X-04) ---- */

typedef int rp__project_fn(void *ctx, struct rp__str name);

/*
 * Calls fn for each project the event names: a `project` event's name, /Projects/<name> in the folder or the text of
 * an activity and in the input of a tool, else the name of the activity's folder. Stops at the first failure.
 */
int rp__project_each(const struct rp__event *ev, rp__project_fn *fn, void *ctx);
/* The same for each /Projects/<name> in a text, such as the input of a tool. */
int rp__project_each_in(struct rp__str text, rp__project_fn *fn, void *ctx);

#endif
