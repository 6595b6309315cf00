/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Failure by counting: the nth call of a kind fails, for every n until an
 * operation gets through without one. The linker sends the calls of base here.
 */
#include "scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <sys/wait.h>

enum call { ALLOCATE, WRITE, FSYNC, CLOSE, RENAME, LINK, READ, ANY };
#define DIES (-1) /* instead of an error: the process is gone at that call */

static struct {
  enum call call;
  int countdown; /* 0: nothing fails */
  int errnum;
  bool fired;
} fault;

static bool fails(enum call call)
{
  if (fault.countdown == 0 || (fault.call != call && fault.call != ANY) || --fault.countdown > 0) return false;
  if (fault.errnum == DIES) _exit(1);
  fault.fired = true;
  errno = fault.errnum;
  return true;
}

static void arm(enum call call, int nth, int errnum)
{
  fault.call = call;
  fault.countdown = nth;
  fault.errnum = errnum;
  fault.fired = false;
}

static bool disarm(void)
{
  fault.countdown = 0;
  return fault.fired;
}

void *__real_malloc(size_t n);
void *__real_realloc(void *p, size_t n);
char *__real_strdup(const char *s);
char *__real_strndup(const char *s, size_t n);
ssize_t __real_write(int fd, const void *p, size_t n);
ssize_t __real_read(int fd, void *p, size_t n);
int __real_fsync(int fd);
int __real_close(int fd);
int __real_renameat(int from, const char *a, int to, const char *b);
int __real_linkat(int from, const char *a, int to, const char *b, int flags);
void *__wrap_malloc(size_t n);
void *__wrap_realloc(void *p, size_t n);
char *__wrap_strdup(const char *s);
char *__wrap_strndup(const char *s, size_t n);
ssize_t __wrap_write(int fd, const void *p, size_t n);
ssize_t __wrap_read(int fd, void *p, size_t n);
int __wrap_fsync(int fd);
int __wrap_close(int fd);
int __wrap_renameat(int from, const char *a, int to, const char *b);
int __wrap_linkat(int from, const char *a, int to, const char *b, int flags);

void *__wrap_malloc(size_t n)
{
  return fails(ALLOCATE) ? NULL : __real_malloc(n);
}

void *__wrap_realloc(void *p, size_t n)
{
  return fails(ALLOCATE) ? NULL : __real_realloc(p, n);
}

char *__wrap_strdup(const char *s)
{
  return fails(ALLOCATE) ? NULL : __real_strdup(s);
}

char *__wrap_strndup(const char *s, size_t n)
{
  return fails(ALLOCATE) ? NULL : __real_strndup(s, n);
}

/* Writes a byte at a time as well, so that short writes are the rule. */
ssize_t __wrap_write(int fd, const void *p, size_t n)
{
  return fails(WRITE) ? -1 : __real_write(fd, p, n ? 1 : 0);
}

ssize_t __wrap_read(int fd, void *p, size_t n)
{
  return fails(READ) ? -1 : __real_read(fd, p, n ? 1 : 0);
}

int __wrap_fsync(int fd)
{
  return fails(FSYNC) ? -1 : __real_fsync(fd);
}

/* The descriptor is gone even if closing it fails. */
int __wrap_close(int fd)
{
  bool bad = fails(CLOSE);
  int errnum = errno;
  int r = __real_close(fd);
  if (bad) errno = errnum;
  return bad ? -1 : r;
}

int __wrap_renameat(int from, const char *a, int to, const char *b)
{
  return fails(RENAME) ? -1 : __real_renameat(from, a, to, b);
}

int __wrap_linkat(int from, const char *a, int to, const char *b, int flags)
{
  return fails(LINK) ? -1 : __real_linkat(from, a, to, b, flags);
}

static bool all_named; /* as on a file system that has no unnamed files */

/* Meson's large-file flag makes `openat` the symbol openat64; both names are covered. */
#define WRAP_OPENAT(name)                                                                                              \
  int __real_##name(int d, const char *p, int f, ...);                                                                 \
  int __wrap_##name(int d, const char *p, int f, ...);                                                                 \
  int __wrap_##name(int d, const char *p, int f, ...)                                                                  \
  {                                                                                                                    \
    va_list args;                                                                                                      \
    va_start(args, f);                                                                                                 \
    mode_t mode = f & (O_CREAT | O_TMPFILE) ? va_arg(args, mode_t) : 0;                                                \
    va_end(args);                                                                                                      \
    if (!all_named || (f & O_TMPFILE) != O_TMPFILE) return __real_##name(d, p, f, mode);                               \
    errno = EOPNOTSUPP;                                                                                                \
    return -1;                                                                                                         \
  }
