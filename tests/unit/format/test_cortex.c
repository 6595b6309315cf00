/* SPDX-License-Identifier: Apache-2.0 */
/* brain.db is read without being touched, and written to by one row; <id>.json both ways. */
#include "format_test.h"

#include <sqlite3.h>
#include <sys/stat.h>

#include "lib/scratch.h"

static struct book b;
static rp_error err;
static struct scratch scratch;

static const char record[] =
    "{\"session_id\":\"c-1\",\"start_time\":\"2026-01-02T03:04:05.000Z\",\"end_time\":\"2026-01-02T04:04:05.000Z\","
    "\"channel\":\"signal\",\"working_memory\":[{\"label\":\"goal\",\"content\":\"ship CRITICAL\",\"pinned_at\":"
    "\"2026-01-02T03:10:00.000Z\"},{\"content\":\"no label\"}],\"hot_topics\":[\"ham radio\",\"ft991a\"],"
    "\"active_projects\":[\"lbf-ham-radio\"],\"pending_tasks\":[{\"task_id\":\"task-7\",\"title\":\"Wire "
    "it\",\"stage\":"
    "\"build\",\"flagged_incomplete\":true}],\"recent_learnings\":[\"stm_1\",{\"memory_id\":\"stm_2\",\"content\":"
    "\"tubes are hot\",\"confidence\":0.9}],\"confidence_updates\":[{\"memory_id\":\"stm_1\",\"old_score\":0.5,"
    "\"new_score\":0.7,\"reason\":\"validated\",\"timestamp\":\"2026-01-02T03:20:00.000Z\"},{\"memory_id\":\"bad\"}],"
    "\"sop_interactions\":[{\"sop_path\":\"/sop/a\",\"injected_at\":\"2026-01-02T03:30:00.000Z\",\"acknowledged\":true,"
    "\"tool_call\":\"exec\"}],\"previous_session_id\":\"c-0\",\"continued_by\":null,\"crash_recovered\":false,"
    "\"schema_version\":1}";

static void a_record_is_taken(void **state)
{
  (void)state;
  assert_int_equal(book_import(&b, NULL, record, sizeof record - 1, &err), 0);
  const struct rp__foreign *f = &b.session[0];
  assert_string_equal(f->id, "c-1");
  assert_string_equal(f->channel, "signal");
  assert_string_equal(f->previous_id, "c-0");
  assert_int_equal(f->ended_at - f->created_at, 3600000);
  assert_false(f->crashed);
  assert_int_equal(book_count(&b, 0, "pin"), 2);
  HAS(book_find(&b, 0, "pin", 1), "\"label\":\"pin 2\"");
  HAS(book_find(&b, 0, "activity", 0), "[\"ham radio\",\"ft991a\"]");
  HAS(book_find(&b, 0, "project", 0), "lbf-ham-radio");
  HAS(book_find(&b, 0, "task", 0), "\"stage\":\"build\"");
  assert_int_equal(book_count(&b, 0, "learning"), 1);
  HAS(book_find(&b, 0, "x-cortex-learning", 0), "stm_1");
  assert_int_equal(book_count(&b, 0, "confidence"), 1);
  assert_int_equal(book_count(&b, 0, "sop"), 1);
  HAS(b.notes, "1 of its parts were left out");
  book_clear(&b);
}

static void a_record_goes_out_as_it_came(void **state)
{
  (void)state;
  struct rp__buf out RP_AUTOBUF = RP_BUF(1 << 20);
  assert_int_equal(book_import(&b, NULL, record, sizeof record - 1, &err), 0);
  assert_int_equal(book_export(&b, 0, "cortex", &out, &err), 0);
  struct rp__json doc;
  assert_int_equal(rp__json_parse(out.p, out.n, NULL, &doc, &err), 0);
  static const char *const members[] = {
      "session_id",       "start_time",          "end_time",      "channel",          "working_memory",
      "hot_topics",       "active_projects",     "pending_tasks", "recent_learnings", "confidence_updates",
      "sop_interactions", "previous_session_id", "continued_by",  "crash_recovered",  "schema_version"};
  for (size_t i = 0; i < RP_ARRAY_SIZE(members); i++) assert_true(rp__json_get(doc, members[i]).type != RP_JSON_NONE);
  HAS(out.p, "\"label\": \"goal\"");
  HAS(out.p, "\"ham radio\"");
  HAS(out.p, "\"task_id\": \"task-7\"");
  HAS(out.p, "\"end_time\": \"2026-01-02T04:04:05.000Z\"");
  book_clear(&b);
  assert_int_equal(book_import(&b, NULL, out.p, out.n, &err), 0);
  assert_string_equal(b.session[0].previous_id, "c-0");
  book_clear(&b);
}

