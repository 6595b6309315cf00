/* SPDX-License-Identifier: Apache-2.0 */
/* Handles lines from the agent: updates, requests to the editor, and answers, each by the kind of its request. */
#include "bridge/acp/session/session.h"

#include "bridge/broken-line.h"
#include "bridge/injected-text.h"

/* Requests whose two halves are written down. */
static const char *const noted[] = {"session/request_permission",
                                    "fs/read_text_file",
                                    "fs/write_text_file",
                                    "terminal/create",
                                    "terminal/output",
                                    "terminal/release",
                                    "terminal/wait_for_exit",
                                    "terminal/kill",
                                    "elicitation/create"};

/* ---- updates ---- */

void rp__acp_deliver(struct rp__acp_session *s, const struct rp__msg *m)
{
  struct rp__buf room RP_AUTOBUF = RP_BUF(RP_ACP_LINE);
  struct rp__acp_events events RP_AUTOEVENTS = RP_ACP_EVENTS;
  struct rp__json update = rp__json_get(m->r.params, "update");
  rp_error why = {0};
  if (rp__title_takes(s, update)) return;
  rp__acp_learn_update(s, update);
  int rc = rp__acp_event_update(&s->known, update, &events, &why);
  events.odd = m->r.odd;
  rp__acp_journal_line(s, rc, &events, &s->a->to_client, rp__acp_map(m, s->agent_sid, s->client_sid, &room));
  if (rc) rp__acp_journal_lost(s, &why, false);
}

/*
 * An agent that repeats the prompt it got repeats what we had put before it: nobody's words, but what stands behind
 * them is the user's. False: nothing else is there. `made`, in `room`, is the message without ours; *m becomes it.
 */
static bool leave_ours_out(const struct rp__msg **m, struct rp__msg *made, struct rp__buf *room)
{
  struct rp__json update = rp__json_get((*m)->r.params, "update");
  struct rp__json text = rp__json_get(rp__json_get(update, "content"), "text");
  if (!rp__json_eq(rp__json_get(update, "sessionUpdate"), "user_message_chunk") || !rp__marked(text)) return true;
  struct rp__buf words RP_AUTOBUF = RP_BUF(text.n + 1), raw RP_AUTOBUF = RP_BUF(RP_ACP_LINE);
  struct rp__jw w = RP_JW(&raw);
  if (rp__json_text(text, &words)) return true;
  size_t all = words.n;
  rp__unmark(&words);
  if (words.n == all) return true; /* somebody only speaks of the mark */
  if (!words.n || strspn(words.p, " \t\r\n") == words.n) return false;
  rp__jw_strn(&w, words.p, words.n);
  rp__rpc_splice(room, (*m)->text, text, (struct rp__str){raw.p, raw.n});
  if (raw.err || room->err) return true;
  *made = (struct rp__msg){.line = {room->p, room->n}, .text = {room->p, room->n}};
  rp__rpc_route(room->p, room->n, &made->r);
  made->r.odd = (*m)->r.odd;
  *m = made;
  return true;
}

static void on_update(struct rp__acp *a, const struct rp__msg *m)
{
  struct rp__buf room RP_AUTOBUF = RP_BUF(RP_ACP_LINE), rest RP_AUTOBUF = RP_BUF(RP_ACP_LINE);
  struct rp__json sid = rp__json_get(m->r.params, "sessionId");
  struct rp__acp_session *s = rp__acp_by_agent(a, sid);
  struct rp__msg made;
  if (!s && (rp__early_updates_hold(a, m) || rp__acp_stale(a, sid))) return;
  if (!s) s = rp__acp_adopt_early(a, sid);
  if (!s) {
    rp__acp_forward(a, RP_ACP_CLIENT, m->line);
    return;
  }
  if (!leave_ours_out(&m, &made, &rest)) return;
  struct rp__json update = rp__json_get(m->r.params, "update");
  if (s->state == RP_ACP_FORKED && !rp__replay_filter_is_state(update)) {
    rp__acp_forward(a, RP_ACP_CLIENT, rp__acp_map(m, s->agent_sid, s->client_sid, &room));
    return;
  }
  if (rp__settings_hear(s, update) || rp__replay_filter_takes(s, m)) return;
  /* What the agent says while the editor waits for its answer comes behind that, but for states, which a load tells.
   * Of a session that continues the editor knows nothing yet. */
  bool behind = s->asked && rp__acp_is_restoring(s) && (a->continuing == s || !rp__replay_filter_is_state(update));
  if (!behind || !rp__waiting_lines_add(&s->later, s, m, RP_WAITING_BYTES)) rp__acp_deliver(s, m);
}

