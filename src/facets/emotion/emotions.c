/* SPDX-License-Identifier: Apache-2.0 */
/* The table of emotions: its defaults, names, events and wounds, and its JSON form. */
#include "facets/emotion/emotions.h"

#define OTHER_DECAY .03
#define WOUND_SECONDS 300
#define WOUND_HEAL_RATE .001

/* clang-format off */
const struct rp__emotions rp__emotions_default = {
  .n_levels = RP_EMOTIONS_OWN,
  .level = {
    [RP_JOY] = {"joy", .3, .02},
    [RP_SADNESS] = {"sadness", 0, .03},
    [RP_ANGER] = {"anger", 0, .05},
    [RP_FEAR] = {"fear", 0, .04},
    [RP_DISGUST] = {"disgust", 0, .06},
  },
  .grow = .008, .fall = .05, .joy_below = .15, .negative_below = .1,
  .n_events = 15,
  .event = {
    {"pat_level1", {[RP_JOY] = .05}},
    {"pat_level2", {[RP_JOY] = .30, [RP_SADNESS] = -.20, [RP_FEAR] = -.15}, .heals = .08},
    {"conversation_reply", {[RP_JOY] = .10, [RP_SADNESS] = -.05}, .heals = .01},
    {"face_recognized", {[RP_JOY] = .20, [RP_SADNESS] = -.10, [RP_FEAR] = -.05}, .heals = .02},
    {"voice_speaking", {[RP_JOY] = .08}},
    {"voice_listening", {[RP_JOY] = .05}},
    {"vision_description", {[RP_JOY] = .12}, .heals = .01},
    {"snap_detected", {[RP_FEAR] = .20, [RP_JOY] = -.05}},
    {"loud_noise", {[RP_FEAR] = .25, [RP_JOY] = -.10}},
    {"person_lost", {[RP_SADNESS] = .15, [RP_JOY] = -.05}},
    {"harsh_words", {[RP_SADNESS] = .20, [RP_ANGER] = .15, [RP_JOY] = -.15}},
    {"insult", {[RP_ANGER] = .25, [RP_DISGUST] = .15, [RP_JOY] = -.20}},
    {"violence", {[RP_FEAR] = .40, [RP_SADNESS] = .30, [RP_ANGER] = .25, [RP_JOY] = -.30},
     .floor = {[RP_FEAR] = .25, [RP_SADNESS] = .20}, .duration = 300, .heal_rate = .001},
    {"abuse", {[RP_FEAR] = .50, [RP_SADNESS] = .40, [RP_ANGER] = .20, [RP_DISGUST] = .30, [RP_JOY] = -.40},
     .floor = {[RP_FEAR] = .30, [RP_SADNESS] = .25, [RP_DISGUST] = .20}, .duration = 600, .heal_rate = .0008},
    {"sustained_yelling", {[RP_FEAR] = .30, [RP_ANGER] = .20, [RP_SADNESS] = .15, [RP_JOY] = -.20},
     .floor = {[RP_FEAR] = .20, [RP_ANGER] = .15}, .duration = 180, .heal_rate = .002},
  },
};
/* clang-format on */

/* ---- names ---------------------------------------------------------------- */

bool rp__emotion_name_ok(const char *name, size_t size)
{
  static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.:";
  size_t n = strnlen(name, size);
  return n > 0 && n < size && strspn(name, allowed) == n;
}

size_t rp__emotion_find(const struct rp__emotions *t, const char *name)
{
  size_t i = 0;
  while (i < t->n_levels && strcmp(t->level[i].name, name) != 0) i++;
  return i;
}

size_t rp__emotion_event_find(const struct rp__emotions *t, const char *name)
{
  size_t i = 0;
  while (i < t->n_events && strcmp(t->event[i].name, name) != 0) i++;
  return i;
}

bool rp__emotion_put(struct rp__emotions *t, const char *name, size_t *ret)
{
  /* Boredom is no level, and the others are keys that stand beside the names of emotions in the INI form. */
  static const char *const reserved[] = {"boredom", "wounds", "duration", "heal_rate"};
  size_t i = rp__emotion_find(t, name);
  if (i == t->n_levels) {
    if (i == RP_EMOTIONS_MAX || !rp__emotion_name_ok(name, RP_EMOTION_NAME)) return false;
    for (size_t k = 0; k < RP_ARRAY_SIZE(reserved); k++)
      if (strcmp(name, reserved[k]) == 0) return false;
    t->level[i] = (struct rp__emotion_level){.decay = OTHER_DECAY};
    memcpy(t->level[i].name, name, strlen(name) + 1);
    t->n_levels++;
  }
  *ret = i;
  return true;
}

