/* SPDX-License-Identifier: Apache-2.0 */
/* Files: atomic writing, reading, permissions, links. */
#include "scratch.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <time.h>

static char *path_in(void **state, const char *name)
{
  char *path = rp__path_join(*state, name);
  assert_non_null(path);
  return path;
}

static void put_raw(const char *path, const char *text)
{
  int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  assert_true(fd >= 0);
  assert_int_equal(write(fd, text, strlen(text)), strlen(text));
  close(fd);
}

static void assert_content(const char *path, const char *want)
{
  rp_error err;
  RP_AUTOBUF struct rp__buf b = RP_BUF(0);
  assert_int_equal(rp__file_read(path, 1000, &b, &err), 0);
  assert_string_equal(b.p, want);
  assert_int_equal(b.n, strlen(want));
}

static int entries(const char *dir)
{
  int n = 0;
  DIR *d = opendir(dir);
  assert_non_null(d);
  while (readdir(d)) n++;
  closedir(d);
  return n - 2;
}

static void write_then_read(void **state)
{
  RP_AUTOFREE char *path = path_in(state, "a");
  rp_error err;
  assert_int_equal(rp__file_write(path, "one", 3, &err), 0);
  assert_content(path, "one");
  assert_int_equal(rp__file_write(path, "second", 6, &err), 0);
  assert_content(path, "second");
  assert_int_equal(rp__file_write(path, NULL, 0, &err), 0);
  assert_content(path, "");
  assert_int_equal(entries(*state), 1);
}

/* A reader that has the old version open keeps it whole: the file is replaced, not overwritten. */
static void write_replaces_the_file(void **state)
{
  RP_AUTOFREE char *path = path_in(state, "a");
  char old[4] = "";
  assert_int_equal(rp__file_write(path, "old", 3, NULL), 0);
  RP_AUTOCLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
  assert_int_equal(rp__file_write(path, "new", 3, NULL), 0);
  assert_int_equal(read(fd, old, 3), 3);
  assert_string_equal(old, "old");
  assert_content(path, "new");
}

static void permissions_are_the_owners_alone(void **state)
{
  RP_AUTOFREE char *dir = path_in(state, "x/y/z");
  RP_AUTOFREE char *middle = path_in(state, "x/y");
  RP_AUTOFREE char *file = path_in(state, "x/y/z/f");
  rp_error err;
  mode_t old = umask(0);
  assert_int_equal(rp__mkdirs(dir, &err), 0);
  assert_int_equal(rp__file_write(file, "x", 1, &err), 0);
  assert_int_equal(mode_of(dir), 0700);
  assert_int_equal(mode_of(middle), 0700);
  assert_int_equal(mode_of(file), 0600);
  /* A version that was too open is not so any more once replaced. */
  assert_int_equal(chmod(file, 0644), 0);
  assert_int_equal(rp__file_write(file, "y", 1, &err), 0);
  assert_int_equal(mode_of(file), 0600);
  umask(old);
}

static void mkdirs_accepts_what_is_there(void **state)
{
  RP_AUTOFREE char *dir = path_in(state, "x//y/./z///");
  RP_AUTOFREE char *real = path_in(state, "x/y/z");
  RP_AUTOFREE char *linked = path_in(state, "link");
  RP_AUTOFREE char *below = path_in(state, "link/w");
  struct stat st;
  rp_error err;
  assert_int_equal(rp__mkdirs(real, &err), 0);
  assert_int_equal(chmod(real, 0755), 0);
  assert_int_equal(rp__mkdirs(dir, &err), 0);
  assert_int_equal(mode_of(real), 0755);
  assert_int_equal(rp__mkdirs("/", &err), 0);
  assert_int_equal(rp__mkdirs(".", &err), 0);
  assert_int_equal(symlink(real, linked), 0);
  assert_int_equal(rp__mkdirs(below, &err), 0);
  assert_int_equal(stat(below, &st), 0);
}

static void mkdirs_refuses_files_in_the_way(void **state)
{
  RP_AUTOFREE char *file = path_in(state, "f");
  RP_AUTOFREE char *below = path_in(state, "f/d");
  rp_error err;
  put_raw(file, "x");
  assert_int_equal(rp__mkdirs(file, &err), RP_E_IO);
  assert_int_equal(rp__mkdirs(below, &err), RP_E_IO);
  assert_int_equal(rp__mkdirs("", &err), RP_E_FILE_NOT_FOUND);
}

static void relative_paths(void **state)
{
  rp_error err;
  char here[4096];
  assert_non_null(getcwd(here, sizeof here));
  assert_int_equal(chdir(*state), 0);
  assert_int_equal(rp__mkdirs("a/b", &err), 0);
  assert_int_equal(rp__file_write("f", "1", 1, &err), 0);
  assert_int_equal(rp__file_write("a/b/f", "2", 1, &err), 0);
  assert_content("f", "1");
  assert_content("a/b/f", "2");
  assert_int_equal(rp__sync_parent("f", &err), 0);
  assert_int_equal(chdir(here), 0);
}

