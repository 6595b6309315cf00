/* SPDX-License-Identifier: Apache-2.0 */
/* Projects, by events and by paths. */
#include "facets_test.h"

static void assert_projects(const struct rp__fold *f, const char *expected)
{
  RP_AUTOBUF struct rp__buf out = RP_BUF(SAVED_MAX), text = RP_BUF(SAVED_MAX);
  show(f, &out);
  struct rp__json projects = rp__json_get(parsed(&out), "projects");
  if (projects.n) rp__buf_add(&text, projects.p, projects.n);
  assert_string_equal(text.p ? text.p : "", expected);
  assert_sound(f);
}

/* */
static void where_they_come_from(void **state)
{
  (void)state;
  static const struct {
    enum rp__kind kind;
    const char *body, *projects;
  } cases[] = {
      {RP_KIND_PROJECT, "{\"name\":\"nova\"}", "[\"nova\"]"},
      {RP_KIND_PROJECT, "{\"name\":\"a\\\"b\"}", "[\"a\\\"b\"]"},
      {RP_KIND_PROJECT, "{\"name\":7}", ""},
      {RP_KIND_MESSAGE, "{\"role\":\"user\",\"content\":\"/Projects/x\"}", ""},
      {RP_KIND_MESSAGE, "{\"role\":\"user\",\"content\":\"hello\",\"project\":\"shop\"}", "[\"shop\"]"},
      {RP_KIND_ACTIVITY, "{}", ""},
      {RP_KIND_ACTIVITY, "{\"workdir\":\"/srv/u/Projects/lbf-ham-radio/src\"}", "[\"lbf-ham-radio\"]"},
      {RP_KIND_ACTIVITY, "{\"workdir\":\"/srv/u/projects/My App/src\"}", "[\"My App\"]"},
      {RP_KIND_ACTIVITY, "{\"workdir\":\"\\/srv\\/Projects\\/x\"}", "[\"x\"]"},
      {RP_KIND_ACTIVITY, "{\"workdir\":\"/srv/code/tool/\"}", "[\"tool\"]"},
      {RP_KIND_ACTIVITY, "{\"workdir\":\"tool\"}", "[\"tool\"]"},
      {RP_KIND_ACTIVITY, "{\"workdir\":\"/srv/u/Projects\"}", "[\"Projects\"]"},
      {RP_KIND_ACTIVITY, "{\"workdir\":\"/home/u\"}", ""},
      {RP_KIND_ACTIVITY, "{\"workdir\":\"/\"}", ""},
      {RP_KIND_ACTIVITY, "{\"workdir\":\"\"}", ""},
      {RP_KIND_ACTIVITY, "{\"workdir\":\"/srv/..\"}", ""},
      {RP_KIND_ACTIVITY, "{\"workdir\":\"/srv/tool\",\"text\":\"cp ~/Projects/a/x '/Projects/b'.\"}",
       "[\"tool\",\"a\",\"b\"]"},
      {RP_KIND_ACTIVITY, "{\"text\":\"in /Projects/c. See xProjects/d, /Projects/ and /Projects/..\"}", "[\"c\"]"},
      {RP_KIND_TOOL, "{\"call_id\":\"1\",\"name\":\"n\",\"input\":{\"a\":[\"/x/Projects/deep/y\"]}}", "[\"deep\"]"},
      {RP_KIND_TOOL, "{\"call_id\":\"1\",\"name\":\"n\",\"input\":\"/Projects/p\"}", "[\"p\"]"},
      {RP_KIND_TOOL, "{\"call_id\":\"1\",\"name\":\"/Projects/p\"}", ""},
      {RP_KIND_TOOL, "{\"call_id\":\"1\",\"name\":\"n\",\"input\":\"/srv/u/.claude/projects/-srv-u-shop/a.jsonl\"}",
       ""},
      {RP_KIND_TOOL, "{\"call_id\":\"1\",\"name\":\"n\",\"input\":\"cat ~/.cursor/projects/x ~/projects/y\"}",
       "[\"y\"]"},
      {RP_KIND_ACTIVITY, "{\"workdir\":\"/srv/u/.claude/projects/-srv-u-shop\"}", ""},
      {RP_KIND_ACTIVITY, "{\"workdir\":\"/srv/u/.config/tool\"}", "[\"tool\"]"},
  };
  for (size_t i = 0; i < RP_ARRAY_SIZE(cases); i++) {
    RP_AUTOFOLD struct rp__fold *f = fold_new();
    tell(f, cases[i].kind, cases[i].body);
    assert_projects(f, cases[i].projects);
  }
}

static void the_newest_use_is_last(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  tell(f, RP_KIND_PROJECT, "{\"name\":\"a\"}");
  tell(f, RP_KIND_PROJECT, "{\"name\":\"b\"}");
  tell(f, RP_KIND_ACTIVITY, "{\"workdir\":\"/Projects/\\u0061\"}");
  assert_projects(f, "[\"b\",\"a\"]");
}

static void at_most_32(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  RP_AUTOBUF struct rp__buf out = RP_BUF(SAVED_MAX);
  for (int i = 0; i < 40; i++) {
    char body[100];
    snprintf(body, sizeof body, "{\"name\":\"p%d\"}", i);
    tell(f, RP_KIND_PROJECT, body);
  }
  show(f, &out);
  assert_int_equal(rp__json_count(rp__json_get(parsed(&out), "projects")), 32);
  assert_null(strstr(out.p, "\"projects\":[\"p7\""));
  assert_non_null(strstr(out.p, "\"projects\":[\"p8\""));
  for (int i = 0; i < 40; i++) {
    RP_AUTOBUF struct rp__buf body = RP_BUF(SAVED_MAX);
    rp__buf_printf(&body, "{\"name\":\"%d", i);
    for (int k = 0; k < 500; k++) rp__buf_str(&body, "\\u0001");
    rp__buf_str(&body, "\"}");
    tell_n(f, RP_KIND_PROJECT, body.p, body.n);
    assert_sound(f);
  }
}

static void refuses_damaged_snapshots(void **state)
{
  (void)state;
  static const char *const bad[] = {"{}",
                                    "[\"a\"]",
                                    "[{}]",
                                    "[{\"name\":5,\"at_ms\":1}]",
                                    "[{\"name\":\"a\"}]",
                                    "[{\"name\":\"a\",\"at_ms\":1},{\"name\":\"\\u0061\",\"at_ms\":1}]"};
  rp_error err;
  assert_int_equal(load_part("projects", "[{\"name\":\"a\",\"at_ms\":1}]", &err), 0);
  for (size_t i = 0; i < RP_ARRAY_SIZE(bad); i++) {
    if (load_part("projects", bad[i], &err) != RP_E_SNAPSHOT_CORRUPT) fail_msg("%s", bad[i]);
    assert_string_equal(err.field, "projects");
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(where_they_come_from),
      cmocka_unit_test(the_newest_use_is_last),
      cmocka_unit_test(at_most_32),
      cmocka_unit_test(refuses_damaged_snapshots),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
