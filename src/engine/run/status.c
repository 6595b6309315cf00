/* SPDX-License-Identifier: Apache-2.0 */
/* rp_session_status_json: how a run began and whether it is alive, read from its row, in any process (N-18). */
#include "engine/engine.h"

#define STATUS_MAX 65536
#define RUNS_LOOKED_AT 64

struct status {
  rp_engine *e;
  struct rp__session_row row;
  struct rp__run_row run; /* ref 0: the session has had none */
  int64_t starts;         /* of the scope */
  rp_error *err;
};

static void status_done(struct status *st)
{
  rp__session_row_done(&st->row);
}

static int starts_get(struct status *st, const char *scope, int64_t *ret)
{
  struct rp__scope_row row = {0};
  int rc = st->e->store->ops->scope_get(st->e->store, scope, &row, st->err);
  if (!rc) *ret = row.starts;
  return rc;
}

/* ---- of a session ---- */

static int find_session(struct status *st, const char *ref)
{
  int rc = rp__session_lookup(st->e, ref, &st->row, st->err);
  if (!rc) rc = rp__run_newest(st->e, st->row.ref, false, &st->run, st->err);
  return rc ? rc : starts_get(st, st->row.scope, &st->starts);
}

/* ---- of a scope ---- */

#define FOUND 1

/*
 * A run that was counted last is the scope's latest start. The newest row need not be: an import brings the runs of
 * elsewhere. Where no run was counted (the session was trashed since, the file is of an older version) it is.
 */
static int on_run(void *ctx, const struct rp__run_row *run)
{
  struct status *st = ctx;
  struct rp__session_row row = {0};
  int64_t starts = 0;
  int rc = st->e->store->ops->session_find(st->e->store, RP_FIND_ID, NULL, run->session_id, &row, st->err);
  if (rc == RP_E_SESSION_NOT_FOUND) return 0;
  bool out = row.trashed_at;
  if (!rc && !out) rc = starts_get(st, row.scope, &starts);
  bool latest = run->start_number && run->start_number == starts;
  if (rc || out || (st->run.ref && !latest)) {
    rp__session_row_done(&row);
    return rc;
  }
  rp__session_row_done(&st->row);
  st->row = row; /* takes over meta */
  st->run = *run;
  st->starts = starts;
  return latest ? FOUND : 0;
}

static int find_latest(struct status *st, const char *scope)
{
  struct rp__run_filter f = {.scope = scope, .limit = RUNS_LOOKED_AT};
  int rc = st->e->store->ops->run_list(st->e->store, &f, on_run, st, st->err);
  if (rc && rc != FOUND) return rc;
  if (st->run.ref) return 0;
  return scope
             ? rp__fail(st->err, RP_E_SESSION_NOT_FOUND, "nothing was started in the scope %.*s yet", RP_ID_MAX, scope)
             : rp__fail(st->err, RP_E_SESSION_NOT_FOUND, "nothing was started yet");
}

/* ---- telling ---- */

/* An open run whose owner is gone lasted until its last sign of life. */
static double uptime(const struct status *st, bool alive)
{
  const struct rp__run_row *run = &st->run;
  int64_t until = run->ended_at;
  if (!until) until = alive ? rp__engine_now(st->e) : RP_MAX(run->heartbeat_at, st->row.last_activity_at);
  return until > run->started_at ? (double)(until - run->started_at) / 1000.0 : 0;
}

static void write_away(const struct rp__run_row *run, const char *key, struct rp__jw *w)
{
  rp__jw_key(w, key);
  if (run->ref && run->restart != RP_RESTART_NONE)
    rp__jw_double(w, run->elapsed);
  else
    rp__jw_null(w);
}

int rp_alive(rp_engine *e, const char *ref, bool *ret_alive, rp_error *err)
{
  struct rp__session_row row RP_CLEANUP(rp__session_row_done) = {0};
  struct rp__run_row run = {0};
  struct rp__evidence evidence;
  struct rp__verdict verdict = {0};
  int rc = rp__engine_check(e, err);
  if (!rc) rc = rp__session_lookup(e, ref ? ref : "", &row, err);
  if (!rc && !rp__status_ended(row.status)) rc = rp__run_newest(e, row.ref, false, &run, err);
  if (rc) return rc;
  if (run.ref && !run.ended_at) rp__run_judge(e, &run, row.last_activity_at, &evidence, &verdict);
  *ret_alive = verdict.alive;
  return 0;
}

int rp_session_status_json(rp_engine *e, const char *ref, const char *scope, char **ret, rp_error *err)
{
  struct status st RP_CLEANUP(status_done) = {.e = e, .err = err};
  struct rp__buf out RP_AUTOBUF = RP_BUF(STATUS_MAX);
  struct rp__jw w = RP_JW(&out);
  int rc = rp__engine_check(e, err);
  if (!rc) rc = ref ? find_session(&st, ref) : find_latest(&st, scope);
  if (rc) return rc;
  const struct rp__run_row *run = &st.run;
  struct rp__evidence evidence;
  struct rp__verdict verdict = {0};
  if (run->ref && !run->ended_at) rp__run_judge(st.e, run, st.row.last_activity_at, &evidence, &verdict);
  rp__jw_pack(&w, "{session_id:s scope:s restart_type:s cause:s", st.row.id, st.row.scope,
              run->ref ? rp__restart_name(run->restart) : NULL, rp__cause_name(run->previous_cause));
  write_away(run, "elapsed", &w);
  write_away(run, "elapsed_since_last", &w);
  rp__jw_pack(&w, "uptime:d total_sessions:i", run->ref ? uptime(&st, verdict.alive) : 0, st.starts);
  rp__jw_key(&w, "start_number");
  if (run->start_number)
    rp__jw_i64(&w, run->start_number);
  else
    rp__jw_null(&w);
  rp__jw_key(&w, "session_start");
  if (run->ref)
    rp__jw_double(&w, (double)run->started_at / 1000.0);
  else
    rp__jw_null(&w);
  rp__jw_pack(&w, "started_at:t alive:b owned:b}", run->started_at, verdict.alive,
              run->ref && run->owner != RP_RUN_NONE);
  return rp__text_give(&out, ret, err);
}
