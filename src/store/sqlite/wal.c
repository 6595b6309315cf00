/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies the write-ahead log back into the database file, beside the commits: inside a commit the copying would make
 * one commit in a hundred slow. Writers that are faster than this copying find the log at its bound and wait. First a
 * checkpoint only copies. Then, while the writers' queue is held, the rest is copied, and the next commit begins the
 * log anew.
 */
#include "store/sqlite/sqlite.h"

#define RESTART_WAIT_MS 200 /* for readers of ours, who are never long */

/*
 * Takes back the little that a copying checkpoint left, in the writers' turn, so
 * that the next commit begins the log anew: writing over a file is far cheaper to
 * sync than making it longer. It keeps its size unless that is far beyond the bound;
 * below the bound nobody waits for a reader.
 */
static int wal_restart(struct rp__sq_store *s, bool over, int *log, int *done, rp_error *err)
{
  sqlite3 *db = s->checkpointer->db;
  bool huge = rp__sq_file_bytes(s->wal_path) > 2 * RP_SQ_WAL_MAX;
  int rc = rp__sq_queue_enter(s->queue, s->busy_ms, err);
  if (rc != 0) return rc;
  sqlite3_busy_timeout(db, over ? RESTART_WAIT_MS : 0);
  rc = sqlite3_wal_checkpoint_v2(db, NULL, huge ? SQLITE_CHECKPOINT_TRUNCATE : SQLITE_CHECKPOINT_RESTART, log, done);
  sqlite3_busy_timeout(db, s->busy_ms);
  rp__sq_queue_leave(s->queue);
  return rc;
}

/* While a failed sync stands nothing may be copied into the file before the log is written once more (sync.c). */
static int checkpointer_ready(struct rp__sq_store *s, rp_error *err)
{
  int rc = rp__sq_conn_ensure(s, RP_SQ_KEEPER, &s->checkpointer, err);
  if (rc != 0) return rc;
  rp__sq_sync_inherit(s->checkpointer);
  if (!rp__sq_sync_is_failed(s)) return 0;
  rc = rp__sq_queue_enter(s->queue, s->busy_ms, err);
  if (rc != 0) return rc;
  if (rp__sq_sync_is_failed(s)) rc = rp__sq_sync_recover(s, err);
  rp__sq_queue_leave(s->queue);
  return rc ? rc : rp__sq_conn_ensure(s, RP_SQ_KEEPER, &s->checkpointer, err);
}

static int checkpoint(struct rp__sq_store *s, int64_t *ret_left, rp_error *err)
{
  int log = 0, done = 0;
  int rc = checkpointer_ready(s, err);
  if (rc != 0) return rc;
  rc = sqlite3_wal_checkpoint_v2(s->checkpointer->db, NULL, SQLITE_CHECKPOINT_PASSIVE, &log, &done);
  if (rc == SQLITE_OK) rc = wal_restart(s, (int64_t)log * s->page_size > RP_SQ_WAL_MAX, &log, &done, err);
  rp__sq_db_seen(s);
  if (rc < 0) return rc;
  /* Busy: somebody else is at it, or a reader holds the end of the log. Next time, then. */
  if (rc != SQLITE_OK && rc != SQLITE_BUSY) return rp__sq_fail(s->checkpointer, rc, "checkpoint", err);
  atomic_store_explicit(&s->wal_done, done, memory_order_relaxed);
  if (rc == SQLITE_OK && log == done) atomic_store_explicit(&s->wal_pages, 0, memory_order_relaxed);
  *ret_left = log > done ? log - done : 0;
  return 0;
}

static bool wal_due(struct rp__sq_store *s, int64_t pages)
{
  return !s->read_only && atomic_load_explicit(&s->wal_pages, memory_order_relaxed) > pages;
}

/* By what is new since the last one: under steady writing the log is never quite done, and each pass costs syncs. */
bool rp__sq_wal_grown(struct rp__sq_store *s)
{
  int pages = atomic_load_explicit(&s->wal_pages, memory_order_relaxed);
  int done = atomic_load_explicit(&s->wal_done, memory_order_relaxed);
  return !s->read_only && pages - (done <= pages ? done : 0) > RP_SQ_WAL_PAGES; /* fewer: it was begun anew */
}

int rp__sq_wal_maintain(struct rp__sq_store *s, int64_t *ret_left, rp_error *err)
{
  if (!rp__sq_wal_grown(s)) return 0;
  pthread_mutex_lock(&s->wal_mu);
  int rc = checkpoint(s, ret_left, err);
  pthread_mutex_unlock(&s->wal_mu);
  return rc;
}

int rp__sq_wal_truncate(struct rp__sq_store *s, rp_error *err)
{
  pthread_mutex_lock(&s->wal_mu);
  int rc = checkpointer_ready(s, err);
  if (rc == 0) rc = rp__sq_queue_enter(s->queue, s->busy_ms, err);
  if (rc == 0) {
    rc = sqlite3_wal_checkpoint_v2(s->checkpointer->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
    rp__sq_db_seen(s);
    rp__sq_queue_leave(s->queue);
    if (rc == SQLITE_OK) {
      atomic_store_explicit(&s->wal_done, 0, memory_order_relaxed);
      atomic_store_explicit(&s->wal_pages, 0, memory_order_relaxed);
    } else {
      rc = rp__sq_fail(s->checkpointer, rc, "take back the log", err);
    }
  }
  pthread_mutex_unlock(&s->wal_mu);
  return rc;
}

void rp__sq_wal_relieve(struct rp__sq_store *s)
{
  int64_t left, pages = RP_SQ_WAL_MAX / s->page_size;
  if (!wal_due(s, pages)) {
    s->wal_alarm = pages;
    return;
  }
  if (!wal_due(s, s->wal_alarm)) return;
  pthread_mutex_lock(&s->wal_mu);
  /* Whoever had it may have done the work. */
  if (wal_due(s, s->wal_alarm) && checkpoint(s, &left, NULL) != 0)
    rp__log(&s->log, RP_LOG_DEBUG, "%s can't be taken back", s->wal_path);
  pthread_mutex_unlock(&s->wal_mu);
  /* A reader may hold it: to try at each commit would help nobody. */
  s->wal_alarm = atomic_load_explicit(&s->wal_pages, memory_order_relaxed) + pages / 8;
}
