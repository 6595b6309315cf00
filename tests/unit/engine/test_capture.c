/* SPDX-License-Identifier: Apache-2.0 */
/* L-08, L-09: the record of a session, whichever way it ended, in the table and as a file. */
#include "unit/engine/life.h"

#include <unistd.h>

static const char *const parts[] = {"working_memory",   "hot_topics",         "active_projects", "pending_tasks",
                                    "recent_learnings", "confidence_updates", "sop_interactions"};

/* Something for every field of the seed's SessionState. */
static void live_fully(rp_session *s)
{
  pin(s, "antenna", "The ft991a listens on channel 3");
  put(s, "task", "{\"task_id\":\"task-7\",\"title\":\"Ham radio bridge\",\"stage\":\"build\"}");
  put(s, "project", "{\"name\":\"lbf-ham-radio\"}");
  put(s, "learning", "{\"memory_id\":\"m1\",\"content\":\"The antenna is on the roof\",\"confidence\":0.9}");
  put(s, "confidence", "{\"memory_id\":\"m1\",\"old_score\":0.9,\"new_score\":0.95,\"reason\":\"seen again\"}");
  put(s, "sop",
      "{\"sop_path\":\"sops/radio.md\",\"injected_at\":\"2027-01-15T08:00:00.000Z\",\"acknowledged\":true,"
      "\"tool_call\":\"exec\"}");
}

/* The mirror of a session; fails the test when there is none. */
static char *mirror_of(struct rig *r, const char *id)
{
  char name[RP_ID_MAX + 32], path[SCRATCH_PATH];
  size_t n;
  snprintf(name, sizeof name, "sessions/%s.json", id);
  char *text = slurp(scratch_path(&r->scratch, name, path), &n);
  if (!text) fail_msg("there is no %s", path);
  return text;
}

static char *column(struct rig *r, const char *id, const char *name)
{
  char sql[512];
  snprintf(sql, sizeof sql, "SELECT %s FROM session_states WHERE id = '%s'", name, id);
  return sql_text(r, sql);
}

static void assert_column(struct rig *r, const char *id, const char *name, const char *expected)
{
  char *text = column(r, id, name);
  if (strcmp(text, expected) != 0) fail_msg("%s is '%s', not '%s'", name, text, expected);
  free(text);
}

static void assert_holds(const char *what, const char *text, const char *word)
{
  if (!strstr(text, word)) fail_msg("%s lacks '%s': %.600s", what, word, text);
}

/* Row and mirror say the same, and all of it. */
static void assert_full(struct rig *r, const char *id, bool crashed)
{
  static const char *const words[] = {"ft991a listens", "lbf-ham-radio", "lbf-ham-radio", "Ham radio bridge",
                                      "\"m1\"",         "seen again",    "sops/radio.md"};
  char *mirror = mirror_of(r, id);
  assert_holds("mirror", mirror, id);
  for (size_t i = 0; i < RP_ARRAY_SIZE(parts); i++) {
    char *row = column(r, id, parts[i]);
    assert_holds(parts[i], row, words[i]);
    assert_holds(parts[i], mirror, words[i]);
    assert_string_not_equal(rig_get(mirror, parts[i]), "[]");
    free(row);
  }
  assert_string_equal(rig_get(mirror, "crash_recovered"), crashed ? "true" : "false");
  assert_string_equal(rig_get(mirror, "schema_version"), "1");
  assert_column(r, id, "hot_topics", "[\"lbf-ham-radio\"]"); /* not the words of a pin, which is told anyway */
  assert_column(r, id, "crash_recovered", crashed ? "1" : "0");
  assert_column(r, id, "schema_version", "1");
  assert_column(r, id, "channel", "cli");
  free(mirror);
}

