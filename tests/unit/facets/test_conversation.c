/* SPDX-License-Identifier: Apache-2.0 */
#include "facets_test.h"

static void say(struct rp__fold *f, const char *text)
{
  char body[200];
  snprintf(body, sizeof body, "{\"role\":\"user\",\"content\":\"%s\"}", text);
  tell(f, RP_KIND_MESSAGE, body);
}

static struct rp__json messages_of(const struct rp__buf *shown)
{
  return rp__json_get(rp__json_get(parsed(shown), "conversation"), "messages");
}

static int64_t total_of(const struct rp__buf *shown)
{
  int64_t n = -1;
  rp__json_i64(rp__json_get(rp__json_get(parsed(shown), "conversation"), "total"), &n);
  return n;
}

static void the_document_of_the_contract(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  RP_AUTOBUF struct rp__buf out = RP_BUF(SAVED_MAX);
  show(f, &out);
  assert_string_equal(out.p, "{}");
  tell(f, RP_KIND_MESSAGE, "{\"content\":\"h\\u0069\", \"role\" : \"user\"}");
  tell(f, RP_KIND_NOTE, "{\"role\":\"user\",\"content\":\"no message\"}");
  tell(f, RP_KIND_MESSAGE,
       "{\"role\":\"assistant\",\"content\":[{\"type\": \"text\"}],\"message_id\":\"m1\",\"source\":\"acp\",\"x\":1}");
  show(f, &out);
  assert_string_equal(out.p,
                      "{\"conversation\":{\"messages\":["
                      "{\"seq\":1,\"role\":\"user\",\"content\":\"h\\u0069\",\"at\":\"1970-01-01T00:00:01.000Z\"},"
                      "{\"seq\":3,\"role\":\"assistant\",\"content\":[{\"type\": \"text\"}],\"message_id\":\"m1\","
                      "\"source\":\"acp\",\"at\":\"1970-01-01T00:00:03.000Z\"}],\"total\":2}}");
  assert_sound(f);
}

static void the_last_500_stay_and_all_are_counted(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  RP_AUTOBUF struct rp__buf out = RP_BUF(SAVED_MAX);
  for (int i = 1; i <= 1750; i++) {
    char text[20];
    snprintf(text, sizeof text, "m%d", i);
    say(f, text);
  }
  show(f, &out);
  struct rp__json messages = messages_of(&out), m;
  struct rp__json_iter it = {0};
  assert_int_equal(rp__json_count(messages), 500);
  assert_int_equal(total_of(&out), 1750);
  for (int64_t want = 1251; rp__json_next(messages, &it, NULL, &m); want++) {
    char text[20];
    int64_t seq = 0;
    snprintf(text, sizeof text, "m%d", (int)want);
    assert_true(rp__json_eq(rp__json_get(m, "content"), text));
    assert_true(rp__json_i64(rp__json_get(m, "seq"), &seq));
    assert_int_equal(seq, want);
  }
  assert_sound(f);
}

static void tell_big(struct rp__fold *f, size_t n)
{
  RP_AUTOBUF struct rp__buf body = RP_BUF(SAVED_MAX);
  rp__buf_str(&body, "{\"role\":\"tool\",\"content\":\"");
  char *p = rp__buf_room(&body, n);
  assert_non_null(p);
  memset(p, 'c', n);
  body.n += n;
  rp__buf_str(&body, "\"}");
  tell_n(f, RP_KIND_MESSAGE, body.p, body.n);
}

static void bytes_are_bounded_by_dropping_the_oldest(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  RP_AUTOBUF struct rp__buf out = RP_BUF(SAVED_MAX);
  for (int i = 0; i < 30; i++) {
    tell_big(f, 300000);
    assert_sound(f);
  }
  show(f, &out);
  assert_int_equal(rp__json_count(messages_of(&out)), 6);
  assert_int_equal(total_of(&out), 30);
  for (int i = 0; i < 100; i++) say(f, "short again");
  show(f, &out);
  assert_int_equal(rp__json_count(messages_of(&out)), 106);
  assert_sound(f);
}

