/* SPDX-License-Identifier: Apache-2.0 */
/* Pins: labels, places, importance, provenance. */
#include "facets_test.h"

#include "facets/pins.h"

static void pin(struct rp__fold *f, const char *label, const char *importance)
{
  char body[200];
  snprintf(body, sizeof body, "{\"label\":\"%s\",\"content\":\"about it\",\"importance\":\"%s\"}", label, importance);
  tell(f, RP_KIND_PIN, body);
}

static struct rp__json pins_of(const struct rp__fold *f, struct rp__buf *out)
{
  show(f, out);
  return rp__json_get(parsed(out), "pins");
}

/* The pin with that label. */
static struct rp__json pin_of(const struct rp__fold *f, struct rp__buf *out, const char *label)
{
  struct rp__json pins = pins_of(f, out), p;
  struct rp__json_iter it = {0};
  while (rp__json_next(pins, &it, NULL, &p))
    if (rp__json_eq(rp__json_get(p, "label"), label)) return p;
  return (struct rp__json){0};
}

/* */
static void the_document_of_the_contract(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  RP_AUTOBUF struct rp__buf out = RP_BUF(SAVED_MAX);
  tell(f, RP_KIND_PIN, "{\"label\":\"gate\",\"content\":\"the c\\u006fde\",\"x\":1}");
  tell(f, RP_KIND_PIN, "{\"label\":\"rule\",\"content\":\"c\",\"importance\":\"high\"}");
  struct rp__json pins = pins_of(f, &out);
  RP_AUTOBUF struct rp__buf text = RP_BUF(SAVED_MAX);
  rp__buf_add(&text, pins.p, pins.n);
  assert_string_equal(text.p, "[{\"label\":\"gate\",\"content\":\"the code\",\"importance\":\"normal\","
                              "\"inherited_from\":null,\"inherited_end\":null,\"critical\":false,"
                              "\"pinned_at\":\"1970-01-01T00:00:01.000Z\"},"
                              "{\"label\":\"rule\",\"content\":\"c\",\"importance\":\"high\",\"inherited_from\":null,"
                              "\"inherited_end\":null,\"critical\":false,\"pinned_at\":\"1970-01-01T00:00:02.000Z\"}]");
  assert_sound(f);
  tell(f, RP_KIND_UNPIN, "{\"label\":\"nobody\"}");
  tell(f, RP_KIND_UNPIN, "{\"label\":\"gat\\u0065\"}");
  tell(f, RP_KIND_UNPIN, "{\"label\":\"rule\"}");
  assert_int_equal(pins_of(f, &out).type, RP_JSON_NONE);
}

/* ten slots, and no pin pushes out another. */
static void an_eleventh_changes_nothing(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  RP_AUTOBUF struct rp__buf out = RP_BUF(SAVED_MAX);
  assert_int_equal(rp__pins_count(f), 0);
  for (int i = 0; i < 11; i++) {
    char label[20];
    snprintf(label, sizeof label, "p%d", i);
    pin(f, label, "normal");
  }
  assert_int_equal(rp__pins_count(f), 10);
  assert_true(rp__pins_has(f, "p9"));
  assert_false(rp__pins_has(f, "p10"));
  assert_int_equal(rp__json_count(pins_of(f, &out)), 10);
  /* One that is there may change while all slots are taken. */
  pin(f, "p0", "critical");
  assert_int_equal(rp__pins_count(f), 10);
  assert_int_equal(rp__json_get(pin_of(f, &out, "p0"), "critical").type, RP_JSON_TRUE);
  assert_sound(f);
}

