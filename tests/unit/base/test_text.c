/* SPDX-License-Identifier: Apache-2.0 */
/* Clipping and showing of text. */
#include "scratch.h"

#include "base/text.h"

/* Every cut of a text of characters of one to four bytes ends between two of them. */
static void clip_keeps_characters_whole(void **state)
{
  (void)state;
  static const char text[] = "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80z";
  static const size_t whole[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11};
  for (size_t n = 0; n < RP_ARRAY_SIZE(whole); n++) assert_int_equal(rp__text_clip(text, n), whole[n]);
}

/* Bytes that are no UTF-8 are cut where they are: no loop, no reading before the start. */
static void clip_accepts_any_bytes(void **state)
{
  (void)state;
  assert_int_equal(rp__text_clip("\x80\x80\x80\x80\x80\x80", 6), 6);
  assert_int_equal(rp__text_clip("\x80\x80", 2), 2);
  assert_int_equal(rp__text_clip("\xff", 1), 0);
}

/* A cut leaves no half of a word: it may be a credential. */
static void clip_keeps_words_whole(void **state)
{
  (void)state;
  static const char text[] = "use key-1234\nhere";
  assert_int_equal(rp__text_clip_word(text, sizeof text - 1, 100), sizeof text - 1);
  assert_int_equal(rp__text_clip_word(text, sizeof text - 1, sizeof text - 1), sizeof text - 1);
  for (size_t max = 12; max < sizeof text - 1; max++)
    assert_int_equal(rp__text_clip_word(text, sizeof text - 1, max), 12);
  for (size_t max = 3; max < 12; max++) assert_int_equal(rp__text_clip_word(text, sizeof text - 1, max), 3);
  for (size_t max = 0; max < 3; max++) assert_int_equal(rp__text_clip_word(text, sizeof text - 1, max), 0);
}

/* What was given is told back whole or not at all. */
static void shown_is_never_cut(void **state)
{
  char text[RP_TEXT_SHOWN + 2];
  (void)state;
  memset(text, 'x', sizeof text);
  text[RP_TEXT_SHOWN] = '\0';
  assert_ptr_equal(rp__text_shown(text), text);
  text[RP_TEXT_SHOWN] = 'x';
  text[RP_TEXT_SHOWN + 1] = '\0';
  assert_null(strstr(rp__text_shown(text), "xx"));
}

/* What is no name and may hold a credential is not told back; a slip of the pen is. */
static void shown_tells_no_credential(void **state)
{
  static const char *const told[] = {"", "a b", "x/y", "no such", "12x", "2026-01-01", "ada:1", "-1"};
  static const char *const kept[] = {
      "DB_PASSWORD=hunter2xyz",  "password=swordfish", "postgres://ada:pw@db", "p@ss w0rd",
      "Authorization: Bearer x", "{\"secret\":\"x\"}", "Bearer abc123"};
  (void)state;
  for (size_t i = 0; i < RP_ARRAY_SIZE(told); i++) assert_ptr_equal(rp__text_shown(told[i]), told[i]);
  for (size_t i = 0; i < RP_ARRAY_SIZE(kept); i++) assert_string_not_equal(rp__text_shown(kept[i]), kept[i]);
}

static void copy_is_bounded(void **state)
{
  (void)state;
  char out[5];
  rp__text_copy(out, sizeof out, "abcd");
  assert_string_equal(out, "abcd");
  rp__text_copy(out, sizeof out, "abcde");
  assert_string_equal(out, "abcd");
  rp__text_copy(out, sizeof out, "abc\xc3\xa9");
  assert_string_equal(out, "abc");
  out[0] = 'x';
  rp__text_copy(out, 0, "abc");
  assert_int_equal(out[0], 'x');
  rp__text_copy(out, 1, "abc");
  assert_string_equal(out, "");
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(clip_keeps_characters_whole), cmocka_unit_test(clip_accepts_any_bytes),
      cmocka_unit_test(clip_keeps_words_whole),      cmocka_unit_test(shown_is_never_cut),
      cmocka_unit_test(shown_tells_no_credential),   cmocka_unit_test(copy_is_bounded),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
