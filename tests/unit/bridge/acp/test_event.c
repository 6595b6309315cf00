/* SPDX-License-Identifier: Apache-2.0 */
/* O-05, B-04, X-14: what is written down of each message of the protocol. */
#include "unit/bridge/acp/conversation.h"

struct noted {
  struct rp__known_calls book;
  struct rp__acp_events n;
};

static int noted_setup(void **state)
{
  struct noted *x = calloc(1, sizeof *x);
  x->n = RP_ACP_EVENTS;
  *state = x;
  return 0;
}

static int noted_teardown(void **state)
{
  struct noted *x = *state;
  rp__acp_events_done(&x->n);
  free(x);
  return 0;
}

/* The notes are these events, "KIND BODY" each. */
static void expect(const struct noted *x, rp_durability durability, const char *const *want, size_t n)
{
  char got[4096];
  for (size_t i = 0; i < RP_MIN(n, x->n.n); i++) {
    snprintf(got, sizeof got, "%s %.*s", x->n.v[i].kind, (int)x->n.v[i].n, x->n.bytes.p + x->n.v[i].at);
    assert_string_equal(got, want[i]);
  }
  assert_int_equal(x->n.n, n);
  assert_int_equal(x->n.durability, durability);
}
#define NOTED(x, durability, ...)                                                                                      \
  do {                                                                                                                 \
    const char *const want_[] = {__VA_ARGS__};                                                                         \
    expect((x), (durability), want_, RP_ARRAY_SIZE(want_));                                                            \
  } while (0)

static void prompt(struct noted *x, const char *params)
{
  rp_error err = {0};
  OK(rp__acp_event_prompt(&x->book, parsed(params), NULL, &x->n, &err), err);
}

static void update(struct noted *x, const char *text)
{
  rp_error err = {0};
  OK(rp__acp_event_update(&x->book, parsed(text), &x->n, &err), err);
}

static void request(struct noted *x, const char *id, const char *method, const char *params)
{
  rp_error err = {0};
  OK(rp__acp_event_request(&x->book, parsed(id), parsed(method), parsed(params), &x->n, &err), err);
}

static void answer(struct noted *x, const char *id, const char *method, const char *result, const char *error)
{
  rp_error err = {0};
  OK(rp__acp_event_answer(&x->book, parsed(id), method, parsed(result), parsed(error), &x->n, &err), err);
}

static void a_prompt_is_a_message_of_a_turn(void **state)
{
  struct noted *x = *state;
  prompt(x, "{\"sessionId\":\"s\",\"prompt\":[ {\"type\":\"text\",\"text\":\"a\\u0041\"} ],\"_meta\":{\"k\":1}}");
  NOTED(x, RP_DISK,
        "message {\"role\":\"user\",\"source\":\"acp\",\"turn\":1,\"content\":[ "
        "{\"type\":\"text\",\"text\":\"a\\u0041\"} ],\"acp\":{\"_meta\":{\"k\":1}}}");
  prompt(x, "{\"prompt\":[]}");
  NOTED(x, RP_DISK, "message {\"role\":\"user\",\"source\":\"acp\",\"turn\":2,\"content\":[]}");
}

static void what_we_put_before_a_prompt_is_not_the_users(void **state)
{
  struct noted *x = *state;
  prompt(x, "{\"prompt\":["
            "{\"type\":\"text\",\"text\":\"[reprise: recalled]\\nPINS:\\n- a: b\\n[reprise: end]\\n\\n\"},"
            "{\"type\":\"text\",\"text\":\"[reprise: recalled]\\nx\\n[reprise: end]\\n\\nfix it\"},"
            "{\"type\":\"text\",\"text\":\"now\",\"annotations\":{}}]}");
  NOTED(x, RP_DISK,
        "message {\"role\":\"user\",\"source\":\"acp\",\"turn\":1,\"content\":["
        "{\"type\":\"text\",\"text\":\"fix it\"},{\"type\":\"text\",\"text\":\"now\",\"annotations\":{}}]}");
}

static void a_prompt_that_is_none_changes_nothing(void **state)
{
  struct noted *x = *state;
  rp_error err = {0};
  assert_int_equal(rp__acp_event_prompt(&x->book, parsed("{\"prompt\":\"text\"}"), NULL, &x->n, &err), RP_E_INVALID);
  assert_string_equal(err.field, "params.prompt");
  assert_int_equal(x->book.turn, 0);
  assert_int_equal(x->n.n, 0);
  assert_int_equal(rp__acp_event_update(&x->book, parsed("[]"), &x->n, &err), RP_E_INVALID);
  assert_string_equal(err.field, "params.update");
}

