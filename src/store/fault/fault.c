/* SPDX-License-Identifier: Apache-2.0 */
/* A store that fails on demand: tests of the layers above count the calls and make the nth one fail. */
#include "base/error.h"
#include "store/store.h"

struct fault_store {
  struct rp__store base;
  struct rp__store *inner;
  struct rp__fault *plan;
};

static struct fault_store *fault(struct rp__store *s)
{
  return (struct fault_store *)s;
}

/* Counts the call. Fails it now, or says in *ret_late that it is to fail once it is done. */
static int before_reads(struct fault_store *f, const struct rp__read *reads, size_t n, bool *ret_late, rp_error *err)
{
  struct rp__fault *p = f->plan;
  if (p->on_call) p->on_call(p->ctx, reads, n);
  int64_t call = __atomic_add_fetch(&p->calls, 1, __ATOMIC_RELAXED);
  bool due = p->nth > 0 && (call == p->nth || (p->persistent && call > p->nth));
  if (due && !p->after) return rp__fail(err, p->code, "injected before the call");
  *ret_late = due;
  return 0;
}

static int before(struct fault_store *f, bool *ret_late, rp_error *err)
{
  return before_reads(f, NULL, 0, ret_late, err);
}

static int after(const struct fault_store *f, bool late, int rc, rp_error *err)
{
  return late && rc == 0 ? rp__fail(err, f->plan->code, "injected after the call") : rc;
}

static void fault_close(struct rp__store *s)
{
  struct rp__store *inner = fault(s)->inner;
  inner->ops->close(inner);
  free(s);
}

static int fault_commit(struct rp__store *s, struct rp__txn **group, size_t n, rp_error *err)
{
  struct fault_store *f = fault(s);
  bool late;
  int rc = before(f, &late, err);
  return rc ? rc : after(f, late, f->inner->ops->commit(f->inner, group, n, err), err);
}

static int fault_session_find(struct rp__store *s, enum rp__find how, const char *scope, const char *what,
                              struct rp__session_row *ret, rp_error *err)
{
  struct fault_store *f = fault(s);
  bool late;
  const struct rp__read read = {.type = RP_READ_SESSION, .u.session = {how, scope, what, ret}};
  int rc = before_reads(f, &read, 1, &late, err);
  if (rc == 0) rc = f->inner->ops->session_find(f->inner, how, scope, what, ret, err);
  if (rc != 0 || !late) return rc;
  rp__session_row_done(ret); /* who is told of a failure frees nothing */
  return after(f, late, 0, err);
}

static int fault_session_list(struct rp__store *s, const struct rp__session_filter *filter, rp__session_row_fn *fn,
                              void *ctx, rp_error *err)
{
  struct fault_store *f = fault(s);
  bool late;
  const struct rp__read read = {.type = RP_READ_SESSIONS,
                                .u.sessions.filter = filter ? *filter : (struct rp__session_filter){0}};
  int rc = before_reads(f, &read, 1, &late, err);
  return rc ? rc : after(f, late, f->inner->ops->session_list(f->inner, filter, fn, ctx, err), err);
}

static int fault_run_list(struct rp__store *s, const struct rp__run_filter *filter, rp__run_row_fn *fn, void *ctx,
                          rp_error *err)
{
  struct fault_store *f = fault(s);
  bool late;
  const struct rp__read read = {.type = RP_READ_RUNS, .u.runs.filter = *filter};
  int rc = before_reads(f, &read, 1, &late, err);
  return rc ? rc : after(f, late, f->inner->ops->run_list(f->inner, filter, fn, ctx, err), err);
}

static int fault_event_list(struct rp__store *s, const struct rp__event_range *r, rp__event_row_fn *fn, void *ctx,
                            rp_error *err)
{
  struct fault_store *f = fault(s);
  bool late;
  const struct rp__read read = {.type = RP_READ_EVENTS, .u.events.range = *r};
  int rc = before_reads(f, &read, 1, &late, err);
  return rc ? rc : after(f, late, f->inner->ops->event_list(f->inner, r, fn, ctx, err), err);
}

static int fault_snapshot_list(struct rp__store *s, int64_t session_ref, int64_t n, rp__snapshot_row_fn *fn, void *ctx,
                               rp_error *err)
{
  struct fault_store *f = fault(s);
  bool late;
  const struct rp__read read = {.type = RP_READ_SNAPSHOTS, .u.snapshots = {session_ref, n, fn}};
  int rc = before_reads(f, &read, 1, &late, err);
  return rc ? rc : after(f, late, f->inner->ops->snapshot_list(f->inner, session_ref, n, fn, ctx, err), err);
}

static int fault_scope_get(struct rp__store *s, const char *scope, struct rp__scope_row *ret, rp_error *err)
{
  struct fault_store *f = fault(s);
  bool late;
  const struct rp__read read = {.type = RP_READ_SCOPE, .u.scope = {scope, ret}};
  int rc = before_reads(f, &read, 1, &late, err);
  return rc ? rc : after(f, late, f->inner->ops->scope_get(f->inner, scope, ret, err), err);
}

