/* SPDX-License-Identifier: Apache-2.0 */
/* Memories of scopes; a search looks at every one. */
#include "store/memory/memory.h"

#include "store/words.h"

void rp__mem_memory_done(struct rp__mem_memory *m)
{
  free(m->content);
  free(m->categories);
}

static int memory_copy(struct rp__mem_memory *to, const struct rp__memory_row *from, rp_error *err)
{
  struct rp__mem_memory m = {.row = *from, .content = malloc(from->content_len + 1)};
  if (from->categories && !from->sealed) m.categories = strdup(from->categories);
  if (!m.content || (from->categories && !from->sealed && !m.categories)) {
    rp__mem_memory_done(&m);
    return rp__fail_nomem(err);
  }
  if (from->content_len) memcpy(m.content, from->content, from->content_len);
  m.content[from->content_len] = '\0';
  m.row.content = m.content;
  m.row.categories = m.categories;
  m.row.rank = 0;
  *to = m;
  return 0;
}

static struct rp__mem_memory *memory_of(struct rp__mem_store *m, const struct rp__memory_row *row)
{
  for (size_t i = 0; i < m->memories.n; i++) {
    const struct rp__memory_row *r = &m->memories.p[i].row;
    if (strcmp(r->id, row->id) == 0 && strcmp(r->scope, row->scope) == 0) return &m->memories.p[i];
  }
  return NULL;
}

int rp__mem_memory_put(struct rp__mem_store *m, struct rp__op *op, struct rp__mem_undo *u, rp_error *err)
{
  struct rp__mem_memory *old = memory_of(m, op->u.memory.row), new;
  int rc = memory_copy(&new, op->u.memory.row, err);
  if (rc != 0) return rc;
  if (old) {
    u->memory = *old;
    u->memory_at = (size_t)(old - m->memories.p);
    *old = new;
    return 0;
  }
  if (!RP_MEM_ROOM(m->memories, 1)) {
    rp__mem_memory_done(&new);
    return rp__fail_nomem(err);
  }
  m->memories.p[m->memories.n++] = new;
  return 0;
}

int rp__mem_memory_set(struct rp__mem_store *m, struct rp__op *op, struct rp__mem_undo *u, rp_error *err)
{
  struct rp__mem_memory *old = memory_of(m, op->u.memory.row);
  if (!old) return rp__refuse_memory(op->u.memory.row, err);
  u->memory_at = (size_t)(old - m->memories.p);
  u->memory_set = true;
  u->memory_confidence = old->row.confidence;
  u->memory_updated = old->row.updated_at;
  old->row.confidence = op->u.memory.row->confidence;
  old->row.updated_at = op->now_ms;
  return 0;
}

int rp__mem_memory_delete(struct rp__mem_store *m, struct rp__op *op, struct rp__mem_undo *u, rp_error *err)
{
  struct rp__mem_memory *old = memory_of(m, op->u.memory.row);
  if (!old) return rp__refuse_memory(op->u.memory.row, err);
  u->memory = *old;
  u->memory_at = (size_t)(old - m->memories.p);
  u->memory_removed = true;
  memmove(old, old + 1, (--m->memories.n - u->memory_at) * sizeof *old);
  return 0;
}

/* ---- list ---- */

static int memory_order(const void *a, const void *b)
{
  const struct rp__memory_row *x = &((const struct rp__mem_memory *)a)->row,
                              *y = &((const struct rp__mem_memory *)b)->row;
  if (x->rank != y->rank) return x->rank > y->rank ? -1 : 1;
  if (x->confidence != y->confidence) return x->confidence > y->confidence ? -1 : 1;
  if (x->created_at != y->created_at) return x->created_at > y->created_at ? -1 : 1;
  return 0;
}

/* Whether a memory is asked for; *ret_rank is how well it fits the words. */
static bool memory_fits(const struct rp__memory_row *row, const struct rp__memory_filter *f, const struct rp__terms *t,
                        double *ret_rank)
{
  *ret_rank = 0;
  if (strcmp(row->scope, f->scope) != 0) return false;
  if (f->id) return strcmp(row->id, f->id) == 0;
  if (!f->words) return true;
  if (row->sealed) return false;
  *ret_rank = rp__mem_places(t, (struct rp__str){row->content, row->content_len}) * row->confidence;
  return *ret_rank > 0;
}

struct found {
  struct rp__mem_memory *p;
  size_t n;
};

static void found_done(struct found *f)
{
  for (size_t i = 0; i < f->n; i++) rp__mem_memory_done(&f->p[i]);
  free(f->p);
}

static int found_read(struct rp__mem_store *m, const struct rp__memory_filter *f, const struct rp__terms *t,
                      struct found *ret, rp_error *err)
{
  int rc = 0;
  ret->p = calloc(m->memories.n + 1, sizeof *ret->p);
  if (!ret->p) return rp__fail_nomem(err);
  for (size_t i = 0; rc == 0 && i < m->memories.n; i++) {
    const struct rp__memory_row *row = &m->memories.p[i].row;
    double rank;
    if (!memory_fits(row, f, t, &rank)) continue;
    rc = memory_copy(&ret->p[ret->n], row, err);
    if (rc != 0) break;
    const struct rp__mem_session *s = rp__mem_by_id(m, row->session_id);
    ret->p[ret->n].row.learned_at = s && s->row.ended_at ? s->row.ended_at : row->created_at;
    ret->p[ret->n++].row.rank = rank;
  }
  return rc;
}

int rp__mem_memory_list(struct rp__store *base, const struct rp__memory_filter *f, rp__memory_fn *fn, void *ctx,
                        rp_error *err)
{
  struct rp__mem_store *m = rp__mem(base);
  RP_CLEANUP(found_done) struct found found = {0};
  struct rp__terms terms = {0};
  int rc = f->words && !f->id ? rp__terms_parse(f->words, &terms, err) : 0;
  if (rc != 0) return rc;
  pthread_mutex_lock(&m->mu);
  rc = found_read(m, f, &terms, &found, err);
  pthread_mutex_unlock(&m->mu);
  if (rc != 0) return rc;
  qsort(found.p, found.n, sizeof *found.p, memory_order);
  size_t n = f->limit > 0 ? RP_MIN(found.n, (size_t)f->limit) : found.n;
  for (size_t i = 0; rc == 0 && i < n; i++) rc = fn(ctx, &found.p[i].row);
  return rc;
}
