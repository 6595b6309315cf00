/* SPDX-License-Identifier: Apache-2.0 */
/* Kinds of events: their fields and their refusals. */
#include "core_test.h"

#include <reprise/reprise.h>
#include <stdio.h>

#include "core/event.h"

static int check(const char *kind, const char *body, rp_error *err)
{
  struct rp__event ev;
  *err = (rp_error){0};
  return rp__event_check(kind, body, strlen(body), RP_BODY_MAX, false, &ev, err);
}

/* The least body of each kind that is taken from outside. */
static const struct {
  enum rp__kind kind;
  const char *body;
} least[] = {
    {RP_KIND_MESSAGE, "{\"role\":\"user\",\"content\":\"hi\"}"},
    {RP_KIND_NOTE, "{\"id\":\"n1\",\"text\":\"t\"}"},
    {RP_KIND_FRAME, "{\"frame_id\":\"f\",\"timestamp\":1.5}"},
    {RP_KIND_TRANSCRIPT, "{\"text\":\"said\"}"},
    {RP_KIND_INTENT, "{}"},
    {RP_KIND_PIN, "{\"label\":\"l\",\"content\":\"c\"}"},
    {RP_KIND_UNPIN, "{\"label\":\"l\"}"},
    {RP_KIND_TASK, "{\"task_id\":\"t\",\"title\":\"T\",\"stage\":\"build\"}"},
    {RP_KIND_PROJECT, "{\"name\":\"p\"}"},
    {RP_KIND_ACTIVITY, "{}"},
    {RP_KIND_LEARNING, "{\"memory_id\":\"m\",\"content\":\"c\"}"},
    {RP_KIND_CONFIDENCE, "{\"memory_id\":\"m\",\"old_score\":1,\"new_score\":0.5,\"reason\":\"r\"}"},
    {RP_KIND_SOP, "{\"sop_path\":\"a/b\",\"injected_at\":\"2026-01-01\",\"acknowledged\":true,\"tool_call\":null}"},
    {RP_KIND_TOOL, "{\"call_id\":\"c\",\"name\":\"sh\",\"status\":\"intended\"}"},
    {RP_KIND_EMOTION, "{\"event\":\"insult\"}"},
    {RP_KIND_PERSON, "{\"name\":\"Ann\"}"},
    {RP_KIND_SLEEP, "{\"state\":\"awake\"}"},
    {RP_KIND_APPROVAL, "{\"id\":\"a\",\"status\":\"pending\"}"},
    {RP_KIND_QUESTION, "{\"id\":7,\"status\":\"answered\"}"},
    {RP_KIND_USAGE, "{}"},
    {RP_KIND_SESSION, "{}"},
    {RP_KIND_PROVIDER, "{\"type\":\"acp\"}"},
    {RP_KIND_TODO, "{\"items\":[]}"},
    {RP_KIND_TURN, "{\"status\":\"cancelled\"}"},
};

/* The body without the member at `skip`; ret_name gets that member's name. False when there is none. */
static bool without(const char *body, size_t skip, struct rp__buf *out, char *ret_name, size_t size)
{
  struct rp__json object = rp__json_trusted(body, strlen(body)), key, value;
  struct rp__json_iter it = {0};
  struct rp__jw w = RP_JW(out);
  bool found = false;
  rp__buf_reset(out);
  rp__jw_object(&w);
  for (size_t i = 0; rp__json_next(object, &it, &key, &value); i++) {
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)key.n, key.p);
    if (i == skip) {
      snprintf(ret_name, size, "body.%s", name);
      found = true;
      continue;
    }
    rp__jw_key(&w, name);
    rp__jw_value(&w, value);
  }
  rp__jw_end_object(&w);
  return found;
}

static void every_kind_needs_just_its_fields(void **state)
{
  (void)state;
  RP_AUTOBUF struct rp__buf cut = RP_BUF(1000);
  assert_int_equal(RP_ARRAY_SIZE(least), RP_KIND_RUNTIME - 1);
  for (size_t i = 0; i < RP_ARRAY_SIZE(least); i++) {
    struct rp__event ev = {.seq = 5};
    rp_error err;
    char field[80];
    const char *kind = rp__kind_name(least[i].kind);
    size_t n = strlen(least[i].body);
    assert_int_equal(rp__event_check(kind, least[i].body, n, RP_BODY_MAX, false, &ev, &err), 0);
    assert_int_equal(ev.kind, least[i].kind);
    assert_string_equal(ev.kind_name, kind);
    assert_ptr_equal(ev.body.p, least[i].body);
    assert_int_equal(ev.body.n, n);
    for (size_t skip = 0; without(least[i].body, skip, &cut, field, sizeof field); skip++) {
      assert_int_equal(check(kind, cut.p, &err), RP_E_INVALID);
      assert_string_equal(err.field, field);
      assert_non_null(strstr(err.message, "missing"));
    }
  }
}

