/* SPDX-License-Identifier: Apache-2.0 */
/* Files that other programs read: the records of ended sessions and a robot's live session file (N-06). */
#include "unit/engine/rig.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "engine/capture/mirror.h"
#include "format/format.h"

static char live[SCRATCH_PATH];

static char *slurp(const char *path)
{
  struct rp__buf b = RP_BUF(0);
  if (rp__file_read(path, 1 << 24, &b, NULL)) return NULL;
  char *text = rp__buf_take(&b);
  return text ? text : strdup("");
}

static void spill(const char *path, const char *text, size_t n)
{
  rp_error err = {0};
  OK(rp__file_write(path, text, n, &err), err);
}

static mode_t mode_of(const char *path)
{
  struct stat st;
  return lstat(path, &st) ? 0 : st.st_mode & 07777;
}

/* The path of a session's record; whether it is there. */
static bool record_of(struct rig *r, const char *id, char *path)
{
  char name[300];
  snprintf(name, sizeof name, "sessions/%s.json", id);
  return access(scratch_path(&r->scratch, name, path), F_OK) == 0;
}

/* ---- records ---- */

static void a_record_for_every_end(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  char path[SCRATCH_PATH], folder[SCRATCH_PATH];
  rp_session *s = rig_start(r, "a", NULL, RP_OWNER_SELF);
  rig_put(s, "pin", "{\"label\":\"goal\",\"content\":\"ship it\"}");
  rig_put(s, "task", "{\"task_id\":\"task-1\",\"title\":\"Wire\",\"stage\":\"build\"}");
  assert_false(record_of(r, rp_session_id(s), path));
  OK(rp_end(s, NULL, &err), err);
  assert_true(record_of(r, rp_session_id(s), path));
  assert_int_equal(mode_of(path), 0600);
  assert_int_equal(mode_of(scratch_path(&r->scratch, "sessions", folder)), 0700);
  char *text = slurp(path);
  static const char *const members[] = {
      "session_id",       "start_time",          "end_time",      "channel",          "working_memory",
      "hot_topics",       "active_projects",     "pending_tasks", "recent_learnings", "confidence_updates",
      "sop_interactions", "previous_session_id", "continued_by",  "crash_recovered",  "schema_version"};
  for (size_t i = 0; i < RP_ARRAY_SIZE(members); i++) assert_string_not_equal(rig_get(text, members[i]), "");
  assert_non_null(strstr(text, "\n  \"working_memory\": [\n    {\n      \"label\": \"goal\""));
  assert_non_null(strstr(text, "task-1"));
  free(text);
  rp__mirror_remove(r->e, "a", rp_session_id(s));
  assert_false(record_of(r, rp_session_id(s), path));
  rp__mirror_remove(r->e, "a", rp_session_id(s)); /* none is fine */
  rp_session_free(s);
}

static void no_record_where_none_is_wanted(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  char path[SCRATCH_PATH];
  setenv("REPRISE_MIRROR", "false", 1);
  rig_reopen(r);
  unsetenv("REPRISE_MIRROR");
  rp_session *s = rig_start(r, "a", NULL, RP_OWNER_SELF);
  OK(rp_end(s, NULL, &err), err);
  assert_false(record_of(r, rp_session_id(s), path));
  rp_session_free(s);
  setenv("REPRISE_KEY", "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff", 1);
  rig_reopen(r);
  s = rig_start(r, "sealed", NULL, RP_OWNER_SELF);
  OK(rp_end(s, NULL, &err), err);
  unsetenv("REPRISE_KEY");
  assert_false(record_of(r, rp_session_id(s), path));
  rp_session_free(s);
}

static void the_folder_can_be_named(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  char folder[SCRATCH_PATH], path[SCRATCH_PATH + 300];
  setenv("REPRISE_MIRROR_DIR", scratch_path(&r->scratch, "deep/er", folder), 1);
  rig_reopen(r);
  unsetenv("REPRISE_MIRROR_DIR");
  rp_session *s = rig_start(r, "a", NULL, RP_OWNER_SELF);
  OK(rp_end(s, NULL, &err), err);
  snprintf(path, sizeof path, "%s/%s.json", folder, rp_session_id(s));
  assert_int_equal(access(path, F_OK), 0);
  rp_session_free(s);
}