static int fault_client_get(struct rp__store *s, int64_t session_ref, const char *client_id, int64_t *ret,
                            rp_error *err)
{
  struct fault_store *f = fault(s);
  bool late;
  int rc = before(f, &late, err);
  return rc ? rc : after(f, late, f->inner->ops->client_get(f->inner, session_ref, client_id, ret, err), err);
}

static int fault_search(struct rp__store *s, const char *words, const char *scope, int limit, rp_hit_fn *fn, void *ctx,
                        rp_error *err)
{
  struct fault_store *f = fault(s);
  bool late;
  int rc = before(f, &late, err);
  return rc ? rc : after(f, late, f->inner->ops->search(f->inner, words, scope, limit, fn, ctx, err), err);
}

static int fault_recall_list(struct rp__store *s, const struct rp__recall_filter *filter, rp__recall_fn *fn, void *ctx,
                             rp_error *err)
{
  struct fault_store *f = fault(s);
  bool late;
  const struct rp__read read = {.type = RP_READ_RECALL, .u.recall.filter = *filter};
  int rc = before_reads(f, &read, 1, &late, err);
  return rc ? rc : after(f, late, f->inner->ops->recall_list(f->inner, filter, fn, ctx, err), err);
}

static int fault_record_get(struct rp__store *s, int64_t session_ref, struct rp__record_row *ret, rp_error *err)
{
  struct fault_store *f = fault(s);
  bool late;
  const struct rp__read read = {.type = RP_READ_RECORD, .u.record = {session_ref, ret}};
  int rc = before_reads(f, &read, 1, &late, err);
  if (rc == 0) rc = f->inner->ops->record_get(f->inner, session_ref, ret, err);
  if (rc != 0 || !late) return rc;
  rp__record_row_done(ret);
  return after(f, late, 0, err);
}

static int fault_task_get(struct rp__store *s, const char *scope, uint64_t hash, struct rp__task_row *ret,
                          bool *ret_found, rp_error *err)
{
  struct fault_store *f = fault(s);
  bool late;
  const struct rp__read read = {.type = RP_READ_TASK, .u.task = {scope, hash, ret, ret_found}};
  int rc = before_reads(f, &read, 1, &late, err);
  return rc ? rc : after(f, late, f->inner->ops->task_get(f->inner, scope, hash, ret, ret_found, err), err);
}

static int fault_request_get(struct rp__store *s, const char *scope, const char *key, struct rp__request_row *ret,
                             bool *ret_found, rp_error *err)
{
  struct fault_store *f = fault(s);
  bool late;
  const struct rp__read read = {.type = RP_READ_REQUEST, .u.request = {scope, key, ret, ret_found}};
  int rc = before_reads(f, &read, 1, &late, err);
  return rc ? rc : after(f, late, f->inner->ops->request_get(f->inner, scope, key, ret, ret_found, err), err);
}

static int fault_name_get(struct rp__store *s, const char *name, struct rp__name_row *ret, bool *ret_found,
                          rp_error *err)
{
  struct fault_store *f = fault(s);
  bool late;
  int rc = before(f, &late, err);
  return rc ? rc : after(f, late, f->inner->ops->name_get(f->inner, name, ret, ret_found, err), err);
}

static int fault_memory_list(struct rp__store *s, const struct rp__memory_filter *filter, rp__memory_fn *fn, void *ctx,
                             rp_error *err)
{
  struct fault_store *f = fault(s);
  bool late;
  const struct rp__read read = {.type = RP_READ_MEMORIES, .u.memories.filter = *filter};
  int rc = before_reads(f, &read, 1, &late, err);
  return rc ? rc : after(f, late, f->inner->ops->memory_list(f->inner, filter, fn, ctx, err), err);
}

static int fault_audit_list(struct rp__store *s, const struct rp__audit_filter *filter, rp__audit_fn *fn, void *ctx,
                            rp_error *err)
{
  struct fault_store *f = fault(s);
  bool late;
  int rc = before(f, &late, err);
  return rc ? rc : after(f, late, f->inner->ops->audit_list(f->inner, filter, fn, ctx, err), err);
}

static int fault_audit_head(struct rp__store *s, const char *scope, struct rp__audit_row *ret, rp_error *err)
{
  struct fault_store *f = fault(s);
  bool late;
  int rc = before(f, &late, err);
  return rc ? rc : after(f, late, f->inner->ops->audit_head(f->inner, scope, ret, err), err);
}

static int fault_scope_list(struct rp__store *s, rp__scope_fn *fn, void *ctx, rp_error *err)
{
  struct fault_store *f = fault(s);
  bool late;
  int rc = before(f, &late, err);
  return rc ? rc : after(f, late, f->inner->ops->scope_list(f->inner, fn, ctx, err), err);
}

static int fault_token_list(struct rp__store *s, const char *id, rp__token_fn *fn, void *ctx, rp_error *err)
{
  struct fault_store *f = fault(s);
  bool late;
  int rc = before(f, &late, err);
  return rc ? rc : after(f, late, f->inner->ops->token_list(f->inner, id, fn, ctx, err), err);
}

