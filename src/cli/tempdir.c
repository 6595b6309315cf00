/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/tempdir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

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

void rp__tempdir_remove(struct rp__tempdir *t)
{
  if (!t->path[0]) return;
  DIR *d = opendir(t->path);
  for (struct dirent *e; d && (e = readdir(d));)
    if (e->d_name[0] != '.') unlinkat(dirfd(d), e->d_name, 0);
  if (d) closedir(d);
  rmdir(t->path);
  t->path[0] = '\0';
}
