/* SPDX-License-Identifier: Apache-2.0 */
/* Pending approvals and questions. */
#include "facets_test.h"

static void assert_shown(const struct rp__fold *f, const char *want)
{
  RP_AUTOBUF struct rp__buf out = RP_BUF(SAVED_MAX);
  show(f, &out);
  assert_string_equal(out.p, want);
  assert_sound(f);
}

/* C-09: with the body as it came. */
static void what_is_pending_stays_until_it_is_answered(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  tell(f, RP_KIND_APPROVAL, "{\"id\":\"a\",\"status\":\"pending\", \"tool\" : {\"x\": [1]},\"t\\\"\":null}");
  tell(f, RP_KIND_QUESTION, "{\"id\":7,\"status\":\"pending\",\"text\":\"Which?\",\"at\":\"noon\"}");
  tell(f, RP_KIND_RESTORED, "{\"cause\":\"crash\",\"elapsed_seconds\":50}");
  assert_shown(f, "{\"approvals\":[{\"id\":\"a\",\"status\":\"pending\",\"tool\":{\"x\": [1]},\"t\\\"\":null,"
                  "\"at\":\"1970-01-01T00:00:01.000Z\"}],"
                  "\"questions\":[{\"id\":7,\"status\":\"pending\",\"text\":\"Which?\",\"at\":\"noon\"}]}");
  tell(f, RP_KIND_QUESTION, "{\"id\":\"7\",\"status\":\"answered\"}"); /* another id */
  tell(f, RP_KIND_APPROVAL, "{\"id\":7,\"status\":\"allowed\"}");      /* another list */
  tell(f, RP_KIND_APPROVAL, "{\"id\":\"\\u0061\",\"status\":\"denied\"}");
  assert_shown(f, "{\"questions\":[{\"id\":7,\"status\":\"pending\",\"text\":\"Which?\",\"at\":\"noon\"}]}");
  tell(f, RP_KIND_QUESTION, "{\"id\":7,\"status\":\"answered\"}");
  assert_shown(f, "{}");
}

static void asked_again_stands_in_its_place(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  tell(f, RP_KIND_APPROVAL, "{\"id\":\"a\",\"status\":\"pending\",\"n\":1}");
  tell(f, RP_KIND_APPROVAL, "{\"id\":\"b\",\"status\":\"pending\"}");
  tell(f, RP_KIND_APPROVAL, "{\"id\":\"a\",\"status\":\"pending\",\"n\":2}");
  tell(f, RP_KIND_APPROVAL, "{\"id\":[],\"status\":\"pending\"}");
  tell(f, RP_KIND_APPROVAL, "{\"id\":\"c\"}");
  assert_shown(f, "{\"approvals\":[{\"id\":\"a\",\"status\":\"pending\",\"n\":2,\"at\":\"1970-01-01T00:00:03.000Z\"},"
                  "{\"id\":\"b\",\"status\":\"pending\",\"at\":\"1970-01-01T00:00:02.000Z\"}]}");
}

static void bounds_hold(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  RP_AUTOBUF struct rp__buf body = RP_BUF(SAVED_MAX), out = RP_BUF(SAVED_MAX);
  for (int i = 0; i < 100; i++) {
    char small[60];
    snprintf(small, sizeof small, "{\"id\":%d,\"status\":\"pending\"}", i);
    tell(f, RP_KIND_QUESTION, small);
  }
  show(f, &out);
  assert_int_equal(rp__json_count(rp__json_get(parsed(&out), "questions")), 64);
  assert_non_null(strstr(out.p, "[{\"id\":36,"));
  for (int i = 0; i < 20; i++) {
    rp__buf_reset(&body);
    rp__buf_printf(&body, "{\"id\":%d,\"status\":\"pending\",\"x\":\"", i);
    while (body.n < (i == 19 ? 8191 : 8190)) rp__buf_char(&body, 'x');
    rp__buf_str(&body, "\"}");
    tell(f, RP_KIND_APPROVAL, body.p);
    assert_sound(f);
  }
  show(f, &out);
  assert_int_equal(rp__json_count(rp__json_get(parsed(&out), "approvals")), 4);
  assert_non_null(strstr(out.p, "{\"id\":19,\"status\":\"pending\",\"omitted_bytes\":8193,\"at\""));
}

static void refuses_damaged_snapshots(void **state)
{
  (void)state;
  static const char *const bad[] = {
      "{}",
      "[1]",
      "[{\"id\":1,\"seq\":1}]",
      "[{\"id\":1,\"at_ms\":1}]",
      "[{\"seq\":1,\"at_ms\":1}]",
      "[{\"id\":1,\"seq\":1001,\"at_ms\":1}]",
      "[{\"id\":1,\"seq\":1,\"at_ms\":1},{\"id\":1,\"seq\":1,\"at_ms\":1}]",
  };
  rp_error err;
  for (int q = 0; q < 2; q++) {
    const char *facet = q ? "questions" : "approvals";
    assert_int_equal(load_part(facet, "[{\"id\":1,\"body\":{\"id\":1},\"seq\":1,\"at_ms\":1}]", &err), 0);
    for (size_t i = 0; i < RP_ARRAY_SIZE(bad); i++) {
      if (load_part(facet, bad[i], &err) != RP_E_SNAPSHOT_CORRUPT) fail_msg("%s", bad[i]);
      assert_string_equal(err.field, facet);
    }
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_is_pending_stays_until_it_is_answered),
      cmocka_unit_test(asked_again_stands_in_its_place),
      cmocka_unit_test(bounds_hold),
      cmocka_unit_test(refuses_damaged_snapshots),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
