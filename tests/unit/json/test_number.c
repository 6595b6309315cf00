/* SPDX-License-Identifier: Apache-2.0 */
/* Exact integers, correctly rounded doubles, and both under a locale with another decimal point. */
#include <float.h>
#include <locale.h>
#include <math.h>

#include "json_test.h"

static void test_i64(void **state)
{
  (void)state;
  static const struct {
    const char *text;
    int good;
    int64_t value;
  } cases[] = {
      {"0", 1, 0},
      {"-0", 1, 0},
      {"42", 1, 42},
      {"9007199254740993", 1, INT64_C(9007199254740993)}, /* 2^53 + 1: lost where integers pass through doubles */
      {"9223372036854775807", 1, INT64_MAX},
      {"9223372036854775808", 0, 0},
      {"-9223372036854775808", 1, INT64_MIN},
      {"-9223372036854775809", 0, 0},
      {"18446744073709551616", 0, 0},
      {"100000000000000000000000", 0, 0},
      {"1e3", 0, 0},
      {"1.0", 0, 0},
      {"\"1\"", 0, 0},
      {"null", 0, 0},
  };
  for (size_t i = 0; i < RP_ARRAY_SIZE(cases); i++) {
    int64_t v = 77;
    assert_int_equal(rp__json_i64(value_of(cases[i].text), &v), cases[i].good);
    assert_int_equal(v, cases[i].good ? cases[i].value : 77);
  }
}

static double double_of(const char *text)
{
  double v = 77;
  assert_true(rp__json_double(value_of(text), &v));
  return v;
}

static void test_double(void **state)
{
  (void)state;
  static const struct {
    const char *text;
    double value;
  } cases[] = {
      {"0", 0},
      {"1", 1},
      {"-1.5", -1.5},
      {"0.1", 0.1},
      {"600.0", 600},
      {"1e22", 1e22},
      {"1e23", 1e23},
      {"123456789012345e22", 123456789012345e22},
      {"0.000001", 1e-6},
      {"1E-2", 0.01},
      {"9007199254740993", 9007199254740992.0},
      {"9007199254740993.0000000000000000000000000000001", 9007199254740994.0},
      {"1.7976931348623157e308", DBL_MAX},
      {"2.2250738585072014e-308", DBL_MIN},
      {"2.2250738585072011e-308", 2.2250738585072011e-308},
      {"4.9e-324", 0x1p-1074},
      {"2.4703282292062327e-324", 0},
      {"2.4703282292062328e-324", 0x1p-1074},
      {"1e-400", 0},
      {"0e99999999999999999999", 0},
      {"1e-99999999999999999999", 0},
      {"0.000e0", 0},
      {"10000000000000000000000000000000000000000", 1e40},
  };
  for (size_t i = 0; i < RP_ARRAY_SIZE(cases); i++)
    if (double_of(cases[i].text) != cases[i].value) fail_msg("%s: %.17g", cases[i].text, double_of(cases[i].text));
  assert_true(signbit(double_of("-0.0")));
}

static void test_double_refusals(void **state)
{
  (void)state;
  static const char *const texts[] = {"1e309", "-1e309", "1e99999999999999999999", "1.7976931348623159e308",
                                      "\"1\"", "true"};
  for (size_t i = 0; i < RP_ARRAY_SIZE(texts); i++) {
    double v = 77;
    assert_false(rp__json_double(value_of(texts[i]), &v));
    assert_true(v == 77);
  }
  static const char *const damaged[] = {"-", "1.2.3", "1e", "1e+", "1e5x", "12z", "-x"};
  for (size_t i = 0; i < RP_ARRAY_SIZE(damaged); i++) {
    double v;
    assert_false(rp__json_double(rp__json_trusted(damaged[i], strlen(damaged[i])), &v));
  }
}

/* Far more digits than are kept: the half-way case must still fall to the side of the last digit. */
static void test_long_mantissa(void **state)
{
  (void)state;
  RP_AUTOBUF struct rp__buf text = RP_BUF(10000);
  rp__buf_str(&text, "9007199254740993.");
  for (int i = 0; i < 5000; i++) rp__buf_char(&text, '0');
  assert_true(double_of(text.p) == 9007199254740992.0);
  rp__buf_char(&text, '1');
  assert_true(double_of(text.p) == 9007199254740994.0);
  rp__buf_reset(&text);
  rp__buf_str(&text, "0.");
  for (int i = 0; i < 5000; i++) rp__buf_char(&text, '0');
  rp__buf_str(&text, "125e5001");
  assert_true(double_of(text.p) == 1.25);
  rp__buf_reset(&text);
  for (int i = 0; i < 5000; i++) rp__buf_char(&text, '5');
  rp__buf_str(&text, "e-5000");
  assert_true(double_of(text.p) == 5.0 / 9.0);
}

