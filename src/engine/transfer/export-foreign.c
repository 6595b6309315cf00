/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a session as another program's document: to a stream, a file, a folder with an index (O-01), or a database. */
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/file.h"
#include "engine/transfer/foreign.h"
#include "engine/own-files.h"

#define INDEX_MAX (16 * 1024 * 1024)
#define INDEX "index.json"
#define INDEX_VERSION 1

int rp__foreign_format(const char *name, const struct rp__format **ret, rp_error *err)
{
  *ret = name ? rp__format_find(name) : NULL;
  if (*ret) return 0;
  rp__fail_field(err, RP_E_USAGE, "format", "there is no format '%.40s'", name ? name : "");
  rp__hint(err, "there are reprise, nova, cortex, clawd, orbitmesh and markdown");
  return RP_E_USAGE;
}

int rp_export_as(rp_session *s, const char *format, rp_write_fn *write, void *ctx, rp_error *err)
{
  const struct rp__format *f;
  struct rp__export_source source;
  int rc = rp__session_check(s, err);
  if (rc) return rc;
  if (format && strcmp(format, "reprise") == 0) return rp_export(s, write, ctx, NULL, NULL, err);
  rc = rp__foreign_format(format, &f, err);
  if (!rc) rc = rp__export_source_open(&source, s, err);
  if (rc) return rc;
  source.giver.write = write;
  source.giver.write_ctx = ctx;
  rp_error own;
  rc = f->export(&source.giver, err ? err : &own);
  rp__export_source_done(&source);
  return rc;
}

/* ---- files ---- */

/* Whole or not at all, for its owner alone: conversations are private. */
static int write_file(rp_session *s, const char *format, const char *path, int64_t *ret_bytes, rp_error *err)
{
  RP_CLEANUP(rp__file_draft_done) struct rp__file_draft d = {.dir = -1, .fd = -1};
  int rc = rp__file_draft_open(path, &d, err);
  if (rc) return rc;
  rp__temps_sweep(d.dir);
  rc = rp_export_as(s, format, rp__file_draft_write, &d, err);
  if (d.errnum) rc = rp__fail_errno(err, d.errnum, "can't write %s", path);
  if (!rc) rc = rp__file_draft_keep(&d, true, err);
  if (!rc && ret_bytes) *ret_bytes = d.bytes;
  return rc;
}

/* ---- folders ---- */

struct entry {
  const char *file, *format;
  int64_t bytes;
  const struct rp__session_row *row;
};

static bool lies_there(int dir, struct rp__json file)
{
  struct stat st;
  char *name RP_AUTOFREE = rp__json_dup(file);
  return name && !strchr(name, '/') && fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode);
}

/* The index that is there, its text in `text`; RP_JSON_NONE: none. RP_E_REFUSED: it is not ours. */
static int read_index(const char *path, struct rp__buf *text, struct rp__json *ret, rp_error *err)
{
  *ret = (struct rp__json){0};
  int rc = rp__file_read(path, INDEX_MAX, text, err);
  if (rc == RP_E_FILE_NOT_FOUND) return 0;
  if (rc) return rc;
  rc = rp__json_parse(text->p ? text->p : "", text->n, NULL, ret, NULL);
  if (rc == RP_E_NOMEM) return rp__fail_nomem(err);
  /* An index of ours has these two members and no other: whatever else bears that name is somebody's. */
  int64_t version;
  bool ours = !rc && rp__json_i64(rp__json_get(*ret, "version"), &version) && version == INDEX_VERSION;
  if (ours && rp__json_get(*ret, "snapshots").type == RP_JSON_ARRAY && rp__json_count(*ret) == 2) return 0;
  rp__fail_field(err, RP_E_REFUSED, "path", "%s is not an index that Reprise wrote, and would be lost", path);
  rp__hint(err, "name a file in the folder instead, or a folder of its own");
  return RP_E_REFUSED;
}

/* What the index says about other files stays as long as they lie there. */
static int write_index(const char *path, int dir, const struct entry *e, rp_error *err)
{
  struct rp__buf old RP_AUTOBUF = RP_BUF(0), compact RP_AUTOBUF = RP_BUF(2 * INDEX_MAX),
                     out RP_AUTOBUF = RP_BUF(4 * INDEX_MAX);
  struct rp__json doc = {0}, item;
  struct rp__json_iter it = {0};
  struct rp__jw w = RP_JW(&compact);
  int rc = read_index(path, &old, &doc, err);
  if (rc) return rc;
  rp__jw_pack(&w, "{version:i snapshots:[", (int64_t)INDEX_VERSION);
  while (rp__json_next(rp__json_get(doc, "snapshots"), &it, NULL, &item))
    if (!rp__json_eq(rp__json_get(item, "file"), e->file) && lies_there(dir, rp__json_get(item, "file")))
      rp__jw_value(&w, item);
  rp__jw_pack(&w, "{session_id:s file:s format:s provider_type:s created_at:t updated_at:t size_bytes:i}]}", e->row->id,
              e->file, e->format, e->row->provider[0] ? e->row->provider : NULL, e->row->created_at,
              e->row->last_activity_at, e->bytes);
  if (compact.err) return rp__fail_nomem(err);
  rp__json_pretty(rp__json_trusted(compact.p, compact.n), false, &out);
  rp__buf_char(&out, '\n');
  return out.err ? rp__fail_nomem(err) : rp__file_write(path, out.p, out.n, err);
}

