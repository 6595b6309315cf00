/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a brain.db: each row of session_states is a session, and the rows of stm are the memories of one further
 * session. The file belongs to another program, so it is opened read-only, its schema is not trusted, and no statement
 * on it runs longer than a bound.
 */
#include <sqlite3.h>
#include <sys/stat.h>

#include "core/seal.h"
#include "format/cortex.h"

#define VALUE_MAX (16 * 1024 * 1024)
#define STEP_OPS 1000000 /* virtual machine steps between two looks */
#define STEPS_MAX 20000  /* looks before a statement is given up */

struct brain {
  sqlite3 *db;
  sqlite3_stmt *memory; /* finds one by id */
  bool confidence;      /* stm has the column */
  int steps;
  struct rp__take t;
};

int rp__cortex_db_error(sqlite3 *db, int rc, rp_error *err)
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

int rp__cortex_db_has(sqlite3 *db, const char *table, const char *column, bool *ret, rp_error *err)
{
  static const char sql[] = "SELECT 1 FROM sqlite_schema AS s, pragma_table_info(s.name) AS c WHERE s.type = 'table' "
                            "AND s.name = ?1 AND (?2 IS NULL OR c.name = ?2) LIMIT 1";
  sqlite3_stmt *st = NULL;
  int rc = sqlite3_prepare_v2(db, sql, -1, &st, NULL);
  if (rc == SQLITE_OK) rc = sqlite3_bind_text(st, 1, table, -1, SQLITE_STATIC);
  if (rc == SQLITE_OK && column) rc = sqlite3_bind_text(st, 2, column, -1, SQLITE_STATIC);
  if (rc == SQLITE_OK) rc = sqlite3_step(st);
  if (rc == SQLITE_ROW || rc == SQLITE_DONE)
    *ret = rc == SQLITE_ROW;
  else
    rp__cortex_db_error(db, rc, err);
  bool ok = rc == SQLITE_ROW || rc == SQLITE_DONE;
  sqlite3_finalize(st);
  return ok ? 0 : err ? err->code : RP_E_IO;
}

/* ---- opening ---- */

static int give_up(void *ctx)
{
  struct brain *b = ctx;
  return ++b->steps > STEPS_MAX;
}

/* "file:PATH?immutable=1": for a folder that can't be written to, where no log can be made. */
static char *immutable_uri(const char *path)
{
  struct rp__buf uri = RP_BUF(65536);
  rp__buf_str(&uri, "file:");
  for (const char *p = path; *p; p++) {
    if (strchr("%?#", *p))
      rp__buf_printf(&uri, "%%%02X", (unsigned)(unsigned char)*p);
    else
      rp__buf_char(&uri, *p);
  }
  rp__buf_str(&uri, "?immutable=1");
  char *text = rp__buf_take(&uri);
  rp__buf_done(&uri);
  return text;
}

static bool has_log(const char *path)
{
  struct stat st;
  struct rp__buf log RP_AUTOBUF = RP_BUF(65536);
  rp__buf_printf(&log, "%s-wal", path);
  return log.err || (stat(log.p, &st) == 0 && st.st_size > 0);
}

static int open_file(struct brain *b, const char *path)
{
  int rc = sqlite3_open_v2(path, &b->db, SQLITE_OPEN_READONLY, NULL);
  if (rc == SQLITE_OK) rc = sqlite3_exec(b->db, "SELECT 1 FROM sqlite_schema LIMIT 1", NULL, NULL, NULL);
  if ((rc & 0xff) != SQLITE_CANTOPEN || has_log(path)) return rc;
  char *uri RP_AUTOFREE = immutable_uri(path);
  if (!uri) return SQLITE_NOMEM;
  sqlite3_close(b->db);
  b->db = NULL;
  return sqlite3_open_v2(uri, &b->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, NULL);
}

static int open_bytes(struct brain *b, struct rp__str bytes)
{
  int rc = sqlite3_open_v2(":memory:", &b->db, SQLITE_OPEN_READWRITE, NULL);
  if (rc != SQLITE_OK) return rc;
  /* SQLite does not write to what it was given read-only. */
  return sqlite3_deserialize(b->db, "main", (unsigned char *)(uintptr_t)bytes.p, (sqlite3_int64)bytes.n,
                             (sqlite3_int64)bytes.n, SQLITE_DESERIALIZE_READONLY);
}

static int brain_open(struct brain *b, const struct rp__doc *d, rp_error *err)
{
  int rc = d->path ? open_file(b, d->path) : open_bytes(b, d->bytes);
  if (rc != SQLITE_OK) return rp__cortex_db_error(b->db, rc, err);
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
  if (list && rp__json_parse(list, n, NULL, &categories, NULL) == 0 && categories.type == RP_JSON_ARRAY) {
    rp__jw_key(w, "categories");
    rp__jw_value(w, categories);
  }
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
  if (rc != SQLITE_ROW) return rp__cortex_db_error(b->db, rc, b->t.err);
  *ret_at = write_memory(w, b->memory);
  return 1;
}