#define CHUNK_A "{\"sessionUpdate\":\"agent_message_chunk\",\"content\":{\"type\":\"text\",\"text\":\"x\"}"
#define BODY_A                                                                                                         \
  "message {\"role\":\"assistant\",\"message_id\":\"m\",\"source\":\"acp\",\"partial\":true,\"content\":["             \
  "{\"type\":\"text\",\"text\":\"x\"}]}"
#define END_A                                                                                                          \
  "message {\"role\":\"assistant\",\"message_id\":\"m\",\"source\":\"acp\",\"content\":["                              \
  "{\"type\":\"text\",\"text\":\"\"}]}"

static void a_stream_is_ended_by_what_is_no_part_of_it(void **state)
{
  struct noted *x = *state;
  update(x, CHUNK_A ",\"messageId\":\"m\"}");
  NOTED(x, RP_OS, BODY_A);
  update(x, CHUNK_A ",\"messageId\":\"m\"}");
  NOTED(x, RP_OS, BODY_A);
  update(x, "{\"sessionUpdate\":\"usage_update\",\"used\":1,\"size\":2}");
  NOTED(x, RP_OS, "x-acp-update {\"update\":{\"sessionUpdate\":\"usage_update\",\"used\":1,\"size\":2}}");
  update(x, "{\"sessionUpdate\":\"agent_thought_chunk\",\"content\":{\"type\":\"text\",\"text\":\"h\"}}");
  NOTED(x, RP_OS, END_A,
        "message {\"role\":\"assistant\",\"source\":\"acp\",\"thought\":true,\"partial\":true,\"content\":["
        "{\"type\":\"text\",\"text\":\"h\"}]}");
  update(x, "{\"sessionUpdate\":\"plan\",\"entries\":[]}");
  NOTED(x, RP_OS,
        "message {\"role\":\"assistant\",\"source\":\"acp\",\"thought\":true,\"content\":["
        "{\"type\":\"text\",\"text\":\"\"}]}",
        "x-acp-update {\"update\":{\"sessionUpdate\":\"plan\",\"entries\":[]}}", "todo {\"items\":[]}");
}

#define ENTRIES                                                                                                        \
  "[{\"content\":\"a\",\"priority\":\"high\",\"status\":\"completed\"},{\"content\":\"b\"},{\"content\":7}]"

/* B-13 */
static void a_plan_is_the_todo_list(void **state)
{
  struct noted *x = *state;
  static const char todo[] =
      "todo {\"items\":[{\"content\":\"a\",\"status\":\"completed\"},{\"content\":\"b\",\"status\":\"pending\"}]}";
  update(x, "{\"sessionUpdate\":\"plan\",\"entries\":" ENTRIES "}");
  NOTED(x, RP_OS, "x-acp-update {\"update\":{\"sessionUpdate\":\"plan\",\"entries\":" ENTRIES "}}", todo);
  update(x, "{\"sessionUpdate\":\"plan_update\",\"plan\":{\"entries\":" ENTRIES "}}");
  NOTED(x, RP_OS, "x-acp-update {\"update\":{\"sessionUpdate\":\"plan_update\",\"plan\":{\"entries\":" ENTRIES "}}}",
        todo);
  update(x, "{\"sessionUpdate\":\"plan\",\"entries\":7}");
  NOTED(x, RP_OS, "x-acp-update {\"update\":{\"sessionUpdate\":\"plan\",\"entries\":7}}");
}

/* B-13 */
static void a_turn_that_did_not_end_well_says_so(void **state)
{
  static const struct {
    const char *stop, *turn;
  } cases[] = {
      {"cancelled", "turn {\"status\":\"cancelled\",\"reason\":\"cancelled\"}"},
      {"refusal", "turn {\"status\":\"refused\",\"reason\":\"refusal\"}"},
      {"max_tokens", "turn {\"status\":\"limit\",\"reason\":\"max_tokens\"}"},
      {"max_turn_requests", "turn {\"status\":\"limit\",\"reason\":\"max_turn_requests\"}"},
  };
  struct noted *x = *state;
  rp_error err = {0};
  for (size_t i = 0; i < RP_ARRAY_SIZE(cases); i++) {
    char result[128], told[128];
    snprintf(result, sizeof result, "{\"stopReason\":\"%s\"}", cases[i].stop);
    snprintf(told, sizeof told, "x-acp-turn {\"turn\":0,\"stop_reason\":\"%s\"}", cases[i].stop);
    OK(rp__acp_event_turn_end(&x->book, 0, parsed(result), parsed(NULL), &x->n, &err), err);
    NOTED(x, RP_DISK, told, cases[i].turn);
  }
}

