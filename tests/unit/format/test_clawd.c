/* SPDX-License-Identifier: Apache-2.0 */
/* C-11: Clawd's session-store.json, both ways; its secrets by a way of their own, in no event. */
#include "format_test.h"

static struct book b;
static rp_error err;

static const char store[] =
    "{\"sessions\":[{\"info\":{\"id\":\"s-1\",\"name\":\"Fix login\",\"repoUrl\":\"https://github.com/o/r\","
    "\"branch\":\"main\",\"dockerAccess\":true,\"status\":\"running\",\"createdAt\":\"2026-01-02T03:04:05.000Z\","
    "\"createdBy\":\"ann\",\"lastMessageAt\":\"2026-01-02T03:06:00.000Z\",\"lastMessagePreview\":\"done\","
    "\"totalCostUsd\":0.5,\"permissionMode\":\"plan\",\"model\":\"opus\",\"notificationsEnabled\":false,"
    "\"contextUsage\":{\"used\":3}},"
    "\"messages\":["
    "{\"id\":\"m1\",\"sessionId\":\"s-1\",\"type\":\"user\",\"content\":\"go\",\"timestamp\":\"2026-01-02T03:05:00."
    "000Z\"},"
    "{\"id\":\"t1\",\"sessionId\":\"s-1\",\"type\":\"tool_call\",\"content\":\"Read a.c\",\"toolName\":\"Read\","
    "\"toolInput\":{\"path\":\"a.c\"},\"timestamp\":\"2026-01-02T03:05:01.000Z\"},"
    "{\"id\":\"t2\",\"sessionId\":\"s-1\",\"type\":\"tool_call\",\"content\":\"\",\"toolName\":\"Bash\","
    "\"timestamp\":\"2026-01-02T03:05:02.000Z\"},"
    "{\"id\":\"r1\",\"sessionId\":\"s-1\",\"type\":\"tool_result\",\"content\":\"int main\",\"toolName\":\"Read\","
    "\"timestamp\":\"2026-01-02T03:05:03.000Z\"},"
    "{\"id\":\"e1\",\"sessionId\":\"s-1\",\"type\":\"error\",\"content\":\"oops\",\"timestamp\":\"2026-01-02T03:05:04."
    "000Z\"},"
    "{\"id\":\"m2\",\"sessionId\":\"s-1\",\"type\":\"assistant\",\"content\":\"done\",\"source\":\"auto_continue\","
    "\"timestamp\":\"2026-01-02T03:06:00.000Z\"}],"
    "\"sessionToken\":\"SECRET-SESSION\",\"containerId\":\"c0ffee\",\"managerApiToken\":\"SECRET-MANAGER\","
    "\"managerState\":{\"targetBranch\":\"dev\",\"currentStep\":\"testing\",\"childSessionIds\":[]}},"
    "{\"info\":{\"name\":\"nameless\"},\"messages\":[]},"
    "{\"info\":{\"id\":\"s-2\",\"name\":\"Old\",\"status\":\"terminated\",\"createdAt\":1767323045000},\"messages\":[],"
    "\"sessionToken\":\"x\",\"containerId\":null,\"managerApiToken\":null,\"managerState\":null}],"
    "\"internalSecret\":\"SECRET-INTERNAL\"}";

static void sessions_are_taken_and_no_event_has_a_token(void **state)
{
  (void)state;
  assert_int_equal(book_import(&b, NULL, store, sizeof store - 1, &err), 0);
  assert_int_equal(b.n_sessions, 2);
  assert_int_equal(b.ended, 2);
  assert_string_equal(b.failed, "nameless: sessions[1].info.id is no string");
  assert_string_equal(b.session[0].name, "Fix login");
  assert_int_equal(b.session[0].ended_at, 0);
  assert_true(b.session[1].ended_at != 0);
  assert_int_equal(b.session[1].created_at, 1767323045000);
  HAS(book_find(&b, 0, "session", 0), "\"settings\":{\"permissionMode\":\"plan\",\"model\":\"opus\"");
  HAS(book_find(&b, 0, "session", 0), "\"repoUrl\":\"https://github.com/o/r\"");
  HAS(book_find(&b, 0, "usage", 0), "0.5");
  HAS(book_find(&b, 0, "provider", 0), "\"containerId\":\"c0ffee\"");
  HAS(book_find(&b, 0, "provider", 0), "\"currentStep\":\"testing\"");
  for (size_t i = 0; i < b.n; i++) HAS_NOT(b.event[i].body, "SECRET");
  assert_string_equal(b.secrets, "store SECRET-INTERNAL\nsession SECRET-SESSION\nmanager SECRET-MANAGER\nsession x\n");
  HAS(book_find(&b, 0, "runtime", 0), "\"status\":\"reconnecting\"");
  HAS(book_find(&b, 1, "runtime", 0), "\"status\":\"terminated\"");
  book_clear(&b);
}

