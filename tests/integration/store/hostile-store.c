/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Snapshots, journal rows and files changed behind the engine's back: damage is
 * found and named, mended where that can be, and what is sound goes on working.
 */
#include <sqlite3.h>

#include "base/buf.h"
#include "hostile.h"
#include "lib/dice.h"

/* Changes rows as no program of ours would. */
static void sql(const struct room *room, const char *text)
{
  sqlite3 *db;
  char *why = NULL;
  assert_int_equal(sqlite3_open(room->path, &db), SQLITE_OK);
  if (sqlite3_exec(db, text, NULL, NULL, &why) != SQLITE_OK) fail_msg("%s: %s", text, why);
  assert_int_not_equal(sqlite3_total_changes(db), 0);
  sqlite3_close(db);
}

static void ddl(const struct room *room, const char *text)
{
  sqlite3 *db;
  char *why = NULL;
  assert_int_equal(sqlite3_open(room->path, &db), SQLITE_OK);
  if (sqlite3_exec(db, text, NULL, NULL, &why) != SQLITE_OK) fail_msg("%s: %s", text, why);
  sqlite3_close(db);
}

static char *state_of(const struct room *room, const char *key)
{
  rp_engine *e;
  rp_session *s;
  rp_error err;
  char *json;
  OK(rig_open(room->url, false, &e, &err), err);
  OK(rp_attach(e, key, &s, &err), err);
  OK(rp_state_json(s, -1, &json, &err), err);
  rp_session_free(s);
  rp_close(e);
  return json;
}

struct findings {
  int count, repaired;
  int64_t seq;
  char session[RP_ID_MAX + 1];
};

static int note_finding(void *ctx, const rp_finding *f)
{
  struct findings *all = ctx;
  all->count++;
  all->repaired += f->repaired;
  if (f->seq) all->seq = f->seq;
  if (f->session_id) snprintf(all->session, sizeof(all->session), "%s", f->session_id);
  return 0;
}

static int verify(const struct room *room, bool repair, struct findings *ret)
{
  rp_engine *e;
  rp_error err;
  *ret = (struct findings){0};
  OK(rig_open(room->url, false, &e, &err), err);
  int rc = rp_verify(e, NULL, repair, note_finding, ret, NULL, NULL, &err);
  if (rc && rc != RP_E_CORRUPT) print_error("verify: %s\n", rig_why(&err));
  rp_close(e);
  return rc;
}

static void id_of(const struct room *room, const char *key, char *ret)
{
  rp_engine *e;
  rp_error err;
  OK(rig_open(room->url, false, &e, &err), err);
  OK(rp_resolve(e, key, ret, &err), err);
  rp_close(e);
}

/* ---- snapshots ---- */

static void expect_warning(const struct room *room)
{
  rp_engine *e;
  rp_session *s;
  rp_error err;
  rp_start_options o = {.scope = "test", .key = "first", .owner = RP_OWNER_SELF, .force = true};
  OK(rig_open(room->url, false, &e, &err), err);
  OK(rp_start(e, &o, &s, &err), err);
  const char *json = rp_start_json(s);
  assert_non_null(strstr(json, "\"warnings\":["));
  assert_null(strstr(json, "\"warnings\":[]"));
  rp_session_detach(s);
  rp_close(e);
}

/* The state is what it was, the start says what happened, verify finds it and mends it. */
static void expect_fallback(const struct room *room, const char *damage)
{
  struct findings f;
  char *before = state_of(room, "first");
  sql(room, damage);
  char *after = state_of(room, "first");
  assert_string_equal(before, after);
  rp_free(before);
  rp_free(after);
  assert_int_equal(verify(room, false, &f), RP_E_CORRUPT);
  assert_true(f.count > 0);
  expect_warning(room);
  assert_int_equal(verify(room, true, &f), 0);
  assert_true(f.repaired > 0);
  assert_int_equal(verify(room, false, &f), 0);
  assert_int_equal(f.count, 0);
}

#define NEWEST "n = (SELECT max(n) FROM rp_snapshots)"

static void test_snapshot_truncated(void **state)
{
  expect_fallback(*state, "UPDATE rp_snapshots SET data = substr(data, 1, length(data) / 2) WHERE " NEWEST);
}

static void test_snapshot_short(void **state)
{
  expect_fallback(*state, "UPDATE rp_snapshots SET data = substr(data, 1, 7) WHERE " NEWEST);
}

