/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An agent says who it is (C-06). The session is looked at in the pool; then, in the
 * loop, the agent takes its seat: an older connection goes, one that was awaited is
 * told of in the conversation (C-04), and the agent gets its token, then auth_ok, then
 * what it has not had yet.
 */
#include "base/fleet.h"
#include "base/text.h"
#include "server/agent-impl.h"
#include "server/call.h"

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

static int on_shown(void *ctx, const rp_session_info *info)
{
  char *status = ctx;
  snprintf(status, RP_AGENT_STATUS, "%s", info->trashed_at ? "in the trash" : info->status);
  return 0;
}

static int check_open(struct rp__server *srv, const char *id, rp_error *err)
{
  char status[RP_AGENT_STATUS] = "";
  int rc = rp_show(srv->engine, id, on_shown, status, err);
  bool ended = strcmp(status, "closed") == 0 || strcmp(status, "abandoned") == 0 || strcmp(status, "in the trash") == 0;
  return rc || !ended ? rc : rp__fail(err, RP_E_ENDED, "Session is %s", status);
}

/* Of a session that never had an agent: what nobody has answered is for the first one. */
static int64_t last_answer(struct rp__json state)
{
  struct rp__json messages = rp__json_get(rp__json_get(state, "conversation"), "messages"), m;
  struct rp__json_iter it = {0};
  int64_t seq, last = 0;
  while (rp__json_next(messages, &it, NULL, &m))
    if (rp__json_eq(rp__json_get(m, "role"), "assistant") && rp__json_i64(rp__json_get(m, "seq"), &seq)) last = seq;
  return last;
}

static void read_calls(struct rp__json state, struct rp__agent_mind *mind)
{
  struct rp__json tools = rp__json_get(state, "tools"), call;
  struct rp__json_iter it = {0};
  while (mind && rp__json_next(tools, &it, NULL, &call)) {
    struct rp__json id = rp__json_get(call, "call_id"), name = rp__json_get(call, "name");
    struct rp__json status = rp__json_get(call, "status");
    bool open = !rp__json_eq(status, "done") && !rp__json_eq(status, "failed");
    if (open && id.type == RP_JSON_STRING && name.type == RP_JSON_STRING) rp__agent_mind_call(mind, id, name);
  }
}

/* The last stream of an agent that is not ended: it may come back with the whole message. */
static void read_stream(struct rp__json state, struct rp__agent_mind *mind)
{
  struct rp__json messages = rp__json_get(rp__json_get(state, "conversation"), "messages"), m;
  struct rp__json_iter it = {0};
  while (mind && rp__json_next(messages, &it, NULL, &m)) {
    struct rp__json id = rp__json_get(m, "message_id"), content = rp__json_get(m, "content");
    bool open = rp__json_get(m, "partial").type == RP_JSON_TRUE && rp__json_eq(rp__json_get(m, "role"), "assistant");
    if (open && id.type == RP_JSON_STRING && content.type == RP_JSON_STRING) rp__agent_mind_recall(mind, id, content);
  }
}

static void read_asked(struct rp__json state, const char *facet, struct rp__agent_mind *mind)
{
  struct rp__json_iter it = {0};
  struct rp__json row;
  while (rp__json_next(rp__json_get(state, facet), &it, NULL, &row))
    rp__agent_mind_ask(mind, strcmp(facet, "approvals") == 0, rp__json_get(row, "id"), true);
}

/* What was pending then: whether a decision that follows is one for the agent depends on that. */
static int read_pending(struct rp__entry *e, int64_t delivered, struct rp__agent_mind *mind, rp_error *err)
{
  char *text = NULL;
  if (!mind || !delivered) return 0;
  int rc = rp_state_json(rp__entry_session(e), delivered, &text, err);
  if (rc) return rc;
  struct rp__json state = rp__json_trusted(text, strlen(text));
  read_asked(state, "approvals", mind);
  read_asked(state, "questions", mind);
  rp_free(text);
  return 0;
}

int rp__agent_facts(struct rp__server *srv, struct rp__entry *e, struct rp__agent_facts *ret,
                    struct rp__agent_mind *mind, rp_error *err)
{
  char *text = NULL;
  struct rp__buf status RP_AUTOBUF = RP_BUF(RP_AGENT_STATUS - 1);
  int rc = check_open(srv, rp__entry_id(e), err);
  if (!rc) rc = rp_state_json(rp__entry_session(e), -1, &text, err);
  if (rc) return rc;
  struct rp__json state = rp__json_trusted(text, strlen(text)), runtime = rp__json_get(state, "runtime");
  *ret = (struct rp__agent_facts){.approval = rp__json_count(rp__json_get(state, "approvals")) > 0,
                                  .question = rp__json_count(rp__json_get(state, "questions")) > 0};
  if (rp__json_text(rp__json_get(runtime, "status"), &status) == 0 && status.p)
    snprintf(ret->status, sizeof ret->status, "%s", status.p);
  if (!rp__json_i64(rp__json_get(runtime, "delivered"), &ret->delivered)) ret->delivered = last_answer(state);
  read_calls(state, mind);
  read_stream(state, mind);
  rp_free(text);
  return read_pending(e, ret->delivered, mind, err);
}

