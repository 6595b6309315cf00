/* SPDX-License-Identifier: Apache-2.0 */
/* Mirrors of records: written after the commit, removed with the session. */
#include "engine/capture/mirror.h"

#include "base/file.h"
#include "engine/capture/capture.h"
#include "engine/files.h"
#include "engine/own-files.h"
#include "format/format.h"

#define RECORD_FILE_MAX (4 * 1024 * 1024)
#define RECORD_MAX (50 * 1024)

/* ---- records ---- */

/* The path of a session's file and its folder, opened; NULL in *ret where there is to be none. */
static int mirror_open(rp_engine *e, const char *scope, const char *id, bool make, int *ret_dir, char **ret,
                       rp_error *err)
{
  char *folder RP_AUTOFREE = NULL;
  char name[RP_NAME + 8];
  *ret = NULL;
  int rc = rp__files_mirror(e, scope, &folder, err);
  if (rc || !folder) return rc;
  if (!rp__name_ok(id)) return rp__fail(err, RP_E_USAGE, "'%.60s' can't be the name of a file", id);
  rc = rp__files_open(folder, make, ret_dir, err);
  if (rc) return rc;
  snprintf(name, sizeof name, "%s.json", id);
  *ret = rp__path_join(folder, name);
  return *ret ? 0 : rp__fail_nomem(err);
}

int rp__mirror_record(rp_engine *e, const struct rp__record_row *row, rp_error *err)
{
  struct rp__buf compact RP_AUTOBUF = RP_BUF(RECORD_FILE_MAX), out RP_AUTOBUF = RP_BUF(2 * RECORD_FILE_MAX);
  char *path RP_AUTOFREE = NULL;
  RP_AUTOCLOSE int dir = -1;
  if (row->sealed_body) return 0;
  int rc = mirror_open(e, row->scope, row->session_id, true, &dir, &path, err);
  if (!rc && path) rc = rp__own_files_check(e, "mirror_dir", path, err);
  if (rc || !path) return rc;
  if (rp__record_write(row, &compact)) return rp__fail_nomem(err);
  rp__json_pretty(rp__json_trusted(compact.p, compact.n), false, &out);
  if (out.n >= RP_RECORD_MAX) { /* a record has 50 KB at most; the spaces are the first to go */
    rp__buf_reset(&out);
    rp__buf_add(&out, compact.p, compact.n);
  }
  rp__buf_char(&out, '\n');
  return out.err ? rp__fail_nomem(err) : rp__file_write_at(dir, path, out.p, out.n, err);
}

void rp__mirror_remove(rp_engine *e, const char *scope, const char *id)
{
  char *path RP_AUTOFREE = NULL;
  RP_AUTOCLOSE int dir = -1;
  rp_error err = {0};
  int rc = mirror_open(e, scope, id, false, &dir, &path, &err);
  if (!rc && path) rc = rp__file_remove_at(dir, path, &err);
  if (rc && rc != RP_E_FILE_NOT_FOUND) rp__log(&e->log, RP_LOG_WARN, "mirror of session %s: %s", id, err.message);
}
