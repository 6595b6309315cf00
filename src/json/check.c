/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks one text strictly. The open containers are on a stack of this code instead of the C stack, so that a level of
 * nesting costs one word, and the depth is bounded.
 */
#include <reprise/reprise.h>

#include "json/json.h"
#include "json/scan.h"
#include "json/text.h"

/* ---- keys ---- */

/* Up to this many keys are compared each with each: faster than sorting, and most objects are smaller. */
#define PAIRWISE_MAX 16

struct key {
  const char *p;
  size_t n;
  uint64_t head; /* the first eight decoded bytes: most comparisons end here */
  bool escaped;
};

/*
 * The keys of the objects that are open, innermost on top. When an object closes, its keys are compared and dropped. A
 * few live in the struct itself, so that ordinary messages allocate nothing.
 */
struct keys {
  struct key *v;
  size_t n, cap;
  struct key few[48];
};

/* Adds a raw key (between its quotes); false without memory. */
static bool keys_push(struct keys *k, const char *p, size_t n, bool escaped)
{
  if (k->n == k->cap) {
    if (k->cap > SIZE_MAX / 2 / sizeof(*k->v)) return false;
    struct key *v = realloc(k->v == k->few ? NULL : k->v, 2 * k->cap * sizeof(*v));
    if (!v) return false;
    if (k->v == k->few) memcpy(v, k->few, k->n * sizeof(*v));
    k->v = v;
    k->cap *= 2;
  }
  char head[8] = {0};
  if (!escaped) memcpy(head, p, RP_MIN(n, sizeof(head)));
  struct rp__json_cursor c = {.at = p, .end = p + n};
  for (size_t i = 0; escaped && i < sizeof(head); i++) {
    int b = rp__json_cursor_next(&c);
    if (b < 0) break;
    head[i] = (char)b;
  }
  struct key *key = &k->v[k->n++];
  *key = (struct key){.p = p, .n = n, .escaped = escaped};
  memcpy(&key->head, head, sizeof(head));
  return true;
}

/* Any total order will do that has equal keys, and only these, as neighbours. */
static int key_cmp(const struct key *a, const struct key *b)
{
  if (a->head != b->head) return a->head < b->head ? -1 : 1;
  if (a->escaped || b->escaped) return rp__json_text_cmp((struct rp__str){a->p, a->n}, (struct rp__str){b->p, b->n});
  int order = memcmp(a->p, b->p, RP_MIN(a->n, b->n));
  if (order) return order;
  return a->n < b->n ? -1 : a->n > b->n;
}

/* Among equal keys the one that stands first in the text comes first. */
static bool key_before(const struct key *a, const struct key *b)
{
  int order = key_cmp(a, b);
  return order < 0 || (order == 0 && a->p < b->p);
}

static void heap_sink(struct key *v, size_t i, size_t n)
{
  struct key sinking = v[i];
  for (size_t child; (child = 2 * i + 1) < n; i = child) {
    if (child + 1 < n && key_before(&v[child], &v[child + 1])) child++;
    if (!key_before(&sinking, &v[child])) break;
    v[i] = v[child];
  }
  v[i] = sinking;
}

/* Drops the keys above `base`; returns where the first key stands that came a second time, or NULL. Time n log n. */
static const char *keys_close(struct keys *k, size_t base)
{
  struct key *v = k->v + base;
  size_t n = k->n - base;
  const char *first = NULL;
  k->n = base;
  if (n <= PAIRWISE_MAX) {
    for (size_t i = 1; i < n; i++)
      for (size_t j = 0; j < i; j++)
        if (v[i].head == v[j].head && key_cmp(&v[i], &v[j]) == 0) return v[i].p;
    return NULL;
  }
  /* Heapsort: no memory, and no input makes it slow. */
  for (size_t i = n / 2; i-- > 0;) heap_sink(v, i, n);
  for (size_t last = n - 1; last > 0; last--) {
    struct key top = v[0];
    v[0] = v[last];
    v[last] = top;
    heap_sink(v, 0, last);
  }
  for (size_t i = 1; i < n; i++)
    if ((!first || v[i].p < first) && key_cmp(&v[i - 1], &v[i]) == 0) first = v[i].p;
  return first;
}

/* ---- the grammar ---- */

#define IN_ARRAY SIZE_MAX

struct check {
  const char *at, *end;
  unsigned depth, max_depth;
  bool allow_duplicates;
  int code; /* of the failure; `at` is its place and `why` its reason */
  const char *why;
  struct keys keys;
  size_t frames[RP_JSON_DEPTH_LIMIT]; /* of an open object: where its keys begin; or IN_ARRAY */
};

__attribute__((cold, noinline)) static bool refuse(struct check *c, const char *at, const char *why)
{
  c->code = RP_E_JSON;
  c->at = at;
  c->why = why;
  return false;
}

