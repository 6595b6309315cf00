/* SPDX-License-Identifier: Apache-2.0 */
/* The nth allocation fails, for every n, while a session is begun, tools are called and resources are read. */
#include "bridge_test.h"

#include "bridge/mcp/resources.h"
#include "unit/core/alloc_fault.h"

typedef int work_fn(struct rp__tool_session *m, const void *what, struct rp__buf *out, rp_error *err);

/* It goes well or fails with a word on why, and writes nothing then. Whether that is said to be memory is not asked:
 * parts of the engine go on without what they could not get. */
static long enumerate(struct rp__tool_session *m, work_fn *work, const void *what)
{
  for (long n = 0;; n++) {
    RP_AUTOBUF struct rp__buf out = RP_BUF(4 * 1024 * 1024);
    rp_error err = {0};
    alloc_countdown = n;
    alloc_failed = 0;
    int rc = work(m, what, &out, &err);
    alloc_countdown = -1;
    if (rc && (rc != err.code || !err.message[0])) fail_msg("allocation %ld: %d without a word", n, rc);
    if (rc && out.n) fail_msg("allocation %ld: %d with an answer", n, rc);
    if (alloc_failed) continue;
    if (rc) fail_msg("without a failure: %d %s", rc, err.message);
    return n;
  }
}

/* ---- beginning ---- */

static int begin(struct rp__tool_session *m, const void *what, struct rp__buf *out, rp_error *err)
{
  (void)what, (void)out;
  int rc = rp__tool_session_begin(m, err);
  if (rc) assert_null(m->s);
  long left = alloc_countdown;
  alloc_countdown = -1;
  rp__tool_session_end(m, NULL);
  alloc_countdown = left;
  return rc;
}

static void a_start_without_memory(void **state)
{
  struct rp__tool_session m = bridge_mind(*state, "coder");
  bridge_call(&m, "task", "{\"action\":\"open\",\"title\":\"left behind\"}");
  rp__tool_session_end(&m, NULL);
  assert_true(enumerate(&m, begin, NULL) > 10);
  snprintf(m.ref, sizeof m.ref, "desk");
  assert_true(enumerate(&m, begin, NULL) > 10);
}

/* ---- tools ---- */

struct call {
  const char *tool, *args;
};

static int call(struct rp__tool_session *m, const void *what, struct rp__buf *out, rp_error *err)
{
  const struct call *c = what;
  RP_AUTOBUF struct rp__buf text = RP_BUF(BRIDGE_DOC);
  const struct rp__tool *t = bridge_tool(c->tool);
  int rc = rp__tool_call(m, t, rp__json_trusted(c->args, strlen(c->args)), out, err);
  if (rc) return rc;
  rp__tool_text(t, rp__json_trusted(out->p, out->n), &text);
  if (!text.err) assert_true(text.n > 0);
  return 0;
}

static void tools_without_memory(void **state)
{
  struct rp__tool_session first = bridge_mind(*state, "coder"), m = bridge_mind(*state, "coder");
  snprintf(first.ref, sizeof first.ref, "first");
  bridge_call(&first, "working_memory", "{\"action\":\"pin\",\"label\":\"old\",\"content\":\"caf\\u00e9\"}");
  rig_say(first.s, "harbour");
  rp__tool_session_end(&first, NULL);
  bridge_call(&m, "task", "{\"action\":\"open\",\"title\":\"t\",\"task_id\":\"t\"}");
  static const struct call calls[] = {
      {"working_memory", "{\"action\":\"pin\",\"content\":\"with a lab\\u0065l of its own\"}"},
      {"working_memory", "{\"action\":\"view\"}"},
      {"working_memory", "{\"action\":\"clear\"}"},
      {"task", "{\"action\":\"update\",\"task_id\":\"t\",\"stage\":\"verify\"}"},
      {"task", "{\"action\":\"list\"}"},
      {"remember", "{\"text\":\"a fact\",\"categories\":[\"a\",\"b\"]}"},
      {"recall", "{\"query\":\"fact\"}"},
      {"session_status", "{}"},
      {"session_search", "{\"query\":\"harbour\"}"},
      {"session_chain", "{}"},
      {"session_continue", "{\"session_id\":\"first\"}"},
  };
  for (size_t i = 0; i < RP_ARRAY_SIZE(calls); i++) assert_true(enumerate(&m, call, &calls[i]) > 1);
  rp__tool_session_end(&m, NULL);
}

