/* SPDX-License-Identifier: Apache-2.0 */
/* B-04: the ledger of tool calls. */
#include "facets_test.h"

#define STATUSES 5
static const char *const names[STATUSES] = {"intended", "running", "done", "failed", "unknown"};

static void call(struct rp__fold *f, const char *id, const char *status)
{
  char body[200];
  snprintf(body, sizeof body, "{\"call_id\":\"%s\",\"name\":\"sh\",\"status\":\"%s\"}", id, status);
  tell(f, RP_KIND_TOOL, body);
}

static void call_n(struct rp__fold *f, int id, const char *status)
{
  char text[20];
  snprintf(text, sizeof text, "c%d", id);
  call(f, text, status);
}

static struct rp__json calls_of(const struct rp__fold *f, struct rp__buf *out)
{
  show(f, out);
  return rp__json_get(parsed(out), "tools");
}

/* The status of a call as text, "" when it is not there. */
static const char *status_of(const struct rp__fold *f, const char *id)
{
  RP_AUTOBUF struct rp__buf out = RP_BUF(SAVED_MAX);
  struct rp__json calls = calls_of(f, &out), c;
  struct rp__json_iter it = {0};
  while (rp__json_next(calls, &it, NULL, &c)) {
    if (!rp__json_eq(rp__json_get(c, "call_id"), id)) continue;
    for (size_t i = 0; i < STATUSES; i++) {
      if (rp__json_eq(rp__json_get(c, "status"), names[i])) return names[i];
    }
  }
  return "";
}

/* Rows: what was known; columns: what is told. */
static const char *const after[STATUSES][STATUSES] = {
    {"intended", "running", "done", "failed", "unknown"},
    {"running", "running", "done", "failed", "unknown"},
    {"done", "done", "done", "done", "done"},
    {"failed", "failed", "failed", "failed", "failed"},
    {"intended", "running", "done", "failed", "unknown"},
};

static void every_status_after_every_other(void **state)
{
  (void)state;
  for (size_t was = 0; was < STATUSES; was++) {
    for (size_t told = 0; told < STATUSES; told++) {
      RP_AUTOFOLD struct rp__fold *f = fold_new();
      call(f, "a", names[was]);
      call(f, "b", "running");
      call(f, "a", names[told]);
      assert_string_equal(status_of(f, "a"), after[was][told]);
      assert_string_equal(status_of(f, "b"), "running");
      assert_sound(f);
    }
  }
}

static void the_document_of_the_contract(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  RP_AUTOBUF struct rp__buf out = RP_BUF(SAVED_MAX);
  tell(f, RP_KIND_TOOL, "{\"call_id\":\"a\",\"name\":\"sh\",\"status\":\"intended\",\"input\":{\"cmd\": \"ls\"}}");
  tell(f, RP_KIND_TOOL, "{\"call_id\":\"b\",\"name\":\"rm\",\"status\":\"running\"}");
  tell(f, RP_KIND_TOOL, "{\"call_id\":\"\\u0061\",\"name\":\"sh\",\"status\":\"done\",\"output\":null}");
  show(f, &out);
  assert_string_equal(out.p,
                      "{\"tools\":[{\"call_id\":\"a\",\"name\":\"sh\",\"status\":\"done\",\"input\":{\"cmd\": "
                      "\"ls\"},\"output\":null,\"seq\":3,\"at\":\"1970-01-01T00:00:03.000Z\"},{\"call_id\":\"b\","
                      "\"name\":\"rm\",\"status\":\"running\",\"seq\":2,\"at\":\"1970-01-01T00:00:02.000Z\"}]}");
  assert_sound(f);
}

static void an_unclean_restart_makes_open_calls_unknown(void **state)
{
  (void)state;
  static const struct {
    const char *body;
    bool unclean;
  } cases[] = {
      {"{\"cause\":\"crash\"}", true},      {"{\"cause\":\"killed\",\"elapsed_seconds\":5}", true},
      {"{\"cause\":\"reboot\"}", true},     {"{\"cause\":\"power_loss\"}", true},
      {"{\"cause\":\"clock_jump\"}", true}, {"{\"cause\":\"clean\"}", false},
      {"{\"cause\":\"upgrade\"}", false},   {"{\"cause\":null}", false},
      {"{\"elapsed_seconds\":5}", false},   {"{}", false},
  };
  for (size_t i = 0; i < RP_ARRAY_SIZE(cases); i++) {
    RP_AUTOFOLD struct rp__fold *f = fold_new();
    for (size_t s = 0; s < STATUSES; s++) call(f, names[s], names[s]);
    tell(f, RP_KIND_RESTORED, cases[i].body);
    for (size_t s = 0; s < STATUSES; s++) {
      bool open = s < 2;
      assert_string_equal(status_of(f, names[s]), cases[i].unclean && open ? "unknown" : names[s]);
    }
    assert_sound(f);
  }
}

