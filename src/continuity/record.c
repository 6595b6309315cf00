/* SPDX-License-Identifier: Apache-2.0 */
/* Builds the record of a session: its parts, and the trimming to its bound. */
#include "continuity/record.h"

#include "base/text.h"
#include "continuity/pin.h"
#include "facets/digest/cues.h"
#include "facets/digest/digest.h"
#include "facets/learnings.h"
#include "facets/pins.h"
#include "facets/tasks.h"
#include "facets/table.h"
#include "facets/words.h"
#include "json/text.h"

#define PART_MAX ((size_t)8 * 1024 * 1024) /* of one part before it is trimmed: a state is no larger */
#define CONTENT_MAX (32 * 1024)            /* of a pin, decoded: the facet keeps no more */

const char *const rp__record_names[RP_PARTS_MAX] = {
    [RP_PART_WORKING_MEMORY] = "working_memory", [RP_PART_HOT_TOPICS] = "hot_topics",
    [RP_PART_PROJECTS] = "active_projects",      [RP_PART_TASKS] = "pending_tasks",
    [RP_PART_LEARNINGS] = "recent_learnings",    [RP_PART_CONFIDENCE] = "confidence_updates",
    [RP_PART_SOPS] = "sop_interactions",
};

void rp__record_done(struct rp__record_parts *r)
{
  for (unsigned i = 0; i < RP_PARTS_MAX; i++) free(r->json[i]);
  free(r->dropped);
  free(r->digest);
  *r = (struct rp__record_parts){0};
}

/* A record in the making. */
struct making {
  const struct rp__fold *state;
  const struct rp__record_options *o;
  struct rp__record_parts *r;
  struct rp__buf part[RP_PARTS_MAX];
};

static void making_done(struct making *m)
{
  for (unsigned i = 0; i < RP_PARTS_MAX; i++) rp__buf_done(&m->part[i]);
}

static size_t total(const struct making *m)
{
  size_t n = m->r->dropped ? strlen(m->r->dropped) + sizeof RP_RECORD_DROPPED + 4 : 0;
  if (m->r->digest) n += strlen(m->r->digest) + sizeof RP_RECORD_DIGEST + 4;
  for (unsigned i = 0; i < RP_PARTS_MAX; i++) n += m->part[i].n;
  return n;
}

/* ---- parts ------------------------------------------------------------------------ */

static void write_content(struct rp__json content, size_t limit, struct rp__jw *w)
{
  RP_AUTOBUF struct rp__buf text = RP_BUF(content.n + 3);
  if (content.type != RP_JSON_STRING || content.n <= limit) {
    rp__jw_value(w, content);
    return;
  }
  (void)rp__json_text(content, &text);
  if (!text.err && text.n > limit) {
    text.n = rp__text_clip(text.p, limit);
    rp__buf_str(&text, "…");
  }
  if (text.err && !w->out->err) w->out->err = text.err;
  rp__jw_strn(w, text.p ? text.p : "", text.n);
}

/* With no content longer than `limit` bytes. */
static void write_pins(struct making *m, size_t limit)
{
  const struct rp__rows *pins = rp__rows_of(m->state, &rp__facet_pins);
  struct rp__buf *out = &m->part[RP_PART_WORKING_MEMORY];
  struct rp__jw w = RP_JW(out);
  int err = out->err == RP_E_NOMEM ? out->err : 0;
  rp__buf_reset(out);
  out->err = err;
  rp__jw_array(&w);
  for (size_t i = 0; i < pins->count; i++) {
    struct rp__pin pin = rp__pin_in_state(pins->v[i]);
    rp__jw_pack(&w, "{label:v", pin.label);
    rp__jw_key(&w, "content");
    write_content(pin.content, limit, &w);
    rp__jw_pack(&w, "importance:v pinned_at:t inherited_from:v inherited_end:v", pin.importance, pins->v[i]->at_ms,
                pin.inherited_from, pin.inherited_end);
    /* The word that makes it so may be in the part of its content that is cut off. */
    if (rp__pin_critical(&pin)) {
      rp__jw_kbool(&w, "critical", true);
      m->r->has_critical = true;
    }
    rp__jw_end_object(&w);
  }
  rp__jw_end_array(&w);
  m->r->n_pins = (int)pins->count;
}

