/* SPDX-License-Identifier: Apache-2.0 */
/* What is new: each append has a number, and each session that of its last one. */
#include "store/memory/memory.h"

struct grown {
  int64_t session, seq;
};

/* NULL without memory. */
static struct grown *grown_since(struct rp__mem_store *m, int64_t cursor, size_t *ret_n, int64_t *ret_now)
{
  size_t n = 0;
  pthread_mutex_lock(&m->mu);
  struct grown *all = calloc(m->sessions.n + 1, sizeof *all);
  for (size_t i = 0; all && cursor >= 0 && i < m->sessions.n; i++) {
    const struct rp__mem_session *s = m->sessions.p[i];
    if (s->moved > cursor) all[n++] = (struct grown){s->row.ref, s->row.last_seq};
  }
  *ret_n = n;
  *ret_now = m->moves;
  pthread_mutex_unlock(&m->mu);
  return all;
}

int rp__mem_changes(struct rp__store *base, int64_t *cursor, int64_t limit, rp_change_fn *fn, void *ctx, rp_error *err)
{
  size_t n;
  int64_t now;
  (void)limit; /* a bound on time, of which this takes none */
  RP_AUTOFREE struct grown *all = grown_since(rp__mem(base), *cursor, &n, &now);
  if (!all) return rp__fail_nomem(err);
  for (size_t i = 0; i < n; i++) {
    int rc = fn(ctx, all[i].session, all[i].seq);
    if (rc != 0) return rc;
  }
  *cursor = now;
  return 0;
}

int rp__mem_version(struct rp__store *base, int64_t *ret, rp_error *err)
{
  struct rp__mem_store *m = rp__mem(base);
  (void)err;
  pthread_mutex_lock(&m->mu);
  *ret = m->version;
  pthread_mutex_unlock(&m->mu);
  return 0;
}
