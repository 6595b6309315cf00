/* SPDX-License-Identifier: Apache-2.0 */
/* Walking checked (and damaged) bytes, and the text of strings. */
#include "json_test.h"

static void test_types_and_spans(void **state)
{
  (void)state;
  static const struct {
    const char *text, *span;
    enum rp__json_type type;
  } cases[] = {
      {" null ", "null", RP_JSON_NULL},
      {"false", "false", RP_JSON_FALSE},
      {"\ttrue\n", "true", RP_JSON_TRUE},
      {"-0", "-0", RP_JSON_NUMBER},
      {" 1.50E+007 ", "1.50E+007", RP_JSON_NUMBER}, /* as it was written */
      {"\" \"", "\" \"", RP_JSON_STRING},
      {" [ 1 ] ", "[ 1 ]", RP_JSON_ARRAY},
      {" { } ", "{ }", RP_JSON_OBJECT},
  };
  for (size_t i = 0; i < RP_ARRAY_SIZE(cases); i++) {
    struct rp__json v = value_of(cases[i].text), t = rp__json_trusted(cases[i].text, strlen(cases[i].text));
    assert_int_equal(v.type, cases[i].type);
    assert_int_equal(t.type, cases[i].type);
    assert_span(v, cases[i].span);
    assert_span(t, cases[i].span);
  }
  assert_int_equal(rp__json_trusted(" ", 1).type, RP_JSON_NONE);
  assert_int_equal(rp__json_trusted(NULL, 0).type, RP_JSON_NONE);
  assert_int_equal(rp__json_trusted("?", 1).type, RP_JSON_NONE);
}

static void test_array(void **state)
{
  (void)state;
  struct rp__json a = value_of(" [ 1 , \"]\" ,[[],{}],{\"a\":\"}\\\"\"},null,true ] "), key, v;
  static const char *const spans[] = {"1", "\"]\"", "[[],{}]", "{\"a\":\"}\\\"\"}", "null", "true"};
  struct rp__json_iter it = {0};
  for (size_t i = 0; i < RP_ARRAY_SIZE(spans); i++) {
    assert_true(rp__json_next(a, &it, &key, &v));
    assert_int_equal(key.type, RP_JSON_NONE);
    assert_span(v, spans[i]);
  }
  assert_false(rp__json_next(a, &it, &key, &v));
  assert_false(rp__json_next(a, &it, &key, &v));
  assert_int_equal(rp__json_count(a), 6);
  assert_int_equal(rp__json_count(value_of("[ ]")), 0);
  assert_int_equal(rp__json_count(value_of("12")), 0);
}

static void test_object(void **state)
{
  (void)state;
  struct rp__json o = value_of("{ \"a\" : 1 ,\"\":[ ], \"k\\u0065y\":{\"key\":2},\"b\\\"\":\"x\"}"), key, v;
  static const char *const keys[] = {"a", "", "k\\u0065y", "b\\\""};
  static const char *const values[] = {"1", "[ ]", "{\"key\":2}", "\"x\""};
  struct rp__json_iter it = {0};
  for (size_t i = 0; i < RP_ARRAY_SIZE(keys); i++) {
    assert_true(rp__json_next(o, &it, &key, &v));
    assert_int_equal(key.type, RP_JSON_STRING);
    assert_span(key, keys[i]);
    assert_span(v, values[i]);
  }
  assert_false(rp__json_next(o, &it, &key, &v));
  assert_int_equal(rp__json_count(o), 4);
}

static void test_get(void **state)
{
  (void)state;
  struct rp__json o = value_of("{\"x\":{\"role\":0},\"r\\u006fle\":\"user\",\"n\":1,\"\":2,\"null\":null}");
  assert_span(rp__json_get(o, "role"), "\"user\"");
  assert_span(rp__json_get(o, "n"), "1");
  assert_span(rp__json_get(o, ""), "2");
  assert_int_equal(rp__json_get(o, "null").type, RP_JSON_NULL);
  assert_int_equal(rp__json_get(o, "rol").type, RP_JSON_NONE);
  assert_int_equal(rp__json_get(o, "roles").type, RP_JSON_NONE);
  assert_int_equal(rp__json_get(rp__json_get(o, "missing"), "deeper").type, RP_JSON_NONE);
  assert_int_equal(rp__json_get(value_of("[\"role\"]"), "role").type, RP_JSON_NONE);
  struct rp__json twice = rp__json_trusted("{\"a\":1,\"a\":2}", 13);
  assert_span(rp__json_get(twice, "a"), "1");
}

