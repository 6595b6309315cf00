/* SPDX-License-Identifier: Apache-2.0 */
/* Abandoned sessions: finds the sessions that were silent too long, and ends them. */
#include "engine/keep/abandon.h"

#include <limits.h>

#include "engine/session-view.h"

#define START_LOOK 64 /* sessions that a start looks at */
#define MARK_MAX 1024 /* sessions marked by one sweep; the rest by the next one */
#define MARK_OPS (3 + RP_CAPTURE_OPS)

/* ---- judging ---- */

bool rp__abandon_possible(const rp_engine *e, const struct rp__session_row *row, int64_t now)
{
  const struct rp__scope_config *c = rp__config_of(e->config, row->scope);
  if (rp__status_ended(row->status) || row->held_at || row->trashed_at || row->damaged) return false;
  if (c->abandon == RP_ABANDON_NEVER ||
      (c->abandon == RP_ABANDON_CHANNEL && (!row->channel[0] || strcmp(row->channel, "cli") == 0)))
    return false;
  return now - RP_MAX(row->last_activity_at, row->created_at) >= c->abandon_ms;
}

/* By the newest run, which is in q->run. */
static void judge(rp_engine *e, const struct rp__session_row *row, struct rp__quiet *q)
{
  struct rp__evidence evidence;
  q->last_ms = RP_MAX(row->last_activity_at, row->created_at);
  if (q->run.ref) q->last_ms = RP_MAX(q->last_ms, RP_MAX(q->run.heartbeat_at, q->run.started_at));
  if (q->run.ref && !q->run.ended_at) rp__run_judge(e, &q->run, row->last_activity_at, &evidence, &q->verdict);
  q->due = !q->verdict.alive && rp__engine_now(e) - q->last_ms >= rp__config_of(e->config, row->scope)->abandon_ms;
}

int rp__abandon_judge(rp_engine *e, const struct rp__session_row *row, struct rp__quiet *ret, rp_error *err)
{
  *ret = (struct rp__quiet){.last_ms = RP_MAX(row->last_activity_at, row->created_at)};
  if (!rp__abandon_possible(e, row, rp__engine_now(e))) return 0;
  int rc = rp__run_newest(e, row->ref, false, &ret->run, err);
  if (!rc) judge(e, row, ret);
  return rc;
}

/* ---- marking ---- */

static int mark(rp_session *s, const struct rp__session_row *row, const struct rp__quiet *q, rp_error *err)
{
  struct rp__buf plain RP_AUTOBUF = RP_BUF(1024), sealed RP_AUTOBUF = RP_BUF(2048);
  struct rp__capture capture RP_CLEANUP(rp__capture_done) = {0};
  struct rp__last_words words RP_CLEANUP(rp__last_words_done) = {0};
  struct rp__str body = {0};
  rp_error why = {0};
  struct rp__jw w = RP_JW(&plain);
  rp__jw_pack(&w, "{status:s reason:s last_activity_at:t}", rp__status_name(RP_STATUS_ABANDONED), "no activity",
              q->last_ms);
  if (plain.err || rp__journal_seal(s, plain.p, plain.n, &sealed, &body)) return rp__fail_nomem(err);
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
  /* All or nothing, and nothing when anybody showed up since the session was judged: a new run has another epoch, a
   * guest leaves another last seq, a heartbeat of the open run another time. */
  struct rp__op base = {RP__OP_OF(s->e, row), .epoch = row->epoch};
  struct rp__op ops[MARK_OPS] = {base, base, base};
  int64_t end = RP_MIN(q->last_ms, base.now_ms);
  size_t n = 2;
  ops[0].type = RP_OP_SESSION_SET;
  ops[0].u.session_set.fields = RP_SET_MOVE;
  ops[0].u.session_set.move = RP_MOVE_ABANDON;
  ops[0].u.session_set.ended_at = end;
  rp__last_words_append(&words, 1, &ops[1]);
  ops[1].u.append.expect = row->last_seq;
  if (q->run.ref && !q->run.ended_at) {
    ops[n].type = RP_OP_RUN_END;
    ops[n].u.run_end.run_ref = q->run.ref;
    ops[n].u.run_end.ended_at = end;
    ops[n].u.run_end.cause = q->verdict.cause;
    ops[n].u.run_end.evidence = q->verdict.evidence;
    ops[n++].u.run_end.still_at = q->run.heartbeat_at;
  }
  rc = rp__engine_commit(s->e, ops, n + rp__capture_ops(&capture, ops + n), RP_DISK, err);
  if (!rc) rp__capture_mirror(s, &capture);
  if (!rc) atomic_fetch_add(&s->e->metrics.abandoned, 1);
  return rc;
}

