/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of Reprise and their migrations. A step leads from version n - 1 to n and is never changed once released.
 * All names begin with rp_, except the two names of the original programs (states.c); nothing else in the file is
 * touched. The version is a row of a table of Reprise, because user_version and application_id belong to the owner of
 * the file.
 */
#include "store/sqlite/sqlite.h"

/* Statuses are stored as numbers; statements.c knows which ones have ended. */
_Static_assert(RP_STATUS_CREATED == 0 && RP_STATUS_ACTIVE == 1 && RP_STATUS_IDLE == 2 && RP_STATUS_CHECKPOINTED == 3 &&
                   RP_STATUS_CLOSED == 4 && RP_STATUS_ABANDONED == 5,
               "stored numbers");

/*
 * What every append rewrites (rp_heads) is apart from what it only looks at: many
 * narrow rows share a page, so a group of appends dirties few of them. Its tag is a
 * hash of the session's id, enough to notice a reference that means another session.
 * Full text is no part of the schema: it is built when it is missing (index.c).
 */
static const char step_1[] =
    "CREATE TABLE rp_scopes (scope TEXT PRIMARY KEY, starts INTEGER NOT NULL, sealed INTEGER NOT NULL, key_id BLOB)"
    " WITHOUT ROWID;"

    "CREATE TABLE rp_sessions (ref INTEGER PRIMARY KEY, id TEXT NOT NULL, scope TEXT NOT NULL, key TEXT, channel TEXT,"
    " provider TEXT, created_at INTEGER NOT NULL, previous_id TEXT, continued_by TEXT, forked_from TEXT,"
    " forked_at_seq INTEGER NOT NULL, crash_recovered INTEGER NOT NULL, sealed INTEGER NOT NULL,"
    " hidden INTEGER NOT NULL, started INTEGER NOT NULL, meta TEXT);"
    "CREATE UNIQUE INDEX rp_sessions_id ON rp_sessions (id);"
    "CREATE INDEX rp_sessions_key ON rp_sessions (key, scope) WHERE key IS NOT NULL;"
    "CREATE INDEX rp_sessions_scope ON rp_sessions (scope);"
    "CREATE INDEX rp_sessions_scope_started ON rp_sessions (scope, started);"
    "CREATE INDEX rp_sessions_started ON rp_sessions (started);"

    "CREATE TABLE rp_heads (session INTEGER PRIMARY KEY, tag INTEGER NOT NULL, status INTEGER NOT NULL, epoch INTEGER "
    "NOT NULL,"
    " last_seq INTEGER NOT NULL, snap_seq INTEGER NOT NULL, snap_n INTEGER NOT NULL, tail_bytes INTEGER NOT NULL,"
    " bytes INTEGER NOT NULL, last_activity_at INTEGER NOT NULL, ended_at INTEGER NOT NULL);"

    "CREATE TABLE rp_runs (ref INTEGER PRIMARY KEY, session INTEGER NOT NULL, epoch INTEGER NOT NULL,"
    " owner TEXT NOT NULL, slot INTEGER NOT NULL, pid INTEGER NOT NULL, pid_start INTEGER NOT NULL,"
    " pid_ns INTEGER NOT NULL, boot_id TEXT, host TEXT, version TEXT, started_at INTEGER NOT NULL,"
    " heartbeat_at INTEGER NOT NULL, heartbeat_boot INTEGER NOT NULL, ended_at INTEGER NOT NULL, cause TEXT,"
    " evidence TEXT, reason TEXT);"
    "CREATE UNIQUE INDEX rp_runs_epoch ON rp_runs (session, epoch);"
    "CREATE INDEX rp_runs_open ON rp_runs (session) WHERE ended_at = 0;"

    "CREATE TABLE rp_events (id INTEGER PRIMARY KEY, session INTEGER NOT NULL, seq INTEGER NOT NULL,"
    " at INTEGER NOT NULL, kind TEXT NOT NULL, flags INTEGER NOT NULL, sum INTEGER NOT NULL, body NOT NULL);"
    "CREATE UNIQUE INDEX rp_events_seq ON rp_events (session, seq);"

    "CREATE TABLE rp_snapshots (ref INTEGER PRIMARY KEY, session INTEGER NOT NULL, n INTEGER NOT NULL,"
    " seq INTEGER NOT NULL, at INTEGER NOT NULL, raw_size INTEGER NOT NULL, size INTEGER NOT NULL,"
    " sealed INTEGER NOT NULL, reason TEXT, data BLOB NOT NULL);"
    "CREATE UNIQUE INDEX rp_snapshots_n ON rp_snapshots (session, n);"

    "CREATE TABLE rp_idem (session INTEGER NOT NULL, key TEXT NOT NULL, seq INTEGER NOT NULL, n INTEGER NOT NULL,"
    " at INTEGER NOT NULL, PRIMARY KEY (session, key)) WITHOUT ROWID;"
    "CREATE INDEX rp_idem_at ON rp_idem (at);"

    "CREATE TABLE rp_clients (session INTEGER NOT NULL, client TEXT NOT NULL, mark INTEGER NOT NULL,"
    " seq INTEGER NOT NULL, PRIMARY KEY (session, client)) WITHOUT ROWID;";