static bool has_agent_id(const struct rp__call *c, struct rp__json id)
{
  return c->agent_id && rp__rpc_same_id(rp__acp_raw(c->agent_id), id);
}

static void on_note(struct rp__acp *a, const struct rp__msg *m)
{
  struct rp__buf room RP_AUTOBUF = RP_BUF(RP_ACP_LINE);
  struct rp__acp_session *s = rp__acp_by_agent(a, rp__json_get(m->r.params, "sessionId"));
  bool update = rp__json_eq(m->r.method, "session/update"), cancel = rp__json_eq(m->r.method, "$/cancel_request");
  struct rp__json id = rp__json_get(m->r.params, "requestId");
  /* The agent takes a request back: the editor may know it by another id. */
  const struct rp__call *c = cancel && id.type ? a->agent.head : NULL;
  while (c && !has_agent_id(c, id)) c = c->next;
  if (c) rp__rpc_splice(&room, m->text, id, (struct rp__str){c->id, c->id_n});
  if (update && !a->transparent)
    on_update(a, m);
  else if (update && a->draft && s)
    rp__draft_update(s, m);
  else if (c)
    rp__acp_send(a, RP_ACP_CLIENT, &room);
  else
    rp__acp_forward(a, RP_ACP_CLIENT, s && !cancel ? rp__acp_map(m, s->agent_sid, s->client_sid, &room) : m->line);
}

/* ---- requests ---- */

/*
 * Remembers the request. Its id may still be that of a request of an agent that died: then the editor sees another.
 * `ret_taken`: a request with that id has no answer yet.
 */
static struct rp__call *remember(struct rp__acp *a, const struct rp__msg *m, bool *ret_taken)
{
  struct rp__call *c = rp__calls_find(&a->agent, m->r.id);
  bool again = c != NULL;
  char alias[64], *own RP_AUTOFREE = again ? strndup(m->r.id.p, m->r.id.n) : NULL;
  *ret_taken = c && c->kind != RP_CALL_DEAD;
  for (c = a->agent.head; c && !*ret_taken; c = c->next) *ret_taken = has_agent_id(c, m->r.id);
  if (*ret_taken) return NULL;
  if (a->agent.n >= RP_ACP_CALLS) { /* the editor may never answer what a dead agent asked */
    for (c = a->agent.head; c && c->kind != RP_CALL_DEAD;) c = c->next;
    if (!c) return NULL;
    rp__call_free(c);
  }
  if (!again) return rp__calls_add(&a->agent, m->r.id, RP_CALL_PLAIN);
  snprintf(alias, sizeof alias, "\"reprise/a%lld\"", (long long)++a->alias_n);
  c = own ? rp__calls_add(&a->agent, rp__acp_raw(alias), RP_CALL_PLAIN) : NULL;
  if (c) c->agent_id = RP_TAKE(own);
  return c;
}