static void test_members(void **state)
{
  (void)state;
  static const char *const names[] = {"n", "role", "rol", ""};
  struct rp__json found[RP_ARRAY_SIZE(names)];
  rp__json_members(value_of("{\"x\":{\"role\":0},\"r\\u006fle\":\"user\",\"n\":1,\"\":2}"), names, RP_ARRAY_SIZE(names),
                   found);
  assert_span(found[0], "1");
  assert_span(found[1], "\"user\"");
  assert_int_equal(found[2].type, RP_JSON_NONE);
  assert_span(found[3], "2");
  rp__json_members(rp__json_trusted("{\"n\":1,\"n\":2}", 13), names, RP_ARRAY_SIZE(names), found);
  assert_span(found[0], "1");
  assert_int_equal(found[1].type, RP_JSON_NONE);
  rp__json_members(value_of("[\"role\"]"), names, RP_ARRAY_SIZE(names), found);
  assert_int_equal(found[1].type, RP_JSON_NONE);
}

static void test_eq(void **state)
{
  (void)state;
  assert_true(rp__json_eq(value_of("\"abc\""), "abc"));
  assert_false(rp__json_eq(value_of("\"abc\""), "abcd"));
  assert_false(rp__json_eq(value_of("\"abc\""), "ab"));
  assert_true(rp__json_eq(value_of("\"\""), ""));
  assert_true(rp__json_eq(value_of("\"\\u0061b\\n\""), "ab\n"));
  assert_false(rp__json_eq(value_of("\"a\\n\""), "a"));
  assert_false(rp__json_eq(value_of("\"a\\n\""), "a\nb"));
  assert_false(rp__json_eq(value_of("\"a\\u0000\""), "a"));
  assert_false(rp__json_eq(value_of("\"\\u0000\""), ""));
  assert_false(rp__json_eq(value_of("12"), "12"));
  assert_false(rp__json_eq((struct rp__json){0}, ""));
  struct rp__json_iter it = {0};
  struct rp__json key;
  assert_true(rp__json_next(value_of("{\"\\\"\":1}"), &it, &key, NULL));
  assert_true(rp__json_eq(key, "\""));
}

static void assert_text(const char *json, const char *bytes, size_t n)
{
  RP_AUTOBUF struct rp__buf out = RP_BUF(1000);
  rp__buf_str(&out, "before:");
  assert_int_equal(rp__json_text(value_of(json), &out), 0);
  assert_int_equal(out.n, n + 7);
  assert_memory_equal(out.p + 7, bytes, n);
  char *copy = rp__json_dup(value_of(json));
  assert_non_null(copy);
  assert_memory_equal(copy, bytes, n);
  assert_int_equal(copy[n], '\0');
  free(copy);
}

static void test_text(void **state)
{
  (void)state;
  assert_text("\"\"", "", 0);
  assert_text("\"plain\"", "plain", 5);
  assert_text("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t", 8);
  assert_text("\"a\\u0000b\"", "a\0b", 3);
  assert_text("\"\\u007f\\u0080\\u07ff\\u0800\\uffff\"", "\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80\xef\xbf\xbf", 11);
  assert_text("\"\\ud834\\uDD1E\\udbff\\udfff\"", "\xf0\x9d\x84\x9e\xf4\x8f\xbf\xbf", 8);
  assert_text("\"x\\u0041\\ud7ff\\ue000y\"", "xA\xed\x9f\xbf\xee\x80\x80y", 9);
}

#define LOST "\xef\xbf\xbd"
/* What JavaScript writes for an emoji that was cut in two: accepted, kept as it came, read as U+FFFD. */
static void test_half_a_pair(void **state)
{
  (void)state;
  assert_text("\"ab\\ud83d\"", "ab" LOST, 5);
  assert_text("\"\\uDE00c\"", LOST "c", 4);
  assert_text("\"\\ud83d\\u0041\"", LOST "A", 4);
  assert_text("\"\\ud83d\\n\"", LOST "\n", 4);
  assert_text("\"\\ude00\\ud83d\"", LOST LOST, 6);
  assert_text("\"\\ud83d\\ud83d\\ude00\"", LOST "\xf0\x9f\x98\x80", 7);
  assert_span(value_of("\"ab\\uD83d\""), "\"ab\\uD83d\"");
  assert_true(rp__json_eq(value_of("\"\\ud83d\""), LOST));
  assert_span(rp__json_get(value_of("{\"\\ud83d\":1}"), LOST), "1");
}

