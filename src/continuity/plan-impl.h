/* SPDX-License-Identifier: Apache-2.0 */
/* Types and functions that the files of the planner share. */
#ifndef RP_CONTINUITY_PLAN_IMPL_H
#define RP_CONTINUITY_PLAN_IMPL_H

#include "continuity/plan.h"

#define RP_SESSIONS_MAX 64 /* restored at most, whatever the rules say */
#define RP_RESERVE 16      /* next best ones kept for the case that a record is damaged */

#define RP_NEAR 1e-9 /* a number that misses its threshold by less has reached it */

/* A candidate and how many of the sets hold it; 0: free. */
struct rp__slot {
  struct rp__candidate c;
  bool inside, qualified;
  unsigned refs;
};

typedef int rp__slot_cmp(const struct rp__slot *a, const struct rp__slot *b); /* < 0: a comes before b */

/* The best of what was offered: a heap with the last of them on top, until it is sorted. */
struct rp__best {
  struct rp__slot **v;
  size_t n, max;
  rp__slot_cmp *cmp;
};

struct rp__plan {
  struct rp__rules rules;
  int64_t now_ms;
  uint64_t *topics;
  size_t n_topics;

  struct rp__slot *slots;
  struct rp__slot **spare; /* slots that nobody holds, one on top of the other */
  size_t n_slots, n_spare;
  struct rp__best best, told, critical; /* to restore; to explain; holders of CRITICAL pins */
  int64_t counts[RP_VERDICT_MAX];
  bool sorted, forced;

  const struct rp__candidate *restored[RP_SESSIONS_MAX];
  size_t n_restored;

  struct rp__pin_choice *pins;
  struct rp__task_choice *tasks;
  struct rp__memory_choice *memories;
  size_t n_pins, n_tasks, n_memories;
};

/* NULL, or what is wrong with a record. */
const char *rp__plan_check(struct rp__json record);
bool rp__plan_is_restored(const struct rp__plan *p, const char *session_id);

/* Each decides its part. `all`: of a session that is continued by name. 0 or an error. */
int rp__plan_choose_pins(struct rp__plan *p, const struct rp__plan_sources *s, bool all);
int rp__plan_choose_tasks(struct rp__plan *p, const struct rp__plan_sources *s, bool all);
int rp__plan_choose_memories(struct rp__plan *p, const struct rp__plan_sources *s, bool all);
void rp__plan_drop_choices(struct rp__plan *p);

#endif
