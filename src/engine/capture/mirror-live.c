/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The live session file. At every moment the file or its .bak can be read. First .bak is replaced, atomically, by a
 * copy of the file, if the file was found to be good. Only then is the file itself replaced, atomically.
 */
#include <errno.h>

#include "base/file.h"
#include "engine/transfer/foreign.h"
#include "engine/capture/mirror.h"
#include "engine/own-files.h"

static const char *live_path(const rp_session *s)
{
  const char *path = s->config->session_file;
  bool wanted = path[0] && !s->key && !s->e->read_only;
  return wanted ? path : NULL;
}

static int live_folder(const char *path, rp_error *err)
{
  const char *slash = strrchr(path, '/');
  if (!slash || slash == path) return 0;
  char *folder RP_AUTOFREE = strndup(path, (size_t)(slash - path));
  return folder ? rp__mkdirs(folder, err) : rp__fail_nomem(err);
}

/* Keeps the present file as .bak when it is worth it. Whatever is wrong with it must not keep the new one from coming.
 */
static int keep_previous(const char *path, rp_error *err)
{
  struct rp__buf now RP_AUTOBUF = RP_BUF(0), name RP_AUTOBUF = RP_BUF(65536);
  int rc = rp__file_read(path, RP_FOREIGN_MAX, &now, err);
  if (rc == RP_E_NOMEM || rc == RP_E_REFUSED) return rc;
  if (rc || !rp__nova_readable(now.p ? now.p : "", now.n)) return 0;
  rp__buf_printf(&name, "%s.bak", path);
  return name.err ? rp__fail_nomem(err) : rp__file_write(name.p, now.p, now.n, err);
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
  if (!rc) rc = live_folder(path, err);
  if (!rc) rc = keep_previous(path, err);
  return rc ? rc : rp__file_write(path, out.p, out.n, err);
}

void rp__mirror_live_log(rp_session *s, bool shutdown_clean)
{
  rp_error err = {0};
  if (rp__mirror_live(s, shutdown_clean, &err))
    rp__log(&s->e->log, RP_LOG_WARN, "session file of %s: %s", s->scope, err.message);
}

static int beat(rp_session *s, const char *path, rp_error *err)
{
  struct rp__buf now RP_AUTOBUF = RP_BUF(0), out RP_AUTOBUF = RP_BUF(RP_FOREIGN_MAX + 64);
  int rc = rp__file_read(path, RP_FOREIGN_MAX, &now, err);
  if (rc == RP_E_FILE_NOT_FOUND) return 0;
  if (rc) return rc;
  rc = rp__nova_heartbeat(now.p ? now.p : "", now.n, rp__engine_now(s->e), &out);
  if (rc == RP_E_FORMAT) return 0; /* damaged: the next save writes a good one */
  if (rc) return rp__fail_nomem(err);
  if (!rp__json_eq(rp__json_get(rp__json_trusted(now.p, now.n), "session_id"), s->id)) return 0;
  return rp__file_write(path, out.p, out.n, err);
}

void rp__mirror_heartbeat(rp_session *s)
{
  rp_error err = {0};
  const char *path = live_path(s);
  if (path && beat(s, path, &err)) rp__log(&s->e->log, RP_LOG_WARN, "session file of %s: %s", s->scope, err.message);
}
