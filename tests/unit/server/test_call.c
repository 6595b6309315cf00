/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of a query and members of a body: what is taken, what is refused, and that the refusal names it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "net/http-impl.h"
#include "server/server.h"
#include "server/http/route.h"

#define NOW 1794817665096

static int64_t fixed_clock(void *ctx)
{
  (void)ctx;
  return NOW;
}

static struct rp__server server = {.clock = {.wall_ms = fixed_clock}};

/* A call with this query; the text is not copied. */
struct asked {
  struct rp__request req;
  struct rp__http_call call;
  char uri[4096];
};

static struct rp__http_call *ask(struct asked *a, const char *query)
{
  *a = (struct asked){0};
  a->req.path_n = 1;
  a->req.uri.n = (size_t)snprintf(a->uri, sizeof a->uri, "/?%s", query);
  a->req.uri.p = a->uri;
  a->call = (struct rp__http_call){.srv = &server, .req = &a->req};
  return &a->call;
}

static void refused(int rc, const rp_error *err, int code, const char *field)
{
  assert_int_equal(rc, code);
  assert_int_equal(err->code, code);
  assert_string_equal(err->field, field);
  assert_true(err->message[0]);
}

static void test_query_numbers(void **state)
{
  (void)state;
  static const char *const bad[] = {
      "n=",    "n=x",  "n=1x", "n=%201", "n=+1", "n=0x1", "n=1.0", "n=1e1", "n=-1", "n=11", "n=99999999999999999999",
      "n=%00", "n=1%", "n"};
  struct asked a;
  for (size_t i = 0; i < RP_ARRAY_SIZE(bad); i++) {
    int64_t n = 5;
    rp_error err = {0};
    print_message("%s\n", bad[i]);
    refused(rp__call_i64(ask(&a, bad[i]), "n", 0, 10, &n, &err), &err, RP_E_USAGE, "n");
    assert_int_equal(n, 5);
  }
  int64_t n = 5;
  assert_int_equal(rp__call_i64(ask(&a, "m=3"), "n", 0, 10, &n, NULL), 0);
  assert_int_equal(n, 5);
  assert_int_equal(rp__call_i64(ask(&a, "m=3&n=7&n=8"), "n", 0, 10, &n, NULL), 0);
  assert_int_equal(n, 7);
  double d = 1;
  rp_error err = {0};
  assert_int_equal(rp__call_double(ask(&a, "d=2.5e0"), "d", 0, 10, &d, NULL), 0);
  assert_true(d == 2.5);
  refused(rp__call_double(ask(&a, "d=nan"), "d", 0, 10, &d, &err), &err, RP_E_USAGE, "d");
  refused(rp__call_double(ask(&a, "d=[1]"), "d", 0, 10, &d, &err), &err, RP_E_USAGE, "d");
  refused(rp__call_double(ask(&a, "d=11"), "d", 0, 10, &d, &err), &err, RP_E_USAGE, "d");
}

static void test_query_text(void **state)
{
  (void)state;
  struct asked a;
  rp_error err = {0};
  char text[8] = "as was";
  assert_int_equal(rp__call_text(ask(&a, "b=1"), "a", text, sizeof text, NULL), 0);
  assert_string_equal(text, "as was");
  assert_int_equal(rp__call_text(ask(&a, "a=x+y%2Bz"), "a", text, sizeof text, NULL), 0);
  assert_string_equal(text, "x y+z");
  assert_int_equal(rp__call_text(ask(&a, "a"), "a", text, sizeof text, NULL), 0);
  assert_string_equal(text, "");
  refused(rp__call_text(ask(&a, "a=12345678"), "a", text, sizeof text, &err), &err, RP_E_USAGE, "a");
  refused(rp__call_text(ask(&a, "a=%ff"), "a", text, sizeof text, &err), &err, RP_E_USAGE, "a");
  refused(rp__call_text(ask(&a, "a=%00"), "a", text, sizeof text, &err), &err, RP_E_USAGE, "a");
  assert_string_equal(text, "");
}

static void test_query_flags(void **state)
{
  (void)state;
  static const struct {
    const char *query;
    int want; /* -1: refused */
  } cases[] = {{"f", 1},   {"f=", 1},      {"f=1", 1},    {"f=true", 1},
               {"f=0", 0}, {"f=false", 0}, {"f=yes", -1}, {"f=TRUE", -1}};
  for (size_t i = 0; i < RP_ARRAY_SIZE(cases); i++) {
    struct asked a;
    rp_error err = {0};
    bool f = cases[i].want == 0;
    int rc = rp__call_bool(ask(&a, cases[i].query), "f", &f, &err);
    if (cases[i].want < 0)
      refused(rc, &err, RP_E_USAGE, "f");
    else
      assert_int_equal(rc, 0);
    if (cases[i].want >= 0) assert_int_equal(f, cases[i].want);
  }
}