/* No symlink is followed and no id leaves the folder; the session ends all the same. */
static void nobody_is_led_elsewhere(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  char elsewhere[SCRATCH_PATH], folder[SCRATCH_PATH], path[SCRATCH_PATH + 300];
  scratch_path(&r->scratch, "elsewhere", elsewhere);
  scratch_path(&r->scratch, "sessions", folder);
  assert_int_equal(mkdir(elsewhere, 0700), 0);
  assert_int_equal(symlink(elsewhere, folder), 0);
  rp_session *s = rig_start(r, "a", NULL, RP_OWNER_SELF);
  OK(rp_end(s, NULL, &err), err);
  snprintf(path, sizeof path, "%s/%s.json", elsewhere, rp_session_id(s));
  assert_int_equal(access(path, F_OK), -1);
  rp_session_free(s);
  assert_int_equal(unlink(folder), 0);
  struct rp__record_row row = {.scope = "a", .session_id = "../evil"};
  assert_int_equal(rp__mirror_record(r->e, &row, &err), RP_E_USAGE);
  snprintf(row.session_id, sizeof row.session_id, "link");
  assert_int_equal(mkdir(folder, 0700), 0);
  snprintf(path, sizeof path, "%s/link.json", folder);
  assert_int_equal(symlink("/etc/passwd", path), 0);
  assert_int_equal(rp__mirror_record(r->e, &row, &err), RP_E_REFUSED);
}

/* ---- the live file ---- */

static int live_setup(void **state)
{
  int rc = rig_setup(state);
  struct rig *r = *state;
  setenv("REPRISE_SESSION_FILE", scratch_path(&r->scratch, "robot/session.json", live), 1);
  rig_reopen(r);
  unsetenv("REPRISE_SESSION_FILE");
  return rc;
}

static char *backup(void)
{
  char path[SCRATCH_PATH + 8];
  snprintf(path, sizeof path, "%s.bak", live);
  return slurp(path);
}

static void the_file_follows_the_session(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  rp_session *s = rig_start(r, "nova", NULL, RP_OWNER_SELF);
  char id[RP_ID_MAX + 3];
  OK(rp__mirror_live(s, false, &err), err);
  char *text = slurp(live);
  assert_string_equal(rig_get(text, "shutdown_clean"), "false");
  snprintf(id, sizeof id, "\"%s\"", rp_session_id(s));
  assert_string_equal(rig_get(text, "session_id"), id);
  assert_string_equal(rig_get(text, "total_sessions"), "1");
  assert_int_equal(mode_of(live), 0600);
  free(text);
  rig_put(s, "message", "{\"role\":\"user\",\"content\":\"Tell me about \xc3\xa9toiles\"}");
  rig_put(s, "emotion", "{\"event\":\"violence\"}");
  rig_put(s, "person", "{\"name\":\"Ori\"}");
  r->wall += 5000;
  OK(rp__mirror_live(s, false, &err), err);
  text = slurp(live);
  assert_non_null(strstr(text, "\"text\": \"Tell me about \\u00e9toiles\""));
  assert_non_null(strstr(text, "\"event\": \"violence\""));
  assert_string_equal(rig_get(text, "last_person_seen"), "\"Ori\"");
  assert_string_equal(rig_get(text, "heartbeat"), "1800000005.0");
  assert_string_equal(rig_get(text, "uptime_seconds"), "5.0");
  free(text);
  OK(rp_end(s, NULL, &err), err);
  text = slurp(live);
  assert_string_equal(rig_get(text, "shutdown_clean"), "true");
  assert_non_null(strstr(text, "toiles"));
  free(text);
  rp_session_free(s);
}

