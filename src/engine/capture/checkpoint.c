/* SPDX-License-Identifier: Apache-2.0 */
/* Checkpoints: makes those that are due, and keeps the right snapshots. Also the public functions on snapshots. */
#include <string.h>

#include "engine/keep/audit.h"

#define RETRY_MS 5000        /* after a failed checkpoint nobody waits for */
#define SNAPSHOTS_MAX 100000 /* rows looked at when old ones are dropped */

enum rp__due rp__checkpoint_due(rp_session *s, int64_t ticks)
{
  enum rp__due due = (enum rp__due)atomic_load(&s->checkpoint_due);
  if (atomic_load(&s->ended)) return RP_DUE_NOT;
  long long retry = atomic_load(&s->retry_at);
  if (retry && ticks < retry) return RP_DUE_NOT;
  if (retry) return atomic_store(&s->retry_at, 0), due ? due : RP_DUE_INTERVAL;
  if (due) return due;
  pthread_mutex_lock(&s->dirty_lock);
  due = rp__policy_due(&s->policy, &s->dirty, ticks);
  pthread_mutex_unlock(&s->dirty_lock);
  return due;
}

struct snapshot {
  int64_t n, seq;
};

/* The snapshots there are, newest first. */
struct inventory {
  struct snapshot *p;
  size_t count, cap;
};

static int on_row(void *ctx, const struct rp__snapshot_row *row)
{
  struct inventory *v = ctx;
  if (v->count == SNAPSHOTS_MAX) return 0;
  if (!RP__ROOM(v->p, v->count, v->cap)) return RP_E_NOMEM;
  v->p[v->count++] = (struct snapshot){row->n, row->seq};
  return 0;
}

/* Stores the encoded snapshot and drops those it makes superfluous, in one transaction. */
static int store_snapshot(rp_session *s, const struct rp__snapshot_row *row, const struct inventory *old, bool manual,
                          int64_t *ret_n, rp_error *err)
{
  size_t count = old->count + 1, n = 0;
  int64_t *seqs RP_AUTOFREE = calloc(count, sizeof *seqs);
  bool *drop RP_AUTOFREE = calloc(count, sizeof *drop);
  struct rp__op *ops RP_AUTOFREE = calloc(count + 2, sizeof *ops);
  struct rp__audit_note note RP_CLEANUP(rp__audit_done) = {0};
  if (!seqs || !drop || !ops) return rp__fail_nomem(err);
  seqs[0] = row->seq;
  for (size_t i = 0; i < old->count; i++) seqs[i + 1] = old->p[i].seq;
  rp__snapshot_prune(seqs, count, RP_MAX(s->config->keep_snapshots, 1), drop);
  struct rp__op base = {RP__OP_OF(s->e, s), .epoch = s->epoch, .copying = s->copying};
  ops[n] = base;
  ops[n].type = RP_OP_SNAPSHOT_PUT;
  ops[n++].u.snapshot_put.row = row;
  for (size_t i = 1; i < count; i++) {
    if (!drop[i]) continue;
    ops[n] = base;
    ops[n].type = RP_OP_SNAPSHOT_DELETE;
    ops[n].u.snapshot_delete.if_there = true; /* another process may have dropped it meanwhile */
    ops[n++].u.snapshot_delete.n = old->p[i - 1].n;
  }
  rp__audit_begin(&note);
  rp__jw_pack(&note.w, "session_id:s seq:i bytes:i reason:s", s->id, row->seq, row->size, row->reason);
  int rc = rp__audit_op_with(s->e, s->scope, s->key, "snapshot_created", &note, &ops[n++], err);
  if (!rc) rc = rp__engine_commit(s->e, ops, n, manual ? RP_DISK : RP_OS, err);
  if (!rc && ret_n) *ret_n = ops[0].ret.snapshot_n;
  return rc;
}

/* Brings the fold up to date and encodes it. *ret_seq: where it stands. */
static int encode(rp_session *s, struct rp__buf *out, int64_t newest, int64_t *ret_seq, size_t *ret_raw, rp_error *err)
{
  struct rp__fold *f = NULL;
  struct rp__buf warnings RP_AUTOBUF = RP_BUF(65536);
  pthread_mutex_lock(&s->lock);
  pthread_mutex_lock(&s->dirty_lock);
  rp__dirty_clear(&s->dirty); /* what comes from here on is the next one's */
  pthread_mutex_unlock(&s->dirty_lock);
  int rc = rp__state_use(s, &f, &warnings, err);
  /* A snapshot would hide the gap from whoever loads it. */
  if (!rc && rp__fold_gap(f))
    rc = rp__fail(err, RP_E_CORRUPT, "session %s: event %lld can't be read", s->id, (long long)rp__fold_gap(f));
  if (!rc) *ret_seq = rp__fold_seq(f);
  if (!rc && (*ret_seq != newest || newest == 0))
    rc = rp__snapshot_encode(f, s->key, &rp__system_random, rp__session_ad(s), out, ret_raw, err);
  if (f) rp__state_release(s, f);
  pthread_mutex_unlock(&s->lock);
  if (warnings.n) rp__log(&s->e->log, RP_LOG_WARN, "%s", warnings.p);
  return rc;
}

