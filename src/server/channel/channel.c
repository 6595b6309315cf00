/* SPDX-License-Identifier: Apache-2.0 */
/* One topic on one socket: how it begins, what it says, and its end. */
#include "server/channel/channel.h"

#include "base/text.h"

/* ---- replies ---- */

void rp__channel_reply(struct rp__channel *ch, const char *ref, bool ok, struct rp__str json)
{
  struct rp__buf out RP_AUTOBUF = RP_BUF(RP_PHX_OUT_MAX);
  if (!ch->socket || !ref) return;
  rp__phx_reply(&out, ch->join_ref, ref, ch->topic, ok, json);
  rp__socket_must_send(ch->socket, out.err ? NULL : rp__ws_text(out.p, out.n));
}

void rp__channel_refuse(struct rp__channel *ch, const char *ref, const rp_error *err, const char *reason)
{
  struct rp__buf out RP_AUTOBUF = RP_BUF(RP_PUSH_ANSWER_MAX);
  struct rp__jw w = RP_JW(&out);
  rp__push_refusal(err, reason, &w);
  rp__channel_reply(ch, ref, false,
                    out.err ? RP_STR("{\"reason\":\"out_of_memory\"}") : (struct rp__str){out.p, out.n});
}

int rp__channel_tell(struct rp__channel *ch, const char *event, struct rp__str json)
{
  struct rp__buf out RP_AUTOBUF = RP_BUF(RP_PHX_OUT_MAX);
  if (!ch->socket) return 0;
  rp__phx_push(&out, NULL, NULL, ch->topic, event, json);
  return rp__socket_send(ch->socket, out.err ? NULL : rp__ws_text(out.p, out.n));
}

void rp__channel_say(struct rp__channel *ch, const char *join_ref, const char *event, struct rp__str json)
{
  struct rp__buf out RP_AUTOBUF = RP_BUF(RP_PHX_OUT_MAX);
  rp__phx_push(&out, join_ref, join_ref, ch->topic, event, json);
  rp__socket_must_send(ch->socket, out.err ? NULL : rp__ws_text(out.p, out.n));
}

/* ---- the end ---- */

static void leave_socket(struct rp__channel *ch)
{
  struct rp__socket *s = ch->socket;
  if (!s) return;
  struct rp__channel **at = &s->channels;
  while (*at != ch) at = &(*at)->sibling;
  *at = ch->sibling;
  s->n_channels--;
  s->waiting_bytes -= ch->bytes;
  ch->socket = NULL;
  ch->lingering = true;
  atomic_fetch_add(&ch->of->n_lingering, 1);
  if (ch->joined) atomic_fetch_sub(&ch->of->n_joined, 1);
}

void rp__channel_close(struct rp__channel *ch)
{
  if (!ch->socket) return;
  rp__channel_say(ch, ch->join_ref, "phx_close", RP_STR("{}"));
  rp__channel_unsubscribe(ch);
  leave_socket(ch);
}

/* Everything but what hangs on the server's other parts. */
void rp__channel_free(struct rp__channel *ch)
{
  for (struct rp__push *p = ch->head; p; p = ch->head) {
    ch->head = p->next;
    rp__push_free(p);
  }
  if (ch->member) rp__member_exit(ch->member, ch->may_write, false);
  rp__registry_put(ch->of->srv->registry, ch->entry);
  free(ch->old_ref);
  free(ch);
}

void rp__channel_retire(struct rp__channel *ch)
{
  struct rp__channels *c = ch->of;
  rp__channel_unsubscribe(ch);
  LIST_REMOVE(ch, in_all);
  if (ch->lingering) atomic_fetch_sub(&c->n_lingering, 1);
  if (ch->member) {
    rp__member_remove(ch->member, ch);
    rp__member_exit(ch->member, ch->may_write, ch->goodbye);
    ch->member = NULL;
  }
  rp__channel_free(ch);
}

/* ---- life ---- */

struct rp__channel *rp__channel_find(const struct rp__socket *s, const char *topic)
{
  struct rp__channel *ch = s->channels;
  while (ch && strcmp(ch->topic, topic) != 0) ch = ch->sibling;
  return ch;
}

void rp__channel_detach(struct rp__channel *ch, bool goodbye)
{
  ch->goodbye = goodbye;
  rp__channel_end_audio(ch);
  rp__channel_unsubscribe(ch);
  leave_socket(ch);
  rp__channel_pump(ch);
}

struct rp__channel *rp__channel_new(struct rp__socket *s, const struct rp__phx *m, enum rp__channel_topic kind)
{
  struct rp__channel *old = rp__channel_find(s, m->topic.p), *ch = calloc(1, sizeof *ch);
  if (!ch) return NULL;
  ch->of = s->of;
  ch->kind = kind;
  rp__text_copy(ch->topic, sizeof ch->topic, m->topic.p);
  /* A join without a join_ref is known by its ref, as Phoenix has it. */
  rp__text_copy(ch->join_ref, sizeof ch->join_ref, m->join_ref.p ? m->join_ref.p : m->ref.p ? m->ref.p : "");
  if (old && !(ch->old_ref = strdup(old->join_ref))) {
    free(ch);
    return NULL;
  }
  if (old) rp__channel_detach(old, false);
  ch->socket = s;
  ch->sibling = s->channels;
  s->channels = ch;
  s->n_channels++;
  LIST_INSERT_HEAD(&s->of->all, ch, in_all);
  return ch;
}
