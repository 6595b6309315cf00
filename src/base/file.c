/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything happens relative to an open folder, so that a folder renamed or
 * swapped meanwhile cannot split a temp file from its place.
 */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "base/id.h"

#define READ_CHUNK 65536
#define TEMP_NAME 48
#define LINKS_MAX 40 /* followed one after the other, as the kernel does */

/* ---- folders ------------------------------------------------------------ */

/* The part before the last slash, as a folder. NULL without memory. */
static char *parent_of(const char *path)
{
  const char *slash = strrchr(path, '/');
  if (!slash) return strdup(".");
  return slash == path ? strdup("/") : strndup(path, (size_t)(slash - path));
}

/* Opens the folder that holds `path`; `ret_name` points at the last part inside `path`. */
static int parent_open(const char *path, int *ret_fd, const char **ret_name, rp_error *err)
{
  const char *slash = strrchr(path, '/');
  const char *name = slash ? slash + 1 : path;
  if (!*name || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
    return rp__fail(err, RP_E_USAGE, "%s: not the name of a file", path);
  RP_AUTOFREE char *dir = parent_of(path);
  if (!dir) return rp__fail_nomem(err);
  int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return rp__fail_errno(err, errno, "%s", dir);
  *ret_fd = fd;
  *ret_name = name;
  return 0;
}

static int folder_sync(int fd, const char *path, rp_error *err)
{
  return fsync(fd) ? rp__fail_errno(err, errno, "%s: can't sync its folder", path) : 0;
}

int rp__sync_parent(const char *path, rp_error *err)
{
  RP_AUTOCLOSE int dir = -1;
  const char *name;
  int r = parent_open(path, &dir, &name, err);
  return r ? r : folder_sync(dir, path, err);
}

static int folder_make(const char *path, rp_error *err)
{
  if (mkdir(path, 0700)) return errno == EEXIST ? 0 : rp__fail_errno(err, errno, "%s", path);
  int r = rp__sync_parent(path, err);
  /* One that may not last must not be found by the next try, which would not sync it. */
  if (r) rmdir(path);
  return r;
}

int rp__mkdirs(const char *path, rp_error *err)
{
  RP_AUTOFREE char *part = strdup(path);
  if (!part) return rp__fail_nomem(err);
  size_t n = strlen(part);
  while (n > 1 && part[n - 1] == '/') part[--n] = '\0';
  for (size_t i = 1; i <= n; i++) {
    if ((i < n && part[i] != '/') || part[i - 1] == '/') continue;
    part[i] = '\0';
    int r = folder_make(part, err);
    if (r) return r;
    if (i < n) part[i] = '/';
  }
  struct stat st;
  if (stat(path, &st)) return rp__fail_errno(err, errno, "%s", path);
  return S_ISDIR(st.st_mode) ? 0 : rp__fail_errno(err, ENOTDIR, "%s", path);
}

/* ---- writing ------------------------------------------------------------ */

/* Only a regular file, or nothing, may be replaced. The rename itself never follows a link. */
static int target_check(int dir, const char *name, const char *path, rp_error *err)
{
  struct stat st;
  if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW)) return errno == ENOENT ? 0 : rp__fail_errno(err, errno, "%s", path);
  if (S_ISLNK(st.st_mode)) return rp__fail(err, RP_E_REFUSED, "%s: is a symbolic link", path);
  return S_ISREG(st.st_mode) ? 0 : rp__fail(err, RP_E_REFUSED, "%s: not a regular file", path);
}

static void temp_name(char out[TEMP_NAME])
{
  uint64_t random[2];
  rp__system_random.fill(rp__system_random.ctx, random, sizeof random);
  snprintf(out, TEMP_NAME, ".tmp-%016llx%016llx", (unsigned long long)random[0], (unsigned long long)random[1]);
}

static int write_all(int fd, const char *p, size_t n)
{
  while (n > 0) {
    ssize_t done = write(fd, p, n);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return -1;
    p += done;
    n -= (size_t)done;
  }
  return 0;
}

/* Makes a new file with those bytes on disk; leaves none on failure. */
static int temp_write(int dir, const char *temp, const void *bytes, size_t n)
{
  int fd = openat(dir, temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) return -1;
  bool ok = write_all(fd, bytes, n) == 0 && fsync(fd) == 0;
  int saved = errno;
  if (close(fd) && ok) {
    saved = errno;
    ok = false;
  }
  if (!ok) unlinkat(dir, temp, 0);
  errno = saved;
  return ok ? 0 : -1;
}

int rp__file_write(const char *path, const void *bytes, size_t n, rp_error *err)
{
  RP_AUTOCLOSE int dir = -1;
  const char *name;
  char temp[TEMP_NAME];
  int r = parent_open(path, &dir, &name, err);
  if (!r) r = target_check(dir, name, path, err);
  if (r) return r;
  temp_name(temp);
  if (temp_write(dir, temp, bytes, n)) return rp__fail_errno(err, errno, "%s: can't write", path);
  if (renameat(dir, temp, dir, name)) {
    int saved = errno;
    unlinkat(dir, temp, 0);
    return rp__fail_errno(err, saved, "%s: can't replace", path);
  }
  return folder_sync(dir, path, err);
}

/* ---- reading ------------------------------------------------------------ */

