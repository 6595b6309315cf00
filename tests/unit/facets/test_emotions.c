/* SPDX-License-Identifier: Apache-2.0 */
/* The table of emotions as an INI file. */
#include "facets_test.h"

#include "facets/emotion/emotions.h"

static void same_table(const struct rp__emotions *a, const struct rp__emotions *b)
{
  assert_int_equal(a->n_levels, b->n_levels);
  assert_int_equal(a->n_events, b->n_events);
  assert_memory_equal(&a->grow, &b->grow, 4 * sizeof a->grow);
  for (size_t i = 0; i < a->n_levels; i++) {
    assert_string_equal(a->level[i].name, b->level[i].name);
    assert_true(a->level[i].baseline == b->level[i].baseline && a->level[i].decay == b->level[i].decay);
  }
  for (size_t i = 0; i < a->n_events; i++) {
    const struct rp__emotion_event *x = &a->event[i], *y = &b->event[i];
    assert_string_equal(x->name, y->name);
    assert_memory_equal(x->delta, y->delta, sizeof x->delta);
    assert_memory_equal(x->floor, y->floor, sizeof x->floor);
    assert_true(x->heals == y->heals && x->duration == y->duration && x->heal_rate == y->heal_rate);
  }
}

static void read_text(const char *json, struct rp__emotions *ret)
{
  rp__emotions_read(rp__json_trusted(json, strlen(json)), ret);
}

/* A reader of INI files as small as can be; the product's is the engine's. */
static int parse_ini(char *text, struct rp__buf *json, rp_error *err)
{
  RP_AUTOEMOTIONS struct rp__emotions_builder *b = NULL;
  char section[100] = "", *save = NULL;
  assert_int_equal(rp__emotions_begin(&b), 0);
  for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
    char *equals = strstr(line, " = ");
    if (*line == '#') continue;
    if (*line == '[') {
      snprintf(section, sizeof section, "%.*s", (int)strcspn(line + 1, "]"), line + 1);
      continue;
    }
    assert_non_null(equals);
    *equals = '\0';
    int rc = rp__emotions_set(b, section, line, equals + 3, err);
    if (rc) return rc;
  }
  return rp__emotions_finish(b, json, err);
}

/* N-08, N-09, N-11: what is printed for the user to edit is what holds without a file. */
static void the_printed_table_is_the_default_one(void **state)
{
  (void)state;
  RP_AUTOBUF struct rp__buf ini = RP_BUF(100000), json = RP_BUF(100000);
  struct rp__emotions t;
  rp_error err;
  rp__emotions_ini(&ini);
  assert_int_equal(ini.err, 0);
  assert_non_null(strstr(ini.p, "[emotion joy]\nbaseline = 0.3\ndecay = 0.02\n"));
  assert_non_null(strstr(ini.p, "[boredom]\ngrow = 0.008\nfall = 0.05\njoy_below = 0.15\nnegative_below = 0.1\n"));
  assert_non_null(strstr(ini.p, "[event pat_level2]\njoy = 0.3\nsadness = -0.2\nfear = -0.15\nwounds = -0.08\n"));
  assert_non_null(strstr(ini.p, "[wound violence]\nsadness = 0.2\nfear = 0.25\nduration = 300.0\nheal_rate = 0.001\n"));
  if (parse_ini(ini.p, &json, &err)) fail_msg("%s", err.message);
  read_text(json.p, &t);
  same_table(&t, &rp__emotions_default);
}

