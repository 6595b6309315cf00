/* SPDX-License-Identifier: Apache-2.0 */
/* Lines that wait: for the agent's restart, for a session's restoration, or for an answer that names their session. */
#include "bridge/acp/session/session.h"

#include <assert.h>

void rp__waiting_lines_init(struct rp__waiting_lines *l)
{
  TAILQ_INIT(&l->list);
  l->n = l->bytes = 0;
}

static struct rp__waiting_line *take(struct rp__waiting_lines *l, struct rp__waiting_line *k)
{
  assert(l->n && l->bytes >= k->m.line.n);
  TAILQ_REMOVE(&l->list, k, link);
  l->n--;
  l->bytes -= k->m.line.n;
  return k;
}

static void append(struct rp__waiting_lines *l, struct rp__waiting_line *k)
{
  TAILQ_INSERT_TAIL(&l->list, k, link);
  l->n++;
  l->bytes += k->m.line.n;
}

void rp__waiting_lines_done(struct rp__waiting_lines *l)
{
  for (struct rp__waiting_line *k; (k = TAILQ_FIRST(&l->list));) free(take(l, k));
}

bool rp__waiting_lines_add(struct rp__waiting_lines *l, struct rp__acp_session *s, const struct rp__msg *m, size_t max)
{
  if (l->n >= RP_WAITING_MAX || l->bytes + m->line.n > max) return false;
  /* The text is the line, or stands behind it. */
  size_t n = m->line.n, text = m->text.p == m->line.p ? 0 : n + 1;
  struct rp__waiting_line *k = malloc(sizeof *k + n + 1 + (text ? m->text.n + 1 : 0));
  if (!k) return false;
  *k = (struct rp__waiting_line){.s = s};
  k->prompt = m->r.type == RP_RPC_REQUEST && rp__json_eq(m->r.method, "session/prompt");
  memcpy(k->line, m->line.p, n);
  k->line[n] = '\0';
  if (text) memcpy(k->line + text, m->text.p, m->text.n);
  k->line[text + m->text.n] = '\0';
  k->m.line = (struct rp__str){k->line, n};
  k->m.text = (struct rp__str){k->line + text, m->text.n};
  rp__rpc_route(k->m.text.p, k->m.text.n, &k->m.r);
  append(l, k);
  return true;
}

void rp__waiting_lines_deliver(struct rp__waiting_lines *l, struct rp__acp_session *s)
{
  for (struct rp__waiting_line *k; (k = TAILQ_FIRST(&l->list));) {
    take(l, k);
    rp__acp_deliver(s, &k->m);
    free(k);
  }
}

/* ---- the editor's ---- */

void rp__waiting_request_add(struct rp__acp *a, struct rp__acp_session *s, const struct rp__msg *m)
{
  const char *why = NULL;
  size_t prompts = 0;
  const struct rp__waiting_line *k;
  TAILQ_FOREACH(k, &a->waiting.list, link)
  prompts += k->prompt && s && k->s == s;
  if (prompts >= RP_WAITING_PROMPTS && rp__json_eq(m->r.method, "session/prompt"))
    why = "too many prompts wait for this session";
  else if (!rp__waiting_lines_add(&a->waiting, s, m, RP_WAITING_REQUEST_BYTES))
    why = "too many requests wait for the agent, or there is no memory";
  if (why && m->r.type == RP_RPC_REQUEST) rp__acp_error(a, RP_ACP_CLIENT, m->r.id, RP_ACP_E_INTERNAL, why, NULL);
}

/* Takes out the lines that waited for `s` first: a line that must wait again goes to the end of the list. */
static void take_for(struct rp__acp *a, const struct rp__acp_session *s, struct rp__waiting_lines *ret)
{
  rp__waiting_lines_init(ret);
  for (struct rp__waiting_line *k = TAILQ_FIRST(&a->waiting.list), *next; k; k = next) {
    next = TAILQ_NEXT(k, link);
    if (k->s == s) append(ret, take(&a->waiting, k));
  }
}

void rp__waiting_request_release(struct rp__acp *a, struct rp__acp_session *s)
{
  struct rp__waiting_lines mine;
  if (s) rp__waiting_lines_deliver(&s->later, s); /* said before those are heard */
  take_for(a, s, &mine);
  for (struct rp__waiting_line *k; (k = TAILQ_FIRST(&mine.list));) {
    take(&mine, k);
    rp__acp_from_client(a, &k->m);
    free(k);
  }
}

void rp__waiting_request_fail(struct rp__acp *a, struct rp__acp_session *s, const char *why, const char *data)
{
  struct rp__waiting_lines mine;
  const struct rp__waiting_line *k;
  take_for(a, s, &mine);
  TAILQ_FOREACH(k, &mine.list, link)
  if (k->m.r.type == RP_RPC_REQUEST) rp__acp_error(a, RP_ACP_CLIENT, k->m.r.id, RP_ACP_E_INTERNAL, why, data);
  rp__waiting_lines_done(&mine);
}

