/* SPDX-License-Identifier: Apache-2.0 */
/* UUIDv7 and names. */
#include "scratch.h"

#include "base/id.h"

static void fill_with(void *ctx, void *bytes, size_t n)
{
  memset(bytes, *(unsigned char *)ctx, n);
}

static void uuid_of_given_randomness(void **state)
{
  (void)state;
  char id[RP_UUID_TEXT];
  unsigned char byte = 0xff;
  struct rp__random r = {fill_with, &byte};
  rp__uuid7(id, 0x0123456789abLL, &r);
  assert_string_equal(id, "01234567-89ab-7fff-bfff-ffffffffffff");
  byte = 0;
  rp__uuid7(id, 0x0123456789abLL, &r);
  assert_string_equal(id, "01234567-89ab-7000-8000-000000000000");
  rp__uuid7(id, -5, &r);
  assert_string_equal(id, "00000000-0000-7000-8000-000000000000");
  rp__uuid7(id, (1LL << 48) - 1, &r);
  assert_string_equal(id, "ffffffff-ffff-7000-8000-000000000000");
}

static void uuids_differ_and_sort_by_time(void **state)
{
  (void)state;
  char id[RP_UUID_TEXT], last[RP_UUID_TEXT] = "";
  for (int i = 0; i < 1000; i++) {
    rp__uuid7(id, 1794790148123 + i, &rp__system_random);
    assert_true(strcmp(id, last) > 0);
    assert_int_equal(strspn(id, "0123456789abcdef-"), 36);
    assert_true(id[14] == '7' && strchr("89ab", id[19]));
    memcpy(last, id, sizeof id);
  }
  for (int i = 0; i < 1000; i++) {
    rp__uuid7(id, 1794790148123, &rp__system_random);
    assert_string_not_equal(id, last);
    memcpy(last, id, sizeof id);
  }
}

/* Each of the 74 random bits is seen both ways in 200 draws, or the odds are 2^-193. */
static void every_random_bit_is_random(void **state)
{
  (void)state;
  unsigned char ones[10] = {0}, zeros[10] = {0}, bytes[10];
  for (int i = 0; i < 200; i++) {
    rp__system_random.fill(rp__system_random.ctx, bytes, sizeof bytes);
    for (size_t k = 0; k < sizeof bytes; k++) {
      ones[k] |= bytes[k];
      zeros[k] |= (unsigned char)~bytes[k];
    }
  }
  for (size_t k = 0; k < sizeof bytes; k++) assert_true(ones[k] == 0xff && zeros[k] == 0xff);
}

static void names(void **state)
{
  (void)state;
  static const char *const good[] = {"a", "0", "nova", "a.b_c:d-e", "A1.", "x--", "018f-7c", "user:42"};
  static const char *const bad[] = {"",     ".a",  "-a",  "_a",   ":a",       "a/b",       "../../etc/passwd",
                                    "a..b", "a..", "a b", "a\nb", "\xc3\xa9", "a\xc3\xa9", "a%2e",
                                    "a\\b"};
  for (size_t i = 0; i < RP_ARRAY_SIZE(good); i++)
    if (!rp__name_ok(good[i])) fail_msg("refused: %s", good[i]);
  for (size_t i = 0; i < RP_ARRAY_SIZE(bad); i++)
    if (rp__name_ok(bad[i])) fail_msg("accepted: %s", bad[i]);
  assert_false(rp__name_ok(NULL));
}

static void names_have_at_most_128_bytes(void **state)
{
  (void)state;
  char name[130];
  memset(name, 'a', sizeof name);
  name[128] = '\0';
  assert_true(rp__name_ok(name));
  name[128] = 'a';
  name[129] = '\0';
  assert_false(rp__name_ok(name));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(uuid_of_given_randomness),     cmocka_unit_test(uuids_differ_and_sort_by_time),
      cmocka_unit_test(every_random_bit_is_random),   cmocka_unit_test(names),
      cmocka_unit_test(names_have_at_most_128_bytes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
