/* SPDX-License-Identifier: Apache-2.0 */
/* Reads times as people say them. */
#include "cli/when.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/clock.h"
#include "base/text.h"

#define DAYS_MAX 36500 /* a hundred years */
#define WEEK 7

static const char *const weekdays[WEEK] = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                           "Thursday", "Friday", "Saturday"};
static const char *const months[] = {"January", "February", "March",     "April",   "May",      "June",
                                     "July",    "August",   "September", "October", "November", "December"};

static bool parts_of(int64_t ms, bool utc, struct tm *ret)
{
  time_t t = (time_t)(ms / 1000 - (ms % 1000 < 0));
  return (utc ? gmtime_r(&t, ret) : localtime_r(&t, ret)) != NULL;
}

/* Days are counted on the calendar: one on which clocks are set has 23 or 25 hours. */
int64_t rp__when_day(int64_t ms, int days, bool utc)
{
  struct tm tm;
  if (!parts_of(ms, utc, &tm)) return ms;
  tm.tm_hour = tm.tm_min = tm.tm_sec = 0;
  tm.tm_mday += days;
  tm.tm_isdst = -1;
  return (int64_t)(utc ? timegm(&tm) : mktime(&tm)) * 1000;
}

/* "2026-01-31", a day of the calendar that is meant. */
static bool parse_date(const char *text, bool utc, int64_t *ret)
{
  int64_t midnight;
  if (strlen(text) != 10 || rp__time_parse(text, 10, &midnight)) return false;
  struct tm tm;
  if (!parts_of(midnight, true, &tm)) return false;
  tm.tm_isdst = -1;
  *ret = (int64_t)(utc ? timegm(&tm) : mktime(&tm)) * 1000;
  return true;
}

/* How many days ago a day of words was; -1: it is none. */
static int days_ago(const char *text, int today)
{
  static const char *const behind[] = {" day", " days", " day ago", " days ago"};
  if (strcasecmp(text, "today") == 0) return 0;
  if (strcasecmp(text, "yesterday") == 0) return 1;
  if (rp__is_digit(text[0])) {
    char *rest;
    long n = strtol(text, &rest, 10);
    for (size_t i = 0; i < RP_ARRAY_SIZE(behind); i++)
      if (strcasecmp(rest, behind[i]) == 0) return n <= DAYS_MAX ? (int)n : -1;
    return -1;
  }
  bool last = strncasecmp(text, "last ", 5) == 0;
  for (int i = 0; i < WEEK; i++) {
    if (strcasecmp(text + (last ? 5 : 0), weekdays[i]) != 0) continue;
    int n = (today - i + WEEK) % WEEK;
    return n == 0 && last ? WEEK : n;
  }
  return -1;
}

bool rp__when_parse(const char *text, int64_t now_ms, bool utc, bool end, int64_t *ret_ms)
{
  struct tm tm;
  int64_t ago, at;
  if (!parts_of(now_ms, utc, &tm)) return false;
  int days = days_ago(text, tm.tm_wday);
  if (days >= 0)
    at = rp__when_day(now_ms, -days, utc);
  else if (!parse_date(text, utc, &at)) {
    if (rp__time_parse(text, strlen(text), ret_ms) == 0) return true;
    if (rp__duration_parse(text, &ago) != 0) return false;
    *ret_ms = now_ms - ago;
    return true;
  }
  *ret_ms = end ? rp__when_day(at, 1, utc) : at;
  return true;
}

const char *rp__when_date(int64_t ms, bool utc, char out[RP_WHEN_TEXT])
{
  struct tm tm;
  out[0] = '\0';
  if (parts_of(ms, utc, &tm)) strftime(out, RP_WHEN_TEXT, "%Y-%m-%d", &tm);
  return out;
}

const char *rp__when_words(int64_t ms, int64_t now_ms, bool utc, char out[RP_WHEN_TEXT])
{
  struct tm tm, now;
  out[0] = '\0';
  if (!parts_of(ms, utc, &tm) || !parts_of(now_ms, utc, &now)) return out;
  int n = snprintf(out, RP_WHEN_TEXT, "%s %d %s", weekdays[tm.tm_wday], tm.tm_mday, months[tm.tm_mon]);
  if (tm.tm_year != now.tm_year) n += snprintf(out + n, RP_WHEN_TEXT - (size_t)n, " %d", tm.tm_year + 1900);
  int64_t day = rp__when_day(ms, 0, utc);
  const char *near = day == rp__when_day(now_ms, 0, utc)    ? " (today)"
                     : day == rp__when_day(now_ms, -1, utc) ? " (yesterday)"
                                                            : "";
  snprintf(out + n, RP_WHEN_TEXT - (size_t)n, "%s", near);
  return out;
}
