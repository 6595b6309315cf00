/* SPDX-License-Identifier: Apache-2.0 */
/* The table of emotions as INI text: writes it for people to edit, and takes the lines that an INI reader has read. */
#include "facets/emotion/emotions.h"

#include "json/json.h"

#define VALUE_MAX 60
#define NAMES_MAX (RP_EMOTION_EVENT_NAME + 16)

/* ---- writing ---------------------------------------------------------------- */

static const char head[] = "# What the agent feels: its emotions, and what events do to them.\n"
                           "#\n"
                           "# A line that is taken out falls back to the default; write 0 to switch something off.\n"
                           "# Levels are between 0 and 1, rates are per second, times are seconds. Sections of your\n"
                           "# own are welcome: further emotions, further events.\n";

static const char emotions_head[] = "\n# Each level moves in a straight line to its baseline, by `decay` a second.\n";
static const char boredom_head[] =
    "\n# Boredom grows while joy is below `joy_below` and sadness, anger, fear and disgust are all\n"
    "# below `negative_below`; else it falls.\n";
static const char events_head[] =
    "\n# What an event adds to the levels, times its intensity. `wounds` is what it adds to the\n"
    "# floors of all wounds: below zero it heals.\n";
static const char wounds_head[] =
    "\n# Events that wound: for `duration` seconds no level falls below its floor, then the floors\n"
    "# sink by `heal_rate` a second. At most five wounds at a time.\n";

static void put_number(const char *key, double v, struct rp__buf *out)
{
  char text[RP_DOUBLE_TEXT];
  rp__double_format(v, text);
  rp__buf_printf(out, "%s = %s\n", key, text);
}

static void put_by_emotion(const struct rp__emotions *t, const double *v, struct rp__buf *out)
{
  for (size_t i = 0; i < t->n_levels; i++) {
    if (v[i] != 0) put_number(t->level[i].name, v[i], out);
  }
}

void rp__emotions_ini(struct rp__buf *out)
{
  const struct rp__emotions *t = &rp__emotions_default;
  rp__buf_str(out, head);
  rp__buf_str(out, emotions_head);
  for (size_t i = 0; i < t->n_levels; i++) {
    rp__buf_printf(out, "[emotion %s]\n", t->level[i].name);
    put_number("baseline", t->level[i].baseline, out);
    put_number("decay", t->level[i].decay, out);
  }
  rp__buf_str(out, boredom_head);
  rp__buf_str(out, "[boredom]\n");
  put_number("grow", t->grow, out);
  put_number("fall", t->fall, out);
  put_number("joy_below", t->joy_below, out);
  put_number("negative_below", t->negative_below, out);
  rp__buf_str(out, events_head);
  for (size_t i = 0; i < t->n_events; i++) {
    const struct rp__emotion_event *e = &t->event[i];
    rp__buf_printf(out, "[event %s]\n", e->name);
    put_by_emotion(t, e->delta, out);
    if (e->heals > 0) put_number("wounds", -e->heals, out);
  }
  rp__buf_str(out, wounds_head);
  for (size_t i = 0; i < t->n_events; i++) {
    const struct rp__emotion_event *e = &t->event[i];
    if (!(e->heal_rate > 0)) continue;
    rp__buf_printf(out, "[wound %s]\n", e->name);
    put_by_emotion(t, e->floor, out);
    put_number("duration", e->duration, out);
    put_number("heal_rate", e->heal_rate, out);
  }
}

/* ---- building ----------------------------------------------------------------- */

struct rp__emotions_builder {
  struct rp__emotions table;
};

/* One line of the file: where it stands and what it says. */
struct line {
  struct rp__emotions *t;
  const char *section, *key, *value;
  const char *name; /* of the emotion or event, behind the section's first word */
  rp_error *err;
};

int rp__emotions_begin(struct rp__emotions_builder **ret)
{
  struct rp__emotions_builder *b = malloc(sizeof *b);
  if (!b) return RP_E_NOMEM;
  b->table = rp__emotions_default;
  *ret = b;
  return 0;
}

void rp__emotions_free(struct rp__emotions_builder *b)
{
  free(b);
}

static int refuse(const struct line *l, const char *why)
{
  char field[NAMES_MAX * 2];
  snprintf(field, sizeof field, "[%.70s] %.70s", l->section, l->key);
  return rp__fail_field(l->err, RP_E_CONFIG, field, "%s: %s", field, why);
}

/* People write .3 and +.05, which JSON does not. */
static bool parse_number(const char *s, double *ret)
{
  char text[VALUE_MAX + 4];
  struct rp__json v;
  bool negative = *s == '-';
  if (*s == '-' || *s == '+') s++;
  if (strlen(s) > VALUE_MAX || *s == '-') return false;
  snprintf(text, sizeof text, "%s%s%s", negative ? "-" : "", *s == '.' ? "0" : "", s);
  return rp__json_parse(text, strlen(text), NULL, &v, NULL) == 0 && rp__json_double(v, ret);
}

