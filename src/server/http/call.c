/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a call that handlers read: its query and the members of its body. */
#include "server/http/call.h"

#include <errno.h>
#include <math.h>

#include "base/clock.h"
#include "base/id.h"
#include "base/suggest.h"
#include "base/text.h"
#include "server/server.h"

/* ---- query ---- */

static int bad_query(const char *name, const char *want, rp_error *err)
{
  return rp__fail_field(err, RP_E_USAGE, name, "the query's '%s' must be %s", name, want);
}

/* *ret_there: whether it was given at all. */
static int query_text(struct rp__http_call *c, const char *name, char *ret, size_t size, bool *ret_there, rp_error *err)
{
  struct rp__str raw;
  *ret_there = rp__uri_param(rp__request_query(c->req), name, &raw);
  if (!*ret_there) return 0;
  int rc = rp__uri_decode(raw, true, ret, size);
  if (rc == RP_E_TOO_LARGE)
    return rp__fail_field(err, RP_E_USAGE, name, "the query's '%s' has more than %zu bytes", name, size - 1);
  if (rc) return rp__fail_field(err, RP_E_USAGE, name, "the query's '%s' is not properly encoded", name);
  return 0;
}

int rp__call_text(struct rp__http_call *c, const char *name, char *ret, size_t size, rp_error *err)
{
  char text[RP_CALL_TEXT + 1];
  bool there;
  int rc = query_text(c, name, text, RP_MIN(sizeof text, size), &there, err);
  if (!rc && there) memcpy(ret, text, strlen(text) + 1);
  return rc;
}

int rp__call_scope(struct rp__http_call *c, char ret[RP_ID_MAX + 1], rp_error *err)
{
  memcpy(ret, c->who.scope, RP_ID_MAX + 1);
  int rc = rp__call_text(c, "scope", ret, RP_ID_MAX + 1, err);
  if (!rc && ret[0] && !rp__name_ok(ret)) rc = bad_query("scope", "a scope's name", err);
  return rc;
}

static int bad_number(const char *name, int64_t min, int64_t max, rp_error *err)
{
  char want[96];
  snprintf(want, sizeof want, "a whole number from %lld to %lld", (long long)min, (long long)max);
  return bad_query(name, want, err);
}

int rp__call_i64(struct rp__http_call *c, const char *name, int64_t min, int64_t max, int64_t *ret, rp_error *err)
{
  char text[32], *end;
  bool there;
  if (query_text(c, name, text, sizeof text, &there, err)) return bad_number(name, min, max, err);
  if (!there) return 0;
  errno = 0;
  long long v = strtoll(text, &end, 10);
  if (end == text || *end || errno || v < min || v > max || text[0] == ' ' || text[0] == '+')
    return bad_number(name, min, max, err);
  *ret = v;
  return 0;
}

int rp__call_bool(struct rp__http_call *c, const char *name, bool *ret, rp_error *err)
{
  char text[8];
  bool there;
  int rc = query_text(c, name, text, sizeof text, &there, err);
  if (rc) return bad_query(name, "1, 0, true or false", err);
  if (!there) return 0;
  bool yes = !text[0] || strcmp(text, "1") == 0 || strcmp(text, "true") == 0;
  if (!yes && strcmp(text, "0") != 0 && strcmp(text, "false") != 0) return bad_query(name, "1, 0, true or false", err);
  *ret = yes;
  return 0;
}

int rp__call_double(struct rp__http_call *c, const char *name, double min, double max, double *ret, rp_error *err)
{
  char text[64], want[96];
  bool there;
  struct rp__json v;
  snprintf(want, sizeof want, "a number from %g to %g", min, max);
  if (query_text(c, name, text, sizeof text, &there, err)) return bad_query(name, want, err);
  if (!there) return 0;
  double d;
  /* JSON's notation, whatever the locale. */
  if (rp__json_parse(text, strlen(text), NULL, &v, NULL) || !rp__json_double(v, &d) || d < min || d > max)
    return bad_query(name, want, err);
  *ret = d;
  return 0;
}

