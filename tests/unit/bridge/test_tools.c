/* SPDX-License-Identifier: Apache-2.0 */
/* The tools' work: pins, tasks, memories, continuing, searching, status. */
#include "bridge_test.h"

#define DAY (24 * 3600 * 1000LL)
#define WM "working_memory"

/* ---- pins ---- */

static void pins_are_kept_and_taken_off(void **state)
{
  struct rp__tool_session m = bridge_mind(*state, "coder");
  const char *doc = bridge_call(&m, WM, "{\"action\":\"view\"}");
  assert_string_equal(rig_get(doc, "pins"), "[]");
  assert_has(bridge_text(WM, doc), "Working memory is empty");
  doc = bridge_call(&m, WM,
                    "{\"action\":\"pin\",\"label\":\"db\",\"content\":\"use \\\"wal\\\"\",\"importance\":\"high\"}");
  assert_has(bridge_text(WM, doc), "Pinned to working memory (1/10 items)");
  assert_string_equal(rig_get(doc, "pins"), ""); /* who pins knows them */
  assert_string_equal(rig_get(doc, "label"), "\"db\"");
  /* X-17, the seed's call: no label. */
  bridge_call(&m, WM,
              "{\"action\":\"pin\",\"content\":\"CRITICAL: never\\nforce-push to the main branch of the project\"}");
  doc = bridge_call(&m, WM, "{\"action\":\"view\"}");
  assert_string_equal(rig_get(doc, "count"), "2");
  char seen[4096];
  snprintf(seen, sizeof seen, "%s", doc);
  assert_string_equal(bridge_call(&m, WM "_view", "{}"), seen);
  doc = bridge_call(&m, WM "_view", NULL);
  assert_has(bridge_text(WM "_view", doc), "1. [db] (high)");
  assert_has(bridge_text(WM, doc), "1. [db] (high) use \"wal\"\n");
  assert_has(bridge_text(WM, doc), "2. [CRITICAL: never force-push to the main b…] (critical) CRITICAL");
  doc = bridge_call(&m, WM, "{\"action\":\"unpin\",\"index\":2}");
  assert_string_equal(rig_get(doc, "count"), "1");
  doc = bridge_call(&m, WM, "{\"action\":\"unpin\",\"label\":\"db [inherited from x @ y]\"}");
  assert_has(bridge_text(WM, doc), "Unpinned: db (0/10 items left)");
  rp__tool_session_end(&m, NULL);
}

static void eleven_pins_are_one_too_many(void **state)
{
  struct rp__tool_session m = bridge_mind(*state, "coder");
  char args[128];
  for (int i = 0; i < 10; i++) {
    snprintf(args, sizeof args, "{\"action\":\"pin\",\"label\":\"p%d\",\"content\":\"c\"}", i);
    bridge_call(&m, WM, args);
  }
  rp_error err =
      bridge_fail(&m, WM, "{\"action\":\"pin\",\"label\":\"new\",\"content\":\"c\"}", RP_E_PINS_FULL, "label");
  for (int i = 0; i < 10; i++) {
    snprintf(args, sizeof args, "'p%d'", i);
    assert_has(err.message, args);
  }
  assert_has(err.hint, "unpin one first");
  const char *doc = bridge_call(&m, WM, "{\"action\":\"pin\",\"label\":\"p3\",\"content\":\"other\"}");
  assert_string_equal(rig_get(doc, "count"), "10");
  doc = bridge_call(&m, WM, "{\"action\":\"clear\"}");
  assert_string_equal(rig_get(doc, "count"), "0");
  assert_has(bridge_text(WM, doc), "cleared");
  bridge_call(&m, WM, "{\"action\":\"clear\"}");
  rp__tool_session_end(&m, NULL);
}

static void pins_that_are_not_there(void **state)
{
  struct rp__tool_session m = bridge_mind(*state, "coder");
  bridge_fail(&m, WM, "{\"action\":\"pin\",\"label\":\"x\"}", RP_E_INVALID, "content");
  bridge_fail(&m, WM, "{\"action\":\"unpin\"}", RP_E_INVALID, "label");
  rp_error err = bridge_fail(&m, WM, "{\"action\":\"unpin\",\"label\":\"x\"}", RP_E_MEMORY_NOT_FOUND, "label");
  assert_has(err.message, "nothing");
  bridge_call(&m, WM, "{\"action\":\"pin\",\"label\":\"here\",\"content\":\"c\"}");
  err = bridge_fail(&m, WM, "{\"action\":\"unpin\",\"index\":2}", RP_E_MEMORY_NOT_FOUND, "index");
  assert_has(err.message, "'here'");
  rp__tool_session_end(&m, NULL);
}

