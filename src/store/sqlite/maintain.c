/* SPDX-License-Identifier: Apache-2.0 */
/* Work beside the commits, on a connection of its own: the index and old keys. Also the store's statistics. */
#include "store/sqlite/sqlite.h"

#include <assert.h>

#include "base/clock.h"

#define IDEM_MS (24L * 3600 * 1000)
#define PRUNE_STEP 1000

int rp__sq_keeper_txn(struct rp__sq_store *s, rp__sq_work *fn, void *arg, rp_error *err)
{
  int rc = rp__sq_writable(s, err);
  if (rc == 0) rc = rp__sq_conn_ensure(s, RP_SQ_KEEPER, &s->keeper, err);
  if (rc == 0) rc = rp__sq_queue_enter(s->queue, s->busy_ms, err);
  if (rc != 0) return rc;
  assert(!s->keeper->in_turn && sqlite3_get_autocommit(s->keeper->db));
  s->keeper->in_turn = true;
  rc = rp__sq_exec(s->keeper, "BEGIN IMMEDIATE", err);
  if (rc == 0) rc = rp__sq_schema_check(s->keeper, err);
  if (rc == 0) rc = fn(s->keeper, arg, err);
  if (rc == 0) rc = rp__sq_exec(s->keeper, "COMMIT", err);
  if (rc != 0) rp__sq_rollback(s->keeper);
  s->keeper->in_turn = false;
  rp__sq_queue_leave(s->queue);
  return rc;
}

static int prune_work(struct rp__sq_conn *c, void *arg, rp_error *err)
{
  static const struct {
    enum rp__sq_id id;
    int64_t keep_ms;
  } prunes[] = {{RP_SQ_IDEM_PRUNE, IDEM_MS}, {RP_SQ_REQUEST_PRUNE, IDEM_MS}, {RP_SQ_NAME_PRUNE, RP_NAMES_MS}};
  int64_t left = 0;
  for (size_t i = 0; i < RP_ARRAY_SIZE(prunes); i++) {
    RP_SQ_AUTO q = rp__sq_query(c, prunes[i].id);
    RP_SQ_BIND(&q, RP_SQ_I(rp__wall(&c->store->clock) - prunes[i].keep_ms), RP_SQ_I(PRUNE_STEP));
    int rc = rp__sq_done(&q, "prune keys", err);
    if (rc != 0) return rc;
    if (sqlite3_changes(c->db) == PRUNE_STEP) left = PRUNE_STEP;
  }
  *(int64_t *)arg = left;
  return 0;
}

/* What is done in one bounded step of the keeper. */
static int keeper_step(struct rp__sq_store *s, enum rp__maintain what, int64_t *left, rp_error *err)
{
  int64_t at;
  pthread_mutex_lock(&s->maintain_mu);
  int rc =
      what == RP_MAINTAIN_INDEX ? rp__sq_index_step(s, &at, left, err) : rp__sq_keeper_txn(s, prune_work, left, err);
  pthread_mutex_unlock(&s->maintain_mu);
  return rc;
}

int rp__sq_maintain(struct rp__store *base, enum rp__maintain what, int64_t *ret_left, rp_error *err)
{
  struct rp__sq_store *s = rp__sq(base);
  int64_t left = 0;
  int rc = 0;
  switch (what) {
  case RP_MAINTAIN_WAL: rc = rp__sq_wal_maintain(s, &left, err); break;
  case RP_MAINTAIN_INDEX:
  case RP_MAINTAIN_PRUNE: rc = keeper_step(s, what, &left, err); break;
  case RP_MAINTAIN_SCRUB: rc = rp__sq_scrub(s, err); break;
  case RP_MAINTAIN_SHRINK: rc = rp__sq_shrink(s, err); break;
  }
  if (rc == 0 && ret_left) *ret_left = left;
  return rc;
}

static int stats_sessions(struct rp__sq_conn *c, struct rp__store_stats *ret, rp_error *err)
{
  int rc;
  RP_SQ_AUTO q = rp__sq_query(c, RP_SQ_SESSION_STATS);
  while ((rc = rp__sq_next(&q, "count sessions", err)) > 0) {
    int64_t status = rp__sq_col_int(&q, 0);
    int64_t trashed = rp__sq_col_count(&q, 4);
    if (status >= 0 && status < RP_STATUS_MAX) ret->sessions[status] = rp__sq_col_count(&q, 1) - trashed;
    ret->trashed += trashed;
    ret->events += rp__sq_col_count(&q, 2);
    ret->event_bytes += rp__sq_col_count(&q, 3);
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

static int stats_blobs(struct rp__sq_conn *c, struct rp__store_stats *ret, rp_error *err)
{
  RP_SQ_AUTO q = rp__sq_query(c, RP_SQ_BLOB_STATS);
  int rc = rp__sq_next(&q, "count blobs", err);
  if (rc < 0) return rc;
  ret->blobs = rp__sq_col_int(&q, 0);
  ret->blob_bytes = rp__sq_col_int(&q, 1);
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

static int stats_records(struct rp__sq_conn *c, struct rp__store_stats *ret, rp_error *err)
{
  int rc = rp__sq_number(c, RP_SQ_RECALL_STATS, NULL, 0, &ret->records, err);
  if (rc == 0) rc = rp__sq_number(c, RP_SQ_MEMORY_STATS, NULL, 0, &ret->memories, err);
  return rc ? rc : rp__sq_number(c, RP_SQ_AUDIT_STATS, NULL, 0, &ret->audits, err);
}

static int stats_free(struct rp__sq_conn *c, int64_t *ret, rp_error *err)
{
  static const char sql[] = "SELECT f.freelist_count * p.page_size FROM pragma_freelist_count f, pragma_page_size p";
  struct rp__sq_q q = {.c = c};
  q.rc = sqlite3_prepare_v2(c->db, sql, -1, &q.st, NULL);
  int rc = rp__sq_next(&q, "count free pages", err);
  if (rc > 0) *ret = rp__sq_col_int(&q, 0);
  sqlite3_finalize(q.st);
  return RP_MIN(rc, 0);
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
  if (rc == 0) rc = stats_blobs(c, &stats, err);
  if (rc == 0) rc = stats_index(c, &stats, err);
  if (rc == 0) rc = stats_records(c, &stats, err);
  if (rc == 0) rc = stats_free(c, &stats.free_bytes, err);
  if (rc == 0) rc = rp__sq_number(c, RP_SQ_RUN_STATS, NULL, 0, &stats.runs_open, err);
  if (rc == 0) rc = rp__sq_meta_get(c, "schema_version", 0, &version, err);
  if (rc != 0) return rc;
  stats.schema_version = (int)version;
  stats.file_bytes = s->memory[0] ? 0 : rp__sq_file_bytes(s->path);
  stats.wal_bytes = rp__sq_file_bytes(s->wal_path);
  stats.sync_failed = rp__sq_sync_is_failed(s);
  if (!rp__sq_loss_tell(s, stats.loss, sizeof stats.loss)) stats.loss[0] = '\0';
  *ret = stats;
  return 0;
}