static void another_id_is_another_message(void **state)
{
  struct noted *x = *state;
  rp_error err = {0};
  update(x, CHUNK_A ",\"messageId\":\"m\"}");
  update(x, CHUNK_A ",\"messageId\":\"n\",\"_meta\":{\"p\":null}}");
  NOTED(x, RP_OS, END_A,
        "message {\"role\":\"assistant\",\"message_id\":\"n\",\"source\":\"acp\",\"partial\":true,\"content\":["
        "{\"type\":\"text\",\"text\":\"x\"}],\"acp\":{\"_meta\":{\"p\":null}}}");
  OK(rp__acp_event_turn_end(&x->book, x->book.turn, parsed("{\"stopReason\":\"end_turn\",\"usage\":{\"t\":1}}"),
                            parsed(NULL), &x->n, &err),
     err);
  NOTED(x, RP_DISK,
        "message {\"role\":\"assistant\",\"message_id\":\"n\",\"source\":\"acp\",\"content\":["
        "{\"type\":\"text\",\"text\":\"\"}]}",
        "x-acp-turn {\"turn\":0,\"stop_reason\":\"end_turn\",\"acp\":{\"usage\":{\"t\":1}}}");
  OK(rp__acp_event_turn_end(&x->book, x->book.turn, parsed(NULL), parsed("{\"code\":-32603,\"message\":\"no\"}"), &x->n,
                            &err),
     err);
  NOTED(x, RP_DISK, "x-acp-turn {\"turn\":0,\"error\":{\"code\":-32603,\"message\":\"no\"}}",
        "turn {\"status\":\"failed\",\"reason\":\"no\"}");
}

/* An id that the journal would refuse names no message, but is kept. */
static void an_id_that_is_none_stays_where_it_is(void **state)
{
  struct noted *x = *state;
  update(x, CHUNK_A ",\"messageId\":\"\"}");
  NOTED(x, RP_OS,
        "message {\"role\":\"assistant\",\"source\":\"acp\",\"partial\":true,\"content\":["
        "{\"type\":\"text\",\"text\":\"x\"}],\"acp\":{\"messageId\":\"\"}}");
}

/* B-04: the ledger wants name and status each time; updates say only what changed. */
static void the_ledger_follows_calls(void **state)
{
  struct noted *x = *state;
  prompt(x, "{\"prompt\":[]}");
  update(x, "{\"sessionUpdate\":\"tool_call\",\"toolCallId\":\"c\",\"title\":\"Edit\",\"rawInput\":{\"f\":1}}");
  NOTED(x, RP_DISK,
        "tool {\"call_id\":\"t1:c\",\"name\":\"Edit\",\"status\":\"intended\",\"turn\":1,\"input\":{\"f\":1},\"acp\":{"
        "\"sessionUpdate\":\"tool_call\",\"toolCallId\":\"c\",\"title\":\"Edit\"}}");
  update(x, "{\"sessionUpdate\":\"tool_call_update\",\"toolCallId\":\"c\",\"status\":\"in_progress\"}");
  NOTED(x, RP_DISK,
        "tool {\"call_id\":\"t1:c\",\"name\":\"Edit\",\"status\":\"running\",\"turn\":1,\"acp\":{"
        "\"sessionUpdate\":\"tool_call_update\",\"toolCallId\":\"c\",\"status\":\"in_progress\"}}");
  prompt(x, "{\"prompt\":[]}");
  update(x, "{\"sessionUpdate\":\"tool_call_update\",\"toolCallId\":\"c\",\"rawOutput\":null}");
  NOTED(x, RP_DISK,
        "tool {\"call_id\":\"t1:c\",\"name\":\"Edit\",\"status\":\"running\",\"turn\":1,\"output\":null,\"acp\":{"
        "\"sessionUpdate\":\"tool_call_update\",\"toolCallId\":\"c\"}}");
  update(x, "{\"sessionUpdate\":\"tool_call\",\"toolCallId\":\"c\",\"title\":\"Run\",\"name\":\"bash\"}");
  NOTED(x, RP_DISK,
        "tool {\"call_id\":\"t2:c\",\"name\":\"bash\",\"status\":\"intended\",\"turn\":2,\"acp\":{"
        "\"sessionUpdate\":\"tool_call\",\"toolCallId\":\"c\",\"title\":\"Run\",\"name\":\"bash\"}}");
}

