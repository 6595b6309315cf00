/* SPDX-License-Identifier: Apache-2.0 */
/* Agents' connections: the handshake, messages, the end; and all of them, from the server's start to its end. */
#include "server/agent-impl.h"

#include "server/route.h"

/* ---- sending ---- */

void rp__agent_close(struct rp__agent *g, int code, const char *reason)
{
  if (g->ws) rp__ws_close(g->ws, code, reason);
}

void rp__agent_send(struct rp__agent *g, struct rp__msg *m)
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

static void unlink_agent(struct rp__agent *g)
{
  struct rp__agents *a = g->of;
  if (g->prev)
    g->prev->next = g->next;
  else
    a->all = g->next;
  if (g->next) g->next->prev = g->prev;
}

static void agent_free(struct rp__agent *g)
{
  unlink_agent(g);
  rp__agent_mind_done(&g->mind);
  rp__buf_done(&g->early);
  free(g);
}

void rp__agent_landed(struct rp__agent *g, size_t bytes)
{
  g->flying--;
  g->flying_bytes -= bytes;
  if (!g->flying && g->ended) agent_free(g);
}

static void leave_seat(struct rp__agent *g)
{
  struct rp__seat *s = RP_TAKE(g->seat);
  struct rp__agents *a = g->of;
  rp__agent_unsubscribe(g);
  if (!s) return;
  atomic_fetch_sub(&a->n_seated, 1);
  s->agent = NULL;
  if (a->closing)
    rp__seat_free(a, s); /* the server that follows awaits it */
  else
    rp__seat_await(a, s, false);
}

static void clean_up(struct rp__job *job)
{
  struct rp__agent *g = (struct rp__agent *)job;
  leave_seat(g);
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
           RP_F("session", g->seat ? rp__entry_id(g->seat->entry) : NULL));
  g->end.fn = clean_up;
  rp__loop_post(srv->loop, &g->end); /* refused at the loop's end: rp__agents_free finds it */
}

/* ---- messages ---- */

static int store_parts(struct rp__agent *g, const struct rp__agent_act *act, rp_error *err)
{
  rp_event events[RP_AGENT_EVENTS];
  struct rp__seat *s = g->seat;
  size_t before = act->client_seq ? act->n - 1 : 0;
  for (size_t i = 0; i < act->n; i++)
    events[i] =
        (rp_event){.kind = act->part[i].kind, .body = act->text.p + act->part[i].at, .body_len = act->part[i].n};
  int rc = before ? rp__seat_store(g->of, s, g, events, before, act->durability, -1, err) : 0;
  if (!rc) rc = rp__seat_store(g->of, s, g, events + before, act->n - before, act->durability, act->client_seq, err);
  return rc;
}

/*
 * A numbered message is stored under its number by its last event; what goes before
 * (a status, the tools' ledger) may stand there twice when the server dies in between,
 * which changes nothing.
 */
static int take(struct rp__agent *g, struct rp__json message, int64_t *ret_client_seq, rp_error *err)
{
  struct rp__agent_act act;
  int rc = rp__agent_read(&g->mind, g->seat->status, message, &act, err);
  if (rc) return rc;
  *ret_client_seq = act.client_seq;
  if (act.n) rc = store_parts(g, &act, err);
  if (!rc && act.status) {
    snprintf(g->seat->status, sizeof g->seat->status, "%s", act.status);
    g->seat->unsaved = false;
    if (strcmp(act.status, "error") == 0) rp__agent_evict_later(g->of, g->seat->entry, rp__server_now(g->of->srv));
    rp__agent_resume(g);
  }
  if (!rc && act.acked) rp__agent_acked(g, act.acked);
  rp__agent_act_done(&act);
  return rc;
}

