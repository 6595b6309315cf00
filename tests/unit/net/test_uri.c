/* SPDX-License-Identifier: Apache-2.0 */
/* Paths and queries: split first, decode then, so that no escape changes what a path means (L-13). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "net/uri.h"

static void escapes_become_characters(void **state)
{
  char out[64];
  (void)state;
  assert_int_equal(rp__uri_decode(RP_STR("a%2Fb%2fc"), false, out, sizeof(out)), 0);
  assert_string_equal(out, "a/b/c");
  assert_int_equal(rp__uri_decode(RP_STR("a+b%20c"), false, out, sizeof(out)), 0);
  assert_string_equal(out, "a+b c");
  assert_int_equal(rp__uri_decode(RP_STR("a+b%2B"), true, out, sizeof(out)), 0);
  assert_string_equal(out, "a b+");
  assert_int_equal(rp__uri_decode(RP_STR("%C3%A9"), false, out, sizeof(out)), 0);
  assert_string_equal(out, "\xc3\xa9");
  assert_int_equal(rp__uri_decode(RP_STR("%2525"), false, out, sizeof(out)), 0);
  assert_string_equal(out, "%25"); /* once, not twice */
  assert_int_equal(rp__uri_decode(RP_STR(""), false, out, sizeof(out)), 0);
  assert_string_equal(out, "");
}

static void what_is_no_text_is_refused(void **state)
{
  static const char *const bad[] = {"%",   "%4",   "a%",  "%zz",    "%4g",    "%00",       "a%00b",        "%0a", "%1F",
                                    "%7f", "\x01", "%C3", "%C3%28", "%c0%af", "%ED%A0%80", "%F5%80%80%80", "\xff"};
  char out[64];
  (void)state;
  for (size_t i = 0; i < RP_ARRAY_SIZE(bad); i++)
    if (rp__uri_decode(rp__str(bad[i]), true, out, sizeof(out)) != RP_E_USAGE) fail_msg("%s passed", bad[i]);
}

static void what_does_not_fit_is_told(void **state)
{
  char out[4];
  (void)state;
  assert_int_equal(rp__uri_decode(RP_STR("abc"), false, out, sizeof(out)), 0);
  assert_int_equal(rp__uri_decode(RP_STR("%61%62%63"), false, out, sizeof(out)), 0);
  assert_int_equal(rp__uri_decode(RP_STR("abcd"), false, out, sizeof(out)), RP_E_TOO_LARGE);
  assert_int_equal(rp__uri_decode(RP_STR(""), false, out, 0), RP_E_TOO_LARGE);
}

static void check_segments(const char *path, const char *const *expected)
{
  struct rp__str segment;
  size_t at = 0;
  for (; *expected; expected++) {
    assert_true(rp__uri_segment(rp__str(path), &at, &segment));
    if (!rp__str_eq(segment, *expected)) fail_msg("%s: %.*s for %s", path, (int)segment.n, segment.p, *expected);
  }
  assert_false(rp__uri_segment(rp__str(path), &at, &segment));
}

static void a_path_falls_into_segments(void **state)
{
  (void)state;
  check_segments("/a/b", (const char *const[]){"a", "b", NULL});
  check_segments("/", (const char *const[]){"", NULL});
  check_segments("/a/", (const char *const[]){"a", "", NULL});
  check_segments("//a", (const char *const[]){"", "a", NULL});
  check_segments("/a%2Fb/..", (const char *const[]){"a%2Fb", "..", NULL});
  check_segments("", (const char *const[]){NULL});
  check_segments("a/b", (const char *const[]){NULL});
}

static void parameters_are_found_by_name(void **state)
{
  struct rp__str query = RP_STR("a=1&&b&a=2&c==x&=y&d="), name, value;
  (void)state;
  assert_true(rp__uri_param(query, "a", &value) && rp__str_eq(value, "1"));
  assert_true(rp__uri_param(query, "b", &value) && rp__str_eq(value, ""));
  assert_true(rp__uri_param(query, "c", &value) && rp__str_eq(value, "=x"));
  assert_true(rp__uri_param(query, "d", &value) && rp__str_eq(value, ""));
  assert_true(rp__uri_param(query, "", &value) && rp__str_eq(value, "y"));
  assert_false(rp__uri_param(query, "e", &value));
  assert_false(rp__uri_param((struct rp__str){NULL, 0}, "a", &value));
  size_t at = 0, n = 0;
  while (rp__uri_next(query, &at, &name, &value)) n++;
  assert_int_equal(n, 6);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(escapes_become_characters),    cmocka_unit_test(what_is_no_text_is_refused),
      cmocka_unit_test(what_does_not_fit_is_told),    cmocka_unit_test(a_path_falls_into_segments),
      cmocka_unit_test(parameters_are_found_by_name),
  };
  return cmocka_run_group_tests_name("net uri", tests, NULL, NULL);
}
