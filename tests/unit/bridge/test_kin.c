/* SPDX-License-Identifier: Apache-2.0 */
/* Hooks and an MCP server of one agent: one session, one brief, whoever comes first (N-05, X-09). */
#include "bridge_test.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>

#include "bridge/hook/hook.h"
#include "bridge/kin.h"

#define OUT_MAX ((size_t)64 * 1024)

/* A process that stands for the agent. */
static pid_t agent_new(void)
{
  pid_t pid = fork();
  assert_true(pid >= 0);
  if (pid == 0)
    for (;;) pause();
  return pid;
}

static void agent_end(pid_t pid)
{
  kill(pid, SIGKILL);
  waitpid(pid, NULL, 0);
}

/* A hook of Claude's; the answer is in a static buffer. */
static const char *hook(struct rig *r, pid_t agent, const char *event, const char *members)
{
  static char answer[OUT_MAX];
  RP_AUTOBUF struct rp__buf in = RP_BUF(OUT_MAX), out = RP_BUF(OUT_MAX);
  const struct rp__hook_call call = {.event = event, .scope = "shop", .owner_pid = agent};
  rp_error err = {0};
  rp__buf_printf(&in, "{%s}", members);
  OK(rp__hook_handle(r->e, &call, bridge_json(in.p), &out, &err), err);
  snprintf(answer, sizeof answer, "%s", out.p ? out.p : "");
  return answer;
}

static struct rp__mind server_of(struct rig *r, pid_t agent)
{
  struct rp__mind m = bridge_mind(r, "shop");
  m.agent_pid = agent;
  return m;
}

static void begin(struct rp__mind *m)
{
  rp_error err = {0};
  OK(rp__mind_begin(m, &err), err);
}

static int count(void *ctx, const rp_session_info *info)
{
  (void)info;
  ++*(int *)ctx;
  return 0;
}

static int sessions(struct rig *r)
{
  const rp_filter f = {.scope = "shop"};
  rp_error err = {0};
  int n = 0;
  OK(rp_list(r->e, &f, count, &n, &err), err);
  return n;
}

/* Something to tell of. */
static void leave_something(struct rig *r)
{
  struct rp__mind m = bridge_mind(r, "shop");
  bridge_call(&m, "working_memory",
              "{\"action\":\"pin\",\"label\":\"l\",\"content\":\"mind the gap\",\"importance\":\"critical\"}");
  rp__mind_end(&m, NULL);
  r->wall += 60000;
}

static void a_server_joins_the_hooks(void **state)
{
  struct rig *r = *state;
  pid_t agent = agent_new();
  leave_something(r);
  assert_has(hook(r, agent, "SessionStart", "\"session_id\":\"a\""), "mind the gap");
  struct rp__mind m = server_of(r, agent);
  begin(&m);
  assert_true(m.guest);
  assert_null(rp__mind_brief(&m));
  bridge_call(&m, "working_memory", "{\"action\":\"pin\",\"label\":\"n\",\"content\":\"of the server\"}");
  assert_int_equal(sessions(r), 2);
  /* The next conversation of the same agent: the server follows. */
  hook(r, agent, "SessionEnd", "\"session_id\":\"a\"");
  hook(r, agent, "SessionStart", "\"session_id\":\"b\",\"source\":\"clear\"");
  const char *doc = bridge_call(&m, "working_memory", "{\"action\":\"view\"}");
  assert_has(doc, "of the server");
  bridge_call(&m, "working_memory", "{\"action\":\"pin\",\"label\":\"m\",\"content\":\"x\"}");
  assert_string_equal(rig_get(bridge_call(&m, "session_status", NULL), "key"), "\"claude:b\"");
  assert_int_equal(sessions(r), 3);
  rp__mind_end(&m, NULL);
  agent_end(agent);
}

