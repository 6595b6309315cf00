/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ops over arrays. Each takes what it needs of memory before it changes anything,
 * and notes in the undo what it changed; a refused txn is undone backwards.
 */
#include "store/memory/memory.h"

#include <stdio.h>

static struct rp__run_row *run_current(struct rp__mem_store *m, const struct rp__session_row *row)
{
  for (size_t i = m->runs.n; i-- > 0;)
    if (m->runs.p[i].session_ref == row->ref && m->runs.p[i].epoch == row->epoch) return &m->runs.p[i];
  return NULL;
}

int rp__mem_touch(struct rp__mem_store *m, const struct rp__op *op, struct rp__mem_undo *u,
                  struct rp__mem_session **ret, rp_error *err)
{
  struct rp__mem_session *s = op->session_ref ? rp__mem_by_ref(m, op->session_ref) : rp__mem_by_id(m, op->session_id);
  if (!s || strcmp(s->row.id, op->session_id) != 0) return rp__refuse_not_found(op->session_id, err);
  int rc = rp__rule_hidden(op, &s->row, err);
  if (rc == 0) rc = rp__mem_row_copy(&u->row, &s->row, err);
  if (rc != 0) return rc;
  u->s = s;
  u->started = s->started;
  u->moved = s->moved;
  u->snap_n = s->snap_n;
  u->n_events = s->events.n;
  u->n_snapshots = s->snapshots.n;
  u->n_idem = s->idem.n;
  u->n_clients = s->clients.n;
  *ret = s;
  return 0;
}

static int scope_touch(struct rp__mem_store *m, const char *name, struct rp__mem_undo *u, struct rp__mem_scope **ret,
                       rp_error *err)
{
  struct rp__mem_scope *s = rp__mem_scope(m, name);
  if (s) {
    u->scope = *s;
  } else {
    if (!RP_MEM_ROOM(m->scopes, 1)) return rp__fail_nomem(err);
    s = &m->scopes.p[m->scopes.n++];
    *s = (struct rp__mem_scope){0};
    rp__name_set(s->name, name);
  }
  *ret = s;
  return 0;
}

static int start_count(struct rp__mem_store *m, const char *scope, struct rp__mem_undo *u, int64_t *ret, rp_error *err)
{
  struct rp__mem_scope *s;
  int rc = scope_touch(m, scope, u, &s, err);
  if (rc == 0) *ret = ++s->row.starts;
  return rc;
}

static bool key_is_free(const struct rp__mem_store *m, const struct rp__session_row *row)
{
  if (!row->key[0] || rp__row_is_out(row)) return true;
  for (size_t i = 0; i < m->sessions.n; i++) {
    const struct rp__session_row *r = &m->sessions.p[i]->row;
    if (r != row && !rp__row_is_out(r) && !rp__status_ended(r->status) && strcmp(r->key, row->key) == 0 &&
        strcmp(r->scope, row->scope) == 0)
      return false;
  }
  return true;
}

static int op_session_put(struct rp__mem_store *m, struct rp__op *op, struct rp__mem_undo *u, rp_error *err)
{
  const struct rp__session_row *row = op->u.session_put.row;
  if (rp__mem_by_id(m, row->id)) return rp__fail(err, RP_E_EXISTS, "there is a session %s already", row->id);
  if (!key_is_free(m, row)) return rp__refuse_key(row, err);
  struct rp__mem_session *s = calloc(1, sizeof *s);
  if (!s || !RP_MEM_ROOM(m->sessions, 1) || rp__mem_row_copy(&s->row, row, NULL) != 0) {
    free(s);
    return rp__fail_nomem(err);
  }
  s->row.last_seq = s->row.snap_seq = s->row.tail_bytes = s->row.bytes = 0;
  s->row.ref = ++m->last_ref;
  m->sessions.p[m->sessions.n++] = s;
  u->added = true;
  op->ret.ref = s->row.ref;
  return op->u.session_put.count_start ? start_count(m, row->scope, u, &op->ret.starts, err) : 0;
}

