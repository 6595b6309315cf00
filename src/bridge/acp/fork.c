/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session/fork, of agents that can: the agent makes a session of another one and names it. Here it is a session of its
 * own too, whose journal begins with a copy of the other's; one that is not open is given to the agent first.
 */
#include "bridge/acp/impl.h"

/* What is said in the other one from here on is not the fork's, and it may be closed before the answer comes. */
static void note_source(struct rp__call *c, struct rp__acp_session *s)
{
  rp_error why = {0};
  rp__acp_session_retry(s);
  rp__store_settle(s->a);
  c->history = s->history_due;
  if (!s->h || rp_wait(s->h, -1, 0, &c->seq, &why) || rp_attach(s->a->e, s->id, &c->from, &why))
    rp__acp_log(s->a, "session %s: its fork begins without it: %s", s->id, why.message);
}

static void ask(struct rp__acp *a, const struct rp__msg *m, struct rp__acp_session *s)
{
  struct rp__buf room RP_AUTOBUF = RP_BUF(RP_ACP_LINE);
  struct rp__call *c = rp__calls_add(&a->client, m->r.id, RP_CALL_FORK);
  if (!c) {
    rp__acp_error(a, RP_ACP_CLIENT, m->r.id, RP_ACP_E_INTERNAL, "out of memory", NULL);
    return;
  }
  if (s) note_source(c, s);
  rp__acp_keep(&c->params, m->r.params);
  rp__acp_forward(a, RP_ACP_AGENT, s ? rp__acp_map(m, s->client_sid, s->agent_sid, &room) : m->line);
}

/* The agent gets it back as for a load; the request waits for that. */
static void open_first(struct rp__acp *a, const struct rp__msg *m, const char *sid)
{
  struct rp__acp_session *s = NULL;
  rp_error why = {0};
  if (rp__acp_session_resume(a, sid, true, &s, &why)) {
    rp__acp_fail(a, m->r.id, &why);
    return;
  }
  rp__acp_keep(&s->params, m->r.params);
  rp__held_add(a, s, m);
  rp__restore_begin(s);
}

void rp__acp_on_fork(struct rp__acp *a, const struct rp__msg *m)
{
  struct rp__json sid = rp__json_get(m->r.params, "sessionId");
  struct rp__acp_session *s = rp__acp_by_client(a, sid);
  char *name RP_AUTOFREE = rp__json_dup(sid), id[RP_SCOPE_MAX + 1];
  if (!name || sid.n > RP_ACP_SID)
    rp__acp_error(a, RP_ACP_CLIENT, m->r.id, RP_ACP_E_PARAMS, "params.sessionId: must be a string that names a session",
                  NULL);
  else if (!rp__acp_room_for_one(a))
    rp__acp_error(a, RP_ACP_CLIENT, m->r.id, RP_ACP_E_INTERNAL, "too many sessions are open at once", NULL);
  else if (s && !rp__acp_session_there(a, m, s))
    return; /* it waits for the session, or was refused */
  else if (s)
    ask(a, m, s);
  else
    switch (a->caps.fork ? rp__name_find(a, name, id) : RP_NAME_FREE) {
    case RP_NAME_OURS:
    case RP_NAME_OTHER: open_first(a, m, name); break;
    case RP_NAME_DELETED: rp__acp_not_found(a, m->r.id, m->r.params, "the session was deleted"); break;
    case RP_NAME_FREE: ask(a, m, NULL); break; /* only the agent may know it, or it can't fork and says so */
    }
}

static struct rp__acp_session *begun(struct rp__acp *a, const struct rp__call *c, struct rp__json sid)
{
  struct rp__json params = {0};
  struct rp__acp_session *s = rp__acp_session_named(a, sid);
  if (!s) return NULL;
  if (c->params) params = rp__json_trusted(c->params, strlen(c->params));
  rp__acp_session_branch(s, c->from, c->seq, c->history, params);
  return s;
}

void rp__acp_forked(struct rp__acp *a, struct rp__call *c, const struct rp__msg *m)
{
  struct rp__json sid = rp__json_get(m->r.result, "sessionId");
  rp__acp_tell_made(a, m, m->r.type == RP_RPC_RESULT ? begun(a, c, sid) : NULL);
}
