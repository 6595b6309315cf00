/* SPDX-License-Identifier: Apache-2.0 */
/* Learnings, how the confidence in them changed, and procedures: three lists of a record. */
#include "facets_test.h"

static void assert_part(const struct rp__fold *f, const char *facet, const char *expected)
{
  RP_AUTOBUF struct rp__buf out = RP_BUF(SAVED_MAX), text = RP_BUF(SAVED_MAX);
  show(f, &out);
  struct rp__json part = rp__json_get(parsed(&out), facet);
  if (part.n) rp__buf_add(&text, part.p, part.n);
  assert_string_equal(text.p ? text.p : "", expected);
  assert_sound(f);
}

/* */
static void the_documents_of_the_contract(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  tell(f, RP_KIND_LEARNING,
       "{\"memory_id\":\"m1\",\"content\":\"wat\\u0065r boils\",\"categories\":[\"physics\"],\"confidence\":0.9}");
  tell(f, RP_KIND_LEARNING, "{\"memory_id\":\"m2\",\"content\":\"c\",\"inherited_from\":\"no\",\"original\":1}");
  assert_part(f, "learnings",
              "[{\"memory_id\":\"m1\",\"confidence\":0.9,\"content\":\"water boils\",\"categories\":[\"physics\"],"
              "\"inherited_from\":null,\"at\":\"1970-01-01T00:00:01.000Z\"},"
              "{\"memory_id\":\"m2\",\"confidence\":1.0,\"content\":\"c\",\"inherited_from\":null,"
              "\"at\":\"1970-01-01T00:00:02.000Z\"}]");
  tell(f, RP_KIND_CONFIDENCE, "{\"memory_id\":\"m1\",\"old_score\":0.9,\"new_score\":1,\"reason\":\"seen\"}");
  assert_part(f, "confidence_updates",
              "[{\"memory_id\":\"m1\",\"old_score\":0.9,\"new_score\":1,\"reason\":\"seen\","
              "\"timestamp\":\"1970-01-01T00:00:03.000Z\"}]");
  tell(f, RP_KIND_SOP,
       "{\"sop_path\":\"a/b.md\",\"injected_at\":\"2026\",\"acknowledged\":true,\"tool_call\":{\"n\": 1}}");
  tell(f, RP_KIND_SOP, "{\"sop_path\":\"c\",\"injected_at\":5.5,\"acknowledged\":false,\"tool_call\":null}");
  assert_part(f, "sops",
              "[{\"sop_path\":\"a/b.md\",\"injected_at\":\"2026\",\"tool_call\":{\"n\": 1},"
              "\"acknowledged\":true},"
              "{\"sop_path\":\"c\",\"injected_at\":5.5,\"tool_call\":null,\"acknowledged\":false}]");
}

static void confidence_of(const struct rp__fold *f, const char *id, double expected)
{
  RP_AUTOBUF struct rp__buf out = RP_BUF(SAVED_MAX);
  show(f, &out);
  struct rp__json learnings = rp__json_get(parsed(&out), "learnings"), m;
  struct rp__json_iter it = {0};
  double got = -1;
  while (rp__json_next(learnings, &it, NULL, &m))
    if (rp__json_eq(rp__json_get(m, "memory_id"), id)) rp__json_double(rp__json_get(m, "confidence"), &got);
  assert_float_equal(got, expected, 1e-12);
}

