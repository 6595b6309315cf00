/* SPDX-License-Identifier: Apache-2.0 */
/* The kind of a restart, decided from the previous run. */
#include "engine/start/restart-kind.h"

/*
 * Somebody works beside us: provably, or by the lease of a run without an owner that somebody beats for. One that was
 * never beaten for was started by a command that came and went, and a second such command follows it.
 */
static bool beside_us(const struct rp__run_row *run, const struct rp__verdict *verdict)
{
  bool beaten = run->owner == RP_RUN_NONE && run->heartbeat_at > run->started_at;
  return verdict->alive && (verdict->provable || beaten);
}

static bool ended_cleanly(const struct rp__run_row *run)
{
  return run->ended_at && (run->cause == RP_CAUSE_CLEAN || run->cause == RP_CAUSE_UPGRADE);
}

/* When a run ended, or gave its last sign of life; `last` is the last activity of its session. */
static int64_t end_of(const struct rp__run_row *run, int64_t last)
{
  int64_t beat = RP_MAX(run->heartbeat_at, run->started_at);
  return RP_MAX(RP_MAX(beat, last), ended_cleanly(run) ? run->ended_at : 0);
}

int rp__restart_on_run(void *ctx, const struct rp__run_row *run)
{
  struct rp__restart_search *x = ctx;
  struct rp__evidence v;
  struct rp__verdict verdict = {0};
  if ((x->of_session && x->hit) || run->ref == x->skip) return 0;
  if (!run->ended_at) rp__run_judge(x->e, run, 0, &v, &verdict);
  if (!x->of_session && beside_us(run, &verdict)) {
    x->beside_since = RP_MAX(x->beside_since, run->started_at);
    return 0;
  }
  /* Of several runs at once the one that ended last counts, not the one that started last. */
  int64_t last = run->session ? run->session->last_activity_at : x->last_activity;
  if (x->hit && end_of(run, last) <= end_of(&x->run, x->last_activity)) return 0;
  x->run = *run;
  x->run.session = NULL;
  x->last_activity = last;
  x->hit = true;
  return 0;
}

struct rp__read rp__restart_reading(struct rp__restart_search *x, const char *scope, const char *channel)
{
  return (struct rp__read){.type = RP_READ_RUNS,
                           .ctx = x,
                           .u.runs = {.filter = {.scope = scope,
                                                 .channel = rp__channel_of(x->e, scope, channel),
                                                 .limit = RP_RUNS_LOOKED_AT,
                                                 .with_session = true},
                                      .fn = rp__restart_on_run}};
}

/*
 * A run of this very session that still seems to live is ended by this start, as a crash. Another session that lives
 * has neither crashed nor ended: nothing went wrong, and the time runs from its last sign. Nor is it our crash when a
 * session that lives beside us began after it: that session was told.
 */
static void judge(const struct rp__restart_search *x, struct rp__restart_facts *f)
{
  const struct rp__run_row *run = &x->run;
  struct rp__evidence evidence;
  struct rp__verdict verdict;
  int64_t last = x->last_activity;
  f->cause = run->ended_at ? run->cause : RP_CAUSE_CRASH;
  f->clean = ended_cleanly(run);
  if (f->clean) last = RP_MAX(last, run->ended_at);
  bool told = !f->clean && x->beside_since > end_of(run, last);
  rp__run_judge(x->e, run, last, &evidence, &verdict);
  if (!run->ended_at && !verdict.alive) f->cause = verdict.cause;
  f->elapsed = rp__elapsed_seconds(&evidence);
  snprintf(f->evidence, sizeof f->evidence, "%s", run->ended_at ? run->evidence : verdict.evidence);
  if (!told && (run->ended_at || !verdict.alive || x->of_session)) return;
  f->clean = true;
  f->cause = RP_CAUSE_CLEAN;
  f->evidence[0] = '\0';
}

void rp__restart_classified(const struct rp__restart_search *x, const char *scope, struct rp__restart_facts *ret)
{
  const struct rp__scope_config *c = rp__config_of(x->e->config, scope);
  *ret = (struct rp__restart_facts){.any_previous = x->hit};
  if (x->hit) judge(x, ret);
  ret->restart = rp__restart_classify(x->hit, ret->clean, ret->elapsed, (double)c->crash_ms / 1000,
                                      (double)c->short_break_ms / 1000);
}

const char *rp__channel_of(const rp_engine *e, const char *scope, const char *channel)
{
  return rp__config_of(e->config, scope)->per_channel ? channel ? channel : "cli" : NULL;
}

int rp__previous_find(rp_engine *e, const char *scope, const char *channel, struct rp__session_row *ret, rp_error *err)
{
  const char *inside = rp__channel_of(e, scope, channel);
  int rc = e->store->ops->session_find(e->store, RP_FIND_LAST, scope, inside, ret, err);
  return rc == RP_E_SESSION_NOT_FOUND ? 0 : rc;
}

int rp_last_in(rp_engine *e, const char *scope, const char *channel, char *ret, rp_error *err)
{
  struct rp__session_row last RP_CLEANUP(rp__session_row_done) = {0};
  int rc = rp__engine_check(e, err);
  if (!rc && (!scope || !rp__name_ok(scope)))
    rc = rp__fail_field(err, RP_E_USAGE, "scope", "no scope, or one that can't be a scope's name");
  if (!rc) rc = rp__previous_find(e, scope, channel, &last, err);
  if (rc) return rc;
  if (!last.ref) return rp__fail(err, RP_E_SESSION_NOT_FOUND, "no session in scope %s yet", scope);
  memcpy(ret, last.id, sizeof last.id);
  return 0;
}

int rp__restart_find(rp_engine *e, const char *scope, const char *channel, const struct rp__session_row *row,
                     int64_t skip_run, struct rp__restart_facts *ret, rp_error *err)
{
  struct rp__restart_search x = {.e = e, .of_session = row != NULL, .skip = skip_run};
  struct rp__run_filter f = {.limit = RP_RUNS_LOOKED_AT, .with_session = true};
  if (row) {
    f.session_ref = row->ref;
  } else {
    f.scope = scope;
    f.channel = rp__channel_of(e, scope, channel);
  }
  int rc = e->store->ops->run_list(e->store, &f, rp__restart_on_run, &x, err);
  if (!rc) rp__restart_classified(&x, scope, ret);
  return rc;
}

void rp__restart_write(const struct rp__restart_facts *f, struct rp__jw *w)
{
  rp__jw_pack(w, "{type:s cause:s elapsed_seconds:d}", rp__restart_name(f->restart),
              f->any_previous ? rp__cause_name(f->cause) : NULL, f->elapsed);
}
