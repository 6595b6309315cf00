/* SPDX-License-Identifier: Apache-2.0 */
/* Every allocation of every facet fails once. */
#include "facets_test.h"

#include "../core/alloc_fault.h"
#include "core/snapshot.h"
#include "facets/digest/cues.h"
#include "facets/emotion/emotions.h"

static const struct {
  enum rp__kind kind;
  const char *body;
} events[] = {
    {RP_KIND_MESSAGE, "{\"role\":\"user\",\"content\":\"hello\",\"message_id\":\"m\"}"},
    {RP_KIND_MESSAGE, "{\"role\":\"tool\",\"content\":[],\"message_id\":\"s\",\"partial\":true}"},
    {RP_KIND_MESSAGE, "{\"role\":\"tool\",\"content\":[{\"type\":\"text\",\"text\":\"a\"}],\"message_id\":\"s\","
                      "\"partial\":true}"},
    {RP_KIND_MESSAGE, "{\"role\":\"tool\",\"content\":[{\"type\":\"text\",\"text\":\"aaaaaaaaaaaaaaaaaaaa\"},5],"
                      "\"message_id\":\"s\"}"},
    {RP_KIND_TOOL, "{\"call_id\":\"a\",\"name\":\"sh\",\"status\":\"intended\",\"input\":{}}"},
    {RP_KIND_TOOL, "{\"call_id\":\"\\u0061\",\"name\":\"s\\nh\",\"status\":\"running\"}"},
    {RP_KIND_USAGE, "{\"tokens_in\":5}"},
    {RP_KIND_RESTORED, "{\"cause\":\"crash\",\"elapsed_seconds\":5}"},
    {RP_KIND_MESSAGE, "{\"role\":\"assistant\",\"content\":[]}"},
    {RP_KIND_TASK, "{\"task_id\":\"T\\u0031\",\"title\":\"t\\n\",\"stage\":\"build\"}"},
    {RP_KIND_PIN, "{\"label\":\"a\\n [inherited from s @ t]\",\"content\":\"todo\\ttask-1 T1\"}"},
    {RP_KIND_MESSAGE, "{\"role\":\"user\",\"content\":\"task-1 and task-2 of ham radio\"}"},
    {RP_KIND_MESSAGE, "{\"role\":\"user\",\"message_id\":\"m\",\"content\":\"task-2: the \\\"antenna\\\"\"}"},
    {RP_KIND_ACTIVITY, "{\"workdir\":\"/Projects/nova\",\"categories\":[\"x1\"],\"text\":\"some text\"}"},
    {RP_KIND_LEARNING, "{\"memory_id\":\"m\\u0031\",\"content\":\"c\\n\",\"confidence\":0.5}"},
    {RP_KIND_CONFIDENCE, "{\"memory_id\":\"m1\",\"old_score\":1,\"new_score\":0.2,\"reason\":\"\\n\"}"},
    {RP_KIND_SOP, "{\"sop_path\":\"\\n\",\"injected_at\":1,\"acknowledged\":true,\"tool_call\":{}}"},
    {RP_KIND_RESTORED, "{\"pins\":[{\"label\":\"b\",\"content\":\"wip task-3\",\"inherited_from\":\"s\"}],"
                       "\"tasks\":[{\"task_id\":\"T4\",\"title\":\"t\",\"stage\":\"build\"}],"
                       "\"memories\":[{\"memory_id\":\"m2\",\"confidence\":0.3,\"inherited_from\":\"\\n\"}]}"},
    {RP_KIND_UNPIN, "{\"label\":\"a\\n\"}"},
    {RP_KIND_SESSION, "{\"name\":\"n\",\"settings\":{\"emotions\":{}},\"meta\":{\"a\":1}}"},
    {RP_KIND_SESSION, "{\"settings\":{\"emotions\":{\"boredom\":{}},\"b\":2},\"meta\":{\"a\":null}}"},
    {RP_KIND_EMOTION, "{\"event\":\"violence\"}"},
    {RP_KIND_NOTE, "{\"id\":\"\\u0061\",\"text\":\"t\\n\",\"context_used\":true}"},
    {RP_KIND_FRAME, "{\"frame_id\":1,\"timestamp\":2,\"embedding\":[1]}"},
    {RP_KIND_TRANSCRIPT, "{\"text\":\"hello\",\"final\":false}"},
    {RP_KIND_TRANSCRIPT, "{\"text\":\"hello there\"}"},
    {RP_KIND_INTENT, "{\"topics\":[\"t\"],\"intent\":\"i\",\"context\":{\"a\":1}}"},
    {RP_KIND_INTENT, "{\"topics\":[\"u\"],\"context\":{\"b\":1}}"},
    {RP_KIND_APPROVAL, "{\"id\":\"a\",\"status\":\"pending\"}"},
    {RP_KIND_QUESTION, "{\"id\":1,\"status\":\"pending\"}"},
    {RP_KIND_PROVIDER, "{\"type\":\"t\",\"config\":{\"a\":1},\"metadata\":{\"a\":1}}"},
    {RP_KIND_PROVIDER, "{\"type\":\"t\",\"config\":{\"b\":1},\"metadata\":{\"b\":1}}"},
    {RP_KIND_SESSION, "{\"settings\":{\"cues\":{\"rules\":[\"hush\",\"psst*\"],\"log lines\":[\"<#>\"]}}}"},
    {RP_KIND_MESSAGE, "{\"role\":\"user\",\"content\":\"Fix the login, hush. Always use tabs.\\n<12>log\"}"},
    {RP_KIND_MESSAGE, "{\"role\":\"assistant\",\"content\":\"It works:\\n- a point\\n\\nShall I commit?\"}"},
    {RP_KIND_TOOL, "{\"call_id\":\"e\",\"name\":\"Edit\",\"status\":\"done\",\"input\":{\"file_path\":\"a.c\"}}"},
    {RP_KIND_TOOL, "{\"call_id\":\"e\",\"name\":\"apply_patch\",\"status\":\"running\",\"input\":"
                   "{\"input\":\"*** Begin Patch\\n*** Add File: b.c\\n\"}}"},
    {RP_KIND_TOOL, "{\"call_id\":\"e\",\"name\":\"apply_patch\",\"status\":\"done\"}"},
    {RP_KIND_TOOL, "{\"call_id\":\"r\",\"name\":\"Bash\",\"status\":\"running\",\"input\":{\"command\":\"make\"}}"},
    {RP_KIND_TOOL, "{\"call_id\":\"r\",\"name\":\"Bash\",\"status\":\"failed\",\"output\":\"error: no rule\"}"},
    {RP_KIND_TOOL, "{\"call_id\":\"g\",\"name\":\"shell\",\"status\":\"running\",\"input\":"
                   "{\"command\":[\"bash\",\"-lc\",\"git commit -m x\"]}}"},
    {RP_KIND_TOOL, "{\"call_id\":\"g\",\"name\":\"shell\",\"status\":\"done\",\"output\":\"[main 1a2b3c4] x\"}"},
    {RP_KIND_TOOL, "{\"call_id\":\"q\",\"name\":\"ask_user\",\"status\":\"running\",\"input\":{\"question\":\"P?\"}}"},
    {RP_KIND_TOOL, "{\"call_id\":\"q\",\"name\":\"ask_user\",\"status\":\"done\",\"output\":\"8081\"}"},
    {RP_KIND_TOOL, "{\"call_id\":\"t\",\"name\":\"TaskCreate\",\"status\":\"done\",\"input\":{\"subject\":\"s\"}}"},
    {RP_KIND_TODO, "{\"items\":[{\"content\":\"port\",\"status\":\"pending\"}]}"},
    {RP_KIND_APPROVAL, "{\"id\":\"d\",\"status\":\"pending\",\"acp\":{\"toolCall\":{\"title\":\"rm x\",\"kind\":"
                       "\"execute\"}}}"},
    {RP_KIND_APPROVAL, "{\"id\":\"d\",\"status\":\"denied\"}"},
    {RP_KIND_TOOL, "{\"call_id\":\"w\",\"name\":\"Bash\",\"status\":\"running\",\"input\":{\"command\":\"sleep 9\"}}"},
    {RP_KIND_MESSAGE, "{\"role\":\"user\",\"content\":\"no, go on with the login\"}"},
    {RP_KIND_TURN, "{\"status\":\"cancelled\"}"},
    {RP_KIND_PERSON, "{\"name\":\"p\"}"},
    {RP_KIND_PERSON, "{\"name\":\"q\"}"},
};

