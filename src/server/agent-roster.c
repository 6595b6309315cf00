/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which sessions have an agent: a line each in <db>.agents. It only says where to
 * look after a restart, so that a server with many sessions need not open them all;
 * what is true of a session its journal says.
 */
#include <errno.h>
#include <fcntl.h>

#include "base/file.h"
#include "base/id.h"
#include "server/agent-impl.h"

#define SUFFIX ".agents"

int rp__roster_init(struct rp__roster *r, const char *db_path, rp_error *err)
{
  struct rp__buf path RP_AUTOBUF = RP_BUF(4096);
  *r = (struct rp__roster){0};
  pthread_mutex_init(&r->lock, NULL);
  if (!db_path) return 0;
  rp__buf_str(&path, db_path);
  rp__buf_str(&path, SUFFIX);
  r->path = rp__buf_take(&path);
  return r->path ? 0 : rp__fail_nomem(err);
}

void rp__roster_done(struct rp__roster *r)
{
  for (size_t i = 0; i < r->n; i++) free(r->rows[i].id);
  free(r->rows);
  free(r->path);
  pthread_mutex_destroy(&r->lock);
}

/* ---- the list; with the lock held ---- */

static size_t find(const struct rp__roster *r, const char *id)
{
  size_t i = 0;
  while (i < r->n && strcmp(r->rows[i].id, id) != 0) i++;
  return i;
}

static int push(struct rp__roster *r, const char *id, bool found, rp_error *err)
{
  if (r->n == RP_ROSTER_MAX) return rp__fail(err, RP_E_LIMIT, "%d sessions have agents, which is all", RP_ROSTER_MAX);
  if (r->n == r->cap) {
    size_t cap = r->cap ? 2 * r->cap : 64;
    struct rp__roster_row *rows = realloc(r->rows, cap * sizeof *rows);
    if (!rows) return rp__fail_nomem(err);
    r->rows = rows;
    r->cap = cap;
  }
  char *copy = strdup(id);
  if (!copy) return rp__fail_nomem(err);
  r->rows[r->n++] = (struct rp__roster_row){copy, found};
  return 0;
}

static void drop(struct rp__roster *r, size_t i)
{
  free(r->rows[i].id);
  r->rows[i] = r->rows[--r->n];
}

/* ---- the file ---- */

static int append_line(const struct rp__roster *r, const char *id, rp_error *err)
{
  char line[RP_ID_MAX + 2];
  int n = snprintf(line, sizeof line, "%s\n", id);
  if (!r->path) return 0;
  int fd RP_AUTOCLOSE = open(r->path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0 || write(fd, line, (size_t)n) != n || fdatasync(fd))
    return rp__fail_errno(err, errno, "the list of agents can't be written to");
  return 0;
}

int rp__roster_add(struct rp__roster *r, const char *id, rp_error *err)
{
  int rc = 0;
  pthread_mutex_lock(&r->lock);
  if (find(r, id) == r->n) {
    rc = push(r, id, false, err);
    if (!rc && (rc = append_line(r, id, err))) drop(r, r->n - 1);
  }
  pthread_mutex_unlock(&r->lock);
  return rc;
}

/* Lines that are no ids (a write that was cut) are passed over. */
static int take_lines(struct rp__roster *r, const struct rp__buf *text, rp_error *err)
{
  char id[RP_ID_MAX + 1];
  int rc = 0;
  for (size_t at = 0; !rc && at < text->n;) {
    const char *line = text->p + at, *end = memchr(line, '\n', text->n - at);
    size_t n = end ? (size_t)(end - line) : text->n - at;
    at += n + 1;
    if (n > RP_ID_MAX) continue;
    snprintf(id, sizeof id, "%.*s", (int)n, line);
    if (rp__name_ok(id) && find(r, id) == r->n) rc = push(r, id, true, err);
  }
  return rc;
}

static int load(struct rp__roster *r, rp_error *err)
{
  struct rp__buf text RP_AUTOBUF = RP_BUF(0);
  if (!r->path) return 0;
  int rc = rp__file_read(r->path, RP_ROSTER_BYTES, &text, err);
  if (rc == RP_E_FILE_NOT_FOUND) return 0;
  return rc ? rc : take_lines(r, &text, err);
}

int rp__roster_load(struct rp__roster *r, rp_error *err)
{
  pthread_mutex_lock(&r->lock);
  int rc = r->loaded ? 0 : load(r, err);
  r->loaded |= !rc;
  pthread_mutex_unlock(&r->lock);
  return rc;
}

bool rp__roster_returns(struct rp__roster *r, const char *id)
{
  pthread_mutex_lock(&r->lock);
  size_t i = find(r, id);
  bool found = i < r->n && r->rows[i].found;
  if (found) r->rows[i].found = false;
  pthread_mutex_unlock(&r->lock);
  return found;
}

static int copy_ids(const struct rp__roster *r, char **ids, rp_error *err)
{
  for (size_t i = 0; i < r->n; i++) {
    ids[i] = strdup(r->rows[i].id);
    if (ids[i]) continue;
    while (i > 0) free(ids[--i]);
    return rp__fail_nomem(err);
  }
  return 0;
}

int rp__roster_ids(struct rp__roster *r, char ***ret, size_t *ret_n, rp_error *err)
{
  pthread_mutex_lock(&r->lock);
  size_t n = r->n;
  char **ids = calloc(n + 1, sizeof *ids);
  int rc = ids ? copy_ids(r, ids, err) : rp__fail_nomem(err);
  pthread_mutex_unlock(&r->lock);
  if (rc) {
    free(ids);
    return rc;
  }
  *ret = ids;
  *ret_n = n;
  return 0;
}

void rp__roster_remove(struct rp__roster *r, const char *id)
{
  pthread_mutex_lock(&r->lock);
  size_t i = find(r, id);
  if (i < r->n) drop(r, i);
  pthread_mutex_unlock(&r->lock);
}

int rp__roster_save(struct rp__roster *r, rp_error *err)
{
  struct rp__buf text RP_AUTOBUF = RP_BUF(RP_ROSTER_BYTES);
  if (!r->path) return 0;
  pthread_mutex_lock(&r->lock);
  for (size_t i = 0; i < r->n; i++) {
    rp__buf_str(&text, r->rows[i].id);
    rp__buf_char(&text, '\n');
  }
  int rc = text.err ? rp__fail_nomem(err) : rp__file_write(r->path, text.p ? text.p : "", text.n, err);
  pthread_mutex_unlock(&r->lock);
  return rc;
}
