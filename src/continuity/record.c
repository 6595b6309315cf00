/* SPDX-License-Identifier: Apache-2.0 */
#include "continuity/record.h"

#include "base/text.h"
#include "continuity/pin.h"

#define PART_MAX ((size_t)8 * 1024 * 1024) /* of one part before it is trimmed: a state document is no larger */
#define CONTENT_MAX (32 * 1024)            /* of a pin, decoded: the facet keeps no more */
#define RANKED_MAX 256                     /* topics looked at */

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
  *r = (struct rp__record_parts){0};
}

/* A record in the making. */
struct making {
  struct rp__json state;
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
  for (unsigned i = 0; i < RP_PARTS_MAX; i++) n += m->part[i].n;
  return n;
}

/* ---- parts ------------------------------------------------------------------------ */

static void member(struct rp__jw *w, struct rp__json object, const char *name)
{
  rp__jw_key(w, name);
  rp__jw_value(w, rp__json_get(object, name));
}

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

static void write_pin(struct rp__json pin, size_t limit, struct rp__jw *w)
{
  rp__jw_object(w);
  member(w, pin, "label");
  rp__jw_key(w, "content");
  write_content(rp__json_get(pin, "content"), limit, w);
  member(w, pin, "importance");
  member(w, pin, "pinned_at");
  member(w, pin, "inherited_from");
  member(w, pin, "inherited_end");
  /* The word that makes it so may be in the part of its content that is cut off. */
  if (rp__pin_critical(pin)) rp__jw_kbool(w, "critical", true);
  rp__jw_end_object(w);
}

/* With no content longer than `limit` bytes. */
static void write_pins(struct making *m, size_t limit)
{
  struct rp__buf *out = &m->part[RP_PART_WORKING_MEMORY];
  struct rp__jw w = RP_JW(out);
  struct rp__json_iter it = {0};
  struct rp__json pin;
  int err = out->err == RP_E_NOMEM ? out->err : 0;
  rp__buf_reset(out);
  out->err = err;
  m->r->n_pins = 0;
  rp__jw_array(&w);
  while (rp__json_next(rp__json_get(m->state, "pins"), &it, NULL, &pin)) {
    if (pin.type != RP_JSON_OBJECT) continue;
    write_pin(pin, limit, &w);
    m->r->n_pins++;
    m->r->has_critical |= rp__pin_critical(pin);
  }
  rp__jw_end_array(&w);
}

/* As the facet wrote it, which bounds it. */
static int copy_dropped(struct making *m)
{
  struct rp__json dropped = rp__json_get(m->state, RP_RECORD_DROPPED);
  if (rp__json_count(dropped) == 0) return 0;
  m->r->dropped = strndup(dropped.p, dropped.n);
  m->r->has_critical = true;
  return m->r->dropped ? 0 : RP_E_NOMEM;
}

static void write_tasks(struct making *m)
{
  static const char *const names[] = {"task_id", "title", "stage", "flagged_incomplete", "at", "source"};
  struct rp__jw w = RP_JW(&m->part[RP_PART_TASKS]);
  struct rp__json_iter it = {0};
  struct rp__json task;
  rp__jw_array(&w);
  while (rp__json_next(rp__json_get(m->state, "tasks"), &it, NULL, &task)) {
    if (rp__json_get(task, "pending").type != RP_JSON_TRUE) continue;
    rp__jw_object(&w);
    for (size_t i = 0; i < RP_ARRAY_SIZE(names); i++) member(&w, task, names[i]);
    rp__jw_end_object(&w);
    m->r->n_tasks++;
  }
  rp__jw_end_array(&w);
}

/*
 * The elements from the `from`th on, as they are or, with `name`, that member of each that is the session's own: what
 * it inherited is in the record of who learned it. Returns how many.
 */
static int copy_list(struct rp__json list, size_t from, const char *name, struct rp__buf *out)
{
  struct rp__jw w = RP_JW(out);
  struct rp__json_iter it = {0};
  struct rp__json v;
  int n = 0;
  rp__buf_reset(out);
  rp__jw_array(&w);
  for (size_t i = 0; rp__json_next(list, &it, NULL, &v); i++) {
    if (name && rp__json_get(v, "inherited_from").type == RP_JSON_STRING) continue;
    if (name) v = rp__json_get(v, name);
    if (i < from || v.type == RP_JSON_NONE || v.type == RP_JSON_NULL) continue;
    rp__jw_value(&w, v);
    n++;
  }
  rp__jw_end_array(&w);
  return n;
}

/* ---- topics -------------------------------------------------------------------------- */

