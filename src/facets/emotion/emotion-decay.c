/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Emotions over time. For a span of time the levels are computed first, from the wounds as they were at its beginning,
 * and then the wounds. Boredom and mood depend on the levels in between: the span is cut where a threshold is crossed,
 * and in each piece the formulas are simple.
 */
#include "facets/emotion/affect.h"

#define NOTHING 1e-12 /* a floor below this is a rounding error */
#define AGE_MAX 1e11
#define BOREDOM_KEPT_SECONDS 60
#define SETTLE_SECONDS 1.0
#define NEVER 1e300

static double clamp(double v)
{
  return v > 1 ? 1 : v > 0 ? v : 0;
}

void rp__feelings_init(struct rp__feelings *f, const struct rp__emotions *t)
{
  *f = (struct rp__feelings){0};
  for (size_t i = 0; i < t->n_levels; i++) f->level[i] = t->level[i].baseline;
}

/* ---- levels and wounds --------------------------------------------------------- */

double rp__wound_remaining(const struct rp__wound *w)
{
  return w->age < w->duration ? w->duration - w->age : 0;
}

static double decayed(double level, const struct rp__emotion_level *e, double dt)
{
  double step = e->decay * dt;
  if (level > e->baseline) return level - e->baseline > step ? level - step : e->baseline;
  return e->baseline - level > step ? level + step : e->baseline;
}

static double sunk(const struct rp__wound *w, size_t i, double dt)
{
  double over = dt - rp__wound_remaining(w);
  if (over <= 0) return w->floor[i];
  double floor = w->floor[i] - w->heal_rate * over;
  return floor > NOTHING ? floor : 0;
}

/*
 * Where a wound still holds a level up after dt. A floor that sinks faster than the level decays lets go of it, and the
 * level follows at its own pace from the end of the fixed phase.
 */
static double held(const struct rp__wound *w, size_t i, const struct rp__emotion_level *e, double dt)
{
  double over = dt - rp__wound_remaining(w);
  if (over <= 0 || w->heal_rate <= e->decay || !(w->floor[i] > 0)) return sunk(w, i, dt);
  return decayed(w->floor[i], e, over);
}

static double level_after(const struct rp__feelings *f, const struct rp__emotions *t, size_t i, double dt)
{
  double level = decayed(f->level[i], &t->level[i], dt);
  for (size_t k = 0; k < f->n_wounds; k++) {
    double up = held(&f->wound[k], i, &t->level[i], dt);
    if (up > level) level = up;
  }
  return clamp(level);
}

static bool any_floor(const double *floor, size_t n)
{
  size_t i = 0;
  while (i < n && !(floor[i] > 0)) i++;
  return i < n;
}

void rp__feelings_settle(struct rp__feelings *f, const struct rp__emotions *t)
{
  size_t kept = 0;
  for (size_t k = 0; k < f->n_wounds; k++) {
    if (!any_floor(f->wound[k].floor, t->n_levels)) continue;
    if (kept != k) f->wound[kept] = f->wound[k];
    kept++;
  }
  f->n_wounds = kept;
  for (size_t i = 0; i < t->n_levels; i++) {
    f->level[i] = clamp(f->level[i]);
    for (size_t k = 0; k < kept; k++) f->level[i] = RP_MAX(f->level[i], f->wound[k].floor[i]);
  }
}

static void pass(struct rp__feelings *f, const struct rp__emotions *t, double dt)
{
  for (size_t i = 0; i < t->n_levels; i++) f->level[i] = level_after(f, t, i, dt);
  for (size_t k = 0; k < f->n_wounds; k++) {
    struct rp__wound *w = &f->wound[k];
    for (size_t i = 0; i < t->n_levels; i++) w->floor[i] = sunk(w, i, dt);
    w->age = RP_MIN(w->age + dt, AGE_MAX);
  }
  rp__feelings_settle(f, t);
}

void rp__feelings_away(struct rp__feelings *f, const struct rp__emotions *t, double seconds)
{
  if (seconds > 0) pass(f, t, seconds);
  if (seconds > BOREDOM_KEPT_SECONDS) f->boredom = 0;
  /* Whoever was away long enough for a mood to settle comes back in the one that fits how it feels now. */
  if (seconds >= SETTLE_SECONDS) f->mood = rp__mood_of(f->level, t->n_levels, f->boredom, f->n_wounds > 0);
  f->coming = f->mood;
  f->coming_seconds = 0;
}

