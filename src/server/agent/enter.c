/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An agent identifies itself (C-06). The session is read in the pool. Then, in the loop, the agent gets its session: an
 * older connection is closed, the return of an agent that was awaited becomes a message of the conversation (C-04), and
 * the agent is sent its token, then auth_ok, then the messages that it has not got yet.
 */
#include "base/credentials/fleet.h"
#include "base/text.h"
#include "server/agent/agent-session.h"
#include "server/http/call.h"

#define RESTORED "Session restored after server restart"
#define RECONNECTED "Session agent reconnected"
#define REASON_MAX 200

struct entering {
  struct rp__task task;
  struct rp__job job;
  struct rp__agent *g;
  struct rp__server *srv;
  struct rp__roster *roster;
  char id[RP_ID_MAX + 1], token[RP_FLEET_TOKEN_MAX + 1];
  bool moved; /* the token came with the session from another program */
  struct rp__entry *entry;
  struct rp__agent_facts facts;
  int64_t client_seq;
  bool returns; /* its session had an agent before the server began */
  int rc;
  rp_error err;
};

/* ---- what the journal says; in the pool ---- */

static bool is_string(struct rp__json v)
{
  return v.type == RP_JSON_STRING;
}

/* What was pending at `delivered`: whether a decision that follows is one for the agent depends on that. */
static int read_pending(struct rp__entry *e, int64_t delivered, struct rp__agent_tools *tools, rp_error *err)
{
  static const char *const facets[] = {"questions", "approvals"};
  char *text = NULL;
  int rc = rp_state_json(e->s, delivered, &text, err);
  if (rc) return rc;
  for (int approval = 0; approval < 2; approval++) {
    struct rp__json_iter it = {0};
    struct rp__json rows = rp__json_get(rp__json_trusted(text, strlen(text)), facets[approval]), row;
    while (rp__json_next(rows, &it, NULL, &row)) rp__agent_tools_ask(tools, approval, rp__json_get(row, "id"), true);
  }
  rp_free(text);
  return 0;
}

int rp__agent_facts(struct rp__server *srv, struct rp__entry *e, struct rp__agent_facts *ret,
                    struct rp__agent_tools *tools, rp_error *err)
{
  char *text = NULL;
  struct rp__buf status RP_AUTOBUF = RP_BUF(RP_AGENT_STATUS - 1);
  struct rp__json_iter it = {0};
  struct rp__json call;
  int64_t answer = 0;
  struct rp__shown row;
  int rc = rp__show(srv->engine, e->id, &row, err);
  if (!rc && (row.ended || row.trashed_at))
    rc = rp__fail(err, RP_E_ENDED, "Session is %s", row.trashed_at ? "in the trash" : row.status);
  if (!rc) rc = rp_state_json(e->s, -1, &text, err);
  if (rc) return rc;
  struct rp__json state = rp__json_trusted(text, strlen(text)), runtime = rp__json_get(state, "runtime");
  *ret = (struct rp__agent_facts){.approval = rp__json_count(rp__json_get(state, "approvals")) > 0,
                                  .question = rp__json_count(rp__json_get(state, "questions")) > 0};
  if (rp__json_text(rp__json_get(runtime, "status"), &status) == 0 && status.p)
    snprintf(ret->status, sizeof ret->status, "%s", status.p);
  while (tools && rp__json_next(rp__json_get(state, "tools"), &it, NULL, &call)) {
    struct rp__json id = rp__json_get(call, "call_id"), name = rp__json_get(call, "name");
    struct rp__json done = rp__json_get(call, "status");
    if (rp__json_eq(done, "done") || rp__json_eq(done, "failed")) continue;
    if (is_string(id) && is_string(name)) rp__agent_tools_call(tools, id, name);
  }
  /* The last answer, and the last stream of an agent that is not ended, with whose whole message it may come back. */
  struct rp__json messages = rp__json_get(rp__json_get(state, "conversation"), "messages"), m;
  for (struct rp__json_iter at = {0}; rp__json_next(messages, &at, NULL, &m);) {
    struct rp__json id = rp__json_get(m, "message_id"), content = rp__json_get(m, "content");
    if (!rp__json_eq(rp__json_get(m, "role"), "assistant")) continue;
    rp__json_i64(rp__json_get(m, "seq"), &answer);
    bool open = rp__json_get(m, "partial").type == RP_JSON_TRUE;
    if (tools && open && is_string(id) && is_string(content)) rp__agent_tools_recall(tools, id, content);
  }
  /* To a session that never had an agent, what nobody has answered is for the first one. */
  if (!rp__json_i64(rp__json_get(runtime, "delivered"), &ret->delivered)) ret->delivered = answer;
  rp_free(text);
  return tools && ret->delivered ? read_pending(e, ret->delivered, tools, err) : 0;
}

