/* SPDX-License-Identifier: Apache-2.0 */
/* a file of an older version is brought up to date, with everything in it. */
#include "store_test.h"

#include "schema_1.h"
#include "schema_2.h"
#include "schema_3.h"

static void event_insert(sqlite3 *db, int64_t seq, const char *text)
{
  char sql[600], body[200];
  snprintf(body, sizeof body, "{\"role\":\"user\",\"content\":\"%s\"}", text);
  snprintf(sql, sizeof sql,
           "INSERT INTO rp_events (session, seq, at, kind, flags, sum, body) VALUES (7, %lld, %lld, 'message', 0, %lld,"
           " '%s')",
           (long long)seq, NOW, (long long)rp__event_sum(seq, NOW, "message", body, strlen(body)), body);
  raw_exec(db, sql);
}

/* A session with a key, two events, a snapshot and an open run, as version 1 stored them. */
static void version_1_make(const char *path)
{
  char sql[2000];
  sqlite3 *db = raw_open(path);
  raw_exec(db, "PRAGMA journal_mode = WAL");
  raw_exec(db, schema_1);
  snprintf(sql, sizeof sql,
           "INSERT INTO rp_meta VALUES ('last_session', 7); INSERT INTO rp_scopes VALUES ('s', 3, 0, NULL);"
           "INSERT INTO rp_sessions VALUES (7, 'old', 's', 'k', 'cli', NULL, %lld, NULL, NULL, NULL, 0, 0, 0, 0, 1,"
           " '{\"video_id\":5}');"
           "INSERT INTO rp_heads VALUES (7, %lld, 1, 1, 2, 1, 1, 10, 20, %lld, 0);"
           "INSERT INTO rp_runs VALUES (1, 7, 1, 'none', 0, 0, 0, 0, NULL, NULL, NULL, 1, 2, 3, 0, NULL, NULL, NULL);"
           "INSERT INTO rp_snapshots VALUES (1, 7, 1, 1, 1, 3, 3, 0, 'manual', x'616263')",
           NOW, (long long)rp__sq_tag("old"), NOW);
  raw_exec(db, sql);
  event_insert(db, 1, "needle one");
  event_insert(db, 2, "needle two");
  sqlite3_close(db);
}

static int event_count(void *ctx, const struct rp__event_row *row)
{
  assert_false(row->damaged);
  ++*(int *)ctx;
  return 0;
}

static int no_finding(void *ctx, const rp_finding *f)
{
  (void)ctx;
  fail_msg("%s", f->what);
  return 1;
}

/* N-18: how a run of that time began was not noted, and nobody makes it up. */
static int run_of_old(void *ctx, const struct rp__run_row *run)
{
  ++*(int *)ctx;
  assert_string_equal(run->session_id, "old");
  assert_int_equal(run->restart, RP_RESTART_NONE);
  assert_int_equal(run->previous_cause, RP_CAUSE_NONE);
  assert_true(run->elapsed == 0 && run->start_number == 0);
  return 0;
}

static void version_1_is_brought_up_to_date(void **state)
{
  struct box *b = *state;
  struct rp__session_row row;
  struct rp__store_stats stats;
  int64_t seq, ref;
  int n = 0;
  scratch_path(&b->dir, "old.db", b->path);
  version_1_make(b->path);
  struct rp__store_options o = {.path = b->path, .read_only = true};
  struct rp__store *reader;
  assert_int_equal(rp__store_sqlite_open(&o, &reader, &b->err), RP_E_VERSION);
  assert_int_equal(raw_int(b->path, "SELECT value FROM rp_meta WHERE name = 'schema_version'"), 1);

  box_open(b);
  assert_int_equal(raw_int(b->path, "SELECT value FROM rp_meta WHERE name = 'schema_version'"), RP_SQ_SCHEMA);
  assert_int_equal(b->s->ops->session_find(b->s, RP_FIND_KEY, "s", "k", &row, &b->err), 0);
  assert_string_equal(row.id, "old");
  assert_int_equal(row.ref, 7);
  assert_int_equal(row.trashed_at + row.held_at, 0);
  assert_string_equal(row.meta, "{\"video_id\":5}");
  rp__session_row_done(&row);
  struct rp__event_range all = {.session_ref = 7, .session_id = "old"};
  assert_int_equal(b->s->ops->event_list(b->s, &all, event_count, &n, &b->err), 0);
  assert_int_equal(n, 2);
  assert_int_equal(hits_in(b->s, "needle"), 2);
  struct rp__run_filter runs = {.scope = "s"};
  assert_int_equal(b->s->ops->run_list(b->s, &runs, run_of_old, &n, &b->err), 0);
  assert_int_equal(n, 3);
  assert_int_equal(b->s->ops->stats(b->s, &stats, &b->err), 0);
  assert_int_equal(stats.snapshots + stats.runs_open, 2);
  assert_int_equal(stats.records + stats.memories + stats.audits + stats.trashed, 0);
  assert_int_equal(stats.schema_version, RP_SQ_SCHEMA);

  assert_int_equal(say_in(b->s, "old", "needle three", RP_OS, &seq, &b->err), 0);
  assert_int_equal(seq, 3);
  assert_int_equal(put_in(b->s, "new", &ref, &b->err), 0);
  assert_int_equal(ref, 8);
  assert_int_equal(record_in(b->s, "old", "[]", &b->err), 0);
  assert_int_equal(memory_in(b->s, "m", "walnut", &b->err), 0);
  assert_int_equal(raw_int(b->path, "SELECT video_id FROM agent_session_states WHERE id = 'old'"), 5);
  assert_int_equal(b->s->ops->check(b->s, false, no_finding, NULL, &b->err), 0);
}

