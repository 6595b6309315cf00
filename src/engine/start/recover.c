/* SPDX-License-Identifier: Apache-2.0 */
/* Runs whose owner is gone: gathers the evidence, and ends them (B-03, X-11). */
#include "engine/start/recover.h"

#include "engine/capture/capture.h"

#define WTMP "/var/log/wtmp"
#define RECOVER_MAX 256                /* dead runs ended by one start; the rest by the next ones */
#define BATCH_BYTES (64 * 1024 * 1024) /* of journals whose states are read at once */

void rp__run_judge(rp_engine *e, const struct rp__run_row *run, int64_t last_ms, struct rp__evidence *ret_evidence,
                   struct rp__verdict *ret)
{
  struct rp__evidence v = {
      .owner = run->owner,
      .proc = run->owner == RP_RUN_NONE ? RP_PROC_UNKNOWN : rp__proc_probe(&run->proc),
      .boot_known = run->proc.boot_id[0] && e->self.boot_id[0],
      .heartbeat_ms = RP_MAX(run->heartbeat_at, run->started_at),
      .now_ms = rp__engine_now(e),
      .heartbeat_boot_ms = run->heartbeat_boot,
      .now_boot_ms = rp__boot(&e->clock),
      .ttl_ms = rp__config_of(e->config, NULL)->lease_ms,
  };
  v.same_boot = v.boot_known && strcmp(run->proc.boot_id, e->self.boot_id) == 0;
  if (last_ms > v.heartbeat_ms) { /* its session was written to since: a sign of life, on the wall clock only */
    v.heartbeat_ms = last_ms;
    v.heartbeat_boot_ms = 0;
  }
  if (run->owner == RP_RUN_LOCK) v.lock_held = rp__slot_is_held(e, run->slot);
  if (v.boot_known && !v.same_boot) v.shutdown = rp__shutdown_kind(WTMP, v.heartbeat_ms);
  *ret_evidence = v;
  rp__lease_judge(&v, run->proc.pid, ret);
}

int rp__run_copy(void *ctx, const struct rp__run_row *run)
{
  *(struct rp__run_row *)ctx = *run;
  return 0;
}

int rp__run_newest(rp_engine *e, int64_t session_ref, bool open_only, struct rp__run_row *ret, rp_error *err)
{
  struct rp__run_filter f = {.session_ref = session_ref, .open_only = open_only, .limit = 1};
  *ret = (struct rp__run_row){0};
  return e->store->ops->run_list(e->store, &f, rp__run_copy, ret, err);
}

/* ---- the open runs of a scope ---- */

void rp__open_runs_done(struct rp__open_runs *l)
{
  for (size_t i = 0; i < l->n; i++) rp__session_row_done(&l->dead[i].row);
  free(l->dead);
  l->dead = NULL;
  l->n = 0;
}

/* Keeps the dead ones. The run of a damaged session ends after its repair. */
static int on_run(void *ctx, const struct rp__run_row *run)
{
  struct rp__open_runs *l = ctx;
  struct rp__dead_run d = {.run = *run, .row = *run->session};
  if (l->on_run) l->on_run(l->ctx, run);
  rp__run_judge(l->e, run, d.row.last_activity_at, &d.evidence, &d.verdict);
  if (d.verdict.alive || d.row.damaged || l->n == RECOVER_MAX) return 0;
  if (!RP__ROOM(l->dead, l->n, l->cap)) return RP_E_NOMEM;
  d.run.session = NULL;
  if (rp__session_row_copy(run->session, &d.row)) return RP_E_NOMEM;
  l->dead[l->n++] = d;
  return 0;
}

/*
 * What is known to live needs no look: runs without an owner that beat within the lease. A server has thousands of
 * them. By the boot clock, as they are judged; false where that is not known.
 */
static bool living(const rp_engine *e, struct rp__beats *ret)
{
  int64_t now = rp__boot(&e->clock);
  if (now <= 0 || !e->self.boot_id[0]) return false;
  *ret = (struct rp__beats){
      .boot_id = e->self.boot_id, .after = RP_MAX(now - rp__config_of(e->config, NULL)->lease_ms, 0), .upto = now};
  return true;
}

/*
 * the record of what the run left, with the pins and tasks as of its last event, and the run's end, in one
 * transaction. A session that can't be read has no record, and its run ends all the same. `s` is NULL for a session
 * that had ended.
 */
