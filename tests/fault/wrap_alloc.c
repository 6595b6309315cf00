/* SPDX-License-Identifier: Apache-2.0 */
/*
 * malloc and its kin, as far as our own objects call them (linked with --wrap).
 * Blocks are remembered in a table of addresses, so that what a cycle left
 * behind can be counted without a sanitizer; blocks that the C library made for
 * us are not in it.
 */
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "plan.h"

struct plan plan_alloc;

#define SLOTS (1u << 18)
static void *slots[SLOTS];
static long outstanding;
static pthread_mutex_t slots_lock = PTHREAD_MUTEX_INITIALIZER;

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void __real_free(void *p);

void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);
void *__wrap_reallocarray(void *p, size_t n, size_t size);
char *__wrap_strdup(const char *s);
char *__wrap_strndup(const char *s, size_t n);
void __wrap_free(void *p);

static uint32_t slot_of(const void *p)
{
  return (uint32_t)(((uintptr_t)p >> 4) * 2654435761u) % SLOTS;
}

static void *note_block(void *p)
{
  if (!p) return NULL;
  pthread_mutex_lock(&slots_lock);
  uint32_t i = slot_of(p);
  while (slots[i]) i = (i + 1) % SLOTS;
  slots[i] = p;
  outstanding++;
  pthread_mutex_unlock(&slots_lock);
  return p;
}

/* Closes the gap, so that the blocks behind it are still found from their own slot on. */
static void slot_clear(uint32_t i)
{
  for (uint32_t j = (i + 1) % SLOTS; slots[j]; j = (j + 1) % SLOTS) {
    uint32_t home = slot_of(slots[j]);
    if ((j - home) % SLOTS < (j - i) % SLOTS) continue;
    slots[i] = slots[j];
    i = j;
  }
  slots[i] = NULL;
}

static void drop_block(const void *p)
{
  if (!p) return;
  pthread_mutex_lock(&slots_lock);
  uint32_t i = slot_of(p);
  while (slots[i] && slots[i] != p) i = (i + 1) % SLOTS;
  if (slots[i] == p) {
    slot_clear(i);
    outstanding--;
  }
  pthread_mutex_unlock(&slots_lock);
}

long alloc_outstanding(void)
{
  pthread_mutex_lock(&slots_lock);
  long n = outstanding;
  pthread_mutex_unlock(&slots_lock);
  return n;
}

void *__wrap_malloc(size_t n)
{
  return plan_fails(&plan_alloc) ? NULL : note_block(__real_malloc(n));
}

void *__wrap_calloc(size_t n, size_t size)
{
  return plan_fails(&plan_alloc) ? NULL : note_block(__real_calloc(n, size));
}

void *__wrap_realloc(void *p, size_t n)
{
  if (plan_fails(&plan_alloc)) return NULL;
  drop_block(p);
  void *moved = __real_realloc(p, n);
  if (!moved && p) note_block(p);
  return note_block(moved);
}

void *__wrap_reallocarray(void *p, size_t n, size_t size)
{
  if (size && n > PTRDIFF_MAX / size) return NULL;
  return __wrap_realloc(p, n * size);
}

char *__wrap_strndup(const char *s, size_t n)
{
  size_t len = strnlen(s, n);
  char *copy = __wrap_malloc(len + 1);
  if (!copy) return NULL;
  memcpy(copy, s, len);
  copy[len] = '\0';
  return copy;
}

char *__wrap_strdup(const char *s)
{
  return __wrap_strndup(s, strlen(s));
}

void __wrap_free(void *p)
{
  drop_block(p);
  __real_free(p);
}
