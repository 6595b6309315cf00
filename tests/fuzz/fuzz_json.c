/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes through the JSON reader. Checked here: no step of a walk leaves the
 * bytes, damaged or not; what was accepted can be walked to its end; every decoded
 * string survives the writer; and the verdict, the values and the duplicate keys
 * are those of two other parsers, save for the differences listed below.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#ifdef HAVE_JANSSON
#include <jansson.h>
#endif
#ifdef HAVE_JSON_C
/* Names that both parsers claim; none of json-c's is used here, and the linker tells them apart by version. */
#define json_object json_c_object
#define json_object_get json_c_object_get
#define json_object_iter json_c_object_iter
#define json_object_iter_next json_c_object_iter_next
#define json_type json_c_type
#include <json-c/json.h>
#undef json_object
#undef json_object_get
#undef json_object_iter
#undef json_object_iter_next
#undef json_type
#endif

#include "json/json.h"
#include "json/scan.h"

#define DAMAGED_DEPTH 64
#define TEXT_MAX (1u << 26)

#define CHECK(cond)                                                                                                    \
  do {                                                                                                                 \
    if (!(cond)) {                                                                                                     \
      fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #cond);                                             \
      abort();                                                                                                         \
    }                                                                                                                  \
  } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

/* ---- what must hold whatever other parsers say ---- */

static bool inside(struct rp__json v, struct rp__json outer)
{
  return v.p >= outer.p && v.n <= outer.n && (size_t)(v.p - outer.p) <= outer.n - v.n;
}

static void check_string(struct rp__json v)
{
  RP_AUTOBUF struct rp__buf text = RP_BUF(TEXT_MAX), again = RP_BUF(TEXT_MAX), json = RP_BUF(TEXT_MAX);
  struct rp__jw w = RP_JW(&json);
  struct rp__json back;
  CHECK(rp__json_text(v, &text) == 0);
  RP_AUTOFREE char *copy = rp__json_dup(v);
  CHECK(copy && memcmp(copy, text.p ? text.p : "", text.n + 1) == 0);
  CHECK(rp__json_eq(v, copy) == !memchr(copy, 0, text.n));
  rp__jw_strn(&w, text.p, text.n);
  CHECK(json.err == 0 && rp__json_parse(json.p, json.n, NULL, &back, NULL) == 0);
  CHECK(rp__json_text(back, &again) == 0);
  CHECK(again.n == text.n && (text.n == 0 || memcmp(again.p, text.p, text.n) == 0));
}

static void check_number(struct rp__json v)
{
  int64_t i;
  double d, back;
  char text[RP_DOUBLE_TEXT], *exact = NULL;
  bool is_double = rp__json_double(v, &d);
  CHECK(!rp__json_i64(v, &i) || (is_double && d == (double)i));
  RP_AUTOFREE char *copy = strndup(v.p, v.n);
  CHECK(copy);
  double expected = strtod(copy, &exact);
  CHECK(*exact == '\0' && is_double == (bool)isfinite(expected));
  if (!is_double) return;
  CHECK(d == expected && !signbit(d) == !signbit(expected));
  CHECK(rp__json_double(rp__json_trusted(text, rp__double_format(d, text)), &back) && back == d);
}

/* A checked value: each child is of a type, and the last is followed by the bracket only. */
static void walk_checked(struct rp__json v)
{
  struct rp__json_iter it = {0};
  struct rp__json key, child;
  if (v.type == RP_JSON_STRING) check_string(v);
  if (v.type == RP_JSON_NUMBER) check_number(v);
  if (v.type != RP_JSON_ARRAY && v.type != RP_JSON_OBJECT) return;
  const char *end = v.p + v.n - 1, *last = v.p + 1;
  for (; rp__json_next(v, &it, &key, &child); last = child.p + child.n) {
    CHECK(inside(child, v) && child.p >= last && child.n > 0 && child.type != RP_JSON_NONE);
    CHECK((key.type == RP_JSON_STRING) == (v.type == RP_JSON_OBJECT));
    if (key.type == RP_JSON_STRING) check_string(key);
    walk_checked(child);
  }
  CHECK(rp__json_space(last, end) == end);
}

/* Unchecked bytes: nothing is promised but that every span lies inside its container. */
static void walk_damaged(struct rp__json v, unsigned depth)
{
  struct rp__json_iter it = {0};
  struct rp__json key, child;
  double d;
  int64_t i;
  free(rp__json_dup(v));
  (void)rp__json_double(v, &d);
  (void)rp__json_i64(v, &i);
  (void)rp__json_eq(v, "\xc3\xa9");
  while (depth < DAMAGED_DEPTH && rp__json_next(v, &it, &key, &child)) {
    CHECK(inside(child, v));
    CHECK(key.type == RP_JSON_NONE || inside(key, v));
    free(rp__json_dup(key));
    walk_damaged(child, depth + 1);
  }
}

