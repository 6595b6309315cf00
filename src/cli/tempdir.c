/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a throwaway folder, and removes it with everything in it. */
#include "cli/tempdir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#define DEPTH_MAX 4 /* folders below ours: mirrors, archives by month */

int rp__tempdir_make(struct rp__tempdir *t, const char *name, const char *fallback, rp_error *err)
{
  const char *dir = getenv("TMPDIR");
  int n = snprintf(t->path, sizeof(t->path), "%s/reprise-%s.XXXXXX", dir && *dir ? dir : fallback, name);
  if (n < 0 || (size_t)n >= sizeof(t->path)) {
    t->path[0] = '\0';
    return rp__fail(err, RP_E_USAGE, "TMPDIR is too long");
  }
  if (!mkdtemp(t->path)) {
    int errnum = errno;
    rp__fail_errno(err, errnum, "can't make %s", t->path);
    t->path[0] = '\0';
    return err ? err->code : RP_E_IO;
  }
  snprintf(t->db, sizeof(t->db), "sqlite:%s/reprise.db", t->path);
  return 0;
}

/* Takes away what is in a folder, whose descriptor it closes. */
static void folder_empty(int fd, int depth)
{
  DIR *d = fdopendir(fd);
  if (!d) {
    close(fd);
    return;
  }
  for (struct dirent *e; (e = readdir(d));) {
    if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
    if (unlinkat(dirfd(d), e->d_name, 0) == 0 || depth == 0) continue;
    int sub = openat(dirfd(d), e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (sub >= 0) folder_empty(sub, depth - 1);
    unlinkat(dirfd(d), e->d_name, AT_REMOVEDIR);
  }
  closedir(d);
}

void rp__tempdir_remove(struct rp__tempdir *t)
{
  if (!t->path[0]) return;
  int fd = open(t->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd >= 0) folder_empty(fd, DEPTH_MAX);
  rmdir(t->path);
  t->path[0] = '\0';
}
