/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The nth allocation, file call or store call of a start-append-checkpoint-end
 * cycle fails, for every n.
 *
 * usage: fault once|alloc|sqlite|vfs|file|store|continuity
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "base/clock.h"
#include "cycle.h"
#include "engine/engine.h"
#include "lib/rig.h"
#include "lib/scratch.h"
#include "store/store.h"

static struct scratch dir, template;

static void fresh_file(struct cycle *c)
{
  char path[SCRATCH_PATH];
  scratch_empty(&dir);
  rig_url(scratch_path(&dir, "f.db", path), c->url);
}

static void copy_file(const char *from, const char *to)
{
  static char bytes[1 << 20];
  FILE *in = fopen(from, "r"), *out = fopen(to, "w");
  assert_true(in && out);
  for (size_t n; (n = fread(bytes, 1, sizeof(bytes), in)) > 0;) assert_int_equal(fwrite(bytes, 1, n, out), n);
  fclose(in);
  assert_int_equal(fclose(out), 0);
}

/* A database that was made before, so that the calls counted are those of the cycle itself. */
static void fresh_copy(struct cycle *c)
{
  static const char *const names[] = {"f.db", "f.db-wal"};
  char from[SCRATCH_PATH], to[SCRATCH_PATH];
  fresh_file(c);
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
    if (access(scratch_path(&template, names[i], from), F_OK) == 0) copy_file(from, scratch_path(&dir, names[i], to));
}

/* ---- plans as faults ---- */

struct armed {
  struct plan *plan;
  bool persistent;
  int how;
};

static void plan_fault_arm(void *ctx, long nth)
{
  const struct armed *a = ctx;
  plan_arm(a->plan, nth, a->persistent, a->how);
}

static void plan_fault_disarm(void *ctx)
{
  plan_disarm(((const struct armed *)ctx)->plan);
}

static bool plan_fault_struck(void *ctx)
{
  return ((const struct armed *)ctx)->plan->hits > 0;
}

static struct cycle_fault fault_of(struct armed *a)
{
  return (struct cycle_fault){plan_fault_arm, plan_fault_disarm, plan_fault_struck, a, a->persistent};
}

static void enumerate(struct armed a, const struct cycle_step *steps, bool threads, const char *title, long budget_ms)
{
  struct cycle c = {.steps = steps, .threads = threads};
  struct cycle_fault f = fault_of(&a);
  cycle_enumerate(&c, &f, title, steps == cycle_create ? fresh_file : fresh_copy, budget_ms);
}

/* ---- our allocations ---- */

static void test_alloc_create(void **state)
{
  (void)state;
  enumerate((struct armed){&plan_alloc, false, 0}, cycle_create, false, "allocation in a new file", 2500);
}

static void test_alloc_once(void **state)
{
  (void)state;
  enumerate((struct armed){&plan_alloc, false, 0}, cycle_core, false, "allocation", 6000);
}

static void test_alloc_persistent(void **state)
{
  (void)state;
  enumerate((struct armed){&plan_alloc, true, 0}, cycle_core, false, "every allocation from", 6000);
}

static void test_alloc_threads(void **state)
{
  (void)state;
  enumerate((struct armed){&plan_alloc, false, 0}, cycle_core, true, "allocation, with threads", 6000);
}

static void test_alloc_travel(void **state)
{
  (void)state;
  enumerate((struct armed){&plan_alloc, false, 0}, cycle_travel, false, "allocation in travel", 6000);
}

/* ---- SQLite's allocations ---- */

static void test_sqlite_create(void **state)
{
  (void)state;
  enumerate((struct armed){&plan_sqlite, false, 0}, cycle_create, false, "SQLite allocation in a new file", 4000);
}

static void test_sqlite_once(void **state)
{
  (void)state;
  enumerate((struct armed){&plan_sqlite, false, 0}, cycle_core, false, "SQLite allocation", 35000);
}

