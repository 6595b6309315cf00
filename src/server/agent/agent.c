/* SPDX-License-Identifier: Apache-2.0 */
/* Agents' connections: the handshake, messages, the end. Also the start and the end of all of them with the server. */
#include "server/agent/agent-session.h"

#include "base/ticks.h"
#include "server/http/route.h"

/* ---- sending ---- */

void rp__agent_close(struct rp__agent *g, int code, const char *reason)
{
  if (g->ws) rp__ws_close(g->ws, code, reason);
}

void rp__agent_send(struct rp__agent *g, struct rp__net_msg *m)
{
  int rc = !m ? RP_E_NOMEM : g->ws ? rp__ws_send(g->ws, m) : RP_E_CANCELLED;
  rp__msg_unref(m);
  if (rc == RP_E_LIMIT) rp__agent_close(g, 1001, "the agent does not read");
  if (rc == RP_E_NOMEM) rp__agent_close(g, 1011, "out of memory");
}

void rp__agent_send_error(struct rp__agent *g, const rp_error *err, int64_t client_seq)
{
  struct rp__buf out RP_AUTOBUF = RP_BUF(8192);
  struct rp__jw w = RP_JW(&out);
  const rp_error_info *info = rp_error_lookup(err->code);
  char message[RP_PROBLEM_TEXT];
  rp__problem_text(err, message);
  rp__jw_object(&w);
  rp__jw_kstr(&w, "type", "error");
  rp__jw_kstr(&w, "message", message);
  rp__jw_kstr(&w, "code", info->name);
  if (err->field[0]) rp__jw_kstr(&w, "field", err->field);
  if (client_seq) rp__jw_ki64(&w, "client_seq", client_seq);
  rp__jw_kbool(&w, "retryable", info->retryable);
  rp__jw_end_object(&w);
  rp__agent_send(g, out.err ? NULL : rp__ws_text(out.p, out.n));
}

/* ---- the end of one ---- */

static void agent_free(struct rp__agent *g)
{
  LIST_REMOVE(g, in_all);
  rp__agent_tools_done(&g->tools);
  rp__buf_done(&g->before_auth);
  free(g);
}

void rp__agent_landed(struct rp__agent *g, size_t bytes)
{
  g->flying--;
  g->flying_bytes -= bytes;
  if (!g->flying && g->ended) agent_free(g);
}

static void clean_up(struct rp__job *job)
{
  struct rp__agent *g = (struct rp__agent *)job;
  struct rp__agents *a = g->of;
  struct rp__agent_session *s = RP_TAKE(g->session);
  rp__agent_unsubscribe(g);
  if (s) {
    atomic_fetch_sub(&a->n_connected, 1);
    s->agent = NULL;
  }
  if (s && a->closing)
    rp__agent_session_free(a, s); /* the server that follows awaits it */
  else if (s)
    rp__agent_session_await(a, s, false);
  g->ended = true;
  atomic_fetch_sub(&g->of->n_sockets, 1);
  if (!g->flying) agent_free(g);
}

/* May come in the middle of a call that sends: the rest goes in a turn of its own. */
static void on_closed(void *ctx, int code, const char *why)
{
  struct rp__agent *g = ctx;
  struct rp__server *srv = g->of->srv;
  g->ws = NULL;
  rp__timer_stop(srv->loop, &g->timer);
  rp__timer_stop(srv->loop, &g->marker);
  rp__slog(&srv->log, RP_LOG_DEBUG, "agent_closed", RP_FN("code", code), RP_F("why", why),
           RP_F("session", g->session ? g->session->entry->id : NULL));
  g->end.fn = clean_up;
  rp__loop_post(srv->loop, &g->end); /* refused at the loop's end: rp__agents_free finds it */
}

/* ---- messages ---- */

/*
 * A numbered message is stored under its number by its last event; what goes before
 * (a status, the tools' ledger) may stand there twice when the server dies in between,
 * which changes nothing.
 */
