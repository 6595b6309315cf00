/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP as it is spoken: what is accepted, what is refused and how (L-03, L-13). */
#include "http_rig.h"

#include <sys/socket.h>
#include <sys/stat.h>

static int setup(void **state)
{
  static struct rig rig;
  rig_start(&rig, NULL, NULL);
  *state = &rig;
  return 0;
}

static int teardown(void **state)
{
  rig_stop(*state);
  return 0;
}

#define HOST "Host: localhost\r\n"

static void a_connection_serves_many_requests(void **state)
{
  struct rig *s = *state;
  int fd = client_connect(s);
  for (int i = 0; i < 50; i++) {
    struct answer a;
    assert_int_equal(client_ask(fd, "POST /echo?n=%31 HTTP/1.1\r\n" HOST "Content-Length: 5\r\n\r\nhello", &a), 200);
    assert_string_equal(a.body, "hello");
    assert_non_null(strstr(a.head, "X-Query: n=%31\r\n"));
    assert_false(a.closes);
    answer_done(&a);
  }
  assert_int_equal(rp__http_connections(s->http), 1);
  close(fd);
  rig_await(s, &s->done, 50);
  assert_int_equal(atomic_load(&s->complete), 50);
}

static void requests_may_be_piled_up(void **state)
{
  struct rig *s = *state;
  int fd = client_connect(s);
  client_write(fd, "GET /echo?a HTTP/1.1\r\n" HOST "\r\n"
                   "POST /later?b HTTP/1.1\r\n" HOST "Content-Length: 3\r\n\r\nxyz"
                   "GET /echo?c HTTP/1.1\r\n" HOST "\r\n");
  for (int i = 0; i < 3; i++) {
    static const char *const queries[] = {"X-Query: a\r\n", "X-Query: b\r\n", "X-Query: c\r\n"};
    struct answer a;
    assert_true(client_read(fd, &a));
    assert_non_null(strstr(a.head, queries[i]));
    assert_string_equal(a.body, i == 1 ? "xyz" : "");
    answer_done(&a);
  }
  close(fd);
}

static void a_body_may_come_in_chunks(void **state)
{
  struct rig *s = *state;
  struct answer a;
  int fd = client_connect(s);
  assert_int_equal(client_ask(fd,
                              "POST /echo HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n"
                              "5\r\nhello\r\n1;ext=1\r\n \r\n5\r\nworld\r\n0\r\n\r\n",
                              &a),
                   200);
  assert_string_equal(a.body, "hello world");
  assert_true(a.closes); /* where chunks end may be read in two ways, so nothing may follow */
  answer_done(&a);
  client_await_end(fd);
  close(fd);
}

static void too_large_a_body_is_refused_before_it_comes(void **state)
{
  struct rig *s = *state;
  struct answer a;
  int fd = client_connect(s);
  assert_int_equal(client_ask(fd, "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 65537\r\n\r\n", &a), 413);
  assert_int_equal(atomic_load(&s->last_code), RP_E_TOO_LARGE);
  answer_done(&a);
  client_await_end(fd);
  close(fd);
  fd = client_connect(s);
  assert_int_equal(
      client_ask(fd, "POST /echo HTTP/1.1\r\n" HOST "X-Small: 1\r\nContent-Length: 11\r\n\r\n12345678901", &a), 413);
  answer_done(&a);
  close(fd);
  assert_int_equal(atomic_load(&s->handled), 0);
}

/* The client writes on; it must be able to read the refusal all the same. */
static void a_refusal_reaches_a_client_that_is_still_writing(void **state)
{
  struct rig *s = *state;
  static char upload[4 * RIG_BODY_MAX];
  struct answer a;
  memset(upload, 'x', sizeof(upload));
  int fd = client_connect(s);
  client_write(fd, "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 262144\r\n\r\n");
  client_write_n(fd, upload, sizeof(upload));
  assert_true(client_read(fd, &a));
  assert_int_equal(a.status, 413);
  answer_done(&a);
  close(fd);
}

