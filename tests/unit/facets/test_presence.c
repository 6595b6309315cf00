/* SPDX-License-Identifier: Apache-2.0 */
/* Who was seen last, and the sleep state. */
#include "facets_test.h"

static void assert_presence(const struct rp__fold *f, const char *want)
{
  RP_AUTOBUF struct rp__buf out = RP_BUF(SAVED_MAX);
  show(f, &out);
  assert_string_equal(out.p, want);
  assert_sound(f);
}

/* N-14 */
static void who_was_seen_and_whether_it_sleeps(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  assert_presence(f, "{}");
  tell(f, RP_KIND_SLEEP, "{\"state\":\"dreaming\"}");
  tell(f, RP_KIND_PERSON, "{\"name\":7}");
  assert_presence(f, "{}");
  tell(f, RP_KIND_SLEEP, "{\"state\":\"sleeping\"}");
  assert_presence(f, "{\"presence\":{\"last_person\":null,\"last_person_at\":null,\"sleep\":\"sleeping\"}}");
  tell(f, RP_KIND_PERSON, "{\"name\":\"Ada\"}");
  tell(f, RP_KIND_PERSON, "{\"name\":\"Gr\\u0061ce\"}");
  assert_presence(f, "{\"presence\":{\"last_person\":\"Gr\\u0061ce\",\"last_person_at\":\"1970-01-01T00:00:05.000Z\","
                     "\"sleep\":\"sleeping\"}}");
  static const char *const states[] = {"waking_up", "awake", "falling_asleep"};
  for (size_t i = 0; i < RP_ARRAY_SIZE(states); i++) {
    char body[60], want[200];
    snprintf(body, sizeof body, "{\"state\":\"%s\"}", states[i]);
    tell(f, RP_KIND_SLEEP, body);
    snprintf(want, sizeof want,
             "{\"presence\":{\"last_person\":\"Gr\\u0061ce\",\"last_person_at\":\"1970-01-01T00:00:05.000Z\","
             "\"sleep\":\"%s\"}}",
             states[i]);
    assert_presence(f, want);
  }
}

static void awake_unless_told(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  tell(f, RP_KIND_PERSON, "{\"name\":\"Ada\"}");
  assert_presence(f, "{\"presence\":{\"last_person\":\"Ada\",\"last_person_at\":\"1970-01-01T00:00:01.000Z\","
                     "\"sleep\":\"awake\"}}");
}

/* N-07 */
static void carried_only_into_an_empty_one(void **state)
{
  (void)state;
  static const char body[] = "{\"carried\":{\"presence\":{\"last_person\":\"Ada\",\"last_person_at_ms\":60000,"
                             "\"sleep\":\"sleeping\"}}}";
  static const char other[] = "{\"carried\":{\"presence\":{\"last_person\":\"Eve\","
                              "\"last_person_at\":\"1970-01-01T00:00:30.000Z\"}}}";
  RP_AUTOFOLD struct rp__fold *f = fold_new(), *g = fold_new(), *own = fold_new(), *bad = fold_new();
  tell(f, RP_KIND_RESTORED, body);
  tell(f, RP_KIND_RESTORED, other);
  assert_presence(f, "{\"presence\":{\"last_person\":\"Ada\",\"last_person_at\":\"1970-01-01T00:01:00.000Z\","
                     "\"sleep\":\"sleeping\"}}");
  tell(g, RP_KIND_RESTORED, other);
  assert_presence(g, "{\"presence\":{\"last_person\":\"Eve\",\"last_person_at\":\"1970-01-01T00:00:30.000Z\","
                     "\"sleep\":\"awake\"}}");
  tell(own, RP_KIND_SLEEP, "{\"state\":\"awake\"}");
  tell(own, RP_KIND_RESTORED, body);
  assert_presence(own, "{\"presence\":{\"last_person\":null,\"last_person_at\":null,\"sleep\":\"awake\"}}");
  tell(bad, RP_KIND_RESTORED, "{\"carried\":{\"presence\":{\"last_person\":5,\"sleep\":6}}}");
  assert_presence(bad, "{}");
}

static void refuses_damaged_snapshots(void **state)
{
  (void)state;
  static const char *const bad[] = {
      "[]",
      "{}",
      "{\"last_person\":7,\"last_person_at_ms\":5}",
      "{\"last_person\":\"Ada\"}",
      "{\"last_person\":\"Ada\",\"last_person_at_ms\":\"x\"}",
      "{\"last_person\":null,\"sleep\":\"dreaming\"}",
  };
  rp_error err;
  assert_int_equal(load_part("presence", "{\"last_person\":\"Ada\",\"last_person_at_ms\":5,\"sleep\":\"awake\"}", &err),
                   0);
  for (size_t i = 0; i < RP_ARRAY_SIZE(bad); i++) {
    if (load_part("presence", bad[i], &err) != RP_E_SNAPSHOT_CORRUPT) fail_msg("%s", bad[i]);
    assert_string_equal(err.field, "presence");
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(who_was_seen_and_whether_it_sleeps),
      cmocka_unit_test(awake_unless_told),
      cmocka_unit_test(carried_only_into_an_empty_one),
      cmocka_unit_test(refuses_damaged_snapshots),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
