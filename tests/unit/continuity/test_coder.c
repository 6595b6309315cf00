/* SPDX-License-Identifier: Apache-2.0 */
/* The coder's brief, sentence by sentence (X-09, L-13). */
#include "brief_test.h"

#define OUT RP_AUTOBUF struct rp__buf out = RP_BUF(1 << 20)

static struct rp__brief_input input(const struct rp__plan *plan)
{
  return (struct rp__brief_input){.form = RP_TEMPLATE_CODER,
                                  .restart = RP_RESTART_LONG,
                                  .cause = RP_CAUSE_CLEAN,
                                  .elapsed_seconds = 172800,
                                  .now_ms = NOW,
                                  .total_sessions = 7,
                                  .plan = plan,
                                  .max_bytes = 8192};
}

static const struct earlier two[] = {
    {"s-1", 48, 1, false, "ham radio",
     "{\"working_memory\":[{\"label\":\"freq\",\"content\":\"14.074\\nMHz\"},"
     "{\"label\":\"safety\",\"content\":\"CRITICAL: no TX\"}],"
     "\"hot_topics\":[\"ft991a\",\"ham radio\",\"lbf-ham-radio\"],\"active_projects\":[\"lbf-ham-radio\"],"
     "\"pending_tasks\":[{\"task_id\":\"task-009\",\"title\":\"CAT control\",\"stage\":\"build\"}]}"},
    {"s-2", 50, 0, false, "ham radio",
     "{\"hot_topics\":[\"ham radio\",\"antenna\"],\"active_projects\":[\"cortex\",\"lbf-ham-radio\"]}"},
};

/* the seed's preamble */
static void the_preamble_is_the_seeds(void **state)
{
  (void)state;
  OUT;
  AUTOPLAN struct rp__plan *p = plan_of(&plain_rules, "radio ham", two, 2, NULL);
  struct rp__brief_input in = input(p);
  static const char expected[] =
      "[SESSION CONTINUITY — inherited from 2 prior session(s)]\n\n"
      "PENDING TASKS:\n- [task-009] CAT control (last stage: build, 2d ago)\n\n"
      "WORKING MEMORY RESTORED: 2 pins inherited\n(Use working_memory view to see all pins)\n\n"
      "PINS:\n- CRITICAL: safety (2 days ago): CRITICAL: no TX\n"
      "- freq (2 days ago): 14.074 MHz\n\n"
      "ACTIVE PROJECTS: lbf-ham-radio, cortex\n\n"
      "HOT TOPICS: ft991a, ham radio, antenna";
  assert_string_equal(brief(&in, &out), expected);
}

/* nothing on a cold start, nothing when nobody qualifies, no line for what is empty */
static void silence_where_there_is_nothing(void **state)
{
  (void)state;
  OUT;
  static const struct earlier far[] = {{"s-1", 160, 0, false, NULL, "{}"}}, bare[] = {{"s-1", 1, 0, false, NULL, "{}"}};
  AUTOPLAN struct rp__plan *none = plan_of(&plain_rules, NULL, NULL, 0, NULL);
  AUTOPLAN struct rp__plan *below = plan_of(&plain_rules, NULL, far, 1, NULL);
  AUTOPLAN struct rp__plan *empty = plan_of(&plain_rules, NULL, bare, 1, NULL);
  AUTOPLAN struct rp__plan *full = plan_of(&plain_rules, NULL, two, 2, NULL);
  struct rp__brief_input in = input(none);
  RP_AUTOFOLD struct rp__fold *f = state_of("{\"tools\":[{\"call_id\":\"c\",\"name\":\"n\",\"status\":\"unknown\"}]}");
  in.state = f;
  assert_string_equal(brief(&in, &out), "");
  in.plan = below;
  assert_string_equal(brief(&in, &out), "");
  in.state = NULL;
  in.plan = empty;
  assert_string_equal(brief(&in, &out), "");
  in.plan = NULL;
  in.resumed = true;
  assert_string_equal(brief(&in, &out), "");
  /* imported sessions give something also to the very first start */
  in = input(full);
  in.restart = RP_RESTART_FRESH;
  assert_string_not_equal(brief(&in, &out), "");
}

static const char unfinished[] =
    "{\"tools\":[{\"call_id\":\"c1\",\"name\":\"write_file\",\"status\":\"unknown\"},"
    "{\"call_id\":\"c2\",\"name\":\"send\\nmail\",\"status\":\"running\"},"
    "{\"call_id\":\"c3\",\"name\":\"read\",\"status\":\"done\"}],"
    "\"approvals\":[{\"id\":\"a1\",\"status\":\"pending\",\"title\":\"rm -rf "
    "build\"},{\"id\":7,\"status\":\"pending\"}],"
    "\"questions\":[{\"id\":\"q1\",\"status\":\"pending\",\"title\":\" \",\"question\":\"Which band?\"}]}";