static void a_long_id_is_cut_and_stays_unique(void **state)
{
  struct noted *x = *state;
  char text[2][2048], id[1400], bodies[2][600];
  memset(id, 'i', sizeof id - 1);
  id[sizeof id - 1] = '\0';
  for (int i = 0; i < 2; i++) {
    id[sizeof id - 2] = (char)('0' + i);
    snprintf(text[i], sizeof text[i], "{\"sessionUpdate\":\"tool_call\",\"toolCallId\":\"%s\",\"title\":\"t\"}", id);
    update(x, text[i]);
    struct rp__json body = rp__json_trusted(x->n.bytes.p + x->n.v[0].at, x->n.v[0].n);
    struct rp__json call = rp__json_get(body, "call_id");
    assert_true(call.n - 2 <= 512);
    snprintf(bodies[i], sizeof bodies[i], "%.*s", (int)call.n, call.p);
  }
  assert_string_not_equal(bodies[0], bodies[1]);
}

/* What makes no sense is kept as it is. */
static void nonsense_is_kept(void **state)
{
  struct noted *x = *state;
  update(x, "{\"sessionUpdate\":\"tool_call\",\"toolCallId\":7}");
  NOTED(x, RP_OS, "x-acp-update {\"update\":{\"sessionUpdate\":\"tool_call\",\"toolCallId\":7}}");
  update(x, "{\"sessionUpdate\":\"agent_message_chunk\",\"content\":\"bare\"}");
  NOTED(x, RP_OS, "x-acp-update {\"update\":{\"sessionUpdate\":\"agent_message_chunk\",\"content\":\"bare\"}}");
  update(x, "{}");
  NOTED(x, RP_OS, "x-acp-update {\"update\":{}}");
}

static void a_title_names_the_session(void **state)
{
  struct noted *x = *state;
  update(x, "{\"sessionUpdate\":\"session_info_update\",\"title\":\"T\"}");
  NOTED(x, RP_OS, "x-acp-update {\"update\":{\"sessionUpdate\":\"session_info_update\",\"title\":\"T\"}}",
        "session {\"name\":\"T\"}");
  update(x, "{\"sessionUpdate\":\"session_info_update\",\"title\":null}");
  NOTED(x, RP_OS, "x-acp-update {\"update\":{\"sessionUpdate\":\"session_info_update\",\"title\":null}}");
}

#define OPTIONS                                                                                                        \
  "{\"options\":[{\"optionId\":\"y\",\"kind\":\"allow_once\"},{\"optionId\":\"n\",\"kind\":\"reject_once\"}]}"

static void permissions_have_two_halves(void **state)
{
  static const char *const outcomes[][2] = {{"{\"outcome\":{\"outcome\":\"selected\",\"optionId\":\"y\"}}", "allowed"},
                                            {"{\"outcome\":{\"outcome\":\"selected\",\"optionId\":\"n\"}}", "denied"},
                                            {"{\"outcome\":{\"outcome\":\"cancelled\"}}", "denied"}};
  struct noted *x = *state;
  char want[256];
  for (size_t i = 0; i < 3; i++) {
    request(x, "\"p5\"", "\"session/request_permission\"", OPTIONS);
    NOTED(x, RP_DISK, "approval {\"id\":\"a0:p5\",\"status\":\"pending\",\"acp\":" OPTIONS "}");
    answer(x, "\"p5\"", "session/request_permission", outcomes[i][0], NULL);
    snprintf(want, sizeof want, "approval {\"id\":\"a0:p5\",\"status\":\"%s\",\"result\":%s}", outcomes[i][1],
             outcomes[i][0]);
    NOTED(x, RP_DISK, want);
  }
}

/* An answer belongs to the turn of its question, even when it comes in the next. */
static void an_answer_finds_its_question(void **state)
{
  struct noted *x = *state;
  prompt(x, "{\"prompt\":[]}");
  request(x, "9", "\"elicitation/create\"", "{\"mode\":\"form\",\"message\":\"?\"}");
  NOTED(x, RP_DISK, "question {\"id\":\"q1:9\",\"status\":\"pending\",\"acp\":{\"mode\":\"form\",\"message\":\"?\"}}");
  prompt(x, "{\"prompt\":[]}");
  answer(x, "9", "elicitation/create", "{\"action\":\"decline\"}", NULL);
  NOTED(x, RP_DISK, "question {\"id\":\"q1:9\",\"status\":\"answered\",\"result\":{\"action\":\"decline\"}}");
  answer(x, "9", "elicitation/create", NULL, "{\"code\":-1}");
  NOTED(x, RP_DISK, "question {\"id\":\"q2:9\",\"status\":\"answered\",\"error\":{\"code\":-1}}");
}