/* what was inherited has aged; a stored score never changes by that. */
static void own_ones_change_inherited_ones_do_not(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  RP_AUTOBUF struct rp__buf out = RP_BUF(SAVED_MAX);
  tell(f, RP_KIND_LEARNING, "{\"memory_id\":\"own\",\"content\":\"c\",\"confidence\":0.5}");
  tell(f, RP_KIND_RESTORED,
       "{\"memories\":[{\"memory_id\":\"old\",\"original\":1.0,\"confidence\":0.885714,\"inherited_from\":\"s1\"},"
       "{\"memory_id\":\"own\",\"original\":1.0,\"confidence\":0.1,\"inherited_from\":\"s1\"},"
       "{\"memory_id\":\"none\"},5]}");
  confidence_of(f, "own", 0.5);
  confidence_of(f, "old", 0.885714);
  confidence_of(f, "none", -1);
  show(f, &out);
  assert_non_null(strstr(out.p, "\"inherited_from\":\"s1\",\"original\":1.0"));
  tell(f, RP_KIND_CONFIDENCE, "{\"memory_id\":\"own\",\"old_score\":0.5,\"new_score\":0.7,\"reason\":\"r\"}");
  tell(f, RP_KIND_CONFIDENCE, "{\"memory_id\":\"old\",\"old_score\":1,\"new_score\":0.2,\"reason\":\"r\"}");
  tell(f, RP_KIND_CONFIDENCE, "{\"memory_id\":\"alien\",\"old_score\":1,\"new_score\":0.2,\"reason\":\"r\"}");
  confidence_of(f, "own", 0.7);
  confidence_of(f, "old", 0.885714);
  assert_sound(f);
  /* Learned again, it is the session's own and the newest. */
  tell(f, RP_KIND_LEARNING, "{\"memory_id\":\"old\",\"content\":\"c\",\"confidence\":0.95}");
  confidence_of(f, "old", 0.95);
  tell(f, RP_KIND_LEARNING, "{\"memory_id\":\"own\",\"content\":\"c2\"}");
  show(f, &out);
  assert_true(strstr(out.p, "\"memory_id\":\"old\",\"confidence\"") < strstr(out.p, "\"memory_id\":\"own\",\"conf"));
  assert_sound(f);
}

static size_t count_of(const struct rp__fold *f, const char *facet)
{
  RP_AUTOBUF struct rp__buf out = RP_BUF(SAVED_MAX);
  show(f, &out);
  return rp__json_count(rp__json_get(parsed(&out), facet));
}

static void the_newest_stay(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  RP_AUTOBUF struct rp__buf out = RP_BUF(SAVED_MAX);
  for (int i = 0; i < 300; i++) {
    char body[200];
    snprintf(body, sizeof body,
             "{\"memory_id\":\"m%d\",\"content\":\"c\",\"old_score\":1,\"new_score\":1,"
             "\"reason\":\"r\",\"sop_path\":\"s%d\",\"injected_at\":1,\"tool_call\":1}",
             i, i);
    tell(f, RP_KIND_LEARNING, body);
    tell(f, RP_KIND_CONFIDENCE, body);
    tell(f, RP_KIND_SOP, body);
  }
  assert_int_equal(count_of(f, "learnings"), 256);
  assert_int_equal(count_of(f, "confidence_updates"), 100);
  assert_int_equal(count_of(f, "sops"), 100);
  show(f, &out);
  assert_null(strstr(out.p, "\"s199\""));
  assert_non_null(strstr(out.p, "\"s200\""));
  assert_sound(f);
}

static void bytes_are_bounded(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  for (int i = 0; i < 300; i++) {
    RP_AUTOBUF struct rp__buf body = RP_BUF(SAVED_MAX);
    rp__buf_printf(&body, "{\"memory_id\":\"%d", i);
    for (int k = 0; k < 400; k++) rp__buf_str(&body, "\\u0001");
    static const char *const texts[] = {"content", "reason", "sop_path"};
    for (size_t k = 0; k < RP_ARRAY_SIZE(texts); k++) {
      rp__buf_printf(&body, "\",\"%s\":\"", texts[k]);
      for (int n = 0; n < 1000; n++) rp__buf_str(&body, "\xe2\x82\xac");
    }
    rp__buf_str(&body, "\",\"injected_at\":\"");
    for (int n = 0; n < 100; n++) rp__buf_char(&body, 'x');
    rp__buf_str(&body, "\",\"tool_call\":[0");
    for (int n = 0; n < i * 4; n++) rp__buf_str(&body, ",1");
    rp__buf_str(&body, "],\"old_score\":1.00000000000000000000000000000000000000000000001,\"new_score\":0.5}");
    tell_n(f, RP_KIND_LEARNING, body.p, body.n);
    tell_n(f, RP_KIND_CONFIDENCE, body.p, body.n);
    tell_n(f, RP_KIND_SOP, body.p, body.n);
    if (i % 50 == 0) assert_sound(f);
  }
  assert_sound(f);
  assert_true(count_of(f, "learnings") > 20);
}

