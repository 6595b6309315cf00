/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session/load and session/resume, and the session/new of --continue. First the agent gets the session back (ladder.c),
 * then the editor. The history that answers a load is sent in steps, as fast as the editor takes it, and the answer
 * after it.
 */
#include "bridge/acp/session/session.h"

#include "base/utf8.h"
#include "json/text.h"

#define WORDS_MAX 400                    /* of an agent's error that are passed on */
#define REPLAY_BYTES ((size_t)256 << 10) /* the editor has not taken: its replay waits */

void rp__acp_not_found(struct rp__acp *a, struct rp__json id, struct rp__json params, const char *why)
{
  struct rp__buf data RP_AUTOBUF = RP_BUF(16 * RP_ACP_SID);
  struct rp__jw w = RP_JW(&data);
  rp__jw_pack(&w, "{sessionId:v}", rp__json_get(params, "sessionId"));
  rp__acp_error(a, RP_ACP_CLIENT, id, RP_ACP_E_NOT_FOUND, why, data.err ? NULL : data.p);
}

/* ---- a session that only the agent knows ---- */

static struct rp__acp_session *adopt(struct rp__acp *a, struct rp__call *c)
{
  struct rp__json params = rp__call_params(c);
  struct rp__acp_session *s = rp__acp_session_named(a, rp__json_get(params, "sessionId"));
  if (s) rp__acp_session_begin(s, params);
  return s;
}

struct rp__acp_session *rp__acp_adopt_early(struct rp__acp *a, struct rp__json sid)
{
  char *name RP_AUTOFREE = rp__json_dup(sid);
  for (struct rp__call *c = a->client.head; name && c; c = c->next) {
    if (c->kind != RP_CALL_ADOPT || c->s || !rp__json_eq(rp__json_get(rp__call_params(c), "sessionId"), name)) continue;
    c->s = adopt(a, c);
    if (c->s) rp__early_updates_release(c->s);
    return c->s;
  }
  return NULL;
}

void rp__acp_unadopt(struct rp__acp *a, struct rp__call *c)
{
  struct rp__acp_session *s = c->s;
  char id[RP_ID_MAX + 1];
  rp_error why = {0};
  if (!s) return;
  c->s = NULL;
  snprintf(id, sizeof id, "%s", s->id);
  bool stored = s->h != NULL;
  if (stored)
    rp__acp_session_end(s, "not loaded");
  else
    rp__acp_session_free(s); /* nor does one begin now */
  if (stored && rp_purge(a->e, id, true, &why)) rp__acp_log(a, "session %s: %s", id, why.message);
}

void rp__acp_adopted(struct rp__acp *a, struct rp__call *c, const struct rp__msg *m)
{
  struct rp__json result = m->r.result;
  if (m->r.type == RP_RPC_RESULT && (result.type <= RP_JSON_NULL || result.type == RP_JSON_OBJECT)) {
    if (!c->s) c->s = adopt(a, c);
    if (c->s) rp__early_updates_release(c->s);
    if (c->s) rp__settings_begin(c->s, result);
    rp__acp_forward(a, RP_ACP_CLIENT, m->line);
    return;
  }
  char why[WORDS_MAX], *text RP_AUTOFREE = rp__json_dup(rp__json_get(m->r.error, "message"));
  int64_t code = 0;
  rp__acp_unadopt(a, c);
  rp__early_updates_drop(a, rp__json_get(rp__call_params(c), "sessionId"));
  rp__json_i64(rp__json_get(m->r.error, "code"), &code);
  snprintf(why, sizeof why, "there is no such session%s%.300s", text ? ": " : "", text ? text : "");
  /* That it wants to know who asks, or was told to stop, says nothing about the session. */
  if (code == RP_ACP_E_AUTH || code == RP_ACP_E_CANCELLED)
    rp__acp_forward(a, RP_ACP_CLIENT, m->line);
  else
    rp__acp_not_found(a, rp__call_id(c), rp__call_params(c), why);
}

/* ---- one of ours ---- */

static bool begin(struct rp__acp *a, const struct rp__msg *m, struct rp__acp_session *s, bool load)
{
  struct rp__call *c = rp__acp_pend(a, m, RP_CALL_HERE, s);
  if (!c) return false;
  s->asked = c;
  s->wish = load ? RP_WISH_LOAD : RP_WISH_RESUME;
  rp__acp_keep(&s->params, m->r.params);
  rp__restore_begin(s);
  return true;
}

