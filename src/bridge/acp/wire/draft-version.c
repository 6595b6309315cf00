/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Version 2 of the protocol, which is a draft. Every line passes unchanged, with the ids that the peers gave. The parts
 * of the draft that are known are recorded: sessions, prompts, messages, tool calls, permissions, the ends of turns.
 * The agent itself lists, resumes and deletes sessions. When the agent died, the next agent is asked to resume its
 * sessions, if that agent can.
 */
#include "bridge/acp/session/session.h"

/* ---- what is said once ---- */

static const char title[] = "Version 2 of the protocol is a draft";
static const char told[] =
    "Editor and agent speak version 2 of ACP, which is a draft. Everything passes as it is. "
    "Prompts, messages, tool calls, permissions and ends of turns are recorded; terminals, plans "
    "and whatever else is new there only as they came. Lists, loading and another agent's "
    "sessions are the agent's own business.";

void rp__draft_warn(struct rp__acp *a)
{
  if (a->draft_told) return;
  a->draft_told = true;
  rp__acp_warn(a, "%s", told);
}

/* ---- sessions ---- */

static void open_session(struct rp__acp *a, const struct rp__call *c, struct rp__json sid, bool resumed)
{
  struct rp__json params = rp__call_params(c);
  char *name RP_AUTOFREE = sid.type == RP_JSON_STRING && sid.n <= RP_ACP_SID ? rp__json_dup(sid) : NULL;
  struct rp__acp_session *s = NULL;
  rp_error why = {0};
  if (!name || rp__acp_by_agent(a, sid)) return;
  bool found = resumed && rp__acp_session_resume(a, name, true, &s, &why) == 0;
  if (!s) s = rp__acp_session_new(a, name, &why);
  if (!s || !rp__acp_set_agent_sid(s, sid)) {
    rp__acp_log(a, "a session is not recorded: %s", s ? "out of memory" : why.message);
    if (s) rp__acp_session_free(s);
    return;
  }
  s->bound = true;
  rp__acp_session_on(s, RP_ON_NAMED);
  if (found)
    rp__acp_keep(&s->params, params);
  else
    rp__acp_session_begin(s, params);
  char *wire = strdup(s->agent_sid); /* which stays the agent's, whatever the journal calls the session */
  if (!wire) {
    rp__acp_session_free(s);
    return;
  }
  free(s->client_sid);
  s->client_sid = wire;
}

/* ---- the editor's requests ---- */

bool rp__draft_request(struct rp__acp *a, const struct rp__msg *m)
{
  static const char *const methods[] = {"session/new", "session/resume", "session/prompt", "session/close",
                                        "session/delete"};
  struct rp__acp_session *s = rp__acp_by_client(a, rp__json_get(m->r.params, "sessionId"));
  const char *method = NULL;
  if (s && !rp__acp_session_there(a, m, s)) return true;
  for (size_t i = 0; !method && i < RP_ARRAY_SIZE(methods); i++)
    if (rp__json_eq(m->r.method, methods[i])) method = methods[i];
  struct rp__call *c = method ? rp__calls_add(&a->client, m->r.id, RP_CALL_DRAFT) : NULL;
  if (!c) return false;
  c->s = s;
  c->method = strdup(method);
  rp__acp_keep(&c->params, m->r.params);
  if (!s || strcmp(method, "session/prompt") != 0) {
    rp__acp_forward(a, RP_ACP_AGENT, m->line);
    return true;
  }
  struct rp__acp_events events RP_AUTOEVENTS = RP_ACP_EVENTS;
  rp__acp_session_retry(s);
  int rc = rp__acp_event_prompt(&s->known, m->r.params, s->project, &events, NULL);
  events.odd = m->r.odd;
  c->turn = s->known.turn;
  s->running = 1;
  rp__acp_journal_line(s, rc, &events, &s->a->to_agent, m->line);
  return true;
}

