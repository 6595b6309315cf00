/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handles lines from the editor. The proxy answers some requests itself. Requests for a session that must be restored
 * wait for the restoration. All other lines pass.
 */
#include "bridge/acp/session/session.h"

struct rp__call *rp__acp_pend(struct rp__acp *a, const struct rp__msg *m, enum rp__call_kind kind,
                              struct rp__acp_session *s)
{
  struct rp__call *c = rp__calls_add(&a->client, m->r.id, kind);
  if (c)
    c->s = s;
  else
    rp__acp_error(a, RP_ACP_CLIENT, m->r.id, RP_ACP_E_INTERNAL, "out of memory", NULL);
  return c;
}

static void forward(struct rp__acp *a, const struct rp__msg *m, const struct rp__acp_session *s)
{
  struct rp__buf room RP_AUTOBUF = RP_BUF(RP_ACP_LINE);
  rp__acp_forward(a, RP_ACP_AGENT, s ? rp__acp_map(m, s->client_sid, s->agent_sid, &room) : m->line);
}

struct rp__call *rp__acp_pass(struct rp__acp *a, const struct rp__msg *m, enum rp__call_kind kind,
                              struct rp__acp_session *s)
{
  struct rp__call *c = rp__acp_pend(a, m, kind, s);
  if (c) forward(a, m, s);
  return c;
}

static void on_authenticate(struct rp__acp *a, const struct rp__msg *m)
{
  struct rp__call *c = rp__acp_pass(a, m, RP_CALL_AUTHENTICATE, NULL);
  if (c) rp__acp_keep(&c->params, m->r.params);
}

static void on_logout(struct rp__acp *a, const struct rp__msg *m)
{
  free(RP_TAKE(a->authenticate));
  rp__acp_pass(a, m, RP_CALL_PLAIN, NULL);
}

static const struct {
  const char *method;
  void (*fn)(struct rp__acp *a, const struct rp__msg *m);
} requests[] = {
    {"initialize", rp__acp_on_initialize}, {"authenticate", on_authenticate},   {"logout", on_logout},
    {"session/new", rp__acp_on_new},       {"session/load", rp__acp_on_load},   {"session/resume", rp__acp_on_load},
    {"session/list", rp__acp_on_list},     {"session/close", rp__acp_on_close}, {"session/delete", rp__acp_on_delete},
    {"session/fork", rp__acp_on_fork},
};

/* ---- may it go? ---- */

static void refuse(struct rp__acp *a, const struct rp__msg *m, const char *why)
{
  if (m->r.type == RP_RPC_REQUEST) rp__acp_error(a, RP_ACP_CLIENT, m->r.id, RP_ACP_E_INTERNAL, why, NULL);
}

static bool agent_there(struct rp__acp *a, const struct rp__msg *m)
{
  if (a->agent_state == RP_AGENT_UP) return true;
  if (a->agent_state == RP_AGENT_BROKEN && rp__acp_now(a) < a->retry_at) {
    if (a->known && !a->transparent && rp__json_eq(m->r.method, "session/list")) return true; /* the journal has it */
    struct rp__buf why RP_AUTOBUF = RP_BUF(4096);
    rp__death_describe(a, &why);
    refuse(a, m, why.err ? "the agent keeps ending" : why.p);
    return false;
  }
  if (a->agent_state == RP_AGENT_BROKEN && m->r.type == RP_RPC_NOTE) return false;
  bool wake = a->agent_state == RP_AGENT_BROKEN;
  rp__waiting_request_add(a, NULL, m);
  if (wake) rp__death_wake(a);
  return false;
}