static void load_open(struct rp__acp *a, const struct rp__msg *m, struct rp__acp_session *s, bool load)
{
  rp_error why = {0};
  if (rp__acp_is_restoring(s) || s->asked) {
    rp__waiting_request_add(a, s, m);
    return;
  }
  int fate = s->state == RP_ACP_ENDING ? 0 : rp__acp_journal_outcome(s);
  if (fate == RP_E_SESSION_NOT_FOUND) {
    rp__acp_not_found(a, m->r.id, m->r.params, "there is no such session");
    return;
  }
  if (!fate && s->state == RP_ACP_TAKEN) fate = s->gone;
  if (fate) {                  /* another process had it: its journal is opened again */
    rp__acp_journal_settle(a); /* what was said before counts as lost, not as told by the new run */
    int rc = rp__acp_session_reopen(s, &why);
    if (!rc) rc = rp__known_calls_load(s->h, &s->known, &why);
    if (rc) {
      rp__acp_fail(a, m->r.id, &why);
      return;
    }
    s->gone = 0;
    rp__acp_session_on(s, RP_ON_REOPENED);
    /* One that was only ended is still what the agent has: it stays live. */
    if (fate == RP_E_ENDED && s->bound) rp__acp_session_on(s, RP_ON_NAMED);
  }
  begin(a, m, s, load);
}

/* Open here by another of its names, it goes by this one from here on, unless something of it is under way. */
static struct rp__acp_session *renamed(struct rp__acp *a, const char *name)
{
  struct rp__buf own RP_AUTOBUF = RP_BUF(3 * RP_ACP_SID);
  char id[RP_ID_MAX + 1];
  enum rp__name known = rp__name_find(a, name, id);
  struct rp__acp_session *s = known == RP_NAME_OURS || known == RP_NAME_OTHER ? rp__acp_open_here(a, id) : NULL;
  if (!s || s->state != RP_ACP_LIVE || s->running || s->asked) return NULL;
  rp__utf8_mend(&own, name, strlen(name));
  if (own.err || !own.n) return NULL;
  free(s->client_sid);
  s->client_sid = rp__buf_take(&own);
  return s;
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
  char *name RP_AUTOFREE = rp__json_dup(sid);
  struct rp__acp_session *s = rp__acp_by_client(a, sid);
  if (!s && name) s = renamed(a, name);
  if (s) {
    load_open(a, m, s, load);
    return;
  }
  int rc = name ? rp__acp_session_resume(a, name, true, &s, &why) : rp__fail_nomem(&why);
  if (rc == RP_E_SESSION_NOT_FOUND && (load ? a->caps.load : a->caps.resume)) { /* the agent may know it */
    struct rp__call *c = rp__acp_pass(a, m, RP_CALL_ADOPT, NULL);
    if (c) rp__acp_keep(&c->params, m->r.params);
  } else if (rc == RP_E_SESSION_NOT_FOUND || rc == RP_E_ENDED)
    rp__acp_not_found(a, m->r.id, m->r.params, "there is no such session");
  else if (rc)
    rp__acp_fail(a, m->r.id, &why);
  else if (!begin(a, m, s, load))
    rp__acp_session_end(s, "not loaded");
}

/* ---- --continue ---- */

void rp__load_continue(struct rp__acp *a, const struct rp__msg *m)
{
  struct rp__acp_session *s = a->continuing; /* begun by a session/new whose answer the editor did not wait for */
  rp_error why = {0};
  if (s) {
    load_open(a, m, s, false);
  } else if (rp__acp_session_resume(a, a->o.continue_id, false, &s, &why)) {
    rp__acp_fail(a, m->r.id, &why);
  } else {
    a->continuing = s;
    if (!begin(a, m, s, false)) rp__acp_session_end(s, "not continued");
  }
}

/* ---- the answer ---- */

/* As the agent told them, with the one that is set since then. */
static void write_modes(struct rp__jw *w, const struct rp__acp_session *s, struct rp__json modes)
{
  struct rp__json_iter it = {0};
  struct rp__json key, value, mode = rp__acp_raw(s->settings.mode);
  rp__jw_pack(w, "modes:{");
  while (rp__json_next(modes, &it, &key, &value))
    rp__acp_copy_member(w, key, mode.type && rp__json_eq(key, "currentModeId") ? mode : value);
  rp__jw_end_object(w);
}

/* The agent's own answer; of a new session's the id is left out, and another one's becomes the editor's. */
static void write_agents(struct rp__jw *w, const struct rp__acp_session *s, struct rp__json answer)
{
  struct rp__json_iter it = {0};
  struct rp__json key, value;
  while (rp__json_next(answer, &it, &key, &value)) {
    if (rp__json_eq(key, "_meta")) continue;
    if (rp__json_eq(key, "modes") && value.type == RP_JSON_OBJECT && s->settings.mode)
      write_modes(w, s, value);
    else if (rp__json_eq(key, "configOptions") && s->settings.config)
      rp__acp_copy_member(w, key, rp__acp_raw(s->settings.config));
    else if (!rp__json_eq(key, "sessionId"))
      rp__acp_copy_member(w, key, value);
    else if (s->ladder.rung != RP_RUNG_NEW && s->a->continuing != s)
      rp__jw_kstr(w, "sessionId", s->client_sid);
  }
}