static void symlinks_are_refused(void **state)
{
  RP_AUTOFREE char *target = path_in(state, "target");
  RP_AUTOFREE char *linked = path_in(state, "link");
  RP_AUTOFREE char *dangling = path_in(state, "dangling");
  RP_AUTOFREE char *nowhere = path_in(state, "nowhere");
  RP_AUTOBUF struct rp__buf b = RP_BUF(0);
  rp_error err;
  put_raw(target, "precious");
  assert_int_equal(symlink(target, linked), 0);
  assert_int_equal(symlink(nowhere, dangling), 0);
  assert_int_equal(rp__file_write(linked, "x", 1, &err), RP_E_REFUSED);
  assert_int_equal(rp__file_read(linked, 100, &b, &err), RP_E_REFUSED);
  assert_int_equal(rp__file_write(dangling, "x", 1, &err), RP_E_REFUSED);
  assert_int_equal(rp__file_read(dangling, 100, &b, &err), RP_E_REFUSED);
  assert_content(target, "precious");
  assert_int_equal(entries(*state), 3);
}

/* Every part below the root is ours: a symlink in the place of any of them is refused, made or not. */
static void folders_below_the_root_are_no_symlinks(void **state)
{
  static const char *const names[] = {"ours", "ours/month"};
  RP_AUTOFREE char *root = path_in(state, "root"), *outside = path_in(state, "outside");
  RP_AUTOFREE char *via = path_in(state, "via");
  rp_error err;
  int fd = -1;
  assert_int_equal(rp__mkdirs(root, &err), 0);
  assert_int_equal(rp__mkdirs(outside, &err), 0);
  assert_int_equal(symlink("root", via), 0);
  for (size_t i = 0; i < RP_ARRAY_SIZE(names); i++) {
    RP_AUTOFREE char *name = rp__path_join(root, names[i]);
    assert_int_equal(symlink(outside, name), 0);
    for (int make = 0; make < 2; make++)
      assert_int_equal(rp__folder_open(root, "ours/month", make, &fd, &err), RP_E_REFUSED);
    assert_int_equal(unlink(name), 0);
    if (i == 0) assert_int_equal(mkdir(name, 0700), 0);
  }
  assert_int_equal(entries(outside), 0);
  assert_int_equal(rp__folder_open(root, "ours/year", false, &fd, &err), RP_E_FILE_NOT_FOUND);
  /* The way to the root is the user's. */
  assert_int_equal(rp__folder_open(via, "ours/month", true, &fd, &err), 0);
  assert_int_equal(rp__file_write_at(fd, "whatever/f", "12", 2, &err), 0);
  close(fd);
  RP_AUTOFREE char *file = rp__path_join(root, "ours/month/f");
  assert_content(file, "12");
}

/* A sweep takes what a dead writer left and nothing else. */
static void sweeps_tell_the_dead_from_the_living(void **state)
{
  static const char digits[] = "0123456789abcdef0123456789abcdef";
  static const char *const kept[] = {".tmp-mine", "f", RP_TEMP_PREFIX "0123",
                                     ".tmp-0123456789abcdef0123456789abcdef.json"};
  char name[100];
  RP_AUTOCLOSE int dir = open(*state, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  RP_AUTOFREE char *living = NULL, *young = NULL, *old = NULL, *linked = NULL, *target = path_in(state, "f");
  for (size_t i = 0; i < RP_ARRAY_SIZE(kept); i++) {
    RP_AUTOFREE char *path = path_in(state, kept[i]);
    put_raw(path, "kept");
  }
  snprintf(name, sizeof name, RP_TEMP_PREFIX "%s", digits);
  living = path_in(state, name);
  put_raw(living, "half a conv");
  int lock = open(living, O_RDONLY | O_CLOEXEC);
  assert_int_equal(flock(lock, LOCK_EX), 0);
  name[strlen(name) - 1] = '0';
  linked = path_in(state, name);
  assert_int_equal(symlink(target, linked), 0);
  /* Earlier versions held no lock. */
  snprintf(name, sizeof name, ".tmp-%s", digits);
  young = path_in(state, name);
  put_raw(young, "half");
  name[strlen(name) - 1] = '0';
  old = path_in(state, name);
  put_raw(old, "half");
  struct timespec hour_ago[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = time(NULL) - 3600}};
  assert_int_equal(utimensat(AT_FDCWD, old, hour_ago, 0), 0);

  assert_int_equal(rp__temps_sweep(dir), 1);
  assert_int_equal(access(old, F_OK), -1);
  assert_int_equal(entries(*state), 7);
  close(lock); /* its writer is dead now */
  assert_int_equal(rp__temps_sweep(dir), 1);
  assert_int_equal(access(living, F_OK), -1);
  assert_content(target, "kept");
}