bool rp__acp_session_there(struct rp__acp *a, const struct rp__msg *m, struct rp__acp_session *s)
{
  enum rp__acp_do action = rp__acp_session_on(s, RP_ON_LINE);
  if (action == RP_DO_PASS) return true;
  if (action == RP_DO_REFUSE)
    refuse(a, m,
           s->state != RP_ACP_TAKEN ? "the session is being closed"
           : s->gone == RP_E_ENDED  ? "this session was ended elsewhere; load it again to go on with it"
           : s->gone == RP_E_SESSION_NOT_FOUND
               ? "this session was deleted"
               : "another process has taken this session over; load it again to go on with it here");
  else
    rp__waiting_request_add(a, s, m);
  if (action == RP_DO_RESTORE) rp__restore_begin(s);
  return false;
}

/* ---- requests ---- */

static void on_other(struct rp__acp *a, const struct rp__msg *m)
{
  struct rp__json sid = rp__json_get(m->r.params, "sessionId");
  struct rp__acp_session *s = rp__acp_by_client(a, sid);
  bool prompt = rp__json_eq(m->r.method, "session/prompt"), coming = false;
  char id[RP_SCOPE_MAX + 1], *name RP_AUTOFREE = sid.type == RP_JSON_STRING ? rp__json_dup(sid) : NULL;
  if (s && !rp__acp_session_there(a, m, s)) return;
  /* Whether an answer that is still to come may make the session known: session/new, or a load of the agent's own. */
  for (const struct rp__call *c = a->client.head; c && prompt && name && !coming; c = c->next)
    coming = c->kind == RP_CALL_NEW || c->kind == RP_CALL_FORK ||
             (c->kind == RP_CALL_ADOPT && rp__json_eq(rp__json_get(rp__call_params(c), "sessionId"), name));
  if (s && prompt)
    rp__acp_on_prompt(a, m, s);
  else if (coming)
    rp__waiting_request_add(a, NULL, m);             /* nobody would record it */
  else if (prompt && rp__acp_in_journal(a, sid, id)) /* closed: the agent may still have it, but nobody would record */
    rp__acp_not_found(a, m->r.id, m->r.params, "the session is not open: load or resume it");
  else if (!s && name &&
           rp__name_find(a, name, id) == RP_NAME_DELETED) /* … likewise, whatever it is that the editor wants of it */
    rp__acp_not_found(a, m->r.id, m->r.params, "the session was deleted");
  else {
    bool mode = s && rp__json_eq(m->r.method, "session/set_mode");
    bool option = s && rp__json_eq(m->r.method, "session/set_config_option");
    struct rp__call *c = rp__acp_pass(a, m, mode || option ? RP_CALL_CONFIG : RP_CALL_PLAIN, s);
    if (c && mode) rp__acp_keep(&c->params, m->r.params); /* its answer does not say which one it is now */
  }
}

static void on_request(struct rp__acp *a, const struct rp__msg *m)
{
  struct rp__json none = {0};
  struct rp__call *c = rp__calls_find(&a->client, m->r.id);
  if (c && c->kind == RP_CALL_DEAD) rp__call_free(RP_TAKE(c)); /* it had its answer */
  if (c || rp__waiting_request_has(a, m->r.id)) {
    rp__acp_error(a, RP_ACP_CLIENT, none, RP_ACP_E_REQUEST, "id: a request with it has no answer yet", NULL);
    return;
  }
  if (a->client.n >= RP_ACP_CALLS) {
    rp__acp_error(a, RP_ACP_CLIENT, m->r.id, RP_ACP_E_INTERNAL, "too many requests have no answer yet", NULL);
    return;
  }
  if (!agent_there(a, m)) return;
  for (size_t i = 0; !a->transparent && i < RP_ARRAY_SIZE(requests); i++) {
    if (!rp__json_eq(m->r.method, requests[i].method)) continue;
    requests[i].fn(a, m);
    return;
  }
  if (a->draft && rp__draft_request(a, m)) return;
  if (a->transparent)
    rp__acp_pass(a, m, rp__json_eq(m->r.method, "initialize") ? RP_CALL_INITIALIZE : RP_CALL_PLAIN, NULL);
  else
    on_other(a, m);
}

/* ---- notifications ---- */

