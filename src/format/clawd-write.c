/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing one session as a session store of Clawd (C-11). The newest 500 messages of the journal, by type. Tokens are
 * fresh random ones: an empty one would open the session to anybody who sends nothing.
 */
#include "base/text.h"
#include "format/clawd.h"
#include "format/give.h"
#include "format/take.h"

#define TOKEN_BYTES 32

/* One message that is ready, or one that grows by chunks. */
struct ring {
  struct rp__buf item[RP_CLAWD_MESSAGES]; /* members of a message without id, type … : see `said` */
  size_t first, count;
};

struct writer {
  const struct rp__giver *g;
  char id[RP_ID_MAX + 1];
  struct ring ring;
  struct rp__buf last; /* body of the last message, to see whether the next one continues it */
  struct rp__buf text; /* of the turn that may still grow */
  char type[16];       /* of that turn; empty: none */
  int64_t at, seq;
  int64_t last_at;
  char preview[RP_CLAWD_PREVIEW * 4 + 8];
  int rc;
};

static struct rp__buf *ring_next(struct ring *r)
{
  if (r->count == RP_CLAWD_MESSAGES) {
    r->first = (r->first + 1) % RP_CLAWD_MESSAGES;
    r->count--;
  }
  struct rp__buf *b = &r->item[(r->first + r->count++) % RP_CLAWD_MESSAGES];
  rp__buf_done(b);
  *b = RP_BUF(RP_FOREIGN_MAX);
  return b;
}

/* "100 characters...", as Clawd cuts it. */
static void preview_of(struct writer *x, const char *text, size_t n)
{
  size_t at = 0, chars = 0;
  for (; at < n && chars <= RP_CLAWD_PREVIEW; at++) chars += ((unsigned char)text[at] & 0xc0) != 0x80;
  if (chars <= RP_CLAWD_PREVIEW)
    snprintf(x->preview, sizeof x->preview, "%.*s", (int)n, text);
  else
    snprintf(x->preview, sizeof x->preview, "%.*s...", (int)at - 1, text);
}

static void write_head(struct writer *x, struct rp__jw *w, struct rp__json id, const char *type)
{
  char made[64];
  rp__jw_object(w);
  snprintf(made, sizeof made, "%s-%lld", type, (long long)x->seq);
  if (id.type == RP_JSON_STRING)
    rp__copy_member(w, "id", id);
  else
    rp__jw_kstr(w, "id", made);
  rp__jw_kstr(w, "sessionId", x->id);
  rp__jw_kstr(w, "type", type);
}

