/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the id in a line that is not valid JSON, where that is possible. */
#include "bridge/broken-line.h"

#include "base/buf.h"

struct scan {
  const char *p, *end;
  int depth;
};

static bool is_blank(char c)
{
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static void skip_blanks(struct scan *s)
{
  while (s->p < s->end && is_blank(*s->p)) s->p++;
}

/* Over a string, from its quote on; false when it has no end. What is in it is not looked at. */
static bool skip_string(struct scan *s)
{
  for (s->p++; s->p < s->end; s->p++) {
    if (*s->p == '\\')
      s->p++;
    else if (*s->p == '"')
      return s->p++, true;
  }
  return false;
}

/* A value that is sound in itself. */
static struct rp__json take_value(struct scan *s)
{
  static const struct rp__json none = {0};
  struct rp__json_limits limits = {.max_bytes = RP_BROKEN_ID_MAX};
  struct rp__json v;
  const char *from = s->p;
  if (s->p < s->end && *s->p == '"') {
    if (!skip_string(s)) return none;
  } else {
    while (s->p < s->end && !strchr(",}] \t\r\n", *s->p)) s->p++;
    if (s->p == s->end) return none; /* more of it may be missing */
  }
  if (rp__json_parse(from, (size_t)(s->p - from), &limits, &v, NULL)) return none;
  return v.type == RP_JSON_STRING || v.type == RP_JSON_NUMBER ? v : none;
}

/* The next place behind a key "id" of the outermost object; false: there is none any more. */
static bool find_key(struct scan *s)
{
  while (s->p < s->end) {
    const char *from = s->p;
    char c = *from;
    if (c != '"') {
      s->depth += c == '{' || c == '[' ? 1 : c == '}' || c == ']' ? -1 : 0;
      s->p++;
      continue;
    }
    if (!skip_string(s)) return false;
    bool id = s->p - from == 4 && memcmp(from, "\"id\"", 4) == 0;
    skip_blanks(s);
    if (!id || s->depth != 1 || s->p == s->end || *s->p != ':') continue;
    s->p++;
    skip_blanks(s);
    return true;
  }
  return false;
}

struct rp__json rp__broken_line_id(const char *line, size_t n)
{
  struct scan s = {line, line + n, 0};
  struct rp__json found = {0};
  skip_blanks(&s);
  if (s.p == s.end || *s.p != '{') return found;
  while (find_key(&s)) {
    /* Of two, neither is surely meant. */
    if (found.type) return (struct rp__json){0};
    found = take_value(&s);
    if (!found.type) break;
  }
  return found;
}
