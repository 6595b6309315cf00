/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The benchmark's frame: what a section gets, how it measures and how it tells.
 * A section measures ours and what it is compared with in turns, prints Markdown,
 * and leaves NAME.md and NAME.targets in the folder of results, from which
 * tests/bench/run puts docs/benchmarks.md together. Failures end the program.
 */
#ifndef BENCH_H
#define BENCH_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define BENCH_PATH 1024

struct bench {
  char self[BENCH_PATH];
  char dir[BENCH_PATH];  /* scratch, emptied at the end */
  const char *results;   /* a folder, or NULL */
  const char *langgraph; /* a folder with node_modules, or NULL */
  const char *script;    /* langgraph.mjs */
  bool quick;            /* a hundredth of everything: shows that it works, measures nothing */
  int rounds;
  int *broken; /* limits that were missed, which make the program fail; NULL in a child */
};

__attribute__((noreturn, format(printf, 1, 2))) void die(const char *format, ...);
void *must_alloc(size_t n, size_t size);
/* dir/name into out; returns out. */
char *bench_path(const struct bench *b, const char *name, char out[BENCH_PATH]);
/* `full`, or its hundredth (at least `least`) in a quick run. */
int64_t bench_count(const struct bench *b, int64_t full, int64_t least);

/* ---- measuring ------------------------------------------------------------ */

int64_t now_ns(void); /* monotonic */

struct samples {
  double *v;
  size_t n, cap;
};
void samples_add(struct samples *s, double v);
/* p in 0 … 100; sorts. 0 without samples. */
double samples_at(struct samples *s, double p);
static inline double samples_median(struct samples *s)
{
  return samples_at(s, 50);
}
void samples_done(struct samples *s);

/*
 * Waits until this process hardly uses the processor any more, so that what ours
 * does in the background is not charged to the next loop. Returns the CPU seconds.
 */
double settle(const struct bench *b);
double cpu_seconds(void);   /* of this process so far */
double thread_cpu_ns(void); /* of this thread so far */

/* ---- telling ---------------------------------------------------------------- */

struct report {
  const struct bench *bench;
  const char *name;
  FILE *text, *targets; /* or NULL */
  int missed;
};
void report_open(struct report *r, const struct bench *b, const char *name, const char *title);
void report_close(struct report *r);
__attribute__((format(printf, 2, 3))) void report_line(struct report *r, const char *format, ...);
/* A number that has to be reached. */
void report_target(struct report *r, const char *what, double value, double limit, bool at_most, const char *unit);
/* The same, and in a full run the benchmark fails when it is missed. */
void report_limit(struct report *r, const char *what, double value, double limit, bool at_most, const char *unit);

/* "123 µs": a time in a buffer that lives until the 16th call after this one. */
const char *text_ns(double ns);

/* ---- sections ---------------------------------------------------------------- */

void section_append(const struct bench *b);
void section_group(const struct bench *b);
void section_rivals(const struct bench *b);
void section_resume(const struct bench *b);
void section_throttle(const struct bench *b);
void section_cost(const struct bench *b);
void section_fold(const struct bench *b);
void section_plan(const struct bench *b);
void section_recall(const struct bench *b);
void section_start(const struct bench *b);
void section_capture(const struct bench *b);
void section_limits(const struct bench *b);
void section_redact(const struct bench *b);
void section_serve(const struct bench *b);
void section_hook(const struct bench *b);
void section_acp(const struct bench *b);

#endif