/* Of two that make a file, the first wins, and the other leaves nothing. */
static void a_draft_may_be_the_first_or_not_at_all(void **state)
{
  RP_AUTOFREE char *path = path_in(state, "f");
  rp_error err;
  for (int i = 0; i < 2; i++) {
    struct rp__file_draft d;
    assert_int_equal(rp__file_draft_open(path, &d, &err), 0);
    assert_int_equal(write(d.fd, i ? "2" : "1", 1), 1);
    assert_int_equal(rp__file_draft_keep(&d, false, &err), i ? RP_E_EXISTS : 0);
    rp__file_draft_done(&d);
    assert_content(path, "1");
    assert_int_equal(entries(*state), 1);
  }
}

static void only_regular_files(void **state)
{
  RP_AUTOFREE char *dir = path_in(state, "d");
  RP_AUTOFREE char *pipe_path = path_in(state, "p");
  RP_AUTOBUF struct rp__buf b = RP_BUF(0);
  rp_error err;
  assert_int_equal(mkdir(dir, 0700), 0);
  assert_int_equal(mkfifo(pipe_path, 0600), 0);
  assert_int_equal(rp__file_read(dir, 100, &b, &err), RP_E_REFUSED);
  assert_int_equal(rp__file_write(dir, "x", 1, &err), RP_E_REFUSED);
  assert_int_equal(rp__file_read(pipe_path, 100, &b, &err), RP_E_REFUSED);
  assert_int_equal(rp__file_write(pipe_path, "x", 1, &err), RP_E_REFUSED);
  assert_int_equal(entries(*state), 2);
}

static void names_that_are_none(void **state)
{
  RP_AUTOFREE char *slash = path_in(state, "");
  RP_AUTOFREE char *dots = path_in(state, "..");
  RP_AUTOBUF struct rp__buf b = RP_BUF(0);
  const char *const bad[] = {"", ".", "..", "/", slash, dots};
  rp_error err;
  for (size_t i = 0; i < RP_ARRAY_SIZE(bad); i++) {
    assert_int_equal(rp__file_write(bad[i], "x", 1, &err), RP_E_USAGE);
    assert_int_equal(rp__file_read(bad[i], 1, &b, &err), RP_E_USAGE);
  }
}

static void missing_files_are_told_apart(void **state)
{
  RP_AUTOFREE char *path = path_in(state, "none");
  RP_AUTOFREE char *deep = path_in(state, "none/f");
  RP_AUTOBUF struct rp__buf b = RP_BUF(0);
  rp_error err;
  assert_int_equal(rp__file_read(path, 100, &b, &err), RP_E_FILE_NOT_FOUND);
  assert_non_null(strstr(err.message, path));
  assert_int_equal(rp__file_write(deep, "x", 1, &err), RP_E_FILE_NOT_FOUND);
  assert_int_equal(rp__sync_parent(deep, &err), RP_E_FILE_NOT_FOUND);
  assert_int_equal(rp__sync_parent(path, &err), 0);
}

static void reading_has_a_bound(void **state)
{
  RP_AUTOFREE char *path = path_in(state, "a");
  RP_AUTOBUF struct rp__buf b = RP_BUF(100);
  rp_error err;
  put_raw(path, "12345");
  rp__buf_str(&b, "before");
  assert_int_equal(rp__file_read(path, 4, &b, &err), RP_E_TOO_LARGE);
  assert_int_equal(rp__file_read(path, 0, &b, &err), RP_E_TOO_LARGE);
  assert_string_equal(b.p, "before");
  assert_int_equal(rp__file_read(path, 5, &b, &err), 0);
  assert_string_equal(b.p, "12345");
  put_raw(path, "");
  assert_int_equal(rp__file_read(path, 0, &b, &err), 0);
  assert_string_equal(b.p, "");
}

static void large_files_come_back_whole(void **state)
{
  RP_AUTOFREE char *path = path_in(state, "large");
  RP_AUTOBUF struct rp__buf out = RP_BUF(1 << 20), in = RP_BUF(0);
  rp_error err;
  for (uint32_t i = 0; out.n < 300001; i++) rp__buf_add(&out, &i, sizeof i);
  assert_int_equal(rp__file_write(path, out.p, out.n, &err), 0);
  assert_int_equal(rp__file_read(path, 1 << 20, &in, &err), 0);
  assert_int_equal(in.n, out.n);
  assert_memory_equal(in.p, out.p, out.n);
}

