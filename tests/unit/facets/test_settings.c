/* SPDX-License-Identifier: Apache-2.0 */
/* Settings and provider: objects merged from events. */
#include "facets_test.h"

static void assert_shown(const struct rp__fold *f, const char *want)
{
  RP_AUTOBUF struct rp__buf out = RP_BUF(SAVED_MAX);
  show(f, &out);
  assert_string_equal(out.p, want);
  assert_sound(f);
}

/* C-11 */
static void name_settings_and_meta_are_merged(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  tell(f, RP_KIND_SESSION, "{}");
  assert_shown(f, "{}");
  tell(f, RP_KIND_SESSION, "{\"name\":\"Fix the radio\",\"settings\":{\"a\":1,\"b\":{\"c\":2,\"d\":3}}}");
  tell(f, RP_KIND_SESSION, "{\"settings\":{\"b\":{\"c\":4},\"\\u0061\":[ ],\"e\":null},\"meta\":{\"k\":\"v\"}}");
  assert_shown(f, "{\"settings\":{\"name\":\"Fix the radio\",\"settings\":{\"\\u0061\":[ ],\"b\":{\"c\":4}},"
                  "\"meta\":{\"k\":\"v\"}}}");
  tell(f, RP_KIND_SESSION, "{\"name\":null,\"settings\":{\"b\":null},\"meta\":null}");
  assert_shown(f, "{\"settings\":{\"name\":null,\"settings\":{\"\\u0061\":[ ]},\"meta\":{}}}");
  tell(f, RP_KIND_SESSION, "{\"settings\":{\"a\":null},\"name\":7,\"meta\":[]}");
  assert_shown(f, "{}");
}

static void provider_events_are_merged(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  tell(f, RP_KIND_PROVIDER, "{\"type\":\"acp\",\"config\":{\"model\":\"m\",\"t\":1},\"acp_session_id\":\"s1\"}");
  tell(f, RP_KIND_PROVIDER,
       "{\"type\":\"\\u0061cp\",\"config\":{\"t\":2},\"capabilities\":{\"load\":true},\"metadata\":{}}");
  tell(f, RP_KIND_PROVIDER, "{\"type\":\"acp\",\"capabilities\":{},\"metadata\":{\"x\":1},\"acp_session_id\":null}");
  assert_shown(f, "{\"provider\":{\"type\":\"acp\",\"config\":{\"model\":\"m\",\"t\":2},\"capabilities\":{},"
                  "\"metadata\":{\"x\":1}}}");
  tell(f, RP_KIND_PROVIDER, "{\"type\":\"cli\",\"current_task\":\"t\"}"); /* another agent */
  assert_shown(f, "{\"provider\":{\"type\":\"cli\",\"current_task\":\"t\"}}");
}

/* A member too large is left out, the others are taken; what was there stays. */
static void bounds_hold(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  RP_AUTOBUF struct rp__buf body = RP_BUF(SAVED_MAX), out = RP_BUF(SAVED_MAX);
  static const struct {
    enum rp__kind kind;
    const char *head, *tail;
  } kinds[] = {
      {RP_KIND_SESSION, "{\"name\":\"n\",\"settings\":{\"a\":1,\"big\":\"", "\",\"b\":2},\"meta\":{\"x\":1}}"},
      {RP_KIND_SESSION, "{\"meta\":{\"y\":1,\"big\":\"", "\",\"z\":2}}"},
      {RP_KIND_PROVIDER, "{\"type\":\"t\",\"config\":{\"a\":1,\"big\":\"", "\",\"b\":2},\"c\":3}"},
  };
  for (size_t i = 0; i < RP_ARRAY_SIZE(kinds); i++) {
    for (size_t n = 50; n < 100000; n = n * 3 / 2) {
      rp__buf_reset(&body);
      rp__buf_str(&body, kinds[i].head);
      for (size_t k = 0; k < n; k++) rp__buf_char(&body, 'x');
      rp__buf_str(&body, kinds[i].tail);
      tell(f, kinds[i].kind, body.p);
      assert_sound(f);
    }
  }
  tell(f, RP_KIND_SESSION, "{\"settings\":{\"big\":null}}");
  for (int i = 0; i < 600; i++) {
    char small[100];
    snprintf(small, sizeof small, "{\"type\":\"t\",\"settings\":{\"k%d\":1},\"p%d\":1}", i, i);
    tell(f, i % 2 ? RP_KIND_SESSION : RP_KIND_PROVIDER, small);
  }
  assert_sound(f);
  show(f, &out);
  struct rp__json settings = rp__json_get(parsed(&out), "settings");
  assert_true(rp__json_count(rp__json_get(settings, "settings")) == 256);
  assert_true(rp__json_get(rp__json_get(settings, "settings"), "b").n == 1);
  assert_true(rp__json_get(rp__json_get(settings, "meta"), "z").n == 1);
  assert_true(rp__json_get(rp__json_get(parsed(&out), "provider"), "config").n < 32768);
}

static void refuses_damaged_snapshots(void **state)
{
  (void)state;
  static const char *const bad[][2] = {
      {"provider", "[]"},
      {"provider", "{}"},
      {"provider", "7"},
      {"settings", "[]"},
      {"settings", "{}"},
      {"settings", "{\"name\":7,\"settings\":{},\"meta\":{}}"},
      {"settings", "{\"name\":null,\"settings\":[],\"meta\":{}}"},
      {"settings", "{\"name\":null,\"settings\":{}}"},
  };
  rp_error err;
  assert_int_equal(load_part("provider", "{\"type\":\"x\"}", &err), 0);
  assert_int_equal(load_part("settings", "{\"name\":\"x\",\"settings\":{\"a\":1},\"meta\":{}}", &err), 0);
  for (size_t i = 0; i < RP_ARRAY_SIZE(bad); i++) {
    if (load_part(bad[i][0], bad[i][1], &err) != RP_E_SNAPSHOT_CORRUPT) fail_msg("%s %s", bad[i][0], bad[i][1]);
    assert_non_null(strstr(err.field, bad[i][0]));
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(name_settings_and_meta_are_merged),
      cmocka_unit_test(provider_events_are_merged),
      cmocka_unit_test(bounds_hold),
      cmocka_unit_test(refuses_damaged_snapshots),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
