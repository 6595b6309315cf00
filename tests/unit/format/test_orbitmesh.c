/* SPDX-License-Identifier: Apache-2.0 */
/* O-01, O-02: OrbitMesh's snapshots, in the form of its code and in that of its plan. */
#include "format_test.h"

static struct book b;
static rp_error err;

static const char real_form[] =
    "{\"session_id\":\"abc-123\",\"provider_type\":\"acp\",\"created_at\":\"2026-01-02T03:04:05.123456789+01:00\","
    "\"updated_at\":\"2026-01-02T04:04:05Z\",\"version\":1,"
    "\"config\":{\"ProviderType\":\"acp\",\"WorkingDir\":\"/src\",\"Title\":\"Fix it\",\"Environment\":{\"A\":\"b\"}},"
    "\"provider_state\":{\"acp_session_id\":\"acp-123\",\"messages\":["
    "{\"role\":\"user\",\"content\":\"hello\",\"timestamp\":\"2026-01-02T03:05:00Z\"},"
    "{\"role\":\"assistant\",\"content\":\"hi\",\"timestamp\":\"2026-01-02T03:05:01Z\"}],"
    "\"current_task\":\"test task\",\"metrics\":{\"TokensIn\":10,\"TokensOut\":20,\"RequestCount\":2,"
    "\"LastActivityAt\":\"2026-01-02T03:05:01Z\"}},\"metadata\":{\"k\":[1]}}";

static const char plan_form[] =
    "{\"SessionID\":\"session-def\",\"ProviderType\":\"acp\",\"CreatedAt\":\"2026-01-02T03:04:05Z\","
    "\"UpdatedAt\":\"2026-01-02T04:04:05Z\",\"Version\":1,\"Config\":{\"WorkingDir\":\"/src\"},"
    "\"ACPSessionID\":\"acp-456\",\"Messages\":[{\"Role\":\"user\",\"Content\":[{\"Text\":{\"Text\":\"restored "
    "message\"}},{\"type\":\"image\",\"data\":\"x\"}],\"Timestamp\":\"2026-01-02T03:05:00Z\"}],"
    "\"CurrentTask\":\"test task\",\"Metrics\":{\"TokensIn\":1},\"Metadata\":null}";

static void the_form_of_the_code(void **state)
{
  (void)state;
  struct rp__buf z RP_AUTOBUF = RP_BUF(1 << 16);
  assert_int_equal(rp__gzip(real_form, sizeof real_form - 1, &z, &err), 0);
  assert_int_equal(book_import(&b, NULL, z.p, z.n, &err), 0);
  const struct rp__foreign *f = &b.session[0];
  assert_string_equal(f->id, "abc-123");
  assert_string_equal(f->name, "Fix it");
  assert_string_equal(f->provider, "acp");
  assert_int_equal(f->ended_at, 0);
  assert_int_equal(f->created_at, 1767319445123);
  assert_int_equal(book_count(&b, 0, "message"), 2);
  HAS(book_find(&b, 0, "provider", 0), "\"acp_session_id\":\"acp-123\"");
  HAS(book_find(&b, 0, "provider", 0), "\"current_task\":\"test task\"");
  HAS(book_find(&b, 0, "provider", 0), "\"metadata\":{\"k\":[1]}");
  assert_string_equal(book_find(&b, 0, "usage", 0), "{\"tokens_in\":10,\"tokens_out\":20,\"requests\":2}");
  book_clear(&b);
}

static void the_form_of_the_plan(void **state)
{
  (void)state;
  assert_int_equal(book_import(&b, NULL, plan_form, sizeof plan_form - 1, &err), 0);
  assert_string_equal(b.session[0].id, "session-def");
  HAS(book_find(&b, 0, "message", 0), "[{\"type\":\"text\",\"text\":\"restored message\"},{\"type\":\"image\"");
  HAS(book_find(&b, 0, "provider", 0), "acp-456");
  assert_string_equal(book_find(&b, 0, "usage", 0), "{\"tokens_in\":1}");
  book_clear(&b);
}

static void there_and_back(void **state)
{
  (void)state;
  struct rp__buf one RP_AUTOBUF = RP_BUF(1 << 16), two RP_AUTOBUF = RP_BUF(1 << 16), text RP_AUTOBUF = RP_BUF(1 << 16);
  static struct book again;
  assert_int_equal(book_import(&b, NULL, real_form, sizeof real_form - 1, &err), 0);
  assert_int_equal(book_export(&b, 0, "orbitmesh", &one, &err), 0);
  assert_int_equal(book_import(&again, NULL, one.p, one.n, &err), 0);
  assert_int_equal(again.n, b.n);
  for (size_t i = 0; i < b.n; i++) {
    assert_string_equal(again.event[i].kind, b.event[i].kind);
    if (strcmp(b.event[i].kind, "message") != 0) assert_string_equal(again.event[i].body, b.event[i].body);
  }
  assert_string_equal(book_find(&again, 0, "message", 0),
                      "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"hello\"}]}");
  assert_int_equal(again.session[0].created_at, b.session[0].created_at);
  assert_int_equal(book_export(&again, 0, "orbitmesh", &two, &err), 0);
  assert_int_equal(one.n, two.n);
  assert_memory_equal(one.p, two.p, one.n);
  /* The real form is written, whichever was read, and the plan's messages beside it. */
  assert_int_equal(rp__gunzip(one.p, one.n, &text, &err), 0);
  HAS(text.p, "\"provider_state\":{\"acp_session_id\":\"acp-123\"");
  HAS(text.p, "\"content\":\"hello\"");
  HAS(text.p, "},\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"hello\"}],"
              "\"timestamp\":\"2026-01-02T03:05:00.000Z\"},");
  HAS(text.p, "\"TokensIn\":10");
  book_clear(&b);
  book_clear(&again);
}

