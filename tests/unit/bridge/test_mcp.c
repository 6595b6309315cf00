/* SPDX-License-Identifier: Apache-2.0 */
/* MCP in both eras, message by message (B-04, X-09, N-05). */
#include "mcp_test.h"

#define INIT(version) "\"protocolVersion\":\"" version "\",\"capabilities\":{},\"clientInfo\":{\"name\":\"t\"}"

/* ---- the legacy era ---- */

static void a_known_version_is_echoed_and_others_get_the_newest(void **state)
{
  static const struct {
    const char *params, *got;
  } rows[] = {
      {INIT("2025-11-25"), "2025-11-25"}, {INIT("2025-06-18"), "2025-06-18"}, {INIT("2025-03-26"), "2025-03-26"},
      {INIT("2024-11-05"), "2024-11-05"}, {INIT("2026-07-28"), "2025-11-25"}, {INIT("x"), "2025-11-25"},
  };
  struct rp__mcp m = mcp_new(*state, "coder");
  for (size_t i = 0; i < RP_ARRAY_SIZE(rows); i++) {
    struct rp__mcp_reply reply;
    struct rp__json v = mcp_ask(&m, "initialize", rows[i].params, &reply);
    assert_string_equal(mcp_text(rp__json_get(v, "result"), "protocolVersion"), rows[i].got);
    assert_true(reply.initialize && !reply.modern && m.initialized);
    assert_int_equal(rp__json_get(rp__json_get(v, "result"), "resultType").type, RP_JSON_NONE);
  }
  mcp_error(&m, "initialize", "\"capabilities\":{}", -32602);
  mcp_error(&m, "initialize", NULL, -32602);
  assert_int_equal(rp__json_count(mcp_result(&m, "ping", NULL)), 0);
  rp__tool_session_end(&m.session, NULL);
}

static void what_is_announced_is_there_and_nothing_else(void **state)
{
  static const char *const have[] = {"tools/list", "resources/list", "resources/templates/list", "prompts/list"};
  static const char *const lack[] = {"logging/setLevel",    "resources/subscribe",  "resources/unsubscribe",
                                     "completion/complete", "subscriptions/listen", "roots/list"};
  struct rp__mcp m = mcp_new(*state, "coder");
  struct rp__json result = mcp_result(&m, "initialize", INIT("2025-11-25"));
  struct rp__json can = rp__json_get(result, "capabilities"), key, value;
  struct rp__json_iter it = {0};
  assert_int_equal(rp__json_count(can), 3);
  while (rp__json_next(can, &it, &key, &value)) assert_int_equal(rp__json_count(value), 0);
  for (size_t i = 0; i < RP_ARRAY_SIZE(have); i++) {
    mcp_result(&m, have[i], NULL);
    mcp_result(&m, have[i], META);
  }
  for (size_t i = 0; i < RP_ARRAY_SIZE(lack); i++) {
    mcp_error(&m, lack[i], NULL, -32601);
    mcp_error(&m, lack[i], META, -32601);
  }
  rp__tool_session_end(&m.session, NULL);
}

/* The agent greets its servers while it begins the session they are for: greeted or asked to read, none is chosen. */
static void a_greeting_chooses_no_session_of_the_editors(void **state)
{
  struct rig *r = *state;
  char here[2048], meta[2100];
  rp_error err = {0};
  rp_session *s[2] = {0};
  struct rp__mcp m = mcp_new(r, "coder");
  setenv("REPRISE_BRIDGE", "acp", 1);
  assert_non_null(getcwd(here, sizeof here));
  snprintf(meta, sizeof meta, "{\"cwd\":\"%s\"}", here);
  const rp_start_options o = {.scope = "coder", .channel = "acp", .meta = meta, .owner = RP_OWNER_SELF};
  OK(rp_start(r->e, &o, &s[0], &err), err);
  m.session.born_ms = r->wall + 1;
  mcp_result(&m, "initialize", INIT("2025-11-25"));
  assert_null(m.session.s);
  mcp_result(&m, "resources/read", "\"uri\":\"reprise://brief\"");
  mcp_result(&m, "prompts/get", "\"name\":\"handoff\"");
  assert_null(m.session.s);
  r->wall += 100;
  OK(rp_start(r->e, &o, &s[1], &err), err);
  mcp_result(&m, "prompts/get", "\"name\":\"handoff\""); /* now it is known */
  assert_string_equal(rp_session_id(m.session.s), rp_session_id(s[1]));
  rp__tool_session_end(&m.session, NULL);
  for (size_t i = 0; i < 2; i++) rp_session_free(s[i]);
}

