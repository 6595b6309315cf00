/* SPDX-License-Identifier: Apache-2.0 */
/* Opens and closes a store: the file and the files that must be beside it, or a database in memory. */
#include "store/sqlite/sqlite.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/id.h"

static const struct rp__store_ops ops;

int64_t rp__sq_file_bytes(const char *path)
{
  struct stat st;
  return stat(path, &st) == 0 ? (int64_t)st.st_size : 0;
}

static char *concat(const char *a, const char *b)
{
  RP_AUTOBUF struct rp__buf out = RP_BUF(1 << 16);
  rp__buf_str(&out, a);
  rp__buf_str(&out, b);
  return rp__buf_take(&out);
}

/* ?vfs=NAME and ?busy_ms=N after the path are for tests: I/O that fails, writers that give up soon. */
static int query_parse(struct rp__sq_store *s, char *query)
{
  char *rest = NULL;
  for (char *word = strtok_r(query, "&", &rest); word; word = strtok_r(NULL, "&", &rest)) {
    if (strncmp(word, "vfs=", 4) == 0 && !s->vfs) s->vfs = strdup(word + 4);
    if (strncmp(word, "vfs=", 4) == 0 && !s->vfs) return RP_E_NOMEM;
    if (strncmp(word, "busy_ms=", 8) == 0) s->busy_ms = (int)strtol(word + 8, NULL, 10);
  }
  return 0;
}

static int path_set(struct rp__sq_store *s, const char *path, rp_error *err)
{
  if (!path || !path[0]) return rp__fail(err, RP_E_USAGE, "no path of a database");
  /* SQLite gives names like file:… and :memory: a meaning of their own; here a path is a path. */
  bool special = path[0] == ':' || strncmp(path, "file:", 5) == 0;
  s->path = concat(special ? "./" : "", path);
  if (!s->path) return rp__fail_nomem(err);
  char *query = s->path + rp__store_path_length(s->path);
  if (*query) {
    *query = '\0';
    if (query_parse(s, query + 1) != 0) return rp__fail_nomem(err);
  }
  s->wal_path = concat(s->path, "-wal");
  s->runs_path = concat(s->path, ".runs");
  return s->wal_path && s->runs_path ? 0 : rp__fail_nomem(err);
}

/* What has to be there first: the folder, 0700 if new. */
static int folder_make(const char *path, rp_error *err)
{
  const char *slash = strrchr(path, '/');
  if (!slash || slash == path) return 0;
  RP_AUTOFREE char *dir = strndup(path, (size_t)(slash - path));
  return dir ? rp__mkdirs(dir, err) : rp__fail_nomem(err);
}

/*
 * Makes an empty file, 0600, under another name and moves it into place: closing a
 * descriptor of a database that a connection has open would drop that one's locks.
 */
static int file_make(struct rp__sq_store *s, rp_error *err)
{
  const char *path = s->path;
  struct stat st;
  if (stat(path, &st) == 0) return 0;
  char random[RP_UUID_TEXT];
  RP_AUTOFREE char *temp = NULL;
  rp__uuid7(random, 0, &rp__system_random);
  RP_AUTOBUF struct rp__buf name = RP_BUF(1 << 16);
  rp__buf_printf(&name, "%s.%s.new", path, random);
  temp = rp__buf_take(&name);
  if (!temp) return rp__fail_nomem(err);
  int fd = open(temp, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return rp__fail_errno(err, errno, "%s", path);
  close(fd);
  int failed = renameat2(AT_FDCWD, temp, AT_FDCWD, path, RENAME_NOREPLACE) == 0 || errno == EEXIST ? 0 : errno;
  if (failed == EINVAL || failed == ENOSYS) failed = link(temp, path) == 0 || errno == EEXIST ? 0 : errno;
  unlink(temp);
  if (failed) return rp__fail_errno(err, failed, "%s", path);
  return rp__sq_sync_name(s, path,
                          err); /* if it fails, whoever comes next finds the file and does not sync its folder */
}

/* Second names that file_make left when it was killed, where files can't be moved without replacing. */
static void leftovers_remove(const char *path, const struct stat *db)
{
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
  RP_AUTOFREE char *dir = strndup(path, slash ? (size_t)(slash - path) + 1 : 0);
  DIR *d = dir ? opendir(*dir ? dir : ".") : NULL;
  for (struct dirent *e; d && (e = readdir(d));) {
    size_t n = strlen(e->d_name), k = strlen(name);
    struct stat st;
    if (n != k + 1 + RP_UUID_TEXT - 1 + 4 || strncmp(e->d_name, name, k) != 0 || e->d_name[k] != '.') continue;
    if (strcmp(e->d_name + n - 4, ".new") != 0 || fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW)) continue;
    if (st.st_ino == db->st_ino && st.st_dev == db->st_dev) unlinkat(dirfd(d), e->d_name, 0);
  }
  if (d) closedir(d);
}

