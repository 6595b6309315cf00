/* SPDX-License-Identifier: Apache-2.0 */
#include "store/memory/memory.h"

#include "base/clock.h"

#define IDEM_MS (24L * 3600 * 1000)

bool rp__mem_room(void *a, size_t size, size_t more)
{
  RP_MEM_ARRAY(void) *array = a;
  if (array->n + more <= array->cap) return true;
  size_t cap = RP_MAX(array->cap * 2, array->n + more);
  void *p = reallocarray(array->p, cap, size);
  if (!p) return false;
  array->p = p;
  array->cap = cap;
  return true;
}

void rp__mem_event_done(struct rp__mem_event *e)
{
  free(e->kind);
  free(e->body);
  free(e->tail);
}

void rp__mem_session_free(struct rp__mem_session *s)
{
  if (!s) return;
  for (size_t i = 0; i < s->events.n; i++) rp__mem_event_done(&s->events.p[i]);
  for (size_t i = 0; i < s->snapshots.n; i++) free(s->snapshots.p[i].data);
  for (size_t i = 0; i < s->blobs.n; i++) free(s->blobs.p[i].data);
  for (size_t i = 0; i < s->idem.n; i++) free(s->idem.p[i].key);
  for (size_t i = 0; i < s->clients.n; i++) free(s->clients.p[i].id);
  free(s->events.p);
  free(s->snapshots.p);
  free(s->blobs.p);
  free(s->idem.p);
  free(s->clients.p);
  rp__mem_record_free(s->record);
  rp__session_row_done(&s->row);
  free(s);
}

struct rp__mem_session *rp__mem_by_id(struct rp__mem_store *m, const char *id)
{
  for (size_t i = m->sessions.n; id && i-- > 0;)
    if (strcmp(m->sessions.p[i]->row.id, id) == 0) return m->sessions.p[i];
  return NULL;
}

struct rp__mem_session *rp__mem_by_ref(struct rp__mem_store *m, int64_t ref)
{
  /* Refs grow with the array, so this is a search in order. */
  size_t low = 0, high = m->sessions.n;
  while (low < high) {
    size_t mid = (low + high) / 2;
    if (m->sessions.p[mid]->row.ref < ref)
      low = mid + 1;
    else
      high = mid;
  }
  return low < m->sessions.n && m->sessions.p[low]->row.ref == ref ? m->sessions.p[low] : NULL;
}

struct rp__mem_scope *rp__mem_scope(struct rp__mem_store *m, const char *name)
{
  for (size_t i = 0; i < m->scopes.n; i++)
    if (strcmp(m->scopes.p[i].name, name) == 0) return &m->scopes.p[i];
  return NULL;
}

int rp__mem_row_copy(struct rp__session_row *to, const struct rp__session_row *from, rp_error *err)
{
  char *meta = NULL;
  if (from->meta && from->meta[0] && !(meta = strdup(from->meta))) return rp__fail_nomem(err);
  *to = *from;
  to->meta = meta;
  return 0;
}

static int scope_get(struct rp__store *base, const char *scope, struct rp__scope_row *ret, rp_error *err)
{
  struct rp__mem_store *m = rp__mem(base);
  (void)err;
  pthread_mutex_lock(&m->mu);
  const struct rp__mem_scope *s = rp__mem_scope(m, scope);
  *ret = s ? s->row : (struct rp__scope_row){0};
  pthread_mutex_unlock(&m->mu);
  return 0;
}

static int client_get(struct rp__store *base, int64_t session_ref, const char *client_id, int64_t *ret, rp_error *err)
{
  struct rp__mem_store *m = rp__mem(base);
  int64_t mark = 0;
  (void)err;
  pthread_mutex_lock(&m->mu);
  const struct rp__mem_session *s = rp__mem_by_ref(m, session_ref);
  for (size_t i = 0; s && i < s->clients.n; i++)
    if (strcmp(s->clients.p[i].id, client_id) == 0) mark = s->clients.p[i].mark;
  pthread_mutex_unlock(&m->mu);
  *ret = mark;
  return 0;
}

static void session_prune(struct rp__mem_session *s, int64_t before)
{
  size_t kept = 0;
  for (size_t i = 0; i < s->idem.n; i++) {
    if (s->idem.p[i].at_ms < before)
      free(s->idem.p[i].key);
    else
      s->idem.p[kept++] = s->idem.p[i];
  }
  s->idem.n = kept;
}

