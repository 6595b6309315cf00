/* SPDX-License-Identifier: Apache-2.0 */
/* Randomness that can be played again: the seed is printed, and read from $REPRISE_SEED. */
#ifndef TEST_DICE_H
#define TEST_DICE_H

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct dice {
  uint64_t x;
};

static inline uint64_t dice_next(struct dice *d)
{
  d->x ^= d->x << 13;
  d->x ^= d->x >> 7;
  d->x ^= d->x << 17;
  return d->x;
}

/* 0 … n - 1. */
static inline int64_t dice_below(struct dice *d, int64_t n)
{
  return (int64_t)(dice_next(d) % (uint64_t)n);
}

static inline struct dice dice_new(void)
{
  const char *given = getenv("REPRISE_SEED");
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  uint64_t seed = given ? strtoull(given, NULL, 10) : (uint64_t)now.tv_nsec * 2654435761u + (uint64_t)now.tv_sec;
  struct dice d = {seed ? seed : 1};
  printf("# REPRISE_SEED=%" PRIu64 "\n", d.x);
  return d;
}

/* How often: `plain` in the tests, `soak` when $REPRISE_SOAK is set, $REPRISE_ROUNDS above both. */
static inline int64_t dice_rounds(int64_t plain, int64_t soak)
{
  const char *rounds = getenv("REPRISE_ROUNDS"), *s = getenv("REPRISE_SOAK");
  if (rounds && *rounds) return strtoll(rounds, NULL, 10);
  return s && *s && *s != '0' ? soak : plain;
}

static inline int64_t dice_now_us(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

#endif
