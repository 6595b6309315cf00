/* SPDX-License-Identifier: Apache-2.0 */
/* What a file to be imported is: an export of our own, a database, or a document; and what to do when it is damaged. */
#include "base/options.h"
#include "engine/transfer/import-file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/text.h"
#include "engine/transfer/foreign.h"

#define HEAD 32

static const char damaged_note[] = "the file is damaged or gone: this is its .bak";

static const char *base_name(const char *path)
{
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

static int read_head(const char *path, char head[HEAD], size_t *ret_n, rp_error *err)
{
  struct stat st;
  RP_AUTOCLOSE int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (fd < 0 || fstat(fd, &st)) return rp__fail_errno(err, errno, "%s", path);
  if (!S_ISREG(st.st_mode)) return rp__fail(err, RP_E_REFUSED, "%s: not a regular file", path);
  ssize_t n = pread(fd, head, HEAD, 0);
  if (n < 0) return rp__fail_errno(err, errno, "%s", path);
  *ret_n = (size_t)n;
  return 0;
}

/* ---- our own ---- */

static bool is_own(const char *head, size_t n)
{
  static const char begin[] = "{\"reprise\":";
  return n >= sizeof begin - 1 && memcmp(head, begin, sizeof begin - 1) == 0;
}

static long read_fd(void *ctx, void *bytes, size_t n)
{
  ssize_t got;
  do got = read(*(int *)ctx, bytes, n);
  while (got < 0 && errno == EINTR);
  return (long)got;
}

static int import_own(rp_engine *e, const char *path, const rp_import_options *o, rp_import_fn *fn, void *ctx,
                      rp_progress_fn *progress, void *pctx, rp_error *err)
{
  char id[RP_NAME];
  if (o->scope || o->dry_run)
    return rp__fail(err, RP_E_USAGE, "an export of reprise is taken as it is: without a scope or a dry run");
  RP_AUTOCLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return rp__fail_errno(err, errno, "%s", path);
  int rc = rp_import(e, read_fd, &fd, progress, pctx, id, err);
  if (rc || !fn) return rc;
  return fn(ctx, &(rp_import_item){.session_id = id});
}

/* ---- documents ---- */

static bool is_database(const char *head, size_t n)
{
  static const char magic[] = "SQLite format 3";
  return n >= sizeof magic && memcmp(head, magic, sizeof magic) == 0;
}

/* A database is read where it lies; anything else is read whole, which its bound allows. */
static int open_doc(const char *path, struct rp__buf *bytes, struct rp__doc *ret, rp_error *err)
{
  char head[HEAD];
  size_t n = 0;
  int rc = read_head(path, head, &n, err);
  if (rc) return rc;
  if (is_database(head, n)) {
    *ret = (struct rp__doc){.type = RP_DOC_SQLITE, .path = path};
    return 0;
  }
  rc = rp__file_read(path, RP_FOREIGN_MAX, bytes, err);
  return rc ? rc : rp__doc_open(bytes->p ? bytes->p : "", bytes->n, ret, err);
}

/* A robot's session file has a copy beside it for the case that it is damaged (N-06). */
static int open_backup(const char *path, struct rp__buf *bytes, struct rp__doc *ret)
{
  struct rp__buf name RP_AUTOBUF = RP_BUF(65536);
  rp__buf_printf(&name, "%s.bak", path);
  if (name.err) return RP_E_NOMEM;
  int rc = open_doc(name.p, bytes, ret, NULL);
  if (!rc && rp__format_detect(ret) != &rp__format_nova) {
    rp__doc_done(ret);
    rc = RP_E_FORMAT;
  }
  return rc;
}

static bool is_damage(int rc, bool robot)
{
  return rc == RP_E_FORMAT_CORRUPT || rc == RP_E_FORMAT || (robot && rc == RP_E_FILE_NOT_FOUND);
}

int rp_import_file(rp_engine *e, const char *path, const rp_import_options *given, rp_import_fn *fn, void *ctx,
                   rp_progress_fn *progress, void *pctx, rp_error *err)
{
  rp_import_options options, *o = &options;
  char head[HEAD];
  size_t n = 0;
  int rc = rp__engine_check(e, err);
  if (!rc) rc = RP__OPTIONS(o, given, dry_run, err);
  if (rc) return rc;
  if (!path || !path[0]) return rp__fail_field(err, RP_E_USAGE, "path", "no file was named");
  if (o->scope && !rp__name_ok(o->scope))
    return rp__fail_field(err, RP_E_USAGE, "scope", "'%s' can't be a scope", rp__text_shown(o->scope));
  struct rp__import_job job = {
      .file = base_name(path), .dry_run = o->dry_run, .fn = fn, .ctx = ctx, .progress = progress, .pctx = pctx};
  bool own = o->format && strcmp(o->format, "reprise") == 0;
  if (!o->format && !read_head(path, head, &n, NULL)) own = is_own(head, n);
  if (own) return import_own(e, path, o, fn, ctx, progress, pctx, err);
  if (o->format && (rc = rp__foreign_format(o->format, &job.format, err))) return rc;
  if (job.format && !job.format->import)
    return rp__fail_field(err, RP_E_USAGE, "format", "%s is only written, not read", job.format->name);
  struct rp__buf bytes RP_AUTOBUF = RP_BUF(0);
  struct rp__doc doc = {0};
  bool robot = job.format == &rp__format_nova;
  rc = open_doc(path, &bytes, &doc, err);
  if (rc && is_damage(rc, robot) && (robot || !job.format) && !open_backup(path, &bytes, &doc)) {
    job.note = damaged_note;
    rc = 0;
  }
  if (rc == RP_E_FORMAT && job.format) return rp__format_refuse(job.format, err);
  if (rc == RP_E_FORMAT_CORRUPT && !job.format) rp__hint(err, "it was tried as " RP_FORMATS_READ);
  if (rc) return rc;
  if (!job.format) job.format = rp__format_detect(&doc);
  job.scope = o->scope ? o->scope : job.format ? job.format->name : "default";
  rc = job.format ? rp__import_doc(e, &job, &doc, err) : rp__format_refuse(NULL, err);
  rp__doc_done(&doc);
  return rc;
}
