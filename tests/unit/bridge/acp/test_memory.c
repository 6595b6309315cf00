/* SPDX-License-Identifier: Apache-2.0 */
/* The nth allocation fails somewhere in a conversation with a death or a load in it: the proxy lives, and goes on. */
#include "unit/bridge/acp/rig.h"

#include "unit/core/alloc_fault.h"

#define MODES(id) "\"modes\":{\"currentModeId\":\"" id "\",\"availableModes\":[{\"id\":\"a\"},{\"id\":\"b\"}]}"
#define MODEL(value) "{\"id\":\"model\",\"type\":\"select\",\"currentValue\":\"" value "\"}"

struct word {
  enum rp__acp_side from;
  const char *line; /* NULL: the agent dies; "": it is quiet for a while */
};

static const struct word death[] = {
    {RP_ACP_CLIENT, INIT},
    {RP_ACP_AGENT, RESULT("0", "{\"protocolVersion\":1,\"agentCapabilities\":{\"loadSession\":true}}")},
    {RP_ACP_CLIENT, NEW("1")},
    {RP_ACP_AGENT, RESULT("1", "{\"sessionId\":\"s1\"," MODES("a") ",\"configOptions\":[" MODEL("small") "]}")},
    {RP_ACP_CLIENT, CALL("7", "session/set_mode", "{\"sessionId\":\"s1\",\"modeId\":\"b\"}")},
    {RP_ACP_AGENT, RESULT("7", "{}")},
    {RP_ACP_AGENT,
     NOTE("session/update", "{\"sessionId\":\"s1\",\"update\":{\"sessionUpdate\":\"config_option_update\","
                            "\"configOptions\":[" MODEL("big") "]}}")},
    {RP_ACP_CLIENT, PROMPT("2", "s1", "hello")},
    {RP_ACP_AGENT, CHUNK("s1", "hi")},
    {RP_ACP_AGENT, NOTE("session/update", "{\"sessionId\":\"s1\",\"update\":{\"sessionUpdate\":\"tool_call\","
                                          "\"toolCallId\":\"c\",\"title\":\"T\"}}")},
    {RP_ACP_AGENT, CALL("0", "fs/read_text_file", "{\"sessionId\":\"s1\",\"path\":\"/x\"}")},
    {RP_ACP_CLIENT, RESULT("0", "{\"content\":\"x\"}")},
    {RP_ACP_AGENT, CALL("1", "fs/read_text_file", "{\"sessionId\":\"s1\",\"path\":\"/x\"}")},
    {RP_ACP_AGENT, NULL},
    {RP_ACP_CLIENT, PROMPT("3", "s1", "again")},
    {RP_ACP_AGENT, RESULT("\"reprise/1\"", "{\"protocolVersion\":1}")},
    {RP_ACP_AGENT,
     RESULT("\"reprise/2\"", "{\"sessionId\":\"s9\"," MODES("a") ",\"configOptions\":[" MODEL("small") "]}")},
    {RP_ACP_AGENT, RESULT("\"reprise/3\"", "{}")},
    {RP_ACP_AGENT, ERROR("\"reprise/4\"", "-32603")},
    {RP_ACP_AGENT, CHUNK("s9", "back")},
    {RP_ACP_AGENT, END_TURN("3")},
    {RP_ACP_CLIENT, CALL("4", "session/load", "{\"sessionId\":\"s1\",\"cwd\":\"/p\",\"mcpServers\":[]}")},
    {RP_ACP_CLIENT, CALL("5", "session/list", "{\"cwd\":\"/p\"}")},
    {RP_ACP_CLIENT, CALL("6", "session/close", "{\"sessionId\":\"s1\"}")},
};

/* A load with a late replay, news in between, and an answer that may be a part of it. */
static const struct word late_replay[] = {
    {RP_ACP_CLIENT, INIT},
    {RP_ACP_AGENT, RESULT("0", "{\"protocolVersion\":1,\"agentCapabilities\":{\"loadSession\":true}}")},
    {RP_ACP_CLIENT, NEW("1")},
    {RP_ACP_AGENT, RESULT("1", "{\"sessionId\":\"s1\"}")},
    {RP_ACP_CLIENT, PROMPT("2", "s1", "hello")},
    {RP_ACP_AGENT, CHUNK("s1", "hi")},
    {RP_ACP_AGENT, END_TURN("2")},
    {RP_ACP_CLIENT, CALL("3", "session/close", "{\"sessionId\":\"s1\"}")},
    {RP_ACP_CLIENT, CALL("4", "session/load", "{\"sessionId\":\"s1\",\"cwd\":\"/p\",\"mcpServers\":[]}")},
    {RP_ACP_AGENT, RESULT("\"reprise/1\"", "null")},
    {RP_ACP_AGENT, USER("s1", "hello")},
    {RP_ACP_AGENT, CHUNK("s1", "news")},
    {RP_ACP_AGENT, ""},
    {RP_ACP_CLIENT, PROMPT("5", "s1", "again")},
    {RP_ACP_AGENT, CHUNK("s1", "hi")},
    {RP_ACP_AGENT, END_TURN("5")},
    {RP_ACP_CLIENT, CALL("6", "session/close", "{\"sessionId\":\"s1\"}")},
};

