/* SPDX-License-Identifier: Apache-2.0 */
/* A small HTTP server for the tests of net/http, and clients that talk to it byte by byte. */
#include "http_rig.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <arpa/inet.h>
#include <poll.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/un.h>

/* ---- the server ---- */

static void answer_text(struct rp__request *r, int status, const char *text)
{
  struct rp__answer a = {.status = status, .type = "text/plain", .body = text, .n = strlen(text)};
  rp__request_answer(r, &a);
}

static void answer_echo(struct rp__request *r)
{
  struct rp__str body = rp__request_body(r), query = rp__request_query(r);
  char text[256];
  snprintf(text, sizeof(text), "%.*s", (int)query.n, query.p);
  struct rp__answer a = {.status = 200,
                         .type = "application/octet-stream",
                         .body = body.p,
                         .n = body.n,
                         .headers = {{"X-Query", text}, {"X-Method", rp__request_method_name(r)}}};
  rp__request_answer(r, &a);
}

static void answer_big(struct rp__request *r)
{
  size_t n = strtoul(rp__request_query(r).p, NULL, 10);
  char *body = malloc(n + 1);
  assert_non_null(body);
  for (size_t i = 0; i < n; i++) body[i] = (char)('a' + i % 26);
  struct rp__answer a = {.status = 200, .body = body, .n = n, .own = RP_BODY_TAKE};
  rp__request_answer(r, &a);
}

static void defer(struct rig *s, struct waiting **list, struct rp__request *r)
{
  struct waiting *w = malloc(sizeof(*w));
  assert_non_null(w);
  rp__request_defer(r);
  pthread_mutex_lock(&s->lock);
  *w = (struct waiting){*list, r};
  *list = w;
  pthread_cond_broadcast(&s->changed);
  pthread_mutex_unlock(&s->lock);
}

static void take(struct rig *s, struct rp__request *r)
{
  int fd;
  assert_int_equal(rp__request_take(r, 200, &fd, NULL), 0);
  pthread_mutex_lock(&s->lock);
  s->taken = fd;
  pthread_cond_broadcast(&s->changed);
  pthread_mutex_unlock(&s->lock);
}

static void handle(void *ctx, struct rp__request *r)
{
  struct rig *s = ctx;
  struct rp__str path = rp__request_path(r);
  atomic_fetch_add(&s->handled, 1);
  if (rp__str_eq(path, "/echo"))
    answer_echo(r);
  else if (rp__str_eq(path, "/later"))
    defer(s, &s->later, r);
  else if (rp__str_eq(path, "/held"))
    defer(s, &s->held, r);
  else if (rp__str_eq(path, "/take"))
    take(s, r);
  else if (rp__str_eq(path, "/big"))
    answer_big(r);
  else if (rp__str_eq(path, "/bad"))
    rp__request_answer(r, &(struct rp__answer){.status = 200, .headers = {{"X-Bad", "a\r\nX-Evil: b"}}});
  else if (rp__str_eq(path, "/head"))
    answer_text(r, 200,
                rp__request_header(r, rp__request_query(r).p) ? rp__request_header(r, rp__request_query(r).p) : "-");
  else
    answer_text(r, 404, "no such path");
}

static int admit(void *ctx, struct rp__request *r, size_t *max_body, rp_error *err)
{
  struct rig *s = ctx;
  atomic_fetch_add(&s->admitted, 1);
  if (rp__request_header(r, "X-Small")) *max_body = 10;
  if (rp__request_header(r, "X-Early")) answer_text(r, 200, "early");
  if (rp__request_header(r, "X-Secret")) return rp__fail(err, RP_E_UNAUTHORIZED, "not you");
  return 0;
}

static void refuse(void *ctx, struct rp__request *r, const rp_error *err)
{
  struct rig *s = ctx;
  int status = rp__request_refusal(r);
  atomic_fetch_add(&s->refused, 1);
  atomic_store(&s->last_code, err->code);
  answer_text(r, status ? status : rp_error_lookup(err->code)->http, err->message);
}

