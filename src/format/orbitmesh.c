/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OrbitMesh's snapshot of a session, <id>.json.gz. Two forms are read. In the real form the agent's state is in
 * provider_state and contents are strings. In the form of OrbitMesh's plan everything is at the top and contents are
 * blocks. An export writes the messages in both forms: OrbitMesh reads the strings and ignores members that it does not
 * know; an import reads the blocks, which lose nothing.
 *
 * Go writes fields without tags under their own names (TokensIn), so each name has two spellings.
 */
#include "base/clock.h"
#include "facets/provider.h"
#include "facets/usage.h"
#include "format/give.h"
#include "format/take.h"

#define ORBIT_VERSION 1
#define ORBIT_ID_MAX 64

/* ---- reading ---- */

static bool orbitmesh_detect(const struct rp__doc *d)
{
  if (d->type != RP_DOC_JSON || RP_ANY(d->json, "session_id", "SessionID").type != RP_JSON_STRING) return false;
  return RP_ANY(d->json, "provider_type", "ProviderType").type == RP_JSON_STRING;
}

/* Whether anything in the list can be taken. */
static bool any_message(struct rp__json list)
{
  struct rp__json_iter it = {0};
  struct rp__json item;
  while (list.type == RP_JSON_ARRAY && rp__json_next(list, &it, NULL, &item)) {
    struct rp__json content = RP_ANY(item, "content", "Content");
    if (content.type == RP_JSON_STRING || content.type == RP_JSON_ARRAY) return true;
  }
  return false;
}

static int take_message(struct rp__take *t, struct rp__json v)
{
  static const char *const roles[] = {"user", "assistant", "system", "tool"};
  struct rp__json role = RP_ANY(v, "role", "Role"), content = RP_ANY(v, "content", "Content"), item;
  struct rp__json_iter it = {0};
  const char *known = "system";
  struct rp__jw *w = rp__take_body(t);
  for (size_t i = 0; i < RP_ARRAY_SIZE(roles); i++)
    if (rp__json_eq(role, roles[i])) known = roles[i];
  rp__jw_kstr(w, "role", known);
  if (content.type == RP_JSON_ARRAY) {
    rp__jw_karray(w, "content");
    while (rp__json_next(content, &it, NULL, &item)) {
      /* A block as Go's union writes it, {"Text":{"Text":"…"}}, becomes {"type":"text","text":"…"}; others stay. */
      struct rp__json text = rp__json_get(item, "Text");
      if (text.type == RP_JSON_OBJECT) text = RP_ANY(text, "Text", "text");
      if (text.type == RP_JSON_STRING)
        rp__jw_pack(w, "{type:s text:v}", "text", text);
      else
        rp__jw_value(w, item);
    }
    rp__jw_end_array(w);
  } else {
    rp__copy_member(w, "content", content);
  }
  return rp__take_event(t, rp__when(RP_ANY(v, "timestamp", "Timestamp")), "message");
}

static void copy_count(struct rp__jw *w, const char *name, struct rp__json v)
{
  int64_t n;
  if (rp__json_i64(v, &n) && n > 0) rp__jw_ki64(w, name, n);
}

/* `inner`: provider_state, or the document itself. */
static int take_all(struct rp__take *t, struct rp__json doc, struct rp__json inner, const struct rp__foreign *f)
{
  struct rp__json task = RP_ANY(inner, "current_task", "CurrentTask"), config = RP_ANY(doc, "config", "Config"), item;
  struct rp__json acp = RP_ANY(inner, "acp_session_id", "ACPSessionID", "AcpSessionID");
  struct rp__json messages = RP_ANY(doc, "messages", "Messages"), others = RP_ANY(inner, "messages", "Messages");
  struct rp__json metrics = RP_ANY(inner, "metrics", "Metrics");
  int64_t updated = rp__when(RP_ANY(doc, "updated_at", "UpdatedAt"));
  struct rp__json_iter it = {0};
  int rc = 0;
  if (f->name[0]) {
    rp__jw_kstr(rp__take_body(t), "name", f->name);
    rc = rp__take_event(t, f->created_at, "session");
  }
  if (messages.type != RP_JSON_ARRAY || (!any_message(messages) && any_message(others))) messages = others;
  while (!rc && rp__json_next(messages, &it, NULL, &item)) rc = take_message(t, item);
  if (rc) return rc;
  struct rp__jw *w = rp__take_body(t);
  rp__copy_member(w, "type", RP_ANY(doc, "provider_type", "ProviderType"));
  if (config.type == RP_JSON_OBJECT) rp__copy_member(w, "config", config);
  if (acp.type == RP_JSON_STRING && acp.n > 2) rp__copy_member(w, "acp_session_id", acp);
  if (task.n > 2) rp__copy_member(w, "current_task", task);
  rp__copy_member(w, "metadata", RP_ANY(doc, "metadata", "Metadata"));
  rc = rp__take_event(t, updated, "provider");
  if (!rc && metrics.type == RP_JSON_OBJECT) {
    w = rp__take_body(t);
    copy_count(w, "tokens_in", RP_ANY(metrics, "TokensIn", "tokens_in"));
    copy_count(w, "tokens_out", RP_ANY(metrics, "TokensOut", "tokens_out"));
    copy_count(w, "requests", RP_ANY(metrics, "RequestCount", "request_count"));
    if (t->body.n > 1) rc = rp__take_event(t, updated, "usage");
  }
  return rc ? rc : rp__take_end(t);
}