/* ---- tasks ---- */

static void tasks_open_move_and_close(void **state)
{
  struct rp__tool_session m = bridge_mind(*state, "coder");
  const char *doc = bridge_call(&m, "task", "{\"action\":\"open\",\"title\":\"port the parser\"}");
  char id[64], args[160];
  snprintf(id, sizeof id, "%s", rig_get(doc, "task.task_id"));
  assert_memory_equal(id, "\"task-", 6);
  assert_string_equal(rig_get(doc, "task.stage"), "\"build\"");
  snprintf(args, sizeof args, "{\"action\":\"update\",\"task_id\":%s,\"stage\":\"verify\"}", id);
  doc = bridge_call(&m, "task", args);
  assert_string_equal(rig_get(doc, "task.stage"), "\"verify\"");
  assert_string_equal(rig_get(doc, "task.title"), "\"port the parser\"");
  bridge_call(&m, "task", "{\"action\":\"open\",\"title\":\"other\",\"task_id\":\"X-1\"}");
  doc = bridge_call(&m, "task", "{\"action\":\"list\"}");
  assert_string_equal(rig_get(doc, "count"), "2");
  assert_has(bridge_text("task", doc), "[X-1] other (stage: build)");
  snprintf(args, sizeof args, "{\"action\":\"done\",\"task_id\":%s}", id);
  doc = bridge_call(&m, "task", args);
  assert_string_equal(rig_get(doc, "count"), "1");
  assert_string_equal(rig_get(doc, "task.status"), "\"done\"");
  assert_has(bridge_text("task", doc), "Done:");
  bridge_call(&m, "task", "{\"action\":\"update\",\"task_id\":\"X-1\",\"stage\":\"done\"}");
  assert_has(bridge_text("task", bridge_call(&m, "task", "{\"action\":\"list\"}")), "No open tasks");
  rp__tool_session_end(&m, NULL);
}

static void tasks_asked_for_wrongly(void **state)
{
  struct rp__tool_session m = bridge_mind(*state, "coder");
  bridge_fail(&m, "task", "{\"action\":\"open\"}", RP_E_INVALID, "title");
  bridge_fail(&m, "task", "{\"action\":\"done\"}", RP_E_INVALID, "task_id");
  bridge_call(&m, "task", "{\"action\":\"open\",\"title\":\"t\",\"task_id\":\"a\"}");
  bridge_fail(&m, "task", "{\"action\":\"open\",\"title\":\"t\",\"task_id\":\"a\"}", RP_E_INVALID, "task_id");
  bridge_fail(&m, "task", "{\"action\":\"update\",\"task_id\":\"a\"}", RP_E_INVALID, "stage");
  rp_error err = bridge_fail(&m, "task", "{\"action\":\"done\",\"task_id\":\"b\"}", RP_E_MEMORY_NOT_FOUND, "task_id");
  assert_has(err.message, "'a'");
  rp__tool_session_end(&m, NULL);
}

/* what was opened comes back, whatever its stage is called. */
static void an_open_task_is_told_to_the_next(void **state)
{
  struct rp__tool_session m = bridge_mind(*state, "coder");
  bridge_call(&m, "task", "{\"action\":\"open\",\"title\":\"draw the map\",\"stage\":\"sketching\"}");
  rp__tool_session_end(&m, NULL);
  struct rp__tool_session next = bridge_mind(*state, "coder");
  rp_error err = {0};
  OK(rp__tool_session_begin(&next, &err), err);
  assert_has(rp__tool_session_brief(&next), "draw the map");
  assert_string_equal(rig_get(bridge_call(&next, "task", "{\"action\":\"list\"}"), "count"), "1");
  rp__tool_session_end(&next, NULL);
}

/* ---- memories ---- */

