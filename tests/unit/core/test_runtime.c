/* SPDX-License-Identifier: Apache-2.0 */
/* Every status of a runtime after every other. */
#include "core_test.h"

#include "core/runtime.h"

/* L-05, row by row: starting, idle, running, awaiting_approval, awaiting_answer, reconnecting, error, terminated. */
static const char *const expected[RP_RUNTIME_NONE + 1] = {
    [RP_RUNTIME_STARTING] = "11111111",
    [RP_RUNTIME_IDLE] = "01111111",
    [RP_RUNTIME_RUNNING] = "01111111",
    [RP_RUNTIME_AWAITING_APPROVAL] = "01111111",
    [RP_RUNTIME_AWAITING_ANSWER] = "01111111",
    [RP_RUNTIME_RECONNECTING] = "11111111",
    [RP_RUNTIME_ERROR] = "11100011",
    [RP_RUNTIME_TERMINATED] = "10000001", /* C-01 */
    [RP_RUNTIME_NONE] = "11111111",
};

static void every_status_after_every_status(void **state)
{
  (void)state;
  for (int from = 0; from <= RP_RUNTIME_NONE; from++)
    for (int to = 0; to < RP_RUNTIME_NONE; to++)
      assert_int_equal(rp__runtime_may((enum rp__runtime)from, (enum rp__runtime)to), expected[from][to] == '1');
}

static void what_is_no_status_goes_nowhere(void **state)
{
  (void)state;
  assert_false(rp__runtime_may(RP_RUNTIME_IDLE, RP_RUNTIME_NONE));
  assert_false(rp__runtime_may(RP_RUNTIME_NONE, RP_RUNTIME_NONE));
  assert_false(rp__runtime_may((enum rp__runtime) - 1, RP_RUNTIME_IDLE));
  assert_false(rp__runtime_may(RP_RUNTIME_IDLE, (enum rp__runtime)99));
}

static void names_read_back(void **state)
{
  (void)state;
  for (int s = 0; s < RP_RUNTIME_NONE; s++) {
    const char *name = rp__runtime_name((enum rp__runtime)s);
    assert_int_equal(rp__runtime_parse(name, strlen(name)), s);
    assert_int_equal(rp__runtime_parse(name, strlen(name) - 1), RP_RUNTIME_NONE);
  }
  assert_null(rp__runtime_name(RP_RUNTIME_NONE));
  assert_int_equal(rp__runtime_parse("", 0), RP_RUNTIME_NONE);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_status_after_every_status),
      cmocka_unit_test(what_is_no_status_goes_nowhere),
      cmocka_unit_test(names_read_back),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