/* The version before is in .bak; a bad file never takes the place of a good .bak. */
static void a_bad_file_poisons_nothing(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  rp_session *s = rig_start(r, "nova", NULL, RP_OWNER_SELF);
  OK(rp__mirror_live(s, false, &err), err);
  char *first = slurp(live);
  rig_put(s, "message", "{\"role\":\"user\",\"content\":\"second\"}");
  OK(rp__mirror_live(s, false, &err), err);
  char *bak = backup();
  assert_string_equal(bak, first);
  free(bak);
  static const char *const bad[] = {"", "{\"version\": 1, \"heartb", "{\"version\": 2}", "not even JSON"};
  for (size_t i = 0; i < RP_ARRAY_SIZE(bad); i++) {
    spill(live, bad[i], strlen(bad[i]));
    rp__mirror_heartbeat(s); /* does not touch what it can't read */
    char *text = slurp(live);
    assert_string_equal(text, bad[i]);
    free(text);
    OK(rp__mirror_live(s, false, &err), err);
    bak = backup();
    assert_string_equal(bak, first);
    free(bak);
    text = slurp(live);
    assert_non_null(strstr(text, "second"));
    free(text);
  }
  free(first);
  OK(rp_end(s, NULL, &err), err);
  rp_session_free(s);
}

static void a_heartbeat_is_only_that(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  rp_session *s = rig_start(r, "nova", NULL, RP_OWNER_SELF);
  OK(rp__mirror_live(s, false, &err), err);
  OK(rp__mirror_live(s, false, &err), err);
  char *bak = backup(), *before = slurp(live);
  r->wall += 10000;
  rp__mirror_heartbeat(s);
  char *after = slurp(live), *bak_after = backup();
  assert_string_equal(bak, bak_after);
  assert_string_equal(rig_get(after, "heartbeat"), "1800000010.0");
  assert_int_equal(strlen(before), strlen(after));
  free(before);
  /* Somebody else's file is not ours to keep alive. */
  static const char other[] = "{\"version\":1,\"heartbeat\":5.0,\"session_id\":\"another\"}";
  spill(live, other, sizeof other - 1);
  rp__mirror_heartbeat(s);
  before = slurp(live);
  assert_string_equal(before, other);
  free(before), free(after), free(bak), free(bak_after);
  OK(rp_end(s, NULL, &err), err);
  rp_session_free(s);
}

static int count_item(void *ctx, const rp_import_item *item)
{
  if (item->why && strstr(item->why, ".bak")) ++*(int *)ctx;
  return 0;
}

/* Wherever the writing of a program without our care is cut off: what is read is whole, from the file or its .bak. */
static void every_state_on_disk_can_be_read(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  rp_session *s = rig_start(r, "nova", NULL, RP_OWNER_SELF);
  rig_put(s, "message", "{\"role\":\"user\",\"content\":\"hello\"}");
  OK(rp__mirror_live(s, false, &err), err);
  OK(rp__mirror_live(s, false, &err), err);
  char *whole = slurp(live);
  size_t n = strlen(whole);
  int fallbacks = 0;
  const rp_import_options dry = {.format = "nova", .dry_run = true};
  const rp_options elsewhere = {.db = "memory:", .short_lived = true};
  rp_engine *e;
  OK(rp_open(&elsewhere, &e, &err), err);
  const rp_import_options any = {.dry_run = true}; /* what it is can be told by its .bak */
  for (size_t cut = 0; cut < n; cut += 7) {
    spill(live, whole, cut);
    OK(rp_import_file(e, live, &dry, count_item, &fallbacks, NULL, NULL, &err), err);
    OK(rp_import_file(e, live, &any, count_item, &fallbacks, NULL, NULL, &err), err);
  }
  assert_int_equal(fallbacks, 2 * ((n + 6) / 7));
  assert_int_equal(unlink(live), 0);
  OK(rp_import_file(e, live, &dry, count_item, &fallbacks, NULL, NULL, &err), err);
  free(whole);
  rp_close(e);
  rp_session_free(s);
}

/* ---- turns ---- */

static int robot_setup(void **state)
{
  setenv("REPRISE_TEMPLATE", "robot", 1);
  return live_setup(state);
}

static int robot_teardown(void **state)
{
  unsetenv("REPRISE_TEMPLATE");
  return rig_teardown(state);
}

static void say_turns(rp_session *s, int from, int to)
{
  for (int i = from; i < to; i++) {
    char body[100];
    snprintf(body, sizeof body, "{\"role\":\"%s\",\"content\":\"turn %d.\"}", i % 2 ? "assistant" : "user", i);
    rig_put(s, "message", body);
  }
}