/* What a session takes over from another: a journal of its own, for only an empty one does. */
static const char carried[] = "{\"carried\":{\"conversation\":[{\"role\":\"user\",\"content\":\"c\"}],"
                              "\"affect\":{\"levels\":{},\"table\":{}},\"presence\":{\"last_person\":\"p\"}}}";

/* A fold that the test made before it counts. */
static struct rp__fold *folded;

static int live(void)
{
  RP_AUTOFOLD struct rp__fold *f = NULL, *back = NULL;
  RP_AUTOBUF struct rp__buf bytes = RP_BUF(SAVED_MAX);
  size_t raw;
  rp_error err = {0};
  int rc = rp__fold_new(&rp__facets, &f);
  for (size_t i = 0; rc == 0 && i < RP_ARRAY_SIZE(events); i++) {
    int64_t to;
    struct rp__event ev = {(int64_t)i + 1, 5, events[i].kind, NULL,
                           rp__json_trusted(events[i].body, strlen(events[i].body))};
    rc = rp__fold_apply(f, &ev, &to);
  }
  if (rc) return rc;
  rc = rp__snapshot_encode(f, NULL, &rp__system_random, RP_STR("s"), &bytes, &raw, &err);
  if (rc == 0) rc = rp__snapshot_decode(bytes.p, bytes.n, NULL, RP_STR("s"), &rp__facets, &back, &err);
  assert_int_equal(rc, err.code);
  return rc;
}

