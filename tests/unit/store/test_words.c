/* SPDX-License-Identifier: Apache-2.0 */
/* Words of a search: parsed, found, cut out. */
#include "store_test.h"

#include "store/search-words.h"

static const char *snippet(const char *words, const char *text)
{
  static char out[1024];
  struct rp__terms t;
  struct rp__buf b = RP_BUF(4096);
  assert_int_equal(rp__terms_parse(words, &t, NULL), 0);
  rp__snippet(&t, rp__str(text), &b);
  assert_int_equal(b.err, 0);
  snprintf(out, sizeof out, "%s", b.p ? b.p : "");
  rp__buf_done(&b);
  return out;
}

static void terms_are_words_phrases_and_beginnings(void **state)
{
  struct rp__terms t;
  (void)state;
  assert_int_equal(rp__terms_parse("  one \"two three\" fo* \"five si\"*", &t, NULL), 0);
  assert_int_equal(t.n, 4);
  assert_true(rp__str_eq(t.term[0].text, "one") && !t.term[0].prefix);
  assert_true(rp__str_eq(t.term[1].text, "two three") && !t.term[1].prefix);
  assert_true(t.term[2].prefix);
  assert_true(rp__str_eq(t.term[3].text, "five si") && t.term[3].prefix);
  assert_int_equal(rp__terms_parse("a\"b c\"d", &t, NULL), 0);
  assert_int_equal(t.n, 3);
  assert_int_equal(rp__terms_parse("\"never closed", &t, NULL), 0);
  assert_int_equal(t.n, 1);
  assert_int_equal(rp__terms_parse("... \"\" *", &t, NULL), RP_E_USAGE);
  assert_int_equal(rp__terms_parse(NULL, &t, NULL), RP_E_USAGE);
}

static void there_is_a_most(void **state)
{
  char words[3 * (RP_TERMS_MAX + 1) + 1] = "";
  struct rp__terms t;
  (void)state;
  for (int i = 0; i < RP_TERMS_MAX; i++) memcpy(words + 3 * i, "ab ", 4);
  assert_int_equal(rp__terms_parse(words, &t, NULL), 0);
  memcpy(words + 3 * RP_TERMS_MAX, "ab ", 4);
  assert_int_equal(rp__terms_parse(words, &t, NULL), RP_E_USAGE);
}

static void words_are_found_whole(void **state)
{
  struct rp__terms t;
  size_t start, end;
  (void)state;
  assert_int_equal(rp__terms_parse("cat", &t, NULL), 0);
  assert_false(rp__term_find(&t.term[0], rp__str("concatenate cats"), 0, &start, &end));
  assert_true(rp__term_find(&t.term[0], rp__str("cats, CAT!"), 0, &start, &end));
  assert_int_equal(start, 6);
  assert_int_equal(end, 9);
  assert_int_equal(rp__terms_parse("foo-bar", &t, NULL), 0);
  assert_true(rp__term_find(&t.term[0], rp__str("x foo  bar"), 0, &start, &end));
  assert_int_equal(end, 10);
  assert_false(rp__term_find(&t.term[0], rp__str("foo x bar"), 0, &start, &end));
}

static void snippets_are_bounded_and_whole(void **state)
{
  char text[2000];
  (void)state;
  assert_string_equal(snippet("cat", "a cat"), "a [cat]");
  assert_string_equal(snippet("\"b c\"", "a b\n c d"), "a [b  c] d");
  assert_string_equal(snippet("nothing", "short"), "short");
  assert_string_equal(snippet("nothing", ""), "");
  memset(text, 0, sizeof text);
  for (size_t i = 0; i + 2 < sizeof text; i += 2) memcpy(text + i, "\xc3\xa4", 2);
  memcpy(text + 1000, " cat ", 5);
  text[1005] = 'x';
  const char *s = snippet("cat", text);
  assert_non_null(strstr(s, "[cat]"));
  assert_true(strlen(s) < 300);
  /* No character is cut in half: every lead byte has its follower. */
  for (const char *p = s; *p; p++)
    if (*p == '\xc3') assert_int_equal(p[1], '\xa4');
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(terms_are_words_phrases_and_beginnings),
      cmocka_unit_test(there_is_a_most),
      cmocka_unit_test(words_are_found_whole),
      cmocka_unit_test(snippets_are_bounded_and_whole),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
