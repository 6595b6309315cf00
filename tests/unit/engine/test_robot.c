/* SPDX-License-Identifier: Apache-2.0 */
/* A robot's restarts: what it remembers, how it has aged, and what it is told to say. */
#include "unit/engine/rig.h"

#include <stdlib.h>

#define SECOND ((int64_t)1000)
#define MINUTE (60 * SECOND)
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)

static int robot_setup(void **state)
{
  setenv("REPRISE_TEMPLATE", "robot", 1);
  int rc = rig_setup(state);
  unsetenv("REPRISE_TEMPLATE");
  return rc;
}

static const char *brief_of(const rp_session *s)
{
  return rig_get(rp_start_json(s), "brief");
}

static rp_session *hurt_and_talking(struct rig *r)
{
  rp_session *s = rig_start(r, "nova", NULL, RP_OWNER_SELF);
  rig_put(s, "person", "{\"name\":\"Ori\"}");
  rig_put(s, "message", "{\"role\":\"user\",\"content\":\"Tell me about space\"}");
  rig_put(s, "message", "{\"role\":\"assistant\",\"content\":\"Oh, space is incredible!\"}");
  rig_put(s, "emotion", "{\"event\":\"violence\"}");
  rig_put(s, "learning", "{\"memory_id\":\"m1\",\"content\":\"Ori likes the moons of Jupiter\"}");
  return s;
}

/* N-04, N-05: the three forms, and nothing on a fresh start; remembered facts are in the same text. */
static void test_forms(void **state)
{
  struct rig *r = *state;
  rp_session *s = hurt_and_talking(r);
  assert_string_equal(brief_of(s), "null");
  r->wall += 2 * SECOND;
  rp_session_free(s); /* a crash */
  r->wall += 5 * SECOND;
  s = rig_start(r, "nova", NULL, RP_OWNER_SELF);
  assert_non_null(strstr(brief_of(s), "Continue seamlessly as if nothing happened."));
  assert_non_null(strstr(brief_of(s), "Tell me about space"));
  rig_end(s);
  r->wall += 10 * MINUTE;
  s = rig_start(r, "nova", NULL, RP_OWNER_SELF);
  assert_non_null(strstr(brief_of(s), "Greet naturally, briefly acknowledge you're back."));
  assert_non_null(strstr(brief_of(s), "Ori"));
  assert_non_null(strstr(brief_of(s), "moons of Jupiter"));
  rig_end(s);
  r->wall += 2 * HOUR;
  s = rig_start(r, "nova", NULL, RP_OWNER_SELF);
  assert_non_null(strstr(brief_of(s), "Welcome them back warmly."));
  assert_non_null(strstr(brief_of(s), "2 hours"));
  assert_null(strstr(brief_of(s), "Oh, space is incredible!"));
  rig_end(s);
}

/* N-07: ten restarts in a row lose no conversation and no emotion; a crash in between neither. */
static void test_ten_restarts(void **state)
{
  struct rig *r = *state;
  rig_end(hurt_and_talking(r));
  for (int i = 0; i < 10; i++) {
    r->wall += 2 * SECOND;
    rp_session *s = rig_start(r, "nova", NULL, RP_OWNER_SELF);
    if (i % 3 == 1)
      rp_session_free(s);
    else
      rig_end(s);
  }
  r->wall += 2 * SECOND;
  rp_session *s = rig_start(r, "nova", NULL, RP_OWNER_SELF);
  char *doc = rig_state(s, -1);
  assert_non_null(strstr(doc, "Tell me about space"));
  assert_non_null(strstr(doc, "Oh, space is incredible!"));
  assert_string_equal(rig_get(doc, "presence.last_person"), "\"Ori\"");
  assert_non_null(strstr(rig_get(doc, "affect.wounds"), "\"violence\""));
  double fear = strtod(rig_get(doc, "affect.levels.fear"), NULL);
  assert_true(fear >= 0.25 - 1e-9); /* never below the floor of a wound that is not healing yet */
  free(doc);
  rig_end(s);
}

/* N-10, N-09: two hours later the wound has healed, and the levels are at their baselines. */
static void test_slept(void **state)
{
  struct rig *r = *state;
  rig_end(hurt_and_talking(r));
  r->wall += 2 * HOUR;
  rp_session *s = rig_start(r, "nova", NULL, RP_OWNER_SELF);
  char *doc = rig_state(s, -1);
  assert_string_equal(rig_get(doc, "affect.wounds"), "[]");
  assert_true(strtod(rig_get(doc, "affect.levels.joy"), NULL) > 0.2999);
  assert_true(strtod(rig_get(doc, "affect.levels.fear"), NULL) < 1e-9);
  assert_string_equal(rig_get(doc, "affect.mood"), "\"happy\"");
  free(doc);
  rig_end(s);
}