static int op_lease(struct rp__mem_store *m, struct rp__op *op, struct rp__mem_undo *u, rp_error *err)
{
  struct rp__mem_session *s;
  int rc = rp__mem_touch(m, op, u, &s, err);
  if (rc == 0) rc = rp__rule_lease(op, &s->row, err);
  if (rc != 0) return rc;
  if (!RP_MEM_ROOM(m->runs, 1)) return rp__fail_nomem(err);
  struct rp__run_row *run = &m->runs.p[m->runs.n++];
  *run = *op->u.lease.run;
  run->ref = op->ret.ref = ++m->last_run;
  run->session_ref = s->row.ref;
  memcpy(run->session_id, s->row.id, sizeof run->session_id);
  run->epoch = s->row.epoch;
  run->ended_at = 0;
  run->cause = RP_CAUSE_NONE;
  run->evidence[0] = run->reason[0] = '\0';
  s->started = ++m->last_started;
  if (!op->u.lease.count_start) return 0;
  rc = start_count(m, s->row.scope, u, &op->ret.starts, err);
  run->start_number = op->ret.starts;
  return rc;
}

static int op_run_end(struct rp__mem_store *m, struct rp__op *op, struct rp__mem_undo *u, rp_error *err)
{
  struct rp__mem_session *s;
  int rc = rp__mem_touch(m, op, u, &s, err);
  if (rc != 0) return rc;
  struct rp__run_row *run = op->u.run_end.run_ref ? rp__mem_run(m, op->u.run_end.run_ref) : run_current(m, &s->row);
  if (!run || run->session_ref != s->row.ref) return 0;
  int64_t still_at = op->u.run_end.still_at;
  op->ret.ref = run->ref;
  if (still_at && (run->ended_at || run->heartbeat_at != still_at)) return rp__refuse_run(op->session_id, err);
  if (run->ended_at != 0) return 0;
  u->run = *run;
  run->ended_at = op->u.run_end.ended_at ? op->u.run_end.ended_at : op->now_ms;
  run->cause = op->u.run_end.cause;
  snprintf(run->evidence, sizeof run->evidence, "%s", op->u.run_end.evidence ? op->u.run_end.evidence : "");
  snprintf(run->reason, sizeof run->reason, "%s", op->u.run_end.reason ? op->u.run_end.reason : "");
  return 0;
}

static int op_heartbeat(struct rp__mem_store *m, struct rp__op *op, struct rp__mem_undo *u, rp_error *err)
{
  struct rp__mem_session *s;
  int rc = rp__mem_touch(m, op, u, &s, err);
  if (rc != 0) return rc;
  struct rp__run_row *run = run_current(m, &s->row);
  rc = rp__rule_heartbeat(op, &s->row, run, err);
  if (rc != 0) return rc;
  u->run = *run;
  run->heartbeat_at = op->now_ms;
  run->heartbeat_boot = op->u.heartbeat.boot_ms;
  return 0;
}

/* Bytes of the bodies after `seq`. */
static int64_t bytes_after(const struct rp__mem_session *s, int64_t seq)
{
  int64_t bytes = 0;
  for (size_t i = (size_t)seq; i < s->events.n; i++) bytes += (int64_t)s->events.p[i].body_len;
  return bytes;
}

static int64_t snapshot_newest(const struct rp__mem_session *s)
{
  int64_t seq = 0;
  for (size_t i = 0; i < s->snapshots.n; i++) seq = RP_MAX(seq, s->snapshots.p[i].row.seq);
  return seq;
}

