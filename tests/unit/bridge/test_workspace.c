/* SPDX-License-Identifier: Apache-2.0 */
/* Where a bridge stands: the scope of a directory, and whose guest it is (B-04, B-06). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bridge/workspace.h"

#include <sys/stat.h>
#include <time.h>
#include "lib/rig.h"
#include "lib/scratch.h"

static void make(const char *dir, const char *name)
{
  char path[PATH_MAX];
  snprintf(path, sizeof path, "%s/%s", dir, name);
  assert_int_equal(mkdir(path, 0700), 0);
}

/* Where the project is that `name` in `dir` lies in, without `dir`; "-": in none. */
static const char *root_of(const char *dir, const char *name)
{
  static char ret[RP_PROJECT_PATH_MAX];
  char path[PATH_MAX], real[PATH_MAX];
  snprintf(path, sizeof path, "%s/%s", dir, name);
  assert_non_null(realpath(dir, real));
  if (!rp__workspace_root(path, ret)) return "-";
  assert_memory_equal(ret, real, strlen(real));
  return ret + strlen(real);
}

/* A repository, or a folder with an agent's settings, is a project; the user's home with the same settings is none, and
 * as a repository it is one only to who stands in it. */
static void a_project_is_found_from_within(void **state)
{
  (void)state;
  struct scratch s;
  char link[PATH_MAX], home[PATH_MAX], path[PATH_MAX];
  assert_int_equal(scratch_make(&s), 0);
  static const char *const dirs[] = {"repo",  "repo/.git",     "repo/src", "repo/src/deep", "repo/src/.claude",
                                     "agent", "agent/.gemini", "agent/x",  "plain",         "plain/x",
                                     "home",  "home/.claude",  "home/x",   "tree",          "tree/x"};
  for (size_t i = 0; i < RP_ARRAY_SIZE(dirs); i++) make(s.dir, dirs[i]);
  snprintf(home, sizeof home, "%s/home", s.dir);
  setenv("HOME", home, 1);
  snprintf(path, sizeof path, "%s/tree/.git", s.dir); /* as git worktree leaves it */
  FILE *f = fopen(path, "w");
  assert_non_null(f);
  fclose(f);
  assert_string_equal(root_of(s.dir, "repo"), "/repo");
  assert_string_equal(root_of(s.dir, "repo/src"), "/repo/src"); /* the nearest */
  assert_string_equal(root_of(s.dir, "repo/src/deep"), "/repo/src");
  assert_string_equal(root_of(s.dir, "agent/x"), "/agent");
  assert_string_equal(root_of(s.dir, "tree/x"), "/tree");
  assert_string_equal(root_of(s.dir, "plain/x"), "-");
  assert_string_equal(root_of(s.dir, "home/x"), "-");
  assert_string_equal(root_of(s.dir, "home"), "-");
  assert_string_equal(root_of(s.dir, "nowhere"), "-");
  make(s.dir, "home/.git");
  assert_string_equal(root_of(s.dir, "home/x"), "-");
  assert_string_equal(root_of(s.dir, "home"), "/home");
  snprintf(link, sizeof link, "%s/link", s.dir);
  assert_int_equal(symlink("repo", link), 0);
  assert_string_equal(root_of(s.dir, "link"), "/repo");
  snprintf(path, sizeof path, "%s/plain", s.dir);
  char ret[RP_PROJECT_PATH_MAX], real[PATH_MAX];
  setenv("CLAUDE_PROJECT_DIR", path, 1); /* the agent's own word */
  assert_true(rp__workspace_root(NULL, ret));
  assert_string_equal(ret, realpath(path, real));
  snprintf(path, sizeof path, "%s/gone", s.dir);
  setenv("CLAUDE_PROJECT_DIR", path, 1);
  char here[PATH_MAX];
  assert_non_null(getcwd(here, sizeof here));
  snprintf(path, sizeof path, "%s/repo", s.dir);
  assert_int_equal(chdir(path), 0);
  assert_true(rp__workspace_root(NULL, ret));
  assert_string_equal(ret, realpath(path, real));
  assert_int_equal(chdir(here), 0);
  snprintf(path, sizeof path, "%s/tree/x", s.dir);
  setenv("CLAUDE_PROJECT_DIR", path, 1); /* where the agent was started */
  assert_true(rp__workspace_root(NULL, ret));
  assert_string_equal(ret + strlen(ret) - strlen("/tree"), "/tree");
  unsetenv("CLAUDE_PROJECT_DIR");
  scratch_remove(&s);
}

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
  assert_int_equal(rp__workspace_scope(given, cwd, ret, &err), 0);
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
  assert_int_equal(rp__workspace_scope("a b", "/x", ret, &err), RP_E_INVALID);
  assert_string_equal(err.field, "scope");
  assert_non_null(strstr(err.message, "a b"));
  setenv("REPRISE_SCOPE", ".hidden", 1);
  assert_int_equal(rp__workspace_scope(NULL, "/x", ret, &err), RP_E_INVALID);
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

