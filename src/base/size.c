/* SPDX-License-Identifier: Apache-2.0 */
/* Parses and formats sizes. */
#include "base/size.h"

#include <stdio.h>
#include <strings.h>

#include <reprise/error.h>

int rp__size_parse(const char *s, int64_t *ret)
{
  static const char letters[] = "KMGT";
  int64_t value = 0;
  const char *digits = s;
  for (; *s >= '0' && *s <= '9'; s++)
    if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, *s - '0', &value)) return RP_E_USAGE;
  if (s == digits) return RP_E_USAGE;
  for (size_t i = 0; *s && i < sizeof letters - 1; i++) {
    char unit[2] = {letters[i], 0};
    if (strncasecmp(s, unit, 1) != 0) continue;
    if (__builtin_mul_overflow(value, (int64_t)1 << (10 * (i + 1)), &value)) return RP_E_USAGE;
    s++;
    if (strcasecmp(s, "iB") == 0) s += 2;
    break;
  }
  if (strcasecmp(s, "B") == 0) s++;
  if (*s) return RP_E_USAGE;
  *ret = value;
  return 0;
}

void rp__size_format(int64_t bytes, char *out, size_t n)
{
  static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double v = (double)bytes;
  size_t u = 0;
  for (; v >= 1024 && u + 1 < RP_ARRAY_SIZE(units); u++) v /= 1024;
  snprintf(out, n, u ? "%.1f %s" : "%.0f %s", v, units[u]);
}
