/* SPDX-License-Identifier: Apache-2.0 */
/* Commits a group of txns as one database transaction. A refused txn undoes only its own changes. */
#include "store/sqlite/sqlite.h"

#include <assert.h>

static rp__sq_op *const op_table[] = {
    [RP_OP_SESSION_PUT] = rp__sq_session_put,
    [RP_OP_LEASE] = rp__sq_lease,
    [RP_OP_RUN_END] = rp__sq_run_end,
    [RP_OP_SESSION_SET] = rp__sq_session_set,
    [RP_OP_APPEND] = rp__sq_append,
    [RP_OP_HEARTBEAT] = rp__sq_heartbeat,
    [RP_OP_SNAPSHOT_PUT] = rp__sq_snapshot_put,
    [RP_OP_SNAPSHOT_DELETE] = rp__sq_snapshot_delete,
    [RP_OP_EVENT_REPLACE] = rp__sq_event_replace,
    [RP_OP_SCOPE_SET] = rp__sq_scope_set,
    [RP_OP_SCOPE_RAISE] = rp__sq_scope_raise,
    [RP_OP_SESSION_DELETE] = rp__sq_session_delete,
    [RP_OP_RECORD_PUT] = rp__sq_record_put,
    [RP_OP_RECORD_ARCHIVE] = rp__sq_record_archive,
    [RP_OP_TASK_PUT] = rp__sq_task_put,
    [RP_OP_MEMORY_PUT] = rp__sq_memory_put,
    [RP_OP_MEMORY_SET] = rp__sq_memory_set,
    [RP_OP_MEMORY_DELETE] = rp__sq_memory_delete,
    [RP_OP_MEMORY_USED] = rp__sq_memory_used,
    [RP_OP_AUDIT] = rp__sq_audit_put,
    [RP_OP_AUDIT_ERASE] = rp__sq_audit_erase,
    [RP_OP_TOKEN_PUT] = rp__sq_token_put,
    [RP_OP_TOKEN_USED] = rp__sq_token_used,
    [RP_OP_TOKEN_DELETE] = rp__sq_token_delete,
    [RP_OP_BLOB_PUT] = rp__sq_blob_put,
    [RP_OP_BLOB_SET] = rp__sq_blob_set,
    [RP_OP_BLOB_DELETE] = rp__sq_blob_delete,
    [RP_OP_TAIL_KEY] = rp__sq_tail_key,
    [RP_OP_TAILS_FORGET] = rp__sq_tails_forget,
    [RP_OP_REQUEST_PUT] = rp__sq_request_put,
    [RP_OP_NAME_PUT] = rp__sq_name_put,
};

static int run_simple(struct rp__sq_conn *c, enum rp__sq_id id, const char *doing, rp_error *err)
{
  RP_SQ_AUTO q = rp__sq_query(c, id);
  return rp__sq_done(&q, doing, err);
}

static int txn_ops(struct rp__sq_conn *c, struct rp__txn *t)
{
  c->txn = t;
  for (size_t i = 0; i < t->n; i++) {
    assert((size_t)t->ops[i].type < RP_ARRAY_SIZE(op_table) && op_table[t->ops[i].type]);
    memset(&t->ops[i].ret, 0, sizeof t->ops[i].ret);
    if (rp__rule_void(&t->ops[i], t)) continue;
    int rc = op_table[t->ops[i].type](c, &t->ops[i], &t->err);
    if (rc != 0) return rc;
  }
  return 0;
}

/* An op that refuses before it writes, and writes so that one statement's own undo is enough. */
static bool txn_is_plain(const struct rp__txn *t)
{
  if (t->n != 1) return false;
  return t->ops[0].type == RP_OP_HEARTBEAT || (t->ops[0].type == RP_OP_APPEND && t->ops[0].u.append.n == 1);
}

/* Sets t->rc. Returns non-zero when the whole transaction is lost. */
static int txn_run(struct rp__sq_conn *c, struct rp__txn *t, rp_error *err)
{
  bool plain = txn_is_plain(t);
  int rc = plain ? 0 : run_simple(c, RP_SQ_SAVE, "savepoint", err);
  if (rc != 0) return rc;
  c->row_new = 0;
  t->rc = txn_ops(c, t);
  if (t->rc == 0 && c->row_new) c->row = c->row_new;
  if (c->fatal || (t->rc != 0 && sqlite3_get_autocommit(c->db))) {
    if (err) *err = t->err;
    return t->rc;
  }
  if (plain) return 0;
  if (t->rc != 0) rc = run_simple(c, RP_SQ_SAVE_UNDO, "undo", err);
  return rc ? rc : run_simple(c, RP_SQ_SAVE_DONE, "release", err);
}

/*
 * A repeat writes nothing, but acknowledges what another commit, perhaps a weaker
 * one, has stored: something must be written for the log to be synced.
 */
