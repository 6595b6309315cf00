/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The system's file layer, but for one thing: SQLite syncs the folder of the log with the first commit of every
 * process that opens it. Here whoever makes the log syncs its folder, and those that find it have one sync less to
 * wait for; a process that commits once waits half as long.
 */
#include "store/sqlite/sqlite.h"

#include <unistd.h>

#include "base/file.h"

static sqlite3_vfs *system_vfs, our_vfs;

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

static int open_file(sqlite3_vfs *v, const char *name, sqlite3_file *f, int flags, int *ret_flags)
{
  (void)v;
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