static void run(struct rp__task *t)
{
  struct entering *x = (struct entering *)(void *)t;
  rp_error *err = &x->err;
  int64_t seq;
  int rc = rp__registry_get(x->srv->registry, x->id, &x->entry, err);
  /* A key or a prefix, whose token is another's; or a later session of the same id. */
  if (!rc && (strcmp(x->entry->id, x->id) != 0 ||
              !rp__auth_is_agent_token(x->srv->auth, x->id, x->entry->birth, rp__str(x->token), &x->moved)))
    rc = rp__fail(err, RP_E_SESSION_NOT_FOUND, "Authentication failed");
  if (!rc) rc = rp__agent_facts(x->srv, x->entry, &x->facts, &x->g->tools, err);
  if (!rc && x->facts.status[0] && !rp__agent_session_alive(x->facts.status))
    rc =
        rp__fail(err, RP_E_ENDED, "Session %s", strcmp(x->facts.status, "error") == 0 ? "has failed" : "is terminated");
  if (!rc) rc = rp_sync(x->entry->s, RP_AGENT_CLIENT, &x->client_seq, &seq, err);
  if (!rc) rc = rp__roster_load(x->roster, err);
  if (!rc) rc = rp__roster_add(x->roster, x->id, err);
  if (!rc) x->returns = rp__roster_returns(x->roster, x->id);
  x->rc = rc;
  if (rp__loop_post(x->srv->loop, &x->job)) return;
  rp__registry_put(x->srv->registry, x->entry);
  free(x);
}

/* ---- getting the session; in the loop ---- */

static struct rp__net_msg *words(const char *type, const char *name, const char *text, const struct entering *x)
{
  struct rp__buf out RP_AUTOBUF = RP_BUF(1024);
  struct rp__jw w = RP_JW(&out);
  rp__jw_object(&w);
  rp__jw_kstr(&w, "type", type);
  rp__jw_kstr(&w, name, text);
  if (x) {
    rp__jw_ki64(&w, "lastClientSeq", x->client_seq);
    rp__jw_ki64(&w, "seq", x->g->session->delivered);
  }
  rp__jw_end_object(&w);
  return out.err ? NULL : rp__ws_text(out.p, out.n);
}

static int enter(struct entering *x, rp_error *err)
{
  struct rp__agent *g = x->g;
  struct rp__agents *a = g->of;
  struct rp__agent_session *s = rp__agent_session_find(a, x->id);
  if (s) {
    rp__registry_put(x->srv->registry, RP_TAKE(x->entry));
    if (!s->agent && rp__agent_session_join(a, s, err)) return RP_E_NOMEM;
  } else {
    s = rp__agent_session_new(a, RP_TAKE(x->entry));
    if (!s) return rp__fail_nomem(err);
    snprintf(s->status, sizeof s->status, "%s", x->facts.status);
    s->restarted = x->returns; /* faster than rp__agents_restore */
  }
  struct rp__agent *old = s->agent;
  if (old) {
    atomic_fetch_add_explicit(&a->replaced, 1, memory_order_relaxed);
    atomic_fetch_sub(&a->n_connected, 1);
    rp__agent_unsubscribe(old);
    rp__timer_stop(a->srv->loop, &old->marker);
    old->session = NULL; /* its close is no business of the session's any more */
    s->agent = NULL;
    rp__agent_close(old, RP_CLOSE_REPLACED, "Replaced");
  }
  s->delivered = RP_MAX(s->delivered, x->facts.delivered);
  s->agent = g;
  g->session = s;
  g->state = RP_AGENT_ENTERED;
  atomic_fetch_add(&a->n_connected, 1);
  /*
   * Where no connection was left to replace, the agent was away, whatever the journal got to know of it; save that one
   * that is starting is new, be it by an explicit start after a failure.
   */
  if (!s->status[0])
    rp__agent_session_set(a, s, "starting", NULL, NULL);
  else if (!old && strcmp(s->status, "starting") != 0)
    rp__agent_session_set(a, s,
                          x->facts.approval   ? "awaiting_approval"
                          : x->facts.question ? "awaiting_answer"
                                              : "idle",
                          NULL, s->restarted ? RESTORED : RECONNECTED);
  s->restarted = false;
  /* Agents of that program take a token_update for the one they pay their model with. */
  if (!x->moved) rp__agent_send(g, words("token_update", "token", x->token, NULL));
  rp__agent_send(g, words("auth_ok", "sessionId", x->id, x));
  rp__slog(&x->srv->log, RP_LOG_INFO, "agent_connected", RP_F("session", x->id), RP_F("status", s->status));
  int rc = rp__agent_subscribe(g, x->facts.delivered, err);
  if (!rc) rp__agent_entered(g);
  return rc;
}

