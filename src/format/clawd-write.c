/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes sessions as a session store of Clawd (C-11): the newest 500 messages of each journal, by type, and the tokens
 * that open the sessions. A session whose token is unknown gets a random one. An empty token would open the session to
 * anybody who sends none.
 */
#include "base/text.h"
#include "core/runtime.h"
#include "core/seal.h"
#include "format/clawd.h"
#include "facets/provider.h"
#include "facets/settings.h"
#include "facets/usage.h"
#include "format/give.h"
#include "format/take.h"

#define TOKEN_BYTES 32
#define URL_MAX 400
#define INDENT "    " /* of a session in the list */

/* A message that is written. */
struct said {
  struct rp__buf json;
  uint64_t id; /* a hash of its id */
};

struct ring {
  struct said item[RP_CLAWD_MESSAGES];
  size_t first, count;
};

struct writer {
  const struct rp__giver *g;
  char id[RP_ID_MAX + 1];
  struct ring ring;
  struct rp__buf last; /* body of the last message, to see whether the next one continues it */
  struct rp__buf text; /* of the turn that may still grow, or of what is being written */
  char type[16];       /* of that turn; empty: none */
  int64_t at, seq;
  int64_t last_at;
  char preview[RP_CLAWD_PREVIEW * 3 + 8];
  int rc;
};

static uint64_t id_hash(struct rp__json id)
{
  return rp__checksum(id.n ? id.p : "", id.n, 0x6d7367);
}

static struct said *ring_find(struct ring *r, uint64_t id)
{
  for (size_t i = 0; i < r->count; i++) {
    struct said *m = &r->item[(r->first + i) % RP_CLAWD_MESSAGES];
    if (m->id == id) return m;
  }
  return NULL;
}

static struct said *ring_next(struct ring *r)
{
  if (r->count == RP_CLAWD_MESSAGES) {
    r->first = (r->first + 1) % RP_CLAWD_MESSAGES;
    r->count--;
  }
  return &r->item[(r->first + r->count++) % RP_CLAWD_MESSAGES];
}

/* "100 characters...", as Clawd cuts it: by UTF-16's units, of which a character beyond the first plane has two. */
static void preview_of(struct writer *x, const char *text, size_t n)
{
  size_t at = 0, cut = 0, units = 0;
  while (at < n && units <= RP_CLAWD_PREVIEW) {
    unsigned char c = (unsigned char)text[at];
    size_t bytes = c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
    units += bytes == 4 ? 2 : 1;
    at = RP_MIN(at + bytes, n);
    if (units <= RP_CLAWD_PREVIEW) cut = at;
  }
  snprintf(x->preview, sizeof x->preview, "%.*s%s", (int)cut, text, units > RP_CLAWD_PREVIEW ? "..." : "");
}

/* The message of `type` with the content in x->text; `event` may give it a tool's name and input, and a source. */
static void put_message(struct writer *x, struct said *m, struct rp__json id, const char *type, struct rp__json event)
{
  char made[64];
  struct rp__json name = rp__json_get(event, "name"), source = rp__json_get(event, "source");
  rp__buf_done(&m->json);
  m->json = RP_BUF(RP_FOREIGN_MAX);
  struct rp__jw w = RP_JW(&m->json);
  rp__jw_object(&w);
  snprintf(made, sizeof made, "\"%s-%lld\"", type, (long long)x->seq);
  if (id.type != RP_JSON_STRING) id = (struct rp__json){made, strlen(made), RP_JSON_STRING};
  m->id = id_hash(id);
  rp__copy_member(&w, "id", id);
  rp__jw_kstr(&w, "sessionId", x->id);
  rp__jw_kstr(&w, "type", type);
  rp__jw_key(&w, "content");
  rp__jw_strn(&w, x->text.n ? x->text.p : "", x->text.n);
  if (strncmp(type, "tool_", 5) == 0) rp__copy_member(&w, "toolName", name);
  if (strcmp(type, "tool_call") == 0) rp__copy_member(&w, "toolInput", rp__json_get(event, "input"));
  rp__jw_ktime(&w, "timestamp", x->at);
  if (rp__json_eq(source, "child_event") || rp__json_eq(source, "auto_continue")) rp__copy_member(&w, "source", source);
  rp__jw_end_object(&w);
  preview_of(x, x->text.n ? x->text.p : "", x->text.n);
  x->last_at = x->at;
  if (m->json.err || x->text.err || x->last.err) x->rc = RP_E_NOMEM;
}

