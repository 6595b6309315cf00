/* SPDX-License-Identifier: Apache-2.0 */
/* Finding the route of a method and a path. */
#include "server/http/route.h"

#include "base/id.h"
#include "base/text.h"

/* Whether a raw path fits the pattern; raw values of its variables in `raw`. */
static bool fits(const char *pattern, struct rp__str path, struct rp__str raw[RP_CALL_PARAMS])
{
  struct rp__str want, have, whole = rp__str(pattern);
  size_t at = 0, want_at = 0, n = 0;
  for (;;) {
    bool more = rp__uri_segment(path, &at, &have), wanted = rp__uri_segment(whole, &want_at, &want);
    if (!more || !wanted) return more == wanted;
    if (want.n && want.p[0] == ':')
      raw[n++] = have;
    else if (want.n != have.n || memcmp(want.p, have.p, want.n) != 0)
      return false;
  }
}

static int decode_params(const struct rp__str raw[RP_CALL_PARAMS], char param[RP_CALL_PARAMS][RP_ID_MAX + 1],
                         rp_error *err)
{
  for (size_t i = 0; i < RP_CALL_PARAMS; i++) {
    param[i][0] = 0;
    if (!raw[i].p) continue;
    int rc = rp__uri_decode(raw[i], false, param[i], RP_ID_MAX + 1);
    if (rc || !rp__name_ok(param[i]))
      return rp__fail_field(err, RP_E_USAGE, "path",
                            "'%s' can't be an id: letters, digits and . _ : - only, at most %d",
                            rc ? "(what was given)" : rp__text_shown(param[i]), RP_ID_MAX);
  }
  return 0;
}

static void allow(char ret_allow[64], enum rp__method m)
{
  size_t n = strlen(ret_allow);
  if (strstr(ret_allow, rp__method_name(m))) return; /* two rows may fit: "stream" could be an id */
  snprintf(ret_allow + n, 64 - n, "%s%s", n ? ", " : "", rp__method_name(m));
  if (m == RP_GET) allow(ret_allow, RP_HEAD);
}

bool rp__route_names_session(const struct rp__route *route)
{
  return strstr(route->path, "/:id") != NULL;
}

/* What an error tells of a path: the first segments that are words as routes have them. Others may be a credential. */
static struct rp__str shown(struct rp__str path)
{
  struct rp__str segment, ret = {path.p, 0};
  for (size_t at = 0; rp__uri_segment(path, &at, &segment);) {
    bool word = segment.n < 24;
    for (size_t i = 0; i < segment.n; i++)
      word = word && ((segment.p[i] >= 'a' && segment.p[i] <= 'z') || strchr("_.-", segment.p[i]));
    if (!word && !rp__str_eq(segment, "v1")) return ret;
    ret.n = (size_t)(segment.p + segment.n - path.p);
  }
  return ret;
}

int rp__route_find(enum rp__method method, struct rp__str path, const struct rp__route **ret,
                   char param[RP_CALL_PARAMS][RP_ID_MAX + 1], char ret_allow[64], rp_error *err)
{
  enum rp__method wanted = method == RP_HEAD ? RP_GET : method;
  ret_allow[0] = 0;
  for (const struct rp__route *route = rp__routes; route->path; route++) {
    struct rp__str raw[RP_CALL_PARAMS] = {0};
    if (!fits(route->path, path, raw)) continue;
    if (route->method != wanted) {
      allow(ret_allow, route->method);
      continue;
    }
    *ret = route;
    return decode_params(raw, param, err);
  }
  struct rp__str told = shown(path);
  const char *cut = told.n < path.n ? "/…" : "";
  if (ret_allow[0])
    return rp__fail(err, RP_E_METHOD, "%.*s%s takes %s", (int)RP_MIN(told.n, 100), told.p, cut, ret_allow);
  rp__fail(err, RP_E_ROUTE_NOT_FOUND, "there is nothing at %.*s%s", (int)RP_MIN(told.n, 200), told.p, cut);
  rp__hint(err, "/openapi.json lists the routes there are");
  return RP_E_ROUTE_NOT_FOUND;
}
