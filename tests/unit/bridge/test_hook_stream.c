/* SPDX-License-Identifier: Apache-2.0 */
/* The stream that plugins speak: one line in, one line out, sessions that live as long as it (X-17, X-18, B-04). */
#include "bridge_test.h"

#include <fcntl.h>
#include <pthread.h>

#include "bridge/hook/hook.h"

#define REPLIES_MAX ((size_t)8 * 1024 * 1024)

struct talk {
  struct rp__buf in, out;
  size_t at;
};

static void talk_done(struct talk *t)
{
  rp__buf_done(&t->in);
  rp__buf_done(&t->out);
}
#define TALK(t) struct talk t RP_CLEANUP(talk_done) = {.in = RP_BUF(REPLIES_MAX), .out = RP_BUF(REPLIES_MAX)}

static void say(struct talk *t, const char *line)
{
  rp__buf_str(&t->in, line);
  rp__buf_char(&t->in, '\n');
}

static int file(struct rig *r, const char *name)
{
  char path[SCRATCH_PATH + 32];
  snprintf(path, sizeof path, "%s/%s", r->scratch.dir, name);
  int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  assert_true(fd >= 0);
  return fd;
}

/* Runs a whole stream over what was said; its code. */
static int run(struct rig *r, struct talk *t, rp_error *err)
{
  const struct rp__hook_call call = {.scope = "claw"};
  RP_AUTOCLOSE int in = file(r, "in"), out = file(r, "out");
  assert_int_equal(write(in, t->in.p, t->in.n), (ssize_t)t->in.n);
  lseek(in, 0, SEEK_SET);
  int rc = rp__hook_stream(r->e, &call, in, out, err);
  off_t n = lseek(out, 0, SEEK_END);
  char *room = rp__buf_room(&t->out, (size_t)n + 1);
  assert_non_null(room);
  assert_int_equal(pread(out, room, (size_t)n, 0), n);
  t->out.n += (size_t)n;
  t->out.p[t->out.n] = '\0';
  return rc;
}

static void run_well(struct rig *r, struct talk *t)
{
  rp_error err = {0};
  OK(run(r, t, &err), err);
}

/* The next reply. */
static const char *reply(struct talk *t)
{
  static char line[65536];
  const char *from = t->out.p + t->at;
  size_t n = strcspn(from, "\n");
  snprintf(line, sizeof line, "%.*s", (int)n, from);
  assert_int_equal(from[n], '\n');
  t->at += n + 1;
  bridge_json(line);
  return line;
}

static int on_status(void *ctx, const rp_session_info *info)
{
  snprintf(ctx, 64, "%s%s", rp_session_status_name(info->status), info->crash_recovered ? " crash" : "");
  return 0;
}

static const char *status_of(struct rig *r, const char *ref)
{
  static char status[64];
  rp_error err = {0};
  OK(rp_show(r->e, ref, on_status, status, &err), err);
  return status;
}

#define START(id) "{\"id\":1,\"hook_event_name\":\"SessionStart\",\"session_id\":\"" id "\"}"
#define END(id) "{\"id\":9,\"hook_event_name\":\"SessionEnd\",\"session_id\":\"" id "\",\"reason\":\"reset\"}"

static void a_session_from_start_to_end(void **state)
{
  struct rig *r = *state;
  char id[RP_ID_MAX + 3];
  TALK(t);
  say(&t, START("agent:main:main"));
  say(&t,
      "{\"id\":\"two\",\"hook_event_name\":\"UserPromptSubmit\",\"session_id\":\"agent:main:main\",\"prompt\":\"hi\"}");
  say(&t, "{\"id\":3,\"tool\":\"working_memory\",\"session_id\":\"agent:main:main\","
          "\"arguments\":{\"action\":\"pin\",\"label\":\"l\",\"content\":\"mind the gap\"}}");
  say(&t, START("agent:main:main"));
  say(&t, END("agent:main:main"));
  run_well(r, &t);
  const char *first = reply(&t);
  assert_string_equal(rig_get(first, "ok"), "true");
  assert_string_equal(rig_get(first, "context"), ""); /* a cold start has nothing to tell */
  snprintf(id, sizeof id, "%s", rig_get(first, "session_id"));
  const char *second = reply(&t);
  assert_string_equal(rig_get(second, "id"), "\"two\"");
  assert_string_equal(rig_get(second, "session_id"), id);
  const char *third = reply(&t);
  assert_string_equal(rig_get(third, "ok"), "true");
  assert_true(rig_get(third, "result")[0] == '{');
  const char *fourth = reply(&t);
  assert_string_equal(rig_get(fourth, "session_id"), id);
  assert_string_equal(rig_get(reply(&t), "ok"), "true");
  assert_string_equal(status_of(r, "openclaw:agent:main:main"), "closed");
  /* The next one is told, once. */
  TALK(again);
  say(&again, START("agent:main:main"));
  say(&again, START("agent:main:main"));
  run_well(r, &again);
  assert_non_null(strstr(rig_get(reply(&again), "context"), "mind the gap"));
  assert_string_equal(rig_get(reply(&again), "context"), "");
}