static void a_folder_has_the_scope_of_its_project(void **state)
{
  (void)state;
  struct scratch s;
  char top[PATH_MAX], sub[PATH_MAX], former[RP_SCOPE_MAX + 1] = "";
  assert_int_equal(scratch_make(&s), 0);
  static const char *const dirs[] = {"repo", "repo/.git", "repo/sub"};
  for (size_t i = 0; i < RP_ARRAY_SIZE(dirs); i++) make(s.dir, dirs[i]);
  snprintf(top, sizeof top, "%s/repo", s.dir);
  snprintf(sub, sizeof sub, "%s/repo/sub", s.dir);
  assert_memory_equal(scope_of(NULL, sub), "repo-", 5);
  assert_string_equal(scope_of(NULL, sub), scope_of(NULL, top));
  assert_true(rp__workspace_former(NULL, sub, former));
  assert_memory_equal(former, "sub-", 4);
  assert_false(rp__workspace_former(NULL, top, former));
  assert_false(rp__workspace_former("given", sub, former));
  scratch_remove(&s);
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
  rp__workspace_id("acp", "0197-abc.X:y_z", a);
  assert_string_equal(a, "0197-abc.X:y_z");
  rp__workspace_id("acp", "with space", a);
  assert_memory_equal(a, "acp-", 4);
  assert_int_equal(strlen(a), 4 + 32);
  rp__workspace_id("acp", "with  space", b);
  assert_string_not_equal(a, b);
  rp__workspace_id("acp", "", b);
  assert_memory_equal(b, "acp-", 4);
  memset(long_name, 'a', sizeof(long_name) - 1);
  long_name[sizeof(long_name) - 1] = '\0';
  rp__workspace_id("acp", long_name, b);
  assert_int_equal(strlen(b), 4 + 32);
}

static void the_environment_says_whether_a_bridge_is_around(void **state)
{
  (void)state;
  assert_null(rp__workspace_session());
  assert_false(rp__workspace_nested());
  setenv("REPRISE_BRIDGE", "acp", 1);
  assert_null(rp__workspace_session());
  assert_true(rp__workspace_nested());
  setenv("REPRISE_SESSION", "s-1", 1);
  assert_string_equal(rp__workspace_session(), "s-1");
  setenv("REPRISE_SESSION", "no id", 1);
  assert_null(rp__workspace_session());
}

static rp_session *start(rp_engine *e, const char *id, const char *scope, const char *channel, const char *meta)
{
  const rp_start_options o = {.id = id, .scope = scope, .channel = channel, .meta = meta};
  rp_session *s = NULL;
  rp_error err = {0};
  if (rp_start(e, &o, &s, &err)) fail_msg("%s", rig_why(&err));
  return s;
}

