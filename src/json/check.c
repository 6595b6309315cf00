/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The strict pass over one text. It keeps its own stack instead of recursing, so
 * depth costs a word each and is bounded by the frames below.
 */
#include <reprise/reprise.h>

#include "json/json.h"
#include "json/keys.h"
#include "json/scan.h"
#include "json/text.h"

#define IN_ARRAY SIZE_MAX

struct check {
  const char *start, *at, *end;
  unsigned depth, max_depth;
  bool allow_duplicates;
  int code; /* of the failure; `at` is its place and `why` its reason */
  const char *why;
  struct rp__json_keys keys;
  size_t frames[RP_JSON_DEPTH_LIMIT]; /* of an open object: where its keys begin; or IN_ARRAY */
};

__attribute__((cold, noinline)) static bool refuse(struct check *c, const char *at, const char *why)
{
  c->code = RP_E_JSON;
  c->at = at;
  c->why = why;
  return false;
}

/* Half a surrogate pair is good grammar; it reads as U+FFFD. */
static bool check_unicode(struct check *c, const char *at, const char **ret_at)
{
  const char *digits = at + 2;
  if (c->end - digits < 4 || rp__json_hex4(digits) < 0) return refuse(c, at, "expected four hex digits after \\u");
  *ret_at = digits + 4;
  return true;
}

static bool check_escape(struct check *c, const char *at, const char **ret_at)
{
  if (c->end - at < 2) return refuse(c, c->end, "the string is not closed");
  switch (at[1]) {
  case '"':
  case '\\':
  case '/':
  case 'b':
  case 'f':
  case 'n':
  case 'r':
  case 't': *ret_at = at + 2; return true;
  case 'u': return check_unicode(c, at, ret_at);
  default: return refuse(c, at, "no such escape");
  }
}

static bool check_utf8(struct check *c, const char *at, const char **ret_at)
{
  do {
    unsigned n = rp__utf8_len(at, c->end);
    if (n == 0) return refuse(c, at, "not UTF-8");
    at += n;
  } while (at < c->end && (signed char)*at < 0);
  *ret_at = at;
  return true;
}

static bool check_string(struct check *c, bool *ret_escaped)
{
  bool escaped = false;
  for (const char *at = c->at + 1;;) {
    at = rp__json_plain(at, c->end);
    if (at == c->end) return refuse(c, at, "the string is not closed");
    if (*at == '"') {
      c->at = at + 1;
      *ret_escaped = escaped;
      return true;
    }
    if (*at == '\\') {
      escaped = true;
      if (!check_escape(c, at, &at)) return false;
    } else if ((signed char)*at < 0) {
      if (!check_utf8(c, at, &at)) return false;
    } else {
      return refuse(c, at, "a control character in a string must be escaped");
    }
  }
}

static inline bool is_digit(const char *at, const char *end)
{
  return at < end && (unsigned)(*at - '0') < 10;
}

static bool check_digits(struct check *c, const char *at, const char **ret_at)
{
  if (!is_digit(at, c->end)) return refuse(c, at, "expected a digit");
  do at++;
  while (is_digit(at, c->end));
  *ret_at = at;
  return true;
}

static bool check_number(struct check *c)
{
  const char *at = c->at;
  if (*at == '-') at++;
  if (at < c->end && *at == '0') {
    if (is_digit(++at, c->end)) return refuse(c, at, "a number has no leading zero");
  } else if (!check_digits(c, at, &at)) {
    return false;
  }
  if (at < c->end && *at == '.' && !check_digits(c, at + 1, &at)) return false;
  if (at < c->end && (*at == 'e' || *at == 'E')) {
    at++;
    if (at < c->end && (*at == '+' || *at == '-')) at++;
    if (!check_digits(c, at, &at)) return false;
  }
  c->at = at;
  return true;
}

static bool check_word(struct check *c, const char *word, size_t n)
{
  if ((size_t)(c->end - c->at) < n || memcmp(c->at, word, n) != 0) return refuse(c, c->at, "expected a value");
  c->at += n;
  return true;
}

/* From the key's place to behind the colon. */
static bool check_key(struct check *c)
{
  bool escaped;
  const char *p = c->at + 1;
  if (c->at == c->end || *c->at != '"') return refuse(c, c->at, "expected a key in double quotes");
  if (!check_string(c, &escaped)) return false;
  if (!c->allow_duplicates && !rp__json_keys_push(&c->keys, p, (size_t)(c->at - 1 - p), escaped)) {
    c->code = RP_E_NOMEM;
    return false;
  }
  c->at = rp__json_space(c->at, c->end);
  if (c->at == c->end || *c->at != ':') return refuse(c, c->at, "expected a colon");
  c->at++;
  return true;
}

