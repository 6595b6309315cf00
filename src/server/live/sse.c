/* SPDX-License-Identifier: Apache-2.0 */
/* Server-sent events: the form of a stream, its beginning, its events, and its end. */
#include "server/live/sse.h"

#include <limits.h>
#include <stdatomic.h>

#include "base/text.h"
#include "server/http/handle.h"
#include "server/http/route.h"
#include "server/server.h"

#define HEAD_MAX 2048
#define SMALL_MAX 4096 /* of a message about the stream itself */
#define RESTART "event: restart\ndata: {}\n\n"
#define PING ": ping\n\n"

struct rp__sse {
  struct rp__server *srv;
  struct stream *streams;
  bool closing;
  atomic_size_t n; /* also those on their way into the loop */
};

struct stream {
  struct rp__job job; /* into the loop */
  struct rp__sse *sse;
  struct stream *prev, *next;
  struct rp__conn *conn;
  struct rp__timer timer;
  int64_t ping_ms, began_ms, sent_ms;
  bool expires;
  int fd; /* until it is in the loop */
  struct rp__net_msg *head;
  struct rp__entry *entry; /* until then; NULL: the list of sessions */
  int64_t after;
  struct rp__sub *sub;
  struct rp__list_sub *list;
  int64_t seq, told; /* the last event seen, and the last the client knows of */
  char *filter;      /* kinds, separated by commas; NULL: all */
  char scope[RP_ID_MAX + 1];
};

#define OF(member, p) ((struct stream *)(void *)((char *)(p)-offsetof(struct stream, member)))

/* ---- messages ---- */

/* "id: 7\ndata: {…}\n\n"; `event` NULL: the default type, which a browser's onmessage sees. id < 0: none. */
static struct rp__net_msg *message(const char *event, int64_t id, struct rp__str data)
{
  char front[64];
  int n = 0;
  if (id >= 0) n += snprintf(front, sizeof front, "id: %lld\n", (long long)id);
  if (event) n += snprintf(front + n, sizeof front - (size_t)n, "event: %s\n", event);
  n += snprintf(front + n, sizeof front - (size_t)n, "data: ");
  struct rp__net_msg *m = rp__msg_new(NULL, (size_t)n + data.n + 2);
  if (!m) return NULL;
  memcpy(m->bytes, front, (size_t)n);
  memcpy(m->bytes + n, data.p, data.n);
  memcpy(m->bytes + (size_t)n + data.n, "\n\n", 2);
  return m;
}

struct rp__net_msg *rp__sse_form(struct rp__live_event *ev)
{
  struct rp__net_msg **form = &ev->form[RP_FORM_SSE];
  if (!*form) *form = message(NULL, ev->seq, ev->json);
  return *form;
}

/* ---- sending ---- */

/* True when it is on its way; false: later, or never. The stream may be gone then. */
static bool send_msg(struct stream *s, struct rp__net_msg *m)
{
  int rc = m ? rp__conn_send(s->conn, m) : RP_E_NOMEM;
  if (rc == RP_E_NOMEM) rp__conn_cut(s->conn, "out of memory");
  if (rc) return false;
  s->sent_ms = rp__loop_now(s->sse->srv->loop);
  return true;
}

static bool send_new(struct stream *s, struct rp__net_msg *m)
{
  bool sent = send_msg(s, m);
  rp__msg_unref(m);
  return sent;
}

/* A last message, and the end. */
static void finish(struct stream *s, struct rp__net_msg *m)
{
  if (m) rp__conn_send_last(s->conn, m);
  rp__msg_unref(m);
  rp__conn_finish(s->conn);
}

static void finish_restart(struct stream *s)
{
  finish(s, rp__msg_new(RESTART, sizeof RESTART - 1));
}

static void finish_error(struct stream *s, const char *event, const rp_error *err)
{
  struct rp__buf out RP_AUTOBUF = RP_BUF(SMALL_MAX);
  rp__problem_write(err, &out);
  finish(s, out.err ? NULL : message(event, -1, (struct rp__str){out.p, out.n}));
}

/* ---- a session's events ---- */

static bool on_event(void *ctx, struct rp__live_event *ev)
{
  struct stream *s = ctx;
  bool shown = rp__handle_wants(s->filter, ev->kind);
  if (shown && !send_msg(s, rp__sse_form(ev))) return false;
  s->seq = ev->seq;
  if (shown) s->told = ev->seq;
  return true;
}

static void on_reset(void *ctx, int64_t seq)
{
  struct stream *s = ctx;
  struct rp__buf out RP_AUTOBUF = RP_BUF(SMALL_MAX);
  struct rp__jw w = RP_JW(&out);
  rp__jw_object(&w);
  rp__jw_ki64(&w, "seq", seq);
  rp__jw_end_object(&w);
  s->seq = s->told = seq;
  send_new(s, out.err ? NULL : message("reset", seq, (struct rp__str){out.p, out.n}));
}

static void on_gone(void *ctx, const rp_error *err)
{
  finish_error(ctx, err->code == RP_E_SESSION_NOT_FOUND ? "gone" : "error", err);
}