/* For a guest that knows nothing of itself. */
static int host(rp_engine *e, const char *scope, const char *cwd, char ret[RP_SCOPE_MAX + 1], rp_error *err)
{
  const struct rp__workspace_guest unknown = {0};
  bool sure;
  return rp__workspace_host(e, scope, cwd, &unknown, ret, &sure, err);
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
  assert_int_equal(host(e, "sc", "/p", id, &err), RP_E_SESSION_NOT_FOUND);
  setenv("REPRISE_BRIDGE", "acp", 1);
  assert_int_equal(host(e, "sc", "/p", id, &err), 0);
  assert_string_equal(id, "a");
  assert_int_equal(rp_end(a, NULL, &err), 0);
  assert_int_equal(host(e, "sc", "/p", id, &err), RP_E_SESSION_NOT_FOUND);
  assert_string_equal(id, "a");
  assert_int_equal(host(e, "sc", "/q", id, &err), 0);
  assert_string_equal(id, "c");
  setenv("REPRISE_SESSION", "told", 1);
  assert_int_equal(host(e, "sc", "/q", id, &err), 0);
  assert_string_equal(id, "told");
  rp_session *all[] = {a, b, c, d};
  for (size_t i = 0; i < RP_ARRAY_SIZE(all); i++) rp_session_free(all[i]);
  rp_close(e);
  scratch_remove(&dir);
}

/* ---- which of a proxy's sessions it is ---- */

#define STAGE_SESSIONS 8
#define EPOCH INT64_C(1800000000000)

/* A scope with sessions of a proxy, on a clock of its own. */
struct stage {
  struct scratch dir;
  rp_engine *e;
  rp_session *v[STAGE_SESSIONS];
  size_t n;
  int64_t now; /* since EPOCH */
};

static int64_t stage_wall(void *ctx)
{
  return EPOCH + ((struct stage *)ctx)->now;
}

static int64_t stage_boot(void *ctx)
{
  (void)ctx;
  return 0;
}

static void stage_open(struct stage *st)
{
  char path[SCRATCH_PATH], url[RIG_URL];
  rp_error err = {0};
  *st = (struct stage){0};
  assert_int_equal(scratch_make_fast(&st->dir), 0);
  const rp_clock clock = {stage_wall, stage_boot, st};
  const rp_options o = {.db = rig_url(scratch_path(&st->dir, "db", path), url), .clock = &clock, .short_lived = true};
  if (rp_open(&o, &st->e, &err)) fail_msg("%s", rig_why(&err));
  setenv("REPRISE_BRIDGE", "acp", 1);
}

static void stage_close(struct stage *st)
{
  for (size_t i = 0; i < st->n; i++) rp_session_free(st->v[i]);
  rp_close(st->e);
  scratch_remove(&st->dir);
}

static void tell(struct stage *st, rp_session *s, int64_t at, const char *kind, const char *body)
{
  const rp_event ev = {.kind = kind, .body = body};
  rp_ack ack;
  rp_error err = {0};
  st->now = at;
  if (rp_append(s, &ev, NULL, &ack, &err)) fail_msg("%s", rig_why(&err));
}

/* As the proxy begins one: its run, and what the agent calls it. */
static rp_session *begin(struct stage *st, const char *id, int64_t at, const char *cwd, const char *agent_sid)
{
  char text[128];
  rp_session *s = NULL;
  rp_error err = {0};
  st->now = at;
  snprintf(text, sizeof text, "{\"cwd\":\"%s\"}", cwd);
  const rp_start_options o = {.id = id, .scope = "sc", .channel = "acp", .meta = text, .owner = RP_OWNER_SELF};
  if (rp_start(st->e, &o, &s, &err)) fail_msg("%s", rig_why(&err));
  st->v[st->n++] = s;
  snprintf(text, sizeof text, "{\"type\":\"acp\",\"acp_session_id\":\"%s\"}", agent_sid);
  tell(st, s, at, "provider", text);
  return s;
}

static const char *host_of(struct stage *st, const struct rp__workspace_guest *g, bool sure)
{
  static char id[RP_SCOPE_MAX + 1];
  rp_error err = {0};
  bool is = !sure;
  if (rp__workspace_host(st->e, "sc", "/p", g, id, &is, &err)) fail_msg("%s", rig_why(&err));
  assert_int_equal(is, sure);
  return id;
}

