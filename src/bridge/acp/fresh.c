/* SPDX-License-Identifier: Apache-2.0 */
/* session/new: the agent begins one and names it; its journal begins here. */
#include "bridge/acp/impl.h"

/* Those that are being begun count too. */
bool rp__acp_room_for_one(const struct rp__acp *a)
{
  size_t n = a->n_sessions;
  for (const struct rp__call *c = a->client.head; c; c = c->next)
    n += c->kind == RP_CALL_NEW || c->kind == RP_CALL_FORK;
  return n < RP_ACP_SESSIONS;
}

void rp__acp_on_new(struct rp__acp *a, const struct rp__msg *m)
{
  if (!rp__acp_room_for_one(a)) {
    rp__acp_error(a, RP_ACP_CLIENT, m->r.id, RP_ACP_E_INTERNAL, "too many sessions are open at once", NULL);
    return;
  }
  if (a->continue_id) {
    rp__load_continue(a, m);
    return;
  }
  struct rp__call *c = rp__calls_add(&a->client, m->r.id, RP_CALL_NEW);
  if (!c) {
    rp__acp_error(a, RP_ACP_CLIENT, m->r.id, RP_ACP_E_INTERNAL, "out of memory", NULL);
    return;
  }
  rp__acp_keep(&c->params, m->r.params);
  rp__acp_forward(a, RP_ACP_AGENT, m->line);
}

struct rp__acp_session *rp__acp_session_named(struct rp__acp *a, struct rp__json sid)
{
  char *name RP_AUTOFREE = rp__json_dup(sid);
  rp_error why = {0};
  if (!name || sid.n > RP_ACP_SID || !rp__json_eq(sid, name) || rp__acp_by_agent(a, sid)) return NULL;
  struct rp__acp_session *s = rp__acp_session_new(a, name, &why);
  if (!s || !rp__acp_set_agent_sid(s, sid)) {
    rp__acp_log(a, "a session is not recorded: %s", s ? "out of memory" : why.message);
    if (s) rp__acp_session_free(s);
    return NULL;
  }
  s->bound = true;
  rp__acp_move(s, RP_ACP_LIVE);
  return s;
}

static struct rp__acp_session *begun(struct rp__acp *a, const struct rp__call *c, struct rp__json sid)
{
  struct rp__json params = {0};
  struct rp__acp_session *s = rp__acp_session_named(a, sid);
  if (!s) return NULL;
  if (c->params) params = rp__json_trusted(c->params, strlen(c->params));
  s->brief_due = a->brief;
  rp__acp_session_begin(s, params);
  return s;
}

void rp__acp_tell_made(struct rp__acp *a, const struct rp__msg *m, struct rp__acp_session *s)
{
  struct rp__buf name RP_AUTOBUF = RP_BUF(8 * RP_ACP_SID), out RP_AUTOBUF = RP_BUF(RP_ACP_LINE);
  struct rp__json sid = rp__json_get(m->r.result, "sessionId");
  if (!s) {
    rp__acp_forward(a, RP_ACP_CLIENT, m->line);
    return;
  }
  rp__early_release(s);
  s->copied = false;
  rp__settings_begin(s, m->r.result);
  if (rp__json_eq(sid, s->client_sid)) {
    rp__acp_forward(a, RP_ACP_CLIENT, m->line);
    return;
  }
  struct rp__jw w = RP_JW(&name);
  rp__jw_str(&w, s->client_sid);
  rp__rpc_splice(&out, m->text, sid, (struct rp__str){name.p, name.n});
  rp__acp_send(a, RP_ACP_CLIENT, &out);
}

void rp__acp_made(struct rp__acp *a, struct rp__call *c, const struct rp__msg *m)
{
  struct rp__json sid = rp__json_get(m->r.result, "sessionId");
  rp__acp_tell_made(a, m, m->r.type == RP_RPC_RESULT ? begun(a, c, sid) : NULL);
}
