/* SPDX-License-Identifier: Apache-2.0 */
/* O-04, O-05: blobs as bytes; whatever a disk made of them, nothing wrong is given away. */
#include "core_test.h"

#include <sodium.h>
#include <zstd.h>

#include "core/pack.h"

#define AD RP_STR("session-1/blob-1")

static struct rp__key key_of(char fill)
{
  struct rp__key k;
  char text[65] = {0};
  memset(text, fill, 64);
  assert_int_equal(rp__key_parse(text, 64, &k, NULL), 0);
  return k;
}

static int add(void *ctx, const void *bytes, size_t n)
{
  rp__buf_add(ctx, bytes, n);
  return 0;
}

static void pack(const char *text, size_t n, const struct rp__key *key, struct rp__buf *out)
{
  assert_int_equal(rp__pack(text, n, key, &fixed_random, AD, out, NULL), 0);
}

/* From a copy of exactly that size, so that reading beyond it shows. */
static int unpack(const char *bytes, size_t n, const struct rp__key *key, struct rp__str ad, struct rp__buf *out,
                  rp_error *err)
{
  RP_AUTOFREE char *copy = malloc(n ? n : 1);
  if (n) memcpy(copy, bytes, n);
  *err = (rp_error){0};
  rp__buf_reset(out);
  int rc = rp__unpack(copy, n, key, ad, add, out, err);
  assert_int_equal(rc, err->code);
  return rc;
}

static void test_there_and_back(void **state)
{
  static const size_t sizes[] = {0, 1, 100, 131071, 131072, 131073, 1000000};
  struct rp__key key = key_of('a');
  rp_error err;
  RP_AUTOFREE char *text = malloc(1000000);
  (void)state;
  for (size_t i = 0; i < 1000000; i++) text[i] = (char)(i * i >> 7);
  for (size_t i = 0; i < 2 * RP_ARRAY_SIZE(sizes); i++) {
    size_t n = sizes[i / 2];
    const struct rp__key *k = i % 2 ? &key : NULL;
    RP_AUTOBUF struct rp__buf packed = RP_BUF(RP_PACK_MAX), out = RP_BUF(RP_BLOB_MAX);
    pack(text, n, k, &packed);
    assert_int_equal(unpack(packed.p, packed.n, k, AD, &out, &err), 0);
    assert_int_equal(out.n, n);
    if (n) assert_memory_equal(out.p, text, n);
  }
}

/* Every byte changed, every length cut: told, and not a byte given. */
static void test_damage(void **state)
{
  static const char text[] = "what an agent read, read, read, read, read and read";
  struct rp__key key = key_of('a');
  rp_error err;
  (void)state;
  for (int sealed = 0; sealed < 2; sealed++) {
    RP_AUTOBUF struct rp__buf packed = RP_BUF(RP_PACK_MAX), out = RP_BUF(RP_BLOB_MAX);
    pack(text, sizeof text, sealed ? &key : NULL, &packed);
    for (size_t i = 0; i < packed.n; i++) {
      packed.p[i] ^= 0x20;
      assert_int_equal(unpack(packed.p, packed.n, &key, AD, &out, &err), RP_E_CORRUPT);
      packed.p[i] ^= 0x20;
      assert_int_equal(unpack(packed.p, i, &key, AD, &out, &err), RP_E_CORRUPT);
      assert_int_equal(out.n, 0);
    }
    rp__buf_char(&packed, 'x');
    assert_int_equal(unpack(packed.p, packed.n, &key, AD, &out, &err), RP_E_CORRUPT);
  }
}

static void test_keys(void **state)
{
  struct rp__key key = key_of('a'), other = key_of('b');
  rp_error err;
  RP_AUTOBUF struct rp__buf packed = RP_BUF(RP_PACK_MAX), out = RP_BUF(RP_BLOB_MAX);
  (void)state;
  pack("Quagmire", 8, &key, &packed);
  assert_null(memmem(packed.p, packed.n, "Quagmire", 8));
  assert_int_equal(unpack(packed.p, packed.n, NULL, AD, &out, &err), RP_E_KEY_MISSING);
  assert_int_equal(unpack(packed.p, packed.n, &other, AD, &out, &err), RP_E_KEY_WRONG);
  assert_int_equal(unpack(packed.p, packed.n, &key, RP_STR("session-1/blob-2"), &out, &err), RP_E_CORRUPT);
  assert_int_equal(unpack(packed.p, packed.n, &key, AD, &out, &err), 0);
}

