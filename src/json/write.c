/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON writer: separators, escapes and nesting. It remembers its first error. */
#include <assert.h>
#include <math.h>
#include <stdarg.h>

#include "base/clock.h"
#include "json/json.h"
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

static void quoted(struct rp__buf *out, const char *s, size_t n)
{
  static const char hex[] = "0123456789abcdef";
  static const char letters[] = {
      ['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f', ['\r'] = 'r', ['"'] = '"', ['\\'] = '\\'};
  const char *at = s, *end = n ? s + n : s;
  rp__buf_char(out, '"');
  while (at < end && !out->err) {
    const char *stop = rp__json_plain(at, end); /* the first byte that can't be copied as it is */
    for (unsigned more; stop < end && (signed char)*stop < 0 && (more = rp__utf8_len(stop, end));)
      stop = rp__json_plain(stop + more, end);
    if (stop > at) rp__buf_add(out, at, (size_t)(stop - at));
    if (stop == end) break;
    uint8_t c = (uint8_t)*stop;
    if (c >= 0x80)
      rp__buf_add(out, "\xef\xbf\xbd", 3);
    else if (c < sizeof(letters) && letters[c])
      rp__buf_add(out, (char[]){'\\', letters[c]}, 2);
    else
      rp__buf_add(out, (char[]){'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]}, 6);
    at = stop + 1;
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
  rp__jw_raw(w, p, (size_t)(text + sizeof(text) - p));
}

void rp__jw_double(struct rp__jw *w, double v)
{
  char text[RP_DOUBLE_TEXT];
  if (isfinite(v))
    rp__jw_raw(w, text, rp__double_format(v, text));
  else
    rp__jw_null(w);
}

void rp__jw_bool(struct rp__jw *w, bool v)
{
  rp__jw_raw(w, v ? "true" : "false", v ? 4 : 5);
}

void rp__jw_null(struct rp__jw *w)
{
  rp__jw_raw(w, "null", 4);
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
  separate(w);
  rp__buf_add(w->out, json, n);
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

/* ---- patterns ---- */

#define KEY_MAX 63 /* bytes of a key in a pattern */

/* Writes one value, and its key before it (empty: none). */
static void pack_value(struct rp__jw *w, const char *key, char type, bool optional, va_list *args)
{
  struct rp__json v = {0};
  const char *s = NULL;
  size_t n = 0;
  int64_t i = 0;
  double d = 0;
  switch (type) {
  case 's':
  case 'r': s = va_arg(*args, const char *); break;
  case 'n':
    s = va_arg(*args, const char *);
    n = va_arg(*args, size_t);
    break;
  case 'i':
  case 't': i = va_arg(*args, int64_t); break;
  case 'b': i = va_arg(*args, int); break;
  case 'd': d = va_arg(*args, double); break;
  case 'v': v = va_arg(*args, struct rp__json); break;
  default: assert(false && "a pattern of rp__jw_pack has a letter that is none"); return;
  }
  if (optional && (type == 'v' ? !v.type : strchr("srn", type) ? !s || !*s : !i && d == 0)) return;
  if (*key) rp__jw_key(w, key);
  switch (type) {
  case 's': rp__jw_str(w, s); break;
  case 'n': rp__jw_strn(w, s ? s : "", n); break;
  case 'r': rp__jw_raw(w, s ? s : "null", s ? strlen(s) : 4); break;
  case 'i': rp__jw_i64(w, i); break;
  case 't': rp__jw_time(w, i); break;
  case 'd': rp__jw_double(w, d); break;
  case 'b': rp__jw_bool(w, i); break;
  default: rp__jw_value(w, v); break;
  }
}

void rp__jw_pack(struct rp__jw *w, const char *pattern, ...)
{
  va_list args;
  va_start(args, pattern);
  for (const char *p = pattern; *p; p++) {
    char key[KEY_MAX + 1] = "";
    const char *colon = p + strspn(p, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-");
    if (*colon == ':') {
      assert(colon - p <= KEY_MAX);
      memcpy(key, p, (size_t)(colon - p));
      p = colon + 1;
    }
    if (*key && strchr("{[", *p)) rp__jw_key(w, key);
    switch (*p) {
    case ' ': break;
    case '{': rp__jw_object(w); break;
    case '}': rp__jw_end_object(w); break;
    case '[': rp__jw_array(w); break;
    case ']': rp__jw_end_array(w); break;
    case '?': pack_value(w, key, *++p, true, &args); break;
    default: pack_value(w, key, *p, false, &args); break;
    }
  }
  va_end(args);
}
