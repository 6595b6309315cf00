/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of options: parsing a text into its member. */
#include "base/option-table.h"

#include <assert.h>
#include <limits.h>
#include <math.h>

#include "base/size.h"

#define DAY_MS 86400000.0
#define DIGITS "0123456789"

static const char *const bool_words[] = {"false", "no", "off", "0", "true", "yes", "on", "1", NULL};
#define FIRST_TRUE 4

/* A number as JSON has it, without a sign; .25 is one too. */
static bool number_read(const char *text, double *ret)
{
  size_t whole = strspn(text, DIGITS), n;
  const char *p = text + whole;
  if (whole > 1 && text[0] == '0') return false;
  if (*p == '.') {
    n = strspn(p + 1, DIGITS);
    if (!n) return false;
    p += 1 + n;
  } else if (!whole) {
    return false;
  }
  if (*p == 'e' || *p == 'E') {
    p += p[1] == '+' || p[1] == '-' ? 2 : 1;
    n = strspn(p, DIGITS);
    if (!n) return false;
    p += n;
  }
  if (*p) return false;
  *ret = strtod(text, NULL);
  return isfinite(*ret);
}

double rp__option_max(const struct rp__option *o)
{
  if (o->max > 0) return o->max;
  switch (o->type) {
  case RP_OPTION_INT: return INT_MAX;
  case RP_OPTION_SIZE: return 1LL << 40;
  case RP_OPTION_SECONDS: return 1e12;
  case RP_OPTION_DAYS: return 1e7;
  default: return INFINITY;
  }
}

enum rp__option_fit rp__option_set(const struct rp__option *o, const char *text, void *values)
{
  void *at = (char *)values + o->offset;
  enum rp__option_fit fit = RP_OPTION_FITS;
  double v = 0;
  int word = 0;
  assert(o->name && text && values);
  switch (o->type) {
  case RP_OPTION_TEXT: *(const char **)at = text; return fit;
  case RP_OPTION_BYTES:
    if (!*text || rp__size_parse(text, at)) *(int64_t *)at = *text ? -1 : 0;
    return fit;
  case RP_OPTION_BOOL:
  case RP_OPTION_WORD:
    word = rp__word_find(o->words ? o->words : bool_words, rp__str(text));
    if (word < 0) return RP_OPTION_NO_VALUE;
    if (o->type == RP_OPTION_BOOL)
      *(bool *)at = word >= FIRST_TRUE;
    else
      *(int *)at = (int)o->min + word;
    return fit;
  default: break;
  }
  if (!number_read(text, &v)) return RP_OPTION_NO_VALUE;
  if (v < o->min || v > rp__option_max(o)) return RP_OPTION_BOUNDS;
  if ((o->type == RP_OPTION_INT || o->type == RP_OPTION_SIZE) && v != floor(v)) fit = RP_OPTION_FRACTION;
  switch (o->type) {
  case RP_OPTION_INT: *(int *)at = (int)v; break;
  case RP_OPTION_SIZE: *(size_t *)at = (size_t)v; break;
  case RP_OPTION_SECONDS: *(int64_t *)at = llround(v * 1000); break;
  case RP_OPTION_DAYS: *(int64_t *)at = llround(v * DAY_MS); break;
  default: *(double *)at = v; break;
  }
  return fit;
}

bool rp__option_number(const struct rp__option *o, const void *values, double *ret)
{
  const void *at = (const char *)values + o->offset;
  switch (o->type) {
  case RP_OPTION_INT: *ret = *(const int *)at; return true;
  case RP_OPTION_SIZE: *ret = (double)*(const size_t *)at; return true;
  case RP_OPTION_REAL: *ret = *(const double *)at; return true;
  case RP_OPTION_SECONDS: *ret = (double)*(const int64_t *)at / 1000; return true;
  case RP_OPTION_DAYS: *ret = (double)*(const int64_t *)at / DAY_MS; return true;
  case RP_OPTION_BYTES: *ret = (double)*(const int64_t *)at; return true;
  default: return false;
  }
}

void rp__option_expects(const struct rp__option *o, struct rp__buf *out)
{
  if (o->type == RP_OPTION_BOOL) {
    rp__buf_str(out, "true or false");
  } else if (o->type == RP_OPTION_BYTES) {
    rp__buf_str(out, "a size like 512M or 2G");
  } else if (o->type == RP_OPTION_WORD) {
    for (size_t i = 0; o->words[i]; i++) rp__buf_printf(out, "%s%s", i ? ", " : "one of ", o->words[i]);
  } else if (o->type != RP_OPTION_TEXT) {
    rp__buf_str(out, "a number, 0 or more");
  }
}
