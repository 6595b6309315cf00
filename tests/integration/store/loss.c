/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docs/decisions.md: a write-ahead log that lost what was synced is told of, by
 * opening, verify and doctor, until somebody accepts it. And nothing else raises that
 * alarm: checkpoints, backups and moves by whatever program, torn or foreign notes.
 * Nor is the sync of a process that lives taken for one in which a process died.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/process/runs-layout.h"
#include "lib/child.h"
#include "lib/dice.h"
#include "lib/rig.h"
#include "lib/scratch.h"

#define EVENTS 6
#define WAL_HEADER 32
#define FRAME (24 + 4096)
#define SCHEMA_FRAMES 50 /* the first commit has more */

#define OK(call, err)                                                                                                  \
  do {                                                                                                                 \
    if ((call) != 0) fail_msg("%s: %s: %s", t.trace, #call, rig_why(&(err)));                                          \
  } while (0)

static struct {
  struct scratch dir;
  char db[SCRATCH_PATH], wal[SCRATCH_PATH], runs[SCRATCH_PATH], url[RIG_URL], trace[200];
  struct dice dice;
} t;

/* ---- files ---- */

static void run(const char *const *argv)
{
  if (child_call(argv) != 0) fail_msg("%s: %s %s", t.trace, argv[0], argv[1]);
}

static void copy(const char *how, const char *from, const char *to)
{
  const char *argv[] = {"cp", how, from, to, NULL};
  run(argv);
}

static char *beside(const char *name, char *out)
{
  return scratch_path(&t.dir, name, out);
}

static int64_t size_of(const char *path)
{
  struct stat st;
  return stat(path, &st) == 0 ? (int64_t)st.st_size : -1;
}

static void flip(const char *path, int64_t at)
{
  unsigned char c = 0;
  int fd = open(path, O_RDWR | O_CLOEXEC);
  if (fd < 0 || pread(fd, &c, 1, (off_t)at) != 1) fail_msg("%s: can't flip a bit", t.trace);
  c ^= (unsigned char)(1u << dice_below(&t.dice, 8));
  if (pwrite(fd, &c, 1, (off_t)at) != 1) fail_msg("%s: can't flip a bit", t.trace);
  close(fd);
}

static void fill(const char *path, int64_t from, int64_t to, bool random)
{
  int fd = open(path, O_RDWR | O_CLOEXEC);
  for (int64_t at = from; at < to; at++) {
    unsigned char c = random ? (unsigned char)dice_below(&t.dice, 256) : 0;
    if (pwrite(fd, &c, 1, (off_t)at) != 1) fail_msg("%s: can't write", t.trace);
  }
  close(fd);
}

/* As another program that uses the file. */
static void foreign(const char *sql)
{
  sqlite3 *db = NULL;
  assert_int_equal(sqlite3_open(t.db, &db), SQLITE_OK);
  sqlite3_busy_timeout(db, 5000);
  int rc = sqlite3_exec(db, sql, NULL, NULL, NULL);
  if (rc != SQLITE_OK) fail_msg("%s: %s: %s", t.trace, sql, sqlite3_errmsg(db));
  sqlite3_close(db);
}

/* ---- the store ---- */

static void append(int n, rp_durability d)
{
  rp_engine *e;
  rp_session *s;
  rp_error err;
  rp_ack ack;
  rp_append_options o = {0};
  o.durability = d;
  OK(rig_open(t.url, false, &e, &err), err);
  OK(rp_attach(e, "loss", &s, &err), err);
  for (int i = 0; i < n; i++) OK(rig_append(s, NULL, i, &o, &ack, &err), err);
  rp_session_free(s);
  rp_close(e);
}

/* As a server that is killed. */
static int make_and_die(void *arg)
{
  rp_engine *e;
  rp_session *s;
  rp_error err;
  rp_ack ack;
  (void)arg;
  if (rig_open(t.url, false, &e, &err) != 0 || rig_hold(e, "loss", false, &s, &err) != 0) _exit(1);
  for (int i = 0; i < EVENTS; i++)
    if (rig_append(s, NULL, i, NULL, &ack, &err) != 0) _exit(1);
  _exit(0);
}

/* Everything is in the log, the schema too: no checkpoint was made yet. */
static void young(const char *trace)
{
  snprintf(t.trace, sizeof(t.trace), "young: %s", trace);
  scratch_empty(&t.dir);
  assert_int_equal(child_wait(child_run(make_and_die, NULL)), 0);
  assert_int_equal(size_of(t.db), 4096);
}

/* A log with some commits is left, as by commands that come and go. Each event is a row of its own number. */
static void fresh(const char *trace)
{
  rp_engine *e;
  rp_session *s;
  rp_error err;
  snprintf(t.trace, sizeof(t.trace), "%s", trace);
  scratch_empty(&t.dir);
  OK(rig_open(t.url, false, &e, &err), err);
  OK(rig_hold(e, "loss", false, &s, &err), err);
  rp_session_detach(s);
  rp_close(e);
  foreign("PRAGMA wal_checkpoint(TRUNCATE)"); /* and the log is gone */
  for (int i = 0; i < EVENTS; i++) append(1, RP_DISK);
}

/* Where not even our tables are: who reads gets that code, who writes makes them. */
static void begin_anew(int code, const char *why)
{
  rp_options o = {.db = t.url, .short_lived = true, .read_only = true};
  rp_engine *e;
  rp_session *s;
  rp_error err;
  if (rp_open(&o, &e, &err) != code || !strstr(err.message, why)) fail_msg("%s: %s", t.trace, rig_why(&err));
  OK(rig_open(t.url, false, &e, &err), err);
  OK(rig_hold(e, "loss", false, &s, &err), err);
  rp_session_detach(s);
  rp_close(e);
}

struct told {
  char alarm[400]; /* of verify */
  int warnings;    /* of opening */
};

static int on_finding(void *ctx, const rp_finding *f)
{
  struct told *told = ctx;
  if (!f->session_id && strstr(f->what, "write-ahead log")) snprintf(told->alarm, sizeof(told->alarm), "%s", f->what);
  return 0;
}

static void on_log(void *ctx, rp_log_level level, const char *text)
{
  struct told *told = ctx;
  if (level <= RP_LOG_WARN && strstr(text, "write-ahead log")) told->warnings++;
}

static struct told look(bool read_only)
{
  struct told told = {0};
  rp_options o = {.db = t.url, .short_lived = true, .read_only = read_only, .log = on_log, .log_ctx = &told};
  rp_engine *e;
  rp_error err;
  char *doctor;
  OK(rp_open(&o, &e, &err), err);
  int rc = rp_verify(e, NULL, false, on_finding, &told, NULL, NULL, &err);
  if (told.alarm[0] ? rc != RP_E_CORRUPT : rc != 0) fail_msg("%s: verify gives %d: %s", t.trace, rc, told.alarm);
  OK(rp_doctor_json(e, &doctor, &err), err);
  assert_int_equal(strstr(doctor, "write-ahead log were synced") != NULL, told.alarm[0] != 0);
  assert_int_equal(told.warnings, told.alarm[0] != 0);
  rp_free(doctor);
  rp_close(e);
  return told;
}

static void quiet(void)
{
  for (int i = 0; i < 2; i++) {
    struct told told = look(i == 0);
    if (told.alarm[0]) fail_msg("%s: a false alarm: %s", t.trace, told.alarm);
  }
}

/* Also after more was written, and after that was left alone. */
static void stays_quiet(void)
{
  quiet();
  quiet();
  append(2, RP_DISK);
  quiet();
  append(1, RP_OS);
  quiet();
}

/* Events from `first` on are told as lost, by readers and writers, until it is accepted; everything works meanwhile. */
static void alarmed(int64_t first)
{
  char want[100];
  rp_engine *e;
  rp_error err;
  snprintf(want, sizeof(want), "events %" PRId64 " to %d ", first, EVENTS);
  for (int i = 0; i < 4; i++) {
    struct told told = look(i % 2 == 0);
    if (!told.alarm[0]) fail_msg("%s: no alarm", t.trace);
    if (!strstr(told.alarm, want)) fail_msg("%s: no '%s' in: %s", t.trace, want, told.alarm);
    if (i == 2) append(1, RP_DISK);
  }
  OK(rig_open(t.url, false, &e, &err), err);
  OK(rp_accept_loss(e, &err), err);
  OK(rp_accept_loss(e, &err), err);
  rp_close(e);
  quiet();
}

/* ---- alarms ---- */

/* The highest event whose commit ends at or before that frame: all six have as many frames. */
static int64_t events_upto(int64_t frame)
{
  int64_t frames = (size_of(t.wal) - WAL_HEADER) / FRAME;
  return frame * EVENTS / frames;
}

static void one_flipped_bit_in_the_log_is_told(void **state)
{
  (void)state;
  fresh("the log");
  int64_t frames = (size_of(t.wal) - WAL_HEADER) / FRAME, rounds = 0;
  assert_true(frames >= EVENTS && frames % EVENTS == 0);
  for (int64_t frame = 0; frame < frames; frame += 1 + dice_below(&t.dice, dice_rounds(4, 1)), rounds++) {
    /* In what stands before the page, or in the page. */
    int64_t in = dice_below(&t.dice, 2) ? dice_below(&t.dice, 24) : dice_below(&t.dice, FRAME);
    char trace[100];
    snprintf(trace, sizeof(trace), "byte %" PRId64 " of frame %" PRId64, in, frame + 1);
    fresh(trace);
    flip(t.wal, WAL_HEADER + frame * FRAME + in);
    alarmed(events_upto(frame) + 1);
  }
  for (int i = 0; i < WAL_HEADER; i += 1 + (int)dice_below(&t.dice, dice_rounds(8, 1)), rounds++) {
    char trace[100];
    snprintf(trace, sizeof(trace), "byte %d of the log's header", i);
    fresh(trace);
    flip(t.wal, i);
    alarmed(1);
  }
  printf("# loss: %" PRId64 " flipped bits, all told\n", rounds);
}

static void a_log_cut_short_or_zeroed_is_told(void **state)
{
  (void)state;
  fresh("cut short");
  assert_int_equal(truncate(t.wal, (off_t)(size_of(t.wal) - 1)), 0);
  alarmed(EVENTS);
  fresh("cut in half");
  assert_int_equal(truncate(t.wal, (off_t)((size_of(t.wal) + WAL_HEADER) / 2)), 0);
  alarmed(EVENTS / 2 + 1);
  fresh("zeroed end");
  fill(t.wal, size_of(t.wal) - FRAME, size_of(t.wal), false);
  alarmed(EVENTS);
}

static void a_deleted_log_is_told(void **state)
{
  (void)state;
  fresh("deleted");
  assert_int_equal(unlink(t.wal), 0);
  alarmed(1);
  fresh("emptied");
  assert_int_equal(truncate(t.wal, 0), 0);
  alarmed(1);
}

/* The process that made the database is killed: what it wrote last is known as well. */
static void a_killed_maker_leaves_its_note(void **state)
{
  (void)state;
  young("made and killed");
  flip(t.wal, size_of(t.wal) - FRAME / 2);
  alarmed(EVENTS);
  young("cut short");
  assert_int_equal(truncate(t.wal, (off_t)(size_of(t.wal) - 1)), 0);
  alarmed(EVENTS);
}

/* Even the tables: everything begins anew, and the alarm stays. */
static void all_lost(void)
{
  begin_anew(RP_E_CORRUPT, "events 1 to 6 ");
  alarmed(1);
}

static void the_loss_of_a_whole_young_store_is_told(void **state)
{
  (void)state;
  for (int i = 0; i < WAL_HEADER; i += 1 + (int)dice_below(&t.dice, dice_rounds(8, 1))) {
    young("the log's header");
    flip(t.wal, i);
    all_lost();
  }
  for (int i = 0; i < SCHEMA_FRAMES; i += 1 + (int)dice_below(&t.dice, dice_rounds(16, 1))) {
    young("the schema's frames");
    flip(t.wal, WAL_HEADER + (int64_t)i * FRAME + dice_below(&t.dice, FRAME));
    all_lost();
  }
  young("deleted");
  assert_int_equal(unlink(t.wal), 0);
  all_lost();
  young("emptied");
  assert_int_equal(truncate(t.wal, 0), 0);
  all_lost();
  young("its frames cut off");
  assert_int_equal(truncate(t.wal, WAL_HEADER), 0);
  all_lost();
}

/* While somebody has the log open, SQLite looks at no checksum and reads what is damaged; verify says so. */
static void damage_of_a_log_in_use_is_told(void **state)
{
  struct told told = {0};
  rp_engine *e;
  rp_error err;
  (void)state;
  fresh("in use");
  OK(rig_open(t.url, false, &e, &err), err);
  OK(rp_verify(e, NULL, false, on_finding, &told, NULL, NULL, &err), err);
  flip(t.wal, size_of(t.wal) - FRAME + 16); /* of a checksum: pages are as they were */
  assert_int_equal(rp_verify(e, NULL, false, on_finding, &told, NULL, NULL, &err), RP_E_CORRUPT);
  assert_non_null(strstr(told.alarm, "write-ahead log is damaged"));
  rp_close(e);
}

/* ---- what is no loss ---- */

static void nothing(void)
{
}

static void closed_by_a_server(void)
{
  rp_engine *e;
  rp_error err;
  OK(rig_open(t.url, true, &e, &err), err);
  rp_close(e);
  assert_int_equal(size_of(t.wal), -1);
}

static void closed_by_sqlite3(void)
{
  foreign("SELECT * FROM rp_meta");
  assert_int_equal(size_of(t.wal), -1);
}

static void checkpointed_by_others(void)
{
  static const char *const modes[] = {"PASSIVE", "FULL", "RESTART", "TRUNCATE"};
  char sql[60];
  snprintf(sql, sizeof(sql), "PRAGMA wal_checkpoint(%s)", modes[dice_below(&t.dice, 4)]);
  foreign(sql);
}

/* While we have it open, so that nobody's close takes the log away. */
static void restarted_beside_us(void)
{
  rp_engine *e;
  rp_error err;
  OK(rig_open(t.url, false, &e, &err), err);
  foreign("PRAGMA wal_checkpoint(RESTART); CREATE TABLE host (x); INSERT INTO host VALUES (1)");
  quiet();
  foreign("INSERT INTO host VALUES (2)");
  rp_close(e);
}

static void vacuumed_by_others(void)
{
  foreign("VACUUM");
}

static void another_journal_mode(void)
{
  foreign("PRAGMA journal_mode = DELETE");
}

/* the file is a host's, who writes more than we do. */
static void written_by_a_host(void)
{
  foreign("CREATE TABLE host (x); INSERT INTO host VALUES (zeroblob(100000)); PRAGMA wal_checkpoint(TRUNCATE)");
  append(1, RP_DISK);
  foreign("PRAGMA synchronous = OFF; UPDATE host SET x = zeroblob(200000)");
}

static void newest_session_deleted(void)
{
  rp_engine *e;
  rp_error err;
  rp_session *s;
  rp_ack ack;
  OK(rig_open(t.url, false, &e, &err), err);
  OK(rig_hold(e, "newest", false, &s, &err), err);
  OK(rig_append(s, NULL, 1, NULL, &ack, &err), err);
  OK(rp_end(s, NULL, &err), err);
  rp_session_free(s);
  OK(rp_purge(e, "newest", true, &err), err);
  rp_close(e);
}

static void backup_of_before_by(const char *how, bool with_log, bool in_place)
{
  char db[SCRATCH_PATH], wal[SCRATCH_PATH];
  copy(how, t.db, beside("backup", db));
  copy(how, t.wal, beside("backup-wal", wal));
  append(3, RP_DISK);
  if (!in_place) {
    assert_int_equal(rename(db, t.db), 0);
    if (with_log)
      assert_int_equal(rename(wal, t.wal), 0);
    else
      unlink(t.wal);
  } else {
    copy(how, db, t.db);
    if (with_log)
      copy(how, wal, t.wal);
    else
      unlink(t.wal);
  }
  if (!with_log && size_of(t.db) == 4096) begin_anew(RP_E_UNREACHABLE, ""); /* a young one has nothing in it */
}

static void older_backup_moved_here(void)
{
  backup_of_before_by("-p", true, false);
}

static void older_backup_without_log_moved_here(void)
{
  backup_of_before_by("-p", false, false);
}

static void older_backup_copied_over(void)
{
  backup_of_before_by("-f", true, true);
}

static void older_backup_copied_over_with_its_times(void)
{
  backup_of_before_by("-p", true, true);
}

static void older_backup_without_log_copied_over(void)
{
  backup_of_before_by("-f", false, true);
}

/* As `VACUUM INTO` or .backup make them. */
static void online_backup_copied_over(void)
{
  char sql[SCRATCH_PATH + 40], db[SCRATCH_PATH];
  snprintf(sql, sizeof(sql), "VACUUM INTO '%s'", beside("backup", db));
  foreign(sql);
  append(2, RP_DISK);
  unlink(t.wal);
  copy("-f", db, t.db);
}

static void deleted_and_restored(void)
{
  char db[SCRATCH_PATH], wal[SCRATCH_PATH];
  copy("-p", t.db, beside("backup", db));
  copy("-p", t.wal, beside("backup-wal", wal));
  append(2, RP_DISK);
  unlink(t.db);
  unlink(t.wal);
  copy("-f", db, t.db);
  copy("-f", wal, t.wal);
}

static void everything_restored(void)
{
  char db[SCRATCH_PATH], wal[SCRATCH_PATH], runs[SCRATCH_PATH];
  copy("-p", t.db, beside("backup", db));
  copy("-p", t.wal, beside("backup-wal", wal));
  copy("-p", t.runs, beside("backup.runs", runs));
  append(2, RP_DISK);
  copy("-p", db, t.db);
  copy("-p", wal, t.wal);
  copy("-p", runs, t.runs);
}

static void moved_there_and_back(void)
{
  char db[SCRATCH_PATH], wal[SCRATCH_PATH], runs[SCRATCH_PATH];
  assert_int_equal(rename(t.db, beside("m", db)), 0);
  assert_int_equal(rename(t.wal, beside("m-wal", wal)), 0);
  assert_int_equal(rename(t.runs, beside("m.runs", runs)), 0);
  char url[RIG_URL];
  memcpy(url, t.url, sizeof(url));
  rig_url(db, t.url);
  quiet();
  memcpy(t.url, url, sizeof(url));
  assert_int_equal(rename(db, t.db), 0);
  assert_int_equal(rename(wal, t.wal), 0);
  assert_int_equal(rename(runs, t.runs), 0);
}

static void runs_file_lost(void)
{
  unlink(t.runs);
}

static void runs_file_emptied(void)
{
  assert_int_equal(truncate(t.runs, 0), 0);
}

static void runs_file_of_another(void)
{
  fill(t.runs, offsetof(struct rp__runs_header, sync), offsetof(struct rp__runs_header, reserved), true);
}

/* As a kill in the middle of writing leaves them: part of a field is another note's. */
static void notes_torn(void)
{
  for (size_t i = 0; i < 2; i++) {
    int64_t at = (int64_t)offsetof(struct rp__runs_header, sync.synced[i].frame);
    fill(t.runs, at + dice_below(&t.dice, 2), at + 2 + dice_below(&t.dice, 2), true);
  }
}

static void new_log_of_os_appends(void)
{
  foreign("PRAGMA wal_checkpoint(TRUNCATE)");
  append(2, RP_OS);
}

static int open_and_die(void *arg)
{
  rp_engine *e;
  rp_error err;
  (void)arg;
  _exit(rig_open(t.url, false, &e, &err) != 0);
}

/* Under the same inode, as file systems give them again. Nobody misses the new log: it has no event yet. */
static void made_anew(void)
{
  assert_int_equal(truncate(t.db, 0), 0);
  unlink(t.wal);
  assert_int_equal(child_wait(child_run(open_and_die, NULL)), 0);
  unlink(t.wal);
  begin_anew(RP_E_UNREACHABLE, "");
}

static void what_is_no_loss_raises_no_alarm(void **state)
{
  static const struct {
    const char *name;
    void (*act)(void);
    int times;
  } cases[] = {
      {"nothing", nothing, 1},
      {"closed by a server", closed_by_a_server, 1},
      {"closed by sqlite3", closed_by_sqlite3, 1},
      {"checkpointed by others", checkpointed_by_others, 8},
      {"restarted beside us", restarted_beside_us, 1},
      {"vacuumed by others", vacuumed_by_others, 1},
      {"another journal mode", another_journal_mode, 1},
      {"written by a host", written_by_a_host, 1},
      {"the newest session deleted", newest_session_deleted, 1},
      {"an older backup moved here", older_backup_moved_here, 1},
      {"an older backup without log moved here", older_backup_without_log_moved_here, 1},
      {"an older backup copied over", older_backup_copied_over, 1},
      {"an older backup copied over with its times", older_backup_copied_over_with_its_times, 1},
      {"an older backup without log copied over", older_backup_without_log_copied_over, 1},
      {"an online backup copied over", online_backup_copied_over, 1},
      {"deleted and restored", deleted_and_restored, 1},
      {"everything restored", everything_restored, 1},
      {"moved there and back", moved_there_and_back, 1},
      {"the runs file lost", runs_file_lost, 1},
      {"the runs file emptied", runs_file_emptied, 1},
      {"the runs file of another", runs_file_of_another, 8},
      {"torn notes", notes_torn, 8},
      {"a new log of os appends", new_log_of_os_appends, 1},
      {"made anew", made_anew, 1},
  };
  (void)state;
  for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
    for (int n = 0; n < 2 * cases[i].times; n++) {
      (n % 2 ? young : fresh)(cases[i].name);
      cases[i].act();
      stays_quiet();
    }
  }
}

