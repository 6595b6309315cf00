/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a duration in words. */
#include <math.h>

#include "continuity/brief.h"

#define MINUTE 60.0
#define HOUR 3600.0
#define DAY 86400.0

/* Units from small to large; a time is told in the first whose limit its rounded number does not reach. */
static const struct {
  double seconds, limit;
  const char *before, *one, *many;
} units[] = {
    {1, 60, "", "second", "seconds"},
    {MINUTE, 60, "", "minute", "minutes"},
    {HOUR, 48, "about ", "hour", "hours"},
    {DAY, 21, "", "day", "days"},
    {7 * DAY, 9, "about ", "week", "weeks"},
    {30.44 * DAY, 24, "about ", "month", "months"},
    {365.25 * DAY, 1e9, "about ", "year", "years"},
};

void rp__time_words(double seconds, struct rp__buf *out)
{
  double s = seconds > 0 ? seconds : 0;
  if (s < 5) {
    rp__buf_str(out, "a moment");
    return;
  }
  for (size_t i = 0; i < RP_ARRAY_SIZE(units); i++) {
    double n = round(s / units[i].seconds);
    if (n >= units[i].limit) continue;
    rp__buf_printf(out, "%s%.0f %s", units[i].before, n, n < 2 ? units[i].one : units[i].many);
    return;
  }
  rp__buf_str(out, "ages");
}
