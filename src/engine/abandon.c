/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/abandon.h"

#include <limits.h>

#include "engine/capture.h"

#define START_LOOK 64 /* sessions that a start looks at */
#define MARK_MAX 1024 /* sessions marked by one sweep; the rest by the next one */
#define MARK_OPS (3 + RP_CAPTURE_OPS)

/* ---- judging ---- */

static bool channel_is_live(const struct rp__session_row *row)
{
  return row->channel[0] && strcmp(row->channel, "cli") != 0;
}

bool rp__abandon_possible(const rp_engine *e, const struct rp__session_row *row, int64_t now)
{
  const char *which = rp__config_text(e->config, row->scope, RP_OPT_ABANDON);
  int64_t after = rp__config_ms(e->config, row->scope, RP_OPT_ABANDON_S);
  if (rp__status_ended(row->status) || row->held_at || row->trashed_at || row->damaged) return false;
  if (strcmp(which, "never") == 0) return false;
  if (strcmp(which, "channel") == 0 && !channel_is_live(row)) return false;
  return now - RP_MAX(row->last_activity_at, row->created_at) >= after;
}

static int on_run(void *ctx, const struct rp__run_row *run)
{
  *(struct rp__run_row *)ctx = *run;
  return 0;
}

int rp__abandon_judge(rp_engine *e, const struct rp__session_row *row, struct rp__quiet *ret, rp_error *err)
{
  struct rp__quiet q = {.last_ms = RP_MAX(row->last_activity_at, row->created_at)};
  struct rp__evidence evidence;
  struct rp__run_filter f = {.session_ref = row->ref, .limit = 1};
  int64_t now = rp__engine_now(e);
  int rc = 0;
  if (rp__abandon_possible(e, row, now)) {
    rc = e->store->ops->run_list(e->store, &f, on_run, &q.run, err);
    if (rc) return rc;
    if (q.run.ref) q.last_ms = RP_MAX(q.last_ms, RP_MAX(q.run.heartbeat_at, q.run.started_at));
    if (q.run.ref && !q.run.ended_at) rp__run_judge(e, &q.run, row->last_activity_at, &evidence, &q.verdict);
    q.due = !q.verdict.alive && now - q.last_ms >= rp__config_ms(e->config, row->scope, RP_OPT_ABANDON_S);
  }
  *ret = q;
  return 0;
}

/* ---- marking ---- */

static int abandoned_body(const struct rp__quiet *q, struct rp__buf *out)
{
  struct rp__jw w = RP_JW(out);
  rp__jw_object(&w);
  rp__jw_kstr(&w, "status", rp__status_name(RP_STATUS_ABANDONED));
  rp__jw_kstr(&w, "reason", "no activity");
  rp__jw_ktime(&w, "last_activity_at", q->last_ms);
  rp__jw_end_object(&w);
  return out->err;
}

/*
 * All or nothing, and nothing when anybody showed up since the session was judged: a new run has another epoch, a guest
 * leaves another last seq, a heartbeat of the open run another time.
 */
static int commit_mark(rp_session *s, const struct rp__session_row *row, const struct rp__quiet *q,
                       const struct rp__last_words *words, const struct rp__capture *capture, rp_error *err)
{
  int64_t now = rp__engine_now(s->e), end = RP_MIN(q->last_ms, now);
  struct rp__op base = {.session_ref = row->ref, .session_id = row->id, .now_ms = now, .epoch = row->epoch};
  struct rp__op ops[MARK_OPS] = {base, base, base};
  size_t n = 2;
  ops[0].type = RP_OP_SESSION_SET;
  ops[0].u.session_set.fields = RP_SET_MOVE;
  ops[0].u.session_set.move = RP_MOVE_ABANDON;
  ops[0].u.session_set.ended_at = end;
  rp__last_words_append(words, 1, &ops[1]);
  ops[1].u.append.expect = row->last_seq;
  if (q->run.ref && !q->run.ended_at) {
    ops[n].type = RP_OP_RUN_END;
    ops[n].u.run_end.run_ref = q->run.ref;
    ops[n].u.run_end.ended_at = end;
    ops[n].u.run_end.cause = q->verdict.cause;
    ops[n].u.run_end.evidence = q->verdict.evidence;
    ops[n++].u.run_end.still_at = q->run.heartbeat_at;
  }
  n += rp__capture_ops(capture, ops + n);
  return rp__engine_commit(s->e, ops, n, RP_DISK, err);
}

