/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Agent sessions: the status of a session's agent, its events in the journal, the time after a lost connection.
 *
 * After the server's start (C-01, C-04) sessions that had an agent await it again. Sessions whose agent was terminated
 * do not. Sessions whose agent failed are again due for the trash.
 *
 * A session whose agent has failed goes to the trash after evict_s (C-03). That is audited, and untrash undoes it. When
 * the agent is started again before, the session stays; it also stays when it has ended, is on hold, or has a living
 * process in it. The entries are in memory, with times of the server's wall clock. After a restart they are made again
 * from the roster and the journals.
 */
#include "json/ack.h"
#include "server/agent/agent-session.h"

#include "base/ticks.h"
#include "server/channel/socket.h"
#include "server/http/handle.h"

#define EVICTED "its agent failed, and nobody started it again"
#define TEXT_MAX 8192
#define BEAT_MS 1000 /* between two heartbeats of a session; the engine writes only those that are due */

/* ---- the entry ---- */

struct rp__agent_session *rp__agent_session_find(struct rp__agents *a, const char *id)
{
  const rp_presence_query q = {.kind = RP_PRESENCE_AGENT, .session = id};
  void *s = NULL;
  return rp_presence_find(a->srv->engine, &q, NULL, &s) ? s : NULL;
}

static void release(void *ctx, void *host)
{
  struct rp__agents *a = ctx;
  struct rp__agent_session *s = host;
  rp__registry_put(a->srv->registry, s->entry);
  free(s);
}

/* A session whose agent is awaited gets heartbeats too: without them its run would end, and without a key it too. */
int rp__agent_session_join(struct rp__agents *a, struct rp__agent_session *s, rp_error *err)
{
  rp_presence_row row = {.number = rp_session_number(s->entry->s),
                         .kind = RP_PRESENCE_AGENT,
                         .end = RP_PRESENCE_FAIL,
                         .always = true,
                         .heartbeat_ms = BEAT_MS,
                         .grace_ms = -1};
  const rp_presence_host host = {s->entry->s, s, release, a};
  snprintf(row.session, sizeof row.session, "%s", s->entry->id);
  snprintf(row.scope, sizeof row.scope, "%s", s->entry->scope);
  return rp_presence_join(a->srv->engine, &row, &host, true, rp__ticks_ms(), &s->presence, NULL, err);
}

struct rp__agent_session *rp__agent_session_new(struct rp__agents *a, struct rp__entry *e)
{
  struct rp__agent_session *s = calloc(1, sizeof *s);
  if (s) s->entry = e;
  if (s && rp__agent_session_join(a, s, NULL) == 0) return s;
  rp__registry_put(a->srv->registry, e);
  free(s);
  return NULL;
}

void rp__agent_session_free(struct rp__agents *a, struct rp__agent_session *s)
{
  rp_presence_leave(a->srv->engine, s->presence, true, -1, 0);
}

bool rp__agent_session_alive(const char *status)
{
  return *status && strcmp(status, "error") != 0 && strcmp(status, "terminated") != 0;
}

/* ---- into the journal ---- */

struct flight {
  struct rp__job job;
  struct rp__loop *loop;
  struct rp__agents *a;
  struct rp__agent *g; /* or NULL: nobody waits for it */
  int64_t client_seq;
  size_t bytes;
  rp_ack ack;
  rp_error err;
  char session_id[RP_ID_MAX + 1];
};

