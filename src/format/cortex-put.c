/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds one row to the table session_states of a brain.db. A missing table is made exactly as Cortex makes it. A
 * table of that name with other columns is refused. No other table and no existing row is changed.
 */
#include <sqlite3.h>

#include "base/clock.h"
#include "format/cortex.h"

const struct rp__cortex_column rp__cortex_columns[] = {
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

static int run(sqlite3 *db, const char *sql, rp_error *err)
{
  int rc = sqlite3_exec(db, sql, NULL, NULL, NULL);
  return rc == SQLITE_OK ? 0 : rp__cortex_db_error(db, rc, err);
}

static int make_table(sqlite3 *db, rp_error *err)
{
  struct rp__buf sql RP_AUTOBUF = RP_BUF(8192);
  rp__buf_str(&sql, "CREATE TABLE session_states (");
  for (const struct rp__cortex_column *c = rp__cortex_columns; c->name; c++)
    rp__buf_printf(&sql, "%s%s %s", c == rp__cortex_columns ? "" : ", ", c->name, c->type);
  rp__buf_str(&sql, ");");
  rp__buf_str(&sql, indexes);
  return sql.err ? rp__fail_nomem(err) : run(db, sql.p, err);
}

static int need_table(sqlite3 *db, rp_error *err)
{
  bool there = false;
  int rc = rp__cortex_db_has(db, "session_states", NULL, &there, err);
  if (rc) return rc;
  if (!there) return make_table(db, err);
  for (const struct rp__cortex_column *c = rp__cortex_columns; c->name; c++) {
    rc = rp__cortex_db_has(db, "session_states", c->name, &there, err);
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

static int bind_record(sqlite3_stmt *st, struct rp__json record, int64_t now_ms)
{
  char now[RP_TIME_TEXT];
  int rc = SQLITE_OK;
  rp__time_format(now_ms, now);
  for (int i = 0; rc == SQLITE_OK && rp__cortex_columns[i].name; i++) {
    const char *name = rp__cortex_columns[i].name;
    if (strcmp(name, "created_at") == 0 || strcmp(name, "updated_at") == 0)
      rc = sqlite3_bind_text(st, i + 1, now, -1, SQLITE_TRANSIENT);
    else
      rc = bind_value(st, i + 1, rp__json_get(record, i ? name : "session_id"));
  }
  return rc;
}

static int insert(sqlite3 *db, struct rp__json record, int64_t now_ms, rp_error *err)
{
  struct rp__buf sql RP_AUTOBUF = RP_BUF(4096);
  sqlite3_stmt *st = NULL;
  const struct rp__cortex_column *c;
  rp__buf_str(&sql, "INSERT INTO session_states (");
  for (c = rp__cortex_columns; c->name; c++) rp__buf_printf(&sql, "%s%s", c == rp__cortex_columns ? "" : ", ", c->name);
  rp__buf_str(&sql, ") VALUES (");
  for (c = rp__cortex_columns; c->name; c++) rp__buf_str(&sql, c == rp__cortex_columns ? "?" : ", ?");
  rp__buf_char(&sql, ')');
  if (sql.err) return rp__fail_nomem(err);
  int rc = sqlite3_prepare_v2(db, sql.p, -1, &st, NULL);
  if (rc == SQLITE_OK) rc = bind_record(st, record, now_ms);
  if (rc == SQLITE_OK) rc = sqlite3_step(st);
  int extended = sqlite3_extended_errcode(db);
  sqlite3_finalize(st);
  if (rc == SQLITE_DONE) return 0;
  if (extended == SQLITE_CONSTRAINT_PRIMARYKEY || extended == SQLITE_CONSTRAINT_UNIQUE) {
    rp__fail(err, RP_E_EXISTS, "the database has a record of that session already");
    rp__hint(err, "rows that are there are never changed; remove it yourself to have it written anew");
    return RP_E_EXISTS;
  }
  return rp__cortex_db_error(db, rc, err);
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
  if (opened != SQLITE_OK) rc = rp__cortex_db_error(db, opened, err);
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
