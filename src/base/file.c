/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes and reads whole files. Every call works relative to the descriptor of an open folder, so that a temporary file
 * and its final place stay in the same folder even when that folder is renamed or replaced meanwhile.
 */
#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#include "base/id.h"

#define READ_CHUNK 65536
#define LINKS_MAX 40 /* followed one after the other, as the kernel does */
#define TEMP_TRIES 8
#define TEMP_OLD_S 60 /* seconds after which a temp file of an earlier version is a dead one's */
#define FD_PATH 40

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
  /* A folder that may not last must not be found by the next try, which would not sync it. */
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

/*
 * The folders below `root` are ours. A symlink there is refused: whoever may write into our folder must not make us
 * write, read or delete elsewhere.
 */
int rp__folder_open(const char *root, const char *below, bool make, int *ret, rp_error *err)
{
  RP_AUTOCLOSE int dir = open(root[0] ? root : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  RP_AUTOFREE char *part = strdup(below), *path = rp__path_join(root, below);
  if (!part || !path) return rp__fail_nomem(err);
  if (dir < 0) return rp__fail_errno(err, errno, "%s", root);
  for (char *name = part, *next; name; name = next) {
    struct stat st;
    next = strchr(name, '/');
    if (next) *next++ = '\0';
    if (!*name) continue;
    bool made = make && mkdirat(dir, name, 0700) == 0;
    if (make && !made && errno != EEXIST) return rp__fail_errno(err, errno, "%s", path);
    int r = made ? folder_sync(dir, path, err) : 0;
    if (r) unlinkat(dir, name, AT_REMOVEDIR); /* as in folder_make */
    if (r) return r;
    int sub = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), why = errno;
    if (sub < 0 && fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode))
      return rp__fail(err, RP_E_REFUSED, "%s: is a symbolic link", path);
    if (sub < 0) return rp__fail_errno(err, why, "%s", path);
    close(dir);
    dir = sub;
  }
  *ret = dir;
  dir = -1;
  return 0;
}

/* ---- writing ------------------------------------------------------------ */

static void temp_name(char out[RP_TEMP_NAME])
{
  uint64_t random[2];
  rp__system_random.fill(rp__system_random.ctx, random, sizeof random);
  snprintf(out, RP_TEMP_NAME, RP_TEMP_PREFIX "%016llx%016llx", (unsigned long long)random[0],
           (unsigned long long)random[1]);
}

/* The name by which an unnamed file can be linked; false where /proc does not show it. */
static bool fd_path(int fd, char out[FD_PATH])
{
  struct stat a, b;
  snprintf(out, FD_PATH, "/proc/self/fd/%d", fd);
  return fstat(fd, &a) == 0 && stat(out, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* Locked while it has its name: whoever finds it unlocked knows that its writer is dead. */
static int named_open(struct rp__file_draft *d)
{
  for (int i = 0; i < TEMP_TRIES; i++) {
    struct stat st;
    temp_name(d->temp);
    int fd = openat(d->dir, d->temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) break;
    /* A sweep that came between the two took it for a dead one's. */
    if (flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &st) == 0 && st.st_nlink > 0) return d->fd = fd, 0;
    unlinkat(d->dir, d->temp, 0);
    close(fd);
  }
  int why = errno;
  d->temp[0] = '\0';
  errno = why;
  return -1;
}

int rp__file_draft_open_at(int dir, const char *path, struct rp__file_draft *ret, rp_error *err)
{
  RP_CLEANUP(rp__file_draft_done) struct rp__file_draft d = {.dir = -1, .fd = -1};
  const char *slash = strrchr(path, '/');
  char through[FD_PATH];
  d.path = strdup(path);
  if (!d.path) return rp__fail_nomem(err);
  d.name = d.path + (slash ? slash + 1 - path : 0);
  d.dir = fcntl(dir, F_DUPFD_CLOEXEC, 0);
  if (d.dir < 0) return rp__fail_errno(err, errno, "%s", path);
  /* Only a regular file, or nothing, may be replaced. The rename itself never follows a link. */
  struct stat st;
  bool there = fstatat(d.dir, d.name, &st, AT_SYMLINK_NOFOLLOW) == 0;
  if (!there && errno != ENOENT) return rp__fail_errno(err, errno, "%s", path);
  if (there && S_ISLNK(st.st_mode)) return rp__fail(err, RP_E_REFUSED, "%s: is a symbolic link", path);
  if (there && !S_ISREG(st.st_mode)) return rp__fail(err, RP_E_REFUSED, "%s: not a regular file", path);
  d.fd = openat(d.dir, ".", O_WRONLY | O_TMPFILE | O_CLOEXEC, 0600);
  if (d.fd >= 0 && !fd_path(d.fd, through)) {
    close(d.fd);
    d.fd = -1;
    errno = EOPNOTSUPP;
  }
  /* File systems that have no unnamed files say so in one of three ways. */
  bool lacking = d.fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == ENOENT || errno == EINVAL);
  if (lacking ? named_open(&d) : d.fd < 0) return rp__fail_errno(err, errno, "%s: can't write", path);
  *ret = d;
  d = (struct rp__file_draft){.dir = -1, .fd = -1};
  return 0;
}

