/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The facet of the agent's emotions (N-08 to N-13). The state is valid at `last_ms`, the time of the last event that
 * changed it; documents show the state aged to their own moment. When the clock went back between two events, no time
 * has passed between them.
 *
 * `felt` is set by an emotion event of this session, and by emotions carried over from an earlier session. Until then
 * the session may still take over an earlier session's emotions. A table of emotions alone does not set `felt`.
 */
#include "facets/emotion/affect.h"

#include "facets/table.h"

#define INTENSITY_MAX 10 /* an intensity is between 0 and this; 1 when it is not told */
#define RATE_MAX 1
#define WOUND_BYTES ((size_t)400 + RP_EMOTION_EVENT_NAME + RP_EMOTIONS_MAX * (RP_EMOTION_NAME + 32))

/* A table that came with an event: as it came, and as it was understood. */
struct own {
  struct rp__emotions table;
  size_t n;
  char json[];
};

struct affect {
  struct rp__feelings now; /* at last_ms; meaningless before `born` */
  struct own *own;         /* NULL: the default table */
  int64_t last_ms;
  bool born, felt;
};

static const struct rp__emotions *table_of(const struct affect *a)
{
  return a->own ? &a->own->table : &rp__emotions_default;
}

static void be_born(struct affect *a, int64_t at_ms)
{
  if (a->born) return;
  a->born = true;
  a->last_ms = at_ms;
  rp__feelings_init(&a->now, table_of(a));
}

static double seconds_since(const struct affect *a, int64_t at_ms)
{
  return ((double)at_ms - (double)a->last_ms) / 1000;
}

static void live_until(struct affect *a, int64_t at_ms)
{
  rp__feelings_live(&a->now, table_of(a), seconds_since(a, at_ms));
  a->last_ms = at_ms;
}

/* ---- tables ------------------------------------------------------------------ */

/* What is no object: the default one. */
static int set_table(struct affect *a, struct rp__json v)
{
  struct own *own = NULL;
  if (v.type == RP_JSON_OBJECT) {
    own = malloc(sizeof *own + v.n);
    if (!own) return RP_E_NOMEM;
    rp__emotions_read(v, &own->table);
    own->n = v.n;
    memcpy(own->json, v.p, v.n);
  }
  const struct rp__emotions *to = own ? &own->table : &rp__emotions_default;
  if (a->felt) {
    /* What was felt by one table, told by another: what that has no name for is gone. */
    const struct rp__emotions *from = table_of(a);
    const struct rp__feelings was = a->now;
    for (size_t i = 0; i < to->n_levels; i++) {
      size_t k = rp__emotion_find(from, to->level[i].name);
      a->now.level[i] = k < from->n_levels ? was.level[k] : to->level[i].baseline;
    }
    for (size_t w = 0; w < a->now.n_wounds; w++) {
      memset(a->now.wound[w].floor, 0, sizeof a->now.wound[w].floor);
      for (size_t i = 0; i < to->n_levels; i++) {
        size_t k = rp__emotion_find(from, to->level[i].name);
        if (k < from->n_levels) a->now.wound[w].floor[i] = was.wound[w].floor[k];
      }
    }
    rp__feelings_settle(&a->now, to);
  } else {
    rp__feelings_init(&a->now, to);
  }
  free(a->own);
  a->own = own;
  return 0;
}

/* ---- emotions ------------------------------------------------------------------- */

static void apply_emotion(struct affect *a, const struct rp__event *ev)
{
  const struct rp__emotions *t = table_of(a);
  size_t i = 0;
  while (i < t->n_events && !rp__json_eq(rp__event_get(ev, "event"), t->event[i].name)) i++;
  double intensity = 1;
  if (i == t->n_events) return;
  rp__json_double(rp__event_get(ev, "intensity"), &intensity);
  be_born(a, ev->at_ms);
  live_until(a, ev->at_ms);
  a->felt = true;
  /* The id of a wound: the same on every replay, and told apart from the wounds that are there. */
  char id[9];
  uint32_t hash = 2166136261u;
  for (const char *p = t->event[i].name; *p; p++) hash = (hash ^ (unsigned char)*p) * 16777619u;
  for (unsigned k = 0; k < 8; k++) hash = (hash ^ (uint32_t)(((uint64_t)ev->seq >> (8 * k)) & 255)) * 16777619u;
  for (bool taken = true; taken; hash++) {
    snprintf(id, sizeof id, "%08x", hash);
    taken = false;
    for (size_t k = 0; k < a->now.n_wounds; k++) taken = taken || strcmp(a->now.wound[k].id, id) == 0;
  }
  rp__feelings_event(&a->now, t, &t->event[i], RP_MIN(intensity, INTENSITY_MAX), id);
}

