/* SPDX-License-Identifier: Apache-2.0 */
/* B-03: a reboot in good order told from a power loss, by wtmp files written here. */
#include "scratch.h"

#include <utmpx.h>

#include "base/process/proc.h"

#define SINCE 1000000000LL

struct record {
  short type;
  const char *user;
  int64_t at_ms;
};

static enum rp__shutdown judge(void **state, const struct record *records, size_t n, size_t cut)
{
  RP_AUTOFREE char *path = rp__path_join(*state, "wtmp");
  RP_AUTOBUF struct rp__buf b = RP_BUF(1 << 20);
  for (size_t i = 0; i < n; i++) {
    struct utmpx u = {.ut_type = records[i].type};
    memcpy(u.ut_user, records[i].user, strlen(records[i].user));
    u.ut_tv.tv_sec = (int32_t)(records[i].at_ms / 1000);
    u.ut_tv.tv_usec = (int32_t)(records[i].at_ms % 1000 * 1000);
    rp__buf_add(&b, &u, sizeof u);
  }
  assert_int_equal(b.err, 0);
  assert_int_equal(rp__file_write(path, b.p, b.n - cut, NULL), 0);
  return rp__shutdown_kind(path, SINCE);
}

#define JUDGE(...)                                                                                                     \
  judge(state, (const struct record[]){__VA_ARGS__},                                                                   \
        sizeof((const struct record[]){__VA_ARGS__}) / sizeof(struct record), 0)

#define BOOT(at)                                                                                                       \
  {                                                                                                                    \
    BOOT_TIME, "reboot", SINCE + (at)                                                                                  \
  }
#define DOWN(at)                                                                                                       \
  {                                                                                                                    \
    RUN_LVL, "shutdown", SINCE + (at)                                                                                  \
  }
#define LEVEL(at)                                                                                                      \
  {                                                                                                                    \
    RUN_LVL, "runlevel", SINCE + (at)                                                                                  \
  }
#define LOGIN(at)                                                                                                      \
  {                                                                                                                    \
    USER_PROCESS, "shutdown", SINCE + (at)                                                                             \
  }

static void shutdown_before_boot_is_orderly(void **state)
{
  assert_int_equal(JUDGE(BOOT(-9000), LOGIN(-500), DOWN(10), BOOT(5000)), RP_SHUTDOWN_ORDERLY);
  assert_int_equal(JUDGE(DOWN(0), BOOT(1)), RP_SHUTDOWN_ORDERLY);
}

static void boot_without_shutdown_is_power_loss(void **state)
{
  assert_int_equal(JUDGE(BOOT(5000)), RP_SHUTDOWN_POWER_LOSS);
  assert_int_equal(JUDGE(DOWN(-1), BOOT(5000)), RP_SHUTDOWN_POWER_LOSS);
  assert_int_equal(JUDGE(BOOT(-9000), LEVEL(5), LOGIN(6), BOOT(5000)), RP_SHUTDOWN_POWER_LOSS);
}

/* The plug at night, an orderly reboot in the morning: the run died at night. */
static void the_first_boot_decides(void **state)
{
  assert_int_equal(JUDGE(BOOT(10), DOWN(20), BOOT(30)), RP_SHUTDOWN_POWER_LOSS);
  assert_int_equal(JUDGE(DOWN(10), BOOT(20), BOOT(30)), RP_SHUTDOWN_ORDERLY);
}

static void no_boot_since_is_unknown(void **state)
{
  assert_int_equal(JUDGE(DOWN(-10), BOOT(-5), LOGIN(3)), RP_SHUTDOWN_UNKNOWN);
  assert_int_equal(JUDGE(BOOT(-5), DOWN(10)), RP_SHUTDOWN_UNKNOWN);
}

static void no_record_is_unknown(void **state)
{
  RP_AUTOFREE char *none = rp__path_join(*state, "none");
  assert_int_equal(rp__shutdown_kind(none, SINCE), RP_SHUTDOWN_UNKNOWN);
  assert_int_equal(rp__shutdown_kind(*state, SINCE), RP_SHUTDOWN_UNKNOWN);
  assert_int_equal(judge(state, NULL, 0, 0), RP_SHUTDOWN_UNKNOWN);
}

static void a_half_written_record_is_left_out(void **state)
{
  const struct record records[] = {DOWN(10), BOOT(20)};
  assert_int_equal(judge(state, records, 2, 0), RP_SHUTDOWN_ORDERLY);
  assert_int_equal(judge(state, records, 2, 1), RP_SHUTDOWN_UNKNOWN);
}

/* More records than one read takes, with the two that matter on either side of the seam. */
static void long_logs_are_read_to_the_end(void **state)
{
  struct record records[200];
  for (size_t at = 60; at < 70; at++) {
    for (size_t i = 0; i < RP_ARRAY_SIZE(records); i++) records[i] = (struct record)LOGIN((int64_t)i);
    records[at] = (struct record)DOWN(1);
    records[at + 1] = (struct record)BOOT(2);
    assert_int_equal(judge(state, records, RP_ARRAY_SIZE(records), 0), RP_SHUTDOWN_ORDERLY);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      scratch_test(shutdown_before_boot_is_orderly),
      scratch_test(boot_without_shutdown_is_power_loss),
      scratch_test(the_first_boot_decides),
      scratch_test(no_boot_since_is_unknown),
      scratch_test(no_record_is_unknown),
      scratch_test(a_half_written_record_is_left_out),
      scratch_test(long_logs_are_read_to_the_end),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