static int fault_tail_list(struct rp__store *s, int64_t session_ref, const struct rp__tails *which, rp__tail_fn *fn,
                           void *ctx, rp_error *err)
{
  struct fault_store *f = fault(s);
  bool late;
  const struct rp__read read = {.type = RP_READ_TAILS, .u.tails = {session_ref, which, fn}};
  int rc = before_reads(f, &read, 1, &late, err);
  return rc ? rc : after(f, late, f->inner->ops->tail_list(f->inner, session_ref, which, fn, ctx, err), err);
}

static int fault_blob_list(struct rp__store *s, int64_t session_ref, const char *id, rp__blob_fn *fn, void *ctx,
                           rp_error *err)
{
  struct fault_store *f = fault(s);
  bool late;
  int rc = before(f, &late, err);
  return rc ? rc : after(f, late, f->inner->ops->blob_list(f->inner, session_ref, id, fn, ctx, err), err);
}

static int fault_changes(struct rp__store *s, int64_t *cursor, int64_t limit, rp_change_fn *fn, void *ctx,
                         rp_error *err)
{
  struct fault_store *f = fault(s);
  bool late;
  int64_t at = *cursor;
  int rc = before(f, &late, err);
  if (rc == 0) rc = after(f, late, f->inner->ops->changes(f->inner, &at, limit, fn, ctx, err), err);
  if (rc == 0) *cursor = at;
  return rc;
}

static int fault_read(struct rp__store *s, struct rp__read *reads, size_t n, rp_error *err)
{
  struct fault_store *f = fault(s);
  bool late;
  int rc = before_reads(f, reads, n, &late, err);
  if (rc == 0) rc = f->inner->ops->read(f->inner, reads, n, err);
  if (rc != 0 || !late) return rc;
  for (size_t i = 0; i < n; i++) { /* who is told of a failure frees nothing */
    if (reads[i].rc == 0 && reads[i].type == RP_READ_SESSION) rp__session_row_done(reads[i].u.session.ret);
    if (reads[i].rc == 0 && reads[i].type == RP_READ_RECORD) rp__record_row_done(reads[i].u.record.ret);
  }
  return after(f, late, 0, err);
}

static int fault_version(struct rp__store *s, int64_t *ret, rp_error *err)
{
  struct fault_store *f = fault(s);
  bool late;
  int rc = before(f, &late, err);
  return rc ? rc : after(f, late, f->inner->ops->version(f->inner, ret, err), err);
}

static int fault_maintain(struct rp__store *s, enum rp__maintain what, int64_t *ret_left, rp_error *err)
{
  struct fault_store *f = fault(s);
  bool late;
  int rc = before(f, &late, err);
  return rc ? rc : after(f, late, f->inner->ops->maintain(f->inner, what, ret_left, err), err);
}

static int fault_check(struct rp__store *s, bool repair, rp_finding_fn *fn, void *ctx, rp_error *err)
{
  struct fault_store *f = fault(s);
  bool late;
  int rc = before(f, &late, err);
  return rc ? rc : after(f, late, f->inner->ops->check(f->inner, repair, fn, ctx, err), err);
}

static int fault_stats(struct rp__store *s, struct rp__store_stats *ret, rp_error *err)
{
  struct fault_store *f = fault(s);
  bool late;
  int rc = before(f, &late, err);
  return rc ? rc : after(f, late, f->inner->ops->stats(f->inner, ret, err), err);
}

static int fault_accept(struct rp__store *s, char *ret, size_t size, rp_error *err)
{
  struct fault_store *f = fault(s);
  bool late;
  int rc = before(f, &late, err);
  ret[0] = '\0';
  if (rc == 0 && f->inner->ops->accept) rc = f->inner->ops->accept(f->inner, ret, size, err);
  return rc ? rc : after(f, late, 0, err);
}

static const struct rp__store_ops ops = {
    .close = fault_close,
    .commit = fault_commit,
    .session_find = fault_session_find,
    .session_list = fault_session_list,
    .run_list = fault_run_list,
    .event_list = fault_event_list,
    .snapshot_list = fault_snapshot_list,
    .scope_get = fault_scope_get,
    .client_get = fault_client_get,
    .search = fault_search,
    .recall_list = fault_recall_list,
    .record_get = fault_record_get,
    .task_get = fault_task_get,
    .request_get = fault_request_get,
    .name_get = fault_name_get,
    .memory_list = fault_memory_list,
    .audit_list = fault_audit_list,
    .audit_head = fault_audit_head,
    .scope_list = fault_scope_list,
    .token_list = fault_token_list,
    .blob_list = fault_blob_list,
    .tail_list = fault_tail_list,
    .changes = fault_changes,
    .read = fault_read,
    .version = fault_version,
    .maintain = fault_maintain,
    .check = fault_check,
    .stats = fault_stats,
    .accept = fault_accept,
};

int rp__store_fault_wrap(struct rp__store *inner, struct rp__fault *plan, struct rp__store **ret)
{
  struct fault_store *f = calloc(1, sizeof *f);
  if (!f) return RP_E_NOMEM;
  *f = (struct fault_store){.base = {&ops}, .inner = inner, .plan = plan};
  *ret = &f->base;
  return 0;
}
