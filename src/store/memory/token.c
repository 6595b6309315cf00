/* SPDX-License-Identifier: Apache-2.0 */
#include "store/memory/memory.h"

static struct rp__token_row *token_of(struct rp__mem_store *m, const char *id)
{
  for (size_t i = 0; i < m->tokens.n; i++)
    if (strcmp(m->tokens.p[i].id, id) == 0) return &m->tokens.p[i];
  return NULL;
}

static void token_note(const struct rp__mem_store *m, const struct rp__token_row *t, struct rp__mem_undo *u)
{
  u->token = *t;
  u->token_at = (size_t)(t - m->tokens.p);
}

int rp__mem_token_put(struct rp__mem_store *m, struct rp__op *op, struct rp__mem_undo *u, rp_error *err)
{
  (void)u;
  if (token_of(m, op->u.token.row->id)) return rp__refuse_token_id(op->u.token.row, err);
  if (!RP_MEM_ROOM(m->tokens, 1)) return rp__fail_nomem(err);
  m->tokens.p[m->tokens.n++] = *op->u.token.row;
  return 0;
}

int rp__mem_token_used(struct rp__mem_store *m, struct rp__op *op, struct rp__mem_undo *u, rp_error *err)
{
  struct rp__token_row *t = token_of(m, op->u.token.row->id);
  (void)err;
  if (!t) return 0;
  token_note(m, t, u);
  t->last_used_at = op->u.token.row->last_used_at;
  return 0;
}

int rp__mem_token_delete(struct rp__mem_store *m, struct rp__op *op, struct rp__mem_undo *u, rp_error *err)
{
  struct rp__token_row *t = token_of(m, op->u.token.row->id);
  if (!t) return rp__refuse_token(op->u.token.row, err);
  token_note(m, t, u);
  u->token_removed = true;
  memmove(t, t + 1, (--m->tokens.n - u->token_at) * sizeof *t);
  return 0;
}

/* The tokens as they are now, so that nobody is called with the lock held. */
static int tokens_copy(struct rp__mem_store *m, const char *id, struct rp__token_row **ret, size_t *ret_n,
                       rp_error *err)
{
  int rc = 0;
  pthread_mutex_lock(&m->mu);
  const struct rp__token_row *from = id ? token_of(m, id) : m->tokens.p;
  size_t n = !from ? 0 : id ? 1 : m->tokens.n;
  struct rp__token_row *copy = malloc(RP_MAX(n, 1) * sizeof *copy);
  if (copy && n) memcpy(copy, from, n * sizeof *copy);
  pthread_mutex_unlock(&m->mu);
  if (!copy) rc = rp__fail_nomem(err);
  *ret = copy;
  *ret_n = n;
  return rc;
}

int rp__mem_token_list(struct rp__store *base, const char *id, rp__token_fn *fn, void *ctx, rp_error *err)
{
  RP_AUTOFREE struct rp__token_row *rows = NULL;
  size_t n = 0;
  int rc = tokens_copy(rp__mem(base), id, &rows, &n, err);
  for (size_t i = 0; rc == 0 && i < n; i++) rc = fn(ctx, &rows[i]);
  return rc;
}