static int checkpoint_once(rp_session *s, const char *reason, int64_t *ret_n, rp_error *err)
{
  struct rp__store *st = s->e->store;
  struct inventory old = {0};
  struct rp__buf bytes RP_AUTOBUF = RP_BUF(RP_SNAPSHOT_MAX + 65536);
  int64_t seq = 0;
  size_t raw = 0;
  atomic_store(&s->checkpoint_due, RP_DUE_NOT);
  int rc = st->ops->snapshot_list(st, s->ref, 0, on_row, &old, err);
  if (rc == RP_E_NOMEM) rp__fail_nomem(err);
  if (!rc) rc = encode(s, &bytes, old.count ? old.p[0].seq : 0, &seq, &raw, err);
  if (!rc && !bytes.n) { /* nothing new since the newest one */
    if (ret_n) *ret_n = old.p[0].n;
  } else if (!rc) {
    struct rp__snapshot_row row = {.seq = seq,
                                   .at_ms = rp__engine_now(s->e),
                                   .raw_size = (int64_t)raw,
                                   .size = (int64_t)bytes.n,
                                   .sealed = s->key != NULL,
                                   .data = bytes.p};
    snprintf(row.reason, sizeof row.reason, "%s", reason);
    rc = store_snapshot(s, &row, &old, strcmp(reason, "manual") == 0 || strcmp(reason, "exit") == 0, ret_n, err);
    if (!rc) rp__metric_observe(&s->e->metrics.snapshot_bytes, (double)row.size);
  }
  free(old.p);
  return rc;
}

int rp__checkpoint(rp_session *s, const char *reason, int64_t *ret_n, rp_error *err)
{
  rp_error why = {0};
  int64_t began = rp__engine_micros(s->e);
  int rc = checkpoint_once(s, reason, ret_n, &why);
  atomic_fetch_add(rc ? &s->e->counters.snapshots_failed : &s->e->counters.snapshots_ok, 1);
  if (!rc) rp__metric_observe(&s->e->metrics.snapshot_seconds, (double)(rp__engine_micros(s->e) - began) / 1e6);
  if (!rc) rp__unsaid_tell(s->e);
  if (!rc) return 0;
  struct rp__audit_note note;
  rp__audit_begin(&note);
  rp__jw_pack(&note.w, "session_id:s reason:s error:s", s->id, reason, why.message);
  if (rp__audit_write(s->e, s->scope, "snapshot_failed", &note)) rp__unsaid_keep(s, reason, why.code);
  rp__audit_done(&note);
  if (err) *err = why;
  return rc;
}

int rp__checkpoint_run(rp_session *s, enum rp__due due)
{
  rp_error err = {0};
  int rc = rp__checkpoint(s, rp__due_reason(due), NULL, &err);
  atomic_fetch_add(rc ? &s->e->counters.checkpoints_failed : &s->e->counters.checkpoints_ok, 1);
  if (!rc && s->epoch) rp__session_mirror(s, false);
  if (!rc) return 0;
  /* L-06: tried again later; the journal has everything meanwhile. */
  atomic_store(&s->retry_at, rp__engine_ticks(s->e) + RETRY_MS);
  rp__log(&s->e->log, RP_LOG_DEBUG, "checkpoint of session %s: %s", s->id, err.message);
  return rc;
}

int rp_checkpoint(rp_session *s, int64_t *ret_n, rp_error *err)
{
  int rc = rp__session_check(s, err);
  if (rc) return rc;
  rc = rp__checkpoint(s, "manual", ret_n, err);
  atomic_fetch_add(rc ? &s->e->counters.checkpoints_failed : &s->e->counters.checkpoints_ok, 1);
  if (rc) return rc;
  rp_error moved = {0};
  struct rp__op op = {.type = RP_OP_SESSION_SET,
                      RP__OP_OF(s->e, s),
                      .epoch = s->epoch,
                      .u.session_set = {.fields = RP_SET_MOVE, .move = RP_MOVE_CHECKPOINT}};
  rc = rp__engine_commit(s->e, &op, 1, RP_OS, &moved);
  if (!rc) rp__session_mirror(s, false);
  if (rc == RP_E_ENDED || rc == RP_E_TRANSITION) return 0; /* an ended session keeps its status */
  if (rc && err) *err = moved;
  return rc;
}

/* ---- what users see ---- */