static int take_over(void)
{
  RP_AUTOFOLD struct rp__fold *f = NULL;
  int64_t to;
  struct rp__event ev = {1, 5, RP_KIND_RESTORED, NULL, rp__json_trusted(carried, strlen(carried))};
  int rc = rp__fold_new(&rp__facets, &f);
  return rc ? rc : rp__fold_apply(f, &ev, &to);
}

/* The state document; its error stays in the buffer. */
static int show_all(void)
{
  RP_AUTOBUF struct rp__buf out = RP_BUF(SAVED_MAX);
  struct rp__jw w = RP_JW(&out);
  rp__jw_object(&w);
  rp__fold_show(folded, NULL, NULL, NULL, 1000, &w);
  rp__jw_end_object(&w);
  return out.err;
}

static int emotions_file(void)
{
  RP_AUTOEMOTIONS struct rp__emotions_builder *b = NULL;
  RP_AUTOBUF struct rp__buf ini = RP_BUF(SAVED_MAX), json = RP_BUF(SAVED_MAX);
  rp_error err = {0};
  rp__emotions_ini(&ini);
  if (ini.err) return ini.err;
  int rc = rp__emotions_begin(&b);
  if (rc == 0) rc = rp__emotions_set(b, "event hug", "joy", ".5", &err);
  return rc ? rc : rp__emotions_finish(b, &json, &err);
}

static int cues_file(void)
{
  static const char ini[] = "[rules]\nnl = altijd | nooit*\n[go on]\nnl = ga door\n";
  RP_AUTOBUF struct rp__buf json = RP_BUF(SAVED_MAX);
  struct rp__cue_set *set = NULL;
  rp_error err = {0};
  int rc = rp__cues_read(rp__str(ini), &json, &err);
  assert_int_equal(rc, err.code);
  if (rc == 0) rc = rp__cues_new(rp__json_trusted(json.p, json.n), &set);
  rp__cues_free(set);
  return rc;
}

static void every_allocation_may_fail(void **state)
{
  (void)state;
  assert_true(alloc_enumerate(live, RP_E_NOMEM) > 60);
  assert_true(alloc_enumerate(take_over, RP_E_NOMEM) > 5);
  assert_true(alloc_enumerate(emotions_file, RP_E_NOMEM) > 3);
  assert_true(alloc_enumerate(cues_file, RP_E_NOMEM) > 3);
}

static void showing_needs_memory_too(void **state)
{
  (void)state;
  folded = fold_new();
  for (size_t i = 0; i < RP_ARRAY_SIZE(events); i++) tell(folded, events[i].kind, events[i].body);
  assert_true(alloc_enumerate(show_all, RP_E_NOMEM) > 3);
  rp__fold_free(folded);
}

static int one_message(void)
{
  static const char body[] = "{\"role\":\"assistant\",\"content\":\"the antenna of the ham radio is tuned\"}";
  int64_t to;
  struct rp__event ev = {rp__fold_seq(folded) + 1, 5, RP_KIND_MESSAGE, NULL, rp__json_trusted(body, sizeof body - 1)};
  return rp__fold_apply(folded, &ev, &to);
}

/* Of an assistant, as the conversation promises; a prompt is looked at by the digest, too. */
static void a_message_costs_one_allocation(void **state)
{
  (void)state;
  folded = fold_new();
  assert_int_equal(one_message(), 0); /* the table of topics is made with the first word */
  assert_int_equal(alloc_enumerate(one_message, RP_E_NOMEM), 1);
  rp__fold_free(folded);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_allocation_may_fail),
      cmocka_unit_test(showing_needs_memory_too),
      cmocka_unit_test(a_message_costs_one_allocation),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
