/* SPDX-License-Identifier: Apache-2.0 */
/* Percent-decoding of path segments and query parameters. */
#include "net/uri.h"

#include "base/utf8.h"

static int hex_digit(char c)
{
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/* The byte that stands at `*at`, escaped or not; -1 for a broken escape. */
static int next_byte(struct rp__str raw, bool query, size_t *at)
{
  char c = raw.p[(*at)++];
  if (c == '+' && query) return ' ';
  if (c != '%') return (unsigned char)c;
  if (raw.n - *at < 2) return -1;
  int high = hex_digit(raw.p[*at]), low = hex_digit(raw.p[*at + 1]);
  *at += 2;
  return high < 0 || low < 0 ? -1 : high << 4 | low;
}

int rp__uri_decode(struct rp__str raw, bool query, char *out, size_t size)
{
  size_t n = 0, at = 0;
  while (at < raw.n) {
    int c = next_byte(raw, query, &at);
    if (c < 0x20 || c == 0x7f) return RP_E_USAGE;
    if (n + 1 >= size) return RP_E_TOO_LARGE;
    out[n++] = (char)c;
  }
  if (size == 0) return RP_E_TOO_LARGE;
  out[n] = '\0';
  return rp__utf8_ok(out, n) ? 0 : RP_E_USAGE;
}

bool rp__uri_segment(struct rp__str path, size_t *at, struct rp__str *ret)
{
  if (*at >= path.n || path.p[*at] != '/') return false;
  const char *begin = path.p + *at + 1;
  size_t left = path.n - *at - 1;
  const char *slash = left ? memchr(begin, '/', left) : NULL;
  *ret = (struct rp__str){begin, slash ? (size_t)(slash - begin) : left};
  *at += 1 + ret->n;
  return true;
}

bool rp__uri_next(struct rp__str query, size_t *at, struct rp__str *ret_name, struct rp__str *ret_value)
{
  while (*at < query.n && query.p[*at] == '&') ++*at;
  if (*at >= query.n) return false;
  const char *begin = query.p + *at;
  size_t left = query.n - *at;
  const char *amp = memchr(begin, '&', left);
  size_t n = amp ? (size_t)(amp - begin) : left;
  const char *eq = memchr(begin, '=', n);
  *ret_name = (struct rp__str){begin, eq ? (size_t)(eq - begin) : n};
  *ret_value = eq ? (struct rp__str){eq + 1, n - ret_name->n - 1} : (struct rp__str){begin + n, 0};
  *at += n;
  return true;
}

bool rp__uri_param(struct rp__str query, const char *name, struct rp__str *ret)
{
  struct rp__str found, value;
  for (size_t at = 0; rp__uri_next(query, &at, &found, &value);) {
    if (!rp__str_eq(found, name)) continue;
    *ret = value;
    return true;
  }
  return false;
}
