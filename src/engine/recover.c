/* SPDX-License-Identifier: Apache-2.0 */
/* Runs whose owner is gone: gathering the evidence, and ending them (B-03, X-11). */
#include "engine/recover.h"

#include "engine/capture.h"

#define WTMP "/var/log/wtmp"
#define RECOVER_MAX 256 /* dead runs ended by one start; the rest by the next ones */

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
      .ttl_ms = rp__config_ms(e->config, NULL, RP_OPT_LEASE_S),
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

#define FULL 1 /* as many as one start ends were found */

struct search {
  rp_engine *e;
  struct rp__run_row *dead;
  size_t n;
};

/* Keeps the dead ones. What only the time says about is looked at again with its session's last activity. */
static int on_run(void *ctx, const struct rp__run_row *run)
{
  struct search *x = ctx;
  struct rp__evidence evidence;
  struct rp__verdict verdict;
  rp__run_judge(x->e, run, 0, &evidence, &verdict);
  if (!verdict.alive) x->dead[x->n++] = *run;
  return x->n == RECOVER_MAX ? FULL : 0;
}

/*
 * What is known to live needs no look: runs without an owner that beat within the lease. A server has thousands of
 * them. By the boot clock, as they are judged; false where that is not known.
 */
static bool living(const rp_engine *e, struct rp__beats *ret)
{
  int64_t now = rp__boot(&e->clock);
  if (now <= 0 || !e->self.boot_id[0]) return false;
  *ret = (struct rp__beats){.boot_id = e->self.boot_id,
                            .after = RP_MAX(now - rp__config_ms(e->config, NULL, RP_OPT_LEASE_S), 0),
                            .upto = now};
  return true;
}

/*
 * One run and what follows for its session, unless the run has ended, shown a sign
 * of life or been followed by another since it was judged.
 */
static int end_run(rp_engine *e, const struct rp__run_row *run, const struct rp__session_row *row,
                   const struct rp__evidence *v, const struct rp__verdict *verdict, const struct rp__capture *record,
                   const struct rp__last_words *words, rp_error *err)
{
  bool closes = !row->key[0] && !rp__status_ended(row->status);
  struct rp__op base = {.session_ref = row->ref, .session_id = row->id, .now_ms = v->now_ms, .epoch = run->epoch};
  struct rp__op ops[3 + RP_CAPTURE_OPS] = {base, base, base};
  size_t n = 2;
  ops[0].type = RP_OP_RUN_END;
  ops[0].u.run_end.run_ref = run->ref;
  ops[0].u.run_end.ended_at = RP_MIN(v->heartbeat_ms, v->now_ms);
  ops[0].u.run_end.cause = verdict->cause;
  ops[0].u.run_end.evidence = verdict->evidence;
  ops[0].u.run_end.still_at = run->heartbeat_at;
  ops[1].type = RP_OP_SESSION_SET;
  ops[1].u.session_set.fields = RP_SET_CRASH | (closes ? RP_SET_MOVE : 0u);
  ops[1].u.session_set.crash_recovered = true;
  ops[1].u.session_set.move = RP_MOVE_CLOSE;
  ops[1].u.session_set.ended_at = RP_MIN(v->heartbeat_ms, v->now_ms);
  if (words->n) rp__last_words_append(words, 0, &ops[n++]);
  return rp__engine_commit(e, ops, n + rp__capture_ops(record, ops + n), RP_OS, err);
}

/*
 * the record of what a dead run left, with the pins and tasks as of its last event. A session that can't be read
 * has none, and its run ends all the same. *ret_s, to be unref'd, is NULL when there is nothing to capture.
 */
static int capture_dead(rp_engine *e, const struct rp__session_row *row, int64_t end_ms, struct rp__capture *ret,
                        struct rp__last_words *ret_words, rp_session **ret_s, rp_error *err)
{
  rp_error why = {0};
  if (rp__status_ended(row->status)) return 0;
  int rc = rp__session_open(e, row, 0, ret_s, &why);
  if (!rc && row->tails.n) rc = rp__last_words_make(*ret_s, ret_words, &why);
  if (!rc) rc = rp__capture_make(*ret_s, end_ms, true, ret_words, ret, &why);
  if (rp__capture_passes(rc)) {
    if (err) *err = why;
    return rc;
  }
  if (rc) rp__log(&e->log, RP_LOG_WARN, "session %s was left without a record: %s", row->id, why.message);
  return 0;
}

static int recover_one(rp_engine *e, const struct rp__run_row *run, rp__recovered_fn *fn, void *ctx, rp_error *err)
{
  struct rp__session_row row = {0};
  struct rp__evidence evidence;
  struct rp__verdict verdict;
  int rc = e->store->ops->session_find(e->store, RP_FIND_ID, NULL, run->session_id, &row, err);
  if (rc) return rc == RP_E_SESSION_NOT_FOUND ? 0 : rc;
  rp__run_judge(e, run, row.last_activity_at, &evidence, &verdict);
  if (!verdict.alive && !row.damaged) { /* the run of a damaged one ends after its repair */
    struct rp__capture record RP_CLEANUP(rp__capture_done) = {0};
    struct rp__last_words words RP_CLEANUP(rp__last_words_done) = {0};
    rp_session *s = NULL;
    rc = capture_dead(e, &row, RP_MIN(evidence.heartbeat_ms, evidence.now_ms), &record, &words, &s, err);
    if (!rc) rc = end_run(e, run, &row, &evidence, &verdict, &record, &words, err);
    if (!rc) fn(ctx, run, &verdict, s);
    if (!rc && s) rp__capture_mirror(s, &record);
    if (s) rp__session_unref(s);
    /* Somebody else was faster. One who spoke meanwhile is a guest: the next start ends the run. */
    if (rc == RP_E_ENDED || rc == RP_E_TRANSITION || rc == RP_E_FENCED || rc == RP_E_SEQ_CONFLICT) rc = 0;
  }
  rp__session_row_done(&row);
  return rc;
}

int rp__recover(rp_engine *e, const char *scope, rp__recovered_fn *fn, void *ctx, rp_error *err)
{
  struct search x = {.e = e, .dead = calloc(RECOVER_MAX, sizeof *x.dead)};
  if (!x.dead) return rp__fail_nomem(err);
  struct rp__beats beats;
  struct rp__run_filter f = {.scope = scope, .open_only = true, .leave_out = living(e, &beats) ? &beats : NULL};
  int rc = e->store->ops->run_list(e->store, &f, on_run, &x, err);
  if (rc == FULL) rc = 0;
  for (size_t i = 0; !rc && i < x.n; i++) rc = recover_one(e, &x.dead[i], fn, ctx, err);
  free(x.dead);
  return rc;
}