static void facts_are_remembered_and_found(void **state)
{
  struct rp__tool_session m = bridge_mind(*state, "coder"), other = bridge_mind(*state, "elsewhere");
  const char *doc = bridge_call(&m, "remember",
                                "{\"text\":\"the rig speaks at 38400 baud\",\"confidence\":0.5,"
                                "\"categories\":[\"radio\",\"serial\"]}");
  assert_string_equal(rig_get(doc, "confidence"), "0.5");
  assert_has(bridge_text("remember", doc), "0.50");
  bridge_call(&m, "remember", "{\"content\":\"tests live beside the code\"}"); /* the seed's name */
  doc = bridge_call(&m, "recall", NULL);
  assert_int_equal(rp__json_count(rp__json_get(bridge_json(doc), "memories")), 2);
  assert_has(bridge_text("recall", doc), "- (1.00) tests live beside the code\n- (0.50) the rig");
  doc = bridge_call(&m, "recall", "{\"query\":\"baud\",\"limit\":5}");
  assert_has(doc, "[\"radio\",\"serial\"]");
  assert_null(strstr(doc, "beside"));
  assert_int_equal(rp__json_count(rp__json_get(bridge_json(bridge_call(&m, "recall", "{\"limit\":1}")), "memories")),
                   1);
  assert_has(bridge_text("recall", bridge_call(&other, "recall", NULL)), "Nothing is remembered");
  assert_null(other.s); /* looking needs no session */
  rp__tool_session_end(&m, NULL);
}

/* ---- sessions ---- */

struct said {
  const char *event, *fields;
  char found[512];
};

static int on_audit(void *ctx, const rp_audit_info *a)
{
  struct said *s = ctx;
  if (strcmp(a->event, s->event) == 0) snprintf(s->found, sizeof s->found, "%s", a->fields);
  return 0;
}

/* whatever its age, with who asked for it. */
static void an_old_session_is_continued(void **state)
{
  struct rig *r = *state;
  struct rp__tool_session m = bridge_mind(r, "coder");
  struct said said = {.event = "session_override"};
  char old[RP_ID_MAX + 1], args[256];
  rp_error err = {0};
  bridge_call(&m, WM, "{\"action\":\"pin\",\"label\":\"kept\",\"content\":\"for long\"}");
  bridge_call(&m, "task", "{\"action\":\"open\",\"title\":\"unfinished\"}");
  snprintf(old, sizeof old, "%s", rp_session_id(m.s));
  rp__tool_session_end(&m, NULL);
  r->wall += 50 * DAY;
  struct rp__tool_session now = bridge_mind(r, "coder");
  snprintf(now.by, sizeof now.by, "inspector");
  assert_string_equal(rig_get(bridge_call(&now, WM, "{\"action\":\"view\"}"), "pins"), "[]");
  snprintf(args, sizeof args, "{\"session_id\":\"%s\"}", old);
  const char *doc = bridge_call(&now, "cortex_session_continue", args);
  assert_string_equal(rig_get(doc, "pins"), "1");
  assert_has(bridge_text("session_continue", doc), "1 pins, 1 pending tasks");
  doc = bridge_call(&now, "session_continue", args);
  assert_has(bridge_text("session_continue", doc), "nothing that is not here already");
  assert_has(bridge_text(WM, bridge_call(&now, WM, "{\"action\":\"view\"}")), "[kept] for long [inherited from");
  OK(rp_audit(r->e, "coder", 0, 0, on_audit, &said, &err), err);
  assert_has(said.found, "inspector");
  rp__tool_session_end(&now, NULL);
}

static void pin_many(struct rp__tool_session *m, const char *name, int n)
{
  char args[128];
  for (int i = 0; i < n; i++) {
    snprintf(args, sizeof args, "{\"action\":\"pin\",\"label\":\"%s%d\",\"content\":\"c\"}", name, i);
    bridge_call(m, WM, args);
  }
}

/* What found no room is named, and comes with the next try. */
static void pins_without_room_are_named(void **state)
{
  struct rig *r = *state;
  struct rp__tool_session m = bridge_mind(r, "coder"), now = bridge_mind(r, "coder");
  char args[256];
  pin_many(&m, "old", 8);
  snprintf(args, sizeof args, "{\"session_id\":\"%s\"}", rp_session_id(m.s));
  rp__tool_session_end(&m, NULL);
  r->wall += 50 * DAY;
  pin_many(&now, "new", 5);
  const char *doc = bridge_call(&now, "session_continue", args);
  assert_string_equal(rig_get(doc, "pins"), "5");
  assert_int_equal(rp__json_count(rp__json_get(bridge_json(doc), "pins_without_room")), 3);
  assert_has(bridge_text("session_continue", doc), "3 of its pins found no room: old");
  bridge_call(&now, WM, "{\"action\":\"clear\"}");
  doc = bridge_call(&now, "session_continue", args);
  assert_string_equal(rig_get(doc, "pins_without_room"), "[]");
  rp__tool_session_end(&now, NULL);
}

