/* SPDX-License-Identifier: Apache-2.0 */
/* The file: how it is made, shared with others, refused; what closing leaves. */
#include "store_test.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/process/lockfile.h"

/* O-03: 0600 files in a 0700 folder. */
static void files_are_private(void **state)
{
  struct box *b = *state;
  static const char *const ends[] = {"", "-wal", "-shm", ".runs"};
  char path[SCRATCH_PATH + 8];
  struct stat st;
  mode_t old = umask(0);
  box_open(b);
  assert_int_equal(put_in(b->s, "a", NULL, &b->err), 0);
  umask(old);
  for (size_t i = 0; i < RP_ARRAY_SIZE(ends); i++) {
    snprintf(path, sizeof path, "%s%s", b->path, ends[i]);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
  }
  scratch_path(&b->dir, "box", path);
  assert_int_equal(stat(path, &st), 0);
  assert_int_equal(st.st_mode & 0777, 0700);
}

static int hash_row(void *ctx, int n, char **values, char **names)
{
  uint64_t *h = ctx;
  (void)names;
  for (int i = 0; i < n; i++)
    for (const char *p = values[i] ? values[i] : "\1"; *p; p++) *h = (*h ^ (unsigned char)*p) * 1099511628211u;
  return 0;
}

static uint64_t foreign_hash(sqlite3 *db)
{
  uint64_t h = 14695981039346656037u;
  static const char sql[] = "SELECT name, sql FROM sqlite_schema WHERE name NOT LIKE 'rp\\_%' ESCAPE '\\' AND "
                            "name NOT LIKE 'sqlite\\_autoindex\\_rp\\_%' ESCAPE '\\' AND "
                            "name <> 'agent_session_states' ORDER BY name;"
                            "SELECT * FROM theirs ORDER BY rowid; SELECT * FROM session_states ORDER BY rowid;"
                            "PRAGMA user_version; PRAGMA application_id; PRAGMA page_size; PRAGMA encoding";
  assert_int_equal(sqlite3_exec(db, sql, hash_row, &h, NULL), SQLITE_OK);
  return h;
}

/* at home in somebody else's database. */
static void foreign_tables_are_not_touched(void **state)
{
  struct box *b = *state;
  rp_finding_fn *none = NULL;
  scratch_path(&b->dir, "theirs.db", b->path);
  sqlite3 *db = raw_open(b->path);
  raw_exec(db, "PRAGMA page_size = 1024; CREATE TABLE theirs (a, b UNIQUE, c BLOB); " SEED_STATES
               "CREATE TRIGGER t AFTER INSERT ON theirs BEGIN DELETE FROM theirs WHERE a < 0; END;"
               "INSERT INTO theirs VALUES (1, 'two', x'03'), (NULL, 4.5, zeroblob(5000));"
               "INSERT INTO session_states (id, start_time, created_at) VALUES ('keep', 'x', 'y'); PRAGMA user_version "
               "= 77; PRAGMA application_id = 4242");
  uint64_t before = foreign_hash(db);
  box_open(b);
  assert_int_equal(put_in(b->s, "a", NULL, &b->err), 0);
  for (int i = 0; i < 50; i++) assert_int_equal(say_in(b->s, "a", "hello", RP_DISK, NULL, &b->err), 0);
  assert_int_equal(hits_in(b->s, "hello"), 50);
  assert_int_equal(b->s->ops->check(b->s, true, none, NULL, &b->err), 0);
  struct rp__op op = {.type = RP_OP_SESSION_DELETE, .session_id = "a"};
  assert_int_equal(commit_as(b->s, &op, RP_DISK, &b->err), 0);
  box_close(b);
  assert_true(foreign_hash(db) == before);
  sqlite3_close(db);
  assert_int_equal(raw_int(b->path, "PRAGMA page_size"), 1024);
}

