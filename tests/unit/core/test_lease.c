/* SPDX-License-Identifier: Apache-2.0 */
/* The evidence of how a run ended, the time away, the kind of restart. */
#include "core_test.h"

#include <math.h>

#include "core/liveness.h"

#define TTL 30000
#define NOW 1800000000000

/* Runs of this boot whose last heartbeat is 5 s old on both clocks; each row says what differs. */
#define EVIDENCE(...)                                                                                                  \
  {                                                                                                                    \
    .same_boot = true, .boot_known = true, .heartbeat_ms = NOW - 5000, .now_ms = NOW, .heartbeat_boot_ms = 1000000,    \
    .now_boot_ms = 1005000, .ttl_ms = TTL, __VA_ARGS__                                                                 \
  }
#define OTHER_BOOT .same_boot = false
#define NO_BOOT .same_boot = false, .boot_known = false, .heartbeat_boot_ms = 0, .now_boot_ms = 0

struct row {
  struct rp__evidence e;
  bool alive, provable;
  enum rp__cause cause;
  const char *says;
};

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverride-init"
#ifdef __clang__
#pragma clang diagnostic ignored "-Winitializer-overrides"
#endif
/* B-03, B-05. */
static const struct row rows[] = {
    /* a lock is a proof, both ways */
    {EVIDENCE(.owner = RP_RUN_LOCK, .lock_held = true), true, true, RP_CAUSE_NONE, "pid 4711 holds its lock"},
    {EVIDENCE(.owner = RP_RUN_LOCK, .lock_held = true, .proc = RP_PROC_UNKNOWN), true, true, RP_CAUSE_NONE, "holds"},
    {EVIDENCE(.owner = RP_RUN_LOCK, .lock_held = true, .heartbeat_boot_ms = 1), true, true, RP_CAUSE_NONE, "holds"},
    {EVIDENCE(.owner = RP_RUN_LOCK), false, true, RP_CAUSE_CRASH, "lock of pid 4711 is free"},
    {EVIDENCE(.owner = RP_RUN_LOCK, .proc = RP_PROC_UNKNOWN), false, true, RP_CAUSE_CRASH, "is free"},
    {EVIDENCE(.owner = RP_RUN_LOCK, NO_BOOT), false, true, RP_CAUSE_CRASH, "is free"},
    /* a forked child keeps the description: the process decides where it can be seen */
    {EVIDENCE(.owner = RP_RUN_LOCK, .lock_held = true, .proc = RP_PROC_DEAD), false, true, RP_CAUSE_CRASH, "a child"},
    {EVIDENCE(.owner = RP_RUN_LOCK, .lock_held = true, .proc = RP_PROC_DEAD, OTHER_BOOT), true, true, RP_CAUSE_NONE,
     "holds"},
    {EVIDENCE(.owner = RP_RUN_LOCK, .lock_held = true, .proc = RP_PROC_DEAD, NO_BOOT), true, true, RP_CAUSE_NONE,
     "holds"},
    /* another boot */
    {EVIDENCE(.owner = RP_RUN_LOCK, OTHER_BOOT), false, true, RP_CAUSE_REBOOT, "booted again"},
    {EVIDENCE(.owner = RP_RUN_LOCK, OTHER_BOOT, .shutdown = RP_SHUTDOWN_ORDERLY), false, true, RP_CAUSE_REBOOT,
     "orderly"},
    {EVIDENCE(.owner = RP_RUN_LOCK, OTHER_BOOT, .shutdown = RP_SHUTDOWN_POWER_LOSS), false, true, RP_CAUSE_POWER_LOSS,
     "without a shutdown record"},
    {EVIDENCE(.owner = RP_RUN_PID, OTHER_BOOT, .proc = RP_PROC_UNKNOWN), false, true, RP_CAUSE_REBOOT, "booted again"},
    {EVIDENCE(.owner = RP_RUN_PID, OTHER_BOOT, .shutdown = RP_SHUTDOWN_POWER_LOSS), false, true, RP_CAUSE_POWER_LOSS,
     "booted"},
    {EVIDENCE(.owner = RP_RUN_NONE, OTHER_BOOT), false, true, RP_CAUSE_REBOOT, "booted again"},
    {EVIDENCE(.owner = RP_RUN_NONE, OTHER_BOOT, .shutdown = RP_SHUTDOWN_POWER_LOSS), false, true, RP_CAUSE_POWER_LOSS,
     "booted"},
    /* a named process */
    {EVIDENCE(.owner = RP_RUN_PID, .proc = RP_PROC_ALIVE), true, true, RP_CAUSE_NONE, "pid 4711 is running"},
    {EVIDENCE(.owner = RP_RUN_PID, .proc = RP_PROC_ALIVE, .heartbeat_boot_ms = 1), true, true, RP_CAUSE_NONE,
     "running"},
    {EVIDENCE(.owner = RP_RUN_PID, .proc = RP_PROC_DEAD), false, true, RP_CAUSE_CRASH, "pid 4711 is gone"},
    {EVIDENCE(.owner = RP_RUN_PID, .proc = RP_PROC_UNKNOWN), true, false, RP_CAUSE_NONE, "a heartbeat 5 s ago"},
    {EVIDENCE(.owner = RP_RUN_PID, .proc = RP_PROC_UNKNOWN, .now_boot_ms = 1042000), false, false, RP_CAUSE_CRASH,
     "no heartbeat for 42 s"},
    /* nobody: time decides, on the boot clock where there is one */
    {EVIDENCE(.owner = RP_RUN_NONE), true, false, RP_CAUSE_NONE, "5 s ago"},
    {EVIDENCE(.owner = RP_RUN_NONE, .now_boot_ms = 1029999), true, false, RP_CAUSE_NONE, "29 s ago"},
    {EVIDENCE(.owner = RP_RUN_NONE, .now_boot_ms = 1030000), false, false, RP_CAUSE_CRASH, "for 30 s"},
    {EVIDENCE(.owner = RP_RUN_NONE, .now_ms = NOW + 31536000000), true, false, RP_CAUSE_NONE, "5 s ago"},
    {EVIDENCE(.owner = RP_RUN_NONE, .now_ms = NOW - 31536000000), true, false, RP_CAUSE_NONE, "5 s ago"},
    {EVIDENCE(.owner = RP_RUN_NONE, NO_BOOT), true, false, RP_CAUSE_NONE, "5 s ago"},
    {EVIDENCE(.owner = RP_RUN_NONE, NO_BOOT, .now_ms = NOW + 24999), true, false, RP_CAUSE_NONE, "29 s ago"},
    {EVIDENCE(.owner = RP_RUN_NONE, NO_BOOT, .now_ms = NOW + 25000), false, false, RP_CAUSE_CRASH, "for 30 s"},
    {EVIDENCE(.owner = RP_RUN_NONE, .heartbeat_boot_ms = 0, .now_ms = NOW + 25000), false, false, RP_CAUSE_CRASH, "30"},
    /* a clock that went back: a little is drift, more is a jump */
    {EVIDENCE(.owner = RP_RUN_NONE, NO_BOOT, .now_ms = NOW - 65000), true, false, RP_CAUSE_NONE, "0 s ago"},
    {EVIDENCE(.owner = RP_RUN_NONE, NO_BOOT, .now_ms = NOW - 65001), false, false, RP_CAUSE_CLOCK_JUMP,
     "in the future"},
    {EVIDENCE(.owner = RP_RUN_PID, .proc = RP_PROC_UNKNOWN, NO_BOOT, .now_ms = NOW - 31536000000), false, false,
     RP_CAUSE_CLOCK_JUMP, "in the future"},
    /* a boot clock that ran backwards is none */
    {EVIDENCE(.owner = RP_RUN_NONE, .now_boot_ms = 5), true, false, RP_CAUSE_NONE, "5 s ago"},
    /* stored times may be anything */
    {EVIDENCE(.owner = RP_RUN_NONE, NO_BOOT, .heartbeat_ms = INT64_MIN), false, false, RP_CAUSE_CRASH, "no heartbeat"},
    {EVIDENCE(.owner = RP_RUN_NONE, NO_BOOT, .heartbeat_ms = INT64_MAX, .now_ms = INT64_MIN), false, false,
     RP_CAUSE_CLOCK_JUMP, "in the future"},
};

