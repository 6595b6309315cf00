/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The roster: the sessions that have an agent, one line each in <db>.agents. After a restart the server opens only
 * these sessions. The roster says nothing else about a session; the journal does.
 */
#include <errno.h>
#include <fcntl.h>

#include "base/file.h"
#include "base/id.h"
#include "server/agent/agent-session.h"

int rp__roster_init(struct rp__roster *r, const char *db_path, rp_error *err)
{
  *r = (struct rp__roster){0};
  pthread_mutex_init(&r->lock, NULL);
  if (db_path && asprintf(&r->path, "%s.agents", db_path) < 0) {
    r->path = NULL;
    return rp__fail_nomem(err);
  }
  return 0;
}

void rp__roster_done(struct rp__roster *r)
{
  free(r->rows);
  free(r->path);
  pthread_mutex_destroy(&r->lock);
}

/* ---- the list; with the lock held ---- */

static struct rp__roster_row *find(const struct rp__roster *r, const char *id)
{
  for (size_t i = 0; i < r->n; i++)
    if (strcmp(r->rows[i].id, id) == 0) return &r->rows[i];
  return NULL;
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
  r->rows[r->n].found = found;
  snprintf(r->rows[r->n++].id, sizeof r->rows[0].id, "%s", id);
  return 0;
}

/* ---- the file ---- */

int rp__roster_add(struct rp__roster *r, const char *id, rp_error *err)
{
  char line[RP_ID_MAX + 2];
  int n = snprintf(line, sizeof line, "%s\n", id), rc = 0;
  pthread_mutex_lock(&r->lock);
  bool known = find(r, id) != NULL;
  if (!known && !(rc = push(r, id, false, err)) && r->path) {
    int fd RP_AUTOCLOSE = open(r->path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0 || write(fd, line, (size_t)n) != n || fdatasync(fd)) {
      rc = rp__fail_errno(err, errno, "the list of agents can't be written to");
      r->n--;
    }
  }
  pthread_mutex_unlock(&r->lock);
  return rc;
}

/* Lines that are no ids (a write that was cut) are passed over. */
int rp__roster_load(struct rp__roster *r, rp_error *err)
{
  struct rp__buf text RP_AUTOBUF = RP_BUF(0);
  char id[RP_ID_MAX + 1];
  pthread_mutex_lock(&r->lock);
  int rc = !r->loaded && r->path ? rp__file_read(r->path, RP_ROSTER_BYTES, &text, err) : 0;
  if (rc == RP_E_FILE_NOT_FOUND) rc = 0;
  for (size_t at = 0; !rc && at < text.n;) {
    const char *line = text.p + at, *end = memchr(line, '\n', text.n - at);
    size_t n = end ? (size_t)(end - line) : text.n - at;
    at += n + 1;
    if (n > RP_ID_MAX) continue;
    snprintf(id, sizeof id, "%.*s", (int)n, line);
    if (rp__name_ok(id) && !find(r, id)) rc = push(r, id, true, err);
  }
  r->loaded |= !rc;
  pthread_mutex_unlock(&r->lock);
  return rc;
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

/* ---- what it says ---- */

bool rp__roster_returns(struct rp__roster *r, const char *id)
{
  pthread_mutex_lock(&r->lock);
  struct rp__roster_row *row = find(r, id);
  bool found = row && row->found;
  if (found) row->found = false;
  pthread_mutex_unlock(&r->lock);
  return found;
}

int rp__roster_copy(struct rp__roster *r, struct rp__roster_row **ret, size_t *ret_n, rp_error *err)
{
  pthread_mutex_lock(&r->lock);
  struct rp__roster_row *rows = calloc(r->n + 1, sizeof *rows);
  if (rows && r->n) memcpy(rows, r->rows, r->n * sizeof *rows);
  *ret_n = r->n;
  pthread_mutex_unlock(&r->lock);
  *ret = rows;
  return rows ? 0 : rp__fail_nomem(err);
}

void rp__roster_remove(struct rp__roster *r, const char *id)
{
  pthread_mutex_lock(&r->lock);
  struct rp__roster_row *row = find(r, id);
  if (row) *row = r->rows[--r->n];
  pthread_mutex_unlock(&r->lock);
}