static void a_newer_schema_is_refused(void **state)
{
  struct box *b = *state;
  struct rp__store_options o = {.path = b->path};
  struct rp__store *s = NULL;
  box_open(b);
  assert_int_equal(put_in(b->s, "a", NULL, &b->err), 0);
  raw_run(b->path, "UPDATE rp_meta SET value = 999 WHERE name = 'schema_version'");
  /* This process outlives the migration: it must not write any more. */
  assert_int_equal(say_in(b->s, "a", "late", RP_DISK, NULL, &b->err), RP_E_VERSION);
  assert_int_equal(rp__store_sqlite_open(&o, &s, &b->err), RP_E_VERSION);
  assert_non_null(strstr(b->err.message, "999"));
  o.read_only = true;
  assert_int_equal(rp__store_sqlite_open(&o, &s, &b->err), RP_E_VERSION);
  assert_null(s);
  assert_int_equal(raw_int(b->path, "SELECT count(*) FROM rp_events"), 0);
  char back[80];
  snprintf(back, sizeof back, "UPDATE rp_meta SET value = %d WHERE name = 'schema_version'", RP_SQ_SCHEMA);
  raw_run(b->path, back);
  assert_int_equal(say_in(b->s, "a", "again", RP_DISK, NULL, &b->err), 0);
}

static void what_is_no_database_is_named(void **state)
{
  struct box *b = *state;
  struct rp__store_options o = {.path = b->path};
  struct rp__store *s;
  scratch_path(&b->dir, "text.db", b->path);
  FILE *f = fopen(b->path, "w");
  for (int i = 0; i < 1000; i++) fputs("this is no database\n", f);
  fclose(f);
  assert_int_equal(rp__store_sqlite_open(&o, &s, &b->err), RP_E_CORRUPT);
  assert_non_null(strstr(b->err.message, "text.db"));
}

static void what_can_not_be_reached(void **state)
{
  struct box *b = *state;
  struct rp__store_options o = {.path = b->path, .read_only = true};
  struct rp__store *s;
  struct stat st;
  assert_int_equal(rp__store_sqlite_open(&o, &s, &b->err), RP_E_UNREACHABLE);
  assert_int_equal(stat(b->path, &st), -1); /* nothing was made */
  o.path = NULL;
  assert_int_equal(rp__store_sqlite_open(&o, &s, &b->err), RP_E_USAGE);
  scratch_path(&b->dir, "theirs.db", b->path);
  raw_run(b->path, "CREATE TABLE theirs (a)");
  o.path = b->path;
  assert_int_equal(rp__store_sqlite_open(&o, &s, &b->err), RP_E_UNREACHABLE);
}

static int event_ignored(void *ctx, const struct rp__event_row *row)
{
  (void)row;
  ++*(int *)ctx;
  return 0;
}

static void a_reader_only_reads(void **state)
{
  struct box *b = *state;
  struct rp__store_options o = {.path = b->path, .read_only = true};
  struct rp__store *s;
  int64_t ref;
  int n = 0;
  box_open(b);
  assert_int_equal(put_in(b->s, "a", &ref, &b->err), 0);
  assert_int_equal(say_in(b->s, "a", "early", RP_DISK, NULL, &b->err), 0);
  assert_int_equal(hits_in(b->s, "early"), 1);
  assert_int_equal(rp__store_sqlite_open(&o, &s, &b->err), 0);
  assert_int_equal(say_in(b->s, "a", "late", RP_DISK, NULL, &b->err), 0);
  struct rp__event_range r = {.session_ref = ref};
  assert_int_equal(s->ops->event_list(s, &r, event_ignored, &n, &b->err), 0);
  assert_int_equal(n, 2);
  assert_int_equal(hits_in(s, "early"), 1);
  assert_int_equal(hits_in(s, "late"), 0); /* it can't catch up, and says nothing false */
  assert_int_equal(say_in(s, "a", "mine", RP_DISK, NULL, &b->err), RP_E_READONLY);
  assert_int_equal(s->ops->maintain(s, RP_MAINTAIN_PRUNE, NULL, &b->err), RP_E_READONLY);
  assert_int_equal(s->ops->maintain(s, RP_MAINTAIN_WAL, NULL, &b->err), 0);
  assert_int_equal(s->ops->check(s, true, NULL, NULL, &b->err), RP_E_READONLY);
  assert_int_equal(s->ops->check(s, false, NULL, NULL, &b->err), 0);
  s->ops->close(s);
}

