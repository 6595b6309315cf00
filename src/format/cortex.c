/* SPDX-License-Identifier: Apache-2.0 */
/* Records of Helios Cortex: <id>.json as its mirror writes it, and rows of brain.db (cortex-db.c). */
#include "format/cortex.h"

#include "format/give.h"

#define PINS_MAX 10

static bool cortex_detect(const struct rp__doc *d)
{
  if (d->type == RP_DOC_SQLITE) return true;
  if (RP_ANY(d->json, "session_id", "id").type != RP_JSON_STRING) return false;
  return rp__json_get(d->json, "working_memory").type == RP_JSON_ARRAY ||
         rp__json_get(d->json, "hot_topics").type == RP_JSON_ARRAY;
}

/* ---- a record as events ---- */

struct record {
  struct rp__take *t;
  struct rp__json doc;
  int64_t start, end;
  const struct rp__cortex_memories *memories;
  const struct part *part; /* that is being read */
  int64_t place;           /* of the item in it, from 1 */
};

/* A list of the record. */
struct part {
  const char *name;
  int (*take)(struct record *r, struct rp__json v);
  const char *kind, *when; /* of events whose body is the item as it came: their time's member */
};

static int64_t moment(struct record *r, struct rp__json v)
{
  int64_t at = rp__when(v);
  return at ? at : r->end;
}

static int take_pin(struct record *r, struct rp__json v)
{
  struct rp__json label = RP_ANY(v, "label"), importance = RP_ANY(v, "importance");
  char made[32];
  if (r->place > PINS_MAX) {
    if (r->place == PINS_MAX + 1) rp__take_note(r->t, "only its first %d pins were taken", PINS_MAX);
    return 0;
  }
  struct rp__jw *w = rp__take_body(r->t);
  snprintf(made, sizeof made, "pin %lld", (long long)r->place);
  if (label.type == RP_JSON_STRING && label.n > 2)
    rp__copy_member(w, "label", label);
  else
    rp__jw_kstr(w, "label", made);
  rp__copy_member(w, "content", v.type == RP_JSON_STRING ? v : rp__json_get(v, "content"));
  if (rp__json_eq(importance, "high") || rp__json_eq(importance, "critical") || rp__json_eq(importance, "normal"))
    rp__copy_member(w, "importance", importance);
  return rp__take_event(r->t, moment(r, RP_ANY(v, "pinned_at", "pinnedAt")), "pin");
}

static int take_project(struct record *r, struct rp__json v)
{
  rp__copy_member(rp__take_body(r->t), "name", v);
  return rp__take_event(r->t, r->start, "project");
}

static int take_task(struct record *r, struct rp__json v)
{
  struct rp__json id = RP_ANY(v, "task_id", "id"), title = RP_ANY(v, "title"), stage = RP_ANY(v, "stage");
  struct rp__jw *w = rp__take_body(r->t);
  rp__copy_member(w, "task_id", id);
  rp__copy_member(w, "title", title.type == RP_JSON_STRING ? title : id);
  if (stage.type == RP_JSON_STRING)
    rp__copy_member(w, "stage", stage);
  else
    rp__jw_kstr(w, "stage", "unknown");
  rp__copy_member(w, "flagged_incomplete", rp__json_get(v, "flagged_incomplete"));
  rp__jw_kstr(w, "status", "open");
  return rp__take_event(r->t, moment(r, rp__json_get(v, "at")), "task");
}

/* A learning is only an id where it comes from; without its text it is no memory, but it is not forgotten either. */
static int take_learning(struct record *r, struct rp__json v)
{
  int64_t at = 0;
  double sure;
  struct rp__jw *w = rp__take_body(r->t);
  struct rp__json id = v.type == RP_JSON_STRING ? v : RP_ANY(v, "memory_id", "id");
  if (rp__json_get(v, "content").type == RP_JSON_STRING) {
    rp__copy_member(w, "memory_id", id);
    rp__copy_member(w, "content", rp__json_get(v, "content"));
    rp__copy_member(w, "categories", rp__json_get(v, "categories"));
    if (rp__json_double(rp__json_get(v, "confidence"), &sure)) rp__put_share(w, "confidence", sure);
    return rp__take_event(r->t, moment(r, RP_ANY(v, "at", "created_at")), "learning");
  }
  int found = r->memories ? r->memories->find(r->memories->ctx, id, w, &at) : 0;
  if (found < 0) return found;
  if (found) return rp__take_event(r->t, at ? at : r->end, "learning");
  w = rp__take_body(r->t);
  rp__copy_member(w, "memory_id", id);
  return rp__take_event(r->t, r->end, "x-cortex-learning");
}

static int take_object(struct record *r, struct rp__json v)
{
  if (v.type != RP_JSON_OBJECT) return rp__take_left(r->t, "it is no object");
  return rp__take_value(r->t, moment(r, rp__json_get(v, r->part->when)), r->part->kind, v);
}

static int take_part(struct record *r)
{
  struct rp__json_iter it = {0};
  struct rp__json list = RP_ANY(r->doc, r->part->name), item;
  int rc = 0;
  rp__take_at(r->t, r->part->name, -1);
  if (list.type != RP_JSON_NONE && list.type != RP_JSON_ARRAY) return rp__take_left(r->t, "it is no list");
  for (r->place = 1; !rc && rp__json_next(list, &it, NULL, &item); r->place++) {
    rp__take_at(r->t, r->part->name, r->place - 1);
    rc = r->part->take(r, item);
  }
  return rc;
}

