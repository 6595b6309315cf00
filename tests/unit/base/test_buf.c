/* SPDX-License-Identifier: Apache-2.0 */
/* The growing buffer. */
#include "scratch.h"

#include "base/buf.h"

static void appends_in_every_way(void **state)
{
  (void)state;
  RP_AUTOBUF struct rp__buf b = RP_BUF(1000);
  rp__buf_str(&b, "one");
  rp__buf_char(&b, ' ');
  rp__buf_add(&b, "two!", 3);
  rp__buf_printf(&b, " %d%s", 3, "");
  char *p = rp__buf_room(&b, 2);
  assert_non_null(p);
  memcpy(p, " 4", 2);
  b.n += 2;
  assert_string_equal(b.p, "one two 3 4");
  assert_int_equal(b.n, 11);
  assert_int_equal(b.err, 0);
}

static void keeps_bytes_that_are_no_text(void **state)
{
  (void)state;
  RP_AUTOBUF struct rp__buf b = RP_BUF(1000);
  rp__buf_add(&b, "a\0b", 3);
  rp__buf_add(&b, NULL, 0);
  assert_int_equal(b.n, 3);
  assert_memory_equal(b.p, "a\0b", 4);
}

/* A million single bytes must not be a million reallocations: the capacity at least doubles. */
static void grows_geometrically(void **state)
{
  (void)state;
  RP_AUTOBUF struct rp__buf b = RP_BUF(2000000);
  size_t moves = 0;
  for (size_t i = 0, cap = 0; i < 1000000; i++) {
    rp__buf_char(&b, (char)('a' + i % 26));
    if (b.cap != cap) moves++;
    cap = b.cap;
  }
  assert_true(moves < 20);
  for (size_t i = 0; i < 1000000; i++)
    if (b.p[i] != (char)('a' + i % 26)) fail();
}

static void the_maximum_counts_bytes_without_the_nul(void **state)
{
  (void)state;
  for (size_t max = 0; max < 200; max++) {
    RP_AUTOBUF struct rp__buf b = RP_BUF(max);
    for (size_t i = 0; i < max; i++) rp__buf_char(&b, 'x');
    assert_int_equal(b.err, 0);
    assert_int_equal(b.n, max);
    assert_true(b.cap <= max + 1);
    rp__buf_char(&b, 'x');
    assert_int_equal(b.err, RP_E_TOO_LARGE);
    assert_int_equal(b.n, max);
  }
}

static void the_first_error_sticks_until_reset(void **state)
{
  (void)state;
  RP_AUTOBUF struct rp__buf b = RP_BUF(4);
  rp__buf_str(&b, "abc");
  rp__buf_str(&b, "de");
  assert_int_equal(b.err, RP_E_TOO_LARGE);
  rp__buf_char(&b, 'd');
  rp__buf_printf(&b, "d");
  assert_null(rp__buf_room(&b, 1));
  assert_null(rp__buf_take(&b));
  assert_int_equal(b.n, 3);
  assert_string_equal(b.p, "abc");
  rp__buf_reset(&b);
  assert_int_equal(b.err, 0);
  rp__buf_str(&b, "wxyz");
  assert_string_equal(b.p, "wxyz");
}

static void printf_beyond_the_maximum_leaves_nothing_behind(void **state)
{
  (void)state;
  RP_AUTOBUF struct rp__buf b = RP_BUF(6);
  rp__buf_str(&b, "abc");
  rp__buf_printf(&b, "%s", "defg");
  assert_int_equal(b.err, RP_E_TOO_LARGE);
  assert_string_equal(b.p, "abc");
  rp__buf_reset(&b);
  rp__buf_printf(&b, "%06d", 42);
  assert_int_equal(b.err, 0);
  assert_string_equal(b.p, "000042");
}

static void printf_of_any_length(void **state)
{
  (void)state;
  RP_AUTOBUF struct rp__buf b = RP_BUF(100000);
  for (int width = 1; width < 300; width++) {
    rp__buf_reset(&b);
    rp__buf_done(&b);
    rp__buf_printf(&b, "%*d|%s", width, 1, "end");
    assert_int_equal(b.n, width + 4);
    assert_string_equal(b.p + width, "|end");
  }
}

static void sizes_near_the_end_of_size_t_are_refused(void **state)
{
  (void)state;
  RP_AUTOBUF struct rp__buf b = RP_BUF(SIZE_MAX);
  rp__buf_char(&b, 'a');
  assert_null(rp__buf_room(&b, SIZE_MAX - 1));
  assert_int_equal(b.err, RP_E_TOO_LARGE);
  rp__buf_reset(&b);
  rp__buf_char(&b, 'a');
  assert_null(rp__buf_room(&b, SIZE_MAX));
  assert_int_equal(b.err, RP_E_TOO_LARGE);
}

static void take_gives_the_bytes_away(void **state)
{
  (void)state;
  RP_AUTOBUF struct rp__buf b = RP_BUF(10);
  rp__buf_str(&b, "abc");
  RP_AUTOFREE char *p = rp__buf_take(&b);
  assert_string_equal(p, "abc");
  assert_null(b.p);
  assert_int_equal(b.n, 0);
  RP_AUTOFREE char *empty = rp__buf_take(&b);
  assert_string_equal(empty, "");
  rp__buf_str(&b, "0123456789");
  assert_int_equal(b.err, 0);
}

static void done_can_be_repeated_and_used_after(void **state)
{
  (void)state;
  struct rp__buf b = RP_BUF(3);
  rp__buf_str(&b, "abcd");
  rp__buf_done(&b);
  rp__buf_done(&b);
  rp__buf_str(&b, "abc");
  assert_string_equal(b.p, "abc");
  rp__buf_done(&b);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(appends_in_every_way),
      cmocka_unit_test(keeps_bytes_that_are_no_text),
      cmocka_unit_test(grows_geometrically),
      cmocka_unit_test(the_maximum_counts_bytes_without_the_nul),
      cmocka_unit_test(the_first_error_sticks_until_reset),
      cmocka_unit_test(printf_beyond_the_maximum_leaves_nothing_behind),
      cmocka_unit_test(printf_of_any_length),
      cmocka_unit_test(sizes_near_the_end_of_size_t_are_refused),
      cmocka_unit_test(take_gives_the_bytes_away),
      cmocka_unit_test(done_can_be_repeated_and_used_after),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
