/* SPDX-License-Identifier: Apache-2.0 */
/* Other programs' sessions, taken in and given back: whole or not at all, masked, once. */
#include "unit/engine/rig.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

#define TOKEN "ghp_abcdefghijklmnopqrstuvwxyz0123456789"

struct seen {
  int taken, skipped;
  int64_t events;
  char why[1000];
};

static int on_item(void *ctx, const rp_import_item *item)
{
  struct seen *s = ctx;
  size_t n = strlen(s->why);
  s->taken += !item->skipped;
  s->skipped += item->skipped;
  s->events += item->events;
  if (item->why) snprintf(s->why + n, sizeof s->why - n, "%s\n", item->why);
  return 0;
}

static const char *file(struct rig *r, const char *name, const char *text)
{
  static char path[SCRATCH_PATH];
  rp_error err = {0};
  scratch_path(&r->scratch, name, path);
  if (text) OK(rp__file_write(path, text, strlen(text), &err), err);
  return path;
}

static struct seen take(struct rig *r, const char *path, const char *scope)
{
  rp_error err = {0};
  struct seen s = {0};
  const rp_import_options o = {.scope = scope};
  OK(rp_import_file(r->e, path, &o, on_item, &s, NULL, NULL, &err), err);
  return s;
}

static rp_session *attach(struct rig *r, const char *id)
{
  rp_error err = {0};
  rp_session *s;
  OK(rp_attach(r->e, id, &s, &err), err);
  return s;
}

static int to_buf(void *ctx, const void *bytes, size_t n)
{
  rp__buf_add(ctx, bytes, n);
  return ((struct rp__buf *)ctx)->err;
}

static int count_session(void *ctx, const rp_session_info *info)
{
  (void)info;
  ++*(int *)ctx;
  return 0;
}

static int sessions(struct rig *r)
{
  rp_error err = {0};
  int n = 0;
  OK(rp_list(r->e, NULL, count_session, &n, &err), err);
  return n;
}

/* A session file whose heartbeat was ten minutes before the rig's clock. */
static const char nova[] =
    "{\"version\":1,\"heartbeat\":1799999400.0,\"shutdown_clean\":true,\"session_start\":1799990000.0,"
    "\"session_id\":\"a1b2c3d4\",\"total_sessions\":42,\"emotions\":{\"levels\":{\"joy\":0.35,\"fear\":0.9},"
    "\"boredom\":"
    "0.1,\"current_mood\":\"happy\",\"wounds\":[]},\"conversation\":[{\"role\":\"USER\",\"text\":\"my key is " TOKEN
    "\",\"timestamp\":1799999000.0},{\"role\":\"ASSISTANT\",\"text\":\"Oh!\",\"timestamp\":1799999001.5}],"
    "\"sleep_state\":\"awake\",\"last_person_seen\":\"Ori\",\"last_person_seen_time\":1799998000.0}";

static const char clawd[] =
    "{\"sessions\":[{\"info\":{\"id\":\"s-1\",\"name\":\"Fix login\",\"status\":\"running\",\"createdAt\":"
    "\"2026-01-02T03:04:05.000Z\",\"permissionMode\":\"plan\",\"totalCostUsd\":0.5},\"messages\":[{\"id\":\"m1\","
    "\"type\":"
    "\"user\",\"content\":\"go\",\"timestamp\":\"2026-01-02T03:05:00.000Z\"}],\"sessionToken\":\"SECRET\","
    "\"containerId\":"
    "\"c0ffee\"},{\"info\":{\"name\":\"nameless\"}},{\"info\":{\"id\":\"s-2\",\"name\":\"Old\",\"status\":"
    "\"terminated\","
    "\"createdAt\":1767323045000},\"messages\":[]}],\"internalSecret\":\"SECRET\"}";

