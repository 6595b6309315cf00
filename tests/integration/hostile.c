/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Damage and malice: snapshots, journal rows and export files changed behind the
 * engine's back, and input that means harm. Damage is found and named, what is
 * sound goes on working, and nothing of a refused request is stored.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "lib/rig.h"
#include "lib/scratch.h"

#define OK(call, err)                                                                                                  \
  do {                                                                                                                 \
    if ((call) != 0) fail_msg("%s: %s", #call, rig_why(&(err)));                                                       \
  } while (0)

#define EVENTS 30
#define DOC_MAX (1024 * 1024)

struct room {
  struct scratch dir;
  char path[SCRATCH_PATH], url[RIG_URL];
};

/* Two sessions; the first has a snapshot after each ten messages, the last one five messages before the end. */
static void fill_session(rp_engine *e, const char *key, int events, int every)
{
  rp_session *s;
  rp_error err;
  rp_ack ack;
  OK(rig_hold(e, key, false, &s, &err), err);
  for (int i = 1; i <= events; i++) {
    char body[120];
    snprintf(body, sizeof(body), "{\"role\":\"user\",\"content\":\"%s says %d\"}", key, i);
    rp_event ev = {.kind = "message", .body = body};
    OK(rp_append(s, &ev, NULL, &ack, &err), err);
    if (every && i % every == 0 && i < events) OK(rp_checkpoint(s, NULL, &err), err);
  }
  rp_session_detach(s);
}

static int enter(void **state)
{
  struct room *room = calloc(1, sizeof(*room));
  rp_engine *e;
  rp_error err;
  if (!room || scratch_make_fast(&room->dir) != 0) return -1;
  rig_url(scratch_path(&room->dir, "h.db", room->path), room->url);
  OK(rig_open(room->url, false, &e, &err), err);
  fill_session(e, "first", EVENTS, 8);
  fill_session(e, "second", 5, 0);
  rp_close(e);
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

static int ignore_event(void *ctx, const rp_event_info *ev)
{
  (void)ctx;
  (void)ev;
  return 0;
}

/* Reading the first session names it and the seq; the second does not care. */
static void expect_named(const struct room *room, int64_t seq)
{
  rp_engine *e;
  rp_session *s;
  rp_error err;
  char id[RP_ID_MAX + 1], text[32];
  id_of(room, "first", id);
  snprintf(text, sizeof(text), "%" PRId64, seq);
  OK(rig_open(room->url, false, &e, &err), err);
  OK(rp_attach(e, "first", &s, &err), err);
  assert_int_equal(rp_events(s, 0, 0, ignore_event, NULL, &err), RP_E_CORRUPT);
  if (!strstr(err.message, id) || !strstr(err.message, text)) fail_msg("does not say where: %s", err.message);
  rp_session_free(s);
  OK(rp_attach(e, "second", &s, &err), err);
  OK(rp_events(s, 0, 0, ignore_event, NULL, &err), err);
  OK(rig_append(s, NULL, 1, NULL, &(rp_ack){0}, &err), err);
  rp_session_free(s);
  rp_close(e);
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
  sql(*state, "DELETE FROM rp_events WHERE " FIRST " AND seq = (SELECT max(seq) FROM rp_events WHERE " FIRST ")");
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

/* ---- exports ---- */

struct doc {
  char *bytes;
  size_t n, at, end;
};

static int doc_write(void *ctx, const void *bytes, size_t n)
{
  struct doc *d = ctx;
  if (n > DOC_MAX - d->n) return 1;
  memcpy(d->bytes + d->n, bytes, n);
  d->n += n;
  return 0;
}

static long doc_read(void *ctx, void *bytes, size_t n)
{
  struct doc *d = ctx;
  if (n > d->end - d->at) n = d->end - d->at;
  memcpy(bytes, d->bytes + d->at, n);
  d->at += n;
  return (long)n;
}

static void export_first(const struct room *room, struct doc *d)
{
  rp_engine *e;
  rp_session *s;
  rp_error err;
  *d = (struct doc){.bytes = malloc(DOC_MAX)};
  assert_non_null(d->bytes);
  OK(rig_open(room->url, false, &e, &err), err);
  OK(rp_attach(e, "first", &s, &err), err);
  OK(rp_export(s, doc_write, d, NULL, NULL, &err), err);
  rp_session_free(s);
  rp_close(e);
}

static int count_session(void *ctx, const rp_session_info *info)
{
  (void)info;
  ++*(int *)ctx;
  return 0;
}

static int import_doc(rp_engine *e, struct doc *d, size_t end, char *ret_id, rp_error *err)
{
  d->at = 0;
  d->end = end;
  return rp_import(e, doc_read, d, NULL, NULL, ret_id, err);
}

static void expect_refused(rp_engine *e, struct doc *d, size_t end, const char *how, size_t where)
{
  char id[RP_ID_MAX + 1];
  rp_error err = {0};
  int sessions = 0;
  int rc = import_doc(e, d, end, id, &err);
  if (rc == 0) fail_msg("%s at %zu of %zu was accepted", how, where, d->n);
  if (!rig_typed(rc) || err.code != rc || !err.message[0]) fail_msg("%s at %zu: code %d", how, where, rc);
  OK(rp_list(e, NULL, count_session, &sessions, &err), err);
  if (sessions) fail_msg("%s at %zu was refused and left something behind", how, where);
}

static void test_export_damaged(void **state)
{
  struct doc d;
  rp_engine *e;
  rp_error err;
  char id[RP_ID_MAX + 1];
  rp_options o = {.db = "memory:", .short_lived = true};
  export_first(*state, &d);
  OK(rp_open(&o, &e, &err), err);
  for (size_t n = 0; n < d.n - 1; n += 1 + d.n / 300) expect_refused(e, &d, n, "cut", n);
  for (size_t i = 0; i < d.n; i += 1 + d.n / 1500) {
    char was = d.bytes[i];
    d.bytes[i] = (char)(was ^ (1 << i % 7));
    expect_refused(e, &d, d.n, "flip", i);
    d.bytes[i] = was;
  }
  OK(import_doc(e, &d, d.n, id, &err), err);
  OK(rig_verify(e, &err), err);
  rp_close(e);
  free(d.bytes);
}

/* Refused after many pages, in a file this time: nothing is left in the tables either. */
static void test_export_damaged_late(void **state)
{
  struct room *room = *state;
  struct doc d;
  rp_engine *e;
  rp_error err;
  struct findings f;
  char id[RP_ID_MAX + 1], url[RIG_URL], path[SCRATCH_PATH];
  export_first(room, &d);
  rig_url(scratch_path(&room->dir, "into.db", path), url);
  OK(rig_open(url, false, &e, &err), err);
  expect_refused(e, &d, d.n * 2 / 3, "cut", d.n * 2 / 3);
  rp_close(e);
  OK(rig_verify_file(url, &err), err);
  OK(rig_open(url, false, &e, &err), err);
  OK(import_doc(e, &d, d.n, id, &err), err);
  rp_close(e);
  assert_int_equal(verify(room, false, &f), 0);
  free(d.bytes);
}

/* ---- names and bodies ---- */

static const char *const bad_names[] = {
    "../../etc/passwd",       "..",       "a/b",       "/etc/passwd", "a b",  "-a", ".a", "a\nb", "a'b",
    "a;DROP TABLE rp_events", "\xc3\xa4", "a..b/../c", "%00",         "a\\b", "",   NULL};

static int start_named(rp_engine *e, int which, const char *name, rp_error *err)
{
  rp_session *s;
  rp_start_options o = {.scope = "test", .key = "k", .owner = RP_OWNER_SELF};
  if (which == 0) o.scope = name;
  if (which == 1) o.key = name;
  if (which == 2) o.id = name;
  if (which == 3) o.channel = name;
  int rc = rp_start(e, &o, &s, err);
  if (rc == 0) rp_session_free(s);
  return rc;
}

static void expect_name_refused(rp_engine *e, int which, const char *name)
{
  rp_error err = {0};
  int rc = start_named(e, which, name, &err);
  /* An empty key, id or channel may count as none. */
  if (name[0] == '\0' && which != 0 && rc == 0) return;
  if (rc != RP_E_USAGE && rc != RP_E_INVALID) fail_msg("name %d \"%s\": %d", which, name, rc);
  assert_true(err.message[0]);
}

static void test_names(void **state)
{
  struct room *room = *state;
  char url[RIG_URL], path[SCRATCH_PATH], longest[RP_ID_MAX + 2];
  rp_engine *e;
  rp_session *s;
  rp_error err;
  rig_url(scratch_path(&room->dir, "names.db", path), url);
  OK(rig_open(url, false, &e, &err), err);
  memset(longest, 'a', sizeof(longest) - 1);
  longest[RP_ID_MAX + 1] = '\0';
  for (int which = 0; which < 4; which++) {
    for (int i = 0; bad_names[i]; i++) expect_name_refused(e, which, bad_names[i]);
    longest[RP_ID_MAX] = 'a';
    expect_name_refused(e, which, longest);
    longest[RP_ID_MAX] = '\0';
    OK(start_named(e, which, longest, &err), err);
  }
  for (int i = 0; bad_names[i]; i++) {
    int rc = rp_attach(e, bad_names[i], &s, &err);
    if (rc != RP_E_USAGE && rc != RP_E_SESSION_NOT_FOUND) fail_msg("attach \"%s\": %d", bad_names[i], rc);
  }
  OK(rig_verify(e, &err), err);
  rp_close(e);
}

static char *nested(int depth)
{
  char *body = malloc((size_t)depth * 6 + 16), *p = body;
  assert_non_null(body);
  for (int i = 0; i < depth - 1; i++) p += snprintf(p, 8, "{\"a\":");
  p += snprintf(p, 8, "{}");
  for (int i = 0; i < depth - 1; i++) *p++ = '}';
  *p = '\0';
  return body;
}

static char *sized(size_t n)
{
  char *body = malloc(n + 1);
  assert_non_null(body);
  memset(body, 'x', n);
  memcpy(body, "{\"a\":\"", 6);
  memcpy(body + n - 2, "\"}", 3);
  return body;
}

static void expect_body(rp_session *s, const char *kind, const char *body, int want)
{
  rp_error err = {0};
  rp_ack ack;
  rp_event ev = {.kind = kind, .body = body};
  int rc = rp_append(s, &ev, NULL, &ack, &err);
  if (rc != want) fail_msg("kind %.20s, body %.40s: %d instead of %d (%s)", kind, body, rc, want, err.message);
}

static int64_t last_seq(rp_session *s)
{
  int64_t mark, seq;
  rp_error err;
  OK(rp_sync(s, "nobody", &mark, &seq, &err), err);
  return seq;
}

static void test_bodies(void **state)
{
  struct room *room = *state;
  char *deep = nested(RP_DEPTH_MAX + 1), *deepest = nested(RP_DEPTH_MAX);
  char *big = sized(RP_BODY_MAX + 1), *biggest = sized(RP_BODY_MAX);
  char kind[RP_ID_MAX + 8];
  rp_engine *e;
  rp_session *s;
  rp_error err;
  memset(kind, 'x', sizeof(kind) - 1);
  kind[1] = '-';
  kind[sizeof(kind) - 1] = '\0';
  OK(rig_open(room->url, false, &e, &err), err);
  OK(rp_attach(e, "second", &s, &err), err);
  int64_t before = last_seq(s);
  expect_body(s, "x-a", deep, RP_E_INVALID);
  expect_body(s, "x-a", big, RP_E_TOO_LARGE);
  expect_body(s, "x-a", "{\"a\":1,\"a\":2}", RP_E_JSON);
  expect_body(s, "x-a", "{\"a\":NaN}", RP_E_JSON);
  expect_body(s, "x-a", "{\"a\":\"\xff\"}", RP_E_JSON);
  expect_body(s, "x-a", "{\"a\":1} x", RP_E_JSON);
  expect_body(s, "x-a", "[1]", RP_E_INVALID);
  expect_body(s, "nonsense", "{}", RP_E_INVALID);
  expect_body(s, "status", "{}", RP_E_INVALID);
  expect_body(s, kind, "{}", RP_E_INVALID);
  expect_body(s, "message", "{\"role\":\"nobody\",\"content\":\"\"}", RP_E_INVALID);
  assert_int_equal(last_seq(s), before);
  expect_body(s, "x-a", deepest, 0);
  expect_body(s, "x-a", biggest, 0);
  assert_int_equal(last_seq(s), before + 2);
  rp_session_free(s);
  OK(rig_verify(e, &err), err);
  rp_close(e);
  free(deep);
  free(deepest);
  free(big);
  free(biggest);
}

/* One bad event and nothing of the batch is stored; too many are refused. */
static void test_batches(void **state)
{
  struct room *room = *state;
  rp_event ev[3] = {{.kind = "x-a", .body = "{}"}, {.kind = "x-a", .body = "{"}, {.kind = "x-a", .body = "{}"}};
  rp_event *many = calloc(RP_BATCH_MAX + 1, sizeof(*many));
  rp_engine *e;
  rp_session *s;
  rp_error err;
  rp_ack ack;
  assert_non_null(many);
  for (int i = 0; i <= RP_BATCH_MAX; i++) many[i] = ev[0];
  OK(rig_open(room->url, false, &e, &err), err);
  OK(rp_attach(e, "second", &s, &err), err);
  int64_t before = last_seq(s);
  assert_int_equal(rp_append_many(s, ev, 3, NULL, &ack, &err), RP_E_JSON);
  int rc = rp_append_many(s, many, RP_BATCH_MAX + 1, NULL, &ack, &err);
  assert_true(rc == RP_E_LIMIT || rc == RP_E_TOO_LARGE || rc == RP_E_USAGE);
  assert_int_equal(last_seq(s), before);
  OK(rp_append_many(s, many, RP_BATCH_MAX, NULL, &ack, &err), err);
  assert_int_equal(ack.first_seq, before + 1);
  assert_int_equal(ack.seq, before + RP_BATCH_MAX);
  rp_session_free(s);
  rp_close(e);
  free(many);
}

#define WITH(test) cmocka_unit_test_setup_teardown(test, enter, leave)

int main(void)
{
  const struct CMUnitTest tests[] = {
      WITH(test_snapshot_truncated),
      WITH(test_snapshot_short),
      WITH(test_snapshot_empty),
      WITH(test_snapshot_noise),
      WITH(test_snapshot_longer),
      WITH(test_snapshot_text),
      WITH(test_snapshot_of_another_seq),
      WITH(test_all_snapshots_damaged),
      WITH(test_snapshot_bits),
      WITH(test_event_body_edited),
      WITH(test_event_body_truncated),
      WITH(test_event_body_gone),
      WITH(test_event_kind_edited),
      WITH(test_event_time_edited),
      WITH(test_event_hole),
      WITH(test_event_last_gone),
      WITH(test_counters_edited),
      WITH(test_file_is_noise),
      WITH(test_file_of_a_newer_version),
      WITH(test_export_damaged),
      WITH(test_export_damaged_late),
      WITH(test_names),
      WITH(test_bodies),
      WITH(test_batches),
  };
  setvbuf(stdout, NULL, _IOLBF, 0);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
