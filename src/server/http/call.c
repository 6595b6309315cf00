/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a call that handlers read, its query and the members of its body; and the answer to an error. */
#include "server/http/call.h"

#include <errno.h>
#include <math.h>

#include "base/clock.h"
#include "base/id.h"
#include "base/suggest.h"
#include "base/text.h"
#include "server/channel/push.h"
#include "server/server.h"

#define PROBLEM_MAX 4096

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

/* ---- errors as answers: application/problem+json (RFC 9457), status and code from the one table of errors ---- */

/* A part without the words in it that are paths. */
static void add_words(struct rp__buf *out, const char *p, size_t n)
{
  for (size_t at = 0; at < n;) {
    size_t word = 0;
    while (at + word < n && p[at + word] != ' ') word++;
    size_t quote = word && (p[at] == '\'' || p[at] == '"');
    if (at) rp__buf_char(out, ' ');
    if (word > quote + 1 && p[at + quote] == '/')
      rp__buf_str(out, "…");
    else
      rp__buf_add(out, p + at, word);
    at += word + 1;
  }
}

void rp__problem_text(const rp_error *err, char ret[RP_PROBLEM_TEXT])
{
  const rp_error_info *info = rp_error_lookup(err->code);
  struct rp__buf out RP_AUTOBUF = RP_BUF(RP_PROBLEM_TEXT - 1);
  /* Only what goes wrong here is told with the names of files; elsewhere a slash is the client's own. */
  if (info->http < 500) rp__buf_str(&out, err->message);
  for (const char *p = err->message; info->http >= 500 && *p;) {
    const char *end = strstr(p, ": ");
    size_t n = end ? (size_t)(end - p) : strlen(p);
    /* The store begins its messages with its path; a folder with spaces is one too. "disk I/O error" is none. */
    bool hidden = n > 1 && (p[0] == '/' || (memchr(p, '/', n) && !memchr(p, ' ', n)));
    if (!hidden && out.n) rp__buf_str(&out, ": ");
    if (!hidden) add_words(&out, p, n);
    p += p[n] ? n + 2 : n;
  }
  rp__text_copy(ret, RP_PROBLEM_TEXT, out.n && !out.err ? out.p : info->text);
}

static void write_problem(const rp_error *err, int status, struct rp__buf *out)
{
  const rp_error_info *info = rp_error_lookup(err->code);
  struct rp__jw w = RP_JW(out);
  int64_t expected = rp__push_expected(err);
  char detail[RP_PROBLEM_TEXT];
  rp__problem_text(err, detail);
  rp__jw_object(&w);
  rp__jw_kstr(&w, "type", "about:blank");
  rp__jw_kstr(&w, "title", info->text);
  rp__jw_ki64(&w, "status", status);
  rp__jw_kstr(&w, "code", info->name);
  rp__jw_kstr(&w, "detail", detail);
  if (err->hint[0]) rp__jw_kstr(&w, "hint", err->hint);
  if (err->field[0]) rp__jw_kstr(&w, "field", err->field);
  rp__jw_kbool(&w, "retryable", info->retryable);
  if (expected) rp__jw_ki64(&w, "expected", expected);
  rp__jw_end_object(&w);
}

void rp__problem_write(const rp_error *err, struct rp__buf *out)
{
  write_problem(err, rp_error_lookup(err->code)->http, out);
}

void rp__problem_answer(struct rp__server *srv, struct rp__request *r, const rp_error *err)
{
  struct rp__buf out RP_AUTOBUF = RP_BUF(PROBLEM_MAX);
  const rp_error_info *info = rp_error_lookup(err->code);
  const struct rp__http_call *c = rp__request_user(r);
  const char *origin = srv->auth ? rp__auth_origin(srv->auth, r) : NULL;
  int refusal = rp__request_refusal(r); /* HTTP's own word for it, where it has one */
  struct rp__answer a = {.status = refusal ? refusal : info->http, .type = "application/problem+json"};
  a.close = atomic_load(&srv->draining);
  size_t n = 0;
  write_problem(err, a.status, &out);
  rp__buf_char(&out, '\n');
  a.body = out.err ? "{}\n" : out.p;
  a.n = out.err ? 3 : out.n;
  if (info->http == 503 || info->http == 429)
    a.headers[n++] = (struct rp__header){"Retry-After", info->http == 429 ? "1" : "2"};
  if (info->http == 401) a.headers[n++] = (struct rp__header){"WWW-Authenticate", "Bearer realm=\"reprise\""};
  if (c && c->header.name) a.headers[n++] = c->header;
  if (origin) {
    a.headers[n++] = (struct rp__header){"Access-Control-Allow-Origin", origin};
    a.headers[n++] = (struct rp__header){"Vary", "Origin"};
  }
  rp__request_answer(r, &a);
}
