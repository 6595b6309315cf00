/* SPDX-License-Identifier: Apache-2.0 */
/* Files beside the database: what killed writers leave goes, and no symlink leads elsewhere. */
#include "unit/engine/retain.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/file.h"
#include "engine/keep/archive.h"

#define TEMP RP_TEMP_PREFIX "0123456789abcdef0123456789abcdef"

static char *put_file(struct rig *r, const char *name, const char *text, char *path)
{
  rp_error err = {0};
  OK(rp__file_write(scratch_path(&r->scratch, name, path), text, strlen(text), &err), err);
  return path;
}

static void make_folder(struct rig *r, const char *name)
{
  rp_error err = {0};
  char path[SCRATCH_PATH];
  OK(rp__mkdirs(scratch_path(&r->scratch, name, path), &err), err);
}

/* ---- what the dead left ---- */

static const char *const left[] = {TEMP, "sessions/" TEMP, "archive/2026-01/" TEMP};

static void leave(struct rig *r)
{
  char path[SCRATCH_PATH];
  make_folder(r, "sessions");
  make_folder(r, "archive/2026-01");
  for (size_t i = 0; i < RP_ARRAY_SIZE(left); i++) put_file(r, left[i], "half a conversation", path);
}

static int still_there(struct rig *r)
{
  char path[SCRATCH_PATH];
  int n = 0;
  for (size_t i = 0; i < RP_ARRAY_SIZE(left); i++) n += is_file(scratch_path(&r->scratch, left[i], path));
  return n;
}

static void by_gc(struct rig *r, const char *id)
{
  rp_error err = {0};
  rp_gc_options o = {0};
  (void)id;
  OK(rp_gc(r->e, &o, NULL, NULL, NULL, NULL, NULL, &err), err);
}

static void by_redaction(struct rig *r, const char *id)
{
  rp_error err = {0};
  char *told = NULL;
  OK(rp_redact_session(r->e, id, "conversation", false, NULL, NULL, &told, &err), err);
  free(told);
}

static void by_purge(struct rig *r, const char *id)
{
  rp_error err = {0};
  OK(rp_purge(r->e, id, true, &err), err);
}

static void by_repair(struct rig *r, const char *id)
{
  rp_error err = {0};
  (void)id;
  OK(rp_verify(r->e, NULL, true, NULL, NULL, NULL, NULL, &err), err);
}

/* A writer that was killed leaves text that none of these would find by the session's name. */
static void test_sweeps(void **state)
{
  static void (*const by[])(struct rig * r, const char *id) = {by_gc, by_redaction, by_repair, by_purge};
  struct rig *r = *state;
  char id[RP_ID_MAX + 1], path[SCRATCH_PATH];
  ended_session(r, "a", "hello", id);
  for (size_t i = 0; i < RP_ARRAY_SIZE(by); i++) {
    leave(r);
    int lock = open(scratch_path(&r->scratch, left[1], path), O_RDONLY | O_CLOEXEC);
    assert_int_equal(flock(lock, LOCK_EX), 0); /* as its writer does while it lives */
    by[i](r, id);
    assert_true(is_file(path));
    assert_int_equal(still_there(r), 1);
    close(lock);
  }
  rp_error err = {0};
  leave(r);
  rp_gc_options dry = {.dry_run = true};
  OK(rp_gc(r->e, &dry, NULL, NULL, NULL, NULL, NULL, &err), err);
  assert_int_equal(still_there(r), 3);
}

/* An engine that stays looks once, when it opens. */
static void test_sweep_at_open(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  rp_engine *e;
  leave(r);
  rp_options o = {.db = r->url};
  OK(rp_open(&o, &e, &err), err);
  int tries = 0;
  while (still_there(r) && tries++ < 500) usleep(10000);
  assert_int_equal(still_there(r), 0);
  rp_close(e);
}

/* ---- symlinks ---- */

static void link_to(struct rig *r, const char *name, const char *target)
{
  char path[SCRATCH_PATH], to[SCRATCH_PATH];
  assert_int_equal(symlink(scratch_path(&r->scratch, target, to), scratch_path(&r->scratch, name, path)), 0);
}

static void archive_place(struct rig *r, const char *id, char out[SCRATCH_PATH], size_t *ret_month)
{
  const char *cold = cold_file(r, id, "gz");
  size_t n = strlen(r->scratch.dir) + 1;
  snprintf(out, SCRATCH_PATH, "%s", cold + n);
  *ret_month = strlen("archive/2026-01");
}

