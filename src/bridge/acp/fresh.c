/* SPDX-License-Identifier: Apache-2.0 */
/* session/new: the agent begins one and names it; its journal begins here. */
#include "bridge/acp/impl.h"

/* Those that are being begun count too. */
static bool room_for_one(const struct rp__acp *a)
{
  size_t n = a->n_sessions;
  for (const struct rp__call *c = a->client.head; c; c = c->next) n += c->kind == RP_CALL_NEW && !c->s;
  return n < RP_ACP_SESSIONS;
}

void rp__acp_on_new(struct rp__acp *a, const struct rp__msg *m)
{
  struct rp__acp_session *s = NULL;
  rp_error why = {0};
  if (!room_for_one(a)) {
    rp__acp_error(a, RP_ACP_CLIENT, m->r.id, RP_ACP_E_INTERNAL, "too many sessions are open at once", NULL);
    return;
  }
  if (a->continue_id && rp__acp_session_resume(a, a->continue_id, false, &s, &why)) {
    rp__acp_fail(a, m->r.id, &why);
    return;
  }
  struct rp__call *c = rp__calls_add(&a->client, m->r.id, RP_CALL_NEW);
  if (!c) {
    if (s) rp__acp_session_end(s, "not continued");
    rp__acp_error(a, RP_ACP_CLIENT, m->r.id, RP_ACP_E_INTERNAL, "out of memory", NULL);
    return;
  }
  rp__acp_keep(&c->params, m->r.params);
  c->s = s;
  if (s) {
    free(a->continue_id);
    a->continue_id = NULL;
  }
  rp__acp_forward(a, RP_ACP_AGENT, m->line);
}

/* The session of --continue: the agent has a new one, the editor the old one's name. */
static void continued(struct rp__acp_session *s, struct rp__json params)
{
  struct rp__buf out RP_AUTOBUF = RP_BUF(4096);
  struct rp__jw w = RP_JW(&out);
  rp__acp_keep(&s->params, params);
  s->rung = RP_RUNG_NEW;
  rp__acp_owe_history(s);
  s->other_agent = false;
  rp__jw_object(&w);
  rp__jw_kstr(&w, "event", "continued");
  rp__jw_kstr(&w, "rung", rp__rung_names[RP_RUNG_NEW]);
  rp__jw_end_object(&w);
  rp__store_event(s, "x-acp-agent", &out, RP_DISK);
}

static struct rp__acp_session *begun(struct rp__acp *a, struct rp__call *c, struct rp__json sid)
{
  char *name RP_AUTOFREE = rp__json_dup(sid);
  struct rp__acp_session *s = c->s;
  rp_error why = {0};
  bool fresh = !s;
  if (!name || sid.n > RP_ACP_SID || !rp__json_eq(sid, name) || rp__acp_by_agent(a, sid)) return NULL;
  if (fresh) s = rp__acp_session_new(a, name, &why);
  if (!s || !rp__acp_set_agent_sid(s, sid)) {
    rp__acp_log(a, "a session is not recorded: %s", s ? "out of memory" : why.message);
    if (s && fresh) rp__acp_session_free(s);
    return NULL;
  }
  struct rp__json params = {0};
  if (c->params) params = rp__json_trusted(c->params, strlen(c->params));
  s->bound = true;
  rp__acp_move(s, RP_ACP_LIVE);
  s->brief_due = fresh && a->brief;
  if (fresh)
    rp__acp_session_begin(s, params);
  else
    continued(s, params);
  c->s = NULL;
  return s;
}

/* The agent began none: --continue is for the next try. */
static void give_back(struct rp__acp *a, struct rp__call *c)
{
  struct rp__acp_session *s = c->s;
  if (!s) return;
  c->s = NULL;
  if (!a->continue_id) a->continue_id = strdup(s->id);
  rp__acp_session_end(s, "not continued");
}

/* The answer to it, with the editor's name for it, and how the agent got it. */
static void write_continued(struct rp__jw *w, const struct rp__acp_session *s, struct rp__json result)
{
  struct rp__json_iter it = {0};
  struct rp__json key, value;
  rp__jw_object(w);
  while (rp__json_next(result, &it, &key, &value)) {
    if (rp__json_eq(key, "sessionId"))
      rp__jw_kstr(w, "sessionId", s->client_sid);
    else if (!rp__json_eq(key, "_meta"))
      rp__acp_copy_member(w, key, value);
  }
  rp__load_write_meta(w, s, rp__json_get(result, "_meta"));
  rp__jw_end_object(w);
}

void rp__acp_made(struct rp__acp *a, struct rp__call *c, const struct rp__msg *m)
{
  struct rp__buf name RP_AUTOBUF = RP_BUF(8 * RP_ACP_SID), out RP_AUTOBUF = RP_BUF(RP_ACP_LINE);
  struct rp__json sid = rp__json_get(m->r.result, "sessionId");
  struct rp__acp_session *s = m->r.type == RP_RPC_RESULT ? begun(a, c, sid) : NULL;
  if (!s) {
    give_back(a, c);
    rp__acp_forward(a, RP_ACP_CLIENT, m->line);
    return;
  }
  rp__early_release(s);
  rp__acp_learn(s, m->r.result);
  if (s->history_due) {
    struct rp__jw answer = rp__rpc_begin_result(&out, m->r.id);
    write_continued(&answer, s, m->r.result);
    rp__rpc_end(&answer);
    rp__acp_send(a, RP_ACP_CLIENT, &out);
    return;
  }
  if (rp__json_eq(sid, s->client_sid)) {
    rp__acp_forward(a, RP_ACP_CLIENT, m->line);
    return;
  }
  struct rp__jw w = RP_JW(&name);
  rp__jw_str(&w, s->client_sid);
  rp__rpc_splice(&out, m->line, sid, (struct rp__str){name.p, name.n});
  rp__acp_send(a, RP_ACP_CLIENT, &out);
}
