/* SPDX-License-Identifier: Apache-2.0 */
/* Who is joined to which session, and what becomes of it when the last one leaves (L-02, L-05, L-08). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <cmocka.h>
#include <pthread.h>

#include "base/clock.h"
#include "server/channel/channel.h"

#define LONG_MS 3600000
#define DEADLINE_MS 60000

/* As much of a server as members need. */
static struct rp__server srv;

static int set_up(void **state)
{
  (void)state;
  rp_options o = {.db = "memory:"};
  memset(&srv, 0, sizeof srv);
  srv.clock = rp__system_clock;
  rp__slog_init(&srv.log);
  assert_int_equal(rp_open(&o, &srv.engine, NULL), 0);
  assert_int_equal(rp__pool_new(RP_POOL_THREADS, &srv.pool, NULL), 0);
  assert_int_equal(rp__registry_new(srv.engine, &srv.registry, NULL), 0);
  assert_int_equal(rp__loop_new(&srv.loop, NULL), 0);
  assert_int_equal(rp__loop_start(srv.loop, NULL), 0);
  assert_int_equal(rp__channels_new(&srv, &srv.channels, NULL), 0);
  return 0;
}

static int tear_down(void **state)
{
  (void)state;
  rp__pool_stop(srv.pool);
  rp__loop_stop(srv.loop);
  rp__channels_free(srv.channels);
  rp_flush(srv.engine, NULL);
  rp__registry_free(srv.registry);
  rp__pool_free(srv.pool);
  rp__loop_free(srv.loop);
  rp_close(srv.engine);
  rp__slog_done(&srv.log);
  return 0;
}

static struct rp__entry *started(const char *id, const char *channel)
{
  rp_start_options o = {.scope = "s", .id = id, .key = id, .channel = channel, .owner = RP_OWNER_NONE};
  struct rp__entry *e = NULL;
  rp_session *s = NULL;
  assert_int_equal(rp_start(srv.engine, &o, &s, NULL), 0);
  rp_session_detach(s);
  assert_int_equal(rp__registry_get(srv.registry, id, &e, NULL), 0);
  return e;
}

static struct rp__member *enter(struct rp__entry *e)
{
  struct rp__member *m = NULL;
  assert_int_equal(rp__member_enter(srv.channels, e, e->id, true, &m, NULL), 0);
  return m;
}

static void leave(struct rp__member *m, bool goodbye)
{
  rp__member_exit(m, true, goodbye);
}

static int on_shown(void *ctx, const rp_session_info *info)
{
  snprintf(ctx, 16, "%s", rp_session_status_name(info->status));
  return 0;
}

static const char *status_of(const char *id)
{
  static char status[16];
  assert_int_equal(rp_show(srv.engine, id, on_shown, status, NULL), 0);
  return status;
}

static void run_leave(void)
{
  assert_int_equal(rp__channels_leave(&srv, NULL), 0);
  for (int i = 0; rp__leaving_closers(srv.channels->leaving); i++) {
    assert_true(i < DEADLINE_MS);
    nanosleep(&(struct timespec){0, 1000000}, NULL);
  }
}

static size_t count_leaving(void)
{
  return rp_presence_count(srv.engine, RP_PRESENCE_CHANNEL, 0).ending;
}

static bool find_key(const char *scope, const char *key, char ret_id[RP_ID_MAX + 1])
{
  const rp_presence_query q = {.kind = RP_PRESENCE_CHANNEL, .scope = scope, .name = key};
  rp_presence_row row;
  bool found = rp_presence_find(srv.engine, &q, &row, NULL);
  if (found) memcpy(ret_id, row.session, sizeof row.session);
  return found;
}

static void the_last_goodbye_closes(void **state)
{
  (void)state;
  struct rp__entry *e = started("a", "channel");
  struct rp__member *one = enter(e), *two = enter(e);
  assert_ptr_equal(one, two);
  leave(one, true);
  run_leave();
  assert_string_not_equal(status_of("a"), "closed"); /* somebody is there */
  leave(two, true);
  run_leave();
  assert_string_equal(status_of("a"), "closed");
  rp__registry_put(srv.registry, e);
}