/* N-11: the table is data that a user edits; a session keeps the one it began with. */
static void test_own_table(void **state)
{
  struct rig *r = *state;
  char path[SCRATCH_PATH];
  scratch_path(&r->scratch, "emotions.ini", path);
  FILE *f = fopen(path, "w");
  assert_non_null(f);
  fputs("[event praise]\njoy = 0.6\n", f);
  fclose(f);
  setenv("REPRISE_EMOTIONS_FILE", path, 1);
  rig_reopen(r);
  unsetenv("REPRISE_EMOTIONS_FILE");
  rp_session *s = rig_start(r, "nova", NULL, RP_OWNER_SELF);
  rig_put(s, "emotion", "{\"event\":\"praise\"}");
  char *doc = rig_state(s, -1);
  assert_true(strtod(rig_get(doc, "affect.levels.joy"), NULL) > 0.899);
  free(doc);
  rig_end(s);
}

/* N-05: what a session that goes on has learned itself it is told once, beside what others learned. */
static void test_facts_once(void **state)
{
  struct rig *r = *state;
  rp_session *s = rig_start(r, "nova", "body", RP_OWNER_SELF);
  rig_put(s, "learning", "{\"memory_id\":\"m1\",\"content\":\"Ori likes the moons of Jupiter\"}");
  rp_session *other = rig_start(r, "nova", NULL, RP_OWNER_SELF);
  rig_put(other, "learning", "{\"memory_id\":\"m2\",\"content\":\"Mia plays the cello\"}");
  rig_end(other);
  r->wall += 20 * HOUR;
  rp_session_free(s);
  s = rig_start(r, "nova", "body", RP_OWNER_SELF);
  const char *told = strstr(brief_of(s), "moons of Jupiter");
  assert_non_null(told);
  assert_null(strstr(told + 1, "moons of Jupiter"));
  assert_non_null(strstr(brief_of(s), "Mia plays the cello"));
  rig_end(s);
}

/* N-12: a mood exists from the first second, without an event; a coder has none. */
static void test_first_mood(void **state)
{
  struct rig *r = *state;
  rp_session *s = rig_start(r, "nova", NULL, RP_OWNER_SELF);
  char *doc = rig_state(s, -1);
  assert_string_equal(rig_get(doc, "affect.mood"), "\"happy\"");
  assert_string_equal(rig_get(doc, "affect.levels"),
                      "{\"joy\":0.3,\"sadness\":0.0,\"anger\":0.0,\"fear\":0.0,\"disgust\":0.0}");
  assert_string_equal(rig_get(doc, "affect.wounds"), "[]");
  free(doc);
  assert_string_equal(brief_of(s), "null");
  assert_int_equal(rig_say(s, "hello").seq, 1); /* nothing was written for it */
  rp_session_free(s);                           /* a crash */
  r->wall += 5 * SECOND;
  s = rig_start(r, "nova", NULL, RP_OWNER_SELF);
  assert_non_null(strstr(brief_of(s), "MOOD: happy"));
  rig_end(s);
  setenv("REPRISE_TEMPLATE", "coder", 1);
  rig_reopen(r);
  unsetenv("REPRISE_TEMPLATE");
  s = rig_start(r, "coder", NULL, RP_OWNER_SELF);
  doc = rig_state(s, -1);
  assert_null(strstr(doc, "\"affect\""));
  free(doc);
  rig_end(s);
}

/* X-03, N-05, N-07: facts, conversation and its memory come back after any time, over restarts that add nothing. */
static void test_nothing_fades(void **state)
{
  struct rig *r = *state;
  rp_session *s = hurt_and_talking(r);
  rig_put(s, "learning", "{\"memory_id\":\"m2\",\"content\":\"Mia plays the cello\",\"confidence\":0.4}");
  rig_put(s, "intent", "{\"topics\":[\"telescopes\"],\"intent\":\"buy one\",\"context\":{\"for\":\"Ori\"}}");
  rig_end(s);
  for (int i = 0; i < 3; i++) {
    r->wall += 60 * DAY;
    s = rig_start(r, "nova", NULL, RP_OWNER_SELF);
    assert_non_null(strstr(brief_of(s), "moons of Jupiter (confidence 100%)"));
    assert_non_null(strstr(brief_of(s), "Mia plays the cello (confidence 40%)"));
    assert_non_null(strstr(brief_of(s), "Tell me about space"));
    assert_non_null(strstr(brief_of(s), "- topics: telescopes"));
    char *doc = rig_state(s, -1);
    assert_string_equal(rig_get(doc, "evidence.memory"),
                        "{\"topics\":[\"telescopes\"],\"intent\":\"buy one\",\"context\":{\"for\":\"Ori\"}}");
    assert_non_null(strstr(rig_get(doc, "conversation"), "Oh, space is incredible!"));
    free(doc);
    rig_end(s);
  }
  /* The next conversation has its own. */
  s = rig_start(r, "nova", NULL, RP_OWNER_SELF);
  rig_put(s, "intent", "{\"intent\":\"sell it\"}");
  char *doc = rig_state(s, -1);
  assert_string_equal(rig_get(doc, "evidence.memory.intent"), "\"sell it\"");
  free(doc);
  rig_end(s);
}

#define T(name) cmocka_unit_test_setup_teardown(name, robot_setup, rig_teardown)

int main(void)
{
  const struct CMUnitTest tests[] = {T(test_forms),      T(test_ten_restarts), T(test_slept),        T(test_own_table),
                                     T(test_facts_once), T(test_first_mood),   T(test_nothing_fades)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
