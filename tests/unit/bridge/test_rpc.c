/* SPDX-License-Identifier: Apache-2.0 */
/* What a line of JSON-RPC is, and the lines of our own (O-05, B-04). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bridge/rpc.h"

static struct rp__rpc look(const char *line)
{
  struct rp__rpc r;
  rp__rpc_look(line, strlen(line), &r);
  return r;
}

static void assert_bytes(struct rp__json v, const char *text)
{
  assert_int_equal(v.n, strlen(text));
  assert_memory_equal(v.p, text, v.n);
}

static void the_four_kinds_are_told_apart(void **state)
{
  (void)state;
  struct rp__rpc r = look("{\"jsonrpc\":\"2.0\",\"id\":1.50,\"method\":\"a/b\",\"params\":{\"x\":[1]}}");
  assert_int_equal(r.type, RP_RPC_REQUEST);
  assert_bytes(r.id, "1.50");
  assert_true(rp__json_eq(r.method, "a/b"));
  assert_bytes(r.params, "{\"x\":[1]}");
  r = look(" {\"method\":\"n\",\"jsonrpc\":\"2.0\"} ");
  assert_int_equal(r.type, RP_RPC_NOTE);
  assert_int_equal(r.id.type, RP_JSON_NONE);
  assert_int_equal(r.params.type, RP_JSON_NONE);
  r = look("{\"jsonrpc\":\"2.0\",\"id\":\"reprise/1\",\"result\":null}");
  assert_int_equal(r.type, RP_RPC_RESULT);
  assert_int_equal(r.result.type, RP_JSON_NULL);
  r = look("{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,\"message\":\"m\"}}");
  assert_int_equal(r.type, RP_RPC_ERROR);
  assert_int_equal(r.id.type, RP_JSON_NULL);
}

static void what_is_no_message_says_why(void **state)
{
  static const struct {
    const char *line, *why;
    int code;
  } cases[] = {
      {"", "", -32700},
      {"{", "byte", -32700},
      {"{\"jsonrpc\":\"2.0\"}x", "byte", -32700},
      {"{\"jsonrpc\":\"2.0\",\"method\":\"a\xff\"}", "byte", -32700},
      {"[]", "batches", -32600},
      {"[{\"jsonrpc\":\"2.0\",\"method\":\"a\"}]", "batches", -32600},
      {"17", "object", -32600},
      {"{}", "jsonrpc", -32600},
      {"{\"jsonrpc\":2.0,\"method\":\"a\"}", "jsonrpc", -32600},
      {"{\"jsonrpc\":\"1.0\",\"method\":\"a\"}", "jsonrpc", -32600},
      {"{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"a\"}", "id", -32600},
      {"{\"jsonrpc\":\"2.0\",\"id\":true,\"method\":\"a\"}", "id", -32600},
      {"{\"jsonrpc\":\"2.0\",\"method\":7}", "method", -32600},
      {"{\"jsonrpc\":\"2.0\",\"id\":1}", "neither", -32600},
      {"{\"jsonrpc\":\"2.0\",\"result\":1}", "neither", -32600},
      {"{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":\"no object\"}", "neither", -32600},
  };
  (void)state;
  for (size_t i = 0; i < RP_ARRAY_SIZE(cases); i++) {
    struct rp__rpc r = look(cases[i].line);
    assert_int_equal(r.type, RP_RPC_BROKEN);
    if (r.code != cases[i].code || !strstr(r.why, cases[i].why)) fail_msg("%s: %d %s", cases[i].line, r.code, r.why);
  }
}

/* Two values under one name could mean one thing to us and another to the peer. */
static void duplicate_keys_are_refused(void **state)
{
  (void)state;
  struct rp__rpc r = look("{\"jsonrpc\":\"2.0\",\"method\":\"a\",\"id\":1,\"id\":2}");
  assert_int_equal(r.type, RP_RPC_BROKEN);
  assert_int_equal(r.code, -32600);
  r = look("{\"jsonrpc\":\"2.0\",\"method\":\"a\",\"params\":{\"k\":1,\"\\u006b\":2}}");
  assert_int_equal(r.type, RP_RPC_BROKEN);
}

static void nesting_has_a_bound(void **state)
{
  char deep[2 * RP_RPC_DEPTH + 100];
  (void)state;
  for (int levels = RP_RPC_DEPTH - 2; levels < RP_RPC_DEPTH + 3; levels++) {
    int n = snprintf(deep, sizeof(deep), "{\"jsonrpc\":\"2.0\",\"method\":\"a\",\"params\":");
    memset(deep + n, '[', (size_t)levels);
    memset(deep + n + levels, ']', (size_t)levels);
    memcpy(deep + n + 2 * levels, "}", 2);
    struct rp__rpc r = look(deep);
    assert_int_equal(r.type, levels + 1 <= RP_RPC_DEPTH ? RP_RPC_NOTE : RP_RPC_BROKEN);
  }
}