/* Writes down the turn that has been growing. */
static void flush_turn(struct writer *x)
{
  if (!x->type[0]) return;
  struct rp__json body = rp__json_trusted(x->last.p, x->last.n), source = rp__json_get(body, "source");
  struct rp__buf *b = ring_next(&x->ring);
  struct rp__jw w = RP_JW(b);
  write_head(x, &w, rp__json_get(body, "message_id"), x->type);
  rp__jw_key(&w, "content");
  rp__jw_strn(&w, x->text.p, x->text.n);
  rp__jw_ktime(&w, "timestamp", x->at);
  if (rp__json_eq(source, "child_event") || rp__json_eq(source, "auto_continue")) rp__copy_member(&w, "source", source);
  rp__jw_end_object(&w);
  if (strcmp(x->type, "user") == 0 || strcmp(x->type, "assistant") == 0) {
    preview_of(x, x->text.p ? x->text.p : "", x->text.n);
    x->last_at = x->at;
  }
  x->type[0] = '\0';
  if (b->err || x->text.err || x->last.err) x->rc = RP_E_NOMEM;
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

/* The output as text: a string decoded, anything else as its JSON. */
static void write_output(struct rp__jw *w, struct rp__json v)
{
  rp__jw_key(w, "content");
  if (v.type == RP_JSON_STRING || v.type == RP_JSON_NONE)
    v.type == RP_JSON_STRING ? rp__jw_value(w, v) : rp__jw_str(w, "");
  else
    rp__jw_strn(w, v.p, v.n);
}

static void write_tool(struct writer *x, const struct rp__event *ev)
{
  struct rp__json status = rp__json_get(ev->body, "status"), call = rp__json_get(ev->body, "call_id");
  bool result = rp__json_eq(status, "done") || rp__json_eq(status, "failed");
  if (rp__json_eq(status, "unknown")) return;
  flush_turn(x);
  x->seq = ev->seq;
  struct rp__json id = result ? rp__json_get(ev->body, "message_id") : call;
  struct rp__buf *b = ring_next(&x->ring);
  struct rp__jw w = RP_JW(b);
  write_head(x, &w, id, result ? "tool_result" : "tool_call");
  write_output(&w, rp__json_get(ev->body, result ? "output" : "text"));
  rp__copy_member(&w, "toolName", rp__json_get(ev->body, "name"));
  if (!result) rp__copy_member(&w, "toolInput", rp__json_get(ev->body, "input"));
  rp__jw_ktime(&w, "timestamp", ev->at_ms);
  rp__jw_end_object(&w);
  if (b->err) x->rc = RP_E_NOMEM;
}

static int on_event(void *ctx, const struct rp__event *ev)
{
  struct writer *x = ctx;
  if (ev->kind == RP_KIND_MESSAGE) write_said(x, ev);
  if (ev->kind == RP_KIND_TOOL) write_tool(x, ev);
  return x->rc;
}

/* ---- the document ---- */

static void write_token(const struct rp__giver *g, struct rp__jw *w, const char *name)
{
  unsigned char bytes[TOKEN_BYTES];
  char hex[2 * TOKEN_BYTES + 1];
  g->random->fill(g->random->ctx, bytes, sizeof bytes);
  for (size_t i = 0; i < sizeof bytes; i++) snprintf(hex + 2 * i, 3, "%02x", bytes[i]);
  rp__jw_kstr(w, name, hex);
}

static void write_fields(struct rp__jw *w, struct rp__json part)
{
  for (const struct rp__clawd_field *f = rp__clawd_fields; f->name; f++) {
    struct rp__json v = rp__json_get(rp__json_get(part, f->setting ? "settings" : "meta"), f->name);
    if (v.type == RP_JSON_NONE && !f->fallback) continue;
    rp__jw_key(w, f->name);
    if (v.type == RP_JSON_NONE)
      rp__jw_raw(w, f->fallback, strlen(f->fallback));
    else
      rp__jw_value(w, v);
  }
}

static void write_info(const struct writer *x, struct rp__jw *w)
{
  struct rp__json session = rp__json_get(x->g->state, "session"), part = rp__json_get(x->g->state, "settings");
  struct rp__json name = rp__json_get(part, "name"), manager;
  double cost = 0;
  manager = rp__json_get(rp__json_get(rp__json_get(x->g->state, "provider"), "metadata"), "managerState");
  rp__json_double(rp__json_get(rp__json_get(x->g->state, "usage"), "cost_usd"), &cost);
  rp__jw_key(w, "info");
  rp__jw_object(w);
  rp__jw_kstr(w, "id", x->id);
  if (name.type == RP_JSON_STRING)
    rp__copy_member(w, "name", name);
  else
    rp__jw_kstr(w, "name", x->id);
  write_fields(w, part);
  rp__jw_kstr(w, "status", RP_ANY(session, "ended_at").type == RP_JSON_NONE ? "idle" : "terminated");
  rp__copy_member(w, "createdAt", rp__json_get(session, "created_at"));
  rp__jw_ktime(w, "lastMessageAt", x->last_at);
  rp__jw_kstr(w, "lastMessagePreview", x->last_at ? x->preview : NULL);
  rp__jw_kdouble(w, "totalCostUsd", cost);
  rp__copy_member(w, "managerState", manager);
  rp__jw_end_object(w);
}

static void write_messages(struct writer *x, struct rp__jw *w)
{
  rp__jw_key(w, "messages");
  rp__jw_array(w);
  for (size_t i = 0; i < x->ring.count; i++) {
    const struct rp__buf *b = &x->ring.item[(x->ring.first + i) % RP_CLAWD_MESSAGES];
    rp__jw_raw(w, b->p, b->n);
  }
  rp__jw_end_array(w);
}

static int write_store(struct writer *x, rp_error *err)
{
  struct rp__buf out RP_AUTOBUF = RP_BUF(RP_FOREIGN_MAX);
  struct rp__jw w = RP_JW(&out);
  struct rp__json kept = rp__json_get(rp__json_get(x->g->state, "provider"), "metadata");
  rp__jw_object(&w);
  rp__jw_key(&w, "sessions");
  rp__jw_array(&w);
  rp__jw_object(&w);
  write_info(x, &w);
  write_messages(x, &w);
  write_token(x->g, &w, "sessionToken");
  rp__jw_key(&w, "containerId");
  rp__jw_value(&w, rp__json_get(kept, "containerId"));
  rp__jw_kstr(&w, "managerApiToken", NULL);
  rp__jw_key(&w, "managerState");
  rp__jw_value(&w, rp__json_get(kept, "managerState"));
  rp__jw_end_object(&w);
  rp__jw_end_array(&w);
  write_token(x->g, &w, "internalSecret");
  rp__jw_end_object(&w);
  return rp__give_pretty(x->g, &out, false, err);
}

static void writer_free(struct writer *x)
{
  for (size_t i = 0; i < RP_CLAWD_MESSAGES; i++) rp__buf_done(&x->ring.item[i]);
  rp__buf_done(&x->last);
  rp__buf_done(&x->text);
  free(x);
}

int rp__clawd_export(const struct rp__giver *g, rp_error *err)
{
  struct writer *x = calloc(1, sizeof *x);
  if (!x) return rp__fail_nomem(err);
  x->g = g;
  x->last = x->text = RP_BUF(RP_FOREIGN_MAX);
  rp__text_of(rp__json_get(rp__json_get(g->state, "session"), "session_id"), x->id, sizeof x->id);
  int rc = rp__give_events(g, on_event, x, err);
  if (!rc) flush_turn(x);
  if (x->rc) rc = rp__fail_nomem(err);
  if (!rc) rc = write_store(x, err);
  writer_free(x);
  return rc;
}
