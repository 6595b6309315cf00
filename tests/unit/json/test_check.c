/* SPDX-License-Identifier: Apache-2.0 */
/* The strict pass: what is accepted, what is refused, where, and under which limits. */
#include "json_test.h"

#include <reprise/reprise.h>

static int parse(const char *bytes, size_t n, const struct rp__json_limits *limits, rp_error *err)
{
  /* A copy of the exact size lets the address sanitizer see any read beyond it. */
  char *copy = malloc(n ? n : 1);
  assert_non_null(copy);
  if (n) memcpy(copy, bytes, n);
  struct rp__json v;
  int r = rp__json_parse(copy, n, limits, &v, err);
  free(copy);
  return r;
}

static void test_messages_name_the_byte(void **state)
{
  (void)state;
  static const struct {
    const char *text, *message;
  } cases[] = {
      {"", "byte 0: expected a value, but the text ends"},
      {"  ", "byte 2: expected a value, but the text ends"},
      {"{\"a\" 1}", "byte 5: expected a colon"},
      {"{\"a\"", "byte 4: expected a colon, but the text ends"},
      {"{\"a\":1,}", "byte 7: expected a key in double quotes"},
      {"{'a':1}", "byte 1: expected a key in double quotes"},
      {"{\"a\":1 \"b\"", "byte 7: expected a comma or a closing brace"},
      {"[1 2]", "byte 3: expected a comma or a closing bracket"},
      {"[1}", "byte 2: expected a comma or a closing bracket"},
      {"[1,]", "byte 3: expected a value"},
      {"nul", "byte 0: expected a value"},
      {"nullx", "byte 4: expected nothing after the value"},
      {"1 2", "byte 2: expected nothing after the value"},
      {"01", "byte 1: a number has no leading zero"},
      {"-", "byte 1: expected a digit, but the text ends"},
      {"1.e3", "byte 2: expected a digit"},
      {"1e+", "byte 3: expected a digit, but the text ends"},
      {"\"abc", "byte 4: the string is not closed, but the text ends"},
      {"\"a\\", "byte 3: the string is not closed, but the text ends"},
      {"\"a\\x\"", "byte 2: no such escape"},
      {"\"\\u12g4\"", "byte 1: expected four hex digits after \\u"},
      {"\"\\u12", "byte 1: expected four hex digits after \\u"},
      {"\"\\ud800\\udc0\"", "byte 7: expected four hex digits after \\u"},
      {"\"\xed\xa0\x80\"", "byte 1: not UTF-8"},
      {"{\"\\ud800\":1,\"\\udc00\":2}", "byte 12: the object has this key already"}, /* both read as U+FFFD */
      {"\"12345678\n\"", "byte 9: a control character in a string must be escaped"},
      {"\"\xc3(\"", "byte 1: not UTF-8"},
      {"{\"a\":1,\"b\":2,\"\\u0061\":3}", "byte 13: the object has this key already"},
  };
  for (size_t i = 0; i < RP_ARRAY_SIZE(cases); i++) {
    rp_error err = {0};
    assert_int_equal(parse(cases[i].text, strlen(cases[i].text), NULL, &err), RP_E_JSON);
    assert_int_equal(err.code, RP_E_JSON);
    assert_string_equal(err.message, cases[i].message);
  }
}

static void test_utf8(void **state)
{
  (void)state;
  static const struct {
    const char *bytes;
    int good;
  } cases[] = {
      {"\x7f", 1},
      {"\xc2\x80", 1},
      {"\xdf\xbf", 1},
      {"\xe0\xa0\x80", 1},
      {"\xed\x9f\xbf", 1},
      {"\xee\x80\x80", 1},
      {"\xef\xbf\xbf", 1},
      {"\xf0\x90\x80\x80", 1},
      {"\xc0\x80", 0},
      {"\xf4\x8f\xbf\xbf", 1},
      {"\xc1\xbf", 0},
      {"\xe0\x9f\xbf", 0},
      {"\xed\xa0\x80", 0},
      {"\xed\xbf\xbf", 0},
      {"\xf0\x8f\xbf\xbf", 0},
      {"\xf4\x90\x80\x80", 0},
      {"\xf5\x80", 0},
      {"\xff", 0},
      {"\x80", 0},
      {"\xe2\x82", 0},
      {"\xf0\x9f\x98", 0},
      {"\xc3", 0},
      {"\xe2\x28\xa1", 0},
      {"\xf0\x9f\x28\x80", 0},
  };
  /* At every offset in a word, so that both ways of scanning see it. */
  for (size_t i = 0; i < RP_ARRAY_SIZE(cases); i++)
    for (int pad = 0; pad < 20; pad++)
      for (int tail = 0; tail < 10; tail += 9) {
        char text[64];
        int n = snprintf(text, sizeof(text), "\"%.*s%s%.*s\"", pad, "aaaaaaaaaaaaaaaaaaaa", cases[i].bytes, tail,
                         "bbbbbbbbb");
        assert_int_equal(parse(text, (size_t)n, NULL, NULL), cases[i].good ? 0 : RP_E_JSON);
      }
}

