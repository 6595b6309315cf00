/* SPDX-License-Identifier: Apache-2.0 */
#include "store/memory/memory.h"

static struct rp__name_row *name_of(struct rp__mem_store *m, const char *name)
{
  for (size_t i = 0; i < m->names.n; i++)
    if (strcmp(m->names.p[i].name, name) == 0) return &m->names.p[i];
  return NULL;
}

static int names_note(struct rp__mem_store *m, struct rp__mem_undo *u, rp_error *err)
{
  u->names = malloc(RP_MAX(m->names.n, 1) * sizeof *u->names);
  if (!u->names) return rp__fail_nomem(err);
  u->n_names = m->names.n;
  if (m->names.n) memcpy(u->names, m->names.p, m->names.n * sizeof *u->names);
  return 0;
}

/* Whether `a` goes before `b` when there are too many. */
static bool goes_first(const struct rp__name_row *a, const struct rp__name_row *b)
{
  bool of_none = !a->session_id[0];
  if (of_none != !b->session_id[0]) return of_none;
  return a->at_ms != b->at_ms ? a->at_ms < b->at_ms : strcmp(a->name, b->name) < 0;
}

static void drop_one(struct rp__mem_store *m, struct rp__mem_undo *u)
{
  size_t at = 0;
  for (size_t i = 1; i < m->names.n; i++)
    if (goes_first(&m->names.p[i], &m->names.p[at])) at = i;
  u->name_out = m->names.p[at];
  u->name_out_at = at;
  memmove(&m->names.p[at], &m->names.p[at + 1], (--m->names.n - at) * sizeof *m->names.p);
}

int rp__mem_name_put(struct rp__mem_store *m, struct rp__op *op, struct rp__mem_undo *u, rp_error *err)
{
  const struct rp__name_row *row = op->u.name.row;
  if (row->session_id[0] && !rp__mem_by_id(m, row->session_id)) return rp__refuse_not_found(row->session_id, err);
  struct rp__name_row *at = name_of(m, row->name);
  if (!at && !RP_MEM_ROOM(m->names, 1)) return rp__fail_nomem(err);
  if (at) {
    u->name = *at;
    u->name_at = (size_t)(at - m->names.p);
  } else {
    if (m->names.n == RP_NAMES_MAX) drop_one(m, u);
    at = &m->names.p[m->names.n++];
    u->name_added = true;
  }
  *at = *row;
  at->at_ms = op->now_ms;
  return 0;
}

int rp__mem_names_bereave(struct rp__mem_store *m, const char *session_id, int64_t now_ms, struct rp__mem_undo *u,
                          rp_error *err)
{
  int rc = 0;
  for (size_t i = 0; i < m->names.n; i++) {
    if (strcmp(m->names.p[i].session_id, session_id) != 0) continue;
    if (!u->names) rc = names_note(m, u, err);
    if (rc) return rc;
    m->names.p[i].session_id[0] = '\0';
    m->names.p[i].at_ms = now_ms;
  }
  return 0;
}

void rp__mem_names_prune(struct rp__mem_store *m, int64_t before)
{
  size_t kept = 0;
  for (size_t i = 0; i < m->names.n; i++)
    if (m->names.p[i].session_id[0] || m->names.p[i].at_ms >= before) m->names.p[kept++] = m->names.p[i];
  m->names.n = kept;
}

int rp__mem_name_get(struct rp__store *base, const char *name, struct rp__name_row *ret, bool *ret_found, rp_error *err)
{
  struct rp__mem_store *m = rp__mem(base);
  (void)err;
  pthread_mutex_lock(&m->mu);
  const struct rp__name_row *row = name_of(m, name);
  *ret_found = row != NULL;
  if (row) *ret = *row;
  pthread_mutex_unlock(&m->mu);
  return 0;
}
