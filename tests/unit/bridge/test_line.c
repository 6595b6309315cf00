/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes in whatever pieces to lines (O-05): ends, blanks, the last one, limits, and how one goes on after a limit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bridge/line.h"
#include "lib/dice.h"

#define MAX 100

static void add(struct rp__lines *l, const char *text)
{
  rp_error err = {0};
  assert_int_equal(rp__lines_add(l, text, strlen(text), &err), 0);
}

static void expect(struct rp__lines *l, bool last, const char *text)
{
  struct rp__str line;
  assert_true(rp__lines_next(l, last, &line));
  assert_int_equal(line.n, strlen(text));
  assert_memory_equal(line.p, text, line.n);
}

static void expect_none(struct rp__lines *l, bool last)
{
  struct rp__str line;
  assert_false(rp__lines_next(l, last, &line));
}

static void ends_are_lf_or_crlf_and_blanks_are_no_lines(void **state)
{
  RP_CLEANUP(rp__lines_done) struct rp__lines l;
  (void)state;
  rp__lines_init(&l, MAX);
  add(&l, "a\r\n\n \t \r\nb c\n\r\nd");
  expect(&l, false, "a");
  expect(&l, false, "b c");
  expect_none(&l, false);
  expect(&l, true, "d");
  expect_none(&l, true);
}

static void a_line_comes_when_its_end_does(void **state)
{
  RP_CLEANUP(rp__lines_done) struct rp__lines l;
  (void)state;
  rp__lines_init(&l, MAX);
  expect_none(&l, true);
  add(&l, "on");
  expect_none(&l, false);
  add(&l, "e\r");
  expect_none(&l, false);
  add(&l, "\ntwo\r");
  expect(&l, false, "one");
  expect_none(&l, false);
  expect(&l, true, "two");
}

/* A carriage return within a line is its own business. */
static void only_the_end_is_cut(void **state)
{
  RP_CLEANUP(rp__lines_done) struct rp__lines l;
  (void)state;
  rp__lines_init(&l, MAX);
  add(&l, " a\rb \r\r\n");
  expect(&l, false, " a\rb \r");
}

static void the_limit_is_of_one_line(void **state)
{
  RP_CLEANUP(rp__lines_done) struct rp__lines l;
  char half[61];
  (void)state;
  memset(half, 'x', 60);
  half[60] = '\0';
  rp__lines_init(&l, MAX);
  for (int i = 0; i < 1000; i++) {
    add(&l, "y\n");
    expect(&l, false, "y");
    /* The line taken lies before less than its own length: it must make room all the same. */
    add(&l, "0123456789012345678901234567890123456789012345678\n");
    expect(&l, false, "0123456789012345678901234567890123456789012345678");
    add(&l, half);
    add(&l, "\n");
    expect(&l, false, half);
  }
}

static void a_taken_line_makes_room_for_the_next(void **state)
{
  RP_CLEANUP(rp__lines_done) struct rp__lines l;
  (void)state;
  rp__lines_init(&l, MAX);
  add(&l, "0123456789\nabcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz");
  expect(&l, false, "0123456789");
  add(&l, "0123456789012\n");
  expect(&l, false, "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz0123456789012");
}

static void what_is_too_long_is_told_and_skipped(void **state)
{
  RP_CLEANUP(rp__lines_done) struct rp__lines l;
  char big[90], rest[] = "zzz\nnext\nlast";
  rp_error err = {0};
  (void)state;
  memset(big, 'x', sizeof(big));
  rp__lines_init(&l, MAX);
  assert_int_equal(rp__lines_add(&l, big, sizeof(big), &err), 0);
  expect_none(&l, false);
  assert_int_equal(rp__lines_add(&l, big, sizeof(big), &err), RP_E_TOO_LARGE);
  assert_non_null(strstr(err.message, "100"));
  rp__lines_skip(&l);
  for (int i = 0; i < 100; i++) { /* far more than fits, none of it kept */
    assert_int_equal(rp__lines_add(&l, big, sizeof(big), &err), 0);
    expect_none(&l, false);
  }
  add(&l, rest);
  expect(&l, false, "next");
  expect(&l, true, "last");
}

