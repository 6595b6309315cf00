/* SPDX-License-Identifier: Apache-2.0 */
/* The growing buffer. */
#include "base/buf.h"

#include <assert.h>

#include <stdbool.h>

#include <reprise/error.h>

#define FIRST_CAP 64

void rp__buf_done(struct rp__buf *b)
{
  free(b->p);
  *b = RP_BUF(b->max);
}

void rp__buf_wipe(struct rp__buf *b)
{
  if (b->p) explicit_bzero(b->p, b->cap);
  rp__buf_done(b);
}

void rp__buf_reset(struct rp__buf *b)
{
  b->n = 0;
  b->err = 0;
  if (b->p) b->p[0] = '\0';
}

/* Room for n more bytes and the NUL; the maximum counts the bytes without it. */
static int buf_grow(struct rp__buf *b, size_t n)
{
  assert(b->n < b->cap || !b->p); /* the NUL has its place */
  if (b->err) return b->err;
  if (b->n > b->max || n > b->max - b->n || b->n + n == SIZE_MAX) return b->err = RP_E_TOO_LARGE;
  size_t need = b->n + n + 1;
  if (need <= b->cap) return 0;
  size_t cap = b->cap > SIZE_MAX / 2 ? SIZE_MAX : RP_MAX(b->cap * 2, FIRST_CAP);
  if (b->max < SIZE_MAX) cap = RP_MIN(cap, b->max + 1);
  cap = RP_MAX(cap, need);
  char *p = realloc(b->p, cap);
  if (!p) return b->err = RP_E_NOMEM;
  b->p = p;
  b->cap = cap;
  return 0;
}

void rp__buf_add(struct rp__buf *b, const void *bytes, size_t n)
{
  assert(bytes || n == 0);
  if (buf_grow(b, n)) return;
  if (n) memcpy(b->p + b->n, bytes, n);
  b->n += n;
  b->p[b->n] = '\0';
}

void rp__buf_str(struct rp__buf *b, const char *s)
{
  rp__buf_add(b, s, strlen(s));
}

void rp__buf_char(struct rp__buf *b, char c)
{
  rp__buf_add(b, &c, 1);
}

/* Formats into what room there is and returns the length it would have taken, or -1. */
static int buf_try(struct rp__buf *b, const char *fmt, va_list args) RP_PRINTF(2, 0);
static int buf_try(struct rp__buf *b, const char *fmt, va_list args)
{
  /* The format is never NULL; without saying so the sanitizers' own check makes the compiler think it may be. */
  if (!fmt) return -1;
  return vsnprintf(b->p + b->n, b->cap - b->n, fmt, args);
}

void rp__buf_printf(struct rp__buf *b, const char *fmt, ...)
{
  if (buf_grow(b, 0)) return;
  va_list args;
  va_start(args, fmt);
  int n = buf_try(b, fmt, args);
  va_end(args);
  bool fits = n >= 0 && (size_t)n < b->cap - b->n;
  if (n >= 0 && !fits && !buf_grow(b, (size_t)n)) {
    va_start(args, fmt);
    fits = buf_try(b, fmt, args) == n;
    va_end(args);
  }
  if (fits) b->n += (size_t)n;
  if (!fits && !b->err) b->err = RP_E_NOMEM;
  /* A text cut short by the first try is not left behind. */
  b->p[b->n] = '\0';
}

char *rp__buf_room(struct rp__buf *b, size_t n)
{
  if (buf_grow(b, n)) return NULL;
  b->p[b->n + n] = '\0';
  return b->p + b->n;
}

char *rp__buf_take(struct rp__buf *b)
{
  if (buf_grow(b, 0)) return NULL;
  b->p[b->n] = '\0';
  char *p = b->p;
  *b = RP_BUF(b->max);
  return p;
}
