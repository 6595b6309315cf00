/* SPDX-License-Identifier: Apache-2.0 */
/* Whose the other end of a connection is (C-02: local = uid). Other users' connections: server-auth.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/peer.h"

union address {
  struct sockaddr sa;
  struct sockaddr_in v4;
  struct sockaddr_in6 v6;
};

struct pair {
  int client, server;
};

static int listen_on(int family, union address *a, socklen_t *n)
{
  int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0), off = 0;
  memset(a, 0, sizeof *a);
  a->sa.sa_family = (sa_family_t)family;
  if (family == AF_INET) a->v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (family == AF_INET6) setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  *n = family == AF_INET ? sizeof a->v4 : sizeof a->v6;
  if (fd < 0 || bind(fd, &a->sa, *n) || listen(fd, 4) || getsockname(fd, &a->sa, n)) {
    if (fd >= 0) close(fd);
    return -1;
  }
  return fd;
}

/* A client of `family` on a server of `served`; false where the machine has no such addresses. */
static bool connected(int served, int family, struct pair *ret)
{
  union address at, to = {.sa.sa_family = (sa_family_t)family};
  socklen_t n, to_n = family == AF_INET ? sizeof to.v4 : sizeof to.v6;
  int listening = listen_on(served, &at, &n);
  if (listening < 0) return false;
  in_port_t port = served == AF_INET ? at.v4.sin_port : at.v6.sin6_port;
  if (family == AF_INET) {
    to.v4.sin_port = port;
    to.v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  } else {
    to.v6.sin6_port = port;
    to.v6.sin6_addr = in6addr_loopback;
  }
  ret->client = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  bool there = ret->client >= 0 && connect(ret->client, &to.sa, to_n) == 0;
  ret->server = there ? accept4(listening, NULL, NULL, SOCK_CLOEXEC) : -1;
  close(listening);
  if (!there && ret->client >= 0) close(ret->client);
  return there;
}

static void the_other_end_has_an_owner_while_it_is_open(void **state)
{
  static const int kinds[][2] = {{AF_INET, AF_INET}, {AF_INET6, AF_INET6}, {AF_INET6, AF_INET}};
  (void)state;
  if (!rp__peer_is_told()) {
    print_message("the kernel does not tell here\n");
    skip();
  }
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
    struct pair p;
    uid_t uid = 4711;
    if (!connected(kinds[i][0], kinds[i][1], &p)) {
      assert_int_not_equal(kinds[i][1], AF_INET);
      continue;
    }
    assert_true(rp__peer_uid(p.server, &uid));
    assert_int_equal(uid, geteuid());
    assert_true(rp__peer_is_own(p.server));
    /* One end that has said all it has to say is still somebody's; one that is closed is nobody's, though it is
     * listed as root's. */
    shutdown(p.client, SHUT_WR);
    assert_true(rp__peer_is_own(p.server));
    close(p.client);
    assert_false(rp__peer_uid(p.server, &uid));
    assert_false(rp__peer_is_own(p.server));
    close(p.server);
  }
}

static void a_unix_socket_knows_too(void **state)
{
  int fd[2];
  uid_t uid = 4711;
  (void)state;
  assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd), 0);
  assert_true(rp__peer_uid(fd[0], &uid));
  assert_int_equal(uid, geteuid());
  assert_true(rp__peer_is_own(fd[0]));
  close(fd[0]);
  close(fd[1]);
}

static void what_is_no_connection_is_nobodys(void **state)
{
  union address at;
  socklen_t n;
  uid_t uid;
  int fd = listen_on(AF_INET, &at, &n);
  (void)state;
  assert_true(fd >= 0);
  assert_false(rp__peer_uid(fd, &uid));
  assert_false(rp__peer_uid(-1, &uid));
  close(fd);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_other_end_has_an_owner_while_it_is_open),
      cmocka_unit_test(a_unix_socket_knows_too),
      cmocka_unit_test(what_is_no_connection_is_nobodys),
  };
  return cmocka_run_group_tests_name("net peer", tests, NULL, NULL);
}