static void entered(struct rp__job *job)
{
  struct entering *x = (struct entering *)(void *)((char *)job - offsetof(struct entering, job));
  struct rp__agent *g = x->g;
  int rc = x->rc;
  if (!rc && g->ws && !g->of->closing) rc = enter(x, &x->err);
  if (rc && g->ws) {
    char reason[REASON_MAX], message[RP_PROBLEM_TEXT];
    bool later = rp_error_lookup(rc)->retryable;
    rp__problem_text(&x->err, message);
    if (rc == RP_E_SESSION_NOT_FOUND)
      snprintf(reason, sizeof reason, "Authentication failed");
    else
      rp__text_copy(reason, sizeof reason, message);
    atomic_fetch_add_explicit(&g->of->refused, 1, memory_order_relaxed);
    rp__agent_close(g, later ? 1013 : rc == RP_E_ENDED || rc == RP_E_SESSION_NOT_FOUND ? RP_CLOSE_AUTH : 1011, reason);
  }
  rp__registry_put(x->srv->registry, x->entry);
  free(x);
  rp__agent_landed(g, 0);
}

/* ---- the first message ---- */

/* Decodes a member into a fixed place; false when it is no string or too long. */
static bool read_text(struct rp__json v, char *out, size_t size)
{
  struct rp__buf text RP_AUTOBUF = RP_BUF(size - 1);
  if (rp__json_text(v, &text) || !text.n || memchr(text.p, 0, text.n)) return false;
  snprintf(out, size, "%s", text.p);
  return true;
}

void rp__agent_enter(struct rp__agent *g, struct rp__json message)
{
  struct rp__server *srv = g->of->srv;
  if (!rp__json_eq(rp__json_get(message, "type"), "auth")) {
    rp__agent_close(g, RP_CLOSE_AUTH, "Not authenticated");
    return;
  }
  struct entering *x = calloc(1, sizeof *x);
  if (!x) {
    rp__agent_close(g, 1011, "out of memory");
    return;
  }
  *x = (struct entering){.task.fn = run, .job.fn = entered, .g = g, .srv = srv, .roster = &g->of->roster};
  bool ok = read_text(rp__json_get(message, "sessionId"), x->id, sizeof x->id) &&
            read_text(rp__json_get(message, "token"), x->token, sizeof x->token) &&
            rp__auth_is_agent_token(srv->auth, x->id, RP_BIRTH_ANY, rp__str(x->token), &x->moved);
  g->acks = rp__json_get(message, "acks").type == RP_JSON_TRUE;
  g->flying++;
  g->state = RP_AGENT_ENTERING;
  rp__timer_stop(srv->loop, &g->timer);
  if (ok && rp__pool_post(srv->pool, &x->task)) return;
  free(x);
  g->flying--;
  rp__agent_close(g, ok ? 1013 : RP_CLOSE_AUTH, ok ? "too much is going on, try again later" : "Authentication failed");
}
