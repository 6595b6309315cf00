/* SPDX-License-Identifier: Apache-2.0 */
/* Requests without an answer, by id. Each direction has its own ids. A peer may respell an id in its answer. */
#include "bridge/acp/session/session.h"

struct rp__json rp__call_id(const struct rp__call *c)
{
  return rp__json_trusted(c->id, c->id_n);
}

struct rp__json rp__call_params(const struct rp__call *c)
{
  return rp__acp_raw(c->params);
}

struct rp__call *rp__calls_find(const struct rp__calls *t, struct rp__json id)
{
  if (!id.type) return NULL;
  for (struct rp__call *c = t->bucket[rp__rpc_id_hash(id) % RP_ACP_BUCKETS]; c; c = c->hash_next)
    if (rp__rpc_same_id(rp__call_id(c), id)) return c;
  return NULL;
}

struct rp__call *rp__calls_add(struct rp__calls *t, struct rp__json id, enum rp__call_kind kind)
{
  struct rp__call *c = calloc(1, sizeof *c + id.n + 1);
  if (!c) return NULL;
  memcpy(c->id, id.p, id.n);
  c->id_n = id.n;
  c->kind = kind;
  c->table = t;
  c->bucket = rp__rpc_id_hash(id) % RP_ACP_BUCKETS; /* of an id with escapes it needs memory: not asked twice */
  c->hash_next = t->bucket[c->bucket];
  t->bucket[c->bucket] = c;
  c->prev = t->tail;
  *(t->tail ? &t->tail->next : &t->head) = c;
  t->tail = c;
  t->n++;
  return c;
}

void rp__call_take(struct rp__call *c)
{
  struct rp__calls *t = c->table;
  if (!t) return;
  struct rp__call **at = &t->bucket[c->bucket];
  while (*at != c) at = &(*at)->hash_next;
  *at = c->hash_next;
  *(c->prev ? &c->prev->next : &t->head) = c->next;
  *(c->next ? &c->next->prev : &t->tail) = c->prev;
  t->n--;
  c->table = NULL;
}

void rp__call_free(struct rp__call *c)
{
  if (!c) return;
  rp__call_take(c);
  if (c->peer) c->peer->peer = NULL;
  /* Of the others a session may be gone, if they were out of the table when it went. */
  if (c->kind == RP_CALL_HERE && c->s && c->s->asked == c) c->s->asked = NULL;
  if (c->text) rp__buf_done(c->text);
  free(c->text);
  free(c->params);
  free(c->method);
  free(c->agent_id);
  rp_session_free(c->from);
  free(c);
}

void rp__calls_done(struct rp__calls *t)
{
  while (t->head) rp__call_free(t->head);
}

void rp__calls_forget(struct rp__calls *t, const struct rp__acp_session *s)
{
  for (struct rp__call *c = t->head; c; c = c->next)
    if (c->s == s) c->s = NULL;
}