static void test_sqlite_persistent(void **state)
{
  (void)state;
  enumerate((struct armed){&plan_sqlite, true, 0}, cycle_core, false, "every SQLite allocation from", 4000);
}

static void test_sqlite_travel(void **state)
{
  (void)state;
  enumerate((struct armed){&plan_sqlite, false, 0}, cycle_travel, false, "SQLite allocation in travel", 4000);
}

/* ---- SQLite's file calls ---- */

static void test_vfs_create(void **state)
{
  (void)state;
  enumerate((struct armed){&plan_vfs, false, VFS_EIO}, cycle_create, false, "file call EIO in a new file", 2500);
}

static void test_vfs_eio(void **state)
{
  (void)state;
  enumerate((struct armed){&plan_vfs, false, VFS_EIO}, cycle_core, false, "file call EIO", 4000);
}

static void test_vfs_eio_persistent(void **state)
{
  (void)state;
  enumerate((struct armed){&plan_vfs, true, VFS_EIO}, cycle_core, false, "every file call EIO from", 4000);
}

static void test_vfs_full(void **state)
{
  (void)state;
  enumerate((struct armed){&plan_vfs, false, VFS_ENOSPC}, cycle_core, false, "file call ENOSPC", 4000);
}

static void test_vfs_full_persistent(void **state)
{
  (void)state;
  enumerate((struct armed){&plan_vfs, true, VFS_ENOSPC}, cycle_core, false, "every file call ENOSPC from", 4000);
}

static void test_vfs_threads(void **state)
{
  (void)state;
  enumerate((struct armed){&plan_vfs, false, VFS_EIO}, cycle_core, true, "file call EIO, with threads", 4000);
}

static void test_vfs_travel(void **state)
{
  (void)state;
  enumerate((struct armed){&plan_vfs, false, VFS_EIO}, cycle_travel, false, "file call EIO in travel", 3000);
}

/* ---- our own file calls ---- */

static void test_file_create(void **state)
{
  (void)state;
  enumerate((struct armed){&plan_file, false, VFS_EIO}, cycle_create, false, "own file call EIO in a new file", 2500);
}

static void test_file_eio(void **state)
{
  (void)state;
  enumerate((struct armed){&plan_file, false, VFS_EIO}, cycle_core, false, "own file call EIO", 2500);
}

static void test_file_full(void **state)
{
  (void)state;
  enumerate((struct armed){&plan_file, false, VFS_ENOSPC}, cycle_core, false, "own file call ENOSPC", 2500);
}

static void test_file_persistent(void **state)
{
  (void)state;
  enumerate((struct armed){&plan_file, true, VFS_EIO}, cycle_core, false, "every own file call EIO from", 2500);
}

/* ---- store calls ---- */

static void store_fault_arm(void *ctx, long nth)
{
  struct rp__fault *plan = ctx;
  plan->calls = 0;
  plan->nth = nth;
}

static void store_fault_disarm(void *ctx)
{
  ((struct rp__fault *)ctx)->nth = 0;
}

static bool store_fault_struck(void *ctx)
{
  const struct rp__fault *plan = ctx;
  return plan->nth == 0 || plan->calls >= plan->nth;
}

static int open_over_fault(struct cycle *c, rp_error *err)
{
  struct rp__store *inner, *store;
  struct rp__store_options so = {.path = strchr(c->url, ':') + 1, .clock = &rp__system_clock};
  rp_options o = {.db = c->url, .short_lived = !c->threads};
  int rc = rp__store_sqlite_open(&so, &inner, err);
  if (rc != 0) return rc;
  rc = rp__store_fault_wrap(inner, c->open_ctx, &store);
  if (rc != 0) return rc;
  return rp__engine_open_with(&o, store, &c->engine, err);
}

