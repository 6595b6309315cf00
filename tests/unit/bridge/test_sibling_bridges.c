/* SPDX-License-Identifier: Apache-2.0 */
/* Hooks and an MCP server of one agent: one session, one brief, whoever comes first (N-05, X-09). */
#include "bridge_test.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "bridge/hook/hook.h"
#include "bridge/sibling-bridges.h"

#define OUT_MAX ((size_t)64 * 1024)

/* A process that stands for the agent. */
static pid_t agent_new(void)
{
  pid_t pid = fork();
  assert_true(pid >= 0);
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that fails leaves nobody behind */
    for (;;) pause();
  }
  return pid;
}

/* One that ends by itself, and that nobody has waited for yet. */
static pid_t agent_exit(int code)
{
  siginfo_t info;
  pid_t pid = fork();
  assert_true(pid >= 0);
  if (pid == 0) _exit(code);
  assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
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

static struct rp__tool_session server_of(struct rig *r, pid_t agent)
{
  struct rp__tool_session m = bridge_mind(r, "shop");
  m.agent_pid = agent;
  return m;
}

static void begin(struct rp__tool_session *m)
{
  rp_error err = {0};
  OK(rp__tool_session_begin(m, &err), err);
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
  struct rp__tool_session m = bridge_mind(r, "shop");
  bridge_call(&m, "working_memory",
              "{\"action\":\"pin\",\"label\":\"l\",\"content\":\"mind the gap\",\"importance\":\"critical\"}");
  rp__tool_session_end(&m, NULL);
  r->wall += 60000;
}

static void a_server_joins_the_hooks(void **state)
{
  struct rig *r = *state;
  pid_t agent = agent_new();
  leave_something(r);
  assert_has(hook(r, agent, "SessionStart", "\"session_id\":\"a\""), "mind the gap");
  struct rp__tool_session m = server_of(r, agent);
  begin(&m);
  assert_true(m.guest);
  assert_null(rp__tool_session_brief(&m));
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
  rp__tool_session_end(&m, NULL);
  agent_end(agent);
}

static void hooks_join_the_server(void **state)
{
  struct rig *r = *state;
  pid_t agent = agent_new();
  leave_something(r);
  struct rp__tool_session m = server_of(r, agent);
  begin(&m);
  assert_has(rp__tool_session_brief(&m), "mind the gap");
  assert_string_equal(hook(r, agent, "SessionStart", "\"session_id\":\"a\""), "");
  hook(r, agent, "UserPromptSubmit", "\"session_id\":\"a\",\"prompt\":\"hello\"");
  hook(r, agent, "PreToolUse", "\"session_id\":\"a\",\"tool_name\":\"Bash\",\"tool_use_id\":\"t\"");
  assert_has(bridge_text("session_status", bridge_call(&m, "session_status", NULL)), "messages: 1");
  hook(r, agent, "SessionEnd", "\"session_id\":\"a\"");
  bridge_call(&m, "session_status", NULL);
  assert_int_equal(sessions(r), 2);
  /* The server is gone, its agent is not. */
  rp__tool_session_end(&m, NULL);
  hook(r, agent, "UserPromptSubmit", "\"session_id\":\"a\",\"prompt\":\"still here\"");
  assert_int_equal(sessions(r), 3);
  agent_end(agent);
}

static int on_show(void *ctx, const rp_session_info *info)
{
  char *out = ctx;
  snprintf(out, 64, "%s%s", rp_session_status_name(info->status), info->crash_recovered ? " crashed" : "");
  return 0;
}

static const char *status_of(struct rig *r, const char *ref)
{
  static char text[64];
  rp_error err = {0};
  OK(rp_show(r->e, ref, on_show, text, &err), err);
  return text;
}

/* The server's configuration stands in two places, or it was started again before it ended. */
static void servers_share_a_session(void **state)
{
  struct rig *r = *state;
  pid_t agent = agent_new();
  leave_something(r);
  struct rp__tool_session a = server_of(r, agent), b = server_of(r, agent);
  begin(&a);
  begin(&b);
  assert_has(rp__tool_session_brief(&a), "mind the gap");
  assert_null(rp__tool_session_brief(&b));
  char id[RP_ID_MAX + 1];
  snprintf(id, sizeof id, "%s", rp_session_id(a.s));
  assert_string_equal(id, rp_session_id(b.s));
  bridge_call(&b, "working_memory", "{\"action\":\"pin\",\"label\":\"n\",\"content\":\"of the other\"}");
  assert_has(bridge_call(&a, "working_memory", "{\"action\":\"view\"}"), "of the other");
  rp__tool_session_end(&a, "client closed");
  bridge_call(&b, "working_memory", "{\"action\":\"pin\",\"label\":\"m\",\"content\":\"goes on\"}");
  assert_string_equal(status_of(r, id), "active");
  begin(&a);
  assert_string_equal(id, rp_session_id(a.s));
  rp__tool_session_end(&b, "client closed");
  assert_string_equal(status_of(r, id), "active");
  rp__tool_session_end(&a, "client closed");
  assert_string_equal(status_of(r, id), "closed");
  assert_int_equal(sessions(r), 2);
  agent_end(agent);
}

/* What it told the model went with it. */
static void who_takes_a_dead_servers_place_tells_again(void **state)
{
  struct rig *r = *state;
  pid_t agent = agent_new();
  leave_something(r);
  struct rp__tool_session a = server_of(r, agent), b = server_of(r, agent);
  begin(&a);
  rp__tool_session_leave(&a); /* as a kill leaves it: the kernel gives the seat back */
  begin(&b);
  assert_has(rp__tool_session_brief(&b), "mind the gap");
  assert_int_equal(sessions(r), 2);
  rp__tool_session_end(&b, NULL);
  agent_end(agent);
}

/* Two of other sessions are nothing to each other, though their agent is one. */
static void other_scopes_have_other_seats(void **state)
{
  struct rig *r = *state;
  pid_t agent = agent_new();
  struct rp__tool_session a = server_of(r, agent), b = bridge_mind(r, "attic");
  b.agent_pid = agent;
  begin(&a);
  begin(&b);
  char id[RP_ID_MAX + 1];
  snprintf(id, sizeof id, "%s", rp_session_id(a.s));
  assert_string_not_equal(id, rp_session_id(b.s));
  rp__tool_session_end(&a, NULL);
  assert_string_equal(status_of(r, id), "closed");
  rp__tool_session_end(&b, NULL);
  agent_end(agent);
}

/* Both read the end of their input, and only one of the two may be honest about it (B-04). */
static void a_killed_agent_is_a_crash(void **state)
{
  struct rig *r = *state;
  for (int reaped = 0; reaped < 2; reaped++) {
    pid_t agent = agent_new();
    struct rp__tool_session m = server_of(r, agent);
    siginfo_t info;
    begin(&m);
    bridge_call(&m, "remember", "{\"text\":\"x\"}");
    char id[RP_ID_MAX + 1];
    snprintf(id, sizeof id, "%s", rp_session_id(m.s));
    kill(agent, SIGKILL);
    assert_int_equal(waitid(P_PID, (id_t)agent, &info, WEXITED | (reaped ? 0 : WNOWAIT)), 0);
    rp__tool_session_end(&m, "client closed");
    assert_string_equal(status_of(r, id), "idle"); /* it is open, and nobody is there */
    struct rp__tool_session next = server_of(r, 0);
    begin(&next);
    assert_has(rp_start_json(next.s), "\"cause\":\"crash\"");
    rp__tool_session_end(&next, NULL);
    assert_has(status_of(r, id), "crashed");
    if (!reaped) waitpid(agent, NULL, 0);
    r->wall += 60000;
  }
}

static void an_agent_that_just_exits_is_none(void **state)
{
  struct rig *r = *state;
  pid_t agent = agent_new();
  struct rp__tool_session m = server_of(r, agent);
  begin(&m);
  char id[RP_ID_MAX + 1];
  snprintf(id, sizeof id, "%s", rp_session_id(m.s));
  kill(agent, SIGTERM);
  siginfo_t info;
  assert_int_equal(waitid(P_PID, (id_t)agent, &info, WEXITED | WNOWAIT), 0);
  rp__tool_session_end(&m, "client closed");
  assert_string_equal(status_of(r, id), "closed");
  waitpid(agent, NULL, 0);
}

static void hooks_go_on_without_the_server(void **state)
{
  struct rig *r = *state;
  pid_t agent = agent_new();
  struct rp__tool_session m = server_of(r, agent);
  begin(&m);
  char id[RP_ID_MAX + 1];
  snprintf(id, sizeof id, "%s", rp_session_id(m.s));
  hook(r, agent, "SessionStart", "\"session_id\":\"a\"");
  hook(r, agent, "UserPromptSubmit", "\"session_id\":\"a\",\"prompt\":\"hello\"");
  rp__tool_session_end(&m, "client closed");
  hook(r, agent, "UserPromptSubmit", "\"session_id\":\"a\",\"prompt\":\"still here\"");
  assert_string_equal(status_of(r, id), "active");
  begin(&m); /* and it may come back */
  assert_string_equal(id, rp_session_id(m.s));
  rp__tool_session_end(&m, "client closed");
  assert_int_equal(sessions(r), 1);
  hook(r, agent, "SessionEnd", "\"session_id\":\"a\"");
  assert_string_equal(status_of(r, id), "closed");
  agent_end(agent);
}

/* A window stays open for days, and beside it scripts begin and end many others. */
static void many_others_do_not_hide_it(void **state)
{
  struct rig *r = *state;
  pid_t agent = agent_new();
  struct rp__tool_session m = server_of(r, agent), second = server_of(r, agent);
  begin(&m);
  for (int i = 0; i < 120; i++) {
    struct rp__tool_session other = server_of(r, 0);
    r->wall += 1000;
    begin(&other);
    rp__tool_session_end(&other, NULL);
  }
  begin(&second);
  assert_string_equal(rp_session_id(m.s), rp_session_id(second.s));
  assert_string_equal(hook(r, agent, "SessionStart", "\"session_id\":\"a\""), "");
  hook(r, agent, "UserPromptSubmit", "\"session_id\":\"a\",\"prompt\":\"hello\"");
  assert_int_equal(rp_session_number(m.s), rp_session_number(second.s));
  assert_has(bridge_text("session_status", bridge_call(&m, "session_status", NULL)), "messages: 1");
  rp__tool_session_end(&m, NULL);
  rp__tool_session_end(&second, NULL);
  agent_end(agent);
}

static void a_named_session_is_shared_too(void **state)
{
  struct rig *r = *state;
  pid_t agent = agent_new();
  struct rp__tool_session a = server_of(r, agent), b = server_of(r, agent);
  snprintf(a.ref, sizeof a.ref, "nightly");
  snprintf(b.ref, sizeof b.ref, "nightly");
  begin(&a);
  begin(&b);
  rp__tool_session_end(&a, NULL);
  assert_string_equal(status_of(r, "nightly"), "created");
  rp__tool_session_end(&b, NULL);
  assert_string_equal(status_of(r, "nightly"), "closed");
  assert_int_equal(sessions(r), 1);
  agent_end(agent);
}

static enum rp__exit_cause fate_of(pid_t pid, bool reaped)
{
  struct rp__process_watch v;
  assert_true(rp__process_watch_open(&v, pid));
  if (reaped) waitpid(pid, NULL, 0);
  enum rp__exit_cause fate = rp__process_watch_cause(&v);
  rp__process_watch_close(&v);
  if (!reaped) waitpid(pid, NULL, 0);
  return fate;
}

/* How it ended is known until its parent took notice; afterwards newer kernels still know. */
static void fates(void **state)
{
  static const struct {
    int code;
    enum rp__exit_cause fate;
  } cases[] = {{0, RP_EXIT_ORDERLY},
               {130, RP_EXIT_ORDERLY},
               {143, RP_EXIT_ORDERLY},
               {1, RP_EXIT_CRASHED},
               {139, RP_EXIT_CRASHED}};
  struct rp__process_watch v;
  (void)state;
  for (size_t i = 0; i < RP_ARRAY_SIZE(cases); i++) {
    assert_int_equal(fate_of(agent_exit(cases[i].code), false), cases[i].fate);
    enum rp__exit_cause later = fate_of(agent_exit(cases[i].code), true);
    if (later != RP_EXIT_UNKNOWN) assert_int_equal(later, cases[i].fate);
  }
  pid_t agent = agent_new();
  assert_true(rp__process_watch_open(&v, agent));
  assert_int_equal(rp__process_watch_cause(&v), RP_EXIT_NONE);
  agent_end(agent);
  assert_true(rp__process_watch_cause(&v) == RP_EXIT_CRASHED || rp__process_watch_cause(&v) == RP_EXIT_UNKNOWN);
  rp__process_watch_close(&v);
  assert_false(rp__process_watch_open(&v, agent));
  assert_false(rp__process_watch_open(&v, 0));
}

static void other_agents_keep_to_themselves(void **state)
{
  struct rig *r = *state;
  pid_t one = agent_new(), two = agent_new();
  hook(r, one, "SessionStart", "\"session_id\":\"a\"");
  struct rp__tool_session m = server_of(r, two), unknown = server_of(r, 0);
  begin(&m);
  assert_false(m.guest);
  begin(&unknown);
  assert_false(unknown.guest);
  assert_int_equal(sessions(r), 3);
  hook(r, one, "UserPromptSubmit", "\"session_id\":\"a\",\"prompt\":\"mine\"");
  assert_int_equal(sessions(r), 3);
  rp__tool_session_end(&m, NULL);
  rp__tool_session_end(&unknown, NULL);
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
  struct rp__tool_session m = server_of(r, agent), other = server_of(r, stranger);
  begin(&m);
  assert_true(m.guest);
  begin(&other);
  assert_false(other.guest);
  OK(rp_show(r->e, "claude:a", on_epoch, is, &err), err);
  assert_int_equal(was[0], is[0]);
  assert_int_equal(was[1], is[1]);
  rp__tool_session_end(&m, NULL);
  rp__tool_session_end(&other, NULL);
  agent_end(agent);
  agent_end(stranger);
}

/* Agents start both at once: one looks and begins, the other waits. */
static void one_at_a_time(void **state)
{
  (void)state;
  pid_t agent = agent_new();
  char path[64];
  int lock = rp__siblings_lock(agent), other;
  assert_true(lock >= 0);
  snprintf(path, sizeof path, "/proc/%d/stat", (int)agent);
  other = open(path, O_RDONLY | O_CLOEXEC);
  assert_int_equal(flock(other, LOCK_EX | LOCK_NB), -1);
  close(lock);
  assert_int_equal(flock(other, LOCK_EX | LOCK_NB), 0);
  assert_int_equal(rp__siblings_lock(agent), -1); /* whoever does not let go keeps no agent from starting */
  close(other);
  agent_end(agent);
  assert_int_equal(rp__siblings_lock(0), -1);
  assert_int_equal(rp__siblings_lock(agent), -1); /* gone */
  assert_true(rp__siblings_agent() != getpid());
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, bridge_setup, rig_teardown)

int main(void)
{
  static const struct CMUnitTest tests[] = {
      TEST(a_server_joins_the_hooks),
      TEST(hooks_join_the_server),
      TEST(servers_share_a_session),
      TEST(who_takes_a_dead_servers_place_tells_again),
      TEST(other_scopes_have_other_seats),
      TEST(a_killed_agent_is_a_crash),
      TEST(an_agent_that_just_exits_is_none),
      TEST(hooks_go_on_without_the_server),
      TEST(many_others_do_not_hide_it),
      TEST(a_named_session_is_shared_too),
      TEST(fates),
      TEST(other_agents_keep_to_themselves),
      TEST(a_resumed_session_is_joined_too),
      TEST(one_at_a_time),
  };
  unsetenv("CLAUDE_PROJECT_DIR");
  return cmocka_run_group_tests(tests, NULL, NULL);
}