static const char orbit[] =
    "{\"session_id\":\"abc-123\",\"provider_type\":\"acp\",\"created_at\":\"2026-01-02T03:04:05Z\",\"updated_at\":"
    "\"2026-01-02T04:04:05Z\",\"version\":1,\"config\":{\"Title\":\"Fix it\",\"Environment\":{\"API_KEY\":\"sk-ant-"
    "api03-abcdefghijklmnopqrstuvwxyz0123456789\"}},\"provider_state\":{\"acp_session_id\":\"acp-123\",\"messages\":["
    "{\"role\":\"user\",\"content\":\"hello\",\"timestamp\":\"2026-01-02T03:05:00Z\"}],\"current_task\":\"t\","
    "\"metrics\":"
    "{\"TokensIn\":10}}}";

/* ---- in ---- */

static void a_robot_moves_in(void **state)
{
  struct rig *r = *state;
  struct seen seen = take(r, file(r, "session.json", nova), NULL);
  assert_int_equal(seen.taken, 1);
  rp_session *s = attach(r, "a1b2c3d4");
  char *doc = rig_state(s, -1);
  assert_string_equal(rig_get(doc, "session.scope"), "\"nova\"");
  assert_string_equal(rig_get(doc, "session.status"), "\"closed\"");
  assert_string_equal(rig_get(doc, "session.ended_at"), "\"2027-01-15T07:50:00.000Z\"");
  assert_string_equal(rig_get(doc, "conversation.total"), "2");
  assert_string_equal(rig_get(doc, "presence.last_person"), "\"Ori\"");
  assert_null(strstr(doc, TOKEN)); /* */
  assert_non_null(strstr(doc, "[REDACTED]"));
  rp_free(doc);
  doc = rig_state(s, (int64_t)seen.events);
  assert_string_equal(rig_get(doc, "affect.levels.fear"), "0.9");
  rp_free(doc);
  struct rp__buf out = RP_BUF(1 << 20);
  rp_error err = {0};
  OK(rp_export_as(s, "nova", to_buf, &out, &err), err);
  assert_string_equal(rig_get(out.p, "total_sessions"), "42");
  assert_string_equal(rig_get(out.p, "heartbeat"), "1799999400.0");
  assert_string_equal(rig_get(out.p, "emotions.levels.fear"), "0.9");
  rp__buf_done(&out);
  rp_session_free(s);
  /* The next start goes on from there. */
  s = rig_start(r, "nova", NULL, RP_OWNER_SELF);
  assert_string_equal(rig_get(rp_start_json(s), "restart.type"), "\"short_break\"");
  assert_string_equal(rig_get(rp_start_json(s), "restart.elapsed_seconds"), "600.0");
  rp_session_free(s);
}

static int64_t starts_told(const rp_session *s)
{
  return strtoll(rig_get(rp_start_json(s), "total_sessions"), NULL, 10);
}

/* N-14, N-04: the count goes on, and the scope is a robot's without a word of configuration. */
static void a_robot_goes_on_counting(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  char id[RP_ID_MAX + 1];
  take(r, file(r, "session.json", nova), NULL);
  rp_brief_options o = {.scope = "nova"};
  char *doc;
  OK(rp_brief_scope(r->e, &o, &doc, &err), err);
  assert_non_null(strstr(rig_get(doc, "brief"), "Oh!"));
  rp_free(doc);
  rp_session *s = rig_start(r, "nova", "body", RP_OWNER_SELF);
  assert_int_equal(starts_told(s), 43);
  assert_non_null(strstr(rig_get(rp_start_json(s), "brief"), "Oh!"));
  snprintf(id, sizeof id, "%s", rp_session_id(s));
  rp_session_free(s);
  /* Resumed, it is a start like any other; and what is a robot's stays so. */
  s = rig_start(r, "nova", "body", RP_OWNER_SELF);
  assert_string_equal(rp_session_id(s), id);
  assert_int_equal(starts_told(s), 44);
  OK(rp_end(s, NULL, &err), err);
  rp_session_free(s);
  rig_reopen(r);
  r->wall += 600 * 1000;
  s = rig_start(r, "nova", NULL, RP_OWNER_SELF);
  assert_int_equal(starts_told(s), 45);
  assert_non_null(strstr(rig_get(rp_start_json(s), "brief"), "Oh!"));
  rp_session_free(s);
  /* A scope that has had more starts does not go back. */
  take(r,
       file(r, "older.json",
            "{\"version\":1,\"heartbeat\":1799999400.0,\"shutdown_clean\":true,\"session_start\":1799990000.0,"
            "\"session_id\":\"older\",\"total_sessions\":7}"),
       "nova");
  s = rig_start(r, "nova", NULL, RP_OWNER_SELF);
  assert_int_equal(starts_told(s), 46);
  rp_session_free(s);
}

