/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recorder of the tracing build: which functions are called, from where and how often. gcc calls it at the begin
 * and the end of every function of the layers (-finstrument-functions).
 *
 * PATHS_ROOTS names functions by their addresses in the program, "name=hex[,hex…]" with blanks between: what happens
 * under one of them, on the same thread, is counted for that name too. The root "store" has the slots of the store;
 * calls under it are told apart for every other root. PATHS_OUT is the file that gets the record when the process ends,
 * a line per call site: root, callee, caller, calls above the store, calls inside it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace.h"

#define UNTRACED __attribute__((no_instrument_function))
#define SITES (1 << 16)
#define ROOTS 8
#define ADDRESSES 64

struct site {
  char *callee, *caller;
  long calls[ROOTS][2]; /* above the store, inside it */
};

static struct root {
  char *name, *at[ADDRESSES];
  int n;
} roots[ROOTS];
static int n_roots, store = -1;
static struct site sites[SITES];
static char lock;
static __thread int depth[ROOTS];
extern char __executable_start;

UNTRACED void __cyg_profile_func_enter(void *callee, void *caller);
UNTRACED void __cyg_profile_func_exit(void *callee, void *caller);

UNTRACED __attribute__((constructor)) static void roots_read(void)
{
  char *text = getenv("PATHS_ROOTS"), *rest = NULL;
  text = text ? strdup(text) : NULL;
  for (char *word = text ? strtok_r(text, " ", &rest) : NULL; word && n_roots < ROOTS;
       word = strtok_r(NULL, " ", &rest)) {
    struct root *r = &roots[n_roots];
    char *at = strchr(word, '=');
    if (!at) abort();
    *at = 0;
    r->name = word;
    for (at++; *at && r->n < ADDRESSES; at += *at == ',') r->at[r->n++] = &__executable_start + strtoul(at, &at, 16);
    if (strcmp(word, "store") == 0) store = n_roots;
    n_roots++;
  }
}

UNTRACED static int is_root(const struct root *r, const char *at)
{
  for (int i = 0; i < r->n; i++)
    if (r->at[i] == at) return 1;
  return 0;
}

UNTRACED static struct site *site_of(char *callee, char *caller)
{
  size_t at = ((size_t)callee * 31 + (size_t)caller * 17) % SITES;
  while (sites[at].callee && (sites[at].callee != callee || sites[at].caller != caller)) at = (at + 1) % SITES;
  sites[at].callee = callee;
  sites[at].caller = caller;
  return &sites[at];
}

void __cyg_profile_func_enter(void *callee, void *caller)
{
  while (__atomic_test_and_set(&lock, __ATOMIC_ACQUIRE)) {
  }
  int inside = store >= 0 && depth[store] > 0;
  for (int i = 0; i < n_roots; i++) {
    depth[i] += is_root(&roots[i], callee);
    if (depth[i]) site_of(callee, caller)->calls[i][inside]++;
  }
  __atomic_clear(&lock, __ATOMIC_RELEASE);
}

void __cyg_profile_func_exit(void *callee, void *caller)
{
  (void)caller;
  for (int i = 0; i < n_roots; i++) depth[i] -= is_root(&roots[i], callee);
}

UNTRACED void trace_reset(void)
{
  memset(sites, 0, sizeof sites);
}

UNTRACED __attribute__((destructor)) static void record_write(void)
{
  const char *path = getenv("PATHS_OUT");
  FILE *f = path ? fopen(path, "w") : NULL;
  for (size_t i = 0; f && i < SITES; i++)
    for (int r = 0; r < n_roots; r++) {
      const struct site *s = &sites[i];
      if (s->calls[r][0] || s->calls[r][1])
        fprintf(f, "%s %lx %lx %ld %ld\n", roots[r].name, (unsigned long)(s->callee - &__executable_start),
                (unsigned long)(s->caller - &__executable_start), s->calls[r][0], s->calls[r][1]);
    }
  if (f) fclose(f);
}
