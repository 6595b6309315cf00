/* SPDX-License-Identifier: Apache-2.0 */
/* Starts the parts of the server, and stops them in the opposite order. */
#include "server/server.h"

#include <errno.h>
#include <sys/eventfd.h>

#include "base/clock.h"
#include "base/file.h"
#include "net/peer.h"
#include "server/agent/agent.h"
#include "server/http/mcp-clients.h"
#include "server/http/route.h"
#include "server/channel/socket.h"
#include "server/live/sse.h"

#define DRAIN_STEP_MS 10
#define OUTBOX_END_MS 30000 /* at the end: for events that wait for the store */
#define OPENAPI_MAX (1024 * 1024)

/* Where the engine will look, for what stands beside the database. NULL without a file. */
static int find_db_path(const char *url, char **ret, rp_error *err)
{
  if (!url || !*url) url = getenv("REPRISE_DB");
  char *home RP_AUTOFREE = url && *url ? NULL : rp__home(), *path RP_AUTOFREE = NULL;
  *ret = NULL;
  if (home)
    path = rp__path_join(home, "reprise.db");
  else if (url && strncmp(url, "sqlite:", 7) == 0)
    path = strdup(url + 7);
  else
    return 0; /* whatever is wrong with it, the engine says so */
  return path ? rp__path_real(path, ret, err) : rp__fail_nomem(err);
}

/* What the outbox tells, in the log. */
static void on_notice(void *ctx, const rp_outbox_notice *n)
{
  struct rp__slog *log = ctx;
  const char *code = n->error ? rp_error_lookup(n->error->code)->name : NULL;
  switch (n->what) {
  case RP_OUTBOX_STORE_AWAY:
    rp__slog(log, RP_LOG_ERROR, "store_away", RP_F("code", code), RP_F("why", n->error->message));
    break;
  case RP_OUTBOX_STORE_BACK: rp__slog(log, RP_LOG_INFO, "store_back", RP_FN("away_ms", n->ms)); break;
  case RP_OUTBOX_EVENTS_LOST:
    rp__slog(log, RP_LOG_ERROR, "events_lost", RP_F("session", n->session), RP_FN("events", n->events),
             RP_F("code", code), RP_F("why", n->error->message));
    break;
  case RP_OUTBOX_GAP_TOLD: break; /* needs a gap_kind */
  }
}

/* ---- sockets ---- */

static int listen_on_list(struct rp__server *s, const char *list, rp_error *err)
{
  char address[RP_ADDRESS_TEXT];
  int rc = 0;
  for (const char *p = list + strspn(list, ", "); !rc && *p;) {
    size_t n = strcspn(p, ", ");
    if (n >= sizeof address) return rp__fail_field(err, RP_E_CONFIG, "listen", "an address of %zu bytes is none", n);
    snprintf(address, sizeof address, "%.*s", (int)n, p);
    rc = rp__listen_add(&s->listeners, address, err);
    p += n + strspn(p + n, ", ");
  }
  if (!rc && !s->listeners.n) rc = rp__fail_field(err, RP_E_CONFIG, "listen", "there is no address to listen on");
  return rc;
}

/* The sockets of the server before (*ret_before: how to tell it to go), unless there are some. */
static int take_over(struct rp__server *s, int *ret_before, rp_error *err)
{
  struct rp__listeners theirs;
  rp__listeners_init(&theirs);
  int rc = rp__control_take(s->db_path, &theirs, ret_before, err);
  if (!rc && !s->listeners.n) {
    s->listeners = theirs;
    return 0;
  }
  for (size_t i = 0; i < theirs.n; i++) theirs.v[i].owned = false; /* it has not gone yet */
  rp__listeners_close(&theirs);
  return rc;
}

/*
 * What systemd passed; with `replace`, what the server before hands over; the addresses asked for; those configured:
 * the first of these that is anything.
 */
static int make_listeners(struct rp__server *s, const struct rp__server_options *o, int *ret_before, rp_error *err)
{
  int rc = rp__listen_inherit(&s->listeners, err);
  if (!rc && o->replace && s->db_path) rc = take_over(s, ret_before, err);
  if (rc || s->listeners.n) return rc;
  if (!o->listen || !o->listen[0]) return listen_on_list(s, s->set.listen, err);
  for (size_t i = 0; !rc && o->listen[i]; i++) rc = rp__listen_add(&s->listeners, o->listen[i], err);
  return rc;
}

static bool only_loopback(const struct rp__server *s)
{
  for (size_t i = 0; i < s->listeners.n; i++)
    if (!s->listeners.v[i].loopback) return false;
  return true;
}

struct restoration {
  struct rp__task task;
  struct rp__server *s;
};

