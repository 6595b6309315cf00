/* SPDX-License-Identifier: Apache-2.0 */
/* The words of a search: parses them, finds them in a text, and makes snippets. */
#include "store/search-words.h"

#define SNIPPET_BEFORE 60
#define SNIPPET_BYTES 200
#define ELLIPSIS "\xe2\x80\xa6"

static bool is_space(char c)
{
  return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_word(char c)
{
  unsigned char u = (unsigned char)c;
  return u >= 0x80 || (u >= '0' && u <= '9') || (u >= 'A' && u <= 'Z') || (u >= 'a' && u <= 'z');
}

static char lower(char c)
{
  return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* The next word of the text at or after *at. */
static bool word_next(struct rp__str text, size_t *at, struct rp__str *ret)
{
  size_t i = *at;
  while (i < text.n && !is_word(text.p[i])) i++;
  size_t start = i;
  while (i < text.n && is_word(text.p[i])) i++;
  *at = i;
  *ret = (struct rp__str){text.p + start, i - start};
  return i > start;
}

/* The term that begins at s; returns where it ends. */
static const char *term_scan(const char *s, struct rp__term *ret)
{
  bool quoted = *s == '"';
  const char *end;
  if (quoted) {
    end = strchr(++s, '"');
    if (!end) end = s + strlen(s);
  } else {
    for (end = s; *end && !is_space(*end) && *end != '"';) end++;
  }
  *ret = (struct rp__term){.text = {s, (size_t)(end - s)}};
  if (quoted && *end == '"') end++;
  ret->prefix = *end == '*' || (ret->text.n > 0 && ret->text.p[ret->text.n - 1] == '*');
  return *end == '*' ? end + 1 : end;
}

int rp__terms_parse(const char *words, struct rp__terms *ret, rp_error *err)
{
  ret->n = 0;
  for (const char *s = words ? words : ""; *s;) {
    struct rp__term t;
    struct rp__str first;
    size_t at = 0;
    if (is_space(*s)) {
      s++;
      continue;
    }
    s = term_scan(s, &t);
    if (!word_next(t.text, &at, &first)) continue;
    if (ret->n == RP_TERMS_MAX) return rp__fail(err, RP_E_USAGE, "more than %d words to look for", RP_TERMS_MAX);
    ret->term[ret->n++] = t;
  }
  return ret->n > 0 ? 0 : rp__fail(err, RP_E_USAGE, "no word to look for");
}

static bool word_eq(struct rp__str have, struct rp__str want, bool prefix)
{
  if (have.n < want.n || (have.n > want.n && !prefix)) return false;
  for (size_t i = 0; i < want.n; i++)
    if (lower(have.p[i]) != lower(want.p[i])) return false;
  return true;
}

/* Whether the term's words are the ones that follow `at`; *ret_end is behind the last of them. */
static bool term_at(const struct rp__term *t, struct rp__str text, size_t at, size_t *ret_end)
{
  struct rp__str want, have, next;
  size_t w = 0;
  bool any = word_next(t->text, &w, &want);
  while (any) {
    bool more = word_next(t->text, &w, &next);
    if (!word_next(text, &at, &have) || !word_eq(have, want, t->prefix && !more)) return false;
    want = next;
    any = more;
  }
  *ret_end = at;
  return true;
}

bool rp__term_find(const struct rp__term *t, struct rp__str text, size_t from, size_t *ret_start, size_t *ret_end)
{
  struct rp__str word;
  for (size_t at = from; word_next(text, &at, &word);) {
    size_t start = (size_t)(word.p - text.p);
    if (term_at(t, text, start, ret_end)) {
      *ret_start = start;
      return true;
    }
  }
  return false;
}

/* Whichever term comes next. */
static bool any_find(const struct rp__terms *t, struct rp__str text, size_t from, size_t *ret_start, size_t *ret_end)
{
  bool found = false;
  for (size_t i = 0; i < t->n; i++) {
    size_t start, end;
    if (!rp__term_find(&t->term[i], text, from, &start, &end)) continue;
    if (!found || start < *ret_start || (start == *ret_start && end > *ret_end)) {
      *ret_start = start;
      *ret_end = end;
    }
    found = true;
  }
  return found;
}

static bool inside_char(struct rp__str text, size_t at)
{
  return at < text.n && ((unsigned char)text.p[at] & 0xc0) == 0x80;
}

static void add_plain(struct rp__buf *out, struct rp__str text, size_t from, size_t to)
{
  for (size_t i = from; i < to; i++) rp__buf_char(out, (unsigned char)text.p[i] < ' ' ? ' ' : text.p[i]);
}

/* Where to begin so that the first word found is seen with what leads to it. */
static size_t window_start(struct rp__str text, size_t found)
{
  if (found <= SNIPPET_BEFORE) return 0;
  size_t at = found - SNIPPET_BEFORE;
  for (size_t i = at; i < found; i++)
    if (is_space(text.p[i])) return i + 1;
  while (inside_char(text, at)) at++;
  return at;
}

void rp__snippet(const struct rp__terms *t, struct rp__str text, struct rp__buf *out)
{
  size_t start = 0, end = 0, at = 0;
  bool found = any_find(t, text, 0, &start, &end);
  if (found) at = window_start(text, start);
  size_t stop = RP_MIN(text.n, at + SNIPPET_BYTES);
  while (inside_char(text, stop)) stop--;
  if (at > 0) rp__buf_str(out, ELLIPSIS);
  while (found && end <= stop) {
    add_plain(out, text, at, start);
    rp__buf_char(out, '[');
    add_plain(out, text, start, end);
    rp__buf_char(out, ']');
    at = end;
    found = any_find(t, text, at, &start, &end);
  }
  add_plain(out, text, at, stop);
  if (stop < text.n) rp__buf_str(out, ELLIPSIS);
}