static void fields_have_types(void **state)
{
  (void)state;
  static const struct {
    const char *kind, *body, *field, *says; /* field NULL: it is fine */
  } cases[] = {
      {"message", "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"x\"}]}", NULL, NULL},
      {"message", "{\"role\":\"user\",\"content\":{}}", "body.content", "a string or an array"},
      {"message", "{\"role\":\"user\",\"content\":null}", "body.content", "a string or an array"},
      {"message", "{\"role\":\"robot\",\"content\":\"\"}", "body.role", "user, assistant, system, tool"},
      {"message", "{\"role\":1,\"content\":\"\"}", "body.role", "one of"},
      {"message", "{\"role\":\"us\\u0065r\",\"content\":\"\"}", NULL, NULL},
      {"message", "{\"r\\u006fle\":\"user\",\"content\":\"\"}", NULL, NULL},
      {"message", "{\"role\":\"user\",\"content\":\"\",\"message_id\":5}", "body.message_id", "a string of 1"},
      {"message", "{\"role\":\"user\",\"content\":\"\",\"message_id\":null,\"source\":null}", NULL, NULL},
      {"message", "{\"role\":\"user\",\"content\":\"\",\"more\":{\"of\":[\"it\"]}}", NULL, NULL},
      {"message", "[]", "body", "object"},
      {"message", "\"text\"", "body", "object"},
      {"note", "{\"id\":5,\"text\":\"x\",\"confidence\":\"high\"}", "body.confidence", "a number"},
      {"note", "{\"id\":[],\"text\":\"x\"}", "body.id", "or a number"},
      {"note", "{\"id\":\"\",\"text\":\"x\"}", "body.id", "1 to 512"},
      {"note", "{\"id\":1e999,\"text\":\"x\"}", "body.id", "a number"},
      {"emotion", "{\"event\":\"pat\",\"intensity\":-1}", "body.intensity", "from 0 to 10"},
      {"emotion", "{\"event\":\"pat\",\"intensity\":1e308}", "body.intensity", "from 0 to 10"},
      {"emotion", "{\"event\":\"pat\",\"intensity\":\"2\"}", "body.intensity", "from 0 to 10"},
      {"note", "{\"id\":5,\"text\":\"x\",\"confidence\":7}", "body.confidence", "from 0 to 1"},
      {"note", "{\"id\":5,\"text\":\"x\",\"confidence\":-0.1}", "body.confidence", "from 0 to 1"},
      {"note", "{\"id\":5,\"text\":\"x\",\"confidence\":0,\"timestamp\":0}", NULL, NULL},
      {"note", "{\"id\":5,\"text\":\"x\",\"confidence\":1.0,\"timestamp\":\"2026-01-02T03:04:05.678Z\"}", NULL, NULL},
      {"note", "{\"id\":5,\"text\":\"x\",\"confidence\":null,\"timestamp\":null}", NULL, NULL},
      {"note", "{\"id\":5,\"text\":\"x\",\"timestamp\":\"0:42\"}", "body.timestamp", "a number of seconds"},
      {"frame", "{\"frame_id\":\"f\",\"timestamp\":\"abc\"}", "body.timestamp", "ISO 8601"},
      {"frame", "{\"frame_id\":\"f\",\"timestamp\":\"\"}", "body.timestamp", "ISO 8601"},
      {"frame", "{\"frame_id\":\"f\",\"timestamp\":-1}", "body.timestamp", ">= 0"},
      {"frame", "{\"frame_id\":\"f\",\"timestamp\":1e999}", "body.timestamp", ">= 0"},
      {"frame", "{\"frame_id\":\"f\",\"timestamp\":null}", "body.timestamp", ">= 0"},
      {"frame", "{\"frame_id\":\"f\",\"timestamp\":true}", "body.timestamp", ">= 0"},
      {"frame", "{\"frame_id\":\"f\",\"timestamp\":1700000000.25,\"uploaded_at\":\"2026-01-02T03:04:05+02:00\"}", NULL,
       NULL},
      {"frame", "{\"frame_id\":\"f\",\"timestamp\":1,\"uploaded_at\":\"soon\"}", "body.uploaded_at", "ISO 8601"},
      {"transcript", "{\"text\":\"x\",\"timestamp\":[]}", "body.timestamp", "a time"},
      {"learning", "{\"memory_id\":\"m\",\"content\":\"c\",\"confidence\":1.01}", "body.confidence", "from 0 to 1"},
      {"confidence", "{\"memory_id\":\"m\",\"old_score\":2,\"new_score\":0.5,\"reason\":\"r\"}", "body.old_score",
       "from 0 to 1"},
      {"confidence", "{\"memory_id\":\"m\",\"old_score\":1,\"new_score\":\"0.5\",\"reason\":\"r\"}", "body.new_score",
       "from 0 to 1"},
      {"sop", "{\"sop_path\":\"a\",\"injected_at\":\"x\",\"acknowledged\":true,\"tool_call\":null}", "body.injected_at",
       "a time"},
      {"transcript", "{\"text\":\"x\",\"final\":1}", "body.final", "true or false"},
      {"pin", "{\"label\":\"a\",\"content\":\"b\",\"importance\":\"HIGH\"}", "body.importance",
       "normal, high, critical"},
      {"task", "{\"task_id\":\"a\",\"title\":\"b\",\"stage\":\"c\",\"status\":\"gone\"}", "body.status", "deleted"},
      {"tool", "{\"call_id\":\"a\",\"name\":\"b\",\"status\":\"done\",\"input\":null,\"output\":[1]}", NULL, NULL},
      {"tool", "{\"call_id\":\"a\",\"name\":\"b\",\"status\":\"started\"}", "body.status", "intended, running"},
      {"usage", "{\"tokens_in\":5,\"cost_usd\":0.25}", NULL, NULL},
      {"usage", "{\"tokens_in\":-5}", "body.tokens_in", "not negative"},
      {"usage", "{\"tokens_out\":1.5}", "body.tokens_out", "whole number"},
      {"usage", "{\"requests\":18446744073709551616}", "body.requests", "whole number"},
      {"usage", "{\"cost_usd\":-0.01}", "body.cost_usd", ">= 0"},
      {"usage", "{\"cost_usd\":1e999}", "body.cost_usd", ">= 0"},
      {"session", "{\"settings\":[]}", "body.settings", "an object"},
      {"question", "{\"id\":\"q\",\"status\":\"allowed\"}", "body.status", "pending, answered"},
      {"x-mine", "{\"role\":1}", NULL, NULL},
      {"x-mine", "7", "body", "object"},
  };
  for (size_t i = 0; i < RP_ARRAY_SIZE(cases); i++) {
    rp_error err;
    int rc = check(cases[i].kind, cases[i].body, &err);
    if (!cases[i].field && rc) fail_msg("%s: %s", cases[i].body, err.message);
    if (!cases[i].field) continue;
    if (rc != RP_E_INVALID || strcmp(err.field, cases[i].field) != 0 || !strstr(err.message, cases[i].says))
      fail_msg("%s: %d, %s: %s", cases[i].body, rc, err.field, err.message);
  }
}