static int refused(struct rp__tool_session *m, const void *what, struct rp__buf *out, rp_error *err)
{
  rp_error why = {0};
  int rc = call(m, what, out, &why);
  if (rc == RP_E_PINS_FULL || rc == RP_E_MEMORY_NOT_FOUND || rc == RP_E_INVALID) return 0;
  *err = why;
  return rc;
}

/* Errors that tell what there is have to find that out first. */
static void errors_without_memory(void **state)
{
  struct rp__tool_session m = bridge_mind(*state, "coder");
  char args[128];
  for (int i = 0; i < 10; i++) {
    snprintf(args, sizeof args, "{\"action\":\"pin\",\"label\":\"p%d\",\"content\":\"c\"}", i);
    bridge_call(&m, "working_memory", args);
  }
  static const struct call calls[] = {
      {"working_memory", "{\"action\":\"pin\",\"label\":\"new\",\"content\":\"c\"}"},
      {"working_memory", "{\"action\":\"unpin\",\"label\":\"nobody\"}"},
      {"working_memory", "{\"actoin\":\"pin\"}"},
      {"task", "{\"action\":\"done\",\"task_id\":\"nobody\"}"},
  };
  for (size_t i = 0; i < RP_ARRAY_SIZE(calls); i++) assert_true(enumerate(&m, refused, &calls[i]) > 0);
  rp__tool_session_end(&m, NULL);
}

/* ---- resources and prompts ---- */

static int list(struct rp__tool_session *m, const void *what, struct rp__buf *out, rp_error *err)
{
  RP_AUTOBUF struct rp__buf doc = RP_BUF(BRIDGE_DOC);
  struct rp__jw w = RP_JW(&doc);
  (void)what, (void)out;
  rp__jw_object(&w);
  return rp__resources_list(m, (struct rp__json){0}, &w, err);
}

static int look(struct rp__tool_session *m, const void *what, struct rp__buf *out, rp_error *err)
{
  const char *uri = what;
  struct rp__jw w = RP_JW(out);
  return rp__resource_read(m, rp__json_trusted(uri, strlen(uri)), &w, err);
}

static int prompt(struct rp__tool_session *m, const void *what, struct rp__buf *out, rp_error *err)
{
  const char *name = what;
  static const char args[] = "{\"session\":\"desk\"}";
  struct rp__jw w = RP_JW(out);
  return rp__prompt_get(m, rp__json_trusted(name, strlen(name)), rp__json_trusted(args, sizeof args - 1), &w, err);
}

static void reading_without_memory(void **state)
{
  struct rp__tool_session m = bridge_mind(*state, "coder"), reader = bridge_mind(*state, "coder");
  char uri[256];
  snprintf(m.ref, sizeof m.ref, "desk");
  bridge_call(&m, "task", "{\"action\":\"open\",\"title\":\"t\"}");
  snprintf(uri, sizeof uri, "\"reprise://sessions/%s\"", rp_session_id(m.s));
  rp__tool_session_end(&m, NULL);
  assert_true(enumerate(&reader, list, NULL) > 1);
  assert_true(enumerate(&reader, look, "\"reprise://brief\"") > 1);
  assert_true(enumerate(&reader, look, "\"reprise://sessions\"") > 1);
  assert_true(enumerate(&reader, look, uri) > 1);
  snprintf(uri + strlen(uri) - 1, 16, "/state\"");
  assert_true(enumerate(&reader, look, uri) > 1);
  assert_true(enumerate(&reader, prompt, "\"resume\"") > 1);
  assert_true(enumerate(&reader, prompt, "\"handoff\"") > 1);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(a_start_without_memory, bridge_setup, rig_teardown),
      cmocka_unit_test_setup_teardown(tools_without_memory, bridge_setup, rig_teardown),
      cmocka_unit_test_setup_teardown(errors_without_memory, bridge_setup, rig_teardown),
      cmocka_unit_test_setup_teardown(reading_without_memory, bridge_setup, rig_teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
