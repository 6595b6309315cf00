/* SPDX-License-Identifier: Apache-2.0 */
/* Listening sockets: parses addresses, makes sockets, takes inherited ones, and hands them to the next server. */
#include "net/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#define BACKLOG 4096
#define HOST_MAX 256
#define MAGIC "rp-listen 1" /* of the message that hands sockets over */
#define PASSED_FD 3         /* the first one that systemd passes */

void rp__listeners_init(struct rp__listeners *l)
{
  *l = (struct rp__listeners){0};
}

/* ---- what a socket is ---- */

union address {
  struct sockaddr sa;
  struct sockaddr_in v4;
  struct sockaddr_in6 v6;
  struct sockaddr_un un;
};

/* What the kernel knows of a socket that should be listening; makes it non-blocking and close-on-exec. */
static int describe(int fd, struct rp__listener *ret, rp_error *err)
{
  union address a = {0};
  socklen_t n = sizeof(a), size = sizeof(int);
  int type = 0, listening = 0;
  if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) < 0)
    return rp__fail_errno(err, errno, "file descriptor %d is no socket", fd);
  size = sizeof(int);
  if (type != SOCK_STREAM || getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &size) < 0 || !listening)
    return rp__fail(err, RP_E_USAGE, "file descriptor %d is no listening stream socket", fd);
  if (getsockname(fd, &a.sa, &n) < 0) return rp__fail_errno(err, errno, "file descriptor %d has no address", fd);
  if (a.sa.sa_family != AF_INET && a.sa.sa_family != AF_INET6 && a.sa.sa_family != AF_UNIX)
    return rp__fail(err, RP_E_USAGE, "file descriptor %d listens on no address of a known kind", fd);
  int flags = fcntl(fd, F_GETFL);
  if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 || fcntl(fd, F_SETFD, FD_CLOEXEC) < 0)
    return rp__fail_errno(err, errno, "file descriptor %d can't be set up", fd);
  *ret = (struct rp__listener){.fd = fd};
  char host[INET6_ADDRSTRLEN] = "";
  if (a.sa.sa_family == AF_UNIX) {
    int len = (int)(n > offsetof(struct sockaddr_un, sun_path) ? n - offsetof(struct sockaddr_un, sun_path) : 0);
    bool abstract = len > 0 && a.un.sun_path[0] == '\0';
    ret->loopback = true;
    snprintf(ret->address, RP_ADDRESS_TEXT, "unix:%s%.*s", abstract ? "@" : "", len - abstract,
             a.un.sun_path + abstract);
  } else if (a.sa.sa_family == AF_INET) {
    ret->loopback = ntohl(a.v4.sin_addr.s_addr) >> 24 == 127;
    inet_ntop(AF_INET, &a.v4.sin_addr, host, sizeof(host));
    snprintf(ret->address, RP_ADDRESS_TEXT, "%s:%d", host, ntohs(a.v4.sin_port));
  } else {
    const struct in6_addr *v6 = &a.v6.sin6_addr;
    ret->loopback = IN6_IS_ADDR_V4MAPPED(v6) ? v6->s6_addr[12] == 127 : IN6_IS_ADDR_LOOPBACK(v6);
    inet_ntop(AF_INET6, v6, host, sizeof(host));
    snprintf(ret->address, RP_ADDRESS_TEXT, "[%s]:%d", host, ntohs(a.v6.sin6_port));
  }
  return 0;
}

void rp__listeners_close(struct rp__listeners *l)
{
  for (size_t i = 0; i < l->n; i++) {
    union address a = {0};
    socklen_t n = sizeof(a);
    if (l->v[i].owned && getsockname(l->v[i].fd, &a.sa, &n) == 0 && a.sa.sa_family == AF_UNIX && a.un.sun_path[0])
      unlink(a.un.sun_path);
    close(l->v[i].fd);
  }
  rp__listeners_init(l);
}

/* ---- making them ---- */

static int fail_bind(rp_error *err, int errnum, const char *address)
{
  if (errnum != EADDRINUSE) return rp__fail_errno(err, errnum, "can't listen on %s", address);
  rp__fail_field(err, RP_E_BUSY, "listen", "somebody else listens on %s", address);
  rp__hint(err, "--replace takes it over from a running server, --listen names another address");
  return RP_E_BUSY;
}