static const char *host_at(struct stage *st, int64_t at, bool sure)
{
  return host_of(st, &(struct rp__workspace_guest){.born_ms = EPOCH + at}, sure);
}

static const char *host_named(struct stage *st, const char *sid, bool sure)
{
  return host_of(st, &(struct rp__workspace_guest){.agent_sid = sid}, sure);
}

static void a_server_belongs_to_what_was_begun_while_it_started(void **state)
{
  struct stage st;
  (void)state;
  stage_open(&st);
  rp_session *a = begin(&st, "a", 1000, "/p", "a");
  rp_session *b = begin(&st, "b", 2000, "/p", "b");
  begin(&st, "q", 1500, "/q", "q");
  tell(&st, b, 3000, "x-n", "{}");
  assert_string_equal(host_at(&st, 800, true), "a");
  assert_string_equal(host_at(&st, 1000, true), "a"); /* two for one session are both its */
  assert_string_equal(host_at(&st, 1001, true), "b");
  assert_string_equal(host_at(&st, 1900, true), "b");
  /* Started later, for a call: whoever is at work. */
  assert_string_equal(host_at(&st, 2500, false), "b");
  tell(&st, a, 4000, "x-n", "{}");
  assert_string_equal(host_at(&st, 2500, false), "a");
  stage_close(&st);
}

/* What the agent got just before it greeted the server may be the one before; and a beginning is no work. */
static void an_answer_that_was_on_its_way(void **state)
{
  struct stage st;
  (void)state;
  stage_open(&st);
  rp_session *a = begin(&st, "a", 1000, "/p", "a");
  const struct rp__workspace_guest g = {.born_ms = EPOCH + 995, .greeted_ms = EPOCH + 1100};
  assert_string_equal(host_of(&st, &g, false), "a");
  rp_session *b = begin(&st, "b", 2000, "/p", "b");
  assert_string_equal(host_of(&st, &g, false), "b");
  tell(&st, a, 2000, "x-n", "{}");
  assert_string_equal(host_of(&st, &g, false), "a");
  tell(&st, b, 2001, "x-n", "{}");
  assert_string_equal(host_of(&st, &g, false), "b");
  stage_close(&st);
}

/* What comes long after was not what it was started for. */
static void how_long_a_beginning_takes(void **state)
{
  struct stage st;
  (void)state;
  stage_open(&st);
  rp_session *a = begin(&st, "a", 100000, "/p", "a");
  assert_string_equal(host_at(&st, 99985, true), "a");
  assert_string_equal(host_at(&st, 40001, true), "a");
  assert_string_equal(host_at(&st, 40000, false), "a");
  begin(&st, "b", 700000, "/p", "b");
  tell(&st, a, 710000, "x-n", "{}");
  assert_string_equal(host_at(&st, 100500, false), "a");
  stage_close(&st);
}

/* Its run and its journal are old: that the agent has it again is what counts. */
static void a_session_that_the_agent_got_back(void **state)
{
  struct stage st;
  (void)state;
  stage_open(&st);
  rp_session *old = begin(&st, "old", 1000, "/p", "old");
  for (int64_t i = 0; i < 700; i++) tell(&st, old, 1001 + i, "x-n", "{}");
  tell(&st, old, 5000, "x-acp-agent", "{\"event\":\"died\",\"status\":9}");
  tell(&st, old, 6000, "x-acp-agent", "{\"event\":\"restored\",\"rung\":\"load\"}");
  rp_session *b = begin(&st, "b", 9000, "/p", "b");
  tell(&st, b, 9900, "x-n", "{}");
  assert_string_equal(host_at(&st, 5500, true), "old");
  assert_string_equal(host_at(&st, 4500, true), "old");
  assert_string_equal(host_at(&st, 7000, true), "b");
  tell(&st, old, 12000, "x-acp-agent", "{\"event\":\"restored\",\"rung\":\"resume\"}");
  for (int64_t i = 0; i < 700; i++) tell(&st, old, 12001 + i, "x-n", "{}");
  assert_string_equal(host_at(&st, 11000, true), "old");
  stage_close(&st);
}