WRAP_OPENAT(openat)
WRAP_OPENAT(openat64)

/* Entries of a folder; 0 when it is not there. */
static int entries(const char *dir)
{
  int n = 0;
  DIR *d = opendir(dir);
  if (!d) return 0;
  while (readdir(d)) n++;
  closedir(d);
  return n - 2;
}

static int descriptors(void)
{
  return entries("/proc/self/fd");
}

static char content(const char *path)
{
  RP_AUTOBUF struct rp__buf b = RP_BUF(0);
  assert_int_equal(rp__file_read(path, 100, &b, NULL), 0);
  assert_int_equal(b.n, 9);
  return b.p[0];
}

/* Whatever fails: the old version or the new one, whole; no temp file, no descriptor left; then all is well again. */
static void write_or_nothing(const char *dir)
{
  static const int errnums[] = {ENOSPC, EIO};
  RP_AUTOFREE char *path = rp__path_join(dir, "f");
  int open_before = descriptors();
  for (int call = ALLOCATE; call < READ; call++) {
    int errnum = call == ALLOCATE ? ENOMEM : errnums[call % 2];
    for (int n = 1;; n++) {
      rp_error err = {0};
      assert_int_equal(rp__file_write(path, "old bytes", 9, &err), 0);
      arm((enum call)call, n, errnum);
      int r = rp__file_write(path, "new bytes", 9, &err);
      bool fired = disarm();
      char now = content(path);
      assert_int_equal(entries(dir), 1);
      assert_int_equal(descriptors(), open_before);
      if (r) {
        assert_true(fired);
        assert_int_equal(err.code, r);
        assert_int_equal(r, errnum == ENOSPC ? RP_E_FULL : errnum == EIO ? RP_E_IO : RP_E_NOMEM);
        /* Only the sync of the folder comes after the replacement. */
        assert_int_equal(now, call == FSYNC && n == 2 ? 'n' : 'o');
      } else {
        assert_int_equal(now, 'n');
      }
      /* Two syncs, each of which counts: the file's and the folder's. */
      if (call == FSYNC) assert_int_equal(r, n <= 2 ? RP_E_FULL : 0);
      if (!fired) break;
      assert_true(n < 50);
    }
  }
}

static void writing_is_all_or_nothing(void **state)
{
  write_or_nothing(*state);
  all_named = true;
  write_or_nothing(*state);
  all_named = false;
}

static int64_t sweep(const char *dir)
{
  RP_AUTOCLOSE int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  return rp__temps_sweep(fd);
}

static bool unnamed_work(const char *dir)
{
  RP_AUTOCLOSE int fd = open(dir, O_WRONLY | O_TMPFILE | O_CLOEXEC, 0600);
  return fd >= 0;
}

/*
 * Wherever the writer is killed: the old version or the new one, whole, and what it leaves beside it goes with a sweep.
 * Where files need no name, there is something to sweep only between two calls.
 */
static void killed_writers_leave_nothing_for_long(void **state)
{
  RP_AUTOFREE char *path = rp__path_join(*state, "f");
  for (int named = 0; named < 2; named++) {
    int64_t left = 0;
    int status = 1;
    all_named = named;
    for (int n = 1; status; n++) {
      assert_true(n < 100);
      assert_int_equal(rp__file_write(path, "old bytes", 9, NULL), 0);
      pid_t pid = fork();
      if (pid == 0) {
        arm(ANY, n, DIES);
        _exit(rp__file_write(path, "new bytes", 9, NULL) ? 2 : 0);
      }
      assert_int_equal(waitpid(pid, &status, 0), pid);
      assert_true(WIFEXITED(status) && WEXITSTATUS(status) < 2);
      char now = content(path);
      assert_true(now == 'o' || now == 'n');
      int64_t gone = sweep(*state);
      assert_int_equal(entries(*state), 1);
      left += gone;
    }
    assert_true(named || !unnamed_work(*state) ? left > 9 : left == 1);
  }
  all_named = false;
}

