/* SPDX-License-Identifier: Apache-2.0 */
/* Every allocation of core fails once. */
#include "core_test.h"

#include "alloc_fault.h"

#define AD RP_STR("session-1/snapshot")

static int start(struct rp__fold **ret)
{
  int64_t to;
  struct rp__event ev = event_of(1, RP_KIND_OTHER, "{\"n\":3}");
  int rc = rp__fold_new(&sum_table, ret);
  return rc ? rc : rp__fold_apply(*ret, &ev, &to);
}

static int round_trip(const struct rp__key *key)
{
  RP_AUTOFOLD struct rp__fold *f = NULL, *back = NULL;
  RP_AUTOBUF struct rp__buf bytes = RP_BUF(10000);
  size_t raw;
  rp_error err = {0};
  int rc = start(&f);
  if (rc) return rc;
  rc = rp__snapshot_encode(f, key, &fixed_random, AD, &bytes, &raw, &err);
  if (rc == 0) rc = rp__snapshot_decode(bytes.p, bytes.n, key, AD, &sum_table, &back, &err);
  assert_int_equal(rc, err.code);
  return rc;
}

static int plain(void)
{
  return round_trip(NULL);
}

static int sealed(void)
{
  static const struct rp__key key = {.bytes = "0123456789", .id = "key"};
  return round_trip(&key);
}

static int renamed(struct rp__json doc, struct rp__buf *out, rp_error *err)
{
  (void)err;
  rp__buf_add(out, doc.p, doc.n);
  return 0;
}

static int migrated(void)
{
  static const struct rp__migration chain[] = {{1, renamed}, {2, renamed}, {0, NULL}};
  RP_AUTOFOLD struct rp__fold *f = NULL;
  RP_AUTOBUF struct rp__buf bytes = RP_BUF(10000), out = RP_BUF(10000);
  size_t raw;
  int rc = start(&f);
  if (rc) return rc;
  rc = rp__snapshot_encode(f, NULL, &fixed_random, AD, &bytes, &raw, NULL);
  return rc ? rc : rp__snapshot_open(bytes.p, bytes.n, NULL, AD, chain, 3, &out, NULL);
}

static void every_allocation_may_fail(void **state)
{
  (void)state;
  assert_true(alloc_enumerate(plain, RP_E_NOMEM) > 6);
  assert_true(alloc_enumerate(sealed, RP_E_NOMEM) > 8);
  assert_true(alloc_enumerate(migrated, RP_E_NOMEM) > 6);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
