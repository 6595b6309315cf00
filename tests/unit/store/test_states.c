/* SPDX-License-Identifier: Apache-2.0 */
/* session_states and agent_session_states, ours or somebody else's. */
#include "store_test.h"

static void row_is(struct box *b, const char *sql, const char *want)
{
  char text[600];
  raw_text(b->path, sql, text, sizeof text);
  assert_string_equal(text, want);
}

static int record_of(struct box *b, const char *id, struct rp__record_row *ret)
{
  struct rp__session_row row = {0};
  assert_int_equal(b->s->ops->session_find(b->s, RP_FIND_ID, NULL, id, &row, &b->err), 0);
  return b->s->ops->record_get(b->s, row.ref, ret, &b->err);
}

static void pins_are(struct box *b, const char *id, const char *pins)
{
  struct rp__record_row row;
  assert_int_equal(record_of(b, id, &row), 0);
  assert_string_equal(row.part[RP_PART_WORKING_MEMORY], pins);
  rp__record_row_done(&row);
}

/* The table of the seed: its columns in their order, its defaults, its three indexes. */
static void the_table_is_the_seed_s(void **state)
{
  struct box *b = *state;
  box_open(b);
  row_is(b, "SELECT group_concat(name) FROM pragma_table_info('session_states')",
         "id,start_time,end_time,channel,working_memory,hot_topics,active_projects,pending_tasks,recent_learnings,"
         "confidence_updates,sop_interactions,previous_session_id,continued_by,crash_recovered,schema_version,"
         "created_at,updated_at");
  row_is(b,
         "SELECT group_concat(name || '=' || dflt_value) FROM pragma_table_info('session_states')"
         " WHERE dflt_value IS NOT NULL AND dflt_value <> '''[]'''",
         "channel='unknown',crash_recovered=0,schema_version=1");
  row_is(b,
         "SELECT group_concat(name) FROM (SELECT name FROM sqlite_schema WHERE type = 'index'"
         " AND tbl_name = 'session_states' AND sql IS NOT NULL ORDER BY name)",
         "idx_session_channel,idx_session_endtime,idx_session_prev");
  assert_int_equal(put_in(b->s, "a", NULL, &b->err), 0);
  assert_int_equal(record_in(b->s, "a", "[{\"label\":\"x\"}]", &b->err), 0);
  row_is(
      b,
      "SELECT start_time || ' ' || end_time || ' ' || channel || ' ' || working_memory || ' ' || hot_topics || ' '"
      " || crash_recovered || schema_version || ' ' || created_at FROM session_states WHERE id = 'a'",
      "2023-11-14T22:13:20.000Z 2023-11-14T22:13:20.001Z unknown [{\"label\":\"x\"}] [] 01 2023-11-14T22:13:20.000Z");
  struct rp__op op = {.type = RP_OP_SESSION_SET,
                      .session_id = "a",
                      .u.session_set = {.fields = RP_SET_CONTINUED_BY, .continued_by = "b"}};
  assert_int_equal(commit_as(b->s, &op, RP_OS, &b->err), 0);
  row_is(b, "SELECT continued_by FROM session_states", "b");
  op = (struct rp__op){.type = RP_OP_RECORD_ARCHIVE, .session_id = "a"};
  assert_int_equal(commit_as(b->s, &op, RP_OS, &b->err), 0);
  assert_int_equal(raw_int(b->path, "SELECT count(*) FROM session_states"), 0);
  assert_int_equal(record_in(b->s, "a", "[]", &b->err), 0);
  op = (struct rp__op){.type = RP_OP_SESSION_DELETE, .session_id = "a"};
  assert_int_equal(commit_as(b->s, &op, RP_OS, &b->err), 0);
  assert_int_equal(raw_int(b->path, "SELECT count(*) FROM session_states"), 0);
}

