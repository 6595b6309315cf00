/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts and stops HTTP, and has libmicrohttpd's callbacks. A request's head is checked more strictly than
 * libmicrohttpd does. Everything that two programs could read in two ways (where a line, a name or the body ends) is
 * refused, because a proxy in front of the server may read it the other way.
 */
#include <signal.h>
#include <strings.h>

#include "net/http-impl.h"

#define FIRST_BODY (64 * 1024) /* a body's buffer begins no larger, whatever length is announced */

/* ---- buffers ---- */

bool rp__hbuf_reserve(struct rp__hbuf *b, size_t cap)
{
  if (cap <= b->cap) return true;
  char *p = realloc(b->p, cap);
  if (!p) return false;
  b->p = p;
  b->cap = cap;
  return true;
}

/* Empties it; frees what is too large to be kept. */
static void trim(struct rp__hbuf *b)
{
  b->n = 0;
  if (b->cap <= RP_HTTP_KEEP_MAX) return;
  free(b->p);
  *b = (struct rp__hbuf){0};
}

/* ---- a request's head ---- */

static const char *const method_names[] = {
    [RP_GET] = "GET",     [RP_HEAD] = "HEAD",     [RP_POST] = "POST",       [RP_PUT] = "PUT",
    [RP_PATCH] = "PATCH", [RP_DELETE] = "DELETE", [RP_OPTIONS] = "OPTIONS", [RP_METHOD_OTHER] = "?",
};

const char *rp__method_name(enum rp__method m)
{
  return method_names[m];
}

static enum rp__method method_of(const char *name)
{
  for (unsigned i = 0; i < RP_METHOD_OTHER; i++)
    if (strcmp(name, method_names[i]) == 0) return (enum rp__method)i;
  return RP_METHOD_OTHER;
}

/* What may stand in a header's name (RFC 9110, token). */
static bool is_token(const char *s, size_t n)
{
  static const char others[] = "!#$%&'*+-.^_`|~";
  for (size_t i = 0; i < n; i++) {
    char c = s[i];
    bool word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!word && (c == '\0' || !strchr(others, c))) return false;
  }
  return n > 0;
}

static bool is_visible(const char *s, size_t n)
{
  for (size_t i = 0; i < n; i++) {
    unsigned char c = (unsigned char)s[i];
    if ((c < 0x20 && c != '\t') || c == 0x7f) return false;
  }
  return true;
}

struct head {
  const char *expected; /* where the next line must begin, NULL: lines are not looked at */
  int hosts, lengths, encodings;
  const char *length, *encoding;
  int code;
  rp_error *err;
};

static enum MHD_Result check_header(void *cls, enum MHD_ValueKind kind, const char *name, size_t name_n,
                                    const char *value, size_t value_n)
{
  struct head *head = cls;
  (void)kind;
  if (head->expected && name != head->expected)
    head->code = rp__fail(head->err, RP_E_USAGE, "a line of the head does not end in CR LF, or goes on in the next");
  else if (!is_token(name, name_n))
    head->code = rp__fail(head->err, RP_E_USAGE, "a header's name has a character that names can't have");
  else if (!is_visible(value, value_n))
    head->code = rp__fail_field(head->err, RP_E_USAGE, name, "the header's value has a control character");
  if (head->code) return MHD_NO;
  if (head->expected) head->expected = value + value_n + 2;
  if (name_n == 4 && strcasecmp(name, "Host") == 0) head->hosts++;
  if (name_n == 14 && strcasecmp(name, "Content-Length") == 0) {
    head->lengths++;
    head->length = value;
  }
  if (name_n == 17 && strcasecmp(name, "Transfer-Encoding") == 0) {
    head->encodings++;
    head->encoding = value;
  }
  return MHD_YES;
}

static int check_framing(struct rp__request *r, const struct head *head, bool old, rp_error *err)
{
  if (head->encodings && (old || head->encodings > 1 || strcasecmp(head->encoding, "chunked") != 0))
    return rp__fail_field(err, RP_E_USAGE, "Transfer-Encoding", "only \"chunked\" is understood, once, with HTTP/1.1");
  if (head->encodings && head->lengths)
    return rp__fail_field(err, RP_E_USAGE, "Content-Length", "can't stand beside Transfer-Encoding");
  if (head->lengths > 1) return rp__fail_field(err, RP_E_USAGE, "Content-Length", "stands in the request twice");
  if (head->hosts > 1 || (head->hosts == 0 && !old))
    return rp__fail_field(err, RP_E_USAGE, "Host", "must stand in the request once");
  r->chunked = head->encodings > 0;
  r->uploads = r->chunked || (head->length && strtoull(head->length, NULL, 10) > 0);
  return 0;
}

