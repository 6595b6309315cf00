/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the form of a record, which another process wrote, perhaps long ago, perhaps another program. */
#include "continuity/plan-impl.h"

#include "base/clock.h"
#include "continuity/record.h"

enum element { A_TEXT, A_PIN, A_TASK, A_LEARNING, AN_OBJECT };

static const struct {
  enum element element;
  const char *complaint;
} parts[RP_PARTS_MAX] = {
    [RP_PART_WORKING_MEMORY] = {A_PIN, "working_memory is no list of pins"},
    [RP_PART_HOT_TOPICS] = {A_TEXT, "hot_topics is no list of texts"},
    [RP_PART_PROJECTS] = {A_TEXT, "active_projects is no list of texts"},
    [RP_PART_TASKS] = {A_TASK, "pending_tasks is no list of tasks"},
    [RP_PART_LEARNINGS] = {A_LEARNING, "recent_learnings is no list of ids"},
    [RP_PART_CONFIDENCE] = {AN_OBJECT, "confidence_updates is no list of objects"},
    [RP_PART_SOPS] = {AN_OBJECT, "sop_interactions is no list of objects"},
};

static bool is_text(struct rp__json object, const char *name, bool required)
{
  enum rp__json_type type = rp__json_get(object, name).type;
  return type == RP_JSON_STRING || (!required && (type == RP_JSON_NONE || type == RP_JSON_NULL));
}

static bool element_ok(struct rp__json v, enum element e)
{
  switch (e) {
  case A_TEXT: return v.type == RP_JSON_STRING;
  case A_PIN: return is_text(v, "label", true) && is_text(v, "content", false) && is_text(v, "pinned_at", false);
  case A_TASK:
    return is_text(v, "task_id", true) && is_text(v, "title", false) && is_text(v, "stage", false) &&
           is_text(v, "at", false);
  case A_LEARNING: return v.type == RP_JSON_STRING || is_text(v, "memory_id", true);
  default: return v.type == RP_JSON_OBJECT;
  }
}

static bool part_ok(struct rp__json part, enum element e)
{
  struct rp__json_iter it = {0};
  struct rp__json v;
  if (part.type == RP_JSON_NONE) return true;
  if (part.type != RP_JSON_ARRAY) return false;
  while (rp__json_next(part, &it, NULL, &v))
    if (!element_ok(v, e)) return false;
  return true;
}

const char *rp__plan_check(struct rp__json record)
{
  /* The bytes may never have been checked. Repeated keys are no damage, and looking for them would take memory. */
  static const struct rp__json_limits limits = {.max_depth = RP_JSON_DEPTH_LIMIT, .allow_duplicates = true};
  struct rp__json v, end = rp__json_get(record, "end_time");
  int64_t ms;
  if (record.type != RP_JSON_OBJECT) return "it is no JSON object";
  if (rp__json_parse(record.p, record.n, &limits, &v, NULL)) return "it is not well-formed JSON";
  bool told = end.type != RP_JSON_NONE && end.type != RP_JSON_NULL;
  if (told && (end.type != RP_JSON_STRING || end.n < 2 || rp__time_parse(end.p + 1, end.n - 2, &ms)))
    return "end_time is no time";
  for (unsigned i = 0; i < RP_PARTS_MAX; i++)
    if (!part_ok(rp__json_get(record, rp__record_names[i]), parts[i].element)) return parts[i].complaint;
  if (!part_ok(rp__json_get(record, RP_RECORD_DROPPED), A_PIN)) return "dropped_pins is no list of labels";
  return NULL;
}