static void its_end_is_theirs(void **state)
{
  struct rig *r = *state;
  TALK(t);
  say(&t, START("idle"));
  say(&t, START("busy"));
  say(&t, "{\"id\":2,\"hook_event_name\":\"PreToolUse\",\"session_id\":\"busy\",\"tool_name\":\"sh\",\"tool_use_id\":"
          "\"c1\"}");
  say(&t, START("done"));
  say(&t, "{\"id\":2,\"hook_event_name\":\"PreToolUse\",\"session_id\":\"done\",\"tool_name\":\"sh\",\"tool_use_id\":"
          "\"c2\"}");
  say(&t, "{\"id\":2,\"hook_event_name\":\"PostToolUse\",\"session_id\":\"done\",\"tool_name\":\"sh\",\"tool_use_id\":"
          "\"c2\","
          "\"tool_response\":\"ok\"}");
  run_well(r, &t);
  assert_string_equal(status_of(r, "openclaw:idle"), "closed");
  assert_string_equal(status_of(r, "openclaw:done"), "closed");
  /* In the middle of a tool it is what a crash leaves, and the next start names the call (B-04). */
  assert_string_not_equal(status_of(r, "openclaw:busy"), "closed");
  TALK(again);
  say(&again, START("busy"));
  run_well(r, &again);
  assert_non_null(strstr(rig_get(reply(&again), "context"), "may or may not have happened"));
}

static void what_is_wrong_is_answered_and_the_rest_goes_on(void **state)
{
  struct rig *r = *state;
  static const struct {
    const char *line, *id, *code, *field;
  } bad[] = {
      {"{\"id\":1,", "1", "\"json.malformed\"", ""},
      {"{\"tool\":\"recall\",\"id\":11,\"arguments\":{\"id\":12,\"query\":\"\\x\"}}", "11", "\"json.malformed\"", ""},
      {"{\"id", "null", "\"json.malformed\"", ""},
      {"[]", "null", "\"event.invalid\"", ""},
      {"{\"id\":2}", "2", "\"event.invalid\"", "\"hook_event_name\""},
      {"{\"id\":3,\"hook_event_name\":\"Stop\"}", "3", "\"event.invalid\"", "\"session_id\""},
      {"{\"id\":3,\"hook_event_name\":\"SessionStart\",\"session_id\":\"x\",\"channel\":\"two words\"}", "3",
       "\"event.invalid\"", "\"channel\""},
      {"{\"id\":3,\"hook_event_name\":\"SessionStart\",\"session_id\":\"x\",\"channel\":7}", "3", "\"event.invalid\"",
       "\"channel\""},
      {"{\"id\":4,\"tool\":\"nothing\",\"session_id\":\"x\"}", "4", "\"event.invalid\"", "\"tool\""},
      {"{\"id\":5,\"tool\":\"recall\",\"arguments\":{\"words\":\"x\"}}", "5", "\"event.invalid\"", "\"session_id\""},
      {"{\"id\":6,\"tool\":\"working_memory\",\"session_id\":\"x\",\"arguments\":{\"action\":\"dance\"}}", "6",
       "\"event.invalid\"", "\"action\""},
      {"{\"id\":7,\"hook_event_name\":\"SessionStart\",\"session_id\":\"x\",\"scope\":\"a b\"}", "7",
       "\"event.invalid\"", "\"scope\""},
  };
  TALK(t);
  for (size_t i = 0; i < RP_ARRAY_SIZE(bad); i++) say(&t, bad[i].line);
  say(&t, "");
  say(&t, "{\"id\":10,\"hook_event_name\":\"NoSuch\",\"session_id\":\"x\"}");
  rp__buf_str(&t.in, START("last line without an end"));
  run_well(r, &t);
  for (size_t i = 0; i < RP_ARRAY_SIZE(bad); i++) {
    const char *got = reply(&t);
    assert_string_equal(rig_get(got, "ok"), "false");
    assert_string_equal(rig_get(got, "id"), bad[i].id);
    assert_string_equal(rig_get(got, "error.code"), bad[i].code);
    assert_string_equal(rig_get(got, "error.field"), bad[i].field);
  }
  assert_string_equal(rig_get(reply(&t), "ok"), "true");
  assert_string_equal(rig_get(reply(&t), "ok"), "true");
  assert_int_equal(t.at, t.out.n);
}

