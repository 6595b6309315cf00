/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions of MCP clients over HTTP: kept alive between requests, ended when they are silent, never too many (B-04). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "server/background-work.h"
#include "server/http/mcp-clients.h"
#include "server/server.h"

#define CLIENTS 20

static int64_t now_ms = 1800000000000;

static int64_t wall(void *ctx)
{
  (void)ctx;
  return now_ms;
}

static int64_t no_boot(void *ctx)
{
  (void)ctx;
  return 0;
}

/* As much of a server as clients need. */
static int open_server(struct rp__server *srv, const char *abandon_s)
{
  static const rp_clock clock = {wall, no_boot, NULL};
  const rp_options o = {.db = "memory:", .clock = &clock, .short_lived = true};
  setenv("REPRISE_ABANDON_S", abandon_s, 1);
  setenv("REPRISE_HOME", "/nonexistent/reprise", 1);
  if (rp_open(&o, &srv->engine, NULL) || rp__registry_new(srv->engine, &srv->registry, NULL)) return -1;
  return rp__mcp_clients_new(srv, CLIENTS, &srv->mcp, NULL);
}

static void close_server(struct rp__server *srv)
{
  rp__mcp_clients_free(srv->mcp);
  rp__registry_free(srv->registry);
  rp_close(srv->engine);
}

static void start(struct rp__server *srv, const char *id)
{
  rp_session *s;
  const rp_start_options o = {.scope = "web", .id = id, .key = id, .channel = "mcp", .owner = RP_OWNER_NONE};
  assert_int_equal(rp_start(srv->engine, &o, &s, NULL), 0);
  rp_session_detach(s);
}

static bool alive(struct rp__server *srv, const char *id)
{
  bool is = false;
  assert_int_equal(rp_alive(srv->engine, id, &is, NULL), 0);
  return is;
}

static int on_ended(void *ctx, const rp_session_info *info)
{
  *(bool *)ctx = info->ended_at != 0;
  return 0;
}

static bool ended(struct rp__server *srv, const char *id)
{
  bool is = false;
  assert_int_equal(rp_show(srv->engine, id, on_ended, &is, NULL), 0);
  return is;
}

static void tend(struct rp__server *srv)
{
  rp_error err = {0};
  assert_int_equal(rp__heartbeats_send(srv, now_ms, &err), 0);
  assert_int_equal(rp__mcp_clients_end_silent(srv, &err), 0);
  assert_int_equal(rp_flush(srv->engine, NULL), 0);
}

static void who_was_here_is_kept_alive(void **state)
{
  (void)state;
  struct rp__server srv = {0};
  assert_int_equal(open_server(&srv, "3600"), 0);
  start(&srv, "kept");
  start(&srv, "left");
  start(&srv, "never");
  rp__mcp_clients_use(srv.mcp, "kept", NULL);
  rp__mcp_clients_use(srv.mcp, "left", NULL);
  rp__mcp_clients_use(srv.mcp, "nobody", NULL); /* is none: nothing happens */
  rp__mcp_clients_leave(srv.mcp, "left");
  for (int i = 0; i < 20; i++) {
    now_ms += 20000; /* less than a lease each, more than one together */
    tend(&srv);
  }
  assert_true(alive(&srv, "kept"));
  assert_false(alive(&srv, "left"));
  assert_false(alive(&srv, "never"));
  assert_false(ended(&srv, "kept"));
  close_server(&srv);
}

static void who_is_silent_ends_in_good_order(void **state)
{
  (void)state;
  struct rp__server srv = {0};
  assert_int_equal(open_server(&srv, "1"), 0);
  start(&srv, "silent");
  rp__mcp_clients_use(srv.mcp, "silent", NULL);
  tend(&srv);
  assert_false(ended(&srv, "silent"));
  /* Silence is counted by a clock of its own; bounded by the test's time limit. */
  while (!ended(&srv, "silent")) tend(&srv);
  tend(&srv);
  close_server(&srv);
}