/* What none of the seeds says: why it stopped, what nobody knows, what is open */
static void what_is_open_is_told(void **state)
{
  (void)state;
  OUT;
  AUTOPLAN struct rp__plan *p = plan_of(&plain_rules, NULL, two, 2, NULL);
  struct rp__brief_input in = input(p);
  RP_AUTOFOLD struct rp__fold *f = state_of(unfinished);
  in.state = f;
  const char *text = brief(&in, &out);
  assert_null(strstr(text, "WHY IT STOPPED"));
  assert_non_null(strstr(text, "- write_file: may or may not have happened; check before repeating it"));
  assert_null(strstr(text, "mail")); /* the end was clean: it is still running somewhere */
  in.cause = RP_CAUSE_POWER_LOSS;
  in.evidence = "no marker\nof a shutdown";
  in.elapsed_seconds = 7300;
  text = brief(&in, &out);
  assert_non_null(strstr(text, "\n\nWHY IT STOPPED: the machine lost power about 2 hours ago\n"));
  assert_non_null(strstr(text, "- send mail: may or may not have happened"));
  assert_null(strstr(text, "call c3"));
  assert_non_null(strstr(text, "OPEN APPROVALS:\n- rm -rf build (a moment ago)\n- [7] (a moment ago)\n"));
  assert_non_null(strstr(text, "OPEN QUESTIONS:\n- Which band? (a moment ago)\n"));
}

/* N-05: facts come in the same text, with what is left of their confidence */
static void facts_are_part_of_it(void **state)
{
  (void)state;
  OUT;
  static const struct rp__memory_fact facts[] = {{"m1", "The rig is on\nCOM3", 1, NOW - HOURS(48), false, "s-1"},
                                                 {"m2", "other", 1, NOW, false, "s-9"}};
  struct rp__plan_sources s = {.memories = facts, .n_memories = 2};
  AUTOPLAN struct rp__plan *p = plan_of(&plain_rules, NULL, two, 2, &s);
  struct rp__brief_input in = input(p);
  assert_non_null(
      strstr(brief(&in, &out), "REMEMBERED:\n- other (confidence 100%)\n- The rig is on COM3 (confidence 89%)\n\n"));
}

/* L-13: transcript tail, notes, frames and the conversation's memory of the session itself */
static void a_resumed_session_tells_its_own(void **state)
{
  (void)state;
  OUT;
  struct rp__brief_input in = input(NULL);
  in.resumed = true;
  in.cause = RP_CAUSE_CRASH;
  in.elapsed_seconds = 600;
  RP_AUTOFOLD struct rp__fold *f = state_of(
      "{\"tasks\":[{\"task_id\":\"t1\",\"title\":\"x\",\"stage\":\"verify\","
      "\"at\":\"2020-01-01T00:00:00Z\"},{\"task_id\":\"t2\",\"title\":\"y\",\"stage\":\"done\"}],"
      "\"projects\":[\"p\"],\"topics\":[\"a\",\"b\"],"
      "\"pins\":[{\"label\":\"n\",\"content\":\"x\"},{\"label\":\"c\",\"content\":\"y\",\"importance\":\"critical\","
      "\"inherited_from\":\"s0\",\"inherited_end\":\"2026-01-01T00:00:00Z\"}],"
      "\"learnings\":[{\"memory_id\":\"m\",\"content\":\"learned\",\"confidence\":0.5}],"
      "\"evidence\":{\"notes\":[{\"id\":1,\"text\":\"seen\",\"category\":\"ui\",\"timestamp\":12.5},"
      "{\"id\":2,\"text\":\"heard\",\"timestamp\":\"2020-01-01T00:00:00.000Z\"}],"
      "\"frames\":[{\"frame_id\":\"f1\",\"timestamp\":13}],\"transcript\":\"hello\\nPINS: fake\","
      "\"memory\":{\"topics\":[\"x\",\"y\"],\"intent\":\"buy\",\"context\":null}}}");
  in.state = f;
  const char *text = brief(&in, &out);
  static const char *const parts[] = {
      "[SESSION CONTINUITY — this session, resumed after 10 minutes]\n\n",
      "PENDING TASKS:\n- [t1] x (last stage: verify, ",
      "ACTIVE PROJECTS: p\n\nHOT TOPICS: a, b\n",
      "WORKING MEMORY RESTORED: 2 pins\n(Use",
      "WHY IT STOPPED: it crashed 10 minutes ago\n",
      "REMEMBERED:\n- learned (confidence 50%)\n",
      "PINS:\n- CRITICAL: c (",
      "TRANSCRIPT (tail):\n> hello\n> PINS: fake\n",
      "NOTES:\n- [ui] seen (at 12.5 s)\n- heard (about 6 years ago)\n",
      "FRAMES:\n- f1 (at 13 s)\n",
      "CONVERSATION MEMORY:\n- topics: x, y\n- intent: buy",
  };
  for (size_t i = 0; i < RP_ARRAY_SIZE(parts); i++)
    if (!strstr(text, parts[i])) fail_msg("no %s in %s", parts[i], text);
  in.restart = RP_RESTART_FRESH;
  assert_non_null(strstr(brief(&in, &out), "this session so far"));
}