/* What somebody chose wins, and other scopes are nobody's robot. */
static void a_chosen_template_wins(void **state)
{
  struct rig *r = *state;
  setenv("REPRISE_TEMPLATE", "coder", 1);
  rig_reopen(r);
  unsetenv("REPRISE_TEMPLATE");
  take(r, file(r, "session.json", nova), NULL);
  rp_session *s = rig_start(r, "nova", NULL, RP_OWNER_SELF);
  assert_int_equal(starts_told(s), 43);
  assert_null(strstr(rp_start_json(s), "ASSISTANT: Oh!")); /* the robot's form of it */
  rp_session_free(s);
  rig_reopen(r);
  s = rig_start(r, "elsewhere", NULL, RP_OWNER_SELF);
  assert_int_equal(starts_told(s), 1);
  rp_session_free(s);
}

static void twice_adds_nothing(void **state)
{
  struct rig *r = *state;
  take(r, file(r, "session.json", nova), "robots");
  struct seen again = take(r, file(r, "session.json", NULL), "robots");
  assert_int_equal(again.taken, 0);
  assert_int_equal(again.skipped, 1);
  assert_string_equal(again.why, "is there already\n");
  assert_int_equal(sessions(r), 1);
}

static void a_dry_run_stores_nothing(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  struct seen s = {0};
  const rp_import_options o = {.dry_run = true};
  OK(rp_import_file(r->e, file(r, "session.json", nova), &o, on_item, &s, NULL, NULL, &err), err);
  assert_int_equal(s.taken, 1);
  assert_true(s.events >= 4);
  assert_int_equal(sessions(r), 0);
}

static int enough(void *ctx, const rp_import_item *item)
{
  (void)item;
  return ++*(int *)ctx == 2 ? 1 : 0;
}

/* The word of the callback ends the import, whatever the item was; what is complete stays. */
static void the_caller_may_stop(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  int items = 0;
  const char *path = file(r, "session-store.json", clawd);
  assert_int_equal(rp_import_file(r->e, path, NULL, enough, &items, NULL, NULL, &err), 1);
  assert_int_equal(items, 2);
  assert_int_equal(sessions(r), 1);
}

/* C-11: what can be taken is, what can't be is named, and the answer is an error. */
static void a_store_with_one_bad_session(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  struct seen s = {0};
  int rc = rp_import_file(r->e, file(r, "session-store.json", clawd), NULL, on_item, &s, NULL, NULL, &err);
  assert_int_equal(rc, RP_E_FORMAT_CORRUPT);
  assert_non_null(strstr(err.message, "nameless"));
  assert_int_equal(s.taken, 2);
  assert_int_equal(s.skipped, 1);
  assert_non_null(strstr(s.why, "sessionToken was not taken"));
  rp_session *one = attach(r, "s-1");
  char *doc = rig_state(one, -1);
  assert_string_equal(rig_get(doc, "session.status"), "\"idle\"");
  assert_string_equal(rig_get(doc, "session.created_at"), "\"2026-01-02T03:04:05.000Z\"");
  assert_string_equal(rig_get(doc, "settings.settings.permissionMode"), "\"plan\"");
  assert_string_equal(rig_get(doc, "provider.metadata.containerId"), "\"c0ffee\"");
  assert_null(strstr(doc, "SECRET"));
  rp_free(doc);
  rp_session_free(one);
  /* O-06: an open one goes on under its own id. */
  rp_session *live;
  const rp_start_options o = {.scope = "clawd", .id = "s-1"};
  OK(rp_start(r->e, &o, &live, &err), err);
  assert_string_equal(rig_get(rp_start_json(live), "resumed"), "true");
  rig_say(live, "more");
  rp_session_free(live);
}

