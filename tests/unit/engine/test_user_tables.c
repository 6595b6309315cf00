/* SPDX-License-Identifier: Apache-2.0 */
/* B-13, N-11: tables that a user gives as files come into the journal of a session, once, and a bad one hinders nobody.
 */
#include "unit/engine/rig.h"

#include <stdlib.h>

static void write_file(struct rig *r, const char *name, const char *text, char path[SCRATCH_PATH])
{
  FILE *f = fopen(scratch_path(&r->scratch, name, path), "w");
  assert_non_null(f);
  fputs(text, f);
  fclose(f);
}

/* Opens the engine again with the cues in a file. */
static void give_cues(struct rig *r, const char *text)
{
  char path[SCRATCH_PATH];
  write_file(r, "cues.ini", text, path);
  setenv("REPRISE_CUES_FILE", path, 1);
  rig_reopen(r);
  unsetenv("REPRISE_CUES_FILE");
}

static void assert_rules(rp_session *s, const char *want)
{
  char *doc = rig_state(s, -1), got[2000];
  snprintf(got, sizeof got, "%s", rig_get(doc, "digest.rules"));
  free(doc);
  if (!*want && *got) fail_msg("no rule was stated, but there is %s", got);
  if (*want && !strstr(got, want)) fail_msg("'%s' is not in %s", want, got);
}

static void test_own_cues_find_rules(void **state)
{
  struct rig *r = *state;
  give_cues(r, "; Ours\n[rules]\nlatin = semper | Numquam*\n    caveat emptor\n\n[go on]\nlatin = perge\n");
  rp_session *s = rig_start(r, "w", "k", RP_OWNER_SELF);
  assert_string_equal(rig_start_get(s, "warnings"), "[]");
  rig_say(s, "Semper linguam latinam scribe in commentariis.");
  rig_say(s, "Perge");
  rig_say(s, "numquamne linea longior centum signis erit");
  rig_say(s, "Linea nova, quaeso, in fine.");
  char *doc = rig_state(s, -1);
  assert_string_equal(rig_get(doc, "settings.settings.cues"),
                      "{\"rules\":[\"semper\",\"numquam*\",\"caveat emptor\"],\"go on\":[\"perge\"]}");
  assert_non_null(strstr(rig_get(doc, "digest.rules"), "Semper linguam"));
  assert_non_null(strstr(rig_get(doc, "digest.rules"), "numquamne linea"));
  assert_null(strstr(rig_get(doc, "digest.rules"), "Linea nova"));
  assert_non_null(strstr(rig_get(doc, "digest.requests"), "\"text\":\"Perge\",\"end\":\"open\""));
  assert_non_null(strstr(rig_get(doc, "digest.requests"), "\"go_on\":true"));
  free(doc);
  rig_end(s);
}

/* The journal has them: no file is read for what was said before, and the same file is told once. */
/* A crash; the next start resumes the session. */
static void go_away(struct rig *r, rp_session *s)
{
  rp_session_free(s);
  r->wall += 60000;
}

static void test_cues_are_in_the_journal_once(void **state)
{
  struct rig *r = *state;
  give_cues(r, "[rules]\nlatin = semper\n");
  rp_session *s = rig_start(r, "w", "k", RP_OWNER_SELF);
  assert_int_equal(rig_say(s, "Semper linguam latinam scribe.").seq, 2);
  go_away(r, s);
  give_cues(r, "[rules]\nlatin = semper\n");
  s = rig_start(r, "w", "k", RP_OWNER_SELF);
  int64_t seq = rig_say(s, "Quid novi?").seq;
  assert_int_equal(seq, 4); /* `restored` stands before it */
  go_away(r, s);
  rig_reopen(r); /* without a file */
  s = rig_start(r, "w", "k", RP_OWNER_SELF);
  assert_rules(s, "Semper linguam");
  rig_say(s, "Semper et ubique parva scribe.");
  assert_rules(s, "Semper et ubique");
  go_away(r, s);
  give_cues(r, "[rules]\nlatin = cave\n"); /* an edited one counts from now on */
  s = rig_start(r, "w", "k", RP_OWNER_SELF);
  assert_int_equal(rig_say(s, "Cave canem in horto.").seq, seq + 5);
  rig_say(s, "Semper idem facimus.");
  assert_rules(s, "Semper et ubique");
  assert_rules(s, "Cave canem");
  char *doc = rig_state(s, -1);
  assert_null(strstr(rig_get(doc, "digest.rules"), "idem"));
  free(doc);
  rig_end(s);
}