/* ---- where thresholds are crossed ------------------------------------------------- */

static double time_to(double way, double rate)
{
  return rate > 0 ? way / rate : NEVER;
}

/* When level i comes to `at`, from above or from below; NEVER when it does not. */
static double crossing(const struct rp__feelings *f, const struct rp__emotions *t, size_t i, double at)
{
  const struct rp__emotion_level *e = &t->level[i];
  double level = f->level[i];
  if (level < e->baseline) return level < at && at <= e->baseline ? time_to(at - level, e->decay) : NEVER;
  if (level < at || at <= e->baseline) return NEVER;
  double when = time_to(level - at, e->decay);
  for (size_t k = 0; k < f->n_wounds; k++) {
    const struct rp__wound *w = &f->wound[k];
    if (w->floor[i] < at) continue;
    double up = rp__wound_remaining(w) + time_to(w->floor[i] - at, RP_MIN(w->heal_rate, e->decay));
    if (up > when) when = up;
  }
  return when;
}

static double healed_after(const struct rp__wound *w, size_t n)
{
  double highest = 0;
  for (size_t i = 0; i < n; i++) highest = RP_MAX(highest, w->floor[i]);
  return rp__wound_remaining(w) + time_to(highest, w->heal_rate);
}

/* Thresholds of boredom and of moods, baselines, and two of each wound; or as many meetings of two levels. */
#define CUTS_MAX (RP_EMOTIONS_OWN + RP_MOOD_THRESHOLDS_MAX + RP_EMOTIONS_MAX + 2 * RP_WOUNDS_MAX + 1)
_Static_assert(CUTS_MAX >= 2 * RP_EMOTIONS_MAX + 1, "both have room");

struct cuts {
  double at[CUTS_MAX];
  size_t n;
};

/* Keeps the list in order; what lies outside is no cut. */
static void cut(struct cuts *c, double at, double end)
{
  if (!(at > 0) || !(at < end)) return;
  size_t i = c->n++;
  for (; i > 0 && c->at[i - 1] > at; i--) c->at[i] = c->at[i - 1];
  c->at[i] = at;
}

/* ---- living -------------------------------------------------------------------------- */

/* A piece of the way in which boredom moves at one rate: what the feelings were when it all began, and where we are. */
struct piece {
  const struct rp__feelings *from;
  const struct rp__emotions *t;
  double begin, end, boredom, rate;
};

static double boredom_at(const struct piece *p, double at)
{
  return clamp(p->boredom + p->rate * (at - p->begin));
}

/* No threshold lies inside, and no level turns. */
static void live_plain(struct rp__feelings *f, const struct piece *p, double begin, double end)
{
  struct cuts c = {.n = 0};
  /* Levels are straight lines here: where sadness or anger meet another one, which of them dominates may change. */
  double from[RP_EMOTIONS_MAX], to[RP_EMOTIONS_MAX];
  for (size_t i = 0; i < p->t->n_levels; i++) {
    from[i] = level_after(p->from, p->t, i, begin);
    to[i] = level_after(p->from, p->t, i, end);
  }
  for (size_t k = RP_SADNESS; k <= RP_ANGER; k++) {
    for (size_t i = 0; i < p->t->n_levels; i++) {
      double before = from[k] - from[i], after = to[k] - to[i];
      if ((before < 0) != (after < 0)) cut(&c, (end - begin) * before / (before - after), end - begin);
    }
  }
  c.at[c.n++] = end - begin;
  double at = 0;
  for (size_t i = 0; i < c.n; i++) {
    if (!(c.at[i] > at)) continue;
    double level[RP_EMOTIONS_MAX], seconds = c.at[i] - at, mid = begin + at + seconds / 2;
    bool wounded = false;
    for (size_t k = 0; k < p->t->n_levels; k++) level[k] = level_after(p->from, p->t, k, mid);
    for (size_t k = 0; k < p->from->n_wounds; k++)
      wounded = wounded || healed_after(&p->from->wound[k], p->t->n_levels) > mid;
    enum rp__mood m = rp__mood_of(level, p->t->n_levels, boredom_at(p, mid), wounded);
    at = c.at[i];
    if (m != f->coming) f->coming_seconds = 0;
    f->coming = m;
    if (m == f->mood) continue;
    f->coming_seconds += seconds;
    if (f->coming_seconds < SETTLE_SECONDS - 1e-9) continue;
    f->mood = m;
    f->coming_seconds = 0;
  }
}