bool rp__emotion_event_put(struct rp__emotions *t, const char *name, size_t *ret)
{
  size_t i = rp__emotion_event_find(t, name);
  if (i == t->n_events) {
    if (i == RP_EMOTION_EVENTS_MAX || !rp__emotion_name_ok(name, RP_EMOTION_EVENT_NAME)) return false;
    t->event[i] = (struct rp__emotion_event){0};
    memcpy(t->event[i].name, name, strlen(name) + 1);
    t->n_events++;
  }
  *ret = i;
  return true;
}

void rp__emotion_wound_begin(struct rp__emotion_event *e)
{
  if (e->heal_rate > 0) return;
  e->duration = WOUND_SECONDS;
  e->heal_rate = WOUND_HEAL_RATE;
}

/* ---- reading ---------------------------------------------------------------- */

static void read_value(struct rp__json number, double min, double max, double *ret)
{
  double v;
  if (!rp__json_double(number, &v)) return;
  v = RP_MAX(min, RP_MIN(max, v));
  *ret = v == 0 ? 0 : v; /* no negative zero */
}

static void read_number(struct rp__json object, const char *name, double min, double max, double *ret)
{
  read_value(rp__json_get(object, name), min, max, ret);
}

/* The decoded key as a C string; false when it can't be a name. */
static bool read_name(struct rp__json key, char out[RP_EMOTION_EVENT_NAME])
{
  /* A name has no escapes that matter: its characters need none. */
  if (key.n == 0 || key.n >= RP_EMOTION_EVENT_NAME) return false;
  memcpy(out, key.p, key.n);
  out[key.n] = '\0';
  return rp__emotion_name_ok(out, RP_EMOTION_EVENT_NAME);
}

/* Values by emotion: deltas or floors. */
static void read_by_emotion(struct rp__json values, double min, struct rp__emotions *t, double ret[RP_EMOTIONS_MAX])
{
  struct rp__json_iter it = {0};
  struct rp__json key, v;
  char name[RP_EMOTION_EVENT_NAME];
  size_t i;
  while (rp__json_next(values, &it, &key, &v)) {
    if (v.type != RP_JSON_NUMBER || !read_name(key, name) || !rp__emotion_put(t, name, &i)) continue;
    read_value(v, min, 1, &ret[i]);
  }
}

static void read_events(struct rp__json events, struct rp__emotions *t)
{
  struct rp__json_iter it = {0};
  struct rp__json key, v;
  char name[RP_EMOTION_EVENT_NAME];
  size_t i;
  while (rp__json_next(events, &it, &key, &v)) {
    if (!read_name(key, name)) continue;
    i = rp__emotion_event_find(t, name);
    if (v.type == RP_JSON_NULL && i < t->n_events) {
      t->n_events--;
      memmove(&t->event[i], &t->event[i + 1], (t->n_events - i) * sizeof t->event[0]);
      memset(&t->event[t->n_events], 0, sizeof t->event[0]);
    }
    if (v.type != RP_JSON_OBJECT || !rp__emotion_event_put(t, name, &i)) continue;
    struct rp__emotion_event *e = &t->event[i];
    struct rp__json wound = rp__json_get(v, "wound");
    double wounds = -e->heals;
    read_by_emotion(rp__json_get(v, "deltas"), -1, t, e->delta);
    read_number(v, "wounds", -1, 0, &wounds);
    e->heals = wounds < 0 ? -wounds : 0;
    if (wound.type == RP_JSON_NULL) memset(e->floor, 0, sizeof e->floor);
    if (wound.type != RP_JSON_OBJECT) continue;
    rp__emotion_wound_begin(e);
    read_by_emotion(rp__json_get(wound, "floors"), 0, t, e->floor);
    read_number(wound, "duration", 0, RP_EMOTION_SECONDS_MAX, &e->duration);
    read_number(wound, "heal_rate", RP_EMOTION_HEAL_MIN, 1, &e->heal_rate);
  }
}

