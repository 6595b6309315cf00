/* SPDX-License-Identifier: Apache-2.0 */
/* Formats checked JSON like Python's json.dump(indent=2), which wrote the files of the original programs. */
#include "format/format.h"

static void newline(struct rp__buf *out, unsigned depth)
{
  rp__buf_char(out, '\n');
  for (unsigned i = 0; i < depth; i++) rp__buf_add(out, "  ", 2);
}

/* One character of valid UTF-8 as its code point; returns its bytes. */
static unsigned decode(const unsigned char *p, unsigned *ret)
{
  unsigned n = *p < 0xe0 ? 2 : *p < 0xf0 ? 3 : 4;
  unsigned c = *p & (0x7fU >> n);
  for (unsigned i = 1; i < n; i++) c = c << 6 | (p[i] & 0x3f);
  *ret = c;
  return n;
}

static void escape(struct rp__buf *out, unsigned c)
{
  if (c >= 0x10000) {
    c -= 0x10000;
    rp__buf_printf(out, "\\u%04x\\u%04x", 0xd800 + (c >> 10), 0xdc00 + (c & 0x3ff));
  } else {
    rp__buf_printf(out, "\\u%04x", c);
  }
}

/* The string as it stands, its characters beyond ASCII escaped; the bytes were checked to be UTF-8. */
static void ascii_string(struct rp__json v, struct rp__buf *out)
{
  bool key = v.n == 0 || v.p[0] != '"';
  if (key) rp__buf_char(out, '"');
  for (size_t i = 0; i < v.n;) {
    size_t from = i;
    while (i < v.n && (unsigned char)v.p[i] < 0x80) i++;
    if (i > from) rp__buf_add(out, v.p + from, i - from);
    if (i == v.n) break;
    unsigned c, n = decode((const unsigned char *)v.p + i, &c);
    if (n > v.n - i) break;
    escape(out, c);
    i += n;
  }
  if (key) rp__buf_char(out, '"');
}

static void scalar(struct rp__json v, bool ascii, struct rp__buf *out)
{
  struct rp__jw w = RP_JW(out);
  if (ascii && v.type == RP_JSON_STRING)
    ascii_string(v, out);
  else
    rp__jw_value(&w, v);
}

static void value(struct rp__json v, bool ascii, unsigned depth, struct rp__buf *out)
{
  struct rp__json_iter it = {0};
  struct rp__json key, item;
  bool object = v.type == RP_JSON_OBJECT, first = true;
  if ((!object && v.type != RP_JSON_ARRAY) || depth > RP_JSON_DEPTH_LIMIT) {
    scalar(v, ascii, out);
    return;
  }
  rp__buf_char(out, object ? '{' : '[');
  while (rp__json_next(v, &it, &key, &item)) {
    if (!first) rp__buf_char(out, ',');
    first = false;
    newline(out, depth + 1);
    if (object) {
      scalar(key, ascii, out);
      rp__buf_add(out, ": ", 2);
    }
    value(item, ascii, depth + 1, out);
  }
  if (!first) newline(out, depth);
  rp__buf_char(out, object ? '}' : ']');
}

void rp__json_pretty(struct rp__json v, bool ascii, struct rp__buf *out)
{
  value(v, ascii, 0, out);
}