static void results_find_their_calls(void **state)
{
  (void)state;
  assert_int_equal(book_import(&b, "clawd", store, sizeof store - 1, &err), 0);
  assert_int_equal(book_count(&b, 0, "tool"), 4);
  HAS(book_find(&b, 0, "tool", 0), "\"call_id\":\"t1\",\"name\":\"Read\",\"status\":\"running\"");
  HAS(book_find(&b, 0, "tool", 2), "\"call_id\":\"t1\",\"name\":\"Read\",\"status\":\"done\"");
  HAS(book_find(&b, 0, "tool", 2), "\"output\":\"int main\"");
  HAS(book_find(&b, 0, "tool", 3), "\"call_id\":\"t2\",\"name\":\"Bash\",\"status\":\"unknown\"");
  book_clear(&b);
}

static void there_and_back(void **state)
{
  (void)state;
  static struct book again;
  struct rp__buf out RP_AUTOBUF = RP_BUF(1 << 20);
  assert_int_equal(book_import(&b, NULL, store, sizeof store - 1, &err), 0);
  assert_int_equal(book_export(&b, 0, "clawd", &out, &err), 0);
  HAS(out.p, "\"permissionMode\": \"plan\"");
  HAS(out.p, "\"lastMessagePreview\": \"done\"");
  HAS(out.p, "\"status\": \"reconnecting\"");
  HAS(out.p, "\"type\": \"error\"");
  HAS(out.p, "\"totalCostUsd\": 0.5");
  HAS(out.p, "\"source\": \"auto_continue\"");
  HAS(out.p, "\"sessionId\": \"s-1\"");
  assert_int_equal(book_import(&again, NULL, out.p, out.n, &err), 0);
  assert_int_equal(again.n_sessions, 1);
  assert_string_equal(again.session[0].id, "s-1");
  assert_int_equal(again.first[1], b.first[1]);
  for (size_t i = 0; i < again.first[1]; i++) {
    assert_string_equal(again.event[i].kind, b.event[i].kind);
    if (strcmp(b.event[i].kind, "message") == 0) assert_string_equal(again.event[i].body, b.event[i].body);
  }
  book_clear(&b);
  book_clear(&again);
}

/* A store with empty secrets would let anybody in: they are fresh ones, and never the same twice. */
static void secrets_are_fresh(void **state)
{
  (void)state;
  struct rp__buf one RP_AUTOBUF = RP_BUF(1 << 20), two RP_AUTOBUF = RP_BUF(1 << 20);
  assert_int_equal(book_import(&b, NULL, store, sizeof store - 1, &err), 0);
  assert_int_equal(book_export(&b, 0, "clawd", &one, &err), 0);
  assert_int_equal(book_export(&b, 0, "clawd", &two, &err), 0);
  struct rp__json a = rp__json_get(rp__json_trusted(one.p, one.n), "internalSecret");
  struct rp__json c = rp__json_get(rp__json_trusted(two.p, two.n), "internalSecret");
  assert_int_equal(a.n, 66);
  assert_int_equal(c.n, 66);
  assert_memory_not_equal(a.p, c.p, 66);
  book_clear(&b);
}

