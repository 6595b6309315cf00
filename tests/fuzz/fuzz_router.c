/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a method and a request target. Checked here: a route is found or the
 * refusal says why; what is found has parameters that can be ids and nothing else;
 * a path has one meaning (found by its own method, refused with Allow by the others);
 * and no step of the query's walk leaves its bytes.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/id.h"
#include "server/http/route.h"

#define TEXT 256

#define CHECK(cond)                                                                                                    \
  do {                                                                                                                 \
    if (!(cond)) {                                                                                                     \
      fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #cond);                                             \
      abort();                                                                                                         \
    }                                                                                                                  \
  } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static void check_params(const struct rp__route *r, char param[RP_CALL_PARAMS][RP_ID_MAX + 1])
{
  size_t want = 0;
  for (const char *p = r->path; *p; p++) want += *p == ':';
  for (size_t i = 0; i < RP_CALL_PARAMS; i++) {
    CHECK(memchr(param[i], 0, RP_ID_MAX + 1));
    CHECK(i < want ? rp__name_ok(param[i]) : !param[i][0]);
  }
}

static int find(enum rp__method m, struct rp__str path, const struct rp__route **ret)
{
  char param[RP_CALL_PARAMS][RP_ID_MAX + 1] = {{0}}, allow[64];
  rp_error err = {0};
  int rc = rp__route_find(m, path, ret, param, allow, &err);
  CHECK(rc == 0 || (rc == err.code && err.message[0]));
  CHECK(memchr(allow, 0, sizeof allow));
  switch (rc) {
  case 0: check_params(*ret, param); break;
  case RP_E_METHOD: CHECK(allow[0]); break;
  case RP_E_ROUTE_NOT_FOUND: CHECK(!allow[0]); break;
  default: CHECK(rc == RP_E_USAGE); break;
  }
  return rc;
}

/* Whether a path is one of ours does not depend on the method. */
static void check_path(struct rp__str path)
{
  const struct rp__route *r = NULL;
  int known = 0, unknown = 0;
  for (enum rp__method m = RP_GET; m <= RP_METHOD_OTHER; m++) {
    int rc = find(m, path, &r);
    known += rc != RP_E_ROUTE_NOT_FOUND;
    unknown += rc == RP_E_ROUTE_NOT_FOUND;
  }
  CHECK(!known || !unknown);
}

static bool inside(struct rp__str part, struct rp__str whole)
{
  return part.p >= whole.p && part.n <= whole.n && (size_t)(part.p - whole.p) <= whole.n - part.n;
}

static void check_query(struct rp__str query)
{
  struct rp__str name, value, again;
  char text[TEXT];
  size_t before = 0;
  for (size_t at = 0; rp__uri_next(query, &at, &name, &value); before = at) {
    CHECK(at > before && at <= query.n && inside(name, query) && inside(value, query));
    if (rp__uri_decode(value, true, text, sizeof text) == 0) CHECK(strlen(text) <= value.n);
    if (rp__uri_decode(name, false, text, sizeof text) || strlen(text) != name.n) continue;
    CHECK(rp__uri_param(query, text, &again) && again.p <= value.p);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
  struct rp__str target = {(const char *)bytes, n};
  const char *mark = n ? memchr(bytes, '?', n) : NULL;
  struct rp__str path = {target.p, mark ? (size_t)(mark - target.p) : n};
  check_path(path);
  if (mark) check_query((struct rp__str){mark + 1, n - path.n - 1});
  return 0;
}
