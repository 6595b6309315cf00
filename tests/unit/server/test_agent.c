/* SPDX-License-Identifier: Apache-2.0 */
/* Agents (C-06): what becomes of their messages and of events for them, the roster, and who says nothing in time. */
#include "unit/net/rig.h"

#include <sys/stat.h>

#include "server/agent/agent-session.h"

/* ---- messages to events ---- */

#define SAID_MAX (64 * 1024)

struct talk {
  struct rp__agent_tools tools;
  char status[RP_AGENT_STATUS];
  struct rp__agent_act act;
  rp_error err;
  struct rp__buf said; /* the events, "kind body" and a line end each */
};

static void talk_begin(struct talk *t, const char *status)
{
  *t = (struct talk){.said = RP_BUF(SAID_MAX)};
  rp__agent_tools_init(&t->tools);
  snprintf(t->status, sizeof t->status, "%s", status);
}

static void talk_end(struct talk *t)
{
  rp__agent_tools_done(&t->tools);
  rp__buf_done(&t->said);
}

static int hear(struct talk *t, const char *text)
{
  struct rp__json message;
  t->err = (rp_error){0};
  t->act = (struct rp__agent_act){0};
  rp__buf_reset(&t->said);
  assert_int_equal(rp__json_parse(text, strlen(text), NULL, &message, NULL), 0);
  int rc = rp__agent_read(&t->tools, t->status, message, &t->act, &t->err);
  for (size_t i = 0; i < t->act.n; i++)
    rp__buf_printf(&t->said, "%s %.*s\n", t->act.part[i].kind, (int)t->act.part[i].n,
                   t->act.text.p + t->act.part[i].at);
  if (!rc && t->act.status) snprintf(t->status, sizeof t->status, "%s", t->act.status);
  rp__agent_act_done(&t->act);
  return rc;
}

static void assert_heard(struct talk *t, const char *text, const char *want)
{
  assert_int_equal(hear(t, text), 0);
  assert_string_equal(t->said.p ? t->said.p : "", want);
}

static void statuses_follow_the_table(void **state)
{
  (void)state;
  struct talk t;
  talk_begin(&t, "starting");
  assert_heard(&t, "{\"type\":\"setup_progress\",\"message\":\"a\\nb\"}", "runtime {\"progress\":\"a\\nb\"}\n");
  char long_one[RP_AGENT_PROGRESS_MAX + 100];
  int head = snprintf(long_one, sizeof long_one, "{\"type\":\"setup_progress\",\"message\":\"a ");
  memset(long_one + head, 'k', RP_AGENT_PROGRESS_MAX);
  snprintf(long_one + head + RP_AGENT_PROGRESS_MAX, 8, "\"}");
  assert_heard(&t, long_one, "runtime {\"progress\":\"a\"}\n"); /* no half of a word, which may be a credential */
  assert_int_equal(t.act.durability, RP_OS);
  assert_heard(&t, "{\"type\":\"ready\"}", "runtime {\"status\":\"idle\",\"reason\":null,\"progress\":null}\n");
  assert_heard(&t, "{\"type\":\"ready\"}", "");
  assert_heard(&t, "{\"type\":\"status_update\",\"status\":\"running\"}",
               "runtime {\"status\":\"running\",\"reason\":null}\n");
  assert_int_equal(hear(&t, "{\"type\":\"status_update\",\"status\":\"starting\"}"), RP_E_INVALID);
  assert_string_equal(t.err.field, "status");
  assert_int_equal(hear(&t, "{\"type\":\"status_update\",\"status\":\"reconnecting\"}"), RP_E_INVALID);
  assert_heard(&t, "{\"type\":\"error\",\"message\":\"no\"}",
               "runtime {\"status\":\"error\",\"reason\":\"no\"}\n"
               "message {\"role\":\"system\",\"content\":\"no\",\"source\":\"agent\"}\n"
               "turn {\"status\":\"failed\",\"reason\":\"no\"}\n");
  assert_string_equal(t.status, "error");
  talk_end(&t);
}

