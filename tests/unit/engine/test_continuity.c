/* SPDX-License-Identifier: Apache-2.0 */
/* What comes back into a coder's session, and what the log says about it. Time is the rig's. */
#include "unit/engine/rig.h"

#include <sqlite3.h>
#include <stdlib.h>

#define HOUR ((int64_t)3600 * 1000)
#define DAY (24 * HOUR)

static void put(rp_session *s, const char *kind, const char *body)
{
  rp_error err = {0};
  rp_event ev = {.kind = kind, .body = body};
  OK(rp_append(s, &ev, NULL, NULL, &err), err);
}

static void end(rp_session *s)
{
  rp_error err = {0};
  OK(rp_end(s, NULL, &err), err);
  rp_session_free(s);
}

static const char *start_get(const rp_session *s, const char *path)
{
  return rig_get(rp_start_json(s), path);
}

static void id_of(const rp_session *s, char out[RP_ID_MAX + 1])
{
  snprintf(out, RP_ID_MAX + 1, "%s", rp_session_id(s));
}

/* A session of the scope with a pin, a task, a project, something learned and something said. */
static void live(struct rig *r, const char *scope, char id[RP_ID_MAX + 1])
{
  rp_session *s = rig_start(r, scope, NULL, RP_OWNER_SELF);
  put(s, "pin", "{\"label\":\"radio\",\"content\":\"The ft991a listens on channel 3\"}");
  put(s, "task", "{\"task_id\":\"task-7\",\"title\":\"Ham radio bridge\",\"stage\":\"build\"}");
  put(s, "project", "{\"name\":\"lbf-ham-radio\"}");
  put(s, "learning", "{\"memory_id\":\"m1\",\"content\":\"The antenna is on the roof\",\"confidence\":1.0}");
  put(s, "message", "{\"role\":\"user\",\"content\":\"The ham radio of the ft991a is silent, ham radio needs care\"}");
  id_of(s, id);
  end(s);
}

struct audit_search {
  const char *event;
  int n;
  char fields[4096];
};

static int on_audit(void *ctx, const rp_audit_info *a)
{
  struct audit_search *x = ctx;
  if (strcmp(a->event, x->event) != 0) return 0;
  x->n++;
  snprintf(x->fields, sizeof x->fields, "%s", a->fields);
  return 0;
}

static struct audit_search audited(struct rig *r, const char *scope, const char *event)
{
  struct audit_search x = {.event = event};
  rp_error err = {0};
  OK(rp_audit(r->e, scope, 0, 0, on_audit, &x, &err), err);
  return x;
}

/* 48 hours later, without an action of the agent. */
static void test_comes_back(void **state)
{
  struct rig *r = *state;
  char first[RP_ID_MAX + 1], pin[512];
  live(r, "coder", first);
  r->wall += 2 * DAY;
  rp_session *s = rig_start(r, "coder", NULL, RP_OWNER_SELF);
  snprintf(pin, sizeof pin, "\"%s\"", first);
  assert_string_equal(start_get(s, "previous_session_id"), pin);
  assert_string_equal(start_get(s, "inherited.pins"), "1");
  assert_string_equal(start_get(s, "inherited.tasks"), "1");
  assert_string_equal(start_get(s, "inherited.memories"), "1");
  const char *brief = start_get(s, "brief");
  assert_non_null(strstr(brief, "[SESSION CONTINUITY — inherited from 1 prior session(s)]"));
  assert_non_null(strstr(brief, "- [task-7] Ham radio bridge (last stage: build, 2d ago)"));
  assert_non_null(strstr(brief, "ACTIVE PROJECTS: lbf-ham-radio"));
  assert_non_null(strstr(brief, "ham radio"));
  assert_non_null(strstr(brief, "WORKING MEMORY RESTORED: 1 pins inherited"));
  char *doc = rig_state(s, -1);
  assert_non_null(strstr(doc, "\"inherited_from\":\""));
  assert_non_null(strstr(doc, "0.885714"));
  free(doc);
  end(s);
}

