/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session/close and session/delete. An agent that can is asked; for one that can't, the turn is cancelled and waited
 * for. What is closed stays in the journal; what is deleted goes to the trash.
 */
#include "bridge/acp/impl.h"

static void write_empty(struct rp__acp *a, struct rp__json id)
{
  struct rp__buf out RP_AUTOBUF = RP_BUF(RP_ACP_LINE);
  struct rp__jw w = rp__rpc_begin_result(&out, id);
  rp__jw_object(&w);
  rp__jw_end_object(&w);
  rp__rpc_end(&w);
  rp__acp_send(a, RP_ACP_CLIENT, &out);
}

static void write_cancelled(struct rp__acp *a, struct rp__json id)
{
  struct rp__buf out RP_AUTOBUF = RP_BUF(RP_ACP_LINE);
  struct rp__jw w = rp__rpc_begin_result(&out, id);
  rp__jw_object(&w);
  rp__jw_kstr(&w, "stopReason", "cancelled");
  rp__jw_end_object(&w);
  rp__rpc_end(&w);
  rp__acp_send(a, RP_ACP_CLIENT, &out);
}

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

/* ---- without the agent's help ---- */

static void send_cancel(struct rp__acp_session *s)
{
  struct rp__buf out RP_AUTOBUF = RP_BUF(RP_ACP_LINE);
  struct rp__jw w = rp__rpc_begin_request(&out, NULL, "session/cancel");
  rp__jw_object(&w);
  rp__jw_kstr(&w, "sessionId", s->agent_sid);
  rp__jw_end_object(&w);
  rp__rpc_end(&w);
  rp__acp_send(s->a, RP_ACP_AGENT, &out);
}

/* An agent that waits for a permission would wait for ever: it is refused, and the editor's answer goes nowhere. */
static void refuse_permission(struct rp__acp_session *s, struct rp__call *c)
{
  struct rp__buf out RP_AUTOBUF = RP_BUF(RP_ACP_LINE);
  struct rp__notes notes RP_CLEANUP(rp__notes_done);
  struct rp__json id = c->agent_id ? rp__json_trusted(c->agent_id, strlen(c->agent_id)) : rp__call_id(c), none = {0};
  struct rp__jw w = rp__rpc_begin_result(&out, id);
  rp__notes_init(&notes);
  rp__jw_object(&w);
  rp__jw_key(&w, "outcome");
  rp__jw_object(&w);
  rp__jw_kstr(&w, "outcome", "cancelled");
  rp__jw_end_object(&w);
  rp__jw_end_object(&w);
  rp__rpc_end(&w);
  c->kind = RP_CALL_DEAD;
  if (out.err) return;
  struct rp__json result = rp__json_get(rp__json_trusted(out.p, out.n), "result");
  if (!rp__note_answer(&s->book, id, c->method, result, none, &notes, NULL))
    rp__store_put(s, &notes, &s->a->to_agent, (struct rp__str){out.p, out.n});
  else
    rp__acp_send(s->a, RP_ACP_AGENT, &out);
}

static void cancel_turn(struct rp__acp_session *s)
{
  send_cancel(s);
  for (struct rp__call *c = s->a->agent.head; c; c = c->next)
    if (c->s == s && c->kind != RP_CALL_DEAD && c->method && strcmp(c->method, "session/request_permission") == 0)
      refuse_permission(s, c);
  s->end_by = rp__acp_now(s->a) + RP_ACP_CLOSE_MS;
}

/* Prompts whose agent did not end them in time. */
static void cut_turns(struct rp__acp_session *s)
{
  struct rp__acp *a = s->a;
  for (struct rp__call *c = a->client.head, *next; c; c = next) {
    next = c->next;
    if (c->kind != RP_CALL_PROMPT || c->s != s) continue;
    write_cancelled(a, rp__call_id(c));
    c->kind = RP_CALL_DEAD; /* the agent may still answer */
    c->s = NULL;
  }
  s->running = 0;
}

/* ---- the agent's own, after ours ---- */

static void on_removed(struct rp__acp *a, struct rp__call *c, const struct rp__msg *m)
{
  struct rp__call *asked = c->peer;
  (void)m; /* it is out of our list; whether the agent knew it is no concern of the editor's */
  if (!asked) return;
  write_empty(a, rp__call_id(asked));
  rp__call_free(asked);
}