static void bodies_of_other_versions_change_nothing(void **state)
{
  (void)state;
  static const char *const ignored[] = {"{}",
                                        "[]",
                                        "7",
                                        "{\"memory_id\":5}",
                                        "{\"memory_id\":\"a\",\"old_score\":\"1\",\"new_score\":1,\"reason\":\"r\"}",
                                        "{\"sop_path\":5,\"injected_at\":1,\"tool_call\":1}"};
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  RP_AUTOBUF struct rp__buf out = RP_BUF(SAVED_MAX);
  for (size_t i = 0; i < RP_ARRAY_SIZE(ignored); i++) {
    tell(f, RP_KIND_CONFIDENCE, ignored[i]);
    tell(f, RP_KIND_SOP, ignored[i]);
    if (i < 4) tell(f, RP_KIND_LEARNING, ignored[i]);
  }
  show(f, &out);
  assert_string_equal(out.p, "{}");
}

static void refuses_damaged_snapshots(void **state)
{
  (void)state;
  static const struct {
    const char *facet, *part;
    bool good;
  } cases[] = {
      {"learnings", "[{\"memory_id\":\"a\",\"confidence\":1,\"at_ms\":1}]", true},
      {"learnings", "[{\"memory_id\":\"a\",\"confidence\":\"1\",\"at_ms\":1}]", false},
      {"learnings", "[{\"memory_id\":\"a\",\"confidence\":1e999,\"at_ms\":1}]", false},
      {"learnings", "[{\"memory_id\":\"a\",\"categories\":{},\"at_ms\":1}]", false},
      {"learnings", "[{\"memory_id\":\"a\",\"at_ms\":1},{\"memory_id\":\"a\",\"at_ms\":2}]", false},
      {"learnings", "{}", false},
      {"confidence_updates",
       "[{\"memory_id\":\"a\",\"old_score\":1,\"new_score\":2,\"reason\":\"r\",\"at_ms\":1},"
       "{\"memory_id\":\"a\",\"old_score\":1,\"new_score\":2,\"reason\":\"r\",\"at_ms\":1}]",
       true},
      {"confidence_updates", "[{\"memory_id\":\"a\",\"old_score\":1,\"reason\":\"r\",\"at_ms\":1}]", false},
      {"confidence_updates", "[5]", false},
      {"sops", "[{\"sop_path\":\"a\",\"injected_at\":1,\"tool_call\":null,\"at_ms\":1}]", true},
      {"sops", "[{\"sop_path\":\"a\",\"injected_at\":1,\"tool_call\":null,\"acknowledged\":1,\"at_ms\":1}]", false},
      {"sops", "[{\"sop_path\":\"a\",\"injected_at\":1,\"at_ms\":1}]", false},
      {"sops", "[{\"sop_path\":\"a\",\"injected_at\":1,\"tool_call\":null,\"at_ms\":\"1\"}]", false},
  };
  for (size_t i = 0; i < RP_ARRAY_SIZE(cases); i++) {
    rp_error err;
    int rc = load_part(cases[i].facet, cases[i].part, &err);
    if (rc != (cases[i].good ? 0 : RP_E_SNAPSHOT_CORRUPT)) fail_msg("%s", cases[i].part);
    if (rc) assert_string_equal(err.field, cases[i].facet);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_documents_of_the_contract),
      cmocka_unit_test(own_ones_change_inherited_ones_do_not),
      cmocka_unit_test(the_newest_stay),
      cmocka_unit_test(bytes_are_bounded),
      cmocka_unit_test(bodies_of_other_versions_change_nothing),
      cmocka_unit_test(refuses_damaged_snapshots),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
