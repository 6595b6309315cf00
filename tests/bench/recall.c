/* SPDX-License-Identifier: Apache-2.0 */
/* Looking through a scope's past: how long, and how it grows with the number of sessions. */
#include "past.h"
#include "process.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define SIZES 3
#define SCORING_MS 50  /* a tenth of the seed's 500 */
#define GROWTH_MAX 1.5 /* per row, from a thousand to a hundred thousand: more than noise would not be linear */

/* ---- the page cache ------------------------------------------------------------- */

/* Pages of the file that the kernel holds, in 0 … 1. */
static double resident(int fd, size_t size)
{
  size_t page = (size_t)sysconf(_SC_PAGESIZE), pages = (size + page - 1) / page, held = 0;
  void *at = pages ? mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;
  unsigned char *in = pages ? must_alloc(pages, 1) : NULL;
  if (at != MAP_FAILED && mincore(at, size, in) == 0)
    for (size_t i = 0; i < pages; i++) held += in[i] & 1;
  if (at != MAP_FAILED) munmap(at, size);
  free(in);
  return pages ? (double)held / (double)pages : 0;
}

/* Asks the kernel to forget the file; how much of it stayed all the same. */
static double forget(const char *path)
{
  struct stat st;
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0 || fstat(fd, &st) != 0) die("%s can't be opened", path);
  fsync(fd);
  posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
  double left = resident(fd, (size_t)st.st_size);
  close(fd);
  return left;
}

/* ---- one process --------------------------------------------------------------------- */

struct take {
  double left;                 /* of the file in the kernel's cache at the beginning */
  double first, warm, warm_95; /* rp_brief_scope: after opening, and later */
  double scan, scan_cpu;       /* the store's scan and the planner alone, warm */
};

/* args: database, sessions in it, cold or not, how often warm. */
void child_recall(const struct bench *b, char **args)
{
  char path[BENCH_PATH];
  int64_t rows = strtoll(args[1], NULL, 10), warm = strtoll(args[3], NULL, 10);
  struct take t = {.left = strcmp(args[2], "cold") == 0 ? forget(bench_path(b, args[0], path)) : 1};
  rp_engine *e = ours_open(b, args[0]);
  t.first = past_brief_ns(e);
  struct samples briefs = {0}, scans = {0}, cpu = {0};
  for (int64_t i = 0; i < warm; i++) samples_add(&briefs, past_brief_ns(e));
  rp_close(e);
  struct past_scan *s = past_scan_open(b, args[0]);
  for (int64_t i = -1; i < warm; i++) {
    double before = thread_cpu_ns(), ns = past_scan_ns(s, rows);
    if (i >= 0) samples_add(&scans, ns), samples_add(&cpu, thread_cpu_ns() - before);
  }
  past_scan_close(s);
  printf("%f %.0f %.0f %.0f %.0f %.0f\n", t.left, t.first, samples_median(&briefs), samples_at(&briefs, 95),
         samples_median(&scans), samples_median(&cpu));
  samples_done(&briefs), samples_done(&scans), samples_done(&cpu);
}

static struct take take(const struct bench *b, const char *name, int64_t rows, bool cold)
{
  char out[256], n[32], warm[32];
  struct take t;
  snprintf(n, sizeof n, "%lld", (long long)rows);
  snprintf(warm, sizeof warm, "%lld", (long long)bench_count(b, 20, 3));
  const char *args[CHILD_ARGS] = {name, n, cold ? "cold" : "fresh", warm};
  child_read(b, "recall", args, out, sizeof out);
  if (sscanf(out, "%lf %lf %lf %lf %lf %lf", &t.left, &t.first, &t.warm, &t.warm_95, &t.scan, &t.scan_cpu) != 6)
    die("the child recall said '%s'", out);
  return t;
}

/* ---- a size ------------------------------------------------------------------------------ */

struct size {
  int64_t rows;
  struct samples left, cold, fresh, warm, warm_95, scan, scan_cpu;
};

static void size_measure(struct size *s, const struct bench *b)
{
  char name[40];
  snprintf(name, sizeof name, "%s", past_big(b, s->rows));
  for (int i = 0; i < 2 * b->rounds; i++) {
    struct take t = take(b, name, s->rows, i % 2 == 0);
    samples_add(i % 2 == 0 ? &s->cold : &s->fresh, t.first);
    if (i % 2 == 0) samples_add(&s->left, t.left);
    samples_add(&s->warm, t.warm), samples_add(&s->warm_95, t.warm_95);
    samples_add(&s->scan, t.scan), samples_add(&s->scan_cpu, t.scan_cpu);
  }
}

static void size_done(struct size *s)
{
  samples_done(&s->left), samples_done(&s->cold), samples_done(&s->fresh), samples_done(&s->warm);
  samples_done(&s->warm_95), samples_done(&s->scan), samples_done(&s->scan_cpu);
}

static double per_row(struct size *s)
{
  return samples_median(&s->scan) / (double)s->rows;
}

static void size_line(struct report *r, struct size *s, struct size *before)
{
  char growth[32] = "";
  if (before) snprintf(growth, sizeof growth, "%.2f ×", per_row(s) / per_row(before));
  report_line(r, "| %lld | %s | %s | %s | %s | %s | %s | %.0f ns | %s |", (long long)s->rows,
              text_ns(samples_median(&s->cold)), text_ns(samples_median(&s->fresh)), text_ns(samples_median(&s->warm)),
              text_ns(samples_median(&s->warm_95)), text_ns(samples_median(&s->scan)),
              text_ns(samples_median(&s->scan_cpu)), per_row(s), growth);
}

void section_recall(const struct bench *b)
{
  static const int64_t rows[SIZES] = {1000, 10000, 100000};
  struct size sizes[SIZES] = {0};
  struct report r;
  report_open(&r, b, "recall", "Looking through a scope's past");
  report_line(&r,
              "A scope whose sessions all ended within the last week: 20 topics each, one in eight with an open task, "
              "one in a hundred with a CRITICAL pin. `rp_brief_scope` with three topics scores all of them, opens the "
              "records that are wanted and writes the brief. Cold: a new process, and the kernel was asked to forget "
              "the file; new process: the kernel's cache is warm, SQLite's empty; warm: asked again, %lld times. "
              "Scoring and selecting alone is the store's scan and the planner, warm.\n",
              (long long)bench_count(b, 20, 3));
  report_line(&r, "| sessions | brief, cold | new process | warm | p95 | scoring and selecting | of it CPU | per row "
                  "| growth per row |");
  report_line(&r, "| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
  for (int i = 0; i < SIZES; i++) {
    sizes[i].rows = bench_count(b, rows[i], 10);
    size_measure(&sizes[i], b);
    size_line(&r, &sizes[i], i ? &sizes[i - 1] : NULL);
  }
  struct size *last = &sizes[SIZES - 1];
  report_line(&r, "\nOf the largest file %.0f %% stayed in the kernel's cache when it was asked to forget it.",
              100 * samples_median(&last->left));
  report_limit(&r, "Scoring and selecting among 100,000 sessions, warm", samples_median(&last->scan) / 1e6, SCORING_MS,
               true, " ms");
  report_limit(&r, "Scoring and selecting: growth per row from 1,000 to 100,000 sessions",
               per_row(last) / per_row(&sizes[0]), GROWTH_MAX, true, " ×");
  for (int i = 0; i < SIZES; i++) size_done(&sizes[i]);
  report_close(&r);
}
