/* SPDX-License-Identifier: Apache-2.0 */
/* When the journal can't be written, or is somebody else's: nothing is told that is not so (B-04, B-06). */
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "unit/bridge/acp/rig.h"

#define BIG (3 * 1024 * 1024)

/* No file may grow: what a full disk looks like. Small writes may still go into what is there. */
static void disk(bool full)
{
  struct rlimit l;
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &l), 0);
  l.rlim_cur = full ? 1024 : l.rlim_max;
  signal(SIGXFSZ, SIG_IGN);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &l), 0);
}

static void turn(struct acp_rig *x, int n)
{
  char line[512];
  snprintf(line, sizeof line, PROMPT("%d", "s1", "question %d"), n, n);
  acp_say(x, RP_ACP_CLIENT, line);
  assert_string_equal(acp_next(x, RP_ACP_AGENT), line);
}

static void test_a_full_disk(void **state)
{
  struct acp_rig *x = *state;
  acp_begin(x, "");
  turn(x, 2);
  acp_play(x, (struct acp_step[]){{A, CHUNK("s1", "kept"), 0}, {TO_C, CHUNK("s1", "kept"), 0}, {END, NULL, 0}});
  disk(true);
  acp_play(x, (struct acp_step[]){
                  {A_C, CHUNK("s1", "lost 1"), 0}, /* the conversation goes on */
                  {TO_C, "*agent_message_chunk*not being recorded*", 0},
                  {A_C, CHUNK("s1", "lost 2"), 0}, /* told once */
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
  disk(false);
  acp_play(x, (struct acp_step[]){
                  {A_C, CHUNK("s1", "kept again"), 0},
                  {TO_C, "*agent_message_chunk*recorded again; 2 messages are missing*", 0},
                  {A_C, END_TURN("2"), 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
  assert_int_equal(acp_count(x, "s1", "x-acp-gap", "{\"lost\":2,\"from\":\"*Z\",\"to\":\"*Z\"}"), 1);
  assert_int_equal(acp_count(x, "s1", "message", "*lost*"), 0);
  assert_int_equal(acp_count(x, "s1", "message", "*recorded*"), 0);
}

/* A session that could not be opened in the journal is opened later. */
static void test_a_journal_that_comes_late(void **state)
{
  struct acp_rig *x = *state;
  acp_greet(x, "");
  disk(true);
  acp_play(x, (struct acp_step[]){
                  {C_A, NEW("1"), 0},
                  {A, RESULT("1", "{\"sessionId\":\"s1\"}"), 0},
                  {TO_C, "*not being recorded*", 0},
                  {TO_C, RESULT("1", "{\"sessionId\":\"s1\"}"), 0},
                  {END, NULL, 0},
              });
  turn(x, 2);
  disk(false);
  acp_wait(x, 6000);
  acp_play(x, (struct acp_step[]){
                  {TO_C, "*recorded again*", 0}, /* nobody had to say anything */
                  {A_C, CHUNK("s1", "kept"), 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
  assert_int_equal(acp_count(x, "s1", "x-acp-gap", "*"), 1);
  assert_int_equal(acp_count(x, "s1", "message", "*kept*"), 1);
}

#define CLOSE(id, sid) CALL(id, "session/close", "{\"sessionId\":\"" sid "\"}")

/* A session that begins while the disk is full, and a turn that runs. */
static void begin_unrecorded(struct acp_rig *x)
{
  acp_greet(x, "");
  disk(true);
  acp_play(x, (struct acp_step[]){
                  {C_A, NEW("1"), 0},
                  {A, RESULT("1", "{\"sessionId\":\"s1\"}"), 0},
                  {TO_C, "*not being recorded*", 0},
                  {TO_C, RESULT("1", "{\"sessionId\":\"s1\"}"), 0},
                  {END, NULL, 0},
              });
  turn(x, 2);
  disk(false);
}

/* There is room again: the next prompt need not wait for the clock (B-06). */
static void test_a_journal_that_comes_with_a_prompt(void **state)
{
  struct acp_rig *x = *state;
  begin_unrecorded(x);
  acp_play(x, (struct acp_step[]){
                  {A_C, END_TURN("2"), 0},
                  {C, PROMPT("3", "s1", "found"), 0},
                  {TO_C, "*recorded again*", 0},
                  {TO_A, PROMPT("3", "s1", "found"), 0},
                  {A_C, END_TURN("3"), 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
  assert_int_equal(acp_count(x, "s1", "x-acp-gap", "*"), 1);
  assert_int_equal(acp_count(x, "s1", "message", "*found*"), 1);
}

/* … nor does its end: the journal has at least that it was, and what is missing. */
static void test_a_journal_that_comes_with_the_end(void **state)
{
  struct acp_rig *x = *state;
  begin_unrecorded(x);
  acp_play(x, (struct acp_step[]){
                  {A_C, END_TURN("2"), 0},
                  {C, CLOSE("3", "s1"), 0},
                  {TO_C, "*recorded again*", 0},
                  {TO_C, RESULT("3", "{}"), 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
  assert_int_equal(acp_count(x, "s1", "x-acp-gap", "*"), 1);
}

static void test_a_journal_that_comes_when_the_editor_goes(void **state)
{
  struct acp_rig *x = *state;
  begin_unrecorded(x);
  rp__acp_client_gone(x->a, "editor closed");
  assert_int_equal(acp_count(x, "s1", "x-acp-gap", "*"), 1);
  assert_int_equal(acp_count(x, "s1", "x-acp-turn", "*editor closed*"), 1);
}

#define LISTED "{\"jsonrpc\":\"2.0\",\"id\":9,\"result\":*\"sessionId\":\"s2\"*"

/* The store works again for one: then it does for the other too, which is listed and loaded from then on (B-06). */
static void test_a_journal_that_comes_with_another(void **state)
{
  struct acp_rig *x = *state;
  acp_begin(x, "");
  turn(x, 2);
  disk(true);
  acp_play(x, (struct acp_step[]){
                  {C_A, NEW("3"), 0},
                  {A, RESULT("3", "{\"sessionId\":\"s2\"}"), 0},
                  {TO_C, "*s2*not being recorded*", 0},
                  {TO_C, RESULT("3", "{\"sessionId\":\"s2\"}"), 0},
                  {C_A, PROMPT("4", "s2", "lost"), 0},
                  {A_C, END_TURN("4"), 0},
                  {END, NULL, 0},
              });
  disk(false);
  acp_play(x, (struct acp_step[]){
                  {A_C, CHUNK("s1", "kept"), 0},
                  {TO_C, "*s2*recorded again; 3 messages are missing*", 0},
                  {C_A, PROMPT("5", "s2", "found"), 0},
                  {A_C, END_TURN("5"), 0},
                  {C, CALL("9", "session/list", "{}"), 0},
                  {TO_C, LISTED, 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
  assert_int_equal(acp_count(x, "s2", "x-acp-gap", "{\"lost\":3,*"), 1);
  assert_int_equal(acp_count(x, "s2", "provider", "*\"acp_session_id\":\"s2\"*"), 1);
  rp__acp_client_gone(x->a, "editor closed");
  acp_open(x, NULL);
  acp_greet(x, "\"sessionCapabilities\":{\"resume\":{}}");
  acp_play(x, (struct acp_step[]){
                  {C, CALL("1", "session/load", "{\"sessionId\":\"s2\",\"cwd\":\"/p\",\"mcpServers\":[]}"), 0},
                  {TO_A, "*\"method\":\"session/resume\",\"params\":{\"sessionId\":\"s2\",*", 0},
                  {A, RESULT("\"reprise/1\"", "{}"), 0},
                  {TO_C, "*user_message_chunk*found*", 0},
                  {TO_C, RESULT("1", "*"), 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
}

static int seq_of(void *ctx, const rp_event_info *ev)
{
  int64_t *seqs = ctx;
  if (strcmp(ev->kind, "x-acp-gap") == 0) seqs[0] = ev->seq;
  if (strcmp(ev->kind, "x-acp-turn") == 0) seqs[1] = ev->seq;
  return 0;
}

/* Room for small things only. */
static void tight(struct acp_rig *x)
{
  char path[SCRATCH_PATH];
  struct stat st;
  struct rlimit l;
  assert_int_equal(stat(scratch_path(&x->r->scratch, "t.db-wal", path), &st), 0);
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &l), 0);
  l.rlim_cur = (rlim_t)st.st_size + 100 * 1024;
  signal(SIGXFSZ, SIG_IGN);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &l), 0);
}

#define PIECE (300 * 1024)

static void lose_a_piece(struct acp_rig *x, int n, const char *line)
{
  char end[128];
  rp_session *s = NULL;
  rp_error err = {0};
  int64_t seqs[2] = {0};
  turn(x, n);
  tight(x);
  acp_say(x, RP_ACP_AGENT, line);
  snprintf(end, sizeof end, END_TURN("%d"), n);
  acp_say(x, RP_ACP_AGENT, end); /* the engine may still be at the piece */
  for (const char *came = ""; !strstr(came, "end_turn");) assert_non_null(came = acp_next(x, RP_ACP_CLIENT));
  disk(false);
  OK(rp_attach(x->e, "s1", &s, &err), err);
  OK(rp_events(s, 0, 0, seq_of, seqs, &err), err);
  rp_session_free(s);
  assert_true(seqs[0] > 0 && seqs[0] < seqs[1]);
}

/* A piece that does not fit is lost, the small end of its turn fits: what is missing is told before it. */
static void test_what_is_missing_comes_first(void **state)
{
  struct acp_rig *x = *state;
  char *text = calloc(1, PIECE + 1), *line = malloc(PIECE + 512);
  unsigned seed = 1;
  assert_true(text && line);
  for (int i = 0; i < PIECE; i++) text[i] = (char)('A' + (seed = seed * 1103515245 + 12345) / 65536 % 26);
  snprintf(line, PIECE + 512, CHUNK("s1", "%s"), text);
  acp_begin(x, "");
  for (int n = 2; n < 14; n++) lose_a_piece(x, n, line);
  free(text);
  free(line);
}

static void test_a_notice_where_the_editor_knows_them(void **state)
{
  struct acp_rig *x = *state;
  static const char init[] =
      CALL("0", "initialize", "{\"protocolVersion\":1,\"clientCapabilities\":{\"session\":{\"notices\":{}}}}");
  acp_play(x, (struct acp_step[]){
                  {C_A, init, 0},
                  {A, RESULT("0", "{\"protocolVersion\":1}"), 0},
                  {TO_C, "*", 0},
                  {C_A, NEW("1"), 0},
                  {A_C, RESULT("1", "{\"sessionId\":\"s1\"}"), 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
  disk(true);
  acp_play(x, (struct acp_step[]){
                  {A_C, CHUNK("s1", "lost"), 0},
                  {TO_C, "*\"sessionUpdate\":\"notice\",\"severity\":\"warning\",\"title\":*", 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
  disk(false);
}

/* Another process took the session with --force: it is told, and prompts are refused until it is loaded again. */
static void test_taken_over(void **state)
{
  struct acp_rig *x = *state;
  rp_error err = {0};
  rp_session *thief = NULL;
  acp_begin(x, "");
  turn(x, 2);
  rp_engine *other = acp_other_engine(x);
  rp_start_options o = {.scope = "acp-test", .id = "s1", .owner = RP_OWNER_SELF, .force = true};
  OK(rp_start(other, &o, &thief, &err), err);
  acp_play(x, (struct acp_step[]){
                  {A_C, CHUNK("s1", "unheard"), 0},
                  {TO_C, "*agent_message_chunk*Another process*", 0},
                  {A_C, CHUNK("s1", "still"), 0},
                  {C, PROMPT("3", "s1", "and now?"), 0},
                  {TO_C, REFUSED("3", "-32603") "another process*", 0},
                  {C, CALL("4", "session/load", "{\"sessionId\":\"s1\",\"cwd\":\"/p\",\"mcpServers\":[]}"), 0},
                  {TO_C, "{\"jsonrpc\":\"2.0\",\"id\":4,\"error\":{\"code\":-32603,\"message\":\"*held by process*", 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
  OK(rp_end(thief, NULL, &err), err);
  rp_session_free(thief);
  rp_close(other);
  acp_play(x, (struct acp_step[]){
                  {C, CALL("5", "session/resume", "{\"sessionId\":\"s1\",\"cwd\":\"/p\",\"mcpServers\":[]}"), 0},
                  {TO_A, "*\"method\":\"session/new\"*", 0},
                  {A, RESULT("\"reprise/1\"", "{\"sessionId\":\"s9\"}"), 0},
                  {TO_C, RESULT("5", "*\"rung\":\"new\"*"), 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
  assert_int_equal(acp_count(x, "s1", "message", "*unheard*"), 0);
}

static void test_held_by_another(void **state)
{
  struct acp_rig *x = *state;
  rp_error err = {0};
  rp_session *holder = NULL;
  rp_engine *other = acp_other_engine(x);
  rp_start_options o = {.scope = "acp-test", .id = "busy", .channel = "acp", .owner = RP_OWNER_SELF};
  OK(rp_start(other, &o, &holder, &err), err);
  acp_greet(x, "");
  acp_play(x, (struct acp_step[]){
                  {C, CALL("4", "session/load", "{\"sessionId\":\"busy\",\"cwd\":\"/p\",\"mcpServers\":[]}"), 0},
                  {TO_C, "{\"jsonrpc\":\"2.0\",\"id\":4,\"error\":{\"code\":-32603,\"message\":\"*held by process*", 0},
                  {C, CALL("5", "session/delete", "{\"sessionId\":\"busy\"}"), 0},
                  {TO_C, "{\"jsonrpc\":\"2.0\",\"id\":5,\"error\":{\"code\":-32603,\"message\":\"*in use*", 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
  rp_session_free(holder);
  rp_close(other);
}

/* A line over the limit of a body is delivered, kept, and told again. */
static void test_a_long_line(void **state)
{
  struct acp_rig *x = *state;
  static const char head[] =
      "{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{\"sessionId\":\"s1\",\"update\":{"
      "\"sessionUpdate\":\"agent_message_chunk\",\"content\":{\"type\":\"text\",\"text\":\"";
  char *line = malloc(sizeof head + BIG + 8);
  assert_non_null(line);
  snprintf(line, sizeof head, "%s", head);
  memset(line + sizeof head - 1, 'x', BIG);
  snprintf(line + sizeof head - 1 + BIG, 8, "\"}}}}");
  acp_begin(x, "");
  turn(x, 2);
  acp_say(x, RP_ACP_AGENT, line);
  assert_string_equal(acp_next(x, RP_ACP_CLIENT), line);
  acp_play(x, (struct acp_step[]){
                  {A_C, END_TURN("2"), 0},
                  {C, CALL("3", "session/load", "{\"sessionId\":\"s1\",\"cwd\":\"/p\",\"mcpServers\":[]}"), 0},
                  {TO_C, "*user_message_chunk*", 0},
                  {END, NULL, 0},
              });
  const char *again = acp_next(x, RP_ACP_CLIENT);
  assert_non_null(again);
  assert_true(strlen(again) > BIG);
  acp_play(x, (struct acp_step[]){{TO_C, RESULT("3", "*"), 0}, {NONE, NULL, 0}, {END, NULL, 0}});
  free(line);
}

/* Many updates at once, faster than they are stored: all arrive, in order, and all are kept. */
static void test_a_flood(void **state)
{
  struct acp_rig *x = *state;
  char line[512];
  enum { N = 3000 };
  acp_begin(x, "");
  turn(x, 2);
  for (int i = 0; i < N; i++) {
    snprintf(line, sizeof line, CHUNK("s1", "w%d."), i);
    acp_say(x, RP_ACP_AGENT, line);
  }
  for (int i = 0; i < N; i++) {
    snprintf(line, sizeof line, CHUNK("s1", "w%d."), i);
    const char *came = acp_next(x, RP_ACP_CLIENT);
    assert_non_null(came);
    assert_string_equal(came, line);
  }
  assert_int_equal(acp_count(x, "s1", "message", "*\"role\":\"assistant\"*\"w*.\"*"), N);
}

/* L-12: a prompt begins work, which a spent budget does not allow; the agent does not see it. */
static void test_a_spent_budget(void **state)
{
  struct acp_rig *x = *state;
  rp_session *guest = NULL;
  rp_error err = {0};
  acp_free(x);
  rp_close(x->e);
  setenv("REPRISE_BUDGET_TOKENS", "10", 1);
  x->e = acp_other_engine(x);
  unsetenv("REPRISE_BUDGET_TOKENS");
  acp_open(x, NULL);
  acp_begin(x, "");
  OK(rp_attach(x->e, "s1", &guest, &err), err);
  rp_event ev = {.kind = "usage", .body = "{\"tokens_in\":20}"};
  OK(rp_append(guest, &ev, NULL, NULL, &err), err);
  rp_session_free(guest);
  acp_play(x, (struct acp_step[]){
                  {C, PROMPT("2", "s1", "more"), 0},
                  {TO_C, "{\"jsonrpc\":\"2.0\",\"id\":2,\"error\":{\"code\":-32603,\"message\":\"*budget*", 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
  assert_int_equal(acp_count(x, "s1", "message", "*"), 0);
}

static void test_heartbeats(void **state)
{
  struct acp_rig *x = *state;
  acp_begin(x, "");
  assert_true(x->timer > x->now && x->timer <= x->now + 10000);
  int64_t first = x->timer;
  acp_wait(x, 10000);
  assert_true(x->timer > first);
}

#define T(f) cmocka_unit_test_setup_teardown(f, acp_setup, acp_teardown)

int main(void)
{
  const struct CMUnitTest tests[] = {
      T(test_a_full_disk),
      T(test_a_journal_that_comes_late),
      T(test_a_journal_that_comes_with_a_prompt),
      T(test_a_journal_that_comes_with_the_end),
      T(test_a_journal_that_comes_when_the_editor_goes),
      T(test_a_journal_that_comes_with_another),
      T(test_what_is_missing_comes_first),
      T(test_a_notice_where_the_editor_knows_them),
      T(test_taken_over),
      T(test_held_by_another),
      T(test_a_long_line),
      T(test_a_flood),
      T(test_a_spent_budget),
      T(test_heartbeats),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
