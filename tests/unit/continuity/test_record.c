/* SPDX-License-Identifier: Apache-2.0 */
/* The record of a session: its parts, and what is trimmed. */
#include "continuity_test.h"

static const struct rp__record_options no_options = {0};

static void build(const char *state, const struct rp__record_options *o, struct rp__record_parts *ret)
{
  RP_AUTOFOLD struct rp__fold *f = state_of(state);
  assert_int_equal(rp__record_build(f, o, ret), 0);
  for (unsigned i = 0; i < RP_PARTS_MAX; i++) assert_int_equal(json(ret->json[i]).type, RP_JSON_ARRAY);
}

static size_t total(const struct rp__record_parts *r)
{
  size_t n = 0;
  for (unsigned i = 0; i < RP_PARTS_MAX; i++) n += strlen(r->json[i]);
  return n;
}

/* every field of the seed's interface */
static void every_part_is_there(void **state)
{
  (void)state;
  RP_CLEANUP(rp__record_done) struct rp__record_parts r = {0};
  build("{\"pins\":[{\"label\":\"a\",\"content\":\"b\",\"importance\":\"high\",\"inherited_from\":null,"
        "\"inherited_end\":null,\"pinned_at\":\"2026-01-01T00:00:00.000Z\",\"critical\":false}],"
        "\"tasks\":[{\"task_id\":\"t1\",\"title\":\"x\",\"stage\":\"build\",\"status\":\"open\","
        "\"flagged_incomplete\":false,\"pending\":true,\"at\":\"2026-01-01T00:00:00.000Z\",\"source\":"
        "\"pipeline_state\",\"inherited_from\":null},{\"task_id\":\"t2\",\"title\":\"y\",\"stage\":\"build\","
        "\"status\":\"done\"}],"
        "\"projects\":[\"reprise\"],\"topics\":[\"ham radio\",\"Antenna\"],"
        "\"learnings\":[{\"memory_id\":\"m1\",\"confidence\":1},{\"memory_id\":\"m2\"}],"
        "\"confidence_updates\":[{\"memory_id\":\"m1\",\"old_score\":1,\"new_score\":0.5,\"reason\":\"r\","
        "\"timestamp\":\"2026-01-01T00:00:00.000Z\"}],"
        "\"sops\":[{\"sop_path\":\"/s\",\"injected_at\":\"2026\",\"acknowledged\":true,\"tool_call\":null}]}",
        &no_options, &r);
  assert_string_equal(r.json[RP_PART_WORKING_MEMORY],
                      "[{\"label\":\"a\",\"content\":\"b\",\"importance\":\"high\","
                      "\"pinned_at\":\"2026-01-01T00:00:00.000Z\",\"inherited_from\":null,\"inherited_end\":null}]");
  assert_string_equal(r.json[RP_PART_HOT_TOPICS], "[\"ham radio\",\"antenna\"]");
  assert_string_equal(r.json[RP_PART_PROJECTS], "[\"reprise\"]");
  assert_string_equal(r.json[RP_PART_TASKS],
                      "[{\"task_id\":\"t1\",\"title\":\"x\",\"stage\":\"build\",\"flagged_incomplete\":false,"
                      "\"at\":\"2026-01-01T00:00:00.000Z\",\"source\":\"pipeline_state\"}]");
  assert_string_equal(r.json[RP_PART_LEARNINGS], "[\"m1\",\"m2\"]");
  assert_non_null(strstr(r.json[RP_PART_CONFIDENCE], "\"new_score\":0.5"));
  assert_non_null(strstr(r.json[RP_PART_SOPS], "\"acknowledged\":true"));
  assert_int_equal(r.n_tasks, 1);
  assert_int_equal(r.n_pins, 1);
  assert_int_equal(r.n_learnings, 2);
  assert_int_equal(r.n_topics, 2);
  assert_int_equal(r.n_hashes, 2);
  assert_false(r.has_critical);
  assert_false(r.trimmed);
  assert_true(r.topics[0] < r.topics[1]);
  uint64_t antenna = (rp__topic_hash("antenna", 7, NULL) & UINT32_MAX);
  assert_true(r.topics[0] == antenna || r.topics[1] == antenna);
}

/* what went is kept beside the parts, within the bound of the whole, and the record counts for it. */
static void what_went_is_kept(void **state)
{
  (void)state;
  static const char list[] = "[{\"label\":\"gone\",\"pinned_at\":\"2026-01-01T00:00:00.000Z\"}]";
  RP_AUTOBUF struct rp__buf doc = RP_BUF(4 << 20);
  RP_CLEANUP(rp__record_done) struct rp__record_parts r = {0}, none = {0};
  rp__buf_str(&doc, "{\"pins\":[");
  for (int pin = 0; pin < 2; pin++) {
    rp__buf_printf(&doc, "%s{\"label\":\"long %d\",\"content\":\"", pin ? "," : "", pin);
    for (int i = 0; i < RP_RECORD_MAX / 2; i++) rp__buf_char(&doc, 'x');
    rp__buf_str(&doc, "\"}");
  }
  rp__buf_printf(&doc, "],\"dropped_pins\":%s}", list);
  build(doc.p, &no_options, &r);
  assert_string_equal(r.dropped, list);
  assert_true(r.has_critical && r.trimmed);
  assert_true(total(&r) + strlen(r.dropped) <= RP_RECORD_MAX);
  build("{\"pins\":[],\"dropped_pins\":[]}", &no_options, &none);
  assert_null(none.dropped);
  assert_false(none.has_critical);
}

