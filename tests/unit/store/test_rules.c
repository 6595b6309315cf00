/* SPDX-License-Identifier: Apache-2.0 */
/* Checksums and names of the store's rules. */
#include "store_test.h"

/* The refusals themselves are in the conformance suite; here is what only the rules know. */

static void the_sum_covers_every_part(void **state)
{
  (void)state;
  uint64_t sum = rp__event_sum(1, 2, "kind", "body", 4);
  assert_true(sum == rp__event_sum(1, 2, "kind", "body", 4));
  assert_true(sum != rp__event_sum(3, 2, "kind", "body", 4));
  assert_true(sum != rp__event_sum(1, 3, "kind", "body", 4));
  assert_true(sum != rp__event_sum(1, 2, "kinb", "ody", 3));
  assert_true(sum != rp__event_sum(1, 2, "kind", "bodz", 4));
  assert_true(sum != rp__event_sum(1, 2, "kind", "body", 3));
  assert_true(sum != rp__event_sum(2, 1, "kind", "body", 4));
}

/* Stored in files: the value may never change. */
static void the_sum_is_the_same_for_ever(void **state)
{
  (void)state;
  assert_int_equal(rp__event_sum(7, NOW, "message", "{\"a\":1}", 7), UINT64_C(0x3955c27c010d8176));
}

static void names_are_cut(void **state)
{
  char name[RP_NAME], longer[RP_NAME + 10];
  (void)state;
  memset(longer, 'x', sizeof longer);
  longer[sizeof longer - 1] = '\0';
  rp__name_set(name, longer);
  assert_int_equal(strlen(name), RP_ID_MAX);
  rp__name_set(name, NULL);
  assert_string_equal(name, "");
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_sum_covers_every_part),
      cmocka_unit_test(the_sum_is_the_same_for_ever),
      cmocka_unit_test(names_are_cut),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
