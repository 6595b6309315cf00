/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent's emotions, and how they change while no event comes.
 *
 * A level moves in a straight line to its baseline and stops there. A wound keeps levels up: its floors stay the same
 * for `duration`, then sink by heal_rate. Without events a level at or above its baseline only falls, and a level below
 * it only rises, so each threshold is crossed at most once and every value has a closed form. Ageing by a year
 * therefore costs as much as ageing by a second, and ageing by a and then by b is the same as ageing by a + b.
 */
#ifndef RP_FACETS_AFFECT_H
#define RP_FACETS_AFFECT_H

#include "facets/emotion/emotions.h"

#define RP_WOUNDS_MAX 5

enum rp__mood {
  RP_MOOD_HAPPY, /* at first */
  RP_MOOD_EXCITED,
  RP_MOOD_SAD,
  RP_MOOD_DISAPPOINTED,
  RP_MOOD_SURPRISED,
  RP_MOOD_SLEEPY,
  RP_MOOD_PROUD,
  RP_MOOD_CALM,
  RP_MOODS,
};

struct rp__wound {
  char id[9];
  char event[RP_EMOTION_EVENT_NAME];
  double floor[RP_EMOTIONS_MAX];
  double duration, heal_rate;
  double age; /* seconds; fixed while below duration */
};

struct rp__feelings {
  double level[RP_EMOTIONS_MAX]; /* as the table's levels */
  double boredom;
  size_t n_wounds;
  struct rp__wound wound[RP_WOUNDS_MAX];
  enum rp__mood mood;
  enum rp__mood coming; /* the mood that is about to settle, and for how long it has been; the same as mood: none */
  double coming_seconds;
};

/* Baselines, no wound, happy. */
void rp__feelings_init(struct rp__feelings *f, const struct rp__emotions *t);
/* No level below a living floor, no wound without floors. */
void rp__feelings_settle(struct rp__feelings *f, const struct rp__emotions *t);
/* Time in which the agent lived: levels, wounds, boredom and mood. */
void rp__feelings_live(struct rp__feelings *f, const struct rp__emotions *t, double seconds);
/* Time in which it was away: levels and wounds; boredom ends after a minute, and a mood has settled. */
void rp__feelings_away(struct rp__feelings *f, const struct rp__emotions *t, double seconds);
/* An event of the table happens; `wound_id` is the name of a wound it makes. Without intensity it does nothing. */
void rp__feelings_event(struct rp__feelings *f, const struct rp__emotions *t, const struct rp__emotion_event *e,
                        double intensity, const char *wound_id);
double rp__wound_remaining(const struct rp__wound *w); /* seconds of the fixed phase */

const char *rp__mood_name(enum rp__mood m);
bool rp__mood_parse(struct rp__json v, enum rp__mood *ret);
/* The mood these levels call for (N-12). */
enum rp__mood rp__mood_of(const double *level, size_t n, double boredom, bool wounded);

/* Levels and degrees of boredom at which a mood may change. */
struct rp__mood_threshold {
  enum rp__emotion emotion;
  double level;
};
extern const struct rp__mood_threshold rp__mood_thresholds[];
extern const size_t rp__mood_thresholds_n;
#define RP_MOOD_THRESHOLDS_MAX 12
#define RP_BORED .4
#define RP_SLEEPY .7

/* What the session feels at that time, or at *ret_ms when that is later; false when it never felt anything. */
bool rp__affect_at(const struct rp__fold *f, int64_t now_ms, struct rp__feelings *ret, int64_t *ret_ms);
/* The value of `affect` in a state document before anything was felt: baselines, and the mood they make (N-12). */
void rp__affect_write_first(struct rp__jw *w);
/* When a wound was made, in seconds, of feelings at `at_ms`. */
double rp__wound_created(const struct rp__wound *w, int64_t at_ms);

#endif
