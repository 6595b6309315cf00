/* SPDX-License-Identifier: Apache-2.0 */
/* The nth allocation fails, for every n: an error, no crash, no leak. */
#include "continuity_test.h"

#include "../core/alloc_fault.h"

static const char record[] =
    "{\"working_memory\":[{\"label\":\"a [inherited from x @ y]\",\"content\":\"CRITICAL\"},"
    "{\"label\":\"b\",\"content\":\"c\",\"inherited_from\":\"s\",\"inherited_end\":\"2026-01-01\"}],"
    "\"hot_topics\":[\"t\"],\"active_projects\":[\"p\"],"
    "\"pending_tasks\":[{\"task_id\":\"1\",\"title\":\"x\",\"stage\":\"build\"},{\"task_id\":\"2\"}]}";
static const char state_text[] =
    "{\"pins\":[{\"label\":\"l\",\"content\":\"c\",\"importance\":\"critical\"},{\"label\":\"m\",\"content\":\"d\"}],"
    "\"tasks\":[{\"task_id\":\"t\",\"title\":\"u\",\"stage\":\"build\",\"pending\":true}],\"projects\":[\"p\"],"
    "\"topics\":[\"one\",\"two\"],\"learnings\":[{\"memory_id\":\"m\",\"content\":\"c\",\"confidence\":1}],"
    "\"tools\":[{\"call_id\":\"c\",\"name\":\"n\",\"status\":\"unknown\"}],"
    "\"approvals\":[{\"id\":\"a\",\"status\":\"pending\",\"title\":\"t\",\"at\":\"2026-01-01T00:00:00Z\"}],"
    "\"questions\":[{\"id\":1,\"status\":\"pending\"}],\"dropped_pins\":[{\"label\":\"gone\"}],"
    "\"conversation\":{\"messages\":[{\"role\":\"user\",\"content\":\"hello\"}]},"
    "\"affect\":{\"mood\":\"sad\",\"wounds\":[{\"event\":\"e\",\"floors\":{\"fear\":0.2}}]},\"presence\":{\"last_"
    "person\":\"Ori\"},"
    "\"evidence\":{\"notes\":[{\"id\":1,\"text\":\"n\"}],\"frames\":[{\"frame_id\":1,\"timestamp\":2}],"
    "\"transcript\":\"said\",\"memory\":{\"topics\":[\"x\"],\"intent\":\"i\"}},"
    "\"confidence_updates\":[{\"memory_id\":\"m\",\"old_score\":1,\"new_score\":1,\"reason\":\"r\"}],"
    "\"sops\":[{\"sop_path\":\"s\",\"injected_at\":null,\"tool_call\":null}]}";
static struct rp__fold *state_given; /* the state of that text, made before allocations fail */

static int word_of(void *ctx, const char *task_id, struct rp__task_word *ret)
{
  (void)ctx, (void)task_id;
  *ret = (struct rp__task_word){.known = true, .open = true, .at_ms = NOW};
  ret->title = strdup("title");
  return 0;
}

static int plan(struct rp__plan **ret)
{
  static const struct earlier e[] = {{"s1", 1, 2, true, "t", record}, {"s2", 2, 0, false, NULL, NULL}};
  static const struct rp__memory_fact facts[] = {{"m", "content", 1, NOW, true, NULL}};
  static const char *const labels[] = {"x"};
  struct rp__plan_sources s = {
      .task_word = word_of, .memories = facts, .n_memories = 1, .labels = labels, .n_labels = 1};
  return plan_make(&plain_rules, "t", e, 2, &s, ret);
}

static int tell(enum rp__template form, enum rp__restart restart, bool planned, bool resumed)
{
  AUTOPLAN struct rp__plan *p = NULL;
  RP_AUTOBUF struct rp__buf out = RP_BUF(1 << 20), why = RP_BUF(1 << 20);
  struct rp__jw w = RP_JW(&why);
  struct rp__brief_input in = {.form = form,
                               .restart = restart,
                               .cause = RP_CAUSE_KILLED,
                               .now_ms = NOW,
                               .elapsed_seconds = 100,
                               .total_sessions = 2,
                               .state = state_given,
                               .resumed = resumed,
                               .max_bytes = 900};
  int rc = planned ? plan(&p) : 0;
  if (rc) return rc;
  in.plan = p;
  rc = rp__brief_write(&in, &out, &w);
  assert_true(rc == 0 || out.n == 0);
  return rc;
}

static int coder(void)
{
  return tell(RP_TEMPLATE_CODER, RP_RESTART_LONG, true, false);
}

static int coder_resumed(void)
{
  return tell(RP_TEMPLATE_CODER, RP_RESTART_SHORT, false, true);
}

static int robot(void)
{
  return tell(RP_TEMPLATE_ROBOT, RP_RESTART_SHORT, true, true);
}

static int robot_long(void)
{
  return tell(RP_TEMPLATE_ROBOT, RP_RESTART_LONG, false, false);
}

static int captured(void)
{
  RP_CLEANUP(rp__record_done) struct rp__record_parts r = {0};
  struct rp__record_options o = {0};
  return rp__record_build(state_given, &o, &r);
}

static void every_allocation_may_fail(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = state_of(state_text);
  state_given = f;
  assert_true(alloc_enumerate(coder, RP_E_NOMEM) > 20);
  assert_true(alloc_enumerate(coder_resumed, RP_E_NOMEM) > 5);
  assert_true(alloc_enumerate(robot, RP_E_NOMEM) > 20);
  assert_true(alloc_enumerate(robot_long, RP_E_NOMEM) > 3);
  assert_true(alloc_enumerate(captured, RP_E_NOMEM) > 7);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
