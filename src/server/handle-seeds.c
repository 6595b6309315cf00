/* SPDX-License-Identifier: Apache-2.0 */
/* The routes that the seeds' own clients ask for (N-18, L-04). */
#include <math.h>

#include "server/handle.h"

#define SAMPLES_PER_SECOND 16000 /* N-15: mono */

/* How the latest run began that the asker may see. */
static int latest(struct rp__call *c, char **ret, rp_error *err)
{
  char scope[RP_ID_MAX + 1];
  int rc = rp__handle_scope(c, scope, err);
  return rc ? rc : rp_session_status_json(c->srv->engine, NULL, scope[0] ? scope : NULL, ret, err);
}

int rp__handle_api_session(struct rp__call *c, rp_error *err)
{
  char *json = NULL;
  int rc = latest(c, &json, err);
  if (!rc) rp__handle_give(c, json, strlen(json));
  return rc;
}

/* ---- what is kept for feedback ---- */

struct counts {
  int64_t messages, frames;
  double audio_seconds;
};

static int on_event(void *ctx, const rp_event_info *ev)
{
  struct counts *n = ctx;
  double seconds;
  if (strcmp(ev->kind, "message") == 0) n->messages++;
  if (strcmp(ev->kind, "frame") == 0) n->frames++;
  /* Channels write one of these per stretch of speech; the sound itself is not kept. */
  if (strcmp(ev->kind, "x-audio") == 0 &&
      rp__json_double(rp__json_get(rp__json_trusted(ev->body, ev->body_len), "seconds"), &seconds) && seconds > 0)
    n->audio_seconds += seconds;
  return 0;
}

static int count(struct rp__call *c, const char *json, struct counts *ret, rp_error *err)
{
  char *id RP_AUTOFREE = rp__json_dup(rp__json_get(rp__json_trusted(json, strlen(json)), "session_id"));
  if (!id) return rp__fail_nomem(err);
  int rc = rp__registry_get(c->srv->registry, id, &c->entry, err);
  return rc ? rc : rp_events(rp__call_session(c), 0, 0, on_event, ret, err);
}

int rp__handle_api_feedback_stats(struct rp__call *c, rp_error *err)
{
  struct counts n = {0};
  char *json = NULL;
  int rc = latest(c, &json, err);
  if (!rc) rc = count(c, json, &n, err);
  rp_free(json);
  if (rc && rc != RP_E_SESSION_NOT_FOUND) return rc; /* nothing was started yet: nothing is kept */
  rp__jw_object(&c->w);
  rp__jw_ki64(&c->w, "messages", n.messages);
  rp__jw_ki64(&c->w, "frames", n.frames);
  rp__jw_ki64(&c->w, "audio_samples", llround(n.audio_seconds * SAMPLES_PER_SECOND));
  rp__jw_kdouble(&c->w, "audio_seconds", n.audio_seconds);
  rp__jw_kstr(&c->w, "storage_mode", "journal");
  rp__jw_kstr(&c->w, "s3_bucket", NULL);
  rp__jw_end_object(&c->w);
  return 0;
}

/* ---- whether a session lives ---- */

struct pulse {
  struct rp__call *c;
  rp_error *err;
};

static int on_session(void *ctx, const rp_session_info *info)
{
  const struct pulse *x = ctx;
  struct rp__jw *w = &x->c->w;
  int rc = rp__auth_allows(&x->c->who, RP_RIGHT_READ, info->id, info->scope, rp__birth_of(info), x->err);
  if (rc) return rc;
  if (info->ended_at || info->trashed_at)
    return rp__fail(x->err, RP_E_SESSION_NOT_FOUND, "session %s is over: %s", info->id,
                    info->trashed_at ? "in the trash" : info->status);
  rp__jw_object(w);
  rp__jw_kstr(w, "status", info->status);
  rp__jw_kstr(w, "session_id", info->id);
  rp__jw_end_object(w);
  return 0;
}

int rp__handle_api_ping(struct rp__call *c, rp_error *err)
{
  struct pulse x = {c, err};
  char scope[RP_ID_MAX + 1], id[RP_ID_MAX + 1];
  int rc = rp__call_scope(c, scope, err);
  if (!rc) rc = rp_resolve_in(c->srv->engine, scope[0] ? scope : NULL, c->param[0], id, err);
  return rc ? rc : rp_show(c->srv->engine, id, on_session, &x, err);
}