/* the stored score never changes. */
static int on_memory(void *ctx, const rp_memory_info *m)
{
  *(double *)ctx = m->confidence;
  return 0;
}

static void test_stored_score(void **state)
{
  struct rig *r = *state;
  char first[RP_ID_MAX + 1];
  double stored = 0;
  rp_error err = {0};
  live(r, "coder", first);
  r->wall += 2 * DAY;
  end(rig_start(r, "coder", NULL, RP_OWNER_SELF));
  OK(rp_memories(r->e, "coder", "antenna", 0, on_memory, &stored, &err), err);
  assert_true(stored > 0.999);
  struct audit_search decay = audited(r, "coder", "confidence_decay_applied");
  assert_int_equal(decay.n, 1);
  assert_non_null(strstr(decay.fields, "\"decayed_confidence\":0.885714"));
}

/* nothing on a cold start, in the text nor in the log. */
static void test_cold_start(void **state)
{
  struct rig *r = *state;
  rp_session *s = rig_start(r, "cold", NULL, RP_OWNER_SELF);
  assert_string_equal(start_get(s, "brief"), "null");
  assert_string_equal(start_get(s, "warnings"), "[]");
  assert_int_equal(rig_say(s, "hello").seq, 1);
  end(s);
  assert_int_equal(audited(r, "cold", "session_restored").n, 0);
  assert_int_equal(audited(r, "cold", "session_captured").n, 1);
}

/* outside of the lookback nothing qualifies, and the link is set all the same. */
static void test_too_old(void **state)
{
  struct rig *r = *state;
  char first[RP_ID_MAX + 1], link[RP_ID_MAX + 4];
  live(r, "coder", first);
  r->wall += 8 * DAY;
  rp_session *s = rig_start(r, "coder", NULL, RP_OWNER_SELF);
  snprintf(link, sizeof link, "\"%s\"", first);
  assert_string_equal(start_get(s, "previous_session_id"), link);
  assert_string_equal(start_get(s, "inherited.pins"), "0");
  end(s);
}

/* the scope's newest word on a task decides, whoever said it. */
static void test_task_done_elsewhere(void **state)
{
  struct rig *r = *state;
  char first[RP_ID_MAX + 1];
  live(r, "coder", first);
  r->wall += HOUR;
  rp_session *other = rig_start(r, "coder", NULL, RP_OWNER_SELF);
  put(other, "task",
      "{\"task_id\":\"task-7\",\"title\":\"Ham radio bridge\",\"stage\":\"deploy\",\"status\":\"done\"}");
  end(other);
  r->wall += HOUR;
  rp_session *s = rig_start(r, "coder", NULL, RP_OWNER_SELF);
  assert_null(strstr(start_get(s, "brief"), "task-7"));
  assert_string_equal(start_get(s, "inherited.tasks"), "0");
  end(s);
}

/* who was killed gets a record with his pins and tasks as of the last event, and the end of the last activity. */
static void test_crash_record(void **state)
{
  struct rig *r = *state;
  rp_session *s = rig_start(r, "coder", NULL, RP_OWNER_SELF);
  put(s, "pin", "{\"label\":\"where\",\"content\":\"in the middle\"}");
  put(s, "task", "{\"task_id\":\"task-1\",\"title\":\"Half done\",\"stage\":\"verify\"}");
  rp_session_free(s); /* without an end: what a crash looks like */
  r->wall += HOUR;
  s = rig_start(r, "coder", NULL, RP_OWNER_SELF);
  assert_string_equal(start_get(s, "inherited.pins"), "1");
  assert_string_equal(start_get(s, "inherited.tasks"), "1");
  struct audit_search captured = audited(r, "coder", "session_captured");
  assert_int_equal(captured.n, 1);
  assert_non_null(strstr(captured.fields, "\"crash_recovered\":true"));
  end(s);
}

