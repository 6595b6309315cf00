/* SPDX-License-Identifier: Apache-2.0 */
/* Every allocation of the HTTP layer fails once: somebody may go without an answer, the server stays whole (L-13). */
#include "http_rig.h"

#include "nomem.h"

#define HOST "Host: localhost\r\n"
#define MANY 200 /* more allocations than any round makes */

/* Lets the nth allocation fail from now on; disarmed by -1. Tells whether one failed since it was armed before. */
static bool arm(int n)
{
  bool was = atomic_exchange(&failed, false);
  atomic_store(&left, n);
  return was;
}

/* No body, a body, and one in chunks that is too large, which is answered past libmicrohttpd. */
static const char *const requests[] = {
    "GET /echo?a HTTP/1.1\r\n" HOST "\r\n",
    "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 3\r\n\r\nabc",
    "POST /echo HTTP/1.1\r\n" HOST "X-Small: 1\r\nTransfer-Encoding: chunked\r\n\r\nb\r\n12345678901\r\n0\r\n\r\n",
};

static void a_request_may_fail_but_not_the_server(void **state)
{
  static struct rig s;
  (void)state;
  rig_start(&s, NULL, &(struct rp__http_options){.max_per_address = 100});
  for (size_t i = 0; i < RP_ARRAY_SIZE(requests); i++) {
    int n = 0;
    do {
      arm(n);
      int status = client_once(&s, requests[i]);
      if (status != 0 && status != 200 && status != 413 && status != 503) fail_msg("%zu, %d: %d", i, n, status);
      rig_await_connections(&s, 0);
    } while (arm(-1) && ++n < MANY);
    assert_in_range(n, 2, MANY - 1);
  }
  assert_int_equal(client_once(&s, requests[0]), 200);
  assert_int_equal(rp__http_pending(s.http), 0);
  rig_stop(&s);
}

static void opening_fails_whole(void **state)
{
  struct rp__listeners l;
  int n = 0, code;
  (void)state;
  rp__listeners_init(&l);
  assert_int_equal(rp__listen_add(&l, "127.0.0.1:0", NULL), 0);
  atomic_store(&sparing, false);
  do {
    struct rp__http *h = NULL;
    rp_error err = {0};
    arm(n);
    code = rp__http_open(&(struct rp__http_options){.listen_fds = &l.v[0].fd, .n_listen = 1, .threads = 2}, &h, &err);
    bool was = arm(-1);
    assert_int_equal(code, was ? RP_E_NOMEM : 0);
    assert_true(!was || h == NULL);
    rp__http_close(h);
  } while (code && ++n < MANY);
  atomic_store(&sparing, true);
  assert_in_range(n, 2, MANY - 1);
  rp__listeners_close(&l);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_request_may_fail_but_not_the_server),
      cmocka_unit_test(opening_fails_whole),
  };
  spared = pthread_self();
  atomic_store(&sparing, true);
  atomic_store(&left, -1);
  return cmocka_run_group_tests_name("net http nomem", tests, NULL, NULL);
}