/* B-04: the ledger gets to know of each call, by the name it began with. */
static void tools_go_to_the_ledger(void **state)
{
  (void)state;
  struct talk t;
  talk_begin(&t, "running");
  assert_heard(
      &t,
      "{\"type\":\"sdk_message\",\"message\":{\"type\":\"assistant\",\"message\":{\"content\":["
      "{\"type\":\"tool_use\",\"id\":\"t1\",\"name\":\"ls\",\"input\":{\"a\":1}},{\"type\":\"tool_use\",\"id\":7}]}}}",
      "message {\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":\"t1\",\"name\":\"ls\",\"input\":"
      "{\"a\":1}},{\"type\":\"tool_use\",\"id\":7}]}\n"
      "tool {\"call_id\":\"t1\",\"name\":\"ls\",\"status\":\"running\",\"input\":{\"a\":1}}\n");
  assert_heard(&t,
               "{\"type\":\"sdk_message\",\"message\":{\"type\":\"user\",\"message\":{\"content\":["
               "{\"type\":\"text\",\"text\":\"known already\"},{\"type\":\"tool_result\",\"tool_use_id\":\"t1\","
               "\"content\":\"x\"},{\"type\":\"tool_result\",\"tool_use_id\":\"t2\",\"is_error\":true}]}}}",
               "tool {\"call_id\":\"t1\",\"name\":\"ls\",\"status\":\"done\",\"output\":\"x\"}\n"
               "tool {\"call_id\":\"t2\",\"name\":\"unknown\",\"status\":\"failed\"}\n");
  assert_int_equal(t.tools.n_calls, 0);
  assert_heard(&t, "{\"type\":\"sdk_message\",\"message\":{\"type\":\"system\"}}", "");
  talk_end(&t);
}

static void calls_remembered_are_bounded(void **state)
{
  (void)state;
  struct rp__agent_tools m;
  char id[16];
  rp__agent_tools_init(&m);
  for (int i = 0; i < 2 * RP_AGENT_CALLS; i++) {
    snprintf(id, sizeof id, "\"%d\"", i);
    rp__agent_tools_call(&m, rp__json_trusted(id, strlen(id)), rp__json_trusted("\"n\"", 3));
  }
  assert_int_equal(m.n_calls, RP_AGENT_CALLS);
  assert_null(rp__agent_tools_name(&m, rp__json_trusted("\"0\"", 3)));
  assert_string_equal(rp__agent_tools_name(&m, rp__json_trusted(id, strlen(id))), "\"n\"");
  rp__agent_tools_done(&m);
}

#define CHUNK(id, text) "{\"type\":\"stream\",\"messageId\":\"" id "\",\"token\":\"" text "\"}"
#define WHOLE(content)                                                                                                 \
  "{\"type\":\"sdk_message\",\"message\":{\"type\":\"assistant\",\"message\":{\"content\":" content "}}}"

/* What was streamed is not told twice; what was streamed in part is told whole. */
static void streams_end_with_the_whole(void **state)
{
  (void)state;
  struct talk t;
  talk_begin(&t, "idle");
  assert_heard(&t, CHUNK("m", "a\\u0062"),
               "runtime {\"status\":\"running\",\"reason\":null}\n"
               "message {\"role\":\"assistant\",\"message_id\":\"m\",\"content\":\"a\\u0062\",\"partial\":true}\n");
  assert_int_equal(t.act.durability, RP_OS);
  assert_int_equal(hear(&t, CHUNK("m", "c")), 0);
  assert_heard(&t, WHOLE("[{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"text\",\"text\":\"bc\"}]"),
               "message {\"role\":\"assistant\",\"message_id\":\"m\",\"content\":\"\"}\n");
  assert_heard(&t, WHOLE("\"abc\""), "message {\"role\":\"assistant\",\"content\":\"abc\"}\n");
#define INSTEAD(id, content)                                                                                           \
  "message {\"role\":\"assistant\",\"message_id\":\"" id "\",\"content\":\"\"}\n"                                      \
  "message {\"role\":\"assistant\",\"message_id\":\"" id "\",\"whole\":true,\"content\":" content "}\n"
  assert_int_equal(hear(&t, CHUNK("n", "bc")), 0);
  assert_heard(&t, WHOLE("\"abc\""), INSTEAD("n", "\"abc\""));
  assert_int_equal(hear(&t, CHUNK("n", "abc\\n")), 0); /* its end was trimmed */
  assert_heard(&t, WHOLE("\"abc\""), INSTEAD("n", "\"abc\""));
  assert_int_equal(hear(&t, CHUNK("n", "xyz")), 0); /* another one comes between; the turn's end is its end */
  assert_heard(&t, WHOLE("\"abc\""), "message {\"role\":\"assistant\",\"content\":\"abc\"}\n");
  assert_heard(&t, WHOLE("[]"), "message {\"role\":\"assistant\",\"content\":[]}\n");
  assert_int_equal(hear(&t, CHUNK("n", "z")), 0);
  assert_heard(&t, "{\"type\":\"result\"}",
               "runtime {\"status\":\"idle\",\"reason\":null}\n"
               "message {\"role\":\"assistant\",\"message_id\":\"n\",\"content\":\"\"}\nusage {\"requests\":1}\n");
  assert_heard(&t, WHOLE("\"xyzz\""),
               "runtime {\"status\":\"running\",\"reason\":null}\n"
               "message {\"role\":\"assistant\",\"content\":\"xyzz\"}\n");
  assert_int_equal(hear(&t, CHUNK("o", "abc")), 0);
  assert_int_equal(hear(&t, CHUNK("p", "abc")), 0); /* another stream */
  assert_heard(&t, WHOLE("\"abc\""), "message {\"role\":\"assistant\",\"message_id\":\"p\",\"content\":\"\"}\n");
  talk_end(&t);
}