static int prepare_memories(struct brain *b, const char *tail, sqlite3_stmt **ret, rp_error *err)
{
  char sql[200];
  snprintf(sql, sizeof sql, "SELECT id, content, categories, created_at, %s FROM stm %s",
           b->confidence ? "confidence" : "NULL", tail);
  int rc = sqlite3_prepare_v2(b->db, sql, -1, ret, NULL);
  return rc == SQLITE_OK ? 0 : rp__cortex_db_error(b->db, rc, err);
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
  if (!rc && step != SQLITE_DONE && step != SQLITE_ROW) rc = rp__cortex_db_error(b->db, step, err);
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
  if (!rc && step != SQLITE_DONE) rc = rp__cortex_db_error(b->db, step, err);
  sqlite3_finalize(st);
  return rc ? rc : rp__take_end(&b->t);
}

/* ---- sessions ---- */

/* A column of JSON goes in as it is; false when it holds none. */
static bool write_json(struct rp__jw *w, const char *name, const char *text, size_t n)
{
  struct rp__json v;
  const struct rp__json_limits limits = {.max_depth = RP_DEPTH_MAX - 2};
  if (n == 0) return true;
  if (rp__json_parse(text, n, &limits, &v, NULL) || v.type != RP_JSON_ARRAY) return false;
  rp__copy_member(w, name, v);
  return true;
}

static bool write_column(struct rp__jw *w, const struct rp__cortex_column *c, sqlite3_stmt *st, int column)
{
  const char *text = (const char *)sqlite3_column_text(st, column);
  if (!text) return true;
  if (strstr(c->type, "'[]'")) return write_json(w, c->name, text, (size_t)sqlite3_column_bytes(st, column));
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
  for (int i = 0; rp__cortex_columns[i].name; i++) whole = write_column(&w, &rp__cortex_columns[i], st, i) && whole;
  rp__jw_end_object(&w);
  if (doc->err == RP_E_TOO_LARGE) return rp__fail(err, RP_E_TOO_LARGE, "a session is over %zu bytes", doc->max);
  if (doc->err) return rp__fail_nomem(err);
  if (!whole) {
    const char *id = (const char *)sqlite3_column_text(st, 0);
    return b->t.to->failed(b->t.to->ctx, id ? id : "", "a column of its row is damaged");
  }
  return rp__cortex_take(&b->t, rp__json_trusted(doc->p, doc->n), m);
}

static int select_sessions(struct brain *b, sqlite3_stmt **ret, rp_error *err)
{
  struct rp__buf sql RP_AUTOBUF = RP_BUF(4096);
  rp__buf_str(&sql, "SELECT ");
  for (int i = 0; rp__cortex_columns[i].name; i++)
    rp__buf_printf(&sql, "%s%s", i ? ", " : "", rp__cortex_columns[i].name);
  rp__buf_str(&sql, " FROM session_states ORDER BY start_time, id");
  if (sql.err) return rp__fail_nomem(err);
  int rc = sqlite3_prepare_v2(b->db, sql.p, -1, ret, NULL);
  return rc == SQLITE_OK ? 0 : rp__cortex_db_error(b->db, rc, err);
}

static int take_sessions(struct brain *b, bool memories, rp_error *err)
{
  struct rp__buf doc RP_AUTOBUF = RP_BUF(RP_FOREIGN_MAX);
  struct rp__cortex_memories m = {find_memory, b};
  sqlite3_stmt *st = NULL;
  int rc = select_sessions(b, &st, err), step = SQLITE_DONE;
  for (int64_t n = 0; !rc && (step = sqlite3_step(st)) == SQLITE_ROW; n++)
    rc = n < RP_FOREIGN_SESSIONS
             ? take_row(b, st, &doc, memories ? &m : NULL, err)
             : rp__fail(err, RP_E_TOO_LARGE, "the database has more than %d sessions", RP_FOREIGN_SESSIONS);
  if (!rc && step != SQLITE_DONE) rc = rp__cortex_db_error(b->db, step, err);
  sqlite3_finalize(st);
  return rc;
}

static int take_brain(struct brain *b, rp_error *err)
{
  bool sessions = false, stm = false;
  int rc = rp__cortex_db_has(b->db, "session_states", "id", &sessions, err);
  if (!rc) rc = rp__cortex_db_has(b->db, "stm", "content", &stm, err);
  if (!rc && !sessions && !stm) return rp__format_refuse(&rp__format_cortex, err);
  if (!rc && stm) rc = rp__cortex_db_has(b->db, "stm", "confidence", &b->confidence, err);
  if (!rc && stm) rc = prepare_memories(b, "WHERE id = ?1", &b->memory, err);
  if (!rc && sessions) rc = take_sessions(b, stm, err); /* first: a memory belongs where it was learned */
  if (!rc && stm) rc = take_memories(b, err);
  return rc;
}

int rp__cortex_db_import(const struct rp__doc *d, const struct rp__taker *to, rp_error *err)
{
  struct brain b = {0};
  rp_error own;
  if (!err) err = &own;
  rp__take_init(&b.t, to, err);
  int rc = brain_open(&b, d, err);
  if (!rc) rc = take_brain(&b, err);
  sqlite3_finalize(b.memory);
  sqlite3_close(b.db);
  rp__take_done(&b.t);
  return rc;
}
