/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments of tools: what is refused is named, nothing of it is stored, and the schema says what the check does. */
#include "bridge_test.h"

static void what_is_wrong_is_named(void **state)
{
  struct rp__tool_session m = bridge_mind(*state, "coder");
  static const struct {
    const char *tool, *args, *field;
  } bad[] = {
      {"working_memory", NULL, "action"},
      {"working_memory", "{}", "action"},
      {"working_memory", "[]", "arguments"},
      {"working_memory", "\"pin\"", "arguments"},
      {"working_memory", "null", "arguments"},
      {"working_memory", "{\"action\":\"pinn\"}", "action"},
      {"working_memory", "{\"action\":1}", "action"},
      {"working_memory", "{\"action\":\"pin\",\"label\":null,\"content\":\"c\"}", "label"},
      {"working_memory", "{\"action\":\"pin\",\"label\":\"\",\"content\":\"c\"}", "label"},
      {"working_memory", "{\"action\":\"pin\",\"content\":\"a\\u0000b\"}", "content"},
      {"working_memory", "{\"action\":\"unpin\",\"index\":0}", "index"},
      {"working_memory", "{\"action\":\"unpin\",\"index\":1.5}", "index"},
      {"working_memory", "{\"action\":\"unpin\",\"index\":\"1\"}", "index"},
      {"working_memory", "{\"action\":\"unpin\",\"index\":1e999}", "index"},
      {"working_memory", "{\"action\":\"pin\",\"contents\":\"c\"}", "contents"},
      {"remember", "{\"text\":\"a\",\"content\":\"b\"}", "text"},
      {"remember", "{\"text\":\"a\",\"confidence\":1.01}", "confidence"},
      {"remember", "{\"text\":\"a\",\"categories\":\"x\"}", "categories"},
      {"remember", "{\"text\":\"a\",\"categories\":[1]}", "categories"},
      {"remember", "{\"text\":\"a\",\"categories\":[\"\"]}", "categories"},
      {"remember", "{\"text\":\"a\",\"categories\":[\"1\",\"2\",\"3\",\"4\",\"5\",\"6\",\"7\",\"8\",\"9\"]}",
       "categories"},
      {"recall", "{\"limit\":101}", "limit"},
      {"session_status", "{\"x\":1}", "x"},
  };
  for (size_t i = 0; i < RP_ARRAY_SIZE(bad); i++) bridge_fail(&m, bad[i].tool, bad[i].args, RP_E_INVALID, bad[i].field);
  assert_null(m.s); /* not even a session was begun for them */
  rp_error err = bridge_fail(&m, "working_memory", "{\"action\":\"pin\",\"lable\":\"a\"}", RP_E_INVALID, "lable");
  assert_has(err.hint, "'label'");
  err = bridge_fail(&m, "recall", "{\"zzzzzz\":1}", RP_E_INVALID, "zzzzzz");
  assert_has(err.hint, "query, limit");
}

/* JSON Schema counts characters: four bytes each here. */
static void lengths_are_of_characters(void **state)
{
  struct rp__tool_session m = bridge_mind(*state, "coder");
  RP_AUTOBUF struct rp__buf args = RP_BUF(BRIDGE_DOC);
  rp__buf_str(&args, "{\"action\":\"open\",\"title\":\"");
  for (int i = 0; i < 200; i++) rp__buf_str(&args, "😀");
  rp__buf_str(&args, "\"}");
  assert_has(bridge_call(&m, "task", args.p), "😀");
  args.n -= 2;
  rp__buf_str(&args, "!\"}");
  bridge_fail(&m, "task", args.p, RP_E_INVALID, "title");
  bridge_call(&m, "session_chain", "{\"depth\":2.0}"); /* an integer to JSON Schema */
  rp__tool_session_end(&m, NULL);
}

/* ---- the schemas ---- */

static const char *schema_of(const struct rp__tool *t)
{
  static char text[BRIDGE_DOC];
  RP_AUTOBUF struct rp__buf out = RP_BUF(BRIDGE_DOC);
  struct rp__jw w = RP_JW(&out);
  rp__takes_schema(t->takes, &w);
  assert_int_equal(out.err, 0);
  snprintf(text, sizeof text, "%s", out.p);
  return text;
}

static void check_property(struct rp__json name, struct rp__json p)
{
  static const char *const plain[] = {"string", "integer", "number", "array"};
  struct rp__json type = rp__json_get(p, "type");
  bool known = false;
  for (size_t i = 0; i < RP_ARRAY_SIZE(plain); i++) known = known || rp__json_eq(type, plain[i]);
  if (!known || rp__json_get(p, "description").n < 12) fail_msg("%.*s: %.*s", (int)name.n, name.p, (int)p.n, p.p);
  if (rp__json_eq(type, "array")) assert_true(rp__json_eq(rp__json_get(rp__json_get(p, "items"), "type"), "string"));
}

