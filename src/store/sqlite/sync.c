/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Failed syncs. The kernel marks pages that it could not write as clean: they are never written again, and the next
 * sync succeeds. So after a failed sync of the database, its log or their folder, no process acknowledges anything as
 * `disk` before all of it has been written once more (docs/decisions.md). The count of failures is in memory that all
 * processes share.
 *
 * The steps that repair a failure, while the writers' queue is held:
 * - Descriptors are opened again, because the kernel reports the failure once more to each older one.
 * - The folder is changed and synced, because a name may be missing.
 * - Every frame of the log is read, its checksum verified, and written again to its place; then the log is synced. A
 *   checkpoint before that might leave newer pages in the database file than the log on the disk has, and after a power
 *   cut the older pages of the log would replace them.
 * - A complete checkpoint is made, with its sync of the database file.
 */
#include "store/sqlite/sqlite.h"

#include <errno.h>
#include <fcntl.h>
#include <time.h>

#include "base/file.h"

#define READERS_WAIT_MS 1000 /* for readers that hold the end of the log */
#define NAMES_WAIT_MS 1000   /* for a process that syncs the folder of a file it has made */
#define RECOVER_TRIES 3

bool rp__sq_sync_is_failed(const struct rp__sq_store *s)
{
  return atomic_load(&s->sync->failures) != atomic_load(&s->sync->made_good);
}

void rp__sq_sync_failed(struct rp__sq_store *s)
{
  if (s->read_only) return;
  atomic_fetch_add(&s->sync->failures, 1);
  rp__log(&s->log, RP_LOG_DEBUG, "%s: a sync failed", s->path);
}

/*
 * Whoever is killed while the kernel is at it can't tell that the sync failed, and those that open the log afterwards
 * are not told. So a mark is made first, and whoever finds it, and nobody alive who can have made it, takes the sync
 * for a failed one.
 */
void rp__sq_sync_begin(struct rp__sq_conn *c)
{
  if (c->store->read_only) return;
  if (c->in_turn)
    atomic_store(&c->store->sync->committing, 1);
  else
    atomic_fetch_add(&c->store->sync->checkpointing, 1);
}

void rp__sq_sync_end(struct rp__sq_conn *c, bool ok)
{
  if (!ok) rp__sq_sync_failed(c->store);
  if (c->store->read_only) return;
  if (c->in_turn)
    atomic_store(&c->store->sync->committing, 0);
  else
    atomic_fetch_sub(&c->store->sync->checkpointing, 1);
}

/*
 * Syncs of checkpoints are made under SQLite's lock of whoever checkpoints. With that lock in our hands all that are
 * counted are of the dead; had it been given back first, the next one's would be taken for one of those.
 */
static void checkpoints_inherit(struct rp__sq_conn *c)
{
  enum { CHECKPOINT_LOCK = 1 };
  sqlite3_file *f = NULL;
  if (sqlite3_file_control(c->db, "main", SQLITE_FCNTL_FILE_POINTER, &f) != SQLITE_OK || !rp__sq_wal_index(c)) return;
  if (f->pMethods->xShmLock(f, CHECKPOINT_LOCK, 1, SQLITE_SHM_LOCK | SQLITE_SHM_SHARED) != SQLITE_OK) return;
  if (atomic_exchange(&c->store->sync->checkpointing, 0) != 0) rp__sq_sync_failed(c->store);
  f->pMethods->xShmLock(f, CHECKPOINT_LOCK, 1, SQLITE_SHM_UNLOCK | SQLITE_SHM_SHARED);
}

/* A file was made, and its folder's sync has neither ended nor been made needless. */
static bool name_is_open(struct rp__runs_sync *sync)
{
  uint32_t names = atomic_load(&sync->names);
  return names != atomic_load(&sync->named) && names != atomic_load(&sync->names_good);
}

/* Whether the byte could be had, which the living share until their folder is synced: what is open is of the dead. */
static bool names_take(struct rp__sq_store *s, struct rp__lockfile *runs)
{
  if (rp__lockfile_take_slot(runs, RP_RUNS_NAME_BYTE) != 0) return false;
  if (name_is_open(s->sync)) rp__sq_sync_failed(s);
  atomic_store(&s->sync->named, atomic_load(&s->sync->names));
  rp__lockfile_drop(runs, RP_RUNS_NAME_BYTE);
  return true;
}