static void newer_records_are_refused(void **state)
{
  (void)state;
  static const char newer[] = "{\"session_id\":\"a\",\"working_memory\":[],\"schema_version\":2}";
  assert_int_equal(book_import(&b, NULL, newer, sizeof newer - 1, &err), RP_E_FORMAT_VERSION);
  assert_int_equal(b.n_sessions, 0);
}

/* ---- brain.db ---- */

static const char brain[] =
    "CREATE TABLE messages (id TEXT PRIMARY KEY, body TEXT); INSERT INTO messages VALUES ('m1', 'hello');"
    "CREATE TABLE stm (id TEXT PRIMARY KEY, content TEXT, categories TEXT, importance REAL DEFAULT 1.0, access_count "
    "INTEGER, created_at TEXT, updated_at TEXT, expires_at TEXT, source TEXT, source_message_id TEXT);"
    "INSERT INTO stm (id, content, categories, created_at) VALUES ('stm_aaa', 'tubes are hot', '[\"radio\"]', "
    "'2026-01-01T10:00:00.123456'), ('stm_bbb', 'coffee is not', 'not json', '2026-01-02 11:00:00');"
    "CREATE TABLE session_states (id TEXT PRIMARY KEY, start_time TEXT NOT NULL, end_time TEXT, channel TEXT DEFAULT "
    "'unknown', working_memory TEXT NOT NULL DEFAULT '[]', hot_topics TEXT NOT NULL DEFAULT '[]', active_projects TEXT "
    "NOT NULL DEFAULT '[]', pending_tasks TEXT NOT NULL DEFAULT '[]', recent_learnings TEXT NOT NULL DEFAULT '[]', "
    "confidence_updates TEXT NOT NULL DEFAULT '[]', sop_interactions TEXT NOT NULL DEFAULT '[]', previous_session_id "
    "TEXT, continued_by TEXT, crash_recovered INTEGER DEFAULT 0, schema_version INTEGER DEFAULT 1, created_at TEXT NOT "
    "NULL, updated_at TEXT);"
    "INSERT INTO session_states (id, start_time, end_time, channel, working_memory, recent_learnings, created_at) "
    "VALUES ('one', '2026-01-01T09:00:00', '2026-01-01T12:00:00', 'cli', '[{\"label\":\"a\",\"content\":\"b\"}]', "
    "'[\"stm_aaa\",\"stm_gone\"]', '2026-01-01T09:00:00');"
    "INSERT INTO session_states (id, start_time, created_at, updated_at, previous_session_id) VALUES ('two', "
    "'2026-01-02T09:00:00', 'x', '2026-01-02T09:30:00', 'one');"
    "INSERT INTO session_states (id, start_time, end_time, working_memory, created_at) VALUES ('three', "
    "'2026-01-03T09:00:00', '2026-01-03T10:00:00', '[{\"label\":', 'x');";

static void make_brain(const char *path, const char *more)
{
  sqlite3 *db;
  assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
  assert_int_equal(sqlite3_exec(db, brain, NULL, NULL, NULL), SQLITE_OK);
  assert_int_equal(sqlite3_exec(db, more, NULL, NULL, NULL), SQLITE_OK);
  sqlite3_close(db);
}

static int on_row(void *ctx, int n, char **values, char **names)
{
  (void)names;
  for (int i = 0; i < n; i++) rp__buf_printf(ctx, "%s|", values[i] ? values[i] : "NULL");
  rp__buf_char(ctx, '\n');
  return 0;
}