static void schemas_are_strict_and_plain(void **state)
{
  static const char *const tricks[] = {"oneOf", "anyOf", "allOf", "$ref", "null", "default", "pattern"};
  (void)state;
  for (const struct rp__tool *const *t = rp__tools; *t; t++) {
    const char *text = schema_of(*t);
    struct rp__json schema = bridge_json(text), key, p, properties = rp__json_get(schema, "properties");
    struct rp__json_iter it = {0};
    for (size_t i = 0; i < RP_ARRAY_SIZE(tricks); i++) assert_null(strstr(text, tricks[i]));
    assert_true(rp__json_eq(rp__json_get(schema, "type"), "object"));
    assert_int_equal(rp__json_get(schema, "additionalProperties").type, RP_JSON_FALSE);
    assert_int_equal(properties.type, RP_JSON_OBJECT);
    while (rp__json_next(properties, &it, &key, &p)) check_property(key, p);
    assert_true(strlen((*t)->description) > 40 && strlen((*t)->title) > 3);
    for (const struct rp__tool *const *o = rp__tools; *o != *t; o++) assert_string_not_equal((*o)->name, (*t)->name);
  }
}

/* A value of another type than each property has is refused by the check, and the name is told. */
static void the_check_goes_by_the_schema(void **state)
{
  struct rp__tool_session m = bridge_mind(*state, "coder");
  int checked = 0;
  for (const struct rp__tool *const *t = rp__tools; *t; t++) {
    RP_AUTOFREE char *text = strdup(schema_of(*t));
    struct rp__json properties = rp__json_get(bridge_json(text), "properties"), key, p;
    struct rp__json_iter it = {0};
    while (rp__json_next(properties, &it, &key, &p)) {
      char args[160], name[64];
      bool number = rp__json_eq(rp__json_get(p, "type"), "integer") || rp__json_eq(rp__json_get(p, "type"), "number");
      snprintf(name, sizeof name, "%.*s", (int)key.n, key.p);
      snprintf(args, sizeof args, "{\"%s\":%s}", name, number ? "\"a\"" : "1");
      bridge_fail(&m, (*t)->name, args, RP_E_INVALID, name);
      checked++;
    }
  }
  assert_true(checked >= 15);
}

/* every tool of the seed, and their order does not change. */
static void the_tools_there_are(void **state)
{
  static const char *const names[] = {"working_memory",   "working_memory_view",    "task",           "remember",
                                      "recall",           "session_status",         "session_search", "session_chain",
                                      "session_continue", "cortex_session_continue"};
  (void)state;
  for (size_t i = 0; i < RP_ARRAY_SIZE(names); i++) assert_string_equal(rp__tools[i]->name, names[i]);
  assert_null(rp__tools[RP_ARRAY_SIZE(names)]);
  assert_ptr_equal(rp__tool_find(bridge_json("\"rec\\u0061ll\"")), bridge_tool("recall"));
  assert_null(rp__tool_find(bridge_json("\"Recall\"")));
  assert_null(rp__tool_find((struct rp__json){0}));
}

/* A client that lets nothing be destroyed unasked must know what does; one tool that reads can't write. */
static void annotations_are_honest(void **state)
{
  struct rp__tool_session m = bridge_mind(*state, "coder");
  (void)state;
  for (size_t i = 0; rp__tools[i]; i++) assert_false(rp__tools[i]->reads && rp__tools[i]->destroys);
  assert_true(bridge_tool("working_memory")->destroys);
  assert_true(bridge_tool("working_memory_view")->reads && bridge_tool("working_memory_view")->repeats);
  bridge_fail(&m, "working_memory_view", "{\"action\":\"clear\"}", RP_E_INVALID, "action");
  size_t always = 0, all = 0;
  for (; rp__tools[all]; all++) always += rp__tools[all]->always;
  assert_true(always >= 1 && always <= all / 2);
  rp__tool_session_end(&m, NULL);
}

static void errors_say_what_to_do(void **state)
{
  struct rp__tool_session m = bridge_mind(*state, "coder");
  RP_AUTOBUF struct rp__buf out = RP_BUF(4096);
  rp_error err = bridge_fail(&m, "working_memory", "{\"action\":\"pin\",\"lable\":\"a\"}", RP_E_INVALID, "lable");
  rp__tool_error_text(&err, &out);
  assert_has(out.p, "there is no argument 'lable'");
  assert_has(out.p, "What to do: did you mean 'label'?");
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(what_is_wrong_is_named, bridge_setup, rig_teardown),
      cmocka_unit_test_setup_teardown(lengths_are_of_characters, bridge_setup, rig_teardown),
      cmocka_unit_test(schemas_are_strict_and_plain),
      cmocka_unit_test_setup_teardown(the_check_goes_by_the_schema, bridge_setup, rig_teardown),
      cmocka_unit_test(the_tools_there_are),
      cmocka_unit_test_setup_teardown(annotations_are_honest, bridge_setup, rig_teardown),
      cmocka_unit_test_setup_teardown(errors_say_what_to_do, bridge_setup, rig_teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