static void on_request(struct rp__acp *a, const struct rp__msg *m)
{
  struct rp__buf room RP_AUTOBUF = RP_BUF(RP_ACP_LINE), mapped RP_AUTOBUF = RP_BUF(RP_ACP_LINE);
  struct rp__acp_events events RP_AUTOEVENTS = RP_ACP_EVENTS;
  struct rp__json none = {0}, sid = rp__json_get(m->r.params, "sessionId");
  struct rp__acp_session *s = NULL;
  bool taken;
  struct rp__call *c = remember(a, m, &taken);
  if (!c) {
    const char *why = taken ? "id: a request with it has no answer yet" : "too many requests have no answer yet";
    rp__acp_error(a, RP_ACP_AGENT, taken ? none : m->r.id, taken ? RP_ACP_E_REQUEST : RP_ACP_E_INTERNAL, why, NULL);
    return;
  }
  if (!a->transparent || a->draft) {
    const struct rp__call *about = sid.type ? NULL : rp__calls_find(&a->client, rp__json_get(m->r.params, "requestId"));
    s = sid.type ? rp__acp_by_agent(a, sid) : about ? about->s : NULL;
  }
  c->s = s;
  /* No replay asks about a call, and what was said before the question comes before it. */
  if (s && rp__json_get(m->r.params, "toolCall").type == RP_JSON_OBJECT) rp__waiting_lines_deliver(&s->filter.doubt, s);
  for (size_t i = 0; s && i < RP_ARRAY_SIZE(noted); i++)
    if (rp__json_eq(m->r.method, noted[i])) c->method = strdup(noted[i]);
  struct rp__str line = s ? rp__acp_map(m, s->agent_sid, s->client_sid, &mapped) : m->line;
  if (c->agent_id && line.p) { /* under the id by which the editor knows it */
    struct rp__rpc r;
    rp__rpc_route(line.p, line.n, &r);
    rp__rpc_splice(&room, line, r.id, (struct rp__str){c->id, c->id_n});
    line = rp__acp_written(&room);
  }
  int rc = c->method ? rp__acp_event_request(&s->known, m->r.id, m->r.method, m->r.params, &events, NULL) : 0;
  events.odd = m->r.odd;
  if (c->method)
    rp__acp_journal_line(s, rc, &events, &a->to_client, line);
  else
    rp__acp_forward(a, RP_ACP_CLIENT, line);
}

/* ---- answers ---- */

static void as_it_came(struct rp__acp *a, struct rp__call *c, const struct rp__msg *m)
{
  (void)c;
  rp__acp_forward(a, RP_ACP_CLIENT, m->line);
}

static void authenticated(struct rp__acp *a, struct rp__call *c, const struct rp__msg *m)
{
  if (m->r.type == RP_RPC_RESULT && c->params) {
    free(a->authenticate);
    a->authenticate = RP_TAKE(c->params);
  }
  as_it_came(a, c, m);
}

static void configured(struct rp__acp *a, struct rp__call *c, const struct rp__msg *m)
{
  if (c->s && m->r.type == RP_RPC_RESULT)
    rp__settings_chosen(c->s, rp__call_params(c), m);
  else
    as_it_came(a, c, m);
}

static void answered(struct rp__acp *a, struct rp__call *c, const struct rp__msg *m)
{
  if (c->done) c->done(a, c, m);
}

static rp__call_fn *const on_answer[RP_CALL_KINDS] = {
    [RP_CALL_PLAIN] = as_it_came,         [RP_CALL_INITIALIZE] = rp__acp_initialized,
    [RP_CALL_NEW] = rp__acp_made,         [RP_CALL_AUTHENTICATE] = authenticated,
    [RP_CALL_ADOPT] = rp__acp_adopted,    [RP_CALL_PROMPT] = rp__acp_prompted,
    [RP_CALL_CONFIG] = configured,        [RP_CALL_CLOSE] = rp__acp_closed,
    [RP_CALL_DELETE] = rp__acp_deleted,   [RP_CALL_OWN] = answered,
    [RP_CALL_DRAFT] = rp__draft_answered, [RP_CALL_FORK] = rp__acp_forked,
};

static void take_answer(struct rp__acp *a, const struct rp__msg *m)
{
  struct rp__call *c = rp__calls_find(&a->client, m->r.id);
  if (!c) { /* nobody asked, or it was answered: the editor may judge. But what waits here the agent was not asked. */
    static const char own[] = "\"reprise/"; /* a request of ours that took too long: the editor knows nothing of it */
    bool ours = m->r.id.type == RP_JSON_STRING && m->r.id.n >= sizeof own && !memcmp(m->r.id.p, own, sizeof own - 1);
    if (!ours && !rp__waiting_request_has(a, m->r.id)) rp__acp_forward(a, RP_ACP_CLIENT, m->line);
    return;
  }
  if (c->kind == RP_CALL_DEAD) rp__call_free(RP_TAKE(c)); /* the editor has its answer */
  if (!c || !on_answer[c->kind]) return;                  /* … and will get it from us: the agent was not asked */
  rp__call_take(c);
  on_answer[c->kind](a, c, m);
  bool made = c->kind == RP_CALL_NEW || c->kind == RP_CALL_ADOPT || c->kind == RP_CALL_FORK;
  rp__call_free(c);
  if (made && a->agent_state == RP_AGENT_UP) rp__waiting_request_release(a, NULL);
}