static void answer(struct rp__acp_session *s)
{
  struct rp__buf out RP_AUTOBUF = RP_BUF(RP_ACP_LINE);
  struct rp__json result = rp__acp_raw(s->ladder.answer), key, value;
  struct rp__json_iter it = {0};
  struct rp__jw w = rp__rpc_begin_result(&out, rp__call_id(s->asked));
  rp__jw_object(&w);
  bool continues = s->a->continuing == s;
  if (continues) rp__jw_kstr(&w, "sessionId", s->client_sid);
  if (s->ladder.rung == RP_RUNG_LIVE) { /* nothing was restored: what the agent said before still holds */
    if (s->settings.modes) write_modes(&w, s, rp__acp_raw(s->settings.modes));
    rp__jw_pack(&w, "configOptions:?r", s->settings.config);
  } else {
    write_agents(&w, s, result);
  }
  rp__jw_pack(&w, "_meta:{");
  while (rp__json_next(rp__json_get(result, "_meta"), &it, &key, &value))
    if (!rp__json_eq(key, "reprise")) rp__acp_copy_member(&w, key, value);
  rp__jw_pack(&w, "reprise:{rung:s}}}", rp__rung_names[s->ladder.rung]);
  rp__rpc_end(&w);
  if (continues) { /* only the first: until it is answered the next try continues it */
    s->a->continuing = NULL;
    s->a->o.continue_id = NULL;
  }
  rp__acp_answer(s->a, s->asked, &out);
}

/* ---- the replay ---- */

void rp__load_drop(struct rp__acp_session *s)
{
  rp__replay_free(RP_TAKE(s->replay));
}

static int surrogate(const char *at, const char *end)
{
  int u = end - at >= 6 && at[0] == '\\' && at[1] == 'u' ? rp__json_hex4(at + 2) : -1;
  return u >= 0 && (u & 0xf800) == 0xd800 ? u : -1;
}

/* Escapes of half a surrogate pair become U+FFFD. They passed as they came; but many readers refuse them, and what is
 * told again must be taken by all. */
static void mend_halves(struct rp__buf *line)
{
  char *end = line->p + line->n;
  for (char *p = line->n ? memchr(line->p, '\\', line->n) : NULL; p; p = memchr(p, '\\', (size_t)(end - p))) {
    int u = surrogate(p, end), next = u >= 0 && u < 0xdc00 ? surrogate(p + 6, end) : -1;
    bool pair = next >= 0xdc00;
    if (u >= 0 && !pair) memcpy(p + 2, "fffd", 4);
    p += RP_MIN(pair ? 12 : u >= 0 ? 6 : 2, end - p);
  }
}

static int on_update(void *ctx, const char *update, size_t n)
{
  struct rp__acp_session *s = ctx;
  struct rp__buf out RP_AUTOBUF = RP_BUF(RP_ACP_LINE);
  struct rp__jw w = rp__rpc_begin_request(&out, NULL, "session/update");
  rp__jw_pack(&w, "{sessionId:s update:v}", s->client_sid, rp__json_trusted(update, n));
  rp__rpc_end(&w);
  if (out.err) return out.err;
  mend_halves(&out);
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
    rp__restore_tell(s);
  }
  if (s->state == RP_ACP_LIVE) rp__waiting_request_release(s->a, s);
}

void rp__load_pump(struct rp__acp_session *s)
{
  struct rp__acp *a = s->a;
  rp_error why = {0};
  bool more = true;
  int rc = 0;
  if (!s->replay) return;
  while (!rc && more) {
    if (a->w.backlog(a->w.ctx, RP_ACP_CLIENT) + a->to_client.bytes > REPLAY_BYTES) return;
    rc = rp__replay_step(s->replay, on_update, s, &more, &why);
  }
  if (rc && !why.code) rp__fail(&why, rc, "the history can't be told");
  finish(s, rc, &why);
}

void rp__load_ready(struct rp__acp_session *s)
{
  rp_error why = {0};
  bool load = s->wish == RP_WISH_LOAD && s->h;
  if (!s->asked) return;
  if (load) rp__acp_journal_settle(s->a); /* what was delivered is history, what was not is still to come */
  int rc = load ? rp__replay_new(s->h, s->a->compaction, &s->replay, &why) : 0;
  if (rc || !load)
    finish(s, rc, &why);
  else
    rp__load_pump(s);
}
