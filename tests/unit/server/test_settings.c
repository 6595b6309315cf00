/* SPDX-License-Identifier: Apache-2.0 */
/* The server's part of the configuration: defaults, overrides, bounds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "server/settings.h"

static int load(struct rp__scope_config *s, const char *name, const char *value, rp_error *err)
{
  rp_engine *e;
  if (name) setenv(name, value, 1);
  assert_int_equal(rp_open(&(rp_options){.db = "memory:", .short_lived = true}, &e, NULL), 0);
  int rc = rp__server_settings_load(s, e, err);
  rp_close(e);
  if (name) unsetenv(name);
  return rc;
}

static void defaults_are_those_of_the_table(void **state)
{
  struct rp__scope_config s;
  (void)state;
  assert_int_equal(load(&s, NULL, NULL, NULL), 0);
  assert_string_equal(s.listen, "127.0.0.1:7377");
  assert_string_equal(s.allowed_origins, "");
  assert_false(s.remote);
  assert_in_range(s.http_threads, 1, 8);
  assert_int_equal(s.max_connections, 12000);
  assert_int_equal(s.max_request_bytes, 16 << 20);
  assert_int_equal(s.queue_bytes, 1 << 20);
  assert_int_equal(s.stall_ms, 30000);
  assert_int_equal(s.stop_ms, 25000);
  assert_int_equal(s.leave_ms, 5000);
  assert_int_equal(s.reconnect_ms, 120000);
  assert_true(s.client_rate == 0);
  rp__server_settings_done(&s);
  rp__server_settings_done(&s);
}

/* What the table of the section says holds there, unless it is out of bounds. */
static void a_scope_has_times_of_its_own(void **state)
{
  struct rp__scope_config s;
  rp_engine *e;
  char path[] = "/tmp/rp-settings-XXXXXX";
  const char ini[] = "leave_s = 7\n[scope nova]\nleave_s = 0.5\nevict_s = 1\n[scope odd]\nleave_s = 99999999\n";
  (void)state;
  int fd = mkstemp(path);
  assert_int_equal(write(fd, ini, sizeof ini - 1), sizeof ini - 1);
  close(fd);
  assert_int_equal(rp_open(&(rp_options){.db = "memory:", .config = path, .short_lived = true}, &e, NULL), 0);
  assert_int_equal(rp__server_settings_load(&s, e, NULL), 0);
  assert_int_equal(rp__server_settings_ms(&s, e, "nova", "leave_s"), 500);
  assert_int_equal(rp__server_settings_ms(&s, e, "nova", "evict_s"), 1000);
  assert_int_equal(rp__server_settings_ms(&s, e, "nova", "reconnect_s"), 120000);
  assert_int_equal(rp__server_settings_ms(&s, e, "odd", "leave_s"), 7000);
  assert_int_equal(rp__server_settings_ms(&s, e, "other", "leave_s"), 7000);
  rp__server_settings_done(&s);
  rp_close(e);
  unlink(path);
}

static void what_is_configured_counts(void **state)
{
  struct rp__scope_config s;
  (void)state;
  assert_int_equal(load(&s, "REPRISE_LEAVE_S", "0.25", NULL), 0);
  assert_int_equal(s.leave_ms, 250);
  rp__server_settings_done(&s);
  assert_int_equal(load(&s, "REPRISE_HTTP_THREADS", "32", NULL), 0);
  assert_int_equal(s.http_threads, 32);
  rp__server_settings_done(&s);
  assert_int_equal(load(&s, "REPRISE_REMOTE", "yes", NULL), 0);
  assert_true(s.remote);
  rp__server_settings_done(&s);
  assert_int_equal(load(&s, "REPRISE_CLIENT_RATE", "2.5", NULL), 0);
  assert_true(s.client_rate == 2.5);
  rp__server_settings_done(&s);
}

/* Everybody on one machine shares an address; from elsewhere one address is one client. */
static void connections_per_address_depend_on_who_can_reach_us(void **state)
{
  struct rp__scope_config s;
  (void)state;
  assert_int_equal(load(&s, NULL, NULL, NULL), 0);
  rp__server_settings_reachable(&s, true);
  assert_int_equal(s.max_per_address, 0);
  rp__server_settings_reachable(&s, false);
  assert_int_equal(s.max_per_address, 256);
  rp__server_settings_done(&s);
  assert_int_equal(load(&s, "REPRISE_MAX_PER_ADDRESS", "7", NULL), 0);
  rp__server_settings_reachable(&s, false);
  assert_int_equal(s.max_per_address, 7);
  rp__server_settings_done(&s);
}

static void what_is_out_of_bounds_is_named(void **state)
{
  static const char *const bad[][3] = {
      {"REPRISE_HTTP_THREADS", "257", "http_threads"},         {"REPRISE_HTTP_THREADS", "1.5", "http_threads"},
      {"REPRISE_MAX_CONNECTIONS", "0", "max_connections"},     {"REPRISE_MAX_REQUEST_BYTES", "1", "max_request_bytes"},
      {"REPRISE_QUEUE_BYTES", "99999999999", "queue_bytes"},   {"REPRISE_REQUEST_S", "0", "request_s"},
      {"REPRISE_IDLE_CONNECTION_S", "0", "idle_connection_s"}, {"REPRISE_STALL_S", "0", "stall_s"},
  };
  (void)state;
  for (size_t i = 0; i < RP_ARRAY_SIZE(bad); i++) {
    struct rp__scope_config s = {.http_threads = -1};
    rp_error err = {0};
    assert_int_equal(load(&s, bad[i][0], bad[i][1], &err), RP_E_CONFIG);
    assert_string_equal(err.field, bad[i][2]);
    assert_int_equal(s.http_threads, -1); /* written only on success */
  }
}

int main(void)
{
  setenv("REPRISE_HOME", "/nonexistent/reprise", 1);
  unsetenv("REPRISE_CONFIG");
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(defaults_are_those_of_the_table),
      cmocka_unit_test(a_scope_has_times_of_its_own),
      cmocka_unit_test(what_is_configured_counts),
      cmocka_unit_test(connections_per_address_depend_on_who_can_reach_us),
      cmocka_unit_test(what_is_out_of_bounds_is_named),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