/* The longest decision there is: 768 digits, half-way between two doubles. */
static void test_half_way(void **state)
{
  (void)state;
  double low = 0x1.ffffffffffffep-1022, high = 0x1.fffffffffffffp-1022;
  long double half = ((long double)low + (long double)high) / 2;
  if (half <= (long double)low || half >= (long double)high) skip();
  char text[900];
  int n = snprintf(text, sizeof(text), "%.767Le", half);
  assert_true(n > 770);
  char *last = strchr(text, 'e') - 1;
  assert_int_equal(*last, '5');
  assert_true(double_of(text) == low); /* to even */
  *last = '6';
  assert_true(double_of(text) == high);
  *last = '4';
  assert_true(double_of(text) == low);
}

static void assert_format(double v, const char *text)
{
  char out[RP_DOUBLE_TEXT];
  size_t n = rp__double_format(v, out);
  assert_int_equal(n, strlen(out));
  assert_string_equal(out, text);
}

static void test_format(void **state)
{
  (void)state;
  assert_format(600, "600.0");
  assert_format(0.3, "0.3");
  assert_format(0.1 + 0.2, "0.30000000000000004");
  assert_format(0, "0.0");
  assert_format(-0.0, "-0.0");
  assert_format(-1.5, "-1.5");
  assert_format(1708299820, "1708299820.0");
  assert_format(1708299820.123, "1708299820.123");
  assert_format(1e15, "1000000000000000.0");
  assert_format(9007199254740992, "9007199254740992.0");
  assert_format(1234567890123456.5, "1234567890123456.5");
  assert_format(0.00001, "0.00001");
  assert_format(-0.000012345678901234567, "-0.000012345678901234568");
  assert_format(0.000001, "1e-6");
  assert_format(1e16, "1e16");
  assert_format(1.5e300, "1.5e300");
  assert_format(DBL_MAX, "1.7976931348623157e308");
  assert_format(DBL_MIN, "2.2250738585072014e-308");
  assert_format(0x1p-1074, "5e-324");
  assert_format(-DBL_MAX, "-1.7976931348623157e308");
}

static void round_trips(unsigned n)
{
  uint64_t x = 88172645463325252u;
  for (unsigned i = 0; i < n; i++) {
    x ^= x << 13, x ^= x >> 7, x ^= x << 17;
    double v = (double)(int64_t)x / 1e9, back = 0;
    if (i % 2) memcpy(&v, &x, sizeof(v));
    if (!isfinite(v)) continue;
    char out[RP_DOUBLE_TEXT];
    struct rp__json number = rp__json_trusted(out, rp__double_format(v, out)), parsed;
    assert_int_equal(rp__json_parse(out, strlen(out), NULL, &parsed, NULL), 0);
    assert_true(rp__json_double(number, &back));
    if (back != v) fail_msg("%a came back as %a from %s", v, back, out);
  }
}

static void test_round_trip(void **state)
{
  (void)state;
  round_trips(20000);
}

/* A locale whose point is a comma; machines without one have nothing to show here. */
static void test_locale(void **state)
{
  static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "de_DE", "fr_FR.UTF-8", "ps_AF.UTF-8"};
  const char *set = NULL;
  for (size_t i = 0; i < RP_ARRAY_SIZE(names) && !set; i++) set = setlocale(LC_NUMERIC, names[i]);
  if (!set) {
    print_message("skipped: no locale with a decimal comma is installed\n");
    skip();
  }
  assert_string_not_equal(localeconv()->decimal_point, ".");
  test_double(state);
  test_long_mantissa(state);
  test_format(state);
  round_trips(2000);
  setlocale(LC_NUMERIC, "C");
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_i64),           cmocka_unit_test(test_double),   cmocka_unit_test(test_double_refusals),
      cmocka_unit_test(test_long_mantissa), cmocka_unit_test(test_half_way), cmocka_unit_test(test_format),
      cmocka_unit_test(test_round_trip),    cmocka_unit_test(test_locale),
  };
  return cmocka_run_group_tests_name("json number", tests, NULL, NULL);
}
