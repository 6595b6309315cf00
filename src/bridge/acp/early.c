/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Agents speak of a session before they have answered session/new or session/load with it. Such updates wait for the
 * answer, so that what is delivered is in the journal, and a load that fails leaves nothing behind. And they speak of
 * one that they have while the editor still waits for it.
 */
#include "bridge/acp/impl.h"

static bool same_text(struct rp__json x, struct rp__json y)
{
  char *text RP_AUTOFREE = rp__json_dup(x);
  return text && rp__json_eq(y, text);
}

static struct rp__json sid_of(const struct rp__msg *m)
{
  return rp__json_get(m->r.params, "sessionId");
}

/* Whether an answer may still make that id known; `sid` NONE: any. */
static bool expected(const struct rp__acp *a, struct rp__json sid)
{
  for (const struct rp__call *c = a->client.head; c; c = c->next) {
    if (c->kind == RP_CALL_NEW || c->kind == RP_CALL_FORK) return true;
    if (c->kind != RP_CALL_ADOPT || c->s || !c->params) continue;
    if (!sid.type || same_text(sid, rp__json_get(rp__json_trusted(c->params, strlen(c->params)), "sessionId")))
      return true;
  }
  for (const struct rp__acp_session *s = a->sessions; s; s = s->next)
    if (s->state == RP_ACP_RESTORING && s->rung == RP_RUNG_NEW && !s->bound) return true;
  return false;
}

bool rp__early_hold(struct rp__acp *a, const struct rp__msg *m)
{
  struct rp__json sid = sid_of(m);
  return sid.type == RP_JSON_STRING && expected(a, sid) && rp__kepts_add(&a->early, m);
}

/* Takes those of one session out (NONE: all), in their order. */
static struct rp__kepts take(struct rp__kepts *l, struct rp__json sid)
{
  struct rp__kepts mine = {0};
  struct rp__kept *k = l->head;
  *l = (struct rp__kepts){0};
  for (struct rp__kept *next; k; k = next) {
    next = k->next;
    rp__kepts_append(!sid.type || same_text(sid, sid_of(&k->m)) ? &mine : l, k);
  }
  return mine;
}

void rp__early_release(struct rp__acp_session *s)
{
  struct rp__acp *a = s->a;
  struct rp__buf raw RP_AUTOBUF = RP_BUF(8 * RP_ACP_SID);
  struct rp__jw w = RP_JW(&raw);
  if (!a->early.head || !s->agent_sid) return;
  rp__jw_str(&w, s->agent_sid);
  if (raw.err) return;
  struct rp__kepts mine = take(&a->early, rp__json_trusted(raw.p, raw.n));
  for (struct rp__kept *k = mine.head; k; k = k->next) rp__acp_from_agent(a, &k->m);
  rp__kepts_done(&mine);
}

void rp__early_drop(struct rp__acp *a, struct rp__json sid)
{
  if (!a->early.head || !sid.type) return;
  struct rp__kepts mine = take(&a->early, sid);
  rp__kepts_done(&mine);
}

void rp__early_settle(struct rp__acp *a)
{
  struct rp__json any = {0};
  if (!a->early.head || expected(a, any)) return;
  struct rp__kepts rest = take(&a->early, any);
  for (struct rp__kept *k = rest.head; k; k = k->next)
    if (!rp__acp_stale(a, sid_of(&k->m))) rp__acp_forward(a, RP_ACP_CLIENT, k->m.line);
  rp__kepts_done(&rest);
}

/* States belong to what a load tells; but of a session that continues the editor knows nothing yet. */
bool rp__early_wait(struct rp__acp_session *s, const struct rp__msg *m)
{
  if (!s->asked || s->state != RP_ACP_RESTORING) return false;
  if (!s->continues && rp__repeat_is_state(rp__json_get(m->r.params, "update"))) return false;
  return rp__kepts_add(&s->later, m);
}

void rp__early_done(struct rp__acp *a)
{
  rp__kepts_done(&a->early);
}
