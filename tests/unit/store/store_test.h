/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of the store share. */
#ifndef TEST_STORE_H
#define TEST_STORE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/error.h"
#include "lib/scratch.h"
#include "store/rules.h"
#include "store/sqlite/sqlite.h"

#define NOW 1700000000000LL

/* session_states as a program of the seed has it: other order, other types, a further column, no indexes of ours. */
#define SEED_STATES                                                                                                    \
  "CREATE TABLE session_states (extra INTEGER NOT NULL DEFAULT 5, updated_at, created_at TEXT NOT NULL,"               \
  " id TEXT PRIMARY KEY, start_time TEXT NOT NULL, END_TIME TEXT, channel TEXT DEFAULT 'unknown',"                     \
  " sop_interactions TEXT NOT NULL DEFAULT '[]', working_memory TEXT NOT NULL DEFAULT '[]',"                           \
  " hot_topics TEXT NOT NULL DEFAULT '[]', active_projects TEXT NOT NULL DEFAULT '[]',"                                \
  " pending_tasks TEXT NOT NULL DEFAULT '[]', recent_learnings TEXT NOT NULL DEFAULT '[]',"                            \
  " confidence_updates TEXT NOT NULL DEFAULT '[]', previous_session_id TEXT, continued_by TEXT,"                       \
  " crash_recovered INTEGER DEFAULT 0, schema_version INTEGER DEFAULT 1);"

/* A database of its own for each test. */
struct box {
  struct scratch dir;
  char path[SCRATCH_PATH];
  struct rp__store *s;
  rp_error err;
};

static inline int box_setup(void **state)
{
  struct box *b = calloc(1, sizeof *b);
  if (!b || scratch_make_fast(&b->dir)) return -1;
  scratch_path(&b->dir, "box/store.db", b->path);
  *state = b;
  return 0;
}

static inline int box_teardown(void **state)
{
  struct box *b = *state;
  if (b->s) b->s->ops->close(b->s);
  scratch_remove(&b->dir);
  free(b);
  return 0;
}
#define BOX_TEST(fn) cmocka_unit_test_setup_teardown(fn, box_setup, box_teardown)

static inline void box_open(struct box *b)
{
  struct rp__store_options o = {.path = b->path};
  if (rp__store_sqlite_open(&o, &b->s, &b->err) != 0) fail_msg("%s", b->err.message);
}

static inline void box_close(struct box *b)
{
  b->s->ops->close(RP_TAKE(b->s));
}

/* Commits one op; its rc, or the commit's. */
static inline int commit_as(struct rp__store *s, struct rp__op *op, rp_durability d, rp_error *err)
{
  struct rp__txn t = {.ops = op, .n = 1, .durability = d}, *group = &t;
  int rc = s->ops->commit(s, &group, 1, err);
  if (rc == 0 && t.rc != 0) *err = t.err;
  return rc ? rc : t.rc;
}

static inline int put_in(struct rp__store *s, const char *id, int64_t *ret_ref, rp_error *err)
{
  struct rp__session_row row = {.created_at = NOW, .last_activity_at = NOW};
  rp__name_set(row.id, id);
  rp__name_set(row.scope, "s");
  struct rp__op op = {.type = RP_OP_SESSION_PUT, .session_id = id, .now_ms = NOW, .u.session_put.row = &row};
  int rc = commit_as(s, &op, RP_OS, err);
  if (ret_ref) *ret_ref = op.ret.ref;
  return rc;
}

static inline int say_in(struct rp__store *s, const char *id, const char *text, rp_durability d, int64_t *ret_seq,
                         rp_error *err)
{
  char body[8192];
  snprintf(body, sizeof body, "{\"role\":\"user\",\"content\":\"%s\"}", text);
  struct rp__new_event ev = {.kind = "message", .body = body, .body_len = strlen(body), .at_ms = NOW};
  struct rp__op op = {
      .type = RP_OP_APPEND, .session_id = id, .now_ms = NOW, .u.append = {.events = &ev, .n = 1, .expect = -1}};
  int rc = commit_as(s, &op, d, err);
  if (ret_seq) *ret_seq = op.ret.seq;
  return rc;
}

/* The store's file as any other program sees it. */
static inline sqlite3 *raw_open(const char *path)
{
  sqlite3 *db;
  assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
  return db;
}

static inline void raw_exec(sqlite3 *db, const char *sql)
{
  char *why = NULL;
  if (sqlite3_exec(db, sql, NULL, NULL, &why) != SQLITE_OK) fail_msg("%s: %s", sql, why);
}

static inline void raw_run(const char *path, const char *sql)
{
  sqlite3 *db = raw_open(path);
  raw_exec(db, sql);
  sqlite3_close(db);
}

static inline int64_t raw_int(const char *path, const char *sql)
{
  sqlite3 *db = raw_open(path);
  sqlite3_stmt *st;
  assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &st, NULL), SQLITE_OK);
  assert_int_equal(sqlite3_step(st), SQLITE_ROW);
  int64_t v = sqlite3_column_int64(st, 0);
  sqlite3_finalize(st);
  sqlite3_close(db);
  return v;
}

static inline void raw_text(const char *path, const char *sql, char *out, size_t size)
{
  sqlite3 *db = raw_open(path);
  sqlite3_stmt *st;
  assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &st, NULL), SQLITE_OK);
  assert_int_equal(sqlite3_step(st), SQLITE_ROW);
  const unsigned char *v = sqlite3_column_text(st, 0);
  snprintf(out, size, "%s", v ? (const char *)v : "NULL");
  sqlite3_finalize(st);
  sqlite3_close(db);
}

/* Puts a record whose pins are `pins`; the op's rc. */
static inline int record_in(struct rp__store *s, const char *id, const char *pins, rp_error *err)
{
  struct rp__record_row row = {.start_ms = NOW, .end_ms = NOW + 1, .created_ms = NOW, .updated_ms = NOW, .n_tasks = 1};
  rp__name_set(row.session_id, id);
  row.part[RP_PART_WORKING_MEMORY] = strdup(pins);
  row.part[RP_PART_TASKS] = strdup("[{\"task_id\":\"t\"}]");
  struct rp__op op = {.type = RP_OP_RECORD_PUT, .session_id = id, .now_ms = NOW, .u.record.row = &row};
  int rc = row.part[RP_PART_WORKING_MEMORY] && row.part[RP_PART_TASKS] ? commit_as(s, &op, RP_OS, err) : RP_E_NOMEM;
  rp__record_row_done(&row);
  return rc;
}

static inline int memory_in(struct rp__store *s, const char *id, const char *content, rp_error *err)
{
  struct rp__memory_row row = {.confidence = 0.5, .content = content, .content_len = strlen(content)};
  snprintf(row.id, sizeof row.id, "%s", id);
  rp__name_set(row.scope, "s");
  struct rp__op op = {.type = RP_OP_MEMORY_PUT, .now_ms = NOW, .u.memory.row = &row};
  return commit_as(s, &op, RP_OS, err);
}

static inline int memory_count(void *ctx, const struct rp__memory_row *row)
{
  (void)row;
  ++*(int *)ctx;
  return 0;
}

static inline int hit_count(void *ctx, const rp_hit *hit)
{
  (void)hit;
  ++*(int *)ctx;
  return 0;
}

static inline int hits_in(struct rp__store *s, const char *words)
{
  rp_error err;
  int n = 0, rc = s->ops->search(s, words, NULL, 100, hit_count, &n, &err);
  if (rc != 0) fail_msg("%s", err.message);
  return n;
}

#endif