/* A stream that was begun on another connection: the whole message may be its, or another one. */
static void a_stream_left_behind_ends_with_its_whole(void **state)
{
  (void)state;
  struct talk t;
  talk_begin(&t, "running");
  struct rp__json id = rp__json_trusted("\"m\"", 3), text = rp__json_trusted("\"Hel\"", 5);
  rp__agent_tools_recall(&t.tools, id, text);
  assert_heard(&t, WHOLE("\"Something else\""), "message {\"role\":\"assistant\",\"content\":\"Something else\"}\n");
  assert_heard(&t, WHOLE("\"Hello\""), INSTEAD("m", "\"Hello\""));
  assert_heard(&t, WHOLE("\"Hello\""), "message {\"role\":\"assistant\",\"content\":\"Hello\"}\n");
  rp__agent_tools_recall(&t.tools, id, text); /* what came between was lost */
  assert_int_equal(hear(&t, CHUNK("m", "orld")), 0);
  assert_heard(&t, WHOLE("\"Hello world\""), INSTEAD("m", "\"Hello world\""));
  rp__agent_tools_recall(&t.tools, id, text); /* its name tells, whatever redaction left of its text */
  assert_heard(
      &t,
      "{\"type\":\"sdk_message\",\"message\":{\"type\":\"assistant\",\"message\":{\"id\":\"m\",\"content\":\"x\"}}}",
      INSTEAD("m", "\"x\""));
  rp__agent_tools_recall(&t.tools, id, text);
  assert_int_equal(hear(&t, CHUNK("n", "new")), 0);
  assert_heard(&t, WHOLE("\"new\""), "message {\"role\":\"assistant\",\"message_id\":\"n\",\"content\":\"\"}\n");
  talk_end(&t);
}

static void results_cost(void **state)
{
  (void)state;
  struct talk t;
  talk_begin(&t, "running");
  assert_heard(&t,
               "{\"type\":\"result\",\"result\":\"ok\",\"costUsd\":0.5,\"isError\":false,\"contextUsage\":{\"a\":1}}",
               "runtime {\"status\":\"idle\",\"reason\":null}\nsession {\"settings\":{\"contextUsage\":{\"a\":1}}}\n"
               "usage {\"cost_usd\":0.5,\"requests\":1}\n");
  assert_heard(
      &t, "{\"type\":\"result\",\"result\":null,\"isError\":true}",
      "message {\"role\":\"system\",\"content\":\"The agent's turn ended with an error\",\"source\":\"agent\"}\n"
      "turn {\"status\":\"failed\"}\n"
      "usage {\"requests\":1}\n");
  assert_heard(&t, "{\"type\":\"session_info_update\"}", "");
  assert_heard(&t, "{\"type\":\"session_info_update\",\"model\":\"m\",\"other\":1}",
               "session {\"settings\":{\"model\":\"m\"}}\n");
  talk_end(&t);
}