/* what a terminal's environment holds is nobody's business. */
static void an_environment_keeps_its_names(void **state)
{
  struct noted *x = *state;
  request(x, "1", "\"terminal/create\"",
          "{\"command\":\"ls\",\"env\":[{\"name\":\"A\",\"value\":\"secret\"},{\"value\":1}],\"cwd\":\"/x\"}");
  NOTED(x, RP_DISK,
        "x-acp-request {\"id\":\"r0:1\",\"method\":\"terminal/create\",\"params\":{\"command\":\"ls\",\"env\":["
        "{\"name\":\"A\"},{\"name\":null}],\"cwd\":\"/x\"}}");
  request(x, "2", "\"fs/read_text_file\"", "{\"path\":\"/a\"}");
  NOTED(x, RP_OS, "x-acp-request {\"id\":\"r0:2\",\"method\":\"fs/read_text_file\",\"params\":{\"path\":\"/a\"}}");
  answer(x, "2", "fs/read_text_file", "{\"content\":\"c\"}", NULL);
  NOTED(x, RP_OS, "x-acp-answer {\"id\":\"r0:2\",\"method\":\"fs/read_text_file\",\"result\":{\"content\":\"c\"}}");
  request(x, "3", "\"fs/write_text_file\"", "{}");
  assert_int_equal(x->n.durability, RP_DISK);
}

/* The store takes every note, and the state has what it says. */
static void the_state_has_it(void **state)
{
  struct talk t = talk_begin(state);
  talk_ask(&t, "hello");
  talk_chunk(&t, "agent_message_chunk", "m1", "one ");
  talk_chunk(&t, "agent_message_chunk", "m1", "two");
  talk_chunk(&t, "agent_thought_chunk", NULL, "secretly");
  talk_update(&t, "{\"sessionUpdate\":\"tool_call\",\"toolCallId\":\"c\",\"title\":\"Edit\"}");
  talk_request(&t, "4", "session/request_permission", OPTIONS);
  char *doc = rig_state(t.s, -1);
  assert_string_equal(rig_get(doc, "conversation.total"), "2");
  assert_non_null(strstr(doc, "one two"));
  assert_null(strstr(rig_get(doc, "conversation"), "secretly"));
  assert_non_null(strstr(rig_get(doc, "tools"), "\"call_id\":\"t1:c\""));
  assert_non_null(strstr(rig_get(doc, "approvals"), "\"id\":\"a1:4\""));
  free(doc);
  talk_end(&t);
}

static void the_book_of_a_session_that_comes_back(void **state)
{
  struct talk t = talk_begin(state);
  rp_error err = {0};
  OK(rp__known_calls_load(t.s, &t.book, &err), err);
  assert_int_equal(t.book.turn, 0);
  for (int i = 0; i < 3; i++) talk_ask(&t, "again");
  talk_update(&t, "{\"sessionUpdate\":\"tool_call\",\"toolCallId\":\"c\",\"title\":\"Edit\"}");
  talk_crash(&t);
  assert_int_equal(t.book.turn, 3);
  talk_update(&t, "{\"sessionUpdate\":\"tool_call_update\",\"toolCallId\":\"c\",\"status\":\"completed\"}");
  char *doc = rig_state(t.s, -1);
  assert_non_null(strstr(rig_get(doc, "tools"), "\"call_id\":\"t3:c\",\"name\":\"Edit\",\"status\":\"done\""));
  free(doc);
  for (int i = 0; i < 700; i++) talk_event(&t, "x-other", "{}");
  OK(rp__known_calls_load(t.s, &t.book, &err), err);
  assert_int_equal(t.book.turn, 3);
  talk_end(&t);
}

int main(void)
{
#define PURE(name) cmocka_unit_test_setup_teardown(name, noted_setup, noted_teardown)
#define STORED(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)
  const struct CMUnitTest tests[] = {
      PURE(a_prompt_is_a_message_of_a_turn),
      PURE(what_we_put_before_a_prompt_is_not_the_users),
      PURE(a_prompt_that_is_none_changes_nothing),
      PURE(a_stream_is_ended_by_what_is_no_part_of_it),
      PURE(a_plan_is_the_todo_list),
      PURE(a_turn_that_did_not_end_well_says_so),
      PURE(another_id_is_another_message),
      PURE(an_id_that_is_none_stays_where_it_is),
      PURE(the_ledger_follows_calls),
      PURE(a_long_id_is_cut_and_stays_unique),
      PURE(nonsense_is_kept),
      PURE(a_title_names_the_session),
      PURE(permissions_have_two_halves),
      PURE(an_answer_finds_its_question),
      PURE(an_environment_keeps_its_names),
      STORED(the_state_has_it),
      STORED(the_book_of_a_session_that_comes_back),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