/* The end of a turn: `how` has a stopReason, or `error` is one. */
static void put_end(struct rp__acp_session *s, int64_t turn, struct rp__json how, struct rp__json error,
                    struct rp__str line)
{
  struct rp__acp_events events RP_AUTOEVENTS = RP_ACP_EVENTS;
  s->running = 0;
  int rc = rp__acp_event_turn_end(&s->known, turn, how, error, &events, NULL);
  rp__acp_journal_line(s, rc, &events, &s->a->to_client, line);
}

void rp__draft_answered(struct rp__acp *a, struct rp__call *c, const struct rp__msg *m)
{
  struct rp__json none = {0}, params = rp__call_params(c);
  const char *method = c->method ? c->method : "";
  bool good = m->r.type == RP_RPC_RESULT, resumed = strcmp(method, "session/resume") == 0;
  bool opens = good && (resumed || strcmp(method, "session/new") == 0);
  struct rp__json sid = rp__json_get(resumed ? params : m->r.result, "sessionId");
  if (opens) open_session(a, c, sid, resumed);
  if (c->s && !good && strcmp(method, "session/prompt") == 0)
    put_end(c->s, c->turn, none, m->r.error, m->line);
  else
    rp__acp_forward(a, RP_ACP_CLIENT, m->line);
  struct rp__acp_session *s = opens ? rp__acp_by_agent(a, sid) : NULL;
  if (s && !a->draft_noticed) { /* notices need a session, and no capability there */
    a->draft_noticed = a->notices = true;
    rp__acp_tell(s, title, told, false);
  }
  if (c->s && good && (strcmp(method, "session/close") == 0 || strcmp(method, "session/delete") == 0))
    rp__acp_session_end(RP_TAKE(c->s), "closed");
}

/* ---- the agent's updates ---- */

void rp__draft_update(struct rp__acp_session *s, const struct rp__msg *m)
{
  struct rp__json update = rp__json_get(m->r.params, "update"), state = rp__json_get(update, "state"), none = {0};
  struct rp__json what = rp__json_get(update, "sessionUpdate");
  bool is_state = rp__json_eq(what, "state_update");
  struct rp__acp_events events RP_AUTOEVENTS = RP_ACP_EVENTS;
  rp__acp_learn_update(s, update);
  if (is_state && rp__json_eq(state, "running")) s->running = 1;
  if (is_state && s->running && rp__json_eq(state, "idle")) {
    put_end(s, s->known.turn, update, none, m->line);
    return;
  }
  bool thought = rp__json_eq(what, "agent_thought");
  int rc = 0;
  /* What the user said is in the journal since the prompt: the agent's echo of it is kept as it came. */
  if (rp__json_eq(what, "user_message_chunk") || rp__json_eq(what, "user_message"))
    rc = rp__acp_event_as_it_came(&s->known, update, &events, NULL);
  else if (thought || rp__json_eq(what, "agent_message"))
    rc = rp__acp_event_whole(&s->known, update, thought, &events, NULL);
  else
    rc = rp__acp_event_update(&s->known, update, &events, NULL);
  events.odd = m->r.odd;
  rp__acp_journal_line(s, rc, &events, &s->a->to_client, m->line);
}

/* ---- the agent's death ---- */

void rp__draft_broken(struct rp__acp_session *s, const char *text)
{
  struct rp__buf out RP_AUTOBUF = RP_BUF(RP_ACP_LINE), error RP_AUTOBUF = RP_BUF(8192), data RP_AUTOBUF = RP_BUF(4096);
  struct rp__jw w = rp__rpc_begin_request(&out, NULL, "session/update"), e = RP_JW(&error);
  struct rp__json none = {0};
  rp__death_data(s->a, &data);
  rp__jw_pack(&e, "{code:i message:s data:r}", (int64_t)RP_ACP_E_INTERNAL, text, data.p);
  if (error.err) return;
  rp__jw_pack(&w, "{sessionId:s update:{sessionUpdate:s state:s stopReason:s error:r}}", s->client_sid, "state_update",
              "idle", "error", error.p);
  rp__rpc_end(&w);
  if (!out.err) put_end(s, s->known.turn, none, rp__json_trusted(error.p, error.n), (struct rp__str){out.p, out.n});
}
