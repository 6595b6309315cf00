/* SPDX-License-Identifier: Apache-2.0 */
/* Emotions over time: decay, boredom, wounds, moods (N-08 to N-13). */
#include "facets_test.h"

#include "facets/emotion/affect.h"

#define T0 1708300000000 /* when it begins, ms */
#define CLOSE 1e-8       /* documents are rounded to nine digits */

static void feel(struct rp__fold *f, int64_t at_ms, const char *event)
{
  char body[120];
  snprintf(body, sizeof body, "{\"event\":\"%s\"}", event);
  tell_at(f, at_ms, RP_KIND_EMOTION, body);
}

static void feel_by(struct rp__fold *f, int64_t at_ms, const char *event, const char *intensity)
{
  char body[120];
  snprintf(body, sizeof body, "{\"event\":\"%s\",\"intensity\":%s}", event, intensity);
  tell_at(f, at_ms, RP_KIND_EMOTION, body);
}

static void restart(struct rp__fold *f, int64_t at_ms, double elapsed)
{
  char body[120];
  snprintf(body, sizeof body, "{\"type\":\"short_break\",\"cause\":\"clean\",\"elapsed_seconds\":%.3f}", elapsed);
  tell_at(f, at_ms, RP_KIND_RESTORED, body);
}

/* A value by its path: "levels.joy", "wounds.0.floors.fear". */

static struct rp__json at_path(struct rp__json v, const char *path)
{
  char part[60];
  while (*path) {
    size_t n = strcspn(path, ".");
    snprintf(part, sizeof part, "%.*s", (int)n, path);
    path += n + (path[n] == '.');
    if (v.type == RP_JSON_ARRAY) {
      struct rp__json_iter it = {0};
      struct rp__json item = {0};
      for (long i = strtol(part, NULL, 10); i >= 0; i--) {
        if (!rp__json_next(v, &it, NULL, &item)) return (struct rp__json){0};
      }
      v = item;
    } else {
      v = rp__json_get(v, part);
    }
  }
  return v;
}

static struct rp__json value_at(const struct rp__fold *f, int64_t now_ms, struct rp__buf *out, const char *path)
{
  show_at(f, now_ms, out);
  return at_path(rp__json_get(parsed(out), "affect"), path);
}

static double number_at(const struct rp__fold *f, int64_t now_ms, const char *path)
{
  RP_AUTOBUF struct rp__buf out = RP_BUF(SAVED_MAX);
  double v;
  if (!rp__json_double(value_at(f, now_ms, &out, path), &v)) fail_msg("no %s in %s", path, out.p);
  return v;
}

static void assert_number(const struct rp__fold *f, int64_t now_ms, const char *path, double want)
{
  double v = number_at(f, now_ms, path);
  if (v - want > CLOSE || want - v > CLOSE) fail_msg("%s is %.12g, not %.12g", path, v, want);
}

static void assert_mood(const struct rp__fold *f, int64_t now_ms, const char *want)
{
  RP_AUTOBUF struct rp__buf out = RP_BUF(SAVED_MAX);
  if (!rp__json_eq(value_at(f, now_ms, &out, "mood"), want)) fail_msg("not %s: %s", want, out.p);
}

static size_t wounds_at(const struct rp__fold *f, int64_t now_ms)
{
  RP_AUTOBUF struct rp__buf out = RP_BUF(SAVED_MAX);
  return rp__json_count(value_at(f, now_ms, &out, "wounds"));
}

static void nothing_felt_is_nothing_said(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  RP_AUTOBUF struct rp__buf out = RP_BUF(SAVED_MAX);
  feel(f, T0, "harsh_criticism"); /* no such event */
  restart(f, T0, 100);
  tell_at(f, T0, RP_KIND_SESSION, "{\"name\":\"x\",\"settings\":{}}");
  show_at(f, T0, &out);
  assert_int_equal(rp__json_get(parsed(&out), "affect").type, RP_JSON_NONE);
}

