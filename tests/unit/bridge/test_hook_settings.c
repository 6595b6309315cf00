/* SPDX-License-Identifier: Apache-2.0 */
/* Settings files of agents: our hooks come and go, nothing else changes; and the telling of what changed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "bridge/hook/hook.h"

#define PROGRAM "/opt/reprise/bin/reprise"
#define TEXT_MAX ((size_t)4 * 1024 * 1024)

static const struct rp__hook_agent *agent(const char *name)
{
  const struct rp__hook_agent *a = rp__hook_agent_find(name);
  assert_non_null(a);
  return a;
}

static struct rp__str text_of(const struct rp__buf *b)
{
  return (struct rp__str){b->p, b->n};
}

static void add(const char *name, const char *program, struct rp__str before, struct rp__buf *ret)
{
  rp_error err = {0};
  const struct rp__hook_command command = {.program = program};
  if (rp__hook_settings_add(agent(name), &command, before, ret, &err)) fail_msg("%s", err.message);
}

static void take(const char *name, struct rp__str before, struct rp__buf *ret)
{
  rp_error err = {0};
  if (rp__hook_settings_remove(agent(name), before, ret, &err)) fail_msg("%s", err.message);
}

static struct rp__json parsed(const struct rp__buf *b)
{
  rp_error err = {0};
  struct rp__json v;
  if (rp__json_parse(b->p, b->n, NULL, &v, &err)) fail_msg("%s in %s", err.message, b->p);
  return v;
}

/* How many entries of ours the text has. */
static size_t ours(const struct rp__buf *b, const char *name)
{
  struct rp__json hooks = rp__json_get(parsed(b), "hooks"), list, group, hook;
  struct rp__json_iter i = {0};
  size_t n = 0;
  char tail[32];
  snprintf(tail, sizeof tail, "--agent %s", name);
  while (rp__json_next(hooks, &i, NULL, &list)) {
    struct rp__json_iter j = {0};
    while (rp__json_next(list, &j, NULL, &group)) {
      struct rp__json_iter k = {0};
      while (rp__json_next(rp__json_get(group, "hooks"), &k, NULL, &hook)) {
        RP_AUTOFREE char *command = rp__json_dup(rp__json_get(hook, "command"));
        n += command && strstr(command, tail) != NULL;
      }
    }
  }
  return n;
}

/* Shapes whose every byte must come back. */
static const char *const shapes[] = {
    "{\n  \"model\": \"opus\"\n}\n",
    "{\n  \"model\": \"opus\"\n}",
    "{\"a\":1}",
    "{\"a\":1,\"hooks\":{\"Stop\":[{\"hooks\":[{\"type\":\"command\",\"command\":\"x\"}]}]}}",
    "{ \"hooks\" : { \"Stop\" : [ { \"hooks\" : [ ] } ] } , \"z\" : [ 1 , 2 ] }",
    "\n\n{\n\t\"env\": {\n\t\t\"A\": \"}{][,\\\"\\u00e9\"\n\t}\n}\n\n",
    "{\r\n  \"a\": 1,\r\n  \"b\": {\r\n    \"c\": []\r\n  }\r\n}\r\n",
    "{\n    \"hooks\": {\n        \"PreToolUse\": [\n            {\n                \"matcher\": \"Bash\",\n"
    "                \"hooks\": [{\"type\": \"command\", \"command\": \"reprise-like hook PreToolUse\"}]\n"
    "            }\n        ]\n    },\n    \"env\": {}\n}\n",
    "{\n  \"hooks\": {\n    \"Notification\": []\n  }\n}\n",
};

static void what_was_added_goes_again_to_the_byte(void **state)
{
  (void)state;
  static const char *const agents[] = {"claude", "gemini"};
  static const size_t entries[] = {8, 6};
  for (size_t i = 0; i < RP_ARRAY_SIZE(shapes); i++) {
    for (size_t k = 0; k < RP_ARRAY_SIZE(agents); k++) {
      RP_AUTOBUF struct rp__buf in = RP_BUF(0), twice = RP_BUF(0), out = RP_BUF(0);
      add(agents[k], PROGRAM, rp__str(shapes[i]), &in);
      assert_int_equal(ours(&in, agents[k]), entries[k]);
      add(agents[k], PROGRAM, text_of(&in), &twice);
      assert_string_equal(twice.p, in.p);
      take(agents[k], text_of(&in), &out);
      assert_string_equal(out.p, shapes[i]);
    }
  }
}