static struct rp__rpc route(const char *line)
{
  struct rp__rpc r;
  rp__rpc_route(line, strlen(line), &r);
  return r;
}

/* What is passed on need not be understood: ids, methods and the outer members are enough. */
static void what_is_passed_on_is_taken_leniently(void **state)
{
  static const struct {
    const char *line;
    enum rp__rpc_type type;
    enum rp__rpc_odd odd;
  } cases[] = {
      {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\"}", RP_RPC_REQUEST, RP_RPC_PLAIN},
      {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\",\"params\":{\"k\":1,\"k\":2}}", RP_RPC_REQUEST, RP_RPC_ODD},
      {"{\"jsonrpc\":\"2.0\",\"id\":1}", RP_RPC_RESULT, RP_RPC_PLAIN},
      {"{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":\"text\"}", RP_RPC_ERROR, RP_RPC_PLAIN},
      {"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{},\"error\":null}", RP_RPC_RESULT, RP_RPC_PLAIN},
      {"{\"id\":1,\"method\":\"a\"}", RP_RPC_REQUEST, RP_RPC_PLAIN},
      {"{\"id\":1,\"result\":null}", RP_RPC_RESULT, RP_RPC_PLAIN},
      {"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"caf\xe9\"}", RP_RPC_RESULT, RP_RPC_PLAIN},
      {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\",\"params\":{\"\xff\":1,\"\xff\":2}}", RP_RPC_REQUEST,
       RP_RPC_ODD},
  };
  (void)state;
  for (size_t i = 0; i < RP_ARRAY_SIZE(cases); i++) {
    struct rp__rpc r = route(cases[i].line);
    if (r.type != cases[i].type || r.odd != cases[i].odd) fail_msg("%s: %d %d", cases[i].line, r.type, r.odd);
    assert_bytes(r.id, "1");
  }
  struct rp__rpc r = route("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\",\"id\":2}");
  assert_bytes(r.id, "2"); /* as most parsers have it */
  r = route("{\"jsonrpc\":\"2.0\",\"method\":\"a\",\"params\":\"\xe2\x82\"}");
  assert_bytes(r.params, "\"\xe2\x82\""); /* as they came */
  /* A line of a log that happens to have an id is no answer; nor is what is no JSON beside its bytes. */
  assert_int_equal(route("{\"id\":1,\"level\":\"debug\"}").type, RP_RPC_BROKEN);
  assert_int_equal(route("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\xff}").type, RP_RPC_BROKEN);
}

/* Behind 1024 levels only the outer members are looked at, and brackets. */
static void levels_without_end(void **state)
{
  enum { LEVELS = 2000 };
  char deep[2 * LEVELS + 100];
  (void)state;
  for (int missing = 0; missing < 3; missing++) {
    int n = snprintf(deep, sizeof deep, "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"a\",\"params\":");
    memset(deep + n, '[', LEVELS);
    memset(deep + n + LEVELS, ']', LEVELS);
    memcpy(deep + n + 2 * LEVELS - missing, "}", 2);
    struct rp__rpc r = route(deep);
    assert_int_equal(r.type, missing ? RP_RPC_BROKEN : RP_RPC_REQUEST);
    assert_int_equal(r.odd, RP_RPC_DEEP);
    assert_bytes(r.id, "7");
  }
}

static void a_broken_request_keeps_its_id(void **state)
{
  static const struct {
    const char *line, *id; /* NULL: none */
  } cases[] = {
      {"{\"jsonrpc\":\"2.0\",\"id\":\"k\",\"method\":\"a\",\"params\":{", "\"k\""},
      {"{\"id\":3,\"method\":{}}", "3"},
      {"{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":7}", "3"},
      {"{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{", NULL}, /* an answer: the id is another's */
      {"{\"jsonrpc\":\"2.0\",\"id\":3x,\"method\":\"a\"}", NULL},
      {"{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"a\"}", NULL},
      {"[]", NULL},
      {"", NULL},
  };
  (void)state;
  for (size_t i = 0; i < RP_ARRAY_SIZE(cases); i++) {
    struct rp__rpc r = route(cases[i].line);
    assert_int_equal(r.type, RP_RPC_BROKEN);
    if (!cases[i].id != !r.id.type) fail_msg("%s", cases[i].line);
    if (cases[i].id) assert_bytes(r.id, cases[i].id);
  }
}

static void ids_are_the_same_by_value(void **state)
{
  static const struct {
    const char *x, *y;
    bool same;
  } cases[] = {
      {"\"a\\/b\"", "\"a/b\"", true},
      {"\"\\u00e9\"", "\"\xc3\xa9\"", true},
      {"1e2", "100", true},
      {"1.0", "1", true},
      {"-0", "0", true},
      {"9007199254740993", "9007199254740992", false}, /* the same as doubles */
      {"1e400", "1e400", true},
      {"1e400", "2e400", false},
      {"1", "\"1\"", false},
      {"null", "null", true},
      {"\"a\"", "\"a\\u0000\"", false},
      {"\"\"", "\"\\u0000\"", false},
  };
  (void)state;
  for (size_t i = 0; i < RP_ARRAY_SIZE(cases); i++) {
    struct rp__json x = rp__json_trusted(cases[i].x, strlen(cases[i].x));
    struct rp__json y = rp__json_trusted(cases[i].y, strlen(cases[i].y));
    if (rp__rpc_same_id(x, y) != cases[i].same) fail_msg("%s %s", cases[i].x, cases[i].y);
    if (cases[i].same) assert_int_equal(rp__rpc_id_hash(x), rp__rpc_id_hash(y));
  }
  assert_false(rp__rpc_same_id((struct rp__json){0}, (struct rp__json){0}));
}

