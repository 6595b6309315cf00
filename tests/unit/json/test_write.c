/* SPDX-License-Identifier: Apache-2.0 */
/* The writer: commas, nesting, escapes, bounds. */
#include <math.h>

#include "json_test.h"

static void test_document(void **state)
{
  (void)state;
  RP_AUTOBUF struct rp__buf out = RP_BUF(1000);
  struct rp__jw w = RP_JW(&out);
  rp__jw_object(&w);
  rp__jw_kstr(&w, "s", "x");
  rp__jw_kstr(&w, "none", NULL);
  rp__jw_key(&w, "a");
  rp__jw_array(&w);
  rp__jw_i64(&w, 1);
  rp__jw_array(&w);
  rp__jw_end_array(&w);
  rp__jw_object(&w);
  rp__jw_kbool(&w, "t", true);
  rp__jw_kbool(&w, "f", false);
  rp__jw_end_object(&w);
  rp__jw_null(&w);
  rp__jw_end_array(&w);
  rp__jw_kdouble(&w, "elapsed_seconds", 600);
  rp__jw_ki64(&w, "n", -7);
  rp__jw_key(&w, "o");
  rp__jw_object(&w);
  rp__jw_end_object(&w);
  rp__jw_key(&w, "raw");
  rp__jw_raw(&w, "[1, 2]", 6);
  rp__jw_end_object(&w);
  assert_int_equal(out.err, 0);
  assert_string_equal(out.p, "{\"s\":\"x\",\"none\":null,\"a\":[1,[],{\"t\":true,\"f\":false},null],"
                             "\"elapsed_seconds\":600.0,\"n\":-7,\"o\":{},\"raw\":[1, 2]}");
  value_of(out.p);
}

static void test_patterns(void **state)
{
  (void)state;
  RP_AUTOBUF struct rp__buf out = RP_BUF(1000);
  struct rp__jw w = RP_JW(&out);
  struct rp__json none = {0}, two = value_of("[2]");
  rp__jw_pack(&w, "{s:s none:s n:n i:i yes:b at:t v:v null:v raw:r list:[si{}] o:{}", "x", NULL, "abc", (size_t)2,
              (int64_t)-7, true, (int64_t)0, two, none, "{\"a\": 1}", "y", (int64_t)1);
  rp__jw_pack(&w, "s2:?s s3:?s v2:?v r2:?r _meta:?s x-y:?s}", NULL, "", none, NULL, "m", "z");
  assert_int_equal(out.err, 0);
  assert_string_equal(out.p,
                      "{\"s\":\"x\",\"none\":null,\"n\":\"ab\",\"i\":-7,\"yes\":true,\"at\":null,\"v\":[2],"
                      "\"null\":null,\"raw\":{\"a\": 1},\"list\":[\"y\",1,{}],\"o\":{},\"_meta\":\"m\",\"x-y\":\"z\"}");
  value_of(out.p);
}

static void assert_written(const char *bytes, size_t n, const char *json)
{
  RP_AUTOBUF struct rp__buf out = RP_BUF(1000);
  struct rp__jw w = RP_JW(&out);
  rp__jw_strn(&w, bytes, n);
  assert_int_equal(out.err, 0);
  assert_string_equal(out.p, json);
  value_of(out.p);
}

static void test_escapes(void **state)
{
  (void)state;
  assert_written("", 0, "\"\"");
  assert_written(NULL, 0, "\"\"");
  assert_written("a\"b\\c/d", 7, "\"a\\\"b\\\\c/d\"");
  assert_written("\b\f\n\r\t", 5, "\"\\b\\f\\n\\r\\t\"");
  assert_written("\0\x01\x1f\x7f", 4, "\"\\u0000\\u0001\\u001f\x7f\"");
  assert_written("caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", 14, "\"caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\"");
}

#define FFFD "\xef\xbf\xbd"

static void test_invalid_utf8_is_replaced(void **state)
{
  (void)state;
  assert_written("a\xff"
                 "b",
                 3, "\"a" FFFD "b\"");
  assert_written("\xc0\x80", 2, "\"" FFFD FFFD "\"");
  assert_written("\xed\xa0\x80", 3, "\"" FFFD FFFD FFFD "\"");
  assert_written("\xf4\x90\x80\x80", 4, "\"" FFFD FFFD FFFD FFFD "\"");
  /* A character cut at the end must not be completed from beyond it. */
  assert_written("x\xe2\x82\xac", 3, "\"x" FFFD FFFD "\"");
  assert_written("\xc3\xa9\xc3", 3, "\"\xc3\xa9" FFFD "\"");
}