static int maintain(struct rp__store *base, enum rp__maintain what, int64_t *ret_left, rp_error *err)
{
  struct rp__mem_store *m = rp__mem(base);
  (void)err;
  pthread_mutex_lock(&m->mu);
  for (size_t i = 0; what == RP_MAINTAIN_PRUNE && i < m->sessions.n; i++)
    session_prune(m->sessions.p[i], rp__wall(&m->clock) - IDEM_MS);
  if (what == RP_MAINTAIN_PRUNE) rp__mem_names_prune(m, rp__wall(&m->clock) - RP_NAMES_MS);
  if (what == RP_MAINTAIN_PRUNE) rp__mem_requests_drop(m, 0, rp__wall(&m->clock) - IDEM_MS);
  pthread_mutex_unlock(&m->mu);
  if (ret_left) *ret_left = 0;
  return 0;
}

static int check(struct rp__store *base, bool repair, rp_finding_fn *fn, void *ctx, rp_error *err)
{
  (void)base, (void)repair, (void)fn, (void)ctx, (void)err;
  return 0;
}

static int stats(struct rp__store *base, struct rp__store_stats *ret, rp_error *err)
{
  struct rp__mem_store *m = rp__mem(base);
  struct rp__store_stats s = {0};
  (void)err;
  pthread_mutex_lock(&m->mu);
  for (size_t i = 0; i < m->sessions.n; i++) {
    const struct rp__mem_session *session = m->sessions.p[i];
    if (session->row.trashed_at)
      s.trashed++;
    else
      s.sessions[session->row.status]++;
    s.records += session->record != NULL;
    s.events += session->row.last_seq;
    s.event_bytes += session->row.bytes;
    s.snapshots += (int64_t)session->snapshots.n;
    for (size_t j = 0; j < session->snapshots.n; j++) s.snapshot_bytes += session->snapshots.p[j].row.size;
    s.blobs += (int64_t)session->blobs.n;
    for (size_t j = 0; j < session->blobs.n; j++) s.blob_bytes += session->blobs.p[j].row.size;
  }
  for (size_t i = 0; i < m->runs.n; i++) s.runs_open += m->runs.p[i].ended_at == 0;
  s.memories = (int64_t)m->memories.n;
  s.audits = (int64_t)m->audits.n;
  pthread_mutex_unlock(&m->mu);
  *ret = s;
  return 0;
}

static void store_close(struct rp__store *base)
{
  struct rp__mem_store *m = rp__mem(base);
  for (size_t i = 0; i < m->sessions.n; i++) rp__mem_session_free(m->sessions.p[i]);
  for (size_t i = 0; i < m->memories.n; i++) rp__mem_memory_done(&m->memories.p[i]);
  for (size_t i = 0; i < m->audits.n; i++) free(m->audits.p[i].fields);
  free(m->sessions.p);
  free(m->runs.p);
  free(m->scopes.p);
  free(m->tasks.p);
  rp__mem_requests_drop(m, 0, INT64_MAX);
  free(m->requests.p);
  free(m->names.p);
  free(m->memories.p);
  free(m->audits.p);
  free(m->tokens.p);
  pthread_mutex_destroy(&m->mu);
  free(m);
}

static const struct rp__store_ops ops = {
    .close = store_close,
    .commit = rp__mem_commit,
    .session_find = rp__mem_session_find,
    .session_list = rp__mem_session_list,
    .run_list = rp__mem_run_list,
    .event_list = rp__mem_event_list,
    .snapshot_list = rp__mem_snapshot_list,
    .scope_get = scope_get,
    .client_get = client_get,
    .search = rp__mem_search,
    .recall_list = rp__mem_recall_list,
    .record_get = rp__mem_record_get,
    .task_get = rp__mem_task_get,
    .request_get = rp__mem_request_get,
    .name_get = rp__mem_name_get,
    .memory_list = rp__mem_memory_list,
    .audit_list = rp__mem_audit_list,
    .audit_head = rp__mem_audit_head,
    .scope_list = rp__mem_scope_list,
    .token_list = rp__mem_token_list,
    .blob_list = rp__mem_blob_list,
    .tail_list = rp__mem_tail_list,
    .changes = rp__mem_changes,
    .version = rp__mem_version,
    .maintain = maintain,
    .check = check,
    .stats = stats,
};

int rp__store_memory_open(const struct rp__store_options *o, struct rp__store **ret, rp_error *err)
{
  struct rp__mem_store *m = calloc(1, sizeof *m);
  if (!m) return rp__fail_nomem(err);
  m->base.ops = &ops;
  m->clock = o->clock ? *o->clock : rp__system_clock;
  if (pthread_mutex_init(&m->mu, NULL)) {
    free(m);
    return rp__fail_nomem(err);
  }
  *ret = &m->base;
  return 0;
}
