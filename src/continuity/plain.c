/* SPDX-License-Identifier: Apache-2.0 */
/* Makes stored text fit for one line of a brief. */
#include "continuity/plain.h"

#include "base/utf8.h"
#include "json/text.h"

#define ELLIPSIS "…"

struct rp__plain rp__plain_begin(struct rp__buf *out, size_t max)
{
  return (struct rp__plain){.out = out, .start = out->n, .cut_at = out->n, .max = max};
}

static bool is_gap(const char *c, unsigned n)
{
  uint8_t a = (uint8_t)c[0], b = n > 1 ? (uint8_t)c[1] : 0, d = n > 2 ? (uint8_t)c[2] : 0;
  if (n == 1) return a <= 0x20 || a == 0x7f;
  if (n == 2) return a == 0xc2 && b <= 0x9f;                           /* U+0080 to U+009F, the next line among them */
  return n == 3 && a == 0xe2 && b == 0x80 && (d == 0xa8 || d == 0xa9); /* line and paragraph separator */
}

static void put(struct rp__plain *t, const char *c, unsigned n)
{
  if (t->over) return;
  if (t->chars == t->max) {
    t->over = true;
    return;
  }
  if (t->chars + 1 == t->max) t->cut_at = t->out->n;
  rp__buf_add(t->out, c, n);
  t->chars++;
}

/* Characters that nobody sees, and those that turn the direction of what follows. Joiners of scripts and emoji stay. */
static bool is_hidden(const char *c, unsigned n)
{
  uint8_t a = (uint8_t)c[0], b = n == 3 ? (uint8_t)c[1] : 0, last = n == 3 ? (uint8_t)c[2] : 0;
  if (a == 0xef) return b == 0xbb && last == 0xbf; /* U+FEFF */
  if (a != 0xe2) return false;
  if (b == 0x81) return last >= 0xa6 && last <= 0xa9; /* U+2066 to U+2069 */
  return b == 0x80 && (last == 0x8b || last == 0x8e || last == 0x8f || (last >= 0xaa && last <= 0xae));
}

static void take(struct rp__plain *t, const char *c, unsigned n)
{
  if (is_hidden(c, n)) return;
  if (is_gap(c, n)) {
    t->gap = true;
    return;
  }
  if (t->gap && t->chars) put(t, " ", 1);
  t->gap = false;
  put(t, c, n);
}

static void take_bad(struct rp__plain *t)
{
  t->n_half = 0;
  take(t, "\xef\xbf\xbd", 3);
}

static void byte(struct rp__plain *t, char c)
{
  if (t->n_half && !rp__is_continuation(c)) take_bad(t);
  if (t->n_half == 0) {
    uint8_t a = (uint8_t)c;
    t->want = a < 0x80 ? 1 : a < 0xc2 ? 0 : a < 0xe0 ? 2 : a < 0xf0 ? 3 : a < 0xf5 ? 4 : 0;
    if (t->want == 0) {
      take_bad(t);
      return;
    }
  }
  t->half[t->n_half++] = c;
  if (t->n_half < t->want) return;
  if (rp__utf8_len(t->half, t->half + t->want) != t->want) {
    take_bad(t);
    return;
  }
  t->n_half = 0;
  take(t, t->half, t->want);
}

void rp__plain_bytes(struct rp__plain *t, const char *s, size_t n)
{
  for (size_t i = 0; i < n && !t->over; i++) byte(t, s[i]);
  if (t->n_half) take_bad(t);
}

void rp__plain_json(struct rp__plain *t, struct rp__json string)
{
  if (string.type != RP_JSON_STRING || string.n < 2) return;
  struct rp__json_cursor at = {.at = string.p + 1, .end = string.p + string.n - 1};
  for (int c = rp__json_cursor_next(&at); c >= 0 && !t->over; c = rp__json_cursor_next(&at)) byte(t, (char)c);
  if (t->n_half) take_bad(t);
}

void rp__plain_gap(struct rp__plain *t)
{
  t->gap = true;
}

size_t rp__plain_end(struct rp__plain *t)
{
  struct rp__buf *out = t->out;
  if (!t->over || out->err) return t->chars;
  out->n = t->cut_at;
  if (out->n > t->start && out->p[out->n - 1] == ' ') out->n--;
  if (t->max) rp__buf_str(out, ELLIPSIS);
  if (out->p) out->p[out->n] = '\0';
  return t->chars;
}

size_t rp__plain_text(struct rp__buf *out, const char *s, size_t max)
{
  struct rp__plain t = rp__plain_begin(out, max);
  rp__plain_bytes(&t, s, strlen(s));
  return rp__plain_end(&t);
}

size_t rp__plain_value(struct rp__buf *out, struct rp__json v, size_t max)
{
  struct rp__plain t = rp__plain_begin(out, max);
  if (v.type == RP_JSON_STRING)
    rp__plain_json(&t, v);
  else if (v.type != RP_JSON_NONE && v.type != RP_JSON_NULL)
    rp__plain_bytes(&t, v.p, v.n);
  return rp__plain_end(&t);
}

/* {"type":"text","text"}, {"type":"content","content":{…}}, {"type":"resource","resource":{"text"}}, or a bare text. */
static void take_block(struct rp__plain *t, struct rp__json block)
{
  struct rp__json text = block.type == RP_JSON_STRING ? block : rp__json_get(block, "text");
  if (text.type != RP_JSON_STRING) text = rp__json_get(rp__json_get(block, "content"), "text");
  if (text.type != RP_JSON_STRING) text = rp__json_get(rp__json_get(block, "resource"), "text");
  rp__plain_gap(t);
  rp__plain_json(t, text);
}

size_t rp__plain_content(struct rp__buf *out, struct rp__json content, size_t max)
{
  struct rp__plain t = rp__plain_begin(out, max);
  struct rp__json block;
  struct rp__json_iter it = {0};
  if (content.type == RP_JSON_STRING || content.type == RP_JSON_OBJECT) take_block(&t, content);
  if (content.type == RP_JSON_ARRAY)
    while (!t.over && rp__json_next(content, &it, NULL, &block)) take_block(&t, block);
  return rp__plain_end(&t);
}