/* N-11: every row of the table, from the baselines. */
static void events_move_levels(void **state)
{
  (void)state;
  static const struct {
    const char *event;
    double joy, sadness, anger, fear, disgust;
    bool wounds;
  } rows[] = {
      {"pat_level1", .35, 0, 0, 0, 0, false},
      {"pat_level2", .60, 0, 0, 0, 0, false},
      {"conversation_reply", .40, 0, 0, 0, 0, false},
      {"face_recognized", .50, 0, 0, 0, 0, false},
      {"voice_speaking", .38, 0, 0, 0, 0, false},
      {"voice_listening", .35, 0, 0, 0, 0, false},
      {"vision_description", .42, 0, 0, 0, 0, false},
      {"snap_detected", .25, 0, 0, .20, 0, false},
      {"loud_noise", .20, 0, 0, .25, 0, false},
      {"person_lost", .25, .15, 0, 0, 0, false},
      {"harsh_words", .15, .20, .15, 0, 0, false},
      {"insult", .10, 0, .25, 0, .15, false},
      {"violence", 0, .30, .25, .40, 0, true},
      {"abuse", 0, .40, .20, .50, .30, true},
      {"sustained_yelling", .10, .15, .20, .30, 0, true},
  };
  for (size_t i = 0; i < RP_ARRAY_SIZE(rows); i++) {
    RP_AUTOFOLD struct rp__fold *f = fold_new();
    feel(f, T0, rows[i].event);
    assert_number(f, T0, "levels.joy", rows[i].joy);
    assert_number(f, T0, "levels.sadness", rows[i].sadness);
    assert_number(f, T0, "levels.anger", rows[i].anger);
    assert_number(f, T0, "levels.fear", rows[i].fear);
    assert_number(f, T0, "levels.disgust", rows[i].disgust);
    assert_int_equal(wounds_at(f, T0), rows[i].wounds);
    assert_sound(f);
  }
}

static void intensity_multiplies_within_bounds(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  feel_by(f, T0, "loud_noise", "0.5");
  assert_number(f, T0, "levels.fear", .125);
  assert_number(f, T0, "levels.joy", .25);
  feel_by(f, T0, "loud_noise", "-3"); /* none */
  feel_by(f, T0, "violence", "0");    /* and no wound without any */
  assert_number(f, T0, "levels.fear", .125);
  assert_int_equal(wounds_at(f, T0), 0);
  feel_by(f, T0, "pat_level1", "1e6"); /* as 10 */
  assert_number(f, T0, "levels.joy", .75);
  feel_by(f, T0, "loud_noise", "10");
  assert_number(f, T0, "levels.fear", 1);
  assert_number(f, T0, "levels.joy", 0);
  feel_by(f, T0, "pat_level1", "null");
  assert_number(f, T0, "levels.joy", .05);
}

/* N-08: down and up, to the baseline and no further; the state itself does not change by being shown. */
static void levels_return_to_their_baselines(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  feel(f, T0, "insult"); /* joy .1, anger .25, disgust .15 */
  assert_number(f, T0 + 2000, "levels.joy", .14);
  assert_number(f, T0 + 2000, "levels.anger", .15);
  assert_number(f, T0 + 2000, "levels.disgust", .03);
  assert_number(f, T0 + 3600000, "levels.joy", .3);
  assert_number(f, T0 + 3600000, "levels.anger", 0);
  assert_number(f, T0 + 3600000, "levels.disgust", 0);
  assert_number(f, T0 + 1000, "levels.anger", .2);
  assert_number(f, T0 - 9000, "levels.anger", .25);
  feel(f, T0 + 4000, "pat_level1");
  assert_number(f, T0 + 4000, "levels.joy", .1 + .08 + .05);
  assert_number(f, T0 + 4000, "levels.anger", .05);
}

static void a_clock_that_goes_back_stands_still(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  feel(f, T0, "loud_noise");
  feel(f, T0 - 3600000, "loud_noise");
  assert_number(f, T0 - 3600000, "levels.fear", .5);
  assert_number(f, T0 - 3600000 + 5000, "levels.fear", .3); /* and goes on from there */
}

/* N-10 */
static void wounds_hold_levels_up_and_heal(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  feel(f, T0, "violence");
  assert_number(f, T0 + 299000, "levels.fear", .25);
  assert_number(f, T0 + 299000, "levels.sadness", .20);
  assert_number(f, T0 + 299000, "levels.anger", 0);
  assert_number(f, T0 + 400000, "levels.fear", .15);
  assert_number(f, T0 + 400000, "wounds.0.floors.fear", .15);
  assert_number(f, T0 + 400000, "wounds.0.floors.sadness", .10);
  assert_int_equal(wounds_at(f, T0 + 549000), 1);
  assert_int_equal(wounds_at(f, T0 + 551000), 0);
  assert_number(f, T0 + 551000, "levels.fear", 0);
}