int rp__abandon_mark(rp_engine *e, const struct rp__session_row *row, const struct rp__quiet *q, rp_error *err)
{
  rp_session *s;
  int rc = rp__session_open(e, row, 0, &s, err);
  if (rc) return rc;
  rc = mark(s, row, q, err);
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

static int on_session(void *ctx, const struct rp__session_row *row)
{
  struct sweep *x = ctx;
  if (x->n == MARK_MAX || !rp__abandon_possible(x->e, row, x->now)) return 0;
  /* Quiet but alive sessions, of which a server has thousands, must not take the places of those that are to be marked.
   */
  struct rp__run_row run;
  struct rp__evidence evidence;
  struct rp__verdict verdict = {0};
  int rc = rp__run_newest(x->e, row->ref, false, &run, x->err);
  if (!rc && run.ref && !run.ended_at) rp__run_judge(x->e, &run, row->last_activity_at, &evidence, &verdict);
  if (rc || verdict.alive) return rc;
  if (!RP__ROOM(x->ids, x->n, x->cap)) return RP_E_NOMEM;
  memcpy(x->ids[x->n++], row->id, RP_NAME);
  return 0;
}

/* Somebody was there meanwhile, or the key is not: the next sweep looks again. */
static bool is_left(int rc)
{
  return rc == RP_E_SESSION_NOT_FOUND || rc == RP_E_FENCED || rc == RP_E_SEQ_CONFLICT || rc == RP_E_ENDED ||
         rc == RP_E_TRANSITION || rc == RP_E_KEY_MISSING || rc == RP_E_KEY_WRONG;
}

int rp__abandon_sweep(rp_engine *e, const char *scope, int64_t *ret_n, rp_error *err)
{
  struct sweep x = {.e = e, .err = err, .now = rp__engine_now(e)};
  struct rp__session_filter f = {.scope = scope, .limit = INT_MAX};
  int64_t marked = 0;
  if (e->read_only) return rp__fail(err, RP_E_READONLY, "the store was opened to be read only");
  int rc = e->store->ops->session_list(e->store, &f, on_session, &x, err);
  if (rc == RP_E_NOMEM) rp__fail_nomem(err);
  for (size_t i = 0; !rc && i < x.n; i++) {
    struct rp__session_row row RP_CLEANUP(rp__session_row_done) = {0};
    struct rp__quiet q = {0};
    rc = e->store->ops->session_find(e->store, RP_FIND_ID, NULL, x.ids[i], &row, err);
    if (!rc) rc = rp__abandon_judge(e, &row, &q, err);
    if (!rc && q.due) rc = rp__abandon_mark(e, &row, &q, err);
    marked += !rc && q.due;
    if (is_left(rc)) rc = 0;
  }
  free(x.ids);
  if (!rc && ret_n) *ret_n = marked;
  return rc;
}

/* ---- at a start ---- */

struct scope_look {
  rp_engine *e;
  int64_t now;
  struct rp__session_row rows[START_LOOK];
  struct rp__quiet quiet[START_LOOK];
  rp_session *views[START_LOOK];
  size_t found, n; /* rows; of these the first n are due */
};

static int on_possible(void *ctx, const struct rp__session_row *row)
{
  struct scope_look *x = ctx;
  if (x->n == START_LOOK || !rp__abandon_possible(x->e, row, x->now)) return 0;
  if (rp__session_row_copy(row, &x->rows[x->n])) return RP_E_NOMEM;
  x->found = ++x->n;
  return 0;
}

/* The newest run of each, in one read; those that are due stay. */
static int keep_due(struct scope_look *x, rp_error *err)
{
  struct rp__read *reads RP_AUTOFREE = calloc(x->n + 1, sizeof *reads);
  size_t due = 0;
  if (!reads) return rp__fail_nomem(err);
  for (size_t i = 0; i < x->n; i++)
    reads[i] = (struct rp__read){.type = RP_READ_RUNS,
                                 .ctx = &x->quiet[i].run,
                                 .u.runs = {.filter = {.session_ref = x->rows[i].ref, .limit = 1}, .fn = rp__run_copy}};
  int rc = x->n ? x->e->store->ops->read(x->e->store, reads, x->n, err) : 0;
  for (size_t i = 0; !rc && i < x->n; i++) {
    if (reads[i].rc) continue;
    judge(x->e, &x->rows[i], &x->quiet[i]);
    if (!x->quiet[i].due) continue;
    struct rp__session_row row = x->rows[due];
    x->quiet[due] = x->quiet[i];
    x->rows[due++] = x->rows[i];
    x->rows[i] = row;
  }
  x->n = rc ? 0 : due;
  return rc;
}

void rp__abandon_scope(rp_engine *e, const char *scope, const struct rp__key *key, struct rp__views *seen)
{
  rp_error why = {0};
  struct rp__session_filter f = {.scope = scope, .limit = START_LOOK};
  if (rp__config_of(e->config, scope)->abandon == RP_ABANDON_NEVER) return;
  struct scope_look *x RP_AUTOFREE = calloc(1, sizeof *x);
  int rc = x ? 0 : rp__fail_nomem(&why);
  if (!rc) {
    x->e = e;
    x->now = rp__engine_now(e);
    rc = e->store->ops->session_list(e->store, &f, on_possible, x, &why);
  }
  if (!rc) rc = keep_due(x, &why);
  for (size_t i = 0; !rc && i < x->n; i++) rc = rp__view_open(e, &x->rows[i], key, &x->views[i], &why);
  if (!rc) rc = rp__views_read(e, scope, x->views, x->n, seen, &why);
  for (size_t i = 0; x && i < x->n; i++) {
    if (!x->views[i]) continue;
    if (!rc) {
      rc = mark(x->views[i], &x->rows[i], &x->quiet[i], &why);
      if (is_left(rc)) rc = 0;
      x->views[i]->view->loaded = false;
      if (!rc) rp__views_keep(seen, x->views[i]);
    }
    rp__session_unref(x->views[i]);
  }
  for (size_t i = 0; x && i < x->found; i++) rp__session_row_done(&x->rows[i]);
  if (rc) rp__log(&e->log, RP_LOG_DEBUG, "abandoned sessions of scope %s: %s", scope, why.message);
}
