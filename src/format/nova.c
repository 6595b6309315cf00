/* SPDX-License-Identifier: Apache-2.0 */
/* A robot's session.json, version 1 (N-06): seconds are floats, roles are upper case, levels have four decimals. */
#include <math.h>

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

static void write_numbers(struct rp__jw *w, const char *name, struct rp__json object)
{
  struct rp__json_iter it = {0};
  struct rp__json key, item;
  double v;
  rp__jw_key(w, name);
  rp__jw_object(w);
  while (rp__json_next(object, &it, &key, &item)) {
    char text[RP_EVENT_ID_MAX + 1];
    if (!rp__json_double(item, &v)) continue;
    rp__text_of(key, text, sizeof text);
    rp__jw_kdouble(w, text, rounded(v, 1e4));
  }
  rp__jw_end_object(w);
}

static void write_wound(struct rp__jw *w, struct rp__json v)
{
  double left = 0;
  rp__json_double(rp__json_get(v, "remaining_fixed_seconds"), &left);
  rp__jw_object(w);
  rp__copy_member(w, "id", rp__json_get(v, "id"));
  rp__copy_member(w, "event", rp__json_get(v, "event"));
  write_numbers(w, "floors", rp__json_get(v, "floors"));
  rp__copy_member(w, "duration", rp__json_get(v, "duration"));
  rp__copy_member(w, "heal_rate", rp__json_get(v, "heal_rate"));
  rp__copy_member(w, "created_at", rp__json_get(v, "created_at"));
  rp__jw_kdouble(w, "remaining_fixed_seconds", rounded(left, 10));
  rp__jw_end_object(w);
}

static void write_emotions(struct rp__jw *w, struct rp__json affect)
{
  struct rp__json_iter it = {0};
  struct rp__json item;
  double boredom = 0;
  rp__jw_key(w, "emotions");
  rp__jw_object(w);
  if (affect.type == RP_JSON_OBJECT) {
    write_numbers(w, "levels", rp__json_get(affect, "levels"));
    rp__json_double(rp__json_get(affect, "boredom"), &boredom);
    rp__jw_kdouble(w, "boredom", rounded(boredom, 1e4));
    rp__copy_member(w, "current_mood", rp__json_get(affect, "mood"));
    rp__jw_key(w, "wounds");
    rp__jw_array(w);
    while (rp__json_next(rp__json_get(affect, "wounds"), &it, NULL, &item)) write_wound(w, item);
    rp__jw_end_array(w);
  }
  rp__jw_end_object(w);
}

static int write_turns(struct rp__jw *w, struct rp__json messages)
{
  struct rp__turn turn RP_CLEANUP(rp__turn_done) = RP_TURN;
  struct rp__talk k = {0};
  size_t spoken = 0, at = 0;
  while (!turn.text.err && rp__talk_next(messages, &k, &turn)) spoken += is_spoken(turn.role);
  if (turn.text.err) return turn.text.err;
  rp__jw_key(w, "conversation");
  rp__jw_array(w);
  k = (struct rp__talk){0};
  while (!turn.text.err && rp__talk_next(messages, &k, &turn)) {
    if (!is_spoken(turn.role) || at++ + NOVA_TURNS < spoken) continue;
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
  struct rp__json session = rp__json_get(g->state, "session"), presence = rp__json_get(g->state, "presence");
  struct rp__json sleep = RP_ANY(presence, "sleep"), person = RP_ANY(presence, "last_person");
  int64_t seen = rp__when(rp__json_get(presence, "last_person_at"));
  rp__jw_object(w);
  rp__jw_ki64(w, "version", NOVA_VERSION);
  rp__jw_kdouble(w, "heartbeat", seconds(g->now_ms));
  rp__jw_kbool(w, "shutdown_clean", g->clean);
  rp__jw_kdouble(w, "session_start", seconds(g->started_at));
  rp__copy_member(w, "session_id", rp__json_get(session, "session_id"));
  rp__jw_kdouble(w, "uptime_seconds", seconds(RP_MAX(g->now_ms - g->started_at, 0)));
  rp__jw_ki64(w, "total_sessions", g->total_sessions);
  write_emotions(w, rp__json_get(g->state, "affect"));
  int rc = write_turns(w, rp__json_get(rp__json_get(g->state, "conversation"), "messages"));
  rp__jw_key(w, "sleep_state");
  if (sleep.type == RP_JSON_STRING)
    rp__jw_value(w, sleep);
  else
    rp__jw_str(w, "awake");
  rp__copy_member(w, "last_person_seen", person);
  if (person.type != RP_JSON_NONE && seen) rp__jw_kdouble(w, "last_person_seen_time", seconds(seen));
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