/* A new message; an id that another one has is not given twice. */
static void add_message(struct writer *x, struct rp__json id, const char *type, struct rp__json event)
{
  bool taken = id.type == RP_JSON_STRING && ring_find(&x->ring, id_hash(id));
  put_message(x, ring_next(&x->ring), taken ? (struct rp__json){0} : id, type, event);
}

/* Writes down the turn that has been growing. */
static void flush_turn(struct writer *x)
{
  if (!x->type[0]) return;
  struct rp__json body = rp__json_trusted(x->last.p, x->last.n);
  add_message(x, rp__json_get(body, "message_id"), x->type, body);
  x->type[0] = '\0';
}

static void write_said(struct writer *x, const struct rp__event *ev)
{
  bool more = x->type[0] && rp__same_message(rp__json_trusted(x->last.p, x->last.n), ev->body);
  struct rp__json role = rp__json_get(ev->body, "role");
  if (!more) {
    flush_turn(x);
    rp__buf_reset(&x->text);
    x->at = ev->at_ms;
    x->seq = ev->seq;
    rp__text_of(role, x->type, sizeof x->type);
    if (rp__json_get(ev->body, "error").type == RP_JSON_TRUE) snprintf(x->type, sizeof x->type, "error");
    if (rp__json_eq(role, "tool")) snprintf(x->type, sizeof x->type, "tool_result");
  }
  rp__buf_reset(&x->last);
  rp__buf_add(&x->last, ev->body.p, ev->body.n);
  rp__content_text(rp__json_get(ev->body, "content"), &x->text);
}

/* A string decoded, anything else as its JSON; what was put in laid out, as Clawd shows it. */
static void tool_text(struct writer *x, struct rp__json text, struct rp__json input)
{
  rp__buf_reset(&x->text);
  if (text.type == RP_JSON_STRING)
    rp__json_text(text, &x->text);
  else if (text.type != RP_JSON_NONE && text.type != RP_JSON_NULL)
    rp__buf_add(&x->text, text.p, text.n);
  else if (input.type != RP_JSON_NONE && input.type != RP_JSON_NULL)
    rp__json_pretty(input, false, &x->text);
}

/* One message for a call, however often it is told of before its outcome, and one for that. */
static void write_tool(struct writer *x, const struct rp__event *ev)
{
  struct rp__json status = rp__json_get(ev->body, "status"), call = rp__json_get(ev->body, "call_id");
  struct rp__json input = rp__json_get(ev->body, "input"), none = {0};
  bool result = rp__json_eq(status, "done") || rp__json_eq(status, "failed");
  if (rp__json_eq(status, "unknown")) return;
  flush_turn(x);
  x->seq = ev->seq;
  x->at = ev->at_ms;
  tool_text(x, rp__json_get(ev->body, result ? "output" : "text"), result ? none : input);
  struct said *known = result ? NULL : ring_find(&x->ring, id_hash(call));
  if (result)
    add_message(x, rp__json_get(ev->body, "message_id"), "tool_result", ev->body);
  else if (!known)
    add_message(x, call, "tool_call", ev->body);
  else if (input.type != RP_JSON_NONE)
    put_message(x, known, call, "tool_call", ev->body);
}

static int on_event(void *ctx, const struct rp__event *ev)
{
  struct writer *x = ctx;
  if (ev->kind == RP_KIND_MESSAGE) write_said(x, ev);
  if (ev->kind == RP_KIND_TOOL) write_tool(x, ev);
  return x->rc;
}

/* ---- the document ---- */

static void write_token(const struct rp__giver *g, struct rp__jw *w, const char *name, const char *given)
{
  unsigned char bytes[TOKEN_BYTES];
  char hex[2 * TOKEN_BYTES + 1];
  g->random->fill(g->random->ctx, bytes, sizeof bytes);
  for (size_t i = 0; i < sizeof bytes; i++) snprintf(hex + 2 * i, 3, "%02x", bytes[i]);
  rp__jw_kstr(w, name, given && given[0] ? given : hex);
}