/* Files that claim no size, as those of /proc, are read to their end. */
static void sizes_are_not_trusted(void **state)
{
  (void)state;
  RP_AUTOBUF struct rp__buf b = RP_BUF(0);
  rp_error err;
  assert_int_equal(rp__file_read("/proc/self/status", 1 << 16, &b, &err), 0);
  assert_true(b.n > 10);
}

static void join_makes_one_slash(void **state)
{
  (void)state;
  static const char *const rows[][3] = {
      {"a", "b", "a/b"}, {"a/", "b", "a/b"}, {"/", "b", "/b"}, {"", "b", "b"}, {"a", "", "a/"}};
  for (size_t i = 0; i < RP_ARRAY_SIZE(rows); i++) {
    RP_AUTOFREE char *path = rp__path_join(rows[i][0], rows[i][1]);
    assert_string_equal(path, rows[i][2]);
  }
}

static void assert_real(const char *path, const char *dir, const char *name)
{
  RP_AUTOFREE char *got = NULL, *real = realpath(dir, NULL), *want = rp__path_join(real, name);
  rp_error err = {0};
  if (rp__path_real(path, &got, &err)) fail_msg("%s: %s", path, err.message);
  assert_string_equal(got, want);
}

static void a_path_leads_to_its_file(void **state)
{
  RP_AUTOFREE char *file = path_in(state, "a.db"), *link = path_in(state, "l.db"), *twice = path_in(state, "m.db");
  RP_AUTOFREE char *folder = path_in(state, "d"), *far = path_in(state, "d/n.db"), *none = path_in(state, "none.db");
  RP_AUTOFREE char *loop = path_in(state, "loop"), *deep = path_in(state, "x/y/z.db"),
                   *inside = path_in(state, "e/a.db");
  RP_AUTOFREE char *other = path_in(state, "e"), *got = NULL;
  rp_error err = {0};
  put_raw(file, "x");
  assert_int_equal(mkdir(folder, 0700), 0);
  assert_int_equal(symlink("a.db", link), 0);
  assert_int_equal(symlink(link, twice), 0);
  assert_int_equal(symlink("../l.db", far), 0);
  assert_int_equal(symlink("d/../d/made-later.db", none), 0);
  assert_int_equal(symlink(".", other), 0);
  assert_int_equal(symlink("loop", loop), 0);
  assert_real(file, *state, "a.db");
  assert_real(link, *state, "a.db");
  assert_real(twice, *state, "a.db");
  assert_real(far, *state, "a.db");
  assert_real(inside, *state, "a.db");
  assert_real(none, folder, "made-later.db"); /* there is no such file yet */
  assert_real(deep, *state, "x/y/z.db");      /* nor such a folder */
  assert_real("/a.db", "/", "a.db");
  assert_real("a.db", ".", "a.db");
  assert_int_equal(rp__path_real(loop, &got, &err), RP_E_REFUSED);
  assert_null(got);
}

static void assert_home(const char *reprise, const char *xdg, const char *home, const char *want)
{
  const char *names[] = {"REPRISE_HOME", "XDG_DATA_HOME", "HOME"}, *values[] = {reprise, xdg, home};
  for (int i = 0; i < 3; i++) {
    if (values[i])
      setenv(names[i], values[i], 1);
    else
      unsetenv(names[i]);
  }
  RP_AUTOFREE char *path = rp__home();
  if (want)
    assert_string_equal(path, want);
  else
    assert_null(path);
}

static void home_is_found_in_order(void **state)
{
  (void)state;
  assert_home("/r", "/x", "/h", "/r");
  assert_home(NULL, "/x", "/h", "/x/reprise");
  assert_home("", "", "/h", "/h/.local/share/reprise");
  assert_home(NULL, "relative", "/h", "/h/.local/share/reprise");
  assert_home(NULL, NULL, NULL, NULL);
  assert_home("", "", "", NULL);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      scratch_test(write_then_read),
      scratch_test(write_replaces_the_file),
      scratch_test(permissions_are_the_owners_alone),
      scratch_test(mkdirs_accepts_what_is_there),
      scratch_test(mkdirs_refuses_files_in_the_way),
      scratch_test(relative_paths),
      scratch_test(symlinks_are_refused),
      scratch_test(folders_below_the_root_are_no_symlinks),
      scratch_test(sweeps_tell_the_dead_from_the_living),
      scratch_test(a_draft_may_be_the_first_or_not_at_all),
      scratch_test(only_regular_files),
      scratch_test(names_that_are_none),
      scratch_test(a_path_leads_to_its_file),
      scratch_test(missing_files_are_told_apart),
      scratch_test(reading_has_a_bound),
      scratch_test(large_files_come_back_whole),
      cmocka_unit_test(sizes_are_not_trusted),
      cmocka_unit_test(join_makes_one_slash),
      cmocka_unit_test(home_is_found_in_order),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
