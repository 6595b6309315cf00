/* SPDX-License-Identifier: Apache-2.0 */
/* An engine with its threads, as a server has it, on a clock that the test moves while they look at it. */
#ifndef TEST_ENGINE_LONG_H
#define TEST_ENGINE_LONG_H

#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "engine/engine.h"
#include "unit/engine/rig.h"

#define WAIT_MS 20000 /* for what happens in the background; far more than it takes */

struct longer {
  struct scratch scratch;
  char path[SCRATCH_PATH], url[SCRATCH_PATH + 32];
  atomic_llong wall, boot;
  atomic_int warnings;
  rp_engine *e;
};

static inline int64_t longer_wall(void *ctx)
{
  return atomic_load(&((struct longer *)ctx)->wall);
}

static inline int64_t longer_boot(void *ctx)
{
  return atomic_load(&((struct longer *)ctx)->boot);
}

static inline void longer_log(void *ctx, rp_log_level level, const char *text)
{
  struct longer *l = ctx;
  (void)text;
  if (level == RP_LOG_WARN) atomic_fetch_add(&l->warnings, 1);
}

static inline rp_engine *longer_engine(struct longer *l)
{
  rp_error err = {0};
  rp_engine *e;
  rp_clock clock = {longer_wall, longer_boot, l};
  rp_options o = {.db = l->url, .clock = &clock, .log = longer_log, .log_ctx = l};
  OK(rp_open(&o, &e, &err), err);
  return e;
}

static inline int longer_setup(void **state)
{
  struct longer *l = calloc(1, sizeof *l);
  if (!l || scratch_make_fast(&l->scratch)) return -1;
  scratch_path(&l->scratch, "t.db", l->path);
  snprintf(l->url, sizeof l->url, "sqlite:%s", l->path);
  setenv("REPRISE_HOME", l->scratch.dir, 1);
  l->wall = 1800000000000;
  l->boot = 5000000;
  l->e = longer_engine(l);
  *state = l;
  return 0;
}

static inline int longer_teardown(void **state)
{
  struct longer *l = *state;
  rp_close(l->e);
  scratch_remove(&l->scratch);
  free(l);
  return 0;
}

/* Both clocks go on. */
static inline void longer_pass(struct longer *l, int64_t ms)
{
  atomic_fetch_add(&l->wall, ms);
  atomic_fetch_add(&l->boot, ms);
}

static inline rp_session *longer_start(struct longer *l, const char *key, rp_owner_kind owner)
{
  rp_error err = {0};
  rp_session *s;
  rp_start_options o = {.scope = "a", .key = key, .owner = owner, .channel = "web"};
  OK(rp_start(l->e, &o, &s, &err), err);
  return s;
}

/* A guest's handle on a session whose run has no owner, as the server's are. */
static inline rp_session *longer_guest(struct longer *l, const char *key)
{
  rp_error err = {0};
  rp_session *s;
  rp_session_detach(longer_start(l, key, RP_OWNER_NONE));
  OK(rp_attach(l->e, key, &s, &err), err);
  return s;
}

/* Looks again and again until `fn` says yes. */
static inline bool longer_until(bool (*fn)(void *ctx), void *ctx)
{
  for (int waited = 0; waited < WAIT_MS; waited += 5) {
    if (fn(ctx)) return true;
    nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
  }
  return false;
}

/* Somebody else writes for as long as the connection is open: nothing is committed meanwhile. */
static inline sqlite3 *longer_block(struct longer *l)
{
  sqlite3 *db;
  assert_int_equal(sqlite3_open(l->path, &db), SQLITE_OK);
  sqlite3_busy_timeout(db, 5000);
  assert_int_equal(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
  return db;
}

static inline void longer_unblock(sqlite3 *db)
{
  assert_int_equal(sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
  sqlite3_close(db);
}

#define LONG_TEST(fn) cmocka_unit_test_setup_teardown(fn, longer_setup, longer_teardown)

#endif
