/* SPDX-License-Identifier: Apache-2.0 */
/* Titles of tasks that are known from a mention only. */
#include "facets/mentions.h"
#include "facets/words.h"

static bool is_space(char c)
{
  return c == ' ' || (unsigned char)c < 0x20;
}

/* Cuts marks of lists, quotes and headings off the beginning, and punctuation off both ends. */
static struct rp__str trimmed(struct rp__str s)
{
  static const char leading[] = "-*+#>:,;.!?)]", trailing[] = "-:,;.!?([";
  for (;;) {
    size_t n = s.n;
    if (s.n && (is_space(s.p[0]) || strchr(leading, s.p[0]))) s.p++, s.n--;
    if (rp__text_begins(s, 0, RP_STR("[ ]")) || rp__text_begins(s, 0, RP_STR("[x]")) ||
        rp__text_begins(s, 0, RP_STR("\xe2\x80\xa2")) /* • */)
      s.p += 3, s.n -= 3;
    size_t digits = 0;
    while (digits < s.n && s.p[digits] >= '0' && s.p[digits] <= '9') digits++;
    if (digits && digits + 1 < s.n && (s.p[digits] == '.' || s.p[digits] == ')') && is_space(s.p[digits + 1]))
      s.p += digits + 1, s.n -= digits + 1;
    if (s.n && (is_space(s.p[s.n - 1]) || strchr(trailing, s.p[s.n - 1]))) s.n--;
    if (s.n == n) return s;
  }
}

/* Lines of logs, code and markup begin with a time or hold signs and words that no sentence has. */
static bool is_prose(struct rp__str s, struct rp__str id)
{
  static const struct rp__str levels[] = {{"ERROR", 5}, {"WARN", 4},  {"WARNING", 7}, {"INFO", 4},
                                          {"DEBUG", 5}, {"FATAL", 5}, {"TRACE", 5}};
  size_t digits = 0, parts = 0;
  while (digits < s.n && (rp__is_alnum(s.p[digits]) || strchr("-:/.", s.p[digits])))
    parts += strchr("-:/", s.p[digits++]) != NULL;
  if (s.n && s.p[0] >= '0' && s.p[0] <= '9' && parts >= 2) return false;
  if (s.n && ((s.p[0] == '[' && s.p + 1 != id.p) || s.p[0] == '$')) return false;
  for (size_t i = 0; i < s.n; i++) {
    if (s.p[i] == '\t' || strchr("{}<>=|\\", s.p[i])) return false;
    for (size_t k = 0; k < RP_ARRAY_SIZE(levels); k++)
      if (s.n - i >= levels[k].n && memcmp(s.p + i, levels[k].p, levels[k].n) == 0 && rp__text_begins_word(s, i) &&
          rp__text_bound(s, i + levels[k].n))
        return false;
  }
  return true;
}

/* The part of the clause that the id can be left out with: the id, what encloses it, or the colon or dash behind it. */
static struct rp__str set_off(struct rp__str clause, struct rp__str id)
{
  const char *from = id.p, *to = id.p + id.n, *end = clause.p + clause.n;
  bool enclosed = from > clause.p && to < end && memchr("([", from[-1], 2) && memchr(")]", *to, 2);
  if (enclosed) from--, to++;
  bool leads = from == clause.p;
  const char *sign = to;
  while (sign < end && is_space(*sign)) sign++;
  struct rp__str rest = {sign, (size_t)(end - sign)};
  bool dash = rp__text_begins(rest, 0, RP_STR("\xe2\x80\x93")) || rp__text_begins(rest, 0, RP_STR("\xe2\x80\x94"));
  if (leads && (rp__text_begins(rest, 0, RP_STR(":")) || rp__text_begins(rest, 0, RP_STR("- ")) || dash))
    return (struct rp__str){from, (size_t)(sign + (dash ? 3 : 1) - from)};
  return enclosed ? (struct rp__str){from, (size_t)(to - from)} : (struct rp__str){clause.p, 0};
}

/* Adds the text on one line, with one space where there are several. */
static void add_line(struct rp__buf *out, struct rp__str s)
{
  for (size_t i = 0; i < s.n; i++) {
    if (!is_space(s.p[i]))
      rp__buf_char(out, s.p[i]);
    else if (out->n && out->p[out->n - 1] != ' ')
      rp__buf_char(out, ' ');
  }
}

int rp__mention_title(const struct rp__mention *m, struct rp__buf *out)
{
  struct rp__str clause = trimmed(m->clause);
  bool holds = m->id.p >= clause.p && m->id.p + m->id.n <= clause.p + clause.n;
  if (holds && is_prose(trimmed(m->line), m->id)) {
    struct rp__str gone = set_off(clause, m->id), rest = {gone.p + gone.n, 0};
    rest.n = (size_t)(clause.p + clause.n - rest.p);
    add_line(out, trimmed((struct rp__str){clause.p, (size_t)(gone.p - clause.p)}));
    if (out->n) rp__buf_char(out, ' ');
    add_line(out, trimmed(rest));
  }
  if (out->err) return out->err;
  size_t n = 0, chars = 0;
  while (n < out->n && (chars < RP_MENTION_TITLE || ((unsigned char)out->p[n] & 0xc0) == 0x80))
    chars += ((unsigned char)out->p[n++] & 0xc0) != 0x80;
  if (n < out->n) {
    size_t whole = rp__text_clip_word(out->p, out->n, n);
    out->n = whole ? whole : n;
    rp__buf_str(out, "\xe2\x80\xa6"); /* … */
  }
  while (out->n && out->p[out->n - 1] == ' ') out->n--;
  if (!out->n) rp__buf_add(out, m->id.p, m->id.n);
  return out->err;
}
