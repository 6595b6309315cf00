/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the sessions that retention may have something to say about. */
#include "engine/keep/retention-candidates.h"

#include <limits.h>

#include "engine/keep/abandon.h"
#include "engine/keep/archive.h"

#define LISTED_MAX 2000000 /* of one list; the rest next time */

static int list_add(struct rp__retention_list *l, const char *id, int64_t ended_at)
{
  if (l->n == LISTED_MAX) return 0;
  if (!RP__ROOM(l->p, l->n, l->cap)) return RP_E_NOMEM;
  struct rp__retention *a = &l->p[l->n++];
  *a = (struct rp__retention){.ended_at = ended_at};
  snprintf(a->id, sizeof a->id, "%s", id);
  return 0;
}

static int oldest_first(const void *a, const void *b)
{
  const struct rp__retention *x = a, *y = b;
  if (x->ended_at != y->ended_at) return x->ended_at < y->ended_at ? -1 : 1;
  return strcmp(x->id, y->id);
}

const struct rp__retention *rp__retention_find(const struct rp__retention_list *l, const struct rp__retention *a)
{
  return l->n ? bsearch(a, l->p, l->n, sizeof *a, oldest_first) : NULL;
}

static void each_list(struct rp__retention_lists *l, void (*fn)(struct rp__retention_list *))
{
  struct rp__retention_list *all[] = {&l->abandon, &l->archive, &l->trash, &l->doomed, &l->ended};
  for (size_t i = 0; i < RP_ARRAY_SIZE(all); i++) fn(all[i]);
}

static void list_sort(struct rp__retention_list *l)
{
  if (l->n) qsort(l->p, l->n, sizeof *l->p, oldest_first);
}

static void list_done(struct rp__retention_list *l)
{
  free(l->p);
  *l = (struct rp__retention_list){0};
}

void rp__retention_done(struct rp__retention_lists *l)
{
  each_list(l, list_done);
}

/* ---- sessions ---- */

struct reader {
  rp_engine *e;
  const struct rp__retention_options *o;
  struct rp__retention_lists *to;
  char (*scopes)[RP_NAME];
  size_t n_scopes, cap;
  int64_t before; /* records that ended until then are due */
};

static int on_session(void *ctx, const struct rp__session_row *row)
{
  struct reader *r = ctx;
  const struct rp__scope_config *c = rp__config_of(r->e->config, row->scope);
  int64_t now = r->o->now;
  if (!rp__status_ended(row->status)) {
    int64_t last = RP_MAX(row->last_activity_at, row->created_at);
    return rp__abandon_possible(r->e, row, now) ? list_add(&r->to->abandon, row->id, last) : 0;
  }
  int64_t kept = r->o->older_than_ms > 0 ? r->o->older_than_ms : c->retain_ms;
  bool due = kept > 0 && now - row->ended_at >= kept;
  int rc = due ? list_add(&r->to->trash, row->id, row->ended_at) : 0;
  if (!rc && due && c->trash_ms == 0) rc = list_add(&r->to->doomed, row->id, row->ended_at);
  if (!rc && r->o->all_ended) rc = list_add(&r->to->ended, row->id, row->ended_at);
  return rc;
}

static int on_trashed(void *ctx, const struct rp__session_row *row)
{
  struct reader *r = ctx;
  int64_t ended = row->ended_at ? row->ended_at : row->last_activity_at;
  bool due = r->o->now - row->trashed_at >= rp__config_of(r->e->config, row->scope)->trash_ms;
  int rc = due ? list_add(&r->to->doomed, row->id, ended) : 0;
  if (!rc && r->o->all_ended) rc = list_add(&r->to->ended, row->id, ended);
  return rc;
}

/* ---- records ---- */

static int on_scope(void *ctx, const char *scope)
{
  struct reader *r = ctx;
  if (!RP__ROOM(r->scopes, r->n_scopes, r->cap)) return RP_E_NOMEM;
  snprintf(r->scopes[r->n_scopes++], RP_NAME, "%s", scope);
  return 0;
}

static int on_recall(void *ctx, const struct rp__recall *row)
{
  struct reader *r = ctx;
  bool due = !row->archived && row->ended_at <= r->before;
  return due ? list_add(&r->to->archive, row->session_id, row->ended_at) : 0;
}

int rp__retention_read(rp_engine *e, const struct rp__retention_options *o, struct rp__retention_lists *ret,
                       rp_error *err)
{
  const struct rp__store_ops *ops = e->store->ops;
  struct rp__retention_lists lists = {0};
  struct reader r = {.e = e, .o = o, .to = &lists};
  struct rp__session_filter f = {.scope = o->scope, .limit = INT_MAX};
  int rc = ops->session_list(e->store, &f, on_session, &r, err);
  f.trashed = true;
  if (!rc) rc = ops->session_list(e->store, &f, on_trashed, &r, err);
  bool records = !rc && rp__archive_possible(e);
  if (records) rc = o->scope ? on_scope(&r, o->scope) : ops->scope_list(e->store, on_scope, &r, err);
  for (size_t i = 0; records && !rc && i < r.n_scopes; i++) {
    struct rp__recall_filter of_scope = {.scope = r.scopes[i]};
    r.before = o->now - rp__config_of(e->config, r.scopes[i])->archive_ms;
    rc = ops->recall_list(e->store, &of_scope, on_recall, &r, err);
  }
  free(r.scopes);
  if (rc) {
    rp__retention_done(&lists);
    return rc == RP_E_NOMEM ? rp__fail_nomem(err) : rc;
  }
  each_list(&lists, list_sort);
  *ret = lists;
  return 0;
}
