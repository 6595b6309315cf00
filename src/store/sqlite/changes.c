/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds what is new. The ids of events only grow, also after deletions (RP_SQ_EVENT_FLOOR), and one transaction writes
 * at a time. So a reader that has seen all events up to an id has missed none before it.
 *
 * Whether anything is new at all shows in the header of the log's index. Every commit of every process writes this
 * header last, and it is in memory that all processes share. Reading it takes no system call.
 */
#include "store/sqlite/sqlite.h"

#include "core/seal.h"

#define PAGE_EVENTS 4096   /* read in one transaction */
#define HEADER_WORDS 24    /* the header stands there twice, 48 bytes each */
#define INDEX_REGION 32768 /* bytes of the index that are mapped at a time */

/* ---- which journals grew ---- */

struct grown {
  struct {
    int64_t session, seq;
  } * p;
  size_t n, cap;
};

static int grown_add(struct grown *g, int64_t session, int64_t seq)
{
  if (g->n > 0 && g->p[g->n - 1].session == session) { /* most come in runs of one session */
    g->p[g->n - 1].seq = RP_MAX(g->p[g->n - 1].seq, seq);
    return 0;
  }
  if (g->n == g->cap) {
    size_t cap = g->cap ? g->cap * 2 : 64;
    void *p = reallocarray(g->p, cap, sizeof *g->p);
    if (!p) return RP_E_NOMEM;
    g->p = p;
    g->cap = cap;
  }
  g->p[g->n].session = session;
  g->p[g->n++].seq = seq;
  return 0;
}

static int by_session(const void *a, const void *b)
{
  const int64_t *x = a, *y = b;
  if (x[0] != y[0]) return x[0] < y[0] ? -1 : 1;
  return (x[1] > y[1]) - (x[1] < y[1]);
}

/* A cursor beyond it is of another file. */
int rp__sq_last_id(struct rp__sq_conn *c, int64_t *ret, rp_error *err)
{
  int64_t max, given;
  int rc = rp__sq_number(c, RP_SQ_EVENT_MAX, NULL, 0, &max, err);
  if (rc == 0) rc = rp__sq_meta_get(c, RP_SQ_EVENT_FLOOR, 0, &given, err);
  if (rc == 0) *ret = RP_MAX(max, given);
  return rc;
}

/* Reads on from *at. The number of events, or an error. */
static int64_t page_read(struct rp__sq_store *s, int64_t *at, int64_t max, struct grown *g, rp_error *err)
{
  RP_AUTOREADER struct rp__sq_conn *c = NULL;
  int64_t n = 0, last;
  int rc = rp__sq_reader_take(s, &c, err);
  if (rc != 0) return rc;
  RP_SQ_AUTO q = rp__sq_query(c, RP_SQ_EVENT_CHANGES);
  RP_SQ_BIND(&q, RP_SQ_I(*at), RP_SQ_I(max));
  while ((rc = rp__sq_next(&q, "read changes", err)) > 0) {
    if (grown_add(g, rp__sq_col_int(&q, 1), rp__sq_col_count(&q, 2)) != 0) return rp__fail_nomem(err);
    *at = rp__sq_col_int(&q, 0);
    n++;
  }
  if (rc == 0 && n == 0) {
    rc = rp__sq_last_id(c, &last, err);
    if (rc == 0 && *at > last) *at = last;
  }
  return rc < 0 ? rc : n;
}

static int tell(struct grown *g, rp_change_fn *fn, void *ctx)
{
  if (g->n > 1) qsort(g->p, g->n, sizeof *g->p, by_session);
  for (size_t i = 0; i < g->n; i++) {
    if (i + 1 < g->n && g->p[i + 1].session == g->p[i].session) continue;
    int rc = fn(ctx, g->p[i].session, g->p[i].seq);
    if (rc != 0) return rc;
  }
  return 0;
}

int rp__sq_changes(struct rp__store *base, int64_t *cursor, int64_t limit, rp_change_fn *fn, void *ctx, rp_error *err)
{
  struct rp__sq_store *s = rp__sq(base);
  struct grown g = {0};
  int64_t at = *cursor, left = limit > 0 ? limit : INT64_MAX;
  if (at < 0) {
    RP_AUTOREADER struct rp__sq_conn *c = NULL;
    int rc = rp__sq_reader_take(s, &c, err);
    return rc ? rc : rp__sq_last_id(c, cursor, err);
  }
  int64_t n = PAGE_EVENTS;
  while (n == PAGE_EVENTS && left > 0) {
    n = page_read(s, &at, RP_MIN(left, PAGE_EVENTS), &g, err);
    left -= RP_MAX(n, 0);
  }
  int rc = n < 0 ? (int)n : tell(&g, fn, ctx);
  free(g.p);
  if (rc == 0) *cursor = at;
  return rc;
}

/* ---- whether anything changed ---- */

const volatile uint32_t *rp__sq_wal_index(struct rp__sq_conn *c)
{
  sqlite3_file *file = NULL;
  void volatile *p = NULL;
  if (sqlite3_file_control(c->db, "main", SQLITE_FCNTL_FILE_POINTER, &file) != SQLITE_OK || !file) return NULL;
  const sqlite3_io_methods *m = file->pMethods;
  if (!m || m->iVersion < 2 || !m->xShmMap) return NULL;
  return m->xShmMap(file, 0, INDEX_REGION, 0, &p) == SQLITE_OK ? p : NULL;
}

/* Others write the words while they are read; what is then seen fits nothing that was seen before or will be again. */
__attribute__((no_sanitize("thread"))) static int64_t header_sum(const volatile uint32_t *header)
{
  uint32_t words[HEADER_WORDS];
  for (size_t i = 0; i < HEADER_WORDS; i++) words[i] = header[i];
  atomic_thread_fence(memory_order_acquire); /* what is read afterwards is no older */
  return (int64_t)rp__checksum(words, sizeof words, 0);
}

static int watch_slowly(struct rp__sq_store *s, int64_t *ret, rp_error *err)
{
  int64_t version = 0;
  pthread_mutex_lock(&s->watch_mu);
  int rc = s->watcher ? 0 : rp__sq_conn_open(s, RP_SQ_READER, &s->watcher, err);
  if (rc == 0) rc = rp__sq_number(s->watcher, RP_SQ_DATA_VERSION, NULL, 0, &version, err); /* opens the log, too */
  const volatile uint32_t *header = rc == 0 ? rp__sq_wal_index(s->watcher) : NULL;
  if (header) {
    version = header_sum(header);
    atomic_store(&s->wal_index, header);
  }
  pthread_mutex_unlock(&s->watch_mu);
  if (rc == 0) *ret = version;
  return rc;
}

int rp__sq_version(struct rp__store *base, int64_t *ret, rp_error *err)
{
  const volatile uint32_t *header = atomic_load_explicit(&rp__sq(base)->wal_index, memory_order_acquire);
  if (!header) return watch_slowly(rp__sq(base), ret, err);
  *ret = header_sum(header);
  return 0;
}