static int op_session_set(struct rp__mem_store *m, struct rp__op *op, struct rp__mem_undo *u, rp_error *err)
{
  struct rp__mem_session *s;
  int rc = rp__mem_touch(m, op, u, &s, err);
  if (rc == 0) rc = rp__rule_session_set(op, &s->row, err);
  if (rc != 0) return rc;
  if (u->row.trashed_at && !rp__status_ended(s->row.status) && !key_is_free(m, &s->row))
    return rp__refuse_key(&s->row, err);
  rp__mem_record_follow(s, op->u.session_set.fields, u);
  op->ret.epoch = s->row.epoch;
  if (!(op->u.session_set.fields & RP_SET_COUNTERS)) return 0;
  s->row.last_seq = (int64_t)s->events.n;
  s->row.snap_seq = snapshot_newest(s);
  s->row.bytes = bytes_after(s, 0);
  s->row.tail_bytes = bytes_after(s, s->row.snap_seq);
  return 0;
}

static int event_copy(const struct rp__new_event *ev, struct rp__mem_event *ret)
{
  struct rp__mem_event e = {.at_ms = ev->at_ms, .body_len = ev->body_len, .sealed = ev->sealed};
  e.kind = strdup(ev->kind);
  e.body = malloc(ev->body_len + 1);
  if (ev->tail_len && (e.tail = malloc(ev->tail_len))) memcpy(e.tail, ev->tail, e.tail_len = ev->tail_len);
  if (!e.kind || !e.body || (ev->tail_len && !e.tail)) {
    rp__mem_event_done(&e);
    return RP_E_NOMEM;
  }
  if (ev->body_len) memcpy(e.body, ev->body, ev->body_len);
  e.body[ev->body_len] = '\0';
  *ret = e;
  return 0;
}

static struct rp__mem_client *client_of(struct rp__mem_session *s, const char *id)
{
  for (size_t i = 0; id && i < s->clients.n; i++)
    if (strcmp(s->clients.p[i].id, id) == 0) return &s->clients.p[i];
  return NULL;
}

static int facts_get(struct rp__mem_session *s, const struct rp__op *op, struct rp__append_facts *ret)
{
  const char *key = op->u.append.idempotency_key;
  for (size_t i = 0; key && i < s->idem.n; i++) {
    if (strcmp(s->idem.p[i].key, key) != 0) continue;
    ret->idem_seq = s->idem.p[i].seq;
    ret->idem_n = s->idem.p[i].n;
    ret->has_digest = s->idem.p[i].has_digest;
    memcpy(ret->digest, s->idem.p[i].digest, sizeof ret->digest);
  }
  const struct rp__mem_client *c = client_of(s, op->u.append.client_id);
  if (c) {
    ret->client_mark = c->mark;
    ret->client_seq = c->seq;
  }
  return 0;
}

static int idem_put(struct rp__mem_session *s, const struct rp__op *op)
{
  struct rp__mem_idem idem = {.seq = op->ret.first_seq, .n = op->ret.seq - op->ret.first_seq + 1, .at_ms = op->now_ms};
  if (!op->u.append.idempotency_key) return 0;
  idem.has_digest = op->u.append.digest != NULL;
  if (idem.has_digest) memcpy(idem.digest, op->u.append.digest, sizeof idem.digest);
  idem.key = strdup(op->u.append.idempotency_key);
  if (!idem.key || !RP_MEM_ROOM(s->idem, 1)) {
    free(idem.key);
    return RP_E_NOMEM;
  }
  s->idem.p[s->idem.n++] = idem;
  return 0;
}

static int client_put(struct rp__mem_session *s, const struct rp__op *op, struct rp__mem_undo *u)
{
  if (!op->u.append.client_id) return 0;
  struct rp__mem_client *c = client_of(s, op->u.append.client_id);
  if (c) {
    u->client = *c;
    u->client_at = (size_t)(c - s->clients.p);
  } else {
    char *id = strdup(op->u.append.client_id);
    if (!id || !RP_MEM_ROOM(s->clients, 1)) {
      free(id);
      return RP_E_NOMEM;
    }
    c = &s->clients.p[s->clients.n++];
    c->id = id;
  }
  c->mark = op->u.append.client_seq + rp__append_given(op) - 1;
  c->seq = op->ret.seq;
  return 0;
}

