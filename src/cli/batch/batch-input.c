/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines of input from a descriptor, borrowed from one buffer, and what they say: {"kind","body","at"?,
 * "idempotency_key"?}; what `log --json` prints is taken too.
 */
#include "cli/batch/batch.h"

#include <errno.h>

#define CHUNK ((size_t)64 * 1024)

int rp__input_fill(struct rp__input *in, rp_error *err)
{
  struct rp__buf *b = &in->buf;
  b->max = in->line_max + 2 * CHUNK;
  if (b->p && in->start) {
    /* What was not handed out yet moves to the front. */
    memmove(b->p, b->p + in->start, b->n - in->start);
    b->n -= in->start;
    in->scanned -= in->start;
    in->start = 0;
  }
  char *room = rp__buf_room(b, CHUNK);
  if (!room) return rp__fail_nomem(err);
  ssize_t n;
  do n = read(in->fd, room, CHUNK);
  while (n < 0 && errno == EINTR);
  if (n < 0 && errno == EAGAIN) return 0;
  if (n < 0) return rp__fail_errno(err, errno, "can't read the input");
  b->n += (size_t)n;
  if (n == 0) in->ended = true;
  return 0;
}

/* Hands out the bytes up to `end`, the place of the newline or of the end of input. */
static bool input_give(struct rp__input *in, size_t end, struct rp__str *ret)
{
  bool skipped = in->skipping;
  *ret = (struct rp__str){in->buf.p + in->start, end - in->start};
  if (ret->n > in->line_max) ret->p = NULL;
  in->start = in->scanned = RP_MIN(end + 1, in->buf.n);
  in->skipping = false;
  if (!skipped) in->line++;
  return !skipped;
}

bool rp__input_next(struct rp__input *in, struct rp__str *ret)
{
  for (;;) {
    struct rp__buf *b = &in->buf;
    const char *nl = b->n > in->scanned ? memchr(b->p + in->scanned, '\n', b->n - in->scanned) : NULL;
    if (!nl && !in->ended) break;
    if (!nl && b->n == in->start) return false;
    if (input_give(in, nl ? (size_t)(nl - b->p) : b->n, ret)) return true;
  }
  in->scanned = in->buf.n;
  if (in->buf.n - in->start <= in->line_max) return false;
  /* Too long already: told once, and its rest is dropped as it comes. */
  bool first = !in->skipping;
  if (first) in->line++;
  in->skipping = true;
  in->start = in->scanned;
  *ret = (struct rp__str){NULL, 0};
  return first;
}

void rp__input_unread(struct rp__input *in, struct rp__str line)
{
  in->start = in->scanned = (size_t)(line.p - in->buf.p);
  in->line--;
}

void rp__input_done(struct rp__input *in)
{
  rp__buf_done(&in->buf);
}

/* ---- what a line says ---- */

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

static int member_read(struct rp__batch_line *l, struct rp__json key, struct rp__json v, rp_error *err)
{
  int code = 0;
  if (rp__json_eq(key, "kind")) {
    code = text_member(v, "kind", &l->kind, err);
    l->event.kind = l->kind.p;
  } else if (rp__json_eq(key, "body")) {
    l->event.body = v.p;
    l->event.body_len = v.n;
  } else if (v.type == RP_JSON_NULL || rp__json_eq(key, "seq")) {
    code = 0; /* as if it were not there; seq is the number it had elsewhere */
  } else if (rp__json_eq(key, "at")) {
    if (v.type != RP_JSON_STRING || rp__time_parse(v.p + 1, v.n - 2, &l->event.at_ms))
      code = rp__fail_field(err, RP_E_INVALID, "at", "at is not an ISO 8601 time");
  } else if (rp__json_eq(key, "idempotency_key")) {
    code = text_member(v, "idempotency_key", &l->key, err);
    l->event.idempotency_key = l->key.p;
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
