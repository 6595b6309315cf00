/* SPDX-License-Identifier: Apache-2.0 */
/* Streams that are not over: listing their newest events, the key of their tails, and taking them away. */
#include "store/memory/memory.h"

int rp__mem_tail_key(struct rp__mem_store *m, struct rp__op *op, struct rp__mem_undo *u, rp_error *err)
{
  (void)u, (void)err;
  m->tail_key = rp__tail_key_number(op->u.tail_key.id);
  return 0;
}

/* What is forgotten is not brought back by a txn that is refused later: the op stands alone in its txn. */
int rp__mem_tails_forget(struct rp__mem_store *m, struct rp__op *op, struct rp__mem_undo *u, rp_error *err)
{
  struct rp__mem_session *s;
  int rc = rp__mem_touch(m, op, u, &s, err);
  if (rc != 0) return rc;
  for (size_t i = 0; i < s->events.n; i++) {
    free(RP_TAKE(s->events.p[i].tail));
    s->events.p[i].tail_len = 0;
  }
  s->row.tails.n = 0;
  s->row.tails.number = op->u.tails_forget.number;
  return 0;
}

enum { NO_STREAM, STREAM, NO_SESSION };

/* A copy of one stream's event, taken under the lock: which of the above, or an error. */
static int stream_copy(struct rp__mem_store *m, size_t session, size_t i, int64_t only, const struct rp__tails *which,
                       struct rp__tail_row *ret, struct rp__buf *bytes)
{
  pthread_mutex_lock(&m->mu);
  const struct rp__mem_session *s = session < m->sessions.n ? m->sessions.p[session] : NULL;
  int rc = s ? NO_STREAM : NO_SESSION;
  bool asked = s && (!only || s->row.ref == only);
  if (asked && !which) which = &s->row.tails;
  const struct rp__tail_at *at = asked && i < which->n ? &which->at[i] : NULL;
  if (at && at->seq <= (int64_t)s->events.n) {
    const struct rp__mem_event *e = &s->events.p[at->seq - 1];
    *ret = (struct rp__tail_row){.session_ref = s->row.ref, .seq = at->seq, .voice = at->voice};
    memcpy(ret->session_id, s->row.id, sizeof ret->session_id);
    memcpy(ret->scope, s->row.scope, sizeof ret->scope);
    ret->event =
        (struct rp__event_row){.seq = at->seq, .at_ms = e->at_ms, .sealed = e->sealed, .body_len = e->body_len};
    rp__name_set(ret->event.kind, e->kind);
    ret->tail_len = e->tail_len;
    rp__buf_reset(bytes);
    rp__buf_add(bytes, e->body, e->body_len + 1);
    rp__buf_add(bytes, e->tail, e->tail_len);
    rc = bytes->err ? RP_E_NOMEM : STREAM;
  }
  pthread_mutex_unlock(&m->mu);
  return rc;
}

int rp__mem_tail_list(struct rp__store *base, int64_t session_ref, const struct rp__tails *which, rp__tail_fn *fn,
                      void *ctx, rp_error *err)
{
  RP_AUTOBUF struct rp__buf bytes = RP_BUF(1UL << 30);
  struct rp__mem_store *m = rp__mem(base);
  for (size_t k = 0;; k++) {
    for (size_t i = 0; i < RP_TAILS_MAX; i++) {
      struct rp__tail_row row;
      int rc = stream_copy(m, k, i, session_ref, which, &row, &bytes);
      if (rc < 0) return rp__fail_nomem(err);
      if (rc == NO_SESSION) return 0;
      if (rc == NO_STREAM) break;
      row.event.body = bytes.p;
      row.tail = row.tail_len ? bytes.p + row.event.body_len + 1 : NULL;
      rc = row.tail || session_ref ? fn(ctx, &row) : 0;
      if (rc != 0) return rc;
    }
  }
}
