/* SPDX-License-Identifier: Apache-2.0 */
/* Feelings over time: laws over random states, and a slow clock that ticks as a check of the closed forms. */
#include "facets_test.h"

#include "../../lib/dice.h"
#include "facets/emotion/affect.h"

#define EXACT 1e-9

static double chance(struct dice *d)
{
  return (double)dice_below(d, 1000001) / 1000000;
}

static double far_apart(double a, double b)
{
  return a > b ? a - b : b - a;
}

static void random_table(struct dice *d, struct rp__emotions *t)
{
  *t = rp__emotions_default;
  if (dice_below(d, 2)) return;
  t->n_levels = 5 + (size_t)dice_below(d, 3);
  for (size_t i = 0; i < t->n_levels; i++) {
    snprintf(t->level[i].name, sizeof t->level[i].name, "e%zu", i);
    t->level[i].baseline = dice_below(d, 3) ? 0 : chance(d);
    t->level[i].decay = dice_below(d, 4) ? chance(d) / 20 : 0;
  }
}

static void random_feelings(struct dice *d, const struct rp__emotions *t, struct rp__feelings *f)
{
  rp__feelings_init(f, t);
  f->boredom = dice_below(d, 2) ? chance(d) : 0;
  f->n_wounds = (size_t)dice_below(d, RP_WOUNDS_MAX + 1);
  for (size_t k = 0; k < f->n_wounds; k++) {
    struct rp__wound *w = &f->wound[k];
    *w = (struct rp__wound){.id = "w", .event = "e"};
    w->duration = (double)dice_below(d, 100);
    w->age = chance(d) * 150;
    w->heal_rate = dice_below(d, 4) ? chance(d) / 200 + 1e-4 : chance(d) / 5 + 1e-4;
    for (size_t i = 0; i < t->n_levels; i++) w->floor[i] = dice_below(d, 2) ? chance(d) / 2 : 0;
  }
  for (size_t i = 0; i < t->n_levels; i++) f->level[i] = dice_below(d, 5) ? chance(d) : t->level[i].baseline;
  rp__feelings_settle(f, t);
}

static double floor_of(const struct rp__feelings *f, size_t i)
{
  double floor = 0;
  for (size_t k = 0; k < f->n_wounds; k++) floor = RP_MAX(floor, f->wound[k].floor[i]);
  return floor;
}

/* By the place a wound had at first: healed ones are gone, which is the same as floors of 0. */
static double floor_by_id(const struct rp__feelings *f, const char *id, size_t i)
{
  for (size_t k = 0; k < f->n_wounds; k++) {
    if (strcmp(f->wound[k].id, id) == 0) return f->wound[k].floor[i];
  }
  return 0;
}

static void name_wounds(struct rp__feelings *f)
{
  for (size_t k = 0; k < f->n_wounds; k++) snprintf(f->wound[k].id, sizeof f->wound[k].id, "%u", (unsigned)k);
}

/* N-08, N-10: a then b is a + b, for levels and wounds, lived or away. */
static void aging_is_additive(void **state)
{
  (void)state;
  struct dice d = dice_new();
  for (int64_t n = dice_rounds(20000, 2000000); n > 0; n--) {
    struct rp__emotions t;
    struct rp__feelings two, one;
    random_table(&d, &t);
    random_feelings(&d, &t, &two);
    name_wounds(&two);
    one = two;
    double a = chance(&d) * 200, b = chance(&d) * (dice_below(&d, 10) ? 200 : 1e6);
    bool lived = dice_below(&d, 2);
    (lived ? rp__feelings_live : rp__feelings_away)(&two, &t, a);
    (dice_below(&d, 2) ? rp__feelings_live : rp__feelings_away)(&two, &t, b);
    rp__feelings_away(&one, &t, a + b);
    for (size_t i = 0; i < t.n_levels; i++) {
      assert_true(far_apart(one.level[i], two.level[i]) < EXACT);
      for (unsigned k = 0; k < RP_WOUNDS_MAX; k++) {
        char id[9];
        snprintf(id, sizeof id, "%u", k);
        assert_true(far_apart(floor_by_id(&one, id, i), floor_by_id(&two, id, i)) < EXACT);
      }
    }
  }
}

/* N-08, N-10: levels go to max(baseline, floor) without turning or crossing, and stay within 0..1 and above floors. */
static void levels_go_straight_and_stop(void **state)
{
  (void)state;
  struct dice d = dice_new();
  for (int64_t n = dice_rounds(3000, 300000); n > 0; n--) {
    struct rp__emotions t;
    struct rp__feelings f;
    random_table(&d, &t);
    random_feelings(&d, &t, &f);
    for (int step = 0; step < 20; step++) {
      struct rp__feelings was = f;
      (dice_below(&d, 2) ? rp__feelings_live : rp__feelings_away)(&f, &t, chance(&d) * 30);
      for (size_t i = 0; i < t.n_levels; i++) {
        double base = t.level[i].baseline, level = f.level[i];
        assert_true(level >= 0 && level <= 1 && level >= floor_of(&f, i));
        assert_true(was.level[i] >= base ? level <= was.level[i] && level >= base
                                         : level >= was.level[i] && level <= base);
      }
      assert_true(f.boredom >= 0 && f.boredom <= 1 && f.n_wounds <= was.n_wounds);
    }
    (dice_below(&d, 2) ? rp__feelings_live : rp__feelings_away)(&f, &t, 1e8);
    assert_int_equal(f.n_wounds, 0);
    for (size_t i = 0; i < t.n_levels; i++)
      assert_true(t.level[i].decay > 0 ? f.level[i] == t.level[i].baseline : f.level[i] <= 1);
  }
}

