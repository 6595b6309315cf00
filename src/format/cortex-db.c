/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads and writes a brain.db. Each row of session_states is a session, and the rows of stm are the memories of one
 * further session. The file belongs to another program, so an import opens it read-only, does not trust its schema, and
 * runs no statement on it longer than a bound.
 *
 * An export adds one row to session_states (X-15). A missing table is made exactly as Cortex makes it. A table of that
 * name with other columns is refused. No other table and no existing row is changed.
 */
#include <sqlite3.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "core/seal.h"
#include "format/cortex.h"

#define VALUE_MAX (16 * 1024 * 1024)
#define STEP_OPS 1000000 /* virtual machine steps between two looks */
#define STEPS_MAX 20000  /* looks before a statement is given up */

/* A column of session_states, in order: name and the rest of its definition. */
struct column {
  const char *name, *type;
};
static const struct column columns[] = {
    {"id", "TEXT PRIMARY KEY"},
    {"start_time", "TEXT NOT NULL"},
    {"end_time", "TEXT"},
    {"channel", "TEXT DEFAULT 'unknown'"},
    {"working_memory", "TEXT NOT NULL DEFAULT '[]'"},
    {"hot_topics", "TEXT NOT NULL DEFAULT '[]'"},
    {"active_projects", "TEXT NOT NULL DEFAULT '[]'"},
    {"pending_tasks", "TEXT NOT NULL DEFAULT '[]'"},
    {"recent_learnings", "TEXT NOT NULL DEFAULT '[]'"},
    {"confidence_updates", "TEXT NOT NULL DEFAULT '[]'"},
    {"sop_interactions", "TEXT NOT NULL DEFAULT '[]'"},
    {"previous_session_id", "TEXT"},
    {"continued_by", "TEXT"},
    {"crash_recovered", "INTEGER DEFAULT 0"},
    {"schema_version", "INTEGER DEFAULT 1"},
    {"created_at", "TEXT NOT NULL"},
    {"updated_at", "TEXT"},
    {NULL, NULL},
};

static const char indexes[] = "CREATE INDEX idx_session_endtime ON session_states(end_time, start_time);"
                              "CREATE INDEX idx_session_prev ON session_states(previous_session_id);"
                              "CREATE INDEX idx_session_channel ON session_states(channel, start_time);";

struct brain {
  sqlite3 *db;
  sqlite3_stmt *memory; /* finds one by id */
  bool confidence;      /* stm has the column */
  int steps;
  struct rp__take t;
};

/* Translates what SQLite says about a file. */
static int db_error(sqlite3 *db, int rc, rp_error *err)
{
  switch (rc & 0xff) {
  case SQLITE_NOMEM: return rp__fail_nomem(err);
  case SQLITE_CORRUPT:
  case SQLITE_NOTADB:
  case SQLITE_FORMAT: return rp__fail(err, RP_E_FORMAT_CORRUPT, "the database is damaged: %s", sqlite3_errmsg(db));
  case SQLITE_BUSY:
  case SQLITE_LOCKED: return rp__fail(err, RP_E_BUSY, "somebody else is writing to the database");
  case SQLITE_FULL: return rp__fail(err, RP_E_FULL, "no space left for the database");
  case SQLITE_READONLY:
  case SQLITE_PERM: return rp__fail(err, RP_E_READONLY, "the database can't be written");
  case SQLITE_TOOBIG:
  case SQLITE_INTERRUPT: return rp__fail(err, RP_E_TOO_LARGE, "the database has more than can be taken");
  case SQLITE_ERROR: return rp__fail(err, RP_E_FORMAT, "this is no brain.db: %s", sqlite3_errmsg(db));
  default: return rp__fail(err, RP_E_IO, "the database can't be read: %s", db ? sqlite3_errmsg(db) : "no memory");
  }
}

/* Whether the table is there, and whether it has the column. */
static int db_has(sqlite3 *db, const char *table, const char *column, bool *ret, rp_error *err)
{
  static const char sql[] = "SELECT 1 FROM sqlite_schema AS s, pragma_table_info(s.name) AS c WHERE s.type = 'table' "
                            "AND s.name = ?1 AND (?2 IS NULL OR c.name = ?2) LIMIT 1";
  sqlite3_stmt *st = NULL;
  int rc = sqlite3_prepare_v2(db, sql, -1, &st, NULL);
  if (rc == SQLITE_OK) rc = sqlite3_bind_text(st, 1, table, -1, SQLITE_STATIC);
  if (rc == SQLITE_OK && column) rc = sqlite3_bind_text(st, 2, column, -1, SQLITE_STATIC);
  if (rc == SQLITE_OK) rc = sqlite3_step(st);
  bool ok = rc == SQLITE_ROW || rc == SQLITE_DONE;
  if (ok) *ret = rc == SQLITE_ROW;
  int code = ok ? 0 : db_error(db, rc, err);
  sqlite3_finalize(st);
  return code;
}