static void kinds_from_outside(void **state)
{
  (void)state;
  static const char *const bad[] = {"",
                                    "x",
                                    "x-",
                                    "x-a b",
                                    "x-a/b",
                                    "x-\xc3\xa4",
                                    "X-a",
                                    "Message",
                                    "messages!",
                                    "x-a\n",
                                    "x-1234567890123456789012345678901234567890123456789012345678901"};
  static const char *const good[] = {"x-a", "x-A.b_c-9",
                                     "x-123456789012345678901234567890123456789012345678901234567890"};
  rp_error err;
  for (size_t i = 0; i < RP_ARRAY_SIZE(bad); i++) {
    assert_int_equal(check(bad[i], "{}", &err), RP_E_INVALID);
    assert_string_equal(err.field, "kind");
  }
  for (size_t i = 0; i < RP_ARRAY_SIZE(good); i++) {
    struct rp__event ev;
    assert_int_equal(rp__event_check(good[i], " {} ", 4, RP_BODY_MAX, false, &ev, &err), 0);
    assert_int_equal(ev.kind, RP_KIND_OTHER);
    assert_string_equal(ev.kind_name, good[i]);
    assert_int_equal(ev.body.n, 2);
  }
  struct rp__event ev;
  assert_int_equal(rp__event_check(NULL, "{}", 2, RP_BODY_MAX, false, &ev, &err), RP_E_INVALID);
  assert_int_equal(rp__event_check("x-a", NULL, 0, RP_BODY_MAX, false, &ev, &err), RP_E_INVALID);
  assert_string_equal(err.field, "body");
}