static void lines_of_ours_can_be_read(void **state)
{
  RP_AUTOBUF struct rp__buf b = RP_BUF(4096);
  (void)state;
  struct rp__jw w = rp__rpc_begin_request(&b, "reprise/7", "session/load");
  rp__jw_object(&w);
  rp__jw_kstr(&w, "sessionId", "s");
  rp__jw_end_object(&w);
  rp__rpc_end(&w);
  assert_string_equal(b.p, "{\"jsonrpc\":\"2.0\",\"id\":\"reprise/7\",\"method\":\"session/load\","
                           "\"params\":{\"sessionId\":\"s\"}}");
  rp__buf_reset(&b);
  w = rp__rpc_begin_request(&b, NULL, "session/cancel");
  rp__jw_null(&w);
  rp__rpc_end(&w);
  assert_int_equal(look(b.p).type, RP_RPC_NOTE);
  rp__buf_reset(&b);
  struct rp__rpc asked = look("{\"jsonrpc\":\"2.0\",\"id\":1e2,\"method\":\"a\"}");
  w = rp__rpc_begin_result(&b, asked.id);
  rp__jw_bool(&w, true);
  rp__rpc_end(&w);
  assert_string_equal(b.p, "{\"jsonrpc\":\"2.0\",\"id\":1e2,\"result\":true}");
}

static void errors_carry_code_and_data(void **state)
{
  RP_AUTOBUF struct rp__buf b = RP_BUF(4096);
  rp_error err = {0};
  (void)state;
  rp__rpc_error(&b, (struct rp__json){0}, -32700, "no \"JSON\"", "{\"at\":1}");
  assert_string_equal(b.p,
                      "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,\"message\":\"no \\\"JSON\\\"\","
                      "\"data\":{\"at\":1}}}");
  rp__buf_reset(&b);
  rp__fail_field(&err, RP_E_SESSION_NOT_FOUND, "sessionId", "no session 'x'");
  rp__hint(&err, "list them");
  rp__rpc_fail(&b, look("{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"a\"}").id, &err);
  assert_string_equal(b.p,
                      "{\"jsonrpc\":\"2.0\",\"id\":3,\"error\":{\"code\":-32002,\"message\":\"no session 'x'\","
                      "\"data\":{\"code\":\"session.not_found\",\"field\":\"sessionId\",\"hint\":\"list them\"}}}");
}

/* An error that has no words of its own has those of the table. */
static void an_error_without_words_has_the_tables(void **state)
{
  RP_AUTOBUF struct rp__buf b = RP_BUF(4096);
  const rp_error err = {.code = RP_E_FULL};
  (void)state;
  rp__rpc_fail(&b, (struct rp__json){0}, &err);
  assert_non_null(strstr(b.p, "\"message\":\"no space left for the store\""));
}

static void splicing_changes_one_value_alone(void **state)
{
  static const char line[] = "{ \"jsonrpc\" : \"2.0\", \"id\":1,\"result\":{\"sessionId\": \"old\" ,\"_meta\":{}}}";
  RP_AUTOBUF struct rp__buf b = RP_BUF(4096);
  (void)state;
  struct rp__rpc r = look(line);
  rp__rpc_splice(&b, rp__str(line), rp__json_get(r.result, "sessionId"), RP_STR("\"new one\""));
  assert_string_equal(b.p, "{ \"jsonrpc\" : \"2.0\", \"id\":1,\"result\":{\"sessionId\": \"new one\" ,\"_meta\":{}}}");
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_four_kinds_are_told_apart),
      cmocka_unit_test(what_is_no_message_says_why),
      cmocka_unit_test(duplicate_keys_are_refused),
      cmocka_unit_test(nesting_has_a_bound),
      cmocka_unit_test(what_is_passed_on_is_taken_leniently),
      cmocka_unit_test(levels_without_end),
      cmocka_unit_test(a_broken_request_keeps_its_id),
      cmocka_unit_test(ids_are_the_same_by_value),
      cmocka_unit_test(lines_of_ours_can_be_read),
      cmocka_unit_test(errors_carry_code_and_data),
      cmocka_unit_test(an_error_without_words_has_the_tables),
      cmocka_unit_test(splicing_changes_one_value_alone),
  };
  return cmocka_run_group_tests_name("bridge rpc", tests, NULL, NULL);
}
