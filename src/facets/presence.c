/* SPDX-License-Identifier: Apache-2.0 */
/* The person who was seen last and when, and whether the agent is awake (N-14). */
#include "facets/presence.h"

#include "base/clock.h"
#include "facets/table.h"

#define NAME_RAW_MAX (6 * RP_EVENT_ID_MAX + 2)

enum sleep { AWAKE, FALLING_ASLEEP, SLEEPING, WAKING_UP, SLEEPS };
static const char *const sleep_names[SLEEPS] = {"awake", "falling_asleep", "sleeping", "waking_up"};

struct presence {
  char *person; /* a JSON string, as it came; NULL: nobody */
  size_t n;
  int64_t person_ms;
  enum sleep sleep;
  bool told; /* whether anything was said of sleep */
};

static bool parse_sleep(struct rp__json v, enum sleep *ret)
{
  size_t i = rp__json_one_of(v, sleep_names, SLEEPS);
  if (i < SLEEPS) *ret = (enum sleep)i;
  return i < SLEEPS;
}

static bool name_ok(struct rp__json v)
{
  return v.type == RP_JSON_STRING && v.n <= NAME_RAW_MAX;
}

static int set_person(struct presence *p, struct rp__json name, int64_t at_ms)
{
  char *copy = malloc(name.n);
  if (!copy) return RP_E_NOMEM;
  memcpy(copy, name.p, name.n);
  free(p->person);
  p->person = copy;
  p->n = name.n;
  p->person_ms = at_ms;
  return 0;
}

static bool presence_empty(const void *state)
{
  const struct presence *p = state;
  return !p->person && !p->told;
}

/* When a person was seen, as this program saves it or as others write it. */
static bool read_time(struct rp__json v, int64_t *ret)
{
  struct rp__json text = rp__json_get(v, "last_person_at");
  if (rp__json_i64(rp__json_get(v, "last_person_at_ms"), ret)) return true;
  return text.type == RP_JSON_STRING && text.n > 2 && rp__time_parse(text.p + 1, text.n - 2, ret) == 0;
}

static int presence_apply(void *state, const struct rp__event *ev)
{
  struct presence *p = state;
  if (ev->kind == RP_KIND_PERSON) {
    struct rp__json name = rp__event_get(ev, "name");
    return name_ok(name) ? set_person(p, name, ev->at_ms) : 0;
  }
  if (ev->kind == RP_KIND_SLEEP && parse_sleep(rp__event_get(ev, "state"), &p->sleep)) p->told = true;
  if (ev->kind == RP_KIND_RESTORED) {
    /* What an earlier session left, as far as it makes sense. */
    struct rp__json carried = rp__json_get(rp__event_get(ev, "carried"), "presence");
    struct rp__json person = rp__json_get(carried, "last_person");
    int64_t at_ms = ev->at_ms;
    if (!presence_empty(p) || carried.type != RP_JSON_OBJECT) return 0;
    p->told = parse_sleep(rp__json_get(carried, "sleep"), &p->sleep);
    read_time(carried, &at_ms);
    return name_ok(person) ? set_person(p, person, at_ms) : 0;
  }
  return 0;
}

static void write_presence(const struct presence *p, bool show, struct rp__jw *w)
{
  rp__jw_object(w);
  rp__jw_key(w, "last_person");
  if (p->person)
    rp__jw_raw(w, p->person, p->n);
  else
    rp__jw_null(w);
  if (show)
    rp__jw_ktime(w, "last_person_at", p->person ? p->person_ms : 0);
  else if (p->person)
    rp__jw_ki64(w, "last_person_at_ms", p->person_ms);
  if (show || p->told) rp__jw_kstr(w, "sleep", sleep_names[p->sleep]);
  rp__jw_end_object(w);
}

static void presence_save(const void *state, struct rp__jw *w)
{
  write_presence(state, false, w);
}

static void presence_show(const void *state, int64_t now_ms, struct rp__jw *w)
{
  (void)now_ms;
  write_presence(state, true, w);
}

static int presence_load(void *state, struct rp__json v, rp_error *err)
{
  struct presence *p = state;
  struct rp__json person = rp__json_get(v, "last_person"), sleep = rp__json_get(v, "sleep");
  int64_t at_ms = 0;
  bool ok = v.type == RP_JSON_OBJECT;
  if (sleep.type != RP_JSON_NONE) ok = (p->told = parse_sleep(sleep, &p->sleep)) && ok;
  if (person.type != RP_JSON_NULL) ok = name_ok(person) && read_time(v, &at_ms) && ok;
  if (!ok) return rp__fail_field(err, RP_E_SNAPSHOT_CORRUPT, "presence", "'presence' holds what no snapshot does");
  if (person.type == RP_JSON_NULL) return 0;
  return set_person(p, person, at_ms) ? rp__fail_nomem(err) : 0;
}

static void presence_done(void *state)
{
  struct presence *p = state;
  free(p->person);
  p->person = NULL;
}

const struct rp__facet_ops rp__facet_presence = {
    .name = "presence",
    .state_size = sizeof(struct presence),
    .max_bytes = NAME_RAW_MAX + 128,
    .apply = presence_apply,
    .empty = presence_empty,
    .save = presence_save,
    .show = presence_show,
    .load = presence_load,
    .done = presence_done,
};

bool rp__presence_person(const struct rp__fold *f, struct rp__json *ret_name, int64_t *ret_ms)
{
  const struct presence *p = f ? rp__fold_facet(f, rp__facet_presence.name) : NULL;
  if (!p || !p->person) return false;
  *ret_name = (struct rp__json){p->person, p->n, RP_JSON_STRING};
  *ret_ms = p->person_ms;
  return true;
}

const char *rp__presence_sleep(const struct rp__fold *f)
{
  const struct presence *p = rp__fold_facet(f, rp__facet_presence.name);
  return sleep_names[p->sleep];
}
