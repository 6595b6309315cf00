/* SPDX-License-Identifier: Apache-2.0 */
/* Where a bridge stands: the scope of a directory, and whose guest it is (B-04, B-06, decision 15). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bridge/place.h"

#include <sys/stat.h>
#include "lib/rig.h"
#include "lib/scratch.h"

static int clean(void **state)
{
  (void)state;
  unsetenv("REPRISE_SCOPE");
  unsetenv("REPRISE_SESSION");
  unsetenv("REPRISE_BRIDGE");
  return 0;
}

static const char *scope_of(const char *given, const char *cwd)
{
  static char scope[4][RP_SCOPE_MAX + 1];
  static int at;
  rp_error err = {0};
  char *ret = scope[at++ % 4];
  assert_int_equal(rp__place_scope(given, cwd, ret, &err), 0);
  return ret;
}

static void what_is_given_comes_first_then_the_environment(void **state)
{
  (void)state;
  setenv("REPRISE_SCOPE", "from-env", 1);
  assert_string_equal(scope_of("given", "/a/b"), "given");
  assert_string_equal(scope_of(NULL, "/a/b"), "from-env");
  assert_string_equal(scope_of("", "/a/b"), "from-env");
  setenv("REPRISE_SCOPE", "", 1);
  assert_memory_equal(scope_of(NULL, "/a/b"), "b-", 2);
}

static void a_bad_name_is_refused_and_named(void **state)
{
  char ret[RP_SCOPE_MAX + 1] = "kept";
  rp_error err = {0};
  (void)state;
  assert_int_equal(rp__place_scope("a b", "/x", ret, &err), RP_E_INVALID);
  assert_string_equal(err.field, "scope");
  assert_non_null(strstr(err.message, "a b"));
  setenv("REPRISE_SCOPE", ".hidden", 1);
  assert_int_equal(rp__place_scope(NULL, "/x", ret, &err), RP_E_INVALID);
  assert_string_equal(ret, "kept");
}

static void a_directory_has_one_scope_and_no_other_has_it(void **state)
{
  (void)state;
  assert_string_equal(scope_of(NULL, "/srv/u/project"), scope_of(NULL, "/srv/u/project/"));
  assert_string_not_equal(scope_of(NULL, "/srv/u/project"), scope_of(NULL, "/srv/v/project"));
  assert_memory_equal(scope_of(NULL, "/srv/u/project"), "project-", 8);
  assert_int_equal(strlen(scope_of(NULL, "/srv/u/project")), 8 + 6);
  assert_memory_equal(scope_of(NULL, "/"), "root-", 5);
  assert_memory_equal(scope_of(NULL, "/x/.config dir:"), "config-dir--", 12);
  assert_memory_equal(scope_of(NULL, "/x/\xc3\xa9\xc3\xa9"), "root-", 5);
  char long_name[300] = "/x/";
  memset(long_name + 3, 'n', 200);
  long_name[203] = '\0';
  assert_int_equal(strlen(scope_of(NULL, long_name)), 48 + 1 + 6);
}

/* A link is another name of the same project. */
static void links_are_followed(void **state)
{
  (void)state;
  char root[] = "/tmp/rp-place-XXXXXX", project[64], link[64], below[64], scope[RP_SCOPE_MAX + 1];
  assert_non_null(mkdtemp(root));
  snprintf(project, sizeof project, "%s/project", root);
  snprintf(link, sizeof link, "%s/link", root);
  snprintf(below, sizeof below, "%s/link/nothing", root);
  assert_int_equal(mkdir(project, 0700), 0);
  assert_int_equal(symlink(project, link), 0);
  snprintf(scope, sizeof scope, "%s", scope_of(NULL, project));
  assert_string_equal(scope_of(NULL, link), scope);
  assert_memory_equal(scope_of(NULL, below), "nothing-", 8); /* what is not there is taken as it is */
  unlink(link);
  rmdir(project);
  rmdir(root);
}

static void without_a_directory_it_is_the_current_one(void **state)
{
  char here[4096];
  (void)state;
  assert_non_null(getcwd(here, sizeof(here)));
  assert_string_equal(scope_of(NULL, NULL), scope_of(NULL, here));
}

