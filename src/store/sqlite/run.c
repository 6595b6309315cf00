/* SPDX-License-Identifier: Apache-2.0 */
/* Runs: leases, heartbeats, ends, and the list of them. */
#include "store/sqlite/sqlite.h"

static int scope_started(struct rp__sq_conn *c, struct rp__op *op, int64_t ref, rp_error *err)
{
  RP_CLEANUP(rp__session_row_done) struct rp__session_row row = {0};
  RP_SQ_AUTO s = rp__sq_query(c, RP_SQ_SESSION_BY_REF);
  rp__sq_int(&s, 1, ref);
  int rc = rp__sq_next(&s, "read session", err);
  if (rc == 0) return rp__refuse_not_found(op->session_id, err);
  if (rc > 0) rc = rp__sq_session_read(&s, &row, err);
  if (rc != 0) return rc;
  RP_SQ_AUTO q = rp__sq_query(c, RP_SQ_SCOPE_START);
  rp__sq_text(&q, 1, row.scope);
  rc = rp__sq_next(&q, "count start", err);
  if (rc < 0) return rc;
  op->ret.starts = rp__sq_col_count(&q, 0);
  return rp__sq_done(&q, "count start", err);
}

int rp__sq_lease(struct rp__sq_conn *c, struct rp__op *op, rp_error *err)
{
  struct rp__session_row row;
  int rc = rp__sq_head(c, op, &row, err);
  if (rc == 0) rc = rp__rule_lease(op, &row, err);
  bool counted = op->u.lease.count_start;
  if (rc == 0 && counted) rc = scope_started(c, op, row.ref, err);
  int64_t number = counted ? op->ret.starts : op->u.lease.run->start_number;
  if (rc == 0) {
    const struct rp__run_row *r = op->u.lease.run;
    RP_SQ_AUTO q = rp__sq_query(c, RP_SQ_RUN_PUT);
    RP_SQ_BIND(&q, RP_SQ_I(row.ref), RP_SQ_I(row.epoch), RP_SQ_T(rp__owner_name(r->owner)), RP_SQ_I(r->slot),
               RP_SQ_I(r->proc.pid), RP_SQ_I(r->proc.start), RP_SQ_I((int64_t)r->proc.ns), RP_SQ_T(r->proc.boot_id),
               RP_SQ_T(r->host), RP_SQ_T(r->version), RP_SQ_I(r->started_at), RP_SQ_I(r->heartbeat_at),
               RP_SQ_I(r->heartbeat_boot), RP_SQ_T(rp__restart_name(r->restart)),
               RP_SQ_T(rp__cause_name(r->previous_cause)), RP_SQ_R(r->elapsed), RP_SQ_I(number));
    rc = rp__sq_done(&q, "write run", err);
  }
  if (rc != 0) return rc;
  op->ret.ref = sqlite3_last_insert_rowid(c->db);
  rc = rp__sq_head_write(c, &row, err);
  if (rc) return rc;
  RP_SQ_AUTO q = rp__sq_query(c, RP_SQ_SESSION_STARTED);
  rp__sq_int(&q, 1, row.ref);
  return rp__sq_done(&q, "write session", err);
}

/* The run of an epoch: ref and ended_at. 1 when there is one, 0 when not. */
static int run_current(struct rp__sq_conn *c, int64_t session, int64_t epoch, struct rp__run_row *ret, rp_error *err)
{
  RP_SQ_AUTO q = rp__sq_query(c, RP_SQ_RUN_CURRENT);
  RP_SQ_BIND(&q, RP_SQ_I(session), RP_SQ_I(epoch));
  int rc = rp__sq_next(&q, "read run", err);
  if (rc <= 0) return rc;
  ret->ref = rp__sq_col_int(&q, 0);
  ret->ended_at = rp__sq_col_time(&q, 1);
  return 1;
}

int rp__sq_run_end(struct rp__sq_conn *c, struct rp__op *op, rp_error *err)
{
  struct rp__session_row row;
  struct rp__run_row run = {.ref = op->u.run_end.run_ref};
  int rc = rp__sq_head(c, op, &row, err);
  if (rc == 0 && run.ref == 0) {
    rc = run_current(c, row.ref, row.epoch, &run, err);
    if (rc == 0) return 0;
  }
  if (rc < 0) return rc;
  RP_SQ_AUTO q = rp__sq_query(c, RP_SQ_RUN_END);
  RP_SQ_BIND(&q, RP_SQ_I(run.ref), RP_SQ_I(row.ref),
             RP_SQ_I(op->u.run_end.ended_at ? op->u.run_end.ended_at : op->now_ms),
             RP_SQ_T(rp__cause_name(op->u.run_end.cause)), RP_SQ_T(op->u.run_end.evidence),
             RP_SQ_T(op->u.run_end.reason), RP_SQ_I(op->u.run_end.still_at));
  op->ret.ref = run.ref;
  rc = rp__sq_done(&q, "end run", err);
  if (rc == 0 && op->u.run_end.still_at && sqlite3_changes(c->db) == 0) return rp__refuse_run(op->session_id, err);
  return rc;
}