struct hot {
  struct rp__topic topic[RANKED_MAX];
  struct rp__json value[RANKED_MAX];
  char *text[RANKED_MAX];
  size_t n;
};

static void hot_free(struct hot **h)
{
  if (*h)
    for (size_t i = 0; i < (*h)->n; i++) free((*h)->text[i]);
  free(*h);
}

static int hot_gather(struct hot *h, const struct making *m)
{
  struct rp__json_iter it = {0};
  struct rp__json v;
  while (h->n < RANKED_MAX && rp__json_next(rp__json_get(m->state, "topics"), &it, NULL, &v)) {
    if (v.type != RP_JSON_STRING) continue;
    char *text = rp__json_dup(v);
    if (!text) return RP_E_NOMEM;
    uint64_t hash = rp__topic_hash(text, strlen(text), m->o->topic_key) & UINT32_MAX;
    h->text[h->n] = text;
    h->topic[h->n] = (struct rp__topic){.text = text, .n = strlen(text), .weight = 1.0 / (double)(h->n + 1)};
    h->topic[h->n].sessions = m->o->count ? m->o->count(m->o->ctx, hash) : 0;
    h->n++;
  }
  rp__topic_rank(h->topic, h->n, m->o->sessions);
  return 0;
}

static int write_topics(struct making *m)
{
  RP_CLEANUP(hot_free) struct hot *h = calloc(1, sizeof *h);
  struct rp__jw w = RP_JW(&m->part[RP_PART_HOT_TOPICS]);
  if (!h || hot_gather(h, m)) return RP_E_NOMEM;
  size_t n = RP_MIN(h->n, (size_t)RP_TOPICS_MAX);
  rp__jw_array(&w);
  for (size_t i = 0; i < n; i++) {
    rp__jw_strn(&w, h->topic[i].text, h->topic[i].n);
    m->r->topics[i] = rp__topic_hash(h->topic[i].text, h->topic[i].n, m->o->topic_key);
  }
  rp__jw_end_array(&w);
  m->r->n_topics = (int)n;
  m->r->n_hashes = rp__topic_set(m->r->topics, n);
  return 0;
}

/* ---- trimming --------------------------------------------------------------------------- */

/* The parts that lose their oldest elements, in this order, and where the state has them. */
static const struct {
  enum rp__record_part part;
  const char *name, *member;
} lists[] = {
    {RP_PART_SOPS, "sops", NULL},
    {RP_PART_CONFIDENCE, "confidence_updates", NULL},
    {RP_PART_LEARNINGS, "learnings", "memory_id"},
};

static void write_list(struct making *m, size_t which, size_t from)
{
  struct rp__json list = rp__json_get(m->state, lists[which].name);
  int n = copy_list(list, from, lists[which].member, &m->part[lists[which].part]);
  if (lists[which].part == RP_PART_LEARNINGS) m->r->n_learnings = n;
}

/* Both search for the least that has to go. */
static void trim_list(struct making *m, size_t which)
{
  size_t low = 0, high = rp__json_count(rp__json_get(m->state, lists[which].name));
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

static int build(struct making *m)
{
  int rc = write_topics(m);
  if (rc == 0) rc = copy_dropped(m);
  if (rc) return rc;
  write_pins(m, SIZE_MAX);
  write_tasks(m);
  (void)copy_list(rp__json_get(m->state, "projects"), 0, NULL, &m->part[RP_PART_PROJECTS]);
  for (size_t i = 0; i < RP_ARRAY_SIZE(lists); i++) write_list(m, i, 0);
  for (size_t i = 0; i < RP_ARRAY_SIZE(lists); i++) trim_list(m, i);
  trim_pins(m);
  for (unsigned i = 0; i < RP_PARTS_MAX; i++) {
    if (m->part[i].err) return m->part[i].err;
    m->r->json[i] = rp__buf_take(&m->part[i]);
    if (!m->r->json[i]) return RP_E_NOMEM;
  }
  return 0;
}

int rp__record_build(struct rp__json state, const struct rp__record_options *o, struct rp__record_parts *ret)
{
  RP_CLEANUP(rp__record_done) struct rp__record_parts parts = {0};
  RP_CLEANUP(making_done) struct making m = {.state = state, .o = o, .r = &parts};
  for (unsigned i = 0; i < RP_PARTS_MAX; i++) m.part[i] = RP_BUF(PART_MAX);
  int rc = build(&m);
  if (rc) return rc;
  *ret = parts;
  parts = (struct rp__record_parts){0};
  return 0;
}