static void odd_names_are_only_names(void **state)
{
  struct box *b = *state;
  static const char *const names[] = {"file:x?mode=memory", ":memory:", "with ? and %20", "a?vfs"};
  char cwd[SCRATCH_PATH];
  assert_non_null(getcwd(cwd, sizeof cwd));
  assert_int_equal(chdir(b->dir.dir), 0);
  for (size_t i = 0; i < RP_ARRAY_SIZE(names); i++) {
    struct rp__store_options o = {.path = names[i]};
    struct rp__store *s;
    struct stat st;
    assert_int_equal(rp__store_sqlite_open(&o, &s, &b->err), 0);
    assert_int_equal(put_in(s, "a", NULL, &b->err), 0);
    s->ops->close(s);
    assert_int_equal(stat(names[i], &st), 0);
    assert_true(st.st_size > 0);
  }
  assert_int_equal(chdir(cwd), 0);
}

/* A foreign writer and a stopped one: an error in time, and then work goes on. */
static void others_make_us_wait_and_no_longer(void **state)
{
  struct box *b = *state;
  char path[SCRATCH_PATH + 32];
  struct rp__lockfile lock;
  scratch_path(&b->dir, "busy.db", b->path);
  snprintf(path, sizeof path, "%s?busy_ms=30", b->path);
  struct rp__store_options o = {.path = path};
  assert_int_equal(rp__store_sqlite_open(&o, &b->s, &b->err), 0);
  assert_int_equal(put_in(b->s, "a", NULL, &b->err), 0);

  sqlite3 *db = raw_open(b->path);
  raw_exec(db, "BEGIN IMMEDIATE");
  assert_int_equal(say_in(b->s, "a", "x", RP_DISK, NULL, &b->err), RP_E_BUSY);
  raw_exec(db, "ROLLBACK");
  sqlite3_close(db);
  assert_int_equal(say_in(b->s, "a", "x", RP_DISK, NULL, &b->err), 0);

  snprintf(path, sizeof path, "%s.runs", b->path);
  assert_int_equal(rp__lockfile_open(&lock, path, &b->err), 0);
  assert_int_equal(rp__lockfile_queue_try(&lock), 0);
  assert_int_equal(say_in(b->s, "a", "x", RP_DISK, NULL, &b->err), RP_E_BUSY);
  assert_int_equal(b->s->ops->maintain(b->s, RP_MAINTAIN_PRUNE, NULL, &b->err), RP_E_BUSY);
  rp__lockfile_close(&lock);
  int rc = RP_E_BUSY;
  for (int i = 0; rc == RP_E_BUSY && i < 100; i++) rc = say_in(b->s, "a", "x", RP_DISK, NULL, &b->err);
  assert_int_equal(rc, 0);
}

static void closing_takes_the_log_back(void **state)
{
  struct box *b = *state;
  struct rp__store_options o = {.path = b->path, .short_lived = true};
  box_open(b);
  assert_int_equal(put_in(b->s, "a", NULL, &b->err), 0);
  char *wal = strdup(rp__sq(b->s)->wal_path);
  assert_true(rp__sq_file_bytes(wal) > 0);
  box_close(b);
  assert_int_equal(rp__sq_file_bytes(wal), 0);
  /* Short-lived commands leave it, unless it has grown. */
  assert_int_equal(rp__store_sqlite_open(&o, &b->s, &b->err), 0);
  assert_int_equal(say_in(b->s, "a", "x", RP_OS, NULL, &b->err), 0);
  box_close(b);
  assert_true(rp__sq_file_bytes(wal) > 0);
  free(wal);
  box_open(b);
  int64_t seq;
  assert_int_equal(say_in(b->s, "a", "y", RP_OS, &seq, &b->err), 0);
  assert_int_equal(seq, 2);
}