static void test_text_refusals(void **state)
{
  (void)state;
  RP_AUTOBUF struct rp__buf out = RP_BUF(8);
  assert_int_equal(rp__json_text(value_of("1"), &out), RP_E_INVALID);
  assert_int_equal(rp__json_text((struct rp__json){0}, &out), RP_E_INVALID);
  assert_null(rp__json_dup(value_of("null")));
  /* The bound counts decoded bytes. */
  assert_int_equal(rp__json_text(value_of("\"\\u0061\\u0062\\u0063\""), &out), 0);
  assert_string_equal(out.p, "abc");
  assert_int_equal(rp__json_text(value_of("\"too long by far\""), &out), RP_E_TOO_LARGE);
}

static size_t walk(struct rp__json v, const char *lo, const char *hi, unsigned depth)
{
  struct rp__json_iter it = {0};
  struct rp__json key, value;
  size_t n = 1;
  while (depth < 100 && rp__json_next(v, &it, &key, &value)) {
    assert_true(value.n > 0 && value.p >= lo && value.p + value.n <= hi);
    assert_true(key.type == RP_JSON_NONE || (key.p >= lo && key.p + key.n <= hi));
    n += walk(value, lo, hi, depth + 1);
    free(rp__json_dup(key));
    free(rp__json_dup(value));
    int64_t i;
    double d;
    (void)rp__json_i64(value, &i);
    (void)rp__json_double(value, &d);
  }
  return n;
}

/* Stored bytes may be damaged after they were checked: any byte changed, any tail lost, nothing is read beyond them. */
static void test_damaged_bytes_stay_in_bounds(void **state)
{
  (void)state;
  static const char text[] = "{\"a\":[1.5e3,true,\"x\\u00e9\\ud83d\\ude00\"],\"b\":{\"c\":{}},\"d\":\"\\\\\"}";
  static const char bad[] = "\"\\{}[],:0 \xff";
  size_t n = sizeof(text) - 1;
  assert_int_equal(walk(rp__json_trusted(text, n), text, text + n, 0), 8);
  for (size_t cut = 1; cut <= n; cut++)
    for (size_t at = 0; at < cut; at++)
      for (size_t b = 0; b < sizeof(bad); b++) {
        char *copy = malloc(cut);
        assert_non_null(copy);
        memcpy(copy, text, cut);
        copy[at] = bad[b];
        assert_true(walk(rp__json_trusted(copy, cut), copy, copy + cut, 0) < 100);
        free(copy);
      }
}

static void test_damaged_escapes(void **state)
{
  (void)state;
  static const struct {
    const char *json, *text;
  } cases[] = {
      {"\"\\ud800\"", "\xef\xbf\xbd"},
      {"\"\\udc00x\"", "\xef\xbf\xbdx"},
      {"\"\\ud800\\n\"", "\xef\xbf\xbd\n"},
      {"\"\\q\"", "q"},
      {"\"\\u12\"", "u12"},
      {"\"\\u12zz\"", "\xef\xbf\xbd"},
      {"\"a\\\"", "a\\"},
  };
  for (size_t i = 0; i < RP_ARRAY_SIZE(cases); i++) {
    char *text = rp__json_dup(rp__json_trusted(cases[i].json, strlen(cases[i].json)));
    assert_string_equal(text, cases[i].text);
    free(text);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_types_and_spans),
      cmocka_unit_test(test_array),
      cmocka_unit_test(test_object),
      cmocka_unit_test(test_get),
      cmocka_unit_test(test_members),
      cmocka_unit_test(test_eq),
      cmocka_unit_test(test_text),
      cmocka_unit_test(test_half_a_pair),
      cmocka_unit_test(test_text_refusals),
      cmocka_unit_test(test_damaged_bytes_stay_in_bounds),
      cmocka_unit_test(test_damaged_escapes),
  };
  return cmocka_run_group_tests_name("json read", tests, NULL, NULL);
}
