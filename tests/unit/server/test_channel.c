/* SPDX-License-Identifier: Apache-2.0 */
/* Who is joined to which session, and what becomes of it when the last one leaves (L-02, L-05, L-08). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "server/channel.h"

#define LONG_MS 3600000

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
  assert_int_equal(rp__registry_new(srv.engine, &srv.registry, NULL), 0);
  assert_int_equal(rp__loop_new(&srv.loop, NULL), 0);
  assert_int_equal(rp__loop_start(srv.loop, NULL), 0);
  assert_int_equal(rp__spill_new(&srv, &srv.spill, NULL), 0);
  assert_int_equal(rp__channels_new(&srv, &srv.channels, NULL), 0);
  return 0;
}

static int tear_down(void **state)
{
  (void)state;
  rp__loop_stop(srv.loop);
  rp__channels_free(srv.channels);
  rp__spill_free(srv.spill);
  rp__registry_free(srv.registry);
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
  assert_int_equal(rp__member_enter(srv.channels->members, e, rp__entry_id(e), true, &m, NULL), 0);
  return m;
}

static void leave(struct rp__member *m, bool goodbye)
{
  rp__member_exit(srv.channels->members, m, true, goodbye);
}

static int on_shown(void *ctx, const rp_session_info *info)
{
  snprintf(ctx, 16, "%s", info->status);
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
  assert_true(rp__members_find_key(srv.channels->members, "s", "a", id));
  rp__member_closed(srv.channels->members, m);
  assert_false(rp__members_find_key(srv.channels->members, "s", "a", id)); /* L-05: never by key */
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
  assert_true(rp__members_find_key(srv.channels->members, "s", "a", id));
  assert_string_equal(id, "a");
  assert_false(rp__members_find_key(srv.channels->members, "t", "a", id));
  assert_false(rp__members_find_key(srv.channels->members, "s", "b", id));
  leave(m, false);
  assert_false(rp__members_find_key(srv.channels->members, "s", "a", id));
  rp__registry_put(srv.registry, e);
}

/* More than the job looks after in one go. */
static void many_leave_at_once(void **state)
{
  (void)state;
  enum { MANY = 600 };
  struct rp__entry *e[MANY];
  char id[16];
  for (int i = 0; i < MANY; i++) {
    snprintf(id, sizeof id, "m%d", i);
    e[i] = started(id, "channel");
    leave(enter(e[i]), true);
  }
  run_leave();
  for (int i = 0; i < MANY; i++) {
    assert_string_equal(status_of(rp__entry_id(e[i])), "closed");
    rp__registry_put(srv.registry, e[i]);
  }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(the_last_goodbye_closes),
      TEST(a_rejoin_within_the_grace_keeps_it),
      TEST(a_lost_connection_closes_nothing),
      TEST(a_watcher_closes_nobody_elses_session),
      TEST(what_was_closed_by_word_is_not_closed_again),
      TEST(keys_belong_to_a_scope),
      TEST(many_leave_at_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