static int set_number(const struct line *l, double min, double max, double *ret)
{
  double v;
  if (!parse_number(l->value, &v) || v < min || v > max) {
    char why[2 * RP_DOUBLE_TEXT + 40], a[RP_DOUBLE_TEXT], b[RP_DOUBLE_TEXT];
    rp__double_format(min, a);
    rp__double_format(max, b);
    snprintf(why, sizeof why, "must be a number from %s to %s", a, b);
    return refuse(l, why);
  }
  *ret = v == 0 ? 0 : v;
  return 0;
}

static int find_emotion(const struct line *l, const char *name, size_t *ret)
{
  if (rp__emotion_put(l->t, name, ret)) return 0;
  return refuse(l, l->t->n_levels == RP_EMOTIONS_MAX ? "there are more than 16 emotions"
                                                     : "is not a name for an emotion (letters, digits, _ - . :)");
}

static int set_by_emotion(const struct line *l, double min, double ret[RP_EMOTIONS_MAX])
{
  size_t i;
  int rc = find_emotion(l, l->key, &i);
  return rc ? rc : set_number(l, min, 1, &ret[i]);
}

static int set_emotion(const struct line *l)
{
  size_t i;
  int rc = find_emotion(l, l->name, &i);
  if (rc) return rc;
  if (strcmp(l->key, "baseline") == 0) return set_number(l, 0, 1, &l->t->level[i].baseline);
  if (strcmp(l->key, "decay") == 0) return set_number(l, 0, 1, &l->t->level[i].decay);
  return refuse(l, "an emotion has baseline and decay");
}

static int set_boredom(const struct line *l)
{
  struct rp__emotions *t = l->t;
  if (strcmp(l->key, "grow") == 0) return set_number(l, 0, 1, &t->grow);
  if (strcmp(l->key, "fall") == 0) return set_number(l, 0, 1, &t->fall);
  if (strcmp(l->key, "joy_below") == 0) return set_number(l, 0, 1, &t->joy_below);
  if (strcmp(l->key, "negative_below") == 0) return set_number(l, 0, 1, &t->negative_below);
  return refuse(l, "boredom has grow, fall, joy_below and negative_below");
}

static int find_event(const struct line *l, struct rp__emotion_event **ret)
{
  size_t i;
  if (!rp__emotion_event_put(l->t, l->name, &i)) {
    return refuse(l, l->t->n_events == RP_EMOTION_EVENTS_MAX ? "there are more than 64 events"
                                                             : "is not a name for an event (letters, digits, _ - . :)");
  }
  *ret = &l->t->event[i];
  return 0;
}

static int set_event(const struct line *l)
{
  struct rp__emotion_event *e;
  double wounds = 0;
  int rc = find_event(l, &e);
  if (rc) return rc;
  if (strcmp(l->key, "wounds") != 0) return set_by_emotion(l, -1, e->delta);
  rc = set_number(l, -1, 0, &wounds);
  if (rc == 0) e->heals = wounds < 0 ? -wounds : 0;
  return rc;
}

static int set_wound(const struct line *l)
{
  struct rp__emotion_event *e;
  int rc = find_event(l, &e);
  if (rc) return rc;
  rp__emotion_wound_begin(e);
  if (strcmp(l->key, "duration") == 0) return set_number(l, 0, RP_EMOTION_SECONDS_MAX, &e->duration);
  if (strcmp(l->key, "heal_rate") == 0) return set_number(l, RP_EMOTION_HEAL_MIN, 1, &e->heal_rate);
  return set_by_emotion(l, 0, e->floor);
}

int rp__emotions_set(struct rp__emotions_builder *b, const char *section, const char *key, const char *value,
                     rp_error *err)
{
  static const struct {
    const char *word;
    bool named;
    int (*set)(const struct line *l);
  } sections[] = {
      {"emotion", true, set_emotion},
      {"boredom", false, set_boredom},
      {"event", true, set_event},
      {"wound", true, set_wound},
  };
  struct line l = {&b->table, section, key, value, "", err};
  size_t n = strcspn(section, " \t");
  l.name = section + n + strspn(section + n, " \t");
  for (size_t i = 0; i < RP_ARRAY_SIZE(sections); i++) {
    if (strlen(sections[i].word) != n || strncmp(section, sections[i].word, n) != 0) continue;
    if (sections[i].named == (*l.name != '\0')) return sections[i].set(&l);
  }
  return refuse(&l, "sections are [emotion NAME], [boredom], [event NAME] and [wound NAME]");
}

int rp__emotions_finish(const struct rp__emotions_builder *b, struct rp__buf *out_json, rp_error *err)
{
  RP_AUTOBUF struct rp__buf json = RP_BUF(RP_EMOTIONS_BYTES);
  struct rp__jw w = RP_JW(&json);
  rp__emotions_write(&b->table, &w);
  if (json.err == RP_E_TOO_LARGE)
    return rp__fail(err, RP_E_CONFIG, "the table of emotions is too long: at most %zu bytes as JSON",
                    RP_EMOTIONS_BYTES);
  if (json.err) return rp__fail_nomem(err);
  rp__buf_add(out_json, json.p, json.n);
  if (out_json->err == RP_E_NOMEM) return rp__fail_nomem(err);
  return out_json->err ? rp__fail(err, out_json->err, "there is no room for the table of emotions") : 0;
}
