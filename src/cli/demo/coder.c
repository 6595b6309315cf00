/* SPDX-License-Identifier: Apache-2.0 */
/* The third act: a coder comes back after 48 hours with pins, tasks and topics. */
#include "cli/demo/demo.h"

#define HOUR_MS 3600000
#define MONDAY_MS 1772460000000 /* 2026-03-02T14:00:00Z */

static const struct rp__step taxes[] = {
    {"works", "activity", "{\"text\":\"collecting receipts for the tax return\",\"workdir\":\"/srv/papers\"}",
     "on something else, four days earlier", 0},
    {"you", NULL, NULL, "Sort the receipts by month, please.", 10},
    {"coder", NULL, NULL, "Sorted; two of them have no date.", 60},
};

static const struct rp__step radio[] = {
    {"works", "activity",
     "{\"tool\":\"edit\",\"text\":\"ham radio: CAT control of the ft991a\","
     "\"workdir\":\"/srv/Projects/lbf-ham-radio\"}",
     "in Projects/lbf-ham-radio", 0},
    {"you", NULL, NULL, "Let's get CAT control of the ft991a going in lbf-ham-radio.", 10},
    {"task", "task", "{\"task_id\":\"task-7\",\"title\":\"CAT control of the ft991a\",\"stage\":\"build\"}",
     "task-7, CAT control of the ft991a: build", 5},
    {"task", "task", "{\"task_id\":\"task-6\",\"title\":\"read the manual\",\"stage\":\"done\",\"status\":\"done\"}",
     "task-6, read the manual: done", 5},
    {"pins", "pin",
     "{\"label\":\"CRITICAL dummy load\",\"content\":\"never key the transmitter without the dummy load\","
     "\"importance\":\"critical\"}",
     "CRITICAL dummy load", 20},
    {"pins", "pin", "{\"label\":\"rig login\",\"content\":\"user ada, password=Tr4mpoline-77, port 4532\"}",
     "rig login, with a password in it", 5},
    {"coder", NULL, NULL, "Frequency and mode work over CAT; the meter readings of the ft991a come next.", 1800},
};

static int scene_before(struct rp__act *a)
{
  rp__stage_scene(&a->demo->stage, "a coder at work");
  int code = rp__act_start(a, MONDAY_MS - 4 * 24 * HOUR_MS, NULL);
  if (!code) code = rp__act_play(a, taxes, RP_ARRAY_SIZE(taxes));
  if (!code) code = rp__act_end(a);
  if (!code) code = rp__act_start(a, MONDAY_MS, NULL);
  if (!code) code = rp__act_play(a, radio, RP_ARRAY_SIZE(radio));
  if (!code) code = rp__act_remember(a, "the ft991a speaks CAT at 38400 baud", 0.9);
  return code ? code : rp__act_end(a);
}

static int scene_after(struct rp__act *a)
{
  rp__stage_scene(&a->demo->stage, "48 hours later: reprise start --topics ft991a");
  int code = rp__act_start(a, MONDAY_MS + 48 * HOUR_MS + HOUR_MS / 2 + 60000, "ft991a");
  if (!code) code = rp__act_tell_start(a);
  if (code) return code;
  rp__stage_scene(&a->demo->stage, "what is pinned; the password never reached the disk");
  code = rp__act_tell_pins(a);
  if (code) return code;
  rp__stage_scene(&a->demo->stage, "why each line: reprise brief --scope workbench --explain");
  code = rp__act_tell_reasons(a);
  return code ? code : rp__act_end(a);
}

int rp__demo_coder(struct rp__demo *d, rp_error *err)
{
  RP_CLEANUP(rp__act_done) struct rp__act a = {.demo = d, .scope = "workbench", .err = err};
  rp__demo_db(d, "coder", a.db, sizeof(a.db));
  int code = scene_before(&a);
  return code ? code : scene_after(&a);
}
