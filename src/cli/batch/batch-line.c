/* SPDX-License-Identifier: Apache-2.0 */
/* Parses a line of a batch: {"kind","body","at"?,"idempotency_key"?}. Output of `log --json` is accepted too. */
#include "cli/batch/batch.h"

/* A NUL-terminated copy of a string that has no NUL of its own. */
static int text_member(struct rp__json v, const char *name, struct rp__buf *out, rp_error *err)
{
  rp__buf_reset(out);
  if (v.type != RP_JSON_STRING) return rp__fail_field(err, RP_E_INVALID, name, "%s is not a string", name);
  rp__json_text(v, out);
  rp__buf_str(out, ""); /* makes the empty string a string */
  if (out->err == RP_E_TOO_LARGE) return rp__fail_field(err, RP_E_INVALID, name, "%s is too long", name);
  if (out->err) return rp__fail_nomem(err);
  return out->n == strlen(out->p) ? 0 : rp__fail_field(err, RP_E_INVALID, name, "%s holds a NUL character", name);
}

static int time_member(struct rp__json v, int64_t *ret, rp_error *err)
{
  if (v.type == RP_JSON_STRING && rp__time_parse(v.p + 1, v.n - 2, ret) == 0) return 0;
  return rp__fail_field(err, RP_E_INVALID, "at", "at is not an ISO 8601 time");
}

static int member_read(struct rp__batch_line *l, struct rp__json key, struct rp__json v, rp_error *err)
{
  int code;
  if (rp__json_eq(key, "kind")) {
    code = text_member(v, "kind", &l->kind, err);
    l->event.kind = l->kind.p;
  } else if (rp__json_eq(key, "body")) {
    l->event.body = v.p;
    l->event.body_len = v.n;
    code = 0;
  } else if (v.type == RP_JSON_NULL) {
    code = 0;
  } else if (rp__json_eq(key, "at")) {
    code = time_member(v, &l->event.at_ms, err);
  } else if (rp__json_eq(key, "idempotency_key")) {
    code = text_member(v, "idempotency_key", &l->key, err);
    l->event.idempotency_key = l->key.p;
  } else if (rp__json_eq(key, "seq")) {
    code = 0; /* the number it had elsewhere */
  } else {
    /* A misspelt member would otherwise be lost without a word. */
    code = rp__fail_field(err, RP_E_INVALID, "line", "unknown member %.*s", (int)RP_MIN(key.n, 60), key.p);
    rp__hint(err, "a line has kind, body, at and idempotency_key");
  }
  return code;
}

int rp__batch_line_read(struct rp__batch_line *l, const char *line, size_t n, rp_error *err)
{
  const struct rp__json_limits limits = {.max_bytes = RP_BATCH_LINE_MAX, .max_depth = RP_DEPTH_MAX + 1};
  struct rp__json doc, key, v;
  struct rp__json_iter it = {0};
  l->event = (rp_event){0};
  l->kind.max = l->key.max = 1024;
  int code = rp__json_parse(line, n, &limits, &doc, err);
  if (code) return code;
  if (doc.type != RP_JSON_OBJECT) return rp__fail_field(err, RP_E_INVALID, "line", "the line is not a JSON object");
  while (rp__json_next(doc, &it, &key, &v)) {
    code = member_read(l, key, v, err);
    if (code) return code;
  }
  if (!l->event.kind) return rp__fail_field(err, RP_E_INVALID, "kind", "kind is missing");
  if (!l->event.body) return rp__fail_field(err, RP_E_INVALID, "body", "body is missing");
  return 0;
}

void rp__batch_line_done(struct rp__batch_line *l)
{
  rp__buf_done(&l->kind);
  rp__buf_done(&l->key);
}
