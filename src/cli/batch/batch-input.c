/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of input from a descriptor, borrowed from one buffer. */
#include "cli/batch/batch-input.h"

#include <errno.h>

#define CHUNK ((size_t)64 * 1024)

/* Moves what was not handed out yet to the front. */
static void input_compact(struct rp__input *in)
{
  struct rp__buf *b = &in->buf;
  if (in->start == 0) return;
  memmove(b->p, b->p + in->start, b->n - in->start);
  b->n -= in->start;
  in->scanned -= in->start;
  in->start = 0;
}

int rp__input_fill(struct rp__input *in, rp_error *err)
{
  in->buf.max = in->line_max + 2 * CHUNK;
  if (in->buf.p) input_compact(in);
  char *room = rp__buf_room(&in->buf, CHUNK);
  if (!room) return rp__fail_nomem(err);
  ssize_t n;
  do n = read(in->fd, room, CHUNK);
  while (n < 0 && errno == EINTR);
  if (n < 0 && errno == EAGAIN) return 0;
  if (n < 0) return rp__fail_errno(err, errno, "can't read the input");
  in->buf.n += (size_t)n;
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
