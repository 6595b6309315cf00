/* SPDX-License-Identifier: Apache-2.0 */
/* Text cut by columns and made safe, ages, sizes. */
#include "cli_test.h"

#include "cli/term.h"

static void expect_cut(const char *in, int columns, const char *out)
{
  RP_AUTOBUF struct rp__buf b = RP_BUF(4096);
  rp__term_cut(&b, in, strlen(in), columns);
  assert_int_equal(b.err, 0);
  assert_string_equal(b.p ? b.p : "", out);
}

static void text_is_cut_by_columns(void **state)
{
  (void)state;
  expect_cut("hello", 0, "hello");
  expect_cut("hello", 5, "hello");
  expect_cut("hello", 4, "hel…");
  expect_cut("héllo", 4, "hél…");
  expect_cut("日本語", 6, "日本語");
  expect_cut("日本語", 5, "日本…");
  expect_cut("日本語", 4, "日…");
  expect_cut("", 4, "");
}

/* What a peer wrote must not drive the terminal. */
static void controls_become_harmless(void **state)
{
  (void)state;
  expect_cut("a\033[31mb\nc\td\x7f", 0, "a [31mb c d ");
  expect_cut("a\xc2\x9b"
             "31mb",
             0, "a 31mb");
  expect_cut("a\xe2\x80\xae"
             "b",
             0, "a b");
  expect_cut("a\xff\xfe"
             "b\xe2\x82",
             0,
             "a\xef\xbf\xbd\xef\xbf\xbd"
             "b\xef\xbf\xbd\xef\xbf\xbd");
}

static void cells_are_filled(void **state)
{
  (void)state;
  RP_AUTOBUF struct rp__buf b = RP_BUF(4096);
  rp__term_cell(&b, "日", 4);
  rp__buf_char(&b, '|');
  rp__term_cell(&b, "abcdef", 4);
  assert_string_equal(b.p, "日  |abc…");
}

static void ages_read_well(void **state)
{
  (void)state;
  static const struct {
    int64_t seconds;
    const char *text;
  } cases[] = {
      {0, "just now"},       {1, "just now"},       {2, "2 s ago"},         {99, "99 s ago"}, {180, "3 m ago"},
      {2 * 3600, "2 h ago"}, {5 * 3600, "5 h ago"}, {3 * 86400, "3 d ago"}, {-30, "in 30 s"}, {-7200, "in 2 h"},
  };
  for (size_t i = 0; i < RP_ARRAY_SIZE(cases); i++) {
    char text[32];
    rp__age_format(1700000000000 - cases[i].seconds * 1000, 1700000000000, text, sizeof(text));
    assert_string_equal(text, cases[i].text);
  }
}

static void sizes_read_well(void **state)
{
  (void)state;
  char text[32];
  rp__size_format(17, text, sizeof(text));
  assert_string_equal(text, "17 B");
  rp__size_format(1536, text, sizeof(text));
  assert_string_equal(text, "1.5 KiB");
  rp__size_format(5LL << 40, text, sizeof(text));
  assert_string_equal(text, "5.0 TiB");
}

static void no_colours_without_a_terminal(void **state)
{
  (void)state;
  assert_string_equal(RP_SGR(false, RP_RED), "");
  assert_string_equal(RP_SGR(true, RP_RED), "\033[31m");
  assert_string_equal(RP_RESET(false), "");
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(text_is_cut_by_columns), cmocka_unit_test(controls_become_harmless),
      cmocka_unit_test(cells_are_filled),       cmocka_unit_test(ages_read_well),
      cmocka_unit_test(sizes_read_well),        cmocka_unit_test(no_colours_without_a_terminal),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