/* N-11: also in the fixed phase, all floors of all wounds. */
static void healing_events_lower_floors(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  feel(f, T0, "violence");
  feel(f, T0, "sustained_yelling");
  feel(f, T0 + 1000, "pat_level2");
  assert_number(f, T0 + 1000, "wounds.0.floors.fear", .17);
  assert_number(f, T0 + 1000, "wounds.0.floors.sadness", .12);
  assert_number(f, T0 + 1000, "wounds.1.floors.anger", .07);
  feel_by(f, T0 + 1000, "pat_level2", "2"); /* fear .25 - .24, anger and sadness gone */
  assert_number(f, T0 + 1000, "wounds.0.floors.fear", .01);
  assert_int_equal(wounds_at(f, T0 + 1000), 1);
  feel(f, T0 + 1000, "conversation_reply");
  assert_int_equal(wounds_at(f, T0 + 1000), 0);
  assert_sound(f);
}

/* N-10 */
static void five_wounds_at_most(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  for (int i = 0; i < 5; i++) feel(f, T0, "sustained_yelling");
  assert_int_equal(wounds_at(f, T0), 5);
  feel(f, T0 + 60000, "abuse");
  assert_int_equal(wounds_at(f, T0 + 60000), 5);
  assert_number(f, T0 + 60000, "levels.fear", .7);    /* a floor of .2, and .5 */
  assert_number(f, T0 + 60000, "levels.disgust", .3); /* the deltas count */
  assert_number(f, T0 + 70000, "levels.disgust", 0);  /* the floor does not */
  assert_sound(f);
}

/* N-13, and the id that is the same on every replay */
static void the_document_of_the_contract(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new(), *again = fold_new();
  RP_AUTOBUF struct rp__buf out = RP_BUF(SAVED_MAX), other = RP_BUF(SAVED_MAX);
  feel(f, T0, "violence");
  feel(again, T0, "violence");
  show_at(f, T0 + 180000, &out);
  show_at(again, T0 + 180000, &other);
  assert_string_equal(out.p, other.p);
  const char *id = strstr(out.p, "\"id\":\"");
  assert_non_null(id);
  assert_int_equal(strspn(id + 6, "0123456789abcdef"), 8);
  memset(strstr(out.p, id) + 6, '#', 8);
  assert_string_equal(
      out.p, "{\"affect\":{\"levels\":{\"joy\":0.3,\"sadness\":0.2,\"anger\":0.0,\"fear\":0.25,\"disgust\":0.0},"
             "\"boredom\":0.0,\"mood\":\"happy\",\"wounds\":[{\"id\":\"########\",\"event\":\"violence\","
             "\"floors\":{\"sadness\":0.2,\"fear\":0.25},\"duration\":300.0,\"heal_rate\":0.001,"
             "\"created_at\":1708300000.0,\"remaining_fixed_seconds\":120.0,\"healing\":false}]}}");
  show_at(f, T0 + 300000, &out);
  assert_non_null(strstr(out.p, "\"created_at\":1708300000.0,\"remaining_fixed_seconds\":0.0,\"healing\":true"));
}

/* N-12 over events */
static void moods_change_after_a_second(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  feel(f, T0, "violence"); /* wounded and sadness .3: sad, but that sinks at once; then wounded and anger .25 */
  assert_mood(f, T0, "happy");
  assert_mood(f, T0 + 500, "happy");
  assert_mood(f, T0 + 1000, "disappointed"); /* anger .2 */
  assert_mood(f, T0 + 60000, "happy");       /* joy is back at .3 */
  feel(f, T0 + 60000, "pat_level2");
  feel(f, T0 + 60000, "pat_level2");
  assert_mood(f, T0 + 61000, "excited");
  assert_sound(f);
}

