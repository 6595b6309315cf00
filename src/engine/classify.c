/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/classify.h"

#define RUNS_LOOKED_AT 32

struct previous_search {
  rp_engine *e;
  bool of_session;
  int64_t skip;
  struct rp__run_row run;
  bool hit;
};

/*
 * Somebody works beside us: provably, or by the lease of a run without an owner that somebody beats for. One that was
 * never beaten for was started by a command that came and went, and a second such command follows it.
 */
static bool beside_us(const struct rp__run_row *run, const struct rp__verdict *verdict)
{
  bool beaten = run->owner == RP_RUN_NONE && run->heartbeat_at > run->started_at;
  return verdict->alive && (verdict->provable || beaten);
}

static int on_previous(void *ctx, const struct rp__run_row *run)
{
  struct previous_search *x = ctx;
  struct rp__evidence v;
  struct rp__verdict verdict = {0};
  if (x->hit || run->ref == x->skip) return 0;
  if (!run->ended_at) rp__run_judge(x->e, run, 0, &v, &verdict);
  if (!x->of_session && beside_us(run, &verdict)) return 0;
  x->run = *run;
  x->hit = true;
  return 0;
}

/* Last activity of the run's session; 0 when that is gone. */
static int last_activity(rp_engine *e, const char *id, int64_t *ret, rp_error *err)
{
  struct rp__session_row row = {0};
  int rc = e->store->ops->session_find(e->store, RP_FIND_ID, NULL, id, &row, err);
  *ret = rc ? 0 : row.last_activity_at;
  rp__session_row_done(&row);
  return rc == RP_E_SESSION_NOT_FOUND ? 0 : rc;
}

/*
 * A run of this very session that still seems to live is ended by this start, as a crash. Another session that lives
 * has neither crashed nor ended: nothing went wrong, and the time runs from its last sign.
 */
static int judge(rp_engine *e, const struct rp__run_row *run, bool of_session, struct rp__restart_facts *f,
                 rp_error *err)
{
  struct rp__evidence evidence;
  struct rp__verdict verdict;
  int64_t last;
  int rc = last_activity(e, run->session_id, &last, err);
  if (rc) return rc;
  f->cause = run->ended_at ? run->cause : RP_CAUSE_CRASH;
  f->clean = run->ended_at && (run->cause == RP_CAUSE_CLEAN || run->cause == RP_CAUSE_UPGRADE);
  if (f->clean) last = RP_MAX(last, run->ended_at);
  rp__run_judge(e, run, last, &evidence, &verdict);
  if (!run->ended_at && !verdict.alive) f->cause = verdict.cause;
  f->elapsed = rp__elapsed_seconds(&evidence);
  snprintf(f->evidence, sizeof f->evidence, "%s", run->ended_at ? run->evidence : verdict.evidence);
  if (run->ended_at || !verdict.alive || of_session) return 0;
  f->clean = true;
  f->cause = RP_CAUSE_CLEAN;
  f->evidence[0] = '\0';
  return 0;
}

const char *rp__channel_of(const rp_engine *e, const char *scope, const char *channel)
{
  return rp__config_bool(e->config, scope, RP_OPT_PER_CHANNEL) ? channel ? channel : "cli" : NULL;
}

int rp__previous_find(rp_engine *e, const char *scope, const char *channel, char ret[RP_NAME], rp_error *err)
{
  struct rp__session_row last = {0};
  const char *inside = rp__channel_of(e, scope, channel);
  int rc = e->store->ops->session_find(e->store, RP_FIND_LAST, scope, inside, &last, err);
  if (rc && rc != RP_E_SESSION_NOT_FOUND) return rc;
  memcpy(ret, last.id, RP_NAME);
  rp__session_row_done(&last);
  return 0;
}

int rp_last_in(rp_engine *e, const char *scope, const char *channel, char *ret, rp_error *err)
{
  char id[RP_NAME];
  int rc = rp__engine_check(e, err);
  if (!rc && (!scope || !rp__name_ok(scope)))
    rc = rp__fail_field(err, RP_E_USAGE, "scope", "no scope, or one that can't be a scope's name");
  if (!rc) rc = rp__previous_find(e, scope, channel, id, err);
  if (rc) return rc;
  if (!id[0]) return rp__fail(err, RP_E_SESSION_NOT_FOUND, "no session in scope %s yet", scope);
  memcpy(ret, id, sizeof id);
  return 0;
}

int rp__restart_find(rp_engine *e, const char *scope, const char *channel, const struct rp__session_row *row,
                     int64_t skip_run, struct rp__restart_facts *ret, rp_error *err)
{
  struct previous_search x = {.e = e, .of_session = row != NULL, .skip = skip_run};
  struct rp__run_filter f = {.limit = RUNS_LOOKED_AT};
  *ret = (struct rp__restart_facts){0};
  if (row) {
    f.session_ref = row->ref;
  } else {
    f.scope = scope;
    f.channel = rp__channel_of(e, scope, channel);
  }
  int rc = e->store->ops->run_list(e->store, &f, on_previous, &x, err);
  if (!rc && x.hit) rc = judge(e, &x.run, x.of_session, ret, err);
  if (rc) return rc;
  ret->any_previous = x.hit;
  ret->restart = rp__restart_classify(x.hit, ret->clean, ret->elapsed, rp__config_num(e->config, scope, RP_OPT_CRASH_S),
                                      rp__config_num(e->config, scope, RP_OPT_SHORT_BREAK_S));
  return 0;
}

void rp__restart_write(const struct rp__restart_facts *f, struct rp__jw *w)
{
  rp__jw_object(w);
  rp__jw_kstr(w, "type", rp__restart_name(f->restart));
  rp__jw_kstr(w, "cause", f->any_previous ? rp__cause_name(f->cause) : NULL);
  rp__jw_kdouble(w, "elapsed_seconds", f->elapsed);
  rp__jw_end_object(w);
}
