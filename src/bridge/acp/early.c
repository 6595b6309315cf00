/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Agents speak of a session before they have answered session/new or session/load with it. Such updates wait for the
 * answer, so that what is delivered is in the journal, and a load that fails leaves nothing behind.
 */
#include "bridge/acp/impl.h"

struct rp__early {
  struct rp__early *next;
  struct rp__msg m; /* spans into `line` */
  char line[];
};

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
    if (c->kind == RP_CALL_NEW) return true;
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
  struct rp__earlies *l = &a->early;
  struct rp__json sid = sid_of(m);
  if (sid.type != RP_JSON_STRING || !expected(a, sid)) return false;
  if (l->n >= RP_ACP_EARLY || l->bytes + m->line.n > RP_ACP_EARLY_BYTES) return false;
  struct rp__early *h = malloc(sizeof *h + m->line.n + 1);
  if (!h) return false;
  *h = (struct rp__early){0};
  memcpy(h->line, m->line.p, m->line.n);
  h->line[m->line.n] = '\0';
  h->m.line = (struct rp__str){h->line, m->line.n};
  rp__rpc_route(h->line, m->line.n, &h->m.r);
  *(l->tail ? &l->tail->next : &l->head) = h;
  l->tail = h;
  l->n++;
  l->bytes += m->line.n;
  return true;
}

/* Takes those of one session out (NONE: all), in their order. */
static struct rp__early *take(struct rp__earlies *l, struct rp__json sid)
{
  struct rp__early *mine = NULL, **end = &mine, *all = l->head;
  *l = (struct rp__earlies){0};
  for (struct rp__early *h = all, *next; h; h = next) {
    next = h->next;
    h->next = NULL;
    if (!sid.type || same_text(sid, sid_of(&h->m))) {
      *end = h;
      end = &h->next;
      continue;
    }
    *(l->tail ? &l->tail->next : &l->head) = h;
    l->tail = h;
    l->n++;
    l->bytes += h->m.line.n;
  }
  return mine;
}

static void drop(struct rp__early *h)
{
  while (h) {
    struct rp__early *next = h->next;
    free(h);
    h = next;
  }
}

void rp__early_release(struct rp__acp_session *s)
{
  struct rp__acp *a = s->a;
  struct rp__buf raw RP_AUTOBUF = RP_BUF(8 * RP_ACP_SID);
  struct rp__jw w = RP_JW(&raw);
  if (!a->early.head || !s->agent_sid) return;
  rp__jw_str(&w, s->agent_sid);
  if (raw.err) return;
  struct rp__early *mine = take(&a->early, rp__json_trusted(raw.p, raw.n));
  for (struct rp__early *h = mine; h; h = h->next) rp__acp_from_agent(a, &h->m);
  drop(mine);
}

void rp__early_drop(struct rp__acp *a, struct rp__json sid)
{
  if (a->early.head && sid.type) drop(take(&a->early, sid));
}

void rp__early_settle(struct rp__acp *a)
{
  struct rp__json any = {0};
  if (!a->early.head || expected(a, any)) return;
  struct rp__early *rest = take(&a->early, any);
  for (struct rp__early *h = rest; h; h = h->next)
    if (!rp__acp_stale(a, sid_of(&h->m))) rp__acp_forward(a, RP_ACP_CLIENT, h->m.line);
  drop(rest);
}

void rp__early_done(struct rp__acp *a)
{
  struct rp__json any = {0};
  drop(take(&a->early, any));
}