static void the_same_label_changes_in_place(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  RP_AUTOBUF struct rp__buf out = RP_BUF(SAVED_MAX);
  tell(f, RP_KIND_RESTORED,
       "{\"pins\":[{\"label\":\"a\",\"content\":\"old\",\"inherited_from\":\"s1\","
       "\"inherited_end\":\"2026-01-01T00:00:00.000Z\"}]}");
  pin(f, "b", "normal");
  tell(f, RP_KIND_PIN, "{\"label\":\"a [inherited from s1 @ 2026-01-01T00:00:00.000Z]\",\"content\":\"new\"}");
  struct rp__json pins = pins_of(f, &out), first;
  struct rp__json_iter it = {0};
  assert_int_equal(rp__json_count(pins), 2);
  assert_true(rp__json_next(pins, &it, NULL, &first));
  assert_true(rp__json_eq(rp__json_get(first, "label"), "a"));
  assert_true(rp__json_eq(rp__json_get(first, "content"), "new"));
  assert_int_equal(rp__json_get(first, "inherited_from").type, RP_JSON_NULL);
  assert_true(rp__json_eq(rp__json_get(first, "pinned_at"), "1970-01-01T00:00:03.000Z"));
  assert_sound(f);
}

/* bare labels are compared. */
static void labels_are_bare(void **state)
{
  (void)state;
  static const struct {
    const char *label, *bare;
  } cases[] = {{"a", "a"},
               {"a [inherited from s @ t]", "a"},
               {"a [inherited from s]", "a [inherited from s]"},
               {"a [inherited from s @ t] b", "a [inherited from s @ t] b"},
               {"a [inherited from s @ t] [inherited from r @ u]", "a"},
               {" [inherited from s @ t]", " [inherited from s @ t]"},
               {"]", "]"},
               {"", ""}};
  for (size_t i = 0; i < RP_ARRAY_SIZE(cases); i++) {
    struct rp__str bare = rp__pin_bare(rp__str(cases[i].label));
    assert_int_equal(bare.n, strlen(cases[i].bare));
    assert_memory_equal(bare.p, cases[i].bare, bare.n);
  }
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  pin(f, "a [inherited from s @ t]", "normal");
  assert_true(rp__pins_has(f, "a"));
  assert_true(rp__pins_has(f, "a [inherited from other @ u]"));
  assert_false(rp__pins_has(f, "a "));
  tell(f, RP_KIND_UNPIN, "{\"label\":\"a [inherited from x @ y]\"}");
  assert_int_equal(rp__pins_count(f), 0);
}

/* CRITICAL by importance, or because label or content says so. */
static void what_is_critical(void **state)
{
  (void)state;
  static const struct {
    const char *label, *content, *importance;
    bool critical;
  } cases[] = {
      {"a", "b", "normal", false},
      {"a", "b", "high", false},
      {"a", "b", "critical", true},
      {"CRITICAL", "b", "normal", true},
      {"a", "[CRITICAL] never deploy", "normal", true},
      {"a", "x\\nCRITICAL\\ny", "high", true},
      {"a", "\\u0043RITICAL", "normal", true},
      {"a", "critical", "normal", false},
      {"a", "UNCRITICAL or CRITICALLY, CRITICAL5", "normal", false},
      {"a", "CRITICALLY CRITICAL", "normal", true},
  };
  for (size_t i = 0; i < RP_ARRAY_SIZE(cases); i++) {
    RP_AUTOFOLD struct rp__fold *f = fold_new();
    RP_AUTOBUF struct rp__buf out = RP_BUF(SAVED_MAX), body = RP_BUF(1000);
    rp__buf_printf(&body, "{\"label\":\"%s\",\"content\":\"%s\",\"importance\":\"%s\"}", cases[i].label,
                   cases[i].content, cases[i].importance);
    tell(f, RP_KIND_PIN, body.p);
    struct rp__json critical = rp__json_get(pin_of(f, &out, cases[i].label), "critical");
    assert_int_equal(critical.type, cases[i].critical ? RP_JSON_TRUE : RP_JSON_FALSE);
    assert_sound(f);
  }
}

#define INHERITED(label)                                                                                               \
  "{\"label\":\"" label "\",\"content\":\"c\",\"importance\":\"normal\",\"inherited_from\":\"s1\",\"pinned_at\":"      \
  "\"1960-01-01T00:00:00.000Z\"}"

