/* SPDX-License-Identifier: Apache-2.0 */
/* Strings of JSON: decodes escapes, compares and copies. */
#include "json/text.h"

#include "json/scan.h"

int rp__json_hex4(const char *at)
{
  int v = 0;
  for (int i = 0; i < 4; i++) {
    char low = (char)(at[i] | 0x20);
    if (at[i] >= '0' && at[i] <= '9')
      v = v << 4 | (at[i] - '0');
    else if (low >= 'a' && low <= 'f')
      v = v << 4 | (low - 'a' + 10);
    else
      return -1;
  }
  return v;
}

/* *at stands behind "\u"; `end` is at least four bytes away. */
static uint32_t unescape_unicode(const char **at, const char *end)
{
  int u = rp__json_hex4(*at);
  *at += 4;
  if (u < 0 || (u & 0xfc00) == 0xdc00) return 0xfffd;
  if ((u & 0xfc00) != 0xd800) return (uint32_t)u;
  const char *p = *at;
  if (end - p < 6 || p[0] != '\\' || p[1] != 'u') return 0xfffd;
  int low = rp__json_hex4(p + 2);
  if (low < 0 || (low & 0xfc00) != 0xdc00) return 0xfffd;
  *at += 6;
  return 0x10000 + ((uint32_t)(u & 0x3ff) << 10) + (uint32_t)(low & 0x3ff);
}

unsigned rp__json_unescape(const char **at, const char *end, char out[4])
{
  static const uint8_t lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
  const char *p = *at + 1;
  out[0] = '\\';
  if (p >= end) {
    *at = end;
    return 1;
  }
  *at = p + 1;
  switch (*p) {
  case 'b': out[0] = '\b'; return 1;
  case 'f': out[0] = '\f'; return 1;
  case 'n': out[0] = '\n'; return 1;
  case 'r': out[0] = '\r'; return 1;
  case 't': out[0] = '\t'; return 1;
  default: out[0] = *p; break;
  }
  if (*p != 'u' || end - *at < 4) return 1;
  uint32_t u = unescape_unicode(at, end);
  unsigned n = u < 0x80 ? 1 : u < 0x800 ? 2 : u < 0x10000 ? 3 : 4;
  for (unsigned i = n - 1; i > 0; i--, u >>= 6) out[i] = (char)(0x80 | (u & 0x3f));
  out[0] = (char)(lead[n] | u);
  return n;
}

int rp__json_cursor_next(struct rp__json_cursor *c)
{
  if (c->i < c->n) return (uint8_t)c->out[c->i++];
  if (c->at >= c->end) return -1;
  if (*c->at != '\\') return (uint8_t)*c->at++;
  c->n = rp__json_unescape(&c->at, c->end, c->out);
  c->i = 1;
  return (uint8_t)c->out[0];
}

int rp__json_text_cmp(struct rp__str a, struct rp__str b)
{
  struct rp__json_cursor x = {.at = a.p, .end = a.p + a.n}, y = {.at = b.p, .end = b.p + b.n};
  for (;;) {
    int i = rp__json_cursor_next(&x), j = rp__json_cursor_next(&y);
    if (i != j || i < 0) return i - j;
  }
}

bool rp__json_eq(struct rp__json string, const char *s)
{
  if (string.type != RP_JSON_STRING) return false;
  struct rp__str raw = rp__json_raw(string);
  if (raw.n > 0 && raw.p[0] != s[0] && raw.p[0] != '\\') return false; /* as most keys that are looked at */
  if (raw.n == 0 || !memchr(raw.p, '\\', raw.n)) return rp__str_eq(raw, s);
  struct rp__json_cursor c = {.at = raw.p, .end = raw.p + raw.n};
  for (;; s++) {
    int b = rp__json_cursor_next(&c);
    if (b < 0) return *s == '\0';
    if (b != (uint8_t)*s || b == 0) return false;
  }
}

/* Runs are added one by one because the raw length may be over the buffer's maximum when the text is not. */
int rp__json_text(struct rp__json string, struct rp__buf *out)
{
  if (string.type != RP_JSON_STRING) return RP_E_INVALID;
  struct rp__str raw = rp__json_raw(string);
  const char *at = raw.p, *end = raw.p + raw.n;
  while (at < end && !out->err) {
    const char *slash = memchr(at, '\\', (size_t)(end - at));
    rp__buf_add(out, at, (size_t)((slash ? slash : end) - at));
    if (!slash) break;
    at = slash;
    char bytes[4];
    unsigned len = rp__json_unescape(&at, end, bytes);
    rp__buf_add(out, bytes, len);
  }
  return out->err;
}

char *rp__json_dup(struct rp__json string)
{
  if (string.type != RP_JSON_STRING) return NULL;
  struct rp__str raw = rp__json_raw(string);
  const char *at = raw.p, *end = raw.p + raw.n;
  char *copy = malloc(raw.n + 1), *to = copy, bytes[4]; /* decoded it is never longer */
  while (copy && at < end) {
    const char *slash = memchr(at, '\\', (size_t)(end - at));
    size_t n = (size_t)((slash ? slash : end) - at);
    memcpy(to, at, n);
    to += n;
    at += n;
    if (!slash) break;
    n = rp__json_unescape(&at, end, bytes);
    memcpy(to, bytes, n);
    to += n;
  }
  if (copy) *to = '\0';
  return copy;
}