static int orbitmesh_import(const struct rp__doc *d, const struct rp__taker *to, rp_error *err)
{
  struct rp__take t RP_AUTOTAKE;
  struct rp__foreign f = {0};
  rp__take_init(&t, to, err);
  if (!orbitmesh_detect(d)) return rp__format_refuse(&rp__format_orbitmesh, err);
  struct rp__json number = RP_ANY(d->json, "version", "Version");
  struct rp__json inner = RP_ANY(d->json, "provider_state", "ProviderState");
  int64_t version = 0;
  if (number.type != RP_JSON_NONE && !rp__json_i64(number, &version))
    return rp__format_refuse(&rp__format_orbitmesh, err);
  if (version > ORBIT_VERSION) /* what older ones lacked is optional */
    return rp__fail(err, RP_E_FORMAT_VERSION, "the snapshot has version %lld, this program reads up to %d",
                    (long long)version, ORBIT_VERSION);
  if (inner.type != RP_JSON_OBJECT) inner = d->json;
  f.created_at = rp__when(RP_ANY(d->json, "created_at", "CreatedAt"));
  f.last_activity_at = RP_MAX(rp__when(RP_ANY(d->json, "updated_at", "UpdatedAt")),
                              rp__when(rp__json_get(RP_ANY(inner, "metrics", "Metrics"), "LastActivityAt")));
  if (!rp__name_of(rp__json_get(RP_ANY(d->json, "metadata", "Metadata"), "reprise_session_id"), f.id))
    rp__id_of(RP_ANY(d->json, "session_id", "SessionID"), "orbitmesh", f.id);
  rp__name_of(RP_ANY(d->json, "provider_type", "ProviderType"), f.provider);
  rp__title_of(RP_ANY(RP_ANY(d->json, "config", "Config"), "Title", "TaskTitle"), f.name, sizeof f.name);
  int rc = rp__take_begin(&t, &f);
  if (!rc) rc = take_all(&t, d->json, inner, &f);
  return rc == RP__TAKE_SKIP ? 0 : rc;
}

/* ---- writing ---- */

/* The blocks of one message, of which chunks are joined. */
struct blocks {
  struct rp__jw *w;
  struct rp__buf text; /* that may go on */
  bool open, any;
  int err;
};

static void end_text(struct blocks *b)
{
  if (b->open && (b->text.n || !b->any)) {
    rp__jw_pack(b->w, "{type:s text:n}", "text", b->text.p ? b->text.p : "", b->text.n);
    b->any = true;
  }
  b->open = false;
  if (b->text.err) b->err = b->text.err;
  rp__buf_reset(&b->text);
}

/* `on`: it is the first of a chunk that goes on with what was said before. */
static void put_text(struct blocks *b, struct rp__json text, bool on)
{
  if (!on) end_text(b);
  rp__json_text(text, &b->text);
  b->open = true;
}

static void put_content(struct blocks *b, struct rp__json content, bool on)
{
  struct rp__json_iter it = {0};
  struct rp__json item;
  if (content.type == RP_JSON_STRING) put_text(b, content, on);
  while (content.type == RP_JSON_ARRAY && rp__json_next(content, &it, NULL, &item)) {
    struct rp__json text = rp__json_get(item, "text");
    bool plain = rp__json_eq(rp__json_get(item, "type"), "text") && rp__json_count(item) == 2;
    if (plain && text.type == RP_JSON_STRING) {
      put_text(b, text, on);
    } else {
      end_text(b);
      rp__jw_value(b->w, item);
      b->any = true;
    }
    on = false;
  }
}

