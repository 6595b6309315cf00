/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as lines of JSON-RPC. The first byte says into what pieces the rest is cut. Checked here: lines have no end
 * in them, come in order and lie nowhere else than in what was given; pieces do not matter; a line over the limit is
 * told and the next one read; what is looked at lies inside its line; and a line of ours with its id reads back.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "bridge/line.h"
#include "bridge/rpc.h"
#include "base/utf8.h"

#define CHECK(cond)                                                                                                    \
  do {                                                                                                                 \
    if (!(cond)) {                                                                                                     \
      fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #cond);                                             \
      abort();                                                                                                         \
    }                                                                                                                  \
  } while (0)

#define SHORT 48 /* a limit that inputs pass */
#define INPUT_MAX 65536

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static void check_span(struct rp__str line, struct rp__json v)
{
  if (v.type) CHECK(v.p >= line.p && v.p + v.n <= line.p + line.n);
}

/* An answer of ours to it carries the very bytes of its id. */
static void check_answer(struct rp__json id)
{
  RP_AUTOBUF struct rp__buf out = RP_BUF(INPUT_MAX * 2);
  struct rp__rpc back;
  rp__rpc_error(&out, id, -32601, "no such method", NULL);
  CHECK(!out.err);
  rp__rpc_look(out.p, out.n, &back);
  CHECK(back.type == RP_RPC_ERROR && back.id.n == id.n && memcmp(back.id.p, id.p, id.n) == 0);
}

/* What is passed on: all that is taken strictly, and it is the same; ids are the same as themselves. */
static void check_route(struct rp__str line, const struct rp__rpc *strict)
{
  struct rp__rpc r;
  rp__rpc_route(line.p, line.n, &r);
  CHECK(strict->type == RP_RPC_BROKEN || (r.type == strict->type && r.id.p == strict->id.p && !r.odd));
  check_span(line, r.id), check_span(line, r.method), check_span(line, r.params);
  check_span(line, r.result), check_span(line, r.error);
  if (!r.id.type) return;
  CHECK(rp__rpc_same_id(r.id, r.id));
  if (rp__utf8_ok(r.id.p, r.id.n)) check_answer(r.id);
}

static void check_message(struct rp__str line)
{
  struct rp__rpc r;
  rp__rpc_look(line.p, line.n, &r);
  check_route(line, &r);
  if (r.type == RP_RPC_BROKEN) {
    CHECK((r.code == -32700 || r.code == -32600) && r.why[0]);
    return;
  }
  CHECK((r.type == RP_RPC_NOTE) == (r.id.type == RP_JSON_NONE));
  check_span(line, r.id), check_span(line, r.method), check_span(line, r.params);
  check_span(line, r.result), check_span(line, r.error);
  if (r.id.type) check_answer(r.id);
  if (!r.params.type) return;
  RP_AUTOBUF struct rp__buf out = RP_BUF(INPUT_MAX * 2);
  rp__rpc_splice(&out, line, r.params, (struct rp__str){r.params.p, r.params.n});
  CHECK(!out.err && out.n == line.n && memcmp(out.p, line.p, line.n) == 0);
}

/* The lines, each with an end; `told` counts those that were given up. */
static void read_lines(const uint8_t *bytes, size_t n, size_t piece, size_t max, struct rp__buf *out, unsigned *told)
{
  RP_CLEANUP(rp__lines_done) struct rp__lines l;
  struct rp__str line;
  rp__lines_init(&l, max);
  for (size_t at = 0, k; at < n; at += k) {
    k = RP_MIN(piece, n - at);
    if (rp__lines_add(&l, (const char *)bytes + at, k, NULL)) {
      ++*told;
      rp__lines_skip(&l);
      int rc = rp__lines_add(&l, (const char *)bytes + at, k, NULL);
      CHECK(rc == 0);
    }
    while (rp__lines_next(&l, at + k == n, &line)) {
      CHECK(line.n && line.n <= max && !memchr(line.p, '\n', line.n));
      rp__buf_add(out, line.p, line.n);
      rp__buf_char(out, '\n');
    }
  }
}

/* Whoever passes lines on loses no byte. */
static void check_whole(const char *bytes, size_t n, size_t piece)
{
  RP_CLEANUP(rp__lines_done) struct rp__lines l;
  struct rp__str line;
  size_t got = 0;
  rp__lines_init(&l, INPUT_MAX);
  l.whole = true;
  for (size_t at = 0, k; at < n; at += k) {
    k = RP_MIN(piece, n - at);
    int rc = rp__lines_add(&l, bytes + at, k, NULL);
    CHECK(rc == 0);
    while (rp__lines_next(&l, at + k == n, &line)) {
      CHECK(line.n <= n - got && memcmp(line.p, bytes + got, line.n) == 0);
      got += line.n;
      CHECK(got == n || bytes[got] == '\n');
      got += got < n;
    }
  }
  CHECK(got == n);
}

/* Mended it is UTF-8, and what was is as it was. */
static void check_mended(const char *bytes, size_t n)
{
  RP_AUTOBUF struct rp__buf mended = RP_BUF(INPUT_MAX * 3);
  rp__utf8_mend(&mended, bytes, n);
  CHECK(!mended.err && rp__utf8_ok(mended.p, mended.n));
  if (rp__utf8_ok(bytes, n)) CHECK(mended.n == n && (!n || memcmp(mended.p, bytes, n) == 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
  RP_AUTOBUF struct rp__buf whole = RP_BUF(INPUT_MAX * 2), pieces = RP_BUF(INPUT_MAX * 2), few = RP_BUF(INPUT_MAX * 2);
  unsigned told = 0;
  if (n < 1 || n > INPUT_MAX) return 0;
  size_t piece = (size_t)bytes[0] % 64 + 1;
  bytes++, n--;
  check_whole((const char *)bytes, n, piece);
  check_mended((const char *)bytes, n);
  read_lines(bytes, n, INPUT_MAX, INPUT_MAX, &whole, &told);
  read_lines(bytes, n, piece, INPUT_MAX, &pieces, &told);
  CHECK(!told && whole.n == pieces.n && (!whole.n || memcmp(whole.p, pieces.p, whole.n) == 0));
  read_lines(bytes, n, RP_MIN(piece, SHORT), SHORT, &few, &told);
  CHECK(few.n <= whole.n && (told || few.n == whole.n));
  for (const char *p = whole.p, *end; whole.n && p < whole.p + whole.n; p = end + 1) {
    end = memchr(p, '\n', (size_t)(whole.p + whole.n - p));
    check_message((struct rp__str){p, (size_t)(end - p)});
  }
  return 0;
}