static void test_query_times(void **state)
{
  (void)state;
  struct asked a;
  int64_t ms = 0;
  rp_error err = {0};
  assert_int_equal(rp__call_time(ask(&a, "t=1970-01-01T00:00:01.500Z"), "t", &ms, NULL), 0);
  assert_int_equal(ms, 1500);
  assert_int_equal(rp__call_since(ask(&a, "t=1970-01-01T01:00:02%2B01:00"), "t", &ms, NULL), 0);
  assert_int_equal(ms, 2000);
  assert_int_equal(rp__call_since(ask(&a, "t=2h"), "t", &ms, NULL), 0);
  assert_true(ms == NOW - 7200000);
  refused(rp__call_since(ask(&a, "t=yesterday"), "t", &ms, &err), &err, RP_E_USAGE, "t");
  refused(rp__call_time(ask(&a, "t=2h"), "t", &ms, &err), &err, RP_E_USAGE, "t");
  assert_true(ms == NOW - 7200000);
}

static struct rp__json parse(const char *text)
{
  struct rp__json v;
  assert_int_equal(rp__json_parse(text, strlen(text), NULL, &v, NULL), 0);
  return v;
}

static void test_body_members(void **state)
{
  (void)state;
  struct rp__json body =
      parse("{\"t\":\"a\\u00e9\",\"e\":\"\",\"z\":\"a\\u0000b\",\"i\":7,\"d\":1.5,\"b\":true,\"n\":null}");
  char *text;
  int64_t i = 1;
  double d = 1;
  bool b = false;
  rp_error err = {0};
  assert_int_equal(rp__body_text(body, "t", &text, NULL), 0);
  assert_string_equal(text, "a\xc3\xa9");
  free(text);
  assert_int_equal(rp__body_text(body, "e", &text, NULL), 0);
  assert_string_equal(text, "");
  free(text);
  assert_int_equal(rp__body_text(body, "n", &text, NULL), 0);
  assert_null(text);
  assert_int_equal(rp__body_text(body, "absent", &text, NULL), 0);
  assert_null(text);
  refused(rp__body_text(body, "i", &text, &err), &err, RP_E_INVALID, "i");
  refused(rp__body_text(body, "z", &text, &err), &err, RP_E_INVALID, "z"); /* C strings would cut it */
  assert_int_equal(rp__body_i64(body, "n", &i, NULL), 0);
  assert_int_equal(i, 1);
  assert_int_equal(rp__body_i64(body, "i", &i, NULL), 0);
  assert_int_equal(i, 7);
  refused(rp__body_i64(body, "d", &i, &err), &err, RP_E_INVALID, "d");
  assert_int_equal(rp__body_double(body, "d", &d, NULL), 0);
  assert_true(d == 1.5);
  refused(rp__body_double(body, "t", &d, &err), &err, RP_E_INVALID, "t");
  assert_int_equal(rp__body_bool(body, "b", &b, NULL), 0);
  assert_true(b);
  refused(rp__body_bool(body, "i", &b, &err), &err, RP_E_INVALID, "i");
}

static void test_unknown_members(void **state)
{
  (void)state;
  static const char *const names[] = {"scope", "channel", NULL};
  rp_error err = {0};
  assert_int_equal(rp__body_known(parse("{\"scope\":1,\"ch\\u0061nnel\":2}"), names, NULL), 0);
  refused(rp__body_known(parse("{\"scope\":1,\"chanel\":2}"), names, &err), &err, RP_E_INVALID, "chanel");
  assert_non_null(strstr(err.hint, "channel"));
}

static void test_problem(void **state)
{
  (void)state;
  struct rp__buf out RP_AUTOBUF = RP_BUF(4096);
  rp_error err = {0};
  rp__fail_field(&err, RP_E_INVALID, "body.role", "body.role is missing");
  rp__hint(&err, "say \"who\"");
  rp__problem_write(&err, &out);
  struct rp__json v = parse(out.p);
  int64_t status;
  assert_true(rp__json_i64(rp__json_get(v, "status"), &status));
  assert_int_equal(status, 422);
  assert_true(rp__json_eq(rp__json_get(v, "code"), "event.invalid"));
  assert_true(rp__json_eq(rp__json_get(v, "field"), "body.role"));
  assert_true(rp__json_eq(rp__json_get(v, "hint"), "say \"who\""));
  assert_int_equal(rp__json_get(v, "retryable").type, RP_JSON_FALSE);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_query_numbers), cmocka_unit_test(test_query_text),   cmocka_unit_test(test_query_flags),
      cmocka_unit_test(test_query_times),   cmocka_unit_test(test_body_members), cmocka_unit_test(test_unknown_members),
      cmocka_unit_test(test_problem),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