static void dispatch(struct rp__agent *g, struct rp__json message)
{
  rp_error err = {0};
  int64_t client_seq = 0;
  if (g->state == RP_AGENT_HELLO) {
    rp__agent_enter(g, message);
    return;
  }
  if (!g->seat) return; /* replaced */
  atomic_fetch_add_explicit(&g->of->messages, 1, memory_order_relaxed);
  if (g->flying >= RP_AGENT_FLYING_MAX || g->flying_bytes > RP_AGENT_FLYING_BYTES) {
    rp__agent_close(g, 1013, "too much at once");
    return;
  }
  if (!take(g, message, &client_seq, &err)) return;
  atomic_fetch_add_explicit(&g->of->refused, 1, memory_order_relaxed);
  rp__agent_send_error(g, &err, client_seq);
}

/* JSON has no NUL. */
static void keep(struct rp__agent *g, const char *bytes, size_t n)
{
  rp__buf_add(&g->early, bytes, n);
  rp__buf_char(&g->early, '\0');
  if (g->early.err) rp__agent_close(g, 1013, "too much before auth_ok");
}

void rp__agent_seated(struct rp__agent *g)
{
  struct rp__buf early RP_AUTOBUF = g->early;
  g->early = RP_BUF(RP_AGENT_EARLY_MAX);
  for (size_t at = 0; at < early.n && g->ws; at += strlen(early.p + at) + 1)
    dispatch(g, rp__json_trusted(early.p + at, strlen(early.p + at)));
}