bool rp__waiting_request_cancel_prompts(struct rp__acp *a, struct rp__json sid)
{
  char *name RP_AUTOFREE = rp__json_dup(sid);
  bool any = false;
  for (struct rp__waiting_line *k = TAILQ_FIRST(&a->waiting.list), *next; k; k = next) {
    next = TAILQ_NEXT(k, link);
    if (!name || !k->prompt || !rp__json_eq(rp__json_get(k->m.r.params, "sessionId"), name)) continue;
    take(&a->waiting, k);
    rp__acp_answer_empty(a, k->m.r.id, "cancelled");
    free(k);
    any = true;
  }
  return any;
}

static struct rp__waiting_line *find(const struct rp__acp *a, struct rp__json id)
{
  struct rp__waiting_line *k;
  TAILQ_FOREACH(k, &a->waiting.list, link)
  if (id.type && k->m.r.type == RP_RPC_REQUEST && rp__rpc_same_id(k->m.r.id, id)) break;
  return k;
}

bool rp__waiting_request_has(const struct rp__acp *a, struct rp__json id)
{
  return find(a, id) != NULL;
}

bool rp__waiting_request_cancel_id(struct rp__acp *a, struct rp__json id)
{
  struct rp__waiting_line *k = find(a, id);
  if (!k) return false;
  take(&a->waiting, k);
  rp__acp_error(a, RP_ACP_CLIENT, k->m.r.id, RP_ACP_E_CANCELLED, "the request was cancelled", NULL);
  free(k);
  return true;
}

/*
 * ---- updates that come too early. Agents send updates for a session before they have answered the session/new or
 * session/load that makes the session known. Such updates wait for the answer, so that every update delivered is in the
 * journal, and a load that fails leaves nothing behind. ----
 */

static struct rp__json sid_of(const struct rp__msg *m)
{
  return rp__json_get(m->r.params, "sessionId");
}

/* Whether an answer may still make that id known; `sid` NULL: any. */
static bool expected(const struct rp__acp *a, const char *sid)
{
  for (const struct rp__call *c = a->client.head; c; c = c->next) {
    if (c->kind == RP_CALL_NEW || c->kind == RP_CALL_FORK) return true;
    if (c->kind != RP_CALL_ADOPT || c->s || !c->params) continue;
    if (!sid || rp__json_eq(rp__json_get(rp__call_params(c), "sessionId"), sid)) return true;
  }
  for (const struct rp__acp_session *s = a->sessions; s; s = s->next)
    if (s->state == RP_ACP_RESTORING && s->ladder.rung == RP_RUNG_NEW && !s->bound) return true;
  return false;
}

bool rp__early_updates_hold(struct rp__acp *a, const struct rp__msg *m)
{
  char *sid RP_AUTOFREE = rp__json_dup(sid_of(m));
  return sid && expected(a, sid) && rp__waiting_lines_add(&a->early_updates, NULL, m, RP_WAITING_BYTES);
}

/* Takes those of one session out (NULL: all), in their order. */
static void take_early(struct rp__acp *a, const char *sid, struct rp__waiting_lines *ret)
{
  rp__waiting_lines_init(ret);
  for (struct rp__waiting_line *k = TAILQ_FIRST(&a->early_updates.list), *next; k; k = next) {
    next = TAILQ_NEXT(k, link);
    if (!sid || rp__json_eq(sid_of(&k->m), sid)) append(ret, take(&a->early_updates, k));
  }
}

void rp__early_updates_release(struct rp__acp_session *s)
{
  struct rp__waiting_lines mine;
  const struct rp__waiting_line *k;
  if (!s->agent_sid) return;
  take_early(s->a, s->agent_sid, &mine);
  TAILQ_FOREACH(k, &mine.list, link) rp__acp_from_agent(s->a, &k->m);
  rp__waiting_lines_done(&mine);
}

void rp__early_updates_drop(struct rp__acp *a, struct rp__json sid)
{
  struct rp__waiting_lines mine;
  char *name RP_AUTOFREE = rp__json_dup(sid);
  if (!name) return;
  take_early(a, name, &mine);
  rp__waiting_lines_done(&mine);
}

void rp__early_updates_settle(struct rp__acp *a)
{
  struct rp__waiting_lines rest;
  const struct rp__waiting_line *k;
  if (!a->early_updates.n || expected(a, NULL)) return;
  take_early(a, NULL, &rest);
  TAILQ_FOREACH(k, &rest.list, link)
  if (!rp__acp_stale(a, sid_of(&k->m))) rp__acp_forward(a, RP_ACP_CLIENT, k->m.line);
  rp__waiting_lines_done(&rest);
}
