/* SPDX-License-Identifier: Apache-2.0 */
/* Splitting bytes into lines of bounded length. */
#include "bridge/line.h"

void rp__lines_init(struct rp__lines *l, size_t max)
{
  *l = (struct rp__lines){.buf = RP_BUF(max)};
}

void rp__lines_done(struct rp__lines *l)
{
  rp__buf_done(&l->buf);
  l->at = l->scanned = 0;
  l->skipping = false;
}

static void forget(struct rp__lines *l)
{
  if (l->buf.cap > RP_LINE_KEEP)
    rp__buf_done(&l->buf);
  else
    rp__buf_reset(&l->buf);
  l->at = l->scanned = 0;
}

char *rp__lines_room(struct rp__lines *l, size_t n, rp_error *err)
{
  /* The lines that were taken make room: only when most of the buffer is theirs, so that each byte moves about once,
   * or when there is no room else. */
  bool wanted = l->at > l->buf.n / 2 || l->buf.max - l->buf.n < n;
  if (wanted && l->at == l->buf.n) {
    forget(l);
  } else if (wanted) {
    memmove(l->buf.p, l->buf.p + l->at, l->buf.n - l->at);
    l->buf.n -= l->at;
    l->scanned -= RP_MIN(l->scanned, l->at);
    l->at = 0;
  }
  char *room = rp__buf_room(&l->buf, n);
  if (room) return room;
  if (l->buf.err == RP_E_NOMEM)
    rp__fail_nomem(err);
  else
    rp__fail(err, RP_E_TOO_LARGE, "a line is over %zu bytes", l->buf.max);
  return NULL;
}

void rp__lines_added(struct rp__lines *l, size_t n)
{
  l->buf.n += n;
}

int rp__lines_add(struct rp__lines *l, const char *bytes, size_t n, rp_error *err)
{
  char *room = rp__lines_room(l, n, err);
  if (!room) return l->buf.err;
  if (n) memcpy(room, bytes, n);
  rp__lines_added(l, n);
  return 0;
}

void rp__lines_skip(struct rp__lines *l)
{
  l->at = l->buf.n;
  forget(l);
  l->skipping = true;
}

bool rp__line_is_blank(struct rp__str line)
{
  for (size_t i = 0; i < line.n; i++)
    if (line.p[i] != ' ' && line.p[i] != '\t' && line.p[i] != '\r') return false;
  return true;
}

/* Up to the next end, or, with `last`, to the end of everything. */
static bool cut(struct rp__lines *l, bool last, struct rp__str *ret)
{
  const char *end = NULL;
  if (l->at >= l->buf.n) return false;
  const char *from = l->buf.p + l->at;
  if (l->scanned < l->buf.n) end = memchr(l->buf.p + l->scanned, '\n', l->buf.n - l->scanned);
  if (!end && !last) {
    l->scanned = l->buf.n;
    if (l->skipping) forget(l);
    return false;
  }
  size_t n = end ? (size_t)(end - from) : l->buf.n - l->at;
  l->at += n + (end != NULL);
  l->open = !end;
  l->scanned = l->at;
  if (!l->whole && n && from[n - 1] == '\r') n--;
  *ret = (struct rp__str){from, n};
  return true;
}

bool rp__lines_next(struct rp__lines *l, bool last, struct rp__str *ret)
{
  struct rp__str line;
  while (cut(l, last, &line)) {
    if (l->skipping || (!l->whole && rp__line_is_blank(line))) {
      l->skipping = false;
      continue;
    }
    *ret = line;
    return true;
  }
  return false;
}
