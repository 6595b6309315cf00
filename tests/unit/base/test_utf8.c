/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes that are not UTF-8, as decoders read them (O-05, B-04). */
#include "base/utf8.h"
#include "scratch.h"

#define X "\xef\xbf\xbd"

/* Each row as the WHATWG's decoder, and so TextDecoder, has it. */
static const struct {
  const char *bytes, *text;
} rows[] = {
    {"", ""},
    {"plain text, longer than a word", "plain text, longer than a word"},
    {"caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\xa6\xa6", "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\xa6\xa6"},
    {"caf\xe9", "caf" X},
    {"caf\xe9 au lait", "caf" X " au lait"},
    {"\xe2\x82", X},            /* cut off: one */
    {"\xe2\x82x", X "x"},       /* … and what follows stays */
    {"\xf0\x9f\xa6\"", X "\""}, /* the quote too */
    {"\xc3\"", X "\""},
    {"\x80\xbf", X X}, /* no beginning: one each */
    {"\xc0\xaf", X X}, /* overlong */
    {"\xe0\x80\xaf", X X X},
    {"\xed\xa0\x80", X X X},       /* a surrogate */
    {"\xf4\x90\x80\x80", X X X X}, /* above U+10FFFF */
    {"\xf0\x90\x80\xe2\x82\xac", X "\xe2\x82\xac"},
    {"\xff\xfe", X X},
};

static void read_as_decoders_do(void **state)
{
  (void)state;
  for (size_t i = 0; i < RP_ARRAY_SIZE(rows); i++) {
    RP_AUTOBUF struct rp__buf b = RP_BUF(100), same = RP_BUF(100);
    size_t n = strlen(rows[i].bytes);
    char *exact = strndup(rows[i].bytes, n);
    rp__utf8_mend(&b, exact, n);
    rp__buf_add(&same, exact, n);
    rp__utf8_mend_buf(&same);
    if (n) assert_string_equal(b.p, rows[i].text);
    if (n) assert_string_equal(same.p, rows[i].text);
    assert_int_equal(rp__utf8_ok(exact, n), strcmp(rows[i].bytes, rows[i].text) == 0);
    free(exact);
  }
}

/* Byte by byte the answer is that of the whole. */
static void pieces_are_read_as_the_whole(void **state)
{
  (void)state;
  for (size_t i = 0; i < RP_ARRAY_SIZE(rows); i++) {
    struct rp__utf8 u = {0};
    size_t n = strlen(rows[i].bytes), at = 0;
    while (at < n && rp__utf8_feed(&u, rows[i].bytes + at, 1)) at++;
    assert_int_equal(at == n && u.need == 0, rp__utf8_ok(rows[i].bytes, n));
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(read_as_decoders_do),
      cmocka_unit_test(pieces_are_read_as_the_whole),
  };
  return cmocka_run_group_tests_name("base utf8", tests, NULL, NULL);
}