/*
 * rp_recall is what a start scans, thousands of rows at a time: all of a
 * scope lie together, in the order of their ends. The rest of a record is in
 * session_states, and in rp_records what is sealed or has no place there.
 */
static const char step_2[] =
    "ALTER TABLE rp_sessions ADD COLUMN trashed_at INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE rp_sessions ADD COLUMN held_at INTEGER NOT NULL DEFAULT 0;"
    "CREATE INDEX rp_sessions_trashed ON rp_sessions (trashed_at) WHERE trashed_at > 0;"

    "ALTER TABLE rp_runs ADD COLUMN scope TEXT;"
    "UPDATE rp_runs SET scope = (SELECT scope FROM rp_sessions WHERE ref = rp_runs.session);"
    "ALTER TABLE rp_runs ADD COLUMN restart TEXT;"
    "ALTER TABLE rp_runs ADD COLUMN previous_cause TEXT;"
    "ALTER TABLE rp_runs ADD COLUMN elapsed REAL;"
    "ALTER TABLE rp_runs ADD COLUMN start_number INTEGER;"
    "CREATE INDEX rp_runs_scope ON rp_runs (scope);"
    "CREATE INDEX rp_runs_scope_open ON rp_runs (scope) WHERE ended_at = 0;"

    "CREATE TABLE rp_recall (scope TEXT NOT NULL, ended_at INTEGER NOT NULL, id TEXT NOT NULL,"
    " session INTEGER NOT NULL, channel TEXT, n_tasks INTEGER NOT NULL, flags INTEGER NOT NULL, topics BLOB NOT NULL,"
    " PRIMARY KEY (scope, ended_at, id)) WITHOUT ROWID;"
    "CREATE UNIQUE INDEX rp_recall_session ON rp_recall (session);"
    "CREATE TABLE rp_records (session INTEGER PRIMARY KEY, start_at INTEGER NOT NULL, created_at INTEGER NOT NULL,"
    " updated_at INTEGER NOT NULL, crash_recovered INTEGER NOT NULL, previous_id TEXT, continued_by TEXT,"
    " sealed INTEGER NOT NULL, body BLOB);"

    "CREATE TABLE rp_tasks (scope TEXT NOT NULL, hash INTEGER NOT NULL, session INTEGER NOT NULL,"
    " seq INTEGER NOT NULL, at INTEGER NOT NULL, open INTEGER NOT NULL, PRIMARY KEY (scope, hash)) WITHOUT ROWID;"
    "CREATE INDEX rp_tasks_session ON rp_tasks (session);"

    "CREATE TABLE rp_memories (ref INTEGER PRIMARY KEY, scope TEXT NOT NULL, id TEXT NOT NULL, session_id TEXT,"
    " confidence REAL NOT NULL, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, sealed INTEGER NOT NULL,"
    " content NOT NULL, categories TEXT);"
    "CREATE UNIQUE INDEX rp_memories_id ON rp_memories (scope, id);"
    "CREATE INDEX rp_memories_best ON rp_memories (scope, confidence, created_at);" RP_SQ_MEMORY_INDEX ";"

    "CREATE TABLE rp_audit (scope TEXT NOT NULL, n INTEGER NOT NULL, at INTEGER NOT NULL, event TEXT NOT NULL, fields,"
    " sealed INTEGER NOT NULL, salt BLOB NOT NULL, digest BLOB NOT NULL, prev BLOB NOT NULL, hash BLOB NOT NULL,"
    " PRIMARY KEY (scope, n)) WITHOUT ROWID;"
    "CREATE TABLE rp_audit_heads (scope TEXT PRIMARY KEY, n INTEGER NOT NULL, hash BLOB NOT NULL) WITHOUT ROWID;";

