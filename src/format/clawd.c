/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads Clawd's session-store.json (C-11): several sessions, each with its info, messages by type, container and
 * manager state. The tokens and the secret in it go to the taker through calls of their own, never into an event.
 */
#include "format/clawd.h"

#include "format/take.h"

#define CALLS_OPEN 64 /* tool calls that wait for their result */

/* Which members of info are what; export reads the same table. The values are those of a session that Clawd makes. */
const struct rp__clawd_field rp__clawd_fields[] = {
    {"permissionMode", true, RP_JSON_STRING, "\"normal\""},
    {"model", true, RP_JSON_STRING, "null"},
    {"notificationsEnabled", true, RP_JSON_TRUE, "false"},
    {"dockerAccess", true, RP_JSON_TRUE, "false"},
    {"contextUsage", true, RP_JSON_OBJECT, "null"},
    {"repoUrl", false, RP_JSON_STRING, "\"\""},
    {"branch", false, RP_JSON_STRING, "\"\""},
    {"createdBy", false, RP_JSON_STRING, "\"unknown\""},
    {"isManager", false, RP_JSON_TRUE, NULL},
    {"managedBy", false, RP_JSON_STRING, NULL},
    {NULL, false, RP_JSON_NONE, NULL},
};

const struct rp__clawd_field *rp__clawd_field(const char *name)
{
  const struct rp__clawd_field *f = rp__clawd_fields;
  while (strcmp(f->name, name) != 0) f++;
  return f;
}

bool rp__clawd_fits(const struct rp__clawd_field *f, struct rp__json v)
{
  static const char *const modes[] = {"normal", "auto_edits", "dangerous", "plan"};
  if (v.type != f->type && !(f->type == RP_JSON_TRUE && v.type == RP_JSON_FALSE)) return false;
  if (strcmp(f->name, "permissionMode") != 0) return true;
  for (size_t i = 0; i < RP_ARRAY_SIZE(modes); i++)
    if (rp__json_eq(v, modes[i])) return true;
  return false;
}

static bool clawd_detect(const struct rp__doc *d)
{
  struct rp__json sessions = rp__json_get(d->json, "sessions"), first;
  struct rp__json_iter it = {0};
  if (d->type != RP_DOC_JSON || sessions.type == RP_JSON_NONE) return false;
  if (rp__json_get(d->json, "internalSecret").type == RP_JSON_STRING) return true;
  return rp__json_next(sessions, &it, NULL, &first) && rp__json_get(first, "info").type == RP_JSON_OBJECT;
}

/* ---- one session ---- */

struct calls {
  struct rp__json id[CALLS_OPEN], name[CALLS_OPEN];
  size_t n;
  struct rp__json said; /* id of the message before */
};

static void call_opened(struct calls *c, struct rp__json id, struct rp__json name)
{
  if (c->n == CALLS_OPEN) { /* the oldest will hardly be answered any more */
    memmove(c->id, c->id + 1, (CALLS_OPEN - 1) * sizeof c->id[0]);
    memmove(c->name, c->name + 1, (CALLS_OPEN - 1) * sizeof c->name[0]);
    c->n--;
  }
  c->id[c->n] = id;
  c->name[c->n++] = name;
}

/* A result does not say whose it is: the newest open call of that tool, else the newest of all. */
static bool call_answered(struct calls *c, struct rp__json name, struct rp__json *ret_id, struct rp__json *ret_name)
{
  size_t at = c->n;
  for (size_t i = 0; i < c->n; i++)
    if (name.n && c->name[i].n == name.n && memcmp(c->name[i].p, name.p, name.n) == 0) at = i;
  if (at == c->n && c->n && !name.n) at = c->n - 1;
  if (at == c->n) return false;
  *ret_id = c->id[at];
  *ret_name = c->name[at];
  c->n--;
  memmove(c->id + at, c->id + at + 1, (c->n - at) * sizeof c->id[0]);
  memmove(c->name + at, c->name + at + 1, (c->n - at) * sizeof c->name[0]);
  return true;
}

static void write_name(struct rp__jw *w, struct rp__json name)
{
  if (name.type == RP_JSON_STRING)
    rp__copy_member(w, "name", name);
  else
    rp__jw_kstr(w, "name", "tool");
}

static int take_call(struct rp__take *t, struct rp__json m, struct calls *c, int64_t at)
{
  struct rp__json id = rp__json_get(m, "id"), name = rp__json_get(m, "toolName");
  struct rp__jw *w = rp__take_body(t);
  rp__copy_member(w, "call_id", id);
  write_name(w, name);
  rp__jw_kstr(w, "status", "running");
  rp__copy_member(w, "input", rp__json_get(m, "toolInput"));
  rp__copy_member(w, "text", rp__json_get(m, "content"));
  call_opened(c, id, name);
  return rp__take_event(t, at, "tool");
}

