/* SPDX-License-Identifier: Apache-2.0 */
/* Views: handles of several sessions of a scope, read in one call, checked, and kept or freed. */
#include "engine/session-view.h"

#define VIEW_READS 3                  /* of one session: its snapshot, what follows, its streams */
#define STATE_BYTES (4 * 1024 * 1024) /* of a state at most, whatever its journal has: the bounds of the facets */
#define KEPT_BYTES (64 * 1024 * 1024) /* of states that are kept for the steps behind */

void rp__view_free(struct rp__view *v)
{
  if (!v) return;
  rp__fold_free(v->fold);
  rp__buf_done(&v->plain);
  if (v->streams) rp__streams_done(v->streams);
  free(v->streams);
  free(v->root);
  free(v);
}

/* Paths are told as they are where this can't be read. */
static char *root_of(const struct rp__session_row *row, const struct rp__key *key)
{
  struct rp__session_row open RP_CLEANUP(rp__session_row_done) = *row;
  open.meta = row->meta ? strdup(row->meta) : NULL;
  if (open.meta && row->sealed && !(key && rp__meta_unseal(key, &open))) return NULL;
  return rp__meta_root(open.meta);
}

int rp__view_open(rp_engine *e, const struct rp__session_row *row, const struct rp__key *key, rp_session **ret,
                  rp_error *err)
{
  struct rp__view *v = calloc(1, sizeof *v);
  if (!v) return rp__fail_nomem(err);
  int rc = rp__session_open_with(e, row, key, 0, ret, err);
  if (rc) {
    free(v);
    return rc;
  }
  v->row = *row;
  v->row.meta = NULL;
  v->root = root_of(row, key);
  v->plain = RP_BUF((*ret)->config->body_bytes + RP_BODY_MAX);
  (*ret)->view = v;
  return 0;
}

/* ---- reading ---- */

static int on_snapshot(void *ctx, const struct rp__snapshot_row *row)
{
  rp_session *s = ctx;
  struct rp__view *v = s->view;
  v->failed =
      rp__snapshot_decode(row->data, (size_t)row->size, s->key, rp__session_ad(s), &rp__facets, &v->fold, NULL) != 0 ||
      rp__fold_seq(v->fold) != row->seq;
  return 0;
}

static int on_event(void *ctx, const struct rp__event_row *row)
{
  rp_session *s = ctx;
  struct rp__view *v = s->view;
  struct rp__str body = {row->body, row->body_len};
  int64_t to;
  if (!v->fold && !v->failed) v->failed = rp__fold_new(&rp__facets, &v->fold) != 0;
  if (v->failed) return RP_E_CORRUPT;
  if (row->seq <= rp__fold_seq(v->fold)) return 0; /* a snapshot that is newer than the row was */
  if (row->sealed) {
    rp__buf_reset(&v->plain);
    v->failed = rp__unseal(s->key, rp__session_ad(s), body.p, body.n, &v->plain, NULL) != 0;
    body = (struct rp__str){v->plain.p, v->plain.n};
  }
  struct rp__event ev = {.seq = row->seq,
                         .at_ms = row->at_ms,
                         .kind = rp__kind_parse(row->kind),
                         .kind_name = row->kind,
                         .body = rp__json_trusted(body.p, body.n)};
  if (!v->failed) v->failed = rp__fold_apply(v->fold, &ev, &to) != 0;
  if (!v->failed && v->on_event) v->on_event(v->ctx, &ev);
  return v->failed ? RP_E_CORRUPT : 0;
}

/* The state that was read becomes the handle's. */
static void settle(rp_session *s, const struct rp__read *reads, size_t n)
{
  struct rp__view *v = s->view;
  for (size_t i = 0; i < n; i++) {
    if (reads[i].type != RP_READ_TAILS)
      v->failed = v->failed || reads[i].rc != 0;
    else if (reads[i].rc) { /* read anew by whoever asks */
      rp__streams_done(v->streams);
      free(RP_TAKE(v->streams));
    } else
      v->streams->known = true;
  }
  if (!v->failed && !v->fold) v->failed = rp__fold_new(&rp__facets, &v->fold) != 0;
  rp__buf_done(&v->plain);
  if (v->failed) {
    rp__fold_free(RP_TAKE(v->fold));
    return;
  }
  s->fold = RP_TAKE(v->fold);
  pthread_mutex_lock(&s->e->lock);
  s->e->folds++;
  pthread_mutex_unlock(&s->e->lock);
  v->loaded = true;
}

void rp__views_done(struct rp__views *l)
{
  for (size_t i = 0; i < l->n; i++) rp__session_unref(l->p[i]);
  free(l->p);
  free(l->topics);
  *l = (struct rp__views){0};
}

rp_session *rp__views_find(const struct rp__views *l, int64_t session_ref)
{
  for (size_t i = 0; i < l->n; i++)
    if (l->p[i]->ref == session_ref) return l->p[i];
  return NULL;
}

void rp__views_keep(struct rp__views *l, rp_session *s)
{
  int64_t bytes = RP_MIN(s->view->row.bytes, STATE_BYTES);
  if (!s->fold || l->bytes + bytes > KEPT_BYTES || rp__views_find(l, s->ref)) return;
  if (!RP__ROOM(l->p, l->n, l->cap)) return;
  l->p[l->n++] = rp__session_ref(s);
  l->bytes += bytes;
}

int rp__views_read(rp_engine *e, const char *scope, rp_session *const *views, size_t n, struct rp__views *seen,
                   rp_error *err)
{
  struct rp__read *reads RP_AUTOFREE = calloc(VIEW_READS * n + 1, sizeof *reads);
  size_t *at RP_AUTOFREE = calloc(n + 1, sizeof *at), n_reads = 0;
  struct rp__tally *own RP_AUTOFREE = NULL;
  rp_error why = {0};
  if (!reads || !at) return rp__fail_nomem(err);
  for (size_t i = 0; i < n; i++) {
    rp_session *s = views[i];
    struct rp__view *v = s->view;
    at[i] = n_reads;
    if (v->row.snap_seq)
      reads[n_reads++] = (struct rp__read){
          .type = RP_READ_SNAPSHOTS, .ctx = s, .u.snapshots = {.session_ref = s->ref, .n = -1, .fn = on_snapshot}};
    reads[n_reads++] = (struct rp__read){
        .type = RP_READ_EVENTS,
        .ctx = s,
        .u.events = {.range = {.session_ref = s->ref, .session_id = s->id, .after = v->row.snap_seq}, .fn = on_event}};
    if (v->row.tails.n && (v->streams = calloc(1, sizeof *v->streams))) reads[n_reads++] = rp__streams_reading(s);
  }
  at[n] = n_reads;
  if (n && seen && !seen->topics) {
    if (!(own = rp__tally_new())) return rp__fail_nomem(err);
    reads[n_reads++] = rp__tally_reading(own, scope);
  }
  int rc = n_reads ? e->store->ops->read(e->store, reads, n_reads, &why) : 0;
  for (size_t i = 0; !rc && i < n_reads; i++)
    if (rp__capture_passes(reads[i].rc)) {
      rc = reads[i].rc;
      why = reads[i].err;
    }
  if (rp__capture_passes(rc)) {
    if (err) *err = why;
    return rc;
  }
  if (rc) return 0;
  if (own && !reads[n_reads - 1].rc) seen->topics = RP_TAKE(own);
  for (size_t i = 0; i < n; i++) {
    settle(views[i], reads + at[i], at[i + 1] - at[i]);
    views[i]->view->topics = seen ? seen->topics : NULL;
  }
  return 0;
}
