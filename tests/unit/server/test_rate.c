/* SPDX-License-Identifier: Apache-2.0 */
/* Buckets: a burst, then so many per second; each client its own; memory for so many clients and no more. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdatomic.h>

#include "server/http/rate-limit.h"

#define SECOND 1000000

static int take_all(struct rp__rate *r, const char *who, int64_t now_us)
{
  int n = 0;
  while (rp__rate_take(r, who, now_us)) n++;
  return n;
}

static void a_burst_and_then_a_rate(void **state)
{
  struct rp__rate *r;
  (void)state;
  assert_int_equal(rp__rate_new(10, 20, &r, NULL), 0);
  assert_int_equal(take_all(r, "a", 0), 20);
  assert_int_equal(take_all(r, "b", 0), 20); /* its own */
  assert_int_equal(take_all(r, "a", SECOND / 20), 0);
  assert_int_equal(take_all(r, "a", SECOND / 10), 1);
  assert_int_equal(take_all(r, "a", SECOND / 10 + SECOND), 10);
  assert_int_equal(take_all(r, "a", 1000 * (int64_t)SECOND), 20); /* never more than the burst */
  assert_int_equal(take_all(r, "a", 999 * (int64_t)SECOND), 0);   /* a clock that went back gives nothing */
  assert_int_equal(take_all(r, "a", 1001 * (int64_t)SECOND), 10);
  rp__rate_free(r);
  rp__rate_free(NULL);
}

static void slow_rates_allow_one(void **state)
{
  struct rp__rate *r;
  (void)state;
  assert_int_equal(rp__rate_new(0.1, 0.1, &r, NULL), 0);
  assert_int_equal(take_all(r, "a", 0), 1);
  assert_int_equal(take_all(r, "a", 9 * SECOND), 0);
  assert_int_equal(take_all(r, "a", 11 * SECOND), 1);
  rp__rate_free(r);
}

static void the_longest_silent_is_forgotten(void **state)
{
  struct rp__rate *r;
  char who[32];
  (void)state;
  assert_int_equal(rp__rate_new(1e-6, 2, &r, NULL), 0);
  assert_true(rp__rate_take(r, "first", 0));
  assert_true(rp__rate_take(r, "second", 0));
  for (int i = 0; i < RP_RATE_CLIENTS - 2; i++) {
    snprintf(who, sizeof who, "client %d", i);
    assert_true(rp__rate_take(r, who, 1));
  }
  assert_int_equal(rp__rate_known(r), RP_RATE_CLIENTS);
  assert_int_equal(take_all(r, "first", 2), 1); /* still known, and now the newest */
  assert_int_equal(take_all(r, "new", 3), 2);   /* second had to go */
  assert_int_equal(take_all(r, "first", 3), 0);
  assert_int_equal(take_all(r, "second", 3), 2); /* as if it had never been here */
  for (int i = 0; i < 3 * RP_RATE_CLIENTS; i++) {
    snprintf(who, sizeof who, "flood %d", i);
    assert_int_equal(take_all(r, who, 4), 2);
  }
  assert_int_equal(rp__rate_known(r), RP_RATE_CLIENTS);
  rp__rate_free(r);
}

struct crowd {
  struct rp__rate *r;
  atomic_int taken;
};

static void *take_some(void *arg)
{
  struct crowd *c = arg;
  for (int i = 0; i < 2000; i++) atomic_fetch_add(&c->taken, rp__rate_take(c->r, "all of us", 0));
  return NULL;
}

static void threads_share_a_bucket(void **state)
{
  struct crowd c = {0};
  pthread_t t[4];
  (void)state;
  assert_int_equal(rp__rate_new(1, 500, &c.r, NULL), 0);
  for (size_t i = 0; i < RP_ARRAY_SIZE(t); i++) assert_int_equal(pthread_create(&t[i], NULL, take_some, &c), 0);
  for (size_t i = 0; i < RP_ARRAY_SIZE(t); i++) pthread_join(t[i], NULL);
  assert_int_equal(atomic_load(&c.taken), 500);
  rp__rate_free(c.r);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_burst_and_then_a_rate),
      cmocka_unit_test(slow_rates_allow_one),
      cmocka_unit_test(the_longest_silent_is_forgotten),
      cmocka_unit_test(threads_share_a_bucket),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