static void one_that_others_ended_is_let_go(void **state)
{
  (void)state;
  struct rp__server srv = {0};
  struct rp__entry *e;
  assert_int_equal(open_server(&srv, "3600"), 0);
  start(&srv, "over");
  rp__mcp_clients_use(srv.mcp, "over", NULL);
  assert_int_equal(rp__registry_get(srv.registry, "over", &e, NULL), 0);
  assert_int_equal(rp_end(e->s, NULL, NULL), 0);
  rp__registry_put(srv.registry, e);
  now_ms += 20000;
  tend(&srv);
  assert_true(ended(&srv, "over"));
  close_server(&srv);
}

static void the_longest_silent_makes_room(void **state)
{
  (void)state;
  struct rp__server srv = {0};
  char id[32];
  assert_int_equal(open_server(&srv, "3600"), 0);
  start(&srv, "first");
  rp__mcp_clients_use(srv.mcp, "first", NULL);
  for (int i = 0; i < CLIENTS; i++) {
    snprintf(id, sizeof id, "s%d", i);
    start(&srv, id);
    rp__mcp_clients_use(srv.mcp, id, NULL);
  }
  for (int i = 0; i < 3; i++) {
    now_ms += 20000;
    tend(&srv);
  }
  assert_false(alive(&srv, "first"));
  assert_true(alive(&srv, "s0") && alive(&srv, id));
  close_server(&srv);
}

/* A client that begins anew ends what it had, and nobody else's. */
static void who_comes_again_ends_what_it_left(void **state)
{
  (void)state;
  struct rp__server srv = {0};
  assert_int_equal(open_server(&srv, "3600"), 0);
  static const char *const ids[] = {"old", "busy", "other", "modern"};
  for (size_t i = 0; i < RP_ARRAY_SIZE(ids); i++) start(&srv, ids[i]);
  rp__mcp_clients_use(srv.mcp, "old", "editor");
  rp__mcp_clients_use(srv.mcp, "old", NULL); /* later requests need not say it */
  rp__mcp_clients_use(srv.mcp, "other", "inspector");
  rp__mcp_clients_use(srv.mcp, "modern", NULL);
  rp__mcp_clients_again(srv.mcp, "elsewhere", "editor");
  rp__mcp_clients_again(srv.mcp, "web", ""); /* who has no name is nobody's */
  for (size_t i = 0; i < RP_ARRAY_SIZE(ids); i++) assert_false(ended(&srv, ids[i]));
  rp__mcp_clients_again(srv.mcp, "web", "editor");
  assert_true(ended(&srv, "old"));
  assert_false(ended(&srv, "other") || ended(&srv, "modern") || ended(&srv, "busy"));
  close_server(&srv);
}

static void a_stop_ends_them_in_good_order(void **state)
{
  (void)state;
  struct rp__server srv = {0};
  assert_int_equal(open_server(&srv, "3600"), 0);
  start(&srv, "one");
  start(&srv, "two");
  rp__mcp_clients_use(srv.mcp, "one", NULL);
  rp__mcp_clients_use(srv.mcp, "two", NULL);
  rp__mcp_clients_stop(srv.mcp, 0); /* no time for it: they are let go */
  assert_false(ended(&srv, "one") || ended(&srv, "two"));
  rp__mcp_clients_stop(srv.mcp, 60000);
  assert_true(ended(&srv, "one") && ended(&srv, "two"));
  close_server(&srv);
}

int main(void)
{
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(who_was_here_is_kept_alive),        cmocka_unit_test(who_is_silent_ends_in_good_order),
      cmocka_unit_test(one_that_others_ended_is_let_go),   cmocka_unit_test(the_longest_silent_makes_room),
      cmocka_unit_test(who_comes_again_ends_what_it_left), cmocka_unit_test(a_stop_ends_them_in_good_order),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
