/* SPDX-License-Identifier: Apache-2.0 */
/* The planner by itself: scoring and selecting among rows of the recall table that are in memory. */
#include "bench.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "continuity/plan.h"

#define NOW INT64_C(1780000000000)
#define WEEK_MS INT64_C(604800000)
#define WORDS 400 /* different topics in the scope */
#define TOPICS 20

struct rows {
  struct rp__recall *v;
  uint64_t (*topics)[TOPICS];
  char (*ids)[48];
  int64_t n;
};

static uint64_t next(uint64_t *x)
{
  *x ^= *x << 13;
  *x ^= *x >> 7;
  *x ^= *x << 17;
  return *x;
}

static int by_value(const void *a, const void *b)
{
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

static size_t topic_set(uint64_t *x, uint64_t out[TOPICS])
{
  size_t kept = 0;
  for (size_t i = 0; i < TOPICS; i++) out[i] = (next(x) % WORDS + 1) * UINT64_C(0x9e3779b97f4a7c15);
  qsort(out, TOPICS, sizeof *out, by_value);
  for (size_t i = 0; i < TOPICS; i++)
    if (i == 0 || out[i] != out[kept - 1]) out[kept++] = out[i];
  return kept;
}

/* Newest first, as the store gives them, all of them inside the lookback. */
static struct rows rows_make(int64_t n)
{
  struct rows r = {.v = must_alloc((size_t)n, sizeof *r.v),
                   .topics = must_alloc((size_t)n, sizeof *r.topics),
                   .ids = must_alloc((size_t)n, sizeof *r.ids),
                   .n = n};
  uint64_t x = 88172645463325252u;
  for (int64_t i = 0; i < n; i++) {
    snprintf(r.ids[i], sizeof r.ids[i], "018f%08x-%04x-7000-8000-%012llx", (unsigned)(next(&x) & 0xffffff),
             (unsigned)(next(&x) & 0xffff), (unsigned long long)i);
    r.v[i] = (struct rp__recall){.session_ref = i,
                                 .session_id = r.ids[i],
                                 .ended_at = NOW - (i + 1) * WEEK_MS / (n + 1),
                                 .n_tasks = next(&x) % 8 == 0,
                                 .has_critical = next(&x) % 100 == 0,
                                 .topics = r.topics[i],
                                 .n_topics = topic_set(&x, r.topics[i])};
  }
  return r;
}

static void rows_free(struct rows *r)
{
  free(r->v);
  free(r->topics);
  free(r->ids);
}

/* It only computes, so its own time is what counts: what else the machine does meanwhile is left out. */
static double thread_ns(void)
{
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* One plan: every row offered, every record that is wanted opened (an empty one). */
static double plan_ns(const struct rows *r)
{
  static const struct rp__rules rules = {.lookback_hours = 168,
                                         .threshold = .25,
                                         .pin_threshold = .4,
                                         .critical_hours = 168,
                                         .decay_rate = .4,
                                         .decay_floor = .3,
                                         .max_sessions = 3,
                                         .max_pins = 5};
  uint64_t topics[TOPICS], x = 1234567;
  size_t n = topic_set(&x, topics);
  struct rp__plan *p = NULL;
  struct rp__candidate *c;
  double start = thread_ns();
  if (rp__plan_new(&rules, NOW, topics, n, &p)) die("no memory for a plan");
  for (int64_t i = 0; i < r->n; i++)
    if (rp__plan_offer(p, &r->v[i])) die("a row was refused");
  while ((c = rp__plan_want(p))) rp__plan_opened(p, c, rp__json_trusted("{}", 2));
  if (rp__plan_finish(p, &(struct rp__plan_sources){0})) die("the plan failed");
  double ns = thread_ns() - start;
  rp__plan_free(p);
  return ns;
}

void section_plan(const struct bench *b)
{
  static const int64_t sizes[] = {1000, 10000, 100000};
  struct report r;
  double per_row[3] = {0}, cold = 0, warm = 0;
  report_open(&r, b, "plan", "Planning: scoring and selecting, rows in memory");
  report_line(&r,
              "| sessions in the lookback | first plan, CPU time | median of the next | per row | growth per row |\n"
              "| ---: | ---: | ---: | ---: | ---: |");
  for (int i = 0; i < 3; i++) {
    struct rows rows = rows_make(bench_count(b, sizes[i], 10));
    struct samples s = {0};
    cold = plan_ns(&rows);
    for (int k = 0; k < 5 * b->rounds; k++) samples_add(&s, plan_ns(&rows));
    warm = samples_median(&s);
    per_row[i] = warm / (double)rows.n;
    report_line(&r, "| %lld | %s | %s | %.0f ns | %.2f |", (long long)rows.n, text_ns(cold), text_ns(warm), per_row[i],
                i ? per_row[i] / per_row[i - 1] : 1.0);
    samples_done(&s);
    rows_free(&rows);
  }
  report_target(&r, "planning among 100,000 sessions, without the store", warm / 1e6, 50, true, " ms");
  report_target(&r, "growth per row from 1,000 to 100,000 sessions", per_row[2] / per_row[0], 1.5, true, "×");
  report_close(&r);
}