static void too_large_a_body_in_chunks_is_refused_when_it_shows(void **state)
{
  struct rig *s = *state;
  static char chunk[RIG_BODY_MAX / 2];
  struct answer a;
  memset(chunk, 'x', sizeof(chunk));
  int fd = client_connect(s);
  client_write(fd, "POST /echo HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n");
  for (int i = 0; i < 5; i++) {
    client_write(fd, "8000\r\n");
    client_write_n(fd, chunk, sizeof(chunk));
    client_write(fd, "\r\n");
  }
  assert_true(client_read(fd, &a));
  assert_int_equal(a.status, 413);
  assert_true(a.closes);
  answer_done(&a);
  close(fd);
  rig_await(s, &s->done, 1);
  assert_int_equal(atomic_load(&s->handled), 0);
  assert_int_equal(atomic_load(&s->complete), 1);
}

static void a_body_of_the_largest_size_is_taken(void **state)
{
  struct rig *s = *state;
  static char upload[RIG_BODY_MAX];
  struct answer a;
  for (size_t i = 0; i < sizeof(upload); i++) upload[i] = (char)(i * 7);
  int fd = client_connect(s);
  client_write(fd, "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 65536\r\n\r\n");
  client_write_n(fd, upload, sizeof(upload));
  assert_true(client_read(fd, &a));
  assert_int_equal(a.n, sizeof(upload));
  assert_memory_equal(a.body, upload, sizeof(upload));
  answer_done(&a);
  close(fd);
}

static void who_asks_first_is_told_to_go_on(void **state)
{
  struct rig *s = *state;
  struct answer a;
  int fd = client_connect(s);
  assert_int_equal(
      client_ask(fd, "POST /echo HTTP/1.1\r\n" HOST "Expect: 100-continue\r\nContent-Length: 2\r\n\r\n", &a), 100);
  assert_int_equal(client_ask(fd, "ok", &a), 200);
  assert_string_equal(a.body, "ok");
  answer_done(&a);
  assert_int_equal(client_ask(fd,
                              "POST /echo HTTP/1.1\r\n" HOST "Expect: 100-continue\r\nX-Secret: 1\r\n"
                              "Content-Length: 2\r\n\r\n",
                              &a),
                   401);
  answer_done(&a);
  close(fd);
}

static void get_may_have_a_body_and_head_has_none(void **state)
{
  struct rig *s = *state;
  struct answer a;
  int fd = client_connect(s);
  assert_int_equal(client_ask(fd, "GET /echo HTTP/1.1\r\n" HOST "Content-Length: 2\r\n\r\nok", &a), 200);
  answer_done(&a);
  client_write(fd, "HEAD /big?1000 HTTP/1.1\r\n" HOST "\r\n");
  assert_true(client_read_head(fd, &a));
  assert_non_null(strstr(a.head, "Content-Length: 1000\r\n"));
  answer_done(&a);
  assert_int_equal(client_ask(fd, "GET /big?300000 HTTP/1.1\r\n" HOST "\r\n", &a), 200);
  assert_int_equal(a.n, 300000);
  assert_int_equal(a.body[299999], 'a' + 299999 % 26);
  answer_done(&a);
  close(fd);
}

static void the_old_version_ends_with_its_answer(void **state)
{
  struct rig *s = *state;
  struct answer a;
  int fd = client_connect(s);
  assert_int_equal(client_ask(fd, "GET /echo HTTP/1.0\r\n\r\n", &a), 200);
  answer_done(&a);
  client_await_end(fd);
  close(fd);
}

static void too_large_a_head_is_431(void **state)
{
  struct rig *s = *state;
  static char head[40 * 1024];
  size_t sizes[] = {RP_HTTP_HEAD_MAX - 200, RP_HTTP_HEAD_MAX + 100, 30 * 1024};
  for (size_t i = 0; i < RP_ARRAY_SIZE(sizes); i++) {
    int n = snprintf(head, sizeof(head), "GET /echo HTTP/1.1\r\n" HOST "X-Long: ");
    memset(head + n, 'x', sizes[i]);
    memcpy(head + n + sizes[i], "\r\n\r\n", 5);
    assert_int_equal(client_once(s, head), i == 0 ? 200 : 431);
  }
}