static void test_snapshot_empty(void **state)
{
  expect_fallback(*state, "UPDATE rp_snapshots SET data = x'' WHERE " NEWEST);
}

static void test_snapshot_noise(void **state)
{
  expect_fallback(*state, "UPDATE rp_snapshots SET data = randomblob(length(data)) WHERE " NEWEST);
}

static void test_snapshot_longer(void **state)
{
  expect_fallback(*state, "UPDATE rp_snapshots SET data = CAST(data || x'00' AS BLOB) WHERE " NEWEST);
}

static void test_snapshot_text(void **state)
{
  expect_fallback(*state, "UPDATE rp_snapshots SET data = 'not a snapshot' WHERE " NEWEST);
}

static void test_snapshot_of_another_seq(void **state)
{
  expect_fallback(*state,
                  "UPDATE rp_snapshots SET data = (SELECT data FROM rp_snapshots ORDER BY n LIMIT 1) WHERE " NEWEST);
}

static void test_all_snapshots_damaged(void **state)
{
  expect_fallback(*state, "UPDATE rp_snapshots SET data = randomblob(100)");
}

/* Each bit of the newest snapshot in turn. */
static int flip_bit(sqlite3 *db, int bit, int *ret_bytes)
{
  sqlite3_stmt *st;
  unsigned char data[65536];
  assert_int_equal(sqlite3_prepare_v2(db, "SELECT data FROM rp_snapshots WHERE " NEWEST, -1, &st, NULL), SQLITE_OK);
  assert_int_equal(sqlite3_step(st), SQLITE_ROW);
  int n = sqlite3_column_bytes(st, 0);
  assert_true(n > 0 && (size_t)n <= sizeof(data));
  memcpy(data, sqlite3_column_blob(st, 0), (size_t)n);
  sqlite3_finalize(st);
  *ret_bytes = n;
  if (bit >= n * 8) return 1;
  data[bit / 8] ^= (unsigned char)(1 << bit % 8);
  assert_int_equal(sqlite3_prepare_v2(db, "UPDATE rp_snapshots SET data = ?1 WHERE " NEWEST, -1, &st, NULL), SQLITE_OK);
  sqlite3_bind_blob(st, 1, data, n, SQLITE_STATIC);
  assert_int_equal(sqlite3_step(st), SQLITE_DONE);
  sqlite3_finalize(st);
  return 0;
}

static void expect_state(rp_session *s, const char *want, int bit)
{
  rp_error err;
  char *json;
  int rc = rp_state_json(s, -1, &json, &err);
  if (rc != 0) fail_msg("bit %d: %s", bit, rig_why(&err));
  if (strcmp(json, want) != 0) fail_msg("bit %d: another state\n%s\n%s", bit, want, json);
  rp_free(json);
}

static void test_snapshot_bits(void **state)
{
  struct room *room = *state;
  char *want = state_of(room, "first");
  rp_engine *e;
  rp_session *s;
  rp_error err;
  sqlite3 *db;
  int bytes = 0;
  OK(rig_open(room->url, false, &e, &err), err);
  assert_int_equal(sqlite3_open(room->path, &db), SQLITE_OK);
  for (int bit = 0; flip_bit(db, bit, &bytes) == 0; bit += bit < 1024 ? 3 : 13) {
    OK(rp_attach(e, "first", &s, &err), err);
    expect_state(s, want, bit);
    rp_session_free(s);
    assert_int_equal(flip_bit(db, bit, &bytes), 0); /* and back */
  }
  sqlite3_close(db);
  OK(rig_verify(e, &err), err);
  rp_close(e);
  rp_free(want);
}

/* ---- the journal ---- */

/* What a reader is given of a journal in which one event can't be read. */
struct read {
  int64_t last, lost;
  int n_lost;
};

static int note_event(void *ctx, const rp_event_info *ev)
{
  struct read *r = ctx;
  assert_int_equal(ev->seq, r->last + 1);
  r->last = ev->seq;
  if (!ev->lost) return 0;
  assert_string_equal(ev->kind, "x-damaged");
  assert_non_null(strstr(ev->body, "\"reason\""));
  r->lost = ev->seq;
  r->n_lost++;
  return 0;
}