static int look(struct entering *x, rp_error *err)
{
  int64_t seq;
  int rc = rp__registry_get(x->srv->registry, x->id, &x->entry, err);
  /* A key or a prefix, whose token is another's; or a later session of the same id. */
  if (!rc && (strcmp(rp__entry_id(x->entry), x->id) != 0 ||
              !rp__auth_is_agent_token(x->srv->auth, x->id, rp__entry_birth(x->entry), rp__str(x->token), &x->moved)))
    rc = rp__fail(err, RP_E_SESSION_NOT_FOUND, "Authentication failed");
  if (!rc) rc = rp__agent_facts(x->srv, x->entry, &x->facts, &x->g->mind, err);
  if (!rc && x->facts.status[0] && !rp__seat_alive(x->facts.status))
    rc =
        rp__fail(err, RP_E_ENDED, "Session %s", strcmp(x->facts.status, "error") == 0 ? "has failed" : "is terminated");
  if (!rc) rc = rp_sync(rp__entry_session(x->entry), RP_AGENT_CLIENT, &x->client_seq, &seq, err);
  if (!rc) rc = rp__roster_load(x->roster, err);
  if (!rc) rc = rp__roster_add(x->roster, x->id, err);
  if (!rc) x->returns = rp__roster_returns(x->roster, x->id);
  return rc;
}

static void run(struct rp__task *t)
{
  struct entering *x = (struct entering *)(void *)t;
  x->rc = look(x, &x->err);
  if (rp__loop_post(x->srv->loop, &x->job)) return;
  rp__registry_put(x->srv->registry, x->entry);
  free(x);
}

/* ---- taking the seat; in the loop ---- */

static void refuse(struct rp__agent *g, int rc, const rp_error *err)
{
  char reason[REASON_MAX], message[RP_PROBLEM_TEXT];
  bool later = rp_error_lookup(rc)->retryable;
  rp__problem_text(err, message);
  if (rc == RP_E_SESSION_NOT_FOUND)
    snprintf(reason, sizeof reason, "Authentication failed");
  else
    rp__text_copy(reason, sizeof reason, message);
  atomic_fetch_add_explicit(&g->of->refused, 1, memory_order_relaxed);
  rp__agent_close(g, later ? 1013 : rc == RP_E_ENDED || rc == RP_E_SESSION_NOT_FOUND ? RP_CLOSE_AUTH : 1011, reason);
}

static void replace(struct rp__agents *a, struct rp__seat *s)
{
  struct rp__agent *old = s->agent;
  if (!old) return;
  atomic_fetch_add_explicit(&a->replaced, 1, memory_order_relaxed);
  atomic_fetch_sub(&a->n_seated, 1);
  rp__agent_unsubscribe(old);
  rp__timer_stop(a->srv->loop, &old->marker);
  old->seat = NULL; /* its close is no business of the session's any more */
  s->agent = NULL;
  rp__agent_close(old, RP_CLOSE_REPLACED, "Replaced");
}

static struct rp__msg *words(const char *type, const char *name, const char *text, const struct entering *x)
{
  struct rp__buf out RP_AUTOBUF = RP_BUF(1024);
  struct rp__jw w = RP_JW(&out);
  rp__jw_object(&w);
  rp__jw_kstr(&w, "type", type);
  rp__jw_kstr(&w, name, text);
  if (x) {
    rp__jw_ki64(&w, "lastClientSeq", x->client_seq);
    rp__jw_ki64(&w, "seq", x->g->seat->delivered);
  }
  rp__jw_end_object(&w);
  return out.err ? NULL : rp__ws_text(out.p, out.n);
}

static void greet(struct rp__agent *g, const struct entering *x)
{
  /* Agents of that program take a token_update for the one they pay their model with. */
  if (!x->moved) rp__agent_send(g, words("token_update", "token", x->token, NULL));
  rp__agent_send(g, words("auth_ok", "sessionId", x->id, x));
}

/*
 * Where no connection was left to replace, the agent was away, whatever the journal got to know of it; save that one
 * that is starting is new, be it by an explicit start after a failure.
 */
static void settle_status(struct rp__agents *a, struct rp__seat *s, const struct entering *x, bool replaced)
{
  if (!s->status[0])
    rp__seat_set(a, s, "starting", NULL, NULL);
  else if (!replaced && strcmp(s->status, "starting") != 0)
    rp__seat_set(a, s,
                 x->facts.approval   ? "awaiting_approval"
                 : x->facts.question ? "awaiting_answer"
                                     : "idle",
                 NULL, s->restarted ? RESTORED : RECONNECTED);
}

static int sit(struct entering *x, rp_error *err)
{
  struct rp__agent *g = x->g;
  struct rp__agents *a = g->of;
  struct rp__seat *s = rp__seat_find(a, x->id);
  if (s) {
    rp__registry_put(x->srv->registry, RP_TAKE(x->entry));
  } else {
    s = rp__seat_new(a, RP_TAKE(x->entry));
    if (!s) return rp__fail_nomem(err);
    snprintf(s->status, sizeof s->status, "%s", x->facts.status);
    s->restarted = x->returns; /* faster than rp__agents_restore */
  }
  bool replaced = s->agent != NULL;
  rp__seat_deadline(a, s, 0);
  replace(a, s);
  s->delivered = RP_MAX(s->delivered, x->facts.delivered);
  s->agent = g;
  g->seat = s;
  g->state = RP_AGENT_SEATED;
  atomic_fetch_add(&a->n_seated, 1);
  settle_status(a, s, x, replaced);
  s->restarted = false;
  greet(g, x);
  rp__slog(&x->srv->log, RP_LOG_INFO, "agent_connected", RP_F("session", x->id), RP_F("status", s->status));
  int rc = rp__agent_subscribe(g, x->facts.delivered, err);
  if (!rc) rp__agent_seated(g);
  return rc;
}

static void entered(struct rp__job *job)
{
  struct entering *x = (struct entering *)(void *)((char *)job - offsetof(struct entering, job));
  struct rp__agent *g = x->g;
  int rc = x->rc;
  if (!rc && g->ws && !g->of->closing) rc = sit(x, &x->err);
  if (rc && g->ws) refuse(g, rc, &x->err);
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