/* Thousands of parameters are just bytes of a query. */
static void a_query_of_many_parameters_is_one_text(void **state)
{
  struct rig *s = *state;
  static char head[16 * 1024];
  struct answer a;
  int n = snprintf(head, sizeof(head), "GET /echo?");
  for (int i = 0; i < 4000; i++) memcpy(head + n + i * 2, "a&", 2);
  snprintf(head + n + 8000, sizeof(head) - 9000, " HTTP/1.1\r\n" HOST "\r\n");
  int fd = client_connect(s);
  assert_int_equal(client_ask(fd, head, &a), 200);
  assert_non_null(strstr(a.head, "X-Query: a&a&a&"));
  answer_done(&a);
  close(fd);
}

/* Whatever a proxy in front might read in another way (request smuggling). */
static void what_can_be_read_in_two_ways_is_refused(void **state)
{
  static const char *const bad[] = {
      "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 2\r\nContent-Length: 2\r\n\r\nok",
      "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 2\r\nContent-Length: 3\r\n\r\nok",
      "POST /echo HTTP/1.1\r\n" HOST "Content-Length: +2\r\n\r\nok",
      "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 2, 2\r\n\r\nok",
      "POST /echo HTTP/1.1\r\n" HOST "Content-Length : 2\r\n\r\nok",
      "POST /echo HTTP/1.1\r\n" HOST "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
      "POST /echo HTTP/1.1\r\n" HOST "Transfer-Encoding: identity\r\n\r\n",
      "POST /echo HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      "POST /echo HTTP/1.0\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      "GET /echo HTTP/1.1\r\n" HOST "X-A: 1\nX-B: 2\r\n\r\n",
      "GET /echo HTTP/1.1\nHost: localhost\r\n\r\n",
      "GET /echo HTTP/1.1\r\nHost: localhost\n\r\n",
      "GET /echo HTTP/1.1\r\nHost: localhost\r\n\n",
      "GET /echo HTTP/1.1\r\n" HOST "X-A: 1\rX-B: 2\r\n\r\n",
      "GET /echo HTTP/1.1\r\n" HOST "X-A: 1\r\n 2\r\n\r\n",
      "GET /echo HTTP/1.1\r\n" HOST "X A: 1\r\n\r\n",
      "GET /echo HTTP/1.1\r\n" HOST ": 1\r\n\r\n",
      "GET /echo HTTP/1.1\r\n" HOST "X-A: \x01\r\n\r\n",
      "GET /echo HTTP/1.1\r\n" HOST HOST "\r\n",
      "GET /echo HTTP/1.1\r\n\r\n",
      "GET  /echo HTTP/1.1\r\n" HOST "\r\n",
      "GET /echo  HTTP/1.1\r\n" HOST "\r\n",
      "GET /echo a HTTP/1.1\r\n" HOST "\r\n",
      "GET /echo\t HTTP/1.1\r\n" HOST "\r\n",
      "GET /\xc3\xa9 HTTP/1.1\r\n" HOST "\r\n",
      "GET /echo#a HTTP/1.1\r\n" HOST "\r\n",
      "GET http://localhost/echo HTTP/1.1\r\n" HOST "\r\n",
      "GET echo HTTP/1.1\r\n" HOST "\r\n",
      "GET * HTTP/1.1\r\n" HOST "\r\n",
  };
  struct rig *s = *state;
  for (size_t i = 0; i < RP_ARRAY_SIZE(bad); i++) {
    int status = client_once(s, bad[i]);
    if (status != 400) fail_msg("%zu: %d for %s", i, status, bad[i]);
  }
  assert_int_equal(atomic_load(&s->handled), 0);
  assert_int_equal(atomic_load(&s->admitted), 0);
  rig_await(s, &s->done, atomic_load(&s->refused));
}