static int regular_open(const char *path, int *ret_fd, rp_error *err)
{
  RP_AUTOCLOSE int dir = -1, fd = -1;
  const char *name;
  struct stat st;
  int r = parent_open(path, &dir, &name, err);
  if (r) return r;
  /* O_NONBLOCK: a pipe in the file's place must not hold us up. */
  fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (fd < 0 && errno == ELOOP) return rp__fail(err, RP_E_REFUSED, "%s: is a symbolic link", path);
  if (fd < 0 || fstat(fd, &st)) return rp__fail_errno(err, errno, "%s", path);
  if (!S_ISREG(st.st_mode)) return rp__fail(err, RP_E_REFUSED, "%s: not a regular file", path);
  *ret_fd = fd;
  fd = -1;
  return 0;
}

static ssize_t read_some(int fd, void *p, size_t n)
{
  ssize_t done;
  do done = read(fd, p, n);
  while (done < 0 && errno == EINTR);
  return done;
}

/* Reads to the end. The size the file claims is not trusted: it may grow meanwhile, or be 0 as in /proc. */
static int read_all(int fd, const char *path, struct rp__buf *b, rp_error *err)
{
  for (;;) {
    char beyond;
    size_t want = RP_MIN(READ_CHUNK, b->max - b->n);
    char *p = want ? rp__buf_room(b, want) : &beyond;
    if (!p) return rp__fail_nomem(err);
    ssize_t n = read_some(fd, p, want ? want : 1);
    if (n < 0) return rp__fail_errno(err, errno, "%s", path);
    if (n == 0) break;
    if (!want) return rp__fail(err, RP_E_TOO_LARGE, "%s: over %zu bytes", path, b->max);
    b->n += (size_t)n;
  }
  rp__buf_add(b, "", 0);
  return b->err ? rp__fail_nomem(err) : 0;
}

int rp__file_read(const char *path, size_t max, struct rp__buf *ret, rp_error *err)
{
  RP_AUTOCLOSE int fd = -1;
  RP_AUTOBUF struct rp__buf b = RP_BUF(max);
  int r = regular_open(path, &fd, err);
  if (!r) r = read_all(fd, path, &b, err);
  if (r) return r;
  rp__buf_done(ret);
  *ret = b;
  b = RP_BUF(0);
  return 0;
}

/* ---- places ------------------------------------------------------------- */

char *rp__path_join(const char *dir, const char *name)
{
  size_t n = strlen(dir), m = strlen(name);
  bool slash = n > 0 && dir[n - 1] != '/';
  char *path = malloc(n + slash + m + 1);
  if (!path) return NULL;
  memcpy(path, dir, n);
  if (slash) path[n++] = '/';
  memcpy(path + n, name, m + 1);
  return path;
}

/* A variable that is set to nothing counts as not set. */
static const char *env(const char *name)
{
  const char *value = getenv(name);
  return value && *value ? value : NULL;
}

char *rp__home(void)
{
  const char *value = env("REPRISE_HOME");
  if (value) return strdup(value);
  value = env("XDG_DATA_HOME");
  /* The XDG specification says to ignore a relative one. */
  if (value && *value == '/') return rp__path_join(value, "reprise");
  value = env("HOME");
  return value ? rp__path_join(value, ".local/share/reprise") : NULL;
}

/* ---- what a path means ---------------------------------------------------- */

/* 1 with what the link says, 0 when there is no link, or an error. */
static int link_read(const char *path, char **ret, rp_error *err)
{
  char target[PATH_MAX];
  ssize_t n = readlink(path, target, sizeof target);
  if (n < 0) return errno == ENOENT || errno == EINVAL || errno == ENOTDIR ? 0 : rp__fail_errno(err, errno, "%s", path);
  if ((size_t)n == sizeof target) return rp__fail(err, RP_E_REFUSED, "%s: the link is too long", path);
  target[n] = '\0';
  RP_AUTOFREE char *dir = parent_of(path);
  if (!dir) return rp__fail_nomem(err);
  *ret = target[0] == '/' ? strdup(target) : rp__path_join(dir, target);
  return *ret ? 1 : rp__fail_nomem(err);
}

int rp__path_real(const char *path, char **ret, rp_error *err)
{
  RP_AUTOFREE char *file = strdup(path), *dir = NULL, *real = NULL, *cwd = NULL;
  if (!file) return rp__fail_nomem(err);
  for (int i = 0;; i++) {
    char *next = NULL;
    int rc = link_read(file, &next, err);
    if (rc < 0) return rc;
    if (rc == 0) break;
    free(file);
    file = next;
    if (i == LINKS_MAX) return rp__fail(err, RP_E_REFUSED, "%s: too many symbolic links", path);
  }
  const char *slash = strrchr(file, '/');
  if (!(dir = parent_of(file))) return rp__fail_nomem(err);
  if ((real = realpath(dir, NULL))) {
    *ret = rp__path_join(real, slash ? slash + 1 : file);
  } else if (errno == ENOMEM) {
    return rp__fail_nomem(err);
  } else if (file[0] == '/') {
    *ret = RP_TAKE(file);
  } else { /* the folder is yet to be made, or whoever opens the file says what is wrong with it */
    if (!(cwd = getcwd(NULL, 0))) return rp__fail_errno(err, errno, "the working directory");
    *ret = rp__path_join(cwd, file);
  }
  return *ret ? 0 : rp__fail_nomem(err);
}
