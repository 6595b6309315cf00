/* SPDX-License-Identifier: Apache-2.0 */
/* Connections over time: deferred answers, sockets that leave, slow clients, limits, the end (L-03, L-13). */
#include "http_rig.h"

#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "lib/child.h"

#define HOST "Host: localhost\r\n"
#define GET(path) "GET " path " HTTP/1.1\r\n" HOST "\r\n"

/* ---- deferred ---- */

#define CLIENTS 8
#define ROUNDS 40

struct crowd {
  struct rig *s;
  atomic_int right;
};

static void *ask_many(void *arg)
{
  struct crowd *crowd = arg;
  int fd = client_connect(crowd->s);
  for (int i = 0; i < ROUNDS; i++) {
    char request[256], body[64];
    struct answer a;
    int n = snprintf(body, sizeof(body), "%p %d", arg, i);
    snprintf(request, sizeof(request), "POST /later HTTP/1.1\r\n" HOST "Content-Length: %d\r\n\r\n%s", n, body);
    if (client_ask(fd, request, &a) == 200 && strcmp(a.body, body) == 0) atomic_fetch_add(&crowd->right, 1);
    answer_done(&a);
  }
  close(fd);
  return NULL;
}

static void answers_may_come_from_another_thread(void **state)
{
  static struct rig s;
  struct crowd crowd = {&s, 0};
  pthread_t threads[CLIENTS];
  (void)state;
  rig_start(&s, NULL, NULL);
  for (int i = 0; i < CLIENTS; i++) assert_int_equal(pthread_create(&threads[i], NULL, ask_many, &crowd), 0);
  for (int i = 0; i < CLIENTS; i++) pthread_join(threads[i], NULL);
  assert_int_equal(atomic_load(&crowd.right), CLIENTS * ROUNDS);
  rig_await(&s, &s.done, CLIENTS * ROUNDS);
  assert_int_equal(atomic_load(&s.complete), CLIENTS * ROUNDS);
  assert_int_equal(rp__http_pending(s.http), 0);
  rig_stop(&s);
}

static void a_client_may_go_while_its_answer_is_awaited(void **state)
{
  static struct rig s;
  (void)state;
  rig_start(&s, NULL, NULL);
  int fd = client_connect(&s);
  client_write(fd, "POST /held HTTP/1.1\r\n" HOST "Content-Length: 3\r\n\r\nabc");
  rig_await(&s, &s.handled, 1);
  setsockopt(fd, SOL_SOCKET, SO_LINGER, &(struct linger){1, 0}, sizeof(struct linger)); /* without a farewell */
  close(fd);
  assert_int_equal(client_once(&s, GET("/echo")), 200);
  rig_await(&s, &s.done, 1);
  assert_int_equal(rp__http_pending(s.http), 1); /* the request is still somebody's */
  rig_release(&s);
  rig_await(&s, &s.done, 2);
  assert_int_equal(atomic_load(&s.complete), 1);
  assert_int_equal(rp__http_pending(s.http), 0);
  rig_stop(&s);
}

static void *close_http(void *arg)
{
  rp__http_close(arg);
  return NULL;
}

/* Closing waits for whoever still has a request, refuses new ones, and lets the answers out. */
static void closing_loses_no_answer(void **state)
{
  static struct rig s;
  int fds[4];
  bool closes = false;
  pthread_t closer;
  struct answer a;
  (void)state;
  rig_start(&s, NULL, NULL);
  for (int i = 0; i < 4; i++) fds[i] = client_connect(&s);
  for (int i = 0; i < 3; i++) client_write(fds[i], GET("/held"));
  rig_await(&s, &s.handled, 3);
  assert_int_equal(pthread_create(&closer, NULL, close_http, s.http), 0);
  for (int64_t until = client_now_ms() + RIG_WAIT_MS; !closes && client_now_ms() < until; answer_done(&a)) {
    assert_true(client_ask(fds[3], GET("/echo"), &a) > 0);
    closes = a.closes; /* the last one served, or the first refused */
    assert_int_equal(a.status, atomic_load(&s.refused) ? 503 : 200);
  }
  assert_true(closes);
  assert_int_equal(atomic_load(&s.last_code), atomic_load(&s.refused) ? RP_E_CANCELLED : 0);
  rig_release(&s);
  pthread_join(closer, NULL);
  s.http = NULL;
  for (int i = 0; i < 3; i++) {
    assert_true(client_read(fds[i], &a));
    assert_int_equal(a.status, 200);
    answer_done(&a);
  }
  for (int i = 0; i < 4; i++) close(fds[i]);
  assert_int_equal(atomic_load(&s.done), atomic_load(&s.handled) + atomic_load(&s.refused));
  assert_int_equal(atomic_load(&s.complete), atomic_load(&s.done));
  rig_stop(&s);
}