/* libmicrohttpd refuses these itself; others that are in the middle of a head stay what they are. */
static void a_broken_length_gets_one_head(void **state)
{
  static const char *const lengths[] = {"5x", "-1", "0, 5", "", "0x5", "99999999999999999999999"};
  struct rig *s = *state;
  int halfway = client_connect(s), whole = client_connect(s);
  struct answer other = {0};
  client_write(halfway, "GET /echo HTTP/1.1\r\nHost: loc");
  assert_int_equal(client_ask(whole, "GET /echo HTTP/1.1\r\n" HOST "\r\n", &other), 200);
  answer_done(&other);
  for (size_t i = 0; i < RP_ARRAY_SIZE(lengths); i++) {
    struct answer a;
    char rest[64];
    int fd = client_connect(s);
    client_write(fd, "POST /echo HTTP/1.1\r\n" HOST "Content-Length: ");
    client_write(fd, lengths[i]);
    client_write(fd, "\r\n\r\n");
    assert_true(client_read(fd, &a));
    assert_int_equal(a.status, 400);
    assert_true(a.closes);
    assert_non_null(strstr(a.head, "nosniff"));
    assert_null(strstr(a.body, "HTTP/1.1"));
    answer_done(&a);
    shutdown(fd, SHUT_WR);
    assert_int_equal(recv(fd, rest, sizeof rest, 0), 0);
    close(fd);
  }
  assert_int_equal(atomic_load(&s->refused), (int)RP_ARRAY_SIZE(lengths));
  assert_int_equal(client_ask(halfway, "alhost\r\n\r\n", &other), 200);
  answer_done(&other);
  close(halfway);
  close(whole);
  rig_await_connections(s, 0);
}

/* A browser guesses no other type and shows nothing in pages of others, whatever the answer is. */
static void every_answer_says_how_browsers_must_treat_it(void **state)
{
  static const char *const requests[] = {
      "GET /echo HTTP/1.1\r\n" HOST "\r\n",
      "GET /later HTTP/1.1\r\n" HOST "\r\n",
      "HEAD /echo HTTP/1.1\r\n" HOST "\r\n",
      "GET /echo HTTP/1.1\r\n" HOST HOST "\r\n",
      "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 999999999\r\n\r\n",
      "POST /echo HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n20000\r\n",
  };
  struct rig *s = *state;
  char *filler = calloc(1, RIG_BODY_MAX + 2);
  memset(filler, 'o', RIG_BODY_MAX + 1);
  for (size_t i = 0; i < RP_ARRAY_SIZE(requests); i++) {
    struct answer a;
    int fd = client_connect(s);
    client_write(fd, requests[i]);
    if (strstr(requests[i], "chunked")) client_write(fd, filler); /* too much: refused in the middle */
    assert_true(requests[i][0] == 'H' ? client_read_head(fd, &a) : client_read(fd, &a));
    if (!strstr(a.head, "\r\nX-Content-Type-Options: nosniff\r\n") ||
        !strstr(a.head, "\r\nCross-Origin-Resource-Policy: same-origin\r\n"))
      fail_msg("%zu: %s", i, a.head);
    answer_done(&a);
    close(fd);
  }
  free(filler);
}

static void a_nul_byte_in_the_head_is_refused(void **state)
{
  struct rig *s = *state;
  static const char in_header[] = "GET /echo HTTP/1.1\r\n" HOST "X-A: 1\0Z: 2\r\n\r\n";
  static const char in_target[] = "GET /echo\0a HTTP/1.1\r\n" HOST "\r\n";
  const char *const bad[] = {in_header, in_target};
  const size_t sizes[] = {sizeof(in_header) - 1, sizeof(in_target) - 1};
  for (size_t i = 0; i < 2; i++) {
    struct answer a;
    int fd = client_connect(s);
    client_write_n(fd, bad[i], sizes[i]);
    assert_true(client_read(fd, &a));
    assert_int_equal(a.status, 400);
    answer_done(&a);
    close(fd);
  }
}

