/* SPDX-License-Identifier: Apache-2.0 */
/* Takeover: the same sockets, one owner of the control path at a time, nothing lost when it fails. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <cmocka.h>

#include <stdatomic.h>

#include "base/process/lockfile.h"
#include "server/succession.h"

#define DEADLINE_MS 20000

struct side {
  struct rp__listeners listeners;
  struct rp__slog log;
  struct rp__control *control;
  struct rp__control_options o;
  atomic_int replaced, alone;
};

static char folder[32], db[64], path[100];

static int make_folder(void **state)
{
  (void)state;
  snprintf(folder, sizeof folder, "/tmp/rp-control-XXXXXX");
  if (!mkdtemp(folder)) return -1;
  snprintf(db, sizeof db, "%s/test.db", folder);
  snprintf(path, sizeof path, "%s.serve", db);
  return 0;
}

static int remove_folder(void **state)
{
  (void)state;
  char runs[100];
  snprintf(runs, sizeof runs, "%s.runs", db);
  unlink(runs);
  unlink(path);
  return rmdir(folder); /* fails when somebody left something behind */
}

static void on_replaced(void *ctx)
{
  atomic_fetch_add(&((struct side *)ctx)->replaced, 1);
}

static void on_alone(void *ctx)
{
  atomic_fetch_add(&((struct side *)ctx)->alone, 1);
}

static void side_init(struct side *s)
{
  *s = (struct side){0};
  rp__listeners_init(&s->listeners);
  rp__slog_init(&s->log);
  s->log.fd = -1;
  s->o = (struct rp__control_options){
      .db_path = db, .listeners = &s->listeners, .log = &s->log, .replaced = on_replaced, .alone = on_alone, .ctx = s};
}

static void side_done(struct side *s)
{
  rp__control_close(s->control);
  rp__listeners_close(&s->listeners);
  rp__slog_done(&s->log);
}

static void wait_for(atomic_int *n)
{
  for (int i = 0; !atomic_load(n); i++) {
    assert_true(i < DEADLINE_MS);
    nanosleep(&(struct timespec){0, 1000000}, NULL);
  }
}

static void sockets_go_from_one_to_the_next(void **state)
{
  struct side old, new;
  char unix_address[128], unix_path[120];
  struct stat st;
  int fd;
  (void)state;
  side_init(&old);
  side_init(&new);
  snprintf(unix_path, sizeof unix_path, "%s/web", folder);
  snprintf(unix_address, sizeof unix_address, "unix:%s", unix_path);
  assert_int_equal(rp__listen_add(&old.listeners, "127.0.0.1:0", NULL), 0);
  assert_int_equal(rp__listen_add(&old.listeners, unix_address, NULL), 0);
  assert_int_equal(rp__control_open(&old.o, -1, &old.control, NULL), 0);
  assert_int_equal(lstat(path, &st), 0);
  assert_int_equal(st.st_mode & 07777, 0600);
  ino_t before = st.st_ino;

  assert_int_equal(rp__control_take(db, &new.listeners, &fd, NULL), 0);
  assert_true(fd >= 0);
  assert_int_equal(rp__control_peer(fd), getpid());
  assert_int_equal(new.listeners.n, 2);
  assert_string_equal(new.listeners.v[0].address, old.listeners.v[0].address);
  assert_int_equal(atomic_load(&old.replaced), 0);
  assert_int_equal(rp__control_open(&new.o, fd, &new.control, NULL), 0);
  assert_int_equal(lstat(path, &st), 0);
  assert_true(st.st_ino != before);
  rp__control_go(fd);
  wait_for(&old.replaced);
  assert_int_equal(atomic_load(&new.replaced), 0);

  assert_int_equal(atomic_load(&new.alone), 0); /* the old one is still there */
  side_done(&old);                              /* leaves what is the new one's alone */
  wait_for(&new.alone);
  assert_int_equal(lstat(path, &st), 0);
  assert_int_equal(lstat(unix_path, &st), 0);
  side_done(&new);
  assert_int_equal(atomic_load(&new.alone), 1);
  assert_int_equal(lstat(path, &st), -1);
  assert_int_equal(lstat(unix_path, &st), -1);
}

/* The new one fails between taking and going: the old one is as it was, and can be asked again. */
static void a_takeover_that_fails_changes_nothing(void **state)
{
  struct side old, new;
  int fd;
  (void)state;
  side_init(&old);
  assert_int_equal(rp__listen_add(&old.listeners, "127.0.0.1:0", NULL), 0);
  assert_int_equal(rp__control_open(&old.o, -1, &old.control, NULL), 0);
  for (int i = 0; i < 3; i++) {
    side_init(&new);
    assert_int_equal(rp__control_take(db, &new.listeners, &fd, NULL), 0);
    assert_int_equal(new.listeners.n, 1);
    close(fd);
    side_done(&new);
  }
  assert_int_equal(atomic_load(&old.replaced), 0);
  side_done(&old);
}

static void nobody_runs(void **state)
{
  struct rp__listeners l;
  int fd = 7;
  (void)state;
  rp__listeners_init(&l);
  assert_int_equal(rp__control_take(db, &l, &fd, NULL), 0);
  assert_int_equal(fd, -1);
  assert_int_equal(l.n, 0);
}

