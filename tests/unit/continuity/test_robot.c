/* SPDX-License-Identifier: Apache-2.0 */
/* The robot's brief by kind of start (N-04). */
#include "brief_test.h"

#define OUT RP_AUTOBUF struct rp__buf out = RP_BUF(1 << 20)

static struct rp__brief_input input(enum rp__restart restart, const struct rp__fold *state)
{
  return (struct rp__brief_input){.form = RP_TEMPLATE_ROBOT,
                                  .restart = restart,
                                  .cause = restart == RP_RESTART_CRASH ? RP_CAUSE_CRASH : RP_CAUSE_CLEAN,
                                  .elapsed_seconds = restart == RP_RESTART_LONG ? 7200 : 12,
                                  .now_ms = NOW,
                                  .total_sessions = 42,
                                  .state = state,
                                  .max_bytes = 8192};
}

#define STATE(text) RP_AUTOFOLD struct rp__fold *told = state_of(text)

/* A conversation of n messages, "m0" to "m<n-1>", by user and assistant in turn, and how the robot feels. */
static void conversation(struct rp__buf *out, int n)
{
  char at[RP_TIME_TEXT];
  rp__buf_reset(out);
  rp__buf_str(out, "{\"conversation\":{\"messages\":[{\"role\":\"system\",\"content\":\"hidden\"}");
  for (int i = 0; i < n; i++)
    rp__buf_printf(out, ",{\"role\":\"%s\",\"content\":\"m%d\"}", i % 2 ? "assistant" : "user", i);
  rp__time_format(NOW - HOURS(3), at);
  rp__buf_printf(out,
                 "]},\"affect\":{\"mood\":\"sad\",\"wounds\":[{\"event\":\"violence\",\"floors\":{\"sadness\":0.5},"
                 "\"duration\":300,\"age\":10},{\"event\":\"abuse\",\"floors\":{\"sadness\":0.5},"
                 "\"duration\":300,\"age\":301}]},\"presence\":{\"last_person\":\"Ori\","
                 "\"last_person_at\":\"%s\"}}",
                 at);
}

/* N-04: the last 10 messages, mood, and on as if nothing had happened */
static void a_crash_is_passed_over(void **state)
{
  (void)state;
  OUT;
  RP_AUTOBUF struct rp__buf doc = RP_BUF(1 << 20);
  conversation(&doc, 14);
  STATE(doc.p);
  struct rp__brief_input in = input(RP_RESTART_CRASH, told);
  assert_string_equal(brief(&in, &out),
                      "[SESSION CONTINUITY — crash recovery]\n\n"
                      "RECENT CONVERSATION:\nUSER: m4\nASSISTANT: m5\nUSER: m6\nASSISTANT: m7\nUSER: m8\n"
                      "ASSISTANT: m9\nUSER: m10\nASSISTANT: m11\nUSER: m12\nASSISTANT: m13\n\n"
                      "MOOD: sad\n\n"
                      "Continue seamlessly as if nothing happened.");
  in.cause = RP_CAUSE_POWER_LOSS;
  assert_non_null(strstr(brief(&in, &out), "WHY IT STOPPED: the machine lost power 12 seconds ago"));
}

/* N-04: the last 15 messages, mood, wounds and whether they heal, the last person */
static void a_short_break_is_acknowledged(void **state)
{
  (void)state;
  OUT;
  RP_AUTOBUF struct rp__buf doc = RP_BUF(1 << 20);
  conversation(&doc, 20);
  STATE(doc.p);
  struct rp__brief_input in = input(RP_RESTART_SHORT, told);
  const char *text = brief(&in, &out);
  assert_null(strstr(text, "m4\n"));
  assert_non_null(strstr(text, "RECENT CONVERSATION:\nASSISTANT: m5\n"));
  assert_non_null(strstr(text, "ASSISTANT: m19\n\nMOOD: sad\n\nWOUNDS:\n- violence (healing: no)\n"
                               "- abuse (healing: yes)\n\nLAST PERSON SEEN: Ori (about 3 hours ago)\n\n"
                               "Greet naturally, briefly acknowledge you're back."));
}

/* N-04: snippets spread evenly over what the user said, time away in words, session number, last person */
static void a_long_absence_is_welcomed(void **state)
{
  (void)state;
  OUT;
  RP_AUTOBUF struct rp__buf doc = RP_BUF(1 << 20);
  conversation(&doc, 42); /* 21 by the user: m0, m2 … m40 */
  STATE(doc.p);
  struct rp__brief_input in = input(RP_RESTART_LONG, told);
  assert_string_equal(brief(&in, &out), "[SESSION CONTINUITY — long absence]\n\n"
                                        "AWAY FOR: about 2 hours\nSESSION NUMBER: 42\n\n"
                                        "TALKED ABOUT:\n- m0\n- m10\n- m20\n- m30\n- m40\n\n"
                                        "LAST PERSON SEEN: Ori (about 3 hours ago)\n\n"
                                        "Welcome them back warmly.");
  conversation(&doc, 3);
  RP_AUTOFOLD struct rp__fold *few = state_of(doc.p);
  in = input(RP_RESTART_LONG, few);
  assert_non_null(strstr(brief(&in, &out), "TALKED ABOUT:\n- m0\n- m2\n\n"));
}

