/* SPDX-License-Identifier: Apache-2.0 */
/* Work beside the commits, on a connection of its own: the log, the index, old keys; and what there is to count. */
#include "store/sqlite/sqlite.h"

#include "base/clock.h"

#define IDEM_MS (24L * 3600 * 1000)
#define PRUNE_STEP 1000
#define RESTART_WAIT_MS 200 /* for readers of ours, who are never long */

int rp__sq_keeper_txn(struct rp__sq_store *s, rp__sq_work *fn, void *arg, rp_error *err)
{
  if (s->read_only) return rp__fail(err, RP_E_READONLY, "%s was opened to be read only", s->path);
  int rc = rp__sq_conn_ensure(s, RP_SQ_KEEPER, &s->keeper, err);
  if (rc == 0) rc = rp__sq_queue_enter(s->queue, s->busy_ms, err);
  if (rc != 0) return rc;
  rc = rp__sq_exec(s->keeper, "BEGIN IMMEDIATE", err);
  if (rc == 0) rc = rp__sq_schema_check(s->keeper, err);
  if (rc == 0) rc = fn(s->keeper, arg, err);
  if (rc == 0) rc = rp__sq_exec(s->keeper, "COMMIT", err);
  if (rc != 0) rp__sq_rollback(s->keeper);
  rp__sq_queue_leave(s->queue);
  return rc;
}

static int pragma_int(struct rp__sq_conn *c, const char *sql)
{
  sqlite3_stmt *st = NULL;
  int v = 0;
  if (sqlite3_prepare_v2(c->db, sql, -1, &st, NULL) == SQLITE_OK && sqlite3_step(st) == SQLITE_ROW)
    v = sqlite3_column_int(st, 0);
  sqlite3_finalize(st);
  return v;
}

/* Writers wait while the rest of the log is taken back and its file is begun anew. */
static int wal_restart(struct rp__sq_store *s, int *log, int *done, rp_error *err)
{
  bool huge = rp__sq_file_bytes(s->wal_path) > 2 * RP_SQ_WAL_MAX;
  int rc = rp__sq_queue_enter(s->queue, s->busy_ms, err);
  if (rc != 0) return rc;
  sqlite3_busy_timeout(s->keeper->db, RESTART_WAIT_MS);
  rc = sqlite3_wal_checkpoint_v2(s->keeper->db, NULL, huge ? SQLITE_CHECKPOINT_TRUNCATE : SQLITE_CHECKPOINT_RESTART,
                                 log, done);
  sqlite3_busy_timeout(s->keeper->db, s->busy_ms);
  rp__sq_queue_leave(s->queue);
  return rc;
}

static int maintain_wal(struct rp__sq_store *s, int64_t *ret_left, rp_error *err)
{
  int log = 0, done = 0;
  if (s->read_only || atomic_load_explicit(&s->wal_pages, memory_order_relaxed) <= RP_SQ_WAL_PAGES) return 0;
  int rc = rp__sq_conn_ensure(s, RP_SQ_KEEPER, &s->keeper, err);
  if (rc != 0) return rc;
  rc = sqlite3_wal_checkpoint_v2(s->keeper->db, NULL, SQLITE_CHECKPOINT_PASSIVE, &log, &done);
  if (rc == SQLITE_OK && (int64_t)log * pragma_int(s->keeper, "PRAGMA page_size") > RP_SQ_WAL_MAX)
    rc = wal_restart(s, &log, &done, err);
  if (rc < 0) return rc;
  /* Busy: somebody else is at it, or a reader holds the end of the log. Next time, then. */
  if (rc != SQLITE_OK && rc != SQLITE_BUSY) return rp__sq_fail(s->keeper, rc, "checkpoint", err);
  if (rc == SQLITE_OK && log == done) atomic_store_explicit(&s->wal_pages, 0, memory_order_relaxed);
  *ret_left = log > done ? log - done : 0;
  return 0;
}

void rp__sq_wal_relieve(struct rp__sq_store *s)
{
  int64_t left;
  int pages = atomic_load_explicit(&s->wal_pages, memory_order_relaxed);
  if (pages < RP_SQ_WAL_ALARM) s->wal_alarm = RP_SQ_WAL_ALARM;
  if (pages < s->wal_alarm || pthread_mutex_trylock(&s->maintain_mu)) return;
  if (maintain_wal(s, &left, NULL) != 0) rp__log(&s->log, RP_LOG_DEBUG, "%s can't be taken back", s->wal_path);
  pthread_mutex_unlock(&s->maintain_mu);
  s->wal_alarm = pages + RP_SQ_WAL_ALARM / 8;
}

