/* SPDX-License-Identifier: Apache-2.0 */
/* The folders that the engine writes into: opens them without following links, and removes leftovers. */
#include "engine/files.h"

#include <dirent.h>

#include "base/file.h"
#include "engine/transfer/copy.h"

char *rp__files_root(const rp_engine *e)
{
  if (!e->path) return NULL;
  size_t n = rp__store_path_length(e->path);
  while (n && e->path[n - 1] != '/') n--;
  return strndup(e->path, n);
}

int rp__files_mirror(rp_engine *e, const char *scope, char **ret, rp_error *err)
{
  const struct rp__scope_config *c = rp__config_of(e->config, scope);
  *ret = NULL;
  if (!e->path || e->read_only || !c->mirror) return 0;
  if (c->mirror_dir[0]) {
    *ret = strdup(c->mirror_dir);
  } else {
    char *root RP_AUTOFREE = rp__files_root(e);
    *ret = root ? rp__path_join(root, "sessions") : NULL;
  }
  return *ret ? 0 : rp__fail_nomem(err);
}

int rp__files_open(const char *folder, bool make, int *ret, rp_error *err)
{
  char *path RP_AUTOFREE = strdup(folder), *slash;
  if (!path) return rp__fail_nomem(err);
  size_t n = strlen(path);
  while (n > 1 && path[n - 1] == '/') path[--n] = '\0';
  slash = strrchr(path, '/');
  if (!slash) return rp__folder_open("", path, make, ret, err);
  const char *name = slash + 1;
  *slash = '\0';
  int rc = make && path[0] ? rp__mkdirs(path, err) : 0;
  return rc ? rc : rp__folder_open(path[0] ? path : "/", name, make, ret, err);
}

/* ---- what the dead left ---- */

static void sweep_folder(rp_engine *e, const char *root, const char *below)
{
  RP_AUTOCLOSE int dir = -1;
  if (rp__folder_open(root, below, false, &dir, NULL)) return;
  int64_t gone = rp__temps_sweep(dir);
  if (gone) rp__log(&e->log, RP_LOG_INFO, "%lld files of dead writers deleted in %s%s", (long long)gone, root, below);
}

/* A folder for each month. */
static void sweep_archive(rp_engine *e, const char *root)
{
  int fd = -1;
  if (rp__folder_open(root, "archive", false, &fd, NULL)) return;
  DIR *d = fdopendir(fd);
  if (!d) {
    close(fd);
    return;
  }
  for (const struct dirent *entry; (entry = readdir(d));) {
    char below[300];
    if (entry->d_name[0] == '.') continue;
    snprintf(below, sizeof below, "archive/%s", entry->d_name);
    sweep_folder(e, root, below);
  }
  closedir(d);
}

static int sweep_scope(void *ctx, const char *scope)
{
  rp_engine *e = ctx;
  char *folder RP_AUTOFREE = NULL, *live RP_AUTOFREE = NULL;
  RP_AUTOCLOSE int dir = -1;
  if (!rp__files_mirror(e, scope, &folder, NULL) && folder && !rp__files_open(folder, false, &dir, NULL))
    rp__temps_sweep(dir);
  const char *file = rp__config_of(e->config, scope)->session_file;
  const char *slash = strrchr(file, '/');
  if (!slash) return 0;
  live = strndup(file, RP_MAX((size_t)(slash - file), 1));
  if (live) sweep_folder(e, live, "");
  return 0;
}

void rp__files_sweep(rp_engine *e)
{
  rp_error err = {0};
  char *root RP_AUTOFREE = rp__files_root(e);
  if (e->read_only) return;
  if (rp__copy_sweep(e, false, NULL, NULL, &err))
    rp__log(&e->log, RP_LOG_WARN, "what an import left that was cut off: %s", err.message);
  if (!root) return;
  sweep_folder(e, root, "");
  sweep_archive(e, root);
  sweep_scope(e, NULL); /* what holds for scopes without a section of their own */
  if (e->store->ops->scope_list(e->store, sweep_scope, e, &err))
    rp__log(&e->log, RP_LOG_WARN, "what dead writers left: %s", err.message);
}