/* C-09 */
static void approvals_and_questions_are_pending(void **state)
{
  (void)state;
  struct talk t;
  talk_begin(&t, "running");
  assert_heard(&t, "{\"type\":\"approval_request\",\"approval\":{\"tool\":\"rm\",\"i\\u0064\":\"a\",\"status\":\"x\"}}",
               "runtime {\"status\":\"awaiting_approval\",\"reason\":null}\n"
               "approval {\"id\":\"a\",\"status\":\"pending\",\"tool\":\"rm\"}\n");
  assert_heard(&t, "{\"type\":\"question\",\"question\":{\"questionId\":7}}",
               "runtime {\"status\":\"awaiting_answer\",\"reason\":null}\n"
               "question {\"id\":7,\"status\":\"pending\",\"questionId\":7}\n");
  assert_int_equal(hear(&t, "{\"type\":\"question\",\"question\":{\"id\":\"\"}}"), RP_E_INVALID);
  assert_string_equal(t.err.field, "question");
  talk_end(&t);
}

static void bad_messages_name_the_field(void **state)
{
  (void)state;
  static const struct {
    const char *text, *field;
  } bad[] = {
      {"[]", "message"},
      {"{}", "type"},
      {"{\"type\":\"auth\"}", "type"},
      {"{\"type\":\"ready\",\"client_seq\":0}", "client_seq"},
      {"{\"type\":\"ready\",\"client_seq\":\"1\"}", "client_seq"},
      {"{\"type\":\"setup_progress\"}", "message"},
      {"{\"type\":\"sdk_message\",\"message\":\"x\"}", "message"},
      {"{\"type\":\"sdk_message\",\"message\":{\"type\":\"assistant\"}}", "message.content"},
      {"{\"type\":\"stream\",\"token\":\"x\"}", "messageId"},
      {"{\"type\":\"stream\",\"messageId\":\"m\"}", "token"},
      {"{\"type\":\"result\",\"costUsd\":\"1\"}", "costUsd"},
      {"{\"type\":\"status_update\"}", "status"},
      {"{\"type\":\"models_list\",\"models\":{}}", "models"},
      {"{\"type\":\"error\"}", "message"},
      {"{\"type\":\"ack\",\"seq\":0}", "seq"},
  };
  struct talk t;
  talk_begin(&t, "idle");
  for (size_t i = 0; i < RP_ARRAY_SIZE(bad); i++) {
    assert_int_equal(hear(&t, bad[i].text), RP_E_INVALID);
    assert_string_equal(t.err.field, bad[i].field);
    assert_int_equal(t.act.n, 0);
  }
  talk_end(&t);
}

/* A number belongs to the last event, and there is always one. */
static void numbers_leave_a_trace(void **state)
{
  (void)state;
  struct talk t;
  talk_begin(&t, "idle");
  assert_heard(&t, "{\"type\":\"ready\",\"client_seq\":3}", "x-agent {\"type\":\"ready\"}\n");
  assert_int_equal(t.act.client_seq, 3);
  assert_heard(&t, "{\"type\":\"ack\",\"seq\":9}", "");
  assert_int_equal(t.act.acked, 9);
  talk_end(&t);
}

/* ---- events to messages ---- */

static void assert_told(const char *kind, const char *body, enum rp__agent_word word, const char *want)
{
  struct rp__buf out RP_AUTOBUF = RP_BUF(SAID_MAX);
  assert_int_equal(rp__agent_write(kind, 9, rp__json_trusted(body, strlen(body)), &out), word);
  assert_int_equal(out.err, 0);
  assert_string_equal(out.p ? out.p : "", want);
}

static void agents_are_told_what_is_for_them(void **state)
{
  (void)state;
  assert_told("message", "{\"role\":\"user\",\"content\":[1]}", RP_WORD_WORK,
              "{\"type\":\"user_message\",\"seq\":9,\"content\":[1]}");
  assert_told("message", "{\"role\":\"assistant\",\"content\":\"x\"}", RP_WORD_NONE, "");
  assert_told("approval", "{\"id\":\"a\",\"status\":\"pending\"}", RP_WORD_NONE, "");
  assert_told("approval", "{\"id\":\"a\",\"status\":\"allowed\"}", RP_WORD_WORK,
              "{\"type\":\"approval_response\",\"seq\":9,\"approvalId\":\"a\",\"allow\":true}");
  assert_told("question", "{\"id\":2,\"status\":\"answered\",\"answer\":\"y\"}", RP_WORD_WORK,
              "{\"type\":\"question_response\",\"seq\":9,\"questionId\":2,\"answers\":\"y\"}");
  assert_told("x-command", "{\"seq\":1,\"command\":\"set_model\",\"model\":\"m\"}", RP_WORD_COMMAND,
              "{\"type\":\"set_model\",\"seq\":9,\"model\":\"m\"}");
  assert_told("x-command", "{\"command\":\"rm\"}", RP_WORD_NONE, "");
  assert_told("note", "{}", RP_WORD_NONE, "");
}