static void assert_times(struct rig *r, const char *id, const char *start, const char *end_time)
{
  char *mirror = mirror_of(r, id), quoted[64];
  assert_column(r, id, "start_time", start);
  assert_column(r, id, "end_time", end_time);
  snprintf(quoted, sizeof quoted, "\"%s\"", end_time);
  assert_string_equal(rig_get(mirror, "end_time"), quoted);
  free(mirror);
}

/* X-01, L-08: a clean end. */
static void test_clean(void **state)
{
  struct rig *r = *state;
  char id[RP_ID_MAX + 1];
  rp_session *s = rig_start(r, "coder", NULL, RP_OWNER_SELF);
  id_of(s, id);
  live_fully(s);
  r->wall += 90 * SECOND;
  end(s);
  assert_full(r, id, false);
  assert_times(r, id, "2027-01-15T08:00:00.000Z", "2027-01-15T08:01:30.000Z");
}

/* a crash; the end is the last activity, not the time it was found. */
static void test_crash(void **state)
{
  struct rig *r = *state;
  char id[RP_ID_MAX + 1];
  rp_session *s = rig_start(r, "coder", NULL, RP_OWNER_SELF);
  id_of(s, id);
  live_fully(s);
  r->wall += 90 * SECOND;
  rig_say(s, "the last word");
  rp_session_free(s);
  r->wall += 5 * HOUR;
  end(rig_start(r, "coder", NULL, RP_OWNER_SELF));
  assert_full(r, id, true);
  assert_times(r, id, "2027-01-15T08:00:00.000Z", "2027-01-15T08:01:30.000Z");
}

static int on_info(void *ctx, const rp_session_info *i)
{
  snprintf(ctx, 64, "%s %d", rp_session_status_name(i->status), i->ended_at > 0);
  return 0;
}

/* X-01, L-08, L-09: a connection that never came back. */
static void test_abandoned(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  char id[RP_ID_MAX + 1], status[64];
  rp_session *s;
  rp_start_options o = {.scope = "video", .key = "tab", .channel = "web", .owner = RP_OWNER_NONE};
  OK(rp_start(r->e, &o, &s, &err), err);
  id_of(s, id);
  live_fully(s);
  rp_session_detach(s);
  r->wall += 61 * MINUTE;
  end(rig_start(r, "video", NULL, RP_OWNER_SELF)); /* checked at start, too */
  OK(rp_show(r->e, id, on_info, status, &err), err);
  assert_string_equal(status, "abandoned 1");
  char *row = column(r, id, "working_memory");
  assert_holds("working_memory", row, "ft991a listens");
  free(row);
  assert_column(r, id, "channel", "web");
  char *mirror = mirror_of(r, id);
  assert_holds("mirror", mirror, "sops/radio.md");
  free(mirror);
}

/* a session with a key stays open after a crash; its record is replaced at its next end. */
static void test_replaced(void **state)
{
  struct rig *r = *state;
  char id[RP_ID_MAX + 1];
  rp_session *s = rig_start(r, "coder", "cwd", RP_OWNER_SELF);
  id_of(s, id);
  pin(s, "first", "before the crash");
  rp_session_free(s);
  r->wall += HOUR;
  s = rig_start(r, "coder", "cwd", RP_OWNER_SELF);
  assert_string_equal(rp_session_id(s), id);
  assert_column(r, id, "crash_recovered", "1");
  pin(s, "second", "after the crash");
  end(s);
  char *row = column(r, id, "working_memory");
  assert_holds("working_memory", row, "after the crash");
  free(row);
  assert_column(r, id, "crash_recovered", "0");
  assert_int_equal(sql_number(r, "SELECT count(*) FROM session_states"), 1);
}