static void landed(struct rp__job *job)
{
  struct flight *f = (struct flight *)job;
  struct rp__agent *g = f->g;
  if (f->err.code) {
    atomic_fetch_add_explicit(&f->a->refused, 1, memory_order_relaxed);
    rp__slog(&f->a->srv->log, RP_LOG_DEBUG, "agent_not_stored", RP_F("code", rp_error_lookup(f->err.code)->name));
  }
  if (!f->err.code) rp__channels_budget(f->a->srv, f->session_id, &f->ack);
  /* L-12: once per crossing. */
  if (g && !f->err.code && f->ack.budget_share > 0 && g->budget_low != f->ack.budget_low) {
    struct rp__buf out RP_AUTOBUF = RP_BUF(256);
    struct rp__jw w = RP_JW(&out);
    g->budget_low = f->ack.budget_low;
    rp__jw_object(&w);
    rp__jw_kstr(&w, "type", "budget");
    rp__jw_kdouble(&w, "share", f->ack.budget_share);
    rp__jw_end_object(&w);
    if (g->budget_low) rp__agent_send(g, out.err ? NULL : rp__ws_text(out.p, out.n));
  }
  if (g && f->err.code) {
    rp__agent_send_error(g, &f->err, f->client_seq);
  } else if (g && f->client_seq) {
    struct rp__buf out RP_AUTOBUF = RP_BUF(256);
    struct rp__jw w = RP_JW(&out);
    if (!f->ack.durability) f->ack.durability = RP_DISK;
    rp__jw_object(&w);
    rp__jw_kstr(&w, "type", "ack");
    rp__jw_ki64(&w, "client_seq", f->client_seq);
    rp__ack_members(&w, &f->ack, false);
    rp__jw_end_object(&w);
    rp__agent_send(g, out.err ? NULL : rp__ws_text(out.p, out.n));
  }
  if (g && f->err.code == RP_E_ENDED) rp__agent_close(g, 1000, "Session is closed");
  if (g) rp__agent_landed(g, f->bytes);
  free(f);
}

/* Any thread. What is refused at the loop's end is nobody's: rp__agents_free frees the connection. */
static void on_stored(void *ctx, const rp_ack *ack, const rp_error *err)
{
  struct flight *f = ctx;
  if (ack) f->ack = *ack;
  if (err && err->code) f->err = *err;
  if (!rp__loop_post(f->loop, &f->job)) free(f);
}

int rp__agent_session_store(struct rp__agents *a, struct rp__agent_session *s, struct rp__agent *g,
                            const rp_event *events, size_t n, rp_durability durability, int64_t client_seq,
                            rp_error *err)
{
  struct flight *f = calloc(1, sizeof *f);
  if (!f) return rp__fail_nomem(err);
  size_t bytes = 0;
  for (size_t i = 0; i < n; i++) bytes += events[i].body_len;
  *f = (struct flight){
      .job.fn = landed, .loop = a->srv->loop, .a = a, .g = g, .client_seq = RP_MAX(client_seq, 0), .bytes = bytes};
  snprintf(f->session_id, sizeof f->session_id, "%s", s->entry->id);
  if (g) {
    g->flying++;
    g->flying_bytes += bytes;
  }
  rp_append_options o = {0};
  o.durability = durability;
  o.runtime = true;
  o.client_seq = f->client_seq;
  if (f->client_seq) o.client_id = RP_AGENT_CLIENT;
  o.accepts_memory = !client_seq && durability != RP_OS; /* who numbers can send again; chunks come again as a whole */
  int rc = rp_append_many_async(s->entry->s, events, n, &o, on_stored, f, err);
  if (!rc) return 0;
  free(f);
  if (g) {
    g->flying--;
    g->flying_bytes -= bytes;
  }
  return rc;
}

void rp__agent_session_set(struct rp__agents *a, struct rp__agent_session *s, const char *status, const char *reason,
                           const char *message)
{
  struct rp__buf body RP_AUTOBUF = RP_BUF(TEXT_MAX), said RP_AUTOBUF = RP_BUF(TEXT_MAX);
  struct rp__jw w = RP_JW(&body), v = RP_JW(&said);
  rp_error err = {0};
  rp__jw_object(&w);
  rp__jw_kstr(&w, "status", status);
  rp__jw_kstr(&w, "reason", reason);
  rp__jw_end_object(&w);
  rp__jw_object(&v);
  rp__jw_kstr(&v, "role", "system");
  rp__jw_kstr(&v, "content", message);
  rp__jw_kstr(&v, "source", "server");
  rp__jw_end_object(&v);
  const rp_event events[] = {{.kind = "runtime", .body = body.p, .body_len = body.n},
                             {.kind = "message", .body = said.p, .body_len = said.n}};
  snprintf(s->status, sizeof s->status, "%s", status);
  s->unsaved = false;
  if (strcmp(status, "error") == 0) rp__agent_evict_later(a, s->entry, rp__server_now(a->srv));
  int rc = body.err || said.err ? rp__fail_nomem(&err)
                                : rp__agent_session_store(a, s, NULL, events, message ? 2 : 1, RP_DEFAULT, 0, &err);
  if (rc)
    rp__slog(&a->srv->log, RP_LOG_WARN, "agent_status_lost", RP_F("session", s->entry->id), RP_F("status", status),
             RP_F("error", err.message));
}

