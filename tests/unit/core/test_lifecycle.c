/* SPDX-License-Identifier: Apache-2.0 */
/* Every status of a session after every other. */
#include "core_test.h"

#include "core/lifecycle.h"

#define ENDED (-1)

/* L-05, row by row: event, quiet, checkpoint, resume by key, resume by id, close, abandon. */
static const int expected[RP_STATUS_MAX][RP_MOVE_MAX] = {
    [RP_STATUS_CREATED] = {RP_STATUS_ACTIVE, RP_STATUS_IDLE, RP_STATUS_CHECKPOINTED, RP_STATUS_ACTIVE, RP_STATUS_ACTIVE,
                           RP_STATUS_CLOSED, RP_STATUS_ABANDONED},
    [RP_STATUS_ACTIVE] = {RP_STATUS_ACTIVE, RP_STATUS_IDLE, RP_STATUS_CHECKPOINTED, RP_STATUS_ACTIVE, RP_STATUS_ACTIVE,
                          RP_STATUS_CLOSED, RP_STATUS_ABANDONED},
    [RP_STATUS_IDLE] = {RP_STATUS_ACTIVE, RP_STATUS_IDLE, RP_STATUS_CHECKPOINTED, RP_STATUS_ACTIVE, RP_STATUS_ACTIVE,
                        RP_STATUS_CLOSED, RP_STATUS_ABANDONED},
    [RP_STATUS_CHECKPOINTED] = {RP_STATUS_ACTIVE, RP_STATUS_IDLE, RP_STATUS_CHECKPOINTED, RP_STATUS_ACTIVE,
                                RP_STATUS_ACTIVE, RP_STATUS_CLOSED, RP_STATUS_ABANDONED},
    [RP_STATUS_CLOSED] = {ENDED, ENDED, ENDED, ENDED, RP_STATUS_ACTIVE, ENDED, ENDED},
    [RP_STATUS_ABANDONED] = {ENDED, ENDED, ENDED, ENDED, RP_STATUS_ACTIVE, ENDED, ENDED},
};

static void every_move_from_every_status(void **state)
{
  (void)state;
  for (int from = 0; from < RP_STATUS_MAX; from++) {
    for (int move = 0; move < RP_MOVE_MAX; move++) {
      enum rp__status to = RP_STATUS_MAX;
      rp_error err = {0};
      int rc = rp__status_move((enum rp__status)from, (enum rp__move)move, &to, &err);
      if (expected[from][move] == ENDED) {
        assert_int_equal(rc, RP_E_ENDED);
        assert_int_equal(err.code, RP_E_ENDED);
        assert_int_equal(to, RP_STATUS_MAX);
        assert_non_null(strstr(err.message, rp__status_name((enum rp__status)from)));
      } else {
        assert_int_equal(rc, 0);
        assert_int_equal(to, expected[from][move]);
      }
    }
  }
}

static void what_is_no_status_goes_nowhere(void **state)
{
  (void)state;
  enum rp__status to = RP_STATUS_IDLE;
  assert_int_equal(rp__status_move(RP_STATUS_MAX, RP_MOVE_EVENT, &to, NULL), RP_E_TRANSITION);
  assert_int_equal(rp__status_move(RP_STATUS_ACTIVE, RP_MOVE_MAX, &to, NULL), RP_E_TRANSITION);
  assert_int_equal(rp__status_move((enum rp__status) - 1, RP_MOVE_EVENT, &to, NULL), RP_E_TRANSITION);
  assert_int_equal(to, RP_STATUS_IDLE);
}

static void names_read_back(void **state)
{
  (void)state;
  for (int s = 0; s < RP_STATUS_MAX; s++) {
    const char *name = rp__status_name((enum rp__status)s);
    assert_int_equal(rp__status_parse(name, strlen(name)), s);
    assert_int_equal(rp__status_parse(name, strlen(name) - 1), RP_STATUS_MAX);
    assert_int_equal(rp__status_ended((enum rp__status)s), s == RP_STATUS_CLOSED || s == RP_STATUS_ABANDONED);
  }
  assert_int_equal(rp__status_parse("", 0), RP_STATUS_MAX);
  assert_int_equal(rp__status_parse("Active", 6), RP_STATUS_MAX);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_move_from_every_status),
      cmocka_unit_test(what_is_no_status_goes_nowhere),
      cmocka_unit_test(names_read_back),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
