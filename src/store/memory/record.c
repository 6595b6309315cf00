/* SPDX-License-Identifier: Apache-2.0 */
/* Records hang on their sessions; what recall scans is made from them. */
#include "store/memory/memory.h"

void rp__mem_record_free(struct rp__record_row *r)
{
  if (!r) return;
  rp__record_row_done(r);
  free(r);
}

/* Copies all, owned parts too; an archived one has none. */
static int record_copy(struct rp__record_row *to, const struct rp__record_row *from, rp_error *err)
{
  struct rp__record_row row = *from;
  bool short_of = false;
  row.sealed_body = NULL;
  row.dropped = from->dropped && !from->archived ? strdup(from->dropped) : NULL;
  short_of |= !row.dropped && from->dropped && !from->archived;
  for (int i = 0; i < RP_PARTS_MAX; i++) {
    const char *text = from->part[i] && from->part[i][0] ? from->part[i] : "[]";
    row.part[i] = from->archived ? NULL : strdup(text);
    short_of |= !row.part[i] && !from->archived;
  }
  if (from->sealed_body && !from->archived) {
    row.sealed_body = malloc(from->sealed_len + 1);
    short_of |= !row.sealed_body;
    if (row.sealed_body) memcpy(row.sealed_body, from->sealed_body, from->sealed_len);
    if (row.sealed_body) row.sealed_body[from->sealed_len] = '\0';
  } else {
    row.sealed_len = 0;
  }
  if (short_of) {
    rp__record_row_done(&row);
    return rp__fail_nomem(err);
  }
  *to = row;
  return 0;
}

int rp__mem_record_put(struct rp__mem_store *m, struct rp__op *op, struct rp__mem_undo *u, rp_error *err)
{
  const struct rp__record_row *row = op->u.record.row;
  struct rp__op who = {.session_ref = op->session_ref ? op->session_ref : row->session_ref,
                       .session_id = op->session_id ? op->session_id : row->session_id,
                       .copying = op->copying};
  struct rp__mem_session *s;
  int rc = rp__mem_touch(m, &who, u, &s, err);
  if (rc != 0) return rc;
  struct rp__record_row *record = calloc(1, sizeof *record);
  if (!record) return rp__fail_nomem(err);
  rc = record_copy(record, row, err);
  if (rc != 0) {
    free(record);
    return rc;
  }
  record->archived = false;
  record->session_ref = op->ret.ref = s->row.ref;
  rp__name_set(record->session_id, s->row.id);
  rp__name_set(record->scope, s->row.scope);
  if (s->row.continued_by[0]) rp__name_set(record->continued_by, s->row.continued_by);
  u->record = s->record;
  u->record_set = true;
  s->record = record;
  return 0;
}

int rp__mem_record_archive(struct rp__mem_store *m, struct rp__op *op, struct rp__mem_undo *u, rp_error *err)
{
  struct rp__mem_session *s;
  int rc = rp__mem_touch(m, op, u, &s, err);
  if (rc != 0) return rc;
  if (!s->record) return rp__refuse_record(s->row.id, err);
  struct rp__record_row *record = calloc(1, sizeof *record);
  if (!record) return rp__fail_nomem(err);
  *record = *s->record;
  memset(record->part, 0, sizeof record->part);
  record->dropped = NULL;
  record->sealed_body = NULL;
  record->sealed_len = 0;
  record->archived = true;
  u->record = s->record;
  u->record_set = true;
  s->record = record;
  return 0;
}

void rp__mem_record_follow(struct rp__mem_session *s, unsigned fields, struct rp__mem_undo *u)
{
  if (!s->record || !(fields & RP_SET_CONTINUED_BY) || s->record->continued_by[0]) return;
  rp__name_set(u->record_continued, s->record->continued_by);
  u->record_continued_set = true;
  rp__name_set(s->record->continued_by, s->row.continued_by);
}

int rp__mem_record_get(struct rp__store *base, int64_t session_ref, struct rp__record_row *ret, rp_error *err)
{
  struct rp__mem_store *m = rp__mem(base);
  pthread_mutex_lock(&m->mu);
  const struct rp__mem_session *s = rp__mem_by_ref(m, session_ref);
  int rc = s && s->record ? record_copy(ret, s->record, err)
                          : rp__fail(err, RP_E_RECORD_NOT_FOUND, "the session has no record");
  pthread_mutex_unlock(&m->mu);
  return rc;
}

/* ---- recall ---- */

struct recalled {
  struct rp__recall row;
  char id[RP_NAME];
  uint64_t topics[RP_TOPICS_MAX];
};

static int recalled_order(const void *a, const void *b)
{
  const struct recalled *x = a, *y = b;
  if (x->row.ended_at != y->row.ended_at) return x->row.ended_at > y->row.ended_at ? -1 : 1;
  return strcmp(y->id, x->id);
}

static bool record_fits(const struct rp__mem_session *s, const struct rp__recall_filter *f)
{
  const struct rp__record_row *r = s->record;
  return r && !rp__row_is_out(&s->row) && strcmp(r->scope, f->scope) == 0 && r->end_ms >= f->since_ms &&
         (!f->channel || strcmp(r->channel, f->channel) == 0);
}

static void recalled_fill(const struct rp__record_row *r, struct recalled *ret)
{
  ret->row = (struct rp__recall){.session_ref = r->session_ref,
                                 .ended_at = r->end_ms,
                                 .n_tasks = r->n_tasks,
                                 .has_critical = r->has_critical,
                                 .archived = r->archived,
                                 .n_topics = RP_MIN(r->n_topics, RP_TOPICS_MAX)};
  rp__name_set(ret->id, r->session_id);
  memcpy(ret->topics, r->topics, sizeof ret->topics);
}

int rp__mem_recall_list(struct rp__store *base, const struct rp__recall_filter *f, rp__recall_fn *fn, void *ctx,
                        rp_error *err)
{
  struct rp__mem_store *m = rp__mem(base);
  size_t n = 0;
  pthread_mutex_lock(&m->mu);
  RP_AUTOFREE struct recalled *all = calloc(m->sessions.n + 1, sizeof *all);
  for (size_t i = 0; all && i < m->sessions.n; i++)
    if (record_fits(m->sessions.p[i], f)) recalled_fill(m->sessions.p[i]->record, &all[n++]);
  pthread_mutex_unlock(&m->mu);
  if (!all) return rp__fail_nomem(err);
  qsort(all, n, sizeof *all, recalled_order);
  if (f->limit > 0) n = RP_MIN(n, (size_t)f->limit);
  for (size_t i = 0; i < n; i++) {
    all[i].row.session_id = all[i].id;
    all[i].row.topics = all[i].topics;
    int rc = fn(ctx, &all[i].row);
    if (rc != 0) return rc;
  }
  return 0;
}
