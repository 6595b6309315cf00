/* SPDX-License-Identifier: Apache-2.0 */
/* Errors as answers: application/problem+json (RFC 9457), its status and code from the one table of errors. */
#include "server/call.h"
#include "server/server.h"

#define PROBLEM_MAX 4096

static void write_problem(const rp_error *err, int status, struct rp__buf *out)
{
  const rp_error_info *info = rp_error_lookup(err->code);
  struct rp__jw w = RP_JW(out);
  rp__jw_object(&w);
  rp__jw_kstr(&w, "type", "about:blank");
  rp__jw_kstr(&w, "title", info->text);
  rp__jw_ki64(&w, "status", status);
  rp__jw_kstr(&w, "code", info->name);
  rp__jw_kstr(&w, "detail", err->message[0] ? err->message : info->text);
  if (err->hint[0]) rp__jw_kstr(&w, "hint", err->hint);
  if (err->field[0]) rp__jw_kstr(&w, "field", err->field);
  rp__jw_kbool(&w, "retryable", info->retryable);
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
  const struct rp__call *c = rp__request_user(r);
  const char *origin = srv->auth ? rp__auth_origin(srv->auth, r) : NULL;
  int refusal = rp__request_refusal(r); /* HTTP's own word for it, where it has one */
  struct rp__answer a = {.status = refusal ? refusal : info->http, .type = "application/problem+json"};
  a.close = atomic_load(&srv->draining);
  size_t n = 0;
  write_problem(err, a.status, &out);
  a.body = out.err ? "{}" : out.p;
  a.n = out.err ? 2 : out.n;
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