static void scopes_keep_sessions_apart(void **state)
{
  struct rig *r = *state;
  char a[RP_ID_MAX + 3], b[RP_ID_MAX + 3];
  TALK(t);
  say(&t, "{\"id\":1,\"hook_event_name\":\"SessionStart\",\"session_id\":\"m\",\"scope\":\"one\"}");
  say(&t, "{\"id\":2,\"hook_event_name\":\"SessionStart\",\"session_id\":\"m\",\"scope\":\"two\"}");
  run_well(r, &t);
  snprintf(a, sizeof a, "%s", rig_get(reply(&t), "session_id"));
  snprintf(b, sizeof b, "%s", rig_get(reply(&t), "session_id"));
  assert_string_not_equal(a, b);
}

static int on_reason(void *ctx, const rp_event_info *ev)
{
  struct rp__json reason = rp__json_get(rp__json_trusted(ev->body, ev->body_len), "reason");
  if (reason.type) snprintf(ctx, 64, "%.*s", (int)reason.n, reason.p);
  return 0;
}

/* Why a session ended. */
static const char *reason_of(struct rig *r, const char *key)
{
  static char reason[64];
  rp_error err = {0};
  rp_session *s;
  reason[0] = '\0';
  OK(rp_attach(r->e, key, &s, &err), err);
  OK(rp_events(s, 0, 0, on_reason, reason, &err), err);
  rp_session_free(s);
  return reason;
}

static void more_sessions_than_places(void **state)
{
  struct rig *r = *state;
  char line[256];
  TALK(t);
  for (int i = 0; i < 258; i++) {
    snprintf(line, sizeof line, "{\"id\":%d,\"hook_event_name\":\"SessionStart\",\"session_id\":\"s%d\"}", i, i);
    say(&t, line);
    if (i == 200) say(&t, "{\"id\":0,\"hook_event_name\":\"Notification\",\"session_id\":\"s0\",\"message\":\"x\"}");
  }
  run_well(r, &t);
  for (int i = 0; i < 259; i++) assert_string_equal(rig_get(reply(&t), "ok"), "true");
  assert_int_equal(t.at, t.out.n);
  /* Two too many: those that were silent longest went, not the oldest. */
  assert_string_equal(reason_of(r, "openclaw:s0"), "\"agent closed\"");
  assert_string_equal(reason_of(r, "openclaw:s1"), "\"silent for long\"");
  assert_string_equal(reason_of(r, "openclaw:s2"), "\"silent for long\"");
  assert_string_equal(reason_of(r, "openclaw:s3"), "\"agent closed\"");
}

static void a_line_over_the_limit_is_refused_and_the_next_is_served(void **state)
{
  struct rig *r = *state;
  struct talk t RP_CLEANUP(talk_done) = {.in = RP_BUF(2 * RP_HOOK_INPUT_MAX), .out = RP_BUF(REPLIES_MAX)};
  say(&t, START("x"));
  rp__buf_str(&t.in, "{\"id\":77,\"tool\":\"recall\",");
  char *room = rp__buf_room(&t.in, RP_HOOK_INPUT_MAX + 65536);
  assert_non_null(room);
  memset(room, ' ', RP_HOOK_INPUT_MAX + 65536);
  t.in.n += RP_HOOK_INPUT_MAX + 65536;
  say(&t, "");
  say(&t, START("y"));
  run_well(r, &t);
  assert_string_equal(rig_get(reply(&t), "ok"), "true");
  const char *refused = reply(&t);
  assert_string_equal(rig_get(refused, "error.code"), "\"limit.size\"");
  assert_string_equal(rig_get(refused, "id"), "77");
  assert_string_equal(rig_get(reply(&t), "ok"), "true");
  assert_int_equal(t.at, t.out.n);
  assert_string_equal(status_of(r, "openclaw:x"), "closed");
}