static int to_buf(void *ctx, const void *bytes, size_t n)
{
  rp__buf_add(ctx, bytes, n);
  return ((struct rp__buf *)ctx)->err;
}

/*
 * Readers go on and name the gap in its place; the state is what it can be, and the start says that it is not all. A
 * snapshot would hide that, so none is made. The second session does not care.
 */
static void expect_named(const struct room *room, int64_t seq)
{
  rp_engine *e;
  rp_session *s;
  rp_error err;
  char id[RP_ID_MAX + 1], fork[RP_ID_MAX + 1], line[64], *json;
  struct read whole = {0}, part = {.last = seq - 1}, copy = {0}, plain = {0};
  struct rp__buf out RP_AUTOBUF = RP_BUF(1 << 24);
  id_of(room, "first", id);
  sql(room, "DELETE FROM rp_snapshots");
  OK(rig_open(room->url, false, &e, &err), err);
  OK(rp_attach(e, "first", &s, &err), err);
  OK(rp_events(s, 0, 0, note_event, &whole, &err), err);
  assert_int_equal(whole.n_lost, 1);
  assert_int_equal(whole.lost, seq);
  assert_true(whole.last > seq);
  OK(rp_events(s, seq - 1, 1, note_event, &part, &err), err);
  assert_int_equal(part.lost, seq);
  assert_int_equal(part.last, seq);
  OK(rp_state_json(s, -1, &json, &err), err);
  assert_non_null(strstr(json, "says 13"));
  rp_free(json);
  assert_int_equal(rp_checkpoint(s, NULL, &err), RP_E_CORRUPT);
  OK(rp_export(s, to_buf, &out, NULL, NULL, &err), err);
  snprintf(line, sizeof line, "{\"seq\":%" PRId64 ",", seq);
  const char *at = strstr(out.p, line);
  assert_non_null(at);
  assert_non_null(memmem(at, strcspn(at, "\n"), "x-damaged", 9));
  OK(rp_fork(s, NULL, fork, NULL, &err), err);
  rp_session_free(s);
  OK(rp_attach(e, fork, &s, &err), err);
  OK(rp_events(s, 0, 0, note_event, &copy, &err), err);
  assert_int_equal(copy.n_lost, 0); /* there it is an event like others */
  assert_int_equal(copy.last, whole.last);
  rp_session_free(s);
  OK(rp_attach(e, "second", &s, &err), err);
  OK(rp_events(s, 0, 0, note_event, &plain, &err), err);
  assert_int_equal(plain.n_lost, 0);
  OK(rig_append(s, NULL, 1, NULL, &(rp_ack){0}, &err), err);
  rp_session_free(s);
  rp_close(e);
  expect_warning(room);
}

static void expect_usable(const struct room *room)
{
  rp_engine *e;
  rp_session *s;
  rp_error err;
  char *json;
  rp_start_options o = {.scope = "test", .key = "first", .owner = RP_OWNER_SELF, .force = true};
  OK(rig_open(room->url, false, &e, &err), err);
  OK(rp_start(e, &o, &s, &err), err);
  OK(rig_append(s, NULL, 7, NULL, &(rp_ack){0}, &err), err);
  OK(rp_state_json(s, -1, &json, &err), err);
  rp_free(json);
  OK(rp_end(s, NULL, &err), err);
  rp_session_free(s);
  rp_close(e);
}

/* Found with its place; after the repair the session goes on, and whatever is left is still said. */
static void expect_found(const struct room *room, const char *damage, int64_t seq)
{
  struct findings f;
  char id[RP_ID_MAX + 1];
  id_of(room, "first", id);
  sql(room, damage);
  expect_named(room, seq);
  assert_int_equal(verify(room, false, &f), RP_E_CORRUPT);
  assert_int_equal(f.seq, seq);
  assert_string_equal(f.session, id);
  int found = f.count;
  verify(room, true, &f);
  assert_true(f.repaired > 0);
  int rc = verify(room, false, &f);
  assert_true(rc == 0 || (rc == RP_E_CORRUPT && f.count < found));
  expect_usable(room);
}

#define FIRST "session = (SELECT ref FROM rp_sessions WHERE key = 'first')"

static void test_event_body_edited(void **state)
{
  expect_found(*state, "UPDATE rp_events SET body = replace(body, 'says 12', 'says 13') WHERE " FIRST " AND seq = 12",
               12);
}