static int check_judged(const struct rp__mem_session *s, const struct rp__op *op, rp_error *err)
{
  if (!op->u.append.judged) return 0;
  for (size_t i = (size_t)op->u.append.judged - 1; i < s->events.n; i++)
    for (size_t k = 0; rp__pin_kinds[k]; k++)
      if (strcmp(s->events.p[i].kind, rp__pin_kinds[k]) == 0) return rp__refuse_judged(op, err);
  return 0;
}

static int op_append(struct rp__mem_store *m, struct rp__op *op, struct rp__mem_undo *u, rp_error *err)
{
  struct rp__append_facts facts = {0};
  struct rp__mem_session *s;
  int rc = rp__mem_touch(m, op, u, &s, err);
  if (rc == 0) rc = facts_get(s, op, &facts);
  if (rc == 0) rc = rp__rule_append(op, &s->row, &facts, err);
  if (rc == 0 && !op->ret.repeated) rc = check_judged(s, op, err);
  if (rc == 0 && !op->ret.repeated && op->u.append.tail_key)
    rc = rp__rule_tail_key(op, m->tail_key != 0, m->tail_key, err);
  if (rc != 0 || op->ret.repeated) return rc;
  if (op->u.append.tail_key) m->tail_key = rp__tail_key_number(op->u.append.tail_key);
  if (!RP_MEM_ROOM(s->events, op->u.append.n)) return rp__fail_nomem(err);
  for (size_t i = 0; rc == 0 && i < op->u.append.n; i++) {
    rc = event_copy(&op->u.append.events[i], &s->events.p[s->events.n]);
    s->events.n += rc == 0;
  }
  s->moved = ++m->moves;
  if (rc == 0) rc = idem_put(s, op);
  if (rc == 0) rc = client_put(s, op, u);
  return rc ? rp__fail_nomem(err) : 0;
}

static int op_snapshot_put(struct rp__mem_store *m, struct rp__op *op, struct rp__mem_undo *u, rp_error *err)
{
  const struct rp__snapshot_row *row = op->u.snapshot_put.row;
  struct rp__mem_session *s;
  int rc = rp__mem_touch(m, op, u, &s, err);
  if (rc == 0) rc = rp__rule_snapshot(op, &s->row, err);
  if (rc != 0) return rc;
  void *data = malloc((size_t)row->size + 1);
  if (!data || !RP_MEM_ROOM(s->snapshots, 1)) {
    free(data);
    return rp__fail_nomem(err);
  }
  if (row->size) memcpy(data, row->data, (size_t)row->size);
  struct rp__mem_snapshot *snap = &s->snapshots.p[s->snapshots.n++];
  *snap = (struct rp__mem_snapshot){.row = *row, .data = data};
  snap->row.data = NULL;
  snap->row.n = op->ret.snapshot_n = ++s->snap_n;
  if (row->seq > s->row.snap_seq) {
    s->row.snap_seq = row->seq;
    s->row.tail_bytes = bytes_after(s, row->seq);
  }
  return 0;
}

static int op_snapshot_delete(struct rp__mem_store *m, struct rp__op *op, struct rp__mem_undo *u, rp_error *err)
{
  struct rp__mem_session *s;
  int64_t n = op->u.snapshot_delete.n;
  int rc = rp__mem_touch(m, op, u, &s, err);
  if (rc == 0) rc = rp__rule_epoch(op, &s->row, err);
  if (rc != 0) return rc;
  size_t i = 0;
  while (i < s->snapshots.n && s->snapshots.p[i].row.n != n) i++;
  if (i == s->snapshots.n && op->u.snapshot_delete.if_there) return 0;
  if (i == s->snapshots.n)
    return rp__fail(err, RP_E_SNAPSHOT_NOT_FOUND, "session %s has no snapshot %lld", s->row.id, (long long)n);
  u->snapshot = s->snapshots.p[i];
  u->snapshot_at = i;
  memmove(&s->snapshots.p[i], &s->snapshots.p[i + 1], (--s->snapshots.n - i) * sizeof *s->snapshots.p);
  s->row.snap_seq = snapshot_newest(s);
  s->row.tail_bytes = bytes_after(s, s->row.snap_seq);
  return 0;
}

