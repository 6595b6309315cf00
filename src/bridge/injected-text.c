/* SPDX-License-Identifier: Apache-2.0 */
/* Marks around text of Reprise: putting them on, taking them off, finding them. */
#include "bridge/injected-text.h"

#include "base/text.h"

#define LABEL_MAX 128 /* bytes of an agent's words about whose text it is */

/* What agents put around text that hooks gave: Gemini CLI, and Claude Code with a label before the text. */
static const struct wrapper {
  const char *open, *close;
} wrappers[] = {{"<hook_context>", "</hook_context>"}, {"<system-reminder>", "</system-reminder>"}};

static const char *find(const char *from, const char *end, const char *what)
{
  return from < end ? memmem(from, (size_t)(end - from), what, strlen(what)) : NULL;
}

static const char *skip_blanks(const char *p, const char *end)
{
  while (p < end && rp__is_in(*p, " \t\r\n")) p++;
  return p;
}

static const char *back_over_blanks(const char *from, const char *p)
{
  while (p > from && rp__is_in(p[-1], " \t\r\n")) p--;
  return p;
}

void rp__mark(struct rp__buf *out, const char *text, size_t n)
{
  if (!n) return;
  const char *p = text, *end = back_over_blanks(p, p + n);
  if (p == end) return;
  rp__buf_str(out, RP_MARK_BEGIN "\n");
  for (;;) {
    const char *a = find(p, end, RP_MARK_BEGIN), *b = find(p, end, RP_MARK_END);
    const char *mark = a && (!b || a < b) ? a : b;
    if (!mark) break;
    rp__buf_add(out, p, (size_t)(mark - p));
    rp__buf_char(out, '(');
    p = mark + 1;
  }
  rp__buf_add(out, p, (size_t)(end - p));
  rp__buf_str(out, "\n" RP_MARK_END);
}

/* Whether the text of ours between two marks has lines of its own, as written: people quote marks within a line. */
static bool has_lines(const char *from, const char *to)
{
  const char *first = from, *last = to;
  while (first < to && rp__is_in(*first, " \t\r")) first++;
  while (last > from && rp__is_in(last[-1], " \t\r")) last--;
  return first < last && *first == '\n' && last[-1] == '\n';
}

/*
 * Where the text of ours that begins at `mark` ends. An agent may have cut it: then its wrapper does. NULL: nowhere, so
 * somebody only speaks of the mark. Our text holds no mark: of several beginnings before an end, the last is ours.
 */
static const char *end_of(const char *mark, const char *end, const struct wrapper *wrapped)
{
  const char *from = mark + strlen(RP_MARK_BEGIN), *next = find(from, end, RP_MARK_BEGIN);
  if (next) end = next;
  const char *at = find(from, end, RP_MARK_END), *close = wrapped ? find(from, end, wrapped->close) : NULL;
  if (at && (!close || at < close)) return wrapped || has_lines(from, at) ? at + strlen(RP_MARK_END) : NULL;
  return close;
}

static bool ends_in(const char *from, const char *to, const char *what)
{
  size_t n = strlen(what);
  return (size_t)(to - from) >= n && memcmp(to - n, what, n) == 0;
}

/* The wrapper that begins right before the text of ours, or before a label that ends in a colon; where it begins. */
static const struct wrapper *wrapper_of(const char *from, const char *mark, const char **ret_begin)
{
  const char *text = back_over_blanks(from, mark), *label = text;
  if (text > from && text[-1] == ':')
    while (label > from && text - label < LABEL_MAX && label[-1] != '>') label--;
  for (size_t i = 0; i < RP_ARRAY_SIZE(wrappers); i++) {
    const char *open = wrappers[i].open;
    bool bare = ends_in(from, text, open);
    if (!bare && !ends_in(from, label, open)) continue;
    *ret_begin = (bare ? text : label) - strlen(open);
    return &wrappers[i];
  }
  return NULL;
}

/* One piece of ours, with the blanks behind it and a wrapper that would be left empty. */
static bool take_one(struct rp__buf *text, size_t *from)
{
  const char *p = text->p, *end = p + text->n, *mark = find(p + *from, end, RP_MARK_BEGIN);
  if (!mark) return false;
  const char *begin = mark, *opened = NULL;
  const struct wrapper *wrapped = wrapper_of(p, mark, &opened);
  size_t closes = wrapped ? strlen(wrapped->close) : 0;
  const char *to = end_of(mark, end, wrapped);
  *from = (size_t)(mark - p) + strlen(RP_MARK_BEGIN);
  if (!to) return true;
  to = skip_blanks(to, end);
  if (wrapped && (size_t)(end - to) >= closes && memcmp(to, wrapped->close, closes) == 0) {
    begin = opened;
    to = skip_blanks(to + closes, end);
  }
  if (to == end) begin = back_over_blanks(p, begin);
  *from = (size_t)(begin - p);
  memmove(text->p + *from, to, (size_t)(end - to));
  text->n = *from + (size_t)(end - to);
  text->p[text->n] = '\0';
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