/* What a refusal says begins with its place; returns the rest, and the place. */
static const char *reason_of(const rp_error *err, size_t n, size_t *ret_offset)
{
  char *rest = NULL;
  CHECK(strncmp(err->message, "byte ", 5) == 0);
  *ret_offset = strtoull(err->message + 5, &rest, 10);
  CHECK(*ret_offset <= n && strncmp(rest, ": ", 2) == 0);
  return rest + 2;
}

/* ---- jansson: as strict as we are ---- */

#ifdef HAVE_JANSSON
static void compare_jansson(struct rp__json v, json_t *j);

static void compare_object(struct rp__json v, json_t *j)
{
  struct rp__json_iter it = {0};
  struct rp__json key, child;
  CHECK(json_is_object(j) && json_object_size(j) == rp__json_count(v));
  while (rp__json_next(v, &it, &key, &child)) {
    RP_AUTOBUF struct rp__buf name = RP_BUF(TEXT_MAX);
    CHECK(rp__json_text(key, &name) == 0);
    json_t *other = json_object_getn(j, name.p ? name.p : "", name.n);
    CHECK(other);
    compare_jansson(child, other);
  }
}

static void compare_array(struct rp__json v, json_t *j)
{
  struct rp__json_iter it = {0};
  struct rp__json child;
  CHECK(json_is_array(j) && json_array_size(j) == rp__json_count(v));
  for (size_t i = 0; rp__json_next(v, &it, NULL, &child); i++) compare_jansson(child, json_array_get(j, i));
}

static void compare_scalar(struct rp__json v, json_t *j)
{
  int64_t i;
  double d;
  if (v.type == RP_JSON_STRING) {
    RP_AUTOBUF struct rp__buf text = RP_BUF(TEXT_MAX);
    CHECK(json_is_string(j) && rp__json_text(v, &text) == 0 && text.n == json_string_length(j));
    CHECK(text.n == 0 || memcmp(text.p, json_string_value(j), text.n) == 0);
  } else if (rp__json_i64(v, &i)) {
    CHECK(json_is_integer(j) && json_integer_value(j) == i);
  } else {
    CHECK(json_is_real(j) && rp__json_double(v, &d) && json_real_value(j) == d);
  }
}

static void compare_jansson(struct rp__json v, json_t *j)
{
  switch (v.type) {
  case RP_JSON_OBJECT: compare_object(v, j); break;
  case RP_JSON_ARRAY: compare_array(v, j); break;
  case RP_JSON_TRUE: CHECK(json_is_true(j)); break;
  case RP_JSON_FALSE: CHECK(json_is_false(j)); break;
  case RP_JSON_NULL: CHECK(json_is_null(j)); break;
  default: compare_scalar(v, j); break;
  }
}

/*
 * Known differences, all of jansson's making: it turns every number into a double or
 * a 64-bit integer at once and refuses what does not fit (we keep the text); its keys
 * can't hold a NUL; it refuses half a surrogate pair, which the grammar has; it overlooks
 * a NUL byte behind a number or a word; and it goes deeper (2048) than we do.
 * `why` is NULL where it accepted the text.
 */
static bool jansson_differs(const char *bytes, size_t n, const rp_error *err, const json_error_t *why)
{
  size_t offset;
  if (err->code == RP_E_TOO_LARGE) return true;
  if (why) {
    enum json_error_code code = json_error_code(why);
    if (code == json_error_numeric_overflow || code == json_error_null_byte_in_key) return true;
    return strncmp(why->text, "invalid Unicode '\\uD", 20) == 0;
  }
  const char *reason = reason_of(err, n, &offset);
  return offset < n && bytes[offset] == '\0' && strstr(reason, "control character") == NULL;
}

