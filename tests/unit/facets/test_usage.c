/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of costs and tokens, hostile numbers included. */
#include "facets_test.h"

static void nothing_used_says_nothing(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  RP_AUTOBUF struct rp__buf out = RP_BUF(SAVED_MAX);
  tell(f, RP_KIND_USAGE, "{}");
  tell(f, RP_KIND_USAGE, "{\"tokens_in\":0,\"cost_usd\":0}");
  tell(f, RP_KIND_MESSAGE, "{\"tokens_in\":5}");
  show(f, &out);
  assert_string_equal(out.p, "{}");
}

static void sums(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  RP_AUTOBUF struct rp__buf out = RP_BUF(SAVED_MAX);
  tell(f, RP_KIND_USAGE, "{\"tokens_in\":100,\"tokens_out\":7,\"cost_usd\":0.25,\"requests\":1}");
  tell(f, RP_KIND_USAGE, "{\"tokens_in\":23,\"cost_usd\":0.5}");
  tell(f, RP_KIND_USAGE, "{\"tokens_in\":null,\"requests\":2}");
  show(f, &out);
  assert_string_equal(out.p, "{\"usage\":{\"tokens_in\":123,\"tokens_out\":7,\"cost_usd\":0.75,\"requests\":3}}");
  assert_sound(f);
}

static void a_million_small_costs_are_exact_enough(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  RP_AUTOBUF struct rp__buf out = RP_BUF(SAVED_MAX);
  double cost = 0;
  for (int i = 0; i < 1000000; i++) tell(f, RP_KIND_USAGE, "{\"cost_usd\":0.000003}");
  save(f, &out);
  struct rp__json usage = rp__json_get(rp__json_get(parsed(&out), "facets"), "usage");
  assert_true(rp__json_double(rp__json_get(usage, "cost_usd"), &cost));
  assert_true(cost > 3 - 1e-8 && cost < 3 + 1e-8);
  assert_sound(f);
}

static void hostile_numbers_saturate_or_are_ignored(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  RP_AUTOBUF struct rp__buf out = RP_BUF(SAVED_MAX);
  for (int i = 0; i < 3; i++)
    tell(f, RP_KIND_USAGE, "{\"tokens_in\":9223372036854775807,\"tokens_out\":5,\"cost_usd\":1.7e308}");
  tell(f, RP_KIND_USAGE, "{\"tokens_in\":1,\"tokens_out\":-5,\"requests\":1.5,\"cost_usd\":-1e308}");
  tell(f, RP_KIND_USAGE, "{\"tokens_out\":18446744073709551616,\"requests\":\"9\",\"cost_usd\":1e999}");
  tell(f, RP_KIND_USAGE, "[]");
  show(f, &out);
  assert_non_null(strstr(out.p, "\"tokens_in\":9223372036854775807,\"tokens_out\":15,"));
  assert_non_null(strstr(out.p, "\"cost_usd\":1.797693134862315"));
  assert_non_null(strstr(out.p, "\"requests\":0"));
  assert_sound(f);
}

static void refuses_damaged_snapshots(void **state)
{
  (void)state;
  static const char *const bad[] = {
      "[]",
      "{}",
      "{\"tokens_in\":-1,\"tokens_out\":0,\"cost_usd\":0.0,\"requests\":0}",
      "{\"tokens_in\":1,\"tokens_out\":0,\"cost_usd\":-0.5,\"requests\":0}",
      "{\"tokens_in\":1,\"tokens_out\":0,\"cost_usd\":null,\"requests\":0}",
      "{\"tokens_in\":1,\"tokens_out\":0,\"cost_usd\":0.5}",
  };
  rp_error err;
  assert_int_equal(load_part("usage", "{\"tokens_in\":1,\"tokens_out\":0,\"cost_usd\":0.0,\"requests\":0}", &err), 0);
  for (size_t i = 0; i < RP_ARRAY_SIZE(bad); i++)
    assert_int_equal(load_part("usage", bad[i], &err), RP_E_SNAPSHOT_CORRUPT);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(nothing_used_says_nothing),
      cmocka_unit_test(sums),
      cmocka_unit_test(a_million_small_costs_are_exact_enough),
      cmocka_unit_test(hostile_numbers_saturate_or_are_ignored),
      cmocka_unit_test(refuses_damaged_snapshots),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
