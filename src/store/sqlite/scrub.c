/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Removes every trace of what was replaced or deleted, and gives free pages back.
 *
 * secure_delete, which is on for everything that we write, is not enough: moving cells between pages leaves copies of
 * them in the gaps, and the original of such a copy may be replaced afterwards. So the pages are written anew. Where
 * everything in the file is ours, VACUUM does that. VACUUM may change the rowids of tables without an integer primary
 * key, and another program that shares the file may have noted such rowids elsewhere. In a shared file therefore
 * only our tables are written anew, by taking their rows out and putting them back.
 */
#include "store/sqlite/sqlite.h"

#include <stdio.h>

/* Tables with something in them that a user may have said. */
static const char *const tables[] = {"rp_events",   "rp_snapshots", "rp_sessions", "rp_records",
                                     "rp_memories", "rp_audit",     "rp_blobs"};

/* Full text goes first, and comes back last: no term of what is gone, and less to copy between. */
static int index_drop(struct rp__sq_conn *c, void *arg, rp_error *err)
{
  (void)arg;
  int rc = rp__sq_exec(c, "DROP TABLE IF EXISTS rp_fts; DROP TABLE IF EXISTS rp_memory_fts", err);
  if (rc == 0) rc = rp__sq_memory_reindex(c, err);
  return rc ? rc : rp__sq_index_forget(c, err);
}

static int table_rewrite(struct rp__sq_conn *c, void *arg, rp_error *err)
{
  const char *name = arg;
  char sql[256];
  snprintf(sql, sizeof sql,
           "CREATE TABLE rp_scrub AS SELECT * FROM %s; DELETE FROM %s;"
           "INSERT INTO %s SELECT * FROM rp_scrub; DROP TABLE rp_scrub",
           name, name, name);
  return rp__sq_exec(c, sql, err);
}

static int tables_rewrite(struct rp__sq_store *s, rp_error *err)
{
  int rc = 0;
  for (size_t i = 0; rc == 0 && i < RP_ARRAY_SIZE(tables); i++)
    rc = rp__sq_keeper_txn(s, table_rewrite, (void *)(uintptr_t)tables[i], err);
  return rc;
}

/* On a connection of its own: the keeper's keeps what is temporary in memory, and this may be all there is. */
static int vacuum(struct rp__sq_store *s, rp_error *err)
{
  struct rp__sq_conn *c = NULL;
  int rc = rp__sq_conn_open(s, RP_SQ_KEEPER, &c, err);
  if (rc == 0) rc = rp__sq_exec(c, "PRAGMA temp_store = FILE", err);
  if (rc == 0) rc = rp__sq_queue_enter(s->queue, s->busy_ms, err);
  if (rc == 0) {
    c->in_turn = true;
    rc = rp__sq_schema_check(c, err);
    if (rc == 0) rc = rp__sq_exec(c, "VACUUM", err);
    c->in_turn = false;
    rp__sq_queue_leave(s->queue);
  }
  rp__sq_conn_close(c);
  return rc;
}

static int file_is_ours(struct rp__sq_store *s, bool *ret, rp_error *err)
{
  RP_AUTOREADER struct rp__sq_conn *c = NULL;
  int rc = rp__sq_writable(s, err);
  if (rc == 0) rc = rp__sq_reader_take(s, &c, err);
  return rc ? rc : rp__sq_file_is_ours(c, ret, err);
}

int rp__sq_scrub(struct rp__sq_store *s, rp_error *err)
{
  bool ours;
  int rc = file_is_ours(s, &ours, err);
  if (rc != 0) return rc;
  pthread_mutex_lock(&s->maintain_mu);
  rc = rp__sq_keeper_txn(s, index_drop, NULL, err);
  if (rc == 0) rc = ours ? vacuum(s, err) : tables_rewrite(s, err);
  pthread_mutex_unlock(&s->maintain_mu);
  if (rc == 0) rc = rp__sq_index_catch_up(s, err);
  return rc ? rc : rp__sq_wal_truncate(s, err);
}

static int shrink_theirs(struct rp__sq_store *s, rp_error *err)
{
  int rc = rp__sq_conn_ensure(s, RP_SQ_KEEPER, &s->keeper, err);
  if (rc == 0) rc = rp__sq_queue_enter(s->queue, s->busy_ms, err);
  if (rc != 0) return rc;
  /* Moves pages, not rows; does nothing unless the file was made for it. */
  s->keeper->in_turn = true;
  rc = rp__sq_exec(s->keeper, "PRAGMA incremental_vacuum", err);
  s->keeper->in_turn = false;
  rp__sq_queue_leave(s->queue);
  return rc;
}

int rp__sq_shrink(struct rp__sq_store *s, rp_error *err)
{
  bool ours;
  int rc = file_is_ours(s, &ours, err);
  if (rc != 0) return rc;
  pthread_mutex_lock(&s->maintain_mu);
  rc = ours ? vacuum(s, err) : shrink_theirs(s, err);
  pthread_mutex_unlock(&s->maintain_mu);
  return rc ? rc : rp__sq_wal_truncate(s, err);
}