/* A file that is a mount, as a container is given one file, has another name outside. Kernels before 5.8 don't say. */
static bool is_mounted(const char *path)
{
  struct statx st;
  if (statx(AT_FDCWD, path, 0, STATX_TYPE, &st)) return false;
  return st.stx_attributes & st.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT;
}

/*
 * A database has one name: the log, its index and the locks are named after it, so two processes that come by two names
 * would each miss what the other has written, and destroy it.
 */
static int names_check(const char *path, rp_error *err)
{
  struct stat st;
  if (is_mounted(path)) {
    rp__fail(err, RP_E_REFUSED, "%s is mounted by itself: used by its other name, too, it would be destroyed", path);
    rp__hint(err, "mount the folder instead");
    return RP_E_REFUSED;
  }
  if (stat(path, &st) || st.st_nlink <= 1) return 0;
  leftovers_remove(path, &st);
  if (stat(path, &st) || st.st_nlink <= 1) return 0;
  rp__fail(err, RP_E_REFUSED, "%s has %ld names (hard links): used by two of them it would be destroyed", path,
           (long)st.st_nlink);
  rp__hint(err, "'find DIR -samefile %s' lists them; keep the one beside its -wal, and remove the others", path);
  return RP_E_REFUSED;
}

/* A folder or a pipe can't hold a store: opening one would fail for reasons of its own, or wait for ever. */
static int kind_check(const char *path, rp_error *err)
{
  struct stat st;
  if (stat(path, &st) || S_ISREG(st.st_mode)) return 0;
  if (!S_ISDIR(st.st_mode)) return rp__fail_field(err, RP_E_USAGE, "db", "%s is not a regular file", path);
  rp__fail_field(err, RP_E_USAGE, "db", "%s is a folder", path);
  rp__hint(err, "name a file in it: sqlite:%s/reprise.db", path);
  return RP_E_USAGE;
}

static int files_ready(struct rp__sq_store *s, const struct rp__proc *self, rp_error *err)
{
  struct rp__proc own = {0};
  int rc = folder_make(s->path, err);
  if (rc == 0 && !self) rc = rp__proc_describe(0, &own, err);
  if (rc == 0) rc = rp__sq_queue_new(s->runs_path, self ? self : &own, &s->queue, err);
  if (rc == 0) rp__sq_sync_share(s);
  if (rc == 0) rc = file_make(s, err);
  if (rc == 0) rc = names_check(s->path, err);
  /* Whatever keeps the files from being made keeps the store from being reached. */
  if (rc == RP_E_FILE_NOT_FOUND && err) err->code = RP_E_UNREACHABLE;
  return rc == RP_E_FILE_NOT_FOUND ? RP_E_UNREACHABLE : rc;
}

static void store_free(struct rp__sq_store *s)
{
  rp__sq_pool_done(&s->pool);
  rp__sq_conn_close(s->checkpointer);
  rp__sq_conn_close(s->keeper);
  rp__sq_conn_close(s->watcher);
  rp__sq_conn_close(s->writer);
  rp__sq_queue_free(s->queue);
  rp__lockfile_close(&s->look);
  pthread_mutex_destroy(&s->maintain_mu);
  pthread_mutex_destroy(&s->wal_mu);
  pthread_mutex_destroy(&s->watch_mu);
  free(s->path);
  free(s->wal_path);
  free(s->runs_path);
  free(s->vfs);
  free(s);
}