/*
 * Bearer tokens of the server: rows without their secrets. And a start finds the runs that may be dead without looking
 * at those that beat, of which a server has thousands: heartbeats write into an index for that,
 * as narrow a one as will do.
 */
static const char step_3[] =
    "CREATE TABLE rp_tokens (ref INTEGER PRIMARY KEY, id TEXT NOT NULL, name TEXT, scope TEXT,"
    " read_only INTEGER NOT NULL, hash BLOB NOT NULL, created_at INTEGER NOT NULL, expires_at INTEGER NOT NULL,"
    " last_used_at INTEGER NOT NULL);"
    "CREATE UNIQUE INDEX rp_tokens_id ON rp_tokens (id);"

    "CREATE INDEX rp_runs_owned ON rp_runs (scope) WHERE ended_at = 0 AND owner <> 'none';"
    "CREATE INDEX rp_runs_boot ON rp_runs (scope, boot_id) WHERE ended_at = 0 AND owner = 'none';"
    "CREATE INDEX rp_runs_beat ON rp_runs (scope, heartbeat_boot) WHERE ended_at = 0 AND owner = 'none';";

/*
 * What is too large for an event. All that lists look at stands before the data, so that counting reads no page of it.
 */
static const char step_4[] =
    "CREATE TABLE rp_blobs (ref INTEGER PRIMARY KEY, session INTEGER NOT NULL, id TEXT NOT NULL, at INTEGER NOT NULL,"
    " raw_size INTEGER NOT NULL, size INTEGER NOT NULL, sealed INTEGER NOT NULL, hash BLOB NOT NULL,"
    " data BLOB NOT NULL);"
    "CREATE UNIQUE INDEX rp_blobs_id ON rp_blobs (session, id);"
    "CREATE INDEX rp_blobs_hash ON rp_blobs (session, hash);";

/* What a list shows of a session without reading its state. */
static const char step_5[] = "ALTER TABLE rp_sessions ADD COLUMN name TEXT;";

/*
 * rp_events.tail is the end of a streamed text that may be the beginning of a secret, sealed; rp_heads.tails says which
 * of a session's tails are undecided. A digest tells a repeated request from another one under the same key. Sums of
 * memories and records are NULL in rows that are older than this step.
 */
static const char step_6[] =
    "ALTER TABLE rp_events ADD COLUMN tail BLOB;"
    "ALTER TABLE rp_heads ADD COLUMN tails BLOB;"
    "ALTER TABLE rp_idem ADD COLUMN digest BLOB;"
    "CREATE TABLE rp_requests (scope TEXT NOT NULL, key TEXT NOT NULL, digest BLOB NOT NULL, session_id TEXT NOT NULL,"
    " at INTEGER NOT NULL, PRIMARY KEY (scope, key)) WITHOUT ROWID;"
    "CREATE INDEX rp_requests_at ON rp_requests (at);"
    "ALTER TABLE rp_memories ADD COLUMN sum INTEGER;"
    "ALTER TABLE rp_records ADD COLUMN sum INTEGER;";

/*
 * Names that other programs have for sessions; NULL: the session is gone. A scope that a robot's past was taken into is
 * a robot's.
 */