/* `err` is empty where we accepted the text, as `v`. */
static void oracle_jansson(const char *bytes, size_t n, const rp_error *err, struct rp__json v, bool lax)
{
  json_error_t why;
  json_t *j = json_loadb(bytes, n, JSON_DECODE_ANY | JSON_ALLOW_NUL | (lax ? 0 : JSON_REJECT_DUPLICATES), &why);
  if ((j != NULL) != (err->code == 0) && !jansson_differs(bytes, n, err, j ? NULL : &why)) {
    fprintf(stderr, "jansson: %s, ours: %s\n", j ? "accepted" : why.text, err->code ? err->message : "accepted");
    abort();
  }
  if (j && err->code == 0 && !lax) compare_jansson(v, j);
  json_decref(j);
}
#else
static void oracle_jansson(const char *bytes, size_t n, const rp_error *err, struct rp__json v, bool lax)
{
  (void)bytes, (void)n, (void)err, (void)v, (void)lax;
}
#endif

/* ---- json-c: more lenient, and these are its leniencies ---- */

#ifdef HAVE_JSON_C
/* What we say of texts that json-c takes even with its strict flags; `next`, if any, begins what stands there. */
static const struct {
  const char *reason, *next;
} json_c_leniencies[] = {
    {"not UTF-8", NULL}, /* only the shape is checked: overlong forms and surrogates pass */
    {"a control character in a string must be escaped", NULL},
    {"a number has no leading zero", NULL}, /* -01 */
    {"expected a digit", NULL},             /* 2. and -.5 and -Infinity */
    {"expected a value", "NaN"},
    {"expected a value", "Infinity"},
    {"expected a value", "'"}, /* strings in single quotes */
    {"expected a key in double quotes", "'"},
};

static bool json_c_lets_pass(const char *bytes, size_t n, const rp_error *err)
{
  size_t offset;
  const char *reason = reason_of(err, n, &offset);
  for (size_t i = 0; i < RP_ARRAY_SIZE(json_c_leniencies); i++) {
    const char *next = json_c_leniencies[i].next;
    size_t len = next ? strlen(next) : 0;
    bool there = n - offset >= len && (len == 0 || memcmp(bytes + offset, next, len) == 0);
    size_t reason_len = strlen(json_c_leniencies[i].reason);
    if (there && strncmp(reason, json_c_leniencies[i].reason, reason_len) == 0) return true;
  }
  return false;
}

static bool json_c_accepts(const char *bytes, size_t n)
{
  struct json_tokener *tok = json_tokener_new_ex(RP_JSON_DEPTH_LIMIT + 8);
  RP_AUTOFREE char *text = malloc(n + 1);
  CHECK(tok && text);
  if (n) memcpy(text, bytes, n);
  text[n] = '\0';
  json_tokener_set_flags(tok, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
  struct json_c_object *o = json_tokener_parse_ex(tok, text, (int)n + 1);
  bool good = json_tokener_get_error(tok) == json_tokener_success;
  const char *end = text + RP_MIN(json_tokener_get_parse_end(tok), n);
  json_object_put(o);
  json_tokener_free(tok);
  return good && rp__json_space(end, text + n) == text + n;
}

static void oracle_json_c(const char *bytes, size_t n, const rp_error *err)
{
  if (n == 0 || memchr(bytes, 0, n)) return; /* to json-c a NUL byte is the end of the text */
  bool theirs = json_c_accepts(bytes, n);
  if (theirs == (err->code == 0) || err->code == RP_E_TOO_LARGE) return;
  if (theirs && json_c_lets_pass(bytes, n, err)) return;
  fprintf(stderr, "json-c: %s, ours: %s\n", theirs ? "accepted" : "refused", err->code ? err->message : "accepted");
  abort();
}
#else
static void oracle_json_c(const char *bytes, size_t n, const rp_error *err)
{
  (void)bytes, (void)n, (void)err;
}
#endif

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t n)
{
  const char *bytes = (const char *)input;
  struct rp__json_limits lax = {.max_depth = RP_JSON_DEPTH_LIMIT, .allow_duplicates = true};
  struct rp__json_limits strict = {.max_depth = RP_JSON_DEPTH_LIMIT};
  struct rp__json v = {0}, w = {0};
  rp_error err = {0}, strict_err = {0};
  size_t offset;
  walk_damaged(rp__json_trusted(bytes, n), 0);
  int verdict = rp__json_parse(bytes, n, &lax, &v, &err);
  int strict_verdict = rp__json_parse(bytes, n, &strict, &w, &strict_err);
  if (verdict) (void)reason_of(&err, n, &offset);
  if (verdict == 0) walk_checked(v);
  if (strict_verdict != verdict)
    CHECK(strict_verdict == RP_E_JSON && strstr(strict_err.message, "has this key already"));
  oracle_jansson(bytes, n, &err, v, true);
  oracle_jansson(bytes, n, &strict_err, w, false);
  oracle_json_c(bytes, n, &err);
  return 0;
}