/* What a killed server leaves behind is in nobody's way. */
static void a_stale_socket_is_replaced(void **state)
{
  struct side s;
  struct rp__listeners l;
  int fd = 7, status;
  (void)state;
  pid_t pid = fork();
  if (pid == 0) {
    side_init(&s);
    _exit(rp__control_open(&s.o, -1, &s.control, NULL) ? 1 : 0); /* without closing */
  }
  assert_int_equal(waitpid(pid, &status, 0), pid);
  assert_int_equal(status, 0);
  assert_int_equal(access(path, F_OK), 0);
  assert_int_equal(rp__control_check(db, NULL), 0);
  rp__listeners_init(&l);
  assert_int_equal(rp__control_take(db, &l, &fd, NULL), 0);
  assert_int_equal(fd, -1);
  side_init(&s);
  assert_int_equal(rp__control_open(&s.o, -1, &s.control, NULL), 0);
  side_done(&s);
}

static void the_second_server_is_refused(void **state)
{
  struct side first, second;
  rp_error err = {0};
  char pid[32];
  (void)state;
  side_init(&first);
  side_init(&second);
  assert_int_equal(rp__control_open(&first.o, -1, &first.control, NULL), 0);
  assert_int_equal(rp__control_open(&second.o, -1, &second.control, &err), RP_E_HELD);
  assert_int_equal(rp__control_check(db, &err), RP_E_HELD);
  snprintf(pid, sizeof pid, "(pid %d)", (int)getpid());
  assert_non_null(strstr(err.message, pid));
  assert_non_null(strstr(err.hint, "--replace"));
  assert_null(second.control);
  assert_int_equal(access(path, F_OK), 0);
  side_done(&second);
  assert_int_equal(access(path, F_OK), 0);
  side_done(&first);
}

/* Words that are none of ours, and silence, get nothing; closing does not wait for them. */
static void strange_clients_get_nothing(void **state)
{
  struct side s;
  struct sockaddr_un a = {.sun_family = AF_UNIX};
  char got[64];
  (void)state;
  side_init(&s);
  assert_int_equal(rp__listen_add(&s.listeners, "127.0.0.1:0", NULL), 0);
  assert_int_equal(rp__control_open(&s.o, -1, &s.control, NULL), 0);
  snprintf(a.sun_path, sizeof a.sun_path, "%s", path);
  int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0), silent = socket(AF_UNIX, SOCK_SEQPACKET, 0);
  assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof a), 0);
  assert_int_equal(send(fd, "GET / HTTP/1.1", 14, MSG_NOSIGNAL), 14);
  assert_int_equal(recv(fd, got, sizeof got, 0), 0);
  assert_int_equal(connect(silent, (struct sockaddr *)&a, sizeof a), 0);
  side_done(&s);
  assert_int_equal(atomic_load(&s.replaced), 0);
  close(fd);
  close(silent);
}

static void a_path_too_long_is_an_error(void **state)
{
  struct side s;
  char long_db[200];
  rp_error err = {0};
  int fd;
  (void)state;
  side_init(&s);
  memset(long_db, 'x', sizeof long_db - 1);
  long_db[sizeof long_db - 1] = '\0';
  s.o.db_path = long_db;
  assert_int_equal(rp__control_open(&s.o, -1, &s.control, &err), RP_E_TOO_LARGE);
  assert_int_equal(rp__control_take(long_db, &s.listeners, &fd, &err), RP_E_TOO_LARGE);
  assert_int_equal(rp__control_check(long_db, &err), 0); /* nobody can be there */
  side_done(&s);
}

/* Anybody who can read a folder can lock it: that must not matter. */
static void a_locked_folder_delays_nobody(void **state)
{
  struct side s;
  rp_error err = {0};
  (void)state;
  side_init(&s);
  int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  assert_int_equal(flock(fd, LOCK_EX), 0);
  assert_int_equal(rp__control_open(&s.o, -1, &s.control, &err), 0);
  side_done(&s);
  close(fd);
}

static void a_server_that_hangs_while_it_starts_is_told_of(void **state)
{
  struct side s;
  struct rp__lockfile l;
  char runs[100];
  rp_error err = {0};
  (void)state;
  side_init(&s);
  snprintf(runs, sizeof runs, "%s.runs", db);
  assert_int_equal(rp__lockfile_open(&l, runs, NULL), 0);
  assert_int_equal(rp__lockfile_take_slot(&l, RP_RUNS_SERVE_BYTE), 0);
  assert_int_equal(rp__control_open(&s.o, -1, &s.control, &err), RP_E_BUSY);
  assert_non_null(strstr(err.message, "starting on this database"));
  assert_non_null(strstr(err.hint, runs));
  rp__lockfile_close(&l);
  assert_int_equal(rp__control_open(&s.o, -1, &s.control, &err), 0);
  side_done(&s);
}

#define test(f) cmocka_unit_test_setup_teardown(f, make_folder, remove_folder)

int main(void)
{
  const struct CMUnitTest tests[] = {
      test(a_locked_folder_delays_nobody),
      test(a_server_that_hangs_while_it_starts_is_told_of),
      test(sockets_go_from_one_to_the_next),
      test(a_takeover_that_fails_changes_nothing),
      test(nobody_runs),
      test(a_stale_socket_is_replaced),
      test(the_second_server_is_refused),
      test(strange_clients_get_nothing),
      test(a_path_too_long_is_an_error),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
