/* SPDX-License-Identifier: Apache-2.0 */
/* An engine over a scratch store, with a clock and helpers for the engine's tests. */
#include "unit/engine/rig.h"

#include "engine/engine.h"

static int64_t rig_wall(void *ctx)
{
  return ((struct rig *)ctx)->wall;
}

static int64_t rig_boot(void *ctx)
{
  return ((struct rig *)ctx)->boot;
}

static void rig_open(struct rig *r)
{
  rp_error err = {0};
  rp_clock clock = {rig_wall, rig_boot, r};
  rp_options o = {.db = r->url, .clock = &clock, .short_lived = true};
  OK(rp_open(&o, &r->e, &err), err);
}

int rig_setup(void **state)
{
  char path[SCRATCH_PATH];
  struct rig *r = calloc(1, sizeof *r);
  if (!r || scratch_make_fast(&r->scratch)) return -1;
  snprintf(r->url, sizeof r->url, "sqlite:%s", scratch_path(&r->scratch, "t.db", path));
  setenv("REPRISE_HOME", r->scratch.dir, 1);
  r->wall = 1800000000000;
  r->boot = 0; /* unknown, as under REPRISE_NOW: tests move the wall clock at will */
  rig_open(r);
  *state = r;
  return 0;
}

int rig_teardown(void **state)
{
  struct rig *r = *state;
  rp_close(r->e);
  scratch_remove(&r->scratch);
  free(r);
  return 0;
}

void rig_reopen(struct rig *r)
{
  rp_close(r->e);
  rig_open(r);
}

rp_engine *rig_counting(struct rig *r, struct rp__fault *plan)
{
  rp_error err = {0};
  char path[SCRATCH_PATH];
  struct rp__store *inner, *store;
  rp_engine *e;
  rp_clock clock = {rig_wall, rig_boot, r};
  rp_options o = {.clock = &clock, .short_lived = true};
  struct rp__store_options so = {.path = scratch_path(&r->scratch, "t.db", path), .short_lived = true, .clock = &clock};
  OK(rp__store_sqlite_open(&so, &inner, &err), err);
  assert_int_equal(rp__store_fault_wrap(inner, plan, &store), 0);
  OK(rp__engine_open_with(&o, store, &e, &err), err);
  return e;
}

rp_session *rig_start(struct rig *r, const char *scope, const char *key, rp_owner_kind owner)
{
  rp_error err = {0};
  rp_session *s;
  rp_start_options o = {.scope = scope, .key = key, .owner = owner};
  OK(rp_start(r->e, &o, &s, &err), err);
  return s;
}

rp_ack rig_say(rp_session *s, const char *text)
{
  rp_error err = {0};
  rp_ack ack;
  struct rp__buf body = RP_BUF(65536);
  struct rp__jw w = RP_JW(&body);
  rp__jw_object(&w);
  rp__jw_kstr(&w, "role", "user");
  rp__jw_kstr(&w, "content", text);
  rp__jw_end_object(&w);
  rp_event ev = {.kind = "message", .body = body.p};
  OK(rp_append(s, &ev, NULL, &ack, &err), err);
  rp__buf_done(&body);
  return ack;
}

char *rig_state(rp_session *s, int64_t at)
{
  rp_error err = {0};
  char *doc;
  OK(rp_state_json(s, at, &doc, &err), err);
  return doc;
}

const char *rig_get(const char *json, const char *path)
{
  static char out[8192];
  struct rp__json v = rp__json_trusted(json, strlen(json));
  char name[64];
  for (size_t n; *path; path += n + (path[n] == '.')) {
    n = strcspn(path, ".");
    snprintf(name, sizeof name, "%.*s", (int)n, path);
    v = rp__json_get(v, name);
  }
  snprintf(out, sizeof out, "%.*s", (int)v.n, v.p ? v.p : "");
  return out;
}

const char *rig_start_get(const rp_session *s, const char *path)
{
  return rig_get(rp_start_json(s), path);
}

void rig_put(rp_session *s, const char *kind, const char *body)
{
  rp_error err = {0};
  rp_event ev = {.kind = kind, .body = body};
  OK(rp_append(s, &ev, NULL, NULL, &err), err);
}

void rig_end(rp_session *s)
{
  rp_error err = {0};
  OK(rp_end(s, NULL, &err), err);
  rp_session_free(s);
}