static void one_that_has_ended_is_nobodys_host(void **state)
{
  struct stage st;
  rp_error err = {0};
  (void)state;
  stage_open(&st);
  rp_session *a = begin(&st, "a", 1000, "/p", "a");
  begin(&st, "b", 2000, "/p", "b");
  assert_int_equal(rp_end(a, NULL, &err), 0);
  assert_string_equal(host_at(&st, 900, true), "b");
  assert_string_equal(host_named(&st, "a", false), "b");
  stage_close(&st);
}

/* Hooks are told what the agent calls the session, which may be another name than the journal's. */
static void a_hook_is_told_the_agents_name(void **state)
{
  struct stage st;
  (void)state;
  stage_open(&st);
  rp_session *a = begin(&st, "s1", 1000, "/p", "s1");
  begin(&st, "s1.2", 2000, "/p", "s1-b");
  begin(&st, "far", 3000, "/elsewhere", "far"); /* agents follow the commands they run */
  assert_string_equal(host_named(&st, "s1", true), "s1");
  assert_string_equal(host_named(&st, "s1-b", true), "s1.2");
  assert_string_equal(host_named(&st, "far", true), "far");
  assert_string_equal(host_named(&st, "unheard of", false), "s1.2");
  tell(&st, a, 4000, "provider", "{\"type\":\"acp\",\"acp_session_id\":\"s9\"}");
  assert_string_equal(host_named(&st, "s9", true), "s1");
  begin(&st, "s1.3", 5000, "/p", "s1"); /* an agent that counts from one again */
  assert_string_equal(host_named(&st, "s1", true), "s1.3");
  stage_close(&st);
}

static void ones_own_birth(void **state)
{
  (void)state;
  int64_t first = rp__workspace_born(), now = (int64_t)time(NULL) * 1000 + 1000;
  int64_t moved = rp__workspace_born() - first;
  assert_true(first > 0 && first <= now);
  assert_true(moved >= -2 && moved <= 12); /* no more than the clocks' grain, however long we live */
}

static void write_file(const char *dir, const char *name, const char *text)
{
  char path[PATH_MAX];
  snprintf(path, sizeof path, "%s/%s", dir, name);
  FILE *f = fopen(path, "we");
  assert_non_null(f);
  fputs(text, f);
  fclose(f);
}

static void topics_are(const char *given, const char *dir, const char *name, const char *want)
{
  RP_AUTOBUF struct rp__buf got = RP_BUF(RP_START_TOPICS_BYTES);
  char path[PATH_MAX];
  snprintf(path, sizeof path, "%s/%s", dir, name);
  rp__workspace_topics(given, path, &got);
  assert_string_equal(got.p ? got.p : "", want);
}

