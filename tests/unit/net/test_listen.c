/* SPDX-License-Identifier: Apache-2.0 */
/* Listening sockets: made, inherited, handed over (L-13). */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "net/listen.h"

static int make_dir(void **state)
{
  static char dir[64];
  snprintf(dir, sizeof(dir), "/tmp/net-listen-XXXXXX");
  *state = dir;
  return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
  return rmdir(*state); /* fails when a socket was left behind */
}

static unsigned port_of(const struct rp__listener *l)
{
  return (unsigned)strtoul(strrchr(l->address, ':') + 1, NULL, 10);
}

static bool connects(const struct rp__listener *l)
{
  struct sockaddr_un un = {.sun_family = AF_UNIX};
  struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  bool is_unix = strncmp(l->address, "unix:", 5) == 0;
  RP_AUTOCLOSE int fd = socket(is_unix ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (is_unix) {
    snprintf(un.sun_path, sizeof(un.sun_path), "%s", l->address + 5);
    return connect(fd, (struct sockaddr *)&un, sizeof(un)) == 0;
  }
  in.sin_port = htons((uint16_t)port_of(l));
  return connect(fd, (struct sockaddr *)&in, sizeof(in)) == 0;
}

static void addresses_have_short_forms(void **state)
{
  static const struct {
    const char *given, *bound;
    bool loopback;
  } cases[] = {
      {"127.0.0.1:0", "127.0.0.1:", true}, {":0", "127.0.0.1:", true},  {"0", "127.0.0.1:", true},
      {"localhost:0", "", true},           {"*:0", "0.0.0.0:", false},  {"0.0.0.0:0", "0.0.0.0:", false},
      {"127.9.9.9:0", "127.9.9.9:", true}, {"[::1]:0", "[::1]:", true}, {"[::]:0", "[::]:", false},
  };
  int six = socket(AF_INET6, SOCK_STREAM, 0);
  struct sockaddr_in6 here = {.sin6_family = AF_INET6, .sin6_addr = in6addr_loopback};
  bool has_six = six >= 0 && bind(six, (struct sockaddr *)&here, sizeof(here)) == 0;
  if (six >= 0) close(six);
  (void)state;
  for (size_t i = 0; i < RP_ARRAY_SIZE(cases); i++) {
    struct rp__listeners l;
    rp_error err = {0};
    if (cases[i].given[0] == '[' && !has_six) continue;
    rp__listeners_init(&l);
    if (rp__listen_add(&l, cases[i].given, &err)) fail_msg("%s: %s", cases[i].given, err.message);
    assert_int_equal(l.n, 1);
    assert_int_equal(strncmp(l.v[0].address, cases[i].bound, strlen(cases[i].bound)), 0);
    assert_true(port_of(&l.v[0]) > 0);
    assert_int_equal(l.v[0].loopback, cases[i].loopback);
    assert_true(fcntl(l.v[0].fd, F_GETFL) & O_NONBLOCK);
    assert_int_equal(fcntl(l.v[0].fd, F_GETFD), FD_CLOEXEC);
    rp__listeners_close(&l);
  }
}

static void what_is_no_address_is_refused(void **state)
{
  static const char *const bad[] = {
      "",      ":",       "x",       "127.0.0.1:",   "127.0.0.1:65536", "127.0.0.1:-1", "::1:80",
      "[::1]", "[::1]80", "[::1:80", "127.0.0.1:8x", "unix:",           "1.2.3.4.5:0",  "127.0.0.1: 80"};
  struct rp__listeners l;
  (void)state;
  rp__listeners_init(&l);
  for (size_t i = 0; i < RP_ARRAY_SIZE(bad); i++) {
    rp_error err = {0};
    if (rp__listen_add(&l, bad[i], &err) != RP_E_USAGE) fail_msg("\"%s\" passed", bad[i]);
    assert_string_equal(err.field, "listen");
  }
  char path[256] = "unix:/";
  memset(path + 6, 'x', 200);
  assert_int_equal(rp__listen_add(&l, path, NULL), RP_E_USAGE);
  assert_int_equal(l.n, 0);
}

static void an_address_in_use_is_busy(void **state)
{
  struct rp__listeners a, b;
  char unix_address[128];
  rp_error err = {0};
  snprintf(unix_address, sizeof(unix_address), "unix:%s/s", (char *)*state);
  rp__listeners_init(&a);
  rp__listeners_init(&b);
  assert_int_equal(rp__listen_add(&a, "127.0.0.1:0", NULL), 0);
  assert_int_equal(rp__listen_add(&a, unix_address, NULL), 0);
  for (size_t i = 0; i < 2; i++) {
    assert_int_equal(rp__listen_add(&b, a.v[i].address, &err), RP_E_BUSY);
    assert_non_null(strstr(err.hint, "--replace"));
  }
  assert_int_equal(b.n, 0);
  assert_true(connects(&a.v[1])); /* what was there is untouched */
  rp__listeners_close(&a);
}

static void only_so_many_can_be_listened_on(void **state)
{
  struct rp__listeners l;
  (void)state;
  rp__listeners_init(&l);
  for (int i = 0; i < RP_LISTEN_MAX; i++) assert_int_equal(rp__listen_add(&l, "0", NULL), 0);
  assert_int_equal(rp__listen_add(&l, "0", NULL), RP_E_USAGE);
  rp__listeners_close(&l);
}

static void a_unix_socket_is_private_and_outlives_no_server(void **state)
{
  char address[128];
  struct rp__listeners l;
  struct stat st;
  snprintf(address, sizeof(address), "unix:%s/s", (char *)*state);
  rp__listeners_init(&l);
  mode_t before = umask(0);
  assert_int_equal(rp__listen_add(&l, address, NULL), 0);
  umask(before);
  assert_int_equal(stat(address + 5, &st), 0);
  assert_int_equal(st.st_mode & 0777, 0600);
  assert_true(l.v[0].loopback && l.v[0].owned);
  assert_string_equal(l.v[0].address, address);
  close(l.v[0].fd); /* as if it was killed: the path stays */
  l.n = 0;
  assert_int_equal(stat(address + 5, &st), 0);
  assert_int_equal(rp__listen_add(&l, address, NULL), 0);
  assert_true(connects(&l.v[0]));
  rp__listeners_close(&l);
  assert_int_equal(stat(address + 5, &st), -1);
}

static void a_file_is_not_mistaken_for_a_left_socket(void **state)
{
  char address[128];
  struct rp__listeners l;
  snprintf(address, sizeof(address), "unix:%s/file", (char *)*state);
  close(open(address + 5, O_CREAT | O_WRONLY, 0600));
  rp__listeners_init(&l);
  assert_int_equal(rp__listen_add(&l, address, NULL), RP_E_BUSY);
  assert_int_equal(unlink(address + 5), 0);
}

/* ---- handing over ---- */

static void sockets_can_be_handed_over(void **state)
{
  struct rp__listeners a, b;
  char address[128];
  int pair[2];
  struct stat st;
  snprintf(address, sizeof(address), "unix:%s/s", (char *)*state);
  rp__listeners_init(&a);
  rp__listeners_init(&b);
  assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
  assert_int_equal(rp__listen_add(&a, "127.0.0.1:0", NULL), 0);
  assert_int_equal(rp__listen_add(&a, address, NULL), 0);
  assert_int_equal(rp__listen_send(pair[0], &a, NULL), 0);
  assert_int_equal(rp__listen_receive(pair[1], &b, NULL), 0);
  assert_int_equal(b.n, 2);
  for (size_t i = 0; i < 2; i++) {
    assert_string_equal(b.v[i].address, a.v[i].address);
    assert_int_equal(b.v[i].loopback, a.v[i].loopback);
    assert_int_equal(fcntl(b.v[i].fd, F_GETFD), FD_CLOEXEC);
  }
  rp__listeners_close(&a); /* the one before goes; nobody notices */
  assert_int_equal(stat(address + 5, &st), 0);
  assert_true(connects(&b.v[0]) && connects(&b.v[1]));
  rp__listeners_close(&b);
  assert_int_equal(stat(address + 5, &st), -1);
  close(pair[0]), close(pair[1]);
}

static size_t open_fds(void)
{
  size_t n = 0;
  for (int fd = 0; fd < 256; fd++) n += fcntl(fd, F_GETFD) >= 0;
  return n;
}

static void send_fd(int to, const void *bytes, size_t n, int fd)
{
  union {
    char bytes[CMSG_SPACE(sizeof(int))];
    struct cmsghdr align;
  } control = {{0}};
  struct iovec iov = {(void *)(uintptr_t)bytes, n};
  struct msghdr head = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
  struct cmsghdr *c = CMSG_FIRSTHDR(&head);
  *c = (struct cmsghdr){CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
  memcpy(CMSG_DATA(c), &fd, sizeof(fd));
  assert_int_equal(sendmsg(to, &head, 0), n);
}

static void what_is_no_hand_over_leaves_nothing(void **state)
{
  char message[12 + 1 + RP_LISTEN_MAX] = "rp-listen 1";
  struct rp__listeners l;
  (void)state;
  rp__listeners_init(&l);
  for (int i = 0; i < 5; i++) {
    int pair[2];
    rp_error err = {0};
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    size_t before = open_fds();
    message[12] = i == 1 ? 2 : 1;
    message[0] = i == 2 ? 'x' : 'r';
    if (i == 0) /* right in form, but the descriptor is no listening socket */
      send_fd(pair[0], message, sizeof(message), pair[0]);
    else if (i < 3)
      send_fd(pair[0], message, sizeof(message), 0);
    else if (i == 3)
      send_fd(pair[0], message, 5, 0);
    shutdown(pair[0], SHUT_WR);
    assert_true(rp__listen_receive(pair[1], &l, &err) < 0);
    assert_true(err.message[0] != '\0');
    assert_int_equal(l.n, 0);
    assert_int_equal(open_fds(), before);
    close(pair[0]), close(pair[1]);
  }
}

/* ---- the service manager ---- */

static void set_number(const char *name, long n)
{
  char text[32];
  snprintf(text, sizeof(text), "%ld", n);
  setenv(name, text, 1);
}

/* In a child, for the descriptors from 3 on must be those passed. */
static int inherit(int (*check)(struct rp__listeners *l, int code))
{
  pid_t pid = fork();
  int status = 0;
  assert_true(pid >= 0);
  if (pid == 0) {
    struct rp__listeners l, made;
    rp__listeners_init(&l);
    rp__listeners_init(&made);
    if (rp__listen_add(&made, "0", NULL)) _exit(100);
    int fd = fcntl(made.v[0].fd, F_DUPFD, 100);
    if (dup2(fd, 3) != 3 || dup2(fd, 4) != 4) _exit(101);
    set_number("LISTEN_PID", getpid());
    set_number("LISTEN_FDS", 2);
    _exit(check(&l, 0));
  }
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int two_are_inherited(struct rp__listeners *l, int code)
{
  code = rp__listen_inherit(l, NULL);
  if (code || l->n != 2 || l->v[0].fd != 3 || l->v[1].fd != 4) return 1;
  if (getenv("LISTEN_PID") || getenv("LISTEN_FDS")) return 2;
  if (fcntl(3, F_GETFD) != FD_CLOEXEC || !(fcntl(3, F_GETFL) & O_NONBLOCK)) return 3;
  return !l->v[0].loopback || !connects(&l->v[1]) ? 4 : 0;
}

static int somebody_elses_are_left_alone(struct rp__listeners *l, int code)
{
  set_number("LISTEN_PID", getppid());
  code = rp__listen_inherit(l, NULL);
  return code || l->n != 0 || getenv("LISTEN_FDS") ? 1 : 0;
}

static int what_does_not_listen_is_refused(struct rp__listeners *l, int code)
{
  rp_error err = {0};
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  dup2(fd, 4);
  code = rp__listen_inherit(l, &err);
  return code != RP_E_USAGE || l->n != 0 || !strstr(err.message, "4") ? 1 : 0;
}

static int too_many_are_refused(struct rp__listeners *l, int code)
{
  set_number("LISTEN_FDS", RP_LISTEN_MAX + 1);
  code = rp__listen_inherit(l, NULL);
  return code != RP_E_USAGE || l->n != 0;
}

static void sockets_come_from_the_service_manager(void **state)
{
  (void)state;
  assert_int_equal(inherit(two_are_inherited), 0);
  assert_int_equal(inherit(somebody_elses_are_left_alone), 0);
  assert_int_equal(inherit(what_does_not_listen_is_refused), 0);
  assert_int_equal(inherit(too_many_are_refused), 0);
}

static void check_notify(const char *name, const char *path)
{
  struct sockaddr_un un = {.sun_family = AF_UNIX};
  char got[64] = "";
  size_t n = strlen(name);
  RP_AUTOCLOSE int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  memcpy(un.sun_path, name, n);
  if (*name == '@') un.sun_path[0] = '\0';
  assert_int_equal(bind(fd, (struct sockaddr *)&un, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n)), 0);
  setenv("NOTIFY_SOCKET", name, 1);
  rp__notify("READY=1\nSTATUS=here");
  assert_int_equal(recv(fd, got, sizeof(got), 0), 19);
  assert_string_equal(got, "READY=1\nSTATUS=here");
  if (path) unlink(path);
}

static void the_service_manager_is_told(void **state)
{
  char path[128], name[128];
  snprintf(path, sizeof(path), "%s/notify", (char *)*state);
  snprintf(name, sizeof(name), "@%s", (char *)*state);
  check_notify(path, path);
  check_notify(name, NULL);
  setenv("NOTIFY_SOCKET", "relative", 1);
  rp__notify("READY=1"); /* nothing to tell, nothing happens */
  unsetenv("NOTIFY_SOCKET");
  rp__notify("READY=1");
}

#define IN_DIR(test) cmocka_unit_test_setup_teardown(test, make_dir, remove_dir)

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(addresses_have_short_forms),
      cmocka_unit_test(what_is_no_address_is_refused),
      IN_DIR(an_address_in_use_is_busy),
      cmocka_unit_test(only_so_many_can_be_listened_on),
      IN_DIR(a_unix_socket_is_private_and_outlives_no_server),
      IN_DIR(a_file_is_not_mistaken_for_a_left_socket),
      IN_DIR(sockets_can_be_handed_over),
      cmocka_unit_test(what_is_no_hand_over_leaves_nothing),
      cmocka_unit_test(sockets_come_from_the_service_manager),
      IN_DIR(the_service_manager_is_told),
  };
  return cmocka_run_group_tests_name("net listen", tests, NULL, NULL);
}
