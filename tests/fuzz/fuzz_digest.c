/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hostile session through the digest (B-13). The input is split at bytes of value 1: a file of cues, a text, and
 * events, each a letter for its kind and a body. What must hold: cues that are read are JSON and can be made; what is
 * found in a text is one line of UTF-8 within its width; and a fold that was saved and loaded says the same as the one
 * that went on, within the digest's bound.
 */
#include "core/fold.h"
#include "facets/digest/digest.h"
#include "facets/digest/prose.h"
#include "facets/table.h"

#include "base/utf8.h"

#define OUT_MAX ((size_t)8 << 20)
#define WIDTH 60
#define EVENTS_MAX 200
/* Not assert: release builds of the driver must fail too. */
#define MUST(x) ((x) ? (void)0 : abort())

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static struct rp__str next_part(struct rp__str *rest)
{
  const char *end = rest->n ? memchr(rest->p, 1, rest->n) : NULL;
  struct rp__str part = {rest->p, end ? (size_t)(end - rest->p) : rest->n};
  size_t skip = part.n + (end != NULL);
  rest->p += skip;
  rest->n -= skip;
  return part;
}

/* The lists of a file; they stand in `json`. NULL when it is none. */
static struct rp__cue_set *cues_of(struct rp__str ini, struct rp__buf *json)
{
  struct rp__cue_set *set = NULL;
  struct rp__json v;
  rp_error err = {0};
  if (rp__cues_read(ini, json, &err)) {
    MUST(err.code == RP_E_CONFIG && err.message[0]);
    rp__buf_reset(json);
    return NULL;
  }
  MUST(rp__json_parse(json->p, json->n, NULL, &v, NULL) == 0 && json->n <= RP_CUES_BYTES);
  MUST(rp__cues_new(v, &set) == 0);
  MUST((set != NULL) == (json->n > 2));
  return set;
}

static void check_line(struct rp__buf *out, size_t width, bool utf8)
{
  struct rp__str s = {out->p ? out->p : "", out->n};
  MUST(out->err == 0 && !memchr(s.p, '\n', s.n));
  MUST(rp__prose_width(s) <= width);
  if (utf8) MUST(rp__utf8_ok(s.p, s.n));
  rp__buf_reset(out);
}

static void check_text(rp__cues own, struct rp__str text)
{
  RP_AUTOBUF struct rp__buf out = RP_BUF(OUT_MAX);
  struct rp__sentences all = {text};
  struct rp__str s;
  bool utf8 = rp__utf8_ok(text.p, text.n);
  rp__prose_middle(text, WIDTH, &out);
  check_line(&out, WIDTH + 3, utf8);
  rp__prose_clip(text, WIDTH, &out);
  check_line(&out, WIDTH, utf8);
  rp__prose_request(own, text, &out);
  check_line(&out, SIZE_MAX, utf8);
  rp__prose_answer(own, text, WIDTH, &out);
  check_line(&out, 2 * WIDTH, utf8);
  rp__prose_error(own, text, WIDTH, &out);
  check_line(&out, WIDTH, utf8);
  (void)rp__prose_cut_off(own, text);
  const char *end = text.p;
  while (rp__sentences_next(&all, &s)) {
    MUST(s.n > 1 && s.p >= end && s.p + s.n <= text.p + text.n);
    end = s.p + s.n;
  }
}

static enum rp__kind kind_of(char letter)
{
  switch (letter) {
  case 'm': return RP_KIND_MESSAGE;
  case 't': return RP_KIND_TOOL;
  case 'a': return RP_KIND_APPROVAL;
  case 'd': return RP_KIND_TODO;
  case 'u': return RP_KIND_TURN;
  case 's': return RP_KIND_SESSION;
  default: return RP_KIND_RESTORED;
  }
}

static struct rp__fold *fold_new(void)
{
  struct rp__fold *f = NULL;
  MUST(rp__fold_new(&rp__facets, &f) == 0);
  return f;
}

static void fold_save(const struct rp__fold *f, struct rp__buf *out, struct rp__json *ret)
{
  static const struct rp__json_limits limits = {.max_depth = 100};
  struct rp__jw w = RP_JW(out);
  rp__buf_reset(out);
  rp__fold_save(f, &w);
  MUST(out->err == 0 && rp__json_parse(out->p, out->n, &limits, ret, NULL) == 0);
}

static void tell(struct rp__fold *f, enum rp__kind kind, struct rp__json body)
{
  int64_t to, seq = rp__fold_seq(f) + 1;
  struct rp__event ev = {seq, 1000 * seq, kind, rp__kind_name(kind), body};
  int rc = rp__fold_apply(f, &ev, &to);
  MUST(rc == 0);
}

static struct rp__fold *again(const struct rp__fold *f, struct rp__buf *saved)
{
  struct rp__fold *back = fold_new();
  struct rp__json v;
  rp_error err;
  fold_save(f, saved, &v);
  MUST(rp__json_get(rp__json_get(v, "facets"), "digest").n <= RP_DIGEST_BYTES);
  int rc = rp__fold_load(back, v, &err);
  MUST(rc == 0);
  return back;
}

static void check_events(const struct rp__buf *cues, struct rp__str rest)
{
  RP_AUTOFOLD struct rp__fold *f = fold_new(), *hops = fold_new();
  RP_AUTOBUF struct rp__buf a = RP_BUF(OUT_MAX), b = RP_BUF(OUT_MAX), body = RP_BUF(OUT_MAX);
  struct rp__json v;
  if (cues->n) {
    rp__buf_printf(&body, "{\"settings\":{\"cues\":%s}}", cues->p);
    tell(f, RP_KIND_SESSION, rp__json_trusted(body.p, body.n));
    tell(hops, RP_KIND_SESSION, rp__json_trusted(body.p, body.n));
  }
  for (size_t i = 0; i < EVENTS_MAX && rest.n; i++) {
    struct rp__str part = next_part(&rest);
    if (part.n < 2) continue;
    enum rp__kind kind = kind_of(part.p[0]);
    if (rp__json_parse(part.p + 1, part.n - 1, NULL, &v, NULL) || v.type != RP_JSON_OBJECT) continue;
    if (rp__json_get(v, "to_seq").type != RP_JSON_NONE) continue; /* a rewind is the engine's business */
    tell(f, kind, v);
    tell(hops, kind, v);
    if (part.n % 3) continue;
    struct rp__fold *back = again(hops, &a);
    rp__fold_free(hops);
    hops = back;
  }
  RP_AUTOFOLD struct rp__fold *back = again(f, &a);
  fold_save(back, &b, &v);
  MUST(a.n == b.n && memcmp(a.p, b.p, a.n) == 0);
  fold_save(hops, &b, &v);
  MUST(a.n == b.n && memcmp(a.p, b.p, a.n) == 0);
  struct rp__jw w = RP_JW(&b);
  rp__buf_reset(&b);
  rp__jw_object(&w);
  rp__fold_show(f, NULL, NULL, NULL, 5000, &w);
  rp__jw_end_object(&w);
  MUST(b.err == 0 && rp__json_parse(b.p, b.n, NULL, &v, NULL) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
  struct rp__str rest = {(const char *)data, n}, ini = next_part(&rest), text = next_part(&rest);
  RP_AUTOBUF struct rp__buf json = RP_BUF(OUT_MAX);
  struct rp__cue_set *own = cues_of(ini, &json);
  if (text.n && text.n < 65536) check_text(own, text);
  check_events(&json, rest);
  rp__cues_free(own);
  return 0;
}
