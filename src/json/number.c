/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of JSON: text to integers and doubles and back, independent of the locale. */
#include <float.h>
#include <math.h>
#include <stdio.h>

#include "base/text.h"
#include "json/json.h"

/* More than 768 digits never decide between two doubles; one more stands for all that follow. */
#define DIGITS_MAX 800
/* Exponents beyond this are infinite or zero anyway; kept small so that sums do not overflow. */
#define EXPONENT_MAX (INT64_C(1) << 40)

bool rp__json_i64(struct rp__json number, int64_t *ret)
{
  if (number.type != RP_JSON_NUMBER || number.n == 0) return false;
  const char *p = number.p, *end = number.p + number.n;
  bool negative = *p == '-';
  uint64_t v = 0;
  if ((p += negative) == end) return false;
  for (; p < end; p++) {
    if (!rp__is_digit(*p)) return false;
    if (__builtin_mul_overflow(v, 10u, &v) || __builtin_add_overflow(v, (uint64_t)(*p - '0'), &v)) return false;
  }
  if (v > (uint64_t)INT64_MAX + negative) return false;
  *ret = (int64_t)(negative ? 0 - v : v);
  return true;
}

bool rp__json_double(struct rp__json number, double *ret)
{
  static const double tens[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  if (number.type != RP_JSON_NUMBER || number.n == 0) return false;
  const char *p = number.p, *end = number.p + number.n;
  bool negative = *p == '-';
  p += negative;
  if (p == end || !rp__is_digit(*p)) return false;

  /* The value is digits × 10^exponent: the point stands behind the last digit. */
  char digits[DIGITS_MAX + 32];
  unsigned n = 0;
  int64_t exponent = 0, given = 0;
  bool point = false, dropped = false;
  for (; p < end && (rp__is_digit(*p) || (*p == '.' && !point)); p++) {
    if (*p == '.') {
      point = true;
      continue;
    }
    bool kept = (n > 0 || *p != '0') && n < DIGITS_MAX;
    if (kept)
      digits[n++] = *p;
    else if (n > 0)
      dropped = dropped || *p != '0';
    bool counts = kept || n == 0;
    exponent += (!counts && !point) - (counts && point);
  }
  if (dropped) {
    digits[n++] = '1';
    exponent--;
  }
  if (p < end) {
    if (*p != 'e' && *p != 'E') return false;
    bool below = ++p < end && *p == '-';
    if (p < end && (*p == '-' || *p == '+')) p++;
    if (p == end) return false;
    for (; p < end; p++) {
      if (!rp__is_digit(*p)) return false;
      if (given < EXPONENT_MAX) given = given * 10 + (*p - '0');
    }
    exponent += below ? -given : given;
  }

  double v = 0;
  if (FLT_EVAL_METHOD == 0 && n <= 15 && exponent <= 22 && exponent >= -22) {
    /* So many digits and powers of ten are exact as doubles, so that one rounding operation gives the right result. */
    int64_t whole = 0;
    for (unsigned i = 0; i < n; i++) whole = whole * 10 + (digits[i] - '0');
    v = exponent < 0 ? (double)whole / tens[-exponent] : (double)whole * tens[exponent];
  } else if (n > 0) {
    /* The text has no point, so that the locale has no say. */
    snprintf(digits + n, sizeof digits - n, "e%d", (int)RP_MAX(RP_MIN(exponent, 99999), -99999));
    v = strtod(digits, NULL);
  }
  if (!isfinite(v)) return false;
  *ret = negative ? -v : v;
  return true;
}

static char *put(char *to, const char *from, size_t n)
{
  memcpy(to, from, n);
  return to + n;
}

size_t rp__double_format(double v, char out[RP_DOUBLE_TEXT])
{
  static const char zeros[] = "0000000000000000";
  char text[48], digits[24] = "0", *to = out;
  unsigned n = 1;
  int power = 0; /* of ten, of the first digit */
  if (signbit(v)) *to++ = '-';
  v = fabs(v);
  if (v != 0) {
    /* Below DBL_MIN fewer digits suffice, so start with one; elsewhere 15 are always kept by a round trip. */
    for (int precision = v < DBL_MIN ? 1 : 15; precision <= 17; precision++) {
      snprintf(text, sizeof(text), "%.*e", precision - 1, v);
      if (strtod(text, NULL) == v) break;
    }
    const char *p = text;
    for (n = 0; *p && *p != 'e'; p++)
      if (rp__is_digit(*p)) digits[n++] = *p; /* the locale's point is skipped, whatever it is */
    while (n > 1 && digits[n - 1] == '0') n--;
    if (*p) power = (int)strtol(p + 1, NULL, 10);
  }
  if (power < -5 || power > 15) {
    to = put(to, digits, 1);
    if (n > 1) to = put(put(to, ".", 1), digits + 1, n - 1);
    to += snprintf(to, 8, "e%d", power);
  } else if (power < 0) {
    to = put(put(to, "0.", 2), zeros, (size_t)(-power - 1));
    to = put(to, digits, n);
  } else { /* both a point and at least one digit behind it */
    unsigned whole = (unsigned)power + 1, have = RP_MIN(n, whole);
    to = put(put(to, digits, have), zeros, whole - have);
    to = n > whole ? put(put(to, ".", 1), digits + whole, n - whole) : put(to, ".0", 2);
  }
  *to = '\0';
  return (size_t)(to - out);
}
