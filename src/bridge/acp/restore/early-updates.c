/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Updates for a session that come too early. Agents send updates for a session before they have answered the
 * session/new or session/load that makes the session known. Such updates wait for the answer, so that every update
 * delivered is in the journal, and a load that fails leaves nothing behind. Agents also send updates for a session that
 * they have while the editor still waits for its own answer; these updates wait until the editor has it.
 */
#include "bridge/acp/session/session.h"

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
static void take(struct rp__acp *a, const char *sid, struct rp__waiting_lines *ret)
{
  rp__waiting_lines_init(ret);
  for (struct rp__waiting_line *k = TAILQ_FIRST(&a->early_updates.list), *next; k; k = next) {
    next = TAILQ_NEXT(k, link);
    if (!sid || rp__json_eq(sid_of(&k->m), sid)) rp__waiting_lines_move(&a->early_updates, ret, k);
  }
}

void rp__early_updates_release(struct rp__acp_session *s)
{
  struct rp__waiting_lines mine;
  const struct rp__waiting_line *k;
  if (!s->agent_sid) return;
  take(s->a, s->agent_sid, &mine);
  TAILQ_FOREACH(k, &mine.list, link) rp__acp_from_agent(s->a, &k->m);
  rp__waiting_lines_done(&mine);
}

void rp__early_updates_drop(struct rp__acp *a, struct rp__json sid)
{
  struct rp__waiting_lines mine;
  char *name RP_AUTOFREE = rp__json_dup(sid);
  if (!name) return;
  take(a, name, &mine);
  rp__waiting_lines_done(&mine);
}

void rp__early_updates_settle(struct rp__acp *a)
{
  struct rp__waiting_lines rest;
  const struct rp__waiting_line *k;
  if (!a->early_updates.n || expected(a, NULL)) return;
  take(a, NULL, &rest);
  TAILQ_FOREACH(k, &rest.list, link)
  if (!rp__acp_stale(a, sid_of(&k->m))) rp__acp_forward(a, RP_ACP_CLIENT, k->m.line);
  rp__waiting_lines_done(&rest);
}

/* States belong to what a load tells; but of a session that continues the editor knows nothing yet. */
bool rp__early_updates_wait(struct rp__acp_session *s, const struct rp__msg *m)
{
  if (!s->asked || !rp__acp_is_restoring(s)) return false;
  if (s->a->continuing != s && rp__replay_filter_is_state(rp__json_get(m->r.params, "update"))) return false;
  return rp__waiting_lines_add(&s->later, s, m, RP_WAITING_BYTES);
}
