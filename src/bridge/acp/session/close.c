/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session/close and session/delete. An agent that supports the request is asked. For any other agent the turn is
 * cancelled, and the proxy waits for the end of the turn. A closed session stays in the journal; a deleted one goes to
 * the trash.
 */
#include "bridge/acp/session/session.h"

/*
 * 0 also when there is none: then it is as deleted as it can be. As a name of itself its id outlasts the trash: the
 * agent may still list it.
 */
static int trash(struct rp__acp *a, const char *id, rp_error *err)
{
  int rc = rp_name_put(a->e, id, id, err);
  if (!rc) rc = rp_trash(a->e, id, "deleted in the editor", err);
  return rc == RP_E_SESSION_NOT_FOUND ? 0 : rc;
}

static bool is_not_found(const struct rp__msg *m)
{
  int64_t code = 0;
  rp__json_i64(rp__json_get(m->r.error, "code"), &code);
  return code == RP_ACP_E_NOT_FOUND;
}

/* ---- without the agent's help ---- */

/* An agent that waits for a permission would wait for ever: it is refused, and the editor's answer goes nowhere. */
static void refuse_permission(struct rp__acp_session *s, struct rp__call *c)
{
  struct rp__buf out RP_AUTOBUF = RP_BUF(RP_ACP_LINE);
  struct rp__acp_events events RP_AUTOEVENTS = RP_ACP_EVENTS;
  struct rp__json id = c->agent_id ? rp__acp_raw(c->agent_id) : rp__call_id(c), none = {0};
  struct rp__jw w = rp__rpc_begin_result(&out, id);
  rp__jw_pack(&w, "{outcome:{outcome:s}}", "cancelled");
  rp__rpc_end(&w);
  c->kind = RP_CALL_DEAD;
  if (out.err) return;
  struct rp__json result = rp__json_get(rp__json_trusted(out.p, out.n), "result");
  int rc = rp__acp_event_answer(&s->known, id, c->method, result, none, &events, NULL);
  rp__acp_journal_line(s, rc, &events, &s->a->to_agent, (struct rp__str){out.p, out.n});
}

/* Prompts whose agent did not end them in time. */
static void cut_turns(struct rp__acp_session *s)
{
  for (struct rp__call *c = s->a->client.head; c; c = c->next) {
    if (c->kind != RP_CALL_PROMPT || c->s != s) continue;
    rp__acp_answer_empty(s->a, rp__call_id(c), "cancelled");
    c->kind = RP_CALL_DEAD; /* the agent may still answer */
    c->s = NULL;
  }
  s->running = 0;
}

/* ---- the agent's own, after ours ---- */

static void on_removed(struct rp__acp *a, struct rp__call *c, const struct rp__msg *m)
{
  (void)m; /* it is out of our list; whether the agent knew it is no concern of the editor's */
  if (!c->peer) return;
  rp__acp_answer_empty(a, rp__call_id(c->peer), NULL);
  rp__call_free(c->peer);
}

void rp__close_go_on(struct rp__acp_session *s, bool late)
{
  struct rp__buf params RP_AUTOBUF = RP_BUF(RP_ACP_LINE);
  struct rp__jw w = RP_JW(&params);
  struct rp__acp *a = s->a;
  struct rp__call *c = RP_TAKE(s->asked), *own = NULL;
  char id[RP_ID_MAX + 1];
  bool remove = s->wish == RP_WISH_DELETE;
  char *agent_sid RP_AUTOFREE = remove && s->bound ? RP_TAKE(s->agent_sid) : NULL;
  rp_error why = {0};
  if (late) cut_turns(s);
  s->end_by = 0;
  if (c) c->s = NULL;
  snprintf(id, sizeof id, "%s", s->id);
  rp__acp_session_end(s, remove ? "deleted" : "closed");
  int rc = remove ? trash(a, id, &why) : 0;
  if (!c) return;
  /* An agent that can is asked to delete its own too, and then the editor has its answer. */
  rp__jw_pack(&w, "{sessionId:s}", agent_sid);
  if (!rc && agent_sid && a->caps.remove && a->agent_state == RP_AGENT_UP)
    own = rp__acp_ask(a, "session/delete", rp__acp_written(&params), NULL, RP_ACP_CLOSE_MS, on_removed);
  if (own) {
    own->peer = c;
    c->peer = own;
    return;
  }
  if (rc)
    rp__acp_fail(a, rp__call_id(c), &why);
  else
    rp__acp_answer_empty(a, rp__call_id(c), NULL);
  rp__call_free(c);
}

static void end_here(struct rp__acp_session *s, const struct rp__msg *m, enum rp__acp_wish wish)
{
  struct rp__buf out RP_AUTOBUF = RP_BUF(RP_ACP_LINE);
  struct rp__acp *a = s->a;
  struct rp__call *c = rp__acp_pend(a, m, RP_CALL_HERE, s);
  if (!c) return;
  if (rp__acp_session_on(s, RP_ON_END) != RP_DO_NOTHING) {
    c->s = NULL;
    rp__acp_answer_error(a, c, RP_ACP_E_INTERNAL, "the session is being closed already", NULL);
    return;
  }
  s->asked = c;
  s->wish = wish;
  if (!s->running || !s->bound) {
    rp__close_go_on(s, false);
    return;
  }
  struct rp__jw w = rp__rpc_begin_request(&out, NULL, "session/cancel");
  rp__jw_pack(&w, "{sessionId:s}", s->agent_sid);
  rp__rpc_end(&w);
  rp__acp_send(a, RP_ACP_AGENT, &out);
  for (c = a->agent.head; c; c = c->next)
    if (c->s == s && c->kind != RP_CALL_DEAD && c->method && strcmp(c->method, "session/request_permission") == 0)
      refuse_permission(s, c);
  s->end_by = rp__acp_now(a) + RP_ACP_CLOSE_MS;
}