/* Each request has one answer at the most. */
static void check_answers(struct acp_rig *x)
{
  int answers[8] = {0};
  while (x->to[RP_ACP_CLIENT].taken < x->to[RP_ACP_CLIENT].n) {
    const char *line = x->to[RP_ACP_CLIENT].line[x->to[RP_ACP_CLIENT].taken++];
    int id = -1;
    if (strstr(line, "\"method\"") || sscanf(line, "{\"jsonrpc\":\"2.0\",\"id\":%d,", &id) != 1) continue;
    assert_in_range(id, 0, 7);
    assert_int_equal(answers[id]++, 0);
  }
}

/* Nobody answers what he was not asked: a request that failed here did not arrive. */
static bool was_asked(const struct acp_rig *x, const struct word *w)
{
  const struct acp_lines *l = &x->to[RP_ACP_AGENT];
  char request[48];
  int id;
  if (w->from != RP_ACP_AGENT || sscanf(w->line, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\"", &id) != 1) return true;
  snprintf(request, sizeof request, "\"id\":%d,\"method\"", id);
  for (size_t i = 0; i < l->n; i++)
    if (strstr(l->line[i], request)) return true;
  return false;
}

static void talk(struct acp_rig *x, const struct word *words, size_t n)
{
  for (size_t i = 0; i < n; i++) {
    if (!words[i].line) {
      rp__acp_agent_gone(x->a, -9);
    } else if (words[i].line[0] && !was_asked(x, &words[i])) {
      continue;
    } else if (words[i].line[0]) {
      acp_say(x, words[i].from, words[i].line);
    } else {
      x->now += 200;
      rp__acp_tick(x->a);
    }
    rp_flush(x->e, NULL);
    rp__acp_poke(x->a);
  }
}

/* An agent that was started again, and wants to be introduced. */
static void introduce(struct acp_rig *x, const char *line)
{
  char answer[128];
  const char *id = strstr(line, "reprise/");
  if (!id || !strstr(line, "\"initialize\"")) return;
  snprintf(answer, sizeof answer, "{\"jsonrpc\":\"2.0\",\"id\":\"%.*s\",\"result\":{}}", (int)strcspn(id, "\""), id);
  acp_say(x, RP_ACP_AGENT, answer);
}

/* Whatever was lost, the next thing said arrives. */
static void check_alive(struct acp_rig *x)
{
  static const char ping[] = CALL("70", "_ping", "{}");
  for (int i = 0; i < 8; i++) acp_wait(x, 61000); /* what waited for an answer gives up */
  x->to[RP_ACP_AGENT].taken = x->to[RP_ACP_AGENT].n;
  if (x->stops) rp__acp_agent_gone(x->a, -15);
  acp_say(x, RP_ACP_CLIENT, ping);
  for (const char *line; (line = acp_next(x, RP_ACP_AGENT));) {
    if (strcmp(line, ping) == 0) return;
    introduce(x, line);
  }
  fail_msg("nothing arrives any more");
}

static bool once(struct acp_rig *x, const struct word *words, size_t n_words, long n)
{
  rp_error err = {0};
  rp_engine *usual = x->e;
  rp_options o = {.db = "memory:"};
  OK(rp_open(&o, &x->e, &err), err);
  acp_open(x, NULL);
  x->stops = 0;
  alloc_failed = 0;
  alloc_countdown = n;
  talk(x, words, n_words);
  alloc_countdown = -1;
  bool failed = alloc_failed;
  check_answers(x);
  check_alive(x);
  acp_free(x);
  rp_close(x->e);
  x->e = usual;
  return failed;
}

static void each_fails(struct acp_rig *x, const struct word *words, size_t n_words)
{
  long n = 0;
  while (once(x, words, n_words, n)) n++;
  assert_true(n > 100);
  print_message("%ld allocations\n", n);
}

static void test_every_allocation(void **state)
{
  each_fails(*state, death, RP_ARRAY_SIZE(death));
}

static void test_every_allocation_of_a_late_replay(void **state)
{
  each_fails(*state, late_replay, RP_ARRAY_SIZE(late_replay));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_every_allocation, acp_setup, acp_teardown),
      cmocka_unit_test_setup_teardown(test_every_allocation_of_a_late_replay, acp_setup, acp_teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