static void a_skipped_line_may_be_the_last(void **state)
{
  RP_CLEANUP(rp__lines_done) struct rp__lines l;
  (void)state;
  rp__lines_init(&l, MAX);
  add(&l, "begun");
  rp__lines_skip(&l);
  add(&l, "the rest of it");
  expect_none(&l, true);
}

static void a_long_lines_memory_is_given_back(void **state)
{
  RP_CLEANUP(rp__lines_done) struct rp__lines l;
  rp_error err = {0};
  struct rp__str line;
  size_t n = RP_LINE_KEEP * 4;
  (void)state;
  rp__lines_init(&l, RP_LINE_MAX);
  char *room = rp__lines_room(&l, n, &err);
  assert_non_null(room);
  memset(room, 'x', n);
  room[n - 1] = '\n';
  rp__lines_added(&l, n);
  assert_true(rp__lines_next(&l, false, &line));
  assert_int_equal(line.n, n - 1);
  add(&l, "short\n");
  assert_true(l.buf.cap <= RP_LINE_KEEP);
  expect(&l, false, "short");
}

/* However the bytes are cut, the lines are the same. */
static void pieces_do_not_matter(void **state)
{
  static const char text[] = "one\n\r\n two\r\nthree\n\n\nfour five six seven eight nine ten\nno end";
  static const char *const lines[] = {"one", " two", "three", "four five six seven eight nine ten", "no end"};
  struct dice d = dice_new();
  (void)state;
  for (int round = 0; round < 500; round++) {
    RP_CLEANUP(rp__lines_done) struct rp__lines l;
    struct rp__str line;
    rp_error err = {0};
    size_t got = 0;
    rp__lines_init(&l, MAX);
    for (size_t at = 0, n; at < sizeof(text) - 1; at += n) {
      n = (size_t)dice_below(&d, 20) + 1;
      n = RP_MIN(n, sizeof(text) - 1 - at);
      assert_int_equal(rp__lines_add(&l, text + at, n, &err), 0);
      bool last = at + n == sizeof(text) - 1;
      while (rp__lines_next(&l, last, &line)) {
        assert_true(got < RP_ARRAY_SIZE(lines));
        assert_int_equal(line.n, strlen(lines[got]));
        assert_memory_equal(line.p, lines[got], line.n);
        got++;
      }
    }
    assert_int_equal(got, RP_ARRAY_SIZE(lines));
  }
}

/* Whoever passes lines on wants all of them, and all of each. */
static void as_they_came(void **state)
{
  RP_CLEANUP(rp__lines_done) struct rp__lines l;
  static const char *const lines[] = {"{}\r", "", " \r", "{}", "\r"};
  (void)state;
  rp__lines_init(&l, MAX);
  l.whole = true;
  add(&l, "{}\r\n\n \r\n{}\n\r");
  for (size_t i = 0; i < RP_ARRAY_SIZE(lines); i++) expect(&l, true, lines[i]);
  expect_none(&l, true);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ends_are_lf_or_crlf_and_blanks_are_no_lines),
      cmocka_unit_test(a_line_comes_when_its_end_does),
      cmocka_unit_test(only_the_end_is_cut),
      cmocka_unit_test(the_limit_is_of_one_line),
      cmocka_unit_test(a_taken_line_makes_room_for_the_next),
      cmocka_unit_test(what_is_too_long_is_told_and_skipped),
      cmocka_unit_test(a_skipped_line_may_be_the_last),
      cmocka_unit_test(a_long_lines_memory_is_given_back),
      cmocka_unit_test(pieces_do_not_matter),
      cmocka_unit_test(as_they_came),
  };
  return cmocka_run_group_tests_name("bridge line", tests, NULL, NULL);
}