static int token_count(void *ctx, const struct rp__token_row *row)
{
  assert_string_equal(row->id, "t");
  ++*(int *)ctx;
  return 0;
}

/* Its records and chains are what version 1 had not; it gets a place for tokens, and goes on. */
static void version_2_is_brought_up_to_date(void **state)
{
  struct box *b = *state;
  struct rp__store_stats stats;
  struct rp__token_row token = {.id = "t", .created_at = NOW};
  struct rp__op put = {.type = RP_OP_TOKEN_PUT, .now_ms = NOW, .u.token.row = &token};
  int64_t seq;
  int n = 0;
  scratch_path(&b->dir, "old.db", b->path);
  version_1_make(b->path);
  raw_run(b->path, schema_2);
  raw_run(b->path, "INSERT INTO rp_memories VALUES (1, 's', 'm', NULL, 0.5, 1, 1, 0, 'walnut', NULL);"
                   "INSERT INTO rp_memory_fts (rowid, text) VALUES (1, 'walnut')");
  struct rp__store_options o = {.path = b->path, .read_only = true};
  struct rp__store *reader;
  assert_int_equal(rp__store_sqlite_open(&o, &reader, &b->err), RP_E_VERSION);
  assert_int_equal(raw_int(b->path, "SELECT value FROM rp_meta WHERE name = 'schema_version'"), 2);

  box_open(b);
  assert_int_equal(raw_int(b->path, "SELECT value FROM rp_meta WHERE name = 'schema_version'"), RP_SQ_SCHEMA);
  assert_int_equal(b->s->ops->stats(b->s, &stats, &b->err), 0);
  assert_int_equal(stats.memories, 1);
  assert_int_equal(raw_int(b->path, "SELECT uses + used_at FROM rp_memories"), 0);
  assert_int_equal(stats.schema_version, RP_SQ_SCHEMA);
  assert_int_equal(say_in(b->s, "old", "needle three", RP_OS, &seq, &b->err), 0);
  assert_int_equal(seq, 3);
  assert_int_equal(hits_in(b->s, "needle"), 3);
  /* The view of that version knew nothing of notes. */
  assert_int_equal(raw_int(b->path, "SELECT json_array_length(notes) = 0 FROM agent_session_states WHERE id = 'old'"),
                   1);
  assert_int_equal(commit_as(b->s, &put, RP_OS, &b->err), 0);
  assert_int_equal(b->s->ops->token_list(b->s, NULL, token_count, &n, &b->err), 0);
  assert_int_equal(n, 1);
  assert_int_equal(b->s->ops->check(b->s, false, no_finding, NULL, &b->err), 0);
}

static int blob_count(void *ctx, const struct rp__blob_row *row)
{
  assert_string_equal(row->id, "x");
  ++*(int *)ctx;
  return 0;
}

