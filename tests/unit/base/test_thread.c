/* SPDX-License-Identifier: Apache-2.0 */
/* Threads run and have their names. */
#include "base/process/thread.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void *count(void *arg)
{
  ++*(int *)arg;
  return arg;
}

static void *wait_for(void *arg)
{
  pthread_mutex_lock(arg);
  pthread_mutex_unlock(arg);
  return NULL;
}

static void test_runs(void **state)
{
  pthread_t t;
  int n = 0;
  void *got = NULL;
  (void)state;
  assert_int_equal(rp__thread_start(&t, "counting", count, &n), 0);
  assert_int_equal(pthread_join(t, &got), 0);
  assert_ptr_equal(got, &n);
  assert_int_equal(n, 1);
}

static void test_has_its_name(void **state)
{
  pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
  pthread_t t;
  char name[16] = "";
  (void)state;
  pthread_mutex_lock(&gate);
  assert_int_equal(rp__thread_start(&t, "reprise-publish", wait_for, &gate), 0);
  assert_int_equal(pthread_getname_np(t, name, sizeof name), 0);
  pthread_mutex_unlock(&gate);
  pthread_join(t, NULL);
  assert_string_equal(name, "reprise-publish");
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_runs),
      cmocka_unit_test(test_has_its_name),
  };
  return cmocka_run_group_tests_name("base thread", tests, NULL, NULL);
}