static int export_folder(rp_session *s, const char *format, const char *extension, const char *folder, rp_error *err)
{
  struct rp__session_row row = {0};
  char name[RP_NAME + 16];
  struct entry e = {.file = name, .format = format, .row = &row};
  struct rp__buf old RP_AUTOBUF = RP_BUF(0);
  struct rp__json doc;
  snprintf(name, sizeof name, "%s%s", s->id, extension);
  if (strcmp(name, INDEX) == 0)
    return rp__fail(err, RP_E_REFUSED, "session '%s' would take the place of the folder's index: name a file", s->id);
  char *path RP_AUTOFREE = rp__path_join(folder, name);
  if (!path) return rp__fail_nomem(err);
  RP_AUTOCLOSE int dir = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (dir < 0) return rp__fail_errno(err, errno, "%s", folder);
  char *index RP_AUTOFREE = rp__path_join(folder, INDEX);
  if (!index) return rp__fail_nomem(err);
  int rc = rp__own_files_check(s->e, "path", path, err);
  if (!rc) rc = rp__own_files_check(s->e, "path", index, err);
  if (!rc) rc = read_index(index, &old, &doc, err); /* before anything is written */
  if (!rc) rc = rp__session_row(s, &row, err);
  if (!rc) rc = write_file(s, format, path, &e.bytes, err);
  while (!rc && flock(dir, LOCK_EX)) /* others may export to it: each entry stays */
    if (errno != EINTR) rc = rp__fail_errno(err, errno, "%s", folder);
  if (!rc) rc = write_index(index, dir, &e, err);
  rp__session_row_done(&row);
  return rc;
}

/* ---- the public function ---- */

static bool ends_with(const char *s, const char *end)
{
  size_t n = strlen(s), m = strlen(end);
  return n >= m && strcmp(s + n - m, end) == 0;
}

/* Whether the place is a database, or is to become one. */
static bool is_database(const char *path, const struct stat *st)
{
  char head[16] = "";
  if (!st || st->st_size == 0) return ends_with(path, ".db") || ends_with(path, ".sqlite");
  RP_AUTOCLOSE int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  return fd >= 0 && read(fd, head, sizeof head) == sizeof head && memcmp(head, "SQLite format 3", 16) == 0;
}

static int put_database(rp_session *s, const struct rp__format *f, const char *path, rp_error *err)
{
  struct rp__export_source source;
  struct stat st;
  bool there = lstat(path, &st) == 0;
  if (!there && errno != ENOENT) return rp__fail_errno(err, errno, "%s", path);
  if (there && !S_ISREG(st.st_mode))
    return rp__fail(err, RP_E_REFUSED, "%s: %s", path,
                    S_ISLNK(st.st_mode) ? "is a symbolic link" : "not a regular file");
  int rc = rp__export_source_open(&source, s, err);
  if (rc) return rc;
  RP_AUTOCLOSE int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  bool ours = fd >= 0;
  if (!ours && errno == EEXIST) fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
  rc = fd < 0 ? rp__fail_errno(err, errno, "%s", path) : f->put(&source.giver, path, err);
  if (rc && ours) unlink(path); /* a full disk: half of a database is of no use */
  rp__export_source_done(&source);
  return rc;
}

int rp_export_file(rp_session *s, const char *format, const char *path, rp_error *err)
{
  static const char own[] = "reprise";
  const struct rp__format *f = NULL;
  struct stat st;
  int rc = rp__session_check(s, err);
  if (rc) return rc;
  if (!path || !path[0]) return rp__fail_field(err, RP_E_USAGE, "path", "no file was named");
  if (!format || strcmp(format, own) != 0) rc = rp__foreign_format(format, &f, err);
  if (rc) return rc;
  bool there = lstat(path, &st) == 0;
  if (there && S_ISDIR(st.st_mode))
    return export_folder(s, f ? f->name : own, f ? f->extension : ".reprise", path, err);
  rc = rp__own_files_check(s->e, "path", path, err);
  if (rc) return rc;
  if (f && f->put && is_database(path, there ? &st : NULL)) return put_database(s, f, path, err);
  return write_file(s, f ? f->name : own, path, NULL, err);
}