static void test_every_byte_in_a_string(void **state)
{
  (void)state;
  for (int c = 0; c < 256; c++)
    for (int at = 1; at < 18; at++) {
      char text[] = "\"aaaaaaaaaaaaaaaaa\"";
      text[at] = (char)c;
      int good = c >= 0x20 && c < 0x80 && c != '"' && c != '\\';
      assert_int_equal(parse(text, sizeof(text) - 1, NULL, NULL) == 0, good);
    }
}

static void test_every_cut_is_refused(void **state)
{
  (void)state;
  static const char text[] = "{\"a\":[1.5e+3,true,false,null,\"x\\u00e9\\ud83d\\ude00\xe2\x82\xac\"],\"b\":{}}";
  assert_int_equal(parse(text, sizeof(text) - 1, NULL, NULL), 0);
  for (size_t n = 0; n < sizeof(text) - 1; n++) assert_int_equal(parse(text, n, NULL, NULL), RP_E_JSON);
}

static void nested(char *text, unsigned depth, char open, char close)
{
  memset(text, open, depth);
  memset(text + depth, close, depth);
}

static void test_depth(void **state)
{
  (void)state;
  static char text[2 * 4096];
  rp_error err = {0};
  nested(text, RP_DEPTH_MAX, '[', ']');
  assert_int_equal(parse(text, 2 * RP_DEPTH_MAX, NULL, &err), 0);
  nested(text, RP_DEPTH_MAX + 1, '[', ']');
  assert_int_equal(parse(text, 2 * RP_DEPTH_MAX + 2, NULL, &err), RP_E_TOO_LARGE);
  assert_string_equal(err.message, "byte 64: nested too deeply, at most 64 levels are allowed");
  struct rp__json_limits one = {.max_depth = 1}, all = {.max_depth = 1u << 30};
  assert_int_equal(parse("[1,{}]", 6, &one, NULL), RP_E_TOO_LARGE);
  assert_int_equal(parse("[1,2]", 5, &one, NULL), 0);
  nested(text, RP_JSON_DEPTH_LIMIT, '[', ']');
  assert_int_equal(parse(text, 2 * RP_JSON_DEPTH_LIMIT, &all, NULL), 0);
  nested(text, RP_JSON_DEPTH_LIMIT + 1, '[', ']');
  assert_int_equal(parse(text, 2 * RP_JSON_DEPTH_LIMIT + 2, &all, NULL), RP_E_TOO_LARGE);
}

static void test_size(void **state)
{
  (void)state;
  struct rp__json_limits limits = {.max_bytes = 5};
  rp_error err = {0};
  assert_int_equal(parse("[1,2]", 5, &limits, &err), 0);
  assert_int_equal(parse("[1,23]", 6, &limits, &err), RP_E_TOO_LARGE);
  assert_string_equal(err.message, "6 bytes, at most 5 are allowed");
}

static void test_outputs_only_on_success(void **state)
{
  (void)state;
  struct rp__json v = {.p = "kept", .n = 4, .type = RP_JSON_STRING};
  assert_int_equal(rp__json_parse("[1", 2, NULL, &v, NULL), RP_E_JSON);
  assert_string_equal(v.p, "kept");
  assert_int_equal(rp__json_parse(NULL, 0, NULL, &v, NULL), RP_E_JSON);
  assert_int_equal(rp__json_parse(" [1]\r\n\t", 7, NULL, &v, NULL), 0);
  assert_span(v, "[1]");
  assert_int_equal(v.type, RP_JSON_ARRAY);
}