/* ---- syncs of the living ---- */

#define COMERS 3
#define COMINGS 12

static bool slow_folders;

/* Syncs of folders take as long as on a busy disk, so that others come meanwhile. */
#pragma GCC visibility push(default)
int fsync(int fd)
{
  struct stat st;
  if (slow_folders && fstat(fd, &st) == 0 && S_ISDIR(st.st_mode)) nanosleep(&(struct timespec){0, 20000000}, NULL);
  return (int)syscall(SYS_fsync, fd);
}
#pragma GCC visibility pop

static void count_failed(void *warned, rp_log_level level, const char *text)
{
  if (level <= RP_LOG_WARN && strstr(text, "sync")) ++*(atomic_int *)warned;
}

static int come_and_go(void *warned)
{
  rp_append_options o = {0};
  rp_options opening = {.db = t.url, .log = count_failed, .log_ctx = warned};
  rp_engine *e;
  rp_session *s;
  rp_error err;
  rp_ack ack;
  o.durability = RP_DISK;
  slow_folders = true;
  if (rp_open(&opening, &e, &err) != 0 || rp_attach(e, "loss", &s, &err) != 0) return 1;
  int rc = rig_append(s, NULL, 1, &o, &ack, &err);
  rp_session_free(s);
  rp_close(e);
  return rc ? 2 : 0;
}

