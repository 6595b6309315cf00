/* SPDX-License-Identifier: Apache-2.0 */
/* A scratch folder, removed at the end. */
#include "lib/scratch.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int make_below(struct scratch *s, const char *root)
{
  int n = snprintf(s->dir, sizeof(s->dir), "%s/reprise-test.XXXXXX", root);
  if (n < 0 || (size_t)n >= sizeof(s->dir)) return -1;
  return mkdtemp(s->dir) ? 0 : -1;
}

int scratch_make(struct scratch *s)
{
  const char *root = getenv("TMPDIR");
  return make_below(s, root && *root ? root : "/tmp");
}

int scratch_make_fast(struct scratch *s)
{
  return make_below(s, "/dev/shm") == 0 ? 0 : scratch_make(s);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
  (void)st;
  (void)type;
  return at->level > 0 ? remove(path) : 0;
}

void scratch_empty(const struct scratch *s)
{
  nftw(s->dir, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

void scratch_remove(struct scratch *s)
{
  if (!s->dir[0]) return;
  scratch_empty(s);
  rmdir(s->dir);
  s->dir[0] = '\0';
}

char *scratch_path(const struct scratch *s, const char *name, char *out)
{
  int n = snprintf(out, SCRATCH_PATH, "%s/%s", s->dir, name);
  if (n < 0 || n >= SCRATCH_PATH) abort();
  return out;
}
