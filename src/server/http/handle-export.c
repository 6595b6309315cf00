/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A session as a document, and its blobs. A large answer is first written to a file without a name beside the database
 * and sent from there. So memory is bounded, and an answer begins only when all of it could be made.
 */
#include <errno.h>
#include <fcntl.h>

#include "base/file.h"
#include "server/http/handle.h"

#define MEMORY_MAX (1024 * 1024) /* bytes kept in memory */

static const struct format {
  const char *name, *type, *suffix;
} formats[] = {
    {"reprise", "application/x-ndjson", "reprise"},
    {"nova", "application/json", "json"},
    {"clawd", "application/json", "json"},
    {"orbitmesh", "application/gzip", "json.gz"},
    {"markdown", "text/markdown; charset=utf-8", "md"},
};

/* ---- where it goes ---- */

/* Beside the database, where there is room for what is in it; without a file, where temporary ones go. */
static int open_file(const struct rp__http_call *c, rp_error *err)
{
  char *folder RP_AUTOFREE = c->srv->db_path ? strdup(c->srv->db_path) : strdup("/tmp/x");
  if (!folder) return rp__fail_nomem(err);
  char *slash = strrchr(folder, '/');
  if (slash) *(slash == folder ? slash + 1 : slash) = '\0';
  int fd = open(slash ? folder : ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  return fd < 0 ? rp__fail_errno(err, errno, "no file can be made for the answer") : fd;
}

struct sink {
  struct rp__http_call *c;
  rp_error *err;
  int rc; /* why writing stopped */
};

static int write_file(struct sink *s, const char *p, size_t n)
{
  struct rp__http_call *c = s->c;
  while (n) {
    ssize_t k = write(c->file, p, n);
    if (k < 0 && errno == EINTR) continue;
    if (k < 0) return s->rc = rp__fail_errno(s->err, errno, "the answer can't be written");
    p += k;
    n -= (size_t)k;
    c->file_bytes += (size_t)k;
  }
  return 0;
}

static int on_bytes(void *ctx, const void *bytes, size_t n)
{
  struct sink *s = ctx;
  struct rp__http_call *c = s->c;
  if (c->file < 0 && c->out.n + n <= MEMORY_MAX) {
    rp__buf_add(&c->out, bytes, n);
    return c->out.err ? (s->rc = rp__fail_nomem(s->err)) : 0;
  }
  if (c->file < 0) {
    int fd = open_file(c, s->err);
    if (fd < 0) return s->rc = fd;
    c->file = fd;
    if (write_file(s, c->out.p, c->out.n)) return s->rc;
    rp__buf_reset(&c->out);
  }
  return write_file(s, bytes, n);
}

/* ---- exports ---- */

int rp__handle_export(struct rp__http_call *c, rp_error *err)
{
  const struct format *f = formats;
  struct sink s = {.c = c, .err = err};
  char name[32] = "reprise";
  int rc = rp__call_text(c, "format", name, sizeof name, err);
  if (rc) return rc;
  while (f < formats + RP_ARRAY_SIZE(formats) && strcmp(f->name, name) != 0) f++;
  if (f == formats + RP_ARRAY_SIZE(formats)) {
    rp__fail_field(err, RP_E_USAGE, "format", "there is no format '%.30s' here", name);
    rp__hint(err, strcmp(name, "cortex") == 0 ? "cortex is a database: 'reprise export --format cortex -o brain.db'"
                                              : "there are reprise, nova, clawd, orbitmesh and markdown");
    return RP_E_USAGE;
  }
  /* It names the hosts and processes of the session's runs, which no other answer to such a token does. */
  if (f == formats && c->who.who == RP_WHO_SESSION)
    return rp__fail(err, RP_E_FORBIDDEN, "a session's token exports as nova, clawd, orbitmesh or markdown");
  rc = rp_export_as(rp__call_session(c), f->name, on_bytes, &s, err);
  if (s.rc) return s.rc;
  if (rc) return rc;
  c->type = f->type;
  snprintf(c->header_text, sizeof c->header_text, "attachment; filename=\"%.100s.%s\"", c->entry->id, f->suffix);
  c->header = (struct rp__header){"Content-Disposition", c->header_text};
  return 0;
}

/* ---- blobs ---- */

int rp__handle_blob(struct rp__http_call *c, rp_error *err)
{
  struct sink s = {.c = c, .err = err};
  int rc = rp_blob_get(rp__call_session(c), c->param[1], on_bytes, &s, err);
  if (s.rc) return s.rc;
  c->type = "application/octet-stream";
  return rc;
}