static int take_result(struct rp__take *t, struct rp__json m, struct calls *c, int64_t at)
{
  struct rp__json id = rp__json_get(m, "id"), call = id, name = rp__json_get(m, "toolName");
  bool known = call_answered(c, name, &call, &name);
  struct rp__jw *w = rp__take_body(t);
  rp__copy_member(w, "call_id", call);
  write_name(w, name);
  rp__jw_kstr(w, "status", "done");
  rp__copy_member(w, "output", rp__json_get(m, "content"));
  if (known) rp__copy_member(w, "message_id", id);
  return rp__take_event(t, at, "tool");
}

static bool same(struct rp__json a, struct rp__json b)
{
  return a.n && a.n == b.n && memcmp(a.p, b.p, a.n) == 0;
}

/* Two messages of one id would be read as the pieces of one: the second goes without. */
static int take_said(struct rp__take *t, struct rp__json m, struct calls *c, const char *role, bool error, int64_t at)
{
  struct rp__json id = rp__json_get(m, "id"), source = rp__json_get(m, "source");
  if (same(id, c->said)) id = (struct rp__json){0};
  c->said = rp__json_get(m, "id");
  struct rp__jw *w = rp__take_body(t);
  rp__jw_kstr(w, "role", role);
  rp__copy_member(w, "content", rp__json_get(m, "content"));
  if (id.type == RP_JSON_STRING && id.n > 2) rp__copy_member(w, "message_id", id);
  if (source.type == RP_JSON_STRING && source.n > 2) rp__copy_member(w, "source", source);
  if (error) rp__jw_kbool(w, "error", true);
  return rp__take_event(t, at, "message");
}

static int take_message(struct rp__take *t, struct rp__json m, struct calls *c)
{
  struct rp__json type = rp__json_get(m, "type");
  int64_t at = rp__when(rp__json_get(m, "timestamp"));
  if (rp__json_eq(type, "tool_call")) return take_call(t, m, c, at);
  if (rp__json_eq(type, "tool_result")) return take_result(t, m, c, at);
  if (rp__json_eq(type, "user")) return take_said(t, m, c, "user", false, at);
  if (rp__json_eq(type, "assistant")) return take_said(t, m, c, "assistant", false, at);
  return take_said(t, m, c, "system", rp__json_eq(type, "error"), at);
}

/* A call whose result nobody has: it can't be running any more. */
static int settle_calls(struct rp__take *t, const struct calls *c)
{
  int rc = 0;
  for (size_t i = 0; !rc && i < c->n; i++) {
    struct rp__jw *w = rp__take_body(t);
    rp__copy_member(w, "call_id", c->id[i]);
    write_name(w, c->name[i]);
    rp__jw_kstr(w, "status", "unknown");
    rc = rp__take_event(t, 0, "tool");
  }
  return rc;
}

static void copy_fields(struct rp__jw *w, const char *name, struct rp__json info, bool settings)
{
  rp__jw_key(w, name);
  rp__jw_object(w);
  for (const struct rp__clawd_field *f = rp__clawd_fields; f->name; f++)
    if (f->setting == settings) rp__copy_member(w, f->name, rp__json_get(info, f->name));
  rp__jw_end_object(w);
}

static int take_info(struct rp__take *t, struct rp__json info, int64_t at)
{
  struct rp__json cost = rp__json_get(info, "totalCostUsd"), name = rp__json_get(info, "name");
  struct rp__jw *w = rp__take_body(t);
  double usd = 0;
  if (name.type == RP_JSON_STRING) rp__copy_member(w, "name", name);
  copy_fields(w, "settings", info, true);
  copy_fields(w, "meta", info, false);
  int rc = rp__take_event(t, at, "session");
  if (rc || !rp__json_double(cost, &usd) || !(usd > 0)) return rc;
  rp__jw_kdouble(rp__take_body(t), "cost_usd", usd);
  return rp__take_event(t, at, "usage");
}

/* What only Clawd understands, for the way back. */
static int take_provider(struct rp__take *t, struct rp__json v, struct rp__json info)
{
  struct rp__json manager = RP_ANY(v, "managerState");
  if (manager.type == RP_JSON_NONE) manager = RP_ANY(info, "managerState");
  struct rp__jw *w = rp__take_body(t);
  rp__jw_kstr(w, "type", "clawd");
  rp__jw_key(w, "metadata");
  rp__jw_object(w);
  rp__copy_member(w, "containerId", rp__json_get(v, "containerId"));
  rp__copy_member(w, "managerState", manager);
  rp__copy_member(w, "status", rp__json_get(info, "status"));
  rp__jw_end_object(w);
  return rp__take_event(t, 0, "provider");
}

/*
 * An agent that still runs has had all of this and says `ready` but once in its life: it is awaited, as Clawd's own
 * restart awaits it, and gets nothing of it again.
 */