static void test_event_body_truncated(void **state)
{
  expect_found(*state, "UPDATE rp_events SET body = substr(body, 1, 9) WHERE " FIRST " AND seq = 12", 12);
}

static void test_event_body_gone(void **state)
{
  expect_found(*state, "UPDATE rp_events SET body = x'' WHERE " FIRST " AND seq = 12", 12);
}

static void test_event_kind_edited(void **state)
{
  expect_found(*state, "UPDATE rp_events SET kind = 'x-other' WHERE " FIRST " AND seq = 12", 12);
}

static void test_event_time_edited(void **state)
{
  expect_found(*state, "UPDATE rp_events SET at = at + 1 WHERE " FIRST " AND seq = 12", 12);
}

static void test_event_hole(void **state)
{
  expect_found(*state, "DELETE FROM rp_events WHERE " FIRST " AND seq = 12", 12);
}

static void test_event_last_gone(void **state)
{
  struct findings f;
  struct read read = {0};
  rp_engine *e;
  rp_session *s;
  rp_error err;
  sql(*state, "DELETE FROM rp_events WHERE " FIRST " AND seq = (SELECT max(seq) FROM rp_events WHERE " FIRST ")");
  OK(rig_open(((struct room *)*state)->url, false, &e, &err), err);
  OK(rp_attach(e, "first", &s, &err), err);
  OK(rp_events(s, 0, 0, note_event, &read, &err), err);
  assert_int_equal(read.n_lost, 1);
  assert_int_equal(read.lost, read.last);
  rp_session_free(s);
  rp_close(e);
  assert_int_equal(verify(*state, false, &f), RP_E_CORRUPT);
  verify(*state, true, &f);
  assert_true(f.repaired > 0);
  expect_usable(*state);
}

static void test_counters_edited(void **state)
{
  struct room *room = *state;
  struct findings f;
  rp_engine *e;
  rp_session *s;
  rp_error err = {0};
  sql(room, "UPDATE rp_heads SET last_seq = 3, bytes = 1 WHERE " FIRST);
  OK(rig_open(room->url, false, &e, &err), err);
  OK(rp_attach(e, "first", &s, &err), err);
  int rc = rig_append(s, NULL, 1, NULL, &(rp_ack){0}, &err);
  assert_int_equal(rc, RP_E_CORRUPT);
  rp_session_free(s);
  rp_close(e);
  assert_int_equal(verify(room, false, &f), RP_E_CORRUPT);
  assert_int_equal(verify(room, true, &f), 0);
  assert_int_equal(verify(room, false, &f), 0);
  expect_usable(room);
}

/* An event that is numbered beyond the end leaves a hole; both are marked, once. */
static void test_event_beyond_the_end(void **state)
{
  struct room *room = *state;
  struct findings f;
  sql(room,
      "UPDATE rp_events SET seq = seq + 3 WHERE " FIRST " AND seq = (SELECT last_seq FROM rp_heads WHERE " FIRST ")");
  assert_int_equal(verify(room, false, &f), RP_E_CORRUPT);
  assert_int_equal(verify(room, true, &f), 0);
  assert_int_equal(f.repaired, 4);
  assert_int_equal(verify(room, true, &f), 0);
  assert_int_equal(f.count, 0);
  expect_usable(room);
}

/* A number that no journal reached is no reason to fill a million holes, nor to count on from there. */
static void test_event_far_beyond_the_end(void **state)
{
  struct room *room = *state;
  struct findings f;
  sql(room, "UPDATE rp_events SET seq = seq + 1048576 WHERE " FIRST " AND seq = 12");
  assert_int_equal(verify(room, false, &f), RP_E_CORRUPT);
  assert_int_equal(verify(room, true, &f), RP_E_CORRUPT);
  assert_int_equal(f.repaired, 1);
  assert_int_equal(verify(room, true, &f), RP_E_CORRUPT);
  assert_int_equal(f.count, 1);
}

/* ---- the rows of sessions ---- */

static int count_session(void *ctx, const rp_session_info *info)
{
  (void)info;
  ++*(int *)ctx;
  return 0;
}

/* How many sessions a list has. */
static int listed(const struct room *room)
{
  rp_engine *e;
  rp_error err;
  int n = 0;
  OK(rig_open(room->url, false, &e, &err), err);
  OK(rp_list(e, NULL, count_session, &n, &err), err);
  rp_close(e);
  return n;
}