static int flush_repeats(struct rp__sq_conn *c, struct rp__txn **group, size_t n, rp_error *err)
{
  bool due = false;
  for (size_t i = 0; i < n; i++) {
    const struct rp__txn *t = group[i];
    for (size_t j = 0; t->rc == 0 && t->durability == RP_DISK && j < t->n; j++) due |= t->ops[j].ret.repeated;
  }
  if (!due) return 0;
  RP_SQ_AUTO q = rp__sq_query(c, RP_SQ_META_COUNT);
  rp__sq_text(&q, 1, "flushes");
  return rp__sq_done(&q, "flush", err);
}

/* Once an event has an id above the floor, all that follow have. */
static int floor_passed(struct rp__sq_conn *c, rp_error *err)
{
  int64_t max;
  int rc = rp__sq_number(c, RP_SQ_EVENT_MAX, NULL, 0, &max, err);
  if (rc != 0 || max <= c->event_floor) return rc;
  RP_SQ_AUTO q = rp__sq_query(c, RP_SQ_META_DELETE);
  rp__sq_text(&q, 1, RP_SQ_EVENT_FLOOR);
  return rp__sq_done(&q, "write rp_meta", err);
}

static int sync_set(struct rp__sq_conn *c, struct rp__txn **group, size_t n, rp_error *err)
{
  int want = 1;
  for (size_t i = 0; i < n; i++)
    if (group[i]->durability == RP_DISK) want = 2;
  if (want == c->synchronous) return 0;
  int rc = rp__sq_exec(c, want == 2 ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL", err);
  if (rc == 0) c->synchronous = want;
  return rc;
}

static int group_commit(struct rp__sq_conn *c, struct rp__txn **group, size_t n, rp_error *err)
{
  assert(n > 0 && !c->in_turn && sqlite3_get_autocommit(c->db));
  c->fatal = false;
  c->row = 0;
  c->committed = 0;
  c->in_turn = true;
  int rc = run_simple(c, RP_SQ_BEGIN, "begin", err);
  if (rc == 0) rc = rp__sq_schema_check(c, err);
  if (rc == 0) rc = rp__sq_meta_get(c, RP_SQ_EVENT_FLOOR, 0, &c->event_floor, err);
  for (size_t i = 0; rc == 0 && i < n; i++) rc = txn_run(c, group[i], err);
  if (rc == 0) rc = flush_repeats(c, group, n, err);
  if (rc == 0 && c->event_floor) rc = floor_passed(c, err);
  if (rc == 0) rc = run_simple(c, RP_SQ_COMMIT, "commit", err);
  if (rc != 0) rp__sq_rollback(c);
  c->in_turn = false;
  return rc;
}

/*
 * In turn. A sync that failed before is made good first, on which the writer is opened anew; one that fails meanwhile,
 * in a checkpoint beside us, may have been of pages that this commit needs.
 */
static int disk_commit(struct rp__sq_store *s, struct rp__txn **group, size_t n, rp_error *err)
{
  int rc = rp__sq_sync_ready(s, err);
  if (rc == 0) rc = rp__sq_conn_ensure(s, RP_SQ_WRITER, &s->writer, err);
  if (rc == 0) rc = group_commit(s->writer, group, n, err);
  if (rc == 0) rc = rp__sq_sync_done(s, err);
  if (rc == 0) rp__sq_synced(s->writer);
  return rc;
}

static int commit_with(struct rp__sq_conn *c, struct rp__txn **group, size_t n, rp_error *err)
{
  struct rp__sq_store *s = c->store;
  int rc = sync_set(c, group, n, err);
  bool disk = c->synchronous == 2;
  if (rc == 0) rc = rp__sq_queue_enter(s->queue, s->busy_ms, err);
  if (rc != 0) return rc;
  rc = disk ? disk_commit(s, group, n, err) : group_commit(c, group, n, err);
  rp__sq_queue_leave(s->queue);
  return rc;
}

int rp__sq_commit(struct rp__store *base, struct rp__txn **group, size_t n, rp_error *err)
{
  struct rp__sq_store *s = rp__sq(base);
  struct rp__sq_conn *c;
  int rc = rp__sq_writable(s, err);
  if (rc == 0) rc = rp__sq_writer_take(s, &c, err);
  if (rc != 0) return rc;
  rc = commit_with(c, group, n, err);
  rp__sq_writer_give(s);
  if (rc != 0) return rc;
  if (s->wal_grown && rp__sq_wal_grown(s)) s->wal_grown(s->ctx);
  rp__sq_wal_relieve(s);
  return 0;
}

int rp__sq_synchronous(struct rp__store *base)
{
  struct rp__sq_store *s = rp__sq(base);
  sqlite3_stmt *st = NULL;
  int v = -1;
  if (!s->writer || sqlite3_prepare_v2(s->writer->db, "PRAGMA synchronous", -1, &st, NULL) != SQLITE_OK) return -1;
  if (sqlite3_step(st) == SQLITE_ROW) v = sqlite3_column_int(st, 0);
  sqlite3_finalize(st);
  return v;
}
