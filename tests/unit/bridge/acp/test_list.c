/* SPDX-License-Identifier: Apache-2.0 */
/* What the editor sees of its sessions: the list, and sessions that others ended or deleted (O-05, B-06). */
#include "base/clock.h"
#include "unit/bridge/acp/rig.h"

#define LOAD(id, sid) CALL(id, "session/load", "{\"sessionId\":\"" sid "\",\"cwd\":\"/p\",\"mcpServers\":[]}")
#define DELETE(id, sid) CALL(id, "session/delete", "{\"sessionId\":\"" sid "\"}")
#define LIST(id) CALL(id, "session/list", "{\"cwd\":\"/p\"}")
#define DONE(id) RESULT(id, "{\"stopReason\":\"end_turn\"}")
#define SESSIONS 53

static void turn(struct acp_rig *x)
{
  acp_play(x, (struct acp_step[]){
                  {C, PROMPT("20", "s1", "q"), 0},
                  {TO_A, "*", 0},
                  {A_C, DONE("20"), 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
}

/* ---- ended, or deleted, by others ---- */

static void by_another(struct acp_rig *x, bool trash)
{
  rp_error err = {0};
  rp_session *s = NULL;
  rp_engine *other = acp_other_engine(x);
  OK(rp_attach(other, "s1", &s, &err), err);
  OK(rp_end(s, "elsewhere", &err), err);
  rp_session_free(s);
  if (trash) OK(rp_trash(other, "s1", NULL, &err), err);
  rp_close(other);
}

static void test_ended_elsewhere(void **state)
{
  struct acp_rig *x = *state;
  acp_begin(x, "");
  turn(x);
  by_another(x, false);
  acp_play(x, (struct acp_step[]){
                  {C, LOAD("3", "s1"), 0}, /* opens it again: the agent still has it */
                  {TO_C, "*user_message_chunk*", 0},
                  {TO_C, RESULT("3", "*\"rung\":\"live\"*"), 0},
                  {C_A, PROMPT("4", "s1", "goes on"), 0},
                  {A_C, DONE("4"), 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
  assert_int_equal(acp_count(x, "s1", "message", "*goes on*"), 1);
}

/* Noticed by what could not be stored: it is told as what it is, and loading counts what is missing. */
static void test_ended_elsewhere_in_a_turn(void **state)
{
  struct acp_rig *x = *state;
  acp_begin(x, "");
  turn(x);
  by_another(x, false);
  acp_play(x, (struct acp_step[]){
                  {C_A, PROMPT("4", "s1", "unheard"), 0},
                  {TO_C, "*agent_message_chunk*ended elsewhere*", 0},
                  {A_C, DONE("4"), 0},
                  {C, PROMPT("5", "s1", "and now?"), 0},
                  {TO_C, REFUSED("5", "-32603") "ended elsewhere; load it*", 0},
                  {C, LOAD("6", "s1"), 0},
                  {TO_C, "*user_message_chunk*", 0},
                  {TO_C, RESULT("6", "*\"rung\":\"live\"*"), 0},
                  {C_A, PROMPT("7", "s1", "goes on"), 0},
                  {END, NULL, 0},
              });
  assert_int_equal(acp_count(x, "s1", "message", "*unheard*"), 0);
  assert_int_equal(acp_count(x, "s1", "x-acp-gap", "*\"lost\":2,*"), 1);
}

static void test_deleted_elsewhere(void **state)
{
  struct acp_rig *x = *state;
  acp_begin(x, "");
  turn(x);
  by_another(x, true);
  acp_play(x, (struct acp_step[]){
                  {C_A, PROMPT("4", "s1", "unheard"), 0},
                  {TO_C, "*agent_message_chunk*was deleted*", 0},
                  {C, PROMPT("5", "s1", "and now?"), 0},
                  {TO_C, REFUSED("5", "-32603") "was deleted*", 0},
                  {C, LOAD("6", "s1"), 0},
                  {TO_C, REFUSED("6", "-32002") "\"sessionId\":\"s1\"*", 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
}

/* ---- deleting in a turn ---- */

static void test_deleting_in_a_turn(void **state)
{
  struct acp_rig *x = *state;
  acp_begin(x, "\"sessionCapabilities\":{\"delete\":{}}");
  acp_play(x, (struct acp_step[]){
                  {C_A, PROMPT("2", "s1", "q"), 0},
                  {C, DELETE("3", "s1"), 0},
                  {TO_A, NOTE("session/cancel", "{\"sessionId\":\"s1\"}"), 0},
                  {NONE, NULL, 0},
                  {A_C, RESULT("2", "{\"stopReason\":\"cancelled\"}"), 0},
                  {TO_A, CALL("\"reprise/1\"", "session/delete", "{\"sessionId\":\"s1\"}"), 0},
                  {NONE, NULL, 0},
                  {A, RESULT("\"reprise/1\"", "{}"), 0},
                  {TO_C, RESULT("3", "{}"), 0},
                  {C, LIST("4"), 0},
                  {TO_C, RESULT("4", "{\"sessions\":[]}"), 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
}

/* What was deleted is no session any more, whatever the agent still has: else a turn would be recorded nowhere. */
static void test_what_was_deleted_is_refused(void **state)
{
  struct acp_rig *x = *state;
  acp_begin(x, "");
  acp_play(x, (struct acp_step[]){
                  {C, DELETE("2", "s1"), 0},
                  {TO_C, RESULT("2", "{}"), 0},
                  {C, PROMPT("3", "s1", "still there?"), 0},
                  {TO_C, REFUSED("3", "-32002") "\"sessionId\":\"s1\"*", 0},
                  {C, CALL("4", "session/set_mode", "{\"sessionId\":\"s1\",\"modeId\":\"m\"}"), 0},
                  {TO_C, REFUSED("4", "-32002"), 0},
                  {C, CALL("5", "session/set_config_option", "{\"sessionId\":\"s1\",\"configId\":\"c\"}"), 0},
                  {TO_C, REFUSED("5", "-32002"), 0},
                  {C_A, PROMPT("6", "never seen", "the agent's own"), 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
}

/* An agent that does not answer, or dies of it, keeps nobody waiting. */
static void test_deleting_at_an_agent_that_dies(void **state)
{
  struct acp_rig *x = *state;
  acp_begin(x, "\"sessionCapabilities\":{\"delete\":{}}");
  acp_play(x, (struct acp_step[]){
                  {C_A, PROMPT("2", "s1", "q"), 0},
                  {C, DELETE("3", "s1"), 0},
                  {TO_A, "*session/cancel*", 0},
                  {A, RESULT("2", "{\"stopReason\":\"cancelled\"}"), 0},
                  {TO_C, "*cancelled*", 0},
                  {TO_A, "*session/delete*", 0},
                  {DIE, NULL, -9},
                  {TO_C, RESULT("3", "{}"), 0},
                  {END, NULL, 0},
              });
}

/* ---- the list ---- */

static void begin_many(struct acp_rig *x)
{
  char line[200];
  acp_greet(x, "");
  for (int i = 0; i < SESSIONS; i++) {
    acp_say(x, RP_ACP_CLIENT, NEW("1"));
    acp_next(x, RP_ACP_AGENT);
    snprintf(line, sizeof line, RESULT("1", "{\"sessionId\":\"n%d\"}"), i);
    acp_say(x, RP_ACP_AGENT, line);
    assert_string_equal(acp_next(x, RP_ACP_CLIENT), line);
  }
}

/* Its events are later than all before: the clock has gone on. */
static void use(struct acp_rig *x, const char *sid)
{
  char line[300];
  int64_t now = rp__wall(&rp__system_clock);
  while (rp__wall(&rp__system_clock) <= now) {
  }
  snprintf(line, sizeof line, PROMPT("9", "%s", "used"), sid);
  acp_say(x, RP_ACP_CLIENT, line);
  assert_string_equal(acp_next(x, RP_ACP_AGENT), line);
  acp_say(x, RP_ACP_AGENT, DONE("9"));
  assert_string_equal(acp_next(x, RP_ACP_CLIENT), DONE("9"));
}

static void cursor_of(const char *page, char out[200])
{
  const char *at = strstr(page, "\"nextCursor\":\"");
  assert_non_null(at);
  snprintf(out, 200, "%.*s", (int)strcspn(at + 14, "\""), at + 14);
}

static const char *page_after(struct acp_rig *x, const char *cursor)
{
  char line[400];
  snprintf(line, sizeof line, CALL("8", "session/list", "{\"cwd\":\"/p\",\"cursor\":\"%s\"}"), cursor);
  acp_say(x, RP_ACP_CLIENT, line);
  return acp_next(x, RP_ACP_CLIENT);
}

static void count_page(const char *page, int told[SESSIONS])
{
  for (const char *at = page; (at = strstr(at, "\"sessionId\":\"n")); at++) told[strtol(at + 14, NULL, 10)]++;
}

/* What was used last comes first; a page begins where the last one ended, whatever was used or deleted meanwhile. */
static void test_the_order_of_the_list(void **state)
{
  struct acp_rig *x = *state;
  int told[SESSIONS] = {0};
  char cursor[200];
  begin_many(x);
  use(x, "n7");
  use(x, "n3");
  acp_say(x, RP_ACP_CLIENT, LIST("2"));
  const char *page = acp_next(x, RP_ACP_CLIENT);
  assert_true(acp_like(page, "*{\"sessions\":[{\"sessionId\":\"n3\",*\"title\":\"used\"*{\"sessionId\":\"n7\",*"));
  count_page(page, told);
  cursor_of(page, cursor);
  use(x, "n40"); /* was told already */
  page = page_after(x, cursor);
  assert_null(strstr(page, "nextCursor"));
  count_page(page, told);
  for (int i = 0; i < SESSIONS; i++)
    if (told[i] != 1) fail_msg("n%d was told %d times", i, told[i]);
}

/* The last one that was told is gone: what is behind it is told all the same. */
static void test_a_cursor_whose_session_is_gone(void **state)
{
  struct acp_rig *x = *state;
  int told[SESSIONS] = {0};
  char cursor[200], line[200];
  begin_many(x);
  acp_say(x, RP_ACP_CLIENT, LIST("2"));
  const char *page = acp_next(x, RP_ACP_CLIENT);
  count_page(page, told);
  cursor_of(page, cursor);
  snprintf(line, sizeof line, DELETE("3", "%s"), strrchr(cursor, ':') + 1);
  acp_say(x, RP_ACP_CLIENT, line);
  assert_string_equal(acp_next(x, RP_ACP_CLIENT), RESULT("3", "{}"));
  count_page(page_after(x, cursor), told);
  for (int i = 0; i < SESSIONS; i++)
    if (!told[i]) fail_msg("n%d was not told", i);
}

static void test_the_title_is_the_name(void **state)
{
  struct acp_rig *x = *state;
  acp_begin(x, "");
  turn(x);
  acp_play(x, (struct acp_step[]){
                  {A,
                   NOTE("session/update", "{\"sessionId\":\"s1\",\"update\":{\"sessionUpdate\":\"session_info_update\","
                                          "\"title\":\"A name\"}}"),
                   0},
                  {TO_C, "*", 0},
                  {C, LIST("3"), 0},
                  {TO_C, RESULT("3", "{\"sessions\":[{\"sessionId\":\"s1\",*\"title\":\"A name\",*}]}"), 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
}

/* The agent keeps dying: the journal's part needs none. */
static void test_the_list_in_a_crash_loop(void **state)
{
  struct acp_rig *x = *state;
  acp_begin(x, "\"sessionCapabilities\":{\"list\":{}}");
  acp_play(x, (struct acp_step[]){
                  {DIE, NULL, 1},
                  {DIE, NULL, 1},
                  {DIE, NULL, 1},
                  {END, NULL, 0},
              });
  while (acp_next(x, RP_ACP_CLIENT)) {
  }
  acp_play(x, (struct acp_step[]){
                  {C, LIST("3"), 0},
                  {TO_C, RESULT("3", "{\"sessions\":[{\"sessionId\":\"s1\",*}]}"), 0},
                  {C, CALL("4", "session/list", "{\"cursor\":\"a:k\"}"), 0}, /* the agent's own pages it must tell */
                  {TO_C, "*\"id\":4,\"error\":{\"code\":-32603,*", 0},
                  {END, NULL, 0},
              });
}

/* A title made of our words is nobody's; one that speaks of them is somebody's. */
static void test_titles_that_speak_of_us(void **state)
{
  static const struct {
    const char *title;
    bool told;
  } titles[] = {{"Why 'reprise recalled' broke", true},
                {"The mark Reprise: recalled, explained", true},
                {"reprise: recalled brief", false},
                {"Chat about [reprise: recalled] Mend", false}};
  struct acp_rig *x = *state;
  acp_begin(x, "");
  for (size_t i = 0; i < RP_ARRAY_SIZE(titles); i++) {
    char line[300];
    snprintf(line, sizeof line,
             NOTE("session/update", "{\"sessionId\":\"s1\",\"update\":{\"sessionUpdate\":\"session_info_update\","
                                    "\"title\":\"%s\"}}"),
             titles[i].title);
    acp_say(x, RP_ACP_AGENT, line);
    const char *told = acp_next(x, RP_ACP_CLIENT);
    if (titles[i].told != (told != NULL)) fail_msg("%s", titles[i].title);
  }
}

/* ---- what only the agent knows ---- */

#define LISTS "\"sessionCapabilities\":{\"list\":{}}"
#define AGENTS "{\"sessions\":[{\"sessionId\":\"n\",\"cwd\":\"/p\"},{\"sessionId\":\"o\",\"cwd\":\"/else\"}]}"

/* The list, asked for in a directory or in all, and what is to come of it. */
static void list(struct acp_rig *x, const char *params, const char *ids)
{
  char line[200], own[32], answer[200];
  snprintf(line, sizeof line, CALL("50", "session/list", "%s"), params);
  acp_say(x, RP_ACP_CLIENT, line);
  const char *asked = acp_next(x, RP_ACP_AGENT);
  assert_non_null(asked);
  assert_int_equal(sscanf(strstr(asked, "reprise/"), "%31[^\"]", own), 1);
  snprintf(answer, sizeof answer, RESULT("\"%s\"", AGENTS), own);
  acp_say(x, RP_ACP_AGENT, answer);
  snprintf(answer, sizeof answer, RESULT("50", "{\"sessions\":[%s]}"), ids);
  const char *told = acp_next(x, RP_ACP_CLIENT);
  if (!told || !acp_like(told, answer)) fail_msg("%s", told ? told : "nothing");
}

static void test_the_agents_own_are_filtered(void **state)
{
  struct acp_rig *x = *state;
  acp_greet(x, LISTS);
  list(x, "{}", "{*\"n\"*},{*\"o\"*}");
  list(x, "{\"cwd\":\"/p\"}", "{\"sessionId\":\"n\",\"cwd\":\"/p\"}");
  list(x, "{\"cwd\":\"/else\"}", "{\"sessionId\":\"o\",\"cwd\":\"/else\"}");
}

/* A deletion holds in every process, whether the agent can delete or not. */
static void test_deleting_what_only_the_agent_knows(void **state)
{
  struct acp_rig *x = *state;
  acp_greet(x, "\"loadSession\":true," LISTS);
  acp_play(x, (struct acp_step[]){{C, DELETE("3", "n"), 0}, {TO_C, RESULT("3", "{}"), 0}, {END, NULL, 0}});
  list(x, "{}", "{\"sessionId\":\"o\",\"cwd\":\"/else\"}");
  acp_open(x, NULL);
  acp_greet(x, "\"loadSession\":true,\"sessionCapabilities\":{\"list\":{},\"delete\":{}}");
  list(x, "{}", "{\"sessionId\":\"o\",\"cwd\":\"/else\"}");
  acp_play(x, (struct acp_step[]){
                  {C, LOAD("4", "n"), 0},
                  {TO_C, REFUSED("4", "-32002") "\"n\"*", 0},
                  {C_A, DELETE("5", "o"), 0},
                  {A_C, RESULT("5", "{}"), 0},
                  {C_A, DELETE("6", "o"), 0}, /* the agent may say what it likes of it now */
                  {A, ERROR("6", "-32002"), 0},
                  {TO_C, RESULT("6", "{}"), 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
  list(x, "{}", "");
}

/* … and when the trash is emptied: the agent may still list what it never was asked to delete. */
static void test_a_deletion_outlasts_the_trash(void **state)
{
  struct acp_rig *x = *state;
  static const char made[] = RESULT("1", "{\"sessionId\":\"n\"}");
  rp_error err = {0};
  acp_greet(x, "\"loadSession\":true," LISTS);
  acp_play(x, (struct acp_step[]){{C_A, NEW("1"), 0}, {A_C, made, 0}, {C_A, PROMPT("2", "n", "q"), 0}, {END, NULL, 0}});
  acp_play(x, (struct acp_step[]){
                  {A_C, DONE("2"), 0}, {C, DELETE("3", "n"), 0}, {TO_C, RESULT("3", "{}"), 0}, {END, NULL, 0}});
  list(x, "{}", "{\"sessionId\":\"o\",\"cwd\":\"/else\"}");
  OK(rp_purge(x->e, "n", true, &err), err);
  acp_open(x, NULL);
  acp_greet(x, "\"loadSession\":true," LISTS);
  list(x, "{}", "{\"sessionId\":\"o\",\"cwd\":\"/else\"}");
  acp_play(x, (struct acp_step[]){
                  {C, LOAD("4", "n"), 0}, {TO_C, REFUSED("4", "-32002") "\"n\"*", 0}, {NONE, NULL, 0}, {END, NULL, 0}});
}

/* Restored with a new session, it has a name more: no second one in any list, and loading it opens the same journal. */
static void test_the_agents_new_name(void **state)
{
  struct acp_rig *x = *state;
  acp_begin(x, LISTS);
  turn(x);
  acp_open(x, NULL);
  acp_greet(x, LISTS);
  acp_play(x, (struct acp_step[]){
                  {C, LOAD("2", "s1"), 0},
                  {TO_A, CALL("\"reprise/1\"", "session/new", "*"), 0},
                  {A, RESULT("\"reprise/1\"", "{\"sessionId\":\"n\"}"), 0},
                  {TO_C, "*user_message_chunk*", 0},
                  {TO_C, RESULT("2", "*\"rung\":\"new\"*"), 0},
                  {END, NULL, 0},
              });
  turn(x);
  acp_open(x, NULL);
  acp_greet(x, LISTS);
  list(x, "{\"cwd\":\"/p\"}", "{\"sessionId\":\"s1\",\"cwd\":\"/p\",*\"status\":\"idle\"}}}");
  acp_play(x, (struct acp_step[]){
                  {C, LOAD("4", "n"), 0},
                  {TO_A, "*session/new*", 0},
                  {A, RESULT("\"reprise/2\"", "{\"sessionId\":\"m\"}"), 0},
                  {TO_C, "*\"sessionId\":\"n\",*user_message_chunk*", 0},
                  {TO_C, "*\"sessionId\":\"n\",*user_message_chunk*", 0},
                  {TO_C, RESULT("4", "*\"rung\":\"new\"*"), 0},
                  {C, LOAD("5", "s1"), 0}, /* open by that name, it is loaded by its own all the same */
                  {TO_C, "*\"sessionId\":\"s1\",*user_message_chunk*", 0},
                  {TO_C, "*\"sessionId\":\"s1\",*user_message_chunk*", 0},
                  {TO_C, RESULT("5", "*\"rung\":\"live\"*"), 0},
                  {NONE, NULL, 0},
                  {C, PROMPT("6", "s1", "on"), 0},
                  {TO_A, "*\"sessionId\":\"m\"*", 0},
                  {C, LOAD("7", "n"), 0}, /* but not in a turn */
                  {TO_C, REFUSED("7", "-32603") "open here as 's1'*", 0},
                  {A_C, DONE("6"), 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
  assert_int_equal(acp_count(x, "s1", "x-acp-turn", "*"), 3);
}

#define T(f) cmocka_unit_test_setup_teardown(f, acp_setup, acp_teardown)

int main(void)
{
  const struct CMUnitTest tests[] = {
      T(test_ended_elsewhere),
      T(test_ended_elsewhere_in_a_turn),
      T(test_deleted_elsewhere),
      T(test_what_was_deleted_is_refused),
      T(test_deleting_in_a_turn),
      T(test_deleting_at_an_agent_that_dies),
      T(test_the_order_of_the_list),
      T(test_a_cursor_whose_session_is_gone),
      T(test_the_title_is_the_name),
      T(test_titles_that_speak_of_us),
      T(test_the_list_in_a_crash_loop),
      T(test_the_agents_own_are_filtered),
      T(test_deleting_what_only_the_agent_knows),
      T(test_a_deletion_outlasts_the_trash),
      T(test_the_agents_new_name),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
