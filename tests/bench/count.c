/* SPDX-License-Identifier: Apache-2.0 */
/* Counting of system calls and syncs of a child. */
#include "count.h"

#include <sqlite3.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define COUNT_NOTHING
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__GLIBC__)
#define COUNT_NOTHING
#endif

static atomic_bool counting;
static _Atomic int64_t all, by_sqlite;

static inline void count(_Atomic int64_t *n)
{
  if (atomic_load_explicit(&counting, memory_order_relaxed)) atomic_fetch_add_explicit(n, 1, memory_order_relaxed);
}

#ifndef COUNT_NOTHING
void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);

__attribute__((visibility("default"))) void *malloc(size_t n)
{
  count(&all);
  return __libc_malloc(n);
}

__attribute__((visibility("default"))) void *calloc(size_t n, size_t size)
{
  count(&all);
  return __libc_calloc(n, size);
}

__attribute__((visibility("default"))) void *realloc(void *p, size_t n)
{
  count(&all);
  return __libc_realloc(p, n);
}
#endif

bool count_works(void)
{
#ifdef COUNT_NOTHING
  return false;
#else
  return true;
#endif
}

static sqlite3_mem_methods inner;

static void *sqlite_malloc(int n)
{
  count(&by_sqlite);
  return inner.xMalloc(n);
}

static void *sqlite_realloc(void *p, int n)
{
  count(&by_sqlite);
  return inner.xRealloc(p, n);
}

void count_sqlite(void)
{
  sqlite3_config(SQLITE_CONFIG_GETMALLOC, &inner);
  sqlite3_mem_methods outer = inner;
  outer.xMalloc = sqlite_malloc;
  outer.xRealloc = sqlite_realloc;
  sqlite3_config(SQLITE_CONFIG_MALLOC, &outer);
}

void count_start(void)
{
  atomic_store(&all, 0);
  atomic_store(&by_sqlite, 0);
  atomic_store(&counting, true);
}

struct counts count_stop(void)
{
  atomic_store(&counting, false);
  return (struct counts){.all = atomic_load(&all), .sqlite = atomic_load(&by_sqlite)};
}
