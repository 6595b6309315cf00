/* SPDX-License-Identifier: Apache-2.0 */
/* The list of streams that are not over: what is noted, and how it is stored. */
#include "core_test.h"

#include "core/tails.h"

static void test_noted(void **state)
{
  struct rp__tails t = {0};
  (void)state;
  rp__tails_note(&t, 1, 10);
  rp__tails_note(&t, 2, 11);
  rp__tails_note(&t, 1, 12); /* speaks again: the newest */
  assert_int_equal(t.n, 2);
  assert_int_equal(t.at[0].voice, 2);
  assert_int_equal(t.at[1].seq, 12);
  rp__tails_note(&t, 3, 0); /* one that had no stream ends none */
  rp__tails_note(&t, 2, 0);
  assert_int_equal(t.n, 1);
  assert_int_equal(t.at[0].voice, 1);
}

static void test_stored(void **state)
{
  struct rp__tails t = {.number = 0x123456789abcdef}, back;
  unsigned char bytes[RP_TAILS_BYTES];
  (void)state;
  assert_int_equal(rp__tails_write(&(struct rp__tails){0}, bytes), 0);
  assert_true(rp__tails_read(NULL, 0, &back));
  assert_int_equal(back.n, 0);
  for (size_t i = 0; i < RP_TAILS_MAX; i++) rp__tails_note(&t, UINT64_MAX - i, (int64_t)i + 1);
  size_t n = rp__tails_write(&t, bytes);
  assert_int_equal(n, RP_TAILS_BYTES);
  assert_true(rp__tails_read(bytes, n, &back));
  assert_memory_equal(&back, &t, sizeof t);
  for (size_t cut = 1; cut < n; cut++) {
    bool ok = rp__tails_read(bytes, cut, &back);
    assert_int_equal(ok, cut >= 8 && (cut - 8) % 16 == 0);
  }
  memset(bytes + 8, 0, 8); /* no voice */
  assert_false(rp__tails_read(bytes, n, &back));
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_noted), cmocka_unit_test(test_stored)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