static void restore_agents(struct rp__task *t)
{
  struct restoration *r = (struct restoration *)t;
  rp_error err = {0};
  if (rp__agents_restore(r->s, &err)) rp__slog(&r->s->log, RP_LOG_ERROR, "agents", RP_F("error", err.message));
  free(r);
}

/* Only once no other server is there: agents that are connected to it would be taken for lost. */
static void start_restoring(void *ctx)
{
  struct rp__server *s = ctx;
  struct restoration *r = calloc(1, sizeof *r);
  if (r) *r = (struct restoration){.task.fn = restore_agents, .s = s};
  if (r && rp__pool_post(s->pool, &r->task)) return;
  if (!atomic_load(&s->draining)) rp__slog(&s->log, RP_LOG_ERROR, "agents", RP_F("error", "they are not awaited"));
  free(r);
}

static void on_replaced(void *ctx)
{
  struct rp__server *s = ctx;
  atomic_store(&s->replaced, true);
  (void)!write(s->replaced_fd, &(uint64_t){1}, sizeof(uint64_t));
}

/* Somebody else's server is an error, also one that hangs while it starts; for want of a control socket nobody is
 * turned away: it is for takeovers. */
static int start_control(struct rp__server *s, int before, rp_error *err)
{
  rp_error why = {0};
  struct rp__control_options o = {.db_path = s->db_path,
                                  .listeners = &s->listeners,
                                  .log = &s->log,
                                  .replaced = on_replaced,
                                  .alone = start_restoring,
                                  .ctx = s};
  int rc = s->db_path ? rp__control_open(&o, before, &s->control, &why) : 0;
  if (rc == RP_E_HELD || rc == RP_E_BUSY) {
    if (err) *err = why;
    return rc;
  }
  if (rc)
    rp__slog(&s->log, RP_LOG_WARN, "no_control_socket", RP_F("why", why.message),
             RP_F("means", "--replace can't take over from this server"));
  return 0;
}

/* ---- the beginning ---- */

static int count_token(void *ctx, const rp_token_info *info)
{
  (void)info;
  ++*(int *)ctx;
  return 0;
}

static int begin(struct rp__server *s, const struct rp__server_options *o, int *ret_before, rp_error *err)
{
  int rc = find_db_path(o->db, &s->db_path, err);
  /* Before anything of the database is touched: its server lives, and may be an older version. */
  if (!rc && !o->replace && s->db_path) rc = rp__control_check(s->db_path, err);
  if (!rc) {
    rp_options eo = {.db = o->db, .config = o->config, .clock = o->clock, .log = rp__slog_engine, .log_ctx = &s->log};
    rp__slog(&s->log, RP_LOG_INFO, "starting", RP_F("version", rp_version()),
             RP_F("db", s->db_path ? s->db_path : "memory:"));
    rc = rp_open(&eo, &s->engine, err);
    if (!rc) atomic_store(&s->log.masks, s->engine);
    if (!rc) rc = rp__server_settings_load(&s->set, s->engine, err);
    rp_outbox_policy outbox = {.memory_bytes = s->set.spill_bytes, .notice = on_notice, .ctx = &s->log};
    if (!rc) rc = rp_outbox_configure(s->engine, &outbox, err);
    if (!rc && o->threads) s->set.http_threads = o->threads;
  }
  if (!rc) rc = make_listeners(s, o, ret_before, err);
  if (!rc && *ret_before < 0) rc = start_control(s, -1, err);
  if (!rc) rp__server_settings_reachable(&s->set, only_loopback(s));
  if (!rc) {
    struct rp__buf out RP_AUTOBUF = RP_BUF(OPENAPI_MAX);
    rc = rp__openapi_write(&out);
    if (rc) return rp__fail(err, rc, "the description of the routes can't be made");
    s->openapi_len = out.n;
    s->openapi = rp__buf_take(&out);
    if (!s->openapi) return rp__fail_nomem(err);
  }
  if (!rc) rc = rp__pool_new(RP_POOL_THREADS, &s->pool, err);
  if (!rc) rc = rp__registry_new(s->engine, &s->registry, err);
  if (!rc) rc = rp__auth_new(s->engine, &s->set, s->db_path, &s->auth, err);
  if (!rc) rc = rp__loop_new(&s->loop, err);
  if (!rc) rc = rp__loop_start(s->loop, err);
  if (!rc) rc = rp__live_new(s, &s->live, err);
  if (!rc) rc = rp__sse_new(s, &s->sse, err);
  if (!rc) rc = rp__channels_new(s, &s->channels, err);
  if (!rc) rc = rp__agents_new(s, &s->agents, err);
  if (!rc) rc = rp__mcp_clients_new(s, RP_MCP_CLIENTS_MAX, &s->mcp, err);
  if (!rc) rc = rp__watchdog_new(&s->watchdog, err);
  if (!rc) rc = rp__work_new(s, rp__work_jobs, &s->work, err);
  if (!rc) rc = rp__live_start(s->live, err);
  if (!rc) rc = rp__work_start(s->work, err);
  if (!rc && *ret_before < 0) start_restoring(s);
  if (rc) return rc;
  struct rp__http_options http;
  int fds[RP_LISTEN_MAX];
  rp__serve_options(s, &http);
  for (size_t i = 0; i < s->listeners.n; i++) fds[i] = s->listeners.v[i].fd;
  http.listen_fds = fds;
  http.n_listen = s->listeners.n;
  return rp__http_open(&http, &s->http, err);
}