/* N-10: a restart accounts for the time away in both phases, and at once. */
static void restarts_age(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  feel(f, T0, "violence");
  restart(f, T0 + 110000, 100); /* lived 10 s, away 100 s */
  assert_number(f, T0 + 110000, "levels.fear", .25);
  assert_number(f, T0 + 110000, "levels.anger", 0);
  assert_number(f, T0 + 110000, "levels.joy", .3);
  assert_number(f, T0 + 110000, "wounds.0.remaining_fixed_seconds", 190);
  assert_number(f, T0 + 110000, "wounds.0.created_at", 1708300000);
  restart(f, T0 + 410000, 300); /* 110 s into healing */
  assert_number(f, T0 + 410000, "levels.fear", .14);
  assert_number(f, T0 + 410000, "wounds.0.floors.fear", .14);
  assert_sound(f);
  restart(f, T0 + 4010000, 3600);
  assert_int_equal(wounds_at(f, T0 + 4010000), 0);
  assert_number(f, T0 + 4010000, "levels.fear", 0);
  assert_sound(f);
}

/* The wall clock was wrong: what counts is the time away as it was judged, and the wound's birth follows. */
static void birth_and_what_remains_agree(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  feel(f, T0, "violence");
  restart(f, T0 - 1000000, 100);
  assert_number(f, T0 - 1000000, "wounds.0.remaining_fixed_seconds", 200);
  assert_number(f, T0 - 1000000, "wounds.0.created_at", 1708299000 - 100);
  assert_number(f, T0 - 1000000 + 50000, "wounds.0.remaining_fixed_seconds", 150);
}

/* N-09 */
static void boredom_over_restarts(void **state)
{
  (void)state;
  static const char table[] = "{\"settings\":{\"emotions\":{\"levels\":{\"joy\":{\"baseline\":0.1}}}}}";
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  tell_at(f, T0, RP_KIND_SESSION, table);
  feel_by(f, T0, "pat_level1", "0");
  assert_number(f, T0 + 25000, "boredom", .2);
  restart(f, T0 + 85000, 60); /* lived 25 s; a minute away changes nothing */
  assert_number(f, T0 + 85000, "boredom", .2);
  restart(f, T0 + 147000, 62);
  assert_number(f, T0 + 147000, "boredom", 0);
}

/* N-07: what an earlier session felt is taken over, aged, by one that has felt nothing. */
static void carried_feelings(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *before = fold_new(), *f = fold_new(), *second = fold_new(), *third = fold_new();
  RP_AUTOBUF struct rp__buf saved = RP_BUF(SAVED_MAX), body = RP_BUF(SAVED_MAX);
  feel(before, T0, "violence");
  save(before, &saved);
  struct rp__json affect = at_path(parsed(&saved), "facets.affect");
  rp__buf_printf(&body, "{\"elapsed_seconds\":100,\"carried\":{\"affect\":%.*s}}", (int)affect.n, affect.p);
  tell_at(f, T0 + 110000, RP_KIND_RESTORED, body.p);
  restart(before, T0 + 110000, 100); /* as if it had gone on itself */
  static const char *const paths[] = {"levels.fear", "levels.joy", "wounds.0.floors.fear",
                                      "wounds.0.remaining_fixed_seconds", "wounds.0.created_at"};
  for (size_t i = 0; i < RP_ARRAY_SIZE(paths); i++)
    assert_number(f, T0 + 110000, paths[i], number_at(before, T0 + 110000, paths[i]));
  assert_sound(f);
  tell_at(f, T0 + 110000, RP_KIND_RESTORED, body.p); /* once */
  assert_number(f, T0 + 110000, "wounds.0.remaining_fixed_seconds", 90);

  /* Two restarts in a row lose nothing. */
  save(f, &saved);
  affect = at_path(parsed(&saved), "facets.affect");
  rp__buf_reset(&body);
  rp__buf_printf(&body, "{\"elapsed_seconds\":10,\"carried\":{\"affect\":%.*s}}", (int)affect.n, affect.p);
  tell_at(second, T0 + 120000, RP_KIND_RESTORED, body.p);
  assert_number(second, T0 + 120000, "wounds.0.remaining_fixed_seconds", 80);

  feel(third, T0, "pat_level1"); /* has feelings of its own */
  tell_at(third, T0 + 110000, RP_KIND_RESTORED, body.p);
  assert_int_equal(wounds_at(third, T0 + 110000), 0);
}

