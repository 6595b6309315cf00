/* SPDX-License-Identifier: Apache-2.0 */
/* Between HTTP and the routes: checks the caller's rights, finds the route, its session and body, answers, and logs. */
#include "base/text.h"
#include "base/ticks.h"
#include "net/uri.h"
#include "net/ws.h"
#include "server/agent/agent.h"
#include "server/http/route.h"
#include "server/server.h"
#include "server/channel/socket.h"
#include "server/live/sse.h"

#define JSON_DEPTH (RP_DEPTH_MAX + 4) /* of a request around its events */
#define BARE_BODY_MAX 65536           /* bytes of a body that nobody wants */
#define PATH_TOLD 1024                /* bytes of a path in the log */
#define UPGRADE_HEAD_MAX 4096         /* bytes of a WebSocket's handshake */

/* What pages of allowed origins may send, and read of answers. */
#define ALLOWED_HEADERS                                                                                                \
  "Authorization, Content-Type, Idempotency-Key, Last-Event-ID, MCP-Session-Id, MCP-Protocol-Version, Mcp-Method, "    \
  "Mcp-Name"
#define EXPOSED_HEADERS "Location, MCP-Session-Id"

/* The place of a parameter among those of the route, behind them those that many routes have; or -1. */
static int place_of(const struct rp__route *route, const char *name)
{
  int i = 0;
  while (i < RP_ROUTE_QUERY && route->query[i].name && strcmp(route->query[i].name, name) != 0) i++;
  if (i < RP_ROUTE_QUERY && route->query[i].name) return i;
  if (strcmp(name, "token") == 0) return RP_ROUTE_QUERY;
  return strcmp(name, "scope") == 0 && rp__route_names_session(route) ? RP_ROUTE_QUERY + 1 : -1;
}

static int check_query(const struct rp__http_call *c, rp_error *err)
{
  struct rp__str name, value, query = rp__request_query(c->req);
  char text[64];
  unsigned seen = 0;
  for (size_t at = 0; rp__uri_next(query, &at, &name, &value);) {
    if (rp__uri_decode(name, true, text, sizeof text))
      return rp__fail(err, RP_E_USAGE, "the query is not properly encoded");
    int place = place_of(c->route, text);
    const char *shown = rp__text_shown(text);
    if (place < 0)
      return rp__fail_field(err, RP_E_USAGE, shown, "%s has no query parameter '%s'", c->route->path, shown);
    if (seen & 1U << place) return rp__fail_field(err, RP_E_USAGE, text, "the query has '%s' twice", text);
    seen |= 1U << place;
  }
  return 0;
}

/* A browser's preflight: allowed origins may use what the path takes. */
static bool preflight(struct rp__server *srv, struct rp__request *r, const char *allowed)
{
  const char *origin = rp__auth_origin(srv->auth, r);
  if (rp__request_method(r) != RP_OPTIONS || !origin || !allowed[0]) return false;
  struct rp__answer a = {
      .status = 204,
      .headers = {{"Access-Control-Allow-Origin", origin},
                  {"Access-Control-Allow-Methods", allowed},
                  {"Access-Control-Allow-Headers", ALLOWED_HEADERS},
                  {"Access-Control-Max-Age", "600"},
                  {"Vary", "Origin"}},
  };
  rp__request_answer(r, &a);
  return true;
}