static int check_head(struct rp__request *r, const char *method, const char *url, const char *version, rp_error *err)
{
  struct rp__http *h = r->conn->h;
  struct head head = {.err = err};
  size_t size = MHD_get_connection_info(r->mhd, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE)->header_size;
  if (size > RP_HTTP_HEAD_MAX) {
    r->refusal = 431;
    return rp__fail_field(err, RP_E_TOO_LARGE, "head", "the head has %zu bytes, at most %d are read", size,
                          RP_HTTP_HEAD_MAX);
  }
  /* The parts of the request line and every header must lie in the buffer as they came, with nothing but their marks
   * between them; where each begins tells how the line before ended. */
  if (h->exact_lines) {
    if (url != method + strlen(method) + 1 || version != url + r->uri.n + 1)
      return rp__fail(err, RP_E_USAGE, "the request line is not METHOD TARGET VERSION with single spaces");
    head.expected = version + strlen(version) + 2;
  }
  MHD_get_connection_values_n(r->mhd, MHD_HEADER_KIND, check_header, &head);
  if (head.code) return head.code;
  if (head.expected && head.expected + 2 != method + size)
    return rp__fail(err, RP_E_USAGE, "a line of the head does not end in CR LF");
  const char *uri = r->uri.p;
  if (*uri != '/' && !(r->method == RP_OPTIONS && strcmp(uri, "*") == 0))
    return rp__fail(err, RP_E_USAGE, "the request's target must begin with a slash");
  for (size_t i = 0; i < r->uri.n; i++)
    if (uri[i] <= 0x20 || uri[i] >= 0x7f || uri[i] == '#')
      return rp__fail(err, RP_E_USAGE, "byte %zu of the request's target must be escaped", i);
  return check_framing(r, &head, strcmp(version, "HTTP/1.0") == 0, err);
}

/* ---- a request's way ---- */

/* Gives the answer to libmicrohttpd; without one (no memory for it, or nobody answered) the client is cut off. */
static enum MHD_Result send_answer(struct rp__request *r)
{
  if (!r->response) return MHD_NO;
  int64_t long_ms = (int64_t)(r->answer_size / RP_HTTP_RATE_MIN) * 1000;
  rp__hconn_deadline(r->conn, false, (int64_t)r->conn->h->o.request_s * 2000 + long_ms);
  enum MHD_Result queued = MHD_queue_response(r->mhd, (unsigned)r->status, r->response);
  MHD_destroy_response(r->response);
  r->response = NULL;
  r->sent = queued == MHD_YES;
  return queued;
}

static enum MHD_Result refuse(struct rp__request *r, const rp_error *err)
{
  struct rp__http *h = r->conn->h;
  r->conn->linger = r->uploads;
  h->o.refuse(h->o.ctx, r, err);
  return r->raw ? MHD_NO : send_answer(r);
}

/* One byte more than the body, so that it can be read as a string. */
static bool make_room(struct rp__request *r, size_t n)
{
  size_t need = r->body.n + n + 1, cap = RP_MAX(r->body.cap, (size_t)FIRST_BODY);
  if (need <= r->body.cap) return true;
  while (cap < need) cap *= 2;
  if (r->body.n == 0 && need <= RP_HTTP_KEEP_MAX) cap = RP_HTTP_KEEP_MAX;
  return rp__hbuf_reserve(&r->body, RP_MIN(cap, r->max_body) + 1);
}

static enum MHD_Result on_body(struct rp__request *r, const char *bytes, size_t *n)
{
  rp_error err = {0};
  if (*n > r->max_body - r->body.n) /* only in chunks: a length was checked before */
    rp__fail_field(&err, RP_E_TOO_LARGE, "body", "the body may have %zu bytes at most", r->max_body);
  else if (!make_room(r, *n))
    rp__fail_nomem(&err);
  if (err.code) {
    r->raw = true;
    return refuse(r, &err);
  }
  memcpy(r->body.p + r->body.n, bytes, *n);
  r->body.n += *n;
  r->body.p[r->body.n] = '\0';
  *n = 0;
  return MHD_YES;
}