/* N-05, X-09: one text, where the conversation begins, and not to the guests of another bridge. */
static void the_brief_is_in_the_instructions_once(void **state)
{
  struct rp__mcp m = mcp_new(*state, "coder");
  assert_null(strstr(mcp_text(mcp_result(&m, "initialize", INIT("2025-11-25")), "instructions"), "harbour"));
  mcp_result(&m, "tools/call", "\"name\":\"task\",\"arguments\":{\"action\":\"open\",\"title\":\"paint the harbour\"}");
  rp__tool_session_end(&m.session, NULL);
  const char *text = mcp_text(mcp_result(&m, "initialize", INIT("2025-11-25")), "instructions"), *at;
  at = strstr(text, "paint the harbour");
  assert_non_null(at);
  assert_null(strstr(at + 1, "paint the harbour"));
  text = mcp_text(mcp_result(&m, "initialize", INIT("2025-11-25")), "instructions");
  assert_null(strstr(text, "paint the harbour")); /* a second time on one connection */
  setenv("REPRISE_SESSION", rp_session_id(m.session.s), 1);
  struct rp__mcp guest = mcp_new(*state, "coder");
  assert_null(strstr(mcp_text(mcp_result(&guest, "initialize", INIT("2025-11-25")), "instructions"), "harbour"));
  assert_string_equal(rp_session_id(guest.session.s), rp_session_id(m.session.s));
  unsetenv("REPRISE_SESSION");
  rp__tool_session_end(&guest.session, NULL);
  rp__tool_session_end(&m.session, NULL);
}

/* Claude Code shows the first 2,048 characters: what was before comes first, and what it does not fit in is named. */
static void the_brief_stands_where_it_is_not_cut(void **state)
{
  struct rp__mcp m = mcp_new(*state, "coder");
  const char *text = mcp_text(mcp_result(&m, "initialize", INIT("2025-11-25")), "instructions");
  assert_null(strstr(text, "reprise://brief"));
  assert_non_null(strstr(text, "working_memory"));
  mcp_result(&m, "tools/call", "\"name\":\"task\",\"arguments\":{\"action\":\"open\",\"title\":\"paint the harbour\"}");
  rp__tool_session_end(&m.session, NULL);
  text = mcp_text(mcp_result(&m, "initialize", INIT("2025-11-25")), "instructions");
  const char *where = strstr(text, "reprise://brief"), *brief = strstr(text, "paint the harbour");
  const char *offer = strstr(text, "working_memory");
  assert_true(where && brief && offer && where < brief && brief < offer);
  assert_true(where - text < 256);
  struct rp__json all = mcp_result(&m, "resources/read", "\"uri\":\"reprise://brief\"");
  assert_has(all.p, "paint the harbour");
  rp__tool_session_end(&m.session, NULL);
}

/* ---- the modern era ---- */

static void each_modern_result_says_what_its_era_wants(void **state)
{
  static const struct {
    const char *method, *params, *cache;
  } rows[] = {
      {"server/discover", META, "private"},
      {"tools/list", META, "public"},
      {"resources/list", META, "private"},
      {"resources/templates/list", META, "public"},
      {"resources/read", "\"uri\":\"reprise://brief\"," META, "private"},
      {"prompts/list", META, "public"},
      {"prompts/get", "\"name\":\"handoff\"," META, NULL},
      {"tools/call", "\"name\":\"recall\"," META, NULL},
      {"tools/call", "\"name\":\"recall\",\"arguments\":{\"x\":1}," META, NULL},
  };
  struct rp__mcp m = mcp_new(*state, "coder");
  mcp_result(&m, "initialize", INIT("2025-11-25"));
  for (size_t i = 0; i < RP_ARRAY_SIZE(rows); i++) {
    struct rp__json v = mcp_result(&m, rows[i].method, rows[i].params);
    int64_t ttl = -1;
    assert_string_equal(mcp_text(v, "resultType"), "complete");
    struct rp__json info = rp__json_get(rp__json_get(v, "_meta"), "io.modelcontextprotocol/serverInfo");
    assert_string_equal(mcp_text(info, "name"), "reprise");
    assert_int_equal(rp__json_i64(rp__json_get(v, "ttlMs"), &ttl), rows[i].cache != NULL);
    if (rows[i].cache) assert_string_equal(mcp_text(v, "cacheScope"), rows[i].cache);
    if (rows[i].cache) assert_true(ttl >= 0);
  }
  rp__tool_session_end(&m.session, NULL);
}