static void secrets_in_a_configuration_are_masked(void **state)
{
  struct rig *r = *state;
  take(r, file(r, "abc-123.json", orbit), NULL);
  rp_session *s = attach(r, "abc-123");
  char *doc = rig_state(s, -1);
  assert_null(strstr(doc, "sk-ant-"));
  assert_string_equal(rig_get(doc, "provider.acp_session_id"), "\"acp-123\"");
  assert_string_equal(rig_get(doc, "usage.tokens_in"), "10");
  rp_free(doc);
  rp_session_free(s);
}

static const char brain[] =
    "CREATE TABLE messages (id TEXT PRIMARY KEY, body TEXT); INSERT INTO messages VALUES ('m1', 'hello');"
    "CREATE TABLE stm (id TEXT PRIMARY KEY, content TEXT, categories TEXT, created_at TEXT, confidence REAL);"
    "INSERT INTO stm VALUES ('stm_a', 'vacuum tubes are hot', '[\"radio\"]', '2027-01-14T10:00:00', 0.75);"
    "CREATE TABLE session_states (id TEXT PRIMARY KEY, start_time TEXT NOT NULL, end_time TEXT, channel TEXT DEFAULT "
    "'unknown', working_memory TEXT NOT NULL DEFAULT '[]', hot_topics TEXT NOT NULL DEFAULT '[]', active_projects TEXT "
    "NOT NULL DEFAULT '[]', pending_tasks TEXT NOT NULL DEFAULT '[]', recent_learnings TEXT NOT NULL DEFAULT '[]', "
    "confidence_updates TEXT NOT NULL DEFAULT '[]', sop_interactions TEXT NOT NULL DEFAULT '[]', previous_session_id "
    "TEXT, continued_by TEXT, crash_recovered INTEGER DEFAULT 0, schema_version INTEGER DEFAULT 1, created_at TEXT NOT "
    "NULL, updated_at TEXT);"
    "INSERT INTO session_states (id, start_time, end_time, channel, working_memory, recent_learnings, pending_tasks, "
    "created_at) VALUES ('helios-1', '2027-01-14T09:00:00', '2027-01-14T12:00:00', 'cli', "
    "'[{\"label\":\"goal\",\"content\":\"CRITICAL ship\"}]', '[\"stm_a\"]', "
    "'[{\"task_id\":\"task-9\",\"title\":\"Wire\",\"stage\":\"build\"}]', 'x');";

static const char *make_brain(struct rig *r)
{
  static char path[SCRATCH_PATH];
  sqlite3 *db;
  assert_int_equal(sqlite3_open(scratch_path(&r->scratch, "brain.db", path), &db), SQLITE_OK);
  assert_int_equal(sqlite3_exec(db, brain, NULL, NULL, NULL), SQLITE_OK);
  sqlite3_close(db);
  return path;
}

static int on_row(void *ctx, int n, char **values, char **names)
{
  (void)names;
  for (int i = 0; i < n; i++) rp__buf_printf(ctx, "%s|", values[i] ? values[i] : "NULL");
  return 0;
}

/* Everything but rows whose id is `but`. */
static char *dump(const char *path, const char *but)
{
  sqlite3 *db;
  struct rp__buf out = RP_BUF(1 << 20);
  char sql[300];
  assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
  snprintf(sql, sizeof sql,
           "SELECT name, sql FROM sqlite_schema; SELECT * FROM messages; SELECT * FROM stm; SELECT * FROM "
           "session_states WHERE id IS NOT '%s'",
           but);
  assert_int_equal(sqlite3_exec(db, sql, on_row, &out, NULL), SQLITE_OK);
  sqlite3_close(db);
  return rp__buf_take(&out);
}