static int mark(rp_session *s, const struct rp__session_row *row, const struct rp__quiet *q, rp_error *err)
{
  struct rp__buf plain RP_AUTOBUF = RP_BUF(1024), sealed RP_AUTOBUF = RP_BUF(2048);
  struct rp__capture capture RP_CLEANUP(rp__capture_done) = {0};
  struct rp__last_words words RP_CLEANUP(rp__last_words_done) = {0};
  struct rp__str body = {0};
  rp_error why = {0};
  if (abandoned_body(q, &plain) || rp__journal_seal(s, plain.p, plain.n, &sealed, &body)) return rp__fail_nomem(err);
  /* A journal that can't be read has no record, but it is abandoned all the same. */
  int rc = rp__last_words_make(s, &words, &why);
  if (!rc)
    rc = rp__capture_make(s, RP_MIN(q->last_ms, rp__engine_now(s->e)), row->crash_recovered, &words, &capture, &why);
  if (rp__capture_passes(rc)) {
    if (err) *err = why;
    return rc;
  }
  if (rc) rp__log(&s->e->log, RP_LOG_WARN, "record of session %s: %s", row->id, why.message);
  words.events[words.n] = (struct rp__new_event){.kind = "status",
                                                 .body = body.p,
                                                 .body_len = body.n,
                                                 .at_ms = rp__engine_now(s->e),
                                                 .sealed = s->key != NULL,
                                                 .engine = true};
  rc = commit_mark(s, row, q, &words, &capture, err);
  if (!rc) rp__capture_mirror(s, &capture);
  return rc;
}

int rp__abandon_mark(rp_engine *e, const struct rp__session_row *row, const struct rp__quiet *q, rp_error *err)
{
  rp_session *s;
  int rc = rp__session_open(e, row, 0, &s, err);
  if (rc) return rc;
  rc = mark(s, row, q, err);
  if (!rc) atomic_fetch_add(&e->metrics.abandoned, 1);
  rp__session_unref(s);
  return rc;
}

/* ---- sweeping ---- */

struct sweep {
  rp_engine *e;
  rp_error *err;
  int64_t now;
  char (*ids)[RP_NAME];
  size_t n, cap;
};

/* Quiet but alive sessions, of which a server has thousands, must not take the places of those that are to be marked.
 */
static int lives(struct sweep *x, const struct rp__session_row *row, bool *ret)
{
  struct rp__run_row run = {0};
  struct rp__evidence evidence;
  struct rp__verdict verdict = {0};
  struct rp__run_filter f = {.session_ref = row->ref, .limit = 1};
  int rc = x->e->store->ops->run_list(x->e->store, &f, on_run, &run, x->err);
  if (!rc && run.ref && !run.ended_at) rp__run_judge(x->e, &run, row->last_activity_at, &evidence, &verdict);
  *ret = verdict.alive;
  return rc;
}

static int on_session(void *ctx, const struct rp__session_row *row)
{
  struct sweep *x = ctx;
  bool alive = false;
  if (x->n == MARK_MAX || !rp__abandon_possible(x->e, row, x->now)) return 0;
  int rc = lives(x, row, &alive);
  if (rc || alive) return rc;
  if (x->n == x->cap) {
    size_t cap = x->cap ? x->cap * 2 : 16;
    void *p = realloc(x->ids, cap * sizeof *x->ids);
    if (!p) return RP_E_NOMEM;
    x->ids = p;
    x->cap = cap;
  }
  memcpy(x->ids[x->n++], row->id, RP_NAME);
  return 0;
}

static int sweep_one(rp_engine *e, const char *id, bool *ret_marked, rp_error *err)
{
  struct rp__session_row row RP_CLEANUP(rp__session_row_done) = {0};
  struct rp__quiet q = {0};
  int rc = e->store->ops->session_find(e->store, RP_FIND_ID, NULL, id, &row, err);
  if (!rc) rc = rp__abandon_judge(e, &row, &q, err);
  if (!rc && q.due) rc = rp__abandon_mark(e, &row, &q, err);
  *ret_marked = !rc && q.due;
  switch (rc) {
  case RP_E_SESSION_NOT_FOUND:
  case RP_E_FENCED:
  case RP_E_SEQ_CONFLICT:
  case RP_E_ENDED:
  case RP_E_TRANSITION:
  case RP_E_KEY_MISSING:
  case RP_E_KEY_WRONG: return 0;
  default: return rc;
  }
}

static int sweep(rp_engine *e, const char *scope, int look, int64_t *ret_n, rp_error *err)
{
  struct sweep x = {.e = e, .err = err, .now = rp__engine_now(e)};
  rp_filter f = {.scope = scope, .limit = look};
  int64_t marked = 0;
  if (e->read_only) return rp__fail(err, RP_E_READONLY, "the store was opened to be read only");
  int rc = e->store->ops->session_list(e->store, &f, on_session, &x, err);
  if (rc == RP_E_NOMEM) rp__fail_nomem(err);
  for (size_t i = 0; !rc && i < x.n; i++) {
    bool done = false;
    rc = sweep_one(e, x.ids[i], &done, err);
    marked += done;
  }
  free(x.ids);
  if (!rc && ret_n) *ret_n = marked;
  return rc;
}

int rp__abandon_sweep(rp_engine *e, const char *scope, int64_t *ret_n, rp_error *err)
{
  return sweep(e, scope, INT_MAX, ret_n, err);
}

void rp__abandon_scope(rp_engine *e, const char *scope)
{
  rp_error why = {0};
  if (strcmp(rp__config_text(e->config, scope, RP_OPT_ABANDON), "never") == 0) return;
  if (sweep(e, scope, START_LOOK, NULL, &why))
    rp__log(&e->log, RP_LOG_DEBUG, "abandoned sessions of scope %s: %s", scope, why.message);
}