/* The last connection takes the log back into the file, and empties it where another process may soon want one. */
static void log_take_back(struct rp__sq_store *s)
{
  int keep = s->short_lived;
  sqlite3_db_config(s->writer->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, (int *)NULL);
  if (!keep) return;
  sqlite3_exec(s->writer->db, "PRAGMA journal_size_limit = 0", NULL, NULL, NULL);
  sqlite3_file_control(s->writer->db, "main", SQLITE_FCNTL_PERSIST_WAL, &keep);
}

/* A log that is small is left to the next one. */
static bool store_at_rest(struct rp__store *base)
{
  struct rp__sq_store *s = rp__sq(base);
  return s->short_lived && !s->memory[0] && rp__sq_file_bytes(s->wal_path) <= RP_SQ_WAL_LEFT * 4096L;
}

static void store_close(struct rp__store *base)
{
  struct rp__sq_store *s = rp__sq(base);
  if (s->writer) rp__sq_sync_inherit(s->writer); /* no log is taken back whose name may be missing */
  bool sound = s->writer && !s->writer->broken && !rp__sq_sync_is_failed(s);
  if (sound && !store_at_rest(base)) log_take_back(s);
  if (s->writer) sqlite3_busy_timeout(s->writer->db, 0);
  store_free(s);
}

static struct rp__sq_store *store_new(const struct rp__store_options *o)
{
  struct rp__sq_store *s = calloc(1, sizeof *s);
  if (!s) return NULL;
  s->base.ops = &ops;
  s->sync = &s->own_sync;
  s->look.fd = -1;
  s->read_only = o->read_only;
  s->existing = o->existing;
  s->short_lived = o->short_lived;
  s->busy_ms = RP_SQ_BUSY_MS;
  s->clock = o->clock ? *o->clock : rp__system_clock;
  s->log = o->log;
  s->wal_grown = o->wal_grown;
  s->ctx = o->ctx;
  if (pthread_mutex_init(&s->maintain_mu, NULL)) goto no_mutex;
  if (pthread_mutex_init(&s->wal_mu, NULL)) goto no_wal_mutex;
  if (pthread_mutex_init(&s->watch_mu, NULL)) goto no_watch_mutex;
  if (rp__sq_pool_init(&s->pool) != 0) goto no_pool;
  return s;

no_pool:
  pthread_mutex_destroy(&s->watch_mu);
no_watch_mutex:
  pthread_mutex_destroy(&s->wal_mu);
no_wal_mutex:
  pthread_mutex_destroy(&s->maintain_mu);
no_mutex:
  free(s);
  return NULL;
}

/* Whether the file is a store, before anything is made of it or beside it. One in use has its locks there. */
static int existing_check(struct rp__sq_store *s, rp_error *err)
{
  RP_AUTOREADER struct rp__sq_conn *c = NULL;
  int64_t version = 0;
  if (access(s->runs_path, F_OK) == 0) return 0;
  int rc = rp__sq_reader_take(s, &c, err);
  if (rc == 0) rc = rp__sq_schema_version(c, &version, err);
  if (rc != 0 || version != 0) return rc;
  return rp__sq_refuse_bare(s, err);
}