static void write_tasks(struct making *m)
{
  const struct rp__rows *tasks = rp__rows_of(m->state, &rp__facet_tasks);
  struct rp__jw w = RP_JW(&m->part[RP_PART_TASKS]);
  rp__jw_array(&w);
  for (size_t i = 0; i < tasks->count; i++) {
    const struct rp__row *task = tasks->v[i];
    if (!rp__task_row_pending(task, m->o->at_ms)) continue;
    rp__jw_pack(&w, "{task_id:v title:v stage:v flagged_incomplete:b at:t source:v", rp__row_cell(task, RP_TASK_ID),
                rp__row_cell(task, RP_TASK_TITLE), rp__row_cell(task, RP_TASK_STAGE), task->flags & RP_TASK_FLAGGED,
                task->at_ms, rp__row_cell(task, RP_TASK_SOURCE));
    if (task->flags & RP_TASK_CONFIRMED) rp__jw_kbool(&w, "confirmed", true);
    rp__jw_end_object(&w);
    m->r->n_tasks++;
  }
  rp__jw_end_array(&w);
}

/* Whether all words of a topic stand in a pin, which is told anyway, or it is the name of a tool. */
static bool told_elsewhere(const struct rp__fold *state, const struct rp__topic_found *t)
{
  const struct rp__rows *pins = rp__rows_of(state, &rp__facet_pins);
  const unsigned tools = 1u << RP_CUE_EDIT_TOOLS | 1u << RP_CUE_RUN_TOOLS | 1u << RP_CUE_TODO_TOOLS |
                         1u << RP_CUE_ASK_TOOLS | 1u << RP_CUE_PLAN_TOOLS;
  struct rp__str text = {t->text, t->n};
  if (rp__cues_lists(NULL, text) & tools) return true;
  for (size_t i = 0; i < rp__tools_count(state); i++)
    if (rp__text_same(rp__json_raw(rp__tools_at(state, i).name), text)) return true;
  for (size_t i = 0; i < pins->count; i++)
    for (unsigned c = RP_PIN_LABEL; c <= RP_PIN_CONTENT; c++)
      if (rp__text_has(rp__json_raw(rp__row_cell(pins->v[i], c)), text)) return true;
  return false;
}

/*
 * The hot topics as they are told, and the set that is compared with the topics of a start. That has all that the
 * session was about: also what is told elsewhere, or stands in most sessions of the scope.
 */
static void write_topics(struct making *m)
{
  struct rp__topic_found best[RP_TOPICS_FOUND];
  struct rp__topic topics[RP_TOPICS_FOUND];
  const struct rp__record_options *o = m->o;
  struct rp__jw w = RP_JW(&m->part[RP_PART_HOT_TOPICS]);
  size_t found = rp__topics_best(m->state, best), n = 0, n_set = RP_MIN(found, (size_t)RP_TOPICS_MAX);
  for (size_t i = 0; i < found; i++) {
    uint64_t hash = rp__topic_hash(best[i].text, best[i].n, o->topic_key);
    if (i < n_set) m->r->topics[i] = hash;
    if (best[i].part || told_elsewhere(m->state, &best[i])) continue;
    topics[n++] = (struct rp__topic){.text = best[i].text,
                                     .n = best[i].n,
                                     .weight = (double)best[i].weight,
                                     .sessions = o->count ? o->count(o->ctx, hash & UINT32_MAX) : 0};
  }
  n = rp__topic_rank(topics, n, o->sessions);
  n = RP_MIN(n, (size_t)RP_TOPICS_MAX);
  rp__jw_array(&w);
  for (size_t i = 0; i < n; i++) rp__jw_strn(&w, topics[i].text, topics[i].n);
  rp__jw_end_array(&w);
  m->r->n_topics = (int)n;
  m->r->n_hashes = rp__topic_set(m->r->topics, n_set);
}

/* ---- trimming --------------------------------------------------------------------------- */

/* The parts that lose their oldest elements, in this order, and the facets they are made of. */
static const struct {
  enum rp__record_part part;
  const struct rp__facet_ops *facet;
} lists[] = {
    {RP_PART_SOPS, &rp__facet_sops},
    {RP_PART_CONFIDENCE, &rp__facet_confidence},
    {RP_PART_LEARNINGS, &rp__facet_learnings},
};

/*
 * The rows from the `from`th on, as the state document has them; of memories the ids of those that the session learned
 * itself, for what it inherited is in the record of the session that learned it.
 */