static void an_empty_session_has_an_empty_record(void **state)
{
  (void)state;
  RP_CLEANUP(rp__record_done) struct rp__record_parts r = {0};
  build("{}", &no_options, &r);
  for (unsigned i = 0; i < RP_PARTS_MAX; i++) assert_string_equal(r.json[i], "[]");
}

static int64_t how_common(void *ctx, uint64_t hash)
{
  (void)ctx;
  return hash == (rp__topic_hash("the", 3, NULL) & UINT32_MAX) ? 200 : 0;
}

/* what every session talks about is no hot topic of this one; at most 20 */
static void topics_are_ranked(void **state)
{
  (void)state;
  RP_CLEANUP(rp__record_done) struct rp__record_parts r = {0};
  RP_AUTOBUF struct rp__buf doc = RP_BUF(10000);
  const struct rp__record_options o = {.count = how_common, .sessions = 200};
  rp__buf_str(&doc, "{\"topics\":[\"the\",\"ft991a\"");
  for (int i = 0; i < 30; i++) rp__buf_printf(&doc, ",\"topic%d\"", i);
  rp__buf_str(&doc, "]}");
  build(doc.p, &o, &r);
  assert_memory_equal(r.json[RP_PART_HOT_TOPICS], "[\"ft991a\",\"topic0\"", 18);
  assert_null(strstr(r.json[RP_PART_HOT_TOPICS], "topic18\",\"topic19\",\"topic20"));
  assert_int_equal(r.n_topics, RP_TOPICS_MAX);
  assert_int_equal(rp__json_count(json(r.json[RP_PART_HOT_TOPICS])), RP_TOPICS_MAX);
}

static int64_t in_four_of_six(void *ctx, uint64_t hash)
{
  (void)ctx;
  return hash == (rp__topic_hash("cuetrace", 8, NULL) & UINT32_MAX) ? 4 : 0;
}

/* what is told elsewhere, or stands in most sessions of the scope, is not told, but a start may be about
 * it. */
static void topics_that_tell_nothing_new_are_compared_only(void **state)
{
  (void)state;
  RP_CLEANUP(rp__record_done) struct rp__record_parts few = {0}, many = {0};
  struct rp__record_options o = {.count = in_four_of_six, .sessions = RP_TOPIC_SESSIONS - 1};
  static const char doc[] = "{\"topics\":[\"cuetrace\",\"beacon\",\"bash\",\"wrench\",\"heatmap\"],"
                            "\"pins\":[{\"label\":\"radio\",\"content\":\"the Beacon blinks\"}],"
                            "\"tools\":[{\"call_id\":\"1\",\"name\":\"Wrench\",\"status\":\"done\"}]}";
  build(doc, &o, &few);
  assert_string_equal(few.json[RP_PART_HOT_TOPICS], "[\"heatmap\",\"cuetrace\"]");
  o.sessions = RP_TOPIC_SESSIONS;
  build(doc, &o, &many);
  assert_string_equal(many.json[RP_PART_HOT_TOPICS], "[\"heatmap\"]");
  assert_int_equal(many.n_topics, 1);
  assert_int_equal(many.n_hashes, 5);
}

/* ---- trimming ---- */

/* A state with so many elements of each kind, and contents of so many characters of two bytes each. */
static void big_state(struct rp__buf *out, int sops, int updates, int learnings, int content)
{
  rp__buf_reset(out);
  rp__buf_str(out, "{\"sops\":[");
  for (int i = 0; i < sops; i++)
    rp__buf_printf(out, "%s{\"sop_path\":\"/sop/%0360d\",\"injected_at\":\"2026\",\"tool_call\":null}", i ? "," : "",
                   i);
  rp__buf_str(out, "],\"confidence_updates\":[");
  for (int i = 0; i < updates; i++)
    rp__buf_printf(out, "%s{\"memory_id\":\"c%0300d\",\"old_score\":1,\"new_score\":0.5,\"reason\":\"r\"}",
                   i ? "," : "", i);
  rp__buf_str(out, "],\"learnings\":[");
  for (int i = 0; i < learnings; i++) rp__buf_printf(out, "%s{\"memory_id\":\"m%0240d\"}", i ? "," : "", i);
  rp__buf_str(out, "],\"tasks\":[");
  for (int i = 0; i < 20; i++)
    rp__buf_printf(out, "%s{\"task_id\":\"t%d\",\"title\":\"%0200d\",\"stage\":\"build\"}", i ? "," : "", i, i);
  rp__buf_str(out, "],\"pins\":[");
  for (int i = 0; i < 10; i++) {
    rp__buf_printf(out, "%s{\"label\":\"label %d\",\"content\":\"", i ? "," : "", i);
    for (int k = 0; k < content; k++) rp__buf_str(out, "ä");
    rp__buf_str(out, i == 9 ? " CRITICAL\"}" : "\"}");
  }
  rp__buf_str(out, "]}");
  assert_int_equal(out->err, 0);
}