/* what is inherited takes free slots only, and a label that is there wins. */
static void inheriting(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  RP_AUTOBUF struct rp__buf out = RP_BUF(SAVED_MAX);
  for (int i = 0; i < 8; i++) {
    char label[20];
    snprintf(label, sizeof label, "p%d", i);
    pin(f, label, "normal");
  }
  tell(f, RP_KIND_RESTORED,
       "{\"pins\":[5,{},{\"label\":\"x\"}," INHERITED("p3") "," INHERITED("n1") "," INHERITED(
           "n1 [inherited from s9 @ t]") "," INHERITED("n2") "," INHERITED("n3") "]}");
  assert_int_equal(rp__pins_count(f), 10);
  assert_true(rp__pins_has(f, "n1"));
  assert_true(rp__pins_has(f, "n2"));
  assert_false(rp__pins_has(f, "n3"));
  assert_int_equal(rp__json_get(pin_of(f, &out, "p3"), "inherited_from").type, RP_JSON_NULL);
  struct rp__json n1 = pin_of(f, &out, "n1");
  assert_true(rp__json_eq(rp__json_get(n1, "inherited_from"), "s1"));
  assert_true(rp__json_eq(rp__json_get(n1, "pinned_at"), "1960-01-01T00:00:00.000Z"));
  assert_sound(f);
  tell(f, RP_KIND_RESTORED, "{\"pins\":7}");
  assert_int_equal(rp__pins_count(f), 10);
}

/* the word on what to unpin. */
static void the_suggestion(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  assert_null(rp__pins_suggest(f));
  pin(f, "worst", "critical");
  assert_string_equal(rp__pins_suggest(f), "worst");
  pin(f, "high", "high");
  assert_string_equal(rp__pins_suggest(f), "worst");
  pin(f, "old", "normal");
  pin(f, "new", "normal");
  assert_string_equal(rp__pins_suggest(f), "old");
  tell(f, RP_KIND_RESTORED,
       "{\"pins\":[{\"label\":\"CRITICAL\",\"content\":\"\",\"inherited_from\":\"s\"},"
       "{\"label\":\"in\\nherited\",\"content\":\"\",\"inherited_from\":\"s\"}]}");
  assert_string_equal(rp__pins_suggest(f), "in\nherited");
  RP_AUTOBUF struct rp__buf saved = RP_BUF(SAVED_MAX);
  save(f, &saved);
  RP_AUTOFOLD struct rp__fold *back = load(&saved);
  assert_string_equal(rp__pins_suggest(back), "in\nherited");
  tell(f, RP_KIND_UNPIN, "{\"label\":\"in\\nherited\"}");
  assert_string_equal(rp__pins_suggest(f), "old");
}

static void dropped(const struct rp__fold *f, struct rp__buf *out)
{
  struct rp__jw w = RP_JW(out);
  rp__buf_reset(out);
  rp__rows_show(rp__pins_dropped(f), 0, &w);
  assert_int_equal(out->err, 0);
}

#define INHERIT(label, second)                                                                                         \
  "{\"pins\":[{\"label\":\"" label "\",\"content\":\"c\",\"inherited_from\":\"s\",\"pinned_at\":\"1970-01-01T00:00:"   \
  "" second ".000Z\"}]}"
#define DROPPED(label, second) "{\"label\":\"" label "\",\"pinned_at\":\"1970-01-01T00:00:" second ".000Z\"}"

