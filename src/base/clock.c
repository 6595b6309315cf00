/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dates are computed here, on the proleptic Gregorian calendar from year 0. The functions of the C library are not
 * used, because they handle time zones and locales and take a lock, and none of that is needed.
 */
#include "base/clock.h"

#include <stdbool.h>
#include <time.h>

#include "base/text.h"
#include "base/ticks.h"

#define DAY_MS 86400000LL
#define EPOCH_DAYS 719528LL /* from 0000-01-01 to 1970-01-01 */
#define END_DAYS 3652425LL  /* from 0000-01-01 to 10000-01-01 */
#define FIRST_MS (-EPOCH_DAYS * DAY_MS)
#define LAST_MS ((END_DAYS - EPOCH_DAYS) * DAY_MS - 1)

static int64_t clock_ms(clockid_t id)
{
  struct timespec ts;
  if (clock_gettime(id, &ts)) return 0;
  return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static int64_t system_wall(void *ctx)
{
  (void)ctx;
  return clock_ms(CLOCK_REALTIME);
}

static int64_t system_boot(void *ctx)
{
  (void)ctx;
  return clock_ms(CLOCK_BOOTTIME);
}

const rp_clock rp__system_clock = {system_wall, system_boot, NULL};

/* Runs on the boot clock: a step of the machine's wall clock does not move it. */
static int64_t shifted_wall(void *ctx)
{
  const struct rp__shifted_clock *state = ctx;
  return clock_ms(CLOCK_BOOTTIME) + state->offset_ms;
}

static int64_t shifted_boot(void *ctx)
{
  (void)ctx;
  return 0;
}

rp_clock rp__clock_shifted(struct rp__shifted_clock *state, int64_t start_ms)
{
  state->offset_ms = start_ms - clock_ms(CLOCK_BOOTTIME);
  return (rp_clock){shifted_wall, shifted_boot, state};
}

/* ---- ticks -------------------------------------------------------------- */

int64_t rp__ticks_ns(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t rp__ticks_us(void)
{
  return rp__ticks_ns() / 1000;
}

int64_t rp__ticks_ms(void)
{
  return rp__ticks_ns() / 1000000;
}

int64_t rp__ticks_coarse_ms(void)
{
  return clock_ms(CLOCK_MONOTONIC_COARSE);
}

struct timespec rp__ticks_after_us(int64_t us)
{
  int64_t ns = rp__ticks_ns() + us * 1000;
  return (struct timespec){.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
}

/* ---- calendar ----------------------------------------------------------- */

static int days_in_month(int64_t year, int month)
{
  static const char days[12] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
  return days[month - 1] + (month == 2 && leap);
}

/* Days from 0000-01-01 to that year's first day; year 0 is a leap year. */
static int64_t days_before_year(int64_t year)
{
  return 365 * year + (year + 3) / 4 - (year + 99) / 100 + (year + 399) / 400;
}

/* ---- writing ------------------------------------------------------------ */

static char *put_digits(char *p, int64_t value, int width, char after)
{
  for (int i = width - 1; i >= 0; i--, value /= 10) p[i] = (char)('0' + value % 10);
  p[width] = after;
  return p + width + 1;
}

const char *rp__time_format(int64_t ms, char out[RP_TIME_TEXT])
{
  ms = RP_MAX(FIRST_MS, RP_MIN(ms, LAST_MS));
  int64_t days = (ms - FIRST_MS) / DAY_MS, in_day = (ms - FIRST_MS) % DAY_MS;
  int64_t year = days * 400 / 146097; /* by the mean year, which is right up to one */
  while (days_before_year(year + 1) <= days) year++;
  while (days_before_year(year) > days) year--;
  int64_t day = days - days_before_year(year) + 1;
  int month = 1;
  while (day > days_in_month(year, month)) day -= days_in_month(year, month++);
  char *p = out;
  p = put_digits(p, year, 4, '-');
  p = put_digits(p, month, 2, '-');
  p = put_digits(p, day, 2, 'T');
  p = put_digits(p, in_day / 3600000, 2, ':');
  p = put_digits(p, in_day / 60000 % 60, 2, ':');
  p = put_digits(p, in_day / 1000 % 60, 2, '.');
  p = put_digits(p, in_day % 1000, 3, 'Z');
  *p = '\0';
  return out;
}

/* ---- reading ------------------------------------------------------------ */

/* The text that is left to read. */
struct cursor {
  const char *p, *end;
};

static bool at_end(const struct cursor *c)
{
  return c->p == c->end;
}

static bool read_char(struct cursor *c, char want)
{
  if (at_end(c) || *c->p != want) return false;
  c->p++;
  return true;
}

/* Exactly `width` digits that make a number in [low, high]. */
static bool read_number(struct cursor *c, int width, int low, int high, int *ret)
{
  int value = 0;
  if (c->end - c->p < width) return false;
  for (int i = 0; i < width; i++) {
    if (!rp__is_digit(c->p[i])) return false;
    value = value * 10 + (c->p[i] - '0');
  }
  if (value < low || value > high) return false;
  c->p += width;
  *ret = value;
  return true;
}

int rp__time_parse(const char *s, size_t n, int64_t *ret_ms)
{
  struct cursor c = {s, s + n};
  int year, month, day, hour = 0, minute = 0, second = 0, fraction = 0, zone = 0, zone_hour, zone_minute;
  if (!read_number(&c, 4, 0, 9999, &year) || !read_char(&c, '-')) return RP_E_USAGE;
  if (!read_number(&c, 2, 1, 12, &month) || !read_char(&c, '-')) return RP_E_USAGE;
  if (!read_number(&c, 2, 1, days_in_month(year, month), &day)) return RP_E_USAGE;
  if (read_char(&c, 'T')) {
    if (!read_number(&c, 2, 0, 23, &hour) || !read_char(&c, ':')) return RP_E_USAGE;
    if (!read_number(&c, 2, 0, 59, &minute)) return RP_E_USAGE;
    bool seconds = read_char(&c, ':');
    if (seconds && !read_number(&c, 2, 0, 59, &second)) return RP_E_USAGE;
    if (seconds && read_char(&c, '.')) { /* at least one digit; what is finer than a millisecond is dropped */
      if (at_end(&c) || !rp__is_digit(*c.p)) return RP_E_USAGE;
      for (int scale = 100; !at_end(&c) && rp__is_digit(*c.p); c.p++, scale /= 10) fraction += (*c.p - '0') * scale;
    }
    if (!at_end(&c) && !read_char(&c, 'Z')) {
      int sign = read_char(&c, '+') ? 1 : read_char(&c, '-') ? -1 : 0;
      if (!sign || !read_number(&c, 2, 0, 23, &zone_hour) || !read_char(&c, ':')) return RP_E_USAGE;
      if (!read_number(&c, 2, 0, 59, &zone_minute)) return RP_E_USAGE;
      zone = sign * (zone_hour * 60 + zone_minute);
    }
  }
  int64_t days = days_before_year(year) + day - 1;
  for (int m = 1; m < month; m++) days += days_in_month(year, m);
  int64_t ms = FIRST_MS + days * DAY_MS + ((hour * 60LL + minute - zone) * 60 + second) * 1000 + fraction;
  /* A zone can lead out of the years that can be written back. */
  if (!at_end(&c) || ms < FIRST_MS || ms > LAST_MS) return RP_E_USAGE;
  *ret_ms = ms;
  return 0;
}

int rp__duration_parse(const char *s, int64_t *ret_ms)
{
  static const struct {
    const char *unit;
    int64_t ms;
  } units[] = {{"", 1000}, {"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {"d", DAY_MS}};
  int64_t value = 0;
  if (!rp__is_digit(*s)) return RP_E_USAGE;
  for (; rp__is_digit(*s); s++)
    if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, *s - '0', &value)) return RP_E_USAGE;
  for (size_t i = 0; i < RP_ARRAY_SIZE(units); i++) {
    if (strcmp(s, units[i].unit) != 0) continue;
    if (__builtin_mul_overflow(value, units[i].ms, &value)) return RP_E_USAGE;
    *ret_ms = value;
    return 0;
  }
  return RP_E_USAGE;
}