/* The turns of the file are these and no others. */
static void expect_turns(rp_session *s, int from, int to)
{
  rp_error err = {0};
  OK(rp__mirror_live(s, false, &err), err);
  char *text = slurp(live);
  struct rp__json_iter it = {0};
  struct rp__json turn, list = rp__json_get(rp__json_trusted(text, strlen(text)), "conversation");
  assert_int_equal(rp__json_count(list), to - from);
  for (int i = from; rp__json_next(list, &it, NULL, &turn); i++) {
    char expected[40];
    snprintf(expected, sizeof expected, "turn %d.", i);
    if (!rp__json_eq(rp__json_get(turn, "text"), expected)) fail_msg("no %s in %s", expected, text);
  }
  free(text);
}

/* N-06, N-07: 50 turns of user and assistant, in the file and carried, whatever tools and the system say. */
static void turns_are_the_users_and_the_assistants(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  rp_session *s = rig_start(r, "nova", NULL, RP_OWNER_SELF);
  for (int i = 0; i < 60; i += 2) {
    say_turns(s, i, i + 2);
    rig_put(s, "message", "{\"role\":\"tool\",\"content\":\"a tool's\"}");
  }
  for (int i = 0; i < 60; i++) rig_put(s, "message", "{\"role\":\"system\",\"content\":\"the system's\"}");
  expect_turns(s, 10, 60);
  for (int life = 0; life < 2; life++) { /* two restarts in a row lose nothing */
    OK(rp_end(s, NULL, &err), err);
    rp_session_free(s);
    r->wall += 20000;
    s = rig_start(r, "nova", NULL, RP_OWNER_SELF);
    expect_turns(s, 10, 60);
    for (int i = 0; i < 40; i++) rig_put(s, "message", "{\"role\":\"tool\",\"content\":\"a tool's\"}");
  }
  say_turns(s, 60, 63);
  expect_turns(s, 13, 63);
  OK(rp_end(s, NULL, &err), err);
  rp_session_free(s);
}

static void a_stream_is_one_turn(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  rp_session *s = rig_start(r, "nova", NULL, RP_OWNER_SELF);
  say_turns(s, 0, 49);
  rig_put(s, "message", "{\"role\":\"assistant\",\"content\":\"tu\",\"partial\":true}");
  for (int i = 0; i < 100; i++) rig_put(s, "message", "{\"role\":\"assistant\",\"content\":\"\",\"partial\":true}");
  rig_put(s, "message", "{\"role\":\"assistant\",\"content\":\"rn 49.\"}");
  expect_turns(s, 0, 50);
  OK(rp_end(s, NULL, &err), err);
  rp_session_free(s);
}

/* A sealed scope has no mirror. */
static void nothing_of_a_sealed_scope(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  scratch_path(&r->scratch, "robot/session.json", live);
  setenv("REPRISE_SESSION_FILE", live, 1);
  setenv("REPRISE_KEY", "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff", 1);
  rig_reopen(r);
  rp_session *s = rig_start(r, "nova", NULL, RP_OWNER_SELF);
  OK(rp__mirror_live(s, false, &err), err);
  rp__mirror_heartbeat(s);
  OK(rp_end(s, NULL, &err), err);
  rp_session_free(s);
  unsetenv("REPRISE_KEY");
  unsetenv("REPRISE_SESSION_FILE");
  assert_int_equal(access(live, F_OK), -1);
}

#define T(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)
#define L(name) cmocka_unit_test_setup_teardown(name, live_setup, rig_teardown)
#define R(name) cmocka_unit_test_setup_teardown(name, robot_setup, robot_teardown)
int main(void)
{
  const struct CMUnitTest tests[] = {
      T(a_record_for_every_end),       T(no_record_where_none_is_wanted),
      T(the_folder_can_be_named),      T(nobody_is_led_elsewhere),
      L(the_file_follows_the_session), L(a_bad_file_poisons_nothing),
      L(a_heartbeat_is_only_that),     L(every_state_on_disk_can_be_read),
      T(nothing_of_a_sealed_scope),    R(turns_are_the_users_and_the_assistants),
      R(a_stream_is_one_turn),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