static int write_blocks(struct rp__jw *w, const struct rp__fold *state)
{
  struct blocks b = {.w = w, .text = RP_BUF(RP_FOREIGN_MAX)};
  char role[16];
  rp__jw_karray(w, "messages");
  for (size_t at = 0; at < rp__conversation_count(state) && !b.err; at++) {
    const struct rp__message *m = rp__conversation_at(state, at);
    size_t first = at;
    b.any = false;
    rp__text_of(rp__message_part(m, RP_MSG_ROLE), role, sizeof role);
    rp__jw_pack(w, "{role:s content:[", role);
    put_content(&b, rp__message_part(m, RP_MSG_CONTENT), false);
    for (; rp__talk_goes_on(state, first, at); at++)
      put_content(&b, rp__message_part(rp__conversation_at(state, at + 1), RP_MSG_CONTENT), true);
    end_text(&b);
    rp__jw_pack(w, "] timestamp:t}", m->at_ms);
  }
  rp__jw_end_array(w);
  rp__buf_done(&b.text);
  return b.err;
}

static void write_or(struct rp__jw *w, const char *name, struct rp__json v, enum rp__json_type type, const char *other)
{
  rp__jw_key(w, name);
  if (v.type == type)
    rp__jw_value(w, v);
  else
    rp__jw_raw(w, other, strlen(other));
}

static int write_document(const struct rp__giver *g, struct rp__jw *w)
{
  struct rp__talk_turn turn RP_CLEANUP(rp__turn_done) = RP_TURN;
  struct rp__json provider = rp__provider(g->state), metadata = rp__json_get(provider, "metadata"), key, item;
  const struct rp__usage *u = rp__usage(g->state);
  char theirs[ORBIT_ID_MAX + 1], name[RP_EVENT_ID_MAX + 1];
  struct rp__json_iter it = {0};
  size_t n = 0, at = 0;
  /* Their ids have no dots and colons; ours is kept in the metadata then. */
  for (const char *id = g->session.id; n < ORBIT_ID_MAX && id[n]; n++)
    theirs[n] = id[n] == '.' || id[n] == ':' ? '_' : id[n];
  theirs[n] = '\0';
  rp__jw_pack(w, "{session_id:s", theirs);
  write_or(w, "provider_type", rp__json_get(provider, "type"), RP_JSON_STRING, "\"acp\"");
  rp__jw_pack(w, "created_at:t updated_at:t version:i", g->session.created_at, g->session.last_activity_at,
              (int64_t)ORBIT_VERSION);
  write_or(w, "config", rp__json_get(provider, "config"), RP_JSON_OBJECT, "{}");
  rp__jw_kobject(w, "provider_state");
  write_or(w, "acp_session_id", rp__json_get(provider, "acp_session_id"), RP_JSON_STRING, "\"\"");
  rp__jw_karray(w, "messages");
  while (!turn.text.err && rp__talk_next(g->state, &at, &turn))
    rp__jw_pack(w, "{role:s content:n timestamp:t}", turn.role, turn.text.p, turn.text.n, turn.at_ms);
  rp__jw_end_array(w);
  write_or(w, "current_task", rp__json_get(provider, "current_task"), RP_JSON_STRING, "\"\"");
  rp__jw_pack(w, "metrics:{TokensIn:i TokensOut:i RequestCount:i LastActivityAt:t}}", u->tokens_in, u->tokens_out,
              u->requests, g->session.last_activity_at);
  int rc = turn.text.err ? turn.text.err : write_blocks(w, g->state);
  rp__jw_kobject(w, "metadata");
  while (metadata.type == RP_JSON_OBJECT && rp__json_next(metadata, &it, &key, &item)) {
    rp__text_of(key, name, sizeof name);
    if (strcmp(name, "reprise_session_id") == 0 || !rp__json_eq(key, name)) continue;
    rp__jw_kvalue(w, name, item);
  }
  if (strcmp(g->session.id, theirs) != 0) rp__jw_kstr(w, "reprise_session_id", g->session.id);
  rp__jw_pack(w, "}}");
  return rc;
}

static int orbitmesh_export(const struct rp__giver *g, rp_error *err)
{
  struct rp__buf compact RP_AUTOBUF = RP_BUF(RP_FOREIGN_MAX), out RP_AUTOBUF = RP_BUF(2 * RP_FOREIGN_MAX);
  struct rp__jw w = RP_JW(&compact);
  int rc = write_document(g, &w);
  if (!rc) rc = compact.err;
  if (rc == RP_E_TOO_LARGE) return rp__fail(err, rc, "the session is too large for a snapshot");
  if (rc) return rp__fail_nomem(err);
  rc = rp__gzip(compact.p, compact.n, &out, err);
  return rc ? rc : rp__give(g, &out, err);
}

const struct rp__format rp__format_orbitmesh = {
    .name = "orbitmesh",
    .extension = ".json.gz",
    .what = "a snapshot of OrbitMesh (JSON, gzip or plain) with session_id, provider_type and version",
    .detect = orbitmesh_detect,
    .import = orbitmesh_import,
    .export = orbitmesh_export,
};
