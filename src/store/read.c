/* SPDX-License-Identifier: Apache-2.0 */
/* Several reads in one call, for stores in this process: calls the store's functions one after the other. */
#include "store/store.h"

static int read_one(struct rp__store *s, struct rp__read *r)
{
  const struct rp__store_ops *ops = s->ops;
  rp_error *err = &r->err;
  switch (r->type) {
  case RP_READ_SESSION:
    return ops->session_find(s, r->u.session.how, r->u.session.scope, r->u.session.what, r->u.session.ret, err);
  case RP_READ_SESSIONS: return ops->session_list(s, &r->u.sessions.filter, r->u.sessions.fn, r->ctx, err);
  case RP_READ_RUNS: return ops->run_list(s, &r->u.runs.filter, r->u.runs.fn, r->ctx, err);
  case RP_READ_EVENTS: return ops->event_list(s, &r->u.events.range, r->u.events.fn, r->ctx, err);
  case RP_READ_SNAPSHOTS:
    return ops->snapshot_list(s, r->u.snapshots.session_ref, r->u.snapshots.n, r->u.snapshots.fn, r->ctx, err);
  case RP_READ_TAILS: return ops->tail_list(s, r->u.tails.session_ref, r->u.tails.which, r->u.tails.fn, r->ctx, err);
  case RP_READ_SCOPE: return ops->scope_get(s, r->u.scope.scope, r->u.scope.ret, err);
  case RP_READ_RECALL: return ops->recall_list(s, &r->u.recall.filter, r->u.recall.fn, r->ctx, err);
  case RP_READ_RECORD: return ops->record_get(s, r->u.record.session_ref, r->u.record.ret, err);
  case RP_READ_TASK: return ops->task_get(s, r->u.task.scope, r->u.task.hash, r->u.task.ret, r->u.task.ret_found, err);
  case RP_READ_MEMORIES: return ops->memory_list(s, &r->u.memories.filter, r->u.memories.fn, r->ctx, err);
  case RP_READ_REQUEST:
    return ops->request_get(s, r->u.request.scope, r->u.request.key, r->u.request.ret, r->u.request.ret_found, err);
  }
  return rp__fail(err, RP_E_USAGE, "there is no such read");
}

int rp__store_read_each(struct rp__store *s, struct rp__read *reads, size_t n, rp_error *err)
{
  (void)err;
  for (size_t i = 0; i < n; i++) reads[i].rc = read_one(s, &reads[i]);
  return 0;
}
