/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A page cache between the program and the disk (preloaded): what was written and synced, and what a power cut leaves.
 */
#undef _FORTIFY_SOURCE /* its inline versions would stand in the way of ours */
#include "pagecache.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/child.h"
#include "lib/dice.h"

#define PAGE 4096
#define PAGES 512 /* 2 MiB of each file */
#define INODES 12
#define FDS 1024

struct inode {
  ino_t ino; /* 0: free; also when the file is gone, for its number may be given again */
  bool used;
  unsigned errors; /* syncs that failed */
  off_t size;      /* that would outlive a cut */
  bool dirty[PAGES];
  unsigned char durable[PAGES][PAGE];
};

/* A name of the folder: the inode it has, and the one it would have after a cut. -1: none. */
struct name {
  char path[600];
  int now, durable;
  bool forgotten; /* the sync of the folder failed: not to be written unless the folder changes again */
};

struct model {
  struct inode inode[INODES];
  struct name name[2];
  char dir[600];
  atomic_long syncs, calls;
  long fail, die;
  bool persistent, deadly;
  long failed;
};

static struct model *m;
static unsigned told[FDS]; /* by descriptor: errors of its inode that it knows of */

#define REAL(type, name, ...)                                                                                          \
  static type (*real)(__VA_ARGS__);                                                                                    \
  if (!real) real = (type(*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)

static ssize_t real_pwrite(int fd, const void *p, size_t n, off_t at)
{
  REAL(ssize_t, "pwrite64", int, const void *, size_t, off_t);
  return real(fd, p, n, at);
}

static int real_open(const char *path, int flags, mode_t mode)
{
  REAL(int, "open64", const char *, int, ...);
  return real(path, flags, mode);
}

static struct name *name_of(const char *path)
{
  for (int i = 0; m && i < 2; i++)
    if (strcmp(m->name[i].path, path) == 0) return &m->name[i];
  return NULL;
}

static struct inode *inode_of(int fd)
{
  struct stat st;
  if (!m || fstat(fd, &st) != 0) return NULL;
  for (int i = 0; i < INODES; i++)
    if (m->inode[i].used && m->inode[i].ino == st.st_ino) return &m->inode[i];
  return NULL;
}

static bool in_folder(const char *path)
{
  size_t n = m ? strlen(m->dir) : 0;
  return n && strncmp(path, m->dir, n) == 0;
}

static void folder_changed(void)
{
  for (int i = 0; i < 2; i++) m->name[i].forgotten = false;
}

/* The name now stands for the file that is there. */
static void name_set(struct name *name)
{
  struct stat st;
  if (stat(name->path, &st) != 0) abort();
  for (int i = 0; i < INODES; i++) {
    if (m->inode[i].used) continue;
    m->inode[i].used = true;
    m->inode[i].ino = st.st_ino;
    name->now = i;
    return;
  }
  abort();
}

/* A write or a sync: perhaps the one in which the process dies. */
static void count_call(void)
{
  if (atomic_fetch_add(&m->calls, 1) + 1 == m->die) _exit(99);
}

/* Whether this sync is to fail. */
static bool sync_fails(void)
{
  count_call();
  long n = atomic_fetch_add(&m->syncs, 1) + 1;
  if (m->fail == 0 || n < m->fail || (n > m->fail && !m->persistent)) return false;
  m->failed++;
  return true;
}

static int sync_report(bool failed)
{
  if (!failed) return 0;
  if (m->deadly) _exit(99);
  errno = EIO;
  return -1;
}

static void folder_sync_done(bool failed)
{
  for (int i = 0; i < 2; i++) {
    struct name *name = &m->name[i];
    if (failed && name->now != name->durable) name->forgotten = true;
    if (!failed && !name->forgotten) name->durable = name->now;
  }
}

static void file_sync_done(int fd, struct inode *f, bool failed)
{
  struct stat st;
  if (fstat(fd, &st) != 0 || st.st_size > (off_t)PAGES * PAGE) abort();
  for (int i = 0; i < PAGES; i++) {
    bool beyond = (off_t)i * PAGE >= st.st_size;
    if (!failed && (f->dirty[i] || beyond)) memset(f->durable[i], 0, PAGE);
    if (!failed && f->dirty[i] && !beyond && pread(fd, f->durable[i], PAGE, (off_t)i * PAGE) < 0) abort();
    f->dirty[i] = false;
  }
  if (!failed) f->size = st.st_size;
}

static int sync_any(int fd, const char *name)
{
  struct inode *f = inode_of(fd);
  struct stat st, dir;
  if (f) {
    bool failed = sync_fails();
    bool again = !failed && fd < FDS && told[fd] != f->errors;
    f->errors += failed;
    told[fd] = f->errors;
    file_sync_done(fd, f, failed);
    return sync_report(failed || again);
  }
  if (m && fstat(fd, &st) == 0 && S_ISDIR(st.st_mode) && stat(m->dir, &dir) == 0 && dir.st_ino == st.st_ino) {
    bool failed = sync_fails();
    folder_sync_done(failed);
    return sync_report(failed);
  }
  REAL(int, name, int);
  return real(fd);
}

/* ---- the calls, which SQLite must see ---- */

#pragma GCC visibility push(default)

int fdatasync(int fd)
{
  return sync_any(fd, "fdatasync");
}

int fsync(int fd)
{
  return sync_any(fd, "fsync");
}

ssize_t pwrite64(int fd, const void *p, size_t n, off_t at)
{
  struct inode *f = inode_of(fd);
  if (f) count_call();
  ssize_t done = real_pwrite(fd, p, n, at);
  if (!f || done <= 0) return done;
  if (at + done > (off_t)PAGES * PAGE) abort();
  for (off_t i = at / PAGE; i <= (at + done - 1) / PAGE; i++) f->dirty[i] = true;
  return done;
}

int ftruncate64(int fd, off_t n)
{
  REAL(int, "ftruncate64", int, off_t);
  struct inode *f = inode_of(fd);
  if (f) count_call();
  return real(fd, n);
}

int open64(const char *path, int flags, ...)
{
  va_list args;
  va_start(args, flags);
  mode_t mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
  va_end(args);
  struct name *name = name_of(path);
  bool makes = flags & O_CREAT && in_folder(path) && access(path, F_OK) != 0;
  int fd = real_open(path, flags, mode);
  if (fd < 0) return fd;
  if (makes) folder_changed();
  if (makes && name) name_set(name);
  struct inode *f = inode_of(fd);
  if (f && fd < FDS) told[fd] = f->errors;
  return fd;
}

int link(const char *from, const char *to)
{
  REAL(int, "link", const char *, const char *);
  struct name *name = name_of(to);
  int rc = real(from, to);
  if (rc == 0 && name) {
    folder_changed();
    name_set(name);
  }
  return rc;
}

/* Only as the store uses it: within one folder, and nothing is replaced. */
int renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned flags)
{
  REAL(int, "renameat2", int, const char *, int, const char *, unsigned);
  struct name *name = name_of(to);
  int rc = real(from_dir, from, to_dir, to, flags);
  if (rc == 0 && name) {
    folder_changed();
    name_set(name);
  }
  return rc;
}