/* ---- the clock that ticks -------------------------------------------------------- */

struct ticking {
  struct rp__feelings f;
  enum rp__mood coming;
  double since, settles; /* settles: after so many seconds */
};

static void tick_mood(struct ticking *c, const struct rp__emotions *t, double now)
{
  enum rp__mood m = rp__mood_of(c->f.level, t->n_levels, c->f.boredom, c->f.n_wounds > 0);
  if (m == c->f.mood) {
    c->coming = m;
  } else if (m != c->coming) {
    c->coming = m;
    c->since = now;
  } else if (now - c->since >= c->settles) {
    c->f.mood = m;
  }
}

static void tick(struct ticking *c, const struct rp__emotions *t, double now, double dt)
{
  bool boring = c->f.level[RP_JOY] < t->joy_below;
  for (size_t i = RP_SADNESS; i <= RP_DISGUST; i++) boring = boring && c->f.level[i] < t->negative_below;
  c->f.boredom += (boring ? t->grow : -t->fall) * dt;
  c->f.boredom = c->f.boredom < 0 ? 0 : c->f.boredom > 1 ? 1 : c->f.boredom;
  for (size_t k = 0; k < c->f.n_wounds; k++) {
    struct rp__wound *w = &c->f.wound[k];
    w->age += dt;
    for (size_t i = 0; w->age > w->duration && i < t->n_levels; i++)
      w->floor[i] = RP_MAX(0, w->floor[i] - w->heal_rate * dt);
  }
  for (size_t i = 0; i < t->n_levels; i++) {
    double base = t->level[i].baseline, step = t->level[i].decay * dt, *level = &c->f.level[i];
    *level = *level > base ? RP_MAX(base, *level - step) : RP_MIN(base, *level + step);
  }
  rp__feelings_settle(&c->f, t);
  tick_mood(c, t, now);
}

/* Ticks for `steps`; the mood some ticks before and after that, for a change just then may be early or late. */
static void tick_on(struct ticking *c, const struct rp__emotions *t, int steps, struct rp__feelings *ret,
                    enum rp__mood around[2])
{
  const double dt = 1. / 256;
  around[0] = c->f.mood;
  for (int i = 1; i <= steps + 32; i++) {
    tick(c, t, i * dt, dt);
    if (i == steps - 32) around[0] = c->f.mood;
    if (i == steps) *ret = c->f;
  }
  around[1] = c->f.mood;
}

/* N-09, N-12: boredom and mood by closed forms are what ticking gives, but for the length of some ticks. */
static void a_ticking_clock_agrees(void **state)
{
  (void)state;
  struct dice d = dice_new();
  for (int64_t n = dice_rounds(100, 3000); n > 0; n--) {
    struct rp__emotions t;
    struct rp__feelings from, at_once, ticked;
    enum rp__mood moods[4];
    random_table(&d, &t);
    if (dice_below(&d, 2)) t.level[RP_JOY].baseline = .1, t.grow = .05;
    random_feelings(&d, &t, &from);
    int steps = 256 * (int)(1 + dice_below(&d, 40));
    struct ticking early = {.f = from, .coming = from.mood, .settles = .95},
                   late = {.f = from, .coming = from.mood, .settles = 1.05};
    tick_on(&early, &t, steps, &ticked, &moods[0]);
    tick_on(&late, &t, steps, &ticked, &moods[2]);
    at_once = from;
    rp__feelings_live(&at_once, &t, steps / 256.);
    assert_true(far_apart(at_once.boredom, ticked.boredom) < .01);
    for (size_t i = 0; i < t.n_levels; i++) assert_true(far_apart(at_once.level[i], ticked.level[i]) < .01);
    bool same = false;
    for (size_t i = 0; i < 4; i++) same = same || at_once.mood == moods[i];
    if (!same) fail_msg("%s, not %s", rp__mood_name(at_once.mood), rp__mood_name(moods[3]));
  }
}

/* ---- moods ------------------------------------------------------------------------ */