/* Reading goes on, of this session and of others; writing is refused until the repair. */
static void test_status_that_is_none(void **state)
{
  struct room *room = *state;
  struct findings f;
  struct read read = {0};
  rp_engine *e;
  rp_session *s;
  rp_error err = {0};
  char *told;
  rp_start_options o = {.scope = "test", .key = "first", .owner = RP_OWNER_NONE, .force = true};
  rp_gc_options all = {.older_than_ms = 1};
  sql(room, "UPDATE rp_heads SET status = 6");
  assert_int_equal(listed(room), 2);
  OK(rig_open(room->url, false, &e, &err), err);
  OK(rp_gc(e, &all, NULL, NULL, NULL, NULL, &told, &err), err);
  rp_free(told);
  assert_int_equal(rp_start(e, &o, &s, &err), RP_E_CORRUPT);
  assert_non_null(strstr(err.hint, "verify --repair"));
  o.key = "third"; /* of the same scope, where the runs of the damaged ones are found dead */
  OK(rp_start(e, &o, &s, &err), err);
  rp_session_detach(s);
  OK(rp_attach(e, "first", &s, &err), err);
  OK(rp_events(s, 0, 0, note_event, &read, &err), err);
  assert_int_equal(read.last, EVENTS);
  assert_int_equal(rig_append(s, NULL, 1, NULL, &(rp_ack){0}, &err), RP_E_CORRUPT);
  rp_session_free(s);
  rp_close(e);
  assert_int_equal(verify(room, false, &f), RP_E_CORRUPT);
  assert_int_equal(f.count, 2);
  assert_int_equal(verify(room, true, &f), 0);
  assert_int_equal(f.repaired, 2);
  assert_int_equal(verify(room, false, &f), 0);
  assert_int_equal(f.count, 0);
  expect_usable(room);
}

/* It can be deleted as it is. */
static void test_status_that_is_none_deleted(void **state)
{
  struct room *room = *state;
  struct findings f;
  rp_engine *e;
  rp_error err = {0};
  char id[RP_ID_MAX + 1];
  id_of(room, "first", id);
  sql(room, "UPDATE rp_heads SET status = 6 WHERE " FIRST);
  OK(rig_open(room->url, false, &e, &err), err);
  OK(rp_purge(e, id, true, &err), err);
  rp_close(e);
  assert_int_equal(listed(room), 1);
  assert_int_equal(verify(room, false, &f), 0);
}

static void test_session_hidden_by_damage(void **state)
{
  struct room *room = *state;
  struct findings f;
  sql(room, "UPDATE rp_sessions SET hidden = 1 WHERE key = 'first'");
  assert_int_equal(listed(room), 1);
  assert_int_equal(verify(room, false, &f), RP_E_CORRUPT);
  assert_int_equal(f.count, 1);
  assert_int_equal(verify(room, true, &f), 0);
  assert_int_equal(f.repaired, 1);
  assert_int_equal(verify(room, true, &f), 0);
  assert_int_equal(f.count, 0);
  assert_int_equal(listed(room), 2);
  expect_usable(room);
}

static void test_counter_of_sessions(void **state)
{
  struct room *room = *state;
  struct findings f;
  rp_engine *e;
  rp_session *s;
  rp_error err = {0};
  sql(room, "UPDATE rp_meta SET value = 0 WHERE name = 'last_session'");
  assert_int_equal(verify(room, false, &f), RP_E_CORRUPT);
  assert_int_equal(verify(room, true, &f), 0);
  assert_int_equal(f.repaired, 1);
  assert_int_equal(verify(room, false, &f), 0);
  sql(room, "UPDATE rp_meta SET value = 0 WHERE name = 'last_session'");
  OK(rig_open(room->url, false, &e, &err), err);
  OK(rig_hold(e, "third", false, &s, &err), err);
  rp_session_detach(s);
  rp_close(e);
  assert_int_equal(listed(room), 3);
  assert_int_equal(verify(room, false, &f), 0);
}

/* ---- the file ---- */

static void overwrite(const char *path, long from, const void *bytes, size_t n)
{
  FILE *f = fopen(path, "r+");
  assert_non_null(f);
  assert_int_equal(fseek(f, from, SEEK_SET), 0);
  assert_int_equal(fwrite(bytes, 1, n, f), n);
  assert_int_equal(fclose(f), 0);
}

