/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the SQLite loop is tuned, each by trying the alternative:
 * - statements prepared once, values bound without a copy; a single row is its own
 *   transaction, so there is no BEGIN and COMMIT to step;
 * - the journal is checkpointed by a second connection on a thread of its own, never
 *   inside COMMIT. Beyond a bound the writer waits for one pass, after which SQLite
 *   starts the log over and overwrites it in place: extending a file costs the file
 *   system a metadata commit on every sync. (RESTART instead of the wait makes the
 *   writer sleep in the busy handler: half a second at worst.);
 * - a page cache that holds the hot end of table and index.
 */
#include "bare.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define CHECKPOINT_FRAMES 1000 /* copy back every 4 MiB */
#define WAIT_FRAMES 4000       /* wait for it to reach the end: 16 MiB */
#define IOV_STEP 512           /* rows per writev, two parts each; IOV_MAX is 1,024 */

static void fail(const char *what, const char *why)
{
  fprintf(stderr, "bench: bare loop: %s: %s\n", what, why);
  exit(1);
}

/* ---- SQLite ------------------------------------------------------------- */

struct bare_db {
  sqlite3 *db, *checkpoint_db;
  sqlite3_stmt *begin, *insert, *commit;
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t wake, passed;
  int seen;          /* frames in the log when a pass was last asked for */
  int64_t due, done; /* passes asked for and made */
  int running;       /* 1 while a pass is being made */
  bool stop;
};

static void must(sqlite3 *db, int rc, const char *what)
{
  if (rc != SQLITE_OK && rc != SQLITE_DONE && rc != SQLITE_ROW) fail(what, sqlite3_errmsg(db));
}

static void run(sqlite3 *db, const char *sql)
{
  must(db, sqlite3_exec(db, sql, NULL, NULL, NULL), sql);
}

static void step(struct bare_db *b, sqlite3_stmt *st)
{
  must(b->db, sqlite3_step(st), sqlite3_sql(st));
  must(b->db, sqlite3_reset(st), sqlite3_sql(st));
}

/* Runs after each commit, outside the transaction's locks on the log. */
static int wal_hook(void *ctx, sqlite3 *db, const char *name, int frames)
{
  (void)db, (void)name;
  struct bare_db *b = ctx;
  if (frames < b->seen) b->seen = 0; /* the log was started over */
  if (frames < b->seen + CHECKPOINT_FRAMES) return SQLITE_OK;
  b->seen = frames;
  pthread_mutex_lock(&b->lock);
  b->due = b->done + 1 + b->running;
  pthread_cond_signal(&b->wake);
  for (int64_t mine = b->due; frames >= WAIT_FRAMES && b->done < mine;) pthread_cond_wait(&b->passed, &b->lock);
  pthread_mutex_unlock(&b->lock);
  return SQLITE_OK;
}