static void what_is_unusual_but_right_is_served(void **state)
{
  static const char *const good[] = {
      "\r\nGET /echo HTTP/1.1\r\n" HOST "\r\n",
      "GET /echo HTTP/1.1\r\nhOST:localhost\r\nX-Empty:\r\nX-Spaces: \t a b\r\n\r\n",
      "GET /echo HTTP/1.1\r\n" HOST "X-Latin: \xe9\r\n\r\n",
      "GET /echo? HTTP/1.1\r\n" HOST "\r\n",
      "GET /echo?a=%00&b=/?x HTTP/1.1\r\n" HOST "\r\n",
      "BREW /echo HTTP/1.1\r\n" HOST "\r\n",
      "POST /echo HTTP/1.1\r\n" HOST "transfer-encoding: Chunked\r\n\r\n0\r\nX-Trailer: 1\r\n\r\n",
      "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 0\r\n\r\n",
  };
  struct rig *s = *state;
  for (size_t i = 0; i < RP_ARRAY_SIZE(good); i++) {
    int status = client_once(s, good[i]);
    if (status != 200) fail_msg("%zu: %d for %s", i, status, good[i]);
  }
  assert_int_equal(client_once(s, "OPTIONS * HTTP/1.1\r\n" HOST "\r\n"), 404);
}

static void headers_are_found_whatever_their_case(void **state)
{
  struct rig *s = *state;
  struct answer a;
  int fd = client_connect(s);
  assert_int_equal(client_ask(fd, "GET /head?x-thing HTTP/1.1\r\n" HOST "X-THING: here\r\n\r\n", &a), 200);
  assert_string_equal(a.body, "here");
  answer_done(&a);
  close(fd);
}

/* A value that ends its line would be two headers; such an answer does not leave. */
static void an_answer_can_not_carry_a_line_end(void **state)
{
  struct rig *s = *state;
  assert_int_equal(client_once(s, "GET /bad HTTP/1.1\r\n" HOST "\r\n"), 0);
  rig_await(s, &s->done, 1);
  assert_int_equal(atomic_load(&s->complete), 0);
}

static void a_unix_socket_serves_too(void **state)
{
  static struct rig s;
  char dir[] = "/tmp/net-http-XXXXXX", address[64];
  struct stat st;
  (void)state;
  assert_non_null(mkdtemp(dir));
  snprintf(address, sizeof(address), "unix:%s/s", dir);
  rig_start(&s, address, NULL);
  assert_int_equal(stat(address + 5, &st), 0);
  assert_int_equal(st.st_mode & 0777, 0600);
  assert_int_equal(client_once(&s, "GET /echo HTTP/1.1\r\n" HOST "\r\n"), 200);
  assert_int_equal(client_once(&s, "GET /later HTTP/1.1\r\n" HOST "\r\n"), 200);
  rig_stop(&s);
  assert_int_equal(rmdir(dir), 0); /* the socket went with its listener */
}

#define WITH_RIG(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
  const struct CMUnitTest tests[] = {
      WITH_RIG(a_connection_serves_many_requests),
      WITH_RIG(requests_may_be_piled_up),
      WITH_RIG(a_body_may_come_in_chunks),
      WITH_RIG(too_large_a_body_is_refused_before_it_comes),
      WITH_RIG(a_refusal_reaches_a_client_that_is_still_writing),
      WITH_RIG(too_large_a_body_in_chunks_is_refused_when_it_shows),
      WITH_RIG(a_body_of_the_largest_size_is_taken),
      WITH_RIG(who_asks_first_is_told_to_go_on),
      WITH_RIG(get_may_have_a_body_and_head_has_none),
      WITH_RIG(the_old_version_ends_with_its_answer),
      WITH_RIG(too_large_a_head_is_431),
      WITH_RIG(a_query_of_many_parameters_is_one_text),
      WITH_RIG(what_can_be_read_in_two_ways_is_refused),
      WITH_RIG(a_broken_length_gets_one_head),
      WITH_RIG(every_answer_says_how_browsers_must_treat_it),
      WITH_RIG(a_nul_byte_in_the_head_is_refused),
      WITH_RIG(what_is_unusual_but_right_is_served),
      WITH_RIG(headers_are_found_whatever_their_case),
      WITH_RIG(an_answer_can_not_carry_a_line_end),
      cmocka_unit_test(a_unix_socket_serves_too),
  };
  return cmocka_run_group_tests_name("net http", tests, NULL, NULL);
}
