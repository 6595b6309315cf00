/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The live session store (C-07, C-11): all sessions of the scopes that name the file, written anew, atomically and
 * 0600, when anything was stored since, by whichever process. At most once a second, and never for more than a
 * twentieth of the time: what comes meanwhile waits for the next one.
 */
#include <errno.h>

#include "base/file.h"
#include "engine/capture/mirror.h"
#include "engine/own-files.h"
#include "engine/transfer/store-file.h"

#define REST 20                          /* times as long as the writing took */
#define RETRY_US ((int64_t)30 * 1000000) /* after a failure, which is logged each time */
#define FILES_MAX 64

struct files {
  rp_engine *e;
  const char *path[FILES_MAX];
  size_t n;
};

static int on_scope(void *ctx, const char *scope)
{
  struct files *f = ctx;
  const char *path = rp__config_of(f->e->config, scope)->store_file;
  for (size_t i = 0; i < f->n; i++)
    if (strcmp(f->path[i], path) == 0) return 0;
  if (path[0] && f->n < FILES_MAX) f->path[f->n++] = path;
  return 0;
}

static int write_file(rp_engine *e, const char *path, rp_error *err)
{
  RP_CLEANUP(rp__file_draft_done) struct rp__file_draft d = {.dir = -1, .fd = -1};
  const char *slash = strrchr(path, '/');
  char *folder RP_AUTOFREE = slash && slash != path ? strndup(path, (size_t)(slash - path)) : NULL;
  int rc = rp__own_files_check(e, "store_file", path, err); /* a link may have come since the start */
  if (!rc && folder) rc = rp__mkdirs(folder, err);
  if (!rc) rc = rp__file_draft_open(path, &d, err);
  if (rc) return rc;
  const struct rp__store_file f = {.mirror = path, .write = rp__file_draft_write, .ctx = &d};
  rc = rp__store_file_write(e, &f, NULL, err);
  if (d.errnum) rc = rp__fail_errno(err, d.errnum, "can't write %s", path);
  return rc ? rc : rp__file_draft_keep(&d, true, err);
}

bool rp__mirror_stores_wanted(const rp_engine *e)
{
  const struct rp__scope_config *c = NULL;
  while ((c = rp__config_next(e->config, c)))
    if (c->store_file[0]) return true;
  return false;
}

/* The number is taken before the store is read: what is stored from then on makes it another. */
int rp__mirror_stores(rp_engine *e, bool now, rp_error *err)
{
  struct rp__store_mirror *m = &e->store_mirror;
  int64_t version, began = rp__engine_micros(e);
  if (!rp__mirror_stores_wanted(e) || e->read_only) return RP__MIRROR_NONE;
  if (!now && began < m->rest_until) return RP__MIRROR_NONE;
  int rc = e->store->ops->version(e->store, &version, err);
  if (!rc && m->known && version == m->version) return RP__MIRROR_NONE;
  if (!rc) {
    struct files f = {.e = e};
    rc = e->store->ops->scope_list(e->store, on_scope, &f, err);
    for (size_t i = 0; !rc && i < f.n; i++) rc = write_file(e, f.path[i], err);
  }
  int64_t ended = rp__engine_micros(e);
  m->rest_until = ended + (rc ? RETRY_US : REST * (ended - began));
  if (rc) return rc;
  m->known = true;
  m->version = version;
  return 0;
}