static int bind_and_listen(const union address *a, socklen_t n, int *ret_fd)
{
  int on = 1, off = 0;
  RP_AUTOCLOSE int fd = socket(a->sa.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return errno;
  if (a->sa.sa_family == AF_UNIX) {
    (void)!fchmod(fd, 0600); /* bind gives the path the socket's own mode */
  } else {
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (a->sa.sa_family == AF_INET6) setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
  }
  if (bind(fd, &a->sa, n) < 0 || listen(fd, BACKLOG) < 0) return errno;
  *ret_fd = fd;
  fd = -1;
  return 0;
}

/* A path that nobody answers on was left behind by a server that was killed. */
static bool is_stale(const struct sockaddr_un *un, socklen_t n)
{
  RP_AUTOCLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  return fd >= 0 && connect(fd, (const struct sockaddr *)un, n) < 0 && errno == ECONNREFUSED;
}

static int add_unix(const char *path, const char *address, int *ret_fd, rp_error *err)
{
  union address a = {.un.sun_family = AF_UNIX};
  struct stat st;
  size_t len = strlen(path);
  if (len == 0 || len >= sizeof(a.un.sun_path))
    return rp__fail_field(err, RP_E_USAGE, "listen", "the path of a unix socket has 1 to %zu bytes",
                          sizeof(a.un.sun_path) - 1);
  memcpy(a.un.sun_path, path, len);
  socklen_t n = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len + 1);
  int errnum = bind_and_listen(&a, n, ret_fd);
  if (errnum == EADDRINUSE && lstat(path, &st) == 0 && S_ISSOCK(st.st_mode) && is_stale(&a.un, n)) {
    unlink(path);
    errnum = bind_and_listen(&a, n, ret_fd);
  }
  return errnum ? fail_bind(err, errnum, address) : 0;
}

/* Splits "HOST:PORT" and its short forms; `ret_port` points into `address`. */
static int split(const char *address, char host[HOST_MAX], const char **ret_port, rp_error *err)
{
  const char *begin = address, *end = NULL, *colon = strrchr(address, ':'), *port = colon ? colon + 1 : address;
  if (*address == '[') {
    begin = address + 1;
    end = strchr(address, ']');
    if (!end || colon != end + 1)
      return rp__fail_field(err, RP_E_USAGE, "listen", "\"%s\" should read [ADDRESS]:PORT", address);
  } else if (colon) {
    end = colon;
    if (memchr(begin, ':', (size_t)(end - begin)))
      return rp__fail_field(err, RP_E_USAGE, "listen", "\"%s\": an IPv6 address stands in brackets", address);
  }
  if (strspn(port, "0123456789") != strlen(port) || !*port || strlen(port) > 5 || strtol(port, NULL, 10) > 65535)
    return rp__fail_field(err, RP_E_USAGE, "listen", "\"%s\" has no port from 0 to 65535", address);
  size_t n = end ? (size_t)(end - begin) : 0;
  if (n >= HOST_MAX) return rp__fail_field(err, RP_E_USAGE, "listen", "the host name is too long");
  memcpy(host, n ? begin : "127.0.0.1", n ? n : sizeof("127.0.0.1"));
  if (n) host[n] = '\0';
  *ret_port = port;
  return 0;
}

int rp__listen_check(const char *address, rp_error *err)
{
  char host[HOST_MAX];
  const char *port;
  return strncmp(address, "unix:", 5) == 0 ? 0 : split(address, host, &port, err);
}

static int add_inet(const char *address, int *ret_fd, rp_error *err)
{
  char host[HOST_MAX];
  const char *port;
  struct addrinfo *found = NULL, hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
  union address a = {0};
  int code = split(address, host, &port, err);
  if (code) return code;
  if (strcmp(host, "*") == 0) memcpy(host, "0.0.0.0", sizeof("0.0.0.0"));
  code = getaddrinfo(host, port, &hints, &found);
  if (code) return rp__fail_field(err, RP_E_USAGE, "listen", "no address for \"%s\": %s", host, gai_strerror(code));
  socklen_t n = RP_MIN(found->ai_addrlen, (socklen_t)sizeof(a));
  memcpy(&a, found->ai_addr, n);
  freeaddrinfo(found);
  int errnum = bind_and_listen(&a, n, ret_fd);
  return errnum ? fail_bind(err, errnum, address) : 0;
}

int rp__listen_add(struct rp__listeners *l, const char *address, rp_error *err)
{
  struct rp__listener made;
  int fd = -1;
  bool is_unix = strncmp(address, "unix:", 5) == 0;
  if (l->n == RP_LISTEN_MAX)
    return rp__fail_field(err, RP_E_USAGE, "listen", "at most %d addresses can be listened on", RP_LISTEN_MAX);
  int code = is_unix ? add_unix(address + 5, address, &fd, err) : add_inet(address, &fd, err);
  if (code) return code;
  code = describe(fd, &made, err);
  if (code) {
    close(fd);
    return code;
  }
  made.owned = is_unix;
  l->v[l->n++] = made;
  return 0;
}

/* ---- inheriting them ---- */

static long env_number(const char *name)
{
  const char *text = getenv(name);
  char *end = NULL;
  long n = text && *text ? strtol(text, &end, 10) : 0;
  return end && *end == '\0' && n > 0 ? n : 0;
}

int rp__listen_inherit(struct rp__listeners *l, rp_error *err)
{
  struct rp__listener found[RP_LISTEN_MAX];
  long pid = env_number("LISTEN_PID"), n = env_number("LISTEN_FDS");
  unsetenv("LISTEN_PID");
  unsetenv("LISTEN_FDS");
  unsetenv("LISTEN_FDNAMES");
  if (pid != (long)getpid() || n == 0) return 0;
  if (n > (long)(RP_LISTEN_MAX - l->n))
    return rp__fail(err, RP_E_USAGE, "the service manager passes %ld sockets, at most %d can be listened on", n,
                    RP_LISTEN_MAX);
  for (int i = 0; i < n; i++) {
    int code = describe(PASSED_FD + i, &found[i], err);
    if (code) return rp__wrap(err, "LISTEN_FDS"), code;
  }
  memcpy(l->v + l->n, found, (size_t)n * sizeof(found[0]));
  l->n += (size_t)n;
  return 0;
}