/* Clawd clones from https://github.com/OWNER/REPO alone: other spellings of such a place become that one. */
static void write_url(struct rp__jw *w, struct rp__json v)
{
  static const char host[] = "github.com";
  char url[URL_MAX];
  rp__text_of(v, url, sizeof url);
  const char *at = strstr(url, "://"), *user;
  at = at ? at + 3 : url;
  if ((user = strchr(at, '@')) && user < at + strcspn(at, "/")) at = user + 1;
  bool there = strncmp(at, host, sizeof host - 1) == 0 && (at[sizeof host - 1] == '/' || at[sizeof host - 1] == ':');
  if (there && at != url) {
    struct rp__buf out RP_AUTOBUF = RP_BUF(2 * URL_MAX);
    rp__buf_printf(&out, "https://%s/%s", host, at + sizeof host);
    rp__jw_str(w, out.err ? url : out.p);
  } else {
    rp__jw_value(w, v);
  }
}

static void write_field(const struct writer *x, struct rp__jw *w, const char *name)
{
  const struct rp__clawd_field *f = rp__clawd_field(name);
  struct rp__json v = rp__setting(x->g->state, name);
  if (!rp__clawd_fits(f, v)) v = rp__json_get(x->g->meta, name);
  bool fits = rp__clawd_fits(f, v);
  if (!fits && !f->fallback) return;
  rp__jw_key(w, name);
  if (!fits)
    rp__jw_raw(w, f->fallback, strlen(f->fallback));
  else if (strcmp(name, "repoUrl") == 0)
    write_url(w, v);
  else
    rp__jw_value(w, v);
}

/* In Clawd's words: those of the agent where there was one. Neither program brings `error` and `terminated` back. */
static void write_status(const struct writer *x, struct rp__jw *w)
{
  enum rp__runtime now = rp__runtime_status(x->g->state);
  bool over = now == RP_RUNTIME_ERROR || now == RP_RUNTIME_TERMINATED;
  if (!over && x->g->session.ended_at) now = x->g->session.crash_recovered ? RP_RUNTIME_ERROR : RP_RUNTIME_TERMINATED;
  rp__jw_kstr(w, "status", rp__runtime_name(now == RP_RUNTIME_NONE ? RP_RUNTIME_IDLE : now));
}

static void write_info(const struct writer *x, struct rp__jw *w)
{
  const struct rp__fold *state = x->g->state;
  struct rp__json name = rp__settings_name(state);
  double usd = 0;
  rp__jw_key(w, "info");
  rp__jw_object(w);
  rp__jw_kstr(w, "id", x->id);
  if (name.type == RP_JSON_STRING)
    rp__copy_member(w, "name", name);
  else
    rp__jw_kstr(w, "name", x->id);
  write_field(x, w, "repoUrl");
  write_field(x, w, "branch");
  write_field(x, w, "dockerAccess");
  write_status(x, w);
  rp__jw_ktime(w, "createdAt", x->g->session.created_at);
  write_field(x, w, "createdBy");
  rp__jw_ktime(w, "lastMessageAt", x->last_at);
  rp__jw_kstr(w, "lastMessagePreview", x->last_at ? x->preview : NULL);
  if (!rp__json_double(rp__setting(state, "totalCostUsd"), &usd)) usd = rp__usage(state)->cost_usd;
  rp__jw_kdouble(w, "totalCostUsd", usd);
  write_field(x, w, "permissionMode");
  write_field(x, w, "model");
  write_field(x, w, "notificationsEnabled");
  write_field(x, w, "contextUsage");
  write_field(x, w, "isManager");
  rp__copy_member(w, "managerState", rp__json_get(rp__json_get(rp__provider(state), "metadata"), "managerState"));
  write_field(x, w, "managedBy");
  rp__jw_end_object(w);
}

static void write_messages(struct writer *x, struct rp__jw *w)
{
  rp__jw_key(w, "messages");
  rp__jw_array(w);
  for (size_t i = 0; i < x->ring.count; i++) {
    const struct rp__buf *b = &x->ring.item[(x->ring.first + i) % RP_CLAWD_MESSAGES].json;
    rp__jw_raw(w, b->p, b->n);
  }
  rp__jw_end_array(w);
}

