/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The SessionState record of an ended session: seven JSON arrays made from its state. A record has at most
 * RP_RECORD_MAX bytes. A larger one is trimmed, in this order: sop_interactions, confidence_updates, the oldest
 * learnings, long contents of pins. Tasks and labels are never trimmed, and a record is never refused.
 */
#ifndef RP_CONTINUITY_RECORD_H
#define RP_CONTINUITY_RECORD_H

#include "continuity/topic.h"
#include "core/fold.h"

#define RP_RECORD_MAX (49 * 1024) /* of the parts: with ids, times and names around them a record has 50 KB at most */

enum rp__record_part {
  RP_PART_WORKING_MEMORY, /* [{"label","content","importance","pinned_at","inherited_from","inherited_end"}] */
  RP_PART_HOT_TOPICS,     /* ["…"], at most RP_TOPICS_MAX */
  RP_PART_PROJECTS,       /* ["…"] */
  RP_PART_TASKS, /* [{"task_id","title","stage","flagged_incomplete","at","source","confirmed"?}], pending ones only */
  RP_PART_LEARNINGS,  /* ["memory id"], oldest first */
  RP_PART_CONFIDENCE, /* [{"memory_id","old_score","new_score","reason","timestamp"}] */
  RP_PART_SOPS,       /* [{"sop_path","injected_at","acknowledged","tool_call"}] */
  RP_PARTS_MAX,
};
/* The columns of session_states and the members of the mirror. */
extern const char *const rp__record_names[RP_PARTS_MAX];

/* Beside the parts, in our own tables and files alone: [{"label","pinned_at"}], what the session took off or replaced.
 */
#define RP_RECORD_DROPPED "dropped_pins"
/* Likewise: the digest of the session (facets/digest/digest.h), as rp__digest_write writes it. */
#define RP_RECORD_DIGEST "digest"

struct rp__record_parts {
  char *json[RP_PARTS_MAX]; /* owned */
  char *dropped;            /* owned; NULL when nothing was */
  char *digest;             /* owned; NULL of a session without a request */
  int n_tasks, n_pins, n_learnings, n_topics;
  bool asked;        /* it has a digest: the user asked for something */
  bool has_critical; /* a pin is CRITICAL, or one went: the record counts whatever its score */
  bool trimmed;
  uint64_t topics[RP_TOPICS_MAX]; /* a set, sorted */
  size_t n_hashes;
};
void rp__record_done(struct rp__record_parts *r);

/* How many of the scope's recent sessions have the topic with that hash (of 32 bits, as rows keep it). May be NULL (all
 * zero). */
typedef int64_t rp__topic_count_fn(void *ctx, uint64_t hash);

struct rp__record_options {
  const unsigned char *topic_key; /* or NULL */
  rp__topic_count_fn *count;
  void *ctx;
  int64_t sessions; /* recent sessions the counts are about */
  const char *root; /* the project's folder, or NULL: paths are told relative to it */
  int64_t at_ms;    /* the end of the session, when tasks must be pending; 0: those of any age are */
};

/* 0 or RP_E_NOMEM. */
int rp__record_build(const struct rp__fold *state, const struct rp__record_options *o, struct rp__record_parts *ret);

#endif