/* ---- reading what was saved -------------------------------------------------------- */

/* Brings a number into its range; false when it was outside, or no number (*ret then stays). */
static bool read_number(struct rp__json v, double min, double max, double *ret)
{
  double d;
  if (!rp__json_double(v, &d)) return false;
  *ret = d < min ? min : d > max ? max : d == 0 ? 0 : d;
  return d >= min && d <= max;
}

/* Emotions that the table has no name for are left out. */
static bool read_by_emotion(const struct rp__emotions *t, struct rp__json v, double ret[RP_EMOTIONS_MAX])
{
  struct rp__json_iter it = {0};
  struct rp__json key, value;
  bool ok = v.type == RP_JSON_OBJECT;
  while (rp__json_next(v, &it, &key, &value)) {
    for (size_t i = 0; i < t->n_levels; i++) {
      if (rp__json_eq(key, t->level[i].name)) ok = read_number(value, 0, 1, &ret[i]) && ok;
    }
  }
  return ok;
}

/* A name as in the table; false leaves `otherwise`. */
static bool read_name(struct rp__json v, const char *otherwise, char *out, size_t size)
{
  snprintf(out, size, "%s", otherwise);
  if (v.type != RP_JSON_STRING || v.n < 3 || v.n - 2 >= size) return false;
  char name[RP_EMOTION_EVENT_NAME];
  memcpy(name, v.p + 1, v.n - 2);
  name[v.n - 2] = '\0';
  if (!rp__emotion_name_ok(name, size)) return false;
  memcpy(out, name, v.n - 1);
  return true;
}

static bool read_wounds(struct affect *a, struct rp__json wounds)
{
  struct rp__json_iter it = {0};
  struct rp__json v;
  bool ok = wounds.type == RP_JSON_ARRAY;
  while (rp__json_next(wounds, &it, NULL, &v)) {
    if (a->now.n_wounds == RP_WOUNDS_MAX) return false;
    struct rp__wound *w = &a->now.wound[a->now.n_wounds];
    char otherwise[9];
    snprintf(otherwise, sizeof otherwise, "%08x", (unsigned)a->now.n_wounds++);
    *w = (struct rp__wound){.duration = 300, .heal_rate = .001};
    ok = v.type == RP_JSON_OBJECT && ok;
    ok = read_name(rp__json_get(v, "id"), otherwise, w->id, sizeof w->id) && ok;
    ok = read_name(rp__json_get(v, "event"), "unknown", w->event, sizeof w->event) && ok;
    ok = read_by_emotion(table_of(a), rp__json_get(v, "floors"), w->floor) && ok;
    ok = read_number(rp__json_get(v, "duration"), 0, RP_EMOTION_SECONDS_MAX, &w->duration) && ok;
    ok = read_number(rp__json_get(v, "heal_rate"), RP_EMOTION_HEAL_MIN, RATE_MAX, &w->heal_rate) && ok;
    /* How old it is, in the words of this or of another program: exactly, by what remains, or by its birth. */
    if (read_number(rp__json_get(v, "age"), 0, 1e11, &w->age)) continue;
    double remaining = 0, created = 0, last = (double)a->last_ms / 1000;
    ok = false;
    w->age = w->duration;
    if (read_number(rp__json_get(v, "remaining_fixed_seconds"), 0, w->duration, &remaining) && remaining > 0)
      w->age = w->duration - remaining;
    else if (rp__json_double(rp__json_get(v, "created_at"), &created) && last - created > w->duration)
      w->age = RP_MIN(last - created, 1e11);
  }
  return ok;
}

/*
 * Fills a fresh state, whose last_ms is what stands there if the document has none. *ret_ok: all was as save writes it;
 * else what could be understood was taken, and the rest is as at first. RP_E_NOMEM.
 */