/* Schema and rows of everything but what `but` names. */
static char *dump(const char *path, const char *but)
{
  sqlite3 *db;
  struct rp__buf out = RP_BUF(1 << 20);
  char sql[300];
  assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
  snprintf(sql, sizeof sql, "SELECT * FROM session_states WHERE id IS NOT '%s' ORDER BY id", but);
  static const char *const fixed[] = {"SELECT type, name, sql FROM sqlite_schema ORDER BY name",
                                      "SELECT * FROM messages ORDER BY id", "SELECT * FROM stm ORDER BY id"};
  for (size_t i = 0; i < RP_ARRAY_SIZE(fixed); i++)
    assert_int_equal(sqlite3_exec(db, fixed[i], on_row, &out, NULL), SQLITE_OK);
  assert_int_equal(sqlite3_exec(db, sql, on_row, &out, NULL), SQLITE_OK);
  sqlite3_close(db);
  return rp__buf_take(&out);
}

static int import_path(const char *path)
{
  struct rp__doc d = {.type = RP_DOC_SQLITE, .path = path};
  struct rp__taker t = book_taker(&b);
  return rp__format_cortex.import(&d, &t, &err);
}

static void a_brain_is_read_and_left_alone(void **state)
{
  (void)state;
  char path[SCRATCH_PATH];
  scratch_path(&scratch, "read.db", path);
  make_brain(path, "PRAGMA journal_mode=WAL;");
  char *before RP_AUTOFREE = dump(path, "");
  assert_int_equal(import_path(path), 0);
  char *after RP_AUTOFREE = dump(path, "");
  assert_string_equal(before, after);
  assert_int_equal(b.n_sessions, 3); /* two sessions, and the memories */
  assert_string_equal(b.session[2].name, "cortex stm");
  assert_int_equal(book_count(&b, 2, "learning"), 2);
  HAS(book_find(&b, 2, "learning", 0), "\"categories\":[\"radio\"]");
  HAS_NOT(book_find(&b, 2, "learning", 0), "confidence");
  HAS_NOT(book_find(&b, 2, "learning", 1), "categories");
  assert_string_equal(b.session[0].id, "one");
  HAS(book_find(&b, 0, "learning", 0), "tubes are hot");
  HAS(book_find(&b, 0, "x-cortex-learning", 0), "stm_gone");
  assert_string_equal(b.session[1].id, "two");
  assert_true(b.session[1].crashed);
  assert_int_equal(b.session[1].ended_at - b.session[1].created_at, 1800000);
  assert_string_equal(b.failed, "three: a column of its row is damaged");
  char id[RP_ID_MAX + 1];
  snprintf(id, sizeof id, "%s", b.session[2].id);
  book_clear(&b);
  /* The same memories are the same session; others are not. */
  assert_int_equal(import_path(path), 0);
  assert_string_equal(b.session[2].id, id);
  book_clear(&b);
}

static void confidence_is_taken_where_there_is_one(void **state)
{
  (void)state;
  char path[SCRATCH_PATH];
  scratch_path(&scratch, "confidence.db", path);
  make_brain(path, "ALTER TABLE stm ADD COLUMN confidence REAL; UPDATE stm SET confidence = 0.25;");
  assert_int_equal(import_path(path), 0);
  HAS(book_find(&b, 0, "learning", 0), "\"confidence\":0.25");
  book_clear(&b);
  /* What no event may say is brought into its range, so that the memory is not lost. */
  scratch_path(&scratch, "over.db", path);
  make_brain(path, "ALTER TABLE stm ADD COLUMN confidence REAL; UPDATE stm SET confidence = 7;");
  assert_int_equal(import_path(path), 0);
  HAS(book_find(&b, 0, "learning", 0), "\"confidence\":1.0");
  book_clear(&b);
}

static int put(const char *path)
{
  struct rp__giver g;
  int rc = book_giver(&b, 0, &g, &err);
  return rc ? rc : rp__format_cortex.put(&g, path, &err);
}

