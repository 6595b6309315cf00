/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a path, as a query, and as escaped text. Checked here: the pieces lie
 * inside and together are the whole; what is decoded is clean text that comes back
 * the same when everything in it is escaped; room is all that a larger buffer changes.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "json/scan.h"
#include "net/uri.h"

#define CHECK(cond)                                                                                                    \
  do {                                                                                                                 \
    if (!(cond)) {                                                                                                     \
      fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #cond);                                             \
      abort();                                                                                                         \
    }                                                                                                                  \
  } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static void check_path(struct rp__str path)
{
  struct rp__str segment;
  size_t at = 0, end = 0;
  while (rp__uri_segment(path, &at, &segment)) {
    CHECK(segment.p == path.p + end + 1 && at == end + 1 + segment.n && at <= path.n);
    CHECK(path.p[end] == '/' && (segment.n == 0 || !memchr(segment.p, '/', segment.n)));
    end = at;
  }
  CHECK(end == path.n || (end == 0 && path.p[0] != '/'));
}

static void check_query(struct rp__str query)
{
  struct rp__str name, value, first;
  size_t at = 0, end = 0;
  while (rp__uri_next(query, &at, &name, &value)) {
    bool bare = value.p == name.p + name.n;
    CHECK(name.p >= query.p + end && value.p + value.n == query.p + at && at <= query.n && at > end);
    CHECK((bare && value.n == 0) || (name.p[name.n] == '=' && value.p == name.p + name.n + 1));
    CHECK(name.n == 0 || (!memchr(name.p, '=', name.n) && !memchr(name.p, '&', name.n)));
    for (const char *gap = query.p + end; gap < name.p; gap++) CHECK(*gap == '&');
    RP_AUTOFREE char *key = strndup(name.p, name.n);
    CHECK(key);
    if (strlen(key) == name.n) CHECK(rp__uri_param(query, key, &first) && first.p <= value.p);
    end = at;
  }
  for (; end < query.n; end++) CHECK(query.p[end] == '&');
}

static void check_text(const char *text)
{
  const char *end = text + strlen(text);
  for (const char *at = text; at < end;) {
    unsigned len = rp__utf8_len(at, end);
    CHECK(len > 0 && (unsigned char)*at >= 0x20 && *at != 0x7f);
    at += len;
  }
}

static void check_decode(struct rp__str raw, bool query)
{
  RP_AUTOFREE char *out = malloc(raw.n + 1), *escaped = malloc(raw.n * 3 + 1), *again = malloc(raw.n + 1);
  CHECK(out && escaped && again);
  int code = rp__uri_decode(raw, query, out, raw.n + 1);
  CHECK(code == 0 || code == RP_E_USAGE);
  if (code) return;
  size_t n = strlen(out);
  check_text(out);
  for (size_t i = 0; i < n; i++) snprintf(escaped + i * 3, 4, "%%%02X", (unsigned char)out[i]);
  CHECK(rp__uri_decode((struct rp__str){escaped, n * 3}, query, again, n + 1) == 0 && strcmp(again, out) == 0);
  CHECK(rp__uri_decode(raw, query, again, n) == RP_E_TOO_LARGE);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
  struct rp__str raw = {(const char *)bytes, n};
  if (n == 0) return 0;
  check_path(raw);
  check_query(raw);
  check_decode(raw, false);
  check_decode(raw, true);
  return 0;
}
