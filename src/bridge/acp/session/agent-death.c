/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end of the agent's process when nobody asked for it. Open turns are closed, the agent is started and initialized
 * again, and its sessions are restored. An agent that dies three times within half a minute is not started again for
 * half a minute.
 */
#include "bridge/acp/session/session.h"

static void say_how(const struct rp__acp *a, struct rp__buf *out)
{
  if (a->why[0])
    rp__buf_printf(out, "it %s", a->why);
  else
    rp__buf_printf(out, a->status < 0 ? "signal %d" : "exit status %d", abs(a->status));
}

void rp__death_data(const struct rp__acp *a, struct rp__buf *out)
{
  struct rp__jw w = RP_JW(out);
  rp__jw_pack(&w, "{code:s", rp_error_lookup(RP_E_AGENT_DIED)->name);
  rp__jw_ki64(&w, a->status < 0 ? "signal" : "exitStatus", abs(a->status));
  rp__jw_pack(&w, "reason:?s}", a->why);
}

void rp__death_describe(const struct rp__acp *a, struct rp__buf *out)
{
  rp__buf_printf(out, "the agent '%.200s' ended %d times within %d seconds, at last with ",
                 a->command && a->command[0] ? a->command[0] : "", RP_ACP_DEATHS, RP_ACP_LOOP_MS / 1000);
  say_how(a, out);
  rp__buf_printf(out, "; what it said is on its standard error. The next request after %d seconds tries again",
                 RP_ACP_LOOP_MS / 1000);
}

/* ---- what it leaves ---- */

static void close_sessions(struct rp__acp *a, bool again)
{
  struct rp__buf text RP_AUTOBUF = RP_BUF(4096);
  char agent[RP_ACP_NAME + 16];
  rp__agent_title(a, agent);
  rp__buf_printf(&text, "The %s ended unexpectedly (", agent);
  say_how(a, &text);
  if (again)
    rp__buf_str(&text, "). It is being started again and gets this session back; the next prompt goes on.");
  else
    rp__buf_printf(&text, "), as it did before. It is left alone for %d seconds; a prompt after that starts it again.",
                   RP_ACP_LOOP_MS / 1000);
  for (struct rp__acp_session *s = a->sessions, *next; s; s = next) {
    struct rp__buf died RP_AUTOBUF = RP_BUF(4096);
    struct rp__jw w = RP_JW(&died);
    next = s->next;
    rp__acp_turn_broken(s, text.err ? "The agent ended unexpectedly." : text.p);
    rp__jw_pack(&w, "{event:s status:i reason:?s}", "died", (int64_t)a->status, a->why);
    if (s->bound || rp__acp_is_restoring(s)) rp__acp_journal_event(s, "x-acp-agent", &died, RP_DISK);
    if (rp__restore_broken(s) == RP_DO_CLOSE) rp__close_go_on(s, false);
  }
}

/* Its own requests: the editor is told not to bother, and the journal that nothing came. */
static void close_agent_call(struct rp__acp *a, struct rp__call *c)
{
  static const char gone[] = "{\"code\":-32603,\"message\":\"the agent ended\"}";
  struct rp__buf out RP_AUTOBUF = RP_BUF(RP_ACP_LINE);
  struct rp__acp_events events RP_AUTOEVENTS = RP_ACP_EVENTS;
  struct rp__json id = c->agent_id ? rp__acp_raw(c->agent_id) : rp__call_id(c), none = {0};
  struct rp__jw w = rp__rpc_begin_request(&out, NULL, "$/cancel_request");
  rp__jw_pack(&w, "{requestId:v}", rp__call_id(c));
  rp__rpc_end(&w);
  c->kind = RP_CALL_DEAD;
  if (c->s && c->method && !out.err) {
    int rc = rp__acp_event_answer(&c->s->known, id, c->method, none, rp__acp_raw(gone), &events, NULL);
    rp__acp_journal_line(c->s, rc, &events, &a->to_client, (struct rp__str){out.p, out.n});
  } else {
    rp__acp_send(a, RP_ACP_CLIENT, &out);
  }
  free(RP_TAKE(c->agent_id)); /* a new agent's ids are its own */
}

/* Requests to it that are still open; an initialize goes to the next one. */
static void close_client_calls(struct rp__acp *a, bool again)
{
  struct rp__buf why RP_AUTOBUF = RP_BUF(4096), data RP_AUTOBUF = RP_BUF(4096);
  rp__death_data(a, &data);
  rp__buf_str(&why, "the agent ended before it answered (");
  say_how(a, &why);
  if (again)
    rp__buf_str(&why, "); it is being started again");
  else
    rp__buf_printf(&why, "), as it did before: it is left alone for %d seconds", RP_ACP_LOOP_MS / 1000);
  for (struct rp__call *c = a->client.head; c;) {
    if (c->kind == RP_CALL_HERE || c->kind == RP_CALL_INITIALIZE) {
      c = c->next;
      continue;
    }
    rp__call_take(c);
    if (c->kind == RP_CALL_OWN && c->done)
      c->done(a, c, NULL);
    else if (c->kind != RP_CALL_OWN && c->kind != RP_CALL_DEAD)
      rp__acp_error(a, RP_ACP_CLIENT, rp__call_id(c), RP_ACP_E_INTERNAL, why.err ? "the agent ended" : why.p,
                    data.err ? NULL : data.p);
    if (c->kind == RP_CALL_ADOPT) rp__acp_unadopt(a, c);
    rp__call_free(c);
    c = a->client.head; /* anything may have changed */
  }
}

