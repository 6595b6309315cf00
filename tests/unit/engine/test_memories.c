/* SPDX-License-Identifier: Apache-2.0 */
/* Which of the scope's memories come back, by age, topic and use. Time is the rig's. */
#include "unit/engine/rig.h"

#include <stdlib.h>

#define HOUR ((int64_t)3600 * 1000)
#define DAY (24 * HOUR)

static void learn_in(struct rig *r, const char *channel, const char *id, const char *content, double confidence)
{
  char body[400];
  rp_error err = {0};
  rp_start_options o = {.scope = "coder", .channel = channel};
  rp_session *s;
  OK(rp_start(r->e, &o, &s, &err), err);
  snprintf(body, sizeof body, "{\"memory_id\":\"%s\",\"content\":\"%s\",\"confidence\":%.2f}", id, content, confidence);
  rig_put(s, "learning", body);
  rig_end(s);
}

static void learn(struct rig *r, const char *id, const char *content, double confidence)
{
  learn_in(r, NULL, id, content, confidence);
}

static void work(struct rig *r, int sessions)
{
  for (int i = 0; i < sessions; i++) {
    rp_session *s = rig_start(r, "coder", NULL, RP_OWNER_SELF);
    rig_say(s, "and on it goes");
    rig_end(s);
  }
}

/* What a start would say of its memories. */
static char *explained(struct rig *r, const char *topics, const char *channel)
{
  rp_brief_options o = {.scope = "coder", .topics = topics, .channel = channel, .explain = true};
  rp_error err = {0};
  char *doc;
  OK(rp_brief_scope(r->e, &o, &doc, &err), err);
  char *memories = strdup(rig_get(doc, "memories"));
  rp_free(doc);
  return memories;
}

/* The place in the list of memories at which `id` stands; "none" where it does not. */
static const char *told(const char *memories, const char *id)
{
  char name[64];
  snprintf(name, sizeof name, "\"memory_id\":\"%s\"", id);
  const char *at = strstr(memories, name);
  return at ? at : "none";
}

static void verdict_is(struct rig *r, const char *id, const char *verdict, double factor)
{
  char want[64];
  char *memories = explained(r, NULL, NULL);
  const char *at = told(memories, id), *f = strstr(at, "\"factor\":");
  snprintf(want, sizeof want, "\"verdict\":\"%s\"", verdict);
  const char *v = strstr(at, "\"verdict\"");
  if (!v || strncmp(v, want, strlen(want)) != 0) fail_msg("%s is not %s: %.300s", id, verdict, at);
  assert_true(f && strtod(f + 9, NULL) > factor - 1e-4 && strtod(f + 9, NULL) < factor + 1e-4);
  free(memories);
}

static int ignore(void *ctx, const rp_memory_info *m)
{
  (void)ctx, (void)m;
  return 0;
}

static void recall(struct rig *r, const char *words)
{
  rp_error err = {0};
  OK(rp_memories(r->e, "coder", words, 0, ignore, NULL, &err), err);
  rig_reopen(r); /* what is counted in the background is stored */
}

/* A fact learned on Monday is there on Thursday, whichever sessions came between. */
static void test_monday_to_thursday(void **state)
{
  struct rig *r = *state;
  learn(r, "m1", "The antenna is on the roof", 0.9);
  for (int day = 0; day < 3; day++) {
    r->wall += DAY;
    work(r, 4);
  }
  rp_session *s = rig_start(r, "coder", NULL, RP_OWNER_SELF);
  assert_string_equal(rig_start_get(s, "inherited.memories"), "1");
  assert_non_null(strstr(rig_start_get(s, "brief"), "The antenna is on the roof"));
  rig_end(s);
  verdict_is(r, "m1", "inherited", 1 - 72 / 168.0 * .4);
}

/* The age runs from the last time that it was learned, confirmed, corrected or recalled; a list of all is no recall. */
static void test_age_runs_from_the_last_use(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  learn(r, "recalled", "The antenna is on the roof", 0.9);
  learn(r, "confirmed", "Tea at five", 0.8);
  learn(r, "corrected", "The fox is red", 0.9);
  learn(r, "left", "The owl is grey", 0.9);
  r->wall += 5 * DAY;
  recall(r, "antenna");
  recall(r, NULL);
  rp_session *s = rig_start(r, "coder", NULL, RP_OWNER_SELF);
  OK(rp_memory_confidence(s, "confirmed", 0.9, "seen", &err), err);
  OK(rp_memory_confidence(s, "corrected", 0.7, "doubtful", &err), err);
  rig_end(s);
  r->wall += 42 * HOUR;
  verdict_is(r, "recalled", "inherited", .9);
  verdict_is(r, "confirmed", "inherited", .9);
  verdict_is(r, "corrected", "inherited", .9);
  verdict_is(r, "left", "inherited", 1 - 162 / 168.0 * .4);
  r->wall += 2 * DAY;
  verdict_is(r, "recalled", "inherited", 1 - 90 / 168.0 * .4);
  verdict_is(r, "left", "outside_lookback", .5);
}