static void on_message(void *ctx, bool binary, const char *bytes, size_t n)
{
  static const struct rp__json_limits limits = {.max_depth = RP_AGENT_DEPTH};
  struct rp__agent *g = ctx;
  struct rp__json message;
  rp_error err = {0};
  int rc = binary ? rp__fail(&err, RP_E_JSON, "messages are text") : rp__json_parse(bytes, n, &limits, &message, &err);
  if (rc)
    rp__agent_close(g, rc == RP_E_NOMEM ? 1011 : 1003, err.message);
  else if (g->state == RP_AGENT_ENTERING)
    keep(g, bytes, n);
  else
    dispatch(g, message);
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

static struct rp__agent *agent_new(struct rp__agents *a)
{
  struct rp__agent *g = calloc(1, sizeof *g);
  if (!g) return NULL;
  g->of = a;
  g->timer.fn = on_silence;
  g->early = RP_BUF(RP_AGENT_EARLY_MAX);
  rp__agent_mind_init(&g->mind);
  g->next = a->all;
  if (g->next) g->next->prev = g;
  a->all = g;
  return g;
}

int rp__agent_open(struct rp__agents *a, int fd, struct rp__str head, rp_error *err)
{
  static const struct rp__ws_handler handler = {.message = on_message, .drained = on_drained, .closed = on_closed};
  struct rp__settings *set = &a->srv->set;
  struct rp__ws_options o = {.max_message = RP_AGENT_MESSAGE_MAX,
                             .queue_bytes = set->queue_bytes,
                             .stall_ms = set->stall_ms,
                             .idle_ms = RP_AGENT_IDLE_MS};
  struct rp__agent *g = agent_new(a);
  if (!g) {
    close(fd);
    return rp__fail_nomem(err);
  }
  int rc = rp__ws_open(a->srv->loop, fd, head, &o, &handler, g, &g->ws, err);
  if (rc) {
    agent_free(g);
    return rc;
  }
  atomic_fetch_add(&a->n_sockets, 1);
  if (rp__timer_start(a->srv->loop, &g->timer, a->auth_ms)) rp__agent_close(g, 1011, "out of memory");
  return 0;
}

struct arrival {
  struct rp__job job;
  struct rp__agents *a;
  int fd;
  struct rp__buf head;
};

static void arrival_free(struct arrival *v)
{
  rp__buf_done(&v->head);
  if (v->fd >= 0) close(v->fd);
  free(v);
}

static void arrive(struct rp__job *job)
{
  struct arrival *v = (struct arrival *)job;
  if (!v->a->closing) {
    int fd = v->fd;
    v->fd = -1;
    rp__agent_open(v->a, fd, (struct rp__str){v->head.p, v->head.n}, NULL);
  }
  arrival_free(v);
}

int rp__handle_agent(struct rp__call *c, rp_error *err)
{
  if (!rp__auth_is_internal(c->srv->auth, c->req))
    return rp__fail_field(err, RP_E_FORBIDDEN, "x-internal-secret", "the internal secret is missing or wrong");
  struct arrival *v = calloc(1, sizeof *v);
  if (!v) return rp__fail_nomem(err);
  *v = (struct arrival){.job.fn = arrive, .a = c->srv->agents, .fd = -1, .head = RP_BUF(4096)};
  int rc = rp__ws_handshake(c->req, NULL, &v->head, err);
  if (!rc) rc = rp__call_take(c, 101, &v->fd, err);
  if (rc || !rp__loop_post(c->srv->loop, &v->job)) arrival_free(v);
  return rc ? rc : RP_CALL_TAKEN;
}

/* ---- all of them ---- */

static void on_tend(struct rp__job *job)
{
  struct rp__agents *a = (struct rp__agents *)(void *)((char *)job - offsetof(struct rp__agents, tend));
  atomic_store(&a->tending, false);
  if (!a->closing) rp__seats_tend(a);
}

int rp__agents_tend(struct rp__server *srv, rp_error *err)
{
  struct rp__agents *a = srv->agents;
  (void)err;
  if (!atomic_exchange(&a->tending, true) && !rp__loop_post(srv->loop, &a->tend)) atomic_store(&a->tending, false);
  return 0;
}

int rp__agents_new(struct rp__server *srv, struct rp__agents **ret, rp_error *err)
{
  struct rp__agents *a = calloc(1, sizeof *a);
  if (!a) return rp__fail_nomem(err);
  a->srv = srv;
  a->auth_ms = RP_AGENT_AUTH_MS;
  a->tend.fn = on_tend;
  pthread_mutex_init(&a->evict_lock, NULL);
  int rc = rp__roster_init(&a->roster, srv->db_path, err);
  if (rc) {
    rp__roster_done(&a->roster);
    rp__agent_evict_done(a);
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
  for (struct rp__agent *g = a->all, *next; g; g = next) {
    next = g->next;
    rp__agent_unsubscribe(g);
    agent_free(g);
  }
  for (size_t i = 0; i < RP_AGENT_BUCKETS; i++)
    while (a->bucket[i]) rp__seat_free(a, a->bucket[i]);
  rp__roster_done(&a->roster);
  rp__agent_evict_done(a);
  free(a);
}

void rp__agents_close(struct rp__agents *a, int code)
{
  a->closing = true;
  for (struct rp__agent *g = a->all, *next; g; g = next) {
    next = g->next;
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
  const struct {
    const char *name, *type, *help;
    long long value;
  } rows[] = {
      {"agents", "gauge", "Agents that are connected.", (long long)atomic_load(&a->n_seated)},
      {"agents_awaited", "gauge", "Sessions whose agent is to reconnect.", (long long)atomic_load(&a->n_awaited)},
      {"agent_messages_total", "counter", "Messages of agents.", atomic_load(&a->messages)},
      {"agent_refused_total", "counter", "Of these, those that were refused or not stored.", atomic_load(&a->refused)},
      {"agent_delivered_total", "counter", "Messages to agents.", atomic_load(&a->delivered)},
      {"agents_replaced_total", "counter", "Connections replaced by a newer one.", atomic_load(&a->replaced)},
      {"agents_lost_total", "counter", "Agents that did not come back in time.", atomic_load(&a->lost)},
      {"sessions_evicted_total", "counter", "Sessions trashed because their agent failed.", atomic_load(&a->evicted)},
  };
  for (size_t i = 0; i < RP_ARRAY_SIZE(rows); i++)
    rp__buf_printf(out, "# HELP reprise_server_%s %s\n# TYPE reprise_server_%s %s\nreprise_server_%s %lld\n",
                   rows[i].name, rows[i].help, rows[i].name, rows[i].type, rows[i].name, rows[i].value);
}
