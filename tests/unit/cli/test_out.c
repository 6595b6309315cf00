/* SPDX-License-Identifier: Apache-2.0 */
/* Documents, acknowledgements and errors as they are printed. */
#include "cli_test.h"

#include "cli/out.h"

static struct rp__json json(const char *s)
{
  return rp__json_trusted(s, strlen(s));
}

static void expect_pretty(const char *in, const char *out)
{
  RP_AUTOBUF struct rp__buf b = RP_BUF(4096);
  rp__out_pretty(json(in), &b, false);
  assert_string_equal(b.p, out);
}

static void documents_are_indented(void **state)
{
  (void)state;
  expect_pretty("{\"a\":1,\"b\":[true,{}],\"c\":\"x,y\"}",
                "{\n  \"a\": 1,\n  \"b\": [\n    true,\n    {}\n  ],\n  \"c\": \"x,y\"\n}");
  expect_pretty("[]", "[]");
  expect_pretty("\"a\\\"b\"", "\"a\\\"b\"");
}

static void expect_ack(rp_ack ack, const char *out)
{
  RP_AUTOBUF struct rp__buf b = RP_BUF(4096);
  struct rp__jw w = RP_JW(&b);
  rp__ack_write(&w, &ack);
  assert_string_equal(b.p, out);
}

/* B-01: an acknowledgement names the durability that was reached. */
static void acknowledgements(void **state)
{
  (void)state;
  expect_ack((rp_ack){1, 1, RP_DISK, false}, "{\"seq\":1,\"durability\":\"disk\"}");
  expect_ack((rp_ack){7, 7, RP_OS, true}, "{\"seq\":7,\"durability\":\"os\",\"repeated\":true}");
  expect_ack((rp_ack){0, 0, RP_MEMORY, false}, "{\"seq\":null,\"durability\":\"memory\"}");
}

static void errors(void **state)
{
  (void)state;
  RP_AUTOBUF struct rp__buf b = RP_BUF(4096);
  struct rp__jw w = RP_JW(&b);
  rp_error e = {.code = RP_E_INVALID, .message = "body.role is missing", .field = "body.role"};
  rp__error_write(&w, &e, 3);
  assert_string_equal(b.p, "{\"code\":\"event.invalid\",\"message\":\"body.role is missing\",\"hint\":null,"
                           "\"field\":\"body.role\",\"line\":3}");
}

static void expect_text(const char *kind, const char *body, const char *out)
{
  RP_AUTOBUF struct rp__buf b = RP_BUF(4096);
  rp__event_text(&b, kind, json(body), 0);
  assert_string_equal(b.p, out);
}

static void events_as_text(void **state)
{
  (void)state;
  expect_text("message", "{\"role\":\"user\",\"content\":\"hi\\nthere\"}", "user: hi there");
  expect_text("message",
              "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"image\"},"
              "{\"type\":\"text\",\"text\":\"b\"}]}",
              "user: a b");
  expect_text("tool", "{\"call_id\":\"1\",\"name\":\"ls\",\"status\":\"done\"}", "ls: done");
  expect_text("x-mine", "{\"a\": 1}", "{\"a\": 1}");
  expect_text("note", "{\"id\":\"n\"}", "{\"id\":\"n\"}");
}

/* The body's bytes stay as they are, but a stream of lines has no line break inside a line. */
static void events_as_json(void **state)
{
  (void)state;
  static const char body[] = "{\"n\": 1.50,\n \"s\":\"\\u0041\"}";
  RP_AUTOBUF struct rp__buf b = RP_BUF(4096);
  const rp_event_info ev = {.seq = 2, .at_ms = 1700000000000, .kind = "x-a", .body = body, .body_len = strlen(body)};
  rp__event_json(&b, &ev);
  assert_string_equal(b.p, "{\"seq\":2,\"at\":\"2023-11-14T22:13:20.000Z\",\"kind\":\"x-a\","
                           "\"body\":{\"n\": 1.50,  \"s\":\"\\u0041\"}}");
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(documents_are_indented), cmocka_unit_test(acknowledgements), cmocka_unit_test(errors),
      cmocka_unit_test(events_as_text),         cmocka_unit_test(events_as_json),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
