/* SPDX-License-Identifier: Apache-2.0 */
/* What a document is, and what it may not be: sizes, depths, damage, the wrong format. */
#include "format_test.h"

static struct book b;
static rp_error err;

static int refused(const char *format, const char *text)
{
  book_clear(&b);
  memset(&err, 0, sizeof err);
  return book_import(&b, format, text, strlen(text), &err);
}

static void every_format_is_told_by_its_content(void **state)
{
  (void)state;
  static const struct {
    const char *text, *format;
  } docs[] = {
      {"{\"version\":1,\"heartbeat\":1.5,\"shutdown_clean\":true}", "nova"},
      {"{\"session_id\":\"a\",\"working_memory\":[],\"hot_topics\":[]}", "cortex"},
      {"{\"sessions\":[],\"internalSecret\":\"x\"}", "clawd"},
      {"{\"sessions\":[{\"info\":{}}]}", "clawd"},
      {"{\"session_id\":\"a\",\"provider_type\":\"acp\",\"version\":1}", "orbitmesh"},
      {"{\"SessionID\":\"a\",\"ProviderType\":\"acp\",\"Version\":1}", "orbitmesh"},
      {" {}", NULL},
      {"{\"version\":1}", NULL},
  };
  for (size_t i = 0; i < RP_ARRAY_SIZE(docs); i++) {
    struct rp__doc d;
    assert_int_equal(rp__doc_open(docs[i].text, strlen(docs[i].text), &d, &err), 0);
    const struct rp__format *f = rp__format_detect(&d);
    assert_string_equal(f ? f->name : "none", docs[i].format ? docs[i].format : "none");
    rp__doc_done(&d);
  }
}

static void a_wrong_format_names_what_was_expected(void **state)
{
  (void)state;
  for (const struct rp__format *const *f = rp__formats; *f; f++) {
    if (!(*f)->import) continue;
    assert_int_equal(refused((*f)->name, "{\"something\":\"else\"}"), RP_E_FORMAT);
    HAS(err.message, (*f)->name);
    HAS(err.message, "expected");
    assert_int_equal(b.n_sessions, 0);
  }
  assert_int_equal(refused(NULL, "{\"something\":\"else\"}"), RP_E_FORMAT);
  HAS(err.hint, "session.json");
}

static void damage_is_told_from_another_format(void **state)
{
  (void)state;
  assert_int_equal(refused(NULL, ""), RP_E_FORMAT);
  assert_int_equal(refused(NULL, "hello"), RP_E_FORMAT);
  assert_int_equal(refused(NULL, "[1,2]"), RP_E_FORMAT);
  assert_int_equal(refused("nova", "{\"version\":1,\"heartbeat\":"), RP_E_FORMAT_CORRUPT);
  assert_int_equal(refused("nova", "{\"version\":1,\"heartbeat\":1,\"heartbeat\":2}"), RP_E_FORMAT_CORRUPT);
  assert_int_equal(refused(NULL, "\x1f\x8b nonsense"), RP_E_FORMAT_CORRUPT);
}

static void depth_has_a_bound(void **state)
{
  (void)state;
  struct rp__buf deep RP_AUTOBUF = RP_BUF(1 << 20);
  rp__buf_str(&deep, "{\"session_id\":\"a\",\"working_memory\":");
  for (int i = 0; i < 2000; i++) rp__buf_char(&deep, '[');
  for (int i = 0; i < 2000; i++) rp__buf_char(&deep, ']');
  rp__buf_char(&deep, '}');
  assert_int_equal(refused(NULL, deep.p), RP_E_TOO_LARGE);
}

/* O-02: a bomb costs no more than the bound. */
static void a_bomb_is_refused(void **state)
{
  (void)state;
  struct rp__buf zeroes RP_AUTOBUF = RP_BUF(RP_FOREIGN_MAX);
  struct rp__buf once RP_AUTOBUF = RP_BUF(RP_FOREIGN_MAX), out RP_AUTOBUF = RP_BUF(1000);
  char *room = rp__buf_room(&zeroes, 1 << 20);
  assert_non_null(room);
  memset(room, ' ', 1 << 20);
  zeroes.n = 1 << 20;
  assert_int_equal(rp__gzip(zeroes.p, zeroes.n, &once, &err), 0);
  assert_true(once.n < 10000);
  assert_int_equal(rp__gunzip(once.p, once.n, &out, &err), RP_E_TOO_LARGE);
  /* One that fits exactly does. */
  struct rp__buf exact RP_AUTOBUF = RP_BUF(1 << 20);
  assert_int_equal(rp__gunzip(once.p, once.n, &exact, &err), 0);
  assert_int_equal(exact.n, 1 << 20);
}

static void gzip_is_undone_and_damage_found(void **state)
{
  (void)state;
  static const char text[] = "{\"session_id\":\"abc\",\"provider_type\":\"acp\",\"version\":1}";
  struct rp__buf z RP_AUTOBUF = RP_BUF(4096);
  assert_int_equal(rp__gzip(text, sizeof text - 1, &z, &err), 0);
  for (size_t cut = 2; cut < z.n; cut++) {
    struct rp__buf out RP_AUTOBUF = RP_BUF(4096);
    assert_int_equal(rp__gunzip(z.p, cut, &out, &err), RP_E_FORMAT_CORRUPT);
  }
  for (size_t at = 10; at < z.n; at++) { /* after the head, whose time and flags mean nothing here */
    struct rp__buf out RP_AUTOBUF = RP_BUF(4096);
    z.p[at] = (char)(z.p[at] ^ 1);
    int rc = rp__gunzip(z.p, z.n, &out, &err);
    assert_true(rc == RP_E_FORMAT_CORRUPT || rc == RP_E_TOO_LARGE);
    z.p[at] = (char)(z.p[at] ^ 1);
  }
  rp__buf_char(&z, 'x');
  struct rp__buf out RP_AUTOBUF = RP_BUF(4096);
  assert_int_equal(rp__gunzip(z.p, z.n, &out, &err), RP_E_FORMAT_CORRUPT);
}

static void pretty_is_as_python_writes_it(void **state)
{
  (void)state;
  static const char text[] =
      "{\"a\":[],\"b\":{},\"c\":[1,{\"d\":\"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\\n\"}],\"\xc3\xa9\":null}";
  struct rp__buf out RP_AUTOBUF = RP_BUF(4096);
  rp__json_pretty(rp__json_trusted(text, sizeof text - 1), true, &out);
  assert_string_equal(out.p, "{\n  \"a\": [],\n  \"b\": {},\n  \"c\": [\n    1,\n    {\n"
                             "      \"d\": \"\\u00e9 \\u20ac \\ud83d\\ude00\\n\"\n    }\n  ],\n  \"\\u00e9\": null\n}");
  rp__buf_reset(&out);
  rp__json_pretty(rp__json_trusted("[\"\xc3\xa9\"]", 6), false, &out);
  assert_string_equal(out.p, "[\n  \"\xc3\xa9\"\n]");
}

static int clear(void **state)
{
  (void)state;
  book_clear(&b);
  return 0;
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_format_is_told_by_its_content),
      cmocka_unit_test(a_wrong_format_names_what_was_expected),
      cmocka_unit_test(damage_is_told_from_another_format),
      cmocka_unit_test(depth_has_a_bound),
      cmocka_unit_test(a_bomb_is_refused),
      cmocka_unit_test(gzip_is_undone_and_damage_found),
      cmocka_unit_test(pretty_is_as_python_writes_it),
  };
  return cmocka_run_group_tests(tests, NULL, clear);
}
