/* SPDX-License-Identifier: Apache-2.0 */
/* Log lines reach the callback, cut at a character. */
#include "scratch.h"

#include "base/log.h"

struct heard {
  int calls;
  rp_log_level level;
  char text[4096];
};

static void listen(void *ctx, rp_log_level level, const char *text)
{
  struct heard *h = ctx;
  h->calls++;
  h->level = level;
  snprintf(h->text, sizeof h->text, "%s", text);
}

static void passes_level_and_text(void **state)
{
  (void)state;
  struct heard h = {0};
  struct rp__log log = {listen, &h};
  rp__log(&log, RP_LOG_WARN, "run %d of %s\nended", 3, "nova");
  assert_int_equal(h.calls, 1);
  assert_int_equal(h.level, RP_LOG_WARN);
  assert_string_equal(h.text, "run 3 of nova ended");
}

static void long_text_is_cut_at_a_character(void **state)
{
  (void)state;
  struct heard h = {0};
  struct rp__log log = {listen, &h};
  char text[2001] = "";
  for (int i = 0; i < 1000; i++) memcpy(text + 2 * i, "\xc3\xa9", 2);
  rp__log(&log, RP_LOG_DEBUG, "%s", text);
  assert_int_equal(strlen(h.text) % 2, 0);
  assert_true(strlen(h.text) >= 500 && strlen(h.text) < sizeof text);
}

static void nobody_need_listen(void **state)
{
  (void)state;
  struct rp__log silent = {0};
  rp__log(&silent, RP_LOG_ERROR, "x");
  rp__log(NULL, RP_LOG_ERROR, "x");
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(passes_level_and_text),
      cmocka_unit_test(long_text_is_cut_at_a_character),
      cmocka_unit_test(nobody_need_listen),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