static int recover_one(rp_engine *e, const struct rp__dead_run *d, rp_session *s, rp__recovered_fn *fn, void *ctx,
                       rp_error *err)
{
  struct rp__capture record RP_CLEANUP(rp__capture_done) = {0};
  struct rp__last_words words RP_CLEANUP(rp__last_words_done) = {0};
  int64_t end_ms = RP_MIN(d->evidence.heartbeat_ms, d->evidence.now_ms);
  rp_error why = {0};
  int rc = s && d->row.tails.n ? rp__last_words_make(s, &words, &why) : 0;
  if (!rc && s) rc = rp__capture_make(s, end_ms, true, &words, &record, &why);
  if (rp__capture_passes(rc)) {
    if (err) *err = why;
    return rc;
  }
  if (rc) rp__log(&e->log, RP_LOG_WARN, "session %s was left without a record: %s", d->row.id, why.message);
  /* Refused when the run has ended, shown a sign of life or been followed by another since it was judged. */
  bool closes = !d->row.key[0] && !rp__status_ended(d->row.status);
  struct rp__op base = {
      .session_ref = d->row.ref, .session_id = d->row.id, .now_ms = d->evidence.now_ms, .epoch = d->run.epoch};
  struct rp__op ops[3 + RP_CAPTURE_OPS] = {base, base, base};
  size_t n = 2;
  ops[0].type = RP_OP_RUN_END;
  ops[0].u.run_end.run_ref = d->run.ref;
  ops[0].u.run_end.ended_at = RP_MIN(d->evidence.heartbeat_ms, d->evidence.now_ms);
  ops[0].u.run_end.cause = d->verdict.cause;
  ops[0].u.run_end.evidence = d->verdict.evidence;
  ops[0].u.run_end.still_at = d->run.heartbeat_at;
  ops[1].type = RP_OP_SESSION_SET;
  ops[1].u.session_set.fields = RP_SET_CRASH | (closes ? RP_SET_MOVE : 0u);
  ops[1].u.session_set.crash_recovered = true;
  ops[1].u.session_set.move = RP_MOVE_CLOSE;
  ops[1].u.session_set.ended_at = RP_MIN(d->evidence.heartbeat_ms, d->evidence.now_ms);
  if (words.n) rp__last_words_append(&words, 0, &ops[n++]);
  rc = rp__engine_commit(e, ops, n + rp__capture_ops(&record, ops + n), RP_OS, err);
  if (!rc) fn(ctx, &d->run, &d->verdict);
  if (!rc && words.n) s->view->loaded = false;
  if (!rc && s) s->view->told_number = words.n ? words.streams_number : words.heard_number;
  if (!rc && s) rp__capture_mirror(s, &record);
  /* Somebody else was faster. One who spoke meanwhile is a guest: the next start ends the run. */
  bool passed = rc == RP_E_ENDED || rc == RP_E_TRANSITION || rc == RP_E_FENCED || rc == RP_E_SEQ_CONFLICT ||
                rc == RP_E_SESSION_NOT_FOUND;
  return passed ? 0 : rc;
}

struct rp__read rp__open_runs_reading(struct rp__open_runs *l, const char *scope)
{
  return (struct rp__read){.type = RP_READ_RUNS,
                           .ctx = l,
                           .u.runs = {.filter = {.scope = scope,
                                                 .open_only = true,
                                                 .with_session = true,
                                                 .leave_out = living(l->e, &l->beats) ? &l->beats : NULL},
                                      .fn = on_run}};
}

int rp__recover(rp_engine *e, const char *scope, const struct rp__key *key, struct rp__open_runs *l,
                struct rp__views *seen, rp__recovered_fn *fn, void *ctx, rp_error *err)
{
  rp_session *views[RECOVER_MAX] = {0}, *wanted[RECOVER_MAX];
  int rc = 0;
  for (size_t at = 0, n; !rc && at < l->n; at += n) {
    struct rp__dead_run *dead = &l->dead[at];
    size_t n_wanted = 0;
    /* As many of the dead, from the first on, as fit into memory together; at least one. */
    int64_t bytes = dead[0].row.bytes;
    n = 1;
    while (n < l->n - at && bytes + dead[n].row.bytes <= BATCH_BYTES) bytes += dead[n++].row.bytes;
    for (size_t i = 0; !rc && i < n; i++) {
      views[i] = NULL;
      if (rp__status_ended(dead[i].row.status)) continue; /* its record is there */
      rc = rp__view_open(e, &dead[i].row, key, &views[i], err);
      if (!rc) wanted[n_wanted++] = views[i];
    }
    if (!rc) rc = rp__views_read(e, scope, wanted, n_wanted, seen, err);
    for (size_t i = 0; i < n; i++) {
      if (!rc) rc = recover_one(e, &dead[i], views[i], fn, ctx, err);
      if (!rc && views[i]) rp__views_keep(seen, views[i]);
      if (views[i]) rp__session_unref(views[i]);
      views[i] = NULL;
    }
  }
  return rc;
}