/* what was taken off or replaced is noted with the time of what went, not of its going. */
static void what_went_is_noted(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  RP_AUTOBUF struct rp__buf out = RP_BUF(SAVED_MAX), doc = RP_BUF(SAVED_MAX);
  dropped(f, &out);
  assert_string_equal(out.p, "[]");
  tell_at(f, 10000, RP_KIND_RESTORED, INHERIT("gone", "03"));
  tell_at(f, 11000, RP_KIND_RESTORED, INHERIT("n", "04"));
  tell_at(f, 12000, RP_KIND_UNPIN, "{\"label\":\"never there\"}");
  tell_at(f, 12000, RP_KIND_UNPIN, "{\"label\":\"gone\"}");
  tell_at(f, 13000, RP_KIND_PIN, "{\"label\":\"n\",\"content\":\"NEW\"}");
  dropped(f, &out);
  assert_string_equal(out.p, "[" DROPPED("gone", "03") "," DROPPED("n", "04") "]");
  assert_sound(f);
  assert_int_equal(rp__json_count(pins_of(f, &doc)), 1);
  /* A newer word on it stands beside the note of the older. */
  tell_at(f, 14000, RP_KIND_PIN, "{\"label\":\"gone\",\"content\":\"again\"}");
  tell_at(f, 15000, RP_KIND_UNPIN, "{\"label\":\"n\"}");
  dropped(f, &out);
  assert_string_equal(out.p, "[" DROPPED("gone", "03") "," DROPPED("n", "13") "]");
  /* Nothing of it is in the document. */
  tell_at(f, 16000, RP_KIND_UNPIN, "{\"label\":\"gone\"}");
  assert_int_equal(pins_of(f, &doc).type, RP_JSON_NONE);
  assert_null(strstr(doc.p, "dropped"));
  assert_sound(f);
  /* What is brought back on purpose, or said by a clock that was set back, counts again. */
  tell_at(f, 17000, RP_KIND_RESTORED, INHERIT("gone", "03"));
  tell_at(f, 12500, RP_KIND_PIN, "{\"label\":\"n\",\"content\":\"early\"}");
  dropped(f, &out);
  assert_string_equal(out.p, "[]");
}

static void notes_are_bounded(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  RP_AUTOBUF struct rp__buf out = RP_BUF(SAVED_MAX);
  for (int i = 0; i < RP_DROPPED_PINS_MAX + 9; i++) {
    char label[20], body[60];
    snprintf(label, sizeof label, "p%d", i);
    snprintf(body, sizeof body, "{\"label\":\"%s\"}", label);
    pin(f, label, "normal");
    tell(f, RP_KIND_UNPIN, body);
  }
  dropped(f, &out);
  assert_int_equal(rp__json_count(parsed(&out)), RP_DROPPED_PINS_MAX);
  assert_null(strstr(out.p, "\"p8\"")); /* the oldest go first */
  assert_non_null(strstr(out.p, "\"p9\""));
  assert_sound(f);
}

static void big_pin(struct rp__fold *f, int i, const char *unit, size_t times)
{
  RP_AUTOBUF struct rp__buf body = RP_BUF(SAVED_MAX);
  rp__buf_printf(&body, "{\"label\":\"%d", i);
  for (size_t k = 0; k < 500; k++) rp__buf_str(&body, "\\u0001");
  rp__buf_str(&body, "\",\"content\":\"");
  for (size_t k = 0; k < times; k++) rp__buf_str(&body, unit);
  rp__buf_str(&body, "\"}");
  tell_n(f, RP_KIND_PIN, body.p, body.n);
}

static void contents_are_cut_at_a_character(void **state)
{
  (void)state;
  static const struct {
    const char *unit;
    size_t times, kept;
  } cases[] = {
      {"x", 32768, 32768},   {"x", 40000, 32768},      {"\xe2\x82\xac", 20000, 32766},
      {"\\n", 18000, 18000}, {"\\u0001", 40000, 6154}, /* what must be escaped takes its room too */
  };
  for (size_t i = 0; i < RP_ARRAY_SIZE(cases); i++) {
    RP_AUTOFOLD struct rp__fold *f = fold_new();
    RP_AUTOBUF struct rp__buf out = RP_BUF(SAVED_MAX), text = RP_BUF(SAVED_MAX);
    for (int k = 0; k < 10; k++) big_pin(f, k, cases[i].unit, cases[i].times);
    struct rp__json pins = pins_of(f, &out), p;
    struct rp__json_iter it = {0};
    assert_int_equal(rp__json_count(pins), 10);
    assert_true(rp__json_next(pins, &it, NULL, &p));
    assert_int_equal(rp__json_text(rp__json_get(p, "content"), &text), 0);
    assert_int_equal(text.n, cases[i].kept);
    assert_sound(f);
  }
}

