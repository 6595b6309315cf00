/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A growing buffer with a maximum size that its owner names. The buffer remembers its
 * first error, so a writer checks once, at the end. It is NUL-terminated whenever err
 * is 0 and something was appended.
 */
#ifndef RP_BASE_BUF_H
#define RP_BASE_BUF_H

#include <stdarg.h>

#include "base/macros.h"

struct rp__buf {
  char *p;
  size_t n, cap, max;
  int err; /* 0, RP_E_NOMEM or RP_E_TOO_LARGE; sticky until reset */
};

#define RP_BUF(max_) ((struct rp__buf){.max = (max_)})
/* A buffer in an array of chars: it allocates nothing, and is never freed. */
#define RP_BUF_IN(array) ((struct rp__buf){.p = (array), .cap = sizeof(array), .max = sizeof(array) - 1})

void rp__buf_done(struct rp__buf *b);  /* frees; the struct can be used again */
void rp__buf_wipe(struct rp__buf *b);  /* the same, and overwrites what it held: a secret */
void rp__buf_reset(struct rp__buf *b); /* empties and clears the error, keeps the memory */
void rp__buf_add(struct rp__buf *b, const void *bytes, size_t n);
void rp__buf_str(struct rp__buf *b, const char *s);
void rp__buf_char(struct rp__buf *b, char c);
void rp__buf_printf(struct rp__buf *b, const char *fmt, ...) RP_PRINTF(2, 3);
/* Makes room for n more bytes and returns where to write them, or NULL; advance n yourself. */
char *rp__buf_room(struct rp__buf *b, size_t n);
/* Gives the bytes away (NUL-terminated, freed with free), or NULL on a remembered error. */
char *rp__buf_take(struct rp__buf *b);
/* The buffer itself, bytes and all; *b is empty and bounded as before. */
static inline struct rp__buf rp__buf_move(struct rp__buf *b)
{
  struct rp__buf moved = *b;
  *b = RP_BUF(moved.max);
  return moved;
}
#define RP_AUTOBUF RP_CLEANUP(rp__buf_done)
#define RP_AUTOWIPE RP_CLEANUP(rp__buf_wipe)

#endif