static int admit(void *ctx, struct rp__request *r, size_t *max_body, rp_error *err)
{
  struct rp__server *srv = ctx;
  char allowed[64];
  struct rp__http_call *c = malloc(sizeof *c);
  if (!c) return rp__fail_nomem(err);
  *c = (struct rp__http_call){.srv = srv, .req = r, .out = RP_BUF(RP_CALL_OUT_MAX), .status = 200, .file = -1};
  c->type = "application/json";
  c->w = RP_JW(&c->out);
  rp__request_set_user(r, c);
  atomic_fetch_add_explicit(&srv->requests, 1, memory_order_relaxed);
  int rc = rp__auth_place(srv->auth, r, err);
  if (!rc) rc = rp__route_find(rp__request_method(r), rp__request_path(r), &c->route, c->param, allowed, err);
  if (rc == RP_E_METHOD) {
    *max_body = RP_MIN(*max_body, BARE_BODY_MAX);
    if (preflight(srv, r, allowed)) return 0;
    snprintf(c->header_text, sizeof c->header_text, "%s", allowed);
    c->header = (struct rp__header){"Allow", c->header_text};
  }
  if (!rc) rc = rp__auth_identify(srv->auth, r, &c->who, err);
  /*
   * Rights that depend on a session are asked about once it is found, or, of a session's token on a socket, when a
   * topic is joined. Who shows no token at all need not wait for that, and learns nothing on the way.
   */
  bool at_join = !rc && c->who.who == RP_WHO_SESSION && c->route->run == rp__handle_socket;
  if (!rc && !at_join && (c->who.who == RP_WHO_NOBODY || !(c->route->flags & RP_ROUTE_SESSION)))
    rc = rp__auth_admit(&c->who, c->route->right, c->param[0][0] ? c->param[0] : NULL, NULL, RP_BIRTH_ANY, err);
  if (!rc && !(c->route->flags & RP_ROUTE_LAX)) rc = check_query(c, err);
  if (!rc && !(c->route->flags & (RP_ROUTE_JSON | RP_ROUTE_RPC))) *max_body = RP_MIN(*max_body, BARE_BODY_MAX);
  return rc;
}

static void refuse(void *ctx, struct rp__request *r, const rp_error *err)
{
  rp__problem_answer(ctx, r, err);
}

/* ---- running ---- */

/* What curl sends when nobody says otherwise is taken too: forms of foreign pages are stopped by their Origin. */
static int check_media_type(const struct rp__http_call *c, rp_error *err)
{
  static const char *const taken[] = {"application/json", "application/x-www-form-urlencoded", "text/json"};
  const char *type = rp__request_header(c->req, "Content-Type");
  if (!type || !*type) return 0;
  for (size_t i = 0; i < RP_ARRAY_SIZE(taken); i++)
    if (strncasecmp(type, taken[i], strlen(taken[i])) == 0) return 0;
  return rp__fail_field(err, RP_E_MEDIA_TYPE, "Content-Type", "the body must be application/json, not %s",
                        rp__text_shown(type));
}

static int read_body(struct rp__http_call *c, rp_error *err)
{
  struct rp__str body = rp__request_body(c->req);
  struct rp__json_limits limits = {.max_depth = JSON_DEPTH};
  if (c->route->flags & RP_ROUTE_RPC) return check_media_type(c, err);
  /* A route that takes nothing: clients that send an object whatever they call may send an empty one. */
  if (!(c->route->flags & RP_ROUTE_JSON)) {
    static const char *const none[] = {NULL};
    struct rp__json doc;
    if (!body.n || rp__request_method(c->req) != RP_POST) return 0;
    int rc = check_media_type(c, err);
    if (!rc) rc = rp__json_parse(body.p, body.n, NULL, &doc, err);
    if (rc) return rc;
    if (doc.type != RP_JSON_OBJECT)
      return rp__fail_field(err, RP_E_INVALID, "body", "%s takes no body, or an empty object", c->route->path);
    return rp__body_known(doc, none, err);
  }
  if (!body.n && (c->route->flags & RP_ROUTE_OPTIONAL)) return 0;
  if (!body.n) return rp__fail(err, RP_E_JSON, "the request has no body; a JSON document is wanted");
  int rc = check_media_type(c, err);
  if (!rc) rc = rp__json_parse(body.p, body.n, &limits, &c->body, err);
  if (rc != RP_E_TOO_LARGE) return rc;
  /* Counted from the request's outside, which nobody's documents speak of. */
  return rp__fail_field(err, rc, "body", "the request is nested too deeply: an event's body has at most %d levels",
                        RP_DEPTH_MAX);
}

struct upgrade {
  struct rp__job job;
  struct rp__server *srv;
  rp__upgrade_fn *fn;
  struct rp__identity who;
  int fd;
  struct rp__buf head;
};