static void one_row_more_and_nothing_else(void **state)
{
  (void)state;
  char path[SCRATCH_PATH];
  scratch_path(&scratch, "write.db", path);
  make_brain(path, "CREATE INDEX theirs ON session_states(channel);");
  char *before RP_AUTOFREE = dump(path, "c-1");
  assert_int_equal(book_import(&b, NULL, record, sizeof record - 1, &err), 0);
  assert_int_equal(put(path), 0);
  char *after RP_AUTOFREE = dump(path, "c-1"), *all RP_AUTOFREE = dump(path, "");
  assert_string_equal(before, after);
  HAS(all, "c-1|2026-01-02T03:04:05.000Z|2026-01-02T04:04:05.000Z|signal|[{\"label\":\"goal\"");
  /* A row that is there stays as it is. */
  assert_int_equal(put(path), RP_E_EXISTS);
  char *again RP_AUTOFREE = dump(path, "");
  assert_string_equal(all, again);
  book_clear(&b);
  /* What was written can be read. */
  assert_int_equal(import_path(path), 0);
  HAS(b.failed, "three");
  size_t found = 0;
  for (size_t i = 0; i < b.n_sessions; i++) found += strcmp(b.session[i].id, "c-1") == 0;
  assert_int_equal(found, 1);
  book_clear(&b);
}

static void the_table_is_made_or_refused(void **state)
{
  (void)state;
  char path[SCRATCH_PATH];
  sqlite3 *db;
  assert_int_equal(book_import(&b, NULL, record, sizeof record - 1, &err), 0);
  scratch_path(&scratch, "new.db", path);
  assert_int_equal(put(path), 0);
  scratch_path(&scratch, "other.db", path);
  assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
  assert_int_equal(sqlite3_exec(db, "CREATE TABLE session_states (id TEXT, other INTEGER)", NULL, NULL, NULL), 0);
  sqlite3_close(db);
  assert_int_equal(put(path), RP_E_FORMAT_VERSION);
  HAS(err.message, "start_time");
  book_clear(&b);
}

static void other_databases_are_refused(void **state)
{
  (void)state;
  char path[SCRATCH_PATH];
  sqlite3 *db;
  scratch_path(&scratch, "foreign.db", path);
  assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
  /* A view of that name is no table, whatever it would do. */
  assert_int_equal(sqlite3_exec(db,
                                "CREATE TABLE t (a); CREATE VIEW session_states AS WITH RECURSIVE r(id) AS (SELECT 1 "
                                "UNION ALL SELECT id + 1 FROM r) SELECT id FROM r;",
                                NULL, NULL, NULL),
                   0);
  sqlite3_close(db);
  assert_int_equal(import_path(path), RP_E_FORMAT);
  HAS(err.message, "brain.db");
  assert_int_equal(b.n_sessions, 0);
}

static void damaged_databases_are_refused(void **state)
{
  (void)state;
  char path[SCRATCH_PATH];
  scratch_path(&scratch, "damaged.db", path);
  make_brain(path, "");
  FILE *f = fopen(path, "r+");
  assert_non_null(f);
  fseek(f, 100, SEEK_SET);
  for (int i = 0; i < 3000; i++) fputc(0xff, f);
  fclose(f);
  assert_int_equal(import_path(path), RP_E_FORMAT_CORRUPT);
  book_clear(&b);
}

static int setup(void **state)
{
  (void)state;
  return scratch_make_fast(&scratch);
}

static int teardown(void **state)
{
  (void)state;
  scratch_remove(&scratch);
  return 0;
}

/* What is left out is named by its place in the record. */
static void parts_that_make_no_sense_are_named(void **state)
{
  (void)state;
  static const char bad[] =
      "{\"session_id\":\"x\",\"start_time\":\"yesterday\",\"end_time\":\"2026-11-10T04:04:05Z\","
      "\"working_memory\":[{\"label\":\"a\",\"content\":\"b\"},{\"label\":\"c\"}],\"pending_tasks\":"
      "\"none\",\"confidence_updates\":[7]}";
  assert_int_equal(book_import(&b, "cortex", bad, sizeof bad - 1, &err), 0);
  HAS(b.notes, "its 'start_time' is no time");
  HAS(b.notes, "3 of its parts were left out (the first: working_memory[1].content is missing)");
  book_clear(&b);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(parts_that_make_no_sense_are_named), cmocka_unit_test(a_record_is_taken),
      cmocka_unit_test(a_record_goes_out_as_it_came),       cmocka_unit_test(newer_records_are_refused),
      cmocka_unit_test(a_brain_is_read_and_left_alone),     cmocka_unit_test(confidence_is_taken_where_there_is_one),
      cmocka_unit_test(one_row_more_and_nothing_else),      cmocka_unit_test(the_table_is_made_or_refused),
      cmocka_unit_test(other_databases_are_refused),        cmocka_unit_test(damaged_databases_are_refused),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
