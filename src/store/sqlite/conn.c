/* SPDX-License-Identifier: Apache-2.0 */
/* Connections: opening each, the pool of readers, and the writer, which may be lent to a reader. */
#include "store/sqlite/sqlite.h"

#include <assert.h>

#define READER_WAIT_S 1 /* bounded, for a thread may wait while it holds another */

/*
 * Nothing in a foreign file's schema may run code of its own through us, and our
 * own mistakes may not write what SQLite keeps for itself. Checkpoints are never
 * a side effect: not of a commit and not of a close.
 */
static int conn_harden(sqlite3 *db)
{
  static const struct {
    int option, on;
  } config[] = {
      {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0}, {SQLITE_DBCONFIG_DEFENSIVE, 1},        {SQLITE_DBCONFIG_DQS_DML, 0},
      {SQLITE_DBCONFIG_DQS_DDL, 0},        {SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1},
  };
  for (size_t i = 0; i < RP_ARRAY_SIZE(config); i++) {
    int rc = sqlite3_db_config(db, config[i].option, config[i].on, (int *)NULL);
    if (rc != SQLITE_OK) return rc;
  }
  return sqlite3_wal_autocheckpoint(db, 0);
}

static int wal_noted(void *ctx, sqlite3 *db, const char *schema, int pages)
{
  struct rp__sq_conn *c = ctx;
  (void)db, (void)schema;
  c->committed = (uint32_t)pages;
  atomic_store_explicit(&c->store->wal_pages, pages, memory_order_relaxed);
  return SQLITE_OK;
}

int rp__sq_conn_open(struct rp__sq_store *s, enum rp__sq_use use, struct rp__sq_conn **ret, rp_error *err)
{
  int flags = s->read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE;
  struct rp__sq_conn *c = calloc(1, sizeof *c);
  if (!c) return rp__fail_nomem(err);
  c->store = s;
  c->failures = atomic_load(&s->sync->failures);
  if (s->memory[0]) flags |= SQLITE_OPEN_CREATE;
  int rc = sqlite3_open_v2(s->memory[0] ? s->memory : s->path, &c->db,
                           flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE, s->vfs ? s->vfs : rp__sq_vfs());
  if (rc == SQLITE_OK) rp__sq_vfs_watch(c);
  if (rc == SQLITE_OK) {
    static const char *const pragmas[] = {
        [RP_SQ_WRITER] = "PRAGMA cell_size_check = ON; PRAGMA secure_delete = ON; PRAGMA temp_store = MEMORY; "
                         "PRAGMA cache_size = -16384; PRAGMA synchronous = FULL;",
        [RP_SQ_KEEPER] = "PRAGMA cell_size_check = ON; PRAGMA secure_delete = ON; PRAGMA temp_store = MEMORY; "
                         "PRAGMA synchronous = NORMAL;",
        [RP_SQ_READER] = "PRAGMA cell_size_check = ON; PRAGMA temp_store = MEMORY; PRAGMA query_only = ON;",
    };
    rc = conn_harden(c->db);
    if (rc == SQLITE_OK) rc = sqlite3_busy_timeout(c->db, c->store->busy_ms);
    if (rc == SQLITE_OK) rc = sqlite3_exec(c->db, pragmas[use], NULL, NULL, NULL);
    if (use != RP_SQ_READER) sqlite3_wal_hook(c->db, wal_noted, c);
    c->synchronous = use == RP_SQ_WRITER ? 2 : 1;
  }
  if (rc != SQLITE_OK) {
    int code = rp__sq_fail(c, rc, "open", err);
    rp__sq_conn_close(c);
    return code;
  }
  *ret = c;
  return 0;
}

void rp__sq_conn_close(struct rp__sq_conn *c)
{
  if (!c) return;
  for (int i = 0; i < RP_SQ_ID_MAX; i++) sqlite3_finalize(c->stmt[i]);
  sqlite3_close(c->db);
  free(c);
}

int rp__sq_conn_ensure(struct rp__sq_store *s, enum rp__sq_use use, struct rp__sq_conn **slot, rp_error *err)
{
  if (*slot && ((*slot)->broken || rp__sq_conn_is_stale(*slot))) rp__sq_conn_close(RP_TAKE(*slot));
  if (*slot) return 0;
  return rp__sq_conn_open(s, use, slot, err);
}

int rp__sq_exec(struct rp__sq_conn *c, const char *sql, rp_error *err)
{
  int rc = sqlite3_exec(c->db, sql, NULL, NULL, NULL);
  return rc == SQLITE_OK ? 0 : rp__sq_fail(c, rc, "execute", err);
}