/* ---- again ---- */

static bool count_death(struct rp__acp *a)
{
  int64_t now = rp__acp_now(a);
  memmove(a->deaths, a->deaths + 1, (RP_ACP_DEATHS - 1) * sizeof a->deaths[0]);
  a->deaths[RP_ACP_DEATHS - 1] = now;
  return now - a->deaths[0] >= RP_ACP_LOOP_MS;
}

static void give_up(struct rp__acp *a)
{
  struct rp__buf why RP_AUTOBUF = RP_BUF(4096);
  rp__death_describe(a, &why);
  const char *text = why.err ? "the agent keeps ending" : why.p;
  a->agent_state = RP_AGENT_BROKEN;
  a->retry_at = rp__acp_now(a) + RP_ACP_LOOP_MS;
  rp__acp_log(a, "%s", text);
  for (struct rp__acp_session *s = a->sessions, *next; s; s = next) {
    next = s->next;
    if (s->asked && (s->state == RP_ACP_COLD || s->state == RP_ACP_QUEUED))
      rp__restore_fail(s, NULL, text, NULL);
    else
      rp__waiting_request_fail(a, s, text, NULL);
  }
  rp__waiting_request_fail(a, NULL, text, NULL);
  for (struct rp__call *c = a->client.head, *next; c; c = next) {
    next = c->next;
    if (c->kind == RP_CALL_INITIALIZE) rp__acp_answer_error(a, c, RP_ACP_E_INTERNAL, text, NULL);
  }
}

static void introduce(struct rp__acp *a, const char *method, const char *params, rp__call_fn *done)
{
  if (!rp__acp_ask(a, method, rp__str(params), NULL, RP_ACP_RESTORE_MS, done))
    rp__death_replace(a, "could not be introduced: out of memory");
}

/* The agent is up again. */
static void pick_up(struct rp__acp *a)
{
  a->agent_state = RP_AGENT_UP;
  a->why[0] = '\0';
  rp__restore_wanted(a);
  rp__waiting_request_release(a, NULL);
}

/* A failed authentication shows when the sessions are restored. */
static void authenticated(struct rp__acp *a, struct rp__call *c, const struct rp__msg *m)
{
  (void)c, (void)m;
  if (a->agent_state == RP_AGENT_WAKING) pick_up(a);
}

static void initialized(struct rp__acp *a, struct rp__call *c, const struct rp__msg *m)
{
  (void)c;
  if (a->agent_state != RP_AGENT_WAKING) return;
  if (!m || m->r.type != RP_RPC_RESULT) {
    rp__death_replace(a, m ? "refused to be initialized again" : "did not answer initialize");
    return;
  }
  rp__acp_read_caps(a, m->r.result);
  if (a->authenticate)
    introduce(a, "authenticate", a->authenticate, authenticated);
  else
    pick_up(a);
}

static void start(struct rp__acp *a)
{
  struct rp__buf out RP_AUTOBUF = RP_BUF(RP_ACP_LINE);
  struct rp__jw w = RP_JW(&out);
  const struct rp__call *c = a->client.head;
  rp_error why = {0};
  a->agent_state = RP_AGENT_WAKING;
  while (a->w.start(a->w.ctx, &why)) {
    snprintf(a->why, sizeof a->why, "could not be started: %s", why.message);
    if (count_death(a)) continue;
    give_up(a);
    return;
  }
  while (c && c->kind != RP_CALL_INITIALIZE) c = c->next;
  if (c) { /* the editor's initialize has no answer yet: the new agent gets it as it was */
    rp__jw_pack(&w, "{jsonrpc:s id:v method:s params:r}", "2.0", rp__call_id(c), "initialize",
                a->initialize ? a->initialize : "{}");
    rp__acp_send(a, RP_ACP_AGENT, &out);
  }
  if (c || !a->known || !a->initialize)
    pick_up(a);
  else
    introduce(a, "initialize", a->initialize, initialized);
}

void rp__death_wake(struct rp__acp *a)
{
  for (size_t i = 0; i < RP_ACP_DEATHS; i++) a->deaths[i] = rp__acp_now(a) - RP_ACP_LOOP_MS;
  start(a);
}

void rp__death_replace(struct rp__acp *a, const char *why)
{
  if (a->agent_state != RP_AGENT_UP && a->agent_state != RP_AGENT_WAKING) return;
  snprintf(a->why, sizeof a->why, "%s", why);
  a->agent_state = RP_AGENT_DYING;
  a->w.stop(a->w.ctx);
}

void rp__acp_agent_gone(struct rp__acp *a, int status)
{
  if (a->finished) return;
  a->agent_state = RP_AGENT_OFF;
  rp__acp_journal_settle(a); /* what it said last still goes to the editor */
  if (a->ending) {
    a->finished = true;
    a->w.finish(a->w.ctx, 0);
    return;
  }
  a->status = status;
  rp__acp_journal_forget_lines(a, &a->to_agent);
  rp__line_queue_done(&a->to_agent);
  for (struct rp__call *c = a->agent.head; c; c = c->next)
    if (c->kind != RP_CALL_DEAD) close_agent_call(a, c);
  rp__waiting_lines_done(&a->early_updates);
  bool again = rp__restore_blame(a) || count_death(a); /* a rung that breaks is no crash loop: the next one is tried */
  close_sessions(a, again);
  close_client_calls(a, again);
  if (again)
    start(a);
  else
    give_up(a);
  rp__acp_poke(a);
}