/* Limits of bodies are configurable: what never fits leaves its place and its size. */
static void a_message_too_large_alone_is_named_and_left_out(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  RP_AUTOBUF struct rp__buf out = RP_BUF(SAVED_MAX);
  say(f, "before");
  tell_big(f, 3 * 1024 * 1024);
  say(f, "after");
  show(f, &out);
  assert_int_equal(rp__json_count(messages_of(&out)), 3);
  assert_non_null(strstr(out.p, "\"content\":null,\"omitted_bytes\":3145730,"));
  assert_sound(f);
  tell_big(f, 1792 * 1024 - 3 * 4096 - 2);
  show(f, &out);
  assert_int_equal(rp__json_count(messages_of(&out)), 4);
  tell_big(f, 1792 * 1024 - 3 * 4096 - 1);
  tell_big(f, 1024 * 1024);
  show(f, &out);
  assert_int_equal(total_of(&out), 6);
  assert_sound(f);
}

static void bodies_of_other_versions_change_nothing_or_little(void **state)
{
  (void)state;
  static const char *const ignored[] = {"{}",
                                        "[]",
                                        "7",
                                        "{\"role\":\"user\"}",
                                        "{\"content\":\"x\"}",
                                        "{\"role\":5,\"content\":\"x\"}",
                                        "{\"role\":\"user\",\"content\":{}}",
                                        "{\"role\":\"user\",\"content\":null}"};
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  RP_AUTOBUF struct rp__buf out = RP_BUF(SAVED_MAX);
  for (size_t i = 0; i < RP_ARRAY_SIZE(ignored); i++) tell(f, RP_KIND_MESSAGE, ignored[i]);
  show(f, &out);
  assert_string_equal(out.p, "{}");
  tell(f, RP_KIND_MESSAGE, "{\"role\":\"oracle\",\"content\":\"x\",\"message_id\":5,\"source\":[]}");
  show(f, &out);
  assert_non_null(strstr(out.p, "\"role\":\"oracle\",\"content\":\"x\",\"at\""));
  assert_sound(f);
}

/* N-07: the conversation before is there until new messages displace it, and is not counted. */
static void carried_messages_stay_until_new_ones_displace_them(void **state)
{
  (void)state;
  static const char body[] =
      "{\"carried\":{\"conversation\":["
      "{\"role\":\"user\",\"content\":\"hi\",\"at\":\"2026-01-02T03:04:05.006Z\",\"message_id\":\"m1\"},"
      "{\"role\":\"user\"},7,{\"role\":\"assistant\",\"content\":[],\"at\":\"never\",\"seq\":99}]}}";
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  RP_AUTOBUF struct rp__buf out = RP_BUF(SAVED_MAX);
  tell(f, RP_KIND_USAGE, "{}");
  tell(f, RP_KIND_RESTORED, body);
  show(f, &out);
  assert_string_equal(out.p, "{\"conversation\":{\"messages\":["
                             "{\"seq\":2,\"role\":\"user\",\"content\":\"hi\",\"message_id\":\"m1\",\"carried\":true,"
                             "\"at\":\"2026-01-02T03:04:05.006Z\"},"
                             "{\"seq\":2,\"role\":\"assistant\",\"content\":[],\"carried\":true,"
                             "\"at\":\"1970-01-01T00:00:02.000Z\"}],\"total\":0}}");
  assert_sound(f);
  tell(f, RP_KIND_RESTORED, body); /* there are messages now */
  for (int i = 0; i < 499; i++) say(f, "own");
  assert_sound(f);
  show(f, &out);
  assert_int_equal(rp__json_count(messages_of(&out)), 500);
  assert_int_equal(total_of(&out), 499);
  assert_null(strstr(out.p, "\"hi\""));
  assert_non_null(strstr(out.p, "\"carried\":true"));
  say(f, "own");
  show(f, &out);
  assert_null(strstr(out.p, "\"carried\""));
  tell(f, RP_KIND_RESTORED, body);
  show(f, &out);
  assert_int_equal(total_of(&out), 500);
  assert_null(strstr(out.p, "\"carried\""));
  assert_sound(f);
}