static void test_file_is_noise(void **state)
{
  struct room *room = *state;
  char noise[4096];
  rp_engine *e;
  rp_error err = {0};
  memset(noise, 0x5a, sizeof(noise));
  scratch_empty(&room->dir);
  FILE *f = fopen(room->path, "w");
  assert_non_null(f);
  assert_int_equal(fclose(f), 0);
  overwrite(room->path, 0, noise, sizeof(noise));
  int rc = rig_open(room->url, false, &e, &err);
  assert_int_equal(rc, RP_E_CORRUPT);
  assert_true(err.message[0]);
}

static void test_file_of_a_newer_version(void **state)
{
  struct room *room = *state;
  rp_engine *e;
  rp_error err = {0};
  sql(room, "UPDATE rp_meta SET value = value + 1 WHERE name = 'schema_version'");
  assert_int_equal(rig_open(room->url, false, &e, &err), RP_E_VERSION);
  assert_int_equal(rp_error_lookup(RP_E_VERSION)->exit_code, 6);
}

/* ---- the schema ---- */

#define ENDLESS "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT "

/* What has our names and is not ours is refused, before anything of it is asked: some of these never end. */
static void test_schema_of_somebody_else(void **state)
{
  static const struct {
    const char *sql, *named;
  } rows[] = {
      {"ALTER TABLE rp_clients RENAME TO x; CREATE VIEW rp_clients AS " ENDLESS
       "i AS session, 'c' AS client, i AS mark, i AS seq FROM n",
       "view rp_clients"},
      /* What looks for losses at the opening asks this one: the log that was synced is gone. */
      {"DROP TABLE rp_events; CREATE VIEW rp_events AS " ENDLESS "i AS id, i AS session, i AS seq FROM n",
       "view rp_events"},
      {"ALTER TABLE rp_heads RENAME TO x; CREATE VIEW RP_heads AS SELECT * FROM x", "view RP_heads"},
      {"CREATE VIEW rp_new AS " ENDLESS "i FROM n", "view rp_new"},
      {"CREATE TRIGGER t AFTER INSERT ON rp_events BEGIN DELETE FROM rp_runs; END", "trigger t"},
      {"CREATE TRIGGER t INSTEAD OF INSERT ON agent_session_states BEGIN SELECT 1; END;"
       "CREATE TRIGGER rp_t AFTER INSERT ON session_states BEGIN SELECT 1; END",
       "trigger rp_t"},
      {"CREATE VIRTUAL TABLE rp_words USING fts5 (a, content = 'rp_events')", "virtual table rp_words"},
      {"DROP TABLE session_states; CREATE VIEW session_states AS " ENDLESS "i AS id FROM n", "session_states"},
  };
  struct room *room = *state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    rp_engine *e;
    rp_error err = {0};
    rp_options read = {.db = room->url, .read_only = true};
    leave(state);
    assert_int_equal(enter(state), 0);
    room = *state;
    ddl(room, rows[i].sql);
    for (int reads = 0; reads < 2; reads++) {
      read.db = room->url;
      int rc = reads ? rp_open(&read, &e, &err) : rig_open(room->url, false, &e, &err);
      if (rc != RP_E_VERSION || !strstr(err.message, rows[i].named))
        fail_msg("%s: %d %s", rows[i].sql, rc, err.message);
    }
  }
}

/* A trigger of another program on a table of its own, and on session_states, which it may share with us, is its
 * business. */
static void test_triggers_of_others_stay(void **state)
{
  struct room *room = *state;
  ddl(room, "CREATE TABLE theirs (a); CREATE TRIGGER t AFTER INSERT ON theirs BEGIN SELECT 1; END;"
            "CREATE TRIGGER u AFTER INSERT ON session_states BEGIN INSERT INTO theirs VALUES (1); END");
  expect_usable(room);
}

/* ---- numbers ---- */

static int any_session(void *ctx, const rp_session_info *info)
{
  (void)ctx, (void)info;
  return 0;
}

static int any_event(void *ctx, const rp_event_info *ev)
{
  (void)ctx, (void)ev;
  return 0;
}

static int any_memory(void *ctx, const rp_memory_info *m)
{
  (void)ctx, (void)m;
  return 0;
}