/* fourteen days old, no score; a second time adds nothing; the log says who asked. */
static void test_continue(void **state)
{
  struct rig *r = *state;
  char first[RP_ID_MAX + 1];
  rp_error err = {0};
  char *told;
  live(r, "coder", first);
  r->wall += 14 * DAY;
  rp_session *s = rig_start(r, "coder", NULL, RP_OWNER_SELF);
  OK(rp_continue(s, first, "the reviewer", &told, &err), err);
  assert_string_equal(rig_get(told, "pins"), "1");
  assert_string_equal(rig_get(told, "tasks"), "1");
  assert_string_equal(rig_get(told, "memories"), "1");
  rp_free(told);
  char *doc = rig_state(s, -1);
  assert_non_null(strstr(doc, "ft991a listens"));
  free(doc);
  OK(rp_continue(s, first, "the reviewer", &told, &err), err);
  assert_string_equal(rig_get(told, "pins"), "0");
  rp_free(told);
  struct audit_search o = audited(r, "coder", "session_override");
  assert_int_equal(o.n, 2);
  assert_non_null(strstr(o.fields, "the reviewer"));
  end(s);
}

/* an eleventh pin is refused with a word on what to unpin; the same label again is not an eleventh. */
static void test_eleventh_pin(void **state)
{
  struct rig *r = *state;
  rp_session *s = rig_start(r, "coder", NULL, RP_OWNER_SELF);
  rp_error err = {0};
  char body[128];
  for (int i = 0; i < 10; i++) {
    snprintf(body, sizeof body, "{\"label\":\"p%d\",\"content\":\"x\"}", i);
    put(s, "pin", body);
  }
  rp_event eleventh = {.kind = "pin", .body = "{\"label\":\"one more\",\"content\":\"x\"}"};
  assert_int_equal(rp_append(s, &eleventh, NULL, NULL, &err), RP_E_PINS_FULL);
  assert_non_null(strstr(err.hint, "p0"));
  put(s, "pin", "{\"label\":\"p3\",\"content\":\"newer\"}");
  put(s, "unpin", "{\"label\":\"p0\"}");
  put(s, "pin", "{\"label\":\"one more\",\"content\":\"x\"}");
  end(s);
}

/* L-12: a warning, then a refusal that says so; what was spent is always stored. */
static void test_budget(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  setenv("REPRISE_BUDGET_USD", "1.5", 1);
  rig_reopen(r);
  unsetenv("REPRISE_BUDGET_USD");
  rp_session *s = rig_start(r, "coder", NULL, RP_OWNER_SELF);
  rig_say(s, "go");
  put(s, "usage", "{\"cost_usd\":1.0,\"tokens_in\":10}");
  rig_say(s, "more");
  put(s, "usage", "{\"cost_usd\":0.75}");
  rp_event ev = {.kind = "message", .body = "{\"role\":\"user\",\"content\":\"even more\"}"};
  assert_int_equal(rp_append(s, &ev, NULL, NULL, &err), RP_E_BUDGET);
  assert_non_null(strstr(err.message, "$1.75"));
  put(s, "message", "{\"role\":\"assistant\",\"content\":\"what was under way\"}");
  put(s, "session", "{\"settings\":{\"budget_usd\":5}}");
  rig_say(s, "now it may");
  end(s);
}

static void run_sql(struct rig *r, const char *sql)
{
  sqlite3 *db;
  char *why = NULL;
  assert_int_equal(sqlite3_open(r->url + strlen("sqlite:"), &db), SQLITE_OK);
  if (sqlite3_exec(db, sql, NULL, NULL, &why) != SQLITE_OK) fail_msg("%s: %s", sql, why);
  sqlite3_close(db);
}