/* ---- the roster ---- */

static void the_roster_outlives_the_process(void **state)
{
  (void)state;
  char dir[] = "/tmp/rp-roster-XXXXXX", db[64], path[80];
  struct rp__roster r;
  struct stat st;
  struct rp__roster_row *rows;
  size_t n;
  assert_non_null(mkdtemp(dir));
  snprintf(db, sizeof db, "%s/db", dir);
  snprintf(path, sizeof path, "%s.agents", db);
  assert_int_equal(rp__roster_init(&r, db, NULL), 0);
  assert_int_equal(rp__roster_load(&r, NULL), 0);
  assert_int_equal(rp__roster_add(&r, "one", NULL), 0);
  assert_int_equal(rp__roster_add(&r, "two", NULL), 0);
  assert_int_equal(rp__roster_add(&r, "one", NULL), 0);
  rp__roster_done(&r);
  assert_int_equal(stat(path, &st), 0);
  assert_int_equal(st.st_size, 8);
  assert_int_equal(st.st_mode & 0777, 0600);

  FILE *f = fopen(path, "a");
  assert_non_null(f);
  assert_true(fputs("no name\n\nthr", f) >= 0); /* the last write was cut */
  assert_int_equal(fclose(f), 0);
  assert_int_equal(rp__roster_init(&r, db, NULL), 0);
  assert_int_equal(rp__roster_load(&r, NULL), 0);
  rp__roster_remove(&r, "one");
  assert_int_equal(rp__roster_save(&r, NULL), 0);
  assert_int_equal(rp__roster_copy(&r, &rows, &n, NULL), 0);
  assert_int_equal(n, 2);
  for (size_t i = 0; i < n; i++) assert_true(strcmp(rows[i].id, "two") == 0 || strcmp(rows[i].id, "thr") == 0);
  free(rows);
  rp__roster_done(&r);
  assert_int_equal(stat(path, &st), 0);
  assert_int_equal(st.st_size, 8);
  unlink(path);
  rmdir(dir);
}

/* ---- C-06: silence ---- */

struct silence {
  struct rp__server srv;
  int fd;
};

static void arrive(void *arg)
{
  struct silence *x = arg;
  assert_int_equal(rp__agent_open(x->srv.agents, x->fd, RP_STR("hello"), NULL), 0);
}

static void who_says_nothing_is_closed(void **state)
{
  (void)state;
  static const char want[] = "hello\x88\x18\x0f\xa1" /* a close frame with 4001 */ "Authentication timeout";
  struct silence x = {.srv = {.set = {.queue_bytes = 65536, .stall_ms = 1000}}};
  char got[sizeof want] = "";
  int fd[2];
  pair_make(fd);
  rp__slog_init(&x.srv.log);
  x.srv.log.level = RP_LOG_ERROR;
  x.srv.loop = loop_begin();
  x.fd = fd[0];
  assert_int_equal(rp__agents_new(&x.srv, &x.srv.agents, NULL), 0);
  assert_int_equal(x.srv.agents->auth_ms, 30000);
  x.srv.agents->auth_ms = 10;
  in_loop(x.srv.loop, arrive, &x);
  get(fd[1], got, sizeof want - 1);
  assert_memory_equal(got, want, sizeof want - 1);
  close(fd[1]);
  rp__loop_stop(x.srv.loop);
  rp__agents_free(x.srv.agents);
  rp__loop_free(x.srv.loop);
  rp__slog_done(&x.srv.log);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(statuses_follow_the_table),
      cmocka_unit_test(tools_go_to_the_ledger),
      cmocka_unit_test(calls_remembered_are_bounded),
      cmocka_unit_test(streams_end_with_the_whole),
      cmocka_unit_test(a_stream_left_behind_ends_with_its_whole),
      cmocka_unit_test(results_cost),
      cmocka_unit_test(approvals_and_questions_are_pending),
      cmocka_unit_test(bad_messages_name_the_field),
      cmocka_unit_test(numbers_leave_a_trace),
      cmocka_unit_test(agents_are_told_what_is_for_them),
      cmocka_unit_test(the_roster_outlives_the_process),
      cmocka_unit_test(who_says_nothing_is_closed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
