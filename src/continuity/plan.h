/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The planner decides which earlier sessions of a scope come back, and which of their items. Pure: rows
 * in, decisions with reasons out; the order of the rows does not matter. The steps:
 *
 *   offer    scores each ended session of the lookback as it is read; keeps the best and those with CRITICAL pins
 *   want     names the records to open, best first; when a record is damaged, the next best takes its place
 *   finish   decides on the pins, tasks and memories of the opened records
 */
#ifndef RP_CONTINUITY_PLAN_H
#define RP_CONTINUITY_PLAN_H

#include "continuity/relevance.h"
#include <reprise/reprise.h>

#include "json/json.h"

#define RP_EXPLAIN_MAX 100 /* candidates told one by one */
#define RP_CRITICAL_MAX 64 /* holders of CRITICAL pins opened at most, newest first */
#define RP_PINS_MAX 10
#define RP_BRIEF_MEMORIES 20

struct rp__rules {
  double lookback_hours, threshold, pin_threshold, critical_hours, decay_rate, decay_floor;
  int max_sessions, max_pins;
  bool unfading; /* a robot's memories: their confidence does not fade, and none is too old */
};

/* One row of the recall table. `topics` is a sorted set. */
struct rp__recall {
  int64_t session_ref;
  const char *session_id;
  int64_t ended_at;
  int64_t n_tasks;
  bool has_critical, archived;
  bool asked;  /* the user asked for something in it */
  bool living; /* it has not ended, so no hours have passed since; `ended_at`: when something was said last */
  const uint64_t *topics;
  size_t n_topics;
};

enum rp__plan_verdict {
  RP_VERDICT_RESTORED,
  RP_VERDICT_BELOW,
  RP_VERDICT_OUTSIDE,
  RP_VERDICT_BEYOND,
  RP_VERDICT_DAMAGED,
  RP_VERDICT_MAX
};
const char *
rp__plan_verdict_name(enum rp__plan_verdict f); /* restored, below_threshold, outside_lookback, beyond_limit, damaged */

struct rp__candidate {
  int64_t session_ref, ended_at, n_tasks;
  char session_id[RP_ID_MAX + 1];
  bool has_critical, archived;
  double hours, recency, overlap, tasks, score;
  enum rp__plan_verdict verdict;
  char reason[120];
  bool opened;            /* its record was given */
  struct rp__json record; /* members as rp__record_names, plus "end_time" and RP_RECORD_DROPPED */
};

/* The plan borrows the bytes of records given to it until it is freed. */
struct rp__plan;

/* `topics`: the current ones, a sorted set, copied. `now_ms` before a row's end counts as the end. */
int rp__plan_new(const struct rp__rules *rules, int64_t now_ms, const uint64_t *topics, size_t n,
                 struct rp__plan **ret);
void rp__plan_free(struct rp__plan *p);

/* RP_E_NOMEM. Costs no allocation for a row that is not kept. */
int rp__plan_offer(struct rp__plan *p, const struct rp__recall *row);

/* Before offering: whatever is offered qualifies, whatever its age or score. */
void rp__plan_any_age(struct rp__plan *p);

/* The next record to open, or NULL. Answer with one of the two below before asking again. */
struct rp__candidate *rp__plan_want(struct rp__plan *p);
/* The records that will be asked for if none of them is damaged, so that they can be read together; how many. */
#define RP_WANTED_MAX 256
size_t rp__plan_wanted(struct rp__plan *p, struct rp__candidate **ret, size_t max);
void rp__plan_opened(struct rp__plan *p, struct rp__candidate *c, struct rp__json record);
void rp__plan_damaged(struct rp__plan *p, struct rp__candidate *c, const char *why);

/* ---- decisions ---- */