/* ---- time ---- */

void rp__agent_session_await(struct rp__agents *a, struct rp__agent_session *s, bool restarted)
{
  if (!rp__agent_session_alive(s->status)) {
    rp__agent_session_free(a, s);
    return;
  }
  int64_t grace = rp__server_settings_ms(&a->srv->set, a->srv->engine, s->entry->scope, "reconnect_s");
  rp_presence_leave(a->srv->engine, s->presence, true, grace, rp__ticks_ms());
  s->restarted = restarted;
  if (strcmp(s->status, "reconnecting") == 0) return;
  rp__agent_session_set(a, s, "reconnecting",
                        restarted ? "the server was restarted" : "the agent's connection was lost", NULL);
}

void rp__agent_sessions_give_up(struct rp__agents *a)
{
  static const char text[] = "Session agent disconnected unexpectedly";
  const rp_presence_query q = {.kind = RP_PRESENCE_AGENT, .due_by = rp__ticks_ms()};
  rp_presence *p;
  void *s;
  while ((p = rp_presence_take(a->srv->engine, &q, NULL, &s))) {
    atomic_fetch_add_explicit(&a->lost, 1, memory_order_relaxed);
    rp__slog(&a->srv->log, RP_LOG_WARN, "agent_lost", RP_F("session", (((struct rp__agent_session *)s)->entry)->id));
    rp__agent_session_set(a, s, "error", text, text);
    rp_presence_settle(a->srv->engine, p, -1);
  }
}

/* ---- after a restart ---- */

struct restored {
  struct rp__job job;
  struct rp__agents *a;
  struct rp__entry *entry;
  struct rp__agent_facts facts;
};

/* In the loop. The agent may have been faster. */
static void await(struct rp__job *job)
{
  struct restored *x = (struct restored *)job;
  struct rp__agents *a = x->a;
  struct rp__agent_session *s = NULL;
  if (a->closing || rp__agent_session_find(a, x->entry->id))
    rp__registry_put(a->srv->registry, x->entry);
  else
    s = rp__agent_session_new(a, x->entry);
  if (s) {
    snprintf(s->status, sizeof s->status, "%s", x->facts.status);
    s->delivered = x->facts.delivered;
    rp__agent_session_await(a, s, true);
  }
  free(x);
}

/* *ret_stays: it is still one of the roster's, awaited (*ret_alive) or to be evicted. */
static int restore(struct rp__agents *a, const char *id, bool *ret_alive, bool *ret_stays, rp_error *err)
{
  struct rp__shown row;
  struct restored *x = calloc(1, sizeof *x);
  if (!x) return rp__fail_nomem(err);
  *x = (struct restored){.job.fn = await, .a = a};
  int rc = rp__registry_get(a->srv->registry, id, &x->entry, err);
  if (!rc) rc = rp__agent_facts(a->srv, x->entry, &x->facts, NULL, err);
  bool failed = !rc && strcmp(x->facts.status, "error") == 0;
  *ret_alive = !rc && rp__agent_session_alive(x->facts.status);
  *ret_stays = *ret_alive || failed;
  if (failed && rp__show(a->srv->engine, id, &row, NULL) == 0) rp__agent_evict_later(a, x->entry, row.last_activity_at);
  if (*ret_alive && rp__loop_post(a->srv->loop, &x->job)) return 0;
  rp__registry_put(a->srv->registry, x->entry);
  free(x);
  return rc;
}