/* One who comes makes the log, and syncs its name; the others find it and write. */
static void a_sync_of_the_living_is_no_failed_one(void **state)
{
  struct rp__runs_header h;
  pid_t pid[COMERS];
  atomic_int *warned = child_shared(sizeof *warned);
  (void)state;
  fresh("processes come and go");
  for (int n = 0; n < COMINGS; n++) {
    for (int i = 0; i < COMERS; i++) pid[i] = child_run(come_and_go, warned);
    for (int i = 0; i < COMERS; i++) assert_int_equal(child_wait(pid[i]), 0);
    assert_int_equal(child_wait(child_run(come_and_go, warned)), 0); /* alone, it takes the log away */
    assert_int_equal(size_of(t.wal), -1);
  }
  int fd = open(t.runs, O_RDONLY | O_CLOEXEC);
  assert_int_equal(pread(fd, &h, sizeof h, 0), sizeof h);
  close(fd);
  assert_true(h.sync.names >= COMINGS);
  assert_int_equal(h.sync.named, h.sync.names);
  assert_int_equal(h.sync.failures, 0);
  assert_int_equal(*warned, 0);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_flipped_bit_in_the_log_is_told),
      cmocka_unit_test(a_log_cut_short_or_zeroed_is_told),
      cmocka_unit_test(a_deleted_log_is_told),
      cmocka_unit_test(a_killed_maker_leaves_its_note),
      cmocka_unit_test(the_loss_of_a_whole_young_store_is_told),
      cmocka_unit_test(damage_of_a_log_in_use_is_told),
      cmocka_unit_test(what_is_no_loss_raises_no_alarm),
      cmocka_unit_test(a_sync_of_the_living_is_no_failed_one),
  };
  t.dice = dice_new();
  if (scratch_make_fast(&t.dir) != 0) return 1;
  scratch_path(&t.dir, "l.db", t.db);
  scratch_path(&t.dir, "l.db-wal", t.wal);
  scratch_path(&t.dir, "l.db.runs", t.runs);
  rig_url(t.db, t.url);
  int failures = cmocka_run_group_tests(tests, NULL, NULL);
  scratch_remove(&t.dir);
  return failures;
}
