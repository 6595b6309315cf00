/* SPDX-License-Identifier: Apache-2.0 */
/* Seats: the status of a session's agent, its way into the journal, and the time after a connection is lost. */
#include "server/agent-impl.h"
#include "server/socket.h"

#define TEXT_MAX 8192

/* ---- the table ---- */

static struct rp__seat **bucket_of(struct rp__agents *a, const char *id)
{
  uint32_t h = 2166136261U;
  for (const char *p = id; *p; p++) h = (h ^ (unsigned char)*p) * 16777619U;
  return &a->bucket[h % RP_AGENT_BUCKETS];
}

struct rp__seat *rp__seat_find(struct rp__agents *a, const char *id)
{
  struct rp__seat *s = *bucket_of(a, id);
  while (s && strcmp(rp__entry_id(s->entry), id) != 0) s = s->next;
  return s;
}

struct rp__seat *rp__seat_new(struct rp__agents *a, struct rp__entry *e)
{
  struct rp__seat *s = calloc(1, sizeof *s);
  if (!s) {
    rp__registry_put(a->srv->registry, e);
    return NULL;
  }
  struct rp__seat **bucket = bucket_of(a, rp__entry_id(e));
  *s = (struct rp__seat){.next = *bucket, .entry = e};
  *bucket = s;
  return s;
}

void rp__seat_deadline(struct rp__agents *a, struct rp__seat *s, int64_t deadline_ms)
{
  if (!s->deadline_ms && deadline_ms) atomic_fetch_add(&a->n_awaited, 1);
  if (s->deadline_ms && !deadline_ms) atomic_fetch_sub(&a->n_awaited, 1);
  s->deadline_ms = deadline_ms;
}

void rp__seat_free(struct rp__agents *a, struct rp__seat *s)
{
  struct rp__seat **at = bucket_of(a, rp__entry_id(s->entry));
  while (*at != s) at = &(*at)->next;
  *at = s->next;
  rp__seat_deadline(a, s, 0);
  rp__registry_put(a->srv->registry, s->entry);
  free(s);
}

bool rp__seat_alive(const char *status)
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

/* L-12: once per crossing. */
static void tell_budget(struct rp__agent *g, const rp_ack *ack)
{
  struct rp__buf out RP_AUTOBUF = RP_BUF(256);
  struct rp__jw w = RP_JW(&out);
  if (!(ack->budget_share > 0) || g->budget_low == ack->budget_low) return;
  g->budget_low = ack->budget_low;
  if (!g->budget_low) return;
  rp__jw_object(&w);
  rp__jw_kstr(&w, "type", "budget");
  rp__jw_kdouble(&w, "share", ack->budget_share);
  rp__jw_end_object(&w);
  rp__agent_send(g, out.err ? NULL : rp__ws_text(out.p, out.n));
}

static void send_ack(struct rp__agent *g, const struct flight *f)
{
  static const char *const names[] = {[RP_MEMORY] = "memory", [RP_OS] = "os", [RP_DISK] = "disk"};
  struct rp__buf out RP_AUTOBUF = RP_BUF(256);
  struct rp__jw w = RP_JW(&out);
  rp__jw_object(&w);
  rp__jw_kstr(&w, "type", "ack");
  rp__jw_ki64(&w, "client_seq", f->client_seq);
  rp__jw_key(&w, "seq");
  if (f->ack.seq)
    rp__jw_i64(&w, f->ack.seq);
  else
    rp__jw_null(&w);
  rp__jw_kstr(&w, "durability", names[f->ack.durability ? f->ack.durability : RP_DISK]);
  if (f->ack.repeated) rp__jw_kbool(&w, "repeated", true);
  if (f->ack.budget_low) rp__jw_kdouble(&w, "budget_share", f->ack.budget_share);
  rp__jw_end_object(&w);
  rp__agent_send(g, out.err ? NULL : rp__ws_text(out.p, out.n));
}