/* Asks an agent that can to delete its own too, then answers. False: it can't. */
static bool remove_at_agent(struct rp__acp *a, struct rp__call *asked, const char *agent_sid)
{
  struct rp__buf out RP_AUTOBUF = RP_BUF(RP_ACP_LINE);
  struct rp__jw w;
  if (!agent_sid || !a->caps.remove || a->agent_state != RP_AGENT_UP) return false;
  struct rp__call *c = rp__acp_ask(a, "session/delete", NULL, RP_ACP_CLOSE_MS, on_removed, &out, &w);
  if (!c) return false;
  c->peer = asked;
  asked->peer = c;
  rp__jw_object(&w);
  rp__jw_kstr(&w, "sessionId", agent_sid);
  rp__jw_end_object(&w);
  rp__acp_asked(a, c, &out, &w);
  return true;
}

void rp__close_go_on(struct rp__acp_session *s, bool late)
{
  struct rp__acp *a = s->a;
  struct rp__call *c = s->asked;
  char id[RP_ID_MAX + 1];
  char *agent_sid RP_AUTOFREE = s->remove && s->bound ? RP_TAKE(s->agent_sid) : NULL;
  bool remove = s->remove;
  rp_error why = {0};
  int rc = 0;
  if (late) cut_turns(s);
  s->end_by = 0;
  s->asked = NULL;
  if (c) c->s = NULL;
  snprintf(id, sizeof id, "%s", s->id);
  rp__acp_session_end(s, remove ? "deleted" : "closed");
  if (remove) rc = trash(a, id, &why);
  if (!c || (!rc && remove_at_agent(a, c, agent_sid))) return;
  if (rc)
    rp__acp_fail(a, rp__call_id(c), &why);
  else
    write_empty(a, rp__call_id(c));
  rp__call_free(c);
}

static void end_here(struct rp__acp_session *s, const struct rp__msg *m, bool remove)
{
  struct rp__acp *a = s->a;
  struct rp__call *c = rp__calls_add(&a->client, m->r.id, RP_CALL_KEPT);
  if (!c || !rp__acp_move(s, RP_ACP_ENDING)) {
    rp__call_free(c);
    rp__acp_error(a, RP_ACP_CLIENT, m->r.id, RP_ACP_E_INTERNAL, "the session is being closed already", NULL);
    return;
  }
  c->s = s;
  s->asked = c;
  s->remove = remove;
  if (s->running && s->bound)
    cancel_turn(s);
  else
    rp__close_go_on(s, false);
}

/* ---- by the agent ---- */

static void pass(struct rp__acp *a, const struct rp__msg *m, enum rp__call_kind kind, struct rp__acp_session *s)
{
  struct rp__buf room RP_AUTOBUF = RP_BUF(RP_ACP_LINE);
  struct rp__call *c = rp__calls_add(&a->client, m->r.id, kind);
  if (!c) {
    rp__acp_error(a, RP_ACP_CLIENT, m->r.id, RP_ACP_E_INTERNAL, "out of memory", NULL);
    return;
  }
  c->s = s;
  rp__acp_forward(a, RP_ACP_AGENT, s ? rp__acp_map(m, s->client_sid, s->agent_sid, &room) : m->line);
}

void rp__acp_closed(struct rp__acp *a, struct rp__call *c, const struct rp__msg *m)
{
  struct rp__acp_session *s = c->s;
  int64_t code = 0;
  rp__json_i64(rp__json_get(m->r.error, "code"), &code);
  bool gone = m->r.type == RP_RPC_RESULT || code == RP_ACP_E_NOT_FOUND;
  c->s = NULL;
  if (s && gone) {
    cut_turns(s);
    rp__acp_session_end(s, "closed");
  }
  if (s && m->r.type != RP_RPC_RESULT && gone)
    write_empty(a, rp__call_id(c));
  else
    rp__acp_forward(a, RP_ACP_CLIENT, m->line);
}

/* A session that is not open here: it is in the journal, or only the agent may know it. */
bool rp__acp_in_journal(struct rp__acp *a, struct rp__json sid, char id[RP_SCOPE_MAX + 1])
{
  char *name RP_AUTOFREE = rp__json_dup(sid);
  if (!name) return false;
  enum rp__name known = rp__name_find(a, name, id);
  return known == RP_NAME_OURS || known == RP_NAME_OTHER;
}