static void dispatch(struct rp__agent *g, struct rp__json message)
{
  struct rp__agent_act act = {0};
  struct rp__agent_session *s = g->session;
  rp_event events[RP_AGENT_EVENTS];
  rp_error err = {0};
  if (g->state == RP_AGENT_HELLO) {
    rp__agent_enter(g, message);
    return;
  }
  if (!s) return; /* replaced */
  atomic_fetch_add_explicit(&g->of->messages, 1, memory_order_relaxed);
  if (g->flying >= RP_AGENT_FLYING_MAX || g->flying_bytes > RP_AGENT_FLYING_BYTES) {
    rp__agent_close(g, 1013, "too much at once");
    return;
  }
  int rc = rp__agent_read(&g->tools, s->status, message, &act, &err);
  if (!rc) {
    for (size_t i = 0; i < act.n; i++)
      events[i] = (rp_event){.kind = act.part[i].kind, .body = act.text.p + act.part[i].at, .body_len = act.part[i].n};
    size_t before = act.client_seq && act.n ? act.n - 1 : 0;
    if (before) rc = rp__agent_session_store(g->of, s, g, events, before, act.durability, -1, &err);
    if (!rc && act.n)
      rc = rp__agent_session_store(g->of, s, g, events + before, act.n - before, act.durability, act.client_seq, &err);
  }
  if (!rc && act.status) {
    snprintf(s->status, sizeof s->status, "%s", act.status);
    s->unsaved = false;
    if (strcmp(act.status, "error") == 0) rp__agent_evict_later(g->of, s->entry, rp__server_now(g->of->srv));
    rp__agent_resume(g);
  }
  if (!rc && act.acked) rp__agent_acked(g, act.acked);
  if (rc) {
    atomic_fetch_add_explicit(&g->of->refused, 1, memory_order_relaxed);
    rp__agent_send_error(g, &err, act.client_seq);
  }
  rp__agent_act_done(&act);
}

void rp__agent_entered(struct rp__agent *g)
{
  struct rp__buf said RP_AUTOBUF = g->before_auth;
  g->before_auth = RP_BUF(RP_AGENT_BEFORE_AUTH_MAX);
  for (size_t at = 0; at < said.n && g->ws; at += strlen(said.p + at) + 1)
    dispatch(g, rp__json_trusted(said.p + at, strlen(said.p + at)));
}

static void on_message(void *ctx, bool binary, const char *bytes, size_t n)
{
  static const struct rp__json_limits limits = {.max_depth = RP_AGENT_DEPTH};
  struct rp__agent *g = ctx;
  struct rp__json message;
  rp_error err = {0};
  int rc = binary ? rp__fail(&err, RP_E_JSON, "messages are text") : rp__json_parse(bytes, n, &limits, &message, &err);
  if (rc) {
    rp__agent_close(g, rc == RP_E_NOMEM ? 1011 : 1003, err.message);
  } else if (g->state == RP_AGENT_ENTERING) {
    rp__buf_add(&g->before_auth, bytes, n);
    rp__buf_char(&g->before_auth, '\0'); /* JSON has no NUL */
    if (g->before_auth.err) rp__agent_close(g, 1013, "too much before auth_ok");
  } else {
    dispatch(g, message);
  }
}

static void on_drained(void *ctx)
{
  rp__agent_resume(ctx);
}

/* ---- the beginning of one ---- */

static void on_silence(struct rp__timer *t)
{
  struct rp__agent *g = (struct rp__agent *)(void *)((char *)t - offsetof(struct rp__agent, timer));
  rp__agent_close(g, RP_CLOSE_AUTH, "Authentication timeout");
}

int rp__agent_open(struct rp__agents *a, int fd, struct rp__str head, rp_error *err)
{
  static const struct rp__ws_handler handler = {.message = on_message, .drained = on_drained, .closed = on_closed};
  struct rp__scope_config *set = &a->srv->set;
  struct rp__ws_options o = {.max_message = RP_AGENT_MESSAGE_MAX,
                             .queue_bytes = set->queue_bytes,
                             .stall_ms = set->stall_ms,
                             .idle_ms = RP_AGENT_IDLE_MS};
  struct rp__agent *g = calloc(1, sizeof *g);
  if (!g) {
    close(fd);
    return rp__fail_nomem(err);
  }
  *g = (struct rp__agent){.of = a, .timer.fn = on_silence, .before_auth = RP_BUF(RP_AGENT_BEFORE_AUTH_MAX)};
  rp__agent_tools_init(&g->tools);
  LIST_INSERT_HEAD(&a->all, g, in_all);
  int rc = rp__ws_open(a->srv->loop, fd, head, &o, &handler, g, &g->ws, err);
  if (rc) {
    agent_free(g);
    return rc;
  }
  atomic_fetch_add(&a->n_sockets, 1);
  if (rp__timer_start(a->srv->loop, &g->timer, a->auth_ms)) rp__agent_close(g, 1011, "out of memory");
  return 0;
}

