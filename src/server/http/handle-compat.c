/* SPDX-License-Identifier: Apache-2.0 */
/* The routes that clients of the original programs use (N-18, L-04). */
#include "server/http/handle.h"

/* How the latest run began that the asker may see. */
int rp__handle_api_session(struct rp__http_call *c, rp_error *err)
{
  char scope[RP_ID_MAX + 1];
  char *json = NULL;
  int rc = rp__handle_scope(c, scope, err);
  if (!rc) rc = rp_session_status_json(c->srv->engine, NULL, scope[0] ? scope : NULL, &json, err);
  if (!rc) rp__handle_give(c, json, strlen(json));
  return rc;
}

/* ---- whether a session lives ---- */

struct pulse {
  struct rp__http_call *c;
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
                    info->trashed_at ? "in the trash" : rp_session_status_name(info->status));
  rp__jw_object(w);
  rp__jw_kstr(w, "status", rp_session_status_name(info->status));
  rp__jw_kstr(w, "session_id", info->id);
  rp__jw_end_object(w);
  return 0;
}

int rp__handle_api_ping(struct rp__http_call *c, rp_error *err)
{
  struct pulse x = {c, err};
  char scope[RP_ID_MAX + 1], id[RP_ID_MAX + 1];
  int rc = rp__call_scope(c, scope, err);
  if (!rc) rc = rp_resolve_in(c->srv->engine, scope[0] ? scope : NULL, c->param[0], id, err);
  return rc ? rc : rp_show(c->srv->engine, id, on_session, &x, err);
}