static void meta_is_checked(void **state)
{
#define VERSION "\"io.modelcontextprotocol/protocolVersion\":"
#define CAPABILITIES "\"io.modelcontextprotocol/clientCapabilities\":"
  static const struct {
    const char *params;
    int code;
  } rows[] = {
      {"", -32602},
      {"\"_meta\":7", -32602},
      {"\"_meta\":{}", -32602},
      {"\"_meta\":{" CAPABILITIES "{}}", -32602},
      {"\"_meta\":{" VERSION "\"2026-07-28\"}", -32602},
      {"\"_meta\":{" VERSION "7," CAPABILITIES "{}}", -32602},
      {"\"_meta\":{" VERSION "\"2026-07-28\"," CAPABILITIES "[]}", -32602},
      {"\"_meta\":{" VERSION "\"2025-11-25\"," CAPABILITIES "{}}", -32022},
      {META, 0},
  };
  struct rp__mcp m = mcp_new(*state, "coder");
  for (size_t i = 0; i < RP_ARRAY_SIZE(rows); i++) {
    struct rp__mcp_reply reply;
    struct rp__json v = mcp_ask(&m, "server/discover", rows[i].params, &reply);
    if (reply.code != rows[i].code) fail_msg("%s: %.*s", rows[i].params, (int)v.n, v.p);
    assert_int_equal(reply.refused, rows[i].code != 0);
    assert_int_equal(rp__mcp_status(&reply), rows[i].code ? 400 : 200);
  }
  mcp_error(&m, "initialize", META, -32601);
  mcp_error(&m, "ping", META, -32601);
  rp__tool_session_end(&m.session, NULL);
}

/* Over HTTP clients come back to a session that is theirs: they are told what is there now. */
static void who_comes_back_is_told_what_is_there(void **state)
{
  struct rp__mcp m = mcp_new(*state, "coder");
  snprintf(m.session.ref, sizeof m.session.ref, "desk");
  m.session.owner = RP_OWNER_NONE;
  m.session.remote = m.stateless = true;
  mcp_result(
      &m, "tools/call",
      "\"name\":\"working_memory\",\"arguments\":{\"action\":\"pin\",\"label\":\"a\",\"content\":\"bollard\"}," META);
  rp__tool_session_leave(&m.session);
  assert_non_null(strstr(mcp_text(mcp_result(&m, "server/discover", META), "instructions"), "bollard"));
  assert_true(m.session.guest);
  rp__tool_session_leave(&m.session);
}

/* ---- headers of HTTP ---- */