/* What may be done with a session; whatever it says, it says it in words of the table. */
static void use_it_all(const char *url, const char *what)
{
  rp_engine *e;
  rp_session *s = NULL;
  rp_error err = {0};
  char *doc = NULL;
  rp_event ev = {.kind = "message", .body = "{\"role\":\"user\",\"content\":\"more\"}"};
  rp_append_options numbered = {.client_id = "c", .client_seq = 2};
  rp_start_options o = {.scope = "test", .key = "first", .owner = RP_OWNER_SELF, .force = true};
  int rc = rig_open(url, false, &e, &err);
  if (rc) {
    if (!rig_typed(rc)) fail_msg("%s: %d", what, rc);
    return;
  }
  int codes[] = {
      rp_list(e, NULL, any_session, NULL, &err),
      rp_start(e, &o, &s, &err),
      s ? rp_state_json(s, -1, &doc, &err) : 0,
      s ? rp_append(s, &ev, NULL, NULL, &err) : 0,
      s ? rp_append(s, &ev, &numbered, NULL, &err) : 0,
      s ? rp_events(s, 0, 0, any_event, NULL, &err) : 0,
      s ? rp_checkpoint(s, NULL, &err) : 0,
      s ? rp_end(s, NULL, &err) : 0,
      rp_memories(e, "test", NULL, 10, any_memory, NULL, &err),
  };
  for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
    if (codes[i] && !rig_typed(codes[i])) fail_msg("%s: step %zu: %d", what, i, codes[i]);
  rp_free(doc);
  rp_session_free(s);
  static int (*const told[])(rp_engine *, char **, rp_error *) = {rp_stats_json, rp_doctor_json};
  for (size_t i = 0; i < 2; i++) {
    doc = NULL;
    rc = told[i](e, &doc, &err);
    if (rc && !rig_typed(rc)) fail_msg("%s: %d", what, rc);
    rp_free(doc);
  }
  struct findings f = {0};
  rc = rp_verify(e, NULL, true, note_finding, &f, NULL, NULL, &err);
  if (rc && !rig_typed(rc)) fail_msg("%s: verify: %d", what, rc);
  rp_close(e);
}

static void copy_file(const char *from, const char *to)
{
  char bytes[65536];
  FILE *in = fopen(from, "r"), *out = fopen(to, "w");
  assert_non_null(in);
  assert_non_null(out);
  for (size_t n; (n = fread(bytes, 1, sizeof bytes, in)) > 0;) assert_int_equal(fwrite(bytes, 1, n, out), n);
  assert_int_equal(fclose(in), 0);
  assert_int_equal(fclose(out), 0);
}

/* Every number of every table, set to the ends of what can be stored: no sum overflows (with the sanitizers), nothing
 * hangs. */
static void test_numbers_at_the_ends(void **state)
{
  static const char *const values[] = {"9223372036854775807", "-9223372036854775808", "-1", "9007199254740993"};
  struct room *room = *state;
  char good[SCRATCH_PATH], change[400], path[SCRATCH_PATH + 8];
  int64_t tried = 0, each = dice_rounds(2, 4);
  rp_engine *e;
  rp_session *s;
  rp_error err = {0};
  rp_append_options numbered = {.client_id = "c", .client_seq = 1};
  rp_event ev = {.kind = "message", .body = "{\"role\":\"user\",\"content\":\"x\"}", .idempotency_key = "i"};
  OK(rig_open(room->url, false, &e, &err), err);
  OK(rp_attach(e, "first", &s, &err), err);
  OK(rp_append(s, &ev, &numbered, NULL, &err), err);
  rp_session_free(s);
  rp_close(e);
  ddl(room, "PRAGMA wal_checkpoint(TRUNCATE)");
  copy_file(room->path, scratch_path(&room->dir, "good.db", good));

  sqlite3 *db;
  sqlite3_stmt *st;
  assert_int_equal(sqlite3_open(good, &db), SQLITE_OK);
  assert_int_equal(
      sqlite3_prepare_v2(db,
                         "SELECT t.name, c.name FROM sqlite_schema t, pragma_table_info(t.name) c WHERE"
                         " t.type = 'table' AND t.name LIKE 'rp\\_%' ESCAPE '\\' AND t.name NOT LIKE '%fts%'"
                         " AND c.type = 'INTEGER' AND NOT (t.name = 'rp_meta' AND c.name <> 'value')",
                         -1, &st, NULL),
      SQLITE_OK);
  while (sqlite3_step(st) == SQLITE_ROW) {
    for (int64_t i = 0; i < each; i++) {
      static const char *const ends[] = {"", "-wal", "-shm"};
      const char *table = (const char *)sqlite3_column_text(st, 0);
      for (size_t k = 0; k < 3; k++) {
        snprintf(path, sizeof path, "%s%s", room->path, ends[k]);
        remove(path);
      }
      copy_file(good, room->path);
      snprintf(change, sizeof change, "UPDATE OR IGNORE %s SET %s = %s%s", table, sqlite3_column_text(st, 1), values[i],
               strcmp(table, "rp_meta") == 0 ? " WHERE name <> 'schema_version'" : "");
      sqlite3 *raw;
      assert_int_equal(sqlite3_open(room->path, &raw), SQLITE_OK);
      assert_int_equal(sqlite3_exec(raw, change, NULL, NULL, NULL), SQLITE_OK);
      bool changed = sqlite3_total_changes(raw) > 0;
      sqlite3_close(raw);
      if (!changed) continue;
      use_it_all(room->url, change);
      tried++;
    }
  }
  sqlite3_finalize(st);
  sqlite3_close(db);
  printf("numbers: %" PRId64 " changes\n", tried);
  assert_true(tried > 50);
}