/* Lossy's shape. */
static void the_view_shows_sessions(void **state)
{
  struct box *b = *state;
  struct rp__session_row row = {.created_at = NOW, .last_activity_at = NOW + 5};
  char meta[] = "{\"video_id\":\"v-7\"}";
  rp__name_set(row.id, "a");
  rp__name_set(row.scope, "s");
  row.meta = meta;
  struct rp__op op = {.type = RP_OP_SESSION_PUT, .session_id = "a", .u.session_put.row = &row};
  box_open(b);
  assert_int_equal(commit_as(b->s, &op, RP_OS, &b->err), 0);
  assert_int_equal(put_in(b->s, "plain", NULL, &b->err), 0);
  row_is(b, "SELECT group_concat(name) FROM pragma_table_info('agent_session_states')",
         "id,session_id,video_id,status,notes,frames,transcript_buffer,conversation_memory,created_at,"
         "last_activity_at,closed_at,inserted_at,updated_at");
  row_is(b,
         "SELECT session_id || video_id || status || created_at || last_activity_at || (closed_at IS NULL)"
         " || notes || frames || (transcript_buffer IS NULL) || conversation_memory"
         " FROM agent_session_states WHERE id = 'a'",
         "av-7created2023-11-14T22:13:20.000Z2023-11-14T22:13:20.005Z1[][]1"
         "{\"topics\":[],\"intent\":null,\"context\":null}");
  op = (struct rp__op){.type = RP_OP_SESSION_SET,
                       .session_id = "a",
                       .u.session_set = {.fields = RP_SET_MOVE, .move = RP_MOVE_CLOSE, .ended_at = NOW + 9}};
  assert_int_equal(commit_as(b->s, &op, RP_OS, &b->err), 0);
  row_is(b, "SELECT status || closed_at FROM agent_session_states WHERE id = 'a'", "closed2023-11-14T22:13:20.009Z");
  row_is(b, "SELECT video_id FROM agent_session_states WHERE id = 'plain'", "NULL");
  op.u.session_set.fields = RP_SET_TRASH;
  op.u.session_set.trashed_at = NOW;
  assert_int_equal(commit_as(b->s, &op, RP_OS, &b->err), 0);
  assert_int_equal(raw_int(b->path, "SELECT count(*) FROM agent_session_states"), 1);
}

static void tell(struct box *b, const char *kind, const char *body)
{
  struct rp__new_event ev = {.kind = kind, .body = body, .body_len = strlen(body), .at_ms = NOW};
  struct rp__op op = {.type = RP_OP_APPEND, .session_id = "a", .u.append = {.events = &ev, .n = 1, .expect = -1}};
  assert_int_equal(commit_as(b->s, &op, RP_OS, &b->err), 0);
}

/* L-07: all that a session has heard and seen, as the journal has it. */
static void the_view_has_what_was_seen(void **state)
{
  struct box *b = *state;
  box_open(b);
  assert_int_equal(put_in(b->s, "a", NULL, &b->err), 0);
  tell(b, "note", "{\"id\":\"n1\",\"text\":\"too dark\",\"confidence\":0.5,\"timestamp\":12.5}");
  tell(b, "frame", "{\"frame_id\":\"f1\",\"timestamp\":12,\"embedding\":[0.5,1]}");
  tell(b, "transcript", "{\"text\":\"make this\"}");
  tell(b, "transcript", "{\"text\":\"bri\",\"final\":false}");
  tell(b, "transcript", "{\"text\":\"brighter\",\"final\":true}");
  tell(b, "intent", "{\"topics\":[\"light\",\"pace\"],\"intent\":\"review\",\"context\":{\"by\":\"Ann\",\"cut\":1}}");
  tell(b, "intent", "{\"topics\":[\"sound\",\"light\"],\"context\":{\"cut\":{\"n\":[2]},\"final\":true}}");
  tell(b, "transcript", "{\"text\":\"and lou\",\"final\":false}");
  tell(b, "note", "{\"id\":2,\"text\":\"loud\"}");
  row_is(b, "SELECT notes FROM agent_session_states",
         "[{\"id\":\"n1\",\"text\":\"too dark\",\"confidence\":0.5,\"timestamp\":12.5},{\"id\":2,\"text\":\"loud\"}]");
  row_is(b, "SELECT frames FROM agent_session_states",
         "[{\"frame_id\":\"f1\",\"timestamp\":12,\"embedding\":[0.5,1]}]");
  row_is(b, "SELECT transcript_buffer FROM agent_session_states", "make this brighter and lou");
  row_is(b, "SELECT conversation_memory FROM agent_session_states",
         "{\"topics\":[\"pace\",\"sound\",\"light\"],\"intent\":\"review\","
         "\"context\":{\"by\":\"Ann\",\"cut\":{\"n\":[2]},\"final\":true}}");
  /* What is damaged takes nothing else along; of what is sealed nothing is told. */
  raw_run(b->path, "UPDATE rp_events SET body = '{\"id' WHERE seq = 1");
  row_is(b, "SELECT notes FROM agent_session_states", "[{\"id\":2,\"text\":\"loud\"}]");
  raw_run(b->path, "UPDATE rp_sessions SET sealed = 1");
  row_is(b,
         "SELECT notes IS NULL AND frames IS NULL AND transcript_buffer IS NULL AND conversation_memory IS NULL"
         " FROM agent_session_states",
         "1");
}

