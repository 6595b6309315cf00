/* SPDX-License-Identifier: Apache-2.0 */
/* Suggestions for mistyped words. */
#include "cli_test.h"

static void near_words_are_found(void **state)
{
  (void)state;
  static const char *const names[] = {"start", "stats", "state", "search", "show", "ls", "log", "checkpoint", NULL};
  static const struct {
    const char *word, *near;
  } cases[] = {
      {"strat", "start"},      {"stat", "stats"},          {"serach", "search"}, {"chekpoint", "checkpoint"},
      {"check", "checkpoint"}, {"shwo", "show"},           {"l", NULL},          {"lss", "ls"},
      {"start", "start"},      {"completely-other", NULL}, {"", NULL},           {"xyz", NULL},
      {"foo", NULL},
  };
  for (size_t i = 0; i < RP_ARRAY_SIZE(cases); i++) {
    const char *near = rp__suggest(cases[i].word, names);
    if (cases[i].near) assert_non_null(near);
    if (cases[i].near)
      assert_string_equal(near, cases[i].near);
    else
      assert_null(near);
  }
}

static void long_words_are_harmless(void **state)
{
  (void)state;
  static const char *const names[] = {"start", NULL};
  char word[4096];
  memset(word, 's', sizeof(word) - 1);
  word[sizeof(word) - 1] = '\0';
  assert_null(rp__suggest(word, names));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(near_words_are_found),
      cmocka_unit_test(long_words_are_harmless),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