int rp__cortex_take(struct rp__take *t, struct rp__json doc, const struct rp__cortex_memories *memories)
{
  static const struct part parts[] = {
      {"active_projects", take_project, NULL, NULL},
      {"working_memory", take_pin, NULL, NULL},
      {"pending_tasks", take_task, NULL, NULL},
      {"recent_learnings", take_learning, NULL, NULL},
      {"confidence_updates", take_object, "confidence", "timestamp"},
      {"sop_interactions", take_object, "sop", "injected_at"},
  };
  struct rp__json crashed = rp__json_get(doc, "crash_recovered");
  struct rp__foreign f = {.created_at = rp__when(rp__json_get(doc, "start_time")),
                          .ended_at = rp__when(rp__json_get(doc, "end_time")),
                          .ended = true};
  struct rp__json v = RP_ANY(doc, "schema_version"), topics = RP_ANY(doc, "hot_topics");
  int64_t version = RP_CORTEX_VERSION;
  if (v.type != RP_JSON_NONE) rp__json_i64(v, &version);
  if (version > RP_CORTEX_VERSION)
    return rp__fail(t->err, RP_E_FORMAT_VERSION, "the record has schema_version %lld, this program reads up to %d",
                    (long long)version, RP_CORTEX_VERSION);
  rp__id_of(RP_ANY(doc, "session_id", "id"), "cortex", f.id);
  rp__name_of(rp__json_get(doc, "channel"), f.channel);
  rp__name_of(rp__json_get(doc, "previous_session_id"), f.previous_id);
  rp__name_of(rp__json_get(doc, "continued_by"), f.continued_by);
  snprintf(f.name, sizeof f.name, "%s", f.id);
  f.crashed = crashed.type == RP_JSON_TRUE || rp__json_eq(crashed, "1") || (crashed.n == 1 && crashed.p[0] == '1');
  if (!f.ended_at) { /* it crashed, and nobody has recovered it yet */
    f.crashed = true;
    f.ended_at = rp__when(rp__json_get(doc, "updated_at"));
    if (!f.ended_at && f.created_at) f.ended_at = f.created_at + 3600000;
  }
  if (!f.created_at) f.created_at = f.ended_at;
  f.last_activity_at = f.ended_at;
  struct record r = {.t = t, .doc = doc, .start = f.created_at, .end = f.ended_at, .memories = memories};
  int rc = rp__take_begin(t, &f);
  if (rc) return rc == RP__TAKE_SKIP ? 0 : rc;
  if (!rp__when(rp__json_get(doc, "start_time"))) rp__take_note(t, "its 'start_time' is no time");
  rp__take_at(t, "hot_topics", -1);
  if (topics.type != RP_JSON_NONE && topics.type != RP_JSON_ARRAY) {
    rc = rp__take_left(t, "it is no list");
  } else if (rp__json_count(topics)) {
    rp__copy_member(rp__take_body(t), "categories", topics);
    rc = rp__take_event(t, r.start, "activity");
  }
  for (r.part = parts; !rc && r.part < parts + RP_ARRAY_SIZE(parts); r.part++) rc = take_part(&r);
  return rc ? rc : rp__take_end(t);
}

static int cortex_import(const struct rp__doc *d, const struct rp__taker *to, rp_error *err)
{
  struct rp__take t RP_AUTOTAKE;
  rp__take_init(&t, to, err);
  if (d->type == RP_DOC_SQLITE) return rp__cortex_db_import(d, to, err);
  if (!cortex_detect(d)) return rp__format_refuse(&rp__format_cortex, err);
  return rp__cortex_take(&t, d->json, NULL);
}

/* ---- writing ---- */

int rp__cortex_record(const struct rp__giver *g, struct rp__buf *out, rp_error *err)
{
  const struct rp__given_session *s = &g->session;
  struct rp__record_options o = {.at_ms = s->ended_at};
  struct rp__record_parts parts = {0};
  struct rp__jw w = RP_JW(out);
  if (rp__record_build(g->state, &o, &parts)) return rp__fail_nomem(err);
  rp__jw_pack(&w, "{session_id:s start_time:t end_time:t channel:s", s->id, s->created_at, s->ended_at,
              s->channel[0] ? s->channel : "unknown");
  for (int i = 0; i < RP_PARTS_MAX; i++) {
    rp__jw_key(&w, rp__record_names[i]);
    rp__jw_raw(&w, parts.json[i], strlen(parts.json[i]));
  }
  rp__jw_pack(&w, "previous_session_id:s continued_by:s crash_recovered:b schema_version:i}",
              s->previous_id[0] ? s->previous_id : NULL, s->continued_by[0] ? s->continued_by : NULL,
              s->crash_recovered, (int64_t)RP_CORTEX_VERSION);
  rp__record_done(&parts);
  return out->err ? rp__fail_nomem(err) : 0;
}

static int cortex_export(const struct rp__giver *g, rp_error *err)
{
  struct rp__buf out RP_AUTOBUF = RP_BUF(RP_FOREIGN_MAX);
  int rc = rp__cortex_record(g, &out, err);
  return rc ? rc : rp__give_pretty(g, &out, false, err);
}

const struct rp__format rp__format_cortex = {
    .name = "cortex",
    .extension = ".json",
    .what = "a brain.db with session_states or stm, or a session's <id>.json with session_id and working_memory",
    .detect = cortex_detect,
    .import = cortex_import,
    .export = cortex_export,
    .put = rp__cortex_db_put,
};