static void theirs_make(struct box *b, const char *sql)
{
  scratch_path(&b->dir, "theirs.db", b->path);
  sqlite3 *db = raw_open(b->path);
  raw_exec(db, sql);
  sqlite3_close(db);
}

static void a_table_of_that_shape_is_used(void **state)
{
  struct box *b = *state;
  theirs_make(b, SEED_STATES "INSERT INTO session_states (id, start_time, created_at, working_memory, continued_by)"
                             " VALUES ('theirs', 'x', 'y', '[\"old\"]', NULL);"
                             "CREATE VIEW agent_session_states AS SELECT 1 AS mine");
  box_open(b);
  assert_int_equal(raw_int(b->path, "SELECT count(*) FROM sqlite_schema WHERE name LIKE 'idx\\_session%' ESCAPE '\\'"),
                   0);
  assert_int_equal(raw_int(b->path, "SELECT mine FROM agent_session_states"), 1);
  assert_int_equal(put_in(b->s, "ours", NULL, &b->err), 0);
  assert_int_equal(record_in(b->s, "ours", "[1]", &b->err), 0);
  assert_int_equal(record_in(b->s, "ours", "[2]", &b->err), 0);
  row_is(b, "SELECT working_memory || extra FROM session_states WHERE id = 'ours'", "[2]5");
  pins_are(b, "ours", "[2]");
  box_close(b);
  box_open(b);
  pins_are(b, "ours", "[2]");
}

/* A session of ours with the id of one of their rows: two records, and neither harms the other. */
static void rows_of_others_stay_as_they_are(void **state)
{
  static const char all[] = "SELECT group_concat(id || start_time || working_memory || coalesce(continued_by, '-'))"
                            " FROM session_states";
  struct box *b = *state;
  struct rp__record_row row;
  theirs_make(b, SEED_STATES "INSERT INTO session_states (id, start_time, created_at, working_memory)"
                             " VALUES ('same', 'x', 'y', '[\"old\"]')");
  box_open(b);
  assert_int_equal(put_in(b->s, "same", NULL, &b->err), 0);
  for (int i = 0; i < 2; i++) {
    assert_int_equal(record_in(b->s, "same", i ? "[2]" : "[1]", &b->err), 0);
    pins_are(b, "same", i ? "[2]" : "[1]");
    row_is(b, all, "samex[\"old\"]-");
  }
  struct rp__op op = {.type = RP_OP_SESSION_SET,
                      .session_id = "same",
                      .u.session_set = {.fields = RP_SET_CONTINUED_BY, .continued_by = "b"}};
  assert_int_equal(commit_as(b->s, &op, RP_OS, &b->err), 0);
  row_is(b, all, "samex[\"old\"]-");
  op = (struct rp__op){.type = RP_OP_RECORD_ARCHIVE, .session_id = "same"};
  assert_int_equal(commit_as(b->s, &op, RP_OS, &b->err), 0);
  assert_int_equal(record_of(b, "same", &row), 0);
  assert_true(row.archived && !row.part[0]);
  assert_string_equal(row.continued_by, "b");
  assert_int_equal(record_in(b->s, "same", "[3]", &b->err), 0);
  pins_are(b, "same", "[3]");
  op = (struct rp__op){.type = RP_OP_SESSION_DELETE, .session_id = "same"};
  assert_int_equal(commit_as(b->s, &op, RP_OS, &b->err), 0);
  row_is(b, all, "samex[\"old\"]-");
}