static const struct rp__sub_handler event_handler = {.event = on_event, .reset = on_reset, .gone = on_gone};

/* ---- the list ---- */

static bool on_session(void *ctx, const char *what, const char *session_id, struct rp__str json)
{
  (void)session_id;
  return send_new(ctx, message(strcmp(what, "session") == 0 ? NULL : what, -1, json));
}

static void on_list_reset(void *ctx)
{
  send_new(ctx, message("reset", -1, RP_STR("{}")));
}

static const struct rp__list_handler list_handler = {.session = on_session, .reset = on_list_reset};

/* ---- a stream's life ---- */

static void stream_free(struct stream *s)
{
  if (!s) return;
  if (s->fd >= 0) close(s->fd);
  free(s->filter);
  rp__msg_unref(s->head);
  rp__registry_put(s->sse->srv->registry, s->entry);
  atomic_fetch_sub(&s->sse->n, 1);
  free(s);
}

static void on_closed(void *ctx, const char *why)
{
  struct stream *s = ctx;
  struct rp__server *srv = s->sse->srv;
  rp__timer_stop(srv->loop, &s->timer);
  rp__sub_free(s->sub);
  rp__list_sub_free(s->list);
  *(s->prev ? &s->prev->next : &s->sse->streams) = s->next;
  if (s->next) s->next->prev = s->prev;
  if (srv->log.access)
    rp__slog(&srv->log, RP_LOG_INFO, "stream_closed", RP_FN("ms", rp__loop_now(srv->loop) - s->began_ms),
             RP_F("why", why));
  stream_free(s);
}

static void on_drained(void *ctx)
{
  struct stream *s = ctx;
  if (s->sub) rp__sub_more(s->sub);
  if (s->list) rp__list_sub_more(s->list);
}

static const struct rp__conn_handler conn_handler = {.drained = on_drained, .closed = on_closed};

/* The number of what a filter kept back goes with the ping, so that coming back does not mean reading it again. */
static void ping(struct stream *s)
{
  char text[64];
  size_t n = 0;
  if (rp__conn_waiting(s->conn)) return;
  if (s->told < s->seq) n = (size_t)snprintf(text, sizeof text, "id: %lld\n\n", (long long)s->seq);
  memcpy(text + n, PING, sizeof PING - 1);
  if (rp__conn_send_urgent(s->conn, text, n + sizeof PING - 1)) return;
  s->told = s->seq;
  s->sent_ms = rp__loop_now(s->sse->srv->loop);
}

static void on_timer(struct rp__timer *t)
{
  struct stream *s = OF(timer, t);
  struct rp__loop *loop = s->sse->srv->loop;
  int64_t now = rp__loop_now(loop);
  if (s->expires && now - s->began_ms >= RP_SSE_TOKEN_MS) {
    finish_restart(s);
    return;
  }
  if (now - s->sent_ms >= s->ping_ms) ping(s);
  int64_t left = s->sent_ms + s->ping_ms - now;
  rp__timer_start(loop, t, left > 0 ? left : s->ping_ms);
}

static void stream_open(struct rp__job *job)
{
  struct stream *s = OF(job, job);
  struct rp__server *srv = s->sse->srv;
  struct rp__conn_options o = {.queue_bytes = srv->set.queue_bytes, .stall_ms = srv->set.stall_ms};
  rp_error err = {0};
  int rc = rp__conn_open(srv->loop, s->fd, &o, &conn_handler, s, &s->conn, &err);
  s->fd = -1;
  if (rc) {
    stream_free(s);
    return;
  }
  s->began_ms = s->sent_ms = rp__loop_now(srv->loop);
  s->next = s->sse->streams;
  if (s->next) s->next->prev = s;
  s->sse->streams = s;
  if (!send_new(s, RP_TAKE(s->head))) return; /* nothing waits yet: only without memory, and cut off */
  if (s->sse->closing) {
    finish_restart(s);
    return;
  }
  rc = s->entry ? rp__sub_new(srv->live, s->entry, s->after, &event_handler, s, &s->sub, &err)
                : rp__list_sub_new(srv->live, s->scope[0] ? s->scope : NULL, &list_handler, s, &s->list, &err);
  if (rc) finish_error(s, "error", &err);
  rp__registry_put(srv->registry, RP_TAKE(s->entry));
  if (!rc) rp__timer_start(srv->loop, &s->timer, s->ping_ms);
}

/* ---- the request ---- */