static int op_event_replace(struct rp__mem_store *m, struct rp__op *op, struct rp__mem_undo *u, rp_error *err)
{
  int64_t seq = op->u.event_replace.seq;
  struct rp__mem_session *s;
  struct rp__mem_event e;
  int rc = rp__mem_touch(m, op, u, &s, err);
  if (rc != 0) return rc;
  if (seq < 1 || seq > s->row.last_seq)
    return rp__fail(err, RP_E_SEQ_NOT_FOUND, "session %s has no event %lld", s->row.id, (long long)seq);
  if (event_copy(op->u.event_replace.event, &e) != 0) return rp__fail_nomem(err);
  u->event_at = (size_t)seq - 1;
  u->event = s->events.p[u->event_at];
  s->events.p[u->event_at] = e;
  int64_t delta = (int64_t)e.body_len - (int64_t)u->event.body_len;
  s->row.bytes += delta;
  if (seq > s->row.snap_seq) s->row.tail_bytes += delta;
  return 0;
}

static int op_scope_set(struct rp__mem_store *m, struct rp__op *op, struct rp__mem_undo *u, rp_error *err)
{
  struct rp__mem_scope *s;
  int rc = scope_touch(m, op->u.scope_set.scope, u, &s, err);
  if (rc == 0) rc = rp__rule_scope_set(op, &s->row, err);
  if (rc != 0) return rc;
  s->row.sealed = op->u.scope_set.row->sealed;
  memcpy(s->row.key_id, op->u.scope_set.row->key_id, sizeof s->row.key_id);
  return 0;
}

static int op_scope_raise(struct rp__mem_store *m, struct rp__op *op, struct rp__mem_undo *u, rp_error *err)
{
  const struct rp__scope_row *row = op->u.scope_set.row;
  struct rp__mem_scope *s;
  int rc = scope_touch(m, op->u.scope_set.scope, u, &s, err);
  if (rc != 0) return rc;
  s->row.starts = RP_MAX(s->row.starts, row->starts);
  s->row.robot |= row->robot;
  return 0;
}

static int op_session_delete(struct rp__mem_store *m, struct rp__op *op, struct rp__mem_undo *u, rp_error *err)
{
  struct rp__mem_session *s;
  int rc = rp__mem_touch(m, op, u, &s, err);
  if (rc != 0) return rc;
  rc = rp__rule_held(&s->row, err);
  if (rc == 0) rc = rp__mem_tasks_remove(m, s->row.ref, u, err);
  if (rc != 0) return rc;
  /* All runs are kept for the undo: simpler than to weave some back in. */
  u->runs = malloc(RP_MAX(m->runs.n, 1) * sizeof *u->runs);
  if (!u->runs) return rp__fail_nomem(err);
  u->n_removed_runs = m->runs.n;
  if (m->runs.n) memcpy(u->runs, m->runs.p, m->runs.n * sizeof *u->runs);
  size_t kept = 0;
  for (size_t i = 0; i < m->runs.n; i++)
    if (m->runs.p[i].session_ref != s->row.ref) m->runs.p[kept++] = m->runs.p[i];
  m->runs.n = kept;
  size_t at = 0;
  while (m->sessions.p[at] != s) at++;
  memmove(&m->sessions.p[at], &m->sessions.p[at + 1], (--m->sessions.n - at) * sizeof *m->sessions.p);
  u->removed = s;
  u->removed_at = at;
  return 0;
}

