/* SPDX-License-Identifier: Apache-2.0 */
/* O-04, O-05: blobs as bytes; whatever a disk made of them, nothing wrong is given away. */
#include "container_test.h"

#include <zstd.h>

#include "core/container.h"

#define AD RP_STR("session-1/blob-1")
#define MAGIC "RPB1"
#define SEALED 1u
#define TEXT_MAX 3000000 /* more than the window of what compressed it */

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
  static const size_t sizes[] = {0, 1, 100, 131071, 131072, 131073, TEXT_MAX};
  struct rp__key key = key_of('a');
  rp_error err;
  RP_AUTOFREE char *text = malloc(TEXT_MAX);
  (void)state;
  for (size_t i = 0; i < TEXT_MAX; i++) text[i] = (char)(i * i >> 7);
  for (size_t i = 0; i < 2 * RP_ARRAY_SIZE(sizes); i++) {
    size_t n = sizes[i / 2];
    const struct rp__key *k = i % 2 ? &key : NULL;
    RP_AUTOBUF struct rp__buf packed = RP_BUF(RP_PACK_MAX), out = RP_BUF(RP_BLOB_MAX);
    pack(text, n, k, &packed);
    assert_int_equal(unpack(packed.p, packed.n, k, AD, &out, &err), 0);
    assert_int_equal(out.n, n);
    if (n) assert_memory_equal(out.p, text, n);
    assert_layout(&packed, MAGIC, k ? SEALED : 0, n);
  }
}

/* O-02: what 0.1.0 stored; never to be made again from the code of today. */
static void test_on_disks(void **state)
{
  static const char text[] = "what an agent read, read, read, read, read and read";
  static const char *const stored[] = {
      "5250423100000000330000002b000000ad4edcb6250e67ada56a29e41a89af8228b52ffd2033150100e07768617420616e20"
      "6167656e7420726561642c20616e6420726561640100539730",
      "5250423101000000330000005c00000074ce35aed229692e4ec1391f5acc28c2a7518bcbcd2ec1b501070707070707070707"
      "070707070707070707070707070707c513e4082a7063574735a34ebfde6ee26c4f676667348edbabfae0a594be5521be38e1"
      "2bfa73337c7f1841fd39bc54ec2d7ca947ffb362074189e6",
  };
  struct rp__key key = key_of('a');
  rp_error err;
  (void)state;
  for (size_t i = 0; i < RP_ARRAY_SIZE(stored); i++) {
    RP_AUTOBUF struct rp__buf packed = RP_BUF(1000), out = RP_BUF(1000);
    from_hex(stored[i], &packed);
    assert_int_equal(unpack(packed.p, packed.n, &key, AD, &out, &err), 0);
    assert_string_equal(out.p, text);
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

/* Headers that fit and say something else than what follows. */
static void test_hostile(void **state)
{
  static char zeros[1 << 20];
  RP_AUTOFREE char *bomb = malloc(ZSTD_compressBound(sizeof zeros));
  RP_AUTOBUF struct rp__buf packed = RP_BUF(RP_PACK_MAX), out = RP_BUF(RP_BLOB_MAX);
  rp_error err;
  (void)state;
  size_t n = ZSTD_compress(bomb, ZSTD_compressBound(sizeof zeros), zeros, sizeof zeros, 3);
  wrap(&packed, MAGIC, 0, sizeof zeros, bomb, n);
  assert_int_equal(unpack(packed.p, packed.n, NULL, AD, &out, &err), 0);
  static const uint32_t sizes[] = {0, 10, sizeof zeros - 1, sizeof zeros + 1, (64u << 20) + 1, 0xffffffff};
  for (size_t i = 0; i < RP_ARRAY_SIZE(sizes); i++) {
    wrap(&packed, MAGIC, 0, sizes[i], bomb, n);
    assert_int_equal(unpack(packed.p, packed.n, NULL, AD, &out, &err), RP_E_CORRUPT);
    assert_true(out.n <= RP_MIN(sizes[i], sizeof zeros));
  }
  wrap(&packed, MAGIC, 0, sizeof zeros, bomb, n - 1);
  assert_int_equal(unpack(packed.p, packed.n, NULL, AD, &out, &err), RP_E_CORRUPT);
  wrap(&packed, MAGIC, 0, 5, "no zstd", 7);
  assert_int_equal(unpack(packed.p, packed.n, NULL, AD, &out, &err), RP_E_CORRUPT);
  wrap(&packed, MAGIC, 0, 0, "", 0);
  assert_int_equal(unpack(packed.p, packed.n, NULL, AD, &out, &err), RP_E_CORRUPT);
  wrap(&packed, MAGIC, 2, sizeof zeros, bomb, n);
  assert_int_equal(unpack(packed.p, packed.n, NULL, AD, &out, &err), RP_E_VERSION);
}

/* A frame asks for as much memory as its window; what asks for more than was ever written gets none. */
static void test_window(void **state)
{
  char frame[100];
  RP_AUTOBUF struct rp__buf packed = RP_BUF(1000), out = RP_BUF(1000);
  rp_error err;
  (void)state;
  for (int log = 21; log <= 27; log += 6) {
    ZSTD_CCtx *z = ZSTD_createCCtx();
    ZSTD_inBuffer in = {"text", 4, 0};
    ZSTD_outBuffer to = {frame, sizeof frame, 0};
    assert_false(ZSTD_isError(ZSTD_CCtx_setParameter(z, ZSTD_c_windowLog, log)));
    while (in.pos < in.size) assert_false(ZSTD_isError(ZSTD_compressStream2(z, &to, &in, ZSTD_e_continue)));
    assert_int_equal(ZSTD_compressStream2(z, &to, &in, ZSTD_e_end), 0);
    ZSTD_freeCCtx(z);
    wrap(&packed, MAGIC, 0, 4, frame, to.pos);
    assert_int_equal(unpack(packed.p, packed.n, NULL, AD, &out, &err), log > 23 ? RP_E_CORRUPT : 0);
  }
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
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_there_and_back), cmocka_unit_test(test_on_disks),
                                     cmocka_unit_test(test_damage),         cmocka_unit_test(test_keys),
                                     cmocka_unit_test(test_hostile),        cmocka_unit_test(test_limits),
                                     cmocka_unit_test(test_window)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