static void hooks_join_the_server(void **state)
{
  struct rig *r = *state;
  pid_t agent = agent_new();
  leave_something(r);
  struct rp__mind m = server_of(r, agent);
  begin(&m);
  assert_has(rp__mind_brief(&m), "mind the gap");
  assert_string_equal(hook(r, agent, "SessionStart", "\"session_id\":\"a\""), "");
  hook(r, agent, "UserPromptSubmit", "\"session_id\":\"a\",\"prompt\":\"hello\"");
  hook(r, agent, "PreToolUse", "\"session_id\":\"a\",\"tool_name\":\"Bash\",\"tool_use_id\":\"t\"");
  assert_has(bridge_text("session_status", bridge_call(&m, "session_status", NULL)), "messages: 1");
  hook(r, agent, "SessionEnd", "\"session_id\":\"a\"");
  bridge_call(&m, "session_status", NULL);
  assert_int_equal(sessions(r), 2);
  /* The server is gone, its agent is not. */
  rp__mind_end(&m, NULL);
  hook(r, agent, "UserPromptSubmit", "\"session_id\":\"a\",\"prompt\":\"still here\"");
  assert_int_equal(sessions(r), 3);
  agent_end(agent);
}

static void other_agents_keep_to_themselves(void **state)
{
  struct rig *r = *state;
  pid_t one = agent_new(), two = agent_new();
  hook(r, one, "SessionStart", "\"session_id\":\"a\"");
  struct rp__mind m = server_of(r, two), unknown = server_of(r, 0);
  begin(&m);
  assert_false(m.guest);
  begin(&unknown);
  assert_false(unknown.guest);
  assert_int_equal(sessions(r), 3);
  hook(r, one, "UserPromptSubmit", "\"session_id\":\"a\",\"prompt\":\"mine\"");
  assert_int_equal(sessions(r), 3);
  rp__mind_end(&m, NULL);
  rp__mind_end(&unknown, NULL);
  agent_end(one);
  agent_end(two);
}

static int on_epoch(void *ctx, const rp_session_info *info)
{
  int64_t *v = ctx;
  v[0] = info->epoch;
  v[1] = info->seq;
  return 0;
}

/* A session that another process of the agent began and this one resumed, after a crash. */
static void a_resumed_session_is_joined_too(void **state)
{
  struct rig *r = *state;
  pid_t before = agent_new(), agent = agent_new(), stranger = agent_new();
  rp_error err = {0};
  int64_t was[2], is[2];
  hook(r, before, "SessionStart", "\"session_id\":\"a\"");
  hook(r, before, "UserPromptSubmit", "\"session_id\":\"a\",\"prompt\":\"hello\"");
  agent_end(before);
  hook(r, agent, "SessionStart", "\"session_id\":\"a\",\"source\":\"resume\"");
  OK(rp_show(r->e, "claude:a", on_epoch, was, &err), err);
  struct rp__mind m = server_of(r, agent), other = server_of(r, stranger);
  begin(&m);
  assert_true(m.guest);
  begin(&other);
  assert_false(other.guest);
  OK(rp_show(r->e, "claude:a", on_epoch, is, &err), err);
  assert_int_equal(was[0], is[0]);
  assert_int_equal(was[1], is[1]);
  rp__mind_end(&m, NULL);
  rp__mind_end(&other, NULL);
  agent_end(agent);
  agent_end(stranger);
}

/* Agents start both at once: one looks and begins, the other waits. */
static void one_at_a_time(void **state)
{
  (void)state;
  pid_t agent = agent_new();
  char path[64];
  int lock = rp__kin_lock(agent), other;
  assert_true(lock >= 0);
  snprintf(path, sizeof path, "/proc/%d/stat", (int)agent);
  other = open(path, O_RDONLY | O_CLOEXEC);
  assert_int_equal(flock(other, LOCK_EX | LOCK_NB), -1);
  close(lock);
  assert_int_equal(flock(other, LOCK_EX | LOCK_NB), 0);
  close(other);
  agent_end(agent);
  assert_int_equal(rp__kin_lock(0), -1);
  assert_int_equal(rp__kin_lock(agent), -1); /* gone */
  assert_true(rp__kin_agent() != getpid());
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, bridge_setup, rig_teardown)

int main(void)
{
  static const struct CMUnitTest tests[] = {
      TEST(a_server_joins_the_hooks),        TEST(hooks_join_the_server), TEST(other_agents_keep_to_themselves),
      TEST(a_resumed_session_is_joined_too), TEST(one_at_a_time),
  };
  unsetenv("CLAUDE_PROJECT_DIR");
  return cmocka_run_group_tests(tests, NULL, NULL);
}