static int prune_work(struct rp__sq_conn *c, void *arg, rp_error *err)
{
  RP_SQ_AUTO q = rp__sq_query(c, RP_SQ_IDEM_PRUNE);
  rp__sq_int(&q, 1, rp__wall(&c->store->clock) - IDEM_MS);
  rp__sq_int(&q, 2, PRUNE_STEP);
  int rc = rp__sq_done(&q, "prune keys", err);
  if (rc == 0) *(int64_t *)arg = sqlite3_changes(c->db) == PRUNE_STEP ? PRUNE_STEP : 0;
  return rc;
}

int rp__sq_maintain(struct rp__store *base, enum rp__maintain what, int64_t *ret_left, rp_error *err)
{
  struct rp__sq_store *s = rp__sq(base);
  int64_t at, left = 0;
  int rc = 0;
  pthread_mutex_lock(&s->maintain_mu);
  switch (what) {
  case RP_MAINTAIN_WAL: rc = maintain_wal(s, &left, err); break;
  case RP_MAINTAIN_INDEX: rc = rp__sq_index_step(s, &at, &left, err); break;
  case RP_MAINTAIN_PRUNE: rc = rp__sq_keeper_txn(s, prune_work, &left, err); break;
  }
  pthread_mutex_unlock(&s->maintain_mu);
  if (rc == 0 && ret_left) *ret_left = left;
  return rc;
}

static int stats_sessions(struct rp__sq_conn *c, struct rp__store_stats *ret, rp_error *err)
{
  int rc;
  RP_SQ_AUTO q = rp__sq_query(c, RP_SQ_SESSION_STATS);
  while ((rc = rp__sq_next(&q, "count sessions", err)) > 0) {
    int64_t status = rp__sq_col_int(&q, 0);
    if (status >= 0 && status < RP_STATUS_MAX) ret->sessions[status] = rp__sq_col_int(&q, 1);
    ret->events += rp__sq_col_int(&q, 2);
    ret->event_bytes += rp__sq_col_int(&q, 3);
  }
  return rc;
}

static int stats_snapshots(struct rp__sq_conn *c, struct rp__store_stats *ret, rp_error *err)
{
  RP_SQ_AUTO q = rp__sq_query(c, RP_SQ_SNAPSHOT_STATS);
  int rc = rp__sq_next(&q, "count snapshots", err);
  if (rc < 0) return rc;
  ret->snapshots = rp__sq_col_int(&q, 0);
  ret->snapshot_bytes = rp__sq_col_int(&q, 1);
  return 0;
}

static int stats_index(struct rp__sq_conn *c, struct rp__store_stats *ret, rp_error *err)
{
  int64_t at;
  int rc = rp__sq_index_at(c, &at, err);
  if (rc != 0) return rc;
  at = RP_MAX(at, 0);
  return rp__sq_number(c, RP_SQ_EVENT_LEFT, &at, 0, &ret->index_left, err);
}

int rp__sq_stats(struct rp__store *base, struct rp__store_stats *ret, rp_error *err)
{
  struct rp__sq_store *s = rp__sq(base);
  RP_AUTOREADER struct rp__sq_conn *c = NULL;
  struct rp__store_stats stats = {0};
  int64_t version = 0;
  int rc = rp__sq_reader_take(s, &c, err);
  if (rc == 0) rc = stats_sessions(c, &stats, err);
  if (rc == 0) rc = stats_snapshots(c, &stats, err);
  if (rc == 0) rc = stats_index(c, &stats, err);
  if (rc == 0) rc = rp__sq_number(c, RP_SQ_RUN_STATS, NULL, 0, &stats.runs_open, err);
  if (rc == 0) rc = rp__sq_meta_get(c, "schema_version", 0, &version, err);
  if (rc != 0) return rc;
  stats.schema_version = (int)version;
  stats.file_bytes = rp__sq_file_bytes(s->path);
  stats.wal_bytes = rp__sq_file_bytes(s->wal_path);
  *ret = stats;
  return 0;
}
