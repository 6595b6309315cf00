/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes as people write them. */
#include "base/size.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <reprise/error.h>

static void test_sizes(void **state)
{
  (void)state;
  static const struct {
    const char *text;
    int64_t bytes;
  } good[] = {
      {"0", 0},           {"4096", 4096},        {"17B", 17},
      {"1K", 1024},       {"512m", 512LL << 20}, {"2GiB", 2LL << 30},
      {"3Gb", 3LL << 30}, {"1T", 1LL << 40},     {"9223372036854775807", INT64_MAX},
  };
  for (size_t i = 0; i < RP_ARRAY_SIZE(good); i++) {
    int64_t got = -1;
    assert_int_equal(rp__size_parse(good[i].text, &got), 0);
    assert_int_equal(got, good[i].bytes);
  }
}

static void test_no_sizes(void **state)
{
  (void)state;
  static const char *const bad[] = {"",    "M",    "-1",    "1.5G", "1 G",       "1GG",
                                    "1iB", "12KK", "1Gib ", "1P",   "99999999T", "9223372036854775808"};
  for (size_t i = 0; i < RP_ARRAY_SIZE(bad); i++) {
    int64_t got = 4711;
    assert_int_equal(rp__size_parse(bad[i], &got), RP_E_USAGE);
    assert_int_equal(got, 4711);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_sizes), cmocka_unit_test(test_no_sizes)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