static void a_mistyped_kind_gets_a_suggestion(void **state)
{
  (void)state;
  rp_error err;
  check("mesage", "{}", &err);
  assert_non_null(strstr(err.hint, "'message'"));
  check("useage", "{}", &err);
  assert_non_null(strstr(err.hint, "'usage'"));
  check("statu", "{}", &err);
  assert_null(strstr(err.hint, "status"));
  check("somethingelse", "{}", &err);
  assert_null(strstr(err.hint, "mean"));
  assert_non_null(strstr(err.hint, "x-"));
}

static void the_engines_kinds_are_refused(void **state)
{
  (void)state;
  for (int k = RP_KIND_RUNTIME; k < RP_KIND_MAX; k++) {
    rp_error err;
    assert_true(rp__kind_is_engine((enum rp__kind)k));
    assert_int_equal(check(rp__kind_name((enum rp__kind)k), "{}", &err), RP_E_INVALID);
    assert_string_equal(err.field, "kind");
    assert_non_null(strstr(err.message, "engine"));
  }
  for (int k = 0; k < RP_KIND_RUNTIME; k++) assert_false(rp__kind_is_engine((enum rp__kind)k));
}

static void stored_kinds_of_another_version_are_others(void **state)
{
  (void)state;
  for (int k = RP_KIND_OTHER + 1; k < RP_KIND_MAX; k++)
    assert_int_equal(rp__kind_parse(rp__kind_name((enum rp__kind)k)), k);
  assert_int_equal(rp__kind_parse("hologram"), RP_KIND_OTHER);
  assert_int_equal(rp__kind_parse("x-mine"), RP_KIND_OTHER);
}

static void bad_json_names_the_byte_and_the_limits_hold(void **state)
{
  (void)state;
  rp_error err;
  struct rp__event ev;
  assert_int_equal(check("x-a", "{\"a\":}", &err), RP_E_JSON);
  assert_string_equal(err.field, "body");
  assert_non_null(strstr(err.message, "byte 5"));
  assert_int_equal(check("x-a", "", &err), RP_E_JSON);
  assert_int_equal(check("x-a", "{\"a\":1,\"\\u0061\":2}", &err), RP_E_JSON);
  assert_int_equal(rp__event_check("x-a", "{\"a\":12345}", 11, 10, false, &ev, &err), RP_E_TOO_LARGE);
  assert_int_equal(rp__event_check("x-a", "{\"a\":1234}", 10, 10, false, &ev, &err), 0);
  char deep[300] = "{\"a\":";
  memset(deep + 5, '[', 64);
  memset(deep + 69, ']', 64);
  deep[133] = '}';
  assert_int_equal(check("x-a", deep, &err), RP_E_INVALID);
  memmove(deep + 5, deep + 6, strlen(deep + 5));
  deep[131] = '}', deep[132] = '\0';
  assert_int_equal(check("x-a", deep, &err), 0);
}

static void ids_are_bounded_by_their_text(void **state)
{
  (void)state;
  char body[8000];
  rp_error err;
  static const struct {
    const char *unit;
    int fit; /* how many of them are 512 bytes or less */
  } cases[] = {{"a", 512}, {"\\n", 512}, {"\\u20ac", 170}, {"\xe2\x82\xac", 170}};
  for (size_t c = 0; c < RP_ARRAY_SIZE(cases); c++) {
    for (int n = cases[c].fit - 1; n <= cases[c].fit + 1; n++) {
      size_t at = (size_t)snprintf(body, sizeof body, "{\"label\":\"");
      for (int i = 0; i < n; i++) at += (size_t)snprintf(body + at, sizeof body - at, "%s", cases[c].unit);
      snprintf(body + at, sizeof body - at, "\"}");
      assert_int_equal(check("unpin", body, &err), n <= cases[c].fit ? 0 : RP_E_INVALID);
    }
  }
}

static void search_text(void **state)
{
  (void)state;
  static const char body[] =
      "{\"role\":\"user\",\"content\":[{\"text\":\"gr\\u00fc\\u00dfe \\u0000 you\"},[\"two\",3,null]],"
      "\"deep\":{\"er\":{\"est\":\"end\"}},\"n\":5,\"t\":true}";
  RP_AUTOBUF struct rp__buf out = RP_BUF(1000);
  rp__event_search_text(rp__json_trusted(body, sizeof body - 1), &out);
  assert_string_equal(out.p, "user gr\xc3\xbc\xc3\x9f"
                             "e   you two end");
}