/* Once an hour at most, and the stored confidence stays. */
static void test_uses_are_counted(void **state)
{
  struct rig *r = *state;
  static const struct {
    int64_t later;
    const char *uses;
  } rows[] = {{0, "\"uses\":1,"}, {HOUR / 2, "\"uses\":1,"}, {HOUR / 2, "\"uses\":2,"}};
  learn(r, "m1", "The antenna is on the roof", 0.9);
  for (size_t i = 0; i < RP_ARRAY_SIZE(rows); i++) {
    r->wall += rows[i].later;
    recall(r, "antenna");
    char *memories = explained(r, NULL, NULL);
    assert_non_null(strstr(told(memories, "m1"), rows[i].uses));
    assert_non_null(strstr(told(memories, "m1"), "\"original\":0.9,"));
    free(memories);
  }
}

/* A search of a store that can't be written finds what there is. */
static void test_recall_reads_only(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  rp_engine *e;
  char *memories;
  learn(r, "m1", "The antenna is on the roof", 0.9);
  rp_options o = {.db = r->url, .read_only = true};
  OK(rp_open(&o, &e, &err), err);
  OK(rp_memories(e, "coder", "antenna", 0, ignore, NULL, &err), err);
  rp_close(e);
  memories = explained(r, NULL, NULL);
  assert_non_null(strstr(told(memories, "m1"), "\"uses\":0,"));
  free(memories);
}

/* What is about the topics of the start comes first, from whatever depth of the scope. */
static void test_topics(void **state)
{
  struct rig *r = *state;
  char id[16], text[40];
  learn(r, "deep", "The antenna is on the roof", 1);
  r->wall += 30 * DAY;
  rp_session *s = rig_start(r, "coder", NULL, RP_OWNER_SELF);
  for (int i = 0; i < 400; i++) {
    char body[200];
    snprintf(id, sizeof id, "m%d", i);
    snprintf(text, sizeof text, "fact number %d of many", i);
    snprintf(body, sizeof body, "{\"memory_id\":\"%s\",\"content\":\"%s\",\"confidence\":0.9}", id, text);
    rig_put(s, "learning", body);
  }
  rig_end(s);
  char *memories = explained(r, NULL, NULL);
  assert_string_equal(told(memories, "deep"), "none");
  free(memories);
  memories = explained(r, "antenna,,the-roof", NULL);
  assert_ptr_equal(told(memories, "deep"), strstr(memories, "\"memory_id\""));
  assert_non_null(strstr(told(memories, "deep"), "\"relevance\":1"));
  assert_non_null(strstr(told(memories, "deep"), "\"verdict\":\"inherited\""));
  free(memories);
}

/* What was remembered twice comes once, with the better score. */
static void test_twice(void **state)
{
  struct rig *r = *state;
  learn(r, "sure", "Tea at five", 0.9);
  learn(r, "unsure", "Tea at five", 0.5);
  char *memories = explained(r, NULL, NULL);
  assert_string_equal(told(memories, "unsure"), "none");
  assert_string_not_equal(told(memories, "sure"), "none");
  free(memories);
}

/* With per_channel a coder's memories come from sessions of its channel, as its pins do. */
static void test_channels(void **state)
{
  struct rig *r = *state;
  setenv("REPRISE_PER_CHANNEL", "true", 1);
  rig_reopen(r);
  learn_in(r, "signal", "m1", "The antenna is on the roof", 1);
  learn_in(r, "cli", "m2", "Tea at five", 1);
  for (int topics = 0; topics < 2; topics++) {
    char *memories = explained(r, topics ? "antenna,tea" : NULL, "signal");
    assert_string_not_equal(told(memories, "m1"), "none");
    assert_string_equal(told(memories, "m2"), "none");
    free(memories);
  }
  unsetenv("REPRISE_PER_CHANNEL");
  rig_reopen(r);
  char *memories = explained(r, NULL, "signal");
  assert_string_not_equal(told(memories, "m2"), "none");
  free(memories);
}

/* A sealed scope has no full text; its fresh memories are weighed by the same words. */
static void test_sealed(void **state)
{
  struct rig *r = *state;
  setenv("REPRISE_KEY", "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f", 1);
  rig_reopen(r);
  learn(r, "m1", "The antenna is on the roof", 0.5);
  learn(r, "m2", "Tea at five", 1);
  char *memories = explained(r, "antenna", NULL);
  assert_ptr_equal(told(memories, "m1"), strstr(memories, "\"memory_id\""));
  free(memories);
  unsetenv("REPRISE_KEY");
}

#define T(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)

int main(void)
{
  const struct CMUnitTest tests[] = {
      T(test_monday_to_thursday),
      T(test_age_runs_from_the_last_use),
      T(test_uses_are_counted),
      T(test_recall_reads_only),
      T(test_topics),
      T(test_twice),
      T(test_channels),
      T(test_sealed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