/* The seed's columns and one that we can't know how to fill. */
#define STRICT_STATES                                                                                                  \
  "CREATE TABLE session_states (mood TEXT NOT NULL, id, start_time, end_time, channel, working_memory, hot_topics,"    \
  " active_projects, pending_tasks, recent_learnings, confidence_updates, sop_interactions, previous_session_id,"      \
  " continued_by, crash_recovered, schema_version, created_at, updated_at)"

static void other_shapes_are_refused(void **state)
{
  static const struct {
    const char *sql, *message;
  } cases[] = {
      {"CREATE TABLE session_states (x)", "no column id"},
      {"CREATE TABLE Session_States (x)", "no column id"},
      {SEED_STATES "ALTER TABLE session_states DROP COLUMN pending_tasks", "no column pending_tasks"},
      {SEED_STATES "ALTER TABLE session_states RENAME TO old; CREATE TABLE session_states AS SELECT * FROM old;"
                   "DROP TABLE old; ALTER TABLE session_states RENAME COLUMN id TO di",
       "no column id"},
      {STRICT_STATES, "every row must have a mood"},
      {"CREATE TABLE t (a); CREATE VIEW session_states AS SELECT a FROM t", "no table but a view"},
  };
  struct box *b = *state;
  for (size_t i = 0; i < RP_ARRAY_SIZE(cases); i++) {
    struct rp__store_options o = {.path = b->path};
    scratch_empty(&b->dir);
    theirs_make(b, cases[i].sql);
    assert_int_equal(rp__store_sqlite_open(&o, &b->s, &b->err), RP_E_VERSION);
    assert_int_equal(b->err.code, RP_E_VERSION);
    assert_non_null(strstr(b->err.message, cases[i].message));
    assert_null(b->s);
    assert_int_equal(raw_int(b->path, "SELECT count(*) FROM sqlite_schema WHERE name LIKE 'rp\\_%' ESCAPE '\\'"), 0);
    row_is(b, "PRAGMA journal_mode", "delete");
  }
}

/* Whoever shares the file may spoil the table while we are away. */
static void a_table_that_changed_is_refused(void **state)
{
  struct box *b = *state;
  struct rp__store_options o = {.path = b->path, .read_only = true};
  theirs_make(b, SEED_STATES);
  box_open(b);
  assert_int_equal(put_in(b->s, "a", NULL, &b->err), 0);
  box_close(b);
  raw_run(b->path, "ALTER TABLE session_states RENAME COLUMN hot_topics TO cold_topics");
  assert_int_equal(rp__store_sqlite_open(&o, &b->s, &b->err), RP_E_VERSION);
  o.read_only = false;
  assert_int_equal(rp__store_sqlite_open(&o, &b->s, &b->err), RP_E_VERSION);
  assert_non_null(strstr(b->err.message, "hot_topics"));
}

