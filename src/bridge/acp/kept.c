/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of the agent's that wait for something: copies, in their order. */
#include "bridge/acp/impl.h"

void rp__kepts_append(struct rp__kepts *l, struct rp__kept *k)
{
  k->next = NULL;
  *(l->tail ? &l->tail->next : &l->head) = k;
  l->tail = k;
  l->n++;
  l->bytes += k->m.line.n;
}

bool rp__kepts_add(struct rp__kepts *l, const struct rp__msg *m)
{
  if (l->n >= RP_ACP_KEPT || l->bytes + m->line.n > RP_ACP_KEPT_BYTES) return false;
  struct rp__kept *k = malloc(sizeof *k + rp__msg_size(m));
  if (!k) return false;
  *k = (struct rp__kept){0};
  rp__msg_copy(m, k->line, &k->m);
  rp__kepts_append(l, k);
  return true;
}

void rp__kepts_done(struct rp__kepts *l)
{
  for (struct rp__kept *k = l->head, *next; k; k = next) {
    next = k->next;
    free(k);
  }
  *l = (struct rp__kepts){0};
}

void rp__kepts_deliver(struct rp__kepts *l, struct rp__acp_session *s)
{
  struct rp__kepts mine = *l;
  *l = (struct rp__kepts){0};
  for (struct rp__kept *k = mine.head; k; k = k->next) rp__acp_deliver(s, &k->m);
  rp__kepts_done(&mine);
}