static void headers_say_what_the_message_says(void **state)
{
  static const struct {
    const char *method, *params;
    struct rp__mcp_head head;
    int code;
  } rows[] = {
      {"tools/list", META, {"2026-07-28", "tools/list", NULL}, 0},
      {"tools/list", META, {" 2026-07-28\t", "  tools/list ", NULL}, 0},
      {"tools/list", META, {NULL, "tools/list", NULL}, -32020},
      {"tools/list", META, {"2026-07-28", NULL, NULL}, -32020},
      {"tools/list", META, {"2026-07-28", "TOOLS/LIST", NULL}, -32020},
      {"tools/list", META, {"2025-11-25", "tools/list", NULL}, -32020},
      {"tools/list", META, {"2026-07-28", "=?base64?dG9vbHMvbGlzdA==?=", NULL}, 0},
      {"tools/list", META, {"2026-07-28", "=?base64?dG9vbHMvbGlzdA?=", NULL}, -32020},
      {"tools/list", META, {"2026-07-28", "=?base64?!?=", NULL}, -32020},
      {"tools/list",
       META,
       {"2026-07-28",
        "=?base64?"
        "?=",
        NULL},
       -32020},
      {"tools/list", META, {"2026-07-28", "=?base64?=", NULL}, -32020},
      {"tools/list", NULL, {"2026-07-28", "tools/list", NULL}, -32602},
      {"tools/call", "\"name\":\"recall\"," META, {"2026-07-28", "tools/call", "recall"}, 0},
      {"tools/call", "\"name\":\"recall\"," META, {"2026-07-28", "tools/call", "remember"}, -32020},
      {"tools/call", "\"name\":\"recall\"," META, {"2026-07-28", "tools/call", NULL}, -32020},
      {"tools/call", META, {"2026-07-28", "tools/call", NULL}, -32602},
      {"prompts/get", "\"name\":\"resume\"," META, {"2026-07-28", "prompts/get", "handoff"}, -32020},
      {"resources/read", "\"uri\":\"reprise://brief\"," META, {"2026-07-28", "resources/read", "reprise://brief"}, 0},
      {"resources/read", "\"uri\":\"reprise://brief\"," META, {"2026-07-28", "resources/read", "brief"}, -32020},
      {"tools/list", NULL, {"2025-06-18", NULL, NULL}, 0},
      {"tools/list", NULL, {NULL, NULL, NULL}, 0},
      {"tools/list", NULL, {"2025-06-19", NULL, NULL}, -32600},
      {"tools/list", NULL, {"2025-06-18-and-more", NULL, NULL}, -32600},
      {"initialize", INIT("2025-11-25"), {"2027-01-01", "initialize", NULL}, 0},
  };
  struct rp__mcp m = mcp_new(*state, "coder");
  for (size_t i = 0; i < RP_ARRAY_SIZE(rows); i++) {
    struct rp__mcp_reply reply;
    m.head = &rows[i].head;
    struct rp__json v = mcp_ask(&m, rows[i].method, rows[i].params, &reply);
    if (reply.code != rows[i].code)
      fail_msg("row %zu, %s: not %d: %.*s", i, rows[i].method, rows[i].code, (int)v.n, v.p);
  }
  rp__tool_session_end(&m.session, NULL);
}

static void statuses_of_http(void **state)
{
  (void)state;
  static const struct {
    struct rp__mcp_reply reply;
    int status;
  } rows[] = {
      {{.none = true}, 202},
      {{.code = 0}, 200},
      {{.code = -32700, .refused = true}, 400},
      {{.code = -32020, .refused = true, .modern = true}, 400},
      {{.code = -32601, .modern = true}, 404},
      {{.code = -32601}, 200},
      {{.code = -32602, .modern = true}, 200},
  };
  for (size_t i = 0; i < RP_ARRAY_SIZE(rows); i++) assert_int_equal(rp__mcp_status(&rows[i].reply), rows[i].status);
}

/* ---- tools, resources, prompts ---- */

static void errors_go_to_whom_they_concern(void **state)
{
  struct rp__mcp m = mcp_new(*state, "coder");
  mcp_error(&m, "tools/call", NULL, -32602);
  mcp_error(&m, "tools/call", "\"name\":7", -32602);
  mcp_error(&m, "tools/call", "\"name\":\"nope\"", -32602);
  mcp_error(&m, "tools/call", "\"name\":\"recall\",\"arguments\":[]", -32602);
  struct rp__json v = mcp_result(&m, "tools/call", "\"name\":\"recall\",\"arguments\":{\"nonsense\":1}");
  assert_int_equal(rp__json_get(v, "isError").type, RP_JSON_TRUE);
  assert_non_null(strstr(v.p, "nonsense"));
  assert_int_equal(rp__json_get(v, "structuredContent").type, RP_JSON_NONE);
  v = mcp_result(&m, "tools/call", "\"name\":\"recall\"");
  assert_int_equal(rp__json_get(v, "isError").type, RP_JSON_FALSE);
  assert_int_equal(rp__json_get(v, "structuredContent").type, RP_JSON_OBJECT);
  mcp_error(&m, "resources/read", NULL, -32602);
  mcp_error(&m, "resources/read", "\"uri\":\"reprise://sessions/none\"", -32002);
  mcp_error(&m, "resources/read", "\"uri\":\"reprise://sessions/none\"," META, -32602);
  mcp_error(&m, "resources/list", "\"cursor\":\"x\"", -32602);
  mcp_error(&m, "tools/list", "\"cursor\":\"x\"", -32602);
  mcp_error(&m, "prompts/get", "\"name\":\"nope\"", -32602);
  mcp_error(&m, "prompts/get", "\"name\":\"resume\",\"arguments\":{\"session\":\"none\"}", -32602);
  rp__tool_session_end(&m.session, NULL);
}

