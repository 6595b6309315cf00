/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A SQLite VFS that passes everything to the system's and fails the nth open,
 * read, write, sync, truncate, delete or mapping of shared memory, as a full or a
 * broken disk would. A failing write has written half of its bytes.
 */
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "plan.h"

struct plan plan_vfs;

struct file {
  sqlite3_file base;
  sqlite3_file *real; /* behind this struct, in the same block */
};

static sqlite3_vfs *real_vfs(sqlite3_vfs *v)
{
  return v->pAppData;
}

static sqlite3_file *real_file(sqlite3_file *f)
{
  return ((struct file *)f)->real;
}

static int file_close(sqlite3_file *f)
{
  return real_file(f)->pMethods->xClose(real_file(f));
}

static int file_read(sqlite3_file *f, void *p, int n, sqlite3_int64 at)
{
  if (plan_fails(&plan_vfs)) return SQLITE_IOERR_READ;
  return real_file(f)->pMethods->xRead(real_file(f), p, n, at);
}

static int file_write(sqlite3_file *f, const void *p, int n, sqlite3_int64 at)
{
  if (!plan_fails(&plan_vfs)) return real_file(f)->pMethods->xWrite(real_file(f), p, n, at);
  if (n > 1) real_file(f)->pMethods->xWrite(real_file(f), p, n / 2, at);
  return plan_vfs.how == VFS_ENOSPC ? SQLITE_FULL : SQLITE_IOERR_WRITE;
}

static int file_truncate(sqlite3_file *f, sqlite3_int64 n)
{
  if (plan_fails(&plan_vfs)) return SQLITE_IOERR_TRUNCATE;
  return real_file(f)->pMethods->xTruncate(real_file(f), n);
}

static int file_sync(sqlite3_file *f, int flags)
{
  if (plan_fails(&plan_vfs)) return SQLITE_IOERR_FSYNC;
  return real_file(f)->pMethods->xSync(real_file(f), flags);
}

static int file_size(sqlite3_file *f, sqlite3_int64 *n)
{
  return real_file(f)->pMethods->xFileSize(real_file(f), n);
}

static int file_lock(sqlite3_file *f, int how)
{
  return real_file(f)->pMethods->xLock(real_file(f), how);
}

static int file_unlock(sqlite3_file *f, int how)
{
  return real_file(f)->pMethods->xUnlock(real_file(f), how);
}

static int file_check_reserved(sqlite3_file *f, int *ret)
{
  return real_file(f)->pMethods->xCheckReservedLock(real_file(f), ret);
}

static int file_control(sqlite3_file *f, int op, void *arg)
{
  return real_file(f)->pMethods->xFileControl(real_file(f), op, arg);
}

static int file_sector(sqlite3_file *f)
{
  return real_file(f)->pMethods->xSectorSize(real_file(f));
}

static int file_device(sqlite3_file *f)
{
  return real_file(f)->pMethods->xDeviceCharacteristics(real_file(f));
}

static int file_shm_map(sqlite3_file *f, int page, int size, int extend, void volatile **ret)
{
  if (plan_fails(&plan_vfs)) return extend && plan_vfs.how == VFS_ENOSPC ? SQLITE_FULL : SQLITE_IOERR_SHMMAP;
  return real_file(f)->pMethods->xShmMap(real_file(f), page, size, extend, ret);
}

static int file_shm_lock(sqlite3_file *f, int offset, int n, int flags)
{
  return real_file(f)->pMethods->xShmLock(real_file(f), offset, n, flags);
}

static void file_shm_barrier(sqlite3_file *f)
{
  real_file(f)->pMethods->xShmBarrier(real_file(f));
}

static int file_shm_unmap(sqlite3_file *f, int del)
{
  return real_file(f)->pMethods->xShmUnmap(real_file(f), del);
}

/* Version 2: no memory-mapped reads, so that every read can fail. */
static const sqlite3_io_methods methods = {
    .iVersion = 2,
    .xClose = file_close,
    .xRead = file_read,
    .xWrite = file_write,
    .xTruncate = file_truncate,
    .xSync = file_sync,
    .xFileSize = file_size,
    .xLock = file_lock,
    .xUnlock = file_unlock,
    .xCheckReservedLock = file_check_reserved,
    .xFileControl = file_control,
    .xSectorSize = file_sector,
    .xDeviceCharacteristics = file_device,
    .xShmMap = file_shm_map,
    .xShmLock = file_shm_lock,
    .xShmBarrier = file_shm_barrier,
    .xShmUnmap = file_shm_unmap,
};

static int vfs_open(sqlite3_vfs *v, const char *name, sqlite3_file *f, int flags, int *out_flags)
{
  struct file *file = (struct file *)f;
  file->base.pMethods = NULL;
  file->real = (sqlite3_file *)(file + 1);
  if (plan_fails(&plan_vfs)) return SQLITE_CANTOPEN;
  int rc = real_vfs(v)->xOpen(real_vfs(v), name, file->real, flags, out_flags);
  if (rc == SQLITE_OK || file->real->pMethods) file->base.pMethods = &methods;
  return rc;
}

static int vfs_delete(sqlite3_vfs *v, const char *name, int sync)
{
  if (plan_fails(&plan_vfs)) return SQLITE_IOERR_DELETE;
  return real_vfs(v)->xDelete(real_vfs(v), name, sync);
}

static int vfs_access(sqlite3_vfs *v, const char *name, int flags, int *ret)
{
  return real_vfs(v)->xAccess(real_vfs(v), name, flags, ret);
}

static int vfs_full_pathname(sqlite3_vfs *v, const char *name, int n, char *out)
{
  return real_vfs(v)->xFullPathname(real_vfs(v), name, n, out);
}

static int vfs_randomness(sqlite3_vfs *v, int n, char *out)
{
  return real_vfs(v)->xRandomness(real_vfs(v), n, out);
}

static int vfs_sleep(sqlite3_vfs *v, int us)
{
  return real_vfs(v)->xSleep(real_vfs(v), us);
}

static int vfs_time(sqlite3_vfs *v, double *ret)
{
  return real_vfs(v)->xCurrentTime(real_vfs(v), ret);
}

static int vfs_last_error(sqlite3_vfs *v, int n, char *out)
{
  return real_vfs(v)->xGetLastError(real_vfs(v), n, out);
}

int vfs_install(void)
{
  static sqlite3_vfs vfs;
  sqlite3_vfs *system = sqlite3_vfs_find(NULL);
  if (!system) return SQLITE_ERROR;
  if (system == &vfs) return SQLITE_OK;
  vfs = (sqlite3_vfs){
      .iVersion = 1,
      .szOsFile = (int)sizeof(struct file) + system->szOsFile,
      .mxPathname = system->mxPathname,
      .zName = "fault",
      .pAppData = system,
      .xOpen = vfs_open,
      .xDelete = vfs_delete,
      .xAccess = vfs_access,
      .xFullPathname = vfs_full_pathname,
      .xRandomness = vfs_randomness,
      .xSleep = vfs_sleep,
      .xCurrentTime = vfs_time,
      .xGetLastError = vfs_last_error,
  };
  return sqlite3_vfs_register(&vfs, 1);
}
