/* SPDX-License-Identifier: Apache-2.0 */
/* From HTTP to a WebSocket over TCP: the request is checked, the socket leaves, frames flow (L-03, C-06). */
#include "rig.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include "client.h"
#include "net/listen.h"
#include "net/ws.h"

#define ASK                                                                                                            \
  "GET /socket/websocket?vsn=2.0.0 HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n"                              \
  "Connection: keep-alive, Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
#define ANSWER                                                                                                         \
  "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"                                  \
  "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n" RP_HTTP_SAFE_LINES                                          \
  "Sec-WebSocket-Protocol: phoenix\r\n\r\n"

struct service {
  struct rp__loop *l;
  struct rp__listeners listeners;
  struct rp__http *http;
  struct news news;
  int closed;
};

struct arrival {
  struct rp__job job;
  struct service *s;
  struct rp__ws *ws;
  int fd;
  struct rp__buf head;
};

static void on_message(void *ctx, bool binary, const char *bytes, size_t n)
{
  struct arrival *a = ctx;
  struct rp__net_msg *m = binary ? rp__ws_binary(bytes, n) : rp__ws_text(bytes, n);
  if (!m || rp__ws_send(a->ws, m)) abort();
  rp__msg_unref(m);
}

static void on_closed(void *ctx, int code, const char *why)
{
  struct arrival *a = ctx;
  struct service *s = a->s;
  (void)code, (void)why;
  rp__buf_done(&a->head);
  free(a);
  news_add(&s->news, &s->closed, 1);
}

static void arrive(struct rp__job *job)
{
  static const struct rp__ws_handler handler = {on_message, NULL, on_closed};
  static const struct rp__ws_options o = {.max_message = 1 << 20, .queue_bytes = 1 << 20};
  struct arrival *a = (struct arrival *)(void *)job;
  struct rp__str head = {a->head.p, a->head.n};
  if (rp__ws_open(a->s->l, a->fd, head, &o, &handler, a, &a->ws, NULL)) abort();
}

static void refuse(void *ctx, struct rp__request *r, const rp_error *err)
{
  (void)ctx;
  struct rp__answer a = {.status = 400, .type = "text/plain", .body = err->field, .n = strlen(err->field)};
  rp__request_answer(r, &a);
}

static void handle(void *ctx, struct rp__request *r)
{
  struct arrival *a = calloc(1, sizeof(*a));
  rp_error err = {0};
  if (!a) abort();
  *a = (struct arrival){{.fn = arrive}, ctx, NULL, -1, RP_BUF(1000)};
  if (rp__ws_handshake(r, "phoenix", &a->head, &err)) {
    free(a);
    refuse(ctx, r, &err);
    return;
  }
  if (rp__request_take(r, 101, &a->fd, &err) || !rp__loop_post(a->s->l, &a->job)) abort();
}

static void done(void *ctx, struct rp__request *r, bool complete)
{
  (void)ctx, (void)r, (void)complete;
}

static void begin(struct service *s)
{
  rp_error err = {0};
  *s = (struct service){.l = loop_begin(), .news = NEWS};
  rp__listeners_init(&s->listeners);
  if (rp__listen_add(&s->listeners, "127.0.0.1:0", &err)) fail_msg("%s", err.message);
  struct rp__http_options o = {.listen_fds = &s->listeners.v[0].fd,
                               .n_listen = 1,
                               .threads = 1,
                               .max_connections = 100,
                               .max_body = 1000,
                               .idle_s = 60,
                               .request_s = 60,
                               .refuse = refuse,
                               .handle = handle,
                               .done = done,
                               .ctx = s};
  if (rp__http_open(&o, &s->http, &err)) fail_msg("%s", err.message);
}

static void finish_test(struct service *s)
{
  rp__http_close(s->http);
  rp__loop_free(s->l);
  rp__listeners_close(&s->listeners);
}

static int dial(const struct service *s)
{
  struct sockaddr_in a;
  socklen_t n = sizeof(a);
  struct timeval deadline = {.tv_sec = DEADLINE_S};
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  assert_int_equal(getsockname(s->listeners.v[0].fd, (struct sockaddr *)&a, &n), 0);
  assert_int_equal(connect(fd, (struct sockaddr *)&a, n), 0);
  assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &deadline, sizeof(deadline)), 0);
  return fd;
}

static void expect(int fd, const char *bytes, size_t n)
{
  char got[400];
  get(fd, got, n);
  assert_memory_equal(got, bytes, n);
}

static void say(int fd, const char *text)
{
  put(fd, text, strlen(text));
}

/* The request in one piece, and byte by byte. */
static void a_socket_leaves_http(void **state)
{
  (void)state;
  struct service s;
  RP_AUTOBUF struct rp__buf frame = RP_BUF(1000);
  begin(&s);
  client_frame(&frame, 0x81, "Hello", 5);
  client_close(&frame, 1001, "");
  for (int round = 0; round < 2; round++) {
    int fd = dial(&s);
    const char *ask = ASK "Sec-WebSocket-Version: 13\r\n\r\n";
    for (size_t i = 0; round == 1 && i < strlen(ask); i++) put(fd, ask + i, 1);
    if (round == 0) say(fd, ask);
    expect(fd, ANSWER, sizeof(ANSWER) - 1);
    put(fd, frame.p, frame.n);
    expect(fd, "\x81\x05Hello\x88\x02\x03\xe9", 11);
    get_eof(fd);
    close(fd);
    news_await(&s.news, &s.closed, round + 1);
  }
  finish_test(&s);
}

/* The request is answered as any other, and the connection goes on. */
static void a_refused_handshake_stays_http(void **state)
{
  (void)state;
  struct service s;
  char got[2000];
  begin(&s);
  int fd = dial(&s);
  say(fd, ASK "Sec-WebSocket-Version: 8\r\n\r\n");
  ssize_t n = recv(fd, got, sizeof(got) - 1, 0);
  assert_true(n > 0);
  got[n] = 0;
  assert_memory_equal(got, "HTTP/1.1 400 ", 13);
  assert_non_null(strstr(got, "\r\n\r\nSec-WebSocket-Version"));
  say(fd, ASK "Sec-WebSocket-Version: 13\r\n\r\n");
  expect(fd, ANSWER, sizeof(ANSWER) - 1);
  close(fd);
  news_await(&s.news, &s.closed, 1);
  finish_test(&s);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_socket_leaves_http),
      cmocka_unit_test(a_refused_handshake_stays_http),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