/* Nothing is counted on from a number that can't be one; a repair counts anew. */
static void test_absurd_counters(void **state)
{
  static const char *const rows[] = {"last_seq = 9223372036854775807", "last_seq = -1", "epoch = 9223372036854775807",
                                     "bytes = -9223372036854775808", "tail_bytes = 9223372036854775806"};
  struct room *room = *state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char change[120];
    rp_engine *e;
    rp_session *s;
    struct findings f;
    rp_error err = {0};
    rp_start_options o = {.scope = "test", .key = "first", .owner = RP_OWNER_NONE, .force = true};
    snprintf(change, sizeof change, "UPDATE rp_heads SET %s WHERE " FIRST, rows[i]);
    sql(room, change);
    OK(rig_open(room->url, false, &e, &err), err);
    if (strncmp(rows[i], "epoch", 5) == 0) {
      assert_int_equal(rp_start(e, &o, &s, &err), RP_E_CORRUPT);
    } else {
      OK(rp_attach(e, "first", &s, &err), err);
      assert_int_equal(rig_append(s, NULL, 1, NULL, &(rp_ack){0}, &err), RP_E_CORRUPT);
      assert_non_null(strstr(err.hint, "verify --repair"));
      rp_session_free(s);
    }
    rp_close(e);
    assert_int_equal(verify(room, false, &f), RP_E_CORRUPT);
    assert_int_equal(verify(room, true, &f), 0);
    assert_int_equal(verify(room, false, &f), 0);
    OK(rig_open(room->url, false, &e, &err), err);
    OK(rp_start(e, &o, &s, &err), err);
    OK(rig_append(s, NULL, 1, NULL, &(rp_ack){0}, &err), err);
    rp_session_free(s);
    rp_close(e);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      WITH(test_snapshot_truncated),       WITH(test_snapshot_short),          WITH(test_snapshot_empty),
      WITH(test_snapshot_noise),           WITH(test_snapshot_longer),         WITH(test_snapshot_text),
      WITH(test_snapshot_of_another_seq),  WITH(test_all_snapshots_damaged),   WITH(test_snapshot_bits),
      WITH(test_event_body_edited),        WITH(test_event_body_truncated),    WITH(test_event_body_gone),
      WITH(test_event_kind_edited),        WITH(test_event_time_edited),       WITH(test_event_hole),
      WITH(test_event_last_gone),          WITH(test_counters_edited),         WITH(test_file_is_noise),
      WITH(test_file_of_a_newer_version),  WITH(test_schema_of_somebody_else), WITH(test_triggers_of_others_stay),
      WITH(test_absurd_counters),          WITH(test_numbers_at_the_ends),     WITH(test_event_beyond_the_end),
      WITH(test_event_far_beyond_the_end), WITH(test_status_that_is_none),     WITH(test_status_that_is_none_deleted),
      WITH(test_session_hidden_by_damage), WITH(test_counter_of_sessions),
  };
  setvbuf(stdout, NULL, _IOLBF, 0);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
