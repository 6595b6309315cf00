/* SPDX-License-Identifier: Apache-2.0 */
/* The formulas of restoration: decay, recency, overlap of topics, pending tasks, relevance. */
#include "continuity/relevance.h"

#define DAY_MS 86400000
#define GRACE_MS 60000

#define TASK_SHARE .25
#define WEIGHT_RECENCY .4
#define WEIGHT_OVERLAP .35
#define WEIGHT_TASKS .25
#define MEMORY_RELEVANCE .5
#define MEMORY_CONFIDENCE .3
#define MEMORY_USE .2

/* What is no number counts as 0. */
static double unit(double v)
{
  return v > 1 ? 1 : v > 0 ? v : 0;
}

double rp__recency(double hours, double lookback_hours)
{
  if (!(hours > 0)) return 1;
  return lookback_hours > 0 ? unit(1 - hours / lookback_hours) : 0;
}

double rp__overlap(const uint64_t *a, size_t n_a, const uint64_t *b, size_t n_b)
{
  size_t i = 0, k = 0, both = 0;
  while (i < n_a && k < n_b) {
    uint64_t x = a[i], y = b[k];
    both += x == y;
    i += x <= y;
    k += y <= x;
  }
  size_t all = n_a + n_b - both;
  return all ? (double)both / (double)all : 0;
}

double rp__tasks_term(int64_t n)
{
  return n > 0 ? unit(TASK_SHARE * (double)n) : 0;
}

double rp__relevance(double recency, double overlap, double tasks)
{
  return unit(WEIGHT_RECENCY * recency + WEIGHT_OVERLAP * overlap + WEIGHT_TASKS * tasks);
}

double rp__memory_rank(double relevance, double inherited, int64_t uses)
{
  double use = uses > 0 ? (double)uses / ((double)uses + 1) : 0;
  return unit(MEMORY_RELEVANCE * unit(relevance) + MEMORY_CONFIDENCE * unit(inherited) + MEMORY_USE * use);
}

int64_t rp__days_since(int64_t now_ms, int64_t at_ms)
{
  return now_ms > at_ms ? (now_ms - at_ms + GRACE_MS) / DAY_MS : 0;
}