/* It is nobody's to answer any more: its body is dropped, its connection goes on, and closing does not wait for it. */
static void what_is_answered_with_its_head_is_not_handed_over(void **state)
{
  static struct rig s;
  struct answer a;
  (void)state;
  rig_start(&s, NULL, NULL);
  int fd = client_connect(&s);
  for (int i = 0; i < 3; i++) {
    assert_int_equal(client_ask(fd, "POST /held HTTP/1.1\r\n" HOST "X-Early: 1\r\nContent-Length: 3\r\n\r\nabc", &a),
                     200);
    assert_string_equal(a.body, "early");
    assert_false(a.closes);
    answer_done(&a);
  }
  assert_int_equal(client_ask(fd, GET("/echo"), &a), 200);
  answer_done(&a);
  close(fd);
  rig_await(&s, &s.done, 4);
  assert_int_equal(atomic_load(&s.handled), 1);
  assert_int_equal(rp__http_pending(s.http), 0);
  rig_stop(&s);
}

/* ---- sockets that leave ---- */

static void await_bytes(int fd, const char *expected)
{
  char got[128] = "";
  for (size_t n = 0; n < strlen(expected);) {
    struct pollfd p = {.fd = fd, .events = POLLIN};
    assert_int_equal(poll(&p, 1, RIG_WAIT_MS), 1);
    ssize_t k = recv(fd, got + n, sizeof(got) - 1 - n, 0);
    assert_true(k > 0);
    n += (size_t)k;
  }
  assert_string_equal(got, expected);
}

static void a_socket_can_leave_http(void **state)
{
  static struct rig s;
  struct answer a;
  (void)state;
  rig_start(&s, NULL, &(struct rp__http_options){.request_s = 1, .idle_s = 1});
  int fd = client_connect(&s);
  assert_int_equal(client_ask(fd, GET("/echo"), &a), 200);
  answer_done(&a);
  client_write(fd, GET("/take"));
  int ours = rig_taken(&s);
  rig_await(&s, &s.done, 2);
  assert_int_equal(atomic_load(&s.complete), 2);
  client_write(ours, "to you");
  await_bytes(fd, "to you");
  client_write(fd, "to me");
  await_bytes(ours, "to me");
  rig_await_connections(&s, 0);
  /* Somebody else runs into the time limits and is cut off; this one is beyond them, and beyond the end of HTTP. */
  int other = client_connect(&s);
  client_await_end(other);
  close(other);
  s.taken = -1;
  rig_stop(&s);
  client_write(ours, "still");
  await_bytes(fd, "still");
  close(ours);
  client_await_end(fd);
  close(fd);
}

/* ---- slow clients ---- */

/* Bytes that come one by one keep an inactivity timer quiet for ever; ours looks at the whole. */
static void drip_until_cut(int fd, const char *text)
{
  int64_t until = client_now_ms() + RIG_WAIT_MS;
  for (size_t i = 0;; i = (i + 1) % strlen(text)) {
    struct pollfd p = {.fd = fd, .events = POLLIN};
    if (client_now_ms() > until) fail_msg("a dripping client was not cut off");
    if (poll(&p, 1, 20) == 1) break;
    client_write_n(fd, text + i, 1);
  }
  client_await_end(fd);
}

static void who_drips_is_cut_off(void **state)
{
  static struct rig s;
  struct answer a;
  (void)state;
  rig_start(&s, NULL, &(struct rp__http_options){.request_s = 1, .idle_s = 1});
  int line = client_connect(&s), head = client_connect(&s), body = client_connect(&s), idle = client_connect(&s);
  drip_until_cut(line, "x");
  client_write(head, "GET /echo HTTP/1.1\r\n" HOST "X-Long: ");
  drip_until_cut(head, "x");
  close(body);
  body = client_connect(&s);
  client_write(body, "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 60000\r\n\r\n");
  drip_until_cut(body, "x");
  close(idle);
  idle = client_connect(&s);
  assert_int_equal(client_ask(idle, GET("/echo"), &a), 200);
  answer_done(&a);
  client_await_end(idle);
  assert_int_equal(atomic_load(&s.handled), 1);
  close(line), close(head), close(body), close(idle);
  rig_await_connections(&s, 0);
  rig_stop(&s);
}