/* altering, removing or reordering a record is found and located; a cut tail by the head noted before. */
static void test_audit_tampered(void **state)
{
  static const struct {
    const char *sql, *says;
  } rows[] = {
      {"UPDATE rp_audit SET fields = replace(fields, 'pin_count', 'pin_sount') WHERE event = 'session_captured'",
       "altered"},
      {"DELETE FROM rp_audit WHERE n = 2", "record 2"},
      {"UPDATE rp_audit SET at = at + 1 WHERE n = 1", "record 1"},
  };
  struct rig *r = *state;
  for (size_t i = 0; i < RP_ARRAY_SIZE(rows); i++) {
    char scope[16], first[RP_ID_MAX + 1];
    rp_error err = {0};
    snprintf(scope, sizeof scope, "s%zu", i);
    live(r, scope, first);
    live(r, scope, first);
    OK(rp_audit_verify(r->e, scope, NULL, NULL, &err), err);
    run_sql(r, rows[i].sql);
    assert_int_equal(rp_audit_verify(r->e, scope, NULL, NULL, &err), RP_E_AUDIT_BROKEN);
    assert_non_null(strstr(err.message, rows[i].says));
    run_sql(r, "DELETE FROM rp_audit; DELETE FROM rp_audit_heads");
  }
}

static void test_audit_cut(void **state)
{
  struct rig *r = *state;
  char first[RP_ID_MAX + 1], head[128], *told;
  rp_error err = {0};
  live(r, "coder", first);
  OK(rp_audit_verify(r->e, "coder", NULL, &told, &err), err);
  const char *at = strstr(told, "\"head\":\"");
  assert_non_null(at);
  snprintf(head, sizeof head, "%.*s", (int)strcspn(at + 8, "\""), at + 8);
  rp_free(told);
  OK(rp_audit_verify(r->e, "coder", head, NULL, &err), err);
  live(r, "coder", first);
  OK(rp_audit_verify(r->e, "coder", head, NULL, &err), err);
  run_sql(r, "DELETE FROM rp_audit; DELETE FROM rp_audit_heads");
  OK(rp_audit_verify(r->e, "coder", NULL, NULL, &err), err); /* an empty log is a sound one … */
  assert_int_equal(rp_audit_verify(r->e, "coder", head, NULL, &err), RP_E_AUDIT_BROKEN); /* … but not this one */
}

/* Restoration with a damaged candidate: it says so, the others come back. */
static void test_damaged_candidate(void **state)
{
  struct rig *r = *state;
  char first[RP_ID_MAX + 1], second[RP_ID_MAX + 1], sql[512], *doc;
  rp_error err = {0};
  live(r, "coder", first);
  r->wall += HOUR;
  live(r, "coder", second);
  snprintf(sql, sizeof sql, "UPDATE session_states SET working_memory = '[{\"label\":' WHERE id = '%s'", second);
  run_sql(r, sql);
  r->wall += HOUR;
  rp_brief_options o = {.scope = "coder", .explain = true};
  OK(rp_brief_scope(r->e, &o, &doc, &err), err);
  assert_non_null(strstr(doc, "\"verdict\":\"damaged\""));
  assert_non_null(strstr(doc, "\"verdict\":\"restored\""));
  rp_free(doc);
  rp_session *s = rig_start(r, "coder", NULL, RP_OWNER_SELF);
  assert_string_equal(start_get(s, "inherited.pins"), "1");
  end(s);
}

/* a restoration that fails still starts. */
static void test_fails_open(void **state)
{
  struct rig *r = *state;
  char first[RP_ID_MAX + 1];
  live(r, "coder", first);
  run_sql(r, "ALTER TABLE rp_memories RENAME TO rp_elsewhere");
  rp_session *s = rig_start(r, "coder", NULL, RP_OWNER_SELF);
  assert_string_equal(start_get(s, "brief"), "null");
  assert_non_null(strstr(start_get(s, "warnings"), "nothing was restored"));
  assert_int_equal(rig_say(s, "hello").seq, 1);
  run_sql(r, "ALTER TABLE rp_elsewhere RENAME TO rp_memories");
  end(s);
}