static void agents_of_two_kinds_share_a_file(void **state)
{
  (void)state;
  RP_AUTOBUF struct rp__buf one = RP_BUF(0), two = RP_BUF(0), back = RP_BUF(0);
  add("claude", PROGRAM, RP_STR("{\n  \"a\": 1\n}\n"), &one);
  add("gemini", PROGRAM, text_of(&one), &two);
  assert_int_equal(ours(&two, "claude"), 8);
  assert_int_equal(ours(&two, "gemini"), 6);
  take("gemini", text_of(&two), &back);
  assert_string_equal(back.p, one.p);
}

static void an_empty_file_becomes_one(void **state)
{
  (void)state;
  static const char *const empties[] = {"", " \n", "{}", "{ }\n", "{\"hooks\":{}}", "{\"hooks\":{\"Stop\":[]}}"};
  for (size_t i = 0; i < RP_ARRAY_SIZE(empties); i++) {
    RP_AUTOBUF struct rp__buf in = RP_BUF(0), out = RP_BUF(0);
    add("claude", PROGRAM, rp__str(empties[i]), &in);
    assert_int_equal(ours(&in, "claude"), 8);
    take("claude", text_of(&in), &out);
    assert_int_equal(ours(&out, "claude"), 0);
    assert_int_equal(parsed(&out).type, RP_JSON_OBJECT);
  }
}

/* Nothing of ours is in it, so nothing is taken: what install makes a backup of is known by that. */
static void blanks_are_left_as_they_are(void **state)
{
  (void)state;
  static const char *const blanks[] = {"", " ", "\n", " \t\r\n\n"};
  for (size_t i = 0; i < RP_ARRAY_SIZE(blanks); i++) {
    RP_AUTOBUF struct rp__buf out = RP_BUF(0);
    take("claude", rp__str(blanks[i]), &out);
    assert_string_equal(out.p ? out.p : "", blanks[i]);
  }
}

static void a_program_that_moved_is_named_anew(void **state)
{
  (void)state;
  RP_AUTOBUF struct rp__buf old = RP_BUF(0), moved = RP_BUF(0), fresh = RP_BUF(0);
  add("claude", PROGRAM, RP_STR("{\n  \"a\": 1\n}\n"), &old);
  add("claude", "'/home/a \"b\"/reprise' --db sqlite:x", text_of(&old), &moved);
  add("claude", "'/home/a \"b\"/reprise' --db sqlite:x", RP_STR("{\n  \"a\": 1\n}\n"), &fresh);
  assert_string_equal(moved.p, fresh.p);
  assert_null(strstr(moved.p, PROGRAM));
}

static void neighbours_in_our_group_stay(void **state)
{
  (void)state;
  RP_AUTOBUF struct rp__buf out = RP_BUF(0);
  static const char mixed[] =
      "{\"hooks\":{\"Stop\":[{\"hooks\":[{\"command\":\"reprise hook Stop --agent claude\"},"
      "{\"command\":\"mine\"}]},{\"hooks\":[{\"command\":\"reprise hook Stop --agent claude\"}]}]}}";
  take("claude", rp__str(mixed), &out);
  assert_string_equal(out.p, "{\"hooks\":{\"Stop\":[{\"hooks\":[{\"command\":\"mine\"}]}]}}");
}