static void done(void *ctx, struct rp__request *r, bool complete)
{
  struct rig *s = ctx;
  assert_true(!complete || rp__request_status(r) > 0);
  atomic_fetch_add(&s->complete, complete);
  pthread_mutex_lock(&s->lock);
  atomic_fetch_add(&s->done, 1);
  pthread_cond_broadcast(&s->changed);
  pthread_mutex_unlock(&s->lock);
}

static void answer_all(struct waiting *list)
{
  for (struct waiting *next; list; list = next) {
    next = list->next;
    answer_echo(list->r);
    free(list);
  }
}

static void *answerer_main(void *arg)
{
  struct rig *s = arg;
  pthread_mutex_lock(&s->lock);
  while (!s->stop || s->later) {
    struct waiting *list = s->later;
    s->later = NULL;
    if (!list) {
      pthread_cond_wait(&s->changed, &s->lock);
      continue;
    }
    pthread_mutex_unlock(&s->lock);
    answer_all(list);
    pthread_mutex_lock(&s->lock);
  }
  pthread_mutex_unlock(&s->lock);
  return NULL;
}

void rig_start(struct rig *s, const char *address, const struct rp__http_options *o)
{
  rp_error err = {0};
  memset(s, 0, sizeof(*s));
  s->taken = -1;
  pthread_mutex_init(&s->lock, NULL);
  pthread_condattr_t monotonic;
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  pthread_cond_init(&s->changed, &monotonic);
  pthread_condattr_destroy(&monotonic);
  rp__listeners_init(&s->listeners);
  if (rp__listen_add(&s->listeners, address ? address : "127.0.0.1:0", &err)) fail_msg("%s", err.message);
  s->options = o ? *o : (struct rp__http_options){0};
  if (!s->options.threads) s->options.threads = 2;
  if (!s->options.max_body) s->options.max_body = RIG_BODY_MAX;
  if (!s->options.idle_s) s->options.idle_s = 60;
  if (!s->options.request_s) s->options.request_s = 30;
  s->options.listen_fds = &s->listeners.v[0].fd;
  s->options.n_listen = 1;
  s->options.admit = admit;
  s->options.refuse = refuse;
  s->options.handle = handle;
  s->options.done = done;
  s->options.ctx = s;
  assert_int_equal(pthread_create(&s->answerer, NULL, answerer_main, s), 0);
  if (rp__http_open(&s->options, &s->http, &err)) fail_msg("%s", err.message);
}

void rig_release(struct rig *s)
{
  pthread_mutex_lock(&s->lock);
  struct waiting *list = s->held;
  s->held = NULL;
  pthread_mutex_unlock(&s->lock);
  answer_all(list);
}

void rig_stop(struct rig *s)
{
  rig_release(s);
  rp__http_close(s->http);
  pthread_mutex_lock(&s->lock);
  s->stop = true;
  pthread_cond_broadcast(&s->changed);
  pthread_mutex_unlock(&s->lock);
  pthread_join(s->answerer, NULL);
  if (s->taken >= 0) close(s->taken);
  rp__listeners_close(&s->listeners);
  pthread_cond_destroy(&s->changed);
  pthread_mutex_destroy(&s->lock);
}

