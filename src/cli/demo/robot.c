/* SPDX-License-Identifier: Apache-2.0 */
/* The second act: a robot is hurt, restarts, sleeps for two hours, and greets its person. */
#include "cli/demo/demo.h"

#define EVENING_MS 1772562600000 /* 2026-03-03T18:30:00Z */
#define MINUTE_MS 60000

static const struct rp__step evening[] = {
    {"sees", "person", "{\"name\":\"Mia\"}", "Mia", 0},
    {"feels", "emotion", "{\"event\":\"face_recognized\"}", "face_recognized", 1},
    {"you", NULL, NULL, "Hi Nova! Shall we finish the lighthouse puzzle?", 5},
    {"nova", NULL, NULL, "Yes! Only the red roof is missing.", 4},
    {"you", NULL, NULL, "Afterwards I have to pack for Bremen, the train leaves at nine.", 20},
    {"nova", NULL, NULL, "I will remind you of the umbrella.", 4},
    {"feels", "emotion", "{\"event\":\"harsh_words\"}", "harsh_words: a stranger shouts at it", 30},
    {"feels", "emotion", "{\"event\":\"violence\"}", "violence: and strikes it", 1},
    {"sees", "person", "{\"name\":\"Mia\"}", "Mia, who comes running", 1},
};

static const struct rp__step comfort[] = {
    {"nova", NULL, NULL, "I am back. That was a bad moment, Mia.", 5},
    {"feels", "emotion", "{\"event\":\"pat_level2\"}", "pat_level2", 10},
    {"you", NULL, NULL, "It's all right. Sleep a little, I'll wake you before the train.", 20},
    {"sleep", "sleep", "{\"state\":\"falling_asleep\"}", "falling_asleep", 5},
    {"sleep", "sleep", "{\"state\":\"sleeping\"}", "sleeping", 20},
};

static const struct rp__step greeting[] = {
    {"sleep", "sleep", "{\"state\":\"waking_up\"}", "waking_up", 1},
    {"sees", "person", "{\"name\":\"Mia\"}", "Mia", 1},
    {"feels", "emotion", "{\"event\":\"face_recognized\"}", "face_recognized", 1},
    {"nova", NULL, NULL, "Mia, there you are! How did the packing go? Don't forget the umbrella for Bremen.", 3},
};

static int scene_hurt(struct rp__act *a)
{
  rp__stage_scene(&a->demo->stage, "a robot, 18:30, and a blow");
  int code = rp__act_start(a, EVENING_MS, NULL);
  if (!code) code = rp__act_play(a, evening, RP_ARRAY_SIZE(evening));
  a->demo->c->shifted.offset_ms += 2000; /* a mood settles */
  if (!code) code = rp__act_tell_mood(a);
  return code ? code : rp__act_end(a);
}

static int scene_break(struct rp__act *a)
{
  rp__stage_scene(&a->demo->stage, "four minutes later, after a restart");
  int code = rp__act_start(a, EVENING_MS + 5 * MINUTE_MS, NULL);
  if (!code) code = rp__act_tell_start(a);
  if (!code) code = rp__act_tell_mood(a);
  if (!code) code = rp__act_play(a, comfort, RP_ARRAY_SIZE(comfort));
  return code ? code : rp__act_end(a);
}

static int scene_greet(struct rp__act *a)
{
  rp__stage_scene(&a->demo->stage, "two hours of sleep later");
  int code = rp__act_start(a, EVENING_MS + 126 * MINUTE_MS, NULL);
  if (!code) code = rp__act_tell_start(a);
  if (!code) code = rp__act_tell_mood(a);
  if (code) return code;
  rp__stage_scene(&a->demo->stage, "why each line: reprise brief --scope nova --explain");
  code = rp__act_tell_reasons(a);
  if (code) return code;
  rp__stage_scene(&a->demo->stage, "and it greets its person");
  code = rp__act_play(a, greeting, RP_ARRAY_SIZE(greeting));
  a->demo->c->shifted.offset_ms += 2000;
  if (!code) code = rp__act_tell_mood(a);
  return code ? code : rp__act_end(a);
}

int rp__demo_robot(struct rp__demo *d, rp_error *err)
{
  RP_CLEANUP(rp__act_done) struct rp__act a = {.demo = d, .scope = "nova", .err = err};
  rp__demo_db(d, "robot", a.db, sizeof(a.db));
  int code = scene_hurt(&a);
  if (!code) code = scene_break(&a);
  if (!code) code = scene_greet(&a);
  return code;
}