static void write_session(struct writer *x, const struct rp__clawd_tokens *t, struct rp__jw *w)
{
  struct rp__json kept = rp__json_get(rp__provider(x->g->state), "metadata");
  rp__jw_object(w);
  write_info(x, w);
  write_messages(x, w);
  write_token(x->g, w, "sessionToken", t ? t->session : NULL);
  rp__jw_key(w, "containerId");
  rp__jw_value(w, rp__json_get(kept, "containerId"));
  rp__jw_kstr(w, "managerApiToken", t && t->manager && t->manager[0] ? t->manager : NULL);
  rp__jw_key(w, "managerState");
  rp__jw_value(w, rp__json_get(kept, "managerState"));
  rp__jw_end_object(w);
}

/* Laid out, and moved in to where it stands in the list. No string of JSON has a line's end in it. */
static int give_session(const struct rp__giver *g, const struct rp__buf *compact, bool first, rp_error *err)
{
  struct rp__buf laid RP_AUTOBUF = RP_BUF(2 * RP_FOREIGN_MAX), out RP_AUTOBUF = RP_BUF(4 * RP_FOREIGN_MAX);
  if (compact->err == RP_E_TOO_LARGE) return rp__fail(err, RP_E_TOO_LARGE, "a session is over %zu bytes", compact->max);
  if (compact->err) return rp__fail_nomem(err);
  rp__json_pretty(rp__json_trusted(compact->p, compact->n), false, &laid);
  rp__buf_str(&out, first ? "\n" INDENT : ",\n" INDENT);
  for (size_t at = 0; at < laid.n;) {
    const char *line = laid.p + at, *end = memchr(line, '\n', laid.n - at);
    size_t n = end ? (size_t)(end - line) + 1 : laid.n - at;
    rp__buf_add(&out, line, n);
    if (end) rp__buf_str(&out, INDENT);
    at += n;
  }
  if (laid.err && !out.err) out.err = laid.err;
  return rp__give(g, &out, err);
}

static void writer_free(struct writer *x)
{
  for (size_t i = 0; i < RP_CLAWD_MESSAGES; i++) rp__buf_done(&x->ring.item[i].json);
  rp__buf_done(&x->last);
  rp__buf_done(&x->text);
  free(x);
}

int rp__clawd_begin(const struct rp__giver *g, rp_error *err)
{
  struct rp__buf out RP_AUTOBUF = RP_BUF(64);
  rp__buf_str(&out, "{\n  \"sessions\": [");
  return rp__give(g, &out, err);
}

int rp__clawd_session(const struct rp__giver *g, const struct rp__clawd_tokens *t, bool first, rp_error *err)
{
  struct rp__buf compact RP_AUTOBUF = RP_BUF(RP_FOREIGN_MAX);
  struct rp__jw w = RP_JW(&compact);
  struct writer *x = calloc(1, sizeof *x);
  if (!x) return rp__fail_nomem(err);
  x->g = g;
  x->last = x->text = RP_BUF(RP_FOREIGN_MAX);
  rp__text_copy(x->id, sizeof x->id, g->session.id);
  int rc = rp__give_events(g, on_event, x, err);
  if (!rc) flush_turn(x);
  if (x->rc) rc = rp__fail_nomem(err);
  if (!rc) write_session(x, t, &w);
  writer_free(x);
  return rc ? rc : give_session(g, &compact, first, err);
}

int rp__clawd_end(const struct rp__giver *g, const char *secret, bool any, rp_error *err)
{
  struct rp__buf part RP_AUTOBUF = RP_BUF(8192), out RP_AUTOBUF = RP_BUF(16384);
  struct rp__jw w = RP_JW(&part);
  rp__jw_object(&w);
  write_token(g, &w, "internalSecret", secret);
  rp__jw_end_object(&w);
  if (part.err) return rp__fail_nomem(err);
  rp__buf_printf(&out, "%s],\n  %.*s\n}\n", any ? "\n  " : "", (int)part.n - 2, part.p + 1);
  return rp__give(g, &out, err);
}

int rp__clawd_export(const struct rp__giver *g, rp_error *err)
{
  int rc = rp__clawd_begin(g, err);
  if (!rc) rc = rp__clawd_session(g, NULL, true, err);
  return rc ? rc : rp__clawd_end(g, NULL, true, err);
}