static void search_skips_what_nobody_searches(void **state)
{
  (void)state;
  RP_AUTOBUF struct rp__buf body = RP_BUF(20000), out = RP_BUF(20000);
  for (size_t n = 4096; n <= 4097; n++) {
    rp__buf_reset(&body);
    rp__buf_reset(&out);
    rp__buf_str(&body, "{\"data\":\"");
    for (size_t i = 0; i < n; i++) rp__buf_char(&body, 'A');
    rp__buf_str(&body, "\",\"text\":\"kept\"}");
    rp__event_search_text(rp__json_trusted(body.p, body.n), &out);
    assert_int_equal(out.n, n == 4096 ? 4096 + 5 : 4);
  }
}

static void search_text_of_damaged_bytes_is_bounded(void **state)
{
  (void)state;
  RP_AUTOBUF struct rp__buf body = RP_BUF(2000000), out = RP_BUF(100);
  for (int i = 0; i < 500000; i++) rp__buf_char(&body, '[');
  rp__buf_str(&body, "\"x\"");
  for (int i = 0; i < 500000; i++) rp__buf_char(&body, ']');
  rp__event_search_text(rp__json_trusted(body.p, body.n), &out);
  assert_int_equal(out.err, 0);
}

/* The body is changed behind the first look, which no caller does, to see that nobody looks again. */
static void members_of_a_body_are_found_in_one_look(void **state)
{
  (void)state;
  char body[] = "{\"status\":\"done\",\"output\":{\"status\":\"inner\"},\"statu\":1}";
  struct rp__event_look look = {.made = false};
  struct rp__event ev = {.body = rp__json_trusted(body, strlen(body)), .look = &look};
  assert_true(rp__json_eq(rp__event_get(&ev, "status"), "done"));
  *strchr(body, ':') = ' ';
  assert_true(rp__json_eq(rp__event_get(&ev, "status"), "done"));
  assert_int_equal(rp__event_get(&ev, "statu").type, RP_JSON_NUMBER);
  assert_int_equal(rp__event_get(&ev, "stat").type, RP_JSON_NONE);
  assert_int_equal(rp__event_get(&ev, "inner").type, RP_JSON_NONE);
}

static void a_look_finds_the_members_that_the_body_has(void **state)
{
  (void)state;
  static const char *const bodies[] = {
      "{}",
      "[\"a\"]",
      "7",
      "{\"a\":1,\"b\":2}",
      "{\"x\":0,\"\\u0061\":1,\"b\":2}",
      "{\"c\":1,\"a\":",
      ("{\"1\":1,\"2\":2,\"3\":3,\"4\":4,\"5\":5,\"6\":6,\"7\":7,\"8\":8,\"9\":9,\"10\":10,\"11\":11,\"12\":12,"
       "\"13\":13,\"14\":14,\"a\":15,\"b\":16,\"c\":17,\"d\":18}"),
  };
  static const char *const names[] = {"a", "b", "c", "d", "14", "x", ""};
  for (size_t i = 0; i < RP_ARRAY_SIZE(bodies); i++) {
    struct rp__event_look look = {.made = false};
    struct rp__event ev = {.body = rp__json_trusted(bodies[i], strlen(bodies[i])), .look = &look};
    for (size_t k = 0; k < RP_ARRAY_SIZE(names); k++) {
      struct rp__json found = rp__event_get(&ev, names[k]), want = rp__json_get(ev.body, names[k]);
      assert_ptr_equal(found.p, want.p);
      assert_int_equal(found.n, want.n);
      assert_int_equal(found.type, want.type);
    }
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_kind_needs_just_its_fields),
      cmocka_unit_test(fields_have_types),
      cmocka_unit_test(kinds_from_outside),
      cmocka_unit_test(a_mistyped_kind_gets_a_suggestion),
      cmocka_unit_test(the_engines_kinds_are_refused),
      cmocka_unit_test(stored_kinds_of_another_version_are_others),
      cmocka_unit_test(bad_json_names_the_byte_and_the_limits_hold),
      cmocka_unit_test(ids_are_bounded_by_their_text),
      cmocka_unit_test(search_text),
      cmocka_unit_test(search_skips_what_nobody_searches),
      cmocka_unit_test(search_text_of_damaged_bytes_is_bounded),
      cmocka_unit_test(members_of_a_body_are_found_in_one_look),
      cmocka_unit_test(a_look_finds_the_members_that_the_body_has),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
