/* SPDX-License-Identifier: Apache-2.0 */
/* The mood that follows from the levels (N-12), by the first rule that holds. */
#include "facets/emotion/affect.h"

static const char *const names[RP_MOODS] = {
    [RP_MOOD_HAPPY] = "happy",
    [RP_MOOD_EXCITED] = "excited",
    [RP_MOOD_SAD] = "sad",
    [RP_MOOD_DISAPPOINTED] = "disappointed",
    [RP_MOOD_SURPRISED] = "surprised",
    [RP_MOOD_SLEEPY] = "sleepy",
    [RP_MOOD_PROUD] = "proud",
    [RP_MOOD_CALM] = "calm",
};

enum dominance { ANY_LEVEL, DOMINANT };

struct bound {
  enum rp__emotion emotion;
  double level;
};

/* A rule holds when all it asks for does; parts left out ask for nothing. */
static const struct rule {
  bool wounded;
  enum rp__emotion emotion; /* at least `level`, and the highest of all when `dominance` says so */
  double level;
  enum dominance dominance;
  size_t n_below;
  struct bound below[2];
  double boredom;
  enum rp__mood mood;
} rules[] = {
    {.wounded = true, RP_SADNESS, .3, .mood = RP_MOOD_SAD},
    {.wounded = true, RP_ANGER, .2, .mood = RP_MOOD_DISAPPOINTED},
    {.emotion = RP_JOY, .level = .7, .mood = RP_MOOD_EXCITED},
    {.emotion = RP_FEAR, .level = .4, .n_below = 1, .below = {{RP_ANGER, .2}}, .mood = RP_MOOD_SURPRISED},
    {.emotion = RP_SADNESS, .level = .25, .dominance = DOMINANT, .mood = RP_MOOD_SAD},
    {.emotion = RP_ANGER, .level = .2, .dominance = DOMINANT, .mood = RP_MOOD_DISAPPOINTED},
    {.boredom = RP_SLEEPY, .mood = RP_MOOD_SLEEPY},
    {.boredom = RP_BORED, .mood = RP_MOOD_CALM},
    {.emotion = RP_JOY, .level = .5, .n_below = 2, .below = {{RP_SADNESS, .1}, {RP_ANGER, .1}}, .mood = RP_MOOD_PROUD},
    {.emotion = RP_JOY, .level = .25, .mood = RP_MOOD_HAPPY},
    {.mood = RP_MOOD_CALM},
};

/* Every level the rules ask for, once. */
const struct rp__mood_threshold rp__mood_thresholds[] = {
    {RP_JOY, .25},    {RP_JOY, .5},   {RP_JOY, .7},   {RP_SADNESS, .1}, {RP_SADNESS, .25},
    {RP_SADNESS, .3}, {RP_ANGER, .1}, {RP_ANGER, .2}, {RP_FEAR, .4},
};
const size_t rp__mood_thresholds_n = RP_ARRAY_SIZE(rp__mood_thresholds);
_Static_assert(RP_ARRAY_SIZE(rp__mood_thresholds) <= RP_MOOD_THRESHOLDS_MAX, "those who collect them have room");

const char *rp__mood_name(enum rp__mood m)
{
  return names[m];
}

bool rp__mood_parse(struct rp__json v, enum rp__mood *ret)
{
  size_t i = rp__json_one_of(v, names, RP_MOODS);
  if (i < RP_MOODS) *ret = (enum rp__mood)i;
  return i < RP_MOODS;
}

enum rp__mood rp__mood_of(const double *level, size_t n, double boredom, bool wounded)
{
  size_t highest = 0; /* of equal levels the first one dominates */
  for (size_t i = 1; i < n; i++)
    if (level[i] > level[highest]) highest = i;
  for (const struct rule *r = rules;; r++) { /* the last one always holds */
    bool holds = wounded || !r->wounded;
    holds = holds && level[r->emotion] >= r->level && boredom >= r->boredom;
    holds = holds && (r->dominance != DOMINANT || highest == (size_t)r->emotion);
    for (size_t i = 0; i < r->n_below; i++) holds = holds && level[r->below[i].emotion] < r->below[i].level;
    if (holds) return r->mood;
  }
}
