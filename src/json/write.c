/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <math.h>

#include "base/clock.h"
#include "json/json.h"
#include "json/number.h"
#include "json/scan.h"

#define DEPTH_BITS 64

/* The comma, where one is due, and the note that the next value at this depth needs one. */
static void separate(struct rp__jw *w)
{
  if (w->after_key) {
    w->after_key = false;
    return;
  }
  uint64_t bit = UINT64_C(1) << (w->depth % DEPTH_BITS);
  if (w->comma & bit) rp__buf_char(w->out, ',');
  w->comma |= bit;
}

static void literal(struct rp__jw *w, const char *text, size_t n)
{
  separate(w);
  rp__buf_add(w->out, text, n);
}

static void container_open(struct rp__jw *w, char bracket)
{
  separate(w);
  rp__buf_char(w->out, bracket);
  w->depth++;
  if (w->depth >= DEPTH_BITS && !w->out->err) w->out->err = RP_E_TOO_LARGE;
  w->comma &= ~(UINT64_C(1) << (w->depth % DEPTH_BITS));
}

static void container_close(struct rp__jw *w, char bracket)
{
  assert(w->depth > 0 && !w->after_key);
  if (w->depth > 0) w->depth--;
  rp__buf_char(w->out, bracket);
}

void rp__jw_object(struct rp__jw *w)
{
  container_open(w, '{');
}

void rp__jw_end_object(struct rp__jw *w)
{
  container_close(w, '}');
}

void rp__jw_array(struct rp__jw *w)
{
  container_open(w, '[');
}

void rp__jw_end_array(struct rp__jw *w)
{
  container_close(w, ']');
}

static void escape_byte(struct rp__buf *out, uint8_t c)
{
  static const char hex[] = "0123456789abcdef";
  static const char letters[] = {
      ['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f', ['\r'] = 'r', ['"'] = '"', ['\\'] = '\\'};
  char letter = c < sizeof(letters) ? letters[c] : '\0';
  if (letter) {
    rp__buf_add(out, (char[]){'\\', letter}, 2);
  } else {
    rp__buf_add(out, (char[]){'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]}, 6);
  }
}

/* The first byte that can't be copied as it is. */
static const char *copyable(const char *at, const char *end)
{
  for (;;) {
    at = rp__json_plain(at, end);
    if (at == end || (signed char)*at >= 0) return at;
    unsigned n = rp__utf8_len(at, end);
    if (n == 0) return at;
    at += n;
  }
}

static void quoted(struct rp__buf *out, const char *s, size_t n)
{
  const char *at = s, *end = n ? s + n : s;
  rp__buf_char(out, '"');
  while (at < end && !out->err) {
    const char *stop = copyable(at, end);
    if (stop > at) rp__buf_add(out, at, (size_t)(stop - at));
    at = stop;
    if (at == end) break;
    if ((signed char)*at < 0)
      rp__buf_add(out, "\xef\xbf\xbd", 3);
    else
      escape_byte(out, (uint8_t)*at);
    at++;
  }
  rp__buf_char(out, '"');
}

void rp__jw_key(struct rp__jw *w, const char *name)
{
  assert(!w->after_key);
  separate(w);
  quoted(w->out, name, strlen(name));
  rp__buf_char(w->out, ':');
  w->after_key = true;
}

void rp__jw_strn(struct rp__jw *w, const char *s, size_t n)
{
  separate(w);
  quoted(w->out, s, n);
}

void rp__jw_str(struct rp__jw *w, const char *s)
{
  if (s)
    rp__jw_strn(w, s, strlen(s));
  else
    rp__jw_null(w);
}

void rp__jw_i64(struct rp__jw *w, int64_t v)
{
  char text[24];
  char *p = text + sizeof(text);
  uint64_t left = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
  do *--p = (char)('0' + left % 10);
  while (left /= 10);
  if (v < 0) *--p = '-';
  literal(w, p, (size_t)(text + sizeof(text) - p));
}

void rp__jw_double(struct rp__jw *w, double v)
{
  char text[RP_DOUBLE_TEXT];
  if (isfinite(v))
    literal(w, text, rp__double_format(v, text));
  else
    rp__jw_null(w);
}

void rp__jw_bool(struct rp__jw *w, bool v)
{
  literal(w, v ? "true" : "false", v ? 4 : 5);
}

void rp__jw_null(struct rp__jw *w)
{
  literal(w, "null", 4);
}

void rp__jw_time(struct rp__jw *w, int64_t ms)
{
  char text[RP_TIME_TEXT];
  if (ms)
    rp__jw_str(w, rp__time_format(ms, text));
  else
    rp__jw_null(w);
}

void rp__jw_raw(struct rp__jw *w, const char *json, size_t n)
{
  literal(w, json, n);
}

void rp__jw_value(struct rp__jw *w, struct rp__json v)
{
  bool key = v.type == RP_JSON_STRING && (v.n == 0 || v.p[0] != '"');
  if (v.type == RP_JSON_NONE) {
    rp__jw_null(w);
    return;
  }
  separate(w);
  if (key) rp__buf_char(w->out, '"');
  if (v.n) rp__buf_add(w->out, v.p, v.n);
  if (key) rp__buf_char(w->out, '"');
}

void rp__jw_kstr(struct rp__jw *w, const char *name, const char *s)
{
  rp__jw_key(w, name);
  rp__jw_str(w, s);
}

void rp__jw_ki64(struct rp__jw *w, const char *name, int64_t v)
{
  rp__jw_key(w, name);
  rp__jw_i64(w, v);
}

void rp__jw_kdouble(struct rp__jw *w, const char *name, double v)
{
  rp__jw_key(w, name);
  rp__jw_double(w, v);
}

void rp__jw_kbool(struct rp__jw *w, const char *name, bool v)
{
  rp__jw_key(w, name);
  rp__jw_bool(w, v);
}

void rp__jw_ktime(struct rp__jw *w, const char *name, int64_t ms)
{
  rp__jw_key(w, name);
  rp__jw_time(w, ms);
}
