/* SPDX-License-Identifier: Apache-2.0 */
/* Listening sockets from one server to the next: what they are is read from the sockets, not from the message. */
#include <errno.h>
#include <sys/socket.h>

#include "net/listen-impl.h"

#define MAGIC "rp-listen 1"

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
    int code = rp__listen_describe(fds[i], &found[i], err);
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
