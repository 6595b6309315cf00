/* SPDX-License-Identifier: Apache-2.0 */
/* O-04: in a sealed scope nothing that was said, pinned, learned or planned is readable on the disk. */
#include "unit/engine/life.h"

#include <unistd.h>

#define KEY "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
#define OTHER "ff112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

/* One word per place where it could leak; each is looked for as it is and in the case of a topic. */
static const char *const words[] = {
    "Quagmirelabel", "Quagmirecontent", "Quagmiretask-9", "Quagmiretitle",   "Quagmireproject", "Quagmirelearning",
    "Quagmirecat",   "Quagmiresaid",    "Quagmirename",   "Quagmirenote",    "Quagmiretool",    "Quagmirereason",
    "Quagmiremeta",  "Quagmirewho",     "Quagmireperson", "Quagmireprovide", "Quagmiresop",     "Quagmireheard",
};

static int setup(void **state)
{
  setenv("REPRISE_KEY", KEY, 1);
  return rig_setup(state);
}

static int teardown(void **state)
{
  unsetenv("REPRISE_KEY");
  return rig_teardown(state);
}

static void live(rp_session *s)
{
  pin(s, "Quagmirelabel", "Quagmirecontent");
  put(s, "pin", "{\"label\":\"Quagmiregone\",\"content\":\"Quagmiregone\"}");
  put(s, "unpin", "{\"label\":\"Quagmiregone\"}");
  put(s, "task", "{\"task_id\":\"Quagmiretask-9\",\"title\":\"Quagmiretitle\",\"stage\":\"build\"}");
  put(s, "project", "{\"name\":\"Quagmireproject\"}");
  put(s, "learning",
      "{\"memory_id\":\"m1\",\"content\":\"Quagmirelearning\",\"confidence\":0.9,\"categories\":[\"Quagmirecat\"]}");
  put(s, "confidence", "{\"memory_id\":\"m1\",\"old_score\":0.9,\"new_score\":0.95,\"reason\":\"Quagmirereason\"}");
  put(s, "message", "{\"role\":\"user\",\"content\":\"Quagmiresaid\"}");
  put(s, "session", "{\"name\":\"Quagmirename\",\"settings\":{\"about\":\"Quagmirename\"}}");
  put(s, "note", "{\"id\":\"n1\",\"text\":\"Quagmirenote\"}");
  put(s, "transcript", "{\"text\":\"Quagmireheard\",\"final\":false}");
  put(s, "tool", "{\"call_id\":\"c1\",\"name\":\"Quagmiretool\",\"status\":\"intended\",\"input\":{}}");
  put(s, "person", "{\"name\":\"Quagmireperson\"}");
  put(s, "provider", "{\"type\":\"Quagmireprovide\"}");
  put(s, "sop",
      "{\"sop_path\":\"Quagmiresop\",\"injected_at\":\"2026-01-05T09:00:00Z\",\"acknowledged\":true,\"tool_call\":"
      "\"t\"}");
}

static rp_session *begin(struct rig *r, const char *key)
{
  rp_error err = {0};
  rp_session *s;
  rp_start_options o = {.scope = "vault",
                        .key = key,
                        .owner = RP_OWNER_SELF,
                        .meta = "{\"about\":\"Quagmiremeta\"}",
                        .topics = "Quagmirelabel"};
  OK(rp_start(r->e, &o, &s, &err), err);
  return s;
}

static void assert_unreadable(struct rig *r, const char *when)
{
  char lower[64];
  for (size_t i = 0; i < RP_ARRAY_SIZE(words); i++) {
    const char *where = held_by(r->scratch.dir, words[i]);
    if (where) fail_msg("%s: %s holds %s", when, where, words[i]);
    snprintf(lower, sizeof lower, "q%s", words[i] + 1);
    where = held_by(r->scratch.dir, lower);
    if (where) fail_msg("%s: %s holds %s", when, where, lower);
  }
}

/* The same life without a key leaves every word somewhere: what is looked for can be found. */
static void test_can_fail(void **state)
{
  struct rig *r = *state;
  unsetenv("REPRISE_KEY");
  rig_reopen(r);
  rp_session *s = begin(r, NULL);
  live(s);
  end(s);
  for (size_t i = 0; i < RP_ARRAY_SIZE(words); i++)
    if (strcmp(words[i], "Quagmirewho") != 0 && !held_by(r->scratch.dir, words[i]))
      fail_msg("%s is nowhere even without a key", words[i]);
}

/* Alive, ended, crashed, restored, continued, archived, redacted: never a word, and no mirror. */
static void test_nothing_readable(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  char first[RP_ID_MAX + 1], folder[SCRATCH_PATH], *doc;
  rp_session *s = begin(r, NULL);
  id_of(s, first);
  live(s);
  OK(rp_checkpoint(s, NULL, &err), err);
  assert_unreadable(r, "alive");
  end(s);
  assert_unreadable(r, "ended");
  r->wall += HOUR;
  s = begin(r, NULL);
  assert_unreadable(r, "restored");
  OK(rp_continue(s, first, "Quagmirewho", NULL, &err), err);
  assert_unreadable(r, "continued");
  rp_session_free(s);
  r->wall += HOUR;
  end(begin(r, NULL));
  assert_unreadable(r, "crashed");
  OK(rp_redact_session(r->e, first, "Quagmirecontent", false, NULL, NULL, &doc, &err), err);
  rp_free(doc);
  assert_unreadable(r, "redacted");
  r->wall += 40 * DAY;
  OK(rp_gc(r->e, &(rp_gc_options){0}, NULL, NULL, NULL, NULL, NULL, &err), err);
  assert_unreadable(r, "archived");
  assert_int_not_equal(access(scratch_path(&r->scratch, "sessions", folder), F_OK), 0);
  OK(rp_audit_verify(r->e, NULL, NULL, NULL, &err), err);
}

