/* SPDX-License-Identifier: Apache-2.0 */
#include "facets_test.h"

#include "../core/alloc_fault.h"
#include "core/snapshot.h"

static const struct {
  enum rp__kind kind;
  const char *body;
} events[] = {
    {RP_KIND_MESSAGE, "{\"role\":\"user\",\"content\":\"hello\",\"message_id\":\"m\"}"},
    {RP_KIND_TOOL, "{\"call_id\":\"a\",\"name\":\"sh\",\"status\":\"intended\",\"input\":{}}"},
    {RP_KIND_TOOL, "{\"call_id\":\"\\u0061\",\"name\":\"s\\nh\",\"status\":\"running\"}"},
    {RP_KIND_USAGE, "{\"tokens_in\":5}"},
    {RP_KIND_RESTORED, "{\"cause\":\"crash\",\"elapsed_seconds\":5}"},
    {RP_KIND_MESSAGE, "{\"role\":\"assistant\",\"content\":[]}"},
};

static int live(void)
{
  RP_AUTOFOLD struct rp__fold *f = NULL, *back = NULL;
  RP_AUTOBUF struct rp__buf bytes = RP_BUF(SAVED_MAX);
  size_t raw;
  rp_error err = {0};
  int rc = rp__fold_new(&rp__facets, &f);
  for (size_t i = 0; rc == 0 && i < RP_ARRAY_SIZE(events); i++) {
    int64_t to;
    struct rp__event ev = {(int64_t)i + 1, 5, events[i].kind, NULL,
                           rp__json_trusted(events[i].body, strlen(events[i].body))};
    rc = rp__fold_apply(f, &ev, &to);
  }
  if (rc) return rc;
  rc = rp__snapshot_encode(f, NULL, &rp__system_random, RP_STR("s"), &bytes, &raw, &err);
  if (rc == 0) rc = rp__snapshot_decode(bytes.p, bytes.n, NULL, RP_STR("s"), &rp__facets, &back, &err);
  assert_int_equal(rc, err.code);
  return rc;
}

static void every_allocation_may_fail(void **state)
{
  (void)state;
  assert_true(alloc_enumerate(live, RP_E_NOMEM) > 20);
}

/* A fold that the test made before it counts. */
static struct rp__fold *folded;

static int one_message(void)
{
  int64_t to;
  struct rp__event ev = {rp__fold_seq(folded) + 1, 5, RP_KIND_MESSAGE, NULL,
                         rp__json_trusted(events[0].body, strlen(events[0].body))};
  return rp__fold_apply(folded, &ev, &to);
}

/* As the facet promises. */
static void a_message_costs_one_allocation(void **state)
{
  (void)state;
  folded = fold_new();
  assert_int_equal(alloc_enumerate(one_message, RP_E_NOMEM), 1);
  rp__fold_free(folded);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_allocation_may_fail),
      cmocka_unit_test(a_message_costs_one_allocation),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
