/* SPDX-License-Identifier: Apache-2.0 */
/* Makes excerpts of tools' inputs and outputs, and quotes text of others. */
#include "bridge/acp/restore/excerpt.h"

#include "base/text.h"
#include "base/utf8.h"

#define NOTE_BYTES 64  /* of the line that says what is left out, and of the label */
#define WORTH_BYTES 32 /* a text of no more is not left out: the line would be as long */

/* ---- quoting ------------------------------------------------------------------------------------------ */

void rp__quote(struct rp__buf *out, const char *c, unsigned len)
{
  bool next_line = len == 2 && memcmp(c, "\xc2\x85", 2) == 0;
  bool separator = len == 3 && (memcmp(c, "\xe2\x80\xa8", 3) == 0 || memcmp(c, "\xe2\x80\xa9", 3) == 0);
  bool control = len == 1   ? ((uint8_t)*c < 0x20 && *c != '\t') || *c == 0x7f
                 : len == 2 ? (uint8_t)c[0] == 0xc2 && (uint8_t)c[1] < 0xa0
                            : false;
  if ((len == 1 && *c == '\n') || next_line || separator)
    rp__buf_str(out, "\n> ");
  else if (control)
    rp__buf_char(out, ' ');
  else
    rp__buf_add(out, c, len);
}

static void quote_all(struct rp__buf *out, const char *s, size_t n)
{
  const char *end = s + n;
  for (unsigned len; s < end; s += len) {
    len = rp__utf8_len(s, end);
    if (!len) len = 1;
    rp__quote(out, s, len);
  }
}

/* ---- pieces ------------------------------------------------------------------------------------------- */

void rp__excerpt_done(struct rp__excerpt *p)
{
  rp__buf_done(&p->text);
  p->gap = p->left = 0;
}

/* A line's end becomes three bytes, whichever it is; `at` is its last one, within a text that begins at `from`. */
static size_t quoted_byte(const char *from, const char *at)
{
  if (*at == '\n') return 3;
  return at > from && memcmp(at - 1, "\xc2\x85", 2) == 0 ? 2 : 1;
}

static size_t quoted_size(const struct rp__excerpt *p)
{
  size_t n = 0;
  for (size_t i = 0; i < p->text.n; i++) n += quoted_byte(p->text.p, p->text.p + i);
  return n;
}

size_t rp__excerpt_size(const struct rp__excerpt *p)
{
  return p->text.n || p->left ? quoted_size(p) + NOTE_BYTES : 0;
}

/* Leaves both ends, each of at most half of `max` as it is quoted. An older gap lies within the new one. */
static void cut(struct rp__excerpt *p, size_t max)
{
  const char *text = p->text.p;
  size_t n = p->text.n, head = 0, tail = n, room = max / 2;
  size_t head_end = p->left ? p->gap : n;
  for (size_t q; head < head_end && (q = quoted_byte(text, text + head)) <= room; room -= q) head++;
  room = max / 2;
  size_t tail_end = p->left ? p->gap : head;
  for (size_t q; tail > tail_end && (q = quoted_byte(text, text + tail - 1)) <= room; room -= q) tail--;
  while (head && head < n && ((uint8_t)text[head] & 0xc0) == 0x80) head--;
  while (tail < n && ((uint8_t)text[tail] & 0xc0) == 0x80) tail++;
  memmove(p->text.p + head, text + tail, n - tail);
  p->left += tail - head;
  p->text.n -= tail - head;
  p->gap = head;
}

void rp__excerpt_fit(struct rp__excerpt *p, size_t max)
{
  size_t n = quoted_size(p);
  if (n > max && (p->left || n > WORTH_BYTES)) cut(p, max);
}

int rp__excerpt_set(struct rp__excerpt *p, const char *text, size_t n, size_t max)
{
  size_t head = n > max ? max / 2 : n, tail = n > max ? n - max / 2 : n;
  rp__excerpt_done(p);
  p->text = RP_BUF(max + 1);
  while (head && head < n && ((uint8_t)text[head] & 0xc0) == 0x80) head--;
  while (tail < n && ((uint8_t)text[tail] & 0xc0) == 0x80) tail++;
  if (head) rp__buf_add(&p->text, text, head);
  if (tail < n) rp__buf_add(&p->text, text + tail, n - tail);
  p->gap = head;
  p->left = tail - head;
  if (!p->text.err) rp__excerpt_fit(p, max);
  return p->text.err;
}

/* 12,345 */
static void write_number(struct rp__buf *out, size_t n)
{
  if (n >= 1000) {
    write_number(out, n / 1000);
    rp__buf_printf(out, ",%03zu", n % 1000);
  } else {
    rp__buf_printf(out, "%zu", n);
  }
}

void rp__left_out(struct rp__buf *out, size_t n)
{
  rp__buf_str(out, "[… ");
  write_number(out, n);
  rp__buf_str(out, " bytes left out]");
}

void rp__excerpt_write(const struct rp__excerpt *p, const char *label, struct rp__buf *out)
{
  if (!p->text.n && !p->left) return;
  size_t gap = p->left ? p->gap : p->text.n;
  rp__buf_str(out, label);
  if (gap) quote_all(out, p->text.p, gap);
  rp__buf_char(out, '\n');
  if (!p->left) return;
  rp__left_out(out, p->left);
  rp__buf_char(out, '\n');
  if (gap == p->text.n) return;
  rp__buf_str(out, "> ");
  quote_all(out, p->text.p + gap, p->text.n - gap);
  rp__buf_char(out, '\n');
}
