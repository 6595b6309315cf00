/* SPDX-License-Identifier: Apache-2.0 */
/* Who makes the log syncs its folder, who finds it need not: SQLite is given leave to create it only where it is
 * missing. */
#include "store_test.h"

static sqlite3_vfs *system_vfs, watching;
static int made, found;

static int watch_open(sqlite3_vfs *v, const char *name, sqlite3_file *f, int flags, int *ret_flags)
{
  (void)v;
  if (flags & SQLITE_OPEN_WAL) *(flags & SQLITE_OPEN_CREATE ? &made : &found) += 1;
  return system_vfs->xOpen(system_vfs, name, f, flags, ret_flags);
}

static int watch(void **state)
{
  (void)state;
  system_vfs = sqlite3_vfs_find(NULL);
  watching = *system_vfs;
  watching.zName = "watching";
  watching.xOpen = watch_open;
  return sqlite3_vfs_register(&watching, 1);
}

static void open_short(struct box *b)
{
  struct rp__store_options o = {.path = b->path, .short_lived = true};
  assert_int_equal(rp__store_sqlite_open(&o, &b->s, &b->err), 0);
}

static void a_log_is_made_once(void **state)
{
  struct box *b = *state;
  open_short(b);
  assert_int_equal(put_in(b->s, "a", NULL, &b->err), 0);
  box_close(b);
  assert_int_equal(made, 1);
  assert_int_equal(found, 1);
  /* Taken back now and then, it is emptied, not deleted. */
  for (int i = 0; i < RP_SQ_WAL_LEFT; i++) {
    open_short(b);
    assert_int_equal(say_in(b->s, "a", "x", RP_OS, NULL, &b->err), 0);
    box_close(b);
  }
  assert_int_equal(made, 1);
  assert_int_equal(found, 1 + RP_SQ_WAL_LEFT);
}

static void another_may_have_deleted_it(void **state)
{
  struct box *b = *state;
  char wal[SCRATCH_PATH + 8];
  open_short(b);
  assert_int_equal(put_in(b->s, "a", NULL, &b->err), 0);
  box_close(b);
  /* As sqlite3(1) does when it is the last to close. */
  sqlite3 *db = NULL;
  assert_int_equal(sqlite3_open(b->path, &db), SQLITE_OK);
  assert_int_equal(sqlite3_exec(db, "SELECT * FROM rp_meta", NULL, NULL, NULL), SQLITE_OK);
  sqlite3_close(db);
  snprintf(wal, sizeof wal, "%s-wal", b->path);
  assert_int_not_equal(access(wal, F_OK), 0);
  int before = made;
  open_short(b);
  int64_t seq;
  assert_int_equal(say_in(b->s, "a", "x", RP_DISK, &seq, &b->err), 0);
  assert_int_equal(seq, 1);
  assert_int_equal(made, before + 1);
}

int main(void)
{
  const struct CMUnitTest tests[] = {BOX_TEST(a_log_is_made_once), BOX_TEST(another_may_have_deleted_it)};
  return cmocka_run_group_tests(tests, watch, NULL);
}
