/* SPDX-License-Identifier: Apache-2.0 */
/* The files for other programs: records of ended sessions, the live session file, the live session store. */
#include "engine/capture/mirror.h"

#include "base/file.h"
#include "engine/capture/capture.h"
#include "engine/files.h"
#include "engine/own-files.h"
#include "engine/transfer/foreign.h"
#include "engine/transfer/store-file.h"
#include "format/format.h"

#define RECORD_FILE_MAX (4 * 1024 * 1024)
#define REST 20                          /* times as long as the writing of a store took */
#define RETRY_US ((int64_t)30 * 1000000) /* after a failure, which is logged each time */
#define FILES_MAX 64

/* ---- records: written after the commit, removed with the session ---- */

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

/*
 * ---- the live session file ----
 *
 * At every moment the file or its .bak can be read: .bak is replaced, atomically, by a copy of a file that was just
 * seen to be good, and only then is the file itself replaced, atomically.
 */

static const char *live_path(const rp_session *s)
{
  const char *path = s->config->session_file;
  bool wanted = path[0] && !s->key && !s->e->read_only;
  return wanted ? path : NULL;
}

static int make_folder(const char *path, rp_error *err)
{
  const char *slash = strrchr(path, '/');
  if (!slash || slash == path) return 0;
  char *folder RP_AUTOFREE = strndup(path, (size_t)(slash - path));
  return folder ? rp__mkdirs(folder, err) : rp__fail_nomem(err);
}

int rp__mirror_live(rp_session *s, bool shutdown_clean, rp_error *err)
{
  struct rp__buf out RP_AUTOBUF = RP_BUF(2 * RP_FOREIGN_MAX);
  struct rp__export_source source;
  const char *path = live_path(s);
  if (!path) return 0;
  int rc = rp__export_source_open(&source, s, err);
  if (rc) return rc;
  source.giver.clean = shutdown_clean;
  rc = rp__nova_write(&source.giver, &out);
  rp__export_source_done(&source);
  if (rc == RP_E_TOO_LARGE) return rp__fail(err, rc, "the session is too large for a session file");
  if (rc) return rp__fail_nomem(err);
  rc = rp__own_files_check(s->e, "session_file", path, err);
  if (!rc) rc = make_folder(path, err);
  if (rc) return rc;
  /* Keeps the present file as .bak when it is worth it. Whatever is wrong with it must not keep the new one from
   * coming.
   */
  struct rp__buf now RP_AUTOBUF = RP_BUF(0), name RP_AUTOBUF = RP_BUF(65536);
  rc = rp__file_read(path, RP_FOREIGN_MAX, &now, err);
  if (rc == RP_E_NOMEM || rc == RP_E_REFUSED) return rc;
  if (!rc && rp__nova_readable(now.p ? now.p : "", now.n)) {
    rp__buf_printf(&name, "%s.bak", path);
    rc = name.err ? rp__fail_nomem(err) : rp__file_write(name.p, now.p, now.n, err);
    if (rc) return rc;
  }
  return rp__file_write(path, out.p, out.n, err);
}

void rp__mirror_live_log(rp_session *s, bool shutdown_clean)
{
  rp_error err = {0};
  if (rp__mirror_live(s, shutdown_clean, &err))
    rp__log(&s->e->log, RP_LOG_WARN, "session file of %s: %s", s->scope, err.message);
}

void rp__mirror_heartbeat(rp_session *s)
{
  struct rp__buf now RP_AUTOBUF = RP_BUF(0), out RP_AUTOBUF = RP_BUF(RP_FOREIGN_MAX + 64);
  rp_error err = {0};
  const char *path = live_path(s);
  if (!path) return;
  int rc = rp__file_read(path, RP_FOREIGN_MAX, &now, &err);
  if (rc == RP_E_FILE_NOT_FOUND) return;
  if (!rc && (rc = rp__nova_heartbeat(now.p ? now.p : "", now.n, rp__engine_now(s->e), &out))) rp__fail_nomem(&err);
  if (rc == RP_E_FORMAT) return; /* damaged: the next save writes a good one */
  if (!rc && !rp__json_eq(rp__json_get(rp__json_trusted(now.p, now.n), "session_id"), s->id)) return;
  if (!rc) rc = rp__file_write(path, out.p, out.n, &err);
  if (rc) rp__log(&s->e->log, RP_LOG_WARN, "session file of %s: %s", s->scope, err.message);
}

/*
 * ---- the live session store (C-07, C-11) ----
 *
 * All sessions of the scopes that name the file, written anew, atomically and 0600, when anything was stored since, by
 * whichever process. At most once a second, and never for more than a twentieth of the time: what comes meanwhile waits
 * for the next one.
 */

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
  int rc = rp__own_files_check(e, "store_file", path, err); /* a link may have come since the start */
  if (!rc) rc = make_folder(path, err);
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