static enum MHD_Result on_whole(struct rp__request *r)
{
  struct rp__http *h = r->conn->h;
  rp_error err = {0};
  if (r->answered) return send_answer(r); /* by `admit`: nobody owes it an answer */
  rp__hconn_deadline(r->conn, false, 0);
  atomic_fetch_add(&h->unsent, 1);
  atomic_fetch_add(&h->pending, 1);
  r->owed = true;
  r->step = RP_STEP_HANDED;
  if (atomic_load(&h->closing)) {
    rp__fail(&err, RP_E_CANCELLED, "the server is closing");
    h->o.refuse(h->o.ctx, r, &err);
  } else {
    h->o.handle(h->o.ctx, r);
  }
  if (r->step == RP_STEP_DEFERRED) return MHD_YES; /* the answer may be there already; it is sent on resuming */
  if (r->step == RP_STEP_TAKEN) return MHD_NO;
  return send_answer(r);
}

static enum MHD_Result on_access(void *cls, struct MHD_Connection *mhd, const char *url, const char *method,
                                 const char *version, const char *bytes, size_t *n, void **ctx)
{
  struct rp__request *r = *ctx;
  (void)cls;
  if (!r) return MHD_NO;
  if (r->step == RP_STEP_HEAD) {
    struct rp__http *h = r->conn->h;
    rp_error err = {0};
    r->step = RP_STEP_BODY;
    r->method_name = method;
    r->method = method_of(method);
    r->began_us = rp__ticks_us();
    r->max_body = h->o.max_body;
    int code = check_head(r, method, url, version, &err);
    if (!code && h->o.admit) code = h->o.admit(h->o.ctx, r, &r->max_body, &err);
    const char *length = r->chunked ? NULL : MHD_lookup_connection_value(mhd, MHD_HEADER_KIND, "Content-Length");
    if (!code && length && strtoull(length, NULL, 10) > r->max_body)
      code = rp__fail_field(&err, RP_E_TOO_LARGE, "Content-Length", "the body may have %zu bytes at most", r->max_body);
    if (code) return refuse(r, &err);
    if (r->uploads) rp__hconn_deadline(r->conn, true, (int64_t)h->o.request_s * 4000);
    return MHD_YES;
  }
  if (r->step == RP_STEP_DEFERRED) return send_answer(r);
  return *n ? on_body(r, bytes, n) : on_whole(r);
}

/*
 * The request line, before libmicrohttpd takes it apart. The query is ended at its first byte: libmicrohttpd 0.9 would
 * make an entry of each parameter, and when it has no room for them all the connection hangs without an answer.
 */
static void *on_line(void *cls, const char *uri, struct MHD_Connection *mhd)
{
  struct rp__hconn *c = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
  size_t n = strlen(uri);
  (void)cls;
  if (!c || !rp__hbuf_reserve(&c->r.uri, n + 1)) return NULL;
  struct rp__request *r = &c->r;
  memcpy(r->uri.p, uri, n + 1);
  char *query = strchr(uri, '?');
  r->uri.n = n;
  r->path_n = query ? (size_t)(query - uri) : n;
  if (query) query[1] = '\0';
  r->mhd = mhd;
  r->step = RP_STEP_HEAD;
  rp__hconn_deadline(c, true, (int64_t)c->h->o.request_s * 1000);
  return r;
}

static void on_completed(void *cls, struct MHD_Connection *mhd, void **ctx, enum MHD_RequestTerminationCode how)
{
  struct rp__request *r = *ctx;
  (void)cls, (void)mhd;
  if (!r) return;
  struct rp__http *h = r->conn->h;
  bool handed = r->step >= RP_STEP_HANDED, taken = r->step == RP_STEP_TAKEN;
  rp__request_settle(r);
  if (r->step >= RP_STEP_BODY && h->o.done)
    h->o.done(h->o.ctx, r, r->sent && (taken || r->raw || how == MHD_REQUEST_TERMINATED_COMPLETED_OK));
  if (r->response) MHD_destroy_response(r->response);
  if (!taken) rp__hconn_deadline(r->conn, true, (int64_t)h->o.idle_s * 1000);
  struct rp__hbuf uri, body, out;
  trim(&r->uri);
  trim(&r->body);
  trim(&r->out);
  uri = r->uri, body = r->body, out = r->out;
  *r = (struct rp__request){.conn = r->conn, .uri = uri, .body = body, .out = out};
  *ctx = NULL;
  if (handed) atomic_fetch_sub(&h->unsent, 1);
}

static void on_connection(void *cls, struct MHD_Connection *mhd, void **socket_ctx,
                          enum MHD_ConnectionNotificationCode what)
{
  struct rp__http *h = cls;
  struct rp__hconn *c = *socket_ctx;
  if (what == MHD_CONNECTION_NOTIFY_STARTED) {
    *socket_ctx = rp__hconn_start(h, MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd);
    return;
  }
  if (!c) return;
  int fd = c->linger ? dup(c->fd) : -1;
  rp__hconn_free(c);
  *socket_ctx = NULL;
  if (fd >= 0) rp__hdoor_linger(&h->door, fd);
}