static void *checkpoint_main(void *ctx)
{
  struct bare_db *b = ctx;
  pthread_mutex_lock(&b->lock);
  while (!b->stop) {
    if (b->due <= b->done) {
      pthread_cond_wait(&b->wake, &b->lock);
      continue;
    }
    b->running = 1;
    pthread_mutex_unlock(&b->lock);
    int rc = sqlite3_wal_checkpoint_v2(b->checkpoint_db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    if (rc != SQLITE_BUSY) must(b->checkpoint_db, rc, "checkpoint");
    pthread_mutex_lock(&b->lock);
    b->running = 0;
    b->done++;
    pthread_cond_signal(&b->passed);
  }
  pthread_mutex_unlock(&b->lock);
  return NULL;
}

static sqlite3 *connect_db(const char *path, bool full)
{
  sqlite3 *db = NULL;
  int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
  must(db, sqlite3_open_v2(path, &db, flags, NULL), path);
  sqlite3_busy_timeout(db, 10000);
  run(db, "PRAGMA journal_mode=WAL");
  run(db, full ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=NORMAL");
  run(db, "PRAGMA wal_autocheckpoint=0");
  run(db, "PRAGMA cache_size=-65536");
  return db;
}

static sqlite3_stmt *prepare(sqlite3 *db, const char *sql)
{
  sqlite3_stmt *st = NULL;
  must(db, sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, &st, NULL), sql);
  return st;
}

struct bare_db *bare_db_open(const char *path, bool full)
{
  struct bare_db *b = calloc(1, sizeof *b);
  if (b == NULL) fail("open", "out of memory");
  b->db = connect_db(path, full);
  run(b->db, "CREATE TABLE IF NOT EXISTS events(id INTEGER PRIMARY KEY, session INTEGER NOT NULL, seq INTEGER NOT NULL,"
             " at INTEGER NOT NULL, kind TEXT NOT NULL, body BLOB NOT NULL)");
  run(b->db, "CREATE UNIQUE INDEX IF NOT EXISTS events_seq ON events(session, seq)");
  b->begin = prepare(b->db, "BEGIN IMMEDIATE");
  b->insert = prepare(b->db, "INSERT INTO events(session, seq, at, kind, body) VALUES(?,?,?,?,?)");
  b->commit = prepare(b->db, "COMMIT");
  b->checkpoint_db = connect_db(path, full);
  pthread_mutex_init(&b->lock, NULL);
  pthread_cond_init(&b->wake, NULL);
  pthread_cond_init(&b->passed, NULL);
  sqlite3_wal_hook(b->db, wal_hook, b);
  if (pthread_create(&b->thread, NULL, checkpoint_main, b) != 0) fail("open", "no thread");
  return b;
}

void bare_db_close(struct bare_db *b)
{
  if (b == NULL) return;
  pthread_mutex_lock(&b->lock);
  b->stop = true;
  pthread_cond_signal(&b->wake);
  pthread_mutex_unlock(&b->lock);
  pthread_join(b->thread, NULL);
  sqlite3_finalize(b->begin);
  sqlite3_finalize(b->insert);
  sqlite3_finalize(b->commit);
  sqlite3_close(b->checkpoint_db);
  sqlite3_close(b->db);
  pthread_cond_destroy(&b->passed);
  pthread_cond_destroy(&b->wake);
  pthread_mutex_destroy(&b->lock);
  free(b);
}

static void insert_row(struct bare_db *b, const struct bare_row *r)
{
  sqlite3_bind_int64(b->insert, 1, r->session);
  sqlite3_bind_int64(b->insert, 2, r->seq);
  sqlite3_bind_int64(b->insert, 3, r->at_ms);
  sqlite3_bind_text(b->insert, 4, r->kind, -1, SQLITE_STATIC);
  sqlite3_bind_blob(b->insert, 5, r->body, (int)r->body_len, SQLITE_STATIC);
  step(b, b->insert);
}

void bare_db_commit(struct bare_db *b, const struct bare_row *rows, size_t n)
{
  if (n > 1) step(b, b->begin);
  for (size_t i = 0; i < n; i++) insert_row(b, &rows[i]);
  if (n > 1) step(b, b->commit);
}

/* ---- files ---------------------------------------------------------------- */

static void write_all(int fd, const struct bare_row *rows, size_t n)
{
  while (n > 0) {
    struct iovec v[2 * IOV_STEP];
    size_t k = n < IOV_STEP ? n : IOV_STEP;
    ssize_t want = 0;
    for (size_t i = 0; i < k; i++) {
      v[2 * i] = (struct iovec){.iov_base = (void *)(uintptr_t)rows[i].body, .iov_len = rows[i].body_len};
      v[2 * i + 1] = (struct iovec){.iov_base = (void *)(uintptr_t) "\n", .iov_len = 1};
      want += (ssize_t)rows[i].body_len + 1;
    }
    if (writev(fd, v, (int)(2 * k)) != want) fail("write", strerror(errno));
    rows += k;
    n -= k;
  }
}

struct bare_file {
  int fd;
};

struct bare_file *bare_file_open(const char *path)
{
  struct bare_file *f = calloc(1, sizeof *f);
  if (f == NULL) fail("open", "out of memory");
  f->fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (f->fd < 0) fail(path, strerror(errno));
  return f;
}

void bare_file_close(struct bare_file *f)
{
  if (f == NULL) return;
  close(f->fd);
  free(f);
}

void bare_file_commit(struct bare_file *f, const struct bare_row *rows, size_t n)
{
  write_all(f->fd, rows, n);
  if (fdatasync(f->fd) != 0) fail("fdatasync", strerror(errno));
}

void bare_rewrite(const char *dir, const char *name, const struct bare_row *rows, size_t n)
{
  int d = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (d < 0) fail(dir, strerror(errno));
  int fd = openat(d, "state.tmp", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) fail("state.tmp", strerror(errno));
  write_all(fd, rows, n);
  if (fsync(fd) != 0 || close(fd) != 0) fail("fsync", strerror(errno));
  if (renameat(d, "state.tmp", d, name) != 0 || fsync(d) != 0) fail(name, strerror(errno));
  close(d);
}
