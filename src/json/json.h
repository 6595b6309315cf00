/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The only reader and writer of JSON. Reading: the bytes are checked once (strict RFC
 * 8259, named limits) and then walked as spans; nothing is copied or allocated except
 * where noted. Writing: into a bounded buffer that remembers its first error.
 */
#ifndef RP_JSON_H
#define RP_JSON_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/error.h"

enum rp__json_type {
  RP_JSON_NONE = 0, /* no value: what a missing member reads as */
  RP_JSON_NULL,
  RP_JSON_FALSE,
  RP_JSON_TRUE,
  RP_JSON_NUMBER,
  RP_JSON_STRING,
  RP_JSON_ARRAY,
  RP_JSON_OBJECT,
};

/* A value inside checked bytes: its first to its last byte, no white space around it. */
struct rp__json {
  const char *p;
  size_t n;
  enum rp__json_type type;
};

#define RP_JSON_DEPTH_LIMIT 1024

struct rp__json_limits {
  size_t max_bytes;      /* 0: none */
  unsigned max_depth;    /* 0: RP_DEPTH_MAX; more than RP_JSON_DEPTH_LIMIT counts as that */
  bool allow_duplicates; /* of keys in one object; RFC 8259 allows them, event bodies do not */
};

/*
 * Checks one JSON text (white space around it allowed, nothing else) and returns
 * its value. On failure RP_E_JSON with the byte offset in the message
 * ("byte 17: …"), or RP_E_TOO_LARGE when there are too many bytes or levels.
 * Duplicate keys are found by their decoded form, in time n log n; large objects
 * allocate for that (RP_E_NOMEM). Half a surrogate pair as an escape ("\\ud83d", what is
 * left of a cut emoji) is accepted; decoded it is U+FFFD. `limits` may be NULL.
 */
RP_MUST_USE int rp__json_parse(const char *bytes, size_t n, const struct rp__json_limits *limits, struct rp__json *ret,
                               rp_error *err);

/*
 * A span over bytes that were checked before (stored bodies): trims white space and
 * finds the type, nothing more. Walking it is safe even if the bytes were damaged since:
 * no step leaves them, and what makes no sense reads as the end.
 */
struct rp__json rp__json_trusted(const char *bytes, size_t n);

/* The member of an object, first of that (decoded) name; RP_JSON_NONE when absent or not an object. */
struct rp__json rp__json_get(struct rp__json object, const char *name);
/* The members of `n` names in one walk, each as rp__json_get finds it: for objects with a member that is long. */
void rp__json_members(struct rp__json object, const char *const *names, size_t n, struct rp__json *ret);

/*
 * Iteration: start with {0}. Returns false at the end. `key` is the raw key between its
 * quotes (RP_JSON_NONE in arrays); whatever takes a string takes it too. Both outputs may be NULL.
 */
struct rp__json_iter {
  const char *at;
};
bool rp__json_next(struct rp__json container, struct rp__json_iter *it, struct rp__json *ret_key,
                   struct rp__json *ret_value);
size_t rp__json_count(struct rp__json container);

/* Whether a string value equals `s`, escapes decoded. */
bool rp__json_eq(struct rp__json string, const char *s);
/* Which of the words a string is; n when it is none of them. */
size_t rp__json_one_of(struct rp__json v, const char *const *words, size_t n);
/* Appends the decoded text of a string. RP_E_INVALID when it is not a string. \u0000 is kept as a NUL byte. */
int rp__json_text(struct rp__json string, struct rp__buf *out);
/* A decoded copy (freed with free; as C strings go, \u0000 ends it), NULL without memory or when not a string. */
char *rp__json_dup(struct rp__json string);
/* Exact: false when not an integer or out of range ("1e3" and "1.0" are no integers). */
bool rp__json_i64(struct rp__json number, int64_t *ret);
/* Correctly rounded; false when not a number or not finite. */
bool rp__json_double(struct rp__json number, double *ret);

/* ---- writing ---- */

#define RP_DOUBLE_TEXT 40
/*
 * Writes a finite number as the shortest text that reads back the same, whatever the locale: "0.3", "600.0"; with an
 * exponent only below 1e-5 and from 1e16 on. Returns its length.
 */
size_t rp__double_format(double v, char out[RP_DOUBLE_TEXT]);

/*
 * Commas and nesting are the writer's business; errors stick in the buffer (check
 * out->err at the end). Deeper than 63 levels is RP_E_TOO_LARGE; raw values do not count.
 */
struct rp__jw {
  struct rp__buf *out;
  unsigned depth;
  uint64_t comma; /* bit d: a comma is due before the next value at depth d */
  bool after_key;
};
#define RP_JW(buf) ((struct rp__jw){.out = (buf)})

void rp__jw_object(struct rp__jw *w);
void rp__jw_end_object(struct rp__jw *w);
void rp__jw_array(struct rp__jw *w);
void rp__jw_end_array(struct rp__jw *w);
void rp__jw_key(struct rp__jw *w, const char *name);
void rp__jw_str(struct rp__jw *w, const char *s); /* NULL writes null */
/* Bytes that are not UTF-8 are replaced by U+FFFD. */
void rp__jw_strn(struct rp__jw *w, const char *s, size_t n);
void rp__jw_i64(struct rp__jw *w, int64_t v);
void rp__jw_double(struct rp__jw *w,
                   double v); /* shortest text that reads back the same; NaN and infinity write null */
void rp__jw_bool(struct rp__jw *w, bool v);
void rp__jw_null(struct rp__jw *w);
void rp__jw_time(struct rp__jw *w, int64_t ms);                /* ISO text; 0 writes null */
void rp__jw_raw(struct rp__jw *w, const char *json, size_t n); /* a checked value, as it is */
void rp__jw_value(struct rp__jw *w, struct rp__json v);        /* the same; NONE writes null */

/* key and value in one go */
static inline void rp__jw_kvalue(struct rp__jw *w, const char *name, struct rp__json v)
{
  rp__jw_key(w, name);
  rp__jw_value(w, v);
}
static inline void rp__jw_karray(struct rp__jw *w, const char *name)
{
  rp__jw_key(w, name);
  rp__jw_array(w);
}
static inline void rp__jw_kobject(struct rp__jw *w, const char *name)
{
  rp__jw_key(w, name);
  rp__jw_object(w);
}
void rp__jw_kstr(struct rp__jw *w, const char *name, const char *s);
void rp__jw_ki64(struct rp__jw *w, const char *name, int64_t v);
void rp__jw_kdouble(struct rp__jw *w, const char *name, double v);
void rp__jw_kbool(struct rp__jw *w, const char *name, bool v);
void rp__jw_ktime(struct rp__jw *w, const char *name, int64_t ms);

/*
 * Several of them by a pattern: braces and brackets as they are, "name:" a key, and a letter for each value: s a
 * string, n a string and its size_t, i an int64_t, d a double, b a bool, t a time, v a struct rp__json, r a text that
 * is JSON. "?" before the letter leaves key and value out where a string is NULL or empty, a value NONE, a number 0.
 * Containers that the pattern does not close stay open.
 *
 *   rp__jw_pack(&w, "{type:s text:n}", "text", p, n);
 */
void rp__jw_pack(struct rp__jw *w, const char *pattern, ...);

#endif
