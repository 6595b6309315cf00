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

/* Why it can't be a session's id here; NULL: it can. */
static const char *unfit(struct rp__json sid)
{
  char *name RP_AUTOFREE = rp__json_dup(sid);
  if (sid.type != RP_JSON_STRING) return "is no string";
  if (sid.n > RP_ACP_SID) return "is longer than 1,022 bytes";
  if (name && !rp__json_eq(sid, name)) return "holds a NUL";
  return NULL;
}

/* The editor hears it in each such session; there is no journal to say it in. */
static void tell_unnamed(struct rp__acp *a, struct rp__json sid, const char *why)
{
  struct rp__buf out RP_AUTOBUF = RP_BUF(RP_ACP_LINE);
  char text[160];
  snprintf(text, sizeof text, "This session is not recorded, and can't be restored: the id that the agent gave it %s.",
           why);
  if (!a->told_unnamed) rp__acp_warn(a, "a session is not recorded: the id that the agent gave it %s (told once)", why);
  a->told_unnamed = true;
  struct rp__jw w = rp__rpc_begin_request(&out, NULL, "session/update");
  rp__jw_object(&w);
  rp__jw_key(&w, "sessionId");
  rp__jw_value(&w, sid);
  rp__jw_key(&w, "update");
  rp__jw_object(&w);
  rp__jw_kstr(&w, "sessionUpdate", a->notices ? "notice" : "agent_message_chunk");
  if (a->notices) {
    rp__jw_kstr(&w, "severity", "warning");
    rp__jw_kstr(&w, "title", "Not recorded");
    rp__jw_kstr(&w, "description", text);
  } else {
    rp__jw_key(&w, "content");
    rp__jw_object(&w);
    rp__jw_kstr(&w, "type", "text");
    rp__jw_kstr(&w, "text", text);
    rp__jw_end_object(&w);
  }
  rp__jw_end_object(&w);
  rp__jw_end_object(&w);
  rp__rpc_end(&w);
  rp__acp_send(a, RP_ACP_CLIENT, &out);
}

struct rp__acp_session *rp__acp_session_named(struct rp__acp *a, struct rp__json sid)
{
  char *name RP_AUTOFREE = rp__json_dup(sid);
  rp_error why = {0};
  if (!name || unfit(sid) || rp__acp_by_agent(a, sid)) return NULL;
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
    const char *why = m->r.type == RP_RPC_RESULT ? unfit(sid) : NULL;
    if (why) tell_unnamed(a, sid, why);
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
