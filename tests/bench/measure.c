/* SPDX-License-Identifier: Apache-2.0 */
/* Times of one thing: repeated, sorted, summed up. */
#include "bench.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#define SETTLE_STEP_MS 50
#define SETTLE_STEPS 12000
#define SETTLE_CPU_S 0.003 /* of CPU in one step counts as idle */
#define SETTLE_IDLE 32     /* idle steps in a row: longer than the second between two looks of the engine */
#define SETTLE_QUICK 1

void die(const char *format, ...)
{
  va_list ap;
  va_start(ap, format);
  fputs("bench: ", stderr);
  vfprintf(stderr, format, ap);
  fputc('\n', stderr);
  va_end(ap);
  exit(1);
}

void *must_alloc(size_t n, size_t size)
{
  void *p = calloc(n, size);
  if (p == NULL) die("out of memory");
  return p;
}

char *bench_path(const struct bench *b, const char *name, char out[BENCH_PATH])
{
  if (snprintf(out, BENCH_PATH, "%s/%s", b->dir, name) >= BENCH_PATH) die("the path is too long");
  return out;
}

int64_t bench_count(const struct bench *b, int64_t full, int64_t least)
{
  int64_t n = b->quick ? full / 100 : full;
  return n < least ? least : n;
}

int64_t now_ns(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

void samples_add(struct samples *s, double v)
{
  if (s->n == s->cap) {
    s->cap = s->cap ? 2 * s->cap : 1024;
    s->v = realloc(s->v, s->cap * sizeof *s->v);
    if (s->v == NULL) die("out of memory");
  }
  s->v[s->n++] = v;
}

static int compare(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

double samples_at(struct samples *s, double p)
{
  if (s->n == 0) return 0;
  qsort(s->v, s->n, sizeof *s->v, compare);
  double at = p / 100 * (double)(s->n - 1);
  size_t i = (size_t)at;
  if (i + 1 >= s->n) return s->v[s->n - 1];
  return s->v[i] + (at - (double)i) * (s->v[i + 1] - s->v[i]);
}

void samples_done(struct samples *s)
{
  free(s->v);
  *s = (struct samples){0};
}

double cpu_seconds(void)
{
  struct rusage u;
  getrusage(RUSAGE_SELF, &u);
  return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

double thread_cpu_ns(void)
{
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

double settle(const struct bench *b)
{
  double first = cpu_seconds(), before = first;
  int idle = 0, enough = b->quick ? SETTLE_QUICK : SETTLE_IDLE;
  for (int i = 0; i < SETTLE_STEPS && idle < enough; i++) {
    nanosleep(&(struct timespec){.tv_nsec = SETTLE_STEP_MS * 1000000L}, NULL);
    double after = cpu_seconds();
    idle = after - before < SETTLE_CPU_S ? idle + 1 : 0;
    before = after;
  }
  return before - first;
}
