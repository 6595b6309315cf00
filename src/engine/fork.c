/* SPDX-License-Identifier: Apache-2.0 */
/* B-07: a new session with a copy of the journal up to some event. It stands on its own: the old one may go. */
#include "engine/copy.h"

struct fork_ctx {
  struct rp__copy *copy;
  rp_error *err;
};

static int on_event(void *ctx, const struct rp__event *ev)
{
  struct fork_ctx *x = ctx;
  return rp__copy_event(x->copy, ev->seq, ev->at_ms, ev->kind_name, ev->body.p, ev->body.n, x->err);
}

static void fork_row(const struct rp__session_row *from, int64_t at_seq, int64_t now, struct rp__session_row *to)
{
  *to = (struct rp__session_row){.status = at_seq ? RP_STATUS_ACTIVE : RP_STATUS_CREATED,
                                 .created_at = now,
                                 .last_activity_at = now,
                                 .forked_at_seq = at_seq,
                                 .meta = from->meta};
  rp__uuid7(to->id, now, &rp__system_random);
  memcpy(to->scope, from->scope, sizeof to->scope);
  memcpy(to->channel, from->channel, sizeof to->channel);
  memcpy(to->provider, from->provider, sizeof to->provider);
  memcpy(to->forked_from, from->id, sizeof to->forked_from);
}

int rp_fork(rp_session *s, int64_t at_seq, char *ret_id, rp_error *err)
{
  struct rp__session_row from = {0}, to;
  int rc = rp__session_check(s, err);
  if (!rc) rc = rp__session_row(s, &from, err);
  if (rc) return rc;
  if (at_seq < 0) at_seq = from.last_seq;
  if (at_seq > from.last_seq) {
    rp__session_row_done(&from);
    return rp__fail_field(err, RP_E_SEQ_NOT_FOUND, "at", "session %s has %lld events", s->id, (long long)from.last_seq);
  }
  rp_error own;
  struct fork_ctx x = {NULL, err ? err : &own};
  fork_row(&from, at_seq, rp__engine_now(s->e), &to);
  rc = rp__copy_begin(s->e, &to, &x.copy, err);
  if (!rc && at_seq) rc = rp__journal_read(s, 0, at_seq, on_event, &x, x.err);
  if (!rc) rc = rp__copy_finish(x.copy, &to, err);
  rp__copy_free(x.copy);
  rp__session_row_done(&from); /* `to` borrowed its meta */
  if (!rc) memcpy(ret_id, to.id, sizeof to.id);
  return rc;
}
