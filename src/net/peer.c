/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the user at the other end of a local connection. The kernel is asked for the one socket that has our addresses
 * the other way round (sock_diag(7)), so the number of connections does not matter. A socket that its process has
 * closed, and the rest of one in TIME_WAIT, are reported as root's; both have no inode. Without an inode, and in any
 * other doubt, the user is unknown.
 */
#include "net/peer.h"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/macros.h"

#define WAIT_S 1 /* for the kernel, which answers at once */

union address {
  struct sockaddr sa;
  struct sockaddr_in v4;
  struct sockaddr_in6 v6;
};

struct question {
  struct nlmsghdr head;
  struct inet_diag_req_v2 req;
};

union answer {
  struct nlmsghdr head;
  char bytes[4096];
};

static int diag_open(void)
{
  const struct timeval wait = {.tv_sec = WAIT_S};
  int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
  if (fd >= 0) setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
  return fd;
}

bool rp__peer_is_told(void)
{
  RP_AUTOCLOSE int fd = diag_open();
  return fd >= 0;
}

/* An IPv4 address that came through an IPv6 socket is one of IPv4: so it is for the other end. */
static int write_address(const union address *a, __be32 ret[4], __be16 *ret_port)
{
  bool six = a->sa.sa_family == AF_INET6, mapped = six && IN6_IS_ADDR_V4MAPPED(&a->v6.sin6_addr);
  *ret_port = six ? a->v6.sin6_port : a->v4.sin_port;
  if (six && !mapped)
    memcpy(ret, &a->v6.sin6_addr, 16);
  else
    memcpy(ret, mapped ? a->v6.sin6_addr.s6_addr + 12 : (const uint8_t *)&a->v4.sin_addr, 4);
  return six && !mapped ? AF_INET6 : AF_INET;
}

static bool ask(const struct question *q, struct inet_diag_msg *ret)
{
  union answer a;
  RP_AUTOCLOSE int fd = diag_open();
  if (fd < 0 || send(fd, q, sizeof(*q), 0) != (ssize_t)sizeof(*q)) return false;
  ssize_t n = recv(fd, &a, sizeof(a), 0);
  if (n < (ssize_t)NLMSG_LENGTH(sizeof(*ret)) || a.head.nlmsg_type != SOCK_DIAG_BY_FAMILY ||
      a.head.nlmsg_len < NLMSG_LENGTH(sizeof(*ret)))
    return false;
  memcpy(ret, NLMSG_DATA(&a.head), sizeof(*ret));
  return true;
}

static bool uid_of_inet(const union address *theirs, const union address *ours, uid_t *ret)
{
  struct question q = {
      .head = {.nlmsg_len = sizeof(q), .nlmsg_type = SOCK_DIAG_BY_FAMILY, .nlmsg_flags = NLM_F_REQUEST},
      .req = {.sdiag_protocol = IPPROTO_TCP, .idiag_states = ~0U},
  };
  struct inet_diag_sockid *id = &q.req.id;
  struct inet_diag_msg m;
  int family = write_address(theirs, id->idiag_src, &id->idiag_sport);
  if (write_address(ours, id->idiag_dst, &id->idiag_dport) != family) return false;
  q.req.sdiag_family = (uint8_t)family;
  id->idiag_cookie[0] = id->idiag_cookie[1] = INET_DIAG_NOCOOKIE;
  if (!ask(&q, &m) || !m.idiag_inode) return false;
  /* A socket that only listens there would be another one. */
  size_t n = family == AF_INET6 ? 16 : 4;
  if (m.id.idiag_sport != id->idiag_sport || m.id.idiag_dport != id->idiag_dport ||
      memcmp(m.id.idiag_src, id->idiag_src, n) != 0 || memcmp(m.id.idiag_dst, id->idiag_dst, n) != 0)
    return false;
  *ret = m.idiag_uid;
  return true;
}

bool rp__peer_uid(int fd, uid_t *ret)
{
  union address theirs = {0}, ours = {0};
  socklen_t n = sizeof(theirs), m = sizeof(ours), size = sizeof(struct ucred);
  struct ucred who;
  if (getsockname(fd, &ours.sa, &m)) return false;
  if (ours.sa.sa_family == AF_UNIX) {
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) || size != sizeof(who) || who.pid <= 0) return false;
    *ret = who.uid;
    return true;
  }
  if (ours.sa.sa_family != AF_INET && ours.sa.sa_family != AF_INET6) return false;
  return getpeername(fd, &theirs.sa, &n) == 0 && uid_of_inet(&theirs, &ours, ret);
}

bool rp__peer_is_own(int fd)
{
  uid_t uid;
  if (!rp__peer_uid(fd, &uid)) return false;
  if (uid == 0 || uid != geteuid()) return uid == 0;
  /* What users that have no number here are shown as says nothing about who they are. */
  unsigned nobodys = 65534;
  FILE *f = fopen("/proc/sys/kernel/overflowuid", "re");
  if (f && fscanf(f, "%u", &nobodys) != 1) nobodys = 65534;
  if (f) fclose(f);
  return uid != nobodys;
}