int rp__file_draft_open(const char *path, struct rp__file_draft *ret, rp_error *err)
{
  RP_AUTOCLOSE int dir = -1;
  const char *name;
  int r = parent_open(path, &dir, &name, err);
  return r ? r : rp__file_draft_open_at(dir, path, ret, err);
}

static int draft_link(struct rp__file_draft *d, const char *name)
{
  char from[FD_PATH];
  if (d->temp[0]) return linkat(d->dir, d->temp, d->dir, name, 0);
  if (!fd_path(d->fd, from)) return errno = EOPNOTSUPP, -1;
  return linkat(AT_FDCWD, from, d->dir, name, AT_SYMLINK_FOLLOW);
}

/* The unnamed file takes a temp file's name, by which it can replace another. */
static int draft_name(struct rp__file_draft *d)
{
  char temp[RP_TEMP_NAME];
  temp_name(temp);
  if (flock(d->fd, LOCK_EX | LOCK_NB) || draft_link(d, temp)) return -1;
  memcpy(d->temp, temp, sizeof temp);
  return 0;
}

int rp__file_draft_write(void *ctx, const void *bytes, size_t n)
{
  struct rp__file_draft *d = ctx;
  const char *p = bytes;
  while (n > 0) {
    ssize_t done = write(d->fd, p, n);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) {
      d->errnum = errno;
      return 1;
    }
    p += done;
    n -= (size_t)done;
    d->bytes += done;
  }
  return 0;
}

int rp__file_draft_keep(struct rp__file_draft *d, bool replace, rp_error *err)
{
  /* Some file systems say at a close that the bytes did not arrive. Ours stays open, for the lock is the file's. */
  int again = fsync(d->fd) ? -1 : fcntl(d->fd, F_DUPFD_CLOEXEC, 0);
  if (again < 0 || close(again)) return rp__fail_errno(err, errno, "%s: can't write", d->path);
  bool named = d->temp[0], there = (!replace || !named) && draft_link(d, d->name) == 0;
  if (!there && !replace && errno == EEXIST) return rp__fail(err, RP_E_EXISTS, "%s is there already", d->path);
  if (!there && (!replace || (!named && (errno != EEXIST || draft_name(d)))))
    return rp__fail_errno(err, errno, "%s: can't create", d->path);
  if (!there && renameat(d->dir, d->temp, d->dir, d->name))
    return rp__fail_errno(err, errno, "%s: can't replace", d->path);
  if (!there) d->temp[0] = '\0';
  return folder_sync(d->dir, d->path, err);
}

void rp__file_draft_done(struct rp__file_draft *d)
{
  if (d->temp[0]) unlinkat(d->dir, d->temp, 0);
  if (d->fd >= 0) close(d->fd);
  if (d->dir >= 0) close(d->dir);
  free(d->path);
  *d = (struct rp__file_draft){.dir = -1, .fd = -1};
}

/*
 * Removes a temp file whose writer is dead: it would hold the lock. Names without the program's were made by earlier
 * versions, whose writers held no lock, but were quick.
 */
static bool temp_remove(int dir, const char *name)
{
  static const char before[] = ".tmp-";
  struct stat st, again;
  struct timespec now;
  bool old = strncmp(name, RP_TEMP_PREFIX, sizeof RP_TEMP_PREFIX - 1) != 0;
  if (old && strncmp(name, before, sizeof before - 1) != 0) return false;
  const char *digits = name + (old ? sizeof before : sizeof RP_TEMP_PREFIX) - 1;
  if (strspn(digits, "0123456789abcdef") != 32 || digits[32]) return false;
  RP_AUTOCLOSE int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_uid != geteuid()) return false;
  clock_gettime(CLOCK_REALTIME, &now);
  if (flock(fd, LOCK_EX | LOCK_NB) || (old && now.tv_sec - st.st_mtim.tv_sec <= TEMP_OLD_S)) return false;
  /* Its writer may have renamed it before it died, or another may have its name by now. */
  if (fstatat(dir, name, &again, AT_SYMLINK_NOFOLLOW) || again.st_dev != st.st_dev || again.st_ino != st.st_ino)
    return false;
  return unlinkat(dir, name, 0) == 0;
}

