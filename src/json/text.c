/* SPDX-License-Identifier: Apache-2.0 */
#include "json/text.h"

#include "json/json.h"
#include "json/scan.h"

static int hex_digit(char c)
{
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

int rp__json_hex4(const char *at)
{
  int v = 0;
  for (int i = 0; i < 4; i++) {
    int d = hex_digit(at[i]);
    if (d < 0) return -1;
    v = v << 4 | d;
  }
  return v;
}

static unsigned utf8_encode(uint32_t u, char out[4])
{
  if (u < 0x80) {
    out[0] = (char)u;
    return 1;
  }
  unsigned n = u < 0x800 ? 2 : u < 0x10000 ? 3 : 4;
  for (unsigned i = n - 1; i > 0; i--, u >>= 6) out[i] = (char)(0x80 | (u & 0x3f));
  static const uint8_t lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
  out[0] = (char)(lead[n] | u);
  return n;
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
  case 'u':
    if (end - *at >= 4) return utf8_encode(unescape_unicode(at, end), out);
    break;
  default: break;
  }
  out[0] = *p;
  return 1;
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

/* A key comes without its quotes. No raw string begins with one, so the two can't be mixed up. */
static struct rp__str raw_of(struct rp__json string)
{
  struct rp__str raw = {string.p, string.n};
  if (raw.n == 0 || raw.p[0] != '"') return raw;
  return (struct rp__str){raw.p + 1, raw.n >= 2 ? raw.n - 2 : 0};
}

bool rp__json_eq(struct rp__json string, const char *s)
{
  if (string.type != RP_JSON_STRING) return false;
  struct rp__str raw = raw_of(string);
  if (raw.n == 0 || !memchr(raw.p, '\\', raw.n)) return rp__str_eq(raw, s);
  struct rp__json_cursor c = {.at = raw.p, .end = raw.p + raw.n};
  for (;; s++) {
    int b = rp__json_cursor_next(&c);
    if (b < 0) return *s == '\0';
    if (b != (uint8_t)*s || b == 0) return false;
  }
}

/* Writes the decoded bytes to `out`, which has raw.n bytes of room; returns how many they are. */
static size_t decode_into(struct rp__str raw, char *out)
{
  const char *at = raw.p, *end = raw.p + raw.n;
  char *to = out;
  while (at < end) {
    const char *slash = memchr(at, '\\', (size_t)(end - at));
    size_t n = (size_t)((slash ? slash : end) - at);
    memcpy(to, at, n);
    to += n;
    at += n;
    if (!slash) break;
    char bytes[4];
    unsigned len = rp__json_unescape(&at, end, bytes);
    memcpy(to, bytes, len);
    to += len;
  }
  return (size_t)(to - out);
}

/* Runs are added one by one because the raw length may be over the buffer's maximum when the text is not. */
int rp__json_text(struct rp__json string, struct rp__buf *out)
{
  if (string.type != RP_JSON_STRING) return RP_E_INVALID;
  struct rp__str raw = raw_of(string);
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
  struct rp__str raw = raw_of(string);
  char *copy = malloc(raw.n + 1);
  if (copy) copy[decode_into(raw, copy)] = '\0';
  return copy;
}