/* A container around any payload, made as the format says. */
static void wrap(struct rp__buf *out, unsigned flags, uint64_t raw, const void *payload, size_t n)
{
  unsigned char head[32] = "RPB1";
  crypto_generichash_state st;
  for (unsigned i = 0; i < 4; i++) {
    head[4 + i] = (unsigned char)(flags >> 8 * i);
    head[8 + i] = (unsigned char)(raw >> 8 * i);
    head[12 + i] = (unsigned char)(n >> 8 * i);
  }
  crypto_generichash_init(&st, NULL, 0, 16);
  crypto_generichash_update(&st, head, 16);
  crypto_generichash_update(&st, payload, n);
  crypto_generichash_final(&st, head + 16, 16);
  rp__buf_reset(out);
  rp__buf_add(out, head, sizeof head);
  rp__buf_add(out, payload, n);
}

/* Headers that fit and say something else than what follows. */
static void test_hostile(void **state)
{
  static char zeros[1 << 20];
  RP_AUTOFREE char *bomb = malloc(ZSTD_compressBound(sizeof zeros));
  RP_AUTOBUF struct rp__buf packed = RP_BUF(RP_PACK_MAX), out = RP_BUF(RP_BLOB_MAX);
  rp_error err;
  (void)state;
  size_t n = ZSTD_compress(bomb, ZSTD_compressBound(sizeof zeros), zeros, sizeof zeros, 3);
  wrap(&packed, 0, sizeof zeros, bomb, n);
  assert_int_equal(unpack(packed.p, packed.n, NULL, AD, &out, &err), 0);
  static const uint64_t sizes[] = {0, 10, sizeof zeros - 1, sizeof zeros + 1, (64u << 20) + 1, 0xffffffff};
  for (size_t i = 0; i < RP_ARRAY_SIZE(sizes); i++) {
    wrap(&packed, 0, sizes[i], bomb, n);
    assert_int_equal(unpack(packed.p, packed.n, NULL, AD, &out, &err), RP_E_CORRUPT);
    assert_true(out.n <= RP_MIN(sizes[i], sizeof zeros));
  }
  wrap(&packed, 0, sizeof zeros, bomb, n - 1);
  assert_int_equal(unpack(packed.p, packed.n, NULL, AD, &out, &err), RP_E_CORRUPT);
  wrap(&packed, 0, 5, "no zstd", 7);
  assert_int_equal(unpack(packed.p, packed.n, NULL, AD, &out, &err), RP_E_CORRUPT);
  wrap(&packed, 0, 0, "", 0);
  assert_int_equal(unpack(packed.p, packed.n, NULL, AD, &out, &err), RP_E_CORRUPT);
  wrap(&packed, 2, sizeof zeros, bomb, n);
  assert_int_equal(unpack(packed.p, packed.n, NULL, AD, &out, &err), RP_E_VERSION);
}

static int stop(void *ctx, const void *bytes, size_t n)
{
  (void)bytes, (void)n;
  return ++*(int *)ctx == 3 ? 77 : 0;
}

static void test_limits(void **state)
{
  rp_error err = {0};
  RP_AUTOBUF struct rp__buf packed = RP_BUF(RP_PACK_MAX), small = RP_BUF(20);
  RP_AUTOFREE char *text = calloc(1, 1000000);
  int calls = 0;
  (void)state;
  assert_int_equal(rp__pack(text, RP_BLOB_MAX + 1, NULL, &fixed_random, AD, &packed, &err), RP_E_TOO_LARGE);
  assert_int_equal(rp__pack(text, 100, NULL, &fixed_random, AD, &small, &err), RP_E_TOO_LARGE);
  assert_int_equal(small.n, 0);
  pack(text, 1000000, NULL, &packed);
  assert_int_equal(rp__unpack(packed.p, packed.n, NULL, AD, stop, &calls, &err), 77);
  assert_int_equal(calls, 3);
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_there_and_back), cmocka_unit_test(test_damage),
                                     cmocka_unit_test(test_keys), cmocka_unit_test(test_hostile),
                                     cmocka_unit_test(test_limits)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