static const char step_7[] =
    "CREATE TABLE rp_names (name TEXT PRIMARY KEY, session_id TEXT, at INTEGER NOT NULL) WITHOUT ROWID;"
    "CREATE INDEX rp_names_session ON rp_names (session_id);"
    "ALTER TABLE rp_scopes ADD COLUMN robot INTEGER NOT NULL DEFAULT 0;";

/*
 * How often a memory was recalled or confirmed, and when it was recalled last. A start reads the memories that were
 * learned, confirmed, corrected or recalled last, however many a scope has.
 */
static const char step_8[] = "ALTER TABLE rp_memories ADD COLUMN uses INTEGER NOT NULL DEFAULT 0;"
                             "ALTER TABLE rp_memories ADD COLUMN used_at INTEGER NOT NULL DEFAULT 0;"
                             "CREATE INDEX rp_memories_fresh ON rp_memories (scope, max(updated_at, used_at));";

static const char *const steps[] = {
    [1] = step_1, [2] = step_2, [3] = step_3, [4] = step_4, [5] = step_5, [6] = step_6, [7] = step_7, [8] = step_8};

const char *const rp__sq_schema_names[] = {
    "rp_scopes",
    "rp_sessions",
    "rp_sessions_id",
    "rp_sessions_key",
    "rp_sessions_scope",
    "rp_heads",
    "rp_runs",
    "rp_runs_epoch",
    "rp_runs_open",
    "rp_sessions_scope_started",
    "rp_events",
    "rp_events_seq",
    "rp_snapshots",
    "rp_snapshots_n",
    "rp_sessions_started",
    "rp_idem",
    "rp_idem_at",
    "rp_clients",
    "rp_sessions_trashed",
    "rp_runs_scope",
    "rp_runs_scope_open",
    "rp_recall",
    "rp_recall_session",
    "rp_records",
    "rp_tasks",
    "rp_tasks_session",
    "rp_memories",
    "rp_memories_id",
    "rp_memories_best",
    "rp_memories_fresh",
    "rp_memory_fts",
    "rp_audit",
    "rp_audit_heads",
    "rp_tokens",
    "rp_tokens_id",
    "rp_runs_owned",
    "rp_runs_boot",
    "rp_runs_beat",
    "rp_blobs",
    "rp_blobs_id",
    "rp_blobs_hash",
    "rp_requests",
    "rp_requests_at",
    "rp_names",
    "rp_names_session",
    "session_states",
    "agent_session_states",
    NULL,
};
_Static_assert(RP_ARRAY_SIZE(steps) == RP_SQ_SCHEMA + 1, "a step for every version");

static int refuse_version(const struct rp__sq_store *s, int64_t version, rp_error *err)
{
  rp__fail(err, RP_E_VERSION, "%s has schema version %lld, this program knows %d", s->path, (long long)version,
           RP_SQ_SCHEMA);
  rp__hint(err, version > RP_SQ_SCHEMA ? "use the newer program" : "open it once for writing to bring it up to date");
  return RP_E_VERSION;
}

int rp__sq_schema_check(struct rp__sq_conn *c, rp_error *err)
{
  int64_t version;
  int rc = rp__sq_meta_get(c, "schema_version", 0, &version, err);
  if (rc != 0) return rc;
  return version == RP_SQ_SCHEMA ? 0 : refuse_version(c->store, version, err);
}

/*
 * Names that begin like ours are tables and indexes, nothing else: a view in the place of a table may never end, and a
 * trigger does what nobody here asked for. The one kind of virtual table is full text without a content of its own.
 */