/* Cold files: `archive`, a month in it, and the file itself. Nothing is written, read or deleted through a symlink. */
static void test_archive_symlinks(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  char id[RP_ID_MAX + 1], place[SCRATCH_PATH], month[SCRATCH_PATH], outside[SCRATCH_PATH], path[SCRATCH_PATH];
  size_t n;
  struct rp__buf json RP_AUTOBUF = RP_BUF(65536);
  ended_session(r, "a", "hello", id);
  archive_place(r, id, place, &n);
  snprintf(month, sizeof month, "%.*s", (int)n, place);
  const char *const spots[] = {"archive", month, place};
  struct rp__session_row row = row_of(r, id);
  for (size_t i = 0; i < RP_ARRAY_SIZE(spots); i++) {
    /* The same folders and a file of that name, elsewhere. */
    char target[2 * SCRATCH_PATH];
    snprintf(target, sizeof target, "out%zu/%s", i, month);
    make_folder(r, target);
    snprintf(target, sizeof target, "out%zu/%s", i, place);
    put_file(r, target, "precious", outside);
    if (i) make_folder(r, i == 1 ? "archive" : month);
    snprintf(target, sizeof target, "out%zu/%s", i, spots[i]);
    link_to(r, spots[i], target);
    assert_int_equal(rp__archive_write(r->e, &row, "{}", 2, &err), RP_E_REFUSED);
    assert_int_equal(rp__archive_read(r->e, &row, &json, &err), RP_E_CORRUPT);
    int rc = rp__archive_remove(r->e, &row, &err);
    assert_int_equal(rc, i < 2 ? RP_E_REFUSED : 0); /* the link itself goes, not what it names */
    struct rp__buf now RP_AUTOBUF = RP_BUF(0);
    OK(rp__file_read(outside, 100, &now, &err), err);
    assert_string_equal(now.p, "precious");
    unlink(scratch_path(&r->scratch, spots[i], path));
  }
  rp__session_row_done(&row);
}

/* Mirrors: the folder and the file. */
static void test_mirror_symlinks(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  char id[RP_ID_MAX + 1], name[SCRATCH_PATH], outside[SCRATCH_PATH], path[SCRATCH_PATH];
  make_folder(r, "out");
  link_to(r, "sessions", "out");
  ended_session(r, "a", "hello", id);
  snprintf(name, sizeof name, "out/%s.json", id);
  assert_false(is_file(scratch_path(&r->scratch, name, outside)));
  put_file(r, name, "precious", outside);
  OK(rp_purge(r->e, id, true, &err), err);
  assert_true(is_file(outside));

  assert_int_equal(unlink(scratch_path(&r->scratch, "sessions", path)), 0);
  ended_session(r, "a", "hello again", id);
  snprintf(name, sizeof name, "sessions/%s.json", id);
  assert_int_equal(unlink(scratch_path(&r->scratch, name, path)), 0);
  put_file(r, "out/other", "precious", outside);
  link_to(r, name, "out/other");
  OK(rp_purge(r->e, id, true, &err), err);
  struct rp__buf now RP_AUTOBUF = RP_BUF(0);
  OK(rp__file_read(outside, 100, &now, &err), err);
  assert_string_equal(now.p, "precious");
}

/* ---- a store that is not there ---- */

static int entries_of(const char *dir)
{
  int n = 0;
  DIR *d = opendir(dir);
  assert_non_null(d);
  for (struct dirent *e; (e = readdir(d));) n += e->d_name[0] != '.';
  closedir(d);
  return n;
}

static int open_there(const char *path, bool read_only, bool existing)
{
  rp_error err = {0};
  char url[SCRATCH_PATH + 16];
  rp_engine *e = NULL;
  snprintf(url, sizeof url, "sqlite:%s", path);
  rp_options o = {.db = url, .short_lived = true, .read_only = read_only, .existing = existing};
  int rc = rp_open(&o, &e, &err);
  assert_int_equal(err.code, rc);
  if (rc) assert_non_null(strstr(err.message, path));
  if (!rc) assert_string_equal(rp_store_path(e), path);
  rp_close(e);
  return rc;
}

static void test_only_who_creates_leaves_files(void **state)
{
  struct rig *r = *state;
  char dir[SCRATCH_PATH], path[SCRATCH_PATH], gone[SCRATCH_PATH];
  make_folder(r, "empty");
  scratch_path(&r->scratch, "empty", dir);
  scratch_path(&r->scratch, "empty/a.db", path);
  scratch_path(&r->scratch, "empty/no/a.db", gone);
  assert_int_equal(open_there(path, true, false), RP_E_NO_STORE);
  assert_int_equal(open_there(path, false, true), RP_E_NO_STORE);
  assert_int_equal(open_there(gone, true, false), RP_E_NO_STORE);
  assert_int_equal(open_there(gone, false, true), RP_E_NO_STORE);
  assert_int_equal(entries_of(dir), 0);
  put_file(r, "empty/a.db", "", path);
  assert_int_equal(open_there(path, true, false), RP_E_UNREACHABLE);
  assert_int_equal(open_there(path, false, true), RP_E_UNREACHABLE);
  assert_int_equal(entries_of(dir), 1);
  assert_int_equal(open_there(path, false, false), 0);
  assert_int_equal(open_there(path, false, true), 0);
  assert_int_equal(open_there(path, true, false), 0);
}

#define T(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)
int main(void)
{
  const struct CMUnitTest tests[] = {T(test_sweeps), T(test_sweep_at_open), T(test_archive_symlinks),
                                     T(test_mirror_symlinks), T(test_only_who_creates_leaves_files)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