static void an_interrupted_write_goes_on(void **state)
{
  RP_AUTOFREE char *path = rp__path_join(*state, "f");
  rp_error err;
  for (int n = 1; n <= 9; n++) {
    arm(WRITE, n, EINTR);
    assert_int_equal(rp__file_write(path, "new bytes", 9, &err), 0);
    assert_true(disarm());
    assert_int_equal(content(path), 'n');
  }
}

static void reading_fails_without_a_trace(void **state)
{
  RP_AUTOFREE char *path = rp__path_join(*state, "f");
  rp_error err;
  assert_int_equal(rp__file_write(path, "new bytes", 9, &err), 0);
  int open_before = descriptors();
  static const enum call calls[] = {ALLOCATE, READ};
  for (size_t k = 0; k < RP_ARRAY_SIZE(calls); k++) {
    bool fired = true;
    for (int n = 1; fired; n++) {
      RP_AUTOBUF struct rp__buf b = RP_BUF(10);
      rp__buf_str(&b, "before");
      arm(calls[k], n, calls[k] == READ ? EIO : ENOMEM);
      int r = rp__file_read(path, 100, &b, &err);
      fired = disarm();
      assert_int_equal(r, !fired ? 0 : calls[k] == READ ? RP_E_IO : RP_E_NOMEM);
      assert_string_equal(b.p, fired ? "before" : "new bytes");
      assert_int_equal(descriptors(), open_before);
    }
  }
  RP_AUTOBUF struct rp__buf b = RP_BUF(0);
  arm(READ, 3, EINTR);
  assert_int_equal(rp__file_read(path, 100, &b, &err), 0);
  assert_true(disarm());
  assert_string_equal(b.p, "new bytes");
}

static void folders_are_made_again_after_a_failure(void **state)
{
  RP_AUTOFREE char *top = rp__path_join(*state, "a");
  RP_AUTOFREE char *dir = rp__path_join(*state, "a/b/c");
  rp_error err;
  static const enum call calls[] = {ALLOCATE, FSYNC};
  for (size_t k = 0; k < RP_ARRAY_SIZE(calls); k++) {
    bool fired = true;
    for (int n = 1; fired; n++) {
      arm(calls[k], n, calls[k] == FSYNC ? EIO : ENOMEM);
      int r = rp__mkdirs(dir, &err);
      fired = disarm();
      assert_int_equal(r, !fired ? 0 : calls[k] == FSYNC ? RP_E_IO : RP_E_NOMEM);
      if (fired) assert_int_not_equal(access(dir, F_OK), 0);
      assert_int_equal(rp__mkdirs(dir, &err), 0);
      assert_int_equal(nftw(top, scratch_remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
    }
  }
}

static void a_buffer_without_memory_keeps_what_it_has(void **state)
{
  (void)state;
  RP_AUTOBUF struct rp__buf b = RP_BUF(1000);
  rp__buf_str(&b, "kept");
  arm(ALLOCATE, 1, ENOMEM);
  rp__buf_printf(&b, "%0200d", 1);
  assert_true(disarm());
  assert_int_equal(b.err, RP_E_NOMEM);
  assert_string_equal(b.p, "kept");
  rp__buf_char(&b, 'x');
  assert_null(rp__buf_take(&b));
  assert_int_equal(b.n, 4);
  rp__buf_reset(&b);
  rp__buf_printf(&b, "%0200d", 1);
  assert_int_equal(b.err, 0);
  assert_int_equal(b.n, 200);
}

static void an_empty_buffer_without_memory(void **state)
{
  (void)state;
  RP_AUTOBUF struct rp__buf b = RP_BUF(1000);
  arm(ALLOCATE, 1, ENOMEM);
  assert_null(rp__buf_take(&b));
  assert_true(disarm());
  assert_int_equal(b.err, RP_E_NOMEM);
  rp__buf_reset(&b);
  arm(ALLOCATE, 1, ENOMEM);
  assert_null(rp__path_join("a", "b"));
  assert_true(disarm());
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      scratch_test(writing_is_all_or_nothing),
      scratch_test(killed_writers_leave_nothing_for_long),
      scratch_test(an_interrupted_write_goes_on),
      scratch_test(reading_fails_without_a_trace),
      scratch_test(folders_are_made_again_after_a_failure),
      cmocka_unit_test(a_buffer_without_memory_keeps_what_it_has),
      cmocka_unit_test(an_empty_buffer_without_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
