/* SPDX-License-Identifier: Apache-2.0 */
/* O-04: sealing; a wrong key, a missing key and damage are three things. */
#include "core_test.h"

#include <sodium.h>

#include "core/seal.h"

#define AD RP_STR("session-1/event")

static struct rp__key key_of(const char *text)
{
  struct rp__key k;
  assert_int_equal(rp__key_parse(text, strlen(text), &k, NULL), 0);
  return k;
}

static struct rp__key one(void)
{
  return key_of("000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f");
}

static void opens_what_it_sealed(void **state)
{
  (void)state;
  struct rp__key k = one();
  static const size_t sizes[] = {0, 1, 100, 70000};
  for (size_t i = 0; i < RP_ARRAY_SIZE(sizes); i++) {
    RP_AUTOFREE char *plain = malloc(sizes[i] + 1);
    memset(plain, 'p', sizes[i] + 1);
    RP_AUTOBUF struct rp__buf sealed = RP_BUF(100000), back = RP_BUF(100000);
    assert_int_equal(rp__seal(&k, &rp__system_random, AD, plain, sizes[i], &sealed), 0);
    assert_int_equal(sealed.n, sizes[i] + RP_SEAL_OVERHEAD);
    if (sizes[i] >= 100) assert_null(memmem(sealed.p, sealed.n, plain, 16));
    assert_int_equal(rp__unseal(&k, AD, sealed.p, sealed.n, &back, NULL), 0);
    assert_int_equal(back.n, sizes[i]);
    assert_memory_equal(back.p, plain, sizes[i]);
    assert_int_equal(back.p[back.n], 0);
  }
}

static void two_seals_of_the_same_text_differ(void **state)
{
  (void)state;
  struct rp__key k = one();
  RP_AUTOBUF struct rp__buf a = RP_BUF(1000), b = RP_BUF(1000);
  rp__seal(&k, &rp__system_random, AD, "hello", 5, &a);
  rp__seal(&k, &rp__system_random, AD, "hello", 5, &b);
  assert_int_equal(a.n, b.n);
  assert_memory_not_equal(a.p, b.p, a.n);
}

static void tells_wrong_keys_missing_keys_and_damage_apart(void **state)
{
  (void)state;
  struct rp__key k = one(), other = key_of("a secret of at least thirty-two bytes, so it will do");
  RP_AUTOBUF struct rp__buf sealed = RP_BUF(1000), out = RP_BUF(1000);
  rp_error err = {0};
  assert_int_equal(rp__seal(&k, &fixed_random, AD, "the plain text", 14, &sealed), 0);
  assert_int_equal(rp__unseal(NULL, AD, sealed.p, sealed.n, &out, &err), RP_E_KEY_MISSING);
  assert_int_equal(err.code, RP_E_KEY_MISSING);
  assert_true(err.hint[0]);
  assert_int_equal(rp__unseal(&other, AD, sealed.p, sealed.n, &out, &err), RP_E_KEY_WRONG);
  assert_int_equal(rp__unseal(&k, RP_STR("session-2/event"), sealed.p, sealed.n, &out, &err), RP_E_CORRUPT);
  for (size_t n = 0; n < sealed.n; n++) assert_int_equal(rp__unseal(&k, AD, sealed.p, n, &out, &err), RP_E_CORRUPT);
  for (size_t i = 0; i < sealed.n; i++) {
    sealed.p[i] = (char)(sealed.p[i] ^ 0x20);
    bool in_key_id = i >= 1 && i < 1 + RP_KEY_ID;
    assert_int_equal(rp__unseal(&k, AD, sealed.p, sealed.n, &out, &err), in_key_id ? RP_E_KEY_WRONG : RP_E_CORRUPT);
    sealed.p[i] = (char)(sealed.p[i] ^ 0x20);
  }
  assert_int_equal(out.n, 0);
  assert_int_equal(rp__unseal(&k, AD, sealed.p, sealed.n, &out, &err), 0);
}

static void output_is_bounded(void **state)
{
  (void)state;
  struct rp__key k = one();
  RP_AUTOBUF struct rp__buf sealed = RP_BUF(1000), small = RP_BUF(20);
  assert_int_equal(rp__seal(&k, &fixed_random, AD, "0123456789", 10, &small), RP_E_TOO_LARGE);
  rp__buf_reset(&small);
  assert_int_equal(rp__seal(&k, &fixed_random, AD, "0123456789012345678901234567890", 31, &sealed), 0);
  assert_int_equal(rp__unseal(&k, AD, sealed.p, sealed.n, &small, NULL), RP_E_TOO_LARGE);
}

static void keys_from_text(void **state)
{
  (void)state;
  struct rp__key hex = one(), upper = key_of("000102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F"),
                 spaced = key_of("\n 000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\r\n"),
                 text = key_of("zz0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f");
  for (unsigned i = 0; i < RP_KEY_BYTES; i++) assert_int_equal(hex.bytes[i], i);
  assert_memory_equal(&hex, &upper, sizeof hex);
  assert_memory_equal(&hex, &spaced, sizeof hex);
  assert_memory_not_equal(hex.id, text.id, RP_KEY_ID);
  assert_memory_not_equal(hex.id, hex.bytes, RP_KEY_ID);

  struct rp__key untouched = {.id = "1234567"}, copy = untouched;
  rp_error err = {0};
  static const char *const bad[] = {"", "   \n", "short", "31 bytes are one byte too few.."};
  for (size_t i = 0; i < RP_ARRAY_SIZE(bad); i++) {
    assert_int_equal(rp__key_parse(bad[i], strlen(bad[i]), &untouched, &err), RP_E_CONFIG);
    assert_string_equal(err.field, "key_file");
  }
  assert_memory_equal(&untouched, &copy, sizeof copy);
  rp__key_wipe(&hex);
  assert_true(sodium_is_zero(hex.bytes, sizeof hex.bytes));
}

static void checksums(void **state)
{
  (void)state;
  char bytes[] = "some bytes that may be damaged";
  uint64_t sum = rp__checksum(bytes, sizeof bytes, 1);
  assert_int_equal(rp__checksum(bytes, sizeof bytes, 1), sum);
  assert_int_not_equal(rp__checksum(bytes, sizeof bytes, 2), sum);
  assert_int_not_equal(rp__checksum(bytes, sizeof bytes - 1, 1), sum);
  for (size_t i = 0; i < 8 * sizeof bytes; i++) {
    bytes[i / 8] = (char)(bytes[i / 8] ^ (1 << i % 8));
    assert_int_not_equal(rp__checksum(bytes, sizeof bytes, 1), sum);
    bytes[i / 8] = (char)(bytes[i / 8] ^ (1 << i % 8));
  }
  /* Stored sums outlive programs: this value may never change. */
  assert_true(rp__checksum("reprise", 7, 42) == 0xc40a6aac71490558ULL);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(opens_what_it_sealed),
      cmocka_unit_test(two_seals_of_the_same_text_differ),
      cmocka_unit_test(tells_wrong_keys_missing_keys_and_damage_apart),
      cmocka_unit_test(output_is_bounded),
      cmocka_unit_test(keys_from_text),
      cmocka_unit_test(checksums),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
