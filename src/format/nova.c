/* SPDX-License-Identifier: Apache-2.0 */
/* A robot's session.json, version 1 (N-06). Seconds are floats, roles are upper case, levels have four decimals. */
#include <math.h>

#include "facets/emotion/affect.h"
#include "facets/presence.h"
#include "format/give.h"
#include "format/take.h"

#define NOVA_VERSION 1
#define NOVA_TURNS 50
#define NOVA_SESSIONS_MAX 1000000000 /* more than that is no count of starts */

static bool is_spoken(const char *role)
{
  return strcmp(role, "user") == 0 || strcmp(role, "assistant") == 0;
}

/* ---- reading ---- */

static bool nova_detect(const struct rp__doc *d)
{
  if (d->type != RP_DOC_JSON || rp__json_get(d->json, "heartbeat").type != RP_JSON_NUMBER) return false;
  return rp__json_get(d->json, "shutdown_clean").type != RP_JSON_NONE ||
         rp__json_get(d->json, "session_start").type != RP_JSON_NONE;
}

static int check_version(struct rp__json doc, rp_error *err)
{
  struct rp__json v = rp__json_get(doc, "version");
  int64_t version;
  if (v.type == RP_JSON_NONE) return rp__format_refuse(&rp__format_nova, err);
  if (rp__json_i64(v, &version) && version == NOVA_VERSION) return 0;
  return rp__fail(err, RP_E_FORMAT_VERSION, "the session file has version %.*s, this program reads %d",
                  (int)RP_MIN(v.n, (size_t)20), v.p, NOVA_VERSION);
}

static int take_message(struct rp__take *t, struct rp__json v)
{
  struct rp__jw *w = rp__take_body(t);
  struct rp__json role = rp__json_get(v, "role");
  rp__jw_kstr(w, "role",
              rp__json_eq(role, "USER") || rp__json_eq(role, "user")             ? "user"
              : rp__json_eq(role, "ASSISTANT") || rp__json_eq(role, "assistant") ? "assistant"
                                                                                 : "system");
  rp__copy_member(w, "content", rp__json_get(v, "text"));
  return rp__take_event(t, rp__when(rp__json_get(v, "timestamp")), "message");
}

static int take_presence(struct rp__take *t, struct rp__json doc, int64_t heartbeat)
{
  struct rp__json person = rp__json_get(doc, "last_person_seen"), sleep = rp__json_get(doc, "sleep_state");
  int rc = 0;
  if (person.type == RP_JSON_STRING) {
    rp__copy_member(rp__take_body(t), "name", person);
    rc = rp__take_event(t, rp__when(rp__json_get(doc, "last_person_seen_time")), "person");
  }
  if (!rc && sleep.type == RP_JSON_STRING) {
    rp__copy_member(rp__take_body(t), "state", sleep);
    rc = rp__take_event(t, heartbeat, "sleep");
  }
  return rc;
}

/* Emotions are what they were at the heartbeat: the state of a facet that nothing in the journal explains. */
static int take_emotions(struct rp__take *t, struct rp__json v, int64_t heartbeat)
{
  if (v.type != RP_JSON_OBJECT || rp__json_get(v, "levels").type != RP_JSON_OBJECT) return 0;
  struct rp__jw *w = rp__take_body(t);
  rp__jw_kstr(w, "type", "import");
  rp__jw_kdouble(w, "elapsed_seconds", 0.0);
  rp__jw_key(w, "carried");
  rp__jw_object(w);
  rp__jw_key(w, "affect");
  rp__jw_object(w);
  rp__copy_member(w, "levels", rp__json_get(v, "levels"));
  rp__copy_member(w, "boredom", rp__json_get(v, "boredom"));
  rp__copy_member(w, "mood", RP_ANY(v, "current_mood", "mood"));
  rp__copy_member(w, "wounds", rp__json_get(v, "wounds"));
  rp__jw_end_object(w);
  rp__jw_end_object(w);
  return rp__take_restored(t, heartbeat);
}

static int take_all(struct rp__take *t, struct rp__json doc, int64_t heartbeat)
{
  struct rp__json messages = rp__json_get(doc, "conversation"), item;
  struct rp__json_iter it = {0};
  int rc = 0;
  while (!rc && rp__json_next(messages, &it, NULL, &item)) rc = take_message(t, item);
  if (!rc) rc = take_presence(t, doc, heartbeat);
  if (!rc) rc = take_emotions(t, rp__json_get(doc, "emotions"), heartbeat);
  return rc ? rc : rp__take_end(t);
}