static void arrive(struct rp__server *srv, const struct rp__identity *who, int fd, struct rp__str head)
{
  (void)who;
  if (srv->agents->closing)
    close(fd);
  else
    RP_IGNORE(rp__agent_open(srv->agents, fd, head, NULL)); /* without memory it is closed, and comes again */
}

int rp__handle_agent(struct rp__http_call *c, rp_error *err)
{
  if (!rp__auth_is_internal(c->srv->auth, c->req))
    return rp__fail_field(err, RP_E_FORBIDDEN, "x-internal-secret", "the internal secret is missing or wrong");
  return rp__call_upgrade(c, NULL, arrive, err);
}

/* ---- all of them ---- */

static void on_give_up(struct rp__job *job)
{
  struct rp__agents *a = (struct rp__agents *)(void *)((char *)job - offsetof(struct rp__agents, give_up));
  atomic_store(&a->giving_up, false);
  if (!a->closing) rp__agent_sessions_give_up(a);
}

int rp__agents_give_up(struct rp__server *srv, rp_error *err)
{
  struct rp__agents *a = srv->agents;
  (void)err;
  if (!rp_presence_count(srv->engine, RP_PRESENCE_AGENT, rp__ticks_ms()).due) return 0;
  if (!atomic_exchange(&a->giving_up, true) && !rp__loop_post(srv->loop, &a->give_up))
    atomic_store(&a->giving_up, false);
  return 0;
}

int rp__agents_new(struct rp__server *srv, struct rp__agents **ret, rp_error *err)
{
  struct rp__agents *a = calloc(1, sizeof *a);
  if (!a) return rp__fail_nomem(err);
  a->srv = srv;
  a->auth_ms = RP_AGENT_AUTH_MS;
  a->give_up.fn = on_give_up;
  int rc = rp__roster_init(&a->roster, srv->db_path, err);
  if (rc) {
    rp__roster_done(&a->roster);
    free(a);
  } else {
    *ret = a;
  }
  return rc;
}

/* The loop is over: nothing is sent, nothing comes back. */
void rp__agents_free(struct rp__agents *a)
{
  if (!a) return;
  for (struct rp__agent *g; (g = LIST_FIRST(&a->all));) {
    rp__agent_unsubscribe(g);
    agent_free(g);
  }
  rp_presence_clear(a->srv->engine, RP_PRESENCE_AGENT);
  rp_presence_clear(a->srv->engine, RP_PRESENCE_FAILED_AGENT);
  rp__roster_done(&a->roster);
  free(a);
}

void rp__agents_close(struct rp__agents *a, int code)
{
  a->closing = true;
  for (struct rp__agent *g = LIST_FIRST(&a->all), *next; g; g = next) {
    next = LIST_NEXT(g, in_all);
    rp__agent_flush(g);
    rp__agent_close(g, code, code == 1012 ? "the server restarts" : "the server goes");
  }
}

size_t rp__agents_connected(const struct rp__agents *a)
{
  return atomic_load(&a->n_sockets);
}

void rp__agents_metrics(const struct rp__agents *a, struct rp__buf *out)
{
  const struct rp__metric rows[] = {
      {"reprise_server_agents", "gauge", "Agents that are connected.", (long long)atomic_load(&a->n_connected)},
      {"reprise_server_agents_awaited", "gauge", "Sessions whose agent is to reconnect.",
       (long long)rp_presence_count(a->srv->engine, RP_PRESENCE_AGENT, 0).ending},
      {"reprise_server_agent_messages_total", "counter", "Messages of agents.", atomic_load(&a->messages)},
      {"reprise_server_agent_refused_total", "counter", "Of these, those that were refused or not stored.",
       atomic_load(&a->refused)},
      {"reprise_server_agent_delivered_total", "counter", "Messages to agents.", atomic_load(&a->delivered)},
      {"reprise_server_agents_replaced_total", "counter", "Connections replaced by a newer one.",
       atomic_load(&a->replaced)},
      {"reprise_server_agents_lost_total", "counter", "Agents that did not come back in time.", atomic_load(&a->lost)},
      {"reprise_server_sessions_evicted_total", "counter", "Sessions trashed because their agent failed.",
       atomic_load(&a->evicted)},
  };
  rp__metrics_write(out, rows, RP_ARRAY_SIZE(rows));
}
