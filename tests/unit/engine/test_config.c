/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/engine/rig.h"

#include <stdlib.h>

#include "base/file.h"
#include "engine/config.h"

static struct rp__config *load(const struct scratch *dir, const char *text, int want, rp_error *err)
{
  char path[SCRATCH_PATH];
  struct rp__config *c = NULL;
  assert_int_equal(rp__file_write(scratch_path(dir, "c.ini", path), text, strlen(text), err), 0);
  assert_int_equal(rp__config_load(path, &c, err), want);
  return c;
}

static void test_defaults(void **state)
{
  (void)state;
  struct rp__config *c;
  setenv("REPRISE_HOME", "/nonexistent", 1);
  assert_int_equal(rp__config_load(NULL, &c, NULL), 0);
  assert_true(rp__config_bool(c, NULL, RP_OPT_ENABLED));
  assert_int_equal(rp__config_ms(c, NULL, RP_OPT_HEARTBEAT_S), 10000);
  assert_true(rp__config_num(c, "x", RP_OPT_RELEVANCE_THRESHOLD) == 0.25);
  assert_string_equal(rp__config_text(c, NULL, RP_OPT_TEMPLATE), "coder");
  rp__config_free(c);
}

static void test_scopes_and_environment(void **state)
{
  rp_error err = {0};
  struct rp__config *c = load(
      *state, "; words\nheartbeat_s = 5\ndecay_rate = .5\n[scope nova]\nheartbeat_s=2\ntemplate = robot\n", 0, &err);
  assert_int_equal(rp__config_ms(c, NULL, RP_OPT_HEARTBEAT_S), 5000);
  assert_int_equal(rp__config_ms(c, "nova", RP_OPT_HEARTBEAT_S), 2000);
  assert_int_equal(rp__config_ms(c, "other", RP_OPT_HEARTBEAT_S), 5000);
  assert_true(rp__config_num(c, NULL, RP_OPT_DECAY_RATE) == 0.5);
  rp__config_free(c);
  c = load(*state, "[scope \"nova\"]\nheartbeat_s=2\n[scope  other ]\nheartbeat_s=3\n", 0, &err);
  assert_int_equal(rp__config_ms(c, "nova", RP_OPT_HEARTBEAT_S), 2000);
  assert_int_equal(rp__config_ms(c, "other", RP_OPT_HEARTBEAT_S), 3000);
  rp__config_free(c);
  setenv("REPRISE_HEARTBEAT_S", "7", 1);
  c = load(*state, "heartbeat_s = 5\n[scope nova]\nheartbeat_s=2\n", 0, &err);
  assert_int_equal(rp__config_ms(c, NULL, RP_OPT_HEARTBEAT_S), 7000);
  assert_int_equal(rp__config_ms(c, "nova", RP_OPT_HEARTBEAT_S), 2000);
  unsetenv("REPRISE_HEARTBEAT_S");
  rp__config_free(c);
}

static void test_refusals(void **state)
{
  static const char *const bad[][3] = {
      {"heartbeet_s = 5\n", "heartbeet_s", "unknown option"},
      {"heartbeat_s = soon\n", "heartbeat_s", "'soon' is no value for heartbeat_s: it must be a number, 0 or more"},
      {"heartbeat_s = -1\n", "heartbeat_s", "must be a number, 0 or more"},
      {"enabled = maybe\n", "enabled", "must be true or false"},
      {"[scope nova]\nlisten = :1\n", "listen", "is for all scopes and stands outside of any"},
      {"[scope nova]\nspill_bytes = 1\n", "spill_bytes", "stands outside of any"},
      {"template = poet\n", "template", "must be one of coder, robot"},
  };
  for (size_t i = 0; i < RP_ARRAY_SIZE(bad); i++) {
    rp_error err = {0};
    load(*state, bad[i][0], RP_E_CONFIG, &err);
    assert_string_equal(err.field, bad[i][1]);
    if (!strstr(err.message, bad[i][2])) fail_msg("%s", err.message);
  }
  rp_error err = {0};
  load(*state, "[server]\nx = 1\n", RP_E_CONFIG, &err);
  assert_non_null(strstr(err.message, "[server]"));
  static const char *const names[] = {
      "[scope no name]\nheartbeat_s=2\n", "[scope \"nova]\nheartbeat_s=2\n", "[scope \"\"]\nheartbeat_s=2\n",
      "[scope nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn]\nheartbeat_s=2\n"};
  for (size_t i = 0; i < RP_ARRAY_SIZE(names); i++) {
    load(*state, names[i], RP_E_CONFIG, &err);
    assert_non_null(strstr(err.message, "names no scope"));
  }
  load(*state, "no equals sign\n", RP_E_CONFIG, &err);
  assert_non_null(strstr(err.message, "line 1"));
}

/* What programs above the engine ask by name: a scope's own word, the file's, the default. */
static void test_one_by_name(void **state)
{
  static const char *const rows[][3] = {
      {NULL, "listen", "127.0.0.1:7377"}, {NULL, "leave_s", "7"},
      {"nova", "leave_s", "2"},           {"other", "leave_s", "7"},
      {NULL, "internal_secret_file", ""}, {"nova", "max_connections", "12000"},
  };
  rp_error err = {0};
  rp_engine *e;
  char path[SCRATCH_PATH], *value;
  rp__config_free(load(*state, "leave_s = 7\n[scope nova]\nleave_s = 2\n", 0, &err));
  rp_options o = {.db = "memory:", .config = scratch_path(*state, "c.ini", path), .short_lived = true};
  OK(rp_open(&o, &e, &err), err);
  for (size_t i = 0; i < RP_ARRAY_SIZE(rows); i++) {
    OK(rp_config_get(e, rows[i][0], rows[i][1], &value, &err), err);
    assert_string_equal(value, rows[i][2]);
    rp_free(value);
  }
  value = path;
  assert_int_equal(rp_config_get(e, NULL, "lisen", &value, &err), RP_E_USAGE);
  assert_non_null(strstr(err.message, "'lisen'"));
  assert_int_equal(rp_config_get(e, NULL, NULL, &value, &err), RP_E_USAGE);
  assert_ptr_equal(value, path);
  rp_close(e);
}

static int setup(void **state)
{
  static struct scratch s;
  *state = &s;
  return scratch_make_fast(&s);
}

static int teardown(void **state)
{
  scratch_remove(*state);
  return 0;
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_defaults),
      cmocka_unit_test(test_scopes_and_environment),
      cmocka_unit_test(test_refusals),
      cmocka_unit_test(test_one_by_name),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