static int take_runtime(struct rp__take *t, const struct rp__foreign *f)
{
  struct rp__jw *w = rp__take_body(t);
  rp__jw_kstr(w, "status", f->crashed ? "error" : f->ended ? "terminated" : "reconnecting");
  if (!f->ended) rp__jw_ki64(w, "delivered", t->events + 1);
  return rp__take_own(t, 0, RP_KIND_RUNTIME);
}

static int take_all(struct rp__take *t, struct rp__json v, const struct rp__foreign *f)
{
  struct rp__json info = rp__json_get(v, "info"), item;
  struct rp__json_iter it = {0};
  struct calls calls = {.n = 0};
  struct rp__json messages = rp__json_get(v, "messages");
  int rc = take_info(t, info, f->created_at);
  if (messages.type != RP_JSON_ARRAY) rp__take_note(t, "its 'messages' are no list");
  for (int64_t n = 0; !rc && rp__json_next(messages, &it, NULL, &item); n++) {
    rp__take_at(t, "messages", n);
    rc = take_message(t, item, &calls);
  }
  if (!rc) rc = settle_calls(t, &calls);
  if (!rc) rc = take_provider(t, v, info);
  if (!rc) rc = take_runtime(t, f);
  return rc ? rc : rp__take_end(t);
}

static int64_t last_message_at(struct rp__json v)
{
  struct rp__json_iter it = {0};
  struct rp__json item;
  int64_t last = rp__when(rp__json_get(rp__json_get(v, "info"), "lastMessageAt"));
  while (rp__json_next(rp__json_get(v, "messages"), &it, NULL, &item))
    last = RP_MAX(last, rp__when(rp__json_get(item, "timestamp")));
  return last;
}

/* Names the place in the document. */
static int refuse_session(struct rp__take *t, const char *name, int64_t n, const char *what)
{
  char why[80], at[32];
  snprintf(at, sizeof at, "sessions[%lld]", (long long)n);
  snprintf(why, sizeof why, "%s%s", at, what);
  return t->to->failed(t->to->ctx, name[0] ? name : at, why);
}

static int take_session(struct rp__take *t, struct rp__json v, int64_t n)
{
  struct rp__json info = rp__json_get(v, "info"), status = rp__json_get(info, "status");
  struct rp__foreign f = {.provider = "clawd", .created_at = rp__when(rp__json_get(info, "createdAt"))};
  rp__title_of(rp__json_get(info, "name"), f.name, sizeof f.name);
  if (info.type != RP_JSON_OBJECT) return refuse_session(t, f.name, n, ".info is no object");
  if (rp__json_get(info, "id").type != RP_JSON_STRING) return refuse_session(t, f.name, n, ".info.id is no string");
  rp__id_of(rp__json_get(info, "id"), "clawd", f.id);
  f.last_activity_at = RP_MAX(last_message_at(v), f.created_at);
  f.crashed = rp__json_eq(status, "error");
  f.ended = f.crashed || rp__json_eq(status, "terminated");
  if (f.ended) f.ended_at = f.last_activity_at;
  int rc = rp__take_secret(t, RP_SECRET_SESSION, rp__json_get(v, "sessionToken"));
  if (!rc) rc = rp__take_secret(t, RP_SECRET_MANAGER, rp__json_get(v, "managerApiToken"));
  if (!rc) rc = rp__take_begin(t, &f);
  if (!rc) rc = take_all(t, v, &f);
  return rc == RP__TAKE_SKIP ? 0 : rc;
}

static int clawd_import(const struct rp__doc *d, const struct rp__taker *to, rp_error *err)
{
  struct rp__json sessions = rp__json_get(d->json, "sessions"), item;
  struct rp__json_iter it = {0};
  struct rp__take t RP_AUTOTAKE;
  int rc = 0;
  rp__take_init(&t, to, err);
  if (d->type != RP_DOC_JSON || sessions.type == RP_JSON_NONE) return rp__format_refuse(&rp__format_clawd, err);
  if (sessions.type != RP_JSON_ARRAY)
    return rp__fail_field(err, RP_E_FORMAT_CORRUPT, "sessions", "the store is damaged: its 'sessions' are no list");
  rc = rp__take_secret(&t, RP_SECRET_STORE, rp__json_get(d->json, "internalSecret"));
  for (int64_t n = 0; !rc && rp__json_next(sessions, &it, NULL, &item); n++) {
    if (n >= RP_FOREIGN_SESSIONS)
      return rp__fail(err, RP_E_TOO_LARGE, "the store has more than %d sessions", RP_FOREIGN_SESSIONS);
    rc = take_session(&t, item, n);
  }
  return rc;
}

const struct rp__format rp__format_clawd = {
    .name = "clawd",
    .extension = ".json",
    .what = "Clawd's session-store.json with a list of sessions, each with info and messages",
    .detect = clawd_detect,
    .import = clawd_import,
    .export = rp__clawd_export,
};
