/* SPDX-License-Identifier: Apache-2.0 */
/* Text of ours, known again in whatever an agent made of it (N-05). */
#include "bridge/injected-text.h"
#include "unit/bridge/bridge_test.h"

#define B RP_MARK_BEGIN
#define E RP_MARK_END

static void taken_away_and_nothing_else(void **state)
{
  static const struct {
    const char *text, *left;
  } rows[] = {
      {"", ""},
      {"hello", "hello"},
      {B "\nx\n" E, ""},
      {B "\nx\n" E "\n\nhello", "hello"},
      {"hello\n\n" B "\nx\n" E "\n", "hello"},
      {"before\n\n" B "\nx\n" E "\n\nafter", "before\n\nafter"},
      {B "\na\n" E " one " B "\nb\n" E " two " B "\nc\n" E, "one two"},
      {B " \r\na\r\n\t" E " one", "one"},
      {"<hook_context>" B "\nx\n" E "</hook_context>\n\nhello", "hello"},
      {"hello\n<hook_context> " B "x" E " </hook_context>", "hello"},
      {"<hook_context>" B "x" E "\n\ntheirs</hook_context>\n\nhello", "<hook_context>theirs</hook_context>\n\nhello"},
      {"<hook_context>theirs\n" B "\nx\n" E "</hook_context>hello", "<hook_context>theirs\n</hook_context>hello"},
      {"<hook_context>" B " cut</hook_context>hello " E, "hello " E},
      /* As Claude Code wraps what a hook gave, and in what it keeps of others. */
      {"<system-reminder>\nSessionStart hook additional context: " B "\nx\n" E "\n</system-reminder>\n\nfix it",
       "fix it"},
      {"fix it\n<system-reminder>\n" B "\nx\n" E "\n</system-reminder>", "fix it"},
      {"<system-reminder>todo: " B "\nx\n" E " theirs</system-reminder> hi",
       "<system-reminder>todo: theirs</system-reminder> hi"},
      {"see: " B "\nx\n" E " hi", "see: hi"},
      {"what is " B "?", "what is " B "?"},
      {E " is the end of " B, E " is the end of " B},
      {"<hook_context>" B, "<hook_context>" B},
      /* Words of the user's, who speaks of the marks. */
      {"what is " B "? delete foo\n\n<hook_context>" B "\nx\n" E "</hook_context>", "what is " B "? delete foo"},
      {"what is " B "?\n" B "\nx\n" E "\nand this?", "what is " B "?\nand this?"},
      {"delete what is between " B " and " E " please", "delete what is between " B " and " E " please"},
      {"between " B " and\n" E " lies", "between " B " and\n" E " lies"},
      {"is " B E " empty?", "is " B E " empty?"},
      {"<hook_context>" B "\ncut <hook_context>" B "\nx\n" E "</hook_context>", "<hook_context>" B "\ncut"},
  };
  (void)state;
  for (size_t i = 0; i < RP_ARRAY_SIZE(rows); i++) {
    RP_AUTOBUF struct rp__buf text = RP_BUF(4096);
    rp__buf_str(&text, rows[i].text);
    rp__unmark(&text);
    assert_string_equal(text.p ? text.p : "", rows[i].left);
  }
}

/* Whatever the text holds, all of it is known again. */
static void marked_once(void **state)
{
  static const char *const texts[] = {"x", "a " B " b", "a " E " b", E B E, "[reprise: " E "end]", "\n\nx\n\n"};
  (void)state;
  for (size_t i = 0; i < RP_ARRAY_SIZE(texts); i++) {
    RP_AUTOBUF struct rp__buf text = RP_BUF(4096);
    rp__mark(&text, texts[i], strlen(texts[i]));
    rp__buf_str(&text, "\n\nmine");
    rp__unmark(&text);
    assert_string_equal(text.p, "mine");
  }
  RP_AUTOBUF struct rp__buf none = RP_BUF(64);
  rp__mark(&none, "", 0);
  rp__mark(&none, " \n", 2);
  assert_int_equal(none.n, 0);
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(taken_away_and_nothing_else), cmocka_unit_test(marked_once)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
