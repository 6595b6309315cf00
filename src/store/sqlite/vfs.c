/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The system's file layer, with three changes.
 *
 * SQLite syncs the folder of the log with the first commit of every process that opens it. Here the process that makes
 * the log syncs its folder, and processes that find a log save this sync. A process that commits once waits half as
 * long.
 *
 * SQLite makes the log's index longer by writing one byte in each 4096. Where blocks are smaller, the other blocks are
 * holes, and on a full disk the kernel kills a process that writes to a hole of a mapped file. Here a new part of the
 * index gets all its blocks at once, or SQLite is told that the disk is full.
 *
 * Every failed sync of the database, its log or their folder is noted where all processes see it (sync.c), also one
 * whose error SQLite drops, as it does in a checkpoint at close.
 */
#include "store/sqlite/sqlite.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

static sqlite3_vfs *system_vfs, our_vfs;

/* What stands behind the system's own struct of an open database or log. */
struct watch {
  sqlite3_io_methods methods; /* the system's, but for xSync and xShmMap */
  int (*sync)(sqlite3_file *f, int flags);
  int (*map)(sqlite3_file *f, int region, int size, int extend, void volatile **ret);
  struct rp__sq_conn *conn; /* of a database; NULL until the connection is known */
  struct watch *database;   /* of a log */
};

static size_t system_size(void)
{
  return ((size_t)system_vfs->szOsFile + 15) & ~(size_t)15;
}

static struct watch *watch_of(sqlite3_file *f)
{
  return (struct watch *)((char *)f + system_size());
}

static int file_sync(sqlite3_file *f, int flags)
{
  struct watch *w = watch_of(f);
  struct rp__sq_conn *c = w->database ? w->database->conn : w->conn;
  if (c) rp__sq_sync_begin(c);
  int rc = w->sync(f, flags);
  if (c) rp__sq_sync_end(c, rc == SQLITE_OK);
  return rc;
}

/*
 * The kernel allocates by touching every page as a writer would, and reports instead of killing. Its file can't be
 * opened here for fallocate: closing it again would drop this process's locks on it. Kernels before 5.14 do nothing.
 */
static int map_index(sqlite3_file *f, int region, int size, int extend, void volatile **ret)
{
  int rc = watch_of(f)->map(f, region, size, extend, ret);
  if (rc != SQLITE_OK || !extend || !*ret) return rc;
  int done;
  do done = madvise((void *)(uintptr_t)*ret, (size_t)size, MADV_POPULATE_WRITE);
  while (done && errno == EINTR);
  if (!done || (errno != EFAULT && errno != ENOMEM)) return SQLITE_OK;
  *ret = NULL; /* asked for again, it is tried again */
  return SQLITE_FULL;
}

static struct watch *watch_find(sqlite3_file *f)
{
  return f && f->pMethods && f->pMethods->xSync == file_sync ? watch_of(f) : NULL;
}

/* Makes an empty log whose name will last. */
static int make_log(const char *name, sqlite3_file *f, int flags)
{
  int rc = system_vfs->xOpen(system_vfs, name, f, flags, NULL);
  if (rc != SQLITE_OK) return rc;
  f->pMethods->xClose(f);
  f->pMethods = NULL; /* which tells SQLite that there is nothing to close */
  struct watch *database = watch_find(sqlite3_database_file_object(name));
  /* If it fails, whoever comes next finds the log and does not sync its folder. */
  int synced =
      database && database->conn ? rp__sq_sync_name(database->conn->store, name, NULL) : rp__sync_parent(name, NULL);
  if (synced == 0) return SQLITE_OK;
  return synced == RP_E_NOMEM ? SQLITE_NOMEM : SQLITE_IOERR_DIR_FSYNC;
}

static int open_log(const char *name, sqlite3_file *f, int flags, int *ret_flags)
{
  int rc = access(name, F_OK) == 0 ? SQLITE_OK : make_log(name, f, flags);
  if (rc == SQLITE_OK) rc = system_vfs->xOpen(system_vfs, name, f, flags & ~SQLITE_OPEN_CREATE, ret_flags);
  if ((rc & 0xff) != SQLITE_CANTOPEN) return rc;
  return system_vfs->xOpen(system_vfs, name, f, flags, ret_flags); /* somebody has just deleted it */
}

static int open_file(sqlite3_vfs *v, const char *name, sqlite3_file *f, int flags, int *ret_flags)
{
  (void)v;
  bool log = flags & SQLITE_OPEN_WAL;
  int rc = log && flags & SQLITE_OPEN_CREATE ? open_log(name, f, flags, ret_flags)
                                             : system_vfs->xOpen(system_vfs, name, f, flags, ret_flags);
  if (rc != SQLITE_OK || !(flags & (SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_WAL))) return rc;
  struct watch *w = watch_of(f);
  *w = (struct watch){.methods = *f->pMethods, .sync = f->pMethods->xSync};
  w->methods.xSync = file_sync;
  if (w->methods.iVersion >= 2) {
    w->map = w->methods.xShmMap;
    w->methods.xShmMap = map_index;
  }
  f->pMethods = &w->methods;
  if (log) w->database = watch_find(sqlite3_database_file_object(name));
  return rc;
}

static void install(void)
{
  if (sqlite3_initialize() != SQLITE_OK) return;
  system_vfs = sqlite3_vfs_find(NULL);
  if (!system_vfs) return;
  our_vfs = *system_vfs;
  our_vfs.zName = "reprise";
  our_vfs.szOsFile = (int)(system_size() + sizeof(struct watch));
  our_vfs.xOpen = open_file;
  if (sqlite3_vfs_register(&our_vfs, 0) != SQLITE_OK) our_vfs.zName = NULL;
}

const char *rp__sq_vfs(void)
{
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, install);
  return our_vfs.zName; /* NULL: the system's own will do */
}

void rp__sq_vfs_watch(struct rp__sq_conn *c)
{
  sqlite3_file *f = NULL;
  if (sqlite3_file_control(c->db, "main", SQLITE_FCNTL_FILE_POINTER, &f) != SQLITE_OK) return;
  struct watch *w = watch_find(f);
  if (w) w->conn = c;
}