static int64_t last_message_at(struct rp__json messages)
{
  struct rp__json_iter it = {0};
  struct rp__json item;
  int64_t last = 0;
  while (rp__json_next(messages, &it, NULL, &item)) last = RP_MAX(last, rp__when(rp__json_get(item, "timestamp")));
  return last;
}

static int nova_import(const struct rp__doc *d, const struct rp__taker *to, rp_error *err)
{
  struct rp__take t RP_AUTOTAKE;
  rp__take_init(&t, to, err);
  if (!nova_detect(d)) return rp__format_refuse(&rp__format_nova, err);
  int rc = check_version(d->json, err);
  if (rc) return rc;
  int64_t heartbeat = rp__when(rp__json_get(d->json, "heartbeat"));
  if (!heartbeat) heartbeat = last_message_at(rp__json_get(d->json, "conversation"));
  struct rp__foreign f = {.created_at = rp__when(rp__json_get(d->json, "session_start")),
                          .last_activity_at = heartbeat,
                          .ended_at = heartbeat,
                          .ended = true,
                          .crashed = rp__json_get(d->json, "shutdown_clean").type == RP_JSON_FALSE,
                          .channel = "robot",
                          .robot = true};
  if (!f.created_at || f.created_at > heartbeat) f.created_at = heartbeat;
  struct rp__json total = rp__json_get(d->json, "total_sessions");
  bool counted =
      rp__json_i64(total, &f.total_sessions) && f.total_sessions >= 0 && f.total_sessions <= NOVA_SESSIONS_MAX;
  if (!counted) f.total_sessions = 0;
  rp__id_of(rp__json_get(d->json, "session_id"), "nova", f.id);
  snprintf(f.name, sizeof f.name, "nova %s", f.id);
  rc = rp__take_begin(&t, &f);
  if (!rc && !counted && total.type != RP_JSON_NONE && total.type != RP_JSON_NULL)
    rp__take_note(&t, "its total_sessions was left out: %.*s is no number of sessions", (int)RP_MIN(total.n, 40),
                  total.p);
  if (!rc) rc = take_all(&t, d->json, heartbeat);
  return rc == RP__TAKE_SKIP ? 0 : rc;
}

bool rp__nova_readable(const char *bytes, size_t n)
{
  struct rp__json doc;
  int64_t version;
  const struct rp__json_limits limits = {.max_bytes = RP_FOREIGN_MAX};
  if (rp__json_parse(bytes, n, &limits, &doc, NULL) || doc.type != RP_JSON_OBJECT) return false;
  return rp__json_i64(rp__json_get(doc, "version"), &version) && version == NOVA_VERSION;
}

/* ---- writing ---- */

static double seconds(int64_t ms)
{
  return (double)ms / 1000.0;
}

static double rounded(double v, double scale)
{
  return round(v * scale) / scale;
}

/* As the state document has a number: without rounding errors. */
static double shown(double v)
{
  return v < 1e6 ? (double)(int64_t)(v * 1e9 + .5) / 1e9 : v;
}

static void write_by_emotion(struct rp__jw *w, const char *name, const struct rp__emotions *t, const double *v,
                             bool zeroes)
{
  rp__jw_key(w, name);
  rp__jw_object(w);
  for (size_t i = 0; i < t->n_levels; i++)
    if (zeroes || v[i] > 0) rp__jw_kdouble(w, t->level[i].name, rounded(shown(v[i]), 1e4));
  rp__jw_end_object(w);
}

static void write_emotions(struct rp__jw *w, const struct rp__giver *g)
{
  const struct rp__emotions *t = rp__emotions_of(g->state);
  struct rp__feelings f;
  int64_t at_ms;
  rp__jw_key(w, "emotions");
  rp__jw_object(w);
  if (rp__affect_at(g->state, g->now_ms, &f, &at_ms)) {
    write_by_emotion(w, "levels", t, f.level, true);
    rp__jw_kdouble(w, "boredom", rounded(shown(f.boredom), 1e4));
    rp__jw_kstr(w, "current_mood", rp__mood_name(f.mood));
    rp__jw_key(w, "wounds");
    rp__jw_array(w);
    for (size_t i = 0; i < f.n_wounds; i++) {
      const struct rp__wound *wound = &f.wound[i];
      rp__jw_object(w);
      rp__jw_kstr(w, "id", wound->id);
      rp__jw_kstr(w, "event", wound->event);
      write_by_emotion(w, "floors", t, wound->floor, false);
      rp__jw_kdouble(w, "duration", wound->duration);
      rp__jw_kdouble(w, "heal_rate", wound->heal_rate);
      rp__jw_kdouble(w, "created_at", rp__wound_created(wound, at_ms));
      rp__jw_kdouble(w, "remaining_fixed_seconds", rounded(shown(rp__wound_remaining(wound)), 10));
      rp__jw_end_object(w);
    }
    rp__jw_end_array(w);
  }
  rp__jw_end_object(w);
}