static void landed(struct rp__job *job)
{
  struct flight *f = (struct flight *)job;
  struct rp__agent *g = f->g;
  if (f->err.code) {
    atomic_fetch_add_explicit(&f->a->refused, 1, memory_order_relaxed);
    rp__slog(&f->a->srv->log, RP_LOG_DEBUG, "agent_not_stored", RP_F("code", rp_error_lookup(f->err.code)->name));
  }
  if (!f->err.code) rp__channels_budget(f->a->srv, f->session_id, &f->ack);
  if (g && !f->err.code) tell_budget(g, &f->ack);
  if (g && f->err.code)
    rp__agent_send_error(g, &f->err, f->client_seq);
  else if (g && f->client_seq)
    send_ack(g, f);
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

static int submit(struct rp__agents *a, struct rp__seat *s, struct flight *f, const rp_event *events, size_t n,
                  rp_durability durability, bool numbered, rp_error *err)
{
  struct rp__append p = {.entry = s->entry, .events = events, .n = n, .options = RP_APPEND_DEFAULTS};
  p.options.durability = durability;
  p.options.runtime = true;
  p.options.client_seq = f->client_seq;
  if (f->client_seq) p.options.client_id = RP_AGENT_CLIENT;
  p.accepts_memory = !numbered && durability != RP_OS; /* who numbers can send again; chunks come again as a whole */
  p.done = on_stored;
  p.ctx = f;
  return rp__spill_append(a->srv->spill, &p, err);
}

int rp__seat_store(struct rp__agents *a, struct rp__seat *s, struct rp__agent *g, const rp_event *events, size_t n,
                   rp_durability durability, int64_t client_seq, rp_error *err)
{
  struct flight *f = calloc(1, sizeof *f);
  if (!f) return rp__fail_nomem(err);
  size_t bytes = 0;
  for (size_t i = 0; i < n; i++) bytes += events[i].body_len;
  *f = (struct flight){
      .job.fn = landed, .loop = a->srv->loop, .a = a, .g = g, .client_seq = RP_MAX(client_seq, 0), .bytes = bytes};
  snprintf(f->session_id, sizeof f->session_id, "%s", rp__entry_id(s->entry));
  if (g) {
    g->flying++;
    g->flying_bytes += bytes;
  }
  int rc = submit(a, s, f, events, n, durability, client_seq != 0, err);
  if (!rc) return 0;
  free(f);
  if (g) {
    g->flying--;
    g->flying_bytes -= bytes;
  }
  return rc;
}

void rp__seat_set(struct rp__agents *a, struct rp__seat *s, const char *status, const char *reason, const char *message)
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
                                : rp__seat_store(a, s, NULL, events, message ? 2 : 1, RP_DEFAULT, 0, &err);
  if (rc)
    rp__slog(&a->srv->log, RP_LOG_WARN, "agent_status_lost", RP_F("session", rp__entry_id(s->entry)),
             RP_F("status", status), RP_F("error", err.message));
}

/* ---- time ---- */

void rp__seat_await(struct rp__agents *a, struct rp__seat *s, bool restarted)
{
  if (!rp__seat_alive(s->status)) {
    rp__seat_free(a, s);
    return;
  }
  int64_t grace = rp__settings_ms(&a->srv->set, a->srv->engine, rp__entry_scope(s->entry), "reconnect_s");
  rp__seat_deadline(a, s, rp__loop_now(a->srv->loop) + grace);
  s->restarted = restarted;
  if (strcmp(s->status, "reconnecting") == 0) return;
  rp__seat_set(a, s, "reconnecting", restarted ? "the server was restarted" : "the agent's connection was lost", NULL);
}

static void give_up(struct rp__agents *a, struct rp__seat *s)
{
  static const char text[] = "Session agent disconnected unexpectedly";
  atomic_fetch_add_explicit(&a->lost, 1, memory_order_relaxed);
  rp__slog(&a->srv->log, RP_LOG_WARN, "agent_lost", RP_F("session", rp__entry_id(s->entry)));
  rp__seat_set(a, s, "error", text, text);
  rp__seat_free(a, s);
}

/* One that is awaited is kept alive too: a run without heartbeats would end, and a session without a key with it. */
void rp__seats_tend(struct rp__agents *a)
{
  int64_t now = rp__loop_now(a->srv->loop);
  for (size_t i = 0; i < RP_AGENT_BUCKETS; i++)
    for (struct rp__seat *s = a->bucket[i], *next; s; s = next) {
      next = s->next;
      rp_heartbeat(rp__entry_session(s->entry), NULL);
      if (!s->agent && s->deadline_ms && now >= s->deadline_ms) give_up(a, s);
    }
}
