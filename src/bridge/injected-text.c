/* SPDX-License-Identifier: Apache-2.0 */
/* Marks around text of Reprise: putting them on, taking them off, finding them. */
#include "bridge/injected-text.h"

/* Gemini CLI's, around what hooks gave. */
static const char open_tag[] = "<hook_context>", close_tag[] = "</hook_context>";

static const char *find(const char *from, const char *end, const char *what)
{
  return from < end ? memmem(from, (size_t)(end - from), what, strlen(what)) : NULL;
}

static bool blank(char c)
{
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static const char *skip_blanks(const char *p, const char *end)
{
  while (p < end && blank(*p)) p++;
  return p;
}

static const char *back_over_blanks(const char *from, const char *p)
{
  while (p > from && blank(p[-1])) p--;
  return p;
}

/* ---- writing ---- */

static const char *next_mark(const char *p, const char *end)
{
  const char *a = find(p, end, RP_MARK_BEGIN), *b = find(p, end, RP_MARK_END);
  return a && (!b || a < b) ? a : b;
}

void rp__mark(struct rp__buf *out, const char *text, size_t n)
{
  if (!n) return;
  const char *p = text, *end = back_over_blanks(p, p + n), *mark;
  if (p == end) return;
  rp__buf_str(out, RP_MARK_BEGIN "\n");
  for (; (mark = next_mark(p, end)); p = mark + 1) {
    rp__buf_add(out, p, (size_t)(mark - p));
    rp__buf_char(out, '(');
  }
  rp__buf_add(out, p, (size_t)(end - p));
  rp__buf_str(out, "\n" RP_MARK_END);
}

/* ---- taking away ---- */

static bool ends_with(const char *from, const char *at, const char *what)
{
  size_t n = strlen(what);
  return (size_t)(at - from) >= n && memcmp(at - n, what, n) == 0;
}

static bool starts_with(const char *at, const char *end, const char *what)
{
  size_t n = strlen(what);
  return (size_t)(end - at) >= n && memcmp(at, what, n) == 0;
}

/* Whether the text of ours between two marks has lines of its own, as written: people quote marks within a line. */
static bool has_lines(const char *from, const char *to)
{
  const char *first = from, *last = to;
  while (first < to && (*first == ' ' || *first == '\t' || *first == '\r')) first++;
  while (last > from && (last[-1] == ' ' || last[-1] == '\t' || last[-1] == '\r')) last--;
  return first < last && *first == '\n' && last[-1] == '\n';
}

/*
 * Where the text of ours that begins at `mark` ends. An agent may have cut it: then its wrapper does. NULL: nowhere, so
 * somebody only speaks of the mark. Our text holds no mark: of several beginnings before an end, the last is ours.
 */
static const char *end_of(const char *mark, const char *end, bool wrapped)
{
  const char *from = mark + strlen(RP_MARK_BEGIN), *next = find(from, end, RP_MARK_BEGIN);
  if (next) end = next;
  const char *at = find(from, end, RP_MARK_END), *close = wrapped ? find(from, end, close_tag) : NULL;
  if (at && (!close || at < close)) return wrapped || has_lines(from, at) ? at + strlen(RP_MARK_END) : NULL;
  return close;
}

static void cut(struct rp__buf *text, const char *from, const char *to)
{
  size_t at = (size_t)(from - text->p), rest = text->n - (size_t)(to - text->p);
  memmove(text->p + at, to, rest);
  text->n = at + rest;
  text->p[text->n] = '\0';
}

/* One piece of ours, with the blanks behind it and a wrapper that would be left empty. */
static bool take_one(struct rp__buf *text, size_t *from)
{
  const char *p = text->p, *end = p + text->n, *mark = find(p + *from, end, RP_MARK_BEGIN);
  if (!mark) return false;
  const char *before = back_over_blanks(p, mark), *begin = mark;
  bool wrapped = ends_with(p, before, open_tag);
  const char *to = end_of(mark, end, wrapped);
  *from = (size_t)(mark - p) + strlen(RP_MARK_BEGIN);
  if (!to) return true;
  to = skip_blanks(to, end);
  if (wrapped && starts_with(to, end, close_tag)) {
    begin = before - strlen(open_tag);
    to = skip_blanks(to + strlen(close_tag), end);
  }
  if (to == end) begin = back_over_blanks(p, begin);
  *from = (size_t)(begin - p);
  cut(text, begin, to);
  return true;
}

void rp__unmark(struct rp__buf *text)
{
  size_t from = 0;
  while (text->n && !text->err && take_one(text, &from)) continue;
}

bool rp__marked(struct rp__json string)
{
  size_t n = strlen(RP_MARK_BEGIN);
  return string.type == RP_JSON_STRING && string.n >= n + 2 && memcmp(string.p + 1, RP_MARK_BEGIN, n) == 0;
}
