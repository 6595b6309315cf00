/* SPDX-License-Identifier: Apache-2.0 */
/* A txn that was refused is undone op by op, the last first. */
#include "store/memory/memory.h"

struct rp__run_row *rp__mem_run(struct rp__mem_store *m, int64_t ref)
{
  for (size_t i = m->runs.n; i-- > 0;)
    if (m->runs.p[i].ref == ref) return &m->runs.p[i];
  return NULL;
}

/* Puts back what arrays held; additions are at their ends. */
static void session_undo(struct rp__mem_undo *u)
{
  struct rp__mem_session *s = u->s;
  for (size_t i = u->n_events; i < s->events.n; i++) rp__mem_event_done(&s->events.p[i]);
  s->events.n = u->n_events;
  if (u->snapshot.data) {
    size_t i = u->snapshot_at;
    memmove(&s->snapshots.p[i + 1], &s->snapshots.p[i], (s->snapshots.n++ - i) * sizeof *s->snapshots.p);
    s->snapshots.p[i] = u->snapshot;
  }
  for (size_t i = u->n_snapshots; i < s->snapshots.n; i++) free(s->snapshots.p[i].data);
  s->snapshots.n = u->n_snapshots;
  rp__mem_blob_undo(s, u);
  for (size_t i = u->n_idem; i < s->idem.n; i++) free(s->idem.p[i].key);
  s->idem.n = u->n_idem;
  for (size_t i = u->n_clients; i < s->clients.n; i++) free(s->clients.p[i].id);
  s->clients.n = u->n_clients;
  if (u->client.id) s->clients.p[u->client_at] = u->client;
  if (u->event.body) {
    rp__mem_event_done(&s->events.p[u->event_at]);
    s->events.p[u->event_at] = u->event;
  }
  if (u->record_continued_set) rp__name_set(s->record->continued_by, u->record_continued);
  if (u->record_set) {
    rp__mem_record_free(s->record);
    s->record = u->record;
  }
  rp__session_row_done(&s->row);
  s->row = u->row;
  s->started = u->started;
  s->moved = u->moved;
  s->snap_n = u->snap_n;
}

static void tasks_undo(struct rp__mem_store *m, struct rp__mem_undo *u)
{
  if (u->tasks && u->n_tasks) memcpy(m->tasks.p, u->tasks, u->n_tasks * sizeof *u->tasks);
  free(u->tasks);
  m->tasks.n = u->n_tasks;
  if (u->task.scope[0]) m->tasks.p[u->task_at] = u->task;
}

static void memories_undo(struct rp__mem_store *m, struct rp__mem_undo *u)
{
  struct rp__mem_memory *all = m->memories.p;
  size_t i = u->memory_at;
  for (; m->memories.n > u->n_memories; m->memories.n--) rp__mem_memory_done(&all[m->memories.n - 1]);
  if (u->memory_removed) {
    memmove(&all[i + 1], &all[i], (m->memories.n++ - i) * sizeof *all);
    all[i] = u->memory;
  } else if (u->memory.content) {
    rp__mem_memory_done(&all[i]);
    all[i] = u->memory;
  } else if (u->memory_set) {
    all[i].row.confidence = u->memory_confidence;
    all[i].row.updated_at = u->memory_updated;
  }
}

static void tokens_undo(struct rp__mem_store *m, const struct rp__mem_undo *u)
{
  struct rp__token_row *all = m->tokens.p;
  size_t i = u->token_at;
  if (u->token_removed) memmove(&all[i + 1], &all[i], (m->tokens.n - i) * sizeof *all);
  if (u->token.id[0]) all[i] = u->token;
  m->tokens.n = u->n_tokens;
}

static void names_undo(struct rp__mem_store *m, struct rp__mem_undo *u)
{
  struct rp__name_row *all = m->names.p;
  size_t i = u->name_out_at;
  if (u->name_added) m->names.n--;
  if (u->name.name[0]) all[u->name_at] = u->name;
  if (u->name_out.name[0]) {
    memmove(&all[i + 1], &all[i], (m->names.n++ - i) * sizeof *all);
    all[i] = u->name_out;
  }
  if (u->names) memcpy(all, u->names, u->n_names * sizeof *all);
  free(u->names);
}

void rp__mem_undo_apply(struct rp__mem_store *m, struct rp__mem_undo *u)
{
  m->tail_key = u->tail_key;
  tasks_undo(m, u);
  memories_undo(m, u);
  tokens_undo(m, u);
  names_undo(m, u);
  rp__mem_requests_drop(m, u->n_requests, INT64_MAX);
  for (; m->audits.n > u->n_audits; m->audits.n--) free(m->audits.p[m->audits.n - 1].fields);
  if (u->removed) {
    size_t i = u->removed_at;
    memmove(&m->sessions.p[i + 1], &m->sessions.p[i], (m->sessions.n++ - i) * sizeof *m->sessions.p);
    m->sessions.p[i] = u->removed;
    if (u->n_removed_runs) memcpy(m->runs.p, u->runs, u->n_removed_runs * sizeof *u->runs);
  }
  m->runs.n = u->n_runs;
  free(u->runs);
  if (u->run.ref) *rp__mem_run(m, u->run.ref) = u->run;
  if (u->scope.name[0]) *rp__mem_scope(m, u->scope.name) = u->scope;
  m->scopes.n = u->n_scopes;
  if (u->s) session_undo(u);
  if (u->added) rp__mem_session_free(m->sessions.p[--m->sessions.n]);
}

void rp__mem_undo_drop(struct rp__mem_undo *u)
{
  rp__session_row_done(&u->row);
  free(u->snapshot.data);
  free(u->blob.data);
  rp__mem_event_done(&u->event);
  free(u->runs);
  free(u->tasks);
  free(u->names);
  rp__mem_record_free(u->record);
  rp__mem_memory_done(&u->memory);
  rp__mem_session_free(u->removed);
}