/* Boredom may come to its own thresholds on the way. */
static void live_piece(struct rp__feelings *f, const struct piece *p)
{
  double steps[2] = {p->rate > 0 ? RP_BORED : RP_SLEEPY, p->rate > 0 ? RP_SLEEPY : RP_BORED};
  double begin = p->begin;
  for (size_t i = 0; i < 2; i++) {
    double at = p->begin + (p->rate != 0 ? (steps[i] - p->boredom) / p->rate : NEVER);
    if (!(at > begin) || !(at < p->end)) continue;
    live_plain(f, p, begin, at);
    begin = at;
  }
  live_plain(f, p, begin, p->end);
  f->boredom = boredom_at(p, p->end);
}

void rp__feelings_live(struct rp__feelings *f, const struct rp__emotions *t, double seconds)
{
  const struct rp__feelings from = *f;
  struct cuts c = {.n = 0};
  if (!(seconds > 0)) return;
  for (size_t i = 0; i < RP_EMOTIONS_OWN; i++)
    cut(&c, crossing(&from, t, i, i == RP_JOY ? t->joy_below : t->negative_below), seconds);
  for (size_t i = 0; i < rp__mood_thresholds_n; i++)
    cut(&c, crossing(&from, t, rp__mood_thresholds[i].emotion, rp__mood_thresholds[i].level), seconds);
  for (size_t i = 0; i < t->n_levels; i++) {
    double way = from.level[i] - t->level[i].baseline;
    cut(&c, time_to(way < 0 ? -way : way, t->level[i].decay), seconds);
  }
  for (size_t k = 0; k < from.n_wounds; k++) {
    cut(&c, rp__wound_remaining(&from.wound[k]), seconds);
    cut(&c, healed_after(&from.wound[k], t->n_levels), seconds);
  }
  c.at[c.n++] = seconds;
  double begin = 0;
  for (size_t i = 0; i < c.n; i++) {
    if (!(c.at[i] > begin)) continue;
    double mid = begin + (c.at[i] - begin) / 2;
    bool boring = level_after(&from, t, RP_JOY, mid) < t->joy_below;
    for (size_t k = RP_SADNESS; k <= RP_DISGUST; k++)
      boring = boring && level_after(&from, t, k, mid) < t->negative_below;
    struct piece p = {&from, t, begin, c.at[i], f->boredom, boring ? t->grow : -t->fall};
    live_piece(f, &p);
    begin = c.at[i];
  }
  pass(f, t, seconds);
}

/* ---- events --------------------------------------------------------------------------- */

void rp__feelings_event(struct rp__feelings *f, const struct rp__emotions *t, const struct rp__emotion_event *e,
                        double intensity, const char *wound_id)
{
  if (!(intensity > 0)) return;
  for (size_t k = 0; k < f->n_wounds; k++) {
    for (size_t i = 0; i < t->n_levels; i++) {
      double floor = f->wound[k].floor[i] - e->heals * intensity;
      f->wound[k].floor[i] = floor > NOTHING ? floor : 0;
    }
  }
  for (size_t i = 0; i < t->n_levels; i++) f->level[i] = clamp(f->level[i] + e->delta[i] * intensity);
  if (any_floor(e->floor, t->n_levels) && f->n_wounds < RP_WOUNDS_MAX) {
    struct rp__wound *w = &f->wound[f->n_wounds++];
    *w = (struct rp__wound){.duration = e->duration, .heal_rate = e->heal_rate};
    snprintf(w->id, sizeof w->id, "%s", wound_id);
    memcpy(w->event, e->name, sizeof w->event);
    memcpy(w->floor, e->floor, sizeof w->floor);
  }
  rp__feelings_settle(f, t);
}
