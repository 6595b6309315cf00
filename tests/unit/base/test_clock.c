/* SPDX-License-Identifier: Apache-2.0 */
/* Times as text, both ways, and moments people write. */
#include "scratch.h"

#include "base/clock.h"

#define FIRST_MS (-62167219200000LL) /* 0000-01-01T00:00:00.000Z */
#define LAST_MS 253402300799999LL    /* 9999-12-31T23:59:59.999Z */

static const struct {
  int64_t ms;
  const char *text;
} known[] = {
    {0, "1970-01-01T00:00:00.000Z"},
    {-1, "1969-12-31T23:59:59.999Z"},
    {951782400000, "2000-02-29T00:00:00.000Z"},
    {1794790148123, "2026-11-16T00:49:08.123Z"},
    {4107542399999, "2100-02-28T23:59:59.999Z"},
    {4107542400000, "2100-03-01T00:00:00.000Z"},
    {2147483648000, "2038-01-19T03:14:08.000Z"},
    {FIRST_MS, "0000-01-01T00:00:00.000Z"},
    {LAST_MS, "9999-12-31T23:59:59.999Z"},
};

static int parse(const char *s, int64_t *ret)
{
  return rp__time_parse(s, strlen(s), ret);
}

static void known_times_both_ways(void **state)
{
  (void)state;
  char text[RP_TIME_TEXT];
  for (size_t i = 0; i < RP_ARRAY_SIZE(known); i++) {
    int64_t ms = 1;
    assert_string_equal(rp__time_format(known[i].ms, text), known[i].text);
    assert_int_equal(parse(known[i].text, &ms), 0);
    assert_int_equal(ms, known[i].ms);
  }
}

/* The C library's calendar is the oracle, at random moments and around each turn of a year. */
static void check_moment(int64_t ms)
{
  char text[RP_TIME_TEXT], want[64];
  struct tm tm;
  int64_t back;
  int rest = (int)(((ms % 1000) + 1000) % 1000);
  time_t s = (ms - rest) / 1000;
  assert_non_null(gmtime_r(&s, &tm));
  snprintf(want, sizeof want, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday,
           tm.tm_hour, tm.tm_min, tm.tm_sec, rest);
  assert_string_equal(rp__time_format(ms, text), want);
  assert_int_equal(parse(text, &back), 0);
  assert_int_equal(back, ms);
}

static void round_trip_at_random(void **state)
{
  (void)state;
  uint64_t x = 88172645463325252ULL;
  for (int i = 0; i < 200000; i++) {
    x ^= x << 13, x ^= x >> 7, x ^= x << 17;
    check_moment(FIRST_MS + (int64_t)(x % (uint64_t)(LAST_MS - FIRST_MS + 1)));
  }
}

static void round_trip_around_every_day_of_some_centuries(void **state)
{
  (void)state;
  for (int64_t day = -146097; day < 146097; day++) {
    check_moment(day * 86400000);
    check_moment(day * 86400000 - 1);
  }
}

static void beyond_four_digits_is_clamped(void **state)
{
  (void)state;
  char text[RP_TIME_TEXT];
  assert_string_equal(rp__time_format(LAST_MS + 1, text), known[8].text);
  assert_string_equal(rp__time_format(INT64_MAX, text), known[8].text);
  assert_string_equal(rp__time_format(FIRST_MS - 1, text), known[7].text);
  assert_string_equal(rp__time_format(INT64_MIN, text), known[7].text);
}

static void forms_that_are_accepted(void **state)
{
  (void)state;
  static const struct {
    const char *text, *same_as;
  } rows[] = {
      {"2026-11-16", "2026-11-16T00:00:00.000Z"},
      {"2026-11-16T10:20", "2026-11-16T10:20:00.000Z"},
      {"2026-11-16T10:20Z", "2026-11-16T10:20:00.000Z"},
      {"2026-11-16T10:20:30", "2026-11-16T10:20:30.000Z"},
      {"2026-11-16T10:20:30.5Z", "2026-11-16T10:20:30.500Z"},
      {"2026-11-16T10:20:30.1239999999999Z", "2026-11-16T10:20:30.123Z"},
      {"2026-11-16T10:20:30+02:00", "2026-11-16T08:20:30.000Z"},
      {"2026-11-16T10:20-09:30", "2026-11-16T19:50:00.000Z"},
      {"2026-12-31T23:59:59.999-00:01", "2027-01-01T00:00:59.999Z"},
      {"2024-02-29T00:00:00-00:00", "2024-02-29T00:00:00.000Z"},
  };
  char text[RP_TIME_TEXT];
  for (size_t i = 0; i < RP_ARRAY_SIZE(rows); i++) {
    int64_t ms;
    assert_int_equal(parse(rows[i].text, &ms), 0);
    assert_string_equal(rp__time_format(ms, text), rows[i].same_as);
  }
}

