/* SPDX-License-Identifier: Apache-2.0 */
/* Cold files: writing, moving, reading and removing them. */
#include "engine/keep/archive.h"

#include "base/file.h"
#include "engine/keep/audit.h"
#include "engine/files.h"
#include "engine/capture/mirror.h"
#include "format/format.h"

#define PATH_MAX_BYTES 8192

bool rp__archive_possible(const rp_engine *e)
{
  return e->path != NULL;
}

/* ---- the place ---- */

/* The folder, opened, and the whole path. */
static int archive_open(const rp_engine *e, const struct rp__session_row *row, bool make, int *ret_dir,
                        struct rp__buf *path, rp_error *err)
{
  char month[RP_TIME_TEXT], below[32];
  if (!e->path) return rp__fail(err, RP_E_RECORD_NOT_FOUND, "a store in memory has no archive");
  char *root RP_AUTOFREE = rp__files_root(e);
  rp__time_format(row->created_at, month);
  snprintf(below, sizeof below, "archive/%.7s", month);
  rp__buf_printf(path, "%s%s/%s.json.%s", root ? root : "", below, row->id, row->sealed ? "sealed" : "gz");
  if (!root || path->err) return rp__fail_nomem(err);
  return rp__folder_open(root, below, make, ret_dir, err);
}

/* What binds a sealed file to its session and purpose. */
static struct rp__str archive_ad(const struct rp__session_row *row, char out[RP_NAME + 16])
{
  snprintf(out, RP_NAME + 16, "archive:%s", row->id);
  return rp__str(out);
}

/* ---- writing ---- */

int rp__archive_write(rp_engine *e, const struct rp__session_row *row, const char *json, size_t n, rp_error *err)
{
  struct rp__buf path RP_AUTOBUF = RP_BUF(PATH_MAX_BYTES);
  RP_AUTOCLOSE int dir = -1;
  struct rp__buf packed RP_AUTOBUF = RP_BUF(RP_ARCHIVE_MAX + 65536),
                        sealed RP_AUTOBUF = RP_BUF(RP_ARCHIVE_MAX + 131072);
  if (n > RP_ARCHIVE_MAX) return rp__fail(err, RP_E_TOO_LARGE, "the record of session %s is too large", row->id);
  int rc = rp__gzip(json, n, &packed, err);
  if (!rc && row->sealed) {
    const struct rp__key *key = NULL;
    char text[RP_NAME + 16];
    rc = rp__scope_key(e, row->scope, &key, err);
    if (!rc && !key) rc = rp__fail(err, RP_E_KEY_MISSING, "session %s is sealed and no key is set", row->id);
    if (!rc && rp__seal(key, &rp__system_random, archive_ad(row, text), packed.p, packed.n, &sealed))
      rc = rp__fail_nomem(err);
  }
  if (!rc) rc = archive_open(e, row, true, &dir, &path, err);
  const struct rp__buf *bytes = row->sealed ? &sealed : &packed;
  return rc ? rc : rp__file_write_at(dir, path.p, bytes->p, bytes->n, err);
}

int rp__archive_move(rp_engine *e, const struct rp__session_row *row, const char *json, size_t n, rp_error *err)
{
  struct rp__audit_note note RP_CLEANUP(rp__audit_done) = {0};
  struct rp__op base = {RP__OP_OF(e, row), .epoch = row->epoch};
  struct rp__op ops[3] = {base, base, base};
  int rc = rp__archive_write(e, row, json, n, err);
  if (!rc) {
    rp__audit_begin(&note);
    rp__jw_pack(&note.w, "session_id:s ended_at:t bytes:i", row->id, row->ended_at, (int64_t)n);
    rc = rp__audit_op(e, row->scope, "archive", &note, &ops[2], err);
  }
  if (rc) return rc;
  ops[0].type = RP_OP_SESSION_SET; /* changes nothing: refused when a newer run has taken the session up */
  ops[1].type = RP_OP_RECORD_ARCHIVE;
  rc = rp__engine_commit(e, ops, 3, RP_DISK, err);
  if (!rc) atomic_fetch_add(&e->metrics.archived, 1);
  if (!rc) rp__mirror_remove(e, row->scope, row->id);
  return rc;
}

/* ---- reading ---- */

static int damaged(const struct rp__session_row *row, const char *why, rp_error *err)
{
  return rp__fail(err, RP_E_CORRUPT, "the archived record of session %s is damaged: %s", row->id, why);
}

int rp__archive_read(rp_engine *e, const struct rp__session_row *row, struct rp__buf *out, rp_error *err)
{
  struct rp__buf path RP_AUTOBUF = RP_BUF(PATH_MAX_BYTES);
  RP_AUTOCLOSE int dir = -1;
  struct rp__buf bytes RP_AUTOBUF = RP_BUF(0), json RP_AUTOBUF = RP_BUF(RP_ARCHIVE_MAX + 16384);
  rp_error why = {0};
  int rc = archive_open(e, row, false, &dir, &path, &why);
  if (!rc) rc = rp__file_read_at(dir, path.p, RP_ARCHIVE_MAX + 131072, &bytes, &why);
  if (rc == RP_E_FILE_NOT_FOUND)
    return rp__fail(err, RP_E_RECORD_NOT_FOUND, "the archived record of session %s is gone: there is no %s", row->id,
                    path.p);
  if (rc == RP_E_REFUSED) return damaged(row, why.message, err); /* a link, a folder or a pipe stands in its place */
  if (rc) {
    if (err) *err = why;
    return rc;
  }
  struct rp__buf plain RP_AUTOBUF = RP_BUF(RP_ARCHIVE_MAX + 131072);
  const struct rp__key *key = NULL;
  char text[RP_NAME + 16];
  if (row->sealed) rc = rp__scope_key(e, row->scope, &key, err);
  if (!rc && row->sealed) rc = rp__unseal(key, archive_ad(row, text), bytes.p, bytes.n, &plain, err);
  if (rc) return rc;
  const struct rp__buf *packed = row->sealed ? &plain : &bytes;
  rc = rp__gunzip(packed->p ? packed->p : "", packed->n, &json, &why);
  if (rc == RP_E_NOMEM) return rp__fail_nomem(err);
  if (rc) return damaged(row, why.message, err);
  struct rp__json v;
  rc = rp__json_parse(json.p ? json.p : "", json.n, NULL, &v, &why);
  if (rc == RP_E_NOMEM) return rp__fail_nomem(err);
  if (rc || v.type != RP_JSON_OBJECT) return damaged(row, "it is no JSON object", err);
  /* A file that was copied to the wrong name must not speak for another session. */
  if (!rp__json_eq(rp__json_get(v, "session_id"), row->id)) return damaged(row, "it is another session's", err);
  rp__buf_add(out, json.p, json.n);
  return out->err ? rp__fail(err, out->err, "the record of session %s can't be kept in memory", row->id) : 0;
}

/* ---- removing ---- */

int rp__archive_remove(rp_engine *e, const struct rp__session_row *row, rp_error *err)
{
  struct rp__buf path RP_AUTOBUF = RP_BUF(PATH_MAX_BYTES);
  RP_AUTOCLOSE int dir = -1;
  rp_error why = {0};
  if (!rp__archive_possible(e)) return 0;
  int rc = archive_open(e, row, false, &dir, &path, &why);
  if (!rc) rc = rp__file_remove_at(dir, path.p, &why);
  if (rc == RP_E_FILE_NOT_FOUND) return 0;
  if (rc && err) *err = why;
  return rc;
}