/* L-02: a join may say how long; what is due first is closed first, whoever left first. */
static void a_member_may_ask_for_another_grace(void **state)
{
  (void)state;
  struct rp__entry *kept = started("kept", "channel"), *usual = started("usual", "channel"),
                   *hasty = started("hasty", "channel");
  struct rp__member *m = enter(kept), *two = enter(kept);
  rp_presence_keep(srv.engine, m->presence, LONG_MS);
  rp_presence_keep(srv.engine, two->presence, 0);
  leave(m, true);
  leave(two, true);
  leave(enter(usual), true);
  run_leave();
  assert_string_equal(status_of("usual"), "closed");
  assert_string_not_equal(status_of("kept"), "closed"); /* the longest counts */
  srv.set.leave_ms = LONG_MS;
  m = enter(hasty);
  rp_presence_keep(srv.engine, m->presence, 0);
  leave(m, true);
  run_leave();
  assert_string_equal(status_of("hasty"), "closed");
  assert_string_not_equal(status_of("kept"), "closed");
  assert_int_equal(count_leaving(), 1);
  rp__registry_put(srv.registry, kept);
  rp__registry_put(srv.registry, usual);
  rp__registry_put(srv.registry, hasty);
}

static void a_rejoin_within_the_grace_keeps_it(void **state)
{
  (void)state;
  srv.set.leave_ms = LONG_MS;
  struct rp__entry *e = started("a", "channel");
  leave(enter(e), true);
  run_leave();
  assert_string_not_equal(status_of("a"), "closed"); /* the grace is not over */
  srv.set.leave_ms = 0;
  struct rp__member *back = enter(e);
  run_leave();
  assert_string_not_equal(status_of("a"), "closed"); /* nor is it while somebody is back */
  leave(back, true);
  run_leave();
  assert_string_equal(status_of("a"), "closed");
  rp__registry_put(srv.registry, e);
}

static void a_lost_connection_closes_nothing(void **state)
{
  (void)state;
  struct rp__entry *e = started("a", "channel");
  leave(enter(e), false);
  run_leave();
  assert_string_not_equal(status_of("a"), "closed");
  rp__registry_put(srv.registry, e);
}

static void a_watcher_closes_nobody_elses_session(void **state)
{
  (void)state;
  struct rp__entry *e = started("a", "cli");
  leave(enter(e), true);
  run_leave();
  assert_string_not_equal(status_of("a"), "closed");
  rp__registry_put(srv.registry, e);
}

static void what_was_closed_by_word_is_not_closed_again(void **state)
{
  (void)state;
  struct rp__entry *e = started("a", "channel");
  struct rp__member *m = enter(e);
  char id[RP_ID_MAX + 1];
  assert_true(find_key("s", "a", id));
  rp_presence_set_ended(srv.engine, m->presence, true);
  assert_false(find_key("s", "a", id)); /* L-05: never by key */
  leave(m, true);
  run_leave();
  assert_string_not_equal(status_of("a"), "closed"); /* nobody closed it but in word */
  rp__registry_put(srv.registry, e);
}

static void keys_belong_to_a_scope(void **state)
{
  (void)state;
  struct rp__entry *e = started("a", "channel");
  struct rp__member *m = enter(e);
  char id[RP_ID_MAX + 1] = "";
  assert_true(find_key("s", "a", id));
  assert_string_equal(id, "a");
  assert_false(find_key("t", "a", id));
  assert_false(find_key("s", "b", id));
  leave(m, false);
  assert_false(find_key("s", "a", id));
  rp__registry_put(srv.registry, e);
}

enum { MANY = 600 };

static void start_many(struct rp__entry *e[MANY])
{
  char id[16];
  for (int i = 0; i < MANY; i++) {
    snprintf(id, sizeof id, "m%d", i);
    e[i] = started(id, "channel");
    leave(enter(e[i]), true);
  }
}

static size_t count_closed(struct rp__entry *e[MANY])
{
  size_t n = 0;
  for (int i = 0; i < MANY; i++) n += strcmp(status_of(e[i]->id), "closed") == 0;
  return n;
}

static void put_many(struct rp__entry *e[MANY])
{
  for (int i = 0; i < MANY; i++) rp__registry_put(srv.registry, e[i]);
}

static void many_leave_at_once(void **state)
{
  (void)state;
  struct rp__entry *e[MANY];
  start_many(e);
  assert_int_equal(count_leaving(), MANY);
  run_leave();
  assert_int_equal(count_closed(e), MANY);
  assert_int_equal(count_leaving(), 0);
  put_many(e);
}

struct held {
  struct rp__task task;
  pthread_mutex_t lock;
};

static void hold(struct rp__task *t)
{
  struct held *h = (struct held *)t;
  pthread_mutex_lock(&h->lock);
  pthread_mutex_unlock(&h->lock);
}