static int start_serving(struct rp__server *s, const struct rp__server_options *o, rp_error *err)
{
  int before = -1, rc = begin(s, o, &before, err);
  if (rc) {
    if (before >= 0) close(before);
    return rc;
  }
  s->started_ms = rp__server_now(s);
  atomic_store(&s->ready, true);
  /*
   * From here on two servers accept, until the old one has told its clients to come back (1012), which it does at once.
   * Each counts its own members, so one who leaves here may be the last one here and not the last there: those from
   * there are back before leave_s is over, and a session that somebody joined is not closed.
   */
  if (before >= 0) {
    rp__slog(&s->log, RP_LOG_INFO, "took_over", RP_FN("from", rp__control_peer(before)));
    start_control(s, before, NULL);
    rp__control_go(before);
    if (!s->control) start_restoring(s);
  }
  int tokens = 0;
  char status[RP_ADDRESS_TEXT + 64];
  for (size_t i = 0; i < s->listeners.n; i++)
    rp__slog(&s->log, RP_LOG_INFO, "listening", RP_F("address", s->listeners.v[i].address));
  if (!only_loopback(s) && rp_token_list(s->engine, count_token, &tokens, NULL) == 0 && !tokens)
    rp__slog(&s->log, RP_LOG_WARN, "no_token",
             RP_F("means", "nobody on another machine can use it until `reprise token create`"));
  /* Whether others of this machine can reach it: a unix socket is a file, with its own rights. */
  bool tcp = false;
  for (size_t i = 0; i < s->listeners.n; i++) tcp |= strncmp(s->listeners.v[i].address, "unix:", 5) != 0;
  if (tcp && s->set.local != RP_LOCAL_UID)
    rp__slog(&s->log, RP_LOG_WARN, "local_users",
             RP_F("means",
                  "every user of this machine may use it without a token; 'local = uid' in the configuration, or "
                  "--listen unix:PATH, keeps it to your own"));
  else if (tcp && !rp__peer_is_told())
    rp__slog(&s->log, RP_LOG_WARN, "local_unknown",
             RP_F("means", "local = uid, but the kernel does not tell users here: TCP needs a token, whoever comes"));
  rp__slog(&s->log, RP_LOG_INFO, "ready", RP_FN("pid", getpid()), RP_FN("threads", s->set.http_threads));
  snprintf(status, sizeof status, "READY=1\nSTATUS=serving on %s", s->listeners.v[0].address);
  rp__notify(status);
  return 0;
}

int rp__server_open(const struct rp__server_options *o, struct rp__server **ret, rp_error *err)
{
  struct rp__server *s = calloc(1, sizeof *s);
  if (!s) return rp__fail_nomem(err);
  rp__slog_init(&s->log);
  s->log.format = o->log_format;
  s->log.level = o->log_level;
  s->log.access = o->access_log;
  s->hurry = o->hurry;
  s->bounded = o->bounded;
  s->clock = o->clock ? *o->clock : rp__system_clock;
  rp__listeners_init(&s->listeners);
  s->replaced_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  int rc = s->replaced_fd < 0 ? rp__fail_errno(err, errno, "no event can be waited for") : start_serving(s, o, err);
  if (rc) {
    rp__server_close(s, 1001);
    return rc;
  }
  *ret = s;
  return 0;
}

/* ---- the end ---- */

struct goodbye {
  struct rp__job job;
  struct rp__server *s;
  int code;
};

static void say_goodbye(struct rp__job *job)
{
  struct goodbye *g = (struct goodbye *)job;
  if (g->s->channels) rp__channels_close(g->s->channels, g->code);
  if (g->s->agents) rp__agents_close(g->s->agents, g->code);
  if (g->s->sse) rp__sse_close(g->s->sse);
  free(g);
}