static void test_duplicates(void **state)
{
  (void)state;
  static const struct {
    const char *text;
    int good;
  } cases[] = {
      {"{\"a\":1,\"a\":1}", 0},
      {"{\"a\":1,\"b\":{\"a\":1},\"c\":[{\"a\":1},{\"a\":1}]}", 1},
      {"{\"a\":{\"b\":1},\"a\":2}", 0},
      {"{\"b\":{\"a\":1,\"a\":2}}", 0},
      {"{\"\":1,\"\":2}", 0},
      {"{\"\":1,\"\\u0000\":2}", 1},
      {"{\"\\u0000\":1,\"\\u0000\\u0000\":2}", 1},
      {"{\"a\\/b\":1,\"a/b\":2}", 0},
      {"{\"\\u20ac\":1,\"\xe2\x82\xac\":2}", 0},
      {"{\"\\ud83d\\ude00\":1,\"\xf0\x9f\x98\x80\":2}", 0},
      {"{\"eightlong1\":1,\"eightlong2\":2,\"eightlong\":3}", 1},
      {"{\"eightlong1\":1,\"eightlong2\":2,\"eightlo\\u006eg1\":3}", 0},
      {"{\"A\":1,\"a\":2}", 1},
  };
  struct rp__json_limits lax = {.allow_duplicates = true};
  for (size_t i = 0; i < RP_ARRAY_SIZE(cases); i++) {
    assert_int_equal(parse(cases[i].text, strlen(cases[i].text), NULL, NULL), cases[i].good ? 0 : RP_E_JSON);
    assert_int_equal(parse(cases[i].text, strlen(cases[i].text), &lax, NULL), 0);
  }
}

/* `n` keys of one object; key number `again` has the name of key number 3, with an escape. */
static void object_of(struct rp__buf *out, int n, int again, size_t *ret_offset)
{
  rp__buf_reset(out);
  for (int i = 0; i < n; i++) {
    rp__buf_char(out, i ? ',' : '{');
    if (i == again) *ret_offset = out->n;
    if (i == again)
      rp__buf_printf(out, "\"common pr\\u0065fix 3\":0");
    else
      rp__buf_printf(out, "\"common prefix %d\":{\"x\":%d}", i, i);
  }
  rp__buf_char(out, '}');
  assert_int_equal(out->err, 0);
}

static void test_duplicates_in_objects_of_any_size(void **state)
{
  (void)state;
  RP_AUTOBUF struct rp__buf text = RP_BUF(1 << 24);
  static const int sizes[] = {5, 16, 17, 18, 48, 49, 100, 5000};
  for (size_t i = 0; i < RP_ARRAY_SIZE(sizes); i++) {
    size_t offset = 0;
    rp_error err = {0};
    object_of(&text, sizes[i], -1, &offset);
    assert_int_equal(parse(text.p, text.n, NULL, &err), 0);
    for (int again = 4; again < sizes[i]; again += 1 + sizes[i] / 7) {
      char expected[80];
      object_of(&text, sizes[i], again, &offset);
      snprintf(expected, sizeof(expected), "byte %zu: the object has this key already", offset);
      assert_int_equal(parse(text.p, text.n, NULL, &err), RP_E_JSON);
      assert_string_equal(err.message, expected);
    }
  }
}

/* Were it quadratic, this would take minutes: 200,000 keys that differ only at their ends. */
static void test_many_keys_with_a_common_head(void **state)
{
  (void)state;
  RP_AUTOBUF struct rp__buf text = RP_BUF(1 << 24);
  size_t offset;
  object_of(&text, 200000, -1, &offset);
  assert_int_equal(parse(text.p, text.n, NULL, NULL), 0);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_messages_name_the_byte),
      cmocka_unit_test(test_utf8),
      cmocka_unit_test(test_every_byte_in_a_string),
      cmocka_unit_test(test_every_cut_is_refused),
      cmocka_unit_test(test_depth),
      cmocka_unit_test(test_size),
      cmocka_unit_test(test_outputs_only_on_success),
      cmocka_unit_test(test_duplicates),
      cmocka_unit_test(test_duplicates_in_objects_of_any_size),
      cmocka_unit_test(test_many_keys_with_a_common_head),
  };
  return cmocka_run_group_tests_name("json check", tests, NULL, NULL);
}