/* As another program wrote it: rounded, without the exact age, some of it missing or wrong. */
static void carried_feelings_of_others(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new(), *g = fold_new();
  tell_at(f, T0, RP_KIND_RESTORED,
          "{\"elapsed_seconds\":20,\"carried\":{\"affect\":{\"levels\":{\"joy\":0.9,\"fear\":0.1,\"awe\":1},"
          "\"boredom\":0.5,\"mood\":\"excited\",\"wounds\":["
          "{\"id\":\"a1b2c3d4\",\"event\":\"abuse\",\"floors\":{\"fear\":0.3},\"duration\":600,\"heal_rate\":0.0008,"
          "\"created_at\":1708299800.0,\"remaining_fixed_seconds\":420.0},"
          "{\"floors\":{\"sadness\":0.05},\"remaining_fixed_seconds\":0},"
          "{\"floors\":{\"fear\":0.001},\"heal_rate\":1,\"remaining_fixed_seconds\":1},7,{\"floors\":{}},{},{}]}}}");
  assert_number(f, T0, "levels.joy", .5);
  assert_number(f, T0, "levels.fear", .3);
  assert_number(f, T0, "boredom", .5);
  assert_mood(f, T0, "calm"); /* no longer excited, and bored */
  assert_int_equal(wounds_at(f, T0), 2);
  assert_number(f, T0, "wounds.0.remaining_fixed_seconds", 400);
  assert_number(f, T0, "wounds.0.created_at", 1708300000 - 200);
  assert_number(f, T0, "wounds.1.floors.sadness", .03);
  assert_sound(f);
  tell_at(g, T0, RP_KIND_RESTORED, "{\"elapsed_seconds\":20,\"carried\":{\"affect\":{\"levels\":7,\"wounds\":{}}}}");
  assert_number(g, T0, "levels.joy", .3);
  assert_mood(g, T0, "happy");
}

/* N-11: the table is data that a user edits, and belongs to the session. */
static void a_session_has_its_own_table(void **state)
{
  (void)state;
  static const char table[] =
      "{\"settings\":{\"emotions\":{\"levels\":{\"awe\":{\"baseline\":0.2,\"decay\":0.01},\"joy\":{\"baseline\":0.5}},"
      "\"events\":{\"sunset\":{\"deltas\":{\"awe\":0.6}},\"eclipse\":{\"deltas\":{\"awe\":1},"
      "\"wound\":{\"floors\":{\"awe\":0.4}}}}}}}";
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  tell_at(f, T0, RP_KIND_SESSION, table);
  assert_number(f, T0, "levels.joy", .5);
  assert_number(f, T0, "levels.awe", .2);
  feel(f, T0, "sunset");
  assert_number(f, T0 + 10000, "levels.awe", .7);
  feel(f, T0 + 10000, "eclipse");
  assert_number(f, T0 + 200000, "levels.awe", .4);
  assert_sound(f);
  tell_at(f, T0 + 10000, RP_KIND_SESSION, "{\"settings\":{\"other\":1}}"); /* says nothing of emotions */
  assert_number(f, T0 + 200000, "levels.awe", .4);

  /* Back to the default table: joy keeps its level and moves to another baseline, awe has no name any more. */
  tell_at(f, T0 + 10000, RP_KIND_SESSION, "{\"settings\":{\"emotions\":null}}");
  assert_number(f, T0 + 10000, "levels.joy", .5);
  assert_number(f, T0 + 60000, "levels.joy", .3);
  assert_int_equal(wounds_at(f, T0 + 10000), 0);
  feel(f, T0 + 10000, "sunset");
  assert_number(f, T0 + 10000, "levels.joy", .5);
  assert_sound(f);
}

static void a_table_too_long_is_not_taken(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  RP_AUTOBUF struct rp__buf body = RP_BUF(SAVED_MAX);
  rp__buf_str(&body, "{\"settings\":{\"emotions\":{\"levels\":{\"joy\":{\"baseline\":1}},\"comment\":\"");
  for (int i = 0; i < 33000; i++) rp__buf_char(&body, 'c');
  rp__buf_str(&body, "\"}}}");
  tell_at(f, T0, RP_KIND_SESSION, body.p);
  feel(f, T0, "pat_level1");
  assert_number(f, T0, "levels.joy", .35);
}

