/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Delivers events from the journal to the agent (C-04, C-09). A `runtime` event in the journal marks what was
 * delivered. The mark is written once the socket has taken the message; when the agent acknowledges messages, once it
 * has done so. After a restart the agent gets what it has not got yet, and in the worst case the last message twice.
 */
#include "server/agent/agent-session.h"

#define WORD_MAX (2 * RP_BODY_MAX + 1024)

/* ---- events to messages: each carries its number, by which an agent recognises one that it has got before ---- */

static void put(struct rp__jw *w, const char *name, struct rp__json v)
{
  if (v.type == RP_JSON_NONE) return;
  rp__jw_kvalue(w, name, v);
}

static struct rp__jw begin(struct rp__buf *out, const char *type, int64_t seq)
{
  struct rp__jw w = RP_JW(out);
  rp__jw_object(&w);
  rp__jw_kstr(&w, "type", type);
  rp__jw_ki64(&w, "seq", seq);
  return w;
}

static enum rp__agent_word write_prompt(int64_t seq, struct rp__json body, struct rp__buf *out)
{
  if (!rp__json_eq(rp__json_get(body, "role"), "user")) return RP_WORD_NONE;
  struct rp__jw w = begin(out, "user_message", seq);
  put(&w, "content", rp__json_get(body, "content"));
  put(&w, "messageId", rp__json_get(body, "message_id"));
  put(&w, "partial", rp__json_get(body, "partial"));
  rp__jw_end_object(&w);
  return RP_WORD_WORK;
}

static enum rp__agent_word write_approval(int64_t seq, struct rp__json body, struct rp__buf *out)
{
  struct rp__json status = rp__json_get(body, "status");
  bool allowed = rp__json_eq(status, "allowed");
  if (!allowed && !rp__json_eq(status, "denied")) return RP_WORD_NONE;
  struct rp__jw w = begin(out, "approval_response", seq);
  put(&w, "approvalId", rp__json_get(body, "id"));
  rp__jw_kbool(&w, "allow", allowed);
  put(&w, "message", rp__json_get(body, "message"));
  rp__jw_end_object(&w);
  return RP_WORD_WORK;
}

static enum rp__agent_word write_answer(int64_t seq, struct rp__json body, struct rp__buf *out)
{
  if (!rp__json_eq(rp__json_get(body, "status"), "answered")) return RP_WORD_NONE;
  struct rp__json answers = rp__json_get(body, "answers");
  struct rp__jw w = begin(out, "question_response", seq);
  put(&w, "questionId", rp__json_get(body, "id"));
  put(&w, "answers", answers.type == RP_JSON_NONE ? rp__json_get(body, "answer") : answers);
  rp__jw_end_object(&w);
  return RP_WORD_WORK;
}

static enum rp__agent_word write_command(int64_t seq, struct rp__json body, struct rp__buf *out)
{
  static const char *const commands[] = {"interrupt", "update_settings", "set_model", "get_models"};
  struct rp__json command = rp__json_get(body, "command"), key, value;
  struct rp__json_iter it = {0};
  size_t i = 0;
  while (i < RP_ARRAY_SIZE(commands) && !rp__json_eq(command, commands[i])) i++;
  if (i == RP_ARRAY_SIZE(commands)) return RP_WORD_NONE;
  struct rp__jw w = begin(out, commands[i], seq);
  while (rp__json_next(body, &it, &key, &value)) {
    char *name RP_AUTOFREE = rp__json_dup(key);
    if (!name) out->err = RP_E_NOMEM;
    if (!name || strcmp(name, "command") == 0 || strcmp(name, "type") == 0 || strcmp(name, "seq") == 0) continue;
    put(&w, name, value);
  }
  rp__jw_end_object(&w);
  return RP_WORD_COMMAND;
}

enum rp__agent_word rp__agent_write(const char *kind, int64_t seq, struct rp__json body, struct rp__buf *out)
{
  static const struct {
    const char *kind;
    enum rp__agent_word (*write)(int64_t seq, struct rp__json body, struct rp__buf *out);
  } rows[] = {
      {"message", write_prompt},
      {"approval", write_approval},
      {"question", write_answer},
      {"x-command", write_command},
  };
  for (size_t i = 0; i < RP_ARRAY_SIZE(rows); i++)
    if (strcmp(kind, rows[i].kind) == 0) return rows[i].write(seq, body, out);
  return RP_WORD_NONE;
}

/* ---- the mark ---- */

static int64_t received(const struct rp__agent *g)
{
  if (g->acks || !g->ws || rp__ws_waiting(g->ws)) return g->session->delivered;
  return g->sent;
}

static void write_mark(struct rp__agent *g, int64_t seq)
{
  struct rp__agent_session *s = g->session;
  struct rp__buf out RP_AUTOBUF = RP_BUF(512);
  struct rp__jw w = RP_JW(&out);
  rp_error err = {0};
  rp__jw_object(&w);
  if (s->unsaved) rp__jw_kstr(&w, "status", s->status);
  if (seq > 0) rp__jw_ki64(&w, "delivered", seq);
  rp__jw_end_object(&w);
  rp_event ev = {.kind = "runtime", .body = out.p, .body_len = out.n};
  int rc = out.err ? rp__fail_nomem(&err) : rp__agent_session_store(g->of, s, NULL, &ev, 1, RP_OS, 0, &err);
  if (rc) {
    rp__slog(&g->of->srv->log, RP_LOG_WARN, "agent_mark_lost", RP_F("session", s->entry->id),
             RP_F("error", err.message));
    return;
  }
  s->unsaved = false;
  s->delivered = RP_MAX(s->delivered, seq);
}