static void every_kind_of_evidence(void **state)
{
  (void)state;
  for (size_t i = 0; i < RP_ARRAY_SIZE(rows); i++) {
    struct rp__verdict v;
    rp__lease_judge(&rows[i].e, 4711, &v);
    if (v.alive != rows[i].alive || v.provable != rows[i].provable || v.cause != rows[i].cause ||
        !strstr(v.evidence, rows[i].says))
      fail_msg("row %zu: alive %d provable %d cause %d \"%s\"", i, v.alive, v.provable, v.cause, v.evidence);
  }
}

/* No evidence of this kind ever says that somebody was killed. */
static void killed_comes_from_reasons_alone(void **state)
{
  (void)state;
  for (size_t i = 0; i < RP_ARRAY_SIZE(rows); i++) {
    struct rp__verdict v;
    rp__lease_judge(&rows[i].e, 4711, &v);
    assert_int_not_equal(v.cause, RP_CAUSE_KILLED);
  }
  assert_int_equal(rp__cause_of_reason("killed"), RP_CAUSE_KILLED);
  assert_int_equal(rp__cause_of_reason("killed:9"), RP_CAUSE_KILLED);
  assert_int_equal(rp__cause_of_reason("killed:SIGTERM"), RP_CAUSE_KILLED);
  assert_int_equal(rp__cause_of_reason("upgrade"), RP_CAUSE_UPGRADE);
  assert_int_equal(rp__cause_of_reason("killedness"), RP_CAUSE_CLEAN);
  assert_int_equal(rp__cause_of_reason("done for today"), RP_CAUSE_CLEAN);
  assert_int_equal(rp__cause_of_reason(NULL), RP_CAUSE_CLEAN);
}