/* ---- by the agent ---- */

void rp__acp_closed(struct rp__acp *a, struct rp__call *c, const struct rp__msg *m)
{
  struct rp__acp_session *s = RP_TAKE(c->s);
  bool good = m->r.type == RP_RPC_RESULT, gone = good || is_not_found(m);
  if (s && gone) {
    cut_turns(s);
    rp__acp_session_end(s, "closed");
  }
  if (s && gone && !good)
    rp__acp_answer_empty(a, rp__call_id(c), NULL);
  else
    rp__acp_forward(a, RP_ACP_CLIENT, m->line);
}

/* A session that is not open here: it is in the journal, or only the agent may know it. */
bool rp__acp_in_journal(struct rp__acp *a, struct rp__json sid, char id[RP_SCOPE_MAX + 1])
{
  char *name RP_AUTOFREE = rp__json_dup(sid);
  enum rp__name known = name ? rp__name_find(a, name, id) : RP_NAME_FREE;
  return known == RP_NAME_OURS || known == RP_NAME_OTHER;
}

/* The session that a close or a delete is about. False: the request was answered, or waits. */
static bool find(struct rp__acp *a, const struct rp__msg *m, struct rp__acp_session **ret)
{
  struct rp__json sid = rp__json_get(m->r.params, "sessionId");
  struct rp__acp_session *s = *ret = rp__acp_by_client(a, sid);
  if (sid.type != RP_JSON_STRING)
    rp__acp_error(a, RP_ACP_CLIENT, m->r.id, RP_ACP_E_PARAMS, "params.sessionId: must be a string", NULL);
  else if (s && (rp__acp_is_restoring(s) || s->asked))
    rp__waiting_request_add(a, s, m);
  else
    return true;
  return false;
}

void rp__acp_on_close(struct rp__acp *a, const struct rp__msg *m)
{
  struct rp__acp_session *s;
  char id[RP_SCOPE_MAX + 1];
  if (!find(a, m, &s)) return;
  if (s && s->bound && a->caps.close && s->state == RP_ACP_LIVE)
    rp__acp_pass(a, m, RP_CALL_CLOSE, s);
  else if (s)
    end_here(s, m, RP_WISH_CLOSE);
  else if (a->caps.close)
    rp__acp_pass(a, m, RP_CALL_PLAIN, NULL);
  else if (rp__acp_in_journal(a, rp__json_get(m->r.params, "sessionId"), id))
    rp__acp_answer_empty(a, m->r.id, NULL);
  else
    rp__acp_not_found(a, m->r.id, m->r.params, "there is no such session");
}

/* Of a session that only the agent knows nothing could go to the trash: its id is remembered. */
static void remember_deleted(struct rp__acp *a, struct rp__json sid)
{
  char *name RP_AUTOFREE = rp__json_dup(sid);
  if (name && sid.n <= RP_ACP_SID && (a->caps.list || a->caps.load || a->caps.resume)) rp__name_put(a, name, NULL);
}

void rp__acp_deleted(struct rp__acp *a, struct rp__call *c, const struct rp__msg *m)
{
  bool good = m->r.type == RP_RPC_RESULT;
  if (good && c->params) remember_deleted(a, rp__call_params(c));
  /* It is out of our list; whether the agent knew it is no concern of the editor's. */
  if (!good && (c->ours || is_not_found(m)))
    rp__acp_answer_empty(a, rp__call_id(c), NULL);
  else
    rp__acp_forward(a, RP_ACP_CLIENT, m->line);
}

/* The journal's session is deleted first; then the agent's own, where it can. */
void rp__acp_on_delete(struct rp__acp *a, const struct rp__msg *m)
{
  struct rp__buf room RP_AUTOBUF = RP_BUF(RP_ACP_LINE);
  struct rp__json sid = rp__json_get(m->r.params, "sessionId");
  struct rp__acp_session *s;
  char id[RP_SCOPE_MAX + 1];
  rp_error why = {0};
  if (!find(a, m, &s)) return;
  if (s && s->running) {
    end_here(s, m, RP_WISH_DELETE);
    return;
  }
  struct rp__str line = s ? rp__acp_map(m, s->client_sid, s->agent_sid, &room) : m->line;
  bool ours = s || rp__acp_in_journal(a, sid, id);
  if (s) {
    snprintf(id, sizeof id, "%s", s->id);
    rp__acp_session_end(s, "deleted");
  }
  if (ours && trash(a, id, &why)) {
    rp__acp_fail(a, m->r.id, &why);
    return;
  }
  struct rp__call *c = a->caps.remove ? rp__calls_add(&a->client, m->r.id, RP_CALL_DELETE) : NULL;
  if (!c) {
    if (!ours) remember_deleted(a, sid);
    rp__acp_answer_empty(a, m->r.id, NULL);
    return;
  }
  c->ours = ours;
  if (!ours) rp__acp_keep(&c->params, sid);
  rp__acp_forward(a, RP_ACP_AGENT, line);
}
