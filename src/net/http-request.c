/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a request that `handle` can read, and the ways to answer it. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <strings.h>

#include "net/http-impl.h"

#define RAW_HEAD_MAX (8 * 1024)

enum rp__method rp__request_method(const struct rp__request *r)
{
  return r->method;
}

const char *rp__request_method_name(const struct rp__request *r)
{
  return r->method_name;
}

struct rp__str rp__request_path(const struct rp__request *r)
{
  return (struct rp__str){r->uri.p, r->path_n};
}

struct rp__str rp__request_query(const struct rp__request *r)
{
  bool none = r->path_n == r->uri.n;
  return (struct rp__str){r->uri.p + r->path_n + !none, r->uri.n - r->path_n - !none};
}

const char *rp__request_header(const struct rp__request *r, const char *name)
{
  return MHD_lookup_connection_value(r->mhd, MHD_HEADER_KIND, name);
}

struct last {
  const char *name, *value;
};

static enum MHD_Result keep_last(void *cls, enum MHD_ValueKind kind, const char *name, const char *value)
{
  struct last *l = cls;
  (void)kind;
  if (value && strcasecmp(name, l->name) == 0) l->value = value;
  return MHD_YES;
}

const char *rp__request_header_last(const struct rp__request *r, const char *name)
{
  struct last l = {.name = name};
  MHD_get_connection_values(r->mhd, MHD_HEADER_KIND, keep_last, &l);
  return l.value;
}

static enum MHD_Result find_prefix(void *cls, enum MHD_ValueKind kind, const char *name, const char *value)
{
  const char **prefix = cls;
  (void)kind, (void)value;
  if (strncasecmp(name, *prefix, strlen(*prefix)) != 0) return MHD_YES;
  *prefix = NULL;
  return MHD_NO;
}

bool rp__request_has_prefix(const struct rp__request *r, const char *prefix)
{
  MHD_get_connection_values(r->mhd, MHD_HEADER_KIND, find_prefix, &prefix);
  return !prefix;
}

struct rp__str rp__request_body(const struct rp__request *r)
{
  return (struct rp__str){r->body.n ? r->body.p : "", r->body.n};
}

const char *rp__request_peer(const struct rp__request *r)
{
  return r->conn->peer;
}

bool rp__request_is_local(const struct rp__request *r)
{
  return r->conn->local;
}

void rp__request_local_address(const struct rp__request *r, char out[RP_HTTP_ADDRESS_TEXT])
{
  struct sockaddr_storage at = {0};
  socklen_t n = sizeof at;
  out[0] = '\0';
  if (getsockname(r->conn->fd, (struct sockaddr *)&at, &n)) return;
  const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)&at;
  if (at.ss_family == AF_INET)
    inet_ntop(AF_INET, &((const struct sockaddr_in *)&at)->sin_addr, out, RP_HTTP_ADDRESS_TEXT);
  else if (at.ss_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&six->sin6_addr))
    inet_ntop(AF_INET, six->sin6_addr.s6_addr + 12, out, RP_HTTP_ADDRESS_TEXT);
  else if (at.ss_family == AF_INET6)
    inet_ntop(AF_INET6, &six->sin6_addr, out, RP_HTTP_ADDRESS_TEXT);
}

int64_t rp__request_began_us(const struct rp__request *r)
{
  return r->began_us;
}

void *rp__request_user(const struct rp__request *r)
{
  return r->user;
}

void rp__request_set_user(struct rp__request *r, void *user)
{
  r->user = user;
}

int rp__request_status(const struct rp__request *r)
{
  return r->status;
}

size_t rp__request_answer_size(const struct rp__request *r)
{
  return r->answer_size;
}

int rp__request_refusal(const struct rp__request *r)
{
  return r->refusal;
}

/* ---- answering ---- */

/* An empty value is as good as none, and libmicrohttpd takes none. */
static bool is_given(const struct rp__header *header)
{
  return header->name && header->value && header->value[0];
}

#define PAIR(name, value) {name, value},
static const struct rp__header safe_headers[] = {RP_HTTP_SAFE(PAIR)};

static bool add_headers(const struct rp__request *r, const struct rp__answer *a, struct MHD_Response *response)
{
  bool good = !a->type || MHD_add_response_header(response, "Content-Type", a->type) == MHD_YES;
  for (size_t i = 0; i < RP_ARRAY_SIZE(safe_headers) && good; i++)
    good = MHD_add_response_header(response, safe_headers[i].name, safe_headers[i].value) == MHD_YES;
  for (const struct rp__header *h = a->headers; h < a->headers + RP_HTTP_HEADERS_MAX && good; h++)
    good = !is_given(h) || MHD_add_response_header(response, h->name, h->value) == MHD_YES;
  /* libmicrohttpd lets bare line feeds pass between chunks; what follows such a body may be read in two ways. */
  bool last = a->close || r->chunked || atomic_load_explicit(&r->conn->h->closing, memory_order_relaxed);
  if (good && last) good = MHD_add_response_header(response, "Connection", "close") == MHD_YES;
  return good;
}

