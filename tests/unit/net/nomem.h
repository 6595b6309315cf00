/* SPDX-License-Identifier: Apache-2.0 */
/* The nth allocation fails. For one file of a test that is linked with --wrap for the three of them. */
#ifndef TEST_NET_NOMEM_H
#define TEST_NET_NOMEM_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

static atomic_int left = -1; /* allocations until one fails; below 0: none does */
static atomic_bool failed;
static pthread_t spared; /* where none fails while `sparing` */
static atomic_bool sparing;

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);

static bool fails(void)
{
  if (atomic_load(&sparing) && pthread_equal(pthread_self(), spared)) return false;
  if (atomic_load(&left) < 0 || atomic_fetch_sub(&left, 1) != 0) return false;
  atomic_store(&failed, true);
  return true;
}

void *__wrap_malloc(size_t n)
{
  return fails() ? NULL : __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t size)
{
  return fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t n)
{
  return fails() ? NULL : __real_realloc(p, n);
}

#endif
