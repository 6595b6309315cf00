/* SPDX-License-Identifier: Apache-2.0 */
#include "store/memory/memory.h"

static struct rp__mem_task *task_of(struct rp__mem_store *m, const char *scope, uint64_t hash)
{
  for (size_t i = 0; i < m->tasks.n; i++)
    if (m->tasks.p[i].row.hash == hash && strcmp(m->tasks.p[i].scope, scope) == 0) return &m->tasks.p[i];
  return NULL;
}

int rp__mem_task_put(struct rp__mem_store *m, struct rp__op *op, struct rp__mem_undo *u, rp_error *err)
{
  const struct rp__op *said;
  struct rp__mem_session *s;
  int64_t seq;
  int rc = rp__rule_task(op, m->txn, &said, &seq, err);
  if (rc != 0 || !said) return rc;
  rc = rp__mem_touch(m, said, u, &s, err);
  if (rc != 0) return rc;
  struct rp__mem_task *t = task_of(m, op->u.task_put.scope, op->u.task_put.hash);
  if (t && t->row.at_ms > op->u.task_put.at_ms) return 0;
  if (t) {
    u->task = *t;
    u->task_at = (size_t)(t - m->tasks.p);
  } else {
    if (!RP_MEM_ROOM(m->tasks, 1)) return rp__fail_nomem(err);
    t = &m->tasks.p[m->tasks.n++];
    *t = (struct rp__mem_task){0};
    rp__name_set(t->scope, op->u.task_put.scope);
  }
  t->row = (struct rp__task_row){.hash = op->u.task_put.hash,
                                 .session_ref = s->row.ref,
                                 .seq = seq,
                                 .at_ms = op->u.task_put.at_ms,
                                 .open = op->u.task_put.open};
  return 0;
}

int rp__mem_tasks_remove(struct rp__mem_store *m, int64_t session_ref, struct rp__mem_undo *u, rp_error *err)
{
  size_t kept = 0;
  u->tasks = malloc(RP_MAX(m->tasks.n, 1) * sizeof *u->tasks);
  if (!u->tasks) return rp__fail_nomem(err);
  for (size_t i = 0; i < m->tasks.n; i++) {
    u->tasks[i] = m->tasks.p[i];
    if (m->tasks.p[i].row.session_ref != session_ref) m->tasks.p[kept++] = m->tasks.p[i];
  }
  m->tasks.n = kept;
  return 0;
}

int rp__mem_task_get(struct rp__store *base, const char *scope, uint64_t hash, struct rp__task_row *ret,
                     bool *ret_found, rp_error *err)
{
  struct rp__mem_store *m = rp__mem(base);
  (void)err;
  pthread_mutex_lock(&m->mu);
  const struct rp__mem_task *t = task_of(m, scope, hash);
  const struct rp__mem_session *s = t ? rp__mem_by_ref(m, t->row.session_ref) : NULL;
  *ret_found = s != NULL;
  if (s) {
    *ret = t->row;
    rp__name_set(ret->session_id, s->row.id);
  }
  pthread_mutex_unlock(&m->mu);
  return 0;
}
