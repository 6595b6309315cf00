/* SPDX-License-Identifier: Apache-2.0 */
/* One line of a batch: read, or refused by the member that is wrong. */
#include "cli_test.h"

#include "cli/batch/batch.h"

static int line_read(struct rp__batch_line *l, const char *text, rp_error *err)
{
  memset(err, 0, sizeof(*err));
  return rp__batch_line_read(l, text, strlen(text), err);
}

static void lines_are_read(void **state)
{
  (void)state;
  struct rp__batch_line l = {0};
  rp_error err;
  assert_int_equal(line_read(&l,
                             "{\"kind\":\"m\\u0065ssage\",\"body\": {\"a\":1.0} ,\"at\":\"2023-11-14T22:13:20Z\","
                             "\"idempotency_key\":\"k1\"}",
                             &err),
                   0);
  assert_string_equal(l.event.kind, "message");
  assert_int_equal(l.event.body_len, strlen("{\"a\":1.0}"));
  assert_memory_equal(l.event.body, "{\"a\":1.0}", l.event.body_len);
  assert_int_equal(l.event.at_ms, 1700000000000);
  assert_string_equal(l.event.idempotency_key, "k1");
  /* Nothing of the line before is left. */
  assert_int_equal(line_read(&l, "{\"seq\":4,\"at\":null,\"kind\":\"x-a\",\"body\":{}}", &err), 0);
  assert_string_equal(l.event.kind, "x-a");
  assert_int_equal(l.event.at_ms, 0);
  assert_null(l.event.idempotency_key);
  rp__batch_line_done(&l);
}

static void mistakes_name_the_member(void **state)
{
  (void)state;
  static const struct {
    const char *line;
    int code;
    const char *field;
  } cases[] = {
      {"{", RP_E_JSON, ""},
      {"[]", RP_E_INVALID, "line"},
      {"{\"body\":{}}", RP_E_INVALID, "kind"},
      {"{\"kind\":\"x-a\"}", RP_E_INVALID, "body"},
      {"{\"kind\":1,\"body\":{}}", RP_E_INVALID, "kind"},
      {"{\"kind\":\"x\\u0000\",\"body\":{}}", RP_E_INVALID, "kind"},
      {"{\"kind\":\"x-a\",\"body\":{},\"at\":\"noon\"}", RP_E_INVALID, "at"},
      {"{\"kind\":\"x-a\",\"body\":{},\"at\":5}", RP_E_INVALID, "at"},
      {"{\"kind\":\"x-a\",\"body\":{},\"idempotency_key\":5}", RP_E_INVALID, "idempotency_key"},
      {"{\"kind\":\"x-a\",\"body\":{},\"idempotencykey\":\"k\"}", RP_E_INVALID, "line"},
      {"{\"kind\":\"x-a\",\"kind\":\"x-b\",\"body\":{}}", RP_E_JSON, ""},
  };
  for (size_t i = 0; i < RP_ARRAY_SIZE(cases); i++) {
    struct rp__batch_line l = {0};
    rp_error err;
    assert_int_equal(line_read(&l, cases[i].line, &err), cases[i].code);
    assert_string_equal(err.field, cases[i].field);
    rp__batch_line_done(&l);
  }
}

static void deep_bodies_reach_the_engine(void **state)
{
  (void)state;
  RP_AUTOBUF struct rp__buf b = RP_BUF(4096);
  struct rp__batch_line l = {0};
  rp_error err;
  rp__buf_str(&b, "{\"kind\":\"x-a\",\"body\":{\"a\":");
  for (int i = 1; i < RP_DEPTH_MAX; i++) rp__buf_char(&b, '[');
  for (int i = 1; i < RP_DEPTH_MAX; i++) rp__buf_char(&b, ']');
  rp__buf_str(&b, "}}");
  assert_int_equal(line_read(&l, b.p, &err), 0);
  rp__batch_line_done(&l);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(lines_are_read),
      cmocka_unit_test(mistakes_name_the_member),
      cmocka_unit_test(deep_bodies_reach_the_engine),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
