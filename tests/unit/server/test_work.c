/* SPDX-License-Identifier: Apache-2.0 */
/* Background work: jobs come again and again, a failing one fails alone, and the watchdog speaks only for the living.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cmocka.h>

#include "server/server.h"

#define DEADLINE_MS 20000

static atomic_int quick_runs, failing_runs, slow_runs;
static atomic_bool broken;

static int quick(struct rp__server *srv, rp_error *err)
{
  (void)srv, (void)err;
  atomic_fetch_add(&quick_runs, 1);
  return 0;
}

static int failing(struct rp__server *srv, rp_error *err)
{
  (void)srv;
  atomic_fetch_add(&failing_runs, 1);
  return atomic_load(&broken) ? rp__fail(err, RP_E_IO, "it is broken") : 0;
}

static int slow(struct rp__server *srv, rp_error *err)
{
  (void)srv, (void)err;
  atomic_fetch_add(&slow_runs, 1);
  return 0;
}

static const struct rp__work_job jobs[] = {{"quick", 2, quick}, {"failing", 2, failing}, {"slow", 3600000, slow}, {0}};

static void wait_for(atomic_int *n, int many)
{
  for (int i = 0; atomic_load(n) < many; i++) {
    assert_true(i < DEADLINE_MS);
    nanosleep(&(struct timespec){0, 1000000}, NULL);
  }
}

static char text[8192];
static const char *read_log(int fd)
{
  ssize_t n = read(fd, text, sizeof text - 1);
  text[n > 0 ? n : 0] = '\0';
  return text;
}

static void jobs_run_apart_from_each_other(void **state)
{
  struct rp__server srv = {0};
  struct rp__work *w = NULL;
  int fds[2];
  (void)state;
  assert_int_equal(pipe(fds), 0);
  rp__slog_init(&srv.log);
  srv.log.fd = fds[1];
  atomic_store(&broken, true);
  assert_int_equal(rp__work_new(&srv, jobs, &w, NULL), 0);
  assert_int_equal(rp__work_start(w, NULL), 0);
  wait_for(&quick_runs, 5);
  wait_for(&failing_runs, 5);
  assert_int_equal(atomic_load(&slow_runs), 0); /* its time is far off */
  rp__work_poke(w, "slow");
  rp__work_poke(w, "nobody");
  wait_for(&slow_runs, 1);
  atomic_store(&broken, false);
  wait_for(&failing_runs, atomic_load(&failing_runs) + 2);
  rp__work_stop(w);
  struct rp__buf out RP_AUTOBUF = RP_BUF(65536);
  rp__work_metrics(w, &out);
  assert_int_equal(out.err, 0);
  assert_non_null(strstr(out.p, "reprise_server_work_runs_total{job=\"slow\",result=\"ok\"} 1\n"));
  assert_non_null(strstr(out.p, "reprise_server_work_runs_total{job=\"quick\",result=\"failed\"} 0\n"));
  assert_null(strstr(out.p, "reprise_server_work_runs_total{job=\"failing\",result=\"failed\"} 0\n"));
  assert_non_null(strstr(out.p, "reprise_server_work_seconds_total{job=\"quick\"} "));
  int quick_before = atomic_load(&quick_runs);
  rp__work_free(w);
  assert_int_equal(atomic_load(&quick_runs), quick_before);
  /* One line when it begins to fail, one when it is over, however often it failed. */
  const char *log = read_log(fds[0]), *first = strstr(log, "event=work_failing job=failing error=\"it is broken\"");
  assert_non_null(first);
  assert_null(strstr(first + 20, "work_failing"));
  assert_non_null(strstr(first, "event=work_recovered job=failing"));
  close(fds[0]);
  close(fds[1]);
  rp__slog_done(&srv.log);
}

/* ---- a slow job and a fast one ---- */

static pthread_mutex_t stuck_gate = PTHREAD_MUTEX_INITIALIZER;
static atomic_int stuck_runs, batches;

static int stuck(struct rp__server *srv, rp_error *err)
{
  (void)srv, (void)err;
  atomic_fetch_add(&stuck_runs, 1);
  pthread_mutex_lock(&stuck_gate);
  pthread_mutex_unlock(&stuck_gate);
  return 0;
}

static int piecemeal(struct rp__server *srv, rp_error *err)
{
  (void)srv, (void)err;
  return atomic_fetch_add(&batches, 1) < 9 ? RP_WORK_AGAIN : 0;
}

static void nobody_waits_for_a_slow_job(void **state)
{
  static const struct rp__work_job table[] = {
      {"stuck", 1, stuck}, {"quick", 2, quick}, {"piecemeal", 3600000, piecemeal}, {0}};
  struct rp__server srv = {0};
  struct rp__work *w = NULL;
  (void)state;
  rp__slog_init(&srv.log);
  pthread_mutex_lock(&stuck_gate);
  assert_int_equal(rp__work_new(&srv, table, &w, NULL), 0);
  assert_int_equal(rp__work_start(w, NULL), 0);
  wait_for(&stuck_runs, 1);
  wait_for(&quick_runs, atomic_load(&quick_runs) + 20);
  assert_int_equal(atomic_load(&stuck_runs), 1);
  rp__work_poke(w, "piecemeal");
  wait_for(&batches, 10); /* an hour apart, were it not that there is more */
  pthread_mutex_unlock(&stuck_gate);
  rp__work_stop(w);
  struct rp__buf out RP_AUTOBUF = RP_BUF(65536);
  rp__work_metrics(w, &out);
  assert_non_null(strstr(out.p, "reprise_server_work_runs_total{job=\"piecemeal\",result=\"ok\"} 10\n"));
  assert_non_null(strstr(out.p, "reprise_server_work_runs_total{job=\"piecemeal\",result=\"failed\"} 0\n"));
  rp__work_free(w);
  rp__slog_done(&srv.log);
}