int64_t client_now_ms(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static struct timespec deadline(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  t.tv_sec += RIG_WAIT_MS / 1000;
  return t;
}

static void wait_a_little(int64_t until, const char *what, int n)
{
  if (client_now_ms() > until) fail_msg("there are %d %s", n, what);
  nanosleep(&(struct timespec){0, 1000000}, NULL);
}

void rig_await(struct rig *s, atomic_int *n, int at_least)
{
  (void)s;
  for (int64_t until = client_now_ms() + RIG_WAIT_MS; atomic_load(n) < at_least;)
    wait_a_little(until, "of what was awaited", atomic_load(n));
}

void rig_await_connections(struct rig *s, int at_most)
{
  for (int64_t until = client_now_ms() + RIG_WAIT_MS; rp__http_connections(s->http) > at_most;)
    wait_a_little(until, "connections", rp__http_connections(s->http));
}

int rig_taken(struct rig *s)
{
  struct timespec until = deadline();
  pthread_mutex_lock(&s->lock);
  while (s->taken < 0 && pthread_cond_timedwait(&s->changed, &s->lock, &until) == 0) {
  }
  int fd = s->taken;
  pthread_mutex_unlock(&s->lock);
  assert_true(fd >= 0);
  return fd;
}

/* ---- the client ---- */

int client_connect(const struct rig *s)
{
  const char *address = s->listeners.v[0].address;
  struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  struct sockaddr_un un = {.sun_family = AF_UNIX};
  bool is_unix = strncmp(address, "unix:", 5) == 0;
  int fd = socket(is_unix ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  assert_true(fd >= 0);
  if (is_unix)
    snprintf(un.sun_path, sizeof(un.sun_path), "%s", address + 5);
  else
    in.sin_port = htons((uint16_t)strtoul(strrchr(address, ':') + 1, NULL, 10));
  int rc = is_unix ? connect(fd, (struct sockaddr *)&un, sizeof(un)) : connect(fd, (struct sockaddr *)&in, sizeof(in));
  assert_int_equal(rc, 0);
  return fd;
}

void client_write_n(int fd, const char *bytes, size_t n)
{
  while (n > 0) {
    ssize_t sent = send(fd, bytes, n, MSG_NOSIGNAL);
    if (sent <= 0) return; /* the other end is gone; reading will tell */
    bytes += sent;
    n -= (size_t)sent;
  }
}

void client_write(int fd, const char *bytes)
{
  client_write_n(fd, bytes, strlen(bytes));
}

static ssize_t read_some(int fd, char *out, size_t n)
{
  struct pollfd p = {.fd = fd, .events = POLLIN};
  if (poll(&p, 1, RIG_WAIT_MS) <= 0) fail_msg("nothing came for %d ms", RIG_WAIT_MS);
  return recv(fd, out, n, 0);
}

/* Byte by byte, for what follows belongs to the next answer. */
static bool read_head(int fd, struct answer *a)
{
  size_t n = 0;
  while (n < sizeof(a->head) - 1) {
    if (read_some(fd, a->head + n, 1) != 1) return false;
    a->head[++n] = '\0';
    if (n >= 4 && memcmp(a->head + n - 4, "\r\n\r\n", 4) == 0) return true;
  }
  return false;
}

static bool read_answer(int fd, bool with_body, struct answer *a)
{
  *a = (struct answer){0};
  if (!read_head(fd, a)) return false;
  a->status = (int)strtol(a->head + 9, NULL, 10);
  if (a->status == 100) return true;
  const char *length = strcasestr(a->head, "\r\nContent-Length:");
  a->closes = strcasestr(a->head, "\r\nConnection: close") != NULL;
  a->n = length && with_body ? strtoul(length + 17, NULL, 10) : 0;
  a->body = calloc(1, a->n + 1);
  assert_non_null(a->body);
  for (size_t at = 0; at < a->n;) {
    ssize_t got = read_some(fd, a->body + at, a->n - at);
    if (got <= 0) return false;
    at += (size_t)got;
  }
  return true;
}

bool client_read(int fd, struct answer *ret)
{
  bool whole = read_answer(fd, true, ret);
  if (!whole) answer_done(ret);
  return whole;
}

bool client_read_head(int fd, struct answer *ret)
{
  bool whole = read_answer(fd, false, ret);
  if (!whole) answer_done(ret);
  return whole;
}

void answer_done(struct answer *a)
{
  free(a->body);
  a->body = NULL;
}

int client_ask(int fd, const char *request, struct answer *ret)
{
  client_write(fd, request);
  return client_read(fd, ret) ? ret->status : 0;
}

int client_once(const struct rig *s, const char *request)
{
  struct answer a;
  int fd = client_connect(s), status = client_ask(fd, request, &a);
  if (status) answer_done(&a);
  close(fd);
  return status;
}

void client_await_end(int fd)
{
  char c[256];
  while (read_some(fd, c, sizeof(c)) > 0) {
  }
}
