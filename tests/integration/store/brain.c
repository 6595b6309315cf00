/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sessions live inside somebody else's database, OpenClaw's brain.db, for weeks: whatever happens there,
 * its own tables and rows stay as they were to the byte. A session_states of another shape is refused, untouched.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "base/buf.h"
#include "lib/rig.h"
#include "lib/scratch.h"

#define DAY ((int64_t)24 * 3600 * 1000)

#define OK(call, err)                                                                                                  \
  do {                                                                                                                 \
    if ((call) != 0) fail_msg("%s: %s", #call, rig_why(&(err)));                                                       \
  } while (0)

/* The tables a brain.db really has, and some life in them. */
static const char brain_sql[] =
    "PRAGMA journal_mode=WAL; PRAGMA foreign_keys=ON;"
    "CREATE TABLE threads (id TEXT PRIMARY KEY, subject TEXT, created_at TEXT);"
    "CREATE TABLE messages (id TEXT PRIMARY KEY, thread_id TEXT REFERENCES threads(id), from_agent TEXT, body TEXT);"
    "CREATE TABLE read_receipts (message_id TEXT, agent TEXT, PRIMARY KEY (message_id, agent));"
    "CREATE TABLE stm (id TEXT PRIMARY KEY, content TEXT NOT NULL, categories TEXT, importance REAL DEFAULT 1.0,"
    " access_count INTEGER DEFAULT 0, created_at TEXT, updated_at TEXT, expires_at TEXT, source TEXT,"
    " source_message_id TEXT);"
    "CREATE INDEX idx_stm_created ON stm (created_at);"
    "CREATE TABLE atoms (id INTEGER PRIMARY KEY AUTOINCREMENT, subject TEXT, action TEXT, outcome TEXT);"
    "CREATE TABLE causal_links (a INTEGER, b INTEGER, strength REAL);"
    "CREATE TABLE embeddings (id TEXT PRIMARY KEY, vector BLOB);"
    "CREATE VIRTUAL TABLE stm_fts USING fts5(content, content='');"
    "CREATE TABLE todos (id TEXT PRIMARY KEY, title TEXT, done INTEGER);"
    "CREATE TABLE working_memory (id INTEGER PRIMARY KEY, content TEXT);"
    "CREATE TABLE categories (name TEXT PRIMARY KEY, keywords TEXT);"
    "CREATE TRIGGER stm_touch AFTER UPDATE ON stm BEGIN UPDATE stm SET access_count = access_count + 1 WHERE id = "
    "new.id;"
    " END;"
    "CREATE VIEW recent AS SELECT * FROM stm ORDER BY created_at DESC LIMIT 10;"
    "INSERT INTO threads VALUES ('t1', 'radio', '2026-01-01T00:00:00');"
    "INSERT INTO messages VALUES ('m1', 't1', 'helios', 'the antenna''s up');"
    "INSERT INTO stm (id, content, categories, created_at) VALUES"
    " ('stm_0123456789ab', 'The radio is blue', '[\"general\"]', '2026-01-01T10:00:00'),"
    " ('stm_ba9876543210', 'Größe: 3 µm', '[\"x\",\"y\"]', '2026-01-02T10:00:00');"
    "INSERT INTO atoms (subject) VALUES ('a'), ('b'); DELETE FROM atoms WHERE subject = 'b';"
    "INSERT INTO embeddings VALUES ('stm_0123456789ab', x'00ff10');"
    "INSERT INTO stm_fts (rowid, content) VALUES (1, 'The radio is blue');"
    "INSERT INTO todos VALUES ('todo-1', 'tune', 0);"
    "INSERT INTO categories VALUES ('general', '[]');"
    "PRAGMA user_version = 7; PRAGMA application_id = 4242;";

static const char states_sql[] =
    "CREATE TABLE session_states (id TEXT PRIMARY KEY, start_time TEXT NOT NULL, end_time TEXT,"
    " channel TEXT DEFAULT 'unknown', working_memory TEXT NOT NULL DEFAULT '[]', hot_topics TEXT NOT NULL DEFAULT '[]',"
    " active_projects TEXT NOT NULL DEFAULT '[]', pending_tasks TEXT NOT NULL DEFAULT '[]',"
    " recent_learnings TEXT NOT NULL DEFAULT '[]', confidence_updates TEXT NOT NULL DEFAULT '[]',"
    " sop_interactions TEXT NOT NULL DEFAULT '[]', previous_session_id TEXT, continued_by TEXT,"
    " crash_recovered INTEGER DEFAULT 0, schema_version INTEGER DEFAULT 1, created_at TEXT NOT NULL, updated_at TEXT);"
    "CREATE INDEX idx_session_endtime ON session_states (end_time, start_time);"
    "INSERT INTO session_states (id, start_time, end_time, channel, working_memory, created_at) VALUES"
    " ('cortex-1', '2025-01-01T00:00:00.000Z', '2025-01-01T01:00:00.000Z', 'slack',"
    "  '[{\"label\":\"theirs\",\"content\":\"CRITICAL theirs\"}]', '2025-01-01T00:00:00'),"
    " ('cortex-2', '2026-02-01T00:00:00.000Z', NULL, 'cli', 'not json at all', '2026-02-01T00:00:00');";

struct room {
  struct scratch dir;
  char path[SCRATCH_PATH], url[RIG_URL];
  int64_t now;
};

static int64_t room_wall(void *ctx)
{
  return ((struct room *)ctx)->now;
}

static int64_t no_boot(void *ctx)
{
  (void)ctx;
  return 0;
}

static int enter(void **state)
{
  struct room *room = calloc(1, sizeof(*room));
  if (!room || scratch_make(&room->dir) != 0) return -1;
  rig_url(scratch_path(&room->dir, "brain.db", room->path), room->url);
  room->now = 1800000000000;
  *state = room;
  return 0;
}

static int leave(void **state)
{
  struct room *room = *state;
  scratch_remove(&room->dir);
  free(room);
  return 0;
}

static void sql(const struct room *room, const char *text)
{
  sqlite3 *db;
  char *why = NULL;
  assert_int_equal(sqlite3_open(room->path, &db), SQLITE_OK);
  if (sqlite3_exec(db, text, NULL, NULL, &why) != SQLITE_OK) fail_msg("%.60s: %s", text, why);
  sqlite3_close(db);
}

/* ---- everything that is not ours, as text ---- */

static void dump_rows(sqlite3 *db, const char *query, struct rp__buf *out)
{
  sqlite3_stmt *q;
  if (sqlite3_prepare_v2(db, query, -1, &q, NULL) != SQLITE_OK) fail_msg("%s: %s", query, sqlite3_errmsg(db));
  while (sqlite3_step(q) == SQLITE_ROW) {
    for (int i = 0; i < sqlite3_column_count(q); i++) {
      const unsigned char *bytes = sqlite3_column_blob(q, i);
      int type = sqlite3_column_type(q, i), n = sqlite3_column_bytes(q, i);
      rp__buf_printf(out, "|%d:", type);
      for (int k = 0; bytes && k < n; k++) rp__buf_printf(out, type == SQLITE_BLOB ? "%02x" : "%c", bytes[k]);
    }
    rp__buf_char(out, '\n');
  }
  sqlite3_finalize(q);
}

static char *dump(const struct room *room)
{
  static const char tables[] =
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'rp\\_%' ESCAPE '\\'"
      " AND name NOT LIKE 'sqlite_stat%' AND sql NOT LIKE '%fts5%' ORDER BY name";
  struct rp__buf out = RP_BUF(1 << 22);
  sqlite3 *db;
  sqlite3_stmt *q;
  char text[256];
  assert_int_equal(sqlite3_open(room->path, &db), SQLITE_OK);
  dump_rows(db,
            "SELECT type, name, tbl_name, sql FROM sqlite_schema WHERE name NOT LIKE 'rp\\_%' ESCAPE '\\'"
            " AND tbl_name NOT LIKE 'rp\\_%' ESCAPE '\\' AND name <> 'agent_session_states' ORDER BY name",
            &out);
  dump_rows(db,
            "SELECT (SELECT user_version FROM pragma_user_version), (SELECT application_id FROM pragma_application_id)",
            &out);
  assert_int_equal(sqlite3_prepare_v2(db, tables, -1, &q, NULL), SQLITE_OK);
  while (sqlite3_step(q) == SQLITE_ROW) {
    const char *name = (const char *)sqlite3_column_text(q, 0);
    rp__buf_printf(&out, "== %s\n", name);
    snprintf(text, sizeof(text), "SELECT * FROM \"%s\"%s ORDER BY 1, 2", name,
             strcmp(name, "session_states") == 0 ? " WHERE id LIKE 'cortex-%'" : "");
    dump_rows(db, text, &out);
  }
  sqlite3_finalize(q);
  sqlite3_close(db);
  assert_int_equal(out.err, 0);
  return rp__buf_take(&out);
}

static void assert_untouched(const struct room *room, const char *before)
{
  char *after = dump(room);
  size_t i = 0;
  while (before[i] && before[i] == after[i]) i++;
  if (before[i] || after[i]) fail_msg("differs: was '%.200s', is '%.200s'", before + i, after + i);
  free(after);
}

/* ---- a life in it ---- */

static rp_engine *open_engine(struct room *room)
{
  rp_clock clock = {room_wall, no_boot, room};
  rp_options o = {.db = room->url, .clock = &clock, .short_lived = true};
  rp_error err = {0};
  rp_engine *e;
  OK(rp_open(&o, &e, &err), err);
  return e;
}

static rp_session *begin(rp_engine *e, const char *id)
{
  rp_start_options o = {.scope = "coder", .id = id, .owner = RP_OWNER_SELF, .topics = "radio"};
  rp_error err = {0};
  rp_session *s;
  OK(rp_start(e, &o, &s, &err), err);
  return s;
}

static void put(rp_session *s, const char *kind, const char *body)
{
  rp_error err = {0};
  rp_event ev = {.kind = kind, .body = body};
  OK(rp_append(s, &ev, NULL, NULL, &err), err);
}

static void finish(rp_session *s)
{
  rp_error err = {0};
  OK(rp_end(s, NULL, &err), err);
  rp_session_free(s);
}

/* Everything a user can do, from the first start to retention; ids of theirs are taken, too. */
static void live(struct room *room, const char *before)
{
  rp_error err = {0};
  rp_engine *e = open_engine(room);
  rp_session *s = begin(e, "one");
  put(s, "pin", "{\"label\":\"ours\",\"content\":\"CRITICAL ours, horse battery staple\"}");
  put(s, "task", "{\"task_id\":\"task-1\",\"title\":\"Radio\",\"stage\":\"build\"}");
  OK(rp_remember(s, "The radio is green", 0.9, "general", NULL, &err), err);
  finish(s);
  assert_untouched(room, before);
  room->now += DAY;
  s = begin(e, "cortex-1"); /* its record has no place in the table: theirs is there */
  if (!strstr(rp_start_json(s), "\"pins\":1,\"tasks\":1,\"memories\":1"))
    fail_msg("nothing came back: %s", rp_start_json(s));
  if (strstr(rp_start_json(s), "theirs")) fail_msg("theirs came back: %s", rp_start_json(s));
  finish(s);
  s = begin(e, NULL);
  rp_session_free(s); /* a crash */
  room->now += DAY;
  s = begin(e, "two");
  OK(rp_continue(s, "one", "me", NULL, &err), err);
  finish(s);
  rp_close(e);
  e = open_engine(room);
  OK(rp_redact_session(e, "one", "horse battery staple", false, NULL, NULL, NULL, &err), err);
  assert_untouched(room, before);
  room->now += 40 * DAY;
  OK(rp_gc(e, &(rp_gc_options){.older_than_ms = DAY}, NULL, NULL, NULL, NULL, NULL, &err), err);
  room->now += 10 * DAY;
  OK(rp_gc(e, &(rp_gc_options){0}, NULL, NULL, NULL, NULL, NULL, &err), err); /* for good */
  OK(rp_verify(e, NULL, true, NULL, NULL, NULL, NULL, &err), err);
  OK(rp_audit_verify(e, NULL, NULL, NULL, &err), err);
  s = begin(e, "three");
  finish(s);
  rp_close(e);
  assert_untouched(room, before);
}

static void test_with_states(void **state)
{
  struct room *room = *state;
  sql(room, brain_sql);
  sql(room, states_sql);
  char *before = dump(room);
  assert_non_null(strstr(before, "not json at all"));
  assert_non_null(strstr(before, "stm_0123456789ab"));
  live(room, before);
  free(before);
}

static int64_t tables_of_ours(const struct room *room)
{
  sqlite3 *db;
  sqlite3_stmt *q;
  assert_int_equal(sqlite3_open(room->path, &db), SQLITE_OK);
  assert_int_equal(sqlite3_prepare_v2(db,
                                      "SELECT count(*) FROM sqlite_schema WHERE name LIKE 'rp\\_%' ESCAPE '\\'"
                                      " OR name LIKE '%session_states'",
                                      -1, &q, NULL),
                   SQLITE_OK);
  assert_int_equal(sqlite3_step(q), SQLITE_ROW);
  int64_t n = sqlite3_column_int64(q, 0);
  sqlite3_finalize(q);
  sqlite3_close(db);
  return n;
}

/* any other shape is refused with exit 6, and nothing is made. */
static void test_other_shape(void **state)
{
  static const char *const shapes[] = {
      "CREATE TABLE session_states (id TEXT PRIMARY KEY, data TEXT)",
      "CREATE TABLE session_states (id TEXT PRIMARY KEY, start_time TEXT, end_time TEXT, channel TEXT)",
      "CREATE VIEW session_states AS SELECT 1 AS id",
  };
  for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
    struct room *room = *state;
    rp_engine *e;
    rp_error err = {0};
    scratch_empty(&room->dir);
    sql(room, brain_sql);
    sql(room, shapes[i]);
    char *before = dump(room);
    int rc = rig_open(room->url, false, &e, &err);
    assert_int_equal(rc, RP_E_VERSION);
    assert_int_equal(rp_error_lookup(rc)->exit_code, 6);
    assert_int_equal(tables_of_ours(room), 1);
    assert_untouched(room, before);
    free(before);
  }
}

/* Without that table ours is made; the rest stays as it was. */
static void test_without_states(void **state)
{
  struct room *room = *state;
  sql(room, brain_sql);
  char *before = dump(room);
  assert_null(strstr(before, "session_states"));
  rp_engine *e = open_engine(room);
  rp_session *s = begin(e, "one");
  put(s, "pin", "{\"label\":\"ours\",\"content\":\"x\"}");
  finish(s);
  rp_close(e);
  sql(room, "DROP TABLE session_states"); /* what is ours goes, theirs must be what is left */
  assert_untouched(room, before);
  free(before);
}

#define T(name) cmocka_unit_test_setup_teardown(name, enter, leave)

int main(void)
{
  const struct CMUnitTest tests[] = {T(test_with_states), T(test_other_shape), T(test_without_states)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