static int read_state(struct affect *a, struct rp__json v, bool *ret_ok)
{
  struct rp__json table = rp__json_get(v, "table");
  bool ok = v.type == RP_JSON_OBJECT && table.n <= RP_EMOTIONS_BYTES;
  if (ok && table.type == RP_JSON_OBJECT && !a->own) {
    int rc = set_table(a, table);
    if (rc) return rc;
  } else {
    rp__feelings_init(&a->now, table_of(a));
    ok = ok && table.type == RP_JSON_NONE;
  }
  ok = rp__json_i64(rp__json_get(v, "last_ms"), &a->last_ms) && ok;
  ok = read_by_emotion(table_of(a), rp__json_get(v, "levels"), a->now.level) && ok;
  ok = read_number(rp__json_get(v, "boredom"), 0, 1, &a->now.boredom) && ok;
  struct rp__json settling = rp__json_get(v, "settling");
  ok = rp__mood_parse(rp__json_get(v, "mood"), &a->now.mood) && ok;
  a->now.coming = a->now.mood;
  if (settling.type != RP_JSON_NONE) {
    ok = rp__mood_parse(rp__json_get(settling, "mood"), &a->now.coming) && ok;
    ok = read_number(rp__json_get(settling, "seconds"), 0, 1, &a->now.coming_seconds) && ok;
  }
  ok = read_wounds(a, rp__json_get(v, "wounds")) && ok;
  a->born = true;
  a->felt = rp__json_get(v, "felt").type != RP_JSON_FALSE;
  rp__feelings_settle(&a->now, table_of(a));
  *ret_ok = ok;
  return 0;
}

static int affect_load(void *state, struct rp__json v, rp_error *err)
{
  bool ok;
  if (read_state(state, v, &ok)) return rp__fail_nomem(err);
  return ok ? 0 : rp__fail_field(err, RP_E_SNAPSHOT_CORRUPT, "affect", "'affect' holds what no snapshot does");
}

/* ---- restarts ------------------------------------------------------------------------ */

/* The agent lived until it went, was away for `elapsed`, and is back now. */
static void come_back(struct affect *a, double elapsed, const struct rp__event *ev)
{
  rp__feelings_live(&a->now, table_of(a), seconds_since(a, ev->at_ms) - elapsed);
  rp__feelings_away(&a->now, table_of(a), elapsed);
  a->last_ms = ev->at_ms;
}

static int affect_age(void *state, double elapsed_seconds, const struct rp__event *ev)
{
  struct affect *a = state;
  if (a->born) come_back(a, elapsed_seconds, ev);
  return 0;
}

static int affect_apply(void *state, const struct rp__event *ev)
{
  struct affect *a = state;
  if (ev->kind == RP_KIND_EMOTION) apply_emotion(a, ev);
  if (ev->kind == RP_KIND_SESSION) {
    struct rp__json settings = rp__event_get(ev, "settings");
    struct rp__json table = rp__json_get(settings, "emotions");
    bool cleared = settings.type == RP_JSON_NULL || table.type == RP_JSON_NULL;
    if (cleared ? !a->own : table.type != RP_JSON_OBJECT || table.n > RP_EMOTIONS_BYTES) return 0;
    be_born(a, ev->at_ms);
    live_until(a, ev->at_ms);
    return set_table(a, table);
  }
  if (ev->kind == RP_KIND_RESTORED) {
    struct rp__json carried = rp__json_get(rp__event_get(ev, "carried"), "affect");
    double elapsed = 0;
    bool ok;
    if (a->felt || carried.type != RP_JSON_OBJECT) return 0;
    read_number(rp__event_get(ev, "elapsed_seconds"), 0, 1e11, &elapsed);
    if (__builtin_sub_overflow(ev->at_ms, (int64_t)(elapsed * 1000), &a->last_ms)) a->last_ms = ev->at_ms;
    int rc = read_state(a, carried, &ok);
    if (rc) return rc;
    come_back(a, elapsed, ev);
    return 0;
  }
  return 0;
}

static bool affect_empty(const void *state)
{
  return !((const struct affect *)state)->born;
}

/* ---- writing --------------------------------------------------------------------------- */

/* Documents for people and models have no rounding errors in them. */
static double rounded(double v)
{
  return v < 1e6 ? (double)(int64_t)(v * 1e9 + .5) / 1e9 : v;
}

static void write_by_emotion(const struct rp__emotions *t, const double *v, bool zeroes, bool show, struct rp__jw *w)
{
  rp__jw_object(w);
  for (size_t i = 0; i < t->n_levels; i++) {
    if (zeroes || v[i] > 0) rp__jw_kdouble(w, t->level[i].name, show ? rounded(v[i]) : v[i]);
  }
  rp__jw_end_object(w);
}