void rp__acp_on_close(struct rp__acp *a, const struct rp__msg *m)
{
  struct rp__json sid = rp__json_get(m->r.params, "sessionId");
  struct rp__acp_session *s = rp__acp_by_client(a, sid);
  char id[RP_SCOPE_MAX + 1];
  if (sid.type != RP_JSON_STRING) {
    rp__acp_error(a, RP_ACP_CLIENT, m->r.id, RP_ACP_E_PARAMS, "params.sessionId: must be a string", NULL);
  } else if (s && (s->state == RP_ACP_RESTORING || s->asked)) {
    rp__held_add(a, s, m);
  } else if (s && s->bound && a->caps.close && s->state == RP_ACP_LIVE) {
    pass(a, m, RP_CALL_CLOSE, s);
  } else if (s) {
    end_here(s, m, false);
  } else if (a->caps.close) {
    pass(a, m, RP_CALL_PLAIN, NULL);
  } else if (rp__acp_in_journal(a, sid, id)) {
    write_empty(a, m->r.id);
  } else {
    rp__acp_not_found(a, m->r.id, m->r.params, "there is no such session");
  }
}

/* Of a session that only the agent knows nothing could go to the trash: its id is remembered. */
static void bury(struct rp__acp *a, struct rp__json sid)
{
  char *name RP_AUTOFREE = rp__json_dup(sid);
  if (name && sid.n <= RP_ACP_SID && (a->caps.list || a->caps.load || a->caps.resume)) rp__name_put(a, name, NULL);
}

void rp__acp_deleted(struct rp__acp *a, struct rp__call *c, const struct rp__msg *m)
{
  if (m->r.type == RP_RPC_RESULT) {
    if (c->params) bury(a, rp__json_trusted(c->params, strlen(c->params)));
    rp__acp_forward(a, RP_ACP_CLIENT, m->line);
    return;
  }
  /* It is out of our list; whether the agent knew it is no concern of the editor's. */
  int64_t code = 0;
  rp__json_i64(rp__json_get(m->r.error, "code"), &code);
  if (c->ours || code == RP_ACP_E_NOT_FOUND)
    write_empty(a, rp__call_id(c));
  else
    rp__acp_forward(a, RP_ACP_CLIENT, m->line);
}

/* What we have goes first; then the agent's own, where it can. */
static void delete_idle(struct rp__acp *a, const struct rp__msg *m, struct rp__acp_session *s)
{
  struct rp__buf room RP_AUTOBUF = RP_BUF(RP_ACP_LINE);
  char id[RP_SCOPE_MAX + 1];
  rp_error why = {0};
  struct rp__str line = s ? rp__acp_map(m, s->client_sid, s->agent_sid, &room) : m->line;
  bool ours = s || rp__acp_in_journal(a, rp__json_get(m->r.params, "sessionId"), id);
  if (s) {
    snprintf(id, sizeof id, "%s", s->id);
    rp__acp_session_end(s, "deleted");
  }
  if (ours && trash(a, id, &why)) {
    rp__acp_fail(a, m->r.id, &why);
    return;
  }
  struct rp__json sid = rp__json_get(m->r.params, "sessionId");
  struct rp__call *c = a->caps.remove ? rp__calls_add(&a->client, m->r.id, RP_CALL_DELETE) : NULL;
  if (!c) {
    if (!ours) bury(a, sid);
    write_empty(a, m->r.id);
    return;
  }
  c->ours = ours;
  if (!ours) rp__acp_keep(&c->params, sid);
  rp__acp_forward(a, RP_ACP_AGENT, line);
}

void rp__acp_on_delete(struct rp__acp *a, const struct rp__msg *m)
{
  struct rp__json sid = rp__json_get(m->r.params, "sessionId");
  struct rp__acp_session *s = rp__acp_by_client(a, sid);
  if (sid.type != RP_JSON_STRING) {
    rp__acp_error(a, RP_ACP_CLIENT, m->r.id, RP_ACP_E_PARAMS, "params.sessionId: must be a string", NULL);
  } else if (s && (s->state == RP_ACP_RESTORING || s->asked)) {
    rp__held_add(a, s, m);
  } else if (s && s->running) {
    end_here(s, m, true);
  } else {
    delete_idle(a, m, s);
  }
}