/* The largest the facet can be. */
static void the_bound_holds(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  RP_AUTOBUF struct rp__buf body = RP_BUF(SAVED_MAX);
  char name[80];
  rp__buf_str(&body, "{\"settings\":{\"emotions\":{\"events\":{\"");
  memset(name, 'e', 64), name[64] = '\0';
  rp__buf_printf(&body, "%s\":{\"wound\":{\"floors\":{", name);
  for (int i = 0; i < 11; i++)
    rp__buf_printf(&body, "\"a_feeling_with_a_very_long_name%x\":0.1234567890123456%d,", i, i);
  rp__buf_str(&body, "\"joy\":1}}}},\"comment\":\"");
  while (body.n < RP_EMOTIONS_BYTES + 20) rp__buf_char(&body, 'c');
  rp__buf_str(&body, "\"}}}");
  tell_at(f, T0, RP_KIND_SESSION, body.p);
  for (int i = 0; i < 6; i++) feel(f, T0 + i, name);
  assert_int_equal(wounds_at(f, T0 + 5), 5);
  assert_sound(f);
  restart(f, T0 + 301000, 300.123);
  assert_sound(f);
}

static void refuses_damaged_snapshots(void **state)
{
  (void)state;
  static const char good[] =
      "{\"levels\":{\"joy\":0.5},\"boredom\":0.1,\"mood\":\"sad\",\"wounds\":[{\"id\":\"00000001\","
      "\"event\":\"violence\",\"floors\":{\"fear\":0.2},\"duration\":300.0,\"heal_rate\":0.001,"
      "\"created_at\":1.0,\"remaining_fixed_seconds\":1.0,\"healing\":false,\"age\":299.0}],"
      "\"settling\":{\"mood\":\"happy\",\"seconds\":0.5},\"last_ms\":5,\"table\":{}}";
  static const struct {
    const char *what, *with;
  } bad[] = {
      {"{\"joy\":0.5}", "[]"},
      {"0.5}", "1.5}"},
      {"0.5}", "\"x\"}"},
      {"\"boredom\":0.1", "\"boredom\":-0.1"},
      {"\"boredom\":0.1", "\"x\":0.1"},
      {"\"sad\"", "\"glad\""},
      {"\"happy\"", "7"},
      {"\"seconds\":0.5", "\"seconds\":5"},
      {"\"last_ms\":5", "\"x\":5"},
      {"\"table\":{}", "\"table\":[]"},
      {"\"age\":299.0", "\"age\":-1"},
      {"\"age\":299.0", "\"x\":1"},
      {"\"duration\":300.0", "\"x\":1"},
      {"\"heal_rate\":0.001", "\"heal_rate\":0"},
      {"{\"fear\":0.2}", "null"},
      {"{\"fear\":0.2}", "{\"fear\":2}"},
      {"\"00000001\"", "\"000000001\""},
      {"\"violence\"", "\"vio lence\""},
      {"\"wounds\":[", "\"wounds\":[1,"},
      {"\"wounds\":[", "\"wounds\":[{},{},{},{},{},"},
  };
  rp_error err;
  assert_int_equal(load_part("affect", good, &err), 0);
  for (size_t i = 0; i < RP_ARRAY_SIZE(bad); i++) {
    char text[1000];
    const char *at = strstr(good, bad[i].what);
    assert_non_null(at);
    snprintf(text, sizeof text, "%.*s%s%s", (int)(at - good), good, bad[i].with, at + strlen(bad[i].what));
    if (load_part("affect", text, &err) != RP_E_SNAPSHOT_CORRUPT) fail_msg("%s", text);
    assert_string_equal(err.field, "affect");
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(nothing_felt_is_nothing_said),
      cmocka_unit_test(events_move_levels),
      cmocka_unit_test(intensity_multiplies_within_bounds),
      cmocka_unit_test(levels_return_to_their_baselines),
      cmocka_unit_test(a_clock_that_goes_back_stands_still),
      cmocka_unit_test(wounds_hold_levels_up_and_heal),
      cmocka_unit_test(healing_events_lower_floors),
      cmocka_unit_test(five_wounds_at_most),
      cmocka_unit_test(the_document_of_the_contract),
      cmocka_unit_test(moods_change_after_a_second),
      cmocka_unit_test(restarts_age),
      cmocka_unit_test(birth_and_what_remains_agree),
      cmocka_unit_test(boredom_over_restarts),
      cmocka_unit_test(carried_feelings),
      cmocka_unit_test(carried_feelings_of_others),
      cmocka_unit_test(a_session_has_its_own_table),
      cmocka_unit_test(a_table_too_long_is_not_taken),
      cmocka_unit_test(the_bound_holds),
      cmocka_unit_test(refuses_damaged_snapshots),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