/* the folder and the branch; no program is run for it. */
static void what_a_start_is_about(void **state)
{
  (void)state;
  struct scratch s;
  char home[PATH_MAX], line[PATH_MAX + 32];
  assert_int_equal(scratch_make(&s), 0);
  static const char *const dirs[] = {"My-Shop",   "My-Shop/.git", "My-Shop/src", "My-Shop/src/.claude", "wt", "home",
                                     "home/.git", "home/x",       "git",         "git/worktrees"};
  for (size_t i = 0; i < RP_ARRAY_SIZE(dirs); i++) make(s.dir, dirs[i]);
  snprintf(home, sizeof home, "%s/home", s.dir);
  setenv("HOME", home, 1);
  /* What every project has says nothing; neither does a detached head. */
  static const char *const heads[] = {"ref: refs/heads/main\n",
                                      "ref: refs/heads/master",
                                      "ref: refs/heads/trunk\n",
                                      "ref: refs/heads/develop\n",
                                      "3b18e512dba79e4c8300dd08aeb37f8e728b8dad\n",
                                      ""};
  for (size_t i = 0; i < RP_ARRAY_SIZE(heads); i++) {
    write_file(s.dir, "My-Shop/.git/HEAD", heads[i]);
    topics_are(NULL, s.dir, "My-Shop", "my-shop,shop");
  }
  write_file(s.dir, "My-Shop/.git/HEAD", "ref: refs/heads/ada/login-cookie\n");
  topics_are(NULL, s.dir, "My-Shop", "my-shop,shop,login-cookie,login,cookie");
  topics_are("Tea, cake", s.dir, "My-Shop", "Tea, cake,my-shop,shop,login-cookie,login,cookie");
  /* The repository around a folder with settings of its own. */
  topics_are(NULL, s.dir, "My-Shop/src", "src,login-cookie,login,cookie");
  /* A linked work tree, by an absolute and by a relative path. */
  write_file(s.dir, "git/worktrees/HEAD", "ref: refs/heads/basket\n");
  snprintf(line, sizeof line, "gitdir: %s/git/worktrees\n", s.dir);
  write_file(s.dir, "wt/.git", line);
  topics_are(NULL, s.dir, "wt", "wt,basket");
  write_file(s.dir, "wt/.git", "gitdir: ../git/worktrees\n");
  topics_are(NULL, s.dir, "wt", "wt,basket");
  write_file(s.dir, "wt/.git", "gitdir: ../gone\n");
  topics_are(NULL, s.dir, "wt", "wt");
  /* The user's home is no project, and its repository is not around what lies in it. */
  write_file(s.dir, "home/.git/HEAD", "ref: refs/heads/dots\n");
  topics_are(NULL, s.dir, "home", "");
  topics_are(NULL, s.dir, "home/x", "x");
  scratch_remove(&s);
}

static void topics_are_bounded(void **state)
{
  (void)state;
  RP_AUTOBUF struct rp__buf given = RP_BUF(8192), got = RP_BUF(RP_START_TOPICS_BYTES);
  size_t n = 1;
  for (int i = 0; i < 500; i++) rp__buf_printf(&given, "word%d,", i);
  rp__workspace_topics(given.p, "/", &got);
  for (size_t i = 0; i < got.n; i++) n += got.p[i] == ',';
  assert_int_equal(n, RP_START_TOPICS_MAX);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(what_is_given_comes_first_then_the_environment, clean),
      cmocka_unit_test_setup(a_bad_name_is_refused_and_named, clean),
      cmocka_unit_test_setup(a_directory_has_one_scope_and_no_other_has_it, clean),
      cmocka_unit_test_setup(a_folder_has_the_scope_of_its_project, clean),
      cmocka_unit_test_setup(links_are_followed, clean),
      cmocka_unit_test_setup(a_project_is_found_from_within, clean),
      cmocka_unit_test_setup(without_a_directory_it_is_the_current_one, clean),
      cmocka_unit_test_setup(names_become_ids, clean),
      cmocka_unit_test_setup(the_environment_says_whether_a_bridge_is_around, clean),
      cmocka_unit_test_setup(the_hosts_session_is_the_newest_open_one_there, clean),
      cmocka_unit_test_setup(a_server_belongs_to_what_was_begun_while_it_started, clean),
      cmocka_unit_test_setup(an_answer_that_was_on_its_way, clean),
      cmocka_unit_test_setup(how_long_a_beginning_takes, clean),
      cmocka_unit_test_setup(a_session_that_the_agent_got_back, clean),
      cmocka_unit_test_setup(one_that_has_ended_is_nobodys_host, clean),
      cmocka_unit_test_setup(a_hook_is_told_the_agents_name, clean),
      cmocka_unit_test_setup(ones_own_birth, clean),
      cmocka_unit_test_setup(what_a_start_is_about, clean),
      cmocka_unit_test_setup(topics_are_bounded, clean),
  };
  return cmocka_run_group_tests_name("bridge place", tests, NULL, NULL);
}
