/* SPDX-License-Identifier: Apache-2.0 */
/* What runs the agent: L-05's statuses, C-01, C-04. */
#include "facets_test.h"

static void assert_shown(const struct rp__fold *f, const char *want)
{
  RP_AUTOBUF struct rp__buf out = RP_BUF(SAVED_MAX);
  show(f, &out);
  assert_string_equal(out.p, want);
  assert_sound(f);
}

static void events_are_merged(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  tell(f, RP_KIND_RUNTIME, "{}");
  assert_shown(f, "{}");
  tell(f, RP_KIND_RUNTIME, "{\"status\":\"starting\",\"progress\":\"cloning\"}");
  tell(f, RP_KIND_RUNTIME, "{\"delivered\":7}");
  assert_shown(f, "{\"runtime\":{\"status\":\"starting\",\"progress\":\"cloning\",\"delivered\":7}}");
  tell(f, RP_KIND_RUNTIME, "{\"status\":\"idle\",\"progress\":null}");
  assert_shown(f, "{\"runtime\":{\"status\":\"idle\",\"delivered\":7}}");
}

static void a_status_that_may_not_follow_changes_none(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  tell(f, RP_KIND_RUNTIME, "{\"status\":\"asleep\"}");
  assert_shown(f, "{}");
  tell(f, RP_KIND_RUNTIME, "{\"status\":\"idle\"}");
  tell(f, RP_KIND_RUNTIME, "{\"status\":\"starting\",\"delivered\":3}");
  assert_shown(f, "{\"runtime\":{\"status\":\"idle\",\"delivered\":3}}");
  tell(f, RP_KIND_RUNTIME, "{\"status\":7}");
  assert_shown(f, "{\"runtime\":{\"status\":\"idle\",\"delivered\":3}}");
  tell(f, RP_KIND_RUNTIME, "{\"status\":\"terminated\"}");
  tell(f, RP_KIND_RUNTIME, "{\"status\":\"running\"}"); /* C-01 */
  assert_shown(f, "{\"runtime\":{\"status\":\"terminated\",\"delivered\":3}}");
}

static void a_start_gives_another_life(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  tell(f, RP_KIND_RESTORED, "{\"epoch\":2}");
  assert_shown(f, "{}");
  tell(f, RP_KIND_RUNTIME, "{\"status\":\"running\",\"delivered\":2}");
  tell(f, RP_KIND_RESTORED, "{\"epoch\":3}");
  assert_shown(f, "{\"runtime\":{\"status\":\"running\",\"delivered\":2}}");
  tell(f, RP_KIND_RUNTIME, "{\"status\":\"error\",\"reason\":\"gone\"}");
  tell(f, RP_KIND_RESTORED, "{\"epoch\":4}");
  assert_shown(f, "{\"runtime\":{\"status\":\"starting\",\"delivered\":2}}");
}

static void bounds_hold_and_damage_is_found(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  RP_AUTOBUF struct rp__buf body = RP_BUF(SAVED_MAX);
  rp_error err;
  rp__buf_str(&body, "{\"progress\":\"");
  for (int i = 0; i < 10000; i++) rp__buf_char(&body, 'x');
  rp__buf_str(&body, "\",\"status\":\"idle\"}");
  tell(f, RP_KIND_RUNTIME, body.p);
  assert_shown(f, "{\"runtime\":{\"status\":\"idle\"}}");
  assert_int_equal(load_part("runtime", "[]", &err), RP_E_SNAPSHOT_CORRUPT);
  assert_string_equal(err.field, "runtime");
  assert_int_equal(load_part("runtime", "{\"status\":\"idle\"}", &err), 0);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(events_are_merged),
      cmocka_unit_test(a_status_that_may_not_follow_changes_none),
      cmocka_unit_test(a_start_gives_another_life),
      cmocka_unit_test(bounds_hold_and_damage_is_found),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