/* ---- what is no message ---- */

static bool holds(struct rp__str line, const char *name)
{
  return memmem(line.p, line.n, name, strlen(name)) != NULL;
}

/* Goes on as it came; the journals of whom it may have been about count it. */
static void on_broken(struct rp__acp *a, const struct rp__msg *m)
{
  struct rp__buf out RP_AUTOBUF = RP_BUF(RP_ACP_LINE);
  char text[sizeof m->r.why + 64];
  rp_error why = {0};
  bool running = false;
  rp__fail(&why, RP_E_JSON, "the agent sent what is no message: %s", m->r.why);
  if (!a->told_broken) rp__acp_warn(a, "%s (it goes on as it came, and is not recorded; told once)", why.message);
  a->told_broken = true;
  for (const struct rp__acp_session *s = a->sessions; s; s = s->next) running |= s->running != 0;
  for (struct rp__acp_session *s = a->sessions; s; s = s->next)
    if (s->state == RP_ACP_LIVE && (s->running || !running)) rp__acp_journal_lost(s, &why, false);
  rp__acp_forward(a, RP_ACP_CLIENT, m->line);
  /* An answer that can't be read ends its request all the same. */
  const struct rp__call *c = rp__calls_find(&a->client, rp__broken_line_id(m->line.p, m->line.n));
  if (!c || !on_answer[c->kind] || holds(m->line, "\"method\"")) return;
  if (!holds(m->line, "\"result\"") && !holds(m->line, "\"error\"")) return;
  snprintf(text, sizeof text, "the agent's answer can't be read: %s", m->r.why);
  rp__rpc_error(&out, rp__call_id(c), RP_ACP_E_INTERNAL, text, NULL);
  struct rp__msg made = {.line = {out.p, out.n}, .text = {out.p, out.n}};
  if (out.err) return;
  rp__rpc_route(out.p, out.n, &made.r);
  take_answer(a, &made);
}

void rp__acp_from_agent(struct rp__acp *a, const struct rp__msg *m)
{
  switch (m->r.type) {
  case RP_RPC_REQUEST: on_request(a, m); break;
  case RP_RPC_NOTE: on_note(a, m); break;
  case RP_RPC_RESULT:
  case RP_RPC_ERROR: take_answer(a, m); break;
  case RP_RPC_BROKEN: on_broken(a, m); break;
  }
}

/* Half a message was never sent: neither the editor nor a request hears of it, and the death that follows tells all. */
void rp__acp_rest(struct rp__acp *a, const char *line, size_t n)
{
  struct rp__json_limits lenient = {.max_depth = RP_JSON_DEPTH_LIMIT, .allow_duplicates = true};
  struct rp__json v;
  struct rp__rpc r;
  rp__rpc_route(line, n, &r);
  if (r.type != RP_RPC_BROKEN || rp__json_parse(line, n, &lenient, &v, NULL) == 0)
    rp__acp_line(a, RP_ACP_AGENT, line, n);
  else
    rp__acp_log(a, "the agent ended within a line: %zu bytes of it are dropped", n);
}

/* ---- requests of ours ---- */

struct rp__call *rp__acp_ask(struct rp__acp *a, const char *method, struct rp__str params, struct rp__acp_session *s,
                             int64_t ms, rp__call_fn *done)
{
  struct rp__buf out RP_AUTOBUF = RP_BUF(RP_ACP_LINE);
  char id[48], raw[64];
  struct rp__json v;
  do {
    snprintf(id, sizeof id, "reprise/%lld", (long long)++a->own_n);
    snprintf(raw, sizeof raw, "\"%s\"", id);
    v = rp__acp_raw(raw);
  } while (rp__calls_find(&a->client, v) || rp__waiting_request_has(a, v)); /* the editor may use such ids too */
  struct rp__call *c = rp__calls_add(&a->client, v, RP_CALL_OWN);
  if (!c) return NULL;
  c->s = s;
  c->done = done;
  c->deadline = rp__acp_now(a) + ms;
  struct rp__jw w = rp__rpc_begin_request(&out, id, method);
  rp__jw_pack(&w, "r", params.p ? params.p : "{}");
  rp__rpc_end(&w);
  rp__acp_forward(a, RP_ACP_AGENT, params.p ? rp__acp_written(&out) : params);
  return c;
}