static void upgrade_free(struct upgrade *u)
{
  rp__buf_done(&u->head);
  if (u->fd >= 0) close(u->fd);
  free(u);
}

static void upgraded(struct rp__job *job)
{
  struct upgrade *u = (struct upgrade *)job;
  int fd = u->fd;
  u->fd = -1;
  u->fn(u->srv, &u->who, fd, (struct rp__str){u->head.p, u->head.n});
  upgrade_free(u);
}

int rp__call_upgrade(struct rp__http_call *c, const char *protocol, rp__upgrade_fn *fn, rp_error *err)
{
  struct upgrade *u = calloc(1, sizeof *u);
  if (!u) return rp__fail_nomem(err);
  *u = (struct upgrade){
      .job.fn = upgraded, .srv = c->srv, .fn = fn, .who = c->who, .fd = -1, .head = RP_BUF(UPGRADE_HEAD_MAX)};
  int rc = rp__ws_handshake(c->req, protocol, &u->head, err);
  if (!rc) rc = rp__request_take(c->req, 101, &u->fd, err);
  if (rc || !rp__loop_post(c->srv->loop, &u->job)) upgrade_free(u);
  return rc ? rc : RP_CALL_TAKEN;
}

static void answer(struct rp__http_call *c)
{
  const char *origin = rp__auth_origin(c->srv->auth, c->req);
  struct rp__answer a = {.status = c->status, .type = c->type, .own = RP_BODY_TAKE};
  a.close = atomic_load(&c->srv->draining); /* who asks again asks the server that follows */
  size_t n = 0;
  a.n = c->out.n;
  a.body = a.n ? rp__buf_take(&c->out) : NULL;
  if (!a.n) a.own = RP_BODY_STATIC;
  if (c->file >= 0) {
    a.own = RP_BODY_FILE;
    a.fd = c->file;
    a.n = c->file_bytes;
    c->file = -1;
  }
  if (c->header.name) a.headers[n++] = c->header;
  if (origin) {
    a.headers[n++] = (struct rp__header){"Access-Control-Allow-Origin", origin};
    a.headers[n++] = (struct rp__header){"Access-Control-Expose-Headers", EXPOSED_HEADERS};
    a.headers[n++] = (struct rp__header){"Vary", "Origin"};
  }
  rp__request_answer(c->req, &a);
}

void rp__call_finish(struct rp__http_call *c, int rc, const rp_error *err)
{
  rp_error nomem = {0};
  /* An answer is a line, or lines: on a terminal the prompt stands behind it, and files are joined without a fault. */
  bool text = c->type && (strncmp(c->type, "application/json", 16) == 0 || strncmp(c->type, "text/", 5) == 0);
  if (!rc && text && c->out.n && c->out.p[c->out.n - 1] != '\n') rp__buf_char(&c->out, '\n');
  if (!rc && c->out.err) {
    rp__fail(&nomem, c->out.err, "the answer is too large");
    err = &nomem;
    rc = c->out.err;
  }
  if (rc) {
    if (err->code == RP_E_SESSION_NOT_FOUND && c->entry) rp__registry_forget(c->srv->registry, c->entry->id);
    rp__problem_answer(c->srv, c->req, err);
  } else {
    answer(c);
  }
}

static void run(struct rp__task *t)
{
  struct rp__http_call *c = (struct rp__http_call *)t;
  rp_error err = {0};
  int rc = 0;
  if (c->route->flags & RP_ROUTE_SESSION) {
    char scope[RP_ID_MAX + 1];
    rc = rp__call_scope(c, scope, &err);
    if (!rc) rc = rp__registry_get_in(c->srv->registry, scope[0] ? scope : NULL, c->param[0], &c->entry, &err);
    int refused = 0;
    /* Who may only one session learns nothing of others, not even whether they exist. */
    if ((rc == RP_E_SESSION_NOT_FOUND || rc == RP_E_AMBIGUOUS) && c->who.who == RP_WHO_SESSION)
      refused = rp__auth_admit(&c->who, c->route->right, c->param[0], NULL, RP_BIRTH_ANY, &err);
    if (refused) rc = refused;
    if (!rc) rc = rp__auth_admit(&c->who, c->route->right, c->entry->id, c->entry->scope, c->entry->birth, &err);
  }
  if (!rc) rc = read_body(c, &err);
  if (!rc) rc = c->route->run(c, &err);
  if (rc == RP_CALL_LATER || rc == RP_CALL_TAKEN) return;
  if (rc && !err.code) rp__fail(&err, rc, "%s", rp_error_lookup(rc)->text);
  rp__call_finish(c, rc, &err);
}