static bool check_string(struct check *c, bool *ret_escaped)
{
  *ret_escaped = false;
  for (const char *at = c->at + 1;;) {
    at = rp__json_plain(at, c->end);
    if (at == c->end) return refuse(c, at, "the string is not closed");
    if (*at == '"') {
      c->at = at + 1;
      return true;
    }
    if ((signed char)*at < 0) {
      do {
        unsigned n = rp__utf8_len(at, c->end);
        if (n == 0) return refuse(c, at, "not UTF-8");
        at += n;
      } while (at < c->end && (signed char)*at < 0);
      continue;
    }
    if (*at != '\\') return refuse(c, at, "a control character in a string must be escaped");
    *ret_escaped = true;
    if (c->end - at < 2) return refuse(c, c->end, "the string is not closed");
    switch (at[1]) {
    case '"':
    case '\\':
    case '/':
    case 'b':
    case 'f':
    case 'n':
    case 'r':
    case 't': at += 2; break;
    case 'u': /* half a surrogate pair is good grammar; it reads as U+FFFD */
      if (c->end - at < 6 || rp__json_hex4(at + 2) < 0) return refuse(c, at, "expected four hex digits after \\u");
      at += 6;
      break;
    default: return refuse(c, at, "no such escape");
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

/* The grammar: values, with keys before those in objects and commas between them, and behind the last one the ends of
 * the containers. */
static bool check_text(struct check *c, struct rp__json *ret)
{
  const char *first = c->at = rp__json_space(c->at, c->end);
  bool escaped, object, more, good;
  do {
    c->at = rp__json_space(c->at, c->end);
    if (c->depth > 0 && c->frames[c->depth - 1] != IN_ARRAY) {
      const char *key = c->at + 1;
      if (c->at == c->end || *c->at != '"') return refuse(c, c->at, "expected a key in double quotes");
      if (!check_string(c, &escaped)) return false;
      if (!c->allow_duplicates && !keys_push(&c->keys, key, (size_t)(c->at - 1 - key), escaped)) {
        c->code = RP_E_NOMEM;
        return false;
      }
      c->at = rp__json_space(c->at, c->end);
      if (c->at == c->end || *c->at != ':') return refuse(c, c->at, "expected a colon");
      c->at = rp__json_space(c->at + 1, c->end);
    }
    more = false;
    switch (c->at < c->end ? *c->at : '\0') {
    case '"': good = check_string(c, &escaped); break;
    case '{':
    case '[':
      if (c->depth == c->max_depth) {
        refuse(c, c->at, "nested too deeply");
        c->code = RP_E_TOO_LARGE;
        return false;
      }
      object = *c->at == '{';
      c->frames[c->depth++] = object ? c->keys.n : IN_ARRAY;
      c->at = rp__json_space(c->at + 1, c->end);
      more = c->at == c->end || *c->at != (object ? '}' : ']');
      good = true;
      break;
    case 't': good = check_word(c, "true", 4); break;
    case 'f': good = check_word(c, "false", 5); break;
    case 'n': good = check_word(c, "null", 4); break;
    case '-':
    case '0' ... '9': good = check_number(c); break;
    default: good = refuse(c, c->at, "expected a value"); break;
    }
    if (!good) return false;
    while (!more && c->depth > 0) {
      size_t base = c->frames[c->depth - 1];
      object = base != IN_ARRAY;
      c->at = rp__json_space(c->at, c->end);
      char next = c->at < c->end ? *c->at : '\0';
      more = next == ',';
      if (!more && next != (object ? '}' : ']'))
        return refuse(c, c->at,
                      object ? "expected a comma or a closing brace" : "expected a comma or a closing bracket");
      c->at++;
      if (more) break;
      c->depth--;
      const char *again = object && !c->allow_duplicates ? keys_close(&c->keys, base) : NULL;
      if (again) return refuse(c, again - 1, "the object has this key already");
    }
  } while (more);
  *ret = rp__json_trusted(first, (size_t)(c->at - first));
  c->at = rp__json_space(c->at, c->end);
  return c->at == c->end ? true : refuse(c, c->at, "expected nothing after the value");
}

int rp__json_parse(const char *bytes, size_t n, const struct rp__json_limits *limits, struct rp__json *ret,
                   rp_error *err)
{
  static const struct rp__json_limits defaults;
  if (!limits) limits = &defaults;
  if (limits->max_bytes && n > limits->max_bytes)
    return rp__fail(err, RP_E_TOO_LARGE, "%zu bytes, at most %zu are allowed", n, limits->max_bytes);
  struct check c; /* not as a whole: the frames are large, and written where they are used */
  const char *start = bytes ? bytes : "";
  unsigned max_depth = limits->max_depth ? limits->max_depth : RP_DEPTH_MAX;
  c.at = start;
  c.end = start + n;
  c.depth = 0;
  c.max_depth = RP_MIN(max_depth, RP_JSON_DEPTH_LIMIT);
  c.allow_duplicates = limits->allow_duplicates;
  c.keys.v = c.keys.few;
  c.keys.n = 0;
  c.keys.cap = RP_ARRAY_SIZE(c.keys.few);
  struct rp__json value;
  bool good = check_text(&c, &value);
  if (c.keys.v != c.keys.few) free(c.keys.v);
  if (good) {
    *ret = value;
    return 0;
  }
  size_t offset = (size_t)(c.at - start);
  if (c.code == RP_E_NOMEM) return rp__fail_nomem(err);
  if (c.code == RP_E_TOO_LARGE)
    return rp__fail(err, c.code, "byte %zu: %s, at most %u levels are allowed", offset, c.why, c.max_depth);
  return rp__fail(err, c.code, "byte %zu: %s%s", offset, c.why, c.at == c.end ? ", but the text ends" : "");
}