/* Blocks come back as they were, whatever they hold; chunks of one message are one block. */
static void blocks_there_and_back(void **state)
{
  static const char doc[] =
      "{\"session_id\":\"s\",\"provider_type\":\"acp\",\"version\":1,\"messages\":["
      "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"see \"},{\"type\":\"text\",\"text\":\"this\"},"
      "{\"type\":\"image\",\"data\":\"eA==\",\"mimeType\":\"image/png\"},{\"type\":\"text\",\"text\":\"t\","
      "\"annotations\":{\"priority\":1}},{\"type\":\"resource\",\"resource\":{\"uri\":\"file:///a\",\"text\":\"b\"}}]},"
      "{\"role\":\"assistant\",\"content\":[]}]}";
  static struct book again;
  struct rp__buf one RP_AUTOBUF = RP_BUF(1 << 16);
  (void)state;
  assert_int_equal(book_import(&b, NULL, doc, sizeof doc - 1, &err), 0);
  assert_int_equal(book_export(&b, 0, "orbitmesh", &one, &err), 0);
  assert_int_equal(book_import(&again, NULL, one.p, one.n, &err), 0);
  assert_int_equal(book_count(&again, 0, "message"), 2);
  for (int i = 0; i < 2; i++) assert_string_equal(book_find(&again, 0, "message", i), book_find(&b, 0, "message", i));
  book_clear(&b);
  book_clear(&again);
}

static void ids_they_would_refuse_come_back(void **state)
{
  (void)state;
  struct rp__buf z RP_AUTOBUF = RP_BUF(1 << 16), text RP_AUTOBUF = RP_BUF(1 << 16);
  assert_int_equal(book_import(&b, NULL, real_form, sizeof real_form - 1, &err), 0);
  snprintf(b.session[0].id, sizeof b.session[0].id, "proj:a.b");
  assert_int_equal(book_export(&b, 0, "orbitmesh", &z, &err), 0);
  assert_int_equal(rp__gunzip(z.p, z.n, &text, &err), 0);
  HAS(text.p, "\"session_id\":\"proj_a_b\"");
  book_clear(&b);
  assert_int_equal(book_import(&b, NULL, z.p, z.n, &err), 0);
  assert_string_equal(b.session[0].id, "proj:a.b");
  book_clear(&b);
}

/* O-02: newer is refused, older is read. */
static void versions(void **state)
{
  (void)state;
  static const struct {
    const char *version;
    int rc;
  } tries[] = {{"\"version\":2,", RP_E_FORMAT_VERSION},
               {"\"version\":1,", 0},
               {"\"version\":0,", 0},
               {"", 0},
               {"\"version\":\"x\",", RP_E_FORMAT}};
  char text[200];
  for (size_t i = 0; i < RP_ARRAY_SIZE(tries); i++) {
    snprintf(text, sizeof text, "{%s\"session_id\":\"a\",\"provider_type\":\"acp\"}", tries[i].version);
    assert_int_equal(book_import(&b, NULL, text, strlen(text), &err), tries[i].rc);
    book_clear(&b);
  }
}

static void nonsense_is_left_out(void **state)
{
  (void)state;
  static const char odd[] =
      "{\"session_id\":\"../../../etc/passwd\",\"provider_type\":\"a b\",\"created_at\":\"0001-01-01T00:00:00Z\","
      "\"config\":7,\"provider_state\":{\"messages\":[3,{\"role\":\"robot\",\"content\":null},{\"role\":\"x\","
      "\"content\":"
      "\"kept\"}],\"metrics\":{\"TokensIn\":-4,\"TokensOut\":1.5}},\"metadata\":[]}";
  assert_int_equal(book_import(&b, NULL, odd, sizeof odd - 1, &err), 0);
  assert_true(rp__name_ok(b.session[0].id));
  assert_null(strchr(b.session[0].id, '/'));
  assert_int_equal(book_count(&b, 0, "message"), 1);
  HAS(book_find(&b, 0, "message", 0), "\"role\":\"system\"");
  assert_int_equal(book_count(&b, 0, "usage"), 0);
  HAS(b.notes, "left out");
  book_clear(&b);
}

static void a_list_of_nonsense_hides_no_messages(void **state)
{
  (void)state;
  static const char odd[] = "{\"session_id\":\"a\",\"provider_type\":\"x\",\"created_at\":\"2026-01-01T00:00:00Z\","
                            "\"config\":{},\"messages\":[3,{},\"x\"],\"provider_state\":{\"messages\":["
                            "{\"role\":\"user\",\"content\":\"kept\"}]},\"metadata\":{}}";
  assert_int_equal(book_import(&b, NULL, odd, sizeof odd - 1, &err), 0);
  assert_int_equal(book_count(&b, 0, "message"), 1);
  HAS(book_find(&b, 0, "message", 0), "kept");
  book_clear(&b);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_form_of_the_code),
      cmocka_unit_test(the_form_of_the_plan),
      cmocka_unit_test(there_and_back),
      cmocka_unit_test(blocks_there_and_back),
      cmocka_unit_test(ids_they_would_refuse_come_back),
      cmocka_unit_test(versions),
      cmocka_unit_test(nonsense_is_left_out),
      cmocka_unit_test(a_list_of_nonsense_hides_no_messages),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