static void what_is_no_settings_file_is_refused(void **state)
{
  (void)state;
  static const struct {
    const char *text, *says;
    int code;
  } bad[] = {
      {"{\"a\":1", "byte", RP_E_JSON},
      {"{\"a\":1} x", "byte", RP_E_JSON},
      {"{\"a\":1,}", "byte", RP_E_JSON},
      {"// mine\n{}", "byte", RP_E_JSON},
      {"{\"a\":1,\"a\":2}", "a", RP_E_JSON},
      {"[]", "no object", RP_E_FORMAT},
      {"\"x\"", "no object", RP_E_FORMAT},
      {"{\"hooks\":7}", "'hooks'", RP_E_FORMAT},
      {"{\"hooks\":{\"SessionStart\":\"x\"}}", "'hooks.SessionStart'", RP_E_FORMAT},
  };
  for (size_t i = 0; i < RP_ARRAY_SIZE(bad); i++) {
    RP_AUTOBUF struct rp__buf out = RP_BUF(0);
    rp_error err = {0};
    assert_int_equal(rp__hook_settings_add(agent("claude"), &(struct rp__hook_command){.program = PROGRAM},
                                           rp__str(bad[i].text), &out, &err),
                     bad[i].code);
    assert_non_null(strstr(err.message, bad[i].says));
    assert_int_equal(rp__hook_settings_remove(agent("claude"), rp__str(bad[i].text), &out, &err), bad[i].code);
  }
}

/* Odd but valid contents are nobody's business: groups without hooks, hooks that are no objects. */
static void odd_entries_are_passed_over(void **state)
{
  (void)state;
  RP_AUTOBUF struct rp__buf in = RP_BUF(0), out = RP_BUF(0);
  static const char odd[] = "{\"hooks\":{\"Stop\":[1,null,\"x\",{},{\"hooks\":{}},{\"hooks\":[7,{\"command\":[]}]}]}}";
  add("claude", PROGRAM, rp__str(odd), &in);
  assert_int_equal(ours(&in, "claude"), 8);
  take("claude", text_of(&in), &out);
  assert_string_equal(out.p, odd);
}

static void differences_are_told_by_the_line(void **state)
{
  (void)state;
  static const struct {
    const char *a, *b, *diff;
  } cases[] = {
      {"", "x\n", "+x\n"},
      {"x\n", "", "-x\n"},
      {"x\n", "x\n", ""},
      {"1\n2\n3\n4\n5\n6\n", "1\n2\n3\n4\nX\n6\n", "@@\n 2\n 3\n 4\n-5\n+X\n 6\n"},
      {"a\nb\nc\n", "a\nx\nb\nc\ny\n", " a\n+x\n b\n c\n+y\n"},
      {"0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n", "A\n1\n2\n3\n4\n5\n6\n7\n8\nB\n",
       "-0\n+A\n 1\n 2\n 3\n@@\n 6\n 7\n 8\n-9\n+B\n"},
  };
  for (size_t i = 0; i < RP_ARRAY_SIZE(cases); i++) {
    RP_AUTOBUF struct rp__buf out = RP_BUF(TEXT_MAX);
    rp_error err = {0};
    assert_int_equal(rp__hook_diff(rp__str(cases[i].a), rp__str(cases[i].b), &out, &err), 0);
    assert_string_equal(out.p ? out.p : "", cases[i].diff);
  }
}

/* A file too large for the table is told as a whole; one over all bounds is refused. */
static void large_files_are_bounded(void **state)
{
  (void)state;
  RP_AUTOBUF struct rp__buf a = RP_BUF(TEXT_MAX), b = RP_BUF(TEXT_MAX), out = RP_BUF(TEXT_MAX);
  rp_error err = {0};
  for (int i = 0; i < 5000; i++) {
    rp__buf_printf(&a, "a%d\n", i);
    rp__buf_printf(&b, "b%d\n", i);
  }
  assert_int_equal(rp__hook_diff(text_of(&a), text_of(&b), &out, &err), 0);
  assert_memory_equal(out.p, "-a0\n-a1\n", 8);
  for (int i = 0; i < 200000; i++) rp__buf_char(&a, '\n');
  assert_int_equal(rp__hook_diff(text_of(&a), text_of(&b), &out, &err), RP_E_TOO_LARGE);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_was_added_goes_again_to_the_byte),
      cmocka_unit_test(agents_of_two_kinds_share_a_file),
      cmocka_unit_test(an_empty_file_becomes_one),
      cmocka_unit_test(blanks_are_left_as_they_are),
      cmocka_unit_test(a_program_that_moved_is_named_anew),
      cmocka_unit_test(neighbours_in_our_group_stay),
      cmocka_unit_test(what_is_no_settings_file_is_refused),
      cmocka_unit_test(odd_entries_are_passed_over),
      cmocka_unit_test(differences_are_told_by_the_line),
      cmocka_unit_test(large_files_are_bounded),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