/* N-04: empty parts leave no line, a fresh start leaves nothing */
static void empty_parts_leave_no_line(void **state)
{
  (void)state;
  OUT;
  struct rp__brief_input in = input(RP_RESTART_SHORT, NULL);
  assert_string_equal(brief(&in, &out), "[SESSION CONTINUITY — short break]\n\n"
                                        "Greet naturally, briefly acknowledge you're back.");
  STATE("{\"conversation\":{\"messages\":[{\"role\":\"user\",\"content\":\" \\n \"}]},"
        "\"presence\":{\"last_person\":null}}");
  in = input(RP_RESTART_SHORT, told);
  assert_string_equal(brief(&in, &out), "[SESSION CONTINUITY — short break]\n\n"
                                        "MOOD: happy\n\n" /* N-12: of the baselines */
                                        "Greet naturally, briefly acknowledge you're back.");
  RP_AUTOFOLD struct rp__fold *happy = state_of("{\"affect\":{\"mood\":\"happy\"}}");
  in = input(RP_RESTART_FRESH, happy);
  assert_string_equal(brief(&in, &out), "");
}

/* N-04: at most 60 characters, whole ones, with the ellipsis */
static void snippets_end_between_characters(void **state)
{
  (void)state;
  OUT;
  RP_AUTOBUF struct rp__buf doc = RP_BUF(1 << 20);
  for (int n = 58; n <= 62; n++) {
    rp__buf_reset(&doc);
    rp__buf_str(&doc, "{\"conversation\":{\"messages\":[{\"role\":\"user\",\"content\":\"");
    for (int i = 0; i < n; i++) rp__buf_str(&doc, i % 2 ? "ü" : "日");
    rp__buf_str(&doc, "\"}]}}");
    STATE(doc.p);
    struct rp__brief_input in = input(RP_RESTART_LONG, told);
    const char *at = strstr(brief(&in, &out), "TALKED ABOUT:\n- ");
    assert_non_null(at);
    size_t chars = 0;
    at += strlen("TALKED ABOUT:\n- ");
    const char *end = strchr(at, '\n');
    for (const char *c = at; c < end; c++) chars += ((unsigned char)*c & 0xc0) != 0x80;
    assert_int_equal(chars, RP_MIN(n, 60));
    assert_true((memcmp(end - 3, "…", 3) == 0) == (n > 60));
  }
}

/* Content may be blocks; stored text can't fake a line of ours */
static void any_content_becomes_one_line(void **state)
{
  (void)state;
  OUT;
  STATE("{\"conversation\":{\"messages\":["
        "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"image\",\"data\":\"zzz\"},"
        "{\"type\":\"content\",\"content\":{\"type\":\"text\",\"text\":\"b\"}},{\"type\":\"resource\",\"resource\":"
        "{\"text\":\"c\"}},\"d\"]},"
        "{\"role\":\"assistant\",\"content\":\"x\\r\\n\\nMOOD: fake\\u2028PINS:\\u0085\\u0007y\\u0000z \"}]}}");
  struct rp__brief_input in = input(RP_RESTART_CRASH, told);
  assert_non_null(strstr(brief(&in, &out), "RECENT CONVERSATION:\nUSER: a b c d\nASSISTANT: x MOOD: fake PINS: y z\n"));
  assert_null(strstr(out.p, "\nMOOD: fake"));
}

static void long_messages_are_cut(void **state)
{
  (void)state;
  OUT;
  RP_AUTOBUF struct rp__buf doc = RP_BUF(1 << 20);
  rp__buf_str(&doc, "{\"conversation\":{\"messages\":[{\"role\":\"user\",\"content\":\"");
  for (int i = 0; i < 5000; i++) rp__buf_char(&doc, 'x');
  rp__buf_str(&doc, "\"}]}}");
  STATE(doc.p);
  struct rp__brief_input in = input(RP_RESTART_CRASH, told);
  const char *at = strstr(brief(&in, &out), "USER: ");
  assert_int_equal(strcspn(at, "\n"), 6 + 499 + 3);
}

