/* SPDX-License-Identifier: Apache-2.0 */
/* A client that keeps one connection and times its requests. */
#include "serve.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define HEAD_BYTES 4096
#define ANSWER_MAX (16 * 1024 * 1024)
#define PATIENCE_S 60

void client_open(struct client *c, int port)
{
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  struct timeval patience = {.tv_sec = PATIENCE_S};
  int one = 1;
  *c = (struct client){.port = port};
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&at, sizeof at) != 0)
    die("port %d can't be connected to: %s", port, strerror(errno));
  setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  setsockopt(c->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
}

void client_close(struct client *c)
{
  close(c->fd);
  free(c->body);
  *c = (struct client){.fd = -1};
}

static void send_request(const struct client *c, const char *method, const char *path, const char *body)
{
  char head[HEAD_BYTES];
  size_t n = body ? strlen(body) : 0;
  int len = snprintf(head, sizeof head,
                     "%s %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Type: application/json\r\n"
                     "Content-Length: %zu\r\n\r\n",
                     method, path, c->port, n);
  struct iovec parts[2] = {{head, (size_t)len}, {(void *)(uintptr_t)body, n}};
  struct msghdr m = {.msg_iov = parts, .msg_iovlen = n ? 2 : 1};
  if (sendmsg(c->fd, &m, MSG_NOSIGNAL) != (ssize_t)((size_t)len + n)) die("%s %s can't be sent", method, path);
}

static size_t receive(const struct client *c, char *to, size_t n, const char *path)
{
  ssize_t got = recv(c->fd, to, n, 0);
  if (got <= 0) die("%s: %s", path, got == 0 ? "the connection was closed" : strerror(errno));
  return (size_t)got;
}

/* The value of a header in a head that ends with a NUL. */
static const char *header(const char *head, const char *name)
{
  const char *at = strcasestr(head, name);
  return at ? at + strlen(name) : NULL;
}

static void make_room(struct client *c, size_t n, const char *path)
{
  if (n > ANSWER_MAX) die("%s: an answer of %zu bytes", path, n);
  if (n + 1 > c->cap) {
    free(c->body);
    c->body = must_alloc(n + 1, 1);
    c->cap = n + 1;
  }
  c->n = n;
  c->body[n] = '\0';
}

int client_ask(struct client *c, const char *method, const char *path, const char *body)
{
  char head[HEAD_BYTES];
  size_t n = 0;
  char *end = NULL;
  send_request(c, method, path, body);
  while (end == NULL) {
    if (n + 1 == sizeof head) die("%s: the answer's head is too long", path);
    n += receive(c, head + n, sizeof head - 1 - n, path);
    head[n] = '\0';
    end = strstr(head, "\r\n\r\n");
  }
  size_t got = n - (size_t)(end + 4 - head);
  end[2] = '\0';
  const char *length = header(head, "\r\nContent-Length: "), *type = header(head, "\r\nContent-Type: ");
  make_room(c, length ? strtoul(length, NULL, 10) : 0, path);
  if (got > c->n) die("%s: more came than was announced", path);
  memcpy(c->body, end + 4, got);
  while (got < c->n) got += receive(c, c->body + got, c->n - got, path);
  snprintf(c->type, sizeof c->type, "%.*s", type ? (int)strcspn(type, "\r") : 0, type ? type : "");
  return (int)strtol(head + strcspn(head, " "), NULL, 10);
}

void client_must(struct client *c, int status, const char *method, const char *path, const char *body)
{
  int got = client_ask(c, method, path, body);
  if (got != status) die("%s %s: %d instead of %d: %.300s", method, path, got, status, c->body);
}