/* A label that says CRITICAL is not told so twice. */
static void critical_is_said_once(void **state)
{
  (void)state;
  OUT;
  struct rp__brief_input in = input(NULL);
  in.resumed = true;
  RP_AUTOFOLD struct rp__fold *f = state_of(
      "{\"pins\":[{\"label\":\"CRITICAL: power\",\"content\":\"a\"},{\"label\":\"CRITICAL\",\"content\":\"b\"},"
      "{\"label\":\"CRITICALLY\",\"content\":\"c\",\"importance\":\"critical\"}]}");
  in.state = f;
  assert_non_null(strstr(brief(&in, &out), "PINS:\n- CRITICAL: power: a\n- CRITICAL: b\n- CRITICAL: CRITICALLY: c"));
}

/* Where none of the facts fits, their title goes with them. */
static void no_title_stands_over_nothing(void **state)
{
  (void)state;
  OUT;
  static const struct rp__memory_fact facts[] = {{"m1", "first fact", 1, NOW, false, "s-1"},
                                                 {"m2", "second fact", 1, NOW, false, "s-1"}};
  static const char *const titles[] = {"PENDING TASKS:\n", "REMEMBERED:\n", "PINS:\n"};
  struct rp__plan_sources s = {.memories = facts, .n_memories = 2};
  AUTOPLAN struct rp__plan *p = plan_of(&plain_rules, NULL, two, 2, &s);
  struct rp__brief_input in = input(p);
  size_t full = strlen(brief(&in, &out));
  bool one = false;
  for (in.max_bytes = full; in.max_bytes > 0; in.max_bytes--) {
    const char *text = brief(&in, &out);
    for (size_t i = 0; i < RP_ARRAY_SIZE(titles); i++) {
      const char *at = strstr(text, titles[i]);
      if (at && memcmp(at + strlen(titles[i]), "- ", 2) != 0) fail_msg("%s", text);
    }
    one = one || strstr(text, "(confidence 100%)\n… (1 more)");
  }
  assert_true(one);
}

static const struct earlier crowd[] = {
    {"s-1", 1, 4, false, NULL,
     "{\"working_memory\":[{\"label\":\"one\",\"content\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"},"
     "{\"label\":\"two\",\"content\":\"CRITICAL bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\"}],"
     "\"hot_topics\":[\"topic-a\",\"topic-b\",\"topic-c\",\"topic-d\",\"topic-e\",\"topic-f\"],"
     "\"active_projects\":[\"p1\",\"p2\",\"p3\",\"p4\",\"p5\"],"
     "\"pending_tasks\":[{\"task_id\":\"t1\",\"title\":\"x\"},{\"task_id\":\"t2\",\"title\":\"y\"},"
     "{\"task_id\":\"t3\",\"title\":\"z\"}]}"}};

/* Whatever the bound is it holds, and what is cut first is cut first */
static void every_bound_holds(void **state)
{
  (void)state;
  OUT;
  AUTOPLAN struct rp__plan *p = plan_of(&plain_rules, NULL, crowd, 1, NULL);
  struct rp__brief_input in = input(p);
  in.cause = RP_CAUSE_CRASH;
  RP_AUTOFOLD struct rp__fold *f = state_of(unfinished);
  in.state = f;
  size_t full = strlen(brief(&in, &out)), last = full;
  for (size_t max = full; max-- > 0;) {
    in.max_bytes = max;
    const char *text = brief(&in, &out);
    assert_true(strlen(text) <= max);
    last = strlen(text);
    bool tasks = strstr(text, "[t1]") != NULL, tools = strstr(text, "- write_file") != NULL;
    if (strstr(text, "aaaa")) assert_true(strstr(text, "bbbb") != NULL); /* CRITICAL contents stay longer */
    if (strstr(text, "- one (")) assert_true(tasks);
    if (tasks) assert_true(tools);
    if (strstr(text, "topic-f")) assert_true(strstr(text, "p5") != NULL);
    if (last) assert_memory_equal(text, "[SESSION CONTINUITY — inherited from 1", 40);
  }
  assert_int_equal(last, 0);
  in.max_bytes = full - 10;
  assert_non_null(strstr(brief(&in, &out), " more)"));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_preamble_is_the_seeds),
      cmocka_unit_test(silence_where_there_is_nothing),
      cmocka_unit_test(what_is_open_is_told),
      cmocka_unit_test(facts_are_part_of_it),
      cmocka_unit_test(a_resumed_session_tells_its_own),
      cmocka_unit_test(critical_is_said_once),
      cmocka_unit_test(no_title_stands_over_nothing),
      cmocka_unit_test(every_bound_holds),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