static void forms_that_are_refused(void **state)
{
  (void)state;
  static const char *const rows[] = {
      "",
      "2026",
      "2026-11",
      "2026-11-1",
      "26-11-16",
      "2026-02-30",
      "2026-02-29",
      "1900-02-29",
      "2026-04-31",
      "2026-13-01",
      "2026-00-01",
      "2026-01-00",
      "2026-01-32",
      "2026-11-16T",
      "2026-11-16T25:00",
      "2026-11-16T24:00",
      "2026-11-16T10",
      "2026-11-16T10:60",
      "2026-11-16T10:20:60",
      "2026-11-16T10:20:30.",
      "2026-11-16T10:20:30.Z",
      "2026-11-16T10:20:",
      "2026-11-16T10:20:30ZZ",
      "2026-11-16T10:20:30Z ",
      " 2026-11-16",
      "2026-11-16Z",
      "2026-11-16 10:20:30",
      "2026-11-16t10:20:30z",
      "2026-11-16T10:20:30+24:00",
      "2026-11-16T10:20:30+02:60",
      "2026-11-16T10:20:30+0200",
      "2026-11-16T10:20:30+02",
      "2026-11-16T10:20:30*02:00",
      "2026-11-16T1 :20:30",
      "2026-11-16T+1:20:30",
      "-026-11-16",
      "2026/11/16",
      "20261116",
      "1794790148",
      "now",
      "0000-01-01T00:00+00:01",
      "9999-12-31T23:59:59-00:01",
      "2026-11-16T10:20.5",
  };
  for (size_t i = 0; i < RP_ARRAY_SIZE(rows); i++) {
    int64_t ms = 77;
    if (parse(rows[i], &ms) != RP_E_USAGE) fail_msg("accepted: %s", rows[i]);
    assert_int_equal(ms, 77);
  }
}

/* The text need not end where the stretch ends, and a NUL inside is no end. */
static void parse_reads_just_the_stretch(void **state)
{
  (void)state;
  int64_t ms;
  assert_int_equal(rp__time_parse("2026-11-16T99", 10, &ms), 0);
  assert_int_equal(rp__time_parse("2026-11-16\0T", 12, &ms), RP_E_USAGE);
  static const char text[] = "2026-11-16T10:20:30.123+02:00";
  for (size_t n = 0; n < sizeof text - 1; n++) {
    RP_AUTOFREE char *exact = malloc(n + 1);
    memcpy(exact, text, n);
    exact = realloc(exact, n ? n : 1);
    int r = rp__time_parse(exact, n, &ms);
    bool whole = n == 10 || n == 16 || n == 19 || (n >= 21 && n <= 23);
    assert_int_equal(r, whole ? 0 : RP_E_USAGE);
  }
}

static void durations(void **state)
{
  (void)state;
  static const struct {
    const char *text;
    int64_t ms;
  } rows[] = {{"30s", 30000},    {"15m", 900000}, {"2h", 7200000},
              {"7d", 604800000}, {"500ms", 500},  {"90", 90000},
              {"0", 0},          {"007s", 7000},  {"9223372036854775807ms", INT64_MAX}};
  static const char *const bad[] = {"",
                                    "s",
                                    "-1s",
                                    "+1s",
                                    "1.5h",
                                    "1w",
                                    "1 s",
                                    " 1s",
                                    "1S",
                                    "1hh",
                                    "1mss",
                                    "0x10",
                                    "9223372036854775808ms",
                                    "9223372036854775807",
                                    "99999999999999999999d"};
  int64_t ms;
  for (size_t i = 0; i < RP_ARRAY_SIZE(rows); i++) {
    assert_int_equal(rp__duration_parse(rows[i].text, &ms), 0);
    assert_int_equal(ms, rows[i].ms);
  }
  for (size_t i = 0; i < RP_ARRAY_SIZE(bad); i++) {
    ms = 77;
    if (rp__duration_parse(bad[i], &ms) != RP_E_USAGE) fail_msg("accepted: %s", bad[i]);
    assert_int_equal(ms, 77);
  }
}

static void system_clock_tells_the_kernels_time(void **state)
{
  (void)state;
  struct timespec before, after;
  clock_gettime(CLOCK_BOOTTIME, &before);
  int64_t boot = rp__boot(&rp__system_clock);
  clock_gettime(CLOCK_BOOTTIME, &after);
  assert_true(boot >= before.tv_sec * 1000 + before.tv_nsec / 1000000);
  assert_true(boot <= after.tv_sec * 1000 + after.tv_nsec / 1000000);
  assert_true(rp__wall(&rp__system_clock) > 0);
}

static void shifted_clock_runs_on_from_its_start(void **state)
{
  (void)state;
  struct rp__shifted_clock past_state, future_state;
  rp_clock past = rp__clock_shifted(&past_state, known[2].ms);
  rp_clock future = rp__clock_shifted(&future_state, known[4].ms);
  int64_t a = rp__wall(&past), b = rp__wall(&past);
  assert_true(a >= known[2].ms && b >= a);
  assert_true(rp__wall(&future) >= known[4].ms);
  assert_int_equal(rp__boot(&past), 0);
  /* It runs: wait for the boot clock to move, then it must have moved as well. */
  int64_t from = rp__boot(&rp__system_clock);
  a = rp__wall(&past);
  while (rp__boot(&rp__system_clock) < from + 3) continue;
  assert_true(rp__wall(&past) >= a + 2);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(known_times_both_ways),
      cmocka_unit_test(round_trip_at_random),
      cmocka_unit_test(round_trip_around_every_day_of_some_centuries),
      cmocka_unit_test(beyond_four_digits_is_clamped),
      cmocka_unit_test(forms_that_are_accepted),
      cmocka_unit_test(forms_that_are_refused),
      cmocka_unit_test(parse_reads_just_the_stretch),
      cmocka_unit_test(durations),
      cmocka_unit_test(system_clock_tells_the_kernels_time),
      cmocka_unit_test(shifted_clock_runs_on_from_its_start),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