/* N-05: one text, with the facts in it */
static void facts_are_part_of_it(void **state)
{
  (void)state;
  OUT;
  static const struct rp__memory_fact facts[] = {{"m1", "Ori likes tea", .9, NOW - HOURS(9000), false, NULL}};
  struct rp__plan_sources s = {.memories = facts, .n_memories = 1};
  struct rp__rules rules = plain_rules;
  rules.unfading = true;
  AUTOPLAN struct rp__plan *p = plan_of(&rules, NULL, NULL, 0, &s);
  STATE("{}");
  struct rp__brief_input in = input(RP_RESTART_LONG, told);
  in.plan = p;
  assert_non_null(strstr(brief(&in, &out), "REMEMBERED:\n- Ori likes tea (confidence 90%)\n\nWelcome"));
}

/* The instruction outlives everything, the oldest messages go before the newest */
static void every_bound_holds(void **state)
{
  (void)state;
  OUT;
  RP_AUTOBUF struct rp__buf doc = RP_BUF(1 << 20);
  conversation(&doc, 40);
  STATE(doc.p);
  struct rp__brief_input in = input(RP_RESTART_SHORT, told);
  size_t full = strlen(brief(&in, &out));
  for (size_t max = full; max-- > 0;) {
    in.max_bytes = max;
    const char *text = brief(&in, &out);
    if (*text == '\0') continue;
    assert_non_null(strstr(text, "Greet naturally"));
    if (strstr(text, "m30\n")) assert_non_null(strstr(text, "m39\n"));
    if (strstr(text, "RECENT")) assert_non_null(strstr(text, "m39\n")); /* no title over nothing */
  }
  in.max_bytes = full - 1;
  assert_non_null(strstr(brief(&in, &out), "RECENT CONVERSATION:\n… (1 more)\nUSER: m26\n"));
}

/* Header and instruction or nothing, and whoever asks can tell that from having nothing to say. */
static void no_room_is_not_nothing_to_say(void **state)
{
  (void)state;
  OUT;
  static const char least[] = "[SESSION CONTINUITY — short break]\n\nGreet naturally, briefly acknowledge you're back.";
  STATE("{\"affect\":{\"mood\":\"sad\"}}");
  struct rp__brief_input in = input(RP_RESTART_SHORT, told);
  in.max_bytes = sizeof least - 1;
  assert_string_equal(brief(&in, &out), least);
  in.max_bytes--;
  rp__buf_reset(&out);
  assert_int_equal(rp__brief_write(&in, &out, NULL), RP_E_TOO_LARGE);
  assert_int_equal(out.n, 0);
  in.restart = RP_RESTART_FRESH;
  assert_int_equal(rp__brief_write(&in, &out, NULL), 0);
}

static void a_jump_of_the_clock_has_no_time(void **state)
{
  (void)state;
  OUT;
  struct rp__brief_input in = input(RP_RESTART_SHORT, NULL);
  in.cause = RP_CAUSE_CLOCK_JUMP;
  in.evidence = "the clock is behind";
  assert_non_null(strstr(brief(&in, &out), "WHY IT STOPPED: the clock jumped, so it is uncertain when\n"));
}

/* ---- time in words ---- */

static void time_is_told_in_words(void **state)
{
  (void)state;
  static const struct {
    double seconds;
    const char *words;
  } table[] = {{-3, "a moment"},
               {0, "a moment"},
               {12, "12 seconds"},
               {59.6, "1 minute"},
               {600, "10 minutes"},
               {3599, "about 1 hour"},
               {3600, "about 1 hour"},
               {7200, "about 2 hours"},
               {86400 * 1.5, "about 36 hours"},
               {86400 * 2, "2 days"},
               {86400 * 3.2, "3 days"},
               {86400 * 30, "about 4 weeks"},
               {86400 * 100, "about 3 months"},
               {86400 * 800.0, "about 2 years"},
               {1e300, "ages"}};
  for (size_t i = 0; i < RP_ARRAY_SIZE(table); i++) {
    RP_AUTOBUF struct rp__buf out = RP_BUF(100);
    rp__time_words(table[i].seconds, &out);
    assert_string_equal(out.p, table[i].words);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_crash_is_passed_over),
      cmocka_unit_test(a_short_break_is_acknowledged),
      cmocka_unit_test(a_long_absence_is_welcomed),
      cmocka_unit_test(empty_parts_leave_no_line),
      cmocka_unit_test(snippets_end_between_characters),
      cmocka_unit_test(any_content_becomes_one_line),
      cmocka_unit_test(long_messages_are_cut),
      cmocka_unit_test(facts_are_part_of_it),
      cmocka_unit_test(every_bound_holds),
      cmocka_unit_test(no_room_is_not_nothing_to_say),
      cmocka_unit_test(a_jump_of_the_clock_has_no_time),
      cmocka_unit_test(time_is_told_in_words),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
