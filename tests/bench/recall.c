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
  double left;                              /* of the file in the kernel's cache after it was asked to forget */
  double brief_first, brief_warm, brief_95; /* rp_brief_scope; negative: given up */
  double scan_first, scan_warm, scan_cpu;   /* the store's scan and the planner alone */
};

static double maybe_forget(const struct bench *b, const char *name, bool cold)
{
  char path[BENCH_PATH];
  return cold ? forget(bench_path(b, name, path)) : 1;
}

static void take_briefs(struct take *t, const struct bench *b, const char *name, int64_t warm)
{
  struct samples s = {0};
  rp_engine *e = ours_open(b, name);
  t->brief_first = past_brief_ns(e);
  for (int64_t i = 0; i < warm; i++) samples_add(&s, past_brief_ns(e));
  t->brief_warm = samples_median(&s);
  t->brief_95 = samples_at(&s, 95);
  rp_close(e);
  samples_done(&s);
}

static void take_scans(struct take *t, const struct bench *b, const char *name, int64_t rows, int64_t warm)
{
  struct samples s = {0}, cpu = {0};
  struct past_scan *p = past_scan_open(b, name);
  t->scan_first = past_scan_ns(p, rows);
  for (int64_t i = 0; i < warm; i++) {
    double before = thread_cpu_ns();
    samples_add(&s, past_scan_ns(p, rows));
    samples_add(&cpu, thread_cpu_ns() - before);
  }
  t->scan_warm = samples_median(&s);
  t->scan_cpu = samples_median(&cpu);
  past_scan_close(p);
  samples_done(&s), samples_done(&cpu);
}

/* args: database, sessions in it, cold or not, how often warm. */
void child_recall(const struct bench *b, char **args)
{
  int64_t rows = strtoll(args[1], NULL, 10), warm = strtoll(args[3], NULL, 10);
  bool cold = strcmp(args[2], "cold") == 0;
  struct take t = {.left = maybe_forget(b, args[0], cold)};
  take_scans(&t, b, args[0], rows, warm);
  maybe_forget(b, args[0], cold);
  take_briefs(&t, b, args[0], warm);
  printf("%f %.0f %.0f %.0f %.0f %.0f %.0f\n", t.left, t.brief_first, t.brief_warm, t.brief_95, t.scan_first,
         t.scan_warm, t.scan_cpu);
}

static struct take take(const struct bench *b, const char *name, int64_t rows, bool cold)
{
  char out[256], n[32], warm[32];
  struct take t;
  snprintf(n, sizeof n, "%lld", (long long)rows);
  snprintf(warm, sizeof warm, "%lld", (long long)bench_count(b, 20, 3));
  const char *args[CHILD_ARGS] = {name, n, cold ? "cold" : "new", warm};
  child_read(b, "recall", args, out, sizeof out);
  if (sscanf(out, "%lf %lf %lf %lf %lf %lf %lf", &t.left, &t.brief_first, &t.brief_warm, &t.brief_95, &t.scan_first,
             &t.scan_warm, &t.scan_cpu) != 7)
    die("the child recall said '%s'", out);
  return t;
}

/* ---- a size ------------------------------------------------------------------------------ */

/* The first of a process (cold: the kernel forgot the file; new: it did not), and those after it. */
struct kind {
  struct samples cold, new, warm;
};

struct size {
  int64_t rows;
  struct kind brief, scan;
  struct samples left, brief_95, scan_cpu;
};

static void size_measure(struct size *s, const struct bench *b)
{
  char name[40];
  snprintf(name, sizeof name, "%s", past_big(b, s->rows));
  for (int i = 0; i < 2 * b->rounds; i++) {
    bool cold = i % 2 == 0;
    struct take t = take(b, name, s->rows, cold);
    samples_add(cold ? &s->brief.cold : &s->brief.new, t.brief_first);
    samples_add(cold ? &s->scan.cold : &s->scan.new, t.scan_first);
    if (cold) samples_add(&s->left, t.left);
    samples_add(&s->brief.warm, t.brief_warm), samples_add(&s->scan.warm, t.scan_warm);
    samples_add(&s->brief_95, t.brief_95), samples_add(&s->scan_cpu, t.scan_cpu);
  }
}

