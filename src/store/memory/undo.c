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
  for (size_t i = u->n_idem; i < s->idem.n; i++) free(s->idem.p[i].key);
  s->idem.n = u->n_idem;
  for (size_t i = u->n_clients; i < s->clients.n; i++) free(s->clients.p[i].id);
  s->clients.n = u->n_clients;
  if (u->client.id) s->clients.p[u->client_at] = u->client;
  if (u->event.body) {
    rp__mem_event_done(&s->events.p[u->event_at]);
    s->events.p[u->event_at] = u->event;
  }
  rp__session_row_done(&s->row);
  s->row = u->row;
  s->started = u->started;
  s->snap_n = u->snap_n;
}

void rp__mem_undo_apply(struct rp__mem_store *m, struct rp__mem_undo *u)
{
  if (u->removed) {
    size_t i = u->removed_at;
    memmove(&m->sessions.p[i + 1], &m->sessions.p[i], (m->sessions.n++ - i) * sizeof *m->sessions.p);
    m->sessions.p[i] = u->removed;
    memcpy(m->runs.p, u->runs, u->n_removed_runs * sizeof *u->runs);
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
  rp__mem_event_done(&u->event);
  free(u->runs);
  rp__mem_session_free(u->removed);
}