int64_t rp__temps_sweep(int dir)
{
  int64_t gone = 0;
  int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
  if (!d) {
    if (fd >= 0) close(fd);
    return 0;
  }
  for (const struct dirent *e; (e = readdir(d));) gone += temp_remove(dir, e->d_name);
  if (gone) fsync(dirfd(d));
  closedir(d);
  return gone;
}

int rp__file_write_at(int dir, const char *path, const void *bytes, size_t n, rp_error *err)
{
  RP_CLEANUP(rp__file_draft_done) struct rp__file_draft d = {.dir = -1, .fd = -1};
  int r = rp__file_draft_open_at(dir, path, &d, err);
  if (r) return r;
  if (rp__file_draft_write(&d, bytes, n)) return rp__fail_errno(err, d.errnum, "%s: can't write", path);
  return rp__file_draft_keep(&d, true, err);
}

int rp__file_write(const char *path, const void *bytes, size_t n, rp_error *err)
{
  RP_AUTOCLOSE int dir = -1;
  const char *name;
  int r = parent_open(path, &dir, &name, err);
  return r ? r : rp__file_write_at(dir, path, bytes, n, err);
}

/* ---- reading ------------------------------------------------------------ */

int rp__file_read_at(int dir, const char *path, size_t max, struct rp__buf *ret, rp_error *err)
{
  const char *slash = strrchr(path, '/');
  RP_AUTOBUF struct rp__buf b = RP_BUF(max);
  struct stat st;
  ssize_t n = 1;
  /* O_NONBLOCK: a pipe in the file's place must not hold us up. */
  RP_AUTOCLOSE int fd =
      openat(dir, slash ? slash + 1 : path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (fd < 0 && errno == ELOOP) return rp__fail(err, RP_E_REFUSED, "%s: is a symbolic link", path);
  if (fd < 0 || fstat(fd, &st)) return rp__fail_errno(err, errno, "%s", path);
  if (!S_ISREG(st.st_mode)) return rp__fail(err, RP_E_REFUSED, "%s: not a regular file", path);
  while (n > 0) { /* the size the file claims is not trusted: it may grow meanwhile, or be 0 as in /proc */
    char beyond;
    size_t want = RP_MIN(READ_CHUNK, b.max - b.n);
    char *p = want ? rp__buf_room(&b, want) : &beyond;
    if (!p) return rp__fail_nomem(err);
    do n = read(fd, p, want ? want : 1);
    while (n < 0 && errno == EINTR);
    if (n < 0) return rp__fail_errno(err, errno, "%s", path);
    if (n > 0 && !want) return rp__fail(err, RP_E_TOO_LARGE, "%s: over %zu bytes", path, max);
    b.n += (size_t)n;
  }
  rp__buf_add(&b, "", 0);
  if (b.err) return rp__fail_nomem(err);
  rp__buf_done(ret);
  *ret = b;
  b = RP_BUF(0);
  return 0;
}

int rp__file_read(const char *path, size_t max, struct rp__buf *ret, rp_error *err)
{
  RP_AUTOCLOSE int dir = -1;
  const char *name;
  int r = parent_open(path, &dir, &name, err);
  return r ? r : rp__file_read_at(dir, path, max, ret, err);
}

int rp__file_remove_at(int dir, const char *path, rp_error *err)
{
  const char *slash = strrchr(path, '/');
  if (unlinkat(dir, slash ? slash + 1 : path, 0) == 0) return folder_sync(dir, path, err);
  return errno == ENOENT ? 0 : rp__fail_errno(err, errno, "%s", path);
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

int rp__path_real(const char *path, char **ret, rp_error *err)
{
  RP_AUTOFREE char *file = strdup(path), *dir = NULL, *real = NULL, *cwd = NULL;
  if (!file) return rp__fail_nomem(err);
  if (!(dir = parent_of(file))) return rp__fail_nomem(err);
  for (int i = 0;; i++) {
    char target[PATH_MAX];
    ssize_t n = readlink(file, target, sizeof target);
    if (n < 0 && (errno == ENOENT || errno == EINVAL || errno == ENOTDIR)) break; /* it is no link */
    if (n < 0) return rp__fail_errno(err, errno, "%s", file);
    if ((size_t)n == sizeof target) return rp__fail(err, RP_E_REFUSED, "%s: the link is too long", file);
    if (i == LINKS_MAX) return rp__fail(err, RP_E_REFUSED, "%s: too many symbolic links", path);
    target[n] = '\0';
    free(file);
    if (!(file = target[0] == '/' ? strdup(target) : rp__path_join(dir, target))) return rp__fail_nomem(err);
    free(dir);
    if (!(dir = parent_of(file))) return rp__fail_nomem(err);
  }
  const char *slash = strrchr(file, '/');
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
