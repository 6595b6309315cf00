/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The system's file layer, but for two things.
 *
 * SQLite syncs the folder of the log with the first commit of every process that opens it. Here whoever makes the log
 * syncs its folder, and those that find it have one sync less to wait for; a process that commits once waits half as
 * long.
 *
 * SQLite makes the log's index longer by writing one byte in each 4096. Where blocks are smaller the rest are holes,
 * and on a full disk the kernel kills whoever writes to a hole of a mapped file. Here a new part of the index gets all
 * its blocks at once, or SQLite is told that the disk is full.
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
static pthread_mutex_t methods_mu = PTHREAD_MUTEX_INITIALIZER;
static const sqlite3_io_methods *system_methods; /* of database files, known once the first was opened */
static sqlite3_io_methods our_methods;           /* those, but for map_index */

/*
 * The kernel allocates by touching every page as a writer would, and reports instead of killing. Its file can't be
 * opened here for fallocate: closing it again would drop this process's locks on it. Kernels before 5.14 do nothing.
 */
static int map_index(sqlite3_file *f, int region, int size, int extend, void volatile **ret)
{
  int rc = system_methods->xShmMap(f, region, size, extend, ret);
  if (rc != SQLITE_OK || !extend || !*ret) return rc;
  int done;
  do done = madvise((void *)(uintptr_t)*ret, (size_t)size, MADV_POPULATE_WRITE);
  while (done && errno == EINTR);
  if (!done || (errno != EFAULT && errno != ENOMEM)) return SQLITE_OK;
  *ret = NULL; /* asked for again, it is tried again */
  return SQLITE_FULL;
}

/* Makes an empty log whose name will last. */
static int make_log(const char *name, sqlite3_file *f, int flags)
{
  int rc = system_vfs->xOpen(system_vfs, name, f, flags, NULL);
  if (rc != SQLITE_OK) return rc;
  f->pMethods->xClose(f);
  f->pMethods = NULL; /* which tells SQLite that there is nothing to close */
  int synced = rp__sync_parent(name, NULL);
  if (synced == 0) return SQLITE_OK;
  return synced == RP_E_NOMEM ? SQLITE_NOMEM : SQLITE_IOERR_DIR_FSYNC;
}

static void use_ours(sqlite3_file *f)
{
  pthread_mutex_lock(&methods_mu);
  if (!system_methods && f->pMethods->iVersion >= 2) {
    our_methods = *f->pMethods;
    our_methods.xShmMap = map_index;
    system_methods = f->pMethods;
  }
  if (f->pMethods == system_methods) f->pMethods = &our_methods;
  pthread_mutex_unlock(&methods_mu);
}

static int open_file(sqlite3_vfs *v, const char *name, sqlite3_file *f, int flags, int *ret_flags)
{
  (void)v;
  if (flags & SQLITE_OPEN_MAIN_DB) {
    int opened = system_vfs->xOpen(system_vfs, name, f, flags, ret_flags);
    if (opened == SQLITE_OK && f->pMethods) use_ours(f);
    return opened;
  }
  if (!(flags & SQLITE_OPEN_WAL) || !(flags & SQLITE_OPEN_CREATE))
    return system_vfs->xOpen(system_vfs, name, f, flags, ret_flags);
  int rc = access(name, F_OK) == 0 ? SQLITE_OK : make_log(name, f, flags);
  if (rc == SQLITE_OK) rc = system_vfs->xOpen(system_vfs, name, f, flags & ~SQLITE_OPEN_CREATE, ret_flags);
  if ((rc & 0xff) != SQLITE_CANTOPEN) return rc;
  return system_vfs->xOpen(system_vfs, name, f, flags, ret_flags); /* somebody has just deleted it */
}

static void install(void)
{
  if (sqlite3_initialize() != SQLITE_OK) return;
  system_vfs = sqlite3_vfs_find(NULL);
  if (!system_vfs) return;
  our_vfs = *system_vfs;
  our_vfs.zName = "reprise";
  our_vfs.xOpen = open_file;
  if (sqlite3_vfs_register(&our_vfs, 0) != SQLITE_OK) our_vfs.zName = NULL;
}

const char *rp__sq_vfs(void)
{
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, install);
  return our_vfs.zName; /* NULL: the system's own will do */
}