/* A connection that has asked for nothing yet may be about to: it came before anybody could know. */
static bool is_idle(const struct rp__server *s, int waited_ms)
{
  if (s->hurry && atomic_load(s->hurry)) return true;
  if (s->http && (rp__http_pending(s->http) || (waited_ms < RP_SERVER_GRACE_MS && rp__http_connections(s->http))))
    return false;
  if (s->channels && rp__channels_sockets(s->channels)) return false;
  if (s->sse && rp__sse_streams(s->sse)) return false;
  return !s->agents || !rp__agents_connected(s->agents);
}

/*
 * What is not closed now is abandoned in an hour. A server that takes over may have those back who left a moment ago,
 * so only what nobody came back for in time is closed then.
 */
static void close_left(struct rp__server *s)
{
  if (s->mcp) rp__mcp_clients_stop(s->mcp, RP_SERVER_LEAVE_MS);
  if (!s->channels || !s->pool) return;
  size_t open = rp__channels_leave_now(s, !atomic_load(&s->replaced), RP_SERVER_LEAVE_MS);
  if (open)
    rp__slog(&s->log, RP_LOG_WARN, "left_open", RP_FN("sessions", open),
             RP_F("means", "those who were in them left; they end by abandonment"));
}

void rp__server_stopping(struct rp__server *s)
{
  int64_t ms = s->set.stop_ms ? s->set.stop_ms : RP_SERVER_STOP_MS;
  if (s->bounded && !s->stop) s->stop = rp__stop_begin(&s->log, ms, s->hurry);
}

int64_t rp__server_close(struct rp__server *s, int code)
{
  if (!s) return 0;
  bool served = atomic_exchange(&s->ready, false);
  rp__server_stopping(s);
  atomic_store(&s->draining, true);
  if (served) {
    rp__notify("STOPPING=1\nSTATUS=finishing what was begun");
    rp__slog(&s->log, RP_LOG_INFO, "stopping", RP_FN("connections", rp__http_connections(s->http)),
             RP_FN("sockets", rp__channels_sockets(s->channels)));
  }
  if (s->http) rp__http_quiesce(s->http);
  struct goodbye *g = s->loop ? calloc(1, sizeof *g) : NULL;
  if (g) *g = (struct goodbye){.job.fn = say_goodbye, .s = s, .code = code};
  if (g && !rp__loop_post(s->loop, &g->job)) free(g);
  const struct timespec step = {.tv_nsec = DRAIN_STEP_MS * 1000000L};
  for (int ms = 0; ms < RP_SERVER_DRAIN_MS && !is_idle(s, ms); ms += DRAIN_STEP_MS) nanosleep(&step, NULL);
  /* Who hands work on ends first: HTTP needs the pool for its answers, the pool and the loop give to each other. */
  rp__stop_step(s->stop, "requests");
  rp__http_close(s->http);
  rp__stop_step(s->stop, "background work");
  rp__work_stop(s->work);
  rp__stop_step(s->stop, "sessions that were left");
  close_left(s);
  rp__stop_step(s->stop, "the control socket");
  rp__control_close(s->control); /* not before: from here on another server may begin */
  rp__stop_step(s->stop, "the publisher");
  if (s->live) rp__live_stop(s->live);
  rp__stop_step(s->stop, "the pool");
  rp__pool_stop(s->pool);
  rp__stop_step(s->stop, "the loop");
  if (s->loop) rp__loop_stop(s->loop);
  rp__stop_step(s->stop, "events that wait for the store");
  rp_outbox_counts counts = {0};
  int64_t lost = 0;
  if (s->engine) {
    rp_flush(s->engine, NULL);
    bool empty = rp_outbox_drain(s->engine, OUTBOX_END_MS);
    rp_outbox_counts_get(s->engine, &counts);
    lost = empty ? counts.lost : counts.lost + counts.waiting_events;
  }
  rp__stop_step(s->stop, "the store");
  if (s->engine) rp_flush(s->engine, NULL);
  rp__mcp_clients_free(s->mcp);
  rp__agents_free(s->agents);
  rp__channels_free(s->channels);
  rp__sse_free(s->sse);
  rp__live_free(s->live);
  rp__work_free(s->work);
  rp__watchdog_free(s->watchdog);
  rp__pool_free(s->pool);
  rp__loop_free(s->loop);
  rp__auth_free(s->auth);
  rp__registry_free(s->registry);
  rp__listeners_close(&s->listeners);
  atomic_store(&s->log.masks, NULL);
  rp_close(s->engine);
  rp__server_settings_done(&s->set);
  if (s->replaced_fd >= 0) close(s->replaced_fd);
  free(s->openapi);
  free(s->db_path);
  if (served) rp__slog(&s->log, RP_LOG_INFO, "stopped", RP_FN("lost", lost));
  rp__stop_end(s->stop);
  rp__slog_done(&s->log);
  free(s);
  return lost;
}
