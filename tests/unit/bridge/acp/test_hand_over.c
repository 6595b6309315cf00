/* SPDX-License-Identifier: Apache-2.0 */
/* What editor and user are told of a hand-over: titles, agents that can't load, a turn that was cut off (O-05, O-02).
 */
#include "unit/bridge/acp/rig.h"

#define LOAD(id, sid) CALL(id, "session/load", "{\"sessionId\":\"" sid "\",\"cwd\":\"/p\",\"mcpServers\":[]}")
#define RESUME(id, sid) CALL(id, "session/resume", "{\"sessionId\":\"" sid "\",\"cwd\":\"/p\"}")
#define INFO(sid, members)                                                                                             \
  NOTE("session/update",                                                                                               \
       "{\"sessionId\":\"" sid "\",\"update\":{\"sessionUpdate\":\"session_info_update\"" members "}}")
#define ASK(n, method) "{\"jsonrpc\":\"2.0\",\"id\":\"reprise/" n "\",\"method\":\"" method "\",*"
#define OWN(n, result) RESULT("\"reprise/" n "\"", result)
#define INIT_NOTICES                                                                                                   \
  CALL("0", "initialize", "{\"protocolVersion\":1,\"clientCapabilities\":{\"session\":{\"notices\":{}}}}")
#define HI(name, caps)                                                                                                 \
  RESULT("0", "{\"protocolVersion\":1,\"agentCapabilities\":{" caps "},\"agentInfo\":{\"name\":\"" name                \
              "\",\"version\":\"1\"}}")

/* One turn in a session that a process without a memory of it finds in the journal. */
static void one_turn(struct acp_rig *x)
{
  acp_begin(x, "");
  acp_play(x, (struct acp_step[]){
                  {A_C, INFO("s1", ",\"title\":\"Harbours\""), 0},
                  {C_A, PROMPT("2", "s1", "the word is plum"), 0},
                  {A_C, END_TURN("2"), 0},
                  {END, NULL, 0},
              });
}

static void open_again(struct acp_rig *x, struct rp__acp_options o, const char *init, const char *hi)
{
  o.scope = "acp-test";
  acp_open(x, &o);
  acp_play(x, (struct acp_step[]){{C_A, init, 0}, {A, hi, 0}, {TO_C, "*\"result\"*", 0}, {END, NULL, 0}});
}

/* ---- titles ---- */

/* An agent names its new session after the first prompt, which begins with our words. */
static void test_our_words_are_no_title(void **state)
{
  struct acp_rig *x = *state;
  one_turn(x);
  open_again(x, (struct rp__acp_options){0}, INIT, HI("fake", ""));
  acp_play(
      x,
      (struct acp_step[]){
          {C, RESUME("3", "s1"), 0},
          {TO_A, ASK("1", "session/new"), 0},
          {A, OWN("1", "{\"sessionId\":\"n1\"}"), 0},
          {TO_C, RESULT("3", "{*\"rung\":\"new\"*"), 0},
          {C, PROMPT("4", "s1", "and now?"), 0},
          {TO_A, "*[The conversation so far, as Reprise recorded it.*plum*", 0},
          {A, INFO("n1", ",\"title\":\"[The conversation so far, as Reprise re…\""), 0},
          {A, INFO("n1", ",\"title\":\"the conversation so far, as Reprise\",\"updatedAt\":\"2026-01-01T00:00:00Z\""),
           0},
          {TO_C, INFO("s1", ",\"updatedAt\":\"2026-01-01T00:00:00Z\""), 0},
          {A, END_TURN("4"), 0},
          {TO_C, END_TURN("4"), 0},
          {C, CALL("5", "session/list", "{}"), 0},
          {TO_C, RESULT("5", "{\"sessions\":[{\"sessionId\":\"s1\",*\"title\":\"Harbours\",*"), 0},
          {A, INFO("n1", ",\"title\":\"The word\""), 0}, /* one of its own */
          {TO_C, INFO("s1", ",\"title\":\"The word\""), 0},
          {A, INFO("n1", ",\"title\":\"Session continuity: a plan\""), 0}, /* … though it sounds like us */
          {TO_C, INFO("s1", ",\"title\":\"Session continuity: a plan\""), 0},
          {NONE, NULL, 0},
          {END, NULL, 0},
      });
  assert_int_equal(acp_count(x, "s1", "session", "*conversation*"), 0);
  assert_int_equal(acp_count(x, "s1", "x-acp-update", "*conversation*"), 0);
  assert_int_equal(acp_count(x, "s1", "session", "*The word*"), 1);
}