static void who_may_only_read_begins_nothing(void **state)
{
  struct rig *r = *state;
  struct rp__mcp first = mcp_new(r, "coder"), m = mcp_new(r, "coder");
  mcp_result(&first, "tools/call", "\"name\":\"task\",\"arguments\":{\"action\":\"open\",\"title\":\"tar the hull\"}");
  rp__tool_session_end(&first.session, NULL);
  m.session.reads_only = true;
  assert_non_null(strstr(mcp_text(mcp_result(&m, "initialize", INIT("2025-11-25")), "instructions"), "tar the hull"));
  assert_null(m.session.s);
  struct rp__json v = mcp_result(&m, "tools/call", "\"name\":\"remember\",\"arguments\":{\"text\":\"x\"}");
  assert_int_equal(rp__json_get(v, "isError").type, RP_JSON_TRUE);
  rp__tool_session_leave(&m.session);
}

/* ---- messages ---- */

static void what_is_no_request(void **state)
{
  static const struct {
    const char *line;
    int code;
  } rows[] = {
      {"", -32700},
      {"nonsense", -32700},
      {"{\"jsonrpc\":\"2.0\"", -32700},
      {"[]", -32600},
      {"7", -32600},
      {"{}", -32600},
      {"{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}", -32600},
      {"{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}", -32600},
      {"{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}", -32600},
      {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":7}", -32600},
      {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":null}", -32602},
      {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\"}", -32601},
  };
  static const char *const silent[] = {
      "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}",
      "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1}}",
      "{\"jsonrpc\":\"2.0\",\"method\":\"tools/list\"}",
      "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}",
      "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":1,\"message\":\"x\"}}",
  };
  struct rp__mcp m = mcp_new(*state, "coder");
  struct rp__mcp_reply reply;
  for (size_t i = 0; i < RP_ARRAY_SIZE(rows); i++) {
    mcp_say(&m, rows[i].line, &reply);
    if (reply.code != rows[i].code) fail_msg("%s: %d", rows[i].line, reply.code);
  }
  for (size_t i = 0; i < RP_ARRAY_SIZE(silent); i++) {
    mcp_say(&m, silent[i], &reply);
    assert_true(reply.none);
  }
  struct rp__json v = mcp_say(&m, "{\"jsonrpc\":\"2.0\",\"id\":8,\"method\":\"ping\",", &reply);
  assert_int_equal(reply.code, -32700);
  assert_memory_equal(rp__json_get(v, "id").p, "8", 1); /* who waits for it is told */
  v = mcp_say(&m, "{\"jsonrpc\":\"2.0\",\"id\":\"a\\u00e9\",\"method\":\"ping\"}", &reply);
  assert_memory_equal(rp__json_get(v, "id").p, "\"a\\u00e9\"", 9); /* as it came */
  assert_null(m.session.s);
}

/* A store that is away is no reason to be without tools, and it may come back. */
struct away {
  rp_engine *e;
  int tries;
};

static int open_late(void *ctx, rp_engine **ret, rp_error *err)
{
  struct away *a = ctx;
  if (a->tries-- > 0) return rp__fail(err, RP_E_UNREACHABLE, "the disk is at the cleaner's");
  *ret = a->e;
  return 0;
}