/* A command that asks a few questions and writes once reads the schema once. */
static void one_connection_is_enough(void **state)
{
  struct box *b = *state;
  struct rp__store_options o = {.path = b->path, .short_lived = true};
  struct rp__session_row row = {0};
  int64_t seq;
  assert_int_equal(rp__store_sqlite_open(&o, &b->s, &b->err), 0);
  assert_int_equal(put_in(b->s, "a", NULL, &b->err), 0);
  assert_int_equal(b->s->ops->session_find(b->s, RP_FIND_NAME, NULL, "a", &row, &b->err), 0);
  rp__session_row_done(&row);
  assert_int_equal(say_in(b->s, "a", "x", RP_DISK, &seq, &b->err), 0);
  assert_int_equal(seq, 1);
  assert_int_equal(rp__sq(b->s)->pool.n_open, 0);

  /* Read and written at once there are two, and whoever reads keeps his. */
  struct rp__sq_conn *reader;
  assert_int_equal(rp__sq_reader_take(rp__sq(b->s), &reader, &b->err), 0);
  assert_ptr_equal(reader, rp__sq(b->s)->writer);
  assert_int_equal(say_in(b->s, "a", "y", RP_DISK, &seq, &b->err), 0);
  assert_int_equal(seq, 2);
  assert_ptr_not_equal(reader, rp__sq(b->s)->writer);
  rp__sq_reader_give(reader);
  assert_int_equal(rp__sq(b->s)->pool.n_open, 1);
}

/* The log, its index and the locks belong to a name: used by two names, a database is destroyed. */
static void a_database_has_one_name(void **state)
{
  struct box *b = *state;
  struct rp__store_options o = {.path = b->path}, reads = {.path = b->path, .read_only = true};
  char other[SCRATCH_PATH], left[SCRATCH_PATH + 64];
  struct stat st;
  box_open(b);
  box_close(b);
  scratch_path(&b->dir, "box/other.db", other);
  assert_int_equal(link(b->path, other), 0);
  assert_int_equal(rp__store_sqlite_open(&o, &b->s, &b->err), RP_E_REFUSED);
  assert_non_null(strstr(b->err.message, "2 names"));
  assert_non_null(strstr(b->err.hint, "-samefile"));
  assert_int_equal(rp__store_sqlite_open(&reads, &b->s, &b->err), RP_E_REFUSED);
  assert_int_equal(unlink(other), 0);
  box_open(b);
  box_close(b);

  /* What the making of the file leaves when it is killed is nobody's name. */
  snprintf(left, sizeof left, "%s.01900000-0000-7000-8000-000000000000.new", b->path);
  assert_int_equal(link(b->path, left), 0);
  box_open(b);
  assert_int_equal(stat(left, &st), -1);
  assert_int_equal(stat(b->path, &st), 0);
  assert_int_equal(st.st_nlink, 1);
}

/* A container that is given the file alone has a name of its own for it, and no link to count. */
static void a_database_that_is_a_mount_is_refused(void **state)
{
  struct box *b = *state;
  char other[SCRATCH_PATH];
  struct rp__store_options o = {.path = other}, reads = {.path = other, .read_only = true};
  box_open(b);
  box_close(b);
  scratch_path(&b->dir, "box/other.db", other);
  int fd = open(other, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
  assert_true(fd >= 0);
  close(fd);
  if (mount(b->path, other, NULL, MS_BIND, NULL) != 0) {
    print_message("# nothing can be mounted here: %s\n", strerror(errno));
    skip();
  }
  int rc = rp__store_sqlite_open(&o, &b->s, &b->err);
  int rc_reads = rp__store_sqlite_open(&reads, &b->s, NULL);
  assert_int_equal(umount2(other, MNT_DETACH), 0);
  assert_int_equal(rc, RP_E_REFUSED);
  assert_int_equal(rc_reads, RP_E_REFUSED);
  assert_string_equal(b->err.hint, "mount the folder instead");
  box_open(b);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      BOX_TEST(files_are_private),          BOX_TEST(foreign_tables_are_not_touched),
      BOX_TEST(a_newer_schema_is_refused),  BOX_TEST(what_is_no_database_is_named),
      BOX_TEST(what_can_not_be_reached),    BOX_TEST(a_reader_only_reads),
      BOX_TEST(odd_names_are_only_names),   BOX_TEST(others_make_us_wait_and_no_longer),
      BOX_TEST(closing_takes_the_log_back), BOX_TEST(one_connection_is_enough),
      BOX_TEST(a_database_has_one_name),    BOX_TEST(a_database_that_is_a_mount_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