/* … nor in the agent's own list. */
static void test_our_words_are_no_title_of_the_agents(void **state)
{
  struct acp_rig *x = *state;
  acp_greet(x, "\"sessionCapabilities\":{\"list\":{}}");
  acp_play(x, (struct acp_step[]){
                  {C, CALL("5", "session/list", "{}"), 0},
                  {TO_A, ASK("1", "session/list"), 0},
                  {A,
                   OWN("1", "{\"sessions\":[{\"sessionId\":\"z\",\"cwd\":\"/p\",\"title\":\"[SESSION CONTINUITY — "
                            "inherited from 1 prior\"}]}"),
                   0},
                  {TO_C, RESULT("5", "{\"sessions\":[{\"sessionId\":\"z\",\"cwd\":\"/p\"}]}"), 0},
                  {END, NULL, 0},
              });
}

/* ---- an agent that can't load (O-05) ---- */

static void test_that_it_cannot_load_is_told(void **state)
{
  struct acp_rig *x = *state;
  one_turn(x);
  x->warnings = 0;
  open_again(x, (struct rp__acp_options){0}, INIT_NOTICES, HI("@scope/fake@1.2", ""));
  acp_play(x, (struct acp_step[]){
                  {C, RESUME("3", "s1"), 0},
                  {TO_A, ASK("1", "session/new"), 0},
                  {A, OWN("1", "{\"sessionId\":\"n1\"}"), 0},
                  {TO_C, RESULT("3", "{*\"rung\":\"new\"*"), 0},
                  {TO_C,
                   "*\"s1\"*\"notice\",\"severity\":\"warning\"*The agent fake could not load*can't load sessions*", 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
  assert_int_equal(x->warnings, 1);
}

static void test_that_its_load_failed_is_told(void **state)
{
  struct acp_rig *x = *state;
  one_turn(x);
  x->warnings = 0;
  open_again(x, (struct rp__acp_options){0}, INIT_NOTICES, HI("fake", "\"loadSession\":true"));
  acp_play(
      x,
      (struct acp_step[]){
          {C, LOAD("3", "s1"), 0},
          {TO_A, ASK("1", "session/load"), 0},
          {A, "{\"jsonrpc\":\"2.0\",\"id\":\"reprise/1\",\"error\":{\"code\":-32603,\"message\":\"No previous\"}}", 0},
          {TO_A, ASK("2", "session/new"), 0},
          {A, OWN("2", "{\"sessionId\":\"n1\"}"), 0},
          {TO_C, "*session_info_update*", 0},
          {TO_C, "*user_message_chunk*", 0},
          {TO_C, RESULT("3", "{*\"rung\":\"new\"*"), 0},
          {TO_C, "*\"notice\"*its session/load failed: No previous*", 0},
          {NONE, NULL, 0},
          {END, NULL, 0},
      });
  assert_int_equal(x->warnings, 1);
}

/* An editor that does not take notices gets no message instead: only the user's terminal tells. */
static void test_without_notices_it_is_a_warning(void **state)
{
  struct acp_rig *x = *state;
  one_turn(x);
  x->warnings = 0;
  open_again(x, (struct rp__acp_options){0}, INIT, HI("fake", ""));
  acp_play(x, (struct acp_step[]){
                  {C, RESUME("3", "s1"), 0},
                  {TO_A, ASK("1", "session/new"), 0},
                  {A, OWN("1", "{\"sessionId\":\"n1\"}"), 0},
                  {TO_C, RESULT("3", "{*\"rung\":\"new\"*"), 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
  assert_int_equal(x->warnings, 1);
}

static void test_strict_load_is_an_error(void **state)
{
  static const char cannot[] = ",\"error\":{\"code\":-32603,\"message\":\"the agent fake can't load this session: "
                               "*\"data\":{\"code\":\"agent.cannot_load\"}}}";
  struct acp_rig *x = *state;
  char want[400];
  one_turn(x);
  open_again(x, (struct rp__acp_options){.strict_load = true}, INIT, HI("fake", "\"loadSession\":true"));
  snprintf(want, sizeof want, "{\"jsonrpc\":\"2.0\",\"id\":3%s", cannot);
  acp_play(x, (struct acp_step[]){
                  {C, LOAD("3", "s1"), 0},
                  {TO_A, ASK("1", "session/load"), 0},
                  {A, ERROR("\"reprise/1\"", "-32002"), 0},
                  {TO_C, want, 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
  open_again(x, (struct rp__acp_options){.strict_load = true}, INIT, HI("fake", ""));
  acp_play(x, (struct acp_step[]){{C, RESUME("3", "s1"), 0}, {TO_C, want, 0}, {NONE, NULL, 0}, {END, NULL, 0}});
}

/* An agent that died and can't load: its editor's next prompt is refused. */
static void test_strict_load_after_a_death(void **state)
{
  struct acp_rig *x = *state;
  open_again(x, (struct rp__acp_options){.strict_load = true}, INIT, HI("fake", ""));
  acp_play(x,
           (struct acp_step[]){
               {C_A, NEW("1"), 0},
               {A_C, RESULT("1", "{\"sessionId\":\"s1\"}"), 0},
               {DIE, NULL, -9},
               {TO_A, ASK("1", "initialize"), 0},
               {C, PROMPT("2", "s1", "x"), 0},
               {A, OWN("1", "{\"protocolVersion\":1,\"agentCapabilities\":{},\"agentInfo\":{\"name\":\"fake\"}}"), 0},
               {TO_C, REFUSED("2", "-32603") "\"agent.cannot_load\"}}}", 0},
               {NONE, NULL, 0},
               {END, NULL, 0},
           });
}

/* ---- a turn that was cut off ---- */

/* Its reason is in the answer; what tells of it is a message by itself, also where editors join all chunks. */
static void test_the_obituary_stands_by_itself(void **state)
{
  struct acp_rig *x = *state;
  acp_begin(x, "");
  acp_play(x, (struct acp_step[]){
                  {C_A, PROMPT("2", "s1", "go"), 0},
                  {A_C, CHUNK("s1", "half a sen"), 0},
                  {DIE, NULL, -9},
                  {TO_C, "*\"agent_message_chunk\",\"messageId\":\"reprise-*\"text\":\"\\n\\nThe agent fake ended*", 0},
                  {TO_C,
                   "{\"jsonrpc\":\"2.0\",\"id\":2,\"error\":{\"code\":-32603,\"message\":\"The agent fake ended*"
                   "\"data\":{\"code\":\"agent.died\",\"signal\":9}}}",
                   0},
                  {END, NULL, 0},
              });
  assert_int_equal(acp_count(x, "s1", "x-acp-turn", "*\"error\":{*\"agent.died\"*"), 1);
}

/* ---- names ---- */

static int on_session(void *ctx, const rp_session_info *info)
{
  snprintf(ctx, 64, "%s", info->provider ? info->provider : "");
  return 0;
}

static void test_packages_are_called_by_their_names(void **state)
{
  static const char *const names[][2] = {{"@agentclientprotocol/claude-agent-acp", "claude-agent-acp"},
                                         {"@a/b@1.2.3", "b"},
                                         {"codex@2", "codex"},
                                         {"plain", "plain"}};
  struct acp_rig *x = *state;
  rp_error err = {0};
  for (size_t i = 0; i < RP_ARRAY_SIZE(names); i++) {
    char hi[400], made[200], id[32], provider[64] = "";
    snprintf(hi, sizeof hi, HI("%s", ""), names[i][0]);
    snprintf(id, sizeof id, "p%zu", i);
    snprintf(made, sizeof made, RESULT("1", "{\"sessionId\":\"%s\"}"), id);
    open_again(x, (struct rp__acp_options){0}, INIT, hi);
    acp_play(x, (struct acp_step[]){{C_A, NEW("1"), 0}, {A_C, made, 0}, {END, NULL, 0}});
    OK(rp_show(x->e, id, on_session, provider, &err), err);
    assert_string_equal(provider, names[i][1]);
  }
}

/* Whether somebody lives in a session, the list tells beside what the protocol has words for. */
static void test_the_list_tells_who_is_gone(void **state)
{
  struct acp_rig *x = *state;
  one_turn(x);
  acp_play(x, (struct acp_step[]){
                  {C, CALL("5", "session/list", "{}"), 0},
                  {TO_C, RESULT("5", "{\"sessions\":[{*\"_meta\":{\"reprise\":{\"status\":\"active\"}}}]}"), 0},
                  {C, CALL("6", "session/close", "{\"sessionId\":\"s1\"}"), 0},
                  {TO_C, RESULT("6", "{}"), 0},
                  {C, CALL("7", "session/list", "{}"), 0},
                  {TO_C, RESULT("7", "{\"sessions\":[{*\"_meta\":{\"reprise\":{\"status\":\"closed\"}}}]}"), 0},
                  {END, NULL, 0},
              });
}

#define T(f) cmocka_unit_test_setup_teardown(f, acp_setup, acp_teardown)

int main(void)
{
  const struct CMUnitTest tests[] = {
      T(test_our_words_are_no_title),
      T(test_our_words_are_no_title_of_the_agents),
      T(test_that_it_cannot_load_is_told),
      T(test_that_its_load_failed_is_told),
      T(test_without_notices_it_is_a_warning),
      T(test_strict_load_is_an_error),
      T(test_strict_load_after_a_death),
      T(test_the_obituary_stands_by_itself),
      T(test_packages_are_called_by_their_names),
      T(test_the_list_tells_who_is_gone),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