static int store_start(struct rp__sq_store *s, const struct rp__proc *self, rp_error *err)
{
  int rc;
  /* Counting memory takes a lock for every piece of it. Too late where SQLite is in use already, which is fine. */
  if (s->short_lived) sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
  if (s->read_only) {
    RP_AUTOREADER struct rp__sq_conn *c = NULL;
    /* What others know of failed syncs and losses. */
    rp__lockfile_look(&s->look, s->runs_path);
    rp__lockfile_map(&s->look);
    if (s->look.header) s->sync = &s->look.header->sync;
    rc = names_check(s->path, err);
    if (rc == 0) rc = rp__sq_reader_take(s, &c, err);
    return rc ? rc : rp__sq_schema_ensure(s, c, err);
  }
  rc = s->existing ? existing_check(s, err) : 0;
  if (rc == 0) rc = files_ready(s, self, err);
  if (rc == 0) rc = rp__sq_conn_open(s, RP_SQ_WRITER, &s->writer, err);
  return rc ? rc : rp__sq_schema_ensure(s, s->writer, err);
}

int rp__store_sqlite_open(const struct rp__store_options *o, struct rp__store **ret, rp_error *err)
{
  struct rp__sq_store *s = store_new(o);
  if (!s) return rp__fail_nomem(err);
  int rc = path_set(s, o->path, err);
  if (rc == 0) rc = kind_check(s->path, err);
  if (rc == 0) rc = store_start(s, o->self, err);
  if (rc != 0) {
    store_free(s);
    return rc;
  }
  *ret = &s->base;
  return 0;
}

/*
 * SQLite's memdb: the connections of one process that open the same name share a database, which is gone when the
 * last of them is closed. The watcher is open from the beginning to the end, because a writer may be opened anew.
 * A name is unique in the process, so two stores in memory never meet. There is no write-ahead log: readers wait
 * while somebody commits.
 */
int rp__store_memory_open(const struct rp__store_options *o, struct rp__store **ret, rp_error *err)
{
  struct rp__proc own = {0};
  struct rp__sq_store *s = store_new(o);
  if (!s) return rp__fail_nomem(err);
  snprintf(s->memory, sizeof s->memory, "/reprise-%p", (void *)s);
  s->read_only = s->existing = false;
  s->path = strdup("memory:");
  s->vfs = strdup("memdb");
  s->wal_path = strdup("");
  int rc = s->path && s->vfs && s->wal_path ? 0 : rp__fail_nomem(err);
  if (rc == 0 && !o->self) rc = rp__proc_describe(0, &own, err);
  if (rc == 0) rc = rp__sq_queue_new(NULL, o->self ? o->self : &own, &s->queue, err);
  if (rc == 0) rp__sq_sync_share(s);
  if (rc == 0) rc = rp__sq_conn_open(s, RP_SQ_WRITER, &s->writer, err);
  if (rc == 0) rc = rp__sq_conn_open(s, RP_SQ_READER, &s->watcher, err);
  if (rc == 0) rc = rp__sq_schema_ensure(s, s->writer, err);
  if (rc != 0) {
    store_free(s);
    return rc;
  }
  *ret = &s->base;
  return 0;
}

static const struct rp__store_ops ops = {
    .close = store_close,
    .at_rest = store_at_rest,
    .commit = rp__sq_commit,
    .session_find = rp__sq_session_find,
    .session_list = rp__sq_session_list,
    .run_list = rp__sq_run_list,
    .event_list = rp__sq_event_list,
    .snapshot_list = rp__sq_snapshot_list,
    .scope_get = rp__sq_scope_get,
    .client_get = rp__sq_client_get,
    .search = rp__sq_search,
    .recall_list = rp__sq_recall_list,
    .record_get = rp__sq_record_get,
    .task_get = rp__sq_task_get,
    .request_get = rp__sq_request_get,
    .name_get = rp__sq_name_get,
    .memory_list = rp__sq_memory_list,
    .audit_list = rp__sq_audit_list,
    .audit_head = rp__sq_audit_head,
    .scope_list = rp__sq_scope_list,
    .token_list = rp__sq_token_list,
    .blob_list = rp__sq_blob_list,
    .tail_list = rp__sq_tail_list,
    .changes = rp__sq_changes,
    .read = rp__store_read_each,
    .version = rp__sq_version,
    .maintain = rp__sq_maintain,
    .check = rp__sq_check,
    .stats = rp__sq_stats,
    .accept = rp__sq_accept,
};
