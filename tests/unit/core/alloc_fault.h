/* SPDX-License-Identifier: Apache-2.0 */
/* The nth allocation of our own objects fails (link with --wrap of malloc, calloc and realloc). Include once. */
#ifndef ALLOC_FAULT_H
#define ALLOC_FAULT_H

#include <stddef.h>

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);

static long alloc_countdown = -1; /* < 0: none fails */
static int alloc_failed;

static int alloc_fails(void)
{
  if (alloc_countdown < 0 || alloc_countdown-- > 0) return 0;
  alloc_failed = 1;
  return 1;
}

void *__wrap_malloc(size_t n)
{
  return alloc_fails() ? NULL : __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t size)
{
  return alloc_fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t n)
{
  return alloc_fails() ? NULL : __real_realloc(p, n);
}

/* Runs `work` with the first, second, … allocation failing, until none did; returns how many there were. */
static inline long alloc_enumerate(int (*work)(void), int expected)
{
  for (long n = 0;; n++) {
    alloc_countdown = n;
    alloc_failed = 0;
    int rc = work();
    alloc_countdown = -1;
    if (!alloc_failed) {
      if (rc != 0) fail_msg("without a failure: %d", rc);
      return n;
    }
    if (rc != expected) fail_msg("allocation %ld failed: %d", n, rc);
  }
}

#endif