void rp__sq_rollback(struct rp__sq_conn *c)
{
  if (sqlite3_get_autocommit(c->db)) return;
  RP_SQ_AUTO q = rp__sq_query(c, RP_SQ_ROLLBACK);
  if (rp__sq_done(&q, "roll back", NULL) != 0) c->broken = true;
}

/* ---- readers ---- */

int rp__sq_pool_init(struct rp__sq_pool *p)
{
  if (pthread_mutex_init(&p->mu, NULL)) return RP_E_NOMEM;
  if (pthread_cond_init(&p->free, NULL)) {
    pthread_mutex_destroy(&p->mu);
    return RP_E_NOMEM;
  }
  return 0;
}

void rp__sq_pool_done(struct rp__sq_pool *p)
{
  for (int i = 0; i < p->n_idle; i++) rp__sq_conn_close(p->idle[i]);
  pthread_cond_destroy(&p->free);
  pthread_mutex_destroy(&p->mu);
}

/* One more can't be opened (no file descriptors, say): one of those that are will do, if it comes back soon. */
static bool reader_wait(struct rp__sq_pool *p, struct rp__sq_conn **ret)
{
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += READER_WAIT_S;
  pthread_mutex_lock(&p->mu);
  p->n_open--;
  pthread_cond_signal(&p->free);
  int late = 0;
  while (p->n_idle == 0 && p->n_open > 0 && !late) late = pthread_cond_timedwait(&p->free, &p->mu, &until);
  bool there = p->n_idle > 0;
  if (there) *ret = p->idle[--p->n_idle];
  pthread_mutex_unlock(&p->mu);
  return there;
}

int rp__sq_reader_take(struct rp__sq_store *s, struct rp__sq_conn **ret, rp_error *err)
{
  struct rp__sq_pool *p = &s->pool;
  pthread_mutex_lock(&p->mu);
  if (s->short_lived && !s->pool.writing && !s->pool.lent && s->writer && !s->writer->broken &&
      !rp__sq_conn_is_stale(s->writer)) {
    *ret = p->lent = s->writer;
    pthread_mutex_unlock(&p->mu);
    return 0;
  }
  while (p->n_idle == 0 && p->n_open >= RP_SQ_READERS) pthread_cond_wait(&p->free, &p->mu);
  if (p->n_idle > 0) {
    *ret = p->idle[--p->n_idle];
    pthread_mutex_unlock(&p->mu);
    return 0;
  }
  p->n_open++;
  pthread_mutex_unlock(&p->mu);
  rp_error why = {0};
  int rc = rp__sq_conn_open(s, RP_SQ_READER, ret, &why);
  if (!rc || reader_wait(p, ret)) return 0;
  if (err) *err = why;
  return rc;
}

void rp__sq_reader_give(struct rp__sq_conn *c)
{
  struct rp__sq_pool *p = &c->store->pool;
  struct rp__sq_conn *spare = NULL;
  assert(sqlite3_get_autocommit(c->db) || c->broken); /* a reader leaves no transaction behind */
  pthread_mutex_lock(&p->mu);
  if (c == p->lent) {
    p->lent = NULL;
  } else if (c->broken || p->n_open > RP_SQ_READERS) {
    spare = c;
    p->n_open--;
  } else {
    p->idle[p->n_idle++] = c;
  }
  pthread_cond_signal(&p->free);
  pthread_mutex_unlock(&p->mu);
  rp__sq_conn_close(spare);
}

/* ---- the writer ---- */

int rp__sq_writer_take(struct rp__sq_store *s, struct rp__sq_conn **ret, rp_error *err)
{
  struct rp__sq_pool *p = &s->pool;
  pthread_mutex_lock(&p->mu);
  assert(!p->writing); /* commits come one at a time */
  p->writing = true;
  if (p->lent) {
    /* Somebody is in the middle of reading with it: it stays a reader. */
    s->writer = p->lent = NULL;
    p->n_open++;
  }
  pthread_mutex_unlock(&p->mu);
  int rc = rp__sq_conn_ensure(s, RP_SQ_WRITER, &s->writer, err);
  if (rc == 0)
    *ret = s->writer;
  else
    rp__sq_writer_give(s);
  return rc;
}

void rp__sq_writer_give(struct rp__sq_store *s)
{
  pthread_mutex_lock(&s->pool.mu);
  assert(s->pool.writing);
  s->pool.writing = false;
  pthread_mutex_unlock(&s->pool.mu);
}