/* Its tokens stay, and sessions that were there before there were blobs may have some. */
static void version_3_is_brought_up_to_date(void **state)
{
  struct box *b = *state;
  struct rp__store_stats stats;
  struct rp__blob_row blob = {.id = "x", .at_ms = NOW, .raw_size = 3, .size = 3, .data = "abc"};
  struct rp__op put = {.type = RP_OP_BLOB_PUT, .session_id = "old", .now_ms = NOW, .u.blob.row = &blob};
  int n = 0;
  scratch_path(&b->dir, "old.db", b->path);
  version_1_make(b->path);
  raw_run(b->path, schema_2);
  raw_run(b->path, schema_3);
  raw_run(b->path, "INSERT INTO rp_tokens VALUES (1, 't', NULL, NULL, 0, x'00', 1, 0, 0)");
  struct rp__store_options o = {.path = b->path, .read_only = true};
  struct rp__store *reader;
  assert_int_equal(rp__store_sqlite_open(&o, &reader, &b->err), RP_E_VERSION);
  assert_int_equal(raw_int(b->path, "SELECT value FROM rp_meta WHERE name = 'schema_version'"), 3);

  box_open(b);
  assert_int_equal(raw_int(b->path, "SELECT value FROM rp_meta WHERE name = 'schema_version'"), RP_SQ_SCHEMA);
  assert_int_equal(b->s->ops->token_list(b->s, NULL, token_count, &n, &b->err), 0);
  assert_int_equal(n, 1);
  assert_int_equal(commit_as(b->s, &put, RP_OS, &b->err), 0);
  n = 0;
  assert_int_equal(b->s->ops->blob_list(b->s, 7, NULL, blob_count, &n, &b->err), 0);
  assert_int_equal(n, 1);
  assert_int_equal(b->s->ops->stats(b->s, &stats, &b->err), 0);
  assert_int_equal(stats.blob_bytes, 3);
  assert_int_equal(b->s->ops->check(b->s, false, no_finding, NULL, &b->err), 0);
}

#define OLD_NAME(ref, id, meta)                                                                                        \
  "INSERT INTO rp_sessions (ref, id, scope, channel, created_at, forked_at_seq, crash_recovered, sealed, hidden,"      \
  " started, meta, trashed_at, held_at) VALUES (" #ref ", '" id "', 'acp-names', 'acp', 5, 0, 0, 0, 0, 1, '" meta      \
  "', 6, 7); INSERT INTO rp_runs (session, epoch, owner, slot, pid, pid_start, pid_ns, started_at, heartbeat_at,"      \
  " heartbeat_boot, ended_at) VALUES (" #ref ", 1, 'none', 0, 0, 0, 0, 1, 1, 1, 2);"

static void name_is(struct box *b, const char *name, const char *session_id)
{
  struct rp__name_row row;
  bool found = false;
  assert_int_equal(b->s->ops->name_get(b->s, name, &row, &found, &b->err), 0);
  assert_int_equal(found, session_id != NULL);
  if (session_id) assert_string_equal(row.session_id, session_id);
}

static void head_insert(sqlite3 *db, int ref, const char *id)
{
  char sql[200];
  snprintf(sql, sizeof sql, "INSERT INTO rp_heads VALUES (%d, %lld, 4, 1, 0, 0, 0, 0, 0, 5, 6)", ref,
           (long long)rp__sq_tag(id));
  raw_exec(db, sql);
}

/* Names were sessions in the trash once: they become rows of a table, and nothing is left of the sessions. */
static void names_move_out_of_the_trash(void **state)
{
  struct box *b = *state;
  struct rp__store_stats stats;
  scratch_path(&b->dir, "old.db", b->path);
  version_1_make(b->path);
  raw_run(b->path, schema_2);
  raw_run(b->path, schema_3);
  raw_run(b->path, "UPDATE rp_meta SET value = 12 WHERE name = 'last_session'");
  raw_run(b->path, OLD_NAME(8, "n1", "{\"acp_session_id\":\"n1\",\"name_of\":\"old\"}")
                       OLD_NAME(9, "n2", "{\"acp_session_id\":\"n2\"}")
                           OLD_NAME(10, "n3", "{\"acp_session_id\":\"n3\",\"name_of\":\"purged\"}")
                               OLD_NAME(11, "n4", "sealed bytes"));
  /* A user's own session of that scope is none of them. */
  raw_run(b->path,
          "INSERT INTO rp_sessions (ref, id, scope, channel, created_at, forked_at_seq, crash_recovered,"
          " sealed, hidden, started, trashed_at) VALUES (12, 'mine', 'acp-names', 'acp', 5, 0, 0, 0, 0, 1, 6)");
  sqlite3 *db = raw_open(b->path);
  static const char *const ids[] = {"n1", "n2", "n3", "n4", "mine"};
  for (int i = 0; i < 5; i++) head_insert(db, 8 + i, ids[i]);
  sqlite3_close(db);

  box_open(b);
  name_is(b, "n1", "old");
  name_is(b, "n2", "");
  name_is(b, "n3", "");
  name_is(b, "n4", "");
  name_is(b, "mine", NULL);
  assert_int_equal(raw_int(b->path, "SELECT count(*) FROM rp_sessions WHERE scope = 'acp-names'"), 1);
  assert_int_equal(raw_int(b->path, "SELECT count(*) FROM rp_runs WHERE session > 7"), 0);
  assert_int_equal(raw_int(b->path, "SELECT count(*) FROM rp_heads WHERE session > 7"), 1);
  assert_int_equal(raw_int(b->path, "SELECT min(at) FROM rp_names"), 5);
  assert_int_equal(b->s->ops->stats(b->s, &stats, &b->err), 0);
  assert_int_equal(stats.trashed, 1);
  assert_int_equal(b->s->ops->check(b->s, false, no_finding, NULL, &b->err), 0);
}

