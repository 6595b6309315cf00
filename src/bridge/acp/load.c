/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session/load and session/resume: the agent gets the session back (restore.c), then the editor. A load's history goes
 * out in steps, as fast as the editor takes it, and the answer behind it.
 */
#include "bridge/acp/impl.h"

static void not_found(struct rp__acp *a, const struct rp__msg *m)
{
  struct rp__buf data RP_AUTOBUF = RP_BUF(16 * RP_ACP_SID);
  struct rp__jw w = RP_JW(&data);
  rp__jw_object(&w);
  rp__jw_key(&w, "sessionId");
  rp__jw_value(&w, rp__json_get(m->r.params, "sessionId"));
  rp__jw_end_object(&w);
  rp__acp_error(a, RP_ACP_CLIENT, m->r.id, RP_ACP_E_NOT_FOUND, "there is no such session", data.err ? NULL : data.p);
}

/* ---- a session that only the agent knows ---- */

static void unknown(struct rp__acp *a, const struct rp__msg *m, bool load)
{
  if (load ? !a->caps.load : !a->caps.resume) {
    not_found(a, m);
    return;
  }
  struct rp__call *c = rp__calls_add(&a->client, m->r.id, RP_CALL_ADOPT);
  if (!c) {
    rp__acp_error(a, RP_ACP_CLIENT, m->r.id, RP_ACP_E_INTERNAL, "out of memory", NULL);
    return;
  }
  rp__acp_keep(&c->params, m->r.params);
  rp__acp_forward(a, RP_ACP_AGENT, m->line);
}

static struct rp__json params_of(const struct rp__call *c)
{
  return c->params ? rp__json_trusted(c->params, strlen(c->params)) : (struct rp__json){0};
}

static struct rp__acp_session *adopt(struct rp__acp *a, struct rp__call *c)
{
  struct rp__json params = params_of(c), sid = rp__json_get(params, "sessionId");
  char *name RP_AUTOFREE = rp__json_dup(sid);
  rp_error why = {0};
  struct rp__acp_session *s = name ? rp__acp_session_new(a, name, &why) : NULL;
  if (!s) {
    rp__acp_log(a, "a session is not recorded: %s", why.message);
    return NULL;
  }
  if (!rp__acp_set_agent_sid(s, sid)) {
    rp__acp_session_free(s);
    return NULL;
  }
  s->bound = true;
  rp__acp_move(s, RP_ACP_LIVE);
  rp__acp_session_begin(s, params);
  return s;
}

struct rp__acp_session *rp__acp_adopt_early(struct rp__acp *a, struct rp__json sid)
{
  char *name RP_AUTOFREE = rp__json_dup(sid);
  for (struct rp__call *c = a->client.head; name && c; c = c->next) {
    if (c->kind != RP_CALL_ADOPT || c->s || !rp__json_eq(rp__json_get(params_of(c), "sessionId"), name)) continue;
    c->s = adopt(a, c);
    return c->s;
  }
  return NULL;
}

void rp__acp_adopted(struct rp__acp *a, struct rp__call *c, const struct rp__msg *m)
{
  bool ok = m->r.type == RP_RPC_RESULT;
  if (ok && !c->s) c->s = adopt(a, c);
  if (ok && c->s) rp__acp_learn(c->s, m->r.result);
  rp__acp_forward(a, RP_ACP_CLIENT, m->line);
  if (!ok && c->s) {
    struct rp__acp_session *s = c->s;
    c->s = NULL;
    rp__acp_session_end(s, "not loaded");
  }
}

/* ---- one of ours ---- */

static int open_again(struct rp__acp_session *s, rp_error *err)
{
  int rc = rp__acp_session_reopen(s, err);
  if (!rc) rc = rp__book_load(s->h, &s->book, err);
  if (!rc) rp__acp_move(s, RP_ACP_COLD);
  return rc;
}

static bool begin(struct rp__acp *a, const struct rp__msg *m, struct rp__acp_session *s, bool load)
{
  struct rp__call *c = rp__calls_add(&a->client, m->r.id, RP_CALL_KEPT);
  if (!c) {
    rp__acp_error(a, RP_ACP_CLIENT, m->r.id, RP_ACP_E_INTERNAL, "out of memory", NULL);
    return false;
  }
  c->s = s;
  s->asked = c;
  s->replays = load;
  rp__acp_keep(&s->params, m->r.params);
  rp__restore_begin(s);
  return true;
}

static void load_open(struct rp__acp *a, const struct rp__msg *m, struct rp__acp_session *s, bool load)
{
  rp_error why = {0};
  if (s->state == RP_ACP_RESTORING || s->asked) {
    rp__held_add(a, s, m);
    return;
  }
  if (s->state == RP_ACP_TAKEN && open_again(s, &why)) {
    rp__acp_fail(a, m->r.id, &why);
    return;
  }
  begin(a, m, s, load);
}

void rp__acp_on_load(struct rp__acp *a, const struct rp__msg *m)
{
  struct rp__json sid = rp__json_get(m->r.params, "sessionId");
  bool load = rp__json_eq(m->r.method, "session/load");
  rp_error why = {0};
  if (sid.type != RP_JSON_STRING || sid.n > RP_ACP_SID) {
    rp__acp_error(a, RP_ACP_CLIENT, m->r.id, RP_ACP_E_PARAMS, "params.sessionId: must be a string that names a session",
                  NULL);
    return;
  }
  struct rp__acp_session *s = rp__acp_by_client(a, sid);
  if (s) {
    load_open(a, m, s, load);
    return;
  }
  char *name RP_AUTOFREE = rp__json_dup(sid);
  int rc = name ? rp__acp_session_resume(a, name, true, &s, &why) : rp__fail_nomem(&why);
  if (rc == RP_E_SESSION_NOT_FOUND)
    unknown(a, m, load);
  else if (rc == RP_E_ENDED)
    not_found(a, m);
  else if (rc)
    rp__acp_fail(a, m->r.id, &why);
  else if (!begin(a, m, s, load))
    rp__acp_session_end(s, "not loaded");
}