static void who_does_not_read_its_answer_is_cut_off(void **state)
{
  static struct rig s;
  (void)state;
  rig_start(&s, NULL, &(struct rp__http_options){.request_s = 1});
  int fd = client_connect(&s);
  setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &(int){4096}, sizeof(int));
  for (int i = 0; i < 400; i++) client_write(fd, GET("/big?16000"));
  rig_await(&s, &s.handled, 1);
  rig_await_connections(&s, 0);
  assert_true(atomic_load(&s.handled) < 400);
  assert_int_equal(atomic_load(&s.done), atomic_load(&s.handled));
  assert_true(atomic_load(&s.complete) < atomic_load(&s.done));
  close(fd);
  rig_stop(&s);
}

static void waiting_for_an_answer_is_not_being_slow(void **state)
{
  static struct rig s;
  struct answer a;
  (void)state;
  rig_start(&s, NULL, &(struct rp__http_options){.request_s = 1, .idle_s = 1});
  int fd = client_connect(&s), slow = client_connect(&s);
  client_write(fd, GET("/held"));
  rig_await(&s, &s.handled, 1);
  client_await_end(slow); /* connected later: were the other one bound by time, it would be gone by now */
  close(slow);
  slow = client_connect(&s);
  client_await_end(slow);
  close(slow);
  rig_release(&s);
  assert_true(client_read(fd, &a));
  assert_int_equal(a.status, 200);
  answer_done(&a);
  close(fd);
  rig_stop(&s);
}

/* ---- limits ---- */

static void expect_busy(struct rig *s)
{
  struct answer a;
  int fd = client_connect(s);
  assert_int_equal(client_ask(fd, GET("/echo"), &a), 503);
  assert_non_null(strstr(a.head, "Retry-After: 1\r\n"));
  assert_non_null(strstr(a.body, "limit.count"));
  assert_true(a.closes);
  answer_done(&a);
  client_await_end(fd);
  close(fd);
}

static void check_limit(const struct rp__http_options *o)
{
  static struct rig s;
  int fds[4];
  struct answer a;
  rig_start(&s, NULL, o);
  for (int i = 0; i < 4; i++) {
    fds[i] = client_connect(&s);
    assert_int_equal(client_ask(fds[i], GET("/echo"), &a), 200);
    answer_done(&a);
  }
  for (int i = 0; i < 40; i++) expect_busy(&s);
  for (int i = 0; i < 4; i++) {
    assert_int_equal(client_ask(fds[i], GET("/later"), &a), 200);
    answer_done(&a);
  }
  close(fds[0]);
  rig_await_connections(&s, 3);
  assert_int_equal(client_once(&s, GET("/echo")), 200);
  for (int i = 1; i < 4; i++) close(fds[i]);
  rig_stop(&s);
}

static void one_connection_too_many_is_told_so(void **state)
{
  (void)state;
  check_limit(&(struct rp__http_options){.max_connections = 4});
}

static void one_address_has_so_many_connections(void **state)
{
  (void)state;
  check_limit(&(struct rp__http_options){.max_per_address = 4, .max_connections = 100});
}

/* ---- no file descriptors ---- */

#define FEW 48

struct poor {
  int orders[2], reports[2]; /* pipes */
};

static char hear(int fd)
{
  char c = 0;
  assert_int_equal(read(fd, &c, 1), 1);
  return c;
}

/* A server with few file descriptors, in a process of its own. 'e': eats all that are left, 'v': gives them back. */
static int serve_poorly(void *arg)
{
  static struct rig s;
  struct poor *p = arg;
  int eaten[FEW], n = 0;
  close(p->orders[1]), close(p->reports[0]);
  struct rlimit few = {FEW, FEW};
  if (setrlimit(RLIMIT_NOFILE, &few) != 0) return 2;
  rig_start(&s, NULL, NULL);
  if (write(p->reports[1], &s.listeners, sizeof(s.listeners)) != sizeof(s.listeners)) return 3;
  for (char order = 'v'; order != 'q'; order = hear(p->orders[0])) {
    while (order == 'e' && n < FEW && (eaten[n] = dup(0)) >= 0) n++;
    while (order == 'v' && n > 0) close(eaten[--n]);
    if (write(p->reports[1], "k", 1) != 1) return 4;
  }
  rig_stop(&s);
  return 0;
}