static void write_list(struct making *m, size_t which, size_t from)
{
  const struct rp__rows *rows = rp__rows_of(m->state, lists[which].facet);
  struct rp__buf *out = &m->part[lists[which].part];
  struct rp__jw w = RP_JW(out);
  bool learnings = lists[which].part == RP_PART_LEARNINGS;
  if (learnings) m->r->n_learnings = 0;
  rp__buf_reset(out);
  rp__jw_array(&w);
  for (size_t i = from; i < rows->count; i++) {
    if (learnings && rows->v[i]->n[RP_LEARNING_INHERITED_FROM]) continue;
    if (learnings) {
      rp__jw_value(&w, rp__row_cell(rows->v[i], RP_LEARNING_MEMORY_ID));
      m->r->n_learnings++;
    } else {
      rp__jw_object(&w);
      rp__row_show(rows->v[i], rows->shape, &w);
      rp__jw_end_object(&w);
    }
  }
  rp__jw_end_array(&w);
}

/* Both search for the least that has to go. */
static void trim_list(struct making *m, size_t which)
{
  size_t low = 0, high = rp__rows_of(m->state, lists[which].facet)->count;
  if (total(m) <= RP_RECORD_MAX || high == 0) return;
  m->r->trimmed = true;
  while (low < high) {
    size_t mid = low + (high - low) / 2;
    write_list(m, which, mid);
    if (total(m) <= RP_RECORD_MAX)
      high = mid;
    else
      low = mid + 1;
  }
  write_list(m, which, low);
}

static void trim_pins(struct making *m)
{
  size_t low = 0, high = CONTENT_MAX;
  if (total(m) <= RP_RECORD_MAX || m->r->n_pins == 0) return;
  m->r->trimmed = true;
  while (low < high) {
    size_t mid = low + (high - low + 1) / 2;
    write_pins(m, mid);
    if (total(m) <= RP_RECORD_MAX)
      low = mid;
    else
      high = mid - 1;
  }
  write_pins(m, low);
}

/* ---- all of it ---------------------------------------------------------------------------- */

int rp__record_build(const struct rp__fold *state, const struct rp__record_options *o, struct rp__record_parts *ret)
{
  RP_CLEANUP(rp__record_done) struct rp__record_parts parts = {0};
  RP_CLEANUP(making_done) struct making m = {.state = state, .o = o, .r = &parts};
  for (unsigned i = 0; i < RP_PARTS_MAX; i++) m.part[i] = RP_BUF(PART_MAX);
  write_topics(&m);
  const struct rp__rows *dropped = rp__pins_dropped(state), *projects = rp__rows_of(state, &rp__facet_projects);
  if (dropped->count) {
    RP_AUTOBUF struct rp__buf out = RP_BUF(PART_MAX);
    rp__rows_show(dropped, 0, &RP_JW(&out));
    parts.dropped = rp__buf_take(&out);
    parts.has_critical = true;
    if (!parts.dropped) return RP_E_NOMEM;
  }
  const struct rp__digest *digest = rp__digest_of(state);
  if (digest && rp__digest_count(digest)) {
    RP_AUTOBUF struct rp__buf out = RP_BUF(PART_MAX);
    rp__digest_write(digest, o->root, &RP_JW(&out));
    parts.digest = rp__buf_take(&out);
    parts.asked = true;
    if (!parts.digest) return RP_E_NOMEM;
  }
  write_pins(&m, SIZE_MAX);
  write_tasks(&m);
  struct rp__jw w = RP_JW(&m.part[RP_PART_PROJECTS]);
  rp__jw_array(&w);
  for (size_t i = 0; i < projects->count; i++) rp__jw_value(&w, rp__row_cell(projects->v[i], 0));
  rp__jw_end_array(&w);
  for (size_t i = 0; i < RP_ARRAY_SIZE(lists); i++) write_list(&m, i, 0);
  for (size_t i = 0; i < RP_ARRAY_SIZE(lists); i++) trim_list(&m, i);
  trim_pins(&m);
  for (unsigned i = 0; i < RP_PARTS_MAX; i++) {
    if (m.part[i].err) return m.part[i].err;
    parts.json[i] = rp__buf_take(&m.part[i]);
    if (!parts.json[i]) return RP_E_NOMEM;
  }
  *ret = parts;
  parts = (struct rp__record_parts){0};
  return 0;
}
