/* SPDX-License-Identifier: Apache-2.0 */
/* Name, settings and metadata of the session, merged from `session` events (C-11); null removes a member. */
#include "facets/settings.h"

#include "facets/merge.h"
#include "facets/table.h"

#define SETTINGS_MAX ((size_t)48 * 1024) /* a table of emotions and lists of cues are among them */
#define META_MAX ((size_t)16 * 1024)

struct settings {
  struct rp__object settings, meta;
  char *name; /* a JSON string, or NULL */
  size_t n;
};

static int set_name(struct settings *s, struct rp__json v)
{
  char *copy = NULL;
  bool taken = v.type == RP_JSON_STRING && v.n <= RP_SESSION_NAME_MAX;
  if (!taken && v.type != RP_JSON_NULL) return 0;
  if (taken) {
    copy = malloc(v.n);
    if (!copy) return RP_E_NOMEM;
    memcpy(copy, v.p, v.n);
  }
  free(s->name);
  s->name = copy;
  s->n = taken ? v.n : 0;
  return 0;
}

static int set_object(struct rp__object *o, struct rp__json v, size_t max)
{
  if (v.type == RP_JSON_NULL) rp__object_done(o);
  return rp__object_merge(o, v, NULL, max);
}

static int settings_apply(void *state, const struct rp__event *ev)
{
  struct settings *s = state;
  if (ev->kind != RP_KIND_SESSION) return 0;
  int rc = set_name(s, rp__event_get(ev, "name"));
  if (rc == 0) rc = set_object(&s->settings, rp__event_get(ev, "settings"), SETTINGS_MAX);
  if (rc == 0) rc = set_object(&s->meta, rp__event_get(ev, "meta"), META_MAX);
  return rc;
}

static bool settings_empty(const void *state)
{
  const struct settings *s = state;
  return !s->name && rp__object_empty(&s->settings) && rp__object_empty(&s->meta);
}

static void write_part(const struct settings *s, struct rp__json meta, struct rp__jw *w)
{
  rp__jw_object(w);
  rp__jw_key(w, "name");
  rp__jw_raw(w, s->name ? s->name : "null", s->name ? s->n : 4);
  rp__jw_pack(w, "settings:v meta:v}", rp__object_json(&s->settings), meta);
}

static void settings_save(const void *state, struct rp__jw *w)
{
  const struct settings *s = state;
  write_part(s, rp__object_json(&s->meta), w);
}

void rp__settings_write(const struct rp__fold *f, struct rp__json meta, struct rp__jw *w)
{
  write_part(rp__fold_facet(f, rp__facet_settings.name), meta, w);
}

struct rp__json rp__settings_name(const struct rp__fold *f)
{
  const struct settings *s = rp__fold_facet(f, rp__facet_settings.name);
  if (settings_empty(s)) return (struct rp__json){0};
  return s->name ? (struct rp__json){s->name, s->n, RP_JSON_STRING} : (struct rp__json){"null", 4, RP_JSON_NULL};
}

struct rp__json rp__setting(const struct rp__fold *f, const char *name)
{
  const struct settings *s = rp__fold_facet(f, rp__facet_settings.name);
  return rp__json_get(rp__object_json(&s->settings), name);
}

static int corrupt(rp_error *err, const char *field)
{
  return rp__fail_field(err, RP_E_SNAPSHOT_CORRUPT, field, "'%s' holds what no snapshot does", field);
}

static int load_object(struct rp__object *o, struct rp__json v, size_t max, const char *field, rp_error *err)
{
  bool ok;
  if (v.type == RP_JSON_OBJECT && rp__json_count(v) == 0) return 0;
  if (rp__object_load(o, v, max, &ok)) return rp__fail_nomem(err);
  return ok ? 0 : corrupt(err, field);
}

static int settings_load(void *state, struct rp__json v, rp_error *err)
{
  struct settings *s = state;
  struct rp__json name = rp__json_get(v, "name");
  if (name.type != RP_JSON_NULL && (name.type != RP_JSON_STRING || name.n > RP_SESSION_NAME_MAX))
    return corrupt(err, "settings.name");
  if (set_name(s, name)) return rp__fail_nomem(err);
  int rc = load_object(&s->settings, rp__json_get(v, "settings"), SETTINGS_MAX, "settings.settings", err);
  return rc ? rc : load_object(&s->meta, rp__json_get(v, "meta"), META_MAX, "settings.meta", err);
}

static void settings_done(void *state)
{
  struct settings *s = state;
  free(s->name);
  s->name = NULL;
  rp__object_done(&s->settings);
  rp__object_done(&s->meta);
}

const struct rp__facet_ops rp__facet_settings = {
    .name = RP_SETTINGS,
    .state_size = sizeof(struct settings),
    .max_bytes = RP_SESSION_NAME_MAX + SETTINGS_MAX + META_MAX + 64,
    .apply = settings_apply,
    .empty = settings_empty,
    .save = settings_save,
    .load = settings_load,
    .done = settings_done,
};