/* What the answer gave away and is not needed. */
static void drop_body(const struct rp__answer *a)
{
  if (a->own == RP_BODY_TAKE) free((void *)(uintptr_t)a->body);
  if (a->own == RP_BODY_FILE) close(a->fd);
}

static struct MHD_Response *make_response(struct rp__request *r, const struct rp__answer *a)
{
  bool taken = a->own == RP_BODY_TAKE && a->n > 0;
  const char *body = a->n ? a->body : "";
  if (a->own == RP_BODY_COPY && a->n > 0) {
    if (!rp__hbuf_reserve(&r->out, a->n)) return NULL; /* which stays until the answer is out */
    body = memcpy(r->out.p, a->body, a->n);
  }
  struct MHD_Response *response =
      a->own == RP_BODY_FILE ? MHD_create_response_from_fd64(a->n, a->fd)
                             : MHD_create_response_from_buffer(a->n, (void *)(uintptr_t)body,
                                                               taken ? MHD_RESPMEM_MUST_FREE : MHD_RESPMEM_PERSISTENT);
  if (!response || (a->own == RP_BODY_TAKE && !taken)) drop_body(a);
  if (!response || add_headers(r, a, response)) return response;
  MHD_destroy_response(response);
  return NULL;
}

/* The answer as bytes on the socket, when libmicrohttpd can't be given one. Best effort: the connection ends anyway. */
static bool write_raw(struct rp__request *r, const struct rp__answer *a)
{
  RP_AUTOBUF struct rp__buf head = RP_BUF(RAW_HEAD_MAX);
  rp__buf_printf(&head, "HTTP/1.1 %d %s\r\nConnection: close\r\nContent-Length: %zu\r\n" RP_HTTP_SAFE_LINES, a->status,
                 MHD_get_reason_phrase_for((unsigned)a->status), a->n);
  if (a->type) rp__buf_printf(&head, "Content-Type: %s\r\n", a->type);
  for (size_t i = 0; i < RP_HTTP_HEADERS_MAX; i++)
    if (is_given(&a->headers[i])) rp__buf_printf(&head, "%s: %s\r\n", a->headers[i].name, a->headers[i].value);
  rp__buf_str(&head, "\r\n");
  if (head.err) return false;
  struct iovec parts[2] = {{head.p, head.n}, {(void *)(uintptr_t)a->body, a->n}};
  struct msghdr m = {.msg_iov = parts, .msg_iovlen = a->n ? 2 : 1};
  return sendmsg(r->conn->fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)(head.n + a->n);
}

void rp__request_answer(struct rp__request *r, const struct rp__answer *a)
{
  struct rp__http *h = r->conn->h;
  bool deferred = r->step == RP_STEP_DEFERRED;
  if (r->answered) {
    drop_body(a);
    return;
  }
  r->answered = true;
  r->status = a->status;
  r->answer_size = a->n;
  if (r->raw) {
    r->sent = a->own != RP_BODY_FILE && write_raw(r, a);
    drop_body(a);
  } else {
    r->response = make_response(r, a);
  }
  /* From here on a deferred request may be gone at any time, and with the last one the whole of HTTP. */
  bool owed = r->owed;
  r->owed = false;
  if (deferred) MHD_resume_connection(r->mhd);
  if (owed) atomic_fetch_sub(&h->pending, 1);
}

void rp__request_defer(struct rp__request *r)
{
  if (r->step != RP_STEP_HANDED || r->answered) return;
  r->step = RP_STEP_DEFERRED;
  MHD_suspend_connection(r->mhd);
}

int rp__request_take(struct rp__request *r, int status, int *ret_fd, rp_error *err)
{
  struct rp__hconn *c = r->conn;
  int on = 1, off = 0;
  if (r->step != RP_STEP_HANDED || r->answered)
    return rp__fail(err, RP_E_FAILED, "only a request without an answer can be taken");
  /* Under the lock, for the sweep's shutdown would reach the copy too. */
  pthread_mutex_lock(&c->h->conns.lock);
  rp__hconn_deadline(c, false, 0);
  pthread_mutex_unlock(&c->h->conns.lock);
  int fd = fcntl(c->fd, F_DUPFD_CLOEXEC, 0);
  if (fd < 0 && (errno == EMFILE || errno == ENFILE))
    return rp__fail(err, RP_E_LIMIT, "no file descriptor is left for another channel");
  if (fd < 0) return rp__fail_errno(err, errno, "the socket can't be taken");
  setsockopt(fd, IPPROTO_TCP, TCP_CORK, &off, sizeof(off)); /* libmicrohttpd uses it; a unix socket has none */
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  r->step = RP_STEP_TAKEN;
  r->answered = r->sent = true;
  r->status = status;
  rp__request_settle(r);
  *ret_fd = fd;
  return 0;
}
