/* SPDX-License-Identifier: Apache-2.0 */
/* Errors as answers: application/problem+json (RFC 9457), its status and code from the one table of errors. */
#include "base/text.h"
#include "server/http/call.h"
#include "server/channel/push.h"
#include "server/server.h"

#define PROBLEM_MAX 4096

/* ---- what leaves the machine ---- */

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

/* ---- the document ---- */

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