static void kind_done(struct kind *k)
{
  samples_done(&k->cold), samples_done(&k->new), samples_done(&k->warm);
}

static void size_done(struct size *s)
{
  kind_done(&s->brief), kind_done(&s->scan);
  samples_done(&s->left), samples_done(&s->brief_95), samples_done(&s->scan_cpu);
}

static double per_row(struct size *s)
{
  return samples_median(&s->scan.warm) / (double)s->rows;
}

/* ---- telling ------------------------------------------------------------------------------ */

/* The median, or that the slowest of them was given up. */
static const char *told(struct samples *s)
{
  return samples_at(s, 0) < 0 ? "given up" : text_ns(samples_median(s));
}

static void tell_scans(struct report *r, struct size sizes[SIZES])
{
  report_line(r, "| sessions | cold | new process | warm | of it CPU | per row | growth per row |");
  report_line(r, "| ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
  for (int i = 0; i < SIZES; i++) {
    struct size *s = &sizes[i];
    char growth[32] = "";
    if (i) snprintf(growth, sizeof growth, "%.2f ×", per_row(s) / per_row(s - 1));
    report_line(r, "| %lld | %s | %s | %s | %s | %.0f ns | %s |", (long long)s->rows, told(&s->scan.cold),
                told(&s->scan.new), told(&s->scan.warm), text_ns(samples_median(&s->scan_cpu)), per_row(s), growth);
  }
}

static void tell_briefs(struct report *r, struct size sizes[SIZES])
{
  report_line(r, "| sessions | cold | new process | warm | p95 |");
  report_line(r, "| ---: | ---: | ---: | ---: | ---: |");
  for (int i = 0; i < SIZES; i++) {
    struct size *s = &sizes[i];
    report_line(r, "| %lld | %s | %s | %s | %s |", (long long)s->rows, told(&s->brief.cold), told(&s->brief.new),
                told(&s->brief.warm), told(&s->brief_95));
  }
}

void section_recall(const struct bench *b)
{
  static const int64_t rows[SIZES] = {1000, 10000, 100000};
  struct size sizes[SIZES] = {0}, *last = &sizes[SIZES - 1];
  struct report r;
  report_open(&r, b, "recall", "Looking through a scope's past");
  for (int i = 0; i < SIZES; i++) {
    sizes[i].rows = bench_count(b, rows[i], 10);
    size_measure(&sizes[i], b);
  }
  report_line(&r,
              "A scope whose sessions all ended within the last week: 20 topics each, one in eight with an open task, "
              "one in a hundred with a CRITICAL pin. Scoring and selecting is the store's scan and the planner. Cold: "
              "a new process, and the kernel was asked to forget the file (%.0f %% of the largest stayed in its "
              "cache); new process: the kernel's cache is warm, SQLite's empty; warm: asked again, %lld times in each "
              "process.\n",
              100 * samples_median(&last->left), (long long)bench_count(b, 20, 3));
  tell_scans(&r, sizes);
  report_line(&r,
              "\nThe same with everything around it, `rp_brief_scope` with three topics: the run before, the records "
              "that are wanted opened, the session before loaded, the brief written.\n");
  tell_briefs(&r, sizes);
  report_limit(&r, "Scoring and selecting among 100,000 sessions, warm", samples_median(&last->scan.warm) / 1e6,
               SCORING_MS, true, " ms");
  report_limit(&r, "Scoring and selecting: growth per row from 1,000 to 100,000 sessions",
               per_row(last) / per_row(sizes), GROWTH_MAX, true, " ×");
  for (int i = 0; i < SIZES; i++) size_done(&sizes[i]);
  report_close(&r);
}