/* ---- the answer ---- */

static void write_modes(struct rp__jw *w, const struct rp__acp_session *s)
{
  struct rp__json_iter it = {0};
  struct rp__json key, value, mode = {0};
  if (s->mode) mode = rp__json_trusted(s->mode, strlen(s->mode));
  rp__jw_key(w, "modes");
  rp__jw_object(w);
  while (rp__json_next(rp__json_trusted(s->modes, strlen(s->modes)), &it, &key, &value))
    rp__acp_copy_member(w, key, mode.type && rp__json_eq(key, "currentModeId") ? mode : value);
  rp__jw_end_object(w);
}

/* Nothing was restored, so nothing was answered: what the agent said before still holds. */
static void write_live(struct rp__jw *w, const struct rp__acp_session *s)
{
  if (s->modes) write_modes(w, s);
  if (!s->config) return;
  rp__jw_key(w, "configOptions");
  rp__jw_raw(w, s->config, strlen(s->config));
}

/* The agent's own answer; of a new session's the id is left out, and another one's becomes the editor's. */
static void write_agents(struct rp__jw *w, const struct rp__acp_session *s, struct rp__json answer)
{
  struct rp__json_iter it = {0};
  struct rp__json key, value;
  while (rp__json_next(answer, &it, &key, &value)) {
    if (rp__json_eq(key, "_meta")) continue;
    if (!rp__json_eq(key, "sessionId"))
      rp__acp_copy_member(w, key, value);
    else if (s->rung != RP_RUNG_NEW)
      rp__jw_kstr(w, "sessionId", s->client_sid);
  }
}

static void write_meta(struct rp__jw *w, const struct rp__acp_session *s, struct rp__json meta)
{
  struct rp__json_iter it = {0};
  struct rp__json key, value;
  rp__jw_key(w, "_meta");
  rp__jw_object(w);
  while (rp__json_next(meta, &it, &key, &value))
    if (!rp__json_eq(key, "reprise")) rp__acp_copy_member(w, key, value);
  rp__jw_key(w, "reprise");
  rp__jw_object(w);
  rp__jw_kstr(w, "rung", rp__rung_names[s->rung]);
  rp__jw_end_object(w);
  rp__jw_end_object(w);
}

static void answer(struct rp__acp_session *s)
{
  struct rp__buf out RP_AUTOBUF = RP_BUF(RP_ACP_LINE);
  struct rp__json result = {0};
  struct rp__jw w = rp__rpc_begin_result(&out, rp__call_id(s->asked));
  if (s->answer) result = rp__json_trusted(s->answer, strlen(s->answer));
  rp__jw_object(&w);
  if (s->rung == RP_RUNG_LIVE)
    write_live(&w, s);
  else
    write_agents(&w, s, result);
  write_meta(&w, s, rp__json_get(result, "_meta"));
  rp__jw_end_object(&w);
  rp__rpc_end(&w);
  rp__acp_answer(s->a, s->asked, &out);
}

/* ---- the replay ---- */

void rp__load_drop(struct rp__acp_session *s)
{
  rp__replay_free(s->replay);
  s->replay = NULL;
}

static int on_update(void *ctx, const char *update, size_t n)
{
  struct rp__acp_session *s = ctx;
  struct rp__buf out RP_AUTOBUF = RP_BUF(RP_ACP_LINE);
  struct rp__jw w = rp__rpc_begin_request(&out, NULL, "session/update");
  rp__jw_object(&w);
  rp__jw_kstr(&w, "sessionId", s->client_sid);
  rp__jw_key(&w, "update");
  rp__jw_raw(&w, update, n);
  rp__jw_end_object(&w);
  rp__rpc_end(&w);
  if (out.err) return out.err;
  rp__acp_send(s->a, RP_ACP_CLIENT, &out);
  return 0;
}

static void finish(struct rp__acp_session *s, int rc, const rp_error *why)
{
  rp__load_drop(s);
  if (s->asked && rc) {
    rp__acp_fail(s->a, rp__call_id(s->asked), why);
    rp__call_free(s->asked);
  } else if (s->asked) {
    answer(s);
  }
  if (s->state == RP_ACP_LIVE) rp__held_release(s->a, s);
}

void rp__load_pump(struct rp__acp_session *s)
{
  struct rp__acp *a = s->a;
  rp_error why = {0};
  bool more = true;
  int rc = 0;
  if (!s->replay) return;
  while (!rc && more) {
    if (a->w.backlog(a->w.ctx, RP_ACP_CLIENT) + a->to_client.bytes > RP_ACP_REPLAY_BYTES) return;
    rc = rp__replay_step(s->replay, on_update, s, &more, &why);
  }
  if (rc && !why.code) rp__fail(&why, rc, "the history can't be told");
  finish(s, rc, &why);
}

void rp__load_ready(struct rp__acp_session *s)
{
  struct rp__replay_options o = {.compaction = s->a->compaction};
  rp_error why = {0};
  if (!s->asked) return;
  if (!s->replays || !s->h) {
    finish(s, 0, NULL);
    return;
  }
  rp__store_settle(s->a); /* what was delivered is history, what was not is still to come */
  int rc = rp__replay_new(s->h, &o, &s->replay, &why);
  if (rc)
    finish(s, rc, &why);
  else
    rp__load_pump(s);
}