/* The living are waited for: theirs is one sync, and everything written once more is many. */
static void names_inherit(struct rp__sq_store *s)
{
  struct rp__lockfile runs = {.fd = -1}; /* not the queue's: locks of one description do not exclude each other */
  bool taken = false;
  if (!name_is_open(s->sync)) return;
  int rc = rp__lockfile_open(&runs, s->runs_path, NULL);
  for (int ms = 0; rc == 0 && ms < NAMES_WAIT_MS && !taken && name_is_open(s->sync); ms++) {
    taken = names_take(s, &runs);
    if (!taken) nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
  }
  rp__lockfile_close(&runs);
  if (!taken && name_is_open(s->sync)) rp__sq_sync_failed(s);
}

void rp__sq_sync_inherit(struct rp__sq_conn *c)
{
  if (atomic_load(&c->store->sync->checkpointing) != 0) checkpoints_inherit(c);
  names_inherit(c->store);
}

bool rp__sq_conn_is_stale(const struct rp__sq_conn *c)
{
  return c->failures != atomic_load(&c->store->sync->failures);
}

int rp__sq_writable(struct rp__sq_store *s, rp_error *err)
{
  if (s->read_only) return rp__fail(err, RP_E_READONLY, "%s was opened to be read only", s->path);
  if (!atomic_load(&s->hopeless)) return 0;
  rp__fail(err, RP_E_READONLY, "%s: a sync failed, and writing everything once more failed too", s->path);
  rp__hint(err, "look at the disk; nothing is stored until the database is opened anew");
  return RP_E_READONLY;
}

/*
 * The same for a name in the folder, whoever may be writing: the mark is made under a lock that ends with its process.
 * Who only reads makes logs, too. Without a file to share nobody else can be told.
 */
int rp__sq_sync_name(struct rp__sq_store *s, const char *path, rp_error *err)
{
  struct rp__lockfile runs = {.fd = -1};
  struct rp__runs_sync *shared = NULL, *own = s->read_only ? &s->own_sync : s->sync;
  if (rp__lockfile_open(&runs, s->runs_path, NULL) == 0) rp__lockfile_map(&runs);
  if (runs.header && rp__lockfile_share_slot(&runs, RP_RUNS_NAME_BYTE) == 0) shared = &runs.header->sync;
  if (shared) atomic_fetch_add(&shared->names, 1);
  int rc = rp__sync_parent(path, err);
  if (rc != 0) atomic_fetch_add(shared ? &shared->failures : &own->failures, 1);
  if (shared) atomic_fetch_add(&shared->named, 1);
  rp__lockfile_close(&runs);
  return rc;
}

/* ---- making a failure good ---- */

