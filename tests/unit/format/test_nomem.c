/* SPDX-License-Identifier: Apache-2.0 */
/* Every allocation fails once, for every format both ways: RP_E_NOMEM, nothing leaks, and nothing wrong comes out. */
#include "format_test.h"

#include "unit/core/alloc_fault.h"

static struct book b;

static const char *const docs[][2] = {
    {"nova", "{\"version\":1,\"heartbeat\":1708300000.0,\"shutdown_clean\":true,\"session_id\":\"x\",\"emotions\":"
             "{\"levels\":{\"joy\":0.5},\"boredom\":0.1,\"current_mood\":\"happy\",\"wounds\":[]},\"conversation\":"
             "[{\"role\":\"USER\",\"text\":\"a\",\"timestamp\":1.0}],\"sleep_state\":\"awake\","
             "\"last_person_seen\":\"Ori\"}"},
    {"cortex", "{\"session_id\":\"c\",\"start_time\":\"2026-01-02T03:04:05Z\",\"end_time\":\"2026-01-02T04:04:05Z\","
               "\"working_memory\":[{\"label\":\"a\",\"content\":\"b\"}],\"hot_topics\":[\"x y\"],\"active_projects\":"
               "[\"p\"],\"pending_tasks\":[{\"task_id\":\"t\",\"title\":\"T\",\"stage\":\"build\"}],"
               "\"recent_learnings\":[\"m\"]}"},
    {"clawd",
     "{\"sessions\":[{\"info\":{\"id\":\"s\",\"name\":\"n\",\"createdAt\":1767323045000},\"messages\":["
     "{\"id\":\"a\",\"type\":\"user\",\"content\":\"go\",\"timestamp\":1767323045000},{\"id\":\"t\",\"type\":"
     "\"tool_call\",\"toolName\":\"Read\",\"toolInput\":{}},{\"id\":\"r\",\"type\":\"tool_result\",\"toolName\":"
     "\"Read\",\"content\":\"x\"}]}],\"internalSecret\":\"\"}"},
    {"orbitmesh", "{\"session_id\":\"o\",\"provider_type\":\"acp\",\"version\":1,\"config\":{},\"provider_state\":"
                  "{\"acp_session_id\":\"a\",\"messages\":[{\"role\":\"user\",\"content\":\"hello\"}]}}"},
};
static size_t place;
static const char *target;

static int import_one(void)
{
  rp_error err = {0};
  book_clear(&b);
  return book_import(&b, NULL, docs[place][1], strlen(docs[place][1]), &err);
}

static int export_one(void)
{
  rp_error err = {0};
  struct rp__buf out RP_AUTOBUF = RP_BUF(1 << 20);
  return book_export(&b, 0, target, &out, &err);
}

static void every_allocation(void **state)
{
  (void)state;
  for (place = 0; place < RP_ARRAY_SIZE(docs); place++) {
    assert_true(alloc_enumerate(import_one, RP_E_NOMEM) > 0);
    assert_int_equal(import_one(), 0);
    for (const struct rp__format *const *f = rp__formats; *f; f++) {
      target = (*f)->name;
      assert_true(alloc_enumerate(export_one, RP_E_NOMEM) > 2);
    }
  }
  book_clear(&b);
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_allocation)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