/* ---- opening ---- */

static int give_up(void *ctx)
{
  struct brain *b = ctx;
  return ++b->steps > STEPS_MAX;
}

static int open_file(struct brain *b, const char *path)
{
  struct stat st;
  struct rp__buf log RP_AUTOBUF = RP_BUF(65536), uri RP_AUTOBUF = RP_BUF(65536);
  int rc = sqlite3_open_v2(path, &b->db, SQLITE_OPEN_READONLY, NULL);
  if (rc == SQLITE_OK) rc = sqlite3_exec(b->db, "SELECT 1 FROM sqlite_schema LIMIT 1", NULL, NULL, NULL);
  if ((rc & 0xff) != SQLITE_CANTOPEN) return rc;
  rp__buf_printf(&log, "%s-wal", path);
  if (log.err || (stat(log.p, &st) == 0 && st.st_size > 0)) return rc;
  /* "file:PATH?immutable=1": for a folder that can't be written to, where no log can be made. */
  rp__buf_str(&uri, "file:");
  for (const char *p = path; *p; p++) {
    if (strchr("%?#", *p))
      rp__buf_printf(&uri, "%%%02X", (unsigned)(unsigned char)*p);
    else
      rp__buf_char(&uri, *p);
  }
  rp__buf_str(&uri, "?immutable=1");
  if (uri.err) return SQLITE_NOMEM;
  sqlite3_close(b->db);
  b->db = NULL;
  return sqlite3_open_v2(uri.p, &b->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, NULL);
}

