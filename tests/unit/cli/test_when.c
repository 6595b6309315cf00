/* SPDX-License-Identifier: Apache-2.0 */
/* Times in a person's words. */
#include "cli_test.h"

#include "cli/when.h"

#define NOW "2026-11-18T20:30:15.250Z" /* a Wednesday */

static int64_t ms_of(const char *text)
{
  int64_t ms = 0;
  assert_int_equal(rp__time_parse(text, strlen(text), &ms), 0);
  return ms;
}

static void set_zone(const char *tz)
{
  setenv("TZ", tz, 1);
  tzset();
}

struct row {
  const char *text, *begin, *end;
};

static void assert_rows(const struct row *rows, size_t n, const char *now, bool utc)
{
  for (size_t i = 0; i < n; i++) {
    char got[RP_TIME_TEXT];
    int64_t ms;
    assert_true(rp__when_parse(rows[i].text, ms_of(now), utc, false, &ms));
    assert_string_equal(rp__time_format(ms, got), rows[i].begin);
    assert_true(rp__when_parse(rows[i].text, ms_of(now), utc, true, &ms));
    assert_string_equal(rp__time_format(ms, got), rows[i].end);
  }
}

static void days_have_words(void **state) /* B-13 */
{
  (void)state;
  static const struct row rows[] = {
      {"today", "2026-11-18T00:00:00.000Z", "2026-11-19T00:00:00.000Z"},
      {"Yesterday", "2026-11-17T00:00:00.000Z", "2026-11-18T00:00:00.000Z"},
      {"wednesday", "2026-11-18T00:00:00.000Z", "2026-11-19T00:00:00.000Z"},
      {"last wednesday", "2026-11-11T00:00:00.000Z", "2026-11-12T00:00:00.000Z"},
      {"tuesday", "2026-11-17T00:00:00.000Z", "2026-11-18T00:00:00.000Z"},
      {"Last Tuesday", "2026-11-17T00:00:00.000Z", "2026-11-18T00:00:00.000Z"},
      {"thursday", "2026-11-12T00:00:00.000Z", "2026-11-13T00:00:00.000Z"},
      {"sunday", "2026-11-15T00:00:00.000Z", "2026-11-16T00:00:00.000Z"},
      {"0 days", "2026-11-18T00:00:00.000Z", "2026-11-19T00:00:00.000Z"},
      {"1 day", "2026-11-17T00:00:00.000Z", "2026-11-18T00:00:00.000Z"},
      {"20 days ago", "2026-10-29T00:00:00.000Z", "2026-10-30T00:00:00.000Z"},
      {"2026-02-28", "2026-02-28T00:00:00.000Z", "2026-03-01T00:00:00.000Z"},
  };
  set_zone("Asia/Tokyo"); /* means nothing with utc */
  assert_rows(rows, RP_ARRAY_SIZE(rows), NOW, true);
}

static void moments_are_moments_at_either_end(void **state)
{
  (void)state;
  static const struct row rows[] = {
      {"2h", "2026-11-18T18:30:15.250Z", "2026-11-18T18:30:15.250Z"},
      {"7d", "2026-11-11T20:30:15.250Z", "2026-11-11T20:30:15.250Z"},
      {"2026-11-01T12:00:00Z", "2026-11-01T12:00:00.000Z", "2026-11-01T12:00:00.000Z"},
  };
  set_zone("UTC");
  assert_rows(rows, RP_ARRAY_SIZE(rows), NOW, false);
}

/* Clocks are set on 2026-10-25 and 2026-03-29 in Berlin: these days have 25 and 23 hours. */
static void days_are_local_ones(void **state)
{
  (void)state;
  static const struct row tokyo[] = {{"today", "2026-11-18T15:00:00.000Z", "2026-11-19T15:00:00.000Z"},
                                     {"thursday", "2026-11-18T15:00:00.000Z", "2026-11-19T15:00:00.000Z"}};
  static const struct row autumn[] = {{"yesterday", "2026-10-24T22:00:00.000Z", "2026-10-25T23:00:00.000Z"}};
  static const struct row spring[] = {{"2026-03-29", "2026-03-28T23:00:00.000Z", "2026-03-29T22:00:00.000Z"}};
  set_zone("Asia/Tokyo");
  assert_rows(tokyo, RP_ARRAY_SIZE(tokyo), NOW, false);
  set_zone("Europe/Berlin");
  assert_rows(autumn, RP_ARRAY_SIZE(autumn), "2026-10-26T12:00:00Z", false);
  assert_rows(spring, RP_ARRAY_SIZE(spring), "2026-10-26T12:00:00Z", false);
  set_zone("UTC");
}

static void other_words_are_no_time(void **state)
{
  (void)state;
  static const char *const words[] = {"",
                                      "last",
                                      "last ",
                                      "last today",
                                      "tues",
                                      "3 weeks",
                                      "3 days hence",
                                      "99999 days",
                                      "99999999999999999999 days",
                                      "-3 days",
                                      "2026-02-31",
                                      "today ",
                                      "tomorrow"};
  for (size_t i = 0; i < RP_ARRAY_SIZE(words); i++) {
    int64_t ms = 7;
    if (rp__when_parse(words[i], ms_of(NOW), true, false, &ms)) fail_msg("'%s' was taken for a time", words[i]);
    assert_int_equal(ms, 7);
  }
}

static void days_are_told_in_words(void **state)
{
  (void)state;
  char text[RP_WHEN_TEXT];
  assert_string_equal(rp__when_words(ms_of("2026-11-18T00:00:00Z"), ms_of(NOW), true, text),
                      "Wednesday 18 November (today)");
  assert_string_equal(rp__when_words(ms_of("2026-11-17T23:59:59Z"), ms_of(NOW), true, text),
                      "Tuesday 17 November (yesterday)");
  assert_string_equal(rp__when_words(ms_of("2025-11-19T12:00:00Z"), ms_of(NOW), true, text),
                      "Wednesday 19 November 2025");
  assert_string_equal(rp__when_date(ms_of("2026-01-05T12:00:00Z"), true, text), "2026-01-05");
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(days_have_words),        cmocka_unit_test(moments_are_moments_at_either_end),
      cmocka_unit_test(days_are_local_ones),    cmocka_unit_test(other_words_are_no_time),
      cmocka_unit_test(days_are_told_in_words),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