struct live {
  struct rig *r;
  int in, out;
  rp_error err;
};

static void *serve(void *arg)
{
  struct live *l = arg;
  const struct rp__hook_call call = {.scope = "claw"};
  assert_int_equal(rp__hook_stream(l->r->e, &call, l->in, l->out, &l->err), 0);
  return NULL;
}

/* Says one line to a stream that runs, and reads its answer. */
static const char *ask(int to, int from, const char *line)
{
  static char got[8192];
  size_t n = 0;
  assert_int_equal(write(to, line, strlen(line)), (ssize_t)strlen(line));
  assert_int_equal(write(to, "\n", 1), 1);
  while (n < sizeof got - 1 && read(from, got + n, 1) == 1 && got[n] != '\n') n++;
  got[n] = '\0';
  return got;
}

/* Somebody closes the session from a shell: the next event opens another. */
static void a_session_ended_elsewhere_begins_anew(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  rp_session *s;
  pthread_t thread;
  int to[2], from[2];
  char first[RP_ID_MAX + 3];
  assert_int_equal(pipe2(to, O_CLOEXEC), 0);
  assert_int_equal(pipe2(from, O_CLOEXEC), 0);
  struct live l = {.r = r, .in = to[0], .out = from[1]};
  assert_int_equal(pthread_create(&thread, NULL, serve, &l), 0);
  snprintf(first, sizeof first, "%s", rig_get(ask(to[1], from[0], START("e")), "session_id"));
  OK(rp_attach(r->e, "openclaw:e", &s, &err), err);
  OK(rp_end(s, "enough", &err), err);
  rp_session_free(s);
  const char *got =
      ask(to[1], from[0], "{\"id\":1,\"hook_event_name\":\"UserPromptSubmit\",\"session_id\":\"e\",\"prompt\":\"x\"}");
  assert_string_equal(rig_get(got, "ok"), "true");
  assert_string_not_equal(rig_get(got, "session_id"), first);
  close(to[1]);
  pthread_join(thread, NULL);
  assert_int_equal(l.err.code, 0);
  assert_string_equal(status_of(r, "openclaw:e"), "closed");
  close(to[0]);
  close(from[0]);
  close(from[1]);
}

static void nested_it_begins_and_ends_nothing(void **state)
{
  struct rig *r = *state;
  rp_session *host = rig_start(r, "claw", "host", RP_OWNER_SELF);
  rig_say(host, "hello");
  setenv("REPRISE_SESSION", rp_session_id(host), 1);
  TALK(t);
  say(&t, START("inner"));
  say(&t, "{\"id\":2,\"hook_event_name\":\"UserPromptSubmit\",\"session_id\":\"inner\",\"prompt\":\"x\"}");
  say(&t, END("inner"));
  run_well(r, &t);
  const char *first = reply(&t);
  assert_memory_equal(rig_get(first, "session_id") + 1, rp_session_id(host), strlen(rp_session_id(host)));
  assert_string_equal(rig_get(first, "context"), "");
  unsetenv("REPRISE_SESSION");
  assert_string_not_equal(status_of(r, "host"), "closed");
  rp_session_free(host);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, bridge_setup, rig_teardown)

int main(void)
{
  const struct CMUnitTest tests[] = {
      TEST(a_session_from_start_to_end),
      TEST(its_end_is_theirs),
      TEST(what_is_wrong_is_answered_and_the_rest_goes_on),
      TEST(scopes_keep_sessions_apart),
      TEST(more_sessions_than_places),
      TEST(a_line_over_the_limit_is_refused_and_the_next_is_served),
      TEST(a_session_ended_elsewhere_begins_anew),
      TEST(nested_it_begins_and_ends_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
