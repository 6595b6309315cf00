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

static int check_version(struct rp__json doc, rp_error *err)
{
  struct rp__json v = RP_ANY(doc, "version", "Version");
  int64_t version = 0;
  if (v.type != RP_JSON_NONE && !rp__json_i64(v, &version)) return rp__format_refuse(&rp__format_orbitmesh, err);
  if (version <= ORBIT_VERSION) return 0; /* what older ones lacked is optional */
  return rp__fail(err, RP_E_FORMAT_VERSION, "the snapshot has version %lld, this program reads up to %d",
                  (long long)version, ORBIT_VERSION);
}

/* A block as Go's union writes it, {"Text":{"Text":"…"}}, becomes {"type":"text","text":"…"}; others stay. */
static void copy_block(struct rp__jw *w, struct rp__json v)
{
  struct rp__json text = rp__json_get(v, "Text");
  if (text.type == RP_JSON_OBJECT) text = RP_ANY(text, "Text", "text");
  if (text.type != RP_JSON_STRING) {
    rp__jw_value(w, v);
    return;
  }
  rp__jw_object(w);
  rp__jw_kstr(w, "type", "text");
  rp__copy_member(w, "text", text);
  rp__jw_end_object(w);
}

static void copy_content(struct rp__jw *w, struct rp__json v)
{
  struct rp__json_iter it = {0};
  struct rp__json item;
  if (v.type != RP_JSON_ARRAY) {
    rp__copy_member(w, "content", v);
    return;
  }
  rp__jw_key(w, "content");
  rp__jw_array(w);
  while (rp__json_next(v, &it, NULL, &item)) copy_block(w, item);
  rp__jw_end_array(w);
}

