/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that the handlers share: scopes, keys, acknowledgements, members, documents. */
#include "json/ack.h"
#include "server/http/handle.h"

#include "base/id.h"
#include "base/text.h"

/* ---- who may see what ---- */

int rp__handle_narrow(const struct rp__http_call *c, char scope[RP_ID_MAX + 1], rp_error *err)
{
  if (c->who.who == RP_WHO_SESSION) return rp__fail(err, RP_E_FORBIDDEN, "a session's token opens that session alone");
  if (!c->who.scope[0]) return 0;
  if (scope[0] && strcmp(scope, c->who.scope) != 0)
    return rp__fail_field(err, RP_E_FORBIDDEN, "scope", "the token is for the scope '%s'", c->who.scope);
  memcpy(scope, c->who.scope, sizeof c->who.scope);
  return 0;
}

int rp__handle_scope(struct rp__http_call *c, char scope[RP_ID_MAX + 1], rp_error *err)
{
  scope[0] = 0;
  int rc = rp__call_text(c, "scope", scope, RP_ID_MAX + 1, err);
  if (rc) return rc;
  if (scope[0] && !rp__name_ok(scope))
    return rp__fail_field(err, RP_E_USAGE, "scope", "'%s' can't be a scope's name", rp__text_shown(scope));
  return rp__handle_narrow(c, scope, err);
}

/* ---- reading and answering ---- */

bool rp__handle_wants(const char *kinds, const char *kind)
{
  size_t n = strlen(kind);
  if (!kinds || !*kinds) return true;
  for (const char *p = kinds; *p;) {
    size_t word = strcspn(p, ",");
    if (word == n && memcmp(p, kind, n) == 0) return true;
    p += word + (p[word] == ',');
  }
  return false;
}

int rp__handle_object(const struct rp__http_call *c, const char *const *names, rp_error *err)
{
  if (c->body.type == RP_JSON_NONE) return 0;
  if (c->body.type != RP_JSON_OBJECT)
    return rp__fail_field(err, RP_E_INVALID, "body", "the request's body must be a JSON object");
  return rp__body_known(c->body, names, err);
}

int rp__handle_key(const struct rp__http_call *c, const char **ret, rp_error *err)
{
  const char *key = rp__request_header(c->req, "Idempotency-Key");
  for (const char *p = key; p && *p; p++)
    if (*p < ' ' || *p > '~')
      return rp__fail_field(err, RP_E_USAGE, "Idempotency-Key", "the key must be printable ASCII");
  *ret = key;
  return 0;
}

void rp__handle_ack(struct rp__jw *w, const rp_ack *ack, bool many)
{
  rp__jw_object(w);
  rp__ack_members(w, ack, many);
  rp__jw_end_object(w);
}

void rp__handle_give(struct rp__http_call *c, char *json, size_t n)
{
  rp__buf_done(&c->out);
  c->out = (struct rp__buf){.p = json, .n = n, .cap = n + 1, .max = RP_CALL_OUT_MAX};
}

int rp__trash_session(struct rp__server *srv, struct rp__entry *e, const char *reason, const char *ended, rp_error *err)
{
  const char *id = e->id;
  int rc = rp_trash(srv->engine, id, reason, err);
  char *json = NULL;
  if (rc != RP_E_HELD || rp_session_status_json(srv->engine, id, NULL, &json, NULL)) return rc;
  /* Whether what lives in it is a process, or a client's word of the last seconds. */
  bool owned = rp__json_get(rp__json_trusted(json, strlen(json)), "owned").type != RP_JSON_FALSE;
  rp_free(json);
  if (owned) return rc;
  rc = rp_end(e->s, ended, err);
  return rc ? rc : rp_trash(srv->engine, id, reason, err);
}