static bool check_close(struct check *c)
{
  size_t base = c->frames[--c->depth];
  c->at++;
  if (base == IN_ARRAY || c->allow_duplicates) return true;
  const char *again = rp__json_keys_close(&c->keys, base);
  return again ? refuse(c, again - 1, "the object has this key already") : true;
}

/* Enters a container; an empty one is left again at once. *ret_open tells whether a value is expected next. */
static bool check_open(struct check *c, bool *ret_open)
{
  bool object = *c->at == '{';
  if (c->depth == c->max_depth) {
    refuse(c, c->at, "nested too deeply");
    c->code = RP_E_TOO_LARGE;
    return false;
  }
  c->frames[c->depth++] = object ? c->keys.n : IN_ARRAY;
  c->at = rp__json_space(c->at + 1, c->end);
  *ret_open = c->at == c->end || *c->at != (object ? '}' : ']');
  if (!*ret_open) return check_close(c);
  return object ? check_key(c) : true;
}

static bool check_value(struct check *c, bool *ret_open)
{
  bool escaped;
  *ret_open = false;
  c->at = rp__json_space(c->at, c->end);
  if (c->at == c->end) return refuse(c, c->at, "expected a value");
  switch (*c->at) {
  case '"': return check_string(c, &escaped);
  case '{':
  case '[': return check_open(c, ret_open);
  case 't': return check_word(c, "true", 4);
  case 'f': return check_word(c, "false", 5);
  case 'n': return check_word(c, "null", 4);
  case '-':
  case '0' ... '9': return check_number(c);
  default: return refuse(c, c->at, "expected a value");
  }
}

/* After a value: a comma (then another value is due), or the end of containers. */
static bool check_after(struct check *c, bool *ret_more)
{
  while (c->depth > 0) {
    bool object = c->frames[c->depth - 1] != IN_ARRAY;
    c->at = rp__json_space(c->at, c->end);
    char next = c->at < c->end ? *c->at : '\0';
    if (next == ',') {
      c->at++;
      *ret_more = true;
      if (!object) return true;
      c->at = rp__json_space(c->at, c->end);
      return check_key(c);
    }
    if (next != (object ? '}' : ']'))
      return refuse(c, c->at, object ? "expected a comma or a closing brace" : "expected a comma or a closing bracket");
    if (!check_close(c)) return false;
  }
  *ret_more = false;
  return true;
}

static bool check_text(struct check *c, struct rp__json *ret)
{
  const char *first = c->at = rp__json_space(c->at, c->end);
  for (bool more = true; more;) {
    if (!check_value(c, &more)) return false;
    if (!more && !check_after(c, &more)) return false;
  }
  *ret = rp__json_trusted(first, (size_t)(c->at - first));
  c->at = rp__json_space(c->at, c->end);
  return c->at == c->end ? true : refuse(c, c->at, "expected nothing after the value");
}

static int check_fail(const struct check *c, rp_error *err)
{
  if (c->code == RP_E_NOMEM) return rp__fail_nomem(err);
  size_t offset = (size_t)(c->at - c->start);
  if (c->code == RP_E_TOO_LARGE)
    return rp__fail(err, c->code, "byte %zu: %s, at most %u levels are allowed", offset, c->why, c->max_depth);
  return rp__fail(err, c->code, "byte %zu: %s%s", offset, c->why, c->at == c->end ? ", but the text ends" : "");
}

int rp__json_parse(const char *bytes, size_t n, const struct rp__json_limits *limits, struct rp__json *ret,
                   rp_error *err)
{
  static const struct rp__json_limits defaults;
  if (!limits) limits = &defaults;
  if (limits->max_bytes && n > limits->max_bytes)
    return rp__fail(err, RP_E_TOO_LARGE, "%zu bytes, at most %zu are allowed", n, limits->max_bytes);
  struct check c;
  unsigned max_depth = limits->max_depth ? limits->max_depth : RP_DEPTH_MAX;
  c.start = c.at = bytes ? bytes : "";
  c.end = c.start + n;
  c.depth = 0;
  c.max_depth = RP_MIN(max_depth, RP_JSON_DEPTH_LIMIT);
  c.allow_duplicates = limits->allow_duplicates;
  rp__json_keys_init(&c.keys);
  struct rp__json value;
  bool good = check_text(&c, &value);
  rp__json_keys_done(&c.keys);
  if (!good) return check_fail(&c, err);
  *ret = value;
  return 0;
}