/* Requests that we hold, or answer ourselves, are cancelled here; the others by the agent. */
static void on_cancel_request(struct rp__acp *a, const struct rp__msg *m)
{
  struct rp__json id = rp__json_get(m->r.params, "requestId");
  if (rp__waiting_request_cancel_id(a, id)) return;
  struct rp__call *c = rp__calls_find(&a->client, id);
  if (c && c->kind == RP_CALL_HERE) {
    struct rp__acp_session *s = c->s;
    if (s) rp__load_drop(s);
    rp__acp_answer_error(a, c, RP_ACP_E_CANCELLED, "the request was cancelled", NULL);
    if (s && s->state == RP_ACP_LIVE) rp__waiting_request_release(a, s);
    return;
  }
  if (a->agent_state == RP_AGENT_UP) rp__acp_forward(a, RP_ACP_AGENT, m->line);
}

static void on_note(struct rp__acp *a, const struct rp__msg *m)
{
  struct rp__json sid = rp__json_get(m->r.params, "sessionId");
  struct rp__acp_session *s = rp__acp_by_client(a, sid);
  if (!a->transparent && rp__json_eq(m->r.method, "session/cancel")) {
    bool waited = rp__waiting_request_cancel_prompts(a, sid);
    if (a->agent_state != RP_AGENT_UP || (s && !s->bound) || (waited && s && !s->running)) return;
  } else if (rp__json_eq(m->r.method, "$/cancel_request")) {
    on_cancel_request(a, m);
    return;
  } else if (!agent_there(a, m) || (s && !rp__acp_session_there(a, m, s))) {
    return;
  }
  forward(a, m, s);
}

/* ---- answers to the agent ---- */

static void on_answer(struct rp__acp *a, const struct rp__msg *m)
{
  struct rp__buf room RP_AUTOBUF = RP_BUF(RP_ACP_LINE);
  struct rp__acp_events events RP_AUTOEVENTS = RP_ACP_EVENTS;
  struct rp__call *c = rp__calls_find(&a->agent, m->r.id);
  struct rp__str line = m->line;
  if (!c) { /* nobody asked, or it was answered: the agent may judge */
    if (a->agent_state == RP_AGENT_UP) rp__acp_forward(a, RP_ACP_AGENT, line);
    return;
  }
  rp__call_take(c);
  if (c->agent_id) { /* the answer goes under the id that the agent gave */
    rp__rpc_splice(&room, m->text, m->r.id, rp__str(c->agent_id));
    line = rp__acp_written(&room);
  }
  events.odd = m->r.odd;
  if (c->kind != RP_CALL_DEAD && c->s && c->method) {
    struct rp__json id = c->agent_id ? rp__acp_raw(c->agent_id) : rp__call_id(c);
    int rc = rp__acp_event_answer(&c->s->known, id, c->method, m->r.result, m->r.error, &events, NULL);
    rp__acp_journal_line(c->s, rc, &events, &a->to_agent, line);
  } else if (c->kind != RP_CALL_DEAD) {
    rp__acp_forward(a, RP_ACP_AGENT, line);
  }
  rp__call_free(c);
}

void rp__acp_from_client(struct rp__acp *a, const struct rp__msg *m)
{
  if (m->r.unmarked && (m->r.type == RP_RPC_REQUEST || m->r.type == RP_RPC_NOTE)) {
    rp__acp_error(a, RP_ACP_CLIENT, m->r.id, RP_ACP_E_REQUEST, "jsonrpc: must be \"2.0\"", NULL);
    return;
  }
  switch (m->r.type) {
  case RP_RPC_REQUEST: on_request(a, m); break;
  case RP_RPC_NOTE: on_note(a, m); break;
  case RP_RPC_RESULT:
  case RP_RPC_ERROR: on_answer(a, m); break;
  case RP_RPC_BROKEN: rp__acp_error(a, RP_ACP_CLIENT, m->r.id, m->r.code, m->r.why, NULL); break;
  }
}