static void the_table_is_whole(void **state)
{
  size_t n = 0;
  (void)state;
  for (; rp__work_jobs[n].name; n++) {
    assert_non_null(rp__work_jobs[n].run);
    assert_in_range(rp__work_jobs[n].period_ms, 100, 60000);
  }
  assert_in_range(n, 5, 16);
}

/* ---- the watchdog ---- */

static int listen_for_notices(char path[128])
{
  struct sockaddr_un a = {.sun_family = AF_UNIX};
  int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
  snprintf(a.sun_path + 1, sizeof a.sun_path - 1, "rp-test-work-%d", (int)getpid());
  assert_int_equal(
      bind(fd, (struct sockaddr *)&a, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(a.sun_path + 1))),
      0);
  snprintf(path, 128, "@%s", a.sun_path + 1);
  return fd;
}

static int count_notices(int fd)
{
  char got[64];
  int n = 0;
  for (ssize_t len; (len = recv(fd, got, sizeof got, 0)) > 0; n++) assert_memory_equal(got, "WATCHDOG=1", (size_t)len);
  return n;
}

struct gate {
  struct rp__job job;
  struct rp__task task;
  pthread_mutex_t lock;
};

static void hold_loop(struct rp__job *job)
{
  struct gate *g = (struct gate *)job;
  pthread_mutex_lock(&g->lock);
  pthread_mutex_unlock(&g->lock);
}

static void hold_pool(struct rp__task *t)
{
  struct gate *g = (struct gate *)((char *)t - offsetof(struct gate, task));
  pthread_mutex_lock(&g->lock);
  pthread_mutex_unlock(&g->lock);
}

static void run_until(struct rp__server *srv, int rc)
{
  rp_error err = {0};
  for (int i = 0; rp__watchdog_run(srv, &err) != rc; i++) {
    assert_true(i < DEADLINE_MS);
    nanosleep(&(struct timespec){0, 1000000}, NULL);
  }
}

static void the_watchdog_is_silent_when_the_loop_or_pool_hangs(void **state)
{
  struct rp__server srv = {0};
  struct gate gate = {.job.fn = hold_loop, .task.fn = hold_pool, .lock = PTHREAD_MUTEX_INITIALIZER};
  char path[128];
  int fd = listen_for_notices(path);
  (void)state;
  setenv("NOTIFY_SOCKET", path, 1);
  setenv("WATCHDOG_USEC", "3000", 1);
  assert_int_equal(rp__loop_new(&srv.loop, NULL), 0);
  assert_int_equal(rp__loop_start(srv.loop, NULL), 0);
  assert_int_equal(rp__pool_new(1, &srv.pool, NULL), 0);
  assert_int_equal(rp__watchdog_new(&srv.watchdog, NULL), 0);
  run_until(&srv, 0);
  assert_int_equal(count_notices(fd), 1);

  pthread_mutex_lock(&gate.lock);
  assert_true(rp__loop_post(srv.loop, &gate.job));
  run_until(&srv, RP_E_BUSY);
  count_notices(fd);
  for (int i = 0; i < 5; i++) assert_int_equal(rp__watchdog_run(&srv, NULL), RP_E_BUSY);
  assert_int_equal(count_notices(fd), 0);
  pthread_mutex_unlock(&gate.lock);
  run_until(&srv, 0);

  pthread_mutex_lock(&gate.lock);
  assert_true(rp__pool_post(srv.pool, &gate.task));
  while (rp__pool_waiting(srv.pool)) nanosleep(&(struct timespec){0, 1000000}, NULL);
  struct gate second = {.task.fn = hold_pool, .lock = PTHREAD_MUTEX_INITIALIZER};
  assert_true(rp__pool_post(srv.pool, &second.task));
  run_until(&srv, RP_E_BUSY); /* one waits and none begins */
  pthread_mutex_unlock(&gate.lock);
  rp__pool_free(srv.pool);
  rp__loop_free(srv.loop);
  rp__watchdog_free(srv.watchdog);
  unsetenv("NOTIFY_SOCKET");
  unsetenv("WATCHDOG_USEC");
  close(fd);
}

static void the_watchdog_is_for_whom_it_was_asked(void **state)
{
  struct rp__watchdog *d;
  struct rp__server srv = {0};
  (void)state;
  assert_int_equal(rp__watchdog_new(&d, NULL), 0);
  assert_null(d);
  setenv("WATCHDOG_USEC", "30000000", 1);
  setenv("WATCHDOG_PID", "1", 1);
  assert_int_equal(rp__watchdog_new(&d, NULL), 0);
  assert_null(d);
  unsetenv("WATCHDOG_PID");
  setenv("WATCHDOG_USEC", "soon", 1);
  assert_int_equal(rp__watchdog_new(&d, NULL), 0);
  assert_null(d);
  unsetenv("WATCHDOG_USEC");
  assert_int_equal(rp__watchdog_run(&srv, NULL), 0);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(jobs_run_apart_from_each_other),
      cmocka_unit_test(nobody_waits_for_a_slow_job),
      cmocka_unit_test(the_table_is_whole),
      cmocka_unit_test(the_watchdog_is_silent_when_the_loop_or_pool_hangs),
      cmocka_unit_test(the_watchdog_is_for_whom_it_was_asked),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