/* Blanks say nothing: as a pin they are refused, as a query they ask for everything. */
static void blanks_say_nothing(void **state)
{
  struct rp__tool_session m = bridge_mind(*state, "coder");
  bridge_fail(&m, WM, "{\"action\":\"pin\",\"content\":\" \\n\"}", RP_E_INVALID, "content");
  bridge_fail(&m, WM, "{\"action\":\"pin\",\"label\":\" \",\"content\":\"x\"}", RP_E_INVALID, "label");
  bridge_call(&m, "remember", "{\"text\":\"the sea is salty\"}");
  assert_has(bridge_call(&m, "recall", "{\"query\":\" \\t \"}"), "the sea is salty");
  assert_has(bridge_call(&m, "recall", "{\"query\":\"\"}"), "the sea is salty");
  rp__tool_session_end(&m, NULL);
}

static void what_can_not_be_continued(void **state)
{
  struct rp__tool_session m = bridge_mind(*state, "coder"), other = bridge_mind(*state, "elsewhere");
  char args[256];
  bridge_call(&other, "session_status", NULL);
  bridge_call(&m, "session_status", NULL);
  snprintf(args, sizeof args, "{\"session_id\":\"%s\"}", rp_session_id(m.s));
  bridge_fail(&m, "session_continue", args, RP_E_INVALID, "session_id");
  snprintf(args, sizeof args, "{\"session_id\":\"%s\"}", rp_session_id(other.s));
  bridge_fail(&m, "session_continue", args, RP_E_SESSION_NOT_FOUND, "session_id");
  bridge_fail(&m, "session_chain", args, RP_E_SESSION_NOT_FOUND, "session_id");
  bridge_fail(&m, "session_continue", "{\"session_id\":\"nobody\"}", RP_E_SESSION_NOT_FOUND, "session_id");
  rp__tool_session_end(&m, NULL);
  rp__tool_session_end(&other, NULL);
}

static void the_chain_the_words_and_the_status(void **state)
{
  struct rp__tool_session m = bridge_mind(*state, "coder");
  char first[RP_ID_MAX + 1];
  bridge_call(&m, "session_status", NULL);
  rig_say(m.s, "the harbour light is dark");
  snprintf(first, sizeof first, "%s", rp_session_id(m.s));
  rp__tool_session_end(&m, NULL);
  struct rp__tool_session now = bridge_mind(*state, "coder"), other = bridge_mind(*state, "elsewhere");
  const char *doc = bridge_call(&now, "session_chain", "{\"depth\":5}");
  assert_int_equal(rp__json_count(rp__json_get(bridge_json(doc), "sessions")), 2);
  assert_has(bridge_text("session_chain", doc), first);
  doc = bridge_call(&now, "session_search", "{\"query\":\"harbour\"}");
  assert_has(bridge_text("session_search", doc), "the [harbour] light");
  assert_has(doc, first);
  bridge_fail(&now, "session_search", "{\"query\":\"  \"}", RP_E_INVALID, "query");
  doc = bridge_call(&other, "session_search", "{\"query\":\"harbour\"}");
  assert_has(bridge_text("session_search", doc), "Nothing was found");
  bridge_call(&now, WM, "{\"action\":\"pin\",\"label\":\"a\",\"content\":\"b\"}");
  doc = bridge_call(&now, "session_status", "{}");
  assert_string_equal(rig_get(doc, "scope"), "\"coder\"");
  assert_string_equal(rig_get(doc, "counts.pins"), "1");
  assert_string_equal(rig_get(doc, "run.total_sessions"), "2");
  assert_string_equal(rig_get(doc, "usage.requests"), "0");
  assert_string_equal(rig_get(doc, "guest"), "false");
  assert_has(bridge_text("session_status", doc), "pins: 1\n");
  rp__tool_session_end(&now, NULL);
}