static int on_memory(void *ctx, const rp_memory_info *m)
{
  snprintf(ctx, 200, "%s %s %.2f %s", m->id, m->content, m->confidence, m->session_id);
  return 0;
}

/* a brain moves in, and what it knew comes back at the next start. */
static void a_brain_moves_in(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  char memory[200] = "";
  const char *path = make_brain(r);
  char *before = dump(path, "");
  struct seen seen = take(r, path, "helios");
  assert_int_equal(seen.taken, 2);
  char *after = dump(path, "");
  assert_string_equal(before, after);
  free(before), free(after);
  OK(rp_memories(r->e, "helios", NULL, 10, on_memory, memory, &err), err);
  assert_string_equal(memory, "stm_a vacuum tubes are hot 0.75 helios-1");
  rp_session *s = rig_start(r, "helios", NULL, RP_OWNER_SELF);
  char *doc = rig_state(s, -1);
  assert_non_null(strstr(doc, "CRITICAL ship"));
  assert_non_null(strstr(rig_get(rp_start_json(s), "brief"), "task-9"));
  rp_free(doc);
  rp_session_free(s);
  assert_int_equal(take(r, path, "helios").skipped, 2);
}

/* ---- refused ---- */

static int refused(struct rig *r, const char *path, const char *format, rp_error *err)
{
  struct seen s = {0};
  const rp_import_options o = {.format = format};
  memset(err, 0, sizeof *err);
  int rc = rp_import_file(r->e, path, &o, on_item, &s, NULL, NULL, err);
  assert_int_equal(s.taken, 0);
  assert_int_equal(sessions(r), 0);
  return rc;
}

static void what_can_t_be_taken(void **state)
{
  struct rig *r = *state;
  rp_error err;
  assert_int_equal(refused(r, file(r, "nothing", NULL), NULL, &err), RP_E_FILE_NOT_FOUND);
  assert_int_equal(refused(r, "", NULL, &err), RP_E_USAGE);
  assert_int_equal(refused(r, file(r, "t", "hello"), NULL, &err), RP_E_FORMAT);
  assert_int_equal(refused(r, file(r, "t", "hello"), "clawd", &err), RP_E_FORMAT);
  assert_non_null(strstr(err.message, "session-store.json"));
  assert_int_equal(refused(r, file(r, "t", nova), "orbitmesh", &err), RP_E_FORMAT);
  assert_int_equal(refused(r, file(r, "t", nova), "markdown", &err), RP_E_USAGE);
  assert_int_equal(refused(r, file(r, "t", nova), "word", &err), RP_E_USAGE);
  assert_non_null(strstr(err.hint, "orbitmesh"));
  assert_int_equal(refused(r, file(r, "t", "{\"version\":1,\"heart"), NULL, &err), RP_E_FORMAT_CORRUPT);
  assert_int_equal(refused(r, r->scratch.dir, NULL, &err), RP_E_REFUSED);
  const rp_import_options bad = {.scope = "../up"};
  assert_int_equal(rp_import_file(r->e, file(r, "t", nova), &bad, NULL, NULL, NULL, NULL, &err), RP_E_USAGE);
}

static int stop(void *ctx, int64_t done, int64_t total)
{
  (void)ctx, (void)done, (void)total;
  return 1;
}

