/* SPDX-License-Identifier: Apache-2.0 */
/* POST /v1/sessions: the members of the body are the options of `reprise start`. */
#include <limits.h>

#include "server/http/handle.h"
#include "base/enum-words.h"

#define TOPICS_MAX 65536

static const char *const members[] = {"scope",  "key",      "id",   "channel", "mode", "owner",
                                      "topics", "provider", "meta", "force",   NULL};

struct wish {
  char *scope, *key, *id, *channel, *mode, *provider, *meta, *topics;
  rp_start_options o;
};

static void wish_done(struct wish *x)
{
  char *all[] = {x->scope, x->key, x->id, x->channel, x->mode, x->provider, x->meta, x->topics};
  for (size_t i = 0; i < RP_ARRAY_SIZE(all); i++) free(all[i]);
}

/* ---- reading ---- */

/* One text with commas, or an array of texts. */
static int read_topics(struct rp__json body, struct wish *x, rp_error *err)
{
  struct rp__buf out RP_AUTOBUF = RP_BUF(TOPICS_MAX);
  struct rp__json v = rp__json_get(body, "topics"), topic;
  struct rp__json_iter it = {0};
  if (v.type != RP_JSON_ARRAY) return rp__body_text(body, "topics", &x->topics, err);
  while (rp__json_next(v, &it, NULL, &topic)) {
    if (out.n) rp__buf_char(&out, ',');
    if (rp__json_text(topic, &out) == RP_E_INVALID || (out.n && memchr(out.p, 0, out.n)))
      return rp__fail_field(err, RP_E_INVALID, "topics", "'topics' must be a string or an array of strings");
  }
  if (out.err == RP_E_TOO_LARGE) return rp__fail_field(err, RP_E_INVALID, "topics", "'topics' is too long");
  x->topics = rp__buf_take(&out);
  return x->topics ? 0 : rp__fail_nomem(err);
}

static int wish_read(struct rp__http_call *c, struct wish *x, rp_error *err)
{
  const struct {
    const char *name;
    char **ret;
  } texts[] = {{"scope", &x->scope},     {"key", &x->key},   {"id", &x->id},
               {"channel", &x->channel}, {"mode", &x->mode}, {"provider", &x->provider}};
  struct rp__json meta = rp__json_get(c->body, "meta");
  int64_t pid = 0;
  int rc = rp__handle_object(c, members, err);
  for (size_t i = 0; !rc && i < RP_ARRAY_SIZE(texts); i++)
    rc = rp__body_text(c->body, texts[i].name, texts[i].ret, err);
  if (!rc) rc = rp__body_bool(c->body, "force", &x->o.force, err);
  if (!rc) rc = read_topics(c->body, x, err);
  if (rc) return rc;
  if (meta.type == RP_JSON_OBJECT && !(x->meta = strndup(meta.p, meta.n))) return rp__fail_nomem(err);
  if (meta.type != RP_JSON_OBJECT && meta.type != RP_JSON_NONE && meta.type != RP_JSON_NULL)
    return rp__fail_field(err, RP_E_INVALID, "meta", "'meta' must be an object");
  int mode = x->mode ? rp__word_find(rp__mode_words, rp__str(x->mode)) : RP_MODE_AUTO;
  if (mode < 0) return rp__fail_field(err, RP_E_INVALID, "mode", "'mode' must be auto, resume or successor");
  rc = rp__body_i64(c->body, "owner", &pid, err);
  if (rc) return rc;
  if (pid < 0 || pid > INT_MAX) return rp__fail_field(err, RP_E_INVALID, "owner", "'owner' must be a process id");
  /* Which processes run here is nobody's business elsewhere. */
  if (pid && !rp__request_is_local(c->req))
    return rp__fail_field(err, RP_E_FORBIDDEN, "owner", "only a client on the same machine can name an owner");
  x->o.mode = (rp_mode)mode;
  x->o.owner = pid ? RP_OWNER_PID : RP_OWNER_NONE;
  x->o.owner_pid = pid;
  if (!x->scope) return rp__fail_field(err, RP_E_INVALID, "scope", "'scope' is missing: whose session it is");
  x->o.scope = x->scope;
  x->o.key = x->key;
  x->o.id = x->id;
  /* Without one it counts as "cli": nobody is expected to stay connected, and it may rest for days (L-09). */
  x->o.channel = x->channel;
  x->o.provider = x->provider;
  x->o.meta = x->meta;
  x->o.topics = x->topics;
  return 0;
}

/* ---- answering ---- */

int rp__handle_start(struct rp__http_call *c, rp_error *err)
{
  struct wish x RP_CLEANUP(wish_done) = {0};
  struct rp__str body = rp__request_body(c->req);
  rp_request request = {.bytes = body.p, .n = body.n};
  rp_session *s;
  int rc = wish_read(c, &x, err);
  if (!rc) {
    char scope[RP_ID_MAX + 1];
    snprintf(scope, sizeof scope, "%s", x.scope);
    rc = rp__handle_narrow(c, scope, err);
  }
  if (!rc) rc = rp__handle_key(c, &request.key, err);
  if (rc) return rc;
  if (request.key) x.o.request = &request;
  rc = rp_start(c->srv->engine, &x.o, &s, err);
  /* What the engine calls a bad argument is here a bad member of the body. */
  if (rc) {
    if (rc != RP_E_USAGE && rc != RP_E_JSON) return rc;
    if (!err->field[0] && strncmp(err->message, "owner ", 6) == 0) snprintf(err->field, sizeof err->field, "owner");
    return err->code = RP_E_INVALID;
  }
  rp__birth birth = RP_BIRTH_ANY;
  rc = rp__birth_find(c->srv->engine, rp_session_id(s), &birth, err);
  if (!rc) {
    char token[RP_SESSION_TOKEN_TEXT];
    const char *id = rp_session_id(s), *json = rp_start_json(s);
    struct rp__json doc = rp__json_trusted(json, strlen(json)), resumed = rp__json_get(doc, "resumed");
    rp__auth_session_token(c->srv->auth, id, birth, token);
    rp__jw_object(&c->w);
    struct rp__json_iter it = {0};
    for (struct rp__json key, value; rp__json_next(doc, &it, &key, &value);) {
      char name[64]; /* our own members have short, plain names */
      snprintf(name, sizeof name, "%.*s", (int)RP_MIN(key.n, sizeof name - 1), key.p);
      rp__jw_kvalue(&c->w, name, value);
    }
    rp__jw_kstr(&c->w, "token", token);
    rp__jw_end_object(&c->w);
    c->status = resumed.type == RP_JSON_TRUE ? 200 : 201;
    snprintf(c->header_text, sizeof c->header_text, "/v1/sessions/%s", id);
    if (c->status == 201) c->header = (struct rp__header){"Location", c->header_text};
  }
  /* Handles kept from before may be of a session that was deleted, or that had ended. */
  rp__registry_forget(c->srv->registry, rp_session_id(s));
  /* The run outlives this request: its owner or its heartbeats keep it. */
  rp_session_detach(s);
  return rc;
}