/* Five hundred messages; chunks of one message_id are one of them. */
static void the_newest_five_hundred(void **state)
{
  (void)state;
  struct rp__buf out RP_AUTOBUF = RP_BUF(1 << 22);
  struct rp__taker t = book_taker(&b);
  struct rp__foreign f = {.id = "long", .created_at = 1};
  assert_int_equal(t.begin(&b, &f, &err), 0);
  for (int i = 0; i < 600; i++)
    for (int part = 0; part < 2; part++) {
      char body[200];
      snprintf(body, sizeof body, "{\"role\":\"assistant\",\"content\":\"%s%d\",\"message_id\":\"m%d\"}",
               part ? "/" : "n", i, i);
      struct rp__event ev = {.at_ms = 1000 + i, .kind_name = "message", .body = rp__json_trusted(body, strlen(body))};
      assert_int_equal(t.event(&b, &ev, &err), 0);
    }
  assert_int_equal(book_export(&b, 0, "clawd", &out, &err), 0);
  HAS_NOT(out.p, "\"n99/99\"");
  HAS(out.p, "\"n100/100\"");
  HAS(out.p, "\"n599/599\"");
  book_clear(&b);
}

static void long_previews_are_cut_between_characters(void **state)
{
  (void)state;
  struct rp__buf in RP_AUTOBUF = RP_BUF(1 << 16), out RP_AUTOBUF = RP_BUF(1 << 16);
  rp__buf_str(&in,
              "{\"sessions\":[{\"info\":{\"id\":\"p\"},\"messages\":[{\"id\":\"m\",\"type\":\"user\",\"content\":\"");
  for (int i = 0; i < 150; i++) rp__buf_str(&in, "\xc3\xa9");
  rp__buf_str(&in, "\",\"timestamp\":1767323045000}]}],\"internalSecret\":\"\"}");
  assert_int_equal(book_import(&b, NULL, in.p, in.n, &err), 0);
  assert_int_equal(book_export(&b, 0, "clawd", &out, &err), 0);
  struct rp__json doc;
  assert_int_equal(rp__json_parse(out.p, out.n, NULL, &doc, &err), 0);
  struct rp__json_iter it = {0};
  struct rp__json s;
  assert_true(rp__json_next(rp__json_get(doc, "sessions"), &it, NULL, &s));
  struct rp__json preview = rp__json_get(rp__json_get(s, "info"), "lastMessagePreview");
  assert_int_equal(preview.n, 2 + 200 + 3);
  book_clear(&b);
}

/* What is left out is named by its place in the document, and two messages of one id stay two. */
static void parts_that_make_no_sense_are_named(void **state)
{
  (void)state;
  static const char bad[] = "{\"sessions\":[{\"info\":{\"id\":\"p\"},\"messages\":[{\"id\":\"m\",\"type\":\"user\","
                            "\"content\":\"a\"},{\"id\":"
                            "\"m\",\"type\":\"user\",\"content\":\"b\"},{\"type\":\"user\"},{\"type\":\"user\","
                            "\"content\":7}]},{\"info\":{\"id\":"
                            "\"q\"},\"messages\":\"none\"},7],\"internalSecret\":\"\"}";
  assert_int_equal(book_import(&b, NULL, bad, sizeof bad - 1, &err), 0);
  HAS(b.notes, "2 of its parts were left out (the first: messages[2].content is missing)");
  HAS(b.notes, "its 'messages' are no list");
  assert_string_equal(b.failed, "sessions[2]: sessions[2].info is no object");
  HAS(book_find(&b, 0, "message", 0), "\"message_id\":\"m\"");
  HAS_NOT(book_find(&b, 0, "message", 1), "message_id");
  book_clear(&b);
  static const char none[] = "{\"sessions\":{},\"internalSecret\":\"x\"}";
  assert_int_equal(book_import(&b, NULL, none, sizeof none - 1, &err), RP_E_FORMAT_CORRUPT);
  assert_string_equal(err.field, "sessions");
  book_clear(&b);
}

static void what_is_there_is_skipped(void **state)
{
  (void)state;
  b.skip = true;
  assert_int_equal(book_import(&b, NULL, store, sizeof store - 1, &err), 0);
  assert_int_equal(b.n, 0);
  assert_int_equal(b.ended, 0);
  book_clear(&b);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sessions_are_taken_and_no_event_has_a_token),
      cmocka_unit_test(results_find_their_calls),
      cmocka_unit_test(there_and_back),
      cmocka_unit_test(secrets_are_fresh),
      cmocka_unit_test(the_newest_five_hundred),
      cmocka_unit_test(long_previews_are_cut_between_characters),
      cmocka_unit_test(parts_that_make_no_sense_are_named),
      cmocka_unit_test(what_is_there_is_skipped),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