static void without_a_store_tools_say_so(void **state)
{
  static const char *const calls[] = {"\"name\":\"recall\"", "\"name\":\"session_status\""};
  struct rig *r = *state;
  struct away away = {r->e, 5};
  struct rp__mcp m = mcp_new(r, "coder");
  m.session.e = NULL;
  m.session.open = open_late;
  m.session.open_ctx = &away;
  assert_has(mcp_text(mcp_result(&m, "initialize", INIT("2025-11-25")), "instructions"), "at the cleaner's");
  assert_int_equal(rp__json_get(mcp_result(&m, "tools/list", NULL), "tools").type, RP_JSON_ARRAY);
  for (size_t i = 0; i < RP_ARRAY_SIZE(calls); i++) {
    struct rp__json v = mcp_result(&m, "tools/call", calls[i]);
    assert_int_equal(rp__json_get(v, "isError").type, RP_JSON_TRUE);
  }
  mcp_error(&m, "resources/list", NULL, -32005);
  mcp_error(&m, "prompts/get", "\"name\":\"resume\"", -32005);
  struct rp__json v = mcp_result(&m, "tools/call", calls[1]);
  assert_int_equal(rp__json_get(v, "isError").type, RP_JSON_FALSE);
  rp__tool_session_end(&m.session, NULL);
}

static char *resume_of(struct rp__mcp *m, const char *id)
{
  char params[256];
  snprintf(params, sizeof params, "\"name\":\"resume\",\"arguments\":{\"session\":\"%s\"}", id);
  struct rp__json v = mcp_result(m, "prompts/get", params);
  return strndup(v.p, v.n);
}

static void the_resume_of_another_session_says_so(void **state)
{
  struct rp__mcp m = mcp_new(*state, "coder"), other = mcp_new(*state, "coder");
  char id[RP_ID_MAX + 1];
  mcp_result(&other, "initialize", INIT("2025-11-25"));
  snprintf(id, sizeof id, "%s", rp_session_id(other.session.s));
  rp__tool_session_end(&other.session, NULL);
  mcp_result(&m, "initialize", INIT("2025-11-25"));
  RP_AUTOFREE char *theirs = resume_of(&m, id), *own = resume_of(&m, rp_session_id(m.session.s));
  assert_has(theirs, "the one you are in is another");
  assert_null(strstr(own, "is another"));
  rp__tool_session_end(&m.session, NULL);
}

int main(void)
{
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(a_known_version_is_echoed_and_others_get_the_newest, bridge_setup, rig_teardown),
      cmocka_unit_test_setup_teardown(what_is_announced_is_there_and_nothing_else, bridge_setup, rig_teardown),
      cmocka_unit_test_setup_teardown(a_greeting_chooses_no_session_of_the_editors, bridge_setup, rig_teardown),
      cmocka_unit_test_setup_teardown(the_brief_is_in_the_instructions_once, bridge_setup, rig_teardown),
      cmocka_unit_test_setup_teardown(the_brief_stands_where_it_is_not_cut, bridge_setup, rig_teardown),
      cmocka_unit_test_setup_teardown(each_modern_result_says_what_its_era_wants, bridge_setup, rig_teardown),
      cmocka_unit_test_setup_teardown(meta_is_checked, bridge_setup, rig_teardown),
      cmocka_unit_test_setup_teardown(who_comes_back_is_told_what_is_there, bridge_setup, rig_teardown),
      cmocka_unit_test_setup_teardown(headers_say_what_the_message_says, bridge_setup, rig_teardown),
      cmocka_unit_test(statuses_of_http),
      cmocka_unit_test_setup_teardown(errors_go_to_whom_they_concern, bridge_setup, rig_teardown),
      cmocka_unit_test_setup_teardown(who_may_only_read_begins_nothing, bridge_setup, rig_teardown),
      cmocka_unit_test_setup_teardown(what_is_no_request, bridge_setup, rig_teardown),
      cmocka_unit_test_setup_teardown(without_a_store_tools_say_so, bridge_setup, rig_teardown),
      cmocka_unit_test_setup_teardown(the_resume_of_another_session_says_so, bridge_setup, rig_teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
