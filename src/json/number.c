/* SPDX-License-Identifier: Apache-2.0 */
#include <float.h>
#include <math.h>
#include <stdio.h>

#include "json/number.h"

#include "json/json.h"

/* More than 768 digits never decide between two doubles; one more stands for all that follow. */
#define DIGITS_MAX 800
/* Exponents beyond this are infinite or zero anyway; kept small so that sums do not overflow. */
#define EXPONENT_MAX (INT64_C(1) << 40)

/* digits × 10^exponent: the point stands behind the last digit. */
struct decimal {
  bool negative;
  unsigned n;
  int64_t exponent;
  char digits[DIGITS_MAX + 2];
};

static bool is_digit(char c)
{
  return c >= '0' && c <= '9';
}

/* Reads digits only; false on anything else and above 2^64 - 1. */
static bool read_digits(const char *p, const char *end, uint64_t *ret)
{
  uint64_t v = 0;
  if (p == end) return false;
  for (; p < end; p++) {
    if (!is_digit(*p)) return false;
    if (__builtin_mul_overflow(v, 10u, &v) || __builtin_add_overflow(v, (uint64_t)(*p - '0'), &v)) return false;
  }
  *ret = v;
  return true;
}

bool rp__json_u64(struct rp__json number, uint64_t *ret)
{
  if (number.type != RP_JSON_NUMBER || number.n == 0) return false;
  bool negative = number.p[0] == '-';
  uint64_t v;
  if (!read_digits(number.p + negative, number.p + number.n, &v) || (negative && v != 0)) return false;
  *ret = v;
  return true;
}

bool rp__json_i64(struct rp__json number, int64_t *ret)
{
  if (number.type != RP_JSON_NUMBER || number.n == 0) return false;
  bool negative = number.p[0] == '-';
  uint64_t v;
  if (!read_digits(number.p + negative, number.p + number.n, &v)) return false;
  if (v > (uint64_t)INT64_MAX + negative) return false;
  *ret = (int64_t)(negative ? 0 - v : v);
  return true;
}

static bool read_exponent(const char *p, const char *end, int64_t *ret)
{
  bool negative = p < end && *p == '-';
  if (p < end && (*p == '-' || *p == '+')) p++;
  if (p == end) return false;
  int64_t v = 0;
  for (; p < end; p++) {
    if (!is_digit(*p)) return false;
    if (v < EXPONENT_MAX) v = v * 10 + (*p - '0');
  }
  *ret = negative ? -v : v;
  return true;
}

/* The significant digits of a mantissa and where its point belongs; returns where it ends. */
static const char *read_mantissa(const char *p, const char *end, struct decimal *d)
{
  bool point = false, dropped = false;
  for (; p < end; p++) {
    if (*p == '.' && !point) {
      point = true;
      continue;
    }
    if (!is_digit(*p)) break;
    bool kept = (d->n > 0 || *p != '0') && d->n < DIGITS_MAX;
    if (kept)
      d->digits[d->n++] = *p;
    else if (d->n > 0)
      dropped = dropped || *p != '0';
    bool counts = kept || d->n == 0;
    if (counts && point)
      d->exponent--;
    else if (!counts && !point)
      d->exponent++;
  }
  if (dropped) {
    d->digits[d->n++] = '1';
    d->exponent--;
  }
  return p;
}

static bool read_decimal(struct rp__json number, struct decimal *d)
{
  const char *p = number.p, *end = number.p + number.n;
  int64_t exponent = 0;
  d->negative = *p == '-';
  d->n = 0;
  d->exponent = 0;
  p += d->negative;
  if (p == end || !is_digit(*p)) return false;
  p = read_mantissa(p, end, d);
  if (p < end && ((*p != 'e' && *p != 'E') || !read_exponent(p + 1, end, &exponent))) return false;
  d->exponent += exponent;
  return true;
}

/* Up to 15 digits and 22 powers of ten are exact as doubles, so one rounding operation gives the right result. */
static bool convert_fast(const struct decimal *d, double *ret)
{
  static const double tens[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  if (FLT_EVAL_METHOD != 0 || d->n > 15 || d->exponent > 22 || d->exponent < -22) return false;
  int64_t v = 0;
  for (unsigned i = 0; i < d->n; i++) v = v * 10 + (d->digits[i] - '0');
  *ret = d->exponent < 0 ? (double)v / tens[-d->exponent] : (double)v * tens[d->exponent];
  return true;
}

/* The text has no point, so that the locale has no say. */
static double convert_slow(const struct decimal *d)
{
  char text[DIGITS_MAX + 32];
  int64_t exponent = RP_MAX(RP_MIN(d->exponent, 99999), -99999);
  memcpy(text, d->digits, d->n);
  snprintf(text + d->n, sizeof(text) - d->n, "e%d", (int)exponent);
  return strtod(text, NULL);
}

bool rp__json_double(struct rp__json number, double *ret)
{
  struct decimal d;
  double v = 0;
  if (number.type != RP_JSON_NUMBER || number.n == 0 || !read_decimal(number, &d)) return false;
  if (d.n > 0 && !convert_fast(&d, &v)) v = convert_slow(&d);
  if (!isfinite(v)) return false;
  *ret = d.negative ? -v : v;
  return true;
}

/* Digits without trailing zeros; returns the power of ten of the first one. */
static int shortest_digits(double v, char digits[24], unsigned *ret_n)
{
  char text[48];
  /* Below DBL_MIN fewer digits suffice, so start with one; elsewhere 15 are always kept by a round trip. */
  for (int precision = v < DBL_MIN ? 1 : 15; precision <= 17; precision++) {
    snprintf(text, sizeof(text), "%.*e", precision - 1, v);
    if (strtod(text, NULL) == v) break;
  }
  unsigned n = 0;
  const char *p = text;
  for (; *p && *p != 'e'; p++)
    if (is_digit(*p)) digits[n++] = *p; /* the locale's point is skipped, whatever it is */
  while (n > 1 && digits[n - 1] == '0') n--;
  *ret_n = n;
  return *p ? (int)strtol(p + 1, NULL, 10) : 0;
}

static char *put(char *to, const char *from, size_t n)
{
  memcpy(to, from, n);
  return to + n;
}

/* Both a point and at least one digit behind it. */
static char *put_positional(char *to, const char *digits, unsigned n, int power)
{
  static const char zeros[] = "0000000000000000";
  if (power < 0) {
    to = put(to, "0.", 2);
    to = put(to, zeros, (size_t)(-power - 1));
    return put(to, digits, n);
  }
  unsigned whole = (unsigned)power + 1, have = RP_MIN(n, whole);
  to = put(to, digits, have);
  to = put(to, zeros, whole - have);
  *to++ = '.';
  return n > whole ? put(to, digits + whole, n - whole) : put(to, "0", 1);
}

static char *put_exponent(char *to, const char *digits, unsigned n, int power)
{
  char text[16];
  *to++ = digits[0];
  if (n > 1) {
    *to++ = '.';
    to = put(to, digits + 1, n - 1);
  }
  int len = snprintf(text, sizeof(text), "e%d", power);
  return put(to, text, (size_t)len);
}

size_t rp__double_format(double v, char out[RP_DOUBLE_TEXT])
{
  char digits[24] = "0";
  unsigned n = 1;
  int power = 0;
  char *to = out;
  if (signbit(v)) *to++ = '-';
  if (v != 0) power = shortest_digits(fabs(v), digits, &n);
  to = power >= -5 && power <= 15 ? put_positional(to, digits, n, power) : put_exponent(to, digits, n, power);
  *to = '\0';
  return (size_t)(to - out);
}