/* ---- beginning and end ---- */

static size_t leave_escaped(void *cls, struct MHD_Connection *mhd, char *text)
{
  (void)cls, (void)mhd;
  return strlen(text);
}

/*
 * libmicrohttpd refuses a broken Content-Length itself, and 0.9.75 writes the head of that answer twice. Its log says
 * so before the answer goes out, so ours goes out first, and a socket that is shut takes no other.
 */
RP_PRINTF(2, 0) static void on_log(void *cls, const char *fmt, va_list args)
{
  struct rp__http *h = cls;
  rp_error err = {0};
  (void)args;
  if (!strstr(fmt, "'Content-Length'") && !strstr(fmt, "`Content-Length'")) return;
  struct rp__hconn *c = rp__hconn_in_head(h);
  if (!c) return;
  struct rp__request *r = &c->r;
  r->step = RP_STEP_BODY;
  r->method = RP_METHOD_OTHER;
  r->method_name = "?"; /* not told yet */
  r->began_us = rp__ticks_us();
  r->raw = r->uploads = true;
  rp__fail_field(&err, RP_E_USAGE, "Content-Length", "must be one number of bytes, in digits");
  refuse(r, &err);
  shutdown(c->fd, SHUT_WR);
}

int rp__http_open(const struct rp__http_options *o, struct rp__http **ret, rp_error *err)
{
  sigset_t all, before;
  struct rp__http *h = calloc(1, sizeof(*h));
  if (!h) return rp__fail_nomem(err);
  unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_TURBO | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG |
                   MHD_USE_NO_LISTEN_SOCKET;
  unsigned threads = (unsigned)RP_MAX(o->threads, 1);
  struct MHD_OptionItem options[] = {
      {MHD_OPTION_EXTERNAL_LOGGER, (intptr_t)on_log, h},
      {MHD_OPTION_CONNECTION_MEMORY_LIMIT, RP_HTTP_POOL, NULL},
      {MHD_OPTION_CONNECTION_LIMIT, RP_HTTP_FD_MAX, NULL}, /* ours is the door's */
      {MHD_OPTION_UNESCAPE_CALLBACK, (intptr_t)leave_escaped, NULL},
      {MHD_OPTION_URI_LOG_CALLBACK, (intptr_t)on_line, NULL},
      {MHD_OPTION_NOTIFY_COMPLETED, (intptr_t)on_completed, NULL},
      {MHD_OPTION_NOTIFY_CONNECTION, (intptr_t)on_connection, h},
      {threads > 1 ? MHD_OPTION_THREAD_POOL_SIZE : MHD_OPTION_END, threads, NULL},
      {MHD_OPTION_END, 0, NULL},
  };
  h->o = *o;
  h->o.listen_fds = NULL;
  h->exact_lines = strncmp(MHD_get_version(), "0.9.", 4) == 0;
  /* Signals are for the program's own threads. */
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int code = rp__hconns_init(&h->conns, err);
  if (!code) {
    h->mhd = MHD_start_daemon(flags, 0, NULL, NULL, on_access, h, MHD_OPTION_ARRAY, options, MHD_OPTION_END);
    if (!h->mhd) code = rp__fail(err, RP_E_FAILED, "the HTTP threads can't be started");
  }
  if (!code) code = rp__hdoor_open(h, o->listen_fds, err);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (code) {
    rp__http_close(h);
    return code;
  }
  *ret = h;
  return 0;
}

void rp__http_quiesce(struct rp__http *h)
{
  rp__hdoor_quiesce(&h->door);
}

int rp__http_pending(const struct rp__http *h)
{
  return atomic_load(&h->pending);
}

int rp__http_connections(const struct rp__http *h)
{
  return atomic_load(&h->conns.n);
}

/* The order matters: libmicrohttpd aborts the program when it is stopped with a suspended connection. */
void rp__http_close(struct rp__http *h)
{
  const struct timespec step = {.tv_nsec = 1000000};
  if (!h) return;
  atomic_store(&h->closing, true);
  rp__hdoor_stop(h);
  while (atomic_load(&h->pending) > 0) nanosleep(&step, NULL);
  for (int ms = 0; ms < RP_HTTP_FLUSH_MS && atomic_load(&h->unsent) > 0; ms++) {
    if (h->o.hurry && atomic_load(h->o.hurry)) break;
    nanosleep(&step, NULL);
  }
  if (h->mhd) MHD_stop_daemon(h->mhd);
  rp__hdoor_close(h);
  rp__hconns_done(&h->conns);
  free(h);
}
