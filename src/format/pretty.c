/* SPDX-License-Identifier: Apache-2.0 */
/* Formats checked JSON like Python's json.dump(indent=2), which wrote the files of the original programs. */
#include "format/format.h"

static void newline(struct rp__buf *out, unsigned depth)
{
  rp__buf_char(out, '\n');
  for (unsigned i = 0; i < depth; i++) rp__buf_add(out, "  ", 2);
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
    const unsigned char *p = (const unsigned char *)v.p + i;
    unsigned n = *p < 0xe0 ? 2 : *p < 0xf0 ? 3 : 4, c = *p & (0x7fU >> n);
    if (n > v.n - i) break;
    for (unsigned k = 1; k < n; k++) c = c << 6 | (p[k] & 0x3f);
    if (c >= 0x10000)
      rp__buf_printf(out, "\\u%04x\\u%04x", 0xd800 + ((c - 0x10000) >> 10), 0xdc00 + (c & 0x3ff));
    else
      rp__buf_printf(out, "\\u%04x", c);
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
