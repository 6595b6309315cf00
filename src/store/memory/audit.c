/* SPDX-License-Identifier: Apache-2.0 */
/* Chains in one array, in the order of writing. */
#include "store/memory/memory.h"

static const struct rp__mem_audit *audit_last(const struct rp__mem_store *m, const char *scope)
{
  for (size_t i = m->audits.n; i-- > 0;)
    if (strcmp(m->audits.p[i].row.scope, scope) == 0) return &m->audits.p[i];
  return NULL;
}

int rp__mem_audit_put(struct rp__mem_store *m, struct rp__op *op, struct rp__mem_undo *u, rp_error *err)
{
  const struct rp__mem_audit *last = audit_last(m, op->u.audit.scope);
  struct rp__mem_audit next = {0};
  (void)u;
  if (last) next.row = last->row;
  rp__rule_audit(op, &next.row);
  if (op->u.audit.fields.p) {
    next.fields = malloc(op->u.audit.fields.n + 1);
    if (!next.fields) return rp__fail_nomem(err);
    memcpy(next.fields, op->u.audit.fields.p, op->u.audit.fields.n);
    next.fields[op->u.audit.fields.n] = '\0';
  }
  if (!RP_MEM_ROOM(m->audits, 1)) {
    free(next.fields);
    return rp__fail_nomem(err);
  }
  next.row.fields.p = next.fields;
  m->audits.p[m->audits.n++] = next;
  return 0;
}

int rp__mem_audit_erase(struct rp__mem_store *m, struct rp__op *op, struct rp__mem_undo *u, rp_error *err)
{
  (void)u;
  (void)err;
  for (size_t i = 0; i < m->audits.n; i++) {
    struct rp__mem_audit *a = &m->audits.p[i];
    if (a->row.n != op->u.audit_erase.n || strcmp(a->row.scope, op->u.audit_erase.scope) != 0) continue;
    free(a->fields);
    a->fields = NULL;
    a->row.fields = (struct rp__str){0};
  }
  return 0;
}

/* The scope's record after `after`, its fields copied. 1, 0 at the end, or an error. */
static int audit_next(struct rp__mem_store *m, const char *scope, int64_t after, struct rp__audit_row *ret,
                      struct rp__buf *fields, rp_error *err)
{
  int rc = 0;
  rp__buf_reset(fields);
  pthread_mutex_lock(&m->mu);
  for (size_t i = 0; rc == 0 && i < m->audits.n; i++) {
    const struct rp__audit_row *row = &m->audits.p[i].row;
    if (row->n <= after || strcmp(row->scope, scope) != 0) continue;
    *ret = *row;
    rp__buf_add(fields, row->fields.p ? row->fields.p : "", row->fields.n);
    rp__buf_char(fields, '\0');
    rc = fields->err ? rp__fail_nomem(err) : 1;
  }
  pthread_mutex_unlock(&m->mu);
  if (rc > 0 && ret->fields.p) ret->fields.p = fields->p;
  return rc;
}

int rp__mem_audit_list(struct rp__store *base, const struct rp__audit_filter *f, rp__audit_fn *fn, void *ctx,
                       rp_error *err)
{
  RP_AUTOBUF struct rp__buf fields = RP_BUF(1UL << 30);
  struct rp__audit_row row = {.n = f->after};
  int64_t left = f->limit > 0 ? f->limit : INT64_MAX;
  int rc = 0;
  for (; left > 0 && (rc = audit_next(rp__mem(base), f->scope, row.n, &row, &fields, err)) > 0; left--) {
    rc = fn(ctx, &row);
    if (rc != 0) return rc;
  }
  return rc;
}

int rp__mem_audit_head(struct rp__store *base, const char *scope, struct rp__audit_row *ret, rp_error *err)
{
  struct rp__mem_store *m = rp__mem(base);
  struct rp__audit_row row = {0};
  (void)err;
  rp__name_set(row.scope, scope);
  pthread_mutex_lock(&m->mu);
  const struct rp__mem_audit *last = audit_last(m, scope);
  if (last) {
    row.n = last->row.n;
    memcpy(row.hash, last->row.hash, sizeof row.hash);
  }
  pthread_mutex_unlock(&m->mu);
  *ret = row;
  return 0;
}