static void mark_soon(struct rp__agent *g)
{
  if (!g->marker.place && rp__timer_start(g->of->srv->loop, &g->marker, RP_AGENT_MARK_MS))
    rp__agent_close(g, 1011, "out of memory");
}

static void on_marker(struct rp__timer *t)
{
  struct rp__agent *g = (struct rp__agent *)(void *)((char *)t - offsetof(struct rp__agent, marker));
  if (!g->session) return;
  int64_t seq = received(g);
  if (seq > g->session->delivered || g->session->unsaved) write_mark(g, seq);
  if (!g->acks && g->session->delivered < g->sent) mark_soon(g); /* the socket has not taken it yet */
}

void rp__agent_acked(struct rp__agent *g, int64_t seq)
{
  g->acks = true;
  seq = RP_MIN(seq, g->sent);
  if (seq > g->session->delivered) write_mark(g, seq);
}

void rp__agent_flush(struct rp__agent *g)
{
  if (g->session && received(g) > g->session->delivered) write_mark(g, received(g));
}

/* ---- events ---- */

/* Whether the event is a decision or an answer; one that is pending is remembered. */
static bool is_settlement(struct rp__agent *g, const struct rp__live_event *ev, bool *ret_approval)
{
  *ret_approval = strcmp(ev->kind, "approval") == 0;
  if (!*ret_approval && strcmp(ev->kind, "question") != 0) return false;
  if (!rp__json_eq(rp__json_get(ev->body, "status"), "pending")) return true;
  rp__agent_tools_ask(&g->tools, *ret_approval, rp__json_get(ev->body, "id"), true);
  return false;
}

static bool on_event(void *ctx, struct rp__live_event *ev)
{
  struct rp__agent *g = ctx;
  struct rp__buf out RP_AUTOBUF = RP_BUF(WORD_MAX);
  struct rp__json id = rp__json_get(ev->body, "id");
  bool approval;
  if (!g->ws || !g->session) return true;
  bool settles = is_settlement(g, ev, &approval);
  if (ev->seq <= g->known) {
    if (settles) rp__agent_tools_settle(&g->tools, approval, id);
    return true;
  }
  if (settles && !rp__agent_tools_asked(&g->tools, approval, id)) return true; /* nobody waits for it any more */
  /* Time travel takes what was known of the agent back too: it is told again. */
  if (strcmp(ev->kind, "restored") == 0 && rp__json_get(ev->body, "to_seq").type != RP_JSON_NONE) {
    g->session->unsaved = true;
    write_mark(g, g->session->delivered);
  }
  struct rp__json status = rp__json_get(ev->body, "status");
  if (strcmp(ev->kind, "status") == 0 && (rp__json_eq(status, "closed") || rp__json_eq(status, "abandoned"))) {
    g->session->status[0] = '\0'; /* nobody is awaited after this */
    rp__agent_close(g, 1000, "Session is closed");
  }
  enum rp__agent_word word = rp__agent_write(ev->kind, ev->seq, ev->body, &out);
  if (word == RP_WORD_NONE) return true;
  if (strcmp(g->session->status, "starting") == 0) return false; /* until it is ready */
  struct rp__net_msg *m = out.err ? NULL : rp__ws_text(out.p, out.n);
  int rc = m ? rp__ws_send(g->ws, m) : RP_E_NOMEM;
  rp__msg_unref(m);
  if (rc == RP_E_NOMEM) rp__agent_close(g, 1011, "out of memory");
  if (rc) return false;
  atomic_fetch_add_explicit(&g->of->delivered, 1, memory_order_relaxed);
  g->sent = ev->seq;
  if (settles) rp__agent_tools_settle(&g->tools, approval, id);
  if (word == RP_WORD_WORK) {
    /* As long as it waits for somebody, that is what people have to know. */
    char *now = g->session->status;
    const char *waits = rp__agent_tools_waits(&g->tools, now), *next = waits ? waits : "running";
    if (rp_runtime_may(now, next) && strcmp(now, next) != 0) {
      snprintf(now, sizeof g->session->status, "%s", next);
      g->session->unsaved = true;
    }
  }
  mark_soon(g);
  return true;
}

/* The journal is shorter than was believed: a power cut took what was not on the disk yet. */
static void on_reset(void *ctx, int64_t seq)
{
  struct rp__agent *g = ctx;
  g->sent = g->known = seq;
  if (g->session) g->session->delivered = seq;
}

static void on_gone(void *ctx, const rp_error *err)
{
  struct rp__agent *g = ctx;
  (void)err;
  if (g->session) g->session->status[0] = '\0';
  rp__agent_close(g, 1000, "Session is gone");
}

int rp__agent_subscribe(struct rp__agent *g, int64_t from, rp_error *err)
{
  static const struct rp__sub_handler handler = {.event = on_event, .reset = on_reset, .gone = on_gone};
  g->marker.fn = on_marker;
  g->sent = g->known = g->session->delivered;
  return rp__sub_new(g->of->srv->live, g->session->entry, from, &handler, g, &g->sub, err);
}

void rp__agent_unsubscribe(struct rp__agent *g)
{
  rp__sub_free(RP_TAKE(g->sub));
}

void rp__agent_resume(struct rp__agent *g)
{
  if (g->sub) rp__sub_more(g->sub);
}