/* far more than 50 KB: trimmed in the stated order, tasks and labels all there, never refused. */
static void test_trimmed(void **state)
{
  struct rig *r = *state;
  char id[RP_ID_MAX + 1], body[8192], label[32];
  rp_session *s = rig_start(r, "coder", NULL, RP_OWNER_SELF);
  id_of(s, id);
  for (int i = 0; i < 100; i++) {
    snprintf(body, sizeof body,
             "{\"sop_path\":\"sop-%d-%0300d\",\"injected_at\":\"2026-01-05T09:00:00Z\",\"acknowledged\":true,\"tool_"
             "call\":\"t\"}",
             i, 0);
    put(s, "sop", body);
    snprintf(body, sizeof body, "{\"memory_id\":\"mem-%d\",\"content\":\"fact %d\"}", i, i);
    put(s, "learning", body);
  }
  for (int i = 0; i < 10; i++) {
    snprintf(body, sizeof body, "{\"label\":\"label-%d\",\"content\":\"%07000d\"}", i, i);
    put(s, "pin", body);
    snprintf(body, sizeof body, "{\"task_id\":\"task-%d\",\"title\":\"title %d\",\"stage\":\"build\"}", i, i);
    put(s, "task", body);
  }
  end(s);
  char *mirror = mirror_of(r, id);
  size_t row = (size_t)sql_number(r, "SELECT length(working_memory) + length(hot_topics) + length(active_projects)"
                                     " + length(pending_tasks) + length(recent_learnings)"
                                     " + length(confidence_updates) + length(sop_interactions) FROM session_states");
  assert_in_range(row, 40 * 1024, 50 * 1024); /* no more is cut than has to be */
  if (strlen(mirror) > 50 * 1024) fail_msg("the mirror has %zu bytes", strlen(mirror));
  assert_string_equal(rig_get(mirror, "sop_interactions"), "[]");
  for (int i = 0; i < 10; i++) {
    snprintf(label, sizeof label, "\"label-%d\"", i);
    assert_holds("mirror", mirror, label);
    snprintf(label, sizeof label, "\"title %d\"", i);
    assert_holds("mirror", mirror, label);
  }
  free(mirror);
}

/* previous_session_id always, continued_by once; the mirror and the row of the one before say so too. */
static void test_links(void **state)
{
  struct rig *r = *state;
  char ids[3][RP_ID_MAX + 1];
  rp_error err = {0};
  for (int i = 0; i < 3; i++) {
    rp_session *s = rig_start(r, "coder", NULL, RP_OWNER_SELF);
    id_of(s, ids[i]);
    end(s);
    r->wall += 10 * DAY; /* nothing qualifies */
  }
  assert_column(r, ids[0], "previous_session_id", "");
  assert_column(r, ids[1], "previous_session_id", ids[0]);
  assert_column(r, ids[2], "previous_session_id", ids[1]);
  assert_column(r, ids[0], "continued_by", ids[1]);
  assert_column(r, ids[1], "continued_by", ids[2]);
  /* Taken up by its own id and followed once more: the first follower stays. */
  rp_start_options again = {.scope = "coder", .id = ids[1], .owner = RP_OWNER_SELF};
  rp_session *s;
  OK(rp_start(r->e, &again, &s, &err), err);
  end(s);
  s = rig_start(r, "coder", NULL, RP_OWNER_SELF);
  end(s);
  assert_column(r, ids[1], "continued_by", ids[2]);
}

/* X-13's bound on the caller is for the benchmark; here: a record that can't be written as a file is still a record. */
static void test_mirror_refused(void **state)
{
  struct rig *r = *state;
  char path[SCRATCH_PATH], id[RP_ID_MAX + 1];
  FILE *f = fopen(scratch_path(&r->scratch, "sessions", path), "w"); /* a file where the folder should be */
  assert_non_null(f);
  fclose(f);
  rp_session *s = rig_start(r, "coder", NULL, RP_OWNER_SELF);
  id_of(s, id);
  live_fully(s);
  end(s);
  char *row = column(r, id, "working_memory");
  assert_holds("working_memory", row, "ft991a");
  free(row);
}

#define T(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)

int main(void)
{
  const struct CMUnitTest tests[] = {
      T(test_clean),   T(test_crash), T(test_abandoned),      T(test_replaced),
      T(test_trimmed), T(test_links), T(test_mirror_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