static void the_last_100_with_an_outcome_stay(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  RP_AUTOBUF struct rp__buf out = RP_BUF(SAVED_MAX);
  for (int i = 0; i < 250; i++) call_n(f, i, "intended");
  /* They end in another order than they began. */
  for (int i = 249; i >= 0; i--) call_n(f, i, i % 2 ? "done" : "failed");
  assert_int_equal(rp__json_count(calls_of(f, &out)), 100);
  assert_string_equal(status_of(f, "c0"), "failed");
  assert_string_equal(status_of(f, "c99"), "done");
  assert_string_equal(status_of(f, "c100"), "");
  assert_sound(f);
}

static void open_calls_stay_but_have_a_bound(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  RP_AUTOBUF struct rp__buf out = RP_BUF(SAVED_MAX);
  call(f, "lost", "unknown");
  call(f, "old", "intended");
  for (int i = 0; i < 400; i++) call_n(f, i, "done");
  assert_string_equal(status_of(f, "old"), "intended");
  for (int i = 1000; i < 1254; i++) call_n(f, i, "running");
  assert_string_equal(status_of(f, "lost"), "unknown");
  assert_int_equal(rp__json_count(calls_of(f, &out)), 356);
  /* One more: what nobody knows about goes before what is open. */
  call_n(f, 2000, "running");
  assert_string_equal(status_of(f, "lost"), "");
  assert_string_equal(status_of(f, "old"), "intended");
  call_n(f, 2001, "running");
  assert_string_equal(status_of(f, "old"), "");
  assert_string_equal(status_of(f, "c1000"), "running");
  assert_int_equal(rp__json_count(calls_of(f, &out)), 356);
  tell(f, RP_KIND_RESTORED, "{\"cause\":\"crash\"}");
  assert_int_equal(rp__json_count(calls_of(f, &out)), 356);
  assert_sound(f);
}

static void big_call(struct rp__fold *f, int id, size_t id_n, size_t name_n, size_t input_n, size_t output_n)
{
  RP_AUTOBUF struct rp__buf body = RP_BUF(SAVED_MAX);
  rp__buf_printf(&body, "{\"call_id\":\"%d", id);
  for (size_t i = 0; i < id_n; i++) rp__buf_str(&body, "\\u0001");
  rp__buf_str(&body, "\",\"name\":\"");
  for (size_t i = 0; i < name_n; i++) rp__buf_str(&body, "\\u20ac");
  rp__buf_str(&body, "\",\"status\":\"running\",\"input\":\"");
  for (size_t i = 0; i < input_n; i++) rp__buf_char(&body, 'i');
  rp__buf_str(&body, "\",\"output\":\"");
  for (size_t i = 0; i < output_n; i++) rp__buf_char(&body, 'o');
  rp__buf_str(&body, "\"}");
  tell_n(f, RP_KIND_TOOL, body.p, body.n);
}

static void large_inputs_leave_their_size_and_long_names_are_cut(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  RP_AUTOBUF struct rp__buf out = RP_BUF(SAVED_MAX), name = RP_BUF(SAVED_MAX);
  big_call(f, 1, 0, 100, 2046, 2047);
  struct rp__json calls = calls_of(f, &out), c;
  struct rp__json_iter it = {0};
  assert_true(rp__json_next(calls, &it, NULL, &c));
  assert_int_equal(rp__json_get(c, "input").n, 2048);
  assert_int_equal(rp__json_get(c, "output").type, RP_JSON_NONE);
  assert_non_null(strstr(out.p, "\"output_bytes\":2049"));
  assert_int_equal(rp__json_text(rp__json_get(c, "name"), &name), 0);
  assert_int_equal(name.n, 255); /* 85 whole characters */
  assert_sound(f);
  /* What was left out stays so until something smaller comes. */
  tell(f, RP_KIND_TOOL, "{\"call_id\":\"1\",\"name\":\"n\",\"status\":\"done\",\"output\":1}");
  show(f, &out);
  assert_null(strstr(out.p, "output_bytes"));
  assert_non_null(strstr(out.p, "\"output\":1"));
  assert_sound(f);
}

