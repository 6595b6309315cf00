/* SPDX-License-Identifier: Apache-2.0 */
/* L-05: `runtime` events are for who runs the agent, and the state shows what they say. */
#include "unit/engine/life.h"

#include "engine/engine.h"

static rp_session *begin(struct rig *r)
{
  rp_error err = {0};
  rp_session *s = NULL;
  OK(rp_start(r->e, &(rp_start_options){.scope = "s", .key = "k"}, &s, &err), err);
  return s;
}

static int say(rp_session *s, bool runtime, const char *body, rp_error *err)
{
  rp_append_options o = {0};
  o.runtime = runtime;
  return rp_append(s, &(rp_event){.kind = "runtime", .body = body}, &o, NULL, err);
}

static void only_who_runs_the_agent_may_tell(void **state)
{
  rp_session *s = begin(*state);
  rp_error err = {0};
  char *json = NULL;
  assert_int_equal(say(s, false, "{\"status\":\"idle\"}", &err), RP_E_INVALID);
  assert_string_equal(err.field, "kind");
  assert_int_equal(say(s, true, "{\"status\":\"asleep\"}", &err), RP_E_INVALID);
  assert_string_equal(err.field, "body.status");
  assert_int_equal(say(s, true, "{\"delivered\":-1}", &err), RP_E_INVALID);
  assert_string_equal(err.field, "body.delivered");
  assert_int_equal(say(s, true, "{", &err), RP_E_JSON);
  OK(rp_state_json(s, -1, &json, &err), err);
  assert_null(strstr(json, "runtime"));
  rp_free(json);
  OK(say(s, true, "{\"status\":\"idle\",\"delivered\":0}", &err), err);
  OK(rp_state_json(s, -1, &json, &err), err);
  assert_non_null(strstr(json, "\"runtime\":{\"status\":\"idle\",\"delivered\":0}"));
  rp_free(json);
  rp_session_free(s);
}

static void other_kinds_stay_the_engines(void **state)
{
  rp_session *s = begin(*state);
  rp_error err = {0};
  rp_append_options o = {0};
  o.runtime = true;
  static const char *const kinds[] = {"status", "snapshot", "restored"};
  for (size_t i = 0; i < RP_ARRAY_SIZE(kinds); i++)
    assert_int_equal(rp_append(s, &(rp_event){.kind = kinds[i], .body = "{}"}, &o, NULL, &err), RP_E_INVALID);
  rp_session_free(s);
}

static void the_table_can_be_asked(void **state)
{
  (void)state;
  assert_true(rp_runtime_may(NULL, "starting"));
  assert_true(rp_runtime_may("reconnecting", "idle"));
  assert_false(rp_runtime_may("terminated", "idle"));
  assert_false(rp_runtime_may("asleep", "idle"));
  assert_false(rp_runtime_may("idle", "asleep"));
  assert_false(rp_runtime_may("idle", NULL));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(only_who_runs_the_agent_may_tell, rig_setup, rig_teardown),
      cmocka_unit_test_setup_teardown(other_kinds_stay_the_engines, rig_setup, rig_teardown),
      cmocka_unit_test(the_table_can_be_asked),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