int rp__agents_restore(struct rp__server *srv, rp_error *err)
{
  struct rp__agents *a = srv->agents;
  struct rp__roster_row *rows RP_AUTOFREE = NULL;
  size_t n = 0, found = 0;
  int rc = rp__roster_load(&a->roster, err);
  if (!rc) rc = rp__roster_copy(&a->roster, &rows, &n, err);
  for (size_t i = 0; !rc && i < n; i++) {
    rp_error why = {0};
    bool alive = false, stays = false;
    int one = restore(a, rows[i].id, &alive, &stays, &why);
    /* There is something left to await also when the store just can't be read. */
    if (one ? one == RP_E_ENDED || one == RP_E_SESSION_NOT_FOUND : !stays)
      rp__roster_remove(&a->roster, rows[i].id);
    else if (one)
      rp__slog(&srv->log, RP_LOG_WARN, "agent_not_restored", RP_F("session", rows[i].id), RP_F("error", why.message));
    found += alive;
  }
  if (!rc && n) rp__slog(&srv->log, RP_LOG_INFO, "agents_awaited", RP_FN("sessions", found));
  return !rc && n ? rp__roster_save(&a->roster, err) : rc;
}

/* ---- to the trash ---- */

/* Without memory for an entry the session is evicted after the next restart. */
void rp__agent_evict_later(struct rp__agents *a, const struct rp__entry *e, int64_t failed_ms)
{
  rp_engine *engine = a->srv->engine;
  int64_t after = rp__server_settings_ms(&a->srv->set, engine, e->scope, "evict_s");
  rp_presence_row row = {
      .kind = RP_PRESENCE_FAILED_AGENT, .end = RP_PRESENCE_TRASH, .grace_ms = after, .deadline = failed_ms + after};
  if (!after) return; /* never */
  snprintf(row.session, sizeof row.session, "%s", e->id);
  snprintf(row.scope, sizeof row.scope, "%s", e->scope);
  const rp_presence_query q = {.kind = RP_PRESENCE_FAILED_AGENT, .session = row.session};
  rp_presence *known = rp_presence_take(engine, &q, NULL, NULL);
  if (known)
    rp_presence_settle(engine, known, row.deadline);
  else
    RP_IGNORE(rp_presence_put(engine, &row, NULL, failed_ms, NULL, NULL)); /* without memory: after the next restart */
}

int rp__agents_evict(struct rp__server *srv, rp_error *err)
{
  struct rp__agents *a = srv->agents;
  const rp_presence_query q = {.kind = RP_PRESENCE_FAILED_AGENT, .due_by = rp__server_now(srv)};
  rp_presence_row row;
  rp_presence *p;
  bool any = false;
  int rc = 0;
  while (!rc && !atomic_load(&srv->draining) && (p = rp_presence_take(srv->engine, &q, &row, NULL))) {
    struct rp__agent_facts facts;
    struct rp__entry *e = NULL;
    rc = rp__registry_get(srv->registry, row.session, &e, err);
    if (!rc) rc = rp__agent_facts(srv, e, &facts, NULL, err);
    bool failed = !rc && strcmp(facts.status, "error") == 0;
    if (failed) rc = rp__trash_session(srv, e, EVICTED, "evicted", err);
    bool evicted = failed && !rc;
    if (evicted) rp__registry_forget(srv->registry, row.session);
    rp__registry_put(srv->registry, e);
    if (rc == RP_E_ENDED || rc == RP_E_SESSION_NOT_FOUND || rc == RP_E_ON_HOLD || rc == RP_E_HELD)
      rc = 0; /* it stays */
    rp_presence_settle(srv->engine, p, rc ? row.deadline : -1);
    if (!evicted) continue;
    any = true;
    atomic_fetch_add(&a->evicted, 1);
    rp__slog(&srv->log, RP_LOG_WARN, "session_evicted", RP_F("session", row.session), RP_F("why", EVICTED));
    rp__roster_remove(&a->roster, row.session);
  }
  return !rc && any ? rp__roster_save(&a->roster, err) : rc;
}