/* A name that comes and goes makes the folder's contents something that is still to be written. */
static int folder_renew(const struct rp__sq_store *s, rp_error *err)
{
  RP_AUTOBUF struct rp__buf name = RP_BUF(1 << 16);
  rp__buf_printf(&name, "%s.new", s->path);
  if (name.err) return rp__fail_nomem(err);
  int fd = open(name.p, O_CREAT | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return rp__fail_errno(err, errno, "%s", name.p);
  close(fd);
  unlink(name.p);
  return rp__sync_parent(name.p, err);
}

/* All frames once more: first all are verified, then each is verified again and written. */
static int log_rewrite(struct rp__sq_store *s, const struct rp__sq_index *index, rp_error *err)
{
  struct rp__sq_frames f = {0};
  RP_AUTOCLOSE int fd = open(s->wal_path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return rp__fail_errno(err, errno, "%s", s->wal_path);
  for (int pass = 0; pass < 2; pass++) {
    int rc = rp__sq_frames_walk(fd, index->frames, pass == 1, &f);
    if (rc < 0) return rp__fail_errno(err, -rc, "%s", s->wal_path);
    if (f.chained < index->frames || memcmp(f.salt, index->salt, sizeof f.salt) != 0)
      return rp__fail(err, RP_E_CORRUPT, "%s: frame %u of %u can't be read any more", s->wal_path, f.chained + 1,
                      index->frames);
  }
  return fdatasync(fd) ? rp__fail_errno(err, errno, "%s", s->wal_path) : 0;
}

/* In a transaction, so that nobody else's program begins the log anew meanwhile. */
static int log_renew(struct rp__sq_store *s, struct rp__sq_conn *c, rp_error *err)
{
  struct rp__sq_index index;
  int rc = rp__sq_exec(c, "BEGIN IMMEDIATE", err);
  if (rc != 0) return rc;
  if (!rp__sq_index_read(c, &index)) rc = rp__fail(err, RP_E_IO, "%s: its index can't be read", s->wal_path);
  if (rc == 0 && index.frames > 0) rc = log_rewrite(s, &index, err);
  rp__sq_rollback(c);
  return rc;
}

static int take_back(struct rp__sq_conn *c, rp_error *err)
{
  int log = 0, done = 0;
  sqlite3_busy_timeout(c->db, READERS_WAIT_MS);
  int rc = sqlite3_wal_checkpoint_v2(c->db, NULL, SQLITE_CHECKPOINT_FULL, &log, &done);
  if (rc == SQLITE_OK && log == done) return 0;
  if (rc != SQLITE_OK && rc != SQLITE_BUSY) return rp__sq_fail(c, rc, "checkpoint", err);
  return rp__fail(err, RP_E_BUSY, "%s: a reader keeps the log from being taken back", c->store->path);
}

static int make_good(struct rp__sq_store *s, rp_error *err)
{
  uint32_t failures = atomic_load(&s->sync->failures), names = atomic_load(&s->sync->names);
  struct rp__sq_conn *c = NULL;
  int rc = rp__sq_conn_open(s, RP_SQ_KEEPER, &c, err);
  if (rc == 0) rc = folder_renew(s, err);
  if (rc == 0) rc = log_renew(s, c, err);
  if (rc == 0) rc = take_back(c, err);
  rp__sq_conn_close(c);
  if (rc != 0) return rc;
  atomic_store(&s->sync->names_good, names);
  atomic_store(&s->sync->made_good, failures); /* one that came meanwhile still counts */
  return 0;
}

int rp__sq_sync_recover(struct rp__sq_store *s, rp_error *err)
{
  rp_error why = {0};
  int rc = rp__sq_writable(s, err);
  if (rc != 0) return rc;
  /* Again when another process's sync failed meanwhile. */
  for (int i = 0; i < RECOVER_TRIES && rc == 0 && rp__sq_sync_is_failed(s); i++) rc = make_good(s, &why);
  if (rc == 0 && rp__sq_sync_is_failed(s)) return rp__fail(err, RP_E_BUSY, "%s: syncs fail again and again", s->path);
  if (rc == 0) {
    rp__sq_db_seen(s);
    rp__log(&s->log, RP_LOG_WARN, "%s: a sync had failed, or was cut off by a kill; everything was written once more",
            s->path);
    return 0;
  }
  /* Memory, space, a lock may be had later. A disk that failed twice, or frames that are gone, will not come back. */
  if (rc == RP_E_IO || rc == RP_E_CORRUPT) {
    atomic_store(&s->hopeless, true);
    rp__log(&s->log, RP_LOG_ERROR, "%s can't be written any more: %s", s->path, why.message);
    rc = RP_E_IO;
  }
  rp__fail(err, rc, "a sync failed before, and %s", why.message);
  if (rc == RP_E_IO) rp__hint(err, "look at the disk; nothing is stored until the database is opened anew");
  return rc;
}

int rp__sq_sync_ready(struct rp__sq_store *s, rp_error *err)
{
  if (s->sync == &s->own_sync && !rp__sq_sync_share(s))
    return rp__fail(err, RP_E_FULL, "%s.runs can't be made longer, so processes can't tell each other of failed syncs",
                    s->path);
  if (atomic_load(&s->sync->committing) != 0 && atomic_exchange(&s->sync->committing, 0) != 0) rp__sq_sync_failed(s);
  rp__sq_sync_inherit(s->writer);
  return rp__sq_sync_is_failed(s) ? rp__sq_sync_recover(s, err) : 0;
}

int rp__sq_sync_done(struct rp__sq_store *s, rp_error *err)
{
  names_inherit(s);
  return rp__sq_sync_is_failed(s) ? rp__sq_sync_recover(s, err) : 0;
}

bool rp__sq_sync_share(struct rp__sq_store *s)
{
  struct rp__runs_header *h = s->queue ? rp__sq_queue_header(s->queue) : NULL;
  if (!h) return false;
  if (rp__sq_sync_is_failed(s)) atomic_fetch_add(&h->sync.failures, 1); /* noted while nothing was shared */
  s->sync = &h->sync;
  return true;
}
