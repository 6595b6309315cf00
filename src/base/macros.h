/* SPDX-License-Identifier: Apache-2.0 */
/* Small macros and functions used everywhere, and the list of functions that no file may call. */
#ifndef RP_BASE_MACROS_H
#define RP_BASE_MACROS_H

#include <reprise/error.h> /* RP_MUST_USE */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define RP_ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define RP_MIN(a, b) ((a) < (b) ? (a) : (b))
#define RP_MAX(a, b) ((a) > (b) ? (a) : (b))

/* RP_CLEANUP(fn) runs fn(&variable) when the variable leaves its scope; RP_TAKE(p) gives the pointer away. */
#define RP_CLEANUP(fn) __attribute__((cleanup(fn)))
#define RP_TAKE(p)                                                                                                     \
  (__extension__({                                                                                                     \
    __typeof__(p) taken_ = (p);                                                                                        \
    (p) = NULL;                                                                                                        \
    taken_;                                                                                                            \
  }))

/* Drops the result of a function that can fail, on purpose: the comment beside it says why nobody needs it. */
#define RP_IGNORE(call) ((void)!(call))

#define RP_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))

static inline void rp__freep(void *p)
{
  free(*(void **)p);
}
#define RP_AUTOFREE RP_CLEANUP(rp__freep)

/* A stretch of bytes somebody else owns. */
struct rp__str {
  const char *p;
  size_t n;
};
#define RP_STR(lit) ((struct rp__str){"" lit, sizeof(lit) - 1})
static inline struct rp__str rp__str(const char *s)
{
  return (struct rp__str){s, s ? strlen(s) : 0};
}
static inline int rp__str_eq(struct rp__str a, const char *b)
{
  size_t n = strlen(b);
  return a.n == n && memcmp(a.p, b, n) == 0;
}

static inline void rp__closep(int *fd)
{
  if (*fd >= 0) close(*fd);
}
#define RP_AUTOCLOSE RP_CLEANUP(rp__closep)

/*
 * Banned: each has a bounded or reentrant replacement in base/. The headers that
 * declare them are included above, for they could not be afterwards; the fortified
 * ones make two of them macros with some compilers.
 */
#undef sprintf
#undef vsprintf
#pragma GCC poison strcpy strcat sprintf vsprintf strtok atoi atol atoll gets localtime gmtime ctime asctime

#endif