static void refuses_damaged_snapshots(void **state)
{
  (void)state;
  static const char good[] = "{\"messages\":[{\"seq\":1,\"at_ms\":5,\"role\":\"user\",\"content\":\"x\"}],\"total\":1}";
  static const char *const bad[] = {
      "[]",
      "{}",
      "{\"messages\":{},\"total\":1}",
      "{\"messages\":[],\"total\":0}",
      "{\"messages\":[],\"total\":-1}",
      "{\"messages\":[],\"total\":\"1\"}",
      "{\"messages\":[5],\"total\":1}",
      "{\"messages\":[{\"at_ms\":5,\"role\":\"user\",\"content\":\"x\"}],\"total\":1}",
      "{\"messages\":[{\"seq\":0,\"at_ms\":5,\"role\":\"user\",\"content\":\"x\"}],\"total\":1}",
      "{\"messages\":[{\"seq\":1,\"role\":\"user\",\"content\":\"x\"}],\"total\":1}",
      "{\"messages\":[{\"seq\":1,\"at_ms\":5,\"content\":\"x\"}],\"total\":1}",
      "{\"messages\":[{\"seq\":1,\"at_ms\":5,\"role\":\"user\",\"content\":null}],\"total\":1}",
      "{\"messages\":[{\"seq\":1,\"at_ms\":5,\"role\":\"user\",\"content\":\"x\",\"omitted_bytes\":5}],\"total\":1}",
      "{\"messages\":[{\"seq\":1,\"at_ms\":5,\"role\":\"user\",\"content\":null,\"omitted_bytes\":0}],\"total\":1}",
      "{\"messages\":[{\"seq\":2,\"at_ms\":5,\"role\":\"user\",\"content\":\"x\"},"
      "{\"seq\":2,\"at_ms\":5,\"role\":\"user\",\"content\":\"x\"}],\"total\":2}",
      "{\"messages\":[{\"seq\":1,\"at_ms\":5,\"role\":\"user\",\"content\":\"x\"},"
      "{\"seq\":2,\"at_ms\":5,\"role\":\"user\",\"content\":\"x\"}],\"total\":1}",
      "{\"messages\":[{\"seq\":1,\"at_ms\":5,\"role\":\"user\",\"content\":\"x\"},"
      "{\"seq\":1,\"at_ms\":5,\"role\":\"user\",\"content\":\"x\",\"carried\":true}],\"total\":1}",
      "{\"messages\":[{\"seq\":1,\"at_ms\":5,\"role\":\"user\",\"content\":\"x\",\"carried\":true},"
      "{\"seq\":2,\"at_ms\":5,\"role\":\"user\",\"content\":\"x\",\"carried\":true}],\"total\":0}",
  };
  rp_error err;
  assert_int_equal(load_part("conversation", good, &err), 0);
  for (size_t i = 0; i < RP_ARRAY_SIZE(bad); i++) {
    if (load_part("conversation", bad[i], &err) != RP_E_SNAPSHOT_CORRUPT) fail_msg("%s", bad[i]);
    assert_non_null(strstr(err.field, "conversation"));
  }
}

static void a_snapshot_with_too_much_is_refused(void **state)
{
  (void)state;
  rp_error err;
  for (int n = 500; n <= 501; n++) {
    RP_AUTOBUF struct rp__buf part = RP_BUF(SAVED_MAX);
    rp__buf_str(&part, "{\"messages\":[");
    for (int i = 1; i <= n; i++)
      rp__buf_printf(&part, "%s{\"seq\":%d,\"at_ms\":5,\"role\":\"user\",\"content\":\"x\"}", i > 1 ? "," : "", i);
    rp__buf_printf(&part, "],\"total\":%d}", n);
    assert_int_equal(load_part("conversation", part.p, &err), n == 500 ? 0 : RP_E_SNAPSHOT_CORRUPT);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_document_of_the_contract),
      cmocka_unit_test(the_last_500_stay_and_all_are_counted),
      cmocka_unit_test(bytes_are_bounded_by_dropping_the_oldest),
      cmocka_unit_test(a_message_too_large_alone_is_named_and_left_out),
      cmocka_unit_test(bodies_of_other_versions_change_nothing_or_little),
      cmocka_unit_test(carried_messages_stay_until_new_ones_displace_them),
      cmocka_unit_test(refuses_damaged_snapshots),
      cmocka_unit_test(a_snapshot_with_too_much_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
