/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the end of a secret whose beginning is known. */
#include "redact/find.h"

#include "base/text.h"

#define QUOTED_MAX 4096 /* bytes between two quotes that are still one value */

static bool in_token(char c)
{
  return rp__is_alnum(c) || c == '-' || c == '_';
}

static bool in_value(char c)
{
  return (unsigned char)c > ' ' && !rp__is_in(c, "\"'`,;)]}<>|&\\");
}

static bool in_word(char c)
{
  return (unsigned char)c > ' ';
}

static bool in_name(char c)
{
  return in_value(c) && c != '=';
}

static size_t span_of(bool (*in)(char c), const char *text, size_t n, size_t at)
{
  while (at < n && in(text[at])) at++;
  return at;
}

/* An & belongs to the value unless a name and = follow, as in a query. */
static size_t value_end(const char *text, size_t n, size_t at)
{
  for (;;) {
    at = span_of(in_value, text, n, at);
    if (at >= n || text[at] != '&') return at;
    size_t name = span_of(in_name, text, n, at + 1);
    if (name == at + 1 || (name < n && text[name] == '=')) return name < n ? at : n;
    at++;
  }
}

/*
 * Up to the closing quote. A quote that is not closed on its line was none: then the value ends as if it were not
 * quoted, except at the end of the text, which may have been cut. \" closes what \" opened and belongs to what "
 * opened.
 */
static size_t quoted_end(char quote, bool escaped, const char *text, size_t n, size_t at)
{
  size_t end = RP_MIN(n, at + QUOTED_MAX);
  for (size_t i = at; i < end; i++) {
    if (text[i] == '\n' || text[i] == '\r') return value_end(text, n, at);
    if (text[i] == quote) return i;
    if (text[i] != '\\') continue;
    if (escaped && i + 1 < n && text[i + 1] == quote) return i;
    i++;
  }
  return end;
}

size_t rp__run_end(enum rp__run run, char quote, const char *text, size_t n, size_t at)
{
  switch (run) {
  case RP_RUN_TOKEN: return span_of(in_token, text, n, at);
  case RP_RUN_VALUE:
    if (!quote) return value_end(text, n, at);
    return quoted_end((char)(quote & 0x7f), quote & 0x80, text, n, at);
  case RP_RUN_ENV: /* what separates values separates nothing where letters or digits follow */
    for (at = value_end(text, n, at); at < n && rp__is_in(text[at], ",;)]}<>&|"); at = value_end(text, n, at + 1)) {
      if (at + 1 == n) return n;
      if (!rp__is_alnum(text[at + 1])) break;
    }
    break;
  case RP_RUN_WORD: return span_of(in_word, text, n, at);
  case RP_RUN_KEY: /* a dash may stand in its headers; five begin its last line, and fewer at the end of the text may */
    for (; at < n && (rp__is_alnum(text[at]) || rp__is_in(text[at], "-+/=\\ \t\r\n\"',:*#>|")); at++)
      if (text[at] == '-' && memcmp(text + at, "-----", RP_MIN(n - at, 5)) == 0) break;
    break;
  case RP_RUN_NONE: break;
  }
  return at;
}