/* sop_interactions, confidence_updates, oldest learnings, long contents; never tasks or labels */
static void the_order_of_trimming(void **state)
{
  (void)state;
  static const struct {
    int sops, updates, learnings, content;                  /* there are */
    bool sops_cut, updates_cut, learnings_cut, content_cut; /* of which some go */
  } table[] = {
      {10, 10, 10, 10, false, false, false, false}, {100, 20, 20, 10, true, false, false, false},
      {20, 100, 60, 10, true, true, false, false},  {20, 20, 200, 10, true, true, true, false},
      {10, 10, 10, 8000, true, true, true, true},   {0, 0, 0, 16000, false, false, false, true},
  };
  RP_AUTOBUF struct rp__buf doc = RP_BUF(4 << 20);
  for (size_t i = 0; i < RP_ARRAY_SIZE(table); i++) {
    RP_CLEANUP(rp__record_done) struct rp__record_parts r = {0};
    big_state(&doc, table[i].sops, table[i].updates, table[i].learnings, table[i].content);
    build(doc.p, &no_options, &r);
    assert_true(total(&r) <= RP_RECORD_MAX);
    assert_true(r.trimmed == (i > 0));
    if (i > 0) assert_true(total(&r) > RP_RECORD_MAX - 500); /* no more goes than has to */
    size_t sops = rp__json_count(json(r.json[RP_PART_SOPS])),
           updates = rp__json_count(json(r.json[RP_PART_CONFIDENCE]));
    assert_true((sops < (size_t)table[i].sops) == table[i].sops_cut);
    assert_true((updates < (size_t)table[i].updates) == table[i].updates_cut);
    assert_true((r.n_learnings < table[i].learnings) == table[i].learnings_cut);
    assert_true((strstr(r.json[RP_PART_WORKING_MEMORY], "…") != NULL) == table[i].content_cut);
    if (table[i].updates_cut) assert_int_equal(sops, 0);
    if (table[i].learnings_cut) assert_int_equal(updates, 0);
    if (table[i].content_cut) assert_int_equal(r.n_learnings, 0);
    assert_int_equal(r.n_tasks, 20);
    assert_int_equal(rp__json_count(json(r.json[RP_PART_WORKING_MEMORY])), 10);
    assert_non_null(strstr(r.json[RP_PART_WORKING_MEMORY], "\"label 9\""));
    assert_non_null(strstr(r.json[RP_PART_WORKING_MEMORY], "\"critical\":true")); /* its word may be cut off */
    assert_true(r.has_critical);
  }
}

/* The newest stay */
static void the_oldest_go_first(void **state)
{
  (void)state;
  RP_AUTOBUF struct rp__buf doc = RP_BUF(4 << 20);
  RP_CLEANUP(rp__record_done) struct rp__record_parts r = {0};
  char newest[260];
  big_state(&doc, 0, 0, 256, 10);
  build(doc.p, &no_options, &r);
  snprintf(newest, sizeof newest, "m%0240d\"]", 255);
  assert_non_null(strstr(r.json[RP_PART_LEARNINGS], newest));
  assert_true(r.n_learnings > 100 && r.n_learnings < 256);
}

/* Never refused: tasks and labels stay even when they alone are too much */
static void tasks_are_never_trimmed(void **state)
{
  (void)state;
  RP_AUTOBUF struct rp__buf doc = RP_BUF(4 << 20);
  RP_CLEANUP(rp__record_done) struct rp__record_parts r = {0};
  rp__buf_str(&doc, "{\"pins\":[{\"label\":\"l\",\"content\":\"long enough to be cut\"}],\"tasks\":[");
  for (int i = 0; i < 180; i++)
    rp__buf_printf(&doc, "%s{\"task_id\":\"t%d\",\"title\":\"%0250d\",\"stage\":\"build\"}", i ? "," : "", i, i);
  rp__buf_str(&doc, "]}");
  build(doc.p, &no_options, &r);
  assert_int_equal(r.n_tasks, 180);
  assert_true(total(&r) > RP_RECORD_MAX);
  assert_non_null(strstr(r.json[RP_PART_WORKING_MEMORY], "\"label\":\"l\",\"content\":\"…\""));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_part_is_there),
      cmocka_unit_test(what_went_is_kept),
      cmocka_unit_test(an_empty_session_has_an_empty_record),
      cmocka_unit_test(topics_are_ranked),
      cmocka_unit_test(topics_that_tell_nothing_new_are_compared_only),
      cmocka_unit_test(the_order_of_trimming),
      cmocka_unit_test(the_oldest_go_first),
      cmocka_unit_test(tasks_are_never_trimmed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