static void an_edited_file_changes_what_it_says(void **state)
{
  (void)state;
  char text[] = "[emotion joy]\nbaseline = .5\n[event pat_level1]\njoy = +0.2\nsadness = -.1\n"
                "[event violence]\nfear = 0\n[wound violence]\nduration = 10\n"
                "[event birthday]\njoy = 1\ncuriosity = .25\n[wound snub]\ncuriosity = .1\n"
                "[emotion curiosity]\ndecay = .01\n[boredom]\ngrow = 0\n[event pat_level2]\nwounds = 0";
  RP_AUTOBUF struct rp__buf json = RP_BUF(100000);
  struct rp__emotions t;
  rp_error err;
  if (parse_ini(text, &json, &err)) fail_msg("%s", err.message);
  read_text(json.p, &t);
  size_t curiosity = rp__emotion_find(&t, "curiosity"), snub = rp__emotion_event_find(&t, "snub"),
         violence = rp__emotion_event_find(&t, "violence"), birthday = rp__emotion_event_find(&t, "birthday");
  assert_int_equal(t.n_levels, 6);
  assert_int_equal(t.n_events, 17);
  assert_true(t.level[RP_JOY].baseline == .5 && t.level[RP_JOY].decay == .02);
  assert_true(t.level[curiosity].baseline == 0 && t.level[curiosity].decay == .01);
  assert_true(t.event[0].delta[RP_JOY] == .2 && t.event[0].delta[RP_SADNESS] == -.1);
  assert_true(t.event[violence].delta[RP_FEAR] == 0 && t.event[violence].delta[RP_ANGER] == .25);
  assert_true(t.event[violence].duration == 10 && t.event[violence].floor[RP_FEAR] == .25);
  assert_true(t.event[birthday].delta[curiosity] == .25);
  assert_true(t.event[snub].floor[curiosity] == .1 && t.event[snub].duration == 300 && t.event[snub].heal_rate == .001);
  assert_true(t.grow == 0 && t.fall == .05 && t.event[1].heals == 0);
}

static void refusals_name_section_and_key(void **state)
{
  (void)state;
  static const char *const bad[][3] = {
      {"", "joy", ".3"},
      {"moods", "joy", ".3"},
      {"emotion", "baseline", ".3"},
      {"boredom now", "grow", ".3"},
      {"emotion joy", "baseline", "1.5"},
      {"emotion joy", "baseline", "high"},
      {"emotion joy", "baseline", ""},
      {"emotion joy", "baseline", "0x1"},
      {"emotion joy", "baseline", "--1"},
      {"emotion joy", "color", "1"},
      {"emotion a b", "decay", ".1"},
      {"emotion boredom", "decay", ".1"},
      {"emotion averyveryverylongnamethatnoemotionhas", "decay", ".1"},
      {"boredom", "joy", ".1"},
      {"event pat", "joy", "2"},
      {"event pat", "j\"oy", ".2"},
      {"event pat", "wounds", ".1"},
      {"event p=t", "joy", ".1"},
      {"wound violence", "fear", "-.1"},
      {"wound violence", "duration", "1e9"},
      {"wound violence", "heal_rate", "0"},
  };
  for (size_t i = 0; i < RP_ARRAY_SIZE(bad); i++) {
    RP_AUTOEMOTIONS struct rp__emotions_builder *b = NULL;
    rp_error err = {0};
    char field[100];
    assert_int_equal(rp__emotions_begin(&b), 0);
    if (rp__emotions_set(b, bad[i][0], bad[i][1], bad[i][2], &err) != RP_E_CONFIG)
      fail_msg("[%s] %s = %s", bad[i][0], bad[i][1], bad[i][2]);
    snprintf(field, sizeof field, "[%s] %s", bad[i][0], bad[i][1]);
    assert_non_null(strstr(err.message, field));
  }
}

static void tables_have_bounds(void **state)
{
  (void)state;
  RP_AUTOEMOTIONS struct rp__emotions_builder *b = NULL;
  RP_AUTOBUF struct rp__buf json = RP_BUF(100000);
  rp_error err = {0};
  char name[60];
  assert_int_equal(rp__emotions_begin(&b), 0);
  for (int i = 0; i <= 11; i++) {
    snprintf(name, sizeof name, "feeling%d", i);
    assert_int_equal(rp__emotions_set(b, "event pat_level1", name, ".1", &err), i < 11 ? 0 : RP_E_CONFIG);
  }
  for (int i = 0; i <= 49; i++) {
    snprintf(name, sizeof name, "event happening%d", i);
    assert_int_equal(rp__emotions_set(b, name, "joy", ".1", &err), i < 49 ? 0 : RP_E_CONFIG);
  }
  assert_int_equal(rp__emotions_finish(b, &json, &err), 0);
  for (int i = 0; i < 49; i++) {
    for (int k = 0; k < 11; k++) {
      char key[20];
      snprintf(name, sizeof name, "event happening%d", i);
      snprintf(key, sizeof key, "feeling%d", k);
      assert_int_equal(rp__emotions_set(b, name, key, ".12345678901234567", &err), 0);
      snprintf(name, sizeof name, "wound happening%d", i);
      assert_int_equal(rp__emotions_set(b, name, key, ".12345678901234567", &err), 0);
    }
  }
  assert_int_equal(rp__emotions_finish(b, &json, &err), RP_E_CONFIG);
}