/* X-14 in somebody else's file: their rowids are theirs, our pages are written anew. */
static void scrubbing_moves_nothing_of_theirs(void **state)
{
  enum { N = 300 };
  struct box *b = *state;
  theirs_make(b, "CREATE TABLE theirs (a TEXT PRIMARY KEY); INSERT INTO theirs VALUES ('x'), ('y'), ('z');"
                 "DELETE FROM theirs WHERE a = 'x'");
  box_open(b);
  assert_int_equal(put_in(b->s, "a", NULL, &b->err), 0);
  assert_int_equal(memory_in(b->s, "m", "walnut", &b->err), 0);
  for (int i = 0; i < N; i++) {
    char text[1000];
    snprintf(text, sizeof text, "hunter2 %0*d", i * 37 % 800, 0);
    assert_int_equal(say_in(b->s, "a", text, RP_OS, NULL, &b->err), 0);
  }
  assert_int_equal(hits_in(b->s, "hunter2"), 100);
  for (int i = 1; i <= N; i++) {
    char body[1600];
    snprintf(body, sizeof body, "{\"c\":\"gone %0*d\"}", i * 53 % 1400, 0);
    struct rp__new_event ev = {.kind = "message", .body = body, .body_len = strlen(body), .at_ms = NOW};
    struct rp__op op = {.type = RP_OP_EVENT_REPLACE, .session_id = "a", .u.event_replace = {.seq = i, .event = &ev}};
    assert_int_equal(commit_as(b->s, &op, RP_OS, &b->err), 0);
  }
  assert_int_equal(b->s->ops->maintain(b->s, RP_MAINTAIN_SCRUB, NULL, &b->err), 0);
  assert_int_equal(b->s->ops->maintain(b->s, RP_MAINTAIN_SHRINK, NULL, &b->err), 0);
  assert_int_equal(rp__sq_file_bytes(rp__sq(b->s)->wal_path), 0);
  int64_t size = rp__sq_file_bytes(b->path);
  char *bytes = malloc((size_t)size);
  FILE *f = fopen(b->path, "rb");
  assert_int_equal(fread(bytes, 1, (size_t)size, f), size);
  fclose(f);
  assert_null(memmem(bytes, (size_t)size, "hunter2", 7));
  free(bytes);
  row_is(b, "SELECT group_concat(rowid) FROM (SELECT rowid FROM theirs ORDER BY rowid)", "2,3");
  assert_int_equal(hits_in(b->s, "gone"), 100);
  struct rp__memory_filter filter = {.scope = "s", .words = "walnut"};
  int n = 0;
  assert_int_equal(b->s->ops->memory_list(b->s, &filter, memory_count, &n, &b->err), 0);
  assert_int_equal(n, 1);
  assert_int_equal(say_in(b->s, "a", "on", RP_OS, NULL, &b->err), 0);
}

/* A reader that goes on reading keeps the log: that is said, not hidden. */
static void a_scrub_that_is_not_done_says_so(void **state)
{
  struct box *b = *state;
  char path[SCRATCH_PATH + 32];
  scratch_path(&b->dir, "busy.db", b->path);
  snprintf(path, sizeof path, "%s?busy_ms=30", b->path);
  struct rp__store_options o = {.path = path};
  assert_int_equal(rp__store_sqlite_open(&o, &b->s, &b->err), 0);
  assert_int_equal(put_in(b->s, "a", NULL, &b->err), 0);
  sqlite3 *db = raw_open(b->path);
  raw_exec(db, "BEGIN; SELECT count(*) FROM rp_events");
  assert_int_equal(b->s->ops->maintain(b->s, RP_MAINTAIN_SCRUB, NULL, &b->err), RP_E_BUSY);
  raw_exec(db, "COMMIT");
  assert_int_equal(b->s->ops->maintain(b->s, RP_MAINTAIN_SCRUB, NULL, &b->err), 0);
  sqlite3_close(db);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      BOX_TEST(the_table_is_the_seed_s),          BOX_TEST(the_view_shows_sessions),
      BOX_TEST(the_view_has_what_was_seen),       BOX_TEST(a_table_of_that_shape_is_used),
      BOX_TEST(rows_of_others_stay_as_they_are),  BOX_TEST(other_shapes_are_refused),
      BOX_TEST(a_table_that_changed_is_refused),  BOX_TEST(scrubbing_moves_nothing_of_theirs),
      BOX_TEST(a_scrub_that_is_not_done_says_so),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