int rp__sq_heartbeat(struct rp__sq_conn *c, struct rp__op *op, rp_error *err)
{
  struct rp__session_row row;
  struct rp__run_row run;
  int rc = rp__sq_head(c, op, &row, err);
  if (rc != 0) return rc;
  int found = run_current(c, row.ref, row.epoch, &run, err);
  if (found < 0) return found;
  rc = rp__rule_heartbeat(op, &row, found ? &run : NULL, err);
  if (rc != 0) return rc;
  RP_SQ_AUTO q = rp__sq_query(c, RP_SQ_RUN_BEAT);
  RP_SQ_BIND(&q, RP_SQ_I(run.ref), RP_SQ_I(op->now_ms), RP_SQ_I(op->u.heartbeat.boot_ms));
  return rp__sq_done(&q, "write heartbeat", err);
}

static void run_read(struct rp__sq_q *q, struct rp__run_row *ret)
{
  char word[32];
  memset(ret, 0, sizeof *ret);
  ret->ref = rp__sq_col_int(q, 0);
  ret->session_ref = rp__sq_col_int(q, 1);
  rp__sq_col_str(q, 2, ret->session_id, sizeof ret->session_id);
  ret->epoch = rp__sq_col_count(q, 3);
  rp__sq_col_str(q, 4, word, sizeof word);
  ret->owner = rp__owner_parse(word);
  ret->slot = rp__sq_col_int(q, 5);
  ret->proc.pid = rp__sq_col_int(q, 6);
  ret->proc.start = rp__sq_col_int(q, 7);
  ret->proc.ns = (uint64_t)rp__sq_col_int(q, 8);
  rp__sq_col_str(q, 9, ret->proc.boot_id, sizeof ret->proc.boot_id);
  rp__sq_col_str(q, 10, ret->host, sizeof ret->host);
  rp__sq_col_str(q, 11, ret->version, sizeof ret->version);
  ret->started_at = rp__sq_col_time(q, 12);
  ret->heartbeat_at = rp__sq_col_time(q, 13);
  ret->heartbeat_boot = rp__sq_col_count(q, 14);
  ret->ended_at = rp__sq_col_time(q, 15);
  rp__sq_col_str(q, 16, word, sizeof word);
  ret->cause = rp__cause_parse(word);
  rp__sq_col_str(q, 17, ret->evidence, sizeof ret->evidence);
  rp__sq_col_str(q, 18, ret->reason, sizeof ret->reason);
  rp__sq_col_str(q, 19, word, sizeof word);
  ret->restart = rp__restart_parse(word);
  rp__sq_col_str(q, 20, word, sizeof word);
  ret->previous_cause = rp__cause_parse(word);
  ret->elapsed = rp__sq_col_real(q, 21);
  ret->start_number = rp__sq_col_count(q, 22);
}

#define RUN_PAGE 32

/* Reads the next page of runs before *before. The number of rows, or an error. */
static int run_page(struct rp__sq_store *s, const struct rp__run_filter *f, int64_t before, int max,
                    struct rp__run_row *rows, rp_error *err)
{
  RP_AUTOREADER struct rp__sq_conn *c = NULL;
  int n = 0, rc = rp__sq_reader_take(s, &c, err);
  if (rc != 0) return rc;
  enum rp__sq_id id = f->scope ? RP_SQ_RUN_PAGE_IN : RP_SQ_RUN_PAGE;
  if (f->session_ref) id = RP_SQ_RUN_PAGE_OF;
  if (f->open_only && f->session_ref) id = RP_SQ_RUN_PAGE_OPEN_OF;
  if (f->open_only && !f->session_ref) id = f->scope ? RP_SQ_RUN_PAGE_OPEN_IN : RP_SQ_RUN_PAGE_OPEN;
  RP_SQ_AUTO q = rp__sq_query(c, id);
  RP_SQ_BIND(&q, RP_SQ_I(before), RP_SQ_T(f->scope), RP_SQ_I(max));
  if (f->session_ref) rp__sq_int(&q, 4, f->session_ref);
  if (id == RP_SQ_RUN_PAGE_IN || id == RP_SQ_RUN_PAGE_OPEN_IN) rp__sq_text(&q, 5, f->channel);
  while (n < max && (rc = rp__sq_next(&q, "list runs", err)) > 0) run_read(&q, &rows[n++]);
  return rc < 0 ? rc : n;
}

#define QUIET_MAX 65536 /* runs that may be dead, looked at by one list */

static int newest_first(const void *a, const void *b)
{
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x < y) - (x > y);
}

