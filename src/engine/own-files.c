/* SPDX-License-Identifier: Apache-2.0 */
/* The store's own files, which no output of the engine may replace. */
#include "engine/own-files.h"

#include <sys/stat.h>

#include "base/file.h"
#include "base/credentials/fleet.h"
#include "base/credentials/secret.h"
#include "engine/files.h"

#define PATH_BYTES 65536

/* A path that somebody named: where it leads, and the file that is there. */
struct target {
  const char *path;
  char *real;
  struct stat st;
  bool there;
};

static bool is_same(const struct target *t, const char *own)
{
  struct stat st;
  if (strcmp(t->real, own) == 0) return true;
  return t->there && stat(own, &st) == 0 && st.st_ino == t->st.st_ino && st.st_dev == t->st.st_dev;
}

/* 1: it is, 0: it is not, or an error. */
static int is_beside(const rp_engine *e, const struct target *t)
{
  static const char *const ends[] = {"",      "-wal",          "-shm",         "-journal",
                                     ".runs", RP_FLEET_SUFFIX, RP_SEAL_SUFFIX, ".agents"};
  for (size_t i = 0; i < RP_ARRAY_SIZE(ends); i++) {
    struct rp__buf own RP_AUTOBUF = RP_BUF(PATH_BYTES);
    rp__buf_add(&own, e->path, rp__store_path_length(e->path));
    rp__buf_str(&own, ends[i]);
    if (own.err) return RP_E_NOMEM;
    if (is_same(t, own.p)) return 1;
  }
  return 0;
}

static int is_secret(const rp_engine *e, const struct target *t)
{
  char *root RP_AUTOFREE = rp__files_root(e);
  char *own RP_AUTOFREE = root ? rp__path_join(root, RP_SECRET_FILE) : NULL;
  if (!own) return RP_E_NOMEM;
  if (is_same(t, own)) return 1;
  for (const struct rp__scope_config *c = NULL; (c = rp__config_next(e->config, c));) {
    const char *files[] = {c->internal_secret_file, c->key_file};
    for (size_t i = 0; i < RP_ARRAY_SIZE(files); i++) {
      char *real RP_AUTOFREE = NULL;
      if (!files[i][0] || rp__path_real(files[i], &real, NULL)) continue; /* links that go on for ever name no file */
      if (is_same(t, real)) return 1;
    }
  }
  return 0;
}

int rp__own_files_check(rp_engine *e, const char *field, const char *path, rp_error *err)
{
  char *real RP_AUTOFREE = NULL;
  if (!e->path) return 0;
  int rc = rp__path_real(path, &real, err);
  if (rc) return rc;
  struct target t = {.path = path, .real = real};
  t.there = stat(path, &t.st) == 0;
  rc = is_beside(e, &t);
  if (!rc) rc = is_secret(e, &t);
  if (rc <= 0) return rc ? rp__fail_nomem(err) : 0;
  rp__fail_field(err, RP_E_REFUSED, field, "%s is a file of the store itself", path);
  rp__hint(err, "name another file: this one would be destroyed");
  return RP_E_REFUSED;
}

int rp_output_check(rp_engine *e, const char *field, const char *path, rp_error *err)
{
  int rc = rp__engine_check(e, err);
  if (rc) return rc;
  if (!path || !path[0]) return rp__fail_field(err, RP_E_USAGE, field, "no file was named");
  return rp__own_files_check(e, field, path, err);
}

int rp__own_files_config(rp_engine *e, rp_error *err)
{
  for (const struct rp__scope_config *c = NULL; (c = rp__config_next(e->config, c));) {
    const char *written[][3] = {{"store_file", c->store_file, ""},
                                {"session_file", c->session_file, ""},
                                {"session_file", c->session_file, ".bak"}};
    for (size_t i = 0; i < RP_ARRAY_SIZE(written); i++) {
      struct rp__buf path RP_AUTOBUF = RP_BUF(PATH_BYTES);
      rp__buf_printf(&path, "%s%s", written[i][1], written[i][2]);
      if (path.err) return rp__fail_nomem(err);
      int rc = written[i][1][0] ? rp__own_files_check(e, written[i][0], path.p, err) : 0;
      if (rc == RP_E_REFUSED && err) err->code = RP_E_CONFIG;
      if (rc) return rc == RP_E_REFUSED ? RP_E_CONFIG : rc;
    }
  }
  return 0;
}
