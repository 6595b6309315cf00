/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hostile text through redaction. The first two bytes say where the rest is split. What must hold: masking again
 * changes nothing; text without a suspicion comes out as it went in; what a stream gives out of two chunks is masked at
 * least as much as the whole; and the same over a seam and in a JSON body.
 */
#include "core/mask.h"
#include "redact/stream.h"

/* Not assert: release builds of the driver must fail too. */
#define MUST(x) ((x) ? (void)0 : abort())
#define OUT_MAX ((size_t)64 << 20)
#define SECRET_MIN 8 /* shorter ones may stand elsewhere in the text by chance */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static struct rp__redactor *redactor(void)
{
  static struct rp__redactor *r;
  int rc = r ? 0 : rp__redactor_new(NULL, &r, NULL);
  MUST(rc == 0);
  return r;
}

static void mask(const char *text, size_t n, struct rp__buf *out, size_t *hits)
{
  int rc = rp__redact_text(redactor(), text, n, out, hits);
  MUST(rc == 0);
}

static bool holds(const struct rp__buf *b, const char *what, size_t n)
{
  return b->n >= n && memmem(b->p, b->n, what, n) != NULL;
}

struct whole {
  const char *text;
  size_t n;
  const struct rp__buf *masked, *streamed;
};

/* A secret that the masked whole does not show is not shown by the pieces either. */
static int on_secret(void *ctx, const struct rp__secret *s)
{
  const struct whole *w = ctx;
  const char *secret = w->text + s->start;
  size_t n = s->end - s->start;
  MUST(s->start < s->end && s->end <= w->n);
  if (n >= SECRET_MIN && !holds(w->masked, secret, n)) MUST(!holds(w->streamed, secret, n));
  return 0;
}

static void check_whole(const char *text, size_t n, struct rp__buf *once)
{
  RP_AUTOBUF struct rp__buf twice = RP_BUF(OUT_MAX);
  size_t hits = 0, again = 0;
  mask(text, n, once, &hits);
  MUST(hits > 0 || (once->n == n && (n == 0 || memcmp(once->p, text, n) == 0)));
  MUST(hits == 0 || rp__redact_suspects(redactor(), text, n));
  mask(once->p, once->n, &twice, &again);
  MUST(twice.n == once->n && (twice.n == 0 || memcmp(twice.p, once->p, twice.n) == 0));
  MUST(rp__redact_tail(redactor(), text, n) <= n);
}

static void check_stream(const char *text, size_t n, size_t cut, const struct rp__buf *once)
{
  RP_AUTOBUF struct rp__buf out = RP_BUF(OUT_MAX), seam = RP_BUF(OUT_MAX);
  struct rp__redact_stream s = {0};
  struct rp__redactor *r = redactor();
  int rc = rp__redact_stream_push(r, &s, text, cut, &out, NULL);
  MUST(rc == 0 && s.held.n <= RP_REDACT_TAIL_MAX);
  RP_AUTOBUF struct rp__buf saved = RP_BUF(RP_REDACT_SAVED);
  rp__redact_stream_save(&s, &saved);
  rp__redact_stream_done(&s);
  MUST(!saved.err && rp__redact_stream_load(saved.p, saved.n, &s) == 0);
  rc = rp__redact_stream_push(r, &s, text + cut, n - cut, &out, NULL);
  MUST(rc == 0 && s.held.n <= RP_REDACT_TAIL_MAX);
  rc = rp__redact_stream_end(r, &s, cut % 2, &out, NULL);
  MUST(rc == 0);
  struct whole w = {text, n, once, &out};
  rc = rp__redact_find(r, text, n, on_secret, &w);
  MUST(rc == 0);
  if (!rp__redact_suspects(r, text, n)) MUST(out.n == n && (n == 0 || memcmp(out.p, text, n) == 0));
  rc = rp__redact_after(r, text, cut, true, text + cut, n - cut, &seam, NULL);
  MUST(rc == 0);
}

/* The text as a string of a body: what comes out is JSON, and masked again it stays. */
static void check_body(const char *text, size_t n)
{
  RP_AUTOBUF struct rp__buf body = RP_BUF(OUT_MAX), out = RP_BUF(OUT_MAX), again = RP_BUF(OUT_MAX);
  struct rp__jw w = RP_JW(&body);
  struct rp__str once, twice;
  struct rp__json v;
  rp__jw_object(&w);
  rp__jw_key(&w, "content");
  rp__jw_strn(&w, text, n);
  rp__jw_end_object(&w);
  MUST(!body.err);
  int rc = rp__mask_body(redactor(), RP_KIND_MESSAGE, rp__json_trusted(body.p, body.n), &out, &once, NULL);
  MUST(rc == 0);
  rc = rp__json_parse(once.p, once.n, NULL, &v, NULL);
  MUST(rc == 0);
  rc = rp__mask_body(redactor(), RP_KIND_MESSAGE, v, &again, &twice, NULL);
  MUST(rc == 0 && twice.n == once.n && memcmp(twice.p, once.p, once.n) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
  if (n < 2) return 0;
  const char *text = (const char *)data + 2;
  n -= 2;
  size_t cut = n ? (size_t)(data[0] | data[1] << 8) % (n + 1) : 0;
  RP_AUTOBUF struct rp__buf once = RP_BUF(OUT_MAX);
  check_whole(text, n, &once);
  check_stream(text, n, cut, &once);
  check_body(text, n);
  return 0;
}