static int kinds_check(struct rp__sq_conn *c, rp_error *err)
{
  static const char sql[] =
      "SELECT type, name FROM sqlite_schema WHERE (type = 'trigger' AND tbl_name LIKE 'rp\\_%' ESCAPE '\\')"
      " OR (name LIKE 'rp\\_%' ESCAPE '\\' AND (type NOT IN ('table', 'index')"
      " OR (type = 'table' AND rootpage = 0"
      " AND sql NOT LIKE 'CREATE VIRTUAL TABLE rp\\_%fts USING fts5 (text, content = '''',%' ESCAPE '\\'))) LIMIT 1";
  struct rp__sq_q q = {.c = c};
  char type[16] = "", name[RP_NAME] = "";
  q.rc = sqlite3_prepare_v2(c->db, sql, -1, &q.st, NULL);
  int rc = rp__sq_next(&q, "read schema", err);
  if (rc > 0) {
    rp__sq_col_str(&q, 0, type, sizeof type);
    rp__sq_col_str(&q, 1, name, sizeof name);
  }
  sqlite3_finalize(q.st);
  if (rc <= 0) return rc;
  rp__fail(err, RP_E_VERSION, "%s has a %s %s, which Reprise did not make", c->store->path,
           strcmp(type, "table") == 0 ? "virtual table" : type, name);
  rp__hint(err,
           "names that begin with rp_ are Reprise's own: take it out, or keep the sessions in a file of their own");
  return RP_E_VERSION;
}

int rp__sq_schema_version(struct rp__sq_conn *c, int64_t *ret, rp_error *err)
{
  static const char sql[] = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'rp_meta'";
  sqlite3_stmt *st = NULL;
  int rc = sqlite3_prepare_v2(c->db, sql, -1, &st, NULL);
  if (rc == SQLITE_OK) rc = sqlite3_step(st);
  if (rc != SQLITE_ROW && rc != SQLITE_DONE) rc = rp__sq_fail(c, rc, "read schema", err);
  sqlite3_finalize(st);
  if (rc < 0) return rc;
  *ret = 0;
  return rc == SQLITE_ROW ? rp__sq_meta_get(c, "schema_version", 0, ret, err) : 0;
}

/* *ret_made: there was none of it before. */
static int migrate(struct rp__sq_conn *c, bool *ret_made, rp_error *err)
{
  static const char meta[] =
      "CREATE TABLE IF NOT EXISTS rp_meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID";
  int64_t version;
  int rc = rp__sq_schema_version(c, &version, err);
  *ret_made = rc == 0 && version == 0;
  if (rc == 0 && version > RP_SQ_SCHEMA) return refuse_version(c->store, version, err);
  if (rc == 0) rc = rp__sq_states_check(c, version, err);
  if (rc == 0) rc = rp__sq_exec(c, meta, err);
  for (int64_t v = version + 1; rc == 0 && v <= RP_SQ_SCHEMA; v++) rc = rp__sq_exec(c, steps[v], err);
  if (rc == 0 && version >= 2 && version < 7) rc = rp__sq_view_renew(c, err);
  if (rc == 0 && version < 7) rc = rp__sq_states_make(c, err);
  if (rc == 0 && version < 7) rc = rp__sq_names_move(c, err);
  return rc ? rc : rp__sq_meta_set(c, "schema_version", RP_SQ_SCHEMA, err);
}

int rp__sq_schema_restore(struct rp__sq_conn *c, rp_error *err)
{
  for (int v = 1; v <= RP_SQ_SCHEMA; v++) {
    for (const char *sql = steps[v], *end; (end = strchr(sql, ';')); sql = end + 1) {
      sqlite3_stmt *st = NULL;
      int rc = sqlite3_prepare_v2(c->db, sql, (int)(end - sql), &st, NULL);
      if (rc == SQLITE_OK) rc = sqlite3_step(st);
      /* Most fail, for what they make is there. */
      bool lost = rc != SQLITE_DONE && rc != SQLITE_ERROR;
      if (lost) rc = rp__sq_fail(c, rc, "restore schema", err);
      sqlite3_finalize(st);
      if (lost) return rc;
    }
  }
  return rp__sq_states_make(c, err);
}