static rp__mem_op *const op_table[] = {
    [RP_OP_SESSION_PUT] = op_session_put,
    [RP_OP_LEASE] = op_lease,
    [RP_OP_RUN_END] = op_run_end,
    [RP_OP_SESSION_SET] = op_session_set,
    [RP_OP_APPEND] = op_append,
    [RP_OP_HEARTBEAT] = op_heartbeat,
    [RP_OP_SNAPSHOT_PUT] = op_snapshot_put,
    [RP_OP_SNAPSHOT_DELETE] = op_snapshot_delete,
    [RP_OP_EVENT_REPLACE] = op_event_replace,
    [RP_OP_SCOPE_SET] = op_scope_set,
    [RP_OP_SCOPE_RAISE] = op_scope_raise,
    [RP_OP_SESSION_DELETE] = op_session_delete,
    [RP_OP_RECORD_PUT] = rp__mem_record_put,
    [RP_OP_RECORD_ARCHIVE] = rp__mem_record_archive,
    [RP_OP_TASK_PUT] = rp__mem_task_put,
    [RP_OP_MEMORY_PUT] = rp__mem_memory_put,
    [RP_OP_MEMORY_SET] = rp__mem_memory_set,
    [RP_OP_MEMORY_DELETE] = rp__mem_memory_delete,
    [RP_OP_AUDIT] = rp__mem_audit_put,
    [RP_OP_AUDIT_ERASE] = rp__mem_audit_erase,
    [RP_OP_TOKEN_PUT] = rp__mem_token_put,
    [RP_OP_TOKEN_USED] = rp__mem_token_used,
    [RP_OP_TOKEN_DELETE] = rp__mem_token_delete,
    [RP_OP_BLOB_PUT] = rp__mem_blob_put,
    [RP_OP_BLOB_SET] = rp__mem_blob_set,
    [RP_OP_BLOB_DELETE] = rp__mem_blob_delete,
    [RP_OP_TAIL_KEY] = rp__mem_tail_key,
    [RP_OP_TAILS_FORGET] = rp__mem_tails_forget,
    [RP_OP_REQUEST_PUT] = rp__mem_request_put,
};

static void txn_run(struct rp__mem_store *m, struct rp__txn *t)
{
  RP_AUTOFREE struct rp__mem_undo *undo = calloc(RP_MAX(t->n, 1), sizeof *undo);
  size_t i = 0;
  t->rc = undo ? 0 : rp__fail_nomem(&t->err);
  m->txn = t;
  for (; t->rc == 0 && i < t->n; i++) {
    memset(&t->ops[i].ret, 0, sizeof t->ops[i].ret);
    undo[i].n_runs = m->runs.n;
    undo[i].tail_key = m->tail_key;
    undo[i].n_scopes = m->scopes.n;
    undo[i].n_tasks = m->tasks.n;
    undo[i].n_memories = m->memories.n;
    undo[i].n_audits = m->audits.n;
    undo[i].n_tokens = m->tokens.n;
    undo[i].n_requests = m->requests.n;
    if (rp__rule_void(&t->ops[i], t)) continue;
    t->rc = op_table[t->ops[i].type](m, &t->ops[i], &undo[i], &t->err);
  }
  while (i-- > 0) {
    if (t->rc != 0)
      rp__mem_undo_apply(m, &undo[i]);
    else
      rp__mem_undo_drop(&undo[i]);
  }
}

int rp__mem_commit(struct rp__store *base, struct rp__txn **group, size_t n, rp_error *err)
{
  struct rp__mem_store *m = rp__mem(base);
  (void)err;
  pthread_mutex_lock(&m->mu);
  m->version++;
  for (size_t i = 0; i < n; i++) txn_run(m, group[i]);
  pthread_mutex_unlock(&m->mu);
  return 0;
}