/* N-12, rule by rule, each just at and just below its threshold. */
static void moods_follow_the_rules(void **state)
{
  (void)state;
  static const struct {
    double level[5]; /* joy, sadness, anger, fear, disgust */
    double boredom;
    bool wounded;
    const char *mood;
  } cases[] = {
      {{.9, .3, 0, 0, 0}, 0, true, "sad"},
      {{.9, .29, 0, 0, 0}, 0, true, "excited"},
      {{.9, .3, 0, 0, 0}, 0, false, "excited"},
      {{.9, .29, .2, 0, 0}, 0, true, "disappointed"},
      {{.7, 0, 0, .9, 0}, 0, false, "excited"},
      {{.69, 0, .19, .4, 0}, 0, false, "surprised"},
      {{.1, 0, .2, .4, 0}, 0, false, "calm"},
      {{.1, .25, 0, 0, 0}, 0, false, "sad"},
      {{.1, .24, 0, 0, 0}, 0, false, "calm"},
      {{.25, .25, 0, 0, 0}, 0, false, "happy"},         /* joy comes first among equals */
      {{.1, .25, .25, .25, .25}, 0, false, "sad"},      /* then sadness */
      {{.1, .1, .2, .2, .2}, 0, false, "disappointed"}, /* then anger */
      {{.1, .2, .2, .1, .1}, 0, false, "calm"},
      {{.9, 0, 0, 0, 0}, 1, false, "excited"},
      {{.6, 0, 0, 0, 0}, .7, false, "sleepy"},
      {{.6, 0, 0, 0, 0}, .69, false, "calm"},
      {{.6, 0, 0, 0, 0}, .4, false, "calm"},
      {{.6, 0, 0, 0, 0}, .39, false, "proud"},
      {{.5, .09, .09, .3, .3}, 0, false, "proud"},
      {{.5, .1, 0, 0, 0}, 0, false, "happy"},
      {{.5, 0, .1, 0, 0}, 0, false, "happy"},
      {{.49, 0, 0, 0, 0}, 0, false, "happy"},
      {{.25, 0, 0, 0, 0}, 0, false, "happy"},
      {{.24, 0, 0, 0, 0}, 0, false, "calm"},
  };
  for (size_t i = 0; i < RP_ARRAY_SIZE(cases); i++) {
    const char *got = rp__mood_name(rp__mood_of(cases[i].level, 5, cases[i].boredom, cases[i].wounded));
    if (strcmp(got, cases[i].mood) != 0) fail_msg("case %zu: %s, not %s", i, got, cases[i].mood);
  }
}

static void a_mood_needs_a_second_to_settle(void **state)
{
  (void)state;
  const struct rp__emotions *t = &rp__emotions_default;
  struct rp__feelings f;
  rp__feelings_init(&f, t);
  f.level[RP_JOY] = .9;
  rp__feelings_live(&f, t, .5);
  assert_int_equal(f.mood, RP_MOOD_HAPPY);
  rp__feelings_live(&f, t, .499);
  assert_int_equal(f.mood, RP_MOOD_HAPPY);
  rp__feelings_live(&f, t, .001);
  assert_int_equal(f.mood, RP_MOOD_EXCITED);
  f.level[RP_JOY] = .3; /* a change that turns back begins again */
  rp__feelings_live(&f, t, .9);
  f.level[RP_JOY] = .9;
  rp__feelings_live(&f, t, .1);
  f.level[RP_JOY] = .3;
  rp__feelings_live(&f, t, .9);
  assert_int_equal(f.mood, RP_MOOD_EXCITED);
  rp__feelings_away(&f, t, .5); /* too short for a mood to settle */
  assert_int_equal(f.mood, RP_MOOD_EXCITED);
  rp__feelings_away(&f, t, 5); /* who comes back is in the mood that fits */
  assert_int_equal(f.mood, RP_MOOD_HAPPY);
}

/* N-09 */
static void boredom_grows_falls_and_ends_when_away(void **state)
{
  (void)state;
  struct rp__emotions t = rp__emotions_default;
  struct rp__feelings f, g;
  t.level[RP_JOY].baseline = .1;
  rp__feelings_init(&f, &t);
  rp__feelings_live(&f, &t, 50);
  assert_true(far_apart(f.boredom, .4) < EXACT);
  f.level[RP_JOY] = .17; /* 1 s until joy is below .15 */
  rp__feelings_live(&f, &t, 3);
  assert_true(far_apart(f.boredom, .4 - .05 + 2 * .008) < EXACT);
  f.level[RP_FEAR] = .14; /* 1 s until fear is below .1 */
  g = f;
  rp__feelings_live(&f, &t, 2);
  assert_true(far_apart(f.boredom, g.boredom - .05 + .008) < EXACT);
  rp__feelings_live(&f, &t, 1e6);
  assert_true(f.boredom == 1);
  assert_int_equal(f.mood, RP_MOOD_SLEEPY);
  rp__feelings_away(&f, &t, 60);
  assert_true(f.boredom == 1);
  rp__feelings_away(&f, &t, 60.001);
  assert_true(f.boredom == 0);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(aging_is_additive),
      cmocka_unit_test(levels_go_straight_and_stop),
      cmocka_unit_test(a_ticking_clock_agrees),
      cmocka_unit_test(moods_follow_the_rules),
      cmocka_unit_test(a_mood_needs_a_second_to_settle),
      cmocka_unit_test(boredom_grows_falls_and_ends_when_away),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
