/* SPDX-License-Identifier: Apache-2.0 */
/* Configuration: defaults, files, scopes, variables, refusals. */
#include "unit/engine/rig.h"

#include <stdlib.h>

#include "base/file.h"
#include "engine/engine.h"

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
  const struct rp__scope_config *v = rp__config_of(c, NULL);
  assert_true(v->enabled);
  assert_int_equal(v->heartbeat_ms, 10000);
  assert_int_equal(v->checkpoint_ms, 300000);
  assert_int_equal(v->checkpoint_notes, 10);
  assert_true(v->snapshot_on_exit);
  assert_true(rp__config_of(c, "x")->relevance_threshold == 0.25);
  assert_int_equal(v->template, RP_TEMPLATE_CODER);
  assert_false(v->template_given);
  assert_int_equal(v->durability, RP_DISK);
  rp__config_free(c);
}

static void test_scopes_and_environment(void **state)
{
  rp_error err = {0};
  struct rp__config *c = load(
      *state, "; words\nheartbeat_s = 5\ndecay_rate = .5\n[scope nova]\nheartbeat_s=2\ntemplate = robot\n", 0, &err);
  assert_int_equal(rp__config_of(c, NULL)->heartbeat_ms, 5000);
  assert_int_equal(rp__config_of(c, "nova")->heartbeat_ms, 2000);
  assert_int_equal(rp__config_of(c, "other")->heartbeat_ms, 5000);
  assert_true(rp__config_of(c, NULL)->decay_rate == 0.5);
  assert_true(rp__config_of(c, "nova")->decay_rate == 0.5);
  assert_true(rp__config_of(c, "nova")->template_given);
  assert_int_equal(rp__config_of(c, "nova")->template, RP_TEMPLATE_ROBOT);
  assert_false(rp__config_of(c, "other")->template_given);
  rp__config_free(c);
  c = load(*state, "[scope \"nova\"]\nheartbeat_s=2\n[scope  other ]\nheartbeat_s=3\n", 0, &err);
  assert_int_equal(rp__config_of(c, "nova")->heartbeat_ms, 2000);
  assert_int_equal(rp__config_of(c, "other")->heartbeat_ms, 3000);
  rp__config_free(c);
  setenv("REPRISE_HEARTBEAT_S", "7", 1);
  c = load(*state, "heartbeat_s = 5\n[scope nova]\nheartbeat_s=2\n", 0, &err);
  assert_int_equal(rp__config_of(c, NULL)->heartbeat_ms, 7000);
  assert_int_equal(rp__config_of(c, "nova")->heartbeat_ms, 2000);
  unsetenv("REPRISE_HEARTBEAT_S");
  rp__config_free(c);
}

/* A default that its own row refuses would never be noticed: defaults are not checked when a file is read. */
static void test_every_default_passes_its_own_row(void **state)
{
  struct rp__scope_config values;
  (void)state;
  for (size_t i = 0; i < RP_CONFIG_N; i++) {
    const struct rp__option *o = &rp__config_options[i];
    if (rp__option_set(o, o->value, &values) != RP_OPTION_FITS) fail_msg("%s = %s", o->name, o->value);
    if (rp__config_option(o->name) != o) fail_msg("%s is there twice", o->name);
    assert_true(o->help[0]);
    assert_true((o->type == RP_OPTION_WORD) == (o->words != NULL));
  }
}

/* Parsed once: handles of one scope, and of all scopes without a section, point to the same values. */
static void test_sessions_share_the_values_of_their_scope(void **state)
{
  static const char *const scopes[] = {"nova", "nova", "one", "two"};
  rp_error err = {0};
  rp_engine *e;
  rp_session *s[RP_ARRAY_SIZE(scopes)];
  char path[SCRATCH_PATH];
  rp__config_free(load(*state, "idle_s = 7\n[scope nova]\nidle_s = 2\n", 0, &err));
  rp_options o = {.db = "memory:", .config = scratch_path(*state, "c.ini", path), .short_lived = true};
  OK(rp_open(&o, &e, &err), err);
  for (size_t i = 0; i < RP_ARRAY_SIZE(scopes); i++)
    OK(rp_start(e, &(rp_start_options){.scope = scopes[i]}, &s[i], &err), err);
  assert_ptr_equal(s[0]->config, s[1]->config);
  assert_ptr_equal(s[2]->config, s[3]->config);
  assert_ptr_not_equal(s[0]->config, s[2]->config);
  assert_ptr_equal(rp__config_of(e->config, "nova"), s[0]->config);
  assert_ptr_equal(rp__config_of(e->config, NULL), s[2]->config);
  assert_int_equal(s[0]->config->idle_ms, 2000);
  assert_int_equal(s[2]->config->idle_ms, 7000);
  for (size_t i = 0; i < RP_ARRAY_SIZE(scopes); i++) rp_session_free(s[i]);
  rp_close(e);
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
      {"durability = memory\n", "durability", "must be one of os, disk"},
      {"heartbeat_s = 05\n", "heartbeat_s", "a number"},
      {"heartbeat_s = 5.\n", "heartbeat_s", "a number"},
      {"heartbeat_s = 0x10\n", "heartbeat_s", "a number"},
      {"heartbeat_s = 1e400\n", "heartbeat_s", "a number"},
      {"heartbeat_s = 1e300\n", "heartbeat_s", "a number, 0 or more, and 1000000000000 at most"},
      {"max_sessions = 1e10\n", "max_sessions", "2147483647 at most"},
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
  double number;
  OK(rp_config_number(e, "nova", "leave_s", &number, &err), err);
  assert_true(number == 2);
  OK(rp_config_number(e, NULL, "trash_days", &number, &err), err);
  assert_true(number == 7);
  assert_int_equal(rp_config_number(e, NULL, "listen", &number, &err), RP_E_USAGE);
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
      cmocka_unit_test(test_every_default_passes_its_own_row),
      cmocka_unit_test(test_sessions_share_the_values_of_their_scope),
      cmocka_unit_test(test_refusals),
      cmocka_unit_test(test_one_by_name),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