static void names_become_ids(void **state)
{
  char a[RP_SCOPE_MAX + 1], b[RP_SCOPE_MAX + 1], long_name[RP_ID_MAX + 2];
  (void)state;
  rp__place_id("acp", "0197-abc.X:y_z", a);
  assert_string_equal(a, "0197-abc.X:y_z");
  rp__place_id("acp", "with space", a);
  assert_memory_equal(a, "acp-", 4);
  assert_int_equal(strlen(a), 4 + 32);
  rp__place_id("acp", "with  space", b);
  assert_string_not_equal(a, b);
  rp__place_id("acp", "", b);
  assert_memory_equal(b, "acp-", 4);
  memset(long_name, 'a', sizeof(long_name) - 1);
  long_name[sizeof(long_name) - 1] = '\0';
  rp__place_id("acp", long_name, b);
  assert_int_equal(strlen(b), 4 + 32);
}

static void the_environment_says_whether_a_bridge_is_around(void **state)
{
  (void)state;
  assert_null(rp__place_session());
  assert_false(rp__place_nested());
  setenv("REPRISE_BRIDGE", "acp", 1);
  assert_null(rp__place_session());
  assert_true(rp__place_nested());
  setenv("REPRISE_SESSION", "s-1", 1);
  assert_string_equal(rp__place_session(), "s-1");
  setenv("REPRISE_SESSION", "no id", 1);
  assert_null(rp__place_session());
}

static rp_session *start(rp_engine *e, const char *id, const char *scope, const char *channel, const char *meta)
{
  const rp_start_options o = {.id = id, .scope = scope, .channel = channel, .meta = meta};
  rp_session *s = NULL;
  rp_error err = {0};
  if (rp_start(e, &o, &s, &err)) fail_msg("%s", rig_why(&err));
  return s;
}

static void the_hosts_session_is_the_newest_open_one_there(void **state)
{
  struct scratch dir;
  char path[SCRATCH_PATH], url[RIG_URL], id[RP_SCOPE_MAX + 1] = "kept";
  rp_engine *e = NULL;
  rp_error err = {0};
  (void)state;
  assert_int_equal(scratch_make_fast(&dir), 0);
  assert_int_equal(rig_open(rig_url(scratch_path(&dir, "db", path), url), false, &e, &err), 0);
  rp_session *a = start(e, "a", "sc", "acp", "{\"cwd\":\"/p\"}");
  rp_session *b = start(e, "b", "sc", "hook", "{\"cwd\":\"/p\"}");
  rp_session *c = start(e, "c", "sc", "acp", "{\"cwd\":\"/q\"}");
  rp_session *d = start(e, "d", "other", "acp", "{\"cwd\":\"/p\"}");
  assert_int_equal(rp__place_host(e, "sc", "/p", id, &err), RP_E_SESSION_NOT_FOUND);
  setenv("REPRISE_BRIDGE", "acp", 1);
  assert_int_equal(rp__place_host(e, "sc", "/p", id, &err), 0);
  assert_string_equal(id, "a");
  assert_int_equal(rp_end(a, NULL, &err), 0);
  assert_int_equal(rp__place_host(e, "sc", "/p", id, &err), RP_E_SESSION_NOT_FOUND);
  assert_string_equal(id, "a");
  assert_int_equal(rp__place_host(e, "sc", "/q", id, &err), 0);
  assert_string_equal(id, "c");
  setenv("REPRISE_SESSION", "told", 1);
  assert_int_equal(rp__place_host(e, "sc", "/q", id, &err), 0);
  assert_string_equal(id, "told");
  rp_session *all[] = {a, b, c, d};
  for (size_t i = 0; i < RP_ARRAY_SIZE(all); i++) rp_session_free(all[i]);
  rp_close(e);
  scratch_remove(&dir);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(what_is_given_comes_first_then_the_environment, clean),
      cmocka_unit_test_setup(a_bad_name_is_refused_and_named, clean),
      cmocka_unit_test_setup(a_directory_has_one_scope_and_no_other_has_it, clean),
      cmocka_unit_test_setup(links_are_followed, clean),
      cmocka_unit_test_setup(without_a_directory_it_is_the_current_one, clean),
      cmocka_unit_test_setup(names_become_ids, clean),
      cmocka_unit_test_setup(the_environment_says_whether_a_bridge_is_around, clean),
      cmocka_unit_test_setup(the_hosts_session_is_the_newest_open_one_there, clean),
  };
  return cmocka_run_group_tests_name("bridge place", tests, NULL, NULL);
}