/* oldest first, the asked one included; a loop ends it. */
static void test_chain(void **state)
{
  struct rig *r = *state;
  char ids[4][RP_ID_MAX + 1], sql[512], *doc;
  rp_error err = {0};
  for (int i = 0; i < 4; i++) {
    live(r, "coder", ids[i]);
    r->wall += HOUR;
  }
  OK(rp_chain_json(r->e, ids[3], 3, &doc, &err), err);
  const char *a = strstr(doc, ids[1]), *b = strstr(doc, ids[2]);
  assert_non_null(a);
  assert_non_null(b);
  assert_true(a < b);
  assert_null(strstr(doc, "\"session_id\":\"none\""));
  rp_free(doc);
  snprintf(sql, sizeof sql, "UPDATE rp_sessions SET previous_id = '%s' WHERE id = '%s'", ids[3], ids[0]);
  run_sql(r, sql);
  OK(rp_chain_json(r->e, ids[3], 100, &doc, &err), err);
  rp_free(doc);
  struct audit_search x = audited(r, "coder", "session_chain_traversal");
  assert_int_equal(x.n, 2);
  assert_non_null(strstr(x.fields, "\"sessions_found\":4"));
}

/* the same start twice injects once. */
static void test_once(void **state)
{
  struct rig *r = *state;
  char first[RP_ID_MAX + 1];
  rp_error err = {0};
  rp_session *again;
  live(r, "coder", first);
  rp_start_options o = {.scope = "coder", .key = "cwd", .owner = RP_OWNER_SELF};
  rp_session *s;
  OK(rp_start(r->e, &o, &s, &err), err);
  assert_string_not_equal(start_get(s, "brief"), "null");
  OK(rp_start(r->e, &o, &again, &err), err);
  assert_string_equal(start_get(again, "brief"), "null");
  assert_string_equal(start_get(again, "repeated"), "true");
  rp_session_free(again);
  end(s);
}

/* L-07: what was on screen at a moment, of the wall clock and of the video. */
static void test_evidence(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  char *doc;
  rp_session *s = rig_start(r, "video", NULL, RP_OWNER_SELF);
  int64_t began = r->wall;
  for (int i = 0; i < 10; i++) {
    char body[160];
    snprintf(body, sizeof body, "{\"frame_id\":\"f%d\",\"timestamp\":%d}", i, 100 + i);
    put(s, "frame", body);
    snprintf(body, sizeof body, "{\"id\":\"n%d\",\"text\":\"note %d\",\"timestamp\":%d}", i, i, 100 + i);
    put(s, "note", body);
    r->wall += 60000;
  }
  OK(rp_evidence_json(s, began + 5 * 60000, 1000, false, &doc, &err), err);
  assert_non_null(strstr(doc, "\"f5\""));
  assert_non_null(strstr(doc, "note 5"));
  assert_null(strstr(doc, "\"f4\""));
  rp_free(doc);
  OK(rp_evidence_json(s, 103 * 1000, 1000, true, &doc, &err), err);
  assert_non_null(strstr(doc, "\"f2\""));
  assert_non_null(strstr(doc, "\"f4\""));
  assert_null(strstr(doc, "\"f5\""));
  rp_free(doc);
  end(s);
}

#define T(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)

int main(void)
{
  const struct CMUnitTest tests[] = {
      T(test_comes_back),
      T(test_stored_score),
      T(test_cold_start),
      T(test_too_old),
      T(test_task_done_elsewhere),
      T(test_crash_record),
      T(test_continue),
      T(test_eleventh_pin),
      T(test_budget),
      T(test_audit_tampered),
      T(test_audit_cut),
      T(test_damaged_candidate),
      T(test_fails_open),
      T(test_chain),
      T(test_once),
      T(test_evidence),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