static int take_message(struct rp__take *t, struct rp__json v)
{
  static const char *const roles[] = {"user", "assistant", "system", "tool"};
  struct rp__json role = RP_ANY(v, "role", "Role");
  const char *known = "system";
  struct rp__jw *w = rp__take_body(t);
  for (size_t i = 0; i < RP_ARRAY_SIZE(roles); i++)
    if (rp__json_eq(role, roles[i])) known = roles[i];
  rp__jw_kstr(w, "role", known);
  copy_content(w, RP_ANY(v, "content", "Content"));
  return rp__take_event(t, rp__when(RP_ANY(v, "timestamp", "Timestamp")), "message");
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

struct snapshot {
  struct rp__json doc, inner; /* inner: provider_state, or the document itself */
  struct rp__json config, metrics, messages;
  int64_t updated;
};

static int take_provider(struct rp__take *t, const struct snapshot *s)
{
  struct rp__json task = RP_ANY(s->inner, "current_task", "CurrentTask");
  struct rp__json acp = RP_ANY(s->inner, "acp_session_id", "ACPSessionID", "AcpSessionID");
  struct rp__jw *w = rp__take_body(t);
  rp__copy_member(w, "type", RP_ANY(s->doc, "provider_type", "ProviderType"));
  if (s->config.type == RP_JSON_OBJECT) rp__copy_member(w, "config", s->config);
  if (acp.type == RP_JSON_STRING && acp.n > 2) rp__copy_member(w, "acp_session_id", acp);
  if (task.n > 2) rp__copy_member(w, "current_task", task);
  rp__copy_member(w, "metadata", RP_ANY(s->doc, "metadata", "Metadata"));
  return rp__take_event(t, s->updated, "provider");
}

static void copy_count(struct rp__jw *w, const char *name, struct rp__json v)
{
  int64_t n;
  if (rp__json_i64(v, &n) && n > 0) rp__jw_ki64(w, name, n);
}

static int take_usage(struct rp__take *t, struct rp__json m, int64_t at)
{
  if (m.type != RP_JSON_OBJECT) return 0;
  struct rp__jw *w = rp__take_body(t);
  copy_count(w, "tokens_in", RP_ANY(m, "TokensIn", "tokens_in"));
  copy_count(w, "tokens_out", RP_ANY(m, "TokensOut", "tokens_out"));
  copy_count(w, "requests", RP_ANY(m, "RequestCount", "request_count"));
  return t->body.n > 1 ? rp__take_event(t, at, "usage") : 0;
}

static int take_name(struct rp__take *t, const char *name, int64_t at)
{
  if (!name[0]) return 0;
  rp__jw_kstr(rp__take_body(t), "name", name);
  return rp__take_event(t, at, "session");
}

static int take_all(struct rp__take *t, const struct snapshot *s, const struct rp__foreign *f)
{
  struct rp__json_iter it = {0};
  struct rp__json item;
  int rc = take_name(t, f->name, f->created_at);
  while (!rc && rp__json_next(s->messages, &it, NULL, &item)) rc = take_message(t, item);
  if (!rc) rc = take_provider(t, s);
  if (!rc) rc = take_usage(t, s->metrics, s->updated);
  return rc ? rc : rp__take_end(t);
}

static int orbitmesh_import(const struct rp__doc *d, const struct rp__taker *to, rp_error *err)
{
  struct rp__take t RP_AUTOTAKE;
  struct rp__foreign f = {0};
  rp__take_init(&t, to, err);
  if (!orbitmesh_detect(d)) return rp__format_refuse(&rp__format_orbitmesh, err);
  int rc = check_version(d->json, err);
  if (rc) return rc;
  struct snapshot s = {.doc = d->json, .inner = RP_ANY(d->json, "provider_state", "ProviderState")};
  if (s.inner.type != RP_JSON_OBJECT) s.inner = d->json;
  s.config = RP_ANY(d->json, "config", "Config");
  s.metrics = RP_ANY(s.inner, "metrics", "Metrics");
  struct rp__json inner = RP_ANY(s.inner, "messages", "Messages");
  s.messages = RP_ANY(d->json, "messages", "Messages");
  if (s.messages.type != RP_JSON_ARRAY || (!any_message(s.messages) && any_message(inner))) s.messages = inner;
  s.updated = rp__when(RP_ANY(d->json, "updated_at", "UpdatedAt"));
  f.created_at = rp__when(RP_ANY(d->json, "created_at", "CreatedAt"));
  f.last_activity_at = RP_MAX(s.updated, rp__when(rp__json_get(s.metrics, "LastActivityAt")));
  if (!rp__name_of(rp__json_get(RP_ANY(d->json, "metadata", "Metadata"), "reprise_session_id"), f.id))
    rp__id_of(RP_ANY(d->json, "session_id", "SessionID"), "orbitmesh", f.id);
  rp__name_of(RP_ANY(d->json, "provider_type", "ProviderType"), f.provider);
  rp__title_of(RP_ANY(s.config, "Title", "TaskTitle"), f.name, sizeof f.name);
  rc = rp__take_begin(&t, &f);
  if (!rc) rc = take_all(&t, &s, &f);
  return rc == RP__TAKE_SKIP ? 0 : rc;
}

/* ---- writing ---- */

/* Their ids have no dots and colons; ours is kept in the metadata then. */
static bool their_id(const char *id, char out[ORBIT_ID_MAX + 1])
{
  size_t n = 0;
  for (; n < ORBIT_ID_MAX && id[n]; n++) out[n] = id[n] == '.' || id[n] == ':' ? '_' : id[n];
  out[n] = '\0';
  return strcmp(id, out) == 0;
}

static int write_messages(struct rp__jw *w, const struct rp__fold *state)
{
  struct rp__talk_turn turn RP_CLEANUP(rp__turn_done) = RP_TURN;
  size_t at = 0;
  rp__jw_key(w, "messages");
  rp__jw_array(w);
  while (!turn.text.err && rp__talk_next(state, &at, &turn)) {
    rp__jw_object(w);
    rp__jw_kstr(w, "role", turn.role);
    rp__jw_key(w, "content");
    rp__jw_strn(w, turn.text.p, turn.text.n);
    rp__jw_ktime(w, "timestamp", turn.at_ms);
    rp__jw_end_object(w);
  }
  rp__jw_end_array(w);
  return turn.text.err;
}

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
    rp__jw_object(b->w);
    rp__jw_kstr(b->w, "type", "text");
    rp__jw_key(b->w, "text");
    rp__jw_strn(b->w, b->text.p ? b->text.p : "", b->text.n);
    rp__jw_end_object(b->w);
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

static bool is_plain(struct rp__json block)
{
  return rp__json_eq(rp__json_get(block, "type"), "text") && rp__json_count(block) == 2 &&
         rp__json_get(block, "text").type == RP_JSON_STRING;
}

static void put_content(struct blocks *b, struct rp__json content, bool on)
{
  struct rp__json_iter it = {0};
  struct rp__json item;
  if (content.type == RP_JSON_STRING) put_text(b, content, on);
  while (content.type == RP_JSON_ARRAY && rp__json_next(content, &it, NULL, &item)) {
    if (is_plain(item)) {
      put_text(b, rp__json_get(item, "text"), on);
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
  rp__jw_key(w, "messages");
  rp__jw_array(w);
  for (size_t at = 0; at < rp__conversation_count(state) && !b.err; at++) {
    const struct rp__message *m = rp__conversation_at(state, at);
    size_t first = at;
    b.any = false;
    rp__text_of(rp__message_part(m, RP_MSG_ROLE), role, sizeof role);
    rp__jw_object(w);
    rp__jw_kstr(w, "role", role);
    rp__jw_key(w, "content");
    rp__jw_array(w);
    put_content(&b, rp__message_part(m, RP_MSG_CONTENT), false);
    for (; rp__talk_goes_on(state, first, at); at++)
      put_content(&b, rp__message_part(rp__conversation_at(state, at + 1), RP_MSG_CONTENT), true);
    end_text(&b);
    rp__jw_end_array(w);
    rp__jw_ktime(w, "timestamp", m->at_ms);
    rp__jw_end_object(w);
  }
  rp__jw_end_array(w);
  rp__buf_done(&b.text);
  return b.err;
}

static void write_metrics(struct rp__jw *w, const struct rp__giver *g)
{
  const struct rp__usage *u = rp__usage(g->state);
  rp__jw_key(w, "metrics");
  rp__jw_object(w);
  rp__jw_ki64(w, "TokensIn", u->tokens_in);
  rp__jw_ki64(w, "TokensOut", u->tokens_out);
  rp__jw_ki64(w, "RequestCount", u->requests);
  rp__jw_ktime(w, "LastActivityAt", g->session.last_activity_at);
  rp__jw_end_object(w);
}

static void write_or(struct rp__jw *w, const char *name, struct rp__json v, enum rp__json_type type, const char *other)
{
  rp__jw_key(w, name);
  if (v.type == type)
    rp__jw_value(w, v);
  else
    rp__jw_raw(w, other, strlen(other));
}

static void write_metadata(struct rp__jw *w, struct rp__json metadata, const char *id)
{
  struct rp__json_iter it = {0};
  struct rp__json key, item;
  char name[RP_EVENT_ID_MAX + 1];
  rp__jw_key(w, "metadata");
  rp__jw_object(w);
  while (metadata.type == RP_JSON_OBJECT && rp__json_next(metadata, &it, &key, &item)) {
    rp__text_of(key, name, sizeof name);
    if (strcmp(name, "reprise_session_id") == 0 || !rp__json_eq(key, name)) continue;
    rp__jw_key(w, name);
    rp__jw_value(w, item);
  }
  if (id) rp__jw_kstr(w, "reprise_session_id", id);
  rp__jw_end_object(w);
}

static int write_document(const struct rp__giver *g, struct rp__jw *w)
{
  struct rp__json provider = rp__provider(g->state);
  char theirs[ORBIT_ID_MAX + 1];
  bool same = their_id(g->session.id, theirs);
  rp__jw_object(w);
  rp__jw_kstr(w, "session_id", theirs);
  write_or(w, "provider_type", rp__json_get(provider, "type"), RP_JSON_STRING, "\"acp\"");
  rp__jw_ktime(w, "created_at", g->session.created_at);
  rp__jw_ktime(w, "updated_at", g->session.last_activity_at);
  rp__jw_ki64(w, "version", ORBIT_VERSION);
  write_or(w, "config", rp__json_get(provider, "config"), RP_JSON_OBJECT, "{}");
  rp__jw_key(w, "provider_state");
  rp__jw_object(w);
  write_or(w, "acp_session_id", rp__json_get(provider, "acp_session_id"), RP_JSON_STRING, "\"\"");
  int rc = write_messages(w, g->state);
  write_or(w, "current_task", rp__json_get(provider, "current_task"), RP_JSON_STRING, "\"\"");
  write_metrics(w, g);
  rp__jw_end_object(w);
  if (!rc) rc = write_blocks(w, g->state);
  write_metadata(w, rp__json_get(provider, "metadata"), same ? NULL : g->session.id);
  rp__jw_end_object(w);
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