static int journal_is_wal(struct rp__sq_conn *c, const char *sql, bool *ret, rp_error *err)
{
  sqlite3_stmt *st = NULL;
  int rc = sqlite3_prepare_v2(c->db, sql, -1, &st, NULL);
  if (rc == SQLITE_OK) rc = sqlite3_step(st);
  const char *mode = rc == SQLITE_ROW ? (const char *)sqlite3_column_text(st, 0) : NULL;
  bool wal = mode && strcmp(mode, "wal") == 0;
  /* The answer comes before the commit that makes it true. */
  if (mode) rc = sqlite3_step(st);
  if (rc == SQLITE_DONE) *ret = wal;
  rc = rc == SQLITE_DONE ? 0 : rp__sq_fail(c, rc, "read journal mode", err);
  sqlite3_finalize(st);
  return rc;
}

/* Also of a file that was ours before: anybody may have set another mode meanwhile. */
static int journal_ensure(struct rp__sq_conn *c, rp_error *err)
{
  bool wal = false;
  if (c->store->memory[0]) return 0;
  int rc = journal_is_wal(c, "PRAGMA journal_mode = WAL", &wal, err);
  if (rc != 0 || wal) return rc;
  return rp__fail(err, RP_E_UNREACHABLE, "%s can't have a write-ahead log on this file system", c->store->path);
}

/* In turn, for two processes may find the file new at the same time. */
static int schema_migrate(struct rp__sq_store *s, struct rp__sq_conn *c, rp_error *err)
{
  bool made = false;
  int rc = rp__sq_queue_enter(s->queue, s->busy_ms, err);
  if (rc != 0) return rc;
  c->in_turn = true;
  rc = rp__sq_exec(c, "PRAGMA page_size = 4096", err);
  if (rc == 0) rc = journal_ensure(c, err);
  if (rc == 0) rc = rp__sq_exec(c, "BEGIN IMMEDIATE", err);
  if (rc == 0) rc = migrate(c, &made, err);
  if (rc == 0) rc = rp__sq_exec(c, "COMMIT", err);
  if (rc != 0) rp__sq_rollback(c);
  if (rc == 0 && made) rp__sq_db_made(s);
  c->in_turn = false;
  rp__sq_queue_leave(s->queue);
  return rc;
}

int rp__sq_refuse_bare(const struct rp__sq_store *s, rp_error *err)
{
  char lost[300];
  if (!rp__sq_loss_tell(s, lost, sizeof lost)) {
    rp__fail(err, RP_E_UNREACHABLE, "%s holds no sessions of Reprise", s->path);
    rp__hint(err, "check --db and REPRISE_DB; a start makes a store of it, beside what is in it");
    return RP_E_UNREACHABLE;
  }
  return rp__fail(err, RP_E_CORRUPT, "%s holds no sessions of Reprise any more: %s", s->path, lost);
}

int rp__sq_schema_ensure(struct rp__sq_store *s, struct rp__sq_conn *c, rp_error *err)
{
  int64_t version = 0;
  bool wal = true;
  int rc = rp__sq_schema_version(c, &version, err);
  if (rc != 0) return rc;
  if (version > RP_SQ_SCHEMA) return refuse_version(s, version, err);
  /* Before anything is asked or made: a file that is refused stays as it is. */
  rc = kinds_check(c, err);
  if (rc != 0) return rc;
  rp__sq_loss_look(s, c, version == 0);
  if (s->read_only && version == 0) return rp__sq_refuse_bare(s, err);
  rc = rp__sq_states_check(c, version, err);
  if (rc != 0) return rc;
  if (s->read_only) return version < RP_SQ_SCHEMA ? refuse_version(s, version, err) : 0;
  if (!s->memory[0]) rc = journal_is_wal(c, "PRAGMA journal_mode", &wal, err);
  if (rc == 0 && (version < RP_SQ_SCHEMA || !wal)) rc = schema_migrate(s, c, err);
  if (rc) return rc;
  sqlite3_stmt *st = NULL;
  rc = sqlite3_prepare_v2(c->db, "PRAGMA page_size", -1, &st, NULL);
  if (rc == SQLITE_OK) rc = sqlite3_step(st);
  bool read = rc == SQLITE_ROW;
  if (read)
    s->page_size = sqlite3_column_int(st, 0);
  else
    rc = rp__sq_fail(c, rc, "read page size", err);
  sqlite3_finalize(st);
  return read ? 0 : rc;
}
