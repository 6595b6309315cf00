/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of emotions (N-08, N-09, N-11): levels with their baselines, boredom, and the events that change them.
 * Users edit the table as INI text; in the journal it is JSON, the member `emotions` of a session's settings:
 *
 *   {"levels":{"joy":{"baseline":0.3,"decay":0.02}},
 *    "boredom":{"grow":0.008,"fall":0.05,"joy_below":0.15,"negative_below":0.1},
 *    "events":{"violence":{"deltas":{"fear":0.4},"wounds":-0.08,
 *                          "wound":{"floors":{"fear":0.25},"duration":300,"heal_rate":0.001}}}}
 *
 * Values in the JSON replace those of the default table; all other values keep their defaults. An event whose value is
 * null is removed. Names of emotions and events consist of letters, digits, '_', '-', '.' and ':'. An emotion that only
 * an event names has the baseline 0 and decays by .03/s.
 */
#ifndef RP_FACETS_EMOTIONS_H
#define RP_FACETS_EMOTIONS_H

#include "core/fold.h"

#define RP_EMOTIONS_MAX 16
#define RP_EMOTION_EVENTS_MAX 64
#define RP_EMOTION_NAME 33 /* with the NUL */
#define RP_EMOTION_EVENT_NAME 65
#define RP_EMOTIONS_BYTES ((size_t)32 * 1024) /* of a table's JSON; a longer one is not taken */
#define RP_EMOTION_SECONDS_MAX 1e7            /* of a wound's fixed phase */
#define RP_EMOTION_HEAL_MIN 1e-6 /* per second, so that every wound heals some day and gives its place back */

/* The emotions that every table has, in the order in which equal levels dominate. */
enum rp__emotion { RP_JOY, RP_SADNESS, RP_ANGER, RP_FEAR, RP_DISGUST, RP_EMOTIONS_OWN };

struct rp__emotion_level {
  char name[RP_EMOTION_NAME];
  double baseline, decay; /* 0..1; per second, 0..1 */
};

struct rp__emotion_event {
  char name[RP_EMOTION_EVENT_NAME];
  double delta[RP_EMOTIONS_MAX]; /* -1..1 */
  double heals;                  /* 0..1: taken off every floor of every wound */
  double floor[RP_EMOTIONS_MAX]; /* 0..1; all 0: makes no wound */
  double duration, heal_rate;    /* of the wound, 1e-6..1/s; heal_rate 0: nothing was said of a wound */
};

struct rp__emotions {
  size_t n_levels, n_events;
  struct rp__emotion_level level[RP_EMOTIONS_MAX];
  double grow, fall, joy_below, negative_below; /* boredom */
  struct rp__emotion_event event[RP_EMOTION_EVENTS_MAX];
};

extern const struct rp__emotions rp__emotions_default;

/*
 * The defaults with what the JSON says over them. Never fails: values out of range are brought into it, what makes no
 * sense or finds no place is left out.
 */
void rp__emotions_read(struct rp__json v, struct rp__emotions *ret);
/* The whole table as JSON; reading it gives the same table again. */
void rp__emotions_write(const struct rp__emotions *t, struct rp__jw *w);
/* Its events: [{"event","deltas":{…},"wounds"?,"wound"?}]. */
void rp__emotions_write_events(const struct rp__emotions *t, struct rp__jw *w);

bool rp__emotion_name_ok(const char *name, size_t size);
/* The place of that name; n_levels or n_events when there is none. */
size_t rp__emotion_find(const struct rp__emotions *t, const char *name);
size_t rp__emotion_event_find(const struct rp__emotions *t, const char *name);
/* The same, made when there is room; false without room or with a name that is none. */
bool rp__emotion_put(struct rp__emotions *t, const char *name, size_t *ret);
bool rp__emotion_event_put(struct rp__emotions *t, const char *name, size_t *ret);
/* From here on the event has a wound, of 300 s and .001/s unless more is said. */
void rp__emotion_wound_begin(struct rp__emotion_event *e);

/* ---- what the engine asks (affect.c); a NULL fold stands for a session without a table of its own ---- */

/* The session's table; lasts until the fold changes. */
const struct rp__emotions *rp__emotions_of(const struct rp__fold *f);
/* Whether the session's table has such an event. */
bool rp__emotions_known(const struct rp__fold *f, const char *event);
/* The events of the session's table, as rp__emotions_write_events writes them. */
void rp__emotions_list(const struct rp__fold *f, struct rp__jw *w);

/* ---- INI (emotions-ini.c) ---- */

/* The default table as INI text with comments, ready to be edited. Errors stick in `out`. */
void rp__emotions_ini(struct rp__buf *out);

/*
 * Builds the JSON from what an INI reader finds, one line at a time. Sections: [emotion NAME] baseline, decay;
 * [boredom] grow, fall, joy_below, negative_below; [event NAME] EMOTION = delta, wounds; [wound NAME] EMOTION = floor,
 * duration, heal_rate. RP_E_CONFIG names section and key.
 */
struct rp__emotions_builder;
int rp__emotions_begin(struct rp__emotions_builder **ret); /* 0 or RP_E_NOMEM */
RP_MUST_USE int rp__emotions_set(struct rp__emotions_builder *b, const char *section, const char *key,
                                 const char *value, rp_error *err);
/* Appends the JSON. RP_E_CONFIG when it is longer than RP_EMOTIONS_BYTES, RP_E_NOMEM. */
RP_MUST_USE int rp__emotions_finish(const struct rp__emotions_builder *b, struct rp__buf *out_json, rp_error *err);
void rp__emotions_free(struct rp__emotions_builder *b);
static inline void rp__emotions_freep(struct rp__emotions_builder **b)
{
  rp__emotions_free(*b);
}
#define RP_AUTOEMOTIONS RP_CLEANUP(rp__emotions_freep)

#endif