/* ---- handing them over: the properties of a socket are read from the socket itself ---- */

struct message {
  char magic[sizeof(MAGIC)];
  uint8_t n;
  uint8_t owned[RP_LISTEN_MAX];
};

union control {
  char bytes[CMSG_SPACE(sizeof(int) * RP_LISTEN_MAX)];
  struct cmsghdr align;
};

int rp__listen_send(int unix_fd, struct rp__listeners *l, rp_error *err)
{
  struct message m = {.magic = MAGIC, .n = (uint8_t)l->n};
  union control control = {{0}};
  struct iovec iov = {&m, sizeof(m)};
  struct msghdr head = {.msg_iov = &iov, .msg_iovlen = 1};
  int fds[RP_LISTEN_MAX];
  for (size_t i = 0; i < l->n; i++) {
    fds[i] = l->v[i].fd;
    m.owned[i] = l->v[i].owned;
  }
  if (l->n) {
    head.msg_control = control.bytes;
    head.msg_controllen = CMSG_SPACE(sizeof(int) * l->n);
    struct cmsghdr *c = CMSG_FIRSTHDR(&head);
    *c = (struct cmsghdr){CMSG_LEN(sizeof(int) * l->n), SOL_SOCKET, SCM_RIGHTS};
    memcpy(CMSG_DATA(c), fds, sizeof(int) * l->n);
  }
  ssize_t sent = sendmsg(unix_fd, &head, MSG_NOSIGNAL);
  if (sent < 0) return rp__fail_errno(err, errno, "the listening sockets can't be handed over");
  if (sent != (ssize_t)sizeof(m)) return rp__fail(err, RP_E_IO, "the listening sockets were handed over in part");
  for (size_t i = 0; i < l->n; i++) l->v[i].owned = false;
  return 0;
}

static int take(struct rp__listeners *l, const struct message *m, const int *fds, size_t n, rp_error *err)
{
  struct rp__listener found[RP_LISTEN_MAX];
  if (memcmp(m->magic, MAGIC, sizeof(m->magic)) != 0 || m->n != n)
    return rp__fail(err, RP_E_USAGE, "what came is no message of a server that hands over");
  if (n > RP_LISTEN_MAX - l->n) return rp__fail(err, RP_E_LIMIT, "at most %d sockets can be taken", RP_LISTEN_MAX);
  for (size_t i = 0; i < n; i++) {
    int code = describe(fds[i], &found[i], err);
    if (code) return code;
    found[i].owned = m->owned[i] != 0 && strncmp(found[i].address, "unix:", 5) == 0;
  }
  memcpy(l->v + l->n, found, n * sizeof(found[0]));
  l->n += n;
  return 0;
}

int rp__listen_receive(int unix_fd, struct rp__listeners *l, rp_error *err)
{
  struct message m = {{0}};
  union control control;
  struct iovec iov = {&m, sizeof(m)};
  struct msghdr head = {
      .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof(control)};
  int fds[RP_LISTEN_MAX], code;
  ssize_t got = recvmsg(unix_fd, &head, MSG_CMSG_CLOEXEC | MSG_WAITALL);
  if (got < 0) return rp__fail_errno(err, errno, "no listening sockets came");
  /* All file descriptors that came, whatever else is wrong: what is not kept must be closed. */
  size_t n = 0;
  for (struct cmsghdr *c = CMSG_FIRSTHDR(&head); c; c = CMSG_NXTHDR(&head, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    size_t many = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < many && n < RP_LISTEN_MAX; i++)
      memcpy(&fds[n++], CMSG_DATA(c) + i * sizeof(int), sizeof(int));
  }
  if (got != (ssize_t)sizeof(m) || (head.msg_flags & MSG_CTRUNC))
    code = rp__fail(err, RP_E_IO, "the message with the listening sockets was cut off");
  else
    code = take(l, &m, fds, n, err);
  for (size_t i = 0; code && i < n; i++) close(fds[i]);
  return code;
}

/* ---- the service manager's notification protocol: a few words in a datagram on a unix socket ---- */

void rp__notify(const char *state)
{
  const char *path = getenv("NOTIFY_SOCKET");
  struct sockaddr_un to = {.sun_family = AF_UNIX};
  size_t n = path ? strlen(path) : 0;
  if (n < 2 || n >= sizeof(to.sun_path) || (*path != '/' && *path != '@')) return;
  memcpy(to.sun_path, path, n);
  if (*path == '@') to.sun_path[0] = '\0'; /* an abstract name */
  RP_AUTOCLOSE int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return;
  /* Nobody can be told when this fails; the manager has a timeout of its own. */
  (void)!sendto(fd, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&to,
                (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n));
}
