/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session/new and session/fork. For session/new the agent begins a session and gives it an id, and its journal begins.
 * For session/fork, of agents that support it, the agent makes a session from another one and gives it an id; the
 * journal begins with a copy of the other session's. When the agent does not have that other session open, the agent
 * gets it first.
 */
#include "bridge/acp/session/session.h"

/* Those that are being begun count too. */
static bool room_for_one(const struct rp__acp *a)
{
  size_t n = a->n_sessions;
  for (const struct rp__call *c = a->client.head; c; c = c->next)
    n += c->kind == RP_CALL_NEW || c->kind == RP_CALL_FORK;
  return n < RP_ACP_SESSIONS;
}

void rp__acp_on_new(struct rp__acp *a, const struct rp__msg *m)
{
  if (!room_for_one(a)) {
    rp__acp_error(a, RP_ACP_CLIENT, m->r.id, RP_ACP_E_INTERNAL, "too many sessions are open at once", NULL);
  } else if (a->o.continue_id) {
    rp__load_continue(a, m);
  } else {
    struct rp__call *c = rp__acp_pass(a, m, RP_CALL_NEW, NULL);
    if (c) rp__acp_keep(&c->params, m->r.params);
  }
}

/* Why it can't be a session's id here; NULL: it can. */
static const char *unfit(struct rp__json sid)
{
  char *name RP_AUTOFREE = rp__json_dup(sid);
  if (sid.type != RP_JSON_STRING) return "is no string";
  if (sid.n > RP_ACP_SID) return "is longer than 1,022 bytes";
  if (name && !rp__json_eq(sid, name)) return "holds a NUL";
  return NULL;
}

/* The session that an answer names. NULL: there is none, or it can't be recorded. */
static struct rp__acp_session *named(struct rp__acp *a, const struct rp__msg *m)
{
  struct rp__json sid = rp__json_get(m->r.result, "sessionId");
  if (m->r.type != RP_RPC_RESULT || unfit(sid) || rp__acp_by_agent(a, sid)) return NULL;
  return rp__acp_session_named(a, sid);
}

/* The agent's answer with which a session begins, for the editor; `s` NULL: as it came. */
static void tell_made(struct rp__acp *a, const struct rp__msg *m, struct rp__acp_session *s)
{
  struct rp__buf name RP_AUTOBUF = RP_BUF(8 * RP_ACP_SID), out RP_AUTOBUF = RP_BUF(RP_ACP_LINE);
  struct rp__json sid = rp__json_get(m->r.result, "sessionId");
  struct rp__jw w = RP_JW(&name);
  char text[160];
  if (s) {
    rp__early_updates_release(s);
    rp__acp_session_on(s, RP_ON_ANSWERED);
    rp__settings_begin(s, m->r.result);
  }
  if (s && !rp__json_eq(sid, s->client_sid)) {
    rp__jw_str(&w, s->client_sid);
    rp__rpc_splice(&out, m->text, sid, (struct rp__str){name.p, name.n});
    rp__acp_send(a, RP_ACP_CLIENT, &out);
    return;
  }
  rp__acp_forward(a, RP_ACP_CLIENT, m->line);
  const char *why = !s && m->r.type == RP_RPC_RESULT ? unfit(sid) : NULL;
  if (!why) return;
  /* The editor hears it in each such session; there is no journal to say it in. */
  snprintf(text, sizeof text, "This session is not recorded, and can't be restored: the id that the agent gave it %s.",
           why);
  if (!a->told_unnamed) rp__acp_warn(a, "a session is not recorded: the id that the agent gave it %s (told once)", why);
  a->told_unnamed = true;
  w = rp__rpc_begin_request(&out, NULL, "session/update");
  rp__jw_pack(&w, "{sessionId:v", sid);
  if (a->notices)
    rp__jw_pack(&w, "update:{sessionUpdate:s severity:s title:s description:s}}", "notice", "warning", "Not recorded",
                text);
  else
    rp__jw_pack(&w, "update:{sessionUpdate:s content:{type:s text:s}}}", "agent_message_chunk", "text", text);
  rp__rpc_end(&w);
  rp__acp_send(a, RP_ACP_CLIENT, &out);
}

void rp__acp_made(struct rp__acp *a, struct rp__call *c, const struct rp__msg *m)
{
  struct rp__acp_session *s = named(a, m);
  if (s) s->brief_due = a->o.brief;
  if (s) rp__acp_session_begin(s, rp__call_params(c));
  tell_made(a, m, s);
}

/* ---- session/fork ---- */

static void ask(struct rp__acp *a, const struct rp__msg *m, struct rp__acp_session *s)
{
  struct rp__call *c = rp__acp_pend(a, m, RP_CALL_FORK, NULL);
  struct rp__buf room RP_AUTOBUF = RP_BUF(RP_ACP_LINE);
  rp_error why = {0};
  if (!c) return;
  if (s) { /* what is said in it from here on is not the fork's, and it may be closed before the answer comes */
    rp__acp_session_retry(s);
    rp__acp_journal_settle(a);
    c->history = s->history != RP_HISTORY_TOLD;
    if (!s->h || rp_wait(s->h, -1, 0, &c->seq, &why) || rp_attach(a->e, s->id, &c->from, &why))
      rp__acp_log(a, "session %s: its fork begins without it: %s", s->id, why.message);
  }
  rp__acp_keep(&c->params, m->r.params);
  rp__acp_forward(a, RP_ACP_AGENT, s ? rp__acp_map(m, s->client_sid, s->agent_sid, &room) : m->line);
}

void rp__acp_on_fork(struct rp__acp *a, const struct rp__msg *m)
{
  struct rp__json sid = rp__json_get(m->r.params, "sessionId");
  struct rp__acp_session *s = rp__acp_by_client(a, sid);
  char *name RP_AUTOFREE = rp__json_dup(sid), id[RP_SCOPE_MAX + 1];
  bool look = name && sid.n <= RP_ACP_SID && !s && a->caps.fork;
  enum rp__name known = look ? rp__name_find(a, name, id) : RP_NAME_FREE;
  rp_error why = {0};
  if (!name || sid.n > RP_ACP_SID)
    rp__acp_error(a, RP_ACP_CLIENT, m->r.id, RP_ACP_E_PARAMS, "params.sessionId: must be a string that names a session",
                  NULL);
  else if (!room_for_one(a))
    rp__acp_error(a, RP_ACP_CLIENT, m->r.id, RP_ACP_E_INTERNAL, "too many sessions are open at once", NULL);
  else if (s && !rp__acp_session_there(a, m, s))
    return; /* it waits for the session, or was refused */
  else if (s || known == RP_NAME_FREE)
    ask(a, m, s); /* without one only the agent may know it, or it can't fork and says so */
  else if (known == RP_NAME_DELETED)
    rp__acp_not_found(a, m->r.id, m->r.params, "the session was deleted");
  else if (rp__acp_session_resume(a, name, true, &s, &why))
    rp__acp_fail(a, m->r.id, &why);
  else { /* the agent gets it back as for a load; the request waits for that */
    rp__acp_keep(&s->params, m->r.params);
    rp__waiting_request_add(a, s, m);
    rp__restore_begin(s);
  }
}

void rp__acp_forked(struct rp__acp *a, struct rp__call *c, const struct rp__msg *m)
{
  struct rp__acp_session *s = named(a, m);
  if (s) rp__acp_session_branch(s, c->from, c->seq, c->history, rp__call_params(c));
  tell_made(a, m, s);
}