void rp__emotions_read(struct rp__json v, struct rp__emotions *ret)
{
  struct rp__json boredom = rp__json_get(v, "boredom"), levels = rp__json_get(v, "levels"), key, level;
  struct rp__json_iter it = {0};
  char name[RP_EMOTION_EVENT_NAME];
  size_t i;
  *ret = rp__emotions_default;
  while (rp__json_next(levels, &it, &key, &level)) {
    if (!read_name(key, name) || level.type != RP_JSON_OBJECT || !rp__emotion_put(ret, name, &i)) continue;
    read_number(level, "baseline", 0, 1, &ret->level[i].baseline);
    read_number(level, "decay", 0, 1, &ret->level[i].decay);
  }
  read_number(boredom, "grow", 0, 1, &ret->grow);
  read_number(boredom, "fall", 0, 1, &ret->fall);
  read_number(boredom, "joy_below", 0, 1, &ret->joy_below);
  read_number(boredom, "negative_below", 0, 1, &ret->negative_below);
  read_events(rp__json_get(v, "events"), ret);
}

/* ---- writing ------------------------------------------------------------------ */

/* `base` (or NULL) are the default's values: where those are not 0, a 0 must be told. */
static void write_by_emotion(const struct rp__emotions *t, const double *v, const double *base, struct rp__jw *w)
{
  rp__jw_object(w);
  for (size_t i = 0; i < t->n_levels; i++) {
    bool told = v[i] != 0 || (base && i < RP_EMOTIONS_OWN && base[i] != 0);
    if (told) rp__jw_kdouble(w, t->level[i].name, v[i]);
  }
  rp__jw_end_object(w);
}

/* `base`: the default of that name, or NULL; `whole`: also what is only told, as the length of a wound it never makes.
 */
static void write_event(const struct rp__emotions *t, const struct rp__emotion_event *e,
                        const struct rp__emotion_event *base, bool whole, struct rp__jw *w)
{
  rp__jw_key(w, "deltas");
  write_by_emotion(t, e->delta, base ? base->delta : NULL, w);
  if (e->heals > 0 || (base && base->heals > 0)) rp__jw_kdouble(w, "wounds", e->heals > 0 ? -e->heals : 0);
  for (size_t i = 0; i < RP_EMOTIONS_MAX; i++) whole = whole || e->floor[i] > 0;
  if (!whole || !(e->heal_rate > 0)) return;
  rp__jw_kobject(w, "wound");
  rp__jw_key(w, "floors");
  write_by_emotion(t, e->floor, base ? base->floor : NULL, w);
  rp__jw_pack(w, "duration:d heal_rate:d}", e->duration, e->heal_rate);
}

void rp__emotions_write(const struct rp__emotions *t, struct rp__jw *w)
{
  const struct rp__emotions *base = &rp__emotions_default;
  rp__jw_pack(w, "{levels:{");
  for (size_t i = 0; i < t->n_levels; i++) {
    rp__jw_kobject(w, t->level[i].name);
    rp__jw_pack(w, "baseline:d decay:d}", t->level[i].baseline, t->level[i].decay);
  }
  rp__jw_pack(w, "} boredom:{grow:d fall:d joy_below:d negative_below:d} events:{", t->grow, t->fall, t->joy_below,
              t->negative_below);
  for (size_t i = 0; i < base->n_events; i++) {
    if (rp__emotion_event_find(t, base->event[i].name) < t->n_events) continue;
    rp__jw_key(w, base->event[i].name);
    rp__jw_null(w);
  }
  for (size_t i = 0; i < t->n_events; i++) {
    size_t b = rp__emotion_event_find(base, t->event[i].name);
    rp__jw_kobject(w, t->event[i].name);
    write_event(t, &t->event[i], b < base->n_events ? &base->event[b] : NULL, true, w);
    rp__jw_end_object(w);
  }
  rp__jw_pack(w, "}}");
}

void rp__emotions_write_events(const struct rp__emotions *t, struct rp__jw *w)
{
  rp__jw_array(w);
  for (size_t i = 0; i < t->n_events; i++) {
    rp__jw_pack(w, "{event:s", t->event[i].name);
    write_event(t, &t->event[i], NULL, false, w);
    rp__jw_end_object(w);
  }
  rp__jw_end_array(w);
}