double rp__wound_created(const struct rp__wound *w, int64_t at_ms)
{
  return ((double)at_ms - (double)(int64_t)(w->age * 1000 + .5)) / 1000;
}

static void write_feelings(const struct affect *a, bool show, struct rp__jw *w)
{
  const struct rp__feelings *f = &a->now;
  rp__jw_key(w, "levels");
  write_by_emotion(table_of(a), f->level, true, show, w);
  rp__jw_pack(w, "boredom:d mood:s wounds:[", show ? rounded(f->boredom) : f->boredom, rp__mood_name(f->mood));
  for (size_t i = 0; i < f->n_wounds; i++) {
    const struct rp__wound *wound = &f->wound[i];
    double remaining = rp__wound_remaining(wound);
    rp__jw_pack(w, "{id:s event:s", wound->id, wound->event);
    rp__jw_key(w, "floors");
    write_by_emotion(table_of(a), wound->floor, false, show, w);
    rp__jw_pack(w, "duration:d heal_rate:d created_at:d remaining_fixed_seconds:d healing:b", wound->duration,
                wound->heal_rate, rp__wound_created(wound, a->last_ms), show ? rounded(remaining) : remaining,
                !(remaining > 0));
    if (!show) rp__jw_kdouble(w, "age", wound->age);
    rp__jw_end_object(w);
  }
  rp__jw_end_array(w);
}

static void affect_save(const void *state, struct rp__jw *w)
{
  const struct affect *a = state;
  rp__jw_object(w);
  write_feelings(a, false, w);
  if (a->now.coming != a->now.mood) {
    rp__jw_pack(w, "settling:{mood:s seconds:d}", rp__mood_name(a->now.coming), a->now.coming_seconds);
  }
  rp__jw_ki64(w, "last_ms", a->last_ms);
  if (!a->felt) rp__jw_kbool(w, "felt", false);
  if (a->own) {
    rp__jw_key(w, "table");
    rp__jw_raw(w, a->own->json, a->own->n);
  }
  rp__jw_end_object(w);
}

static void affect_show(const void *state, int64_t now_ms, struct rp__jw *w)
{
  struct affect aged = *(const struct affect *)state; /* the table is borrowed */
  if (now_ms > aged.last_ms) live_until(&aged, now_ms);
  rp__jw_object(w);
  write_feelings(&aged, true, w);
  rp__jw_end_object(w);
}

void rp__affect_write_first(struct rp__jw *w)
{
  struct affect first = {0};
  rp__feelings_init(&first.now, &rp__emotions_default);
  affect_show(&first, 0, w);
}

static void affect_done(void *state)
{
  struct affect *a = state;
  free(a->own);
  a->own = NULL;
}

const struct rp__facet_ops rp__facet_affect = {
    .name = "affect",
    .state_size = sizeof(struct affect),
    .max_bytes = RP_EMOTIONS_BYTES + (RP_WOUNDS_MAX + 1) * WOUND_BYTES,
    .apply = affect_apply,
    .age = affect_age,
    .empty = affect_empty,
    .save = affect_save,
    .show = affect_show,
    .load = affect_load,
    .done = affect_done,
};

/* ---- what the engine asks ------------------------------------------------------------------ */

const struct rp__emotions *rp__emotions_of(const struct rp__fold *f)
{
  const struct affect *a = f ? rp__fold_facet(f, rp__facet_affect.name) : NULL;
  return a ? table_of(a) : &rp__emotions_default;
}

bool rp__affect_at(const struct rp__fold *f, int64_t now_ms, struct rp__feelings *ret, int64_t *ret_ms)
{
  const struct affect *a = f ? rp__fold_facet(f, rp__facet_affect.name) : NULL;
  if (!a || !a->born) return false;
  struct affect aged = *a; /* the table is borrowed */
  if (now_ms > aged.last_ms) live_until(&aged, now_ms);
  *ret = aged.now;
  *ret_ms = aged.last_ms;
  return true;
}

bool rp__emotions_known(const struct rp__fold *f, const char *event)
{
  const struct rp__emotions *t = rp__emotions_of(f);
  return rp__emotion_event_find(t, event) < t->n_events;
}

void rp__emotions_list(const struct rp__fold *f, struct rp__jw *w)
{
  rp__emotions_write_events(rp__emotions_of(f), w);
}