/* Interrupted in the middle of a session: nothing of it stays. */
static void an_interrupted_import_leaves_nothing(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  struct rp__buf big = RP_BUF(1 << 22);
  rp__buf_str(&big, "{\"session_id\":\"long\",\"provider_type\":\"acp\",\"messages\":[");
  for (int i = 0; i < 1000; i++) rp__buf_printf(&big, "%s{\"role\":\"user\",\"content\":\"%d\"}", i ? "," : "", i);
  rp__buf_str(&big, "]}");
  const char *path = file(r, "long.json", big.p);
  assert_int_equal(rp_import_file(r->e, path, NULL, NULL, NULL, stop, NULL, &err), RP_E_CANCELLED);
  assert_int_equal(sessions(r), 0);
  OK(rp_verify(r->e, NULL, false, NULL, NULL, NULL, NULL, &err), err);
  assert_int_equal(take(r, path, NULL).events, 1001);
  rp__buf_done(&big);
}

/* ---- out ---- */

static void every_format_goes_out_and_comes_in_elsewhere(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  static const char *const formats[] = {"reprise", "nova", "cortex", "clawd", "orbitmesh"};
  rp_session *s = rig_start(r, "a", NULL, RP_OWNER_SELF);
  rig_say(s, "hello there");
  OK(rp_end(s, NULL, &err), err);
  for (size_t i = 0; i < RP_ARRAY_SIZE(formats); i++) {
    char path[SCRATCH_PATH];
    struct stat st;
    struct seen seen = {0};
    rp_engine *e;
    const rp_options o = {.db = "memory:", .short_lived = true};
    OK(rp_export_file(s, formats[i], scratch_path(&r->scratch, formats[i], path), &err), err);
    assert_int_equal(lstat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    OK(rp_open(&o, &e, &err), err);
    OK(rp_import_file(e, path, NULL, on_item, &seen, NULL, NULL, &err), err);
    assert_int_equal(seen.taken, 1);
    rp_session *there;
    OK(rp_attach(e, rp_session_id(s), &there, &err), err);
    char *doc = rig_state(there, -1);
    if (strcmp(formats[i], "cortex") != 0) assert_non_null(strstr(doc, "hello there"));
    rp_free(doc);
    rp_session_free(there);
    rp_close(e);
  }
  struct rp__buf text = RP_BUF(1 << 20);
  OK(rp_export_as(s, "markdown", to_buf, &text, &err), err);
  assert_non_null(strstr(text.p, "hello there"));
  rp__buf_done(&text);
  assert_int_equal(rp_export_as(s, "word", to_buf, &text, &err), RP_E_USAGE);
  rp_session_free(s);
}

/* O-08: a snapshot of one provider becomes another's document, with the conversation in it. */
static void from_one_program_to_another(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  char path[SCRATCH_PATH];
  take(r, file(r, "abc-123.json", orbit), NULL);
  rp_session *s = attach(r, "abc-123");
  OK(rp_export_file(s, "clawd", scratch_path(&r->scratch, "store.json", path), &err), err);
  struct rp__buf text = RP_BUF(0);
  OK(rp__file_read(path, 1 << 20, &text, &err), err);
  assert_non_null(strstr(text.p, "\"content\": \"hello\""));
  assert_non_null(strstr(text.p, "\"name\": \"Fix it\""));
  rp__buf_done(&text);
  rp_session_free(s);
}

/* What was taken back is not told; what was taken back and brought again is. */
static void time_travel_shows(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  rp_ack back;
  struct rp__buf text = RP_BUF(1 << 20);
  rp_session *s = rig_start(r, "a", NULL, RP_OWNER_SELF);
  int64_t first = rig_say(s, "first").seq;
  int64_t second = rig_say(s, "second").seq;
  OK(rp_restore(s, first, &back, &err), err);
  rig_say(s, "third");
  OK(rp_export_as(s, "markdown", to_buf, &text, &err), err);
  assert_non_null(strstr(text.p, "first"));
  assert_null(strstr(text.p, "second"));
  assert_non_null(strstr(text.p, "third"));
  OK(rp_restore(s, second, &back, &err), err);
  rig_say(s, "fourth");
  rp__buf_reset(&text);
  OK(rp_export_as(s, "clawd", to_buf, &text, &err), err);
  assert_non_null(strstr(text.p, "first"));
  assert_non_null(strstr(text.p, "second"));
  assert_null(strstr(text.p, "third"));
  assert_non_null(strstr(text.p, "fourth"));
  rp__buf_done(&text);
  rp_session_free(s);
}

/* O-01: a folder of snapshots has an index that tells of each once. */
static void a_folder_has_an_index(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  char folder[SCRATCH_PATH], path[SCRATCH_PATH + 300], index[SCRATCH_PATH + 16];
  assert_int_equal(mkdir(scratch_path(&r->scratch, "out", folder), 0700), 0);
  for (int i = 0; i < 2; i++) {
    rp_session *s = rig_start(r, "a", NULL, RP_OWNER_SELF);
    rig_say(s, "x");
    OK(rp_export_file(s, "orbitmesh", folder, &err), err);
    OK(rp_export_file(s, "orbitmesh", folder, &err), err);
    snprintf(path, sizeof path, "%s/%s.json.gz", folder, rp_session_id(s));
    assert_int_equal(access(path, F_OK), 0);
    OK(rp_end(s, NULL, &err), err);
    rp_session_free(s);
  }
  struct rp__buf text = RP_BUF(0);
  snprintf(index, sizeof index, "%s/index.json", folder);
  OK(rp__file_read(index, 1 << 20, &text, &err), err);
  struct rp__json list = rp__json_get(rp__json_trusted(text.p, text.n), "snapshots");
  assert_int_equal(rp__json_count(list), 2);
  assert_non_null(strstr(text.p, ".json.gz\""));
  struct stat st;
  assert_int_equal(stat(index, &st), 0);
  assert_int_equal(st.st_mode & 0777, 0600);
  /* What lies there no more is not told of; a session of that name does not take its place. */
  assert_int_equal(unlink(path), 0);
  rp_start_options named = {.scope = "a", .id = "index", .owner = RP_OWNER_SELF};
  rp_session *odd = NULL;
  OK(rp_start(r->e, &named, &odd, &err), err);
  OK(rp_export_file(odd, "orbitmesh", folder, &err), err);
  assert_int_equal(rp_export_file(odd, "clawd", folder, &err), RP_E_REFUSED);
  OK(rp_end(odd, NULL, &err), err);
  rp_session_free(odd);
  rp__buf_reset(&text);
  OK(rp__file_read(index, 1 << 20, &text, &err), err);
  assert_int_equal(rp__json_count(rp__json_get(rp__json_trusted(text.p, text.n), "snapshots")), 2);
  assert_non_null(strstr(text.p, "\"index.json.gz\""));
  assert_null(strstr(text.p, strrchr(path, '/') + 1));
  rp__buf_done(&text);
  assert_int_equal(unlink(index), 0);
  assert_int_equal(symlink("/etc/hosts", index), 0);
  rp_session *s = rig_start(r, "a", NULL, RP_OWNER_SELF);
  assert_int_equal(rp_export_file(s, "orbitmesh", folder, &err), RP_E_REFUSED);
  assert_int_equal(rp_export_file(s, "orbitmesh", index, &err), RP_E_REFUSED);
  rp_session_free(s);
}

/* O-01: an index.json that somebody else keeps there stays as it is, and nothing is written beside it. */
static void a_strangers_index_stays(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  static const char *const theirs[] = {
      "{\"name\":\"my site\",\"pages\":[\"a\"]}",
      "{\"version\":2,\"snapshots\":[]}",
      "{\"version\":1,\"snapshots\":{}}",
      "{\"version\":1,\"snapshots\":[],\"owner\":\"me\"}",
      "[1,2]",
      "{cut",
      "",
  };
  char folder[SCRATCH_PATH], index[SCRATCH_PATH + 16], path[SCRATCH_PATH + 300];
  assert_int_equal(mkdir(scratch_path(&r->scratch, "site", folder), 0700), 0);
  snprintf(index, sizeof index, "%s/index.json", folder);
  rp_session *s = rig_start(r, "a", NULL, RP_OWNER_SELF);
  snprintf(path, sizeof path, "%s/%s.json.gz", folder, rp_session_id(s));
  for (size_t i = 0; i < RP_ARRAY_SIZE(theirs); i++) {
    struct rp__buf text RP_AUTOBUF = RP_BUF(0);
    OK(rp__file_write(index, theirs[i], strlen(theirs[i]), &err), err);
    assert_int_equal(rp_export_file(s, "orbitmesh", folder, &err), RP_E_REFUSED);
    assert_non_null(strstr(err.message, "not an index that Reprise wrote"));
    OK(rp__file_read(index, 1 << 20, &text, &err), err);
    assert_string_equal(text.p ? text.p : "", theirs[i]);
    assert_int_equal(access(path, F_OK), -1);
  }
  rp_session_free(s);
}

/* into a brain, one row more. */
static void a_brain_gets_one_row(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  const char *path = make_brain(r);
  rp_session *s = rig_start(r, "a", NULL, RP_OWNER_SELF);
  rp_event pin = {.kind = "pin", .body = "{\"label\":\"l\",\"content\":\"c\"}"};
  OK(rp_append(s, &pin, NULL, NULL, &err), err);
  OK(rp_end(s, NULL, &err), err);
  char *before = dump(path, rp_session_id(s));
  OK(rp_export_file(s, "cortex", path, &err), err);
  char *after = dump(path, rp_session_id(s)), *all = dump(path, "");
  assert_string_equal(before, after);
  assert_non_null(strstr(all, rp_session_id(s)));
  free(before), free(after), free(all);
  assert_int_equal(rp_export_file(s, "cortex", path, &err), RP_E_EXISTS);
  rp_session_free(s);
}

/* N-06: a session file that is empty or cut, with a good .bak beside it; and one with none, that nobody can name. */
static void a_damaged_file_is_known_by_its_copy(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  static const char *const bad[] = {"", " \n", "{bad", "{\"version\": 1, \"heartbeat\": 17", "\1\1\1"};
  static const char good[] = "{\"version\":1,\"heartbeat\":1700000000.0,\"shutdown_clean\":false,"
                             "\"session_start\":1699999000.0,\"session_id\":\"copy\",\"conversation\":[]}";
  const rp_import_options o = {.scope = "robot", .dry_run = true};
  for (size_t i = 0; i < RP_ARRAY_SIZE(bad); i++) {
    assert_true(rp_import_file(r->e, file(r, "alone.json", bad[i]), &o, NULL, NULL, NULL, NULL, &err) != 0);
    if (!strstr(err.message, "nova") && !strstr(err.hint, "nova")) fail_msg("%s (%s)", err.message, err.hint);
    file(r, "session.json.bak", good);
    struct seen s = take(r, file(r, "session.json", bad[i]), "robot");
    assert_int_equal(s.taken, i == 0);
    assert_int_equal(s.taken + s.skipped, 1);
    if (s.taken) assert_non_null(strstr(s.why, ".bak"));
  }
}

#define T(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)
int main(void)
{
  const struct CMUnitTest tests[] = {
      T(a_robot_moves_in),
      T(a_robot_goes_on_counting),
      T(a_chosen_template_wins),
      T(twice_adds_nothing),
      T(a_dry_run_stores_nothing),
      T(the_caller_may_stop),
      T(a_store_with_one_bad_session),
      T(secrets_in_a_configuration_are_masked),
      T(a_brain_moves_in),
      T(what_can_t_be_taken),
      T(an_interrupted_import_leaves_nothing),
      T(every_format_goes_out_and_comes_in_elsewhere),
      T(from_one_program_to_another),
      T(time_travel_shows),
      T(a_folder_has_an_index),
      T(a_strangers_index_stays),
      T(a_brain_gets_one_row),
      T(a_damaged_file_is_known_by_its_copy),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