static void bytes_are_bounded(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  for (int i = 0; i < 600; i++) {
    big_call(f, i, 500, 300, 2000, 2000);
    if (i % 50 == 0) assert_sound(f);
  }
  assert_sound(f);
  RP_AUTOBUF struct rp__buf out = RP_BUF(SAVED_MAX);
  assert_true(rp__json_count(calls_of(f, &out)) > 50);
}

static void bodies_of_other_versions_change_nothing(void **state)
{
  (void)state;
  static const char *const ignored[] = {"{}",
                                        "[]",
                                        "{\"call_id\":\"a\",\"status\":\"done\"}",
                                        "{\"name\":\"a\",\"status\":\"done\"}",
                                        "{\"call_id\":\"a\",\"name\":\"b\"}",
                                        "{\"call_id\":5,\"name\":\"b\",\"status\":\"done\"}",
                                        "{\"call_id\":\"a\",\"name\":\"b\",\"status\":\"exploded\"}"};
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  RP_AUTOBUF struct rp__buf out = RP_BUF(SAVED_MAX);
  for (size_t i = 0; i < RP_ARRAY_SIZE(ignored); i++) tell(f, RP_KIND_TOOL, ignored[i]);
  big_call(f, 1, 513, 0, 0, 0);
  show(f, &out);
  assert_string_equal(out.p, "{}");
}

static void refuses_damaged_snapshots(void **state)
{
  (void)state;
#define CALL "{\"call_id\":\"a\",\"name\":\"b\",\"status\":\"done\",\"seq\":1,\"at_ms\":1"
  static const char *const bad[] = {
      "{}",
      "[5]",
      "[{}]",
      "[" CALL "}," CALL "}]",
      "[" CALL ",\"input\":1,\"input_bytes\":5000}]",
      "[" CALL ",\"output_bytes\":0}]",
      "[" CALL ",\"output_bytes\":\"5\"}]",
      "[{\"call_id\":5,\"name\":\"b\",\"status\":\"done\",\"seq\":1,\"at_ms\":1}]",
      "[{\"call_id\":\"a\",\"name\":5,\"status\":\"done\",\"seq\":1,\"at_ms\":1}]",
      "[{\"call_id\":\"a\",\"name\":\"b\",\"status\":\"gone\",\"seq\":1,\"at_ms\":1}]",
      "[{\"call_id\":\"a\",\"name\":\"b\",\"status\":\"done\",\"seq\":0,\"at_ms\":1}]",
      "[{\"call_id\":\"a\",\"name\":\"b\",\"status\":\"done\",\"seq\":1}]",
  };
  rp_error err;
  assert_int_equal(load_part("tools", "[" CALL "}]", &err), 0);
  for (size_t i = 0; i < RP_ARRAY_SIZE(bad); i++) {
    if (load_part("tools", bad[i], &err) != RP_E_SNAPSHOT_CORRUPT) fail_msg("%s", bad[i]);
    assert_string_equal(err.field, "tools");
  }
}

static void a_snapshot_with_too_much_is_refused(void **state)
{
  (void)state;
  rp_error err;
  static const struct {
    int n;
    const char *status;
    int code;
  } cases[] = {{100, "done", 0},
               {101, "failed", RP_E_SNAPSHOT_CORRUPT},
               {256, "running", 0},
               {257, "unknown", RP_E_SNAPSHOT_CORRUPT},
               {400, "running", RP_E_SNAPSHOT_CORRUPT}};
  for (size_t c = 0; c < RP_ARRAY_SIZE(cases); c++) {
    RP_AUTOBUF struct rp__buf part = RP_BUF(SAVED_MAX);
    for (int i = 0; i < cases[c].n; i++)
      rp__buf_printf(&part, "%s{\"call_id\":\"%d\",\"name\":\"b\",\"status\":\"%s\",\"seq\":1,\"at_ms\":1}",
                     i ? "," : "[", i, cases[c].status);
    rp__buf_char(&part, ']');
    assert_int_equal(load_part("tools", part.p, &err), cases[c].code);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_status_after_every_other),
      cmocka_unit_test(the_document_of_the_contract),
      cmocka_unit_test(an_unclean_restart_makes_open_calls_unknown),
      cmocka_unit_test(the_last_100_with_an_outcome_stay),
      cmocka_unit_test(open_calls_stay_but_have_a_bound),
      cmocka_unit_test(large_inputs_leave_their_size_and_long_names_are_cut),
      cmocka_unit_test(bytes_are_bounded),
      cmocka_unit_test(bodies_of_other_versions_change_nothing),
      cmocka_unit_test(refuses_damaged_snapshots),
      cmocka_unit_test(a_snapshot_with_too_much_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