static int stream_new(struct rp__http_call *c, struct stream **ret, rp_error *err)
{
  struct rp__server *srv = c->srv;
  if (atomic_fetch_add(&srv->sse->n, 1) >= (size_t)srv->set.max_connections) {
    atomic_fetch_sub(&srv->sse->n, 1);
    return rp__fail(err, RP_E_LIMIT, "%d streams are open already", srv->set.max_connections);
  }
  struct stream *s = calloc(1, sizeof *s);
  if (!s) {
    atomic_fetch_sub(&srv->sse->n, 1);
    return rp__fail_nomem(err);
  }
  *s = (struct stream){.job.fn = stream_open, .sse = srv->sse, .timer.fn = on_timer, .fd = -1};
  s->ping_ms = srv->set.stall_ms > 0 ? RP_MIN(srv->set.stall_ms, RP_SSE_PING_MS) : RP_SSE_PING_MS;
  s->expires = c->who.who == RP_WHO_TOKEN;
  struct rp__buf out RP_AUTOBUF = RP_BUF(HEAD_MAX);
  const char *origin = rp__auth_origin(srv->auth, c->req);
  rp__buf_str(&out, "HTTP/1.1 200 OK\r\n"
                    "Content-Type: text/event-stream\r\n"
                    "Cache-Control: no-cache, no-transform\r\n"
                    "X-Accel-Buffering: no\r\n"
                    "Connection: close\r\n" RP_HTTP_SAFE_LINES);
  if (origin) rp__buf_printf(&out, "Access-Control-Allow-Origin: %s\r\nVary: Origin\r\n", origin);
  rp__buf_str(&out, "\r\nretry: 1000\n\n");
  s->head = out.err ? NULL : rp__msg_new(out.p, out.n);
  if (!s->head) {
    stream_free(s);
    return rp__fail_nomem(err);
  }
  *ret = s;
  return 0;
}

/* The socket's way into the loop. */
static int stream_take(struct rp__http_call *c, struct stream *s, rp_error *err)
{
  int rc = rp__request_take(c->req, 200, &s->fd, err);
  if (rc || !rp__loop_post(c->srv->loop, &s->job)) stream_free(s);
  return rc ? rc : RP_CALL_TAKEN;
}

/* HEAD: what GET would say, and no stream. */
static bool only_head(struct rp__http_call *c)
{
  if (rp__request_method(c->req) != RP_HEAD) return false;
  c->type = "text/event-stream";
  return true;
}

/* "7", or "3-7" with an epoch that does not matter: numbers go on from one to the next. */
static int event_number(const char *field, const char *text, int64_t *ret, rp_error *err)
{
  const char *dash = strchr(text, '-'), *digits = dash ? dash + 1 : text;
  size_t n = strlen(digits), epoch = dash ? (size_t)(dash - text) : 1;
  int64_t v = 0;
  bool fine = n >= 1 && n <= 18 && epoch >= 1 && epoch <= 18 && strspn(digits, "0123456789") == n;
  if (fine && dash) fine = strspn(text, "0123456789") == epoch;
  if (!fine)
    return rp__fail_field(err, RP_E_USAGE, field, "%s must be the number of an event, not '%s'", field,
                          rp__text_shown(text));
  for (size_t i = 0; i < n; i++) v = v * 10 + (digits[i] - '0');
  *ret = v;
  return 0;
}

/* A client that comes back says so in the header; its address still has what it began with. */
static int where_from(struct rp__http_call *c, int64_t *ret, rp_error *err)
{
  const char *header = rp__request_header(c->req, "Last-Event-ID");
  char text[64] = "";
  int64_t after = 0;
  int rc = rp__call_i64(c, "after", 0, INT64_MAX, &after, err);
  if (!rc) rc = rp__call_text(c, "last_event_id", text, sizeof text, err);
  if (!rc && text[0]) rc = event_number("last_event_id", text, &after, err);
  if (!rc && header && header[0]) rc = event_number("Last-Event-ID", header, &after, err);
  if (!rc) *ret = after;
  return rc;
}

int rp__handle_event_stream(struct rp__http_call *c, rp_error *err)
{
  struct stream *s;
  int64_t after = 0;
  char filter[RP_CALL_TEXT + 1] = "";
  int rc = where_from(c, &after, err);
  if (!rc) rc = rp__call_text(c, "kind", filter, sizeof filter, err);
  if (rc || only_head(c)) return rc;
  rc = stream_new(c, &s, err);
  if (rc) return rc;
  s->after = s->seq = s->told = after;
  if (filter[0] && !(s->filter = strdup(filter))) {
    stream_free(s);
    return rp__fail_nomem(err);
  }
  s->entry = rp__entry_ref(c->srv->registry, c->entry);
  return stream_take(c, s, err);
}

int rp__handle_session_stream(struct rp__http_call *c, rp_error *err)
{
  struct stream *s;
  char scope[RP_ID_MAX + 1] = "";
  int rc = rp__handle_scope(c, scope, err);
  if (rc || only_head(c)) return rc;
  rc = stream_new(c, &s, err);
  if (rc) return rc;
  memcpy(s->scope, scope, sizeof scope);
  return stream_take(c, s, err);
}

/* ---- all of them ---- */

int rp__sse_new(struct rp__server *srv, struct rp__sse **ret, rp_error *err)
{
  struct rp__sse *s = calloc(1, sizeof *s);
  if (!s) return rp__fail_nomem(err);
  s->srv = srv;
  *ret = s;
  return 0;
}

void rp__sse_free(struct rp__sse *s)
{
  free(s);
}

void rp__sse_close(struct rp__sse *sse)
{
  sse->closing = true;
  for (struct stream *s = sse->streams, *next; s; s = next) {
    next = s->next;
    finish_restart(s);
  }
}

size_t rp__sse_streams(const struct rp__sse *s)
{
  return atomic_load(&s->n);
}
