/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/mirror.h"

#include <errno.h>
#include <sys/stat.h>

#include "base/file.h"
#include "engine/capture.h"
#include "format/format.h"

#define RECORD_FILE_MAX (4 * 1024 * 1024)
#define RECORD_MAX (50 * 1024)

/* ---- records ---- */

/* The folder, or NULL in *ret where there is to be none. */
static int mirror_folder(rp_engine *e, const char *scope, char **ret, rp_error *err)
{
  const char *given = rp__config_text(e->config, scope, RP_OPT_MIRROR_DIR);
  struct rp__buf path RP_AUTOBUF = RP_BUF(65536);
  *ret = NULL;
  if (!e->path || e->read_only || !rp__config_bool(e->config, scope, RP_OPT_MIRROR)) return 0;
  if (given && given[0]) {
    rp__buf_str(&path, given);
  } else {
    size_t n = rp__store_path_length(e->path);
    while (n && e->path[n - 1] != '/') n--;
    rp__buf_add(&path, e->path, n);
    rp__buf_str(&path, "sessions");
  }
  *ret = rp__buf_take(&path);
  return *ret ? 0 : rp__fail_nomem(err);
}

/* The path of a session's file; NULL in *ret where there is to be none. */
static int mirror_path(rp_engine *e, const char *scope, const char *id, bool make, char **ret, rp_error *err)
{
  char *folder RP_AUTOFREE = NULL;
  char name[RP_NAME + 8];
  struct stat st;
  *ret = NULL;
  int rc = mirror_folder(e, scope, &folder, err);
  if (rc || !folder) return rc;
  if (!rp__name_ok(id)) return rp__fail(err, RP_E_USAGE, "'%.60s' can't be the name of a file", id);
  if (make && (rc = rp__mkdirs(folder, err))) return rc;
  if (lstat(folder, &st) == 0 && S_ISLNK(st.st_mode))
    return rp__fail(err, RP_E_REFUSED, "%s: is a symbolic link", folder);
  snprintf(name, sizeof name, "%s.json", id);
  *ret = rp__path_join(folder, name);
  return *ret ? 0 : rp__fail_nomem(err);
}

int rp__mirror_record(rp_engine *e, const struct rp__record_row *row, rp_error *err)
{
  struct rp__buf compact RP_AUTOBUF = RP_BUF(RECORD_FILE_MAX), out RP_AUTOBUF = RP_BUF(2 * RECORD_FILE_MAX);
  const struct rp__key *key = NULL;
  char *path RP_AUTOFREE = NULL;
  if (row->sealed_body) return 0;
  int rc = rp__scope_key(e, row->scope, &key, err);
  if (rc || key) return rc;
  rc = mirror_path(e, row->scope, row->session_id, true, &path, err);
  if (rc || !path) return rc;
  if (rp__record_write(row, &compact)) return rp__fail_nomem(err);
  rp__json_pretty(rp__json_trusted(compact.p, compact.n), false, &out);
  if (out.n >= RP_RECORD_MAX) { /* a record has 50 KB at most; the spaces are the first to go */
    rp__buf_reset(&out);
    rp__buf_add(&out, compact.p, compact.n);
  }
  rp__buf_char(&out, '\n');
  return out.err ? rp__fail_nomem(err) : rp__file_write(path, out.p, out.n, err);
}

void rp__mirror_remove(rp_engine *e, const char *scope, const char *id)
{
  char *path RP_AUTOFREE = NULL;
  rp_error err = {0};
  if (mirror_path(e, scope, id, false, &path, &err) || !path) {
    if (err.code) rp__log(&e->log, RP_LOG_DEBUG, "mirror of session %s: %s", id, err.message);
    return;
  }
  if (unlink(path) == 0)
    rp__sync_parent(path, NULL);
  else if (errno != ENOENT)
    rp__log(&e->log, RP_LOG_WARN, "mirror of session %s: %s can't be removed", id, path);
}