static int write_turns(struct rp__jw *w, const struct rp__fold *state)
{
  struct rp__talk_turn turn RP_CLEANUP(rp__turn_done) = RP_TURN;
  size_t spoken = 0, told = 0, at = 0;
  while (!turn.text.err && rp__talk_next(state, &at, &turn)) spoken += is_spoken(turn.role);
  if (turn.text.err) return turn.text.err;
  rp__jw_key(w, "conversation");
  rp__jw_array(w);
  at = 0;
  while (!turn.text.err && rp__talk_next(state, &at, &turn)) {
    if (!is_spoken(turn.role) || told++ + NOVA_TURNS < spoken) continue;
    rp__jw_object(w);
    rp__jw_kstr(w, "role", turn.role[0] == 'u' ? "USER" : "ASSISTANT");
    rp__jw_key(w, "text");
    rp__jw_strn(w, turn.text.p, turn.text.n);
    rp__jw_kdouble(w, "timestamp", seconds(turn.at_ms));
    rp__jw_end_object(w);
  }
  rp__jw_end_array(w);
  return turn.text.err;
}

static int write_document(const struct rp__giver *g, struct rp__jw *w)
{
  struct rp__json person;
  int64_t seen;
  rp__jw_object(w);
  rp__jw_ki64(w, "version", NOVA_VERSION);
  rp__jw_kdouble(w, "heartbeat", seconds(g->now_ms));
  rp__jw_kbool(w, "shutdown_clean", g->clean);
  rp__jw_kdouble(w, "session_start", seconds(g->started_at));
  rp__jw_kstr(w, "session_id", g->session.id);
  rp__jw_kdouble(w, "uptime_seconds", seconds(RP_MAX(g->now_ms - g->started_at, 0)));
  rp__jw_ki64(w, "total_sessions", g->total_sessions);
  write_emotions(w, g);
  int rc = write_turns(w, g->state);
  rp__jw_kstr(w, "sleep_state", rp__presence_sleep(g->state));
  if (rp__presence_person(g->state, &person, &seen)) {
    rp__jw_key(w, "last_person_seen");
    rp__jw_value(w, person);
    if (seen) rp__jw_kdouble(w, "last_person_seen_time", seconds(seen));
  }
  rp__jw_end_object(w);
  return rc ? rc : w->out->err;
}

int rp__nova_write(const struct rp__giver *g, struct rp__buf *out)
{
  struct rp__buf compact RP_AUTOBUF = RP_BUF(RP_FOREIGN_MAX);
  struct rp__jw w = RP_JW(&compact);
  int rc = write_document(g, &w);
  if (rc) return rc;
  rp__json_pretty(rp__json_trusted(compact.p, compact.n), true, out);
  return out->err;
}

static int nova_export(const struct rp__giver *g, rp_error *err)
{
  struct rp__buf out RP_AUTOBUF = RP_BUF(2 * RP_FOREIGN_MAX);
  int rc = rp__nova_write(g, &out);
  if (rc == RP_E_TOO_LARGE) return rp__fail(err, rc, "the session is too large for a session file");
  return rc ? rp__fail_nomem(err) : rp__give(g, &out, err);
}

int rp__nova_heartbeat(const char *bytes, size_t n, int64_t now_ms, struct rp__buf *out)
{
  struct rp__json doc, v;
  struct rp__jw w = RP_JW(out);
  if (!rp__nova_readable(bytes, n)) return RP_E_FORMAT;
  doc = rp__json_trusted(bytes, n);
  v = rp__json_get(doc, "heartbeat");
  if (v.type == RP_JSON_NONE) return RP_E_FORMAT;
  size_t before = (size_t)(v.p - bytes);
  rp__buf_add(out, bytes, before);
  rp__jw_double(&w, seconds(now_ms));
  rp__buf_add(out, bytes + before + v.n, n - before - v.n);
  return out->err;
}

const struct rp__format rp__format_nova = {
    .name = "nova",
    .extension = ".json",
    .what = "a robot's session.json with version, heartbeat, shutdown_clean and session_start",
    .detect = nova_detect,
    .import = nova_import,
    .export = nova_export,
};