/* In session_states: ids, times and counts. */
static void test_the_row(void **state)
{
  struct rig *r = *state;
  rp_session *s = begin(r, NULL);
  live(s);
  end(s);
  assert_int_equal(sql_number(r, "SELECT count(*) FROM session_states WHERE working_memory = '[]' AND hot_topics = '[]'"
                                 " AND active_projects = '[]' AND pending_tasks = '[]' AND recent_learnings = '[]'"
                                 " AND confidence_updates = '[]' AND sop_interactions = '[]'"
                                 " AND end_time IS NOT NULL AND channel = 'cli'"),
                   1);
}

/* With the key all of continuity works: plan by topics, brief, tasks of the scope, memories, continue, archive. */
static void test_works_with_key(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  char first[RP_ID_MAX + 1], *doc;
  rp_session *s = begin(r, NULL);
  id_of(s, first);
  live(s);
  end(s);
  rig_reopen(r);
  r->wall += 48 * HOUR;
  rp_brief_options o = {.scope = "vault", .topics = "Quagmirelabel", .explain = true};
  OK(rp_brief_scope(r->e, &o, &doc, &err), err);
  assert_null(strstr(doc, "\"overlap\":0,")); /* keyed hashes meet, too */
  rp_free(doc);
  s = begin(r, NULL);
  assert_string_equal(start_get(s, "warnings"), "[]");
  assert_string_equal(start_get(s, "inherited.pins"), "1");
  assert_string_equal(start_get(s, "inherited.tasks"), "1");
  assert_string_equal(start_get(s, "inherited.memories"), "1");
  assert_non_null(strstr(start_get(s, "brief"), "[Quagmiretask-9] Quagmiretitle (last stage: build, 2d ago)"));
  put(s, "task", "{\"task_id\":\"Quagmiretask-9\",\"title\":\"Quagmiretitle\",\"stage\":\"done\",\"status\":\"done\"}");
  end(s);
  r->wall += HOUR;
  s = begin(r, NULL);
  assert_string_equal(start_get(s, "inherited.tasks"), "0"); /* the scope's newest word, by a keyed hash */
  end(s);
  r->wall += 40 * DAY;
  OK(rp_gc(r->e, &(rp_gc_options){0}, NULL, NULL, NULL, NULL, NULL, &err), err);
  assert_int_equal(sql_number(r, "SELECT count(*) FROM session_states"), 0);
  s = begin(r, NULL);
  OK(rp_continue(s, first, NULL, &doc, &err), err); /* from the archive, unsealed */
  assert_string_equal(rig_get(doc, "pins"), "1");
  rp_free(doc);
  assert_non_null(strstr(state_get(s, "pins"), "Quagmirecontent"));
  end(s);
}

/* A secret that is masked later is gone from the sealed archive, too: continuing does not bring it back. */
static void test_redacted_archive(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  char first[RP_ID_MAX + 1];
  rp_session *s = begin(r, NULL);
  id_of(s, first);
  live(s);
  end(s);
  r->wall += 40 * DAY;
  OK(rp_gc(r->e, &(rp_gc_options){0}, NULL, NULL, NULL, NULL, NULL, &err), err);
  OK(rp_redact_session(r->e, first, "Quagmirecontent", false, NULL, NULL, NULL, &err), err);
  s = begin(r, NULL);
  OK(rp_continue(s, first, NULL, NULL, &err), err);
  const char *pins = state_get(s, "pins");
  assert_non_null(strstr(pins, "Quagmirelabel"));
  assert_null(strstr(pins, "Quagmirecontent"));
  end(s);
}

static int nothing(void *ctx, const rp_memory_info *m)
{
  (void)ctx;
  fail_msg("memory %s was read", m->id);
  return 0;
}

static int no_record(void *ctx, const rp_audit_info *a)
{
  (void)ctx;
  (void)a;
  return 0;
}

/* Without the key, or with another: refused by name, at once; nothing is restored half. */
static void test_without_key(void **state)
{
  static const struct {
    const char *key;
    int code;
  } rows[] = {{NULL, RP_E_KEY_MISSING}, {OTHER, RP_E_KEY_WRONG}};
  struct rig *r = *state;
  rp_session *s = begin(r, "k");
  live(s);
  end(s);
  for (size_t i = 0; i < RP_ARRAY_SIZE(rows); i++) {
    rp_error err = {0};
    char *doc;
    rp_start_options o = {.scope = "vault", .owner = RP_OWNER_SELF};
    rp_brief_options b = {.scope = "vault"};
    if (rows[i].key)
      setenv("REPRISE_KEY", rows[i].key, 1);
    else
      unsetenv("REPRISE_KEY");
    rig_reopen(r);
    assert_int_equal(rp_start(r->e, &o, &s, &err), rows[i].code);
    assert_int_equal(err.code, rows[i].code);
    assert_int_equal(rp_error_lookup(rows[i].code)->exit_code, 8);
    assert_int_equal(rp_brief_scope(r->e, &b, &doc, &err), rows[i].code);
    assert_int_equal(rp_memories(r->e, "vault", NULL, 0, nothing, NULL, &err), rows[i].code);
    assert_int_equal(rp_audit(r->e, "vault", 0, 0, no_record, NULL, &err), rows[i].code);
    assert_int_equal(rp_attach(r->e, "k", &s, &err), rows[i].code);
  }
  assert_int_equal(sql_number(r, "SELECT count(*) FROM rp_sessions"), 1);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
  const struct CMUnitTest tests[] = {
      T(test_can_fail),       T(test_nothing_readable), T(test_the_row),
      T(test_works_with_key), T(test_redacted_archive), T(test_without_key),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