/* Whatever bytes are written, the text is JSON, and good text comes back unchanged. */
static void test_every_byte_comes_back(void **state)
{
  (void)state;
  for (int c = 0; c < 256; c++)
    for (size_t at = 0; at < 17; at++) {
      char bytes[17], *back;
      memset(bytes, 'a', sizeof(bytes));
      bytes[at] = (char)c;
      RP_AUTOBUF struct rp__buf out = RP_BUF(1000), text = RP_BUF(1000);
      struct rp__jw w = RP_JW(&out);
      rp__jw_strn(&w, bytes, sizeof(bytes));
      assert_int_equal(rp__json_text(value_of(out.p), &text), 0);
      back = text.p;
      assert_int_equal(text.n, c < 128 ? 17 : 19);
      assert_memory_equal(back, bytes, at);
      if (c < 128) assert_memory_equal(back, bytes, sizeof(bytes));
    }
}

static void test_numbers_and_times(void **state)
{
  (void)state;
  RP_AUTOBUF struct rp__buf out = RP_BUF(1000);
  struct rp__jw w = RP_JW(&out);
  rp__jw_array(&w);
  rp__jw_i64(&w, 0);
  rp__jw_i64(&w, INT64_MAX);
  rp__jw_i64(&w, INT64_MIN);
  rp__jw_double(&w, 0.1);
  rp__jw_double(&w, (double)NAN);
  rp__jw_double(&w, (double)-INFINITY);
  rp__jw_time(&w, 0);
  rp__jw_time(&w, INT64_C(1794789) * 1000000 + 123);
  rp__jw_end_array(&w);
  assert_string_equal(out.p, "[0,9223372036854775807,-9223372036854775808,0.1,null,null,null,"
                             "\"2026-11-16T00:30:00.123Z\"]");
}

static void test_values_as_they_were(void **state)
{
  (void)state;
  struct rp__json o = value_of("{\"k\\u0065y\": 1.50 }"), key, v;
  struct rp__json_iter it = {0};
  assert_true(rp__json_next(o, &it, &key, &v));
  RP_AUTOBUF struct rp__buf out = RP_BUF(1000);
  struct rp__jw w = RP_JW(&out);
  rp__jw_array(&w);
  rp__jw_value(&w, v);
  rp__jw_value(&w, key);
  rp__jw_value(&w, o);
  rp__jw_value(&w, (struct rp__json){0});
  rp__jw_value(&w, value_of("\"s\""));
  rp__jw_end_array(&w);
  assert_string_equal(out.p, "[1.50,\"k\\u0065y\",{\"k\\u0065y\": 1.50 },null,\"s\"]");
}

static void nest(struct rp__jw *w, int levels)
{
  for (int i = 0; i < levels; i++) rp__jw_array(w);
  for (int i = 0; i < levels; i++) rp__jw_end_array(w);
}

static void test_bounds(void **state)
{
  (void)state;
  RP_AUTOBUF struct rp__buf out = RP_BUF(1000), small = RP_BUF(10);
  struct rp__jw w = RP_JW(&out);
  nest(&w, 63);
  assert_int_equal(out.err, 0);
  value_of(out.p);
  rp__buf_reset(&out);
  w = RP_JW(&out);
  nest(&w, 64);
  assert_int_equal(out.err, RP_E_TOO_LARGE);
  nest(&w, 200);
  assert_int_equal(out.err, RP_E_TOO_LARGE);
  w = RP_JW(&small);
  rp__jw_array(&w);
  for (int i = 0; i < 100; i++) rp__jw_str(&w, "some\ntext");
  rp__jw_end_array(&w);
  assert_int_equal(small.err, RP_E_TOO_LARGE);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_document),
      cmocka_unit_test(test_patterns),
      cmocka_unit_test(test_escapes),
      cmocka_unit_test(test_invalid_utf8_is_replaced),
      cmocka_unit_test(test_every_byte_comes_back),
      cmocka_unit_test(test_numbers_and_times),
      cmocka_unit_test(test_values_as_they_were),
      cmocka_unit_test(test_bounds),
  };
  return cmocka_run_group_tests_name("json write", tests, NULL, NULL);
}