/*
 * Numbers of the runs that a filter with leave_out is about, newest first. How many, or an error. Sorted here: asked to
 * do it, SQLite would rather walk over all open runs.
 */
static int64_t quiet_refs(struct rp__sq_store *s, const struct rp__run_filter *f, int64_t **ret, rp_error *err)
{
  RP_AUTOREADER struct rp__sq_conn *c = NULL;
  RP_AUTOFREE int64_t *refs = NULL;
  int64_t n = 0, cap = 0;
  int rc = rp__sq_reader_take(s, &c, err);
  if (rc != 0) return rc;
  RP_SQ_AUTO q = rp__sq_query(c, RP_SQ_RUN_QUIET);
  RP_SQ_BIND(&q, RP_SQ_T(f->scope), RP_SQ_T(f->leave_out->boot_id), RP_SQ_I(f->leave_out->after),
             RP_SQ_I(f->leave_out->upto), RP_SQ_I(QUIET_MAX));
  while ((rc = rp__sq_next(&q, "list runs", err)) > 0) {
    if (n == cap) {
      cap = cap ? cap * 2 : RUN_PAGE;
      int64_t *more = reallocarray(refs, (size_t)cap, sizeof *refs);
      if (!more) return rp__fail_nomem(err);
      refs = more;
    }
    refs[n++] = rp__sq_col_int(&q, 0);
  }
  if (rc < 0) return rc;
  if (n > 1) qsort(refs, (size_t)n, sizeof *refs, newest_first);
  *ret = RP_TAKE(refs);
  return n;
}

/* Hands a run out, with its session where that is asked for; one that is gone since takes its run along. */
static int hand_out(struct rp__sq_store *s, const struct rp__run_filter *f, struct rp__run_row *row, rp__run_row_fn *fn,
                    void *ctx, rp_error *err)
{
  RP_CLEANUP(rp__session_row_done) struct rp__session_row session = {0};
  if (f->with_session) {
    RP_AUTOREADER struct rp__sq_conn *c = NULL;
    int rc = rp__sq_reader_take(s, &c, err);
    if (rc == 0) rc = rp__sq_session_get(c, row->session_ref, &session, err);
    if (rc != 0) return rc == RP_E_SESSION_NOT_FOUND ? 0 : rc;
    row->session = &session;
  }
  return fn(ctx, row);
}

/* 1, or 0 when it has ended or gone since its number was read. */
static int run_get(struct rp__sq_store *s, int64_t ref, struct rp__run_row *ret, rp_error *err)
{
  RP_AUTOREADER struct rp__sq_conn *c = NULL;
  int rc = rp__sq_reader_take(s, &c, err);
  if (rc != 0) return rc;
  RP_SQ_AUTO q = rp__sq_query(c, RP_SQ_RUN_GET);
  rp__sq_int(&q, 1, ref);
  rc = rp__sq_next(&q, "read run", err);
  if (rc > 0) run_read(&q, ret);
  return rc;
}

static int quiet_list(struct rp__sq_store *s, const struct rp__run_filter *f, rp__run_row_fn *fn, void *ctx,
                      rp_error *err)
{
  RP_AUTOFREE int64_t *refs = NULL;
  int64_t n = quiet_refs(s, f, &refs, err), left = f->limit > 0 ? f->limit : INT64_MAX;
  for (int64_t i = 0; i < n && left > 0; i++) {
    struct rp__run_row row;
    if (i > 0 && refs[i] == refs[i - 1]) continue;
    int rc = run_get(s, refs[i], &row, err);
    if (rc < 0) return rc;
    if (rc == 0 || (f->session_ref && f->session_ref != row.session_ref)) continue;
    left--;
    rc = hand_out(s, f, &row, fn, ctx, err);
    if (rc != 0) return rc;
  }
  return n < 0 ? (int)n : 0;
}

int rp__sq_run_list(struct rp__store *base, const struct rp__run_filter *f, rp__run_row_fn *fn, void *ctx,
                    rp_error *err)
{
  RP_AUTOFREE struct rp__run_row *rows = calloc(RUN_PAGE, sizeof *rows);
  int64_t before = INT64_MAX, left = f->limit > 0 ? f->limit : INT64_MAX;
  if (f->leave_out && f->scope && f->open_only && !f->channel) return quiet_list(rp__sq(base), f, fn, ctx, err);
  if (!rows) return rp__fail_nomem(err);
  for (int max = RUN_PAGE, n = max; n == max && left > 0; left -= n) {
    max = (int)RP_MIN(left, RUN_PAGE);
    n = run_page(rp__sq(base), f, before, max, rows, err);
    if (n < 0) return n;
    for (int i = 0; i < n; i++) {
      int rc = hand_out(rp__sq(base), f, &rows[i], fn, ctx, err);
      if (rc != 0) return rc;
    }
    if (n > 0) before = rows[n - 1].ref;
  }
  return 0;
}