static void enumerate_store(struct rp__fault plan, const struct cycle_step *steps, bool threads, const char *title)
{
  struct cycle c = {.steps = steps, .threads = threads, .open = open_over_fault, .open_ctx = &plan};
  struct cycle_fault f = {store_fault_arm, store_fault_disarm, store_fault_struck, &plan, plan.persistent};
  cycle_enumerate(&c, &f, title, steps == cycle_continuity ? fresh_copy : fresh_file, 2500);
}

static void test_store_codes(void **state)
{
  static const int codes[] = {RP_E_IO, RP_E_FULL, RP_E_BUSY, RP_E_NOMEM, RP_E_UNREACHABLE, RP_E_READONLY};
  (void)state;
  for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
    enumerate_store((struct rp__fault){.code = codes[i]}, cycle_core, false, rp_error_lookup(codes[i])->name);
}

static void test_store_after(void **state)
{
  (void)state;
  enumerate_store((struct rp__fault){.code = RP_E_IO, .after = true}, cycle_core, false, "store call done, then I/O");
}

static void test_store_persistent(void **state)
{
  (void)state;
  enumerate_store((struct rp__fault){.code = RP_E_IO, .persistent = true}, cycle_core, false, "every store call from");
}

static void test_store_threads(void **state)
{
  (void)state;
  enumerate_store((struct rp__fault){.code = RP_E_IO}, cycle_core, true, "store call, with threads");
}

static void test_store_travel(void **state)
{
  (void)state;
  enumerate_store((struct rp__fault){.code = RP_E_IO}, cycle_travel, false, "store call in travel");
}

/* ---- what comes back, and how it is told ---- */

static void test_continuity_alloc(void **state)
{
  (void)state;
  enumerate((struct armed){&plan_alloc, false, 0}, cycle_continuity, false, "allocation in continuity", 2500);
}

static void test_continuity_alloc_persistent(void **state)
{
  (void)state;
  enumerate((struct armed){&plan_alloc, true, 0}, cycle_continuity, false, "every allocation in continuity from", 3000);
}

static void test_continuity_vfs(void **state)
{
  (void)state;
  enumerate((struct armed){&plan_vfs, false, VFS_EIO}, cycle_continuity, false, "file call EIO in continuity", 3000);
}

static void test_continuity_file(void **state)
{
  (void)state;
  enumerate((struct armed){&plan_file, false, VFS_ENOSPC}, cycle_continuity, false, "own file call in continuity",
            2000);
}

static void test_continuity_store(void **state)
{
  static const int codes[] = {RP_E_IO, RP_E_BUSY};
  (void)state;
  for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
    enumerate_store((struct rp__fault){.code = codes[i]}, cycle_continuity, false, rp_error_lookup(codes[i])->name);
}

static void test_continuity_store_after(void **state)
{
  (void)state;
  enumerate_store((struct rp__fault){.code = RP_E_IO, .after = true}, cycle_continuity, false, "continuity, then I/O");
}

static void test_continuity_store_persistent(void **state)
{
  (void)state;
  enumerate_store((struct rp__fault){.code = RP_E_IO, .persistent = true}, cycle_continuity, false,
                  "every store call in continuity from");
}

/* ---- nothing fails: what the others start from, and what memcheck looks at ---- */

static void no_arm(void *ctx, long nth)
{
  (void)ctx;
  (void)nth;
}

static void no_disarm(void *ctx)
{
  (void)ctx;
}

static bool never(void *ctx)
{
  (void)ctx;
  return false;
}

static void test_untouched(void **state)
{
  const struct cycle_fault none = {no_arm, no_disarm, never, NULL, false};
  (void)state;
  static const struct cycle_step *const all[] = {cycle_core, cycle_travel, cycle_continuity};
  for (int i = 0; i < 6; i++) {
    struct cycle c = {.steps = all[i % 3], .threads = i / 3, .trace = "untouched"};
    fresh_file(&c);
    assert_false(cycle_round(&c, &none, 0));
    if (c.failed) fail_msg("%s", c.trace);
  }
}