static void assert_seconds(double got, double want)
{
  if (got < want - 1e-9 || got > want + 1e-9) fail_msg("%f, not %f", got, want);
}

/* N-03: a clock that went back counts as 0; within one boot the boot clock corrects a jump. */
static void time_away(void **state)
{
  (void)state;
  const struct rp__evidence plain = EVIDENCE(.owner = RP_RUN_NONE), back = EVIDENCE(NO_BOOT, .now_ms = NOW - 9000),
                            drift = EVIDENCE(.now_ms = NOW + 55000), ahead = EVIDENCE(.now_ms = NOW + 60001),
                            far_back = EVIDENCE(.now_ms = NOW - 31536000000),
                            other = EVIDENCE(OTHER_BOOT, .now_ms = NOW + 600000),
                            wild = EVIDENCE(NO_BOOT, .heartbeat_ms = INT64_MAX, .now_ms = INT64_MIN);
  assert_seconds(rp__elapsed_seconds(&plain), 5);
  assert_seconds(rp__elapsed_seconds(&back), 0);
  assert_seconds(rp__elapsed_seconds(&drift), 60);
  assert_seconds(rp__elapsed_seconds(&ahead), 5);
  assert_seconds(rp__elapsed_seconds(&far_back), 5);
  assert_seconds(rp__elapsed_seconds(&other), 605);
  assert_seconds(rp__elapsed_seconds(&wild), 0);
}
#pragma GCC diagnostic pop

/* N-03's numbers. */
static void types_of_restart(void **state)
{
  (void)state;
  const struct {
    bool any, clean;
    double elapsed;
    const char *type;
  } cases[] = {
      {false, false, 5, "fresh_start"},
      {false, true, 99999, "fresh_start"},
      {true, false, 0, "crash_recovery"},
      {true, false, 29.9, "crash_recovery"},
      {true, false, 30, "short_break"},
      {true, false, 3599, "short_break"},
      {true, false, 3600, "long_absence"},
      {true, true, 0, "short_break"},
      {true, true, 29.9, "short_break"},
      {true, true, 3599.9, "short_break"},
      {true, true, 3600, "long_absence"},
      {true, true, 1e12, "long_absence"},
      {true, false, -500, "crash_recovery"},
      {true, true, -500, "short_break"},
      {true, false, (double)NAN, "crash_recovery"},
  };
  for (size_t i = 0; i < RP_ARRAY_SIZE(cases); i++) {
    enum rp__restart r = rp__restart_classify(cases[i].any, cases[i].clean, cases[i].elapsed, 30, 3600);
    assert_string_equal(rp__restart_name(r), cases[i].type);
  }
}

static void names_read_back(void **state)
{
  (void)state;
  assert_null(rp__cause_name(RP_CAUSE_NONE));
  assert_int_equal(rp__cause_parse(NULL), RP_CAUSE_NONE);
  assert_int_equal(rp__cause_parse("meteor"), RP_CAUSE_NONE);
  for (int c = RP_CAUSE_NONE + 1; c < RP_CAUSE_MAX; c++)
    assert_int_equal(rp__cause_parse(rp__cause_name((enum rp__cause)c)), c);
  for (int o = 0; o < RP_RUN_OWNER_MAX; o++) assert_int_equal(rp__owner_parse(rp__owner_name((enum rp__owner)o)), o);
  assert_int_equal(rp__owner_parse("nobody"), RP_RUN_NONE);
  for (int r = 0; r < RP_RESTART_NONE; r++)
    assert_int_equal(rp__restart_parse(rp__restart_name((enum rp__restart)r)), r);
  assert_null(rp__restart_name(RP_RESTART_NONE));
  assert_int_equal(rp__restart_parse(NULL), RP_RESTART_NONE);
  assert_int_equal(rp__restart_parse("holiday"), RP_RESTART_NONE);
  assert_int_equal(rp__owner_parse(NULL), RP_RUN_NONE);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_kind_of_evidence),
      cmocka_unit_test(killed_comes_from_reasons_alone),
      cmocka_unit_test(time_away),
      cmocka_unit_test(types_of_restart),
      cmocka_unit_test(names_read_back),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