static void test_bad_file_is_a_warning_with_its_line(void **state)
{
  struct rig *r = *state;
  static const struct {
    const char *text, *why;
  } bad[] = {
      {"[rules]\nlatin = semper\nnonsense\n", "cues.ini: line 3 is neither"},
      {"[rulez]\nlatin = semper\n", "cues.ini: line 1: there is no list of that name"},
      {"; no list\nlatin = semper\n", "cues.ini: line 2 is neither"},
      {"[rules]\n    semper\n", "cues.ini: line 2 is neither"},
      {"[rules]\nx = *\n", "cues.ini: line 2: an entry needs letters"},
      {"[log lines]\nx = a ~ | ~ # ?\n", "cues.ini: line 2: an entry needs letters"},
      {"[rules]\nx = \xff\n", "cues.ini: the text is no UTF-8"},
  };
  for (size_t i = 0; i < RP_ARRAY_SIZE(bad); i++) {
    give_cues(r, bad[i].text);
    rp_session *s = rig_start(r, "w", NULL, RP_OWNER_SELF);
    const char *warnings = rig_start_get(s, "warnings");
    if (!strstr(warnings, "cues_file: ") || !strstr(warnings, bad[i].why))
      fail_msg("'%s': %s lacks '%s'", bad[i].text, warnings, bad[i].why);
    assert_int_equal(rig_say(s, "Always write tests first.").seq, 1);
    assert_rules(s, "Always write tests");
    rig_end(s);
  }
}

/* What one file has wrong does not keep the other out. */
static void test_each_table_is_judged_alone(void **state)
{
  struct rig *r = *state;
  char path[SCRATCH_PATH];
  write_file(r, "emotions.ini", "[event praise]\njoy = many\n", path);
  setenv("REPRISE_EMOTIONS_FILE", path, 1);
  give_cues(r, "[rules]\nlatin = semper\n");
  rp_session *s = rig_start(r, "w", NULL, RP_OWNER_SELF);
  assert_non_null(strstr(rig_start_get(s, "warnings"), "emotions_file: "));
  rig_say(s, "Semper linguam latinam scribe.");
  assert_rules(s, "Semper");
  rig_end(s);
  write_file(r, "emotions.ini", "[event praise]\njoy = 0.5\n", path);
  give_cues(r, "[rules]\nlatin = semper\n");
  unsetenv("REPRISE_EMOTIONS_FILE");
  s = rig_start(r, "w", NULL, RP_OWNER_SELF);
  assert_string_equal(rig_start_get(s, "warnings"), "[]");
  assert_int_equal(rig_say(s, "Semper linguam latinam scribe.").seq, 2); /* both in one event */
  char *doc = rig_state(s, -1);
  assert_string_equal(rig_get(doc, "settings.settings.cues"), "{\"rules\":[\"semper\"]}");
  assert_non_null(strstr(rig_get(doc, "settings.settings.emotions"), "praise"));
  free(doc);
  rig_end(s);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_own_cues_find_rules, rig_setup, rig_teardown),
      cmocka_unit_test_setup_teardown(test_cues_are_in_the_journal_once, rig_setup, rig_teardown),
      cmocka_unit_test_setup_teardown(test_bad_file_is_a_warning_with_its_line, rig_setup, rig_teardown),
      cmocka_unit_test_setup_teardown(test_each_table_is_judged_alone, rig_setup, rig_teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
