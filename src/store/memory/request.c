/* SPDX-License-Identifier: Apache-2.0 */
#include "store/memory/memory.h"

static const struct rp__mem_request *request_of(const struct rp__mem_store *m, const char *scope, const char *key)
{
  for (size_t i = 0; i < m->requests.n; i++)
    if (strcmp(m->requests.p[i].key, key) == 0 && strcmp(m->requests.p[i].scope, scope) == 0) return &m->requests.p[i];
  return NULL;
}

int rp__mem_request_put(struct rp__mem_store *m, struct rp__op *op, struct rp__mem_undo *u, rp_error *err)
{
  const struct rp__request_row *row = op->u.request.row;
  struct rp__mem_request new = {.row = *row, .at_ms = op->now_ms};
  (void)u; /* it knows how many there were */
  if (request_of(m, row->scope, row->key)) return rp__refuse_request(row, err);
  new.scope = strdup(row->scope);
  new.key = strdup(row->key);
  if (!new.scope || !new.key || !RP_MEM_ROOM(m->requests, 1)) {
    free(new.scope);
    free(new.key);
    return rp__fail_nomem(err);
  }
  m->requests.p[m->requests.n++] = new;
  return 0;
}

void rp__mem_requests_drop(struct rp__mem_store *m, size_t from, int64_t before)
{
  size_t kept = from;
  for (size_t i = from; i < m->requests.n; i++) {
    struct rp__mem_request *r = &m->requests.p[i];
    if (r->at_ms >= before) {
      m->requests.p[kept++] = *r;
      continue;
    }
    free(r->scope);
    free(r->key);
  }
  m->requests.n = kept;
}

int rp__mem_request_get(struct rp__store *base, const char *scope, const char *key, struct rp__request_row *ret,
                        bool *ret_found, rp_error *err)
{
  struct rp__mem_store *m = rp__mem(base);
  (void)err;
  pthread_mutex_lock(&m->mu);
  const struct rp__mem_request *r = request_of(m, scope, key);
  *ret_found = r != NULL;
  if (r) *ret = r->row;
  pthread_mutex_unlock(&m->mu);
  if (r) ret->scope = ret->key = NULL;
  return 0;
}