static void bodies_of_other_versions_change_nothing(void **state)
{
  (void)state;
  static const char *const ignored[] = {"{}",
                                        "[]",
                                        "{\"label\":\"a\"}",
                                        "{\"content\":\"a\"}",
                                        "{\"label\":5,\"content\":\"a\"}",
                                        "{\"label\":\"a\",\"content\":5}"};
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  for (size_t i = 0; i < RP_ARRAY_SIZE(ignored); i++) tell(f, RP_KIND_PIN, ignored[i]);
  tell(f, RP_KIND_UNPIN, "{\"label\":7}");
  tell(f, RP_KIND_UNPIN, "[]");
  assert_int_equal(rp__pins_count(f), 0);
  tell(f, RP_KIND_PIN, "{\"label\":\"a\",\"content\":\"b\",\"importance\":\"enormous\"}");
  RP_AUTOBUF struct rp__buf out = RP_BUF(SAVED_MAX);
  assert_true(rp__json_eq(rp__json_get(pin_of(f, &out, "a"), "importance"), "normal"));
}

static void refuses_damaged_snapshots(void **state)
{
  (void)state;
#define PIN "{\"label\":\"a\",\"content\":\"b\",\"importance\":\"normal\",\"at_ms\":1"
  static const char *const bad[] = {
      "{}",
      "[5]",
      "[{}]",
      "[" PIN "}," PIN "}]",
      "[" PIN ",\"critical\":1}]",
      "[" PIN ",\"inherited_from\":5}]",
      "[{\"label\":\"a\",\"content\":\"b\"}]",
      "[{\"label\":\"a\",\"at_ms\":1}]",
      "[{\"label\":5,\"content\":\"b\",\"at_ms\":1}]",
      "[{\"label\":\"a\",\"content\":\"b\",\"importance\":\"longer than any of them\",\"at_ms\":1}]",
  };
  rp_error err;
  assert_int_equal(load_part("pins", "[" PIN "}]", &err), 0);
  for (size_t i = 0; i < RP_ARRAY_SIZE(bad); i++) {
    if (load_part("pins", bad[i], &err) != RP_E_SNAPSHOT_CORRUPT) fail_msg("%s", bad[i]);
    assert_string_equal(err.field, "pins");
  }
  assert_int_equal(load_part("pins", "{\"pins\":[],\"dropped\":[{\"label\":\"a\",\"at_ms\":1}]}", &err), 0);
  assert_int_equal(load_part("pins", "{\"pins\":[" PIN "}]}", &err), RP_E_SNAPSHOT_CORRUPT);
  assert_string_equal(err.field, "dropped_pins");
  for (int n = 10; n <= 11; n++) {
    RP_AUTOBUF struct rp__buf part = RP_BUF(SAVED_MAX);
    for (int i = 0; i < n; i++)
      rp__buf_printf(&part, "%s{\"label\":\"%d\",\"content\":\"b\",\"at_ms\":1}", i ? "," : "[", i);
    rp__buf_char(&part, ']');
    assert_int_equal(load_part("pins", part.p, &err), n == 10 ? 0 : RP_E_SNAPSHOT_CORRUPT);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_document_of_the_contract),
      cmocka_unit_test(an_eleventh_changes_nothing),
      cmocka_unit_test(the_same_label_changes_in_place),
      cmocka_unit_test(labels_are_bare),
      cmocka_unit_test(what_is_critical),
      cmocka_unit_test(inheriting),
      cmocka_unit_test(the_suggestion),
      cmocka_unit_test(what_went_is_noted),
      cmocka_unit_test(notes_are_bounded),
      cmocka_unit_test(contents_are_cut_at_a_character),
      cmocka_unit_test(bodies_of_other_versions_change_nothing),
      cmocka_unit_test(refuses_damaged_snapshots),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