static void tell(struct poor *p, char order)
{
  assert_int_equal(write(p->orders[1], &order, 1), 1);
  if (order != 'q') assert_int_equal(hear(p->reports[0]), 'k');
}

static pid_t start_poor(struct poor *p, struct rig *view)
{
  assert_int_equal(pipe(p->orders), 0);
  assert_int_equal(pipe(p->reports), 0);
  pid_t pid = child_run(serve_poorly, p);
  close(p->orders[0]), close(p->reports[1]);
  assert_int_equal(read(p->reports[0], &view->listeners, sizeof(view->listeners)), sizeof(view->listeners));
  assert_int_equal(hear(p->reports[0]), 'k');
  return pid;
}

static void stop_poor(struct poor *p, pid_t pid)
{
  tell(p, 'q');
  assert_int_equal(child_wait(pid), 0);
  close(p->orders[1]), close(p->reports[0]);
}

static void expect(int fd, const char *request, int status)
{
  struct answer a;
  assert_int_equal(client_ask(fd, request, &a), status);
  answer_done(&a);
}

static void without_file_descriptors_old_ones_live(void **state)
{
  static struct rig view;
  struct poor p;
  (void)state;
  pid_t pid = start_poor(&p, &view);
  int old = client_connect(&view);
  expect(old, GET("/echo"), 200);
  tell(&p, 'e');
  for (int i = 0; i < 20; i++) {
    expect_busy(&view);
    expect(old, GET("/later"), 200);
  }
  tell(&p, 'v');
  assert_int_equal(client_once(&view, GET("/echo")), 200);
  close(old);
  stop_poor(&p, pid);
}

/* Connections stop short of the limit, so that the rest of the program can still open a file. */
static void connections_leave_file_descriptors_to_others(void **state)
{
  static struct rig view;
  struct poor p;
  int fds[FEW], n = 0;
  (void)state;
  pid_t pid = start_poor(&p, &view);
  for (struct answer a; n < FEW; n++) {
    fds[n] = client_connect(&view);
    int status = client_ask(fds[n], GET("/echo"), &a);
    answer_done(&a);
    if (status != 200) break;
  }
  assert_true(n > 4 && n < FEW - FEW / 4);
  close(fds[n]);
  for (int i = 0; i < 20; i++) expect_busy(&view);
  for (int i = 0; i < n; i++) expect(fds[i], GET("/later"), 200);
  for (int i = 0; i < n; i++) close(fds[i]);
  stop_poor(&p, pid);
}

/* ---- quiet ---- */

static void a_quiet_server_serves_whom_it_has(void **state)
{
  static struct rig s;
  struct answer a;
  (void)state;
  rig_start(&s, NULL, NULL);
  int old = client_connect(&s);
  assert_int_equal(client_ask(old, GET("/echo"), &a), 200);
  answer_done(&a);
  rp__http_quiesce(s.http);
  int fresh = client_connect(&s); /* the kernel's queue takes it */
  client_write(fresh, GET("/echo"));
  assert_int_equal(client_ask(old, GET("/later"), &a), 200);
  answer_done(&a);
  assert_int_equal(rp__http_connections(s.http), 1);
  int next = accept(s.listeners.v[0].fd, NULL, NULL); /* whoever comes next finds it there */
  assert_true(next >= 0);
  await_bytes(next, GET("/echo"));
  close(next), close(fresh), close(old);
  rig_stop(&s);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(answers_may_come_from_another_thread),
      cmocka_unit_test(a_client_may_go_while_its_answer_is_awaited),
      cmocka_unit_test(closing_loses_no_answer),
      cmocka_unit_test(what_is_answered_with_its_head_is_not_handed_over),
      cmocka_unit_test(a_socket_can_leave_http),
      cmocka_unit_test(who_drips_is_cut_off),
      cmocka_unit_test(who_does_not_read_its_answer_is_cut_off),
      cmocka_unit_test(waiting_for_an_answer_is_not_being_slow),
      cmocka_unit_test(one_connection_too_many_is_told_so),
      cmocka_unit_test(one_address_has_so_many_connections),
      cmocka_unit_test(without_file_descriptors_old_ones_live),
      cmocka_unit_test(connections_leave_file_descriptors_to_others),
      cmocka_unit_test(a_quiet_server_serves_whom_it_has),
  };
  return cmocka_run_group_tests_name("net http life", tests, NULL, NULL);
}
