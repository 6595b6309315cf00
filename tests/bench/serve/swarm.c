/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many clients from one process and one thread: Phoenix channels that join and stay,
 * and readers of event streams.
 *
 *   swarm HOST:PORT --channels N      N sockets, each joined to a session of its own (swarm-1 …)
 *                   --readers N       N event streams of one session
 *                   --session ID      … of this one (swarm-fan)
 *
 * Prints `joined C reading R seconds S` when all are there, and stays until its input ends,
 * sending heartbeats. A line `fan N` on its input makes it post N events to the readers'
 * session, one after the other; `fan N median M p95 P max X` tells how long it took until the
 * last reader had each, in microseconds. Connections are opened in waves, so that the
 * listening queue is never full.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define WAVE 200       /* connections on their way at the same time */
#define HEARTBEAT_S 30 /* what the stock client does */
#define PATIENCE_S 300 /* for all to be there */
#define INPUT (64 * 1024)

enum kind { CHANNEL, READER };
enum stage { CONNECTING, SHAKING, JOINING, THERE };

struct client {
  int fd, number;
  enum kind kind;
  enum stage stage;
  int seen; /* events, of a reader */
};

static struct {
  struct sockaddr_in address;
  int epoll;
  const char *session;
  struct client *v;
  int n, opened, there, on_the_way;
} swarm;

__attribute__((noreturn, format(printf, 1, 2))) static void die(const char *format, ...)
{
  va_list args;
  va_start(args, format);
  vfprintf(stderr, format, args);
  va_end(args);
  fputc('\n', stderr);
  exit(1);
}

static double now_s(void)
{
  struct timespec ts;
  clock_gettime(CLOCK_MONOTONIC, &ts);
  return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void send_all(const struct client *c, const char *bytes, size_t n)
{
  if (send(c->fd, bytes, n, MSG_NOSIGNAL) != (ssize_t)n) die("client %d: send: %s", c->number, strerror(errno));
}

/* A text frame of a client: masked, with a mask of zeros, so the payload stands as it is. */
static void send_text(const struct client *c, const char *text)
{
  char frame[512] = {(char)0x81};
  size_t n = strlen(text), head = 2;
  if (n < 126) {
    frame[1] = (char)(0x80 | n);
  } else {
    frame[1] = (char)(0x80 | 126);
    frame[2] = (char)(n >> 8);
    frame[3] = (char)n;
    head = 4;
  }
  memset(frame + head, 0, 4);
  memcpy(frame + head + 4, text, n);
  send_all(c, frame, head + 4 + n);
}

static void open_next(void)
{
  struct client *c = &swarm.v[swarm.opened++];
  int one = 1;
  c->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (c->fd < 0) die("socket %d: %s", c->number, strerror(errno));
  setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  if (connect(c->fd, (struct sockaddr *)&swarm.address, sizeof swarm.address) && errno != EINPROGRESS)
    die("connect: %s", strerror(errno));
  struct epoll_event ev = {.events = EPOLLOUT, .data.ptr = c};
  if (epoll_ctl(swarm.epoll, EPOLL_CTL_ADD, c->fd, &ev)) die("epoll: %s", strerror(errno));
  swarm.on_the_way++;
}

static void arrived(struct client *c)
{
  c->stage = THERE;
  swarm.there++;
  swarm.on_the_way--;
}

static void on_connected(struct client *c)
{
  char text[512];
  int error = 0;
  socklen_t n = sizeof error;
  getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &n);
  if (error) die("client %d: connect: %s", c->number, strerror(error));
  if (c->kind == CHANNEL)
    snprintf(
        text, sizeof text,
        "GET /socket/websocket?vsn=2.0.0 HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: c3dhcm1zd2FybXN3YXJtMQ==\r\n\r\n");
  else
    snprintf(text, sizeof text, "GET /v1/sessions/%s/events/stream HTTP/1.1\r\nHost: localhost\r\n\r\n", swarm.session);
  send_all(c, text, strlen(text));
  c->stage = SHAKING;
  struct epoll_event ev = {.events = EPOLLIN, .data.ptr = c};
  epoll_ctl(swarm.epoll, EPOLL_CTL_MOD, c->fd, &ev);
}

static int count(const char *text, size_t n, const char *word)
{
  int found = 0;
  size_t len = strlen(word);
  for (const char *at = text; (at = memmem(at, n - (size_t)(at - text), word, len)); at += len) found++;
  return found;
}

static void on_input(struct client *c, const char *text, size_t n)
{
  char join[256];
  bool ok = memmem(text, n, c->kind == CHANNEL ? " 101 " : " 200 ", 5) != NULL;
  if (c->stage == SHAKING && !ok) die("client %d was refused: %.*s", c->number, (int)(n < 300 ? n : 300), text);
  if (c->stage == SHAKING && c->kind == CHANNEL) {
    snprintf(join, sizeof join, "[\"1\",\"1\",\"session:swarm-%d\",\"phx_join\",{\"scope\":\"swarm\"}]", c->number);
    send_text(c, join);
    c->stage = JOINING;
    return;
  }
  if (c->stage == SHAKING) arrived(c);
  if (c->kind == READER) c->seen += count(text, n, "\ndata: ") + (n > 6 && memcmp(text, "data: ", 6) == 0);
  if (c->stage == JOINING && memmem(text, n, "phx_reply", 9)) {
    if (!memmem(text, n, "\"ok\"", 4)) die("client %d can't join: %.*s", c->number, (int)n, text);
    arrived(c);
  }
}