struct rp__pin_choice {
  struct rp__json pin; /* as in the record */
  char *label;         /* owned; bare: without a suffix that tells where it came from */
  const struct rp__candidate *from;
  char source_id[RP_ID_MAX + 1]; /* the first source, which is not `from` when that had inherited it */
  char source_end[32];           /* ISO */
  int64_t pinned_at;             /* ms; the end of its session when the record does not say */
  bool taken, critical;
  /* inherited, dropped, label_present, duplicate, no_free_slot, beyond_limit, below_threshold, not_restored */
  const char *verdict;
  char reason[120];
};
struct rp__task_choice {
  char *task_id, *title, *stage;      /* owned; the newest word's */
  bool flagged_incomplete, confirmed; /* confirmed: not only one message mentioned it (facets/tasks.h) */
  int64_t at_ms, days;
  const struct rp__candidate *from;
  const char *source; /* pipeline_state, working_memory_scan or message */
  bool taken;
  const char *verdict; /* surfaced, closed, present, heard_once */
  char reason[120];
};
/* What is left of a memory's confidence: max(floor, 1 - h/168 * rate), from 0 to 1; negative hours count as 0. */
double rp__decay_factor(double hours, double rate, double floor);
struct rp__memory_choice {
  char *memory_id, *content; /* owned; content only of those taken */
  double original, factor, inherited, hours;
  double relevance, rank; /* relevance.h */
  int64_t fresh_at, uses;
  bool taken;
  /* inherited, below_floor, outside_lookback, beyond_limit; not_restored: continuing, of another session */
  const char *verdict;
  char reason[120];
};

/* The scope's newest word on a task: false in *ret_known when nobody ever spoke of it outside the record. */
struct rp__task_word {
  bool known, open; /* open: neither done nor deleted */
  int64_t at_ms;
  char *title, *stage; /* owned; NULL: as in the record */
};
struct rp__memory_fact {
  const char *memory_id, *content;
  double confidence;
  int64_t fresh_at; /* when it was last learned (by the end of its session), confirmed, corrected or recalled */
  bool restored;    /* learned in a session that is restored: filled in by finish when NULL `session_id` is not */
  const char *session_id;
  const char *categories; /* a JSON array, or NULL */
  int64_t uses;           /* how often it was recalled or confirmed */
};
struct rp__plan_sources {
  /* Asked for every task of the opened records. 0 or an error. */
  int (*task_word)(void *ctx, const char *task_id, struct rp__task_word *ret);
  /* Whether the session has the task already and so needs no other's word; or NULL. */
  bool (*has_task)(void *ctx, const char *task_id);
  void *ctx;
  const struct rp__memory_fact *memories; /* the scope's, in any order */
  size_t n_memories;
  const char *topics;             /* the current ones, comma separated, or NULL: what memories are relevant to */
  const struct rp__rows *dropped; /* what the session that is planned for took off (facets/pins.h), or NULL */
  const char *dropped_by;         /* its id, with `dropped` */
  const char *const *labels;      /* of pins already present (bare labels are compared) */
  size_t n_labels;
};
int rp__plan_finish(struct rp__plan *p, const struct rp__plan_sources *s);

/*
 * everything from one session whatever its age or score: all its pins up to the free slots of ten, tasks,
 * memories (decay applies, nothing is dropped). The only candidate of the plan, forced and opened, is `from`.
 */
int rp__plan_continue(struct rp__plan *p, const struct rp__plan_sources *s);

/* ---- looking ---- */

const struct rp__candidate *const *rp__plan_restored(const struct rp__plan *p, size_t *ret_n); /* best first */
const struct rp__pin_choice *rp__plan_pins(const struct rp__plan *p, size_t *ret_n);           /* taken ones first */
const struct rp__task_choice *rp__plan_tasks(const struct rp__plan *p, size_t *ret_n);
const struct rp__memory_choice *rp__plan_memories(const struct rp__plan *p, size_t *ret_n);

/* Members of the explanation: "counts", "candidates", "pins", "memories", "tasks", into an open object. */
void rp__plan_explain(const struct rp__plan *p, struct rp__jw *w);
/* The same as lines of text, one decision each, for REPRISE_DEBUG. */
typedef void rp__plan_line_fn(void *ctx, const char *line);
void rp__plan_tell(const struct rp__plan *p, rp__plan_line_fn *fn, void *ctx);

#endif