/* what a session took off is not held out to it, though the session it came from has it. */
static void what_was_taken_off_is_not_offered(void **state)
{
  struct rig *r = *state;
  struct rp__tool_session a = bridge_mind(r, "coder"), b = bridge_mind(r, "coder");
  bridge_call(&a, "working_memory", "{\"action\":\"pin\",\"label\":\"l1\",\"content\":\"alpha\"}");
  bridge_call(&a, "working_memory", "{\"action\":\"pin\",\"label\":\"l2\",\"content\":\"beta\"}");
  r->wall += 1000;
  const char *doc = bridge_call(&b, "working_memory_view", NULL);
  assert_string_equal(rig_get(doc, "count"), "2");
  bridge_call(&b, "working_memory", "{\"action\":\"unpin\",\"label\":\"l1\"}");
  doc = bridge_call(&b, "working_memory_view", NULL);
  assert_string_equal(rig_get(doc, "elsewhere"), "[]");
  bridge_call(&b, "working_memory", "{\"action\":\"clear\"}");
  doc = bridge_call(&b, "working_memory_view", NULL);
  assert_string_equal(rig_get(doc, "elsewhere"), "[]");
  /* What is said anew is. */
  r->wall += 1000;
  bridge_call(&a, "working_memory", "{\"action\":\"pin\",\"label\":\"l1\",\"content\":\"gamma\"}");
  doc = bridge_call(&b, "working_memory_view", NULL);
  assert_non_null(strstr(rig_get(doc, "elsewhere"), "gamma"));
  assert_null(strstr(rig_get(doc, "elsewhere"), "beta"));
  rp__tool_session_end(&a, NULL);
  rp__tool_session_end(&b, NULL);
}

/* the scope's newest word on a task decides, whoever said it. */
static void a_task_that_another_finished_is_not_open(void **state)
{
  struct rig *r = *state;
  struct rp__tool_session a = bridge_mind(r, "coder"), b = bridge_mind(r, "coder");
  bridge_call(&a, "task", "{\"action\":\"open\",\"title\":\"T\",\"task_id\":\"t-1\"}");
  bridge_call(&a, "task", "{\"action\":\"open\",\"title\":\"U\",\"task_id\":\"t-2\"}");
  r->wall += 1000;
  bridge_call(&b, "task", "{\"action\":\"done\",\"task_id\":\"t-1\"}");
  const char *doc = bridge_call(&a, "task", "{\"action\":\"list\"}");
  assert_string_equal(rig_get(doc, "count"), "1");
  assert_null(strstr(doc, "t-1"));
  /* Who opens it again has the last word. */
  r->wall += 1000;
  bridge_call(&a, "task", "{\"action\":\"update\",\"task_id\":\"t-1\",\"stage\":\"verify\"}");
  doc = bridge_call(&a, "task", "{\"action\":\"list\"}");
  assert_string_equal(rig_get(doc, "count"), "2");
  rp__tool_session_end(&a, NULL);
  rp__tool_session_end(&b, NULL);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(pins_are_kept_and_taken_off, bridge_setup, rig_teardown),
      cmocka_unit_test_setup_teardown(eleven_pins_are_one_too_many, bridge_setup, rig_teardown),
      cmocka_unit_test_setup_teardown(pins_that_are_not_there, bridge_setup, rig_teardown),
      cmocka_unit_test_setup_teardown(tasks_open_move_and_close, bridge_setup, rig_teardown),
      cmocka_unit_test_setup_teardown(tasks_asked_for_wrongly, bridge_setup, rig_teardown),
      cmocka_unit_test_setup_teardown(an_open_task_is_told_to_the_next, bridge_setup, rig_teardown),
      cmocka_unit_test_setup_teardown(facts_are_remembered_and_found, bridge_setup, rig_teardown),
      cmocka_unit_test_setup_teardown(an_old_session_is_continued, bridge_setup, rig_teardown),
      cmocka_unit_test_setup_teardown(what_can_not_be_continued, bridge_setup, rig_teardown),
      cmocka_unit_test_setup_teardown(pins_without_room_are_named, bridge_setup, rig_teardown),
      cmocka_unit_test_setup_teardown(blanks_say_nothing, bridge_setup, rig_teardown),
      cmocka_unit_test_setup_teardown(the_chain_the_words_and_the_status, bridge_setup, rig_teardown),
      cmocka_unit_test_setup_teardown(what_was_taken_off_is_not_offered, bridge_setup, rig_teardown),
      cmocka_unit_test_setup_teardown(a_task_that_another_finished_is_not_open, bridge_setup, rig_teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