/* What a file becomes does not depend on the version it was made with. */
static void all_ways_lead_to_the_same_schema(void **state)
{
  static const char sql[] = "SELECT group_concat(name || ' ' || coalesce(sql, ''), char(10)) FROM"
                            " (SELECT name, sql FROM sqlite_schema WHERE name NOT LIKE 'rp\\_fts%' ESCAPE '\\'"
                            " ORDER BY name)";
  static char from_1[20000], from_2[20000], from_3[20000], fresh[20000];
  struct box *b = *state;
  scratch_path(&b->dir, "old.db", b->path);
  version_1_make(b->path);
  box_open(b);
  box_close(b);
  raw_text(b->path, sql, from_1, sizeof from_1);
  scratch_path(&b->dir, "middle.db", b->path);
  version_1_make(b->path);
  raw_run(b->path, schema_2);
  box_open(b);
  box_close(b);
  raw_text(b->path, sql, from_2, sizeof from_2);
  scratch_path(&b->dir, "third.db", b->path);
  version_1_make(b->path);
  raw_run(b->path, schema_2);
  raw_run(b->path, schema_3);
  box_open(b);
  box_close(b);
  raw_text(b->path, sql, from_3, sizeof from_3);
  scratch_path(&b->dir, "new.db", b->path);
  box_open(b);
  box_close(b);
  raw_text(b->path, sql, fresh, sizeof fresh);
  assert_string_equal(from_1, fresh);
  assert_string_equal(from_2, fresh);
  assert_string_equal(from_3, fresh);
}

/* A migration that can't be finished leaves the file as it was. */
static void a_refused_migration_changes_nothing(void **state)
{
  struct box *b = *state;
  struct rp__store_options o = {.path = b->path};
  scratch_path(&b->dir, "old.db", b->path);
  version_1_make(b->path);
  raw_run(b->path, "CREATE TABLE session_states (x)");
  assert_int_equal(rp__store_sqlite_open(&o, &b->s, &b->err), RP_E_VERSION);
  raw_run(b->path, "DROP TABLE session_states; CREATE TABLE rp_recall (x)");
  assert_int_not_equal(rp__store_sqlite_open(&o, &b->s, &b->err), 0);
  assert_int_equal(raw_int(b->path, "SELECT value FROM rp_meta WHERE name = 'schema_version'"), 1);
  assert_int_equal(raw_int(b->path, "SELECT count(*) FROM pragma_table_info('rp_sessions') WHERE name = 'held_at'"), 0);
  raw_run(b->path, "DROP TABLE rp_recall; CREATE TABLE rp_tokens (x)");
  assert_int_not_equal(rp__store_sqlite_open(&o, &b->s, &b->err), 0);
  assert_int_equal(raw_int(b->path, "SELECT count(*) FROM sqlite_schema WHERE name = 'rp_recall'"), 0);
  raw_run(b->path, "DROP TABLE rp_tokens");
  box_open(b);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      BOX_TEST(version_1_is_brought_up_to_date),     BOX_TEST(version_2_is_brought_up_to_date),
      BOX_TEST(version_3_is_brought_up_to_date),     BOX_TEST(all_ways_lead_to_the_same_schema),
      BOX_TEST(a_refused_migration_changes_nothing), BOX_TEST(names_move_out_of_the_trash),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