static void turn(int timeout_ms)
{
  static char input[INPUT];
  struct epoll_event ev[256];
  while (swarm.opened < swarm.n && swarm.on_the_way < WAVE) open_next();
  int n = epoll_wait(swarm.epoll, ev, 256, timeout_ms);
  for (int i = 0; i < n; i++) {
    struct client *c = ev[i].data.ptr;
    if (c->stage == CONNECTING) {
      on_connected(c);
      continue;
    }
    ssize_t got = recv(c->fd, input, sizeof input, 0);
    if (got > 0)
      on_input(c, input, (size_t)got);
    else if (got == 0 || (errno != EAGAIN && errno != EINTR))
      die("client %d was cut off", c->number);
  }
}

/* ---- fanning out ---- */

static int poster(void)
{
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
  if (fd < 0 || connect(fd, (struct sockaddr *)&swarm.address, sizeof swarm.address))
    die("connect: %s", strerror(errno));
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  return fd;
}

static void post(int fd, int i)
{
  static char drop[4096];
  char body[128], text[512];
  int n = snprintf(body, sizeof body, "{\"kind\":\"x-fan\",\"body\":{\"i\":%d}}", i);
  int len = snprintf(text, sizeof text,
                     "POST /v1/sessions/%s/events HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                     "Content-Length: %d\r\n\r\n%s",
                     swarm.session, n, body);
  recv(fd, drop, sizeof drop, MSG_DONTWAIT); /* the answer before */
  if (send(fd, text, (size_t)len, MSG_NOSIGNAL) != len) die("post: %s", strerror(errno));
}

static bool all_have(int events)
{
  for (int i = 0; i < swarm.n; i++)
    if (swarm.v[i].kind == READER && swarm.v[i].seen < events) return false;
  return true;
}

static int by_value(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void fan(int n)
{
  double *us = calloc((size_t)n, sizeof *us);
  int fd = poster(), before = 0;
  if (!us) die("out of memory");
  for (int i = 0; i < swarm.n; i++)
    if (swarm.v[i].kind == READER && swarm.v[i].seen > before) before = swarm.v[i].seen;
  for (int i = 0; i < n; i++) {
    double began = now_s();
    post(fd, i);
    while (!all_have(before + i + 1)) {
      turn(1000);
      if (now_s() - began > 30) die("event %d never reached everybody", i);
    }
    us[i] = (now_s() - began) * 1e6;
  }
  qsort(us, (size_t)n, sizeof *us, by_value);
  printf("fan %d median %.0f p95 %.0f max %.0f\n", n, us[n / 2], us[(size_t)(n * 0.95)], us[n - 1]);
  fflush(stdout);
  close(fd);
  free(us);
}

/* ---- staying ---- */

/* False at the end of the input. */
static bool obey(void)
{
  char line[64];
  struct timespec none = {0};
  fd_set set;
  int n;
  FD_ZERO(&set);
  FD_SET(0, &set);
  if (pselect(1, &set, NULL, NULL, &none, NULL) != 1) return true;
  ssize_t got = read(0, line, sizeof line - 1);
  if (got <= 0) return false;
  line[got] = '\0';
  if (sscanf(line, "fan %d", &n) == 1 && n > 0) fan(n);
  return true;
}

/* Spread over the time between two of one client, as they would be if these were many programs. */
static void beat(double *due)
{
  static int next;
  double now = now_s();
  while (*due < now && swarm.n > 0) {
    struct client *c = &swarm.v[next++ % swarm.n];
    *due += (double)HEARTBEAT_S / swarm.n;
    if (c->kind == CHANNEL) send_text(c, "[null,\"2\",\"phoenix\",\"heartbeat\",{}]");
  }
}

static void stay(void)
{
  for (double due = now_s(); obey();) {
    turn(50);
    beat(&due);
  }
}

static void arguments(int argc, char **argv)
{
  int channels = 0, readers = 0;
  char host[64] = "";
  unsigned port = 0;
  if (argc < 2 || sscanf(argv[1], "%63[^:]:%u", host, &port) != 2) die("usage: swarm HOST:PORT [--channels N] …");
  for (int i = 2; i + 1 < argc; i += 2) {
    long v = strtol(argv[i + 1], NULL, 10);
    if (!strcmp(argv[i], "--channels")) channels = (int)v;
    if (!strcmp(argv[i], "--readers")) readers = (int)v;
    if (!strcmp(argv[i], "--session")) swarm.session = argv[i + 1];
  }
  swarm.address = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  if (inet_pton(AF_INET, host, &swarm.address.sin_addr) != 1) die("%s is no address", host);
  swarm.n = channels + readers;
  swarm.v = calloc((size_t)swarm.n + 1, sizeof *swarm.v);
  if (!swarm.v) die("out of memory");
  for (int i = 0; i < swarm.n; i++) {
    swarm.v[i].number = i + 1;
    swarm.v[i].kind = i < channels ? CHANNEL : READER;
  }
}

int main(int argc, char **argv)
{
  struct rlimit files;
  swarm.session = "swarm-fan";
  arguments(argc, argv);
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  swarm.epoll = epoll_create1(EPOLL_CLOEXEC);
  double began = now_s();
  while (swarm.there < swarm.n) {
    turn(1000);
    if (now_s() - began > PATIENCE_S) die("only %d of %d are there", swarm.there, swarm.n);
  }
  int channels = 0;
  for (int i = 0; i < swarm.n; i++) channels += swarm.v[i].kind == CHANNEL;
  printf("joined %d reading %d seconds %.2f\n", channels, swarm.n - channels, now_s() - began);
  fflush(stdout);
  stay();
  return 0;
}