int unlink(const char *path)
{
  REAL(int, "unlink", const char *);
  struct name *name = name_of(path);
  int rc = real(path);
  if (rc != 0 || !m || !in_folder(path)) return rc;
  folder_changed();
  if (name && name->now >= 0) {
    m->inode[name->now].ino = 0;
    name->now = -1;
  }
  return rc;
}

#pragma GCC visibility pop

/* ---- the test's side ---- */

void pagecache_begin(const char *db)
{
  if (!m) m = child_shared(sizeof(*m));
  memset(m, 0, sizeof(*m));
  snprintf(m->name[0].path, sizeof(m->name[0].path), "%s", db);
  snprintf(m->name[1].path, sizeof(m->name[1].path), "%s-wal", db);
  for (int i = 0; i < 2; i++) m->name[i].now = m->name[i].durable = -1;
  snprintf(m->dir, sizeof(m->dir), "%.*s", (int)(strrchr(db, '/') - db), db);
}

void pagecache_fail(long nth, bool persistent)
{
  m->syncs = 0;
  m->fail = nth;
  m->persistent = persistent;
  m->deadly = false;
}

void pagecache_fail_deadly(long nth)
{
  pagecache_fail(nth, false);
  m->deadly = true;
}

void pagecache_die(long nth)
{
  m->calls = 0;
  m->die = nth;
}

long pagecache_failed(void)
{
  return m->failed;
}

/* The durable bytes of a file, and what of its dirty pages the disk happened to write before the cut. */
static void file_restore(const struct name *name, struct inode *f, enum pagecache_cut how, struct dice *dice)
{
  int old = name->now == name->durable ? real_open(name->path, O_RDONLY, 0) : -1;
  for (int i = 0; i < PAGES && old >= 0; i++) {
    bool lucky = how == CUT_ALL || (how == CUT_SOME && dice_below(dice, 2));
    if (!f->dirty[i] || !lucky) continue;
    ssize_t n = pread(old, f->durable[i], PAGE, (off_t)i * PAGE);
    if (n > 0 && (off_t)i * PAGE + n > f->size) f->size = (off_t)i * PAGE + n;
  }
  if (old >= 0 && how == CUT_ALL) f->size = lseek(old, 0, SEEK_END);
  if (old >= 0) close(old);
  int fd = real_open(name->path, O_WRONLY | O_CREAT | O_TRUNC, 0600); /* the same inode, where there is one */
  if (fd < 0) abort();
  for (off_t at = 0; at < f->size; at += PAGE) {
    size_t n = f->size - at < PAGE ? (size_t)(f->size - at) : PAGE;
    if (real_pwrite(fd, f->durable[at / PAGE], n, at) != (ssize_t)n) abort();
  }
  close(fd);
}

void pagecache_cut(enum pagecache_cut how, uint64_t seed)
{
  struct model *was = m;
  struct dice dice = {seed ? seed : 1};
  m = NULL; /* what is done from here on is no call of the program */
  for (int i = 0; i < 2; i++) {
    struct name *name = &was->name[i];
    /* A folder may have been written, too; what was forgotten is not. */
    if (how == CUT_ALL && !name->forgotten) name->durable = name->now;
    if (name->durable < 0)
      unlink(name->path);
    else
      file_restore(name, &was->inode[name->durable], how, &dice);
  }
  char shm[620];
  snprintf(shm, sizeof(shm), "%s-shm", was->name[0].path);
  unlink(shm);
  m = was;
  m->name[0].path[0] = m->name[1].path[0] = m->dir[0] = '\0'; /* nothing is modelled until it begins anew */
  for (int i = 0; i < INODES; i++) m->inode[i].used = false;
}