static int brain_open(struct brain *b, const struct rp__doc *d, rp_error *err)
{
  int rc = d->path ? open_file(b, d->path) : sqlite3_open_v2(":memory:", &b->db, SQLITE_OPEN_READWRITE, NULL);
  if (!d->path && rc == SQLITE_OK) /* SQLite does not write to what it was given read-only */
    rc = sqlite3_deserialize(b->db, "main", (unsigned char *)(uintptr_t)d->bytes.p, (sqlite3_int64)d->bytes.n,
                             (sqlite3_int64)d->bytes.n, SQLITE_DESERIALIZE_READONLY);
  if (rc != SQLITE_OK) return db_error(b->db, rc, err);
  sqlite3_limit(b->db, SQLITE_LIMIT_LENGTH, VALUE_MAX);
  sqlite3_db_config(b->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
  sqlite3_db_config(b->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
  sqlite3_db_config(b->db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
  sqlite3_busy_timeout(b->db, 5000);
  sqlite3_progress_handler(b->db, STEP_OPS, give_up, b);
  return 0;
}

/* ---- memories ---- */

static void write_text(struct rp__jw *w, const char *name, sqlite3_stmt *st, int column)
{
  const char *text = (const char *)sqlite3_column_text(st, column);
  if (!text) return;
  rp__jw_key(w, name);
  rp__jw_strn(w, text, (size_t)sqlite3_column_bytes(st, column));
}

/* Columns: id, content, categories, created_at, confidence. Returns when it was learned. */
static int64_t write_memory(struct rp__jw *w, sqlite3_stmt *st)
{
  struct rp__json categories;
  const char *list = (const char *)sqlite3_column_text(st, 2), *when;
  size_t n = list ? (size_t)sqlite3_column_bytes(st, 2) : 0;
  write_text(w, "memory_id", st, 0);
  write_text(w, "content", st, 1);
  if (list && rp__json_parse(list, n, NULL, &categories, NULL) == 0 && categories.type == RP_JSON_ARRAY)
    rp__jw_kvalue(w, "categories", categories);
  if (sqlite3_column_type(st, 4) != SQLITE_NULL) rp__put_share(w, "confidence", sqlite3_column_double(st, 4));
  when = (const char *)sqlite3_column_text(st, 3);
  return when ? rp__when_text(when, strlen(when)) : 0;
}

static int find_memory(void *ctx, struct rp__json id, struct rp__jw *w, int64_t *ret_at)
{
  struct brain *b = ctx;
  char text[RP_EVENT_ID_MAX + 1];
  rp__text_of(id, text, sizeof text);
  sqlite3_reset(b->memory);
  int rc = sqlite3_bind_text(b->memory, 1, text, -1, SQLITE_TRANSIENT);
  if (rc == SQLITE_OK) rc = sqlite3_step(b->memory);
  if (rc == SQLITE_DONE) return 0;
  if (rc != SQLITE_ROW) return db_error(b->db, rc, b->t.err);
  *ret_at = write_memory(w, b->memory);
  return 1;
}

static int prepare_memories(struct brain *b, const char *tail, sqlite3_stmt **ret, rp_error *err)
{
  char sql[200];
  snprintf(sql, sizeof sql, "SELECT id, content, categories, created_at, %s FROM stm %s",
           b->confidence ? "confidence" : "NULL", tail);
  int rc = sqlite3_prepare_v2(b->db, sql, -1, ret, NULL);
  return rc == SQLITE_OK ? 0 : db_error(b->db, rc, err);
}

/* When the first and the last were learned, and a name that changes when they do. */
static int survey(struct brain *b, struct rp__foreign *f, int64_t *ret_n, rp_error *err)
{
  sqlite3_stmt *st = NULL;
  uint64_t sum = 0;
  int rc = prepare_memories(b, "ORDER BY created_at, id", &st, err), step = SQLITE_DONE;
  int64_t n = 0;
  while (!rc && (step = sqlite3_step(st)) == SQLITE_ROW && n < RP_FOREIGN_EVENTS) {
    rp__take_body(&b->t);
    int64_t at = write_memory(&b->t.w, st);
    if (b->t.body.err == RP_E_NOMEM) rc = rp__fail_nomem(err);
    sum = rp__checksum(b->t.body.p, b->t.body.n, sum);
    if (!f->created_at) f->created_at = at;
    f->ended_at = RP_MAX(f->ended_at, at);
    n++;
  }
  if (!rc && step != SQLITE_DONE && step != SQLITE_ROW) rc = db_error(b->db, step, err);
  sqlite3_finalize(st);
  snprintf(f->id, sizeof f->id, "cortex-stm-%016llx", (unsigned long long)sum);
  *ret_n = n;
  return rc;
}

static int take_memories(struct brain *b, rp_error *err)
{
  struct rp__foreign f = {.name = "cortex stm", .ended = true};
  sqlite3_stmt *st = NULL;
  int64_t n = 0;
  int rc = survey(b, &f, &n, err), step = SQLITE_DONE;
  if (rc || !n) return rc;
  f.last_activity_at = f.ended_at;
  rc = rp__take_begin(&b->t, &f);
  if (rc) return rc == RP__TAKE_SKIP ? 0 : rc;
  rp__jw_kstr(rp__take_body(&b->t), "name", f.name);
  rc = rp__take_event(&b->t, f.created_at, "session");
  if (!rc) rc = prepare_memories(b, "ORDER BY created_at, id", &st, err);
  while (!rc && (step = sqlite3_step(st)) == SQLITE_ROW) {
    int64_t at = write_memory(rp__take_body(&b->t), st);
    rc = rp__take_event(&b->t, at, "learning");
  }
  if (!rc && step != SQLITE_DONE) rc = db_error(b->db, step, err);
  sqlite3_finalize(st);
  return rc ? rc : rp__take_end(&b->t);
}

/* ---- sessions ---- */

/* A column of JSON goes in as it is; false when it holds none. */
static bool write_column(struct rp__jw *w, const struct column *c, sqlite3_stmt *st, int column)
{
  const char *text = (const char *)sqlite3_column_text(st, column);
  if (!text) return true;
  if (strstr(c->type, "'[]'")) {
    const struct rp__json_limits limits = {.max_depth = RP_DEPTH_MAX - 2};
    size_t n = (size_t)sqlite3_column_bytes(st, column);
    struct rp__json v = {0};
    if (n && (rp__json_parse(text, n, &limits, &v, NULL) || v.type != RP_JSON_ARRAY)) return false;
    rp__copy_member(w, c->name, v);
    return true;
  }
  if (sqlite3_column_type(st, column) == SQLITE_INTEGER)
    rp__jw_ki64(w, c->name, sqlite3_column_int64(st, column));
  else
    write_text(w, c->name, st, column);
  return true;
}

static int take_row(struct brain *b, sqlite3_stmt *st, struct rp__buf *doc, const struct rp__cortex_memories *m,
                    rp_error *err)
{
  struct rp__jw w;
  bool whole = true;
  rp__buf_reset(doc);
  w = RP_JW(doc);
  rp__jw_object(&w);
  for (int i = 0; columns[i].name; i++) whole = write_column(&w, &columns[i], st, i) && whole;
  rp__jw_end_object(&w);
  if (doc->err == RP_E_TOO_LARGE) return rp__fail(err, RP_E_TOO_LARGE, "a session is over %zu bytes", doc->max);
  if (doc->err) return rp__fail_nomem(err);
  if (!whole) {
    const char *id = (const char *)sqlite3_column_text(st, 0);
    return b->t.to->failed(b->t.to->ctx, id ? id : "", "a column of its row is damaged");
  }
  return rp__cortex_take(&b->t, rp__json_trusted(doc->p, doc->n), m);
}

static int take_sessions(struct brain *b, bool memories, rp_error *err)
{
  struct rp__buf doc RP_AUTOBUF = RP_BUF(RP_FOREIGN_MAX);
  struct rp__cortex_memories m = {find_memory, b};
  sqlite3_stmt *st = NULL;
  RP_AUTOBUF struct rp__buf sql = RP_BUF(4096);
  int rc = 0, step = SQLITE_DONE;
  rp__buf_str(&sql, "SELECT ");
  for (int i = 0; columns[i].name; i++) rp__buf_printf(&sql, "%s%s", i ? ", " : "", columns[i].name);
  rp__buf_str(&sql, " FROM session_states ORDER BY start_time, id");
  if (sql.err) return rp__fail_nomem(err);
  int prepared = sqlite3_prepare_v2(b->db, sql.p, -1, &st, NULL);
  if (prepared != SQLITE_OK) rc = db_error(b->db, prepared, err);
  for (int64_t n = 0; !rc && (step = sqlite3_step(st)) == SQLITE_ROW; n++)
    rc = n < RP_FOREIGN_SESSIONS
             ? take_row(b, st, &doc, memories ? &m : NULL, err)
             : rp__fail(err, RP_E_TOO_LARGE, "the database has more than %d sessions", RP_FOREIGN_SESSIONS);
  if (!rc && step != SQLITE_DONE) rc = db_error(b->db, step, err);
  sqlite3_finalize(st);
  return rc;
}

int rp__cortex_db_import(const struct rp__doc *d, const struct rp__taker *to, rp_error *err)
{
  struct brain b = {0};
  rp_error own;
  if (!err) err = &own;
  rp__take_init(&b.t, to, err);
  bool sessions = false, stm = false;
  int rc = brain_open(&b, d, err);
  if (!rc) rc = db_has(b.db, "session_states", "id", &sessions, err);
  if (!rc) rc = db_has(b.db, "stm", "content", &stm, err);
  if (!rc && !sessions && !stm) rc = rp__format_refuse(&rp__format_cortex, err);
  if (!rc && stm) rc = db_has(b.db, "stm", "confidence", &b.confidence, err);
  if (!rc && stm) rc = prepare_memories(&b, "WHERE id = ?1", &b.memory, err);
  if (!rc && sessions) rc = take_sessions(&b, stm, err); /* first: a memory belongs where it was learned */
  if (!rc && stm) rc = take_memories(&b, err);
  sqlite3_finalize(b.memory);
  sqlite3_close(b.db);
  rp__take_done(&b.t);
  return rc;
}

/* ---- writing ---- */

static int run(sqlite3 *db, const char *sql, rp_error *err)
{
  int rc = sqlite3_exec(db, sql, NULL, NULL, NULL);
  return rc == SQLITE_OK ? 0 : db_error(db, rc, err);
}

static int need_table(sqlite3 *db, rp_error *err)
{
  bool there = false;
  int rc = db_has(db, "session_states", NULL, &there, err);
  if (rc) return rc;
  if (!there) {
    struct rp__buf sql RP_AUTOBUF = RP_BUF(8192);
    rp__buf_str(&sql, "CREATE TABLE session_states (");
    for (const struct column *c = columns; c->name; c++)
      rp__buf_printf(&sql, "%s%s %s", c == columns ? "" : ", ", c->name, c->type);
    rp__buf_str(&sql, ");");
    rp__buf_str(&sql, indexes);
    return sql.err ? rp__fail_nomem(err) : run(db, sql.p, err);
  }
  for (const struct column *c = columns; c->name; c++) {
    rc = db_has(db, "session_states", c->name, &there, err);
    if (rc) return rc;
    if (!there)
      return rp__fail(err, RP_E_FORMAT_VERSION, "the database's session_states has no column %s: it is another table",
                      c->name);
  }
  return 0;
}

/* The value of a column from the record; text is decoded, arrays stay JSON. */
static int bind_value(sqlite3_stmt *st, int at, struct rp__json v)
{
  struct rp__buf text RP_AUTOBUF = RP_BUF(RP_FOREIGN_MAX);
  int64_t n;
  if (v.type == RP_JSON_NONE || v.type == RP_JSON_NULL) return SQLITE_OK; /* stays NULL */
  if (v.type == RP_JSON_TRUE || v.type == RP_JSON_FALSE) return sqlite3_bind_int(st, at, v.type == RP_JSON_TRUE);
  if (rp__json_i64(v, &n)) return sqlite3_bind_int64(st, at, n);
  if (v.type != RP_JSON_STRING) return sqlite3_bind_text(st, at, v.p, (int)v.n, SQLITE_TRANSIENT);
  rp__json_text(v, &text);
  if (text.err) return SQLITE_NOMEM;
  return sqlite3_bind_text(st, at, text.p ? text.p : "", (int)text.n, SQLITE_TRANSIENT);
}

static int insert(sqlite3 *db, struct rp__json record, int64_t now_ms, rp_error *err)
{
  struct rp__buf sql RP_AUTOBUF = RP_BUF(4096);
  sqlite3_stmt *st = NULL;
  const struct column *c;
  char now[RP_TIME_TEXT];
  rp__buf_str(&sql, "INSERT INTO session_states (");
  for (c = columns; c->name; c++) rp__buf_printf(&sql, "%s%s", c == columns ? "" : ", ", c->name);
  rp__buf_str(&sql, ") VALUES (");
  for (c = columns; c->name; c++) rp__buf_str(&sql, c == columns ? "?" : ", ?");
  rp__buf_char(&sql, ')');
  if (sql.err) return rp__fail_nomem(err);
  int rc = sqlite3_prepare_v2(db, sql.p, -1, &st, NULL);
  rp__time_format(now_ms, now);
  for (int i = 0; rc == SQLITE_OK && columns[i].name; i++) {
    const char *name = columns[i].name;
    if (strcmp(name, "created_at") == 0 || strcmp(name, "updated_at") == 0)
      rc = sqlite3_bind_text(st, i + 1, now, -1, SQLITE_TRANSIENT);
    else
      rc = bind_value(st, i + 1, rp__json_get(record, i ? name : "session_id"));
  }
  if (rc == SQLITE_OK) rc = sqlite3_step(st);
  int extended = sqlite3_extended_errcode(db);
  sqlite3_finalize(st);
  if (rc == SQLITE_DONE) return 0;
  if (extended == SQLITE_CONSTRAINT_PRIMARYKEY || extended == SQLITE_CONSTRAINT_UNIQUE) {
    rp__fail(err, RP_E_EXISTS, "the database has a record of that session already");
    rp__hint(err, "rows that are there are never changed; remove it yourself to have it written anew");
    return RP_E_EXISTS;
  }
  return db_error(db, rc, err);
}

int rp__cortex_db_put(const struct rp__giver *g, const char *path, rp_error *err)
{
  struct rp__buf record RP_AUTOBUF = RP_BUF(RP_FOREIGN_MAX);
  sqlite3 *db = NULL;
  rp_error own;
  if (!err) err = &own;
  int rc = rp__cortex_record(g, &record, err);
  if (rc) return rc;
  int opened = sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL);
  if (opened != SQLITE_OK) rc = db_error(db, opened, err);
  if (!rc) {
    sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_busy_timeout(db, 5000);
    rc = run(db, "BEGIN IMMEDIATE", err);
  }
  if (!rc) {
    rc = need_table(db, err);
    if (!rc) rc = insert(db, rp__json_trusted(record.p, record.n), g->now_ms, err);
    if (!rc) rc = run(db, "COMMIT", err);
    if (rc) sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
  }
  sqlite3_close(db);
  return rc;
}