static void handle(void *ctx, struct rp__request *r)
{
  struct rp__server *srv = ctx;
  struct rp__http_call *c = rp__request_user(r);
  if (!(c->route->flags & RP_ROUTE_POOL)) {
    run(&c->task);
    return;
  }
  rp__request_defer(r);
  c->task.fn = run;
  if (rp__pool_post(srv->pool, &c->task)) return;
  rp_error err = {0};
  rp__fail(&err, RP_E_BUSY, "too many requests wait for a thread");
  rp__call_finish(c, RP_E_BUSY, &err);
}

/* ---- the end ---- */

/* The path as it is told: decoded where that shows what must be masked; a long one ends with a whole part of it. */
static void path_told(struct rp__server *srv, struct rp__str path, char out[PATH_TOLD])
{
  char *masked = NULL;
  size_t n = path.n;
  if (n >= PATH_TOLD)
    for (n = PATH_TOLD - 1; n > 0 && path.p[n] != '/';) n--;
  snprintf(out, PATH_TOLD, "%.*s", (int)n, path.p);
  char decoded[PATH_TOLD];
  if (!memchr(out, '%', n) || rp__uri_decode((struct rp__str){out, n}, false, decoded, sizeof decoded)) return;
  if (rp_redact_check(srv->engine, decoded, strlen(decoded), NULL, NULL, &masked, NULL)) return;
  if (strcmp(masked, decoded) != 0) rp__text_copy(out, PATH_TOLD, masked);
  rp_free(masked);
}

static void done(void *ctx, struct rp__request *r, bool complete)
{
  struct rp__server *srv = ctx;
  struct rp__http_call *c = rp__request_user(r);
  int hundreds = rp__request_status(r) / 100;
  if (hundreds >= 0 && hundreds < 6) atomic_fetch_add_explicit(&srv->answers[hundreds], 1, memory_order_relaxed);
  bool quiet = c && c->route && (c->route->flags & RP_ROUTE_QUIET);
  if (srv->log.access) {
    int64_t us = rp__ticks_us() - rp__request_began_us(r);
    char text[PATH_TOLD];
    path_told(srv, rp__request_path(r), text);
    rp__slog(&srv->log, quiet ? RP_LOG_DEBUG : RP_LOG_INFO, "request", RP_F("method", rp__request_method_name(r)),
             RP_F("path", text), RP_FN("status", rp__request_status(r)), RP_FN("bytes", rp__request_answer_size(r)),
             RP_FN("us", us), RP_F("peer", rp__request_peer(r)), RP_F("who", c ? c->who.name : ""),
             RP_F("end", complete ? "complete" : "cut"));
  }
  if (!c) return;
  rp__registry_put(srv->registry, c->entry);
  if (c->file >= 0) close(c->file);
  rp__buf_done(&c->out);
  free(c);
}

static size_t taken(void *ctx)
{
  const struct rp__server *s = ctx;
  return rp__channels_sockets(s->channels) + rp__sse_streams(s->sse) + rp__agents_connected(s->agents);
}

void rp__serve_options(struct rp__server *s, struct rp__http_options *ret)
{
  *ret = (struct rp__http_options){
      .threads = s->set.http_threads,
      .max_connections = s->set.max_connections,
      .taken = taken,
      .max_per_address = s->set.max_per_address,
      .own_user = s->set.local == RP_LOCAL_UID,
      .max_body = s->set.max_request_bytes,
      .idle_s = s->set.idle_connection_s,
      .request_s = s->set.request_s,
      .admit = admit,
      .refuse = refuse,
      .handle = handle,
      .done = done,
      .ctx = s,
      .hurry = s->hurry,
  };
}