int rp__call_time(struct rp__http_call *c, const char *name, int64_t *ret_ms, rp_error *err)
{
  char text[64];
  bool there;
  int64_t ms;
  if (query_text(c, name, text, sizeof text, &there, err))
    return bad_query(name, "a time like 2026-11-16T09:30:00Z", err);
  if (!there) return 0;
  if (rp__time_parse(text, strlen(text), &ms)) return bad_query(name, "a time like 2026-11-16T09:30:00Z", err);
  *ret_ms = ms;
  return 0;
}

int rp__call_since(struct rp__http_call *c, const char *name, int64_t *ret_ms, rp_error *err)
{
  static const char want[] = "a time like 2026-11-16T09:30:00Z, or how long ago: 2h";
  char text[64];
  bool there;
  int64_t ms;
  if (query_text(c, name, text, sizeof text, &there, err)) return bad_query(name, want, err);
  if (!there) return 0;
  if (!rp__time_parse(text, strlen(text), &ms))
    *ret_ms = ms;
  else if (!rp__duration_parse(text, &ms))
    *ret_ms = rp__server_now(c->srv) - ms;
  else
    return bad_query(name, want, err);
  return 0;
}

/* ---- body ---- */

static int bad_member(const char *name, const char *want, rp_error *err)
{
  return rp__fail_field(err, RP_E_INVALID, name, "'%s' must be %s", name, want);
}

static bool absent(struct rp__json v)
{
  return v.type == RP_JSON_NONE || v.type == RP_JSON_NULL;
}

int rp__body_text(struct rp__json body, const char *name, char **ret, rp_error *err)
{
  struct rp__json v = rp__json_get(body, name);
  *ret = NULL;
  if (absent(v)) return 0;
  if (v.type != RP_JSON_STRING) return bad_member(name, "a string", err);
  struct rp__buf out RP_AUTOBUF = RP_BUF(RP_BODY_MAX);
  int rc = rp__json_text(v, &out);
  if (!rc && out.n && memchr(out.p, 0, out.n)) return bad_member(name, "text without a NUL character", err);
  *ret = rc ? NULL : out.n ? rp__buf_take(&out) : strdup("");
  return *ret ? 0 : rp__fail_nomem(err);
}

int rp__body_i64(struct rp__json body, const char *name, int64_t *ret, rp_error *err)
{
  struct rp__json v = rp__json_get(body, name);
  if (absent(v) || rp__json_i64(v, ret)) return 0;
  return bad_member(name, "a whole number", err);
}

int rp__body_bool(struct rp__json body, const char *name, bool *ret, rp_error *err)
{
  struct rp__json v = rp__json_get(body, name);
  if (absent(v)) return 0;
  if (v.type != RP_JSON_TRUE && v.type != RP_JSON_FALSE) return bad_member(name, "true or false", err);
  *ret = v.type == RP_JSON_TRUE;
  return 0;
}

int rp__body_double(struct rp__json body, const char *name, double *ret, rp_error *err)
{
  struct rp__json v = rp__json_get(body, name);
  if (absent(v) || rp__json_double(v, ret)) return 0;
  return bad_member(name, "a number", err);
}

int rp__body_known(struct rp__json body, const char *const *names, rp_error *err)
{
  struct rp__json_iter it = {0};
  struct rp__json key;
  while (rp__json_next(body, &it, &key, NULL)) {
    size_t i = 0;
    while (names[i] && !rp__json_eq(key, names[i])) i++;
    if (names[i]) continue;
    char *word RP_AUTOFREE = rp__json_dup(key);
    const char *meant = word ? rp__suggest(word, names) : NULL;
    rp__fail_field(err, RP_E_INVALID, word ? rp__text_shown(word) : "", "there is no member '%s' here",
                   word ? rp__text_shown(word) : "");
    if (meant) rp__hint(err, "did you mean '%s'?", meant);
    return RP_E_INVALID;
  }
  return 0;
}