/* From a journal anything may come: it is brought into range or left out, never refused. */
static void json_is_taken_as_far_as_it_makes_sense(void **state)
{
  (void)state;
  static const char *const nonsense[] = {
      "{}",
      "[]",
      "7",
      "{\"levels\":5,\"events\":[],\"boredom\":null}",
      "{\"events\":{\"violence\":5}}",
      "{\"events\":{\"violence\":{\"deltas\":{\"fear\":\"x\",\"j y\":1},\"wounds\":\"x\",\"wound\":[]}}}",
      "{\"levels\":{\"joy\":3,\"\\\"\":{\"baseline\":1},\"wounds\":{\"decay\":1}},\"events\":{\"a b\":{},\"\":{}}}"};
  struct rp__emotions t, u;
  for (size_t i = 0; i < RP_ARRAY_SIZE(nonsense); i++) {
    read_text(nonsense[i], &t);
    same_table(&t, &rp__emotions_default);
  }
  read_text("{\"levels\":{\"joy\":{\"baseline\":9,\"decay\":-1}},\"boredom\":{\"grow\":5},"
            "\"events\":{\"pat_level1\":null,\"hug\":{\"deltas\":{\"joy\":7},\"wounds\":-5,"
            "\"wound\":{\"floors\":{\"awe\":2},\"duration\":1e30,\"heal_rate\":0}},\"violence\":{\"wound\":null}}}",
            &t);
  size_t hug = rp__emotion_event_find(&t, "hug"), violence = rp__emotion_event_find(&t, "violence");
  assert_true(t.level[RP_JOY].baseline == 1 && t.level[RP_JOY].decay == 0 && t.grow == 1);
  assert_int_equal(rp__emotion_event_find(&t, "pat_level1"), t.n_events);
  assert_true(t.event[hug].delta[RP_JOY] == 1 && t.event[hug].heals == 1 && t.event[hug].floor[5] == 1);
  assert_true(t.event[hug].duration == RP_EMOTION_SECONDS_MAX && t.event[hug].heal_rate == RP_EMOTION_HEAL_MIN);
  assert_true(t.event[violence].floor[RP_FEAR] == 0 && t.event[violence].delta[RP_FEAR] == .4);
  assert_true(t.level[5].baseline == 0 && t.level[5].decay == .03); /* N-08: any other emotion */

  RP_AUTOBUF struct rp__buf json = RP_BUF(RP_EMOTIONS_BYTES);
  struct rp__jw w = RP_JW(&json);
  rp__emotions_write(&t, &w);
  read_text(json.p, &u);
  same_table(&u, &t);
}

static void the_list_for_people(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  RP_AUTOBUF struct rp__buf out = RP_BUF(100000);
  struct rp__jw w = RP_JW(&out);
  assert_true(rp__emotions_known(NULL, "violence"));
  assert_true(rp__emotions_known(f, "violence"));
  assert_false(rp__emotions_known(f, "hug"));
  tell(f, RP_KIND_SESSION,
       "{\"settings\":{\"emotions\":{\"events\":{\"hug\":{\"deltas\":{\"joy\":0.5}},\"abuse\":null}}}}");
  assert_true(rp__emotions_known(f, "hug"));
  assert_false(rp__emotions_known(f, "abuse"));
  rp__emotions_list(f, &w);
  assert_int_equal(rp__json_count(parsed(&out)), 15);
  assert_non_null(strstr(out.p, "{\"event\":\"hug\",\"deltas\":{\"joy\":0.5}}"));
  assert_non_null(
      strstr(out.p, "{\"event\":\"violence\",\"deltas\":{\"joy\":-0.3,\"sadness\":0.3,\"anger\":0.25,\"fear\":0.4},"
                    "\"wound\":{\"floors\":{\"sadness\":0.2,\"fear\":0.25},\"duration\":300.0,"
                    "\"heal_rate\":0.001}}"));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_printed_table_is_the_default_one),   cmocka_unit_test(an_edited_file_changes_what_it_says),
      cmocka_unit_test(refusals_name_section_and_key),          cmocka_unit_test(tables_have_bounds),
      cmocka_unit_test(json_is_taken_as_far_as_it_makes_sense), cmocka_unit_test(the_list_for_people),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