struct list_ctx {
  rp_snapshot_fn *fn;
  void *ctx;
  size_t left; /* what comes behind them is kept for reading the past, and no snapshot of the user's any more */
};

static int on_listed(void *ctx, const struct rp__snapshot_row *row)
{
  struct list_ctx *x = ctx;
  if (!x->left) return 0;
  x->left--;
  rp_snapshot_info i = {.n = row->n,
                        .seq = row->seq,
                        .at_ms = row->at_ms,
                        .size = row->size,
                        .raw_size = row->raw_size,
                        .reason = row->reason,
                        .sealed = row->sealed};
  return x->fn(x->ctx, &i);
}

int rp_snapshots(rp_session *s, rp_snapshot_fn *fn, void *ctx, rp_error *err)
{
  int rc = rp__session_check(s, err);
  if (rc) return rc;
  struct list_ctx x = {fn, ctx, RP_MAX(s->config->keep_snapshots, 1)};
  return s->e->store->ops->snapshot_list(s->e->store, s->ref, 0, on_listed, &x, err);
}

int rp_snapshot_delete(rp_session *s, int64_t n, rp_error *err)
{
  int rc = rp__session_check(s, err);
  if (rc) return rc;
  struct rp__op op = {.type = RP_OP_SNAPSHOT_DELETE, RP__OP_OF(s->e, s), .epoch = s->epoch, .u.snapshot_delete.n = n};
  return rp__engine_commit(s->e, &op, 1, RP_DISK, err);
}

struct open_ctx {
  rp_session *s;
  struct rp__fold *fold; /* out, when `decode` */
  bool decode;
  int64_t seq;
  rp_error *err;
};

static int on_open(void *ctx, const struct rp__snapshot_row *row)
{
  struct open_ctx *x = ctx;
  x->seq = row->seq;
  if (!x->decode) return 0;
  return rp__snapshot_decode(row->data, (size_t)row->size, x->s->key, rp__session_ad(x->s), &rp__facets, &x->fold,
                             x->err);
}

static int find_snapshot(rp_session *s, int64_t n, struct open_ctx *x, rp_error *err)
{
  if (n < 1) return rp__fail(err, RP_E_SNAPSHOT_NOT_FOUND, "snapshots are numbered from 1");
  return s->e->store->ops->snapshot_list(s->e->store, s->ref, n, on_open, x, err);
}

int rp_snapshot_json(rp_session *s, int64_t n, char **ret, rp_error *err)
{
  int rc = rp__session_check(s, err);
  if (rc) return rc;
  struct open_ctx x = {.s = s, .decode = true, .err = err};
  rc = find_snapshot(s, n, &x, err);
  if (!rc) rc = rp__state_write(s, x.fold, x.seq, ret, err);
  rp__fold_free(x.fold);
  return rc;
}

/* ---- going back ---- */

int rp_restore(rp_session *s, int64_t to_seq, rp_ack *ret, rp_error *err)
{
  char body[64];
  struct rp__session_row row = {0};
  int rc = rp__session_check(s, err);
  if (!rc) rc = rp__session_row(s, &row, err);
  if (rc) return rc;
  rp__session_row_done(&row);
  if (to_seq < 0 || to_seq > row.last_seq)
    return rp__fail_field(err, RP_E_SEQ_NOT_FOUND, "at", "session %s has events 1 to %lld", s->id,
                          (long long)row.last_seq);
  snprintf(body, sizeof body, "{\"to_seq\":%lld}", (long long)to_seq);
  rp_event ev = {.kind = "restored", .body = body};
  rp_append_options o = {0};
  rc = rp__journal_append(s, &ev, 1, &o, true, ret, err);
  /* What ended is told as it ended. It goes back once it is open again, or a fork begins from there. */
  if (rc == RP_E_ENDED && !s->trashed) /* of one in the trash its own hint says why */
    rp__hint(err,
             "'reprise start --scope %s --id %s' opens it again, then it goes back; 'reprise fork %s --at %lld' makes "
             "a new session from there",
             s->scope, s->id, s->id, (long long)to_seq);
  atomic_fetch_add(rc ? &s->e->counters.restores_failed : &s->e->counters.restores_ok, 1);
  if (rc) return rc;
  /* So that nobody has to go back again to know the state. If it fails, replay does. */
  rp_error ignored = {0};
  if (rp__checkpoint(s, "restore", NULL, &ignored))
    rp__log(&s->e->log, RP_LOG_DEBUG, "checkpoint after a restore: %s", ignored.message);
  return 0;
}

int rp_restore_snapshot(rp_session *s, int64_t n, rp_ack *ret, rp_error *err)
{
  int rc = rp__session_check(s, err);
  if (rc) return rc;
  struct open_ctx x = {.s = s, .err = err};
  rc = find_snapshot(s, n, &x, err);
  return rc ? rc : rp_restore(s, x.seq, ret, err);
}