/* ---- one group per kind of fault ---- */

static int make_dir(void **state)
{
  char path[SCRATCH_PATH], url[RIG_URL];
  rp_engine *e;
  rp_error err;
  (void)state;
  if (scratch_make_fast(&dir) != 0 || scratch_make_fast(&template) != 0) return -1;
  rig_url(scratch_path(&template, "f.db", path), url);
  if (rig_open(url, false, &e, &err) != 0) return -1;
  rp_close(e);
  return 0;
}

static int remove_dir(void **state)
{
  (void)state;
  scratch_remove(&dir);
  scratch_remove(&template);
  return 0;
}

static int run_group(const char *name)
{
  const struct CMUnitTest once[] = {cmocka_unit_test(test_untouched)};
  const struct CMUnitTest alloc[] = {cmocka_unit_test(test_alloc_create), cmocka_unit_test(test_alloc_once),
                                     cmocka_unit_test(test_alloc_persistent), cmocka_unit_test(test_alloc_threads),
                                     cmocka_unit_test(test_alloc_travel)};
  const struct CMUnitTest sqlite[] = {cmocka_unit_test(test_sqlite_create), cmocka_unit_test(test_sqlite_once),
                                      cmocka_unit_test(test_sqlite_persistent), cmocka_unit_test(test_sqlite_travel)};
  const struct CMUnitTest vfs[] = {cmocka_unit_test(test_vfs_create),          cmocka_unit_test(test_vfs_eio),
                                   cmocka_unit_test(test_vfs_eio_persistent),  cmocka_unit_test(test_vfs_full),
                                   cmocka_unit_test(test_vfs_full_persistent), cmocka_unit_test(test_vfs_threads),
                                   cmocka_unit_test(test_vfs_travel)};
  const struct CMUnitTest file[] = {cmocka_unit_test(test_file_create), cmocka_unit_test(test_file_eio),
                                    cmocka_unit_test(test_file_full), cmocka_unit_test(test_file_persistent)};
  const struct CMUnitTest store[] = {cmocka_unit_test(test_store_codes), cmocka_unit_test(test_store_after),
                                     cmocka_unit_test(test_store_persistent), cmocka_unit_test(test_store_threads),
                                     cmocka_unit_test(test_store_travel)};
  const struct CMUnitTest continuity[] = {cmocka_unit_test(test_continuity_alloc),
                                          cmocka_unit_test(test_continuity_alloc_persistent),
                                          cmocka_unit_test(test_continuity_vfs),
                                          cmocka_unit_test(test_continuity_file),
                                          cmocka_unit_test(test_continuity_store),
                                          cmocka_unit_test(test_continuity_store_after),
                                          cmocka_unit_test(test_continuity_store_persistent)};
  if (strcmp(name, "continuity") == 0) return cmocka_run_group_tests(continuity, make_dir, remove_dir);
  if (strcmp(name, "once") == 0) return cmocka_run_group_tests(once, make_dir, remove_dir);
  if (strcmp(name, "alloc") == 0) return cmocka_run_group_tests(alloc, make_dir, remove_dir);
  if (strcmp(name, "sqlite") == 0) return cmocka_run_group_tests(sqlite, make_dir, remove_dir);
  if (strcmp(name, "vfs") == 0) return cmocka_run_group_tests(vfs, make_dir, remove_dir);
  if (strcmp(name, "file") == 0) return cmocka_run_group_tests(file, make_dir, remove_dir);
  if (strcmp(name, "store") == 0) return cmocka_run_group_tests(store, make_dir, remove_dir);
  return 2;
}

int main(int argc, char **argv)
{
  setvbuf(stdout, NULL, _IOLBF, 0);
  if (argc < 2 || sqlite_mem_install() != SQLITE_OK || vfs_install() != SQLITE_OK) return 2;
  return run_group(argv[1]);
}