/* The job hands the work over, and waits neither for it nor for the pool. */
static void the_job_waits_for_nothing(void **state)
{
  (void)state;
  struct rp__entry *e[MANY];
  struct held held[RP_POOL_THREADS];
  for (int i = 0; i < RP_POOL_THREADS; i++) {
    held[i] = (struct held){.task.fn = hold, .lock = PTHREAD_MUTEX_INITIALIZER};
    pthread_mutex_lock(&held[i].lock);
    assert_true(rp__pool_post(srv.pool, &held[i].task));
  }
  start_many(e);
  for (int i = 0; i < 3; i++) assert_int_equal(rp__channels_leave(&srv, NULL), 0);
  assert_int_equal(count_closed(e), 0);
  assert_in_range(rp__leaving_closers(srv.channels->leaving), 1, RP_POOL_THREADS - 1);
  for (int i = 0; i < RP_POOL_THREADS; i++) pthread_mutex_unlock(&held[i].lock);
  run_leave();
  assert_int_equal(count_closed(e), MANY);
  put_many(e);
}

static void the_end_closes_what_has_grace_left(void **state)
{
  (void)state;
  struct rp__entry *e[MANY];
  srv.set.leave_ms = LONG_MS;
  start_many(e);
  assert_int_equal(rp__channels_leave_now(&srv, true, DEADLINE_MS), 0);
  assert_int_equal(count_closed(e), MANY);
  put_many(e);
}

/* Another server has those who come back: only what is due is closed. */
static void a_takeover_closes_what_is_due(void **state)
{
  (void)state;
  struct rp__entry *due = started("due", "channel"), *e[MANY];
  leave(enter(due), true);
  srv.set.leave_ms = LONG_MS;
  start_many(e);
  assert_int_equal(rp__channels_leave_now(&srv, false, DEADLINE_MS), MANY);
  assert_string_equal(status_of("due"), "closed");
  assert_int_equal(count_closed(e), 0);
  put_many(e);
  rp__registry_put(srv.registry, due);
}

/* What is not closed in time is counted, and nobody is at it any more. */
static void the_end_has_little_time(void **state)
{
  (void)state;
  struct rp__entry *e[MANY];
  start_many(e);
  size_t left = rp__channels_leave_now(&srv, true, 1);
  assert_int_equal(rp__leaving_closers(srv.channels->leaving), 0);
  assert_int_equal(count_closed(e) + left, MANY);
  put_many(e);
}

static void the_end_has_no_time(void **state)
{
  (void)state;
  struct rp__entry *e[MANY];
  start_many(e);
  assert_int_equal(rp__channels_leave_now(&srv, true, 0), MANY);
  assert_int_equal(count_closed(e), 0);
  put_many(e);
}

/* ---- how long a socket may live ---- */

struct opening {
  struct rp__job job;
  struct rp__identity who;
  int fd;
};

static void open_socket(struct rp__job *job)
{
  struct opening *o = (struct opening *)job;
  assert_int_equal(rp__socket_open(srv.channels, &o->who, o->fd, (struct rp__str){"", 0}, NULL), 0);
}

/* The code that a socket of such a client is closed with. */
static int closed_with(enum rp__who who)
{
  struct opening o = {.job.fn = open_socket, .who.who = who};
  const struct timeval most = {.tv_sec = DEADLINE_MS / 1000};
  unsigned char got[128];
  int fds[2];
  assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
  assert_int_equal(fcntl(fds[0], F_SETFL, O_NONBLOCK), 0);
  setsockopt(fds[1], SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most);
  o.fd = fds[0];
  assert_true(rp__loop_post(srv.loop, &o.job));
  ssize_t n = recv(fds[1], got, sizeof got, 0);
  close(fds[1]);
  assert_true(n >= 4);
  assert_int_equal(got[0], 0x88);
  return got[2] << 8 | got[3];
}

/* A token is checked anew after a while; a session's, that opened nothing, is wrong. */
static void sockets_of_tokens_end(void **state)
{
  (void)state;
  srv.set.queue_bytes = 65536;
  srv.set.stall_ms = LONG_MS;
  srv.channels->token_ms = srv.channels->prove_ms = 1;
  assert_int_equal(closed_with(RP_WHO_TOKEN), 1012);
  assert_int_equal(closed_with(RP_WHO_SESSION), 1008);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(the_last_goodbye_closes),
      TEST(a_member_may_ask_for_another_grace),
      TEST(a_rejoin_within_the_grace_keeps_it),
      TEST(a_lost_connection_closes_nothing),
      TEST(a_watcher_closes_nobody_elses_session),
      TEST(what_was_closed_by_word_is_not_closed_again),
      TEST(keys_belong_to_a_scope),
      TEST(many_leave_at_once),
      TEST(the_job_waits_for_nothing),
      TEST(the_end_closes_what_has_grace_left),
      TEST(a_takeover_closes_what_is_due),
      TEST(the_end_has_little_time),
      TEST(the_end_has_no_time),
      TEST(sockets_of_tokens_end),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
