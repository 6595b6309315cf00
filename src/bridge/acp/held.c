/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of the editor's that can't go yet: the agent is being started again, or a session restored. */
#include "bridge/acp/impl.h"

static void unlink_held(struct rp__helds *l, struct rp__held *h)
{
  *(h->prev ? &h->prev->next : &l->head) = h->next;
  *(h->next ? &h->next->prev : &l->tail) = h->prev;
  l->n--;
  l->bytes -= h->m.line.n;
}

static void append(struct rp__helds *l, struct rp__held *h)
{
  h->next = NULL;
  h->prev = l->tail;
  *(l->tail ? &l->tail->next : &l->head) = h;
  l->tail = h;
  l->n++;
  l->bytes += h->m.line.n;
}

static unsigned prompts_of(const struct rp__helds *l, const struct rp__acp_session *s)
{
  unsigned n = 0;
  for (const struct rp__held *h = l->head; h; h = h->next) n += h->prompt && h->s == s;
  return n;
}

static void refuse(struct rp__acp *a, const struct rp__msg *m, const char *why)
{
  if (m->r.type == RP_RPC_REQUEST) rp__acp_error(a, RP_ACP_CLIENT, m->r.id, RP_ACP_E_INTERNAL, why, NULL);
}

void rp__held_add(struct rp__acp *a, struct rp__acp_session *s, const struct rp__msg *m)
{
  struct rp__helds *l = &a->held;
  bool prompt = m->r.type == RP_RPC_REQUEST && rp__json_eq(m->r.method, "session/prompt");
  if (l->n >= RP_ACP_HELD || l->bytes + m->line.n > RP_ACP_HELD_BYTES) {
    refuse(a, m, "too many requests wait for the agent");
    return;
  }
  if (prompt && s && prompts_of(l, s) >= RP_ACP_PROMPTS) {
    refuse(a, m, "too many prompts wait for this session");
    return;
  }
  struct rp__held *h = malloc(sizeof *h + rp__msg_size(m));
  if (!h) {
    refuse(a, m, "out of memory");
    return;
  }
  *h = (struct rp__held){.s = s, .prompt = prompt};
  rp__msg_copy(m, h->line, &h->m);
  append(l, h);
}

/* Takes what waited for `s` out first: a line that must wait again goes to the end of the list. */
static void take(struct rp__helds *from, struct rp__acp_session *s, struct rp__helds *to)
{
  for (struct rp__held *h = from->head, *next; h; h = next) {
    next = h->next;
    if (h->s != s) continue;
    unlink_held(from, h);
    append(to, h);
  }
}

void rp__held_release(struct rp__acp *a, struct rp__acp_session *s)
{
  struct rp__helds mine = {0};
  if (s) rp__kepts_deliver(&s->later, s); /* said before those are heard */
  take(&a->held, s, &mine);
  while (mine.head) {
    struct rp__held *h = mine.head;
    unlink_held(&mine, h);
    rp__acp_from_client(a, &h->m);
    free(h);
  }
}

void rp__held_fail(struct rp__acp *a, struct rp__acp_session *s, int code, const char *why, const char *data)
{
  struct rp__helds mine = {0};
  take(&a->held, s, &mine);
  while (mine.head) {
    struct rp__held *h = mine.head;
    unlink_held(&mine, h);
    if (h->m.r.type == RP_RPC_REQUEST) rp__acp_error(a, RP_ACP_CLIENT, h->m.r.id, code, why, data);
    free(h);
  }
}

static void answer_cancelled(struct rp__acp *a, struct rp__json id)
{
  struct rp__buf out RP_AUTOBUF = RP_BUF(RP_ACP_LINE);
  struct rp__jw w = rp__rpc_begin_result(&out, id);
  rp__jw_object(&w);
  rp__jw_kstr(&w, "stopReason", "cancelled");
  rp__jw_end_object(&w);
  rp__rpc_end(&w);
  rp__acp_send(a, RP_ACP_CLIENT, &out);
}

static bool same_text(struct rp__json x, struct rp__json y)
{
  char *text RP_AUTOFREE = rp__json_dup(x);
  return text && rp__json_eq(y, text);
}

bool rp__held_cancel_prompts(struct rp__acp *a, struct rp__json sid)
{
  bool any = false;
  for (struct rp__held *h = a->held.head, *next; h; h = next) {
    next = h->next;
    if (!h->prompt || !same_text(sid, rp__json_get(h->m.r.params, "sessionId"))) continue;
    unlink_held(&a->held, h);
    answer_cancelled(a, h->m.r.id);
    free(h);
    any = true;
  }
  return any;
}

static struct rp__held *find(const struct rp__acp *a, struct rp__json id)
{
  for (struct rp__held *h = a->held.head; h; h = h->next)
    if (h->m.r.type == RP_RPC_REQUEST && rp__rpc_same_id(h->m.r.id, id)) return h;
  return NULL;
}

bool rp__held_has(const struct rp__acp *a, struct rp__json id)
{
  return id.type && find(a, id) != NULL;
}

bool rp__held_cancel_id(struct rp__acp *a, struct rp__json id)
{
  struct rp__held *h = id.type ? find(a, id) : NULL;
  if (!h) return false;
  unlink_held(&a->held, h);
  rp__acp_error(a, RP_ACP_CLIENT, h->m.r.id, RP_ACP_E_CANCELLED, "the request was cancelled", NULL);
  free(h);
  return true;
}

void rp__held_done(struct rp__acp *a)
{
  while (a->held.head) {
    struct rp__held *h = a->held.head;
    unlink_held(&a->held, h);
    free(h);
  }
}
